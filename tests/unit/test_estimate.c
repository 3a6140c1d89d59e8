/* epiq_estimate against the independent script: the influence function as the theorem prints it, its corrections and
 * intervals, refitting without a row, groups, the closed forms at infinite width and at a stopping time; and the rules
 * for combining, choosing, warning, resuming. All through epiq.h but for the first two. */
#include "est/est.h"
#include "golden/golden.h"

#include <unistd.h>

#include "asked.h" /* last: golden.h has a c of its own */

/* n rows of synthetic set 1 in 3 features */
enum { N = 60, D = 3 };
static double X[N * D], Y[N];
static const double X0[2 * D] = {0.1, 0.1, 0.1, 0.02, 0.15, 0.08};
static int run_synth(const epiq_options *o)
{
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    EQ(epiq_synth(own, 1, N, D, 5, X, Y), EPIQ_OK);
    epiq_ctx_free(own);
    return run(N, D, X, Y, NULL, 2, X0, o);
}

static epiq_options small(void)
{
    epiq_options o = epiq_options_default();
    o.scale = EPIQ_SCALE_NONE;
    o.width = 32;
    o.members = 6;
    o.batches = 4;
    o.threads = 2;
    return o;
}

static const epiq_warning *warned(const char *code)
{
    for (ptrdiff_t k = 0; r && k < r->warning_count; k++) {
        if (strcmp(r->warnings[k].code, code) == 0) {
            return &r->warnings[k];
        }
    }
    return NULL;
}

/* BA = data + procedural / m', and any two give the third. */
TEST(two_estimators_give_both_parts)
{
    const epiq_part none = {0}, ba = epiq_part_of(2, 4, 0.9, EPIQ_BY_BA),
                    sigma2 = epiq_part_of(0.5, 9, 0.9, EPIQ_BY_IF), tau2 = epiq_part_of(6, 7, 0.9, EPIQ_BY_EV);
    epiq_options o = {.batches = 5, .ensemble_size = 5, .level = 0.9};
    epiqp_split two = epiqp_split_of(none, sigma2, ba, 5);
    TRUE(two.procedural.known && !two.procedural.has_interval && two.negative == 0 && two.method == EPIQ_BY_BA_IF);
    NEAR(two.procedural.variance, 7.5, 0); /* 5 (2 - 0.5) */
    NEAR(two.data.variance, 0.5, 0);
    NEAR(epiqp_ensemble_of(&two, ba, &o).variance, 2, 0); /* BA itself, as a part is a difference from it, */
    EQ(epiqp_ensemble_of(&two, ba, &o).method, EPIQ_BY_BA);
    o.ensemble_size = 3;
    NEAR(epiqp_ensemble_of(&two, ba, &o).variance, 3, 0); /* or 0.5 + 7.5 / 3 */
    two = epiqp_split_of(tau2, none, ba, 5);
    TRUE(two.data.known && !two.data.has_interval && two.method == EPIQ_BY_BA_EV);
    CLOSE(two.data.variance, 0.8, 1e-15); /* 2 - 6/5 */
    two = epiqp_split_of(tau2, none, ba, 2);
    TRUE(!two.data.known && two.data.variance == 0 && two.data.method == EPIQ_BY_BA_EV);
    NEAR(two.negative, -1, 0); /* 2 - 6/2 is withheld */
    two = epiqp_split_of(tau2, sigma2, none, 5);
    TRUE(two.method == EPIQ_BY_IF_EV && two.negative == 0);
    NEAR(two.data.variance + two.procedural.variance, 6.5, 0);
    o.ensemble_size = 5;
    two = epiqp_split_of(tau2, sigma2, ba, 5); /* all three: the sum of what is measured directly */
    EQ(epiqp_ensemble_of(&two, ba, &o).method, EPIQ_BY_IF_EV);
    CLOSE(epiqp_ensemble_of(&two, ba, &o).variance, 0.5 + 6 / 5.0, 1e-15);
}

TEST(a_variance_has_the_units_a_double_holds)
{
    epiq_part v = epiq_part_of(2, 4, 0.9, EPIQ_BY_EV), zero = {.known = 1}, bad = {.known = 1, .variance = NAN};
    NEAR(epiqp_in_units(v, 4).variance, 8, 0);
    NEAR(epiqp_in_units(v, 4).hi, 4 * v.hi, 0);
    TRUE(!epiqp_in_units(v, 1e308).known && !epiqp_in_units(v, 1e-320).known && !epiqp_in_units(bad, 1).known);
    TRUE(epiqp_in_units(zero, 1e308).known && epiqp_in_units(zero, 1e-320).known); /* an exact 0 is 0 in any units */
}

