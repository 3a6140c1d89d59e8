/* epiq_compare: its errors against folds made by hand and against refits without each row, its parts against
 * epiq_estimate, its front against the definition; threads, stopping, failing. */
#include "allocations.h"
#include "epiq_decide.h"
#include "epiq_details.h"
#include "est/variance.h"
#include "rng/rng.h"
#include "run/run.h"
#include "test.h"
#include "usual.h"

#include <stdlib.h>

static epiq_ctx *c;
static epiq_data *data;
static epiq_points *at;
static epiq_comparison *r;

enum { N = 60, D = 3 };
static double X[N * D], Y[N];

static void done(void)
{
    epiq_comparison_free(c, r);
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    if (c) EQ(c->live_blocks, 0);
    epiq_ctx_free(c);
    c = NULL, data = NULL, at = NULL, r = NULL;
}

static void start(const int64_t *group, const epiq_options *o)
{
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_synth(c, 1, N, D, 5, X, Y), EPIQ_OK);
    EQ(epiq_data_new(c, N, D, X, Y, group, o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add(c, at, "mean"), EPIQ_OK);
}

static epiq_options small(void)
{
    epiq_options o = usual_options();
    o.data_by = EPIQ_DATA_BY_IF; /* a comparison's own */
    o.scale = EPIQ_SCALE_NONE;
    o.width = 32;
    o.members = 6;
    o.ensemble_size = 3;
    o.threads = 2;
    return o;
}

/* ---- the judges: everything once more, by hand ---- */

/* Which fold, as docs/method.md says it: groups shuffled, each to the fold with the fewest rows so far. */
static void deal(ptrdiff_t groups, const int64_t *group, int folds, uint64_t seed, int *fold)
{
    ptrdiff_t order[N];
    int rows[N] = {0};
    for (int g = 0; g < groups; g++) {
        order[g] = g;
    }
    epiqp_shuffle((epiqp_stream){seed, EPIQP_FOR_SHUFFLE, 1}, 0, groups, order);
    for (int g = 0; g < groups; g++) {
        int least = 0;
        for (int k = 1; k < folds; k++) {
            least = rows[k] < rows[least] ? k : least;
        }
        for (int i = 0; i < N; i++) {
            if ((group ? group[i] : i) == order[g]) {
                fold[i] = least;
                rows[least]++;
            }
        }
    }
}

/* Predictions at the rows of a fold by a model that has seen the others only. */
static void predict_fold(const int *fold, int k, const epiq_options *o, double *h, double *tau2)
{
    double x[N * D], y[N], where[N * D];
    ptrdiff_t seen = 0, asked = 0;
    for (int i = 0; i < N; i++) {
        memcpy(fold[i] == k ? where + asked * D : x + seen * D, X + i * D, sizeof *X * D);
        y[seen] = Y[i];
        seen += fold[i] != k;
        asked += fold[i] == k;
    }
    epiq_data *rest;
    epiq_points *there;
    epiq_result *one;
    epiq_options ev = *o;
    ev.methods = EPIQ_EV;
    ev.members = o->ensemble_size;
    EQ(epiq_data_new(c, seen, D, x, y, NULL, &ev, &rest), EPIQ_OK);
    EQ(epiq_points_new(c, rest, &there), EPIQ_OK);
    EQ(epiq_points_add_rows(c, there, asked, where), EPIQ_OK);
    EQ(epiq_estimate(c, rest, there, &ev, &one), EPIQ_OK);
    for (int i = 0, p = 0; i < N; i++) {
        if (fold[i] != k) continue;
        tau2[i] = one->points[p]->procedural.variance;
        h[i] = one->points[p++]->prediction;
    }
    epiq_result_free(c, one);
    epiq_points_free(c, there);
    epiq_data_free(c, rest);
}

static void by_hand(const int *fold, int folds, const epiq_options *o, double *rmse, double *se)
{
    double h[N], tau2[N], e2[N], mean = 0, around = 0;
    for (int k = 0; k < folds; k++) {
        predict_fold(fold, k, o, h, tau2);
    }
    for (int i = 0; i < N; i++) {
        e2[i] = (Y[i] - h[i]) * (Y[i] - h[i]);
        mean += e2[i] / N;
    }
    for (int i = 0; i < N; i++) {
        around += (e2[i] - mean) * (e2[i] - mean);
    }
    *rmse = sqrt(mean);
    *se = sqrt(around) / N / (2 * sqrt(mean));
}

