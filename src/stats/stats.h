/* stats.h - sample moments in two passes, order statistics, and the chi-squared quantiles behind every interval. */
#ifndef EPIQP_STATS_H
#define EPIQP_STATS_H

#include <stddef.h>

double epiqp_mean(const double *v, ptrdiff_t count);
double epiqp_variance(const double *v, ptrdiff_t count); /* divisor count - 1, two-pass; 0 for count < 2 */
double epiqp_largest(const double *v, ptrdiff_t count);  /* of |v|; of nothing: 0 */
void epiqp_sort(double *v, ptrdiff_t count);             /* rising */
double epiqp_median(double *v, ptrdiff_t count);         /* reorders v */

typedef struct {
    double value, weight;
} epiqp_weighted;
/* The largest of the values (count > 0, weights > 0) such that the values below it have a total weight of at most
 * `below`; the smallest value if below < 0. Reorders v. */
double epiqp_weighted_select(epiqp_weighted *v, ptrdiff_t count, double below);

/* Regularised incomplete gamma functions P(a, x) and Q = 1 - P, each accurate where it is small. a > 0, x >= 0. */
void epiqp_gamma_pq(double a, double x, double *p, double *q);

/* x with P(X <= x) = p for X ~ chi-squared with nu > 0 degrees of freedom (any real), 0 < p < 1; relative error below
 * 1e-11 for nu in [1e-2, 1e8]. upper: p is the probability above x instead, accurate for tiny p. */
double epiqp_chi2_quantile(double nu, double p, int upper);

/* The interval [nu V / chi2_{nu, 1-a/2}, nu V / chi2_{nu, a/2}], a = 1 - level, of a variance V with nu degrees of
 * freedom. */
void epiqp_variance_interval(double variance, double nu, double level, double *lo, double *hi);

/* ---- gamma.c ---- */

double epiqp_digamma(double x); /* of a positive number, like the next */
double epiqp_trigamma(double x);
double epiqp_trigamma_inverse(double v);

#endif
