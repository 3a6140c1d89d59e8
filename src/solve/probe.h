/* probe.h - what the corrections need of B = A^-1, estimated from random probes instead of the inverse
 * (docs/method.md section 3). A probe z has entries -1 or 1 at random; with a_i = z_i (B z)_i and b_i = z_i (B (s o
 * z))_i
 *     E a_i = B_ii,   E a_i^2 = (B^2)_ii,   E a_i b_i = sum_j B_ij^2 s_j
 * Probes are divided into groups: means without one group give the error (a jackknife).
 *
 * Where every B z is an iteration, the last of the three is computed only once, for w, the squares of alpha, together
 * with the first two. Any other s is split into the nearest multiple of w, whose sums follow from those of w, and a
 * rest, whose sums come from the first two (j = i) and from the squares of the preconditioner (the mean over all
 * other j). Rows that were solved for show the error of that; beyond 2 %, a solve is made for each s.
 */
#ifndef EPIQP_PROBE_H
#define EPIQP_PROBE_H

#include "solve/ridge.h"

enum { EPIQP_PROBE_GROUPS = 16 }; /* they give the error to 18 %; there are at least as many probes */

typedef struct {
    ptrdiff_t n, count;
    signed char *z;           /* count by n */
    double *a, *b;            /* count by n; b is scratch */
    double *diagonal_without; /* groups by n: B_ii from the probes of all other groups */
    double *norm2_without;    /* groups by n: (B^2)_ii from the probes of all other groups */
    /* only by iteration, else NULL */
    double *w;      /* n; NULL: a solve is made for each s */
    double *of_w;   /* n: sum_j B_ij^2 w_j, then groups by n: the same without one group */
    double *others; /* n: the sum of the preconditioner's squares in row i */
    /* rows whose column of B was solved for */
    ptrdiff_t rows, *row;
    float *share;        /* rows by n: B_ij^2/(B^2)_ii */
    signed char *solved; /* n: whether the row is one of them */
} epiqp_probes;

/* Also sets diagonal and norm2 of the ridge, from all probes. */
int epiqp_probes_new(const epiqp_env *e, epiqp_ridge *r, uint64_t seed, ptrdiff_t count, epiqp_probes *out);
/* Solves for the leverages of these rows; the probes are not used for them any more, nor for their sums below. To be
 * called at most once. */
int epiqp_probes_solve_rows(const epiqp_env *e, epiqp_ridge *r, epiqp_probes *p, ptrdiff_t count,
                            const ptrdiff_t *rows);
void epiqp_probes_free(epiq_ctx *c, epiqp_probes *p);

/* sums_i = estimate of sum_j B_ij^2 s_j; without (groups by n): the same without one group. s_without (groups by n, or
 * NULL): s as it is without one group; rows that were solved for use it in place of s there, the others do not. */
int epiqp_probes_squares_times(const epiqp_env *e, epiqp_ridge *r, epiqp_probes *p, const double *s,
                               const double *s_without, double *sums, double *without);

#endif
