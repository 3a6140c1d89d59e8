/* compare.c - epiq_compare: every model of a grid judged by its error and by its epistemic variance (docs/method.md
 * section 10). What does not depend on the width, the kernel's part, is done once for all widths; the rest is
 * epiq_estimate, on all rows for the variance and without each fold for the error.
 */
#include "decide/decide.h"
#include "run/race.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MODELS_MAX = 1000, /* as many as a reader can use */
#define ONE(name, code, scope, meaning) +1
    KINDS = 0 EPIQ_WARNING_LIST(ONE), /* of warnings */
#undef ONE
    NARROWEST = 16, /* the width below which nothing is to be gained */
    TIMED = 12,     /* models whose networks are timed for a forecast, about; others are as their counts say */
};

/* Seconds that a model is expected to take: its kernel's part, its networks on all rows, and those without one fold. */
typedef struct {
    double kernel, networks, fold;
} expected;

typedef struct {
    epiq_comparison result;
    epiqp_arena arena;
    epiqp_warnings warnings;
    epiq_compared *models;
} holder;

typedef struct {
    int kind;                     /* epiq_warning_kind */
    const char *message;          /* of the first model that has it */
    ptrdiff_t first, last, count; /* models */
} warned;

typedef struct {
    epiq_ctx *c;
    const epiq_data *data;
    const epiq_points *at;
    epiq_options o;
    epiq_grid grid;
    holder *h;
    epiq_comparison *r; /* h's */
    epiqp_arena scratch;
    ptrdiff_t *fold; /* n */
    double *e2;      /* n */
    double *between; /* n: variance between the networks that have not seen the row; NULL: no rows are left out */
    warned warned[KINDS];
    int kinds;
    ptrdiff_t trained[2]; /* networks; of these converged */
    expected *expected;   /* of each model */
    struct {
        double done, all, now; /* seconds, as expected: of finished units, in all, of the unit at work */
        int (*report)(void *user, const epiq_progress *p);
        void *user;
        bool stopped;
    } progress;
    bool finished; /* early, with the models there were */
} job;

/* ---- progress: one bar over everything ---- */

/* A request that arrives with the last network of a unit ends the comparison, though not that unit. */
static int on_progress(void *user, const epiq_progress *p)
{
    job *j = user;
    double part = strcmp(p->stage, "members") == 0 && p->all > 0 ? (double)p->done / (double)p->all : 0;
    epiq_progress whole = {
        "models", (ptrdiff_t)(100 * fmin(1, (j->progress.done + part * j->progress.now) / j->progress.all)), 100};
    int stop = j->progress.report ? j->progress.report(j->progress.user, &whole) : 0;
    j->progress.stopped |= stop || epiqp_cancel_requested(j->c);
    return stop;
}

static int finish_unit(job *j)
{
    j->progress.done += j->progress.now;
    j->progress.now = 0;
    if (!j->progress.stopped && !epiqp_cancel_requested(j->c)) return EPIQ_OK;
    return epiqp_fail(j->c, EPIQ_E_STOPPED, "stopped on request while comparing models");
}

static ptrdiff_t own_or_one(ptrdiff_t count)
{
    return count > 0 ? count : 1;
}

/* Model number i, widths slowest and biases fastest. */
static epiq_options options_of(const job *j, ptrdiff_t i)
{
    const epiq_grid *g = &j->grid;
    epiq_options o = j->o;
    ptrdiff_t b = own_or_one(g->bias_count), l = own_or_one(g->lambda_count), d = own_or_one(g->depth_count);
    o.bias = g->bias_count > 0 ? g->biases[i % b] : o.bias;
    o.lambda = g->lambda_count > 0 ? g->lambdas[i / b % l] : o.lambda;
    o.depth = g->depth_count > 0 ? g->depths[i / b / l % d] : o.depth;
    o.width = g->width_count > 0 ? g->widths[i / b / l / d] : o.width;
    return o;
}

