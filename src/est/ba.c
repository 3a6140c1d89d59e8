/* ba.c - BA, the ensemble's variance: rows dealt into m' batches, one network trained on each (docs/method.md section
 * 3). Groups stay whole. What corrects BA for small batches is in phi.c.
 */
#include "est/if.h"
#include "est/variance.h"

#include <math.h>

epiq_part epiqp_ba(const double *h, ptrdiff_t count, ptrdiff_t stride, double level)
{
    return epiq_part_of(epiqp_variance_of(h, count, stride) / (double)count, (double)(count - 1), level, EPIQ_BY_BA);
}

epiq_part epiqp_ba_corrected(epiq_part ba, double phi)
{
    return phi > 0 ? epiqp_in_units(ba, phi) : ba;
}

void epiqp_ba_points(const epiqp_problem *pb, epiqp_ba_findings *found)
{
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        found->part[p] = epiqp_ba(found->h + p, found->batches, pb->points, pb->plan->ran.level);
    }
}

bool epiqp_batch_is_mine(const epiqp_env *e, ptrdiff_t batch)
{
    return !e->cluster || batch % e->cluster->ranks == e->cluster->rank;
}

static int batch_new(const epiqp_problem *pb, const epiqp_listed *of, ptrdiff_t number, epiqp_fit *out)
{
    const epiqp_env alone = epiqp_alone(&pb->e);
    int s = epiqp_fit_of_rows(pb, &pb->plan->ran, epiqp_listed_size(of, number), of->rows + of->start[number], out);
    if (!s && epiqp_batch_is_mine(&pb->e, number) && (pb->plan->phi || epiqp_needs_solve(&pb->plan->ran))) {
        s = epiqp_fit_solve(&alone, out);
    }
    if (!pb->plan->keep) { /* one triangle at a time: only c is read, except by weights that are kept */
        epiqp_factor_free(pb->e.c, &out->ridge.factor);
    }
    return s;
}

/* With SGD, what all members share, the start or the order, all batches share too. */
static epiqp_draw draw_of(const epiq_options *o, ptrdiff_t batch)
{
    const bool sgd = o->optimizer == EPIQ_OPTIMIZER_SGD;
    epiqp_draw draw = {{o->seed, EPIQP_FOR_BATCH, (uint64_t)batch}, {o->seed, EPIQP_FOR_BATCH_ORDER, (uint64_t)batch}};
    if (sgd && o->vary == EPIQ_VARY_ORDER) {
        draw.init = (epiqp_stream){o->seed, EPIQP_FOR_MEMBER, 0};
    } else if (sgd && o->vary == EPIQ_VARY_INIT) {
        draw.order = (epiqp_stream){o->seed, EPIQP_FOR_ORDER, 0};
    }
    return draw;
}

/* The worst factor of any batch, on any rank. */
static int check_factors(const epiqp_problem *pb, const epiqp_solution *sol, int status, const epiqp_fit *batch,
                         double *room)
{
    const ptrdiff_t count = pb->plan->ran.batches;
    double jitter = 0, loss = 0, *losses = room + count;
    for (ptrdiff_t b = 0; b < count; b++) {
        room[b] = batch[b].ridge.jitter;
        losses[b] = batch[b].ridge.loss;
    }
    if ((status = epiq_ctx_agree(pb->e.c, status))) return status;
    if (pb->e.cluster) pb->e.cluster->allreduce_sum(pb->e.cluster->user, room, 2 * count);
    for (ptrdiff_t b = 0; b < count; b++) {
        jitter = fmax(jitter, room[b]);
        loss = fmax(loss, losses[b]);
    }
    const bool warned = sol->ridge->jitter > 0 || sol->ridge->loss > EPIQP_MOST_LOSS;
    return warned ? EPIQ_OK : epiqp_warn_factor(pb, jitter, loss);
}

/* A batch's numbers are in the order of its own rows: moves each to its row among all, from the end, 0 elsewhere. */
static void spread_weights(const epiqp_problem *pb, const epiqp_fit *fit, const epiqp_listed *of,
                           epiqp_ba_findings *found)
{
    const ptrdiff_t n = pb->n;
    if (pb->engine->extra(fit->o, &fit->net, n) == pb->engine->extra(fit->o, &fit->net, 0)) {
        return; /* there is not one for each row */
    }
    for (ptrdiff_t b = 0; b < found->batches; b++) {
        double *weight = found->weights.extra + b * n;
        for (ptrdiff_t i = n - 1, left = epiqp_listed_size(of, b); i >= 0; i--) {
            weight[i] = of->label[i] == b ? weight[--left] : 0;
        }
    }
}

static int train(const epiqp_problem *pb, const epiqp_maker *maker, const epiqp_fit *batch, double *h,
                 epiqp_ba_findings *found)
{
    const ptrdiff_t count = pb->plan->ran.batches;
    epiqp_assignment *list = epiqp_room(pb, count, sizeof *list);
    if (!list) return EPIQ_E_NOMEM;
    for (ptrdiff_t b = 0; b < count; b++) {
        double *at = h + b * pb->points;
        list[b] = (epiqp_assignment){
            .fit = &batch[b],
            .draw = draw_of(&pb->plan->ran, b),
            .kind = EPIQP_FOR_BATCH,
            .index = b,
            .of = count,
            .at = at,
        };
    }
    int s = pb->plan->keep ? epiqp_members_keep(maker, pb->plan->keep, pb->n, count, list, &found->weights) : EPIQ_OK;
    if (s || (s = epiqp_members_run(maker, "batches", count, list))) return s;
    found->batches = count;
    found->h = h;
    /* all networks are there, and what is left is quick */
    return epiqp_finish_requested(pb->e.c) ? epiqp_accept_early_end(pb) : EPIQ_OK;
}

int epiqp_estimate_ba(const epiqp_problem *pb, const epiqp_maker *maker, const epiqp_solution *sol,
                      const epiq_part *closed, const epiqp_following *as, const epiqp_ols *ols,
                      epiqp_ba_findings *found)
{
    const ptrdiff_t count = pb->plan->ran.batches;
    double *h = epiqp_room(pb, count * (pb->points + 2), sizeof *h);
    epiqp_fit *batch = epiqp_room(pb, count, sizeof *batch);
    epiqp_listed of;
    if (!h || !batch) return EPIQ_E_NOMEM;
    int s = epiqp_deal_rows(pb, (epiqp_stream){pb->plan->ran.seed, EPIQP_FOR_SHUFFLE, 0}, count, &of);
    for (ptrdiff_t b = 0; !s && b < count; b++) {
        s = batch_new(pb, &of, b, &batch[b]);
    }
    if ((s = check_factors(pb, sol, s, batch, h + count * pb->points)) || (s = train(pb, maker, batch, h, found))) {
        goto end;
    }
    found->batch_of = of.label;
    if (pb->plan->keep) spread_weights(pb, &batch[0], &of, found);
    epiqp_ba_points(pb, found);
    s = pb->plan->phi ? epiqp_find_phi(pb, sol, closed, as, ols, &of, batch, found) : EPIQ_OK;
end:
    for (ptrdiff_t b = 0; b < count; b++) {
        epiqp_fit_free(pb->e.c, &batch[b]);
    }
    return s;
}
