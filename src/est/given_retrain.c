/* given_retrain.c - the data part of networks trained elsewhere, without derivatives: from what they predict when trained
 * again, from the same starts, on targets moved up and down by one step with random signs; the noise from errors at rows
 * left out (docs/method.md section 3, "Retrained networks").
 */
#include "est/est.h"
#include "rng/rng.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double STEP2 = 0.8;    /* the step's square over that of left-out errors, which are more than noise */
static const double FEWER = 1.25;   /* the data variance of networks that have seen four fifths of the rows */
static const double SHAPE = 0.2;    /* by which the kernel's shape over the points is off, where its size is right */
static const double FOLLOWS = 0.3;  /* correlation with the kernel's response: below, the targets were others */
static const double UNLIKE = 0.75;  /* of a difference of unrelated starts: as large as if starts were not shared */
static const double SAME_TO = 1e-5; /* of the step: targets that went through float32 or a few digits of CSV */

/* What errors at rows left out tell. */
typedef struct {
    double error2; /* their mean square, less the procedural part: noise and data variance */
    double wobble; /* relative variance of that */
    double inside; /* mean square of y - yhat, which the noise is not below */
    double step;
} left_out;

/* ---- the noise ---- */

static double mean_over_rows(const epiq_matrix *m, ptrdiff_t i, double *between)
{
    const double k = (double)m->rows;
    double first = epiqp_matrix_at(m, 0, i), mean = 0, squares = 0;
    for (ptrdiff_t l = 0; l < m->rows; l++) {
        mean += (epiqp_matrix_at(m, l, i) - first) / k;
    }
    for (ptrdiff_t l = 0; l < m->rows; l++) {
        double away = epiqp_matrix_at(m, l, i) - first - mean;
        squares += away * away;
    }
    *between = m->rows > 1 ? squares / (k - 1) : 0;
    return first + mean;
}

static int measure(epiq_ctx *c, const epiq_given *g, left_out *out)
{
    const ptrdiff_t n = g->y->rows;
    double mean2 = 0, between = 0, inside = 0, fourth = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double t2, y = epiqp_matrix_at(g->y, i, 0), e = y - mean_over_rows(g->left_out, i, &t2),
                   r = y - epiqp_matrix_at(g->yhat, i, 0);
        mean2 += e * e / (double)n;
        between += t2 / (double)n;
        inside += r * r / (double)n;
    }
    *out = (left_out){.error2 = mean2 - between / (double)g->left_out->rows, .inside = inside};
    out->step = sqrt(STEP2 * out->error2);
    if (!(out->error2 >= DBL_MIN && out->step * out->step >= DBL_MIN)) {
        return epiqp_fail(
            c, EPIQ_E_DATA,
            "the errors of %s are no larger than the spread between its networks explains, so that no noise "
            "is left to make steps of; check that they are predictions of %s by networks that have not seen "
            "the row, or give more networks for each row",
            g->left_out->name, g->y->name);
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        double t2, e = epiqp_matrix_at(g->y, i, 0) - mean_over_rows(g->left_out, i, &t2), q = e * e / out->error2;
        fourth += (q - mean2 / out->error2) * (q - mean2 / out->error2) / (double)n;
    }
    out->wobble = fourth / (double)n;
    return EPIQ_OK;
}

/* ---- the targets ---- */

int epiqp_given_replicates(epiq_ctx *c, const epiq_given *g, ptrdiff_t *out)
{
    const epiq_matrix *t = g->targets;
    *out = g->replicates ? g->replicates : t ? t->rows / 2 : EPIQ_REPLICATES;
    if (*out < EPIQP_FEWEST_REPLICATES || *out > PTRDIFF_MAX / 1024) {
        return epiqp_fail(c, EPIQ_E_USAGE, "%td pairs of target vectors tell nothing; use %d or more, better 10 or 20",
                          *out, EPIQP_FEWEST_REPLICATES);
    }
    if (t && t->rows != 2 * *out) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s has %td rows; %td pairs of target vectors are %td", t->name, t->rows,
                          *out, 2 * *out);
    }
    if (g->retrained && g->retrained->rows % (2 * *out)) {
        return epiqp_fail(
            c, EPIQ_E_DATA,
            "%s has %td rows; %td pairs of target vectors take a multiple of %td, one network or more for "
            "each vector: give --targets the number of pairs they were made with",
            g->retrained->name, g->retrained->rows, *out, 2 * *out);
    }
    return EPIQ_OK;
}

