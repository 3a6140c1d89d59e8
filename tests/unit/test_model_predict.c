/* test_model_predict.c - what predict says is what estimate says at the same points, for every engine and choice of methods; single
 * precision is as good as it claims. */
#include "common/student.h"
#include "epiq_model.h"
#include "fitted_model.h"

/* The rows themselves are inside, whatever the scaling rounds; one that is far in one feature is not. */
TEST(rows_beyond_those_learned_from_are_counted)
{
    epiq_ctx *c = start();
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_INFINITE;
    epiq_model *m = fitted(c, N, &o, NULL);
    double h[N];
    unsigned char known[N];
    epiq_predictions out = {.size = sizeof(epiq_predictions), .prediction = h, .known = known};
    EQ(epiq_model_predict(c, m, N, X, &out), EPIQ_OK);
    EQ(out.outside, 0);
    const double far[2 * D] = {0.1, 0.1, 0.3, 0.1, 0.1, 0.1};
    EQ(epiq_model_predict(c, m, 2, far, &out), EPIQ_OK);
    EQ(out.outside, 1);
    epiq_model_free(c, m);
    end(c);
}

/* ---- against estimate ---- */

static void compare(const epiq_part *want, int bit, int known, double got, double tolerance)
{
    EQ((known & bit) != 0, want->known);
    CLOSE(got, want->known ? want->variance : 0, tolerance);
}

/* The interval of y, and the standard deviations beside it. */
static void compare_observation(const epiq_point *w, const numbers *got, ptrdiff_t p)
{
    const int known = got->known[p];
    const double noise = sqrt(w->predictive.noise), sd = sqrt(w->prediction_variance.variance);
    EQ((known & EPIQ_SD) != 0, w->prediction_variance.known);
    CLOSE(got->sd[p], w->prediction_variance.known ? sd : 0, 1e-9);
    EQ((known & EPIQ_INTERVAL) != 0, w->predictive.known);
    if (!w->predictive.known) {
        NEAR(got->lo[p], 0, 0);
        NEAR(got->hi[p], 0, 0);
        return;
    }
    TRUE(known & EPIQ_NOISE);
    CLOSE(got->noise[p], noise, 1e-9);
    NEAR(got->lo[p], w->predictive.lo, 1e-9 * (w->predictive.hi - w->predictive.lo));
    NEAR(got->hi[p], w->predictive.hi, 1e-9 * (w->predictive.hi - w->predictive.lo));
}

/* What both say of rows that were not seen. */
static void compare_fit(const epiq_result *want, const epiq_model *m)
{
    const epiq_fit_error *w = want->fit, *got = epiq_model_describe(m).fit;
    EQ(got->known, w->known);
    EQ(got->folds, w->folds);
    EQ(got->has_r2, w->has_r2);
    EQ(got->by_group, w->by_group);
    EQ(got->kernel_known, w->kernel_known);
    CLOSE(got->rmse, w->rmse, 1e-12);
    CLOSE(got->r2, w->r2, 1e-12);
    CLOSE(got->noise_variance, w->noise_variance, 1e-12);
    CLOSE(got->kernel_rmse, w->kernel_rmse, 1e-12);
    CLOSE(got->kernel_r2, w->kernel_r2, 1e-12);
    CLOSE(got->kernel_noise_variance, w->kernel_noise_variance, 1e-12);
}

