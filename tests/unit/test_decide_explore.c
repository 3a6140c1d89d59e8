/* epiq_explore: what is believed after a pick against rows literally appended and everything fitted again; the greedy
 * batch; which candidates come first and why; what is refused. */
#include "allocations.h"
#include "decide/explore.h"
#include "epiq_decide.h"
#include "epiq_details.h"
#include "made_result.h"
#include "study/explore_loop.h"
#include "test.h"
#include "usual.h"

#include <stdlib.h>

enum { N = 40, D = 3, POINTS = 25, PICKS = 4 };
static epiq_ctx *c;
static double X[(N + PICKS) * D], Y[N + PICKS], AT[POINTS * D];

static epiq_options usual(int engine)
{
    epiq_options o = usual_options();
    o.scale = EPIQ_SCALE_NONE;
    o.engine = engine;
    o.width = 64;
    o.members = 7;
    o.threads = 2;
    return o;
}

/* Rows of synthetic set 1; candidates partly outside them. */
static void begin(void)
{
    double y[POINTS];
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_synth(c, 1, N, D, 5, X, Y), EPIQ_OK);
    EQ(epiq_synth(c, 1, POINTS, D, 6, AT, y), EPIQ_OK);
    for (int i = 0; i < POINTS * D; i++) {
        AT[i] = 1.5 * AT[i] - 0.05;
    }
}

static void end(void)
{
    EQ(c->live_blocks, 0);
    epiq_ctx_free(c);
}

typedef struct {
    epiq_data *data;
    epiq_points *at;
} table;

static table table_of(ptrdiff_t n, const int64_t *group, ptrdiff_t points, const double *at, const epiq_options *o)
{
    table t = {0};
    EQ(epiq_data_new(c, n, D, X, Y, group, o, &t.data), EPIQ_OK);
    EQ(epiq_points_new(c, t.data, &t.at), EPIQ_OK);
    EQ(epiq_points_add_rows(c, t.at, points, at), EPIQ_OK);
    return t;
}

static void table_free(table t)
{
    epiq_points_free(c, t.at);
    epiq_data_free(c, t.data);
}

static epiq_ranking *explore(table t, const epiq_options *o, const epiq_exploration *ask)
{
    epiq_ranking *r;
    int s = epiq_explore(c, t.data, t.at, o, ask, &r);
    if (s) {
        TEST_FAIL("epiq_explore says %d: %s\n", s, epiq_message(c));
        exit(1);
    }
    return r;
}

/* The table with picked candidates appended, their value that predicted; the shift lambda n kept. */
static void append(const epiq_options *o, const ptrdiff_t *picked, const double *value, int count, epiq_options *with)
{
    for (int t = 0; t < count; t++) {
        memcpy(X + (N + t) * D, AT + picked[t] * D, D * sizeof *X);
        Y[N + t] = value[t];
    }
    *with = *o;
    with->lambda = o->lambda * N / (N + count);
}

/* ---- the beliefs against fitting again ---- */

/* V by its definition: groups of centred v, and what rowwise adds; appended rows are as predicted, without residual. */
static double variance_of(const epiqp_estimated *e, const double *used, const double *excess, const double *row)
{
    double mean = 0, sum[N] = {0}, v = 0;
    for (int i = 0; i < N; i++) {
        mean += used[i] * row[i] / N;
    }
    for (int i = 0; i < N; i++) {
        sum[e->problem->data->group[i]] += used[i] * row[i] - mean;
        v += excess ? row[i] * row[i] * excess[i] * e->found->influence.noise_unit * e->found->influence.noise_unit : 0;
    }
    for (int g = 0; g < e->problem->data->groups; g++) {
        v += sum[g] * sum[g];
    }
    return v;
}

/* Of moderated: with the smoothed noise of the rows, in the share it had before any pick. */
static double mixed_of(const epiqp_estimated *e, const double *row, double own, int p)
{
    double smooth = 0, share = e->found->influence.share ? e->found->influence.share[p] : 1;
    for (int i = 0; e->found->influence.share && i < N; i++) {
        smooth += row[i] * row[i] * e->found->influence.smoothed[i];
    }
    return share * own + (1 - share) * smooth;
}

