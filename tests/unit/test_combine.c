/* epiq_combine against hand formulas, against epiq_estimate on the same kernel, and every input it refuses; the state file
 * that networks are gathered in; the start of a network; members_for. All through epiq.h but for the Jacobian's judge. */
#include "est/est.h"
#include "test.h"

#include <float.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static epiq_ctx *c;
static epiq_result *r;

static void done(void)
{
    if (c) {
        epiq_result_free(c, r);
        EQ(c->live_blocks, 0);
        epiq_ctx_free(c);
    }
    c = NULL, r = NULL;
}

static int combine(const epiq_given *g, const epiq_options *o)
{
    done();
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    return epiq_combine(c, g, o, &r);
}

static epiq_matrix doubles(const char *name, ptrdiff_t rows, ptrdiff_t columns, const double *a)
{
    return (epiq_matrix){.name = name, .rows = rows, .columns = columns, .real = EPIQ_FLOAT64, .a = a};
}

static const epiq_warning *warned(const char *code)
{
    for (ptrdiff_t k = 0; r && k < r->warning_count; k++) {
        if (strcmp(r->warnings[k].code, code) == 0) {
            return &r->warnings[k];
        }
    }
    return NULL;
}

/* ---- EV and BA ---- */

TEST(ev_and_ba_are_those_of_the_hand_formulas)
{
    static const double h[] = {1, 10, 2, 10, 4, 13, 5, 15}, b[] = {3, 9, 6, 12, 0, 15};
    epiq_matrix H = doubles("h.npy", 4, 2, h), B = doubles("b.npy", 3, 2, b);
    epiq_options o = epiq_options_default();
    EQ(combine(&(epiq_given){.ensemble = &H, .batched = &B}, &o), EPIQ_OK);
    EQ(r->point_count, 2);
    EQ(r->methods, EPIQ_EV | EPIQ_BA);
    EQ(r->ensemble_size, 3);
    STR(r->points[0].at, "1");
    NEAR(r->points[0].prediction, 3, 1e-15);
    NEAR(r->points[1].prediction, 12, 1e-14);
    CLOSE(r->points[0].procedural.variance, 10.0 / 3, 1e-15); /* (4 + 1 + 1 + 4) / 3 */
    CLOSE(r->points[1].procedural.variance, 6.0, 1e-15);      /* (4 + 4 + 1 + 9) / 3 */
    /* chi-squared with 3 degrees of freedom: quantiles 0.2157952826 and 9.3484036045 at 2.5 % and 97.5 % */
    CLOSE(r->points[0].procedural.lo, 10 / 9.3484036045, 1e-9);
    CLOSE(r->points[0].procedural.hi, 10 / 0.2157952826, 1e-9);
    CLOSE(r->points[0].ensemble.variance, 3.0, 1e-15); /* variance 9 over 3 batches */
    EQ(r->points[0].ensemble.method, EPIQ_BY_BA);
    CLOSE(r->points[0].ensemble.lo, 6 / 7.3777589082, 1e-9); /* 2 degrees of freedom: -2 log(0.025), -2 log(0.975) */
    CLOSE(r->points[0].ensemble.hi, 6 / 0.0506356160, 1e-8);
    CLOSE(r->points[0].data.variance, 3 - 10.0 / 9, 1e-14);
    EQ(r->points[0].data.method, EPIQ_BY_BA_EV);
    EQ(r->points[0].member_count, 4);
    EQ(r->points[1].batch_count, 3);
    NEAR(r->points[1].members[2], 13, 0);
    NEAR(r->points[1].batches[1], 12, 0);
    EQ(r->given.members, 4);
    EQ(r->given.batches, 3);
    EQ(r->given.rows, 0);
    TRUE(warned("few_members") != NULL);
    done();
}

/* ---- IF ---- */

/* x = A^-1 b by elimination with pivoting; A and b are spent. */
static void solve(int n, double *A, double *b)
{
    for (int k = 0; k < n; k++) {
        int top = k;
        for (int i = k + 1; i < n; i++) {
            top = fabs(A[i * n + k]) > fabs(A[top * n + k]) ? i : top;
        }
        for (int l = 0; l < n; l++) {
            double v = A[k * n + l];
            A[k * n + l] = A[top * n + l];
            A[top * n + l] = v;
        }
        double v = b[k];
        b[k] = b[top];
        b[top] = v;
        for (int i = k + 1; i < n; i++) {
            double f = A[i * n + k] / A[k * n + k];
            for (int l = k; l < n; l++) {
                A[i * n + l] -= f * A[k * n + l];
            }
            b[i] -= f * b[k];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int l = i + 1; l < n; l++) {
            b[i] -= A[i * n + l] * b[l];
        }
        b[i] /= A[i * n + i];
    }
}

/* v_i = c_i r_i, V = sum (v_i - mean v)^2, as the theorem is printed, with r from kernel regression or as given. */
TEST(if_is_the_printed_formula)
{
    enum { N = 5 };
    static const double K[N * N] = {2,   0.5, 0.1, 0.3, 0,   0.5, 1.5, 0.2, 0.1, 0.1, 0.1, 0.2, 1,
                                    0.4, 0.2, 0.3, 0.1, 0.4, 1.2, 0.3, 0,   0.1, 0.2, 0.3, 0.9},
                              k0[N] = {0.7, 0.2, 0.6, 0.1, 0.3}, y[N] = {1, -2, 0.5, 3, 2},
                              yhat[N] = {0.5, -1, 0.5, 2, 2.5};
    epiq_matrix G = doubles("K", N, N, K), C = doubles("k0", N, 1, k0), Y = doubles("y", N, 1, y),
                H = doubles("yhat", N, 1, yhat);
    epiq_options o = epiq_options_default();
    o.lambda = 0.05;
    o.correction = EPIQ_CORRECTION_NONE;
    for (int given = 0; given < 2; given++) {
        double A[N * N], B[N * N], w[N], alpha[N], v[N], mean = 0, V = 0, h = 0;
        memcpy(A, K, sizeof A);
        for (int i = 0; i < N; i++) {
            A[i * N + i] += o.lambda * N;
        }
        memcpy(B, A, sizeof B);
        memcpy(w, k0, sizeof w);
        memcpy(alpha, y, sizeof alpha);
        solve(N, A, w);
        solve(N, B, alpha);
        for (int i = 0; i < N; i++) {
            v[i] = w[i] * (given ? y[i] - yhat[i] : o.lambda * N * alpha[i]);
            mean += v[i] / N;
            h += w[i] * y[i];
        }
        for (int i = 0; i < N; i++) {
            V += (v[i] - mean) * (v[i] - mean);
        }
        EQ(combine(&(epiq_given){.y = &Y, .gram = &G, .cross = &C, .yhat = given ? &H : NULL}, &o), EPIQ_OK);
        CLOSE(r->points[0].data.variance, V, 1e-13); /* rounding: the condition is below 10 */
        CLOSE(r->points[0].prediction, h, 1e-13);
        TRUE(r->points[0].kernel_prediction.known && !r->points[0].procedural.known && r->fit.known);
        EQ(r->methods, EPIQ_IF);
        EQ(r->given.rows, N);
        EQ(r->points[0].data.method, EPIQ_BY_IF);
    }
    done();
}

