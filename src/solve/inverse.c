/* inverse.c - A^-1 = W'W with W = L^-1, in place of L, and passes over the squares of its entries (chol.h). Both
 * steps compute blocks in separate memory and commit them in the order of their numbers: what a block overwrites is
 * needed only by blocks before it, so one triangle is enough. A worker whose block is ready before its turn stages it
 * and continues with the next one.
 */
#include "solve/chol.h"
#include "solve/tasks.h"

#include <omp.h>
#include <string.h>

enum { STEP = 128 }; /* rows of a step into which triangles are cut, so that few zeros are multiplied */

typedef struct {
    const epiqp_env *e;
    epiqp_tri *t;
    bool square;                      /* the second step, from W to W'W; its diagonal blocks are cut up too */
    ptrdiff_t width;                  /* columns of a block; it divides the height of a panel */
    atomic_ptrdiff_t next, committed; /* number of blocks taken; number of blocks committed */
} inverting;

typedef struct {
    ptrdiff_t number, rows, cols, ld;
    double *to; /* where it belongs; NULL: there is none */
} block;

typedef struct {
    inverting *v;
    double *sum, *out, *copy; /* height by width each: two for the work, one for the staged block */
    block staged;
} worker;

/* Writes the staged block to its place if all blocks before it are committed. */
static void commit_in_order(worker *h)
{
    block *b = &h->staged;
    if (!b->to || atomic_load(&h->v->committed) != b->number) return;
    for (ptrdiff_t k = 0; k < b->cols; k++) {
        memcpy(b->to + k * b->ld, h->copy + k * b->rows, (size_t)b->rows * sizeof *b->to);
    }
    b->to = NULL;
    atomic_store(&h->v->committed, b->number + 1);
}

/* Returns when `wanted` blocks are committed. The own staged block may be among them; it is committed first, since
 * other workers may wait for it. */
static void await_committed(worker *h, ptrdiff_t wanted)
{
    if (h->staged.to && wanted > h->staged.number) {
        epiqp_await(&h->v->committed, h->staged.number, NULL);
        commit_in_order(h);
    }
    epiqp_await(&h->v->committed, wanted, NULL);
}

static void await_staged(worker *h)
{
    await_committed(h, h->staged.to ? h->staged.number + 1 : 0);
}

/* Stages the block that is in h->out, and commits it if it is its turn. */
static void stage(worker *h, block b)
{
    await_staged(h);
    double *out = h->out;
    h->out = h->copy;
    h->copy = out;
    h->staged = b;
    commit_in_order(h);
}

/* Returns the number of the next block, -1 after the last one or on a request to stop. *p: its panel, *first: the
 * number of the first block of that panel. */
static ptrdiff_t next_block(inverting *v, ptrdiff_t *p, ptrdiff_t *first)
{
    if (epiqp_cancel_requested(v->e->c)) return -1; /* before a block is taken: others wait for every block taken */
    ptrdiff_t number = atomic_fetch_add(&v->next, 1);
    for (; *p < v->t->panels; ++*p) {
        ptrdiff_t columns = *p * v->t->height + (v->square ? epiqp_tri_rows(v->t, *p) : 0);
        ptrdiff_t blocks = (columns + v->width - 1) / v->width;
        if (number < *first + blocks) return number;
        *first += blocks;
    }
    return -1;
}

/* Diagonal blocks: W_pp = L_pp^-1, zeros above. */
static void invert_diagonal(const inverting *v, ptrdiff_t p, double *work)
{
    ptrdiff_t rows = epiqp_tri_rows(v->t, p);
    double *l = epiqp_tri_at(v->t, p, 0, p * v->t->height);
    memset(work, 0, (size_t)(rows * rows) * sizeof *work);
    for (ptrdiff_t k = 0; k < rows; k += STEP) {
        ptrdiff_t cols = epiqp_min(STEP, rows - k);
        for (ptrdiff_t i = k; i < k + cols; i++) {
            work[i + i * rows] = 1;
        }
        v->e->la->trsm('L', 'N', rows - k, cols, l + k * (rows + 1), rows, work + k * (rows + 1), rows);
    }
    memcpy(l, work, (size_t)(rows * rows) * sizeof *work);
}

/* Block b of panel p: W_pb = -W_pp sum_k L_pk W_kb over the panels k < p that reach it. */
static void invert_block(worker *h, ptrdiff_t p, ptrdiff_t b, ptrdiff_t number)
{
    const inverting *v = h->v;
    const epiqp_la *la = v->e->la;
    const epiqp_tri *t = v->t;
    ptrdiff_t rows = epiqp_tri_rows(t, p), H = t->height, j0 = b * v->width, q = j0 / H;
    for (ptrdiff_t k = q; k < p; k++) {
        if (k > q) { /* panels 0 to k - 1 have k (k - 1) / 2 blocks of H columns */
            await_committed(h, H / v->width * (k * (k - 1) / 2) + b + 1);
        }
        commit_in_order(h);
        ptrdiff_t some = k > q ? v->width : epiqp_min(STEP, v->width);
        for (ptrdiff_t c = 0; c < v->width; c += some) {
            ptrdiff_t from = k > q ? 0 : j0 + c - k * H;
            la->gemm('N', 'N', rows, some, H - from, 1, epiqp_tri_at(t, p, 0, k * H + from), rows,
                     epiqp_tri_at(t, k, from, j0 + c), H, k > q, h->sum + c * rows, rows);
        }
    }
    for (ptrdiff_t k = 0; k < rows; k += STEP) {
        la->gemm('N', 'N', rows - k, v->width, epiqp_min(STEP, rows - k), -1, epiqp_tri_at(t, p, k, p * H + k), rows,
                 h->sum + k, rows, k > 0, h->out + k, rows);
    }
    stage(h, (block){number, rows, v->width, rows, epiqp_tri_at(t, p, 0, j0)});
}

