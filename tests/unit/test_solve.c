/* Backends against each other and against planted answers; Cholesky, solves, inverse, jitter; bits against threads; a
 * factor in a scratch file and solutions by iteration against the factor in memory. */
#include "rng/rng.h"
#include "solve/probe.h"
#include "test.h"
#include "usual.h"

#include <math.h>
#include <stdlib.h>

static const epiqp_la *const BACKENDS[] = {&epiqp_la_ref, &epiqp_la_blas};

static epiqp_env env(const epiqp_la *la, int threads)
{
    static epiq_ctx *c;
    if (!c) {
        epiq_options o = usual_options();
        EQ(epiq_ctx_new(&c), EPIQ_OK);
        epiqp_run_begin(c, &o); /* one thread a BLAS call, as in the library */
    }
    epiqp_clear(c);
    return (epiqp_env){.c = c, .la = la, .threads = threads};
}

static double *random_matrix(ptrdiff_t rows, ptrdiff_t cols, uint64_t stream)
{
    double *a = malloc((size_t)(rows * cols) * sizeof *a);
    epiqp_normals((epiqp_stream){99, 0, stream}, rows * cols, a);
    return a;
}

TEST(backends_agree_on_every_operation)
{
    enum { M = 37, N = 29, K = 41 };
    double *a = random_matrix(K, K, 1), *b = random_matrix(K, K, 2), *c0 = random_matrix(K, K, 3);
    for (int i = 0; i < K; i++) {
        a[i + i * K] += 20; /* a triangle of it is well conditioned */
    }
    for (int t = 0; t < 4; t++) {
        double c[2][K * K], y[2][K];
        for (int k = 0; k < 2; k++) {
            char ta = t & 1 ? 'T' : 'N', tb = t & 2 ? 'T' : 'N';
            memcpy(c[k], c0, sizeof c[k]);
            BACKENDS[k]->gemm(ta, tb, M, N, 25, 1.5, a, K, b, K, -0.5, c[k], K);
            BACKENDS[k]->trsm(t & 1 ? 'L' : 'R', t & 2 ? 'T' : 'N', N, N, a, K, c[k], K);
            memcpy(y[k], c0, sizeof y[k]);
            BACKENDS[k]->gemv(ta, M, N, 2, a, K, b, 0.5, y[k]);
            BACKENDS[k]->syrk(ta, 20, 25, -0.5, b, K, c[k] + 2 * K + 3, K);
        }
        for (int i = 0; i < K * K; i++) {
            NEAR(c[1][i], c[0][i], 1e-13 * 100); /* sums of 41 products of size up to 20 */
        }
        for (int i = 0; i < N; i++) {
            NEAR(y[1][i], y[0][i], 1e-12);
        }
    }
    free(a);
    free(b);
    free(c0);
}

TEST(eigenvectors_of_both_backends_rebuild_the_matrix)
{
    enum { N = 30 };
    double *b = random_matrix(N, N, 4), k[N * N];
    epiqp_la_ref.gemm('N', 'T', N, N, N, 1, b, N, b, N, 0, k, N);
    for (int t = 0; t < 2; t++) {
        double v[N * N], w[N], scaled[N * N], back[N * N];
        memcpy(v, k, sizeof v);
        EQ(BACKENDS[t]->syev(env(BACKENDS[t], 1).c, N, v, w), EPIQ_OK);
        for (int j = 0; j < N; j++) {
            TRUE(j == 0 || w[j] >= w[j - 1]);
            for (int i = 0; i < N; i++) {
                scaled[i + j * N] = v[i + j * N] * w[j];
            }
        }
        epiqp_la_ref.gemm('N', 'T', N, N, N, 1, scaled, N, v, N, 0, back, N);
        for (int i = 0; i < N * N; i++) {
            NEAR(back[i], k[i], 1e-13 * w[N - 1]);
        }
    }
    free(b);
}

