/* ridge.c - building and freeing what ridge.h describes. */
#include "solve/ridge.h"

#include <string.h>

int epiqp_ridge_new(const epiqp_env *e, ptrdiff_t n, const epiqp_source *kernel, double lambda, const double *y,
                    ptrdiff_t points, double *k0, epiqp_ridge *out)
{
    *out = (epiqp_ridge){.n = n, .points = points, .c = k0};
    double ridge = lambda * (double)n;
    int s = epiqp_tri_new(e->c, n, &out->factor);
    if (!s) {
        s = epiqp_ridge_factor(e, kernel, ridge, &out->factor, &out->jitter, &out->fill_s, &out->factor_s);
    }
    if (!s && !(out->alpha = epiqp_alloc(e->c, n, sizeof(double)))) {
        s = EPIQ_E_NOMEM;
    }
    if (s) {
        epiqp_ridge_free(e->c, out);
        return s;
    }
    out->shift = ridge + out->jitter;
    memcpy(out->alpha, y, (size_t)n * sizeof *y);
    epiqp_chol_solve(e, &out->factor, 1, out->alpha);
    epiqp_chol_solve(e, &out->factor, points, out->c);
    return EPIQ_OK;
}

int epiqp_ridge_leverage(const epiqp_env *e, epiqp_ridge *r)
{
    if (r->diagonal) {
        return EPIQ_OK;
    }
    double *diagonal = epiqp_alloc(e->c, 2 * r->n, sizeof *diagonal);
    int s = diagonal ? epiqp_chol_inverse(e, &r->factor) : EPIQ_E_NOMEM;
    if (!s) {
        r->inverse = r->factor;
        r->factor = (epiqp_tri){0};
        for (ptrdiff_t i = 0; i < r->n; i++) {
            diagonal[i] = 1; /* for a moment: every square counts once */
        }
        s = epiqp_tri_squares_times(e, &r->inverse, diagonal, diagonal + r->n);
    }
    if (s) {
        epiqp_free(e->c, diagonal);
        return s;
    }
    r->diagonal = diagonal;
    r->norm2 = diagonal + r->n;
    for (ptrdiff_t i = 0; i < r->n; i++) {
        diagonal[i] = epiqp_tri_get(&r->inverse, i, i);
    }
    return EPIQ_OK;
}

void epiqp_ridge_free(epiq_ctx *c, epiqp_ridge *r)
{
    epiqp_tri_free(c, &r->factor);
    epiqp_tri_free(c, &r->inverse);
    epiqp_free(c, r->alpha);
    epiqp_free(c, r->c);
    epiqp_free(c, r->diagonal);
    r->alpha = r->c = r->diagonal = r->norm2 = NULL;
}
