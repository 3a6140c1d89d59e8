/* finish.c - the end of training: quasi-Newton steps (limited-memory BFGS, Nocedal and Wright, section 7.2), whose first
 * guess of the inverse Hessian is gamma P, P = I - sum_l c_l v_l v_l' with the leading directions v_l slowed down as
 * along the flow, or after implicit steps P = I - J'(kappa I + J J')^-1 J, with the J at which these ended. The only
 * operations of a step on long vectors are the products of the gradient with each s_j, y_j and v_l, and one linear
 * combination of these vectors (lbfgs.h). The recurrences are here, in terms of stored products of the pairs.
 */
#include "train/lbfgs.h"

#include <math.h>

enum { TRIES = 6 };                        /* ever shorter steps tried before the pairs are dropped */
enum { WINDOW = 10, LONGEST_WINDOW = 64 }; /* steps over which the loss must fall: an eighth of all so far */
/* For a part of the rows the fraction `settled` is divided by this: it costs little. */
static const double OF_PART = 4;
static const double ENOUGH = 1e-4; /* of the fall that the slope promises (Armijo) */
enum { AFTER_COARSE = 2 };         /* fewest further steps after the loss has settled in rough ones */

static const epiqp_lbfgs_way *way_of(const epiqp_flow *f)
{
    return f->remote ? &epiqp_lbfgs_device : f->implicit ? &epiqp_lbfgs_implicit : &epiqp_lbfgs_here;
}

static void forget(epiqp_lbfgs *m)
{
    m->count = m->at = 0;
    m->gamma = 1 / m->f->curvature;
}

/* ---- the first guess where leading directions are slowed down ---- */

void epiqp_lbfgs_slow(epiqp_lbfgs *m, const double *alpha)
{
    for (int l = 0; l < m->f->slowed; l++) {
        m->v[l] = m->vg[l];
        for (int k = 1; k <= m->count; k++) {
            m->v[l] -= alpha[epiqp_lbfgs_slot(m, k)] * m->vy[epiqp_lbfgs_slot(m, k)][l];
        }
        m->v[l] *= m->f->c[l];
    }
}

double epiqp_lbfgs_slowed(const epiqp_lbfgs *m, ptrdiff_t j, double yq)
{
    for (int l = 0; l < m->f->slowed; l++) {
        yq -= m->v[l] * m->vy[j][l];
    }
    return yq;
}

double epiqp_lbfgs_slow_change(epiqp_lbfgs *m, const epiqp_lbfgs *was, ptrdiff_t j, double yy)
{
    for (int l = 0; l < m->f->slowed; l++) {
        m->vy[j][l] = m->vg[l] - was->vg[l];
        yy -= m->f->c[l] * m->vy[j][l] * m->vy[j][l];
    }
    return yy;
}

/* ---- the recurrences, in products ---- */

/* direction = H g; returns its product with g. */
static double direct(epiqp_lbfgs *m)
{
    double alpha[EPIQP_MOST_PAIRS] = {0}, more[EPIQP_MOST_PAIRS] = {0};
    for (int k = 1; k <= m->count; k++) { /* from the newest pair: q = g - sum alpha_j y_j */
        const int j = epiqp_lbfgs_slot(m, k);
        double sq = m->sg[j];
        for (int i = 1; i < k; i++) {
            sq -= alpha[epiqp_lbfgs_slot(m, i)] * m->sy[j][epiqp_lbfgs_slot(m, i)];
        }
        alpha[j] = sq / m->sy[j][j];
    }
    m->way->reduce(m, alpha);
    for (int k = 1; k <= m->count; k++) { /* y_j'(gamma P q) */
        const int j = epiqp_lbfgs_slot(m, k);
        double yq = m->yg[j];
        for (int i = 1; i <= m->count; i++) {
            yq -= alpha[epiqp_lbfgs_slot(m, i)] * m->yy[j][epiqp_lbfgs_slot(m, i)];
        }
        m->yd[j] = m->gamma * m->way->reduced(m, j, yq);
    }
    for (int k = m->count; k >= 1; k--) { /* from the oldest pair: + sum more_j s_j */
        const int j = epiqp_lbfgs_slot(m, k);
        more[j] = alpha[j] - m->yd[j] / m->sy[j][j];
        for (int i = 1; i <= m->count; i++) {
            m->yd[epiqp_lbfgs_slot(m, i)] += more[j] * m->sy[j][epiqp_lbfgs_slot(m, i)];
        }
    }
    return m->way->direct(m, alpha, more);
}

/* Takes the step of the last attempt, -length times direction, and keeps it as a pair. */
static void take(epiqp_lbfgs *m, double length)
{
    const epiqp_lbfgs was = *m;
    const ptrdiff_t n = m->at;
    const epiqp_pair_products own = m->way->take(m, length, n);
    if (!(own.sy > 0 && own.yy > 0)) {       /* with it H would not be positive definite */
        if (m->count == m->room) m->count--; /* it has overwritten the oldest */
        return;
    }
    for (int j = 0; j < m->room; j++) {
        m->sy[j][n] = m->sg[j] - was.sg[j];
        m->yy[j][n] = m->yy[n][j] = m->yg[j] - was.yg[j];
        m->sy[n][j] = -length * was.yd[j];
    }
    m->sy[n][n] = own.sy;
    m->yy[n][n] = own.yy;
    m->sg[n] = own.sg;
    m->yg[n] = own.yg;
    const double reduced = m->way->reduce_change(m, &was, n, own.yy);
    if (reduced > 1e-12 * own.yy) m->gamma = own.sy / reduced;
    m->at = (m->at + 1) % m->room;
    if (m->count < m->room) m->count++;
}

