/* Tables at the edge of what doubles hold, through every engine, kernel, correction and solver: a sound answer with the right
 * warning, or one sentence and the right status. Whether the numbers are right is for tests/torture/judge.py, in 60 digits. */
#include "data/data.h"
#include "epiq_details.h"
#include "invariants.h"
#include "one_estimate.h"
#include "usual.h"

enum { N = 14, D = 2 };

typedef struct {
    const char *name;
    double x[N * D], y[N], x0[D];
    ptrdiff_t n;
    const char *options; /* "name=value name=value" for every question */
    const char *warns;   /* a code that must be there, or jitter instead of ill_conditioned; NULL: any */
    int status;          /* that must come, for engine infinite */
} table;

/* 14 rows without structure, the same everywhere: multiples of 2^-10 */
static table plain(const char *name)
{
    table t = {.name = name, .n = N, .x0 = {0.125, -0.25}};
    unsigned state = 12345;
    for (int i = 0; i < N * D; i++) {
        state = state * 1103515245u + 12345u;
        t.x[i] = (double)(int)(state >> 16 & 4095) / 1024 - 2;
    }
    for (int i = 0; i < N; i++) {
        state = state * 1103515245u + 12345u;
        t.y[i] = t.x[i * D] * t.x[i * D + 1] + (double)(int)(state >> 16 & 1023) / 1024;
    }
    return t;
}

static table with_feature(const char *name, double times, double plus)
{
    table t = plain(name);
    for (int i = 0; i < N; i++) {
        t.x[i * D] = times * t.x[i * D] + plus;
    }
    t.x0[0] = times * t.x0[0] + plus;
    return t;
}

static table with_target(const char *name, double times, double plus)
{
    table t = plain(name);
    for (int i = 0; i < N; i++) {
        t.y[i] = times * t.y[i] + plus;
    }
    return t;
}

/* The second half repeats the first, but for so many ulp of one feature. */
static table repeated(const char *name, int ulps)
{
    table t = plain(name);
    memcpy(t.x + N / 2 * D, t.x, sizeof t.x / 2);
    for (int i = N / 2; i < N; i++) {
        for (int k = 0; k < ulps; k++) {
            t.x[i * D] = nextafter(t.x[i * D], HUGE_VAL);
        }
    }
    t.warns = ulps ? NULL : "duplicate_rows";
    return t;
}

/* What is asked about every table */
static const char *const QUESTIONS[] = {
    "engine=infinite",
    "engine=infinite correction=unbiased scale=minmax",
    "engine=infinite correction=jackknife",
    "engine=infinite correction=none",
    "engine=infinite probes=16",
    "engine=infinite time=3",
    "engine=infinite sweep=3",
    "engine=infinite solver=divided",
    "engine=linear",
    "engine=linear linear-kernel=own",
    "engine=linear hbar=ensemble methods=if,ev",
    "engine=linear kernel=empirical",
    "engine=network steps=50",
    "engine=network optimizer=gd steps=5 methods=ev,ba",
    "engine=network optimizer=flow steps=5 methods=ev,ba",
};

static void set_all(epiq_options *o, const char *list)
{
    char copy[256], *rest = copy; /* these options are numbers and choices, of which no text is kept */
    snprintf(copy, sizeof copy, "%s", list ? list : "");
    for (char *one = strtok_r(copy, " ", &rest); one; one = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(one, '=');
        *value++ = '\0';
        epiq_ctx *own;
        EQ(epiq_ctx_new(&own), EPIQ_OK);
        EQ(epiq_options_set(own, o, one, value), EPIQ_OK);
        epiq_ctx_free(own);
    }
}

static epiq_options small(const char *question, const char *own)
{
    epiq_options o = usual_options();
    o.width = 3;
    o.members = 3;
    o.batches = 3;
    o.level = 0.8;
    o.threads = 1;
    set_all(&o, question);
    set_all(&o, own);
    return o;
}

static void ask(const table *t, const char *question)
{
    epiq_options o = small(question, t->options);
    int s = run(t->n, D, t->x, t->y, NULL, 1, t->x0, &o);
    const char *wrong = s < 0 ? NULL : sound(r, &o);
    bool plain_question = strcmp(question, QUESTIONS[0]) == 0;
    if (s < 0 && (strlen(epiq_message(c)) < 20 || (s != EPIQ_E_DATA && s != EPIQ_E_NUMERIC))) {
        wrong = "refused without a sentence, or with another status";
    } else if (plain_question && s != t->status) {
        wrong = "another status than wanted";
    } else if (plain_question && s >= 0 && t->warns && !warned_in(r, t->warns) &&
               !(strcmp(t->warns, "ill_conditioned") == 0 && warned_in(r, "jitter"))) {
        wrong = "the warning is missing";
    }
    if (plain_question && s < 0) SENTENCE_ROUGHLY(epiq_message(c));
    if (wrong) {
        TEST_FAIL("%s, asked with %s %s: %s (status %d, \"%s\")\n", t->name, question, t->options ? t->options : "",
                  wrong, s, epiq_message(c));
    }
}

