/* net.h - the network of docs/method.md section 2: any depth, NTK scaling, bias beta; its output, gradients and
 * tangents.
 *     g_0 = x;  f_l = W_l g_{l-1} + beta b_l;  g_l = sqrt(2/d_l) relu(f_l);  h(x) = W_{L+1} g_L + beta b_{L+1}
 * theta holds, for l = 1 .. L+1, W_l (row-major, d_l by d_{l-1}) and then b_l (d_l).
 */
#ifndef EPIQP_NET_H
#define EPIQP_NET_H

#include "la/la.h"
#include "net/thin.h"
#include "rng/rng.h"

typedef struct {
    ptrdiff_t d, width, depth;
    double beta, bias_sd;
} epiqp_net;

ptrdiff_t epiqp_net_params(const epiqp_net *net);
void epiqp_net_init(const epiqp_net *net, epiqp_stream s, double *theta);

/* Scratch of one thread for passes over any number of rows. */
typedef struct {
    double *g, *t, *delta, *back;
    epiqp_thin thin; /* with a block where epiqp_net_squares and epiqp_net_normal go in single precision */
} epiqp_pass;
int epiqp_pass_new(epiq_ctx *c, const epiqp_net *net, epiqp_pass *out);
/* Let the two compute in single precision with this pass, if the network is thin (net/thin.h). */
int epiqp_pass_single(epiq_ctx *c, const epiqp_net *net, epiqp_pass *w);
void epiqp_pass_free(epiq_ctx *c, epiqp_pass *w);

/* h = network at n rows x (n by d) */
void epiqp_net_forward(const epiqp_env *e, const epiqp_net *net, const double *theta, ptrdiff_t n, const double *x,
                       double *h, epiqp_pass *w);

/* Data part of the loss: returns sum_i (h_i - y_i)^2, sets h if not NULL, and adds scale * J'(h - y) to grad. */
double epiqp_net_squares(const epiqp_env *e, const epiqp_net *net, const double *theta, ptrdiff_t n, const double *x,
                         const double *y, double scale, double *h, double *grad, epiqp_pass *w);

/* grad += J' u, and tangent = J v: J the n by p Jacobian at theta */
void epiqp_net_vjp(const epiqp_env *e, const epiqp_net *net, const double *theta, ptrdiff_t n, const double *x,
                   const double *u, double *grad, epiqp_pass *w);
void epiqp_net_jvp(const epiqp_env *e, const epiqp_net *net, const double *theta, const double *v, ptrdiff_t n,
                   const double *x, double *tangent, epiqp_pass *w);

/* out = J'J v */
void epiqp_net_normal(const epiqp_env *e, const epiqp_net *net, const double *theta, ptrdiff_t n, const double *x,
                      const double *v, double *out, epiqp_pass *w);

/* What the empirical kernel is made of: for each row, g_l (l = 1 .. L) and delta_l = dh/df_l, width numbers each. */
typedef struct {
    ptrdiff_t n, d, width, depth;
    double beta;
    const double *x;   /* n by d; not ours */
    double *g, *delta; /* depth by n by width each */
} epiqp_features;
int epiqp_features_new(const epiqp_env *e, const epiqp_net *net, const double *theta, ptrdiff_t n, const double *x,
                       epiqp_features *out);
void epiqp_features_free(epiq_ctx *c, epiqp_features *f);

#endif
