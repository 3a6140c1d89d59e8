/* tensors.c - the tensors of a model file, in its order: one list for writing, reading and checking. */
#include "model/model.h"

#include <stdio.h>

_Static_assert(sizeof(ptrdiff_t) == 8, "groups are 64-bit integers in the file");
/* The tensor "retrain" is the members of epiqp_followed in their order, numbers alone. */
_Static_assert(offsetof(epiqp_followed, least) == (EPIQP_KEPT_RETRAIN - 1) * sizeof(double), "a struct of doubles");

/* And so is "interval_law". */
_Static_assert(sizeof(epiqp_spread_law) == EPIQP_SPREAD_LAW * sizeof(double), "a struct of doubles");

enum { INSIDE = EPIQP_TENSOR_INSIDE, WHOLE = EPIQP_TENSOR_WHOLE, AMOUNT = EPIQP_TENSOR_AMOUNT };

typedef struct {
    epiqp_tensor *tensor;
    ptrdiff_t count;
} list;

ptrdiff_t epiqp_tensor_items(const epiqp_tensor *t)
{
    return t->dims == 2 ? t->shape[0] * t->shape[1] : t->shape[0];
}

/* a by b numbers; b 0: it has one dimension. */
static void add(list *l, bool wanted, const char *name, const void *at, unsigned flags, ptrdiff_t a, ptrdiff_t b)
{
    if (!wanted) return;
    epiqp_tensor *t = &l->tensor[l->count++];
    *t = (epiqp_tensor){.at = (void *)(uintptr_t)at, .flags = flags, .dims = b ? 2 : 1, .shape = {a, b}};
    snprintf(t->name, sizeof t->name, "%s", name);
}

static void add_ensemble(list *l, const epiq_model *m, const char *kind, const epiqp_ensemble *e)
{
    if (!e->count) return;
    const epiqp_net net = epiqp_net_of(&m->o, m->inputs);
    const ptrdiff_t extra = epiqp_engine_of(&m->o)->extra(&m->o, &net, m->n);
    char name[EPIQP_TENSOR_NAME];
    snprintf(name, sizeof name, "%s.theta", kind);
    add(l, true, name, &e->weights->theta, 0, e->count, epiqp_net_params(&net));
    snprintf(name, sizeof name, "%s.%s", kind,
             m->o.engine == EPIQ_ENGINE_NETWORK             ? "off"
             : m->o.linear_kernel == EPIQ_KERNEL_POPULATION ? "weights"
                                                            : "step");
    add(l, extra, name, &e->weights->extra, 0, e->count, extra);
}

/* The panels of the factor are contiguous: `at` is set for the first one, and NULL for the others. */
static void add_factor(list *l, const epiq_model *m, const epiqp_tri *panels)
{
    for (ptrdiff_t p = 0; m->has.factor && p < panels->panels; p++) {
        char name[EPIQP_TENSOR_NAME];
        snprintf(name, sizeof name, "factor.%td", p);
        ptrdiff_t rows = epiqp_tri_rows(panels, p);
        add(l, true, name, p ? NULL : &m->kept.factor.a, 0, p * panels->height + rows, rows);
    }
}

static void add_spread(list *l, const epiq_model *m)
{
    const epiqp_spread_kept *s = &m->kept.spread;
    const bool there = m->kept.has_spread;
    const ptrdiff_t rows = epiqp_spread_count(m->n);
    add(l, there, "interval_law", &s->law, INSIDE | AMOUNT, EPIQP_SPREAD_LAW, 0);
    add(l, there, "interval_prediction", &s->prediction, 0, rows, 0);
    add(l, there, "interval_ratio", &s->ratio, AMOUNT, rows, 0);
    add(l, there, "interval_data", &s->data, AMOUNT, rows, 0);
    add(l, there, "interval_beside", &s->beside, 0, rows, 0);
    add(l, there, "interval_score", &s->score, AMOUNT, m->n, 0);
    add(l, there, "interval_upto", &s->upto, AMOUNT, m->n, 0);
}

int epiqp_tensors_new(epiq_ctx *c, epiqp_arena *arena, const epiq_model *m, epiqp_tensor **out, ptrdiff_t *count)
{
    const epiqp_tri panels = epiqp_tri_shape(m->n);
    const epiqp_model_parts *k = &m->kept;
    const epiqp_ensemble *members = &m->ensemble[EPIQP_MEMBERS], *batches = &m->ensemble[EPIQP_BATCHES],
                         *retrained = &m->ensemble[EPIQP_RETRAINED];
    const bool influence = m->has.influence, rowwise = m->has.rowwise, moderated = m->has.moderated;
    const ptrdiff_t n = m->n, d = m->d;
    list l = {.tensor = epiqp_arena_alloc(c, arena, panels.panels + 34, sizeof *l.tensor)};
    if (!l.tensor) return EPIQ_E_NOMEM;
    add_factor(&l, m, &panels);
    add_ensemble(&l, m, "members", members);
    add_ensemble(&l, m, "batches", batches);
    add(&l, batches->count, "batch_noise", &k->noise, INSIDE | AMOUNT, 1, 0);
    add(&l, true, "rows", &m->x, 0, n, d);
    add(&l, epiqp_model_wide(m), "span", &k->span.q, 0, k->span.rank, d);
    add(&l, true, "group", &m->group, WHOLE, n, 0);
    add(&l, m->has.alpha, "alpha", &k->alpha, 0, n, 0);
    add(&l, influence, "residuals", &k->r_raw, 0, n, 0);
    add(&l, influence, "residuals_used", &k->r_std, 0, n, 0);
    add(&l, rowwise, "noise_excess", &k->noise_excess, 0, n, 0);
    add(&l, rowwise, "noise_unit", &k->noise_unit, INSIDE | AMOUNT, 1, 0);
    add(&l, m->has.retrain, "retrain", k->retrain, INSIDE | AMOUNT, EPIQP_KEPT_RETRAIN, 0);
    add_ensemble(&l, m, "retrained", retrained);
    add(&l, retrained->count, "retrain_step", &k->step, 0, m->o.replicates, n);
    add(&l, retrained->count, "retrain_size", &k->step_size, 0, n, 0);
    add(&l, retrained->count, "retrain_alone", &k->alone, AMOUNT, n, 0);
    add(&l, retrained->count, "retrain_fold", &k->fold, WHOLE, n, 0);
    add(&l, moderated, "noise_smoothed", &k->smoothed, AMOUNT, n, 0);
    add(&l, moderated, "noise_spread", &k->smoothed_sd, AMOUNT, n, 0);
    add(&l, moderated, "noise_law", k->law, INSIDE | AMOUNT, 3, 0);
    add(&l, m->has.error, "fit_error", m->error, INSIDE, EPIQP_MODEL_ERROR, 0);
    add_spread(&l, m);
    add(&l, true, "feature_shift", &m->shift, 0, d, 0);
    add(&l, true, "feature_factor", &m->factor, 0, d, 0);
    add(&l, true, "target_scaling", m->target_scaling, INSIDE, 2, 0);
    *out = l.tensor;
    *count = l.count;
    return EPIQ_OK;
}
