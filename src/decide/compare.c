/* compare.c - epiq_compare: every model of a grid judged by its error and by its epistemic variance (docs/method.md
 * section 10). What does not depend on the width, the kernel's part, is done once for all widths; the rest is
 * epiq_estimate, on all rows for the variance and without each fold for the error.
 */
#include "decide/decide.h"

#include <math.h>
#include <string.h>

enum {
    MODELS_MAX = 1000, /* more than anyone reads */
    GRADIENTS = 400,   /* of a typical training, for the time left */
    KINDS = 40,        /* of warnings; there are fewer */
};

typedef struct {
    epiq_comparison result;
    epiqp_arena arena;
    epiqp_warnings warnings;
    epiq_compared *models;
} holder;

typedef struct {
    epiq_ctx *c;
    const epiq_data *data;
    const epiq_points *at;
    epiq_options o;
    epiq_grid grid;
    holder *h;
    epiqp_arena scratch;
    ptrdiff_t *fold; /* n */
    double *e2;      /* n */
    struct {
        const char *code, *message; /* of the first model that has it */
        ptrdiff_t first, last, count;
    } warned[KINDS];
    int kinds;
    ptrdiff_t trained[2]; /* networks; of these converged */
    struct {
        double done, all, now; /* floating point operations, about: of finished units, in all, of the unit at work */
        int (*report)(void *user, const epiq_progress *p);
        void *user;
        bool stopped;
    } progress;
    bool finished; /* early, with the models there were */
} job;

/* ---- progress: one bar over everything ---- */

/* A request that arrives with the last network of a unit ends the comparison, though not that unit. */
static int hear(void *user, const epiq_progress *p)
{
    job *j = user;
    double part = strcmp(p->stage, "members") == 0 && p->all > 0 ? (double)p->done / (double)p->all : 0;
    epiq_progress whole = {
        "models", (ptrdiff_t)(100 * fmin(1, (j->progress.done + part * j->progress.now) / j->progress.all)), 100};
    int stop = j->progress.report ? j->progress.report(j->progress.user, &whole) : 0;
    j->progress.stopped |= stop || epiqp_stopping(j->c);
    return stop;
}

static double effort_of(const job *j, const epiq_options *o, double rows, double networks)
{
    epiqp_net net = epiqp_net_of(o, j->data->d);
    double solve = rows * rows * rows / 3;
    switch (o->engine) {
    case EPIQ_ENGINE_NETWORK:
        return networks * GRADIENTS * 6 * rows * (double)epiqp_net_params(&net);
    case EPIQ_ENGINE_LINEAR:
        return solve + networks * 2 * rows * (double)epiqp_net_params(&net);
    default:
        return solve;
    }
}

static double unit_effort(const job *j, const epiq_options *o, bool fold)
{
    double n = (double)j->data->n, k = (double)j->grid.folds;
    return fold ? effort_of(j, o, n * (k - 1) / k, (double)o->ensemble_size) : effort_of(j, o, n, (double)o->members);
}

static int finish_unit(job *j)
{
    j->progress.done += j->progress.now;
    j->progress.now = 0;
    return j->progress.stopped || epiqp_stopping(j->c)
               ? epiqp_fail(j->c, EPIQ_E_STOPPED, "stopped on request while comparing models")
               : EPIQ_OK;
}

/* ---- the grid ---- */

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
    if (j->o.engine == EPIQ_ENGINE_INFINITE && g->width_count > 1) {
        return epiqp_fail(j->c, EPIQ_E_USAGE, "engine infinite has no width to compare; leave the widths out");
    }
    if (j->o.kernel != EPIQ_KERNEL_POPULATION || j->o.hbar != EPIQ_HBAR_KERNEL) {
        return epiqp_fail(j->c, EPIQ_E_USAGE, "models are compared with the population kernel and hbar kernel only");
    }
    if (g->folds < 0 || g->folds == 1) {
        return epiqp_fail(j->c, EPIQ_E_USAGE, "folds is %td; it must be 0 for none, or 2 or more", g->folds);
    }
    if (g->folds == 0 && j->o.time > 0) {
        return epiqp_fail(j->c, EPIQ_E_USAGE,
                          "training stopped at a time has no leave-one-out error; use folds, or leave out --time");
    }
    if (g->folds > j->data->groups || (g->folds && j->data->n - j->data->n / g->folds < 2)) {
        bool rows = j->data->groups == j->data->n;
        return epiqp_fail(j->c, EPIQ_E_DATA, "%td %s are too few for %td folds; use fewer --folds, or 0 for none",
                          j->data->groups, rows ? "rows" : "groups", g->folds);
    }
    j->h->result.model_count = (ptrdiff_t)models;
    for (ptrdiff_t i = 0; i < j->h->result.model_count; i++) {
        epiq_options o = options_of(j, i);
        int s = epiqp_options_check(j->c, &o);
        if (s) {
            return s;
        }
    }
    return EPIQ_OK;
}

