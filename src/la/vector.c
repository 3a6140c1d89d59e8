/* vector.c - loops over long vectors, compiled for several instruction sets and chosen at load time. Each element's
 * arithmetic and the order of every sum are fixed (and not contracted), so all versions give the same bits.
 */
#include "la/vector.h"

enum { PARTS = 16 }; /* independent sums: they vectorise, and they lose fewer digits than one */

EPIQP_VERSIONS double epiqp_dot(ptrdiff_t n, const double *x, const double *y)
{
    double part[PARTS] = {0}, sum = 0;
    ptrdiff_t i = 0;
    for (; i + PARTS <= n; i += PARTS) {
        for (int k = 0; k < PARTS; k++) {
            part[k] += x[i + k] * y[i + k];
        }
    }
    for (; i < n; i++) {
        sum += x[i] * y[i];
    }
    for (int k = 0; k < PARTS; k++) {
        sum += part[k];
    }
    return sum;
}

EPIQP_VERSIONS double epiqp_dot_single(ptrdiff_t n, const float *x, const double *y)
{
    double part[PARTS] = {0}, sum = 0;
    ptrdiff_t i = 0;
    for (; i + PARTS <= n; i += PARTS) {
        for (int k = 0; k < PARTS; k++) {
            part[k] += (double)x[i + k] * y[i + k];
        }
    }
    for (; i < n; i++) {
        sum += (double)x[i] * y[i];
    }
    for (int k = 0; k < PARTS; k++) {
        sum += part[k];
    }
    return sum;
}

EPIQP_VERSIONS void epiqp_axpy_single(ptrdiff_t n, double a, const float *restrict x, double *restrict y)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        y[i] += a * (double)x[i];
    }
}

EPIQP_VERSIONS void epiqp_dot_four(ptrdiff_t n, const float *x, ptrdiff_t ld, const float *y, double out[4])
{
    float part[4][PARTS] = {{0}};
    ptrdiff_t i = 0;
    for (; i + PARTS <= n; i += PARTS) {
        for (int k = 0; k < PARTS; k++) {
            part[0][k] += x[i + k] * y[i + k];
            part[1][k] += x[ld + i + k] * y[i + k];
            part[2][k] += x[2 * ld + i + k] * y[i + k];
            part[3][k] += x[3 * ld + i + k] * y[i + k];
        }
    }
    for (int j = 0; j < 4; j++) {
        for (ptrdiff_t k = i; k < n; k++) {
            out[j] += (double)(x[j * ld + k] * y[k]);
        }
        for (int k = 0; k < PARTS; k++) {
            out[j] += (double)part[j][k];
        }
    }
}

EPIQP_VERSIONS void epiqp_axpy_four(ptrdiff_t n, const float a[4], const float *restrict x, ptrdiff_t ld,
                                    float *restrict y)
{
    const float first = a[0], second = a[1], third = a[2], fourth = a[3];
    for (ptrdiff_t i = 0; i < n; i++) {
        y[i] += (first * x[i] + second * x[ld + i]) + (third * x[2 * ld + i] + fourth * x[3 * ld + i]);
    }
}

EPIQP_VERSIONS void epiqp_axpy(ptrdiff_t n, double a, const double *restrict x, double *restrict y)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        y[i] += a * x[i];
    }
}

EPIQP_VERSIONS double epiqp_pull(ptrdiff_t n, double pull, const double *restrict theta, const double *restrict from,
                                 double *restrict grad)
{
    double part[PARTS] = {0}, sum = 0;
    ptrdiff_t i = 0;
    for (; i + PARTS <= n; i += PARTS) {
        for (int k = 0; k < PARTS; k++) {
            double step = theta[i + k] - from[i + k];
            part[k] += step * step;
            grad[i + k] += pull * step;
        }
    }
    for (; i < n; i++) {
        double step = theta[i] - from[i];
        sum += step * step;
        grad[i] += pull * step;
    }
    for (int k = 0; k < PARTS; k++) {
        sum += part[k];
    }
    return sum;
}

EPIQP_VERSIONS void epiqp_mix(ptrdiff_t n, double a, const double *restrict x, double b, const double *restrict y,
                              double c, double *restrict z, double e, const double *restrict g)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        z[i] = a * x[i] + b * y[i] + c * z[i] + e * g[i];
    }
}
