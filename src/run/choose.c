/* choose.c - the width and lambda that were left to choose (docs/method.md section 4): by the error on rows left out, of kernel
 * regression in closed form and of networks trained without each fold, narrow ones and strong penalties first. What falls
 * behind is dropped, and the work is counted, not timed, so that the choice depends on the data and the seed alone. Of many rows
 * a part is tried on, and what does well there on all.
 */
#include "run/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    FOLDS = 5,
    FIRST = 2,       /* networks without each fold: the fewest that tell their spread, */
    MORE = 2,        /* and for those that are among the best at the end */
    FINALISTS = 4,   /* which are so many at most */
    FINALS_MOST = 6, /* of models of a part that are tried on all rows */
    FEWEST = 10,     /* groups of rows: two in each fold */
    BETWEEN = 256,   /* tried beside the narrow ones where infinitely wide networks do about as well */
    USUAL = 3,       /* the usual lambda among LAMBDAS */
    LEVELS = 6,
    ANY = LEVELS, /* of them */
    NARROW = 3,
    WIDTHS_MOST = NARROW + 2,
    MOST = (WIDTHS_MOST + 1) * LEVELS /* models */
};
static const double LAMBDAS[LEVELS] = {1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5};
static const ptrdiff_t WIDTHS[NARROW] = {16, 32, 64};
/* A model that is about as good as the best has at most so many times its mean squared error: where the errors of a model vary
 * much, one standard error alone says little. */
static const double LITTLE = 1.125;
static const double FAR = 1.25; /* times that error: on a part of the rows so much may be behind what is tried on all */
/* Of the squared error of a few networks' mean: their own spread over their number. Two have twice the spread over it that the four
 * of an estimate have, of which half is the limit: where s^2/4 is the rest of the error, s^2/2 is two thirds of it. */
static const double MOST_SPREAD = 2.0 / 3;
/* Times the mean squared error: 1 % of an error matters to no one, however surely it is there. */
static const double EQUAL = 1.02;
static const double BEHIND = 2;    /* standard errors of the difference: a model that is farther behind is dropped */
static const double PER_ROW = 800; /* what a gradient costs for each row beside its weights, in weights: as timed */
static const double USUAL_NETWORKS = 82; /* of a run: 50 on all rows, 40 without a fifth of them */
static const double OF_RUN =
    0.75; /* of the counted work of a run: beside it choosing takes kernel regressions, and searches */
/* Of all networks of a run together, in gradients times rows times weights: about ten minutes of two cores. Of many rows only
 * models that stay below it are chosen. */
static const double RUN_LIMIT = 2.5e13;

typedef struct {
    epiq_model_tried is; /* width 0: infinitely wide; rmse and se are filled in at the end */
    int level;           /* of LAMBDAS; -1: lambda is given */
    ptrdiff_t starts;    /* networks without each fold */
    double *mean, *m2;   /* n: of their predictions at rows left out, and the squares around it, summed */
    double *e2;          /* n: squared errors of the mean of all networks that a run trains */
    double mse;
} model;

/* One width and the lambdas tried with it: from the first one down while that helps, else up. */
typedef struct {
    ptrdiff_t width;
    int first, next, step; /* levels */
    const model *best;     /* NULL: none was tried yet */
    bool done;
} lane;

typedef struct {
    epiqp_problem *pb;
    epiq_options o; /* as asked for */
    const epiq_data *data;
    bool any_width, any_lambda;
    bool trains;          /* networks answer; else kernel regression does, and only lambda counts */
    epiqp_listed rows;    /* of FOLDS folds */
    ptrdiff_t folds;      /* of them, from the first: those left out */
    epiqp_fit fit[FOLDS]; /* rows without a fold, asked at it */
    model list[MOST];
    ptrdiff_t count;
    double spent; /* gradients times rows times weights */
    bool limited; /* some were left out for their cost */
} race;

/* ---- errors ---- */

/* Rows that the folds in use leave out, of all. */
static double share_judged(const race *r)
{
    return (double)r->rows.start[r->folds] / (double)r->data->n;
}

/* The error of a mean of k networks, less what its networks' spread adds to it, and with what it adds to m of them. Where that
 * spread is most of it, what is left is mostly chance, and the error counts as it is. */
static void set_errors(const race *r, model *m)
{
    const double k = (double)m->starts, all = (double)r->o.members, judged = share_judged(r);
    double spread = 0;
    for (ptrdiff_t i = 0; i < r->data->n; i++) { /* rows that no fold leaves out count nothing */
        const double error = r->rows.label[i] < r->folds ? m->mean[i] - r->data->y[i] : 0,
                     s2 = k > 1 ? m->m2[i] / (k - 1) : 0;
        m->e2[i] = error * error;
        spread += s2 / (double)r->data->n / judged;
    }
    m->mse = epiqp_mean(m->e2, r->data->n) / judged;
    for (ptrdiff_t i = 0; k > 1 && spread / k <= MOST_SPREAD * m->mse && i < r->data->n; i++) {
        m->e2[i] += m->m2[i] / (k - 1) * (1 / all - 1 / k);
    }
    m->mse = epiqp_mean(m->e2, r->data->n) / judged;
    m->is.spread = r->data->y_factor * sqrt(spread);
}

