/* retrain.c - the data part of the networks that are really trained (docs/method.md section 3). Rows are dealt into folds.
 * For each fold, networks that have not seen it give its rows left-out errors; the same networks, trained again from the
 * same starts on targets moved by +step and -step times random signs, tell how far their predictions follow the targets.
 * Kernel regression's answer to the same steps is known in closed form, and so is linear regression's (ols.c). Hence
 *     kappa   how much the networks follow the data, in variance, against kernel regression: over the rows left out, over
 *             those trained on, and at every point asked for (response.c)
 *     rho     the noise that the networks leave, over that which kernel regression leaves, both from left-out errors
 * and the data variance at a point is kappa rho times IF's.
 */
#include "est/est.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum { FOLDS = EPIQP_FOLDS, STARTS = EPIQP_STARTS };
static const double STEP = 0.8; /* of the left-out errors' variance: about the noise, which is not known yet */
/* What kappa differs by from point to point beyond what is measured, as a relative variance; and where nothing is measured
 * at the points, or a part of the rows tells how the data part varies over x as if the noise were equal. */
static const double ELSEWHERE = 0.01, ROUGHLY = 0.1;
static const double UNLIKE =
    0.04; /* variance of log rho over tables: what is measured is drawn to 0 as far as it varies */
static const double LEAST = 1.0 / 32; /* of the noise: the least that is given for a row's, whatever it may be */
static const double FLOOR = 0.05;     /* of the left-out errors: noise can hardly be less, and kappa hardly be 0 */

/* ---- folds and signs ---- */

ptrdiff_t epiqp_retrain_networks(const epiqp_job *j)
{
    bool wanted = j->o.methods & EPIQ_IF && j->o.data_by == EPIQ_DATA_BY_RETRAIN;
    return wanted ? STARTS * (epiqp_min(FOLDS, j->data->groups) + 2 * j->o.replicates) : 0;
}

/* Rows of every fold laid out twice, targets and predictions; and before that the kernel's side. */
double epiqp_retrain_bytes(const epiqp_job *j)
{
    const double n = (double)j->n, d = (double)j->data->d, folds = FOLDS, points = (double)j->points,
                 replicates = (double)j->o.replicates, signs = fmax(replicates, folds), out = n / folds;
    if (!epiqp_retrain_networks(j)) {
        return 0;
    }
    double networks = 8 * (n + points) * folds * (3 * d + 6 + STARTS) + 8 * 2 * replicates * (1.8 + STARTS) * n +
                      8 * 2 * replicates * STARTS * points;
    double kernel = j->retrain.subset ? 0 : 8 * (n * signs + out * (out + signs));
    double regression = j->retrain.subset ? 0 : epiqp_ols_bytes(j->n, j->data->groups, j->data->d, (ptrdiff_t)signs);
    kernel += j->retrain.subset ? 0 : epiqp_noise_alone_bytes(j->n);
    return fmax(networks, kernel) + regression + 8 * (n * (6 + 2.2 * signs) + points * (2 * replicates + 6));
}

/* The kernel is asked for every fold, also where fewer replicates than folds are trained. */
static ptrdiff_t sign_count(const epiqp_retraining *t)
{
    return epiqp_max(t->replicates, t->folds);
}

int epiqp_retrain_new(epiqp_job *j)
{
    epiqp_retraining *t = &j->retrain;
    const ptrdiff_t n = j->n, groups = j->data->groups;
    if (!epiqp_retrain_networks(j)) {
        return EPIQ_OK;
    }
    t->folds = epiqp_min(FOLDS, groups);
    t->replicates = j->o.replicates;
    t->fold = epiqp_arena_alloc(j->e.c, &j->scratch, 2 * n + 2 * t->folds + 1, sizeof *t->fold);
    const ptrdiff_t signs = sign_count(t);
    t->sign = epiqp_arena_alloc(j->e.c, &j->scratch, signs * n, sizeof *t->sign);
    t->size = epiqp_arena_alloc(j->e.c, &j->scratch, 3 * n, sizeof *t->size);
    signed char *of_group = epiqp_arena_alloc(j->e.c, &j->scratch, groups, sizeof *of_group);
    if (!t->fold || !t->sign || !t->size || !of_group) {
        return EPIQ_E_NOMEM;
    }
    t->list = t->fold + n;
    t->rows = t->list + n;
    t->expected = t->size + n;
    t->error = t->expected + n;
    ptrdiff_t *sizes = t->rows + t->folds + 1;
    int s = epiqp_deal(j->e.c, j->data, (epiqp_stream){j->o.seed, EPIQP_FOR_SHUFFLE, 1}, t->folds, t->fold, sizes);
    for (ptrdiff_t f = 0; !s && f < t->folds; f++) {
        ptrdiff_t at = t->rows[f];
        for (ptrdiff_t i = 0; i < n; i++) {
            if (t->fold[i] == f) {
                t->list[at++] = i;
            }
        }
        t->rows[f + 1] = at;
    }
    for (ptrdiff_t r = 0; !s && r < signs; r++) {
        epiqp_signs((epiqp_stream){j->o.seed, EPIQP_FOR_WILD, (uint64_t)r}, groups, of_group);
        for (ptrdiff_t i = 0; i < n; i++) {
            t->sign[r * n + i] = of_group[j->data->group[i]];
        }
    }
    return s;
}