static ptrdiff_t intervals; /* known ones, of the last comparison */
static void like_estimate(const epiq_options *o, const int64_t *group)
{
    epiq_ctx *c = start();
    epiq_data *data;
    epiq_points *at;
    epiq_result *want = NULL;
    static numbers got;
    ptrdiff_t few = 0;
    intervals = 0;
    EQ(epiq_data_new(c, N, D, X, Y, group, o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add_rows(c, at, POINTS, AT), EPIQ_OK);
    epiq_options whole = *o;
    whole.probes = 0; /* a model has every leverage exactly */
    EQ(epiq_estimate(c, data, at, &whole, &want), EPIQ_OK);
    epiq_model *m = fitted(c, N, o, group);
    asked_level = o->level;
    EQ(ask(c, m, 2, 1, &got), EPIQ_OK);
    asked_level = 0;
    for (ptrdiff_t p = 0; want && p < POINTS; p++) {
        const epiq_point *w = want->points[p];
        /* k0'alpha for c'y, k0'w for c'r: the same sums in another order, with A's condition of 1e3 or so; and a
         * variance is a difference of predictions that agree to two digits. The data variance is computed in the same
         * way. */
        NEAR(got.prediction[p], w->prediction, 1e-12);
        compare(&w->procedural, EPIQ_PROCEDURAL, got.known[p], got.procedural[p], 1e-10);
        compare(&w->data, EPIQ_DATA, got.known[p], got.data[p], 1e-9);
        compare(&w->ensemble, EPIQ_ENSEMBLE, got.known[p], got.ensemble[p], 1e-9);
        compare_observation(w, &got, p);
        intervals += w->predictive.known;
        EQ(got.known[p] & EPIQ_PREDICTION, EPIQ_PREDICTION);
        EQ(got.known[p] & ~epiq_model_describe(m).parts, 0);
        bool by_rows = w->data.method == EPIQ_BY_IF || w->data.method == EPIQ_BY_RETRAIN;
        few += by_rows && w->data.df > 0 && w->data.df < 2;
    }
    EQ(decided_by_few, group ? 0 : few); /* a group is never few rows to predict */
    compare_fit(want, m);
    epiq_model_free(c, m);
    epiq_result_free(c, want);
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    end(c);
}

TEST(predict_says_what_estimate_says)
{
    static const char *const lines[] = {"",
                                        "engine linear",
                                        "engine linear linear-kernel own",
                                        "engine infinite",
                                        "engine infinite methods if",
                                        "methods ev",
                                        "methods if",
                                        "methods ba",
                                        "methods ev,ba",
                                        "methods if,ba",
                                        "methods if,ev",
                                        "methods auto",
                                        "methods ev,ba engine linear",
                                        "methods ba engine linear linear-kernel own",
                                        "depth 2",
                                        "correction rowwise",
                                        "correction unbiased",
                                        "correction jackknife",
                                        "correction none",
                                        "probes 32",
                                        "hbar ensemble",
                                        "hbar ensemble engine linear",
                                        "bias 0 scale none",
                                        "bias 0",
                                        "scale minmax",
                                        "ensemble-size 20",
                                        "optimizer sgd steps 20 lr 0.1",
                                        "predictor shifted",
                                        "predictor pnc",
                                        "predictor shifted methods ba depth 2",
                                        "predictor pnc engine linear",
                                        "predictor shifted engine linear linear-kernel own",
                                        "predictor shifted engine infinite",
                                        "predictor shifted data-by retrain",
                                        "data-by retrain",
                                        "data-by retrain methods if,ba scale none bias-sd 0",
                                        "data-by retrain correction unbiased optimizer sgd steps 20 lr 0.1"};
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        epiq_options o = small();
        epiq_ctx *c;
        EQ(epiq_ctx_new(&c), EPIQ_OK);
        char line[128], *rest = NULL;
        snprintf(line, sizeof line, "%s", lines[k]);
        for (char *name = strtok_r(line, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
            EQ(epiq_options_set(c, &o, name, strtok_r(NULL, " ", &rest)), EPIQ_OK);
        }
        epiq_ctx_free(c);
        int before = test_failures;
        like_estimate(&o, NULL);
        if (test_failures > before) fprintf(stderr, "  with %s\n", lines[k]);
    }
}

TEST(predict_knows_groups)
{
    epiq_options o = small();
    int64_t group[N];
    for (int i = 0; i < N; i++) {
        group[i] = i / 3;
    }
    like_estimate(&o, group);
    o.data_by = EPIQ_DATA_BY_RETRAIN;
    like_estimate(&o, group);
}

TEST(what_cannot_be_kept_is_refused)
{
    epiq_ctx *c = start();
    epiq_options o = small();
    epiq_data *data;
    epiq_model *m = NULL;
    EQ(epiq_data_new(c, N, D, X, Y, NULL, &o, &data), EPIQ_OK);
    o.kernel = EPIQ_KERNEL_EMPIRICAL;
    EQ(epiq_fit(c, data, &o, &m), EPIQ_E_USAGE);
    SAYS(epiq_message(c), "kernel empirical");
    o.kernel = EPIQ_KERNEL_POPULATION;
    o.engine = EPIQ_ENGINE_INFINITE;
    o.time = 1;
    EQ(epiq_fit(c, data, &o, &m), EPIQ_E_USAGE);
    SAYS(epiq_message(c), "time");
    TRUE(!m);
    o = small();
    o.methods = EPIQ_EV;
    epiq_model *ev = fitted(c, N, &o, NULL);
    EQ(epiq_model_describe(ev).parts, EPIQ_PREDICTION | EPIQ_PROCEDURAL);
    double far[D] = {1e200, 0, 0}, h;
    unsigned char known;
    epiq_predictions out = {.size = sizeof(epiq_predictions), .prediction = &h, .known = &known, .first = 41};
    EQ(epiq_model_predict(c, ev, 1, far, &out), EPIQ_E_DATA);
    SAYS(epiq_message(c), "row 42");
    far[0] = NAN;
    EQ(epiq_model_predict(c, ev, 1, far, &out), EPIQ_E_DATA);
    SAYS(epiq_message(c), "not a number");
    epiq_model_free(c, ev);
    epiq_data_free(c, data);
    end(c);
}

/* ---- bits ---- */

/* The level is chosen when the model is asked: with 18 rows there is an interval at 0.94 and none at 0.95. */
TEST(few_rows_allow_low_levels_only)
{
    epiq_ctx *c = start();
    epiq_options o = small();
    o.methods = EPIQ_IF;
    epiq_model *m = fitted(c, 18, &o, NULL);
    const epiq_model_info about = epiq_model_describe(m);
    EQ(about.warning_count, 1); /* so few rows do not show that there is any skill */
    EQ(about.warnings[0]->kind, EPIQ_W_NO_SKILL);
    TRUE(!about.no_interval);
    CLOSE(about.most_level, 18.0 / 19, 1e-15);
    static numbers r;
    static const double LEVEL[] = {0.94, 18.0 / 19, 0.948, 0.95, 0.5};
    ptrdiff_t known[5] = {0};
    for (int k = 0; k < 5; k++) {
        asked_level = LEVEL[k];
        EQ(ask(c, m, 1, 1, &r), EPIQ_OK);
        for (ptrdiff_t p = 0; p < POINTS; p++) {
            known[k] += (r.known[p] & EPIQ_INTERVAL) != 0;
            EQ((r.known[p] & EPIQ_INTERVAL) && !(r.known[p] & EPIQ_NOISE), 0);
        }
    }
    TRUE(known[0] > 0 && known[0] == known[1] && known[0] == known[4] && known[2] == 0 && known[3] == 0);
    for (int k = 0; k < 3; k++) {
        asked_level = (double[]){1, -0.1, NAN}[k];
        EQ(ask(c, m, 1, 1, &r), EPIQ_E_USAGE);
        SAYS(epiq_message(c), "level");
    }
    asked_level = 0;
    epiq_model_free(c, m);
    end(c);
}

TEST(a_model_says_why_it_has_no_interval)
{
    static const struct {
        int methods;
        ptrdiff_t fold_members;
        const char *says;
    } CASES[] = {{EPIQ_EV, 2, "methods"}, {EPIQ_BA, 2, "methods"}, {EPIQ_EV | EPIQ_BA, 0, "fold_members"}};
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        epiq_ctx *c = start();
        epiq_options o = small();
        o.methods = CASES[k].methods;
        o.fold_members = CASES[k].fold_members;
        epiq_model *m = fitted(c, N, &o, NULL);
        const epiq_model_info about = epiq_model_describe(m);
        TRUE(!(about.parts & (EPIQ_INTERVAL | EPIQ_NOISE)) && about.no_interval);
        SAYS(about.no_interval ? about.no_interval : "", CASES[k].says);
        NEAR(about.most_level, 0, 0);
        static numbers r;
        EQ(ask(c, m, 1, 1, &r), EPIQ_OK);
        for (ptrdiff_t p = 0; p < POINTS; p++) {
            EQ(r.known[p] & (EPIQ_INTERVAL | EPIQ_NOISE), 0);
            NEAR(r.hi[p], 0, 0);
        }
        epiq_model_free(c, m);
        end(c);
    }
}

