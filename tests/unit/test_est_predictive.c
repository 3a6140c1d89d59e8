/* Leaving rows out, sweeps and where a new observation would fall: against literal refits without each row or group,
 * against asking at the same points one by one, and against fresh data. All through epiq.h but for the select and what
 * only large groups show. */
#include "allocations.h"
#include "epiq_details.h"
#include "est/variance.h"
#include "one_estimate.h"
#include "rng/rng.h"
#include "run/run.h"
#include "stats/stats.h"
#include "usual.h"

#include <stdlib.h>

enum { N = 40, D = 3, WIDE = 30 };
static double X[N * D], Y[N];
static const double X0[2 * D] = {0.1, 0.1, 0.1, 0.02, 0.15, 0.08};

static void make(int set, ptrdiff_t n, ptrdiff_t d, uint64_t seed, double *x, double *y)
{
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    EQ(epiq_synth(own, set, n, d, seed, x, y), EPIQ_OK);
    epiq_ctx_free(own);
}

static epiq_options plain(void)
{
    epiq_options o = usual_options();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.scale = EPIQ_SCALE_NONE;
    o.methods = EPIQ_IF | EPIQ_EV;
    o.threads = 2;
    return o;
}

/* The message of that warning; NULL: there is none. */
static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- leaving out, by refitting ---- */

/* Refit without the rows of group g, the ridge lambda n held: predictions at X0 and at all rows. */
static void refit_without(int64_t g, const int64_t *group, const epiq_options *o, double at0[2], double at_rows[N])
{
    double x[N * D], y[N], where[(2 + N) * D];
    ptrdiff_t kept = 0;
    for (int i = 0; i < N; i++) {
        if (group[i] != g) {
            memcpy(x + kept * D, X + i * D, sizeof(double) * D);
            y[kept++] = Y[i];
        }
    }
    memcpy(where, X0, sizeof X0);
    memcpy(where + 2 * D, X, sizeof X);
    epiq_options held = *o;
    held.lambda *= (double)N / (double)kept;
    held.level = 0.5;
    EQ(run(kept, D, x, y, NULL, 2 + N, where, &held), EPIQ_OK);
    for (int p = 0; p < 2; p++) {
        at0[p] = r->points[p]->prediction;
    }
    for (int i = 0; i < N; i++) {
        at_rows[i] = r->points[2 + i]->prediction;
    }
}

/* Jackknife+ by its definition: each row's values repeated so often that all groups count the same. 12 is a multiple
 * of every group's size. */
static void jackknife_plus(const int64_t *group, int groups, double level, const epiq_options *o, double lo[2],
                           double hi[2])
{
    static double low[2][12 * N], high[2][12 * N];
    int count = 0;
    for (int64_t g = 0; g < groups; g++) {
        double at0[2], at_rows[N];
        refit_without(g, group, o, at0, at_rows);
        int size = 0;
        for (int i = 0; i < N; i++) {
            size += group[i] == g;
        }
        for (int i = 0; i < N; i++) {
            for (int k = 0; group[i] == g && k < 12 / size; k++, count++) {
                for (int p = 0; p < 2; p++) {
                    low[p][count] = at0[p] - fabs(Y[i] - at_rows[i]);
                    high[p][count] = at0[p] + fabs(Y[i] - at_rows[i]);
                }
            }
        }
    }
    EQ(count, 12 * groups);
    for (int p = 0; p < 2; p++) {
        qsort(low[p], (size_t)count, sizeof(double), rising);
        qsort(high[p], (size_t)count, sizeof(double), rising);
        /* the least t with (weight up to t)/(groups + 1) >= level, and its mirror image */
        int k = (int)ceil(12 * level * (groups + 1) - 1e-6);
        hi[p] = high[p][k - 1];
        lo[p] = low[p][count - k];
    }
}

