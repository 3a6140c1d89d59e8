/* race_models.c - candidates of the race for a width and lambda: their errors on rows left out, of kernel regression in closed
 * form and of networks trained without each fold, and what they cost. The work is counted, not timed, so that the choice depends
 * on the data and the seed alone.
 */
#include "run/race.h"

#include <math.h>

const double epiqp_race_lambdas[EPIQP_RACE_LEVELS] = {1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5};
/* A model that is about as good as the best has at most so many times its mean squared error: where the errors of a model vary
 * much, one standard error alone says little. */
static const double LITTLE = 1.125;
/* Of the squared error of a few networks' mean: their own spread over their number. Two have twice the spread over it that the four
 * of an estimate have, of which half is the limit: where s^2/4 is the rest of the error, s^2/2 is two thirds of it. */
static const double MOST_SPREAD = 2.0 / 3;
/* Times the mean squared error: 1 % of an error matters to no one, however surely it is there. */
static const double EQUAL = 1.02;
static const double MUCH = 0.1;    /* of the squared error: starts that are more of it are taken off */
enum { SPREAD_ROWS = 64 };         /* at which the spread of infinitely wide networks is computed */
static const double PER_ROW = 800; /* what a gradient costs for each row beside its weights, in weights: as timed */

/* ---- errors ---- */

double epiqp_race_judged(const epiqp_race *r)
{
    return (double)r->rows.start[r->folds] / (double)r->data->n;
}

/* The error of a mean of k networks, less what its networks' spread adds to it, and with what it adds to m of them. Where that
 * spread is most of it, what is left is mostly chance, and the error counts as it is. */
static void set_errors(const epiqp_race *r, epiqp_candidate *m)
{
    const double k = (double)m->starts, all = (double)r->o.members, judged = epiqp_race_judged(r);
    double spread = m->tau2;
    for (ptrdiff_t i = 0; i < r->data->n; i++) { /* rows that no fold leaves out count nothing */
        const double error = r->rows.label[i] < r->folds ? m->mean[i] - r->data->y[i] : 0,
                     s2 = k > 1 ? m->m2[i] / (k - 1) : 0;
        m->e2[i] = error * error + (r->rows.label[i] < r->folds ? m->tau2 / all : 0);
        spread += s2 / (double)r->data->n / judged;
    }
    m->mse = epiqp_mean(m->e2, r->data->n) / judged;
    for (ptrdiff_t i = 0; k > 1 && spread / k <= MOST_SPREAD * m->mse && i < r->data->n; i++) {
        m->e2[i] += m->m2[i] / (k - 1) * (1 / all - 1 / k);
    }
    m->mse = epiqp_mean(m->e2, r->data->n) / judged;
    m->is.spread = r->data->y_factor * sqrt(spread);
}

int epiqp_race_behind(const epiqp_race *r, const epiqp_candidate *a, const epiqp_candidate *b, double *out)
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
    se /= sqrt(r->stands_for * (double)r->first / EPIQP_RACE_FIRST); /* of as many rows as it stands for */
    *out = mean > 0 ? (se > 0 ? mean / se : INFINITY) : 0;
    return s;
}

const epiqp_candidate *epiqp_race_best(const epiqp_race *r, int level)
{
    const epiqp_candidate *best = NULL;
    for (const epiqp_candidate *m = r->list; m < r->list + r->count; m++) {
        if ((level == EPIQP_RACE_ANY || m->level == level) && (!best || m->mse < best->mse)) best = m;
    }
    return best;
}

double epiqp_race_lambda(const epiqp_race *r, int level)
{
    return level < 0 ? r->o.lambda : epiqp_race_lambdas[level];
}

/* Of models that are about as good: the wider network, which training from another start changes less, then the stronger
 * penalty. */
static bool simpler(const epiqp_candidate *a, const epiqp_candidate *b)
{
    const double wide = a->is.width ? (double)a->is.width : INFINITY,
                 other = b->is.width ? (double)b->is.width : INFINITY;
    return wide > other || (wide == other && a->is.lambda > b->is.lambda);
}

