/* moments.c - mean and variance of a list of numbers, each in one fixed order of summation; order statistics.
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
    if (count < 2) return 0;
    double mean = epiqp_mean(v, count), sum = 0, squares = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        double deviation = v[i] - mean;
        sum += deviation;
        squares += deviation * deviation;
    }
    /* sum would be zero without the rounding of mean; subtracting its square removes that error */
    return fmax(0, squares - sum * sum / (double)count) / (double)(count - 1);
}

double epiqp_largest(const double *v, ptrdiff_t count)
{
    double largest = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(v[i]));
    }
    return largest;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void epiqp_sort(double *v, ptrdiff_t count)
{
    qsort(v, (size_t)count, sizeof *v, ascending);
}

double epiqp_median(double *v, ptrdiff_t count)
{
    if (count < 1) return NAN;
    epiqp_sort(v, count);
    double upper = v[count / 2];
    return count % 2 ? upper : v[count / 2 - 1] / 2 + upper / 2;
}

static double middle_of(double a, double b, double c)
{
    double lo = a < b ? a : b, hi = a < b ? b : a;
    return c < lo ? lo : c > hi ? hi : c;
}

/* Splits about a pivot and continues in the part that contains the answer, in about `count` steps in all. All values
 * equal to the pivot are one step, so ties cost nothing. */
double epiqp_weighted_select(epiqp_weighted *v, ptrdiff_t count, double below)
{
    double pivot = v[0].value, passed = 0;
    while (count > 0) {
        pivot = middle_of(v[0].value, v[count / 2].value, v[count - 1].value);
        ptrdiff_t low = 0, high = count;
        double lower = 0, equal = 0;
        for (ptrdiff_t i = 0; i < high;) {
            epiqp_weighted one = v[i];
            if (one.value < pivot) {
                v[i++] = v[low];
                v[low++] = one;
                lower += one.weight;
            } else if (one.value > pivot) {
                v[i] = v[--high];
                v[high] = one;
            } else {
                equal += one.weight;
                i++;
            }
        }
        if (passed + lower > below) {
            count = low;
        } else if (passed + lower + equal > below) {
            break;
        } else {
            passed += lower + equal;
            v += high;
            count -= high;
        }
    }
    return pivot;
}
