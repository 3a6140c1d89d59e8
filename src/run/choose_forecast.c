/* choose_forecast.c - what choosing a width and lambda will take, and one network of the run with what is chosen. Which networks are
 * tried and chosen depends on the data, and one may take fifty times as long as another: the race is rehearsed, with fewer folds and
 * of some of the rows, and what it does there is taken as what it will do.
 */
#include "run/race.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEWEST_ROWS = 192,
    FEWEST_GROUPS = 50, /* of a rehearsal: ten in its fold */
    DRAWS = 40          /* of weights of rows */
};
/* Seconds of rehearsals: what they may take in any case, and the most; of a run, and where a forecast is all that is wanted. */
static const double LEAST = 0.1, MOST = 1, DRY_LEAST = 2, DRY_MOST = 4;
static const double OF_FIRST = 0.25,
                    WORTH_MORE = 0.7; /* of that: the first; what it stood for, of another that is worth it */

ptrdiff_t epiqp_affordable_width(const epiqp_race *part)
{
    static const ptrdiff_t DOWN[] = {EPIQ_USUAL_WIDTH, EPIQP_RACE_BETWEEN, 64, 32, 16};
    epiqp_race whole = {.pb = part->pb, .o = part->o, .data = part->pb->data, .stands_for = 1, .folds = 1};
    const epiqp_candidate none = {.is = {.width = 0}};
    size_t k = 0;
    while (k + 1 < sizeof DOWN / sizeof *DOWN &&
           epiqp_race_run_work(&whole, &none, DOWN[k], epiqp_race_lambdas[EPIQP_RACE_USUAL]) > EPIQP_RACE_RUN_LIMIT) {
        k++;
    }
    return DOWN[k];
}

/* ---- by counting ---- */

/* Models that are usually tried: every narrow width, then with less penalty the better ones. */
static const struct {
    ptrdiff_t width;
    int level;
} TRIED[] = {{16, EPIQP_RACE_USUAL},     {32, EPIQP_RACE_USUAL},     {64, EPIQP_RACE_USUAL},
             {32, EPIQP_RACE_USUAL + 1}, {64, EPIQP_RACE_USUAL + 1}, {32, EPIQP_RACE_USUAL + 2}};

/* Of one network on so many rows. */
static double counted(const epiqp_race *r, const epiqp_rates *rate, ptrdiff_t rows, ptrdiff_t width, double lambda)
{
    epiqp_problem of = *r->pb;
    epiq_options o = r->o;
    of.n = rows;
    o.width = r->any_width ? width : o.width;
    o.lambda = r->any_lambda ? lambda : o.lambda;
    return epiqp_usual_seconds(&of, &o, rate);
}

/* Seconds of one thread for the models that are usually tried, one network each. */
static double counted_tried(const epiqp_race *r, const epiqp_rates *rate, ptrdiff_t rows)
{
    double sum = 0;
    for (size_t k = 0; k < sizeof TRIED / sizeof *TRIED; k++) {
        sum += counted(r, rate, rows, TRIED[k].width, epiqp_race_lambdas[TRIED[k].level]);
    }
    return sum;
}

/* Of one network on all rows, whichever is chosen: a wide one with the usual lambda and a narrow one with little are about as
 * likely, and take about as long; the geometric mean. */
static double counted_network(const epiqp_race *r, const epiqp_rates *rate)
{
    return sqrt(counted(r, rate, r->pb->n, r->o.width, epiqp_race_lambdas[EPIQP_RACE_USUAL]) *
                counted(r, rate, r->pb->n, TRIED[1].width, epiqp_race_lambdas[EPIQP_RACE_LEVELS - 1]));
}

/* Kernel regression with every lambda. */
static double counted_kernel(const epiqp_race *r, const epiqp_rates *rate, ptrdiff_t rows)
{
    const double n = (double)rows;
    return r->closed && r->any_lambda
               ? EPIQP_RACE_LEVELS * (n * n / rate->entries + 3 * n * n * n / rate->flops) /* as timed; counted: half */
               : 0;
}

