/* folds.h - networks that have not seen a part of the rows: their errors there, and what retraining starts from. */
#ifndef EPIQP_FOLDS_H
#define EPIQP_FOLDS_H

#include "est/ev.h"
#include "est/response.h"

/* Which rows are left out together, and which way retraining moves targets. */
typedef struct epiqp_folds {
    ptrdiff_t count;
    ptrdiff_t starts;  /* networks trained without each fold */
    epiqp_listed rows; /* that each fold leaves out */
    /* of retraining; 0 and NULL where the plan does not retrain */
    ptrdiff_t replicates;
    ptrdiff_t vectors; /* of signs; vector r belongs to fold r mod count; as many as replicates, or folds if more */
    signed char *sign; /* vectors by n */
} epiqp_folds;
/* Of a plan whose options and numbers of networks are set. */
int epiqp_folds_new(const epiqp_problem *pb, const epiqp_plan *plan, const epiqp_folds **out);
ptrdiff_t epiqp_fold_count(const epiqp_problem *pb, const epiq_options *o); /* as many as there are groups, at most */

/* The rows that a fold's networks are trained on, and what they predict. */
typedef struct {
    epiqp_fit fit;    /* with lambda n as for all rows */
    ptrdiff_t n, out; /* rows trained on, rows left out */
    ptrdiff_t *row;   /* n: which of all */
    double *x, *y;    /* n by d, n */
    ptrdiff_t asked;  /* rows left out, and after them the points */
    double *at;       /* starts by asked: predictions there */
    /* of the first EPIQP_STARTS networks, where the plan retrains */
    double *fitted; /* EPIQP_STARTS by n: predictions at the rows trained on, */
    double *centre; /* n: and their mean */
} epiqp_fold;

typedef struct {
    epiqp_fold *list; /* plan->folds->count; NULL: there are none */
    double *mean,
        *between; /* n: at each row, by the networks that have not seen it: their mean and sample variance; between
                             * NULL: they are not all trained */
} epiqp_fold_findings;
int epiqp_estimate_folds(const epiqp_problem *pb, const epiqp_maker *maker, epiqp_fold_findings *found);
void epiqp_fold_findings_free(const epiqp_problem *pb, epiqp_fold_findings *found);
epiqp_draw epiqp_fold_draw(const epiqp_problem *pb, ptrdiff_t fold, ptrdiff_t start); /* where its network starts */
/* All networks that the plan trains without a fold, those of retraining among them. */
ptrdiff_t epiqp_fold_networks(const epiqp_problem *pb, const epiqp_plan *plan);
double epiqp_folds_bytes(const epiqp_problem *pb, const epiqp_plan *plan);

/* The variance between the networks at every row left out (n), each drawn towards that of all rows. */
int epiqp_moderate_folds(const epiqp_problem *pb, const epiqp_fold_findings *folds, double *out);
/* EV at the points that leave rows out: by the networks that have not seen the row. The few of a fold tell a variance only
 * roughly; it is drawn towards what the networks of all rows say there, as far as the two agree over the rows. */
int epiqp_ev_left_out(const epiqp_problem *pb, const epiqp_fold_findings *folds, epiqp_ev_findings *found);

#endif
