/* dmat.c - a matrix distributed over ranks (dmat.h): filling, factoring, solving, the inverse in place of the factor, and
 * passes over its entries. Every step begins with an allreduce of the status, so that no rank waits for one that has
 * failed.
 */
#include "solve/dmat.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <string.h>

/* ---- indices: global ones, of the whole matrix, and local ones, of this rank's part ---- */

/* Rows (or columns) in this rank's blocks before the global block k. */
static ptrdiff_t before(const epiqp_side *s, ptrdiff_t k)
{
    return k > s->place ? ((k - s->place - 1) / s->of + 1) * s->block : 0;
}

/* The global number of the block that has the local row i, and of that row. */
static ptrdiff_t block_of(const epiqp_side *s, ptrdiff_t i)
{
    return i / s->block * s->of + s->place;
}
static ptrdiff_t global(const epiqp_side *s, ptrdiff_t i)
{
    return block_of(s, i) * s->block + i % s->block;
}

/* Whether the global row i belongs to this rank, and its local number. */
static bool has(const epiqp_side *s, ptrdiff_t i)
{
    return i / s->block % s->of == s->place;
}
static ptrdiff_t local(const epiqp_side *s, ptrdiff_t i)
{
    return i / s->block / s->of * s->block + i % s->block;
}

/* Entry (i, j) of the lower triangle; NULL: another rank has it. */
static double *entry(const epiqp_dmat *t, ptrdiff_t i, ptrdiff_t j)
{
    return has(&t->rows, i) && has(&t->cols, j) ? t->a + local(&t->rows, i) + local(&t->cols, j) * t->rows.size : NULL;
}

/* Copies columns of `all`, which begin at the global row `first`, in the order of the local rows from `from` on. */
static void gather(const epiqp_side *s, ptrdiff_t from, ptrdiff_t cols, const double *all, ptrdiff_t first,
                   ptrdiff_t ld, double *own)
{
    const ptrdiff_t count = s->size - from;
    for (ptrdiff_t k = 0; k < cols; k++) {
        for (ptrdiff_t i = 0; i < count; i += s->block) {
            memcpy(own + i + k * count, all + global(s, from + i) - first + k * ld,
                   (size_t)epiqp_min(s->block, count - i) * sizeof *own);
        }
    }
}

/* The reverse: adds them to `all`. */
static void scatter(const epiqp_side *s, ptrdiff_t from, ptrdiff_t cols, const double *own, double *all,
                    ptrdiff_t first, ptrdiff_t ld)
{
    const ptrdiff_t count = s->size - from;
    for (ptrdiff_t k = 0; k < cols; k++) {
        for (ptrdiff_t i = 0; i < count; i += s->block) {
            double *to = all + global(s, from + i) - first + k * ld;
            for (ptrdiff_t l = 0; l < epiqp_min(s->block, count - i); l++) {
                to[l] += own[i + l + k * count];
            }
        }
    }
}

/* ---- storage ---- */

/* Allocates count numbers on every rank, or on none. */
static int alloc_all(const epiqp_env *e, ptrdiff_t count, double **out)
{
    *out = epiqp_alloc(e->c, count, sizeof **out);
    int status = epiq_ctx_agree(e->c, *out ? EPIQ_OK : EPIQ_E_NOMEM);
    if (status) {
        epiqp_free(e->c, *out);
        *out = NULL;
    }
    assert(status || *out); /* the agreed status is negative where this rank's was */
    return status;
}

static epiqp_side side_of(ptrdiff_t n, ptrdiff_t block, ptrdiff_t place, ptrdiff_t of)
{
    epiqp_side s = {place, of, block, 0};
    s.size = before(&s, n / block) + (n / block % of == place ? n % block : 0); /* the last block may be shorter */
    return s;
}

static epiqp_dmat shape(const epiq_cluster *k, ptrdiff_t n)
{
    return (epiqp_dmat){.n = n,
                        .rows = side_of(n, k->block, k->rank / k->cols, k->rows),
                        .cols = side_of(n, k->block, k->rank % k->cols, k->cols)};
}

