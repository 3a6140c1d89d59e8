/* ask_device.c - a model's networks and its factor on a device (epiq_device.h), for many points: outputs of all networks in
 * double, and c = A^-1 k0. Weights are sent once where all of them fit there, otherwise with every block of points.
 */
#include "model/model.h"

#include <math.h>

/* Of the device's free memory what weights and points may take, beside BESIDE for activations (cuda/shallow.cu, deep.cu). */
static const double SHARE = 0.8, BESIDE = 1.5e9;

/* Seconds of the processor from which a device gains: to start and end it takes about 0.35 s on an H200. */
static const double WORTH = 1;
/* Networks that the processor asks in single precision do not count: with 16 cores it was as fast (docs/gpu.md). */

struct epiqp_asked {
    const epiqp_env *e;
    const epiq_device *device;
    epiqp_net net;
    ptrdiff_t count, at_once; /* networks; of which the weights are there at a time */
    const double **theta;     /* count: their weights, here */
    double *weights, *x;      /* there: at_once by params; points by features */
    bool sent;                /* all weights are there */
    epiqp_gmat factor;        /* a NULL: solves are done here */
    epiq_device_do *steps;    /* 2 for each network: its weights are put there, then outputs */
    epiq_device_program *programs;
};

bool epiqp_asked_worth(const epiqp_env *e, const epiq_model *m, const bool *use, bool solves, double rows)
{
    const double n = (double)m->n, p = (double)epiqp_net_params(&m->fit.net);
    double each = solves && m->n >= EPIQP_GMAT_ROWS ? 2 * n * n : 0;
    for (int k = 0; k < EPIQP_ENSEMBLES; k++) {
        const bool deep = m->o.engine == EPIQ_ENGINE_NETWORK && !m->ensemble[k].single.w;
        each += use[k] && deep ? 2 * p * (double)m->ensemble[k].count : 0;
    }
    return each * rows > WORTH * EPIQP_PER_CORE * e->threads;
}

/* How many networks' weights fit there with this many points; 0: not one does. */
static ptrdiff_t places(const epiqp_asked *t, ptrdiff_t points)
{
    const double free = t->device->bytes_free(t->device->user),
                 left = SHARE * free - BESIDE - 8 * (double)points * (double)(t->net.d + 1);
    return (ptrdiff_t)fmin((double)t->count, fmax(0, left / (8 * (double)epiqp_net_params(&t->net))));
}

/* The weights of all networks that are asked: those of each ensemble and, where the start is taken off, of what is. */
static void list_weights(epiqp_asked *t, const epiq_model *m, const bool *use)
{
    const ptrdiff_t p = epiqp_net_params(&t->net);
    for (int k = 0; k < EPIQP_ENSEMBLES; k++) {
        const epiqp_kept *kept = m->ensemble[k].weights;
        for (ptrdiff_t i = 0; use[k] && i < m->ensemble[k].count; i++) {
            t->theta[t->count++] = kept->theta + i * p;
            if (epiqp_start_removed(&m->o)) t->theta[t->count++] = kept->extra + i * p;
        }
    }
}

static int take_networks(epiqp_asked *t, ptrdiff_t points)
{
    const epiq_device *d = t->device;
    const double p = (double)epiqp_net_params(&t->net);
    void *weights = NULL, *x = NULL;
    t->at_once = places(t, points);
    if (!t->at_once) {
        return epiqp_fail(t->e->c, EPIQ_E_NOMEM,
                          "a network of %.0f weights at %td rows does not fit into the memory that is free on the GPU; "
                          "use {--device} auto or cpu",
                          p, points);
    }
    int s = epiqp_device_failed(t->e->c, d, d->memory_new(d->user, 8 * p * (double)t->at_once, &weights));
    t->weights = weights;
    if (!s) s = epiqp_device_failed(t->e->c, d, d->memory_new(d->user, 8 * (double)(points * t->net.d), &x));
    t->x = x;
    return s;
}