static void count(const epiqp_race *r, const epiqp_rates *rate, epiqp_resolved *out)
{
    const double share = (double)(EPIQP_RACE_FOLDS - 1) / EPIQP_RACE_FOLDS, at_once = (double)r->pb->e.threads,
                 one = counted_network(r, rate), run = epiqp_race_networks(&r->o) * one,
                 tried = EPIQP_RACE_FIRST * EPIQP_RACE_FOLDS * share * counted_tried(r, rate, r->data->n);
    out->network = one;
    out->choosing = fmin(tried, run) / at_once;
    if (r->data->n < r->pb->n) {
        out->choosing += EPIQP_RACE_FINALS_MOST / 2 * EPIQP_RACE_FIRST * share * one / at_once;
    }
}

/* ---- by rehearsal ---- */

typedef struct {
    epiqp_problem pb; /* with memory of its own */
    epiqp_arena scratch;
    const epiqp_race *of;
    epiqp_race race;
    epiq_data part;
    double counted, took; /* seconds */
} rehearsal;

/* Wall time, as counted. */
static double rehearsal_seconds(const epiqp_race *r, const epiqp_rates *rate, ptrdiff_t parts, ptrdiff_t networks)
{
    const ptrdiff_t rows = r->data->n / parts;
    double tried = counted_tried(r, rate, rows);
    if (!r->closed && r->any_width) {
        tried += counted(r, rate, rows, EPIQ_USUAL_WIDTH, epiqp_race_lambdas[EPIQP_RACE_USUAL]);
    }
    return (double)networks * tried / r->pb->e.threads + counted_kernel(r, rate, rows);
}

/* As large as takes no longer than `most` seconds: fewer folds, then fewer rows, then one network without each fold. slowness: time
 * taken over time counted. */
static int rehearsal_new(const epiqp_race *of, const epiqp_rates *rate, double most, double slowness, rehearsal *h)
{
    ptrdiff_t parts = 1;
    *h = (rehearsal){.pb = *of->pb, .of = of, .race = *of};
    h->pb.scratch = &h->scratch;
    epiqp_race *r = &h->race;
    r->pb = &h->pb;
    r->o.state = NULL;
    while (slowness * (h->counted = rehearsal_seconds(of, rate, parts, r->folds * r->first)) > most) {
        if (r->folds > 1) {
            r->folds--;
        } else if (of->data->n / (2 * parts) >= FEWEST_ROWS && of->data->groups / (2 * parts) >= FEWEST_GROUPS) {
            parts *= 2;
        } else if (r->first > 1) {
            r->first = 1;
        } else {
            break;
        }
    }
    int s = epiqp_race_take_part(r, 3, parts, &h->part);
    r->stands_for = (double)(of->folds * of->first * of->data->n) / (double)(r->folds * r->first * r->data->n);
    return s ? s : epiqp_race_deal(r);
}

static void rehearsal_free(epiq_ctx *c, rehearsal *h)
{
    epiqp_race_end(c, &h->race);
    epiqp_arena_free(c, &h->scratch);
}

/* Of a network with this lambda, from those of its width that were tried; 0: there are none. */
static double seconds_like(const rehearsal *h, const epiqp_candidate *wanted, double rows)
{
    const epiqp_candidate *near = NULL;
    for (const epiqp_candidate *m = h->race.list; m < h->race.list + h->race.count; m++) {
        if (m->is.width != wanted->is.width || !m->is.width) continue;
        if (!near || abs(m->level - wanted->level) < abs(near->level - wanted->level)) near = m;
    }
    if (!near) return 0;
    epiq_options o = h->race.o;
    o.width = near->is.width;
    const epiqp_net net = epiqp_net_of(&o, h->pb.data->d);
    return epiqp_race_seconds(&h->race, near, rows) * epiqp_usual_effort(&net, h->pb.n, wanted->is.lambda).gradients /
           epiqp_usual_effort(&net, h->pb.n, near->is.lambda).gradients;
}

/* The race itself: the models that the rehearsal tried, each with all its networks. */
static int race_seconds(rehearsal *h, double *out)
{
    epiqp_race *r = &h->race;
    epiqp_candidate *final[EPIQP_RACE_FINALISTS];
    ptrdiff_t finalists = 0;
    const double rows = (double)h->of->data->n * (EPIQP_RACE_FOLDS - 1) / EPIQP_RACE_FOLDS;
    const bool done = r->stands_for == 1; /* with its finals */
    double sum = 0;
    for (const epiqp_candidate *m = r->list; m < r->list + r->count; m++) {
        sum += (double)(done ? m->starts : EPIQP_RACE_FIRST) * epiqp_race_seconds(r, m, rows);
    }
    int s = done ? EPIQ_OK : epiqp_race_finalists(r, final, &finalists);
    for (ptrdiff_t k = 0; k < finalists; k++) {
        sum += EPIQP_RACE_MORE * epiqp_race_seconds(r, final[k], rows);
    }
    *out = EPIQP_RACE_FOLDS * sum / h->pb.e.threads;
    return s;
}

