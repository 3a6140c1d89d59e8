/* spread.c - filling, factoring and solving with a matrix that is spread over ranks (spread.h); spread_inverse.c has the
 * rest. A rank that fails on its own tells the others before anyone waits for it: every step begins by agreeing.
 */
#include "solve/spread.h"
#include "solve/spread_side.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <string.h>

/* ---- storage ---- */

static epiqp_side side_of(ptrdiff_t n, ptrdiff_t block, int place, int of)
{
    epiqp_side s = {place, of, 0};
    s.size = epiqp_side_before(&s, n / block, block);
    s.size += n / block % of == place ? n % block : 0; /* the last block may be a short one */
    return s;
}

epiqp_spread epiqp_spread_shape(const epiq_cluster *k, ptrdiff_t n)
{
    return (epiqp_spread){n,
                          k->block,
                          side_of(n, k->block, k->rank / k->cols, k->rows),
                          side_of(n, k->block, k->rank % k->cols, k->cols),
                          NULL,
                          0};
}

int epiqp_spread_new(const epiqp_env *e, ptrdiff_t n, epiqp_spread *out)
{
    *out = epiqp_spread_shape(e->cluster, n);
    ptrdiff_t count = out->rows.size * out->cols.size;
    int s = EPIQ_OK;
    if (count > INT_MAX || n > INT_MAX) { /* ScaLAPACK counts in ints */
        s = epiqp_fail(e->c, EPIQ_E_NOMEM,
                       "a rank's part of the kernel matrix of %td rows has %td entries, over %d; start more ranks", n,
                       count, INT_MAX);
    } else if (!(out->a = epiqp_alloc(e->c, count, sizeof *out->a))) {
        s = EPIQ_E_NOMEM;
    }
    s = epiq_ctx_agree(e->c, s);
    if (s) {
        epiqp_spread_free(e->c, out);
    }
    return s;
}

void epiqp_spread_free(epiq_ctx *c, epiqp_spread *t)
{
    epiqp_free(c, t->a);
    t->a = NULL;
}

/* ---- fill ---- */

void epiqp_spread_fill(const epiqp_env *e, const epiqp_source *from, epiqp_spread *t)
{
    ptrdiff_t down = epiqp_side_blocks(&t->rows, t->block), across = epiqp_side_blocks(&t->cols, t->block);
#pragma omp parallel for schedule(dynamic) num_threads(e->threads) collapse(2)
    for (ptrdiff_t j = 0; j < across; j++) {
        for (ptrdiff_t i = 0; i < down; i++) {
            ptrdiff_t i0 = epiqp_side_block(&t->rows, i) * t->block, j0 = epiqp_side_block(&t->cols, j) * t->block;
            if (i0 >= j0) {
                from->block(from->self, i0, epiqp_min(t->block, t->n - i0), j0, epiqp_min(t->block, t->n - j0),
                            t->a + i * t->block + j * t->block * t->rows.size, t->rows.size);
            }
        }
    }
}

static void copy_block(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                       ptrdiff_t ld)
{
    const epiqp_spread *t = self;
    const double *from = epiqp_spread_at(t, i0, j0);
    for (ptrdiff_t k = 0; k < cols; k++) {
        memcpy(out + k * ld, from + k * t->rows.size, (size_t)rows * sizeof *out);
    }
}

epiqp_source epiqp_spread_source(const epiqp_spread *t)
{
    return (epiqp_source){.block = copy_block, .self = t};
}

/* ---- factor ---- */

static double trace(const epiqp_env *e, const epiqp_spread *t)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < t->n; i++) {
        sum += epiqp_spread_has(t, i, i) ? *epiqp_spread_at(t, i, i) : 0;
    }
    e->cluster->sum(&sum, 1);
    return sum;
}

static void raise_diagonal(const epiqp_spread *t, double by, double *raised)
{
    for (ptrdiff_t i = 0; i < t->n; i++) {
        if (epiqp_spread_has(t, i, i)) {
            raised[i] = *epiqp_spread_at(t, i, i) += by;
        }
    }
}

