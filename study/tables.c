/* tables.c - tables 1, 3 and 4 of the paper: synthetic sets 1, 2 and 3, ground truth beside EV, IF and BA, and the
 * published values beside all of them. Each repetition trains m' + 1 networks on fresh data: m' for the ensemble and one
 * alone, as the paper's formula wants; tau^2 is taken from all of them.
 */
#include "study/lab.h"

static void procedural(lab *l, const lab_cell *c, const lab_cell *ev, const lab_published *paper)
{
    study_cell line = lab_line(c, "procedural", ev ? "ev" : "infinite");
    lab_line_truth(c, LAB_TAU2, &line);
    line.published_truth = paper->tau2_truth;
    line.published = paper->tau2;
    if (ev) { /* of one data set, as anyone would have it */
        epiq_part p = epiq_part_of(lab_get(ev, 0, S_EV), lab_get(ev, 0, S_EV_DF), 0.95, EPIQ_BY_EV);
        line.members = ev->o.members;
        line.estimate = p.variance;
        line.lo = p.has_interval ? p.lo : NAN;
        line.hi = p.has_interval && !p.open ? p.hi : NAN;
    } else {
        line.estimate = lab_get(c, 0, S_INFINITE);
    }
    lab_add(l, line);
}

static void ensemble(lab *l, const lab_cell *c, const lab_published *paper)
{
    bool networks = c->o.engine != EPIQ_ENGINE_INFINITE;
    study_cell line = lab_line(c, "ensemble", networks ? "ba" : "infinite");
    line.members = c->o.batches;
    lab_line_truth(c, LAB_ENSEMBLE, &line);
    if (networks) {
        lab_line_estimate(c, S_BA, S_BA_DF, LAB_ENSEMBLE, &line);
    } else {
        ptrdiff_t version = S_IF + (c->o.time > 0 ? EPIQ_CORRECTION_NONE : EPIQ_CORRECTION_MODERATED);
        line.estimate = lab_field(c, version).value + lab_field(c, S_INFINITE).value / (double)c->o.batches;
    }
    line.published_truth = paper->ensemble_truth;
    line.published = paper->ensemble;
    lab_add(l, line);
}

static int table(lab *l, int set, const ptrdiff_t *n, const ptrdiff_t *d)
{
    enum { MOST = 32 };
    lab_cell cells[2 * MOST];
    ptrdiff_t count = 0;
    const study_job *job = l->job;
    bool networks = l->result->options.engine != EPIQ_ENGINE_INFINITE,
         dear = l->result->options.engine == EPIQ_ENGINE_NETWORK;
    ptrdiff_t step = networks ? 2 : 1, reps = dear ? lab_reps(l, 6, 20, 100) : lab_reps(l, 100, 100, 100);
    for (ptrdiff_t i = 0; n[i]; i++) {
        for (ptrdiff_t k = 0; d[k]; k++) {
            bool some = job->size == STUDY_QUICK && !job->n && !job->d; /* a few rows of it will do */
            if (!lab_wanted(l, n[i], d[k]) || (some && (i > 0 || k % 2))) {
                continue;
            }
            lab_cell c = lab_synthetic(l, set, n[i], d[k], reps), ev = c;
            c.o.members = c.o.batches + 1;
            c.o.methods = EPIQ_IF | EPIQ_EV | (networks ? EPIQ_BA : 0);
            c.control = dear;
            cells[count] = c;
            ev.o.methods = EPIQ_EV;
            ev.reps = 1;
            ev.stream = 1;
            if (networks) {
                cells[count + 1] = ev;
            }
            count += step;
        }
    }
    if (count == 0) {
        return lab_nothing(l);
    }
    int s = lab_run(l, cells, count);
    for (ptrdiff_t k = 0; !s && k < count; k += step) {
        const lab_cell *c = &cells[k];
        lab_published paper = lab_published_synthetic(set, c->n, c->d);
        procedural(l, c, networks ? &cells[k + 1] : NULL, &paper);
        lab_add_if(l, c, &paper);
        ensemble(l, c, &paper);
    }
    if (s) {
        return s;
    }
    lab_note(l,
             "Truth: tau^2 is the mean over %td data sets of the variance within %s, sigma^2/n what is left of the "
             "variance of %s over data sets%s; standard errors are jackknifed over data sets.",
             reps, dear ? "the networks trained on each" : "infinitely many networks, in closed form",
             dear ? "the ensemble's prediction" : "the mean prediction",
             dear ? ", with kernel regression, whose variance is known, as control variate" : "");
    lab_note(l, "The truth's own error, given beside it, moves all rates of a cell together: with few data sets a rate "
                "far from "
                "its level says little.");
    if (dear) {
        lab_note(l,
                 "The paper's form, from V1 (one network) and Vm (the ensemble), has the same expectation and a far "
                 "larger error: a difference of two variances, each known to %.0f %%.",
                 100 * sqrt(2 / (double)reps));
        lab_note(l,
                 "EV is one estimate, from %td networks on the first data set; IF and BA are means over the data sets.",
                 l->result->options.members);
    }
    return EPIQ_OK;
}

int study_table1(lab *l)
{
    return table(l, 1, (const ptrdiff_t[]){200, 500, 1000, 0}, (const ptrdiff_t[]){2, 4, 8, 16, 32, 0});
}

int study_table3(lab *l)
{
    return table(l, 2, (const ptrdiff_t[]){200, 0}, (const ptrdiff_t[]){2, 4, 8, 16, 0});
}

int study_table4(lab *l)
{
    return table(l, 3, (const ptrdiff_t[]){500, 0}, (const ptrdiff_t[]){2, 4, 8, 16, 0});
}