int epiqp_asked_new(const epiqp_env *e, const epiq_model *m, const bool *use, const epiqp_tri *factor, ptrdiff_t points,
                    epiqp_asked **out)
{
    epiqp_asked *t = *out = epiqp_alloc(e->c, 1, sizeof *t);
    ptrdiff_t most = 1;
    int s = t ? EPIQ_OK : EPIQ_E_NOMEM;
    if (s) return s;
    for (int k = 0; k < EPIQP_ENSEMBLES; k++) {
        most += use[k] ? 2 * m->ensemble[k].count : 0;
    }
    *t = (epiqp_asked){.e = e, .device = e->device->table, .net = m->fit.net};
    t->theta = epiqp_alloc(e->c, most, sizeof *t->theta);
    t->steps = epiqp_alloc(e->c, 2 * most, sizeof *t->steps);
    t->programs = epiqp_alloc(e->c, most, sizeof *t->programs);
    if (!t->theta || !t->steps || !t->programs) s = EPIQ_E_NOMEM;
    if (!s && factor && epiqp_gmat_takes(e, m->n)) s = epiqp_gmat_load(e, factor, &t->factor);
    if (!s && m->o.engine == EPIQ_ENGINE_NETWORK) list_weights(t, m, use);
    if (!s && t->count) s = take_networks(t, points);
    if (s) epiqp_asked_free(t);
    if (s) *out = NULL;
    return s;
}

void epiqp_asked_free(epiqp_asked *t)
{
    if (!t) return;
    epiq_ctx *c = t->e->c;
    t->device->memory_free(t->device->user, t->weights);
    t->device->memory_free(t->device->user, t->x);
    epiqp_gmat_free(&t->factor);
    epiqp_free(c, t->theta);
    epiqp_free(c, t->steps);
    epiqp_free(c, t->programs);
    epiqp_free(c, t);
}

bool epiqp_asked_solves(const epiqp_asked *t)
{
    return t && t->factor.a;
}

bool epiqp_asked_networks(const epiqp_asked *t)
{
    return t && t->count;
}

static int run(const epiqp_asked *t, ptrdiff_t count)
{
    return epiqp_device_failed(t->e->c, t->device, t->device->run(t->device->user, count, t->programs));
}

int epiqp_asked_outputs(epiqp_asked *t, ptrdiff_t points, const double *x, double *h)
{
    const ptrdiff_t p = epiqp_net_params(&t->net);
    const epiqp_net *net = &t->net;
    t->steps[0] = (epiq_device_do){.op = EPIQ_DEVICE_PUT, .to = t->x, .count = points * net->d, .own = (double *)x};
    t->programs[0] = (epiq_device_program){net->d, net->width, net->depth, net->beta, 1, t->steps};
    int s = run(t, 1);
    for (ptrdiff_t from = 0; !s && from < t->count; from += t->at_once) {
        const ptrdiff_t some = epiqp_min(t->at_once, t->count - from);
        for (ptrdiff_t k = 0; k < some; k++) {
            double *there = t->weights + k * p, *outputs = h + (from + k) * points;
            epiq_device_do *two = t->steps + 2 * k;
            two[0] =
                (epiq_device_do){.op = EPIQ_DEVICE_PUT, .to = there, .count = p, .own = (double *)t->theta[from + k]};
            two[1] = (epiq_device_do){.op = EPIQ_DEVICE_FORWARD, .at = there, .n = points, .x = t->x, .own = outputs};
            t->programs[k] =
                (epiq_device_program){net->d, net->width, net->depth, net->beta, 2 - t->sent, two + (t->sent ? 1 : 0)};
        }
        s = run(t, some);
    }
    t->sent = !s && t->at_once == t->count;
    return s;
}

int epiqp_asked_solve(const epiqp_asked *t, ptrdiff_t cols, double *b)
{
    return epiqp_gmat_solve(t->e, &t->factor, cols, b);
}
