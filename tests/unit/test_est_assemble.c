/* test_est_assemble.c - what is made of the parts: the degrees of freedom of a sum, R^2, what BA is held against, and the advice. */
#include "epiq_details.h"
#include "est/variance.h"
#include "run/run.h"

#include "one_estimate.h"
#include "usual.h"

enum { N = 24, D = 2, COPIES = 4, OWN = N / COPIES };

static epiq_options small(void)
{
    epiq_options o = usual_options();
    o.scale = EPIQ_SCALE_NONE;
    o.engine = EPIQ_ENGINE_LINEAR;
    o.width = 16;
    o.members = 4;
    o.batches = COPIES;
    o.threads = 1;
    return o;
}

static void make(double *x, double *y)
{
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    EQ(epiq_synth(own, 1, N, D, 5, x, y), EPIQ_OK);
    epiq_ctx_free(own);
}

/* BA = data + procedural / m', and any two give the third. */
TEST(two_estimators_give_both_parts)
{
    const epiq_part none = {0}, ba = epiq_part_of(2, 4, 0.9, EPIQ_BY_BA),
                    sigma2 = epiq_part_of(0.5, 9, 0.9, EPIQ_BY_IF), tau2 = epiq_part_of(6, 7, 0.9, EPIQ_BY_EV);
    epiq_options o = {.batches = 5, .ensemble_size = 5, .level = 0.9};
    epiqp_split two = epiqp_split_of(none, sigma2, ba, 5);
    TRUE(two.procedural.known && !two.procedural.has_interval && two.negative == 0 && two.method == EPIQ_BY_BA_IF);
    NEAR(two.procedural.variance, 7.5, 0); /* 5 (2 - 0.5) */
    NEAR(two.data.variance, 0.5, 0);
    NEAR(epiqp_ensemble_of(&two, ba, &o).variance, 2, 0); /* BA itself, as a part is a difference from it, */
    EQ(epiqp_ensemble_of(&two, ba, &o).method, EPIQ_BY_BA);
    o.ensemble_size = 3;
    NEAR(epiqp_ensemble_of(&two, ba, &o).variance, 3, 0); /* or 0.5 + 7.5 / 3 */
    two = epiqp_split_of(tau2, none, ba, 5);
    TRUE(two.data.known && !two.data.has_interval && two.method == EPIQ_BY_BA_EV);
    CLOSE(two.data.variance, 0.8, 1e-15); /* 2 - 6/5 */
    two = epiqp_split_of(tau2, none, ba, 2);
    TRUE(!two.data.known && two.data.variance == 0 && two.data.method == EPIQ_BY_BA_EV);
    NEAR(two.negative, -1, 0); /* 2 - 6/2 is withheld */
    two = epiqp_split_of(tau2, sigma2, none, 5);
    TRUE(two.method == EPIQ_BY_IF_EV && two.negative == 0);
    NEAR(two.data.variance + two.procedural.variance, 6.5, 0);
    o.ensemble_size = 5;
    two = epiqp_split_of(tau2, sigma2, ba, 5); /* all three: the sum of what is measured directly */
    EQ(epiqp_ensemble_of(&two, ba, &o).method, EPIQ_BY_IF_EV);
    CLOSE(epiqp_ensemble_of(&two, ba, &o).variance, 0.5 + 6 / 5.0, 1e-15);
}

TEST(a_variance_has_the_units_a_double_holds)
{
    epiq_part v = epiq_part_of(2, 4, 0.9, EPIQ_BY_EV), zero = {.known = 1}, bad = {.known = 1, .variance = NAN};
    NEAR(epiqp_in_units(v, 4).variance, 8, 0);
    NEAR(epiqp_in_units(v, 4).hi, 4 * v.hi, 0);
    TRUE(!epiqp_in_units(v, 1e308).known && !epiqp_in_units(v, 1e-320).known && !epiqp_in_units(bad, 1).known);
    TRUE(epiqp_in_units(zero, 1e308).known && epiqp_in_units(zero, 1e-320).known); /* an exact 0 is 0 in any units */
}