static void ask_all(const table *t)
{
    for (size_t k = 0; k < sizeof QUESTIONS / sizeof *QUESTIONS; k++) {
        ask(t, QUESTIONS[k]);
    }
    done();
}

TEST(features_of_any_size_are_scaled)
{
    table huge = with_feature("feature at 1e300", 1e300, 0), tiny = with_feature("feature at 1e-300", 1e-300, 0),
          mixed = with_feature("million-fold", 1e6, 0), far = with_feature("feature at 1e14 + x", 1, 1e14),
          lost = with_feature("feature at 1e-310", 1e-310, 0);
    far.warns = "last_digits";
    lost.status = EPIQ_E_DATA;
    ask_all(&huge);
    ask_all(&tiny);
    ask_all(&mixed);
    ask_all(&far);
    ask_all(&lost);
}

TEST(features_that_are_not_scaled_must_have_squares)
{
    table huge = with_feature("feature at 1e300", 1e300, 0), large = with_feature("feature at 1e140", 1e140, 0),
          mixed = with_feature("million-fold", 1e6, 0), tiny = with_feature("feature at 1e-300", 1e-300, 0);
    huge.options = large.options = mixed.options = tiny.options = "scale=none";
    huge.status = EPIQ_E_NUMERIC;
    large.warns = "jitter";
    ask_all(&huge);
    ask_all(&large);
    ask_all(&mixed);
    ask_all(&tiny);
    for (int i = 0; i < N * D; i++) {
        tiny.x[i] = 1e-200 * (i % 7 - 3);
    }
    tiny.x0[0] = tiny.x0[1] = 1e-200;
    tiny.options = "scale=none bias=0";
    tiny.status = EPIQ_E_NUMERIC;
    ask_all(&tiny);
    for (int i = 0; i < N * D; i++) {
        tiny.x[i] *= 1e100;
    }
    tiny.x0[0] = tiny.x0[1] = 1e-100;
    tiny.status = EPIQ_OK;
    tiny.warns = "out_of_range"; /* the data variance is 1e-400, and not 0 */
    ask_all(&tiny);
}

TEST(targets_of_any_size_have_answers_or_a_reason)
{
    table all[] = {with_target("target at 1e150", 1e150, 0),   with_target("target at 1e-150", 1e-150, 0),
                   with_target("target at 1e300", 1e300, 0),   with_target("target at 1e-300", 1e-300, 0),
                   with_target("target at 1e-310", 1e-310, 0), with_target("constant target", 0, 3),
                   with_target("target at 1e12 + y", 1, 1e12)};
    all[2].warns = all[3].warns = "out_of_range";
    all[4].status = EPIQ_E_DATA;
    all[5].warns = "constant_target";
    all[6].warns = "last_digits";
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        ask_all(&all[k]);
    }
    all[2].x0[0] = 1e12; /* where the prediction is 1e312 */
    all[2].status = EPIQ_E_NUMERIC;
    ask_all(&all[2]);
}

TEST(rows_that_repeat_are_solved_with_or_warned_of)
{
    static const char *const LAMBDAS[] = {"lambda=1e-16", "lambda=1e-12", "lambda=1e-3", "lambda=1e16"};
    for (int ulps = 0; ulps < 2; ulps++) {
        for (int k = 0; k < 4; k++) {
            table t = repeated(ulps ? "rows 1 ulp apart" : "duplicate rows", ulps);
            t.options = LAMBDAS[k];
            t.warns = k == 0 ? "ill_conditioned" : t.warns;
            ask_all(&t);
            epiq_options o = small(QUESTIONS[0], t.options);
            EQ(run(t.n, D, t.x, t.y, NULL, 1, t.x0, &o), EPIQ_OK);
            TRUE(k == 0 || !warned_in(r, "ill_conditioned")); /* at 1e-12 four digits are right */
        }
    }
    table equal = plain("all rows equal");
    for (int i = 0; i < N * D; i++) {
        equal.x[i] = 1;
    }
    equal.warns = "constant_columns";
    ask_all(&equal);
    table few = plain("two rows");
    few.n = 2;
    few.warns = "no_predictive";
    ask_all(&few);
    few.n = 1;
    few.status = EPIQ_E_DATA;
    ask_all(&few);
    done();
}