/* Rows of synthetic set 1 as epiq_estimate sees them, and the kernel between them and points. */
enum { N = 60, D = 3, P = 2 };
static double gram[N * N], cross[N * P], target[N];
static const double X0[P * D] = {0.1, 0.1, 0.1, 0.02, 0.15, 0.08};
static epiq_ctx *other; /* of epiq_estimate, the judge */
static epiq_data *data;
static epiq_points *at;
static epiq_result *want;

static void judge_done(void)
{
    if (other) {
        epiq_result_free(other, want);
        epiq_points_free(other, at);
        epiq_data_free(other, data);
        EQ(other->live_blocks, 0);
        epiq_ctx_free(other);
    }
    other = NULL, data = NULL, at = NULL, want = NULL;
}

static void judge(epiq_options *o)
{
    o->data_by = EPIQ_DATA_BY_IF;
    double x[N * D], y[N];
    judge_done();
    EQ(epiq_ctx_new(&other), EPIQ_OK);
    EQ(epiq_synth(other, 1, N, D, 5, x, y), EPIQ_OK);
    EQ(epiq_data_new(other, N, D, x, y, NULL, o, &data), EPIQ_OK);
    EQ(epiq_points_new(other, data, &at), EPIQ_OK);
    EQ(epiq_points_add_rows(other, at, P, X0), EPIQ_OK);
    EQ(epiq_estimate(other, data, at, o, &want), EPIQ_OK);
    for (int i = 0; i < N; i++) { /* from the mean on, in its own units */
        target[i] = data->y_factor * data->y[i];
    }
}

/* Everything that IF tells is the judge's, in units of the target; the target was shifted by hand. */
static void same_influence(double tolerance)
{
    EQ(r->probes, want->probes);
    EQ(r->correction, want->correction);
    CLOSE(r->fit.loo_rmse, want->fit.loo_rmse, tolerance);
    CLOSE(r->fit.noise_variance, want->fit.noise_variance, tolerance);
    NEAR(r->fit.r2, want->fit.r2, tolerance);
    for (int p = 0; p < P; p++) {
        const epiq_point *got = &r->points[p], *one = &want->points[p];
        for (int how = 0; how < EPIQ_CORRECTIONS; how++) {
            CLOSE(got->corrected[how].variance, one->corrected[how].variance, tolerance);
            CLOSE(got->corrected[how].lo, one->corrected[how].lo, tolerance);
            CLOSE(got->corrected[how].hi, one->corrected[how].hi, tolerance);
            CLOSE(got->corrected[how].df, one->corrected[how].df, tolerance);
        }
        CLOSE(got->data.variance, one->data.variance, tolerance);
        NEAR(got->probe_error, one->probe_error, tolerance);
        NEAR(got->prediction + data->y_shift, one->prediction, tolerance);
        EQ(got->predictive.known, one->predictive.known);
        NEAR(got->predictive.lo, one->predictive.known ? one->predictive.lo - data->y_shift : 0, tolerance);
        NEAR(got->predictive.hi, one->predictive.known ? one->predictive.hi - data->y_shift : 0, tolerance);
        EQ(got->influential_count, one->influential_count);
        for (ptrdiff_t k = 0; k < got->influential_count; k++) {
            EQ(got->influential[k].row, one->influential[k].row);
            CLOSE(got->influential[k].influence, one->influential[k].influence, tolerance);
        }
    }
}

TEST(if_of_the_kernel_is_that_of_an_estimate)
{
    double both[(N + P) * D], K[(N + P) * (N + P)], zero[N + P] = {0};
    for (int correction = 0; correction < EPIQ_CORRECTIONS; correction++) {
        for (int probes = 0; probes <= 32; probes += 32) {
            epiq_options o = epiq_options_default(), plain;
            o.methods = EPIQ_IF;
            o.correction = correction;
            o.probes = probes;
            judge(&o);
            memcpy(both, data->x, sizeof(double) * N * D);
            memcpy(both + N * D, at->x, sizeof(double) * P * D);
            plain = o;
            plain.scale = EPIQ_SCALE_NONE;
            epiq_data *all;
            EQ(epiq_data_new(other, N + P, D, both, zero, NULL, &plain, &all), EPIQ_OK);
            EQ(epiq_kernel(other, all, &plain, K, NULL), EPIQ_OK);
            epiq_data_free(other, all);
            for (int i = 0; i < N; i++) {
                memcpy(gram + i * N, K + i * (N + P), sizeof(double) * N);
                memcpy(cross + i * P, K + i * (N + P) + N, sizeof(double) * P);
            }
            epiq_matrix G = doubles("K", N, N, gram), C = doubles("k0", N, P, cross), Y = doubles("y", N, 1, target);
            EQ(combine(&(epiq_given){.y = &Y, .gram = &G, .cross = &C}, &o), EPIQ_OK);
            same_influence(1e-10); /* the target is rounded once more: 1e-16 times a condition of 1e4 */
        }
    }
    judge_done();
    done();
}

/* ---- Jacobians ---- */

static double noise(uint64_t *state) /* uniform in (-1, 1), any fixed sequence */
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(*state >> 11) / 4503599627370496.0 - 1;
}

enum { JN = 150, JP = 4500, JQ = 3 }; /* more than a tile of rows, more than two blocks of columns */
static double J[JN * JP], J0[JQ * JP], JY[JN], JK[JN * JN], JC[JN * JQ];
static float F[JN * JP], F0[JQ * JP];

static void make_jacobians(void)
{
    uint64_t state = 7;
    for (int k = 0; k < JN * JP; k++) {
        F[k] = (float)noise(&state);
        J[k] = F[k];
    }
    for (int k = 0; k < JQ * JP; k++) {
        F0[k] = (float)noise(&state);
        J0[k] = F0[k];
    }
    for (int i = 0; i < JN; i++) {
        JY[i] = noise(&state);
        for (int k = 0; k < JN; k++) {
            JK[i * JN + k] = 0;
            for (int p = 0; p < JP; p++) {
                JK[i * JN + k] += J[i * JP + p] * J[k * JP + p];
            }
        }
        for (int k = 0; k < JQ; k++) {
            JC[i * JQ + k] = 0;
            for (int p = 0; p < JP; p++) {
                JC[i * JQ + k] += J[i * JP + p] * J0[k * JP + p];
            }
        }
    }
}

