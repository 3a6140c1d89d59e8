/* epiq_combine against hand formulas, against epiq_estimate on the same kernel, and every input it refuses; the state file
 * that networks are gathered in; the start of a network; members_for. All through epiq.h but for the Jacobian's judge. */
#include "epiq_combine.h"
#include "epiq_details.h"
#include "est/variance.h"
#include "run/run.h"

#include "allocations.h"
#include "combined.h"
#include "usual.h"

#include <float.h>
#include <stdlib.h>

/* ---- EV and BA ---- */

TEST(ev_and_ba_are_those_of_the_hand_formulas)
{
    static const double h[] = {1, 10, 2, 10, 4, 13, 5, 15}, b[] = {3, 9, 6, 12, 0, 15};
    epiq_matrix H = doubles("h.npy", 4, 2, h), B = doubles("b.npy", 3, 2, b);
    epiq_options o = usual_options();
    EQ(combine(GIVEN(.ensemble = &H, .batched = &B), &o), EPIQ_OK);
    EQ(r->point_count, 2);
    EQ(r->ran->methods, EPIQ_EV | EPIQ_BA);
    EQ(r->ran->ensemble_size, 3);
    STR(r->points[0]->at, "1");
    NEAR(r->points[0]->prediction, 3, 1e-15);
    NEAR(r->points[1]->prediction, 12, 1e-14);
    CLOSE(r->points[0]->procedural.variance, 10.0 / 3, 1e-15); /* (4 + 1 + 1 + 4) / 3 */
    CLOSE(r->points[1]->procedural.variance, 6.0, 1e-15);      /* (4 + 4 + 1 + 9) / 3 */
    /* chi-squared with 3 degrees of freedom: quantiles 0.2157952826 and 9.3484036045 at 2.5 % and 97.5 % */
    CLOSE(r->points[0]->procedural.lo, 10 / 9.3484036045, 1e-9);
    CLOSE(r->points[0]->procedural.hi, 10 / 0.2157952826, 1e-9);
    CLOSE(r->points[0]->ensemble.variance, 3.0, 1e-15); /* variance 9 over 3 batches */
    EQ(r->points[0]->ensemble.method, EPIQ_BY_BA);
    CLOSE(r->points[0]->ensemble.lo, 6 / 7.3777589082, 1e-9); /* 2 degrees of freedom: -2 log(0.025), -2 log(0.975) */
    CLOSE(r->points[0]->ensemble.hi, 6 / 0.0506356160, 1e-8);
    CLOSE(r->points[0]->data.variance, 3 - 10.0 / 9, 1e-14);
    EQ(r->points[0]->data.method, EPIQ_BY_BA_EV);
    EQ(r->points[0]->member_count, 4);
    EQ(r->points[1]->batch_count, 3);
    NEAR(r->points[1]->members[2], 13, 0);
    NEAR(r->points[1]->batches[1], 12, 0);
    EQ(r->given->members, 4);
    EQ(r->given->batches, 3);
    EQ(r->given->rows, 0);
    TRUE(warned("few_members") != NULL);
    done();
}

/* ---- the expected prediction ---- */

