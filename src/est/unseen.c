/* unseen.c - every row as predicted by models that have not seen it, and the interval of a new observation that follows
 * (spread.c, docs/method.md section 3): the networks trained without its fold, or kernel regression without it where no networks
 * were.
 */
#include "est/assemble.h"

#include <float.h>
#include <math.h>

/* Data part of kernel regression's prediction at row i without it, for noise of this variance. */
static double kernel_variance(const epiqp_loo *l, double noise2, ptrdiff_t i)
{
    return l->wider ? noise2 * fmax(l->wider[i] * l->wider[i] - 1, 0) : 0;
}

/* The data part at a row left out by its fold: of the networks where they were retrained, else kernel regression's. */
static double data_variance(const epiqp_problem *pb, const epiqp_findings *f, ptrdiff_t i)
{
    const epiqp_retrain_findings *r = &f->retrain;
    const epiqp_loo *l = &f->influence.loo;
    if (!r->known) return l->known ? kernel_variance(l, l->noise_sd * l->noise_sd, i) : 0;
    const double expected = r->followed.left_out.kappa * f->influence.reference.expected[i];
    return epiqp_has_groups(pb) ? expected : r->noise_variance * expected; /* in groups it is a variance already */
}

static double mean_square(const double *v, ptrdiff_t n)
{
    return v ? epiqp_dot(n, v, v) / (double)n : 0;
}

/* Of the squared error of the four networks of a fold: their own spread over their number. */
static const double MOST_SPREAD = 0.5;

/* Whether the error of the few networks of a fold is mostly their own spread: what is left of it is then mostly chance, and kernel
 * regression's stands for it, but not for that of networks that were stopped before they had learned as much. */
static bool mostly_spread(const epiqp_problem *pb, const epiqp_fold_findings *folds, const double *error)
{
    const double few = (double)pb->plan->folds->starts;
    return epiqp_mean(folds->between, pb->n) / few > MOST_SPREAD * mean_square(error, pb->n);
}

/* The mean squared error of as many networks as answer, from that of the few of a fold: the variance between networks adds
 * its part of one over their number to either. Where it is most of it, what is left is taken to be the error of infinitely wide
 * networks. */
static double error_of_all(const epiqp_problem *pb, const epiqp_fold_findings *folds, const epiqp_loo *l,
                           const double *error)
{
    const double between = epiqp_mean(folds->between, pb->n), few = (double)pb->plan->folds->starts,
                 all = (double)pb->plan->ran.members, own = mean_square(error, pb->n);
    const bool by_kernel = l->known && !epiqp_stops(&pb->plan->ran) && mostly_spread(pb, folds, error);
    return fmin((by_kernel ? mean_square(l->left_out, pb->n) : fmax(own - between / few, 0)) + between / all, own);
}

/* Errors of all rows over those of a fold's, which are fewer: as kernel regression has them, if that is known. */
static double shrink_by_kernel(const epiqp_problem *pb, const epiqp_findings *f)
{
    const epiqp_loo *l = &f->influence.loo;
    const bool compared = f->influence.reference.response && l->known;
    return epiqp_spread_shrink(1 - 1 / (double)pb->plan->folds->count, compared ? mean_square(l->left_out, pb->n) : 0,
                               compared ? mean_square(f->influence.reference.error, pb->n) : 0);
}

/* Of many rows it is the data part alone that is smaller with all of them, as in subset.c, and noise is most of the error. */
static double shrink_without_kernel(const epiqp_problem *pb, const epiqp_findings *f, const double *error)
{
    const double share = 1 - 1 / (double)pb->plan->folds->count, all = mean_square(error, pb->n);
    double data = 0;
    for (ptrdiff_t i = 0; i < pb->n; i++) {
        data += data_variance(pb, f, i) / (double)pb->n;
    }
    return all > 0 ? sqrt(fmax(share, 1 - (1 - sqrt(share)) * data / all)) : 1;
}

static int warn_of_spread(const epiqp_problem *pb)
{
    const ptrdiff_t few = pb->plan->folds->starts, most = pb->plan->ran.members;
    if (most <= few || !(epiqp_variance(pb->data->y, pb->n) > 0)) return EPIQ_OK; /* or there is nothing to learn */
    return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_FEW_FOLD_MEMBERS,
                      "most of the error of the %td networks trained without each fold is what their starts make them "
                      "differ by: the error of the mean of %td, the noise and the prediction intervals are known "
                      "roughly only; give {--fold-members} %td, or {--predictor} shifted",
                      few, most, most);
}

/* Errors, predictions and variances of the networks of folds (n each). */
static int by_folds(const epiqp_problem *pb, const epiqp_findings *f, double *error, double *variance, double *data,
                    epiqp_spread_rows *out)
{
    const epiqp_folds *t = pb->plan->folds;
    const epiqp_loo *l = &f->influence.loo;
    const double starts = (double)t->starts;
    int s = epiqp_moderate_folds(pb, &f->folds, variance);
    for (ptrdiff_t i = 0; !s && i < pb->n; i++) {
        error[i] = pb->data->y[i] - f->folds.mean[i];
        data[i] = data_variance(pb, f, i);
        variance[i] = data[i] + variance[i] / starts;
    }
    if (!s && mostly_spread(pb, &f->folds, error)) {
        if (l->known && !epiqp_stops(&pb->plan->ran)) out->noise2 = l->noise_sd * l->noise_sd;
        s = warn_of_spread(pb);
    }
    out->prediction = f->folds.mean;
    out->networks = starts;
    out->data = f->retrain.known ? data : NULL;
    out->shrink = f->retrain.known && pb->plan->influence == EPIQP_IF_SUBSET ? shrink_without_kernel(pb, f, error)
                                                                             : shrink_by_kernel(pb, f);
    return s;
}

