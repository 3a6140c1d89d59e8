/* predictive.c - what leaving rows out shows without refitting: the kernel predictor's error, each row's prediction by
 * the others, and where a new observation would fall, by jackknife+ (docs/method.md section 3). With B = A^-1 and g the
 * rows of one group, one row where there are no groups, g left out gives its rows the residuals and x0 the prediction
 *     e_g = B_gg^-1 alpha_g,   mu_-g(x0) = c'y - c_g'e_g
 * and the interval runs from low values of mu_-g - |e_i| to high ones of mu_-g + |e_i|, i in g, each group weighing 1.
 */
#include "est/if.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Leave-one-out error and noise of the kernel predictor, free with the leverages; each row's when they are exact. */
int epiqp_loo_of(const epiqp_problem *pb, const epiqp_ridge *r, const epiqp_grouped *grouped, epiqp_loo *out)
{
    const ptrdiff_t n = pb->n;
    if (grouped->known) {
        *out = (epiqp_loo){.known = true,
                           .by_group = true,
                           .left_out = grouped->left_out,
                           .wider = grouped->wider,
                           .noise_sd = sqrt(epiqp_dot(n, grouped->noise, grouped->noise) / (double)n)};
        epiqp_loo_check_range(pb, out);
        return EPIQ_OK;
    }
    double *left_out = epiqp_room(pb, 2 * n, sizeof *left_out);
    if (!left_out) return EPIQ_E_NOMEM;
    double *wider = left_out + n, frobenius = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        left_out[i] = r->alpha[i] / r->diagonal[i];
        wider[i] = sqrt(r->norm2[i]) / r->diagonal[i];
        frobenius += r->norm2[i];
    }
    *out =
        (epiqp_loo){.known = true,
                    .left_out = left_out,
                    .wider = pb->plan->probes && n <= EPIQP_INVERSE_ROWS ? NULL : wider, /* more have little leverage */
                    .noise_sd = sqrt(epiqp_dot(n, r->alpha, r->alpha) / frobenius)};
    epiqp_loo_check_range(pb, out);
    return EPIQ_OK;
}

void epiqp_loo_check_range(const epiqp_problem *pb, epiqp_loo *l)
{
    const double unit = pb->data->y_factor, noise2 = l->noise_sd * unit * (l->noise_sd * unit),
                 left_out = sqrt(epiqp_dot(pb->n, l->left_out, l->left_out)),
                 farthest =
                     unit * (left_out + sqrt(epiqp_dot(pb->n, pb->data->y, pb->data->y))) + fabs(pb->data->y_shift);
    l->known = farthest <= DBL_MAX && noise2 <= DBL_MAX && (!(l->noise_sd > 0) || noise2 >= DBL_MIN);
    l->out_of_range = !l->known;
}

int epiqp_predictive_new(const epiqp_problem *pb, double level, const epiqp_grouped *grouped, const double *residual,
                         epiqp_predictive *out)
{
    const ptrdiff_t n = pb->n, groups = pb->data->groups, *group = pb->data->group;
    const double a = 1 - level;
    char why[160] = "some group cannot be left out numerically; use a larger {--lambda}";
    *out = (epiqp_predictive){.below = a * (double)(groups + 1) - 1 + 1e-9}; /* in doubles 1 - 0.9 is less than 0.1 */
    if (out->below < 0) {
        snprintf(why, sizeof why, "at level %.6g it takes %.0f %s and there are %td; use a lower {--level}", level,
                 ceil(1 / a - 1 - 1e-9), groups < n ? "groups" : "rows", groups);
    } else if (grouped->largest > EPIQP_LARGEST_GROUP) {
        snprintf(why, sizeof why,
                 "a group of %td rows is too large to be left out, the most are %td; use smaller groups",
                 grouped->largest, (ptrdiff_t)EPIQP_LARGEST_GROUP);
    }
    if (out->below < 0 || (epiqp_has_groups(pb) && !grouped->known)) {
        return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_NO_PREDICTIVE, "there is no prediction interval: %s", why);
    }
    out->weight = epiqp_room(pb, (1 + pb->e.threads) * n, sizeof *out->weight);
    out->values = epiqp_room(pb, pb->e.threads * n, sizeof *out->values);
    if (!out->weight || !out->values) return EPIQ_E_NOMEM;
    out->moved = out->weight + n;
    for (ptrdiff_t i = 0; i < n; i++) {
        out->moved[group[i]]++;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        out->weight[i] = 1 / out->moved[group[i]];
    }
    out->moves = out->residual = residual;
    out->known = true;
    return EPIQ_OK;
}

epiqp_interval epiqp_predictive_at(const epiqp_problem *pb, const epiqp_predictive *w, const double *c, int thread)
{
    ptrdiff_t n = pb->n;
    const ptrdiff_t *group = pb->data->group;
    double *moved = w->moved + thread * n, centre = epiqp_dot(n, c, pb->data->y), end[2];
    epiqp_weighted *values = w->values + thread * n;
    memset(moved, 0, (size_t)pb->data->groups * sizeof *moved);
    for (ptrdiff_t i = 0; i < n; i++) {
        moved[group[i]] -= c[i] * w->moves[i];
    }
    for (int k = 0; k < 2; k++) { /* the upper end is the lower end of the negated values */
        double sign = k ? -1 : 1;
        for (ptrdiff_t i = 0; i < n; i++) {
            values[i] = (epiqp_weighted){sign * (centre + moved[group[i]]) - fabs(w->residual[i]), w->weight[i]};
        }
        end[k] = sign * epiqp_weighted_select(values, n, w->below);
    }
    return (epiqp_interval){end[0], end[1]};
}
