/* program.c - a program of release 0.2.0: what the headers beside it have beyond those of tests/abi/1. tests/abi/run compiles
 * it against those and runs it with the library of today, which must serve it. Never changed once released. */
#include <epiq_decide.h>
#include <epiq_details.h>
#include <epiq_device.h>
#include <epiq_model.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 40, D = 2 };
static int failed, opened;

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

static const epiq_device *no_device(void *user, char *why, size_t room)
{
    opened++;
    snprintf(why, room, "%s", (const char *)user);
    return NULL;
}

static void estimate(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o)
{
    epiq_result *r;
    FINE(epiq_estimate(c, data, at, o, &r));
    TRUE(r->point_count == N && r->points[0]->left_out && r->points[N - 1]->left_out && r->summary);
    for (ptrdiff_t i = 0; i < r->point_count; i++) {
        const epiq_point *p = r->points[i];
        TRUE(p->full_variance.known && p->full_variance.variance >= 0 && p->prediction_variance.known);
        TRUE(p->confidence.known && p->confidence.method == EPIQ_CONFIDENCE_BATCHING);
        TRUE(p->confidence.lo < p->confidence.centre && p->confidence.centre < p->confidence.hi);
    }
    TRUE(r->ran->predictor == EPIQ_PREDICTOR_SHIFTED && r->ran->device == EPIQ_DEVICE_CPU);
    TRUE(r->fit->known && r->fit->folds == 4 && r->fit->rmse > 0 && r->fit->r2_se > 0 && r->fit->y && r->fit->unseen);
    TRUE(r->retrain->replicates > 0 && r->training->members >= 4 && r->training->in_double >= 0);
    epiq_result_free(c, r);
}

static void forecasts(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o)
{
    const double lambdas[] = {1e-3, 1e-1};
    epiq_grid grid = {.size = sizeof grid, .lambdas = lambdas, .lambda_count = 2, .folds = 4};
    for (int k = 0; k < 4; k++) {
        epiq_result *r;
        FINE(k == 0   ? epiq_forecast(c, data, at, o, &r)
             : k == 1 ? epiq_fit_forecast(c, data, o, &r)
             : k == 2 ? epiq_plan_forecast(c, data, at, o, &r)
                      : epiq_compare_forecast(c, data, at, o, &grid, &r));
        TRUE(r->cost->bytes > 0 && r->cost->seconds > 0 && r->ran->width == 16);
        epiq_result_free(c, r);
    }
}

static void model(epiq_ctx *c, const epiq_data *data, const epiq_options *o, double *x, const double *y)
{
    epiq_model *m;
    FINE(epiq_fit(c, data, o, &m));
    double h[N], sd[N], lo[N], hi[N], noise[N];
    unsigned char known[N];
    epiq_predictions out = {.size = sizeof out,
                            .prediction = h,
                            .sd = sd,
                            .lo = lo,
                            .hi = hi,
                            .noise = noise,
                            .known = known,
                            .level = 0.8,
                            .device = EPIQ_DEVICE_CPU,
                            .threads = 1};
    FINE(epiq_model_predict(c, m, N, x, &out));
    int intervals = 0;
    for (int i = 0; i < N; i++) {
        TRUE(known[i] & EPIQ_SD && sd[i] > 0 && fabs(h[i]) < 10);
        if (known[i] & EPIQ_INTERVAL) TRUE(lo[i] < h[i] && h[i] < hi[i] && noise[i] > 0 && ++intervals);
    }
    TRUE(intervals + out.withheld == N && intervals > N / 2 && !out.on_device);
    epiq_model_info info = epiq_model_describe(m);
    TRUE(info.fit->rmse > 0 && info.most_level > 0.5 && !info.no_interval);
    x[D] = NAN;
    epiq_score_request ask = {.size = sizeof ask, .level = 0.8, .threads = 1, .missing = EPIQ_MISSING_DROP};
    epiq_scores *s;
    FINE(epiq_score_rows(c, m, N, x, y, &ask, &s));
    TRUE(s->rows == N - 1 && s->dropped == 1 && s->row[0] == 1 && s->row[1] == 3 && s->rmse > 0 && s->coverage->known);
    epiq_scores_free(c, s);
    epiq_model_free(c, m);
}

static void all(epiq_ctx *c)
{
    static double x[N * D], y[N];
    const char *why;
    epiq_ctx_on_device(c, no_device, "none here");
    TRUE(!epiq_ctx_device(c, &why) && opened == 1 && strcmp(why, "none here") == 0);
    TRUE(epiq_machine_describe().threads >= 1);
    epiq_options o = epiq_options_default();
    TRUE(o.width == 0 && o.lambda == 0 && o.predictor == EPIQ_PREDICTOR_USUAL && o.confidence == EPIQ_CONFIDENCE_NONE);
    o.target = "y";
    o.width = 16;
    o.lambda = 1e-2;
    o.backend = EPIQ_BACKEND_REF;
    o.predictor = EPIQ_PREDICTOR_SHIFTED;
    o.confidence = EPIQ_CONFIDENCE_BATCHING;
    o.device = EPIQ_DEVICE_CPU;
    o.members = 4;
    o.batches = 4;
    o.folds = 4;
    o.replicates = 4;
    o.threads = 1;
    epiq_data *data;
    epiq_points *at;
    FINE(epiq_synth(c, 1, N, D, 1, x, y));
    FINE(epiq_data_new(c, N, D, x, y, NULL, &o, &data));
    FINE(epiq_points_new(c, data, &at));
    FINE(epiq_points_add_usual(c, at, &o));
    TRUE(epiq_points_count(at) == N);
    estimate(c, data, at, &o);
    o.confidence = EPIQ_CONFIDENCE_NONE;
    forecasts(c, data, at, &o);
    model(c, data, &o, x, y);
    epiq_points_free(c, at);
    epiq_data_free(c, data);
}

int main(void)
{
    epiq_ctx *c;
    if (epiq_ctx_new(&c)) return 2;
    TRUE(epiq_version_number() >= EPIQ_VERSION_NUMBER && EPIQ_VERSION_NUMBER == 200);
    all(c);
    epiq_ctx_free(c);
    printf("%d failed\n", failed);
    return failed != 0;
}
