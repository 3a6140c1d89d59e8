/* Estimates with a device that is not there (fake_device.h): when it is asked for, what it changes in the answer, which is
 * rounding, and what happens where there is none, too little memory, or a failure. */
#include "data/table.h"
#include "epiq_device.h"
#include "epiq_model.h"
#include "fake_device.h"
#include "rng/rng.h"
#include "run/run.h"
#include "test.h"
#include "usual.h"
#include "warned.h"

enum { N = 60, D = 3 };
static double X[N * D], Y[N];
static const double X0[2 * D] = {0.1, 0.1, 0.1, 0.02, 0.15, 0.08};
static const double PLENTY = 1e12;

static epiq_ctx *c;
static epiq_data *data;
static epiq_points *at;

static void begin(const epiq_options *o, const int64_t *group, const char *where)
{
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_synth(c, 1, N, D, 5, X, Y), EPIQ_OK);
    EQ(epiq_data_new(c, N, D, X, Y, group, o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(where ? epiq_points_add(c, at, where) : epiq_points_add_rows(c, at, 2, X0), EPIQ_OK);
    epiq_ctx_on_device(c, fake_open, NULL);
}

static void end(void)
{
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    EQ(c->live_blocks, 0);
    EQ(fake.matrices, 0);
    EQ(fake.memories, 0);
    epiq_ctx_free(c);
}

static epiq_options infinite(void)
{
    epiq_options o = usual_options();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.methods = EPIQ_IF | EPIQ_EV;
    o.scale = EPIQ_SCALE_NONE;
    o.threads = 2;
    return o;
}

static void same_points(const epiq_result *got, const epiq_result *want)
{
    EQ(got->point_count, want->point_count);
    for (ptrdiff_t p = 0; p < want->point_count; p++) {
        const epiq_point *a = got->points[p], *b = want->points[p];
        CLOSE(a->prediction, b->prediction, 1e-8);
        CLOSE(a->data.variance, b->data.variance, 1e-8);
        CLOSE(a->procedural.variance, b->procedural.variance, 1e-8);
        CLOSE(a->data.hi, b->data.hi, 1e-7);
    }
}

/* The same question with the device and without. */
static void compare(epiq_options o, const int64_t *group, const char *where)
{
    epiq_result *want = NULL, *got = NULL;
    begin(&o, group, where);
    fake_reset(PLENTY);
    o.device = EPIQ_DEVICE_CPU;
    EQ(epiq_estimate(c, data, at, &o, &want), EPIQ_OK);
    EQ(fake.opened, 0);
    STR(want->backend, "blas");
    o.device = EPIQ_DEVICE_GPU;
    EQ(epiq_estimate(c, data, at, &o, &got), EPIQ_OK);
    EQ(fake.opened, 1);
    TRUE(fake.calls > 0);
    STR(got->backend, "fake+blas");
    if (got && want) same_points(got, want);
    epiq_result_free(c, want);
    epiq_result_free(c, got);
    end();
}

TEST(every_correction_with_a_device_is_that_without)
{
    for (int k = 0; k < EPIQ_CORRECTIONS; k++) {
        epiq_options o = infinite();
        o.correction = k;
        compare(o, NULL, NULL);
    }
}

TEST(groups_rows_left_out_and_probes_with_a_device_are_those_without)
{
    int64_t group[N];
    for (int i = 0; i < N; i++) {
        group[i] = i / 3;
    }
    compare(infinite(), group, NULL);
    compare(infinite(), NULL, "rows");
    epiq_options o = infinite();
    o.probes = 20;
    compare(o, NULL, NULL);
    o = infinite();
    o.solver = EPIQ_SOLVER_DIVIDED;
    compare(o, NULL, NULL);
}

TEST(linear_networks_and_the_empirical_kernel_with_a_device_are_those_without)
{
    epiq_options o = infinite();
    o.engine = EPIQ_ENGINE_LINEAR;
    o.width = 32;
    o.members = 6;
    o.hbar = EPIQ_HBAR_ENSEMBLE;
    compare(o, NULL, NULL);
    o.hbar = EPIQ_HBAR_KERNEL;
    o.kernel = EPIQ_KERNEL_EMPIRICAL;
    for (int depth = 1; depth < 3; depth++) {
        o.depth = depth;
        compare(o, NULL, NULL);
        EQ(fake.kernels, o.members);
    }
}

/* The matrix fits but what it is made of does not: the processor makes it. */
TEST(empirical_kernels_that_do_not_fit_on_a_device_are_made_by_the_processor)
{
    epiq_options o = infinite();
    o.engine = EPIQ_ENGINE_LINEAR;
    o.width = 32;
    o.members = 6;
    o.hbar = EPIQ_HBAR_KERNEL;
    o.kernel = EPIQ_KERNEL_EMPIRICAL;
    o.device = EPIQ_DEVICE_GPU;
    epiq_result *r = NULL;
    begin(&o, NULL, NULL);
    fake_reset((epiqp_gmat_bytes(N) + 10000) / 0.94); /* gmat.c; the features of 62 rows take 33,000 bytes */
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_OK);
    EQ(fake.kernels, 0);
    TRUE(fake.calls > 0);
    epiq_result_free(c, r);
    end();
}