static epiqp_stream signs_of(const epiq_options *o, ptrdiff_t replicate)
{
    return (epiqp_stream){o->seed, EPIQP_FOR_WILD, (uint64_t)replicate};
}

/* Row 2 r of the targets is yhat + step eta_r, the next yhat - step eta_r. */
static double target_of(const epiq_given *g, const left_out *l, ptrdiff_t row, ptrdiff_t i, const signed char *eta)
{
    double step = row % 2 ? -l->step : l->step;
    return epiqp_matrix_at(g->yhat, i, 0) + step * eta[i];
}

int epiq_targets(epiq_ctx *c, const epiq_given *g, const epiq_options *o, double *targets, double *step)
{
    epiqp_clear(c);
    const epiq_given made_of = {.y = g->y, .yhat = g->yhat, .left_out = g->left_out, .replicates = g->replicates};
    epiqp_answer answer = {0};
    epiqp_job j = {.e = {.c = c}, .answer = &answer};
    ptrdiff_t replicates;
    left_out l;
    int s = epiqp_given_check_targets(&j, &made_of);
    if (s || (s = epiqp_given_replicates(c, &made_of, &replicates)) || (s = measure(c, &made_of, &l))) {
        return s;
    }
    signed char *eta = epiqp_alloc(c, j.n, sizeof *eta);
    if (!eta) {
        return EPIQ_E_NOMEM;
    }
    for (ptrdiff_t row = 0; targets && row < 2 * replicates; row++) {
        epiqp_signs(signs_of(o, row / 2), j.n, eta);
        for (ptrdiff_t i = 0; i < j.n; i++) {
            targets[row * j.n + i] = target_of(&made_of, &l, row, i, eta);
        }
    }
    if (step) {
        *step = l.step;
    }
    epiqp_free(c, eta);
    return EPIQ_OK;
}

/* Are the targets given those that this call would make? */
static int check_targets(epiqp_job *j, const epiq_given *g, const left_out *l)
{
    const epiq_matrix *t = g->targets;
    signed char *eta = epiqp_alloc(j->e.c, j->n, sizeof *eta);
    int s = eta ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t row = 0; !s && row < t->rows; row++) {
        epiqp_signs(signs_of(&j->o, row / 2), j->n, eta);
        for (ptrdiff_t i = 0; !s && i < j->n; i++) {
            double got = epiqp_matrix_at(t, row, i), made = target_of(g, l, row, i, eta);
            if (!(fabs(got - made) <= SAME_TO * (l->step + fabs(made)))) {
                s = epiqp_fail(
                    j->e.c, EPIQ_E_DATA,
                    "%s: row %td, column %td is %g where this call makes %g, so that these are other targets; "
                    "give the --seed, --y, --yhat and --left-out that they were made with",
                    t->name, row + 1, i + 1, got, made);
            }
        }
    }
    epiqp_free(j->e.c, eta);
    return s;
}

/* ---- what the networks answer to a step ---- */

/* Half the difference of plus and minus, in steps; replicates by starts. */
typedef struct {
    ptrdiff_t replicates, starts, points;
    const double *g;     /* points by replicates by starts */
    const double *delta; /* points by replicates: the same of kernel regression; NULL: there is no kernel */
    const double *unit;  /* points: sum of c^2, the mean square of delta over all signs */
} responses;

static int take_responses(epiqp_job *j, const epiq_matrix *m, double step, responses *a)
{
    const ptrdiff_t pairs = a->replicates * a->starts;
    double *g = epiqp_arena_alloc(j->e.c, &j->scratch, pairs * j->points, sizeof *g);
    if (!g) {
        return EPIQ_E_NOMEM;
    }
    for (ptrdiff_t r = 0; r < a->replicates; r++) {
        for (ptrdiff_t s = 0; s < a->starts; s++) {
            ptrdiff_t plus = 2 * r * a->starts + s, minus = plus + a->starts;
            for (ptrdiff_t p = 0; p < j->points; p++) {
                g[p * pairs + r * a->starts + s] =
                    (epiqp_matrix_at(m, plus, p) - epiqp_matrix_at(m, minus, p)) / (2 * step);
            }
        }
    }
    a->g = g;
    a->points = j->points;
    return EPIQ_OK;
}