int epiqp_dmat_new(const epiqp_env *e, ptrdiff_t n, epiqp_dmat *out)
{
    *out = shape(e->cluster, n);
    const ptrdiff_t count = out->rows.size * out->cols.size;
    int status = EPIQ_OK;
    if (count > INT_MAX || n > INT_MAX) { /* ScaLAPACK uses int */
        status = epiqp_fail(e->c, EPIQ_E_NOMEM,
                            "a rank's part of the kernel matrix of %td rows has %td entries, over %d; start more ranks",
                            n, count, INT_MAX);
    }
    return (status = epiq_ctx_agree(e->c, status)) ? status : alloc_all(e, count, &out->a);
}

void epiqp_dmat_free(epiq_ctx *c, epiqp_dmat *t)
{
    epiqp_free(c, t->a);
    t->a = NULL;
}

void epiqp_dmat_fill(const epiqp_env *e, const epiqp_source *from, epiqp_dmat *t)
{
    const ptrdiff_t B = t->rows.block;
#pragma omp parallel for schedule(dynamic) num_threads(e->threads) collapse(2)
    for (ptrdiff_t j = 0; j < t->cols.size; j += B) {
        for (ptrdiff_t i = 0; i < t->rows.size; i += B) {
            ptrdiff_t i0 = global(&t->rows, i), j0 = global(&t->cols, j);
            if (i0 >= j0) {
                from->block(from->self, i0, epiqp_min(B, t->n - i0), j0, epiqp_min(B, t->n - j0),
                            t->a + i + j * t->rows.size, t->rows.size);
            }
        }
    }
}

static void copy_block(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                       ptrdiff_t ld)
{
    const epiqp_dmat *t = self;
    const double *from = entry(t, i0, j0);
    for (ptrdiff_t k = 0; k < cols; k++) {
        memcpy(out + k * ld, from + k * t->rows.size, (size_t)rows * sizeof *out);
    }
}

epiqp_source epiqp_dmat_source(const epiqp_dmat *t)
{
    return (epiqp_source){.block = copy_block, .self = t};
}

/* ---- factor and solves ---- */

int epiqp_dmat_factor(const epiqp_env *e, const epiqp_source *from, double ridge, epiqp_dmat *t, double *jitter,
                      double *fill_s, double *factor_s)
{
    ptrdiff_t pivot = 0;
    double *a, *raised; /* n: the diagonal before factoring, as far as this rank stores it */
    int status = alloc_all(e, t->n, &raised);
    for (double relative = 1e-15; !status && relative < 2e-8; relative *= 10) { /* the first try adds nothing */
        double start = epiqp_now(), mean = 0;
        epiqp_dmat_fill(e, from, t);
        status = epiq_ctx_agree(e->c, epiqp_cancel_requested(e->c) ? epiqp_report(e->c, "kernel", 0, 1) : EPIQ_OK);
        if (status) break;
        for (ptrdiff_t i = 0; i < t->n; i++) {
            mean += (a = entry(t, i, i)) ? *a : 0;
        }
        e->cluster->allreduce_sum(e->cluster->user, &mean, 1);
        mean /= (double)t->n;
        double filled = epiqp_now();
        *jitter = relative < 5e-15 ? 0 : relative * mean;
        for (ptrdiff_t i = 0; i < t->n; i++) {
            raised[i] = (a = entry(t, i, i)) ? *a += ridge + *jitter : 0;
        }
        pivot = e->cluster->factor(e->cluster->user, e->threads, t->n, t->a);
        *fill_s += filled - start;
        *factor_s += epiqp_now() - filled;
        if (!pivot || !(mean > 0 && mean <= 1e300)) break;
    }
    t->loss = 0;
    for (ptrdiff_t i = 0; !status && !pivot && i < t->n; i++) {
        t->loss = (a = entry(t, i, i)) ? fmax(t->loss, epiqp_pivot_loss(*a, raised[i])) : t->loss;
    }
    if (!status && !pivot) {
        e->cluster->allreduce_sum(e->cluster->user, &t->loss, 1); /* epiq_cluster has a sum but no maximum */
    }
    epiqp_free(e->c, raised);
    return status || !pivot ? status : epiqp_not_definite(e->c, pivot, t->n, ridge);
}

