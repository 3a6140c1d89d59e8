/* given_retrain.c - the data part of networks trained elsewhere, without derivatives: from their predictions when
 * trained again, from the same starts, on targets moved up and down by one step with random signs; the noise comes
 * from errors at rows left out (docs/method.md section 3, "Retrained networks").
 */
#include "est/variance.h"
#include "given/given.h"
#include "rng/rng.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { FEWEST_REPLICATES = 4 };
static const double STEP2 = 0.8;    /* the step's square over that of left-out errors, which are more than noise */
static const double FEWER = 1.25;   /* data variance of networks trained on four fifths of the rows, over that of all */
static const double SHAPE = 0.2;    /* relative error of the kernel's shape over the points, where its size is right */
static const double FOLLOWS = 0.3;  /* least correlation with the kernel's response: below, other targets were used */
static const double UNLIKE = 0.75;  /* of the difference of unrelated starts: from here on, starts were not shared */
static const double SAME_TO = 1e-5; /* of the step: targets that went through float32 or a few digits of CSV */
static const char LOST[] = "the answers of retrained networks are lost in the spread between their starts";

/* What the errors at rows left out say. */
typedef struct {
    double error2;   /* their mean square without the procedural part: noise and data variance */
    double variance; /* relative variance of error2 */
    double inside;   /* mean square of y - yhat: a lower bound of the noise */
    double step;
} left_out;

/* ---- the noise ---- */

/* The mean of the networks for row i, and the variance between them. */
static double mean_left_out(const epiq_matrix *m, ptrdiff_t i, double *between)
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
        double t2, y = epiqp_matrix_at(g->y, i, 0), e = y - mean_left_out(g->left_out, i, &t2),
                   r = y - epiqp_matrix_at(g->yhat, i, 0);
        mean2 += e * e / (double)n;
        between += t2 / (double)n;
        inside += r * r / (double)n;
    }
    *out = (left_out){.error2 = mean2 - between / (double)g->left_out->rows, .inside = inside};
    out->step = sqrt(STEP2 * out->error2);
    if (!(out->error2 >= DBL_MIN && out->step * out->step >= DBL_MIN)) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "the errors of %s are no larger than the spread between its networks explains, so that no "
                          "noise is left to make steps of; check that they are predictions of %s by networks that have "
                          "not seen the row, or give more networks for each row",
                          g->left_out->name, g->y->name);
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        double t2, e = epiqp_matrix_at(g->y, i, 0) - mean_left_out(g->left_out, i, &t2), q = e * e / out->error2;
        fourth += (q - mean2 / out->error2) * (q - mean2 / out->error2) / (double)n;
    }
    out->variance = fourth / (double)n;
    return EPIQ_OK;
}

/* ---- the targets ---- */

int epiqp_given_replicates(epiq_ctx *c, const epiq_given *g, ptrdiff_t *out)
{
    const epiq_matrix *t = g->targets;
    *out = g->replicates ? g->replicates : t ? t->rows / 2 : EPIQ_REPLICATES;
    if (*out < FEWEST_REPLICATES || *out > PTRDIFF_MAX / 1024) {
        return epiqp_fail(c, EPIQ_E_USAGE, "%td %s of target vectors %s too few; use %d or more, better 10 or 20", *out,
                          *out == 1 ? "pair" : "pairs", *out == 1 ? "is" : "are", FEWEST_REPLICATES);
    }
    if (t && t->rows != 2 * *out) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s has %td rows; %td pairs of target vectors are %td", t->name, t->rows,
                          *out, 2 * *out);
    }
    if (g->retrained && g->retrained->rows % (2 * *out)) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s has %td rows; %td pairs of target vectors take a multiple of %td, one network or more "
                          "for each vector: give {--targets} the number of pairs they were made with",
                          g->retrained->name, g->retrained->rows, *out, 2 * *out);
    }
    return EPIQ_OK;
}

