/* epiq_plan: the purchase against brute force over whole numbers and against the closed form without them; its interval
 * and its confidence against simulated estimates; the mean over points; what it refuses. */
#include "allocations.h"
#include "decide/decide.h"
#include "epiq_decide.h"
#include "infinite_by_hand.h"
#include "made_result.h"
#include "rng/rng.h"
#include "test.h"
#include "usual.h"

#include <float.h>
#include <stdlib.h>

static epiq_ctx *c;
static epiq_data *data;
static epiq_plan *plan;

enum { N = 40 };

static void done(void)
{
    epiq_plan_free(c, plan);
    epiq_data_free(c, data);
    if (c) EQ(c->live_blocks, 0);
    epiq_ctx_free(c);
    c = NULL, data = NULL, plan = NULL;
}

static void start(void)
{
    double x[N], y[N];
    epiq_options o = usual_options();
    for (int i = 0; i < N; i++) {
        x[i] = i;
        y[i] = i % 7;
    }
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_data_new(c, N, 1, x, y, NULL, &o, &data), EPIQ_OK);
}

static epiq_point point_of(double data_variance, double data_df, double procedural, double procedural_df)
{
    return (epiq_point){.at = "made up",
                        .data = epiq_part_of(data_variance, data_df, 0.95, EPIQ_BY_IF),
                        .procedural = epiq_part_of(procedural, procedural_df, 0.95, EPIQ_BY_EV),
                        .corrected = &NOT_CORRECTED};
}

static int plan_for(ptrdiff_t points, const epiq_point *list, ptrdiff_t ensemble, const epiq_plan_request *e)
{
    static made_result m;
    make_result(&m, list, points);
    m.ran.ensemble_size = ensemble;
    epiq_plan_free(c, plan);
    return epiq_plan_new(c, data, NULL, NULL, &m.r, e, &plan);
}

/* ---- networks without their starts ---- */

/* As many shifted networks as have the retraining variance of the ensemble there is; of plain networks alone. */
TEST(shifted_networks_save_trainings)
{
    epiq_options o = usual_options();
    const epiq_plan_request e = {sizeof e, 1, 1, EPIQ_PLAN_BUDGET, 5, 0.95};
    start();
    o.width = 32;
    o.lambda = 0.01;
    o.methods = EPIQ_IF | EPIQ_EV;
    o.data_by = EPIQ_DATA_BY_IF;
    o.fold_members = 0;
    o.members = 12;
    for (int k = 0; k < 3; k++) {
        epiq_points *at = NULL;
        epiq_result *r = NULL;
        o.engine = k == 1 ? EPIQ_ENGINE_INFINITE : EPIQ_ENGINE_NETWORK;
        o.predictor = k == 2 ? EPIQ_PREDICTOR_SHIFTED : EPIQ_PREDICTOR_ENSEMBLE;
        EQ(epiq_points_new(c, data, &at), EPIQ_OK);
        EQ(epiq_points_add(c, at, "mean"), EPIQ_OK);
        EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_OK);
        epiq_plan_free(c, plan);
        EQ(epiq_plan_new(c, data, at, &o, r, &e, &plan), EPIQ_OK);
        const epiq_corrected_plan *got = plan->corrected;
        EQ(got->known, k == 0);
        if (k == 0) {
            TRUE(got->left > 0 && got->text);
            EQ(got->networks, got->left * 12 <= 1 ? 1 : (ptrdiff_t)ceil(got->left * 12));
            EQ(got->saved, got->networks < 12 ? 12 - got->networks : 0);
            TRUE(got->left < 0.5); /* the start of a network of width 32 is most of what it differs by */
        }
        epiq_result_free(c, r);
        epiq_points_free(c, at);
    }
    done();
}

/* ---- whole numbers ---- */

static double draw(uint64_t stream, int index)
{
    double u[16];
    epiqp_uniforms((epiqp_stream){11, 99, stream}, 16, u);
    return u[index];
}

static epiqp_market market_with(double n, double m, double price_row, double price_training, double sigma2, double tau2)
{
    return (epiqp_market){n, m, price_row, price_training, sigma2 / n, tau2, 1, 0, 0};
}

static double variance_at(const epiqp_market *k, double n, double m)
{
    return k->data * pow(k->n / n, k->a) + k->tau2 * pow(k->n / n, k->b) / m;
}

/* Prices and parts over several orders of magnitude; every second price a small whole number, so that costs tie. Parts
 * fall as 1/n and not at all, or with any exponents, those at the ends among them. */
static epiqp_market market_of(uint64_t k)
{
    bool whole = k % 2, any = k / 2 % 2;
    double n = 1 + floor(12 * draw(k, 0));
    return (epiqp_market){
        .n = n,
        .m = 1 + floor(5 * draw(k, 1)),
        .price_row = whole ? 1 + floor(5 * draw(k, 2)) : exp(6 * draw(k, 2) - 3),
        .price_training = whole ? 1 + floor(5 * draw(k, 3)) : exp(6 * draw(k, 3) - 3),
        .data = k % 17 == 5 ? 0 : exp(6 * draw(k, 4) - 3) / n,
        .tau2 = k % 19 == 7 ? 0 : exp(6 * draw(k, 5) - 3),
        .a = !any ? 1 : fmin(fmax(1.3 * draw(k, 9) - 0.1, 0), 1),
        .b = !any ? 0 : fmin(fmax(1.3 * draw(k, 10) - 0.2, 0), 1),
    };
}

