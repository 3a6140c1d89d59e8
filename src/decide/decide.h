/* decide.h - from estimates to decisions: what the files of this folder share. */
#ifndef EPIQP_DECIDE_H
#define EPIQP_DECIDE_H

#include "epiq_decide.h"
#include "est/variance.h"
#include "run/run.h"

/* A part's mean over the points of a result (part: its offset in epiq_point); unknown where it is unknown at a point.
 * The interval is valid for any correlation between the points; of n rows left out, the data part has that of their errors. */
epiq_part epiqp_part_mean(const epiq_result *r, ptrdiff_t n, size_t part, double level);

/* ---- how both parts fall with rows (fall.c) ---- */

/* A part at n' rows is (n/n')^measured times that at n: measured between half of the rows and all of them. */
typedef struct {
    double measured, se;
} epiqp_exponent;
typedef struct {
    bool known;     /* false: too few rows or groups to halve */
    ptrdiff_t rows; /* that were halved: all, or a sample of them */
    epiqp_exponent data, procedural;
} epiqp_fall;
int epiqp_fall_measure(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                       epiqp_fall *out);
double epiqp_fall_operations(const epiq_data *data, const epiq_points *at, const epiq_options *o); /* of that, about */

/* ---- networks without their starts (corrected.c) ---- */

/* *left: the retraining variance of a shifted network over that of a plain one, at the points; below 0: unknown. Trains a few of
 * both. o: the options of an estimate as it ran */
int epiqp_corrected_measure(epiq_ctx *c, const epiq_points *at, const epiq_options *o, double *left);
int epiqp_corrected_forecast(epiq_ctx *c, const epiq_points *at, const epiq_options *o, double *seconds); /* of that */

/* ---- buying whole rows and whole networks (mix.c) ---- */

typedef struct {
    double n, m;                      /* rows and networks there are */
    double price_row, price_training; /* all new networks are trained, with new rows every one is again */
    double data, tau2;                /* V(n', m') = data (n/n')^a + tau2 (n/n')^b / m', */
    double a, b;                      /* both from 0 to 1 */
    double most;                      /* networks that may be bought; 0: EPIQP_MOST */
} epiqp_market;

typedef struct {
    double n, m, trainings, cost, variance;
} epiqp_purchase;

#define EPIQP_MOST 1e9 /* rows or networks: more than any machine holds, and exact as doubles */

double epiqp_data_at(const epiqp_market *k, double n); /* data (n/n')^a */
double epiqp_tau2_at(const epiqp_market *k, double n);
epiqp_purchase epiqp_buy_nothing(const epiqp_market *k);
bool epiqp_cheapest(const epiqp_market *k, double goal, epiqp_purchase *out); /* false: no mix reaches it */
epiqp_purchase epiqp_best(const epiqp_market *k, double budget);

/* ---- how far off predictions are (folds.c) ---- */

/* The root of the mean of e2 (squared errors, one per row); rows of a group err together. */
int epiqp_error_of(epiq_ctx *c, const epiq_data *data, const double *e2, epiq_rmse *out);

/* Learn from all rows but those of fold number k, scaled anew, and fill in their squared errors: of the mean of
 * o->ensemble_size networks, or of the closed form. between: NULL, or (n) the variance between the networks there, below 0 where
 * it is unknown. trained counts networks and those converged. */
int epiqp_fold_errors(epiq_ctx *c, const epiq_data *data, const ptrdiff_t *fold, ptrdiff_t k, const epiq_options *o,
                      double *e2, double *between, ptrdiff_t trained[2]);

/* ---- which model (front.c): error is the cross-validated one or that of leave-one-out ---- */

void epiqp_front(epiq_compared *models, ptrdiff_t count, bool by_cv); /* fills in front */
int epiqp_choose(epiq_ctx *c, epiqp_arena *arena, const epiq_compared *models,
                 epiq_comparison *r); /* choice and reason */

#endif