/* ---- the kernel's side ---- */

/* To 24 bits: the same targets, whatever the last digits of a solver or a sum are, and so the same networks. */
static double rounded(double v)
{
    int exponent;
    double digits = frexp(v, &exponent);
    return ldexp(rint(ldexp(digits, 24)), exponent - 24);
}

/* A row's step over that of all rows, and the noise behind it. Rows in groups move as their corrected residuals do, all of
 * a group with one sign: what their noise has in common stays so. */
static void set_sizes(epiqp_job *j, const epiqp_ridge *r)
{
    epiqp_retraining *t = &j->retrain;
    const double typical = j->smoothed ? epiqp_mean(j->smoothed, j->n) : 0;
    double residuals = 0, norms = 0;
    for (ptrdiff_t i = 0; i < j->n; i++) {
        residuals += j->printed[i] * j->printed[i];
        norms += r->shift * r->shift * r->norm2[i];
        double size = j->data->groups < j->n       ? j->used[i]
                      : j->smoothed && typical > 0 ? sqrt(j->smoothed[i] / typical)
                                                   : 1;
        t->size[i] = rounded(size);
    }
    t->mean_noise = j->grouped.known ? epiqp_dot(j->n, j->grouped.noise, j->grouped.noise) / (double)j->n
                    : norms > 0      ? residuals / norms
                                     : 0;
}

/* What kernel regression without fold F answers to steps t, whatever t_F is: with B = A^-1
 *     e_F = B_FF^-1 (B t)_F,   u = t with e_F taken off at the rows of F
 * its weights are B u, which are 0 at F, so that it answers u - shift B u at the rows and c'u at a point. steps become u;
 * b: B times the steps, n each; block: room for rows of the fold squared and by all signs and one. *known false: B_FF is
 * not positive definite to rounding. */
static int leave_out(const epiqp_job *j, const epiqp_ridge *r, ptrdiff_t f, double *steps, const double *b,
                     double *block, bool *known)
{
    const epiqp_retraining *t = &j->retrain;
    const ptrdiff_t n = j->n, size = t->rows[f + 1] - t->rows[f], *rows = t->list + t->rows[f];
    double *e = block + size * size;
    ptrdiff_t count = 0;
    for (ptrdiff_t k = f; k < sign_count(t); k += t->folds) {
        for (ptrdiff_t i = 0; i < size; i++) {
            e[i + count * size] = b[rows[i] + k * n];
        }
        count++;
    }
    for (ptrdiff_t i = 0; i < size; i++) {
        e[i + count * size] = r->alpha[rows[i]]; /* for the errors of the targets themselves */
    }
    int s = epiqp_ridge_corner(&j->e, r, size, rows, block);
    *known = !s && !j->e.la->potrf(size, block, size);
    if (!*known) {
        return s;
    }
    j->e.la->trsm('L', 'N', size, count + 1, block, size, e, size);
    j->e.la->trsm('L', 'T', size, count + 1, block, size, e, size);
    for (ptrdiff_t i = 0; i < size; i++) {
        for (ptrdiff_t k = f, at = 0; k < sign_count(t); k += t->folds, at++) {
            steps[rows[i] + k * n] -= e[i + at * size];
        }
        t->error[rows[i]] = e[i + count * size];
    }
    return EPIQ_OK;
}

static epiqp_steps steps_of(const epiqp_job *j)
{
    const epiqp_retraining *t = &j->retrain;
    return (epiqp_steps){.n = j->n,
                         .d = j->data->d,
                         .groups = j->data->groups,
                         .replicates = t->replicates,
                         .folds = t->folds,
                         .x = j->data->x,
                         .group = j->data->group,
                         .fold = t->fold,
                         .u = t->u,
                         .size = t->size,
                         .alone = t->alone,
                         .ols = &t->ols};
}

