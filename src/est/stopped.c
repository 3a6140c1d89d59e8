/* stopped.c - engine infinite with gradient flow stopped at time t (docs/method.md section 4), in the eigenbasis
 * K = V diag(w) V' with mu = w/n + lambda:
 *     c   = V diag((1 - exp(-2 t mu)) / (n mu)) V' k0
 *     v_i = (2/n) int_0^t [exp(-2A(t-s)/n) k0]_i r_i(s) ds = (2/n) sum_j V_ij G_ij kappa_j,  G = V diag(eta) I'
 * with kappa = V'k0, eta = V'y, and I_jk the integral over s of exp(-2 mu_j (t-s)) [a_k + b_k exp(-2 mu_k s)],
 * a = lambda/mu, b = 1 - a. G does not depend on the point.
 */
#include "est/if.h"

#include <math.h>

/* Adds to v what comes of targets that were centred by their mean: (w_i - c_i) r_i(t), r the residuals when training stops. V:
 * eigenvectors; fitted: n, what of each is fitted by then; eta = V'y; room: 2 n. */
static void add_mean(const epiqp_env *e, const epiqp_fit *f, const double *V, const double *fitted, const double *eta,
                     const double *c, double *room, double *v)
{
    const ptrdiff_t n = f->rows.n;
    double *residual = room + n;
    for (ptrdiff_t k = 0; k < n; k++) {
        room[k] = (1 - fitted[k]) * eta[k];
    }
    e->la->gemv('N', n, n, 1, V, n, room, 0, residual);
    for (ptrdiff_t p = 0; p < f->at.n; p++) {
        const double *own = c + p * n, *w = epiqp_target_weights(f->o, n, own, room);
        for (ptrdiff_t i = 0; i < n; i++) {
            v[i + p * n] += (w[i] - own[i]) * residual[i];
        }
    }
}

/* (exp(-x t) - exp(-y t)) / (y - x), also where x and y nearly coincide */
static double exp_gap(double x, double y, double t)
{
    double lo = fmin(x, y), gap = fabs(y - x);
    return exp(-lo * t) * (gap * t < 1e-300 ? t : -expm1(-gap * t) / gap);
}

int epiqp_stopped(const epiqp_env *e, const epiqp_fit *f, double t, double *c, double *v, double *loss)
{
    ptrdiff_t n = f->rows.n, points = f->at.n;
    const double lambda = f->lambda, size = (double)n;
    double *block = epiqp_alloc(e->c, 3 * n * n + n * points + 3 * n, sizeof *block);
    if (!block) return EPIQ_E_NOMEM;
    double *V = block, *scaled = V + n * n, *G = scaled + n * n, *kappa = G + n * n, *w = kappa + n * points,
           *eta = w + n, *mu = eta + n;
    epiqp_kernel_cross(e, &f->arch, &f->rows, &f->rows, V, NULL);
    int s = e->la->syev(e->c, n, V, w);
    if (s) goto end;
    *loss = 0;
    for (ptrdiff_t k = 0; k < n; k++) {
        mu[k] = fmax(w[k], 0) / size + lambda; /* the kernel is positive: below 0 is rounding */
        *loss = fmax(*loss, w[n - 1] * -expm1(-2 * t * mu[k]) / (size * mu[k]));
    }
    epiqp_kernel_cross(e, &f->arch, &f->rows, &f->at, c, NULL);
    e->la->gemm('T', 'N', n, points, n, 1, V, n, c, n, 0, kappa, n);
    for (ptrdiff_t p = 0; p < points; p++) {
        for (ptrdiff_t k = 0; k < n; k++) {
            if (w[k] < 1e-13 * w[n - 1]) {
                kappa[k + p * n] = 0; /* in the kernel's null space k0 is 0, and what is left of it rounding */
            }
            G[k] = -expm1(-2 * t * mu[k]) / (size * mu[k]) * kappa[k + p * n];
        }
        e->la->gemv('N', n, n, 1, V, n, G, 0, c + p * n);
    }
    if (v) {
        e->la->gemv('T', n, n, 1, V, n, f->y, 0, eta);
        for (ptrdiff_t j = 0; j < n; j++) { /* scaled_jk = eta_k I_jk, stored k fastest */
            double whole = -expm1(-2 * t * mu[j]) / (2 * mu[j]);
            for (ptrdiff_t k = 0; k < n; k++) {
                double a = lambda / mu[k];
                scaled[k + j * n] = eta[k] * (a * whole + (1 - a) * exp_gap(2 * mu[k], 2 * mu[j], t));
            }
        }
        e->la->gemm('N', 'N', n, n, n, 1, V, n, scaled, n, 0, G, n);
        for (ptrdiff_t k = 0; k < n * n; k++) {
            G[k] *= V[k] * 2 / size;
        }
        e->la->gemm('N', 'N', n, points, n, 1, G, n, kappa, n, 0, v, n);
        for (ptrdiff_t k = 0; k < n; k++) { /* fitted, in place of mu */
            mu[k] = -expm1(-2 * t * mu[k]) * fmax(w[k], 0) / (size * mu[k]);
        }
        if (f->o->scale == EPIQ_SCALE_STANDARD) add_mean(e, f, V, mu, eta, c, G, v);
    }
end:
    epiqp_free(e->c, block);
    return s;
}

int epiqp_if_from_stopped(const epiqp_problem *pb, const double *v, epiqp_if_findings *found)
{
    double *sums = epiqp_room(pb, pb->data->groups, sizeof *sums);
    for (ptrdiff_t p = 0; sums && p < pb->points; p++) {
        found->part[p] = epiqp_if(v + p * pb->n, pb->n, pb->data->group, pb->data->groups, sums, pb->plan->ran.level);
        found->corrected[p * EPIQ_CORRECTIONS + EPIQ_CORRECTION_NONE] = found->part[p];
    }
    return sums ? EPIQ_OK : EPIQ_E_NOMEM;
}