/* The race on all rows after one on a part of them, and the network chosen there: of any width, with the least penalty that is tried
 * with one of them, which is what more rows want, unless that costs too much. The rehearsal drops widths sooner than the race will, before
 * they come to that penalty. */
static int all_rows_seconds(rehearsal *h, double *choosing, double *network)
{
    epiqp_candidate *now[EPIQP_RACE_FINALS_MOST];
    ptrdiff_t models = 0;
    const double n = (double)h->pb.n;
    epiqp_race *whole = epiqp_room(&h->pb, 1, sizeof *whole);
    if (!whole) return EPIQ_E_NOMEM;
    *whole = h->race;
    whole->data = h->pb.data;
    whole->count = 0;
    whole->folds = 1;
    whole->stands_for = 1;
    int s = epiqp_race_for_all(whole, &h->race, now, &models);
    if (s || !models) return s;
    int least = now[0]->level;
    double sum = 0, of_least = 0, widths = 0;
    for (ptrdiff_t k = 0; k < models; k++) {
        least = now[k]->level > least ? now[k]->level : least;
    }
    for (ptrdiff_t k = 0; k < models; k++) { /* the penalties of a width follow each other, falling */
        epiqp_candidate m = *now[k];
        sum += seconds_like(h, &m, n);
        if (k + 1 < models && now[k + 1]->is.width == m.is.width) continue;
        const double lambda = epiqp_race_lambda(whole, least);
        if (epiqp_race_run_work(whole, NULL, m.is.width, lambda) <= EPIQP_RACE_RUN_LIMIT) {
            m.level = least;
            m.is.lambda = lambda;
        }
        of_least += seconds_like(h, &m, n);
        widths++;
    }
    *choosing += EPIQP_RACE_FIRST * sum * (EPIQP_RACE_FOLDS - 1) / EPIQP_RACE_FOLDS / h->pb.e.threads;
    *network = of_least / widths;
    return EPIQ_OK;
}

/* ---- the network chosen ---- */

/* Seconds of one network of the run, if it is this model that is chosen. wide: with infinitely wide networks, of those that stand for
 * them; 0: they have not been timed yet. */
static int chosen_seconds(const rehearsal *h, const epiqp_candidate *m, double timing_share, double *wide, double *out)
{
    if (m->is.width) {
        *out = epiqp_race_seconds(&h->race, m, (double)h->pb.n);
        return EPIQ_OK;
    }
    epiq_options o = h->of->o;
    o.lambda = m->is.lambda;
    int s = *wide > 0 ? EPIQ_OK : epiqp_time_network(&h->pb, &o, timing_share * epiqp_race_networks(&o), wide);
    *out = *wide;
    return s;
}

/* The race would choose among errors at all rows, of which some are known: the geometric mean over what it would choose if rows were
 * others, weighted at random as far as rows are missing. */
static int network_seconds(rehearsal *h, double timing_share, double *out)
{
    epiqp_race *r = &h->race;
    const ptrdiff_t n = r->data->n;
    const double seen = (double)r->first / EPIQP_RACE_FIRST / r->stands_for, spread = sqrt(fmax(0, 1 - fmin(seen, 1)));
    double *e2 = epiqp_room(&h->pb, r->count * n, sizeof *e2), *weight = epiqp_room(&h->pb, n, sizeof *weight);
    double wide[EPIQP_RACE_LEVELS + 1] = {0}, sum = 0;
    const ptrdiff_t draws = spread > 0 ? DRAWS : 1;
    int s = e2 && weight ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t k = 0; !s && k < r->count; k++) {
        memcpy(e2 + k * n, r->list[k].e2, (size_t)n * sizeof *e2);
    }
    for (ptrdiff_t b = 0; !s && b < draws; b++) {
        const epiqp_candidate *chosen;
        double seconds = 0;
        epiqp_uniforms((epiqp_stream){r->o.seed, EPIQP_FOR_PARTS, (uint64_t)(4 + b)}, r->data->groups, weight);
        for (ptrdiff_t k = 0; k < r->count; k++) {
            double total = 0;
            for (ptrdiff_t i = 0; i < n; i++) {
                const double w = 1 + spread * (-log(weight[r->data->group[i]]) - 1);
                r->list[k].e2[i] = w * e2[k * n + i];
                total += r->list[k].e2[i];
            }
            r->list[k].mse = total;
        }
        if ((s = epiqp_race_choose(r, &chosen))) break;
        s = chosen_seconds(h, chosen, timing_share, &wide[chosen->level + 1], &seconds);
        sum += log(fmax(seconds, 1e-9)) / (double)draws;
    }
    *out = exp(sum);
    return s;
}

