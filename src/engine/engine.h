/* engine.h - three ways to obtain the networks (docs/method.md section 4): trained (network), linearised at their
 * start and solved (linear), or infinitely wide and in closed form (infinite). A new engine is one file and one row.
 */
#ifndef EPIQP_ENGINE_H
#define EPIQP_ENGINE_H

#include "kernel/kernel.h"
#include "solve/ridge.h"
#include "train/train.h"

/* Rows to learn from, points to predict at, and what every member trained on these rows shares. */
typedef struct {
    const epiq_options *o;
    epiqp_net net;
    epiqp_arch arch;
    epiqp_rows rows, at;
    epiqp_left left; /* of the rows, where networks are trained to the minimum */
    const double *y; /* rows.n */
    double lambda;   /* o->lambda unless these are some of the rows, */
    int solver;      /* and o->solver */
    bool solved;     /* ridge holds c, alpha (not of parts of the rows), and the factor where the solver is exact */
    epiqp_population population;
    ptrdiff_t resident;        /* bytes of a factor in o->scratch that may be in memory; 0: the factor is in memory */
    const ptrdiff_t *left_out; /* points: the row that is left out there, -1: none; NULL: at no point */
    epiqp_ridge ridge;         /* at points left out c is that row of A^-1: epiqp_leave_points_out (est) goes on */
} epiqp_fit;

epiqp_net epiqp_net_of(const epiq_options *o, ptrdiff_t d);
int epiqp_fit_new(const epiqp_env *e, const epiq_options *o, ptrdiff_t n, ptrdiff_t d, const double *x, const double *y,
                  ptrdiff_t points, const double *at, epiqp_fit *out);
int epiqp_fit_solve(const epiqp_env *e, epiqp_fit *f); /* solves with the population kernel; once */
void epiqp_fit_free(epiq_ctx *c, epiqp_fit *f);

/* tau^2 of infinitely wide networks at every point: Q00 - 2 c'Q0 + c'Q c, with any c (points by n); 0 where the start is
 * removed. */
int epiqp_infinite_variance(const epiqp_env *e, const epiqp_fit *f, const double *c, double *tau2);
double epiqp_infinite_bytes(ptrdiff_t n); /* that it takes, about */

/* Where a member's random numbers come from. */
typedef struct {
    epiqp_stream init, order;
} epiqp_draw;
epiqp_draw epiqp_draw_of(const epiq_options *o, ptrdiff_t k); /* member k of those trained on all rows */

/* What is kept of a member to predict at other points later. */
typedef struct {
    double *theta; /* epiqp_net_params numbers: its weights */
    double *extra; /* what its engine adds to them, engine->extra numbers */
} epiqp_kept;

typedef struct {
    const char *name;
    bool trains; /* members minimise a loss, so they have a training report */
    bool solves; /* members need the fit solved, except those of engine linear with their own kernels */
    /* Makes one member: its predictions at the points and, if rows is not NULL, at its own rows. keep: receives what is
     * kept of it, or NULL. The function is NULL if the engine has no members. */
    int (*member)(const epiqp_env *e, const epiqp_fit *f, const epiqp_draw *draw, double *at, double *rows,
                  const epiqp_kept *keep, epiqp_training *report);
    /* Numbers kept besides the weights: none, one per row (to be multiplied by the kernel between rows and point), or
     * one per weight (a step from them, or the network that is taken off). */
    ptrdiff_t (*extra)(const epiq_options *o, const epiqp_net *net, ptrdiff_t n);
    /* Predictions of a kept member at points x; k0 (points by n): the kernel, needed if extra is one per row. */
    void (*predict)(const epiqp_fit *f, const epiqp_kept *kept, ptrdiff_t points, const double *x, const double *k0,
                    double *at, epiqp_pass *pass);
} epiqp_engine;

double epiqp_network_bytes(const epiqp_net *net); /* that engine network takes for one member at a time */

extern const epiqp_engine epiqp_engine_network, epiqp_engine_linear, epiqp_engine_infinite;
const epiqp_engine *epiqp_engine_of(const epiq_options *o);
bool epiqp_needs_solve(const epiq_options *o);   /* whether members need the fit solved */
bool epiqp_start_removed(const epiq_options *o); /* whether a member's own start is taken off its predictions */
bool epiqp_stops(const epiq_options *o);         /* whether training ends after a given time, not at the minimum */
double epiqp_flow_time(const epiq_options *o);   /* of optimizer flow on all rows; INFINITY: to its end */

#endif
