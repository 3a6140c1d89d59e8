/* test_stats.c - moments, incomplete gamma functions, chi-squared quantiles and the interval of a variance. */
#include "golden/golden.h"
#include "stats/stats.h"
#include "test.h"

#include <float.h>

TEST(moments_of_a_few_numbers)
{
    double v[] = {4, 1, 7, 3, 5};
    NEAR(epiqp_mean(v, 5), 4, 0);
    NEAR(epiqp_variance(v, 5), 5, 0); /* (0 + 9 + 9 + 1 + 1) / 4 */
    NEAR(epiqp_median(v, 5), 4, 0);
    NEAR(epiqp_median((double[]){4, 1, 7, 3}, 4), 3.5, 0);
    NEAR(epiqp_variance(v, 1), 0, 0);
    NEAR(epiqp_variance(v, 0), 0, 0);
    TRUE(isnan(epiqp_mean(v, 0)));
    TRUE(isnan(epiqp_median(v, 0)));
}

TEST(variance_ignores_a_large_mean)
{
    enum { N = 1000 };
    double v[N];
    for (int i = 0; i < N; i++) {
        v[i] = 1e9 + (i % 4) * 0x1p-23; /* exact: one step of the doubles there, so that their mean is not a double */
    }
    NEAR(epiqp_mean(v, N), 1e9 + 0x1p-23, 0x1p-23);
    CLOSE(epiqp_variance(v, N), 1.25 * N / (N - 1) * 0x1p-46, 1e-13); /* N roundings of order DBL_EPSILON */
    for (int i = 0; i < N; i++) {
        v[i] = 0.1; /* not a dyadic number, so N times it rounds: equal values must still have no variance */
    }
    NEAR(epiqp_variance(v, N), 0, 0);
    NEAR(epiqp_mean(v, N), 0.1, 0);
}

TEST(chi2_quantiles_match_the_golden_table)
{
    FILE *f = fopen(GOLDEN "chi2.csv", "r");
    TRUE(f != NULL);
    if (!f) return;
    char line[512];
    int rows = 0;
    while (fgets(line, sizeof line, f)) {
        double nu, p, want;
        int upper;
        if (line[0] == '#') continue;
        EQ(sscanf(line, "%lf,%lf,%d,%lf", &nu, &p, &upper, &want), 4);
        double got = epiqp_chi2_quantile(nu, p, upper);
        /* promised 1e-11, measured 5e-14; subnormal answers come in steps of their own */
        if (!(fabs(got - want) <= 1e-12 * want + 2 * DBL_TRUE_MIN)) {
            TEST_FAIL("chi2_quantile(%g, %.17g, %d) is %.17g, wanted %.17g\n", nu, p, upper, got, want);
        }
        rows++;
    }
    fclose(f);
    TRUE(rows > 200);
}

TEST(two_degrees_of_freedom_are_an_exponential)
{
    for (double p = 1e-15; p < 1; p *= 3) {
        CLOSE(epiqp_chi2_quantile(2, p, 0), -2 * log1p(-p), 1e-14);
        CLOSE(epiqp_chi2_quantile(2, p, 1), -2 * log(p), 1e-14);
    }
}

TEST(gamma_functions_have_closed_forms)
{
    double p, q;
    for (double x = 1e-6; x < 500; x *= 1.7) {
        epiqp_gamma_pq(1, x, &p, &q);
        CLOSE(p, -expm1(-x), 1e-14);
        CLOSE(q, exp(-x), 1e-14 + x * DBL_EPSILON); /* the exponent a log x - x is rounded */
        epiqp_gamma_pq(0.5, x, &p, &q);
        CLOSE(p, erf(sqrt(x)), 1e-14);
        CLOSE(q, erfc(sqrt(x)), 1e-14 + 2 * x * DBL_EPSILON); /* and so is erfc's argument */
        epiqp_gamma_pq(3, x, &p, &q);
        CLOSE(q, exp(-x) * (1 + x + x * x / 2), 1e-14 + x * DBL_EPSILON);
    }
    epiqp_gamma_pq(2.5, 0, &p, &q);
    NEAR(p, 0, 0);
    NEAR(q, 1, 0);
    epiqp_gamma_pq(2.5, HUGE_VAL, &p, &q);
    NEAR(p, 1, 0);
    NEAR(q, 0, 0);
}