int epiqp_dmat_solve(const epiqp_env *e, const epiqp_dmat *l, ptrdiff_t cols, double *b)
{
    const ptrdiff_t n = l->n, rows = l->rows.size;
    const epiqp_side across = side_of(cols, l->cols.block, l->cols.place, l->cols.of);
    double *mine; /* this rank's blocks of b */
    int status = alloc_all(e, rows * across.size, &mine);
    if (status) return status;
    for (ptrdiff_t j = 0; j < across.size; j++) {
        gather(&l->rows, 0, 1, b + global(&across, j) * n, 0, n, mine + j * rows);
    }
    e->cluster->solve(e->cluster->user, e->threads, n, l->a, cols, mine);
    memset(b, 0, (size_t)(n * cols) * sizeof *b);
    for (ptrdiff_t j = 0; j < across.size; j++) {
        scatter(&l->rows, 0, 1, mine + j * rows, b + global(&across, j) * n, 0, n);
    }
    e->cluster->allreduce_sum(e->cluster->user, b, n * cols); /* every number is non-zero on one rank only */
    epiqp_free(e->c, mine);
    return EPIQ_OK;
}

/* ---- the inverse ----
 *
 * X = A^-1 solves X L = L^-T, block column by block column from the right: with V = L_2k L_kk^-1 below the diagonal
 * block,
 *     X_2k = -X_22 V,   X_kk = L_kk^-T L_kk^-1 - V'X_2k
 * X_22, the part to the right, is known by then, and column k of L is no longer needed. Each step is one product with
 * a symmetric matrix, 2/3 n^3 in all, in which every block of a rank is used twice, as it is and transposed. V and
 * the product are communicated: n^2 numbers to each rank in all. ScaLAPACK's pdpotri takes 1.5 times as long on two
 * ranks. */

typedef struct {
    const epiqp_env *e;
    epiqp_dmat *t;
    ptrdiff_t k0, wide;          /* first column and width of the current block column */
    ptrdiff_t first, tall;       /* first row below its diagonal block, and how many there are */
    ptrdiff_t row0, col0;        /* local row and column where this rank's part of X_22 begins */
    double *panel;               /* wide + tall by wide: L_kk above V */
    double *product;             /* tall by wide: X_22 V */
    double *by_row, *by_col;     /* V in the order of this rank's rows, and of its columns */
    double *row_part, *col_part; /* this rank's parts of the product in the same orders */
} inverting;

/* Overwrites what is below the diagonal by V, in all columns of this rank. The diagonal blocks are communicated. */
static void right_solve_columns(inverting *v)
{
    const epiqp_dmat *t = v->t;
    const ptrdiff_t n = t->n, ld = t->rows.size, B = t->rows.block;
    double *diagonal = v->product; /* n by block: L_kk in rows k0.. */
    memset(diagonal, 0, (size_t)(n * B) * sizeof *diagonal);
    for (ptrdiff_t k = 0; k < n; k++) {
        const double *l = entry(t, k, k);
        if (l) memcpy(diagonal + k + k % B * n, l, (size_t)epiqp_min(B - k % B, n - k) * sizeof *diagonal);
    }
    v->e->cluster->allreduce_sum(v->e->cluster->user, diagonal, n * B);
#pragma omp parallel for schedule(dynamic) num_threads(v->e->threads)
    for (ptrdiff_t j = 0; j < t->cols.size; j += B) {
        ptrdiff_t from = before(&t->rows, block_of(&t->cols, j) + 1);
        if (from < ld) {
            v->e->la->trsm('R', 'N', ld - from, epiqp_min(B, t->cols.size - j), diagonal + global(&t->cols, j), n,
                           t->a + from + j * ld, ld);
        }
    }
}

/* Sends the whole block column to every rank. */
static void broadcast_panel(inverting *v)
{
    const epiqp_dmat *t = v->t;
    const ptrdiff_t ld = v->wide + v->tall, B = t->rows.block;
    memset(v->panel, 0, (size_t)(ld * v->wide) * sizeof *v->panel);
    if (has(&t->cols, v->k0)) {
        const double *column = t->a + local(&t->cols, v->k0) * t->rows.size;
        for (ptrdiff_t i = before(&t->rows, v->k0 / B); i < t->rows.size; i += B) {
            ptrdiff_t at = global(&t->rows, i) - v->k0;
            for (ptrdiff_t c = 0; c < v->wide; c++) {
                ptrdiff_t above = at ? 0 : c; /* rows of the diagonal block above the diagonal, which hold nothing */
                memcpy(v->panel + at + above + c * ld, column + i + above + c * t->rows.size,
                       (size_t)(epiqp_min(B, t->rows.size - i) - above) * sizeof *v->panel);
            }
        }
    }
    v->e->cluster->allreduce_sum(v->e->cluster->user, v->panel, ld * v->wide);
}

