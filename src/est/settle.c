/* settle.c - what iteration leaves open in an answer, made small or said (docs/method.md section 3). A solution that lacks
 * e = A^-1 r, with sqrt(e'A e) <= b known (pcg.h) and |e| <= b/sqrt(shift), changes
 *     the prediction c'y by r'alpha, which is added, and then by b b_y at most (b_y: of alpha)
 *     the root of the data variance, |v - mean v| with v = c o r, by max|r| |e| + max|c| |dr|, |dr| <= sqrt(shift) b_y
 *     the root of tau^2 = |q0 - Q c|^2 in the norm of Q, by sqrt(e'Q e) <= b, for Q <= K (biases that start larger
 *     than their scale: times that)
 * Each goes on until that is half a per cent of the root; what cannot be made small enough is a warning, or a refusal.
 */
#include "est/est.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double SMALL = 0.005; /* of a standard deviation: 1 % of a variance */
static const double LEAST = 0.1; /* of rms r |c|: a data part smaller than that is so by chance, and good for no goal */
static const double WARNED = 0.05; /* of a standard deviation */
static const double REFUSED = 0.5; /* likewise: half of it, or a prediction that far off, is no answer */
enum { ROUNDS = 4, COLUMNS = 32 }; /* of going on; columns at a time */

/* The right-hand sides of these columns again: the kernel between rows and points, and y after them. */
static int sides(epiqp_job *j, const epiqp_ridge *r, ptrdiff_t count, const ptrdiff_t *which, double *b)
{
    const ptrdiff_t n = j->n, d = j->data->d;
    int s = EPIQ_OK;
    for (ptrdiff_t k = 0; !s && k < count; k++) {
        if (which[k] == r->points) {
            memcpy(b + k * n, j->data->y, (size_t)n * sizeof *b);
            continue;
        }
        epiqp_rows at = {0};
        s = epiqp_rows_new(j->e.c, 1, d, j->at + which[k] * d, &at);
        if (!s) {
            epiqp_kernel_cross(&j->e, &j->fit.arch, &j->fit.rows, &at, b + k * n, NULL);
        }
        epiqp_rows_free(j->e.c, &at);
    }
    return s;
}

/* Goes on with the columns whose bounds are above those in `wanted` (of the points, then of alpha); moved: to some use. */
static int go_on(epiqp_job *j, epiqp_ridge *r, const double *wanted, bool *moved)
{
    ptrdiff_t which[COLUMNS], count = 0;
    double goal[COLUMNS], *b = NULL;
    int s = EPIQ_OK;
    *moved = false;
    for (ptrdiff_t p = r->points; !s && p >= 0; p--) { /* alpha first, by itself: the points' predictions use it */
        if (r->bound[p] > wanted[p]) {
            which[count] = p;
            goal[count++] = wanted[p] / 2; /* what it is once measured may be a little more */
        }
        if (!count || (count < COLUMNS && p > 0 && which[0] < r->points)) {
            continue;
        }
        b = b ? b : epiqp_alloc(j->e.c, j->n * epiqp_min(COLUMNS, r->points + 1), sizeof *b);
        s = b ? sides(j, r, count, which, b) : EPIQ_E_NOMEM;
        double before = 0, after = 0;
        for (ptrdiff_t k = 0; k < count; k++) {
            before = fmax(before, r->bound[which[k]] / goal[k]);
        }
        s = s ? s : epiqp_ridge_continue(&j->e, r, count, which, goal, b);
        for (ptrdiff_t k = 0; k < count; k++) {
            after = fmax(after, r->bound[which[k]] / goal[k]);
        }
        *moved |= after < before / 2; /* else it has come as far as it gets */
        count = 0;
    }
    epiqp_free(j->e.c, b);
    return s;
}

/* ---- the data part ---- */

/* What data variances are made of, as far as it matters here. */
typedef struct {
    const double *used; /* n: residuals as the correction takes them */
    bool by_alpha;      /* they are the kernel's, and not the networks' */
    double most, rms;   /* of them */
    double root_shift;
} residuals;