static int beliefs_against_refits(const epiqp_estimated *e, void *user)
{
    (void)user;
    static const ptrdiff_t picked[PICKS] = {3, 17, 4, 3}; /* the last one once more: a second measurement */
    const double tol = 1e-8; /* the condition number of A is below 1e6, and differences of variances lose two digits */
    epiqp_belief b;
    EQ(epiqp_belief_new(e, PICKS, &b), EPIQ_OK);
    double value[PICKS], start[POINTS];
    for (int t = 0; t <= PICKS; t++) {
        epiq_options with;
        for (int k = 0; k < t; k++) {
            value[k] = e->found->prediction[picked[k]];
        }
        append(&e->problem->plan->ran, picked, value, t, &with);
        epiqp_fit f;
        EQ(epiqp_fit_new(&e->problem->e, &with, N + t, D, X, Y, POINTS, AT, &f), EPIQ_OK);
        EQ(epiqp_fit_solve(&e->problem->e, &f), EPIQ_OK);
        double tau2[POINTS], before_data = 0, after_data = 0;
        EQ(epiqp_infinite_variance(&e->problem->e, &f, f.ridge.c, tau2), EPIQ_OK);
        for (int p = 0; p < POINTS; p++) {
            const double *row = f.ridge.c + p * (N + t);
            double v = variance_of(e, e->found->influence.r_std, e->found->influence.noise_excess, row),
                   least = e->found->influence.noise_excess ? 0.5 * variance_of(e, e->found->influence.r_std, NULL, row)
                                                            : 0,
                   mixed = mixed_of(e, row, fmax(v, least), p);
            start[p] = t ? start[p] : mixed;
            CLOSE(epiqp_belief_data(&b, p),
                  e->found->influence.share ? epiqp_data_part(e->found, p).variance * mixed / start[p] : mixed, tol);
            if (!e->found->ev.h) {
                NEAR(epiqp_belief_procedural(&b, p), tau2[p], tol * e->found->closed[p].variance);
                NEAR(epiqp_dot(N + t, row, Y), e->found->prediction[p],
                     1e-9); /* observed as predicted: nothing moves */
            }
            before_data += epiqp_data_part(e->found, p).variance;
            after_data += epiqp_belief_data(&b, p);
        }
        if (t == 0) CLOSE(after_data, before_data, 1e-12);
        epiqp_fit_free(c, &f);
        if (t < PICKS) epiqp_belief_observe(&b, picked[t]);
    }
    return EPIQ_OK;
}

TEST(a_pick_is_a_row_appended)
{
    int64_t group[N];
    for (int i = 0; i < N; i++) {
        group[i] = i / 2;
    }
    begin();
    for (int way = 0; way < 8; way++) {
        epiq_options o = usual(way < 6 ? EPIQ_ENGINE_INFINITE : EPIQ_ENGINE_LINEAR);
        o.correction = way % EPIQ_CORRECTIONS;
        o.depth = way == 5 ? 2 : 1;
        o.methods = EPIQ_IF | EPIQ_EV;
        table t = table_of(N, way == 4 ? group : NULL, POINTS, AT, &o);
        epiq_result *r;
        EQ(epiqp_estimate(c, t.data, t.at, &o, &(epiqp_request){.on_done = beliefs_against_refits}, &r), EPIQ_OK);
        epiq_result_free(c, r);
        table_free(t);
    }
    end();
}

/* The batch, pick by pick, against epiq_estimate on the longer table: exact where training is linear. */
TEST(a_batch_is_what_estimates_on_the_longer_table_say)
{
    static const int ENGINES[] = {EPIQ_ENGINE_INFINITE, EPIQ_ENGINE_LINEAR};
    begin();
    for (int way = 0; way < 2; way++) {
        epiq_options o = usual(ENGINES[way]), with;
        epiq_exploration ask = {
            .size = sizeof(epiq_exploration), .rule = EPIQ_RULE_UCB, .kappa = 3, .batch = PICKS + 1};
        table t = table_of(N, NULL, POINTS, AT, &o);
        epiq_ranking *r = explore(t, &o, &ask);
        ptrdiff_t picked[PICKS + 1];
        double value[PICKS + 1];
        for (int k = 0; k <= PICKS; k++) {
            EQ(r->ranked[k]->pick, k + 1);
            picked[k] = r->ranked[k]->row - 1;
            value[k] = r->estimate->points[picked[k]]->prediction;
            append(&o, picked, value, k, &with);
            table longer = table_of(N + k, NULL, POINTS, AT, &with);
            epiq_result *again;
            with.methods = EPIQ_IF | EPIQ_EV;
            EQ(epiq_estimate(c, longer.data, longer.at, &with, &again), EPIQ_OK);
            const epiq_point *point = again->points[picked[k]];
            CLOSE(r->ranked[k]->procedural.variance, point->procedural.variance, 1e-8);
            NEAR(r->ranked[k]->prediction, point->prediction, 1e-9);
            epiq_result_free(c, again);
            table_free(longer);
        }
        epiq_ranking_free(c, r);
        table_free(t);
    }
    end();
}