TEST(jacobians_are_their_gram_matrix)
{
    make_jacobians();
    epiq_matrix Y = doubles("y", JN, 1, JY), G = doubles("K", JN, JN, JK), C = doubles("k0", JN, JQ, JC);
    epiq_options o = epiq_options_default();
    o.lambda = 0.5;
    double first[JQ][3];
    EQ(combine(&(epiq_given){.y = &Y, .gram = &G, .cross = &C}, &o), EPIQ_OK);
    for (int q = 0; q < JQ; q++) {
        const epiq_point *p = &r->points[q];
        first[q][0] = p->data.variance, first[q][1] = p->prediction, first[q][2] = p->influential[0].influence;
    }
    double bits[JQ] = {0};
    for (int way = 0; way < 4; way++) { /* float64, float32; then other numbers of threads */
        epiq_matrix A = doubles("J", JN, JP, J), B = doubles("J0", JQ, JP, J0);
        if (way) {
            A.real = B.real = EPIQ_FLOAT32;
            A.a = F, B.a = F0;
        }
        o.threads = way < 2 ? 2 : way == 2 ? 1 : 5;
        EQ(combine(&(epiq_given){.y = &Y, .jacobian = &A, .jacobian0 = &B}, &o), EPIQ_OK);
        EQ(r->given.parameters, JP);
        for (int q = 0; q < JQ; q++) { /* sums of 4500 products in another order */
            const epiq_point *p = &r->points[q];
            CLOSE(p->data.variance, first[q][0], 1e-12);
            CLOSE(p->prediction, first[q][1], 1e-12);
            CLOSE(p->influential[0].influence, first[q][2], 1e-12);
            if (way) { /* the same numbers whatever they were kept in, the same bits whatever the threads */
                NEAR(p->data.variance, bits[q], 0);
            }
            bits[q] = p->data.variance;
        }
    }
    done();
}

/* The Jacobian of a network at its start, row by row in reverse mode, against the kernel that epiq_estimate makes of the
 * layers' features; and against differences. */
TEST(jacobian_at_the_start_is_the_empirical_kernel)
{
    for (int depth = 1; depth <= 2; depth++) {
        epiq_options o = epiq_options_default();
        o.methods = EPIQ_IF;
        o.kernel = EPIQ_KERNEL_EMPIRICAL;
        o.width = 24;
        o.depth = depth;
        o.seed = 11;
        judge(&o);
        ptrdiff_t p = epiq_network_size(&o, D);
        EQ(p, depth == 1 ? 24 * (D + 1) + 25 : 24 * (D + 1) + 24 * 25 + 25);
        double *theta = malloc((size_t)p * sizeof *theta), *j = calloc((size_t)((N + P) * p), sizeof *j);
        EQ(epiq_network_start(other, &o, D, 0, theta), EPIQ_OK);
        epiqp_net net = epiqp_net_of(&o, D);
        epiqp_pass pass;
        EQ(epiqp_pass_new(other, &net, &pass), EPIQ_OK);
        epiqp_env e = epiqp_run_begin(other, &o);
        for (int i = 0; i < N + P; i++) {
            const double *x = i < N ? data->x + i * D : at->x + (i - N) * D, one = 1;
            epiqp_net_vjp(&e, &net, theta, 1, x, &one, j + i * p, &pass);
        }
        for (ptrdiff_t k = 0; k < p; k += 7) { /* the network is linear in one weight until a unit switches */
            double up, down, step = 1e-6, was = theta[k];
            theta[k] = was + step;
            epiqp_net_forward(&e, &net, theta, 1, data->x, &up, &pass);
            theta[k] = was - step;
            epiqp_net_forward(&e, &net, theta, 1, data->x, &down, &pass);
            theta[k] = was;
            NEAR(j[k], (up - down) / (2 * step), 1e-8);
        }
        epiqp_run_end();
        epiqp_pass_free(other, &pass);
        epiq_matrix Y = doubles("y", N, 1, target), A = doubles("J", N, p, j), B = doubles("J0", P, p, j + N * p);
        EQ(combine(&(epiq_given){.y = &Y, .jacobian = &A, .jacobian0 = &B}, &o), EPIQ_OK);
        same_influence(1e-10);
        free(theta);
        free(j);
    }
    judge_done();
    done();
}

TEST(a_start_is_that_of_the_member)
{
    enum { W = 8 };
    double a[W * 6 + 1 + W], b[W * 6 + 1 + W];
    epiq_options o = epiq_options_default();
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    o.width = W;
    o.bias_sd = 0.5;
    ptrdiff_t p = epiq_network_size(&o, 4);
    EQ(p, W * 4 + W + W + 1);
    EQ(epiq_network_start(c, &o, 4, 3, a), EPIQ_OK);
    epiqp_net net = {4, W, 1, o.bias, o.bias_sd};
    epiqp_net_init(&net, (epiqp_stream){o.seed, EPIQP_FOR_MEMBER, 3}, b);
    EQ(memcmp(a, b, (size_t)p * sizeof *a), 0);
    o.optimizer = EPIQ_OPTIMIZER_SGD; /* where only the order varies, all start alike */
    o.vary = EPIQ_VARY_ORDER;
    EQ(epiq_network_start(c, &o, 4, 3, a), EPIQ_OK);
    EQ(epiq_network_start(c, &o, 4, 0, b), EPIQ_OK);
    EQ(memcmp(a, b, (size_t)p * sizeof *a), 0);
    EQ(epiq_network_start(c, &o, 4, -1, a), EPIQ_E_USAGE);
    STR(epiq_message(c), "there is no member -1 of networks of 4 features, width 8 and depth 1; members count from 0, "
                         "features from 1");
    EQ(epiq_network_start(c, &o, 0, 0, a), EPIQ_E_USAGE);
    o.width = 0;
    EQ(epiq_network_start(c, &o, 4, 0, a), EPIQ_E_USAGE);
    EQ(epiq_network_size(&o, 4), 0);
    o.width = 10000000;
    o.depth = 1000;
    EQ(epiq_network_size(&o, 4), 0);
    done();
}

TEST(members_for_is_the_least_that_do)
{
    static const double RELATIVE[] = {3, 1, 0.5, 0.2, 0.1, 0.01}, LEVEL[] = {0.5, 0.95, 0.999};
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 3; k++) {
            ptrdiff_t m = epiq_members_for(RELATIVE[i], LEVEL[k]);
            epiq_part enough = epiq_part_of(1, (double)(m - 1), LEVEL[k], EPIQ_BY_EV),
                      few = epiq_part_of(1, (double)(m - 2), LEVEL[k], EPIQ_BY_EV);
            TRUE(m >= 2 && enough.has_interval && !enough.open && (enough.hi - enough.lo) / 2 <= RELATIVE[i]);
            TRUE(!few.has_interval || few.open || (few.hi - few.lo) / 2 > RELATIVE[i]);
        }
    }
    /* for many the interval is 1 +- z sqrt(2/m), z the normal quantile of the level */
    CLOSE((double)epiq_members_for(0.01, 0.95), 2 * (1.959964 / 0.01) * (1.959964 / 0.01), 1e-3);
    EQ(epiq_members_for(1e9, 0.5), 2);
    EQ(epiq_members_for(0, 0.95), 0);
    EQ(epiq_members_for(-1, 0.95), 0);
    EQ(epiq_members_for(NAN, 0.95), 0);
    EQ(epiq_members_for(0.1, 0), 0);
    EQ(epiq_members_for(0.1, 1), 0);
    EQ(epiq_members_for(0.1, NAN), 0);
    EQ(epiq_members_for(1e-9, 0.95), 0);
}

/* ---- names, advice, warnings ---- */

TEST(points_are_called_by_the_columns)
{
    static const double h[] = {1, 2, 3, 5};
    static const char *const names[] = {"left", "right"}, *const others[] = {"left", "middle"};
    epiq_matrix H = doubles("m.csv", 2, 2, h), B = doubles("b.csv", 2, 2, h);
    epiq_options o = epiq_options_default();
    B.column = names;
    EQ(combine(&(epiq_given){.ensemble = &H, .batched = &B}, &o), EPIQ_OK);
    STR(r->points[1].at, "right");
    H.column = others;
    EQ(combine(&(epiq_given){.ensemble = &H, .batched = &B}, &o), EPIQ_E_DATA);
    STR(epiq_message(c),
        "point 2 is called \"middle\" in m.csv but \"right\" in b.csv; give the same points in the same order");
    done();
}

