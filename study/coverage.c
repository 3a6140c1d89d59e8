/* coverage.c - how often the intervals hold the truth, and how far each estimate is from it on average: EV, BA and IF
 * in its versions, in every cell of the synthetic tables, with equal noise and with noise that varies with x.
 */
#include "study/lab.h"

/* EV claims the variance of retraining on its own rows: linearised networks know that of each data set exactly. */
static study_rate ev_coverage(const lab_cell *c, double truth, double level)
{
    ptrdiff_t hits = 0, trials = 0;
    bool own = c->o.engine == EPIQ_ENGINE_LINEAR && c->o.linear_kernel == EPIQ_KERNEL_POPULATION;
    for (ptrdiff_t rep = 0; rep < c->reps; rep++) {
        double target = own ? lab_get(c, rep, S_INFINITE) : truth;
        epiq_part p = epiq_part_of(lab_get(c, rep, S_EV), lab_get(c, rep, S_EV_DF), level, EPIQ_BY_EV);
        trials += target > 0;
        hits += target > 0 && p.has_interval && p.lo <= target && (p.open || target <= p.hi);
    }
    return lab_wilson(hits, trials);
}

static void add_networks(lab *l, const lab_cell *c)
{
    study_cell ev = lab_line(c, "procedural", "ev"), ba = lab_line(c, "ensemble", "ba");
    ev.members = c->o.members;
    lab_line_truth(c, LAB_TAU2, &ev);
    lab_line_estimate(c, S_EV, S_EV_DF, LAB_TAU2, &ev);
    ev.coverage = ev_coverage(c, ev.truth, 0.95);
    ev.coverage90 = ev_coverage(c, ev.truth, 0.9);
    lab_add(l, ev);
    ba.members = c->o.batches;
    lab_line_truth(c, LAB_ENSEMBLE, &ba);
    lab_line_estimate(c, S_BA, S_BA_DF, LAB_ENSEMBLE, &ba);
    lab_add(l, ba);
}

static const struct {
    int set;
    ptrdiff_t n, d;
    bool quick;
} CELLS[] = {
    {1, 200, 2, true},   {1, 200, 4, false},  {1, 200, 8, true},   {1, 200, 16, false},  {1, 200, 32, true},
    {1, 500, 2, false},  {1, 500, 4, false},  {1, 500, 8, false},  {1, 500, 16, false},  {1, 500, 32, false},
    {1, 1000, 2, false}, {1, 1000, 4, false}, {1, 1000, 8, false}, {1, 1000, 16, false}, {1, 1000, 32, false},
    {2, 200, 2, false},  {2, 200, 4, true},   {2, 200, 8, false},  {2, 200, 16, false},  {3, 500, 2, false},
    {3, 500, 4, false},  {3, 500, 8, false},  {3, 500, 16, false},
};
enum { CELL_COUNT = sizeof CELLS / sizeof *CELLS };

/* The truth is a variance over data sets, so its error falls with their number alone: more of them where they are cheap.
 */
static ptrdiff_t reps_at(const lab *l, ptrdiff_t n, bool fewer)
{
    bool networks = l->result->options.engine == EPIQ_ENGINE_NETWORK;
    return l->job->reps > 0 ? l->job->reps
           : networks       ? lab_reps(l, 10, 20, 100)
                            : lab_reps(l, 40, 200, fewer ? 400 : 1000) * 1000 / n;
}

int study_coverage(lab *l)
{
    lab_cell cells[(NOISE_ACROSS + 1) * CELL_COUNT];
    ptrdiff_t count = 0;
    bool networks = l->result->options.engine != EPIQ_ENGINE_INFINITE;
    for (int noise = NOISE_EQUAL; noise <= NOISE_ACROSS; noise++) {
        for (size_t k = 0; k < CELL_COUNT; k++) {
            bool some = l->job->size == STUDY_QUICK;
            if (!lab_wanted(l, CELLS[k].n, CELLS[k].d) || (some && (!CELLS[k].quick || noise > NOISE_SLOPE))) {
                continue;
            }
            lab_cell c =
                lab_synthetic(l, CELLS[k].set, CELLS[k].n, CELLS[k].d, reps_at(l, CELLS[k].n, noise != NOISE_EQUAL));
            c.noise = (lab_noise)noise;
            c.o.methods = EPIQ_IF | EPIQ_EV | EPIQ_BA;
            c.control = c.o.engine == EPIQ_ENGINE_NETWORK && noise == NOISE_EQUAL;
            if (noise != NOISE_EQUAL) { /* it matters to IF alone, which needs no networks */
                c.o.engine = EPIQ_ENGINE_INFINITE;
                c.o.hbar = EPIQ_HBAR_KERNEL;
            }
            if (!networks || noise != NOISE_EQUAL) {
                c.o.methods = EPIQ_IF | EPIQ_EV;
            }
            cells[count++] = c;
        }
    }
    if (count == 0) {
        return lab_nothing(l);
    }
    int s = lab_run(l, cells, count);
    for (ptrdiff_t k = 0; !s && k < count; k++) {
        lab_published paper = lab_published_synthetic(cells[k].set, cells[k].n, cells[k].d);
        if (cells[k].noise != NOISE_EQUAL) { /* which the paper does not have */
            paper.data_truth = paper.data = NAN;
        }
        lab_add_if(l, &cells[k], &paper);
        if (cells[k].o.methods & EPIQ_BA) {
            add_networks(l, &cells[k]);
        }
    }
    if (!s) {
        lab_note(
            l, "Noise: equal everywhere; slope, its variance rises along the first feature from nearly 0 to twice the "
               "mean; far, it grows with the distance from the test point; near, it falls with it; across, it is "
               "largest where the features' sum is near its mean.");
        lab_note(
            l, "The rates' intervals are Wilson's, at 95 %%; the truth has an error of its own, given beside it, which "
               "moves all rates of a cell together.");
    }
    return s;
}
