/* rowwise.h - IF when the noise differs from row to row: by each row's own residual, and smoothed over rows near each other. */
#ifndef EPIQP_ROWWISE_H
#define EPIQP_ROWWISE_H

#include "est/plan.h"

/* ---- rowwise.c ---- */

typedef struct {
    double *excess;  /* n: a row's noise less its standardised residual squared, in unit^2 */
    double *without; /* groups of probes by n: the same without one group; NULL: not wanted */
    double unit;     /* the largest standardised residual */
    double kurtosis; /* of them */
} epiqp_rowwise;
/* From the inverse, or from probes if there are any. r_std: standardised residuals; r_without (groups of probes by n, or
 * NULL): the same without one group. */
int epiqp_rowwise_new(const epiqp_problem *pb, epiqp_ridge *r, epiqp_probes *probes, const double *r_std,
                      const double *r_without, epiqp_rowwise *out);
/* sum_i c_i^2 excess_i without group g of the probes. */
double epiqp_rowwise_share(const epiqp_rowwise *w, ptrdiff_t g, const double *c, ptrdiff_t n);
#define EPIQP_ROWWISE_FLOOR 0.5 /* of the unbiased V: excess may be negative, and their sum must not */

/* Sums at a point, in units that neither overflow nor vanish. */
typedef struct {
    double unit, c_max;  /* bounds of |v| and of |c| */
    double total, plain; /* V before any floor, and the unbiased V, in unit^2 */
    double F;            /* sum of (u_i - mean u)^2 */
    double c2, c4;       /* sums of (c_i/c_max)^2 and of its squares */
} epiqp_row_sums;
/* v: c times the standardised residuals; u: scratch of n. False: V is 0. */
bool epiqp_rowwise_sums(const epiqp_rowwise *w, const double *v, const double *c, ptrdiff_t n, double *u,
                        epiqp_row_sums *out);
epiq_part epiqp_if_rowwise(const epiqp_rowwise *w, const double *v, const double *c, ptrdiff_t n, double *u,
                           double level, bool *floored);

/* ---- smooth.c: which rows are near each other, and the noise of each row smoothed over them ---- */

enum { EPIQP_NEAR_ROWS = 2048 }; /* the most rows that neighbours are chosen among, so that it costs O(n) */
typedef struct epiqp_near {
    ptrdiff_t count;
    ptrdiff_t *member; /* count: which rows, rising */
    double *self;      /* n: K_ii */
    const epiqp_arch *arch;
    const epiqp_rows *rows;
    epiqp_rows some;    /* the members' */
    const float *apart; /* n by count, instead of these: the distances themselves */
} epiqp_near;
ptrdiff_t epiqp_near_count(ptrdiff_t n);
/* Of a kernel that is stored. */
int epiqp_near_stored(const epiqp_problem *pb, double (*at)(const void *kernel, ptrdiff_t i, ptrdiff_t k),
                      const void *kernel, const epiqp_near **near);
double epiqp_tri_near(const void *kernel, ptrdiff_t i, ptrdiff_t k); /* such an `at`: of an epiqp_tri */

typedef struct {
    double *noise;  /* n: smoothed, in the units of q */
    double *sd;     /* n: its standard deviation */
    double mean;    /* of the rows' noise, weighted as their residuals weigh: if it were equal */
    double varies;  /* how far noise varies over x, as a relative variance of the smoothed V */
    double weights; /* sum of the weights */
} epiqp_smoothed;
/* Squared residuals q_i (n), each of expectation noise_i if the weight N_i (n) is that of its residual, smoothed. noise and
 * sd of out are n each. */
int epiqp_smooth(const epiqp_problem *pb, const epiqp_solution *sol, const double *q, const double *weight,
                 epiqp_smoothed *out);
double epiqp_smooth_bytes(ptrdiff_t n);

/* ---- moderated.c: the smoothed and the rowwise V averaged ---- */

typedef struct {
    epiqp_smoothed by;                  /* in the unit^2 of rowwise */
    double without[EPIQP_PROBE_GROUPS]; /* by what factor it differs without one group of probes, about */
} epiqp_moderated;
typedef struct {
    double rowwise; /* the rowwise V's share in V */
    bool floored;
} epiqp_moderation;
int epiqp_moderated_new(const epiqp_problem *pb, const epiqp_solution *sol, const epiqp_probes *probes,
                        const double *r_std, const epiqp_rowwise *rows, epiqp_moderated *out);
epiq_part epiqp_if_moderated(const epiqp_rowwise *rows, const epiqp_smoothed *by, const double *v, const double *c,
                             ptrdiff_t n, double *u, double level, epiqp_moderation *how);

/* ---- noise.c ---- */

/* The noise variance of every row (n, scaled; 0: unknown) without what the fit misses of the function, from the inverse. */
int epiqp_noise_alone(const epiqp_problem *pb, const epiqp_solution *sol, double *noise);
double epiqp_noise_alone_bytes(ptrdiff_t n);

#endif