/* ---- warnings: each kind once, with how many models have it ---- */

static int note(job *j, ptrdiff_t model, const char *code, const char *message)
{
    int k = 0;
    while (k < j->kinds && strcmp(j->warned[k].code, code) != 0) {
        k++;
    }
    if (k == KINDS) {
        return EPIQ_OK;
    }
    if (k == j->kinds) {
        const char *copy = epiqp_arena_printf(j->c, &j->scratch, "%s", message),
                   *name = epiqp_arena_printf(j->c, &j->h->arena, "%s", code);
        if (!copy || !name) {
            return EPIQ_E_NOMEM;
        }
        j->kinds++;
        j->warned[k].code = name;
        j->warned[k].message = copy;
        j->warned[k].first = model;
        j->warned[k].last = -1;
    }
    j->warned[k].count += j->warned[k].last != model;
    j->warned[k].last = model;
    return EPIQ_OK;
}

static int note_all(job *j, ptrdiff_t model, const epiq_result *r)
{
    int s = EPIQ_OK;
    for (ptrdiff_t k = 0; !s && k < r->warning_count; k++) {
        s = note(j, model, r->warnings[k].code, r->warnings[k].message);
    }
    return s;
}

static int warn_of_all(job *j)
{
    int s = EPIQ_OK;
    ptrdiff_t all = j->h->result.model_count;
    for (int k = 0; !s && k < j->kinds; k++) {
        j->warned[k].count -= j->warned[k].last >= all; /* one that was not finished */
        if (!j->warned[k].count) {
            continue;
        }
        const epiq_compared *m = &j->h->models[j->warned[k].first];
        s = j->warned[k].count == all
                ? epiqp_warn(j->c, &j->h->warnings, j->warned[k].code, "%s", j->warned[k].message)
                : epiqp_warn(j->c, &j->h->warnings, j->warned[k].code,
                             "%td of %td models, the first of width %td, depth %td, lambda %g: %s", j->warned[k].count,
                             all, m->width, m->depth, m->lambda, j->warned[k].message);
    }
    ptrdiff_t open = j->trained[0] - j->trained[1];
    if (!s && open) {
        s = epiqp_warn(j->c, &j->h->warnings, "unconverged_folds",
                       "%td of the %td networks trained without a fold did not converge; allow more --steps", open,
                       j->trained[0]);
    }
    return s;
}

/* ---- one model ---- */

/* A model that cannot be computed is left without numbers and the others go on. */
static int survive(job *j, ptrdiff_t model, int status)
{
    if (status != EPIQ_E_NUMERIC) {
        return status;
    }
    char message[sizeof j->c->message];
    memcpy(message, j->c->message, sizeof message);
    epiqp_clear(j->c);
    return note(j, model, "failed", message);
}

static bool warns_of(const epiq_result *r, const char *code)
{
    bool warns = false;
    for (ptrdiff_t k = 0; k < r->warning_count; k++) {
        warns = warns || strcmp(r->warnings[k].code, code) == 0;
    }
    return warns;
}

/* What depends on the kernel alone: the data part, the leave-one-out error, and the procedural part at infinite
 * width. */
static int judge_kernel(job *j, ptrdiff_t model, const epiq_options *o, epiq_compared *m)
{
    epiq_options closed = *o;
    epiq_result *r = NULL;
    closed.engine = EPIQ_ENGINE_INFINITE;
    closed.methods = EPIQ_IF | EPIQ_EV;
    closed.data_by = EPIQ_DATA_BY_IF;
    j->progress.now = effort_of(j, &closed, (double)j->data->n, 0);
    int s = epiqp_estimate(j->c, j->data, j->at, &closed, &(epiqp_more){.leverage = true}, &r);
    if (s) {
        return s;
    }
    m->data = epiqp_part_mean(r, offsetof(epiq_point, data), o->level);
    m->infinite = epiqp_part_mean(r, offsetof(epiq_point, infinite), o->level);
    j->h->result.by_group &= r->fit.by_group || !r->fit.known;
    m->by_construction = warns_of(r, "zero_by_construction");
    if (r->fit.observed) {
        for (ptrdiff_t i = 0; i < j->data->n; i++) {
            j->e2[i] = (r->fit.observed[i] - r->fit.loo[i]) * (r->fit.observed[i] - r->fit.loo[i]);
        }
        s = epiqp_error_of(j->c, j->data, j->e2, &m->loo);
    } else if (r->fit.known) { /* from probes: no single errors; the standard error is that of normal ones */
        m->loo = (epiq_rmse){1, r->fit.loo_rmse, r->fit.loo_rmse / sqrt(2 * (double)j->data->n)};
    }
    j->h->result.threads = r->threads;
    j->h->result.backend = r->backend;
    s = s ? s : note_all(j, model, r);
    epiq_result_free(j->c, r);
    return s ? s : finish_unit(j);
}

