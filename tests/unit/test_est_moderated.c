/* --correction moderated: against the noise that was planted (the conditional truth sum c_i^2 s_i at infinite width), at a
 * training row, the mean and a random point, with equal noise and with noise that varies; a case small enough to be
 * computed by hand; neighbours of a Gram matrix given; rows beyond those that neighbours are chosen among. */
#include "epiq_details.h"
#include "est/variance.h"
#include "run/run.h"
#include "test.h"
#include "usual.h"

#include <stdlib.h>

enum { N = 200, POINTS = 3, WAYS = 2 };
static epiq_ctx *c;
static const char *const KINDS[POINTS] = {"a row", "the mean", "anywhere"}, *const FORM[] = {"equal", "slope", "near"};

typedef enum { EQUAL, SLOPE, NEARER, FORMS } form;

/* Standard deviation of the noise over the set's own, as in the studies. */
static double factor(form f, int set, ptrdiff_t d, const double *x)
{
    double middle = set == 1 ? 0.1 : 0, spread = set == 1 ? 0.2 / sqrt(12) : 0.1, away = 0;
    double typical = (double)d * (spread * spread + (0.1 - middle) * (0.1 - middle));
    for (ptrdiff_t k = 0; k < d; k++) {
        away += (x[k] - 0.1) * (x[k] - 0.1) / typical;
    }
    return f == SLOPE ? sqrt(1 + tanh(1.5 * (x[0] - middle) / spread)) : f == NEARER ? sqrt(2 / (1 + away)) : 1;
}

typedef struct {
    double noise2[N]; /* planted, target units */
    double truth[POINTS];
} planted;

static int find_truth(const epiqp_estimated *e, void *user)
{
    planted *t = user;
    for (ptrdiff_t p = 0; p < POINTS; p++) {
        const double *w = e->fit->ridge.c + p * N;
        t->truth[p] = 0;
        for (ptrdiff_t i = 0; i < N; i++) {
            t->truth[p] += w[i] * w[i] * t->noise2[i];
        }
    }
    return EPIQ_OK;
}

typedef struct {
    double ratio, log2, covered, count;
} tally;

static void add(tally *t, const epiq_part *p, double truth)
{
    double l = log(p->variance / truth);
    t->count++;
    t->ratio += p->variance / truth;
    t->log2 += l * l;
    t->covered += p->has_interval && p->lo <= truth && (p->open || truth <= p->hi);
}

static void simulate(int set, ptrdiff_t d, form f, int seed, tally got[WAYS][POINTS])
{
    double *x = malloc((size_t)(N * d + N) * sizeof *x), *y = x + N * d, at[POINTS * 16] = {0};
    planted truth;
    EQ(epiq_synth(c, set, N, d, (uint64_t)(1000 * seed + set), x, y), EPIQ_OK);
    for (int i = 0; i < N; i++) {
        const double *row = x + i * d;
        double mean = 0, sd = set == 1 ? 0.1 : 0.1 * (double)d, s = factor(f, set, d, row);
        for (ptrdiff_t k = 0; k < d; k++) {
            mean += set == 1 ? sin(row[k]) : exp(row[k]) + row[k] * row[k];
            at[k] = x[(seed * 7 % N) * d + k];
            at[d + k] += row[k] / N;
        }
        y[i] = mean + s * (y[i] - mean);
        truth.noise2[i] = s * s * sd * sd;
    }
    double z[16], ignored;
    EQ(epiq_synth(c, set, 1, d, (uint64_t)(999000 + seed), z, &ignored), EPIQ_OK);
    memcpy(at + 2 * d, z, (size_t)d * sizeof *z);
    epiq_options o = usual_options();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.scale = EPIQ_SCALE_NONE;
    o.methods = EPIQ_IF;
    o.threads = 1;
    epiq_data *data;
    epiq_points *points;
    epiq_result *r;
    EQ(epiq_data_new(c, N, d, x, y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &points), EPIQ_OK);
    EQ(epiq_points_add_rows(c, points, POINTS, at), EPIQ_OK);
    EQ(epiqp_estimate(c, data, points, &o, &(epiqp_request){.on_done = find_truth, .user = &truth}, &r), EPIQ_OK);
    for (int p = 0; p < POINTS; p++) {
        add(&got[0][p], epiq_point_corrected(r->points[p], EPIQ_CORRECTION_MODERATED), truth.truth[p]);
        add(&got[1][p], epiq_point_corrected(r->points[p], EPIQ_CORRECTION_ROWWISE), truth.truth[p]);
    }
    epiq_result_free(c, r);
    epiq_points_free(c, points);
    epiq_data_free(c, data);
    free(x);
}

