/* flow.c - training to the minimum along gradient flow, d theta / dt = -grad R, which is what plain descent follows
 * with tiny steps. relu's kinks leave many minima, and quasi-Newton methods end in others than descent does
 * (docs/method.md section 5); so the flow itself is integrated, by first-order Runge-Kutta-Chebyshev steps: s gradients
 * carry it over a time that grows with s^2, where descent needs a number that grows with the time itself.
 *     w0 = 1 + eps/s^2, w1 = T_s(w0)/T_s'(w0), b_j = 1/T_j(w0)
 *     Y_0 = theta, Y_1 = Y_0 - (w1/w0) h g(Y_0)
 *     Y_j = (1 - mu_j - nu_j) Y_0 + mu_j Y_{j-1} + nu_j Y_{j-2} - m_j h g(Y_{j-1})
 *     mu_j = 2 w0 b_j/b_{j-1}, nu_j = -b_j/b_{j-2}, m_j = 2 w1 b_j/b_{j-1}
 * Stable while h times the largest curvature is below about (2 - 4 eps/3) s^2. The few directions of largest curvature
 * have long come to rest while the others still move: they are slowed down, g -> (I - sum_j c_j v_j v_j') g with
 * c_j = 1 - cap/curvature_j, to a pace that still is many times that of the step, and s shrinks with the cap's root.
 */
#include "train/train.h"

#include <math.h>
#include <string.h>

static const double DAMPING = 0.05; /* eps */
static const double REACH = 1.9;    /* h curvature <= REACH s^2: 2 - 4 eps/3, less a little */
static const double FIRST = 0.1;    /* first steps, in units of the fastest direction's time */
static const double GROWTH = 0.17;  /* step over time passed; with 0.3 it ends about twice as far from descent's end */
static const double MARGIN =
    1.1; /* on the largest curvature, which power iteration underestimates; more once it fails */

/* Directions slowed down: this many at most, sought again when time has grown by a factor RENEWED or the loss has risen
 * by a fraction STRAYED, which shows that they have turned away. Each stays PACE times as fast as the time passed asks,
 * and is slowed by SLOWEST at most, since a stage moves by about 2/cap times the gradient and overshoots a kink by as
 * much. */
enum { LEADING = 10 };
static const double RENEWED = 16, STRAYED = 1e-3, PACE = 25, SLOWEST = 12;

/* In units of 1/lambda, the time of the slowest directions: the longest step (over the time, beyond 1); when all but
 * the kinks has come to rest, and steps become short and shrink with the square of the time, so that what rattles at
 * kinks settles, where long steps would go on from one minimum to the next; the earliest end; and how often convergence
 * is looked at. */
static const double LONGEST = 0.3, SETTLING = 2, SHORT = 0.1, ENOUGH = 2.9, LOOK = 0.2;
/* Converged: since the last look, LOOK earlier (or half the time when PATIENCE gradients were not enough for a small
 * lambda), the loss fell by less than this fraction; what is left falls by less again. */
static const double SETTLED = 1e-3;
static const ptrdiff_t PATIENCE = 20000;
static const ptrdiff_t MOST_GRADIENTS = 200000;

typedef struct {
    const epiqp_task *task;
    ptrdiff_t p;
    double curvature;    /* the largest, of R as slowed, */
    double margin;       /* and what it was multiplied by to be safe */
    double searched;     /* when the leading directions were last sought */
    double own[LEADING]; /* their curvatures, falling */
    int slowed;          /* so many of them are, */
    double c[LEADING];   /* by so much */
    double *block, *grad, *y, *before, *old;
    float *leading; /* LEADING by p: v_j */
    double *image;  /* likewise: J'J v_j while they are sought */
    double *probe;  /* where power iteration goes on from */
    epiqp_pass pass;
} flow;

static int flow_new(const epiqp_env *e, const epiqp_task *t, flow *f)
{
    *f = (flow){.task = t, .p = epiqp_net_params(t->net), .margin = MARGIN};
    f->block = epiqp_alloc(e->c, (5 + LEADING + LEADING / 2) * f->p, sizeof(double));
    if (!f->block) {
        return EPIQ_E_NOMEM;
    }
    f->grad = f->block;
    f->y = f->grad + f->p;
    f->before = f->y + f->p;
    f->old = f->before + f->p;
    f->probe = f->old + f->p;
    f->image = f->probe + f->p;
    f->leading = (void *)(f->image + LEADING * f->p);
    /* any direction will do to start from, if it does not miss the leading ones */
    epiqp_uniforms((epiqp_stream){0, EPIQP_FOR_SEARCH, 0}, (1 + LEADING) * f->p, f->probe);
    for (ptrdiff_t k = 0; k < f->p; k++) {
        f->probe[k] -= 0.5;
    }
    for (ptrdiff_t k = 0; k < LEADING * f->p; k++) {
        f->leading[k] = (float)(f->image[k] - 0.5);
    }
    return epiqp_task_pass(e, t, &f->pass);
}

