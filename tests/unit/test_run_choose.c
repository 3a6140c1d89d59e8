/* Width and lambda left to choose: the errors it goes by against networks and kernel regression fitted here without each fold,
 * planted tables where narrow and where wide networks must win, and what is fixed by explicit values, groups, threads, stops. */
#include "data/data.h"
#include "engine/engine.h"
#include "epiq_combine.h"
#include "epiq_decide.h"
#include "epiq_model.h"
#include "la/la.h"
#include "rng/rng.h"
#include "run/run.h"
#include "test.h"
#include "usual.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 2200, D = 6, FOLDS = 5 };

typedef struct {
    epiq_ctx *c;
    epiq_options o;
    ptrdiff_t n;
    double x[MOST * D], y[MOST];
    int64_t group[MOST];
    bool grouped;
    epiq_data *data;
    epiq_points *at;
    epiq_result *r;
    int status;
} world;

/* y = f(x) + sd noise; f: a ridge with a kink in one direction, or a line. */
static world *world_new(ptrdiff_t n, bool kink, double sd)
{
    world *w = calloc(1, sizeof *w);
    EQ(epiq_ctx_new(&w->c), EPIQ_OK);
    w->o = usual_options();
    w->o.width = 0;
    w->o.lambda = 0;
    w->o.members = 2;
    w->o.methods = EPIQ_EV;
    w->n = n;
    double *noise = malloc((size_t)n * sizeof *noise);
    epiqp_normals((epiqp_stream){7, EPIQP_FOR_SYNTH_X, 1}, n * D, w->x);
    epiqp_normals((epiqp_stream){7, EPIQP_FOR_SYNTH_NOISE, 1}, n, noise);
    for (ptrdiff_t i = 0; i < n; i++) {
        const double *x = w->x + i * D, along = (x[0] + x[1] - x[2] + x[3]) / 2;
        w->y[i] = (kink ? 3 * fabs(along) - 4 * fmax(along - 0.5, 0) : along) + sd * noise[i];
    }
    free(noise);
    return w;
}

static epiq_result *answer(world *w)
{
    epiq_result_free(w->c, w->r);
    epiq_points_free(w->c, w->at);
    epiq_data_free(w->c, w->data);
    w->r = NULL;
    EQ(epiq_data_new(w->c, w->n, D, w->x, w->y, w->grouped ? w->group : NULL, &w->o, &w->data), EPIQ_OK);
    EQ(epiq_points_new(w->c, w->data, &w->at), EPIQ_OK);
    EQ(epiq_points_add(w->c, w->at, "row:1"), EPIQ_OK);
    w->status = epiq_estimate(w->c, w->data, w->at, &w->o, &w->r);
    return w->r;
}

static void world_free(world *w)
{
    epiq_result_free(w->c, w->r);
    epiq_points_free(w->c, w->at);
    epiq_data_free(w->c, w->data);
    EQ(w->c->live_blocks, 0);
    epiq_ctx_free(w->c);
    free(w);
}

static const epiq_model_tried *tried(const epiq_model_choice *m, ptrdiff_t width, double lambda)
{
    for (ptrdiff_t k = 0; k < m->tried_count; k++) {
        if (m->tried[k]->width == width && m->tried[k]->lambda == lambda) return m->tried[k];
    }
    TEST_FAIL("width %td and lambda %g were not tried\n", width, lambda);
    return NULL;
}

/* ---- the errors it goes by ---- */

/* Fits kernel regression (width 0) or trains networks without each of the first `folds` folds, and returns the mean squared error of
 * the mean of o.members of them, by the definition: that of the mean of k, less the variance of their mean, and with that of all. */