static void set_steps(const epiqp_job *j, double *steps)
{
    const epiqp_retraining *t = &j->retrain;
    for (ptrdiff_t k = 0; k < sign_count(t); k++) {
        for (ptrdiff_t i = 0; i < j->n; i++) {
            steps[k * j->n + i] = t->sign[k * j->n + i] * t->size[i];
        }
    }
}

/* From u and B u to the answers at the rows. */
static void answer(epiqp_job *j, const epiqp_ridge *r, const double *u, const double *b)
{
    epiqp_retraining *t = &j->retrain;
    const ptrdiff_t n = j->n;
    for (ptrdiff_t k = 0; k < sign_count(t) * n; k++) {
        t->response[k] = u[k] - r->shift * b[k];
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        double sum = 0, count = 0;
        for (ptrdiff_t k = t->fold[i]; k < sign_count(t); k += t->folds, count++) {
            sum += t->response[k * n + i] * t->response[k * n + i];
        }
        t->expected[i] = sum / count;
    }
}

/* At the points: not for linearised networks, which a model does not keep. */
static int answer_points(epiqp_job *j, const epiqp_ridge *r)
{
    epiqp_retraining *t = &j->retrain;
    const epiqp_steps steps = steps_of(j);
    const ptrdiff_t stride = epiqp_told(t->replicates);
    if (!epiqp_keeps_retrained(&j->o)) {
        return EPIQ_OK;
    }
    t->asked = epiqp_arena_alloc(j->e.c, &j->scratch, j->points * stride, sizeof *t->asked);
    double *room = epiqp_arena_alloc(j->e.c, &j->scratch, j->e.threads * epiqp_told_room(j->n), sizeof *room);
    if (!t->asked || !room) {
        return EPIQ_E_NOMEM;
    }
#pragma omp parallel for num_threads(j->e.threads) if (j->points > 1 && j->n > EPIQP_ALONE)
    for (ptrdiff_t p = 0; p < j->points; p++) {
        epiqp_steps_answer(&j->e, &steps, r->c + p * j->n, j->at + p * steps.d, t->asked + p * stride,
                           room + omp_get_thread_num() * epiqp_told_room(j->n));
    }
    return EPIQ_OK;
}

/* Without the answers themselves: the variance of one at a row without that row alone, 5/4 of it for a fifth less rows.
 * Rows of a group are not left out alone, so there IF's data part stays. */
static void expect_roughly(epiqp_job *j, const epiqp_ridge *r)
{
    epiqp_retraining *t = &j->retrain;
    if (j->data->groups < j->n) {
        t->folds = 0;
        j->o.data_by = EPIQ_DATA_BY_IF;
    }
    t->response = t->u = NULL;
    for (ptrdiff_t i = 0; i < j->n; i++) {
        t->expected[i] = 1.25 * fmax(r->norm2[i] / (r->diagonal[i] * r->diagonal[i]) - 1, 0);
        t->error[i] = 0; /* not known */
    }
}

/* Where noise is smoothed row by row. */
static int find_noise_alone(epiqp_job *j, const epiqp_ridge *r)
{
    epiqp_retraining *t = &j->retrain;
    if (!j->smoothed) {
        return EPIQ_OK;
    }
    t->alone = epiqp_arena_alloc(j->e.c, &j->scratch, j->n, sizeof *t->alone);
    return t->alone ? epiqp_noise_alone(j, r, t->alone) : EPIQ_E_NOMEM;
}

