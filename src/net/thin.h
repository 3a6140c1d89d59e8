/* thin.h - the loss and its gradient for one hidden layer over few features, the commonest case by far, in short vector
 * loops: twice as fast as matrix products, whose inner size would be the handful of features. net.c uses it and judges it.
 */
#ifndef EPIQP_THIN_H
#define EPIQP_THIN_H

#include "base/base.h"

enum { EPIQP_THIN_FEATURES = 64, EPIQP_THIN_ROWS = 64 };

/* Scratch for one network shape; widths are padded to a multiple of 32 with units that are always off. */
typedef struct {
    ptrdiff_t d, width, padded, stride;
    double *block;
    double *wt, *b, *w2;    /* d by stride: W_1 transposed; stride each: beta b_1, W_2 */
    double *gwt, *gb, *gw2; /* their gradients */
    double *g, *sums;       /* rows by stride: activations; rows by 8: parts of the outputs */
} epiqp_thin;

int epiqp_thin_new(epiq_ctx *c, ptrdiff_t d, ptrdiff_t width, epiqp_thin *out);
void epiqp_thin_free(epiq_ctx *c, epiqp_thin *t);

void epiqp_thin_begin(epiqp_thin *t, double beta, const double *theta); /* take the weights, clear the gradients */
/* h = W_2 s relu(W_1 x + beta b_1), without the output's bias, for at most EPIQP_THIN_ROWS rows */
void epiqp_thin_forward(epiqp_thin *t, ptrdiff_t rows, const double *x, double *h);
void epiqp_thin_reverse(epiqp_thin *t, ptrdiff_t rows, const double *x, const double *u); /* adds J'u of those rows */
void epiqp_thin_end(const epiqp_thin *t, double beta, double *grad); /* grad += what was added up */

#endif