TEST(advice_without_rows_speaks_of_as_many_again)
{
    static const double h[] = {1, 1.1, 0.9, 1}, b[] = {-5, 5, 0.1}, y[] = {1, 2, 3, 4, 5, 6, 7};
    epiq_matrix H = doubles("m", 4, 1, h), B = doubles("b", 3, 1, b), Y = doubles("y", 7, 1, y);
    epiq_options o = epiq_options_default();
    EQ(combine(&(epiq_given){.ensemble = &H, .batched = &B}, &o), EPIQ_OK);
    EQ(r->advice.action, EPIQ_DO_COLLECT);
    EQ(r->advice.rows, 0);
    CONTAINS(r->advice.text, "Collect more: as many rows again lower the variance of an ensemble of 3");
    EQ(combine(&(epiq_given){.ensemble = &H, .batched = &B, .y = &Y}, &o), EPIQ_OK);
    EQ(r->advice.rows, 7);
    CONTAINS(r->advice.text, "Collect more: 7 more rows lower");
    EQ(combine(&(epiq_given){.ensemble = &H}, &o), EPIQ_OK);
    STR(r->advice.text,
        "No advice: it takes both parts at one point at least. Members (--ensemble) and a kernel (--gram or "
        "--jacobian), or retrained networks (--retrained), give them directly.");
    EQ(r->ensemble_size, 4);
    EQ(combine(&(epiq_given){.batched = &B}, &o), EPIQ_OK); /* the mean of the batches, whose variance BA is */
    NEAR(r->points[0].prediction, 0.1 / 3, 1e-15);
    NEAR(r->points[0].prediction_variance.variance, r->points[0].ensemble.variance, 0);
    TRUE(r->points[0].ensemble.known && !r->points[0].procedural.known);
    o.ensemble_size = 7;
    EQ(combine(&(epiq_given){.batched = &B}, &o), EPIQ_OK);
    STR(warned("ensemble_size")->message, "BA alone tells the variance of an ensemble of 3 only, as many as there are "
                                          "batches; add members (--ensemble) or a "
                                          "kernel (--gram or --jacobian) for one of 7");
    static const double wide[] = {-9, 9, 0}, narrow[] = {1, 1.01, 1.02};
    H = doubles("m", 3, 1, wide), B = doubles("b", 3, 1, narrow);
    EQ(combine(&(epiq_given){.ensemble = &H, .batched = &B}, &o), EPIQ_OK);
    TRUE(!r->points[0].data.known);
    CONTAINS(warned("negative_difference")->message, "measure it directly with a kernel (--gram or --jacobian)");
    for (ptrdiff_t k = 0; k < r->warning_count; k++) {
        TRUE(!strstr(r->warnings[k].message, "--methods") && !strstr(r->warnings[k].message, "--width"));
    }
    done();
}

/* ---- what is refused ---- */

TEST(every_refusal_says_what_and_what_to_do)
{
    static double two[] = {1, 2, 3, 4}, three[] = {1, 2, 3}, K[] = {2, 1, 1, 2}, bad[] = {1, 2, NAN, 4},
                  large[] = {1, 1e101}, skew[] = {2, 1, 0.5, 2}, minus[] = {2, 1, 1, -2}, indefinite[] = {1, 3, 3, 1},
                  nil[] = {0, 0, 0, 0}, J3[] = {1, 2, 3, 4, 5, 6};
    static float inf[] = {1, INFINITY};
    epiq_matrix M = doubles("m.csv", 2, 2, two), B3 = doubles("b.csv", 1, 3, three), Y = doubles("y.npy", 2, 1, two),
                Y3 = doubles("y.npy", 3, 1, three), Y1 = doubles("y.npy", 1, 1, three),
                row = doubles("y.npy", 1, 3, three), G = doubles("K.npy", 2, 2, K), C = doubles("k0.npy", 2, 1, two),
                C2 = doubles("k0.npy", 2, 2, two), N1 = doubles("m.csv", 2, 2, bad), L = doubles("y.npy", 2, 1, large),
                S = doubles("K.npy", 2, 2, skew), D1 = doubles("K.npy", 2, 2, minus),
                I = doubles("K.npy", 2, 2, indefinite), Z = doubles("K.npy", 2, 2, nil),
                one = doubles("m.csv", 1, 2, two), empty = doubles("J.npy", 2, 0, two), A = doubles("J.npy", 2, 3, J3),
                A0 = doubles("J0.npy", 1, 2, two), A1 = doubles("J0.npy", 1, 3, J3), X = doubles("x0.csv", 3, 1, three),
                single = doubles("m.csv", 2, 1, two), wide = doubles("K.npy", 2, 1, K),
                infinite = {.name = "J0.npy", .rows = 1, .columns = 2, .real = EPIQ_FLOAT32, .a = inf},
                A2 = doubles("J.npy", 2, 2, K), K1 = doubles("K.npy", 1, 1, K), C1 = doubles("k0.npy", 1, 1, K);
    const struct {
        epiq_given g;
        int status;
        const char *sentence;
    } cases[] = {
        {{0},
         EPIQ_E_USAGE,
         "there is nothing to combine; give --ensemble, --batched, --gram with --cross and --y, or --jacobian with "
         "--jacobian0 and --y"},
        {{.y = &Y, .gram = &G, .cross = &C, .jacobian = &A, .jacobian0 = &A1},
         EPIQ_E_USAGE,
         "--gram and --jacobian are two ways to give the same kernel; give one of them"},
        {{.y = &Y, .gram = &G},
         EPIQ_E_USAGE,
         "--gram, the kernel between the rows, needs --cross, the kernel between rows and points; give both, or "
         "neither"},
        {{.y = &Y, .cross = &C},
         EPIQ_E_USAGE,
         "--cross, the kernel between rows and points, needs --gram, the kernel between the rows; give both, or "
         "neither"},
        {{.y = &Y, .jacobian = &A},
         EPIQ_E_USAGE,
         "--jacobian, of the rows, needs --jacobian0, of the points; give both, or neither"},
        {{.y = &Y, .jacobian0 = &A1},
         EPIQ_E_USAGE,
         "--jacobian0, of the points, needs --jacobian, of the rows; give both, or neither"},
        {{.gram = &G, .cross = &C},
         EPIQ_E_USAGE,
         "--gram needs --y, the target that the networks were trained on; give both, or neither"},
        {{.ensemble = &M, .yhat = &Y},
         EPIQ_E_USAGE,
         "--yhat needs a kernel, --gram or --jacobian, or networks trained again, --retrained; give both, or neither"},
        {{.y = &Y3, .gram = &G, .cross = &C},
         EPIQ_E_DATA,
         "K.npy has 2 rows but y.npy has 3 rows; both need one for every training row"},
        {{.y = &Y, .gram = &wide, .cross = &C},
         EPIQ_E_DATA,
         "K.npy has 1 column but y.npy has 2 rows; both need one for every training row"},
        {{.ensemble = &M, .batched = &B3},
         EPIQ_E_DATA,
         "b.csv has 3 columns but m.csv has 2 columns; both need one for every point"},
        {{.ensemble = &M, .at = &X},
         EPIQ_E_DATA,
         "x0.csv has 3 rows but m.csv has 2 columns; both need one for every point"},
        {{.y = &Y, .jacobian = &A, .jacobian0 = &A0},
         EPIQ_E_DATA,
         "J0.npy has 2 columns but J.npy has 3 columns; both need one for every parameter"},
        {{.ensemble = &single, .y = &row},
         EPIQ_E_DATA,
         "y.npy has 3 columns; it must have one, with a number for every row"},
        {{.y = &Y, .jacobian = &empty, .jacobian0 = &empty},
         EPIQ_E_DATA,
         "J.npy is 2 x 0, so it is empty; it must have rows and columns"},
        {{.y = &Y1, .gram = &K1, .cross = &C1},
         EPIQ_E_DATA,
         "y.npy has one row; at least 2 are needed to tell what other data would do"},
        {{.ensemble = &N1}, EPIQ_E_DATA, "m.csv: row 2, column 1 is nan; only finite numbers up to 1e100 can be used"},
        {{.ensemble = &M, .y = &L},
         EPIQ_E_DATA,
         "y.npy: row 2, column 1 is 1e+101; only finite numbers up to 1e100 can be used"},
        {{.y = &Y, .jacobian = &A2, .jacobian0 = &infinite},
         EPIQ_E_DATA,
         "J0.npy: row 1, column 2 is inf; only finite numbers up to 1e100 can be used"},
        {{.y = &Y, .gram = &S, .cross = &C2},
         EPIQ_E_DATA,
         "K.npy is not symmetric: row 2, column 1 is 0.5 and row 1, column 2 is 1; it must be the kernel between the "
         "rows "
         "and themselves"},
        {{.y = &Y, .gram = &D1, .cross = &C},
         EPIQ_E_DATA,
         "K.npy: row 2, column 2 is -2, and the diagonal of a kernel's Gram matrix is not negative; check how it was "
         "made"},
        {{.y = &Y, .gram = &I, .cross = &C},
         EPIQ_E_NUMERIC,
         "K.npy is not positive definite, so it is no kernel's Gram matrix; check that rows and columns are the same "
         "and in "
         "the same order and that nothing was taken off, or give the Jacobian"},
        {{.y = &Y, .gram = &Z, .cross = &C}, EPIQ_E_NUMERIC, NULL},
        {{.ensemble = &one},
         EPIQ_E_DATA,
         "m.csv holds one network (one row), and one has no spread; give two or more, or gather them with --append"},
        {{.ensemble = &M, .merge = (const char *const[]){"no/such/file"}, .merge_count = 1},
         EPIQ_E_FILE,
         "no/such/file: No such file or directory; name a file that --append has made"},
    };
    epiq_options o = epiq_options_default();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        EQ(combine(&cases[k].g, &o), cases[k].status);
        TRUE(r == NULL);
        if (cases[k].sentence) {
            STR(epiq_message(c), cases[k].sentence);
        }
    }
    o.lambda = NAN;
    EQ(combine(&(epiq_given){.ensemble = &M}, &o), EPIQ_E_USAGE);
    o = epiq_options_default();
    o.time = 1; /* options of training are nobody's concern here */
    o.members = 0;
    o.methods = 0;
    EQ(combine(&(epiq_given){.ensemble = &M}, &o), EPIQ_OK);
    done();
}