int epiqp_retrain_kernel(epiqp_job *j, const epiqp_ridge *r)
{
    epiqp_retraining *t = &j->retrain;
    const ptrdiff_t n = j->n, signs = sign_count(t);
    ptrdiff_t largest = 0;
    if (!t->folds) {
        return EPIQ_OK;
    }
    set_sizes(j, r);
    if (!epiqp_ridge_has_inverse(r)) {
        expect_roughly(j, r);
        return EPIQ_OK;
    }
    for (ptrdiff_t f = 0; f < t->folds; f++) {
        largest = epiqp_max(largest, t->rows[f + 1] - t->rows[f]);
    }
    epiqp_arena *arena =
        j->more->keep ? &j->more->keep->arena : &j->scratch; /* a model asks about other points later */
    t->u = epiqp_arena_alloc(j->e.c, arena, signs * n, sizeof *t->u);
    t->response = epiqp_arena_alloc(j->e.c, &j->scratch, signs * n, sizeof *t->response);
    double *b = epiqp_alloc(j->e.c, n * signs + largest * (largest + signs + 1), sizeof *b);
    int s = t->u && t->response && b ? EPIQ_OK : EPIQ_E_NOMEM;
    bool known = true;
    if (!s) {
        set_steps(j, t->u);
        s = epiqp_ridge_times(&j->e, r, signs, t->u, b);
    }
    for (ptrdiff_t f = 0; !s && known && f < t->folds; f++) {
        s = leave_out(j, r, f, t->u, b, b + n * signs, &known);
    }
    s = s || !known ? s : epiqp_ridge_times(&j->e, r, signs, t->u, b);
    if (!s && known) {
        const epiqp_steps steps = steps_of(j);
        answer(j, r, t->u, b);
        s = epiqp_ols_new(&j->e, &j->scratch, &steps, signs, &t->ols);
        s = s ? s : find_noise_alone(j, r);
        s = s ? s : answer_points(j, r);
    } else if (!s) {
        expect_roughly(j, r);
    }
    epiqp_free(j->e.c, b);
    return s;
}

/* ---- networks ---- */

/* The rows a fold's networks are trained on, and what they predict. */
typedef struct {
    epiq_options o; /* with lambda n as for all rows */
    epiqp_fit fit;
    ptrdiff_t n, out; /* rows trained on, rows left out */
    ptrdiff_t *row;   /* n: which of all */
    double *x, *y;    /* n by d, n */
    double *centre;   /* n: the mean of its networks at the rows they were trained on */
    ptrdiff_t asked;  /* rows left out, and after them the points */
    double *at;       /* starts by asked: predictions there */
    double *fitted;   /* starts by n: and at the rows trained on */
} fold;

static int fold_new(epiqp_job *j, ptrdiff_t number, fold *f)
{
    const epiqp_retraining *t = &j->retrain;
    const ptrdiff_t d = j->data->d, *rows = t->list + t->rows[number];
    epiqp_arena *arena = &j->scratch;
    f->out = t->rows[number + 1] - t->rows[number];
    f->asked = f->out + j->points;
    const ptrdiff_t n = f->n = j->n - f->out;
    f->row = epiqp_arena_alloc(j->e.c, arena, n, sizeof *f->row);
    f->x = epiqp_arena_alloc(j->e.c, arena, (j->n + j->points) * d, sizeof *f->x);
    f->y = epiqp_arena_alloc(j->e.c, arena, 2 * n + STARTS * (j->n + j->points), sizeof *f->y);
    if (!f->row || !f->x || !f->y) {
        return EPIQ_E_NOMEM;
    }
    f->centre = f->y + n;
    f->at = f->centre + n;
    f->fitted = f->at + STARTS * f->asked;
    for (ptrdiff_t i = 0, k = 0; i < j->n; i++) {
        if (t->fold[i] != number) {
            memcpy(f->x + k * d, j->data->x + i * d, (size_t)d * sizeof *f->x);
            f->y[k] = j->data->y[i];
            f->row[k++] = i;
        }
    }
    double *at = f->x + n * d;
    for (ptrdiff_t k = 0; k < f->out; k++) {
        memcpy(at + k * d, j->data->x + rows[k] * d, (size_t)d * sizeof *at);
    }
    memcpy(at + f->out * d, j->at, (size_t)(j->points * d) * sizeof *at);
    f->o = j->o;
    f->o.lambda = j->o.lambda * (double)j->n / (double)n;
    f->o.solver = EPIQ_SOLVER_EXACT;
    const epiqp_env alone = epiqp_alone(&j->e);
    int s = epiqp_fit_new(&alone, &f->o, n, d, f->x, f->y, f->asked, at, &f->fit);
    return s || !j->engine->needs_solve(&j->o) ? s : epiqp_fit_solve(&alone, &f->fit);
}

/* The starts of fold f are members': their own part is the same before and after a step. */
static epiqp_draw start_of(const epiqp_job *j, ptrdiff_t number, ptrdiff_t start)
{
    return epiqp_draw_of(&j->o, number + start * j->retrain.folds);
}

