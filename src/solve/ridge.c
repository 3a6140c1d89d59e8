/* ridge.c - building and freeing what ridge.h describes. */
#include "solve/ridge.h"

#include <assert.h>
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
    epiqp_tri *here = &out->factor.here;
    epiqp_dmat *ranks = &out->factor.ranks;
    epiqp_gmat *device = &out->factor.device;
    const bool away = !e->cluster && !folder && epiqp_gmat_takes(e, n);
    int status = away         ? EPIQ_OK
                 : e->cluster ? epiqp_dmat_new(e, n, ranks)
                 : folder     ? epiqp_tri_scratch(e->c, n, folder, resident, here)
                              : epiqp_tri_new(e->c, n, here);
    if (status) goto end;
    status = away         ? epiqp_gmat_factor(e, n, kernel, ridge, device, &out->jitter, &out->fill_s, &out->factor_s)
             : e->cluster ? epiqp_dmat_factor(e, kernel, ridge, ranks, &out->jitter, &out->fill_s, &out->factor_s)
                          : epiqp_ridge_factor(e, kernel, ridge, here, &out->jitter, &out->fill_s, &out->factor_s);
    if (status) goto end;
    status = EPIQ_E_NOMEM;
    if (!(out->alpha = epiqp_alloc(e->c, n, sizeof *out->alpha))) goto end;
    out->shift = ridge + out->jitter;
    out->loss = away ? device->loss : e->cluster ? ranks->loss : here->loss;
    memcpy(out->alpha, y, (size_t)n * sizeof *y);
    if ((status = epiqp_ridge_solve(e, out, false, 1, out->alpha))) goto end;
    status = epiqp_ridge_solve(e, out, false, points, out->c);
end:
    if (status) epiqp_ridge_free(e->c, out);
    return status;
}

static const double ROUGH = 1e-4, ROUGH_ERROR = 3e-3; /* relative residual and error that suffice for leverages */
static const double ERROR = 1e-3; /* relative error of a solution; estimators request less where they need it */

int epiqp_factor_solve(const epiqp_env *e, const epiqp_factor *f, ptrdiff_t cols, double *b)
{
    if (f->device.a) return epiqp_gmat_solve(e, &f->device, cols, b);
    assert(f->here.a); /* not inverted yet */
    epiqp_chol_solve(e, &f->here, cols, b);
    return EPIQ_OK;
}

int epiqp_factor_copy(const epiqp_env *e, const epiqp_factor *f, epiqp_tri *out)
{
    if (!f->here.a && !f->device.a) return EPIQ_OK;
    const ptrdiff_t n = f->here.a ? f->here.n : f->device.n;
    int status = epiqp_tri_new(e->c, n, out);
    if (status) return status;
    if (f->here.a) {
        memcpy(out->a, f->here.a, (size_t)epiqp_tri_bytes(n));
    } else if ((status = epiqp_gmat_copy(e, &f->device, out))) {
        epiqp_tri_free(e->c, out);
    }
    return status;
}

void epiqp_factor_free(epiq_ctx *c, epiqp_factor *f)
{
    epiqp_tri_free(c, &f->here);
    epiqp_dmat_free(c, &f->ranks);
    epiqp_gmat_free(&f->device);
}

int epiqp_ridge_solve(const epiqp_env *e, epiqp_ridge *r, bool rough, ptrdiff_t cols, double *b)
{
    if (r->factor.ranks.a) return epiqp_dmat_solve(e, &r->factor.ranks, cols, b);
    if (!r->operator.u) return epiqp_factor_solve(e, &r->factor, cols, b);
    epiqp_pcg_report unused = {0};
    return epiqp_operator_solve(e, &r->operator, rough ? fmax(ROUGH, r->tolerance) : r->tolerance,
                                rough ? ROUGH_ERROR : ERROR, cols, b, &unused);
}

/* All right-hand sides are solved together: y comes after the columns of the points. */
int epiqp_ridge_iterative(const epiqp_env *e, ptrdiff_t n, const epiqp_source *kernel, double lambda, const double *y,
                          ptrdiff_t points, double *k0, ptrdiff_t rank, double tolerance, uint64_t seed,
                          epiqp_ridge *out)
{
    *out = (epiqp_ridge){.n = n, .points = points, .c = k0, .shift = lambda * (double)n, .tolerance = tolerance};
    double start = epiqp_now();
    int status = epiqp_operator_new(e, n, kernel, out->shift, rank, seed, &out->operator);
    if (status) goto fail;
    status = EPIQ_E_NOMEM;
    double *both = epiqp_realloc(e->c, k0, n * points, n * (points + 1), sizeof *both);
    if (!both) goto fail;
    out->c = both;
    if (!(out->bound = epiqp_alloc(e->c, 3 * (points + 1), sizeof *out->bound)) ||
        !(out->alpha = epiqp_alloc(e->c, n, sizeof *out->alpha))) {
        goto fail;
    }
    out->first = out->bound + points + 1;
    out->open = out->first + points + 1;
    memcpy(both + n * points, y, (size_t)n * sizeof *y);
    out->fill_s = epiqp_now() - start;
    out->worst = (epiqp_pcg_report){.bound = out->bound, .first = out->first};
    if ((status = epiqp_operator_solve(e, &out->operator, tolerance, ERROR, points + 1, both, &out->worst))) goto fail;
    out->factor_s = epiqp_now() - start - out->fill_s;
    memcpy(out->alpha, both + n * points, (size_t)n * sizeof *y);
    for (ptrdiff_t p = 0; p < points; p++) {
        out->open[p] = out->bound[p] * out->bound[points];
    }
    return EPIQ_OK;
fail:
    epiqp_ridge_free(e->c, out);
    return status;
}

