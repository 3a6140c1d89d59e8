/* implicit.c - gradient flow of networks of several layers by linearly implicit steps, in the space of the rows. With J
 * the n by p Jacobian of the outputs at theta, r the residuals, w = theta - theta0, g = (2/n) J'r + 2 lambda w the
 * gradient of R and H = (2/n) J'J + 2 lambda I:
 *     theta <- theta - h (I + h H)^-1 g = theta - (h/c) (J'u + 2 lambda w)
 *     u = (kappa I + J J')^-1 ((2 kappa/n) r - 2 lambda J w),   c = 1 + 2 lambda h,   kappa = c n/(2 h)
 * stable for any h. J J' is the network's own tangent kernel, a few matrix products (net.h). J w, J'u, the outputs, and
 * the sensitivities from which J is made cost a third of a gradient each: 4/3 of a gradient in all, beside the kernel
 * and its factor. (Networks of three layers diverged without a new kernel for each step.) The last kernel and factor
 * also make the first guess of the inverse Hessian of the quasi-Newton steps (finish.c):
 *     (H + I/h)^-1 = (h/c) (I - J'(kappa I + J J')^-1 J).
 */
#include "train/flow.h"

#include <math.h>
#include <string.h>

static const double FIRST = 1;     /* first step, in units of the time of the fastest direction */
static const double GROWTH = 8;    /* steps over elapsed time */
static const double LONGEST = 0.1; /* longest step, in units of 1/lambda: longer ones oscillate across kinks */
static const double UNTIL = 1;     /* end of the flow in these units; it ends earlier */
static const double LITTLE = 0.3;  /* after a longest step that lowers the loss by less than this fraction */
static const double SHORTER = 4;   /* a step that raises the loss is repeated, shortened by this factor, */
enum { TAKEN_BACK = 4 };           /* at most this many times in all */
enum { GRADIENTS = 2 };            /* that a step counts as, including its share of a kernel */

/* With two layers a kernel costs 2/3 n/width gradients, and its factor less while n is a few times the width. Narrow
 * networks cross so many kinks at the end that the kernel saves little there. The first guess of the quasi-Newton steps
 * uses at most MOST_GUIDES width rows, evenly spread: more would save fewer gradients than they cost. */
enum { MOST_WIDTHS = 4, MOST_GUIDES = 2, MOST_ROWS = 8192, FEWEST_UNITS = 128 };

bool epiqp_implicit_worth(const epiqp_net *net, ptrdiff_t n)
{
    return net->depth > 1 && net->width >= FEWEST_UNITS && n <= MOST_WIDTHS * net->width && n <= MOST_ROWS;
}

static ptrdiff_t floats(ptrdiff_t n)
{
    return n * (n + 2 * EPIQP_KERNEL_PANEL + 1);
}

static ptrdiff_t doubles(ptrdiff_t n)
{
    return n * (3 + 2 * (2 + EPIQP_IMPLICIT_PAIRS));
}

double epiqp_implicit_bytes(const epiqp_net *net, ptrdiff_t n)
{
    return epiqp_jacobian_bytes(net, n) + (double)sizeof(float) * (double)floats(n) +
           (double)sizeof(double) * (double)doubles(n);
}

void epiqp_implicit_free(epiq_ctx *c, epiqp_implicit *m)
{
    if (!m) return;
    epiqp_jacobian_free(c, &m->jacobian);
    epiqp_free(c, m->factor);
    epiqp_free(c, m->output);
    epiqp_free(c, m);
}

static int implicit_new(const epiqp_env *e, const epiqp_task *t, epiqp_implicit **out)
{
    const ptrdiff_t n = t->n;
    epiqp_implicit *m = *out = epiqp_alloc(e->c, 1, sizeof *m);
    if (!m) return EPIQ_E_NOMEM;
    *m = (epiqp_implicit){.factor = epiqp_alloc(e->c, floats(n), sizeof *m->factor),
                          .output = epiqp_alloc(e->c, doubles(n), sizeof *m->output)};
    int status = m->factor && m->output ? epiqp_jacobian_new(e, t->net, n, t->x, &m->jacobian) : EPIQ_E_NOMEM;
    if (status) {
        epiqp_implicit_free(e->c, m);
        *out = NULL;
        return status;
    }
    m->panel = m->factor + n * n;
    m->solve = m->panel + 2 * n * EPIQP_KERNEL_PANEL;
    m->residual = m->output + n;
    m->pushed = m->residual + n;
    m->of_gradient = m->pushed + n;
    m->before = m->of_gradient + 2 * n;
    m->of_change = m->before + 2 * n;
    return EPIQ_OK;
}

