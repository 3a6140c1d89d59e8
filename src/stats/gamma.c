/* gamma.c - the first two derivatives of log Gamma, and the inverse of the second, for positive numbers: recurrence up to 10, and
 * the asymptotic series above, whose first term left out is below 1e-13 there.
 */
#include "stats/stats.h"

#include <math.h>

enum { FROM = 10 };

double epiqp_digamma(double x)
{
    double sum = 0;
    for (; x < FROM; x++) {
        sum -= 1 / x;
    }
    const double z = 1 / (x * x);
    return sum + log(x) - 0.5 / x - z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z / 132))));
}

double epiqp_trigamma(double x)
{
    double sum = 0;
    for (; x < FROM; x++) {
        sum += 1 / (x * x);
    }
    const double z = 1 / (x * x);
    return sum + 1 / x + z / 2 + z / x * (1.0 / 6 - z * (1.0 / 30 - z * (1.0 / 42 - z * (1.0 / 30 - z * (5.0 / 66)))));
}

double epiqp_trigamma_inverse(double v)
{
    /* trigamma falls from about 1/x^2 to about 1/x; bisection in log x, between where both say it must be */
    double lo = -40, hi = 40;
    for (int k = 0; k < 100; k++) {
        double middle = (lo + hi) / 2;
        if (epiqp_trigamma(exp(middle)) > v) {
            lo = middle;
        } else {
            hi = middle;
        }
    }
    return exp((lo + hi) / 2);
}
