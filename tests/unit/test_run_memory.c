/* Memory may run out anywhere: every call of include/epiq*.h that takes a context, with one of its allocations after the other failing
 * until it succeeds. Each time nothing is made, a sentence says why, and nothing stays allocated. A call that is missing from
 * the table below fails the last test. (What the command does then is tried by tests/faults/every.py.) */
#include "base/base.h"
#include "epiq_combine.h"
#include "epiq_decide.h"
#include "epiq_model.h"
#include "test.h"
#include "usual.h"

#include <glob.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 12, D = 2, POINTS = 3 };
static double X[N * D], Y[N], AT[POINTS * D];
static epiq_ctx *c;
static epiq_options o; /* small networks */
static epiq_data *data;
static epiq_points *at;
static epiq_model *model;
static epiq_result *result;
static epiq_matrix ensemble = {sizeof(epiq_matrix), "ensemble", POINTS, D, EPIQ_FLOAT64, AT, NULL};
static char folder[] = "/tmp/epiq-memory-XXXXXX", rows[64], points[64], file[64], state[64], others[64];
static ptrdiff_t armed; /* the allocation that fails */

static void write_csv(const char *path, const char *header, int count, const double *x, const double *y)
{
    FILE *out = fopen(path, "w");
    fprintf(out, "%s\n", header);
    for (int i = 0; i < count; i++) {
        fprintf(out, y ? "%.17g,%.17g,%.17g\n" : "%.17g,%.17g\n", x[2 * i], x[2 * i + 1], y ? y[i] : 0);
    }
    fclose(out);
}

static void make_world(void)
{
    TRUE(mkdtemp(folder));
    char *const paths[] = {rows, points, file, state, others};
    for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
        snprintf(paths[k], sizeof rows, "%s/%zu", folder, k);
    }
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_synth(c, 1, N, D, 3, X, Y), EPIQ_OK);
    EQ(epiq_synth(c, 1, POINTS, D, 4, AT, (double[POINTS]){0}), EPIQ_OK);
    write_csv(rows, "x1,x2,y", N, X, Y);
    write_csv(points, "x1,x2", POINTS, AT, NULL);
    o = usual_options();
    o.target = "y";
    o.width = 4;
    o.lambda = 0.1;
    o.members = o.batches = o.ensemble_size = 2;
    o.threads = 1;
    o.optimizer = EPIQ_OPTIMIZER_GD; /* two steps, many hundred times over */
    o.steps = 2;
    EQ(epiq_data_new(c, N, D, X, Y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add_rows(c, at, POINTS, AT), EPIQ_OK);
    EQ(epiq_fit(c, data, &o, &model), EPIQ_OK);
    EQ(epiq_model_write(c, model, file), EPIQ_OK);
    EQ(epiq_estimate(c, data, at, &o, &result), EPIQ_OK);
    epiq_options keep = o;
    keep.state = others;
    epiq_result *kept = NULL;
    EQ(epiq_combine(c, &(epiq_given){.size = sizeof(epiq_given), .ensemble = &ensemble}, &keep, &kept), EPIQ_OK);
    epiq_result_free(c, kept);
}

static void end_world(void)
{
    epiq_result_free(c, result);
    epiq_model_free(c, model);
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    EQ(c->live_blocks, 1); /* the text of epiq_options_set, which the context keeps */
    epiq_ctx_free(c);
    const char *const paths[] = {rows, points, file, state, others};
    for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
        unlink(paths[k]);
    }
    EQ(rmdir(folder), 0); /* nothing else was left there */
}

/* ---- the calls: made and ended are a pointer and what frees it ---- */

#define MAKES(name, type, ended, call)                                                                                 \
    static int name(void)                                                                                              \
    {                                                                                                                  \
        type *made = (type *)&made; /* not NULL */                                                                     \
        c->fail_after = armed;                                                                                         \
        int s = call;                                                                                                  \
        c->fail_after = -1;                                                                                            \
        TRUE(s >= 0 || !made);                                                                                         \
        ended(c, s < 0 ? NULL : made);                                                                                 \
        return s;                                                                                                      \
    }
#define DOES(name, call)                                                                                               \
    static int name(void)                                                                                              \
    {                                                                                                                  \
        c->fail_after = armed;                                                                                         \
        int s = call;                                                                                                  \
        c->fail_after = -1;                                                                                            \
        return s;                                                                                                      \
    }