/* How far a is behind b, in standard errors of the difference. */
static int behind(const race *r, const model *a, const model *b, double *out)
{
    const ptrdiff_t n = r->data->n;
    double mean, se;
    double *difference = epiqp_alloc(r->pb->e.c, n, sizeof *difference);
    if (!difference) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; i < n; i++) {
        difference[i] = a->e2[i] - b->e2[i];
    }
    int s = epiqp_mean_over_groups(r->pb->e.c, r->data, difference, &mean, &se);
    epiqp_free(r->pb->e.c, difference);
    *out = mean > 0 ? (se > 0 ? mean / se : INFINITY) : 0;
    return s;
}

static const model *best_of(const race *r, int level)
{
    const model *best = NULL;
    for (const model *m = r->list; m < r->list + r->count; m++) {
        if ((level == ANY || m->level == level) && (!best || m->mse < best->mse)) best = m;
    }
    return best;
}

static double lambda_of(const race *r, int level)
{
    return level < 0 ? r->o.lambda : LAMBDAS[level];
}

/* Of models that are about as good: the wider network, which training from another start changes less, then the stronger
 * penalty. */
static bool simpler(const model *a, const model *b)
{
    const double wide = a->is.width ? (double)a->is.width : INFINITY,
                 other = b->is.width ? (double)b->is.width : INFINITY;
    return wide > other || (wide == other && a->is.lambda > b->is.lambda);
}

/* The simplest within one standard error of the best. */
static int choose(const race *r, const model **out)
{
    const model *best = best_of(r, ANY);
    *out = best;
    int s = EPIQ_OK;
    for (const model *m = r->list; !s && m < r->list + r->count; m++) {
        double far = 0;
        if (m->mse > LITTLE * best->mse) continue;
        if (!(s = behind(r, m, best, &far)) && (far <= 1 || m->mse <= EQUAL * best->mse) && simpler(m, *out)) *out = m;
    }
    return s;
}

static model *model_new(race *r, ptrdiff_t width, int level)
{
    const ptrdiff_t n = r->data->n;
    model *m = &r->list[r->count];
    *m = (model){.is = {.width = width, .lambda = lambda_of(r, level)}, .level = level};
    m->mean = epiqp_room(r->pb, 3 * n, sizeof *m->mean);
    if (!m->mean) return NULL;
    m->m2 = m->mean + n;
    m->e2 = m->m2 + n;
    r->count++;
    return m;
}

/* ---- infinitely wide networks ---- */

/* All folds in closed form, from the inverse of all rows. known: false where a fold's part is singular to rounding. */
static int kernel_folds(const race *r, const epiqp_fit *all, model *m, bool *known)
{
    const ptrdiff_t n = r->data->n, most = r->rows.largest;
    const epiqp_env alone = epiqp_alone(&r->pb->e);
    const epiqp_population population = {&all->arch, &all->rows};
    const epiqp_source source = epiqp_source_ntk(&population);
    epiqp_ridge ridge = {0};
    double *none = epiqp_alloc(alone.c, 1, sizeof *none),
           *block = epiqp_alloc(alone.c, most * (most + 1), sizeof *block);
    int s = none && block ? EPIQ_OK : EPIQ_E_NOMEM;
    if (s) epiqp_free(alone.c, none);
    if (!s && !(s = epiqp_ridge_new(&alone, n, &source, m->is.lambda, r->data->y, 0, none, &ridge))) {
        s = epiqp_ridge_leverage(&alone, &ridge);
    }
    *known = !s;
    for (ptrdiff_t f = 0; !s && *known && f < r->folds; f++) {
        const ptrdiff_t size = epiqp_listed_size(&r->rows, f), *rows = r->rows.rows + r->rows.start[f];
        double *e = block + size * size;
        for (ptrdiff_t i = 0; i < size; i++) {
            e[i] = ridge.alpha[rows[i]];
        }
        s = epiqp_solve_left_out(&alone, &ridge, size, rows, 1, e, block, known);
        for (ptrdiff_t i = 0; !s && *known && i < size; i++) {
            m->mean[rows[i]] = r->data->y[rows[i]] - e[i];
        }
    }
    epiqp_ridge_free(alone.c, &ridge);
    epiqp_free(alone.c, block);
    return s;
}

/* One rank's numbers decide for all. */
static int share(const race *r, model *m, int status, bool *known)
{
    const epiq_cluster *k = r->pb->e.cluster;
    int s = epiq_ctx_agree(r->pb->e.c, status);
    if (s || !k) return s;
    k->bcast(k->user, 0, known, sizeof *known);
    k->bcast(k->user, 0, m->mean, (size_t)r->data->n * sizeof *m->mean);
    return s;
}

static int try_kernel(race *r)
{
    const int first = r->any_lambda ? 0 : -1, end = r->any_lambda ? LEVELS : 0;
    epiqp_fit all;
    int s = epiqp_fit_new(&r->pb->e, &r->o, r->data->n, r->data->d, r->data->x, r->data->y, 0, r->data->x, &all);
    if (s) return s;
    for (int level = first; !s && level < end; level++) {
        bool known = false;
        model *m = model_new(r, 0, level);
        s = m ? kernel_folds(r, &all, m, &known) : EPIQ_E_NOMEM;
        if (s == EPIQ_E_NUMERIC) { /* this lambda is too small for the factor */
            epiqp_clear(r->pb->e.c);
            s = EPIQ_OK;
        }
        s = m ? share(r, m, s, &known) : s;
        if (!s && known) set_errors(r, m);
        if (m && !(known && isfinite(m->mse))) r->count--;
        if (!s) s = epiqp_report(r->pb->e.c, "choice", level - first + 1, end - first);
    }
    epiqp_fit_free(r->pb->e.c, &all);
    return s;
}

