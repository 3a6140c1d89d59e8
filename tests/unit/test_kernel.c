/* Population kernels against 50-digit values; empirical kernel and network passes against an independent script. */
#include "engine/engine.h"
#include "golden/golden.h"
#include "kernel/kernel.h"
#include "test.h"
#include "usual.h"

static epiqp_env env(const epiqp_la *la)
{
    static epiq_ctx *c;
    if (!c) {
        epiq_options o = usual_options();
        EQ(epiq_ctx_new(&c), EPIQ_OK);
        epiqp_run_begin(c, &o); /* one thread a BLAS call, as in the library */
    }
    return (epiqp_env){.c = c, .la = la, .threads = 2};
}

static const char *name_of(const char *what, int depth, int kase)
{
    static char name[64];
    snprintf(name, sizeof name, kase < 0 ? "%s_depth%d" : "%s_depth%d_case%d", what, depth, kase);
    return name;
}

TEST(population_kernels_match_fifty_digits)
{
    golden_load(GOLDEN "kernel.txt");
    epiqp_env e = env(&epiqp_la_blas);
    ptrdiff_t n, d;
    const double *x = golden_get("X", &n, &d), *cases = golden_get("cases", NULL, NULL);
    epiqp_rows rows;
    EQ(epiqp_rows_new(e.c, n, d, x, &rows), EPIQ_OK);
    for (int depth = 1; depth <= 5; depth++) {
        for (int k = 0; k < 4; k++) {
            epiqp_net net = {d, 1, depth, cases[2 * k], cases[2 * k + 1]};
            epiqp_arch arch = epiqp_arch_of(&net);
            double K[64], Q[64], Kii[8], Qii[8];
            epiqp_kernel_cross(&e, &arch, &rows, &rows, K, Q);
            epiqp_kernel_diagonal(&arch, &rows, Kii, Qii);
            const double *want_k = golden_get(name_of("K", depth, k), NULL, NULL);
            const double *want_q = golden_get(name_of("Q", depth, k), NULL, NULL);
            for (ptrdiff_t i = 0; i < n; i++) {
                CLOSE(Kii[i], want_k[i * n + i], 1e-12);
                CLOSE(Qii[i], want_q[i * n + i], 1e-12);
                for (ptrdiff_t j = 0; j < n; j++) {
                    /* 1e-12 of the entry; where terms of either sign cancel (opposite rows), of the diagonal's scale */
                    double scale_k = sqrt(want_k[i * n + i] * want_k[j * n + j]),
                           scale_q = sqrt(want_q[i * n + i] * want_q[j * n + j]);
                    bool cancels = i == 5 || j == 5;
                    NEAR(K[i + j * n], want_k[i * n + j], cancels ? 1e-14 * scale_k : 1e-12 * fabs(want_k[i * n + j]));
                    NEAR(Q[i + j * n], want_q[i * n + j], cancels ? 1e-14 * scale_q : 1e-12 * fabs(want_q[i * n + j]));
                }
            }
        }
    }
    epiqp_rows_free(e.c, &rows);
}

/* What decides definiteness is how far K_ij lies below the diagonal when rows nearly coincide: K_ii + K_jj - 2 K_ij > 0
 * and proportional to |x_i - x_j| (the kernel of relu has a cusp). acos of rho would give noise of 1e-8 here. */
TEST(nearly_equal_rows_keep_their_distance)
{
    epiqp_env e = env(&epiqp_la_blas);
    epiqp_net net = {2, 1, 3, 1, 1};
    epiqp_arch arch = epiqp_arch_of(&net);
    double before = 0;
    for (int k = 4; k <= 12; k++) {
        double x[4] = {0.3, -0.7, 0.3 + pow(10, -k), -0.7}, K[4];
        epiqp_rows rows;
        EQ(epiqp_rows_new(e.c, 2, 2, x, &rows), EPIQ_OK);
        epiqp_kernel_cross(&e, &arch, &rows, &rows, K, NULL);
        double gap = K[0] + K[3] - 2 * K[1];
        TRUE(gap > 0);
        if (k > 4) {
            CLOSE(gap * 10, before, 2e-2); /* rounding of K itself, 1e-16 of 3, shows at 1e-12 */
        }
        before = gap;
        epiqp_rows_free(e.c, &rows);
    }
}