static int put(void *user, const void *bytes, size_t size)
{
    (void)bytes;
    *(size_t *)user += size;
    return 0;
}

static epiq_options with(int engine, int solver, const char *kept)
{
    epiq_options changed = o;
    changed.engine = engine;
    changed.solver = solver;
    changed.state = kept;
    changed.rank = 4;
    return changed;
}

static const char *fresh(const char *path)
{
    unlink(path);
    return path;
}

static double kernel[N * N], theta[64], x[N * D], y[N];
static unsigned char known[POINTS];
static size_t sent;
static char bytes[1 << 16];
static const epiq_plan_request EFFORT = {sizeof(epiq_plan_request), 1, 1, EPIQ_PLAN_BUDGET, 10, 0.95};

static size_t file_bytes(void)
{
    FILE *in = fopen(file, "rb");
    size_t size = fread(bytes + 1, 1, sizeof bytes - 1, in); /* where nothing is aligned */
    fclose(in);
    return size;
}

DOES(agree, epiq_ctx_agree(c, EPIQ_OK))
DOES(alone, epiq_ctx_cluster(c, NULL))
DOES(set_option, epiq_options_set(c, (epiq_options[]){usual_options()}, "features", "x1,x2"))
MAKES(data_read, epiq_data, epiq_data_free, epiq_data_read(c, rows, &o, &made))
MAKES(data_new, epiq_data, epiq_data_free, epiq_data_new(c, N, D, X, Y, NULL, &o, &made))
DOES(data_rename, epiq_data_rename(c, data, (const char *const[]){"a", "b"}, "z") ||
                          epiq_data_rename(c, data, (const char *const[]){"x1", "x2"}, "y")
                      ? EPIQ_E_NOMEM
                      : EPIQ_OK)
DOES(synth, epiq_synth(c, 2, N, D, 5, x, y))
MAKES(points_new, epiq_points, epiq_points_free, epiq_points_new(c, data, &made))
DOES(points_add, epiq_points_add(c, at, points))
static int points_add_usual(void)
{
    epiq_points *own = NULL;
    EQ(epiq_points_new(c, data, &own), EPIQ_OK);
    c->fail_after = armed;
    int s = epiq_points_add_usual(c, own, &o);
    c->fail_after = -1;
    epiq_points_free(c, own);
    return s;
}

DOES(points_add_rows, epiq_points_add_rows(c, at, POINTS, AT))
static const char *const *names_for(const epiq_points *p)
{
    static const char *name[64];
    TRUE(epiq_points_count(p) <= 64);
    for (int i = 0; i < 64; i++) {
        name[i] = "somewhere";
    }
    return name;
}
DOES(points_rename, epiq_points_rename(c, at, names_for(at)))
DOES(kernels, epiq_kernel(c, data, &o, kernel, kernel))
DOES(machine_rate, epiq_machine_rate(c, theta, theta + 1))
DOES(network_start, epiq_network_start(c, &o, D, 0, theta))
MAKES(estimate, epiq_result, epiq_result_free, epiq_estimate(c, data, at, &o, &made))
MAKES(forecast, epiq_result, epiq_result_free, epiq_forecast(c, data, at, &o, &made))
MAKES(fit_forecast, epiq_result, epiq_result_free, epiq_fit_forecast(c, data, &o, &made))
MAKES(plan_forecast, epiq_result, epiq_result_free, epiq_plan_forecast(c, data, at, &o, &made))
MAKES(compare_forecast, epiq_result, epiq_result_free,
      epiq_compare_forecast(c, data, at, &o, &(epiq_grid){.size = sizeof(epiq_grid), .folds = 2}, &made))
MAKES(estimate_linear, epiq_result, epiq_result_free,
      epiq_estimate(c, data, at, (epiq_options[]){with(EPIQ_ENGINE_LINEAR, EPIQ_SOLVER_ITERATIVE, NULL)}, &made))
MAKES(estimate_kept, epiq_result, epiq_result_free,
      epiq_estimate(c, data, at, (epiq_options[]){with(EPIQ_ENGINE_NETWORK, EPIQ_SOLVER_EXACT, fresh(state))}, &made))
