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

/* On a cluster rank 0 keeps the state, and tells the others what is in it. */
static int load(epiqp_job *j, ptrdiff_t count, epiqp_assignment *list)
{
    int s = EPIQ_OK;
    for (ptrdiff_t k = 0; !s && k < count && j->state; k++) {
        s = epiqp_state_load(j->state, &list[k], j);
    }
    return j->e.cluster && j->o.state ? epiqp_ranks_give(j, s, 0, 0, 1, count, list) : s;
}

/* Members first to end - 1, on a cluster every so-and-so-many'th of them. done: how many are finished, of count. */
static int train(epiqp_job *j, const char *stage, ptrdiff_t first, ptrdiff_t end, ptrdiff_t count, ptrdiff_t *done,
                 epiqp_assignment *list)
{
    const epiqp_env alone = epiqp_alone(&j->e);
    const epiq_cluster *cluster = j->e.cluster;
    int status = EPIQ_OK;
#pragma omp parallel for schedule(dynamic) num_threads(j->e.threads)
    for (ptrdiff_t k = first; k < end; k++) {
        epiqp_assignment *a = &list[k];
        int so_far;
#pragma omp atomic read
        so_far = status;
        if (a->done || so_far || (cluster && k % cluster->size != cluster->rank)) {
            continue;
        }
        int s =
            j->engine->member(&alone, a->fit, &a->draw, a->at, a->rows, a->keep.theta ? &a->keep : NULL, &a->training);
        for (ptrdiff_t p = 0; !s && p < a->fit->at.n; p++) {
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
                *done =
                    epiqp_min(count, *done + (cluster ? cluster->size : 1)); /* the others do as much, more or less */
                s = epiqp_report(j->e.c, stage, *done, count);
                s = *done == count ? EPIQ_OK
                                   : s; /* a request to stop after the last one comes too late to lose anything */
            }
            if (s && !status) { /* the first failure's, as the sentence is */
#pragma omp atomic write
                status = s;
            }
        }
    }
    return status;
}

/* What each rank has trained of members first to end - 1 reaches all, and rank 0's state. */
static int exchange(epiqp_job *j, int status, ptrdiff_t first, ptrdiff_t end, epiqp_assignment *list)
{
    const epiq_cluster *k = j->e.cluster;
    for (int r = 0; k && !status && r < k->size; r++) {
        ptrdiff_t own = first + (r - first % k->size + k->size) % k->size;
        status = epiqp_ranks_give(j, status, r, own, k->size, end, list);
        for (ptrdiff_t i = own; !status && r > 0 && j->state && i < end; i += k->size) {
            status = epiqp_state_save(j->state, &list[i], j);
        }
    }
    return status;
}

/* Members until ranks exchange them: of rank 0's threads, 2 each, if there is a state to keep them in, else all. */
static ptrdiff_t round_of(const epiqp_job *j, ptrdiff_t count)
{
    ptrdiff_t some = 2 * j->e.threads;
    if (!j->e.cluster || !j->o.state) {
        return count;
    }
    j->e.cluster->share(0, &some, sizeof some);
    return some * j->e.cluster->size;
}

int epiqp_run_members(epiqp_job *j, const char *stage, ptrdiff_t count, epiqp_assignment *list)
{
    int status = load(j, count, list);
    ptrdiff_t done = 0, at_once = round_of(j, count);
    for (ptrdiff_t k = 0; !status && k < count; k++) {
        done += list[k].done;
    }
    j->answer->result.training.resumed += done;
    status = status ? status : epiqp_report(j->e.c, stage, done, count);
    for (ptrdiff_t first = 0; !status && first < count; first += at_once) {
        ptrdiff_t end = epiqp_min(count, first + at_once);
        status = train(j, stage, first, end, count, &done, list);
        status = exchange(j, status, first, end, list);
    }
    for (ptrdiff_t k = 0; k < count && j->engine->trains; k++) {
        if (list[k].done) {
            count_training(j, &list[k].training);
        }
    }
    return status ? epiq_ctx_agree(j->e.c, status) : EPIQ_OK;
}

int epiqp_finish(epiqp_job *j, int left_out, const char *what)
{
    if (!j->more->may_finish || !epiqp_finishing(j->e.c) || j->e.cluster) {
        return EPIQ_E_STOPPED;
    }
    epiqp_clear(j->e.c);
    epiqp_go_on(j->e.c);
    if (!what) {
        return EPIQ_OK;
    }
    j->finished = true;
    j->o.methods &= ~left_out;
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
    char what[240];
    const char *data = !j->retrain.folds   ? ""
                       : j->retrain.subset ? "; there is no data part"
                                           : "; the data part is that of infinitely wide networks";
    snprintf(what, sizeof what, "the procedural variance is that of the %td networks finished, of %td%s%s", done, count,
             j->o.methods & EPIQ_BA ? "; BA is left out" : "", data);
    j->o.members = done;
    return epiqp_finish(j, EPIQ_BA, what);
}

int epiqp_members_summary(epiqp_job *j)
{
    epiq_result *r = &j->answer->result;
    ptrdiff_t open = r->training.members - r->training.converged;
    r->training.iterations_median =
        r->training.members ? (ptrdiff_t)epiqp_median(j->iterations, r->training.members) : 0;
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