enum { BRUTE = 220 }; /* rows and networks tried one by one */

static double cost_at(const epiqp_market *k, int n, int m)
{
    return n == (int)k->n ? k->price_training * (m - k->m) : k->price_row * (n - k->n) + k->price_training * m;
}

TEST(cheapest_mix_is_that_of_brute_force)
{
    int compared = 0;
    for (uint64_t i = 0; i < 3000; i++) {
        epiqp_market k = market_of(i);
        epiqp_purchase got = {0};
        double now = epiqp_buy_nothing(&k).variance, goal = now * (0.02 + 1.1 * draw(i, 6)), least = INFINITY;
        if (!(now > 0)) continue;
        if (!epiqp_cheapest(&k, goal, &got)) {
            TRUE(variance_at(&k, 1e9, 1e9) > goal); /* with small exponents it may be out of reach */
            continue;
        }
        for (int n = (int)k.n; n <= BRUTE; n++) {
            for (int m = n == (int)k.n ? (int)k.m : 1; m <= BRUTE; m++) {
                if (variance_at(&k, n, m) <= goal) {
                    least = fmin(least, cost_at(&k, n, m));
                    break;
                }
            }
        }
        TRUE(variance_at(&k, got.n, got.m) <= goal * (1 + 16 * DBL_EPSILON));
        TRUE(got.n == floor(got.n) && got.m == floor(got.m) && got.n >= k.n && got.m >= 1);
        bool small = got.n <= 1e6 && got.m <= 1e6;
        NEAR(got.cost, small ? cost_at(&k, (int)got.n, (int)got.m) : got.cost,
             1e-12 * (1 + got.cost)); /* the order of two sums */
        NEAR(got.variance, variance_at(&k, got.n, got.m), 1e-14 * got.variance);
        if (got.n <= BRUTE && got.m <= BRUTE) {
            NEAR(got.cost, least, 1e-12 * (1 + least));
            compared++;
        } else {
            TRUE(got.cost <= least * (1 + 1e-12));
        }
    }
    TRUE(compared > 1800); /* the others end beyond what is tried one by one */
}

TEST(best_use_of_a_budget_is_that_of_brute_force)
{
    for (uint64_t i = 0; i < 3000; i++) {
        epiqp_market k = market_of(i);
        double budget = (k.price_row + k.price_training) * 60 * draw(i, 7) * draw(i, 8);
        epiqp_purchase got = epiqp_best(&k, budget);
        double least = INFINITY;
        bool inside = got.n <= BRUTE && got.m <= BRUTE;
        for (int n = (int)k.n; n <= BRUTE; n++) {
            for (int m = n == (int)k.n ? (int)k.m : 1; m <= BRUTE; m++) {
                least = cost_at(&k, n, m) <= budget ? fmin(least, variance_at(&k, n, m)) : least;
            }
        }
        TRUE(got.cost <= budget);
        NEAR(got.variance, variance_at(&k, got.n, got.m), 1e-14 * got.variance);
        TRUE(inside ? fabs(got.variance - least) <= 1e-13 * least : got.variance <= least);
        TRUE(got.variance < epiqp_buy_nothing(&k).variance || got.cost == 0);
    }
}

/* With a limit to the networks: never more, and the best of those within it. */
TEST(no_plan_has_more_networks_than_it_may)
{
    int limited = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        epiqp_market k = market_of(i);
        k.most = k.m + floor(6 * draw(i, 11));
        double now = epiqp_buy_nothing(&k).variance, goal = now * (0.1 + 0.9 * draw(i, 6)), least = INFINITY,
               budget = (k.price_row + k.price_training) * 60 * draw(i, 7) * draw(i, 8), lowest = INFINITY;
        epiqp_purchase got = {0}, best = epiqp_best(&k, budget);
        const bool found = now > 0 && epiqp_cheapest(&k, goal, &got);
        TRUE(!found || got.m <= k.most);
        TRUE(best.m <= k.most);
        for (int n = (int)k.n; n <= BRUTE; n++) {
            for (int m = n == (int)k.n ? (int)k.m : 1; m <= (int)k.most; m++) {
                if (variance_at(&k, n, m) <= goal) least = fmin(least, cost_at(&k, n, m));
                if (cost_at(&k, n, m) <= budget) lowest = fmin(lowest, variance_at(&k, n, m));
            }
        }
        if (found && got.n <= BRUTE) {
            NEAR(got.cost, least, 1e-12 * (1 + least));
            limited += got.m == k.most;
        }
        if (best.n <= BRUTE) NEAR(best.variance, lowest, 1e-13 * lowest);
        TRUE(found || !(least < INFINITY) || !(now > 0));
    }
    TRUE(limited > 100);
}

/* Without whole numbers: n' = (s + t) sqrt(sigma^2/A)/V and so on, the cost (s + t)^2/V - A n with s = sqrt(A sigma^2),
 * t = sqrt(B tau^2). Rounding both up costs at most A + B. */
