/* predictor.c - which predictor takes the fewest trainings until what is left of the procedural variance is small beside the
 * data part, by trying them on these rows (docs/method.md section 4). What is left is the variance of a few independent starts;
 * the data part is that of networks on two halves of the rows, (a - b)^2/4, from one start each.
 */
#include "run/run.h"

#include "est/variance.h"

#include <math.h>
#include <stdio.h>

enum {
    STARTS = 4, /* of each predictor that is tried */
    SPLITS = 4, /* of the rows into halves */
    TENTH = 10  /* of the data part: below, what is left is small */
};
static const double MOST = 1e6; /* trainings that are named: beyond, a predictor is of no use */

/* The mean over the points of what one predictor leaves. */
static int left_of(const epiqp_problem *pb, const epiq_options *o, const epiqp_maker *maker, double *out)
{
    epiqp_fit fit = {0};
    epiqp_assignment list[STARTS];
    const epiqp_env alone = epiqp_alone(&pb->e);
    double *h = epiqp_room(pb, STARTS * pb->points, sizeof *h);
    int s = h ? epiqp_fit_new(&alone, o, pb->n, pb->data->d, pb->data->x, pb->data->y, pb->points, pb->at, &fit)
              : EPIQ_E_NOMEM;
    if (s) return s;
    for (ptrdiff_t k = 0; k < STARTS; k++) {
        list[k] = (epiqp_assignment){
            .fit = &fit, .draw = epiqp_draw_of(o, k), .kind = EPIQP_FOR_MEMBER, .index = k, .at = h + k * pb->points};
    }
    s = epiqp_members_run(maker, "choice", STARTS, list);
    *out = 0;
    for (ptrdiff_t p = 0; !s && p < pb->points; p++) {
        *out += fmax(epiqp_variance_of(h + p, STARTS, pb->points), 0) / (double)pb->points;
    }
    epiqp_fit_free(pb->e.c, &fit);
    return s;
}

/* The mean over the points of the data part of networks on all rows. */
static int data_of(const epiqp_problem *pb, const epiq_options *o, const epiqp_maker *maker, double *out)
{
    epiqp_fit fit[2 * SPLITS] = {0};
    epiqp_assignment list[2 * SPLITS];
    double *h = epiqp_room(pb, 2 * SPLITS * pb->points, sizeof *h);
    int s = h ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t k = 0; !s && k < 2 * SPLITS; k++) {
        epiqp_listed of;
        s = epiqp_deal_rows(pb, (epiqp_stream){o->seed, EPIQP_FOR_SHUFFLE, 2 + (uint64_t)k / 2}, 2, &of);
        if (!s) s = epiqp_fit_of_rows(pb, o, epiqp_listed_size(&of, k % 2), of.rows + of.start[k % 2], &fit[k]);
        list[k] = (epiqp_assignment){.fit = &fit[k],
                                     .draw = epiqp_draw_of(o, k / 2),
                                     .kind = EPIQP_FOR_MEMBER,
                                     .index = k,
                                     .at = h + k * pb->points};
    }
    if (!(s = epiq_ctx_agree(pb->e.c, s))) s = epiqp_members_run(maker, "choice", 2 * SPLITS, list);
    *out = 0;
    for (ptrdiff_t k = 0; !s && h && k < SPLITS; k++) {
        const double *a = h + 2 * k * pb->points, *b = a + pb->points;
        for (ptrdiff_t p = 0; p < pb->points; p++) {
            *out += (a[p] - b[p]) * (a[p] - b[p]) / (4 * SPLITS * (double)pb->points);
        }
    }
    for (ptrdiff_t k = 0; k < 2 * SPLITS; k++) {
        epiqp_fit_free(pb->e.c, &fit[k]);
    }
    return s;
}

/* Trainings until what is left is a tenth of the data part. */
static double needed(int predictor, double left, double data)
{
    const double each = predictor == EPIQ_PREDICTOR_PNC ? 2 : 1;
    return each * (left <= 0 ? 1 : data > 0 ? fmin(fmax(ceil(TENTH * left / data), 1), MOST) : MOST);
}

