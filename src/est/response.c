/* response.c - from the networks' answers to changed targets to how much they follow the data, in variance, against
 * kernel regression: kappa, over all rows and at one point (docs/method.md section 3).
 */
#include "est/response.h"

#include <math.h>
#include <string.h>

/* Variance of the networks' own answers from point to point beside that of the reference, over its square: from many
 * settings of known truth. */
static const double BETWEEN_POINTS = 0.03;
static const double LEAST = 0.2;      /* of rest and kappa over all rows: no point has less, about */
static const double LEAST_OWN = 0.25; /* of IF's variance at a row, as moderated gives a quarter of the smoothed one */
static const double PRIOR = 2;        /* the reference counts as this many answers at a point */
static const double ALIKE = 1e-9;     /* of the squares: two regressions that cannot be distinguished */

epiqp_answers epiqp_answers_of(const double *plus, const double *minus, ptrdiff_t stride, double step)
{
    epiqp_answers a = {0};
    for (int s = 0; s < EPIQP_STARTS; s++) {
        a.start[s] = (plus[s * stride] - minus[s * stride]) / (2 * step);
    }
    return a;
}

static double mean_of(const epiqp_answers *a)
{
    return (a->start[0] + a->start[1]) / 2;
}

epiqp_response epiqp_response_of(const epiqp_answers *a)
{
    return (epiqp_response){.products = a->start[0] * a->start[1],
                            .with_kernel = mean_of(a) * a->kernel,
                            .with_linear = mean_of(a) * a->linear,
                            .kernel = a->kernel * a->kernel,
                            .linear = a->linear * a->linear,
                            .both = a->kernel * a->linear};
}

void epiqp_response_add(epiqp_response *sum, const epiqp_response *more)
{
    sum->products += more->products;
    sum->with_kernel += more->with_kernel;
    sum->with_linear += more->with_linear;
    sum->kernel += more->kernel;
    sum->linear += more->linear;
    sum->both += more->both;
}

double epiqp_reference_square(const epiqp_following *f, double kernel, double linear, double both)
{
    return f->kernel * f->kernel * kernel + 2 * f->kernel * f->linear * both + f->linear * f->linear * linear;
}

/* G about a d + b l, by least squares, neither below 0: a negative part fits the rows and misleads elsewhere. */
epiqp_following epiqp_follow(const epiqp_response *sum)
{
    epiqp_following f = {0};
    const double apart = sum->kernel * sum->linear - sum->both * sum->both;
    if (!(sum->kernel > 0)) return f;
    f.kappa = sum->products / sum->kernel;
    if (apart > ALIKE * sum->kernel * sum->linear) {
        f.kernel = (sum->with_kernel * sum->linear - sum->with_linear * sum->both) / apart;
        f.linear = (sum->with_linear * sum->kernel - sum->with_kernel * sum->both) / apart;
    }
    if (!(f.linear > 0)) {
        f.linear = 0;
        f.kernel = fmax(sum->with_kernel / sum->kernel, 0);
    } else if (!(f.kernel > 0)) {
        f.kernel = 0;
        f.linear = fmax(sum->with_linear / sum->linear, 0);
    }
    double square = epiqp_reference_square(&f, sum->kernel, sum->linear, sum->both);
    f.rest = square > 0 ? sum->products / square : 0;
    return f;
}

/* Answers G_1, G_2 of two starts and m of the reference, whose expected square over signs is E; over R of them
 *     rest_x = sum G_1 G_2/(R E) + b^2 (1 - sum m^2/(R E)),   b the slope of the mean answer on m
 * The reference is a control variate: where the signs drawn move it more than signs do on average, they move the networks
 * more as well, b^2 times as much. b is drawn to 1, or to sqrt(rest) where that is less. u, the mean square that the
 * reference leaves unexplained over E, gives rest_x a relative variance, and that its weight beside rest over all rows. */
double epiqp_rest_here(double rest, ptrdiff_t count, const epiqp_answers *of, double expected)
{
    const double R = (double)count;
    double products = 0, with = 0, square = 0, left = 0;
    if (count < 2 || !(expected > 0 && rest > 0)) return rest;
    for (ptrdiff_t k = 0; k < count; k++) {
        products += of[k].start[0] * of[k].start[1];
        with += mean_of(&of[k]) * of[k].reference;
        square += of[k].reference * of[k].reference;
    }
    double prior = PRIOR * expected, b = (with + prior * fmin(1, sqrt(rest))) / (square + prior);
    for (ptrdiff_t k = 0; k < count; k++) {
        double e = mean_of(&of[k]) - b * of[k].reference;
        left += e * e;
    }
    double here = products / (R * expected) + b * b * (1 - square / (R * expected)),
           u = left / (R - 1) / expected / rest, variance = (4 * u + 2 * u * u) / R,
           mixed = rest + BETWEEN_POINTS / (BETWEEN_POINTS + variance) * (here - rest);
    return isfinite(mixed) ? fmax(mixed, LEAST * rest) : rest;
}

/* Equal to six digits, which is what tables of text or single precision leave. */
static bool same(ptrdiff_t d, const double *a, const double *b)
{
    double apart = 0, size = 0;
    for (ptrdiff_t k = 0; k < d; k++) {
        apart += (a[k] - b[k]) * (a[k] - b[k]);
        size += a[k] * a[k] + b[k] * b[k];
    }
    return apart <= 1e-12 * size;
}

/* Over other samples a row's own prediction changes with its noise, while what the fit misses of the function there stays
 * as it is; corrected residuals count both (N2). */