TEST(gamma_functions_match_the_golden_table)
{
    FILE *f = fopen(GOLDEN "gamma.csv", "r");
    TRUE(f != NULL);
    if (!f) return;
    char line[512];
    int rows = 0;
    while (fgets(line, sizeof line, f)) {
        double a, x, want[2], got[2];
        if (line[0] == '#') continue;
        EQ(sscanf(line, "%lf,%lf,%lf,%lf", &a, &x, &want[0], &want[1]), 4);
        epiqp_gamma_pq(a, x, &got[0], &got[1]);
        const double tolerance =
            1e-13; /* exponents reach 70, each rounded, and sums a thousand terms: measured 3e-14 */
        for (int k = 0; k < 2; k++) {
            if (!(fabs(got[k] - want[k]) <= tolerance * want[k])) {
                TEST_FAIL("%c(%.17g, %.17g) is %.17g, wanted %.17g\n", "PQ"[k], a, x, got[k], want[k]);
            }
        }
        rows++;
    }
    fclose(f);
    TRUE(rows > 150);
}

TEST(quantile_inverts_both_tails)
{
    for (double nu = 1e-2; nu < 2e8; nu *= 2.3) {
        for (double p = 1e-12; p < 0.6; p *= 2.7) {
            for (int upper = 0; upper < 2; upper++) {
                double x = epiqp_chi2_quantile(nu, p, upper), tail[2];
                if (x < DBL_MIN) {
                    TRUE(x >= 0 && nu < 0.1 && !upper);
                    continue;
                }
                epiqp_gamma_pq(nu / 2, x / 2, &tail[0], &tail[1]);
                /* x itself is rounded, which moves the tail by (x density / tail) DBL_EPSILON < 20 sqrt(nu) DBL_EPSILON
                 */
                CLOSE(tail[upper], p, 1e-13 + 20 * sqrt(nu) * DBL_EPSILON);
            }
            /* 1 - p is rounded, so only where that is harmless */
            if (p > 1e-3) CLOSE(epiqp_chi2_quantile(nu, 1 - p, 0), epiqp_chi2_quantile(nu, p, 1), 1e-10);
        }
    }
}

TEST(quantile_grows_with_p_and_nu)
{
    double before = 0;
    for (double p = 0.001; p < 0.9995; p += 0.001) { /* crosses 1/2, where the tail changes */
        double x = epiqp_chi2_quantile(7.5, p, 0);
        TRUE(x > before);
        before = x;
    }
    before = 0;
    for (double nu = 0.02; nu < 1e9; nu *= 1.1) {
        double x = epiqp_chi2_quantile(nu, 0.3, 0);
        TRUE(x > before);
        before = x;
    }
}

TEST(extreme_and_impossible_arguments)
{
    NEAR(epiqp_chi2_quantile(0.01, 1e-12, 0), 0, 0); /* about 1e-2400 */
    CLOSE(epiqp_chi2_quantile(1e12, 0.5, 0), 1e12, 1e-11);
    CLOSE(epiqp_chi2_quantile(1e40, 0.025, 1), 1e40, 1e-15);
    CLOSE(epiqp_chi2_quantile(3, 1e-300, 1), 1388.3367738546858, 1e-12); /* scipy 1.17.1, chi2.isf */
    TRUE(isinf(epiqp_chi2_quantile(HUGE_VAL, 0.5, 0)));
    TRUE(isnan(epiqp_chi2_quantile(0, 0.5, 0)) && isnan(epiqp_chi2_quantile(-1, 0.5, 0)));
    TRUE(isnan(epiqp_chi2_quantile(3, 0, 0)) && isnan(epiqp_chi2_quantile(3, 1, 0)));
    TRUE(isnan(epiqp_chi2_quantile(NAN, 0.5, 0)) && isnan(epiqp_chi2_quantile(3, NAN, 1)));
}