TEST(large_mixes_lie_beside_the_closed_form)
{
    const double prices[] = {1e-6, 1e-3, 1, 1e3, 1e6};
    for (int a = 0; a < 5; a++) {
        for (int b = 0; b < 5; b++) {
            epiqp_market k = market_with(500, 5, prices[a], prices[b], 140, 5);
            const double sigma2 = 140;
            for (double goal = 0.1; goal > 1e-5; goal /= 3) {
                epiqp_purchase got = {0};
                double s = sqrt(k.price_row * sigma2), t = sqrt(k.price_training * k.tau2),
                       n = (s + t) * sqrt(sigma2 / k.price_row) / goal,
                       m = (s + t) * sqrt(k.tau2 / k.price_training) / goal,
                       cost = (s + t) * (s + t) / goal - k.price_row * k.n;
                TRUE(epiqp_cheapest(&k, goal, &got));
                if (n < k.n + 1 || m < 1 || got.n == k.n || n > 1e9 || m > 1e9) {
                    continue; /* a corner */
                }
                double rounding = 1e-12 * (cost + k.price_row * k.n);
                TRUE(got.cost >= cost - rounding);
                TRUE(got.cost <= cost + k.price_row + k.price_training + rounding);
                /* as much money buys no less: the two questions are one */
                epiqp_purchase back = epiqp_best(&k, got.cost);
                TRUE(back.variance <= got.variance);
                TRUE(back.cost <= got.cost);
            }
        }
    }
}

TEST(what_no_mix_reaches_is_said)
{
    epiqp_market k = market_with(500, 5, 1, 1, 140, 5);
    epiqp_purchase got;
    TRUE(!epiqp_cheapest(&k, 1e-10, &got));
    TRUE(epiqp_cheapest(&k, 145e-9 * (1 + 1e-12), &got)); /* 1e9 of both */
    NEAR(got.n, 1e9, 0);
    NEAR(got.m, 1e9, 0);
    got = epiqp_best(&k, 1e300);
    NEAR(got.n, 1e9, 0);
    NEAR(got.m, 1e9, 0);
    start();
    epiq_point p = point_of(0.28, 40, 5, 9);
    epiq_plan_request e = {sizeof(epiq_plan_request), 1, 1, EPIQ_PLAN_GOAL, 1e-12, 0.95};
    EQ(plan_for(1, &p, 5, &e), EPIQ_E_DATA);
    SAYS(epiq_message(c), "0.316"); /* the root of 5/50: ten times the five networks there are, and rows without end */
    TRUE(!plan);
    e.amount = 0.03; /* 5/400 of the networks leave 0.0175 to the rows: 16 times those there are, a hope and no plan */
    EQ(plan_for(1, &p, 40, &e), EPIQ_OK);
    TRUE(!plan->likely && plan->best->rows > 10 * N);
    SAYS(plan->text, "None");
    SENTENCE(plan->notice);
    e = (epiq_plan_request){sizeof(epiq_plan_request), 1, 1, EPIQ_PLAN_BUDGET, 1e6, 0.95};
    EQ(plan_for(1, &p, 40, &e), EPIQ_OK); /* who has the money may spend it */
    TRUE(plan->best->new_rows > 0);
    SAYS(plan->notice, "times the rows there are");
    done();
}

/* ---- the plan ---- */

TEST(a_plan_tells_what_it_rests_on)
{
    start();
    epiq_point p = point_of(0.28, 40, 5, 9);
    epiq_plan_request e = {sizeof(epiq_plan_request), 2, 0.5, EPIQ_PLAN_GOAL, 0.3, 0.95};
    EQ(plan_for(1, &p, 40, &e), EPIQ_OK);
    CLOSE(plan->now->variance.variance, 0.28 + 5 / 40.0, 1e-15);
    EQ(plan->now->rows, N);
    EQ(plan->now->members, 40);
    TRUE(plan->now->cost == 0);
    const epiq_plan_step *b = plan->best;
    TRUE(b->variance.variance <= 0.3 && b->variance.has_interval && b->variance.method == EPIQ_BY_IF_EV);
    EQ(b->rows, N + b->new_rows);
    EQ(b->trainings, b->new_rows ? b->members : b->members - 40);
    CLOSE(b->cost, 2 * (double)b->new_rows + 0.5 * (double)b->trainings, 1e-14);
    double x = 0.28 * N / (double)b->rows, y = 5 / (double)b->members, v = x + y;
    CLOSE(b->variance.df, v * v / (x * x / 40 + y * y / 9), 1e-12);
    epiq_part at_goal = epiq_part_of(v, b->variance.df, 0.95, EPIQ_BY_IF_EV);
    CLOSE(b->variance.lo, at_goal.lo, 1e-12);
    TRUE(b->chance.known && b->chance.value > 0.3 && b->chance.value < 0.6); /* at the goal it is as likely as not */
    TRUE(plan->cautious && plan->cautious->cost > b->cost && plan->cautious->chance.value > 0.95);
    const epiq_plan_step *likely = plan->likely; /* as cheap as whole numbers allow */
    TRUE(likely && likely->cost > b->cost && likely->cost < plan->cautious->cost);
    TRUE(likely->chance.known && likely->chance.value >= 0.8 && likely->chance.value < 0.82);
    EQ(likely->trainings, likely->new_rows ? likely->members : likely->members - 40);
    SAYS(plan->text, "0.636"); /* the root of 0.405, now */
    SENTENCE(plan->notice);
    SENTENCE(plan->caveat);
    TRUE(!plan->exponent->known);
    TRUE(plan->curve_count > 15 && plan->curve_count <= 42);
    int found = 0;
    for (ptrdiff_t k = 0; k < plan->curve_count; k++) {
        const epiq_plan_step *m = plan->curve[k];
        TRUE(m->variance.lo <= m->variance.variance && m->variance.variance <= m->variance.hi);
        TRUE(!k || (m->cost > m[-1].cost && m->variance.variance < m[-1].variance.variance));
        found += m->rows == b->rows && m->members == b->members;
    }
    EQ(found, 1);
    done();
}