/* The kernel of the current Jacobian, and its factor for steps of length h; false: none exists in single precision. */
static bool factor(const epiqp_env *e, const epiqp_task *t, double h, epiqp_implicit *m)
{
    const ptrdiff_t n = m->jacobian.n;
    m->curvature = 2 * t->lambda + 1 / h;
    m->shift = (double)n * m->curvature / 2;
    epiqp_jacobian_kernel(&m->jacobian, m->factor, m->panel);
    for (ptrdiff_t i = 0; i < n; i++) {
        m->factor[i * (n + 1)] += (float)m->shift;
    }
    return e->la->potrf32(n, m->factor, n) == 0;
}

/* v <- (kappa I + J J')^-1 v, block by block: trsm with one right-hand side would copy the factor. */
static void solve(const epiqp_env *e, const epiqp_implicit *m, double *v)
{
    enum { BLOCK = 32 };
    const ptrdiff_t n = m->jacobian.n;
    float *x = m->solve;
    for (ptrdiff_t i = 0; i < n; i++) {
        x[i] = (float)v[i];
    }
    for (ptrdiff_t at = 0; at < n; at += BLOCK) {
        const ptrdiff_t some = epiqp_min(BLOCK, n - at), below = at + some;
        const float *l = m->factor + at * (n + 1);
        e->la->trsm32('L', 'N', some, 1, l, n, x + at, n);
        if (below < n) e->la->gemv32('N', n - below, some, -1, l + some, n, x + at, 1, x + below);
    }
    for (ptrdiff_t at = (n - 1) / BLOCK * BLOCK; at >= 0; at -= BLOCK) {
        const ptrdiff_t some = epiqp_min(BLOCK, n - at), below = at + some;
        const float *l = m->factor + at * (n + 1);
        if (below < n) e->la->gemv32('T', n - below, some, -1, l + some, n, x + below, 1, x + at);
        e->la->trsm32('L', 'T', some, 1, l, n, x + at, n);
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        v[i] = (double)x[i];
    }
}

void epiqp_implicit_products(const epiqp_env *e, epiqp_implicit *m, const float *g, double *of)
{
    const ptrdiff_t n = m->jacobian.n;
    epiqp_jacobian_push_single(&m->jacobian, g, of);
    memcpy(of + n, of, (size_t)n * sizeof *of);
    solve(e, m, of + n);
}

/* Computes the Jacobian, the residuals and w (`moved`) at theta; returns the loss there. */
static double look(const epiqp_flow *f, epiqp_implicit *m, const double *theta, double *moved)
{
    const epiqp_task *t = f->task;
    epiqp_jacobian_at(&m->jacobian, theta, m->output);
    for (ptrdiff_t i = 0; i < t->n; i++) {
        m->residual[i] = m->output[i] - t->y[i];
    }
    epiqp_flow_step(f, moved, theta, 1, t->theta0);
    return epiqp_dot(t->n, m->residual, m->residual) / (double)t->n + t->lambda * epiqp_dot(f->p, moved, moved);
}

/* end = theta after a step; theta: where look was called last; moved: w, which is overwritten. */
static void step(const epiqp_env *e, const epiqp_flow *f, epiqp_implicit *m, const double *theta, double *moved,
                 double *end)
{
    const epiqp_task *t = f->task;
    double *u = m->pushed;
    epiqp_jacobian_push(&m->jacobian, moved, u);
    for (ptrdiff_t i = 0; i < t->n; i++) {
        u[i] = m->curvature * m->residual[i] - 2 * t->lambda * u[i];
    }
    solve(e, m, u);
    for (ptrdiff_t k = 0; k < f->p; k++) {
        moved[k] *= 2 * t->lambda;
    }
    epiqp_jacobian_pull(&m->jacobian, u, moved);
    epiqp_flow_step(f, end, theta, 1 / m->curvature, moved);
}