static int check_grid(job *j)
{
    const epiq_grid *g = &j->grid;
    const double counts[] = {(double)own_or_one(g->width_count), (double)own_or_one(g->depth_count),
                             (double)own_or_one(g->lambda_count), (double)own_or_one(g->bias_count)};
    double models = counts[0] * counts[1] * counts[2] * counts[3];
    if (models > MODELS_MAX) {
        return epiqp_fail(j->c, EPIQ_E_USAGE, "%.0f models are more than can be compared at once, %d; shorten a list",
                          models, MODELS_MAX);
    }
    if (g->folds < 0 || g->folds == 1) {
        return epiqp_fail(j->c, EPIQ_E_USAGE, "{--folds} is %td; it must be 0 for none, or 2 or more", g->folds);
    }
    const unsigned when =
        EPIQ_FOR_COMPARE | (g->width_count > 1 ? EPIQP_SEVERAL_WIDTHS : 0U) | (g->folds ? 0U : EPIQP_LEAVE_ONE_OUT);
    int conflict = epiqp_options_conflict(j->c, &j->o, when);
    if (conflict) return conflict;
    if (g->folds > j->data->groups || (g->folds && j->data->n - j->data->n / g->folds < 2)) {
        bool rows = j->data->groups == j->data->n;
        return epiqp_fail(j->c, EPIQ_E_DATA, "%td %s are too few for %td folds; use fewer {--folds}, or 0 for none",
                          j->data->groups, rows ? "rows" : "groups", g->folds);
    }
    j->r->model_count = (ptrdiff_t)models;
    for (ptrdiff_t i = 0; i < j->r->model_count; i++) {
        epiq_options o = options_of(j, i);
        int s = epiqp_options_check(j->c, &o);
        if (s || (s = epiqp_options_conflict(j->c, &o, EPIQP_NOTHING_OPEN))) return s;
    }
    return EPIQ_OK;
}

/* ---- warnings: each kind once, with how many models have it ---- */

static int note(job *j, ptrdiff_t model, int kind, const char *message)
{
    warned *w = j->warned;
    while (w < j->warned + j->kinds && w->kind != kind) {
        w++;
    }
    if (w == j->warned + j->kinds) {
        *w = (warned){kind, epiqp_arena_printf(j->c, &j->scratch, "%s", message), model, -1, 0};
        if (!w->message) return EPIQ_E_NOMEM;
        j->kinds++;
    }
    w->count += w->last != model;
    w->last = model;
    return EPIQ_OK;
}

static int note_all(job *j, ptrdiff_t model, const epiq_result *r)
{
    int s = EPIQ_OK;
    for (ptrdiff_t k = 0; !s && k < r->warning_count; k++) {
        s = note(j, model, r->warnings[k]->kind, r->warnings[k]->message);
    }
    return s;
}

static int warn_of_all(job *j)
{
    const ptrdiff_t all = j->r->model_count, open = j->trained[0] - j->trained[1];
    int s = EPIQ_OK;
    for (warned *w = j->warned; !s && w < j->warned + j->kinds; w++) {
        w->count -= w->last >= all; /* a model that was not finished */
        if (!w->count) continue;
        const epiq_compared *m = &j->h->models[w->first];
        const bool about_data = epiq_warning_describe(w->kind)->scope == EPIQ_ABOUT_DATA; /* equal for all models */
        s = w->count == all || about_data
                ? epiqp_warn(j->c, &j->h->warnings, w->kind, "%s", w->message)
                : epiqp_warn(j->c, &j->h->warnings, w->kind,
                             "%td of %td models, the first of width %td, depth %td, lambda %g: %s", w->count, all,
                             m->width, m->depth, m->lambda, w->message);
    }
    if (s || !open) return s;
    return epiqp_warn(j->c, &j->h->warnings, EPIQ_W_UNCONVERGED_FOLDS,
                      epiqp_stops(&j->o) ? "%td of the %td networks trained without a fold were still improving when "
                                           "{--steps} ended it"
                                         : "%td of the %td networks trained without a fold did not converge; allow "
                                           "more {--steps}",
                      open, j->trained[0]);
}

