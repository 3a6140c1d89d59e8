/* gpu_agrees.c - what libepiq_cuda.so computes on this machine's GPU against the library's own code on its processor: kernels to
 * 1e-12; factors, solves, inverses and variances to 1e-8; the same bits when asked again; and how long it takes. It is no part of
 * `make check`, which has no GPU: tools/check-gpu runs it. Usage: gpu_agrees LIBRARY [most rows of a timed matrix;
 * 0: training alone; -1: of it single steps, for compute-sanitizer]
 */
#include "cuda/epiq_cuda.h"
#include "engine/engine.h"
#include "fake_device.h"
#include "rng/rng.h"
#include "usual.h"

#include <dlfcn.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int passed, failed;
static const epiq_device *gpu;
static epiq_ctx *c;
static epiqp_env host;

__attribute__((format(printf, 3, 4))) static void judge(double error, double most, const char *format, ...)
{
    va_list args;
    const bool fine = error <= most; /* NaN fails */
    fine ? passed++ : failed++;
    printf("%s  ", fine ? "ok    " : "FAILED");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf(": %.2g (at most %.0e)\n", error, most);
    fflush(stdout);
}

static void must(int status, const char *what)
{
    if (!status) return;
    printf("FAILED  %s: status %d, GPU: %s, library: %s\n", what, status, gpu ? gpu->message(gpu->user) : "",
           epiq_message(c));
    failed++;
    epiqp_clear(c);
}
#define MUST(call) must(call, #call)

static double *numbers(ptrdiff_t count)
{
    double *p = malloc((size_t)(count > 0 ? count : 1) * sizeof *p);
    if (!p) {
        printf("FAILED  no memory for %td numbers\n", count);
        exit(1);
    }
    return p;
}

static double *normals(uint64_t stream, ptrdiff_t count)
{
    double *p = numbers(count);
    epiqp_normals((epiqp_stream){17, stream, 0}, count, p);
    return p;
}

/* The largest difference over the largest number wanted. */
static double apart(ptrdiff_t n, const double *got, const double *want)
{
    double most = 0, largest = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double off = fabs(got[i] - want[i]);
        most = off <= most ? most : off; /* NaN stays */
        largest = fmax(largest, fabs(want[i]));
    }
    return most / largest;
}

/* The norm of the difference over that of what is wanted. */
static double apart_in_norm(ptrdiff_t n, const double *got, const double *want)
{
    double off = 0, all = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        off += (got[i] - want[i]) * (got[i] - want[i]);
        all += want[i] * want[i];
    }
    return sqrt(off / all);
}

/* ---- kernels ---- */

/* Some rows equal, nearly equal, opposite, zero, large and small among ordinary ones. */
static void spoil(ptrdiff_t d, double *x)
{
    for (ptrdiff_t f = 0; f < d; f++) {
        x[1 * d + f] = x[f];
        x[2 * d + f] = x[f] * (1 + 1e-9) + (f == 1 ? 1e-12 : 0);
        x[3 * d + f] = -x[f];
        x[4 * d + f] = -x[f] + (f == 0 ? 1e-8 : 0);
        x[5 * d + f] = 0;
        x[6 * d + f] = 1e8 * x[f] + (f == 0);
        x[8 * d + f] = 1e-3 * x[f];
    }
}

static void kernels_agree(ptrdiff_t n, ptrdiff_t d, ptrdiff_t depth, double beta, double bias_sd)
{
    double *x = normals(1, n * d), *got = numbers(n * n), *again = numbers(n * n), *want = numbers(n * n);
    const epiqp_arch arch = {depth, beta, beta * beta * bias_sd * bias_sd};
    epiqp_rows rows;
    epiq_device_matrix *m = NULL;
    spoil(d, x);
    MUST(epiqp_rows_new(c, n, d, x, &rows));
    const epiq_device_kernel k = epiqp_kernel_described(&arch, &rows);
    MUST(gpu->matrix_new(gpu->user, n, &m));
    for (int nngp = 0; nngp < 2; nngp++) {
        MUST(gpu->fill(gpu->user, m, &k, nngp));
        MUST(gpu->get(gpu->user, m, 0, n, 0, n, got, n));
        MUST(gpu->fill(gpu->user, m, &k, nngp));
        MUST(gpu->get(gpu->user, m, 0, n, 0, n, again, n));
        epiqp_kernel_cross(&host, &arch, &rows, &rows, nngp ? NULL : want, nngp ? want : NULL);
        double most = 0;
        bool same = true;
        for (ptrdiff_t j = 0; j < n; j++) {
            for (ptrdiff_t i = j; i < n; i++) {
                /* K changes its sign between some rows, where it is small beside its terms */
                const double w = want[i + j * n], off = fabs(got[i + j * n] - w),
                             scale = fmax(fabs(w), 1e-3 * sqrt(want[i + i * n] * want[j + j * n])),
                             relative = scale == 0 ? off : off / scale;
                most = relative <= most ? most : relative;
                same = same && memcmp(&got[i + j * n], &again[i + j * n], sizeof(double)) == 0;
            }
        }
        judge(most, 1e-12, "kernel %c, %td rows, %td features, depth %td, bias %g, bias-sd %g", "KQ"[nngp], n, d, depth,
              beta, bias_sd);
        judge(!same, 0, "  the same bits again");
    }
    gpu->matrix_free(gpu->user, m);
    epiqp_rows_free(c, &rows);
    free(x), free(got), free(again), free(want);
}