TEST(nothing_is_bought_where_nothing_helps)
{
    start();
    epiq_point p = point_of(0.28, 40, 5, 9), certain = point_of(0, 0, 0, 0), settled = point_of(0.28, 40, 0, 9);
    epiq_plan_request e = {sizeof(epiq_plan_request), 2, 0.5, EPIQ_PLAN_GOAL, 1.3, 0.95};
    EQ(plan_for(1, &p, 5, &e), EPIQ_OK);
    TRUE(plan->best->cost == 0 && plan->best->rows == N && plan->best->members == 5);
    TRUE(plan->likely && plan->likely->cost > 0); /* it is reached already, but hardly more likely so than not */
    SAYS(plan->text, "1.13");
    e.amount = 20;
    EQ(plan_for(1, &p, 5, &e), EPIQ_OK);
    TRUE(plan->best->cost == 0 && plan->likely && plan->likely->cost == 0 && plan->cautious->cost == 0);
    SAYS(plan->text, "1.13");
    SENTENCE(plan->notice);
    e = (epiq_plan_request){sizeof(epiq_plan_request), 2, 0.5, EPIQ_PLAN_BUDGET, 0.49, 0.95};
    EQ(plan_for(1, &p, 5, &e), EPIQ_OK);
    TRUE(plan->best->cost == 0 && !plan->cautious && !plan->best->chance.known);
    SAYS(plan->text, "0.5");
    e.amount = 0;
    EQ(plan_for(1, &p, 5, &e), EPIQ_OK);
    TRUE(plan->best->cost == 0);
    EQ(plan_for(1, &settled, 5, &e), EPIQ_OK);
    SAYS(plan->text, "2.5");
    e.amount = 1e6;
    EQ(plan_for(1, &certain, 5, &e), EPIQ_OK);
    TRUE(plan->best->cost == 0);
    SENTENCE(plan->text);
    EQ(plan_for(1, &settled, 5, &e), EPIQ_OK); /* rows alone help: one network is enough */
    EQ(plan->best->members, 1);
    EQ(plan->best->new_rows, 499999);
    done();
}

/* Several points: the mean of each part; a standard deviation that is the mean of theirs. */
TEST(points_are_averaged_as_if_they_erred_together)
{
    start();
    epiq_point p[3] = {point_of(0.2, 30, 4, 9), point_of(0.6, 50, 1, 9), point_of(0, 0, 1, 9)};
    epiq_plan_request e = {sizeof(epiq_plan_request), 1, 1, EPIQ_PLAN_BUDGET, 100, 0.9};
    EQ(plan_for(3, p, 5, &e), EPIQ_OK);
    CLOSE(plan->data->variance, 0.8 / 3, 1e-14);
    CLOSE(plan->procedural->variance, 2.0, 1e-14);
    CLOSE(plan->procedural->df, 9.0, 1e-12); /* equal df stay */
    double sd = (0.2 / sqrt(30) + 0.6 / sqrt(50)) / 3;
    CLOSE(plan->data->df, 0.8 / 3 / sd * (0.8 / 3 / sd), 1e-12);
    p[1].data = (epiq_part){.known = 1, .variance = 0.6, .method = EPIQ_BY_BA_EV}; /* a difference */
    EQ(plan_for(3, p, 5, &e), EPIQ_OK);
    TRUE(!plan->best->variance.has_interval && !plan->cautious);
    p[1].data.known = 0;
    EQ(plan_for(3, p, 5, &e), EPIQ_E_DATA);
    SENTENCE(epiq_message(c));
    for (int i = 0; i < 3; i++) { /* a closed form is exact: the interval is the data's */
        p[i] = point_of(0.3, 20, 2, 0);
        p[i].procedural.method = EPIQ_BY_INFINITE;
    }
    e.kind = EPIQ_PLAN_GOAL;
    e.amount = 0.1;
    EQ(plan_for(3, p, 5, &e), EPIQ_OK);
    EQ(plan->best->variance.method, EPIQ_BY_INFINITE);
    TRUE(plan->best->variance.df > 20 && plan->cautious);
    done();
}

/* ---- how far to trust it: parts drawn around a known truth ---- */

