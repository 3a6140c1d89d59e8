/* lbfgs_implicit.c - quasi-Newton steps (lbfgs.h) after implicit ones (implicit.c): vectors in single precision, and
 * the first guess P = I - J'(kappa I + J J')^-1 J, with the J at which the implicit steps ended. To apply P, the
 * products of J with gradients and with their changes are stored, one number per row. The rest is bound by memory
 * bandwidth: it processes the weights in spans that stay in the cache, and the pairs four at a time.
 */
#include "train/lbfgs.h"

#include <math.h>
#include <string.h>

enum { SPAN = 2048, SUMS = 16 }; /* numbers at a time; sums side by side over these, in single precision */
/* All s, then all y, are contiguous. Slots that hold no pair yet are read too, with the factor 0. */
enum { FOUR = 4, VECTORS = 2 * EPIQP_IMPLICIT_PAIRS };

/* ---- the first guess ---- */

static ptrdiff_t rows_of(const epiqp_lbfgs *m)
{
    return m->f->implicit->jacobian.n;
}

/* 2 by n: J y_j and (kappa + J J')^-1 J y_j */
static double *of_change(const epiqp_lbfgs *m, ptrdiff_t j)
{
    return m->f->implicit->of_change + j * 2 * rows_of(m);
}

/* pushed (n) = (kappa + J J')^-1 J q */
static void reduce(epiqp_lbfgs *m, const double *alpha)
{
    const epiqp_implicit *i = m->f->implicit;
    const ptrdiff_t n = rows_of(m);
    memcpy(i->pushed, i->of_gradient + n, (size_t)n * sizeof *i->pushed);
    for (int k = 1; k <= m->count; k++) {
        const int j = epiqp_lbfgs_slot(m, k);
        epiqp_axpy(n, -alpha[j], of_change(m, j) + n, i->pushed);
    }
}

static double reduced(const epiqp_lbfgs *m, ptrdiff_t j, double yq)
{
    return yq - epiqp_dot(rows_of(m), m->f->implicit->pushed, of_change(m, j));
}

static double reduce_change(epiqp_lbfgs *m, const epiqp_lbfgs *was, ptrdiff_t j, double yy)
{
    const epiqp_implicit *i = m->f->implicit;
    const ptrdiff_t n = rows_of(m);
    double *to = of_change(m, j);
    (void)was; /* i->before holds what is needed */
    memcpy(to, i->of_gradient, (size_t)(2 * n) * sizeof *to);
    epiqp_axpy(2 * n, -1, i->before, to);
    return yy - epiqp_dot(n, to, to + n);
}

static void push_gradient(const epiqp_lbfgs *m)
{
    epiqp_implicit *i = m->f->implicit;
    double *last = i->before;
    i->before = i->of_gradient;
    i->of_gradient = last;
    epiqp_implicit_products(m->e, i, i->gradient, i->of_gradient);
}

/* ---- loops over a span ---- */

/* theta = start + moved - by along; returns |theta - start|^2. */
static EPIQP_VERSIONS double lead(ptrdiff_t n, float by, const float *restrict along, const float *restrict moved,
                                  const float *restrict start, float *restrict theta)
{
    float part[SUMS] = {0};
    double sum = 0;
    ptrdiff_t k = 0;
    for (; k + SUMS <= n; k += SUMS) {
        for (int i = 0; i < SUMS; i++) {
            const float w = moved[k + i] - by * along[k + i];
            theta[k + i] = start[k + i] + w;
            part[i] += w * w;
        }
    }
    for (; k < n; k++) {
        const float w = moved[k] - by * along[k];
        theta[k] = start[k] + w;
        sum += (double)(w * w);
    }
    for (int i = 0; i < SUMS; i++) {
        sum += (double)part[i];
    }
    return sum;
}

/* A step taken: w -= by along, g = data + pull w, with the pair s and y. */
static EPIQP_VERSIONS void advance(ptrdiff_t n, float by, const float *restrict along, float pull,
                                   const float *restrict data, float *restrict w, float *restrict g, float *restrict s,
                                   float *restrict y)
{
    for (ptrdiff_t k = 0; k < n; k++) {
        s[k] = -by * along[k];
        w[k] += s[k];
        const float next = data[k] + pull * w[k];
        y[k] = next - g[k];
        g[k] = next;
    }
}

/* to = a x + y */
static EPIQP_VERSIONS void scaled_sum(ptrdiff_t n, float a, const float *restrict x, const float *restrict y,
                                      float *restrict to)
{
    for (ptrdiff_t k = 0; k < n; k++) {
        to[k] = a * x[k] + y[k];
    }
}