/* A = B B'/n + I: its smallest eigenvalue is at least 1 */
typedef struct {
    ptrdiff_t n;
    const double *b;
} planted;
static void planted_block(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                          ptrdiff_t ld)
{
    const planted *p = self;
    for (ptrdiff_t j = 0; j < cols; j++) {
        for (ptrdiff_t i = 0; i < rows; i++) {
            double sum = 0;
            for (ptrdiff_t k = 0; k < 6; k++) {
                sum += p->b[(i0 + i) * 6 + k] * p->b[(j0 + j) * 6 + k];
            }
            out[i + j * ld] = sum + (i0 + i == j0 + j);
        }
    }
}

static const ptrdiff_t SIZES[] = {1, 2, 127, 128, 129, 300}; /* around and across the blocks' borders */

TEST(solves_and_inverse_recover_planted_answers)
{
    for (size_t t = 0; t < sizeof SIZES / sizeof *SIZES; t++) {
        for (int k = 0; k < 2; k++) {
            ptrdiff_t n = SIZES[t], cols = 70;
            epiqp_env e = env(BACKENDS[k], 2);
            planted p = {n, random_matrix(n, 6, 5)};
            epiqp_source source = {.block = planted_block, .self = &p};
            double *w = random_matrix(n, cols, 6), *b = malloc((size_t)(n * cols) * sizeof *b);
            double *full = malloc((size_t)(n * n) * sizeof *full), jitter = 1, s = 0;
            planted_block(&p, 0, n, 0, n, full, n);
            for (ptrdiff_t i = 0; i < n; i++) {
                full[i + i * n] += 0.5;
            }
            epiqp_la_blas.gemm('N', 'N', n, cols, n, 1, full, n, w, n, 0, b, n);
            epiqp_tri l;
            EQ(epiqp_tri_new(e.c, n, &l), EPIQ_OK);
            EQ(epiqp_ridge_factor(&e, &source, 0.5, &l, &jitter, &s, &s), EPIQ_OK);
            NEAR(jitter, 0, 0);
            epiqp_chol_solve(&e, &l, cols, b);
            for (ptrdiff_t i = 0; i < n * cols; i++) {
                NEAR(b[i], w[i], 2e-12); /* backward stable; condition number below 1000 */
            }
            epiqp_la_blas.gemm('N', 'N', n, 1, n, 1, full, n, w, n, 0, b, n);
            epiqp_chol_solve(&e, &l, 1, b); /* one column takes the matrix-vector way */
            for (ptrdiff_t i = 0; i < n; i++) {
                NEAR(b[i], w[i], 2e-12);
            }
            double *weight = malloc((size_t)n * sizeof *weight), *squares = malloc((size_t)n * sizeof *squares);
            EQ(epiqp_chol_inverse(&e, &l), EPIQ_OK);
            for (ptrdiff_t i = 0; i < n; i++) {
                weight[i] = 1 + sin((double)i);
            }
            EQ(epiqp_tri_squares_times(&e, &l, weight, squares), EPIQ_OK);
            for (ptrdiff_t i = 0; i < n; i++) { /* A A^-1 = I, row by row, and those rows' squares, weighted */
                double square = 0;
                for (ptrdiff_t j = 0; j < n; j++) {
                    double sum = 0;
                    for (ptrdiff_t m = 0; m < n && n < 200; m++) {
                        sum += full[i + m * n] * epiqp_tri_get(&l, m, j);
                    }
                    if (n < 200) NEAR(sum, i == j, 1e-12);
                    square += epiqp_tri_get(&l, i, j) * epiqp_tri_get(&l, i, j) * weight[j];
                }
                CLOSE(squares[i], square, 1e-12);
            }
            epiqp_tri_free(e.c, &l);
            free(weight);
            free(squares);
            free(full);
            free(w);
            free(b);
            free((void *)(uintptr_t)p.b);
            EQ(e.c->live_blocks, 0);
        }
    }
}

