/* Training with a device that is not there (fake_device.h), network by network: the same weights after some gradients, the same loss
 * at the end, several networks side by side, memory that cannot be had. */
#include "fake_device.h"
#include "test.h"
#include "train/remote.h"
#include "train/train.h"
#include "usual.h"

#include <math.h>
#include <omp.h>

enum { N = 80, D = 4 };
static double X[N * D], Y[N];
static epiq_ctx *c;
static epiqp_env here;
static epiqp_device device;

static void begin(void)
{
    char why[100];
    epiq_options o = usual_options();
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_synth(c, 1, N, D, 5, X, Y), EPIQ_OK);
    here = epiqp_run_begin(c, &o);
    here.threads = 1;
    fake_reset(1e12);
    device = (epiqp_device){.table = fake_open(NULL, why, sizeof why), .bytes = 1e12, .only = true};
}

static void end(void)
{
    epiqp_run_end();
    EQ(fake.memories, 0);
    EQ(c->live_blocks, 0);
    epiq_ctx_free(c);
}

/* Trains `count` networks at once, from different starts: weights to theta, count by p. there: on the device. */
static int train(const epiqp_net *net, ptrdiff_t steps, bool there, int count, double *theta, epiqp_training *report)
{
    const ptrdiff_t p = epiqp_net_params(net);
    double *theta0 = malloc((size_t)(count * p) * sizeof *theta0);
    epiqp_left left;
    epiqp_many *many = NULL;
    epiqp_env with = here;
    with.device = &device;
    int status = epiqp_left_new(&here, net, N, X, &left);
    if (!status && there) status = epiqp_many_new(&with, count, (count + 2) / 3, epiqp_remote_bytes(p), &many);
    if (!status && there) epiqp_many_begin(many, count);
    const bool ready = !status;
#pragma omp parallel for num_threads(count) schedule(static, 1)
    for (int k = 0; k < count; k++) {
        epiqp_env own = here;
        epiqp_task task = {net, N, X, Y, 1e-3, theta0 + k * p, &left, 0, false};
        own.remote = many ? epiqp_many_place(many, k) : NULL;
        epiqp_net_init(net, (epiqp_stream){3, (uint64_t)k, 0}, theta0 + k * p);
        memcpy(theta + k * p, theta0 + k * p, (size_t)p * sizeof *theta);
        int s = ready ? epiqp_minimise(&own, &task, steps, theta + k * p, &report[k]) : EPIQ_OK;
#pragma omp critical(test)
        if (s) status = s;
        if (many) epiqp_many_leave(own.remote);
    }
    epiqp_many_free(many);
    epiqp_left_free(c, &left);
    free(theta0);
    return status;
}

/* Rounding in single precision, 1e-7, grows over 60 gradients by less than 1000 times; a kink that is passed moves one unit. */
TEST(some_gradients_with_a_device_are_those_without)
{
    begin();
    for (int depth = 1; depth <= 3; depth++) {
        const epiqp_net net = {D, 40, depth, 1, 1};
        const ptrdiff_t p = epiqp_net_params(&net);
        double *want = malloc((size_t)p * sizeof *want), *got = malloc((size_t)p * sizeof *got), off = 0;
        epiqp_training a, b;
        EQ(train(&net, -60, false, 1, want, &a), EPIQ_OK);
        EQ(train(&net, -60, true, 1, got, &b), EPIQ_OK);
        EQ(b.iterations, a.iterations);
        CLOSE(b.loss, a.loss, 1e-4);
        CLOSE(b.gradient_rel, a.gradient_rel, 2e-2);
        for (ptrdiff_t k = 0; k < p; k++) {
            off += (got[k] - want[k]) * (got[k] - want[k]);
        }
        NEAR(sqrt(off / epiqp_dot(p, want, want)), 0, 1e-4);
        free(want);
        free(got);
    }
    end();
}

TEST(networks_side_by_side_are_those_alone)
{
    enum { COUNT = 5 };
    const epiqp_net net = {D, 32, 1, 1, 1};
    const ptrdiff_t p = epiqp_net_params(&net);
    double *want = malloc((size_t)(COUNT * p) * sizeof *want), *got = malloc((size_t)(COUNT * p) * sizeof *got);
    epiqp_training a[COUNT], b[COUNT];
    begin();
    EQ(train(&net, 0, false, COUNT, want, a), EPIQ_OK);
    EQ(train(&net, 0, true, COUNT, got, b), EPIQ_OK);
    EQ(fake.together, 3); /* of two groups */
    for (int k = 0; k < COUNT; k++) {
        TRUE(b[k].converged);
        CLOSE(b[k].loss, a[k].loss, 1e-3); /* training resolves as much */
    }
    EQ(train(&net, 0, true, 2, want, a), EPIQ_OK);
    EQ(memcmp(want, got, (size_t)(2 * p) * sizeof *want), 0);
    EQ(a[1].iterations, b[1].iterations);
    free(want);
    free(got);
    end();
}

TEST(every_allocation_that_fails_while_training_there_leaves_nothing)
{
    const epiqp_net net = {D, 16, 1, 1, 1};
    double theta[2 * 200];
    epiqp_training report[2];
    int s = EPIQ_E_NOMEM, k = 0;
    TRUE(epiqp_net_params(&net) <= 200);
    begin();
    for (; s && k < 1000; k++) {
        c->fail_after = k;
        s = train(&net, 20, true, 2, theta, report);
        c->fail_after = -1;
        TRUE(s == EPIQ_OK || s == EPIQ_E_NOMEM);
        EQ(c->live_blocks, 0);
        EQ(fake.memories, 0);
        epiqp_clear(c);
    }
    TRUE(!s && k > 5);
    end();
}
