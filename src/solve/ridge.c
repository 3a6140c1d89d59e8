/* ridge.c - building and freeing what ridge.h describes. */
#include "solve/ridge.h"

#include <math.h>
#include <string.h>

int epiqp_ridge_new(const epiqp_env *e, ptrdiff_t n, const epiqp_source *kernel, double lambda, const double *y,
                    ptrdiff_t points, double *k0, epiqp_ridge *out)
{
    return epiqp_ridge_scratch(e, n, kernel, lambda, y, points, k0, NULL, 0, out);
}

int epiqp_ridge_scratch(const epiqp_env *e, ptrdiff_t n, const epiqp_source *kernel, double lambda, const double *y,
                        // NOLINTNEXTLINE(readability-non-const-parameter): it becomes out->c, and is written
                        ptrdiff_t points, double *k0, const char *folder, ptrdiff_t resident, epiqp_ridge *out)
{
    *out = (epiqp_ridge){.n = n, .points = points, .c = k0};
    double ridge = lambda * (double)n;
    int s = e->cluster ? epiqp_spread_new(e, n, &out->spread)
            : folder   ? epiqp_tri_scratch(e->c, n, folder, resident, &out->factor)
                       : epiqp_tri_new(e->c, n, &out->factor);
    if (!s) {
        s = e->cluster ? epiqp_spread_factor(e, kernel, ridge, &out->spread, &out->jitter, &out->fill_s, &out->factor_s)
                       : epiqp_ridge_factor(e, kernel, ridge, &out->factor, &out->jitter, &out->fill_s, &out->factor_s);
    }
    if (!s && !(out->alpha = epiqp_alloc(e->c, n, sizeof(double)))) {
        s = EPIQ_E_NOMEM;
    }
    if (s) {
        epiqp_ridge_free(e->c, out);
        return s;
    }
    out->shift = ridge + out->jitter;
    out->loss = e->cluster ? out->spread.loss : out->factor.loss;
    memcpy(out->alpha, y, (size_t)n * sizeof *y);
    s = epiqp_ridge_solve(e, out, false, 1, out->alpha);
    s = s ? s : epiqp_ridge_solve(e, out, false, points, out->c);
    if (s) {
        epiqp_ridge_free(e->c, out);
    }
    return s;
}

static const double ROUGH = 1e-4, ROUGH_ERROR = 3e-3; /* relative residual and error that do for leverages */
static const double ERROR = 1e-3; /* of a solution, relative to it: estimates ask for more where they need it */

int epiqp_ridge_solve(const epiqp_env *e, epiqp_ridge *r, bool rough, ptrdiff_t cols, double *b)
{
    if (r->spread.a) {
        return epiqp_spread_solve(e, &r->spread, cols, b);
    }
    if (!r->operator.u) {
        epiqp_chol_solve(e, &r->factor, cols, b);
        return EPIQ_OK;
    }
    epiqp_pcg_report one = {0};
    int s = epiqp_operator_solve(e, &r->operator, rough ? fmax(ROUGH, r->tolerance) : r->tolerance,
                                 rough ? ROUGH_ERROR : ERROR, cols, b, &one);
    return s;
}

/* All right-hand sides at once: y comes after the points' columns. */
int epiqp_ridge_iterative(const epiqp_env *e, ptrdiff_t n, const epiqp_source *kernel, double lambda, const double *y,
                          ptrdiff_t points, double *k0, ptrdiff_t rank, double tolerance, uint64_t seed,
                          epiqp_ridge *out)
{
    *out = (epiqp_ridge){.n = n, .points = points, .c = k0, .shift = lambda * (double)n, .tolerance = tolerance};
    double start = epiqp_now();
    int s = epiqp_operator_new(e, n, kernel, out->shift, rank, seed, &out->operator);
    double *both = s ? NULL : epiqp_realloc(e->c, k0, n * points, n * (points + 1), sizeof *both);
    out->bound = both ? epiqp_alloc(e->c, 3 * (points + 1), sizeof *out->bound) : NULL;
    if (both) {
        out->c = both;
    }
    if (out->bound) {
        out->first = out->bound + points + 1;
        out->open = out->first + points + 1;
        memcpy(both + n * points, y, (size_t)n * sizeof *y);
        out->fill_s = epiqp_now() - start;
        out->worst = (epiqp_pcg_report){.bound = out->bound, .first = out->first};
        s = epiqp_operator_solve(e, &out->operator, tolerance, ERROR, points + 1, both, &out->worst);
        out->factor_s = epiqp_now() - start - out->fill_s;
    }
    out->alpha = out->bound && !s ? epiqp_alloc(e->c, n, sizeof(double)) : NULL;
    if (!out->alpha) {
        epiqp_ridge_free(e->c, out);
        return s ? s : EPIQ_E_NOMEM;
    }
    memcpy(out->alpha, both + n * points, (size_t)n * sizeof *y);
    for (ptrdiff_t p = 0; p < points; p++) {
        out->open[p] = out->bound[p] * out->bound[points];
    }
    return EPIQ_OK;
}

