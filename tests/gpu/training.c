/* training.c - the programs by which networks are trained, step by step, and whole ensembles, on the GPU and on the processor. */
#include "fake_device.h"
#include "gpu/agree.h"

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
static void program_of(const places *s, const epiqp_net *net, double *base, int single, double *own,
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

/* Every kind of step of three networks, one alone and then all at once. */
static void programs_agree(ptrdiff_t n, ptrdiff_t d, ptrdiff_t width, ptrdiff_t depth, int single)
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
    const bool rough = single == EPIQ_DEVICE_ROUGH;
    const double near = rough ? 2e-3 : single ? 3e-5 : 1e-11; /* 11 bits: 2.4e-4 for each factor of three layers */
    /* In millions of units over rows some are so near their kink that rounding to single precision decides: with it a
     * row is in a weight's gradient or is not. At 4000 rows, width 512 and depth 3, J'u of the processor in single
     * precision is 7e-4 from that in double, and in double weights moved by 1e-6 of themselves move it by 1.7e-3. */
    const bool kinks = rough || (single && (double)(n * width * depth) > 2e6 && depth > 1);
    double (*const far)(ptrdiff_t, const double *, const double *) = kinks ? apart_in_norm : apart;
    /* 11 bits put one unit in 10,000 on the other side of its kink, whose share in a norm is the root of that */
    const double near_gradient = rough ? 3e-2 : kinks ? 5e-3 : near;
    char what[100];
    snprintf(what, sizeof what, "%td rows, %td features, width %td, depth %td, %s", n, d, width, depth,
             rough    ? "rough"
             : single ? "single"
                      : "double");
    judge(far(s.p, got + s.grad, want + s.grad), near_gradient, "gradient, %s", what);
    judge(far(s.p, got + s.normal, want + s.normal), near_gradient, "J'J v, %s", what);
    judge(far(VECTORS * s.p, got + s.pulls, want + s.pulls), near_gradient, "J'U, %s", what);
    judge(apart(s.p, got + s.mixed, want + s.mixed), 1e-6, "combined, %s", what);
    judge(apart(4, own + numbers_of, own), near, "loss, %s", what);
    judge(apart(TERMS, own + numbers_of + 4, own + 4), rough ? near_gradient : near, "products, %s", what);
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
        /* twins of one layer end together; those of several may part, and means of strangers are 1.4 apart at a typical point */
        judge(mean, depth > 1 ? 2 : 1, "means at 20 points, over their standard error");
        /* likewise: two variances of 200 strangers are 0.14 apart in logarithm at a point */
        judge(fabs(variance), depth > 1 ? 0.3 : 0.1, "variances, mean logarithm of their ratio");
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

void training_agrees(bool ensembles)
{
    /* the last one goes in two chunks in single precision, the second a row shorter and divided among more threads */
    static const struct {
        ptrdiff_t n, d, width, depth;
    } SHAPES[] = {{300, 3, 50, 1},  {506, 13, 1024, 1}, {20000, 7, 100, 1}, {70, 25, 33, 1},    {300, 70, 64, 1},
                  {500, 5, 128, 3}, {9000, 5, 64, 2},   {4000, 10, 512, 3}, {16257, 5, 1024, 2}};
    const ptrdiff_t most = ensembles ? PTRDIFF_MAX : 200000; /* units over rows that a sanitizer goes through in time */
    for (int single = 0; single <= EPIQ_DEVICE_ROUGH; single++) {
        for (size_t k = 0; k < sizeof SHAPES / sizeof *SHAPES; k++) {
            const ptrdiff_t n = SHAPES[k].n, width = SHAPES[k].width, depth = SHAPES[k].depth;
            if (single == EPIQ_DEVICE_ROUGH && depth == 1) continue;
            if (n * width * depth <= most) programs_agree(n, SHAPES[k].d, width, depth, single);
        }
    }
    if (!ensembles) return;
    ensembles_agree(506, 13, 1024, 1, 50, true);
    ensembles_agree(300, 4, 128, 2, 200, true);
    ensembles_agree(200, 60, 64, 1, 20, true);
    ensembles_agree(506, 13, 1024, 1, 1000, false);
}