/* Block b of panel p: (W'W)_pb = sum over panels k from p down of W_kp' W_kb; at most from the diagonal down. */
static void square_block(worker *h, ptrdiff_t p, ptrdiff_t b, ptrdiff_t number)
{
    const inverting *v = h->v;
    const epiqp_la *la = v->e->la;
    const epiqp_tri *t = v->t;
    ptrdiff_t rows = epiqp_tri_rows(t, p), i0 = p * t->height, j0 = b * v->width, cut = epiqp_max(0, j0 - i0);
    ptrdiff_t cols = epiqp_min(v->width, i0 + rows - j0), ld = rows - cut;
    ptrdiff_t triangle = j0 < i0 ? 0 : cols;       /* rows of this block that are on the diagonal */
    for (ptrdiff_t k = cut; k < rows; k += STEP) { /* panel p itself: W_pp' is an upper triangle */
        la->gemm('T', 'N', epiqp_min(STEP, rows - k), cols, rows - k, 1, epiqp_tri_at(t, p, k, i0 + k), rows,
                 epiqp_tri_at(t, p, k, j0), rows, 0, h->out + k - cut, ld);
    }
    for (ptrdiff_t k = p + 1; k < t->panels; k++) {
        ptrdiff_t inner = epiqp_tri_rows(t, k), rest = ld - triangle;
        commit_in_order(h);
        if (triangle) la->syrk('T', cols, inner, 1, epiqp_tri_at(t, k, 0, j0), inner, h->out, ld);
        if (rest > 0) {
            la->gemm('T', 'N', rest, cols, inner, 1, epiqp_tri_at(t, k, 0, i0 + cut + triangle), inner,
                     epiqp_tri_at(t, k, 0, j0), inner, 1, h->out + triangle, ld);
        }
    }
    stage(h, (block){number, ld, cols, rows, epiqp_tri_at(t, p, cut, j0)});
}

/* What one thread does of a step: blocks in turn, until none is left. */
static void take_blocks(worker *h, inverting *v)
{
    h->v = v;
    for (ptrdiff_t p = 0, first = 0, number; (number = next_block(v, &p, &first)) >= 0;) {
        if (number == first) {
            double x = (double)p / (double)v->t->panels;
            epiqp_report_share(v->e->c, "inverse", v->t->n, v->square ? (1 + x * x * (3 - 2 * x)) / 2 : x * x * x / 2);
        }
        (v->square ? square_block : invert_block)(h, p, number - first, number);
    }
    await_staged(h);
}

static ptrdiff_t width_of(ptrdiff_t height)
{
    return epiqp_max(epiqp_min(height, 256), height / 4);
}

/* Doubles that one thread needs. */
static ptrdiff_t room_of(ptrdiff_t height)
{
    return height * epiqp_max(height, 3 * width_of(height));
}

ptrdiff_t epiqp_inverse_bytes(ptrdiff_t n, int threads)
{
    return (ptrdiff_t)sizeof(double) * threads * room_of(epiqp_tri_shape(n).height);
}

int epiqp_chol_inverse(const epiqp_env *e, epiqp_tri *l)
{
    const ptrdiff_t H = l->height, width = width_of(H), room = room_of(H);
    inverting down = {.e = e, .t = l, .width = width}, square = {.e = e, .t = l, .width = width, .square = true};
    double *work = epiqp_alloc(e->c, e->threads * room, sizeof *work);
    if (!work) return EPIQ_E_NOMEM;
#pragma omp parallel num_threads(e->threads) if (l->n > EPIQP_ALONE)
    {
        double *mine = work + omp_get_thread_num() * room;
        worker h = {.sum = mine, .out = mine + H * width, .copy = mine + 2 * H * width};
#pragma omp for schedule(dynamic)
        for (ptrdiff_t p = 0; p < l->panels; p++) {
            invert_diagonal(&down, p, mine);
        }
        take_blocks(&h, &down);
#pragma omp barrier
        take_blocks(&h, &square);
    }
    epiqp_free(e->c, work);
    return epiqp_cancel_requested(e->c) ? epiqp_report(e->c, "inverse", 0, 1) : EPIQ_OK;
}

/* ---- squares ---- */