int epiqp_ridge_continue(const epiqp_env *e, epiqp_ridge *r, ptrdiff_t cols, const ptrdiff_t *which,
                         const double *wanted, const double *b)
{
    const ptrdiff_t n = r->n;
    double *x = epiqp_alloc(e->c, n * cols + 2 * cols, sizeof *x);
    if (!x) {
        return EPIQ_E_NOMEM;
    }
    epiqp_pcg_report one = {.bound = x + n * cols, .first = x + n * cols + cols};
    for (ptrdiff_t k = 0; k < cols; k++) {
        memcpy(x + k * n, which[k] < r->points ? r->c + which[k] * n : r->alpha, (size_t)n * sizeof *x);
    }
    int s = epiqp_operator_continue(e, &r->operator, wanted, cols, b, x, r->alpha, &one);
    r->worst.iterations += s ? 0 : one.iterations;
    for (ptrdiff_t k = 0; !s && k < cols; k++) {
        const ptrdiff_t p = which[k];
        memcpy(p < r->points ? r->c + p * n : r->alpha, x + k * n, (size_t)n * sizeof *x);
        r->bound[p] = one.bound[k];
        r->first[p] = one.first[k];
        r->open[p] = one.bound[k] * r->bound[r->points];
    }
    epiqp_free(e->c, x);
    return s;
}

static int invert(const epiqp_env *e, epiqp_ridge *r)
{
    if (r->spread.a) {
        r->spread_inverted = true;
        return epiqp_spread_inverse(e, &r->spread);
    }
    int s = epiqp_chol_inverse(e, &r->factor);
    if (!s) {
        r->inverse = r->factor;
        r->factor = (epiqp_tri){0};
    }
    return s;
}

int epiqp_ridge_leverage(const epiqp_env *e, epiqp_ridge *r)
{
    if (r->diagonal) {
        return EPIQ_OK;
    }
    double *diagonal = epiqp_alloc(e->c, 2 * r->n, sizeof *diagonal);
    int s = diagonal ? invert(e, r) : EPIQ_E_NOMEM;
    if (!s) {
        for (ptrdiff_t i = 0; i < r->n; i++) {
            diagonal[i] = 1; /* for a moment: every square counts once */
        }
        s = epiqp_ridge_squares_times(e, r, diagonal, diagonal + r->n);
    }
    if (!s && r->spread.a) {
        s = epiqp_spread_diagonal(e, &r->spread, diagonal);
    }
    if (s) {
        epiqp_free(e->c, diagonal);
        return s;
    }
    r->diagonal = diagonal;
    r->norm2 = diagonal + r->n;
    for (ptrdiff_t i = 0; !r->spread.a && i < r->n; i++) {
        diagonal[i] = epiqp_tri_get(&r->inverse, i, i);
    }
    return EPIQ_OK;
}

bool epiqp_ridge_has_factor(const epiqp_ridge *r)
{
    return (r->factor.a && !r->factor.resident) || (r->spread.a && !r->spread_inverted);
}

bool epiqp_ridge_has_inverse(const epiqp_ridge *r)
{
    return r->inverse.a || (r->spread.a && r->spread_inverted);
}

void epiqp_ridge_drop_inverse(epiq_ctx *c, epiqp_ridge *r)
{
    epiqp_tri_free(c, &r->inverse);
    if (r->spread_inverted) {
        epiqp_spread_free(c, &r->spread);
    }
}

int epiqp_ridge_squares_times(const epiqp_env *e, const epiqp_ridge *r, const double *s, double *out)
{
    return r->spread.a ? epiqp_spread_squares_times(e, &r->spread, s, out)
                       : epiqp_tri_squares_times(e, &r->inverse, s, out);
}

int epiqp_ridge_times(const epiqp_env *e, const epiqp_ridge *r, ptrdiff_t cols, const double *s, double *out)
{
    if (r->spread.a) {
        return epiqp_spread_times(e, &r->spread, cols, s, out);
    }
    epiqp_tri_times(e, &r->inverse, cols, s, out);
    return EPIQ_OK;
}

int epiqp_ridge_corner(const epiqp_env *e, const epiqp_ridge *r, ptrdiff_t count, const ptrdiff_t *rows, double *out)
{
    if (r->spread.a) {
        return epiqp_spread_corner(e, &r->spread, count, rows, out);
    }
    for (ptrdiff_t k = 0; k < count; k++) {
        for (ptrdiff_t i = k; i < count; i++) {
            out[i + k * count] = epiqp_tri_get(&r->inverse, rows[i], rows[k]);
        }
    }
    return EPIQ_OK;
}

int epiqp_ridge_strip(const epiqp_env *e, const epiqp_ridge *r, ptrdiff_t i0, ptrdiff_t some, ptrdiff_t count,
                      const ptrdiff_t *cols, double *out)
{
    if (r->spread.a) {
        return epiqp_spread_strip(e, &r->spread, i0, some, count, cols, out);
    }
    for (ptrdiff_t k = 0; k < count; k++) {
        for (ptrdiff_t i = 0; i < some; i++) {
            out[i + k * some] = epiqp_tri_get(&r->inverse, i0 + i, cols[k]);
        }
    }
    return EPIQ_OK;
}

void epiqp_ridge_free(epiq_ctx *c, epiqp_ridge *r)
{
    epiqp_spread_free(c, &r->spread);
    epiqp_tri_free(c, &r->factor);
    epiqp_tri_free(c, &r->inverse);
    epiqp_operator_free(c, &r->operator);
    epiqp_free(c, r->alpha);
    epiqp_free(c, r->c);
    epiqp_free(c, r->diagonal);
    epiqp_free(c, r->bound);
    r->bound = r->first = r->open = NULL;
    r->alpha = r->c = r->diagonal = r->norm2 = NULL;
}