/* Without v, parallel rows have angle 0 whatever their lengths: Q stays x.x', and K gains it once a layer. */
TEST(parallel_rows_have_angle_zero)
{
    epiqp_env e = env(&epiqp_la_blas);
    double x[6] = {0.1, 0.3, 0.7, 2.1, 1.3, 3.9}, K[9], Q[9];
    epiqp_rows rows;
    EQ(epiqp_rows_new(e.c, 3, 2, x, &rows), EPIQ_OK);
    for (int depth = 1; depth <= 5; depth++) {
        epiqp_net net = {2, 1, depth, 0.5, 0};
        epiqp_arch arch = epiqp_arch_of(&net);
        epiqp_kernel_cross(&e, &arch, &rows, &rows, K, Q);
        for (int i = 0; i < 9; i++) {
            double dot = epiqp_dot(2, x + 2 * (i % 3), x + 2 * (i / 3));
            CLOSE(K[i], (depth + 1) * (dot + 0.25), 1e-14);
            CLOSE(Q[i], dot, 1e-14);
        }
    }
    epiqp_rows_free(e.c, &rows);
}

/* Without bias the kernels are homogeneous, from the smallest rows to the largest. */
TEST(tiny_and_huge_rows_give_the_same_kernel)
{
    epiqp_env e = env(&epiqp_la_blas);
    double base[6] = {0.3, -0.2, 1.1, 0.4, -0.6, 0.9}, K[9], first[9];
    epiqp_net net = {2, 1, 3, 0, 1};
    epiqp_arch arch = epiqp_arch_of(&net);
    const double scales[] = {1, 1e80, 1e140, 1e-85, 1e-140};
    for (int t = 0; t < 5; t++) {
        double x[6];
        epiqp_rows rows;
        for (int i = 0; i < 6; i++) {
            x[i] = scales[t] * base[i];
        }
        EQ(epiqp_rows_new(e.c, 3, 2, x, &rows), EPIQ_OK);
        epiqp_kernel_cross(&e, &arch, &rows, &rows, t ? K : first, NULL);
        for (int i = 0; t && i < 9; i++) {
            CLOSE(K[i] / scales[t] / scales[t], first[i], 1e-13);
        }
        epiqp_rows_free(e.c, &rows);
    }
}

/* ... and K(s x, x') = s K(x, x'): neither row's size shows in the angle. */
TEST(a_tiny_row_beside_a_huge_one_keeps_its_angle)
{
    epiqp_env e = env(&epiqp_la_blas);
    epiqp_net net = {2, 1, 2, 0, 1};
    epiqp_arch arch = epiqp_arch_of(&net);
    epiqp_kernel_loop *loop;
    for (int set = 0; (loop = epiqp_kernel_set(set)); set++) {
        double first[4] = {0};
        for (int k = 0; k <= 120; k += 4) {
            double s = pow(10, -k), x[8] = {0.3, -0.2, -0.6, 0.9, 0.3 * s, -0.2 * s, 0.4 * s, 0.1 * s}, K[16];
            epiqp_rows rows;
            EQ(epiqp_rows_new(e.c, 4, 2, x, &rows), EPIQ_OK);
            loop(&arch, &rows, 0, 4, &rows, 0, 4, K, NULL, 4);
            for (int i = 0; i < 4; i++) {
                int large = i % 2, small = 2 + i / 2;
                first[i] = k ? first[i] : K[large + 4 * small];
                CLOSE(K[large + 4 * small] / s, first[i], 1e-14);
                CLOSE(K[small + 4 * large] / s, first[i], 1e-14);
            }
            epiqp_rows_free(e.c, &rows);
        }
    }
}