/* ---- matrices ---- */

typedef struct {
    ptrdiff_t n, d, points;
    double *x, *y, *at;
    epiqp_rows rows, there;
    epiqp_arch arch;
    epiqp_population population;
    epiqp_device device;
    epiqp_env env;
} problem;

static problem problem_new(ptrdiff_t n, ptrdiff_t d, ptrdiff_t points, ptrdiff_t depth)
{
    problem p = {.n = n, .d = d, .points = points, .arch = {depth, 1, 1}};
    p.x = normals(1, n * d);
    p.y = normals(2, n);
    p.at = normals(3, points * d);
    MUST(epiqp_rows_new(c, n, d, p.x, &p.rows));
    MUST(epiqp_rows_new(c, points, d, p.at, &p.there));
    p.device = (epiqp_device){gpu, gpu->bytes_free(gpu->user), true};
    return p;
}

static void problem_end(problem *p)
{
    epiqp_rows_free(c, &p->rows);
    epiqp_rows_free(c, &p->there);
    free(p->x), free(p->y), free(p->at);
}

static int solve(const epiqp_env *e, problem *p, epiqp_ridge *out)
{
    double *k0 = epiqp_alloc(c, p->n * p->points, sizeof *k0);
    epiqp_kernel_cross(&host, &p->arch, &p->rows, &p->there, k0, NULL);
    p->population = (epiqp_population){&p->arch, &p->rows};
    const epiqp_source source = epiqp_source_ntk(&p->population);
    return epiqp_ridge_new(e, p->n, &source, 1e-3, p->y, p->points, k0, out);
}

static void ridge_agrees(ptrdiff_t n, ptrdiff_t depth)
{
    enum { POINTS = 40 };
    problem p = problem_new(n, 5, POINTS, depth);
    epiqp_env there = host;
    there.device = &p.device;
    epiqp_ridge want, got, again;
    double start = epiqp_now();
    MUST(solve(&host, &p, &want));
    double host_s = epiqp_now() - start;
    MUST(solve(&there, &p, &got));
    start = epiqp_now();
    MUST(solve(&there, &p, &again)); /* the second time nothing has to be started */
    double there_s = epiqp_now() - start;
    judge(apart(n, got.alpha, want.alpha), 1e-8, "%td rows, depth %td: alpha", n, depth);
    judge(apart(n * POINTS, got.c, want.c), 1e-8, "  c");
    judge(fabs(got.loss / want.loss - 1), 1e-6, "  growth of rounding errors %.3g", want.loss);
    judge(memcmp(got.c, again.c, (size_t)(n * POINTS) * sizeof *got.c) != 0, 0, "  the same bits again");
    epiqp_tri copy = {0};
    MUST(epiqp_factor_copy(&there, &got.factor, &copy));
    double off = 0;
    for (ptrdiff_t i = 0; copy.a && i < n; i += 1 + n / 500) {
        for (ptrdiff_t j = 0; j <= i; j += 1 + n / 500) {
            off = fmax(off, fabs(epiqp_tri_get(&copy, i, j) - epiqp_tri_get(&want.factor.here, i, j)));
        }
    }
    judge(off, 1e-8, "  factor copied to the processor");
    epiqp_tri_free(c, &copy);
    start = epiqp_now();
    MUST(epiqp_ridge_leverage(&host, &want));
    host_s += epiqp_now() - start;
    start = epiqp_now();
    MUST(epiqp_ridge_leverage(&there, &got));
    there_s += epiqp_now() - start;
    MUST(epiqp_ridge_leverage(&there, &again));
    judge(apart(n, got.diagonal, want.diagonal), 1e-8, "  diagonal of the inverse");
    judge(apart(n, got.norm2, want.norm2), 1e-8, "  row norms of the inverse");
    judge(memcmp(got.norm2, again.norm2, (size_t)n * sizeof *got.norm2) != 0, 0, "  the same bits again");
    double *a = numbers(3 * n), *b = numbers(3 * n), *s = normals(9, 3 * n);
    for (int squared = 0; squared < 2; squared++) {
        MUST(epiqp_inverse_times(&there, &got.inverse, squared, squared ? 1 : 3, s, a));
        MUST(epiqp_inverse_times(&host, &want.inverse, squared, squared ? 1 : 3, s, b));
        judge(apart((squared ? 1 : 3) * n, a, b), 1e-8, "  inverse%s times vectors", squared ? ", squared," : "");
    }
    const ptrdiff_t row[3] = {n - 1, n / 3, 0}, col[2] = {n / 2, n / 3};
    MUST(epiqp_inverse_part(&there, &got.inverse, 0, 3, row, 2, col, a));
    MUST(epiqp_inverse_part(&host, &want.inverse, 0, 3, row, 2, col, b));
    off = 0;
    for (int k = 0; k < 6; k++) {
        off = fmax(off, fabs(a[k] - b[k]));
    }
    judge(off / want.diagonal[0], 1e-8, "  parts of the inverse");
    printf("        processor %.3f s, GPU %.3f s\n", host_s, there_s);
    epiqp_ridge_free(c, &want);
    epiqp_ridge_free(c, &got);
    epiqp_ridge_free(c, &again);
    free(a), free(b), free(s);
    problem_end(&p);
}