int epiqp_race_choose(const epiqp_race *r, const epiqp_candidate **out)
{
    const epiqp_candidate *best = epiqp_race_best(r, EPIQP_RACE_ANY);
    *out = best;
    int s = EPIQ_OK;
    for (const epiqp_candidate *m = r->list; !s && best && m < r->list + r->count; m++) {
        double far = 0;
        if (m->mse > LITTLE * best->mse) continue;
        s = epiqp_race_behind(r, m, best, &far);
        if (!s && (far <= 1 || m->mse <= EQUAL * best->mse) && simpler(m, *out)) *out = m;
    }
    return s;
}

epiqp_candidate *epiqp_race_add(epiqp_race *r, ptrdiff_t width, int level)
{
    const ptrdiff_t n = r->data->n;
    epiqp_candidate *m = &r->list[r->count];
    *m = (epiqp_candidate){.is = {.width = width, .lambda = epiqp_race_lambda(r, level)}, .level = level, .rows = n};
    m->mean = epiqp_room(r->pb, 3 * n, sizeof *m->mean);
    if (!m->mean) return NULL;
    m->m2 = m->mean + n;
    m->e2 = m->m2 + n;
    r->count++;
    return m;
}

/* ---- rows ---- */

int epiqp_race_take_part(epiqp_race *r, uint64_t number, ptrdiff_t parts, epiq_data *part)
{
    epiqp_problem of = *r->pb; /* about the part, where there is one */
    epiqp_listed rows;
    of.data = r->data;
    of.n = r->data->n;
    if (parts < 2 || parts > r->data->groups) return EPIQ_OK;
    int s = epiqp_deal_rows(&of, (epiqp_stream){r->o.seed, EPIQP_FOR_PARTS, number}, parts, &rows);
    if (s || (s = epiqp_take_data(r->pb->e.c, r->pb->scratch, r->data, &rows, 0, part))) return s;
    r->data = part;
    return EPIQ_OK;
}

int epiqp_race_deal(epiqp_race *r)
{
    epiqp_problem of = *r->pb;
    of.data = r->data;
    of.n = r->data->n;
    return epiqp_deal_rows(&of, (epiqp_stream){r->o.seed, EPIQP_FOR_SHUFFLE, 2}, EPIQP_RACE_FOLDS,
                           &r->rows); /* 1: retraining's */
}

bool epiqp_race_closed(const epiqp_race *r)
{
    return r->data->n <= EPIQP_CHEAP_ROWS && (r->any_width || !r->trains);
}

/* ---- infinitely wide networks ---- */

/* All folds in closed form, from the inverse of all rows. known: false where a fold's part is singular to rounding. */
static int kernel_folds(const epiqp_race *r, const epiqp_fit *all, epiqp_candidate *m, bool *known)
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

/* The rows that fold f does not leave out. row: room for their numbers. */
static void take_others(const epiqp_race *r, ptrdiff_t f, ptrdiff_t *row, double *x, double *y)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t i = 0; i < r->data->n; i++) {
        if (r->rows.label[i] != f) row[n++] = i;
    }
    epiqp_take_rows(r->data, n, row, x, y);
}

/* Networks that are trained have a spread that kernel regression has not, in many features most of their error: its mean over
 * some rows of the first fold, of infinitely wide networks on the others. */
static int kernel_spread(const epiqp_race *r, epiqp_candidate *m)
{
    const epiqp_env alone = epiqp_alone(&r->pb->e);
    const ptrdiff_t d = r->data->d, out = epiqp_listed_size(&r->rows, 0), n = r->data->n - out,
                    points = epiqp_min(SPREAD_ROWS, out);
    epiq_options o = r->o;
    epiqp_fit fit = {0};
    ptrdiff_t *row = epiqp_alloc(alone.c, n, sizeof *row);
    double *x = epiqp_alloc(alone.c, (n + points) * d + n + points, sizeof *x), *at = x ? x + n * d : NULL,
           *y = at ? at + points * d : NULL, *tau2 = y ? y + n : NULL;
    int s = row && x ? EPIQ_OK : EPIQ_E_NOMEM;
    if (!s) {
        take_others(r, 0, row, x, y);
        epiqp_take_rows(r->data, points, r->rows.rows, at, NULL);
        o.engine = EPIQ_ENGINE_INFINITE;
        o.solver = EPIQ_SOLVER_EXACT;
        o.lambda = m->is.lambda * (double)r->data->n / (double)n; /* lambda n as for all rows */
        s = epiqp_fit_new(&alone, &o, n, d, x, y, points, at, &fit);
        s = s ? s : epiqp_fit_solve(&alone, &fit);
        s = s ? s : epiqp_infinite_variance(&alone, &fit, fit.ridge.c, tau2);
        epiqp_fit_free(alone.c, &fit);
    }
    m->tau2 = s ? 0 : fmax(0, epiqp_mean(tau2, points));
    epiqp_free(alone.c, x);
    epiqp_free(alone.c, row);
    return s;
}