/* Panels of all heights, and a short last one: A^-1 (A w) = w, one column of the inverse at a time. */
TEST(tall_panels_give_the_same_inverse)
{
    static const ptrdiff_t LARGE[] = {1025, 1300, 3073};
    for (size_t t = 0; t < sizeof LARGE / sizeof *LARGE; t++) {
        ptrdiff_t n = LARGE[t];
        epiqp_env e = env(&epiqp_la_blas, 3);
        planted p = {n, random_matrix(n, 6, 5)};
        epiqp_source source = {.block = planted_block, .self = &p};
        double *b = random_matrix(n, 1, 6), *x = random_matrix(n, 1, 6), jitter, s = 0;
        epiqp_tri l;
        EQ(epiqp_tri_new(e.c, n, &l), EPIQ_OK);
        EQ(epiqp_ridge_factor(&e, &source, 0.5, &l, &jitter, &s, &s), EPIQ_OK);
        epiqp_chol_solve(&e, &l, 1, x); /* x = A^-1 b by the factor; A x = b by its entries */
        for (ptrdiff_t i = 0; i < n; i += 50) {
            double sum = 0, entry;
            for (ptrdiff_t k = 0; k < n; k++) {
                planted_block(&p, i, 1, k, 1, &entry, 1);
                sum += (entry + (i == k ? 0.5 : 0)) * x[k];
            }
            NEAR(sum, b[i], 1e-10); /* norm of A about 2 n, of x about 50 */
        }
        EQ(epiqp_chol_inverse(&e, &l), EPIQ_OK);
        double *one = malloc((size_t)n * sizeof *one), *squares = malloc((size_t)n * sizeof *squares);
        for (ptrdiff_t i = 0; i < n; i++) {
            one[i] = 1;
        }
        EQ(epiqp_tri_squares_times(&e, &l, one, squares), EPIQ_OK);
        for (ptrdiff_t i = 0; i < n; i += 7) {
            double sum = 0, square = 0;
            for (ptrdiff_t k = 0; k < n; k++) {
                double v = epiqp_tri_get(&l, i, k);
                sum += v * b[k];
                square += v * v;
            }
            NEAR(sum, x[i], 1e-10);
            CLOSE(squares[i], square, 1e-12);
        }
        epiqp_tri_free(e.c, &l);
        free(one);
        free(squares);
        free(b);
        free(x);
        free((void *)(uintptr_t)p.b);
        EQ(e.c->live_blocks, 0);
    }
}

TEST(threads_change_no_bit)
{
    ptrdiff_t n = 1500;
    planted p = {n, random_matrix(n, 6, 7)};
    epiqp_source source = {.block = planted_block, .self = &p};
    double *first = NULL;
    for (int threads = 1; threads <= 4; threads++) {
        epiqp_env e = env(&epiqp_la_blas, threads);
        double *k0 = epiqp_alloc(e.c, n * 100, sizeof *k0), *y = random_matrix(n, 1, 8);
        epiqp_normals((epiqp_stream){99, 0, 9}, n * 100, k0);
        epiqp_ridge r;
        EQ(epiqp_ridge_new(&e, n, &source, 1e-3, y, 100, k0, &r), EPIQ_OK);
        EQ(epiqp_ridge_leverage(&e, &r), EPIQ_OK);
        ptrdiff_t size = n * 103;
        double *all = malloc((size_t)size * sizeof *all);
        memcpy(all, r.c, (size_t)(n * 100) * sizeof *all);
        memcpy(all + n * 100, r.diagonal, (size_t)(2 * n) * sizeof *all);
        memcpy(all + n * 102, r.alpha, (size_t)n * sizeof *all);
        if (first) {
            EQ(memcmp(first, all, (size_t)size * sizeof *all), 0);
            free(all);
        } else {
            first = all;
        }
        epiqp_ridge_free(e.c, &r);
        free(y);
    }
    free(first);
    free((void *)(uintptr_t)p.b);
}