/* One degree of freedom puts the 95 % upper end at 1/0.000982 = 1018 times the variance, two put it at 2/0.0506 = 39.5. */
TEST(an_interval_contains_its_estimate_and_its_end_may_be_unknown)
{
    static const double DF[] = {1e-3, 0.05, 0.3, 1, 1.3, 1.5, 2, 30};
    for (size_t k = 0; k < sizeof DF / sizeof *DF; k++) {
        for (double level = 0.05; level < 1; level += 0.1) {
            epiq_part p = epiq_part_of(3, DF[k], level, EPIQ_BY_IF), twice = epiqp_in_units(p, 2);
            if (!p.has_interval) {
                TRUE(DF[k] < 0.3 && !p.open); /* the lower end is no double */
                continue;
            }
            TRUE(p.lo > 0 && p.lo <= 3 && (p.open ? p.hi == 0 : p.hi >= 3 && p.hi <= 300));
            EQ(twice.open, p.open);
            NEAR(twice.lo, 2 * p.lo, 1e-15 * p.lo);
            NEAR(twice.hi, 2 * p.hi, 1e-15 * p.hi);
            epiq_part sum = epiqp_sum_of(p, p, 1, level, EPIQ_BY_IF_EV); /* has twice the degrees of freedom */
            CLOSE(sum.df, 2 * DF[k], 1e-14);
            TRUE(sum.has_interval && sum.lo <= 6);
        }
    }
    TRUE(epiq_part_of(3, 1, 0.95, EPIQ_BY_IF).open && !epiq_part_of(3, 2, 0.95, EPIQ_BY_IF).open);
    epiq_part beyond = epiq_part_of(1e308, 3, 0.95, EPIQ_BY_IF); /* an end that is no double */
    TRUE(beyond.has_interval && beyond.open && beyond.hi == 0);
}

/* The variance of a chi-squared variance V is 2 V^2/nu, and those of a sum add up. */
TEST(a_sum_has_satterthwaites_degrees_of_freedom)
{
    epiq_part a = epiq_part_of(2, 4, 0.9, EPIQ_BY_IF), b = epiq_part_of(3, 9, 0.9, EPIQ_BY_EV);
    epiq_part sum = epiqp_sum_of(a, b, 3, 0.9, EPIQ_BY_IF_EV);
    NEAR(sum.variance, 3, 0);                            /* 2 + 3/3 */
    CLOSE(sum.df, 9 / (2. * 2 / 4 + 1. * 1 / 9), 1e-15); /* 3^2 over 2^2/4 + 1^2/9 */
}

TEST(r2_compares_with_the_mean_of_the_rows)
{
    double x[N * D], y[N], mean = 0, left = 0, all = 0;
    make(x, y);
    epiq_options o = small();
    o.methods = EPIQ_IF;
    EQ(run(N, D, x, y, NULL, 1, x, &o), EPIQ_OK);
    for (int i = 0; i < N; i++) {
        mean += y[i] / N;
    }
    for (int i = 0; i < N; i++) {
        left += pow(r->fit->observed[i] - r->fit->loo[i], 2);
        all += pow(y[i] - mean, 2);
    }
    TRUE(r->fit->has_r2);
    NEAR(r->fit->r2, 1 - left / all, 1e-12);
    NEAR(r->fit->kernel_r2, 1 - left / all, 1e-12); /* nothing but kernel regression has been asked */
    done();
}

/* With next to no ridge every linearised network goes through all rows, whatever its start. */
TEST(linearised_networks_learn_the_targets)
{
    double x[N * D], y[N];
    make(x, y);
    epiq_options o = small();
    o.methods = EPIQ_EV;
    o.lambda = 1e-10;
    EQ(run(N, D, x, y, NULL, N, x, &o), EPIQ_OK);
    for (int i = 0; i < N; i++) {
        NEAR(r->points[i]->prediction, y[i], 1e-3); /* lambda n A^-1 (y - h), the kernel's least eigenvalue some 1e-5 */
        TRUE(r->points[i]->procedural.variance < 1e-6);
    }
    done();
}

