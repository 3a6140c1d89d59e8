/* ridge.h - kernel ridge regression with one factor for everything: A = K + lambda n I, c = A^-1 k0 for every point,
 * alpha = A^-1 y, and on demand diag(A^-1) and the row norms of A^-1 (docs/method.md section 3). Where the factor would
 * not fit, the same by iteration, without A; diag and norms then come from probes alone.
 */
#ifndef EPIQP_RIDGE_H
#define EPIQP_RIDGE_H

#include "solve/pcg.h"
#include "solve/spread.h"

typedef struct {
    ptrdiff_t n, points;
    double shift;             /* lambda n, and the jitter if one was needed: A = K + shift I */
    double jitter;            /* its part in shift, 0 when A was positive definite as it stood */
    double loss;              /* how many times rounding grows in the factor (chol.h); 0: there is none */
    epiqp_tri factor;         /* of A; epiqp_ridge_leverage turns it into the inverse, and then a is NULL */
    double *alpha;            /* n */
    double *c;                /* points by n: c of point p starts at c + p n */
    epiqp_tri inverse;        /* A^-1, from epiqp_ridge_leverage on until someone frees it */
    double *diagonal, *norm2; /* n each, of A^-1: its diagonal and its rows' squares; NULL until epiqp_ridge_leverage */
    double fill_s, factor_s;
    epiqp_operator operator; /* instead of the factor; u NULL: there is one */
    double tolerance;
    epiqp_pcg_report worst; /* of c and alpha */
    /* By iteration, points + 1 each, else NULL. Of point p, and of alpha after them: sqrt(e'A e) at most, of the error e
     * of the solution. Of point p: what c'y lacks but for `open` at most. */
    double *bound, *first, *open;
    epiqp_spread spread; /* on a cluster, instead of factor and then of inverse; a NULL: they are here */
    bool spread_inverted;
} epiqp_ridge;

/* k0: points by n, the kernel between rows and points; taken over and turned into c. */
int epiqp_ridge_new(const epiqp_env *e, ptrdiff_t n, const epiqp_source *kernel, double lambda, const double *y,
                    ptrdiff_t points, double *k0, epiqp_ridge *out);
/* With the factor in a scratch file of that folder, of which `resident` bytes may be in memory: no leverages but from
 * probes. */
int epiqp_ridge_scratch(const epiqp_env *e, ptrdiff_t n, const epiqp_source *kernel, double lambda, const double *y,
                        ptrdiff_t points, double *k0, const char *folder, ptrdiff_t resident, epiqp_ridge *out);
/* By iteration, to this relative residual; what the kernel points to must live as long. */
int epiqp_ridge_iterative(const epiqp_env *e, ptrdiff_t n, const epiqp_source *kernel, double lambda, const double *y,
                          ptrdiff_t points, double *k0, ptrdiff_t rank, double tolerance, uint64_t seed,
                          epiqp_ridge *out);
/* B = A^-1 B for cols columns of length n; rough: by iteration a relative residual of 1e-4 and error of 3e-3
 * will do. */
int epiqp_ridge_solve(const epiqp_env *e, epiqp_ridge *r, bool rough, ptrdiff_t cols, double *b);
/* By iteration: the columns `which` of c, and points for alpha, until their bounds are at most `wanted`, or as near as they
 * get. b: the right-hand sides of these columns, n each. */
int epiqp_ridge_continue(const epiqp_env *e, epiqp_ridge *r, ptrdiff_t cols, const ptrdiff_t *which,
                         const double *wanted, const double *b);
/* In place of the factor, which there must be: whoever solves with it must have done so. */
int epiqp_ridge_leverage(const epiqp_env *e, epiqp_ridge *r);
void epiqp_ridge_free(epiq_ctx *c, epiqp_ridge *r);

/* The factor, or the inverse, wherever it lies. */
bool epiqp_ridge_has_factor(const epiqp_ridge *r); /* that can become the inverse */
bool epiqp_ridge_has_inverse(const epiqp_ridge *r);
void epiqp_ridge_drop_inverse(epiq_ctx *c, epiqp_ridge *r);
/* out_i = sum_j (A^-1)_ij^2 s_j */
int epiqp_ridge_squares_times(const epiqp_env *e, const epiqp_ridge *r, const double *s, double *out);
/* out = A^-1 s for cols columns of length n */
int epiqp_ridge_times(const epiqp_env *e, const epiqp_ridge *r, ptrdiff_t cols, const double *s, double *out);
/* The lower triangle of A^-1 at these rows and columns, count by count. */
int epiqp_ridge_corner(const epiqp_env *e, const epiqp_ridge *r, ptrdiff_t count, const ptrdiff_t *rows, double *out);
/* Rows i0 .. i0 + some - 1 of A^-1 in these columns, some by count. */
int epiqp_ridge_strip(const epiqp_env *e, const epiqp_ridge *r, ptrdiff_t i0, ptrdiff_t some, ptrdiff_t count,
                      const ptrdiff_t *cols, double *out);

#endif