/* g <- (I - sum c v v') g */
static void slow_down(const flow *f, double *g)
{
    for (int j = 0; j < f->slowed; j++) {
        const float *v = f->leading + j * f->p;
        epiqp_axpy_single(f->p, -f->c[j] * epiqp_dot_single(f->p, v, g), v, g);
    }
}

/* Returns the norm v had, and makes it 1; a zero vector stays. */
static double normalise(ptrdiff_t p, double *v)
{
    double norm = sqrt(epiqp_dot(p, v, v));
    for (ptrdiff_t k = 0; k < p && norm > 0; k++) {
        v[k] /= norm;
    }
    return norm;
}

/* Curvature of R in a direction along which J'J stretches by `norm` */
static double curvature_of(const flow *f, double norm)
{
    return 2 * (norm / (double)f->task->n + f->task->lambda);
}

/* Largest curvature by power iteration, going on from the last one's vector. */
static void measure_curvature(const epiqp_env *e, flow *f, const double *theta, int turns)
{
    const epiqp_task *t = f->task;
    double norm = 0;
    for (int k = 0; k < turns; k++) {
        normalise(f->p, f->probe);
        epiqp_net_normal(e, t->net, theta, t->n, t->x, f->probe, f->y, &f->pass);
        norm = sqrt(epiqp_dot(f->p, f->y, f->y));
        if (!(norm <= 1e150)) { /* its square is not, nor can it be a direction */
            f->curvature = INFINITY;
            return;
        }
        if (norm > 0) {
            memcpy(f->probe, f->y, (size_t)f->p * sizeof *f->y);
        }
    }
    f->curvature = f->margin * curvature_of(f, norm);
}

/* One turn of subspace iteration: leading <- orthonormal, in order of curvature, from J'J leading; stretch_j theirs. */
static int turn_leading(const epiqp_env *e, flow *f, const double *theta, double *stretch)
{
    const epiqp_task *t = f->task;
    double h[LEADING * LEADING];
    for (int j = 0; j < LEADING; j++) {
        double *image = f->image + j * f->p;
        for (ptrdiff_t k = 0; k < f->p; k++) {
            f->y[k] = (double)f->leading[j * f->p + k];
        }
        epiqp_net_normal(e, t->net, theta, t->n, t->x, f->y, image, &f->pass);
        for (int i = 0; i <= j; i++) {
            h[i * LEADING + j] = h[j * LEADING + i] = epiqp_dot_single(f->p, f->leading + i * f->p, image);
        }
    }
    int s = e->la->syev(e->c, LEADING, h, stretch); /* ascending */
    for (ptrdiff_t j = 0; !s && j < LEADING; j++) {
        const double *mix = h + (LEADING - 1 - j) * LEADING;
        float *v = f->leading + j * f->p;
        memset(f->y, 0, (size_t)f->p * sizeof *f->y);
        for (int i = 0; i < LEADING; i++) {
            epiqp_axpy(f->p, mix[i], f->image + i * f->p, f->y);
        }
        for (int i = 0; i < j; i++) {
            epiqp_axpy_single(f->p, -epiqp_dot_single(f->p, f->leading + i * f->p, f->y), f->leading + i * f->p, f->y);
        }
        stretch[j] = normalise(f->p, f->y);
        for (ptrdiff_t k = 0; k < f->p; k++) {
            v[k] = (float)f->y[k];
        }
    }
    return s;
}

/* Seek the leading directions at theta. */
static int find_leading(const epiqp_env *e, flow *f, const double *theta, double time)
{
    double stretch[LEADING];
    for (int turns = f->searched > 0 ? 1 : 2; turns > 0; turns--) {
        int s = turn_leading(e, f, theta, stretch);
        if (s) {
            return s;
        }
    }
    for (int j = 0; j < LEADING; j++) {
        f->own[j] = curvature_of(f, stretch[j]);
    }
    f->searched = time;
    f->margin = MARGIN;
    return EPIQ_OK;
}