/* Matrices that only the processor can compute go there in strips; one that is not positive definite has its pivot named. */
static void strips_agree(void)
{
    enum { N = 700 };
    double *x = normals(4, N), *a = numbers(N * N), *b = numbers(N * N);
    epiq_device_matrix *m = NULL;
    ptrdiff_t pivot = 0;
    for (ptrdiff_t k = 0; k < N * N; k++) {
        a[k] = exp(-fabs(x[k % N] - x[k / N])) + (k % N == k / N);
    }
    MUST(gpu->matrix_new(gpu->user, N, &m));
    for (ptrdiff_t j = 0; j < N; j += 128) {
        const ptrdiff_t cols = epiqp_min(128, N - j);
        MUST(gpu->put(gpu->user, m, j, N - j, j, cols, a + j + j * N, N));
    }
    MUST(gpu->factor(gpu->user, m, &pivot));
    judge((double)pivot, 0, "%d rows in strips, positive definite", N);
    MUST(gpu->get(gpu->user, m, 0, N, 0, N, b, N));
    const ptrdiff_t at = host.la->potrf(N, a, N);
    double off = 0;
    for (ptrdiff_t j = 0; j < N; j++) {
        for (ptrdiff_t i = j; i < N; i++) {
            off = fmax(off, fabs(a[i + j * N] - b[i + j * N]));
        }
    }
    judge(off + (double)at, 1e-12, "  its factor");
    for (ptrdiff_t k = 0; k < N * N; k++) {
        b[k] = k % N == k / N ? k % N == 400 ? -1 : 1 : 0;
    }
    MUST(gpu->put(gpu->user, m, 0, N, 0, N, b, N));
    MUST(gpu->factor(gpu->user, m, &pivot));
    judge(fabs((double)pivot - 401), 0, "  the pivot that is not positive");
    gpu->matrix_free(gpu->user, m);
    free(x), free(a), free(b);
}

static void variance_agrees(ptrdiff_t n, ptrdiff_t points, ptrdiff_t depth)
{
    problem p = problem_new(n, 6, points, depth);
    epiqp_env there = host;
    there.device = &p.device;
    epiq_options o = usual_options();
    o.depth = depth;
    epiqp_fit fit;
    MUST(epiqp_fit_new(&host, &o, n, p.d, p.x, p.y, points, p.at, &fit));
    MUST(epiqp_fit_solve(&host, &fit));
    double *got = numbers(points), *again = numbers(points), *want = numbers(points), *at = numbers(points);
    MUST(epiqp_infinite_variance(&host, &fit, fit.ridge.c, want));
    MUST(epiqp_infinite_variance(&there, &fit, fit.ridge.c, got));
    MUST(epiqp_infinite_variance(&there, &fit, fit.ridge.c, again));
    epiqp_kernel_diagonal(&fit.arch, &fit.at, NULL, at);
    double most = 0, rounding = 0;
    for (ptrdiff_t k = 0; k < points; k++) {
        const double off = fabs(got[k] - want[k]);
        most = off / want[k] <= most ? most : off / want[k];
        rounding = fmax(rounding, off / at[k]);
    }
    judge(most, 1e-8, "tau^2 of %td points, %td rows, depth %td", points, n, depth);
    judge(rounding, 1e-12, "  beside the variance before training");
    judge(memcmp(got, again, (size_t)points * sizeof *got) != 0, 0, "  the same bits again");
    epiqp_fit_free(c, &fit);
    free(got), free(again), free(want), free(at);
    problem_end(&p);
}

/* ---- whole estimates ---- */

static const epiq_device *open_gpu(void *user, char *why, size_t room)
{
    (void)user;
    *why = room ? '\0' : *why;
    return gpu;
}

static void estimates_agree(const char *what, ptrdiff_t n, ptrdiff_t d, bool grouped, const char *where, epiq_options o)
{
    double *x = numbers(n * d), *y = numbers(n);
    int64_t *group = malloc((size_t)n * sizeof *group);
    epiq_data *data = NULL;
    epiq_points *at = NULL;
    epiq_result *r[2] = {NULL, NULL};
    double seconds[2];
    MUST(epiq_synth(c, 1, n, d, 3, x, y));
    for (ptrdiff_t i = 0; i < n; i++) {
        group[i] = i / 4;
    }
    o.scale = EPIQ_SCALE_STANDARD;
    MUST(epiq_data_new(c, n, d, x, y, grouped ? group : NULL, &o, &data));
    MUST(epiq_points_new(c, data, &at));
    MUST(where ? epiq_points_add(c, at, where) : epiq_points_add_rows(c, at, 20, x));
    for (int k = 0; k < 2; k++) {
        o.device = k ? EPIQ_DEVICE_GPU : EPIQ_DEVICE_CPU;
        const double start = epiqp_now();
        MUST(epiq_estimate(c, data, at, &o, &r[k]));
        seconds[k] = epiqp_now() - start;
    }
    double most[3] = {0, 0, 0};
    for (ptrdiff_t p = 0; r[0] && r[1] && p < r[0]->point_count; p++) {
        const epiq_point *a = r[1]->points[p], *b = r[0]->points[p];
        const double off[3] = {fabs(a->prediction - b->prediction) / fabs(b->prediction),
                               fabs(a->data.variance / b->data.variance - 1),
                               fabs(a->procedural.variance / b->procedural.variance - 1)};
        for (int k = 0; k < 3; k++) {
            most[k] = off[k] <= most[k] ? most[k] : off[k];
        }
    }
    printf("%s, %td rows, %td features, %td points: processor %.2f s, GPU %.2f s (%s)\n", what, n, d,
           r[0] ? r[0]->point_count : 0, seconds[0], seconds[1], r[1] ? r[1]->backend : "none");
    judge(most[0], 1e-8, "  predictions");
    judge(most[1], 1e-8, "  data variance");
    judge(most[2], 1e-8, "  procedural variance");
    epiq_result_free(c, r[0]);
    epiq_result_free(c, r[1]);
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    free(x), free(y), free(group);
}