static int train_folds(epiqp_job *j, fold *folds)
{
    const ptrdiff_t count = j->retrain.folds;
    epiqp_assignment *list = epiqp_arena_alloc(j->e.c, &j->scratch, count * STARTS, sizeof *list);
    if (!list) {
        return EPIQ_E_NOMEM;
    }
    for (ptrdiff_t k = 0; k < count * STARTS; k++) {
        const ptrdiff_t f = k % count, start = k / count;
        list[k] = (epiqp_assignment){
            .fit = &folds[f].fit,
            .draw = start_of(j, f, start),
            .kind = EPIQP_FOR_FOLD,
            .index = k,
            .of = count,
            .at = folds[f].at + start * folds[f].asked,
            .rows = folds[f].fitted + start * folds[f].n,
        };
    }
    int s = epiqp_run_members(j, "folds", count * STARTS, list);
    for (ptrdiff_t f = 0; !s && f < count; f++) {
        for (ptrdiff_t i = 0; i < folds[f].n; i++) {
            folds[f].centre[i] = rounded(epiqp_mean_of(folds[f].fitted + i, STARTS, folds[f].n));
        }
    }
    return s;
}

/* One retraining: targets moved by sign times the steps, and two networks' predictions, laid out as the fold's. */
typedef struct {
    epiqp_fit fit; /* its fold's, with other targets */
    double *y;
    double *at, *fitted;
} moved;

/* A number for the targets, so that networks kept for other ones are not taken. */
static int64_t sum_of(const double *y, ptrdiff_t n)
{
    char hex[65];
    uint64_t number = 0;
    epiqp_sha256 sum;
    epiqp_sha256_start(&sum);
    epiqp_sha256_add(&sum, y, (size_t)n * sizeof *y);
    epiqp_sha256_end(&sum, hex);
    for (int k = 0; k < 15; k++) {
        number = number * 16 + (uint64_t)(hex[k] <= '9' ? hex[k] - '0' : hex[k] - 'a' + 10);
    }
    return (int64_t)number;
}

static int retrain(epiqp_job *j, const fold *folds, double step, moved *all)
{
    const epiqp_retraining *t = &j->retrain;
    const ptrdiff_t count = 2 * t->replicates;
    epiqp_assignment *list = epiqp_arena_alloc(j->e.c, &j->scratch, count * STARTS, sizeof *list);
    if (!list) {
        return EPIQ_E_NOMEM;
    }
    for (ptrdiff_t k = 0; k < count; k++) {
        const ptrdiff_t r = k / 2, number = r % t->folds;
        const fold *f = &folds[number];
        moved *m = &all[k];
        m->y = epiqp_arena_alloc(j->e.c, &j->scratch, f->n + STARTS * (f->asked + f->n), sizeof *m->y);
        if (!m->y) {
            return EPIQ_E_NOMEM;
        }
        m->at = m->y + f->n;
        m->fitted = m->at + STARTS * f->asked;
        for (ptrdiff_t i = 0; i < f->n; i++) {
            double to = step * t->sign[r * j->n + f->row[i]] * t->size[f->row[i]];
            m->y[i] = f->centre[i] + (k % 2 ? -to : to);
        }
        m->fit = f->fit;
        m->fit.y = m->y;
        for (ptrdiff_t start = 0; start < STARTS; start++) {
            list[k * STARTS + start] = (epiqp_assignment){
                .fit = &m->fit,
                .draw = start_of(j, number, start),
                .kind = EPIQP_FOR_RETRAINED,
                .index = k * STARTS + start,
                .of = sum_of(m->y, f->n),
                .at = m->at + start * f->asked,
                .rows = m->fitted + start * f->n,
            };
        }
    }
    int s = j->more->keep && epiqp_keeps_retrained(&j->o)
                ? epiqp_keep_members(j, &j->more->keep->retrained, count * STARTS, list)
                : EPIQ_OK;
    return s ? s : epiqp_run_members(j, "retrained", count * STARTS, list);
}

/* ---- from their predictions to the data part ---- */

/* Sums over the rows left out in one fold. */
typedef struct {
    double rows, error2, between, expected; /* errors of the mean network, squared; variance between networks */
    double kernel2;                         /* errors of kernel regression, squared; 0: not known */
} errors;

static errors errors_of(const epiqp_job *j, ptrdiff_t number, const fold *f)
{
    const epiqp_retraining *t = &j->retrain;
    errors e = {.rows = (double)f->out};
    for (ptrdiff_t k = 0; k < f->out; k++) {
        const ptrdiff_t i = t->list[t->rows[number] + k];
        double h[STARTS], mean = 0;
        for (int s = 0; s < STARTS; s++) {
            h[s] = f->at[s * f->asked + k];
            mean += h[s] / STARTS;
        }
        e.error2 += (j->data->y[i] - mean) * (j->data->y[i] - mean);
        e.between += epiqp_variance(h, STARTS);
        e.expected += t->expected[i];
        e.kernel2 += t->error[i] * t->error[i];
    }
    return e;
}