static residuals look_at(const epiqp_job *j, const epiqp_ridge *r, const double *used)
{
    residuals w = {.used = used, .by_alpha = !j->members_mean, .root_shift = sqrt(r->shift)};
    for (ptrdiff_t i = 0; i < r->n; i++) {
        w.most = fmax(w.most, fabs(used[i]));
        w.rms += used[i] / (double)r->n * used[i];
    }
    w.rms = sqrt(w.rms);
    return w;
}

typedef struct {
    double norm;
    double most; /* of |c_i| times what the correction multiplies residual i by */
} weights;

static weights weigh(const epiqp_ridge *r, const residuals *w, ptrdiff_t p)
{
    const double *c = r->c + p * r->n;
    weights out = {sqrt(epiqp_dot(r->n, c, c)), 0};
    for (ptrdiff_t i = 0; w->by_alpha && i < r->n; i++) {
        double raw = r->shift * r->alpha[i];
        out.most = fmax(out.most, fabs(c[i] * (raw != 0 ? w->used[i] / raw : 1)));
    }
    return out;
}

/* How far off the root of a data variance may be. */
static double data_open(const epiqp_ridge *r, const residuals *w, weights c, ptrdiff_t p)
{
    return w->most * r->bound[p] / w->root_shift + c.most * w->root_shift * r->bound[r->points];
}

static double unit_of(const residuals *w, weights c, double variance)
{
    return fmax(sqrt(variance), LEAST * w->rms * c.norm);
}

/* One round: bounds that would do. variance: of each point's data part. */
static void want_data(const epiqp_ridge *r, const residuals *w, const double *variance, double *wanted)
{
    double *alpha = &wanted[r->points];
    *alpha = DBL_MAX;
    for (ptrdiff_t p = 0; p < r->points; p++) {
        weights c = weigh(r, w, p);
        double unit = SMALL * unit_of(w, c, variance[p]);
        wanted[p] = w->most > 0 && unit > 0 ? unit * w->root_shift / w->most : DBL_MAX;
        if (unit > 0 && fabs(r->first[p]) > 10 * unit) { /* c'y is used as it stands in places */
            wanted[p] = fmin(wanted[p], 10 * unit / fabs(r->first[p]) * r->bound[p]);
        }
        if (unit > 0) {
            *alpha = fmin(*alpha, unit / fmax(c.most * w->root_shift, DBL_MIN));
            *alpha = fmin(*alpha, unit / fmax(r->bound[p], DBL_MIN));
        }
    }
}

static int settle_data(epiqp_job *j, epiqp_ridge *r, const double *used, const double *variance, bool alpha,
                       bool *moved)
{
    *moved = false;
    if (!r->bound) {
        return EPIQ_OK;
    }
    double *wanted = epiqp_arena_alloc(j->e.c, &j->scratch, r->points + 1, sizeof *wanted);
    if (!wanted) {
        return EPIQ_E_NOMEM;
    }
    residuals w = look_at(j, r, used);
    want_data(r, &w, variance, wanted);
    wanted[r->points] = alpha ? wanted[r->points] : DBL_MAX;
    return go_on(j, r, wanted, moved);
}

int epiqp_settle_data(epiqp_job *j, epiqp_ridge *r, const double *used, const double *variance, bool *moved)
{
    return settle_data(j, r, used, variance, false, moved); /* alpha has made the residuals */
}

/* ---- before the data part is known ---- */

/* Residuals as they are, or standardised once leverages are known, and what they make of the data part. */
static void foretell(const epiqp_ridge *r, double *used, double *variance)
{
    const ptrdiff_t n = r->n;
    for (ptrdiff_t i = 0; i < n; i++) {
        used[i] = r->norm2 ? r->alpha[i] / sqrt(r->norm2[i]) : r->shift * r->alpha[i];
    }
    for (ptrdiff_t p = 0; p < r->points; p++) {
        const double *c = r->c + p * n;
        double mean = epiqp_dot(n, c, used) / (double)n;
        variance[p] = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            double u = c[i] * used[i] - mean;
            variance[p] += u * u;
        }
    }
}