static void all_estimates(void)
{
    static const char *const NAMES[] = {"moderated", "rowwise", "unbiased", "jackknife", "none"};
    epiq_options o = usual_options();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.methods = EPIQ_IF | EPIQ_EV;
    for (int k = 0; k < EPIQ_CORRECTIONS; k++) {
        o.correction = k;
        estimates_agree(NAMES[k], 2500, 4, false, NULL, o);
    }
    o.correction = EPIQ_CORRECTION_MODERATED;
    estimates_agree("groups", 1200, 4, true, NULL, o);
    estimates_agree("rows left out", 2000, 6, false, "rows", o);
    o.depth = 3;
    estimates_agree("three layers", 1500, 4, false, NULL, o);
    o.depth = 1;
    o.engine = EPIQ_ENGINE_LINEAR;
    o.width = 256;
    o.members = 10;
    estimates_agree("linearised networks", 2200, 4, false, NULL, o);
}

/* ---- sizes ---- */

/* Too many rows to compare with the processor: A^-1 (A s) = s by the inverse and by solves. */
static void large(ptrdiff_t n)
{
    enum { SOLVES = 64 };
    const double need = epiqp_gmat_bytes(n), have = gpu->bytes_free(gpu->user);
    if (need > 0.94 * have) {
        printf("        %td rows: left out, %.1f GB needed and %.1f free\n", n, need / 1e9, have / 1e9);
        return;
    }
    problem p = problem_new(n, 13, 1, 1);
    const epiq_device_kernel k = epiqp_kernel_described(&p.arch, &p.rows);
    epiq_device_matrix *m = NULL;
    double *s = normals(11, n), *as = numbers(n * SOLVES), *back = numbers(n), *diagonal = numbers(n);
    ptrdiff_t pivot = 0;
    double t[6];
    t[0] = epiqp_now();
    MUST(gpu->matrix_new(gpu->user, n, &m));
    MUST(gpu->fill(gpu->user, m, &k, 0));
    MUST(gpu->diagonal(gpu->user, m, 1e-3 * (double)n, diagonal));
    t[1] = epiqp_now();
    MUST(gpu->times(gpu->user, m, 0, 1, s, as));
    for (int j = 1; j < SOLVES; j++) {
        memcpy(as + j * n, as, (size_t)n * sizeof *as);
    }
    memcpy(back, as, (size_t)n * sizeof *as);
    t[2] = epiqp_now();
    MUST(gpu->factor(gpu->user, m, &pivot));
    t[3] = epiqp_now();
    MUST(gpu->solve(gpu->user, m, SOLVES, as));
    t[4] = epiqp_now();
    MUST(gpu->invert(gpu->user, m));
    t[5] = epiqp_now();
    double *product = numbers(n);
    MUST(gpu->times(gpu->user, m, 0, 1, back, product));
    printf("        %td rows: kernel %.3f s, factor %.3f s (%.1f TFLOP/s), %d solves %.3f s, inverse %.3f s\n", n,
           t[1] - t[0], t[3] - t[2], (double)n * (double)n * (double)n / 3 / (t[3] - t[2]) / 1e12, (int)SOLVES,
           t[4] - t[3], t[5] - t[4]);
    judge(apart(n, as + (SOLVES - 1) * n, s) + (double)pivot, 1e-8, "%td rows: solves", n);
    judge(apart(n, product, s), 1e-8, "%td rows: inverse", n);
    gpu->matrix_free(gpu->user, m);
    free(s), free(as), free(back), free(product), free(diagonal);
    problem_end(&p);
}

/* ---- training ---- */

/* Places, in numbers, of what the programs of one network work with: the same here and on the GPU. */
enum { VECTORS = 3, TERMS = 3 };
typedef struct {
    ptrdiff_t p, n, d, at, start, grad, normal, pulls, x, y, u, floats, mixed, numbers;
} places;

