/* test_run_predictor.c - networks whose own start is taken off (--predictor): against kernel regression where they are solved,
 * and against networks trained the plain way on other targets where they are trained. */
#include "epiq_combine.h"
#include "epiq_model.h"
#include "sixty_rows.h"

#include <stdlib.h>

/* The output of a network with these weights at one point: docs/method.md section 2, read word by word. */
static double output(const epiq_options *o, const double *theta, const double *x)
{
    enum { MOST = 64 };
    double g[MOST], f[MOST];
    ptrdiff_t inputs = D;
    memcpy(g, x, D * sizeof *g);
    for (ptrdiff_t l = 0; l <= o->depth; l++) {
        const ptrdiff_t units = l < o->depth ? o->width : 1;
        const double *w = theta, *b = theta + units * inputs;
        for (ptrdiff_t j = 0; j < units; j++) {
            f[j] = o->bias * b[j];
            for (ptrdiff_t k = 0; k < inputs; k++) {
                f[j] += w[j * inputs + k] * g[k];
            }
        }
        for (ptrdiff_t j = 0; l < o->depth && j < units; j++) {
            g[j] = sqrt(2 / (double)units) * fmax(f[j], 0);
        }
        theta = b + units;
        inputs = units;
    }
    return f[0];
}

static double *start_of(const epiq_options *o, ptrdiff_t k)
{
    double *theta = calloc((size_t)epiq_network_size(o, D), sizeof *theta);
    EQ(epiq_network_start(c, o, D, k, theta), EPIQ_OK);
    return theta;
}

/* Member k of plain networks on other targets, at both points. */
static void plain(const epiq_options *o, const double *y, ptrdiff_t k, double *h)
{
    epiq_options own = *o;
    own.predictor = EPIQ_PREDICTOR_ENSEMBLE;
    EQ(run(N, D, X, y, NULL, 2, X0, &own), EPIQ_OK);
    for (int p = 0; r && p < 2; p++) {
        h[p] = r->points[p]->members[k];
    }
}

static void as_plain_networks(const epiq_options *o)
{
    double got[2], first[2], second[2], zero[N] = {0}, moved[N], h0[2];
    const ptrdiff_t k = 1;
    EQ(run_synth(o), EPIQ_OK);
    for (int p = 0; r && p < 2; p++) {
        got[p] = r->points[p]->members[k];
    }
    double *theta = start_of(o, k);
    for (int i = 0; i < N; i++) {
        moved[i] = Y[i] + output(o, theta, X + i * D);
    }
    for (int p = 0; p < 2; p++) {
        h0[p] = output(o, theta, X0 + p * D);
    }
    free(theta);
    const bool shifted = o->predictor == EPIQ_PREDICTOR_SHIFTED;
    plain(o, shifted ? moved : Y, k, first);
    if (!shifted) plain(o, zero, k, second);
    for (int p = 0; p < 2; p++) {
        /* The minimum is found to some 1e-7 of the gradient, and targets that differ in the last bit end elsewhere: 4e-5
         * was seen, by another compiler. What is taken off is 9e-4 or more. */
        NEAR(got[p], first[p] - (shifted ? h0[p] : second[p]), 2e-4);
    }
}

TEST(trained_ones_are_plain_networks_on_other_targets)
{
    for (int predictor = EPIQ_PREDICTOR_PNC; predictor <= EPIQ_PREDICTOR_SHIFTED; predictor++) {
        epiq_options o = small();
        o.methods = EPIQ_EV;
        o.predictor = predictor;
        as_plain_networks(&o);
        o.depth = 2;
        o.bias_sd = 0;
        o.width = 16;
        as_plain_networks(&o);
        o.optimizer = EPIQ_OPTIMIZER_GD;
        o.steps = 50;
        as_plain_networks(&o);
        o.optimizer = EPIQ_OPTIMIZER_SGD;
        o.bias = 0;
        as_plain_networks(&o);
    }
    done();
}

TEST(solved_ones_are_kernel_regression)
{
    static const int engines[] = {EPIQ_ENGINE_LINEAR, EPIQ_ENGINE_INFINITE};
    for (int k = 0; k < 4; k++) {
        epiq_options o = small();
        o.methods = EPIQ_IF | EPIQ_EV;
        o.engine = engines[k / 2];
        o.predictor = k % 2 ? EPIQ_PREDICTOR_PNC : EPIQ_PREDICTOR_SHIFTED;
        EQ(run_synth(&o), EPIQ_OK);
        for (int p = 0; r && p < 2; p++) {
            const epiq_point *at_p = r->points[p];
            NEAR(at_p->prediction, at_p->kernel_prediction.value, 1e-12);
            TRUE(at_p->procedural.known && at_p->infinite.known);
            NEAR(at_p->procedural.variance, 0, 0);
            NEAR(at_p->infinite.variance, 0, 0);
            TRUE(at_p->data.variance > 0);
            NEAR(at_p->single.variance, at_p->data.variance, 0);
        }
    }
    done();
}