static double chi2_over_df(uint64_t stream, int df)
{
    double z[64], sum = 0;
    epiqp_normals((epiqp_stream){3, 98, stream}, df, z);
    for (int k = 0; k < df; k++) {
        sum += z[k] * z[k];
    }
    return sum / df;
}

TEST(intervals_cover_and_the_confidence_is_what_happens)
{
    enum { RUNS = 3000, DATA_DF = 30, PROCEDURAL_DF = 9 };
    const double sigma2_n = 0.28, tau2 = 5;
    start();
    int covered = 0, reached = 0, careful = 0, probable = 0;
    double confidence = 0;
    for (uint64_t i = 0; i < RUNS; i++) {
        epiq_point p = point_of(sigma2_n * chi2_over_df(2 * i, DATA_DF), DATA_DF,
                                tau2 * chi2_over_df(2 * i + 1, PROCEDURAL_DF), PROCEDURAL_DF);
        epiq_plan_request e = {sizeof(epiq_plan_request), 1, 1, EPIQ_PLAN_GOAL, 0.2, 0.95};
        EQ(plan_for(1, &p, 100, &e), EPIQ_OK);
        const epiq_plan_step *b = plan->best, *safe = plan->cautious, *likely = plan->likely;
        double truth = sigma2_n * (double)N / (double)b->rows + tau2 / (double)b->members,
               safely = sigma2_n * (double)N / (double)safe->rows + tau2 / (double)safe->members,
               probably = sigma2_n * (double)N / (double)likely->rows + tau2 / (double)likely->members;
        covered += b->variance.lo <= truth && truth <= b->variance.hi;
        reached += truth <= e.amount;
        careful += safely <= e.amount;
        probable += probably <= e.amount;
        confidence += b->chance.value / RUNS;
    }
    /* three binomial standard errors; and Satterthwaite's chi-squared for a sum is itself good to about 1 % */
    NEAR(covered / (double)RUNS, 0.95, 0.012 + 0.01);
    NEAR(reached / (double)RUNS, confidence, 0.028 + 0.03); /* skewer than one chi-squared: 43 % instead of 47 */
    NEAR(probable / (double)RUNS, 0.8, 0.022 + 0.03);
    NEAR(careful / (double)RUNS, 0.975, 0.009 + 0.02); /* what its chance says, to the same accuracy */
    done();
}

/* ---- how the parts fall with rows ---- */

enum { ROWS = 48, FEATURES = 3 };

/* Halves as the seed deals them; everything else by elimination. */
TEST(exponents_are_those_of_explicit_matrices)
{
    static double x[ROWS * FEATURES], y[ROWS];
    static closed_kernels g;
    const double x0[FEATURES] = {0.1, 0.02, 0.15};
    epiq_points *at = NULL;
    epiq_options o = usual_options();
    epiqp_fall fall;
    o.scale = EPIQ_SCALE_NONE;
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_synth(c, 1, ROWS, FEATURES, 3, x, y), EPIQ_OK);
    for (int grouped = 0; grouped < 2; grouped++) {
        int64_t group[ROWS];
        int every[ROWS];
        double halves[2] = {0};
        for (int i = 0; i < ROWS; i++) {
            group[i] = i / 3;
            every[i] = i;
        }
        EQ(epiq_data_new(c, ROWS, FEATURES, x, y, grouped ? group : NULL, &o, &data), EPIQ_OK);
        EQ(epiq_points_new(c, data, &at), EPIQ_OK);
        EQ(epiq_points_add_rows(c, at, 1, x0), EPIQ_OK);
        EQ(epiqp_fall_measure(c, data, at, &o, &fall), EPIQ_OK);
        closed_kernels_of(ROWS, FEATURES, x, x0, &o, &g);
        closed_found all = closed_on(&g, ROWS, every, NULL, o.lambda);
        for (uint64_t k = 0; k < 4; k++) {
            ptrdiff_t half_of_row[ROWS], sizes[2];
            EQ(epiqp_partition(c, data, (epiqp_stream){o.seed, EPIQP_FOR_HALVES, k}, 2, half_of_row, sizes), EPIQ_OK);
            for (int h = 0; h < 2; h++) {
                int row[ROWS], n = 0;
                for (int i = 0; i < ROWS; i++) {
                    if (half_of_row[i] == h) row[n++] = i;
                    TRUE(!grouped || half_of_row[i] == half_of_row[i / 3 * 3]); /* a group stays whole */
                }
                closed_found one = closed_on(&g, n, row, NULL, o.lambda);
                halves[0] += one.c2 / 8;
                halves[1] += one.tau2 / 8;
            }
        }
        TRUE(fall.known && fall.rows == ROWS && fall.data.se > 0 && fall.procedural.se > 0);
        NEAR(fall.data.measured, log2(halves[0] / all.c2), 1e-9); /* a condition of 1e4 */
        NEAR(fall.procedural.measured, log2(halves[1] / all.tau2), 1e-7);
        epiq_points_free(c, at);
        epiq_data_free(c, data);
        data = NULL;
    }
    done();
}

