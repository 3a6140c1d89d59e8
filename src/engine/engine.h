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

typedef struct {
    const char *name;
    bool trains;                                /* members minimise a loss, so they have a training report */
    bool (*needs_solve)(const epiq_options *o); /* members need the fit solved */
    /* One member: predictions at (points) and, if not NULL, at its own rows. NULL: there are no members. */
    int (*member)(const epiqp_env *e, const epiqp_fit *f, const epiqp_draw *draw, double *at, double *rows,
                  epiqp_training *report);
} epiqp_engine;

extern const epiqp_engine epiqp_engine_network, epiqp_engine_linear, epiqp_engine_infinite;
const epiqp_engine *epiqp_engine_of(const epiq_options *o);

#endif
