/* program.c - a program of 2026: it uses every header beside it, as they were then. tests/abi/run compiles it against
 * those and runs it with the library of today, which must serve it. Never changed once released. */
#include <epiq_cluster.h>
#include <epiq_combine.h>
#include <epiq_decide.h>
#include <epiq_details.h>
#include <epiq_model.h>
#include <epiq_options.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 40, D = 2 };
static int failed;

#define TRUE(what)                                                                                                     \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            printf("FAILED: line %d: %s\n", __LINE__, #what);                                                          \
            failed++;                                                                                                  \
        }                                                                                                              \
    } while (0)
#define FINE(call)                                                                                                     \
    do {                                                                                                               \
        int status_ = (call);                                                                                          \
        if (status_ < 0) {                                                                                             \
            printf("FAILED: line %d: %s: %s\n", __LINE__, #call, epiq_message(c));                                     \
            failed++;                                                                                                  \
            return;                                                                                                    \
        }                                                                                                              \
    } while (0)

static int positive(epiq_part p)
{
    return p.known && p.variance > 0 && p.variance < 1e6 && (!p.has_interval || p.lo <= p.variance);
}

static void estimate(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o)
{
    epiq_result *r;
    FINE(epiq_estimate(c, data, at, o, &r));
    TRUE(r->point_count == 2 && strcmp(r->points[0]->at, "mean") == 0 && strcmp(r->points[1]->at, "row:3") == 0);
    for (ptrdiff_t i = 0; i < r->point_count; i++) {
        const epiq_point *p = r->points[i];
        TRUE(positive(p->procedural) && positive(p->data) && positive(p->ensemble) && fabs(p->prediction) < 10);
        TRUE(p->member_count == 4 && p->members[0] != p->members[1]);
        TRUE(p->influential_count == 2 && p->influential[0]->row >= 1 && p->influential[1]->row <= N);
        TRUE(positive(*epiq_point_corrected(p, EPIQ_CORRECTION_NONE)));
    }
    TRUE(r->ran->width == 16 && r->ran->members == 4 && r->ran->ensemble_size == 3 && r->ran->threads == 1);
    TRUE(strcmp(r->ran->target, "y") == 0 && r->ran->methods == (EPIQ_IF | EPIQ_EV));
    TRUE(r->training->members >= 4 && r->fit->known && r->fit->kernel_rmse > 0 && r->cost->bytes > 0);
    TRUE(r->sweep_count == 2 && r->sweeps[1]->feature == 1 && positive(r->sweeps[1]->points[2]->data));
    TRUE(r->advice->text && r->solve->iterations == 0 && r->timing->ev >= 0 && r->retrain->replicates >= 0);
    for (ptrdiff_t i = 0; i < r->warning_count; i++) {
        TRUE(strcmp(epiq_warning_describe(r->warnings[i]->kind)->code, r->warnings[i]->code) == 0);
    }
    epiq_plan_request effort = {.size = sizeof effort,
                                .price_row = 1,
                                .price_training = 2,
                                .kind = EPIQ_PLAN_BUDGET,
                                .amount = 100,
                                .level = 0.9};
    epiq_plan *plan;
    FINE(epiq_plan_new(c, data, NULL, NULL, r, &effort, &plan));
    TRUE(plan->best->cost <= 100 && plan->now->rows == N && plan->curve_count >= 1 && plan->curve[0]->cost == 0);
    TRUE(positive(*plan->data) && !plan->exponent->known && plan->text && plan->caveat);
    epiq_plan_free(c, plan);
    epiq_result_free(c, r);
}

static void model(epiq_ctx *c, const epiq_data *data, const epiq_options *o, const double *x)
{
    epiq_model *m;
    FINE(epiq_fit(c, data, o, &m));
    double h[N], v[N];
    unsigned char known[N];
    epiq_predictions out = {.size = sizeof out, .prediction = h, .data = v, .known = known, .threads = 1};
    FINE(epiq_model_predict(c, m, N, x, &out));
    for (int i = 0; i < N; i++) {
        TRUE(known[i] & EPIQ_DATA && v[i] >= 0 && fabs(h[i]) < 10);
    }
    TRUE(out.outside == 0 && out.size == sizeof out);
    epiq_model_info info = epiq_model_describe(m);
    TRUE(info.rows == N && info.features == D && info.options->width == 16 && info.parts & EPIQ_ENSEMBLE);
    epiq_model_free(c, m);
}

static void decide(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o)
{
    const double lambdas[] = {1e-3, 1e-1};
    epiq_grid grid = {.size = sizeof grid, .lambdas = lambdas, .lambda_count = 2};
    epiq_comparison *models;
    FINE(epiq_compare(c, data, at, o, &grid, &models));
    TRUE(models->model_count == 2 && models->models[1]->lambda == 1e-1 && models->models[0]->loo.rmse > 0);
    epiq_comparison_free(c, models);
    epiq_exploration ask = epiq_exploration_default();
    ask.rule = EPIQ_RULE_DATA;
    epiq_ranking *ranking;
    FINE(epiq_explore(c, data, at, o, &ask, &ranking));
    TRUE(ranking->count == 2 && ranking->ranked[0]->score >= ranking->ranked[1]->score && ranking->ask->batch == 1);
    epiq_ranking_free(c, ranking);
}

static void combine(epiq_ctx *c, const epiq_options *o)
{
    const double predicted[] = {1, 2, 4, 7};
    epiq_matrix m = {.size = sizeof m, .name = "mine", .rows = 4, .columns = 1, .a = predicted};
    epiq_given given = {.size = sizeof given, .ensemble = &m};
    epiq_result *r;
    FINE(epiq_combine(c, &given, o, &r));
    TRUE(fabs(r->points[0]->procedural.variance - 7) < 1e-12 && r->given->members == 4); /* of 1, 2, 4, 7 around 3.5 */
    epiq_result_free(c, r);
}

static void options(epiq_ctx *c, epiq_options *o)
{
    char text[8] = "y", value[32];
    TRUE(o->lambda == 0 && o->members == 50 && o->seed == 1 && o->backend == EPIQ_BACKEND_BLAS);
    FINE(epiq_options_set(c, o, "target", text));
    memset(text, 'x', sizeof text - 1); /* the context has a copy */
    FINE(epiq_options_set(c, o, "width", "16"));
    FINE(epiq_options_set(c, o, "backend", "ref"));
    TRUE(epiq_options_set(c, o, "width", "none") == EPIQ_E_USAGE && strstr(epiq_message(c), "width"));
    TRUE(epiq_options_text(o, epiq_options_index("width"), value, sizeof value) == 0 && strcmp(value, "16") == 0);
    o->methods = EPIQ_IF | EPIQ_EV;
    o->data_by = EPIQ_DATA_BY_IF;
    o->members = 4;
    o->ensemble_size = 3;
    o->influential = 2;
    o->sweep = 3;
    o->threads = 1;
}

static void all(epiq_ctx *c)
{
    static double x[N * D], y[N];
    epiq_options o = epiq_options_default();
    epiq_data *data;
    epiq_points *at;
    options(c, &o);
    FINE(epiq_synth(c, 1, N, D, 1, x, y));
    FINE(epiq_data_new(c, N, D, x, y, NULL, &o, &data));
    epiq_data_info info = epiq_data_describe(data);
    TRUE(info.rows == N && info.features == D && strcmp(info.feature[1], "x2") == 0 && info.groups == N);
    FINE(epiq_points_new(c, data, &at));
    FINE(epiq_points_add(c, at, "mean"));
    FINE(epiq_points_add(c, at, "row:3"));
    estimate(c, data, at, &o);
    o.sweep = 0;
    model(c, data, &o, x);
    decide(c, data, at, &o);
    combine(c, &o);
    TRUE(epiq_network_size(&o, D) == 16 * (D + 1) + 17 && epiq_ctx_cluster(c, NULL) == 0 &&
         epiq_ctx_agree(c, -2) == -2);
    epiq_points_free(c, at);
    epiq_data_free(c, data);
}

int main(void)
{
    epiq_ctx *c;
    if (epiq_ctx_new(&c)) return 2;
    TRUE(epiq_version_number() >= EPIQ_VERSION_NUMBER && EPIQ_VERSION_NUMBER >= 100);
    all(c);
    epiq_ctx_free(c);
    printf("%d failed\n", failed);
    return failed != 0;
}
