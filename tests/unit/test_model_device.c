/* test_model_device.c - predictions of a model with a device that is not there (fake_device.h): they are those of the processor in
 * double precision; when it is taken; and what happens where it has too little memory or fails. */
#include "fake_device.h"
#include "fitted_model.h"
#include "rng/rng.h"

static const double PLENTY = 1e12;

static void with_device(epiq_ctx *c, double bytes)
{
    fake_reset(bytes);
    epiq_ctx_on_device(c, fake_open, NULL);
}

static void nothing_is_left(void)
{
    EQ(fake.memories, 0);
    EQ(fake.matrices, 0);
}

/* The fake's networks are the processor's code, so they have the same bits; its solves go by other blocks of rows. */
static void same(const numbers *got, const numbers *want)
{
    const double *const a[] = {got->prediction, got->procedural, got->data, got->ensemble,
                               got->sd,         got->lo,         got->hi,   got->noise},
                        *const b[] = {want->prediction, want->procedural, want->data, want->ensemble,
                                      want->sd,         want->lo,         want->hi,   want->noise};
    for (ptrdiff_t p = 0; p < POINTS; p++) {
        EQ(got->known[p], want->known[p]);
        for (int k = 0; k < 8; k++) {
            CLOSE(a[k][p], b[k][p], 1e-9);
        }
    }
}

/* In double here, and with the device. */
static void compare(epiq_options o)
{
    static numbers want, got;
    epiq_ctx *c = start();
    epiq_model *m = fitted(c, N, &o, NULL);
    with_device(c, PLENTY);
    asked_device = EPIQ_DEVICE_CPU;
    EQ(ask(c, m, 2, 1, &want), EPIQ_OK);
    EQ(fake.opened, 0);
    EQ(used_device, 0);
    const ptrdiff_t few = decided_by_few, far = withheld, beyond = outside;
    asked_device = EPIQ_DEVICE_GPU;
    EQ(ask(c, m, 2, 0, &got), EPIQ_OK);
    EQ(used_device, 1);
    TRUE(fake.calls > 0);
    TRUE((fake.runs > 0) == (o.engine == EPIQ_ENGINE_NETWORK));
    nothing_is_left();
    same(&got, &want);
    EQ(decided_by_few, few);
    EQ(withheld, far);
    EQ(outside, beyond);
    epiq_model_free(c, m);
    end(c);
}

TEST(a_device_predicts_as_the_processor_in_double)
{
    epiq_options o = small();
    compare(o);
    o.depth = 2;
    compare(o);
    o = small();
    o.methods = EPIQ_EV | EPIQ_BA;
    compare(o);
    o = small();
    o.data_by = EPIQ_DATA_BY_RETRAIN;
    o.methods = EPIQ_EV | EPIQ_IF;
    compare(o);
}

TEST(networks_whose_start_is_taken_off_are_asked_on_a_device_too)
{
    static const int PREDICTORS[] = {EPIQ_PREDICTOR_PNC, EPIQ_PREDICTOR_SHIFTED};
    for (int k = 0; k < 2; k++) {
        epiq_options o = small();
        o.predictor = PREDICTORS[k];
        o.methods = EPIQ_EV | EPIQ_IF;
        compare(o);
    }
}

TEST(other_engines_solve_on_a_device)
{
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.methods = EPIQ_IF | EPIQ_EV;
    compare(o);
    o.engine = EPIQ_ENGINE_LINEAR;
    compare(o);
}

/* Rows beyond one block of points, weights that are sent once, or with every block since they do not fit together. */
TEST(many_rows_go_in_blocks_and_weights_in_parts)
{
    enum { MANY = 70000 };
    epiq_ctx *c = start();
    epiq_options o = small();
    o.methods = EPIQ_EV;
    o.width = 4;
    o.members = 3;
    epiq_model *m = fitted(c, N, &o, NULL);
    double *x = malloc(MANY * D * sizeof *x), *want = malloc(MANY * sizeof *want), *got = malloc(MANY * sizeof *got);
    unsigned char *known = malloc(MANY);
    epiqp_normals((epiqp_stream){3, 1, 0}, MANY * D, x);
    epiq_predictions out = {
        .size = sizeof out, .prediction = want, .known = known, .exact = 1, .device = EPIQ_DEVICE_CPU};
    EQ(epiq_model_predict(c, m, MANY, x, &out), EPIQ_OK);
    const double params = 4 * (D + 1) + 5, points = 65536, each = 8 * params,
                 beside = 1.5e9 + 8 * points * (D + 1); /* ask_device.c */
    const double room[] = {PLENTY, (beside + 2.5 * each) / 0.8, (beside + 1.5 * each) / 0.8};
    for (int k = 0; k < 3; k++) {
        with_device(c, room[k]);
        out = (epiq_predictions){.size = sizeof out, .prediction = got, .known = known, .device = EPIQ_DEVICE_GPU};
        EQ(epiq_model_predict(c, m, MANY, x, &out), EPIQ_OK);
        EQ(fake.together, 3 - k);
        EQ(fake.runs, 2 * (k == 0 ? 2 : 1 + k + 1)); /* two blocks: their rows, then networks together */
        nothing_is_left();
        TRUE(memcmp(got, want, MANY * sizeof *got) == 0);
    }
    free(x);
    free(want);
    free(got);
    free(known);
    epiq_model_free(c, m);
    end(c);
}