/* Levels, folds, groups and rows beyond those that neighbours are chosen among: the interval is that of an estimate. */
TEST(intervals_are_those_of_estimates)
{
    static const struct {
        int engine;
        ptrdiff_t folds, fold_members;
        double level;
        bool groups;
    } CASES[] = {{EPIQ_ENGINE_NETWORK, 5, 3, 0.8, false}, {EPIQ_ENGINE_NETWORK, 3, 1, 0.5, true},
                 {EPIQ_ENGINE_NETWORK, 5, 0, 0.9, false}, {EPIQ_ENGINE_INFINITE, 5, 4, 0.99, false},
                 {EPIQ_ENGINE_INFINITE, 5, 4, 0.7, true}, {EPIQ_ENGINE_LINEAR, 4, 2, 0.9, false},
                 {EPIQ_ENGINE_LINEAR, 4, 2, 0.6, true}};
    int64_t group[N];
    for (int i = 0; i < N; i++) {
        group[i] = i / 3;
    }
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        epiq_options o = small();
        o.engine = CASES[k].engine;
        o.folds = CASES[k].folds;
        o.fold_members = CASES[k].fold_members;
        o.level = CASES[k].level;
        like_estimate(&o, CASES[k].groups ? group : NULL);
        if (!(intervals > POINTS / 2)) TEST_FAIL("case %zu has %td intervals\n", k, intervals);
    }
}

