/* probe.h - what the corrections ask of B = A^-1, estimated from random probes instead of the inverse (docs/method.md
 * section 3). A probe z has entries -1 or 1 at random; with a_i = z_i (B z)_i and b_i = z_i (B (s o z))_i
 *     E a_i = B_ii,   E a_i^2 = (B^2)_ii,   E a_i b_i = sum_j B_ij^2 s_j
 * Probes lie in groups: means without one group tell the error (a jackknife).
 *
 * Where every B z is an iteration, the last of the three is not asked for again and again: once for w, the squares of
 * alpha, together with the first two. Of any other s the multiple of w nearest to it is had from that, and the rest from
 * the first two (j = i) and the squares of the preconditioner (the mean over all other j). Rows solved for tell how far
 * off that is; beyond 2 %, each s is solved with after all.
 */
#ifndef EPIQP_PROBE_H
#define EPIQP_PROBE_H

#include "solve/ridge.h"

enum { EPIQP_PROBE_GROUPS = 16 }; /* they tell the error to 18 %; and there are at least so many probes */

typedef struct {
    ptrdiff_t n, count;
    signed char *z;           /* count by n */
    double *a, *b;            /* count by n; b is scratch */
    double *diagonal_without; /* groups by n: B_ii from the probes of all other groups */
    double *norm2_without;    /* groups by n: (B^2)_ii likewise */
    /* by iteration alone, else NULL */
    double *w;      /* n; NULL from when on each s is solved with */
    double *of_w;   /* n: sum_j B_ij^2 w_j, then groups by n: the same without one group */
    double *others; /* n: what the preconditioner's squares of row i add up to */
    /* rows whose column of B was solved for */
    ptrdiff_t rows, *row;
    float *share;        /* rows by n: B_ij^2/(B^2)_ii */
    signed char *solved; /* n: whether it is one of them */
} epiqp_probes;

/* Also gives the ridge its diagonal and norm2, from all probes. */
int epiqp_probes_new(const epiqp_env *e, epiqp_ridge *r, uint64_t seed, ptrdiff_t count, epiqp_probes *out);
/* Leverages of these rows, solved for: from then on the probes have no part in them, nor in their sums below. Once. */
int epiqp_probes_solve_rows(const epiqp_env *e, epiqp_ridge *r, epiqp_probes *p, ptrdiff_t count,
                            const ptrdiff_t *rows);
void epiqp_probes_free(epiq_ctx *c, epiqp_probes *p);

/* sums_i = estimate of sum_j B_ij^2 s_j; without (groups by n): the same without one group. s_without (groups by n, or
 * NULL): s as it is without one group; rows that were solved for take it in place of s there, the others do not. */
int epiqp_probes_squares_times(const epiqp_env *e, epiqp_ridge *r, epiqp_probes *p, const double *s,
                               const double *s_without, double *sums, double *without);
/* sum_j B_ij^2 s_j/(B^2)_ii of row i = row[k], exactly; and the sums of all rows that were solved for. */
double epiqp_probes_row_mean(const epiqp_probes *p, ptrdiff_t k, const double *s);
void epiqp_probes_rows_times(const epiqp_env *e, const epiqp_ridge *r, const epiqp_probes *p, const double *s,
                             const double *s_without, double *sums, double *without);

#endif
