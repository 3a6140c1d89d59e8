/* ols.c - linear regression beside kernel regression, for retraining (docs/method.md section 3). Units of a network whose
 * kinks are outside the data, or stick to rows of it, answer to changed targets as linear regression does; so networks
 * answer like a sum of the two regressions, to a hundredth or so of the variance.
 */
#include "est/response.h"

#include <math.h>
#include <string.h>

static const double RIDGE = 1e-6; /* of the variance of a feature, on the diagonal: columns that repeat each other */
static const double ROUNDING = 1e-12; /* of the largest value: a feature that varies by less is constant */
enum { EACH = 4 };                    /* groups of rows for every coefficient, at least */

static ptrdiff_t coefficients(ptrdiff_t groups, ptrdiff_t d)
{
    return EACH * (d + 1) <= groups ? d + 1 : 0;
}

double epiqp_ols_bytes(ptrdiff_t n, ptrdiff_t groups, ptrdiff_t d, ptrdiff_t vectors)
{
    const double p = (double)coefficients(groups, d);
    return 8 * (p * (2 * (double)n + 2 * p + (double)vectors + 2) + (double)n);
}

/* Sizes apart from squares, which may be beyond doubles. */
static void standardise(const epiqp_steps *s, epiqp_ols *o)
{
    const ptrdiff_t n = s->data->n, d = s->data->d;
    for (ptrdiff_t k = 0; k < d; k++) {
        double mean = 0, largest = 0, most = 0, square = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            mean += s->data->x[i * d + k] / (double)n;
            largest = fmax(largest, fabs(s->data->x[i * d + k]));
        }
        for (ptrdiff_t i = 0; i < n; i++) {
            most = fmax(most, fabs(s->data->x[i * d + k] - mean));
        }
        for (ptrdiff_t i = 0; most > 0 && i < n; i++) {
            double off = (s->data->x[i * d + k] - mean) / most;
            square += off * off / (double)n;
        }
        double size = most * sqrt(square);
        o->shift[k] = mean;
        o->scale[k] = size > ROUNDING * largest && isfinite(1 / size) ? 1 / size : 0;
    }
}

static void enter(const epiqp_ols *o, const double *x, double *w)
{
    w[0] = 1;
    for (ptrdiff_t k = 0; k + 1 < o->p; k++) {
        w[k + 1] = (x[k] - o->shift[k]) * o->scale[k];
    }
}

/* W'W of some rows, their w one after the other, kept off 0 and factorised. */
static void factorise(const epiqp_env *e, const epiqp_ols *o, ptrdiff_t rows, const double *w, double *root)
{
    const ptrdiff_t p = o->p;
    memset(root, 0, (size_t)(p * p) * sizeof *root);
    e->la->syrk('N', p, rows, 1, w, p, root, p);
    for (ptrdiff_t k = 0; k < p; k++) {
        root[k + k * p] += RIDGE * (double)o->n;
    }
    e->la->potrf(p, root, p); /* of a matrix that is positive definite by far more than rounding */
}

/* Coefficients for the steps of fold f, from the rows that it keeps, where u is the step itself. root, w, u: room. */
static void leave_out(const epiqp_env *e, const epiqp_steps *s, ptrdiff_t f, ptrdiff_t vectors, epiqp_ols *o,
                      double *root, double *w, double *u)
{
    const ptrdiff_t n = s->data->n, p = o->p;
    ptrdiff_t rows = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        if (s->fold[i] != f) memcpy(w + rows++ * p, o->w + i * p, (size_t)p * sizeof *w);
    }
    factorise(e, o, rows, w, root);
    for (ptrdiff_t r = f; r < vectors; r += s->folds) {
        for (ptrdiff_t i = 0, k = 0; i < n; i++) {
            if (s->fold[i] != f) u[k++] = s->u[r * n + i];
        }
        e->la->gemv('N', p, rows, 1, w, p, u, 0, o->beta + r * p);
        epiqp_la_solve(e->la, p, root, 1, o->beta + r * p);
    }
}

int epiqp_ols_new(const epiqp_env *e, epiqp_arena *arena, const epiqp_steps *s, ptrdiff_t vectors, epiqp_ols *out)
{
    const ptrdiff_t n = s->data->n, p = coefficients(s->data->groups, s->data->d);
    *out = (epiqp_ols){.n = n, .p = p};
    if (!p) return EPIQ_OK;
    out->shift = epiqp_arena_alloc(e->c, arena, 2 * p, sizeof *out->shift);
    out->w = epiqp_arena_alloc(e->c, arena, n * p, sizeof *out->w);
    out->root = epiqp_arena_alloc(e->c, arena, p * p, sizeof *out->root);
    out->beta = epiqp_arena_alloc(e->c, arena, vectors * p, sizeof *out->beta);
    double *room = epiqp_alloc(e->c, p * p + n * (p + 1), sizeof *room);
    if (!out->shift || !out->w || !out->root || !out->beta || !room) {
        epiqp_free(e->c, room);
        return EPIQ_E_NOMEM;
    }
    out->scale = out->shift + p;
    standardise(s, out);
    for (ptrdiff_t i = 0; i < n; i++) {
        enter(out, s->data->x + i * s->data->d, out->w + i * p);
    }
    for (ptrdiff_t f = 0; f < s->folds; f++) {
        leave_out(e, s, f, vectors, out, room, room + p * p, room + p * (p + n));
    }
    factorise(e, out, n, out->w, out->root);
    epiqp_free(e->c, room);
    return EPIQ_OK;
}

double epiqp_ols_at(const epiqp_ols *o, ptrdiff_t vector, ptrdiff_t row)
{
    return o->p ? epiqp_dot(o->p, o->w + row * o->p, o->beta + vector * o->p) : 0;
}

void epiqp_ols_point(const epiqp_env *e, const epiqp_ols *o, const double *at, ptrdiff_t replicates, double *answer,
                     double *row_weight, double *w)
{
    enter(o, at, w);
    for (ptrdiff_t r = 0; r < replicates; r++) {
        answer[r] = epiqp_dot(o->p, w, o->beta + r * o->p);
    }
    epiqp_la_solve(e->la, o->p, o->root, 1, w);
    for (ptrdiff_t i = 0; i < o->n; i++) {
        row_weight[i] = epiqp_dot(o->p, w, o->w + i * o->p);
    }
}
