/* pair.h - K and Q of one pair of rows by the recursion of docs/method.md section 2, as src/kernel/population_loops.h
 * computes them for vectors of pairs: in e = 1 - rho, with polynomials for the angle. It is C as well as CUDA, so that
 * `make check` compares it with the library's own functions without a device.
 */
#ifndef EPIQ_CUDA_PAIR_H
#define EPIQ_CUDA_PAIR_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __CUDACC__
#define PAIR_FUNCTION __host__ __device__ static inline
#else
#define PAIR_FUNCTION static inline
#endif
#ifdef __CUDA_ARCH__
#define PAIR_UNROLL _Pragma("unroll")
#else
#define PAIR_UNROLL
#endif

typedef struct {
    ptrdiff_t depth;
    double beta2, v; /* beta^2; beta^2 s_b^2 */
} pair_arch;

/* Pairs whose e, or 1 + rho, is below this compute it from differences of features: the reason is in population.c. */
#define PAIR_NEAR 0.125
#define PAIR_TOO_SMALL 1e-290 /* |x|^2 + v: reciprocals would overflow */

/* a / pi and (sin a - a cos a) / pi over sqrt(2 w) and its cube, w the smaller of e and 1 + rho: polynomials in w on
 * [0, 1], as in population.c. */
PAIR_FUNCTION double pair_angle(double w)
{
    const double c[19] = {
        0.31830988618379069,    0.026525823848645737,    0.0059683103663539464,  0.0017762828280873059,
        0.00060443004288367912, 0.00022253308395272706,  8.6373657270228201e-05, 3.4257537969841445e-05,
        1.671884727431212e-05,  -2.7010277085793496e-06, 2.7254314454614481e-05, -5.156788422921354e-05,
        8.6367065458521641e-05, -0.00010570276189163565, 9.7526973310756157e-05, -6.4847108999600115e-05,
        2.9702990494160698e-05, -8.3852584821511615e-06, 1.1268946384286563e-06,
    };
    double sum = c[18];
    PAIR_UNROLL
    for (int i = 17; i >= 0; i--) {
        sum = sum * w + c[i];
    }
    return sum;
}

PAIR_FUNCTION double pair_sine_minus(double w)
{
    const double c[17] = {
        0.1061032953945969,     0.0053051647697275571,  0.00085261576677719169, 0.00019736475290034063,
        5.4948296418815088e-05, 1.7116666278672964e-05, 5.7675506694013303e-06, 1.9688078015021016e-06,
        1.0390429604218556e-06, -5.018919021177781e-07, 1.7434354523488211e-06, -2.4337379056395207e-06,
        2.7725504204976849e-06, -2.171784560077617e-06, 1.1731924275052327e-06, -3.8400442355035839e-07,
        6.0711998490283105e-08,
    };
    double sum = c[16];
    PAIR_UNROLL
    for (int i = 15; i >= 0; i--) {
        sum = sum * w + c[i];
    }
    return sum;
}

/* x, y: d features each; p, q: |x|^2 and |y|^2; dot: x.y; same: they are one row, with the angle 0. */
PAIR_FUNCTION void pair_kernels(const pair_arch *arch, ptrdiff_t d, const double *x, const double *y, double p,
                                double q, double dot, bool same, double *k, double *nngp)
{
    const double v = arch->v, beta2 = arch->beta2;
    p += v;
    q += v;
    double sp = sqrt(p), sq = sqrt(q), K = dot + beta2, diff2 = p - q;
    if (!(sp * sq > 0)) { /* a zero row without bias: each layer passes on nothing but the bias */
        *k = beta2;
        *nngp = v;
        return;
    }
    const bool tiny = !(p >= PAIR_TOO_SMALL) || !(q >= PAIR_TOO_SMALL);
    double rho = tiny ? (dot + v) / sp / sq : (dot + v) * (1 / sp * (1 / sq)), sign = rho < 0 ? -1 : 1,
           w = 1 - sign * rho;
    if (same) {
        w = diff2 = 0;
        sign = 1;
    } else if (w < PAIR_NEAR) {
        double spsq = sp * sq, both = (sp + sq) / spsq, twice;
        diff2 = 0;
        for (ptrdiff_t f = 0; f < d; f++) {
            diff2 += (x[f] - y[f]) * (x[f] + y[f]);
        }
        double inverse_gap = diff2 / (sp + sq) / spsq, inverse = 1 / fmax(sp, sq);
        twice = sign > 0 ? v * inverse_gap * inverse_gap : v * both * both;
        for (ptrdiff_t f = 0; f < d; f++) {
            double yf = sign * y[f], z = (x[f] - yf) * inverse - (sp < sq ? x[f] : yf) * inverse_gap;
            twice += z * z;
        }
        w = twice / 2;
    }
    for (ptrdiff_t l = 1;; l++) {
        double root = sqrt(w + w), spsq = sp * sq;
        double angle = pair_angle(w) * root, rest = pair_sine_minus(w) * (root * (w + w));
        bool opposite = sign < 0;
        double o = opposite ? 1 - rest : w - rest, through = spsq * (opposite ? rest : 1 - o);
        K = K * (opposite ? angle : 1 - angle) + through + beta2;
        if (l == arch->depth) {
            *k = K;
            *nngp = through + v;
            return;
        }
        double onward = sqrt(p + (double)l * v), onward_q = sqrt(q + (double)l * v);
        double gap = diff2 / (sp + sq), u, b, e;
        if (tiny) { /* the products are above 0 */
            double r = onward * onward_q;
            u = spsq / r;
            b = v / r;
            e = u * o + gap * b * (gap / r) / (1 + u + b);
        } else {
            double inverse_r = 1 / onward * (1 / onward_q);
            u = spsq * inverse_r;
            b = v * inverse_r;
            e = u * o + gap * b * (gap * inverse_r) / (1 + u + b);
        }
        w = e < 1 ? e : 1;
        sign = 1;
        sp = onward;
        sq = onward_q;
    }
}

#endif
