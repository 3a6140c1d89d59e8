/* flow.h - what the files of one training to the minimum share: flow.c follows gradient flow, leading.c finds the
 * directions of largest curvature and slows them down, implicit.c takes linearly implicit steps, finish.c ends with
 * quasi-Newton steps (lbfgs.h).
 */
#ifndef EPIQP_FLOW_H
#define EPIQP_FLOW_H

#include "train/remote.h"
#include "train/train.h"

/* Numbers of L-BFGS pairs (finish.c). With one hidden layer, 8 or 12 pairs need no fewer gradients than 6. With several
 * layers 12 pairs need a sixth fewer, except on a device, where there are more leading directions. They are not used
 * where epiqp_implicit_worth holds either, even if explicit steps are taken in the end. After implicit steps 6, 20 or 40
 * pairs need 2 % fewer gradients than 4, but take longer to read. */
enum { EPIQP_IMPLICIT_PAIRS = 4, EPIQP_PAIRS = 6, EPIQP_MOST_PAIRS = 12 };

/* The Jacobian J at some theta with the factor of kappa I + J J' (implicit.c), and room for products of it. */
typedef struct {
    epiqp_jacobian jacobian;
    double curvature;                   /* smallest of the model: of (2/n) J'J + curvature I */
    double shift;                       /* kappa = n curvature/2 */
    float *factor;                      /* n by n; its allocation holds the next two as well */
    float *panel, *solve;               /* scratch of epiqp_jacobian_kernel; n */
    double *output, *residual, *pushed; /* n each; output's allocation holds the arrays up to of_change */
    double *of_gradient, *before; /* 2 by n each: J g and (kappa + J J')^-1 J g, of this gradient and the last one */
    double *of_change;            /* EPIQP_IMPLICIT_PAIRS by 2 by n: of changes of the gradient */
    /* p each, for the quasi-Newton steps, in the memory of the flow's vectors: theta0, theta - theta0, the gradient,
     * the direction. Single precision, like the gradients, since these steps are bound by memory bandwidth. */
    float *start, *moved, *gradient, *direction;
} epiqp_implicit;

typedef struct {
    const epiqp_task *task;
    const epiqp_left *left;
    ptrdiff_t p;
    int leads;                       /* number of leading directions */
    double curvature;                /* the largest curvature of R after slowing down, or of what J leaves */
    double margin;                   /* safety factor contained in curvature */
    double searched;                 /* time at which the leading directions were last computed */
    double own[EPIQP_LEADING];       /* their curvatures, in descending order */
    double rest;                     /* the largest curvature beside them */
    int slowed;                      /* number of directions slowed down */
    double c[EPIQP_LEADING];         /* c_j of each */
    double *grad, *y, *before, *old; /* p each; grad's allocation holds the arrays up to probe */
    int pairs;                       /* number of L-BFGS pairs (finish.c) */
    double *image;                   /* leads, or pairs if more, by p: J'u_j in the search; the pairs */
    float *leading;                  /* leads by p: v_j */
    float *probe;                    /* p: the current vector of the power iteration */
    epiqp_pass pass;
    epiqp_implicit *implicit; /* NULL, or as the last implicit step left it */
    bool rough;               /* whether the last loss was computed in single precision */
    bool coarse;              /* in single precision the device takes rough steps (epiq_device.h) */
    /* If not NULL, the vectors above and copies of the arrays below are in a device's memory: do not dereference. */
    epiqp_remote *remote;
    double *theta, *theta0, *change; /* change: of the gradient, from one quasi-Newton step to the next */
    const double *x, *targets, *left_x, *left_u;
} epiqp_flow;

/* ---- operations on long vectors, in this process or on a device (vectors.c) ---- */

void epiqp_flow_copy(const epiqp_flow *f, double *to, const double *from);
void epiqp_flow_step(const epiqp_flow *f, double *to, const double *from, double by, const double *along);
/* z = a x + b y + c z + e g */
void epiqp_flow_mix(const epiqp_flow *f, double a, const double *x, double b, const double *y, double c, double *z,
                    double e, const double *g);
