/* flow.c - training to the minimum along gradient flow, d theta / dt = -grad R, which is what plain descent follows
 * with tiny steps. relu's kinks leave many minima, and quasi-Newton methods end in others than descent does
 * (docs/method.md section 5); so the flow itself is integrated, by first-order Runge-Kutta-Chebyshev steps: s gradients
 * carry it over a time that grows with s^2, where descent needs a number that grows with the time itself.
 *     w0 = 1 + eps/s^2, w1 = T_s(w0)/T_s'(w0), b_j = 1/T_j(w0)
 *     Y_0 = theta, Y_1 = Y_0 - (w1/w0) h g(Y_0)
 *     Y_j = (1 - mu_j - nu_j) Y_0 + mu_j Y_{j-1} + nu_j Y_{j-2} - m_j h g(Y_{j-1})
 *     mu_j = 2 w0 b_j/b_{j-1}, nu_j = -b_j/b_{j-2}, m_j = 2 w1 b_j/b_{j-1}
 * Stable while h times the largest curvature is below about (2 - 4 eps/3) s^2.
 */
#include "train/train.h"

#include <math.h>
#include <string.h>

static const double DAMPING = 0.05; /* eps */
static const double REACH = 1.9;    /* h curvature <= REACH s^2: 2 - 4 eps/3, less a little */
static const double FIRST = 0.1;    /* first steps, in units of the fastest direction's time */
static const double GROWTH = 0.1;   /* step over time passed; with 0.25 it ends about twice as far from descent's end */
static const double MARGIN = 1.1;   /* on the largest curvature, which power iteration underestimates */
/* Converged: the last doubling of time lowered the loss by less than this fraction. */
static const double SETTLED = 3e-4;
/* The slowest directions move at rate 2 lambda: wait for 1/lambda, but for so many gradients at most. */
static const ptrdiff_t PATIENCE = 20000;
static const ptrdiff_t MOST_GRADIENTS = 200000;

typedef struct {
    const epiqp_task *task;
    ptrdiff_t p;
    double curvature; /* the largest, of R */
    double *block, *grad, *y, *before, *old, *rows;
    epiqp_pass pass;
} flow;

static int flow_new(const epiqp_env *e, const epiqp_task *t, flow *f)
{
    *f = (flow){.task = t, .p = epiqp_net_params(t->net)};
    f->block = epiqp_alloc(e->c, 4 * f->p + t->n, sizeof(double));
    if (!f->block) {
        return EPIQ_E_NOMEM;
    }
    f->grad = f->block;
    f->y = f->grad + f->p;
    f->before = f->y + f->p;
    f->old = f->before + f->p;
    f->rows = f->old + f->p;
    for (ptrdiff_t i = 0; i < t->n; i++) {
        f->rows[i] = 1; /* where power iteration starts: J'1 is far from orthogonal to the leading direction */
    }
    return epiqp_task_pass(e, t, &f->pass);
}

/* Largest eigenvalue of (2/n) J J' + 2 lambda by power iteration, going on from the last one's vector. Each turn costs
 * about two gradients. */
static void measure_curvature(const epiqp_env *e, flow *f, const double *theta, int turns)
{
    const epiqp_task *t = f->task;
    double norm = 0;
    for (int k = 0; k < turns; k++) {
        memset(f->y, 0, (size_t)f->p * sizeof *f->y);
        epiqp_net_vjp(e, t->net, theta, t->n, t->x, f->rows, f->y, &f->pass);
        epiqp_net_jvp(e, t->net, theta, f->y, t->n, t->x, f->rows, &f->pass);
        norm = sqrt(epiqp_dot(t->n, f->rows, f->rows));
        for (ptrdiff_t i = 0; i < t->n; i++) {
            f->rows[i] = norm > 0 ? f->rows[i] / norm : 1;
        }
    }
    f->curvature = MARGIN * 2 * (norm / (double)t->n + t->lambda);
}