/* ---- what it will take ---- */

static const epiqp_request KERNEL_REQUEST = {.leverage = true, .left_out = true};

static epiq_options kernel_options(const epiq_options *o)
{
    epiq_options closed = *o;
    closed.engine = EPIQ_ENGINE_INFINITE;
    closed.methods = EPIQ_IF | EPIQ_EV;
    closed.data_by = EPIQ_DATA_BY_IF;
    return closed;
}

/* Seconds of one estimate. most: of all so far the forecast with the most bytes. */
static int expect(const job *j, const epiq_points *at, const epiq_options *o, epiqp_request request, bool timed,
                  epiq_result **most, double *seconds)
{
    epiq_result *r = NULL;
    request.forecast_only = true;
    request.untimed = !timed;
    int s = epiqp_estimate(j->c, j->data, at, o, &request, &r);
    if (s) return s;
    *seconds = r->cost->seconds - EPIQP_STARTING; /* once is enough */
    if (!*most || r->cost->bytes > (*most)->cost->bytes) {
        epiq_result *smaller = *most;
        *most = r;
        r = smaller;
    }
    epiq_result_free(j->c, r);
    return EPIQ_OK;
}

/* mean: a point at which no row is left out; how many there are matters little to networks. of_fold: as many as a fold has. */
static int expect_model(const job *j, const epiq_points *mean, const epiq_points *of_fold, ptrdiff_t i, bool timed,
                        epiq_result **most, expected *out)
{
    const epiq_options o = options_of(j, i), closed = kernel_options(&o);
    const bool infinite = o.engine == EPIQ_ENGINE_INFINITE,
               first = i < j->r->model_count / own_or_one(j->grid.width_count);
    const double share = j->grid.folds ? 1 - 1 / (double)j->grid.folds : 0;
    epiq_options all = o, fold = o;
    all.methods = fold.methods = EPIQ_EV;
    fold.members = epiqp_max(2, o.ensemble_size);
    *out = (expected){0};
    int s = first ? expect(j, j->at, &closed, KERNEL_REQUEST, timed, most, &out->kernel) : EPIQ_OK;
    if (!s && !infinite && !j->between) s = expect(j, mean, &all, (epiqp_request){0}, timed, most, &out->networks);
    if (!s && j->grid.folds) s = expect(j, of_fold, &fold, (epiqp_request){0}, timed, most, &out->fold);
    out->fold *= infinite ? share * share * share : share;
    return s;
}

static double sum_of(const job *j, const expected *e)
{
    return e->kernel + e->networks + (double)j->grid.folds * e->fold;
}

static void scale(expected *e, double by)
{
    *e = (expected){by * e->kernel, by * e->networks, by * e->fold};
}

/* Of all models by counting; then where someone will wait, or `timed`, some are timed, and the others are in proportion. */
static int expect_all(job *j, bool timed, epiq_result **most)
{
    const ptrdiff_t count = j->r->model_count, step = (count + TIMED - 1) / TIMED;
    double all = 0, counted = 0, measured = 0;
    epiq_points *mean = NULL, *of_fold = NULL;
    int s = epiq_points_new(j->c, j->data, &mean);
    if (!s) s = epiq_points_add(j->c, mean, "mean");
    if (!s) s = epiq_points_new(j->c, j->data, &of_fold);
    if (!s) s = epiq_points_add_rows(j->c, of_fold, j->data->n / epiqp_max(1, j->grid.folds), j->data->x_given);
    for (ptrdiff_t i = 0; !s && i < count; i++) {
        s = expect_model(j, mean, of_fold, i, false, most, &j->expected[i]);
        all += sum_of(j, &j->expected[i]);
    }
    const bool wanted = timed || (j->progress.report && all > EPIQP_WORTH_TIMING);
    for (ptrdiff_t i = 0; !s && wanted && i < count; i += step) {
        counted += sum_of(j, &j->expected[i]);
        s = expect_model(j, mean, of_fold, i, true, most, &j->expected[i]);
        measured += sum_of(j, &j->expected[i]);
    }
    for (ptrdiff_t i = 0; !s && wanted && i < count; i++) {
        if (i % step) scale(&j->expected[i], counted > 0 ? measured / counted : 1);
    }
    epiq_points_free(j->c, of_fold);
    epiq_points_free(j->c, mean);
    return s;
}