/* ---- trained networks ---- */

static int folds_new(race *r)
{
    const epiqp_problem *pb = r->pb;
    const ptrdiff_t d = r->data->d;
    int s = EPIQ_OK;
    for (ptrdiff_t f = 0; !s && f < r->folds; f++) {
        const ptrdiff_t out = epiqp_listed_size(&r->rows, f), n = r->data->n - out;
        ptrdiff_t *row = epiqp_room(pb, n, sizeof *row);
        double *x = epiqp_room(pb, r->data->n * d + n, sizeof *x), *at = x ? x + n * d : NULL,
               *y = at ? at + out * d : NULL;
        if (!row || !x) return EPIQ_E_NOMEM;
        for (ptrdiff_t i = 0, k = 0; i < r->data->n; i++) {
            if (r->rows.label[i] != f) row[k++] = i;
        }
        epiqp_take_rows(r->data, n, row, x, y);
        epiqp_take_rows(r->data, out, r->rows.rows + r->rows.start[f], at, NULL);
        s = epiqp_fit_new(&pb->e, &r->o, n, d, x, y, out, at, &r->fit[f]);
    }
    return s;
}

/* What `starts` more networks without each fold would cost. before: trained networks of the model or of one like it; NULL or
 * without networks: there are none. */
static double expected_work(const race *r, ptrdiff_t width, double lambda, const model *before, ptrdiff_t starts)
{
    epiq_options o = r->o;
    o.width = width;
    const epiqp_net net = epiqp_net_of(&o, r->data->d);
    double gradients = epiqp_usual_effort(&net, r->data->n, lambda).gradients;
    if (before && before->is.networks) {
        o.width = before->is.width;
        const epiqp_net other = epiqp_net_of(&o, r->data->d);
        gradients *=
            (double)before->is.iterations / epiqp_usual_effort(&other, r->data->n, before->is.lambda).gradients;
    }
    const double rows = (double)(starts * r->folds * r->data->n) * (FOLDS - 1) / FOLDS;
    return gradients * rows * ((double)epiqp_net_params(&net) + PER_ROW);
}

/* Networks of a run, in units of one on all rows. */
static double networks_of(const epiq_options *o)
{
    const double share = (double)(FOLDS - 1) / FOLDS;
    return (double)o->members + share * (double)(FOLDS * o->fold_members + 4 * o->replicates);
}

/* What all networks of a run on all rows would cost with this model and this lambda. */
static double run_work(const race *r, const model *m, ptrdiff_t width, double lambda)
{
    const double share = (double)(FOLDS - 1) / FOLDS, all = (double)r->pb->n / (double)r->data->n;
    return expected_work(r, width, lambda, m, 1) / share / (double)r->folds * networks_of(&r->o) * all;
}

/* The most work that choosing may take for this model to be chosen. A run of few networks counts as one of the usual number. */
static double limit_of(const race *r, const model *m, ptrdiff_t width, double lambda)
{
    return OF_RUN * fmax(1, USUAL_NETWORKS / networks_of(&r->o)) * run_work(r, m, width, lambda);
}

/* The most work that choosing may take: what the rest of the run would with the model that would be chosen now, less what is
 * not counted, so that choosing takes no longer than what it is for. */
static int work_limit(const race *r, double *out)
{
    const model *now = NULL;
    const int s = r->count ? choose(r, &now) : EPIQ_OK;
    const ptrdiff_t width = now && now->is.width ? now->is.width : r->o.width; /* the usual one, where any may be */
    *out = s ? 0 : limit_of(r, now, width, now ? now->is.lambda : r->o.lambda);
    return s;
}

static void add_prediction(const race *r, ptrdiff_t f, const double *at, double count, model *m)
{
    const ptrdiff_t *rows = r->rows.rows + r->rows.start[f];
    for (ptrdiff_t i = 0; i < epiqp_listed_size(&r->rows, f); i++) {
        const double off = at[i] - m->mean[rows[i]];
        m->mean[rows[i]] += off / count;
        m->m2[rows[i]] += off * (at[i] - m->mean[rows[i]]);
    }
}

/* What one training of several models works with. */
typedef struct {
    epiqp_assignment *list;
    epiqp_fit *fit;
    epiq_options *o; /* of each model */
    double *at;      /* networks by the most rows of a fold */
    epiqp_trainings sum;
} training;