/* Outside the data there is no interval, and the rows where that is so are counted; nothing else changes. */
TEST(intervals_are_withheld_outside_the_data)
{
    epiq_ctx *c = start();
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_INFINITE;
    epiq_model *m = fitted(c, N, &o, NULL);
    const double x[2 * D] = {0.1, 0.1, 0.1, 30, 0.1, 0.1};
    double sd[2], lo[2], hi[2];
    unsigned char known[2];
    epiq_predictions out = {.size = sizeof out, .known = known, .sd = sd, .lo = lo, .hi = hi, .withheld = 5};
    EQ(epiq_model_predict(c, m, 2, x, &out), EPIQ_OK);
    EQ(out.withheld, 6);
    EQ(known[0], EPIQ_SD | EPIQ_INTERVAL);
    EQ(known[1], EPIQ_SD);
    TRUE(sd[0] > 0 && sd[1] > 0 && hi[0] > lo[0]);
    NEAR(lo[1], 0, 0);
    NEAR(hi[1], 0, 0);
    epiq_model_free(c, m);
    end(c);
}

TEST(threads_and_parts_change_no_bit)
{
    epiq_ctx *c = start();
    epiq_options o = small();
    epiq_model *m = fitted(c, N, &o, NULL);
    static numbers one, many, single;
    EQ(ask(c, m, 1, 0, &one), EPIQ_OK);
    for (ptrdiff_t threads = 2; threads <= 5; threads++) {
        EQ(ask(c, m, threads, 0, &many), EPIQ_OK);
        EQ(memcmp(&one, &many, sizeof one), 0);
    }
    double *const parts[] = {single.prediction, single.procedural, single.data, single.ensemble,
                             single.sd,         single.lo,         single.hi,   single.noise};
    const double *const all[] = {one.prediction, one.procedural, one.data, one.ensemble,
                                 one.sd,         one.lo,         one.hi,   one.noise};
    for (int k = 0; k < 8; k++) {
        epiq_predictions out = {.size = sizeof(epiq_predictions), .known = single.known};
        double **const wanted[] = {&out.prediction, &out.procedural, &out.data, &out.ensemble,
                                   &out.sd,         &out.lo,         &out.hi,   &out.noise};
        static const int BIT[] = {EPIQ_PREDICTION, EPIQ_PROCEDURAL, EPIQ_DATA,     EPIQ_ENSEMBLE,
                                  EPIQ_SD,         EPIQ_INTERVAL,   EPIQ_INTERVAL, EPIQ_NOISE};
        *wanted[k] = parts[k];
        EQ(epiq_model_predict(c, m, POINTS, AT, &out), EPIQ_OK);
        EQ(memcmp(parts[k], all[k], sizeof single.data), 0);
        EQ(single.known[7], one.known[7] & BIT[k]);
    }
    epiq_model_free(c, m);
    end(c);
}

