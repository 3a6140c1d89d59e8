/* predictive.c - what leaving rows out tells without refitting: the kernel predictor's error, each row's prediction by
 * the others, and where a new observation would fall, by jackknife+ (docs/method.md section 3). With B = A^-1 and g the
 * rows of one group, one row where there are no groups, g left out gives its rows the residuals and x0 the prediction
 *     e_g = B_gg^-1 alpha_g,   mu_-g(x0) = c'y - c_g'e_g
 * and the interval runs from low values of mu_-g - |e_i| to high ones of mu_-g + |e_i|, i in g, each group weighing 1.
 */
#include "est/est.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int epiqp_describe_errors(epiqp_job *j, const double *left_out, const double *wider, double noise_sd)
{
    double loo2 = epiqp_dot(j->n, left_out, left_out), unit = j->data->y_factor,
           spread = epiqp_variance(j->data->y, j->n) * (double)(j->n - 1);
    epiq_result *out = &j->answer->result;
    double rmse = unit * sqrt(loo2 / (double)j->n), noise2 = noise_sd * unit * (noise_sd * unit);
    double farthest = unit * (sqrt(loo2) + sqrt(epiqp_dot(j->n, j->data->y, j->data->y))) + fabs(j->data->y_shift);
    if (!(farthest <= DBL_MAX && noise2 <= DBL_MAX) || (noise_sd > 0 && noise2 < DBL_MIN)) {
        j->out_of_range = true;
        return EPIQ_OK;
    }
    noise_sd *= unit;
    out->fit.known = 1;
    out->fit.has_r2 = spread > 0;
    out->fit.loo_rmse = rmse;
    out->fit.r2 = spread > 0 ? 1 - loo2 / spread : 0;
    out->fit.noise_variance = noise2;
    if (!wider) {
        return EPIQ_OK;
    }
    double *observed = epiqp_arena_alloc(j->e.c, &j->answer->arena, 3 * j->n, sizeof *observed);
    if (!observed) {
        return EPIQ_E_NOMEM;
    }
    double *loo = observed + j->n, *loo_sd = loo + j->n;
    for (ptrdiff_t i = 0; i < j->n; i++) {
        observed[i] = j->data->y_shift + unit * j->data->y[i];
        loo[i] = j->data->y_shift + unit * (j->data->y[i] - left_out[i]);
        loo_sd[i] = noise_sd * wider[i];
    }
    out->fit.observed = observed;
    out->fit.loo = loo;
    out->fit.loo_sd = loo_sd;
    return EPIQ_OK;
}

/* The same without each row's whole group. */
static int describe_groups(epiqp_job *j)
{
    const epiqp_grouped *g = &j->grouped;
    int s = epiqp_describe_errors(j, g->left_out, g->wider, sqrt(epiqp_dot(j->n, g->noise, g->noise) / (double)j->n));
    j->answer->result.fit.by_group = j->answer->result.fit.known;
    return s;
}

/* Leave-one-out error and noise of the kernel predictor, free with the leverages; each row's when they are exact. */
int epiqp_describe_fit(epiqp_job *j, const epiqp_ridge *r)
{
    if (j->grouped.known) {
        return describe_groups(j);
    }
    double *left_out = epiqp_arena_alloc(j->e.c, &j->scratch, 2 * j->n, sizeof *left_out);
    if (!left_out) {
        return EPIQ_E_NOMEM;
    }
    double *wider = left_out + j->n, frobenius = 0;
    for (ptrdiff_t i = 0; i < j->n; i++) {
        left_out[i] = r->alpha[i] / r->diagonal[i];
        wider[i] = sqrt(r->norm2[i]) / r->diagonal[i];
        frobenius += r->norm2[i];
    }
    return epiqp_describe_errors(j, left_out, j->answer->result.probes ? NULL : wider,
                                 sqrt(epiqp_dot(j->n, r->alpha, r->alpha) / frobenius));
}

/* ---- a new observation ---- */

static int withhold(epiqp_job *j, const char *why)
{
    return epiqp_warn(j->e.c, j->warnings, "no_predictive", "where a new observation would fall is unknown: %s", why);
}

/* B_gg e_g = alpha_g of one group's rows; *known false: not positive definite to rounding. block: size by size. */
static int leave_out(const epiqp_job *j, const epiqp_ridge *r, const ptrdiff_t *rows, ptrdiff_t size, double *block,
                     double *e, bool *known)
{
    if (size == 1) {
        e[0] = r->alpha[rows[0]] / r->diagonal[rows[0]];
        return EPIQ_OK;
    }
    for (ptrdiff_t k = 0; k < size; k++) {
        e[k] = r->alpha[rows[k]];
    }
    int s = epiqp_ridge_corner(&j->e, r, size, rows, block);
    *known = !s && !j->e.la->potrf(size, block, size);
    if (*known) {
        j->e.la->trsm('L', 'N', size, 1, block, size, e, size);
        j->e.la->trsm('L', 'T', size, 1, block, size, e, size);
    }
    return s;
}