/* rank one, so that only jitter makes it definite; then one that nothing makes definite */
static void singular_block(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                           ptrdiff_t ld)
{
    const double *sign = self;
    for (ptrdiff_t j = 0; j < cols; j++) {
        for (ptrdiff_t i = 0; i < rows; i++) {
            out[i + j * ld] = i0 + i == j0 + j && (i0 + i) % 2 ? *sign : 1;
        }
    }
}

TEST(a_singular_matrix_is_rescued_and_an_indefinite_one_refused)
{
    for (int k = 0; k < 2; k++) {
        epiqp_env e = env(BACKENDS[k], 1);
        double one = 1, minus = -1, jitter, s = 0;
        epiqp_source source = {.block = singular_block, .self = &one};
        epiqp_tri l;
        EQ(epiqp_tri_new(e.c, 200, &l), EPIQ_OK);
        EQ(epiqp_ridge_factor(&e, &source, 0, &l, &jitter, &s, &s), EPIQ_OK);
        TRUE(jitter > 0 && jitter <= 1e-8);
        NEAR(log10(jitter), round(log10(jitter)), 1e-9); /* a power of ten times the mean diagonal, 1 */
        source.self = &minus;
        EQ(epiqp_ridge_factor(&e, &source, 1e-16, &l, &jitter, &s, &s), EPIQ_E_NUMERIC);
        SENTENCE_ROUGHLY(epiq_message(e.c));
        CONTAINS(epiq_message(e.c), "lambda");
        double nan = NAN;
        source.self = &nan;
        epiqp_clear(e.c);
        EQ(epiqp_ridge_factor(&e, &source, 1, &l, &jitter, &s, &s), EPIQ_E_NUMERIC);
        epiqp_tri_free(e.c, &l);
        source.self = &one; /* and whoever solves with it hears how much was added */
        double y[200] = {1}, *k0 = epiqp_alloc(e.c, 200, sizeof *k0);
        epiqp_ridge r;
        memset(k0, 0, 200 * sizeof *k0);
        EQ(epiqp_ridge_new(&e, 200, &source, 1e-20, y, 1, k0, &r), EPIQ_OK);
        TRUE(r.jitter > 0);
        NEAR(r.shift, 200 * 1e-20 + r.jitter, 0);
        epiqp_ridge_free(e.c, &r);
        EQ(e.c->live_blocks, 0);
    }
}

/* exp(-|i - j|/200), whose eigenvalues fall slowly, with some rows repeated */
static void decaying_block(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                           ptrdiff_t ld)
{
    const double *scale = self;
    for (ptrdiff_t j = 0; j < cols; j++) {
        for (ptrdiff_t i = 0; i < rows; i++) {
            out[i + j * ld] = *scale * exp(-fabs((double)((i0 + i) / 3 - (j0 + j) / 3)) / 200);
        }
    }
}

TEST(iteration_arrives_where_the_factor_does)
{
    enum { N = 1301, COLS = 41 };
    double one = 1, jitter, spent = 0, *first = NULL;
    epiqp_source source = {.block = decaying_block, .self = &one};
    for (int threads = 1; threads <= 3; threads++) {
        epiqp_env e = env(&epiqp_la_blas, threads);
        double *b = random_matrix(N, COLS, 31), *exact = random_matrix(N, COLS, 31);
        memset(b + 5 * N, 0, N * sizeof *b); /* nothing to do, and nothing to divide by */
        memset(exact + 5 * N, 0, N * sizeof *b);
        epiqp_operator a;
        epiqp_tri l;
        epiqp_pcg_report report = {0};
        EQ(epiqp_operator_new(&e, N, &source, 0.5, 60, 1, &a), EPIQ_OK);
        EQ(epiqp_operator_solve(&e, &a, 1e-9, 0, COLS, b, &report), EPIQ_OK);
        TRUE(report.iterations > 5 && report.iterations < 25); /* 14; steepest descent takes 35 */
        TRUE(report.residual > 0 && report.residual <= 1e-9);
        EQ(epiqp_tri_new(e.c, N, &l), EPIQ_OK);
        EQ(epiqp_ridge_factor(&e, &source, 0.5, &l, &jitter, &spent, &spent), EPIQ_OK);
        epiqp_chol_solve(&e, &l, COLS, exact);
        for (ptrdiff_t k = 0; k < COLS; k++) { /* |A^-1| = 2: the error is at most twice the residual, |b| about 36 */
            for (ptrdiff_t i = 0; i < N; i++) {
                NEAR(b[i + k * N], exact[i + k * N], 2 * 1e-9 * 40);
            }
        }
        if (first) {
            EQ(memcmp(first, b, sizeof *b * N * COLS), 0);
            free(b);
        } else {
            first = b;
        }
        epiqp_operator_free(e.c, &a);
        epiqp_tri_free(e.c, &l);
        EQ(e.c->live_blocks, 0);
        free(exact);
    }
    free(first);
}

