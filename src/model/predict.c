/* predict.c - a model's answer at many points: blocks of points, of which every thread takes chunks to all members, and
 * all threads together the kernel and the two triangular solves c = A^-1 k0 that the data variance is bound by (2 n^2
 * operations a point). The formulas are those of est/: this only brings other points to them.
 */
#include "data/table.h"
#include "model/model.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum {
    CHUNK = EPIQP_THIN_ROWS,
    MOST_POINTS = 4096,    /* of a block: enough chunks for many threads */
    MOST_KERNEL = 1 << 22, /* numbers of a block's kernel, 32 MiB */
    LEAST_POINTS = 256     /* fewer make the solves slow */
};

/* A variance from outputs whose rounding errors have size e is right to 2 e/tau if they all go the same way: a
 * thousandth from here on. */
static const double CLEAR = 2000;

typedef struct {
    const epiqp_env *e;
    const epiq_model *m;
    epiq_predictions *out;
    bool members, batches, influence, infinite, kernel; /* what has to be computed */
    bool correct;                                       /* BA, for small batches */
    bool retrained;                                     /* their answers at the points */
    bool exact;
    /* of the block */
    ptrdiff_t points, before;
    double *x;          /* points by d, scaled */
    double *k0;         /* points by n: the kernel, then c */
    double *tau2, *q00; /* points each */
    double *prediction; /* points, scaled */
    double *phi;        /* points; 0: BA is not corrected */
    epiq_part *ev, *inf, *ba;
    epiqp_followed found;   /* by retraining, if the model has it */
    epiqp_answers *answers; /* points by replicates */
    double *told;           /* points by epiqp_told(replicates) */
    /* of each thread */
    epiqp_pass *pass;
    epiqp_thin *thin;
    double *h;       /* most networks by CHUNK, twice, and CHUNK points */
    double *scratch; /* epiqp_told_room(n) */
    ptrdiff_t most;
} asking;

/* ---- what is needed for what is wanted ---- */

static void plan(asking *a)
{
    const epiq_model *m = a->m;
    const epiq_predictions *w = a->out;
    bool ev = m->o.methods & EPIQ_EV, influence = epiqp_model_has_influence(m), ba = epiqp_model_has_batches(m);
    bool direct = ev && influence, size = m->o.ensemble_size == m->o.batches;
    bool sum = w->ensemble && (direct || !(ba && size)); /* else BA is the answer itself */
    bool procedural = w->procedural || sum || (w->data && !influence);
    bool data = w->data || sum || (w->procedural && !ev);
    a->members = epiqp_model_has_members(m) && (w->prediction || procedural);
    a->batches = ba && ((w->ensemble && !sum) || (procedural && !ev) || (data && !influence));
    a->influence = influence && data;
    a->correct = a->batches && m->small.batch;
    a->infinite = m->o.engine == EPIQ_ENGINE_INFINITE && ev && procedural;
    bool by_row = m->o.engine == EPIQ_ENGINE_LINEAR && m->o.linear_kernel == EPIQ_KERNEL_POPULATION;
    a->kernel = a->influence || a->infinite || a->correct || (by_row && (a->members || a->batches)) ||
                (w->prediction && !epiqp_model_has_members(m));
    /* a difference of two variances may lose every digit that single precision has */
    a->exact = w->exact || (data && !influence) || (procedural && !ev && !a->infinite);
    a->retrained = a->influence && epiqp_model_has_retrained(m);
    if (m->retrain) {
        memcpy(&a->found, m->retrain, sizeof a->found);
    }
    a->most = epiqp_max(a->members ? m->o.members : 0, a->batches ? m->o.batches : 0);
    a->most = epiqp_max(a->most, a->retrained ? epiqp_model_retrained(m) : 0);
}

