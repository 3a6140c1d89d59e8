/* net.h - the network of docs/method.md section 2: any depth, NTK scaling, bias beta; its output, gradients and
 * tangents.
 *     g_0 = x;  f_l = W_l g_{l-1} + beta b_l;  g_l = sqrt(2/d_l) relu(f_l);  h(x) = W_{L+1} g_L + beta b_{L+1}
 * theta holds, for l = 1 .. L+1, W_l (row-major, d_l by d_{l-1}) and then b_l (d_l).
 */
#ifndef EPIQP_NET_H
#define EPIQP_NET_H

#include "la/la.h"
#include "net/shallow32.h"
#include "rng/rng.h"

typedef struct {
    ptrdiff_t d, width, depth;
    double beta, bias_sd;
} epiqp_net;

ptrdiff_t epiqp_net_params(const epiqp_net *net);
void epiqp_net_init(const epiqp_net *net, epiqp_stream s, double *theta);

/* Scratch for the passes over one chunk of rows by matrix products: activations, depth by rows by width; tangents;
 * dh/df_l of two layers. */
typedef struct {
    const epiqp_la *la;
    const epiqp_net *net;
    double *g, *t, *delta, *back;
} epiqp_chunk;
/* The same in single precision, with copies of what is double for the caller: parameters and rows; and the gradient summed
 * over some chunks, of `rows_summed` rows. */
typedef struct {
    const epiqp_la *la;
    const epiqp_net *net;
    float *g, *t, *delta, *back;
    float *theta, *grad, *x;
    ptrdiff_t rows_summed;
} epiqp_chunk32;

/* What one thread needs to pass any number of rows through networks of one shape. */
typedef struct {
    const epiqp_net *net; /* must live as long */
    epiqp_chunk chunk;
    double least; /* a loss below which its gradient needs double; set and used by train/loss.c */
    bool single;  /* epiqp_net_squares, _normal and _pulls use one of these two, of which the other is empty: */
    epiqp_shallow32 shallow32;
    epiqp_chunk32 chunk32;
} epiqp_pass;
int epiqp_pass_new(const epiqp_env *e, const epiqp_net *net, epiqp_pass *out);
/* Makes these two use single precision with this pass: shallow32.h for one hidden layer and few features, otherwise
 * matrix products. */
int epiqp_pass_single(epiq_ctx *c, epiqp_pass *w);
void epiqp_pass_free(epiq_ctx *c, epiqp_pass *w);

/* h = network at n rows x (n by d) */
void epiqp_net_forward(epiqp_pass *w, const double *theta, ptrdiff_t n, const double *x, double *h);

/* Data part of the loss: returns sum_i (h_i - y_i)^2, sets h if not NULL, and adds scale * J'(h - y) to grad. */
double epiqp_net_squares(epiqp_pass *w, const double *theta, ptrdiff_t n, const double *x, const double *y,
                         double scale, double *h, double *grad);
/* The same by matrix products in single precision without the copies: for the weights in w->chunk32.theta; the gradient
 * is left in w->chunk32.grad. */
double epiqp_net_squares_single(epiqp_pass *w, ptrdiff_t n, const double *x, const double *y, double scale);

/* grad += J' u, and tangent = J v: J the n by p Jacobian at theta */
void epiqp_net_vjp(epiqp_pass *w, const double *theta, ptrdiff_t n, const double *x, const double *u, double *grad);
void epiqp_net_jvp(epiqp_pass *w, const double *theta, const double *v, ptrdiff_t n, const double *x, double *tangent);

/* out = J'J v; scratch: as long as v */
void epiqp_net_normal(epiqp_pass *w, const double *theta, ptrdiff_t n, const double *x, const float *v, double *out,
                      double *scratch);

/* out = J'u for each of `count` vectors u, n numbers each */
void epiqp_net_pulls(epiqp_pass *w, const double *theta, ptrdiff_t n, const double *x, ptrdiff_t count, const double *u,
                     double *out);