/* ---- networks: not linear, so that what a pick does is expected only roughly ---- */

typedef struct {
    ptrdiff_t picked;
    double value, before[POINTS], expected[POINTS];
} foresight;

static int believe_pick(const epiqp_estimated *e, void *user)
{
    foresight *f = user;
    epiqp_belief b;
    EQ(epiqp_belief_new(e, 1, &b), EPIQ_OK);
    for (int p = 0; p < POINTS; p++) {
        f->before[p] = epiqp_belief_procedural(&b, p);
        f->picked = f->before[p] > f->before[f->picked] ? p : f->picked;
    }
    f->value = e->found->prediction[f->picked];
    epiqp_belief_observe(&b, f->picked);
    for (int p = 0; p < POINTS; p++) {
        f->expected[p] = epiqp_belief_procedural(&b, p);
    }
    return EPIQ_OK;
}

static double correlation(const double *a, const double *b, int count)
{
    double ma = epiqp_mean(a, count), mb = epiqp_mean(b, count), aa = 0, bb = 0, ab = 0;
    for (int i = 0; i < count; i++) {
        aa += (a[i] - ma) * (a[i] - ma);
        bb += (b[i] - mb) * (b[i] - mb);
        ab += (a[i] - ma) * (b[i] - mb);
    }
    return ab / sqrt(aa * bb);
}

/* What a pick takes off the data part of its twin is 1 - (1-g)^2 whatever the weights of the targets are, and g is the kernel's: the
 * same with targets centred (W of docs/method.md) and with the rows standardised by hand. */
TEST(a_pick_knows_of_the_targets_mean)
{
    begin();
    for (int k = 0; k <= D; k++) {
        double mean = 0, square = 0;
        for (int i = 0; i < N; i++) {
            mean += (k < D ? X[i * D + k] : Y[i]) / N;
        }
        for (int i = 0; i < N; i++) {
            double *v = k < D ? &X[i * D + k] : &Y[i];
            *v -= mean;
            square += *v * *v / N;
        }
        for (int i = 0; i < N; i++) {
            *(k < D ? &X[i * D + k] : &Y[i]) /= sqrt(square);
        }
    }
    const double twins[2 * D] = {0.5, -1, 0.3, 0.5, -1, 0.3};
    double left[2], first[2];
    for (int scale = 0; scale < 2; scale++) {
        epiq_options o = usual(EPIQ_ENGINE_INFINITE);
        o.scale = scale ? EPIQ_SCALE_STANDARD : EPIQ_SCALE_NONE;
        o.correction = EPIQ_CORRECTION_NONE;
        o.lambda = 1;
        epiq_exploration ask = epiq_exploration_default();
        ask.batch = 2;
        table t = table_of(N, NULL, 2, twins, &o);
        epiq_ranking *r = explore(t, &o, &ask);
        first[scale] = r->ranked[0]->data.variance;
        left[scale] = r->ranked[1]->data.variance / first[scale];
        epiq_ranking_free(c, r);
        table_free(t);
    }
    TRUE(first[1] > 1.05 * first[0]); /* the mean's chance */
    CLOSE(left[1], left[0], 1e-9);
    end();
}

