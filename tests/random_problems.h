/* random_problems.h - random problems and what must hold of each. A problem is a few numbers from which everything else follows:
 *
 *     TEST(shifting_the_target_shifts_predictions) { try_problems(shifts, KERNEL, 40); }
 *
 * draws 40 problems (CASES says otherwise) from SEED on, by default 1; case k is the first case of seed SEED + k. shifts()
 * gives NULL where it holds, or a sentence. A problem it does not hold for is made smaller as long as it still does not: fewer
 * rows, fewer features, one option after the other back to its default. The smallest is printed, with how to have it again.
 */
#ifndef RANDOM_PROBLEMS_H
#define RANDOM_PROBLEMS_H

#include "epiq_options.h"
#include "one_estimate.h"
#include "rng/rng.h"
#include "usual.h"

#include <stdbool.h>
#include <stdlib.h>

enum { MOST_ROWS = 120, MOST_FEATURES = 6, POINTS = 3 };

typedef struct {
    uint64_t seed;
    ptrdiff_t n, d;
    epiq_options o;
} problem;

typedef const char *property(const problem *p);

/* What a property can be asked about: engines whose answers follow from kernels alone, or any */
typedef enum { KERNEL, ANY_ENGINE, MANY_ROWS } kind;

static double draw_x[MOST_ROWS * MOST_FEATURES], draw_y[MOST_ROWS], draw_at[POINTS * MOST_FEATURES];
static char property_sentence[512]; /* what did not hold */

/* A purpose of its own for every kind of number, none of them the library's */
enum { FOR_ROW = 1000, FOR_TARGET, FOR_POINT, FOR_PROBLEM };

/* Row i and its target depend on seed, i and the feature alone: a smaller problem has the larger one's first ones. */
static void draw_rows(const problem *p)
{
    double z[MOST_FEATURES], e;
    for (ptrdiff_t i = 0; i < p->n; i++) {
        epiqp_normals((epiqp_stream){p->seed, FOR_ROW, (uint64_t)i}, MOST_FEATURES, z);
        epiqp_normals((epiqp_stream){p->seed, FOR_TARGET, (uint64_t)i}, 1, &e);
        bool again = i > 0 && e > 1.5; /* some rows repeat the one before them */
        for (ptrdiff_t f = 0; f < p->d; f++) {
            draw_x[i * p->d + f] = again ? draw_x[(i - 1) * p->d + f] : (double)(f + 1) * z[f];
        }
        draw_y[i] = sin(draw_x[i * p->d]) + draw_x[i * p->d + p->d - 1] / 2 + e / 3 + 1;
    }
    for (ptrdiff_t k = 0; k < POINTS; k++) {
        epiqp_normals((epiqp_stream){p->seed, FOR_POINT, (uint64_t)k}, MOST_FEATURES, z);
        for (ptrdiff_t f = 0; f < p->d; f++) {
            draw_at[k * p->d + f] = k ? (double)(f + 1) * z[f] : draw_x[f]; /* the first is a row */
        }
    }
}

/* The estimate of p with its own rows, or others of the same shape. */
static int ask_with(const problem *p, const double *x, const double *y, const double *at_x, const epiq_options *o)
{
    return run(p->n, p->d, x ? x : draw_x, y ? y : draw_y, NULL, POINTS, at_x ? at_x : draw_at, o);
}

/* ---- drawing ---- */

static ptrdiff_t pick(double u, ptrdiff_t count)
{
    return epiqp_min((ptrdiff_t)(u * (double)count), count - 1);
}

static problem draw_problem(uint64_t seed, kind k)
{
    static const int METHODS[] = {EPIQ_IF | EPIQ_EV, EPIQ_IF | EPIQ_EV | EPIQ_BA, EPIQ_IF, EPIQ_EV | EPIQ_BA,
                                  EPIQ_IF | EPIQ_BA};
    static const double BIASES[] = {1, 0, 0.5, 2}, SPREADS[] = {1, 0.5, 2}, LEVELS[] = {0.8, 0.95, 0.5};
    double u[16];
    epiqp_uniforms((epiqp_stream){seed, FOR_PROBLEM, 0}, 16, u);
    problem p = {.seed = seed, .o = usual_options()};
    p.n = k == MANY_ROWS ? 70 + pick(u[0], 50) : 6 + pick(u[0], 30);
    p.d = 1 + pick(u[1], MOST_FEATURES);
    epiq_options *o = &p.o;
    o->lambda = pow(10, -4 + 4 * u[2]); /* K is of the order of 10 and its condition number at most 1e6 or so */
    o->depth = 1 + pick(u[3], 3);
    o->bias = BIASES[pick(u[4], 4)];
    o->bias_sd = SPREADS[pick(u[5], 3)];
    o->correction = (int)pick(u[6], EPIQ_CORRECTIONS);
    o->scale = (int)pick(u[7], 3);
    o->level = LEVELS[pick(u[8], 3)];
    o->width = 1 + pick(u[9], 6);
    o->members = 2 + pick(u[10], 4);
    o->fold_members = pick(u[13] * 4 - floor(u[13] * 4), 3);
    o->batches = 2 + pick(u[11], 2);
    o->ensemble_size = pick(u[12], 2) ? 0 : 1 + pick(u[12] * 2, 9);
    o->influential = pick(u[13], 4);
    o->threads = 1;
    o->seed = seed % 1000;
    o->engine = EPIQ_ENGINE_INFINITE;
    if (k == ANY_ENGINE) {
        o->methods = METHODS[pick(u[14], 5)];
        o->engine = (int)pick(u[15], 3);
        o->linear_kernel = o->engine == EPIQ_ENGINE_LINEAR && u[15] * 3 - 1 > 0.7;
        o->kernel = u[6] * EPIQ_CORRECTIONS - floor(u[6] * EPIQ_CORRECTIONS) > 0.8;
        o->steps = o->engine == EPIQ_ENGINE_NETWORK ? 3000 : 0;
    }
    return p;
}

