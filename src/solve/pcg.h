/* pcg.h - A X = B for many right-hand sides at once without storing A = K + shift I: conjugate gradients on blocks of K
 * that are computed anew for each product, with a Nystrom preconditioner from some of its rows:
 *     K ~ F F',  F = K(:,S) L^-T,  L L' = K(S,S),  S rank rows drawn at random
 *     (F F' + shift I)^-1 r = (r - U U'r)/shift,  U = F R^-T,  R R' = shift I + F'F
 * F F' + shift I is at most A, so that the error e = A^-1 r of a solution with the residual r = b - A x has
 *     e'A e = r'A^-1 r <= r'(F F' + shift I)^-1 r,   |e|^2 <= e'A e/shift
 * The root of that middle term is the "bound" of a column: the iteration yields it, and it is computed anew at the end.
 * Memory is n (rank + 4 columns) and a strip of K, not n^2; a product costs n^2/2 entries of K and 2 n^2 columns flops.
 */
#ifndef EPIQP_PCG_H
#define EPIQP_PCG_H

#include "solve/chol.h"

typedef struct {
    ptrdiff_t n, rank;
    double shift;
    epiqp_source kernel; /* what it points to must live as long as the operator */
    double *u;           /* n by rank, column-major: U */
} epiqp_operator;

int epiqp_operator_new(const epiqp_env *e, ptrdiff_t n, const epiqp_source *kernel, double shift, ptrdiff_t rank,
                       uint64_t seed, epiqp_operator *out);
void epiqp_operator_free(epiq_ctx *c, epiqp_operator *a);

typedef struct {
    ptrdiff_t iterations; /* products with A until the slowest column converged */
    double residual;      /* the largest |b - A x|/|b|, from x itself and not from the recurrence */
    double *bound;        /* NULL, or cols: at least sqrt(e'A e) of each column */
    double *first; /* with bound: r'v of each column's residual r, v the solution of the last column, or as given */
} epiqp_pcg_report;

/* B = A^-1 B for cols columns of length n, each to |b - A x| <= residual |b|, and to |e| <= error |x| (0: no
 * condition) unless rounding prevents it. A residual that stays larger is a failure. */
int epiqp_operator_solve(const epiqp_env *e, const epiqp_operator *a, double residual, double error, ptrdiff_t cols,
                         double *b, epiqp_pcg_report *report);
/* Continues from the solutions x until their bounds are at most these, or as small as rounding and 1000 iterations
 * allow. against (n): the v of report->first. */
int epiqp_operator_continue(const epiqp_env *e, const epiqp_operator *a, const double *bound, ptrdiff_t cols,
                            const double *b, double *x, const double *against, epiqp_pcg_report *report);
/* Bytes that operator and solve use besides B; threads 0: without epiqp_operator_squares_times. */
double epiqp_operator_bytes(ptrdiff_t n, ptrdiff_t rank, ptrdiff_t cols, int threads);

/* out_i = sum over j != i of (U U')_ij^2 s_j: the preconditioner's squares off the diagonal of A^-1. */
int epiqp_operator_squares_times(const epiqp_env *e, const epiqp_operator *a, const double *s, double *out);

/* y = A x, cols columns. strip: EPIQP_STRIP by n, scratch. */
enum { EPIQP_STRIP = 256 };
void epiqp_operator_times(const epiqp_env *e, const epiqp_operator *a, ptrdiff_t cols, const double *x, double *strip,
                          double *y);

#endif