static int take_kernel(epiqp_job *j, const epiqp_ridge *ridge, responses *a)
{
    double *delta = epiqp_arena_alloc(j->e.c, &j->scratch, j->points * (a->replicates + 1), sizeof *delta);
    signed char *eta = epiqp_alloc(j->e.c, j->n, sizeof *eta);
    if (!delta || !eta) {
        epiqp_free(j->e.c, eta);
        return EPIQ_E_NOMEM;
    }
    double *unit = delta + j->points * a->replicates;
    for (ptrdiff_t r = 0; r < a->replicates; r++) {
        epiqp_signs(signs_of(&j->o, r), j->n, eta);
        for (ptrdiff_t p = 0; p < j->points; p++) {
            double sum = 0;
            for (ptrdiff_t i = 0; i < j->n; i++) {
                sum += ridge->c[p * j->n + i] * eta[i];
            }
            delta[p * a->replicates + r] = sum;
        }
    }
    for (ptrdiff_t p = 0; p < j->points; p++) {
        unit[p] = epiqp_dot(j->n, ridge->c + p * j->n, ridge->c + p * j->n);
    }
    epiqp_free(j->e.c, eta);
    a->delta = delta;
    a->unit = unit;
    return EPIQ_OK;
}

/* Mean over the starts of one replicate, and its variance because they are few: the spread between them over their number,
 * unknown of one start and then 0. */
static double over_starts(const double *g, ptrdiff_t starts, double *variance)
{
    double mean = epiqp_mean_of(g, starts, 1), squares = 0;
    for (ptrdiff_t s = 0; s < starts; s++) {
        squares += (g[s] - mean) * (g[s] - mean);
    }
    *variance = starts > 1 ? squares / (double)(starts - 1) / (double)starts : 0;
    return mean;
}

/* ---- without a kernel ---- */

/* At one point: mean square of the answers, and the share in it that the starts have by chance. */
typedef struct {
    double all, starts;
} squares;

static squares squares_at(const responses *a, ptrdiff_t p)
{
    squares out = {0};
    for (ptrdiff_t r = 0; r < a->replicates; r++) {
        double by_chance, mean = over_starts(a->g + (p * a->replicates + r) * a->starts, a->starts, &by_chance);
        out.all += mean * mean / (double)a->replicates;
        out.starts += by_chance / (double)a->replicates;
    }
    return out;
}

/* Half the point's own, half with the share of the starts pooled over the points: the former is unbiased and noisy, the
 * latter the other way round. */
static double response_at(squares own, squares pooled)
{
    double share = pooled.all > 0 ? fmin(pooled.starts / pooled.all, 1) : 0;
    return (fmax(own.all - own.starts, 0) + own.all * (1 - share)) / 2;
}

/* Of normal answers: R / (1 + 2 rho / S + rho^2 / (S (S - 1))), with rho the starts' variance over the data's. */
static double response_df(const responses *a, squares own, double response)
{
    const double count = (double)a->starts, rho = own.starts * count / response;
    return (double)a->replicates / (1 + 2 * rho / count + (a->starts > 1 ? rho * rho / (count * (count - 1)) : 0));
}

static double noise_of(const left_out *l, double kbar)
{
    return fmin(fmax(l->error2 / (1 + FEWER * fmax(kbar, 0)), l->inside), l->error2);
}

static epiq_part part_of(const epiqp_job *j, const left_out *l, double variance, double df)
{
    df = 1 / (1 / df + l->wobble / 2);
    return epiq_part_of(variance > 0 && variance < DBL_MIN ? -1 : variance, fmax(df, 1), j->o.level, EPIQ_BY_RETRAIN);
}

static int warn_of_points(epiqp_job *j, ptrdiff_t silent, ptrdiff_t rough)
{
    int s = EPIQ_OK;
    if (silent) {
        s = epiqp_warn(
            j->e.c, j->warnings, "retrain_silent",
            "at %td of %td points the answers of retrained networks to a step are lost in the spread between their "
            "starts, so that the data variance is not known there; train on more target vectors, from more starts",
            silent, j->points);
    }
    if (!s && rough) {
        s = epiqp_warn(
            j->e.c, j->warnings, "few_replicates",
            "at %td of %td points the data variance has less than two degrees of freedom, so that the upper end of "
            "its interval says little; train on more target vectors, from more starts",
            rough, j->points);
    }
    return s;
}

