/* epiq_details.h - how a result came about: its cost, the errors of kernel regression, training, times, sweeps. The
 * members of an epiq_result that point to these structs are never NULL. Also intervals at other levels.
 */
#ifndef EPIQ_DETAILS_H
#define EPIQ_DETAILS_H

#include "epiq.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct epiq_cost {
    double bytes, seconds; /* what the run was expected to take before it began, */
    double limit; /* and bytes that it may use: what the machine has free, or options.mem_limit if that is less */
} epiq_cost;

/* Errors on rows that were not seen, in target units: of the mean of the networks that answer, where some were trained
 * without parts of the rows, else of kernel regression without each row. */
typedef struct epiq_fit_error {
    int known, has_r2;     /* a constant target has no r2 */
    double rmse, r2;       /* r2 needs has_r2 */
    double noise_variance; /* of y around the prediction: the mean over the rows of their own */
    ptrdiff_t folds;       /* parts of the rows that networks were trained without; 0: kernel regression */
    int by_group;          /* rows are left out with their whole group, and noise_variance includes the groups' part */
    /* kernel regression without each row */
    int kernel_known;
    double kernel_rmse, kernel_r2; /* kernel_r2 needs has_r2 */
    double kernel_noise_variance;  /* if equal everywhere */
    /* n each, in the order of the rows; NULL when leverages were not computed exactly: y, its prediction without it,
     * and the standard deviation of their difference if noise is equal everywhere */
    const double *observed, *loo, *loo_sd;
    double r2_se; /* standard error of r2; 0: unknown */
    int no_skill; /* r2 is not clearly above 0: the rows do not show that predictions are better than their mean */
    /* n each, in the order of the rows; NULL when no networks were trained without parts of the rows: y, and its
     * prediction by the networks that have not seen the row */
    const double *y, *unseen;
    double
        twice; /* rmse with twice the rows, over rmse, if it goes on falling as kernel regression's does from the rows of a
                   * fold to all; 0: unknown */
} epiq_fit_error;

typedef struct epiq_training {
    ptrdiff_t members, converged; /* networks trained for EV, BA and retraining, and how many of them converged */
    double loss_max, gradient_rel_max;
    ptrdiff_t iterations_median;
    ptrdiff_t resumed; /* networks taken from the state file */
    /* Their gradients are in single precision, weights and sums over many rows in double, but for so many networks whose
     * numbers are too large or too small for it, or whose final loss is: those end in double. */
    ptrdiff_t in_double;
    /* 1: some were trained on a device that makes products of several with fewer bits (epiq_device.h) */
    ptrdiff_t split;
} epiq_training;

typedef struct epiq_timing {
    double kernel, factor, influence, ev, retrain, ba; /* seconds */
    double folds;                                      /* of networks trained without a part of the rows */
    double choice;                                     /* of width, lambda and predictor */
    double resampled;                                  /* of networks on rows drawn with replacement */
} epiq_timing;

/* How sure predictions for rows like those of the table are: over the rows that were left out ("rows" as a point). */
typedef struct {
    int known;
    double q05, median, q95; /* quantiles over the rows */
} epiq_quantiles;
typedef struct epiq_summary {
    ptrdiff_t rows;                          /* left out and asked about; 0: none, and the rest means nothing */
    epiq_quantiles prediction_sd;            /* standard deviation of the prediction by all networks */
    epiq_quantiles procedural, data, single; /* variances */
    epiq_quantiles interval_width, noise_sd; /* of the interval of y; noise where the row lies */
    double share_data;                       /* of one network's variance, the part of the data: its median */
    const ptrdiff_t *least_sure;             /* rows, from 1, the least sure first */
    ptrdiff_t least_sure_count;
} epiq_summary;

/* How the kernel matrix was solved with, and what that leaves open. */
typedef struct epiq_solve_info {
    ptrdiff_t probes;     /* random vectors behind the leverages; 0: exact, or not requested */
    ptrdiff_t iterations; /* of the iterative solver, for its slowest solution, */
    double residual;      /* and the largest relative residual of any */
    /* what iteration leaves open at the worst point, at most: of the prediction, in standard deviations of the data
     * part; of the two variances, as a share */
    double open_prediction, open_data, open_procedural;
} epiq_solve_info;

