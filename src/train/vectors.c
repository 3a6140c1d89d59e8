/* vectors.c - the operations of one training on long vectors (flow.h): in this process, or on a device, where they are
 * added to the list of the network's place (remote.h) and run when a number is needed.
 */
#include "train/flow.h"

#include <math.h>
#include <string.h>

void epiqp_flow_copy(const epiqp_flow *f, double *to, const double *from)
{
    if (!f->remote) {
        memcpy(to, from, (size_t)f->p * sizeof *to);
        return;
    }
    epiqp_remote_combine(f->remote, to, false, 1, &(epiq_device_term){from, 0, 1});
}

void epiqp_flow_step(const epiqp_flow *f, double *to, const double *from, double by, const double *along)
{
    if (f->remote) {
        epiqp_remote_combine(f->remote, to, false, 2, (epiq_device_term[]){{from, 0, 1}, {along, 0, -by}});
        return;
    }
    for (ptrdiff_t k = 0; k < f->p; k++) {
        to[k] = from[k] - by * along[k];
    }
}

void epiqp_flow_mix(const epiqp_flow *f, double a, const double *x, double b, const double *y, double c, double *z,
                    double e, const double *g)
{
    if (!f->remote) {
        epiqp_mix(f->p, a, x, b, y, c, z, e, g);
        return;
    }
    epiqp_remote_combine(f->remote, z, false, 4, (epiq_device_term[]){{x, 0, a}, {y, 0, b}, {z, 0, c}, {g, 0, e}});
}

/* Rounding to 11 bits moves an output by about 2e-4 sqrt(k), k being the kernel's diagonal, and adds the square of that
 * to the loss. pass.least is 1e-6 k, so that COARSE times pass.least is a thousand times that square. */
static const double COARSE = 40;

static int precision(const epiqp_flow *f)
{
    return f->pass.single && f->coarse ? EPIQ_DEVICE_ROUGH : f->pass.single;
}

void epiqp_there_ask_loss(epiqp_flow *f, const double *theta, double *grad, double *out)
{
    const epiqp_task *t = f->task;
    epiqp_remote_add(f->remote, (epiq_device_do){.op = EPIQ_DEVICE_LOSS,
                                                 .single = precision(f),
                                                 .to = grad,
                                                 .at = theta,
                                                 .start = f->theta0,
                                                 .lambda = t->lambda,
                                                 .n = t->n,
                                                 .x = f->x,
                                                 .y = f->targets,
                                                 .own = out});
}

double epiqp_there_take_loss(epiqp_flow *f, const double *out, double *gradient_rel)
{
    const epiqp_task *t = f->task;
    const double loss = out[0] / (double)t->n + t->lambda * out[2];
    *gradient_rel = epiqp_gradient_rel(t->lambda, sqrt(out[1]), out[2], sqrt(out[3]));
    if (loss < f->pass.least) f->pass.single = false; /* from the next evaluation on */
    if (loss < COARSE * f->pass.least) f->coarse = false;
    return loss;
}

double epiqp_flow_loss(epiqp_flow *f, const double *theta, double *grad, double *gradient_rel)
{
    if (!f->remote) return epiqp_loss(f->task, theta, grad, gradient_rel, &f->pass);
    double out[4] = {NAN, NAN, NAN, NAN};
    epiqp_there_ask_loss(f, theta, grad, gradient_rel ? out : NULL);
    if (!gradient_rel) return 0;
    epiqp_remote_run(f->remote);
    return epiqp_there_take_loss(f, out, gradient_rel);
}

/* ---- on a device only ---- */

static void put(const epiqp_flow *f, double *to, const double *own)
{
    epiqp_remote_add(f->remote,
                     (epiq_device_do){.op = EPIQ_DEVICE_PUT, .to = to, .count = f->p, .own = (double *)(void *)own});
}

