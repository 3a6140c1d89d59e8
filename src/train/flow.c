/* flow.c - training to the minimum along gradient flow, d theta / dt = -grad R, which plain descent follows with tiny
 * steps. Because of the kinks of relu there are many minima, and quasi-Newton methods end in others than descent does
 * (docs/method.md section 5); so the flow itself is integrated, by first-order Runge-Kutta-Chebyshev steps: s
 * gradients advance it by a time proportional to s^2, while descent needs a number of gradients proportional to the
 * time.
 *     w0 = 1 + eps/s^2, w1 = T_s(w0)/T_s'(w0), b_j = 1/T_j(w0)
 *     Y_0 = theta, Y_1 = Y_0 - (w1/w0) h g(Y_0)
 *     Y_j = (1 - mu_j - nu_j) Y_0 + mu_j Y_{j-1} + nu_j Y_{j-2} - m_j h g(Y_{j-1})
 *     mu_j = 2 w0 b_j/b_{j-1}, nu_j = -b_j/b_{j-2}, m_j = 2 w1 b_j/b_{j-1}
 * Stable while h times the largest curvature is below about (2 - 4 eps/3) s^2. The few directions of largest
 * curvature converge long before the others. They are slowed down, g -> (I - sum_j c_j v_j v_j') g with c_j = 1 -
 * cap/curvature_j, to a rate that still is many times that of the step, and s shrinks with the square root of the
 * cap.
 */
#include "train/train.h"

#include <math.h>
#include <string.h>

static const double DAMPING = 0.05; /* eps */
static const double REACH = 1.9;    /* h curvature <= REACH s^2: slightly below 2 - 4 eps/3 */
static const double FIRST = 0.1;    /* first steps, in units of the time of the fastest direction */
static const double MARGIN = 1.1;   /* on the largest curvature, which power iteration underestimates; may grow */

/* Directions slowed down: at most LEADING, computed again when the time has grown by a factor RENEWED or the loss has
 * risen by a fraction STRAYED, which shows that they have changed. Each stays PACE times as fast as the elapsed time
 * requires and is slowed by at most slowest(), since a stage moves by about 2/cap times the gradient and overshoots a
 * kink by as much. */
enum { LEADING = 12, FEWER = 6, MANY_PARAMS = 4000000 }; /* FEWER: from so many parameters on, to save memory */
static const double RENEWED = 64, STRAYED = 1e-3, PACE = 10;
enum { TURNS = 3 }; /* of the first search */

/* Step over elapsed time, and how far a direction is slowed at most. Ensembles then have the means and variances of the flow in fine steps within
 * the error of 400 networks; with few features they are more sensitive to both. */
enum { FEW_FEATURES = 4 };
static double growth(const epiqp_net *net)
{
    return net->d <= FEW_FEATURES ? 0.4 : 0.7;
}
static double slowest(const epiqp_net *net)
{
    return net->d <= FEW_FEATURES ? 12 : 100;
}

/* In units of 1/lambda, the time of the slowest directions: LONGEST, the longest step (relative to the time, beyond
 * 1); SETTLING, the time at which everything except kinks has converged: from then on steps are SHORT and shrink with
 * the square of the time, so that units at kinks settle, while long steps would move from one minimum to the next;
 * ENOUGH, the earliest end; and LOOK, the time between tests of convergence. */
static const double LONGEST = 1, SETTLING = 2, SHORT = 0.3, ENOUGH = 2.9, LOOK = 0.2;
/* Converged: since the last test, LOOK earlier (or half the time if PATIENCE gradients did not suffice for a small
 * lambda), the loss fell by less than this fraction; the rest will fall by less still. */
static const double SETTLED = 1e-3;
static const ptrdiff_t PATIENCE = 20000;
static const ptrdiff_t MOST_GRADIENTS = 200000;

typedef struct {
    const epiqp_task *task;
    ptrdiff_t p;
    double curvature;                /* the largest curvature of R after slowing down */
    double margin;                   /* safety factor contained in curvature */
    double searched;                 /* time at which the leading directions were last computed */
    double own[LEADING];             /* their curvatures, in descending order */
    int leads;                       /* how many: LEADING or FEWER */
    double rest;                     /* the largest curvature beside them */
    int slowed;                      /* number of directions slowed down */
    double c[LEADING];               /* c_j of each */
    double *grad, *y, *before, *old; /* grad begins the block of all of these */
    double *image;                   /* leads by p: J'J v_j during the search */
    float *leading;                  /* leads by p: v_j */
    float *probe;                    /* the current vector of the power iteration */
    epiqp_pass pass;
} flow;

static int leads(ptrdiff_t params)
{
    return params < MANY_PARAMS ? LEADING : FEWER;
}

/* Numbers in doubles: grad, y, before, old and image; in floats: leading, probe, and of a pass by matrix products theta
 * and grad. */