void epiqp_own_noise(const epiqp_steps *s, const double *c, const double *at, double *own, double *own_alone)
{
    double all = 0, part_of_row = 0;
    *own = *own_alone = 0;
    for (ptrdiff_t i = 0; s->alone && i < s->data->n; i++) {
        double c2 = c[i] * c[i], part = c2 * s->size[i] * s->size[i];
        all += part;
        if (s->alone[i] > 0 && same(s->data->d, s->data->x + i * s->data->d, at)) {
            part_of_row += part;
            *own_alone += c2 * s->alone[i];
        }
    }
    *own = part_of_row > 0 ? part_of_row / all : 0;
}

/* ---- what kernel and linear regression answer at a point ---- */

/* The kernel's variance at a point without a fold, lambda n as before, against that by all rows: 1.1 with five folds; and linear
 * regression's. */
static double fewer(const epiqp_steps *s)
{
    return 1 + 0.5 / (double)s->folds;
}
static double fewer_linear(const epiqp_steps *s)
{
    return (double)s->folds / (double)(s->folds - 1);
}

epiqp_expected *epiqp_expected_new(epiq_ctx *c, epiqp_arena *arena, ptrdiff_t points, ptrdiff_t replicates)
{
    epiqp_expected *all = epiqp_arena_alloc(c, arena, points, sizeof *all);
    double *room = epiqp_arena_alloc(c, arena, 2 * points * replicates, sizeof *room);
    for (ptrdiff_t p = 0; all && room && p < points; p++) {
        all[p].kernel = room + 2 * p * replicates;
        all[p].linear = all[p].kernel + replicates;
    }
    return room ? all : NULL;
}

void epiqp_expect(const epiqp_env *e, const epiqp_steps *s, const double *c, const double *at, double *room,
                  epiqp_expected *out)
{
    /* sums of c z and l z by group, where l multiplies each row's target in linear regression's prediction */
    double *by_kernel = room, *by_line = room + s->data->groups, *l = by_line + s->data->groups, *w = l + s->data->n;
    memset(by_kernel, 0, (size_t)(2 * s->data->groups) * sizeof *by_kernel);
    for (ptrdiff_t r = 0; r < s->replicates; r++) {
        out->kernel[r] = epiqp_dot(s->data->n, c, s->u + r * s->data->n);
        out->linear[r] = 0;
    }
    for (ptrdiff_t i = 0; i < s->data->n; i++) {
        by_kernel[s->data->group[i]] += c[i] * s->size[i];
    }
    if (s->ols->p) {
        epiqp_ols_point(e, s->ols, at, s->replicates, out->linear, l, w);
        for (ptrdiff_t i = 0; i < s->data->n; i++) {
            by_line[s->data->group[i]] += l[i] * s->size[i];
        }
    }
    out->kernel2 = fewer(s) * epiqp_dot(s->data->groups, by_kernel, by_kernel);
    out->linear2 = fewer_linear(s) * epiqp_dot(s->data->groups, by_line, by_line);
    out->both = sqrt(fewer(s) * fewer_linear(s)) * epiqp_dot(s->data->groups, by_kernel, by_line);
    epiqp_own_noise(s, c, at, &out->own, &out->own_alone);
    out->c2 = epiqp_dot(s->data->n, c, c);
}

/* ---- the data part there ---- */

epiq_part epiqp_retrained_part(const epiqp_followed *f, double kappa, const epiqp_expected *expected, epiq_part part,
                               double level)
{
    if (!part.known) return part;
    double variance = kappa * f->noise * part.variance, df = part.df > 0 ? 1 / (1 / part.df + f->spread / 2) : 0;
    if (expected) {
        const epiqp_expected *x = expected;
        double own = x->own > 0 && part.variance > 0 ? 1 - x->own + x->own_alone / part.variance : 1;
        variance = fmax(variance * (isfinite(own) ? fmax(fmin(own, 1), LEAST_OWN) : 1), f->least * x->c2);
    }
    return epiq_part_of(variance, df, level, EPIQ_BY_RETRAIN);
}

/* At a point that is a row, networks that have not seen it say nothing about those that have; and the other way round at a
 * row that is left out. */
double epiqp_kappa_at(const epiqp_followed *f, const epiqp_steps *s, const double *at, ptrdiff_t left_out,
                      const epiqp_expected *expected, epiqp_answers *of)
{
    bool row = false, without[EPIQP_MOST_FOLDS] = {0};
    ptrdiff_t count = 0;
    for (ptrdiff_t k = 0; left_out >= 0 && k < s->folds; k++) {
        without[k] = k != s->fold[left_out];
    }
    for (ptrdiff_t i = 0; left_out < 0 && i < s->data->n; i++) {
        if (same(s->data->d, s->data->x + i * s->data->d, at)) {
            row = true;
            without[expected ? s->fold[i] : 0] = true;
        }
    }
    const epiqp_following *over = row ? &f->at_rows : &f->left_out;
    if (!expected) return over->kappa;
    double square = epiqp_reference_square(over, expected->kernel2, expected->linear2, expected->both);
    if (!(square > 0 && expected->kernel2 > 0)) return over->kappa;
    for (ptrdiff_t r = 0; r < s->replicates; r++) {
        if (!without[r % s->folds]) {
            of[count] = of[r];
            of[count++].reference = over->kernel * expected->kernel[r] + over->linear * expected->linear[r];
        }
    }
    double kappa = epiqp_rest_here(over->rest, count, of, square) * square / expected->kernel2;
    return isfinite(kappa) ? fmax(kappa, LEAST * over->kappa) : over->kappa;
}