TEST(small_work_does_not_open_a_device)
{
    epiq_options o = infinite();
    epiq_result *r = NULL;
    begin(&o, NULL, NULL);
    fake_reset(PLENTY);
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_OK);
    EQ(fake.opened, 0);
    STR(r->backend, "blas");
    epiq_result_free(c, r);
    end();
}

TEST(large_work_is_worth_a_device)
{
    const epiq_data many = {.n = 12000, .groups = 12000};
    epiqp_problem pb = {.data = &many, .n = 12000, .engine = &epiqp_engine_infinite, .e = {.threads = 8}};
    epiq_options o = infinite();
    TRUE(epiqp_device_worth(&pb, &o));
    pb.e.threads = 100;
    TRUE(!epiqp_device_worth(&pb, &o));
    pb.e.threads = 8;
    o.solver = EPIQ_SOLVER_ITERATIVE;
    TRUE(!epiqp_device_worth(&pb, &o));
    o.solver = EPIQ_SOLVER_EXACT;
    pb.engine = &epiqp_engine_network;
    o.methods = EPIQ_EV;
    o.width = 8;
    TRUE(!epiqp_device_worth(&pb, &o));
    o.width = 4096;
    TRUE(epiqp_device_worth(&pb, &o));
    o.optimizer = EPIQ_OPTIMIZER_GD;
    TRUE(!epiqp_device_worth(&pb, &o));
    pb.n = 4000;
    o.methods = EPIQ_IF;
    TRUE(!epiqp_device_worth(&pb, &o));
    o.kernel = EPIQ_KERNEL_EMPIRICAL;
    TRUE(epiqp_device_worth(&pb, &o));
}

/* Without a device, or with one whose driver is too old: a sentence, and all the same. */
TEST(a_device_that_is_not_there)
{
    epiq_options o = infinite();
    epiq_result *r = NULL;
    begin(&o, NULL, NULL);
    fake_reset(PLENTY);
    fake.why = "there is no driver";
    o.device = EPIQ_DEVICE_GPU;
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_E_USAGE);
    SAYS(epiq_message(c), "there is no driver");
    epiqp_env e = {.c = c, .la = &epiqp_la_blas, .threads = 2};
    epiqp_arena arena = {0};
    epiqp_warnings w = {.arena = &arena};
    o.device = EPIQ_DEVICE_AUTO;
    EQ(epiqp_run_device(&e, &o, true, &w), EPIQ_OK);
    TRUE(!e.device);
    EQ(w.count, 1);
    EQ(w.list[0].kind, EPIQ_W_DEVICE);
    SENTENCE(w.list[0].message);
    EQ(fake.opened, 1);
    epiqp_arena_free(c, &arena);
    epiq_ctx_on_device(c, NULL, NULL); /* the plain build says nothing of it unless asked */
    w = (epiqp_warnings){.arena = &arena};
    EQ(epiqp_run_device(&e, &o, true, &w), EPIQ_OK);
    EQ(w.count, 0);
    o.device = EPIQ_DEVICE_GPU;
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_E_USAGE);
    SENTENCE(epiq_message(c));
    o.backend = EPIQ_BACKEND_REF;
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_E_USAGE);
    SENTENCE(epiq_message(c));
    end();
}

