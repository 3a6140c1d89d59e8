/* finish.c - the end of training: quasi-Newton steps (limited-memory BFGS, Nocedal and Wright, section 7.2), whose first
 * guess of the inverse Hessian is gamma P, P = I - sum_l c_l v_l v_l' with the leading directions v_l slowed down as
 * along the flow, or after implicit steps P = I - J'(kappa I + J J')^-1 J, with J where these ended. All that one step computes
 * with long vectors are the products of the gradient with each s_j, y_j and v_l, and one sum of them; the rest is done with the
 * products of pairs, which are kept. The vectors are here in double; on a device; or, after implicit steps, in single precision.
 */
#include "train/flow.h"

#include <math.h>
#include <string.h>

enum { MOST_KEPT = 2 * EPIQP_MOST_PAIRS + EPIQP_LEADING };
enum { TRIES = 6 };                        /* shorter and shorter steps, before the pairs are given up */
enum { WINDOW = 10, LONGEST_WINDOW = 64 }; /* gradients over which the loss is to fall: an eighth of all */
static const double OF_PART =
    4; /* the loss of a part of the rows is to settle so many times as well: it costs little */
static const double ENOUGH = 1e-4; /* of the fall that the slope promises (Armijo) */
enum { AFTER_COARSE = 2 };         /* steps at least, where the loss has settled in rough ones */

typedef struct {
    const epiqp_env *e;
    epiqp_flow *f;
    ptrdiff_t p;
    int room, count, at;                           /* pairs there is memory for; pairs; where the next one goes */
    float *s, *y;                                  /* room by p each */
    double sy[EPIQP_MOST_PAIRS][EPIQP_MOST_PAIRS]; /* s_i'y_j */
    double yy[EPIQP_MOST_PAIRS][EPIQP_MOST_PAIRS]; /* y_i'y_j */
    double vy[EPIQP_MOST_PAIRS][EPIQP_LEADING];    /* v_l'y_j, by j */
    double sg[EPIQP_MOST_PAIRS], yg[EPIQP_MOST_PAIRS], vg[EPIQP_LEADING]; /* of the gradient */
    double yd[EPIQP_MOST_PAIRS];                                          /* y_j'(direction) */
    double gamma;
    /* On a device: |gradient|^2; and of the last step that was tried, the products of its gradient with all that is
     * kept, and with the direction and the change from the last gradient (try_there). */
    double gg, of_next[MOST_KEPT], of_pair[4], square;
    /* After implicit steps: |theta - theta0|^2 of the last step that was tried; gradient_rel of the last one taken. */
    double moved, rel;
} memory;

static void forget(memory *m)
{
    m->count = m->at = 0;
    m->gamma = 1 / (m->f->implicit ? m->f->implicit->curvature : m->f->curvature);
}

/* The pair k steps ago, from 1. */
static int slot(const memory *m, int k)
{
    return (m->at - k + m->room) % m->room;
}

enum { SPAN = 2048 }; /* numbers at a time, which stay in the cache */

/* ---- the same with vectors that are on a device ---- */

/* The terms of all that is kept: s and y from the newest pair, then v. Returns how many. */
static ptrdiff_t kept(const memory *m, epiq_device_term *terms)
{
    ptrdiff_t count = 0;
    for (int j = 1; j <= m->count; j++) {
        terms[count++] = (epiq_device_term){m->s + slot(m, j) * m->p, 1, 0};
        terms[count++] = (epiq_device_term){m->y + slot(m, j) * m->p, 1, 0};
    }
    for (int l = 0; l < m->f->slowed; l++) {
        terms[count++] = (epiq_device_term){m->f->leading + l * m->p, 1, 0};
    }
    return count;
}

/* Asks for the products of g with all that is kept, which are taken from out when they have been computed. */
static void ask_products(const memory *m, const double *g, double *out)
{
    epiq_device_term terms[MOST_KEPT];
    const ptrdiff_t count = kept(m, terms);
    if (!count) return;
    epiqp_remote_add(m->f->remote,
                     (epiq_device_do){.op = EPIQ_DEVICE_PRODUCTS, .at = g, .count = count, .terms = terms, .own = out});
}

