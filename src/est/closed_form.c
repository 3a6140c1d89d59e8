/* closed_form.c - tau^2 of infinitely wide networks beside, or instead of, that of trained ones. */
#include "est/assemble.h"

#include "est/variance.h"

#include <math.h>

epiq_part epiqp_infinite_part(double tau2, double q00, double rounding)
{
    bool known = tau2 >= rounding * q00; /* so at an exact 0 too */
    return (epiq_part){.known = known, .variance = known ? tau2 : 0, .method = EPIQ_BY_INFINITE};
}

int epiqp_closed_form(const epiqp_problem *pb, const epiqp_solution *sol, const double *stopped_c, epiq_part *part,
                      epiqp_open *open)
{
    const epiqp_fit *fit = sol->fit;
    const epiqp_ridge *r = sol->ridge;
    const bool removed = epiqp_start_removed(fit->o), iterated = !stopped_c && r->bound && !removed;
    double *tau2 = epiqp_room(pb, 2 * pb->points, sizeof *tau2), *q00 = tau2 + pb->points;
    int s = tau2 ? epiqp_infinite_variance(&pb->e, fit, stopped_c ? stopped_c : r->c, tau2) : EPIQ_E_NOMEM;
    if (s) return s;
    ptrdiff_t rounded = 0;
    epiqp_kernel_diagonal(&fit->arch, &fit->at, NULL, q00);
    if (iterated && (s = epiqp_settle_procedural(pb, sol, tau2, q00))) return s;
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        double off = iterated ? epiqp_procedural_open(fit, r, p) : 0, root = sqrt(fmax(tau2[p], 0));
        part[p] = epiqp_infinite_part(2 * off <= root ? tau2[p] : -1, q00[p], removed ? 0 : EPIQP_ROUNDING);
        rounded += !part[p].known && p < pb->asked;
        if (part[p].known && off > 0 && p < pb->asked) {
            open->procedural = fmax(open->procedural, off / root * (2 + off / root));
        }
    }
    if (!rounded || pb->engine->member) return EPIQ_OK;
    return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_LOST_IN_ROUNDING,
                      "the procedural variance is below rounding%s at %td of %td points, so it is withheld; use a "
                      "larger {--lambda}%s",
                      iterated ? ", or what iteration leaves open," : "", rounded, pb->asked,
                      iterated ? ", or {--solver} exact" : "");
}

/* Are the networks wide enough for the theory? Compares EV's interval with infinite width; kappa tells where it is known. */
int epiqp_check_regime(const epiqp_problem *pb, const epiqp_findings *found)
{
    ptrdiff_t off = 0, compared = 0, first = 0;
    if (epiqp_start_removed(&pb->plan->ran)) return EPIQ_OK; /* infinitely wide ones then have none */
    for (ptrdiff_t p = 0; !found->retrain.known && p < pb->asked; p++) {
        compared += found->ev.part[p].has_interval && found->closed[p].known;
        if (epiqp_far_from_infinite(&found->ev.part[p], &found->closed[p]) && !off++) first = p;
    }
    if (!off) return EPIQ_OK;
    return epiqp_warn(
        pb->e.c, pb->warnings, EPIQ_W_NOT_IN_KERNEL_REGIME,
        "at %td of %td points the trained networks' variance is far from that of infinitely wide ones (first: %s, %.3g "
        "where they have %.3g); IF, which assumes the latter, may be off: try a larger {--width}",
        off, compared, pb->name[first], found->ev.part[first].variance, found->closed[first].variance);
}