double epiqp_minimise_bytes(ptrdiff_t params)
{
    return (double)params *
           (double)(sizeof(double) * (4 + (size_t)leads(params)) + sizeof(float) * (3 + (size_t)leads(params)));
}

static int flow_new(const epiqp_env *e, const epiqp_task *t, flow *f)
{
    *f = (flow){.task = t, .p = epiqp_net_params(t->net), .margin = MARGIN};
    const ptrdiff_t count = f->leads = leads(f->p);
    f->grad = epiqp_alloc(e->c, (4 + count) * f->p + (count + 2) * f->p / 2, sizeof(double));
    if (!f->grad) return EPIQ_E_NOMEM;
    f->y = f->grad + f->p;
    f->before = f->y + f->p;
    f->old = f->before + f->p;
    f->image = f->old + f->p;
    f->leading = (void *)(f->image + count * f->p);
    f->probe = f->leading + count * f->p;
    /* any start will do that is not orthogonal to the leading directions */
    epiqp_uniforms((epiqp_stream){0, EPIQP_FOR_SEARCH, 0}, (1 + count) * f->p, f->old);
    for (ptrdiff_t k = 0; k < f->p; k++) {
        f->probe[k] = (float)(f->old[k] - 0.5);
    }
    for (ptrdiff_t k = 0; k < count * f->p; k++) {
        f->leading[k] = (float)(f->image[k] - 0.5);
    }
    return epiqp_task_pass(e, t, &f->pass);
}

/* g <- (I - sum c v v') g, in parts of g that stay in the cache */
static void slow_down(const flow *f, double *g)
{
    enum { SPAN = 2048 };
    double along[LEADING] = {0};
    for (int turn = 0; turn < 2; turn++) { /* first along = V'g, then g -= V (c along) */
        for (ptrdiff_t k = 0; k < f->p; k += SPAN) {
            const ptrdiff_t some = epiqp_min(SPAN, f->p - k);
            for (int j = 0; j < f->slowed; j++) {
                const float *v = f->leading + j * f->p + k;
                if (turn == 0) along[j] += epiqp_dot_single(some, v, g + k);
                if (turn == 1) epiqp_axpy_single(some, -f->c[j] * along[j], v, g + k);
            }
        }
    }
}

/* unit = v scaled to norm 1; returns the norm. A zero vector stays. */
static double normalise(ptrdiff_t p, const double *v, float *unit)
{
    double norm = sqrt(epiqp_dot(p, v, v));
    for (ptrdiff_t k = 0; k < p; k++) {
        unit[k] = (float)(norm > 0 ? v[k] / norm : 0);
    }
    return norm;
}

/* Curvature of R in a direction in which J'J has the eigenvalue `norm`. */
static double curvature_of(const flow *f, double norm)
{
    return 2 * (norm / (double)f->task->n + f->task->lambda);
}

/* Largest curvature in directions orthogonal to the first `but` of the leading ones, by power iteration from the vector
 * of the last one. */
static double largest_curvature(flow *f, const double *theta, int but, int turns)
{
    const epiqp_task *t = f->task;
    double norm = 0;
    for (int k = 0; k < turns; k++) {
        epiqp_net_normals(&f->pass, theta, t->n, t->x, 1, f->probe, f->y, f->before);
        for (int j = 0; j < but; j++) {
            const float *v = f->leading + j * f->p;
            epiqp_axpy_single(f->p, -epiqp_dot_single(f->p, v, f->y), v, f->y);
        }
        norm = sqrt(epiqp_dot(f->p, f->y, f->y));
        if (!(norm <= 1e150)) return INFINITY; /* its square would overflow */
        if (norm > 0) normalise(f->p, f->y, f->probe);
    }
    return curvature_of(f, norm);
}

/* One subspace iteration: leading <- orthonormal vectors from J'J leading, in order of curvature; stretch: their
 * eigenvalues. */
static int turn_leading(const epiqp_env *e, flow *f, const double *theta, double *stretch)
{
    const epiqp_task *t = f->task;
    const int count = f->leads;
    double h[LEADING * LEADING];
    epiqp_net_normals(&f->pass, theta, t->n, t->x, count, f->leading, f->image, f->y);
    for (int j = 0; j < count; j++) {
        for (int i = 0; i <= j; i++) {
            h[i * count + j] = h[j * count + i] = epiqp_dot_single(f->p, f->leading + i * f->p, f->image + j * f->p);
        }
    }
    int status = e->la->syev(e->c, count, h, stretch); /* ascending */
    for (ptrdiff_t j = 0; !status && j < count; j++) {
        const double *mix = h + (count - 1 - j) * count;
        memset(f->y, 0, (size_t)f->p * sizeof *f->y);
        for (int i = 0; i < count; i++) {
            epiqp_axpy(f->p, mix[i], f->image + i * f->p, f->y);
        }
        for (int i = 0; i < j; i++) {
            epiqp_axpy_single(f->p, -epiqp_dot_single(f->p, f->leading + i * f->p, f->y), f->leading + i * f->p, f->y);
        }
        stretch[j] = normalise(f->p, f->y, f->leading + j * f->p);
    }
    return status;
}