/* ---- one model ---- */

/* What depends on the kernel alone: the data part, the leave-one-out error, the procedural part at infinite width. */
static int judge_kernel(job *j, ptrdiff_t model, const epiq_options *o, epiq_compared *m)
{
    const epiq_options closed = kernel_options(o);
    epiq_result *r = NULL;
    j->progress.now = j->expected[model].kernel;
    int s = epiqp_estimate(j->c, j->data, j->at, &closed, &KERNEL_REQUEST, &r);
    if (s) return s;
    m->data = epiqp_part_mean(r, j->data->n, offsetof(epiq_point, data), o->level);
    m->infinite = epiqp_part_mean(r, j->data->n, offsetof(epiq_point, infinite), o->level);
    j->r->by_group &= r->fit->by_group || !r->fit->known;
    m->by_construction = epiqp_warned(&((const epiqp_answer *)r)->warnings, EPIQ_W_ZERO_BY_CONSTRUCTION);
    s = note_all(j, model, r);
    if (!s && r->fit->observed) {
        for (ptrdiff_t i = 0; i < j->data->n; i++) {
            j->e2[i] = (r->fit->observed[i] - r->fit->loo[i]) * (r->fit->observed[i] - r->fit->loo[i]);
        }
        s = epiqp_error_of(j->c, j->data, j->e2, &m->loo);
    } else if (r->fit->known) { /* from probes: no single errors; the standard error is that of normal ones */
        m->loo = (epiq_rmse){1, r->fit->kernel_rmse, r->fit->kernel_rmse / sqrt(2 * (double)j->data->n)};
    }
    j->r->threads = r->ran->threads;
    j->r->backend = r->backend;
    epiq_result_free(j->c, r);
    return s ? s : finish_unit(j);
}

static int judge_networks(job *j, ptrdiff_t model, const epiq_options *o, epiq_compared *m)
{
    epiq_options ev = *o;
    epiq_result *r = NULL;
    ev.methods = EPIQ_EV;
    j->progress.now = j->expected[model].networks;
    int s = epiqp_estimate(j->c, j->data, j->at, &ev, &(epiqp_request){0}, &r);
    if (s) return s;
    m->procedural = epiqp_part_mean(r, j->data->n, offsetof(epiq_point, procedural), o->level);
    j->r->trainings += r->training->members;
    j->r->converged += r->training->converged;
    s = note_all(j, model, r);
    epiq_result_free(j->c, r);
    return s ? s : finish_unit(j);
}

static int judge_folds(job *j, ptrdiff_t model, const epiq_options *o, epiq_compared *m)
{
    for (ptrdiff_t k = 0; k < j->grid.folds; k++) {
        j->progress.now = j->expected[model].fold;
        int s = epiqp_fold_errors(j->c, j->data, j->fold, k, o, j->e2, j->between, j->trained);
        if (s || (s = finish_unit(j))) return s;
    }
    return j->grid.folds ? epiqp_error_of(j->c, j->data, j->e2, &m->cv) : EPIQ_OK;
}

/* The procedural part at the rows asked about, by the networks that have not seen them. Those of one fold predict all of its
 * rows, so that only the folds are independent of each other. */
