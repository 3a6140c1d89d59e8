/* retrain.c - the data part of the networks that are really trained (docs/method.md section 3). Rows are dealt into folds.
 * For each fold, networks that have not seen it give its rows left-out errors; the same networks, trained again from the
 * same starts on targets moved by +step and -step times random signs, tell how far their predictions at the rows left
 * out follow the targets. Kernel regression's answer to the same steps is known in closed form. Hence
 *     kappa   how much the networks follow the data, in variance, against kernel regression
 *     rho     the noise that the networks leave, over that which kernel regression leaves, both from left-out errors
 * and the data variance at any point is kappa rho times IF's.
 */
#include "est/est.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    FOLDS = 5,        /* a fifth of the rows is left out: the networks are nearly those of all rows */
    STARTS = 2,       /* products of two starts' answers do not hold what is one start's own */
    SIGNS = 64,       /* sign vectors behind the expected variance of the kernel's answer, */
    SIGNS_CHEAP = 256 /* and where there are few rows */
};
static const double STEP = 0.8; /* of the left-out errors' variance: about the noise, which is not known yet */
/* Relative variance of kappa from point to point, beside what the exponent tells; and where a part of the rows tells how the
 * data part varies over x, as if the noise were equal. */
static const double ELSEWHERE = 0.03, ROUGHLY = 0.1;
static const double FLOOR = 0.05; /* of the left-out errors: noise can hardly be less, and kappa hardly be 0 */

/* ---- folds and signs ---- */

ptrdiff_t epiqp_retrain_networks(const epiqp_job *j)
{
    bool wanted = j->o.methods & EPIQ_IF && j->o.data_by == EPIQ_DATA_BY_RETRAIN;
    return wanted ? STARTS * (epiqp_min(FOLDS, j->data->groups) + 2 * j->o.replicates) : 0;
}

/* Rows of every fold laid out twice, targets and predictions; and before that the kernel's side. */
double epiqp_retrain_bytes(const epiqp_job *j)
{
    const double n = (double)j->n, d = (double)j->data->d, folds = FOLDS, replicates = (double)j->o.replicates,
                 signs = fmax(replicates, j->n <= EPIQP_CHEAP_ROWS ? SIGNS_CHEAP : SIGNS), out = n / folds;
    if (!epiqp_retrain_networks(j)) {
        return 0;
    }
    double networks = 8 * n * folds * (3 * d + 6 + STARTS) + 8 * 2 * replicates * n * 1.4;
    double kernel = j->retrain.subset ? 0 : 8 * (2 * n * signs + out * (out + signs) + replicates * n);
    return fmax(networks, kernel) + 8 * n * (4 + replicates / 8);
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
    t->sign = epiqp_arena_alloc(j->e.c, &j->scratch, t->replicates * n, sizeof *t->sign);
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
    for (ptrdiff_t r = 0; !s && r < t->replicates; r++) {
        epiqp_signs((epiqp_stream){j->o.seed, EPIQP_FOR_WILD, (uint64_t)r}, groups, of_group);
        for (ptrdiff_t i = 0; i < n; i++) {
            t->sign[r * n + i] = of_group[j->data->group[i]];
        }
    }
    return s;
}

/* ---- the kernel's side ---- */

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
        t->size[i] = (float)size; /* the same targets, whatever the last digits of a solver are */
    }
    t->mean_noise = j->grouped.known ? epiqp_dot(j->n, j->grouped.noise, j->grouped.noise) / (double)j->n
                    : norms > 0      ? residuals / norms
                                     : 0;
}

/* What kernel regression without a fold answers to steps d at the rows of the fold: d_F - B_FF^-1 (B d)_F, whatever d_F
 * is. steps, b: n by count, the steps and B times them; block: room for rows of the fold squared and by count + 1. *known
 * false: B_FF is not positive definite to rounding. */
static int answer_fold(const epiqp_job *j, const epiqp_ridge *r, ptrdiff_t f, ptrdiff_t count, const double *steps,
                       const double *b, double *block, bool *known)
{
    const epiqp_retraining *t = &j->retrain;
    const ptrdiff_t n = j->n, size = t->rows[f + 1] - t->rows[f], *rows = t->list + t->rows[f];
    double *x = block + size * size, *errors = x + size * count; /* of the targets themselves */
    for (ptrdiff_t i = 0; i < size; i++) {
        for (ptrdiff_t k = 0; k < count; k++) {
            x[i + k * size] = b[rows[i] + k * n];
        }
        errors[i] = r->alpha[rows[i]];
    }
    int s = epiqp_ridge_corner(&j->e, r, size, rows, block);
    *known = !s && !j->e.la->potrf(size, block, size);
    if (!*known) {
        return s;
    }
    j->e.la->trsm('L', 'N', size, count + 1, block, size, x, size);
    j->e.la->trsm('L', 'T', size, count + 1, block, size, x, size);
    for (ptrdiff_t i = 0; i < size; i++) {
        double sum = 0;
        for (ptrdiff_t k = 0; k < count; k++) {
            double answer = steps[rows[i] + k * n] - x[i + k * size];
            sum += answer * answer;
            if (k < t->replicates && k % t->folds == f) {
                t->response[k * n + rows[i]] = answer;
            }
        }
        t->expected[rows[i]] = sum / (double)count;
        t->error[rows[i]] = errors[i];
    }
    return EPIQ_OK;
}