static void take_products(memory *m, const double *out)
{
    for (int j = 0; j < m->count; j++) {
        m->sg[slot(m, j + 1)] = out[2 * j];
        m->yg[slot(m, j + 1)] = out[2 * j + 1];
    }
    memcpy(m->vg, out + 2 * m->count, (size_t)m->f->slowed * sizeof *out);
}

/* direction = gamma g + sum (more_j s_j - gamma alpha_j y_j) - gamma sum v_l v[l]; returns its product with g, from those
 * that are known: nothing has to be waited for. */
static double direct_there(const memory *m, const double *g, const double *alpha, const double *more, const double *v,
                           double *direction)
{
    epiq_device_term terms[1 + MOST_KEPT] = {{g, 0, m->gamma}};
    const ptrdiff_t count = 1 + kept(m, terms + 1);
    double slope = m->gamma * m->gg;
    for (int k = 0; k < m->count; k++) {
        const int j = slot(m, k + 1);
        terms[1 + 2 * k].by = more[j];
        terms[2 + 2 * k].by = -m->gamma * alpha[j];
        slope += more[j] * m->sg[j] - m->gamma * alpha[j] * m->yg[j];
    }
    for (int l = 0; l < m->f->slowed; l++) {
        terms[1 + 2 * m->count + l].by = -m->gamma * v[l];
        slope -= m->gamma * v[l] * m->vg[l];
    }
    epiqp_remote_combine(m->f->remote, direction, false, count, terms);
    return slope;
}

/* The loss at `end`, where the direction leads, with all products that are needed if the step is taken: one run. */
static double try_there(memory *m, const double *end, const double *direction, double *next, double *rel)
{
    epiqp_flow *f = m->f;
    epiqp_remote *r = f->remote;
    double out[4] = {NAN, NAN, NAN, NAN};
    const epiq_device_term difference[2] = {{next, 0, 1}, {f->grad, 0, -1}},
                           factors[3] = {{direction, 0, 1}, {f->change, 0, 1}, {next, 0, 1}};
    epiqp_there_ask_loss(f, end, next, out);
    epiqp_remote_combine(r, f->change, false, 2, difference);
    ask_products(m, next, m->of_next);
    epiqp_remote_add(
        r,
        (epiq_device_do){.op = EPIQ_DEVICE_PRODUCTS, .at = f->change, .count = 3, .terms = factors, .own = m->of_pair});
    epiqp_remote_add(
        r,
        (epiq_device_do){.op = EPIQ_DEVICE_PRODUCTS, .at = next, .count = 1, .terms = factors, .own = m->of_pair + 3});
    epiqp_remote_run(r);
    m->square = out[3];
    return epiqp_there_take_loss(f, out, rel);
}

/* The pair of the step that was tried last in s and y, and the products. */
static void pair_there(memory *m, double length, const double *direction, float *s, float *y, double *sy, double *yy,
                       double *sg, double *yg)
{
    epiqp_remote *r = m->f->remote;
    const epiq_device_term step = {direction, 0, -length}, same = {m->f->change, 0, 1};
    epiqp_remote_combine(r, s, true, 1, &step);
    epiqp_remote_combine(r, y, true, 1, &same);
    take_products(m, m->of_next); /* of the oldest pair too */
    m->gg = m->square;
    *sy = -length * m->of_pair[0];
    *yy = m->of_pair[1];
    *yg = m->of_pair[2];
    *sg = -length * m->of_pair[3];
}

/* ---- after implicit steps: vectors in single precision, and products of J with gradients and their changes ---- */

static ptrdiff_t rows_of(const memory *m)
{
    return m->f->implicit->jacobian.n;
}

/* 2 by n: J y_j and (kappa + J J')^-1 J y_j */
static double *of_change(const memory *m, ptrdiff_t j)
{
    return m->f->implicit->of_change + j * 2 * rows_of(m);
}

