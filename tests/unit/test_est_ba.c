/* test_est_ba.c - BA corrected for small batches: phi against explicit matrices, its effect in a simulation whose truth is
 * known, where it goes in the answer, and that a model says the same. */
#include "epiq_details.h"
#include "est/variance.h"
#include "run/run.h"

#include "infinite_by_hand.h"
#include "one_estimate.h"
#include "usual.h"

enum { N = 30, D = 3, BATCHES = 3 };

static epiq_options small(void)
{
    epiq_options o = usual_options();
    o.scale = EPIQ_SCALE_NONE;
    o.engine = EPIQ_ENGINE_LINEAR;
    o.width = 32;
    o.members = 6;
    o.batches = BATCHES;
    o.threads = 1;
    return o;
}

/* ---- phi ---- */

/* Batches are those that BA itself deals. */
static double phi_of(const double *x, const double *y, const double *x0, const epiq_options *o)
{
    static closed_kernels g;
    ptrdiff_t batch_of_row[N], sizes[BATCHES];
    int every[N];
    double tau2 = 0, c2 = 0;
    closed_kernels_of(N, D, x, x0, o, &g);
    EQ(epiqp_partition(c, data, (epiqp_stream){o->seed, EPIQP_FOR_SHUFFLE, 0}, BATCHES, batch_of_row, sizes), EPIQ_OK);
    for (int i = 0; i < N; i++) {
        every[i] = i;
    }
    closed_found all = closed_on(&g, N, every, y, o->lambda);
    for (int b = 0; b < BATCHES; b++) {
        int rows[N], n = 0;
        for (int i = 0; i < N; i++) {
            if (batch_of_row[i] == b) rows[n++] = i;
        }
        EQ(n, sizes[b]);
        closed_found batch = closed_on(&g, n, rows, y, o->lambda);
        tau2 += batch.tau2 / BATCHES;
        c2 += batch.c2 / BATCHES;
    }
    return (all.noise * all.c2 + all.tau2 / BATCHES) / (all.noise * c2 / BATCHES + tau2 / BATCHES);
}

static void draw(uint64_t seed, double *x, double *y, ptrdiff_t n, ptrdiff_t d)
{
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    EQ(epiq_synth(own, 1, n, d, seed, x, y), EPIQ_OK);
    epiq_ctx_free(own);
}

TEST(phi_is_that_of_explicit_matrices)
{
    int matters = 0; /* ten rows say less than thirty */
    double x[N * D], y[N], x0[2 * D] = {0.1, 0.02, 0.15, 0.3, 0.1, 0.05};
    draw(5, x, y, N, D);
    for (int k = 0; k < 3; k++) {
        epiq_options o = small();
        o.lambda = k == 0 ? 1e-3 : k == 1 ? 1e-2 : 1e-4;
        o.depth = k == 2 ? 2 : 1;
        o.sweep = 4; /* phi is there at every point */
        EQ(run(N, D, x, y, NULL, 2, x0, &o), EPIQ_OK);
        for (int p = 0; p < 2; p++) {
            const epiq_point *q = r->points[p];
            TRUE(q->ba.part.known && q->ba.part.variance == q->check.ba && q->ba.corrected);
            /* tau^2 is a difference of numbers near 1 that comes out near 1e-2; a condition number of 1e4 */
            CLOSE(q->ba.factor, phi_of(x, y, x0 + p * D, &o), 1e-7);
            matters += fabs(q->ba.factor - 1) > 0.1;
            CLOSE(q->check.ba, q->ba.factor * q->ba.uncorrected, 1e-13);
        }
        const epiq_point *swept = r->sweeps[1]->points[2];
        const double *value = r->sweeps[1]->value;
        double there[D] = {x0[0], value[2], x0[2]};
        TRUE(swept->ba.corrected);
        CLOSE(swept->ba.factor, phi_of(x, y, there, &o), 1e-7);
    }
    EQ(matters, 5); /* of six points */
    done();
}

/* ---- networks that are trained ---- */