static places places_of(const epiqp_net *net, ptrdiff_t n)
{
    places s = {.p = epiqp_net_params(net), .n = n, .d = net->d};
    s.start = s.at + s.p;
    s.grad = s.start + s.p;
    s.normal = s.grad + s.p;
    s.pulls = s.normal + s.p;
    s.mixed = s.pulls + VECTORS * s.p;
    s.x = s.mixed + s.p;
    s.y = s.x + n * net->d;
    s.u = s.y + n;
    s.floats = s.u + VECTORS * n;
    s.numbers = s.floats + (TERMS + 1) * s.p;
    return s;
}

enum { STEPS = 9 };
/* A program with every kind of step, with the numbers at `base`. own: 4 + TERMS + n. */
static void program_of(const places *s, const epiqp_net *net, double *base, bool single, double *own,
                       epiq_device_term *terms, epiq_device_do *list, epiq_device_program *out)
{
    float *v = (void *)(base + s->floats);
    for (int j = 0; j < TERMS; j++) {
        terms[j] = (epiq_device_term){base + (j % 2 ? s->at : s->start), 0, 0.3 - j};
        terms[TERMS + j] = (epiq_device_term){v + j * s->p, 1, 0.5 / (j + 1)};
    }
    const epiq_device_do steps[STEPS] = {
        {EPIQ_DEVICE_COMBINE, 1, v, .count = 1, .terms = &terms[0]},
        {EPIQ_DEVICE_COMBINE, 1, v + s->p, .count = 2, .terms = terms},
        {EPIQ_DEVICE_COMBINE, 1, v + 2 * s->p, .count = 1, .terms = terms + 1},
        {EPIQ_DEVICE_LOSS, single, base + s->grad, base + s->at, base + s->start, 1e-3, s->n, base + s->x, base + s->y,
         .own = own},
        {EPIQ_DEVICE_NORMAL, single, base + s->normal, base + s->at, .n = s->n, .x = base + s->x, .count = 1,
         .terms = terms + TERMS},
        {EPIQ_DEVICE_PULLS, single, base + s->pulls, base + s->at, .n = s->n, .x = base + s->x, .y = base + s->u,
         .count = VECTORS},
        {EPIQ_DEVICE_COMBINE, 0, base + s->mixed, .count = TERMS + 1, .terms = terms + TERMS - 1},
        {EPIQ_DEVICE_PRODUCTS, .at = base + s->grad, .count = TERMS, .terms = terms + TERMS, .own = own + 4},
        {EPIQ_DEVICE_FORWARD, .at = base + s->at, .n = s->n, .x = base + s->x, .own = own + 4 + TERMS}};
    memcpy(list, steps, sizeof steps);
    *out = (epiq_device_program){net->d, net->width, net->depth, net->beta, STEPS, list};
}

static int transfer(void *there, ptrdiff_t count, double *own, bool back)
{
    const epiq_device_do step = {back ? EPIQ_DEVICE_FETCH : EPIQ_DEVICE_PUT, .to = there, .at = there, .count = count,
                                 .own = own};
    const epiq_device_program program = {1, 1, 1, 0, 1, &step};
    return gpu->run(gpu->user, 1, &program);
}

/* Every kind of step of three networks, one alone and then all at once. */
static void programs_agree(ptrdiff_t n, ptrdiff_t d, ptrdiff_t width, ptrdiff_t depth, bool single)
{
    enum { NETWORKS = 3 };
    const epiqp_net net = {d, width, depth, 1, 1};
    const places s = places_of(&net, n);
    const ptrdiff_t numbers_of = 4 + TERMS + n;
    double *want = numbers(s.numbers), *got = numbers(s.numbers), *again = numbers(s.numbers),
           *own = numbers((2 + NETWORKS) * numbers_of);
    epiq_device_term terms[NETWORKS][2 * TERMS];
    epiq_device_do lists[NETWORKS][STEPS];
    epiq_device_program programs[NETWORKS];
    void *there[NETWORKS] = {0};
    for (int k = 0; k < NETWORKS; k++) {
        MUST(gpu->memory_new(gpu->user, (double)s.numbers * sizeof(double), &there[k]));
    }
    for (int k = NETWORKS - 1; k >= 0; k--) { /* the first one's stay in want */
        epiqp_normals((epiqp_stream){18, (uint64_t)k, 0}, s.numbers, want);
        MUST(transfer(there[k], s.numbers, want, false));
    }
    if (failed) return;
    program_of(&s, &net, want, single, own, terms[0], lists[0], &programs[0]);
    fake_run(NULL, 1, programs);
    program_of(&s, &net, there[0], single, own + numbers_of, terms[0], lists[0], &programs[0]);
    MUST(gpu->run(gpu->user, 1, programs));
    MUST(transfer(there[0], s.numbers, got, true));
    for (int k = 0; k < NETWORKS; k++) {
        program_of(&s, &net, there[k], single, own + (2 + k) * numbers_of, terms[k], lists[k], &programs[k]);
    }
    MUST(gpu->run(gpu->user, NETWORKS, programs));
    MUST(transfer(there[0], s.numbers, again, true));
    const double near = single ? 3e-5 : 1e-11;
    /* In millions of units over rows some are so near their kink that rounding to single precision decides: with it a
     * row is in a weight's gradient or is not. At 4000 rows, width 512 and depth 3, J'u of the processor in single
     * precision is 7e-4 from that in double, and in double weights moved by 1e-6 of themselves move it by 1.7e-3. */
    const bool kinks = single && (double)(n * width * depth) > 2e6 && depth > 1;
    double (*const far)(ptrdiff_t, const double *, const double *) = kinks ? apart_in_norm : apart;
    const double near_gradient = kinks ? 5e-3 : near;
    char what[100];
    snprintf(what, sizeof what, "%td rows, %td features, width %td, depth %td, %s", n, d, width, depth,
             single ? "single" : "double");
    judge(far(s.p, got + s.grad, want + s.grad), near_gradient, "gradient, %s", what);
    judge(far(s.p, got + s.normal, want + s.normal), near_gradient, "J'J v, %s", what);
    judge(far(VECTORS * s.p, got + s.pulls, want + s.pulls), near_gradient, "J'U, %s", what);
    judge(apart(s.p, got + s.mixed, want + s.mixed), 1e-6, "combined, %s", what);
    judge(apart(4, own + numbers_of, own), near, "loss, %s", what);
    judge(apart(TERMS, own + numbers_of + 4, own + 4), near, "products, %s", what);
    judge(apart(n, own + numbers_of + 4 + TERMS, own + 4 + TERMS), 1e-11, "outputs, %s", what);
    judge(memcmp(got, again, (size_t)s.numbers * sizeof *got) != 0 ||
              memcmp(own + numbers_of, own + 2 * numbers_of, (size_t)numbers_of * sizeof *own) != 0,
          0, "the same bits beside others, %s", what);
    for (int k = 0; k < NETWORKS; k++) {
        gpu->memory_free(gpu->user, there[k]);
    }
    free(want);
    free(got);
    free(again);
    free(own);
}

