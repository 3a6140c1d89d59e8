/* flow.c - training to the minimum: first along gradient flow, d theta / dt = -grad R, which plain descent follows with
 * tiny steps, then by quasi-Newton steps (finish.c). Because of the kinks of relu there are many minima, and methods
 * that do not follow the flow up to where it has nearly come to rest end in others (docs/method.md section 5). The flow
 * is integrated by first-order Runge-Kutta-Chebyshev steps: s gradients advance it by a time proportional to s^2, while
 * descent needs a number of gradients proportional to the time.
 *     w0 = 1 + eps/s^2, w1 = T_s(w0)/T_s'(w0), b_j = 1/T_j(w0)
 *     Y_0 = theta, Y_1 = Y_0 - (w1/w0) h g(Y_0)
 *     Y_j = (1 - mu_j - nu_j) Y_0 + mu_j Y_{j-1} + nu_j Y_{j-2} - m_j h g(Y_{j-1})
 *     mu_j = 2 w0 b_j/b_{j-1}, nu_j = -b_j/b_{j-2}, m_j = 2 w1 b_j/b_{j-1}
 * Stable while h times the largest curvature is below about (2 - 4 eps/3) s^2. The few directions of largest curvature
 * converge long before the others. They are slowed down (leading.c), g -> (I - sum_j c_j v_j v_j') g with
 * c_j = 1 - cap/curvature_j, to a rate still many times that of the step, and s shrinks with the square root of cap.
 * Networks of several layers on few rows take linearly implicit steps first, for as long as they help (implicit.c).
 */
#include "train/flow.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const double DAMPING = 0.05; /* eps */
static const double REACH = 1.9;    /* h curvature <= REACH s^2: slightly below 2 - 4 eps/3 */
static const double FIRST = 0.1;    /* first steps, in units of the time of the fastest direction */

/* Leading directions are computed again when the time has grown by a factor RENEWED or the loss has risen by a fraction
 * STRAYED, which shows that they have changed. */
static const double RENEWED = 64, STRAYED = 1e-3;
/* The safety factor on the largest curvature beyond which the flow is abandoned for quasi-Newton steps. */
static const double MOST_MARGIN = 100;

/* How the flow is followed. Curvatures fall off fast with one or two features, or features that are small beside the
 * bias. Such networks have few kinks among the rows, and much depends on the rows at which these end. Their flow is
 * followed in shorter steps, for longer, and with less slowing down. The means and variances of an ensemble are then
 * those of the flow in fine steps, within the error of 200 networks. */
typedef struct {
    double growth;  /* length of a step over elapsed time */
    double pace;    /* slowed directions stay so many times as fast as the elapsed time requires */
    double slowest; /* the most that a direction is slowed by: a stage moves by about 2/cap times the gradient, and
                     * overshoots a kink by as much */
    double until;   /* end of the flow, in units of 1/lambda, the time of the slowest directions */
    bool implicit;  /* by implicit steps, where these pay */
    double settled; /* converged: over some gradients the loss fell by less than this fraction; FINE has none */
} manner;
static const manner SHALLOW = {0.7, 9.8, 100, 1, false, 1e-3}, DEEP = {0.7, 9.8, 100, 0.1, true, 1e-3};
static const manner CAREFUL = {0.4, 10, 12, 1, false, 2e-4}, FINE = {0.1, 10, 6, 3, false, 0};
/* With half of the rows in the first guess (implicit.c) a quasi-Newton step gains less: `settled` is times this. */
static const double GUIDED_BY_HALF = 0.7;
/* Curvatures fall off fast if this one, counted from 0, is below a fraction FALLEN of the largest. */
enum { TYPICAL = 12 };
static const double FALLEN = 0.01;

/* Where lambda is so small that the flow does not come to its end within PATIENCE gradients: converged if the loss fell
 * by less than a fraction SETTLED while the time doubled. */
static const ptrdiff_t PATIENCE = 20000;
static const double SETTLED = 1e-3;
static const ptrdiff_t MOST_GRADIENTS = 200000;

static manner manner_of(const epiqp_task *t, const epiqp_left *left)
{
    const bool fast = left->count <= TYPICAL || left->curvature[TYPICAL] < FALLEN * left->curvature[0];
    manner fine = FINE;
    if (t->until > 0) {
        fine.until = fmin(fine.until, t->until * t->lambda);
        return fine;
    }
    return fast ? CAREFUL : t->net->depth == 1 ? SHALLOW : DEEP;
}