static int training_new(const race *r, model *const *of, ptrdiff_t models, ptrdiff_t starts, epiqp_arena *arena,
                        training *t)
{
    epiq_ctx *c = r->pb->e.c;
    const ptrdiff_t per = r->folds * starts, networks = models * per;
    *t = (training){.list = epiqp_arena_alloc(c, arena, networks, sizeof *t->list),
                    .fit = epiqp_arena_alloc(c, arena, models * r->folds, sizeof *t->fit),
                    .o = epiqp_arena_alloc(c, arena, models, sizeof *t->o),
                    .at = epiqp_arena_alloc(c, arena, networks * r->rows.largest, sizeof *t->at),
                    .sum.iterations = epiqp_arena_alloc(c, arena, networks, sizeof(double))};
    if (!t->list || !t->fit || !t->o || !t->at || !t->sum.iterations) return EPIQ_E_NOMEM;
    for (ptrdiff_t k = 0; k < networks; k++) {
        const ptrdiff_t number = k / per, f = k % r->folds, start = of[number]->starts + k % per / r->folds;
        epiq_options *o = &t->o[number];
        *o = r->o;
        o->width = of[number]->is.width;
        o->lambda = of[number]->is.lambda;
        const double decides[] = {(double)o->width, o->lambda, (double)r->folds};
        epiqp_fit *fit = &t->fit[number * r->folds + f];
        *fit = r->fit[f];
        fit->o = o;
        fit->net = epiqp_net_of(o, r->data->d);
        fit->arch = epiqp_arch_of(&fit->net);
        fit->lambda = o->lambda * (double)r->data->n / (double)fit->rows.n; /* lambda n as for all rows */
        t->list[k] = (epiqp_assignment){.fit = fit,
                                        .draw = epiqp_draw_of(o, f + start * r->folds),
                                        .kind = EPIQP_FOR_FOLD,
                                        .index = f + start * r->folds,
                                        .of = epiqp_member_sum(3, decides),
                                        .at = t->at + k * r->rows.largest};
    }
    return EPIQ_OK;
}

/* Networks of the choice are kept in the state file too, each as its predictions at the rows of its fold. */
static int open_state(const race *r, epiqp_arena *arena, epiqp_maker *maker)
{
    const epiqp_state_key key = {.e = &r->pb->e, .o = &r->o, .data = r->data, .choice = true};
    const epiq_cluster *k = r->pb->e.cluster;
    maker->has_state = r->o.state;
    return r->o.state && !(k && k->rank > 0) ? epiqp_state_open(&key, arena, &maker->state) : EPIQ_OK;
}

/* Trains `starts` more networks without each fold for all of these models, together. */
static int train(race *r, model *const *of, ptrdiff_t models, ptrdiff_t starts)
{
    epiqp_arena arena = {0};
    training t;
    int s = training_new(r, of, models, starts, &arena, &t);
    epiqp_maker maker = {.e = &r->pb->e, .engine = r->pb->engine, .sum = &t.sum};
    const ptrdiff_t per = r->folds * starts;
    if (!s) s = open_state(r, &arena, &maker);
    s = epiq_ctx_agree(r->pb->e.c, s);
    if (!s) s = epiqp_members_run(&maker, "choice", models * per, t.list);
    for (ptrdiff_t number = 0; !s && number < models; number++) {
        model *m = of[number];
        double gradients = 0;
        for (ptrdiff_t k = number * per; k < (number + 1) * per; k++) {
            const ptrdiff_t f = k % r->folds;
            add_prediction(r, f, t.list[k].at, (double)(m->starts + k % per / r->folds + 1), m);
            gradients += (double)t.list[k].training.iterations;
        }
        const double before = (double)(m->is.iterations * m->is.networks);
        m->starts += starts;
        m->is.networks += per;
        m->is.iterations = (ptrdiff_t)((before + gradients) / (double)m->is.networks);
        r->spent += expected_work(r, m->is.width, m->is.lambda, m, starts);
        set_errors(r, m);
    }
    epiqp_state_close(maker.state);
    epiqp_arena_free(r->pb->e.c, &arena);
    return s;
}

/* ---- the race ---- */

static void advance(const race *r, lane *l, const model *tried)
{
    if (!l->best) {
        l->best = tried;
        l->step = 1;
        l->next = tried->level + 1;
    } else if (tried->mse < l->best->mse) {
        l->best = tried;
        l->next = tried->level + l->step;
    } else if (l->step > 0 && l->best->level == l->first) { /* the first step down does not help */
        l->step = -1;
        l->next = l->first - 1;
    } else {
        l->done = true;
    }
    l->done |= !r->any_lambda || l->next < 0 || l->next >= LEVELS;
}

/* Ends lanes that are behind the best with the same lambda. */
static int drop(const race *r, lane *lanes, ptrdiff_t count)
{
    int s = EPIQ_OK;
    for (lane *l = lanes; !s && l < lanes + count; l++) {
        double far = 0;
        if (!l->best || l->done) continue;
        s = behind(r, l->best, best_of(r, l->best->level), &far);
        l->done = far > BEHIND;
    }
    return s;
}

/* The next model of every lane that goes on and whose work is within the limit, or would be if it were chosen; the first one of
 * all is. A lane whose next model costs too much goes on when one is in front whose run would cost more. */
static int next_models(race *r, lane *lanes, ptrdiff_t count, model **now, lane **of, ptrdiff_t *models)
{
    double work = r->spent, limit;
    bool limited = false;
    int s = work_limit(r, &limit);
    *models = 0;
    for (lane *l = lanes; !s && l < lanes + count; l++) {
        if (l->done) continue;
        const double lambda = lambda_of(r, l->next), more = expected_work(r, l->width, lambda, l->best, FIRST);
        const bool dear = work + more > fmax(limit, limit_of(r, l->best, l->width, lambda)) && r->count > 0;
        limited |= dear;
        if (dear) continue;
        work += more;
        of[*models] = l;
        if (!(now[(*models)++] = model_new(r, l->width, l->next))) return EPIQ_E_NOMEM;
    }
    r->limited |= limited && !*models; /* there is no more */
    return s;
}

