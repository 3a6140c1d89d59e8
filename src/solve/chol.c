/* chol.c - blocked left-looking Cholesky, solves and inverse on one stored triangle (chol.h).
 * Work is shared out in whole blocks and every block sums in a fixed order: the bits do not depend on the threads.
 */
#include "solve/chol.h"

#include <string.h>

/* ---- storage ---- */

ptrdiff_t epiqp_tri_bytes(ptrdiff_t n)
{
    ptrdiff_t full = n / EPIQP_BLOCK, rest = n % EPIQP_BLOCK;
    return (ptrdiff_t)sizeof(double) * (full * (full + 1) / 2 * EPIQP_BLOCK * EPIQP_BLOCK + rest * n);
}

int epiqp_tri_new(epiq_ctx *c, ptrdiff_t n, epiqp_tri *out)
{
    *out = (epiqp_tri){n, (n + EPIQP_BLOCK - 1) / EPIQP_BLOCK, epiqp_alloc(c, epiqp_tri_bytes(n), 1)};
    return out->a ? EPIQ_OK : EPIQ_E_NOMEM;
}

void epiqp_tri_free(epiq_ctx *c, epiqp_tri *t)
{
    epiqp_free(c, t->a);
    t->a = NULL;
}

double epiqp_tri_get(const epiqp_tri *t, ptrdiff_t i, ptrdiff_t j)
{
    if (j > i) {
        return epiqp_tri_get(t, j, i);
    }
    ptrdiff_t bi = i / EPIQP_BLOCK, bj = j / EPIQP_BLOCK;
    return epiqp_tri_block(t, bi, bj)[i % EPIQP_BLOCK + j % EPIQP_BLOCK * epiqp_tri_rows(t, bi)];
}

static double *diagonal_at(const epiqp_tri *t, ptrdiff_t i)
{
    ptrdiff_t b = i / EPIQP_BLOCK, k = i % EPIQP_BLOCK;
    return epiqp_tri_block(t, b, b) + k * (epiqp_tri_rows(t, b) + 1);
}

void epiqp_tri_fill(const epiqp_env *e, const epiqp_source *from, epiqp_tri *t)
{
    ptrdiff_t count = t->blocks * (t->blocks + 1) / 2;
#pragma omp parallel for schedule(dynamic) num_threads(e->threads)
    for (ptrdiff_t k = 0; k < count; k++) {
        ptrdiff_t i = 0, before = 0;
        while (before + i + 1 <= k) { /* block row i starts at block number i (i + 1) / 2 */
            before += ++i;
        }
        ptrdiff_t j = k - before, rows = epiqp_tri_rows(t, i);
        from->block(from->self, i * EPIQP_BLOCK, rows, j * EPIQP_BLOCK, epiqp_tri_rows(t, j), epiqp_tri_block(t, i, j),
                    rows);
    }
}

/* ---- factor ---- */

/* Returns 0 or the number of the pivot that failed. */
static ptrdiff_t factor(const epiqp_env *e, epiqp_tri *t)
{
    ptrdiff_t failed = 0;
#pragma omp parallel num_threads(e->threads)
    for (ptrdiff_t j = 0; j < t->blocks && !failed; j++) {
        double *diagonal = epiqp_tri_block(t, j, j);
        ptrdiff_t cols = epiqp_tri_rows(t, j), left = j * EPIQP_BLOCK;
#pragma omp for schedule(dynamic)
        for (ptrdiff_t i = j; i < t->blocks; i++) {
            ptrdiff_t rows = epiqp_tri_rows(t, i);
            if (left) {
                e->la->gemm('N', 'T', rows, cols, left, -1, epiqp_tri_block(t, i, 0), rows, epiqp_tri_block(t, j, 0),
                            cols, 1, epiqp_tri_block(t, i, j), rows);
            }
        }
#pragma omp single
        {
            ptrdiff_t pivot = e->la->potrf(cols, diagonal, cols);
            failed = pivot ? left + pivot : 0;
        } /* the barrier at its end also makes `failed` the same for all */
        if (!failed) {
#pragma omp for schedule(dynamic)
            for (ptrdiff_t i = j + 1; i < t->blocks; i++) {
                e->la->trsm('R', 'T', epiqp_tri_rows(t, i), cols, diagonal, cols, epiqp_tri_block(t, i, j),
                            epiqp_tri_rows(t, i));
            }
        }
    }
    return failed;
}