/* Prepares quasi-Newton steps from theta, where look was called last, with the gradient by the current Jacobian. */
static void hand_over(epiqp_flow *f, epiqp_implicit *m, const double *theta, epiqp_training *report)
{
    const epiqp_task *t = f->task;
    double data = 0, moved = 0, gradient = 0;
    m->start = (void *)f->old;
    m->moved = (void *)f->y;
    m->gradient = (void *)f->grad;
    m->direction = (void *)f->before;
    for (ptrdiff_t i = 0; i < t->n; i++) {
        m->pushed[i] = 2 / (double)t->n * m->residual[i];
    }
    const float *pulled = epiqp_jacobian_pull_single(&m->jacobian, m->pushed);
    for (ptrdiff_t k = 0; k < f->p; k++) {
        const double w = theta[k] - t->theta0[k], g = (double)pulled[k] + 2 * t->lambda * w;
        data += (double)pulled[k] * (double)pulled[k];
        moved += w * w;
        gradient += g * g;
        m->start[k] = (float)t->theta0[k];
        m->moved[k] = (float)w;
        m->gradient[k] = (float)g;
    }
    report->gradient_rel = epiqp_gradient_rel(t->lambda, sqrt(data), moved, sqrt(gradient));
    f->implicit = m;
}

/* The largest curvature of R: that of infinitely wide networks is accurate enough for the length of a first step. */
static double largest(const epiqp_flow *f)
{
    return f->left->curvature[0] + 2 * f->task->lambda;
}

void epiqp_implicit_end(epiq_ctx *c, epiqp_flow *f, double *theta)
{
    if (!f->implicit) return;
    for (ptrdiff_t k = 0; k < f->p; k++) {
        theta[k] = f->task->theta0[k] + (double)f->implicit->moved[k];
    }
    f->curvature = largest(f);
    epiqp_implicit_free(c, f->implicit);
    f->implicit = NULL;
}

int epiqp_implicit_flow(const epiqp_env *e, epiqp_flow *f, ptrdiff_t limit, double *theta, double *time,
                        epiqp_training *report)
{
    const epiqp_task *t = f->task;
    if (!f->pass.single || report->iterations + GRADIENTS >= limit) return EPIQ_OK;
    epiqp_implicit *m = NULL;
    int status = implicit_new(e, t, &m);
    if (status) return status;
    double *moved = f->before, *end = f->y, h = fmin(FIRST / largest(f), LONGEST / t->lambda),
           loss = look(f, m, theta, moved);
    int taken_back = 0;
    bool leads = loss <= EPIQP_LARGEST_LOSS, done = false;
    while (leads && !done && report->iterations + GRADIENTS < limit && loss >= f->pass.least) {
        if (!(leads = factor(e, t, h, m))) break;
        step(e, f, m, theta, moved, end);
        if ((status = epiqp_check_cancel(e))) break;
        const double next = look(f, m, end, moved);
        report->iterations += GRADIENTS;
        if (next <= 1.01 * loss) { /* as along the flow in explicit steps */
            epiqp_flow_copy(f, theta, end);
            *time += h;
            done = *time * t->lambda >= UNTIL || (h >= LONGEST / t->lambda && loss - next < LITTLE * loss);
            loss = next;
            h = fmin(fmax(h, GROWTH * *time), LONGEST / t->lambda);
        } else {
            h /= SHORTER;
            leads = taken_back++ < TAKEN_BACK;
            if (leads) look(f, m, theta, moved);
        }
    }
    if (done && !status) {
        report->loss = loss;
        report->iterations++;
        hand_over(f, m, theta, report);
        const ptrdiff_t guides = MOST_GUIDES * t->net->width;
        epiqp_jacobian_thin(&m->jacobian, (t->n + guides - 1) / guides);
        leads = factor(e, t, LONGEST / t->lambda, m);
        f->curvature = m->curvature;
    }
    if (!f->implicit) {
        epiqp_implicit_free(e->c, m);
    } else if (!leads) {
        epiqp_implicit_end(e->c, f, theta);
    }
    return status;
}