int epiqp_leave_groups_out(epiqp_job *j, const epiqp_ridge *r, epiqp_predictive *w)
{
    ptrdiff_t groups = j->data->groups;
    epiqp_group_rows of;
    if (epiqp_groups_list(j, &of)) {
        return EPIQ_E_NOMEM;
    }
    const ptrdiff_t *start = of.start, *rows = of.rows, largest = of.largest;
    if (largest > EPIQP_LARGEST_GROUP) {
        char why[160];
        snprintf(why, sizeof why,
                 "a group of %td rows is too large to be left out, the most are %td; use smaller groups", largest,
                 (ptrdiff_t)EPIQP_LARGEST_GROUP);
        return withhold(j, why);
    }
    double *block = epiqp_alloc(j->e.c, largest * (largest + 1), sizeof *block);
    if (!block) {
        return EPIQ_E_NOMEM;
    }
    double *e = block + largest * largest;
    int s = EPIQ_OK;
    w->known = true;
    for (ptrdiff_t g = 0; !s && w->known && g < groups; g++) {
        const ptrdiff_t *own = rows + start[g];
        ptrdiff_t size = start[g + 1] - start[g];
        s = leave_out(j, r, own, size, block, e, &w->known);
        for (ptrdiff_t k = 0; k < size; k++) {
            w->residual[own[k]] = e[k];
            w->weight[own[k]] = 1 / (double)size;
        }
        s = !s && epiqp_stopping(j->e.c) ? epiqp_report(j->e.c, "points", 0, j->points) : s;
    }
    epiqp_free(j->e.c, block);
    return s || w->known ? s : withhold(j, "some group cannot be left out numerically; use a larger --lambda");
}

int epiqp_predictive_room(epiqp_job *j, epiqp_predictive *out)
{
    ptrdiff_t n = j->n, groups = j->data->groups;
    double a = 1 - j->o.level;
    *out = (epiqp_predictive){.below = a * (double)(groups + 1) - 1 + 1e-9}; /* 1 - 0.9 is a little less than 0.1 */
    if (out->below < 0) {
        char why[160];
        snprintf(why, sizeof why, "at level %.6g it takes %.0f %s and there are %td; use a lower --level", j->o.level,
                 ceil(1 / a - 1 - 1e-9), groups < n ? "groups" : "rows", groups);
        return withhold(j, why);
    }
    double *block = epiqp_arena_alloc(j->e.c, &j->scratch, (2 + j->e.threads) * n, sizeof *block);
    out->values = epiqp_arena_alloc(j->e.c, &j->scratch, j->e.threads * n, sizeof *out->values);
    if (!block || !out->values) {
        return EPIQ_E_NOMEM;
    }
    out->moves = out->residual = block;
    out->weight = block + n;
    out->moved = block + 2 * n;
    return EPIQ_OK;
}

int epiqp_predictive_new(epiqp_job *j, const epiqp_ridge *r, epiqp_predictive *out)
{
    int s = epiqp_predictive_room(j, out);
    return s || !out->residual ? s : epiqp_leave_groups_out(j, r, out);
}

void epiqp_predictive_at(const epiqp_job *j, const epiqp_predictive *w, const double *c, int thread, epiq_point *point)
{
    ptrdiff_t n = j->n;
    const ptrdiff_t *group = j->data->group;
    double *moved = w->moved + thread * n, centre = epiqp_dot(n, c, j->data->y), end[2];
    epiqp_weighted *values = w->values + thread * n;
    memset(moved, 0, (size_t)j->data->groups * sizeof *moved);
    for (ptrdiff_t i = 0; i < n; i++) {
        moved[group[i]] -= c[i] * w->moves[i];
    }
    for (int k = 0; k < 2; k++) { /* the upper end is the lower one of what is turned over */
        double sign = k ? -1 : 1;
        for (ptrdiff_t i = 0; i < n; i++) {
            values[i] = (epiqp_weighted){sign * (centre + moved[group[i]]) - fabs(w->residual[i]), w->weight[i]};
        }
        end[k] = j->data->y_shift + j->data->y_factor * sign * epiqp_weighted_select(values, n, w->below);
    }
    if (end[0] > end[1]) { /* at low levels nothing may be left: then what lies in the middle of it */
        end[0] = end[1] = end[0] / 2 + end[1] / 2;
    }
    point->predictive.known = fabs(end[0]) <= DBL_MAX && fabs(end[1]) <= DBL_MAX;
    if (point->predictive.known) {
        point->predictive.lo = end[0];
        point->predictive.hi = end[1];
        point->predictive.noise = j->answer->result.fit.noise_variance;
    }
}

int epiqp_predictive_check(epiqp_job *j)
{
    ptrdiff_t outside = 0, first = 0;
    for (ptrdiff_t p = 0; p < j->asked; p++) {
        const epiq_point *point = &j->answer->points[p];
        bool inside = point->prediction >= point->predictive.lo && point->prediction <= point->predictive.hi;
        if (point->predictive.known && !inside && !outside++) {
            first = p;
        }
    }
    if (!outside) {
        return EPIQ_OK;
    }
    const epiq_point *point = &j->answer->points[first];
    return epiqp_warn(
        j->e.c, j->warnings, "off_centre",
        "at %td of %td points the prediction lies outside the interval of a new observation (first: %s, "
        "%.6g and [%.6g, %.6g]), which is built on kernel regression: the networks are far from it there; %s",
        outside, j->asked, j->name[first], point->prediction, point->predictive.lo, point->predictive.hi,
        j->remedy->far);
}