static double judge(const world *w, ptrdiff_t folds, ptrdiff_t width, double lambda, ptrdiff_t networks)
{
    const epiq_data *data = w->data;
    const ptrdiff_t n = data->n;
    epiq_options o = w->o;
    ptrdiff_t *fold = malloc((size_t)n * sizeof *fold);
    double *x = malloc((size_t)(n * D) * sizeof *x), *y = malloc((size_t)n * sizeof *y),
           *at = malloc((size_t)(n * D) * sizeof *at), *target = malloc((size_t)n * sizeof *target),
           *p = malloc((size_t)(n * 8) * sizeof *p), sum = 0, judged = 0;
    o.width = width ? width : 8;
    EQ(epiqp_partition(w->c, data, (epiqp_stream){o.seed, EPIQP_FOR_SHUFFLE, 2}, FOLDS, fold, NULL), EPIQ_OK);
    for (ptrdiff_t k = 0; k < folds; k++) {
        ptrdiff_t in = 0, out = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            double *to = fold[i] == k ? at + out * D : x + in * D;
            memcpy(to, data->x + i * D, D * sizeof *to);
            if (fold[i] == k)
                target[out++] = data->y[i];
            else
                y[in++] = data->y[i];
        }
        o.lambda = lambda * (double)n / (double)in;
        const epiqp_env e = epiqp_run_begin(w->c, &o);
        epiqp_fit fit;
        EQ(epiqp_fit_new(&e, &o, in, D, x, y, out, at, &fit), EPIQ_OK);
        if (!width) EQ(epiqp_fit_solve(&e, &fit), EPIQ_OK);
        for (ptrdiff_t m = 0; m < networks; m++) {
            epiqp_training report;
            const epiqp_draw draw = epiqp_draw_of(&o, k + m * folds);
            EQ(epiqp_engine_network.member(&e, &fit, &draw, p + m * n, NULL, NULL, &report), EPIQ_OK);
        }
        for (ptrdiff_t i = 0; i < out; i++) {
            double mean = 0, s2 = 0;
            for (ptrdiff_t j = 0; !width && j < in; j++) {
                mean += fit.ridge.c[i * in + j] * y[j];
            }
            for (ptrdiff_t m = 0; m < networks; m++) {
                mean += p[m * n + i] / (double)networks;
            }
            for (ptrdiff_t m = 0; m < networks; m++) {
                s2 += (p[m * n + i] - mean) * (p[m * n + i] - mean) / (double)(networks - 1);
            }
            sum += (mean - target[i]) * (mean - target[i]);
            if (width) sum += s2 / (double)o.members - s2 / (double)networks;
        }
        judged += (double)out;
        epiqp_fit_free(w->c, &fit);
        epiqp_run_end();
    }
    free(fold), free(x), free(y), free(at), free(target), free(p);
    return sum / judged * data->y_factor * data->y_factor;
}

TEST(errors_are_those_of_models_fitted_without_each_fold)
{
    world *w = world_new(60, true, 0.3);
    w->o.members = 3;
    const epiq_result *r = answer(w);
    EQ(w->status, EPIQ_OK);
    const epiq_model_choice *m = r->model_choice;
    EQ(m->known, 1);
    EQ(m->folds, FOLDS);
    const double lambdas[] = {1, 1e-3, 1e-5};
    for (int k = 0; k < 3; k++) { /* refitted, against the inverse of all rows: condition 1e5 */
        const epiq_model_tried *kernel = tried(m, 0, lambdas[k]);
        EQ(kernel->networks, 0);
        CLOSE(kernel->rmse * kernel->rmse, judge(w, FOLDS, 0, lambdas[k], 0), 1e-8);
    }
    const epiq_model_tried *narrow = tried(m, 16, 1e-3);
    EQ(narrow->networks % FOLDS, 0);
    CLOSE(narrow->rmse * narrow->rmse, judge(w, FOLDS, 16, 1e-3, narrow->networks / FOLDS),
          1e-10); /* the same networks */
    TRUE(narrow->se > 0 && narrow->spread > 0);
    world_free(w);
}