/* The table, with the time of its programs summed. */
static struct {
    epiq_device table;
    int (*run)(void *user, ptrdiff_t count, const epiq_device_program *programs);
    double seconds;
    ptrdiff_t runs, programs;
} timed;

static int run_timed(void *user, ptrdiff_t count, const epiq_device_program *programs)
{
    const double start = epiqp_now();
    int status = timed.run(user, count, programs);
    timed.seconds += epiqp_now() - start; /* the library runs one at a time */
    timed.runs++;
    timed.programs += count;
    return status;
}

static void time_programs(void)
{
    timed.table = *gpu;
    timed.run = gpu->run;
    timed.table.run = run_timed;
    gpu = &timed.table;
}

/* The same networks trained here and there: how far the ensemble's means, variances and losses are apart. */
static void ensembles_agree(ptrdiff_t n, ptrdiff_t d, ptrdiff_t width, ptrdiff_t depth, ptrdiff_t members, bool both)
{
    enum { POINTS = 20 };
    double *x = numbers(n * d), *y = numbers(n), *at = normals(3, POINTS * d), seconds[2] = {0};
    epiq_options o = usual_options();
    epiq_data *data = NULL;
    epiq_points *points = NULL;
    epiq_result *r[3] = {0};
    o.methods = EPIQ_EV;
    o.width = width;
    o.depth = depth;
    o.members = members;
    o.fold_members = 0;
    o.lambda = 1e-3;
    o.threads = 0;
    MUST(epiq_synth(c, 1, n, d, 5, x, y));
    for (ptrdiff_t k = 0; k < POINTS * d; k++) {
        at[k] = x[k % (n * d)];
    }
    MUST(epiq_data_new(c, n, d, x, y, NULL, &o, &data));
    MUST(epiq_points_new(c, data, &points));
    MUST(epiq_points_add_rows(c, points, POINTS, at));
    timed.seconds = 0;
    timed.runs = timed.programs = 0;
    for (int k = 0; k < 3; k++) { /* there, again, here */
        o.device = k < 2 ? EPIQ_DEVICE_GPU : EPIQ_DEVICE_CPU;
        if (k == 2 && !both) break;
        const double start = epiqp_now();
        MUST(epiq_estimate(c, data, points, &o, &r[k]));
        if (k != 1) seconds[k / 2] = epiqp_now() - start;
        if (k == 1) seconds[0] = fmin(seconds[0], epiqp_now() - start);
    }
    printf(
        "        %td networks, %td rows, %td features, width %td, depth %td: %.3f s on the GPU, %.3f here; twice %td "
        "runs of %.0f networks, %.3f s; ",
        members, n, d, width, depth, seconds[0], seconds[1], timed.runs / 2,
        (double)timed.programs / (double)timed.runs, timed.seconds / 2);
    if (r[0]) {
        printf("%td converged, %td gradients, largest loss %.5g\n", r[0]->training->converged,
               r[0]->training->iterations_median, r[0]->training->loss_max);
    }
    bool same = r[0] && r[1];
    double mean = 0, variance = 0;
    for (ptrdiff_t p = 0; same && p < r[0]->point_count; p++) {
        const epiq_point *a = r[0]->points[p], *b = r[1]->points[p];
        same = a->prediction == b->prediction && a->procedural.variance == b->procedural.variance;
        if (!r[2]) continue;
        b = r[2]->points[p];
        mean = fmax(mean, fabs(a->prediction - b->prediction) / sqrt(b->procedural.variance / (double)members));
        variance += log(a->procedural.variance / b->procedural.variance) / POINTS;
    }
    judge(!same, 0, "the same bits again, %td networks of depth %td", members, depth);
    if (r[0] && r[2]) {
        /* networks of several layers are chaotic: of 20 one may end in another minimum, 0.3 to 1 % apart */
        judge(fabs(r[0]->training->loss_max / r[2]->training->loss_max - 1), depth > 1 ? 2e-2 : 1e-3, "largest loss");
        judge(mean, 1, "means at 20 points, over their standard error");
        judge(fabs(variance), 0.1, "variances, mean logarithm of their ratio");
    }
    for (int k = 0; k < 3; k++) {
        epiq_result_free(c, r[k]);
    }
    epiq_points_free(c, points);
    epiq_data_free(c, data);
    free(x);
    free(y);
    free(at);
}