/* row_i += v_i^2 weight; returns sum_i v_i^2 s_i */
static EPIQP_VERSIONS double square_column(ptrdiff_t n, const double *restrict v, double weight,
                                           const double *restrict s, double *restrict row)
{
    enum { PARTS = 16 }; /* independent sums, as in vector.c */
    double part[PARTS] = {0}, sum = 0;
    ptrdiff_t i = 0;
    for (; i + PARTS <= n; i += PARTS) {
        for (int k = 0; k < PARTS; k++) {
            double square = v[i + k] * v[i + k];
            row[i + k] += square * weight;
            part[k] += square * s[i + k];
        }
    }
    for (; i < n; i++) {
        row[i] += v[i] * v[i] * weight;
        sum += v[i] * v[i] * s[i];
    }
    for (int k = 0; k < PARTS; k++) {
        sum += part[k];
    }
    return sum;
}

/* Each square block of side `height` is read once, for its rows and for its columns; the partial sums are stored per
 * block and added in a fixed order. */
int epiqp_tri_squares_times(const epiqp_env *e, const epiqp_tri *t, const double *s, double *out)
{
    ptrdiff_t H = t->height, count = t->panels * (t->panels + 1) / 2;
    double *parts = epiqp_alloc(e->c, 2 * count * H, sizeof *parts); /* per block: sums of its rows, of its columns */
    if (!parts) return EPIQ_E_NOMEM;
#pragma omp parallel num_threads(e->threads) if (t->n > EPIQP_ALONE)
    {
#pragma omp for schedule(dynamic)
        for (ptrdiff_t number = 0; number < count; number++) {
            ptrdiff_t p = 0;
            while ((p + 1) * (p + 2) / 2 <= number) {
                p++;
            }
            ptrdiff_t q = number - p * (p + 1) / 2, rows = epiqp_tri_rows(t, p), cols = epiqp_tri_rows(t, q);
            double *row = parts + 2 * number * H, *col = row + H;
            memset(row, 0, (size_t)rows * sizeof *row);
            for (ptrdiff_t k = 0; k < cols; k++) {
                const double *v = epiqp_tri_at(t, p, 0, q * H + k);
                ptrdiff_t from = p == q ? k + 1 : 0; /* entries below the diagonal count twice */
                col[k] = square_column(rows - from, v + from, s[q * H + k], s + p * H + from, row + from);
                if (p == q) col[k] += v[k] * v[k] * s[q * H + k];
            }
        }
#pragma omp for schedule(static)
        for (ptrdiff_t p = 0; p < t->panels; p++) {
            double *sum = out + p * H;
            memset(sum, 0, (size_t)epiqp_tri_rows(t, p) * sizeof *sum);
            for (ptrdiff_t q = 0; q < t->panels; q++) {
                ptrdiff_t number = p > q ? p * (p + 1) / 2 + q : q * (q + 1) / 2 + p;
                const double *row = parts + 2 * number * H, *col = row + H;
                for (ptrdiff_t i = 0; i < epiqp_tri_rows(t, p); i++) {
                    sum[i] += (q <= p ? row[i] : 0) + (q >= p ? col[i] : 0);
                }
            }
        }
    }
    epiqp_free(e->c, parts);
    return EPIQ_OK;
}

/* The diagonal block of panel p, of which only the lower triangle is stored, times one column. */
static void diagonal_times(const epiqp_tri *t, ptrdiff_t p, const double *s, double *out)
{
    ptrdiff_t rows = epiqp_tri_rows(t, p);
    for (ptrdiff_t k = 0; k < rows; k++) {
        const double *v = epiqp_tri_at(t, p, 0, p * t->height + k);
        out[k] += v[k] * s[k] + epiqp_dot(rows - k - 1, v + k + 1, s + k + 1);
        epiqp_axpy(rows - k - 1, s[k], v + k + 1, out + k + 1);
    }
}

void epiqp_tri_times(const epiqp_env *e, const epiqp_tri *t, ptrdiff_t cols, const double *s, double *out)
{
    enum { GROUP = 8 }; /* columns that one thread multiplies at a time */
    const ptrdiff_t n = t->n, H = t->height;
#pragma omp parallel for schedule(dynamic) num_threads(e->threads) if (n > EPIQP_ALONE)
    for (ptrdiff_t from = 0; from < cols; from += GROUP) {
        const ptrdiff_t some = epiqp_min(GROUP, cols - from);
        const double *b = s + from * n;
        double *c = out + from * n;
        memset(c, 0, (size_t)(some * n) * sizeof *c);
        for (ptrdiff_t p = 0; p < t->panels; p++) {
            const ptrdiff_t rows = epiqp_tri_rows(t, p), left = p * H;
            const double *a = epiqp_tri_at(t, p, 0, 0);
            if (left > 0) {
                e->la->gemm('N', 'N', rows, some, left, 1, a, rows, b, n, 1, c + left, n);
                e->la->gemm('T', 'N', left, some, rows, 1, a, rows, b + left, n, 1, c, n);
            }
            for (ptrdiff_t k = 0; k < some; k++) {
                diagonal_times(t, p, b + left + k * n, c + left + k * n);
            }
        }
    }
}