/* Of many rows a part is tried on, and what does well there on all rows, without one fold: with the lambda of the part and with less. */
TEST(of_many_rows_a_part_is_tried_first)
{
    const epiqp_request many = {.choice_rows = 100};
    world *w = world_new(400, true, 0.3);
    w->o.fold_members = 0;
    EQ(epiq_data_new(w->c, w->n, D, w->x, w->y, NULL, &w->o, &w->data), EPIQ_OK);
    EQ(epiq_points_new(w->c, w->data, &w->at), EPIQ_OK);
    EQ(epiq_points_add(w->c, w->at, "mean"), EPIQ_OK);
    EQ(epiqp_estimate(w->c, w->data, w->at, &w->o, &many, &w->r), EPIQ_OK);
    const epiq_model_choice *m = w->r->model_choice;
    const epiq_model_tried *first = m->tried[0];
    double least = INFINITY, chosen = INFINITY;
    EQ(m->folds, 1);
    CONTAINS(m->reason, " were tried on 100 of the rows");
    TRUE(m->tried_count >= 2 && m->tried_count <= 6);
    EQ(m->tried[1]->width, first->width);
    CLOSE(m->tried[1]->lambda, first->lambda / 10, 1e-12);
    for (ptrdiff_t k = 0; k < m->tried_count; k++) {
        const epiq_model_tried *t = m->tried[k];
        EQ(t->networks, 2);
        TRUE(t->se > 0 && t->se < t->rmse);
        least = fmin(least, t->rmse);
        if (t->width == m->width && t->lambda == m->lambda) chosen = t->rmse;
    }
    CLOSE(first->rmse * first->rmse, judge(w, 1, first->width, first->lambda, 2), 1e-9); /* the same networks */
    TRUE(chosen <= 1.07 * least);
    world_free(w);
}

/* ---- planted ---- */

TEST(narrow_networks_win_where_a_direction_must_be_learned)
{
    world *w = world_new(160, true, 0.05);
    const epiq_model_choice *m = answer(w)->model_choice;
    TRUE(m->width >= 16 && m->width <= 64);
    EQ(w->r->ran->width, m->width);
    NEAR(w->r->ran->lambda, m->lambda, 0);
    TRUE(m->usual && m->usual->width == 0);
    TRUE(m->rmse < 0.6 * m->usual->rmse);
    TRUE(m->rmse < 0.6 * tried(m, 0, 1e-5)->rmse);
    TRUE(w->r->timing->choice > 0);
    world_free(w);
}

TEST(wide_networks_win_where_they_are_as_good)
{
    world *w = world_new(80, false, 1);
    const epiq_model_choice *m = answer(w)->model_choice;
    EQ(m->width, 1024);
    EQ(w->r->ran->width, 1024);
    TRUE(m->lambda >= 1e-2); /* half of y is noise */
    double least = INFINITY, se = 0;
    for (ptrdiff_t k = 0; k < m->tried_count; k++) {
        se = m->tried[k]->rmse < least ? m->tried[k]->se : se;
        least = fmin(least, m->tried[k]->rmse);
    }
    TRUE(m->rmse <= least + 2 * se);
    world_free(w);
}

TEST(noise_needs_a_strong_penalty)
{
    world *w = world_new(60, false, 0);
    epiqp_normals((epiqp_stream){9, EPIQP_FOR_SYNTH_NOISE, 2}, w->n, w->y);
    w->o.engine = EPIQ_ENGINE_INFINITE;
    const epiq_model_choice *m = answer(w)->model_choice;
    NEAR(m->lambda, 1, 0); /* the strongest there is */
    EQ(m->width, 1024);
    world_free(w);
}

/* ---- what is given stays ---- */

TEST(only_what_is_auto_is_chosen)
{
    world *w = world_new(40, true, 0.2);
    w->o.width = 20;
    const epiq_model_choice *m = answer(w)->model_choice;
    EQ(m->width, 20);
    TRUE(m->tried_count >= 2);
    for (ptrdiff_t k = 0; k < m->tried_count; k++) {
        EQ(m->tried[k]->width, 20);
    }
    TRUE(m->usual && m->usual->lambda == 1e-3);
    w->o.width = 0;
    w->o.lambda = 0.02;
    m = answer(w)->model_choice;
    NEAR(m->lambda, 0.02, 0);
    TRUE(m->tried_count >= 2);
    for (ptrdiff_t k = 0; k < m->tried_count; k++) {
        NEAR(m->tried[k]->lambda, 0.02, 0);
    }
    w->o.width = 12;
    m = answer(w)->model_choice;
    EQ(m->known, 0);
    TRUE(!m->reason && !m->tried_count);
    EQ(w->r->ran->width, 12);
    world_free(w);
}

