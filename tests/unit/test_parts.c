/* test_parts.c - what is made of the parts: the degrees of freedom of a sum, R^2, what BA is held against, and the advice. */
#include "est/est.h"

#include "asked.h"

enum { N = 24, D = 2, COPIES = 4, OWN = N / COPIES };

static epiq_options small(void)
{
    epiq_options o = epiq_options_default();
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
        left += pow(r->fit.observed[i] - r->fit.loo[i], 2);
        all += pow(y[i] - mean, 2);
    }
    TRUE(r->fit.has_r2);
    NEAR(r->fit.r2, 1 - left / all, 1e-12);
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
        NEAR(r->points[i].prediction, y[i], 1e-3); /* lambda n A^-1 (y - h), the kernel's least eigenvalue some 1e-5 */
        TRUE(r->points[i].procedural.variance < 1e-6);
    }
    done();
}

static const char *warning(const char *code)
{
    for (ptrdiff_t k = 0; r && k < r->warning_count; k++) {
        if (strcmp(r->warnings[k].code, code) == 0) {
            return r->warnings[k].message;
        }
    }
    return NULL;
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
        TRUE(!warning("small_batches"));
        CLOSE(r->points[0].ba.factor, 1.0, 1e-9);
    }
    epiq_options o = small(); /* and by themselves they are too small */
    o.lambda = 1e-2;
    make(x, y);
    EQ(run(N, D, x, y, NULL, 1, (const double[]){0.4, 0.7}, &o), EPIQ_OK);
    TRUE(r->points[0].ba.factor < 0.9);
    done();
}

/* data + procedural/m = 1 + 4/10: the networks are enough, and twice the rows would halve the 1. */
TEST(advice_is_on_the_ensemble)
{
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    static const epiqp_remedies words = {.both = "both", .made = "made here"};
    epiq_point point = {.procedural = epiq_part_of(4, 9, 0.9, EPIQ_BY_EV), .data = epiq_part_of(1, 9, 0.9, EPIQ_BY_IF)};
    epiqp_answer answer = {.points = &point};
    epiqp_job j = {.e = {.c = c}, .o = {.ensemble_size = 10}, .n = 50, .asked = 1, .remedy = &words, .answer = &answer};
    EQ(epiqp_advise(&j), EPIQ_OK);
    EQ(answer.result.advice.action, EPIQ_DO_COLLECT);
    EQ(answer.result.advice.rows, 50);
    CONTAINS(answer.result.advice.text,
             "50 more rows lower the variance of an ensemble of 10, data + procedural/10 = 1.4, "
             "by 36 % at best");
    j.o.ensemble_size = 1;
    EQ(epiqp_advise(&j), EPIQ_OK);
    EQ(answer.result.advice.action, EPIQ_DO_TRAIN);
    epiqp_arena_free(c, &answer.arena);
    done();
}