/* Within the rounding that is allowed, but more than the least lambda makes up for. */
TEST(a_kernel_may_need_a_larger_lambda)
{
    static const double K[] = {1, 1 + 5e-8, 1 + 5e-8, 1}, y[] = {1, 2};
    epiq_matrix G = doubles("K.npy", 2, 2, K), C = doubles("k0", 2, 1, y), Y = doubles("y", 2, 1, y);
    epiq_options o = epiq_options_default();
    o.lambda = 1e-16;
    EQ(combine(&(epiq_given){.y = &Y, .gram = &G, .cross = &C}, &o), EPIQ_E_NUMERIC);
    STR(epiq_message(c),
        "the kernel matrix of K.npy is not positive definite even with lambda n = 2e-16 on its diagonal; use "
        "a larger --lambda");
    o.lambda = 1e-3;
    EQ(combine(&(epiq_given){.y = &Y, .gram = &G, .cross = &C}, &o), EPIQ_OK);
    static const double beyond[] = {1, 1 + 1e-6, 1 + 1e-6, 1}; /* -1e-6, where the trace is 2 */
    G.a = beyond;
    EQ(combine(&(epiq_given){.y = &Y, .gram = &G, .cross = &C}, &o), EPIQ_E_NUMERIC);
    CONTAINS(epiq_message(c), "K.npy is not positive definite, so it is no kernel's Gram matrix");
    done();
}

TEST(the_mean_of_both_halves_is_used)
{
    static const double K[] = {1, 0.5 + 4e-6, 0.5 - 4e-6, 2}, mean[] = {1, 0.5, 0.5, 2}, y[] = {1, 2},
                        k0[] = {0.3, 0.9};
    epiq_matrix G = doubles("K", 2, 2, K), C = doubles("k0", 2, 1, k0), Y = doubles("y", 2, 1, y);
    epiq_options o = epiq_options_default();
    EQ(combine(&(epiq_given){.y = &Y, .gram = &G, .cross = &C}, &o), EPIQ_OK);
    double got = r->points[0].data.variance;
    G.a = mean;
    EQ(combine(&(epiq_given){.y = &Y, .gram = &G, .cross = &C}, &o), EPIQ_OK);
    CLOSE(got, r->points[0].data.variance, 1e-13); /* rounding, where either half alone is off by 1e-6 */
    done();
}

/* Float32 rounds K to about 1e-7 of it: neither a little asymmetry nor a little indefiniteness is anybody's mistake. */
TEST(a_gram_matrix_may_be_rounded)
{
    enum { M = 40 };
    double x[M], y[M], k0[M], exact = 0;
    float K[M * M];
    for (int i = 0; i < M; i++) {
        x[i] = i / 40.0;
        y[i] = sin(7 * x[i]);
        k0[i] = 1 + x[i] * 0.3; /* of a kernel of rank 2: all other eigenvalues are rounding */
    }
    for (int i = 0; i < M; i++) {
        for (int k = 0; k < M; k++) {
            K[i * M + k] = (float)(1 + x[i] * x[k]) + (float)(i < k ? 1e-6 : 0);
        }
    }
    epiq_matrix G = {.name = "K", .rows = M, .columns = M, .real = EPIQ_FLOAT32, .a = K}, C = doubles("k0", M, 1, k0),
                Y = doubles("y", M, 1, y);
    epiq_options o = epiq_options_default();
    EQ(combine(&(epiq_given){.y = &Y, .gram = &G, .cross = &C}, &o), EPIQ_OK);
    exact = r->points[0].prediction;
    for (int i = 0; i < M; i++) {
        for (int k = 0; k < M; k++) {
            K[i * M + k] = (float)(1 + x[i] * x[k]);
        }
    }
    EQ(combine(&(epiq_given){.y = &Y, .gram = &G, .cross = &C}, &o), EPIQ_OK);
    NEAR(exact, r->points[0].prediction, 1e-4); /* 1e-6 of K, over lambda n = 0.04 */
    K[3] += (float)1e-3;
    EQ(combine(&(epiq_given){.y = &Y, .gram = &G, .cross = &C}, &o), EPIQ_E_DATA);
    CONTAINS(epiq_message(c), "K is not symmetric: row 4, column 1 is ");
    done();
}