/* Over the rows that replicate r leaves out, and those it trains on. Without the kernel's answers their expected squares
 * stand for them, and nothing is known of rows trained on. */
typedef struct {
    epiqp_response left_out, trained_on;
} responses;

static responses responses_of(const epiqp_job *j, ptrdiff_t r, const fold *f, const moved *plus, double step)
{
    const epiqp_retraining *t = &j->retrain;
    const moved *minus = plus + 1;
    const double *kernel = t->response ? t->response + r * j->n : NULL;
    responses out = {0};
    for (ptrdiff_t k = 0; k < f->out; k++) {
        const ptrdiff_t i = t->list[t->rows[r % t->folds] + k];
        epiqp_answers a = epiqp_answers_of(plus->at + k, minus->at + k, f->asked, step);
        a.kernel = kernel ? kernel[i] : 0;
        a.linear = kernel ? epiqp_ols_at(&t->ols, r, i) : 0;
        epiqp_response one = epiqp_response_of(&a);
        one.kernel = kernel ? one.kernel : t->expected[i];
        epiqp_response_add(&out.left_out, &one);
    }
    for (ptrdiff_t k = 0; kernel && k < f->n; k++) {
        epiqp_answers a = epiqp_answers_of(plus->fitted + k, minus->fitted + k, f->n, step);
        a.kernel = kernel[f->row[k]];
        a.linear = epiqp_ols_at(&t->ols, r, f->row[k]);
        epiqp_response one = epiqp_response_of(&a);
        epiqp_response_add(&out.trained_on, &one);
    }
    return out;
}

static errors all_but(const errors *of, ptrdiff_t folds, ptrdiff_t skip)
{
    errors sum = {0};
    for (ptrdiff_t f = 0; f < folds; f++) {
        if (f != skip) {
            sum.rows += of[f].rows;
            sum.error2 += of[f].error2;
            sum.between += of[f].between;
            sum.expected += of[f].expected;
            sum.kernel2 += of[f].kernel2;
        }
    }
    return sum;
}

/* A mean left-out error without what the networks themselves vary by: noise, and the data part of networks trained on
 * fewer rows. */
static double settled(const errors *e)
{
    return fmax(e->error2 - e->between / STARTS, FLOOR * e->error2) / e->rows;
}

/* What is left of left-out errors `all` without the data part, kappa times expected. That is a variance where rows are in
 * groups, and one of noise 1 where they are not. */
static double noise_of(bool grouped, double all, double kappa, double expected)
{
    return grouped ? fmax(all - kappa * expected, FLOOR * all) : all / (1 + kappa * expected);
}

static epiqp_following follow(const epiqp_response *sum)
{
    epiqp_following f = epiqp_follow(sum);
    f.kappa = fmax(f.kappa, FLOOR);
    f.rest = fmax(f.rest, FLOOR);
    return f;
}

/* What networks follow and the noise they leave, without fold skip (< 0: with all). */
static epiqp_followed find(const epiqp_job *j, const errors *e, const responses *of, ptrdiff_t skip)
{
    const epiqp_retraining *t = &j->retrain;
    const errors sum = all_but(e, t->folds, skip);
    const bool grouped = j->data->groups < j->n;
    responses all = {0};
    for (ptrdiff_t r = 0; r < t->replicates; r++) {
        if (r % t->folds != skip) {
            epiqp_response_add(&all.left_out, &of[r].left_out);
            epiqp_response_add(&all.trained_on, &of[r].trained_on);
        }
    }
    epiqp_following left_out = follow(&all.left_out);
    double expected = sum.expected / sum.rows, networks = noise_of(grouped, settled(&sum), left_out.kappa, expected),
           kernel = t->subset ? t->mean_noise : noise_of(grouped, sum.kernel2 / sum.rows, 1, expected);
    return (epiqp_followed){
        .left_out = left_out,
        .at_rows = all.trained_on.kernel > 0 ? follow(&all.trained_on) : left_out,
        .noise = kernel >= DBL_MIN && networks / kernel <= DBL_MAX ? networks / kernel : 1,
    };
}

/* The jackknife's variance over folds. */
static double over_folds(const double *of, ptrdiff_t folds)
{
    const double count = (double)folds;
    return (count - 1) / count * (count - 1) * epiqp_variance(of, folds);
}