/* Weights of linear regression on a constant and the features in the prediction at x0, by elimination. */
static void linear_weights(int n, const int *row, const double *x, const double *x0, double *w)
{
    static double a[CLOSED_MOST][CLOSED_MOST], b[CLOSED_MOST][CLOSED_MOST];
    for (int j = 0; j <= D; j++) {
        for (int k = 0; k <= D; k++) {
            a[j][k] = 0;
            for (int i = 0; i < n; i++) {
                a[j][k] += (j ? x[row[i] * D + j - 1] : 1) * (k ? x[row[i] * D + k - 1] : 1);
            }
        }
        b[j][0] = j ? x0[j - 1] : 1;
    }
    closed_eliminate(D + 1, a, 1, b);
    for (int i = 0; i < n; i++) {
        w[i] = b[0][0];
        for (int k = 1; k <= D; k++) {
            w[i] += b[k][0] * x[row[i] * D + k - 1];
        }
    }
}

/* The expected square of a c + b w, of noise of variance 1. */
static double followed_square(const epiqp_following *as, int n, const double *kernel, const double *linear)
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double v = as->kernel * kernel[i] + as->linear * linear[i];
        sum += v * v;
    }
    return sum;
}

static epiqp_following trained_as; /* what retraining found */
static double trained_factor;

static int keep_following(const epiqp_estimated *e, void *user)
{
    (void)user;
    trained_as = e->found->retrain.followed.left_out;
    trained_factor = e->answer->points[0].ba.factor;
    return EPIQ_OK;
}

/* Networks answer as a times kernel and b times linear regression, on batches as on all rows: 20 rows of 60, and rows enough for
 * their own linear regression; with 12 rows of 60 nothing is known of it. */
TEST(batches_follow_the_data_as_retraining_says)
{
    enum { ROWS = 60 };
    static double x[ROWS * D], y[ROWS], kernel[ROWS], linear[ROWS], kb[ROWS], lb[ROWS];
    static closed_kernels g;
    const double x0[D] = {0.1, 0.02, 0.15};
    draw(8, x, y, ROWS, D);
    for (int few = 0; few < 2; few++) {
        epiq_options o = usual_options();
        o.scale = EPIQ_SCALE_NONE;
        o.width = 64;
        o.members = 4;
        o.batches = few ? 5 : 3;
        o.data_by = EPIQ_DATA_BY_RETRAIN;
        o.bias_sd = 0;
        done();
        EQ(epiq_ctx_new(&c), EPIQ_OK);
        EQ(epiq_data_new(c, ROWS, D, x, y, NULL, &o, &data), EPIQ_OK);
        EQ(epiq_points_new(c, data, &at), EPIQ_OK);
        EQ(epiq_points_add_rows(c, at, 1, x0), EPIQ_OK);
        const epiqp_request request = {.on_done = keep_following};
        EQ(epiqp_estimate(c, data, at, &o, &request, &r), EPIQ_OK);
        TRUE(trained_as.kernel > 0 && trained_as.linear > 0);
        ptrdiff_t batch_of_row[ROWS], sizes[5];
        EQ(epiqp_partition(c, data, (epiqp_stream){o.seed, EPIQP_FOR_SHUFFLE, 0}, o.batches, batch_of_row, sizes),
           EPIQ_OK);
        closed_kernels_of(ROWS, D, x, x0, &o, &g);
        int every[ROWS];
        for (int i = 0; i < ROWS; i++) {
            every[i] = i;
        }
        closed_found all = closed_on_with(&g, ROWS, every, y, o.lambda, kernel);
        linear_weights(ROWS, every, x, x0, linear);
        const double m = (double)o.batches;
        double tau2 = 0, square = 0;
        for (int k = 0; k < o.batches; k++) {
            int rows[ROWS], n = 0;
            for (int i = 0; i < ROWS; i++) {
                if (batch_of_row[i] == k) rows[n++] = i;
            }
            closed_found batch = closed_on_with(&g, n, rows, y, o.lambda, kb);
            linear_weights(n, rows, x, x0, lb);
            tau2 += batch.tau2 / m;
            square += followed_square(&trained_as, n, kb, lb) / (m * m);
        }
        const double noise = all.noise * all.c2,
                     share = few ? 1 : square / followed_square(&trained_as, ROWS, kernel, linear),
                     phi = (noise + all.tau2 / m) / (noise * share + tau2 / m);
        CLOSE(trained_factor, phi, 1e-4); /* linear regression has a ridge of 1e-6 */
        TRUE(few ? trained_as.linear > 0.1 : fabs(share - 1) > 0.02);
    }
    done();
}

