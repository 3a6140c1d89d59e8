/* flow.h - what the files of one training to the minimum share: flow.c follows gradient flow, leading.c finds the
 * directions of largest curvature and slows them down, implicit.c takes linearly implicit steps, finish.c ends with
 * quasi-Newton steps (lbfgs.h).
 */
#ifndef EPIQP_FLOW_H
#define EPIQP_FLOW_H

#include "train/remote.h"
#include "train/train.h"

/* Pairs of finish.c. With one hidden layer 8 and 12 need no fewer gradients than 6. Several layers need a sixth fewer with 12, but not
 * on a device, where there are more leading directions. After implicit steps 6, 20 and 40 need 2 % fewer than 4, and to read them
 * takes longer. */
enum { EPIQP_IMPLICIT_PAIRS = 4, EPIQP_PAIRS = 6, EPIQP_MOST_PAIRS = 12 };

/* The Jacobian J at some theta with the factor of kappa I + J J' (implicit.c), and room for products of it. */
typedef struct {
    epiqp_jacobian jacobian;
    double curvature;                   /* smallest of the model: of (2/n) J'J + curvature I */
    double shift;                       /* kappa = n curvature/2 */
    float *factor;                      /* n by n; begins the block of the next two */
    float *panel, *solve;               /* scratch of epiqp_jacobian_kernel; n */
    double *output, *residual, *pushed; /* n each; output begins the block of all below */
    double *of_gradient, *before; /* 2 by n each: J g and (kappa + J J')^-1 J g, of this gradient and the last one */
    double *of_change;            /* EPIQP_IMPLICIT_PAIRS by 2 by n: of changes of the gradient */
    /* p each, of the quasi-Newton steps, in the flow's vectors: theta0, theta - theta0, the gradient, the direction. In single
     * precision like the gradients: what these steps do with them is to read and write memory. */
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
    double *grad, *y, *before, *old; /* p each; grad begins the block of all of these */
    int pairs;                       /* of finish.c */
    double *image;                   /* leads, or pairs if more, by p: J'u_j in the search; the pairs */
    float *leading;                  /* leads by p: v_j */
    float *probe;                    /* p: the current vector of the power iteration */
    epiqp_pass pass;
    epiqp_implicit *implicit; /* NULL, or as the last implicit step left it */
    bool rough;               /* whether the last loss was computed in single precision */
    bool coarse;              /* single precision has rough steps of a device (epiq_device.h) */
    /* If not NULL, the vectors above are on a device, as are copies of these arrays, and nothing here reads them. */
    epiqp_remote *remote;
    double *theta, *theta0, *change; /* change: of the gradient, from one quasi-Newton step to the next */
    const double *x, *targets, *left_x, *left_u;
} epiqp_flow;

/* ---- what is done with long vectors, here or there (vectors.c) ---- */

void epiqp_flow_copy(const epiqp_flow *f, double *to, const double *from);
void epiqp_flow_step(const epiqp_flow *f, double *to, const double *from, double by, const double *along);
/* z = a x + b y + c z + e g */
void epiqp_flow_mix(const epiqp_flow *f, double a, const double *x, double b, const double *y, double c, double *z,
                    double e, const double *g);
/* epiqp_loss; on a device 0 where gradient_rel is NULL, since its callers do not use the number then. */
double epiqp_flow_loss(epiqp_flow *f, const double *theta, double *grad, double *gradient_rel);

/* The same there in two parts, between which more is put on the list and the list is run. out: 4 */
void epiqp_there_ask_loss(epiqp_flow *f, const double *theta, double *grad, double *out);
double epiqp_there_take_loss(epiqp_flow *f, const double *out, double *gradient_rel);

/* There alone: makes the vectors and copies, and begins at theta; and the end. images: how many f->image has. */
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

/* How many leading directions there is memory for in a network of p weights, here or on a device. */
int epiqp_leading_most(ptrdiff_t p, bool there);
/* Curvature at the start, theta0; no direction is slowed down yet. */
double epiqp_leading_first(epiqp_flow *f, const double *theta);
/* Computes the leading directions at theta, and the largest curvature beside them. */
int epiqp_leading_find(const epiqp_env *e, epiqp_flow *f, const double *theta, double time);
/* Slows down those of a curvature above cap, to cap. */
void epiqp_leading_slow(epiqp_flow *f, double cap);
/* The largest curvature at theta, `turns` power iterations further. */
double epiqp_leading_curvature(epiqp_flow *f, const double *theta, int but, int turns);
/* g <- (I - sum c v v') g */
void epiqp_leading_apply(const epiqp_flow *f, double *g);

/* Whether networks of this shape, on n rows, take implicit steps, and the memory that these take. */
bool epiqp_implicit_worth(const epiqp_net *net, ptrdiff_t n);
double epiqp_implicit_bytes(const epiqp_net *net, ptrdiff_t n);
/* Follows the flow from theta. At its end f->implicit is set. Elsewhere it stops where single precision, shorter steps
 * or the limit of gradients lead no further; *time then is that of theta. */
int epiqp_implicit_flow(const epiqp_env *e, epiqp_flow *f, ptrdiff_t limit, double *theta, double *time,
                        epiqp_training *report);
void epiqp_implicit_free(epiq_ctx *c, epiqp_implicit *m);
/* of (2 by n) = J g and (kappa + J J')^-1 J g */
void epiqp_implicit_products(const epiqp_env *e, epiqp_implicit *m, const float *g, double *of);
/* Where f->implicit is set: leaves it, with theta in double as it stands in f->implicit->moved, and f->curvature of R itself. */
void epiqp_implicit_end(epiq_ctx *c, epiqp_flow *f, double *theta);

/* Quasi-Newton steps from theta, whose gradient is in f->grad, until the loss falls by less than a fraction `settled`,
 * or `limit` gradients are spent in all; on: go on to the limit. levels: f->task is the first of so many, with more and
 * more of the rows, the last of which counts. */
int epiqp_finish(const epiqp_env *e, epiqp_flow *f, ptrdiff_t levels, double settled, ptrdiff_t limit, bool on,
                 double *theta, epiqp_training *report);

#endif
