/* flow.h - what the files of one training to the minimum share: flow.c follows gradient flow, leading.c finds the
 * directions of largest curvature and slows them down, finish.c ends with quasi-Newton steps.
 */
#ifndef EPIQP_FLOW_H
#define EPIQP_FLOW_H

#include "train/train.h"

enum { EPIQP_PAIRS = 6 }; /* of finish.c: 8 and 12 need no fewer gradients */

typedef struct {
    const epiqp_task *task;
    const epiqp_left *left;
    ptrdiff_t p;
    int leads;                       /* number of leading directions */
    double curvature;                /* the largest curvature of R after slowing down */
    double margin;                   /* safety factor contained in curvature */
    double searched;                 /* time at which the leading directions were last computed */
    double own[EPIQP_LEADING];       /* their curvatures, in descending order */
    double rest;                     /* the largest curvature beside them */
    int slowed;                      /* number of directions slowed down */
    double c[EPIQP_LEADING];         /* c_j of each */
    double *grad, *y, *before, *old; /* p each; grad begins the block of all of these */
    double *image;  /* leads, or EPIQP_PAIRS if more, by p: J'u_j in the search; the pairs of finish.c */
    float *leading; /* leads by p: v_j */
    float *probe;   /* p: the current vector of the power iteration */
    epiqp_pass pass;
    bool rough; /* whether the last loss was computed in single precision */
} epiqp_flow;

/* How many leading directions there is memory for in a network of p weights. */
int epiqp_leading_most(ptrdiff_t p);
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

/* Quasi-Newton steps from theta, whose gradient is in f->grad, until the loss falls by less than a fraction `settled`,
 * or `limit` gradients are spent in all; on: go on to the limit. */
int epiqp_finish(const epiqp_env *e, epiqp_flow *f, double settled, ptrdiff_t limit, bool on, double *theta,
                 epiqp_training *report);

#endif