/* Over 60 data sets a ratio's standard error is 0.02 to 0.05 (0.1 at the rows of set 2 with slope, where now and then one row
 * in a quiet place decides), a coverage rate's 0.03. Over 300 of them: rms 0.18 to 0.39 and 0.64 there, ratios 0.94 to 1.13
 * and 1.41 there, coverage 96 to 100 % and 89 % there; rowwise has rms 0.25 to 0.47, and 0.85 to 0.91 at rows of set 2. */
TEST(planted_noise_is_found_at_rows_the_mean_and_anywhere)
{
    enum { SEEDS = 60 };
    double all = 0, count = 0;
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    for (int design = 0; design < 2; design++) {
        for (int f = 0; f < FORMS; f++) {
            tally got[WAYS][POINTS] = {0};
            for (int seed = 1; seed <= SEEDS; seed++) {
                simulate(design ? 2 : 1, design ? 8 : 4, (form)f, seed, got);
            }
            for (int p = 0; p < POINTS; p++) {
                const tally *t = &got[0][p];
                bool hard = design && f == SLOPE && p == 0;
                double ratio = t->ratio / t->count, rms = sqrt(t->log2 / t->count), covered = t->covered / t->count;
                printf("set %d, %s, %s: ratio %.2f, rms log %.2f (rowwise %.2f), covered %.0f %%\n", design + 1,
                       FORM[f], KINDS[p], ratio, rms, sqrt(got[1][p].log2 / t->count), 100 * covered);
                TRUE(ratio > 0.85 && ratio < (hard ? 1.9 : 1.3));
                TRUE(rms < (hard ? 0.85 : f == EQUAL ? 0.28 : 0.46));
                TRUE(covered >= (hard ? 0.8 : 0.9));
                TRUE(f != EQUAL || rms < 0.8 * sqrt(got[1][p].log2 / t->count)); /* smoothing earns its place */
                all += t->covered;
                count += t->count;
            }
        }
    }
    TRUE(all / count > 0.94);
    epiq_ctx_free(c);
}

/* ---- by hand ---- */

/* Four of five rows weigh 1, their residuals 1, -1, 1, -1: V by rows is 4. Noise 1/2 everywhere makes the smoothed V 2.
 *     nu = 2/(3 4/16 - 1/5) = 40/11,  1/p_s = 2/4 + 1/10,  V = (20/11 4 + 5/3 2)/(20/11 + 5/3) = 70/23,  df = n - 1 */
TEST(a_point_by_hand)
{
    const double weights[] = {1, 1, 1, 1, 0}, v[] = {1, -1, 1, -1, 0};
    double excess[5] = {0}, noise[5], spread[5], u[5];
    for (int i = 0; i < 5; i++) {
        noise[i] = 0.5;
        spread[i] = 0.1; /* less than n - 1 degrees of freedom allow */
    }
    epiqp_rowwise rows = {.excess = excess, .unit = 1, .kurtosis = 2};
    epiqp_smoothed smooth = {.noise = noise, .sd = spread, .mean = 0.5, .varies = 0.1};
    epiqp_moderation how;
    epiq_part p = epiqp_if_moderated(&rows, &smooth, v, weights, 5, u, 0.95, &how);
    CLOSE(p.variance, 70.0 / 23, 1e-14);
    CLOSE(p.df, 4.0, 1e-14);
    CLOSE(how.rowwise, 12.0 / 23, 1e-14);
    TRUE(!how.floored);
    smooth.mean = 1000; /* where residuals say 4 and equal noise would have 4000: never less than 1/32 of that */
    p = epiqp_if_moderated(&rows, &smooth, v, weights, 5, u, 0.95, &how);
    CLOSE(p.variance, 125.0, 1e-14);
    TRUE(how.floored);
}

