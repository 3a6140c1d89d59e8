/* The statistics behind the studies: against scipy's values, closed forms and planted answers. */
#include "study/lab.h"
#include "test.h"
#include "usual.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    lab_cell c = {.set = 1, .n = 10, .d = 2, .reps = J, .o = usual_options()};
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
    study_number got = lab_jackknife(&c, mean_of_field, NULL), same = lab_field(&c, S_PREDICTION);
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
    study_number found[5];
    for (int k = 0; k < 5; k++) {
        study_number t = found[k] = lab_truth(&c, CASES[k].which);
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

/* What is planted: a control variate k whose mean given the features varies, networks that follow it in part, add what it
 * does not explain, and differ by tau. */
enum { FEATURES_SHARE = 36 }; /* of k's variance, in hundredths */
static lab_cell following(double b, double own_sd, double tau)
{
    lab_cell c = planted(0, 1);
    for (ptrdiff_t rep = 0; rep < J; rep++) {
        double *h = c.samples + rep * c.length, f = sqrt(FEATURES_SHARE / 100.0) * nearly_normal();
        h[S_CONTROL_NOISE] = 1 - FEATURES_SHARE / 100.0;
        h[S_CONTROL_MEAN] = f;
        h[S_CONTROL] = f + sqrt(h[S_CONTROL_NOISE]) * nearly_normal();
        double a = b * h[S_CONTROL] + own_sd * nearly_normal();
        for (int m = 0; m <= M; m++) {
            h[S_FIXED + m] = a + tau * nearly_normal();
        }
    }
    return c;
}

static double slope_of(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    (void)how;
    return lab_from_control(c, leave_out).b;
}

TEST(the_control_variate_gives_the_planted_truth_with_less_error)
{
    const double b = 0.8, own = 0.02, TAU[] = {0.3, 2}; /* with the second tau^2/M is many errors of the truth */
    for (int k = 0; k < 2; k++) {
        lab_cell c = following(b, sqrt(own), TAU[k]);
        study_number plain = lab_truth(&c, LAB_DATA);
        c.control = true;
        study_number sharp = lab_truth(&c, LAB_DATA), slope = lab_jackknife(&c, slope_of, NULL);
        double rest = own + TAU[k] * TAU[k] / (M + 1), share = b * b * FEATURES_SHARE / 100.0;
        TRUE(fabs(sharp.value - (b * b + own)) < 4 * sharp.se && fabs(slope.value - b) < 4 * slope.se);
        TRUE(k > 0 || sharp.se < 0.6 * plain.se); /* 0.47 by what follows */
        /* b is a regression's: its error is sqrt(rest / J); the truth's is made of it, of the spread of what k does not
         * explain, and of that of k's mean over the features */
        NEAR(slope.se, sqrt(rest / J), 0.2 * slope.se);
        NEAR(sharp.se, sqrt((4 * b * b * rest + 2 * rest * rest + 2 * share * share) / J), 0.3 * sharp.se);
        NEAR(lab_truth(&c, LAB_ENSEMBLE).value, sharp.value + lab_truth(&c, LAB_TAU2).value / M, 1e-12);
        /* points of one kind are summed, others left out */
        c.points = 1;
        c.places[0] = PLACE_RANDOM;
        NEAR(lab_truth_over(&c, PLACE_RANDOM).value, sharp.value, 0);
        NEAR(lab_truth_over(&c, PLACE_ALL).se, sharp.se, 0);
        NEAR(lab_truth_over(&c, PLACE_ROW).value, 0, 0);
        c.samples[S_CONTROL] = NAN; /* not known everywhere: the plain form */
        NEAR(lab_truth(&c, LAB_DATA).value, plain.value, 0);
        free(c.samples);
    }
}

static lab_cell small_cell(int set, lab_noise noise, int scale)
{
    lab_cell c = {.set = set, .n = 40, .d = 3, .noise = noise, .points = 4, .reps = 1, .control = true};
    const lab_place places[] = {PLACE_X0, PLACE_MEAN, PLACE_RANDOM, PLACE_ROW};
    memcpy(c.places, places, sizeof places);
    c.o = usual_options();
    c.o.engine = EPIQ_ENGINE_INFINITE;
    c.o.methods = EPIQ_IF | EPIQ_EV;
    c.o.members = c.o.batches = 2;
    c.o.scale = scale;
    c.o.threads = 1;
    c.length = lab_sample_length(&c);
    return c;
}

TEST(the_studys_own_solution_is_the_librarys_kernel_prediction)
{
    epiq_ctx *ctx;
    EQ(epiq_ctx_new(&ctx), EPIQ_OK);
    for (int k = 0; k < 6; k++) {
        lab_cell c = small_cell(k % 3 == 0 ? LAB_SMOOTH : k % 3, (lab_noise)(k % 5),
                                k % 2 ? EPIQ_SCALE_STANDARD : EPIQ_SCALE_NONE);
        c.o.depth = 1 + k / 3;
        double sample[4 * (S_FIXED + 4)];
        EQ(c.length, (ptrdiff_t)(sizeof sample / sizeof *sample));
        EQ(lab_sample(ctx, &c, NULL, k, sample), EPIQ_OK);
        for (int p = 0; p < 4; p++) { /* both solve a system of condition 1e4 or so */
            const double *s = sample + p * (S_FIXED + 4);
            NEAR(s[S_CONTROL], s[S_KERNEL], 1e-10 * (1 + fabs(s[S_KERNEL])));
        }
    }
    lab_cell c = small_cell(2, NOISE_EQUAL, EPIQ_SCALE_MINMAX); /* where the predictor is not linear there is none */
    double sample[4 * (S_FIXED + 4)];
    EQ(lab_sample(ctx, &c, NULL, 0, sample), EPIQ_OK);
    TRUE(isnan(sample[S_CONTROL]) && isfinite(sample[S_KERNEL]));
    epiq_ctx_free(ctx);
}

/* What is said about y given x, its mean and its variance, against y itself: the control variate less its mean given the
 * features has mean 0 and, over data sets, the mean of the variances given them. */
TEST(noise_is_what_the_cells_say_it_is)
{
    enum { SETS = 600 };
    epiq_ctx *ctx;
    EQ(epiq_ctx_new(&ctx), EPIQ_OK);
    for (int k = 0; k < 5; k++) {
        lab_cell c =
            small_cell(k == 0 ? LAB_SMOOTH : 1 + k % 3, (lab_noise)k, k % 2 ? EPIQ_SCALE_STANDARD : EPIQ_SCALE_NONE);
        double sample[4 * (S_FIXED + 4)], off[4][SETS], noise[4] = {0};
        for (int rep = 0; rep < SETS; rep++) {
            lab_drawn drawn;
            EQ(lab_draw(ctx, &c, rep, &drawn), EPIQ_OK);
            EQ(lab_control(ctx, &c, &c.o, &drawn, sample), EPIQ_OK);
            for (int p = 0; p < 4; p++) {
                const double *s = sample + p * (S_FIXED + 4);
                off[p][rep] = s[S_CONTROL] - s[S_CONTROL_MEAN];
                noise[p] += s[S_CONTROL_NOISE] / SETS;
            }
            NEAR(drawn.x[0], drawn.points[3 * c.d], 0); /* the row that is asked about is trained on */
            free(drawn.x);
        }
        for (int p = 0; p < 4; p++) { /* a variance of 600 numbers is known to 5.8 %, more roughly where noise varies */
            NEAR(lab_mean(off[p], SETS), 0, 4 * sqrt(noise[p] / SETS));
            NEAR(lab_variance(off[p], SETS) / noise[p], 1, 4 * 0.08);
        }
    }
    epiq_ctx_free(ctx);
}

/* A small table in a folder of its own: what is planted is kernel regression of its target, and is drawn from as told. */
TEST(a_planted_table_is_the_kernels_fit_and_its_rows_are_drawn_once)
{
    enum { ROWS = 60, D = 2 };
    static const lab_table TABLE = {"tiny", "target", ROWS, D};
    char folder[] = "/tmp/epiq-lab-XXXXXX", path[64];
    epiq_ctx *ctx;
    const lab_planted *p;
    study_job job = {.data_dir = folder, .crew = {.workers = &ctx, .threads = 1}};
    lab l = {.job = &job, .result = calloc(1, sizeof *l.result)};
    EQ(epiq_ctx_new(&ctx), EPIQ_OK);
    TRUE(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/tiny.csv", folder);
    FILE *out = fopen(path, "w");
    fputs("a,target,b\n", out);
    for (int i = 0; i < ROWS; i++) {
        double a = 10 + uniform(), b = 100 * uniform();
        fprintf(out, "%.6f,%.6f,%.6f\n", a, 5 * a * a + sin(b / 20), b);
    }
    fclose(out);
    EQ(lab_plant(&l, &TABLE, &p), EPIQ_OK);
    epiq_options o = usual_options();
    epiq_data *data;
    epiq_points *at;
    epiq_result *r;
    o.engine = EPIQ_ENGINE_INFINITE; /* scale standard: what the planted table's own standardisation must agree with */
    o.methods = EPIQ_IF;
    o.target = "target";
    EQ(epiq_data_read(ctx, path, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(ctx, data, &at), EPIQ_OK);
    EQ(epiq_points_add(ctx, at, "row:1"), EPIQ_OK);
    EQ(epiq_points_add(ctx, at, "row:17"), EPIQ_OK);
    EQ(epiq_points_add(ctx, at, "row:60"), EPIQ_OK);
    EQ(epiq_estimate(ctx, data, at, &o, &r), EPIQ_OK);
    double k0 = r->points[0]->kernel_prediction.value, k1 = r->points[1]->kernel_prediction.value,
           k2 = r->points[2]->kernel_prediction.value;
    /* standardised once more, so known but for shift and factor */
    NEAR((p->f[59] - p->f[0]) / (p->f[16] - p->f[0]), (k2 - k0) / (k1 - k0), 1e-8);
    NEAR(lab_mean(p->f, ROWS), 0, 1e-12);
    NEAR(lab_variance(p->f, ROWS), ROWS / (ROWS - 1.0), 1e-10);
    epiq_result_free(ctx, r);
    epiq_points_free(ctx, at);
    epiq_data_free(ctx, data);
    lab_cell c = small_cell(0, NOISE_EQUAL, EPIQ_SCALE_NONE);
    c.table = &TABLE;
    c.planted = p;
    c.d = D;
    c.places[0] = PLACE_RANDOM;
    for (int rep = 0; rep < 20; rep++) {
        lab_drawn drawn;
        EQ(lab_draw(ctx, &c, rep, &drawn), EPIQ_OK);
        NEAR(drawn.x[0], drawn.points[3 * D], 0);
        for (ptrdiff_t i = 0; i < c.n; i++) {
            TRUE(drawn.x[i * D] != drawn.points[0] &&
                 drawn.x[i * D] != drawn.points[2 * D]); /* random: not trained on */
            for (ptrdiff_t k = 0; k < i; k++) {
                TRUE(drawn.x[i * D] != drawn.x[k * D]);
            }
        }
        free(drawn.x);
    }
    job.data_dir = "/tmp/epiq-lab-nowhere";
    EQ(lab_plant(&l, &TABLE, &p), EPIQ_E_FILE);
    job.data_dir = folder;
    out = fopen(path, "w");
    fputs("a,target,b\n1,2,n/a\n", out);
    fclose(out);
    EQ(lab_plant(&l, &TABLE, &p), EPIQ_E_DATA);
    study_result_free(l.result);
    remove(path);
    rmdir(folder);
    epiq_ctx_free(ctx);
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
