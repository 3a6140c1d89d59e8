/* test_est_confidence.c - the interval of the expected prediction: its formulas by hand from networks that are kernel regression,
 * on all rows, on batches and on rows drawn anew; Student's t; what a budget buys. */
#include "common/student.h"
#include "epiq_combine.h"
#include "sixty_rows.h"

/* Tables of t, seven digits; and one degree of freedom, where it is a tangent. */
TEST(student_quantiles_are_those_of_tables)
{
    static const double want[][3] = {{1, 0.95, 12.7062047},   {3, 0.95, 3.1824463},   {4, 0.9, 2.1318468},
                                     {7, 0.95, 2.3646243},    {10, 0.99, 3.1692727},  {30, 0.95, 2.0422725},
                                     {1000, 0.95, 1.9623391}, {1e12, 0.95, 1.9599640}};
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        NEAR(epiqp_student_quantile(want[k][0], want[k][1]), want[k][2], 2e-7);
    }
    NEAR(epiqp_student_quantile(1, 0.5), 1, 1e-12);
    NEAR(epiqp_student_quantile(1, 0.999), tan(0.999 * acos(-1) / 2), 1e-8);
    TRUE(epiqp_student_quantile(2.5, 0.95) > epiqp_student_quantile(3, 0.95));
}

static epiq_options kernel_regression(int confidence)
{
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_LINEAR;
    o.predictor = EPIQ_PREDICTOR_SHIFTED; /* which leaves nothing of the start */
    o.methods = EPIQ_IF | EPIQ_EV;
    o.confidence = confidence;
    return o;
}

static void interval_is(const epiq_confidence *got, double centre, double variance, double df, double level)
{
    const double half = epiqp_student_quantile(df, level) * sqrt(variance);
    TRUE(got->known);
    NEAR(got->centre, centre, 1e-12);
    CLOSE(got->variance, variance, 1e-9);
    NEAR(got->df, df, 1e-9);
    NEAR(got->lo, centre - half, 1e-9 * half);
    NEAR(got->hi, centre + half, 1e-9 * half);
}

TEST(batching_is_student_s_interval_of_the_batches)
{
    epiq_options o = kernel_regression(EPIQ_CONFIDENCE_BATCHING);
    EQ(run_synth(&o), EPIQ_OK);
    for (int p = 0; r && p < 2; p++) {
        const epiq_point *at_p = r->points[p];
        double mean = 0, square = 0;
        EQ(at_p->batch_count, 4);
        for (int b = 0; b < 4; b++) {
            mean += at_p->batches[b] / 4;
        }
        for (int b = 0; b < 4; b++) {
            square += (at_p->batches[b] - mean) * (at_p->batches[b] - mean);
        }
        interval_is(&at_p->confidence, mean, square / 3 / 4, 3, 0.95);
        EQ(at_p->confidence.networks, 4);
    }
    done();
}

/* Kernel regression on some rows, asked of the library as a table of its own. */
static double regression(const int *rows, int count, int p)
{
    static double x[N * D], y[N];
    for (int i = 0; i < count; i++) {
        memcpy(x + i * D, X + rows[i] * D, D * sizeof *x);
        y[i] = Y[rows[i]];
    }
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.methods = EPIQ_EV;
    EQ(run(count, D, x, y, NULL, 2, X0, &o), EPIQ_OK);
    return r->points[p]->kernel_prediction.value;
}

/* With as many parts as rows each row is left out once, in whatever order they were dealt. */
TEST(the_jackknife_leaves_every_row_out_once)
{
    epiq_options o = kernel_regression(EPIQ_CONFIDENCE_JACKKNIFE);
    o.resamples = N;
    EQ(run_synth(&o), EPIQ_OK);
    const epiq_confidence got = r->points[1]->confidence;
    const double all = r->points[1]->prediction;
    double without[N], mean = 0, square = 0;
    for (int out = 0; out < N; out++) {
        int rows[N], count = 0;
        for (int i = 0; i < N; i++) {
            if (i != out) rows[count++] = i;
        }
        without[out] = regression(rows, count, 1);
        mean += without[out] / N;
    }
    for (int out = 0; out < N; out++) {
        square += (without[out] - mean) * (without[out] - mean);
    }
    interval_is(&got, all - (N - 1) * (mean - all), (N - 1.0) / N * square, N - 1, 0.95);
    EQ(got.networks, N + 6);
    done();
}