/* The error of a solution in the norm of A, from the factor's solution of A e = r: its bound is above it, as r'A^-1 r is at most
 * r'P^-1 r for a preconditioner P at most A, and not twenty times above. Going on takes the bound to where it is wanted. r'v of the
 * first column is what v'x lacks there if v = A^-1 b of the second. */
TEST(what_iteration_lacks_is_bounded)
{
    enum { N = 500, COLS = 4 };
    epiqp_env e = env(&epiqp_la_blas, 2);
    double one = 1, jitter, spent = 0, bound[COLS], first[COLS], wanted[COLS];
    epiqp_source source = {.block = decaying_block, .self = &one};
    double *b = random_matrix(N, COLS, 35), *x = random_matrix(N, COLS, 35), *exact = random_matrix(N, COLS, 35);
    epiqp_operator a;
    epiqp_tri l;
    epiqp_pcg_report report = {.bound = bound, .first = first};
    EQ(epiqp_operator_new(&e, N, &source, 1e-3, 20, 1, &a), EPIQ_OK);
    EQ(epiqp_tri_new(e.c, N, &l), EPIQ_OK);
    EQ(epiqp_ridge_factor(&e, &source, 1e-3, &l, &jitter, &spent, &spent), EPIQ_OK);
    epiqp_chol_solve(&e, &l, COLS, exact);
    EQ(epiqp_operator_solve(&e, &a, 1e-2, 0, COLS, x, &report), EPIQ_OK);
    for (int more = 0; more < 2; more++) {
        for (ptrdiff_t k = 0; k < COLS; k++) {
            double lacks[N], times[N], *strip = random_matrix(N, EPIQP_STRIP, 1);
            for (ptrdiff_t i = 0; i < N; i++) {
                lacks[i] = exact[i + k * N] - x[i + k * N];
            }
            epiqp_operator_times(&e, &a, 1, lacks, strip, times);
            double error = sqrt(epiqp_dot(N, lacks, times));
            TRUE(bound[k] >= error && bound[k] <= 20 * error);   /* 2 to 10, as the last steps of iteration fall */
            const double *v = more ? exact : x + (COLS - 1) * N; /* A lacks is the residual, but for rounding */
            NEAR(first[k], epiqp_dot(N, times, v), 1e-7 * sqrt(epiqp_dot(N, times, times) * epiqp_dot(N, v, v)));
            wanted[k] = bound[k] / 1000;
            free(strip);
        }
        if (!more) {
            EQ(epiqp_operator_continue(&e, &a, wanted, COLS, b, x, exact, &report), EPIQ_OK);
            for (ptrdiff_t k = 0; k < COLS; k++) {
                TRUE(bound[k] <= wanted[k] && bound[k] > 0);
            }
        }
    }
    epiqp_operator_free(e.c, &a);
    epiqp_tri_free(e.c, &l);
    EQ(e.c->live_blocks, 0);
    free(b);
    free(x);
    free(exact);
}

