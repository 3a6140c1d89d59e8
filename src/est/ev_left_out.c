/* ev_left_out.c - the procedural variance at rows that networks have not seen. A fold has a few networks, whose variance tells
 * little of one row but much of all: it is drawn towards a prior for the row, with as many degrees of freedom as its scatter
 * around the prior over the rows deserves (docs/method.md section 3).
 */
#include "est/folds.h"

#include "est/variance.h"

#include <math.h>
#include <string.h>

enum { FEWEST = 10 }; /* rows from which a prior is found */

/* Variances s2_i with df degrees of freedom each, as if the true ones were size * prior_i times 1/(chi-squared_nu/nu). */
typedef struct {
    double scatter; /* of log s2_i/prior_i, beyond what df degrees of freedom explain; at most 0: nothing */
    double size, nu;
} prior_law;

/* prior NULL: the same for all. */
static prior_law law_of(ptrdiff_t count, const double *s2, const double *prior, double df)
{
    const double expected = epiqp_digamma(df / 2) - log(df / 2);
    double mean = 0, square = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        double e = log(s2[i] / (prior ? prior[i] : 1)) - expected, step = e - mean;
        mean += step / (double)(i + 1);
        square += step * (e - mean);
    }
    prior_law law = {.scatter = square / (double)(count - 1) - epiqp_trigamma(df / 2), .size = exp(mean)};
    if (law.scatter > 0) {
        law.nu = 2 * epiqp_trigamma_inverse(law.scatter);
        law.size *= exp(epiqp_digamma(law.nu / 2) - log(law.nu / 2));
    }
    return law;
}

/* Out of the logarithm's way: nothing is far below all others. sorted: scratch of count. */
static void raise_least(double *v, ptrdiff_t count, double *sorted)
{
    memcpy(sorted, v, (size_t)count * sizeof *v);
    const double least = 1e-5 * epiqp_median(sorted, count);
    for (ptrdiff_t i = 0; i < count; i++) {
        v[i] = fmax(v[i], least);
    }
}

/* The points that leave rows out, with the variances there of the fold's networks and of those trained on all rows. */
typedef struct {
    ptrdiff_t count;
    ptrdiff_t *point;
    double *s2, *all;
} left_out_points;

static int gather(const epiqp_problem *pb, const epiqp_fold_findings *folds, const epiqp_ev_findings *found,
                  left_out_points *out)
{
    out->point = epiqp_room(pb, pb->points, sizeof *out->point);
    out->s2 = epiqp_room(pb, 3 * pb->points, sizeof *out->s2);
    if (!out->point || !out->s2) return EPIQ_E_NOMEM;
    out->all = out->s2 + pb->points;
    double *sorted = out->all + pb->points;
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        if (pb->left_out[p] < 0) continue;
        out->point[out->count] = p;
        out->s2[out->count] = fmax(folds->between[pb->left_out[p]], 0);
        out->all[out->count++] = found->part[p].known ? found->part[p].variance : 0;
    }
    raise_least(out->s2, out->count, sorted);
    raise_least(out->all, out->count, sorted);
    return EPIQ_OK;
}

static double least_of(const double *v, ptrdiff_t count)
{
    double least = INFINITY;
    for (ptrdiff_t i = 0; i < count; i++) {
        least = fmin(least, v[i]);
    }
    return least;
}

int epiqp_moderate_folds(const epiqp_problem *pb, const epiqp_fold_findings *folds, double *out)
{
    const ptrdiff_t n = pb->n;
    const double df = (double)(pb->plan->folds->starts - 1);
    double *sorted = epiqp_room(pb, n, sizeof *sorted);
    if (!sorted) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = fmax(folds->between[i], 0);
    }
    raise_least(out, n, sorted);
    if (n < FEWEST || !(least_of(out, n) > 0)) return EPIQ_OK;
    const prior_law law = law_of(n, out, NULL, df);
    const double nu = law.scatter > 0 ? law.nu : (double)n;
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = (nu * law.size + df * out[i]) / (nu + df);
    }
    return EPIQ_OK;
}

static int list_unseen(const epiqp_problem *pb, const epiqp_fold_findings *folds, const double **out)
{
    const epiqp_folds *t = pb->plan->folds;
    double *h = epiqp_room(pb, t->starts * pb->points, sizeof *h);
    ptrdiff_t *of_row = epiqp_room(pb, pb->n, sizeof *of_row); /* its place among the rows of its fold */
    if (!h || !of_row) return EPIQ_E_NOMEM;
    for (ptrdiff_t k = 0; k < t->count; k++) {
        for (ptrdiff_t i = t->rows.start[k]; i < t->rows.start[k + 1]; i++) {
            of_row[t->rows.rows[i]] = i - t->rows.start[k];
        }
    }
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        const ptrdiff_t row = pb->left_out[p];
        const epiqp_fold *f = row < 0 ? NULL : &folds->list[t->rows.label[row]];
        for (ptrdiff_t start = 0; f && start < t->starts; start++) {
            h[start * pb->points + p] = f->at[start * f->asked + of_row[row]];
        }
    }
    *out = h;
    return EPIQ_OK;
}

int epiqp_ev_left_out(const epiqp_problem *pb, const epiqp_fold_findings *folds, epiqp_ev_findings *found)
{
    const double df = (double)(pb->plan->folds->starts - 1), most = fmax((double)(found->members - 1), 0);
    left_out_points w = {0};
    int s = gather(pb, folds, found, &w);
    if (s || (s = list_unseen(pb, folds, &found->unseen))) return s;
    const bool any = w.count >= FEWEST && least_of(w.s2, w.count) > 0;
    const bool shaped = any && least_of(w.all, w.count) > 0;
    const prior_law alike = any ? law_of(w.count, w.s2, NULL, df) : (prior_law){0},
                    by_all = shaped ? law_of(w.count, w.s2, w.all, df) : (prior_law){0};
    const double *prior = shaped && by_all.scatter < alike.scatter ? w.all : NULL;
    const prior_law *law = prior ? &by_all : &alike;
    /* the prior is itself a variance of networks, and known no better than that */
    const double nu = !any ? 0 : law->scatter > 0 ? fmin(law->nu, most) : most;
    for (ptrdiff_t i = 0; i < w.count; i++) {
        const ptrdiff_t p = w.point[i], row = pb->left_out[p];
        const double variance = (nu * law->size * (prior ? prior[i] : 1) + df * w.s2[i]) / (nu + df);
        found->part[p] = epiq_part_of(variance, nu + df, pb->plan->ran.level, EPIQ_BY_EV);
        found->mean[p] = folds->mean[row];
    }
    return EPIQ_OK;
}