/* Row 2 r of the targets is yhat + step eta_r, the next yhat - step eta_r. eta: n of scratch; out: n. */
static void target_row(const epiq_given *g, uint64_t seed, double step, ptrdiff_t row, signed char *eta, double *out)
{
    const ptrdiff_t n = g->y->rows;
    epiqp_signs((epiqp_stream){seed, EPIQP_FOR_WILD, (uint64_t)row / 2}, n, eta);
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = epiqp_matrix_at(g->yhat, i, 0) + (row % 2 ? -step : step) * eta[i];
    }
}

int epiq_targets(epiq_ctx *c, const epiq_given *g, const epiq_options *o, double *targets, double *step)
{
    epiqp_clear(c);
    epiq_options own;
    epiqp_given_copy copy;
    int s = epiqp_options_take(c, o, &own);
    if (s || (s = epiqp_given_take(c, g, &copy))) return s;
    g = &copy.given;
    const epiq_given made_of = {.y = g->y, .yhat = g->yhat, .left_out = g->left_out, .replicates = g->replicates};
    ptrdiff_t replicates;
    left_out l;
    if ((s = epiqp_given_check_targets(c, &made_of)) || (s = epiqp_given_replicates(c, &made_of, &replicates)) ||
        (s = measure(c, &made_of, &l))) {
        return s;
    }
    const ptrdiff_t n = g->y->rows;
    signed char *eta = epiqp_alloc(c, n, sizeof *eta);
    if (!eta) return EPIQ_E_NOMEM;
    for (ptrdiff_t row = 0; targets && row < 2 * replicates; row++) {
        target_row(&made_of, own.seed, l.step, row, eta, targets + row * n);
    }
    if (step) *step = l.step;
    epiqp_free(c, eta);
    return EPIQ_OK;
}

/* Fails unless the targets given are those that this call makes. */
static int check_targets(const epiqp_problem *pb, const epiq_given *g, double step)
{
    const epiq_matrix *t = g->targets;
    signed char *eta = epiqp_room(pb, pb->n, sizeof *eta);
    double *made = epiqp_room(pb, pb->n, sizeof *made);
    if (!eta || !made) return EPIQ_E_NOMEM;
    for (ptrdiff_t row = 0; row < t->rows; row++) {
        target_row(g, pb->plan->ran.seed, step, row, eta, made);
        for (ptrdiff_t i = 0; i < pb->n; i++) {
            double got = epiqp_matrix_at(t, row, i);
            if (!(fabs(got - made[i]) <= SAME_TO * (step + fabs(made[i])))) {
                return epiqp_fail(
                    pb->e.c, EPIQ_E_DATA,
                    "%s: row %td, column %td is %g where this call makes %g, so that these are other targets; give the "
                    "{--seed}, {--y}, {--yhat} and {--left-out} that they were made with",
                    t->name, row + 1, i + 1, got, made[i]);
            }
        }
    }
    return EPIQ_OK;
}

/* ---- how the networks respond to a step ---- */

/* At one point: mean square of the responses, and how much of it comes from the starts by chance. */
typedef struct {
    double all, starts;
} squares;

/* Half the difference of plus and minus, in steps. */
typedef struct {
    ptrdiff_t replicates, starts, points;
    double *mean;   /* points by replicates: over the starts */
    double *chance; /* points by replicates: variance of that mean, from the spread between starts; 0: of one start */
    squares *own;   /* points */
    double *delta;  /* points by replicates: the response of kernel regression; NULL: there is no kernel */
    double *unit;   /* points: sum of c^2, the mean square of delta over all signs */
} responses;

