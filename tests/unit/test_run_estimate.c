/* test_run_estimate.c - the rules of epiq_estimate for choosing, combining, warning, stopping and resuming. */
#include "epiq_details.h"
#include "est/variance.h"
#include "run/run.h"

#include <unistd.h>

#include "allocations.h"
#include "sixty_rows.h"

TEST(the_plain_backend_gives_the_same_numbers)
{
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_LINEAR;
    EQ(run_synth(&o), EPIQ_OK);
    epiq_point blas = *r->points[1];
    STR(r->backend, "blas");
    o.backend = EPIQ_BACKEND_REF;
    EQ(run_synth(&o), EPIQ_OK);
    STR(r->backend, "ref");
    CLOSE(r->points[1]->data.variance, blas.data.variance, 1e-9);
    CLOSE(r->points[1]->procedural.variance, blas.procedural.variance, 1e-9);
    CLOSE(r->points[1]->ensemble.variance, blas.ensemble.variance, 1e-9);
    done();
}

TEST(any_two_methods_give_both_parts)
{
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_LINEAR;
    EQ(run_synth(&o), EPIQ_OK);
    double ev = r->points[0]->procedural.variance, inf = r->points[0]->data.variance, ba = r->points[0]->check.ba;
    EQ(r->points[0]->procedural.method, EPIQ_BY_EV);
    EQ(r->points[0]->data.method, EPIQ_BY_IF);
    EQ(r->points[0]->ensemble.method, EPIQ_BY_IF_EV);
    CLOSE(r->points[0]->ensemble.variance, inf + ev / 4, 1e-12);
    TRUE(r->points[0]->check.known);
    const epiq_part by_ba = epiq_part_of(ba, 3, o.level, EPIQ_BY_BA);
    CLOSE(r->points[0]->check.if_plus_ev, inf + ev / 4, 1e-12);
    EQ(r->points[0]->check.inside, inf + ev / 4 >= by_ba.lo && inf + ev / 4 <= by_ba.hi);
    ptrdiff_t apart = 0;
    for (ptrdiff_t p = 0; p < r->point_count; p++) {
        apart += !r->points[p]->check.inside;
    }
    EQ(noted("check") != NULL, (double)apart > 2 * (1 - o.level) * (double)r->point_count);
    CLOSE(r->points[0]->single.variance, inf + ev, 1e-12);
    CLOSE(r->points[0]->prediction_variance.variance, inf + ev / 6, 1e-12);

    o.ensemble_size = 20;
    o.methods = EPIQ_IF | EPIQ_EV;
    EQ(run_synth(&o), EPIQ_OK);
    const epiq_part *both = &r->points[0]->ensemble;
    EQ(both->method, EPIQ_BY_IF_EV);
    CLOSE(both->variance, inf + ev / 20, 1e-12);
    double nu1 = r->points[0]->data.df, nu2 = 5, v1 = inf, v2 = ev / 20; /* Satterthwaite */
    CLOSE(both->df, (v1 + v2) * (v1 + v2) / (v1 * v1 / nu1 + v2 * v2 / nu2), 1e-12);
    TRUE(!r->points[0]->check.known);

    o.methods = EPIQ_EV | EPIQ_BA;
    EQ(run_synth(&o), EPIQ_OK);
    int withheld = 0, given = 0;
    for (int p = 0; p < 2; p++) {
        const epiq_part *d = &r->points[p]->data;
        EQ(d->method, EPIQ_BY_BA_EV);
        EQ(d->has_interval, 0);
        withheld += !d->known;
        given += d->known;
        TRUE(!d->known || d->variance >= 0);
        TRUE(d->known || !r->points[p]->single.known);
    }
    EQ(withheld > 0, warned("negative_difference") != NULL);
    EQ(withheld + given, 2);

    o.methods = EPIQ_IF | EPIQ_BA;
    o.ensemble_size = 0;
    EQ(run_synth(&o), EPIQ_OK);
    EQ(r->points[0]->procedural.method, EPIQ_BY_BA_IF);
    if (ba > inf) {
        CLOSE(r->points[0]->procedural.variance, 4 * (ba - inf), 1e-9);
    } else {
        TRUE(!r->points[0]->procedural.known && warned("negative_difference"));
    }

    const int alone[] = {EPIQ_IF, EPIQ_EV, EPIQ_BA};
    for (int k = 0; k < 3; k++) {
        o.methods = alone[k];
        EQ(run_synth(&o), EPIQ_OK);
        EQ(r->points[0]->data.known, alone[k] == EPIQ_IF);
        EQ(r->points[0]->procedural.known, alone[k] == EPIQ_EV);
        EQ(r->points[0]->ensemble.known, alone[k] == EPIQ_BA);
        EQ(r->points[0]->single.known, 0);
        TRUE(isfinite(r->points[0]->prediction));
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
        const epiq_point *point = r->points[p];
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
        CLOSE(r->points[p]->prediction, kernel[p], 1e-12);
        EQ(r->points[p]->member_count, 0);
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
            epiq_options o = usual_options();
            o.scale = EPIQ_SCALE_NONE;
            o.engine = EPIQ_ENGINE_INFINITE;
            o.threads = 1;
            static const double x0[D] = {0.1, 0.1, 0.1};
            double *x = malloc(300 * (D + 1) * sizeof *x), *y = x + 300 * D;
            TRUE(!epiq_ctx_new(&own) && !epiq_synth(own, 1, 300, D, 7, x, y) &&
                 !epiq_data_new(own, 300, D, x, y, NULL, &o, &rows) && !epiq_points_new(own, rows, &points) &&
                 !epiq_points_add_rows(own, points, 1, x0) && !epiq_estimate(own, rows, points, &o, &result));
            *(turn ? &together[k] : &alone) = result ? result->points[0]->data.variance : NAN;
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
                const epiq_point *point = r->points[p];
                const epiq_part *parts[] = {&point->procedural,
                                            &point->data,
                                            &point->ensemble,
                                            &point->single,
                                            &point->infinite,
                                            &point->prediction_variance,
                                            epiq_point_corrected(point, EPIQ_CORRECTION_NONE)};
                for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
                    TRUE(isfinite(parts[k]->variance) && parts[k]->variance >= 0 && isfinite(parts[k]->lo) &&
                         isfinite(parts[k]->hi));
                    TRUE(!parts[k]->has_interval ||
                         (parts[k]->lo <= parts[k]->variance &&
                          (parts[k]->open ? parts[k]->hi == 0 : parts[k]->variance <= parts[k]->hi)));
                }
            }
            TRUE(r->advice->text && *r->advice->text);
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
            const epiq_point *t = r->points[p];
            const epiq_point *last = r->sweeps[D - 1]->points[p];
            double now[9] = {t->prediction,        t->procedural.variance, t->data.variance,
                             t->ensemble.variance, t->infinite.variance,   t->influential[0]->influence,
                             t->predictive.lo,     last->predictive.hi,    last->single.variance};
            if (threads == 1) memcpy(first[p], now, sizeof now);
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
    double once = r->points[0]->data.variance;
    double x[2 * N * D], y[2 * N];
    int64_t group[2 * N];
    for (int i = 0; i < 2 * N; i++) {
        memcpy(x + i * D, X + i / 2 * D, sizeof(double) * D);
        y[i] = Y[i / 2];
        group[i] = 1000 - i / 2;
    }
    EQ(run(2 * N, D, x, y, group, 2, X0, &o), EPIQ_OK);
    CLOSE(r->points[0]->data.variance, once, 1e-9);
    TRUE(!warned("duplicate_rows")); /* it recommends what was done */
    EQ(run(2 * N, D, x, y, NULL, 2, X0, &o), EPIQ_OK);
    CLOSE(r->points[0]->data.variance, once / 2, 1e-9);
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
        NEAR(r->points[0]->procedural.variance, 0, 0);
        EQ(r->points[0]->procedural.has_interval, 0);
        /* the prediction is the mean of the target, of which the noise alone has a chance here */
        TRUE(r->points[0]->data.variance > 0 && r->points[0]->data.variance < epiqp_variance(Y, N) / N);
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
    SENTENCE_ROUGHLY(warned("outside_range"));
    done();
}

