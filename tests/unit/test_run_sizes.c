/* Structs that callers make begin with their size. A program that was compiled when they were shorter is answered as if what
 * it lacks were at its default, and nothing is read or written past its end. Every call refuses any other size. */
#include "base/base.h"
#include "epiq_combine.h"
#include "epiq_decide.h"
#include "epiq_model.h"
#include "test.h"
#include "usual.h"

#include <stdint.h>
#include <stdlib.h>

enum { N = 12, D = 2, POINTS = 3 };
static double X[N * D], Y[N], AT[POINTS * D];
static epiq_ctx *c;
static epiq_data *data;
static epiq_points *at;
static epiq_result *result;
static epiq_model *model;

static epiq_options quick(void)
{
    epiq_options o = usual_options();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.methods = EPIQ_IF | EPIQ_EV;
    return o;
}

static void start(void)
{
    const epiq_options o = quick();
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_synth(c, 1, N, D, 3, X, Y), EPIQ_OK);
    EQ(epiq_synth(c, 1, POINTS, D, 4, AT, (double[POINTS]){0}), EPIQ_OK);
    EQ(epiq_data_new(c, N, D, X, Y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add_rows(c, at, POINTS, AT), EPIQ_OK);
    EQ(epiq_estimate(c, data, at, &o, &result), EPIQ_OK);
    EQ(epiq_fit(c, data, &o, &model), EPIQ_OK);
}

static void end(void)
{
    epiq_model_free(c, model);
    epiq_result_free(c, result);
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    EQ(c->live_blocks, 0);
    epiq_ctx_free(c);
}

/* The first bytes of a struct, in memory that has no others (AddressSanitizer knows), with their size; to be freed. */
static void *first_of(const void *whole, size_t size)
{
    void *part = malloc(size);
    memcpy(part, whole, size);
    memcpy(part, &size, sizeof size);
    return part;
}

/* ---- shorter ones ---- */

TEST(options_a_program_lacks_are_as_if_they_had_never_been)
{
    static const struct {
        const char *name, *value;
        size_t where;
    } SET[] = {{"target", "y", offsetof(epiq_options, target)},    {"members", "7", offsetof(epiq_options, members)},
               {"lambda", "0.25", offsetof(epiq_options, lambda)}, {"seed", "9", offsetof(epiq_options, seed)},
               {"threads", "2", offsetof(epiq_options, threads)},  {"state", "kept", offsetof(epiq_options, state)},
               {"backend", "ref", offsetof(epiq_options, backend)}};
    enum { COUNT = sizeof SET / sizeof *SET };
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    for (int cut = -1; cut < COUNT; cut++) {
        const size_t size = cut < 0 ? sizeof size : SET[cut].where;
        const epiq_options whole = epiq_options_default();
        epiq_options *o = malloc(size), usual = whole;
        epiq_options_init(o, size);
        EQ(o->size, size);
        char text[64];
        for (ptrdiff_t i = 0; epiq_options_info(i); i++) {
            EQ(epiq_options_text(o, i, text, sizeof text), EPIQ_OK);
            if (*epiq_options_info(i)->default_text) {
                EQ(epiq_options_set(own, &usual, epiq_options_info(i)->name, text), EPIQ_OK);
            } else {
                STR(text, "");
            }
            TRUE(!epiq_options_string(o, i));
        }
        EQ(memcmp(&usual, &whole, sizeof whole), 0);
        for (int k = 0; k < COUNT; k++) {
            const bool there = SET[k].where < size;
            const ptrdiff_t i = epiq_options_index(SET[k].name);
            EQ(epiq_options_set(own, o, SET[k].name, SET[k].value), there ? EPIQ_OK : EPIQ_E_USAGE);
            CONTAINS(epiq_message(own), there ? "" : SET[k].name);
            EQ(epiq_options_text(o, i, text, sizeof text), EPIQ_OK);
            STR(text, there ? SET[k].value : epiq_options_info(i)->default_text);
            EQ(epiq_options_text(o, i, text, 0), EPIQ_E_USAGE);
        }
        EQ(o->size, size);
        free(o);
    }
    epiq_ctx_free(own);
}