/* The steps of signs k: those of the replicates first, then more of the same kind. */
static int steps_of(epiqp_job *j, ptrdiff_t count, double *steps)
{
    const epiqp_retraining *t = &j->retrain;
    const ptrdiff_t n = j->n, groups = j->data->groups;
    signed char *of_group = epiqp_alloc(j->e.c, groups, sizeof *of_group);
    if (!of_group) {
        return EPIQ_E_NOMEM;
    }
    for (ptrdiff_t k = 0; k < count; k++) {
        epiqp_signs((epiqp_stream){j->o.seed, EPIQP_FOR_WILD, (uint64_t)k}, groups, of_group);
        for (ptrdiff_t i = 0; i < n; i++) {
            steps[k * n + i] = of_group[j->data->group[i]] * t->size[i];
        }
    }
    epiqp_free(j->e.c, of_group);
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
    t->response = NULL;
    for (ptrdiff_t i = 0; i < j->n; i++) {
        t->expected[i] = 1.25 * fmax(r->norm2[i] / (r->diagonal[i] * r->diagonal[i]) - 1, 0);
        t->error[i] = 0; /* not known */
    }
}

int epiqp_retrain_kernel(epiqp_job *j, const epiqp_ridge *r)
{
    epiqp_retraining *t = &j->retrain;
    const ptrdiff_t n = j->n, count = epiqp_max(t->replicates, n <= EPIQP_CHEAP_ROWS ? SIGNS_CHEAP : SIGNS);
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
    t->response = epiqp_arena_alloc(j->e.c, &j->scratch, t->replicates * n, sizeof *t->response);
    double *steps = epiqp_alloc(j->e.c, 2 * n * count + largest * (largest + count + 1), sizeof *steps);
    int s = t->response && steps ? steps_of(j, count, steps) : EPIQ_E_NOMEM;
    s = s ? s : epiqp_ridge_times(&j->e, r, count, steps, steps + n * count);
    bool known = true;
    for (ptrdiff_t f = 0; !s && known && f < t->folds; f++) {
        s = answer_fold(j, r, f, count, steps, steps + n * count, steps + 2 * n * count, &known);
    }
    epiqp_free(j->e.c, steps);
    if (!s && !known) {
        expect_roughly(j, r);
    }
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
    double *left_out; /* starts by out: predictions at the rows left out */
    double *fitted;   /* starts by n: and at the others */
} fold;

static int fold_new(epiqp_job *j, ptrdiff_t number, fold *f)
{
    const epiqp_retraining *t = &j->retrain;
    const ptrdiff_t d = j->data->d, *rows = t->list + t->rows[number];
    epiqp_arena *arena = &j->scratch;
    f->out = t->rows[number + 1] - t->rows[number];
    const ptrdiff_t n = f->n = j->n - f->out;
    f->row = epiqp_arena_alloc(j->e.c, arena, n, sizeof *f->row);
    f->x = epiqp_arena_alloc(j->e.c, arena, j->n * d, sizeof *f->x);
    f->y = epiqp_arena_alloc(j->e.c, arena, 2 * n + STARTS * j->n, sizeof *f->y);
    if (!f->row || !f->x || !f->y) {
        return EPIQ_E_NOMEM;
    }
    f->centre = f->y + n;
    f->left_out = f->centre + n;
    f->fitted = f->left_out + STARTS * f->out;
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
    f->o = j->o;
    f->o.lambda = j->o.lambda * (double)j->n / (double)n;
    f->o.solver = EPIQ_SOLVER_EXACT;
    const epiqp_env alone = epiqp_alone(&j->e);
    int s = epiqp_fit_new(&alone, &f->o, n, d, f->x, f->y, f->out, at, &f->fit);
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
            .at = folds[f].left_out + start * folds[f].out,
            .rows = folds[f].fitted + start * folds[f].n,
        };
    }
    int s = epiqp_run_members(j, "folds", count * STARTS, list);
    for (ptrdiff_t f = 0; !s && f < count; f++) {
        for (ptrdiff_t i = 0; i < folds[f].n; i++) {
            folds[f].centre[i] = epiqp_mean_of(folds[f].fitted + i, STARTS, folds[f].n);
        }
    }
    return s;
}

