/* limit.c - what kernel regression would predict with ever more rows, from those at hand (docs/method.md section 3). In the mean
 * over tables, n rows at the weight lambda' of the penalty predict what infinitely many do at the larger weight
 *     1/tr (K + lambda' n I)^-1
 * So that weight is made lambda, by Newton's method, and prediction and data variance are those of lambda'.
 */
#include "est/limit.h"
#include "est/if.h"

#include <math.h>

enum { ROUNDS = 6 };                  /* of Newton's method: two or three are usual */
static const double NEAR = 0.01;      /* of lambda: near enough */
static const double LEAST = 1.0 / 64; /* of lambda: rows that are too few for any lambda' are nearly interpolated */

/* Kernel regression on all rows with another weight. */
static int solve_with(const epiqp_problem *pb, double lambda, epiqp_fit *fit)
{
    const epiqp_env alone = epiqp_alone(&pb->e);
    epiqp_fit own = {.o = &pb->plan->ran, .net = epiqp_net_of(&pb->plan->ran, pb->data->d)};
    own.y = pb->data->y;
    own.lambda = lambda;
    own.solver = EPIQ_SOLVER_EXACT;
    own.arch = epiqp_arch_of(&own.net);
    *fit = own;
    int s = epiqp_rows_new(pb->e.c, pb->n, pb->data->d, pb->data->x, &fit->rows);
    if (s || (s = epiqp_rows_new(pb->e.c, pb->points, pb->data->d, pb->at, &fit->at))) return s;
    return epiqp_fit_solve(&alone, fit);
}

/* The next lambda'; out gets the predictions of the first one, which is lambda. *near: this one will do. */
static int next_weight(const epiqp_problem *pb, double *weight, epiqp_limit *out, bool *near)
{
    const epiqp_env alone = epiqp_alone(&pb->e);
    const double lambda = pb->plan->ran.lambda;
    epiqp_fit fit = {0};
    double trace = 0, square = 0;
    int s = solve_with(pb, *weight, &fit);
    if (!s && !out->now) s = epiqp_kernel_predictions(pb, fit.ridge.c, NULL, &out->now);
    if (!s) s = epiqp_ridge_leverage(&alone, &fit.ridge);
    for (ptrdiff_t i = 0; !s && i < pb->n; i++) {
        trace += fit.ridge.diagonal[i];
        square += fit.ridge.norm2[i];
    }
    if (!s) {
        const double reached = 1 / trace, slope = square / (trace * trace) * (double)pb->n; /* of reached in lambda' */
        const double step = (lambda - reached) / slope, least = LEAST * lambda;
        *near = fabs(lambda - reached) <= NEAR * lambda || (*weight <= least && step <= 0);
        if (!*near) *weight = fmin(fmax(*weight + step, fmax(*weight / 8, least)), lambda);
    }
    epiqp_fit_free(pb->e.c, &fit);
    return s;
}

/* IF with that weight, as it runs on all rows, but without what else comes of it. */
static int influence_with(const epiqp_problem *pb, double weight, epiqp_limit *out)
{
    epiqp_warnings unsaid = {.arena = pb->scratch};
    epiqp_plan plan = *pb->plan;
    epiqp_problem own = *pb;
    epiqp_fit fit = {0};
    epiqp_if_findings found;
    plan.ran.influential = 0;
    plan.influence = EPIQP_IF_POPULATION;
    plan.leverage = true;
    plan.probes = plan.retrained = 0;
    plan.predictive = plan.wants_predictive = plan.leave_out = false;
    own.plan = &plan;
    own.warnings = &unsaid;
    int s = epiqp_if_room(&own, &found);
    if (!s) s = solve_with(&own, weight, &fit);
    if (!s) s = epiqp_kernel_predictions(&own, fit.ridge.c, NULL, &out->prediction);
    const epiqp_solution sol = {.fit = &fit, .ridge = &fit.ridge};
    if (!s) s = epiqp_if_from_ridge(&own, &sol, &found);
    out->part = found.part;
    epiqp_fit_free(pb->e.c, &fit);
    return s;
}

int epiqp_limit_new(const epiqp_problem *pb, epiqp_limit *out)
{
    double weight = pb->plan->ran.lambda;
    bool near = false;
    int s = EPIQ_OK;
    for (int round = 0; !s && !near && round < ROUNDS; round++) {
        s = epiqp_cancel_requested(pb->e.c) ? epiqp_fail(pb->e.c, EPIQ_E_STOPPED, "stopped on request at the kernel")
                                            : next_weight(pb, &weight, out, &near);
    }
    if (!s) s = influence_with(pb, weight, out);
    out->known = !s;
    return s;
}