static int judge_networks(job *j, ptrdiff_t model, const epiq_options *o, epiq_compared *m)
{
    epiq_options ev = *o;
    epiq_result *r = NULL;
    ev.methods = EPIQ_EV;
    j->progress.now = unit_effort(j, o, false);
    int s = epiqp_estimate(j->c, j->data, j->at, &ev, &(epiqp_more){0}, &r);
    if (s) {
        return s;
    }
    m->procedural = epiqp_part_mean(r, offsetof(epiq_point, procedural), o->level);
    j->h->result.trainings += r->training.members;
    j->h->result.converged += r->training.converged;
    s = note_all(j, model, r);
    epiq_result_free(j->c, r);
    const epiq_part *p = &m->procedural, *wide = &m->infinite;
    if (!s && p->has_interval && wide->known &&
        (wide->variance < p->lo / 2 || (!p->open && wide->variance > 2 * p->hi))) {
        s = note(
            j, model, "not_in_kernel_regime",
            "the trained networks' variance is far from that of infinitely wide ones; IF and the leave-one-out error, "
            "which assume the latter, may be off: try a larger --width");
    }
    return s ? s : finish_unit(j);
}

static int judge_folds(job *j, const epiq_options *o, epiq_compared *m)
{
    int s = EPIQ_OK;
    for (ptrdiff_t k = 0; !s && k < j->grid.folds; k++) {
        j->progress.now = unit_effort(j, o, true);
        s = epiqp_fold_errors(j->c, j->data, j->fold, k, o, j->e2, j->trained);
        s = s ? s : finish_unit(j);
    }
    return s || !j->grid.folds ? s : epiqp_error_of(j->c, j->data, j->e2, &m->cv);
}

static int judge(job *j, ptrdiff_t i)
{
    epiq_options o = options_of(j, i);
    epiq_compared *m = &j->h->models[i];
    ptrdiff_t kernels = j->h->result.model_count / own_or_one(j->grid.width_count);
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
        s = same->data.known ? s : note(j, i, "failed", "the kernel's part is unknown");
    }
    m->procedural = infinite ? m->infinite : m->procedural;
    s = s || infinite ? s : judge_networks(j, i, &o, m);
    s = s ? s : judge_folds(j, &o, m);
    if ((s = survive(j, i, s))) {
        return s;
    }
    if (m->by_construction) {
        return EPIQ_OK;
    }
    m->variance = epiqp_sum_of(m->data, m->procedural, (double)o.ensemble_size, o.level,
                               infinite ? EPIQ_BY_INFINITE : EPIQ_BY_IF_EV);
    return EPIQ_OK;
}

/* A variance that is 0 whatever the data are must not win. */
static int warn_of_construction(job *j)
{
    const epiq_comparison *r = &j->h->result;
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; i < r->model_count; i++) {
        count += r->models[i].by_construction;
    }
    return count ? epiqp_warn(j->c, &j->h->warnings, "not_compared",
                              "%td of %td models have no bias, and one of the points is the scaled origin, where their "
                              "variance is 0 whatever the data are: it is taken as unknown%s; compare at other points, "
                              "with --at row:1 for one",
                              count, r->model_count,
                              count < r->model_count ? ", and none of them is chosen" : ", and errors alone decide")
                 : EPIQ_OK;
}

/* ---- all of it ---- */

static int prepare(job *j)
{
    epiq_comparison *r = &j->h->result;
    j->o.state = NULL; /* it keeps the members of one model on one set of rows */
    j->o.influential = 0;
    j->o.sweep = 0;
    j->o.ensemble_size = j->o.ensemble_size > 0 ? j->o.ensemble_size : j->o.batches;
    int s = check_grid(j);
    if (s) {
        return s;
    }
    j->fold = epiqp_arena_alloc(j->c, &j->scratch, j->data->n, sizeof *j->fold);
    j->e2 = epiqp_arena_alloc(j->c, &j->scratch, j->data->n, sizeof *j->e2);
    j->h->models = epiqp_arena_alloc(j->c, &j->h->arena, r->model_count, sizeof *j->h->models);
    if (!j->fold || !j->e2 || !j->h->models) {
        return EPIQ_E_NOMEM;
    }
    for (ptrdiff_t i = 0; i < r->model_count; i++) {
        epiq_options o = options_of(j, i);
        bool first = i < r->model_count / own_or_one(j->grid.width_count);
        j->progress.all += (first ? pow((double)j->data->n, 3) / 3 : 0) +
                           (o.engine == EPIQ_ENGINE_INFINITE ? 0 : unit_effort(j, &o, false)) +
                           (j->grid.folds ? (double)j->grid.folds * unit_effort(j, &o, true) : 0);
    }
    r->models = j->h->models;
    r->by_cv = j->grid.folds > 0;
    r->by_group = j->data->groups < j->data->n;
    r->folds = j->grid.folds;
    r->members = j->o.engine == EPIQ_ENGINE_INFINITE ? 0 : j->o.members;
    r->ensemble_size = j->o.ensemble_size;
    return j->grid.folds ? epiqp_folds_deal(j->c, j->data, j->grid.folds, j->o.seed, j->fold) : EPIQ_OK;
}

