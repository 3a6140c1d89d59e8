/* A matrix spread over ranks against the same on one machine: ridge, solves, inverse, squares; one rank's failure. */
#include "fake_cluster.h"
#include "rng/rng.h"
#include "solve/ridge.h"

enum { MOST = 70, POINTS = 11, THREADS = 2 };

/* exp(-|x_i - x_j|) of random numbers: positive definite, with a ridge well so */
static void block(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                  ptrdiff_t ld)
{
    const double *x = self;
    for (ptrdiff_t j = 0; j < cols; j++) {
        for (ptrdiff_t i = 0; i < rows; i++) {
            out[i + j * ld] = exp(-fabs(x[i0 + i] - x[j0 + j]));
        }
    }
}

typedef struct {
    ptrdiff_t n;
    double x[MOST], y[MOST], k0[MOST * POINTS], ridge;
    epiqp_ridge want; /* on one machine */
    double squares[MOST];
    int fail_rank, fail_after, failed; /* a rank's allocation that fails; how many ranks saw it */
} problem;

static epiqp_ridge solved(const epiqp_env *e, const problem *p, int *s)
{
    epiqp_ridge r = {0};
    epiqp_source kernel = {.block = block, .self = p->x};
    double *k0 = epiqp_alloc(e->c, p->n * POINTS, sizeof *k0);
    *s = k0 ? EPIQ_OK : EPIQ_E_NOMEM;
    if (k0) {
        memcpy(k0, p->k0, (size_t)(p->n * POINTS) * sizeof *k0);
        *s = epiqp_ridge_new(e, p->n, &kernel, p->ridge / (double)p->n, p->y, POINTS, k0, &r);
    }
    return r;
}

static void set_up(problem *p, epiq_ctx *c, ptrdiff_t n)
{
    *p = (problem){.n = n, .ridge = 0.3, .fail_rank = -1};
    epiqp_normals((epiqp_stream){5, 0, (uint64_t)n}, n, p->x);
    epiqp_normals((epiqp_stream){6, 0, (uint64_t)n}, n, p->y);
    epiqp_normals((epiqp_stream){7, 0, (uint64_t)n}, n * POINTS, p->k0);
    epiqp_env e = {.c = c, .la = &epiqp_la_ref, .threads = 1};
    int s;
    p->want = solved(&e, p, &s);
    EQ(s, EPIQ_OK);
    EQ(epiqp_ridge_leverage(&e, &p->want), EPIQ_OK);
    EQ(epiqp_inverse_times(&e, &p->want.inverse, true, 1, p->y, p->squares), EPIQ_OK);
}

static void same(const double *got, const double *want, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        NEAR(got[i], want[i], 1e-12); /* of order 1, condition below 70/0.3 */
    }
}

static void compare(void *job, epiq_ctx *c)
{
    problem *p = job;
    epiqp_env e = {.c = c, .la = &epiqp_la_ref, .threads = THREADS, .cluster = c->cluster};
    int s;
    epiqp_ridge r = solved(&e, p, &s);
    EQ(s, EPIQ_OK);
    TRUE(r.factor.ranks.a && !r.inverse.ranks.a);
    same(r.alpha, p->want.alpha, p->n);
    same(r.c, p->want.c, p->n * POINTS);
    EQ(epiqp_ridge_leverage(&e, &r), EPIQ_OK);
    TRUE(!r.factor.ranks.a && r.inverse.ranks.a);
    same(r.diagonal, p->want.diagonal, p->n);
    same(r.norm2, p->want.norm2, p->n);
    double squares[MOST], corner[9];
    EQ(epiqp_inverse_times(&e, &r.inverse, true, 1, p->y, squares), EPIQ_OK);
    same(squares, p->squares, p->n);
    ptrdiff_t rows[3] = {p->n - 1, 0, p->n / 2};
    EQ(epiqp_inverse_part(&e, &r.inverse, 0, 3, rows, 3, rows, corner), EPIQ_OK);
    for (int k = 0; k < 3; k++) {
        for (int i = k; i < 3; i++) {
            NEAR(corner[i + 3 * k], epiqp_tri_get(&p->want.inverse.here, rows[i], rows[k]), 1e-12);
        }
    }
    epiqp_inverse_free(c, &r.inverse);
    TRUE(!r.inverse.ranks.a && !r.inverse.here.a);
    epiqp_ridge_free(c, &r);
}