TEST(shorter_options_are_answered_with_defaults_for_the_rest)
{
    start();
    epiq_options whole = quick();
    whole.level = 0.8;
    whole.seed = 5;
    epiq_options *o = first_of(&whole, offsetof(epiq_options, threads));
    epiq_data *rows;
    epiq_points *there;
    epiq_result *r, *want;
    epiq_model *m;
    double k[N * N], theta[D * 1024 + 2 * 1024 + 1], other[D * 1024 + 2 * 1024 + 1];
    EQ(epiq_data_new(c, N, D, X, Y, NULL, o, &rows), EPIQ_OK);
    EQ(epiq_points_new(c, rows, &there), EPIQ_OK);
    EQ(epiq_points_add_rows(c, there, POINTS, AT), EPIQ_OK);
    EQ(epiq_estimate(c, rows, there, o, &r), EPIQ_OK);
    EQ(epiq_estimate(c, data, at, &whole, &want), EPIQ_OK);
    for (int p = 0; p < POINTS; p++) {
        NEAR(r->points[p]->prediction, want->points[p]->prediction, 0);
        NEAR(r->points[p]->procedural.variance, want->points[p]->procedural.variance, 0);
        NEAR(r->points[p]->data.variance, want->points[p]->data.variance, 0);
        NEAR(r->points[p]->data.lo, want->points[p]->data.lo, 0);
        TRUE(r->points[p]->data.lo > result->points[p]->data.lo); /* the level of the shorter one counts */
    }
    EQ(r->ran->size, sizeof(epiq_options));
    EQ(r->ran->seed, 5);
    EQ(r->ran->backend, EPIQ_BACKEND_BLAS);
    TRUE(!r->ran->state);
    epiq_result_free(c, want);
    epiq_result_free(c, r);
    EQ(epiq_forecast(c, rows, there, o, &r), EPIQ_OK);
    epiq_result_free(c, r);
    EQ(epiq_fit(c, rows, o, &m), EPIQ_OK);
    EQ(epiq_model_describe(m).options->size, sizeof(epiq_options));
    epiq_model_free(c, m);
    EQ(epiq_kernel(c, rows, o, k, NULL), EPIQ_OK);
    EQ(epiq_network_size(o, D), (ptrdiff_t)(sizeof theta / sizeof *theta));
    EQ(epiq_network_start(c, o, D, 1, theta), EPIQ_OK);
    EQ(epiq_network_start(c, &whole, D, 1, other), EPIQ_OK);
    EQ(memcmp(theta, other, sizeof theta), 0);
    epiq_points_free(c, there);
    epiq_data_free(c, rows);
    free(o);
    end();
}

TEST(other_structs_may_be_shorter_too)
{
    start();
    const epiq_options o = quick();
    const double h[] = {1, 2, 4, 8};
    const epiq_matrix whole = {sizeof whole, "h", 4, 1, EPIQ_FLOAT64, h, NULL};
    epiq_matrix *matrix = first_of(&whole, offsetof(epiq_matrix, column));
    epiq_given *given = first_of(&(epiq_given){.ensemble = matrix}, offsetof(epiq_given, left_out));
    epiq_result *r;
    EQ(epiq_combine(c, given, &o, &r), EPIQ_OK);
    NEAR(r->points[0]->procedural.variance, 115 / 12.0, 1e-14); /* 85 - 15^2/4 over 3 */
    epiq_result_free(c, r);

    const double lambdas[] = {1e-3, 1e-2};
    epiq_grid *grid = first_of(&(epiq_grid){.lambdas = lambdas, .lambda_count = 2}, offsetof(epiq_grid, folds));
    epiq_comparison *judged;
    EQ(epiq_compare(c, data, at, &o, grid, &judged), EPIQ_OK);
    EQ(judged->model_count, 2);
    EQ(judged->folds, 0);
    TRUE(judged->models[1] && !judged->models[2] && !judged->warnings[judged->warning_count]);
    epiq_comparison_free(c, judged);

    epiq_exploration *ask = first_of(&(epiq_exploration){.rule = EPIQ_RULE_TOTAL, .goal = EPIQ_GOAL_MIN},
                                     offsetof(epiq_exploration, kappa));
    epiq_ranking *ranking;
    EQ(epiq_explore(c, data, at, &o, ask, &ranking), EPIQ_OK);
    EQ(ranking->ask->size, sizeof(epiq_exploration));
    EQ(ranking->ask->rule, EPIQ_RULE_TOTAL);
    EQ(ranking->ask->batch, epiq_exploration_default().batch);
    NEAR(ranking->ask->kappa, epiq_exploration_default().kappa, 0);
    epiq_ranking_free(c, ranking);

    epiq_plan_request *effort =
        first_of(&(epiq_plan_request){.price_row = 1, .price_training = 1, .amount = 9, .level = 0.9},
                 offsetof(epiq_plan_request, level));
    EQ(epiq_plan_check(c, effort), EPIQ_E_USAGE); /* which has no default */
    CONTAINS(epiq_message(c), "level is 0");
    free(effort);
    free(ask);
    free(grid);
    free(given);
    free(matrix);
    end();
}

