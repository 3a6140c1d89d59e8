/* corrected.c - what networks without their starts would save: the retraining variance that shifted networks have over that of plain
 * ones, from a few of both at the points of a plan (docs/method.md section 10).
 */
#include "decide/decide.h"

#include <string.h>

enum {
    NETWORKS = 6, /* of each kind: over some points they tell the ratio to a factor of 2 or so */
    POINTS = 64
};

/* Evenly from those of a plan, as places and not as rows that are left out. */
static int some_points(epiq_ctx *c, epiqp_arena *arena, const epiq_points *at, epiq_points *out)
{
    const ptrdiff_t count = epiqp_min(at->count, POINTS), d = at->data->d;
    *out = (epiq_points){.data = at->data, .count = count, .room = count};
    out->x = epiqp_arena_alloc(c, arena, count * d, sizeof *out->x);
    out->at = epiqp_arena_alloc(c, arena, count, sizeof *out->at);
    out->left_out = epiqp_arena_alloc(c, arena, count, sizeof *out->left_out);
    if (!out->x || !out->at || !out->left_out) return EPIQ_E_NOMEM;
    for (ptrdiff_t p = 0; p < count; p++) {
        const ptrdiff_t from = p * at->count / count;
        memcpy(out->x + p * d, at->x + from * d, (size_t)d * sizeof *out->x);
        out->at[p] = at->at[from];
        out->left_out[p] = -1;
    }
    return EPIQ_OK;
}

static epiq_options options_with(const epiq_options *o, int predictor)
{
    epiq_options own = *o;
    own.predictor = predictor;
    own.methods = EPIQ_EV;
    own.data_by = EPIQ_DATA_BY_IF;
    own.confidence = EPIQ_CONFIDENCE_NONE;
    own.members = NETWORKS;
    own.fold_members = own.ensemble_size = own.sweep = own.influential = 0;
    own.state = NULL;
    return own;
}

/* The mean retraining variance over the points. */
static int variance_with(epiq_ctx *c, const epiq_points *at, const epiq_options *o, int predictor, double *mean)
{
    const epiq_options own = options_with(o, predictor);
    epiq_result *r = NULL;
    int s = epiqp_estimate(c, at->data, at, &own, &(epiqp_request){0}, &r);
    *mean = 0;
    for (ptrdiff_t p = 0; !s && p < r->point_count; p++) {
        *mean += r->points[p]->procedural.variance / (double)r->point_count;
    }
    epiq_result_free(c, r);
    return s;
}

int epiqp_corrected_measure(epiq_ctx *c, const epiq_points *at, const epiq_options *o, double *left)
{
    epiqp_arena arena = {0};
    epiq_points some;
    double plain = 0, shifted = 0;
    int s = some_points(c, &arena, at, &some);
    if (!s) s = variance_with(c, &some, o, EPIQ_PREDICTOR_ENSEMBLE, &plain);
    if (!s) s = variance_with(c, &some, o, EPIQ_PREDICTOR_SHIFTED, &shifted);
    *left = !s && plain > 0 ? shifted / plain : -1;
    epiqp_arena_free(c, &arena);
    return s;
}

int epiqp_corrected_forecast(epiq_ctx *c, const epiq_points *at, const epiq_options *o, double *seconds)
{
    epiqp_arena arena = {0};
    epiq_points some;
    epiq_result *r = NULL;
    const epiq_options own = options_with(o, EPIQ_PREDICTOR_SHIFTED);
    int s = some_points(c, &arena, at, &some);
    if (!s) s = epiq_forecast(c, at->data, &some, &own, &r);
    *seconds = s ? 0 : 2 * r->cost->seconds; /* of both kinds */
    epiq_result_free(c, r);
    epiqp_arena_free(c, &arena);
    return s;
}