/* One step of s stages from theta, whose gradient is in f->grad; the end is left in f->y. */
static void chebyshev_step(const epiqp_env *e, flow *f, const double *theta, double h, ptrdiff_t s)
{
    double w0 = 1 + DAMPING / ((double)s * (double)s), tj = w0, tj1 = 1, dj = 1,
           dj1 = 0; /* T_j, T_{j-1} and derivatives */
    for (ptrdiff_t j = 2; j <= s; j++) {
        double t = 2 * w0 * tj - tj1, d = 2 * tj + 2 * w0 * dj - dj1;
        tj1 = tj, dj1 = dj;
        tj = t, dj = d;
    }
    double w1 = tj / dj, t0 = 1, t1 = w0; /* T_{j-2}, T_{j-1} */
    memcpy(f->before, theta, (size_t)f->p * sizeof *theta);
    for (ptrdiff_t k = 0; k < f->p; k++) {
        f->y[k] = theta[k] - w1 / w0 * h * f->grad[k];
    }
    for (ptrdiff_t j = 2; j <= s; j++) {
        double t2 = 2 * w0 * t1 - t0, mu = 2 * w0 * t1 / t2, nu = -t0 / t2, m = 2 * w1 * t1 / t2;
        epiqp_loss(e, f->task, f->y, f->grad, NULL, &f->pass);
        epiqp_mix(f->p, 1 - mu - nu, theta, mu, f->y, nu, f->before, -m * h, f->grad);
        double *kept = f->y;
        f->y = f->before;
        f->before = kept;
        t0 = t1;
        t1 = t2;
    }
}

int epiqp_minimise(const epiqp_env *e, const epiqp_task *t, ptrdiff_t most_steps, double *theta, epiqp_training *report)
{
    flow f;
    int status = flow_new(e, t, &f);
    *report = (epiqp_training){0};
    if (status) {
        goto end;
    }
    ptrdiff_t limit = most_steps > 0 ? most_steps : MOST_GRADIENTS;
    double time = 0, checked_time = 0, checked_loss = INFINITY;
    measure_curvature(e, &f, theta, 10);
    report->loss = epiqp_loss(e, t, theta, f.grad, &report->gradient_rel, &f.pass);
    report->iterations = 1;
    while (!report->converged && report->iterations < limit) {
        if (epiqp_stopping(e->c)) {
            status = epiqp_fail(e->c, EPIQ_E_STOPPED, "stopped on request during training");
            goto end;
        }
        double h = fmax(FIRST / f.curvature, GROWTH * time);
        ptrdiff_t s = h * f.curvature <= 0.5 ? 1 : epiqp_max(2, (ptrdiff_t)ceil(sqrt(h * f.curvature / REACH)));
        if (s > limit - report->iterations) { /* the last step allowed may be a short one */
            s = limit - report->iterations;
            h = fmin(h, REACH * (double)s * (double)s / f.curvature);
        }
        memcpy(f.old, f.grad, (size_t)f.p * sizeof *f.old);
        chebyshev_step(e, &f, theta, h, s);
        double rel, loss = epiqp_loss(e, t, f.y, f.grad, &rel, &f.pass);
        report->iterations += s;
        if (!(loss <= 1.01 * report->loss)) { /* the flow only descends: the curvature must have grown */
            double curvature = f.curvature;
            memcpy(f.grad, f.old, (size_t)f.p * sizeof *f.old);
            measure_curvature(e, &f, theta, 5);
            f.curvature = fmax(f.curvature, 1.5 * curvature);
            if (!(f.curvature <= 1e100)) {
                status =
                    epiqp_fail(e->c, EPIQ_E_NUMERIC, "training met numbers that are too large; use --scale standard");
                goto end;
            }
            continue;
        }
        memcpy(theta, f.y, (size_t)f.p * sizeof *theta);
        time += h;
        report->loss = loss;
        report->gradient_rel = rel;
        if (time >= 2 * checked_time) {
            bool slowest = time >= 1 / t->lambda || report->iterations >= PATIENCE;
            report->converged = slowest && checked_loss - loss <= SETTLED * loss;
            checked_time = time;
            checked_loss = loss;
        }
    }
end:
    epiqp_pass_free(e->c, &f.pass);
    epiqp_free(e->c, f.block);
    return status;
}