/* Computes the leading directions at theta, from random ones in several turns, and what is left beside them. */
static int find_leading(const epiqp_env *e, flow *f, const double *theta, double time)
{
    double stretch[LEADING];
    for (int turns = f->searched > 0 ? 1 : TURNS; turns > 0; turns--) {
        int status = turn_leading(e, f, theta, stretch);
        if (status) return status;
    }
    for (int j = 0; j < f->leads; j++) {
        f->own[j] = curvature_of(f, stretch[j]);
    }
    f->rest = largest_curvature(f, theta, f->leads, f->searched > 0 ? 2 : 4);
    f->searched = time;
    f->margin = MARGIN;
    return EPIQ_OK;
}

/* Slows them down as far as the elapsed time allows. */
static void slow_leading(flow *f, double time)
{
    double cap = fmax(PACE / time, f->own[0] / slowest(f->task->net));
    f->slowed = 0;
    while (f->slowed < f->leads && f->own[f->slowed] > cap) {
        f->c[f->slowed] = 1 - cap / f->own[f->slowed];
        f->slowed++;
    }
    double left = f->slowed < f->leads ? fmax(f->own[f->slowed], f->rest) : f->rest;
    f->curvature = f->margin * fmax(cap, left);
}

/* One step of s stages from theta, whose gradient is in f->grad; the end is left in f->y. */
static void chebyshev_step(const epiqp_env *e, flow *f, const double *theta, double h, ptrdiff_t s)
{
    /* T_j, T_{j-1} and derivatives */
    double w0 = 1 + DAMPING / ((double)s * (double)s), tj = w0, tj1 = 1, dj = 1, dj1 = 0;
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
        if (epiqp_cancel_requested(e->c)) return; /* the caller tests this too, and drops the step */
        epiqp_loss(f->task, f->y, f->grad, NULL, &f->pass);
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
    return fmax(FIRST / f->curvature, fmin(growth(f->task->net) * late, longest) / f->task->lambda);
}

static ptrdiff_t stages(const flow *f, double h)
{
    /* in extreme data the number may exceed an integer */
    double most = fmin(ceil(sqrt(h * f->curvature / REACH)), (double)MOST_GRADIENTS);
    return h * f->curvature <= 0.5 ? 1 : epiqp_max(2, (ptrdiff_t)most);
}

int epiqp_minimise(const epiqp_env *e, const epiqp_task *t, ptrdiff_t most_steps, double *theta, epiqp_training *report)
{
    flow f;
    int status = flow_new(e, t, &f);
    *report = (epiqp_training){0};
    if (status) goto end;
    ptrdiff_t limit = most_steps > 0 ? most_steps : most_steps < 0 ? -most_steps : MOST_GRADIENTS;
    bool strayed = false;
    double time = 0, checked_time = 0, checked_loss = INFINITY;
    f.curvature = f.margin * largest_curvature(&f, theta, 0, 6);
    report->loss = epiqp_loss(t, theta, f.grad, &report->gradient_rel, &f.pass);
    report->iterations = 1;
    if ((status = epiqp_check_size(e, f.curvature <= 1e100 && report->loss <= EPIQP_LARGEST_LOSS))) goto end;
    while (!report->converged && report->iterations < limit) {
        double late = time * t->lambda, h = step(&f, late);
        bool worth = stages(&f, h) > 2 && PACE / time < f.curvature / 4 && late < SETTLING;
        bool search = strayed || (worth && time >= RENEWED * f.searched);
        if (search && (status = find_leading(e, &f, theta, time))) goto end;
        if (f.searched > 0) slow_leading(&f, time);
        ptrdiff_t s = stages(&f, h);
        if (s > limit - report->iterations) { /* the last step may have fewer stages */
            s = limit - report->iterations;
            h = fmin(h, REACH * (double)s * (double)s / f.curvature);
        }
        memcpy(f.old, f.grad, (size_t)f.p * sizeof *f.old);
        chebyshev_step(e, &f, theta, h, s);
        if ((status = epiqp_check_cancel(e))) goto end;
        double rel, loss = epiqp_loss(t, f.y, f.grad, &rel, &f.pass);
        report->iterations += s;
        if (!(loss <= 1.01 * report->loss)) { /* the flow only descends, so the curvature must have grown, */
            memcpy(f.grad, f.old, (size_t)f.p * sizeof *f.old);
            strayed = f.slowed && f.searched < time;
            if (strayed) continue; /* or the slowed directions have changed */
            f.margin *= 1.5;
            if (f.searched == 0) f.curvature = f.margin * largest_curvature(&f, theta, 0, 5);
            if ((status = epiqp_check_size(e, f.margin * f.curvature <= 1e100))) goto end;
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
    epiqp_free(e->c, f.grad);
    return status;
}