/* t of f degrees of freedom at 95 %: 3.1824463053 with 3, 4.3026527297 with 2. */
TEST(confidence_is_made_of_the_networks_given)
{
    static const double h[] = {1, 3}, b[] = {3, 6, 0, 3}, off[] = {0.5, 1}, again[] = {2, 3, 1, 5};
    epiq_matrix H = doubles("h.npy", 2, 1, h), B = doubles("b.npy", 4, 1, b), A = doubles("a.npy", 2, 1, off),
                R = doubles("r.npy", 4, 1, again), R0 = doubles("r0.npy", 4, 1, (double[]){0, 0, 0, 0});
    epiq_options o = usual_options();
    o.confidence = EPIQ_CONFIDENCE_BATCHING; /* mean 3, variance (9 + 9)/3 = 6 over 4 */
    EQ(combine(GIVEN(.batched = &B), &o), EPIQ_OK);
    const epiq_confidence *got = &r->points[0]->confidence;
    NEAR(got->centre, 3, 1e-15);
    CLOSE(got->variance, 1.5, 1e-15);
    CLOSE(got->hi, 3 + 3.1824463053 * sqrt(1.5), 1e-9);
    EQ(got->networks, 4);
    /* less the auxiliary networks: 0.5 and 2, so 1.25 with EV 1.125; drawn anew less their start, rows in turn:
     * 1.5, 1, 0.5, 3, whose mean square is (2.25 + 1 + 0.25 + 9)/4 */
    const double rest = 1.125 / 2, S2 = 12.5 / 4, df = (S2 + rest) * (S2 + rest) / (S2 * S2 / 4 + rest * rest);
    o.confidence = EPIQ_CONFIDENCE_BOOTSTRAP;
    EQ(combine(GIVEN(.ensemble = &H, .auxiliary = &A, .resampled = &R, .auxiliary_resampled = &R0), &o), EPIQ_OK);
    got = &r->points[0]->confidence;
    NEAR(r->points[0]->prediction, 1.25, 1e-15);
    NEAR(got->centre, 1.25, 1e-15);
    CLOSE(got->variance, S2 + rest, 1e-14);
    CLOSE(got->df, df, 1e-14);
    EQ(got->networks, 12); /* with the auxiliary ones */
    /* halves of split k from the start of line k: differences (2 - 3)/2 and (1 - 5)/2 */
    o.confidence = EPIQ_CONFIDENCE_HALVES;
    EQ(combine(GIVEN(.ensemble = &H, .resampled = &R), &o), EPIQ_OK);
    CLOSE(r->points[0]->confidence.variance, (0.25 + 4) / 2 + 2.0 / 2, 1e-14);
    NEAR(r->points[0]->confidence.centre, 2, 1e-15);
    EQ(r->points[0]->confidence.networks, 6);
    o.confidence = EPIQ_CONFIDENCE_NONE;
    EQ(combine(GIVEN(.ensemble = &H), &o), EPIQ_OK);
    EQ(r->points[0]->confidence.known, 0);
    done();
}

TEST(networks_that_confidence_cannot_be_made_of)
{
    static const double h[] = {1, 3, 2}, many[] = {1e308, -1e308}, minus[] = {-1e308, 1e308};
    epiq_matrix H = doubles("h.npy", 2, 1, h), three = doubles("r.npy", 3, 1, h), large = doubles("l.npy", 2, 1, many),
                off = doubles("o.npy", 2, 1, minus);
    epiq_options o = usual_options();
    EQ(combine(GIVEN(.ensemble = &H, .resampled = &H), &o), EPIQ_E_USAGE);
    EQ(combine(GIVEN(.ensemble = &H, .auxiliary = &three), &o), EPIQ_E_DATA);
    EQ(combine(GIVEN(.ensemble = &large, .auxiliary = &off), &o), EPIQ_E_DATA);
    EQ(combine(GIVEN(.batched = &H, .auxiliary = &H), &o), EPIQ_E_USAGE);
    EQ(combine(GIVEN(.ensemble = &H, .batched = &H, .auxiliary = &H), &o), EPIQ_E_USAGE);
    o.confidence = EPIQ_CONFIDENCE_BATCHING;
    EQ(combine(GIVEN(.ensemble = &H), &o), EPIQ_E_USAGE);
    o.confidence = EPIQ_CONFIDENCE_RETRAIN;
    EQ(combine(GIVEN(.ensemble = &H), &o), EPIQ_E_USAGE);
    o.confidence = EPIQ_CONFIDENCE_HALVES;
    EQ(combine(GIVEN(.ensemble = &H), &o), EPIQ_E_USAGE);
    EQ(combine(GIVEN(.ensemble = &H, .resampled = &three), &o), EPIQ_E_DATA);
    EQ(combine(GIVEN(.resampled = &three), &o), EPIQ_E_USAGE);
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
    epiq_options o = usual_options();
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
        EQ(combine(GIVEN(.y = &Y, .gram = &G, .cross = &C, .yhat = given ? &H : NULL), &o), EPIQ_OK);
        CLOSE(r->points[0]->data.variance, V, 1e-13); /* rounding: the condition is below 10 */
        CLOSE(r->points[0]->prediction, h, 1e-13);
        TRUE(r->points[0]->kernel_prediction.known && !r->points[0]->procedural.known && r->fit->known);
        EQ(r->ran->methods, EPIQ_IF);
        EQ(r->given->rows, N);
        EQ(r->points[0]->data.method, EPIQ_BY_IF);
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
    o->scale = EPIQ_SCALE_NONE; /* the chance of a mean that was taken off is the judge's alone */
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
    EQ(r->solve->probes, want->solve->probes);
    EQ(r->ran->correction, want->ran->correction);
    CLOSE(r->fit->kernel_rmse, want->fit->kernel_rmse, tolerance);
    CLOSE(r->fit->noise_variance, want->fit->kernel_noise_variance, tolerance);
    NEAR(r->fit->r2, want->fit->r2, tolerance);
    for (int p = 0; p < P; p++) {
        const epiq_point *got = r->points[p], *one = want->points[p];
        for (int how = 0; how < EPIQ_CORRECTIONS; how++) {
            CLOSE(epiq_point_corrected(got, how)->variance, epiq_point_corrected(one, how)->variance, tolerance);
            CLOSE(epiq_point_corrected(got, how)->lo, epiq_point_corrected(one, how)->lo, tolerance);
            CLOSE(epiq_point_corrected(got, how)->hi, epiq_point_corrected(one, how)->hi, tolerance);
            CLOSE(epiq_point_corrected(got, how)->df, epiq_point_corrected(one, how)->df, tolerance);
        }
        CLOSE(got->data.variance, one->data.variance, tolerance);
        NEAR(got->probe_error, one->probe_error, tolerance);
        NEAR(got->prediction + data->y_shift, one->prediction, tolerance);
        EQ(got->predictive.known, one->predictive.known);
        EQ(got->influential_count, one->influential_count);
        for (ptrdiff_t k = 0; k < got->influential_count; k++) {
            EQ(got->influential[k]->row, one->influential[k]->row);
            CLOSE(got->influential[k]->influence, one->influential[k]->influence, tolerance);
        }
    }
}