/* ---- how fast programs are ---- */

/* Seconds of one step for so many networks, TURNS times in one list. */
static double step_seconds(const epiqp_net *net, ptrdiff_t networks, const epiq_device_do *steps)
{
    enum { TURNS = 20 };
    epiq_device_do *lists = malloc((size_t)networks * TURNS * sizeof *lists);
    epiq_device_program *programs = malloc((size_t)networks * sizeof *programs);
    for (ptrdiff_t k = 0; k < networks; k++) {
        for (int t = 0; t < TURNS; t++) {
            lists[k * TURNS + t] = steps[k];
        }
        programs[k] = (epiq_device_program){net->d, net->width, net->depth, net->beta, TURNS, lists + k * TURNS};
    }
    double least = INFINITY;
    for (int again = 0; again < 3; again++) {
        const double start = epiqp_now();
        MUST(gpu->run(gpu->user, networks, programs));
        least = fmin(least, (epiqp_now() - start) / TURNS);
    }
    free(lists);
    free(programs);
    return least;
}

/* Operations and bytes per second of the steps that training is made of. */
static void rates(ptrdiff_t networks, ptrdiff_t n, ptrdiff_t d, ptrdiff_t width, ptrdiff_t depth)
{
    enum { LEADS = 12, KINDS = 8 };
    const epiqp_net net = {d, width, depth, 1, 1};
    const ptrdiff_t p = epiqp_net_params(&net), few = epiqp_min(n, EPIQP_LEFT_ROWS), most = LEADS + 8;
    const double each = (double)(most * p) * sizeof(double);
    double *x = normals(1, n * d), *y = normals(2, n * LEADS), *start = normals(3, p);
    void *rows = NULL, *targets = NULL, *memory = NULL;
    MUST(gpu->memory_new(gpu->user, (double)(n * d) * sizeof *x, &rows));
    MUST(gpu->memory_new(gpu->user, (double)(n * LEADS) * sizeof *x, &targets));
    MUST(gpu->memory_new(gpu->user, each * (double)networks, &memory));
    MUST(transfer(rows, n * d, x, false));
    MUST(transfer(targets, n * LEADS, y, false));
    epiq_device_do *steps = malloc((size_t)(KINDS * networks) * sizeof *steps);
    epiq_device_term *terms = malloc((size_t)(networks * (LEADS + 3)) * sizeof *terms);
    double *own = numbers(networks * (LEADS + 4));
    for (ptrdiff_t k = 0; k < networks && !failed; k++) {
        double *at = (double *)memory + k * most * p, *from = at + p, *grad = from + p, *image = grad + 2 * p;
        float *v = (void *)(image + LEADS * p);
        MUST(transfer(at, p, start, false));
        MUST(transfer(from, p, start, false));
        epiq_device_term *own_terms = terms + k * (LEADS + 3), *two = own_terms + LEADS;
        for (int j = 0; j < LEADS; j++) {
            own_terms[j] = (epiq_device_term){v, 1, 0.1};
        }
        two[0] = (epiq_device_term){at, 0, 1};
        two[1] = (epiq_device_term){grad, 0, -0.1};
        const epiq_device_do set[KINDS] = {
            {EPIQ_DEVICE_COMBINE, 1, v, .count = 1, .terms = two},
            {EPIQ_DEVICE_LOSS, 1, grad, at, from, 1e-3, n, rows, targets, .own = own + k * (LEADS + 4)},
            {EPIQ_DEVICE_LOSS, 0, grad, at, from, 1e-3, n, rows, targets, .own = own + k * (LEADS + 4)},
            {EPIQ_DEVICE_NORMAL, 1, grad + p, at, .n = n, .x = rows, .count = 1, .terms = own_terms},
            {EPIQ_DEVICE_PULLS, 1, image, at, .n = few, .x = rows, .y = targets, .count = LEADS},
            {EPIQ_DEVICE_SLOW, 0, grad, .count = LEADS, .terms = own_terms},
            {EPIQ_DEVICE_PRODUCTS, .at = grad, .count = LEADS, .terms = own_terms, .own = own + k * (LEADS + 4)},
            {EPIQ_DEVICE_COMBINE, 0, grad + p, .count = 2, .terms = two}};
        for (int j = 0; j < KINDS; j++) {
            steps[j * networks + k] = set[j];
        }
    }
    const double w = (double)width, deeper = (double)(depth - 1), m = (double)networks;
    const double loss = m * w * (4 * (double)(d + 1) + 6 + 6 * deeper * w);
    const double flops[KINDS] = {
        0, loss * (double)n, loss * (double)n, 1.6 * loss * (double)n, loss * (double)few * (1 + 2 * LEADS) / 3, 0, 0,
        0};
    const double bytes[KINDS] = {
        0, 0, 0, 0, 0, m * (double)p * (8 * LEADS + 24), m * (double)p * (4 * LEADS + 8), m * (double)p * 24};
    static const char *const NAMES[KINDS] = {"",          "gradient, single", "gradient, double", "J'J v, single",
                                             "J'U of 12", "12 slowed down",   "12 products",      "sum of 2"};
    printf("        %td networks, %td rows, %td features, width %td, depth %td:\n", networks, n, d, width, depth);
    for (int j = 0; j < KINDS && !failed; j++) {
        const double s = step_seconds(&net, networks, steps + j * networks);
        if (j) printf("            %-18s %10.1f us", NAMES[j], 1e6 * s);
        if (flops[j] > 0) printf("  %6.2f TFLOP/s", flops[j] / s / 1e12);
        if (bytes[j] > 0) printf("  %6.0f GB/s", bytes[j] / s / 1e9);
        if (j) printf("\n");
    }
    gpu->memory_free(gpu->user, rows);
    gpu->memory_free(gpu->user, targets);
    gpu->memory_free(gpu->user, memory);
    free(x), free(y), free(start), free(steps), free(terms), free(own);
}