/* x (n) = (kappa + J J')^-1 J (g - sum alpha_j y_j) */
static void solved(const memory *m, const double *alpha, double *x)
{
    const ptrdiff_t n = rows_of(m);
    memcpy(x, m->f->implicit->of_gradient + n, (size_t)n * sizeof *x);
    for (int k = 1; k <= m->count; k++) {
        epiqp_axpy(n, -alpha[slot(m, k)], of_change(m, slot(m, k)) + n, x);
    }
}

/* The products of the change of the gradient, in slot j; returns y'J'(kappa + J J')^-1 J y. */
static double take_change(const memory *m, ptrdiff_t j)
{
    const epiqp_implicit *i = m->f->implicit;
    const ptrdiff_t n = rows_of(m);
    double *to = of_change(m, j);
    memcpy(to, i->of_gradient, (size_t)(2 * n) * sizeof *to);
    epiqp_axpy(2 * n, -1, i->before, to);
    return epiqp_dot(n, to, to + n);
}

static void push_gradient(const memory *m)
{
    epiqp_implicit *i = m->f->implicit;
    double *kept_products = i->before;
    i->before = i->of_gradient;
    i->of_gradient = kept_products;
    epiqp_implicit_products(m->e, i, i->gradient, i->of_gradient);
}

enum { SUMS = 16 }; /* side by side, over SPAN numbers in single precision */

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

/* Pairs after implicit steps: 6, 20 and 40 need 2 % fewer gradients, and to read them takes longer. All s, and then all y, lie one
 * behind the other, and are taken four at a time. */
enum { FOUR = 4, FEW_PAIRS = 4, FEW_VECTORS = 2 * FEW_PAIRS };

/* The direction from x, which is solved()'s; returns its product with the gradient. */
static double direct_single(const memory *m, const double *alpha, const double *more, double *x)
{
    epiqp_implicit *of = m->f->implicit;
    float by[FEW_VECTORS];
    double slope = 0;
    for (int j = 0; j < FEW_PAIRS; j++) {
        by[j] = (float)more[j];
        by[FEW_PAIRS + j] = (float)(-m->gamma * alpha[j]);
    }
    for (ptrdiff_t i = 0; i < rows_of(m); i++) {
        x[i] *= -m->gamma;
    }
    const float *pulled = epiqp_jacobian_pull_single(&of->jacobian, x);
    for (ptrdiff_t k = 0; k < m->p; k += SPAN) {
        const ptrdiff_t some = epiqp_min(SPAN, m->p - k);
        float *to = of->direction + k;
        scaled_sum(some, (float)m->gamma, of->gradient + k, pulled + k, to);
        for (int j = 0; j < FEW_VECTORS; j += FOUR) {
            epiqp_axpy_four(some, by + j, m->s + j * m->p + k, m->p, to);
        }
        slope += dot(some, to, of->gradient + k);
    }
    return slope;
}

/* The loss where the direction leads; the gradient of its data part stays in the pass. */
static double try_single(memory *m, double length)
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

/* Takes the step that was tried last: the pair in s and y, the products of the gradient there, and those of the pair. */
static void pair_single(memory *m, double length, float *s, float *y, double *sy, double *yy, double *sg, double *yg)
{
    const epiqp_flow *f = m->f;
    const epiqp_implicit *of = f->implicit;
    const double lambda = f->task->lambda;
    float step[SPAN], change[SPAN];
    double products_of[FEW_VECTORS] = {0}, data = 0, gradient = 0;
    for (ptrdiff_t k = 0; k < m->p; k += SPAN) {
        const ptrdiff_t some = epiqp_min(SPAN, m->p - k);
        const float *from = f->pass.chunk32.grad + k;
        float *g = of->gradient + k;
        advance(some, (float)length, of->direction + k, (float)(2 * lambda), from, of->moved + k, g, step, change);
        for (int j = 0; j < FEW_VECTORS; j += FOUR) { /* of the oldest pair too, whose place the new one may take */
            epiqp_dot_four(some, m->s + j * m->p + k, m->p, g, products_of + j);
        }
        *sy += dot(some, step, change);
        *yy += dot(some, change, change);
        *sg += dot(some, step, g);
        *yg += dot(some, change, g);
        data += dot(some, from, from);
        gradient += dot(some, g, g);
        memcpy(s + k, step, (size_t)some * sizeof *s);
        memcpy(y + k, change, (size_t)some * sizeof *y);
    }
    memcpy(m->sg, products_of, FEW_PAIRS * sizeof *m->sg);
    memcpy(m->yg, products_of + FEW_PAIRS, FEW_PAIRS * sizeof *m->yg);
    m->rel = epiqp_gradient_rel(lambda, sqrt(data), m->moved, sqrt(gradient));
    push_gradient(m);
}