static EPIQP_VERSIONS double dot(ptrdiff_t n, const float *x, const float *y)
{
    float part[SUMS] = {0};
    double sum = 0;
    ptrdiff_t k = 0;
    for (; k + SUMS <= n; k += SUMS) {
        for (int i = 0; i < SUMS; i++) {
            part[i] += x[k + i] * y[k + i];
        }
    }
    for (; k < n; k++) {
        sum += (double)(x[k] * y[k]);
    }
    for (int i = 0; i < SUMS; i++) {
        sum += (double)part[i];
    }
    return sum;
}

/* ---- a step ---- */

/* Called only while there are no pairs. */
static void products(epiqp_lbfgs *m)
{
    memset(m->s, 0, (size_t)(VECTORS * m->p) * sizeof *m->s);
    push_gradient(m);
}

static double direct(epiqp_lbfgs *m, const double *alpha, const double *more)
{
    epiqp_implicit *of = m->f->implicit;
    float by[VECTORS];
    double slope = 0;
    for (int j = 0; j < EPIQP_IMPLICIT_PAIRS; j++) {
        by[j] = (float)more[j];
        by[EPIQP_IMPLICIT_PAIRS + j] = (float)(-m->gamma * alpha[j]);
    }
    for (ptrdiff_t i = 0; i < rows_of(m); i++) {
        of->pushed[i] *= -m->gamma;
    }
    const float *pulled = epiqp_jacobian_pull_single(&of->jacobian, of->pushed);
    for (ptrdiff_t k = 0; k < m->p; k += SPAN) {
        const ptrdiff_t some = epiqp_min(SPAN, m->p - k);
        float *to = of->direction + k;
        scaled_sum(some, (float)m->gamma, of->gradient + k, pulled + k, to);
        for (int j = 0; j < VECTORS; j += FOUR) {
            epiqp_axpy_four(some, by + j, m->s + j * m->p + k, m->p, to);
        }
        slope += dot(some, to, of->gradient + k);
    }
    return slope;
}

/* The gradient of the data part stays in the pass until the step is taken. */
static double attempt(epiqp_lbfgs *m, double length)
{
    epiqp_flow *f = m->f;
    const epiqp_implicit *of = f->implicit;
    const epiqp_task *t = f->task;
    float *theta = f->pass.chunk32.theta;
    m->moved = 0;
    for (ptrdiff_t k = 0; k < m->p; k += SPAN) {
        m->moved +=
            lead(epiqp_min(SPAN, m->p - k), (float)length, of->direction + k, of->moved + k, of->start + k, theta + k);
    }
    const double squares = epiqp_net_squares_single(&f->pass, t->n, t->x, t->y, 2 / (double)t->n),
                 loss = squares / (double)t->n + t->lambda * m->moved;
    if (loss < f->pass.least) f->pass.single = false; /* as epiqp_loss */
    return loss;
}

static epiqp_pair_products take(epiqp_lbfgs *m, double length, ptrdiff_t place)
{
    const epiqp_flow *f = m->f;
    const epiqp_implicit *of = f->implicit;
    const double lambda = f->task->lambda;
    float step[SPAN], change[SPAN];
    double products_of[VECTORS] = {0}, data = 0, gradient = 0;
    epiqp_pair_products own = {0};
    for (ptrdiff_t k = 0; k < m->p; k += SPAN) {
        const ptrdiff_t some = epiqp_min(SPAN, m->p - k);
        const float *from = f->pass.chunk32.grad + k;
        float *g = of->gradient + k;
        advance(some, (float)length, of->direction + k, (float)(2 * lambda), from, of->moved + k, g, step, change);
        for (int j = 0; j < VECTORS; j += FOUR) { /* before the new pair takes the place of the oldest */
            epiqp_dot_four(some, m->s + j * m->p + k, m->p, g, products_of + j);
        }
        own.sy += dot(some, step, change);
        own.yy += dot(some, change, change);
        own.sg += dot(some, step, g);
        own.yg += dot(some, change, g);
        data += dot(some, from, from);
        gradient += dot(some, g, g);
        memcpy(m->s + place * m->p + k, step, (size_t)some * sizeof *step);
        memcpy(m->y + place * m->p + k, change, (size_t)some * sizeof *change);
    }
    memcpy(m->sg, products_of, EPIQP_IMPLICIT_PAIRS * sizeof *m->sg);
    memcpy(m->yg, products_of + EPIQP_IMPLICIT_PAIRS, EPIQP_IMPLICIT_PAIRS * sizeof *m->yg);
    m->rel = epiqp_gradient_rel(lambda, sqrt(data), m->moved, sqrt(gradient));
    push_gradient(m);
    return own;
}

const epiqp_lbfgs_way epiqp_lbfgs_implicit = {.products = products,
                                              .direct = direct,
                                              .attempt = attempt,
                                              .take = take,
                                              .reduce = reduce,
                                              .reduced = reduced,
                                              .reduce_change = reduce_change};