TEST(variance_intervals_are_those_of_the_method)
{
    const double known[][3] = {
        {5, 0.36, 8.26}, {10, 0.47, 3.33}, {50, 0.70, 1.55}}; /* m, and the two factors at 95 % */
    for (int i = 0; i < 3; i++) {
        double lo, hi;
        epiqp_variance_interval(1, known[i][0] - 1, 0.95, &lo, &hi);
        NEAR(lo, known[i][1], 0.005); /* printed to two places */
        NEAR(hi, known[i][2], 0.005);
        double lo3, hi3;
        epiqp_variance_interval(3e-4, known[i][0] - 1, 0.95, &lo3, &hi3);
        CLOSE(lo3, 3e-4 * lo, 4 * DBL_EPSILON);
        CLOSE(hi3, 3e-4 * hi, 4 * DBL_EPSILON);
    }
}

TEST(variance_intervals_at_the_edges)
{
    double lo, hi;
    epiqp_variance_interval(2.5, HUGE_VAL, 0.95, &lo, &hi); /* a closed form has no spread */
    TRUE(lo == 2.5 && hi == 2.5);
    epiqp_variance_interval(0, 4, 0.95, &lo, &hi);
    TRUE(lo == 0 && hi == 0);
    epiqp_variance_interval(1, 1e-2, 0.95, &lo, &hi); /* the lower quantile is 4e-321, the upper one 0.00715 */
    CLOSE(lo, 1.3977, 1e-3);
    TRUE(isinf(hi));
    epiqp_variance_interval(1, 4, 1, &lo, &hi);
    TRUE(isnan(lo) && isnan(hi));
    epiqp_variance_interval(NAN, 4, 0.95, &lo, &hi);
    TRUE(isnan(lo) && isnan(hi));
    epiqp_variance_interval(-1, 4, 0.95, &lo, &hi);
    TRUE(isnan(lo) && isnan(hi));
}

/* The intervals of the influence estimator, computed in mpmath from the same V and nu (not whole numbers). */
TEST(variance_intervals_match_the_golden_ones)
{
    golden_load(GOLDEN "if.txt");
    for (int problem = 0; problem < 4; problem++) {
        for (int grouped = 0; grouped < 2; grouped++) {
            const double *table[4];
            ptrdiff_t rows, cols;
            for (int k = 0; k < 4; k++) {
                char name[64];
                snprintf(name, sizeof name, "p%d_%s%s", problem, grouped ? "group_" : "",
                         (const char *[]){"V", "nu", "lo", "hi"}[k]);
                table[k] = golden_get(name, &rows, &cols);
            }
            for (ptrdiff_t i = 0; i < rows * cols; i++) {
                double lo, hi;
                epiqp_variance_interval(table[0][i], table[1][i], 0.95, &lo, &hi);
                if (isinf(table[3][i])) { /* nu so small that the lower quantile is below every double */
                    TRUE(isinf(hi));
                    continue;
                }
                CLOSE(lo, table[2][i], 1e-13);
                CLOSE(hi, table[3][i], 1e-13);
            }
        }
    }
}

/* pi^2/6 and Euler's constant; trigamma(1/2) = pi^2/2. */
TEST(derivatives_of_log_gamma)
{
    NEAR(epiqp_digamma(1), -0.57721566490153286, 1e-13);
    NEAR(epiqp_digamma(1.5), 0.03648997397857652, 1e-13);
    NEAR(epiqp_trigamma(1), 1.6449340668482264, 1e-13);
    NEAR(epiqp_trigamma(0.5), 4.934802200544679, 1e-12);
    for (double x = 1e-3; x < 1e6; x *= 3) {
        CLOSE(epiqp_trigamma_inverse(epiqp_trigamma(x)), x, 1e-9); /* trigamma is flat for large x */
    }
}