TEST(networks_change_much_as_expected)
{
    begin();
    foresight f = {0};
    epiq_options o = usual(EPIQ_ENGINE_NETWORK), with;
    o.width = 512;
    o.members = 16;
    o.methods = EPIQ_IF | EPIQ_EV;
    table t = table_of(N, NULL, POINTS, AT, &o);
    epiq_result *r, *again;
    EQ(epiqp_estimate(c, t.data, t.at, &o, &(epiqp_request){.on_done = believe_pick, .user = &f}, &r), EPIQ_OK);
    append(&o, &f.picked, &f.value, 1, &with);
    table longer = table_of(N + 1, NULL, POINTS, AT, &with); /* the same starts, trained again */
    EQ(epiq_estimate(c, longer.data, longer.at, &with, &again), EPIQ_OK);
    double found[POINTS], by[POINTS], by_expected[POINTS];
    for (int p = 0; p < POINTS; p++) {
        found[p] = again->points[p]->procedural.variance;
        by[p] = f.before[p] - found[p];
        by_expected[p] = f.before[p] - f.expected[p];
    }
    /* measured 0.97 and 0.996, and 0.22 and 0.11 below; a member in ten ends in another minimum */
    TRUE(correlation(found, f.expected, POINTS) > 0.8);
    TRUE(correlation(by, by_expected, POINTS) > 0.8);
    TRUE(found[f.picked] < 0.6 * f.before[f.picked] && f.expected[f.picked] < 0.6 * f.before[f.picked]);
    epiq_result_free(c, r);
    epiq_result_free(c, again);
    table_free(longer);
    table_free(t);
    end();
}

/* ---- the batch ---- */

TEST(doubled_candidates_are_not_both_picked)
{
    enum { HALF = 20 };
    double twice[2 * HALF * D];
    begin();
    for (int i = 0; i < 2 * HALF; i++) {
        memcpy(twice + i * D, AT + i / 2 * D, D * sizeof *twice);
    }
    for (int engine = EPIQ_ENGINE_LINEAR; engine <= EPIQ_ENGINE_INFINITE; engine++) {
        for (int rule = EPIQ_RULE_UCB; rule <= EPIQ_RULE_TOTAL; rule++) {
            epiq_options o = usual(engine);
            o.scale = EPIQ_SCALE_STANDARD; /* unscaled, the rows are so close that repeating the outermost is best */
            epiq_exploration ask = {.size = sizeof(epiq_exploration), .rule = rule, .kappa = 10, .batch = HALF / 2};
            table t = table_of(N, NULL, 2 * HALF, twice, &o);
            epiq_ranking *r = explore(t, &o, &ask);
            int seen[HALF] = {0};
            for (int k = 0; k < ask.batch; k++) {
                TRUE(!seen[(r->ranked[k]->row - 1) / 2]++);
            }
            epiq_ranking_free(c, r);
            table_free(t);
        }
    }
    end();
}

TEST(the_ranking_is_whole_and_in_order)
{
    begin();
    for (int rule = EPIQ_RULE_UCB; rule <= EPIQ_RULE_TOTAL; rule++) {
        epiq_options o = usual(EPIQ_ENGINE_INFINITE);
        o.ensemble_size = 3;
        epiq_exploration ask = {
            .size = sizeof(epiq_exploration), .rule = rule, .goal = EPIQ_GOAL_MIN, .kappa = 1.5, .batch = 3};
        table t = table_of(N, NULL, POINTS, AT, &o);
        epiq_ranking *r = explore(t, &o, &ask);
        int seen[POINTS] = {0};
        EQ(r->count, POINTS);
        for (int k = 0; k < POINTS; k++) {
            const epiq_candidate *k1 = r->ranked[k];
            TRUE(k1->known && !seen[k1->row - 1]++);
            EQ(k1->pick, k < 3 ? k + 1 : 0);
            double total = k1->data.variance + k1->procedural.variance / 3;
            CLOSE(k1->score,
                  rule == EPIQ_RULE_UCB    ? 1.5 * sqrt(total) - k1->prediction
                  : rule == EPIQ_RULE_DATA ? k1->data.variance
                                           : total,
                  1e-12);
            TRUE(k < 4 || k1->score <= r->ranked[k - 1]->score);
            const epiq_point *point = r->estimate->points[k1->row - 1];
            if (k == 0 || k >= 3) { /* as before any pick */
                CLOSE(k1->data.variance, point->data.variance, 1e-12);
                CLOSE(k1->procedural.variance, point->procedural.variance, 1e-12);
            } else {
                TRUE(k1->data.variance < point->data.variance);
            }
        }
        SENTENCE_ROUGHLY(r->reason);
        epiq_ranking_free(c, r);
        table_free(t);
    }
    end();
}