/* One degree of freedom puts the 95 % upper end at 1/0.000982 = 1018 times the variance, two put it at 2/0.0506 = 39.5. */
TEST(an_interval_contains_its_estimate_and_its_end_may_be_unknown)
{
    static const double DF[] = {1e-3, 0.05, 0.3, 1, 1.3, 1.5, 2, 30};
    for (size_t k = 0; k < sizeof DF / sizeof *DF; k++) {
        for (double level = 0.05; level < 1; level += 0.1) {
            epiq_part p = epiq_part_of(3, DF[k], level, EPIQ_BY_IF), twice = epiqp_in_units(p, 2);
            if (!p.has_interval) {
                TRUE(DF[k] < 0.3 && !p.open); /* the lower end is no double */
                continue;
            }
            TRUE(p.lo > 0 && p.lo <= 3 && (p.open ? p.hi == 0 : p.hi >= 3 && p.hi <= 300));
            EQ(twice.open, p.open);
            NEAR(twice.lo, 2 * p.lo, 1e-15 * p.lo);
            NEAR(twice.hi, 2 * p.hi, 1e-15 * p.hi);
            epiq_part sum = epiqp_sum_of(p, p, 1, level, EPIQ_BY_IF_EV); /* has twice the degrees of freedom */
            CLOSE(sum.df, 2 * DF[k], 1e-14);
            TRUE(sum.has_interval && sum.lo <= 6);
        }
    }
    TRUE(epiq_part_of(3, 1, 0.95, EPIQ_BY_IF).open && !epiq_part_of(3, 2, 0.95, EPIQ_BY_IF).open);
}

TEST(influence_function_matches_the_theorem_and_refitting)
{
    static const epiq_correction WAYS[] = {EPIQ_CORRECTION_NONE, EPIQ_CORRECTION_JACKKNIFE, EPIQ_CORRECTION_UNBIASED,
                                           EPIQ_CORRECTION_ROWWISE, EPIQ_CORRECTION_MODERATED};
    for (int problem = 0; problem < 4; problem++) {
        for (int how = 0; how < EPIQ_CORRECTIONS; how++) {
            golden_load(GOLDEN "if.txt");
            char name[64];
#define P(what) (snprintf(name, sizeof name, "p%d_" what, problem), golden_get(name, NULL, NULL))
            const double *config = P("config");
            epiq_options o = epiq_options_default();
            o.engine = EPIQ_ENGINE_INFINITE;
            o.scale = EPIQ_SCALE_NONE;
            o.depth = (ptrdiff_t)config[0];
            o.bias = config[1];
            o.bias_sd = config[2];
            o.lambda = config[3];
            o.level = config[4];
            o.influential = 12;
            o.correction = WAYS[how];
            const double tol = 1e-9; /* promised; the condition number of A is below 1e5 here */
            int64_t label[12];
            for (int i = 0; i < 12; i++) {
                label[i] = (int64_t)P("group")[i];
            }
            for (int grouped = 0; grouped < 2; grouped++) {
                EQ(run(12, 3, P("X"), P("y"), grouped ? label : NULL, 2, P("x0"), &o), EPIQ_OK);
                for (int p = 0; p < 2; p++) {
                    const epiq_point *point = &r->points[p];
                    int k = 2 * how + p;
                    CLOSE(point->data.variance, (grouped ? P("group_V") : P("V"))[k], tol);
                    double lo = (grouped ? P("group_lo") : P("lo"))[k], hi = (grouped ? P("group_hi") : P("hi"))[k];
                    bool open = !(hi <= 100 * point->data.variance); /* an end so far away is none */
                    EQ(point->data.has_interval, 1);
                    EQ(point->data.open, open);
                    CLOSE(point->data.lo, fmin(lo, point->data.variance), tol);
                    CLOSE(point->data.hi, open ? 0 : hi, tol);
                    CLOSE(point->data.df, (grouped ? P("group_nu") : P("nu"))[k], tol);
                    for (int other = 0; other < EPIQ_CORRECTIONS; other++) { /* all versions come with any of them */
                        CLOSE(point->corrected[WAYS[other]].variance, (grouped ? P("group_V") : P("V"))[2 * other + p],
                              tol);
                    }
                    CLOSE(point->procedural.variance, P("tau2")[p], tol);
                    CLOSE(point->prediction, P("prediction")[p], tol);
                    EQ(point->procedural.method, EPIQ_BY_INFINITE);
                    EQ(point->procedural.has_interval, 0);
                    EQ(point->influential_count, 12);
                    for (int i = 0; i < 12; i++) {
                        const epiq_influence *row = &point->influential[i];
                        NEAR(row->influence, P("deletion")[2 * (row->row - 1) + p],
                             tol * fabs(point->influential[0].influence));
                        TRUE(i == 0 || fabs(row->influence) <= fabs(point->influential[i - 1].influence));
                    }
                }
                CLOSE(r->fit.loo_rmse, (grouped ? P("group_loo_rmse") : P("loo_rmse"))[0], tol);
                CLOSE(r->fit.noise_variance, (grouped ? P("group_noise") : P("noise"))[0], tol);
                EQ(r->fit.by_group, grouped);
            }
        }
    }
    done();
}