enum { TOGETHER = 4 }; /* blocks multiplied at once: 512 rows bring gemm from 38 to 43 GFLOP/s */

/* Local block of rows i, from the local column `from` on: the remaining blocks up to the diagonal, and the diagonal
 * block if this rank has it. */
static void finish_rows(const inverting *v, ptrdiff_t i, ptrdiff_t from)
{
    const epiqp_dmat *t = v->t;
    const epiqp_la *la = v->e->la;
    const ptrdiff_t end = before(&t->cols, block_of(&t->rows, i)), ld = t->rows.size, tall = ld - v->row0,
                    rows = epiqp_min(t->rows.block, ld - i), deep = t->cols.size - v->col0;
    double *out = v->row_part + i - v->row0, whole[EPIQP_BLOCK * EPIQP_BLOCK];
    if (end > from) {
        la->gemm('N', 'N', rows, v->wide, end - from, 1, t->a + i + from * ld, ld, v->by_col + from - v->col0, deep, 1,
                 out, tall);
    }
    if (has(&t->cols, global(&t->rows, i))) {
        const double *half = t->a + i + end * ld;
        for (ptrdiff_t c = 0; c < rows; c++) {
            for (ptrdiff_t r = c; r < rows; r++) {
                whole[r + c * rows] = whole[c + r * rows] = half[r + c * ld];
            }
        }
        la->gemm('N', 'N', rows, v->wide, rows, 1, whole, rows, v->by_col + end - v->col0, deep, 1, out, tall);
    }
}

/* Several local blocks of rows, from i on. */
static void multiply_rows(const inverting *v, ptrdiff_t i)
{
    const epiqp_dmat *t = v->t;
    const ptrdiff_t B = t->rows.block, ld = t->rows.size, rows = epiqp_min(TOGETHER * B, ld - i),
                    end = before(&t->cols, block_of(&t->rows, i));
    if (end > v->col0) {
        v->e->la->gemm('N', 'N', rows, v->wide, end - v->col0, 1, t->a + i + v->col0 * ld, ld, v->by_col,
                       t->cols.size - v->col0, 1, v->row_part + i - v->row0, ld - v->row0);
    }
    for (ptrdiff_t l = i; l < i + rows; l += B) {
        finish_rows(v, l, end);
    }
}

/* Several local blocks of columns, from j on: everything below the diagonal, transposed. */
static void multiply_cols(const inverting *v, ptrdiff_t j)
{
    const epiqp_dmat *t = v->t;
    const epiqp_la *la = v->e->la;
    const ptrdiff_t B = t->rows.block, ld = t->rows.size, tall = ld - v->row0, deep = t->cols.size - v->col0,
                    cols = epiqp_min(TOGETHER * B, t->cols.size - j),
                    from = epiqp_min(before(&t->rows, block_of(&t->cols, j + cols - 1) + 1), ld);
    double *out = v->col_part + j - v->col0;
    if (from < ld) {
        la->gemm('T', 'N', cols, v->wide, ld - from, 1, t->a + from + j * ld, ld, v->by_row + from - v->row0, tall, 1,
                 out, deep);
    }
    for (ptrdiff_t l = j; l < j + cols; l += B) { /* the blocks between that and the diagonal */
        ptrdiff_t own = before(&t->rows, block_of(&t->cols, l) + 1);
        if (own < from) {
            la->gemm('T', 'N', epiqp_min(B, t->cols.size - l), v->wide, from - own, 1, t->a + own + l * ld, ld,
                     v->by_row + own - v->row0, tall, 1, out + l - j, deep);
        }
    }
}

static void multiply(inverting *v)
{
    const epiqp_dmat *t = v->t;
    const ptrdiff_t ld = v->wide + v->tall, step = TOGETHER * t->rows.block;
    gather(&t->rows, v->row0, v->wide, v->panel + v->wide, v->first, ld, v->by_row);
    gather(&t->cols, v->col0, v->wide, v->panel + v->wide, v->first, ld, v->by_col);
    memset(v->row_part, 0, (size_t)((t->rows.size - v->row0) * v->wide) * sizeof *v->row_part);
    memset(v->col_part, 0, (size_t)((t->cols.size - v->col0) * v->wide) * sizeof *v->col_part);
#pragma omp parallel num_threads(v->e->threads)
    {
#pragma omp for schedule(dynamic) nowait
        for (ptrdiff_t i = v->row0; i < t->rows.size; i += step) {
            multiply_rows(v, i);
        }
#pragma omp for schedule(dynamic)
        for (ptrdiff_t j = v->col0; j < t->cols.size; j += step) {
            multiply_cols(v, j);
        }
    }
    memset(v->product, 0, (size_t)(v->tall * v->wide) * sizeof *v->product);
    scatter(&t->rows, v->row0, v->wide, v->row_part, v->product, v->first, v->tall);
    scatter(&t->cols, v->col0, v->wide, v->col_part, v->product, v->first, v->tall);
    v->e->cluster->allreduce_sum(v->e->cluster->user, v->product, v->tall * v->wide);
}