int epiqp_ridge_continue(const epiqp_env *e, epiqp_ridge *r, ptrdiff_t cols, const ptrdiff_t *which,
                         const double *wanted, const double *b)
{
    const ptrdiff_t n = r->n;
    double *x = epiqp_alloc(e->c, n * cols + 2 * cols, sizeof *x);
    if (!x) return EPIQ_E_NOMEM;
    epiqp_pcg_report one = {.bound = x + n * cols, .first = x + n * cols + cols};
    for (ptrdiff_t k = 0; k < cols; k++) {
        memcpy(x + k * n, which[k] < r->points ? r->c + which[k] * n : r->alpha, (size_t)n * sizeof *x);
    }
    int status = epiqp_operator_continue(e, &r->operator, wanted, cols, b, x, r->alpha, &one);
    r->worst.iterations += status ? 0 : one.iterations;
    for (ptrdiff_t k = 0; !status && k < cols; k++) {
        const ptrdiff_t p = which[k];
        memcpy(p < r->points ? r->c + p * n : r->alpha, x + k * n, (size_t)n * sizeof *x);
        r->bound[p] = one.bound[k];
        r->first[p] = one.first[k];
        r->open[p] = one.bound[k] * r->bound[r->points];
    }
    epiqp_free(e->c, x);
    return status;
}

/* ---- the inverse, in place of the factor ---- */

int epiqp_ridge_leverage(const epiqp_env *e, epiqp_ridge *r)
{
    if (r->diagonal) return EPIQ_OK;
    epiqp_factor *f = &r->factor;
    assert(f->ranks.a || f->device.a || (f->here.a && !f->here.resident));
    double *diagonal = epiqp_alloc(e->c, 2 * r->n, sizeof *diagonal);
    if (!diagonal) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; i < r->n; i++) {
        diagonal[i] = 1; /* temporary: weight 1 for every square */
    }
    int status = f->ranks.a    ? epiqp_dmat_inverse(e, &f->ranks)
                 : f->device.a ? epiqp_gmat_inverse(e, &f->device)
                               : epiqp_chol_inverse(e, &f->here);
    r->inverse = (epiqp_inverse){f->here, f->ranks, f->device};
    *f = (epiqp_factor){0};
    if (!status) status = epiqp_inverse_times(e, &r->inverse, true, 1, diagonal, diagonal + r->n);
    if (!status && r->inverse.ranks.a) status = epiqp_dmat_diagonal(e, &r->inverse.ranks, diagonal);
    if (!status && r->inverse.device.a) status = epiqp_gmat_diagonal(e, &r->inverse.device, diagonal);
    if (status) {
        epiqp_inverse_free(e->c, &r->inverse);
        epiqp_free(e->c, diagonal);
        return status;
    }
    for (ptrdiff_t i = 0; r->inverse.here.a && i < r->n; i++) {
        diagonal[i] = epiqp_tri_get(&r->inverse.here, i, i);
    }
    r->diagonal = diagonal;
    r->norm2 = diagonal + r->n;
    return EPIQ_OK;
}

void epiqp_inverse_free(epiq_ctx *c, epiqp_inverse *b)
{
    epiqp_tri_free(c, &b->here);
    epiqp_dmat_free(c, &b->ranks);
    epiqp_gmat_free(&b->device);
}

int epiqp_inverse_times(const epiqp_env *e, const epiqp_inverse *b, bool squared, ptrdiff_t cols, const double *s,
                        double *out)
{
    assert(!squared || cols == 1);
    if (b->ranks.a) return epiqp_dmat_times(e, &b->ranks, squared, cols, s, out);
    if (b->device.a) return epiqp_gmat_times(e, &b->device, squared, cols, s, out);
    if (squared) return epiqp_tri_squares_times(e, &b->here, s, out);
    epiqp_tri_times(e, &b->here, cols, s, out);
    return EPIQ_OK;
}

int epiqp_inverse_part(const epiqp_env *e, const epiqp_inverse *b, ptrdiff_t first, ptrdiff_t rows,
                       const ptrdiff_t *row, ptrdiff_t cols, const ptrdiff_t *col, double *out)
{
    if (b->ranks.a) return epiqp_dmat_part(e, &b->ranks, first, rows, row, cols, col, out);
    if (b->device.a) return epiqp_gmat_part(e, &b->device, first, rows, row, cols, col, out);
    for (ptrdiff_t k = 0; k < cols; k++) {
        for (ptrdiff_t i = 0; i < rows; i++) {
            out[i + k * rows] = epiqp_tri_get(&b->here, row ? row[i] : first + i, col[k]);
        }
    }
    return EPIQ_OK;
}

void epiqp_ridge_free(epiq_ctx *c, epiqp_ridge *r)
{
    epiqp_factor_free(c, &r->factor);
    epiqp_inverse_free(c, &r->inverse);
    epiqp_operator_free(c, &r->operator);
    epiqp_free(c, r->alpha);
    epiqp_free(c, r->c);
    epiqp_free(c, r->diagonal);
    epiqp_free(c, r->bound);
    r->bound = r->first = r->open = NULL;
    r->alpha = r->c = r->diagonal = r->norm2 = NULL;
}
