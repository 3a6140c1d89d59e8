/* span.c - an orthonormal basis by Gram-Schmidt in panels of rows, each panel against the basis so far by matrix products,
 * twice, and then its rows among themselves. A row that becomes much shorter is made orthogonal to all of the basis once more, so
 * that rows in nearly the same direction cost no orthogonality.
 */
#include "la/span.h"

#include <math.h>
#include <string.h>

enum {
    PANEL = 32,     /* rows at a time */
    VECTORS = 64,   /* of the basis in one product, */
    LONG = 2048,    /* and numbers of a row: fixed blocks, so that the bits do not depend on the threads */
    WORTH = 1 << 20 /* numbers in a product that are worth several threads */
};
static const double NOTHING =
    1e-13; /* of a row's length: rounding errors of its coordinates are a tenth of that at most */
static const double SHORTENED = 0.1; /* of its length: a row that has kept less has lost a digit of orthogonality */

/* Rows w (count by d) less their part in the span. c: room for rank by count. */
static void remove_span(const epiqp_env *e, const epiqp_span *s, ptrdiff_t count, double *w, double *c)
{
    const ptrdiff_t d = s->d, rank = s->rank;
#pragma omp parallel for schedule(static) num_threads(e->threads) if (rank * d > WORTH)
    for (ptrdiff_t k = 0; k < rank; k += VECTORS) {
        const ptrdiff_t some = epiqp_min(VECTORS, rank - k);
        e->la->gemm('T', 'N', some, count, d, 1, s->q + k * d, d, w, d, 0, c + k, rank);
    }
#pragma omp parallel for schedule(static) num_threads(e->threads) if (rank * d > WORTH)
    for (ptrdiff_t a = 0; a < (rank ? d : 0); a += LONG) {
        const ptrdiff_t some = epiqp_min(LONG, d - a);
        e->la->gemm('N', 'N', some, count, rank, -1, s->q + a, d, c, rank, 1, w + a, d);
    }
}

static double length(ptrdiff_t d, const double *v)
{
    return sqrt(epiqp_dot(d, v, v));
}

static void multiply(ptrdiff_t d, double by, double *v)
{
    for (ptrdiff_t a = 0; a < d; a++) {
        v[a] *= by;
    }
}

/* A copy whose largest number is about 1, so that squares neither overflow nor vanish. Returns what it was divided by. */
static double copy_scaled(ptrdiff_t d, const double *x, double *w)
{
    double largest = 0;
    for (ptrdiff_t a = 0; a < d; a++) {
        largest = fmax(largest, fabs(x[a]));
    }
    const int size = largest > 0 ? ilogb(largest) : 0;
    for (ptrdiff_t a = 0; a < d; a++) {
        w[a] = scalbn(x[a], -size);
    }
    return scalbn(1, size);
}

/* The rows of a panel, scaled, become vectors of the basis, whose room is q. */
static void add_panel(const epiqp_env *e, ptrdiff_t count, double *w, double *c, double *q, epiqp_span *s)
{
    const ptrdiff_t d = s->d, before = s->rank;
    double whole[PANEL];
    for (ptrdiff_t i = 0; i < count; i++) {
        whole[i] = length(d, w + i * d);
    }
    for (int pass = 0; pass < 2; pass++) {
        remove_span(e, s, count, w, c);
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        double *v = w + i * d;
        for (ptrdiff_t k = 2 * before; k < 2 * s->rank; k++) { /* each twice, one after the other */
            const double *other = q + (before + (k - 2 * before) % (s->rank - before)) * d;
            epiqp_axpy(d, -epiqp_dot(d, other, v), other, v);
        }
        const double left = length(d, v);
        if (!(left > NOTHING * whole[i])) continue;
        multiply(d, 1 / left, v);
        if (left < SHORTENED * whole[i]) {
            remove_span(e, s, 1, v, c);
            multiply(d, 1 / length(d, v), v);
        }
        memcpy(q + s->rank++ * d, v, (size_t)d * sizeof *v);
    }
}

/* Vectors that rows have hardly any part in are mixed with the others: I - 2 u u' with u = (1, .., 1)/sqrt(rank). So no
 * coordinate is tiny at all rows, which single precision would be refused for (train/loss.c). */
static void mix(const epiqp_span *s, double *q)
{
    const ptrdiff_t d = s->d;
    for (ptrdiff_t a = 0; a < d; a += LONG) {
        const ptrdiff_t some = epiqp_min(LONG, d - a);
        double sum[LONG] = {0};
        for (ptrdiff_t k = 0; k < s->rank; k++) {
            epiqp_axpy(some, 2 / (double)s->rank, q + k * d + a, sum);
        }
        for (ptrdiff_t k = 0; k < s->rank; k++) {
            epiqp_axpy(some, -1, sum, q + k * d + a);
        }
    }
}

int epiqp_span_new(const epiqp_env *e, epiqp_arena *arena, ptrdiff_t d, ptrdiff_t n, const double *x,
                   ptrdiff_t more_count, const double *more, epiqp_span *out)
{
    const ptrdiff_t all = n + more_count;
    *out = (epiqp_span){.d = d};
    double *q = epiqp_arena_alloc(e->c, arena, all * d, sizeof *q);
    double *w = epiqp_alloc(e->c, PANEL * (d + all), sizeof *w);
    int status = q && w ? EPIQ_OK : EPIQ_E_NOMEM;
    out->q = q;
    for (ptrdiff_t i = 0; !status && i < all; i += PANEL) {
        const ptrdiff_t count = epiqp_min(PANEL, all - i);
        for (ptrdiff_t k = 0; k < count; k++) {
            copy_scaled(d, i + k < n ? x + (i + k) * d : more + (i + k - n) * d, w + k * d);
        }
        add_panel(e, count, w, w + PANEL * d, q, out);
        if (epiqp_cancel_requested(e->c)) status = epiqp_fail(e->c, EPIQ_E_STOPPED, "stopped on request");
    }
    if (!status) mix(out, q);
    epiqp_free(e->c, w);
    return status;
}

/* Some rows at a time. w, c: room for PANEL rows and their coordinates. */
static void enter(const epiqp_env *e, const epiqp_span *s, ptrdiff_t count, const double *x, double *w, double *c,
                  double *out)
{
    const ptrdiff_t d = s->d, rank = s->rank;
    double unit[PANEL], whole[PANEL];
    for (ptrdiff_t i = 0; i < count; i++) {
        unit[i] = copy_scaled(d, x + i * d, w + i * d);
        whole[i] = length(d, w + i * d);
    }
    remove_span(e, s, count, w, c);
    for (ptrdiff_t i = 0; i < count; i++) {
        double *to = out + i * (rank + 1);
        const double left = length(d, w + i * d);
        for (ptrdiff_t k = 0; k < rank; k++) {
            to[k] = unit[i] * c[k + i * rank];
        }
        to[rank] = left > NOTHING * whole[i] ? unit[i] * left : 0;
    }
}

int epiqp_span_enter(const epiqp_env *e, const epiqp_span *s, ptrdiff_t count, const double *x, double *out)
{
    double *w = epiqp_alloc(e->c, PANEL * (s->d + s->rank), sizeof *w);
    for (ptrdiff_t i = 0; w && i < count; i += PANEL) {
        enter(e, s, epiqp_min(PANEL, count - i), x + i * s->d, w, w + PANEL * s->d, out + i * (s->rank + 1));
    }
    epiqp_free(e->c, w);
    return w ? EPIQ_OK : EPIQ_E_NOMEM;
}
