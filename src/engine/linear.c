/* linear.c - engine linear: a network linearised at its own start and solved exactly,
 *     h(theta0; x0) + k0' A^-1 (y - h(theta0; X))
 * with the population kernel, one factor for all members, or with the member's own empirical kernel. There
 * k0 = J(X) j0, so that the second term is j0 times the step J(X)' A^-1 (y - h(theta0; X)) from the start. Both predictors
 * that remove the start, shifted and pnc, are here k0' A^-1 y: what is linear in h(theta0) cancels.
 */
#include "engine/engine.h"

#include <string.h>

/* The member's own A and c. */
static int own_ridge(const epiqp_env *e, const epiqp_fit *f, const double *theta0, const double *residual,
                     epiqp_ridge *out)
{
    epiqp_features rows = {0}, at = {0};
    double *k0 = epiqp_alloc(e->c, f->rows.n * f->at.n, sizeof *k0);
    int status = k0 ? epiqp_features_new(e, &f->net, theta0, f->rows.n, f->rows.x, &rows) : EPIQ_E_NOMEM;
    if (status || (status = epiqp_features_new(e, &f->net, theta0, f->at.n, f->at.x, &at))) {
        epiqp_free(e->c, k0);
    } else { /* the ridge takes ownership of k0 */
        epiqp_empirical_block(e->la, &rows, 0, f->rows.n, &at, 0, f->at.n, k0, f->rows.n);
        epiqp_source source = epiqp_source_empirical(&(epiqp_empirical){e->la, &rows});
        status = epiqp_ridge_new(e, f->rows.n, &source, f->lambda, residual, f->at.n, k0, out);
    }
    epiqp_features_free(e->c, &rows);
    epiqp_features_free(e->c, &at);
    return status;
}

static int member(const epiqp_env *e, const epiqp_fit *f, const epiqp_draw *draw, double *at, double *rows,
                  const epiqp_kept *keep, epiqp_training *report)
{
    ptrdiff_t p = epiqp_net_params(&f->net), n = f->rows.n;
    double *theta0 = epiqp_alloc(e->c, p + 2 * n, sizeof *theta0);
    epiqp_pass pass = {0};
    epiqp_ridge own = {0};
    int status = theta0 ? epiqp_pass_new(e, &f->net, &pass) : EPIQ_E_NOMEM;
    if (status) goto end;
    double *residual = theta0 + p, *weight = residual + n; /* y - h(theta0; X), or y, and A^-1 of it */
    epiqp_net_init(&f->net, draw->init, theta0);
    if (epiqp_start_removed(f->o)) {
        memset(at, 0, (size_t)f->at.n * sizeof *at);
        memset(residual, 0, (size_t)n * sizeof *residual);
    } else {
        epiqp_net_forward(&pass, theta0, n, f->rows.x, residual);
        epiqp_net_forward(&pass, theta0, f->at.n, f->at.x, at);
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        weight[i] = residual[i] = f->y[i] - residual[i];
    }
    if (!epiqp_needs_solve(f->o) && (status = own_ridge(e, f, theta0, residual, &own))) goto end;
    const epiqp_ridge *ridge = epiqp_needs_solve(f->o) ? &f->ridge : &own;
    for (ptrdiff_t k = 0; k < f->at.n; k++) {
        at[k] += epiqp_dot(n, ridge->c + k * n, residual);
    }
    if (rows || keep) { /* there is a factor: epiqp_options_check requires it */
        if ((status = epiqp_factor_solve(e, &ridge->factor, 1, weight))) goto end;
    }
    for (ptrdiff_t i = 0; rows && i < n; i++) { /* h(theta0; X) + K A^-1 residual = y - shift A^-1 residual */
        rows[i] = f->y[i] - ridge->shift * weight[i];
    }
    if (keep) {
        memcpy(keep->theta, theta0, (size_t)p * sizeof *theta0);
        if (epiqp_needs_solve(f->o)) {
            memcpy(keep->extra, weight, (size_t)n * sizeof *weight);
        } else {
            memset(keep->extra, 0, (size_t)p * sizeof *theta0);
            epiqp_net_vjp(&pass, theta0, n, f->rows.x, weight, keep->extra);
        }
    }
    *report = (epiqp_training){.converged = true};
end:
    epiqp_ridge_free(e->c, &own);
    epiqp_pass_free(e->c, &pass);
    epiqp_free(e->c, theta0);
    return status;
}

static ptrdiff_t extra(const epiq_options *o, const epiqp_net *net, ptrdiff_t n)
{
    return epiqp_needs_solve(o) ? n : epiqp_net_params(net);
}

static void predict(const epiqp_fit *f, const epiqp_kept *kept, ptrdiff_t points, const double *x, const double *k0,
                    double *at, epiqp_pass *pass)
{
    const ptrdiff_t n = f->rows.n;
    const bool solved = epiqp_needs_solve(f->o);
    if (epiqp_start_removed(f->o)) {
        memset(at, 0, (size_t)points * sizeof *at);
    } else {
        epiqp_net_forward(pass, kept->theta, points, x, at);
    }
    for (ptrdiff_t from = 0; from < points; from += EPIQP_SHALLOW32_ROWS) {
        double added[EPIQP_SHALLOW32_ROWS] = {0};
        ptrdiff_t some = epiqp_min(EPIQP_SHALLOW32_ROWS, points - from);
        if (!solved) {
            epiqp_net_jvp(pass, kept->theta, kept->extra, some, x + from * f->net.d, added);
        }
        for (ptrdiff_t k = 0; k < some; k++) {
            at[from + k] += solved ? epiqp_dot(n, k0 + (from + k) * n, kept->extra) : added[k];
        }
    }
}

const epiqp_engine epiqp_engine_linear = {"linear", false, true, member, extra, predict};