TEST(other_engines_choose_lambda_in_closed_form)
{
    world *w = world_new(2100, true, 1);
    w->o.engine = EPIQ_ENGINE_INFINITE;
    w->o.methods = EPIQ_IF;
    w->o.probes = 16;
    const epiq_model_choice *m = answer(w)->model_choice; /* of 1050 rows */
    EQ(w->status, EPIQ_OK);
    EQ(m->tried_count, 6);
    for (ptrdiff_t k = 0; k < m->tried_count; k++) {
        EQ(m->tried[k]->width, 0);
        TRUE(m->tried[k]->rmse >= m->rmse - m->se);
    }
    w->n = 60;
    w->o.engine = EPIQ_ENGINE_LINEAR;
    w->o.methods = EPIQ_EV;
    w->o.width = 32;
    m = answer(w)->model_choice;
    EQ(m->width, 32);
    EQ(m->tried_count, 6);
    w->o.width = 0;
    w->o.lambda = 0.01; /* the width of linearised networks changes their spread, not their mean */
    m = answer(w)->model_choice;
    EQ(m->width, 1024);
    EQ(m->tried_count, 0);
    TRUE(m->reason);
    world_free(w);
}

TEST(groups_are_left_out_whole)
{
    world *w = world_new(120, false, 0);
    w->o.engine = EPIQ_ENGINE_INFINITE;
    epiqp_normals((epiqp_stream){3, EPIQP_FOR_SYNTH_NOISE, 5}, w->n / 4, w->y);
    for (ptrdiff_t i = w->n; i-- > 0;) { /* four rows of each thing, which differ by little and share their noise */
        w->group[i] = i / 4;
        w->y[i] = w->y[i / 4];
        for (int k = 0; k < D; k++) {
            w->x[i * D + k] = w->x[i / 4 * 4 * D + k] + 1e-3 * (double)(i % 4);
        }
    }
    const epiq_model_choice *m = answer(w)->model_choice;
    const double repeated = m->rmse, weak = m->lambda;
    w->grouped = true;
    m = answer(w)->model_choice;
    TRUE(repeated < 0.2); /* each is predicted by its repeats */
    TRUE(m->rmse > 0.7);  /* pure noise of variance 1 */
    TRUE(m->lambda > weak);
    world_free(w);
}

TEST(few_rows_get_the_usual_network)
{
    world *w = world_new(9, false, 0.1);
    const epiq_model_choice *m = answer(w)->model_choice;
    EQ(w->status, EPIQ_OK);
    EQ(m->known, 1);
    EQ(m->tried_count, 0);
    EQ(w->r->ran->width, 1024);
    NEAR(w->r->ran->lambda, 1e-3, 0);
    TRUE(m->reason && !m->usual);
    world_free(w);
}

/* ---- runs ---- */

TEST(threads_change_no_bit)
{
    world *one = world_new(50, true, 0.2), *three = world_new(50, true, 0.2);
    one->o.threads = 1;
    three->o.threads = 3;
    const epiq_model_choice *a = answer(one)->model_choice, *b = answer(three)->model_choice;
    EQ(a->width, b->width);
    EQ(a->tried_count, b->tried_count);
    for (ptrdiff_t k = 0; k < a->tried_count && k < b->tried_count; k++) {
        EQ(a->tried[k]->width, b->tried[k]->width);
        NEAR(a->tried[k]->lambda, b->tried[k]->lambda, 0);
        NEAR(a->tried[k]->rmse, b->tried[k]->rmse, 0);
        NEAR(a->tried[k]->se, b->tried[k]->se, 0);
    }
    NEAR(one->r->points[0]->prediction, three->r->points[0]->prediction, 0);
    world_free(one);
    world_free(three);
}

static int stop_at_choice(void *user, const epiq_progress *p)
{
    ptrdiff_t *seen = user;
    *seen += strcmp(p->stage, "choice") == 0;
    return *seen > 8; /* among the networks */
}

TEST(a_request_stops_it)
{
    world *w = world_new(60, true, 0.2);
    ptrdiff_t seen = 0;
    epiq_ctx_on_progress(w->c, stop_at_choice, &seen);
    TRUE(!answer(w));
    EQ(w->status, EPIQ_E_STOPPED);
    epiq_ctx_on_progress(w->c, NULL, NULL);
    world_free(w);
}

typedef struct {
    ptrdiff_t first, seen, stop; /* first: networks that were there when the first of the choice were to be trained */
} kept_counts;