TEST(extreme_units_lose_no_finiteness)
{
    static const double y[] = {1e99, -1e99, 5e98, 1e98},
                        K[] = {1e-90, 0, 0, 0, 0, 1e-90, 0, 0, 0, 0, 1e-90, 0, 0, 0, 0, 1e-90},
                        k0[] = {1e99, 1e98, -1e99, 1e97}, h[] = {1e100, -1e100, 1e99};
    epiq_matrix Y = doubles("y", 4, 1, y), G = doubles("K", 4, 4, K), C = doubles("k0", 4, 1, k0),
                H = doubles("m", 3, 1, h);
    epiq_options o = epiq_options_default();
    o.lambda = 1e-16;
    int s = combine(&(epiq_given){.y = &Y, .gram = &G, .cross = &C, .ensemble = &H}, &o);
    EQ(s, EPIQ_OK);
    TRUE(isfinite(r->points[0].prediction) && isfinite(r->points[0].kernel_prediction.value));
    for (ptrdiff_t k = 0; k < r->points[0].influential_count; k++) {
        TRUE(isfinite(r->points[0].influential[k].influence));
    }
    done();
}

/* ---- memory, stopping ---- */

static int stop_at(void *user, const epiq_progress *p)
{
    return p->done >= *(const ptrdiff_t *)user;
}

TEST(a_jacobian_can_be_stopped_between_blocks)
{
    make_jacobians();
    epiq_matrix Y = doubles("y", JN, 1, JY), A = doubles("J", JN, JP, J), B = doubles("J0", JQ, JP, J0);
    epiq_options o = epiq_options_default();
    ptrdiff_t block = 1;
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    epiq_ctx_on_progress(c, stop_at, &block);
    EQ(epiq_combine(c, &(epiq_given){.y = &Y, .jacobian = &A, .jacobian0 = &B}, &o, &r), EPIQ_E_STOPPED);
    STR(epiq_message(c), "stopped on request while working on kernel");
    EQ(c->live_blocks, 0);
    block = 99; /* the request ended with the call */
    EQ(epiq_combine(c, &(epiq_given){.y = &Y, .jacobian = &A, .jacobian0 = &B}, &o, &r), EPIQ_OK);
    done();
}

static const char *fresh(const char *name)
{
    static char path[4][64];
    static int next;
    char *p = path[next++ % 4], tail[80];
    snprintf(p, sizeof path[0], "/tmp/epiq-combine-%d-%s", (int)getpid(), name);
    const char *ends[] = {"", "-wal", "-shm"};
    for (int k = 0; k < 3; k++) {
        snprintf(tail, sizeof tail, "%s%s", p, ends[k]);
        unlink(tail);
    }
    return p;
}

TEST(every_allocation_may_fail)
{
    static const double h[] = {1, 2, 3, 4}, y[] = {1, 2, 4}, K[] = {2, 1, 0, 1, 2, 1, 0, 1, 2},
                        k0[] = {1, 0, 0, 1, 1, 1}, j[] = {1, 2, 3, 1, 0, 1, 2, 2, 2, 5, 1, 1},
                        j0[] = {1, 1, 1, 2, 0, 1, 0, 1};
    static const char *const names[] = {"a", "b"};
    epiq_matrix H = doubles("m", 2, 2, h), Y = doubles("y", 3, 1, y), G = doubles("K", 3, 3, K),
                C = doubles("k0", 3, 2, k0), A = doubles("J", 3, 4, j), B = doubles("J0", 2, 4, j0);
    H.column = names;
    for (int way = 0; way < 3; way++) {
        epiq_options o = epiq_options_default();
        epiq_given g =
            way == 0 ? (epiq_given){.y = &Y, .gram = &G, .cross = &C, .yhat = &Y, .ensemble = &H}
                     : (epiq_given){.y = &Y, .jacobian = &A, .jacobian0 = &B, .ensemble = &H, .batched = &H, .at = &H};
        const char *path = fresh("memory");
        o.state = way == 2 ? path : NULL;
        EQ(epiq_ctx_new(&c), EPIQ_OK);
        ptrdiff_t k = 0;
        int s = EPIQ_E_NOMEM;
        for (; s == EPIQ_E_NOMEM && k < 1000; k++) {
            c->fail_after = k;
            s = epiq_combine(c, &g, &o, &r);
            TRUE(s == EPIQ_OK || (r == NULL && c->live_blocks == 0));
            TRUE(s == EPIQ_OK || strstr(epiq_message(c), "no memory"));
        }
        c->fail_after = -1;
        EQ(s, EPIQ_OK);
        TRUE(k > 20);
        EQ(r->given.added, way == 2 ? 4 : 0); /* no attempt that failed left any */
        done();
        fresh("memory");
    }
}

/* ---- the state file ---- */

enum { ROWS = 7 };
static const double ALL[ROWS * 2] = {1, 5, 2, 4, 3, 3.5, 4, 2, 1.5, 1, 2, 4, 0.25, 9}; /* rows 1 and 5 are equal */

static double rounded_sum(void) /* depends on every bit and on the order of the networks */
{
    double sum = 0;
    for (ptrdiff_t p = 0; p < r->point_count; p++) {
        for (ptrdiff_t k = 0; k < r->points[p].member_count; k++) {
            sum = sum * 1.1 + r->points[p].members[k];
        }
        sum += r->points[p].prediction + r->points[p].procedural.variance;
    }
    return sum;
}

