/* spread_inverse.c - A^-1 in place of its factor, spread over ranks, and passes over its entries (spread.h).
 * X = A^-1 solves X L = L^-T, block column by block column from the right: with V = L_2k L_kk^-1 below the diagonal block,
 *     X_2k = -X_22 V,   X_kk = L_kk^-T L_kk^-1 - V'X_2k
 * X_22, the part to the right, is there already, and column k of L is no longer needed. That is one product with a
 * symmetric matrix a step, 2/3 n^3 in all, in which every block a rank has works twice, as it stands and transposed. V
 * and the product travel: n^2 numbers to each rank in all. ScaLAPACK's pdpotri takes 1.5 times as long on two ranks.
 */
#include "solve/spread.h"
#include "solve/spread_side.h"

#include <assert.h>
#include <string.h>

/* ---- a vector, or some columns, in the order of one side ---- */

static void gather(const epiqp_side *s, ptrdiff_t block, ptrdiff_t from, ptrdiff_t cols, const double *all,
                   ptrdiff_t first, ptrdiff_t ld, double *own)
{
    ptrdiff_t count = s->size - from;
    for (ptrdiff_t k = 0; k < cols; k++) {
        for (ptrdiff_t i = 0; i < count; i += block) {
            memcpy(own + i + k * count, all + epiqp_side_global(s, from + i, block) - first + k * ld,
                   (size_t)epiqp_min(block, count - i) * sizeof *own);
        }
    }
}

static void scatter(const epiqp_side *s, ptrdiff_t block, ptrdiff_t from, ptrdiff_t cols, const double *own,
                    double *all, ptrdiff_t first, ptrdiff_t ld)
{
    ptrdiff_t count = s->size - from;
    for (ptrdiff_t k = 0; k < cols; k++) {
        for (ptrdiff_t i = 0; i < count; i += block) {
            double *to = all + epiqp_side_global(s, from + i, block) - first + k * ld;
            for (ptrdiff_t l = 0; l < epiqp_min(block, count - i); l++) {
                to[l] += own[i + l + k * count];
            }
        }
    }
}

/* ---- the inverse ---- */

typedef struct {
    const epiqp_env *e;
    epiqp_spread *t;
    ptrdiff_t k, k0, wide;       /* block column at work: its number, its first column, its columns */
    ptrdiff_t first, tall;       /* first row below the diagonal block, and how many there are */
    ptrdiff_t row0, col0;        /* where this rank's part of X_22 begins, among its own */
    double *panel;               /* wide + tall by wide: L_kk above V */
    double *product;             /* tall by wide: X_22 V */
    double *by_row, *by_col;     /* V in the order of this rank's rows, and of its columns, */
    double *row_part, *col_part; /* and its parts of the product likewise */
} inverting;

static ptrdiff_t panel_ld(const inverting *v)
{
    return v->wide + v->tall;
}

/* V in place of what is below the diagonal, of all of a rank's columns. The diagonal blocks travel. */
static void divide_columns(inverting *v)
{
    const epiqp_spread *t = v->t;
    const ptrdiff_t n = t->n, ld = t->rows.size;
    double *diagonal = v->product; /* n by block: L_kk in rows k0.. */
    memset(diagonal, 0, (size_t)(n * t->block) * sizeof *diagonal);
    for (ptrdiff_t k0 = 0; k0 < n; k0 += t->block) {
        for (ptrdiff_t c = 0; epiqp_spread_has(t, k0, k0) && c < epiqp_min(t->block, n - k0); c++) {
            memcpy(diagonal + k0 + c + c * n, epiqp_spread_at(t, k0 + c, k0 + c),
                   (size_t)(epiqp_min(t->block, n - k0) - c) * sizeof *diagonal);
        }
    }
    v->e->cluster->sum(diagonal, n * t->block);
#pragma omp parallel for schedule(dynamic) num_threads(v->e->threads)
    for (ptrdiff_t j = 0; j < t->cols.size; j += t->block) {
        ptrdiff_t k = epiqp_side_block(&t->cols, j / t->block), from = epiqp_side_before(&t->rows, k + 1, t->block);
        if (from < ld) {
            v->e->la->trsm('R', 'N', ld - from, epiqp_min(t->block, t->cols.size - j), diagonal + k * t->block, n,
                           t->a + from + j * ld, ld);
        }
    }
}

