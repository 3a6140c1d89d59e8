/* settle.c - what iteration leaves open in an answer, made small or reported (docs/method.md section 3). A solution that lacks
 * e = A^-1 r, with sqrt(e'A e) <= b known (pcg.h) and |e| <= b/sqrt(shift), changes
 *     the prediction c'y by r'alpha, which is added, and then by b b_y at most (b_y: of alpha)
 *     the root of the data variance, |v - mean v| with v = c o r, by max|r| |e| + max|c| |dr|, |dr| <= sqrt(shift) b_y
 *     the root of tau^2 = |q0 - Q c|^2 in the norm of Q, by sqrt(e'Q e) <= b, for Q <= K (biases that start larger
 *     than their scale: times that)
 * Each goes on until that is half a per cent of the root; what cannot be made small enough is a warning, or a refusal.
 */
#include "est/if.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double SMALL = 0.005; /* of a standard deviation: 1 % of a variance */
static const double LEAST = 0.1; /* of rms r |c|: a data part smaller than that is so by chance, and good for no goal */
static const double WARNED = 0.05; /* of a standard deviation */
static const double REFUSED = 0.5; /* of a standard deviation: more is refused, in the data part or in the prediction */
enum { ROUNDS = 4, COLUMNS = 32 }; /* of more iterations; columns at a time */

/* The right-hand sides of these columns again: the kernel between rows and points, and y after them. */
static int sides(const epiqp_problem *pb, const epiqp_solution *sol, ptrdiff_t count, const ptrdiff_t *which, double *b)
{
    const ptrdiff_t n = pb->n, d = pb->data->d;
    for (ptrdiff_t k = 0; k < count; k++) {
        if (which[k] == sol->ridge->points) {
            memcpy(b + k * n, pb->data->y, (size_t)n * sizeof *b);
            continue;
        }
        epiqp_rows at = {0};
        int s = epiqp_rows_new(pb->e.c, 1, d, pb->at + which[k] * d, &at);
        if (s) return s;
        epiqp_kernel_cross(&pb->e, &sol->fit->arch, &sol->fit->rows, &at, b + k * n, NULL);
        epiqp_rows_free(pb->e.c, &at);
    }
    return EPIQ_OK;
}

/* How many times its goal the bound of a column is, at most. */
static double farthest(const epiqp_ridge *r, ptrdiff_t count, const ptrdiff_t *which, const double *goal)
{
    double most = 0;
    for (ptrdiff_t k = 0; k < count; k++) {
        most = fmax(most, r->bound[which[k]] / goal[k]);
    }
    return most;
}

/* Iterates further on the columns whose bounds are above those in `wanted` (of the points, then of alpha). moved: some bound
 * has become much smaller. */
static int iterate_further(const epiqp_problem *pb, const epiqp_solution *sol, const double *wanted, bool *moved)
{
    epiqp_ridge *r = sol->ridge;
    ptrdiff_t which[COLUMNS], count = 0;
    double goal[COLUMNS], *b = NULL;
    int s = EPIQ_OK;
    *moved = false;
    for (ptrdiff_t p = r->points; !s && p >= 0; p--) { /* alpha first, by itself: the points' predictions use it */
        if (r->bound[p] > wanted[p]) {
            which[count] = p;
            goal[count++] = wanted[p] / 2; /* the bound that is then measured may be a little larger */
        }
        if (!count || (count < COLUMNS && p > 0 && which[0] < r->points)) continue;
        b = b ? b : epiqp_alloc(pb->e.c, pb->n * epiqp_min(COLUMNS, r->points + 1), sizeof *b);
        s = b ? sides(pb, sol, count, which, b) : EPIQ_E_NOMEM;
        const double before = farthest(r, count, which, goal);
        if (!s) s = epiqp_ridge_continue(&pb->e, r, count, which, goal, b);
        *moved |= farthest(r, count, which, goal) < before / 2; /* else further iterations do not help */
        count = 0;
    }
    epiqp_free(pb->e.c, b);
    return s;
}

/* What data variances are made of, as far as it matters here. */
typedef struct {
    const double *r_std; /* n: residuals as the correction takes them */
    bool by_alpha;       /* they are the kernel's, and not the networks' */
    double most, rms;    /* of them */
    double root_shift;
} residuals;

static residuals look_at(const epiqp_solution *sol, const double *r_std)
{
    const epiqp_ridge *r = sol->ridge;
    residuals w = {.r_std = r_std, .by_alpha = !sol->hbar, .root_shift = sqrt(r->shift)};
    for (ptrdiff_t i = 0; i < r->n; i++) {
        w.most = fmax(w.most, fabs(r_std[i]));
        w.rms += r_std[i] / (double)r->n * r_std[i];
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
        out.most = fmax(out.most, fabs(c[i] * (raw != 0 ? w->r_std[i] / raw : 1)));
    }
    return out;
}

static double unit_of(const residuals *w, weights c, double variance)
{
    return fmax(sqrt(variance), LEAST * w->rms * c.norm);
}

/* The bounds that are small enough. variance: of each point's data part. */
static void want_data(const epiqp_ridge *r, const residuals *w, const double *variance, double *wanted)
{
    double *alpha = &wanted[r->points];
    *alpha = DBL_MAX;
    for (ptrdiff_t p = 0; p < r->points; p++) {
        weights c = weigh(r, w, p);
        double unit = SMALL * unit_of(w, c, variance[p]);
        wanted[p] = w->most > 0 && unit > 0 ? unit * w->root_shift / w->most : DBL_MAX;
        if (unit > 0 && fabs(r->first[p]) > 10 * unit) { /* some readers use c'y without the correction */
            wanted[p] = fmin(wanted[p], 10 * unit / fabs(r->first[p]) * r->bound[p]);
        }
        if (unit > 0) {
            *alpha = fmin(*alpha, unit / fmax(c.most * w->root_shift, DBL_MIN));
            *alpha = fmin(*alpha, unit / fmax(r->bound[p], DBL_MIN));
        }
    }
}