/* Pairs of every kind: rows at random; parts 1e-16 .. 1e-1 away from equal, parallel, opposite and antiparallel rows;
 * zero rows; each of them at several sizes. Returns how many there are. */
enum { HARD_MOST = 400, HARD_D = 5 };
static ptrdiff_t hard_rows(double size, bool mixed, double *x)
{
    double z[HARD_MOST * HARD_D];
    ptrdiff_t n = 0;
    epiqp_normals((epiqp_stream){21, 0, 1}, HARD_MOST * HARD_D, z);
    for (; n < 40; n++) {
        memcpy(x + n * HARD_D, z + n * HARD_D, HARD_D * sizeof *x);
    }
    for (int k = 0; k <= 16; k++) {
        const double factor[] = {1, -1, 0.3, -3};
        for (int t = 0; t < 4; t++, n++) {
            for (int f = 0; f < HARD_D; f++) {
                double part = k ? pow(10, -k) * z[n * HARD_D + f] : 0;
                x[n * HARD_D + f] = factor[t] * (x[(k % 3) * HARD_D + f] + part);
            }
        }
    }
    memset(x + n++ * HARD_D, 0, HARD_D * sizeof *x);
    memset(x + n++ * HARD_D, 0, HARD_D * sizeof *x);
    for (ptrdiff_t i = 0; i < n * HARD_D; i++) { /* mixed: sizes from 1/size to size side by side */
        x[i] *= mixed ? pow(size, (double)(i / HARD_D % 5 - 2) / 2) : size;
    }
    return n;
}

/* Every set of loops against plain C: both carry a few eps of sqrt(K_ii K_jj), 7e-16 at most when this was written.
 * Blocks begin and end anywhere, and nothing is written beyond them. */
TEST(vectors_agree_with_plain_c_on_every_kind_of_pair)
{
    epiqp_env e = env(&epiqp_la_blas);
    static double x[HARD_MOST * HARD_D], got[2][HARD_MOST * (HARD_MOST + 1)], want[2][HARD_MOST * (HARD_MOST + 1)];
    const double sizes[] = {1, 1e-140, 1e-70, 1e70, 1e140, 1e-160}, bias[] = {1, 0, 1e-3, 30};
    epiqp_kernel_loop *plain = NULL, *loop;
    int sets = 0;
    while ((loop = epiqp_kernel_set(sets))) {
        plain = loop;
        sets++;
    }
    TRUE(sets >= 2);
    for (int t = 0; t < 11; t++) {
        ptrdiff_t n = hard_rows(sizes[t % 6], t >= 6, x);
        epiqp_rows rows;
        EQ(epiqp_rows_new(e.c, n, HARD_D, x, &rows), EPIQ_OK);
        for (int depth = 1; depth <= 5; depth++) {
            for (int b = 0; b < 4; b++) {
                epiqp_net net = {HARD_D, 1, depth, b == 1 && depth == 2 ? 0 : 0.7, bias[b]};
                epiqp_arch arch = epiqp_arch_of(&net);
                plain(&arch, &rows, 0, n, &rows, 0, n, want[0], want[1], n);
                for (int s = 0; s < sets - 1; s++) {
                    ptrdiff_t i0 = (s + t) % 7, j0 = (s + depth) % 5, some = n - i0 - b % 3, cols = n - j0 - t % 4;
                    memset(got, 0xff, sizeof got); /* NaN */
                    epiqp_kernel_set(s)(&arch, &rows, i0, some, &rows, j0, cols, got[0], b == 2 ? NULL : got[1], n + 1);
                    for (int m = 0; m < (b == 2 ? 1 : 2); m++) {
                        for (ptrdiff_t j = 0; j < cols; j++) {
                            for (ptrdiff_t i = 0; i < some; i++) {
                                double g = got[m][i + j * (n + 1)], w = want[m][i + i0 + (j + j0) * n];
                                double scale = sqrt(want[m][(i + i0) * (n + 1)]) * sqrt(want[m][(j + j0) * (n + 1)]);
                                NEAR(g, w, i + i0 == j + j0 ? 0 : 2e-15 * scale); /* a row with itself: exactly */
                            }
                            EQ(isnan(got[m][some + j * (n + 1)]), true);
                        }
                    }
                }
            }
        }
        epiqp_rows_free(e.c, &rows);
    }
}