static int make_room(asking *a, epiqp_arena *arena, ptrdiff_t points)
{
    epiq_ctx *c = a->e->c;
    const epiq_model *m = a->m;
    int threads = a->e->threads;
    a->x = epiqp_arena_alloc(c, arena, points * m->d, sizeof *a->x);
    a->k0 = epiqp_arena_alloc(c, arena, a->kernel ? points * m->n : 0, sizeof *a->k0);
    a->tau2 = epiqp_arena_alloc(c, arena, 4 * points, sizeof *a->tau2);
    a->ev = epiqp_arena_alloc(c, arena, 3 * points, sizeof *a->ev);
    a->pass = epiqp_arena_alloc(c, arena, threads, sizeof *a->pass);
    a->thin = epiqp_arena_alloc(c, arena, threads, sizeof *a->thin);
    a->h = epiqp_arena_alloc(c, arena, threads * (2 * a->most + m->d) * CHUNK, sizeof *a->h);
    a->scratch = epiqp_arena_alloc(c, arena, a->influence ? threads * epiqp_told_room(m->n) : 0, sizeof *a->scratch);
    a->answers = epiqp_arena_alloc(c, arena, a->retrained ? points * m->o.replicates : 0, sizeof *a->answers);
    a->told = epiqp_arena_alloc(c, arena, a->retrained ? points * epiqp_told(m->o.replicates) : 0, sizeof *a->told);
    if (!a->answers || !a->told || !a->x || !a->k0 || !a->tau2 || !a->ev || !a->pass || !a->thin || !a->h ||
        !a->scratch) {
        return EPIQ_E_NOMEM;
    }
    a->q00 = a->tau2 + points;
    a->prediction = a->q00 + points;
    a->phi = a->prediction + points;
    a->inf = a->ev + points;
    a->ba = a->inf + points;
    int s = EPIQ_OK;
    for (int t = 0; !s && a->most && t < threads; t++) {
        s = epiqp_pass_new(c, &m->fit.net, &a->pass[t]);
        if (!s && (m->single_members.w || m->single_batches.w || m->single_retrained.w)) {
            s = epiqp_thin_new(c, m->d, m->o.width, &a->thin[t]);
        }
    }
    return s;
}

static void free_room(asking *a)
{
    for (int t = 0; a->pass && a->thin && t < a->e->threads; t++) {
        epiqp_pass_free(a->e->c, &a->pass[t]);
        epiqp_thin_free(a->e->c, &a->thin[t]);
    }
}

/* ---- points ---- */

/* In some feature farther than any row, by more than rounding. */
static bool beyond(const epiq_model *m, const double *x)
{
    bool beyond = false;
    for (ptrdiff_t k = 0; k < m->d; k++) {
        double slack = 1e-9 * (m->most[k] - m->least[k]);
        beyond |= x[k] < m->least[k] - slack || x[k] > m->most[k] + slack;
    }
    return beyond;
}

/* Scaled, and what est/estimate.c does with them: where biases start at 0 a point that is 0 but for rounding is 0. */
static int settle(asking *a, const double *given)
{
    const epiq_model *m = a->m;
    const ptrdiff_t d = m->d;
    for (ptrdiff_t p = 0; p < a->points; p++) {
        double *x = a->x + p * d;
        for (ptrdiff_t k = 0; k < d; k++) {
            x[k] = epiqp_scaled(given[p * d + k], m->shift[k], m->factor[k]);
        }
        a->out->outside += beyond(m, x);
        double norm2 = epiqp_dot(d, x, x);
        if (!(norm2 <= EPIQP_LARGEST_SQUARE)) {
            return epiqp_fail(
                a->e->c, EPIQ_E_DATA,
                "row %td is too far from the data to be scaled and squared, or not a number; check its units",
                a->out->first + a->before + p + 1);
        }
        if (m->fit.arch.v == 0 && norm2 <= EPIQP_ZERO_SQUARE * m->norm2) {
            memset(x, 0, (size_t)d * sizeof *x);
        }
    }
    return EPIQ_OK;
}

/* ---- networks ---- */

static void ask_in_double(const asking *a, const epiqp_kept *all, ptrdiff_t count, ptrdiff_t points, const double *x,
                          const double *k0, double *h, epiqp_pass *pass)
{
    const epiqp_fit *f = &a->m->fit;
    const epiqp_engine *engine = epiqp_engine_of(&a->m->o);
    ptrdiff_t p = epiqp_net_params(&f->net), extra = engine->extra(&a->m->o, &f->net, a->m->n);
    for (ptrdiff_t k = 0; k < count; k++) {
        epiqp_kept one = {all->theta + k * p, extra ? all->extra + k * extra : NULL};
        engine->predict(a->e, f, &one, points, x, k0, h + k * CHUNK, pass);
    }
}

