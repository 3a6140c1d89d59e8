/* retrain.h - the data part of the networks that are trained (docs/method.md section 3): rows are dealt into folds, and
 * networks that have not seen a fold are trained again on targets moved by random signs times a size for every row.
 */
#ifndef EPIQP_RETRAIN_H
#define EPIQP_RETRAIN_H

#include "est/folds.h"

ptrdiff_t epiqp_retrain_networks(const epiqp_problem *pb, const epiq_options *o); /* with those without a fold */
double epiqp_retrain_bytes(const epiqp_problem *pb, const epiqp_plan *plan);

/* ---- the answers of kernel and linear regression to the same steps: reference.c ---- */

/* At the rows and at the points. */
typedef struct {
    bool known;        /* false: rows in groups cannot be left out, and IF's data part stays */
    double *size;      /* n: of a row's step, in units of one step for all rows */
    double *u;         /* vectors by n: c'u is kernel regression's answer at a point, without the fold; NULL: unknown */
    double *response;  /* vectors by n: kernel regression's answer to the steps, at the rows; NULL: unknown */
    double *expected;  /* n: of its answer at the row left out, squared */
    double *error;     /* n: kernel regression's left-out errors */
    double *error2;    /* n: their squares, the mean over several ways to deal the rows into folds; NULL: unknown */
    double *alone;     /* n: noise of each row without misfit, 0: unknown; NULL: of none */
    double mean_noise; /* mean noise variance of the rows by IF, scaled */
    epiqp_ols ols;
    epiqp_expected *at; /* points; NULL: unknown */
} epiqp_reference;
struct epiqp_if_findings;
/* While the inverse is there. */
int epiqp_reference_new(const epiqp_problem *pb, const epiqp_solution *sol, const struct epiqp_if_findings *found,
                        epiqp_reference *out);
/* b = B_FF^-1 b for cols columns, B = A^-1 and F these rows; of alpha at F that is the errors without F. block: size by size.
 * *known false: B_FF is not positive definite to rounding. */
int epiqp_solve_left_out(const epiqp_env *e, const epiqp_ridge *r, ptrdiff_t size, const ptrdiff_t *rows,
                         ptrdiff_t cols, double *b, double *block, bool *known);
int epiqp_reference_room(const epiqp_problem *pb, epiqp_reference *out); /* size, expected, error */
epiqp_steps epiqp_steps_of(const epiqp_problem *pb, const epiqp_folds *folds, const epiqp_reference *ref);
double epiqp_rounded(double v); /* to 24 bits: the same targets whatever the last digits of a solver are */

/* ---- the networks: retrain.c ---- */

typedef struct {
    bool known;                             /* the data part is that of the networks */
    ptrdiff_t replicates, starts, networks; /* sign vectors; starts of each; networks trained */
    const char *reason; /* why the data part is made so, or why it is not; NULL: assemble.c has one */
    epiqp_followed followed;
    double kappa_se;
    double error2;         /* mean square of left-out errors of the mean network, scaled */
    double noise_variance; /* that they leave, scaled */
    double *kappa;         /* points; NULL: not measured */
    epiq_part *part;       /* points: the data part; NULL: IF's stays */
    epiqp_kept weights;    /* of each replicate the starts with plus, then those with minus; theta NULL: not kept */
} epiqp_retrain_findings;
int epiqp_estimate_retrain(const epiqp_problem *pb, const epiqp_maker *maker, const struct epiqp_if_findings *influence,
                           const epiqp_fold_findings *folds, const epiq_part *ev, epiqp_retrain_findings *found);

#endif