/* One retraining: targets moved by sign times the steps, and two networks' predictions at the rows left out. */
typedef struct {
    epiqp_fit fit; /* its fold's, with other targets */
    double *y;
    double *left_out; /* starts by rows left out */
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
        m->y = epiqp_arena_alloc(j->e.c, &j->scratch, f->n + STARTS * f->out, sizeof *m->y);
        if (!m->y) {
            return EPIQ_E_NOMEM;
        }
        m->left_out = m->y + f->n;
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
                .at = m->left_out + start * f->out,
            };
        }
    }
    return epiqp_run_members(j, "retrained", count * STARTS, list);
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
            h[s] = f->left_out[s * f->out + k];
            mean += h[s] / STARTS;
        }
        e.error2 += (j->data->y[i] - mean) * (j->data->y[i] - mean);
        e.between += epiqp_variance(h, STARTS);
        e.expected += t->expected[i];
        e.kernel2 += t->error[i] * t->error[i];
    }
    return e;
}

/* of: the rows where the kernel varies less than at half of all rows, and the others. */
static void response_of(const epiqp_job *j, ptrdiff_t r, const fold *f, const moved *plus, double step, double middle,
                        epiqp_response of[2])
{
    const epiqp_retraining *t = &j->retrain;
    const moved *minus = plus + 1;
    for (ptrdiff_t k = 0; k < f->out; k++) {
        const ptrdiff_t i = t->list[t->rows[r % t->folds] + k];
        const double kernel = t->response ? t->response[r * j->n + i] : 0, expected = t->expected[i];
        epiqp_response *sum = &of[expected > middle];
        double answer[STARTS];
        for (int s = 0; s < STARTS; s++) {
            answer[s] = (plus->left_out[s * f->out + k] - minus->left_out[s * f->out + k]) / (2 * step);
        }
        sum->products += answer[0] * answer[1];
        sum->with_kernel += (answer[0] + answer[1]) / 2 * kernel;
        sum->kernel += kernel * kernel;
        sum->expected += expected;
        sum->logs += expected > 0 ? expected * log(expected) : 0;
    }
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

typedef struct {
    double kappa, noise; /* and the noise over IF's own */
} found;

/* What is left of left-out errors `all` without the data part, kappa times expected. That is a variance where rows are in
 * groups, and one of noise 1 where they are not. */
static double noise_of(bool grouped, double all, double kappa, double expected)
{
    return grouped ? fmax(all - kappa * expected, FLOOR * all) : all / (1 + kappa * expected);
}

static found find(const epiqp_job *j, const errors *e, epiqp_response (*response)[2], ptrdiff_t skip)
{
    const epiqp_retraining *t = &j->retrain;
    const errors sum = all_but(e, t->folds, skip);
    const bool grouped = j->data->groups < j->n;
    double kappa = fmax(epiqp_follow(response, t->replicates, t->folds, skip).kappa, FLOOR),
           expected = sum.expected / sum.rows, networks = noise_of(grouped, settled(&sum), kappa, expected),
           kernel = t->subset ? t->mean_noise : noise_of(grouped, sum.kernel2 / sum.rows, 1, expected);
    return (found){kappa, kernel > 0 ? networks / kernel : 1};
}

double epiqp_retrained(const double *numbers, double variance)
{
    const double scale = numbers[0], typical = numbers[1], exponent = numbers[2];
    bool low = variance > 0 && variance < typical && exponent > 0;
    return scale * variance * (low ? exp(exponent * log(variance / typical)) : 1);
}

/* Kappa is a mean over rows left out, whose V is 1.25 times that of points asked of all rows: what it is at a point as
 * typical as they are, and which V that has. */
static void set_scale(epiqp_job *j, double scale, double exponent)
{
    epiqp_retraining *t = &j->retrain;
    const bool unit_noise = j->data->groups == j->n; /* expected is then of noise 1 */
    const double mean = epiqp_mean(t->expected, j->n);
    double sum = 0;
    for (ptrdiff_t i = 0; mean > 0 && i < j->n; i++) {
        sum += t->expected[i] > 0 ? t->expected[i] / mean * pow(fmin(t->expected[i] / mean, 1), exponent) / (double)j->n
                                  : 0;
    }
    t->scale = sum > 0 ? scale / sum : scale;
    t->exponent = mean > 0 ? exponent : 0;
    t->typical = mean * (t->subset ? 1 : 0.8) * (unit_noise ? t->mean_noise : 1);
}

epiq_part epiqp_retrained_part(const double *numbers, epiq_part part, double level)
{
    double df = part.df > 0 ? 1 / (1 / part.df + numbers[3] / 2) : 0;
    return part.known ? epiq_part_of(epiqp_retrained(numbers, part.variance), df, level, EPIQ_BY_RETRAIN) : part;
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
            "at %td of %td points retraining moves the prediction far more than other rows would (first: %s, "
            "%.0f times the variance): the data part there may be off by a factor of 2",
            small, j->asked, j->name[first], fmin(j->ev[first].variance / j->inf[first].variance, 1e6));
    }
    return s;
}

