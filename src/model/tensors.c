/* tensors.c - the tensors of a model file, in its order: one list for writing and for reading. */
#include "model/model.h"

#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(ptrdiff_t) == 8, "groups are 64-bit integers in the file");

enum { NAME = EPIQP_TENSOR_NAME };

ptrdiff_t epiqp_tensor_items(const epiqp_tensor *t)
{
    return t->dims == 2 ? t->shape[0] * t->shape[1] : t->shape[0];
}

static void add(epiqp_tensor *list, ptrdiff_t *count, const char *name, const void *at, int dims, ptrdiff_t a,
                ptrdiff_t b)
{
    epiqp_tensor *t = &list[(*count)++];
    *t = (epiqp_tensor){.at = (void *)(uintptr_t)at, .dims = dims, .shape = {a, b}};
    snprintf(t->name, sizeof t->name, "%s", name);
}

static void add_kept(const epiq_model *m, epiqp_tensor *list, ptrdiff_t *count, const char *kind,
                     const epiqp_kept *kept, ptrdiff_t networks)
{
    epiqp_net net = epiqp_net_of(&m->o, m->d);
    ptrdiff_t extra = epiqp_engine_of(&m->o)->extra(&m->o, &net, m->n);
    char name[NAME];
    snprintf(name, sizeof name, "%s.theta", kind);
    add(list, count, name, &kept->theta, 2, networks, epiqp_net_params(&net));
    snprintf(name, sizeof name, "%s.%s", kind, m->o.linear_kernel == EPIQ_KERNEL_POPULATION ? "weights" : "step");
    if (extra) {
        add(list, count, name, &kept->extra, 2, networks, extra);
    }
}

/* All tensors of the model's options, in the order of the file; the list has room for 32 and the factor's panels. The
 * panels lie one after the other: at is that of the first, and NULL for the rest. */
static ptrdiff_t list_tensors(const epiq_model *m, const epiqp_tri *panels, epiqp_tensor *list)
{
    const ptrdiff_t n = m->n, d = m->d;
    ptrdiff_t count = 0;
    for (ptrdiff_t p = 0; epiqp_model_has_factor(m) && p < panels->panels; p++) {
        char name[NAME];
        snprintf(name, sizeof name, "factor.%td", p);
        ptrdiff_t rows = epiqp_tri_rows(panels, p);
        add(list, &count, name, p ? NULL : &m->tri.a, 2, p * panels->height + rows, rows);
    }
    if (epiqp_model_has_members(m)) {
        add_kept(m, list, &count, "members", &m->members, m->o.members);
    }
    if (epiqp_model_has_batches(m)) {
        add_kept(m, list, &count, "batches", &m->batches, m->o.batches);
        add(list, &count, "batch_noise", &m->noise, 1, 1, 0);
    }
    add(list, &count, "rows", &m->x, 2, n, d);
    add(list, &count, "group", &m->group, 1, n, 0);
    list[count - 1].whole = true;
    if (epiqp_model_has_alpha(m)) {
        add(list, &count, "alpha", &m->alpha, 1, n, 0);
    }
    if (epiqp_model_has_influence(m)) {
        add(list, &count, "residuals", &m->residual, 1, n, 0);
        add(list, &count, "residuals_used", &m->used, 1, n, 0);
    }
    bool moderated = m->o.correction == EPIQ_CORRECTION_MODERATED;
    if (epiqp_model_has_influence(m) && (moderated || m->o.correction == EPIQ_CORRECTION_ROWWISE)) {
        add(list, &count, "noise_excess", &m->excess, 1, n, 0);
        add(list, &count, "noise_unit", &m->unit, 1, 1, 0);
    }
    if (epiqp_model_has_retrain(m)) {
        add(list, &count, "retrain", &m->retrain, 1, EPIQP_KEPT_RETRAIN, 0);
    }
    if (epiqp_model_has_retrained(m)) {
        add_kept(m, list, &count, "retrained", &m->retrained, epiqp_model_retrained(m));
        add(list, &count, "retrain_step", &m->step, 2, m->o.replicates, n);
        add(list, &count, "retrain_size", &m->step_size, 1, n, 0);
        add(list, &count, "retrain_alone", &m->alone, 1, n, 0);
        add(list, &count, "retrain_fold", &m->fold, 1, n, 0);
        list[count - 1].whole = true;
    }
    if (epiqp_model_has_influence(m) && moderated) {
        add(list, &count, "noise_smoothed", &m->smoothed, 1, n, 0);
        add(list, &count, "noise_spread", &m->spread, 1, n, 0);
        add(list, &count, "noise_law", &m->law, 1, 3, 0);
    }
    add(list, &count, "feature_shift", &m->shift, 1, d, 0);
    add(list, &count, "feature_factor", &m->factor, 1, d, 0);
    add(list, &count, "target_scaling", &m->target_scaling, 1, 2, 0);
    return count;
}

int epiqp_tensors_new(epiq_ctx *c, epiqp_arena *arena, const epiq_model *m, epiqp_tensor **list, ptrdiff_t *count)
{
    epiqp_tri panels = epiqp_tri_shape(m->n);
    *list = epiqp_arena_alloc(c, arena, panels.panels + 32, sizeof **list);
    *count = *list ? list_tensors(m, &panels, *list) : 0;
    return *list ? EPIQ_OK : EPIQ_E_NOMEM;
}
