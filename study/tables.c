/* tables.c - tables 1, 3 and 4 of the paper: synthetic sets 1, 2 and 3, ground truth beside EV, IF and BA, and the
 * published values beside all of them. Each repetition trains m' + 1 networks on fresh data: m' for the ensemble and
 * one alone, as the paper's formula wants; tau^2 is taken from all of them.
 */
#include "study/lab.h"

#include <string.h>

/* ---- what the paper prints: results_all (set 1), results2, results3 (sets 2, 3), results7 (real, no truth) ---- */

const lab_paper_cell LAB_PAPER_CELLS[LAB_PAPER_COUNT] = {
    {1, 200, 2, {5e-05, 4e-05, 0.00016, 0.00018, 0.00017, 0.00017}},
    {1, 200, 4, {0.00016, 0.00015, 0.00033, 0.00035, 0.00036, 0.00038}},
    {1, 200, 8, {0.00093, 0.00091, 0.00047, 0.00048, 0.00066, 0.00068}},
    {1, 200, 16, {0.0021, 0.002, 0.0007, 0.0008, 0.0011, 0.0012}},
    {1, 200, 32, {0.0037, 0.0035, 0.0015, 0.0017, 0.0022, 0.0023}},
    {1, 500, 2, {4e-05, 3e-05, 7e-05, 9e-05, 8e-05, 0.0001}},
    {1, 500, 4, {0.00016, 0.00015, 0.00014, 0.00018, 0.00017, 0.00019}},
    {1, 500, 8, {0.00092, 0.0009, 0.00021, 0.00024, 0.00039, 0.00041}},
    {1, 500, 16, {0.0021, 0.002, 0.0003, 0.0004, 0.0007, 0.0008}},
    {1, 500, 32, {0.0037, 0.0036, 0.0007, 0.0008, 0.0014, 0.0016}},
    {1, 1000, 2, {4e-05, 3e-05, 4e-05, 6e-05, 5e-05, 5e-05}},
    {1, 1000, 4, {0.00015, 0.00014, 8e-05, 0.0001, 0.00011, 0.00014}},
    {1, 1000, 8, {0.00092, 0.00089, 0.00013, 0.00016, 0.00031, 0.00033}},
    {1, 1000, 16, {0.002, 0.0019, 0.0002, 0.0003, 0.0006, 0.0007}},
    {1, 1000, 32, {0.0036, 0.0033, 0.0004, 0.0004, 0.0011, 0.0012}},
    {2, 200, 2, {0.0001, 0.0001, 0.0011, 0.0015, 0.0011, 0.0015}},
    {2, 200, 4, {0.0017, 0.0014, 0.0081, 0.0087, 0.0084, 0.0086}},
    {2, 200, 8, {0.018, 0.013, 0.048, 0.05, 0.052, 0.056}},
    {2, 200, 16, {0.14, 0.09, 0.3, 0.34, 0.33, 0.36}},
    {3, 500, 2, {0.00045, 0.00043, 0.00057, 0.00063, 0.00066, 0.00069}},
    {3, 500, 4, {0.0011, 0.0008, 0.0039, 0.0045, 0.0041, 0.0043}},
    {3, 500, 8, {0.01, 0.007, 0.021, 0.024, 0.023, 0.025}},
    {3, 500, 16, {0.04, 0.02, 0.06, 0.08, 0.07, 0.08}},
};

static const struct {
    const char *table;
    double tau2, data, ensemble; /* EV, IF, BA */
} REAL[] = {
    {"boston", 0.0091, 0.0002, 0.0023}, {"concrete", 0.0013, 0.0004, 0.0007}, {"energy", 0.0108, 0.0002, 0.0025},
    {"wine", 0.002, 0.0001, 0.0006},    {"yacht", 0.0013, 0.0001, 0.0005},
};

static const lab_published NOTHING = {NAN, NAN, NAN, NAN, NAN, NAN};

lab_published lab_published_synthetic(int set, ptrdiff_t n, ptrdiff_t d)
{
    for (const lab_paper_cell *p = LAB_PAPER_CELLS; p < LAB_PAPER_CELLS + LAB_PAPER_COUNT; p++) {
        if (p->set == set && p->n == n && p->d == d) return p->v;
    }
    return NOTHING;
}

lab_published lab_published_real(const char *table)
{
    for (size_t k = 0; k < sizeof REAL / sizeof *REAL; k++) {
        if (strcmp(REAL[k].table, table) == 0) {
            return (lab_published){NAN, REAL[k].tau2, NAN, REAL[k].data, NAN, REAL[k].ensemble};
        }
    }
    return NOTHING;
}

/* ---- the tables ---- */

enum { RETRAINED_OF = 10, RETRAINED_MEMBERS = 10 }; /* a tenth of the data sets, and networks on each for EV */

static void procedural(lab *l, const lab_cell *c, const lab_cell *ev, const lab_published *paper)
{
    study_cell line = lab_line(c, "procedural", ev ? "ev" : "infinite");
    lab_line_truth(c, LAB_TAU2, &line);
    line.published_truth.value = paper->tau2_truth;
    line.published.value = paper->tau2;
    if (ev) { /* of one data set, as anyone would have it */
        epiq_part p = epiq_part_of(lab_get(ev, 0, S_EV), lab_get(ev, 0, S_EV_DF), 0.95, EPIQ_BY_EV);
        line.members = ev->o.members;
        lab_line_one(p, &line);
    } else {
        line.estimate.value = lab_get(c, 0, S_INFINITE);
    }
    lab_add(l, line);
}