/* The closed form, in strips and half of Q, against the quadratic form written out; sizes leave remainders, and the
 * number of threads changes no bit. */
TEST(variance_in_closed_form_is_the_quadratic_form)
{
    enum { N = 300, POINTS = 150, D = 3 };
    static double x[(N + POINTS) * D], c[N * POINTS], Q[N * N], Q0[N * POINTS], Q00[POINTS], tau2[2][POINTS];
    epiqp_env e = env(&epiqp_la_blas);
    epiqp_net net = {D, 1, 2, 0.5, 1};
    const epiq_options o = epiq_options_default();
    epiqp_fit f = {.o = &o, .arch = epiqp_arch_of(&net)};
    epiqp_normals((epiqp_stream){23, 0, 1}, (N + POINTS) * D, x);
    epiqp_normals((epiqp_stream){23, 0, 2}, N * POINTS, c);
    EQ(epiqp_rows_new(e.c, N, D, x, &f.rows), EPIQ_OK);
    EQ(epiqp_rows_new(e.c, POINTS, D, x + N * D, &f.at), EPIQ_OK);
    epiqp_kernel_cross(&e, &f.arch, &f.rows, &f.rows, NULL, Q);
    epiqp_kernel_cross(&e, &f.arch, &f.rows, &f.at, NULL, Q0);
    epiqp_kernel_diagonal(&f.arch, &f.at, NULL, Q00);
    for (int t = 0; t < 2; t++) {
        e.threads = t + 1;
        EQ(epiqp_infinite_variance(&e, &f, c, tau2[t]), EPIQ_OK);
    }
    EQ(memcmp(tau2[0], tau2[1], sizeof tau2[0]), 0);
    for (int k = 0; k < POINTS; k++) {
        double want = Q00[k], size = Q00[k];
        for (int i = 0; i < N; i++) {
            double row = epiqp_dot(N, Q + i * N, c + k * N) - 2 * Q0[i + k * N];
            want += c[i + k * N] * row;
            size += fabs(c[i + k * N] * row);
        }
        NEAR(tau2[0][k], want, 1e-14 * size); /* sums of 300 terms, twice */
    }
    epiqp_rows_free(e.c, &f.rows);
    epiqp_rows_free(e.c, &f.at);
}

TEST(network_passes_match_the_script)
{
    golden_load(GOLDEN "net.txt");
    const double *config = golden_get("config", NULL, NULL), *x = golden_get("X", NULL, NULL),
                 *y = golden_get("y", NULL, NULL);
    ptrdiff_t n = (ptrdiff_t)config[0];
    for (int t = 0; t < 2; t++) {
        epiqp_env e = env(t ? &epiqp_la_ref : &epiqp_la_blas);
        for (int depth = 1; depth <= 3; depth++) {
            epiqp_net net = {(ptrdiff_t)config[1], (ptrdiff_t)config[2], depth, config[3], 1};
            ptrdiff_t p, got = epiqp_net_params(&net);
            const double *theta = golden_get(name_of("theta", depth, -1), &p, NULL);
            EQ(got, p);
            epiqp_pass pass;
            EQ(epiqp_pass_new(&e, &net, &pass), EPIQ_OK);
            double h[8], tangent[8], grad[128] = {0}, K[64];
            const double *want_h = golden_get(name_of("h", depth, -1), NULL, NULL);
            epiqp_net_forward(&pass, theta, n, x, h);
            for (ptrdiff_t i = 0; i < n; i++) {
                CLOSE(h[i], want_h[i], 1e-13);
            }
            epiqp_net_jvp(&pass, theta, golden_get(name_of("v", depth, -1), NULL, NULL), n, x, tangent);
            const double *want_t = golden_get(name_of("jvp", depth, -1), NULL, NULL);
            for (ptrdiff_t i = 0; i < n; i++) {
                NEAR(tangent[i], want_t[i], 1e-12);
            }
            epiqp_net_vjp(&pass, theta, n, x, golden_get(name_of("u", depth, -1), NULL, NULL), grad);
            const double *want_g = golden_get(name_of("vjp", depth, -1), NULL, NULL);
            for (ptrdiff_t i = 0; i < p; i++) {
                NEAR(grad[i], want_g[i], 1e-12);
            }
            epiqp_features f;
            EQ(epiqp_features_new(&e, &net, theta, n, x, &f), EPIQ_OK);
            epiqp_empirical_block(e.la, &f, 0, n, &f, 0, n, K, n);
            const double *want_k = golden_get(name_of("kernel", depth, -1), NULL, NULL);
            for (ptrdiff_t i = 0; i < n * n; i++) {
                NEAR(K[i], want_k[i], 1e-12 * (1 + fabs(want_k[i])));
            }
            epiqp_features_free(e.c, &f);
            epiqp_pass_free(e.c, &pass);
            EQ(e.c->live_blocks, 0);
        }
    }
    (void)y;
}

