/* vector.h - sums and elementwise steps over long vectors (vector.c). */
#ifndef EPIQP_VECTOR_H
#define EPIQP_VECTOR_H

#include <stddef.h>

double epiqp_dot(ptrdiff_t n, const double *x, const double *y);
void epiqp_axpy(ptrdiff_t n, double a, const double *restrict x, double *restrict y); /* y += a x */
void epiqp_relu(ptrdiff_t n, double s, double beta, const double *restrict b,
                double *restrict f); /* f = s relu(f + beta b) */
void epiqp_gate(ptrdiff_t n, double s, const double *restrict w, const double *restrict g,
                double *restrict out); /* s w where g > 0, else 0 */
void epiqp_gate_sum(ptrdiff_t n, double s, double beta, const double *restrict b, const double *restrict g,
                    double *restrict t);                                    /* t = s (t + beta b) where g > 0, else 0 */
void epiqp_mask(ptrdiff_t n, const double *restrict g, double *restrict t); /* t where g > 0, else 0 */

#endif
