/* model_parts.c - what an estimate leaves behind for a model: the networks themselves, the factor, and what the influence
 * function makes of the rows, so that other points can be asked about later (src/model).
 */
#include "run/run.h"

#include <string.h>

/* count numbers; 0 where there are none to copy. */
static double *copy_of(epiq_ctx *c, epiqp_model_parts *out, const double *from, ptrdiff_t count)
{
    double *to = epiqp_arena_alloc(c, &out->arena, count, sizeof *to);
    if (to && from) memcpy(to, from, (size_t)count * sizeof *to);
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

static int take_influence(const epiqp_problem *pb, const epiqp_if_findings *f, epiqp_model_parts *out)
{
    const epiqp_smoothed *smooth = f->moderated;
    const struct {
        const double *from;
        double **to;
    } ROWS[] = {{f->r_std, &out->r_std},
                {f->r_raw, &out->r_raw},
                {f->noise_excess, &out->noise_excess},
                {smooth ? smooth->noise : NULL, &out->smoothed},
                {smooth ? smooth->sd : NULL, &out->smoothed_sd}};
    if (!f->r_std) return EPIQ_OK;
    for (size_t k = 0; k < sizeof ROWS / sizeof *ROWS; k++) {
        if (ROWS[k].from && !(*ROWS[k].to = copy_of(pb->e.c, out, ROWS[k].from, pb->n))) return EPIQ_E_NOMEM;
    }
    out->noise_unit = f->noise_excess ? f->noise_unit : 0;
    out->law[0] = f->kurtosis;
    out->law[1] = f->law_varies;
    out->law[2] = f->law_mean;
    return EPIQ_OK;
}

/* What retraining found, and what kernel regression answers to its steps; 0 where that is unknown. */
static int take_retraining(const epiqp_problem *pb, const epiqp_findings *found, epiqp_model_parts *out)
{
    epiq_ctx *c = pb->e.c;
    const epiqp_reference *ref = &found->influence.reference;
    if (!found->retrain.known) return EPIQ_OK;
    if (!(out->retrain = epiqp_arena_alloc(c, &out->arena, 1, sizeof *out->retrain))) return EPIQ_E_NOMEM;
    *out->retrain = found->retrain.followed;
    if (!pb->plan->answers_at_points) return EPIQ_OK;
    /* u is in this arena already */
    out->step = ref->u ? ref->u : copy_of(c, out, NULL, pb->plan->folds->replicates * pb->n);
    out->step_size = copy_of(c, out, ref->u ? ref->size : NULL, pb->n);
    out->alone = copy_of(c, out, ref->alone, pb->n);
    out->fold = epiqp_arena_alloc(c, &out->arena, pb->n, sizeof *out->fold);
    if (!out->step || !out->step_size || !out->alone || !out->fold) return EPIQ_E_NOMEM;
    memcpy(out->fold, pb->plan->folds->rows.label, (size_t)pb->n * sizeof *out->fold);
    return EPIQ_OK;
}

int epiqp_model_parts_take(const epiqp_problem *pb, const epiqp_findings *found, const epiq_options *ran,
                           epiqp_fit *fit, epiqp_model_parts *out)
{
    out->o = *ran;
    out->members = found->ev.weights;
    out->batches = found->ba.weights;
    out->retrained = found->retrain.weights;
    out->noise = found->ba.noise;
    int s = take_influence(pb, &found->influence, out);
    if (s || (s = take_retraining(pb, found, out))) return s;
    if (pb->span) {
        out->span = *pb->span;
        out->span.q = copy_of(pb->e.c, out, pb->span->q, pb->span->rank * pb->span->d);
        if (!out->span.q) return EPIQ_E_NOMEM;
    }
    out->has_spread = found->unseen.known;
    if (out->has_spread && (s = epiqp_spread_keep(pb->e.c, &out->arena, &found->unseen.spread, &out->spread))) return s;
    if (fit->solved && !(out->alpha = copy_of(pb->e.c, out, fit->ridge.alpha, pb->n))) return EPIQ_E_NOMEM;
    epiqp_tri *factor = &fit->ridge.factor.here;
    if (!out->factor.a && factor->a && (out->r_std || !pb->engine->member)) { /* it was never inverted */
        out->factor = *factor;
        *factor = (epiqp_tri){0};
    } else if (!out->factor.a && (out->r_std || !pb->engine->member)) {
        if ((s = epiqp_factor_copy(&pb->e, &fit->ridge.factor, &out->factor))) return s;
    }
    if (out->factor.a) clear_above(&out->factor);
    return EPIQ_OK;
}