/* At rows left out: the exponents at the rows of one fifth, from the others, are what points given by hand have there. */
TEST(exponents_at_rows_left_out_are_those_at_rows_held_out)
{
    enum { ALL = 60 };
    static double x[ALL * FEATURES], y[ALL], rest[ALL * FEATURES], rest_y[ALL], held[ALL * FEATURES];
    ptrdiff_t part[ALL], sizes[5], n = 0, out = 0;
    epiq_points *at = NULL;
    epiq_options o = usual_options();
    epiqp_fall fall, by_hand;
    o.scale = EPIQ_SCALE_NONE;
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_synth(c, 1, ALL, FEATURES, 3, x, y), EPIQ_OK);
    EQ(epiq_data_new(c, ALL, FEATURES, x, y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add(c, at, "rows"), EPIQ_OK);
    EQ(epiqp_fall_measure(c, data, at, &o, &fall), EPIQ_OK);
    EQ(epiqp_partition(c, data, (epiqp_stream){o.seed, EPIQP_FOR_HALVES, 4}, 5, part, sizes), EPIQ_OK);
    for (int i = 0; i < ALL; i++) {
        double *to = part[i] == 4 ? held + out * FEATURES : rest + n * FEATURES;
        memcpy(to, x + (ptrdiff_t)i * FEATURES, sizeof *x * FEATURES);
        rest_y[n] = y[i];
        n += part[i] != 4;
        out += part[i] == 4;
    }
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    EQ(epiq_data_new(c, n, FEATURES, rest, rest_y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add_rows(c, at, out, held), EPIQ_OK);
    EQ(epiqp_fall_measure(c, data, at, &o, &by_hand), EPIQ_OK);
    TRUE(fall.known && fall.rows == n && n == 48);
    NEAR(fall.data.measured, by_hand.data.measured, 1e-9);
    NEAR(fall.procedural.measured, by_hand.procedural.measured, 1e-7);
    epiq_points_free(c, at);
    done();
}

/* n rows of d standard normal features and a smooth target with noise of variance 1/4, from the rows' own streams: more rows
 * of the same seed begin with the fewer ones. */
static void draw_rows(uint64_t seed, ptrdiff_t n, ptrdiff_t d, double *x, double *y)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double z[64];
        epiqp_normals((epiqp_stream){seed, 97, (uint64_t)i}, d + 1, z);
        memcpy(x + i * d, z, (size_t)d * sizeof *x);
        y[i] = 0.5 * z[d] + sin(z[0]) + (d > 1 ? z[1] : 0);
    }
}

/* The variance that m infinitely wide networks on these rows really have, a mean over the points. */
static double truth_of(ptrdiff_t n, ptrdiff_t d, const double *x, ptrdiff_t points, const double *x0, double m,
                       const epiq_options *o)
{
    const epiqp_env e = epiqp_run_begin(c, o);
    epiqp_fit f;
    double *zeros = calloc((size_t)n, sizeof *zeros), tau2[8], v = 0;
    EQ(epiqp_fit_new(&e, o, n, d, x, zeros, points, x0, &f), EPIQ_OK);
    EQ(epiqp_fit_solve(&e, &f), EPIQ_OK);
    EQ(epiqp_infinite_variance(&e, &f, f.ridge.c, tau2), EPIQ_OK);
    for (ptrdiff_t p = 0; p < points; p++) {
        v += (0.25 * epiqp_dot(n, f.ridge.c + p * n, f.ridge.c + p * n) + tau2[p] / m) / (double)points;
    }
    epiqp_fit_free(c, &f);
    epiqp_run_end();
    free(zeros);
    return v;
}

/* A sample stands for many rows, with the same bits from any number of threads. */
TEST(exponents_of_many_rows_are_those_of_a_sample)
{
    enum { MANY = 4100 };
    static double x[MANY * 2], y[MANY];
    epiq_points *at = NULL;
    epiqp_fall fall[2];
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    draw_rows(3, MANY, 2, x, y);
    epiq_options o = usual_options();
    EQ(epiq_data_new(c, MANY, 2, x, y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add(c, at, "mean"), EPIQ_OK);
    for (int k = 0; k < 2; k++) {
        o.threads = k ? 3 : 1;
        EQ(epiqp_fall_measure(c, data, at, &o, &fall[k]), EPIQ_OK);
    }
    TRUE(fall[0].known && fall[0].rows == 1367); /* a third of them, 2000 at most */
    NEAR(fall[0].data.measured, 1, 0.15); /* 1/n, which holds for many rows in few features: 0.93 +- 0.09 at 1600 */
    NEAR(fall[1].data.measured, fall[0].data.measured, 0);
    NEAR(fall[1].procedural.measured, fall[0].procedural.measured, 0);
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    data = NULL;
    EQ(epiq_data_new(c, 7, 2, x, y, NULL, &o, &data), EPIQ_OK); /* too few to halve */
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add(c, at, "mean"), EPIQ_OK);
    EQ(epiqp_fall_measure(c, data, at, &o, &fall[0]), EPIQ_OK);
    TRUE(!fall[0].known);
    epiq_points_free(c, at);
    done();
}

typedef struct {
    int plans, reached, covered, cautious, cautious_reached;
    double chance;
} tally;

