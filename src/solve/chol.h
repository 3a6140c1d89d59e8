/* chol.h - a symmetric positive definite matrix in one triangle, its Cholesky factor in place, its inverse in place
 * of the factor, and products with them. Storage: panels of `height` rows; a panel is column-major and holds all
 * columns up to its diagonal block, so that an update with everything to the left is a single matrix product. Half
 * the memory of a full matrix.
 */
#ifndef EPIQP_CHOL_H
#define EPIQP_CHOL_H

#include "la/la.h"
#include "la/source.h"

/* A source writes at most so many rows and columns at a time: among others, a block of a cluster. */
enum { EPIQP_BLOCK = EPIQ_BLOCK_MOST };
enum { EPIQP_ALONE = 640 }; /* rows up to which one thread is faster than waking several */

typedef struct {
    ptrdiff_t n, height, panels;
    double *a;
    ptrdiff_t resident; /* of a scratch file: bytes of it to keep in memory; 0: there is no such file */
    double loss;        /* of a factor: the growth of rounding errors in its weakest pivot */
} epiqp_tri;

/* L_ii^2 is a difference of numbers as large as A_ii and has their rounding error. Relative to L_ii^2, and in
 * solutions, that error is larger by this factor. */
static inline double epiqp_pivot_loss(double root, double diagonal)
{
    return diagonal / (root * root);
}
int epiqp_tri_new(epiq_ctx *c, ptrdiff_t n, epiqp_tri *out);
/* In a file in this folder that has no name and disappears with the process. epiqp_ridge_factor and epiqp_chol_solve
 * keep about `resident` bytes of it in memory at a time, at least two panels; other functions would read the whole
 * file again and again. */
int epiqp_tri_scratch(epiq_ctx *c, ptrdiff_t n, const char *folder, ptrdiff_t resident, epiqp_tri *out);
void epiqp_tri_free(epiq_ctx *c, epiqp_tri *t);
ptrdiff_t epiqp_tri_bytes(ptrdiff_t n);
epiqp_tri epiqp_tri_shape(ptrdiff_t n); /* a == NULL: sizes only */
/* Bytes of a scratch file in memory at the same time, at most. */
ptrdiff_t epiqp_tri_most(ptrdiff_t n, ptrdiff_t resident);

/* Rows of panel p: also its leading dimension. */
static inline ptrdiff_t epiqp_tri_rows(const epiqp_tri *t, ptrdiff_t p)
{
    return epiqp_min(t->height, t->n - p * t->height);
}
/* Row i of panel p in column j, j up to the panel's last row. */
static inline double *epiqp_tri_at(const epiqp_tri *t, ptrdiff_t p, ptrdiff_t i, ptrdiff_t j)
{
    return t->a + p * (p + 1) / 2 * t->height * t->height + i + j * epiqp_tri_rows(t, p);
}
double epiqp_tri_get(const epiqp_tri *t, ptrdiff_t i, ptrdiff_t j);

epiqp_source epiqp_source_stored(const epiqp_tri *t); /* the numbers of a stored matrix */

void epiqp_tri_fill(const epiqp_env *e, const epiqp_source *from, epiqp_tri *t); /* in parallel */

/* Factor source + ridge I. If that is not numerically positive definite, retry with a jitter of 1e-14, 1e-13 .. 1e-8
 * times the mean diagonal added; *jitter: what was needed (0: none); t->loss: see above. Times in seconds are
 * added to fill_s and factor_s. */
int epiqp_ridge_factor(const epiqp_env *e, const epiqp_source *from, double ridge, epiqp_tri *t, double *jitter,
                       double *fill_s, double *factor_s);

/* Leaves the message and returns the status. */
int epiqp_not_definite(epiq_ctx *c, ptrdiff_t pivot, ptrdiff_t n, double ridge);

/* B = A^-1 B for cols columns of length n, leading dimension n; groups of columns in parallel. */
void epiqp_chol_solve(const epiqp_env *e, const epiqp_tri *l, ptrdiff_t cols, double *b);

/* A^-1 (its lower triangle) in place of the factor. */
int epiqp_chol_inverse(const epiqp_env *e, epiqp_tri *l);
ptrdiff_t epiqp_inverse_bytes(ptrdiff_t n, int threads); /* bytes it needs besides */

/* out_i = sum_j t_ij^2 s_j, n each: t symmetric, its entries squared, times s. */
int epiqp_tri_squares_times(const epiqp_env *e, const epiqp_tri *t, const double *s, double *out);
/* out = t s for cols columns of length n, leading dimension n: t symmetric. */
void epiqp_tri_times(const epiqp_env *e, const epiqp_tri *t, ptrdiff_t cols, const double *s, double *out);

#endif