/* Of rows solved for, leverages and sums are the inverse's, by factor (rounding of shares in single precision) and by iteration
 * (3e-3 of the column). */
TEST(rows_solved_for_are_the_inverses)
{
    enum { N = 300, ROWS = 5, PROBES = 16, G = EPIQP_PROBE_GROUPS };
    static const ptrdiff_t ROW[ROWS] = {0, 17, 150, 151, 299};
    double one = 1, y[N], s[N], sums[2][N];
    epiqp_source source = {.block = decaying_block, .self = &one};
    epiqp_normals((epiqp_stream){99, 0, 36}, N, y);
    epiqp_normals((epiqp_stream){99, 0, 37}, N, s);
    double *without = random_matrix(N, G, 1);
    epiqp_env e = env(&epiqp_la_blas, 2);
    epiqp_ridge r[3];
    epiqp_probes p[2];
    for (int k = 0; k < 3; k++) {
        double *k0 = epiqp_alloc(e.c, N, sizeof *k0);
        memcpy(k0, y, sizeof y);
        EQ(k < 2 ? epiqp_ridge_new(&e, N, &source, 1e-3, y, 1, k0, &r[k])
                 : epiqp_ridge_iterative(&e, N, &source, 1e-3, y, 1, k0, 20, 1e-6, 1, &r[k]),
           EPIQ_OK);
    }
    EQ(epiqp_ridge_leverage(&e, &r[0]), EPIQ_OK);
    EQ(epiqp_inverse_times(&e, &r[0].inverse, true, 1, s, sums[0]), EPIQ_OK);
    for (int k = 0; k < 2; k++) {
        double tolerance = k ? 0.01 : 1e-6;
        EQ(epiqp_probes_new(&e, &r[k + 1], 3, PROBES, &p[k]), EPIQ_OK);
        EQ(epiqp_probes_solve_rows(&e, &r[k + 1], &p[k], ROWS, ROW), EPIQ_OK);
        EQ(epiqp_probes_squares_times(&e, &r[k + 1], &p[k], s, NULL, sums[1], without), EPIQ_OK);
        for (int i = 0; i < ROWS; i++) {
            ptrdiff_t row = ROW[i];
            TRUE(p[k].solved[row] && !p[k].solved[row == 0 ? 1 : row - 2]);
            NEAR(r[k + 1].diagonal[row], r[0].diagonal[row], tolerance * r[0].diagonal[row]);
            NEAR(r[k + 1].norm2[row], r[0].norm2[row], tolerance * r[0].norm2[row]);
            NEAR(sums[1][row], sums[0][row], 4 * tolerance * r[0].norm2[row]); /* of s, which is about 1 */
            NEAR(without[row + 7 * N], sums[1][row], 0);
            NEAR(p[k].norm2_without[row + 7 * N], r[k + 1].norm2[row], 0);
        }
        epiqp_probes_free(e.c, &p[k]);
    }
    for (int k = 0; k < 3; k++) {
        epiqp_ridge_free(e.c, &r[k]);
    }
    EQ(e.c->live_blocks, 0);
    free(without);
}