/* The number of leading directions for which training is cheapest. The largest curvature besides them costs SHARE
 * sqrt(curvature/lambda) gradients (fitted on tables of 200 to 1000 rows). Finding one direction, and applying it to
 * all gradients, costs EACH/n gradients. */
static int leads(const epiqp_task *t, const epiqp_left *left, bool there)
{
    static const double SHARE = 1.1, EACH = 1000, FEWEST = 50; /* FEWEST: rows from which this holds */
    /* the fewer the units, the more the eigenvectors differ from those of infinitely wide networks */
    enum { FEW_UNITS_LEADS = 8, UNITS_EACH = 16 };
    ptrdiff_t most = epiqp_min(left->count, epiqp_leading_most(epiqp_net_params(t->net), there));
    most = epiqp_min(most, epiqp_max(FEW_UNITS_LEADS, t->net->width / UNITS_EACH));
    const double each = EACH / fmax(FEWEST, (double)t->n);
    ptrdiff_t best = 0;
    double least = INFINITY;
    for (ptrdiff_t k = 0; left->count && k <= most; k++) {
        double rest = k < left->count ? left->curvature[k] : 0,
               cost = SHARE * sqrt(rest / t->lambda) + each * (double)k;
        if (cost < least) {
            least = cost;
            best = k;
        }
    }
    return (int)best;
}

/* Numbers in doubles: grad, y, before, old and image; in floats: leading, probe, and of a pass by matrix products theta
 * and grad. */
double epiqp_minimise_bytes(ptrdiff_t params)
{
    const double most = epiqp_leading_most(params, false);
    return (double)params *
           ((double)sizeof(double) * (4 + fmax(most, EPIQP_MOST_PAIRS)) + (double)sizeof(float) * (3 + most));
}

/* ---- parts of many rows ---- */

/* With MANY rows or more, the flow and the first minimum are computed on a part of at least PART rows. Each further
 * part has GROWS times as many rows, up to all of them. The minimum of one part differs from that of the next only by
 * what other rows would change in it, so that few gradients of all rows remain. */
enum { MANY = 131072, PART = 16384, GROWS = 4, MOST_LEVELS = 24 };

double epiqp_minimise_rows_bytes(const epiqp_net *net, ptrdiff_t n)
{
    const double most = 0.5 * GROWS / (GROWS - 1); /* of all rows: the largest part is half of them at most */
    if (epiqp_implicit_worth(net, n)) return epiqp_implicit_bytes(net, n);
    return epiqp_part_rows(n) < n ? most * (double)n * (double)(net->d + 2) * (double)sizeof(double) : 0;
}

ptrdiff_t epiqp_part_rows(ptrdiff_t n)
{
    for (bool many = n >= MANY; many && n >= 2 * PART;) {
        n = epiqp_max(PART, n / GROWS);
    }
    return n;
}

/* The same task on n rows, a random one out of each of n equal parts of the table; x's allocation holds y as well. */
static int part_new(const epiqp_env *e, const epiqp_task *t, ptrdiff_t n, epiqp_task *out)
{
    const ptrdiff_t d = t->net->d;
    double *x = epiqp_alloc(e->c, n * (d + 2), sizeof *x);
    *out = *t;
    if (!x) return EPIQ_E_NOMEM;
    double *y = x + n * d, *pick = y + n;
    epiqp_uniforms((epiqp_stream){0, EPIQP_FOR_SEARCH, 2}, n, pick);
    for (ptrdiff_t i = 0; i < n; i++) {
        const ptrdiff_t row = epiqp_min((ptrdiff_t)(((double)i + pick[i]) * (double)t->n / (double)n), t->n - 1);
        memcpy(x + i * d, t->x + row * d, (size_t)d * sizeof *x);
        y[i] = t->y[row];
    }
    out->n = n;
    out->x = x;
    out->y = y;
    return EPIQ_OK;
}

/* Number of L-BFGS pairs; implicit: the flow has ended with implicit steps, which is not known in advance. */
static int pairs_of(const epiqp_task *t, bool there, bool implicit)
{
    if (implicit) return EPIQP_IMPLICIT_PAIRS;
    return t->net->depth > 1 && !there && !epiqp_implicit_worth(t->net, t->n) ? EPIQP_MOST_PAIRS : EPIQP_PAIRS;
}

