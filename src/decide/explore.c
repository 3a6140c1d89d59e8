/* explore.c - epiq_explore: an estimate at every candidate, a score made of it, and a batch picked greedily, each pick
 * taken as observed before the next (explore.h; docs/method.md, exploring).
 */
#include "decide/explore.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    epiq_ranking ranking; /* first: it is what the caller gets */
    epiqp_arena arena;
    epiq_result *estimate;
} answer;

static const double KAPPA = 2, KAPPA_MOST = 1e6;

epiq_exploration epiq_exploration_default(void)
{
    return (epiq_exploration){EPIQ_RULE_UCB, EPIQ_GOAL_MAX, KAPPA, 1};
}

const char *epiq_rule_text(int rule)
{
    static const char *const TEXT[] = {
#define RULE_TEXT(name, text) text,
        EPIQ_RULE_LIST(RULE_TEXT)
#undef RULE_TEXT
    };
    return rule >= EPIQ_RULE_UCB && rule <= EPIQ_RULE_TOTAL ? TEXT[rule] : "unknown";
}

/* ---- what a candidate is worth ---- */

static double variance_of(const epiqp_job *j, const epiq_candidate *k)
{
    return k->data.variance + k->procedural.variance / (double)j->o.ensemble_size;
}

static double score(const epiqp_job *j, const epiq_exploration *ask, const epiq_candidate *k)
{
    double spread = variance_of(j, k);
    switch (ask->rule) {
    case EPIQ_RULE_UCB:
        return (ask->goal == EPIQ_GOAL_MIN ? -1 : 1) * k->prediction + ask->kappa * sqrt(spread);
    case EPIQ_RULE_DATA:
        return k->data.variance;
    default:
        return spread;
    }
}

static epiq_part bare(epiq_part part)
{
    return (epiq_part){.known = part.known, .variance = part.variance, .method = part.method};
}

static void judge(const epiqp_job *j, const epiq_exploration *ask, epiq_candidate *k)
{
    k->known = k->data.known && (ask->rule == EPIQ_RULE_DATA || k->procedural.known);
    k->score = k->known ? score(j, ask, k) : 0;
    k->known = k->known && isfinite(k->score);
}

/* With the picks so far taken as observed; the prediction stays. */
static void look_again(const epiqp_belief *b, const epiq_exploration *ask, epiq_candidate *k)
{
    double unit2 = b->j->data->y_factor * b->j->data->y_factor;
    if (k->data.known) {
        k->data.variance = unit2 * epiqp_belief_data(b, k->row - 1);
    }
    if (k->procedural.known) {
        k->procedural.variance = unit2 * epiqp_belief_procedural(b, k->row - 1);
    }
    judge(b->j, ask, k);
}

static int before(const void *a, const void *b)
{
    const epiq_candidate *k = a, *l = b;
    if (k->known != l->known) {
        return k->known ? -1 : 1;
    }
    if (k->known && k->score != l->score) {
        return k->score > l->score ? -1 : 1;
    }
    return k->row < l->row ? -1 : k->row > l->row;
}

/* ---- why the first comes first ---- */

typedef struct {
    double prediction, sd; /* means over the candidates that have a score */
} usual;

static double sd_of(const epiqp_job *j, const epiq_exploration *ask, const epiq_candidate *k)
{
    return sqrt(ask->rule == EPIQ_RULE_DATA ? k->data.variance : variance_of(j, k));
}

static usual usual_of(const epiqp_job *j, const epiq_exploration *ask, const epiq_candidate *first)
{
    usual u = {0, 0};
    double count = 0;
    for (ptrdiff_t p = 0; p < j->points; p++) {
        count += first[p].known;
    }
    for (ptrdiff_t p = 0; p < j->points; p++) {
        u.prediction += first[p].known ? first[p].prediction / count : 0;
        u.sd += first[p].known ? sd_of(j, ask, &first[p]) / count : 0;
    }
    return u;
}

/* What the variance of the first is for. */
static const char *cause(const epiqp_job *j, const epiq_candidate *k)
{
    double share = variance_of(j, k) > 0 ? k->data.variance / variance_of(j, k) : 0.5;
    return share > 2.0 / 3   ? "mostly for want of data"
           : share < 1.0 / 3 ? "mostly because retraining would change it"
                             : "for want of data and because retraining would change it";
}