TEST(training_that_stops_short_is_said)
{
    epiq_options o = small();
    o.data_by = EPIQ_DATA_BY_IF;
    o.steps = 3;
    EQ(run_synth(&o), EPIQ_E_NUMERIC);
    SAYS_ROUGHLY(epiq_message(c), "converged");
    o.optimizer = EPIQ_OPTIMIZER_GD;
    o.steps = 50;
    EQ(run_synth(&o), EPIQ_OK);
    TRUE(warned("stopped_early") != NULL);
    TRUE(r->training->converged < r->training->members);
    EQ(r->training->members, 10);
    EQ(r->training->iterations_median, 50);
    o.lr = 1e3;
    EQ(run_synth(&o), EPIQ_E_NUMERIC);
    SAYS_ROUGHLY(epiq_message(c), "lr");
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
        ev[vary] = r->points[0]->procedural.variance;
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
        ba[vary] = r->points[0]->ensemble.variance;
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
    EQ(r->training->resumed, 8);
    double ev = r->points[0]->procedural.variance, ba = r->points[0]->ensemble.variance;
    o.state = NULL;
    EQ(run_synth(&o), EPIQ_OK);
    NEAR(r->points[0]->procedural.variance, ev, 0);
    NEAR(r->points[0]->ensemble.variance, ba, 0);
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
        EQ(r->points[0]->data.known, t < 2);
        EQ(warned("out_of_range") != NULL, t >= 2);
        if (t < 2) { /* the interval scales with the estimate */
            double now = r->points[0]->data.hi / r->points[0]->data.variance;
            TRUE(t == 0 || fabs(now / relative - 1) < 1e-9);
            relative = now;
        }
        o.scale = EPIQ_SCALE_NONE;
        EQ(run(N, D, X, y, NULL, 2, X0, &o), EPIQ_OK);
        SENTENCE_ROUGHLY(r->advice->text);
        TRUE(strstr(r->advice->text, "nan") == NULL);
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
    double kernel = r->points[0]->data.variance;
    o.hbar = EPIQ_HBAR_ENSEMBLE;
    EQ(run_synth(&o), EPIQ_OK);
    /* the mean of 400 linear networks is the kernel predictor but for 1/20 of their spread */
    CLOSE(r->points[0]->data.variance, kernel, 0.1);
    TRUE(r->points[0]->data.variance != kernel);
    o.hbar = EPIQ_HBAR_KERNEL;
    o.kernel = EPIQ_KERNEL_EMPIRICAL;
    EQ(run_synth(&o), EPIQ_OK);
    CLOSE(r->points[0]->data.variance, kernel, 0.1); /* the mean of 400 kernels is near the population's */
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
    if (strcmp(p->stage, "members") == 0 && p->done == *(ptrdiff_t *)user) epiq_ctx_finish(c);
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
    epiq_point few = *r->points[1];
    epiq_result_free(c, r);
    o.members = 6;
    o.methods |= EPIQ_BA;
    o.data_by = EPIQ_DATA_BY_AUTO;
    o.threads = 1; /* so that the first three are the ones finished */
    for (ptrdiff_t enough = 3; enough >= 1; enough -= 2) {
        epiq_ctx_on_progress(c, finish_after, &enough);
        EQ(epiq_estimate(c, data, at, &o, &r), enough > 1 ? EPIQ_PARTIAL : EPIQ_E_STOPPED); /* one has no variance */
        if (enough > 1) {
            EQ(r->points[1]->member_count, 3);
            EQ(r->training->members, 3);
            EQ(r->ran->methods, EPIQ_IF | EPIQ_EV);
            NEAR(r->points[1]->procedural.variance, few.procedural.variance, 0);
            NEAR(r->points[1]->prediction, few.prediction, 0);
            NEAR(r->points[1]->data.variance, few.data.variance, 0);
            STR(r->warnings[0]->code, "stopped");
            epiq_result_free(c, r);
        }
    }
    epiq_ctx_on_progress(c, NULL, NULL);
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_OK); /* the request ended with the call it was for */
    EQ(r->points[1]->member_count, 6);
    done();
}