/* (U U')_ij^2 summed entry by entry; U U' itself is what the preconditioner takes away: I - shift (F F' + shift I)^-1. */
TEST(the_squares_of_the_preconditioner_are_its_entries_squared)
{
    enum { N = 333, RANK = 150 };
    double one = 1, s[N], first[N], out[N];
    epiqp_source source = {.block = decaying_block, .self = &one};
    epiqp_normals((epiqp_stream){99, 0, 41}, N, s); /* terms of a series may be negative */
    for (int threads = 1; threads <= 3; threads++) {
        epiqp_env e = env(&epiqp_la_blas, threads);
        epiqp_operator a;
        EQ(epiqp_operator_new(&e, N, &source, 0.5, RANK, 1, &a), EPIQ_OK);
        EQ(epiqp_operator_squares_times(&e, &a, s, out), EPIQ_OK);
        for (ptrdiff_t i = 0; i < N; i++) {
            double sum = 0;
            for (ptrdiff_t j = 0; j < N; j++) {
                double entry = 0;
                for (ptrdiff_t k = 0; k < RANK; k++) {
                    entry += a.u[i + k * N] * a.u[j + k * N];
                }
                sum += i == j ? 0 : entry * entry * s[j];
            }
            NEAR(out[i], sum, 1e-13); /* sums of at most 1, for U U' has no eigenvalue above it */
        }
        if (threads > 1) EQ(memcmp(first, out, sizeof first), 0);
        memcpy(first, out, sizeof first);
        epiqp_operator_free(e.c, &a);
        EQ(e.c->live_blocks, 0);
    }
}

TEST(iteration_that_does_not_arrive_is_a_failure)
{
    enum { N = 600 };
    epiqp_env e = env(&epiqp_la_blas, 2);
    double one = 1, minus = -1, *b = random_matrix(N, 1, 32);
    epiqp_operator a;
    epiqp_pcg_report report = {0};
    epiqp_source source = {.block = decaying_block, .self = &one};
    EQ(epiqp_operator_new(&e, N, &source, 1e-9, 1, 1, &a), EPIQ_OK);
    EQ(epiqp_operator_solve(&e, &a, 1e-17, 0, 1, b, &report), EPIQ_E_NUMERIC); /* below rounding */
    SAYS_ROUGHLY(epiq_message(e.c), "solver exact");
    TRUE(report.residual > 1e-17);
    a.kernel.self = &minus; /* no longer what the preconditioner was made of, and indefinite */
    epiqp_clear(e.c);
    EQ(epiqp_operator_solve(&e, &a, 1e-9, 0, 1, b, &report), EPIQ_E_NUMERIC);
    SAYS_ROUGHLY(epiq_message(e.c), "lambda");
    epiqp_operator_free(e.c, &a);
    EQ(epiqp_operator_new(&e, N, &source, 1e-3, 300, 1, &a), EPIQ_OK);
    epiqp_clear(e.c); /* here the recurrence says that it has arrived, and what is left says that it has not */
    EQ(epiqp_operator_solve(&e, &a, 1e-15, 0, 1, b, &report), EPIQ_E_NUMERIC);
    SAYS_ROUGHLY(epiq_message(e.c), "tolerance");
    epiqp_operator_free(e.c, &a);
    EQ(e.c->live_blocks, 0);
    free(b);
}

TEST(every_allocation_of_the_iteration_may_fail)
{
    enum { N = 300 };
    double one = 1, y[N];
    epiqp_source source = {.block = decaying_block, .self = &one};
    for (int after = 0;; after++) {
        epiqp_env e = env(&epiqp_la_blas, 1);
        epiqp_ridge r;
        double *k0 = epiqp_alloc(e.c, 2 * N, sizeof *k0);
        epiqp_normals((epiqp_stream){99, 0, 33}, 2 * N, k0);
        epiqp_normals((epiqp_stream){99, 0, 34}, N, y);
        e.c->fail_after = after;
        int s = epiqp_ridge_iterative(&e, N, &source, 1e-2, y, 2, k0, 40, 1e-8, 1, &r);
        bool all = e.c->fail_after >= 0;
        e.c->fail_after = -1;
        EQ(s, all ? EPIQ_OK : EPIQ_E_NOMEM);
        if (!s) {
            TRUE(after > 5);
            epiqp_ridge_free(e.c, &r);
        }
        EQ(e.c->live_blocks, 0);
        if (!s) break;
    }
}