/* epiqp_loss; on a device 0 where gradient_rel is NULL, since its callers do not use the number then. */
double epiqp_flow_loss(epiqp_flow *f, const double *theta, double *grad, double *gradient_rel);

/* The same on a device, in two calls: the first adds it to the list, the second reads the result from out (4 numbers)
 * once the list has been run. */
void epiqp_there_ask_loss(epiqp_flow *f, const double *theta, double *grad, double *out);
double epiqp_there_take_loss(epiqp_flow *f, const double *out, double *gradient_rel);

/* On a device only. begin: lays out the vectors, copies the arrays and starts at theta; end: copies the weights back to
 * theta. images: how many f->image has. */
int epiqp_there_begin(const epiqp_env *e, epiqp_flow *f, ptrdiff_t images, const double *theta);
int epiqp_there_end(const epiqp_flow *f, double *theta);
void epiqp_there_slow(const epiqp_flow *f, int count, const double *c, double *g); /* g <- (I - sum c v v') g */
double epiqp_there_first(const epiqp_flow *f, const double *theta, double *to);    /* to = J'u_1; returns its norm */
/* to = J'J probe, less what it has along the first `but` of the leading directions; returns its norm. */
double epiqp_there_normal(const epiqp_flow *f, const double *theta, int but, double *to);
void epiqp_there_unit(const epiqp_flow *f, const double *v, double norm, float *unit); /* unit = v/norm */
/* h (leads by leads) = U'J J'U, with J'U left in f->image; and J'U z_j/sqrt(s_j) in f->leading, from the largest s, with z
 * and s ascending. */
void epiqp_there_pull(const epiqp_flow *f, const double *theta, double *h);
void epiqp_there_rotate(const epiqp_flow *f, const double *z, const double *s);

/* The most leading directions that a network of p weights may have; there: on a device. */
int epiqp_leading_most(ptrdiff_t p, bool there);
/* Curvature at the start, theta0; no direction is slowed down yet. */
double epiqp_leading_first(epiqp_flow *f, const double *theta);
/* Computes the leading directions at theta, and the largest curvature beside them. */
int epiqp_leading_find(const epiqp_env *e, epiqp_flow *f, const double *theta, double time);
/* Slows down the leading directions whose curvature exceeds cap, to cap. */
void epiqp_leading_slow(epiqp_flow *f, double cap);
/* The largest curvature orthogonal to the first `but` leading directions, after `turns` more power iterations. */
double epiqp_leading_curvature(epiqp_flow *f, const double *theta, int but, int turns);
/* g <- (I - sum c v v') g */
void epiqp_leading_apply(const epiqp_flow *f, double *g);

/* Whether networks of this shape, on n rows, take implicit steps, and the memory that these take. */
bool epiqp_implicit_worth(const epiqp_net *net, ptrdiff_t n);
double epiqp_implicit_bytes(const epiqp_net *net, ptrdiff_t n);
/* Follows the flow from theta. If it reaches the end, f->implicit is set. Otherwise it stops where single precision or
 * shorter steps no longer help, or at the limit of gradients; *time is then the flow's time at theta. */
int epiqp_implicit_flow(const epiqp_env *e, epiqp_flow *f, ptrdiff_t limit, double *theta, double *time,
                        epiqp_training *report);
void epiqp_implicit_free(epiq_ctx *c, epiqp_implicit *m);
/* of (2 by n) = J g and (kappa + J J')^-1 J g */
void epiqp_implicit_products(const epiqp_env *e, epiqp_implicit *m, const float *g, double *of);
/* If f->implicit is set: computes theta in double from f->implicit->moved, sets f->curvature to that of R, and frees
 * f->implicit. */
void epiqp_implicit_end(epiq_ctx *c, epiqp_flow *f, double *theta);

/* Quasi-Newton steps from theta, whose gradient is in f->grad, until the loss falls by less than a fraction `settled`,
 * or `limit` gradients are spent in all; on: always continue to the limit. levels: f->task is the first of so many
 * tasks, each with more rows than the one before; the last has all of them. */
int epiqp_finish(const epiqp_env *e, epiqp_flow *f, ptrdiff_t levels, double settled, ptrdiff_t limit, bool on,
                 double *theta, epiqp_training *report);

#endif