TEST(if_of_the_kernel_is_that_of_an_estimate)
{
    double both[(N + P) * D], K[(N + P) * (N + P)], zero[N + P] = {0};
    for (int correction = 0; correction < EPIQ_CORRECTIONS; correction++) {
        for (int probes = 0; probes <= 32; probes += 32) {
            epiq_options o = usual_options(), plain;
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
            EQ(combine(GIVEN(.y = &Y, .gram = &G, .cross = &C), &o), EPIQ_OK);
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
    epiq_options o = usual_options();
    o.lambda = 0.5;
    double first[JQ][3];
    EQ(combine(GIVEN(.y = &Y, .gram = &G, .cross = &C), &o), EPIQ_OK);
    for (int q = 0; q < JQ; q++) {
        const epiq_point *p = r->points[q];
        first[q][0] = p->data.variance, first[q][1] = p->prediction, first[q][2] = p->influential[0]->influence;
    }
    double bits[JQ] = {0};
    for (int way = 0; way < 4; way++) { /* float64, float32; then other numbers of threads */
        epiq_matrix A = doubles("J", JN, JP, J), B = doubles("J0", JQ, JP, J0);
        if (way) {
            A.real = B.real = EPIQ_FLOAT32;
            A.a = F, B.a = F0;
        }
        o.threads = way < 2 ? 2 : way == 2 ? 1 : 5;
        EQ(combine(GIVEN(.y = &Y, .jacobian = &A, .jacobian0 = &B), &o), EPIQ_OK);
        EQ(r->given->parameters, JP);
        for (int q = 0; q < JQ; q++) { /* sums of 4500 products in another order */
            const epiq_point *p = r->points[q];
            CLOSE(p->data.variance, first[q][0], 1e-12);
            CLOSE(p->prediction, first[q][1], 1e-12);
            CLOSE(p->influential[0]->influence, first[q][2], 1e-12);
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
        epiq_options o = usual_options();
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
        epiqp_env e = epiqp_run_begin(other, &o);
        EQ(epiqp_pass_new(&e, &net, &pass), EPIQ_OK);
        for (int i = 0; i < N + P; i++) {
            const double *x = i < N ? data->x + i * D : at->x + (i - N) * D, one = 1;
            epiqp_net_vjp(&pass, theta, 1, x, &one, j + i * p);
        }
        for (ptrdiff_t k = 0; k < p; k += 7) { /* the network is linear in one weight until a unit switches */
            double up, down, step = 1e-6, was = theta[k];
            theta[k] = was + step;
            epiqp_net_forward(&pass, theta, 1, data->x, &up);
            theta[k] = was - step;
            epiqp_net_forward(&pass, theta, 1, data->x, &down);
            theta[k] = was;
            NEAR(j[k], (up - down) / (2 * step), 1e-8);
        }
        epiqp_run_end();
        epiqp_pass_free(other, &pass);
        epiq_matrix Y = doubles("y", N, 1, target), A = doubles("J", N, p, j), B = doubles("J0", P, p, j + N * p);
        EQ(combine(GIVEN(.y = &Y, .jacobian = &A, .jacobian0 = &B), &o), EPIQ_OK);
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
    epiq_options o = usual_options();
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
    SAYS(epiq_message(c), "4 features");
    EQ(epiq_network_start(c, &o, 0, 0, a), EPIQ_E_USAGE);
    o.width = 0;
    EQ(epiq_network_start(c, &o, 4, 0, a), EPIQ_E_USAGE);
    SAYS(epiq_message(c), "auto");
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
    epiq_options o = usual_options();
    B.column = names;
    EQ(combine(GIVEN(.ensemble = &H, .batched = &B), &o), EPIQ_OK);
    STR(r->points[1]->at, "right");
    H.column = others;
    EQ(combine(GIVEN(.ensemble = &H, .batched = &B), &o), EPIQ_E_DATA);
    SAYS(epiq_message(c), "point 2");
    done();
}

TEST(advice_without_rows_speaks_of_as_many_again)
{
    static const double h[] = {1, 1.1, 0.9, 1}, b[] = {-5, 5, 0.1}, y[] = {1, 2, 3, 4, 5, 6, 7};
    epiq_matrix H = doubles("m", 4, 1, h), B = doubles("b", 3, 1, b), Y = doubles("y", 7, 1, y);
    epiq_options o = usual_options();
    EQ(combine(GIVEN(.ensemble = &H, .batched = &B), &o), EPIQ_OK);
    EQ(r->advice->action, EPIQ_DO_COLLECT);
    EQ(r->advice->rows, 0);
    SENTENCE(r->advice->text);
    EQ(combine(GIVEN(.ensemble = &H, .batched = &B, .y = &Y), &o), EPIQ_OK);
    EQ(r->advice->rows, 7);
    SAYS(r->advice->text, "7 more would");
    EQ(combine(GIVEN(.ensemble = &H), &o), EPIQ_OK);
    SAYS(r->advice->text, "ensemble");
    EQ(r->ran->ensemble_size, 4);
    EQ(combine(GIVEN(.batched = &B), &o), EPIQ_OK); /* the mean of the batches, whose variance BA is */
    NEAR(r->points[0]->prediction, 0.1 / 3, 1e-15);
    NEAR(r->points[0]->prediction_variance.variance, r->points[0]->ensemble.variance, 0);
    TRUE(r->points[0]->ensemble.known && !r->points[0]->procedural.known);
    o.ensemble_size = 7;
    EQ(combine(GIVEN(.batched = &B), &o), EPIQ_OK);
    SAYS(warned("ensemble_size"), "ensemble");
    static const double wide[] = {-9, 9, 0}, narrow[] = {1, 1.01, 1.02};
    H = doubles("m", 3, 1, wide), B = doubles("b", 3, 1, narrow);
    EQ(combine(GIVEN(.ensemble = &H, .batched = &B), &o), EPIQ_OK);
    TRUE(!r->points[0]->data.known);
    SAYS(warned("negative_difference"), "gram");
    for (ptrdiff_t k = 0; k < r->warning_count; k++) {
        TRUE(!strstr(r->warnings[k]->message, "methods") && !strstr(r->warnings[k]->message, "width"));
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
                infinite = {.size = sizeof(epiq_matrix),
                            .name = "J0.npy",
                            .rows = 1,
                            .columns = 2,
                            .real = EPIQ_FLOAT32,
                            .a = inf},
                A2 = doubles("J.npy", 2, 2, K), K1 = doubles("K.npy", 1, 1, K), C1 = doubles("k0.npy", 1, 1, K);
    const struct {
        epiq_given g;
        int status;
        const char *part;
    } cases[] = {
        {{0}, EPIQ_E_USAGE, "ensemble"},
        {{.y = &Y, .gram = &G, .cross = &C, .jacobian = &A, .jacobian0 = &A1}, EPIQ_E_USAGE, "gram"},
        {{.y = &Y, .gram = &G}, EPIQ_E_USAGE, "gram"},
        {{.y = &Y, .cross = &C}, EPIQ_E_USAGE, "cross"},
        {{.y = &Y, .jacobian = &A}, EPIQ_E_USAGE, "jacobian"},
        {{.y = &Y, .jacobian0 = &A1}, EPIQ_E_USAGE, "jacobian0"},
        {{.gram = &G, .cross = &C}, EPIQ_E_USAGE, "gram"},
        {{.ensemble = &M, .yhat = &Y}, EPIQ_E_USAGE, "yhat"},
        {{.y = &Y3, .gram = &G, .cross = &C}, EPIQ_E_DATA, "2 rows"},
        {{.y = &Y, .gram = &wide, .cross = &C}, EPIQ_E_DATA, "2 rows"},
        {{.ensemble = &M, .batched = &B3}, EPIQ_E_DATA, "3 columns"},
        {{.ensemble = &M, .at = &X}, EPIQ_E_DATA, "3 rows"},
        {{.y = &Y, .jacobian = &A, .jacobian0 = &A0}, EPIQ_E_DATA, "2 columns"},
        {{.ensemble = &single, .y = &row}, EPIQ_E_DATA, "3 columns"},
        {{.y = &Y, .jacobian = &empty, .jacobian0 = &empty}, EPIQ_E_DATA, NULL},
        {{.y = &Y1, .gram = &K1, .cross = &C1}, EPIQ_E_DATA, NULL},
        {{.ensemble = &N1}, EPIQ_E_DATA, "row 2, column 1"},
        {{.ensemble = &M, .y = &L}, EPIQ_E_DATA, "row 2, column 1"},
        {{.y = &Y, .jacobian = &A2, .jacobian0 = &infinite}, EPIQ_E_DATA, "row 1, column 2"},
        {{.y = &Y, .gram = &S, .cross = &C2}, EPIQ_E_DATA, "row 2, column 1"},
        {{.y = &Y, .gram = &D1, .cross = &C}, EPIQ_E_DATA, "row 2, column 2"},
        {{.y = &Y, .gram = &I, .cross = &C}, EPIQ_E_NUMERIC, NULL},
        {{.y = &Y, .gram = &Z, .cross = &C}, EPIQ_E_NUMERIC, NULL},
        {{.ensemble = &one}, EPIQ_E_DATA, "append"},
        {{.ensemble = &M, .merge = (const char *const[]){"no/such/file"}, .merge_count = 1}, EPIQ_E_FILE, "append"},
    };
    epiq_options o = usual_options();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        epiq_given g = cases[k].g;
        g.size = sizeof g;
        EQ(combine(&g, &o), cases[k].status);
        TRUE(r == NULL);
        SAYS(epiq_message(c), cases[k].part);
    }
    o.lambda = NAN;
    EQ(combine(GIVEN(.ensemble = &M), &o), EPIQ_E_USAGE);
    o = usual_options();
    o.time = 1; /* options of training do not count here */
    o.members = 0;
    o.methods = 0;
    EQ(combine(GIVEN(.ensemble = &M), &o), EPIQ_OK);
    done();
}

/* Within the rounding that is allowed, but more than the least lambda makes up for. */
TEST(a_kernel_may_need_a_larger_lambda)
{
    static const double K[] = {1, 1 + 5e-8, 1 + 5e-8, 1}, y[] = {1, 2};
    epiq_matrix G = doubles("K.npy", 2, 2, K), C = doubles("k0", 2, 1, y), Y = doubles("y", 2, 1, y);
    epiq_options o = usual_options();
    o.lambda = 1e-16;
    EQ(combine(GIVEN(.y = &Y, .gram = &G, .cross = &C), &o), EPIQ_E_NUMERIC);
    SAYS(epiq_message(c), "lambda");
    o.lambda = 1e-3;
    EQ(combine(GIVEN(.y = &Y, .gram = &G, .cross = &C), &o), EPIQ_OK);
    static const double beyond[] = {1, 1 + 1e-6, 1 + 1e-6, 1}; /* -1e-6, where the trace is 2 */
    G.a = beyond;
    EQ(combine(GIVEN(.y = &Y, .gram = &G, .cross = &C), &o), EPIQ_E_NUMERIC);
    SENTENCE(epiq_message(c));
    done();
}

TEST(the_mean_of_both_halves_is_used)
{
    static const double K[] = {1, 0.5 + 4e-6, 0.5 - 4e-6, 2}, mean[] = {1, 0.5, 0.5, 2}, y[] = {1, 2},
                        k0[] = {0.3, 0.9};
    epiq_matrix G = doubles("K", 2, 2, K), C = doubles("k0", 2, 1, k0), Y = doubles("y", 2, 1, y);
    epiq_options o = usual_options();
    EQ(combine(GIVEN(.y = &Y, .gram = &G, .cross = &C), &o), EPIQ_OK);
    double got = r->points[0]->data.variance;
    G.a = mean;
    EQ(combine(GIVEN(.y = &Y, .gram = &G, .cross = &C), &o), EPIQ_OK);
    CLOSE(got, r->points[0]->data.variance, 1e-13); /* rounding, where either half alone is off by 1e-6 */
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
    epiq_matrix G = {.size = sizeof(epiq_matrix), .name = "K", .rows = M, .columns = M, .real = EPIQ_FLOAT32, .a = K},
                C = doubles("k0", M, 1, k0), Y = doubles("y", M, 1, y);
    epiq_options o = usual_options();
    EQ(combine(GIVEN(.y = &Y, .gram = &G, .cross = &C), &o), EPIQ_OK);
    exact = r->points[0]->prediction;
    for (int i = 0; i < M; i++) {
        for (int k = 0; k < M; k++) {
            K[i * M + k] = (float)(1 + x[i] * x[k]);
        }
    }
    EQ(combine(GIVEN(.y = &Y, .gram = &G, .cross = &C), &o), EPIQ_OK);
    NEAR(exact, r->points[0]->prediction, 1e-4); /* 1e-6 of K, over lambda n = 0.04 */
    K[3] += (float)1e-3;
    EQ(combine(GIVEN(.y = &Y, .gram = &G, .cross = &C), &o), EPIQ_E_DATA);
    SAYS(epiq_message(c), "row 4, column 1");
    done();
}

TEST(extreme_units_lose_no_finiteness)
{
    static const double y[] = {1e99, -1e99, 5e98, 1e98},
                        K[] = {1e-90, 0, 0, 0, 0, 1e-90, 0, 0, 0, 0, 1e-90, 0, 0, 0, 0, 1e-90},
                        k0[] = {1e99, 1e98, -1e99, 1e97}, h[] = {1e100, -1e100, 1e99};
    epiq_matrix Y = doubles("y", 4, 1, y), G = doubles("K", 4, 4, K), C = doubles("k0", 4, 1, k0),
                H = doubles("m", 3, 1, h);
    epiq_options o = usual_options();
    o.lambda = 1e-16;
    int s = combine(GIVEN(.y = &Y, .gram = &G, .cross = &C, .ensemble = &H), &o);
    EQ(s, EPIQ_OK);
    TRUE(isfinite(r->points[0]->prediction) && isfinite(r->points[0]->kernel_prediction.value));
    for (ptrdiff_t k = 0; k < r->points[0]->influential_count; k++) {
        TRUE(isfinite(r->points[0]->influential[k]->influence));
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
    epiq_options o = usual_options();
    ptrdiff_t block = 1;
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    epiq_ctx_on_progress(c, stop_at, &block);
    EQ(epiq_combine(c, GIVEN(.y = &Y, .jacobian = &A, .jacobian0 = &B), &o, &r), EPIQ_E_STOPPED);
    SENTENCE(epiq_message(c));
    EQ(c->live_blocks, 0);
    block = 99; /* the request ended with the call */
    EQ(epiq_combine(c, GIVEN(.y = &Y, .jacobian = &A, .jacobian0 = &B), &o, &r), EPIQ_OK);
    done();
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
        epiq_options o = usual_options();
        epiq_given g = way == 0
                           ? *GIVEN(.y = &Y, .gram = &G, .cross = &C, .yhat = &Y, .ensemble = &H)
                           : *GIVEN(.y = &Y, .jacobian = &A, .jacobian0 = &B, .ensemble = &H, .batched = &H, .at = &H);
        const char *path = fresh("memory");
        o.state = way == 2 ? path : NULL;
        EQ(epiq_ctx_new(&c), EPIQ_OK);
        FAIL_EACH(c, epiq_combine(c, &g, &o, &r), r == NULL, 20);
        EQ(r->given->added, way == 2 ? 4 : 0); /* no attempt that failed left any */
        done();
        fresh("memory");
    }
}
