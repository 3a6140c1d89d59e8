/* draw.c - the data sets of a cell: synthetic ones, with equal noise or noise that varies with x, and rows of a real
 * table with planted targets. A data set is a function of the seed, the distribution and the number of the repetition.
 */
#include "study/lab.h"

#include <stdlib.h>
#include <string.h>

const char *const LAB_NOISES[] = {"equal", "slope", "far", "near", "across"};
const char *const LAB_PLACES[] = {"x0", "mean", "random", "row", "all"};

/* ---- the synthetic sets ---- */

/* Those of docs/method.md without their noise, and a smooth function of normal features that is no sum over them. */
static double true_function(int set, ptrdiff_t d, const double *x)
{
    double sum = 0;
    if (set == LAB_SMOOTH) return sin(sqrt(2) * (x[0] + x[d > 1])) + 0.5 * x[d > 2 ? 2 : 0];
    for (ptrdiff_t k = 0; k < d; k++) {
        sum += set == 1 ? sin(x[k]) : set == 2 ? exp(x[k]) + x[k] * x[k] : cos(x[k]) + x[k] * x[k] * x[k];
    }
    return sum;
}

double lab_true_at_x0(const lab_cell *c)
{
    double x0[64];
    for (ptrdiff_t k = 0; k < c->d; k++) {
        x0[k] = LAB_X0;
    }
    return true_function(c->set, c->d, x0);
}

/* Standard deviation of the noise: of the sets of epiq synth, and of the smooth one. */
static double noise_sd(int set, ptrdiff_t d)
{
    return set == LAB_SMOOTH ? 0.5 : set == 1 ? 0.1 : 0.1 * (double)d;
}

/* Standard deviation of the noise at x over the set's own; its mean square is about 1. */
static double noise_factor(lab_noise noise, int set, ptrdiff_t d, const double *x)
{
    double middle = set == 1 ? 0.1 : 0, spread = set == LAB_SMOOTH ? 1 : set == 1 ? 0.2 / sqrt(12) : 0.1;
    double typical = (double)d * (spread * spread + (LAB_X0 - middle) * (LAB_X0 - middle)); /* of |x - x0|^2 */
    double away = 0, along = 0;
    for (ptrdiff_t k = 0; k < d; k++) {
        away += (x[k] - LAB_X0) * (x[k] - LAB_X0) / typical;
        along += (x[k] - middle) / (spread * sqrt((double)d));
    }
    switch (noise) {
    case NOISE_SLOPE:
        return sqrt(1 + tanh(1.5 * (x[0] - middle) / spread));
    case NOISE_FAR:
        return sqrt(away);
    case NOISE_NEAR:
        return sqrt(2 / (1 + away));
    case NOISE_ACROSS: /* E exp(-z^2) = 1/sqrt(3) for standard normal z */
        return sqrt(sqrt(3) * exp(-along * along));
    default:
        return 1;
    }
}

/* ---- seeds ---- */

/* A well-mixed number from a few: splitmix64's finaliser after each. */
static uint64_t mix(uint64_t seed, const ptrdiff_t *parts, int count)
{
    uint64_t z = seed;
    for (int k = 0; k < count; k++) {
        z += 0x9e3779b97f4a7c15u * ((uint64_t)parts[k] + 1);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
    }
    return z;
}

uint64_t lab_next(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return mix(*state, (ptrdiff_t[]){0}, 1);
}

/* A number for the distribution; that of a real table is made of its name. */
static ptrdiff_t law_of(const lab_cell *c)
{
    ptrdiff_t law = c->set;
    for (const char *k = c->planted ? c->table->name : ""; *k; k++) {
        law = (31 * law + *k) % 1000003;
    }
    return law;
}

/* Data depend on the distribution and the number of the repetition alone, so that models are compared on the same
 * rows; networks on the stream too. */
uint64_t lab_data_seed(const lab_cell *c, ptrdiff_t rep)
{
    return mix(c->o.seed, (ptrdiff_t[]){1, law_of(c), c->n, c->d, rep}, 5);
}
uint64_t lab_network_seed(const lab_cell *c, ptrdiff_t rep)
{
    return mix(c->o.seed, (ptrdiff_t[]){2 + c->stream, law_of(c), c->n, c->d, rep}, 5);
}
/* Of what all repetitions share, at any n. */
static uint64_t fixed_seed(const lab_cell *c)
{
    return mix(c->o.seed, (ptrdiff_t[]){-1, law_of(c), c->d}, 3);
}

/* ---- drawing ---- */

static int draw_rows(epiq_ctx *ctx, const lab_cell *c, ptrdiff_t n, uint64_t seed, double *x, double *y)
{
    if (c->set != LAB_SMOOTH) return epiq_synth(ctx, c->set, n, c->d, seed, x, y);
    int s = epiq_synth(ctx, 2, n, c->d, seed, x, y); /* whose features and noise are normal */
    for (ptrdiff_t i = 0; !s && i < n; i++) {
        double *row = x + i * c->d, e = (y[i] - true_function(2, c->d, row)) / noise_sd(2, c->d);
        for (ptrdiff_t k = 0; k < c->d; k++) {
            row[k] *= 10;
        }
        y[i] = true_function(LAB_SMOOTH, c->d, row) + noise_sd(LAB_SMOOTH, c->d) * e;
    }
    return s;
}

