/* ba.c - BA, the ensemble's variance: rows dealt into m' batches, one network trained on each (docs/method.md section
 * 3). Groups stay whole. Also what infinitely wide networks say of BA's bias when batches are small.
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

/* Whether check_bias will say something: not where it takes two more factorisations only for a warning. */
static bool bias_is_checked(const epiqp_job *j)
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
    bool solve = mine(j, number) && (j->engine->needs_solve(&j->o) || bias_is_checked(j));
    s = !s && solve ? epiqp_fit_solve(&alone, &b->fit) : s;
    if (!j->more->keep) { /* one triangle at a time: c is all that is used of it, but by weights that are kept */
        epiqp_tri_free(j->e.c, &b->fit.ridge.factor);
    }
    return s;
}

/* Expected BA over its target at infinite width and equal noise s2: data part s2 |c|^2, procedural part tau^2, in the
 * batches against all rows. Warn when small batches push BA off by over a tenth. */
static int check_bias(epiqp_job *j, const batch *batches)
{
    ptrdiff_t count = j->o.batches, n = j->n;
    if (!bias_is_checked(j) || !j->infinite[0].known) {
        return EPIQ_OK;
    }
    int status = epiqp_keep_factor(j, &j->fit.ridge);
    if (status || (status = epiqp_ridge_leverage(&j->e, &j->fit.ridge))) {
        return status;
    }
    const epiqp_ridge *all = &j->fit.ridge;
    const epiqp_env alone = epiqp_alone(&j->e);
    double *tau2 = epiqp_arena_alloc(j->e.c, &j->scratch, j->points + count * j->asked, sizeof *tau2);
    if (!tau2) {
        return EPIQ_E_NOMEM;
    }
    double *parts = tau2 + j->points; /* batches by points asked for */
    double frobenius = 0, expected = 0, target = 0, m = (double)count;
    for (ptrdiff_t i = 0; i < n; i++) {
        frobenius += all->norm2[i];
    }
    double s2 = epiqp_dot(n, all->alpha, all->alpha) / frobenius;
    for (ptrdiff_t b = 0; !status && b < count; b++) {
        const epiqp_fit *f = &batches[b].fit;
        status = mine(j, b) ? epiqp_infinite_variance(&alone, f, f->ridge.c, tau2) : EPIQ_OK;
        for (ptrdiff_t p = 0; !status && mine(j, b) && p < j->asked; p++) {
            const double *c = f->ridge.c + p * f->rows.n;
            parts[b * j->asked + p] = (s2 * epiqp_dot(f->rows.n, c, c) + fmax(tau2[p], 0)) / (m * m);
        }
    }
    if ((status = epiq_ctx_agree(j->e.c, status))) {
        return status;
    }
    if (j->e.cluster) {
        j->e.cluster->sum(parts, count * j->asked);
    }
    for (ptrdiff_t k = 0; k < count * j->asked; k++) {
        expected += parts[k];
    }
    for (ptrdiff_t p = 0; p < j->asked; p++) {
        target += s2 * epiqp_dot(n, all->c + p * n, all->c + p * n) + j->infinite[p].variance / m;
    }
    double ratio = target > 0 ? expected / target : 1;
    if (fabs(ratio - 1) <= 0.1 || !isfinite(ratio)) { /* of numbers too large, about which more will be said */
        return EPIQ_OK;
    }
    return epiqp_warn(
        j->e.c, j->warnings, "small_batches",
        "batches of %td rows are small: at infinite width BA comes out %.2f times what it estimates, too %s; use fewer "
        "--batches, or trust IF and EV",
        n / count, ratio, ratio > 1 ? "large" : "small");
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
        s = check_bias(j, batches);
    }
    while (made > 0) {
        epiqp_fit_free(j->e.c, &batches[--made].fit);
    }
    return s;
}
