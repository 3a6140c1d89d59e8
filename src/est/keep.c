/* keep.c - what an estimate leaves behind for a model: the members themselves, the factor, and what the influence
 * function makes of the rows, so that other points can be asked about later (src/model).
 */
#include "est/est.h"

#include <string.h>

int epiqp_keep_members(epiqp_job *j, epiqp_kept *all, ptrdiff_t count, epiqp_assignment *list)
{
    if (!all) {
        return EPIQ_OK;
    }
    ptrdiff_t p = epiqp_net_params(&j->fit.net), extra = j->engine->extra(&j->o, &j->fit.net, j->n);
    all->theta = epiqp_arena_alloc(j->e.c, &j->more->keep->arena, count * p, sizeof *all->theta);
    all->extra = epiqp_arena_alloc(j->e.c, &j->more->keep->arena, count * extra, sizeof *all->extra);
    if (!all->theta || !all->extra) {
        return EPIQ_E_NOMEM;
    }
    for (ptrdiff_t k = 0; k < count; k++) {
        list[k].keep = (epiqp_kept){all->theta + k * p, all->extra + k * extra};
    }
    return EPIQ_OK;
}

/* A batch's numbers stand in the order of its own rows: move each to its row among all, from the end, 0 elsewhere. */
void epiqp_keep_batch_rows(epiqp_job *j, const ptrdiff_t *batch_of_row)
{
    const ptrdiff_t n = j->n;
    if (!j->more->keep || j->engine->extra(&j->o, &j->fit.net, n) == j->engine->extra(&j->o, &j->fit.net, 0)) {
        return; /* they are not one a row */
    }
    for (ptrdiff_t b = 0; b < j->o.batches; b++) {
        double *weight = j->more->keep->batches.extra + b * n;
        ptrdiff_t left = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            left += batch_of_row[i] == b;
        }
        for (ptrdiff_t i = n - 1; i >= 0; i--) {
            weight[i] = batch_of_row[i] == b ? weight[--left] : 0;
        }
    }
}

int epiqp_keep_factor(epiqp_job *j, const epiqp_ridge *r)
{
    epiqp_keep *keep = j->more->keep;
    if (!keep || !(j->o.methods & EPIQ_IF || j->o.engine == EPIQ_ENGINE_INFINITE) || !r->factor.a || keep->factor.a) {
        return EPIQ_OK;
    }
    int s = epiqp_tri_new(j->e.c, j->n, &keep->factor);
    if (!s) {
        memcpy(keep->factor.a, r->factor.a, (size_t)epiqp_tri_bytes(j->n));
    }
    return s;
}

static double *copy_of(epiqp_job *j, const double *from)
{
    double *to = epiqp_arena_alloc(j->e.c, &j->more->keep->arena, j->n, sizeof *to);
    if (to) {
        memcpy(to, from, (size_t)j->n * sizeof *to);
    }
    return to;
}

/* Above the diagonal a factor's blocks hold whatever was there; in a file that is 0. */
static void clear_above(epiqp_tri *t)
{
    for (ptrdiff_t p = 0; p < t->panels; p++) {
        for (ptrdiff_t i = 1; i < epiqp_tri_rows(t, p); i++) {
            memset(epiqp_tri_at(t, p, 0, p * t->height + i), 0, (size_t)i * sizeof(double));
        }
    }
}

bool epiqp_keeps_retrained(const epiq_options *o)
{
    return o->engine == EPIQ_ENGINE_NETWORK && o->methods & EPIQ_IF && o->data_by == EPIQ_DATA_BY_RETRAIN;
}

/* What the kernel answers to the steps of retraining, for points that will be asked; 0 where that is not known. */
static int keep_answers(epiqp_job *j)
{
    epiqp_keep *keep = j->more->keep;
    const epiqp_retraining *t = &j->retrain;
    const size_t n = (size_t)j->n;
    keep->step = t->u ? t->u : epiqp_arena_alloc(j->e.c, &keep->arena, t->replicates * j->n, sizeof *keep->step);
    keep->step_size = epiqp_arena_alloc(j->e.c, &keep->arena, j->n, sizeof *keep->step_size);
    keep->alone = epiqp_arena_alloc(j->e.c, &keep->arena, j->n, sizeof *keep->alone);
    keep->fold = epiqp_arena_alloc(j->e.c, &keep->arena, j->n, sizeof *keep->fold);
    if (!keep->step || !keep->step_size || !keep->alone || !keep->fold) {
        return EPIQ_E_NOMEM;
    }
    if (t->u) {
        memcpy(keep->step_size, t->size, n * sizeof *t->size);
    } else {
        memset(keep->step, 0, (size_t)t->replicates * n * sizeof *keep->step);
        memset(keep->step_size, 0, n * sizeof *keep->step_size);
    }
    if (t->alone) {
        memcpy(keep->alone, t->alone, n * sizeof *t->alone);
    } else {
        memset(keep->alone, 0, n * sizeof *keep->alone);
    }
    memcpy(keep->fold, t->fold, n * sizeof *t->fold);
    return EPIQ_OK;
}

int epiqp_keep_rest(epiqp_job *j)
{
    epiqp_keep *keep = j->more->keep;
    if (!keep) {
        return EPIQ_OK;
    }
    keep->o = j->o;
    bool influence = j->used, excess = influence && j->excess;
    keep->used = influence ? copy_of(j, j->used) : NULL;
    keep->residual = influence ? copy_of(j, j->printed) : NULL;
    keep->excess = excess ? copy_of(j, j->excess) : NULL;
    keep->unit = excess ? j->excess_unit : 0;
    keep->smoothed = j->spread ? copy_of(j, j->smoothed_unit) : NULL;
    keep->spread = j->spread ? copy_of(j, j->spread) : NULL;
    memcpy(keep->law, j->law, sizeof keep->law);
    if (influence && (!keep->used || !keep->residual || (excess && !keep->excess) ||
                      (j->spread && (!keep->smoothed || !keep->spread)))) {
        return EPIQ_E_NOMEM;
    }
    if (j->retrain.found.left_out.kappa > 0) {
        keep->retrain = epiqp_arena_alloc(j->e.c, &keep->arena, 1, sizeof *keep->retrain);
        if (!keep->retrain) {
            return EPIQ_E_NOMEM;
        }
        *keep->retrain = j->retrain.found;
        int s = epiqp_keeps_retrained(&j->o) ? keep_answers(j) : EPIQ_OK;
        if (s) {
            return s;
        }
    }
    if (j->fit.solved && !(keep->alpha = copy_of(j, j->fit.ridge.alpha))) {
        return EPIQ_E_NOMEM;
    }
    if (!keep->factor.a && j->fit.ridge.factor.a && (keep->used || j->o.engine == EPIQ_ENGINE_INFINITE)) {
        keep->factor = j->fit.ridge.factor;
        j->fit.ridge.factor = (epiqp_tri){0};
    }
    if (keep->factor.a) {
        clear_above(&keep->factor);
    }
    return EPIQ_OK;
}