/* The predictions of many networks in single precision (shallow32.h), and the size of their rounding error. */
typedef struct {
    ptrdiff_t count, size;
    float *w; /* count by size: weights as epiqp_shallow32 has them. NULL: use double, because the networks have more
                   * layers or features, or weights too large for a float */
    double *bias; /* count: beta times the output's bias */
    double gain;  /* root of the mean over networks of sum_k (s W_2k |(W_1k, beta b_1k)|)^2; larger for short vectors */
} epiqp_shallow32_ensemble;
int epiqp_shallow32_ensemble_new(epiq_ctx *c, const epiqp_net *net, ptrdiff_t count, const double *theta,
                                 epiqp_shallow32_ensemble *out);
void epiqp_shallow32_ensemble_free(epiq_ctx *c, epiqp_shallow32_ensemble *s);
/* Size of the rounding error of an output at x: gain |(x, beta)| times half of FLT_EPSILON. Measured for 1 to 64
 * features and widths of 32 to 4096, its root mean square is 0.2 to 0.7 of that, the largest in a thousand points 2.6.
 * Infinite where x is too large or too small for single precision. */
double epiqp_shallow32_ensemble_error(const epiqp_shallow32_ensemble *s, const epiqp_net *net, const double *x);
/* h = network k at up to EPIQP_SHALLOW32_ROWS rows; scratch: of one thread. */
void epiqp_shallow32_ensemble_forward(const epiqp_shallow32_ensemble *s, ptrdiff_t k, epiqp_shallow32 *scratch,
                                      ptrdiff_t rows, const double *x, double *h);

/* The Jacobian J of n rows at one theta in single precision, kept as what makes it up: activations g_l and sensitivities
 * delta_l = dh/df_l of all rows. J v and J'u then take one product of matrices in each layer, a third of a gradient. */
typedef struct {
    ptrdiff_t n;
    float *delta;        /* depth by n by width */
    epiqp_chunk32 chunk; /* with all rows in one chunk */
} epiqp_jacobian;
int epiqp_jacobian_new(const epiqp_env *e, const epiqp_net *net, ptrdiff_t n, const double *x, epiqp_jacobian *out);
void epiqp_jacobian_free(epiq_ctx *c, epiqp_jacobian *j);
double epiqp_jacobian_bytes(const epiqp_net *net, ptrdiff_t n);
void epiqp_jacobian_at(epiqp_jacobian *j, const double *theta, double *h); /* moves it to theta; h: the outputs there */
void epiqp_jacobian_push(epiqp_jacobian *j, const double *v, double *out); /* out = J v */
void epiqp_jacobian_pull(epiqp_jacobian *j, const double *u, double *grad); /* grad += J'u */
/* The same with vectors of weights in single precision; J'u is scratch that the next call overwrites. */
void epiqp_jacobian_push_single(epiqp_jacobian *j, const float *v, double *out);
const float *epiqp_jacobian_pull_single(epiqp_jacobian *j, const double *u);
/* Leaves one of `every` rows, from the first. */
void epiqp_jacobian_thin(epiqp_jacobian *j, ptrdiff_t every);
/* The lower triangle of k = J J', n by n, and some of the upper one; scratch: twice n by EPIQP_KERNEL_PANEL. */
enum { EPIQP_KERNEL_PANEL = 128 };
void epiqp_jacobian_kernel(const epiqp_jacobian *j, float *k, float *scratch);

/* The parts of the empirical kernel: for each row, g_l (l = 1 .. L) and delta_l = dh/df_l, width numbers each. */
typedef struct {
    ptrdiff_t n, d, width, depth;
    double beta;
    const double *x;   /* n by d, owned by the caller */
    double *g, *delta; /* depth by n by width each */
} epiqp_features;
int epiqp_features_new(const epiqp_env *e, const epiqp_net *net, const double *theta, ptrdiff_t n, const double *x,
                       epiqp_features *out);
void epiqp_features_free(epiq_ctx *c, epiqp_features *f);

#endif