static int settle(epiqp_job *j, const errors *e, epiqp_response (*response)[2], double step)
{
    epiqp_retraining *t = &j->retrain;
    epiq_result *r = &j->answer->result;
    const double unit = j->data->y_factor, folds = (double)t->folds;
    const found all = find(j, e, response, -1);
    const errors sum = all_but(e, t->folds, -1);
    double mean = 0, square = 0, kappa_square = 0;
    for (ptrdiff_t f = 0; f < t->folds; f++) {
        found one = find(j, e, response, f);
        double away = log(one.kappa / all.kappa * (one.noise / all.noise));
        mean += away / folds;
        square += away * away;
        kappa_square += (one.kappa - all.kappa) * (one.kappa - all.kappa);
    }
    set_scale(j, all.kappa * all.noise, epiqp_follow(response, t->replicates, t->folds, -1).exponent);
    t->spread = (folds - 1) / folds * (square - folds * mean * mean) + (t->subset ? ROUGHLY : ELSEWHERE);
    r->retrain.known = 1;
    r->retrain.replicates = t->replicates;
    r->retrain.starts = STARTS;
    r->retrain.networks = (t->folds + 2 * t->replicates) * STARTS;
    r->retrain.left_out_rmse = unit * sqrt(sum.error2 / sum.rows);
    r->retrain.kappa = all.kappa;
    r->retrain.kappa_se = sqrt((folds - 1) / folds * kappa_square);
    r->retrain.step = step * unit;
    if (t->subset) { /* kappa is against another kernel than that of all rows */
        r->retrain.kappa = r->retrain.kappa_se = 0;
    }
    r->retrain.reason = epiqp_arena_printf(
        j->e.c, &j->answer->arena,
        "networks of finite width follow the data more or less than infinitely wide ones: how much is measured on %td "
        "networks, trained without a fifth of the rows and again on changed targets",
        r->retrain.networks);
    for (ptrdiff_t p = 0; p < j->points; p++) {
        const double numbers[] = {t->scale, t->typical, t->exponent, t->spread};
        j->inf[p] = epiqp_retrained_part(numbers, j->inf[p], j->o.level);
    }
    report_noise(j, all.noise * t->mean_noise);
    return r->retrain.reason ? warn(j, all.kappa) : EPIQ_E_NOMEM;
}

static int run(epiqp_job *j)
{
    epiqp_retraining *t = &j->retrain;
    fold *folds = epiqp_arena_alloc(j->e.c, &j->scratch, t->folds, sizeof *folds);
    errors *e = epiqp_arena_alloc(j->e.c, &j->scratch, t->folds, sizeof *e);
    epiqp_response(*response)[2] = epiqp_arena_alloc(j->e.c, &j->scratch, t->replicates, sizeof *response);
    double *sorted = epiqp_arena_alloc(j->e.c, &j->scratch, j->n, sizeof *sorted);
    moved *all = epiqp_arena_alloc(j->e.c, &j->scratch, 2 * t->replicates, sizeof *all);
    int s = folds && e && response && sorted && all ? EPIQ_OK : EPIQ_E_NOMEM;
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
        step = j->data->groups < j->n ? 1 : sqrt(STEP * settled(&sum));
    }
    if (!s && !(step > 0)) {
        j->o.data_by = EPIQ_DATA_BY_IF; /* no errors, no noise, no variance */
    } else if (!s) {
        memcpy(sorted, t->expected, (size_t)j->n * sizeof *sorted);
        const double middle = epiqp_median(sorted, j->n);
        s = retrain(j, folds, step, all);
        for (ptrdiff_t r = 0; !s && r < t->replicates; r++) {
            response_of(j, r, &folds[r % t->folds], &all[2 * r], step, middle, response[r]);
        }
        s = s ? s : settle(j, e, response, step);
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