/* Small values of y are large values of -y. */
TEST(the_minimum_is_the_maximum_upside_down)
{
    begin();
    epiq_options o = usual(EPIQ_ENGINE_INFINITE);
    epiq_exploration ask = epiq_exploration_default();
    ptrdiff_t rows[2][POINTS];
    ask.batch = 5;
    for (int way = 0; way < 2; way++) {
        ask.goal = way ? EPIQ_GOAL_MIN : EPIQ_GOAL_MAX;
        table t = table_of(N, NULL, POINTS, AT, &o);
        epiq_ranking *r = explore(t, &o, &ask);
        for (int k = 0; k < POINTS; k++) {
            rows[way][k] = r->ranked[k]->row;
        }
        epiq_ranking_free(c, r);
        table_free(t);
        for (int i = 0; i < N; i++) {
            Y[i] = -Y[i];
        }
    }
    for (int k = 0; k < POINTS; k++) {
        EQ(rows[1][k], rows[0][k]);
    }
    end();
}

/* With an interval of the expected prediction its end is the score, whatever gives it; a pick makes the intervals near it narrower. */
TEST(an_interval_of_the_expected_prediction_scores)
{
    begin();
    static const struct {
        int engine, confidence;
        ptrdiff_t budget, networks;
    } WAYS[] = {{EPIQ_ENGINE_INFINITE, EPIQ_CONFIDENCE_RETRAIN, 0, 0},
                {EPIQ_ENGINE_LINEAR, EPIQ_CONFIDENCE_BOOTSTRAP, 0, 16},
                {EPIQ_ENGINE_NETWORK, EPIQ_CONFIDENCE_NONE, 6, 6},
                {EPIQ_ENGINE_NETWORK, EPIQ_CONFIDENCE_NONE, 4, 4}};
    for (int way = 0; way < 4; way++) {
        for (int goal = 0; goal < 2; goal++) {
            epiq_options o = usual(WAYS[way].engine);
            o.confidence = WAYS[way].confidence;
            o.budget_networks = WAYS[way].budget;
            o.members = 8;
            o.resamples = 8;
            o.width = 32;
            epiq_exploration ask = epiq_exploration_default();
            ask.goal = goal;
            ask.batch = WAYS[way].budget == 4 ? 1 : 3; /* batches alone do not tell both parts */
            table t = table_of(N, NULL, POINTS, AT, &o);
            epiq_ranking *r = NULL;
            EQ(epiq_explore(c, t.data, t.at, &o, &ask, &r), EPIQ_OK);
            EQ(r->count, POINTS);
            for (ptrdiff_t i = 0; i < r->count; i++) {
                const epiq_candidate *k = r->ranked[i];
                const epiq_confidence *now = &k->confidence, *first = &r->estimate->points[k->row - 1]->confidence;
                EQ(k->known, 1);
                EQ(now->networks, WAYS[way].networks);
                CLOSE(k->score, goal == EPIQ_GOAL_MIN ? -now->lo : now->hi, 0);
                CLOSE(now->centre, first->centre, 0);
                if (k->pick > 1) {
                    const double V[] = {first->hi - first->lo, now->hi - now->lo};
                    TRUE(V[1] < V[0]);
                    CLOSE(now->variance / first->variance, V[1] / V[0] * (V[1] / V[0]), 1e-12);
                } else {
                    CLOSE(now->hi, first->hi, 0);
                }
                TRUE(i <= ask.batch || k->score <= r->ranked[i - 1]->score);
            }
            epiq_ranking_free(c, r);
            table_free(t);
        }
    }
    end();
}

TEST(an_interval_must_be_there_to_score)
{
    begin();
    epiq_options o = usual(EPIQ_ENGINE_NETWORK);
    o.budget_networks = 4;
    o.width = 32;
    epiq_exploration ask = epiq_exploration_default();
    ask.batch = 3;
    table t = table_of(N, NULL, POINTS, AT, &o);
    epiq_ranking *r = NULL;
    EQ(epiq_explore(c, t.data, t.at, &o, &ask, &r), EPIQ_E_USAGE);
    SAYS_ROUGHLY(epiq_message(c), "both parts");
    ask.rule = EPIQ_RULE_DATA;
    EQ(epiq_explore(c, t.data, t.at, &o, &ask, &r), EPIQ_E_USAGE);
    SAYS_ROUGHLY(epiq_message(c), "confidence");
    table_free(t);
    end();
}