TEST(a_device_with_too_little_memory_is_refused_with_alternatives)
{
    epiq_options o = infinite();
    epiq_result *r = NULL;
    begin(&o, NULL, NULL);
    fake_reset(1e8);
    o.device = EPIQ_DEVICE_GPU;
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_E_NOMEM);
    SENTENCE(epiq_message(c));
    end();
}

TEST(a_failing_device_fails_the_estimate_and_leaves_nothing)
{
    epiq_options o = infinite();
    epiq_result *r = NULL;
    int s = EPIQ_E_NUMERIC, k = 1;
    begin(&o, NULL, NULL);
    o.device = EPIQ_DEVICE_GPU;
    for (; s && k < 100; k++) {
        fake_reset(PLENTY);
        epiq_ctx_on_device(c, fake_open, NULL);
        fake.fail_at = k;
        fake.fail_with = k % 2 ? EPIQ_E_NUMERIC : EPIQ_E_NOMEM; /* another process may have taken the memory */
        s = epiq_estimate(c, data, at, &o, &r);
        if (!s) break;
        EQ(s, fake.fail_with);
        EQ(fake.matrices, 0);
        CONTAINS(epiq_message(c), "a failure that the test asked for");
    }
    TRUE(!s && k > 9);
    epiq_result_free(c, r);
    end();
}

/* A model takes the factor from the device. */
TEST(a_model_fitted_with_a_device_predicts_as_one_without)
{
    epiq_options o = infinite();
    double got[2][2];
    for (int k = 0; k < 2; k++) {
        epiq_model *m = NULL;
        begin(&o, NULL, NULL);
        fake_reset(PLENTY);
        o.device = k ? EPIQ_DEVICE_GPU : EPIQ_DEVICE_CPU;
        EQ(epiq_fit(c, data, &o, &m), EPIQ_OK);
        EQ(fake.opened, k);
        unsigned char known[2];
        epiq_predictions out = {.size = sizeof out, .data = got[k], .known = known, .threads = 1};
        EQ(epiq_model_predict(c, m, 2, X0, &out), EPIQ_OK);
        epiq_model_free(c, m);
        end();
    }
    CLOSE(got[1][0], got[0][0], 1e-8);
    CLOSE(got[1][1], got[0][1], 1e-8);
}

/* ---- training ---- */

static epiq_options trained(void)
{
    epiq_options o = usual_options();
    o.methods = EPIQ_EV;
    o.width = 32;
    o.members = 6;
    o.threads = 2;
    return o;
}

static epiq_result *estimated(epiq_options o, int device)
{
    epiq_result *r = NULL;
    o.device = device;
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_OK);
    return r;
}

/* The same networks with the device and without: both follow the same rules from the same starts. `near`: how far apart their
 * mean may be, in standard deviations of one, and by what share their variance and largest loss. */
static void compare_trained(epiq_options o, double near, double near_loss)
{
    begin(&o, NULL, NULL);
    fake_reset(PLENTY);
    epiq_result *want = estimated(o, EPIQ_DEVICE_CPU);
    EQ(fake.opened, 0);
    epiq_result *got = estimated(o, EPIQ_DEVICE_GPU);
    TRUE(fake.together >= (o.depth == 1 ? 6 : 2)); /* of deep networks, groups of two */
    STR(got->backend, "fake+blas");
    for (ptrdiff_t p = 0; p < want->point_count; p++) {
        const epiq_point *a = got->points[p], *b = want->points[p];
        NEAR(a->prediction, b->prediction, near * sqrt(b->procedural.variance));
        CLOSE(a->procedural.variance, b->procedural.variance, near);
    }
    EQ(got->training->members, want->training->members);
    EQ(want->training->split, 0);
    EQ(got->training->split, o.depth > 1); /* the fake says that its products are */
    EQ(want->training->in_double, 0);
    CLOSE(got->training->loss_max, want->training->loss_max, near_loss);
    epiq_result_free(c, want);
    epiq_result_free(c, got);
    end();
}

/* Over hundreds of gradients rounding may turn a step that just fails into one that just does not, and another kink is
 * passed, which moves a network by less than networks differ; with two layers the largest loss too, by 0.13 % with some of OpenBLAS's
 * kernels. tests/unit/test_train_device.c compares fewer gradients. */
TEST(networks_trained_with_a_device_are_those_without)
{
    for (int depth = 1; depth < 3; depth++) {
        epiq_options o = trained();
        o.depth = depth;
        compare_trained(o, 0.3 * depth, depth == 1 ? 1e-3 : 5e-3);
    }
}