TEST(answers_are_written_within_the_size_given)
{
    enum { GUARD = 0xa5 };
    unsigned char room[sizeof(epiq_predictions) + 32], known[POINTS];
    double h[POINTS], far[POINTS * D];
    start();
    for (int i = 0; i < POINTS * D; i++) {
        far[i] = 100 + i;
    }
    static const size_t SIZES[] = {offsetof(epiq_predictions, outside), offsetof(epiq_predictions, threads),
                                   offsetof(epiq_predictions, few), sizeof(epiq_predictions)};
    for (size_t k = 0; k < sizeof SIZES / sizeof *SIZES; k++) {
        const size_t size = SIZES[k];
        epiq_predictions out = {.size = size, .prediction = h, .known = known, .outside = 40};
        memset(room, GUARD, sizeof room);
        memcpy(room, &out, size);
        EQ(epiq_model_predict(c, model, POINTS, far, (epiq_predictions *)(void *)room), EPIQ_OK);
        for (size_t i = size; i < sizeof room; i++) {
            EQ(room[i], GUARD);
        }
        memcpy(&out, room, size);
        EQ(out.size, size);
        EQ(out.outside, size > offsetof(epiq_predictions, outside) ? 40 + POINTS : 40);
        TRUE(out.prediction == h && out.known == known && known[0] & EPIQ_PREDICTION);
    }
    /* what the library describes: as much as there is room for, and 0 in what it does not know */
    const epiq_data_info about = epiq_data_describe(data);
    const epiq_model_info told = epiq_model_describe(model);
    unsigned char wide[sizeof about + sizeof told];
    memset(wide, GUARD, sizeof wide);
    epiq_data_info_get(data, (epiq_data_info *)(void *)wide, offsetof(epiq_data_info, groups));
    EQ(memcmp(wide, &about, offsetof(epiq_data_info, groups)), 0);
    EQ(wide[offsetof(epiq_data_info, groups)], GUARD);
    memset(wide, GUARD, sizeof wide);
    epiq_model_info_get(model, (epiq_model_info *)(void *)wide, offsetof(epiq_model_info, options));
    EQ(memcmp(wide, &told, offsetof(epiq_model_info, options)), 0);
    EQ(wide[offsetof(epiq_model_info, options)], GUARD);
    memset(wide, GUARD, sizeof wide);
    epiq_data_info_get(data, (epiq_data_info *)(void *)wide, sizeof about + 8);
    EQ(memcmp(wide, &about, sizeof about), 0);
    EQ(wide[sizeof about + 7], 0);
    EQ(wide[sizeof about + 8], GUARD);
    end();
}

/* ---- sizes that are none ---- */

