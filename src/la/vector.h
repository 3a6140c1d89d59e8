/* vector.h - sums and elementwise steps over long vectors (vector.c). */
#ifndef EPIQP_VECTOR_H
#define EPIQP_VECTOR_H

#include <stddef.h>

/* Compiled for several instruction sets, of which the loader chooses one. Not with sanitizers, which are not
 * initialised when the loader chooses. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define EPIQP_VERSIONS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EPIQP_VERSIONS
#endif

double epiqp_dot(ptrdiff_t n, const double *x, const double *y);

/* The same with x in single precision: half the memory traffic where x is long and approximate. */
double epiqp_dot_single(ptrdiff_t n, const float *x, const double *y);
void epiqp_axpy_single(ptrdiff_t n, double a, const float *restrict x, double *restrict y);

/* Four vectors of floats, x_j = x + j ld, at once and in single precision, over few numbers: out_j += x_j'y; and
 * y += sum_j a_j x_j. */
void epiqp_dot_four(ptrdiff_t n, const float *x, ptrdiff_t ld, const float *y, double out[4]);
void epiqp_axpy_four(ptrdiff_t n, const float a[4], const float *restrict x, ptrdiff_t ld, float *restrict y);

/* y += a x */
void epiqp_axpy(ptrdiff_t n, double a, const double *restrict x, double *restrict y);

/* grad += pull (theta - from); returns |theta - from|^2 */
double epiqp_pull(ptrdiff_t n, double pull, const double *restrict theta, const double *restrict from,
                  double *restrict grad);

/* z = a x + b y + c z + e g */
void epiqp_mix(ptrdiff_t n, double a, const double *restrict x, double b, const double *restrict y, double c,
               double *restrict z, double e, const double *restrict g);

#endif