static char *explain(epiqp_job *j, const epiq_exploration *ask, const epiq_candidate *k, usual u, epiqp_arena *arena)
{
    epiq_ctx *c = j->e.c;
    double sd = sd_of(j, ask, k), up = (ask->goal == EPIQ_GOAL_MIN ? -1 : 1) * (k->prediction - u.prediction),
           wide = ask->kappa * (sd - u.sd);
    const char *high = ask->goal == EPIQ_GOAL_MIN ? "low" : "high";
    if (j->points == 1) {
        return epiqp_arena_printf(c, arena, "Candidate 1 comes first because there is no other.");
    }
    if (ask->rule == EPIQ_RULE_DATA) {
        return epiqp_arena_printf(c, arena,
                                  "Candidate %td comes first because other data would move the prediction most there: "
                                  "by a standard deviation of %.3g, where the candidates' mean is %.3g.",
                                  k->row, sd, u.sd);
    }
    if (ask->rule == EPIQ_RULE_TOTAL || wide >= 2 * up) {
        return epiqp_arena_printf(c, arena,
                                  "Candidate %td comes first because the prediction is unsure there, %s: its standard "
                                  "deviation is %.3g, where the candidates' mean is %.3g.",
                                  k->row, cause(j, k), sd, u.sd);
    }
    if (up >= 2 * wide) {
        return epiqp_arena_printf(c, arena,
                                  "Candidate %td comes first mostly because its prediction is %s, %.4g where the "
                                  "candidates' mean is %.4g; its standard deviation, %.3g, counts for less (their mean "
                                  "is %.3g).",
                                  k->row, high, k->prediction, u.prediction, sd, u.sd);
    }
    return epiqp_arena_printf(c, arena,
                              "Candidate %td comes first because its prediction is %s, %.4g where the candidates' mean "
                              "is %.4g, and unsure, %s: its standard deviation is %.3g, their mean %.3g.",
                              k->row, high, k->prediction, u.prediction, cause(j, k), sd, u.sd);
}

/* ---- the ranking ---- */

/* The best of those not picked; NULL: none has a score. */
static epiq_candidate *best(epiq_candidate *list, ptrdiff_t count)
{
    epiq_candidate *found = NULL;
    for (ptrdiff_t p = 0; p < count; p++) {
        if (!list[p].pick && list[p].known && (!found || list[p].score > found->score)) {
            found = &list[p];
        }
    }
    return found;
}

/* now: every candidate as things stand. The batch goes to ranked. */
static int pick_batch(epiqp_job *j, const epiq_exploration *ask, epiq_candidate *now, epiq_candidate *ranked)
{
    epiqp_belief belief;
    int s = ask->batch > 1 ? epiqp_belief_new(j, ask->batch - 1, &belief) : EPIQ_OK;
    for (ptrdiff_t t = 0; !s && t < ask->batch; t++) {
        epiq_candidate *k = best(now, j->points);
        if (!k) {
            return epiqp_fail(j->e.c, EPIQ_E_NUMERIC,
                              "only %td of %td candidates have a score, because the variances of the others are not "
                              "known; use a larger --lambda%s",
                              t, j->points, t ? ", or a smaller --batch" : "");
        }
        k->pick = t + 1;
        ranked[t] = *k;
        if (t + 1 < ask->batch) {
            epiqp_belief_observe(&belief, k->row - 1);
            for (ptrdiff_t p = 0; p < j->points; p++) {
                if (!now[p].pick) {
                    look_again(&belief, ask, &now[p]);
                }
            }
        }
        s = epiqp_report(j->e.c, "picks", t + 1, ask->batch);
    }
    return s;
}

static int rank(epiqp_job *j, void *user)
{
    answer *out = user;
    const epiq_exploration *ask = &out->ranking.ask;
    ptrdiff_t count = j->points, rest = ask->batch;
    epiq_candidate *ranked = epiqp_arena_alloc(j->e.c, &out->arena, count, sizeof *ranked);
    epiq_candidate *first = epiqp_arena_alloc(j->e.c, &j->scratch, 2 * count, sizeof *first);
    if (!ranked || !first) {
        return EPIQ_E_NOMEM;
    }
    epiq_candidate *now = first + count;
    for (ptrdiff_t p = 0; p < count; p++) {
        const epiq_point *point = &j->answer->points[p];
        first[p] = (epiq_candidate){.row = p + 1,
                                    .prediction = point->prediction,
                                    .procedural = bare(point->procedural),
                                    .data = bare(point->data)};
        judge(j, ask, &first[p]);
    }
    memcpy(now, first, (size_t)count * sizeof *now);
    int s = pick_batch(j, ask, now, ranked);
    if (s) {
        return s;
    }
    for (ptrdiff_t p = 0; p < count; p++) {
        if (!now[p].pick) {
            ranked[rest++] = first[p];
        }
    }
    qsort(ranked + ask->batch, (size_t)(count - ask->batch), sizeof *ranked, before);
    out->ranking.ranked = ranked;
    out->ranking.count = count;
    out->ranking.reason = explain(j, ask, &ranked[0], usual_of(j, ask, first), &out->arena);
    return out->ranking.reason ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* Before anything is trained. */
static int check_batch(epiq_ctx *c, ptrdiff_t points, const epiq_exploration *ask)
{
    if (points < 1) {
        return epiqp_fail(c, EPIQ_E_DATA, "there is no candidate to choose; add one made for these rows");
    }
    if (ask->batch > points) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "a batch of %td cannot be picked from %td candidate%s; use a smaller --batch or give more "
                          "candidates",
                          ask->batch, points, points == 1 ? "" : "s");
    }
    return EPIQ_OK;
}