/* Column k, whole, to every rank. */
static void take_panel(inverting *v)
{
    const epiqp_spread *t = v->t;
    const ptrdiff_t ld = panel_ld(v), own = epiqp_side_before(&t->rows, v->k, t->block);
    memset(v->panel, 0, (size_t)(ld * v->wide) * sizeof *v->panel);
    if (epiqp_side_has(&t->cols, v->k0, t->block)) {
        ptrdiff_t column = epiqp_side_own(&t->cols, v->k0, t->block);
        for (ptrdiff_t i = own; i < t->rows.size; i += t->block) {
            ptrdiff_t at = epiqp_side_global(&t->rows, i, t->block) - v->k0;
            for (ptrdiff_t c = 0; c < v->wide; c++) {
                ptrdiff_t above = at ? 0 : c; /* of the diagonal block: whatever was there */
                memcpy(v->panel + at + above + c * ld, t->a + i + above + (column + c) * t->rows.size,
                       (size_t)(epiqp_min(t->block, t->rows.size - i) - above) * sizeof *v->panel);
            }
        }
    }
    v->e->cluster->sum(v->panel, ld * v->wide);
}

enum { TOGETHER = 4 }; /* blocks multiplied at once: 512 rows bring gemm from 38 to 43 GFLOP/s */

static void clear(double *out, ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t ld)
{
    for (ptrdiff_t c = 0; c < cols; c++) {
        memset(out + c * ld, 0, (size_t)rows * sizeof *out);
    }
}

/* Own block of rows i, from own column `from` on: what is left up to the diagonal, and the diagonal block where it is
 * here. */
static void finish_rows(const inverting *v, ptrdiff_t i, ptrdiff_t from)
{
    const epiqp_spread *t = v->t;
    const epiqp_la *la = v->e->la;
    ptrdiff_t k = epiqp_side_block(&t->rows, i / t->block), end = epiqp_side_before(&t->cols, k, t->block);
    ptrdiff_t rows = epiqp_min(t->block, t->rows.size - i), tall = t->rows.size - v->row0, ld = t->rows.size,
              deep = t->cols.size - v->col0;
    double *out = v->row_part + i - v->row0, whole[EPIQP_BLOCK * EPIQP_BLOCK];
    if (end > from) {
        la->gemm('N', 'N', rows, v->wide, end - from, 1, t->a + i + from * ld, ld, v->by_col + from - v->col0, deep, 1,
                 out, tall);
    }
    if (epiqp_side_has(&t->cols, k * t->block, t->block)) {
        const double *half = t->a + i + end * ld;
        for (ptrdiff_t c = 0; c < rows; c++) {
            for (ptrdiff_t r = c; r < rows; r++) {
                whole[r + c * rows] = whole[c + r * rows] = half[r + c * ld];
            }
        }
        la->gemm('N', 'N', rows, v->wide, rows, 1, whole, rows, v->by_col + end - v->col0, deep, 1, out, tall);
    }
}

/* Own blocks of rows from i on, some together. */
static void multiply_rows(const inverting *v, ptrdiff_t i)
{
    const epiqp_spread *t = v->t;
    ptrdiff_t k = epiqp_side_block(&t->rows, i / t->block), end = epiqp_side_before(&t->cols, k, t->block);
    ptrdiff_t rows = epiqp_min(TOGETHER * t->block, t->rows.size - i), tall = t->rows.size - v->row0, ld = t->rows.size;
    double *out = v->row_part + i - v->row0;
    if (end > v->col0) {
        v->e->la->gemm('N', 'N', rows, v->wide, end - v->col0, 1, t->a + i + v->col0 * ld, ld, v->by_col,
                       t->cols.size - v->col0, 0, out, tall);
    } else {
        clear(out, rows, v->wide, tall);
    }
    for (ptrdiff_t l = i; l < i + rows; l += t->block) {
        finish_rows(v, l, end);
    }
}