/* One rank's numbers decide for all. */
static int share(const epiqp_race *r, epiqp_candidate *m, int status, bool *known)
{
    const epiq_cluster *k = r->pb->e.cluster;
    int s = epiq_ctx_agree(r->pb->e.c, status);
    if (s || !k) return s;
    k->bcast(k->user, 0, known, sizeof *known);
    k->bcast(k->user, 0, m->mean, (size_t)r->data->n * sizeof *m->mean);
    k->bcast(k->user, 0, &m->tau2, sizeof m->tau2);
    return s;
}

/* Where the best of them has its error from the networks' starts in large part, as in many features, no number of networks that one
 * trains would average them away: infinitely wide networks then stand for wide ones whose starts are taken off. Narrow ones are tried
 * as they are: they learn their starts away, or lose by it. */
static void take_starts_off(epiqp_race *r)
{
    const double networks = (double)r->o.members;
    const epiqp_candidate *best = NULL;
    for (const epiqp_candidate *m = r->list; m < r->list + r->count; m++) {
        if (!best || m->mse - m->tau2 / networks < best->mse - best->tau2 / networks) best = m;
    }
    r->starts_off = best && best->tau2 / networks > MUCH * best->mse;
    for (epiqp_candidate *m = r->list; r->starts_off && m < r->list + r->count; m++) {
        m->tau2 = 0;
        set_errors(r, m);
    }
}

int epiqp_race_kernel(epiqp_race *r)
{
    const int first = r->any_lambda ? 0 : -1, end = r->any_lambda ? EPIQP_RACE_LEVELS : 0;
    epiqp_fit all;
    int s = epiqp_fit_new(&r->pb->e, &r->o, r->data->n, r->data->d, r->data->x, r->data->y, 0, r->data->x, &all);
    if (s) return s;
    for (int level = first; !s && level < end; level++) {
        bool known = false;
        epiqp_candidate *m = epiqp_race_add(r, 0, level);
        s = m ? kernel_folds(r, &all, m, &known) : EPIQ_E_NOMEM;
        if (!s && known && r->trains) s = kernel_spread(r, m);
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
    if (!s && r->starts_open) take_starts_off(r);
    return s;
}

/* ---- trained networks ---- */

int epiqp_race_folds(epiqp_race *r)
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
        take_others(r, f, row, x, y);
        epiqp_take_rows(r->data, out, r->rows.rows + r->rows.start[f], at, NULL);
        s = epiqp_fit_new(&pb->e, &r->o, n, d, x, y, out, at, &r->fit[f]);
    }
    return s;
}

static epiqp_net net_of_width(const epiqp_race *r, ptrdiff_t width)
{
    epiq_options o = r->o;
    o.width = width;
    return epiqp_net_of(&o, r->data->d);
}

/* Gradients of a network on so many rows, by trained networks of the model or of one like it, or else as usual. */
static double gradients_of(const epiqp_race *r, const epiqp_net *net, double lambda, const epiqp_candidate *before,
                           ptrdiff_t rows)
{
    const double usual = epiqp_usual_effort(net, rows, lambda).gradients;
    if (!before || !before->is.networks) return usual;
    const epiqp_net other = net_of_width(r, before->is.width);
    return usual * (double)before->is.iterations /
           epiqp_usual_effort(&other, before->rows, before->is.lambda).gradients;
}

double epiqp_race_work(const epiqp_race *r, ptrdiff_t width, double lambda, const epiqp_candidate *before,
                       ptrdiff_t starts)
{
    const epiqp_net net = net_of_width(r, width);
    const double rows =
        r->stands_for * (double)(starts * r->folds * r->data->n) * (EPIQP_RACE_FOLDS - 1) / EPIQP_RACE_FOLDS;
    return gradients_of(r, &net, lambda, before, r->data->n) * rows * ((double)epiqp_net_params(&net) + PER_ROW);
}