static epiq_options open_options(void)
{
    epiq_options changed = o;
    changed.width = 0;
    changed.lambda = 0;
    changed.methods = EPIQ_EV;
    return changed;
}
MAKES(estimate_chosen, epiq_result, epiq_result_free,
      epiq_estimate(c, data, at, (epiq_options[]){open_options()}, &made))
MAKES(matrix_read, epiq_matrix, epiq_matrix_free, epiq_matrix_read(c, rows, &made))
MAKES(combine, epiq_result, epiq_result_free,
      epiq_combine(c,
                   &(epiq_given){.size = sizeof(epiq_given),
                                 .ensemble = &ensemble,
                                 .merge = (const char *const[]){others},
                                 .merge_count = 1},
                   (epiq_options[]){with(EPIQ_ENGINE_NETWORK, EPIQ_SOLVER_EXACT, fresh(state))}, &made))
static double zeros[N], twice[2 * N], vectors[8 * N];
static const epiq_matrix TARGET = {.size = sizeof(epiq_matrix), .name = "y", .rows = N, .columns = 1, .a = Y},
                         FITTED = {.size = sizeof(epiq_matrix), .name = "yhat", .rows = N, .columns = 1, .a = zeros},
                         LEFT_OUT = {
                             .size = sizeof(epiq_matrix), .name = "left out", .rows = 2, .columns = N, .a = twice};
DOES(
    targets,
    epiq_targets(c,
                 &(epiq_given){
                     .size = sizeof(epiq_given), .y = &TARGET, .yhat = &FITTED, .left_out = &LEFT_OUT, .replicates = 4},
                 &o, vectors, NULL))
MAKES(fit, epiq_model, epiq_model_free, epiq_fit(c, data, &o, &made))
MAKES(model_read, epiq_model, epiq_model_free, epiq_model_read(c, file, &made))
MAKES(model_load, epiq_model, epiq_model_free, epiq_model_load(c, bytes + 1, file_bytes(), &made))
DOES(model_write, epiq_model_write(c, model, state))
DOES(model_send, epiq_model_send(c, model, put, &sent))
DOES(model_predict,
     epiq_model_predict(c, model, POINTS, AT,
                        &(epiq_predictions){
                            .size = sizeof(epiq_predictions), .lo = x, .data = x, .known = known, .threads = 1}))
static const epiq_score_request SCORE = {.size = sizeof SCORE, .level = 0.5, .threads = 1};
MAKES(score_rows, epiq_scores, epiq_scores_free, epiq_score_rows(c, model, N, X, Y, &SCORE, &made))
MAKES(score_file, epiq_scores, epiq_scores_free, epiq_score_file(c, model, rows, &SCORE, &made))
MAKES(reader_open, epiq_reader, epiq_reader_free, epiq_reader_open(c, model, points, &made))
MAKES(reader_open_with, epiq_reader, epiq_reader_free, epiq_reader_open_with(c, model, points, "x2", &made))
MAKES(explore, epiq_ranking, epiq_ranking_free,
      epiq_explore(c, data, at, &o, (epiq_exploration[]){epiq_exploration_default()}, &made))
DOES(effort_check, epiq_plan_check(c, &EFFORT))
MAKES(plan_new, epiq_plan, epiq_plan_free, epiq_plan_new(c, data, at, &o, result, &EFFORT, &made))
MAKES(compare, epiq_comparison, epiq_comparison_free,
      epiq_compare(c, data, at, &o, &(epiq_grid){.size = sizeof(epiq_grid), .folds = 2}, &made))

static int reader_next(void)
{
    epiq_reader *r = NULL;
    ptrdiff_t count = 0;
    EQ(epiq_reader_open_with(c, model, points, "x1", &r), EPIQ_OK);
    c->fail_after = armed;
    int s = epiq_reader_next(c, r, N, x, &count);
    c->fail_after = -1;
    EQ(count, s < 0 ? 0 : POINTS);
    epiq_reader_free(c, r);
    return s;
}