/* More rows than one chunk holds, several layers: <J v, u> = <v, J'u>, and J v is the derivative along v. */
TEST(tangents_and_gradients_are_adjoint_and_match_differences)
{
    epiqp_env e = env(&epiqp_la_blas);
    epiqp_net net = {4, 33, 2, 0.8, 1};
    enum { N = 150 };
    ptrdiff_t p = epiqp_net_params(&net);
    double *theta = malloc((size_t)p * 8), *v = malloc((size_t)p * 8), *grad = calloc((size_t)p, 8),
           *moved = malloc((size_t)p * 8);
    double x[N * 4], u[N], tangent[N], plus[N], minus[N];
    epiqp_net_init(&net, (epiqp_stream){5, EPIQP_FOR_MEMBER, 0}, theta);
    epiqp_normals((epiqp_stream){5, 0, 1}, p, v);
    epiqp_normals((epiqp_stream){5, 0, 2}, N * 4, x);
    epiqp_normals((epiqp_stream){5, 0, 3}, N, u);
    epiqp_pass pass;
    EQ(epiqp_pass_new(&e, &net, &pass), EPIQ_OK);
    epiqp_net_jvp(&pass, theta, v, N, x, tangent);
    epiqp_net_vjp(&pass, theta, N, x, u, grad);
    CLOSE(epiqp_dot(N, tangent, u), epiqp_dot(p, v, grad), 1e-11);
    const double step = 1e-7;
    int smooth = 0;
    for (int sign = -1; sign <= 1; sign += 2) {
        for (ptrdiff_t k = 0; k < p; k++) {
            moved[k] = theta[k] + sign * step * v[k];
        }
        epiqp_net_forward(&pass, moved, N, x, sign < 0 ? minus : plus);
    }
    for (int i = 0; i < N; i++) { /* a row whose units switch within the step has no derivative there: few do */
        smooth += fabs((plus[i] - minus[i]) / (2 * step) - tangent[i]) <= 1e-6 * (1 + fabs(tangent[i]));
    }
    TRUE(smooth >= N - 3);
    epiqp_pass_free(e.c, &pass);
    free(theta);
    free(v);
    free(grad);
    free(moved);
}