/* Against the inverse: errors of the size they are said to be, falling as 1/sqrt R, the same for any threads. */
TEST(probes_tell_their_error)
{
    enum { ROWS = 300, FEATURES = 6, SEEDS = 8, POINTS = 2 };
    static double x[ROWS * FEATURES], y[ROWS];
    static const double x0[POINTS * FEATURES] = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.05, 0.15, 0.1, 0.02, 0.12, 0.18};
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    EQ(epiq_synth(own, 1, ROWS, FEATURES, 5, x, y), EPIQ_OK);
    epiq_ctx_free(own);
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.methods = EPIQ_IF;
    for (int how = 0; how <= EPIQ_CORRECTION_NONE; how++) {
        o.correction = how;
        o.probes = 0;
        EQ(run(ROWS, FEATURES, x, y, NULL, POINTS, x0, &o), EPIQ_OK);
        EQ(r->probes, 0);
        double exact[POINTS], loo = r->fit.loo_rmse, rms[2] = {0};
        for (int p = 0; p < POINTS; p++) {
            exact[p] = r->points[p].data.variance;
            NEAR(r->points[p].probe_error, 0, 0);
        }
        for (int many = 0; many < 2; many++) {
            for (int seed = 0; seed < SEEDS; seed++) {
                o.probes = many ? 256 : 16;
                o.seed = (uint64_t)(100 + seed);
                EQ(run(ROWS, FEATURES, x, y, NULL, POINTS, x0, &o), EPIQ_OK);
                EQ(r->probes, o.probes);
                TRUE(warned("probes") != NULL);
                NEAR(r->fit.loo_rmse, loo, 0.05 * loo);
                for (int p = 0; p < POINTS; p++) {
                    double off = r->points[p].data.variance / exact[p] - 1, said = r->points[p].probe_error;
                    rms[many] += off * off / (SEEDS * POINTS);
                    TRUE(how == EPIQ_CORRECTION_NONE ? off == 0 && said == 0 : fabs(off) <= 6 * said && said < 0.2);
                }
            }
        }
        if (how != EPIQ_CORRECTION_NONE) { /* sqrt(256/16) = 4, and 16 tries tell it to a factor of 2 */
            TRUE(sqrt(rms[0] / rms[1]) > 2 && sqrt(rms[0] / rms[1]) < 8);
        }
    }
    o.correction = EPIQ_CORRECTION_ROWWISE;
    double bits[2][2];
    for (int threads = 1; threads <= 2; threads++) {
        o.threads = threads;
        EQ(run(ROWS, FEATURES, x, y, NULL, POINTS, x0, &o), EPIQ_OK);
        bits[threads - 1][0] = r->points[1].data.variance;
        bits[threads - 1][1] = r->points[1].probe_error;
    }
    EQ(memcmp(bits[0], bits[1], sizeof bits[0]), 0);
    o.probes = ROWS; /* as many as rows: the inverse is cheaper */
    EQ(run(ROWS, FEATURES, x, y, NULL, POINTS, x0, &o), EPIQ_OK);
    EQ(r->probes, 0);
    o.probes = 15;
    EQ(run(ROWS, FEATURES, x, y, NULL, POINTS, x0, &o), EPIQ_E_USAGE);
    CONTAINS(epiq_message(c), "at least 16");
    done();
}

TEST(scaling_by_hand_and_by_option_agree)
{
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_INFINITE;
    EQ(run_synth(&o), EPIQ_OK);
    double x[N * D], y[N], shift[D + 1], factor[D + 1], x0[2 * D];
    for (int k = 0; k <= D; k++) { /* standardise, divisor n */
        double mean = 0, square = 0;
        for (int i = 0; i < N; i++) {
            mean += (k < D ? X[i * D + k] : Y[i]) / N;
        }
        for (int i = 0; i < N; i++) {
            double v = (k < D ? X[i * D + k] : Y[i]) - mean;
            square += v * v / N;
        }
        shift[k] = mean;
        factor[k] = sqrt(square);
        for (int i = 0; i < N; i++) {
            *(k < D ? &x[i * D + k] : &y[i]) = ((k < D ? X[i * D + k] : Y[i]) - mean) / factor[k];
        }
        for (int p = 0; p < 2 && k < D; p++) {
            x0[p * D + k] = (X0[p * D + k] - mean) / factor[k];
        }
    }
    EQ(run(N, D, x, y, NULL, 2, x0, &o), EPIQ_OK);
    double unit = factor[D], prediction = shift[D] + unit * r->points[1].prediction,
           inf = unit * unit * r->points[1].data.variance;
    double tau2 = unit * unit * r->points[1].procedural.variance, move = unit * r->points[1].influential[0].influence;
    o.scale = EPIQ_SCALE_STANDARD;
    EQ(run_synth(&o), EPIQ_OK);
    CLOSE(r->points[1].prediction, prediction, 1e-12);
    CLOSE(r->points[1].data.variance, inf, 1e-9);
    CLOSE(r->points[1].procedural.variance, tau2, 1e-9);
    CLOSE(r->points[1].influential[0].influence, move, 1e-9);
    done();
}

TEST(stopped_flow_matches_quadrature_and_ends_at_the_minimum)
{
    for (int problem = 0; problem < 2; problem++) {
        golden_load(GOLDEN "stopped.txt");
        char name[64];
        for (int t = 0; t < 4; t++) {
            const double *config = P("config");
            epiq_options o = epiq_options_default();
            o.engine = EPIQ_ENGINE_INFINITE;
            o.scale = EPIQ_SCALE_NONE;
            o.depth = (ptrdiff_t)config[0];
            o.bias = config[1];
            o.bias_sd = config[2];
            o.lambda = config[3];
            o.time = P("t")[t];
            for (int backend = 0; backend < 2; backend++) {
                o.backend = backend;
                EQ(run(10, 3, P("X"), P("y"), NULL, 2, P("x0"), &o), EPIQ_OK);
                for (int p = 0; p < 2; p++) {
                    CLOSE(r->points[p].prediction, P("prediction")[2 * t + p], 1e-9);
                    CLOSE(r->points[p].procedural.variance, P("tau2")[2 * t + p], 1e-9);
                    CLOSE(r->points[p].data.variance, P("V")[2 * t + p], 1e-9);
                }
                EQ(r->correction, EPIQ_CORRECTION_NONE);
                TRUE(warned("uncorrected") != NULL);
            }
        }
    }
    done();
}

