/* ridge.h - kernel ridge regression with one factor for everything: A = K + lambda n I, c = A^-1 k0 for every point,
 * alpha = A^-1 y, and on demand diag(A^-1) and the row norms of A^-1 (docs/method.md section 3). Where the factor would
 * not fit, the same by iteration, without A; diagonal and norms then come from probes alone.
 */
#ifndef EPIQP_RIDGE_H
#define EPIQP_RIDGE_H

#include "solve/dmat.h"
#include "solve/gmat.h"
#include "solve/pcg.h"

/* The Cholesky factor of A, and A^-1: each is stored in this process, on a device, or distributed over the ranks of a
 * cluster, and the other members are empty (a NULL). The inverse is made in the factor's memory, so there is never more than one of the two:
 * epiqp_ridge_leverage leaves the factor empty, and no function that takes the one compiles with the other. */
typedef struct {
    epiqp_tri here;
    epiqp_dmat ranks;
    epiqp_gmat device;
} epiqp_factor;
typedef struct {
    epiqp_tri here;
    epiqp_dmat ranks;
    epiqp_gmat device;
} epiqp_inverse;

/* B = A^-1 B for cols columns of length n; not on a cluster. */
int epiqp_factor_solve(const epiqp_env *e, const epiqp_factor *f, ptrdiff_t cols, double *b);
/* A factor in this process, or one of a device, copied: out is new. Of others, or none: out stays empty. */
int epiqp_factor_copy(const epiqp_env *e, const epiqp_factor *f, epiqp_tri *out);
void epiqp_factor_free(epiq_ctx *c, epiqp_factor *f);

void epiqp_inverse_free(epiq_ctx *c, epiqp_inverse *b);
/* out = A^-1 s for cols columns of length n; squared: out_i = sum_j (A^-1)_ij^2 s_j, one column */
int epiqp_inverse_times(const epiqp_env *e, const epiqp_inverse *b, bool squared, ptrdiff_t cols, const double *s,
                        double *out);
/* These rows (row NULL: first, first + 1, ..) and columns of A^-1, rows by cols. */
int epiqp_inverse_part(const epiqp_env *e, const epiqp_inverse *b, ptrdiff_t first, ptrdiff_t rows,
                       const ptrdiff_t *row, ptrdiff_t cols, const ptrdiff_t *col, double *out);

typedef struct {
    ptrdiff_t n, points;
    double shift;             /* lambda n, and the jitter if one was needed: A = K + shift I */
    double jitter;            /* its part in shift, 0 when A was positive definite as it stood */
    double loss;              /* how many times rounding grows in the factor (chol.h); 0: there is none */
    epiqp_factor factor;      /* of A, until epiqp_ridge_leverage */
    double *alpha;            /* n */
    double *c;                /* points by n: c of point p starts at c + p n */
    epiqp_inverse inverse;    /* from epiqp_ridge_leverage until it is freed */
    double *diagonal, *norm2; /* n each, of A^-1: its diagonal and its rows' squares; NULL until epiqp_ridge_leverage */
    double fill_s, factor_s;
    epiqp_operator operator; /* in place of the factor; u == NULL: there is a factor */
    double tolerance;
    epiqp_pcg_report worst; /* of c and alpha */
    /* By iteration, points + 1 each, else NULL. bound: an upper bound of sqrt(e'A e), e being the error of the
     * solution of point p or, last, of alpha. first: what must be added to c'y of point p, up to an error of at most
     * open. */
    double *bound, *first, *open;
} epiqp_ridge;

/* k0: points by n, the kernel between rows and points. The ridge owns it from now on and overwrites it by c. */
int epiqp_ridge_new(const epiqp_env *e, ptrdiff_t n, const epiqp_source *kernel, double lambda, const double *y,
                    ptrdiff_t points, double *k0, epiqp_ridge *out);
/* With the factor in a scratch file in that folder, of which `resident` bytes may be in memory. Leverages then come
 * from probes alone. */
int epiqp_ridge_scratch(const epiqp_env *e, ptrdiff_t n, const epiqp_source *kernel, double lambda, const double *y,
                        ptrdiff_t points, double *k0, const char *folder, ptrdiff_t resident, epiqp_ridge *out);
/* By iteration, to this relative residual; what the kernel points to must live as long as the ridge. */
int epiqp_ridge_iterative(const epiqp_env *e, ptrdiff_t n, const epiqp_source *kernel, double lambda, const double *y,
                          ptrdiff_t points, double *k0, ptrdiff_t rank, double tolerance, uint64_t seed,
                          epiqp_ridge *out);
/* B = A^-1 B for cols columns of length n; rough: by iteration, only to a relative residual of 1e-4 and an
 * error of 3e-3. */
int epiqp_ridge_solve(const epiqp_env *e, epiqp_ridge *r, bool rough, ptrdiff_t cols, double *b);
/* By iteration: improves the columns `which` of c (number `points`: alpha) until their bounds are at most
 * `wanted`, or as small as they get. b: the right-hand sides of these columns, n each. */
int epiqp_ridge_continue(const epiqp_env *e, epiqp_ridge *r, ptrdiff_t cols, const ptrdiff_t *which,
                         const double *wanted, const double *b);
/* diagonal and norm2, from the inverse, which takes the place of the factor (not one in a scratch file): call it after
 * the last solve. Does nothing where they are known. */
int epiqp_ridge_leverage(const epiqp_env *e, epiqp_ridge *r);
void epiqp_ridge_free(epiq_ctx *c, epiqp_ridge *r);

#endif