static void take_between(const job *j, const epiq_options *o, epiq_compared *m)
{
    const double count = (double)j->at->count, df = (double)(epiqp_max(2, o->ensemble_size) - 1);
    double sum = 0, square = 0;
    for (ptrdiff_t k = 0; k < j->grid.folds; k++) {
        double part = 0;
        for (ptrdiff_t p = 0; p < j->at->count; p++) {
            const ptrdiff_t row = j->at->left_out[p];
            if (j->between[row] < 0) return; /* unknown */
            part += j->fold[row] == k ? j->between[row] / count : 0;
        }
        sum += part;
        square += part * part;
    }
    m->procedural = epiq_part_of(sum, square > 0 ? df * sum * sum / square : 0, o->level, EPIQ_BY_EV);
}

/* Whether a wider network is in the grid: then "try a larger width" would be no advice. */
static bool wider_compared(const job *j, const epiq_compared *m)
{
    for (ptrdiff_t k = 0; k < j->grid.width_count; k++) {
        if (j->grid.widths[k] > m->width) return true;
    }
    return false;
}

static int judge_trained(job *j, ptrdiff_t model, const epiq_options *o, epiq_compared *m)
{
    int s = j->between ? EPIQ_OK : judge_networks(j, model, o, m);
    if (!s && !(s = judge_folds(j, model, o, m)) && j->between) take_between(j, o, m);
    if (s || !epiqp_far_from_infinite(&m->procedural, &m->infinite)) return s;
    char message[320];
    snprintf(message, sizeof message,
             "the trained networks' variance is far from that of infinitely wide ones; IF and the leave-one-out error, "
             "which assume the latter, may be off: %s",
             !wider_compared(j, m) ? "try a larger {--width}"
             : j->grid.folds       ? "go by the cross-validated error, which assumes nothing of the kind"
                                   : "compare by cross-validation ({--folds} 5), which assumes nothing of the kind");
    return note(j, model, EPIQ_W_NOT_IN_KERNEL_REGIME, message);
}

static int judge(job *j, ptrdiff_t i)
{
    epiq_options o = options_of(j, i);
    epiq_compared *m = &j->h->models[i];
    ptrdiff_t kernels = j->r->model_count / own_or_one(j->grid.width_count);
    *m = (epiq_compared){.width = o.width, .depth = o.depth, .lambda = o.lambda, .bias = o.bias};
    bool infinite = o.engine == EPIQ_ENGINE_INFINITE;
    int s = EPIQ_OK;
    if (i < kernels) {
        s = judge_kernel(j, i, &o, m);
    } else { /* a wider or narrower one of the same kernel came before */
        const epiq_compared *same = &j->h->models[i % kernels];
        m->data = same->data;
        m->infinite = same->infinite;
        m->loo = same->loo;
        m->by_construction = same->by_construction;
        s = same->data.known ? s : note(j, i, EPIQ_W_FAILED, "the kernel's part is unknown");
    }
    m->procedural = infinite ? m->infinite : m->procedural;
    if (!s) s = infinite ? judge_folds(j, i, &o, m) : judge_trained(j, i, &o, m);
    if (s == EPIQ_E_NUMERIC) { /* this model is left without numbers, and the others go on */
        char message[sizeof j->c->message];
        memcpy(message, j->c->message, sizeof message);
        epiqp_clear(j->c);
        s = note(j, i, EPIQ_W_FAILED, message);
    }
    return s;
}

/* The data part is that of infinitely wide networks. At rows left out, where the networks' errors leave less room than that beside
 * their own spread, they follow the data less: as far as (Y0) of docs/method.md goes, over all rows. */
static void set_variance(const job *j, ptrdiff_t i)
{
    static const double LEAST = 0.05;
    const epiq_options o = options_of(j, i);
    const double size = (double)o.ensemble_size;
    epiq_compared *m = &j->h->models[i];
    if (m->by_construction) return;
    if (j->between && m->cv.known && m->procedural.known && m->data.known && m->data.variance > 0) {
        const double room = m->cv.rmse * m->cv.rmse - m->procedural.variance / size;
        m->data = epiqp_in_units(m->data, fmin(1, fmax(room / m->data.variance, LEAST)));
    }
    m->variance = epiqp_sum_of(m->data, m->procedural, size, o.level,
                               o.engine == EPIQ_ENGINE_INFINITE ? EPIQ_BY_INFINITE : EPIQ_BY_IF_EV);
}