/* ---- what it does to the answer ---- */

static double spread_of(const epiq_point *p)
{
    double mean = 0, sum = 0, m = (double)p->batch_count;
    for (ptrdiff_t k = 0; k < p->batch_count; k++) {
        mean += p->batches[k] / m;
    }
    for (ptrdiff_t k = 0; k < p->batch_count; k++) {
        sum += (p->batches[k] - mean) * (p->batches[k] - mean);
    }
    return sum / (m - 1) / m;
}

TEST(ba_is_corrected_wherever_it_goes)
{
    double x[N * D], y[N], x0[D] = {0.1, 0.02, 0.15};
    draw(5, x, y, N, D);
    epiq_options o = small();
    o.scale = EPIQ_SCALE_STANDARD; /* so that units of the target are not 1 */
    EQ(run(N, D, x, y, NULL, 1, x0, &o), EPIQ_OK);
    const epiq_point all = *r->points[0];
    CLOSE(all.ba.uncorrected, spread_of(r->points[0]), 1e-10);
    epiq_part ba = epiq_part_of(all.check.ba, BATCHES - 1, o.level, EPIQ_BY_BA);
    EQ(all.check.inside, all.check.if_plus_ev >= ba.lo && all.check.if_plus_ev <= ba.hi);
    EQ(all.ensemble.method, EPIQ_BY_IF_EV); /* both parts are known: BA only stands in check */
    CLOSE(all.ensemble.variance, all.data.variance + all.procedural.variance / BATCHES, 1e-13);
    o.methods = EPIQ_BA;
    EQ(run(N, D, x, y, NULL, 1, x0, &o), EPIQ_OK);
    const epiq_point *p = r->points[0];
    EQ(p->ensemble.method, EPIQ_BY_BA);
    CLOSE(p->ensemble.variance, all.check.ba, 1e-10);
    CLOSE(p->ensemble.lo, ba.lo, 1e-10);
    CLOSE(p->ensemble.hi, ba.hi, 1e-10);
    NEAR(p->ensemble.df, BATCHES - 1, 0);
    o.methods = EPIQ_IF | EPIQ_BA;
    EQ(run(N, D, x, y, NULL, 1, x0, &o), EPIQ_OK);
    double left = BATCHES * (all.check.ba - all.data.variance);
    p = r->points[0];
    EQ(p->procedural.known, left >= 0);
    CLOSE(p->procedural.variance, fmax(left, 0), 1e-8);
    CLOSE(p->ensemble.variance, all.check.ba, 1e-10);
    o.methods = EPIQ_EV | EPIQ_BA;
    EQ(run(N, D, x, y, NULL, 1, x0, &o), EPIQ_OK);
    left = all.check.ba - all.procedural.variance / BATCHES;
    EQ(r->points[0]->data.known, left >= 0);
    CLOSE(r->points[0]->data.variance, fmax(left, 0), 1e-8);
    done();
}