/* The call with the struct's size at 0, too small for the size itself, and larger than the struct is. */
#define REFUSED(type, made, call)                                                                                      \
    do {                                                                                                               \
        const size_t sizes_[] = {0, sizeof(size_t) - 1, sizeof(type) + 1, sizeof(type) + 8, SIZE_MAX};                 \
        for (size_t k_ = 0; k_ < sizeof sizes_ / sizeof *sizes_; k_++) {                                               \
            (made).size = sizes_[k_];                                                                                  \
            EQ(call, EPIQ_E_USAGE);                                                                                    \
            CONTAINS(epiq_message(c), "the size of an " #type " is ");                                                 \
            CONTAINS(epiq_message(c), "sizeof(" #type ")");                                                            \
        }                                                                                                              \
        (made).size = sizeof(type);                                                                                    \
    } while (0)

TEST(every_call_refuses_other_sizes)
{
    start();
    epiq_options o = quick();
    epiq_data *rows = NULL;
    epiq_result *r = NULL;
    epiq_model *m = NULL;
    double k[N * N], theta[4 * 1024 + 1];
    REFUSED(epiq_options, o, epiq_options_set(c, &o, "members", "3"));
    EQ(o.members, 50);
    REFUSED(epiq_options, o, epiq_data_read(c, "/nowhere/rows.csv", &o, &rows));
    REFUSED(epiq_options, o, epiq_data_new(c, N, D, X, Y, NULL, &o, &rows));
    REFUSED(epiq_options, o, epiq_estimate(c, data, at, &o, &r));
    REFUSED(epiq_options, o, epiq_forecast(c, data, at, &o, &r));
    REFUSED(epiq_options, o, epiq_fit(c, data, &o, &m));
    REFUSED(epiq_options, o, epiq_kernel(c, data, &o, k, NULL));
    REFUSED(epiq_options, o, epiq_network_start(c, &o, D, 0, theta));

    double targets[8 * N];
    epiq_matrix h = {sizeof h, "h", POINTS, D, EPIQ_FLOAT64, AT, NULL},
                y = {sizeof y, "y", N, 1, EPIQ_FLOAT64, Y, NULL}, *const matrices[] = {&h, &y};
    epiq_given g = {.size = sizeof g, .ensemble = &h}, train = {.size = sizeof train, .y = &y, .yhat = &y};
    REFUSED(epiq_options, o, epiq_combine(c, &g, &o, &r));
    REFUSED(epiq_given, g, epiq_combine(c, &g, &o, &r));
    REFUSED(epiq_matrix, *matrices[0], epiq_combine(c, &g, &o, &r));
    REFUSED(epiq_options, o, epiq_targets(c, &train, &o, targets, NULL));
    REFUSED(epiq_given, train, epiq_targets(c, &train, &o, targets, NULL));
    REFUSED(epiq_matrix, *matrices[1], epiq_targets(c, &train, &o, targets, NULL));

    epiq_grid grid = {.size = sizeof grid};
    epiq_comparison *judged = NULL;
    REFUSED(epiq_options, o, epiq_compare(c, data, at, &o, &grid, &judged));
    REFUSED(epiq_grid, grid, epiq_compare(c, data, at, &o, &grid, &judged));
    epiq_exploration ask = epiq_exploration_default();
    epiq_ranking *ranking = NULL;
    REFUSED(epiq_options, o, epiq_explore(c, data, at, &o, &ask, &ranking));
    REFUSED(epiq_exploration, ask, epiq_explore(c, data, at, &o, &ask, &ranking));
    epiq_plan_request effort = {sizeof effort, 1, 1, EPIQ_PLAN_BUDGET, 10, 0.95};
    epiq_plan *plan = NULL;
    REFUSED(epiq_plan_request, effort, epiq_plan_check(c, &effort));
    REFUSED(epiq_plan_request, effort, epiq_plan_new(c, data, at, &o, result, &effort, &plan));
    REFUSED(epiq_options, o, epiq_plan_new(c, data, at, &o, result, &effort, &plan));

    unsigned char known[POINTS];
    epiq_predictions out = {.size = sizeof out, .known = known, .outside = 3};
    REFUSED(epiq_predictions, out, epiq_model_predict(c, model, POINTS, AT, &out));
    EQ(out.outside, 3);
    epiq_cluster table = {.size = sizeof table};
    REFUSED(epiq_cluster, table, epiq_ctx_cluster(c, &table));
    TRUE(!rows && !r && !m && !judged && !ranking && !plan && !c->cluster);
    end();
}
