/* response.c - from the networks' answers to changed targets to how much they follow the data, in variance, against
 * kernel regression: kappa, over all rows and at one point (docs/method.md section 3).
 */
#include "est/est.h"

#include <math.h>
#include <string.h>

/* Variance of kappa from point to point, over its square: 0.3 is the standard deviation over many settings of known truth. */
static const double BETWEEN_POINTS = 0.09;
static const double LEAST = 0.2; /* of kappa over all rows: no point has less, about */
static const double FEWER = 1.1; /* the kernel's variance at a point without a fifth of the rows, lambda n as before */
static const double PRIOR = 2;   /* so many answers is the slope over all rows worth at a point */

void epiqp_response_add(epiqp_response *sum, const epiqp_response *more)
{
    sum->products += more->products;
    sum->with_kernel += more->with_kernel;
    sum->kernel += more->kernel;
}

double epiqp_kappa(const epiqp_response *sum)
{
    return sum->kernel > 0 ? sum->products / sum->kernel : 0;
}

epiqp_answers epiqp_answers_of(const double *plus, const double *minus, ptrdiff_t stride, double step)
{
    epiqp_answers a = {0};
    for (int s = 0; s < EPIQP_STARTS; s++) {
        a.start[s] = (plus[s * stride] - minus[s * stride]) / (2 * step);
    }
    return a;
}

/* Answers G_1, G_2 of two starts and d of the kernel, whose expected square over signs is E; over R of them
 *     kappa_x = sum G_1 G_2/(R E) + b^2 (1 - sum d^2/(R E)),   b the slope of the mean answer on d
 * The kernel is a control variate: where the signs drawn move it more than signs do on average, they move the networks
 * more as well, b^2 times as much. What it leaves unexplained, u of E, gives kappa_x a relative variance, and that its
 * weight beside kappa over all rows. */
double epiqp_kappa_here(double kappa, double slope, ptrdiff_t count, const epiqp_answers *of, double expected)
{
    const double R = (double)count;
    double products = 0, with_kernel = 0, kernel = 0, rest = 0;
    if (count < 2 || !(expected > 0 && kappa > 0)) {
        return kappa;
    }
    for (ptrdiff_t k = 0; k < count; k++) {
        products += of[k].start[0] * of[k].start[1];
        with_kernel += (of[k].start[0] + of[k].start[1]) / 2 * of[k].kernel;
        kernel += of[k].kernel * of[k].kernel;
    }
    double prior = PRIOR * expected, b = (with_kernel + prior * fmin(fmax(slope, 0), sqrt(kappa))) / (kernel + prior);
    for (ptrdiff_t k = 0; k < count; k++) {
        double e = (of[k].start[0] + of[k].start[1]) / 2 - b * of[k].kernel;
        rest += e * e;
    }
    double here = products / (R * expected) + b * b * (1 - kernel / (R * expected)),
           u = rest / (R - 1) / expected / kappa, variance = (4 * u + 2 * u * u) / R,
           mixed = kappa + BETWEEN_POINTS / (BETWEEN_POINTS + variance) * (here - kappa);
    return isfinite(mixed) ? fmax(mixed, LEAST * kappa) : kappa;
}

/* To six digits, which is what tables of text or single precision leave. */
static bool same(ptrdiff_t d, const double *a, const double *b)
{
    double apart = 0, size = 0;
    for (ptrdiff_t k = 0; k < d; k++) {
        apart += (a[k] - b[k]) * (a[k] - b[k]);
        size += a[k] * a[k] + b[k] * b[k];
    }
    return apart <= 1e-12 * size;
}

void epiqp_steps_answer(const epiqp_steps *s, const double *c, double *answers, double *sums)
{
    memset(sums, 0, (size_t)s->groups * sizeof *sums);
    for (ptrdiff_t i = 0; i < s->n; i++) {
        sums[s->group[i]] += c[i] * s->size[i];
    }
    for (ptrdiff_t r = 0; r < s->replicates; r++) {
        answers[r] = epiqp_dot(s->n, c, s->u + r * s->n);
    }
    answers[s->replicates] = FEWER * epiqp_dot(s->groups, sums, sums);
}

/* At a point that is a row, networks that have not seen it say nothing of those that have. */
double epiqp_kappa_at(const epiqp_followed *f, const epiqp_steps *s, const double *at, const double *answers,
                      epiqp_answers *of)
{
    bool row = false, without[EPIQP_FOLDS] = {0};
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; i < s->n; i++) {
        if (same(s->d, s->x + i * s->d, at)) {
            row = true;
            without[answers ? s->fold[i] : 0] = true;
        }
    }
    for (ptrdiff_t r = 0; answers && r < s->replicates; r++) {
        if (!without[r % s->folds]) {
            of[count] = of[r];
            of[count++].kernel = answers[r];
        }
    }
    return epiqp_kappa_here(row ? f->at_rows : f->kappa, f->slope, count, of, answers ? answers[s->replicates] : 0);
}