enum { MOST_D = 20, MOST_N = 1600, AT = 4 };

static void simulate(uint64_t seed, ptrdiff_t n, ptrdiff_t d, double share, bool measure, tally *t)
{
    static double x[MOST_N * MOST_D], y[MOST_N];
    double x0[AT * MOST_D], y0[AT];
    epiq_points *at = NULL;
    epiq_result *r = NULL;
    epiq_options o = usual_options();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.scale = EPIQ_SCALE_NONE;
    o.correction = EPIQ_CORRECTION_UNBIASED;
    o.threads = 1;
    o.influential = 0;
    o.ensemble_size = 500; /* so that ten times as many are no limit */
    draw_rows(seed, MOST_N, d, x, y);
    draw_rows(seed + 500000, AT, d, x0, y0);
    EQ(epiq_data_new(c, n, d, x, y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add_rows(c, at, AT, x0), EPIQ_OK);
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_OK);
    epiq_plan_request e = {sizeof(epiq_plan_request), 1, 0.01, EPIQ_PLAN_GOAL, 0, 0.95};
    for (ptrdiff_t p = 0; p < AT; p++) {
        e.amount += share * r->points[p]->data.variance / AT;
    }
    int s = epiq_plan_new(c, data, measure ? at : NULL, &o, r, &e, &plan);
    if (!s && plan->best->new_rows && plan->best->rows <= MOST_N) {
        const epiq_plan_step *b = plan->best;
        double truth = truth_of(b->rows, d, x, AT, x0, (double)b->members, &o);
        t->plans++;
        t->reached += truth <= e.amount;
        t->chance += b->chance.value;
        t->covered += truth >= b->variance.lo && truth <= b->variance.hi;
        const epiq_plan_step *safe = plan->cautious;
        if (plan->cautious && safe->rows <= MOST_N) {
            t->cautious++;
            t->cautious_reached += truth_of(safe->rows, d, x, AT, x0, (double)safe->members, &o) <= e.amount;
        }
    }
    epiq_plan_free(c, plan);
    epiq_result_free(c, r);
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    plan = NULL, data = NULL;
}

/* In many features the data part falls slowly at first: who takes it to fall as 1/n promises too much. */
TEST(plans_reach_their_goal_as_often_as_they_say)
{
    static const struct {
        int n, d;
    } CELLS[] = {{100, 2}, {100, 5}, {200, 10}};
    enum { RUNS = 16 };
    tally measured = {0}, many = {0}, assumed = {0};
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    for (size_t k = 0; k < sizeof CELLS / sizeof *CELLS; k++) {
        for (uint64_t i = 0; i < RUNS; i++) {
            uint64_t seed = 1000 * (uint64_t)CELLS[k].d + 100000 * i;
            simulate(seed, CELLS[k].n, CELLS[k].d, 0.5, true, &measured);
        }
    }
    for (uint64_t i = 0; i < RUNS; i++) { /* 20 features, where twice the rows lower it by 0 to 10 % */
        simulate(20000 + 100000 * i, 100, 20, 0.5, true, &many);
        simulate(20000 + 100000 * i, 100, 20, 0.5, false, &assumed);
    }
    double reached = measured.reached / (double)measured.plans, chance = measured.chance / measured.plans;
    TRUE(measured.plans > 40);
    /* Three binomial standard errors are 0.21. Above its chance by more: exponents rise as rows are added, and the plan
     * does not count on it. 0.43 and 0.65 in 400 runs. */
    TRUE(reached > chance - 0.21 && reached < chance + 0.43);
    TRUE(measured.covered >= 0.9 * measured.plans);
    TRUE(measured.cautious_reached >= 0.9 * measured.cautious);
    TRUE(assumed.plans == RUNS && assumed.chance / assumed.plans > 0.35 && assumed.reached <= RUNS / 8);
    TRUE(many.plans <= RUNS / 8); /* the others take more than 1600 rows, or cannot be had */
    done();
}

/* What the interval and the chance claim, by drawing what they take the truth to be. */
static void tails_of(const epiq_plan *p, double a, double b, double goal)
{
    enum { DRAWS = 4000 };
    const epiq_plan_step *m = p->best;
    double grown = (double)m->rows / (double)p->now->rows, data_part = p->data->variance * pow(grown, -a),
           starts = p->procedural->variance * pow(grown, -b) / (double)m->members, all = data_part + starts,
           spread = log(grown) * sqrt(pow(p->exponent->data_sd * data_part / all, 2) +
                                      pow(p->exponent->procedural_sd * starts / all, 2));
    static double z[DRAWS], u[DRAWS];
    int below = 0, above = 0, reached = 0;
    epiqp_normals((epiqp_stream){5, 96, 0}, DRAWS, z);
    epiqp_uniforms((epiqp_stream){5, 96, 1}, DRAWS, u);
    for (int k = 0; k < DRAWS; k++) {
        double nu = m->variance.df, truth = all * exp(spread * z[k]) * nu / epiqp_chi2_quantile(nu, u[k], 0);
        below += truth < m->variance.lo;
        above += truth > m->variance.hi;
        reached += truth <= goal;
    }
    TRUE(spread > 0.05);
    NEAR(below / (double)DRAWS, 0.025, 0.0075); /* three binomial standard errors */
    NEAR(above / (double)DRAWS, 0.025, 0.0075);
    NEAR(reached / (double)DRAWS, m->chance.value, 0.024);
}