/* Over many resamples the bootstrap's variance is near the data part of IF, 10 % or so above it; 400 of them tell it to 7 %. */
TEST(the_bootstrap_s_variance_is_the_data_part)
{
    epiq_options o = kernel_regression(EPIQ_CONFIDENCE_BOOTSTRAP);
    o.resamples = 400;
    o.correction = EPIQ_CORRECTION_NONE; /* the bootstrap has the residuals as they are */
    EQ(run_synth(&o), EPIQ_OK);
    const epiq_confidence got = r->points[0]->confidence;
    NEAR(got.df, 400, 1e-6);
    NEAR(got.centre, r->points[0]->kernel_prediction.value, 1e-12);
    TRUE(got.variance > 0.75 * r->points[0]->data.variance && got.variance < 1.4 * r->points[0]->data.variance);
    o.threads = 1;
    EQ(run_synth(&o), EPIQ_OK);
    NEAR(r->points[0]->confidence.lo, got.lo, 0);
    NEAR(r->points[0]->confidence.hi, got.hi, 0);
    done();
}

/* Starts that differ widen it by their variance over the number of networks. */
TEST(what_starts_leave_is_in_the_interval)
{
    epiq_options o = kernel_regression(EPIQ_CONFIDENCE_JACKKNIFE);
    EQ(run_synth(&o), EPIQ_OK);
    const double data_part = r->points[0]->confidence.variance;
    o.predictor = EPIQ_PREDICTOR_ENSEMBLE;
    EQ(run_synth(&o), EPIQ_OK);
    TRUE(r->points[0]->confidence.variance > r->points[0]->procedural.variance / 6);
    TRUE(r->points[0]->confidence.variance != data_part);
    TRUE(r->points[0]->confidence.df > 0 && r->points[0]->confidence.df < 13);
    done();
}

/* The sum of the diagonal of (K + shift I)^-1: by Gauss-Jordan on the library's kernel, n = 60. */
static double trace_of_inverse(const double *k, double shift)
{
    static double a[N][2 * N];
    double sum = 0;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            a[i][j] = k[i * N + j] + (i == j) * shift;
            a[i][N + j] = i == j;
        }
    }
    for (int p = 0; p < N; p++) { /* positive definite: no pivots are chosen */
        for (int i = 0; i < N; i++) {
            const double factor = i == p ? 0 : a[i][p] / a[p][p];
            for (int j = 0; factor != 0 && j < 2 * N; j++) {
                a[i][j] -= factor * a[p][j];
            }
        }
    }
    for (int i = 0; i < N; i++) {
        sum += a[i][N + i] / a[i][i];
    }
    return sum;
}

/* Kernel regression at the lambda' whose rows do what many do at lambda, which bisection finds here: its prediction and its data
 * variance are the closed form's interval, but for a quarter of the way there. */
TEST(retrain_is_the_limit_of_many_rows)
{
    epiq_options o = kernel_regression(EPIQ_CONFIDENCE_RETRAIN), other = o;
    static double k[N * N];
    EQ(run_synth(&o), EPIQ_OK);
    EQ(epiq_kernel(c, data, &o, k, NULL), EPIQ_OK);
    double lo = 0, hi = o.lambda;
    for (int round = 0; round < 40; round++) {
        const double middle = (lo + hi) / 2;
        *(trace_of_inverse(k, middle * N) > 1 / o.lambda ? &lo : &hi) = middle;
    }
    other.engine = EPIQ_ENGINE_INFINITE;
    other.confidence = EPIQ_CONFIDENCE_NONE;
    other.lambda = (lo + hi) / 2;
    EQ(run_synth(&other), EPIQ_OK);
    const double limit = r->points[0]->prediction, data_part = r->points[0]->data.variance;
    for (int engine = 0; engine < 3; engine++) {
        o.engine = engine == 1 ? EPIQ_ENGINE_INFINITE : EPIQ_ENGINE_LINEAR;
        o.confidence = engine == 2 ? EPIQ_CONFIDENCE_HALVES : EPIQ_CONFIDENCE_RETRAIN;
        EQ(run_synth(&o), EPIQ_OK);
        const epiq_confidence got = r->points[0]->confidence;
        const double way = limit - r->points[0]->prediction;
        TRUE(other.lambda < 0.99 * o.lambda && fabs(way) > 0);
        NEAR(got.centre, limit, 0.05 * fabs(way)); /* lambda' is right to a hundredth of lambda */
        CLOSE(got.variance, data_part + way * way / 16, 0.02);
        EQ(got.networks, engine == 0 ? 6 : engine == 1 ? 0 : 14);
        TRUE(got.lo < got.centre && got.centre < got.hi);
    }
    done();
}