TEST(stopped_flow_without_its_start_has_no_procedural_part)
{
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.methods = EPIQ_IF | EPIQ_EV;
    o.time = 100;
    EQ(run_synth(&o), EPIQ_OK);
    TRUE(r->points[0]->procedural.variance > 0);
    const double kernel = r->points[0]->prediction;
    o.predictor = EPIQ_PREDICTOR_SHIFTED;
    EQ(run_synth(&o), EPIQ_OK);
    NEAR(r->points[0]->prediction, kernel, 0);
    TRUE(r->points[0]->procedural.known);
    NEAR(r->points[0]->procedural.variance, 0, 0);
    done();
}

/* Where networks differ by more than other rows would change them. A three-hundredth is left, measured with 60 starts, and
 * the ratio of two variances of 20 starts is off by a factor of 3 once in 60 times. */
TEST(little_is_left_of_the_procedural_variance)
{
    enum { ROWS = 80, FEATURES = 16, MEMBERS = 20 };
    static double x[ROWS * FEATURES], y[ROWS], x0[FEATURES];
    double left[3], mean[3];
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    EQ(epiq_synth(own, 2, ROWS, FEATURES, 3, x, y), EPIQ_OK);
    epiq_ctx_free(own);
    for (int k = 0; k < FEATURES; k++) {
        x0[k] = 0.1;
    }
    for (int predictor = 0; predictor < 3; predictor++) {
        epiq_options o = usual_options();
        o.bias_sd = 0;
        o.methods = EPIQ_EV;
        o.members = MEMBERS;
        o.fold_members = 0;
        o.predictor = predictor;
        EQ(run(ROWS, FEATURES, x, y, NULL, 1, x0, &o), EPIQ_OK);
        left[predictor] = r->points[0]->procedural.variance;
        mean[predictor] = r->points[0]->prediction;
    }
    TRUE(left[EPIQ_PREDICTOR_PNC] < left[0] / 10);
    TRUE(left[EPIQ_PREDICTOR_SHIFTED] < left[0] / 10);
    /* all estimate the same mean */
    NEAR(mean[EPIQ_PREDICTOR_PNC], mean[0], 4 * sqrt(left[0] / MEMBERS));
    NEAR(mean[EPIQ_PREDICTOR_SHIFTED], mean[0], 4 * sqrt(left[0] / MEMBERS));
    done();
}

TEST(auto_takes_the_one_with_the_fewest_trainings)
{
    epiq_options o = small();
    o.methods = EPIQ_EV;
    o.predictor = EPIQ_PREDICTOR_AUTO;
    EQ(run_synth(&o), EPIQ_OK);
    const epiq_predictor_choice *found = r->predictor_choice;
    TRUE(found->known && found->reason && found->data > 0);
    EQ(r->ran->predictor, found->predictor);
    TRUE(found->tried_count >= 1);
    ptrdiff_t networks = 8, least = 1000000; /* on halves of the rows */
    for (ptrdiff_t k = 0; k < found->tried_count; k++) {
        const epiq_predictor_tried *one = found->tried[k];
        const ptrdiff_t each = one->predictor == EPIQ_PREDICTOR_PNC ? 2 : 1;
        EQ(one->trainings, each * (ptrdiff_t)fmax(1, ceil(10 * one->procedural / found->data)));
        networks += 4 * each;
        if (one->trainings < least) {
            least = one->trainings;
            if (k == found->tried_count - 1) EQ(found->predictor, one->predictor);
        }
    }
    EQ(found->networks, networks);
    const double prediction = r->points[0]->prediction;
    const int chosen = found->predictor;
    o.predictor = chosen;
    o.threads = 1;
    EQ(run_synth(&o), EPIQ_OK);
    NEAR(r->points[0]->prediction, prediction, 0); /* trying leaves no trace, whatever the threads */
    TRUE(!r->predictor_choice->known);
    o.predictor = EPIQ_PREDICTOR_AUTO;
    o.engine = EPIQ_ENGINE_LINEAR; /* there nothing is left, and nothing is tried */
    EQ(run_synth(&o), EPIQ_OK);
    EQ(r->ran->predictor, EPIQ_PREDICTOR_SHIFTED);
    EQ(r->predictor_choice->networks, 0);
    done();
}

TEST(a_state_file_keeps_predictors_apart)
{
    char file[64];
    snprintf(file, sizeof file, "/tmp/epiq-predictor-%ld", (long)getpid());
    epiq_options o = small();
    o.methods = EPIQ_EV;
    o.state = file;
    EQ(run_synth(&o), EPIQ_OK);
    o.predictor = EPIQ_PREDICTOR_SHIFTED;
    EQ(run_synth(&o), EPIQ_OK);
    EQ(r->training->resumed, 0);
    const double shifted = r->points[0]->prediction;
    EQ(run_synth(&o), EPIQ_OK);
    EQ(r->training->resumed, o.members);
    NEAR(r->points[0]->prediction, shifted, 0);
    o.predictor = EPIQ_PREDICTOR_PNC;
    EQ(run_synth(&o), EPIQ_OK);
    EQ(r->training->resumed, 0);
    unlink(file);
    done();
}