TEST(networks_gathered_in_any_order_are_the_same)
{
    epiq_options o = epiq_options_default();
    epiq_matrix whole = doubles("all", ROWS, 2, ALL), first = doubles("first", 4, 2, ALL),
                last = doubles("last", 3, 2, ALL + 8);
    o.state = fresh("whole");
    EQ(combine(&(epiq_given){.ensemble = &whole}, &o), EPIQ_OK);
    EQ(r->given.added, ROWS);
    EQ(r->given.kept, ROWS);
    double want_sum = rounded_sum();
    char before[65] = "";
    for (ptrdiff_t k = 0; k < ROWS; k++) { /* in the order of their checksums */
        double row[2] = {r->points[0].members[k], r->points[1].members[k]};
        char hex[65];
        epiqp_sha256 sum;
        epiqp_sha256_start(&sum);
        epiqp_sha256_add(&sum, row, sizeof row);
        epiqp_sha256_end(&sum, hex);
        TRUE(strcmp(before, hex) <= 0);
        memcpy(before, hex, sizeof before);
    }
    double sorted[ROWS * 2];
    for (ptrdiff_t k = 0; k < ROWS; k++) {
        sorted[2 * k] = r->points[0].members[k], sorted[2 * k + 1] = r->points[1].members[k];
    }
    epiq_matrix union_ = doubles("sorted", ROWS, 2, sorted);
    epiq_options plain = epiq_options_default();
    EQ(combine(&(epiq_given){.ensemble = &union_}, &plain), EPIQ_OK);
    NEAR(rounded_sum(), want_sum, 0);
    EQ(combine(&(epiq_given){.ensemble = &whole}, &plain), EPIQ_OK); /* without a file they stay in their order, */
    TRUE(rounded_sum() != want_sum && r->points[0].members[1] == 2);
    CLOSE(r->points[0].procedural.variance, epiqp_variance((double[]){1, 2, 3, 4, 1.5, 2, 0.25}, ROWS), 1e-14);
    for (int order = 0; order < 2; order++) { /* and the equal rows come from two calls, so that they are one network */
        o.state = fresh("parts");
        EQ(combine(&(epiq_given){.ensemble = order ? &last : &first}, &o), EPIQ_OK);
        EQ(combine(&(epiq_given){.ensemble = order ? &first : &last}, &o), EPIQ_OK);
        EQ(r->given.members, ROWS - 1);
        EQ(r->given.kept, ROWS - 1);
        STR(warned("already_there")->message, order ? "1 of 4 networks given were there already, and count once"
                                                    : "1 of 3 networks given were there already, and count once");
        static double sum_of_first;
        sum_of_first = order ? sum_of_first : rounded_sum();
        NEAR(rounded_sum(), sum_of_first, 0);
    }
    o.state = fresh("whole");
    for (int again = 0; again < 3; again++) { /* the same file twice adds nothing, equal rows of one call do */
        EQ(combine(&(epiq_given){.ensemble = &whole}, &o), EPIQ_OK);
        EQ(r->given.added, again ? 0 : ROWS);
        EQ(r->given.members, ROWS);
        NEAR(rounded_sum(), want_sum, 0);
        TRUE(!again == !warned("already_there"));
    }
    EQ(combine(&(epiq_given){0}, &o), EPIQ_OK); /* nothing new: what is there */
    EQ(r->given.added, 0);
    NEAR(rounded_sum(), want_sum, 0);
    done();
    fresh("whole"), fresh("parts");
}

TEST(one_network_waits_for_another)
{
    epiq_options o = epiq_options_default();
    epiq_matrix a = doubles("a", 1, 2, ALL), b = doubles("b", 1, 2, ALL + 2), c1 = doubles("c", 1, 2, ALL + 4);
    o.state = fresh("single");
    EQ(combine(&(epiq_given){.ensemble = &a}, &o), EPIQ_OK);
    STR(warned("one_network")->message,
        "there is one member so far, and the prediction of one network has no spread; another is needed");
    TRUE(!r->points[0].procedural.known && !r->points[0].prediction_variance.known && !(r->methods & EPIQ_EV));
    NEAR(r->points[0].prediction, 1, 0);
    EQ(r->points[1].member_count, 1);
    EQ(combine(&(epiq_given){.ensemble = &b, .batched = &c1}, &o), EPIQ_OK);
    TRUE(r->points[0].procedural.known && !r->points[0].ensemble.known);
    CLOSE(r->points[0].procedural.variance, 0.5, 1e-15);
    STR(warned("one_network")->message,
        "there is one batch so far, and the prediction of one network has no spread; another is needed");
    EQ(combine(&(epiq_given){.batched = &b}, &o), EPIQ_OK); /* a batch, though its numbers are a member's too */
    EQ(r->given.members, 2);
    EQ(r->given.batches, 2);
    TRUE(!warned("one_network"));
    done();
    fresh("single");
}

TEST(other_points_are_refused)
{
    static const char *const names[] = {"a", "b"}, *const turned[] = {"b", "a"};
    static const double x[] = {1, 2, 3, 4}, moved[] = {1, 2, 3, 4.5};
    static const float same[] = {1, 2, 3, 4};
    epiq_options o = epiq_options_default();
    epiq_matrix H = doubles("m.csv", 3, 2, ALL), three = doubles("n.csv", 2, 3, ALL), X = doubles("x.npy", 2, 2, x),
                X1 = doubles("moved.npy", 2, 2, moved), turn = doubles("t.csv", 3, 2, ALL + 4),
                X2 = {.name = "same.npy", .rows = 2, .columns = 2, .real = EPIQ_FLOAT32, .a = same};
    char want_text[512];
    o.state = fresh("points");
    H.column = names;
    turn.column = turned;
    EQ(combine(&(epiq_given){.ensemble = &H, .at = &X}, &o), EPIQ_OK);
    EQ(combine(&(epiq_given){.ensemble = &three}, &o), EPIQ_E_DATA);
    snprintf(want_text, sizeof want_text,
             "%s is about 2 points but n.csv about 3; only networks that predict at the same points can be combined",
             o.state);
    STR(epiq_message(c), want_text);
    EQ(combine(&(epiq_given){.ensemble = &turn}, &o), EPIQ_E_DATA);
    snprintf(want_text, sizeof want_text,
             "point 1 is called \"b\" in t.csv but \"a\" in %s; give the same points in the same order", o.state);
    STR(epiq_message(c), want_text);
    EQ(combine(&(epiq_given){.ensemble = &H, .at = &X1}, &o), EPIQ_E_DATA);
    snprintf(want_text, sizeof want_text,
             "the points of moved.npy are not those that the networks in %s are about (checksums ", o.state);
    CONTAINS(epiq_message(c), want_text);
    EQ(combine(&(epiq_given){.ensemble = &H, .at = &X2}, &o), EPIQ_OK); /* the same places, in another precision */
    EQ(r->given.kept, 3);                                               /* nothing was added meanwhile */
    turn.column = NULL;
    EQ(combine(&(epiq_given){.ensemble = &turn}, &o), EPIQ_OK);
    STR(r->points[1].at, "b"); /* the file knows */
    done();
    fresh("points");
}

/* What was known only later is compared from then on. */
TEST(a_file_learns_names)
{
    static const char *const names[] = {"a", "b"}, *const others[] = {"a", "c"};
    epiq_options o = epiq_options_default();
    epiq_matrix H = doubles("m", 3, 2, ALL), L = doubles("l", 3, 2, ALL + 6);
    o.state = fresh("names");
    EQ(combine(&(epiq_given){.ensemble = &H}, &o), EPIQ_OK);
    L.column = names;
    EQ(combine(&(epiq_given){.ensemble = &L}, &o), EPIQ_OK);
    EQ(combine(&(epiq_given){.ensemble = &H}, &o), EPIQ_OK);
    STR(r->points[1].at, "b");
    L.column = others;
    EQ(combine(&(epiq_given){.ensemble = &L}, &o), EPIQ_E_DATA);
    done();
    fresh("names");
}