static int take_responses(const epiqp_problem *pb, const epiq_matrix *m, double step, responses *a)
{
    const ptrdiff_t starts = a->starts, count = pb->points * a->replicates;
    double *g = epiqp_room(pb, starts, sizeof *g);
    a->mean = epiqp_room(pb, 2 * count, sizeof *a->mean);
    a->own = epiqp_room(pb, pb->points, sizeof *a->own);
    if (!g || !a->mean || !a->own) return EPIQ_E_NOMEM;
    a->chance = a->mean + count;
    for (ptrdiff_t k = 0; k < count; k++) {
        const ptrdiff_t p = k / a->replicates, plus = 2 * (k % a->replicates) * starts, minus = plus + starts;
        for (ptrdiff_t s = 0; s < starts; s++) {
            g[s] = (epiqp_matrix_at(m, plus + s, p) - epiqp_matrix_at(m, minus + s, p)) / (2 * step);
        }
        a->mean[k] = epiqp_mean_of(g, starts, 1);
        a->chance[k] = starts > 1 ? fmax(epiqp_variance_of(g, starts, 1), 0) / (double)starts : 0;
        a->own[p].all += a->mean[k] * a->mean[k] / (double)a->replicates;
        a->own[p].starts += a->chance[k] / (double)a->replicates;
    }
    return EPIQ_OK;
}

static int take_kernel(const epiqp_problem *pb, const epiqp_ridge *ridge, responses *a)
{
    signed char *eta = epiqp_room(pb, pb->n, sizeof *eta);
    a->delta = epiqp_room(pb, pb->points * (a->replicates + 1), sizeof *a->delta);
    if (!a->delta || !eta) return EPIQ_E_NOMEM;
    a->unit = a->delta + pb->points * a->replicates;
    for (ptrdiff_t r = 0; r < a->replicates; r++) {
        epiqp_signs((epiqp_stream){pb->plan->ran.seed, EPIQP_FOR_WILD, (uint64_t)r}, pb->n, eta);
        for (ptrdiff_t p = 0; p < pb->points; p++) {
            double sum = 0;
            for (ptrdiff_t i = 0; i < pb->n; i++) {
                sum += ridge->c[p * pb->n + i] * eta[i];
            }
            a->delta[p * a->replicates + r] = sum;
        }
    }
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        a->unit[p] = epiqp_dot(pb->n, ridge->c + p * pb->n, ridge->c + p * pb->n);
    }
    return EPIQ_OK;
}

/* ---- without a kernel ---- */

/* The mean of two estimates: with the starts' share at the point itself, unbiased but noisy, and with the share pooled
 * over the points, the other way round. */
static double response_at(squares own, squares pooled)
{
    double share = pooled.all > 0 ? fmin(pooled.starts / pooled.all, 1) : 0;
    return (fmax(own.all - own.starts, 0) + own.all * (1 - share)) / 2;
}

/* For normal responses: R / (1 + 2 rho / S + rho^2 / (S (S - 1))), with rho the starts' variance over the data's. */
static double response_df(const responses *a, squares own, double response)
{
    const double count = (double)a->starts, rho = own.starts * count / response;
    return (double)a->replicates / (1 + 2 * rho / count + (a->starts > 1 ? rho * rho / (count * (count - 1)) : 0));
}

static double noise_of(const left_out *l, double kbar)
{
    return fmin(fmax(l->error2 / (1 + FEWER * fmax(kbar, 0)), l->inside), l->error2);
}

static epiq_part part_of(double level, const left_out *l, double variance, double df)
{
    df = 1 / (1 / df + l->variance / 2);
    return epiq_part_of(variance > 0 && variance < DBL_MIN ? -1 : variance, fmax(df, 1), level, EPIQ_BY_RETRAIN);
}

static int warn_of_points(const epiqp_problem *pb, ptrdiff_t silent, ptrdiff_t rough)
{
    int s = silent ? epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_RETRAIN_SILENT,
                                "at %td of %td points the answers of retrained networks to a step are lost in the "
                                "spread between their starts, so that the data variance is not known there; train on "
                                "more target vectors, from more starts",
                                silent, pb->points)
                   : EPIQ_OK;
    if (s || !rough) return s;
    return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_FEW_REPLICATES,
                      "at %td of %td points the data variance has less than two degrees of freedom, so that the upper "
                      "end of its interval says little; train on more target vectors, from more starts",
                      rough, pb->points);
}