/* all: the task with all rows, which decides the precision. */
static int flow_new(const epiqp_env *e, const epiqp_task *t, const epiqp_task *all, const epiqp_left *left,
                    const double *theta, epiqp_flow *f)
{
    const bool there = e->remote && t->left;
    *f = (epiqp_flow){.task = t, .left = left, .p = epiqp_net_params(t->net), .leads = leads(t, left, there)};
    f->pairs = pairs_of(t, there, false);
    const ptrdiff_t count = f->leads, images = epiqp_max(count, f->pairs);
    if (there) return epiqp_there_begin(e, f, images, theta);
    f->grad = epiqp_alloc(e->c, (4 + images) * f->p + (count + 2) * f->p / 2, sizeof(double));
    if (!f->grad) return EPIQ_E_NOMEM;
    f->y = f->grad + f->p;
    f->before = f->y + f->p;
    f->old = f->before + f->p;
    f->image = f->old + f->p;
    f->leading = (void *)(f->image + images * f->p);
    f->probe = f->leading + count * f->p;
    /* any start will do that is not orthogonal to the leading directions */
    epiqp_uniforms((epiqp_stream){0, EPIQP_FOR_SEARCH, 0}, f->p, f->old);
    for (ptrdiff_t k = 0; k < f->p; k++) {
        f->probe[k] = (float)(f->old[k] - 0.5);
    }
    return epiqp_task_pass(e, all, &f->pass);
}

/* One step of s stages from theta, whose gradient is in f->grad; the end is left in f->y. */
static void chebyshev_step(const epiqp_env *e, epiqp_flow *f, const double *theta, double h, ptrdiff_t s)
{
    /* T_j, T_{j-1} and derivatives */
    double w0 = 1 + DAMPING / ((double)s * (double)s), tj = w0, tj1 = 1, dj = 1, dj1 = 0;
    for (ptrdiff_t j = 2; j <= s; j++) {
        double t = 2 * w0 * tj - tj1, d = 2 * tj + 2 * w0 * dj - dj1;
        tj1 = tj, dj1 = dj;
        tj = t, dj = d;
    }
    double w1 = tj / dj, t0 = 1, t1 = w0; /* T_{j-2}, T_{j-1} */
    epiqp_flow_copy(f, f->before, theta);
    epiqp_leading_apply(f, f->grad);
    epiqp_flow_step(f, f->y, theta, w1 / w0 * h, f->grad);
    for (ptrdiff_t j = 2; j <= s; j++) {
        double t2 = 2 * w0 * t1 - t0, mu = 2 * w0 * t1 / t2, nu = -t0 / t2, m = 2 * w1 * t1 / t2;
        if (epiqp_cancel_requested(e->c)) return; /* the caller tests this too, and discards the step */
        epiqp_flow_loss(f, f->y, f->grad, NULL);
        epiqp_leading_apply(f, f->grad);
        epiqp_flow_mix(f, 1 - mu - nu, theta, mu, f->y, nu, f->before, -m * h, f->grad);
        double *kept = f->y;
        f->y = f->before;
        f->before = kept;
        t0 = t1;
        t1 = t2;
    }
}

static ptrdiff_t stages(const epiqp_flow *f, double h)
{
    /* in extreme data the number may exceed an integer */
    double most = fmin(ceil(sqrt(h * f->curvature / REACH)), (double)MOST_GRADIENTS);
    return h * f->curvature <= 0.5 ? 1 : epiqp_max(2, (ptrdiff_t)most);
}