/* Groups of 1, 2, 3, 4 and 6 rows, not in one piece, whose sizes all divide 12; or every row by itself. Returns how many. */
static int make_groups(bool grouped, int64_t *group)
{
    const int sizes[] = {1, 2, 3, 4, 6};
    int groups = 0;
    for (int i = 0, left = 0; i < N; i++) {
        int last = N - i == 1 || !left;
        groups += last;
        left = !left ? (grouped ? sizes[groups % 5] : 1) - 1 : left - 1;
        group[i] = groups - 1;
    }
    for (int g = 0; grouped && g < groups; g++) { /* what is left for the last group must divide 12 too */
        int size = 0;
        for (int i = 0; i < N; i++) {
            size += group[i] == g;
        }
        EQ(12 % size, 0);
    }
    for (int i = 0; grouped && i < N; i++) {
        int other = (i * 7) % N;
        int64_t own = group[i];
        group[i] = group[other];
        group[other] = own;
    }
    return groups;
}

TEST(the_interval_of_a_new_observation_is_what_refitting_gives)
{
    const double levels[] = {0.5, 0.8, 0.9};
    make(2, N, D, 3, X, Y);
    for (int k = 0; k < 6; k++) {
        int64_t group[N];
        int groups = make_groups(k % 2, group);
        epiq_options o = plain();
        double lo[2], hi[2];
        jackknife_plus(group, groups, levels[k / 2], &o, lo, hi);
        o.level = levels[k / 2];
        o.solver = EPIQ_SOLVER_DIVIDED; /* of one part: the exact solution, with the interval of kernel regression */
        o.parts = 1;
        EQ(run(N, D, X, Y, k % 2 ? group : NULL, 2, X0, &o), EPIQ_OK);
        for (int p = 0; p < 2; p++) {
            TRUE(r->points[p]->predictive.known);
            NEAR(r->points[p]->predictive.lo, lo[p], 1e-9); /* y is of order 1, A's condition below 1e4 */
            NEAR(r->points[p]->predictive.hi, hi[p], 1e-9);
            NEAR(r->points[p]->predictive.noise, r->fit->kernel_noise_variance, 0);
        }
    }
    done();
}

TEST(a_row_left_out_is_predicted_as_refitting_does)
{
    int64_t alone[N];
    double loo[N], at0[2], at_rows[N];
    epiq_options o = plain();
    make(2, N, D, 3, X, Y);
    make_groups(false, alone);
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    memcpy(loo, r->fit->loo, sizeof loo);
    for (int i = 0; i < N; i++) {
        NEAR(r->fit->observed[i], Y[i], 1e-15);
    }
    for (int i = 0; i < N; i++) {
        refit_without(i, alone, &o, at0, at_rows);
        NEAR(loo[i], at_rows[i], 1e-9);
    }
    done();
}

/* y_i - loo_i is linear in y: its weights are what unit vectors give, and its variance noise times their squares. */
TEST(the_error_of_a_row_left_out_varies_as_its_weights_say)
{
    double sd[N], weight2[N] = {0};
    epiq_options o = plain();
    make(2, N, D, 3, X, Y);
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    memcpy(sd, r->fit->loo_sd, sizeof sd);
    double noise = r->fit->kernel_noise_variance;
    for (int k = 0; k < N; k++) {
        double unit[N] = {0};
        unit[k] = 1;
        EQ(run(N, D, X, unit, NULL, 2, X0, &o), EPIQ_OK);
        for (int i = 0; i < N; i++) {
            weight2[i] += (unit[i] - r->fit->loo[i]) * (unit[i] - r->fit->loo[i]);
        }
    }
    for (int i = 0; i < N; i++) {
        CLOSE(sd[i], sqrt(noise * weight2[i]), 1e-9);
    }
    done();
}

TEST(the_selected_value_is_the_sorted_one)
{
    for (int trial = 0; trial < 300; trial++) {
        epiqp_weighted v[37], sorted[37];
        ptrdiff_t count = 1 + trial % 37;
        double x[37 * 2], y[37], total = 0;
        make(1, count, 2, (uint64_t)trial, x, y);
        for (int i = 0; i < count; i++) {
            v[i] = (epiqp_weighted){trial % 2 ? floor(20 * x[2 * i]) : x[2 * i], ceil(15 * x[2 * i + 1] + 0.01)};
            total += v[i].weight;
        }
        memcpy(sorted, v, sizeof v);
        qsort(sorted, (size_t)count, sizeof *sorted, rising); /* value comes first in the pair */
        double below = floor(total * (double)(trial % 11 - 1) / 9), sum = 0, want = sorted[0].value;
        for (int i = 0; i < count && sum <= below; i++) {
            want = sorted[i].value;
            sum += sorted[i].weight;
        }
        NEAR(epiqp_weighted_select(v, count, below), want, 0);
    }
}

