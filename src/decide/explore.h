/* explore.h - what is believed about the candidates of epiq_explore, and how it changes when one of them is taken as
 * observed (docs/method.md, exploring). Everything is in scaled units.
 *
 * Observing y* at x* moves every predictor h to h - g (h(x*) - y*), g(x) = P(x,x*)/(P(x*,x*) + lambda n), P the
 * posterior kernel. So any covariance F between the candidates' predictions changes by one rule,
 *     F(x,y) <- F(x,y) - g(x) F(x*,y) - F(x,x*) g(y) + (F(x*,x*) + w) g(x) g(y)
 * with w = 0; and P itself, which counts the ridge as noise of the new row, with w = lambda n.
 */
#ifndef EPIQP_EXPLORE_H
#define EPIQP_EXPLORE_H

#include "epiq_decide.h"
#include "run/run.h"

typedef enum {
    EPIQP_BELIEF_KERNEL,     /* P */
    EPIQP_BELIEF_DATA,       /* IF's V, as a form in the weights of the rows' targets; of moderated its rowwise part */
    EPIQP_BELIEF_UNBIASED,   /* the same for equal noise, under half of which rowwise does not fall */
    EPIQP_BELIEF_SMOOTHED,   /* of moderated: its smoothed part; else 0 */
    EPIQP_BELIEF_PROCEDURAL, /* over starts */
    EPIQP_BELIEFS
} epiqp_belief_kind;

typedef struct {
    double w;
    double *own;  /* points: F(x,x) after the picks so far; not kept for P */
    double *past; /* picks by points: F(x,x*) when x* was picked */
} epiqp_form;

typedef struct {
    const epiqp_estimated *e; /* problem, plan, fit, findings */
    epiqp_form form[EPIQP_BELIEFS];
    double *gain;      /* picks by points: g */
    ptrdiff_t *picked; /* which candidate each pick was */
    ptrdiff_t picks;
    double *right;   /* EPIQP_BELIEFS by n: what c is multiplied with for a column of F */
    double *groups;  /* scratch */
    double *weights; /* n: scratch, of the rows' targets at one candidate */
    double *scale;   /* points: the estimate over the mix of its parts, before any pick */
} epiqp_belief;

/* Room for so many picks, in the problem's memory. The estimate has IF from the factor of the population kernel, and EV
 * or the closed form. */
int epiqp_belief_new(const epiqp_estimated *e, ptrdiff_t picks, epiqp_belief *out);
void epiqp_belief_observe(epiqp_belief *b, ptrdiff_t p); /* candidate p, with the value predicted for it */
double epiqp_belief_data(const epiqp_belief *b, ptrdiff_t p);
double epiqp_belief_procedural(const epiqp_belief *b, ptrdiff_t p);
double epiqp_belief_bytes(ptrdiff_t n, ptrdiff_t points, ptrdiff_t picks);

#endif
