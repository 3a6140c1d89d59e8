/* sample.c - one repetition: draw a data set of a known distribution, ask epiq_estimate about it, keep the answer as a
 * row of numbers.
 */
#include "study/lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const lab_table LAB_TABLES[] = {
    {"boston", "medv", 506, 13},   {"concrete", "strength", 1030, 8}, {"energy", "heating", 768, 8},
    {"wine", "quality", 1599, 11}, {"yacht", "resistance", 308, 6},   {NULL, NULL, 0, 0},
};

const char *study_table(ptrdiff_t index)
{
    return index >= 0 && index < (ptrdiff_t)(sizeof LAB_TABLES / sizeof *LAB_TABLES) ? LAB_TABLES[index].name : NULL;
}

const char *const LAB_CORRECTIONS[EPIQ_CORRECTIONS] = {"rowwise", "unbiased", "jackknife", "none"};

const char *lab_noise_name(lab_noise noise)
{
    static const char *const NAMES[] = {"equal", "slope", "far", "near", "across"};
    return NAMES[noise];
}

ptrdiff_t lab_sample_length(const lab_cell *c)
{
    return S_FIXED + c->o.members + c->o.batches;
}

/* The sets of docs/method.md, without their noise. */
double lab_true_function(int set, ptrdiff_t d, const double *x)
{
    double sum = 0;
    for (ptrdiff_t k = 0; k < d; k++) {
        sum += set == 1 ? sin(x[k]) : set == 2 ? exp(x[k]) + x[k] * x[k] : cos(x[k]) + x[k] * x[k] * x[k];
    }
    return sum;
}

/* Standard deviation of the noise at x over the set's own; its mean square is about 1. */
static double noise_factor(lab_noise noise, int set, ptrdiff_t d, const double *x)
{
    double middle = set == 1 ? 0.1 : 0, spread = set == 1 ? 0.2 / sqrt(12) : 0.1, away = 0, along = 0;
    double typical = (double)d * (spread * spread + (LAB_X0 - middle) * (LAB_X0 - middle)); /* of |x - x0|^2 */
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

/* Data depend on the distribution and the number of the repetition alone, so that models are compared on the same
 * rows; networks on the stream too. */
static uint64_t data_seed(const lab_cell *c, ptrdiff_t rep)
{
    return mix(c->o.seed, (ptrdiff_t[]){1, c->set, c->n, c->d, rep}, 5);
}
static uint64_t network_seed(const lab_cell *c, ptrdiff_t rep)
{
    return mix(c->o.seed, (ptrdiff_t[]){2 + c->stream, c->set, c->n, c->d, rep}, 5);
}

static int draw(epiq_ctx *ctx, const lab_cell *c, ptrdiff_t rep, const epiq_options *o, epiq_data **data,
                epiq_points **at)
{
    double *x = malloc((size_t)(c->n * c->d + c->n + c->d) * sizeof *x);
    if (!x) {
        return EPIQ_E_NOMEM;
    }
    double *y = x + c->n * c->d, *x0 = y + c->n;
    int s = epiq_synth(ctx, c->set, c->n, c->d, data_seed(c, rep), x, y);
    for (ptrdiff_t i = 0; !s && c->noise != NOISE_EQUAL && i < c->n; i++) {
        const double *row = x + i * c->d;
        double f = lab_true_function(c->set, c->d, row);
        y[i] = f + noise_factor(c->noise, c->set, c->d, row) * (y[i] - f);
    }
    for (ptrdiff_t k = 0; k < c->d; k++) {
        x0[k] = LAB_X0;
    }
    if (!s && !(s = epiq_data_new(ctx, c->n, c->d, x, y, NULL, o, data)) && !(s = epiq_points_new(ctx, *data, at))) {
        s = epiq_points_add_rows(ctx, *at, 1, x0);
    }
    free(x);
    return s;
}

int lab_read_table(epiq_ctx *ctx, const lab_cell *c, const char *folder, const epiq_options *o, epiq_data **data)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.csv", folder, c->table->name);
    return epiq_data_read(ctx, path, o, data);
}

static int at_its_mean(epiq_ctx *ctx, const lab_cell *c, const char *folder, const epiq_options *o, epiq_data **data,
                       epiq_points **at)
{
    int s = lab_read_table(ctx, c, folder, o, data);
    if (!s && !(s = epiq_points_new(ctx, *data, at))) {
        s = epiq_points_add(ctx, *at, "mean");
    }
    return s;
}

static void keep(const lab_cell *c, const epiq_data *data, const epiq_result *r, double seconds, double *sample)
{
    const epiq_point *p = &r->points[0];
    for (ptrdiff_t k = 0; k < c->length; k++) {
        sample[k] = NAN;
    }
    sample[S_PREDICTION] = p->prediction;
    sample[S_SECONDS] = seconds;
    sample[S_FACTOR] = epiq_data_describe(data).factor;
    if (p->kernel_prediction.known) {
        sample[S_KERNEL] = p->kernel_prediction.value;
    }
    if (p->procedural.known && p->procedural.method == EPIQ_BY_EV) {
        sample[S_EV] = p->procedural.variance;
        sample[S_EV_DF] = p->procedural.df;
    }
    if (p->ba.part.known) {
        sample[S_BA] = p->ba.part.variance;
        sample[S_BA_DF] = p->ba.part.df;
    }
    if (p->infinite.known) {
        sample[S_INFINITE] = p->infinite.variance;
    }
    for (int k = 0; k < EPIQ_CORRECTIONS; k++) {
        if (p->corrected[k].known) {
            sample[S_IF + k] = p->corrected[k].variance;
            sample[S_IF_DF + k] = p->corrected[k].df;
        }
    }
    for (ptrdiff_t k = 0; k < p->member_count; k++) {
        sample[S_FIXED + k] = p->members[k];
    }
    for (ptrdiff_t k = 0; k < p->batch_count; k++) {
        sample[S_FIXED + c->o.members + k] = p->batches[k];
    }
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int lab_sample(epiq_ctx *ctx, const lab_cell *c, const char *data_dir, ptrdiff_t rep, double *sample)
{
    epiq_options o = c->o;
    epiq_data *data = NULL;
    epiq_points *at = NULL;
    epiq_result *r = NULL;
    o.seed = network_seed(c, rep);
    o.influential = 0;
    if (c->table) {
        o.target = c->table->target;
    }
    int s = c->table ? at_its_mean(ctx, c, data_dir, &o, &data, &at) : draw(ctx, c, rep, &o, &data, &at);
    double began = seconds_now();
    if (!s && !(s = epiq_estimate(ctx, data, at, &o, &r))) {
        keep(c, data, r, seconds_now() - began, sample);
    }
    epiq_result_free(ctx, r);
    epiq_points_free(ctx, at);
    epiq_data_free(ctx, data);
    return s;
}