static const char *name_of(int predictor)
{
    return predictor == EPIQ_PREDICTOR_PNC ? "pnc" : predictor == EPIQ_PREDICTOR_SHIFTED ? "shifted" : "ensemble";
}

static int say(const epiqp_problem *pb, const epiq_predictor_tried *best, epiqp_answer *a)
{
    epiq_predictor_choice *out = &a->predictor_choice;
    out->reason = best ? epiqp_arena_sentence(
                             pb->e.c, pb->lasting,
                             "{--predictor} %s: one leaves a procedural variance of %.2g times the data part, and "
                             "%td %s bring that to a tenth (%td networks trained to find it)",
                             name_of(out->predictor), best->procedural / fmax(out->data, 1e-300), best->trainings,
                             best->trainings > 1 ? "trainings" : "training", out->networks)
                       : epiqp_arena_sentence(pb->e.c, pb->lasting,
                                              "{--predictor} %s, which takes one training; nothing was tried: %s",
                                              name_of(out->predictor),
                                              pb->engine->trains ? "rows in one group, or fewer than 4, have no halves"
                                                                 : "it leaves no procedural variance here");
    return out->reason ? EPIQ_OK : EPIQ_E_NOMEM;
}

static int try_all(const epiqp_problem *pb, epiq_options *o, epiqp_answer *a)
{
    static const int ORDER[] = {EPIQ_PREDICTOR_SHIFTED, EPIQ_PREDICTOR_ENSEMBLE, EPIQ_PREDICTOR_PNC};
    enum { TRIED = sizeof ORDER / sizeof *ORDER };
    epiq_predictor_choice *out = &a->predictor_choice;
    epiq_predictor_tried *tried = epiqp_arena_alloc(pb->e.c, pb->lasting, TRIED, sizeof *tried), *best = NULL;
    epiqp_trainings sum = {.iterations = epiqp_room(pb, TRIED * STARTS + 2 * SPLITS, sizeof(double))};
    if (!tried || !sum.iterations) return EPIQ_E_NOMEM;
    const epiqp_maker maker = {.e = &pb->e, .engine = pb->engine, .sum = &sum};
    const double unit2 = pb->data->y_factor * pb->data->y_factor;
    epiq_options one = *o;
    one.predictor = ORDER[0];
    int s = data_of(pb, &one, &maker, &out->data);
    out->networks = 2 * SPLITS;
    for (ptrdiff_t k = 0; !s && k < TRIED && !(best && best->trainings == 1); k++) {
        one.predictor = tried[k].predictor = ORDER[k];
        if ((s = left_of(pb, &one, &maker, &tried[k].procedural))) break;
        tried[k].trainings = (ptrdiff_t)needed(ORDER[k], tried[k].procedural, out->data);
        out->networks += STARTS * (ORDER[k] == EPIQ_PREDICTOR_PNC ? 2 : 1);
        best = !best || tried[k].trainings < best->trainings ? &tried[k] : best;
        out->tried_count++;
    }
    if (s) return s;
    out->predictor = o->predictor = best->predictor;
    if ((s = say(pb, best, a))) return s;
    for (ptrdiff_t k = 0; k < out->tried_count; k++) {
        tried[k].procedural *= unit2;
    }
    out->data *= unit2;
    out->tried = epiqp_arena_list(pb->e.c, pb->lasting, tried, out->tried_count, sizeof *tried);
    return out->tried ? EPIQ_OK : EPIQ_E_NOMEM;
}

int epiqp_choose_predictor(const epiqp_problem *pb, const epiqp_request *request, epiqp_resolved *r, epiqp_answer *a)
{
    epiq_predictor_choice *out = &a->predictor_choice;
    if (!r->predictor_open) return EPIQ_OK;
    out->known = 1;
    out->predictor = r->o.predictor;
    const bool exact = !pb->engine->member || epiqp_needs_solve(&r->o), halves = pb->data->groups > 1 && pb->n >= 4;
    if (exact || !halves || request->forecast_only) return say(pb, NULL, a);
    const double start = epiqp_now();
    const int s = try_all(pb, &r->o, a);
    a->timing.choice += epiqp_now() - start;
    return s;
}