TEST(a_device_is_taken_where_rows_so_far_would_keep_the_processor_busy)
{
    static numbers got;
    epiq_ctx *c = start();
    epiq_options o = small();
    asked_device = EPIQ_DEVICE_AUTO;
    with_device(c, PLENTY);
    epiq_model *m = fitted(c, N, &o, NULL);
    asked_before = 100000000;
    EQ(ask(c, m, 2, 0, &got), EPIQ_OK); /* the processor asks these in single precision */
    EQ(fake.opened, 0);
    epiq_model_free(c, m);
    o.depth = 2;
    m = fitted(c, N, &o, NULL);
    asked_before = 0;
    EQ(ask(c, m, 2, 0, &got), EPIQ_OK);
    EQ(fake.opened, 0);
    asked_before = 100000000; /* times 10 networks of 1217 weights */
    EQ(ask(c, m, 2, 0, &got), EPIQ_OK);
    EQ(fake.opened, 1);
    EQ(used_device, 1);
    asked_device = EPIQ_DEVICE_CPU;
    with_device(c, PLENTY);
    EQ(ask(c, m, 2, 0, &got), EPIQ_OK);
    EQ(fake.opened, 0);
    asked_before = 0;
    epiq_model_free(c, m);
    end(c);
}

TEST(without_a_device_gpu_fails_and_auto_does_without)
{
    static numbers want, got;
    epiq_ctx *c = start();
    epiq_options o = small();
    o.depth = 2;
    epiq_model *m = fitted(c, N, &o, NULL);
    asked_device = EPIQ_DEVICE_CPU;
    EQ(ask(c, m, 2, 0, &want), EPIQ_OK);
    for (int k = 0; k < 2; k++) { /* there is none; it has no memory */
        with_device(c, k ? 1e9 : PLENTY);
        fake.why = k ? NULL : "there is no driver";
        asked_device = EPIQ_DEVICE_GPU;
        EQ(ask(c, m, 2, 0, &got), k ? EPIQ_E_NOMEM : EPIQ_E_USAGE);
        CONTAINS(epiq_message(c), "device auto or cpu");
        asked_device = EPIQ_DEVICE_AUTO;
        asked_before = 100000000;
        EQ(ask(c, m, 2, 0, &got), EPIQ_OK);
        EQ(used_device, 0);
        same(&got, &want);
        nothing_is_left();
        asked_before = 0;
    }
    asked_device = 7;
    EQ(ask(c, m, 2, 0, &got), EPIQ_E_USAGE);
    asked_device = EPIQ_DEVICE_AUTO;
    epiq_model_free(c, m);
    end(c);
}

/* At every call in turn: with gpu it ends with the sentence, with auto the block is predicted again without. */
TEST(a_device_that_fails_while_predicting)
{
    static numbers want, got;
    epiq_ctx *c = start();
    epiq_options o = small();
    o.depth = 2;
    epiq_model *m = fitted(c, N, &o, NULL);
    int k = 1;
    asked_device = EPIQ_DEVICE_CPU;
    EQ(ask(c, m, 2, 0, &want), EPIQ_OK);
    const ptrdiff_t beyond = outside;
    for (int s = EPIQ_E_NUMERIC; s && k < 100; k++) {
        with_device(c, PLENTY);
        fake.fail_at = k;
        fake.fail_with = k % 2 ? EPIQ_E_NUMERIC : EPIQ_E_NOMEM;
        asked_device = EPIQ_DEVICE_GPU;
        s = ask(c, m, 2, 0, &got);
        nothing_is_left();
        if (!s) break;
        EQ(s, fake.fail_with);
        CONTAINS(epiq_message(c), "a failure that the test asked for");
        with_device(c, PLENTY);
        fake.fail_at = k;
        asked_device = EPIQ_DEVICE_AUTO;
        asked_before = 100000000;
        EQ(ask(c, m, 2, 0, &got), EPIQ_OK);
        if (fake.calls >= k) {
            EQ(used_device, 0);
            same(&got, &want);
        }
        EQ(outside, beyond);
        nothing_is_left();
        asked_before = 0;
    }
    TRUE(k > 4 && k < 100);
    asked_device = EPIQ_DEVICE_AUTO;
    epiq_model_free(c, m);
    end(c);
}
