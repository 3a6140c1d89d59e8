/* chol.h - a symmetric positive definite matrix in one triangle, its Cholesky factor in place, and what follows from
 * it. Storage: block rows of EPIQP_BLOCK rows; block row i is one column-major panel of all columns up to its diagonal
 * block, so that an update with everything to the left is a single matrix product. Half the memory of a full matrix.
 */
#ifndef EPIQP_CHOL_H
#define EPIQP_CHOL_H

#include "la/la.h"

enum { EPIQP_BLOCK = 128 }; /* large enough for 90 % of gemm's peak, small enough that n = 500 keeps two threads busy */

typedef struct {
    ptrdiff_t n, blocks;
    double *a;
} epiqp_tri;

int epiqp_tri_new(epiq_ctx *c, ptrdiff_t n, epiqp_tri *out);
void epiqp_tri_free(epiq_ctx *c, epiqp_tri *t);
ptrdiff_t epiqp_tri_bytes(ptrdiff_t n);

static inline ptrdiff_t epiqp_tri_rows(const epiqp_tri *t,
                                       ptrdiff_t i) /* in block row i; the panel's leading dimension */
{
    return epiqp_min(EPIQP_BLOCK, t->n - i * EPIQP_BLOCK);
}
static inline double *epiqp_tri_block(const epiqp_tri *t, ptrdiff_t i, ptrdiff_t j)
{
    return t->a + i * (i + 1) / 2 * EPIQP_BLOCK * EPIQP_BLOCK + j * EPIQP_BLOCK * epiqp_tri_rows(t, i);
}
double epiqp_tri_get(const epiqp_tri *t, ptrdiff_t i, ptrdiff_t j);

/* Something that can write any block of a symmetric matrix: rows i0.. by columns j0.., column-major, leading dimension
 * ld. */
typedef struct {
    void (*block)(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                  ptrdiff_t ld);
    const void *self;
} epiqp_source;

void epiqp_tri_fill(const epiqp_env *e, const epiqp_source *from, epiqp_tri *t); /* in parallel, straight into place */

/* Factor source + ridge I. If that is not numerically positive definite, retry with a jitter of 1e-14, 1e-13 .. 1e-8
 * times the mean diagonal added; *jitter says what was needed (0: none). Times in seconds are added to fill_s,
 * factor_s. */
int epiqp_ridge_factor(const epiqp_env *e, const epiqp_source *from, double ridge, epiqp_tri *t, double *jitter,
                       double *fill_s, double *factor_s);

/* B = A^-1 B for cols columns of length n, leading dimension n; column blocks in parallel. */
void epiqp_chol_solve(const epiqp_env *e, const epiqp_tri *l, ptrdiff_t cols, double *b);

/* A^-1 (its lower triangle) from the factor. */
int epiqp_chol_inverse(const epiqp_env *e, const epiqp_tri *l, epiqp_tri *inverse);

/* out_i = sum_j t_ij^2 s_j, n each: t symmetric, its entries squared, times s. */
void epiqp_tri_squares_times(const epiqp_env *e, const epiqp_tri *t, const double *s, double *out);

#endif
