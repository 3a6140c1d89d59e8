/* ba.c - BA, the ensemble's variance: rows dealt into m' batches, one network trained on each (docs/method.md section
 * 3). Groups stay whole. Also what infinitely wide networks say of how much too large BA is when batches are small.
 */
#include "est/est.h"

#include <math.h>
#include <string.h>

typedef struct {
    epiqp_fit fit;
    double *x, *y;
    ptrdiff_t n;
} batch;

/* A rank alone makes and trains its batches, every so-and-so-many'th. */
static bool mine(const epiqp_job *j, ptrdiff_t number)
{
    return !j->e.cluster || number % j->e.cluster->size == j->e.cluster->rank;
}

/* Whether find_phi can find it: not where that takes two more factorisations of many rows. */
static bool phi_is_found(const epiqp_job *j)
{
    const epiqp_ridge *all = &j->fit.ridge;
    return j->fit.solved && j->o.solver != EPIQ_SOLVER_DIVIDED &&
           (all->diagonal || (j->n <= EPIQP_CHEAP_ROWS && epiqp_ridge_has_factor(all)));
}

static int batch_new(epiqp_job *j, const ptrdiff_t *batch_of_row, ptrdiff_t number, ptrdiff_t size, batch *b)
{
    ptrdiff_t d = j->data->d;
    b->x = epiqp_arena_alloc(j->e.c, &j->scratch, size * (d + 1), sizeof *b->x);
    if (!b->x) {
        return EPIQ_E_NOMEM;
    }
    b->y = b->x + size * d;
    for (ptrdiff_t i = 0; i < j->n; i++) {
        if (batch_of_row[i] == number) {
            memcpy(b->x + b->n * d, j->data->x + i * d, (size_t)d * sizeof *b->x);
            b->y[b->n++] = j->data->y[i];
        }
    }
    const epiqp_env alone = epiqp_alone(&j->e);
    int s = epiqp_fit_new(&alone, &j->o, b->n, d, b->x, b->y, j->points, j->at, &b->fit);
    bool solve = mine(j, number) && (j->engine->needs_solve(&j->o) || phi_is_found(j));
    s = !s && solve ? epiqp_fit_solve(&alone, &b->fit) : s;
    if (!j->more->keep) { /* one triangle at a time: c is all that is used of it, but by weights that are kept */
        epiqp_tri_free(j->e.c, &b->fit.ridge.factor);
    }
    return s;
}

/* tau2, points each, of the networks of every batch in turn, in the order of the batches on any number of ranks. */
static int batches_tau2(epiqp_job *j, const batch *batches, double *tau2)
{
    ptrdiff_t count = j->o.batches;
    const epiqp_env alone = epiqp_alone(&j->e);
    int s = EPIQ_OK;
    for (ptrdiff_t b = 0; !s && b < count; b++) {
        const epiqp_fit *f = &batches[b].fit;
        s = mine(j, b) ? epiqp_infinite_variance(&alone, f, f->ridge.c, tau2 + b * j->points) : EPIQ_OK;
    }
    if (!(s = epiq_ctx_agree(j->e.c, s)) && j->e.cluster) {
        j->e.cluster->sum(tau2, count * j->points);
    }
    return s;
}

double epiqp_phi(double noise, double tau2, double tau2_batches, double m)
{
    double phi = (noise + tau2 / m) / (noise + tau2_batches / m);
    return isfinite(phi)               ? phi
           : noise + tau2_batches == 0 ? 1
                                       : 0; /* 0: numbers too large, of which more will be said */
}

static const double SMALL = 0.5; /* phi below which BA is mostly what was taken out of it */

static int warn_of_small(epiqp_job *j)
{
    double sum = 0;
    for (ptrdiff_t p = 0; p < j->asked; p++) {
        sum += j->phi[p] / (double)j->asked;
    }
    return sum >= SMALL || sum == 0
               ? EPIQ_OK
               : epiqp_warn(
                     j->e.c, j->warnings, "small_batches",
                     "networks on batches of %td rows differ far more by their starts than networks on all rows, so "
                     "BA was divided by %.2g, which is what infinitely wide ones need; use fewer --batches, or "
                     "trust IF and EV",
                     j->n / j->o.batches, 1 / sum);
}

/* phi, what BA must be multiplied with because networks on n/m' rows differ more by their starts than those on n
 * (docs/method.md section 3, from infinitely wide networks and equal noise), at every point. */