/* From all folds, and from all but one at a time. *kappa_se: of kappa itself. */
static epiqp_followed find_all(const epiqp_job *j, const errors *e, const responses *of, double *kappa_se)
{
    const epiqp_retraining *t = &j->retrain;
    epiqp_followed all = find(j, e, of, -1);
    double kappa[FOLDS] = {0}, noise[FOLDS] = {0}, both[FOLDS] = {0};
    for (ptrdiff_t f = 0; f < t->folds; f++) {
        epiqp_followed one = find(j, e, of, f);
        kappa[f] = one.left_out.kappa;
        noise[f] = log(one.noise);
    }
    /* a part of the rows tells of V with noise 1, and then noise is the variance itself */
    double weight = t->subset ? 1 : UNLIKE / (UNLIKE + over_folds(noise, t->folds));
    for (ptrdiff_t f = 0; f < t->folds; f++) {
        both[f] = log(kappa[f]) + weight * noise[f];
    }
    all.noise = exp(weight * log(all.noise));
    all.spread = over_folds(both, t->folds) + (t->response ? ELSEWHERE : ROUGHLY);
    *kappa_se = sqrt(over_folds(kappa, t->folds));
    if (all.left_out.kappa <= FLOOR) { /* it may be anything below */
        *kappa_se = fmax(*kappa_se, all.left_out.kappa);
    }
    return all;
}

/* The noise of an answer by networks is that which they leave. */
static void report_noise(epiqp_job *j, double noise)
{
    epiq_result *r = &j->answer->result;
    const double unit = j->data->y_factor, variance = noise * unit * unit;
    if (!(variance <= DBL_MAX) || (noise > 0 && variance < DBL_MIN)) {
        j->out_of_range = true;
        return;
    }
    r->retrain.noise_variance = variance;
    r->fit.noise_variance = r->fit.known ? variance : 0;
    for (ptrdiff_t p = 0; p < j->points; p++) {
        epiq_point *point = &j->answer->points[p];
        point->predictive.noise = point->predictive.known ? variance : 0;
    }
}

/* What retraining cannot tell well: kappa from so few replicates, and a data part beside which the starts' is large. */
static int warn(epiqp_job *j, double kappa)
{
    static const double UNSURE = 0.4, BESIDE = 20; /* of kappa; times the data part */
    const double se = j->answer->result.retrain.kappa_se;
    ptrdiff_t small = 0, first = 0;
    int s = EPIQ_OK;
    for (ptrdiff_t p = 0; p < j->asked; p++) {
        bool hidden = j->ev[p].known && j->inf[p].known && j->ev[p].variance > BESIDE * j->inf[p].variance;
        if (hidden && !small++) {
            first = p;
        }
    }
    if (se > UNSURE * kappa) {
        s = epiqp_warn(
            j->e.c, j->warnings, "unsure_kappa",
            "how much the networks follow the data is known to +- %.0f %% only, and so is the data variance; "
            "more --replicates tell it better",
            fmin(100 * se / kappa, 999));
    }
    if (!s && small) {
        s = epiqp_warn(
            j->e.c, j->warnings, "hidden_by_starts",
            "at %td of %td points another random start moves the prediction far more than other rows would (first: %s, "
            "%.0f times the variance): the data part there may be off by a factor of 2",
            small, j->asked, j->name[first], fmin(j->ev[first].variance / j->inf[first].variance, 1e6));
    }
    return s;
}

static int settle(epiqp_job *j, const errors *e, const responses *of, double step)
{
    epiqp_retraining *t = &j->retrain;
    epiq_result *r = &j->answer->result;
    const double unit = j->data->y_factor;
    const errors sum = all_but(e, t->folds, -1);
    t->found = find_all(j, e, of, &r->retrain.kappa_se);
    t->found.step = step;
    t->found.least = t->asked ? LEAST * t->found.noise * t->mean_noise : 0;
    r->retrain.known = 1;
    r->retrain.replicates = t->replicates;
    r->retrain.starts = STARTS;
    r->retrain.networks = (t->folds + 2 * t->replicates) * STARTS;
    r->retrain.left_out_rmse = unit * sqrt(sum.error2 / sum.rows);
    r->retrain.kappa =
        t->subset ? 0 : t->found.left_out.kappa; /* else it is against another kernel than that of all rows */
    r->retrain.kappa_se = t->subset ? 0 : r->retrain.kappa_se;
    r->retrain.step = step * unit;
    r->retrain.reason = epiqp_arena_printf(
        j->e.c, &j->answer->arena,
        "networks of finite width follow the data more or less than infinitely wide ones: how much is measured on %td "
        "networks, trained without a fifth of the rows and again on changed targets",
        r->retrain.networks);
    report_noise(j, t->found.noise * t->mean_noise);
    return r->retrain.reason ? EPIQ_OK : EPIQ_E_NOMEM;
}

