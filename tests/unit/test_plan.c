/* epiq_plan: the purchase against brute force over whole numbers and against the closed form without them; its interval
 * and its confidence against simulated estimates; the mean over points; what it refuses. */
#include "decide/decide.h"
#include "rng/rng.h"
#include "test.h"

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
    if (c) {
        EQ(c->live_blocks, 0);
    }
    epiq_ctx_free(c);
    c = NULL, data = NULL, plan = NULL;
}

static void start(void)
{
    double x[N], y[N];
    epiq_options o = epiq_options_default();
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
                        .procedural = epiq_part_of(procedural, procedural_df, 0.95, EPIQ_BY_EV)};
}

static int plan_for(ptrdiff_t points, const epiq_point *list, ptrdiff_t ensemble, const epiq_effort *e)
{
    epiq_result r = {.points = list, .point_count = points, .ensemble_size = ensemble};
    epiq_plan_free(c, plan);
    return epiq_plan_new(c, data, &r, e, &plan);
}

/* ---- whole numbers ---- */

static double draw(uint64_t stream, int index)
{
    double u[16];
    epiqp_uniforms((epiqp_stream){11, 99, stream}, 16, u);
    return u[index];
}

/* Prices and parts over several orders of magnitude; every second price a small whole number, so that costs tie. */
static epiqp_market market_of(uint64_t k)
{
    bool whole = k % 2;
    return (epiqp_market){
        .n = 1 + floor(12 * draw(k, 0)),
        .m = 1 + floor(5 * draw(k, 1)),
        .price_row = whole ? 1 + floor(5 * draw(k, 2)) : exp(6 * draw(k, 2) - 3),
        .price_training = whole ? 1 + floor(5 * draw(k, 3)) : exp(6 * draw(k, 3) - 3),
        .sigma2 = k % 17 == 5 ? 0 : exp(6 * draw(k, 4) - 3),
        .tau2 = k % 19 == 7 ? 0 : exp(6 * draw(k, 5) - 3),
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
        if (!(now > 0)) {
            continue;
        }
        TRUE(epiqp_cheapest(&k, goal, &got));
        for (int n = (int)k.n; n <= BRUTE; n++) {
            for (int m = n == (int)k.n ? (int)k.m : 1; m <= BRUTE; m++) {
                if (k.sigma2 / n + k.tau2 / m <= goal) {
                    least = fmin(least, cost_at(&k, n, m));
                    break;
                }
            }
        }
        TRUE(k.sigma2 / got.n + k.tau2 / got.m <= goal * (1 + 4 * DBL_EPSILON));
        TRUE(got.n == floor(got.n) && got.m == floor(got.m) && got.n >= k.n && got.m >= 1);
        NEAR(got.cost, cost_at(&k, (int)got.n, (int)got.m), 1e-12 * (1 + got.cost)); /* the order of two sums */
        NEAR(got.variance, k.sigma2 / got.n + k.tau2 / got.m, 1e-14 * got.variance);
        if (got.n <= BRUTE && got.m <= BRUTE) {
            NEAR(got.cost, least, 1e-12 * (1 + least));
            compared++;
        } else {
            TRUE(got.cost <= least * (1 + 1e-12));
        }
    }
    TRUE(compared > 2500);
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
                least = cost_at(&k, n, m) <= budget ? fmin(least, k.sigma2 / n + k.tau2 / m) : least;
            }
        }
        TRUE(got.cost <= budget);
        NEAR(got.variance, k.sigma2 / got.n + k.tau2 / got.m, 1e-14 * got.variance);
        TRUE(inside ? fabs(got.variance - least) <= 1e-13 * least : got.variance <= least);
        TRUE(got.variance < epiqp_buy_nothing(&k).variance || got.cost == 0);
    }
}

/* Without whole numbers: n' = (s + t) sqrt(sigma^2/A)/V and so on, the cost (s + t)^2/V - A n with s = sqrt(A sigma^2),
 * t = sqrt(B tau^2). Rounding both up costs at most A + B. */