TEST(networks_of_any_shape_have_answers_or_a_reason)
{
    static const struct {
        const char *options, *warns;
    } SHAPES[] = {
        {"depth=30", NULL},
        {"width=1", NULL},
        {"width=1 depth=30", NULL},
        {"depth=1000", NULL},
        {"bias=1e6", NULL},
        {"bias=1e-6", NULL},
        {"bias=0", NULL},
        {"bias-sd=1e6", "ill_conditioned"},
        {"lambda=1e-16", NULL},
        {"lambda=1e-8", NULL},
        {"lambda=1", NULL},
        {"lambda=1e8", NULL},
        {"lambda=1e16", NULL},
        {"bias=1e6 bias-sd=0", NULL},
        {"bias=1e6 bias-sd=1e6", "ill_conditioned"},
        {"level=0.999999999", NULL},
        {"level=1e-9", NULL},
    };
    for (size_t k = 0; k < sizeof SHAPES / sizeof *SHAPES; k++) {
        table t = plain("plain rows");
        t.options = SHAPES[k].options;
        t.warns = SHAPES[k].warns;
        ask_all(&t);
    }
}

TEST(points_may_lie_far_away_but_must_have_squares)
{
    static const double FAR[] = {1e12, 1e140, 1e200};
    for (int k = 0; k < 3; k++) {
        table t = plain("a far point");
        t.x0[0] = FAR[k];
        t.warns = "outside_range";
        t.status = k == 2 ? EPIQ_E_NUMERIC : EPIQ_OK;
        ask_all(&t);
    }
}

/* Where biases start at 0 the kernel depends on the direction of x0, which at the mean is rounding. */
TEST(the_origin_of_networks_whose_biases_start_at_zero_is_a_jump)
{
    table t = plain("at the mean");
    epiq_options o = small(QUESTIONS[0], "bias-sd=0");
    EQ(run(N, D, t.x, t.y, NULL, 0, NULL, &o), EPIQ_OK);
    TRUE(warned_in(r, "jump"));
    double there = r->points[0]->prediction, beside[D];
    for (int sign = -1; sign <= 1; sign += 2) { /* rounding has no direction */
        for (int j = 0; j < D; j++) {
            beside[j] = data->mean[j] + sign * 1e-12;
        }
        double x0[D] = {beside[0], beside[1]};
        EQ(run(N, D, t.x, t.y, NULL, 1, x0, &o), EPIQ_OK);
        NEAR(r->points[0]->prediction, there, 0);
        TRUE(warned_in(r, "jump"));
    }
    o.bias_sd = 1;
    EQ(run(N, D, t.x, t.y, NULL, 0, NULL, &o), EPIQ_OK);
    TRUE(!warned_in(r, "jump"));
    done();
}

/* At a row tau^2 falls with lambda^2, to below what conjugate gradients leave open: they go on until it is right, or it is not
 * given where rounding is in the way, as it is not by the factor. Half a per cent of its root is what they may leave open, and
 * as much of the data part's, in bounds. */
TEST(iteration_gives_no_number_that_its_tolerance_decides)
{
    enum { ROWS = 150, FEATURES = 3 };
    static const double LAMBDAS[] = {1e-3, 1e-5, 1e-7, 1e-9, 1e-12};
    static double x[ROWS * FEATURES], y[ROWS];
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    EQ(epiq_synth(own, 1, ROWS, FEATURES, 4, x, y), EPIQ_OK);
    epiq_ctx_free(own);
    int known[2] = {0};
    for (int k = 0; k < 5; k++) {
        double tau2[2] = {0}, V[2] = {0};
        for (int iterate = 0; iterate < 2; iterate++) {
            epiq_options o =
                small("engine=infinite correction=none influential=0", iterate ? "solver=iterative rank=10" : "");
            o.lambda = LAMBDAS[k];
            EQ(run(ROWS, FEATURES, x, y, NULL, 1, x + 2 * FEATURES, &o), EPIQ_OK);
            tau2[iterate] = r->points[0]->procedural.variance;
            known[iterate] += r->points[0]->procedural.known;
            TRUE(r->points[0]->procedural.known || warned_in(r, "lost_in_rounding"));
            V[iterate] = r->points[0]->data.variance;
            TRUE(iterate ? r->solve->open_data > 0 && r->solve->open_data < 0.05 : r->solve->open_data == 0);
        }
        NEAR(tau2[1], tau2[0], tau2[1] > 0 ? 0.02 * tau2[0] : HUGE_VAL);
        NEAR(V[1], V[0], 0.02 * V[0]);
    }
    EQ(known[0], 3);
    EQ(known[1], 3);
}