TEST(errors_are_those_of_folds_made_by_hand)
{
    epiq_options o = small();
    start(NULL, &o);
    const ptrdiff_t widths[] = {16, 32}, depths[] = {1, 2};
    const double lambdas[] = {1e-3, 1e-2};
    epiq_grid grid = {.size = sizeof(epiq_grid),
                      .widths = widths,
                      .depths = depths,
                      .lambdas = lambdas,
                      .width_count = 2,
                      .depth_count = 2,
                      .lambda_count = 2,
                      .folds = 4};
    EQ(epiq_compare(c, data, at, &o, &grid, &r), EPIQ_OK);
    EQ(r->model_count, 8);
    EQ(r->trainings, 8 * (6 + 4 * 3));
    int fold[N];
    deal(N, NULL, 4, o.seed, fold);
    for (int i = 0; i < 8; i++) {
        const epiq_compared *m = r->models[i];
        EQ(m->width, widths[i / 4]);
        EQ(m->depth, depths[i / 2 % 2]);
        TRUE(m->lambda == lambdas[i % 2] && m->bias == 1);
        epiq_options own = o;
        own.width = m->width;
        own.depth = m->depth;
        own.lambda = m->lambda;
        double rmse, se;
        by_hand(fold, 4, &own, &rmse, &se);
        CLOSE(m->cv.rmse, rmse, 1e-13); /* the same networks; the mean of predictions in another order */
        CLOSE(m->cv.se, se, 1e-10);
        own.methods = EPIQ_IF | EPIQ_EV; /* parts: those of an estimate of this model alone */
        epiq_result *one;
        EQ(epiq_estimate(c, data, at, &own, &one), EPIQ_OK);
        CLOSE(m->procedural.variance, one->points[0]->procedural.variance, 1e-13);
        CLOSE(m->data.variance, one->points[0]->data.variance, 1e-12);
        CLOSE(m->variance.variance, one->points[0]->ensemble.variance, 1e-12);
        CLOSE(m->variance.lo, one->points[0]->ensemble.lo, 1e-9);
        CLOSE(m->variance.hi, one->points[0]->ensemble.hi, 1e-9);
        CLOSE(m->infinite.variance, one->points[0]->infinite.variance, 1e-12);
        CLOSE(m->loo.rmse, one->fit->kernel_rmse, 1e-12);
        epiq_result_free(c, one);
    }
    done();
}

/* Every row is asked of networks that have not seen it, and none is trained on all of them. */
TEST(at_rows_left_out_the_networks_of_the_folds_tell)
{
    epiq_options o = small(), closed = small();
    start(NULL, &o);
    epiq_points_free(c, at);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add(c, at, "rows"), EPIQ_OK);
    epiq_grid grid = {.size = sizeof(epiq_grid), .folds = 4};
    EQ(epiq_compare(c, data, at, &o, &grid, &r), EPIQ_OK);
    EQ(r->trainings, 4 * 3);
    EQ(r->members, 3);
    int fold[N];
    double h[N], tau2[N], mean = 0, of_fold[4] = {0}, square = 0, data_part = 0, infinite = 0;
    deal(N, NULL, 4, o.seed, fold);
    for (int k = 0; k < 4; k++) {
        predict_fold(fold, k, &o, h, tau2);
    }
    for (int i = 0; i < N; i++) {
        mean += tau2[i] / N;
        of_fold[fold[i]] += tau2[i] / N;
    }
    for (int k = 0; k < 4; k++) {
        square += of_fold[k] * of_fold[k];
    }
    const epiq_compared *m = r->models[0];
    CLOSE(m->procedural.variance, mean, 1e-12);
    CLOSE(m->procedural.df, 2 * mean * mean / square, 1e-9);
    closed.engine = EPIQ_ENGINE_INFINITE;
    epiq_result *one;
    EQ(epiq_estimate(c, data, at, &closed, &one), EPIQ_OK);
    for (int i = 0; i < N; i++) {
        data_part += one->points[i]->data.variance / N;
        infinite += one->points[i]->procedural.variance / N;
    }
    epiq_result_free(c, one);
    CLOSE(m->data.variance, data_part, 1e-12);
    CLOSE(m->infinite.variance, infinite, 1e-12);
    CLOSE(m->variance.variance, data_part + mean / 3, 1e-12);
    epiq_comparison_free(c, r);
    grid.folds = 0;
    EQ(epiq_compare(c, data, at, &o, &grid, &r), EPIQ_E_USAGE);
    SENTENCE(epiq_message(c));
    EQ(epiq_points_add(c, at, "mean"), EPIQ_OK);
    grid.folds = 4;
    EQ(epiq_compare(c, data, at, &o, &grid, &r), EPIQ_E_USAGE);
    SENTENCE(epiq_message(c));
    done();
}