TEST(large_mixes_lie_beside_the_closed_form)
{
    const double prices[] = {1e-6, 1e-3, 1, 1e3, 1e6};
    for (int a = 0; a < 5; a++) {
        for (int b = 0; b < 5; b++) {
            epiqp_market k = {500, 5, prices[a], prices[b], 140, 5};
            for (double goal = 0.1; goal > 1e-5; goal /= 3) {
                epiqp_purchase got = {0};
                double s = sqrt(k.price_row * k.sigma2), t = sqrt(k.price_training * k.tau2),
                       n = (s + t) * sqrt(k.sigma2 / k.price_row) / goal,
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
    epiqp_market k = {500, 5, 1, 1, 140, 5};
    epiqp_purchase got;
    TRUE(!epiqp_cheapest(&k, 1e-10, &got));
    TRUE(epiqp_cheapest(&k, 145e-9 * (1 + 1e-12), &got)); /* 1e9 of both */
    EQ(got.n, 1e9);
    EQ(got.m, 1e9);
    got = epiqp_best(&k, 1e300);
    EQ(got.n, 1e9);
    EQ(got.m, 1e9);
    start();
    epiq_point p = point_of(0.28, 40, 5, 9);
    epiq_effort e = {1, 1, EPIQ_PLAN_GOAL, 1e-12, 0.95};
    EQ(plan_for(1, &p, 5, &e), EPIQ_E_DATA);
    CONTAINS(epiq_message(c), "the least that so many reach is 1.62e-08");
    TRUE(!plan);
    done();
}

/* ---- the plan ---- */

TEST(a_plan_tells_what_it_rests_on)
{
    start();
    epiq_point p = point_of(0.28, 40, 5, 9);
    epiq_effort e = {2, 0.5, EPIQ_PLAN_GOAL, 0.3, 0.95};
    EQ(plan_for(1, &p, 5, &e), EPIQ_OK);
    CLOSE(plan->now.variance.variance, 0.28 + 5 / 5.0, 1e-15);
    EQ(plan->now.rows, N);
    EQ(plan->now.members, 5);
    TRUE(plan->now.cost == 0);
    const epiq_mix *b = &plan->best;
    TRUE(b->variance.variance <= 0.3 && b->variance.has_interval && b->variance.method == EPIQ_BY_IF_EV);
    EQ(b->rows, N + b->new_rows);
    EQ(b->trainings, b->new_rows ? b->members : b->members - 5);
    CLOSE(b->cost, 2 * (double)b->new_rows + 0.5 * (double)b->trainings, 1e-14);
    double x = 0.28 * N / (double)b->rows, y = 5 / (double)b->members, v = x + y;
    CLOSE(b->variance.df, v * v / (x * x / 40 + y * y / 9), 1e-12);
    epiq_part at_goal = epiq_part_of(v, b->variance.df, 0.95, EPIQ_BY_IF_EV);
    CLOSE(b->variance.lo, at_goal.lo, 1e-12);
    TRUE(b->chance.known && b->chance.value > 0.3 && b->chance.value < 0.6); /* at the goal it is as likely as not */
    TRUE(plan->cautious.known && plan->cautious.mix.cost > b->cost && plan->cautious.mix.chance.value > 0.95);
    CONTAINS(plan->text, "the variance falls from 1.28 to about");
    CONTAINS(plan->caveat, "3.8 times, not 5");
    TRUE(plan->curve_count > 15 && plan->curve_count <= 42);
    int found = 0;
    for (ptrdiff_t k = 0; k < plan->curve_count; k++) {
        const epiq_mix *m = &plan->curve[k];
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
    epiq_effort e = {2, 0.5, EPIQ_PLAN_GOAL, 1.3, 0.95};
    EQ(plan_for(1, &p, 5, &e), EPIQ_OK);
    TRUE(plan->best.cost == 0 && plan->best.rows == N && plan->best.members == 5);
    CONTAINS(plan->text, "Nothing to buy: the variance is 1.28 already");
    e = (epiq_effort){2, 0.5, EPIQ_PLAN_BUDGET, 0.49, 0.95};
    EQ(plan_for(1, &p, 5, &e), EPIQ_OK);
    TRUE(plan->best.cost == 0 && !plan->cautious.known && !plan->best.chance.known);
    CONTAINS(plan->text, "training one more network for 0.5");
    e.amount = 0;
    EQ(plan_for(1, &p, 5, &e), EPIQ_OK);
    TRUE(plan->best.cost == 0);
    EQ(plan_for(1, &settled, 5, &e), EPIQ_OK);
    CONTAINS(plan->text, "one row and a training for 2.5");
    e.amount = 1e6;
    EQ(plan_for(1, &certain, 5, &e), EPIQ_OK);
    TRUE(plan->best.cost == 0);
    CONTAINS(plan->text, "the variance is 0 here");
    EQ(plan_for(1, &settled, 5, &e), EPIQ_OK); /* rows alone help: one network is enough */
    EQ(plan->best.members, 1);
    EQ(plan->best.new_rows, 499999);
    done();
}

/* Several points: the mean of each part; a standard deviation that is the mean of theirs. */
TEST(points_are_averaged_as_if_they_erred_together)
{
    start();
    epiq_point p[3] = {point_of(0.2, 30, 4, 9), point_of(0.6, 50, 1, 9), point_of(0, 0, 1, 9)};
    epiq_effort e = {1, 1, EPIQ_PLAN_BUDGET, 100, 0.9};
    EQ(plan_for(3, p, 5, &e), EPIQ_OK);
    CLOSE(plan->data.variance, 0.8 / 3, 1e-14);
    CLOSE(plan->procedural.variance, 2.0, 1e-14);
    CLOSE(plan->procedural.df, 9.0, 1e-12); /* equal df stay */
    double sd = (0.2 / sqrt(30) + 0.6 / sqrt(50)) / 3;
    CLOSE(plan->data.df, 0.8 / 3 / sd * (0.8 / 3 / sd), 1e-12);
    p[1].data = (epiq_part){.known = 1, .variance = 0.6, .method = EPIQ_BY_BA_EV}; /* a difference */
    EQ(plan_for(3, p, 5, &e), EPIQ_OK);
    TRUE(!plan->best.variance.has_interval && !plan->cautious.known);
    p[1].data.known = 0;
    EQ(plan_for(3, p, 5, &e), EPIQ_E_DATA);
    CONTAINS(epiq_message(c), "the data variance is unknown at some");
    for (int i = 0; i < 3; i++) { /* a closed form is exact: the interval is the data's */
        p[i] = point_of(0.3, 20, 2, 0);
        p[i].procedural.method = EPIQ_BY_INFINITE;
    }
    e.kind = EPIQ_PLAN_GOAL;
    e.amount = 0.1;
    EQ(plan_for(3, p, 5, &e), EPIQ_OK);
    EQ(plan->best.variance.method, EPIQ_BY_INFINITE);
    TRUE(plan->best.variance.df > 20 && plan->cautious.known);
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
    int covered = 0, reached = 0, careful = 0;
    double confidence = 0;
    for (uint64_t i = 0; i < RUNS; i++) {
        epiq_point p = point_of(sigma2_n * chi2_over_df(2 * i, DATA_DF), DATA_DF,
                                tau2 * chi2_over_df(2 * i + 1, PROCEDURAL_DF), PROCEDURAL_DF);
        epiq_effort e = {1, 1, EPIQ_PLAN_GOAL, 0.2, 0.95};
        EQ(plan_for(1, &p, 5, &e), EPIQ_OK);
        const epiq_mix *b = &plan->best, *safe = &plan->cautious.mix;
        double truth = sigma2_n * (double)N / (double)b->rows + tau2 / (double)b->members,
               safely = sigma2_n * (double)N / (double)safe->rows + tau2 / (double)safe->members;
        covered += b->variance.lo <= truth && truth <= b->variance.hi;
        reached += truth <= e.amount;
        careful += safely <= e.amount;
        confidence += b->chance.value / RUNS;
    }
    /* three binomial standard errors; and Satterthwaite's chi-squared for a sum is itself good to about 1 % */
    NEAR(covered / (double)RUNS, 0.95, 0.012 + 0.01);
    NEAR(reached / (double)RUNS, confidence, 0.028 + 0.03); /* skewer than one chi-squared: 43 % instead of 47 */
    TRUE(careful >= 0.975 * RUNS);                          /* both ends at once are rarer than either's 2.5 % */
    done();
}

/* ---- refusing ---- */

TEST(bad_efforts_get_a_sentence)
{
    static const struct {
        epiq_effort e;
        const char *says;
    } BAD[] = {
        {{0, 1, EPIQ_PLAN_GOAL, 1, 0.95}, "price-row is 0"},
        {{-1, 1, EPIQ_PLAN_GOAL, 1, 0.95}, "price-row is -1"},
        {{NAN, 1, EPIQ_PLAN_GOAL, 1, 0.95}, "price-row is"},
        {{1, INFINITY, EPIQ_PLAN_GOAL, 1, 0.95}, "price-training is inf"},
        {{1, 1, EPIQ_PLAN_GOAL, 0, 0.95}, "goal is 0"},
        {{1, 1, EPIQ_PLAN_GOAL, NAN, 0.95}, "goal is"},
        {{1, 1, EPIQ_PLAN_BUDGET, -1, 0.95}, "budget is -1"},
        {{1, 1, EPIQ_PLAN_BUDGET, INFINITY, 0.95}, "budget is inf"},
        {{1, 1, 7, 1, 0.95}, "kind 7"},
        {{1, 1, EPIQ_PLAN_GOAL, 1, 1}, "level is 1"},
    };
    start();
    epiq_point p = point_of(0.28, 40, 5, 9);
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        EQ(plan_for(1, &p, 5, &BAD[i].e), EPIQ_E_USAGE);
        CONTAINS(epiq_message(c), BAD[i].says);
        TRUE(!plan);
    }
    done();
}

TEST(memory_may_run_out_anywhere)
{
    start();
    epiq_point p = point_of(0.28, 40, 5, 9);
    epiq_effort e = {2, 0.5, EPIQ_PLAN_GOAL, 0.3, 0.95};
    ptrdiff_t before = c->live_blocks;
    int s = EPIQ_E_NOMEM;
    for (int k = 0; s == EPIQ_E_NOMEM && k < 20; k++) {
        c->fail_after = k;
        s = plan_for(1, &p, 5, &e);
        c->fail_after = -1;
        TRUE(s == EPIQ_OK || (s == EPIQ_E_NOMEM && !plan && c->live_blocks == before));
    }
    EQ(s, EPIQ_OK);
    done();
}