TEST(threads_change_no_bit)
{
    begin();
    for (int engine = EPIQ_ENGINE_NETWORK; engine <= EPIQ_ENGINE_INFINITE; engine++) {
        epiq_exploration ask = {.size = sizeof(epiq_exploration), .rule = EPIQ_RULE_UCB, .kappa = 2, .batch = 6};
        epiq_candidate kept[POINTS];
        for (int threads = 1; threads <= 3; threads++) {
            epiq_options o = usual(engine);
            o.threads = threads;
            table t = table_of(N, NULL, POINTS, AT, &o);
            epiq_ranking *r = explore(t, &o, &ask);
            for (int k = 0; k < POINTS; k++) {
                if (threads > 1) {
                    EQ(r->ranked[k]->row, kept[k].row);
                    TRUE(r->ranked[k]->score == kept[k].score);
                    TRUE(r->ranked[k]->data.variance == kept[k].data.variance);
                }
                kept[k] = *r->ranked[k];
            }
            epiq_ranking_free(c, r);
            table_free(t);
        }
    }
    end();
}

TEST(nothing_is_trained_that_no_score_needs)
{
    begin();
    epiq_options o = usual(EPIQ_ENGINE_NETWORK);
    epiq_exploration ask = {.size = sizeof(epiq_exploration), .rule = EPIQ_RULE_DATA, .batch = 2};
    table t = table_of(N, NULL, POINTS, AT, &o);
    epiq_ranking *r = explore(t, &o, &ask);
    EQ(r->estimate->training->members, 0);
    TRUE(!r->ranked[0]->procedural.known && r->ranked[0]->data.known);
    epiq_ranking_free(c, r);
    o.hbar = EPIQ_HBAR_ENSEMBLE; /* its residuals are the members' */
    r = explore(t, &o, &ask);
    EQ(r->estimate->training->members, 7);
    epiq_ranking_free(c, r);
    table_free(t);
    end();
}

/* ---- what is refused ---- */

TEST(what_cannot_be_is_refused)
{
    begin();
    const epiq_options o = usual(EPIQ_ENGINE_INFINITE);
    epiq_options stopped = o, empirical = o, other = o;
    stopped.time = 5;
    empirical.kernel = EPIQ_KERNEL_EMPIRICAL;
    other.members = 1;
    const struct {
        const epiq_options *o;
        epiq_exploration ask;
        int status;
        const char *part;
    } cases[] = {
        {&o, {sizeof(epiq_exploration), EPIQ_RULE_UCB, EPIQ_GOAL_MAX, -1, 1}, EPIQ_E_USAGE, "kappa"},
        {&o, {sizeof(epiq_exploration), EPIQ_RULE_UCB, EPIQ_GOAL_MAX, NAN, 1}, EPIQ_E_USAGE, "kappa"},
        {&o, {sizeof(epiq_exploration), EPIQ_RULE_UCB, EPIQ_GOAL_MAX, 2, 0}, EPIQ_E_USAGE, "batch"},
        {&o, {sizeof(epiq_exploration), EPIQ_RULE_UCB, EPIQ_GOAL_MAX, 2, POINTS + 1}, EPIQ_E_DATA, "26"},
        {&o, {sizeof(epiq_exploration), 9, EPIQ_GOAL_MAX, 2, 1}, EPIQ_E_USAGE, "rule"},
        {&o, {sizeof(epiq_exploration), EPIQ_RULE_UCB, 9, 2, 1}, EPIQ_E_USAGE, "goal"},
        {&stopped, {sizeof(epiq_exploration), EPIQ_RULE_UCB, EPIQ_GOAL_MAX, 2, 2}, EPIQ_E_USAGE, "time"},
        {&empirical, {sizeof(epiq_exploration), EPIQ_RULE_UCB, EPIQ_GOAL_MAX, 2, 2}, EPIQ_E_USAGE, "kernel empirical"},
        {&other, {sizeof(epiq_exploration), EPIQ_RULE_UCB, EPIQ_GOAL_MAX, 2, 1}, EPIQ_E_USAGE, "members"},
        {&stopped, {sizeof(epiq_exploration), EPIQ_RULE_UCB, EPIQ_GOAL_MAX, 2, 1}, EPIQ_OK, NULL},
        {&empirical, {sizeof(epiq_exploration), EPIQ_RULE_UCB, EPIQ_GOAL_MAX, 2, 1}, EPIQ_OK, NULL},
    };
    table t = table_of(N, NULL, POINTS, AT, &o);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        epiq_ranking *r;
        EQ(epiq_explore(c, t.data, t.at, cases[k].o, &cases[k].ask, &r), cases[k].status);
        SAYS_ROUGHLY(epiq_message(c), cases[k].part);
        EQ(r == NULL, cases[k].status != EPIQ_OK);
        epiq_ranking_free(c, r);
    }
    epiq_points *none;
    epiq_ranking *r;
    EQ(epiq_points_new(c, t.data, &none), EPIQ_OK);
    EQ(epiq_explore(c, t.data, none, &o, &cases[0].ask, &r), EPIQ_E_USAGE);
    epiq_exploration one = epiq_exploration_default();
    EQ(epiq_explore(c, t.data, none, &o, &one, &r), EPIQ_E_DATA);
    SENTENCE_ROUGHLY(epiq_message(c));
    epiq_points_free(c, none);
    table_free(t);
    end();
}

