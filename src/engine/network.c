/* network.c - engine network: draw, train, predict. */
#include "engine/engine.h"

#include <string.h>

static int train(const epiqp_env *e, const epiqp_fit *f, const epiqp_draw *draw, const double *theta0, double *theta,
                 epiqp_training *report)
{
    const epiq_options *o = f->o;
    epiqp_task task = {&f->net, f->rows.n, f->rows.x, f->y, f->lambda, theta0, &f->left, false};
    if (o->optimizer == EPIQ_OPTIMIZER_AUTO) return epiqp_minimise(e, &task, o->steps, theta, report);
    epiqp_descent how = {o->lr, o->steps, o->optimizer == EPIQ_OPTIMIZER_SGD ? o->batch_size : 0, draw->order};
    return epiqp_descend(e, &task, &how, theta, report);
}

double epiqp_network_bytes(const epiqp_net *net)
{
    return epiqp_minimise_bytes(epiqp_net_params(net)) + 2 * (double)sizeof(double) * (double)epiqp_net_params(net);
}

static int member(const epiqp_env *e, const epiqp_fit *f, const epiqp_draw *draw, double *at, double *rows,
                  const epiqp_kept *keep, epiqp_training *report)
{
    ptrdiff_t p = epiqp_net_params(&f->net);
    double *theta0 = epiqp_alloc(e->c, 2 * p, sizeof *theta0);
    epiqp_pass pass = {0};
    int status = theta0 ? epiqp_pass_new(e, &f->net, &pass) : EPIQ_E_NOMEM;
    if (status) goto end;
    double *theta = theta0 + p;
    epiqp_net_init(&f->net, draw->init, theta0);
    memcpy(theta, theta0, (size_t)p * sizeof *theta);
    if ((status = train(e, f, draw, theta0, theta, report))) goto end;
    epiqp_net_forward(&pass, theta, f->at.n, f->at.x, at);
    if (rows) epiqp_net_forward(&pass, theta, f->rows.n, f->rows.x, rows);
    if (keep) memcpy(keep->theta, theta, (size_t)p * sizeof *theta);
end:
    epiqp_pass_free(e->c, &pass);
    epiqp_free(e->c, theta0);
    return status;
}

static ptrdiff_t extra(const epiq_options *o, const epiqp_net *net, ptrdiff_t n)
{
    (void)o, (void)net, (void)n;
    return 0;
}

static void predict(const epiqp_fit *f, const epiqp_kept *kept, ptrdiff_t points, const double *x, const double *k0,
                    double *at, epiqp_pass *pass)
{
    (void)f, (void)k0;
    epiqp_net_forward(pass, kept->theta, points, x, at);
}

const epiqp_engine epiqp_engine_network = {"network", true, false, member, extra, predict};
