/* train.h - training of one network on the regularised loss of docs/method.md section 2
 *     R(theta) = (1/n) sum_i (h(x_i) - y_i)^2 + lambda |theta - theta0|^2
 * to the minimum that gradient flow leads to (flow.c), or by plain descent with a fixed step (descent.c).
 */
#ifndef EPIQP_TRAIN_H
#define EPIQP_TRAIN_H

#include "net/net.h"

/* The leading eigenvectors of the tangent kernel of infinitely wide networks at some of the rows, from which the
 * directions of largest curvature are found (leading.c). They depend on the rows alone: networks share them. */
enum { EPIQP_LEFT_ROWS = 256, EPIQP_LEADING = 40 };
typedef struct {
    ptrdiff_t rows, count;           /* at most EPIQP_LEFT_ROWS, EPIQP_LEADING */
    double *x, *u;                   /* rows by d; count by rows, orthonormal */
    double curvature[EPIQP_LEADING]; /* of the squared error's mean in these directions, descending */
} epiqp_left;
int epiqp_left_new(const epiqp_env *e, const epiqp_net *net, ptrdiff_t n, const double *x, epiqp_left *out);
void epiqp_left_free(epiq_ctx *c, epiqp_left *left);

typedef struct {
    const epiqp_net *net;
    ptrdiff_t n;
    const double *x, *y; /* n by d, n */
    double lambda;
    const double *theta0;
    const epiqp_left *left; /* of these rows, for epiqp_minimise; NULL: it computes its own */
    double until;           /* 0: to the minimum, the usual way; else gradient flow in fine steps for so much time, or
                             * INFINITY: to its end, the reference for the usual way */
    bool own_targets;       /* y belongs to this network alone: no other one is trained on this array */
} epiqp_task;

typedef struct {
    bool converged;
    double loss;          /* R where training ended */
    double gradient_rel;  /* |gradient| over the sum of its two parts' norms: 0 at a smooth minimum, 1 at the start */
    ptrdiff_t iterations; /* gradients of the whole loss, those of a part counting as its share; or steps of descent */
} epiqp_training;

/* Scratch for training, in single precision where the numbers allow it, until the loss is too small for it. */
int epiqp_task_pass(const epiqp_env *e, const epiqp_task *t, epiqp_pass *out);
/* Whether they allow it, and the loss below which it is too small; 0 where they do not. */
bool epiqp_task_single(const epiqp_env *e, const epiqp_task *t, double *least);
/* Likewise of any network trained on these rows. */
bool epiqp_rows_single(const epiqp_env *e, const epiqp_net *net, ptrdiff_t n, const double *x, const double *y,
                       double *least);

/* R and its gradient. work holds the pass; gradient_rel may be NULL. */
double epiqp_loss(const epiqp_task *t, const double *theta, double *grad, double *gradient_rel, epiqp_pass *work);
/* gradient_rel from the norms of the gradient and of its first part, and |theta - theta0|^2. */
double epiqp_gradient_rel(double lambda, double data, double moved, double gradient);
#define EPIQP_LARGEST_LOSS 1e300 /* of the first loss: beyond it, differences of losses are not finite */
/* EPIQ_OK, or a failure with its message: where numbers are too large; where a stop was requested. */
int epiqp_check_size(const epiqp_env *e, bool fits);
int epiqp_check_cancel(const epiqp_env *e);

/* given: on entry the start, on return the end. most_steps > 0: the most gradients; 0: until it converges; below 0:
 * exactly -most_steps gradients, converged or not (to measure what further training gains). */
int epiqp_minimise(const epiqp_env *e, const epiqp_task *all, ptrdiff_t most_steps, double *given,
                   epiqp_training *report);
double epiqp_minimise_bytes(ptrdiff_t params); /* memory that epiqp_minimise takes */
/* Of n rows, how many epiqp_minimise begins with: all of them unless they are many. */
ptrdiff_t epiqp_part_rows(ptrdiff_t n);
double epiqp_minimise_rows_bytes(const epiqp_net *net, ptrdiff_t n); /* about what it takes besides, for n rows */

/* What epiqp_minimise usually takes (usual.c): gradients of the whole loss, and products J'J v, each about as long. */
typedef struct {
    double gradients, products;
} epiqp_effort;
epiqp_effort epiqp_usual_effort(const epiqp_net *net, ptrdiff_t n, double lambda);

typedef struct {
    double lr;
    ptrdiff_t steps;      /* 0: until converged */
    ptrdiff_t batch_size; /* 0: all rows in every step */
    epiqp_stream order;   /* of the mini-batches */
} epiqp_descent;
int epiqp_descend(const epiqp_env *e, const epiqp_task *t, const epiqp_descent *how, double *theta,
                  epiqp_training *report);

#endif
