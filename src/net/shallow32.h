/* shallow32.h - the passes of net.h for one hidden layer over few features, by far the most common case, in short vector
 * loops of single precision: several times as fast as matrix products in double, whose inner size would be the few
 * features. Weights, gradients and outputs are double for the caller. Unit k is on in row i where f_ik > 0, and then
 *     S_ka = sum_i u_i [f_ik > 0] x_ia   (a = 1 .. d, and x = 1 for the bias)
 * is all that J'u needs: s W_2k S_ka for W_1 and, since g = s f there, s (W_1 S + beta b_1 S_bias) for W_2; and J v
 * is the sum of (s (W_2 dW_1 + dW_2 W_1) x)_k over the units that are on. Only S is summed in single precision, over
 * the rows of one chunk; chunks are added in double, so that many rows cost no digits. Numbers must be of ordinary
 * size, which train/loss.c checks. The matrix products of net.c are the reference.
 */
#ifndef EPIQP_SHALLOW32_H
#define EPIQP_SHALLOW32_H

#include "base/base.h"

/* Rows at a time: every set of loops takes ROWS, none more than MOST_ROWS. */
enum { EPIQP_SHALLOW32_FEATURES = 64, EPIQP_SHALLOW32_ROWS = 64, EPIQP_SHALLOW32_MOST_ROWS = 256 };

typedef struct epiqp_shallow32_loops epiqp_shallow32_loops;

/* Scratch for one network shape. Units are in blocks of 64; the last one is padded with units that are always off. */
typedef struct {
    ptrdiff_t d, width, blocks;
    const epiqp_shallow32_loops *loops; /* for the instruction set of this machine */
    double beta, bias, bias_v, sum_u;   /* beta times the output's bias, and of a direction; the sum of u */
    double *block;
    bool summed;  /* whether sums holds anything */
    double *sums; /* blocks by d + 1 by 64: S, the bias last */
    float *w;     /* blocks by d + 2 by 64: s W_1 transposed, s beta b_1, W_2 */
    float *v; /* the same of a direction: s (W_2 dW_1 + dW_2 W_1) transposed and its bias row; the last row is unused */
    float *x; /* rows by d + 1: the chunk's features, and 1 */
    float *part; /* rows by 16 at most: parts of the outputs */
    void *on;    /* blocks by rows by 64: the units that are on, as masks of a vector's lanes */
} epiqp_shallow32;

/* The passes in vectors of one instruction set */
struct epiqp_shallow32_loops {
    void (*forward)(epiqp_shallow32 *t, ptrdiff_t rows, double *h);
    void (*tangent)(epiqp_shallow32 *t, ptrdiff_t rows, double *h);
    void (*reverse)(epiqp_shallow32 *t, ptrdiff_t rows, const float *u);
    int lanes;      /* floats in a vector; an output is the sum of as many partial sums */
    ptrdiff_t rows; /* that they take at a time */
};
/* The k-th set of this machine, fastest first; NULL after the last. */
const epiqp_shallow32_loops *epiqp_shallow32_set(int k);

int epiqp_shallow32_new(epiq_ctx *c, ptrdiff_t d, ptrdiff_t width, epiqp_shallow32 *out);
void epiqp_shallow32_free(epiq_ctx *c, epiqp_shallow32 *t);

/* Copies the weights and clears the sums. */
void epiqp_shallow32_begin(epiqp_shallow32 *t, double beta, const double *theta);
/* The outputs of at most loops->rows rows; for these, J v with the v given to epiqp_shallow32_aim; and J'u,
 * which is added to the sums. */
void epiqp_shallow32_forward(epiqp_shallow32 *t, ptrdiff_t rows, const double *x, double *h);
void epiqp_shallow32_aim(epiqp_shallow32 *t, const double *theta, const float *v);
void epiqp_shallow32_tangent(epiqp_shallow32 *t, ptrdiff_t rows, double *h);
void epiqp_shallow32_reverse(epiqp_shallow32 *t, ptrdiff_t rows, const double *u);
void epiqp_shallow32_end(epiqp_shallow32 *t, double *grad); /* grad += the sums, which are cleared */

#endif