/* Computes the diagonal block on the rank that has it. */
static void store_diagonal(const inverting *v)
{
    const epiqp_la *la = v->e->la;
    const ptrdiff_t w = v->wide, ld = w + v->tall;
    double x[EPIQP_BLOCK * EPIQP_BLOCK] = {0}, *to = entry(v->t, v->k0, v->k0);
    for (ptrdiff_t i = 0; i < w; i++) {
        x[i + i * w] = 1;
    }
    la->trsm('L', 'N', w, w, v->panel, ld, x, w);
    la->trsm('L', 'T', w, w, v->panel, ld, x, w);
    if (v->tall) la->gemm('T', 'N', w, w, v->tall, 1, v->panel + w, ld, v->product, v->tall, 1, x, w);
    for (ptrdiff_t c = 0; to && c < w; c++) {
        memcpy(to + c + c * v->t->rows.size, x + c + c * w, (size_t)(w - c) * sizeof *x);
    }
}

static void store_column(inverting *v)
{
    const epiqp_dmat *t = v->t;
    if (!has(&t->cols, v->k0)) return;
    double *column = t->a + local(&t->cols, v->k0) * t->rows.size;
    for (ptrdiff_t c = 0; c < v->wide; c++) {
        for (ptrdiff_t i = v->row0; i < t->rows.size; i++) {
            column[i + c * t->rows.size] = -v->product[global(&t->rows, i) - v->first + c * v->tall];
        }
    }
    if (has(&t->rows, v->k0)) store_diagonal(v);
}

static ptrdiff_t room(const epiqp_dmat *t)
{
    return t->rows.block * (2 * t->n + 2 * t->rows.size + 2 * t->cols.size);
}

double epiqp_dmat_bytes(const epiq_cluster *k, ptrdiff_t n, bool inverse)
{
    epiqp_dmat t = shape(k, n);
    const double beside = (double)k->block * (double)(t.rows.size + t.cols.size);
    /* of the blocks above the diagonal only those next to it share pages with used ones */
    double used = (double)t.rows.size * (double)t.cols.size / 2 + beside,
           work = 2 * beside; /* ScaLAPACK's, as measured */
    double later =
        inverse ? (double)room(&t) + (double)k->block * (double)n : 0; /* and the buffer of a sum over ranks */
    return 8 * (used + fmax(work, later));
}

int epiqp_dmat_inverse(const epiqp_env *e, epiqp_dmat *l)
{
    const ptrdiff_t n = l->n, B = l->rows.block, steps = (n + B - 1) / B;
    inverting v = {.e = e, .t = l};
    int status = alloc_all(e, room(l), &v.panel);
    if (status) return status;
    v.product = v.panel + n * B;
    v.by_row = v.product + n * B;
    v.row_part = v.by_row + l->rows.size * B;
    v.by_col = v.row_part + l->rows.size * B;
    v.col_part = v.by_col + l->cols.size * B;
    right_solve_columns(&v);
    for (ptrdiff_t k = steps - 1; k >= 0; k--) {
        status = epiqp_cancel_requested(e->c) ? epiqp_report(e->c, "inverse", steps - 1 - k, steps) : EPIQ_OK;
        if ((status = epiq_ctx_agree(e->c, status))) break;
        v.k0 = k * B;
        v.wide = epiqp_min(B, n - v.k0);
        v.first = v.k0 + v.wide;
        v.tall = n - v.first;
        v.row0 = epiqp_min(l->rows.size, before(&l->rows, k + 1));
        v.col0 = epiqp_min(l->cols.size, before(&l->cols, k + 1));
        broadcast_panel(&v);
        if (v.tall) multiply(&v);
        store_column(&v);
    }
    epiqp_free(e->c, v.panel);
    return status;
}