/* Matrix products against plain loops, at widths and sizes that leave remainders everywhere. */
TEST(passes_agree_between_backends)
{
    const ptrdiff_t features[] = {1, 7, 8, 9, 13, 64, 65}, widths[] = {1, 31, 32, 33, 100},
                    counts[] = {1, 2, 63, 65, 130};
    for (int a = 0; a < 7; a++) {
        for (int b = 0; b < 5; b++) {
            epiqp_net net = {features[a], widths[b], 1, 0.7, 1};
            ptrdiff_t p = epiqp_net_params(&net), n = counts[(a + b) % 5];
            double *all = calloc((size_t)(3 * p + n * (net.d + 3)), 8);
            double *theta = all, *grad[2] = {theta + p, theta + 2 * p}, *x = theta + 3 * p, *y = x + n * net.d,
                   *h[2] = {y + n, y + 2 * n};
            epiqp_net_init(&net, (epiqp_stream){5, EPIQP_FOR_MEMBER, 0}, theta);
            epiqp_normals((epiqp_stream){5, 0, 2}, n * (net.d + 1), x);
            double sum[2];
            for (int way = 0; way < 2; way++) {
                epiqp_env e = env(way ? &epiqp_la_ref : &epiqp_la_blas);
                epiqp_pass pass;
                EQ(epiqp_pass_new(&e, &net, &pass), EPIQ_OK);
                sum[way] = epiqp_net_squares(&pass, theta, n, x, y, 0.3, h[way], grad[way]);
                epiqp_pass_free(e.c, &pass);
            }
            CLOSE(sum[0], sum[1], 1e-12);
            double largest = 0;
            for (ptrdiff_t k = 0; k < p; k++) {
                largest = fmax(largest, fabs(grad[1][k]));
            }
            for (ptrdiff_t k = 0; k < p; k++) {
                NEAR(grad[0][k], grad[1][k], 1e-12 * largest);
            }
            for (ptrdiff_t k = 0; k < n; k++) {
                NEAR(h[0][k], h[1][k], 1e-12 * (1 + fabs(h[1][k])));
            }
            free(all);
        }
    }
}

/* A wide network's empirical kernel is near the population kernel, its untrained output's covariance near Q. */
TEST(wide_networks_approach_the_population_kernels)
{
    epiqp_env e = env(&epiqp_la_blas);
    enum { N = 4, DRAWS = 400 };
    double x[N * 2] = {0.5, -0.2, 1.5, 0.3, -0.7, 0.9, 0.1, 0.1};
    for (int depth = 1; depth <= 2; depth++) {
        epiqp_net net = {2, 512, depth, 1, 0.5};
        epiqp_arch arch = epiqp_arch_of(&net);
        epiqp_rows rows;
        EQ(epiqp_rows_new(e.c, N, 2, x, &rows), EPIQ_OK);
        double K[N * N], Q[N * N], mean_k[N * N] = {0}, mean_q[N * N] = {0}, one[N * N], h[N];
        epiqp_kernel_cross(&e, &arch, &rows, &rows, K, Q);
        double *theta = malloc((size_t)epiqp_net_params(&net) * 8);
        epiqp_pass pass;
        EQ(epiqp_pass_new(&e, &net, &pass), EPIQ_OK);
        for (uint64_t k = 0; k < DRAWS; k++) {
            epiqp_features f;
            epiqp_net_init(&net, (epiqp_stream){11, EPIQP_FOR_MEMBER, k}, theta);
            EQ(epiqp_features_new(&e, &net, theta, N, x, &f), EPIQ_OK);
            epiqp_empirical_block(e.la, &f, 0, N, &f, 0, N, one, N);
            epiqp_net_forward(&pass, theta, N, x, h);
            for (int i = 0; i < N * N; i++) {
                mean_k[i] += one[i] / DRAWS;
                mean_q[i] += h[i % N] * h[i / N] / DRAWS;
            }
            epiqp_features_free(e.c, &f);
        }
        for (int i = 0; i < N * N; i++) {
            NEAR(mean_k[i], K[i],
                 0.02 * sqrt(K[i % N * (N + 1)] * K[i / N * (N + 1)])); /* finite width: O(1/512), and noise */
            NEAR(mean_q[i], Q[i],
                 4.5 / sqrt(DRAWS) * sqrt(2 * Q[i % N * (N + 1)] * Q[i / N * (N + 1)])); /* standard errors */
        }
        free(theta);
        epiqp_pass_free(e.c, &pass);
        epiqp_rows_free(e.c, &rows);
    }
}
