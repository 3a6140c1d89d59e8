/* Estimates against known truth, over many seeds: the judge is the closed form at infinite width, or a large sample of
 * the same networks. TEST_LONG takes more seeds. Everything goes through epiq.h. */
#include "epiq.h"
#include "test.h"
#include "usual.h"

#include <stdlib.h>

enum { N = 40, MOST = 200, D = 4 };
static double X[MOST * D], Y[MOST];
static const double X0[D] = {0.1, 0.1, 0.1, 0.1};

static epiq_options options(int engine)
{
    epiq_options o = usual_options();
    o.scale = EPIQ_SCALE_NONE;
    o.engine = engine;
    o.influential = 0;
    return o;
}

static epiq_part rowwise; /* IF of the last estimate with that correction */

/* Estimate from some rows, at X0. */
static epiq_point estimate(const epiq_options *o, ptrdiff_t n, const double *x, const double *y)
{
    epiq_ctx *c;
    epiq_data *data = NULL;
    epiq_points *at = NULL;
    epiq_result *r = NULL;
    epiq_point point = {0};
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    if (epiq_data_new(c, n, D, x, y, NULL, o, &data) || epiq_points_new(c, data, &at) ||
        epiq_points_add_rows(c, at, 1, X0) || epiq_estimate(c, data, at, o, &r)) {
        TEST_FAIL("%s\n", epiq_message(c));
    } else {
        point = *r->points[0];
        rowwise = *epiq_point_corrected(&point, EPIQ_CORRECTION_ROWWISE);
    }
    epiq_result_free(c, r);
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    epiq_ctx_free(c);
    return point;
}

static void make_rows(uint64_t seed)
{
    epiq_ctx *c;
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_synth(c, 1, MOST, D, seed, X, Y), EPIQ_OK);
    epiq_ctx_free(c);
}

static int runs(int some, int many)
{
    return getenv("TEST_LONG") ? many : some;
}

/* hits of R stays within three binomial standard errors of the nominal rate */
static void covers(int hits, int R, double level)
{
    NEAR((double)hits / R, level, 3 * sqrt(level * (1 - level) / R));
}

TEST(ev_of_linear_networks_covers_the_infinite_value)
{
    make_rows(1);
    epiq_options o = options(EPIQ_ENGINE_INFINITE);
    double tau2 = estimate(&o, N, X, Y).procedural.variance;
    int R = runs(300, 2000), hits = 0;
    double sum = 0;
    o = options(EPIQ_ENGINE_LINEAR);
    o.methods = EPIQ_EV;
    o.width = 4096;
    o.members = 10;
    for (int k = 0; k < R; k++) {
        o.seed = (uint64_t)k + 1;
        epiq_part ev = estimate(&o, N, X, Y).procedural;
        hits += ev.lo <= tau2 && tau2 <= ev.hi;
        sum += ev.variance / R;
    }
    covers(hits, R, o.level);
    CLOSE(sum, tau2, 4 * sqrt(2.0 / (9.0 * R))); /* EV's relative standard error is sqrt(2/(m-1)) a run */
}

TEST(ev_of_trained_networks_covers_their_own_large_sample_value)
{
    make_rows(2);
    epiq_options o = options(EPIQ_ENGINE_NETWORK);
    o.methods = EPIQ_EV;
    o.width = 128;
    o.lambda = 1e-2;
    o.members = 20;
    enum { R = 100 }; /* 100 runs of 20: together the 2000 members of the reference */
    static epiq_part ev[R];
    double tau2 = 0;
    int hits = 0;
    for (int k = 0; k < R; k++) {
        o.seed = (uint64_t)k + 1;
        ev[k] = estimate(&o, N, X, Y).procedural;
        tau2 += ev[k].variance / R; /* each is unbiased: their mean is the value of all 2000 */
    }
    for (int k = 0; k < R; k++) {
        hits += ev[k].lo <= tau2 && tau2 <= ev[k].hi;
    }
    covers(hits, R, o.level);
}

