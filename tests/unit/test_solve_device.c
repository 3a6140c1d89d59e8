/* What a device computes, by one that is not there (fake_device.h): a pair of rows as the library has it, a ridge regression as
 * in memory, what fails and what does not fit. The same on a real one is tests/gpu/. */
#include "fake_device.h"
#include "kernel/kernel.h"
#include "rng/rng.h"
#include "solve/ridge.h"
#include "test.h"

enum { D = 3, ROWS = 12, N = 40, POINTS = 5 };

static epiq_ctx *context(void)
{
    epiq_ctx *c;
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    return c;
}

static void done(epiq_ctx *c)
{
    EQ(c->live_blocks, 0);
    EQ(fake.matrices, 0);
    epiq_ctx_free(c);
}

/* Rows of every kind: ordinary, equal and nearly equal, opposite and nearly so, zero, far, so small that reciprocals overflow */
static void rows_of_all_kinds(double *x)
{
    epiqp_normals((epiqp_stream){3, 0, 0}, ROWS * D, x);
    for (int f = 0; f < D; f++) {
        x[1 * D + f] = x[f];
        x[2 * D + f] = x[f] * (1 + 1e-9) + (f == 1 ? 1e-12 : 0);
        x[3 * D + f] = -x[f];
        x[4 * D + f] = -x[f] + (f == 2 ? 1e-8 : 0);
        x[5 * D + f] = 0;
        x[6 * D + f] = 1e8 * x[f] + (f == 0);
        x[7 * D + f] *= 1e-150;
        x[8 * D + f] = 1e-3 * x[f];
    }
}

TEST(pair_agrees_with_the_librarys_loops)
{
    epiq_ctx *c = context();
    double x[ROWS * D];
    rows_of_all_kinds(x);
    epiqp_rows rows;
    EQ(epiqp_rows_new(c, ROWS, D, x, &rows), EPIQ_OK);
    const struct {
        double beta, bias_sd;
    } bias[] = {{1, 1}, {1, 0}, {0, 0}, {0.3, 2}};
    for (int b = 0; b < 4; b++) {
        for (ptrdiff_t depth = 1; depth <= 5; depth += 2) {
            const double v = bias[b].beta * bias[b].beta * bias[b].bias_sd * bias[b].bias_sd;
            const epiqp_arch arch = {depth, bias[b].beta, v};
            const epiq_device_kernel k = {depth, bias[b].beta, v, ROWS, D, x};
            double want[2][ROWS * ROWS];
            epiqp_kernel_loop *plain = NULL;
            for (int set = 0; epiqp_kernel_set(set); set++) {
                plain = epiqp_kernel_set(set);
            }
            plain(&arch, &rows, 0, ROWS, &rows, 0, ROWS, want[0], want[1], ROWS);
            for (int q = 0; q < 2; q++) {
                for (ptrdiff_t e = 0; e < ROWS * ROWS; e++) {
                    CLOSE(fake_pair(&k, x + e % ROWS * D, x + e / ROWS * D, q), want[q][e], 1e-12);
                }
            }
        }
    }
    epiqp_rows_free(c, &rows);
    done(c);
}

/* ---- ridge regression ---- */

typedef struct {
    double x[N * D], y[N], at[POINTS * D];
    epiqp_rows rows, there;
    epiqp_arch arch;
    epiqp_population population;
} problem;

static void set_up(epiq_ctx *c, problem *p)
{
    epiqp_normals((epiqp_stream){5, 0, 0}, N * D, p->x);
    epiqp_normals((epiqp_stream){6, 0, 0}, N, p->y);
    epiqp_normals((epiqp_stream){7, 0, 0}, POINTS * D, p->at);
    p->arch = (epiqp_arch){2, 1, 1};
    EQ(epiqp_rows_new(c, N, D, p->x, &p->rows), EPIQ_OK);
    EQ(epiqp_rows_new(c, POINTS, D, p->at, &p->there), EPIQ_OK);
    p->population = (epiqp_population){&p->arch, &p->rows};
}

static void tear_down(epiq_ctx *c, problem *p)
{
    epiqp_rows_free(c, &p->rows);
    epiqp_rows_free(c, &p->there);
}