/* The products of g with all that is kept. */
static void products(memory *m, const double *g)
{
    const epiqp_flow *f = m->f;
    memset(m->sg, 0, sizeof m->sg);
    memset(m->yg, 0, sizeof m->yg);
    memset(m->vg, 0, sizeof m->vg);
    if (f->remote) {
        double out[MOST_KEPT] = {0};
        ask_products(m, g, out);
        m->gg = epiqp_remote_product(f->remote, g, g);
        take_products(m, out);
        return;
    }
    if (f->implicit) { /* where there are no pairs yet */
        push_gradient(m);
        return;
    }
    for (ptrdiff_t k = 0; k < m->p; k += SPAN) {
        const ptrdiff_t some = epiqp_min(SPAN, m->p - k);
        for (int j = 0; j < m->count; j++) {
            const ptrdiff_t at = slot(m, j + 1);
            m->sg[at] += epiqp_dot_single(some, m->s + at * m->p + k, g + k);
            m->yg[at] += epiqp_dot_single(some, m->y + at * m->p + k, g + k);
        }
        for (int l = 0; l < f->slowed; l++) {
            m->vg[l] += epiqp_dot_single(some, f->leading + l * m->p + k, g + k);
        }
    }
}

/* direction = H g; returns its product with g. */
static double direct(memory *m, const double *g, double *direction)
{
    const epiqp_flow *f = m->f;
    double alpha[EPIQP_MOST_PAIRS] = {0}, more[EPIQP_MOST_PAIRS] = {0}, v[EPIQP_LEADING] = {0}, slope = 0;
    for (int k = 1; k <= m->count; k++) { /* from the newest pair: q = g - sum alpha_j y_j */
        const int j = slot(m, k);
        double sq = m->sg[j];
        for (int i = 1; i < k; i++) {
            sq -= alpha[slot(m, i)] * m->sy[j][slot(m, i)];
        }
        alpha[j] = sq / m->sy[j][j];
    }
    for (int l = 0; l < f->slowed; l++) { /* gamma P q = gamma (q - sum v_l v[l]) */
        v[l] = m->vg[l];
        for (int k = 1; k <= m->count; k++) {
            v[l] -= alpha[slot(m, k)] * m->vy[slot(m, k)][l];
        }
        v[l] *= f->c[l];
    }
    double *x = f->implicit ? f->implicit->pushed : NULL;
    if (x) solved(m, alpha, x);
    for (int k = 1; k <= m->count; k++) {
        const int j = slot(m, k);
        double yr = m->yg[j];
        for (int i = 1; i <= m->count; i++) {
            yr -= alpha[slot(m, i)] * m->yy[j][slot(m, i)];
        }
        for (int l = 0; l < f->slowed; l++) {
            yr -= v[l] * m->vy[j][l];
        }
        if (x) yr -= epiqp_dot(rows_of(m), x, of_change(m, j));
        m->yd[j] = m->gamma * yr;
    }
    for (int k = m->count; k >= 1; k--) { /* from the oldest pair: + sum more_j s_j */
        const int j = slot(m, k);
        more[j] = alpha[j] - m->yd[j] / m->sy[j][j];
        for (int i = 1; i <= m->count; i++) {
            m->yd[slot(m, i)] += more[j] * m->sy[j][slot(m, i)];
        }
    }
    if (f->remote) return direct_there(m, g, alpha, more, v, direction);
    if (f->implicit) return direct_single(m, alpha, more, x);
    for (ptrdiff_t k = 0; k < m->p; k += SPAN) {
        const ptrdiff_t some = epiqp_min(SPAN, m->p - k);
        double *to = direction + k;
        memset(to, 0, (size_t)some * sizeof *to);
        epiqp_axpy(some, m->gamma, g + k, to);
        for (int i = 1; i <= m->count; i++) {
            const ptrdiff_t j = slot(m, i);
            epiqp_axpy_single(some, -m->gamma * alpha[j], m->y + j * m->p + k, to);
            epiqp_axpy_single(some, more[j], m->s + j * m->p + k, to);
        }
        for (int l = 0; l < f->slowed; l++) {
            epiqp_axpy_single(some, -m->gamma * v[l], f->leading + l * m->p + k, to);
        }
        slope += epiqp_dot(some, to, g + k);
    }
    return slope;
}