static int rehearse(rehearsal *h)
{
    const double start = epiqp_worked();
    int s = epiqp_race_run(&h->race);
    if (!s && h->race.stands_for == 1) s = epiqp_race_finals(&h->race); /* it is the race itself */
    h->took = epiqp_worked() - start;
    return s;
}

/* What the race and the run will take, from what the rehearsal did. */
static int conclude(rehearsal *h, double timing_share, epiqp_resolved *out)
{
    double choosing = 0, network = 0;
    int s = h->race.count ? race_seconds(h, &choosing) : EPIQ_OK;
    if (s || !h->race.count) return s;
    const bool whole = h->of->data->n == h->pb.n;
    s = whole ? network_seconds(h, timing_share, &network) : all_rows_seconds(h, &choosing, &network);
    if (!s && network > 0) {
        out->choosing = choosing;
        out->network = network;
    }
    return s;
}

/* Leaves what was counted where nothing can be rehearsed. A first, short rehearsal tells how large one can be that takes the rest of the
 * time. Their progress is not reported. */
static int hold_rehearsals(const epiqp_race *r, const epiqp_rates *rate, double timing_share, double most,
                           epiqp_resolved *out)
{
    epiq_ctx *c = r->pb->e.c;
    int (*const report)(void *, const epiq_progress *) = c->report;
    rehearsal *h = epiqp_alloc(c, 2, sizeof *h);
    if (!h) return EPIQ_E_NOMEM;
    h[0] = h[1] = (rehearsal){0};
    c->report = NULL;
    bool again = false;
    int s = rehearsal_new(r, rate, OF_FIRST * most, 1, &h[0]);
    if (!s) s = rehearse(&h[0]);
    if (!s && h[0].race.stands_for > 1) {
        s = rehearsal_new(r, rate, most - h[0].took, h[0].took / h[0].counted, &h[1]);
        again = h[1].race.stands_for < WORTH_MORE * h[0].race.stands_for;
        if (!s && again) s = rehearse(&h[1]);
    }
    if (!s) s = conclude(&h[again], timing_share, out);
    c->report = report;
    rehearsal_free(c, &h[0]);
    rehearsal_free(c, &h[1]);
    epiqp_free(c, h);
    if (s != EPIQ_E_NUMERIC) return s;
    epiqp_clear(c);
    return EPIQ_OK;
}

int epiqp_choose_forecast(const epiqp_race *r, const epiqp_request *request, epiqp_resolved *out)
{
    epiqp_rates rate;
    out->choosing = 0;
    int s = epiqp_rates_of(r->pb, request, &r->o, &rate);
    if (s) return s;
    if (r->trains) {
        count(r, &rate, out);
        const double run = epiqp_race_networks(&r->o) * out->network / r->pb->e.threads;
        const bool dry = request->forecast_only, timed = dry ? !request->untimed : run > EPIQP_WORTH_TIMING;
        const double share = dry ? EPIQP_DRY_TIMING_SHARE : EPIQP_TIMING_SHARE,
                     most = fmin(fmax(share * (run + out->choosing), dry ? DRY_LEAST : LEAST), dry ? DRY_MOST : MOST);
        if (timed && !r->pb->e.cluster && (s = hold_rehearsals(r, &rate, share, most, out))) return s;
    }
    out->choosing += counted_kernel(r, &rate, r->data->n);
    return EPIQ_OK;
}