/* What picking takes is added to what the estimate takes. */
TEST(too_large_a_batch_is_refused_before_any_work)
{
    enum { MANY = 300000 };
    begin();
    epiq_options o = usual(EPIQ_ENGINE_INFINITE);
    double *many = calloc(MANY * D, sizeof *many);
    epiq_exploration ask = {
        .size = sizeof(epiq_exploration), .rule = EPIQ_RULE_UCB, .kappa = 2, .batch = MANY}; /* 3.6 TB */
    table t = table_of(N, NULL, MANY, many, &o);
    epiq_ranking *r;
    EQ(epiq_explore(c, t.data, t.at, &o, &ask, &r), EPIQ_E_NOMEM);
    SAYS_ROUGHLY(epiq_message(c), "300000 points");
    CONTAINS(epiq_message(c), "batch");
    table_free(t);
    free(many);
    t = table_of(N, NULL, POINTS, AT, &o);
    epiq_result *alone;
    epiqp_request all = {.extra_bytes = epiqp_memory() - 1, .extra_bytes_hint = "less"};
    epiqp_clear(c);
    EQ(epiqp_estimate(c, t.data, t.at, &o, &all, &alone), EPIQ_E_NOMEM);
    SENTENCE_ROUGHLY(epiq_message(c));
    table_free(t);
    end();
}

/* No interval of a new observation is shown, so none is missed. */
TEST(few_rows_are_enough)
{
    begin();
    epiq_options o = usual(EPIQ_ENGINE_INFINITE);
    epiq_exploration ask = epiq_exploration_default();
    table t = table_of(18, NULL, 1, X, &o);
    epiq_ranking *r = explore(t, &o, &ask);
    EQ(r->estimate->warning_count, 0);
    epiq_ranking_free(c, r);
    table_free(t);
    end();
}

TEST(every_allocation_may_fail)
{
    begin();
    epiq_options o = usual(EPIQ_ENGINE_INFINITE);
    o.threads = 1;
    epiq_exploration ask = {.size = sizeof(epiq_exploration), .rule = EPIQ_RULE_UCB, .kappa = 2, .batch = 3};
    table t = table_of(N, NULL, POINTS, AT, &o);
    epiq_ranking *r = NULL;
    FAIL_EACH(c, epiq_explore(c, t.data, t.at, &o, &ask, &r), r == NULL, 26);
    epiq_ranking_free(c, r);
    table_free(t);
    end();
}

/* ---- closed loops ---- */

TEST(functions_are_largest_where_they_say)
{
    const loop_function *f;
    begin();
    for (ptrdiff_t k = 0; (f = loop_function_list(k)); k++) {
        enum { TRIES = 200000 };
        double *x = malloc(TRIES * 6 * sizeof *x), *y = malloc(TRIES * sizeof *y), most = -INFINITY;
        EQ(epiq_synth(c, 1, TRIES, f->d, 3, x, y), EPIQ_OK);
        for (ptrdiff_t i = 0; i < TRIES * f->d; i++) {
            x[i] *= 5;
        }
        for (ptrdiff_t i = 0; i < TRIES; i++) {
            most = fmax(most, f->at(x + i * f->d));
        }
        TRUE(most <= f->best && most > f->best - 0.15); /* in six dimensions the nearest try is some 0.1 away */
        free(x);
        free(y);
    }
    end();
}