static int check_ask(epiq_ctx *c, const epiq_options *o, const epiq_exploration *ask)
{
    if (ask->rule < EPIQ_RULE_UCB || ask->rule > EPIQ_RULE_TOTAL) {
        return epiqp_fail(c, EPIQ_E_USAGE, "rule is %d; it must be one of epiq_rule", ask->rule);
    }
    if (ask->goal != EPIQ_GOAL_MAX && ask->goal != EPIQ_GOAL_MIN) {
        return epiqp_fail(c, EPIQ_E_USAGE, "goal is %d; it must be one of epiq_goal", ask->goal);
    }
    if (!(ask->kappa >= 0 && ask->kappa <= KAPPA_MOST)) {
        return epiqp_fail(c, EPIQ_E_USAGE, "kappa is %g; it must lie in [0, %g] (the default is %g)", ask->kappa,
                          KAPPA_MOST, KAPPA);
    }
    if (ask->batch < 1) {
        return epiqp_fail(c, EPIQ_E_USAGE, "batch is %td; it must be at least 1", ask->batch);
    }
    bool divided = o->solver == EPIQ_SOLVER_DIVIDED;
    if (ask->batch > 1 && (divided || o->time > 0 || o->kernel == EPIQ_KERNEL_EMPIRICAL)) {
        return epiqp_fail(c, EPIQ_E_USAGE,
                          "picks of a batch are taken as observed by the population kernel's factor, which %s does "
                          "without; leave it out, or pick one at a time",
                          divided       ? "--solver divided"
                          : o->time > 0 ? "--time"
                                        : "--kernel empirical");
    }
    return EPIQ_OK;
}

int epiq_explore(epiq_ctx *c, const epiq_data *data, const epiq_points *candidates, const epiq_options *o,
                 const epiq_exploration *ask, epiq_ranking **out)
{
    epiqp_clear(c);
    *out = NULL;
    int s = epiqp_options_check(c, o);
    if (s || (s = check_ask(c, o, ask)) || (s = check_batch(c, candidates->count, ask))) {
        return s;
    }
    answer *a = epiqp_alloc(c, 1, sizeof *a);
    if (!a) {
        return EPIQ_E_NOMEM;
    }
    *a = (answer){.ranking.ask = *ask};
    epiq_options own = *o;
    bool idle = ask->rule == EPIQ_RULE_DATA && o->hbar == EPIQ_HBAR_KERNEL && epiqp_engine_of(o)->trains;
    own.methods = idle ? EPIQ_IF : EPIQ_IF | EPIQ_EV; /* networks are trained only for scores that need them */
    if (ask->rule == EPIQ_RULE_DATA && own.data_by == EPIQ_DATA_BY_AUTO) {
        own.data_by = EPIQ_DATA_BY_IF; /* retraining does not change the order */
    }
    own.influential = own.sweep = 0;
    epiqp_more more = {.then = rank,
                       .user = a,
                       .bytes = epiqp_belief_bytes(data->n, candidates->count, ask->batch - 1),
                       .less = "a smaller --batch"};
    s = epiqp_estimate(c, data, candidates, &own, &more, &a->estimate);
    epiqp_go_on(c);
    a->ranking.estimate = a->estimate;
    if (s) {
        epiq_ranking_free(c, &a->ranking);
        return s;
    }
    *out = &a->ranking;
    return EPIQ_OK;
}

void epiq_ranking_free(epiq_ctx *c, epiq_ranking *r)
{
    if (r) {
        answer *a = (answer *)r;
        epiq_result_free(c, a->estimate);
        epiqp_arena_free(c, &a->arena);
        epiqp_free(c, a);
    }
}