static int count_kept(void *user, const epiq_progress *p)
{
    kept_counts *k = user;
    if (strcmp(p->stage, "choice") != 0 || p->all < 10) return 0; /* kernel regression has six lambdas */
    k->first = k->seen++ ? k->first : p->done;
    return k->stop && p->done >= k->stop;
}

/* Stopped among the networks of the choice, with a state file: they are there when it goes on, and the choice is the same. */
TEST(networks_of_the_choice_are_kept)
{
    char state[] = "/tmp/epiq-test-XXXXXX";
    close(mkstemp(state));
    world *whole = world_new(60, true, 0.2), *w = world_new(60, true, 0.2);
    kept_counts k = {.stop = 7};
    TRUE(answer(whole));
    w->o.state = state;
    w->o.threads = 1;
    epiq_ctx_on_progress(w->c, count_kept, &k);
    TRUE(!answer(w));
    EQ(w->status, EPIQ_E_STOPPED);
    EQ(k.first, 0);
    k = (kept_counts){0};
    TRUE(answer(w));
    EQ(k.first, 7);
    const epiq_model_choice *a = whole->r->model_choice, *b = w->r->model_choice;
    EQ(a->tried_count, b->tried_count);
    for (ptrdiff_t i = 0; i < a->tried_count && i < b->tried_count; i++) {
        NEAR(a->tried[i]->rmse, b->tried[i]->rmse, 0);
        EQ(a->tried[i]->iterations, b->tried[i]->iterations);
    }
    NEAR(whole->r->points[0]->prediction, w->r->points[0]->prediction, 0);
    epiq_ctx_on_progress(w->c, NULL, NULL);
    world_free(w);
    world_free(whole);
    unlink(state);
}

TEST(a_forecast_chooses_nothing)
{
    world *w = world_new(60, true, 0.2);
    epiq_result *r = NULL;
    answer(w);
    EQ(epiq_forecast(w->c, w->data, w->at, &w->o, &r), EPIQ_OK);
    EQ(r->model_choice->tried_count, 0);
    EQ(r->ran->width, 1024);
    SENTENCE_ROUGHLY(r->advice->text);
    epiq_result_free(w->c, r);
    w->o.mem_limit = 100000;
    EQ(epiq_forecast(w->c, w->data, w->at, &w->o, &r), EPIQ_E_NOMEM);
    SENTENCE_ROUGHLY(epiq_message(w->c));
    world_free(w);
}

TEST(a_model_keeps_what_was_chosen)
{
    world *w = world_new(40, false, 0.3);
    epiq_model *m = NULL;
    w->o.methods = EPIQ_IF | EPIQ_EV;
    w->o.lambda = 0;
    w->o.width = 24;
    const double lambda = answer(w)->model_choice->lambda;
    EQ(epiq_fit(w->c, w->data, &w->o, &m), EPIQ_OK);
    epiq_model_info info;
    epiq_model_info_get(m, &info, sizeof info);
    EQ(info.options->width, 24);
    NEAR(info.options->lambda, lambda, 0);
    TRUE(lambda > 0);
    epiq_model_free(w->c, m);
    world_free(w);
}

TEST(the_usual_where_nothing_can_be_compared)
{
    world *w = world_new(40, false, 0.3);
    epiq_comparison *compared = NULL;
    epiq_result *r = NULL;
    answer(w);
    const double lambda = 0.1;
    const epiq_grid grid = {.size = sizeof grid, .lambdas = &lambda, .lambda_count = 1, .folds = 2};
    EQ(epiq_compare(w->c, w->data, w->at, &w->o, &grid, &compared), EPIQ_OK);
    EQ(compared->models[0]->width, EPIQ_USUAL_WIDTH);
    NEAR(compared->models[0]->lambda, 0.1, 0);
    epiq_comparison_free(w->c, compared);
    w->o.engine = EPIQ_ENGINE_INFINITE;
    w->o.time = 1;
    EQ(epiq_estimate(w->c, w->data, w->at, &w->o, &r), EPIQ_OK);
    NEAR(r->ran->lambda, EPIQ_USUAL_LAMBDA, 0);
    SENTENCE(r->model_choice->reason);
    epiq_result_free(w->c, r);
    w->o = usual_options();
    w->o.lambda = 0;
    double p[] = {1, 2, 3, 5};
    const epiq_matrix ensemble = {sizeof ensemble, "ensemble", 4, 1, EPIQ_FLOAT64, p, NULL};
    EQ(epiq_combine(w->c, &(epiq_given){.size = sizeof(epiq_given), .ensemble = &ensemble}, &w->o, &r), EPIQ_OK);
    NEAR(r->ran->lambda, EPIQ_USUAL_LAMBDA, 0);
    epiq_result_free(w->c, r);
    world_free(w);
}