/* Slow them down as far as the time passed allows. */
static void slow_leading(flow *f, double time)
{
    double cap = fmax(PACE / time, f->own[0] / SLOWEST);
    f->slowed = 0;
    while (f->slowed < LEADING && f->own[f->slowed] > cap) {
        f->c[f->slowed] = 1 - cap / f->own[f->slowed];
        f->slowed++;
    }
    /* of what is not slowed, none is above the next */
    f->curvature = f->margin * fmax(cap, f->own[epiqp_min(f->slowed, LEADING - 1)]);
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
    slow_down(f, f->grad);
    for (ptrdiff_t k = 0; k < f->p; k++) {
        f->y[k] = theta[k] - w1 / w0 * h * f->grad[k];
    }
    for (ptrdiff_t j = 2; j <= s; j++) {
        double t2 = 2 * w0 * t1 - t0, mu = 2 * w0 * t1 / t2, nu = -t0 / t2, m = 2 * w1 * t1 / t2;
        if (epiqp_stopping(e->c)) {
            return; /* the caller sees it too, and drops the step */
        }
        epiqp_loss(e, f->task, f->y, f->grad, NULL, &f->pass);
        slow_down(f, f->grad);
        epiqp_mix(f->p, 1 - mu - nu, theta, mu, f->y, nu, f->before, -m * h, f->grad);
        double *kept = f->y;
        f->y = f->before;
        f->before = kept;
        t0 = t1;
        t1 = t2;
    }
}

/* The next step's length at a time `late`, in units of 1/lambda. */
static double step(const flow *f, double late)
{
    double longest = late < SETTLING ? LONGEST / fmax(1, late) : SHORT * (SETTLING / late) * (SETTLING / late);
    return fmax(FIRST / f->curvature, fmin(GROWTH * late, longest) / f->task->lambda);
}

static ptrdiff_t stages(const flow *f, double h)
{
    double most =
        fmin(ceil(sqrt(h * f->curvature / REACH)), (double)MOST_GRADIENTS); /* of data near the edge: beyond integers */
    return h * f->curvature <= 0.5 ? 1 : epiqp_max(2, (ptrdiff_t)most);
}

int epiqp_minimise(const epiqp_env *e, const epiqp_task *t, ptrdiff_t most_steps, double *theta, epiqp_training *report)
{
    flow f;
    int status = flow_new(e, t, &f);
    *report = (epiqp_training){0};
    if (status) {
        goto end;
    }
    ptrdiff_t limit = most_steps > 0 ? most_steps : most_steps < 0 ? -most_steps : MOST_GRADIENTS;
    bool strayed = false;
    double time = 0, checked_time = 0, checked_loss = INFINITY;
    measure_curvature(e, &f, theta, 6);
    report->loss = epiqp_loss(e, t, theta, f.grad, &report->gradient_rel, &f.pass);
    report->iterations = 1;
    if (!(f.curvature <= 1e100 && report->loss <= EPIQP_LARGEST_LOSS)) {
        status = epiqp_too_large(e);
        goto end;
    }
    while (!report->converged && report->iterations < limit) {
        double late = time * t->lambda, h = step(&f, late);
        bool worth = stages(&f, h) > 2 && PACE / time < f.curvature / 4 && late < SETTLING;
        if (((worth && time >= RENEWED * f.searched) || strayed) && (status = find_leading(e, &f, theta, time))) {
            goto end;
        }
        if (f.searched > 0) {
            slow_leading(&f, time);
        }
        ptrdiff_t s = stages(&f, h);
        if (s > limit - report->iterations) { /* the last step allowed may be a short one */
            s = limit - report->iterations;
            h = fmin(h, REACH * (double)s * (double)s / f.curvature);
        }
        memcpy(f.old, f.grad, (size_t)f.p * sizeof *f.old);
        chebyshev_step(e, &f, theta, h, s);
        if (epiqp_stopping(e->c)) {
            status = epiqp_fail(e->c, EPIQ_E_STOPPED, "stopped on request during training");
            goto end;
        }
        double rel, loss = epiqp_loss(e, t, f.y, f.grad, &rel, &f.pass);
        report->iterations += s;
        if (!(loss <= 1.01 * report->loss)) { /* the flow only descends: the curvature must have grown */
            memcpy(f.grad, f.old, (size_t)f.p * sizeof *f.old);
            strayed = f.slowed && f.searched < time;
            if (strayed) {
                continue; /* or rather the slowed directions have turned */
            }
            f.margin *= 1.5;
            if (f.searched == 0) {
                measure_curvature(e, &f, theta, 5);
            }
            if (!(f.margin * f.curvature <= 1e100)) {
                status = epiqp_too_large(e);
                goto end;
            }
            continue;
        }
        strayed = f.slowed && f.searched < time && loss > (1 + STRAYED) * report->loss;
        memcpy(theta, f.y, (size_t)f.p * sizeof *theta);
        time += h;
        report->loss = loss;
        report->gradient_rel = rel;
        late = time * t->lambda;
        if (time >= (late < SETTLING ? 2 * checked_time : checked_time + LOOK / t->lambda)) {
            bool slowest = late >= ENOUGH || report->iterations >= PATIENCE;
            report->converged = most_steps >= 0 && slowest && checked_loss - loss <= SETTLED * loss;
            checked_time = time;
            checked_loss = loss;
        }
    }
end:
    epiqp_pass_free(e->c, &f.pass);
    epiqp_free(e->c, f.block);
    return status;
}
