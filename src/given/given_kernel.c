/* given_kernel.c - the kernel of networks trained elsewhere and its ridge solution: a Gram matrix that is judged first,
 * or K = J J' and k0 = J j0 from Jacobians too wide to be held, a block of their columns at a time.
 */
#include "given/given.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { COLUMNS = EPIQP_JACOBIAN_COLUMNS };

/* Float32 rounds sums of a million products to about this. */
static const double ASYMMETRY = 1e-5; /* |K_ij - K_ji| over sqrt(K_ii K_jj) */
static const double NEGATIVE = 1e-7;  /* the least eigenvalue, over the trace, less than 0 by no more than this */

/* The first pair (i > j), row by row, that is not symmetric enough, as i n + j; PTRDIFF_MAX: there is none. */
static ptrdiff_t asymmetric(const epiqp_env *e, const epiq_matrix *m)
{
    enum { SIDE = 64 }; /* rows and columns read together */
    const ptrdiff_t n = m->rows;
    ptrdiff_t first = PTRDIFF_MAX;
#pragma omp parallel for schedule(dynamic) num_threads(e->threads) reduction(min : first) if (n > EPIQP_ALONE)
    for (ptrdiff_t i0 = 0; i0 < n; i0 += SIDE) {
        for (ptrdiff_t j0 = 0; j0 <= i0; j0 += SIDE) {
            for (ptrdiff_t i = i0; i < epiqp_min(i0 + SIDE, n); i++) {
                for (ptrdiff_t j = j0; j < epiqp_min(j0 + SIDE, i); j++) {
                    double gap = fabs(epiqp_matrix_at(m, i, j) - epiqp_matrix_at(m, j, i));
                    if (gap > ASYMMETRY * sqrt(epiqp_matrix_at(m, i, i)) * sqrt(epiqp_matrix_at(m, j, j))) {
                        first = epiqp_min(first, i * n + j);
                    }
                }
            }
        }
    }
    return first;
}

static double gram_at(const void *self, ptrdiff_t i, ptrdiff_t k)
{
    return (epiqp_matrix_at(self, i, k) + epiqp_matrix_at(self, k, i)) / 2;
}

static void gram_block(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                       ptrdiff_t ld)
{
    for (ptrdiff_t j = 0; j < cols; j++) {
        for (ptrdiff_t i = 0; i < rows; i++) {
            out[i + j * ld] = gram_at(self, i0 + i, j0 + j);
        }
    }
}

static int judge_gram(const epiqp_problem *pb, const epiq_matrix *m, const epiqp_source *source)
{
    epiq_ctx *c = pb->e.c;
    double trace = 0, jitter, fill_s = 0, factor_s = 0;
    for (ptrdiff_t i = 0; i < m->rows; i++) {
        if (epiqp_matrix_at(m, i, i) < 0) {
            return epiqp_fail(c, EPIQ_E_DATA,
                              "%s: row %td, column %td is %g, and the diagonal of a kernel's Gram matrix is not "
                              "negative; check how it was made",
                              m->name, i + 1, i + 1, epiqp_matrix_at(m, i, i));
        }
        trace += epiqp_matrix_at(m, i, i);
    }
    const ptrdiff_t pair = asymmetric(&pb->e, m), row = pair / m->rows, column = pair % m->rows;
    if (pair < PTRDIFF_MAX) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s is not symmetric: row %td, column %td is %g and row %td, column %td is %g; it must be "
                          "the kernel between the rows and themselves",
                          m->name, row + 1, column + 1, epiqp_matrix_at(m, row, column), column + 1, row + 1,
                          epiqp_matrix_at(m, column, row));
    }
    epiqp_tri factor = {0};
    int s = epiqp_tri_new(c, m->rows, &factor);
    if (s) return s;
    s = epiqp_ridge_factor(&pb->e, source, NEGATIVE * trace, &factor, &jitter, &fill_s, &factor_s);
    epiqp_tri_free(c, &factor);
    if (s != EPIQ_E_NUMERIC) return s;
    epiqp_clear(c);
    if (epiqp_cancel_requested(c)) return epiqp_report(c, "kernel", 0, 1); /* the factorisation was not finished */
    return epiqp_fail(c, s,
                      "%s is not positive definite, so it is no kernel's Gram matrix; check that rows and columns are "
                      "the same and in the same order and that nothing was taken off, or give the Jacobian",
                      m->name);
}

static int gram_ridge(const epiqp_problem *pb, const epiq_given *g, epiqp_ridge *out, const epiqp_near **near)
{
    const epiqp_source source = {.block = gram_block, .self = g->gram};
    int s = judge_gram(pb, g->gram, &source);
    if (s || (s = epiqp_near_stored(pb, gram_at, g->gram, near))) return s;
    double *k0 = epiqp_alloc(pb->e.c, pb->n * pb->points, sizeof *k0);
    if (!k0) return EPIQ_E_NOMEM;
    for (ptrdiff_t k = 0; k < pb->n * pb->points; k++) {
        k0[k] = epiqp_matrix_at(g->cross, k % pb->n, k / pb->n);
    }
    return epiqp_ridge_new(&pb->e, pb->n, &source, pb->plan->ran.lambda, pb->data->y, pb->points, k0,
                           out); /* takes k0 */
}

/* Some columns of a Jacobian: each of its rows is a column for gemm. */
typedef struct {
    const epiqp_la *la;
    const double *rows; /* of `columns` numbers each */
    ptrdiff_t columns;
} slice;