TEST(the_plain_backend_gives_the_same_numbers)
{
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_LINEAR;
    EQ(run_synth(&o), EPIQ_OK);
    epiq_point blas = r->points[1];
    STR(r->backend, "blas");
    o.backend = EPIQ_BACKEND_REF;
    EQ(run_synth(&o), EPIQ_OK);
    STR(r->backend, "ref");
    CLOSE(r->points[1].data.variance, blas.data.variance, 1e-9);
    CLOSE(r->points[1].procedural.variance, blas.procedural.variance, 1e-9);
    CLOSE(r->points[1].ensemble.variance, blas.ensemble.variance, 1e-9);
    done();
}

TEST(any_two_methods_give_both_parts)
{
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_LINEAR;
    EQ(run_synth(&o), EPIQ_OK);
    double ev = r->points[0].procedural.variance, inf = r->points[0].data.variance, ba = r->points[0].check.ba;
    EQ(r->points[0].procedural.method, EPIQ_BY_EV);
    EQ(r->points[0].data.method, EPIQ_BY_IF);
    EQ(r->points[0].ensemble.method, EPIQ_BY_IF_EV);
    CLOSE(r->points[0].ensemble.variance, inf + ev / 4, 1e-12);
    TRUE(r->points[0].check.known);
    const epiq_part by_ba = epiq_part_of(ba, 3, o.level, EPIQ_BY_BA);
    CLOSE(r->points[0].check.if_plus_ev, inf + ev / 4, 1e-12);
    EQ(r->points[0].check.inside, inf + ev / 4 >= by_ba.lo && inf + ev / 4 <= by_ba.hi);
    ptrdiff_t apart = 0;
    for (ptrdiff_t p = 0; p < r->point_count; p++) {
        apart += !r->points[p].check.inside;
    }
    EQ(warned("check") != NULL, (double)apart > 2 * (1 - o.level) * (double)r->point_count);
    CLOSE(r->points[0].single.variance, inf + ev, 1e-12);
    CLOSE(r->points[0].prediction_variance.variance, inf + ev / 6, 1e-12);

    o.ensemble_size = 20;
    o.methods = EPIQ_IF | EPIQ_EV;
    EQ(run_synth(&o), EPIQ_OK);
    const epiq_part *both = &r->points[0].ensemble;
    EQ(both->method, EPIQ_BY_IF_EV);
    CLOSE(both->variance, inf + ev / 20, 1e-12);
    double nu1 = r->points[0].data.df, nu2 = 5, v1 = inf, v2 = ev / 20; /* Satterthwaite */
    CLOSE(both->df, (v1 + v2) * (v1 + v2) / (v1 * v1 / nu1 + v2 * v2 / nu2), 1e-12);
    TRUE(!r->points[0].check.known);

    o.methods = EPIQ_EV | EPIQ_BA;
    EQ(run_synth(&o), EPIQ_OK);
    int withheld = 0, given = 0;
    for (int p = 0; p < 2; p++) {
        const epiq_part *d = &r->points[p].data;
        EQ(d->method, EPIQ_BY_BA_EV);
        EQ(d->has_interval, 0);
        withheld += !d->known;
        given += d->known;
        TRUE(!d->known || d->variance >= 0);
        TRUE(d->known || !r->points[p].single.known);
    }
    EQ(withheld > 0, warned("negative_difference") != NULL);
    EQ(withheld + given, 2);

    o.methods = EPIQ_IF | EPIQ_BA;
    o.ensemble_size = 0;
    EQ(run_synth(&o), EPIQ_OK);
    EQ(r->points[0].procedural.method, EPIQ_BY_BA_IF);
    if (ba > inf) {
        CLOSE(r->points[0].procedural.variance, 4 * (ba - inf), 1e-9);
    } else {
        TRUE(!r->points[0].procedural.known && warned("negative_difference"));
    }

    const int alone[] = {EPIQ_IF, EPIQ_EV, EPIQ_BA};
    for (int k = 0; k < 3; k++) {
        o.methods = alone[k];
        EQ(run_synth(&o), EPIQ_OK);
        EQ(r->points[0].data.known, alone[k] == EPIQ_IF);
        EQ(r->points[0].procedural.known, alone[k] == EPIQ_EV);
        EQ(r->points[0].ensemble.known, alone[k] == EPIQ_BA);
        EQ(r->points[0].single.known, 0);
        TRUE(isfinite(r->points[0].prediction));
    }
    done();
}

/* Every part, for every engine, in every combination: no NaN, intervals around estimates. */
static double sample_variance(const double *v, ptrdiff_t count)
{
    double mean = 0, sum = 0;
    for (ptrdiff_t k = 0; k < count; k++) {
        mean += v[k] / (double)count;
    }
    for (ptrdiff_t k = 0; k < count; k++) {
        sum += (v[k] - mean) * (v[k] - mean);
    }
    return sum / (double)(count - 1);
}