static int find_phi(epiqp_job *j, const batch *batches)
{
    if (!phi_is_found(j)) {
        return EPIQ_OK;
    }
    int s = epiqp_keep_factor(j, &j->fit.ridge);
    if (s || (s = epiqp_ridge_leverage(&j->e, &j->fit.ridge))) {
        return s;
    }
    const epiqp_ridge *all = &j->fit.ridge;
    const ptrdiff_t n = j->n, count = j->o.batches;
    double *tau2 = epiqp_arena_alloc(j->e.c, &j->scratch, count * j->points, sizeof *tau2), frobenius = 0;
    double *phi = epiqp_arena_alloc(j->e.c, &j->scratch, j->points, sizeof *phi);
    if (!tau2 || !phi) {
        return EPIQ_E_NOMEM;
    }
    if ((s = batches_tau2(j, batches, tau2))) {
        return s;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        frobenius += all->norm2[i];
    }
    double noise = epiqp_dot(n, all->alpha, all->alpha) / frobenius;
    for (ptrdiff_t p = 0; p < j->points; p++) {
        double mean = 0;
        for (ptrdiff_t b = 0; b < count; b++) {
            mean += fmax(tau2[b * j->points + p], 0) / (double)count;
        }
        phi[p] = epiqp_phi(noise * epiqp_dot(n, all->c + p * n, all->c + p * n), j->infinite[p].variance, mean,
                           (double)count);
    }
    j->phi = phi;
    if (j->more->keep) {
        j->more->keep->noise = noise;
    }
    return warn_of_small(j);
}

void epiqp_ba_points(epiqp_job *j, ptrdiff_t count, const double *h)
{
    for (ptrdiff_t p = 0; p < j->points; p++) {
        j->ba[p] = epiqp_ba(h + p, count, j->points, j->o.level);
    }
    j->batch_h = h;
}

int epiqp_estimate_ba(epiqp_job *j)
{
    const epiq_options *o = &j->o;
    ptrdiff_t count = o->batches, made = 0;
    double *h = epiqp_arena_alloc(j->e.c, &j->scratch, count * (j->points + 2), sizeof *h);
    batch *batches = epiqp_arena_alloc(j->e.c, &j->scratch, count, sizeof *batches);
    epiqp_assignment *list = epiqp_arena_alloc(j->e.c, &j->scratch, count, sizeof *list);
    ptrdiff_t *batch_of_row = epiqp_arena_alloc(j->e.c, &j->scratch, j->n + count, sizeof *batch_of_row);
    if (!h || !batches || !list || !batch_of_row) {
        return EPIQ_E_NOMEM;
    }
    ptrdiff_t *sizes = batch_of_row + j->n;
    int s = epiqp_deal(j->e.c, j->data, (epiqp_stream){o->seed, EPIQP_FOR_SHUFFLE, 0}, count, batch_of_row, sizes);
    bool sgd = o->optimizer == EPIQ_OPTIMIZER_SGD; /* what is the same for all members is the same for all batches */
    for (; !s && made < count; made++) {
        epiqp_stream init = {o->seed, EPIQP_FOR_BATCH, (uint64_t)made};
        epiqp_stream order = {o->seed, EPIQP_FOR_BATCH_ORDER, (uint64_t)made};
        if (sgd && o->vary == EPIQ_VARY_ORDER) {
            init = (epiqp_stream){o->seed, EPIQP_FOR_MEMBER, 0};
        } else if (sgd && o->vary == EPIQ_VARY_INIT) {
            order = (epiqp_stream){o->seed, EPIQP_FOR_ORDER, 0};
        }
        s = batch_new(j, batch_of_row, made, sizes[made], &batches[made]);
        list[made] = (epiqp_assignment){
            .fit = &batches[made].fit,
            .draw = {init, order},
            .kind = EPIQP_FOR_BATCH,
            .index = made,
            .of = count,
            .at = h + made * j->points,
        };
    }
    double jitter = 0, loss = 0, *jitters = h + count * j->points, *losses = jitters + count;
    for (ptrdiff_t b = 0; b < made; b++) {
        jitters[b] = batches[b].fit.ridge.jitter;
        losses[b] = batches[b].fit.ridge.loss;
    }
    if (!(s = epiq_ctx_agree(j->e.c, s)) && j->e.cluster) {
        j->e.cluster->sum(jitters, 2 * count);
    }
    for (ptrdiff_t b = 0; b < made; b++) {
        jitter = fmax(jitter, jitters[b]);
        loss = fmax(loss, losses[b]);
    }
    if (!s && j->fit.ridge.jitter == 0 && j->fit.ridge.loss <= EPIQP_MOST_LOSS) { /* said once */
        s = epiqp_warn_factor(j, jitter, loss);
    }
    s = s ? s : epiqp_keep_members(j, j->more->keep ? &j->more->keep->batches : NULL, count, list);
    if (!s) {
        s = epiqp_run_members(j, "batches", count, list);
    }
    if (!s && epiqp_finishing(j->e.c)) {
        s = epiqp_finish(j, 0, NULL); /* all are there, and what is left is quick */
    }
    if (!s) {
        epiqp_keep_batch_rows(j, batch_of_row);
    }
    if (!s) {
        epiqp_ba_points(j, count, h);
        s = find_phi(j, batches);
    }
    while (made > 0) {
        epiqp_fit_free(j->e.c, &batches[--made].fit);
    }
    return s;
}
