/* coverage.c - how often the intervals hold the truth, and how far each estimate is from it on average: EV, BA and IF
 * in its versions, in every cell of the synthetic tables, with equal noise and with noise that varies with x.
 */
#include "study/lab.h"

/* With --quick. */
static bool is_quick(const lab_paper_cell *p)
{
    return p->n == 200 && (p->set == 1 ? p->d == 2 || p->d == 8 || p->d == 32 : p->d == 4);
}

/* The truth is a variance over data sets, whose error falls with their number: more of them where they are cheap. */
static ptrdiff_t reps_at(const lab *l, ptrdiff_t n, bool fewer)
{
    bool networks = lab_engine(l) == EPIQ_ENGINE_NETWORK;
    return l->job->reps > 0 ? l->job->reps
           : networks       ? lab_reps(l, 10, 20, 100)
                            : lab_reps(l, 40, 200, fewer ? 400 : 1000) * 1000 / n;
}

int study_coverage(lab *l)
{
    lab_cell cells[(NOISE_ACROSS + 1) * LAB_PAPER_COUNT];
    ptrdiff_t count = 0;
    bool networks = lab_engine(l) != EPIQ_ENGINE_INFINITE;
    for (int noise = NOISE_EQUAL; noise <= NOISE_ACROSS; noise++) {
        for (const lab_paper_cell *p = LAB_PAPER_CELLS; p < LAB_PAPER_CELLS + LAB_PAPER_COUNT; p++) {
            bool some = l->job->size == STUDY_QUICK;
            if (!lab_wanted(l, p->n, p->d) || (some && (!is_quick(p) || noise > NOISE_SLOPE))) continue;
            lab_cell c = lab_synthetic(l, p->set, p->n, p->d, reps_at(l, p->n, noise != NOISE_EQUAL));
            c.noise = (lab_noise)noise;
            c.o.methods = EPIQ_IF | EPIQ_EV | (networks && noise == NOISE_EQUAL ? EPIQ_BA : 0);
            c.control = c.o.engine == EPIQ_ENGINE_NETWORK && noise == NOISE_EQUAL;
            if (noise != NOISE_EQUAL) { /* it matters to IF alone, which needs no networks */
                c.o.engine = EPIQ_ENGINE_INFINITE;
                c.o.hbar = EPIQ_HBAR_KERNEL;
            }
            cells[count++] = c;
        }
    }
    int s = lab_run(l, cells, count);
    for (ptrdiff_t k = 0; !s && k < count; k++) {
        lab_published paper = lab_published_synthetic(cells[k].set, cells[k].n, cells[k].d);
        if (cells[k].noise != NOISE_EQUAL) { /* which the paper does not have */
            paper.data_truth = paper.data = NAN;
        }
        lab_add_if(l, &cells[k], &paper);
        if (cells[k].o.methods & EPIQ_BA) {
            study_cell ev = lab_judged(&cells[k], "procedural", "ev", S_EV, LAB_TAU2);
            study_cell ba = lab_judged(&cells[k], "ensemble", "ba", S_BA, LAB_ENSEMBLE);
            ev.members = cells[k].o.members;
            ba.members = cells[k].o.batches;
            lab_add(l, ev);
            lab_add(l, ba);
        }
    }
    if (!s) {
        lab_note(l, "Noise: equal everywhere; slope, its variance rises along the first feature from nearly 0 to twice "
                    "the mean; far, it grows with the distance from the test point; near, it falls with it; across, it "
                    "is largest where the features' sum is near its mean.");
        lab_note(l, "The rates' intervals are Wilson's, at 95 %%; the truth has an error of its own, given beside it, "
                    "which moves all rates of a cell together.");
    }
    return s;
}