static const struct {
    const char *name;
    int (*call)(void);
    int least;  /* allocations it surely makes */
    bool grows; /* what it is given, which may keep blocks that are freed with it */
} CALLS[] = {
    {"epiq_ctx_agree", agree, 0, false},
    {"epiq_ctx_cluster", alone, 0, false},
    {"epiq_options_set", set_option, 1, true},
    {"epiq_data_read", data_read, 5, false},
    {"epiq_data_new", data_new, 3, false},
    {"epiq_data_rename", data_rename, 2, true},
    {"epiq_synth", synth, 0, false},
    {"epiq_points_new", points_new, 1, false},
    {"epiq_points_add", points_add, 3, true},
    {"epiq_points_add_usual", points_add_usual, 3, false},
    {"epiq_points_add_rows", points_add_rows, 1, true},
    {"epiq_points_rename", points_rename, 2, true},
    {"epiq_kernel", kernels, 1, false},
    {"epiq_machine_rate", machine_rate, 1, false},
    {"epiq_network_start", network_start, 0, false},
    {"epiq_estimate", estimate, 15, false},
    {"epiq_forecast", forecast, 5, false},
    {"epiq_fit_forecast", fit_forecast, 5, false},
    {"epiq_plan_forecast", plan_forecast, 5, false},
    {"epiq_compare_forecast", compare_forecast, 5, false},
    {"epiq_estimate", estimate_linear, 15, false},
    {"epiq_estimate", estimate_kept, 15, false},
    {"epiq_estimate", estimate_chosen, 40, false},
    {"epiq_matrix_read", matrix_read, 3, false},
    {"epiq_combine", combine, 10, false},
    {"epiq_targets", targets, 1, false},
    {"epiq_fit", fit, 10, false},
    {"epiq_model_read", model_read, 3, false},
    {"epiq_model_load", model_load, 3, false},
    {"epiq_model_write", model_write, 3, false},
    {"epiq_model_send", model_send, 3, false},
    {"epiq_model_predict", model_predict, 1, false},
    {"epiq_reader_open", reader_open, 3, false},
    {"epiq_reader_open_with", reader_open_with, 5, false},
    {"epiq_reader_next", reader_next, 3, false},
    {"epiq_score_rows", score_rows, 5, false},
    {"epiq_score_file", score_file, 8, false},
    {"epiq_explore", explore, 15, false},
    {"epiq_plan_check", effort_check, 0, false},
    {"epiq_plan_new", plan_new, 2, false},
    {"epiq_compare", compare, 15, false},
};
enum { COUNT = sizeof CALLS / sizeof *CALLS };

TEST(every_allocation_of_every_call_may_fail)
{
    make_world();
    for (int k = 0; k < COUNT; k++) {
        int s = EPIQ_E_NOMEM, fails = test_failures;
        for (armed = 0; s == EPIQ_E_NOMEM && armed < 10000; armed++) {
            ptrdiff_t before = c->live_blocks;
            s = CALLS[k].call();
            if (s < 0) {
                EQ(s, EPIQ_E_NOMEM);
                TRUE(c->live_blocks == before || CALLS[k].grows);
                CONTAINS(epiq_message(c), "memory");
            }
        }
        TRUE(s >= 0);
        TRUE(armed - 1 >= CALLS[k].least);
        if (test_failures > fails) {
            fprintf(stderr, "this was %s with %td allocations\n", CALLS[k].name, armed - 1);
        }
    }
    end_world();
}

/* Calls of a header that take a context, each of which must be in the table. */
static int calls_in(const char *header)
{
    static char text[1 << 17];
    static const char start[] = "EPIQ_API int ";
    FILE *in = fopen(header, "r");
    size_t length = in ? fread(text, 1, sizeof text - 1, in) : 0;
    TRUE(length > 1000 && length < sizeof text - 1);
    text[length] = '\0';
    int found = 0;
    for (char *p = text; (p = strstr(p, start));) {
        p += sizeof start - 1;
        char *end = strchr(p, '(');
        bool takes = strncmp(end + 1, "epiq_ctx *c", 11) == 0, there = false;
        *end = '\0';
        for (int k = 0; k < COUNT; k++) {
            there = there || strcmp(CALLS[k].name, p) == 0;
        }
        if (takes && !there) TEST_FAIL("%s of %s is not in the table\n", p, header);
        found += takes;
        p = end + 1;
    }
    if (in) fclose(in);
    return found;
}

TEST(no_call_is_left_out)
{
    int found = 0;
    glob_t headers;
    EQ(glob(GOLDEN "../../include/epiq*.h", 0, NULL, &headers), 0);
    TRUE(headers.gl_pathc >= 8);
    for (size_t k = 0; k < headers.gl_pathc; k++) {
        found += calls_in(headers.gl_pathv[k]);
    }
    globfree(&headers);
    TRUE(found > 25);
}