int epiqp_ridge_factor(const epiqp_env *e, const epiqp_source *from, double ridge, epiqp_tri *t, double *jitter,
                       double *fill_s, double *factor_s)
{
    ptrdiff_t pivot = 0;
    *jitter = 0;
    for (double relative = 1e-15; relative < 2e-8; relative *= 10) { /* the first try adds nothing */
        double start = epiqp_now(), mean = 0;
        epiqp_tri_fill(e, from, t);
        for (ptrdiff_t i = 0; i < t->n; i++) {
            mean += *diagonal_at(t, i) / (double)t->n;
        }
        *jitter = relative < 5e-15 ? 0 : relative * mean;
        for (ptrdiff_t i = 0; i < t->n; i++) {
            *diagonal_at(t, i) += ridge + *jitter;
        }
        double filled = epiqp_now();
        pivot = factor(e, t);
        *fill_s += filled - start;
        *factor_s += epiqp_now() - filled;
        if (!pivot) {
            return EPIQ_OK;
        }
        if (!(mean > 0 && mean <= 1e300) || epiqp_stopping(e->c)) {
            break;
        }
    }
    return epiqp_fail(e->c, EPIQ_E_NUMERIC,
                      "the kernel matrix is not positive definite (pivot %td of %td) with ridge %.3g; use a larger "
                      "--lambda, or --scale standard",
                      pivot, t->n, ridge);
}

/* ---- solves ---- */

/* B = L^-1 B, block rows from `first` on; what lies above is zero and stays so. */
static void forward(const epiqp_env *e, const epiqp_tri *l, ptrdiff_t first, ptrdiff_t cols, double *b)
{
    for (ptrdiff_t i = first; i < l->blocks; i++) {
        ptrdiff_t rows = epiqp_tri_rows(l, i), left = (i - first) * EPIQP_BLOCK;
        double *bi = b + i * EPIQP_BLOCK;
        if (left && cols == 1) {
            e->la->gemv('N', rows, left, -1, epiqp_tri_block(l, i, first), rows, b + first * EPIQP_BLOCK, 1, bi);
        } else if (left) {
            e->la->gemm('N', 'N', rows, cols, left, -1, epiqp_tri_block(l, i, first), rows, b + first * EPIQP_BLOCK,
                        l->n, 1, bi, l->n);
        }
        e->la->trsm('L', 'N', rows, cols, epiqp_tri_block(l, i, i), rows, bi, l->n);
    }
}

/* B = L^-T B */
static void backward(const epiqp_env *e, const epiqp_tri *l, ptrdiff_t cols, double *b)
{
    for (ptrdiff_t i = l->blocks - 1; i >= 0; i--) {
        ptrdiff_t rows = epiqp_tri_rows(l, i), left = i * EPIQP_BLOCK;
        double *bi = b + i * EPIQP_BLOCK;
        e->la->trsm('L', 'T', rows, cols, epiqp_tri_block(l, i, i), rows, bi, l->n);
        if (left && cols == 1) {
            e->la->gemv('T', rows, left, -1, epiqp_tri_block(l, i, 0), rows, bi, 1, b);
        } else if (left) {
            e->la->gemm('T', 'N', left, cols, rows, -1, epiqp_tri_block(l, i, 0), rows, bi, l->n, 1, b, l->n);
        }
    }
}

void epiqp_chol_solve(const epiqp_env *e, const epiqp_tri *l, ptrdiff_t cols, double *b)
{
    const ptrdiff_t share =
        64; /* columns solved together; a fixed number, so that the bits do not depend on the threads */
#pragma omp parallel for schedule(dynamic) num_threads(e->threads) if (cols > share)
    for (ptrdiff_t j = 0; j < cols; j += share) {
        ptrdiff_t some = epiqp_min(share, cols - j);
        forward(e, l, 0, some, b + j * l->n);
        backward(e, l, some, b + j * l->n);
    }
}

/* ---- inverse ---- */