/* The points; the row among them takes the place of the first row, whose noise stays. */
static int place_points(epiq_ctx *ctx, const lab_cell *c, lab_drawn *out)
{
    double *fixed = malloc((size_t)(LAB_POINTS_MAX * (c->d + 1)) * sizeof *fixed), *next = fixed;
    int s =
        fixed ? draw_rows(ctx, c, LAB_POINTS_MAX, fixed_seed(c), fixed, fixed + LAB_POINTS_MAX * c->d) : EPIQ_E_NOMEM;
    for (ptrdiff_t p = 0; !s && p < lab_points(c); p++) {
        double *point = out->points + p * c->d;
        bool drawn = c->places[p] == PLACE_RANDOM || c->places[p] == PLACE_ROW;
        for (ptrdiff_t k = 0; k < c->d; k++) {
            point[k] = drawn ? next[k] : c->places[p] == PLACE_X0 || c->set == 1 ? LAB_X0 : 0;
        }
        if (c->places[p] == PLACE_ROW) {
            out->y[0] += true_function(c->set, c->d, point) - true_function(c->set, c->d, out->x);
            memcpy(out->x, point, (size_t)c->d * sizeof *point);
        }
        next += drawn ? c->d : 0;
    }
    free(fixed);
    return s;
}

static int draw_synthetic(epiq_ctx *ctx, const lab_cell *c, ptrdiff_t rep, lab_drawn *out)
{
    int s = draw_rows(ctx, c, c->n, lab_data_seed(c, rep), out->x, out->y);
    s = s ? s : place_points(ctx, c, out);
    for (ptrdiff_t i = 0; !s && i < c->n; i++) {
        const double *row = out->x + i * c->d;
        double g = c->target         ? 0
                   : c->noise_sd > 0 ? c->noise_sd / noise_sd(c->set, c->d)
                                     : noise_factor(c->noise, c->set, c->d, row);
        double sd = g * noise_sd(c->set, c->d);
        out->f[i] = true_function(c->set, c->d, row);
        out->s[i] = sd * sd;
        if (g != 1) out->y[i] = out->f[i] + g * (out->y[i] - out->f[i]);
    }
    return s;
}

/* ---- rows of a real table ---- */

static const double PLANTED_NOISE = 0.3; /* of the function's standard deviation, which is 1 */

typedef struct {
    double key;
    ptrdiff_t row;
} keyed;

static int by_key(const void *a, const void *b)
{
    double x = ((const keyed *)a)->key, y = ((const keyed *)b)->key;
    return (x > y) - (x < y);
}

/* A random order of the items that keep the keys they have, the first of them in front. */
static int shuffle(epiq_ctx *ctx, uint64_t seed, ptrdiff_t count, keyed *item, double *normal)
{
    double *x = malloc((size_t)(2 * count + 1) * sizeof *x), *y = x ? x + count : NULL;
    int s = x ? epiq_synth(ctx, 1, count, 1, seed, x, y) : EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; !s && i < count; i++) {
        item[i].key = x[i];
        normal[i] = (y[i] - true_function(1, 1, &x[i])) / noise_sd(1, 1);
    }
    if (!s) qsort(item, (size_t)count, sizeof *item, by_key);
    free(x);
    return s;
}

/* The points' rows come first in an order that all repetitions share; the training row is in every data set, the random
 * points are in none, and the other rows are drawn without replacement. */
static int draw_planted(epiq_ctx *ctx, const lab_cell *c, ptrdiff_t rep, lab_drawn *out)
{
    const lab_planted *t = c->planted;
    keyed *item = calloc((size_t)t->rows, sizeof *item);
    double *normal = calloc((size_t)t->rows, sizeof *normal);
    ptrdiff_t apart = 0, fixed_row = -1;
    int s = item && normal ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; !s && i < t->rows; i++) {
        item[i].row = i;
    }
    s = s ? s : shuffle(ctx, fixed_seed(c), t->rows, item, normal);
    for (ptrdiff_t p = 0; !s && p < lab_points(c); p++) {
        bool drawn = c->places[p] == PLACE_RANDOM || c->places[p] == PLACE_ROW;
        for (ptrdiff_t k = 0; k < c->d; k++) {
            out->points[p * c->d + k] =
                drawn ? t->x[item[apart].row * c->d + k] : 0; /* the mean of standardised features */
        }
        fixed_row = c->places[p] == PLACE_ROW ? item[apart].row : fixed_row;
        apart += drawn;
    }
    s = s ? s : shuffle(ctx, lab_data_seed(c, rep), t->rows - apart, item + apart, normal);
    for (ptrdiff_t i = 0; !s && i < c->n; i++) {
        ptrdiff_t row = i == 0 && fixed_row >= 0 ? fixed_row : item[apart + i].row;
        memcpy(out->x + i * c->d, t->x + row * c->d, (size_t)c->d * sizeof *out->x);
        out->f[i] = t->f[row];
        out->s[i] = PLANTED_NOISE * PLANTED_NOISE;
        out->y[i] = out->f[i] + PLANTED_NOISE * normal[i];
    }
    free(item);
    free(normal);
    return s;
}

int lab_draw(epiq_ctx *ctx, const lab_cell *c, ptrdiff_t rep, lab_drawn *out)
{
    *out = (lab_drawn){.x = malloc((size_t)((c->n + lab_points(c)) * c->d + 3 * c->n) * sizeof *out->x)};
    if (!out->x) return EPIQ_E_NOMEM;
    out->y = out->x + c->n * c->d;
    out->f = out->y + c->n;
    out->s = out->f + c->n;
    out->points = out->s + c->n;
    return c->planted ? draw_planted(ctx, c, rep, out) : draw_synthetic(ctx, c, rep, out);
}