/* The variance of a model that cannot learn there must not win. */
static int warn_of_construction(job *j)
{
    const epiq_comparison *r = j->r;
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; i < r->model_count; i++) {
        count += j->h->models[i].by_construction;
    }
    if (!count) return EPIQ_OK;
    return epiqp_warn(j->c, &j->h->warnings, EPIQ_W_NOT_COMPARED,
                      "%td of %td models have no bias, and one of the points is the scaled origin, where they are 0 "
                      "whatever the data are: their variance is taken as unknown%s; compare at other points, with "
                      "{--at} row:1 for one",
                      count, r->model_count,
                      count < r->model_count ? ", and none of them is chosen" : ", and errors alone decide");
}

/* Where points are rows that are left out, all are, and the networks of the folds have not seen them. */
static int leave_rows_out(job *j)
{
    ptrdiff_t rows = 0;
    for (ptrdiff_t p = 0; p < j->at->count; p++) {
        rows += j->at->left_out[p] >= 0;
    }
    if (!rows || j->o.engine == EPIQ_ENGINE_INFINITE) return EPIQ_OK;
    if (!j->grid.folds || rows < j->at->count) {
        return epiqp_fail(j->c, EPIQ_E_USAGE, "rows are left out %s; ask {--at} mean or another point instead",
                          j->grid.folds ? "of all points or of none" : "by {--folds}, and there are none");
    }
    j->between = epiqp_arena_alloc(j->c, &j->scratch, j->data->n, sizeof *j->between);
    return j->between ? EPIQ_OK : EPIQ_E_NOMEM;
}

static int prepare(job *j)
{
    epiq_comparison *r = j->r;
    j->o.state = NULL; /* it keeps the members of one model on one set of rows */
    j->o.influential = 0;
    j->o.sweep = 0;
    j->o.confidence = EPIQ_CONFIDENCE_NONE; /* no interval of the expected prediction is compared */
    j->o.budget_networks = 0;               /* the grid says what is trained */
    j->o.ensemble_size = j->o.ensemble_size > 0 ? j->o.ensemble_size : j->o.batches;
    int s = check_grid(j);
    if (s) return s;
    j->fold = epiqp_arena_alloc(j->c, &j->scratch, j->data->n, sizeof *j->fold);
    j->e2 = epiqp_arena_alloc(j->c, &j->scratch, j->data->n, sizeof *j->e2);
    j->h->models = epiqp_arena_alloc(j->c, &j->h->arena, r->model_count, sizeof *j->h->models);
    j->expected = epiqp_arena_alloc(j->c, &j->scratch, r->model_count, sizeof *j->expected);
    if (!j->fold || !j->e2 || !j->h->models || !j->expected || ((s = leave_rows_out(j)))) return s ? s : EPIQ_E_NOMEM;
    r->by_cv = j->grid.folds > 0;
    r->by_group = j->data->groups < j->data->n;
    r->folds = j->grid.folds;
    r->members = j->o.engine == EPIQ_ENGINE_INFINITE ? 0 : j->between ? epiqp_max(2, j->o.ensemble_size) : j->o.members;
    r->ensemble_size = j->o.ensemble_size;
    const epiqp_stream stream = {j->o.seed, EPIQP_FOR_SHUFFLE, 1}; /* stream 0 makes batches */
    return j->grid.folds ? epiqp_partition(j->c, j->data, stream, j->grid.folds, j->fold, NULL) : EPIQ_OK;
}