/* Takes up the step from g to next, -length times direction, as a pair, and makes next's products the current ones. */
static void remember(memory *m, double length, const double *direction, const double *g, const double *next)
{
    const memory was = *m;
    const ptrdiff_t n = m->at, p = m->p;
    float *s = m->s + n * p, *y = m->y + n * p;
    double sy = 0, yy = 0, sg = 0, yg = 0;
    const bool here = !m->f->remote && !m->f->implicit;
    if (here) products(m, next); /* of the oldest pair too, whose place the new one may take */
    if (m->f->remote) pair_there(m, length, direction, s, y, &sy, &yy, &sg, &yg);
    if (m->f->implicit) pair_single(m, length, s, y, &sy, &yy, &sg, &yg);
    for (ptrdiff_t k = 0; here && k < p; k++) {
        const double step = -length * direction[k], change = next[k] - g[k];
        sy += step * change;
        yy += change * change;
        sg += step * next[k];
        yg += change * next[k];
        s[k] = (float)step;
        y[k] = (float)change;
    }
    if (!(sy > 0 &&
          yy > 0)) { /* no pair: the curvature along the step is not positive. Its slot may be the oldest's. */
        if (m->count == m->room) m->count--;
        return;
    }
    for (int j = 0; j < m->room; j++) {
        m->sy[j][n] = m->sg[j] - was.sg[j];
        m->yy[j][n] = m->yy[n][j] = m->yg[j] - was.yg[j];
        m->sy[n][j] = -length * was.yd[j];
    }
    for (int l = 0; l < m->f->slowed; l++) {
        m->vy[n][l] = m->vg[l] - was.vg[l];
    }
    m->sy[n][n] = sy;
    m->yy[n][n] = yy;
    m->sg[n] = sg;
    m->yg[n] = yg;
    double slowed = yy; /* y'P y */
    for (int l = 0; l < m->f->slowed; l++) {
        slowed -= m->f->c[l] * m->vy[n][l] * m->vy[n][l];
    }
    if (m->f->implicit) slowed -= take_change(m, n);
    if (slowed > 1e-12 * yy) m->gamma = sy / slowed;
    m->at = (m->at + 1) % m->room;
    if (m->count < m->room) m->count++;
}

/* Goes on from rough steps of a device in single precision. The pairs stay: what is missing in them is little beside their
 * own changes. */
static void refine(memory *m, const double *theta, epiqp_training *report)
{
    epiqp_flow *f = m->f;
    f->coarse = false;
    report->loss = epiqp_flow_loss(f, theta, f->grad, &report->gradient_rel);
    report->iterations++;
    products(m, f->grad);
}