/* Wide trained networks, wide linear ones and infinite ones agree on tau^2. */
TEST(the_three_engines_approach_each_other)
{
    make_rows(3);
    const double lambda = 0.1; /* moves the weights little, so that width 1024 is wide */
    epiq_options o = options(EPIQ_ENGINE_INFINITE);
    o.lambda = lambda;
    double infinite = estimate(&o, N, X, Y).procedural.variance;
    o = options(EPIQ_ENGINE_LINEAR);
    o.lambda = lambda;
    o.methods = EPIQ_EV;
    o.members = 2000;
    o.width = 4096;
    double linear = estimate(&o, N, X, Y).procedural.variance;
    o.engine = EPIQ_ENGINE_NETWORK;
    o.members = runs(60, 400);
    o.width = runs(1024, 2048);
    double network = estimate(&o, N, X, Y).procedural.variance;
    CLOSE(linear, infinite, 4 * sqrt(2.0 / 1999));
    CLOSE(network, infinite,
          0.15 + 4 * sqrt(2.0 / (double)(o.members - 1))); /* finite width moves it by some per cent */
}

/* BA over many seeds against its expectation at infinite width: over random ways to deal the rows, the spread of the
 * batches' kernel predictors plus their own tau^2, over m', before small batches are corrected for. The test deals its
 * own batches. */
TEST(ba_of_linear_networks_averages_to_its_closed_form)
{
    make_rows(4);
    enum { M = 5, SIZE = N / M };
    int deals = runs(300, 3000), R = runs(500, 3000);
    double expected = 0, expected2 = 0, got = 0, got2 = 0;
    epiq_options o = options(EPIQ_ENGINE_INFINITE);
    o.methods = EPIQ_IF | EPIQ_EV;
    o.correction = EPIQ_CORRECTION_NONE;
    srand(1);
    for (int k = 0; k < deals; k++) {
        int order[N];
        double mu[M], mean = 0, spread = 0, tau2 = 0;
        for (int i = 0; i < N; i++) {
            int j = rand() % (i + 1);
            order[i] = order[j];
            order[j] = i;
        }
        for (int b = 0; b < M; b++) {
            double x[SIZE * D], y[SIZE];
            for (int i = 0; i < SIZE; i++) {
                memcpy(x + i * D, X + order[b * SIZE + i] * D, sizeof(double) * D);
                y[i] = Y[order[b * SIZE + i]];
            }
            epiq_point p = estimate(&o, SIZE, x, y);
            mu[b] = p.prediction;
            mean += p.prediction / M;
            tau2 += p.procedural.variance / M;
        }
        for (int b = 0; b < M; b++) {
            spread += (mu[b] - mean) * (mu[b] - mean) / (M - 1);
        }
        double ba = (spread + tau2) / M;
        expected += ba / deals;
        expected2 += ba * ba / deals;
    }
    o = options(EPIQ_ENGINE_LINEAR);
    o.methods = EPIQ_BA;
    o.width = 4096;
    for (int k = 0; k < R; k++) {
        o.seed = (uint64_t)k + 1;
        double ba = estimate(&o, N, X, Y).ba.uncorrected;
        got += ba / R;
        got2 += ba * ba / R;
    }
    double se = sqrt((got2 - got * got) / R + (expected2 - expected * expected) / deals);
    NEAR(got, expected, 4 * se);
    TRUE(4 * se < 0.2 * expected); /* sharp enough to notice a factor such as n/(n-1) of batches, or m' against m'-1 */
}

/* IF over fresh data sets against the true variance of the kernel predictor: unbiased within a tenth, covering as
 * promised. */
TEST(if_of_fresh_data_is_unbiased_and_covers)
{
    int R = runs(1000, 4000), hits = 0, rowwise_hits = 0;
    epiq_options o = options(EPIQ_ENGINE_INFINITE);
    o.methods = EPIQ_IF;
    double mean = 0, square = 0, sum = 0;
    epiq_part *inf = malloc((size_t)(2 * R) * sizeof *inf);
    for (int k = 0; k < R; k++) {
        make_rows((uint64_t)k + 1000);
        epiq_point p = estimate(&o, MOST, X, Y);
        inf[k] = p.data;
        inf[R + k] = rowwise;
        sum += p.data.variance / R;
        mean += p.prediction / R;
        square += p.prediction * p.prediction / R;
    }
    double truth = square - mean * mean;
    for (int k = 0; k < R; k++) {
        hits += inf[k].lo <= truth && truth <= inf[k].hi;
        rowwise_hits += inf[R + k].lo <= truth && truth <= inf[R + k].hi;
    }
    CLOSE(sum, truth, 0.15); /* rowwise: 0.997 over 4000 data sets; the truth itself is known to sqrt(2/R), 4.5 % */
    covers(rowwise_hits, R, 0.957); /* 0.959 measured over 4000 data sets; nominal 0.95, and they are a little wide */
    covers(hits, R, 0.98); /* moderated: its interval allows for noise that varies, and here the noise is equal */
    free(inf);
}
