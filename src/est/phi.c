/* phi.c - what BA must be multiplied with because networks on n/m' rows differ more by their starts than those on n
 * (docs/method.md section 3), from infinitely wide networks and equal noise.
 */
#include "est/if.h"

#include <math.h>

static const double SMALL = 0.5; /* phi below which BA is mostly what was taken out of it */

double epiqp_phi(double noise, double tau2, double tau2_batches, double m)
{
    double phi = (noise + tau2 / m) / (noise + tau2_batches / m);
    return isfinite(phi) ? phi : noise + tau2_batches == 0 ? 1 : 0;
}

/* tau2 (batches by points) of the networks of every batch, in the order of the batches on any number of ranks. */
static int batches_tau2(const epiqp_problem *pb, ptrdiff_t count, const epiqp_fit *batch, double *tau2)
{
    const epiqp_env alone = epiqp_alone(&pb->e);
    int s = EPIQ_OK;
    for (ptrdiff_t b = 0; !s && b < count; b++) {
        if (epiqp_batch_is_mine(&pb->e, b)) {
            s = epiqp_infinite_variance(&alone, &batch[b], batch[b].ridge.c, tau2 + b * pb->points);
        }
    }
    if (!(s = epiq_ctx_agree(pb->e.c, s)) && pb->e.cluster) {
        pb->e.cluster->allreduce_sum(pb->e.cluster->user, tau2, count * pb->points);
    }
    return s;
}

/* Where both parts are measured directly, BA is a check and nobody needs to act. */
static int warn_of_small(const epiqp_problem *pb, ptrdiff_t batches, const double *phi)
{
    double sum = 0;
    for (ptrdiff_t p = 0; p < pb->asked; p++) {
        sum += phi[p] / (double)pb->asked;
    }
    const int direct = EPIQ_IF | EPIQ_EV;
    if (sum >= SMALL || sum == 0 || (pb->plan->ran.methods & direct) == direct) return EPIQ_OK;
    return epiqp_warn(
        pb->e.c, pb->warnings, EPIQ_W_SMALL_BATCHES,
        "networks on batches of %td rows differ far more by their starts than networks on all rows, so the batch "
        "estimate was divided by %.2g; use fewer {--batches}, or {--methods} if,ev",
        pb->n / batches, 1 / sum);
}

int epiqp_find_phi(const epiqp_problem *pb, const epiqp_solution *sol, const epiq_part *closed, const epiqp_fit *batch,
                   epiqp_ba_findings *found)
{
    const ptrdiff_t n = pb->n, count = pb->plan->ran.batches;
    double *tau2 = epiqp_room(pb, count * pb->points, sizeof *tau2), frobenius = 0;
    double *phi = epiqp_room(pb, pb->points, sizeof *phi);
    if (!tau2 || !phi) return EPIQ_E_NOMEM;
    int s = epiqp_leverages(&pb->e, sol);
    if (s || (s = batches_tau2(pb, count, batch, tau2))) return s;
    const epiqp_ridge *all = sol->ridge;
    for (ptrdiff_t i = 0; i < n; i++) {
        frobenius += all->norm2[i];
    }
    const double noise = epiqp_dot(n, all->alpha, all->alpha) / frobenius;
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        double mean = 0;
        for (ptrdiff_t b = 0; b < count; b++) {
            mean += fmax(tau2[b * pb->points + p], 0) / (double)count;
        }
        const double *c = all->c + p * n;
        phi[p] = epiqp_phi(noise * epiqp_dot(n, c, c), closed[p].variance, mean, (double)count);
    }
    found->phi = phi;
    found->noise = noise;
    return warn_of_small(pb, count, phi);
}
