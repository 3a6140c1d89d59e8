/* explore.c - epiq_explore: candidates scored by an estimate, a batch of them picked greedily (explore.h). */
#include "decide/explore.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double KAPPA = 2, KAPPA_MOST = 1e6;

void epiq_exploration_init(epiq_exploration *x, size_t size)
{
    const epiq_exploration own = {size, EPIQ_RULE_UCB, EPIQ_GOAL_MAX, KAPPA, 1};
    epiqp_give(&own, sizeof own, x, size);
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

static double variance_of(const epiqp_estimated *e, const epiq_candidate *k)
{
    return k->data.variance + k->procedural.variance / (double)e->problem->plan->ran.ensemble_size;
}

/* Where an interval of the expected prediction was asked for, its end is the score. */
static bool by_interval(const epiqp_estimated *e, const epiq_exploration *ask)
{
    return ask->rule == EPIQ_RULE_UCB && e->problem->plan->ran.confidence;
}

static epiq_part bare(epiq_part part)
{
    return (epiq_part){.known = part.known, .variance = part.variance, .method = part.method};
}

static void judge(const epiqp_estimated *e, const epiq_exploration *ask, epiq_candidate *k)
{
    double spread = variance_of(e, k), score = ask->rule == EPIQ_RULE_DATA ? k->data.variance : spread;
    if (ask->rule == EPIQ_RULE_UCB) {
        score = (ask->goal == EPIQ_GOAL_MIN ? -1 : 1) * k->prediction + ask->kappa * sqrt(spread);
    }
    k->known = k->data.known && (ask->rule == EPIQ_RULE_DATA || k->procedural.known);
    if (by_interval(e, ask)) {
        score = ask->goal == EPIQ_GOAL_MIN ? -k->confidence.lo : k->confidence.hi;
        k->known = k->confidence.known;
    }
    k->score = k->known ? score : 0;
    k->known = k->known && isfinite(k->score);
}

/* The interval as it was before any pick, in the ratio of the standard deviations of both parts. */
static void narrow(const epiqp_estimated *e, epiq_candidate *k)
{
    const epiq_point *first = &e->answer->points[k->row - 1];
    const epiq_candidate before = {.data = first->data, .procedural = first->procedural};
    const epiq_confidence *c = &first->confidence;
    const double from = variance_of(e, &before);
    if (!c->known || !k->data.known || !k->procedural.known || !(from > 0)) return;
    const double share = sqrt(variance_of(e, k) / from);
    k->confidence.lo = c->centre - share * (c->centre - c->lo);
    k->confidence.hi = c->centre + share * (c->hi - c->centre);
    k->confidence.variance = share * c->variance * share;
}

/* With the picks so far taken as observed; the prediction stays. */
static void look_again(const epiqp_belief *b, const epiq_exploration *ask, epiq_candidate *k)
{
    double unit2 = b->e->problem->data->y_factor * b->e->problem->data->y_factor;
    if (k->data.known) k->data.variance = unit2 * epiqp_belief_data(b, k->row - 1);
    if (k->procedural.known) k->procedural.variance = unit2 * epiqp_belief_procedural(b, k->row - 1);
    narrow(b->e, k);
    judge(b->e, ask, k);
}

static int before(const void *a, const void *b)
{
    const epiq_candidate *k = a, *l = b;
    if (k->known != l->known) return k->known ? -1 : 1;
    if (k->known && k->score != l->score) return k->score > l->score ? -1 : 1;
    return k->row < l->row ? -1 : k->row > l->row;
}

typedef struct {
    double prediction, sd; /* means over the candidates that have a score */
} usual;

static double sd_of(const epiqp_estimated *e, const epiq_exploration *ask, const epiq_candidate *k)
{
    return sqrt(by_interval(e, ask)           ? k->confidence.variance
                : ask->rule == EPIQ_RULE_DATA ? k->data.variance
                                              : variance_of(e, k));
}

static usual usual_of(const epiqp_estimated *e, const epiq_exploration *ask, const epiq_candidate *first)
{
    usual u = {0, 0};
    double count = 0;
    for (ptrdiff_t p = 0; p < e->problem->asked; p++) {
        count += first[p].known;
    }
    for (ptrdiff_t p = 0; p < e->problem->asked; p++) {
        u.prediction += first[p].known ? first[p].prediction / count : 0;
        u.sd += first[p].known ? sd_of(e, ask, &first[p]) / count : 0;
    }
    return u;
}

/* What the variance of the first is for. */
static const char *cause(const epiqp_estimated *e, const epiq_candidate *k)
{
    if (!k->data.known || !k->procedural.known) return "as networks on other rows tell";
    double share = variance_of(e, k) > 0 ? k->data.variance / variance_of(e, k) : 0.5;
    return share > 2.0 / 3   ? "mostly for want of data"
           : share < 1.0 / 3 ? "mostly because retraining would change it"
                             : "for want of data and because retraining would change it";
}

static char *explain(const epiqp_estimated *e, const epiq_exploration *ask, const epiq_candidate *k, usual u)
{
    epiq_ctx *c = e->problem->e.c;
    epiqp_arena *arena = e->problem->lasting;
    double sd = sd_of(e, ask, k), up = (ask->goal == EPIQ_GOAL_MIN ? -1 : 1) * (k->prediction - u.prediction),
           times = by_interval(e, ask) && sd > 0 ? (k->confidence.hi - k->confidence.centre) / sd : ask->kappa,
           wide = times * (sd - u.sd);
    const char *high = ask->goal == EPIQ_GOAL_MIN ? "low" : "high";
    if (e->problem->asked == 1) {
        return epiqp_arena_sentence(c, arena, "Candidate 1 comes first because there is no other.");
    }
    if (ask->rule == EPIQ_RULE_DATA) {
        return epiqp_arena_sentence(c, arena,
                                    "Candidate %td comes first because other data would move the prediction most "
                                    "there: by a standard deviation of %.3g, where the candidates' mean is %.3g.",
                                    k->row, sd, u.sd);
    }
    if (ask->rule == EPIQ_RULE_TOTAL || wide >= 2 * up) {
        return epiqp_arena_sentence(c, arena,
                                    "Candidate %td comes first because the prediction is unsure there, %s: its "
                                    "standard deviation is %.3g, where the candidates' mean is %.3g.",
                                    k->row, cause(e, k), sd, u.sd);
    }
    if (up >= 2 * wide) {
        return epiqp_arena_sentence(
            c, arena,
            "Candidate %td comes first mostly because its prediction is %s, %.4g where the candidates' mean is %.4g; "
            "its standard deviation, %.3g, counts for less (their mean is %.3g).",
            k->row, high, k->prediction, u.prediction, sd, u.sd);
    }
    return epiqp_arena_sentence(c, arena,
                                "Candidate %td comes first because its prediction is %s, %.4g where the candidates' "
                                "mean is %.4g, and unsure, %s: its standard deviation is %.3g, their mean %.3g.",
                                k->row, high, k->prediction, u.prediction, cause(e, k), sd, u.sd);
}

/* now: every candidate after the picks so far. The batch goes to ranked. */
static int pick_batch(const epiqp_estimated *e, const epiq_exploration *ask, epiq_candidate *now,
                      epiq_candidate *ranked)
{
    epiqp_belief belief;
    const int parts = EPIQ_IF | EPIQ_EV;
    if (ask->batch > 1 && by_interval(e, ask) && (e->problem->plan->ran.methods & parts) != parts) {
        return epiqp_fail(e->problem->e.c, EPIQ_E_USAGE,
                          "picking several takes both parts of the variance, which so few {--budget-networks} or so "
                          "many rows do not give; use {--batch} 1, or leave {--budget-networks} out");
    }
    int s = ask->batch > 1 ? epiqp_belief_new(e, ask->batch - 1, &belief) : EPIQ_OK;
    for (ptrdiff_t t = 0; !s && t < ask->batch; t++) {
        epiq_candidate *k = NULL; /* the best of those not picked */
        for (epiq_candidate *one = now; one < now + e->problem->asked; one++) {
            k = !one->pick && one->known && (!k || one->score > k->score) ? one : k;
        }
        if (!k) {
            return epiqp_fail(e->problem->e.c, EPIQ_E_NUMERIC,
                              "only %td of %td candidates have a score, because the variances of the others are not "
                              "known; use a larger {--lambda}%s",
                              t, e->problem->asked, t ? ", or a smaller {--batch}" : "");
        }
        k->pick = t + 1;
        ranked[t] = *k;
        if (t + 1 < ask->batch) {
            epiqp_belief_observe(&belief, k->row - 1);
            for (ptrdiff_t p = 0; p < e->problem->asked; p++) {
                if (!now[p].pick) look_again(&belief, ask, &now[p]);
            }
        }
        s = epiqp_report(e->problem->e.c, "picks", t + 1, ask->batch);
    }
    return s;
}

/* What on_done makes. */
typedef struct {
    const epiq_exploration *ask;
    epiq_ranking *ranking; /* in the memory of the estimate */
} answer;

static int rank(const epiqp_estimated *e, void *user)
{
    answer *out = user;
    const epiq_exploration *ask = out->ask;
    ptrdiff_t count = e->problem->asked, rest = ask->batch;
    epiq_candidate *ranked = epiqp_arena_alloc(e->problem->e.c, e->problem->lasting, count, sizeof *ranked);
    epiq_ranking *ranking = epiqp_arena_alloc(e->problem->e.c, e->problem->lasting, 1, sizeof *ranking);
    epiq_exploration *kept = epiqp_arena_alloc(e->problem->e.c, e->problem->lasting, 1, sizeof *kept);
    epiq_candidate *first = epiqp_room(e->problem, count, sizeof *first);
    epiq_candidate *now = epiqp_room(e->problem, count, sizeof *now);
    if (!ranked || !ranking || !kept || !first || !now) return EPIQ_E_NOMEM;
    *kept = *ask;
    for (ptrdiff_t p = 0; p < count; p++) {
        const epiq_point *point = &e->answer->points[p];
        first[p] = (epiq_candidate){.row = p + 1,
                                    .prediction = point->prediction,
                                    .procedural = bare(point->procedural),
                                    .data = bare(point->data),
                                    .confidence = point->confidence};
        judge(e, ask, &first[p]);
    }
    memcpy(now, first, (size_t)count * sizeof *now);
    int s = pick_batch(e, ask, now, ranked);
    if (s) return s;
    for (ptrdiff_t p = 0; p < count; p++) {
        if (!now[p].pick) ranked[rest++] = first[p];
    }
    qsort(ranked + ask->batch, (size_t)(count - ask->batch), sizeof *ranked, before);
    *ranking =
        (epiq_ranking){.ask = kept,
                       .ranked = epiqp_arena_list(e->problem->e.c, e->problem->lasting, ranked, count, sizeof *ranked),
                       .count = count,
                       .reason = explain(e, ask, &ranked[0], usual_of(e, ask, first))};
    out->ranking = ranking;
    return ranking->reason && ranking->ranked ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* Before anything is trained. */
static int check_ask(epiq_ctx *c, const epiq_options *o, ptrdiff_t points, const epiq_exploration *ask)
{
    int s = EPIQ_OK;
    if (ask->rule < EPIQ_RULE_UCB || ask->rule > EPIQ_RULE_TOTAL) {
        return epiqp_fail(c, EPIQ_E_USAGE, "rule is %d; it must be one of epiq_rule", ask->rule);
    }
    if (ask->goal != EPIQ_GOAL_MAX && ask->goal != EPIQ_GOAL_MIN) {
        return epiqp_fail(c, EPIQ_E_USAGE, "goal is %d; it must be one of epiq_goal", ask->goal);
    }
    if (!(ask->kappa >= 0 && ask->kappa <= KAPPA_MOST)) {
        return epiqp_fail(c, EPIQ_E_USAGE, "{--kappa} is %g; it must lie in [0, %g] (the default is %g)", ask->kappa,
                          KAPPA_MOST, KAPPA);
    }
    if (ask->rule != EPIQ_RULE_UCB && (o->confidence || o->budget_networks)) {
        return epiqp_fail(
            c, EPIQ_E_USAGE,
            "{--confidence} and {--budget-networks} bound the prediction, which rule %s does not look at; "
            "use {--rule} ucb, or leave them out",
            epiq_rule_text(ask->rule));
    }
    if (ask->batch < 1) return epiqp_fail(c, EPIQ_E_USAGE, "{--batch} is %td; it must be at least 1", ask->batch);
    if (ask->batch > 1 && (s = epiqp_options_conflict(c, o, EPIQP_SEVERAL_PICKS))) return s;
    if (points < 1) return epiqp_fail(c, EPIQ_E_DATA, "there is no candidate to choose; add one made for these rows");
    if (ask->batch <= points) return EPIQ_OK;
    return epiqp_fail(
        c, EPIQ_E_DATA,
        "a batch of %td cannot be picked from %td candidate%s; use a smaller {--batch} or give more candidates",
        ask->batch, points, points == 1 ? "" : "s");
}

int epiq_explore(epiq_ctx *c, const epiq_data *data, const epiq_points *candidates, const epiq_options *o,
                 const epiq_exploration *ask, epiq_ranking **out)
{
    epiqp_clear(c);
    *out = NULL;
    epiq_options own;
    epiq_exploration x = epiq_exploration_default();
    int s = epiqp_options_take(c, o, &own);
    if (s || (s = epiqp_take(c, "epiq_exploration", ask, &x, sizeof x)) || (s = epiqp_options_check(c, &own)) ||
        (s = check_ask(c, &own, candidates->count, &x))) {
        return s;
    }
    answer a = {.ask = &x};
    epiq_result *estimate = NULL;
    bool idle = x.rule == EPIQ_RULE_DATA && own.hbar == EPIQ_HBAR_KERNEL && epiqp_engine_of(&own)->trains;
    own.methods = idle ? EPIQ_IF : EPIQ_IF | EPIQ_EV; /* networks are trained only for scores that need them */
    if (x.rule == EPIQ_RULE_DATA && own.data_by == EPIQ_DATA_BY_AUTO) {
        own.data_by = EPIQ_DATA_BY_IF; /* retraining does not change the order */
    }
    own.influential = own.sweep = 0;
    epiqp_request request = {.on_done = rank,
                             .user = &a,
                             .together = x.batch > 1, /* a pick says something about candidates like it */
                             .extra_bytes = epiqp_belief_bytes(data->n, candidates->count, x.batch - 1),
                             .extra_bytes_hint = "a smaller {--batch}"};
    s = epiqp_estimate(c, data, candidates, &own, &request, &estimate);
    epiqp_clear_cancel(c);
    if (s) return s;
    a.ranking->estimate = estimate;
    *out = a.ranking;
    return EPIQ_OK;
}

void epiq_ranking_free(epiq_ctx *c, epiq_ranking *r)
{
    epiq_result_free(c, r ? (epiq_result *)(uintptr_t)r->estimate : NULL); /* the ranking is in its memory */
}
