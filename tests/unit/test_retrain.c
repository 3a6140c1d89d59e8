/* The data part by retraining: linearised networks follow the data exactly as their kernel does, so kappa is 1 for them to
 * rounding, whatever the folds, groups and scaling; planted sums; the same bits however it runs; the same numbers from a
 * model; and what is refused. */
#include "asked.h"
#include "closed.h"
#include "est/est.h"
#include "model/model.h"

#include <stdlib.h>
#include <unistd.h>

enum { N = 60, D = 3 };
static double X[N * D], Y[N];
static const double X0[2 * D] = {0.1, 0.1, 0.1, 0.02, 0.15, 0.08};

static void make(void)
{
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    EQ(epiq_synth(own, 1, N, D, 7, X, Y), EPIQ_OK);
    epiq_ctx_free(own);
}

static epiq_options plain(void)
{
    epiq_options o = epiq_options_default();
    make();
    o.scale = EPIQ_SCALE_NONE;
    o.methods = EPIQ_IF | EPIQ_EV;
    o.data_by = EPIQ_DATA_BY_RETRAIN;
    o.members = 4;
    o.width = 16;
    o.threads = 2;
    return o;
}

/* Of kernel regression on all rows, |alpha|^2/|A^-1|^2. */
static double noise_of_all(const epiq_options *o)
{
    static closed_kernels g;
    int rows[N];
    for (int i = 0; i < N; i++) {
        rows[i] = i;
    }
    closed_kernels_of(N, D, X, X0, o, &g);
    return closed_on(&g, N, rows, Y, o->lambda).noise;
}

/* ---- linearised networks ---- */

/* h(theta0; x0) + c'(y - h(theta0; X)): a step d of the targets moves every network by c'd. Rounding in c is some 1e-13. */
TEST(linearised_networks_follow_the_data_as_their_kernel_does)
{
    epiq_options o = plain();
    o.engine = EPIQ_ENGINE_LINEAR;
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    EQ(r->retrain.known, 1);
    NEAR(r->retrain.kappa, 1, 1e-9);
    NEAR(r->retrain.kappa_se, 0, 1e-9);
    EQ(r->points[0].data.method, EPIQ_BY_RETRAIN);
    EQ(r->points[0].single.method, EPIQ_BY_RETRAIN_EV);
    EQ(r->retrain.networks, 2 * (5 + 2 * 5));
    done();
}

TEST(and_so_they_do_with_scaled_rows_other_lambdas_and_more_replicates)
{
    epiq_options o = plain();
    o.engine = EPIQ_ENGINE_LINEAR;
    o.scale = EPIQ_SCALE_STANDARD;
    o.lambda = 0.05;
    o.replicates = 13; /* not a multiple of the folds */
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    NEAR(r->retrain.kappa, 1, 1e-9);
    done();
}

TEST(and_with_rows_in_groups_that_are_left_out_whole)
{
    int64_t group[N];
    epiq_options o = plain();
    for (int i = 0; i < N; i++) {
        group[i] = i / 4;
    }
    o.engine = EPIQ_ENGINE_LINEAR;
    EQ(run(N, D, X, Y, group, 2, X0, &o), EPIQ_OK);
    NEAR(r->retrain.kappa, 1, 1e-9);
    TRUE(r->points[0].data.known && r->points[0].data.variance > 0);
    done();
}

/* What kernel regression would vary by at rows left out, noise 1, by elimination without each row's fold; four fifths of
 * that, times the noise, is a typical variance with all rows. The library has a mean over 256 sign vectors instead, each
 * term with a relative standard deviation of sqrt(2/256) = 9 %, of which the mean over 60 rows leaves less: twice that. */