static int without_kernel(const epiqp_problem *pb, const responses *a, const left_out *l, epiqp_retrain_findings *found)
{
    squares pooled = {0};
    for (ptrdiff_t p = 0; p < a->points; p++) {
        pooled.all += a->own[p].all / (double)a->points;
        pooled.starts += a->own[p].starts / (double)a->points;
    }
    const double noise = noise_of(l, pooled.all - pooled.starts);
    ptrdiff_t silent = 0, rough = 0;
    for (ptrdiff_t p = 0; p < a->points; p++) {
        const squares own = a->own[p];
        const double response = response_at(own, pooled);
        if (!(response > 0) && own.all + own.starts > 0) {
            found->part[p] = (epiq_part){.method = EPIQ_BY_RETRAIN};
            silent++;
            continue;
        }
        found->part[p] =
            part_of(pb->plan->ran.level, l, noise * response, response > 0 ? response_df(a, own, response) : 1);
        rough += found->part[p].has_interval && found->part[p].df < 2;
    }
    found->noise_variance = noise;
    found->known = silent < a->points;
    found->reason = found->known ? NULL : LOST;
    return warn_of_points(pb, silent, rough);
}

/* ---- with a kernel: one kappa for the table ---- */

/* The data variance for noise of size 1 over unit, both summed, without replicate `but`. At each point, the part of the
 * responses that the kernel explains, with its variance over all signs in place of these few, and the rest. */
static double kappa_without(const responses *a, ptrdiff_t but)
{
    const double count = (double)(a->replicates - (but >= 0));
    double sum = 0, units = 0;
    for (ptrdiff_t p = 0; p < a->points; p++) {
        double square = 0, product = 0, all = 0, starts = 0;
        for (ptrdiff_t r = 0, k = p * a->replicates; r < a->replicates; r++, k++) {
            if (r == but) continue;
            square += a->delta[k] * a->delta[k];
            product += a->delta[k] * a->mean[k];
            all += a->mean[k] * a->mean[k];
            starts += a->chance[k];
        }
        double b = product / square, rest = fmax(all - b * product, 0) / (count - 1);
        sum += square > 0 ? (b * b - rest / square) * a->unit[p] + rest - starts / count : (all - starts) / count;
        units += a->unit[p];
    }
    return sum / units;
}

/* Warns unless the responses follow these targets. */
static int check_follows(const epiqp_problem *pb, const responses *a)
{
    double product = 0, one = 0, other = 0;
    for (ptrdiff_t k = 0; k < a->points * a->replicates; k++) {
        product += a->mean[k] * a->delta[k];
        one += a->mean[k] * a->mean[k];
        other += a->delta[k] * a->delta[k];
    }
    if (product >= FOLLOWS * sqrt(one) * sqrt(other)) return EPIQ_OK;
    return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_TARGETS_UNLIKE,
                      "the retrained networks do not answer to the targets of seed %llu as their kernel does; give the "
                      "{--seed} that the targets were made with, and check the order of the networks",
                      (unsigned long long)pb->plan->ran.seed);
}

static int with_kernel(const epiqp_problem *pb, const responses *a, const left_out *l, epiqp_retrain_findings *found)
{
    double unit = 0, spread = 0, mean = 0, kappa = kappa_without(a, -1);
    const double count = (double)a->replicates;
    for (ptrdiff_t p = 0; p < a->points; p++) {
        unit += a->unit[p] / (double)a->points;
    }
    if (!(kappa > 0 && kappa <= DBL_MAX)) {
        found->part = NULL;
        found->reason = LOST;
        return epiqp_warn(
            pb->e.c, pb->warnings, EPIQ_W_RETRAIN_SILENT,
            "the answers of retrained networks to a step are lost in the spread between their starts, so that the data "
            "variance is the influence function's; train on more target vectors, from more starts");
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
        found->part[p] =
            part_of(pb->plan->ran.level, l, kappa * noise * a->unit[p], 2 / (damped * damped + SHAPE * SHAPE));
    }
    found->known = true;
    found->followed.left_out.kappa = kappa;
    found->kappa_se = sqrt(spread);
    found->noise_variance = noise;
    return check_follows(pb, a);
}

