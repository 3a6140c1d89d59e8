/* dmat.h - what chol.h does, for a matrix distributed over the ranks of a cluster in the block-cyclic layout: block
 * (i, j) belongs to the rank in row i mod P and column j mod Q of the grid. A rank stores a full rectangle of about
 * n^2/(P Q) numbers, as ScaLAPACK requires, of which those above the diagonal are never touched. All functions are
 * collective: all ranks call them together, with the same vectors and right-hand sides, and get the same results.
 * Unlike on one machine, the last bits depend on the number of ranks.
 */
#ifndef EPIQP_DMAT_H
#define EPIQP_DMAT_H

#include "solve/chol.h"

/* One side of the grid: which blocks of rows, or of columns, belong to this rank. */
typedef struct {
    ptrdiff_t place, of; /* blocks place, place + of, place + 2 of, .. */
    ptrdiff_t block;     /* number of rows, or of columns, in a block */
    ptrdiff_t size;      /* and in all blocks of this rank */
} epiqp_side;

typedef struct {
    ptrdiff_t n;
    epiqp_side rows, cols;
    double *a;   /* rows.size by cols.size, column-major */
    double loss; /* of a factor, as in chol.h, or larger by at most the number of ranks */
} epiqp_dmat;

int epiqp_dmat_new(const epiqp_env *e, ptrdiff_t n, epiqp_dmat *out);
void epiqp_dmat_free(epiq_ctx *c, epiqp_dmat *t);
/* Bytes per rank, with the inverse or without. */
double epiqp_dmat_bytes(const epiq_cluster *k, ptrdiff_t n, bool inverse);

void epiqp_dmat_fill(const epiqp_env *e, const epiqp_source *from, epiqp_dmat *t); /* the blocks of this rank */
epiqp_source epiqp_dmat_source(const epiqp_dmat *t);                               /* copies blocks of this rank */

int epiqp_dmat_factor(const epiqp_env *e, const epiqp_source *from, double ridge, epiqp_dmat *t, double *jitter,
                      double *fill_s, double *factor_s);
int epiqp_dmat_solve(const epiqp_env *e, const epiqp_dmat *l, ptrdiff_t cols, double *b);
int epiqp_dmat_inverse(const epiqp_env *e, epiqp_dmat *l);

int epiqp_dmat_diagonal(const epiqp_env *e, const epiqp_dmat *t, double *out);
/* out = t s for cols columns of length n; squared: with the squares of the entries of t. */
int epiqp_dmat_times(const epiqp_env *e, const epiqp_dmat *t, bool squared, ptrdiff_t cols, const double *s,
                     double *out);
/* These rows (row NULL: first, first + 1, ..) and columns of the whole symmetric matrix, rows by cols. */
int epiqp_dmat_part(const epiqp_env *e, const epiqp_dmat *t, ptrdiff_t first, ptrdiff_t rows, const ptrdiff_t *row,
                    ptrdiff_t cols, const ptrdiff_t *col, double *out);

#endif