/* Every batch is the same rows, which all together are then no more than each: BA is as it should be, whatever it expects of
 * noise and of starts, and whichever is larger. */
TEST(batches_that_are_the_whole_are_not_too_small)
{
    double x[N * D], y[N];
    int64_t group[N];
    make(x, y);
    for (int i = OWN; i < N; i++) {
        memcpy(x + i * D, x + i % OWN * D, D * sizeof *x);
        y[i] = y[i % OWN];
    }
    for (int i = 0; i < N; i++) {
        group[i] = i / OWN; /* a copy is a group, and a batch of its own */
    }
    for (int k = 0; k < 2; k++) {
        epiq_options o = small();
        o.lambda = k ? 1e-1 : 1e-3;
        EQ(run(N, D, x, y, group, 1, (const double[]){0.4, 0.7}, &o), EPIQ_OK);
        TRUE(!warned("small_batches"));
        CLOSE(r->points[0]->ba.factor, 1.0, 1e-9);
    }
    epiq_options o = small(); /* and of rows that differ it is not */
    o.lambda = 1e-4;
    make(x, y);
    EQ(run(N, D, x, y, NULL, 1, (const double[]){0.4, 0.7}, &o), EPIQ_OK);
    TRUE(r->points[0]->ba.factor > 1.2);
    done();
}

/* data + procedural/m = 1 + 4/10: the networks are enough, and twice the rows would halve the 1. */
TEST(advice_is_on_the_ensemble)
{
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    static const epiqp_hints words = {.both_parts = "both"};
    epiq_point point[3] = {
        {.procedural = epiq_part_of(4, 9, 0.9, EPIQ_BY_EV), .data = epiq_part_of(1, 9, 0.9, EPIQ_BY_IF)}};
    epiqp_answer answer = {.points = point};
    epiqp_plan plan = {.ran = {.ensemble_size = 10}, .hints = &words};
    epiqp_problem pb = {.e = {.c = c}, .plan = &plan, .n = 50, .asked = 1, .lasting = &answer.arena};
    epiqp_findings found = {0};
    EQ(epiqp_advise(&pb, &found, &answer), EPIQ_OK);
    EQ(answer.advice.action, EPIQ_DO_COLLECT);
    EQ(answer.advice.rows, 50);
    SAYS(answer.advice.text, "50 more would");
    plan.ran.ensemble_size = 1;
    EQ(epiqp_advise(&pb, &found, &answer), EPIQ_OK);
    EQ(answer.advice.action, EPIQ_DO_TRAIN);
    plan.ran.ensemble_size = 10;
    for (int loud = 0; loud < 2; loud++) { /* half of the 1 is 19 % of 1.4 + 1.23 */
        answer.advice = (epiq_advice){0};
        answer.fit = (epiq_fit_error){.known = 1, .has_r2 = 1, .r2 = 0.5, .noise_variance = loud ? 1.25 : 1.2};
        EQ(epiqp_advise(&pb, &found, &answer), EPIQ_OK);
        EQ(answer.advice.action, loud ? EPIQ_DO_NOTHING : EPIQ_DO_COLLECT);
    }
    point[1] = point[2] = point[0];
    pb.asked = 3;
    for (int lacking = 1; lacking < 3; lacking++) { /* one of three, then two: most points are not advised upon */
        answer.advice = (epiq_advice){0};
        answer.fit = (epiq_fit_error){0};
        point[lacking].procedural.known = 0;
        EQ(epiqp_advise(&pb, &found, &answer), EPIQ_OK);
        EQ(answer.advice.action, lacking < 2 ? EPIQ_DO_COLLECT : EPIQ_DO_NOTHING);
    }
    SAYS(answer.advice.text, "2 of 3");
    CONTAINS(answer.advice.text, "both");
    epiqp_arena_free(c, &answer.arena);
    done();
}