TEST(files_are_merged)
{
    epiq_options o = epiq_options_default(), plain = o;
    epiq_matrix whole = doubles("all", 6, 2, ALL), first = doubles("first", 3, 2, ALL),
                last = doubles("last", 4, 2, ALL + 4), three = doubles("n.csv", 2, 3, ALL);
    const char *a = fresh("a"), *b = fresh("b"), *w = fresh("w");
    o.state = w;
    EQ(combine(&(epiq_given){.ensemble = &whole}, &o), EPIQ_OK);
    o.state = a;
    EQ(combine(&(epiq_given){.ensemble = &first}, &o), EPIQ_OK);
    o.state = b;
    EQ(combine(&(epiq_given){.ensemble = &last}, &o), EPIQ_OK); /* row 2 is in both, and so are rows 1 and 5 */
    const char *files[] = {a, b};
    EQ(combine(&(epiq_given){.merge = files, .merge_count = 2}, &plain), EPIQ_OK);
    EQ(r->given.members, 5);
    EQ(r->given.kept, 0);
    double sum = rounded_sum();
    STR(warned("already_there")->message, "2 of 7 networks given were there already, and count once");
    files[0] = b, files[1] = a;
    EQ(combine(&(epiq_given){.merge = files, .merge_count = 2}, &plain), EPIQ_OK);
    NEAR(rounded_sum(), sum, 0);
    o.state = a;
    EQ(combine(&(epiq_given){.merge = &b, .merge_count = 1}, &o), EPIQ_OK);
    EQ(r->given.added, 2);
    EQ(r->given.kept, 5);
    NEAR(rounded_sum(), sum, 0);
    EQ(combine(&(epiq_given){.merge = &a, .merge_count = 1}, &o), EPIQ_OK); /* itself: nothing new, and no waiting */
    EQ(r->given.added, 0);
    o.state = b;
    EQ(combine(&(epiq_given){.ensemble = &three, .merge = &a, .merge_count = 1}, &o), EPIQ_E_DATA);
    EQ(combine(&(epiq_given){0}, &o), EPIQ_OK);
    EQ(r->given.kept, 4);
    done();
    fresh("a"), fresh("b"), fresh("w");
}

TEST(only_its_own_files_are_taken)
{
    static const double x[] = {1, 2, 3, 4, 5, 6}, y[] = {1, 3, 2, 5, 4, 6};
    epiq_options o = epiq_options_default();
    epiq_matrix H = doubles("m", 3, 2, ALL);
    const char *path = fresh("strange");
    char want_text[512];
    o.width = 4, o.members = 2, o.methods = EPIQ_EV, o.state = path;
    EQ(epiq_ctx_new(&other), EPIQ_OK); /* estimate's */
    EQ(epiq_data_new(other, 6, 1, x, y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(other, data, &at), EPIQ_OK);
    EQ(epiq_points_add(other, at, "mean"), EPIQ_OK);
    EQ(epiq_estimate(other, data, at, &o, &want), EPIQ_OK);
    EQ(combine(&(epiq_given){.ensemble = &H}, &o), EPIQ_E_FILE);
    snprintf(want_text, sizeof want_text,
             "%s keeps the members of an estimate, not networks to combine; name another file", path);
    STR(epiq_message(c), want_text);
    EQ(combine(&(epiq_given){.ensemble = &H, .merge = &path, .merge_count = 1}, &(epiq_options){0}), EPIQ_E_USAGE);
    epiq_options plain = epiq_options_default();
    EQ(combine(&(epiq_given){.ensemble = &H, .merge = &path, .merge_count = 1}, &plain), EPIQ_E_FILE);
    STR(epiq_message(c), want_text);
    o.state = fresh("combined"); /* and the other way round */
    EQ(combine(&(epiq_given){.ensemble = &H}, &o), EPIQ_OK);
    epiq_result *none;
    EQ(epiq_estimate(other, data, at, &o, &none), EPIQ_E_FILE);
    CONTAINS(epiq_message(other), "keeps networks to combine, not the members of an estimate; name another file");
    path = fresh("text");
    FILE *f = fopen(path, "w");
    for (int k = 0; k < 200; k++) {
        fputs("this is no database\n", f);
    }
    fclose(f);
    o.state = path;
    EQ(combine(&(epiq_given){.ensemble = &H}, &o), EPIQ_E_FILE);
    snprintf(want_text, sizeof want_text, "%s is not a state file of epiq; name another file", path);
    STR(epiq_message(c), want_text);
    o.state = fresh("empty");
    EQ(combine(&(epiq_given){0}, &o), EPIQ_E_DATA);
    snprintf(want_text, sizeof want_text,
             "%s keeps no network yet, so there is nothing to combine; give --ensemble or --batched", o.state);
    STR(epiq_message(c), want_text);
    o.state = "/no/such/folder/state";
    EQ(combine(&(epiq_given){.ensemble = &H}, &o), EPIQ_E_FILE);
    judge_done();
    done();
    fresh("strange"), fresh("combined"), fresh("text"), fresh("empty");
}

/* What fails after the networks were looked at adds none of them. */
TEST(a_failure_adds_nothing)
{
    static const double y[] = {1, 2}, I[] = {1, 3, 3, 1};
    epiq_options o = epiq_options_default();
    epiq_matrix H = doubles("m", 3, 2, ALL), L = doubles("l", 3, 2, ALL + 6), Y = doubles("y", 2, 1, y),
                G = doubles("K", 2, 2, I), C = doubles("k0", 2, 2, I);
    o.state = fresh("failure");
    EQ(combine(&(epiq_given){.ensemble = &H}, &o), EPIQ_OK);
    EQ(combine(&(epiq_given){.ensemble = &L, .y = &Y, .gram = &G, .cross = &C}, &o), EPIQ_E_NUMERIC);
    EQ(combine(&(epiq_given){0}, &o), EPIQ_OK);
    EQ(r->given.kept, 3);
    done();
    fresh("failure");
}

enum { WRITERS = 4, EACH = 12 };
typedef struct {
    const char *path;
    int number, failures;
} writer;

static void *write_some(void *user)
{
    writer *w = user;
    epiq_ctx *own;
    epiq_options o = epiq_options_default();
    o.state = w->path;
    o.threads = 1;
    w->failures += epiq_ctx_new(&own) != EPIQ_OK;
    for (int k = 0; k < EACH; k++) {
        double row[2] = {w->number, k};
        epiq_matrix m = doubles("row", 1, 2, row);
        epiq_result *mine;
        w->failures += epiq_combine(own, &(epiq_given){.ensemble = &m}, &o, &mine) != EPIQ_OK;
        epiq_result_free(own, mine);
    }
    w->failures += own->live_blocks != 0;
    epiq_ctx_free(own);
    return NULL;
}

TEST(writers_at_once_lose_nothing)
{
    pthread_t thread[WRITERS];
    writer w[WRITERS];
    const char *path = fresh("writers");
    for (int k = 0; k < WRITERS; k++) {
        w[k] = (writer){path, k, 0};
        EQ(pthread_create(&thread[k], NULL, write_some, &w[k]), 0);
    }
    for (int k = 0; k < WRITERS; k++) {
        pthread_join(thread[k], NULL);
        EQ(w[k].failures, 0);
    }
    epiq_options o = epiq_options_default();
    o.state = path;
    EQ(combine(&(epiq_given){0}, &o), EPIQ_OK);
    EQ(r->given.members, WRITERS * EACH);
    double sum = 0;
    for (ptrdiff_t k = 0; k < r->points[0].member_count; k++) {
        sum += EACH * r->points[0].members[k] + r->points[1].members[k];
    }
    NEAR(sum, WRITERS * EACH * (WRITERS * EACH - 1) / 2, 0); /* each number from 0 on once */
    done();
    fresh("writers");
}