/* ---- until the loss has settled ---- */

/* Computes the loss, the gradient and its products at theta once more, because the precision or the rows have changed. */
static void look_again(epiqp_lbfgs *m, epiqp_training *report)
{
    report->loss = epiqp_flow_loss(m->f, m->theta, m->f->grad, &report->gradient_rel);
    report->iterations++;
    m->way->products(m);
}

/* Switches from rough steps of a device to single precision. The pairs are kept: their rounding errors are small beside
 * the changes that they hold. */
static void refine(epiqp_lbfgs *m, epiqp_training *report)
{
    m->f->coarse = false;
    look_again(m, report);
}

/* Until the loss falls by less than a fraction `settled`. f->rough: the precision of report->loss and f->grad. */
static int settle(epiqp_lbfgs *m, double settled, ptrdiff_t limit, bool on, epiqp_training *report)
{
    epiqp_flow *f = m->f;
    double past[LONGEST_WINDOW];
    bool single = f->rough;
    ptrdiff_t may_end = 0; /* the first step that may be the last; set anew when rough steps end */
    for (ptrdiff_t steps = 0; report->iterations < limit; steps++) {
        if (single && !f->pass.single) { /* the loss is now too small for it: rounding would look like a rise */
            epiqp_implicit_end(m->e->c, f, m->theta);
            m->way = way_of(f);
            forget(m);
            look_again(m, report);
        }
        single = f->pass.single;
        past[steps % LONGEST_WINDOW] = report->loss;
        const double slope = direct(m);
        double length = 1, loss = INFINITY;
        int tries = 0;
        bool lower = false;
        while (slope > 0 && !lower && tries++ < TRIES && report->iterations < limit) {
            if (epiqp_cancel_requested(m->e->c)) break;
            loss = m->way->attempt(m, length);
            report->iterations++;
            lower = loss <= report->loss - ENOUGH * length * slope;
            const double least = slope * length * length / (2 * (loss - report->loss + slope * length));
            if (!lower) length = least >= 0.1 * length ? fmin(least, 0.6 * length) : 0.1 * length;
        }
        int status = epiqp_check_cancel(m->e);
        if (status) return status;
        if (!lower && f->coarse && report->iterations < limit) {
            refine(m, report);
            may_end = steps + AFTER_COARSE;
            continue;
        }
        if (!lower) {
            if (m->count == 0 && single == f->pass.single) { /* not even along the gradient: a minimum or a kink */
                report->converged = report->iterations < limit && !on;
                return EPIQ_OK;
            }
            forget(m);
            m->way->products(m);
            continue;
        }
        take(m, length);
        report->loss = loss;
        report->gradient_rel = m->rel;
        const ptrdiff_t window = epiqp_min(LONGEST_WINDOW, epiqp_max(WINDOW, steps / 8));
        if (on || steps + 1 < window || past[(steps + 1 - window) % LONGEST_WINDOW] - loss > settled * loss) continue;
        if (f->coarse && report->iterations < limit) {
            refine(m, report);
            may_end = steps + AFTER_COARSE;
        } else if (steps >= may_end) {
            report->converged = true;
            return EPIQ_OK;
        }
    }
    return EPIQ_OK;
}

/* Moves from the minimum of one part of the rows to the next part. report->iterations is converted to gradients of the
 * new number of rows. The pairs are kept, since the curvatures are nearly the same. */
static void take_more_rows(epiqp_lbfgs *m, epiqp_training *report)
{
    epiqp_flow *f = m->f;
    const double share = (double)f->task[0].n / (double)f->task[1].n;
    f->task++;
    f->rough = f->pass.single;
    report->converged = false;
    report->iterations = (ptrdiff_t)ceil(share * (double)report->iterations);
    look_again(m, report);
}

int epiqp_finish(const epiqp_env *e, epiqp_flow *f, ptrdiff_t levels, double settled, ptrdiff_t limit, bool on,
                 double *theta, epiqp_training *report)
{
    epiqp_lbfgs m = {.way = way_of(f), .e = e, .f = f, .p = f->p, .theta = theta, .room = f->pairs};
    m.direction = f->before;
    m.end = f->y;
    m.next = f->old;
    m.s = (void *)f->image; /* the search for leading directions is over */
    m.y = m.s + m.room * f->p;
    forget(&m);
    m.way->products(&m);
    int status = EPIQ_OK;
    for (; !status && levels > 1; levels--) {
        status = settle(&m, settled / OF_PART, limit, on, report);
        if (!status) take_more_rows(&m, report);
    }
    if (!status) status = settle(&m, settled, limit, on, report);
    epiqp_implicit_end(e->c, f, theta);
    return status;
}