/* The data part that epiq estimate gives of trained networks, on some data sets of its own. */
static void data_of_networks(lab *l, const lab_cell *c, const lab_cell *again, const lab_published *paper)
{
    study_cell line = lab_line(c, "data", "retrain");
    line.reps = again->reps;
    lab_line_apart(lab_field(again, S_DATA), lab_truth(c, LAB_DATA), &line);
    line.published_truth.value = paper->data_truth;
    lab_add(l, line);
}

/* BA corrected with all that retraining tells: of the data sets where nothing was retrained by the mean factor of those where
 * it was, since it hardly differs from one to the next. */
static void correct_as(lab_cell *c, const lab_cell *again)
{
    const double factor = lab_field(again, S_BA_FACTOR).value;
    for (ptrdiff_t rep = 0; rep < c->reps && isfinite(factor); rep++) {
        double *sample = c->samples + rep * c->length;
        sample[S_BA] *= factor / sample[S_BA_FACTOR];
    }
}

static void ensemble(lab *l, const lab_cell *c, const lab_published *paper)
{
    bool networks = c->o.engine != EPIQ_ENGINE_INFINITE;
    study_cell line =
        networks ? lab_judged(c, "ensemble", "ba", S_BA, LAB_ENSEMBLE) : lab_line(c, "ensemble", "infinite");
    line.members = c->o.batches;
    if (!networks) {
        ptrdiff_t version = S_IF + (c->o.time > 0 ? EPIQ_CORRECTION_NONE : EPIQ_CORRECTION_MODERATED);
        lab_line_truth(c, LAB_ENSEMBLE, &line);
        line.estimate.value = lab_field(c, version).value + lab_field(c, S_INFINITE).value / (double)c->o.batches;
    }
    line.published_truth.value = paper->ensemble_truth;
    line.published.value = paper->ensemble;
    lab_add(l, line);
}

int study_synthetic(lab *l)
{
    const int set = study_called(l->job->name)->set;
    lab_cell cells[3 * LAB_PAPER_COUNT];
    ptrdiff_t count = 0, first_n = 0;
    const study_job *job = l->job;
    bool networks = lab_engine(l) != EPIQ_ENGINE_INFINITE, dear = lab_engine(l) == EPIQ_ENGINE_NETWORK;
    ptrdiff_t step = dear ? 3 : networks ? 2 : 1, reps = dear ? lab_reps(l, 6, 20, 100) : lab_reps(l, 100, 100, 100);
    for (const lab_paper_cell *p = LAB_PAPER_CELLS; p < LAB_PAPER_CELLS + LAB_PAPER_COUNT; p++) {
        if (p->set != set) continue;
        first_n = first_n ? first_n : p->n;
        bool some = job->size == STUDY_QUICK && !job->n && !job->d; /* a few rows of it will do */
        if (!lab_wanted(l, p->n, p->d) || (some && (p->n != first_n || p->d == 4 || p->d == 16))) continue;
        lab_cell c = lab_synthetic(l, set, p->n, p->d, reps), ev = c, again = c;
        c.o.members = c.o.batches + 1;
        c.o.methods = EPIQ_IF | EPIQ_EV | (networks ? EPIQ_BA : 0);
        c.control = dear;
        cells[count] = c;
        ev.o.methods = EPIQ_EV;
        ev.reps = 1;
        ev.stream = 1;
        again.o.methods = EPIQ_IF | EPIQ_EV | EPIQ_BA;
        again.o.members = RETRAINED_MEMBERS;
        again.o.data_by = EPIQ_DATA_BY_RETRAIN;
        again.o.correction = epiq_options_default().correction;
        again.reps = reps / RETRAINED_OF > 3 ? reps / RETRAINED_OF : 3;
        again.stream = 1;
        cells[count + 1] = ev; /* those that are not there the next cell overwrites */
        cells[count + 2] = again;
        count += step;
    }
    int s = lab_run(l, cells, count);
    for (ptrdiff_t k = 0; !s && k < count; k += step) {
        const lab_cell *c = &cells[k];
        lab_published paper = lab_published_synthetic(set, c->n, c->d);
        procedural(l, c, networks ? &cells[k + 1] : NULL, &paper);
        lab_add_if(l, c, &paper);
        if (dear) {
            data_of_networks(l, c, &cells[k + 2], &paper);
            correct_as(&cells[k], &cells[k + 2]);
        }
        ensemble(l, c, &paper);
    }
    if (s) return s;
    lab_note(l,
             "Truth: tau^2 is the mean over %td data sets of the variance within %s, sigma^2/n what is left of the "
             "variance of %s over data sets%s; standard errors are jackknifed over data sets.",
             reps, dear ? "the networks trained on each" : "infinitely many networks, in closed form",
             dear ? "the ensemble's prediction" : "the mean prediction",
             dear ? ", with kernel regression, whose variance is known, as control variate" : "");
    lab_note(l, "The truth's own error, given beside it, moves all rates of a cell together: with few data sets a rate "
                "far from its level says little.");
    if (dear) {
        lab_note(l,
                 "The paper's form, from V1 (one network) and Vm (the ensemble), has the same expectation and a far "
                 "larger error: a difference of two variances, each known to %.0f %%.",
                 100 * sqrt(2 / (double)reps));
        lab_note(
            l,
            "EV is one estimate, from %td networks on the first data set; IF and BA are means over the data sets, the "
            "data part by retraining, which is what epiq estimate gives of trained networks, over some of them; "
            "so is the factor that corrects BA for small batches.",
            l->result->options.members);
    }
    return EPIQ_OK;
}
