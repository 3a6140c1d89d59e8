/* engine.h - three ways to have the networks (docs/method.md section 4): really trained (network), linearised at their
 * start and solved (linear), or infinitely wide and in closed form (infinite). A new engine is one file and one row.
 */
#ifndef EPIQP_ENGINE_H
#define EPIQP_ENGINE_H

#include "solve/ridge.h"
#include "train/train.h"

/* Rows to learn from, points to predict at, and what every member trained on these rows shares. */
typedef struct {
    const epiq_options *o;
    epiqp_net net;
    epiqp_arch arch;
    epiqp_rows rows, at;
    const double *y; /* rows.n */
    bool solved;     /* ridge holds the population kernel's factor, alpha and c */
    epiqp_population population;
    ptrdiff_t resident; /* bytes of a factor in o->scratch that may be in memory; 0: it is not there */
    epiqp_ridge ridge;
} epiqp_fit;

epiqp_net epiqp_net_of(const epiq_options *o, ptrdiff_t d);
int epiqp_fit_new(const epiqp_env *e, const epiq_options *o, ptrdiff_t n, ptrdiff_t d, const double *x, const double *y,
                  ptrdiff_t points, const double *at, epiqp_fit *out);
int epiqp_fit_solve(const epiqp_env *e, epiqp_fit *f); /* factor the population kernel, once */
void epiqp_fit_free(epiq_ctx *c, epiqp_fit *f);

/* tau^2 of infinitely wide networks at every point: Q00 - 2 c'Q0 + c'Q c, with any c (points by n). */
int epiqp_infinite_variance(const epiqp_env *e, const epiqp_fit *f, const double *c, double *tau2);

/* Where a member's random numbers come from. */
typedef struct {
    epiqp_stream init, order;
} epiqp_draw;
epiqp_draw epiqp_draw_of(const epiq_options *o, ptrdiff_t k); /* member k of those trained on all rows */

/* What stays of a member when its predictions are wanted again elsewhere. */
typedef struct {
    double *theta; /* epiqp_net_params numbers: its weights */
    double *extra; /* what its engine adds to them, engine->extra numbers */
} epiqp_kept;

typedef struct {
    const char *name;
    bool trains;                                /* members minimise a loss, so they have a training report */
    bool (*needs_solve)(const epiq_options *o); /* members need the fit solved */
    /* One member: predictions at (points) and, if not NULL, at its own rows. NULL: there are no members. keep: where
     * it stays, or NULL. */
    int (*member)(const epiqp_env *e, const epiqp_fit *f, const epiqp_draw *draw, double *at, double *rows,
                  const epiqp_kept *keep, epiqp_training *report);
    /* Numbers kept beside the weights: none, one a row (to be multiplied with the kernel between rows and point), or
     * one a weight (a step from them). */
    ptrdiff_t (*extra)(const epiq_options *o, const epiqp_net *net, ptrdiff_t n);
    /* Predictions of a kept member at points x; k0 (points by n): the kernel, needed if extra is one a row. */
    void (*predict)(const epiqp_env *e, const epiqp_fit *f, const epiqp_kept *kept, ptrdiff_t points, const double *x,
                    const double *k0, double *at, epiqp_pass *pass);
} epiqp_engine;

extern const epiqp_engine epiqp_engine_network, epiqp_engine_linear, epiqp_engine_infinite;
const epiqp_engine *epiqp_engine_of(const epiq_options *o);

#endif