/* ---- the expected prediction ---- */

/* Networks on batches say what they say to an estimate; that of retrain is made of the variance of the prediction and its degrees of
 * freedom, as an estimate has them beside it. */
TEST(the_expected_prediction_is_where_an_estimate_has_it)
{
    for (int how = 0; how < 3; how++) {
        epiq_ctx *c = start();
        epiq_options o = small();
        epiq_data *data;
        epiq_points *at;
        epiq_result *want = NULL;
        double lo[POINTS], hi[POINTS];
        unsigned char known[POINTS];
        o.engine = how == 2 ? EPIQ_ENGINE_INFINITE : EPIQ_ENGINE_NETWORK;
        o.confidence = how ? EPIQ_CONFIDENCE_RETRAIN : EPIQ_CONFIDENCE_BATCHING;
        EQ(epiq_data_new(c, N, D, X, Y, NULL, &o, &data), EPIQ_OK);
        EQ(epiq_points_new(c, data, &at), EPIQ_OK);
        EQ(epiq_points_add_rows(c, at, POINTS, AT), EPIQ_OK);
        EQ(epiq_estimate(c, data, at, &o, &want), EPIQ_OK);
        epiq_model *m = fitted(c, N, &o, NULL);
        TRUE(epiq_model_describe(m).parts & EPIQ_EXPECTED);
        epiq_predictions out = {
            .size = sizeof out, .known = known, .confidence_lo = lo, .confidence_hi = hi, .exact = 1};
        EQ(epiq_model_predict(c, m, POINTS, AT, &out), EPIQ_OK);
        for (ptrdiff_t p = 0; want && p < POINTS; p++) {
            const epiq_point *w = want->points[p];
            const epiq_part *v = &w->prediction_variance;
            const double half = how ? epiqp_student_quantile(v->df, 0.95) * sqrt(v->variance)
                                    : (w->confidence.hi - w->confidence.lo) / 2,
                         centre = how ? w->prediction : w->confidence.centre;
            EQ(known[p], EPIQ_EXPECTED);
            NEAR(lo[p], centre - half, 1e-8 * half); /* as of the variances above */
            NEAR(hi[p], centre + half, 1e-8 * half);
        }
        epiq_model_free(c, m);
        epiq_result_free(c, want);
        epiq_points_free(c, at);
        epiq_data_free(c, data);
        o.confidence = EPIQ_CONFIDENCE_NONE;
        m = fitted(c, N, &o, NULL);
        EQ(epiq_model_describe(m).parts & EPIQ_EXPECTED, 0);
        EQ(epiq_model_predict(c, m, POINTS, AT, &out), EPIQ_OK);
        EQ(known[0], 0);
        epiq_model_free(c, m);
        end(c);
    }
}

/* ---- single precision ---- */