/* Two of 15 features matter, and narrow networks on 60 rows differ by more than the target varies: an error that is mostly their
 * spread, less what chance makes of that spread, must not look small. The noise has standard deviation 0.5. */
TEST(chance_does_not_choose_networks_that_differ_much)
{
    enum { ROWS = 60, WIDE = 15 };
    static double x[ROWS * WIDE], y[ROWS], noise[ROWS];
    for (uint64_t seed = 1; seed <= 3; seed += 2) {
        epiq_ctx *own;
        epiq_data *data;
        epiq_points *at;
        epiq_result *r;
        epiq_options o = epiq_options_default();
        o.members = 10;
        EQ(epiq_ctx_new(&own), EPIQ_OK);
        epiqp_normals((epiqp_stream){seed, EPIQP_FOR_SYNTH_X, 7}, ROWS * WIDE, x);
        epiqp_normals((epiqp_stream){seed, EPIQP_FOR_SYNTH_NOISE, 7}, ROWS, noise);
        for (int i = 0; i < ROWS; i++) {
            y[i] = x[i * WIDE] + x[i * WIDE + 1] + 0.5 * noise[i];
        }
        EQ(epiq_data_new(own, ROWS, WIDE, x, y, NULL, &o, &data), EPIQ_OK);
        EQ(epiq_points_new(own, data, &at), EPIQ_OK);
        EQ(epiq_points_add(own, at, "mean"), EPIQ_OK);
        EQ(epiq_estimate(own, data, at, &o, &r), EPIQ_OK);
        TRUE(r->model_choice->rmse > 0.5 && r->fit->rmse > 0.5);
        epiq_result_free(own, r);
        epiq_points_free(own, at);
        epiq_data_free(own, data);
        epiq_ctx_free(own);
    }
}

TEST(options_as_text)
{
    world *w = world_new(10, false, 0);
    char text[32];
    const ptrdiff_t width = epiq_options_index("width"), bias_sd = epiq_options_index("bias-sd");
    EQ(epiq_options_text(&w->o, width, text, sizeof text), EPIQ_OK);
    STR(text, "auto");
    EQ(epiq_options_set(w->c, &w->o, "width", "64"), EPIQ_OK);
    EQ(epiq_options_set(w->c, &w->o, "lambda", "0.5"), EPIQ_OK);
    EQ(epiq_options_set(w->c, &w->o, "lambda", "auto"), EPIQ_OK);
    EQ(w->o.width, 64);
    NEAR(w->o.lambda, 0, 0);
    EQ(epiq_options_set(w->c, &w->o, "members", "auto"), EPIQ_E_USAGE);
    EQ(epiq_options_set(w->c, &w->o, "width", "0"), EPIQ_E_USAGE);
    SENTENCE_ROUGHLY(epiq_message(w->c));
    EQ(epiq_options_set(w->c, &w->o, "width", "wide"), EPIQ_E_USAGE);
    SENTENCE_ROUGHLY(epiq_message(w->c));
    EQ(w->o.width, 64);
    EQ(epiq_options_set(w->c, &w->o, "preset", "paper"), EPIQ_OK);
    EQ(w->o.width, 1024);
    NEAR(w->o.lambda, 1e-3, 0);
    NEAR(w->o.bias_sd, 0, 0);
    EQ(w->o.correction, EPIQ_CORRECTION_NONE);
    EQ(w->o.methods, EPIQ_IF | EPIQ_EV | EPIQ_BA);
    EQ(w->o.preset, EPIQ_PRESET_PAPER);
    EQ(epiq_options_set(w->c, &w->o, "bias-sd", "0.5"), EPIQ_OK); /* what follows wins */
    EQ(epiq_options_text(&w->o, bias_sd, text, sizeof text), EPIQ_OK);
    STR(text, "0.5");
    world_free(w);
}
