/* quantile.c - the incomplete gamma functions, and from them the chi-squared quantiles and the interval of a variance.
 * Both come from the term D = x^a e^-x / Gamma(a+1) in its saddle-point form (C. Loader, Fast and Accurate Computation
 * of Binomial Probabilities, 2000); huge a near x from N. Temme's uniform expansion (SIAM J. Math. Anal. 10, 1979).
 */
#include "stats/stats.h"

#include <float.h>
#include <math.h>

static const double TWO_PI = 6.283185307179586476925;
static const double STIRLING_FROM = 16; /* here the first term left out of stirling_error is 1e-16 */
static const double TEMME_FROM = 1e5;   /* above, and within TEMME_WIDTH a of a, the series would need 1e3 terms ... */
static const double TEMME_WIDTH = 0.01; /* ... and the coefficients left out of tail_near add less than 1e-14 */
static const double NORMAL_FROM = 1e30; /* above, chi-squared / nu is 1 to 1e-14 */

/* log Gamma(a+1) - (a log a - a + log(2 pi a)/2), a >= STIRLING_FROM */
static double stirling_error(double a)
{
    double s = 1 / (a * a);
    return (1.0 / 12 - s * (1.0 / 360 - s * (1.0 / 1260 - s * (1.0 / 1680 - s / 1188)))) / a;
}

/* log Gamma(a+1); not lgamma, which writes a global */
static double log_gamma1(double a)
{
    return a < STIRLING_FROM ? log(tgamma(a + 1)) : a * log(a) - a + log(TWO_PI * a) / 2 + stirling_error(a);
}

/* a log(a/x) + x - a >= 0, without cancellation where x is near a */
static double deviance(double a, double x)
{
    double v = (a - x) / (a + x);
    if (fabs(v) > 0.1) return a * log(a / x) + x - a;
    double sum = (a - x) * v, power = 2 * a * v;
    for (int k = 3;; k += 2) {
        power *= v * v;
        double next = sum + power / k;
        if (next == sum) return sum;
        sum = next;
    }
}

/* D(a, x) = x^a e^-x / Gamma(a+1) */
static double term(double a, double x)
{
    if (a < STIRLING_FROM) return exp(a * log(x) - x) / tgamma(a + 1);
    return exp(-stirling_error(a) - deviance(a, x)) / sqrt(TWO_PI * a);
}

/* P / D = 1 + x/(a+1) + x^2/((a+1)(a+2)) + ..., for x below a or little above */
static double series(double a, double x)
{
    double sum = 1, power = 1;
    for (double k = 1; power > DBL_EPSILON / 16 * sum; k++) {
        power *= x / (a + k);
        sum += power;
    }
    return sum;
}

/* Q / D = a/(x+1-a - 1(1-a)/(x+3-a - 2(2-a)/(x+5-a - ...))), for x above a, by Lentz's method */
static double fraction(double a, double x)
{
    double b = x - a + 1, c = HUGE_VAL, d = 1 / b, value = d, change = 0;
    for (double k = 1; k < 1e6 && fabs(change - 1) > DBL_EPSILON; k++) {
        double coefficient = k * (a - k);
        b += 2;
        d = coefficient * d + b;
        c = coefficient / c + b;
        d = 1 / (d != 0 ? d : DBL_MIN); /* a vanishing denominator: the usual nudge */
        c = c != 0 ? c : DBL_MIN;
        change = c * d;
        value *= change;
    }
    return a * value;
}

/* Temme: Q = erfc(eta sqrt(a/2))/2 + e^(-a eta^2/2)/sqrt(2 pi a) sum_k C_k(eta) a^-k, with a eta^2/2 the deviance */
static void tail_near(double a, double x, double *p, double *q)
{
    double half = deviance(a, x), eta = copysign(sqrt(2 * half / a), x - a), root = copysign(sqrt(half), x - a);
    double c0 = -1.0 / 3 + eta * (1.0 / 12 + eta * (-2.0 / 135 + eta * (1.0 / 864 + eta / 2835)));
    double c1 = -1.0 / 540 + eta * (-1.0 / 288 + eta / 378), c2 = 25.0 / 6048;
    double rest = exp(-half) / sqrt(TWO_PI * a) * (c0 + (c1 + c2 / a) / a);
    *q = erfc(root) / 2 + rest;
    *p = erfc(-root) / 2 - rest;
}

