/* single.h - many thin networks (net/thin.h) ready to be asked in single precision, and how far off that may be. */
#ifndef EPIQP_SINGLE_H
#define EPIQP_SINGLE_H

#include "net/net.h"

typedef struct {
    ptrdiff_t count, size;
    float *w;    /* count by size: weights as epiqp_thin has them. NULL: not thin, or too large: ask in double */
    double *top; /* count: beta times the output's bias */
    double gain; /* root of the mean over networks of sum_k (s W_2k |(W_1k, beta b_1k)|)^2; more for short vectors */
} epiqp_single;

int epiqp_single_new(epiq_ctx *c, const epiqp_net *net, ptrdiff_t count, const double *theta, epiqp_single *out);
void epiqp_single_free(epiq_ctx *c, epiqp_single *s);

/* Size of the rounding error of an output at x: gain |(x, beta)| times half of FLT_EPSILON. Measured for 1 to 64
 * features and widths of 32 to 4096, its root mean square is 0.2 to 0.7 of that, the largest in a thousand points 2.6.
 * Infinite where x is too large or too small for single precision. */
double epiqp_single_error(const epiqp_single *s, const epiqp_net *net, const double *x);

/* h = network k at up to EPIQP_THIN_ROWS rows; thin: scratch of one thread. */
void epiqp_single_forward(const epiqp_single *s, ptrdiff_t k, epiqp_thin *thin, ptrdiff_t rows, const double *x,
                          double *h);

#endif