/* Own blocks of columns from j on, some together: everything below the diagonal, transposed. */
static void multiply_cols(const inverting *v, ptrdiff_t j)
{
    const epiqp_spread *t = v->t;
    const epiqp_la *la = v->e->la;
    ptrdiff_t cols = epiqp_min(TOGETHER * t->block, t->cols.size - j), last = (j + cols - 1) / t->block;
    ptrdiff_t tall = t->rows.size - v->row0, ld = t->rows.size, deep = t->cols.size - v->col0,
              from = epiqp_side_before(&t->rows, epiqp_side_block(&t->cols, last) + 1, t->block);
    double *out = v->col_part + j - v->col0;
    from = epiqp_min(from, t->rows.size);
    if (from < t->rows.size) {
        la->gemm('T', 'N', cols, v->wide, t->rows.size - from, 1, t->a + from + j * ld, ld, v->by_row + from - v->row0,
                 tall, 0, out, deep);
    } else {
        clear(out, cols, v->wide, deep);
    }
    for (ptrdiff_t l = j; l < j + cols; l += t->block) { /* what lies between that and its diagonal */
        ptrdiff_t own = epiqp_side_before(&t->rows, epiqp_side_block(&t->cols, l / t->block) + 1, t->block);
        if (own < from) {
            la->gemm('T', 'N', epiqp_min(t->block, t->cols.size - l), v->wide, from - own, 1, t->a + own + l * ld, ld,
                     v->by_row + own - v->row0, tall, 1, out + l - j, deep);
        }
    }
}

static void multiply(inverting *v)
{
    const epiqp_spread *t = v->t;
    const double *below = v->panel + v->wide;
    gather(&t->rows, t->block, v->row0, v->wide, below, v->first, panel_ld(v), v->by_row);
    gather(&t->cols, t->block, v->col0, v->wide, below, v->first, panel_ld(v), v->by_col);
#pragma omp parallel num_threads(v->e->threads)
    {
#pragma omp for schedule(dynamic) nowait
        for (ptrdiff_t i = v->row0; i < t->rows.size; i += TOGETHER * t->block) {
            multiply_rows(v, i);
        }
#pragma omp for schedule(dynamic)
        for (ptrdiff_t j = v->col0; j < t->cols.size; j += TOGETHER * t->block) {
            multiply_cols(v, j);
        }
    }
    memset(v->product, 0, (size_t)(v->tall * v->wide) * sizeof *v->product);
    scatter(&t->rows, t->block, v->row0, v->wide, v->row_part, v->product, v->first, v->tall);
    scatter(&t->cols, t->block, v->col0, v->wide, v->col_part, v->product, v->first, v->tall);
    v->e->cluster->sum(v->product, v->tall * v->wide);
}

/* The diagonal block, where it is here. */
static void place_diagonal(const inverting *v)
{
    const epiqp_la *la = v->e->la;
    const ptrdiff_t w = v->wide, ld = panel_ld(v);
    double x[EPIQP_BLOCK * EPIQP_BLOCK] = {0}, *to = epiqp_spread_at(v->t, v->k0, v->k0);
    for (ptrdiff_t i = 0; i < w; i++) {
        x[i + i * w] = 1;
    }
    la->trsm('L', 'N', w, w, v->panel, ld, x, w);
    la->trsm('L', 'T', w, w, v->panel, ld, x, w);
    if (v->tall) {
        la->gemm('T', 'N', w, w, v->tall, 1, v->panel + w, ld, v->product, v->tall, 1, x, w);
    }
    for (ptrdiff_t c = 0; c < w; c++) {
        memcpy(to + c + c * v->t->rows.size, x + c + c * w, (size_t)(w - c) * sizeof *x);
    }
}

static void place(inverting *v)
{
    epiqp_spread *t = v->t;
    if (!epiqp_side_has(&t->cols, v->k0, t->block)) {
        return;
    }
    ptrdiff_t column = epiqp_side_own(&t->cols, v->k0, t->block);
    for (ptrdiff_t c = 0; c < v->wide; c++) {
        for (ptrdiff_t i = v->row0; i < t->rows.size; i++) {
            t->a[i + (column + c) * t->rows.size] =
                -v->product[epiqp_side_global(&t->rows, i, t->block) - v->first + c * v->tall];
        }
    }
    if (epiqp_side_has(&t->rows, v->k0, t->block)) {
        place_diagonal(v);
    }
}