/* Twenty rows that weigh alike, by their own residuals 20 and smoothed 80: so far below, and with 19 degrees of freedom, the
 * rows are believed, a = (3/4)^2 80/20. */
TEST(rows_that_agree_are_believed)
{
    enum { ALL = 20 };
    double weights[ALL], v[ALL], excess[ALL] = {0}, noise[ALL], spread[ALL] = {0}, u[ALL];
    for (int i = 0; i < ALL; i++) {
        weights[i] = 1;
        v[i] = i % 2 ? 1 : -1;
        noise[i] = 4;
    }
    epiqp_rowwise rows = {.excess = excess, .unit = 1, .kurtosis = 1};
    epiqp_smoothed smooth = {.noise = noise, .sd = spread, .mean = 4};
    epiqp_moderation how;
    double by_smooth = 1 / (2.0 / 19 + (9.0 / 4 - 2.0 / 19) * 13 / 19);
    epiq_part p = epiqp_if_moderated(&rows, &smooth, v, weights, ALL, u, 0.95, &how);
    CLOSE(p.variance, (9.5 * 20 + by_smooth * 80) / (9.5 + by_smooth), 1e-13);
    CLOSE(p.df, 19.0, 1e-14);
}

/* ---- many rows: neighbours among 2048 of them ---- */

static void smooth_many(ptrdiff_t n, const double *x, const double *used, uint64_t seed, ptrdiff_t threads, double *out)
{
    epiq_options o = usual_options();
    o.seed = seed;
    o.threads = threads;
    o.engine = EPIQ_ENGINE_INFINITE;
    epiqp_arena scratch = {0};
    const epiqp_plan plan = {.seed = seed};
    const epiq_data rows = {.n = n, .d = 2, .x = (double *)(uintptr_t)x}; /* only read */
    epiqp_problem pb = {.e = epiqp_run_begin(c, &o), .plan = &plan, .data = &rows, .n = n, .scratch = &scratch};
    epiqp_fit fit;
    double *norm2 = malloc((size_t)n * sizeof *norm2), y = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        norm2[i] = 1;
    }
    EQ(epiqp_fit_new(&pb.e, &o, n, 2, x, &y, 1, x, &fit), EPIQ_OK);
    epiqp_ridge r = {.n = n, .shift = 1, .norm2 = norm2};
    epiqp_moderated w;
    EQ(epiqp_moderated_new(&pb, &(epiqp_solution){.fit = &fit, .ridge = &r}, &(epiqp_probes){0}, used,
                           &(epiqp_rowwise){.unit = 2}, &w),
       EPIQ_OK);
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = 4 * w.by.noise[i];
    }
    epiqp_fit_free(c, &fit);
    epiqp_arena_free(c, &scratch);
    epiqp_run_end();
    free(norm2);
}

/* Noise of standard deviation 1 left of 0 and 3 right of it. A twelfth of 2048 rows tells a variance to sqrt(2/170) = 11 %;
 * near 0 neighbourhoods reach over the border. */