TEST(the_answer_lists_the_predictions_it_is_made_of)
{
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_LINEAR;
    o.scale = EPIQ_SCALE_STANDARD; /* so that target units differ from scaled ones */
    EQ(run_synth(&o), EPIQ_OK);
    double kernel[2];
    for (int p = 0; p < 2; p++) {
        const epiq_point *point = &r->points[p];
        EQ(point->member_count, 6);
        EQ(point->batch_count, 4);
        double mean = 0;
        for (int k = 0; k < 6; k++) {
            mean += point->members[k] / 6;
        }
        const double tol = 1e-10; /* six predictions of order 0.3 that differ by 1e-2: rounding of 1e-16/1e-4 */
        CLOSE(mean, point->prediction, tol);
        CLOSE(sample_variance(point->members, 6), point->procedural.variance, tol);
        CLOSE(sample_variance(point->batches, 4) / 4, point->ba.uncorrected, tol);
        EQ(point->kernel_prediction.known, 1);
        kernel[p] = point->kernel_prediction.value;
        epiq_part same = epiq_part_of(point->procedural.variance, point->procedural.df, o.level, EPIQ_BY_EV);
        CLOSE(same.lo, point->procedural.lo, tol);
        CLOSE(same.hi, point->procedural.hi, tol);
        epiq_part narrower = epiq_part_of(same.variance, same.df, 0.9, EPIQ_BY_EV);
        TRUE(same.lo < narrower.lo && narrower.hi < same.hi);
    }
    o.engine = EPIQ_ENGINE_INFINITE; /* whose prediction is the kernel's */
    EQ(run_synth(&o), EPIQ_OK);
    for (int p = 0; p < 2; p++) {
        CLOSE(r->points[p].prediction, kernel[p], 1e-12);
        EQ(r->points[p].member_count, 0);
    }
    EQ(epiq_part_of(1, 4, 1, EPIQ_BY_EV).has_interval, 0);
    EQ(epiq_part_of(1, NAN, 0.9, EPIQ_BY_EV).has_interval, 0);
    EQ(epiq_part_of(NAN, 4, 0.9, EPIQ_BY_EV).known, 0);
    done();
}

TEST(contexts_at_work_at_once_do_not_disturb_each_other)
{
    enum { RUNS = 8 };
    double alone = 0, together[RUNS];
    for (int turn = 0; turn < 2; turn++) {
#pragma omp parallel for num_threads(turn ? 4 : 1)
        for (int k = 0; k < (turn ? RUNS : 1); k++) {
            epiq_ctx *own = NULL;
            epiq_data *rows = NULL;
            epiq_points *points = NULL;
            epiq_result *result = NULL;
            epiq_options o = epiq_options_default();
            o.scale = EPIQ_SCALE_NONE;
            o.engine = EPIQ_ENGINE_INFINITE;
            o.threads = 1;
            static const double x0[D] = {0.1, 0.1, 0.1};
            double *x = malloc(300 * (D + 1) * sizeof *x), *y = x + 300 * D;
            TRUE(!epiq_ctx_new(&own) && !epiq_synth(own, 1, 300, D, 7, x, y) &&
                 !epiq_data_new(own, 300, D, x, y, NULL, &o, &rows) && !epiq_points_new(own, rows, &points) &&
                 !epiq_points_add_rows(own, points, 1, x0) && !epiq_estimate(own, rows, points, &o, &result));
            *(turn ? &together[k] : &alone) = result ? result->points[0].data.variance : NAN;
            epiq_result_free(own, result);
            epiq_points_free(own, points);
            epiq_data_free(own, rows);
            epiq_ctx_free(own);
            free(x);
        }
    }
    for (int k = 0; k < RUNS; k++) {
        TRUE(together[k] == alone);
    }
}

TEST(no_combination_gives_nonsense)
{
    for (int engine = 0; engine < 3; engine++) {
        for (int methods = 1; methods <= 8; methods++) {
            epiq_options o = small();
            o.engine = engine;
            o.methods = methods;
            o.lambda = 1e-1;
            EQ(run_synth(&o), EPIQ_OK);
            EQ((r->choice != NULL), methods == EPIQ_AUTO);
            for (int p = 0; p < 2; p++) {
                const epiq_point *point = &r->points[p];
                const epiq_part *parts[] = {&point->procedural,
                                            &point->data,
                                            &point->ensemble,
                                            &point->single,
                                            &point->infinite,
                                            &point->prediction_variance,
                                            &point->corrected[EPIQ_CORRECTION_NONE]};
                for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
                    TRUE(isfinite(parts[k]->variance) && parts[k]->variance >= 0 && isfinite(parts[k]->lo) &&
                         isfinite(parts[k]->hi));
                    TRUE(!parts[k]->has_interval ||
                         (parts[k]->lo <= parts[k]->variance &&
                          (parts[k]->open ? parts[k]->hi == 0 : parts[k]->variance <= parts[k]->hi)));
                }
            }
            TRUE(r->advice.text && *r->advice.text);
        }
    }
    done();
}