static ptrdiff_t room(const epiqp_spread *t)
{
    return t->block * (2 * t->n + 2 * t->rows.size + 2 * t->cols.size);
}

double epiqp_spread_bytes(const epiq_cluster *k, ptrdiff_t n, bool inverse)
{
    epiqp_spread t = epiqp_spread_shape(k, n);
    const double beside = (double)t.block * (double)(t.rows.size + t.cols.size);
    /* of the blocks above the diagonal only those beside it share pages with what is used */
    double used = (double)t.rows.size * (double)t.cols.size / 2 + beside;
    double work = 2 * beside;                                                    /* ScaLAPACK's, as measured */
    double later = inverse ? (double)room(&t) + (double)t.block * (double)n : 0; /* and what a sum over ranks takes */
    return 8 * (used + (work > later ? work : later));
}

int epiqp_spread_inverse(const epiqp_env *e, epiqp_spread *l)
{
    const ptrdiff_t steps = (l->n + l->block - 1) / l->block;
    inverting v = {.e = e, .t = l, .panel = epiqp_alloc(e->c, room(l), sizeof(double))};
    int s = v.panel ? EPIQ_OK : EPIQ_E_NOMEM;
    if (v.panel) {
        v.product = v.panel + l->n * l->block;
        v.by_row = v.product + l->n * l->block;
        v.row_part = v.by_row + l->rows.size * l->block;
        v.by_col = v.row_part + l->rows.size * l->block;
        v.col_part = v.by_col + l->cols.size * l->block;
    }
    if (!(s = epiq_ctx_agree(e->c, s))) {
        assert(v.panel); /* agreeing keeps a failure of one's own */
        divide_columns(&v);
    }
    for (v.k = steps - 1; !s && v.k >= 0; v.k--) {
        s = epiqp_stopping(e->c) ? epiqp_report(e->c, "inverse", steps - 1 - v.k, steps) : EPIQ_OK;
        if ((s = epiq_ctx_agree(e->c, s))) {
            break;
        }
        v.k0 = v.k * l->block;
        v.wide = epiqp_min(l->block, l->n - v.k0);
        v.first = v.k0 + v.wide;
        v.tall = l->n - v.first;
        v.row0 = epiqp_min(l->rows.size, epiqp_side_before(&l->rows, v.k + 1, l->block));
        v.col0 = epiqp_min(l->cols.size, epiqp_side_before(&l->cols, v.k + 1, l->block));
        take_panel(&v);
        if (v.tall) {
            multiply(&v);
        }
        place(&v);
    }
    epiqp_free(e->c, v.panel);
    return s;
}

/* ---- its entries ---- */

int epiqp_spread_diagonal(const epiqp_env *e, const epiqp_spread *t, double *out)
{
    int s = epiq_ctx_agree(e->c, EPIQ_OK);
    for (ptrdiff_t i = 0; !s && i < t->n; i++) {
        out[i] = epiqp_spread_has(t, i, i) ? *epiqp_spread_at(t, i, i) : 0;
    }
    if (!s) {
        e->cluster->sum(out, t->n);
    }
    return s;
}

/* An entry as it is summed: itself or its square. */
static inline double term(double v, bool squared)
{
    return squared ? v * v : v;
}

/* Own block of rows i: sums over everything up to the diagonal of t s, or of t^2 s. */
static void sum_rows(const epiqp_spread *t, bool squared, ptrdiff_t i, const double *s, double *out)
{
    ptrdiff_t k = epiqp_side_block(&t->rows, i / t->block), end = epiqp_side_before(&t->cols, k, t->block),
              rows = epiqp_min(t->block, t->rows.size - i);
    bool diagonal = epiqp_side_has(&t->cols, k * t->block, t->block);
    for (ptrdiff_t j = 0; j < end + (diagonal ? rows : 0); j++) {
        const double *v = t->a + i + j * t->rows.size;
        double weight = s[epiqp_side_global(&t->cols, j, t->block)];
        for (ptrdiff_t r = j < end ? 0 : j - end; r < rows; r++) {
            out[i + r] += term(v[r], squared) * weight;
        }
    }
}

