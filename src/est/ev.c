/* ev.c - EV, the procedural variance: the spread of m networks trained on the same rows (docs/method.md section 3). */
#include "est/est.h"

#include <float.h>
#include <math.h>

/* An upper end farther away than this, over the estimate, is no statement about the variance: with one degree of freedom
 * it is 1018 times as large, and with a tenth of one 10^31 times. */
static const double FARTHEST = 100;

epiq_part epiq_part_of(double variance, double df, double level, epiq_method method)
{
    if (!(variance >= 0 && variance <= DBL_MAX)) {
        return (epiq_part){.method = method};
    }
    epiq_part part = {.known = 1, .variance = variance, .method = method};
    part.df = variance > 0 && df > 0 && df <= DBL_MAX ? df : 0;
    if (part.df > 0 && level > 0 && level < 1) {
        double lo, hi;
        epiqp_variance_interval(variance, df, level, &lo, &hi);
        if (lo > 0) {
            part.has_interval = 1;
            part.lo = fmin(lo, variance); /* with less than a degree of freedom the quantiles may lie beyond it */
            part.open = !(hi <= FARTHEST * variance);
            part.hi = part.open ? 0 : fmax(hi, variance);
        }
    }
    return part;
}

/* By differences from the first: equal numbers have exactly their own mean. */
double epiqp_mean_of(const double *h, ptrdiff_t count, ptrdiff_t stride)
{
    double sum = 0;
    for (ptrdiff_t k = 0; k < count; k++) {
        sum += (h[k * stride] - h[0]) / (double)count;
    }
    return h[0] + sum;
}

/* Sample variance of h[0], h[stride], ..., in two passes; negative: too small for a double, but not 0. */
static double spread(const double *h, ptrdiff_t count, ptrdiff_t stride)
{
    double mean = epiqp_mean_of(h, count, stride), sum = 0, largest = 0;
    for (ptrdiff_t k = 0; k < count; k++) {
        double away = h[k * stride] - mean;
        sum += away * away;
        largest = fmax(largest, fabs(away));
    }
    return largest > 0 && sum < DBL_MIN ? -1 : sum / (double)(count - 1);
}

epiq_part epiqp_ev(const double *h, ptrdiff_t count, ptrdiff_t stride, double level)
{
    return epiq_part_of(spread(h, count, stride), (double)(count - 1), level, EPIQ_BY_EV);
}

epiq_part epiqp_ba(const double *h, ptrdiff_t count, ptrdiff_t stride, double level)
{
    return epiq_part_of(spread(h, count, stride) / (double)count, (double)(count - 1), level, EPIQ_BY_BA);
}

void epiqp_ev_points(epiqp_job *j, ptrdiff_t m, const double *h)
{
    for (ptrdiff_t p = 0; p < j->points; p++) {
        j->ev[p] = epiqp_ev(h + p, m, j->points, j->o.level);
        j->prediction[p] = epiqp_mean_of(h + p, m, j->points);
    }
    j->members_trained = true;
    j->member_h = h;
}

int epiqp_warn_few_members(epiqp_job *j)
{
    return j->o.members < 10
               ? epiqp_warn(
                     j->e.c, j->warnings, "few_members",
                     "%td members tell the procedural variance only roughly; 50 put it within -30 %% and +55 %%%s",
                     j->o.members,
                     !j->engine && j->o.members < 5 && j->points > j->o.members
                         ? ". A row is a network and a column a point: transpose what is given if it is not so"
                         : "")
               : EPIQ_OK;
}

/* The least number of members whose interval is narrow enough: more of them only make it narrower. */
ptrdiff_t epiq_members_for(double relative, double level)
{
    static const ptrdiff_t MOST = 100000000; /* as far as the quantiles are known to be accurate */
    ptrdiff_t few = 1, enough = MOST + 1;
    while (relative > 0 && relative <= DBL_MAX && enough - few > 1) {
        ptrdiff_t m = few + (enough - few) / 2;
        epiq_part one = epiq_part_of(1, (double)(m - 1), level, EPIQ_BY_EV);
        bool narrow = one.has_interval && !one.open && (one.hi - one.lo) / 2 <= relative;
        few = narrow ? few : m;
        enough = narrow ? m : enough;
    }
    return enough <= MOST ? enough : 0;
}