static int without_kernel(epiqp_job *j, const responses *a, const left_out *l)
{
    squares pooled = {0};
    for (ptrdiff_t p = 0; p < a->points; p++) {
        squares own = squares_at(a, p);
        pooled.all += own.all / (double)a->points;
        pooled.starts += own.starts / (double)a->points;
    }
    const double noise = noise_of(l, pooled.all - pooled.starts);
    ptrdiff_t silent = 0, rough = 0;
    for (ptrdiff_t p = 0; p < a->points; p++) {
        squares own = squares_at(a, p);
        double response = response_at(own, pooled);
        if (!(response > 0) && own.all + own.starts > 0) {
            j->inf[p] = (epiq_part){.method = EPIQ_BY_RETRAIN};
            silent++;
            continue;
        }
        j->inf[p] = part_of(j, l, noise * response, response > 0 ? response_df(a, own, response) : 1);
        rough += j->inf[p].has_interval && j->inf[p].df < 2;
    }
    j->answer->result.retrain.noise_variance = noise;
    j->answer->result.retrain.known = silent < a->points;
    j->answer->result.retrain.reason =
        silent < a->points ? NULL : "the answers of retrained networks are lost in the spread between their starts";
    return warn_of_points(j, silent, rough);
}

/* ---- with a kernel: one kappa for the table ---- */

/* The data variance for noise of size 1 at one point, replicate `but` left out: what the kernel explains of the answers,
 * with its variance over all signs instead of over these few, and the rest. It may be negative. */
static double controlled_at(const responses *a, ptrdiff_t p, ptrdiff_t but)
{
    const double *delta = a->delta + p * a->replicates;
    const double count = (double)(a->replicates - (but >= 0));
    double square = 0, product = 0, all = 0, starts = 0;
    for (ptrdiff_t r = 0; r < a->replicates; r++) {
        double by_chance, mean = over_starts(a->g + (p * a->replicates + r) * a->starts, a->starts, &by_chance);
        if (r != but) {
            square += delta[r] * delta[r];
            product += delta[r] * mean;
            all += mean * mean;
            starts += by_chance;
        }
    }
    if (!(square > 0)) {
        return (all - starts) / count;
    }
    double b = product / square, rest = fmax(all - b * product, 0) / (count - 1);
    return (b * b - rest / square) * a->unit[p] + rest - starts / count;
}

static double kappa_without(const responses *a, ptrdiff_t but)
{
    double all = 0, unit = 0;
    for (ptrdiff_t p = 0; p < a->points; p++) {
        all += controlled_at(a, p, but);
        unit += a->unit[p];
    }
    return all / unit;
}

/* Do the answers follow these targets at all? */
static int check_follows(epiqp_job *j, const responses *a)
{
    double product = 0, one = 0, other = 0, unused;
    for (ptrdiff_t k = 0; k < a->points * a->replicates; k++) {
        double mean = over_starts(a->g + k * a->starts, a->starts, &unused);
        product += mean * a->delta[k];
        one += mean * mean;
        other += a->delta[k] * a->delta[k];
    }
    return product >= FOLLOWS * sqrt(one) * sqrt(other)
               ? EPIQ_OK
               : epiqp_warn(
                     j->e.c, j->warnings, "targets_unlike",
                     "the retrained networks do not answer to the targets of seed %llu as their kernel does; give the "
                     "--seed that the targets were made with, and check the order of the networks",
                     (unsigned long long)j->o.seed);
}

