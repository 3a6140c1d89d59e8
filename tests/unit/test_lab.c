/* The statistics behind the studies: against scipy's values, closed forms and planted answers. */
#include "study/lab.h"
#include "test.h"

#include <stdlib.h>

TEST(wilson_intervals_match_scipy)
{
    static const struct {
        ptrdiff_t hits, trials;
        double lo, hi; /* scipy.stats.binomtest(...).proportion_ci(method="wilson") */
    } CASES[] = {{45, 50, 0.7863976856252034, 0.9565242350681095},
                 {0, 10, 0, 0.27753279986288926},
                 {10, 10, 0.7224672001371109, 1},
                 {950, 1000, 0.9346861797557491, 0.9618697376072511}};
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        study_rate r = lab_wilson(CASES[k].hits, CASES[k].trials);
        NEAR(r.rate, (double)CASES[k].hits / (double)CASES[k].trials, 0);
        NEAR(r.lo, CASES[k].lo, 1e-14);
        NEAR(r.hi, CASES[k].hi, 1e-14);
    }
    TRUE(isnan(lab_wilson(0, 0).rate));
}

TEST(normal_quantiles_match_scipy)
{
    NEAR(lab_normal_quantile(0.001), -3.090232306167813, 1e-12);
    NEAR(lab_normal_quantile(0.5), 0, 1e-12);
    NEAR(lab_normal_quantile(0.99999), 4.264890793923841, 1e-9); /* 1 - 1e-5 is rounded to 1e-16: 1e-11 of the tail */
}

TEST(anderson_darling_matches_scipy)
{
    double v[25], p;
    for (int k = 0; k < 25; k++) {
        v[k] = sin(k * k * 0.7) + 0.3 * cos(3 * k);
    }
    NEAR(lab_anderson_darling(v, 25, &p), 0.31542161956596726, 1e-12); /* scipy's A^2, adjusted for 25 values */
    TRUE(p > 0.5 && p < 0.6);
    for (int k = 0; k < 25; k++) {
        v[k] = exp(1.5 * sin(k * k * 0.7));
    }
    NEAR(lab_anderson_darling(v, 25, &p), 0.8652498046761639, 1e-12);
    TRUE(p > 0.025 && p < 0.028); /* Stephens' table: 0.873 at 2.5 %, 0.752 at 5 % */
}

static double mean_of_field(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    (void)how;
    double sum = 0;
    for (ptrdiff_t rep = 0; rep < c->reps; rep++) {
        sum += rep == leave_out ? 0 : lab_get(c, rep, S_PREDICTION);
    }
    return sum / (double)(c->reps - (leave_out >= 0));
}

/* J data sets, each with m' + 1 networks: h_rj = a_r + w_rj, drawn from a small generator. */
enum { J = 400, M = 5 };
static double uniform(void)
{
    static uint64_t state = 12345;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}
static double nearly_normal(void)
{
    double sum = -6;
    for (int k = 0; k < 12; k++) {
        sum += uniform();
    }
    return sum;
}

static lab_cell planted(double data_sd, double tau)
{
    lab_cell c = {.set = 1, .n = 10, .d = 2, .reps = J, .o = epiq_options_default()};
    c.o.members = M + 1;
    c.o.batches = M;
    c.length = lab_sample_length(&c);
    c.samples = calloc((size_t)(J * c.length), sizeof *c.samples);
    for (ptrdiff_t rep = 0; rep < J; rep++) {
        double a = data_sd * nearly_normal(), *h = c.samples + rep * c.length;
        h[S_PREDICTION] = a;
        for (int k = 0; k <= M; k++) {
            h[S_FIXED + k] = a + tau * nearly_normal();
        }
        h[S_EV] = lab_variance(h + S_FIXED, M + 1);
        h[S_EV_DF] = M;
    }
    return c;
}

TEST(the_jackknife_of_a_mean_is_its_standard_error)
{
    lab_cell c = planted(2, 1);
    double v[J];
    for (ptrdiff_t rep = 0; rep < J; rep++) {
        v[rep] = lab_get(&c, rep, S_PREDICTION);
    }
    lab_number got = lab_jackknife(&c, mean_of_field, NULL), same = lab_field(&c, S_PREDICTION);
    NEAR(got.value, lab_mean(v, J), 1e-14);
    NEAR(got.se, sqrt(lab_variance(v, J) / J), 1e-13); /* an identity */
    NEAR(same.value, got.value, 1e-14);
    NEAR(same.se, got.se, 1e-13);
    free(c.samples);
}

TEST(truth_is_recovered_within_its_own_error)
{
    lab_cell c = planted(0.5, 1.5);
    const struct {
        lab_quantity which;
        double planted;
    } CASES[] = {{LAB_TAU2, 2.25},
                 {LAB_DATA, 0.25},
                 {LAB_ENSEMBLE, 0.25 + 2.25 / M},
                 {LAB_PAPER_TAU2, 2.25},
                 {LAB_PAPER_DATA, 0.25}};
    lab_number found[5];
    for (int k = 0; k < 5; k++) {
        lab_number t = found[k] = lab_truth(&c, CASES[k].which);
        TRUE(t.se > 0 && fabs(t.value - CASES[k].planted) < 4 * t.se);
    }
    /* tau^2: mean of J variances with M degrees of freedom each; the paper's difference is several times worse */
    NEAR(found[0].se, 2.25 * sqrt(2.0 / (M * J)), 0.2 * found[0].se);
    TRUE(found[3].se > 2 * found[0].se && found[4].se > found[1].se);
    /* EV of so many normal predictions covers what was planted as often as it says, within 3 binomial errors */
    NEAR(lab_coverage(&c, S_EV, S_EV_DF, 2.25, 0.95).rate, 0.95, 3 * sqrt(0.95 * 0.05 / J));
    NEAR(lab_coverage(&c, S_EV, S_EV_DF, 2.25, 0.9).rate, 0.9, 3 * sqrt(0.9 * 0.1 / J));
    NEAR(lab_ratio(&c, S_EV, LAB_TAU2).value, 1, 1e-12); /* the same numbers by another way */
    free(c.samples);
}

TEST(published_tables_hold_every_cell)
{
    for (int n = 200; n <= 1000; n += n == 200 ? 300 : 500) {
        for (int d = 2; d <= 32; d *= 2) {
            lab_published p = lab_published_synthetic(1, n, d);
            /* the paper rounds to two digits: its sum agrees with its parts to about a tenth */
            NEAR(p.ensemble_truth, p.data_truth + p.tau2_truth / 5, 0.2 * p.ensemble_truth);
        }
    }
    TRUE(lab_published_synthetic(1, 500, 8).tau2 == 9.0e-4 && lab_published_synthetic(2, 200, 16).data == 0.34);
    TRUE(lab_published_synthetic(3, 500, 2).ensemble == 6.9e-4 && lab_published_real("energy").tau2 == 10.8e-3);
    TRUE(isnan(lab_published_synthetic(2, 500, 2).tau2) && isnan(lab_published_real("nothing").data));
}
