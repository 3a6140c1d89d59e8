/* thin.h - the loss and its gradient for one hidden layer over few features, the commonest case by far, in short vector
 * loops of single precision: several times as fast as matrix products in double, whose inner size would be the handful
 * of features. Weights, gradients and outputs are double outside. Unit k is on in row i where f_ik > 0, and then
 *     S_ka = sum_i u_i [f_ik > 0] x_ia   (a = 1 .. d, and x = 1 for the bias)
 * is all that J'u needs: s W_2k S_ka for W_1 and, since g = s f there, s (W_1 S + beta b_1 S_bias) for W_2; and J v is
 * the sum of (s (W_2 dW_1 + dW_2 W_1) x)_k over the units that are on. Only S
 * is summed in single precision, and over the rows of one chunk; chunks add up in double, so that the number of rows
 * costs no digits. Numbers must be of ordinary size: train/loss.c sees to it, and net.c's matrix products are the
 * judge.
 */
#ifndef EPIQP_THIN_H
#define EPIQP_THIN_H

#include "base/base.h"

enum { EPIQP_THIN_FEATURES = 64, EPIQP_THIN_ROWS = 64 };

typedef struct epiqp_thin_loops epiqp_thin_loops;

/* Scratch for one network shape. Units go in blocks of 64, the last one filled up with units that are always off. */
typedef struct {
    ptrdiff_t d, width, blocks;
    const epiqp_thin_loops *loops; /* for this machine's instructions */
    double *block;
    double *sums; /* blocks by d + 1 by 64: S, the bias last */
    float *w;     /* blocks by d + 2 by 64: s W_1 transposed, s beta b_1, W_2 */
    float *v; /* the same of a direction: s (W_2 dW_1 + dW_2 W_1) transposed and its bias row; the last row is unused */
    float *x; /* rows by d + 1: the chunk's features, and 1 */
    float *part; /* rows by 16 at most: parts of the outputs */
    int *on;     /* blocks by rows by 64: all bits set where a unit is on */
} epiqp_thin;

/* The passes in vectors of one instruction set */
struct epiqp_thin_loops {
    void (*forward)(epiqp_thin *t, ptrdiff_t rows, double *h);
    void (*tangent)(epiqp_thin *t, ptrdiff_t rows, double *h);
    void (*reverse)(epiqp_thin *t, ptrdiff_t rows, const float *u);
    int lanes; /* floats in a vector: an output is the sum of so many sums */
};
const epiqp_thin_loops *epiqp_thin_set(int k); /* those this machine can run, the fastest (k = 0) first; then NULL */

int epiqp_thin_new(epiq_ctx *c, ptrdiff_t d, ptrdiff_t width, epiqp_thin *out);
void epiqp_thin_free(epiq_ctx *c, epiqp_thin *t);

void epiqp_thin_begin(epiqp_thin *t, double beta, const double *theta); /* take the weights, clear the sums */
/* h = W_2 s relu(W_1 x + beta b_1), without the output's bias, for at most EPIQP_THIN_ROWS rows */
void epiqp_thin_forward(epiqp_thin *t, ptrdiff_t rows, const double *x, double *h);
/* J v of the rows last forwarded, likewise, for the direction v of epiqp_thin_aim */
void epiqp_thin_aim(epiqp_thin *t, double beta, const double *theta, const double *v);
void epiqp_thin_tangent(epiqp_thin *t, ptrdiff_t rows, double *h);
void epiqp_thin_reverse(epiqp_thin *t, ptrdiff_t rows, const double *u); /* adds up J'u of the rows last forwarded */
void epiqp_thin_end(epiqp_thin *t, double beta,
                    double *grad); /* grad += what was added up, but for the output's bias */

#endif
