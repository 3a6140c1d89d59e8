/* network.c - engine network: draw, train, predict. */
#include "engine/engine.h"

#include <string.h>

static bool needs_solve(const epiq_options *o)
{
    (void)o;
    return false;
}

static int train(const epiqp_env *e, const epiqp_fit *f, const epiqp_draw *draw, const double *theta0, double *theta,
                 epiqp_training *report)
{
    const epiq_options *o = f->o;
    epiqp_task task = {&f->net, f->rows.n, f->rows.x, f->y, o->lambda, theta0};
    if (o->optimizer == EPIQ_OPTIMIZER_AUTO) {
        return epiqp_minimise(e, &task, o->steps, theta, report);
    }
    epiqp_descent how = {o->lr, o->steps, o->optimizer == EPIQ_OPTIMIZER_SGD ? o->batch_size : 0, draw->order};
    return epiqp_descend(e, &task, &how, theta, report);
}

static int member(const epiqp_env *e, const epiqp_fit *f, const epiqp_draw *draw, double *at, double *rows,
                  const epiqp_kept *keep, epiqp_training *report)
{
    ptrdiff_t p = epiqp_net_params(&f->net);
    double *theta0 = epiqp_alloc(e->c, 2 * p, sizeof *theta0);
    epiqp_pass pass = {0};
    int s = theta0 ? epiqp_pass_new(e->c, &f->net, &pass) : EPIQ_E_NOMEM;
    if (!s) {
        double *theta = theta0 + p;
        epiqp_net_init(&f->net, draw->init, theta0);
        memcpy(theta, theta0, (size_t)p * sizeof *theta);
        s = train(e, f, draw, theta0, theta, report);
        if (!s) {
            epiqp_net_forward(e, &f->net, theta, f->at.n, f->at.x, at, &pass);
        }
        if (!s && rows) {
            epiqp_net_forward(e, &f->net, theta, f->rows.n, f->rows.x, rows, &pass);
        }
        if (!s && keep) {
            memcpy(keep->theta, theta, (size_t)p * sizeof *theta);
        }
    }
    epiqp_pass_free(e->c, &pass);
    epiqp_free(e->c, theta0);
    return s;
}

static ptrdiff_t extra(const epiq_options *o, const epiqp_net *net, ptrdiff_t n)
{
    (void)o, (void)net, (void)n;
    return 0;
}

static void predict(const epiqp_env *e, const epiqp_fit *f, const epiqp_kept *kept, ptrdiff_t points, const double *x,
                    const double *k0, double *at, epiqp_pass *pass)
{
    (void)k0;
    epiqp_net_forward(e, &f->net, kept->theta, points, x, at, pass);
}

const epiqp_engine epiqp_engine_network = {"network", true, needs_solve, member, extra, predict};
