/* choose.c - the width and lambda that were left to choose (docs/method.md section 4): by the error on rows left out, in a race of
 * models. Of many rows a part is tried on, and what does well there on all.
 */
#include "run/race.h"

#include <math.h>
#include <stdio.h>

enum { FEWEST = 10 }; /* groups of rows: two in each fold */

/* What there would be without a choice; NULL: it was not tried. */
static const epiqp_candidate *usual(const epiqp_race *r)
{
    const epiqp_candidate *found = NULL;
    for (const epiqp_candidate *m = r->list; m < r->list + r->count; m++) {
        const bool width = r->any_width ? !m->is.width || m->is.width == EPIQ_USUAL_WIDTH : true;
        if (width && m->level == (r->any_lambda ? EPIQP_RACE_USUAL : -1)) found = m;
    }
    return found;
}

static int set_tried(epiqp_race *r, epiq_model_choice *out)
{
    epiq_model_tried *tried = epiqp_arena_alloc(r->pb->e.c, r->pb->lasting, r->count, sizeof *tried);
    if (!tried) return EPIQ_E_NOMEM;
    int s = EPIQ_OK;
    for (ptrdiff_t k = 0; !s && k < r->count; k++) {
        double mean = 0, se = 0;
        s = epiqp_mean_over_groups(r->pb->e.c, r->data, r->list[k].e2, &mean, &se);
        const double judged = epiqp_race_judged(r), rmse = sqrt(fmax(mean, 0) / judged);
        r->list[k].is.rmse = r->data->y_factor * rmse;
        r->list[k].is.se = rmse > 0 ? r->data->y_factor * se / judged / (2 * rmse) : 0;
        tried[k] = r->list[k].is;
    }
    out->tried = epiqp_arena_list(r->pb->e.c, r->pb->lasting, tried, r->count, sizeof *tried);
    out->tried_count = r->count;
    return s ? s : out->tried ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* of_part: the race that chose what this one tried on all rows; NULL: there was none. */
static int describe(epiqp_race *r, const epiqp_race *of_part, const epiqp_candidate *chosen, epiq_model_choice *out)
{
    const epiqp_candidate *before = usual(r);
    char width[48] = "", gain[128] = "", part[96] = "", starts[128] = "";
    int s = set_tried(r, out);
    if (s) return s;
    out->rmse = chosen->is.rmse;
    out->se = chosen->is.se;
    out->usual = before ? out->tried[before - r->list] : NULL;
    if (r->trains) snprintf(width, sizeof width, "width %td and ", out->width);
    if (before && before != chosen) {
        snprintf(gain, sizeof gain, ", against %.4g with %slambda %g", before->is.rmse,
                 !r->any_width      ? ""
                 : before->is.width ? "the usual width and "
                                    : "infinitely wide networks and ",
                 before->is.lambda);
    }
    if (of_part) {
        snprintf(part, sizeof part, ", after %td were tried on %td of the rows", of_part->count, of_part->data->n);
    }
    if (r->starts_off && !chosen->is.width) {
        snprintf(starts, sizeof starts, ", their starts taken off ({--predictor} shifted)");
    }
    out->reason = epiqp_arena_sentence(
        r->pb->e.c, r->pb->lasting, "%slambda %g%s: error %.4g on rows left out%s; %s of %td models tried%s%s", width,
        out->lambda, starts, out->rmse, gain,
        chosen == epiqp_race_best(r, EPIQP_RACE_ANY) ? "the best"
                                                     : "the simplest within one standard error of the best",
        r->count, part, r->limited ? ", others being left out for their cost" : "");
    return out->reason ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* The folds and their networks at work, and kernel regression on few rows. */
static double bytes_of(const epiqp_race *r)
{
    const double n = (double)r->data->n, d = (double)r->data->d;
    epiq_options o = r->o;
    o.width = r->any_width ? EPIQ_USUAL_WIDTH : r->o.width;
    const epiqp_net net = epiqp_net_of(&o, r->data->d);
    const bool closed = r->data->n <= EPIQP_CHEAP_ROWS;
    const double rows =
        fmax(epiqp_minimise_rows_bytes(&net, r->data->n),
             epiqp_minimise_rows_bytes(&net, r->data->n - r->data->n / EPIQP_RACE_FOLDS)); /* without a fold */
    const double kernel =
        closed ? (double)(epiqp_tri_bytes(r->data->n) + epiqp_inverse_bytes(r->data->n, r->pb->e.threads)) : 0;
    return 8 * n *
               (EPIQP_RACE_FOLDS * (3 * d + 6) + 3 * EPIQP_RACE_MOST +
                EPIQP_RACE_FIRST * EPIQP_RACE_FOLDS * EPIQP_RACE_WIDTHS_MOST) +
           fmax(kernel, (double)r->pb->e.threads * (epiqp_network_bytes(&net) + rows));
}

static int check_memory(const epiqp_race *r)
{
    const epiq_cluster *k = r->pb->e.cluster;
    const double need = bytes_of(r), have = epiqp_may_use(&r->o, k ? k->ranks_on_node : 1);
    return need <= have ? EPIQ_OK
                        : epiqp_fail(r->pb->e.c, EPIQ_E_NOMEM,
                                     "choosing the width and lambda takes about %.4f GB and %.4f may be used; give "
                                     "{--width} and {--lambda}, or fewer rows",
                                     need / 1e9, have / 1e9);
}

/* Models of many rows are judged on a part of them. Kernel regression is then done; networks are tried on all rows after
 * that. */
static int take_part(epiqp_race *r, ptrdiff_t rows, epiq_data *part)
{
    const ptrdiff_t n = r->data->n, parts = r->trains ? n / rows : (n + EPIQP_CHEAP_ROWS - 1) / EPIQP_CHEAP_ROWS;
    return epiqp_race_take_part(r, 2, parts, part);
}

/* The choice among what a race tried. */
static int take_choice(epiqp_race *r, const epiqp_race *of_part, const epiqp_candidate **chosen,
                       epiqp_resolved *resolved, epiq_model_choice *out)
{
    *chosen = NULL;
    int s = r->count ? epiqp_race_choose(r, chosen) : EPIQ_OK;
    if (s || !*chosen) return s;
    out->width = r->any_width && (*chosen)->is.width ? (*chosen)->is.width : out->width;
    out->lambda = (*chosen)->is.lambda;
    out->folds = r->folds;
    resolved->o.predictor = r->starts_off && !(*chosen)->is.width ? EPIQ_PREDICTOR_SHIFTED : r->o.predictor;
    resolved->network = epiqp_race_seconds(r, *chosen, (double)r->pb->n);
    return describe(r, of_part, *chosen, out);
}

/* With what there was before where nothing could be computed; ranks have agreed on a failure. */
static int excuse(const epiqp_race *r, int status)
{
    if (status != EPIQ_E_NUMERIC || r->pb->e.cluster) return status;
    epiqp_clear(r->pb->e.c);
    return EPIQ_OK;
}

/* ---- on all rows, after a part of them ---- */

/* Drops what turns out to cost too much, if anything else is left. */
static void drop_dear(epiqp_race *whole)
{
    ptrdiff_t left = 0;
    for (ptrdiff_t k = 0; k < whole->count; k++) {
        const epiqp_candidate *m = &whole->list[k];
        if (epiqp_race_run_work(whole, m, m->is.width, m->is.lambda) <= EPIQP_RACE_RUN_LIMIT) {
            whole->list[left++] = *m;
        } else {
            whole->limited = true;
        }
    }
    whole->count = left ? left : whole->count;
}

/* Of what did well on a part, what does best with all rows: one fold of them, which is large, is left out. */
static int race_on_all(const epiqp_race *part, epiqp_race *whole, epiqp_resolved *resolved, epiq_model_choice *out)
{
    epiqp_candidate *now[EPIQP_RACE_FINALS_MOST];
    const epiqp_candidate *chosen;
    ptrdiff_t models = 0;
    *whole = (epiqp_race){.pb = part->pb,
                          .o = part->o,
                          .data = part->pb->data,
                          .any_width = part->any_width,
                          .any_lambda = part->any_lambda,
                          .trains = true,
                          .first = part->first,
                          .stands_for = 1,
                          .limited = part->limited,
                          .folds = 1};
    int s = epiqp_race_deal(whole);
    if (s || (s = epiqp_race_for_all(whole, part, now, &models)) || !models || (s = check_memory(whole)) ||
        (s = epiqp_race_folds(whole)) || (s = epiqp_race_train(whole, now, models, EPIQP_RACE_FIRST))) {
        whole->count = 0; /* with what was best on the part */
        return s;
    }
    drop_dear(whole);
    return take_choice(whole, part, &chosen, resolved, out);
}

static int hold_race(epiqp_race *r, epiqp_race *whole, epiqp_resolved *resolved, epiq_model_choice *out)
{
    const epiqp_candidate *chosen;
    int s = epiqp_race_run(r);
    if (!s && r->trains) s = epiqp_race_finals(r);
    s = excuse(r, s);
    if (s || (s = take_choice(r, NULL, &chosen, resolved, out)) || !chosen || r->data == r->pb->data || !r->trains) {
        return s;
    }
    return excuse(r, race_on_all(r, whole, resolved, out));
}

int epiqp_choose_model(epiqp_problem *pb, const epiqp_request *request, epiqp_resolved *resolved, epiqp_answer *a)
{
    const double start = epiqp_now();
    epiq_model_choice *out = &a->model_choice;
    epiq_options *o = &resolved->o;
    if (o->width > 0 && o->lambda > 0) return EPIQ_OK;
    epiqp_race *r = epiqp_room(pb, 2, sizeof *r);
    epiq_data part;
    if (!r) return EPIQ_E_NOMEM;
    *r = (epiqp_race){.pb = pb,
                      .o = *o,
                      .data = pb->data,
                      .any_width = !o->width,
                      .any_lambda = o->lambda == 0,
                      .first = EPIQP_RACE_FIRST,
                      .stands_for = 1,
                      .folds = EPIQP_RACE_FOLDS};
    *out = (epiq_model_choice){.known = 1,
                               .width = r->any_width ? EPIQ_USUAL_WIDTH : o->width,
                               .depth = o->depth,
                               .lambda = r->any_lambda ? epiqp_race_lambdas[EPIQP_RACE_USUAL] : o->lambda,
                               .tried = epiqp_empty_list};
    r->trains = pb->engine->trains && (o->methods & (EPIQ_EV | EPIQ_BA) || o->data_by == EPIQ_DATA_BY_RETRAIN);
    r->starts_open = resolved->starts_open && r->trains && r->any_width;
    r->o.width = out->width;
    r->o.lambda = out->lambda;
    int s = take_part(r, request->choice_rows ? request->choice_rows : EPIQP_CHOICE_ROWS, &part);
    r->closed = epiqp_race_closed(r);
    if (!s) s = check_memory(r);
    if (!s && request->forecast_only && r->any_width && r->trains && r->data != pb->data) {
        out->width = epiqp_affordable_width(r);
    }
    const bool possible = pb->data->groups >= FEWEST && !(o->time > 0) && (r->any_lambda || r->trains);
    if (!s && possible && (request->forecast_only || pb->e.c->report)) {
        r->o.width = out->width;
        s = epiqp_choose_forecast(r, request, resolved);
        const double networks = o->data_by == EPIQ_DATA_BY_RETRAIN ? epiqp_race_networks(o) : (double)o->members,
                     all = resolved->choosing + resolved->network * networks / pb->e.threads;
        if (!s && !request->forecast_only && all > EPIQP_WORTH_SAYING) s = epiqp_report_forecast(pb, all);
    }
    if (!s && !request->forecast_only && possible) {
        resolved->network = 0;
        if (!(s = epiqp_race_deal(r))) s = hold_race(r, &r[1], resolved, out);
        epiqp_race_end(pb->e.c, &r[0]);
        epiqp_race_end(pb->e.c, &r[1]);
    }
    if (!s && !out->reason) {
        out->reason =
            epiqp_arena_sentence(pb->e.c, pb->lasting, "width %td and lambda %g%s: %s", out->width, out->lambda,
                                 r->any_width && r->any_lambda ? ", as usual"
                                 : r->any_width                ? ", the width as usual"
                                                               : ", lambda as usual",
                                 request->forecast_only      ? "the choice itself is part of the run"
                                 : o->time > 0               ? "errors of training stopped at a time are not compared"
                                 : pb->data->groups < FEWEST ? "it takes 10 rows, or 10 groups of rows, to choose"
                                                             : "no other could be judged");
        s = out->reason ? EPIQ_OK : EPIQ_E_NOMEM;
    }
    o->width = out->width;
    o->lambda = out->lambda;
    a->timing.choice = epiqp_now() - start;
    if (!request->forecast_only) resolved->choosing = a->timing.choice;
    return s;
}
