/* epiq_decide.h - what to do about it: which points to measure next (epiq_explore), more rows or more networks
 * (epiq_plan_new), which model (epiq_compare).
 */
#ifndef EPIQ_DECIDE_H
#define EPIQ_DECIDE_H

#include "epiq.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- explore: which points to measure next ---------------------------------------------------------------------- */

/* What a candidate is worth. The variance meant is that of the ensemble, data + procedural / ensemble_size. */
#define EPIQ_RULE_LIST(X)                                                                                              \
    X(EPIQ_RULE_UCB, "ucb") /* prediction + kappa deviations, or with options.confidence the upper end of that       \
                               * interval; towards the minimum: kappa of them less prediction, or less the lower end */ \
    X(EPIQ_RULE_DATA, "data")   /* data alone: where other rows would move the prediction most */                      \
    X(EPIQ_RULE_TOTAL, "total") /* the ensemble's variance */
typedef enum {
#define EPIQ_RULE_ENUM(name, text) name,
    EPIQ_RULE_LIST(EPIQ_RULE_ENUM)
#undef EPIQ_RULE_ENUM
} epiq_rule;
EPIQ_API const char *epiq_rule_text(int rule);
typedef enum { EPIQ_GOAL_MAX, EPIQ_GOAL_MIN } epiq_goal;

typedef struct {
    size_t size;     /* sizeof(epiq_exploration), as epiq_exploration_default sets it */
    int rule;        /* epiq_rule */
    int goal;        /* epiq_goal: which end of the target ucb looks for */
    double kappa;    /* standard deviations that ucb adds, without options.confidence */
    ptrdiff_t batch; /* candidates to pick, each as if those before it had been observed to be as predicted */
} epiq_exploration;
EPIQ_API void epiq_exploration_init(epiq_exploration *x, size_t size); /* size: sizeof *x */
static inline epiq_exploration epiq_exploration_default(void)
{
    epiq_exploration x;
    epiq_exploration_init(&x, sizeof x);
    return x;
}

typedef struct {
    ptrdiff_t row;              /* from 1: which candidate */
    ptrdiff_t pick;             /* its place in the batch, from 1; 0: not in it */
    int known;                  /* 0: a variance that the score needs is unknown; such candidates come last */
    double score;               /* when it was picked, or before any pick, as are the numbers below; larger is better */
    double prediction;          /* target units */
    epiq_part procedural, data; /* variances without intervals: estimate has those, before any pick */
    epiq_confidence confidence; /* narrower by as much as picks make the standard deviation smaller */
} epiq_candidate;

typedef struct {
    const epiq_candidate *const *ranked; /* the batch in the order of picking, then all others by score */
    ptrdiff_t count;
    const epiq_exploration *ask;
    const char *reason;          /* one sentence: why the first comes first */
    const epiq_result *estimate; /* at all candidates, in their order, predictive unknown; freed with the ranking */
} epiq_ranking;

EPIQ_API int epiq_explore(epiq_ctx *c, const epiq_data *data, const epiq_points *candidates, const epiq_options *o,
                          const epiq_exploration *ask, epiq_ranking **out);
EPIQ_API void epiq_ranking_free(epiq_ctx *c, epiq_ranking *r);

/* ---- plan: more rows, or more networks? -------------------------------------------------------------------------- */

/* The variance of an ensemble of m' networks trained on n' rows is taken to be
 * (sigma^2/n) (n/n')^a + tau^2 (n/n')^b / m', with a and b measured on halves of the rows. Networks can be added to
 * those there are; new rows mean training every network again. No plan has more than ten times the networks there are:
 * those of the ensemble, or all that were trained if the options leave its size open. */
typedef enum { EPIQ_PLAN_GOAL, EPIQ_PLAN_BUDGET } epiq_plan_kind;
typedef struct {
    size_t size;                      /* sizeof(epiq_plan_request) */
    double price_row, price_training; /* of one more row and of training one network, in the same unit */
    int kind;                         /* epiq_plan_kind: reach a variance at least cost, or spend a budget well */
    double amount;                    /* the variance to reach, or the budget */
    double level;                     /* confidence level of the intervals: there is no default */
} epiq_plan_request;

typedef struct {
    ptrdiff_t rows, members;       /* in the end, those of now included */
    ptrdiff_t new_rows, trainings; /* what is paid for */
    double cost;
    epiq_part variance; /* then, of the ensemble's prediction; the mean over the points asked about */
    epiq_known chance;  /* that the variance is at most the goal, 0 to 1; of best, likely and cautious only */
} epiq_plan_step;

typedef struct {
    int known;                     /* else 1 and 0 are assumed */
    ptrdiff_t rows;                /* whose halves were used: all, or a sample of them */
    double data, procedural;       /* a and b as measured; below 0 and above 1 the plan takes 0 and 1 */
    double data_sd, procedural_sd; /* standard deviations: how far those of the rows to come may be off */
} epiq_exponents;