TEST(too_few_rows_for_the_level_are_said)
{
    make(2, N, D, 3, X, Y);
    epiq_options o = plain();
    EQ(run(18, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    EQ(r->points[0]->predictive.known, 0);
    SAYS_ROUGHLY(warned("no_predictive"), "19 rows");
    EQ(run(19, D, X, Y, NULL, 2, X0, &o), EPIQ_OK); /* the ends are then the extremes */
    TRUE(r->points[0]->predictive.known && !warned("no_predictive"));
    double most = -INFINITY;
    for (int i = 0; i < 19; i++) {
        most = fmax(most, fabs(r->fit->observed[i] - r->fit->loo[i]));
    }
    TRUE(r->points[0]->predictive.hi - r->points[0]->predictive.lo >= 2 * most - 0.1);
    int64_t group[N];
    for (int i = 0; i < N; i++) {
        group[i] = i / 2 < 10 ? 0 : i / 2;
    }
    EQ(run(N, D, X, Y, group, 2, X0, &o), EPIQ_OK);
    SAYS_ROUGHLY(warned("no_predictive"), "19 groups");
    o.level = 0.9; /* 1 - 0.9 is less than 0.1 in binary: 10 rows must do */
    EQ(run(9, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    TRUE(r->points[0]->predictive.known);
    const double away[2 * D] = {30, -30, 30, -30, 30, 30};
    o.solver = EPIQ_SOLVER_DIVIDED;
    o.parts = 1;
    o.level = 1e-9; /* as low as can be: where single rows matter the ends pass each other, and one point is left */
    EQ(run(N, D, X, Y, NULL, 2, away, &o), EPIQ_OK);
    TRUE(r->points[0]->predictive.known);
    NEAR(r->points[0]->predictive.lo, r->points[0]->predictive.hi, 0);
    done();
}

/* One group of `size` rows and 20 of one row each, all of which leave the residual 1: B = I, alpha = 1. */
static int leave_out(ptrdiff_t size, epiqp_warnings *warnings, epiqp_arena *arena, epiqp_predictive *out)
{
    ptrdiff_t n = size + 20, *group = epiqp_arena_alloc(c, arena, n, sizeof *group);
    double *alpha = epiqp_arena_alloc(c, arena, n, sizeof *alpha);
    epiqp_ridge ridge = {.n = n, .alpha = alpha, .diagonal = alpha, .norm2 = alpha, .shift = 1};
    epiq_data rows = {.n = n, .groups = 21, .group = group};
    epiqp_plan plan = {.ran = {.level = 0.9}, .leverage = true};
    epiqp_problem pb = {.e = {.c = c, .threads = 1}, .plan = &plan, .data = &rows, .n = n, .warnings = warnings};
    epiqp_grouped grouped;
    pb.scratch = arena;
    for (ptrdiff_t i = 0; i < n; i++) {
        group[i] = i < 20 ? i + 1 : 0;
        alpha[i] = 1;
    }
    int s = epiqp_groups_new(&pb, &ridge, alpha, &grouped);
    return s ? s : epiqp_predictive_new(&pb, 0.9, &grouped, grouped.left_out, out);
}

TEST(groups_too_large_are_not_left_out)
{
    epiqp_arena arena = {0};
    epiqp_warnings list = {.arena = &arena};
    epiqp_predictive w;
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(leave_out(1, &list, &arena, &w), EPIQ_OK);
    TRUE(w.known && list.count == 0);
    NEAR(w.residual[0], 1, 0);
    EQ(leave_out(4097, &list, &arena, &w), EPIQ_OK); /* without a look at the inverse, of which there is none */
    TRUE(!w.known && list.count == 2);
    STR(list.list[0].code, "groups_by_row");
    STR(list.list[1].code, "no_predictive");
    SAYS_ROUGHLY(list.list[1].message, "4097 rows");
    epiq_ctx_stop(c);
    EQ(leave_out(2, &list, &arena, &w), EPIQ_E_STOPPED);
    epiqp_arena_free(c, &arena);
    done();
}

TEST(without_an_exact_inverse_rows_are_unknown)
{
    make(2, N, D, 3, X, Y);
    epiq_options o = plain();
    o.probes = 20;
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    TRUE(r->fit->known && !r->fit->observed && !r->fit->loo && !r->fit->loo_sd && !r->points[0]->predictive.known);
    SENTENCE_ROUGHLY(noted("probes"));
    o = plain();
    o.time = 3;
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    TRUE(!r->fit->known && !r->fit->loo && !r->points[0]->predictive.known);
    SENTENCE_ROUGHLY(warned("uncorrected"));
    o = plain();
    o.methods = EPIQ_EV;
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    TRUE(!r->fit->known && !r->fit->loo && !r->points[0]->predictive.known);
    double huge[N];
    for (int i = 0; i < N; i++) {
        huge[i] = 1e200 * Y[i];
    }
    for (int scale = 0; scale < 3; scale++) { /* nothing infinite leaves the library */
        o = plain();
        o.scale = scale;
        EQ(run(N, D, X, huge, NULL, 2, X0, &o), EPIQ_OK);
        TRUE(!r->fit->known && !r->fit->loo && !r->points[0]->predictive.known);
        TRUE(warned("out_of_range") != NULL);
    }
    done();
}

TEST(a_prediction_off_its_interval_is_said)
{
    make(2, N, D, 3, X, Y);
    double exact[N];
    for (int i = 0; i < N; i++) {
        exact[i] = X[D * i] - X[D * i + 1]; /* no noise: two networks of one unit each are further off than the rows */
    }
    epiq_options o = plain();
    o.engine = EPIQ_ENGINE_NETWORK;
    o.width = 1;
    o.members = 2;
    o.lambda = 1e-5;
    o.solver = EPIQ_SOLVER_DIVIDED; /* whose interval is built on kernel regression */
    o.parts = 1;
    o.data_by = EPIQ_DATA_BY_IF;
    EQ(run(N, D, X, exact, NULL, 2, X0, &o), EPIQ_OK);
    ptrdiff_t off = 0;
    for (int p = 0; p < 2; p++) {
        const epiq_point *t = r->points[p];
        off += t->prediction < t->predictive.lo || t->prediction > t->predictive.hi;
    }
    TRUE(off > 0);
    char part[16];
    snprintf(part, sizeof part, "%td of 2", off);
    SAYS_ROUGHLY(warned("off_centre"), part);
    o.engine = EPIQ_ENGINE_INFINITE;
    EQ(run(N, D, X, exact, NULL, 2, X0, &o), EPIQ_OK);
    TRUE(!warned("off_centre"));
    done();
}

/* ---- sweeps ---- */

static void same(const epiq_point *a, const epiq_point *b, double tolerance)
{
    CLOSE(a->prediction, b->prediction, tolerance);
    CLOSE(a->data.variance, b->data.variance, tolerance);
    CLOSE(a->procedural.variance, b->procedural.variance, tolerance);
    CLOSE(a->predictive.lo, b->predictive.lo, tolerance);
    CLOSE(a->predictive.hi, b->predictive.hi, tolerance);
    EQ(a->procedural.method, b->procedural.method);
}

TEST(a_sweep_is_asking_at_its_points)
{
    double x[N * 4];
    make(2, N, D, 3, X, Y);
    for (int i = 0; i < N; i++) {
        memcpy(x + 4 * i, X + D * i, sizeof(double) * D);
        x[4 * i + 1] = (double)(i % 4); /* few values: just these */
        x[4 * i + 2] = 7;               /* constant: not swept */
        x[4 * i + 3] = X[D * i + 2];
    }
    const double far[8] = {0.05, 2, 7, -0.02, 9, 2, 7, 0};
    for (int engine = 0; engine < 3; engine++) {
        epiq_options o = plain();
        o.engine = engine;
        o.methods = EPIQ_IF | EPIQ_EV | EPIQ_BA;
        o.width = 16;
        o.members = 3;
        o.batches = 2;
        o.lambda = 0.1;
        o.scale = EPIQ_SCALE_STANDARD;
        o.sweep = 9;
        EQ(run(N, 4, x, Y, NULL, 2, far, &o), EPIQ_OK);
        EQ(r->point_count, 2);
        EQ(r->sweep_count, 3);
        EQ(r->points[0]->influential_count, 5);
        SAYS_ROUGHLY(warned("outside_range"), "1 of 2 points");
        const ptrdiff_t feature[] = {0, 1, 3}, count[] = {9, 4, 9};
        double where[2 * 22 * 4], value[22];
        epiq_point kept[24];
        ptrdiff_t k = 0;
        char advice[512], outside[512];
        snprintf(advice, sizeof advice, "%s", r->advice->text);
        snprintf(outside, sizeof outside, "%s", warned("outside_range"));
        for (int s = 0; s < 3; s++) {
            const epiq_sweep *w = r->sweeps[s];
            EQ(w->feature, feature[s]);
            EQ(w->count, count[s]);
            double least = INFINITY, most = -INFINITY;
            for (int i = 0; i < N; i++) {
                least = fmin(least, x[4 * i + feature[s]]);
                most = fmax(most, x[4 * i + feature[s]]);
            }
            NEAR(w->value[0], least, 0);
            NEAR(w->value[w->count - 1], most, 0);
            for (ptrdiff_t i = 0; i < w->count; i++, k++) {
                memcpy(where + 4 * k, far, 4 * sizeof(double));
                value[k] = where[4 * k + feature[s]] = w->value[i];
                kept[k] = *w->points[i];
                EQ(w->points[i]->influential_count, 0);
                NEAR(w->value[i], least + (most - least) * (double)i / (double)(w->count - 1), 1e-14);
                CONTAINS(w->points[i]->at, s == 0 ? "x1 = " : s == 1 ? "x2 = " : "x4 = ");
            }
        }
        kept[22] = *r->points[0];
        kept[23] = *r->points[1];
        o.sweep = 0;
        EQ(run(N, 4, x, Y, NULL, 2, far, &o), EPIQ_OK);
        EQ(r->sweep_count, 0);
        TRUE(r->sweeps && !r->sweeps[0]);
        STR(r->advice->text, advice);
        STR(warned("outside_range"), outside);
        same(&kept[22], r->points[0], 1e-11); /* other shapes of the same products: rounding of A's condition */
        same(&kept[23], r->points[1], 1e-11);
        EQ(run(N, 4, x, Y, NULL, k, where, &o), EPIQ_OK);
        for (ptrdiff_t i = 0; i < k; i++) {
            same(&kept[i], r->points[i], 1e-11);
        }
        TRUE(value[0] < value[8]);
    }
    done();
}

TEST(of_many_features_those_that_tell_most_are_swept)
{
    double x[N * WIDE], y[N], mean[WIDE] = {0};
    make(1, N, WIDE, 4, x, y);
    for (int i = 0; i < N; i++) {
        y[i] = 5 * x[i * WIDE + 28] - 4 * x[i * WIDE + 2];
        x[i * WIDE + 5] = 1;
    }
    epiq_options o = plain();
    o.sweep = 2;
    EQ(run(N, WIDE, x, y, NULL, 1, mean, &o), EPIQ_OK);
    EQ(r->sweep_count, 24);
    int found = 0;
    for (ptrdiff_t k = 0; k < r->sweep_count; k++) {
        found += r->sweeps[k]->feature == 28 || r->sweeps[k]->feature == 2;
        TRUE(r->sweeps[k]->feature != 5);
        TRUE(k == 0 || r->sweeps[k]->feature > r->sweeps[k - 1]->feature);
    }
    EQ(found, 2);
    for (int i = 0; i < N * WIDE; i++) {
        x[i] = 3;
    }
    EQ(run(N, WIDE, x, y, NULL, 1, mean, &o), EPIQ_OK); /* nothing to sweep is nothing wrong */
    EQ(r->sweep_count, 0);
    o.sweep = 1;
    EQ(run(N, WIDE, x, y, NULL, 1, mean, &o), EPIQ_E_USAGE);
    SENTENCE_ROUGHLY(epiq_message(c));
    o.sweep = 201;
    EQ(run(N, WIDE, x, y, NULL, 1, mean, &o), EPIQ_E_USAGE);
    done();
}

TEST(allocations_of_sweeps_and_groups_may_fail)
{
    make(2, N, D, 3, X, Y);
    int64_t group[N];
    for (int i = 0; i < N; i++) {
        group[i] = i / 2;
    }
    epiq_options o = plain();
    o.threads = 1;
    o.sweep = 3;
    EQ(run(N, D, X, Y, group, 2, X0, &o), EPIQ_OK);
    epiq_result_free(c, r);
    FAIL_EACH(c, epiq_estimate(c, data, at, &o, &r), r == NULL, 26);
    TRUE(r->points[0]->predictive.known);
    done();
}

/* ---- fresh data ---- */

enum { ROWS = 60, NEW = 25, SETS = 60 };
typedef struct {
    double covered, se; /* new observations in their interval at level 0.9, and its standard error over data sets */
    double error2, expected; /* mean squared distance from the prediction, and noise + data + procedural / m */
    double procedure;        /* the last one's share in it */
} fresh;

/* Noise of standard deviation sd(x1) around the mean of a synthetic set in 4 features. */
static fresh try_fresh(int set, int engine, double sd, double slope)
{
    enum { F = 4 };
    fresh f = {0};
    double square = 0;
    for (int k = 0; k < SETS; k++) {
        double x[(ROWS + NEW) * F], y[ROWS + NEW], e[ROWS + NEW];
        make(set, ROWS + NEW, F, (uint64_t)(100 * set + k), x, y);
        epiqp_normals((epiqp_stream){11, 0, (uint64_t)k}, ROWS + NEW, e);
        for (int i = 0; i < ROWS + NEW; i++) {
            y[i] = 0;
            for (int j = 0; j < F; j++) {
                double t = x[i * F + j];
                y[i] += set == 1 ? sin(t) : set == 2 ? exp(t) + t * t : cos(t) + t * t * t;
            }
            y[i] += (sd + slope * fabs(x[i * F])) * e[i];
        }
        epiq_options o = plain();
        o.engine = engine;
        o.members = 2;
        o.width = 256;
        o.level = 0.9;
        o.threads = 1;
        o.seed = (uint64_t)k;
        EQ(run(ROWS, F, x, y, NULL, NEW, x + ROWS * F, &o), EPIQ_OK);
        double hits = 0, known = 0;
        for (int i = 0; i < NEW; i++) { /* outside the data it is withheld */
            known += r->points[i]->predictive.known;
        }
        for (int i = 0; i < NEW; i++) {
            const epiq_point *p = r->points[i];
            if (!p->predictive.known) continue;
            double off = y[ROWS + i] - p->prediction, share = 1. / (known * SETS);
            hits += (y[ROWS + i] >= p->predictive.lo && y[ROWS + i] <= p->predictive.hi) / known;
            f.error2 += off * off * share;
            f.expected += (p->predictive.noise + p->prediction_variance.variance) * share;
            f.procedure += engine == EPIQ_ENGINE_INFINITE ? 0 : p->procedural.variance / 2 * share;
        }
        f.covered += hits / SETS;
        square += hits * hits / SETS;
    }
    f.se = sqrt((square - f.covered * f.covered) / SETS);
    f.procedure /= f.expected;
    done();
    return f;
}

TEST(new_observations_fall_where_they_should)
{
    for (int set = 1; set <= 3; set++) {
        for (int form = 0; form < 2; form++) { /* noise equal everywhere, and growing from 0 with |x1| */
            fresh f = try_fresh(set, EPIQ_ENGINE_INFINITE, form ? 0 : 0.1, form ? 2 : 0);
            NEAR(f.covered, 0.9, 4 * f.se);
            TRUE(f.se < 0.012);
            if (!form) { /* 1500 squares of normals, ten or so of them to a data set's own error: 6 % */
                CLOSE(f.error2, f.expected, 0.15);
            }
        }
    }
    /* Little noise and two members: what they add is a part of the distance from their mean, not of the interval */
    fresh f = try_fresh(1, EPIQ_ENGINE_LINEAR, 0.01, 0);
    NEAR(f.covered, 0.9, 4 * f.se);
    TRUE(f.procedure > 0.3);
    CLOSE(f.error2, f.expected, 0.15);
}