static int with_kernel(epiqp_job *j, const responses *a, const left_out *l)
{
    double unit = 0, spread = 0, mean = 0, kappa = kappa_without(a, -1);
    const double count = (double)a->replicates;
    for (ptrdiff_t p = 0; p < a->points; p++) {
        unit += a->unit[p] / (double)a->points;
    }
    if (!(kappa > 0 && kappa <= DBL_MAX)) {
        j->answer->result.retrain.reason =
            "the answers of retrained networks are lost in the spread between their starts";
        return epiqp_warn(
            j->e.c, j->warnings, "retrain_silent",
            "the answers of retrained networks to a step are lost in the spread between their starts, so that the "
            "data variance is the influence function's; train on more target vectors, from more starts");
    }
    for (ptrdiff_t r = 0; r < a->replicates; r++) { /* the jackknife: once for the mean, once for the spread */
        mean += kappa_without(a, r) / count;
    }
    for (ptrdiff_t r = 0; r < a->replicates; r++) {
        double away = kappa_without(a, r) - mean;
        spread += away * away * (count - 1) / count;
    }
    const double kbar = kappa * unit, noise = noise_of(l, kbar), damped = sqrt(spread) / kappa / (1 + FEWER * kbar);
    for (ptrdiff_t p = 0; p < a->points; p++) {
        j->inf[p] = part_of(j, l, kappa * noise * a->unit[p], 2 / (damped * damped + SHAPE * SHAPE));
    }
    j->answer->result.retrain.known = 1;
    j->answer->result.retrain.kappa = kappa;
    j->answer->result.retrain.kappa_se = sqrt(spread);
    j->answer->result.retrain.noise_variance = noise;
    return check_follows(j, a);
}

/* ---- the whole ---- */

static int check_answers(epiqp_job *j, const epiq_given *g, const responses *a, const left_out *l)
{
    double all = 0, response = 0, starts = 0, unrelated = 0;
    for (ptrdiff_t p = 0; p < a->points; p++) {
        squares own = squares_at(a, p);
        epiq_part ev = epiqp_ev(j->member_h + p, j->o.members, j->points, j->o.level);
        all += own.all + own.starts;
        response += own.all - own.starts;
        starts += own.starts * (double)a->starts;
        unrelated += ev.variance / 2 / (l->step * l->step);
    }
    if (!(all > 0 && all <= DBL_MAX)) {
        return epiqp_fail(
            j->e.c, EPIQ_E_DATA,
            "%s: the networks trained on plus and minus predict the same at every point, so that they cannot "
            "have been trained on the targets; check the order of its rows",
            g->retrained->name);
    }
    return a->starts > 1 && unrelated > 0 && starts > fmax(UNLIKE * unrelated, response) /* so that it matters */
               ? epiqp_warn(
                     j->e.c, j->warnings, "starts_differ",
                     "plus and minus of a pair differ about as much as networks from unrelated starts do; train both "
                     "from the same starts, or if they were, on more target vectors: the data variance is rough")
               : EPIQ_OK;
}

static int warn_of_rows(epiqp_job *j, const epiq_given *g, const responses *a, const left_out *l)
{
    int s = EPIQ_OK;
    if (g->left_out->rows < 2) {
        s = epiqp_warn(j->e.c, j->warnings, "one_left_out",
                       "%s has one network for each row, so that its procedural variance counts as noise, and the data "
                       "variance comes out too large; give two or more, from different starts",
                       g->left_out->name);
    }
    if (!s && l->error2 <= l->inside) {
        s = epiqp_warn(
            j->e.c, j->warnings, "left_out_seen",
            "%s predicts its rows no worse than %s, by networks trained on them, so that the noise and the data "
            "variance are too small; give predictions of networks that have not seen the row",
            g->left_out->name, g->yhat->name);
    }
    if (!s && a->starts < 2) {
        s = epiqp_warn(
            j->e.c, j->warnings, "one_start",
            "%s has one network for each target vector, so that what its start makes of the data is in the data "
            "variance, which comes out too large by 5 to 40 %%; train two, from different starts",
            g->retrained->name);
    }
    return s;
}

int epiqp_given_retrain(epiqp_job *j, const epiq_given *g, const epiqp_ridge *ridge)
{
    epiq_result *r = &j->answer->result;
    left_out l;
    responses a = {.replicates = r->retrain.replicates};
    a.starts = g->retrained->rows / (2 * a.replicates);
    int s = measure(j->e.c, g, &l);
    s = s || !g->targets ? s : check_targets(j, g, &l);
    s = s ? s : take_responses(j, g->retrained, l.step, &a);
    s = s || !ridge ? s : take_kernel(j, ridge, &a);
    s = s ? s : check_answers(j, g, &a, &l);
    s = s ? s : warn_of_rows(j, g, &a, &l);
    if (s) {
        return s;
    }
    r->retrain.starts = a.starts;
    r->retrain.networks = g->retrained->rows;
    r->retrain.step = l.step;
    return ridge ? with_kernel(j, &a, &l) : without_kernel(j, &a, &l);
}