/* Own column j: the sum over everything below the diagonal; by_row: s in the order of the rows. */
static double sum_col(const epiqp_spread *t, bool squared, ptrdiff_t j, const double *by_row)
{
    ptrdiff_t column = epiqp_side_global(&t->cols, j, t->block), k = column / t->block,
              from = epiqp_side_before(&t->rows, k, t->block);
    double sum = 0;
    from += epiqp_side_has(&t->rows, column, t->block) ? column % t->block + 1 : 0;
    for (ptrdiff_t i = from; i < t->rows.size; i++) {
        sum += term(t->a[i + j * t->rows.size], squared) * by_row[i];
    }
    return sum;
}

static int times(const epiqp_env *e, const epiqp_spread *t, bool squared, const double *s, double *out)
{
    double *by_row = epiqp_alloc(e->c, 2 * t->rows.size + t->cols.size, sizeof *by_row);
    int status = epiq_ctx_agree(e->c, by_row ? EPIQ_OK : EPIQ_E_NOMEM);
    if (!status) {
        assert(by_row); /* agreeing keeps a failure of one's own */
        double *row_sum = by_row + t->rows.size, *col_sum = row_sum + t->rows.size;
        gather(&t->rows, t->block, 0, 1, s, 0, t->n, by_row);
        memset(row_sum, 0, (size_t)t->rows.size * sizeof *row_sum);
#pragma omp parallel num_threads(e->threads)
        {
#pragma omp for schedule(dynamic) nowait
            for (ptrdiff_t i = 0; i < t->rows.size; i += t->block) {
                sum_rows(t, squared, i, s, row_sum);
            }
#pragma omp for schedule(dynamic, 64)
            for (ptrdiff_t j = 0; j < t->cols.size; j++) {
                col_sum[j] = sum_col(t, squared, j, by_row);
            }
        }
        memset(out, 0, (size_t)t->n * sizeof *out);
        scatter(&t->rows, t->block, 0, 1, row_sum, out, 0, t->n);
        scatter(&t->cols, t->block, 0, 1, col_sum, out, 0, t->n);
        e->cluster->sum(out, t->n);
    }
    epiqp_free(e->c, by_row);
    return status;
}

int epiqp_spread_squares_times(const epiqp_env *e, const epiqp_spread *t, const double *s, double *out)
{
    return times(e, t, true, s, out);
}

int epiqp_spread_times(const epiqp_env *e, const epiqp_spread *t, ptrdiff_t cols, const double *s, double *out)
{
    int status = EPIQ_OK;
    for (ptrdiff_t k = 0; !status && k < cols; k++) {
        status = times(e, t, false, s + k * t->n, out + k * t->n);
    }
    return status;
}

int epiqp_spread_corner(const epiqp_env *e, const epiqp_spread *t, ptrdiff_t count, const ptrdiff_t *rows, double *out)
{
    int s = epiq_ctx_agree(e->c, EPIQ_OK);
    for (ptrdiff_t k = 0; !s && k < count; k++) {
        for (ptrdiff_t l = 0; l < count; l++) {
            ptrdiff_t i = epiqp_max(rows[k], rows[l]), j = epiqp_min(rows[k], rows[l]);
            out[l + k * count] = l >= k && epiqp_spread_has(t, i, j) ? *epiqp_spread_at(t, i, j) : 0;
        }
    }
    if (!s) {
        e->cluster->sum(out, count * count);
    }
    return s;
}

int epiqp_spread_strip(const epiqp_env *e, const epiqp_spread *t, ptrdiff_t i0, ptrdiff_t some, ptrdiff_t count,
                       const ptrdiff_t *cols, double *out)
{
    int s = epiq_ctx_agree(e->c, EPIQ_OK);
    for (ptrdiff_t k = 0; !s && k < count; k++) {
        for (ptrdiff_t l = 0; l < some; l++) {
            ptrdiff_t i = epiqp_max(i0 + l, cols[k]), j = epiqp_min(i0 + l, cols[k]);
            out[l + k * some] = epiqp_spread_has(t, i, j) ? *epiqp_spread_at(t, i, j) : 0;
        }
    }
    if (!s) {
        e->cluster->sum(out, some * count);
    }
    return s;
}