/* A kink along one direction, without noise: narrow networks find it, and infinitely wide ones, whose data part it is, do not. */
TEST(the_data_part_is_no_more_than_errors_leave_room_for)
{
    epiq_options o = small(), closed = small();
    o.scale = closed.scale = EPIQ_SCALE_STANDARD;
    o.lambda = closed.lambda = 1e-5;
    o.width = 16;
    start(NULL, &o);
    for (int i = 0; i < N; i++) {
        Y[i] = fabs(X[i * D] + X[i * D + 1] - X[i * D + 2] - 0.1);
    }
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    EQ(epiq_data_new(c, N, D, X, Y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add(c, at, "rows"), EPIQ_OK);
    epiq_grid grid = {.size = sizeof(epiq_grid), .folds = 4};
    EQ(epiq_compare(c, data, at, &o, &grid, &r), EPIQ_OK);
    const epiq_compared *m = r->models[0];
    epiq_result *one;
    double data_part = 0;
    closed.engine = EPIQ_ENGINE_INFINITE;
    EQ(epiq_estimate(c, data, at, &closed, &one), EPIQ_OK);
    for (int i = 0; i < N; i++) {
        data_part += one->points[i]->data.variance / N;
    }
    epiq_result_free(c, one);
    TRUE(data_part + m->procedural.variance / 3 > 1.1 * m->cv.rmse * m->cv.rmse); /* so there is something to see */
    const double room = m->cv.rmse * m->cv.rmse - m->procedural.variance / 3;
    CLOSE(m->data.variance, fmax(room, 0.05 * data_part), 1e-9);
    CLOSE(m->variance.variance, m->data.variance + m->procedural.variance / 3, 1e-12);
    done();
}

/* Closed form throughout: leave-one-out is as many folds as rows, but for the ridge, lambda n, of n - 1 rows. */
TEST(leave_one_out_is_refitting_without_each_row)
{
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_INFINITE;
    start(NULL, &o);
    epiq_grid grid = {.size = sizeof(epiq_grid), .folds = N};
    EQ(epiq_compare(c, data, at, &o, &grid, &r), EPIQ_OK);
    const epiq_compared *m = r->models[0];
    CLOSE(m->cv.rmse, m->loo.rmse, 0.01); /* so little do 1/60 of the ridge change */
    int fold[N];
    for (int i = 0; i < N; i++) {
        fold[i] = i;
    }
    double held = o.lambda, rmse, se;
    by_hand(fold, N, &o, &rmse, &se);
    CLOSE(m->cv.rmse, rmse, 1e-10); /* row by row, whatever the order */
    o.lambda = held * N / (N - 1);  /* the ridge held */
    by_hand(fold, N, &o, &rmse, &se);
    CLOSE(m->loo.rmse, rmse, 1e-9);
    CLOSE(m->loo.se, se, 1e-9);
    TRUE(m->procedural.method == EPIQ_BY_INFINITE && m->variance.has_interval);
    EQ(r->trainings, 0);
    done();
}

/* Where no correction needs the leverages and they are dear, the error still does. */
TEST(leave_one_out_is_known_without_a_correction)
{
    enum { MANY = EPIQP_CHEAP_ROWS + 1 };
    static double x[MANY], y[MANY];
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.correction = EPIQ_CORRECTION_NONE;
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_synth(c, 1, MANY, 1, 5, x, y), EPIQ_OK);
    EQ(epiq_data_new(c, MANY, 1, x, y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add(c, at, "mean"), EPIQ_OK);
    EQ(epiq_compare(c, data, at, &o, &(epiq_grid){.size = sizeof(epiq_grid)}, &r), EPIQ_OK);
    TRUE(r->models[0]->loo.known);
    CLOSE(r->models[0]->loo.rmse, 0.1, 0.1); /* the noise of set 1; a standard error is 0.016 of it */
    EQ(r->choice, 0);
    EQ(r->warning_count, 0);
    done();
}

/* No interval of a new observation is shown, so none is missed. */
TEST(few_rows_are_enough)
{
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.correction = EPIQ_CORRECTION_UNBIASED; /* rowwise has something to say of so few */
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_synth(c, 1, 18, D, 5, X, Y), EPIQ_OK);
    EQ(epiq_data_new(c, 18, D, X, Y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add(c, at, "row:3"), EPIQ_OK);
    EQ(epiq_compare(c, data, at, &o, &(epiq_grid){.size = sizeof(epiq_grid)}, &r), EPIQ_OK);
    EQ(r->warning_count, 0);
    done();
}

TEST(groups_stay_whole_and_rows_are_scaled_anew)
{
    int64_t group[N];
    double rmse, se;
    int fold[N];
    for (int i = 0; i < N; i++) {
        group[i] = i < 20 ? 0 : i < 23 ? 1 : 2 + (i - 23) / 4;
    }
    ptrdiff_t groups = group[N - 1] + 1;
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.scale = EPIQ_SCALE_STANDARD;
    start(group, &o);
    epiq_grid grid = {.size = sizeof(epiq_grid), .folds = 3};
    EQ(epiq_compare(c, data, at, &o, &grid, &r), EPIQ_OK);
    deal(groups, group, 3, o.seed, fold);
    for (int i = 1; i < 20; i++) {
        EQ(fold[i], fold[0]);
    }
    by_hand(fold, 3, &o, &rmse, &se);
    CLOSE(r->models[0]->cv.rmse, rmse, 1e-9);         /* y went through the scaling of all rows and back */
    TRUE(fabs(r->models[0]->cv.se - se) > 1e-3 * se); /* rows of a group err together */
    epiq_comparison_free(c, r);
    grid.folds = groups + 1;
    EQ(epiq_compare(c, data, at, &o, &grid, &r), EPIQ_E_DATA);
    SENTENCE_ROUGHLY(epiq_message(c));
    done();
}

/* ---- front and choice ---- */

TEST(front_is_what_nothing_beats)
{
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_INFINITE;
    start(NULL, &o);
    const ptrdiff_t depths[] = {1, 2, 3};
    const double lambdas[] = {1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1}, biases[] = {0.3, 1};
    for (int folds = 0; folds < 6; folds += 5) {
        epiq_grid grid = {.size = sizeof(epiq_grid),
                          .depths = depths,
                          .lambdas = lambdas,
                          .biases = biases,
                          .depth_count = 3,
                          .lambda_count = 6,
                          .bias_count = 2,
                          .folds = folds};
        epiq_comparison_free(c, r);
        EQ(epiq_compare(c, data, at, &o, &grid, &r), EPIQ_OK);
        EQ(r->model_count, 36);
        EQ(r->by_cv, folds > 0);
        int front = 0, best = -1;
#define E(i) (folds ? r->models[i]->cv : r->models[i]->loo)
#define V(i) r->models[i]->variance.variance
        for (int i = 0; i < 36; i++) {
            int beaten = 0;
            for (int k = 0; k < 36; k++) {
                beaten |= E(k).rmse <= E(i).rmse && V(k) <= V(i) && (E(k).rmse < E(i).rmse || V(k) < V(i));
            }
            EQ(r->models[i]->front, !beaten);
            EQ(r->models[i]->cv.known, folds > 0);
            front += !beaten;
            best = best < 0 || E(i).rmse < E(best).rmse ? i : best;
        }
        TRUE(front > 1 && front < 36);
        TRUE(r->choice >= 0 && r->models[r->choice]->front && E(r->choice).rmse <= E(best).rmse + E(best).se);
        for (int i = 0; i < 36; i++) {
            TRUE(!r->models[i]->front || E(i).rmse > E(best).rmse + E(best).se || V(i) >= V(r->choice));
        }
        SENTENCE_ROUGHLY(r->reason);
        int edge = 0;
        for (ptrdiff_t k = 0; k < r->warning_count; k++) {
            edge += strcmp(r->warnings[k]->code, "edge") == 0;
        }
        EQ(edge, r->models[r->choice]->lambda == 1e-5 || r->models[r->choice]->lambda == 1);
    }
    done();
}

/* ---- running ---- */

static const epiq_warning *told(const char *code)
{
    for (ptrdiff_t k = 0; k < r->warning_count; k++) {
        if (strcmp(r->warnings[k]->code, code) == 0) return r->warnings[k];
    }
    return NULL;
}

/* Without bias a network is 0 at the scaled origin: standardised, that is the mean row. */
TEST(a_variance_of_zero_by_construction_does_not_win)
{
    epiq_options o = small();
    const double biases[] = {0, 1};
    o.scale = EPIQ_SCALE_STANDARD;
    o.engine = EPIQ_ENGINE_INFINITE;
    start(NULL, &o);
    EQ(epiq_compare(c, data, at, &o, &(epiq_grid){.size = sizeof(epiq_grid), .biases = biases, .bias_count = 2}, &r),
       EPIQ_OK);
    EQ(r->choice, 1);
    TRUE(r->models[0]->by_construction && !r->models[0]->variance.known && !r->models[0]->front);
    TRUE(r->models[0]->procedural.variance == 0 && r->models[0]->loo.known); /* data: the target's mean alone */
    TRUE(!r->models[1]->by_construction && r->models[1]->variance.variance > 0 && r->models[1]->front);
    SAYS_ROUGHLY(told("not_compared")->message, "1 of 2 models");
    SENTENCE_ROUGHLY(r->reason);
    epiq_comparison_free(c, r);
    r = NULL;
    EQ(epiq_compare(c, data, at, &o, &(epiq_grid){.size = sizeof(epiq_grid), .biases = biases, .bias_count = 1}, &r),
       EPIQ_OK);
    EQ(r->choice, 0); /* alone, it is chosen for its error */
    SENTENCE_ROUGHLY(r->reason);
    TRUE(told("not_compared") != NULL);
    epiq_comparison_free(c, r);
    r = NULL;
    EQ(epiq_points_add(c, at, "row:3"), EPIQ_OK); /* a mean with 0 in it is no better */
    EQ(epiq_compare(c, data, at, &o, &(epiq_grid){.size = sizeof(epiq_grid), .biases = biases, .bias_count = 2}, &r),
       EPIQ_OK);
    TRUE(r->choice == 1 && r->models[0]->by_construction);
    epiq_comparison_free(c, r);
    r = NULL;
    epiq_points *elsewhere = NULL;
    EQ(epiq_points_new(c, data, &elsewhere), EPIQ_OK);
    EQ(epiq_points_add(c, elsewhere, "row:3"), EPIQ_OK);
    EQ(epiq_compare(c, data, elsewhere, &o, &(epiq_grid){.size = sizeof(epiq_grid), .biases = biases, .bias_count = 2},
                    &r),
       EPIQ_OK);
    TRUE(!r->models[0]->by_construction && r->models[0]->variance.variance > 0 && !told("not_compared"));
    epiq_points_free(c, elsewhere);
    done();
}

TEST(any_number_of_threads_gives_the_same_bits)
{
    double kept[2][8] = {{0}};
    for (int t = 0; t < 2; t++) {
        epiq_options o = small();
        o.threads = 1 + 2 * t;
        start(NULL, &o);
        const ptrdiff_t widths[] = {16, 32};
        epiq_grid grid = {.size = sizeof(epiq_grid), .widths = widths, .width_count = 2, .folds = 3};
        EQ(epiq_compare(c, data, at, &o, &grid, &r), EPIQ_OK);
        for (int i = 0; i < 2; i++) {
            const epiq_compared *m = r->models[i];
            const double v[] = {m->cv.rmse, m->cv.se, m->variance.variance, m->loo.rmse};
            memcpy(kept[t] + 4 * i, v, sizeof v);
        }
        done();
    }
    EQ(memcmp(kept[0], kept[1], sizeof kept[0]), 0);
}

static int finish_late(void *user, const epiq_progress *p)
{
    (void)user;
    if (p->done >= 75) { /* the second of two models */
        epiq_ctx_finish(c);
    }
    return 0;
}

TEST(a_choice_at_the_edge_is_told)
{
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_INFINITE;
    start(NULL, &o);
    const double lambdas[] = {1e3, 1e4}; /* far too much: the smaller one has the smaller error */
    epiq_grid grid = {.size = sizeof(epiq_grid), .lambdas = lambdas, .lambda_count = 2};
    EQ(epiq_compare(c, data, at, &o, &grid, &r), EPIQ_OK);
    EQ(r->warning_count, 2);
    STR(r->warnings[0]->code, "no_skill"); /* so much so that the mean of y is as good */
    SENTENCE_ROUGHLY(r->warnings[0]->message);
    STR(r->warnings[1]->code, "edge");
    SAYS_ROUGHLY(r->warnings[1]->message, r->choice == 0 ? "1000, " : "10000, ");
    done();
}

TEST(asked_to_finish_it_compares_the_models_there_are)
{
    epiq_options o = small();
    start(NULL, &o);
    const ptrdiff_t widths[] = {16, 32};
    epiq_grid grid = {.size = sizeof(epiq_grid), .widths = widths, .width_count = 2, .folds = 3};
    epiq_ctx_on_progress(c, finish_late, NULL);
    EQ(epiq_compare(c, data, at, &o, &grid, &r), EPIQ_PARTIAL);
    EQ(r->model_count, 1);
    EQ(r->choice, 0);
    EQ(r->models[0]->width, 16);
    TRUE(r->models[0]->front && r->models[0]->cv.known && r->models[0]->variance.known);
    STR(r->warnings[0]->code, "stopped");
    done();
}

static int calls, last;
static int stop_at_half(void *user, const epiq_progress *p)
{
    TRUE(strcmp(p->stage, "models") == 0 && p->all == 100 && p->done >= last && p->done <= 100);
    last = (int)p->done;
    calls++;
    return *(int *)user && p->done >= 50;
}

TEST(progress_rises_and_stopping_leaves_nothing)
{
    epiq_options o = small();
    start(NULL, &o);
    const ptrdiff_t widths[] = {16, 32};
    epiq_grid grid = {.size = sizeof(epiq_grid), .widths = widths, .width_count = 2, .folds = 3};
    for (int stop = 0; stop < 2; stop++) {
        calls = last = 0;
        ptrdiff_t before = c->live_blocks;
        epiq_ctx_on_progress(c, stop_at_half, &stop);
        EQ(epiq_compare(c, data, at, &o, &grid, &r), stop ? EPIQ_E_STOPPED : EPIQ_OK);
        TRUE(calls > 10 && last >= 50 && c->report == stop_at_half);
        if (stop) {
            TRUE(!r && c->live_blocks == before);
            SENTENCE_ROUGHLY(epiq_message(c));
        } else {
            TRUE(last > 90);
        }
        epiq_comparison_free(c, r);
        r = NULL;
    }
    done();
}

TEST(a_model_that_fails_does_not_take_the_others_along)
{
    epiq_options o = small();
    o.steps = 60; /* enough where the penalty is all there is, too few elsewhere */
    start(NULL, &o);
    const double lambdas[] = {1e-3, 1e3};
    epiq_grid grid = {.size = sizeof(epiq_grid), .lambdas = lambdas, .lambda_count = 2, .folds = 2};
    EQ(epiq_compare(c, data, at, &o, &grid, &r), EPIQ_OK);
    TRUE(!r->models[0]->variance.known && !r->models[0]->front && r->models[1]->variance.known);
    EQ(r->choice, 1);
    EQ(r->warning_count >= 1, 1);
    int found = 0;
    for (ptrdiff_t k = 0; k < r->warning_count; k++) {
        if (strcmp(r->warnings[k]->code, "failed") == 0) {
            SAYS_ROUGHLY(r->warnings[k]->message, "1 of 2 models");
            found++;
        }
    }
    EQ(found, 1);
    epiq_comparison_free(c, r);
    grid.lambda_count = 1;
    EQ(epiq_compare(c, data, at, &o, &grid, &r), EPIQ_E_NUMERIC);
    SENTENCE_ROUGHLY(epiq_message(c));
    done();
}

/* What an estimate would train for its own intervals is no part of a comparison, nor of its forecast. */
TEST(intervals_and_budgets_of_an_estimate_change_nothing)
{
    const ptrdiff_t widths[] = {16, 32};
    const epiq_grid grid = {.size = sizeof grid, .widths = widths, .width_count = 2, .folds = 2};
    epiq_options o = small();
    start(NULL, &o);
    EQ(epiq_compare(c, data, at, &o, &grid, &r), EPIQ_OK);
    const ptrdiff_t trainings = r->trainings;
    const double error = r->models[1]->cv.rmse;
    epiq_comparison_free(c, r);
    o.confidence = EPIQ_CONFIDENCE_BATCHING;
    o.budget_networks = 12;
    EQ(epiq_compare(c, data, at, &o, &grid, &r), EPIQ_OK);
    EQ(r->trainings, trainings);
    NEAR(r->models[1]->cv.rmse, error, 0);
    epiq_result *forecast;
    EQ(epiq_compare_forecast(c, data, at, &o, &grid, &forecast), EPIQ_OK);
    EQ(forecast->ran->engine, EPIQ_ENGINE_NETWORK); /* though the kernel's part takes the most memory */
    EQ(forecast->ran->confidence, EPIQ_CONFIDENCE_NONE);
    epiq_result_free(c, forecast);
    done();
}

TEST(bad_grids_get_a_sentence)
{
    epiq_options o = small(), infinite = small(), own = small();
    infinite.engine = EPIQ_ENGINE_INFINITE;
    own.kernel = EPIQ_KERNEL_EMPIRICAL;
    static ptrdiff_t widths[40], depths[40];
    static const double bad[] = {1e-3, -1};
    for (int i = 0; i < 40; i++) {
        widths[i] = depths[i] = 1 + i;
    }
    const struct {
        const epiq_options *o;
        epiq_grid grid;
        int status;
        const char *part;
    } cases[] = {
        {&o, {.folds = 1}, EPIQ_E_USAGE, "folds"},
        {&o, {.folds = -2}, EPIQ_E_USAGE, "folds"},
        {&o, {.folds = N + 1}, EPIQ_E_DATA, "61 folds"},
        {&infinite, {.widths = widths, .width_count = 2}, EPIQ_E_USAGE, "width"},
        {&o, {.widths = widths, .depths = depths, .width_count = 40, .depth_count = 40}, EPIQ_E_USAGE, "1600 models"},
        {&o, {.lambdas = bad, .lambda_count = 2}, EPIQ_E_USAGE, "lambda"},
        {&own, {0}, EPIQ_E_USAGE, NULL},
    };
    start(NULL, &o);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        epiq_grid grid = cases[i].grid;
        grid.size = sizeof grid;
        EQ(epiq_compare(c, data, at, cases[i].o, &grid, &r), cases[i].status);
        SAYS_ROUGHLY(epiq_message(c), cases[i].part);
        TRUE(!r);
    }
    done();
}

TEST(memory_may_run_out_anywhere)
{
    epiq_options o = small();
    o.width = 4;
    o.members = 2;
    o.ensemble_size = 2;
    o.threads = 1;
    o.engine = EPIQ_ENGINE_LINEAR;
    start(NULL, &o);
    epiq_grid grid = {.size = sizeof(epiq_grid), .folds = 2};
    FAIL_EACH(c, epiq_compare(c, data, at, &o, &grid, &r), !r, 30);
    done();
}