/* Points of the chunk whose spread is not clear of single precision's rounding are asked again in double, together. */
static void ask_again(const asking *a, const epiqp_single *single, const epiqp_kept *all, ptrdiff_t points,
                      const double *x, double *h, double *again, epiqp_pass *pass)
{
    const ptrdiff_t d = a->m->d;
    ptrdiff_t which[CHUNK], some = 0;
    for (ptrdiff_t p = 0; p < points; p++) {
        double error = CLEAR * epiqp_single_error(single, &a->m->fit.net, x + p * d);
        if (!(epiqp_ev(h + p, single->count, CHUNK, 0).variance >= error * error)) {
            which[some++] = p;
        }
    }
    if (!some) {
        return;
    }
    double *gathered = again + single->count * CHUNK;
    for (ptrdiff_t i = 0; i < some; i++) {
        memcpy(gathered + i * d, x + which[i] * d, (size_t)d * sizeof *x);
    }
    ask_in_double(a, all, single->count, some, gathered, NULL, again, pass);
    for (ptrdiff_t k = 0; k < single->count; k++) {
        for (ptrdiff_t i = 0; i < some; i++) {
            h[k * CHUNK + which[i]] = again[k * CHUNK + i];
        }
    }
}

static void ask(const asking *a, const epiqp_single *single, const epiqp_kept *all, ptrdiff_t count, ptrdiff_t from,
                ptrdiff_t points, double *h)
{
    const double *x = a->x + from * a->m->d, *k0 = a->kernel ? a->k0 + from * a->m->n : NULL;
    int thread = omp_get_thread_num();
    if (!single->w || a->exact) {
        ask_in_double(a, all, count, points, x, k0, h, &a->pass[thread]);
        return;
    }
    for (ptrdiff_t k = 0; k < count; k++) {
        epiqp_single_forward(single, k, &a->thin[thread], points, x, h + k * CHUNK);
    }
    ask_again(a, single, all, points, x, h, h + count * CHUNK, &a->pass[thread]);
}

static void networks(const asking *a, ptrdiff_t from)
{
    const epiq_model *m = a->m;
    const ptrdiff_t points = epiqp_min(CHUNK, a->points - from);
    double *h = a->h + omp_get_thread_num() * (2 * a->most + m->d) * CHUNK;
    if (a->members) {
        ask(a, &m->single_members, &m->members, m->o.members, from, points, h);
        for (ptrdiff_t p = 0; p < points; p++) {
            a->ev[from + p] = epiqp_ev(h + p, m->o.members, CHUNK, 0);
            a->prediction[from + p] = 0;
            for (ptrdiff_t k = 0; k < m->o.members; k++) {
                a->prediction[from + p] += h[k * CHUNK + p] / (double)m->o.members;
            }
        }
    }
    if (a->batches) {
        ask(a, &m->single_batches, &m->batches, m->o.batches, from, points, h);
        for (ptrdiff_t p = 0; p < points; p++) {
            a->ba[from + p] = epiqp_ba(h + p, m->o.batches, CHUNK, 0);
        }
    }
    if (a->retrained) {
        ask(a, &m->single_retrained, &m->retrained, epiqp_model_retrained(m), from, points, h);
        for (ptrdiff_t p = 0; p < points; p++) {
            for (ptrdiff_t r = 0; r < m->o.replicates; r++) {
                const double *plus = h + 2 * EPIQP_STARTS * r * CHUNK + p, *minus = plus + EPIQP_STARTS * CHUNK;
                a->answers[(from + p) * m->o.replicates + r] = epiqp_answers_of(plus, minus, CHUNK, a->found.step);
            }
        }
    }
}

/* ---- the influence function ---- */

static void times(ptrdiff_t n, const double *restrict a, const double *restrict b, double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = a[i] * b[i];
    }
}

