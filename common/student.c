/* student.c - P(|T| > t) = I_x(df/2, 1/2), x = df/(df + t^2), the incomplete beta function by its continued fraction (Abramowitz
 * and Stegun 26.5.8, evaluated as W. J. Lentz does); its quantile by bisection of log t.
 */
#include "common/student.h"

#include <float.h>
#include <math.h>

static const double MANY = 1e9; /* degrees of freedom: t differs from the normal's by less than 1e-9 of it */

/* log Gamma(a); not lgamma, which writes a global. The first term left out is 2e-16 from 16 on. */
static double log_gamma(double a)
{
    double down = 0;
    for (; a < 16; a++) {
        down += log(a);
    }
    const double s = 1 / (a * a);
    return (a - 0.5) * log(a) - a + log(2 * M_PI) / 2 +
           (1.0 / 12 - s * (1.0 / 360 - s * (1.0 / 1260 - s * (1.0 / 1680 - s / 1188)))) / a - down;
}

/* I_x(a, b) for x at most (a + 1)/(a + b + 2), where the fraction converges fast; rest = 1 - x. */
static double beta_below(double a, double b, double x, double rest)
{
    enum { MOST = 100000 };
    double c = 1, d = 1 - (a + b) * x / (a + 1), h;
    d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
    h = d;
    for (int m = 1; m < MOST; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
        c = fabs(c) < DBL_MIN ? DBL_MIN : c;
        h *= d * c;
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
        c = fabs(c) < DBL_MIN ? DBL_MIN : c;
        h *= d * c;
        if (fabs(d * c - 1) < 4 * DBL_EPSILON) break;
    }
    return exp(a * log(x) + b * log(rest) + log_gamma(a + b) - log_gamma(a) - log_gamma(b)) * h / a;
}

/* P(|T| > t) */
static double beyond(double df, double t)
{
    if (df >= MANY) return erfc(t / sqrt(2));
    const double x = df / (df + t * t), rest = t * t / (df + t * t), a = df / 2, b = 0.5;
    return x <= (a + 1) / (a + b + 2) ? beta_below(a, b, x, rest) : 1 - beta_below(b, a, rest, x);
}

double epiqp_student_quantile(double df, double level)
{
    double lo = log(1e-12), hi = log(1e300); /* 1e300: with few degrees of freedom there is no end to it */
    for (int k = 0; k < 100; k++) {
        const double middle = (lo + hi) / 2;
        *(beyond(df, exp(middle)) > 1 - level ? &lo : &hi) = middle;
    }
    return exp(hi);
}
