/* resampled.c - R networks, each on rows drawn with replacement (the cheap bootstrap: H. Lam, A Cheap Bootstrap Method for Fast
 * Inference, 2022), on all rows but one of R parts (the grouped jackknife of Quenouille and Tukey), or on one of two halves, dealt
 * R/2 times; from starts that networks on all rows have had. Groups of rows are drawn, or left out, whole.
 */
#include "est/confidence.h"

#include <string.h>

ptrdiff_t epiqp_trainings_each(const epiq_options *o)
{
    return o->predictor == EPIQ_PREDICTOR_PNC && o->engine == EPIQ_ENGINE_NETWORK ? 2 : 1;
}

double epiqp_resampled_bytes(const epiqp_problem *pb, const epiqp_plan *plan)
{
    const double rows = (double)pb->n * (3 * (double)pb->data->d + 4 + (double)pb->points);
    return 8 * (double)plan->resamples * (rows + (double)pb->points);
}

/* Rows of as many groups as there are, drawn with replacement. */
static ptrdiff_t draw_rows(const epiqp_problem *pb, const epiqp_listed *groups, ptrdiff_t number, double *u,
                           ptrdiff_t *rows)
{
    const ptrdiff_t count = pb->data->groups;
    ptrdiff_t size = 0;
    epiqp_uniforms((epiqp_stream){pb->plan->ran.seed, EPIQP_FOR_RESAMPLE, (uint64_t)number}, count, u);
    for (ptrdiff_t k = 0; k < count; k++) {
        const ptrdiff_t g = epiqp_min((ptrdiff_t)(u[k] * (double)count), count - 1),
                        some = epiqp_listed_size(groups, g);
        for (ptrdiff_t i = 0; rows && i < some; i++) {
            rows[size + i] = groups->rows[groups->start[g] + i];
        }
        size += some;
    }
    return size;
}

/* All rows but those of a part. */
static ptrdiff_t other_rows(const epiqp_problem *pb, const epiqp_listed *parts, ptrdiff_t number, ptrdiff_t *rows)
{
    ptrdiff_t size = 0;
    for (ptrdiff_t i = 0; i < pb->n; i++) {
        if (parts->label[i] != number) rows[size++] = i;
    }
    return size;
}

/* of: the groups, or the parts. kernel (points): kernel regression's predictions less `now`; NULL: not wanted. */
static int resample_new(const epiqp_problem *pb, const epiqp_listed *of, ptrdiff_t number, const double *now,
                        double *kernel, double *u, epiqp_fit *out)
{
    const epiqp_env alone = epiqp_alone(&pb->e);
    const bool drawn = pb->plan->ran.confidence == EPIQ_CONFIDENCE_BOOTSTRAP;
    ptrdiff_t size = drawn ? draw_rows(pb, of, number, u, NULL) : pb->n, *rows = epiqp_room(pb, size, sizeof *rows);
    if (!rows) return EPIQ_E_NOMEM;
    size = drawn ? draw_rows(pb, of, number, u, rows) : other_rows(pb, of, number, rows);
    int s = epiqp_fit_of_rows(pb, &pb->plan->ran, size, rows, out);
    if (!s && (epiqp_needs_solve(&pb->plan->ran) || kernel)) {
        out->solver = EPIQ_SOLVER_EXACT;
        s = epiqp_fit_solve(&alone, out);
        epiqp_factor_free(pb->e.c, &out->ridge.factor); /* only c is read */
    }
    for (ptrdiff_t p = 0; !s && kernel && p < pb->points; p++) {
        kernel[p] = epiqp_dot(size, out->ridge.c + p * size, out->y) - now[p];
    }
    return s;
}

/* What resample k is made of, which may be what the one before was. */
static int list_of(const epiqp_problem *pb, ptrdiff_t k, epiqp_listed *out)
{
    if (pb->plan->ran.confidence == EPIQ_CONFIDENCE_HALVES) {
        const epiqp_stream order = {pb->plan->ran.seed, EPIQP_FOR_RESAMPLE, (uint64_t)k / 2};
        return k % 2 ? EPIQ_OK : epiqp_deal_rows(pb, order, 2, out);
    }
    if (k > 0) return EPIQ_OK;
    if (pb->plan->ran.confidence == EPIQ_CONFIDENCE_BOOTSTRAP) {
        return epiqp_list_rows(pb, pb->data->groups, pb->data->group, out);
    }
    return epiqp_deal_rows(pb, (epiqp_stream){pb->plan->ran.seed, EPIQP_FOR_RESAMPLE, 0}, pb->plan->resamples, out);
}

ptrdiff_t epiqp_resample_start(const epiq_options *o, ptrdiff_t k, ptrdiff_t members)
{
    return (o->confidence == EPIQ_CONFIDENCE_HALVES ? k / 2 : k) % members;
}

int epiqp_estimate_resampled(const epiqp_problem *pb, const epiqp_maker *maker, const epiqp_ev_findings *ev,
                             const epiqp_limit *limit, epiqp_resampled *found)
{
    const ptrdiff_t count = pb->plan->resamples, points = pb->points;
    const int how = pb->plan->ran.confidence;
    double *h = epiqp_room(pb, count * points, sizeof *h), *u = epiqp_room(pb, pb->data->groups, sizeof *u);
    epiqp_fit *fit = epiqp_room(pb, count, sizeof *fit);
    epiqp_assignment *list = epiqp_room(pb, count, sizeof *list);
    double *kernel = limit->known ? epiqp_room(pb, count * points, sizeof *kernel) : NULL;
    epiqp_listed of;
    int s = h && (kernel || !limit->known) && u && fit && list ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t k = 0; !s && k < count; k++) {
        const bool halves = how == EPIQ_CONFIDENCE_HALVES;
        const ptrdiff_t start = epiqp_resample_start(&pb->plan->ran, k, ev->members);
        s = list_of(pb, k, &of);
        if (!s) {
            s = resample_new(pb, &of, halves ? k % 2 : k, limit->now, kernel ? kernel + k * points : NULL, u, &fit[k]);
        }
        list[k] = (epiqp_assignment){
            .fit = &fit[k],
            .draw = epiqp_draw_of(&pb->plan->ran, start),
            .kind = EPIQP_FOR_RESAMPLE,
            .index = k,
            /* its start; and for parts their number */
            .of = start + (how == EPIQ_CONFIDENCE_JACKKNIFE ? count << 32
                           : halves                         ? (ptrdiff_t)1 << 56
                                                            : 0),
            .at = h + k * points,
        };
    }
    if (!(s = epiq_ctx_agree(pb->e.c, s))) s = epiqp_members_run(maker, "resampled", count, list);
    for (ptrdiff_t k = 0; !s && list && k < count; k++) {
        epiqp_axpy(points, -1, ev->h + epiqp_resample_start(&pb->plan->ran, k, ev->members) * points, list[k].at);
    }
    for (ptrdiff_t k = 0; fit && k < count; k++) {
        epiqp_fit_free(pb->e.c, &fit[k]);
    }
    if (!s) *found = (epiqp_resampled){count, h, kernel};
    return s;
}
