/* times.c - how long the GPU takes: for large matrices, and for the steps that training is made of. */
#include "gpu/agree.h"

/* ---- sizes ---- */

/* Too many rows to compare with the processor: A^-1 (A s) = s by the inverse and by solves. */
void large(ptrdiff_t n)
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
    enum { LEADS = 12, KINDS = 9 };
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
            {EPIQ_DEVICE_LOSS, EPIQ_DEVICE_ROUGH, grad, at, from, 1e-3, n, rows, targets, .own = own + k * (LEADS + 4)},
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
    const double flops[KINDS] = {0,
                                 loss * (double)n,
                                 loss * (double)n,
                                 loss * (double)n,
                                 1.6 * loss * (double)n,
                                 loss * (double)few * (1 + 2 * LEADS) / 3,
                                 0,
                                 0,
                                 0};
    const double bytes[KINDS] = {
        0, 0, 0, 0, 0, 0, m * (double)p * (8 * LEADS + 24), m * (double)p * (4 * LEADS + 8), m * (double)p * 24};
    static const char *const NAMES[KINDS] = {
        "",          "gradient, single", "gradient, double", "gradient, rough", "J'J v, single",
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

void all_rates(void)
{
    rates(50, 506, 13, 1024, 1);
    rates(128, 506, 13, 1024, 1);
    rates(10, 10000, 10, 1024, 3);
    rates(4, 1000000, 10, 1024, 1);
    rates(20, 1000000, 10, 64, 1);
}