/* How far networks follow the data is told by points between rows that are not reported: another point that is asked about changes
 * nothing, and networks that follow less than kernel regression are less sure of the way to the limit. */
TEST(halves_of_networks_do_not_depend_on_other_points)
{
    epiq_options o = small();
    o.width = 32;
    o.methods = EPIQ_IF | EPIQ_EV;
    o.predictor = EPIQ_PREDICTOR_SHIFTED;
    o.confidence = EPIQ_CONFIDENCE_HALVES;
    o.resamples = 6;
    EQ(run(N, D, X, Y, NULL, 1, X0, &o), EPIQ_OK);
    EQ(r->point_count, 1);
    const epiq_confidence alone = r->points[0]->confidence;
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    EQ(r->point_count, 2);
    const epiq_confidence beside = r->points[0]->confidence;
    NEAR(beside.lo, alone.lo, 1e-12 * (alone.hi - alone.lo)); /* products of more columns may be summed otherwise */
    NEAR(beside.hi, alone.hi, 1e-12 * (alone.hi - alone.lo));
    TRUE(alone.known && alone.df >= 5); /* pairs and those expected */
    o.threads = 1;
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    NEAR(r->points[0]->confidence.lo, beside.lo, 0);
    done();
}

TEST(a_budget_is_what_is_trained)
{
    static const struct {
        ptrdiff_t budget;
        int predictor, confidence, method;
        ptrdiff_t trained;
    } want[] = {
        {4, EPIQ_PREDICTOR_ENSEMBLE, EPIQ_CONFIDENCE_NONE, EPIQ_CONFIDENCE_BATCHING, 4},
        {6, EPIQ_PREDICTOR_ENSEMBLE, EPIQ_CONFIDENCE_NONE, EPIQ_CONFIDENCE_HALVES, 6},
        {10, EPIQ_PREDICTOR_AUTO, EPIQ_CONFIDENCE_NONE, EPIQ_CONFIDENCE_HALVES, 10},
        {9, EPIQ_PREDICTOR_PNC, EPIQ_CONFIDENCE_NONE, EPIQ_CONFIDENCE_BATCHING, 4},
        {7, EPIQ_PREDICTOR_SHIFTED, EPIQ_CONFIDENCE_BOOTSTRAP, EPIQ_CONFIDENCE_BOOTSTRAP, 7},
        {5, EPIQ_PREDICTOR_SHIFTED, EPIQ_CONFIDENCE_RETRAIN, EPIQ_CONFIDENCE_RETRAIN, 5},
    };
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        epiq_options o = small();
        o.methods = EPIQ_AUTO;
        o.width = 16;
        o.fold_members = 4;
        o.budget_networks = want[k].budget;
        o.predictor = want[k].predictor;
        o.confidence = want[k].confidence;
        EQ(run_synth(&o), EPIQ_OK);
        if (!r) continue;
        const epiq_confidence *got = &r->points[0]->confidence;
        TRUE(got->known && got->lo < got->hi && r->choice);
        EQ(got->method, want[k].method);
        EQ(r->training->members, want[k].trained); /* pairs of pnc count once */
        EQ(got->networks, want[k].trained * (want[k].predictor == EPIQ_PREDICTOR_PNC ? 2 : 1));
    }
    epiq_options o = small();
    o.budget_networks = 3;
    EQ(run_synth(&o), EPIQ_E_USAGE);
    o.budget_networks = 7;
    o.predictor = EPIQ_PREDICTOR_PNC;
    EQ(run_synth(&o), EPIQ_E_USAGE);
    o = small();
    o.confidence = EPIQ_CONFIDENCE_JACKKNIFE;
    o.resamples = N + 1;
    EQ(run_synth(&o), EPIQ_E_DATA);
    o.engine = EPIQ_ENGINE_INFINITE;
    EQ(run_synth(&o), EPIQ_E_USAGE);
    done();
}

/* At rows that are left out only batches without the row are asked. */
TEST(batches_with_the_row_are_not_asked_about_it)
{
    epiq_options o = kernel_regression(EPIQ_CONFIDENCE_BATCHING);
    done();
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_synth(c, 1, N, D, 5, X, Y), EPIQ_OK);
    EQ(epiq_data_new(c, N, D, X, Y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add(c, at, "rows"), EPIQ_OK);
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_OK);
    for (ptrdiff_t p = 0; r && p < r->point_count; p++) {
        TRUE(r->points[p]->left_out > 0);
        TRUE(r->points[p]->confidence.known);
        EQ(r->points[p]->confidence.networks, 3);
        NEAR(r->points[p]->confidence.df, 2, 0);
    }
    done();
}