static epiq_part influence_alone(const asking *a, ptrdiff_t p)
{
    const epiq_model *m = a->m;
    const ptrdiff_t n = m->n;
    const double *c = a->k0 + p * n;
    double *v = a->scratch + omp_get_thread_num() * epiqp_told_room(n);
    if (!m->excess) {
        times(n, c, m->used, v);
        return epiqp_if(v, n, m->group, m->groups, v + n, 0);
    }
    epiqp_rowwise rows = {.excess = (double *)(uintptr_t)m->excess, /* it is only read */
                          .unit = *m->unit,
                          .kurtosis = m->kurtosis};
    times(n, c, m->used, v);
    if (!m->smoothed) {
        bool floored;
        return epiqp_if_rowwise(&rows, v, c, n, v + n, 0, &floored);
    }
    epiqp_moderated smooth = {.noise = (double *)(uintptr_t)m->smoothed,
                              .spread = (double *)(uintptr_t)m->spread,
                              .varies = m->law[1],
                              .mean = m->law[2]};
    epiqp_moderation how;
    rows.kurtosis = m->law[0];
    return epiqp_if_moderated(&rows, &smooth, v, c, n, v + n, 0, &how);
}

/* The data part: of the networks that were trained, if some were retrained to tell. */
static epiq_part influence_at(const asking *a, ptrdiff_t p)
{
    const epiq_model *m = a->m;
    epiq_part part = influence_alone(a, p);
    if (!m->retrain) {
        return part;
    }
    double *told = a->told + p * epiqp_told(m->o.replicates);
    if (a->retrained) {
        epiqp_steps_answer(a->e, &m->steps, a->k0 + p * m->n, a->x + p * m->d, told,
                           a->scratch + omp_get_thread_num() * epiqp_told_room(m->n));
    }
    double kappa = epiqp_kappa_at(&a->found, &m->steps, a->x + p * m->d, a->retrained ? told : NULL,
                                  a->answers + p * m->o.replicates);
    return epiqp_retrained_part(&a->found, kappa, a->retrained ? told : NULL, m->o.replicates, part, 0);
}

/* c = A^-1 k0, the closed form of tau^2, what corrects BA, and the data variance. */
static int solve_block(asking *a)
{
    const epiq_model *m = a->m;
    epiqp_chol_solve(a->e, epiqp_small_factor(m), a->points, a->k0);
    int s = EPIQ_OK;
    if (a->infinite || a->correct) {
        epiqp_fit here = m->fit;
        s = epiqp_rows_new(a->e->c, a->points, m->d, a->x, &here.at);
        if (!s && a->infinite) {
            epiqp_kernel_diagonal(&here.arch, &here.at, NULL, a->q00);
            s = epiqp_infinite_variance(a->e, &here, a->k0, a->tau2);
        }
        s = s || !a->correct ? s : epiqp_small_phi(a->e, m, &here.at, a->k0, a->phi);
        epiqp_rows_free(a->e->c, &here.at);
    }
    for (ptrdiff_t p = 0; !s && a->infinite && p < a->points; p++) {
        a->ev[p] = epiqp_infinite_part(a->tau2[p], a->q00[p], EPIQP_ROUNDING);
    }
#pragma omp parallel for schedule(static) num_threads(a->e->threads) if (!s && a->influence)
    for (ptrdiff_t p = 0; p < (s || !a->influence ? 0 : a->points); p++) {
        a->inf[p] = influence_at(a, p);
    }
    return s;
}

static int kernel_block(asking *a)
{
    const epiq_model *m = a->m;
    epiqp_rows at = {0};
    int s = epiqp_rows_new(a->e->c, a->points, m->d, a->x, &at);
    if (!s) {
        epiqp_kernel_cross(a->e, &m->fit.arch, &m->fit.rows, &at, a->k0, NULL);
    }
    for (ptrdiff_t p = 0; !s && m->alpha && !a->members && p < a->points; p++) {
        a->prediction[p] = epiqp_dot(m->n, a->k0 + p * m->n, m->alpha);
    }
    epiqp_rows_free(a->e->c, &at);
    return s;
}

/* ---- the answer, by the rules of est/combine.c ---- */