/* Members solved with the factor of all rows, h(theta0; x0) + c'(y - h(theta0; X)), differ by what is left of numbers as
 * large as sqrt(Q00) and |y|, c having as many digits as the factor leaves it, or iteration. */
static int check_spread(epiqp_job *j)
{
    if (!j->fit.solved || !j->engine->needs_solve(&j->o)) {
        return EPIQ_OK;
    }
    double *q00 = epiqp_arena_alloc(j->e.c, &j->scratch, j->points, sizeof *q00);
    if (!q00) {
        return EPIQ_E_NOMEM;
    }
    epiqp_kernel_diagonal(&j->fit.arch, &j->fit.at, NULL, q00);
    double rounding = DBL_EPSILON * j->fit.ridge.loss, y2 = 0;
    for (ptrdiff_t i = 0; i < j->n; i++) {
        y2 = fmax(y2, j->data->y[i] * j->data->y[i]);
    }
    ptrdiff_t lost = 0;
    for (ptrdiff_t p = 0; p < j->asked; p++) {
        double v = j->ev[p].variance, open = 10 * epiqp_procedural_open(j, &j->fit.ridge, p);
        lost += j->ev[p].known && v > 0 && v < fmax(rounding * rounding * (q00[p] + y2), open * open);
    }
    return lost
               ? epiqp_warn(j->e.c, j->warnings, "ill_conditioned",
                            "at %td of %td points the members differ by less than the rounding in them may come to, so "
                            "the procedural variance there may be wrong; use a larger --lambda%s",
                            lost, j->asked, j->fit.ridge.bound ? ", or --solver exact" : "")
               : EPIQ_OK;
}

int epiqp_estimate_ev(epiqp_job *j)
{
    const epiq_options *o = &j->o;
    if (!j->engine->member) {
        return EPIQ_OK; /* engine infinite: epiqp_estimate_infinite has it in closed form */
    }
    ptrdiff_t m = o->members, keep_rows = o->hbar == EPIQ_HBAR_ENSEMBLE && o->methods & EPIQ_IF ? j->n : 0;
    double *h = epiqp_arena_alloc(j->e.c, &j->scratch, m * (j->points + keep_rows), sizeof *h);
    epiqp_assignment *list = epiqp_arena_alloc(j->e.c, &j->scratch, m, sizeof *list);
    if (!h || !list) {
        return EPIQ_E_NOMEM;
    }
    for (ptrdiff_t k = 0; k < m; k++) {
        list[k] = (epiqp_assignment){
            .fit = &j->fit,
            .draw = epiqp_draw_of(o, k),
            .kind = EPIQP_FOR_MEMBER,
            .index = k,
            .at = h + k * j->points,
            .rows = keep_rows ? h + m * j->points + k * j->n : NULL,
        };
    }
    int s = epiqp_keep_members(j, j->more->keep ? &j->more->keep->members : NULL, m, list);
    s = s ? s : epiqp_run_members(j, "members", m, list);
    if (s == EPIQ_E_STOPPED) {
        s = epiqp_finish_members(j, m, list);
        m = o->members;
    }
    if (s) {
        return s;
    }
    epiqp_ev_points(j, m, h);
    if ((s = check_spread(j))) {
        return s;
    }
    if (keep_rows) {
        j->members_mean = epiqp_arena_alloc(j->e.c, &j->scratch, j->n, sizeof(double));
        if (!j->members_mean) {
            return EPIQ_E_NOMEM;
        }
        for (ptrdiff_t k = 0; k < m; k++) {
            epiqp_axpy(j->n, 1 / (double)m, list[k].rows, j->members_mean);
        }
    }
    return EPIQ_OK;
}