static int all_failed(const job *j)
{
    for (const warned *w = j->warned; w < j->warned + j->kinds; w++) {
        if (w->kind == EPIQ_W_FAILED && w->count == j->r->model_count) {
            return epiqp_fail(j->c, EPIQ_E_NUMERIC, "no model of %td could be computed; the first: %s", w->count,
                              w->message);
        }
    }
    return EPIQ_OK;
}

/* The choice is the first or the last of what was tried: better ones may lie beyond, if it is not a width as narrow or as wide as
 * widths need be, or a lambda as small. where: in epiq_compared. */
static int warn_of_edge(job *j, size_t where, bool whole, const char *name)
{
    const epiq_comparison *r = j->r;
    double least = INFINITY, most = -INFINITY, chosen = 0;
    for (ptrdiff_t i = 0; i < r->model_count; i++) {
        const void *at = (const char *)&j->h->models[i] + where;
        double v = whole ? (double)*(const ptrdiff_t *)at : *(const double *)at;
        least = fmin(least, v);
        most = fmax(most, v);
        chosen = i == r->choice ? v : chosen;
    }
    const double smallest = whole ? NARROWEST : epiqp_race_lambdas[EPIQP_RACE_LEVELS - 1]; /* as far as `auto` goes */
    const bool far = chosen == least ? least <= smallest : whole && most >= EPIQ_USUAL_WIDTH;
    const bool constant = !(epiqp_variance(j->data->y, j->data->n) > 0); /* then there is nothing to try */
    if (r->choice < 0 || constant || least == most || (chosen > least && chosen < most) || far) return EPIQ_OK;
    return epiqp_warn(j->c, &j->h->warnings, EPIQ_W_EDGE, "the %s chosen, %g, is the %s compared; try %s ones as well",
                      name, chosen, chosen == least ? "smallest" : "largest", chosen == least ? "smaller" : "larger");
}

/* The model chosen predicts no better than the mean of the target. */
static int warn_of_skill(job *j)
{
    const epiq_comparison *r = j->r;
    const epiq_compared *chosen = r->choice < 0 ? NULL : &j->h->models[r->choice];
    const double sd = j->data->y_factor * sqrt(epiqp_variance(j->data->y, j->data->n));
    if (!(sd > 0)) return EPIQ_OK; /* a warning says that the target has one value */
    if (!chosen || (r->by_cv ? chosen->cv.rmse : chosen->loo.rmse) < sd) return EPIQ_OK;
    return epiqp_warn(j->c, &j->h->warnings, EPIQ_W_NO_SKILL,
                      "the model chosen predicts rows it has not seen no better than the mean of the target, whose "
                      "standard deviation is %.3g: try other features, or more rows",
                      sd);
}

/* What all models are expected to take, and a line for whoever watches where that is long. */
static int foresee(job *j)
{
    epiq_result *most = NULL;
    int s = expect_all(j, false, &most);
    epiq_result_free(j->c, most);
    for (ptrdiff_t i = 0; !s && i < j->r->model_count; i++) {
        j->progress.all += sum_of(j, &j->expected[i]);
    }
    if (s || !j->progress.report || j->progress.all < EPIQP_WORTH_SAYING) return s;
    const epiq_progress p = {"forecast", 0, (ptrdiff_t)ceil(j->progress.all)};
    return j->progress.report(j->progress.user, &p)
               ? epiqp_fail(j->c, EPIQ_E_STOPPED, "stopped on request before comparing models")
               : EPIQ_OK;
}

