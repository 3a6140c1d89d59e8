/* members.c - makes members in parallel, takes those already finished from the state file, and keeps the new ones
 * there. */
#include "est/est.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void count_training(epiqp_job *j, const epiqp_training *t)
{
    epiq_result *r = &j->answer->result;
    j->iterations[r->training.members++] = (double)t->iterations;
    r->training.converged += t->converged;
    r->training.loss_max = fmax(r->training.loss_max, t->loss);
    r->training.gradient_rel_max = fmax(r->training.gradient_rel_max, t->gradient_rel);
}

int epiqp_run_members(epiqp_job *j, const char *stage, ptrdiff_t count, epiqp_assignment *list)
{
    ptrdiff_t done = 0;
    int status = EPIQ_OK;
    for (ptrdiff_t k = 0; k < count && j->state; k++) {
        int s = epiqp_state_load(j->state, &list[k], j);
        if (s) {
            return s;
        }
        done += list[k].done;
    }
    j->answer->result.training.resumed += done;
    if ((status = epiqp_report(j->e.c, stage, done, count))) {
        return status;
    }
#pragma omp parallel for schedule(dynamic) num_threads(j->e.threads)
    for (ptrdiff_t k = 0; k < count; k++) {
        epiqp_assignment *a = &list[k];
        int so_far;
#pragma omp atomic read
        so_far = status;
        if (a->done || so_far) {
            continue;
        }
        int s =
            j->engine->member(&j->e, a->fit, &a->draw, a->at, a->rows, a->keep.theta ? &a->keep : NULL, &a->training);
        for (ptrdiff_t p = 0; !s && p < j->points; p++) {
            if (!isfinite(a->at[p])) {
                s = epiqp_fail(j->e.c, EPIQ_E_NUMERIC,
                               "member %td's prediction is not finite; use --scale standard or a larger --lambda",
                               a->index + 1);
            }
        }
#pragma omp critical(epiqp_members)
        {
            if (!s && j->state) {
                s = epiqp_state_save(j->state, a, j);
            }
            if (!s) {
                a->done = true;
                s = epiqp_report(j->e.c, stage, ++done, count);
                s = done == count ? EPIQ_OK
                                  : s; /* a request to stop after the last one comes too late to lose anything */
            }
        }
        if (s) {
#pragma omp atomic write
            status = s;
        }
    }
    for (ptrdiff_t k = 0; k < count && j->engine->trains; k++) {
        if (list[k].done) {
            count_training(j, &list[k].training);
        }
    }
    return status;
}

int epiqp_finish(epiqp_job *j, const char *what)
{
    if (!j->more->may_finish || !epiqp_finishing(j->e.c)) {
        return EPIQ_E_STOPPED;
    }
    epiqp_clear(j->e.c);
    epiqp_go_on(j->e.c);
    j->finished = true;
    j->o.methods &= ~EPIQ_BA;
    j->answer->result.methods = j->o.methods;
    return epiqp_warn(j->e.c, j->warnings, "stopped", "ended early, on request: %s", what);
}

int epiqp_finish_members(epiqp_job *j, ptrdiff_t count, epiqp_assignment *list)
{
    ptrdiff_t done = 0;
    for (ptrdiff_t k = 0; k < count; k++) {
        if (list[k].done) {
            double *at = list[done].at; /* predictions stand side by side, in the list's order */
            memmove(at, list[k].at, (size_t)j->points * sizeof *at);
            list[done] = list[k];
            list[done++].at = at;
        }
    }
    if (done < 2) {
        return EPIQ_E_STOPPED;
    }
    char what[160];
    snprintf(what, sizeof what, "the procedural variance is that of the %td networks finished, of %td%s", done, count,
             j->o.methods & EPIQ_BA ? "; BA is left out" : "");
    j->o.members = done;
    return epiqp_finish(j, what);
}

int epiqp_members_summary(epiqp_job *j)
{
    epiq_result *r = &j->answer->result;
    ptrdiff_t open = r->training.members - r->training.converged;
    r->training.iterations_median = (ptrdiff_t)epiqp_median(j->iterations, r->training.members);
    if (!open) {
        return EPIQ_OK;
    }
    if (j->o.optimizer != EPIQ_OPTIMIZER_AUTO && j->o.steps > 0) {
        return epiqp_warn(
            j->e.c, j->warnings, "stopped_early",
            "%td of %td networks were still improving after %td steps, as --steps asked; their variance is that of "
            "training stopped there",
            open, r->training.members, j->o.steps);
    }
    if (open == r->training.members) {
        return epiqp_fail(j->e.c, EPIQ_E_NUMERIC,
                          "none of the %td networks converged within %td iterations; allow more --steps", open,
                          r->training.iterations_median);
    }
    return epiqp_warn(j->e.c, j->warnings, "unconverged", "%td of %td networks did not converge; allow more --steps",
                      open, r->training.members);
}