/* ---- the entries of the inverse ---- */

int epiqp_dmat_diagonal(const epiqp_env *e, const epiqp_dmat *t, double *out)
{
    int status = epiq_ctx_agree(e->c, EPIQ_OK);
    if (status) return status;
    for (ptrdiff_t i = 0; i < t->n; i++) {
        const double *a = entry(t, i, i);
        out[i] = a ? *a : 0;
    }
    e->cluster->allreduce_sum(e->cluster->user, out, t->n);
    return EPIQ_OK;
}

int epiqp_dmat_part(const epiqp_env *e, const epiqp_dmat *t, ptrdiff_t first, ptrdiff_t rows, const ptrdiff_t *row,
                    ptrdiff_t cols, const ptrdiff_t *col, double *out)
{
    int status = epiq_ctx_agree(e->c, EPIQ_OK);
    if (status) return status;
    for (ptrdiff_t k = 0; k < cols; k++) {
        for (ptrdiff_t l = 0; l < rows; l++) {
            ptrdiff_t i = row ? row[l] : first + l;
            const double *a = entry(t, epiqp_max(i, col[k]), epiqp_min(i, col[k]));
            out[l + k * rows] = a ? *a : 0;
        }
    }
    e->cluster->allreduce_sum(e->cluster->user, out, rows * cols);
    return EPIQ_OK;
}

/* What an entry adds to a sum: itself or its square. */
static inline double term(double v, bool squared)
{
    return squared ? v * v : v;
}

/* Local block of rows i: sums of t s, or of t^2 s, up to the diagonal. */
static void sum_rows(const epiqp_dmat *t, bool squared, ptrdiff_t i, const double *s, double *out)
{
    const ptrdiff_t end = before(&t->cols, block_of(&t->rows, i)), rows = epiqp_min(t->rows.block, t->rows.size - i);
    const bool diagonal = has(&t->cols, global(&t->rows, i));
    for (ptrdiff_t j = 0; j < end + (diagonal ? rows : 0); j++) {
        const double *v = t->a + i + j * t->rows.size, weight = s[global(&t->cols, j)];
        for (ptrdiff_t r = j < end ? 0 : j - end; r < rows; r++) {
            out[i + r] += term(v[r], squared) * weight;
        }
    }
}

/* Local column j: the sum below the diagonal; by_row: s in the order of the local rows. */
static double sum_col(const epiqp_dmat *t, bool squared, ptrdiff_t j, const double *by_row)
{
    const ptrdiff_t column = global(&t->cols, j), B = t->rows.block;
    double sum = 0;
    for (ptrdiff_t i = before(&t->rows, column / B) + (has(&t->rows, column) ? column % B + 1 : 0); i < t->rows.size;
         i++) {
        sum += term(t->a[i + j * t->rows.size], squared) * by_row[i];
    }
    return sum;
}

int epiqp_dmat_times(const epiqp_env *e, const epiqp_dmat *t, bool squared, ptrdiff_t cols, const double *s,
                     double *out)
{
    const ptrdiff_t n = t->n, B = t->rows.block;
    double *by_row;
    int status = alloc_all(e, 2 * t->rows.size + t->cols.size, &by_row);
    if (status) return status;
    double *row_sum = by_row + t->rows.size, *col_sum = row_sum + t->rows.size;
    for (ptrdiff_t k = 0; k < cols; k++, s += n, out += n) {
        gather(&t->rows, 0, 1, s, 0, n, by_row);
        memset(row_sum, 0, (size_t)t->rows.size * sizeof *row_sum);
#pragma omp parallel num_threads(e->threads)
        {
#pragma omp for schedule(dynamic) nowait
            for (ptrdiff_t i = 0; i < t->rows.size; i += B) {
                sum_rows(t, squared, i, s, row_sum);
            }
#pragma omp for schedule(dynamic, 64)
            for (ptrdiff_t j = 0; j < t->cols.size; j++) {
                col_sum[j] = sum_col(t, squared, j, by_row);
            }
        }
        memset(out, 0, (size_t)n * sizeof *out);
        scatter(&t->rows, 0, 1, row_sum, out, 0, n);
        scatter(&t->cols, 0, 1, col_sum, out, 0, n);
        e->cluster->allreduce_sum(e->cluster->user, out, n);
    }
    epiqp_free(e->c, by_row);
    return EPIQ_OK;
}