static void add_products(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                         ptrdiff_t ld)
{
    const slice *s = self;
    const ptrdiff_t k = s->columns;
    s->la->gemm('T', 'N', rows, cols, k, 1, s->rows + i0 * k, k, s->rows + j0 * k, k, 1, out, ld);
}

/* Columns j .. j+count of m, all rows; a status. */
static int load(const epiqp_env *e, const epiq_matrix *m, ptrdiff_t j, ptrdiff_t count, double *out)
{
    ptrdiff_t bad = PTRDIFF_MAX; /* the first number that cannot be used, row by row */
#pragma omp parallel for schedule(static) num_threads(e->threads) reduction(min : bad) if (m->rows * count > 100000)
    for (ptrdiff_t i = 0; i < m->rows; i++) {
        ptrdiff_t k = epiqp_matrix_row(m, i, j, count, out + i * count);
        bad = k < 0 ? bad : epiqp_min(bad, i * count + k);
    }
    return bad < PTRDIFF_MAX ? epiqp_matrix_refuse(e->c, m, bad / count, j + bad % count) : EPIQ_OK;
}

/* k0 (n by points) += rows (of k numbers) times points, in blocks. */
static void add_cross(const epiqp_problem *pb, ptrdiff_t k, const double *rows, const double *points, double *k0)
{
    const ptrdiff_t n = pb->n, across = (n + EPIQP_BLOCK - 1) / EPIQP_BLOCK,
                    blocks = across * ((pb->points + EPIQP_BLOCK - 1) / EPIQP_BLOCK);
#pragma omp parallel for schedule(dynamic) num_threads(pb->e.threads) if (blocks > 1)
    for (ptrdiff_t b = 0; b < blocks; b++) {
        ptrdiff_t i = b % across * EPIQP_BLOCK, p = b / across * EPIQP_BLOCK;
        pb->e.la->gemm('T', 'N', epiqp_min(EPIQP_BLOCK, n - i), epiqp_min(EPIQP_BLOCK, pb->points - p), k, 1,
                       rows + i * k, k, points + p * k, k, 1, k0 + i + p * n, n);
    }
}

static int add_jacobians(const epiqp_problem *pb, const epiq_given *g, double *buffer, epiqp_tri *sum, double *k0)
{
    const epiqp_env *e = &pb->e;
    const ptrdiff_t p = g->jacobian->columns, blocks = (p + COLUMNS - 1) / COLUMNS;
    int s = epiqp_report(e->c, "kernel", 0, blocks);
    for (ptrdiff_t b = 0; !s && b < blocks; b++) {
        ptrdiff_t first = b * COLUMNS, count = epiqp_min(COLUMNS, p - first);
        double *points = buffer + pb->n * count;
        const slice rows = {e->la, buffer, count};
        if ((s = load(e, g->jacobian, first, count, buffer))) break;
        if ((s = load(e, g->jacobian0, first, count, points))) break;
        const epiqp_source source = {.block = add_products, .self = &rows, .heavy = count > 256};
        epiqp_tri_fill(e, &source, sum);
        add_cross(pb, count, buffer, points, k0);
        s = epiqp_report(e->c, "kernel", b + 1, blocks);
    }
    return s;
}

static int jacobian_ridge(const epiqp_problem *pb, const epiq_given *g, epiqp_ridge *out, const epiqp_near **near)
{
    epiq_ctx *c = pb->e.c;
    ptrdiff_t n = pb->n, wide = epiqp_min(COLUMNS, g->jacobian->columns);
    double start = epiqp_now();
    epiqp_tri sum = {0};
    double *buffer = epiqp_alloc(c, (n + pb->points) * wide, sizeof *buffer);
    double *k0 = epiqp_alloc(c, n * pb->points, sizeof *k0);
    int s = buffer && k0 ? epiqp_tri_new(c, n, &sum) : EPIQ_E_NOMEM;
    if (!s) {
        memset(sum.a, 0, (size_t)epiqp_tri_bytes(n));
        memset(k0, 0, (size_t)(n * pb->points) * sizeof *k0);
        if (!(s = add_jacobians(pb, g, buffer, &sum, k0))) s = epiqp_near_stored(pb, epiqp_tri_near, &sum, near);
    }
    epiqp_free(c, buffer);
    if (!s) {
        epiqp_source stored = epiqp_source_stored(&sum);
        double made = epiqp_now();
        s = epiqp_ridge_new(&pb->e, n, &stored, pb->plan->ran.lambda, pb->data->y, pb->points, k0,
                            out); /* takes k0 over */
        out->fill_s += made - start;
        k0 = NULL;
    }
    epiqp_tri_free(c, &sum);
    epiqp_free(c, k0);
    return s;
}

int epiqp_given_ridge(const epiqp_problem *pb, const epiq_given *g, epiqp_ridge *out, const epiqp_near **near)
{
    int s = g->gram ? gram_ridge(pb, g, out, near) : jacobian_ridge(pb, g, out, near);
    if (s != EPIQ_E_NUMERIC || !out->n) return s; /* else the factor failed, of a Gram matrix that was accepted */
    epiqp_clear(pb->e.c);
    return epiqp_fail(pb->e.c, s,
                      "the kernel matrix of %s is not positive definite even with lambda n = %.3g on its diagonal; use "
                      "a larger {--lambda}",
                      g->gram ? g->gram->name : g->jacobian->name, pb->plan->ran.lambda * (double)pb->n);
}
