/* network.c - engine network: draw, train, predict; with the network's own start taken off where that is asked for. */
#include "engine/engine.h"
#include "train/remote.h"

#include <math.h>
#include <string.h>

/* Where the flow takes more gradients than descent would take steps, descent would diverge; but it begins with many small ones. */
enum { FLOW_GRADIENTS = 1000 };

static int train(const epiqp_env *e, const epiqp_fit *f, const epiqp_draw *draw, const double *y, const double *theta0,
                 double *theta, epiqp_training *report)
{
    const epiq_options *o = f->o;
    epiqp_task task = {&f->net, f->rows.n, f->rows.x, y, f->lambda, theta0, &f->left, 0, y != f->y};
    memcpy(theta, theta0, (size_t)epiqp_net_params(&f->net) * sizeof *theta);
    if (o->optimizer == EPIQ_OPTIMIZER_AUTO) return epiqp_minimise(e, &task, o->steps, theta, report);
    if (o->optimizer == EPIQ_OPTIMIZER_FLOW) { /* lambda n is that of all rows, and so is time over n */
        task.until = epiqp_flow_time(o) * o->lambda / f->lambda;
        return epiqp_minimise(e, &task, o->steps ? epiqp_max(o->steps, FLOW_GRADIENTS) : 0, theta, report);
    }
    epiqp_descent how = {o->lr, o->steps, o->optimizer == EPIQ_OPTIMIZER_SGD ? o->batch_size : 0, draw->order};
    return epiqp_descend(e, &task, &how, theta, report);
}

double epiqp_network_bytes(const epiqp_net *net)
{
    return epiqp_minimise_bytes(epiqp_net_params(net)) + 3 * (double)sizeof(double) * (double)epiqp_net_params(net);
}

/* Weights of one network and of the one that is taken off it. */
typedef struct {
    double *theta0, *theta, *off; /* off: of the start itself, or of the second network; NULL: nothing is taken off */
    double *room;                 /* targets, then predictions to be taken off: as many as rows or points */
} weights;

/* The second network of a pair counts as trained as the first: the worse of both, their iterations together. */
static void join(epiqp_training *report, const epiqp_training *second)
{
    report->converged = report->converged && second->converged;
    report->gradient_rel = fmax(report->gradient_rel, second->gradient_rel);
    report->iterations += second->iterations;
}

/* The outputs at these rows of a network with the weights theta; on the device NULL: of the one that was trained last. */
static int forward(const epiqp_env *e, epiqp_pass *pass, const double *theta, ptrdiff_t n, const double *x, double *h)
{
    if (e->remote) return n ? epiqp_remote_forward(e->remote, theta, n, x, h) : EPIQ_OK;
    epiqp_net_forward(pass, theta, n, x, h);
    return EPIQ_OK;
}

/* With the start taken off (docs/method.md section 4), where that is asked for. */
static int train_pair(const epiqp_env *e, const epiqp_fit *f, const epiqp_draw *draw, epiqp_pass *pass,
                      const weights *w, epiqp_training *report)
{
    const ptrdiff_t n = f->rows.n;
    int status;
    if (!w->off) return train(e, f, draw, f->y, w->theta0, w->theta, report);
    if (f->o->predictor == EPIQ_PREDICTOR_SHIFTED) {
        if ((status = forward(e, pass, w->theta0, n, f->rows.x, w->room))) return status;
        epiqp_axpy(n, 1, f->y, w->room);
        return train(e, f, draw, w->room, w->theta0, w->theta, report);
    }
    epiqp_training second;
    memset(w->room, 0, (size_t)n * sizeof *w->room);
    if ((status = train(e, f, draw, w->room, w->theta0, w->off, &second)) ||
        (status = train(e, f, draw, f->y, w->theta0, w->theta, report))) {
        return status;
    }
    join(report, &second);
    return EPIQ_OK;
}

/* room: as many numbers as points. off NULL: nothing is taken off. */
static void answer(epiqp_pass *pass, const double *theta, const double *off, ptrdiff_t points, const double *x,
                   double *room, double *at)
{
    epiqp_net_forward(pass, theta, points, x, at);
    if (!off) return;
    epiqp_net_forward(pass, off, points, x, room);
    epiqp_axpy(points, -1, room, at);
}

/* The outputs at these rows; on the device, where the weights are still. */
static int outputs(const epiqp_env *e, epiqp_pass *pass, const weights *w, const epiqp_rows *at, double *h)
{
    int status = forward(e, pass, e->remote ? NULL : w->theta, at->n, at->x, h);
    if (status || !w->off) return status;
    if ((status = forward(e, pass, w->off, at->n, at->x, w->room))) return status;
    epiqp_axpy(at->n, -1, w->room, h);
    return EPIQ_OK;
}

static int member(const epiqp_env *e, const epiqp_fit *f, const epiqp_draw *draw, double *at, double *rows,
                  const epiqp_kept *keep, epiqp_training *report)
{
    const ptrdiff_t p = epiqp_net_params(&f->net);
    const bool removed = epiqp_start_removed(f->o), pnc = f->o->predictor == EPIQ_PREDICTOR_PNC;
    const ptrdiff_t room = removed ? epiqp_max(f->rows.n, f->at.n) : 0;
    double *theta0 = epiqp_alloc(e->c, (pnc ? 3 : 2) * p + room, sizeof *theta0);
    epiqp_pass pass = {0};
    int status = !theta0 ? EPIQ_E_NOMEM : e->remote ? EPIQ_OK : epiqp_pass_new(e, &f->net, &pass);
    if (status) goto end;
    weights w = {.theta0 = theta0, .theta = theta0 + p};
    w.off = pnc ? w.theta + p : removed ? theta0 : NULL;
    w.room = theta0 + (pnc ? 3 : 2) * p;
    epiqp_net_init(&f->net, draw->init, theta0);
    if (e->remote) epiqp_remote_begin(e->remote, &f->net);
    if ((status = train_pair(e, f, draw, &pass, &w, report))) goto end;
    if ((status = outputs(e, &pass, &w, &f->at, at))) goto end;
    if (rows && (status = outputs(e, &pass, &w, &f->rows, rows))) goto end;
    if (keep) memcpy(keep->theta, w.theta, (size_t)p * sizeof *w.theta);
    if (keep && removed) memcpy(keep->extra, w.off, (size_t)p * sizeof *w.off);
end:
    epiqp_pass_free(e->c, &pass);
    epiqp_free(e->c, theta0);
    return status;
}

static ptrdiff_t extra(const epiq_options *o, const epiqp_net *net, ptrdiff_t n)
{
    (void)n;
    return epiqp_start_removed(o) ? epiqp_net_params(net) : 0;
}

static void predict(const epiqp_fit *f, const epiqp_kept *kept, ptrdiff_t points, const double *x, const double *k0,
                    double *at, epiqp_pass *pass)
{
    (void)k0;
    const bool removed = epiqp_start_removed(f->o);
    for (ptrdiff_t from = 0; removed && from < points; from += EPIQP_SHALLOW32_ROWS) {
        double room[EPIQP_SHALLOW32_ROWS];
        const ptrdiff_t some = epiqp_min(EPIQP_SHALLOW32_ROWS, points - from);
        answer(pass, kept->theta, kept->extra, some, x + from * f->net.d, room, at + from);
    }
    if (!removed) epiqp_net_forward(pass, kept->theta, points, x, at);
}

const epiqp_engine epiqp_engine_network = {"network", true, false, member, extra, predict};