int epiqp_settle(epiqp_job *j, epiqp_ridge *r)
{
    double *used = epiqp_arena_alloc(j->e.c, &j->scratch, r->n + r->points, sizeof *used), *variance = used + r->n;
    bool moved = r->bound;
    int s = used ? EPIQ_OK : EPIQ_E_NOMEM;
    for (int round = 0; !s && moved && round < ROUNDS; round++) {
        foretell(r, used, variance);
        s = settle_data(j, r, used, variance, true, &moved);
    }
    return s || !r->bound || j->o.methods & EPIQ_IF ? s : epiqp_settled(j, r, used, variance);
}

/* ---- the procedural part ---- */

double epiqp_procedural_open(const epiqp_job *j, const epiqp_ridge *r, ptrdiff_t p)
{
    return r->bound ? r->bound[p] * fmax(1, j->o.bias_sd) : 0;
}

int epiqp_settle_procedural(epiqp_job *j, epiqp_ridge *r, double *tau2, const double *q00)
{
    double *wanted = epiqp_arena_alloc(j->e.c, &j->scratch, r->points + 1, sizeof *wanted);
    bool moved = true;
    int s = wanted ? EPIQ_OK : EPIQ_E_NOMEM;
    for (int round = 0; !s && moved && round < ROUNDS; round++) {
        for (ptrdiff_t p = 0; p < r->points; p++) {
            wanted[p] = SMALL * sqrt(fmax(tau2[p], EPIQP_ROUNDING * q00[p])) / fmax(1, j->o.bias_sd);
        }
        wanted[r->points] = DBL_MAX;
        s = go_on(j, r, wanted, &moved);
        s = s || !moved ? s : epiqp_infinite_variance(&j->e, &j->fit, r->c, tau2);
    }
    return s;
}

/* ---- what is left ---- */

static int refuse(epiqp_job *j, ptrdiff_t p, double open, const char *what)
{
    return epiqp_fail(
        j->e.c, EPIQ_E_NUMERIC,
        "iteration leaves %.2g of a standard deviation open in the %s at point %s, after %td products; use "
        "--solver exact, a larger --lambda, a larger --rank, or --scale standard if features differ in "
        "scale",
        open, what, j->name[p], j->fit.ridge.worst.iterations);
}

int epiqp_settled(epiqp_job *j, const epiqp_ridge *r, const double *used, const double *variance)
{
    if (!r->bound) {
        return EPIQ_OK;
    }
    epiq_result *result = &j->answer->result;
    residuals w = look_at(j, r, used);
    double large = 0;
    for (ptrdiff_t p = 0; p < j->asked; p++) {
        weights c = weigh(r, &w, p);
        double data = data_open(r, &w, c, p), unit = unit_of(&w, c, variance[p]), share = data / unit;
        if (!(unit > 0)) {
            continue;
        }
        if (!(data <= REFUSED * unit)) {
            return refuse(j, p, data / unit, "data part");
        }
        if (!(r->open[p] <= REFUSED * unit)) {
            return refuse(j, p, r->open[p] / unit, "prediction");
        }
        result->accuracy.prediction = fmax(result->accuracy.prediction, r->open[p] / unit);
        result->accuracy.data = fmax(result->accuracy.data, share * (2 + share));
        large = fmax(large, fmax(data, r->open[p]) / unit);
    }
    return large > WARNED
               ? epiqp_warn(j->e.c, j->warnings, "ill_conditioned",
                            "iteration leaves up to %.2g of a standard deviation open in the data part or the "
                            "prediction; use a larger --lambda, a larger --rank, or --solver exact",
                            large)
               : EPIQ_OK;
}