/* What networks without their starts (options.predictor shifted) would save: as many of them as have, in their mean, the retraining
 * variance of the ensemble there is. */
typedef struct epiq_corrected_plan {
    int known;                 /* 0: engine linear or infinite, another predictor, or at and o are NULL */
    double left;               /* retraining variance of one of them over that of a plain network, from a few of both */
    ptrdiff_t networks, saved; /* of them; and those of now that are more */
    const char *text;          /* the same as a sentence; NULL: not known */
} epiq_corrected_plan;

typedef struct {
    const epiq_plan_step *now;      /* nothing bought: the result's rows and ensemble */
    const epiq_plan_step *best;     /* the cheapest expected to reach the goal, or the best for the budget; else now */
    const epiq_plan_step *cautious; /* reaches the goal with a chance of 1 - (1 - level)/2; NULL: none is known to */
    const epiq_plan_step *const *curve; /* now, then what ever larger budgets buy: each costs more and is better */
    ptrdiff_t curve_count;
    const epiq_part *data, *procedural; /* the parts it rests on, means over the points */
    const epiq_exponents *exponent;
    const char *text, *caveat;    /* the answer as a sentence, that of likely if there is one; what it assumes */
    const epiq_plan_step *likely; /* recommended: has a chance of 80 % to reach the goal, with at most ten times the
                                   * rows; NULL: none is known to */
    const char *notice;           /* what of it would be noticed, and what would not */
    const struct epiq_corrected_plan *corrected;
} epiq_plan;

EPIQ_API int epiq_plan_check(epiq_ctx *c, const epiq_plan_request *effort); /* before the work whose result it needs */

/* r must know both parts at every point: IF and EV give them. at and o: those of the estimate; NULL: a and b are not
 * measured. */
EPIQ_API int epiq_plan_new(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                           const epiq_result *r, const epiq_plan_request *effort, epiq_plan **out);
EPIQ_API void epiq_plan_free(epiq_ctx *c, epiq_plan *p);
/* What the estimate and the plan together would cost, before either: as epiq_forecast. */
EPIQ_API int epiq_plan_forecast(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                                epiq_result **out);

/* ---- compare: which model? --------------------------------------------------------------------------------------- */

/* Every combination of the lists, each judged by its error and its epistemic variance. */
typedef struct {
    size_t size; /* sizeof(epiq_grid) */
    const ptrdiff_t *widths, *depths;
    const double *lambdas, *biases;
    ptrdiff_t width_count, depth_count, lambda_count, bias_count; /* 0: the options' own value alone */
    ptrdiff_t folds; /* of the cross-validation, which trains; 0: none, the leave-one-out error decides */
} epiq_grid;

typedef struct {
    int known;
    double rmse, se; /* in target units; its standard error */
} epiq_rmse;

typedef struct {
    ptrdiff_t width, depth;
    double lambda, bias;
    epiq_rmse loo; /* leave-one-out, or each row without its group, of the kernel predictor: the same for every width */
    epiq_rmse cv;  /* of ensembles trained without a fold, on that fold */
    epiq_part procedural, data, variance; /* at the points: of one network; of the data; of the ensemble */
    epiq_part infinite;                   /* the procedural part at infinite width */
    int front;                            /* no other model has less of both error and variance */
    int by_construction; /* without bias every network is 0 at the scaled origin, one of the points: that is no merit, so
                          * variance is unknown */
} epiq_compared;

typedef struct {
    const epiq_compared *const *models;
    ptrdiff_t model_count;
    ptrdiff_t choice;   /* of these, from 0: among those of the front whose error is within one standard error of the
                         * best, the one with the least variance; where no variance is known, that of the least error;
                         * -1: none has an error */
    const char *reason; /* the same as a sentence */
    int by_cv;          /* which error decided: cv, or else loo */
    int by_group;       /* loo is without the whole group of each row, for every model */
    ptrdiff_t folds, members,
        ensemble_size; /* members: networks behind each procedural part; ensemble_size: behind each
                                              * prediction of a fold */
    ptrdiff_t trainings, converged, threads;
    const char *backend;
    const epiq_warning *const *warnings;
    ptrdiff_t warning_count;
} epiq_comparison;

/* The lists and members, folds and ensemble_size say what is trained: state, confidence and budget_networks do not count. */
EPIQ_API int epiq_compare(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                          const epiq_grid *grid, epiq_comparison **out);
EPIQ_API void epiq_comparison_free(epiq_ctx *c, epiq_comparison *r);
/* What that would cost, before anything is spent: as epiq_forecast; ran and bytes are those of the largest model. */
EPIQ_API int epiq_compare_forecast(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                                   const epiq_grid *grid, epiq_result **out);

#ifdef __cplusplus
}
#endif
#endif