TEST(threads_change_no_bit_of_the_answer)
{
    double first[2][9];
    for (ptrdiff_t threads = 1; threads <= 4; threads++) {
        epiq_options o = small();
        o.threads = threads;
        o.sweep = 5;
        EQ(run_synth(&o), EPIQ_OK);
        for (int p = 0; p < 2; p++) {
            const epiq_point *t = &r->points[p];
            const epiq_point *last = &r->sweeps[D - 1].points[p];
            double now[9] = {t->prediction,        t->procedural.variance, t->data.variance,
                             t->ensemble.variance, t->infinite.variance,   t->influential[0].influence,
                             t->predictive.lo,     last->predictive.hi,    last->single.variance};
            if (threads == 1) {
                memcpy(first[p], now, sizeof now);
            }
            EQ(memcmp(first[p], now, sizeof now), 0);
        }
    }
    done();
}

TEST(repeated_rows_count_once_when_grouped)
{
    /* Every row twice, with the pair as a group: the same information as each row once with half the ridge a row, so
     * the data variance of the doubled set, grouped, equals the undoubled one's; ungrouped it comes out half. */
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.correction = EPIQ_CORRECTION_NONE;
    EQ(run_synth(&o), EPIQ_OK);
    double once = r->points[0].data.variance;
    double x[2 * N * D], y[2 * N];
    int64_t group[2 * N];
    for (int i = 0; i < 2 * N; i++) {
        memcpy(x + i * D, X + i / 2 * D, sizeof(double) * D);
        y[i] = Y[i / 2];
        group[i] = 1000 - i / 2;
    }
    EQ(run(2 * N, D, x, y, group, 2, X0, &o), EPIQ_OK);
    CLOSE(r->points[0].data.variance, once, 1e-9);
    TRUE(!warned("duplicate_rows")); /* it recommends what was done */
    EQ(run(2 * N, D, x, y, NULL, 2, X0, &o), EPIQ_OK);
    CLOSE(r->points[0].data.variance, once / 2, 1e-9);
    TRUE(warned("duplicate_rows") != NULL);
    done();
}

TEST(without_bias_the_origin_is_zero_by_construction)
{
    for (int rounding = 0; rounding < 2; rounding++) {
        epiq_options o = small();
        o.scale = EPIQ_SCALE_STANDARD;
        o.bias = 0;
        double x[N * D];
        run_synth(&o);
        memcpy(x, X, sizeof x);
        for (int i = 0; rounding && i < N * D; i++) {
            x[i] += 1000.1; /* the mean is then exact to 1e-13 only, 1e-12 after scaling */
        }
        double mean[D] = {0};
        for (int i = N - 1; i >= 0; i--) { /* summed backwards: other rounding than the library's */
            for (int k = 0; k < D; k++) {
                mean[k] += x[i * D + k] / N;
            }
        }
        EQ(run(N, D, x, Y, NULL, 1, mean, &o), EPIQ_OK);
        TRUE(warned("zero_by_construction") != NULL);
        NEAR(r->points[0].procedural.variance, 0, 0);
        NEAR(r->points[0].data.variance, 0, 0);
        NEAR(r->points[0].ensemble.variance, 0, 0);
        EQ(r->points[0].procedural.has_interval + r->points[0].data.has_interval + r->points[0].ensemble.has_interval,
           0);
    }
    done();
}

TEST(points_outside_the_rows_are_named)
{
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_INFINITE;
    run_synth(&o);
    TRUE(warned("outside_range") == NULL);
    double far[D] = {0.1, 0.9, 0.1};
    EQ(run(N, D, X, Y, NULL, 1, far, &o), EPIQ_OK);
    TRUE(warned("outside_range") != NULL);
    CONTAINS(warned("outside_range")->message, "x2");
    done();
}

TEST(training_that_stops_short_is_said)
{
    epiq_options o = small();
    o.data_by = EPIQ_DATA_BY_IF;
    o.steps = 3;
    EQ(run_synth(&o), EPIQ_E_NUMERIC);
    CONTAINS(epiq_message(c), "converged");
    o.optimizer = EPIQ_OPTIMIZER_GD;
    o.steps = 50;
    EQ(run_synth(&o), EPIQ_OK);
    TRUE(warned("stopped_early") != NULL);
    TRUE(r->training.converged < r->training.members);
    EQ(r->training.members, 10);
    EQ(r->training.iterations_median, 50);
    o.lr = 1e3;
    EQ(run_synth(&o), EPIQ_E_NUMERIC);
    CONTAINS(epiq_message(c), "--lr");
    done();
}

TEST(what_varies_between_members_can_be_chosen)
{
    double ev[3];
    for (int vary = 0; vary < 3; vary++) {
        epiq_options o = small();
        o.optimizer = EPIQ_OPTIMIZER_SGD;
        o.methods = EPIQ_EV;
        o.steps = 5000;
        o.batch_size = 10;
        o.lr = 0.003;
        o.members = 12;
        o.vary = vary;
        EQ(run_synth(&o), EPIQ_OK);
        ev[vary] = r->points[0].procedural.variance;
        TRUE(ev[vary] > 0);
    }
    TRUE(ev[EPIQ_VARY_ORDER] < 0.5 * ev[EPIQ_VARY_INIT]); /* the order of 60 rows matters far less than the start */
    TRUE(ev[EPIQ_VARY_BOTH] != ev[EPIQ_VARY_INIT]);
    double ba[3];
    for (int vary = 0; vary < 3; vary++) { /* batches vary in the same way, or BA and EV would not be comparable */
        epiq_options o = small();
        o.optimizer = EPIQ_OPTIMIZER_SGD;
        o.methods = EPIQ_BA;
        o.steps = 500;
        o.vary = vary;
        EQ(run_synth(&o), EPIQ_OK);
        ba[vary] = r->points[0].ensemble.variance;
    }
    TRUE(ba[EPIQ_VARY_ORDER] != ba[EPIQ_VARY_INIT]);
    TRUE(ba[EPIQ_VARY_ORDER] != ba[EPIQ_VARY_BOTH]);
    done();
}