/* Their targets are their own: with shifted, y and what the start says; with pnc, first zeros. */
TEST(networks_without_their_start_are_trained_with_a_device_too)
{
    static const int PREDICTORS[] = {EPIQ_PREDICTOR_PNC, EPIQ_PREDICTOR_SHIFTED};
    for (int k = 0; k < 2; k++) {
        epiq_options o = trained();
        o.predictor = PREDICTORS[k];
        compare_trained(o, 0.3, 5e-3);
    }
}

/* The reference backend is double throughout; others are single, as compare_trained has it. */
TEST(networks_that_end_in_double_precision_are_counted)
{
    epiq_options o = trained();
    o.members = 3;
    o.width = 16;
    o.backend = EPIQ_BACKEND_REF;
    begin(&o, NULL, NULL);
    fake_reset(PLENTY);
    epiq_result *plain = estimated(o, EPIQ_DEVICE_CPU);
    EQ(plain->training->in_double, plain->training->members);
    epiq_result_free(c, plain);
    end();
}

TEST(training_with_a_device_is_the_same_again_whoever_else_is_trained)
{
    epiq_options o = trained();
    begin(&o, NULL, NULL);
    fake_reset(PLENTY);
    epiq_result *some = estimated(o, EPIQ_DEVICE_GPU);
    o.members = 9;
    epiq_result *more = estimated(o, EPIQ_DEVICE_GPU), *again = estimated(o, EPIQ_DEVICE_GPU);
    TRUE(fake.together >= 9);
    for (ptrdiff_t p = 0; p < some->point_count; p++) {
        TRUE(more->points[p]->prediction == again->points[p]->prediction);
        for (ptrdiff_t k = 0; k < 6; k++) {
            TRUE(some->points[p]->members[k] == more->points[p]->members[k]);
        }
    }
    epiq_result_free(c, some);
    epiq_result_free(c, more);
    epiq_result_free(c, again);
    end();
}

/* At every call in turn, with gpu the estimate fails and leaves nothing. */
TEST(a_device_that_fails_while_training)
{
    epiq_options o = trained();
    o.members = 3;
    o.device = EPIQ_DEVICE_GPU;
    int s = EPIQ_E_NUMERIC, k = 1;
    epiq_result *r = NULL;
    begin(&o, NULL, NULL);
    for (; k < 200; k++) {
        fake_reset(PLENTY);
        epiq_ctx_on_device(c, fake_open, NULL);
        fake.fail_at = k;
        fake.fail_with = k % 2 ? EPIQ_E_NUMERIC : EPIQ_E_NOMEM;
        s = epiq_estimate(c, data, at, &o, &r);
        if (s != fake.fail_with || !strstr(epiq_message(c), "a failure that the test asked for")) break;
        EQ(fake.memories, 0);
    }
    TRUE(k > 9);
    epiq_result_free(c, r);
    end();
}

/* With auto, the networks that a failing device leaves are trained without it, and the estimate is an ordinary one. */
TEST(a_device_that_is_lost_while_training_leaves_the_rest_to_the_processor)
{
    enum { MEMBERS = 1000 };
    epiq_options o = trained();
    o.members = MEMBERS; /* enough that auto takes the device */
    o.width = 512;
    o.threads = 1;
    o.fold_members = 0;
    begin(&o, NULL, NULL);
    fake_reset(PLENTY);
    epiq_ctx_on_device(c, fake_open, NULL);
    fake.fail_at = 30;
    fake.fail_with = EPIQ_E_NOMEM;
    epiq_result *r = estimated(o, EPIQ_DEVICE_AUTO);
    EQ(fake.opened, 1);
    EQ(fake.memories, 0);
    TRUE(fake.calls >= fake.fail_at);
    EQ(r->training->members, MEMBERS);
    epiq_result_free(c, r);
    end();
}

TEST(a_device_with_too_little_memory_to_train_is_refused)
{
    epiq_options o = trained();
    epiq_result *r = NULL;
    begin(&o, NULL, NULL);
    fake_reset(6e9);
    o.device = EPIQ_DEVICE_GPU;
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_E_NOMEM);
    TRUE(strstr(epiq_message(c), "on the GPU") != NULL);
    EQ(fake.runs, 0);
    end();
}
