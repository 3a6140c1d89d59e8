/* test_est_if.c - the influence function against the independent script: as the theorem prints it, its corrections and
 * intervals, refitting without a row, groups; leverages from probes; scaling; the closed forms at a stopping time. */
#include "epiq_details.h"
#include "est/variance.h"
#include "golden/golden.h"
#include "run/run.h"

#include "sixty_rows.h" /* last: golden.h has a c of its own */

/* Of a problem of the golden files; config: depth, bias, its spread, lambda. */
static epiq_options golden_options(const double *config)
{
    epiq_options o = usual_options();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.scale = EPIQ_SCALE_NONE;
    o.depth = (ptrdiff_t)config[0];
    o.bias = config[1];
    o.bias_sd = config[2];
    o.lambda = config[3];
    return o;
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
            epiq_options o = golden_options(config);
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
                    const epiq_point *point = r->points[p];
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
                        CLOSE(epiq_point_corrected(point, WAYS[other])->variance,
                              (grouped ? P("group_V") : P("V"))[2 * other + p], tol);
                    }
                    CLOSE(point->procedural.variance, P("tau2")[p], tol);
                    CLOSE(point->prediction, P("prediction")[p], tol);
                    EQ(point->procedural.method, EPIQ_BY_INFINITE);
                    EQ(point->procedural.has_interval, 0);
                    EQ(point->influential_count, 12);
                    for (int i = 0; i < 12; i++) {
                        const epiq_influence *row = point->influential[i];
                        NEAR(row->influence, P("deletion")[2 * (row->row - 1) + p],
                             tol * fabs(point->influential[0]->influence));
                        TRUE(i == 0 || fabs(row->influence) <= fabs(point->influential[i - 1]->influence));
                    }
                }
                CLOSE(r->fit->kernel_rmse, (grouped ? P("group_loo_rmse") : P("loo_rmse"))[0], tol);
                CLOSE(r->fit->kernel_noise_variance, (grouped ? P("group_noise") : P("noise"))[0], tol);
                EQ(r->fit->by_group, grouped);
                o.scale = EPIQ_SCALE_STANDARD; /* the mean of the target has its own chance */
                EQ(run(12, 3, P("X"), P("y"), grouped ? label : NULL, 2, P("x0"), &o), EPIQ_OK);
                for (int k = 0; k < 2 * EPIQ_CORRECTIONS; k++) {
                    CLOSE(epiq_point_corrected(r->points[k % 2], WAYS[k / 2])->variance,
                          (grouped ? P("standard_group_V") : P("standard_V"))[k], tol);
                }
                o.scale = EPIQ_SCALE_NONE;
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
        EQ(r->solve->probes, 0);
        double exact[POINTS], loo = r->fit->kernel_rmse, rms[2] = {0};
        for (int p = 0; p < POINTS; p++) {
            exact[p] = r->points[p]->data.variance;
            NEAR(r->points[p]->probe_error, 0, 0);
        }
        for (int many = 0; many < 2; many++) {
            for (int seed = 0; seed < SEEDS; seed++) {
                o.probes = many ? 256 : 16;
                o.seed = (uint64_t)(100 + seed);
                EQ(run(ROWS, FEATURES, x, y, NULL, POINTS, x0, &o), EPIQ_OK);
                EQ(r->solve->probes, o.probes);
                TRUE(noted("probes") != NULL);
                NEAR(r->fit->kernel_rmse, loo, 0.05 * loo);
                for (int p = 0; p < POINTS; p++) {
                    double off = r->points[p]->data.variance / exact[p] - 1, said = r->points[p]->probe_error;
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
        bits[threads - 1][0] = r->points[1]->data.variance;
        bits[threads - 1][1] = r->points[1]->probe_error;
    }
    EQ(memcmp(bits[0], bits[1], sizeof bits[0]), 0);
    o.probes = ROWS; /* as many as rows: the inverse is cheaper */
    EQ(run(ROWS, FEATURES, x, y, NULL, POINTS, x0, &o), EPIQ_OK);
    EQ(r->solve->probes, 0);
    o.probes = 15;
    EQ(run(ROWS, FEATURES, x, y, NULL, POINTS, x0, &o), EPIQ_E_USAGE);
    SAYS_ROUGHLY(epiq_message(c), "16");
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
    o.scale = EPIQ_SCALE_NONE;
    EQ(run(N, D, x, y, NULL, 2, x0, &o), EPIQ_OK);
    double unit = factor[D], prediction = shift[D] + unit * r->points[1]->prediction;
    double tau2 = unit * unit * r->points[1]->procedural.variance,
           move = unit * r->points[1]->influential[0]->influence;
    o.scale = EPIQ_SCALE_STANDARD; /* which changes nothing here, but counts the chance of the target's mean */
    EQ(run(N, D, x, y, NULL, 2, x0, &o), EPIQ_OK);
    double inf = unit * unit * r->points[1]->data.variance;
    EQ(run_synth(&o), EPIQ_OK);
    CLOSE(r->points[1]->prediction, prediction, 1e-12);
    CLOSE(r->points[1]->data.variance, inf, 1e-9);
    CLOSE(r->points[1]->procedural.variance, tau2, 1e-9);
    CLOSE(r->points[1]->influential[0]->influence, move, 1e-9);
    done();
}

/* A large penalty, or training that ends early, leaves the mean of the target, whose own chance is most of the variance then: over
 * fresh tables. Without it the estimate would be a tenth of the truth. Features are centred too, which takes a little of it back, so
 * it errs upwards (docs/method.md section 3). */
TEST(the_mean_of_the_target_has_its_own_chance)
{
    enum { TABLES = 400, ROWS = 60, FEATURES = 2 };
    static const struct {
        double lambda, time;
    } CASES[] = {{10, 0}, {1e-3, 0.01}};
    static const double x0[] = {0.15, 0.15};
    for (int k = 0; k < 2; k++) {
        double mean = 0, square = 0, variance = 0;
        for (int table = 0; table < TABLES; table++) {
            double x[ROWS * FEATURES], y[ROWS];
            epiq_options o = usual_options();
            o.engine = EPIQ_ENGINE_INFINITE;
            o.scale = EPIQ_SCALE_STANDARD;
            o.lambda = CASES[k].lambda;
            o.time = CASES[k].time;
            epiq_ctx *own;
            EQ(epiq_ctx_new(&own), EPIQ_OK);
            EQ(epiq_synth(own, 1, ROWS, FEATURES, (uint64_t)table + 1, x, y), EPIQ_OK);
            epiq_ctx_free(own);
            EQ(run(ROWS, FEATURES, x, y, NULL, 1, x0, &o), EPIQ_OK);
            mean += r->points[0]->prediction / TABLES;
            square += r->points[0]->prediction * r->points[0]->prediction / TABLES;
            variance += r->points[0]->data.variance / TABLES;
        }
        double ratio = variance / (square - mean * mean);
        printf("lambda %g, time %g: estimate over truth %.2f\n", CASES[k].lambda, CASES[k].time, ratio);
        TRUE(ratio > 0.85 && ratio < 1.4); /* the truth of 400 tables is known to 7 % */
    }
    done();
}

TEST(stopped_flow_matches_quadrature_and_ends_at_the_minimum)
{
    for (int problem = 0; problem < 2; problem++) {
        golden_load(GOLDEN "stopped.txt");
        char name[64];
        for (int t = 0; t < 4; t++) {
            const double *config = P("config");
            epiq_options o = golden_options(config);
            o.time = P("t")[t];
            for (int backend = 0; backend < 2; backend++) {
                o.backend = backend;
                EQ(run(10, 3, P("X"), P("y"), NULL, 2, P("x0"), &o), EPIQ_OK);
                for (int p = 0; p < 2; p++) {
                    CLOSE(r->points[p]->prediction, P("prediction")[2 * t + p], 1e-9);
                    CLOSE(r->points[p]->procedural.variance, P("tau2")[2 * t + p], 1e-9);
                    CLOSE(r->points[p]->data.variance, P("V")[2 * t + p], 1e-9);
                }
                EQ(r->ran->correction, EPIQ_CORRECTION_NONE);
                TRUE(warned("uncorrected") != NULL);
            }
        }
    }
    done();
}
