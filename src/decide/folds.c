/* folds.c - cross-validation: models trained without a fold, on rows scaled without it, and their error on it. */
#include "decide/decide.h"

#include <math.h>
#include <string.h>

int epiqp_error_of(epiq_ctx *c, const epiq_data *data, const double *e2, epiq_rmse *out)
{
    double mean, se;
    int s = epiqp_mean_over_groups(c, data, e2, &mean, &se);
    const double rmse = sqrt(mean);
    se = rmse > 0 ? se / (2 * rmse) : 0;
    *out = isfinite(rmse) && isfinite(se) ? (epiq_rmse){1, rmse, se} : (epiq_rmse){0};
    return s;
}

int epiqp_fold_errors(epiq_ctx *c, const epiq_data *data, const ptrdiff_t *fold, ptrdiff_t k, const epiq_options *o,
                      double *e2, double *between, ptrdiff_t trained[2])
{
    ptrdiff_t n = data->n, d = data->d, count[2] = {0, 0}; /* rows to learn from; rows of the fold, from n on */
    epiq_options own = *o;
    own.methods = EPIQ_EV;
    own.group = NULL;                             /* EV does not use it, and the remaining rows may have no repeats */
    own.members = epiqp_max(2, o->ensemble_size); /* EV needs two; the first ensemble_size of them are averaged */
    epiqp_arena scratch = {0};
    double *x = epiqp_arena_alloc(c, &scratch, 2 * n, (size_t)d * sizeof *x),
           *y = epiqp_arena_alloc(c, &scratch, 2 * n, sizeof *y);
    epiq_data *rest = NULL;
    epiq_points *at = NULL;
    epiq_result *r = NULL;
    int status = EPIQ_E_NOMEM;
    if (!x || !y) goto end;
    for (ptrdiff_t i = 0; i < n; i++) {
        const ptrdiff_t in = fold[i] == k, to = in * n + count[in]++;
        memcpy(x + to * d, data->x_given + i * d, (size_t)d * sizeof *x);
        y[to] = data->y_shift + data->y_factor * data->y[i];
    }
    if ((status = epiq_data_new(c, count[0], d, x, y, NULL, &own, &rest)) || (status = epiq_points_new(c, rest, &at)) ||
        (status = epiq_points_add_rows(c, at, count[1], x + n * d)) ||
        (status = epiqp_estimate(c, rest, at, &own, &(epiqp_request){0}, &r))) {
        goto end;
    }
    for (ptrdiff_t i = 0, p = 0; i < n; i++) {
        if (fold[i] != k) continue;
        const epiq_point *at_p = r->points[p]; /* without networks the prediction is the closed form */
        double mean = at_p->member_count ? epiqp_mean_of(at_p->members, o->ensemble_size, 1) : at_p->prediction;
        double error = y[n + p++] - mean;
        e2[i] = error * error;
        if (between) between[i] = at_p->procedural.known ? at_p->procedural.variance : -1;
    }
    trained[0] += r->training->members;
    trained[1] += r->training->converged;
end:
    epiq_result_free(c, r);
    epiq_points_free(c, at);
    epiq_data_free(c, rest);
    epiqp_arena_free(c, &scratch);
    return status;
}