/* Without the kernel of all rows BA stays as it is, and the answer says so. */
TEST(where_phi_is_unknown_ba_is_as_measured)
{
    double x[N * D], y[N], x0[D] = {0.1, 0.02, 0.15};
    draw(5, x, y, N, D);
    epiq_options o = small();
    o.solver = EPIQ_SOLVER_DIVIDED;
    o.parts = 2;
    EQ(run(N, D, x, y, NULL, 1, x0, &o), EPIQ_OK);
    TRUE(r->points[0]->ba.part.known && !r->points[0]->ba.corrected && r->points[0]->ba.factor == 1);
    CLOSE(r->points[0]->check.ba, spread_of(r->points[0]), 1e-10);
    TRUE(!warned("ba_uncorrected")); /* IF and EV give everything */
    o.methods = EPIQ_EV | EPIQ_BA;
    EQ(run(N, D, x, y, NULL, 1, x0, &o), EPIQ_OK);
    TRUE(!r->points[0]->ba.corrected && warned("ba_uncorrected"));
    o.methods = EPIQ_IF | EPIQ_EV;
    EQ(run(N, D, x, y, NULL, 1, x0, &o), EPIQ_OK);
    TRUE(!r->points[0]->ba.part.known && !warned("ba_uncorrected"));
    done();
}

/* ---- what it is for: 40 rows in 16 features, where BA is half as large again as what it estimates ---- */

/* The truth: data part 0.1^2 |c|^2 + Var c'f(X) over data sets, by the closed form; tau^2 at infinite width, of which
 * linearised networks of width 512 are 1 - 2 %. */
TEST(corrected_ba_estimates_what_it_should)
{
    enum { ROWS = 200, FEATURES = 16, SETS = 60, POINTS = 4, M = 5 };
    static double x[ROWS * FEATURES], y[ROWS];
    double x0[POINTS * FEATURES], from_y[POINTS], mean[POINTS] = {0}, square[POINTS] = {0}, raw = 0, corrected = 0,
                                                  target = 0;
    int covered = 0;
    draw(99, x0, from_y, POINTS, FEATURES);
    epiq_options o = usual_options();
    o.scale = EPIQ_SCALE_NONE;
    o.engine = EPIQ_ENGINE_LINEAR;
    o.methods = EPIQ_BA;
    o.width = 512;
    o.influential = 0;
    o.batches = M;
    double lo[SETS][POINTS], hi[SETS][POINTS], truth[POINTS] = {0};
    for (int k = 0; k < SETS; k++) {
        o.seed = 1000 + (uint64_t)k;
        draw(2000 + (uint64_t)k, x, y, ROWS, FEATURES);
        EQ(run(ROWS, FEATURES, x, y, NULL, POINTS, x0, &o), EPIQ_OK);
        for (int p = 0; p < POINTS; p++) {
            const epiq_point *q = r->points[p];
            raw += q->ba.uncorrected / SETS;
            corrected += q->ensemble.variance / SETS;
            truth[p] += q->infinite.variance / M / SETS;
            mean[p] += q->kernel_prediction.value / SETS;
            square[p] += q->kernel_prediction.value * q->kernel_prediction.value / SETS;
            lo[k][p] = q->ensemble.lo;
            hi[k][p] = q->ensemble.hi;
        }
    }
    for (int p = 0; p < POINTS; p++) { /* the variance of the kernel predictor over data sets is the data part */
        truth[p] += (square[p] - mean[p] * mean[p]) * SETS / (SETS - 1.0);
        target += truth[p];
    }
    for (int k = 0; k < SETS; k++) {
        for (int p = 0; p < POINTS; p++) {
            covered += truth[p] >= lo[k][p] && truth[p] <= hi[k][p];
        }
    }
    /* Standard error 6 %: 4 degrees of freedom, 60 data sets, points that hang together. In expectation 1.52 before. */
    NEAR(raw / target, 1.52, 0.18);
    NEAR(corrected / target, 1, 0.18);
    TRUE(covered >= 0.88 * SETS * POINTS); /* 95 %, less three standard errors of about 150 independent ones */
    TRUE(!warned("small_batches"));
    for (int i = 0; i < ROWS; i++) {
        y[i] *= 1e-3; /* next to no data part: phi is the ratio of the procedural ones */
    }
    o.batches = 10;
    EQ(run(ROWS, FEATURES, x, y, NULL, 1, NULL, &o), EPIQ_OK);
    TRUE(r->points[0]->ba.factor < 0.5 && warned("small_batches"));
    done();
}