double epiqp_race_seconds(const epiqp_race *r, const epiqp_candidate *m, double rows)
{
    if (!(m->seconds > 0)) return 0;
    const double share = (double)(EPIQP_RACE_FOLDS - 1) / EPIQP_RACE_FOLDS;
    const epiqp_net net = net_of_width(r, m->is.width);
    const epiqp_effort there = epiqp_usual_effort(&net, (ptrdiff_t)rows, m->is.lambda),
                       here = epiqp_usual_effort(&net, m->rows, m->is.lambda);
    return m->seconds * (there.gradients + there.products) / (here.gradients + here.products) *
           (rows + EPIQP_ROWS_OF_WEIGHT) / (share * (double)r->data->n + EPIQP_ROWS_OF_WEIGHT);
}

double epiqp_race_networks(const epiq_options *o)
{
    const double share = (double)(EPIQP_RACE_FOLDS - 1) / EPIQP_RACE_FOLDS;
    return (double)o->members + share * (double)(EPIQP_RACE_FOLDS * o->fold_members + 4 * o->replicates);
}

double epiqp_race_run_work(const epiqp_race *r, const epiqp_candidate *m, ptrdiff_t width, double lambda)
{
    const epiqp_net net = net_of_width(r, width);
    return gradients_of(r, &net, lambda, m, r->pb->n) * (double)r->pb->n * ((double)epiqp_net_params(&net) + PER_ROW) *
           epiqp_race_networks(&r->o);
}

static void add_prediction(const epiqp_race *r, ptrdiff_t f, const double *at, double count, epiqp_candidate *m)
{
    const ptrdiff_t *rows = r->rows.rows + r->rows.start[f];
    for (ptrdiff_t i = 0; i < epiqp_listed_size(&r->rows, f); i++) {
        const double off = at[i] - m->mean[rows[i]];
        m->mean[rows[i]] += off / count;
        m->m2[rows[i]] += off * (at[i] - m->mean[rows[i]]);
    }
}

void epiqp_race_end(epiq_ctx *c, epiqp_race *r)
{
    for (ptrdiff_t f = 0; f < EPIQP_RACE_FOLDS; f++) {
        epiqp_fit_free(c, &r->fit[f]);
    }
}

/* What one training of several models works with. */
typedef struct {
    epiqp_assignment *list;
    epiqp_fit *fit;
    epiq_options *o; /* of each epiqp_candidate */
    double *at;      /* networks by the most rows of a fold */
    epiqp_trainings sum;
} training;

static int training_new(const epiqp_race *r, epiqp_candidate *const *of, ptrdiff_t models, ptrdiff_t starts,
                        epiqp_arena *arena, training *t)
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
static int open_state(const epiqp_race *r, epiqp_arena *arena, epiqp_maker *maker)
{
    const epiqp_state_key key = {.e = &r->pb->e, .o = &r->o, .data = r->data, .choice = true};
    const epiq_cluster *k = r->pb->e.cluster;
    maker->has_state = r->o.state;
    return r->o.state && !(k && k->rank > 0) ? epiqp_state_open(&key, arena, &maker->state) : EPIQ_OK;
}

int epiqp_race_train(epiqp_race *r, epiqp_candidate *const *of, ptrdiff_t models, ptrdiff_t starts)
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
        epiqp_candidate *m = of[number];
        double gradients = 0, seconds = 0;
        for (ptrdiff_t k = number * per; k < (number + 1) * per; k++) {
            const ptrdiff_t f = k % r->folds;
            add_prediction(r, f, t.list[k].at, (double)(m->starts + k % per / r->folds + 1), m);
            gradients += (double)t.list[k].training.iterations;
            seconds += t.list[k].seconds;
        }
        const double before = (double)(m->is.iterations * m->is.networks);
        m->seconds = (m->seconds * (double)m->is.networks + seconds) / (double)(m->is.networks + per);
        m->starts += starts;
        m->is.networks += per;
        m->is.iterations = (ptrdiff_t)((before + gradients) / (double)m->is.networks);
        r->spent += epiqp_race_work(r, m->is.width, m->is.lambda, m, starts);
        set_errors(r, m);
    }
    epiqp_state_close(maker.state);
    epiqp_arena_free(r->pb->e.c, &arena);
    return s;
}
