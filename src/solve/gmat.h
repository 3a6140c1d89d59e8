/* gmat.h - what chol.h does, for a matrix in the memory of a device (epiq_device.h): a full square there, of which the
 * lower triangle counts. Vectors and right-hand sides are the caller's. Functions may be called from several threads.
 */
#ifndef EPIQP_GMAT_H
#define EPIQP_GMAT_H

#include "solve/chol.h"

typedef struct {
    ptrdiff_t n;
    const epiq_device *device;
    epiq_device_matrix *a; /* NULL: empty */
    double loss;           /* of a factor, as in chol.h */
} epiqp_gmat;

/* Rows from which a factor on the device is faster than on the processor: below, copies and launches take the time. */
enum { EPIQP_GMAT_ROWS = 2000 };

/* Whether a matrix of n rows is solved with on the device: it fits and is worth while, or must be there. */
bool epiqp_gmat_takes(const epiqp_env *e, ptrdiff_t n);
/* Fails, with alternatives, if it must be there and does not fit. */
int epiqp_gmat_check(const epiqp_env *e, ptrdiff_t n);
double epiqp_gmat_bytes(ptrdiff_t n);      /* of the device's memory */
double epiqp_gmat_host_bytes(ptrdiff_t n); /* of this process */

/* Sums of empirical kernels (epiq_device.empirical). Whether they are made on the device, now that so much of its memory is
 * free; then the matrix, which the first addition fills. */
bool epiqp_gmat_sums(const epiqp_env *e, const epiq_device_network *net);
int epiqp_gmat_new(const epiqp_env *e, ptrdiff_t n, epiqp_gmat *out);
int epiqp_gmat_add(const epiqp_env *e, epiqp_gmat *t, const epiq_device_network *net, double by, bool first,
                   double *k0);

/* A factor, as epiqp_ridge_factor makes it. On failure there is no matrix. */
int epiqp_gmat_factor(const epiqp_env *e, ptrdiff_t n, const epiqp_source *from, double ridge, epiqp_gmat *out,
                      double *jitter, double *fill_s, double *factor_s);
void epiqp_gmat_free(epiqp_gmat *t);
int epiqp_gmat_solve(const epiqp_env *e, const epiqp_gmat *l, ptrdiff_t cols, double *b);
int epiqp_gmat_inverse(const epiqp_env *e, epiqp_gmat *l); /* in place of the factor */
int epiqp_gmat_diagonal(const epiqp_env *e, const epiqp_gmat *t, double *out);
/* out = t s for cols columns of length n; squared: with the squares of the entries of t. */
int epiqp_gmat_times(const epiqp_env *e, const epiqp_gmat *t, bool squared, ptrdiff_t cols, const double *s,
                     double *out);
/* These rows (row NULL: first, first + 1, ..) and columns of the whole symmetric matrix, rows by cols. */
int epiqp_gmat_part(const epiqp_env *e, const epiqp_gmat *t, ptrdiff_t first, ptrdiff_t rows, const ptrdiff_t *row,
                    ptrdiff_t cols, const ptrdiff_t *col, double *out);
/* Copies the lower triangle to one in this process, whose memory is there. */
int epiqp_gmat_copy(const epiqp_env *e, const epiqp_gmat *t, epiqp_tri *out);
/* The other way. On failure there is no matrix. */
int epiqp_gmat_load(const epiqp_env *e, const epiqp_tri *from, epiqp_gmat *out);

#endif