int epiqp_settle_data(const epiqp_problem *pb, const epiqp_solution *sol, const double *r_std, const double *variance,
                      bool alpha, bool *moved)
{
    const epiqp_ridge *r = sol->ridge;
    *moved = false;
    if (!r->bound) return EPIQ_OK;
    double *wanted = epiqp_room(pb, r->points + 1, sizeof *wanted);
    if (!wanted) return EPIQ_E_NOMEM;
    residuals w = look_at(sol, r_std);
    want_data(r, &w, variance, wanted);
    wanted[r->points] = alpha ? wanted[r->points] : DBL_MAX;
    return iterate_further(pb, sol, wanted, moved);
}

/* Residuals, standardised once leverages are known, and the data variances that follow from them. */
static void expect_variances(const epiqp_ridge *r, double *r_std, double *variance)
{
    const ptrdiff_t n = r->n;
    for (ptrdiff_t i = 0; i < n; i++) {
        r_std[i] = r->norm2 ? r->alpha[i] / sqrt(r->norm2[i]) : r->shift * r->alpha[i];
    }
    for (ptrdiff_t p = 0; p < r->points; p++) {
        const double *c = r->c + p * n;
        double mean = epiqp_dot(n, c, r_std) / (double)n;
        variance[p] = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            double u = c[i] * r_std[i] - mean;
            variance[p] += u * u;
        }
    }
}

int epiqp_settle(const epiqp_problem *pb, const epiqp_solution *sol, epiqp_open *open)
{
    const epiqp_ridge *r = sol->ridge;
    double *r_std = epiqp_room(pb, r->n + r->points, sizeof *r_std), *variance = r_std + r->n;
    bool moved = r->bound;
    int s = r_std ? EPIQ_OK : EPIQ_E_NOMEM;
    for (int round = 0; !s && moved && round < ROUNDS; round++) {
        expect_variances(r, r_std, variance);
        s = epiqp_settle_data(pb, sol, r_std, variance, true, &moved);
    }
    return s || !r->bound || pb->plan->influence ? s : epiqp_settled(pb, sol, r_std, variance, open);
}

double epiqp_procedural_open(const epiqp_fit *fit, const epiqp_ridge *r, ptrdiff_t p)
{
    return r->bound ? r->bound[p] * fmax(1, fit->o->bias_sd) : 0;
}

int epiqp_settle_procedural(const epiqp_problem *pb, const epiqp_solution *sol, double *tau2, const double *q00)
{
    const epiqp_ridge *r = sol->ridge;
    double *wanted = epiqp_room(pb, r->points + 1, sizeof *wanted);
    bool moved = true;
    int s = wanted ? EPIQ_OK : EPIQ_E_NOMEM;
    for (int round = 0; !s && moved && round < ROUNDS; round++) {
        for (ptrdiff_t p = 0; p < r->points; p++) {
            wanted[p] = SMALL * sqrt(fmax(tau2[p], EPIQP_ROUNDING * q00[p])) / fmax(1, sol->fit->o->bias_sd);
        }
        wanted[r->points] = DBL_MAX;
        if (!(s = iterate_further(pb, sol, wanted, &moved)) && moved) {
            s = epiqp_infinite_variance(&pb->e, sol->fit, r->c, tau2);
        }
    }
    return s;
}

int epiqp_settled(const epiqp_problem *pb, const epiqp_solution *sol, const double *r_std, const double *variance,
                  epiqp_open *open)
{
    const epiqp_ridge *r = sol->ridge;
    if (!r->bound) return EPIQ_OK;
    residuals w = look_at(sol, r_std);
    double large = 0;
    for (ptrdiff_t p = 0; p < pb->asked; p++) {
        weights c = weigh(r, &w, p);
        /* how far off the root of the data variance may be */
        double data = w.most * r->bound[p] / w.root_shift + c.most * w.root_shift * r->bound[r->points],
               unit = unit_of(&w, c, variance[p]), share = data / unit;
        if (!(unit > 0)) continue;
        const bool refuse = !(data <= REFUSED * unit);
        if (refuse || !(r->open[p] <= REFUSED * unit)) {
            return epiqp_fail(pb->e.c, EPIQ_E_NUMERIC,
                              "iteration leaves %.2g of a standard deviation open in the %s at point %s, after %td "
                              "products; use {--solver} exact, a larger {--lambda}, a larger {--rank}, or {--scale} "
                              "standard if features differ in scale",
                              (refuse ? data : r->open[p]) / unit, refuse ? "data part" : "prediction", pb->name[p],
                              r->worst.iterations);
        }
        open->prediction = fmax(open->prediction, r->open[p] / unit);
        open->data = fmax(open->data, share * (2 + share));
        large = fmax(large, fmax(data, r->open[p]) / unit);
    }
    if (!(large > WARNED)) return EPIQ_OK;
    return epiqp_warn(
        pb->e.c, pb->warnings, EPIQ_W_ILL_CONDITIONED,
        "iteration leaves up to %.2g of a standard deviation open in the data part or the prediction; use "
        "a larger {--lambda}, a larger {--rank}, or {--solver} exact",
        large);
}