static int scale_points(epiqp_job *j, const fold *folds, const moved *all, double step)
{
    const epiqp_retraining *t = &j->retrain;
    const epiqp_steps steps = steps_of(j);
    epiqp_answers *here = epiqp_arena_alloc(j->e.c, &j->scratch, t->replicates, sizeof *here);
    if (!here) {
        return EPIQ_E_NOMEM;
    }
    for (ptrdiff_t p = 0; p < j->points; p++) {
        for (ptrdiff_t r = 0; r < t->replicates; r++) {
            const fold *f = &folds[r % t->folds];
            const ptrdiff_t at = f->out + p;
            here[r] = epiqp_answers_of(all[2 * r].at + at, all[2 * r + 1].at + at, f->asked, step);
        }
        const double *told = t->asked ? t->asked + p * epiqp_told(t->replicates) : NULL;
        double kappa = epiqp_kappa_at(&t->found, &steps, j->at + p * steps.d, told, here);
        j->inf[p] = epiqp_retrained_part(&t->found, kappa, told, t->replicates, j->inf[p], j->o.level);
        j->answer->points[p].kappa = t->subset ? 0 : kappa;
    }
    return warn(j, t->found.left_out.kappa);
}

static int run(epiqp_job *j)
{
    epiqp_retraining *t = &j->retrain;
    fold *folds = epiqp_arena_alloc(j->e.c, &j->scratch, t->folds, sizeof *folds);
    errors *e = epiqp_arena_alloc(j->e.c, &j->scratch, t->folds, sizeof *e);
    responses *of = epiqp_arena_alloc(j->e.c, &j->scratch, t->replicates, sizeof *of);
    moved *all = epiqp_arena_alloc(j->e.c, &j->scratch, 2 * t->replicates, sizeof *all);
    int s = folds && e && of && all ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t f = 0; !s && f < t->folds; f++) {
        s = fold_new(j, f, &folds[f]);
    }
    const int others = epiq_ctx_agree(j->e.c, s);
    s = s ? s : others;
    s = s ? s : train_folds(j, folds);
    double step = 1;
    if (!s) {
        for (ptrdiff_t f = 0; f < t->folds; f++) {
            e[f] = errors_of(j, f, &folds[f]);
        }
        const errors sum = all_but(e, t->folds, -1);
        step = rounded(sqrt(STEP * settled(&sum)));
        if (j->data->groups < j->n) { /* sizes are those of the noise already, but may be far below what starts leave */
            double sizes = sqrt(epiqp_dot(j->n, t->size, t->size) / (double)j->n);
            step = sizes > 0 ? fmax(1, rounded(step / sizes)) : 0;
        }
    }
    if (!s && !(step > 0)) {
        j->o.data_by = EPIQ_DATA_BY_IF; /* no errors, no noise, no variance */
    } else if (!s) {
        s = retrain(j, folds, step, all);
        for (ptrdiff_t r = 0; !s && r < t->replicates; r++) {
            of[r] = responses_of(j, r, &folds[r % t->folds], &all[2 * r], step);
        }
        s = s ? s : settle(j, e, of, step);
        s = s ? s : scale_points(j, folds, all, step);
    }
    for (ptrdiff_t f = 0; folds && f < t->folds; f++) {
        epiqp_fit_free(j->e.c, &folds[f].fit);
    }
    return s;
}

/* Without retraining the data part is that of infinitely wide networks, and where only a part of the rows told of that,
 * there is none. */
static void do_without(epiqp_job *j)
{
    j->o.data_by = EPIQ_DATA_BY_IF;
    if (j->retrain.subset) {
        j->o.methods &= ~EPIQ_IF;
        j->answer->result.methods = j->o.methods;
    }
    for (ptrdiff_t p = 0; j->retrain.subset && p < j->points; p++) {
        j->inf[p] = (epiq_part){.method = EPIQ_BY_RETRAIN};
    }
}

int epiqp_estimate_retrain(epiqp_job *j)
{
    if (!j->retrain.folds) {
        return EPIQ_OK;
    }
    if (j->finished) { /* asked to end early, before this */
        do_without(j);
        return EPIQ_OK;
    }
    int s = run(j);
    if (s == EPIQ_E_STOPPED) {
        s = epiqp_finish(j, EPIQ_BA,
                         j->retrain.subset
                             ? "the retraining was not finished, so there is no data part"
                             : "the retraining was not finished, so the data part is that of infinitely wide networks");
        do_without(j);
    }
    return s;
}