int epiqp_there_begin(const epiqp_env *e, epiqp_flow *f, ptrdiff_t images, const double *theta)
{
    const epiqp_task *t = f->task;
    epiqp_remote *r = e->remote;
    double *probe = epiqp_alloc(e->c, f->p, sizeof *probe);
    if (!probe) return EPIQ_E_NOMEM;
    f->remote = r;
    epiqp_remote_begin(r, t->net);
    f->theta = epiqp_remote_memory(r); /* first, where epiqp_remote_forward expects it */
    f->theta0 = f->theta + f->p;
    f->grad = f->theta0 + f->p;
    f->y = f->grad + f->p;
    f->before = f->y + f->p;
    f->old = f->before + f->p;
    f->change = f->old + f->p;
    f->image = f->change + f->p;
    f->leading = (void *)(f->image + images * f->p);
    f->probe = f->leading + f->leads * f->p;
    f->x = epiqp_remote_array(r, t->n * t->net->d, t->x);
    f->targets = t->own_targets ? epiqp_remote_own(r, t->n, t->y) : epiqp_remote_array(r, t->n, t->y);
    f->left_x = epiqp_remote_array(r, f->left->rows * t->net->d, f->left->x);
    f->left_u = epiqp_remote_array(r, f->left->rows * epiqp_max(1, f->left->count), f->left->u);
    f->pass.single = epiqp_task_single(e, t, &f->pass.least);
    f->coarse = epiqp_remote_split(r) && t->net->depth > 1 && !(t->until > 0);
    epiqp_uniforms((epiqp_stream){0, EPIQP_FOR_SEARCH, 0}, f->p, probe);
    for (ptrdiff_t k = 0; k < f->p; k++) {
        probe[k] -= 0.5;
    }
    put(f, f->theta, theta);
    put(f, f->theta0, t->theta0);
    put(f, f->old, probe);
    epiqp_remote_combine(r, f->probe, true, 1, &(epiq_device_term){f->old, 0, 1});
    int status = epiqp_remote_run(r);
    epiqp_free(e->c, probe);
    return status;
}

int epiqp_there_end(const epiqp_flow *f, double *theta)
{
    epiqp_remote_add(f->remote, (epiq_device_do){.op = EPIQ_DEVICE_FETCH, .at = f->theta, .count = f->p, .own = theta});
    return epiqp_remote_run(f->remote);
}

void epiqp_there_slow(const epiqp_flow *f, int count, const double *c, double *g)
{
    epiq_device_term terms[EPIQP_LEADING];
    for (int j = 0; j < count; j++) {
        terms[j] = (epiq_device_term){f->leading + j * f->p, 1, c ? c[j] : 1};
    }
    if (!count) return;
    epiqp_remote_add(f->remote, (epiq_device_do){.op = EPIQ_DEVICE_SLOW, .to = g, .count = count, .terms = terms});
}

double epiqp_there_normal(const epiqp_flow *f, const double *theta, int but, double *to)
{
    epiqp_remote_add(f->remote, (epiq_device_do){.op = EPIQ_DEVICE_NORMAL,
                                                 .single = precision(f),
                                                 .to = to,
                                                 .at = theta,
                                                 .n = f->task->n,
                                                 .x = f->x,
                                                 .count = 1,
                                                 .terms = &(epiq_device_term){f->probe, 1, 1}});
    epiqp_there_slow(f, but, NULL, to);
    return sqrt(epiqp_remote_product(f->remote, to, to));
}

void epiqp_there_unit(const epiqp_flow *f, const double *v, double norm, float *unit)
{
    epiqp_remote_combine(f->remote, unit, true, 1, &(epiq_device_term){v, 0, 1 / norm});
}

/* to (count by p) = J'u_j for the first u */
static void pull(const epiqp_flow *f, const double *theta, int count, double *to)
{
    epiqp_remote_add(f->remote, (epiq_device_do){.op = EPIQ_DEVICE_PULLS,
                                                 .single = precision(f),
                                                 .to = to,
                                                 .at = theta,
                                                 .n = f->left->rows,
                                                 .x = f->left_x,
                                                 .y = f->left_u,
                                                 .count = count});
}

double epiqp_there_first(const epiqp_flow *f, const double *theta, double *to)
{
    pull(f, theta, 1, to);
    return sqrt(epiqp_remote_product(f->remote, to, to));
}

void epiqp_there_pull(const epiqp_flow *f, const double *theta, double *h)
{
    const int count = f->leads;
    epiq_device_term terms[EPIQP_LEADING];
    pull(f, theta, count, f->image);
    for (int j = 0; j < count; j++) {
        terms[j] = (epiq_device_term){f->image + j * f->p, 0, 1};
    }
    for (int j = 0; j < count; j++) { /* from the diagonal on: h is symmetric */
        epiqp_remote_add(f->remote, (epiq_device_do){.op = EPIQ_DEVICE_PRODUCTS,
                                                     .at = f->image + j * f->p,
                                                     .count = count - j,
                                                     .terms = terms + j,
                                                     .own = h + j * count + j});
    }
    epiqp_remote_run(f->remote);
    for (int j = 0; j < count; j++) {
        for (int i = 0; i < j; i++) {
            h[j * count + i] = h[i * count + j];
        }
    }
}

void epiqp_there_rotate(const epiqp_flow *f, const double *z, const double *s)
{
    const int count = f->leads;
    epiq_device_term terms[EPIQP_LEADING];
    for (int j = 0; j < count; j++) {
        const int from = count - 1 - j;
        const double length = sqrt(fmax(0, s[from]));
        for (int i = 0; i < count; i++) {
            terms[i] = (epiq_device_term){f->image + i * f->p, 0, length > 0 ? z[from * count + i] / length : 0};
        }
        epiqp_remote_combine(f->remote, f->leading + j * f->p, true, count, terms);
    }
}
