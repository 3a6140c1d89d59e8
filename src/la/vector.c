/* vector.c - loops over long vectors, compiled for several instruction sets and chosen at load time. Each element's
 * arithmetic and the order of every sum are fixed (and not contracted), so all versions give the same bits.
 */
#include "la/vector.h"

EPIQP_VERSIONS double epiqp_dot(ptrdiff_t n, const double *x, const double *y)
{
    double part[16] = {0}, sum = 0; /* independent sums: they vectorise, and they lose fewer digits than one */
    ptrdiff_t i = 0;
    for (; i + 16 <= n; i += 16) {
        for (int k = 0; k < 16; k++) {
            part[k] += x[i + k] * y[i + k];
        }
    }
    for (; i < n; i++) {
        sum += x[i] * y[i];
    }
    for (int k = 0; k < 16; k++) {
        sum += part[k];
    }
    return sum;
}

EPIQP_VERSIONS void epiqp_axpy(ptrdiff_t n, double a, const double *restrict x, double *restrict y)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        y[i] += a * x[i];
    }
}

EPIQP_VERSIONS void epiqp_relu(ptrdiff_t n, double s, double beta, const double *restrict b, double *restrict f)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double v = f[i] + beta * b[i];
        f[i] = v > 0 ? s * v : 0;
    }
}

EPIQP_VERSIONS void epiqp_gate(ptrdiff_t n, double s, const double *restrict w, const double *restrict g,
                               double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double v = s * w[i];
        out[i] = g[i] > 0 ? v : 0;
    }
}

EPIQP_VERSIONS void epiqp_gate_sum(ptrdiff_t n, double s, double beta, const double *restrict b,
                                   const double *restrict g, double *restrict t)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double v = s * (t[i] + beta * b[i]);
        t[i] = g[i] > 0 ? v : 0;
    }
}

EPIQP_VERSIONS void epiqp_mask(ptrdiff_t n, const double *restrict g, double *restrict t)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        t[i] = g[i] > 0 ? t[i] : 0;
    }
}