/* ---- shrinking ---- */

/* The k-th way to make it smaller: rows, features, then options one by one; false: there are no more. */
static bool smaller(const problem *from, int k, problem *to)
{
    enum { SIZES = 5 };
    const ptrdiff_t n[SIZES] = {from->n / 2, from->n * 3 / 4, from->n - 1, from->n, from->n},
                    d[SIZES] = {from->d, from->d, from->d, 1, from->d - 1};
    *to = *from;
    if (k < SIZES) {
        to->n = epiqp_max(n[k], 3);
        to->d = epiqp_max(d[k], 1);
        return true;
    }
    const epiq_option_info *info = epiq_options_info(k - SIZES);
    if (info && *info->default_text) {
        epiq_ctx *own;
        EQ(epiq_ctx_new(&own), EPIQ_OK);
        epiq_options_set(own, &to->o, info->name, info->default_text);
        epiq_ctx_free(own);
    }
    return info != NULL;
}

/* The option's value in both, as text; false: it is the same. */
static bool differs(const epiq_options *a, const epiq_options *b, ptrdiff_t option, char first[64])
{
    char second[64];
    epiq_options_text(a, option, first, 64);
    epiq_options_text(b, option, second, sizeof second);
    return strcmp(first, second) != 0;
}

static bool same_problem(const problem *a, const problem *b)
{
    bool same = a->n == b->n && a->d == b->d;
    char text[64];
    for (ptrdiff_t k = 0; same && epiq_options_info(k); k++) {
        same = !differs(&a->o, &b->o, k, text);
    }
    return same;
}

/* The default engine trains 50 networks of width 1024: no smaller problem. */
static bool larger(const problem *from, const problem *to)
{
    return to->o.engine == EPIQ_ENGINE_NETWORK && (from->o.engine != to->o.engine || to->o.width > from->o.width ||
                                                   to->o.members > from->o.members || to->o.steps != from->o.steps);
}

static const char *holds(property *f, const problem *p)
{
    draw_rows(p);
    const char *wrong = f(p);
    if (wrong && wrong != property_sentence) {
        snprintf(property_sentence, sizeof property_sentence, "%s", wrong);
    }
    done();
    return wrong ? property_sentence : NULL;
}

static problem shrink(property *f, problem p)
{
    problem next;
    for (int k = 0; smaller(&p, k, &next); k++) {
        if (!same_problem(&p, &next) && !larger(&p, &next) && holds(f, &next)) {
            p = next;
            k = -1; /* from the start: what was needed before may not be now */
        }
    }
    return p;
}

static void print_problem(const problem *p)
{
    const epiq_options usual = usual_options();
    char text[64];
    fprintf(stderr, "    %td rows of %td features", p->n, p->d);
    for (ptrdiff_t k = 0; epiq_options_info(k); k++) {
        if (differs(&p->o, &usual, k, text)) fprintf(stderr, " --%s %s", epiq_options_info(k)->name, text);
    }
    fprintf(stderr, "\n");
}

static long long from_environment(const char *name, long long otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoll(text, NULL, 10) : otherwise;
}

static void try_named(const char *name, property *f, kind k, long long usual)
{
    long long cases = from_environment("CASES", usual), seed = from_environment("SEED", 1);
    for (long long i = 0; i < cases; i++) {
        problem p = draw_problem((uint64_t)(seed + i), k);
        if (holds(f, &p)) {
            problem least = shrink(f, p);
            const char *wrong = holds(f, &least);
            TEST_FAIL("%s: %s\n", name, wrong);
            print_problem(&least);
            fprintf(stderr,
                    "    again: SEED=%lld CASES=1 test_run_properties %s (drawn with %td rows of %td features)\n",
                    seed + i, name, p.n, p.d);
            return;
        }
    }
}

#define PROPERTY(title, f, k, usual)                                                                                   \
    TEST(title)                                                                                                        \
    {                                                                                                                  \
        try_named(#title, f, k, usual);                                                                                \
    }

#endif