TEST(noise_of_many_rows_is_found_among_some_of_them)
{
    enum { MANY = 3000, D = 2 };
    double *x = malloc((MANY * (D + 4)) * sizeof *x), *used = x + MANY * D, *got = used + MANY, *again = got + MANY,
           *other = again + MANY, off = 0, apart = 0, count = 0;
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    epiqp_normals((epiqp_stream){3, EPIQP_FOR_SYNTH_X, 1}, MANY * D, x);
    epiqp_normals((epiqp_stream){3, EPIQP_FOR_SYNTH_NOISE, 1}, MANY, used);
    for (int i = 0; i < MANY; i++) {
        used[i] *= x[i * D] < 0 ? 1 : 3;
    }
    smooth_many(MANY, x, used, 1, 1, got);
    smooth_many(MANY, x, used, 1, 3, again);
    smooth_many(MANY, x, used, 2, 1, other);
    for (int i = 0; i < MANY; i++) {
        NEAR(again[i], got[i], 0); /* whatever the number of threads */
        if (fabs(x[i * D]) > 0.5) {
            double l = log(got[i] / (x[i * D] < 0 ? 1 : 9));
            off += l * l;
            apart += fabs(log(other[i] / got[i]));
            count++;
        }
    }
    TRUE(sqrt(off / count) < 0.35 && apart / count < 0.15);
    TRUE(apart > 0); /* another seed, other rows to choose among */
    printf("rms log %.3f, between seeds %.3f\n", sqrt(off / count), apart / count);
    EQ(c->live_blocks, 0);
    epiq_ctx_free(c);
    free(x);
}

/* ---- real tables: every row's own prediction ---- */

typedef struct {
    double least, most; /* of V over noise |c|^2 */
} bounds;

static int hold_rows(const epiqp_estimated *e, void *user)
{
    bounds *b = user;
    const ptrdiff_t n = e->problem->n;
    const double unit = e->problem->data->y_factor,
                 noise = e->answer->result.fit->kernel_noise_variance / (unit * unit);
    for (ptrdiff_t p = 0; p < e->problem->points; p++) {
        const double *w = e->fit->ridge.c + p * n;
        double plain = noise * epiqp_dot(n, w, w), ratio = e->found->influence.part[p].variance / plain;
        b->least = fmin(b->least, ratio);
        b->most = fmax(b->most, ratio);
        TRUE(ratio >= 0.03 && ratio <= 100);
    }
    return EPIQ_OK;
}

TEST(no_row_of_the_real_tables_has_an_absurd_variance)
{
    static const char *const NAMES[] = {"boston", "concrete", "energy", "wine", "yacht"}, *const TARGETS[] = {
                                                                                              "medv", "strength",
                                                                                              "heating", "quality",
                                                                                              "resistance"};
    const char *folder = getenv("EPIQ_DATA");
    if (!folder) puts("SKIPPED: real tables: EPIQ_DATA names no folder");
    for (size_t k = 0; folder && k < sizeof NAMES / sizeof *NAMES; k++) {
        char path[4096];
        epiq_data *data;
        epiq_points *points;
        epiq_result *r;
        epiq_options o = usual_options();
        bounds b = {INFINITY, 0};
        EQ(epiq_ctx_new(&c), EPIQ_OK);
        snprintf(path, sizeof path, "%s/%s.csv", folder, NAMES[k]);
        o.engine = EPIQ_ENGINE_INFINITE;
        o.methods = EPIQ_IF;
        o.target = TARGETS[k];
        EQ(epiq_data_read(c, path, &o, &data), EPIQ_OK);
        EQ(epiq_points_new(c, data, &points), EPIQ_OK);
        EQ(epiq_points_add(c, points, path), EPIQ_OK);
        EQ(epiqp_estimate(c, data, points, &o, &(epiqp_request){.on_done = hold_rows, .user = &b}, &r), EPIQ_OK);
        printf("%s: %td rows, V over noise |c|^2 from %.3g to %.3g\n", NAMES[k], r->point_count, b.least, b.most);
        epiq_result_free(c, r);
        epiq_points_free(c, points);
        epiq_data_free(c, data);
        epiq_ctx_free(c);
    }
}