TEST(rules_have_names)
{
    STR(epiq_rule_text(EPIQ_RULE_UCB), "ucb");
    STR(epiq_rule_text(EPIQ_RULE_DATA), "data");
    STR(epiq_rule_text(EPIQ_RULE_TOTAL), "total");
    STR(epiq_rule_text(9), "unknown");
    STR(loop_contender_name(LOOP_RULE, &(epiq_exploration){.size = sizeof(epiq_exploration), .rule = EPIQ_RULE_DATA}),
        "rule data");
}

/* An unknown variance is not 0: with that the second point, of the largest prediction, would come first. */
TEST(the_plain_ensemble_passes_over_what_it_does_not_know)
{
    epiq_point points[4] = {{.prediction = 1, .procedural = {.known = 1, .variance = 1}},
                            {.prediction = 9},
                            {.prediction = -5, .procedural = {.known = 1, .variance = 4}},
                            {.prediction = 2}};
    static made_result m;
    make_result(&m, points, 4);
    epiq_exploration ask = {.size = sizeof(epiq_exploration), .rule = EPIQ_RULE_UCB, .kappa = 1, .batch = 2};
    ptrdiff_t chosen[3];
    TRUE(loop_choose_plain(&ask, &m.r, chosen));
    EQ(chosen[0], 0);
    EQ(chosen[1], 2);
    ask.rule = EPIQ_RULE_TOTAL;
    TRUE(loop_choose_plain(&ask, &m.r, chosen));
    EQ(chosen[0], 2);
    EQ(chosen[1], 0);
    ask.batch = 3;
    TRUE(!loop_choose_plain(&ask, &m.r, chosen));
}

static loop_result *loop(loop_job *job, ptrdiff_t seeds, int threads)
{
    epiq_ctx *workers[2] = {c, NULL};
    loop_result *r;
    *job = (loop_job){.function = loop_function_list(0),
                      .steps = 4,
                      .seeds = seeds,
                      .start = 6,
                      .candidates = 20,
                      .noise = 0.1,
                      .ask = epiq_exploration_default(),
                      .options = usual_options(),
                      .crew = {.workers = workers, .threads = threads}};
    job->options.engine = EPIQ_ENGINE_INFINITE;
    EQ(epiq_ctx_new(&workers[1]), EPIQ_OK);
    EQ(loop_run(job, &r), EPIQ_OK);
    epiq_ctx_free(workers[1]);
    return r;
}

/* Two seeds give their mean and, by t of one degree of freedom, their difference; the third follows from the mean of
 * three; then the interval of three must be that of t with two. Both t from a table. */
TEST(intervals_over_seeds_are_students)
{
    loop_job two, three;
    begin();
    loop_result *a = loop(&two, 2, 2), *b = loop(&three, 3, 1);
    for (int k = LOOP_RANDOM; k < LOOP_CONTENDERS; k++) { /* differences: nothing is cut off at 0 */
        loop_number p = a->less[LOOP_CUMULATIVE][k], q = b->less[LOOP_CUMULATIVE][k];
        double half = (p.hi - p.lo) / 2 / 12.7062047, v[] = {p.mean - half, p.mean + half, 3 * q.mean - 2 * p.mean};
        CLOSE((q.hi - q.lo) / 2, 4.30265273 * sqrt(epiqp_variance(v, 3) / 3), 1e-6);
    }
    for (ptrdiff_t t = 1; t < b->points; t++) {
        for (int k = 0; k < LOOP_CONTENDERS; k++) {
            TRUE(b->regret[LOOP_SIMPLE][k][t].mean <= b->regret[LOOP_SIMPLE][k][t - 1].mean);
            TRUE(b->regret[LOOP_CUMULATIVE][k][t].mean >= b->regret[LOOP_CUMULATIVE][k][t - 1].mean);
        }
    }
    SENTENCE_ROUGHLY(b->verdict);
    loop_result_free(a);
    loop_result_free(b);
    end();
}