static void all_rates(void)
{
    rates(50, 506, 13, 1024, 1);
    rates(128, 506, 13, 1024, 1);
    rates(10, 10000, 10, 1024, 3);
    rates(4, 1000000, 10, 1024, 1);
    rates(20, 1000000, 10, 64, 1);
}

static void training_agrees(bool ensembles)
{
    for (int single = 0; single < 2; single++) {
        programs_agree(300, 3, 50, 1, single);
        programs_agree(506, 13, 1024, 1, single);
        programs_agree(20000, 7, 100, 1, single);
        programs_agree(70, 25, 33, 1, single);
        programs_agree(300, 70, 64, 1, single);
        programs_agree(500, 5, 128, 3, single);
        programs_agree(9000, 5, 64, 2, single);
        programs_agree(4000, 10, 512, 3, single);
    }
    if (!ensembles) return;
    ensembles_agree(506, 13, 1024, 1, 50, true);
    ensembles_agree(300, 4, 128, 2, 20, true);
    ensembles_agree(200, 60, 64, 1, 20, true);
    ensembles_agree(506, 13, 1024, 1, 1000, false);
}

static void kernels_and_matrices(void)
{
    kernels_agree(700, 5, 1, 1, 1);
    kernels_agree(700, 70, 1, 1, 0);
    kernels_agree(300, 3, 1, 0, 0);
    kernels_agree(700, 13, 2, 1, 1);
    kernels_agree(500, 1, 5, 0.5, 2);
    strips_agree();
    for (int k = 0; k < 7; k++) {
        static const ptrdiff_t SIZES[] = {2, 63, 65, 500, 1025, 2500, 6000};
        ridge_agrees(SIZES[k], 1 + k % 2);
    }
    variance_agrees(1500, 300, 1);
    variance_agrees(900, 2100, 3);
    all_estimates();
}

int main(int argc, char **argv)
{
    char why[512] = "";
    const char *better = epiq_machine_describe().better_core; /* as the command does, for fair times */
    if (better && !getenv("OPENBLAS_CORETYPE") && setenv("OPENBLAS_CORETYPE", better, 1) == 0) {
        execv("/proc/self/exe", argv);
    }
    if (argc < 2) {
        fprintf(stderr, "usage: gpu_agrees libepiq_cuda.so [most rows]\n");
        return 2;
    }
    const ptrdiff_t most = argc > 2 ? atol(argv[2]) : 50000;
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    void *begin = dlsym(library, "epiq_cuda_begin");
    epiq_cuda_begin_fn begin_cuda = NULL;
    memcpy(&begin_cuda, &begin, sizeof begin);
    double start = epiqp_now();
    gpu = begin_cuda ? begin_cuda(EPIQ_VERSION, why, sizeof why) : NULL;
    if (!gpu) {
        fprintf(stderr, "no GPU: %s\n", why);
        return 77;
    }
    printf("%s, %.1f GB, %.1f free, compute capability %d.%d; started in %.2f s; %d threads\n", gpu->model,
           gpu->bytes / 1e9, gpu->bytes_free(gpu->user) / 1e9, gpu->capability / 10, gpu->capability % 10,
           epiqp_now() - start, omp_get_max_threads());
    if (epiq_ctx_new(&c) < 0) return 2;
    epiq_options o = usual_options();
    host = epiqp_run_begin(c, &o);
    epiq_ctx_on_device(c, open_gpu, NULL);
    time_programs();
    training_agrees(most >= 0);
    if (most >= 0) all_rates();
    if (most > 0) kernels_and_matrices();
    for (ptrdiff_t n = 10000; n <= most; n = n < 20000 ? 20000 : n < 50000 ? 50000 : 2 * n) {
        large(n);
    }
    epiqp_run_end();
    epiq_ctx_free(c);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