TEST(a_typical_variance_is_that_at_rows_left_out_for_all_rows)
{
    static closed_kernels g;
    ptrdiff_t fold[N], sizes[5];
    double c2 = 0;
    epiq_options o = plain();
    o.engine = EPIQ_ENGINE_LINEAR;
    o.correction = EPIQ_CORRECTION_UNBIASED; /* equal noise: every step has the same size */
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    EQ(epiqp_deal(c, data, (epiqp_stream){o.seed, EPIQP_FOR_SHUFFLE, 1}, 5, fold, sizes), EPIQ_OK);
    for (int i = 0; i < N; i++) {
        int rows[N], n = 0;
        for (int k = 0; k < N; k++) {
            if (fold[k] != fold[i]) {
                rows[n++] = k;
            }
        }
        closed_kernels_of(N, D, X, X + i * D, &o, &g);
        c2 += closed_on(&g, n, rows, NULL, o.lambda * N / n).c2 / N;
    }
    epiq_model *m = NULL;
    EQ(epiq_fit(c, data, &o, &m), EPIQ_OK);
    CLOSE(m->retrain[1], 0.8 * c2 * noise_of_all(&o), 0.18);
    epiq_model_free(c, m);
    done();
}

/* Linearised networks are kernel regression on average over starts: so is the noise that they leave, once what two starts
 * vary by is taken off their mean's errors. The ratio has a standard
 * deviation of 0.27 from seed to seed, so the mean of 24 one of 0.055: three times that. With all of what they vary by
 * taken off, or nothing, the mean is off by 0.5. */
TEST(the_noise_that_linearised_networks_leave_is_that_of_kernel_regression_on_average)
{
    enum { SEEDS = 24 };
    epiq_options o = plain();
    double ratio = 0;
    o.engine = EPIQ_ENGINE_LINEAR;
    o.correction = EPIQ_CORRECTION_UNBIASED;
    o.lambda = 0.05;
    for (int i = 0; i < N * D; i++) {
        X[i] *= 1.4; /* with this lambda two starts differ about as much as noise does */
    }
    const double noise = noise_of_all(&o);
    for (int k = 0; k < SEEDS; k++) {
        o.seed = (uint64_t)(100 + k);
        EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
        ratio += r->retrain.noise_variance / noise / SEEDS;
    }
    NEAR(ratio, 1, 0.16);
    done();
}

/* ---- planted sums ---- */

/* Networks whose answer is sqrt(kappa) times the kernel's, plus what two starts have of their own: nothing in common. */
TEST(kappa_and_its_exponent_are_found_where_they_are_planted)
{
    enum { R = 10, FOLDS = 5 };
    epiqp_response of[R][2];
    const double low = 0.5, high = 0.8, e[2] = {0.02, 0.08};
    for (int k = 0; k < R; k++) {
        for (int h = 0; h < 2; h++) {
            double kappa = h ? high : low, moved = 1 + 0.3 * (k % 3 - 1); /* signs that move the kernel more, or less */
            of[k][h] = (epiqp_response){.products = 20 * kappa * moved * e[h],
                                        .with_kernel = 20 * sqrt(kappa) * moved * e[h],
                                        .kernel = 20 * moved * e[h],
                                        .expected = 20 * e[h],
                                        .logs = 20 * e[h] * log(e[h])};
        }
    }
    epiqp_followed all = epiqp_follow(of, R, FOLDS, -1);
    /* means weighted by e, as a sum over points is; the control variate has one slope for both halves, so 1 % is left */
    NEAR(all.kappa, (0.02 * low + 0.08 * high) / 0.1, 0.01);
    /* log(0.8/0.5)/log(4) = 0.34, drawn towards 0.15 by a tenth: its own standard deviation is taken as 0.05 at least; and
     * the one slope again */
    NEAR(all.exponent, 0.9 * log(high / low) / log(4) + 0.1 * 0.15, 0.02);
}

TEST(a_data_part_is_raised_by_kappa_and_lowered_further_where_it_is_small)
{
    const double numbers[] = {0.7, 4e-3, 0.25};
    CLOSE(epiqp_retrained(numbers, 4e-3), 0.7 * 4e-3, 1e-14);
    CLOSE(epiqp_retrained(numbers, 9e-3), 0.7 * 9e-3, 1e-14);
    CLOSE(epiqp_retrained(numbers, 4e-3 / 16), 0.7 * 4e-3 / 16 / 2, 1e-14); /* 16^(1/4) = 2 */
    EQ(epiqp_retrained(numbers, 0), 0);
}

/* ---- the same however it runs ---- */

