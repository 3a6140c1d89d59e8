/* matrices.c - kernels to 1e-12; factors, solves, inverses, variances and whole estimates from them to 1e-8; the same bits again. */
#include "gpu/agree.h"

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

/* The sum of two networks' kernels, between rows and with points. */
static void empirical_agrees(ptrdiff_t n, ptrdiff_t d, ptrdiff_t width, ptrdiff_t depth, ptrdiff_t points)
{
    enum { NETWORKS = 2 };
    const epiqp_net net = {d, width, depth, 0.7, 1};
    problem p = problem_new(n, d, points, depth);
    double *theta = numbers(epiqp_net_params(&net)), *want = calloc((size_t)(n * n), sizeof *want),
           *one = numbers(n * n), *got[2] = {numbers(n * n), numbers(n * n)},
           *want0 = calloc((size_t)(n * points), sizeof *want0),
           *got0[2] = {calloc((size_t)(n * points), sizeof *want0), calloc((size_t)(n * points), sizeof *want0)};
    epiq_device_matrix *m = NULL;
    MUST(gpu->matrix_new(gpu->user, n, &m));
    for (int again = 0; again < 2; again++) {
        for (int k = 0; k < NETWORKS; k++) {
            epiqp_net_init(&net, (epiqp_stream){17, 5, (uint64_t)k}, theta);
            const epiq_device_network there = {d, width, depth, net.beta, theta, n, points, p.x, p.at};
            MUST(gpu->empirical(gpu->user, m, &there, 1.0 / NETWORKS, k == 0, got0[again]));
            epiqp_features rows = {0}, at = {0};
            if (again) continue;
            MUST(epiqp_features_new(&host, &net, theta, n, p.x, &rows));
            MUST(epiqp_features_new(&host, &net, theta, points, p.at, &at));
            epiqp_empirical_block(host.la, &rows, 0, n, &rows, 0, n, one, n);
            epiqp_axpy(n * n, 1.0 / NETWORKS, one, want);
            epiqp_empirical_block(host.la, &rows, 0, n, &at, 0, points, one, n);
            epiqp_axpy(n * points, 1.0 / NETWORKS, one, want0);
            epiqp_features_free(c, &rows);
            epiqp_features_free(c, &at);
        }
        MUST(gpu->get(gpu->user, m, 0, n, 0, n, got[again], n));
    }
    for (ptrdiff_t k = 0; k < n * n; k++) { /* above the diagonal there is nothing */
        if (k % n < k / n) got[0][k] = got[1][k] = want[k];
    }
    judge(apart(n * n, got[0], want), 1e-12, "empirical kernel, %td rows, %td features, width %td, depth %td", n, d,
          width, depth);
    judge(apart(n * points, got0[0], want0), 1e-12, "  with %td points", points);
    judge(memcmp(got[0], got[1], (size_t)(n * n) * sizeof *one) ||
              memcmp(got0[0], got0[1], (size_t)(n * points) * sizeof *one),
          0, "  the same bits again");
    gpu->matrix_free(gpu->user, m);
    free(theta), free(want), free(one), free(got[0]), free(got[1]), free(want0), free(got0[0]), free(got0[1]);
    problem_end(&p);
}

/* ---- whole estimates ---- */

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
    o.kernel = EPIQ_KERNEL_EMPIRICAL;
    o.hbar = EPIQ_HBAR_KERNEL;
    estimates_agree("empirical kernels", 2200, 4, false, NULL, o);
}

void kernels_and_matrices(void)
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
    empirical_agrees(700, 5, 64, 1, 600);
    empirical_agrees(900, 40, 100, 3, 7);
    empirical_agrees(300, 3, 33, 2, 1);
    all_estimates();
}

void matrices_once(void)
{
    kernels_agree(100, 5, 2, 1, 1);
    strips_agree();
    ridge_agrees(300, 1);
    variance_agrees(200, 50, 1);
    empirical_agrees(100, 5, 33, 2, 7);
}
