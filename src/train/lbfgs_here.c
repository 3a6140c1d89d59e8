/* lbfgs_here.c - quasi-Newton steps (lbfgs.h) with vectors in double, and pairs in single precision, in this process. */
#include "train/lbfgs.h"

#include <string.h>

enum { SPAN = 2048 }; /* numbers at a time, which stay in the cache */

/* The products of g with every stored vector. */
static void multiply(epiqp_lbfgs *m, const double *g)
{
    const epiqp_flow *f = m->f;
    memset(m->sg, 0, sizeof m->sg);
    memset(m->yg, 0, sizeof m->yg);
    memset(m->vg, 0, sizeof m->vg);
    for (ptrdiff_t k = 0; k < m->p; k += SPAN) {
        const ptrdiff_t some = epiqp_min(SPAN, m->p - k);
        for (int i = 1; i <= m->count; i++) {
            const ptrdiff_t j = epiqp_lbfgs_slot(m, i);
            m->sg[j] += epiqp_dot_single(some, m->s + j * m->p + k, g + k);
            m->yg[j] += epiqp_dot_single(some, m->y + j * m->p + k, g + k);
        }
        for (int l = 0; l < f->slowed; l++) {
            m->vg[l] += epiqp_dot_single(some, f->leading + l * m->p + k, g + k);
        }
    }
}

static void products(epiqp_lbfgs *m)
{
    multiply(m, m->f->grad);
}

static double direct(epiqp_lbfgs *m, const double *alpha, const double *more)
{
    const epiqp_flow *f = m->f;
    double slope = 0;
    for (ptrdiff_t k = 0; k < m->p; k += SPAN) {
        const ptrdiff_t some = epiqp_min(SPAN, m->p - k);
        const double *g = f->grad + k;
        double *to = m->direction + k;
        memset(to, 0, (size_t)some * sizeof *to);
        epiqp_axpy(some, m->gamma, g, to);
        for (int i = 1; i <= m->count; i++) {
            const ptrdiff_t j = epiqp_lbfgs_slot(m, i);
            epiqp_axpy_single(some, -m->gamma * alpha[j], m->y + j * m->p + k, to);
            epiqp_axpy_single(some, more[j], m->s + j * m->p + k, to);
        }
        for (int l = 0; l < f->slowed; l++) {
            epiqp_axpy_single(some, -m->gamma * m->v[l], f->leading + l * m->p + k, to);
        }
        slope += epiqp_dot(some, to, g);
    }
    return slope;
}

static double attempt(epiqp_lbfgs *m, double length)
{
    epiqp_flow_step(m->f, m->end, m->theta, length, m->direction);
    return epiqp_flow_loss(m->f, m->end, m->next, &m->rel);
}

static epiqp_pair_products take(epiqp_lbfgs *m, double length, ptrdiff_t j)
{
    const double *direction = m->direction, *g = m->f->grad, *next = m->next;
    float *s = m->s + j * m->p, *y = m->y + j * m->p;
    double sy = 0, yy = 0, sg = 0, yg = 0;
    multiply(m, next); /* before the new pair takes the place of the oldest */
    for (ptrdiff_t k = 0; k < m->p; k++) {
        const double step = -length * direction[k], change = next[k] - g[k];
        sy += step * change;
        yy += change * change;
        sg += step * next[k];
        yg += change * next[k];
        s[k] = (float)step;
        y[k] = (float)change;
    }
    epiqp_flow_copy(m->f, m->theta, m->end);
    epiqp_flow_copy(m->f, m->f->grad, next);
    return (epiqp_pair_products){sy, yy, sg, yg};
}

const epiqp_lbfgs_way epiqp_lbfgs_here = {.products = products,
                                          .direct = direct,
                                          .attempt = attempt,
                                          .take = take,
                                          .reduce = epiqp_lbfgs_slow,
                                          .reduced = epiqp_lbfgs_slowed,
                                          .reduce_change = epiqp_lbfgs_slow_change};
