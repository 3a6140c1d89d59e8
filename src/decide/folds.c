/* folds.c - cross-validation: rows dealt into folds, models that have not seen a fold asked about it, and the error of
 * their answers with its standard error. Training is epiq_estimate's, on rows scaled without the fold.
 */
#include "decide/decide.h"

#include <math.h>
#include <string.h>

/* The mean M of e2 has the standard error sqrt(sum over groups of (sum of their e2 - M)^2)/n, and sqrt(M) that over 2
 * sqrt(M). */
int epiqp_error_of(epiq_ctx *c, const epiq_data *data, const double *e2, epiq_rmse *out)
{
    double mean = epiqp_mean(e2, data->n), squares = 0;
    epiqp_arena scratch = {0};
    double *sums = epiqp_arena_alloc(c, &scratch, data->groups, sizeof *sums); /* zeroed */
    if (!sums) {
        return EPIQ_E_NOMEM;
    }
    for (ptrdiff_t i = 0; i < data->n; i++) {
        sums[data->group[i]] += e2[i] - mean;
    }
    for (ptrdiff_t g = 0; g < data->groups; g++) {
        squares += sums[g] * sums[g];
    }
    epiqp_arena_free(c, &scratch);
    double rmse = sqrt(mean), se = rmse > 0 ? sqrt(squares) / (double)data->n / (2 * rmse) : 0;
    bool finite = isfinite(rmse) && isfinite(se);
    *out = finite ? (epiq_rmse){1, rmse, se} : (epiq_rmse){0};
    return EPIQ_OK;
}

int epiqp_folds_deal(epiq_ctx *c, const epiq_data *data, ptrdiff_t folds, uint64_t seed, ptrdiff_t *fold)
{
    ptrdiff_t *sizes = epiqp_alloc(c, folds, sizeof *sizes);
    const epiqp_stream stream = {seed, EPIQP_FOR_SHUFFLE, 1}; /* stream 0 makes batches */
    int s = sizes ? epiqp_deal(c, data, stream, folds, fold, sizes) : EPIQ_E_NOMEM;
    epiqp_free(c, sizes);
    return s;
}

/* The rows in (or not in) a fold, as given. */
static ptrdiff_t gather(const epiq_data *data, const ptrdiff_t *fold, ptrdiff_t k, bool in, double *x, double *y)
{
    ptrdiff_t count = 0, d = data->d;
    for (ptrdiff_t i = 0; i < data->n; i++) {
        if ((fold[i] == k) == in) {
            memcpy(x + count * d, data->x_given + i * d, (size_t)d * sizeof *x);
            y[count++] = data->y_shift + data->y_factor * data->y[i];
        }
    }
    return count;
}

static double prediction_of(const epiq_point *p, ptrdiff_t size)
{
    double mean = 0;
    if (!p->member_count) {
        return p->prediction; /* closed form */
    }
    for (ptrdiff_t m = 0; m < size; m++) {
        mean += p->members[m] / (double)size;
    }
    return mean;
}

int epiqp_fold_errors(epiq_ctx *c, const epiq_data *data, const ptrdiff_t *fold, ptrdiff_t k, const epiq_options *o,
                      double *e2, ptrdiff_t trained[2])
{
    ptrdiff_t n = data->n, d = data->d;
    epiq_options own = *o;
    own.methods = EPIQ_EV;
    own.group = NULL;                             /* nothing that EV asks, and the rows left may have no repeats */
    own.members = epiqp_max(2, o->ensemble_size); /* EV asks for two; of these the first ensemble_size are averaged */
    epiqp_arena scratch = {0};
    double *x = epiqp_arena_alloc(c, &scratch, 2 * n, (size_t)d * sizeof *x),
           *y = epiqp_arena_alloc(c, &scratch, 2 * n, sizeof *y);
    epiq_data *rest = NULL;
    epiq_points *at = NULL;
    epiq_result *r = NULL;
    int s = x && y ? EPIQ_OK : EPIQ_E_NOMEM;
    ptrdiff_t seen = s ? 0 : gather(data, fold, k, false, x, y),
              asked = s ? 0 : gather(data, fold, k, true, x + n * d, y + n);
    s = s ? s : epiq_data_new(c, seen, d, x, y, NULL, &own, &rest);
    s = s ? s : epiq_points_new(c, rest, &at);
    s = s ? s : epiq_points_add_rows(c, at, asked, x + n * d);
    s = s ? s : epiqp_estimate(c, rest, at, &own, &(epiqp_more){0}, &r);
    for (ptrdiff_t i = 0, p = 0; !s && i < n; i++) {
        if (fold[i] == k) {
            double error = y[n + p] - prediction_of(&r->points[p], o->ensemble_size);
            e2[i] = error * error;
            p++;
        }
    }
    if (!s) {
        trained[0] += r->training.members;
        trained[1] += r->training.converged;
    }
    epiq_result_free(c, r);
    epiq_points_free(c, at);
    epiq_data_free(c, rest);
    epiqp_arena_free(c, &scratch);
    return s;
}