static const struct {
    int rows, cols;
} GRIDS[] = {{1, 1}, {1, 2}, {2, 1}, {1, 3}, {2, 2}, {2, 3}};

TEST(a_spread_matrix_gives_what_one_machine_gives)
{
    const ptrdiff_t sizes[] = {1, 7, 8, 17, 40, MOST};
    epiq_ctx *c;
    epiq_ctx_new(&c);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        problem p;
        set_up(&p, c, sizes[k]);
        for (size_t g = 0; g < sizeof GRIDS / sizeof *GRIDS; g++) {
            crew_run(GRIDS[g].rows, GRIDS[g].cols, 8, compare, &p);
        }
        epiqp_ridge_free(c, &p.want);
    }
    EQ(c->live_blocks, 0);
    epiq_ctx_free(c);
}

static void with_jitter(void *job, epiq_ctx *c)
{
    problem *p = job;
    epiqp_env e = {.c = c, .la = &epiqp_la_ref, .threads = 1, .cluster = c->cluster};
    int s;
    epiqp_ridge r = solved(&e, p, &s);
    EQ(s, p->failed);
    if (s) {
        TRUE(*epiq_message(c));
    } else {
        CLOSE(r.jitter, p->want.jitter, 1e-12);
    }
    epiqp_ridge_free(c, &r);
}

TEST(jitter_is_the_same_and_what_it_does_not_help_fails_everywhere)
{
    epiq_ctx *c;
    epiq_ctx_new(&c);
    problem p;
    set_up(&p, c, 20);
    epiqp_ridge_free(c, &p.want);
    epiqp_env e = {.c = c, .la = &epiqp_la_ref, .threads = 1};
    for (int i = 0; i < 20; i++) {
        p.x[i] = 1; /* all rows are the same one */
    }
    p.ridge = 0;
    p.want = solved(&e, &p, &p.failed);
    TRUE(p.want.jitter > 0);
    crew_run(2, 2, 8, with_jitter, &p);
    epiqp_ridge_free(c, &p.want);
    p.ridge = -2;
    p.failed = EPIQ_E_NUMERIC;
    crew_run(2, 2, 8, with_jitter, &p);
    epiq_ctx_free(c);
}

/* As a caller does: whoever fails on its own says so at the end, where the others may be or come to. */
static void lose_memory(void *job, epiq_ctx *c)
{
    problem *p = job;
    epiqp_env e = {.c = c, .la = &epiqp_la_ref, .threads = 1, .cluster = c->cluster};
    int s;
    c->fail_after = c->cluster->rank == p->fail_rank ? p->fail_after : -1;
    epiqp_ridge r = solved(&e, p, &s);
    s = s ? s : epiqp_ridge_leverage(&e, &r);
    s = epiq_ctx_agree(c, s);
    epiqp_ridge_free(c, &r);
    if (s) {
        EQ(s, EPIQ_E_NOMEM);
        CONTAINS(epiq_message(c), "memory");
#pragma omp atomic
        p->failed++;
    }
}

TEST(memory_lost_on_one_rank_ends_all_of_them)
{
    epiq_ctx *c;
    epiq_ctx_new(&c);
    problem p;
    set_up(&p, c, 20);
    for (p.fail_rank = 0; p.fail_rank < 3; p.fail_rank += 2) {
        for (p.fail_after = 0; p.fail_after < 100; p.fail_after++) {
            p.failed = 0;
            crew_run(1, 3, 8, lose_memory, &p);
            TRUE(p.failed == 0 || p.failed == 3);
            if (!p.failed) break;
        }
        TRUE(p.fail_after > 5 && p.fail_after < 100);
    }
    epiqp_ridge_free(c, &p.want);
    epiq_ctx_free(c);
}