static int check_answers(const epiqp_problem *pb, const epiq_given *g, const epiqp_ev_findings *ev, const responses *a,
                         const left_out *l)
{
    double all = 0, response = 0, starts = 0, unrelated = 0;
    for (ptrdiff_t p = 0; p < a->points; p++) {
        const squares own = a->own[p];
        const double variance = epiqp_variance_of(ev->h + p, ev->members, pb->points);
        all += own.all + own.starts;
        response += own.all - own.starts;
        starts += own.starts * (double)a->starts;
        unrelated += fmax(variance, 0) / 2 / (l->step * l->step);
    }
    if (!(all > 0 && all <= DBL_MAX)) {
        return epiqp_fail(pb->e.c, EPIQ_E_DATA,
                          "%s: the networks trained on plus and minus predict the same at every point, so that they "
                          "cannot have been trained on the targets; check the order of its rows",
                          g->retrained->name);
    }
    bool matters = starts > fmax(UNLIKE * unrelated, response);
    if (a->starts < 2 || !(unrelated > 0) || !matters) return EPIQ_OK;
    return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_STARTS_DIFFER,
                      "plus and minus of a pair differ about as much as networks from unrelated starts do; train both "
                      "from the same starts, or if they were, on more target vectors: the data variance is rough");
}

static int warn_of_rows(const epiqp_problem *pb, const epiq_given *g, const responses *a, const left_out *l)
{
    int s = EPIQ_OK;
    if (g->left_out->rows < 2) {
        s = epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_ONE_LEFT_OUT,
                       "%s has one network for each row, so that its procedural variance counts as noise, and the data "
                       "variance comes out too large; give two or more, from different starts",
                       g->left_out->name);
    }
    if (!s && l->error2 <= l->inside) {
        s = epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_LEFT_OUT_SEEN,
                       "%s predicts its rows no worse than %s, by networks trained on them, so that the noise and the "
                       "data variance are too small; give predictions of networks that have not seen the row",
                       g->left_out->name, g->yhat->name);
    }
    if (!s && a->starts < 2) {
        s = epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_ONE_START,
                       "%s has one network for each target vector, so that what its start makes of the data is in the "
                       "data variance, which comes out too large by 5 to 40 %%; train two, from different starts",
                       g->retrained->name);
    }
    return s;
}

int epiqp_given_retrain(const epiqp_problem *pb, const epiq_given *g, const epiqp_ridge *ridge,
                        const epiqp_ev_findings *ev, epiqp_retrain_findings *found)
{
    const ptrdiff_t replicates = pb->plan->ran.replicates;
    left_out l;
    responses a = {.replicates = replicates, .starts = g->retrained->rows / (2 * replicates), .points = pb->points};
    int s = measure(pb->e.c, g, &l);
    if (s || (g->targets && (s = check_targets(pb, g, l.step))) || (s = take_responses(pb, g->retrained, l.step, &a)) ||
        (ridge && (s = take_kernel(pb, ridge, &a))) || (s = check_answers(pb, g, ev, &a, &l)) ||
        (s = warn_of_rows(pb, g, &a, &l))) {
        return s;
    }
    *found = (epiqp_retrain_findings){
        .replicates = a.replicates, .starts = a.starts, .networks = g->retrained->rows, .followed = {.step = l.step}};
    if (!(found->part = epiqp_room(pb, pb->points, sizeof *found->part))) return EPIQ_E_NOMEM;
    return ridge ? with_kernel(pb, &a, &l, found) : without_kernel(pb, &a, &l, found);
}