/* Errors of single outputs, of random networks at random points, in units of what epiqp_shallow32_ensemble_error says they are. */
TEST(single_precision_is_as_good_as_it_says)
{
    static const int shapes[][2] = {{1, 32}, {3, 100}, {13, 1024}, {64, 256}, {8, 4096}};
    epiq_ctx *c = start();
    epiqp_env e = {.c = c, .la = &epiqp_la_blas, .threads = 1};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        epiqp_net net = {shapes[k][0], shapes[k][1], 1, 1, 1};
        double *theta = malloc((size_t)epiqp_net_params(&net) * sizeof *theta), x[EPIQP_SHALLOW32_ROWS * 64];
        double square = 0, largest = 0, h[EPIQP_SHALLOW32_ROWS], judge[EPIQP_SHALLOW32_ROWS];
        epiqp_pass pass;
        epiqp_shallow32 thin;
        epiqp_shallow32_ensemble single;
        EQ(epiqp_pass_new(&e, &net, &pass), EPIQ_OK);
        EQ(epiqp_shallow32_new(c, net.d, net.width, &thin), EPIQ_OK);
        for (uint64_t draw = 0; draw < 16; draw++) {
            epiqp_net_init(&net, (epiqp_stream){3, EPIQP_FOR_MEMBER, draw}, theta);
            epiqp_normals((epiqp_stream){4, EPIQP_FOR_MEMBER, draw}, EPIQP_SHALLOW32_ROWS * net.d, x);
            EQ(epiqp_shallow32_ensemble_new(c, &net, 1, theta, &single), EPIQ_OK);
            epiqp_shallow32_ensemble_forward(&single, 0, &thin, EPIQP_SHALLOW32_ROWS, x, h);
            epiqp_net_forward(&pass, theta, EPIQP_SHALLOW32_ROWS, x, judge);
            for (int i = 0; i < EPIQP_SHALLOW32_ROWS; i++) {
                double off = fabs(h[i] - judge[i]) / epiqp_shallow32_ensemble_error(&single, &net, x + i * net.d);
                square += off * off / (16 * EPIQP_SHALLOW32_ROWS);
                largest = fmax(largest, off);
            }
            epiqp_shallow32_ensemble_free(c, &single);
        }
        if (getenv("SHOW")) {
            printf("d %d width %d: root mean square %.3f, largest %.3f\n", shapes[k][0], shapes[k][1], sqrt(square),
                   largest);
        }
        TRUE(sqrt(square) < 1 && sqrt(square) > 0.02); /* a bound that is neither broken nor idle */
        TRUE(largest < 4);
        epiqp_shallow32_free(c, &thin);
        epiqp_pass_free(c, &pass);
        free(theta);
    }
    end(c);
}

/* The rule of predict.c leaves 2 * 4 / 2000 at the very worst; errors of members do not all agree, so a thousandth. */
static void both_ways(epiq_ctx *c, const epiq_model *m)
{
    static numbers single, exact;
    EQ(ask(c, m, 2, 0, &single), EPIQ_OK);
    EQ(ask(c, m, 2, 1, &exact), EPIQ_OK);
    for (int p = 0; p < POINTS; p++) {
        NEAR(single.prediction[p], exact.prediction[p], 1e-5 * m->target_scaling[1]);
        CLOSE(single.procedural[p], exact.procedural[p], 1e-3);
        CLOSE(single.data[p], exact.data[p], 1e-9);
        CLOSE(single.ensemble[p], exact.ensemble[p], 1e-3);
    }
}

TEST(variances_survive_single_precision_even_where_members_agree)
{
    static const double apart[] = {1, 1e-2, 1e-4, 1e-6, 1e-8, 0};
    epiq_ctx *c = start();
    epiq_options o = small();
    o.methods = EPIQ_IF | EPIQ_EV;
    epiq_model *m = fitted(c, N, &o, NULL);
    both_ways(c, m);
    ptrdiff_t p = epiqp_net_params(&m->fit.net);
    for (size_t k = 0; k < sizeof apart / sizeof *apart; k++) {
        for (ptrdiff_t i = p; i < o.members * p; i++) { /* all others nearer to the first */
            double *theta = m->kept.members.theta, first = theta[i % p];
            theta[i] = first + (k ? apart[k] / apart[k - 1] : 1) * (theta[i] - first);
        }
        epiqp_shallow32_ensemble_free(c, &m->ensemble[EPIQP_MEMBERS].single);
        epiqp_rows_free(c, &m->fit.rows);
        EQ(epiqp_model_prepare(c, m), EPIQ_OK);
        both_ways(c, m);
    }
    for (ptrdiff_t i = 0; i < o.members * p; i++) { /* weights a float cannot hold */
        m->kept.members.theta[i] *= 1e30;
    }
    epiqp_shallow32_ensemble_free(c, &m->ensemble[EPIQP_MEMBERS].single);
    epiqp_rows_free(c, &m->fit.rows);
    EQ(epiqp_model_prepare(c, m), EPIQ_OK);
    TRUE(!m->ensemble[EPIQP_MEMBERS].single.w);
    epiq_model_free(c, m);
    end(c);
}
