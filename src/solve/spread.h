/* spread.h - what chol.h does, with a matrix that lies spread over the ranks of a cluster: square blocks, block (i, j)
 * with the rank in row i mod P and column j mod Q of their grid. A rank has a full rectangle of about n^2/(P Q) numbers,
 * as ScaLAPACK wants it, of which those above the diagonal are never touched. All ranks call all of this together;
 * vectors and right-hand sides are the same on each of them, before and after. Unlike one machine's, the last bits depend
 * on the number of ranks.
 */
#ifndef EPIQP_SPREAD_H
#define EPIQP_SPREAD_H

#include "solve/chol.h"

/* One side of the grid: which blocks of rows, or of columns, are this rank's. */
typedef struct {
    ptrdiff_t place, of; /* blocks place, place + of, place + 2 of, .. */
    ptrdiff_t size;      /* rows, or columns, in them */
} epiqp_side;

typedef struct {
    ptrdiff_t n, block;
    epiqp_side rows, cols;
    double *a;   /* rows.size by cols.size, column-major */
    double loss; /* of a factor, as chol.h has it, or at most so many times that as there are ranks */
} epiqp_spread;

int epiqp_spread_new(const epiqp_env *e, ptrdiff_t n, epiqp_spread *out);
void epiqp_spread_free(epiq_ctx *c, epiqp_spread *t);
epiqp_spread epiqp_spread_shape(const epiq_cluster *k, ptrdiff_t n);         /* without memory */
double epiqp_spread_bytes(const epiq_cluster *k, ptrdiff_t n, bool inverse); /* that a rank uses, for the inverse too */

void epiqp_spread_fill(const epiqp_env *e, const epiqp_source *from, epiqp_spread *t); /* what is this rank's */
epiqp_source epiqp_spread_source(const epiqp_spread *t); /* blocks of it, of those that are this rank's */

int epiqp_spread_factor(const epiqp_env *e, const epiqp_source *from, double ridge, epiqp_spread *t, double *jitter,
                        double *fill_s, double *factor_s);
int epiqp_spread_solve(const epiqp_env *e, const epiqp_spread *l, ptrdiff_t cols, double *b);
int epiqp_spread_inverse(const epiqp_env *e, epiqp_spread *l);

int epiqp_spread_diagonal(const epiqp_env *e, const epiqp_spread *t, double *out);
int epiqp_spread_squares_times(const epiqp_env *e, const epiqp_spread *t, const double *s, double *out);
int epiqp_spread_times(const epiqp_env *e, const epiqp_spread *t, ptrdiff_t cols, const double *s, double *out);
/* The lower triangle of what these rows have in these columns, count by count. */
int epiqp_spread_corner(const epiqp_env *e, const epiqp_spread *t, ptrdiff_t count, const ptrdiff_t *rows, double *out);
/* Rows i0 .. i0 + some - 1 of the whole symmetric matrix in these columns, some by count. */
int epiqp_spread_strip(const epiqp_env *e, const epiqp_spread *t, ptrdiff_t i0, ptrdiff_t some, ptrdiff_t count,
                       const ptrdiff_t *cols, double *out);

#endif