static int solved(const epiqp_env *e, const problem *p, const epiqp_source *kernel, double lambda, epiqp_ridge *out)
{
    double *k0 = epiqp_alloc(e->c, N * POINTS, sizeof *k0);
    if (!k0) return EPIQ_E_NOMEM;
    epiqp_kernel_cross(e, &p->arch, &p->rows, &p->there, k0, NULL);
    return epiqp_ridge_new(e, N, kernel, lambda, p->y, POINTS, k0, out);
}

static void same(const double *got, const double *want, ptrdiff_t n)
{
    double largest = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(want[i]));
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        NEAR(got[i], want[i], 1e-10 * largest); /* the condition is some 1e4 */
    }
}

static epiqp_env with_device(epiq_ctx *c, epiqp_device *device, double bytes, bool only)
{
    char why[64];
    fake_reset(bytes);
    *device = (epiqp_device){fake_open(NULL, why, sizeof why), bytes, only};
    return (epiqp_env){.c = c, .la = &epiqp_la_blas, .threads = 2, .device = device};
}

static const double PLENTY = 1e12;

static void compare(epiq_ctx *c, const problem *p, const epiqp_source *kernel)
{
    epiqp_device device;
    const epiqp_env e = with_device(c, &device, PLENTY, true), alone = epiqp_alone(&e);
    epiqp_ridge want, got;
    EQ(solved(&alone, p, kernel, 1e-3, &want), EPIQ_OK);
    EQ(solved(&e, p, kernel, 1e-3, &got), EPIQ_OK);
    TRUE(got.factor.device.a && !got.factor.here.a);
    same(got.alpha, want.alpha, N);
    same(got.c, want.c, N * POINTS);
    CLOSE(got.loss, want.loss, 1e-8);
    double b[2][N];
    memcpy(b[0], p->y, sizeof b[0]);
    memcpy(b[1], p->y, sizeof b[1]);
    EQ(epiqp_ridge_solve(&e, &got, false, 1, b[0]), EPIQ_OK);
    EQ(epiqp_ridge_solve(&alone, &want, false, 1, b[1]), EPIQ_OK);
    same(b[0], b[1], N);
    epiqp_tri copy = {0};
    EQ(epiqp_factor_copy(&e, &got.factor, &copy), EPIQ_OK);
    for (ptrdiff_t i = 0; i < N; i++) {
        for (ptrdiff_t j = 0; j <= i; j++) {
            NEAR(epiqp_tri_get(&copy, i, j), epiqp_tri_get(&want.factor.here, i, j), 1e-10);
        }
    }
    epiqp_tri_free(c, &copy);
    EQ(epiqp_ridge_leverage(&e, &got), EPIQ_OK);
    EQ(epiqp_ridge_leverage(&alone, &want), EPIQ_OK);
    same(got.diagonal, want.diagonal, N);
    same(got.norm2, want.norm2, N);
    for (int squared = 0; squared < 2; squared++) {
        EQ(epiqp_inverse_times(&e, &got.inverse, squared, 1, p->y, b[0]), EPIQ_OK);
        EQ(epiqp_inverse_times(&alone, &want.inverse, squared, 1, p->y, b[1]), EPIQ_OK);
        same(b[0], b[1], N);
    }
    const ptrdiff_t row[3] = {30, 2, 11}, col[2] = {11, 39};
    double part[2][8];
    EQ(epiqp_inverse_part(&e, &got.inverse, 0, 3, row, 2, col, part[0]), EPIQ_OK);
    EQ(epiqp_inverse_part(&alone, &want.inverse, 0, 3, row, 2, col, part[1]), EPIQ_OK);
    same(part[0], part[1], 6);
    EQ(epiqp_inverse_part(&e, &got.inverse, 9, 4, NULL, 2, col, part[0]), EPIQ_OK);
    EQ(epiqp_inverse_part(&alone, &want.inverse, 9, 4, NULL, 2, col, part[1]), EPIQ_OK);
    same(part[0], part[1], 8);
    epiqp_ridge_free(c, &got);
    epiqp_ridge_free(c, &want);
}