static void store(double *to, int bit, epiq_part part, double unit2, ptrdiff_t at, unsigned char *mask)
{
    epiq_part value = epiqp_in_units(part, unit2);
    if (to) {
        to[at] = value.known ? value.variance : 0;
        *mask = (unsigned char)(*mask | (value.known ? bit : 0));
    }
}

static int answer(const asking *a)
{
    const epiq_model *m = a->m;
    const epiq_predictions *out = a->out;
    const double unit = m->target_scaling[1], unit2 = unit * unit;
    for (ptrdiff_t p = 0; p < a->points; p++) {
        ptrdiff_t at = a->before + p;
        unsigned char *known = &out->known[at];
        double value = m->target_scaling[0] + unit * a->prediction[p];
        *known = 0;
        if (out->prediction && !isfinite(value)) {
            return epiqp_fail(a->e->c, EPIQ_E_NUMERIC, "the prediction at row %td is not finite; check its units",
                              out->first + at + 1);
        }
        if (out->prediction) {
            out->prediction[at] = value;
            *known = EPIQ_PREDICTION;
        }
        a->out->few += out->data && a->inf[p].df > 0 && a->inf[p].df < EPIQP_NARROW;
        epiq_part ba = epiqp_ba_corrected(a->ba[p], a->phi[p]);
        epiqp_split both = epiqp_split_of(a->ev[p], a->inf[p], ba, (double)m->o.batches);
        store(out->procedural, EPIQ_PROCEDURAL, both.procedural, unit2, at, known);
        store(out->data, EPIQ_DATA, both.data, unit2, at, known);
        store(out->ensemble, EPIQ_ENSEMBLE, epiqp_ensemble_of(&both, ba, &m->o), unit2, at, known);
    }
    return EPIQ_OK;
}

/* ---- all of it ---- */

static int one_block(asking *a, const double *given)
{
    int s = settle(a, given);
    memset(a->ev, 0, (size_t)a->points * sizeof *a->ev);
    memset(a->inf, 0, (size_t)a->points * sizeof *a->inf);
    memset(a->ba, 0, (size_t)a->points * sizeof *a->ba);
    memset(a->phi, 0, (size_t)a->points * sizeof *a->phi);
    if (!s && a->kernel) {
        s = kernel_block(a);
    }
#pragma omp parallel for schedule(dynamic) num_threads(a->e->threads) if (!s && a->most && a->points > CHUNK)
    for (ptrdiff_t from = 0; from < (s || !a->most ? 0 : a->points); from += CHUNK) {
        networks(a, from);
    }
    if (!s && (a->influence || a->infinite || a->correct)) {
        s = solve_block(a);
    }
    return s ? s : answer(a);
}

int epiq_model_predict(epiq_ctx *c, const epiq_model *m, ptrdiff_t count, const double *x, epiq_predictions *out)
{
    epiqp_clear(c);
    if (count < 0 || !out->known || out->threads < 0) {
        return epiqp_fail(c, EPIQ_E_USAGE, "%td rows with %td threads cannot be asked; give both from 0 on, and known",
                          count, out->threads);
    }
    epiq_options o = m->o;
    o.threads = out->threads;
    epiqp_env e = epiqp_run_begin(c, &o);
    epiqp_arena arena = {0};
    asking a = {.e = &e, .m = m, .out = out};
    plan(&a);
    const ptrdiff_t most = a.kernel ? epiqp_max(LEAST_POINTS, epiqp_min(MOST_POINTS, MOST_KERNEL / m->n)) : MOST_POINTS;
    int s = make_room(&a, &arena, epiqp_min(most, count));
    for (; !s && a.before < count; a.before += a.points) {
        a.points = epiqp_min(most, count - a.before);
        s = one_block(&a, x + a.before * m->d);
        if (!s && epiqp_stopping(c)) {
            s = epiqp_fail(c, EPIQ_E_STOPPED, "stopped on request after %td rows", out->first + a.before + a.points);
        }
    }
    free_room(&a);
    epiqp_arena_free(c, &arena);
    epiqp_run_end();
    epiqp_go_on(c);
    return s;
}