int epiqp_minimise(const epiqp_env *e, const epiqp_task *all, ptrdiff_t most_steps, double *given,
                   epiqp_training *report)
{
    epiqp_flow f = {0};
    epiqp_left own = {0};
    epiqp_task level[MOST_LEVELS + 1];
    ptrdiff_t levels = 0;
    const bool in_parts = !most_steps && !(all->until > 0) && !e->remote;
    const epiqp_task *t = level;
    const epiqp_left *left = all->left ? all->left : &own;
    *report = (epiqp_training){0};
    int status = all->left ? EPIQ_OK : epiqp_left_new(e, all->net, all->n, all->x, &own);
    for (ptrdiff_t rows = in_parts ? epiqp_part_rows(all->n) : all->n; !status && rows < all->n;) {
        status = part_new(e, all, rows, &level[levels++]);
        rows = 2 * GROWS * rows <= all->n ? GROWS * rows : all->n;
    }
    level[levels++] = *all;
    if (status || (status = flow_new(e, t, all, left, given, &f))) goto end;
    double *theta = f.remote ? f.theta : given;
    const manner how = manner_of(t, left);
    const ptrdiff_t limit = most_steps > 0 ? most_steps : most_steps < 0 ? -most_steps : MOST_GRADIENTS;
    bool strayed = false;
    const double end = how.until / t->lambda, last = end * (1 - DBL_EPSILON);
    double time = 0, checked_time = 0, checked_loss = INFINITY, half_way = INFINITY;
    f.rough = f.pass.single;
    if (most_steps >= 0 && how.implicit && levels == 1 && !f.remote && epiqp_implicit_worth(t->net, t->n)) {
        if ((status = epiqp_implicit_flow(e, &f, limit, theta, &time, report))) goto end;
    }
    if (f.implicit) {
        time = INFINITY; /* the end of the flow is reached */
        f.pairs = pairs_of(t, false, true);
    } else {
        f.curvature = epiqp_leading_first(&f, theta);
        report->loss = epiqp_flow_loss(&f, theta, f.grad, &report->gradient_rel);
        report->iterations++;
        if ((status = epiqp_check_size(e, f.curvature <= 1e100 && report->loss <= EPIQP_LARGEST_LOSS))) goto end;
    }
    while (!report->converged && report->iterations < limit && time < last) {
        double h = fmax(FIRST / f.curvature, how.growth * fmin(time, 1 / t->lambda));
        if (t->until > 0) h = fmin(h, end - time);
        bool worth = f.leads && stages(&f, h) > 2 && how.pace / time < f.curvature / 4;
        bool search = strayed || (worth && time >= RENEWED * f.searched);
        if (search && (status = epiqp_leading_find(e, &f, theta, time))) goto end;
        if (f.searched > 0) epiqp_leading_slow(&f, fmax(how.pace / time, f.own[0] / how.slowest));
        ptrdiff_t s = stages(&f, h);
        if (s > limit - report->iterations) { /* the last step may have fewer stages */
            s = limit - report->iterations;
            h = fmin(h, REACH * (double)s * (double)s / f.curvature);
        }
        epiqp_flow_copy(&f, f.old, f.grad);
        chebyshev_step(e, &f, theta, h, s);
        if ((status = epiqp_check_cancel(e))) goto end;
        const bool rough = f.pass.single;
        double rel, loss = epiqp_flow_loss(&f, f.y, f.grad, &rel);
        report->iterations += s;
        if (!(loss <= 1.01 * report->loss)) { /* the flow descends: the curvature has grown, or */
            epiqp_flow_copy(&f, f.grad, f.old);
            strayed = f.slowed && f.searched < time;
            if (strayed) continue; /* the slowed directions have changed: find them again */
            f.margin *= 1.5;
            if (f.margin > MOST_MARGIN) break; /* not curvature but a kink, which shorter steps do not pass */
            if (f.searched == 0) f.curvature = f.margin * epiqp_leading_curvature(&f, theta, 0, 5);
            if ((status = epiqp_check_size(e, f.margin * f.curvature <= 1e100))) goto end;
            continue;
        }
        strayed = f.slowed && f.searched < time && loss > (1 + STRAYED) * report->loss;
        epiqp_flow_copy(&f, theta, f.y);
        time += h;
        if (time < end / 2) half_way = loss;
        report->loss = loss;
        report->gradient_rel = rel;
        f.rough = rough;
        if (time >= 2 * checked_time) {
            report->converged =
                most_steps >= 0 && report->iterations >= PATIENCE && checked_loss - loss <= SETTLED * loss;
            checked_time = time;
            checked_loss = loss;
        }
    }
    if (t->until > 0) {
        const bool whole = t->until * t->lambda >= FINE.until,
                   rested = half_way - report->loss <= SETTLED * report->loss;
        report->converged |= time >= last && (whole || rested);
    } else if (!report->converged || levels > 1) {
        const bool half = f.implicit && f.implicit->jacobian.n < t->n;
        status = epiqp_finish(e, &f, levels, how.settled * (half ? GUIDED_BY_HALF : 1), limit, most_steps < 0, theta,
                              report);
    }
    if (!status && f.remote) status = epiqp_there_end(&f, given);
end:
    for (ptrdiff_t k = 0; k < levels && level[k].x != all->x; k++) {
        epiqp_free(e->c, (double *)level[k].x);
    }
    epiqp_implicit_free(e->c, f.implicit);
    epiqp_pass_free(e->c, &f.pass);
    if (!f.remote) epiqp_free(e->c, f.grad);
    epiqp_left_free(e->c, &own);
    return status;
}