/* A source that a device cannot compute itself: the same numbers, in blocks. */
static void copied(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                   ptrdiff_t ld)
{
    const epiqp_source *kernel = self;
    kernel->block(kernel->self, i0, rows, j0, cols, out, ld);
}

TEST(ridge_on_a_device_is_that_in_memory)
{
    epiq_ctx *c = context();
    problem p;
    set_up(c, &p);
    const epiqp_source kernel = epiqp_source_ntk(&p.population), blocks = {.block = copied, .self = &kernel};
    compare(c, &p, &kernel);
    compare(c, &p, &blocks);
    tear_down(c, &p);
    done(c);
}

TEST(small_or_too_large_stays_in_memory_unless_a_device_must_be_used)
{
    epiq_ctx *c = context();
    epiqp_device device;
    epiqp_env e = with_device(c, &device, PLENTY, false);
    TRUE(!epiqp_gmat_takes(&e, 100));
    TRUE(epiqp_gmat_takes(&e, 5000));
    TRUE(!epiqp_gmat_takes(&(epiqp_env){.c = c, .la = e.la, .threads = 1}, 5000));
    const epiqp_env alone = epiqp_alone(&e);
    TRUE(!epiqp_gmat_takes(&alone, 5000));
    device.bytes = epiqp_gmat_bytes(5000) / 0.94 * 0.999;
    TRUE(!epiqp_gmat_takes(&e, 5000));
    EQ(epiqp_gmat_check(&e, 5000), EPIQ_OK); /* nobody asked for the device */
    device.bytes /= 0.99;
    TRUE(epiqp_gmat_takes(&e, 5000));
    device.only = true;
    TRUE(epiqp_gmat_takes(&e, 100));
    EQ(epiqp_gmat_check(&e, 5000), EPIQ_OK);
    EQ(epiqp_gmat_check(&e, 5100), EPIQ_E_NOMEM);
    SENTENCE(epiq_message(c));
    done(c);
}

/* All rows equal and no bias: K has rank 1, and a ridge of rounding size is not enough. */
TEST(jitter_on_a_device_as_in_memory)
{
    epiq_ctx *c = context();
    problem p;
    set_up(c, &p);
    for (int i = D; i < N * D; i++) {
        p.x[i] = p.x[i % D];
    }
    epiqp_rows_free(c, &p.rows);
    EQ(epiqp_rows_new(c, N, D, p.x, &p.rows), EPIQ_OK);
    const epiqp_source kernel = epiqp_source_ntk(&p.population);
    epiqp_device device;
    const epiqp_env e = with_device(c, &device, PLENTY, true);
    epiqp_ridge r;
    EQ(solved(&e, &p, &kernel, 1e-18, &r), EPIQ_OK);
    TRUE(r.jitter > 0 && r.jitter < 1e-8 * 10);
    NEAR(r.shift, r.jitter, 1e-12);
    epiqp_ridge_free(c, &r);
    tear_down(c, &p);
    done(c);
}

TEST(each_failing_call_of_a_device_fails_the_ridge_and_leaves_nothing)
{
    epiq_ctx *c = context();
    problem p;
    set_up(c, &p);
    const epiqp_source kernel = epiqp_source_ntk(&p.population);
    int s = EPIQ_E_NUMERIC, k = 1;
    for (; s && k < 100; k++) {
        epiqp_device device;
        const epiqp_env e = with_device(c, &device, PLENTY, true);
        const ptrdiff_t before = c->live_blocks;
        fake.fail_at = k;
        epiqp_ridge r;
        s = solved(&e, &p, &kernel, 1e-3, &r);
        if (!s) s = epiqp_ridge_leverage(&e, &r);
        epiqp_ridge_free(c, &r);
        if (!s) break;
        EQ(s, EPIQ_E_NUMERIC);
        CONTAINS(epiq_message(c), "a failure that the test asked for");
        EQ(fake.matrices, 0);
        EQ(c->live_blocks, before);
        epiqp_clear(c);
    }
    TRUE(!s && k > 9); /* new, fill, diagonals, factor, solves, inverse, squares, diagonal */
    tear_down(c, &p);
    done(c);
}