static int run_lanes(race *r, lane *lanes, ptrdiff_t count)
{
    model *now[WIDTHS_MOST];
    lane *of[WIDTHS_MOST];
    ptrdiff_t models;
    int s;
    while (!(s = next_models(r, lanes, count, now, of, &models)) && models) {
        if ((s = train(r, now, models, FIRST))) {
            r->count -= models;
            return s;
        }
        for (ptrdiff_t k = 0; k < models; k++) {
            advance(r, of[k], now[k]);
        }
        if ((s = drop(r, lanes, count))) return s;
    }
    return s;
}

static int try_networks(race *r, const model *kernel)
{
    lane lanes[WIDTHS_MOST] = {{0}};
    ptrdiff_t count = 0;
    const int strong = kernel && kernel->level < USUAL ? kernel->level : USUAL, first = r->any_lambda ? strong : -1;
    for (; r->any_width && count < NARROW; count++) {
        lanes[count] = (lane){.width = WIDTHS[count], .first = first, .next = first};
    }
    if (!r->any_width || !kernel) {
        lanes[count++] = (lane){.width = r->any_width ? EPIQ_USUAL_WIDTH : r->o.width, .first = first, .next = first};
    }
    int s = run_lanes(r, lanes, count);
    if (s || !kernel) return s;
    double far = 0, limit;
    if ((s = behind(r, kernel, best_of(r, ANY), &far)) || far > BEHIND || (s = work_limit(r, &limit))) return s;
    if (r->spent + expected_work(r, BETWEEN, kernel->is.lambda, NULL, FIRST) > limit) {
        r->limited = true;
        return EPIQ_OK;
    }
    model *between = model_new(r, BETWEEN, kernel->level);
    if (!between) return EPIQ_E_NOMEM;
    s = train(r, &between, 1, FIRST);
    r->count -= s != EPIQ_OK;
    return s;
}

/* More networks for the best, until they are distinguished as well as the work allows. */
static int run_finals(race *r)
{
    model *final[FINALISTS];
    ptrdiff_t count = 0;
    const model *best = best_of(r, ANY);
    double work = r->spent, limit, above = -INFINITY;
    int s = work_limit(r, &limit);
    while (!s && count < FINALISTS) { /* in the order of their errors */
        model *next = NULL;
        for (model *m = r->list; m < r->list + r->count; m++) {
            if (m->is.width && m->mse > above && (!next || m->mse < next->mse)) next = m;
        }
        double far = 0;
        if (!next || (s = behind(r, next, best, &far)) || far > BEHIND) break;
        above = next->mse;
        work += expected_work(r, next->is.width, next->is.lambda, next, MORE);
        if (work > limit) {
            r->limited = true;
            break;
        }
        final[count++] = next;
    }
    return s || !count ? s : train(r, final, count, MORE);
}

static int run_race(race *r)
{
    const bool closed = r->data->n <= EPIQP_CHEAP_ROWS && (r->any_width || !r->trains);
    int s = closed ? try_kernel(r) : EPIQ_OK;
    if (s || !r->trains) return s;
    const model *kernel = NULL;
    if ((r->count && (s = choose(r, &kernel))) || (s = folds_new(r)) || (s = try_networks(r, kernel))) return s;
    return run_finals(r);
}

/* ---- the choice ---- */

/* What there would be without a choice; NULL: it was not tried. */
static const model *usual(const race *r)
{
    const model *found = NULL;
    for (const model *m = r->list; m < r->list + r->count; m++) {
        const bool width = r->any_width ? !m->is.width || m->is.width == EPIQ_USUAL_WIDTH : true;
        if (width && m->level == (r->any_lambda ? USUAL : -1)) found = m;
    }
    return found;
}