TEST(a_stopped_run_goes_on_and_ends_with_equal_points)
{
    char state[] = "/tmp/epiq-test-XXXXXX";
    close(mkstemp(state));
    epiq_options o = small();
    o.data_by = EPIQ_DATA_BY_IF;
    EQ(run_synth(&o), EPIQ_OK);
    epiq_point whole = *r->points[1];
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
    EQ(r->training->resumed, 3);
    NEAR(r->points[1]->procedural.variance, whole.procedural.variance, 0);
    NEAR(r->points[1]->ensemble.variance, whole.ensemble.variance, 0);
    NEAR(r->points[1]->prediction, whole.prediction, 0);
    epiq_result_free(c, r);
    o.members = 8; /* more members: the six are kept */
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_OK);
    EQ(r->training->resumed, 10);
    epiq_result_free(c, r);
    o.seed = 2; /* another seed: nothing of it is there */
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_OK);
    EQ(r->training->resumed, 0);
    epiq_result_free(c, r);
    r = NULL;
    FILE *f = fopen(state, "w");
    fputs("this is a diary, not a state file, and it is long enough to be read as one\n", f);
    fclose(f);
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_E_FILE);
    SAYS_ROUGHLY(epiq_message(c), state);
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
        FAIL_EACH(c, epiq_estimate(c, data, at, &o, &r), r == NULL, 16);
    }
    done();
}

TEST(too_much_for_the_rows_is_refused)
{
    epiq_options o = small();
    o.batches = 31;
    EQ(run_synth(&o), EPIQ_E_DATA);
    SAYS_ROUGHLY(epiq_message(c), "batches");
    int64_t group[N];
    for (int i = 0; i < N; i++) {
        group[i] = i % 3;
    }
    o.batches = 4;
    EQ(run(N, D, X, Y, group, 2, X0, &o), EPIQ_E_DATA);
    SAYS_ROUGHLY(epiq_message(c), "3 groups");
    for (int i = 0; i < N; i++) {
        group[i] = 7;
    }
    o.methods = EPIQ_IF;
    EQ(run(N, D, X, Y, group, 2, X0, &o), EPIQ_E_DATA);
    SENTENCE_ROUGHLY(epiq_message(c));
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
    NEAR(r->points[0]->data.variance, 0, 0);
    EQ(r->points[0]->data.has_interval, 0);
    NEAR(r->points[0]->prediction, 4, 1e-12);
    TRUE(warned("constant_target") != NULL);
    done();
}
