/* ev.c - EV, the procedural variance: the variance of m networks trained on the same rows (docs/method.md section 3). */
#include "est/if.h"
#include "est/variance.h"

#include <float.h>
#include <math.h>
#include <string.h>

epiq_part epiqp_ev(const double *h, ptrdiff_t count, ptrdiff_t stride, double level)
{
    return epiq_part_of(epiqp_variance_of(h, count, stride), (double)(count - 1), level, EPIQ_BY_EV);
}

void epiqp_ev_points(const epiqp_problem *pb, epiqp_ev_findings *found)
{
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        found->part[p] = epiqp_ev(found->h + p, found->members, pb->points, pb->plan->ran.level);
        found->mean[p] = epiqp_mean_of(found->h + p, found->members, pb->points);
    }
}

int epiqp_warn_few_members(const epiqp_problem *pb, ptrdiff_t members)
{
    if (members >= 10) return EPIQ_OK;
    const bool transposed = !pb->engine && members < 5 && pb->points > members;
    return epiqp_warn(
        pb->e.c, pb->warnings, EPIQ_W_FEW_MEMBERS,
        "%td networks measure the retraining variance only roughly; with 50 it is known to -30/+55 %%%s", members,
        transposed ? ". Each row is a network, each column a point: transpose what is given if it is not so" : "");
}

int epiqp_accept_early_end(const epiqp_problem *pb)
{
    if (!pb->plan->may_end_early || !epiqp_finish_requested(pb->e.c) || pb->e.cluster) return EPIQ_E_STOPPED;
    epiqp_clear(pb->e.c);
    epiqp_clear_cancel(pb->e.c);
    return EPIQ_OK;
}

/* Members solved with the factor of all rows, h(theta0; x0) + c'(y - h(theta0; X)), differ by what is left of numbers as
 * large as sqrt(Q00) and |y|, c having as many digits as the factor leaves it, or iteration. */
static int check_digits(const epiqp_problem *pb, const epiqp_fit *fit, const epiqp_ev_findings *found)
{
    if (!fit->solved || !epiqp_needs_solve(fit->o)) return EPIQ_OK;
    double *q00 = epiqp_room(pb, pb->points, sizeof *q00);
    if (!q00) return EPIQ_E_NOMEM;
    epiqp_kernel_diagonal(&fit->arch, &fit->at, NULL, q00);
    /* twice the bound, since rounding may itself have enlarged the variance that is compared with it */
    double rounding = 2 * DBL_EPSILON * fit->ridge.loss, y2 = 0;
    for (ptrdiff_t i = 0; i < pb->n; i++) {
        y2 = fmax(y2, pb->data->y[i] * pb->data->y[i]);
    }
    ptrdiff_t lost = 0;
    for (ptrdiff_t p = 0; p < pb->asked; p++) {
        double v = found->part[p].variance, open = 10 * epiqp_procedural_open(fit, &fit->ridge, p);
        lost += found->part[p].known && v > 0 && v < fmax(rounding * rounding * (q00[p] + y2), open * open);
    }
    if (!lost) return EPIQ_OK;
    return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_ILL_CONDITIONED,
                      "at %td of %td points the networks differ by less than the rounding in them may come to, so the "
                      "procedural variance there may be wrong; use a larger {--lambda}%s",
                      lost, pb->asked, fit->ridge.bound ? ", or {--solver} exact" : "");
}

/* Moves the networks that are done to the front of the list and of h, in their order; returns how many. */
static ptrdiff_t compact(ptrdiff_t points, ptrdiff_t count, epiqp_assignment *list)
{
    ptrdiff_t done = 0;
    for (ptrdiff_t k = 0; k < count; k++) {
        if (list[k].done) {
            double *at = list[done].at;
            memmove(at, list[k].at, (size_t)points * sizeof *at);
            list[done] = list[k];
            list[done++].at = at;
        }
    }
    return done;
}

/* EPIQ_E_STOPPED with two networks or more: found has what they say, for a run that ends early. */
int epiqp_estimate_ev(const epiqp_problem *pb, const epiqp_maker *maker, const epiqp_fit *fit, epiqp_ev_findings *found)
{
    const ptrdiff_t m = pb->plan->ran.members, rows = pb->plan->members_at_rows ? pb->n : 0;
    double *h = epiqp_room(pb, m * (pb->points + rows), sizeof *h);
    epiqp_assignment *list = epiqp_room(pb, m, sizeof *list);
    if (!h || !list) return EPIQ_E_NOMEM;
    for (ptrdiff_t k = 0; k < m; k++) {
        list[k] = (epiqp_assignment){
            .fit = fit,
            .draw = epiqp_draw_of(&pb->plan->ran, k),
            .kind = EPIQP_FOR_MEMBER,
            .index = k,
            .at = h + k * pb->points,
            .rows = rows ? h + m * pb->points + k * pb->n : NULL,
        };
    }
    int s = pb->plan->keep ? epiqp_members_keep(maker, pb->plan->keep, pb->n, m, list, &found->weights) : EPIQ_OK;
    if (s) return s;
    const int trained = epiqp_members_run(maker, "members", m, list);
    const ptrdiff_t done = trained == EPIQ_E_STOPPED ? compact(pb->points, m, list) : m;
    if ((trained && trained != EPIQ_E_STOPPED) || done < 2) return trained;
    found->members = done;
    found->h = h;
    epiqp_ev_points(pb, found);
    if ((s = check_digits(pb, fit, found))) return s;
    if (rows && !(found->at_rows = epiqp_room(pb, rows, sizeof *found->at_rows))) return EPIQ_E_NOMEM;
    for (ptrdiff_t k = 0; rows && k < done; k++) {
        epiqp_axpy(rows, 1 / (double)done, list[k].rows, found->at_rows);
    }
    return trained;
}