TEST(members_added_to_a_state_change_nothing_else)
{
    char state[] = "/tmp/epiq-test-XXXXXX";
    close(mkstemp(state));
    epiq_options o = small();
    o.data_by = EPIQ_DATA_BY_IF;
    o.optimizer = EPIQ_OPTIMIZER_SGD; /* its order streams must not depend on how many members there are */
    o.steps = 100;
    o.state = state;
    o.members = 4;
    EQ(run_synth(&o), EPIQ_OK);
    o.members = 6;
    EQ(run_synth(&o), EPIQ_OK);
    EQ(r->training.resumed, 8);
    double ev = r->points[0].procedural.variance, ba = r->points[0].ensemble.variance;
    o.state = NULL;
    EQ(run_synth(&o), EPIQ_OK);
    NEAR(r->points[0].procedural.variance, ev, 0);
    NEAR(r->points[0].ensemble.variance, ba, 0);
    unlink(state);
    done();
}

TEST(units_a_double_cannot_hold_are_said)
{
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_INFINITE;
    run_synth(&o);
    const double units[] = {1e80, 1e-80, 1e200, 1e-200};
    double relative = 0;
    for (int t = 0; t < 4; t++) {
        double y[N];
        for (int i = 0; i < N; i++) {
            y[i] = units[t] * Y[i];
        }
        o.scale = EPIQ_SCALE_STANDARD;
        EQ(run(N, D, X, y, NULL, 2, X0, &o), EPIQ_OK);
        EQ(r->points[0].data.known, t < 2);
        EQ(warned("out_of_range") != NULL, t >= 2);
        if (t < 2) { /* the interval scales with the estimate */
            double now = r->points[0].data.hi / r->points[0].data.variance;
            TRUE(t == 0 || fabs(now / relative - 1) < 1e-9);
            relative = now;
        }
        o.scale = EPIQ_SCALE_NONE;
        EQ(run(N, D, X, y, NULL, 2, X0, &o), EPIQ_OK);
        CONTAINS(r->advice.text, ".");
        TRUE(strstr(r->advice.text, "nan") == NULL);
    }
    done();
}

TEST(ensemble_means_serve_the_influence_function)
{
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_LINEAR;
    o.methods = EPIQ_IF | EPIQ_EV;
    o.members = 400;
    o.width = 256;
    EQ(run_synth(&o), EPIQ_OK);
    double kernel = r->points[0].data.variance;
    o.hbar = EPIQ_HBAR_ENSEMBLE;
    EQ(run_synth(&o), EPIQ_OK);
    /* the mean of 400 linear networks is the kernel predictor but for 1/20 of their spread */
    CLOSE(r->points[0].data.variance, kernel, 0.1);
    TRUE(r->points[0].data.variance != kernel);
    o.hbar = EPIQ_HBAR_KERNEL;
    o.kernel = EPIQ_KERNEL_EMPIRICAL;
    EQ(run_synth(&o), EPIQ_OK);
    CLOSE(r->points[0].data.variance, kernel, 0.1); /* the mean of 400 kernels is near the population's */
    TRUE(warned("empirical_kernel") != NULL);
    o.linear_kernel = EPIQ_KERNEL_EMPIRICAL;
    o.members = 20;
    EQ(run_synth(&o), EPIQ_OK);
    TRUE(warned("own_kernel") != NULL);
    done();
}

static int stop_after(void *user, const epiq_progress *p)
{
    return strcmp(p->stage, "members") == 0 && p->done >= *(ptrdiff_t *)user;
}

static int finish_after(void *user, const epiq_progress *p)
{
    if (strcmp(p->stage, "members") == 0 && p->done == *(ptrdiff_t *)user) {
        epiq_ctx_finish(c);
    }
    return 0;
}

/* Asked to finish, the answer is that of a run with as many members as are there, and without BA. */
TEST(a_run_asked_to_finish_answers_with_what_there_is)
{
    epiq_options o = small();
    o.members = 3;
    o.methods = EPIQ_IF | EPIQ_EV;
    o.data_by = EPIQ_DATA_BY_IF; /* which an early end falls back to */
    EQ(run_synth(&o), EPIQ_OK);
    epiq_point few = r->points[1];
    epiq_result_free(c, r);
    o.members = 6;
    o.methods |= EPIQ_BA;
    o.data_by = EPIQ_DATA_BY_AUTO;
    o.threads = 1; /* so that the first three are the ones finished */
    for (ptrdiff_t enough = 3; enough >= 1; enough -= 2) {
        epiq_ctx_on_progress(c, finish_after, &enough);
        EQ(epiq_estimate(c, data, at, &o, &r), enough > 1 ? EPIQ_PARTIAL : EPIQ_E_STOPPED); /* one has no variance */
        if (enough > 1) {
            EQ(r->points[1].member_count, 3);
            EQ(r->training.members, 3);
            EQ(r->methods, EPIQ_IF | EPIQ_EV);
            NEAR(r->points[1].procedural.variance, few.procedural.variance, 0);
            NEAR(r->points[1].prediction, few.prediction, 0);
            NEAR(r->points[1].data.variance, few.data.variance, 0);
            STR(r->warnings[0].code, "stopped");
            epiq_result_free(c, r);
        }
    }
    epiq_ctx_on_progress(c, NULL, NULL);
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_OK); /* the request ended with the call it was for */
    EQ(r->points[1].member_count, 6);
    done();
}

