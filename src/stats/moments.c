/* moments.c - mean, variance and median of a list of numbers, each in one fixed order of summation.
 * Sums are taken of deviations from a first mean, so a large common offset costs no digits.
 */
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

double epiqp_mean(const double *v, ptrdiff_t count)
{
    double sum = 0, rest = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        sum += v[i];
    }
    double mean = sum / (double)count; /* of nothing: NaN */
    for (ptrdiff_t i = 0; i < count; i++) {
        rest += v[i] - mean;
    }
    return mean + rest / (double)count;
}

double epiqp_variance(const double *v, ptrdiff_t count)
{
    if (count < 2) {
        return 0;
    }
    double mean = epiqp_mean(v, count), sum = 0, squares = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        double deviation = v[i] - mean;
        sum += deviation;
        squares += deviation * deviation;
    }
    /* sum is zero but for the rounding of mean, which its square takes out again */
    return fmax(0, squares - sum * sum / (double)count) / (double)(count - 1);
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double epiqp_median(double *v, ptrdiff_t count)
{
    if (count < 1) {
        return NAN;
    }
    qsort(v, (size_t)count, sizeof *v, ascending);
    double upper = v[count / 2];
    return count % 2 ? upper : v[count / 2 - 1] / 2 + upper / 2;
}