void epiqp_gamma_pq(double a, double x, double *p, double *q)
{
    if (!(a > 0 && x >= 0)) {
        *p = *q = NAN;
    } else if (x == 0 || x == HUGE_VAL) {
        *p = x > 0;
        *q = x == 0;
    } else if (a >= TEMME_FROM && fabs(x - a) < TEMME_WIDTH * a) {
        tail_near(a, x, p, q);
    } else if (x < a + 0.2) { /* here P and Q are neither of them near 0; at a + 1, Q would be for small a */
        *p = fmin(1, term(a, x) * series(a, x));
        *q = 1 - *p;
    } else {
        *q = fmin(1, term(a, x) * fraction(a, x));
        *p = 1 - *q;
    }
}

/* z > 0 with probability p <= 1/2 above it, to 5e-4 (Abramowitz and Stegun 26.2.23): only where the search begins */
static double normal_quantile(double p)
{
    double s = sqrt(-2 * log(p));
    return s - (2.515517 + s * (0.802853 + s * 0.010328)) / (1 + s * (1.432788 + s * (0.189269 + s * 0.001308)));
}

/* Newton for log(tail) as a function of log x, of the tail that is the smaller. a D / tail is monotone in x, so that
 * function is concave and the steps cannot cycle; a step out of the bracket (or NaN, where the tail underflows) is
 * replaced by its geometric middle. */
double epiqp_chi2_quantile(double nu, double p, int upper)
{
    if (!(nu > 0 && p > 0 && p < 1)) return NAN;
    if (nu > NORMAL_FROM) return nu;
    if (p > 0.5) {
        p = 1 - p; /* exact */
        upper = !upper;
    }
    double a = nu / 2, log_p = upper ? log1p(-p) : log(p), log_q = upper ? log(p) : log1p(-p);
    /* P <= x^a / Gamma(a+1), nearly equal for small x; Q(a + sqrt(2 a L) + L) <= e^-L */
    double lo = exp((log_p + log_gamma1(a)) / a), hi = a - log_q + sqrt(-2 * a * log_q);
    if (lo < 1e-14) return 2 * lo; /* relative error x / (a+1); may be subnormal or 0 */
    double w = 1 / (9 * a), cube = 1 - w + (upper ? 1 : -1) * normal_quantile(p) * sqrt(w);
    double x = cube > 0 ? a * cube * cube * cube : lo; /* Wilson and Hilferty */
    lo *= 1 - 1e-9;                                    /* both bounds may be attained to rounding */
    hi *= 1 + 1e-9;
    x = fmin(fmax(x, lo), hi);
    for (int i = 0; i < 200; i++) {
        double tail_p, tail_q;
        epiqp_gamma_pq(a, x, &tail_p, &tail_q);
        double tail = upper ? tail_q : tail_p, slope = a * term(a, x) / tail; /* |d log tail / d log x| */
        double step = (upper ? log(tail / p) : log(p / tail)) / slope;
        if (upper ? tail > p : tail < p) {
            lo = x;
        } else {
            hi = x;
        }
        double next = x * exp(step);
        if (!(next >= lo && next <= hi)) next = sqrt(lo) * sqrt(hi);
        x = next;
        if (fabs(step) < 1e-12) break;
    }
    return 2 * x;
}

void epiqp_variance_interval(double variance, double nu, double level, double *lo, double *hi)
{
    double p = (1 - level) / 2;
    if (!(variance >= 0 && nu > 0 && p > 0 && p < 0.5)) {
        *lo = *hi = NAN;
    } else if (variance == 0 || nu > NORMAL_FROM) {
        *lo = *hi = variance;
    } else {
        *lo = variance * (nu / epiqp_chi2_quantile(nu, p, 1));
        *hi = variance * (nu / epiqp_chi2_quantile(nu, p, 0)); /* infinite where the quantile underflows */
    }
}