/* A plan says how the parts fall, in numbers and in words, and its interval widens with the rows to be added. */
TEST(a_plan_tells_how_the_parts_fall)
{
    static double x[100 * 3], y[100];
    epiq_points *at = NULL, *others = NULL;
    epiq_result *r = NULL;
    epiq_options o = usual_options();
    o.engine = EPIQ_ENGINE_INFINITE;
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    draw_rows(7, 100, 3, x, y);
    EQ(epiq_data_new(c, 100, 3, x, y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add(c, at, "row:3"), EPIQ_OK);
    EQ(epiq_points_add(c, at, "row:8"), EPIQ_OK);
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_OK);
    epiq_plan_request e = {sizeof(epiq_plan_request), 1, 1, EPIQ_PLAN_BUDGET, 300, 0.95};
    EQ(epiq_plan_new(c, data, at, &o, r, &e, &plan), EPIQ_OK);
    TRUE(plan->exponent->known && plan->exponent->rows == 100);
    TRUE(plan->exponent->data_sd > 0.15 && plan->exponent->procedural_sd > 0.15);
    double a = fmin(fmax(plan->exponent->data, 0), 1), b = fmin(fmax(plan->exponent->procedural, 0), 1);
    char part[16];
    snprintf(part, sizeof part, "%.0f %%", 100 * (1 - exp2(-b)));
    SAYS(plan->caveat, part);
    for (ptrdiff_t k = 0; k < plan->curve_count; k++) {
        const epiq_plan_step *m = plan->curve[k];
        double far = 100 / (double)m->rows;
        CLOSE(m->variance.variance,
              plan->data->variance * pow(far, a) + plan->procedural->variance * pow(far, b) / (double)m->members,
              1e-12);
        TRUE(m->variance.has_interval && m->variance.lo < m->variance.variance &&
             m->variance.hi > m->variance.variance);
    }
    e = (epiq_plan_request){sizeof(epiq_plan_request), 1, 0.001, EPIQ_PLAN_GOAL, 0.9 * plan->data->variance, 0.95};
    epiq_plan_free(c, plan);
    EQ(epiq_plan_new(c, data, at, &o, r, &e, &plan), EPIQ_OK);
    TRUE(plan->best->new_rows > 0);
    tails_of(plan, a, b, e.amount);
    EQ(epiq_points_new(c, data, &others), EPIQ_OK);
    others->data = NULL;
    epiq_plan *none = NULL;
    EQ(epiq_plan_new(c, data, others, &o, r, &e, &none), EPIQ_E_DATA);
    SENTENCE(epiq_message(c));
    TRUE(!none);
    epiq_points_free(c, others);
    epiq_result_free(c, r);
    epiq_points_free(c, at);
    done();
}

/* ---- refusing ---- */

TEST(bad_efforts_get_a_sentence)
{
    static const struct {
        epiq_plan_request e;
        const char *part;
    } BAD[] = {
        {{sizeof(epiq_plan_request), 0, 1, EPIQ_PLAN_GOAL, 1, 0.95}, "price_row"},
        {{sizeof(epiq_plan_request), -1, 1, EPIQ_PLAN_GOAL, 1, 0.95}, "price_row"},
        {{sizeof(epiq_plan_request), NAN, 1, EPIQ_PLAN_GOAL, 1, 0.95}, "price_row"},
        {{sizeof(epiq_plan_request), 1, INFINITY, EPIQ_PLAN_GOAL, 1, 0.95}, "price_training"},
        {{sizeof(epiq_plan_request), 1, 1, EPIQ_PLAN_GOAL, 0, 0.95}, "goal"},
        {{sizeof(epiq_plan_request), 1, 1, EPIQ_PLAN_GOAL, NAN, 0.95}, "goal"},
        {{sizeof(epiq_plan_request), 1, 1, EPIQ_PLAN_BUDGET, -1, 0.95}, "budget"},
        {{sizeof(epiq_plan_request), 1, 1, EPIQ_PLAN_BUDGET, INFINITY, 0.95}, "budget"},
        {{sizeof(epiq_plan_request), 1, 1, 7, 1, 0.95}, "kind 7"},
        {{sizeof(epiq_plan_request), 1, 1, EPIQ_PLAN_GOAL, 1, 1}, "level"},
    };
    start();
    epiq_point p = point_of(0.28, 40, 5, 9);
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        EQ(plan_for(1, &p, 5, &BAD[i].e), EPIQ_E_USAGE);
        SAYS(epiq_message(c), BAD[i].part);
        TRUE(!plan);
    }
    done();
}

TEST(memory_may_run_out_anywhere)
{
    start();
    epiq_point p = point_of(0.28, 40, 5, 9);
    epiq_plan_request e = {sizeof(epiq_plan_request), 2, 0.5, EPIQ_PLAN_GOAL, 0.3, 0.95};
    FAIL_EACH(c, plan_for(1, &p, 5, &e), !plan, 1);
    done();
}