static int all_failed(const job *j)
{
    for (int k = 0; k < j->kinds; k++) {
        if (strcmp(j->warned[k].code, "failed") == 0 && j->warned[k].count == j->h->result.model_count) {
            return epiqp_fail(j->c, EPIQ_E_NUMERIC, "no model of %td could be computed; the first: %s",
                              j->h->result.model_count, j->warned[k].message);
        }
    }
    return EPIQ_OK;
}

/* The choice is the first or the last of what was tried: better ones may lie beyond. where: in epiq_compared. */
static int warn_of_edge(job *j, size_t where, bool whole, const char *name)
{
    const epiq_comparison *r = &j->h->result;
    double least = INFINITY, most = -INFINITY, chosen = 0;
    for (ptrdiff_t i = 0; i < r->model_count; i++) {
        const void *at = (const char *)&r->models[i] + where;
        double v = whole ? (double)*(const ptrdiff_t *)at : *(const double *)at;
        least = fmin(least, v);
        most = fmax(most, v);
        chosen = i == r->choice ? v : chosen;
    }
    if (r->choice < 0 || least == most || (chosen > least && chosen < most)) {
        return EPIQ_OK;
    }
    return epiqp_warn(j->c, &j->h->warnings, "edge", "the %s chosen, %g, is the %s compared; try %s ones as well", name,
                      chosen, chosen == least ? "smallest" : "largest", chosen == least ? "smaller" : "larger");
}

/* Asked to finish: the first `count` models are the answer. */
static int finish(job *j, ptrdiff_t count)
{
    epiqp_clear(j->c);
    int s = epiqp_warn(j->c, &j->h->warnings, "stopped", "ended early, on request: %td of %td models were compared",
                       count, j->h->result.model_count);
    j->h->result.model_count = count;
    j->finished = true;
    return s;
}

static int run(job *j)
{
    int s = prepare(j);
    for (ptrdiff_t i = 0; !s && i < j->h->result.model_count; i++) {
        s = judge(j, i);
        s = s == EPIQ_E_STOPPED && i > 0 && epiqp_finishing(j->c) ? finish(j, i) : s;
    }
    if (s || (s = all_failed(j))) {
        return s;
    }
    j->h->result.trainings += j->trained[0];
    j->h->result.converged += j->trained[1];
    epiqp_front(j->h->models, j->h->result.model_count, j->h->result.by_cv);
    s = epiqp_choose(j->c, &j->h->arena, &j->h->result);
    s = s ? s : warn_of_all(j);
    s = s ? s : warn_of_construction(j);
    s = s ? s : warn_of_edge(j, offsetof(epiq_compared, lambda), false, "lambda");
    return s ? s : warn_of_edge(j, offsetof(epiq_compared, width), true, "width");
}

int epiq_compare(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                 const epiq_grid *grid, epiq_comparison **out)
{
    epiqp_clear(c);
    *out = NULL;
    holder *h = epiqp_alloc(c, 1, sizeof *h);
    if (!h) {
        return EPIQ_E_NOMEM;
    }
    *h = (holder){.warnings = {.arena = &h->arena}};
    job j = {.c = c, .data = data, .at = at, .o = *o, .grid = *grid, .h = h};
    j.progress.report = c->report;
    j.progress.user = c->user;
    epiq_ctx_on_progress(c, hear, &j);
    int s = run(&j);
    epiq_ctx_on_progress(c, j.progress.report, j.progress.user);
    epiqp_go_on(c);
    epiqp_arena_free(c, &j.scratch);
    h->result.warnings = h->warnings.list;
    h->result.warning_count = h->warnings.count;
    if (s) {
        epiq_comparison_free(c, &h->result);
        return s;
    }
    *out = &h->result;
    return j.finished ? EPIQ_PARTIAL : EPIQ_OK;
}

void epiq_comparison_free(epiq_ctx *c, epiq_comparison *r)
{
    if (r) {
        holder *h = (holder *)r;
        epiqp_arena_free(c, &h->arena);
        epiqp_free(c, h);
    }
}
