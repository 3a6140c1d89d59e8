/* kernel.h - tangent kernels: K (NTK) and Q (NNGP) of infinitely wide networks in closed form, accurate to the last
 * digits where rows nearly coincide, and the empirical kernel <J(x), J(x')> of a drawn network.
 */
#ifndef EPIQP_KERNEL_H
#define EPIQP_KERNEL_H

#include "la/source.h"
#include "net/net.h"

typedef struct {
    ptrdiff_t depth;
    double beta, v; /* v = beta^2 s_b^2 */
} epiqp_arch;
epiqp_arch epiqp_arch_of(const epiqp_net *net);

#define EPIQP_LARGEST_SQUARE 1e300 /* of |x|^2: room for a product with the bias and the depth */

/* ---- points that the kernel cannot take as they are ---- */

typedef enum { EPIQP_POINT_FINE, EPIQP_POINT_AT_ORIGIN, EPIQP_POINT_TOO_FAR } epiqp_point_kind;
/* Without bias the network is 0 at x = 0, always. Where biases start at 0 its kernel depends on the direction of x alone,
 * however near 0 it is, and jumps there: then a point that is 0 but for rounding, beside the longest row's |x|^2, is set to
 * 0, since its direction is noise. x: d, scaled. */
epiqp_point_kind epiqp_point_settle(const epiq_options *o, double longest2, ptrdiff_t d, double *x);
/* The first feature of x that is below least or above most (d each) by more than rounding; -1: none is. */
ptrdiff_t epiqp_point_outside(ptrdiff_t d, const double *x, const double *least, const double *most);

/* Rows laid out for kernels. */
enum { EPIQP_PANEL = 16 }; /* rows stored side by side: two of the widest vectors */
typedef struct {
    ptrdiff_t n, d;
    const double *x; /* n by d, owned by the caller */
    double *panels;  /* of EPIQP_PANEL rows, each d by EPIQP_PANEL; the last one filled up with zeros */
    double *norm2;   /* |x|^2 of the n rows, and zeros for those that fill up the last panel */
} epiqp_rows;
/* Refuses |x|^2 above EPIQP_LARGEST_SQUARE. */
int epiqp_rows_new(epiq_ctx *c, ptrdiff_t n, ptrdiff_t d, const double *x, epiqp_rows *out);
void epiqp_rows_free(epiq_ctx *c, epiqp_rows *r);

/* A block of K and/or Q (either may be NULL): rows i0.. of a by rows j0.. of b, column-major. */
void epiqp_kernel_block(const epiqp_arch *arch, const epiqp_rows *a, ptrdiff_t i0, ptrdiff_t rows, const epiqp_rows *b,
                        ptrdiff_t j0, ptrdiff_t cols, double *k, double *q, ptrdiff_t ld);

/* The loops for the k-th instruction set of this machine, best first; the last is plain C, the reference for the
 * others; NULL after it. */
typedef void epiqp_kernel_loop(const epiqp_arch *arch, const epiqp_rows *a, ptrdiff_t i0, ptrdiff_t rows,
                               const epiqp_rows *b, ptrdiff_t j0, ptrdiff_t cols, double *k, double *q, ptrdiff_t ld);
epiqp_kernel_loop *epiqp_kernel_set(int k);

/* Of each row with itself. */
void epiqp_kernel_diagonal(const epiqp_arch *arch, const epiqp_rows *a, double *k, double *q);

/* K(a, b) and/or Q(a, b) whole, column-major a.n by b.n, in parallel */
void epiqp_kernel_cross(const epiqp_env *e, const epiqp_arch *arch, const epiqp_rows *a, const epiqp_rows *b, double *k,
                        double *q);

/* Sources for epiqp_tri_fill */
typedef struct {
    const epiqp_arch *arch;
    const epiqp_rows *rows;
} epiqp_population;
epiqp_source epiqp_source_ntk(const epiqp_population *p);
epiq_device_kernel epiqp_kernel_described(const epiqp_arch *arch, const epiqp_rows *rows);

typedef struct {
    const epiqp_la *la;
    const epiqp_features *f;
} epiqp_empirical;
epiqp_source epiqp_source_empirical(const epiqp_empirical *p);

/* The empirical kernel between two sets of rows under the same weights: a block, column-major. */
void epiqp_empirical_block(const epiqp_la *la, const epiqp_features *a, ptrdiff_t i0, ptrdiff_t rows,
                           const epiqp_features *b, ptrdiff_t j0, ptrdiff_t cols, double *out, ptrdiff_t ld);

#endif