/* What retraining found (docs/method.md section 3). */
typedef struct epiq_retraining {
    int known;                              /* 0: nothing was measured by retraining */
    ptrdiff_t replicates, starts, networks; /* sign vectors; starts of each; networks trained for it, with the folds */
    double noise_variance;                  /* of y around the function the networks learn, squared target units */
    double left_out_rmse;                   /* of networks on rows they have not seen, target units */
    double kappa; /* how much the networks follow the data, in variance, against infinitely wide ones; 0: no kernel to
                   * compare with */
    double kappa_se;
    double step;        /* by which targets were moved, target units */
    const char *reason; /* why the data part is made so; NULL: nothing was retrained, or epiq_combine */
} epiq_retraining;

/* A network that was tried while width or lambda was chosen (docs/method.md section 4). */
typedef struct epiq_model_tried {
    ptrdiff_t width; /* 0: infinitely wide, in closed form */
    double lambda;
    double rmse, se;      /* of the mean of options.members such networks on rows they have not seen, and its standard
                           * error, target units */
    double spread;        /* standard deviation between its networks there, target units; 0: in closed form */
    ptrdiff_t networks;   /* trained for it */
    ptrdiff_t iterations; /* of each, mean */
} epiq_model_tried;

typedef struct epiq_model_choice {
    int known;                     /* 0: width and lambda were given */
    ptrdiff_t width, depth;        /* chosen; depth: as given */
    double lambda;                 /* chosen */
    double rmse, se;               /* of what was chosen, as in tried */
    const epiq_model_tried *usual; /* width 1024 (or infinitely wide) and lambda 1e-3, or what is given of these; NULL:
                                    * it was not tried */
    ptrdiff_t folds;
    const epiq_model_tried *const *tried; /* in the order they were tried */
    ptrdiff_t tried_count;
    const char *reason; /* a sentence; NULL: nothing was chosen */
} epiq_model_choice;

/* A predictor that was tried while it was chosen (docs/method.md section 4). */
typedef struct epiq_predictor_tried {
    int predictor;       /* epiq_predictor */
    double procedural;   /* variance that one of it leaves, mean over the points */
    ptrdiff_t trainings; /* until what their mean leaves is a tenth of the data part; a million: more */
} epiq_predictor_tried;

typedef struct epiq_predictor_choice {
    int known;     /* 0: the predictor was given */
    int predictor; /* chosen */
    double data;   /* data part, mean over the points, from networks on halves of the rows; 0: nothing was tried */
    const epiq_predictor_tried *const *tried; /* in the order they were tried */
    ptrdiff_t tried_count;
    ptrdiff_t networks; /* trained to find it */
    const char *reason; /* a sentence; NULL: nothing was chosen */
} epiq_predictor_choice;

/* By epiq_combine: what the answer rests on. */
typedef struct epiq_combined {
    ptrdiff_t rows, parameters; /* of y, and of the Jacobian; 0: not given */
    ptrdiff_t members, batches; /* networks, those of the state file included */
    ptrdiff_t added, kept;      /* networks added to the state file now, and in it afterwards */
} epiq_combined;

/* One feature moved over its range, the others as at the first point. Features that vary are swept in their order; of
 * more than 24 of them the 24 most correlated with the target. */
typedef struct epiq_sweep {
    ptrdiff_t feature;   /* which column, from 0 */
    ptrdiff_t count;     /* options.sweep, or less when the feature takes fewer values: then it is these */
    const double *value; /* count: of that feature, as given, rising from the least to the most of the rows */
    const epiq_point *const *points; /* count: the estimate with the feature set so, without influential rows */
    ptrdiff_t row_count;             /* rows in row_value: all of them, or evenly chosen ones of many */
    const double *row_value;         /* row_count: the feature at these rows, as given */
} epiq_sweep;

/* What docs/json.md says of a warning; NULL past the end of the list. */
typedef struct {
    const char *code, *meaning;
    int scope; /* epiq_warning_scope */
    int note;  /* for information: in the notes of a result, not in its warnings */
} epiq_warning_info;
EPIQ_API const epiq_warning_info *epiq_warning_describe(int kind);

/* A variance with df degrees of freedom and its chi-squared interval; there is no interval where the variance or df is
 * not above 0, or level not inside (0, 1). So the interval at another level is
 * epiq_part_of(p.variance, p.df, 0.9, p.method). It always contains the variance; an upper end of more than 100 times
 * the variance says nothing, and the interval is then open. */
EPIQ_API epiq_part epiq_part_of(double variance, double df, double level, epiq_method method);

/* The fewest members with which half the width of EV's interval is at most `relative` times the variance. 0: no number
 * of them (or one past 10^8), or a relative or level that makes no sense. */
EPIQ_API ptrdiff_t epiq_members_for(double relative, double level);

#ifdef __cplusplus
}
#endif
#endif