/* Many more threads than blocks in a panel: whoever waits must not hold what the others wait for. */
TEST(an_inverse_by_many_threads_has_the_bits_of_one)
{
    enum { N = 1400 };
    double one = 1, jitter, spent = 0, *first = NULL;
    epiqp_source source = {.block = decaying_block, .self = &one};
    for (int threads = 1; threads <= 16; threads += 5) {
        epiqp_env e = env(&epiqp_la_blas, threads);
        epiqp_tri l;
        EQ(epiqp_tri_new(e.c, N, &l), EPIQ_OK);
        EQ(epiqp_ridge_factor(&e, &source, 0.5, &l, &jitter, &spent, &spent), EPIQ_OK);
        EQ(epiqp_chol_inverse(&e, &l), EPIQ_OK);
        if (first) {
            EQ(memcmp(first, l.a, (size_t)epiqp_tri_bytes(N)), 0);
        } else {
            first = malloc((size_t)epiqp_tri_bytes(N));
            memcpy(first, l.a, (size_t)epiqp_tri_bytes(N));
        }
        epiqp_tri_free(e.c, &l);
        EQ(e.c->live_blocks, 0);
    }
    free(first);
}

TEST(factor_and_inverse_stop_when_asked)
{
    enum { N = 1400 };
    double one = 1, jitter, spent = 0;
    epiqp_source source = {.block = decaying_block, .self = &one};
    epiqp_env e = env(&epiqp_la_blas, 3);
    epiqp_tri l;
    EQ(epiqp_tri_new(e.c, N, &l), EPIQ_OK);
    epiq_ctx_stop(e.c);
    EQ(epiqp_ridge_factor(&e, &source, 0.5, &l, &jitter, &spent, &spent), EPIQ_E_STOPPED);
    SENTENCE_ROUGHLY(epiq_message(e.c));
    epiqp_clear_cancel(e.c);
    epiqp_clear(e.c);
    EQ(epiqp_ridge_factor(&e, &source, 0.5, &l, &jitter, &spent, &spent), EPIQ_OK);
    epiq_ctx_stop(e.c);
    EQ(epiqp_chol_inverse(&e, &l), EPIQ_E_STOPPED);
    SAYS_ROUGHLY(epiq_message(e.c), "inverse");
    epiqp_clear_cancel(e.c);
    epiqp_clear(e.c);
    epiqp_tri_free(e.c, &l);
    EQ(e.c->live_blocks, 0);
}

TEST(a_factor_in_a_scratch_file_has_the_same_bits)
{
    enum { N = 1400, COLS = 3 }; /* panels of 256 rows */
    double one = 1, jitter, spent = 0;
    epiqp_source source = {.block = decaying_block, .self = &one};
    for (ptrdiff_t resident = 1; resident < 1 << 25; resident = resident * 64 + (1 << 20)) {
        epiqp_env e = env(&epiqp_la_blas, 2);
        double *b = random_matrix(N, COLS, 35), *scratch = random_matrix(N, COLS, 35);
        epiqp_tri l, t;
        EQ(epiqp_tri_new(e.c, N, &l), EPIQ_OK);
        EQ(epiqp_tri_scratch(e.c, N, "/tmp", resident, &t), EPIQ_OK);
        EQ(epiqp_ridge_factor(&e, &source, 0.5, &l, &jitter, &spent, &spent), EPIQ_OK);
        EQ(epiqp_ridge_factor(&e, &source, 0.5, &t, &jitter, &spent, &spent), EPIQ_OK);
        epiqp_chol_solve(&e, &l, COLS, b);
        epiqp_chol_solve(&e, &t, COLS, scratch);
        EQ(memcmp(b, scratch, sizeof *b * N * COLS), 0);
        epiqp_tri_free(e.c, &l);
        epiqp_tri_free(e.c, &t);
        EQ(e.c->live_blocks, 0);
        free(b);
        free(scratch);
    }
    epiqp_env e = env(&epiqp_la_blas, 1);
    epiqp_tri t;
    EQ(epiqp_tri_scratch(e.c, N, "/nonexistent", 1, &t), EPIQ_E_FILE);
    SENTENCE_ROUGHLY(epiq_message(e.c));
}