static int run(job *j)
{
    int s = prepare(j);
    if (!s) s = foresee(j);
    for (ptrdiff_t i = 0; !s && i < j->r->model_count; i++) {
        s = judge(j, i);
        if (s == EPIQ_E_STOPPED && i > 0 && epiqp_finish_requested(j->c)) { /* the models so far are the answer */
            epiqp_clear(j->c);
            s = epiqp_warn(j->c, &j->h->warnings, EPIQ_W_STOPPED,
                           "ended early, on request: %td of %td models were compared", i, j->r->model_count);
            j->r->model_count = i;
            j->finished = true;
        }
    }
    if (s || (s = all_failed(j))) return s;
    for (ptrdiff_t i = 0; i < j->r->model_count; i++) { /* after all: models share the kernel's part */
        set_variance(j, i);
    }
    j->r->trainings += j->trained[0];
    j->r->converged += j->trained[1];
    epiqp_front(j->h->models, j->r->model_count, j->r->by_cv);
    if ((s = epiqp_choose(j->c, &j->h->arena, j->h->models, j->r)) || (s = warn_of_skill(j)) || (s = warn_of_all(j)) ||
        (s = warn_of_construction(j)) || (s = warn_of_edge(j, offsetof(epiq_compared, lambda), false, "lambda"))) {
        return s;
    }
    return warn_of_edge(j, offsetof(epiq_compared, width), true, "width");
}

static int job_new(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                   const epiq_grid *grid, job *j)
{
    epiqp_clear(c);
    *j = (job){.c = c, .data = data, .at = at};
    int s = epiqp_options_take(c, o, &j->o);
    if (s || (s = epiqp_take(c, "epiq_grid", grid, &j->grid, sizeof j->grid))) return s;
    j->o.width = j->o.width ? j->o.width : EPIQ_USUAL_WIDTH; /* what has no list */
    j->o.lambda = j->o.lambda == 0 ? EPIQ_USUAL_LAMBDA : j->o.lambda;
    holder *h = j->h = epiqp_alloc(c, 1, sizeof *h);
    if (!h) return EPIQ_E_NOMEM;
    *h = (holder){.warnings = {.arena = &h->arena}};
    j->r = &h->result;
    return EPIQ_OK;
}

int epiq_compare(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                 const epiq_grid *grid, epiq_comparison **out)
{
    job j;
    *out = NULL;
    int s = job_new(c, data, at, o, grid, &j);
    if (s) return s;
    holder *h = j.h;
    epiq_comparison *r = j.r;
    j.progress.report = c->report;
    j.progress.user = c->user;
    epiq_ctx_on_progress(c, on_progress, &j);
    s = run(&j);
    epiq_ctx_on_progress(c, j.progress.report, j.progress.user);
    epiqp_clear_cancel(c);
    epiqp_arena_free(c, &j.scratch);
    r->models = epiqp_arena_list(c, &h->arena, h->models, r->model_count, sizeof *h->models);
    r->warnings = epiqp_arena_list(c, &h->arena, h->warnings.list, h->warnings.count, sizeof *h->warnings.list);
    r->warning_count = h->warnings.count;
    if (!s && (!r->models || !r->warnings)) s = EPIQ_E_NOMEM;
    if (s) epiq_comparison_free(c, r);
    *out = s ? NULL : r;
    return s || !j.finished ? s : EPIQ_PARTIAL;
}

int epiq_compare_forecast(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                          const epiq_grid *grid, epiq_result **out)
{
    job j;
    epiq_result *most = NULL;
    *out = NULL;
    int s = job_new(c, data, at, o, grid, &j);
    if (s) return s;
    double seconds = 0;
    if (!(s = prepare(&j))) s = expect_all(&j, true, &most);
    for (ptrdiff_t i = 0; !s && i < j.r->model_count; i++) {
        seconds += sum_of(&j, &j.expected[i]);
    }
    if (most) { /* the largest may be the kernel's part, in closed form */
        ((epiqp_answer *)most)->ran.engine = j.o.engine;
    }
    if (!s) s = epiqp_forecast_of(c, most, EPIQP_STARTING + seconds);
    epiqp_arena_free(c, &j.scratch);
    epiq_comparison_free(c, j.r);
    if (s) epiq_result_free(c, most);
    *out = s ? NULL : most;
    return s;
}

void epiq_comparison_free(epiq_ctx *c, epiq_comparison *r)
{
    if (r) epiqp_arena_free(c, &((holder *)r)->arena);
    epiqp_free(c, r);
}