/* Until the loss falls by less than a fraction `settled`. f->rough: the precision of report->loss and f->grad. */
static int settle(const epiqp_env *e, memory *m, double settled, ptrdiff_t limit, bool on, double *theta,
                  epiqp_training *report)
{
    epiqp_flow *f = m->f;
    double *direction = f->before, *end = f->y, *next = f->old, past[LONGEST_WINDOW];
    bool single = f->rough;
    ptrdiff_t refined = 0; /* the step from which on steps are not rough */
    for (ptrdiff_t steps = 0; report->iterations < limit; steps++) {
        if (single && !f->pass.single) { /* the loss has become too small for it: rounding would look like a rise */
            if (f->implicit) epiqp_implicit_end(e->c, f, theta);
            report->loss = epiqp_flow_loss(f, theta, f->grad, &report->gradient_rel);
            report->iterations++;
            forget(m);
            products(m, f->grad);
        }
        single = f->pass.single;
        past[steps % LONGEST_WINDOW] = report->loss;
        const double slope = direct(m, f->grad, direction);
        double length = 1, loss = INFINITY, rel = 0;
        int tries = 0;
        bool lower = false;
        while (slope > 0 && !lower && tries++ < TRIES && report->iterations < limit) {
            if (epiqp_cancel_requested(e->c)) break;
            if (!f->implicit) epiqp_flow_step(f, end, theta, length, direction);
            loss = f->implicit ? try_single(m, length)
                   : f->remote ? try_there(m, end, direction, next, &rel)
                               : epiqp_flow_loss(f, end, next, &rel);
            report->iterations++;
            lower = loss <= report->loss - ENOUGH * length * slope;
            const double least = slope * length * length / (2 * (loss - report->loss + slope * length));
            if (!lower) length = least >= 0.1 * length ? fmin(least, 0.6 * length) : 0.1 * length;
        }
        int status = epiqp_check_cancel(e);
        if (status) return status;
        if (!lower && f->coarse && report->iterations < limit) {
            refine(m, theta, report);
            refined = steps;
            continue;
        }
        if (!lower) {
            if (m->count == 0 && single == f->pass.single) { /* not even along the gradient: a minimum, or a kink */
                report->converged = report->iterations < limit && !on;
                return EPIQ_OK;
            }
            forget(m);
            products(m, f->grad);
            continue;
        }
        remember(m, length, direction, f->grad, next);
        if (!f->implicit) {
            epiqp_flow_copy(f, theta, end);
            epiqp_flow_copy(f, f->grad, next);
        }
        report->loss = loss;
        report->gradient_rel = f->implicit ? m->rel : rel;
        const ptrdiff_t window = epiqp_min(LONGEST_WINDOW, epiqp_max(WINDOW, steps / 8));
        if (on || steps + 1 < window || past[(steps + 1 - window) % LONGEST_WINDOW] - loss > settled * loss) continue;
        if (f->coarse && report->iterations < limit) {
            refine(m, theta, report);
            refined = steps;
        } else if (!refined || steps >= refined + AFTER_COARSE) {
            report->converged = true;
            return EPIQ_OK;
        }
    }
    return EPIQ_OK;
}

/* From the minimum of a part of the rows to more of them. Gradients are counted in those of the rows at hand. The pairs stay: the
 * curvatures are nearly the same. */
static void take_more_rows(memory *m, const double *theta, epiqp_training *report)
{
    epiqp_flow *f = m->f;
    const double share = (double)f->task[0].n / (double)f->task[1].n;
    f->task++;
    f->rough = f->pass.single;
    report->converged = false;
    report->iterations = 1 + (ptrdiff_t)ceil(share * (double)report->iterations);
    report->loss = epiqp_flow_loss(f, theta, f->grad, &report->gradient_rel);
    products(m, f->grad);
}

int epiqp_finish(const epiqp_env *e, epiqp_flow *f, ptrdiff_t levels, double settled, ptrdiff_t limit, bool on,
                 double *theta, epiqp_training *report)
{
    memory m = {.e = e, .f = f, .p = f->p, .room = f->implicit ? FEW_PAIRS : f->pairs};
    m.s = (void *)f->image; /* the search for leading directions is over */
    m.y = m.s + m.room * f->p;
    forget(&m);
    products(&m, f->grad);
    int status = EPIQ_OK;
    for (; !status && levels > 1; levels--) {
        status = settle(e, &m, settled / OF_PART, limit, on, theta, report);
        if (!status) take_more_rows(&m, theta, report);
    }
    if (!status) status = settle(e, &m, settled, limit, on, theta, report);
    if (f->implicit) epiqp_implicit_end(e->c, f, theta);
    return status;
}