static double loss_of(const epiqp_env *e, const epiqp_spread *t, const double *before)
{
    double loss = 0;
    for (ptrdiff_t i = 0; i < t->n; i++) {
        loss = epiqp_spread_has(t, i, i) ? fmax(loss, epiqp_pivot_loss(*epiqp_spread_at(t, i, i), before[i])) : loss;
    }
    e->cluster->sum(&loss, 1); /* ranks have sums, not maxima */
    return loss;
}

/* As epiqp_ridge_factor: the first try adds nothing. */
int epiqp_spread_factor(const epiqp_env *e, const epiqp_source *from, double ridge, epiqp_spread *t, double *jitter,
                        double *fill_s, double *factor_s)
{
    ptrdiff_t pivot = 0;
    double *before = epiqp_alloc(e->c, t->n, sizeof *before); /* the diagonal of what is factored, where it is here */
    int s = epiq_ctx_agree(e->c, before ? EPIQ_OK : EPIQ_E_NOMEM);
    if (s || !before) {
        epiqp_free(e->c, before);
        return s ? s : EPIQ_E_NOMEM;
    }
    for (double relative = 1e-15; relative < 2e-8; relative *= 10) {
        double start = epiqp_now();
        epiqp_spread_fill(e, from, t);
        s = epiq_ctx_agree(e->c, epiqp_stopping(e->c) ? epiqp_report(e->c, "kernel", 0, 1) : EPIQ_OK);
        if (s) {
            break;
        }
        double mean = trace(e, t) / (double)t->n, filled = epiqp_now();
        *jitter = relative < 5e-15 ? 0 : relative * mean;
        raise_diagonal(t, ridge + *jitter, before);
        pivot = e->cluster->factor(e->threads, t->n, t->a);
        *fill_s += filled - start;
        *factor_s += epiqp_now() - filled;
        if (!pivot || !(mean > 0 && mean <= 1e300)) {
            break;
        }
    }
    t->loss = s || pivot ? 0 : loss_of(e, t, before);
    epiqp_free(e->c, before);
    return s ? s : pivot ? epiqp_not_definite(e->c, pivot, t->n, ridge) : EPIQ_OK;
}

/* ---- solves ---- */

/* This rank's blocks of b (n by cols) to or from their own place. */
static void deal(const epiqp_spread *l, const epiqp_side *cols, double *b, double *mine, bool back)
{
    for (ptrdiff_t j = 0; j < cols->size; j++) {
        double *column = b + epiqp_side_global(cols, j, l->block) * l->n;
        for (ptrdiff_t i = 0; i < l->rows.size; i += l->block) {
            double *all = column + epiqp_side_global(&l->rows, i, l->block), *own = mine + i + j * l->rows.size;
            memcpy(back ? all : own, back ? own : all, (size_t)epiqp_min(l->block, l->rows.size - i) * sizeof *b);
        }
    }
}

int epiqp_spread_solve(const epiqp_env *e, const epiqp_spread *l, ptrdiff_t cols, double *b)
{
    epiqp_side across = side_of(cols, l->block, (int)l->cols.place, (int)l->cols.of);
    double *mine = epiqp_alloc(e->c, l->rows.size * across.size, sizeof *mine);
    int s = epiq_ctx_agree(e->c, mine ? EPIQ_OK : EPIQ_E_NOMEM);
    if (!s) {
        assert(mine); /* agreeing keeps a failure of one's own */
        deal(l, &across, b, mine, false);
        e->cluster->solve(e->threads, l->n, l->a, cols, mine);
        memset(b, 0, (size_t)(l->n * cols) * sizeof *b);
        deal(l, &across, b, mine, true);
        e->cluster->sum(b, l->n * cols); /* every number is one rank's, and 0 elsewhere */
    }
    epiqp_free(e->c, mine);
    return s;
}