static int set_tried(race *r, epiq_model_choice *out)
{
    epiq_model_tried *tried = epiqp_arena_alloc(r->pb->e.c, r->pb->lasting, r->count, sizeof *tried);
    if (!tried) return EPIQ_E_NOMEM;
    int s = EPIQ_OK;
    for (ptrdiff_t k = 0; !s && k < r->count; k++) {
        double mean = 0, se = 0;
        s = epiqp_mean_over_groups(r->pb->e.c, r->data, r->list[k].e2, &mean, &se);
        const double judged = share_judged(r), rmse = sqrt(fmax(mean, 0) / judged);
        r->list[k].is.rmse = r->data->y_factor * rmse;
        r->list[k].is.se = rmse > 0 ? r->data->y_factor * se / judged / (2 * rmse) : 0;
        tried[k] = r->list[k].is;
    }
    out->tried = epiqp_arena_list(r->pb->e.c, r->pb->lasting, tried, r->count, sizeof *tried);
    out->tried_count = r->count;
    return s ? s : out->tried ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* of_part: the race that chose what this one tried on all rows; NULL: there was none. */
static int describe(race *r, const race *of_part, const model *chosen, epiq_model_choice *out)
{
    const model *before = usual(r);
    char width[48] = "", gain[128] = "", part[96] = "";
    int s = set_tried(r, out);
    if (s) return s;
    out->rmse = chosen->is.rmse;
    out->se = chosen->is.se;
    out->usual = before ? out->tried[before - r->list] : NULL;
    if (r->trains) snprintf(width, sizeof width, "width %td and ", out->width);
    if (before && before != chosen) {
        snprintf(gain, sizeof gain, ", against %.4g with %slambda %g", before->is.rmse,
                 !r->any_width      ? ""
                 : before->is.width ? "the usual width and "
                                    : "infinitely wide networks and ",
                 before->is.lambda);
    }
    if (of_part) {
        snprintf(part, sizeof part, ", after %td were tried on %td of the rows", of_part->count, of_part->data->n);
    }
    out->reason = epiqp_arena_sentence(
        r->pb->e.c, r->pb->lasting, "%slambda %g: error %.4g on rows left out%s; %s of %td models tried%s%s", width,
        out->lambda, out->rmse, gain,
        chosen == best_of(r, ANY) ? "the best" : "the simplest within one standard error of the best", r->count, part,
        r->limited ? ", others being left out for their cost" : "");
    return out->reason ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* The folds and their networks at work, and kernel regression on few rows. */
static double bytes_of(const race *r)
{
    const double n = (double)r->data->n, d = (double)r->data->d;
    epiq_options o = r->o;
    o.width = r->any_width ? EPIQ_USUAL_WIDTH : r->o.width;
    const epiqp_net net = epiqp_net_of(&o, r->data->d);
    const bool closed = r->data->n <= EPIQP_CHEAP_ROWS;
    const double kernel =
        closed ? (double)(epiqp_tri_bytes(r->data->n) + epiqp_inverse_bytes(r->data->n, r->pb->e.threads)) : 0;
    return 8 * n * (FOLDS * (3 * d + 6) + 3 * MOST + FIRST * FOLDS * WIDTHS_MOST) +
           fmax(kernel, (double)r->pb->e.threads * epiqp_network_bytes(&net));
}

static int check_memory(const race *r)
{
    const epiq_cluster *k = r->pb->e.cluster;
    const double need = bytes_of(r), have = epiqp_may_use(&r->o, k ? k->ranks_on_node : 1);
    return need <= have ? EPIQ_OK
                        : epiqp_fail(r->pb->e.c, EPIQ_E_NOMEM,
                                     "choosing the width and lambda takes about %.4f GB and %.4f may be used; give "
                                     "{--width} and {--lambda}, or fewer rows",
                                     need / 1e9, have / 1e9);
}

/* Models of many rows are judged on a part of them. Kernel regression is then done; networks are tried on all rows after
 * that. */
static int take_part(race *r, ptrdiff_t rows, epiq_data *part)
{
    const ptrdiff_t n = r->data->n, parts = r->trains ? n / rows : (n + EPIQP_CHEAP_ROWS - 1) / EPIQP_CHEAP_ROWS;
    epiqp_listed of;
    if (parts < 2 || parts > r->data->groups) return EPIQ_OK;
    int s = epiqp_deal_rows(r->pb, (epiqp_stream){r->o.seed, EPIQP_FOR_PARTS, 2}, parts, &of);
    if (s || (s = epiqp_take_data(r->pb->e.c, r->pb->scratch, r->data, &of, 0, part))) return s;
    r->data = part;
    return EPIQ_OK;
}

static int deal_folds(race *r)
{
    epiqp_problem of = *r->pb; /* about the part, where there is one */
    of.data = r->data;
    of.n = r->data->n;
    return epiqp_deal_rows(&of, (epiqp_stream){r->o.seed, EPIQP_FOR_SHUFFLE, 2}, FOLDS, &r->rows); /* 1: retraining's */
}

/* The choice among what a race tried. */
static int take_choice(race *r, const race *of_part, const model **chosen, epiq_model_choice *out)
{
    *chosen = NULL;
    int s = r->count ? choose(r, chosen) : EPIQ_OK;
    if (s || !*chosen) return s;
    out->width = r->any_width && (*chosen)->is.width ? (*chosen)->is.width : out->width;
    out->lambda = (*chosen)->is.lambda;
    out->folds = r->folds;
    return describe(r, of_part, *chosen, out);
}

/* With what there was before where nothing could be computed; ranks have agreed on a failure. */
static int excuse(const race *r, int status)
{
    if (status != EPIQ_E_NUMERIC || r->pb->e.cluster) return status;
    epiqp_clear(r->pb->e.c);
    return EPIQ_OK;
}

/* ---- on all rows, after a part of them ---- */

/* A model of a part to be tried on all rows, and with smaller lambdas: with more rows less penalty is best, down to about that which
 * keeps lambda n, the number of rows that the start counts for. How much less a part cannot tell. */
static int add_models(race *whole, const race *part, const model *m, model **now, ptrdiff_t *models)
{
    const ptrdiff_t width = m->is.width ? m->is.width : whole->o.width;
    const double fewer = (double)part->data->n / (double)whole->data->n;
    for (int level = m->level; level < LEVELS && *models < FINALS_MOST; level++) {
        const double lambda = lambda_of(whole, level);
        if (level > m->level && (m->level < 0 || lambda < fewer / 3 * m->is.lambda)) break;
        if (run_work(whole, m, width, lambda) > RUN_LIMIT && *models) {
            whole->limited = true;
            break;
        }
        if (!(now[(*models)++] = model_new(whole, width, level))) return EPIQ_E_NOMEM;
    }
    return EPIQ_OK;
}

static bool has_width(model *const *now, ptrdiff_t models, ptrdiff_t width)
{
    for (ptrdiff_t k = 0; k < models; k++) {
        if (now[k]->is.width == width) return true;
    }
    return false;
}

/* The best of each width that comes close to the best of all, unless they cost too much; where all do, the cheapest. A width that
 * falls behind on a part may be the best with all rows only if it is narrow, since more rows tell more features; the narrow ones
 * are cheap, and those that are not far behind are tried. */
static int find_finals(race *whole, const race *part, model **now, ptrdiff_t *models)
{
    const model *best = best_of(part, ANY), *cheapest = NULL;
    int s = EPIQ_OK;
    double above = -INFINITY;
    *models = 0;
    for (const model *next = best; !s && next && next->mse <= FAR * best->mse;) {
        const bool dear =
            run_work(whole, next, next->is.width ? next->is.width : whole->o.width, next->is.lambda) > RUN_LIMIT;
        whole->limited |= dear;
        if (!dear && !has_width(now, *models, next->is.width)) s = add_models(whole, part, next, now, models);
        above = next->mse;
        next = NULL;
        for (const model *m = part->list; m < part->list + part->count; m++) {
            if (m->mse > above && (!next || m->mse < next->mse)) next = m;
        }
    }
    for (const model *m = part->list; !*models && m < part->list + part->count; m++) {
        if (m->is.width && (!cheapest || run_work(whole, m, m->is.width, m->is.lambda) <
                                             run_work(whole, cheapest, cheapest->is.width, cheapest->is.lambda))) {
            cheapest = m;
        }
    }
    return s || *models || !cheapest ? s : add_models(whole, part, cheapest, now, models);
}

/* Drops what turns out to cost too much, if anything else is left. */
static void drop_dear(race *whole)
{
    ptrdiff_t left = 0;
    for (ptrdiff_t k = 0; k < whole->count; k++) {
        const model *m = &whole->list[k];
        if (run_work(whole, m, m->is.width, m->is.lambda) <= RUN_LIMIT) {
            whole->list[left++] = *m;
        } else {
            whole->limited = true;
        }
    }
    whole->count = left ? left : whole->count;
}

/* Of what did well on a part, what does best with all rows: one fold of them, which is large, is left out. */
static int race_on_all(const race *part, race *whole, epiq_model_choice *out)
{
    model *now[FINALS_MOST];
    const model *chosen;
    ptrdiff_t models = 0;
    *whole = (race){.pb = part->pb,
                    .o = part->o,
                    .data = part->pb->data,
                    .any_width = part->any_width,
                    .any_lambda = part->any_lambda,
                    .trains = true,
                    .limited = part->limited,
                    .folds = 1};
    int s = deal_folds(whole);
    if (s || (s = find_finals(whole, part, now, &models)) || !models || (s = check_memory(whole)) ||
        (s = folds_new(whole)) || (s = train(whole, now, models, FIRST))) {
        whole->count = 0; /* with what was best on the part */
        return s;
    }
    drop_dear(whole);
    return take_choice(whole, part, &chosen, out);
}

static int hold_race(race *r, race *whole, epiq_model_choice *out)
{
    const model *chosen;
    int s = excuse(r, run_race(r));
    if (s || (s = take_choice(r, NULL, &chosen, out)) || !chosen || r->data == r->pb->data || !r->trains) return s;
    return excuse(r, race_on_all(r, whole, out));
}

/* For a forecast: the widest that many rows would not rule out for its cost, with the usual lambda. */
static ptrdiff_t affordable_width(const race *part)
{
    static const ptrdiff_t DOWN[] = {EPIQ_USUAL_WIDTH, BETWEEN, 64, 32, 16};
    race whole = {.pb = part->pb, .o = part->o, .data = part->pb->data, .folds = 1};
    const model none = {.is = {.width = 0}};
    size_t k = 0;
    while (k + 1 < sizeof DOWN / sizeof *DOWN && run_work(&whole, &none, DOWN[k], LAMBDAS[USUAL]) > RUN_LIMIT) {
        k++;
    }
    return DOWN[k];
}

/* ---- what it will take ---- */

/* Models that are usually tried: every narrow width, then with less penalty the better ones. */
static const struct {
    ptrdiff_t width;
    int level;
} TRIED[] = {{16, USUAL}, {32, USUAL}, {64, USUAL}, {32, USUAL + 1}, {64, USUAL + 1}, {32, USUAL + 2}};

static double seconds_of(const race *r, const epiqp_rates *rate, ptrdiff_t width, double lambda)
{
    epiq_options o = r->o;
    o.width = r->any_width ? width : o.width;
    o.lambda = r->any_lambda ? lambda : o.lambda;
    return epiqp_usual_seconds(r->pb, &o, rate);
}

/* Seconds of one network on all rows, whichever is chosen: a wide one with the usual lambda and a narrow one with little are
 * about as likely, and take about as long; the geometric mean. ratio: of what is timed to what is counted. */
static int network_seconds(const race *r, const epiqp_rates *rate, double networks, bool timed, double *out,
                           double *ratio)
{
    const ptrdiff_t width[2] = {r->o.width, TRIED[1].width};
    const double lambda[2] = {LAMBDAS[USUAL], LAMBDAS[LEVELS - 1]};
    double product = 1;
    *ratio = 1;
    for (int k = 0; k < 2; k++) {
        epiq_options o = r->o;
        o.width = r->any_width ? width[k] : o.width;
        o.lambda = r->any_lambda ? lambda[k] : o.lambda;
        const double counted = seconds_of(r, rate, width[k], lambda[k]);
        double one = counted;
        int s = timed ? epiqp_time_network(r->pb, &o, EPIQP_TIMING_SHARE * networks, &one) : EPIQ_OK;
        if (s) return s;
        product *= one;
        *ratio *= one / counted;
    }
    *out = sqrt(product);
    *ratio = sqrt(*ratio);
    return EPIQ_OK;
}

/* What choosing is expected to take, and one network of the run after it. r: with its part of the rows. */
static int foresee(const race *r, const epiqp_request *request, epiqp_resolved *out)
{
    const epiq_options *o = &r->o;
    const double share = (double)(FOLDS - 1) / FOLDS, at_once = (double)r->pb->e.threads, n = (double)r->data->n,
                 networks = networks_of(o), all = (double)r->pb->n / n;
    epiqp_rates rate;
    double ratio = 1, one = 0;
    out->choosing = 0;
    int s = epiqp_rates_of(r->pb, request, o, &rate);
    if (s) return s;
    if (r->trains) {
        if ((s = network_seconds(r, &rate, networks, false, &one, &ratio))) return s;
        const bool timed = request->forecast_only ? !request->untimed : networks * one / at_once > EPIQP_WORTH_TIMING;
        if (timed && (s = network_seconds(r, &rate, networks, true, &one, &ratio))) return s;
        double tried = 0;
        for (size_t k = 0; k < sizeof TRIED / sizeof *TRIED; k++) {
            tried += ratio * seconds_of(r, &rate, TRIED[k].width, LAMBDAS[TRIED[k].level]);
        }
        out->choosing = fmin(FIRST * FOLDS * share * tried / all, networks * one) / at_once;
        if (all > 1) out->choosing += FINALS_MOST / 2 * FIRST * share * one / at_once;
        out->network = one;
    }
    if (r->data->n <= EPIQP_CHEAP_ROWS && r->any_lambda && (r->any_width || !r->trains)) {
        out->choosing += LEVELS * (n * n / rate.entries + 3 * n * n * n / rate.flops); /* as timed; counted: half */
    }
    return EPIQ_OK;
}

int epiqp_choose_model(epiqp_problem *pb, const epiqp_request *request, epiqp_resolved *resolved, epiqp_answer *a)
{
    const double start = epiqp_now();
    epiq_model_choice *out = &a->model_choice;
    epiq_options *o = &resolved->o;
    if (o->width > 0 && o->lambda > 0) return EPIQ_OK;
    race *r = epiqp_room(pb, 2, sizeof *r);
    epiq_data part;
    if (!r) return EPIQ_E_NOMEM;
    *r = (race){
        .pb = pb, .o = *o, .data = pb->data, .any_width = !o->width, .any_lambda = o->lambda == 0, .folds = FOLDS};
    *out = (epiq_model_choice){.known = 1,
                               .width = r->any_width ? EPIQ_USUAL_WIDTH : o->width,
                               .depth = o->depth,
                               .lambda = r->any_lambda ? LAMBDAS[USUAL] : o->lambda,
                               .tried = epiqp_empty_list};
    r->trains = pb->engine->trains && (o->methods & (EPIQ_EV | EPIQ_BA) || o->data_by == EPIQ_DATA_BY_RETRAIN);
    r->o.width = out->width;
    r->o.lambda = out->lambda;
    int s = take_part(r, request->choice_rows ? request->choice_rows : EPIQP_CHOICE_ROWS, &part);
    if (!s) s = check_memory(r);
    if (!s && request->forecast_only && r->any_width && r->trains && r->data != pb->data) {
        out->width = affordable_width(r);
    }
    const bool possible = pb->data->groups >= FEWEST && !(o->time > 0) && (r->any_lambda || r->trains);
    if (!s && possible && (request->forecast_only || pb->e.c->report)) {
        r->o.width = out->width;
        s = foresee(r, request, resolved);
        const double all = resolved->choosing + resolved->network * (double)o->members / pb->e.threads;
        if (!s && !request->forecast_only && all > EPIQP_WORTH_SAYING) s = epiqp_report_forecast(pb, all);
    }
    if (!s && !request->forecast_only && possible) {
        if (!(s = deal_folds(r))) s = hold_race(r, &r[1], out);
        for (ptrdiff_t f = 0; f < 2 * FOLDS; f++) {
            epiqp_fit_free(pb->e.c, &r[f / FOLDS].fit[f % FOLDS]);
        }
    }
    if (!s && !out->reason) {
        out->reason =
            epiqp_arena_sentence(pb->e.c, pb->lasting, "width %td and lambda %g, as usual: %s", out->width, out->lambda,
                                 request->forecast_only      ? "nothing is chosen before the run"
                                 : o->time > 0               ? "errors of training stopped at a time are not compared"
                                 : pb->data->groups < FEWEST ? "it takes 10 rows, or 10 groups of rows, to choose"
                                                             : "no other could be judged");
        s = out->reason ? EPIQ_OK : EPIQ_E_NOMEM;
    }
    o->width = out->width;
    o->lambda = out->lambda;
    a->timing.choice = epiqp_now() - start;
    if (!request->forecast_only) { /* what is chosen is known now */
        resolved->choosing = a->timing.choice;
        resolved->network = 0;
    }
    return s;
}