/* W = L^-1 into w, block column by block column, each by forward substitution on a slice of the identity. */
static int triangle_inverse(const epiqp_env *e, const epiqp_tri *l, epiqp_tri *w)
{
    int status = EPIQ_OK;
#pragma omp parallel num_threads(e->threads)
    {
        double *b = epiqp_alloc(e->c, l->n * EPIQP_BLOCK, sizeof *b);
        if (!b) {
#pragma omp atomic write
            status = EPIQ_E_NOMEM;
        }
#pragma omp for schedule(dynamic)
        for (ptrdiff_t j = 0; j < l->blocks; j++) { /* the longest column comes first */
            if (!b) {
                continue;
            }
            ptrdiff_t cols = epiqp_tri_rows(l, j), top = j * EPIQP_BLOCK;
            memset(b, 0, (size_t)(l->n * cols) * sizeof *b);
            for (ptrdiff_t k = 0; k < cols; k++) {
                b[top + k + k * l->n] = 1;
            }
            forward(e, l, j, cols, b);
            for (ptrdiff_t i = j; i < l->blocks; i++) {
                ptrdiff_t rows = epiqp_tri_rows(l, i);
                for (ptrdiff_t k = 0; k < cols; k++) {
                    memcpy(epiqp_tri_block(w, i, j) + k * rows, b + i * EPIQP_BLOCK + k * l->n,
                           (size_t)rows * sizeof *b);
                }
            }
        }
        epiqp_free(e->c, b);
    }
    return status;
}

/* W'W over W. Block (i, j) needs W's rows from i down only, so rows are overwritten from the top. */
static void triangle_square(const epiqp_env *e, epiqp_tri *w)
{
    double fresh[EPIQP_BLOCK * EPIQP_BLOCK];
#pragma omp parallel num_threads(e->threads)
    for (ptrdiff_t i = 0; i < w->blocks; i++) {
        ptrdiff_t rows = epiqp_tri_rows(w, i);
#pragma omp for schedule(dynamic)
        for (ptrdiff_t j = 0; j <= i; j++) {
            double sum[EPIQP_BLOCK * EPIQP_BLOCK];
            double *block = epiqp_tri_block(w, i, j);
            ptrdiff_t cols = epiqp_tri_rows(w, j);
            for (ptrdiff_t k = i; k < w->blocks; k++) {
                ptrdiff_t inner = epiqp_tri_rows(w, k);
                e->la->gemm('T', 'N', rows, cols, inner, 1, epiqp_tri_block(w, k, i), inner, epiqp_tri_block(w, k, j),
                            inner, k > i, sum, rows);
            }
            /* every block of this row reads (i, i): it is kept apart until the row is done */
            memcpy(j == i ? fresh : block, sum, (size_t)(rows * cols) * sizeof *sum);
        }
#pragma omp single
        memcpy(epiqp_tri_block(w, i, i), fresh, (size_t)(rows * rows) * sizeof *fresh);
    }
}

int epiqp_chol_inverse(const epiqp_env *e, const epiqp_tri *l, epiqp_tri *inverse)
{
    int s = epiqp_tri_new(e->c, l->n, inverse);
    if (!s && !(s = triangle_inverse(e, l, inverse))) {
        triangle_square(e, inverse);
    }
    if (s) {
        epiqp_tri_free(e->c, inverse);
    }
    return s;
}

void epiqp_tri_squares_times(const epiqp_env *e, const epiqp_tri *t, const double *s, double *out)
{
#pragma omp parallel for schedule(static) num_threads(e->threads)
    for (ptrdiff_t b = 0; b < t->blocks; b++) {
        ptrdiff_t top = b * EPIQP_BLOCK, mine = epiqp_tri_rows(t, b);
        double sum[EPIQP_BLOCK] = {0};
        for (ptrdiff_t j = 0; j < b; j++) { /* to the left of the diagonal block */
            const double *block = epiqp_tri_block(t, b, j);
            for (ptrdiff_t k = 0; k < EPIQP_BLOCK; k++) {
                double weight = s[j * EPIQP_BLOCK + k];
                for (ptrdiff_t i = 0; i < mine; i++) {
                    sum[i] += block[i + k * mine] * block[i + k * mine] * weight;
                }
            }
        }
        for (ptrdiff_t i = 0; i < mine; i++) {
            for (ptrdiff_t k = 0; k < mine; k++) {
                double v = epiqp_tri_get(t, top + i, top + k);
                sum[i] += v * v * s[top + k];
            }
        }
        for (ptrdiff_t i = b + 1; i < t->blocks; i++) { /* below it: the columns of the rows further down */
            const double *block = epiqp_tri_block(t, i, b), *below = s + i * EPIQP_BLOCK;
            ptrdiff_t rows = epiqp_tri_rows(t, i);
            for (ptrdiff_t k = 0; k < mine; k++) {
                for (ptrdiff_t l = 0; l < rows; l++) {
                    sum[k] += block[l + k * rows] * block[l + k * rows] * below[l];
                }
            }
        }
        memcpy(out + top, sum, (size_t)mine * sizeof *sum);
    }
}