static void by_kernel(const epiqp_problem *pb, const epiqp_loo *l, double *error, double *variance, double *prediction,
                      epiqp_spread_rows *out)
{
    for (ptrdiff_t i = 0; i < pb->n; i++) {
        error[i] = l->left_out[i];
        prediction[i] = pb->data->y[i] - error[i];
        variance[i] = kernel_variance(l, l->noise_sd * l->noise_sd, i);
    }
    out->prediction = prediction;
    out->shrink = 1;
}

/* The standard error, over rows (groups), of error2 over the variance of y: that of the mean of e_i^2 - ratio (y_i - mean)^2. */
static int ratio_se(const epiqp_problem *pb, const epiqp_fold_findings *folds, const double *error, double error2,
                    double *out)
{
    const double mean = epiqp_mean(pb->data->y, pb->n), y2 = epiqp_variance(pb->data->y, pb->n),
                 less = folds ? 1 / (double)pb->plan->ran.members - 1 / (double)pb->plan->folds->starts : 0;
    double ignored, *rest = epiqp_alloc(pb->e.c, pb->n, sizeof *rest);
    if (!rest) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; i < pb->n; i++) {
        const double off = pb->data->y[i] - mean;
        rest[i] = error[i] * error[i] + (folds ? less * folds->between[i] : 0) - (y2 > 0 ? error2 / y2 * off * off : 0);
    }
    int s = epiqp_mean_over_groups(pb->e.c, pb->data, rest, &ignored, out);
    *out = y2 > 0 ? *out / y2 : 0;
    epiqp_free(pb->e.c, rest);
    return s;
}

enum { FEWEST = 50 }; /* rows, or groups: fewer cannot tell how errors fall */

/* Errors with twice the rows over those with all, if they go on falling as kernel regression's do from the rows of a fold to all of
 * them, as a power of the rows; 1/sqrt(2) at least. The logarithm g of that fall counts g^2/(g^2 + se^2), se being its standard
 * error over rows (groups). 0: unknown. */
static int with_twice(const epiqp_problem *pb, const epiqp_findings *f, double *out)
{
    const double share = 1 - 1 / (double)pb->plan->folds->count, *few2 = f->influence.reference.error2,
                 *left_out = f->influence.loo.left_out;
    *out = 0;
    if (!few2 || !f->influence.loo.known || pb->data->groups < FEWEST) return EPIQ_OK;
    const double few = epiqp_mean(few2, pb->n), all = mean_square(left_out, pb->n);
    if (!(few > 0 && all > 0 && few <= DBL_MAX && all <= DBL_MAX)) return EPIQ_OK;
    double ignored, se = 0, *terms = epiqp_alloc(pb->e.c, pb->n, sizeof *terms);
    if (!terms) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; i < pb->n; i++) {
        terms[i] = (left_out[i] * left_out[i] / all - few2[i] / few) / 2; /* of the logarithm of a root */
    }
    int s = epiqp_mean_over_groups(pb->e.c, pb->data, terms, &ignored, &se);
    const double g = log(epiqp_spread_shrink(share, all, few)), told = g < 0 ? g * (g * g / (g * g + se * se)) : 0;
    *out = exp(told * -log(2) / log(share));
    epiqp_free(pb->e.c, terms);
    return s;
}

int epiqp_unseen_new(const epiqp_problem *pb, const epiqp_findings *f, epiqp_unseen *out)
{
    const epiqp_loo *l = &f->influence.loo;
    *out = (epiqp_unseen){0};
    const bool folds = f->folds.between && pb->plan->members && pb->plan->ran.fold_members > 0;
    const bool divided = pb->plan->influence == EPIQP_IF_DIVIDED; /* another predictor, with an interval of its own */
    if (!pb->engine || !pb->plan->wants_predictive || divided || !(folds || (l->known && l->wider))) return EPIQ_OK;
    double *error = epiqp_room(pb, 3 * pb->n, sizeof *error);
    if (!error) return EPIQ_E_NOMEM;
    double *variance = error + pb->n, *third = variance + pb->n; /* the data part, or predictions */
    epiqp_spread_rows rows = {.n = pb->n,
                              .d = pb->table->d,
                              .groups = pb->data->groups,
                              .x = pb->table->x,
                              .error = error,
                              .variance = variance,
                              .group = epiqp_has_groups(pb) ? pb->data->group : NULL};
    int s = EPIQ_OK;
    if (folds) {
        s = by_folds(pb, f, error, variance, third, &rows); /* whose predictions are there already */
    } else {
        by_kernel(pb, l, error, variance, third, &rows);
    }
    if (s || (s = epiqp_spread_new(&pb->e, pb->scratch, &rows, &out->spread)) ||
        (folds && (s = with_twice(pb, f, &out->twice)))) {
        return s;
    }
    out->known = true;
    out->folds = folds ? pb->plan->folds->count : 0;
    out->error2 = folds ? error_of_all(pb, &f->folds, l, error) : mean_square(error, pb->n);
    out->enough = epiqp_spread_factor(&out->spread, pb->plan->ran.level, &out->factor);
    return ratio_se(pb, folds ? &f->folds : NULL, error, out->error2, &out->r2_se);
}
