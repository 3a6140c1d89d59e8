/* phi.c - what BA must be multiplied with because networks on n/m' rows differ more by their starts than those on n, and
 * follow their data less (docs/method.md section 3): from infinitely wide networks, equal noise, and how the trained ones
 * follow changed targets.
 */
#include "est/if.h"

#include <math.h>

static const double SMALL = 0.5; /* phi below which BA is mostly what was taken out of it */

double epiqp_phi(double noise, double share, double tau2, double tau2_batches, double m)
{
    double phi = (noise + tau2 / m) / (noise * share + tau2_batches / m);
    return isfinite(phi) ? phi : noise + tau2_batches == 0 ? 1 : 0;
}

epiqp_squares epiqp_squares_at(const epiqp_env *e, const epiqp_ols *ols, ptrdiff_t n, const double *c, const double *at,
                               double *room)
{
    epiqp_squares s = {.kernel = epiqp_dot(n, c, c)};
    if (ols->p) {
        epiqp_ols_point(e, ols, at, 0, NULL, room, room + n);
        s.linear = epiqp_dot(n, room, room);
        s.both = epiqp_dot(n, room, c);
    }
    return s;
}

void epiqp_squares_add(epiqp_squares *sum, const epiqp_squares *batch, bool enough)
{
    sum->kernel += batch->kernel;
    sum->linear += enough ? batch->linear : -INFINITY;
    sum->both += batch->both;
}

const epiqp_following *epiqp_batches_follow(const epiq_options *o, const epiqp_followed *found)
{
    static const epiqp_following SOLVED = {.kappa = 1, .kernel = 1, .rest = 1};
    return o->engine == EPIQ_ENGINE_LINEAR ? &SOLVED : found ? &found->left_out : NULL;
}

/* Where batches have too few rows for linear regression only networks that hardly answer like it are known. */
double epiqp_batch_share(const epiqp_following *as, const epiqp_squares *all, const epiqp_squares *sum, double m)
{
    static const double HARDLY = 0.1;
    const bool linear = sum->linear > 0;
    if (!as || (!linear && (as->linear > HARDLY || !(as->kernel > 0)))) return 1;
    const double share = linear ? epiqp_reference_square(as, sum->kernel, sum->linear, sum->both) /
                                      epiqp_reference_square(as, all->kernel, all->linear, all->both)
                                : sum->kernel / all->kernel;
    return share > 0 && isfinite(share) ? share / (m * m) : 1;
}

/* ---- of all batches, each made by the rank whose turn it is ---- */

/* Of one batch at a point: tau^2 of its networks, and the squares of weights on its rows. */
typedef struct {
    double tau2;
    epiqp_squares of;
} of_batch;
enum { NUMBERS = sizeof(of_batch) / sizeof(double) };

static int ols_of_batch(const epiqp_problem *pb, epiqp_arena *arena, const epiqp_listed *of, ptrdiff_t b,
                        epiqp_ols *out)
{
    const epiqp_env alone = epiqp_alone(&pb->e);
    epiq_data rows = {0};
    int s = epiqp_take_data(pb->e.c, arena, pb->data, of, b, &rows);
    return s ? s : epiqp_ols_new(&alone, arena, &(epiqp_steps){.data = &rows}, 0, out);
}

static int describe_batch(const epiqp_problem *pb, const epiqp_following *as, const epiqp_listed *of, ptrdiff_t b,
                          const epiqp_fit *batch, double m, of_batch *out)
{
    const epiqp_env alone = epiqp_alone(&pb->e);
    const ptrdiff_t n = batch->rows.n, d = pb->data->d;
    epiqp_arena arena = {0};
    epiqp_ols ols = {0};
    double *tau2 = epiqp_arena_alloc(pb->e.c, &arena, pb->points + n + d + 1, sizeof *tau2);
    int s = tau2 ? epiqp_infinite_variance(&alone, batch, batch->ridge.c, tau2) : EPIQ_E_NOMEM;
    if (!s && as && as->linear > 0) s = ols_of_batch(pb, &arena, of, b, &ols);
    for (ptrdiff_t p = 0; !s && p < pb->points; p++) {
        const double *c = batch->ridge.c + p * n;
        const epiqp_squares here = epiqp_squares_at(&alone, &ols, n, c, pb->at + p * d, tau2 + pb->points);
        out[p].tau2 = fmax(tau2[p], 0) / m;
        epiqp_squares_add(&out[p].of, &here, ols.p > 0);
    }
    epiqp_arena_free(pb->e.c, &arena);
    return s;
}

/* out: batches by points, in the order of the batches on any number of ranks. */
static int describe_batches(const epiqp_problem *pb, const epiqp_following *as, const epiqp_listed *of,
                            const epiqp_fit *batch, of_batch *out)
{
    const ptrdiff_t count = pb->plan->ran.batches;
    int s = EPIQ_OK;
    for (ptrdiff_t b = 0; !s && b < count; b++) {
        if (epiqp_batch_is_mine(&pb->e, b)) {
            s = describe_batch(pb, as, of, b, &batch[b], (double)count, out + b * pb->points);
        }
    }
    if (!(s = epiq_ctx_agree(pb->e.c, s)) && pb->e.cluster) {
        pb->e.cluster->allreduce_sum(pb->e.cluster->user, &out->tau2, NUMBERS * count * pb->points);
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

int epiqp_find_phi(const epiqp_problem *pb, const epiqp_solution *sol, const epiq_part *closed,
                   const epiqp_following *as, const epiqp_ols *ols, const epiqp_listed *of, const epiqp_fit *batch,
                   epiqp_ba_findings *found)
{
    const ptrdiff_t n = pb->n, count = pb->plan->ran.batches, d = pb->data->d;
    epiqp_squares *all = epiqp_room(pb, pb->points, sizeof *all);
    of_batch *batches = epiqp_room(pb, count * pb->points, sizeof *batches);
    double *phi = epiqp_room(pb, pb->points, sizeof *phi), *room = epiqp_room(pb, n + d + 1, sizeof *room),
           frobenius = 0;
    if (!all || !batches || !phi || !room) return EPIQ_E_NOMEM;
    const epiqp_ridge *ridge = sol->ridge;
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        all[p] = epiqp_squares_at(&pb->e, ols, n, ridge->c + p * n, pb->at + p * d, room);
    }
    int s = epiqp_leverages(&pb->e, sol);
    if (s || (s = describe_batches(pb, as, of, batch, batches))) return s;
    for (ptrdiff_t i = 0; i < n; i++) {
        frobenius += ridge->norm2[i];
    }
    const double noise = epiqp_dot(n, ridge->alpha, ridge->alpha) / frobenius;
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        of_batch sum = {0};
        for (ptrdiff_t b = 0; b < count; b++) {
            const of_batch *one = &batches[b * pb->points + p];
            sum.tau2 += one->tau2;
            epiqp_squares_add(&sum.of, &one->of, true);
        }
        phi[p] = epiqp_phi(noise * all[p].kernel, epiqp_batch_share(as, &all[p], &sum.of, (double)count),
                           closed[p].variance, sum.tau2, (double)count);
    }
    found->phi = phi;
    found->noise = noise;
    return warn_of_small(pb, count, phi);
}