TEST(threads_do_not_change_a_bit)
{
    epiq_options o = plain();
    double variance[2], kappa[2];
    for (int k = 0; k < 2; k++) {
        o.threads = 1 + 2 * k;
        EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
        variance[k] = r->points[1].data.variance;
        kappa[k] = r->retrain.kappa;
    }
    TRUE(memcmp(&variance[0], &variance[1], sizeof variance[0]) == 0);
    TRUE(memcmp(&kappa[0], &kappa[1], sizeof kappa[0]) == 0);
    done();
}

TEST(a_state_file_keeps_every_network_and_other_targets_are_not_taken_for_these)
{
    char path[] = "/tmp/epiq-retrain-XXXXXX";
    int file = mkstemp(path);
    TRUE(file >= 0);
    close(file);
    unlink(path);
    epiq_options o = plain();
    o.state = path;
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    double first = r->points[0].data.variance;
    EQ(r->training.resumed, 0);
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    EQ(r->training.resumed, 4 + r->retrain.networks);
    TRUE(memcmp(&first, &r->points[0].data.variance, sizeof first) == 0);
    o.replicates = 6;
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK); /* one more sign vector: four networks, or none of the others */
    EQ(r->training.resumed, 4 + r->retrain.networks - 4);
    o.correction = EPIQ_CORRECTION_UNBIASED; /* equal noise: steps of another shape */
    o.replicates = 5;
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    TRUE(r->training.resumed >= 4 + 10 && r->training.resumed <= 4 + 30);
    unlink(path);
    done();
}

TEST(a_model_gives_the_same_data_variance)
{
    epiq_options o = plain();
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    epiq_model *m = NULL;
    double v[2];
    unsigned char known[2];
    epiq_predictions out = {.data = v, .known = known, .exact = 1};
    EQ(epiq_fit(c, data, &o, &m), EPIQ_OK);
    EQ(epiq_model_predict(c, m, 2, X0, &out), EPIQ_OK);
    CLOSE(v[0], r->points[0].data.variance, 1e-10);
    CLOSE(v[1], r->points[1].data.variance, 1e-10);
    epiq_model_free(c, m);
    done();
}

/* ---- what it is used for, and refused for ---- */

TEST(auto_retrains_where_networks_are_trained_and_only_there)
{
    epiq_options o = plain();
    o.data_by = EPIQ_DATA_BY_AUTO;
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    EQ(r->points[0].data.method, EPIQ_BY_RETRAIN);
    TRUE(r->retrain.noise_variance > 0 && r->retrain.left_out_rmse > 0 && r->retrain.reason);
    CLOSE(r->points[0].predictive.noise, r->retrain.noise_variance, 1e-14);
    o.engine = EPIQ_ENGINE_LINEAR;
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    EQ(r->points[0].data.method, EPIQ_BY_IF);
    EQ(r->retrain.known, 0);
    o.engine = EPIQ_ENGINE_NETWORK;
    EQ(run(9, D, X, Y, NULL, 2, X0, &o), EPIQ_OK); /* too few rows to leave some out */
    EQ(r->points[0].data.method, EPIQ_BY_IF);
    o.correction = EPIQ_CORRECTION_NONE; /* as published */
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    EQ(r->points[0].data.method, EPIQ_BY_IF);
    done();
}

TEST(what_cannot_be_retrained_is_refused_with_the_remedy)
{
    epiq_options o = plain();
    o.engine = EPIQ_ENGINE_INFINITE;
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_E_USAGE);
    CONTAINS(epiq_message(c), "--data-by if");
    o.engine = EPIQ_ENGINE_NETWORK;
    EQ(run(9, D, X, Y, NULL, 2, X0, &o), EPIQ_E_DATA);
    CONTAINS(epiq_message(c), "10 rows");
    o.replicates = 3;
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_E_USAGE);
    CONTAINS(epiq_message(c), "replicates");
    done();
}

TEST(a_target_without_any_error_has_no_variance_to_measure)
{
    double constant[N];
    epiq_options o = plain();
    o.engine = EPIQ_ENGINE_LINEAR;
    for (int i = 0; i < N; i++) {
        constant[i] = 0;
    }
    o.data_by = EPIQ_DATA_BY_AUTO;
    EQ(run(N, D, X, constant, NULL, 2, X0, &o), EPIQ_OK);
    EQ(r->points[0].data.variance, 0);
    done();
}
