/* ev.h - EV and BA: variances of networks' predictions. */
#ifndef EPIQP_EV_H
#define EPIQP_EV_H

#include "est/plan.h"
#include "est/response.h"
#include "store/members.h"

/* A request to end early: accepted if the plan allows it, else EPIQ_E_STOPPED. */
int epiqp_accept_early_end(const epiqp_problem *pb);

/* EV, from networks trained on all rows. */
typedef struct {
    ptrdiff_t members; /* networks there are: fewer than planned where the run ended early */
    const double *h;   /* members by points: their predictions; NULL: there are none */
    double *mean;      /* points */
    const double
        *unseen;        /* starts by points, where these leave rows out: predictions of networks that have not seen the
                           * row; NULL: no point does */
    double *at_rows;    /* n: their mean at the rows, if the plan has members_at_rows; else NULL */
    epiq_part *part;    /* points */
    epiqp_kept weights; /* of a model's networks; theta NULL: not kept */
} epiqp_ev_findings;
epiq_part epiqp_ev(const double *h, ptrdiff_t count, ptrdiff_t stride, double level);
void epiqp_ev_points(const epiqp_problem *pb, epiqp_ev_findings *found); /* mean and part, from members and h */
int epiqp_warn_few_members(const epiqp_problem *pb, ptrdiff_t members);
int epiqp_estimate_ev(const epiqp_problem *pb, const epiqp_maker *maker, const epiqp_fit *fit,
                      epiqp_ev_findings *found);

/* BA, from networks trained on batches of the rows. */
typedef struct {
    ptrdiff_t batches; /* networks there are */
    const double *h;   /* batches by points; NULL: there are none */
    epiq_part *part;   /* points: as measured */
    double *phi;       /* points: BA times phi is corrected for small batches, 0: unknown there; NULL: not computed */
    const ptrdiff_t *batch_of; /* n: the batch that row i is in */
    double noise;              /* noise variance, if equal everywhere, scaled, that phi is made of */
    epiqp_kept weights;        /* as for EV */
} epiqp_ba_findings;
epiq_part epiqp_ba(const double *h, ptrdiff_t count, ptrdiff_t stride, double level);
void epiqp_ba_points(const epiqp_problem *pb, epiqp_ba_findings *found);
epiq_part epiqp_ba_corrected(epiq_part ba, double phi); /* phi 0: as it is */
/* closed: points, tau^2 of infinitely wide networks; as, ols: as for epiqp_find_phi. */
int epiqp_estimate_ba(const epiqp_problem *pb, const epiqp_maker *maker, const epiqp_solution *sol,
                      const epiq_part *closed, const epiqp_following *as, const epiqp_ols *ols,
                      epiqp_ba_findings *found);

/* Sums over rows of what multiplies their targets at a point: squares of kernel regression's weights, of linear
 * regression's (below 0: unknown), and their products. */
typedef struct {
    double kernel, linear, both;
} epiqp_squares;
/* room: n + p doubles. c: n; ols: of these rows, linear 0 if it has no coefficients. */
epiqp_squares epiqp_squares_at(const epiqp_env *e, const epiqp_ols *ols, ptrdiff_t n, const double *c, const double *at,
                               double *room);
/* sum += those of a batch. enough: its rows are enough for linear regression. */
void epiqp_squares_add(epiqp_squares *sum, const epiqp_squares *batch, bool enough);
/* How networks follow their data, for what follows: those of engine linear as their kernel does, of others retraining tells.
 * found NULL: nothing was retrained; returned is NULL: not known. */
const epiqp_following *epiqp_batches_follow(const epiq_options *o, const epiqp_followed *found);
/* The data part of the mean of networks on m batches over that of networks on all rows, if both answer as `as` says, from the sums
 * over batches; 1 where that cannot be known. */
double epiqp_batch_share(const epiqp_following *as, const epiqp_squares *all, const epiqp_squares *sum, double m);
/* phi, with which BA's expectation is data + procedural/m: noise is s2 |c|^2, share that of its data part that batches have,
 * the taus are those of networks on all rows and of those on a batch, a mean over batches. 0: it is no double. */
double epiqp_phi(double noise, double share, double tau2, double tau2_batches, double m);
/* batch: one fit for each batch, solved on the rank whose turn it is. as: how networks follow their data, NULL: not known; ols:
 * linear regression on all rows. */
int epiqp_find_phi(const epiqp_problem *pb, const epiqp_solution *sol, const epiq_part *closed,
                   const epiqp_following *as, const epiqp_ols *ols, const epiqp_listed *of, const epiqp_fit *batch,
                   epiqp_ba_findings *found);
bool epiqp_batch_is_mine(const epiqp_env *e, ptrdiff_t batch); /* batches are dealt to ranks in turn */

#endif