TEST(a_stopped_run_goes_on_and_ends_with_equal_points)
{
    char state[] = "/tmp/epiq-test-XXXXXX";
    close(mkstemp(state));
    epiq_options o = small();
    o.data_by = EPIQ_DATA_BY_IF;
    EQ(run_synth(&o), EPIQ_OK);
    epiq_point whole = r->points[1];
    o.state = state;
    done();
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    ptrdiff_t enough = 3;
    epiq_ctx_on_progress(c, stop_after, &enough);
    EQ(epiq_data_new(c, N, D, X, Y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add_rows(c, at, 2, X0), EPIQ_OK);
    o.threads = 1;
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_E_STOPPED);
    TRUE(r == NULL);
    epiq_ctx_on_progress(c, NULL, NULL);
    o.threads = 2;
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_OK); /* the same context can go on */
    EQ(r->training.resumed, 3);
    NEAR(r->points[1].procedural.variance, whole.procedural.variance, 0);
    NEAR(r->points[1].ensemble.variance, whole.ensemble.variance, 0);
    NEAR(r->points[1].prediction, whole.prediction, 0);
    epiq_result_free(c, r);
    o.members = 8; /* more members: the six are kept */
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_OK);
    EQ(r->training.resumed, 10);
    epiq_result_free(c, r);
    o.seed = 2; /* another seed: nothing of it is there */
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_OK);
    EQ(r->training.resumed, 0);
    epiq_result_free(c, r);
    r = NULL;
    FILE *f = fopen(state, "w");
    fputs("this is a diary, not a state file, and it is long enough to be read as one\n", f);
    fclose(f);
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_E_FILE);
    CONTAINS(epiq_message(c), state);
    unlink(state);
    o.state = "/nonexistent/folder/state";
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_E_FILE);
    done();
}

TEST(every_allocation_may_fail)
{
    epiq_options o = small();
    o.members = 2;
    o.batches = 2;
    o.threads = 1;
    for (int way = 0; way < 3; way++) {
        o.engine = way == 0 ? EPIQ_ENGINE_NETWORK : way == 1 ? EPIQ_ENGINE_LINEAR : EPIQ_ENGINE_INFINITE;
        o.kernel = way == 1 ? EPIQ_KERNEL_EMPIRICAL : EPIQ_KERNEL_POPULATION;
        o.time = way == 2 ? 3 : 0;
        o.lambda = 1;
        EQ(run_synth(&o), EPIQ_OK);
        epiq_result_free(c, r);
        ptrdiff_t before = c->live_blocks;
        int s = EPIQ_E_NOMEM, fails = 0;
        for (ptrdiff_t k = 0; s == EPIQ_E_NOMEM && k < 1000; k++) {
            c->fail_after = k;
            r = NULL;
            s = epiq_estimate(c, data, at, &o, &r);
            fails += s != EPIQ_OK;
            if (s) {
                TRUE(r == NULL);
                EQ(c->live_blocks, before);
                CONTAINS(epiq_message(c), "memory");
            }
        }
        EQ(s, EPIQ_OK);
        TRUE(fails > 15);
        c->fail_after = -1;
    }
    done();
}

TEST(too_much_for_the_rows_is_refused)
{
    epiq_options o = small();
    o.batches = 31;
    EQ(run_synth(&o), EPIQ_E_DATA);
    CONTAINS(epiq_message(c), "batches");
    int64_t group[N];
    for (int i = 0; i < N; i++) {
        group[i] = i % 3;
    }
    o.batches = 4;
    EQ(run(N, D, X, Y, group, 2, X0, &o), EPIQ_E_DATA);
    CONTAINS(epiq_message(c), "3 groups");
    for (int i = 0; i < N; i++) {
        group[i] = 7;
    }
    o.methods = EPIQ_IF;
    EQ(run(N, D, X, Y, group, 2, X0, &o), EPIQ_E_DATA);
    CONTAINS(epiq_message(c), "one group");
    o.hbar = EPIQ_HBAR_ENSEMBLE;
    EQ(run_synth(&o), EPIQ_E_USAGE);
    done();
}

TEST(a_constant_target_has_no_data_variance)
{
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_INFINITE;
    run_synth(&o);
    double y[N];
    for (int i = 0; i < N; i++) {
        y[i] = 4;
    }
    o.scale = EPIQ_SCALE_STANDARD;
    EQ(run(N, D, X, y, NULL, 2, X0, &o), EPIQ_OK);
    NEAR(r->points[0].data.variance, 0, 0);
    EQ(r->points[0].data.has_interval, 0);
    NEAR(r->points[0].prediction, 4, 1e-12);
    TRUE(warned("constant_target") != NULL);
    done();
}
