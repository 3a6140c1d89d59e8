/* normality.c - batching rests on predictions that are normal: tested by Anderson and Darling, and drawn against normal
 * quantiles, for networks on one data set, on fresh data sets, and on batches.
 */
#include "study/lab.h"

static void judge(lab *l, const lab_cell *c, const char *method, const char *title, double *v, ptrdiff_t count)
{
    study_cell line = lab_line(c, "normality", method);
    line.reps = count;
    double mean = lab_mean(v, count), sd = sqrt(lab_variance(v, count));
    double *x = lab_block(l, count, sizeof *x);
    line.estimate.value = lab_anderson_darling(v, count, &line.p_value); /* leaves v sorted */
    lab_add(l, line);
    if (!x) return; /* reported at the end */
    for (ptrdiff_t i = 0; i < count; i++) {
        x[i] = lab_normal_quantile(((double)i + 0.625) / ((double)count + 0.25)); /* Blom's places */
        v[i] = (v[i] - mean) / sd;
    }
    const double ends[] = {x[0], x[count - 1]};
    lab_figure(l, (study_figure){.title = title,
                                 .x_name = "normal quantile",
                                 .y_name = "prediction, standardised",
                                 .caption = "On the line: normal. Bends at the ends are heavy or light tails."});
    lab_curve(l, (study_line){"normal", false, 2, ends, ends, NULL, NULL});
    lab_curve(l, (study_line){"predictions", true, count, x, v, NULL, NULL});
}

int study_normality(lab *l)
{
    ptrdiff_t reps = lab_reps(l, 40, 100, 400), d = 8, n = 200;
    lab_cell cells[2] = {lab_synthetic(l, 1, n, d, 1), lab_synthetic(l, 1, n, d, reps)};
    lab_cell *one = &cells[0], *fresh = &cells[1];
    one->o.methods = EPIQ_EV;
    one->o.members = reps;
    one->stream = 1; /* other networks than fresh's */
    fresh->o.methods = EPIQ_EV | EPIQ_BA;
    fresh->o.members = 2; /* the fewest there can be; the first is used */
    if (one->o.engine == EPIQ_ENGINE_INFINITE) {
        return lab_fail(&l->job->crew, EPIQ_E_USAGE,
                        "normality looks at single networks; use --engine network or linear");
    }
    int s = lab_run(l, cells, 2);
    if (s) return s;
    ptrdiff_t m = fresh->o.batches;
    double *v = lab_block(l, reps * (2 + m), sizeof *v);
    if (!v) return EPIQ_OK; /* reported at the end */
    double *single = v + reps, *batched = single + reps;
    for (ptrdiff_t k = 0; k < reps; k++) {
        v[k] = lab_members(one, 0)[k];
        single[k] = lab_members(fresh, k)[0];
        for (ptrdiff_t b = 0; b < m; b++) { /* batches share no row and no start: independent of each other */
            batched[k * m + b] = lab_batches(fresh, k)[b];
        }
    }
    judge(l, one, "single_one_data_set", "Networks on one data set (W)", v, reps);
    judge(l, fresh, "single", "One network on each of many data sets", single, reps);
    judge(l, fresh, "batched", lab_text(l, "Networks on batches of %td rows", n / m), batched, reps * m);
    lab_note(l, "Anderson-Darling's A^2, adjusted for the size of the sample, with mean and variance unknown; a small "
                "p speaks against a normal distribution. With thousands of predictions even harmless departures show.");
    return EPIQ_OK;
}
