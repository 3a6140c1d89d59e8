/* statistics.c - numbers over repetitions: moments, jackknife, proportions, normality; and what is true in a cell. */
#include "study/lab.h"

#include <stdlib.h>

double lab_mean(const double *v, ptrdiff_t count)
{
    double sum = 0;
    for (ptrdiff_t k = 0; k < count; k++) {
        sum += v[k];
    }
    return sum / (double)count;
}

double lab_variance(const double *v, ptrdiff_t count)
{
    double mean = lab_mean(v, count), sum = 0;
    for (ptrdiff_t k = 0; k < count; k++) {
        sum += (v[k] - mean) * (v[k] - mean);
    }
    return sum / (double)(count - 1);
}

lab_number lab_jackknife(const lab_cell *c, lab_statistic *f, const void *how)
{
    ptrdiff_t count = c->reps;
    lab_number out = {f(c, -1, how), NAN};
    double mean = 0, sum = 0; /* in one pass (Welford), so that it needs no memory */
    for (ptrdiff_t k = 0; k < count; k++) {
        double v = f(c, k, how), step = v - mean;
        mean += step / (double)(k + 1);
        sum += step * (v - mean);
    }
    if (count > 2) {
        out.se = sqrt(sum * (double)(count - 1) / (double)count);
    }
    return out;
}

study_rate lab_wilson(ptrdiff_t hits, ptrdiff_t trials)
{
    const double z = 1.959963984540054; /* 97.5 % of a normal lies below */
    if (trials < 1) {
        return (study_rate){NAN, NAN, NAN};
    }
    double n = (double)trials, p = (double)hits / n, centre = (p + z * z / (2 * n)) / (1 + z * z / n);
    double half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    return (study_rate){p, fmax(0, centre - half), fmin(1, centre + half)};
}

static double normal_below(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

double lab_normal_quantile(double p)
{
    double lo = -40, hi = 40; /* bisection: called a few hundred times for a picture */
    for (int k = 0; k < 60; k++) {
        double middle = (lo + hi) / 2;
        *(normal_below(middle) < p ? &lo : &hi) = middle;
    }
    return (lo + hi) / 2;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void lab_sort(double *v, ptrdiff_t count)
{
    qsort(v, (size_t)count, sizeof *v, ascending);
}

/* p by Stephens' fits in D'Agostino and Stephens, Goodness-of-Fit Techniques (1986), table 4.9. */
double lab_anderson_darling(double *v, ptrdiff_t count, double *p_value)
{
    double n = (double)count, mean = lab_mean(v, count), sd = sqrt(lab_variance(v, count)), sum = 0;
    lab_sort(v, count);
    *p_value = NAN;
    if (!(sd > 0)) {
        return NAN;
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        double below = normal_below((v[i] - mean) / sd), above = normal_below(-(v[count - 1 - i] - mean) / sd);
        sum += (double)(2 * i + 1) * (log(fmax(below, 1e-300)) + log(fmax(above, 1e-300)));
    }
    double a = (-n - sum / n) * (1 + 0.75 / n + 2.25 / (n * n));
    *p_value = a < 0.2    ? 1 - exp(-13.436 + 101.14 * a - 223.73 * a * a)
               : a < 0.34 ? 1 - exp(-8.318 + 42.796 * a - 59.938 * a * a)
               : a < 0.6  ? exp(0.9177 - 4.279 * a - 1.38 * a * a)
                          : exp(1.2937 - 5.709 * a + 0.0186 * a * a);
    *p_value = fmin(fmax(*p_value, 0), 1);
    if (a > 150) { /* the fit turns round far out */
        *p_value = 0;
    }
    return a;
}

/* ---- what is true in a cell (docs/method.md section 9) ---- */

/* Over the repetitions but one: mean variance within the members, and the variances of the first m' members' mean (Vm)
 * and of the one network after them (V1). */
typedef struct {
    double within, vm, v1;
} spreads;

static void add_to(double v, double n, double *mean, double *sum)
{
    double step = v - *mean;
    *mean += step / n;
    *sum += step * (v - *mean);
}

/* m', or as many as there are */
static ptrdiff_t ensemble_of(const lab_cell *c)
{
    return c->o.batches < c->o.members ? c->o.batches : c->o.members;
}

static spreads spreads_of(const lab_cell *c, ptrdiff_t leave_out)
{
    spreads s = {0};
    double mean_m = 0, sum_m = 0, mean_1 = 0, sum_1 = 0, n = 0;
    ptrdiff_t m = ensemble_of(c);
    for (ptrdiff_t rep = 0; rep < c->reps; rep++) {
        if (rep == leave_out) {
            continue;
        }
        const double *h = lab_members(c, rep);
        n++;
        s.within += lab_variance(h, c->o.members);
        add_to(lab_mean(h, m), n, &mean_m, &sum_m);
        add_to(h[c->o.members > m ? m : 0], n, &mean_1, &sum_1);
    }
    return (spreads){s.within / n, sum_m / (n - 1), sum_1 / (n - 1)};
}

static double from_networks(const lab_cell *c, ptrdiff_t leave_out, lab_quantity which)
{
    spreads s = spreads_of(c, leave_out);
    double m = (double)ensemble_of(c);
    switch (which) {
    case LAB_TAU2:
        return s.within;
    case LAB_DATA:
        return s.vm - s.within / m;
    case LAB_ENSEMBLE:
        return s.vm;
    case LAB_PAPER_TAU2:
        return m / (m - 1) * (s.v1 - s.vm);
    default:
        return (m * s.vm - s.v1) / (m - 1);
    }
}

/* Without networks: the closed form's mean, and the variance of the kernel's prediction. */
static double from_closed_form(const lab_cell *c, ptrdiff_t leave_out, lab_quantity which)
{
    double tau2 = 0, mean = 0, sum = 0, n = 0;
    for (ptrdiff_t rep = 0; rep < c->reps; rep++) {
        if (rep != leave_out) {
            n++;
            tau2 += lab_get(c, rep, S_INFINITE);
            add_to(lab_get(c, rep, S_KERNEL), n, &mean, &sum);
        }
    }
    double data = sum / (n - 1);
    return which == LAB_TAU2 ? tau2 / n : which == LAB_DATA ? data : data + tau2 / n / (double)c->o.batches;
}

static double truth(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    lab_quantity which = *(const lab_quantity *)how;
    /* linearised networks of one hidden layer have the closed form's variance exactly, and the kernel's mean */
    bool exact = c->o.engine == EPIQ_ENGINE_INFINITE ||
                 (c->o.engine == EPIQ_ENGINE_LINEAR && c->o.linear_kernel == EPIQ_KERNEL_POPULATION && c->o.depth == 1);
    if (which >= LAB_PAPER_TAU2 && (c->o.engine == EPIQ_ENGINE_INFINITE || c->o.members <= c->o.batches)) {
        return NAN;
    }
    if (which < LAB_PAPER_TAU2 && lab_has_control(c)) {
        lab_controlled t = lab_from_control(c, leave_out);
        return which == LAB_TAU2 ? t.tau2 : which == LAB_DATA ? t.data : t.data + t.tau2 / (double)c->o.batches;
    }
    return exact && which < LAB_PAPER_TAU2 ? from_closed_form(c, leave_out, which) : from_networks(c, leave_out, which);
}

lab_number lab_truth(const lab_cell *c, lab_quantity which)
{
    return lab_jackknife(c, truth, &which);
}

static double truth_over(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    lab_place place = *(const lab_place *)how;
    lab_quantity which = LAB_DATA;
    double sum = 0;
    lab_cell view = *c;
    for (view.at = 0; view.at < lab_points(c); view.at++) {
        sum += place == PLACE_ALL || c->places[view.at] == place ? truth(&view, leave_out, &which) : 0;
    }
    return sum;
}

lab_number lab_truth_over(const lab_cell *c, lab_place place)
{
    return lab_jackknife(c, truth_over, &place);
}

static double slope(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    (void)how;
    return lab_from_control(c, leave_out).b;
}

lab_number lab_slope(const lab_cell *c)
{
    return lab_jackknife(c, slope, NULL);
}

static double field_mean(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    double sum = 0, n = 0;
    for (ptrdiff_t rep = 0; rep < c->reps; rep++) {
        if (rep != leave_out) {
            sum += lab_get(c, rep, *(const ptrdiff_t *)how);
            n++;
        }
    }
    return sum / n;
}

lab_number lab_field(const lab_cell *c, ptrdiff_t field)
{
    return lab_jackknife(c, field_mean, &field);
}

typedef struct {
    ptrdiff_t field;
    lab_quantity which;
} fraction;

static double field_over_truth(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    const fraction *f = how;
    return field_mean(c, leave_out, &f->field) / truth(c, leave_out, &f->which);
}

lab_number lab_ratio(const lab_cell *c, ptrdiff_t field, lab_quantity which)
{
    return lab_jackknife(c, field_over_truth, &(fraction){field, which});
}

study_rate lab_coverage(const lab_cell *c, ptrdiff_t field, ptrdiff_t df, double truth, double level)
{
    ptrdiff_t hits = 0, trials = 0;
    for (ptrdiff_t rep = 0; truth > 0 && rep < c->reps; rep++) { /* of an unknown truth nothing is known */
        epiq_part p = epiq_part_of(lab_get(c, rep, field), lab_get(c, rep, df), level, EPIQ_BY_NONE);
        trials += p.known;
        hits += p.has_interval && p.lo <= truth && (p.open || truth <= p.hi);
    }
    return lab_wilson(hits, trials);
}

void lab_line_truth(const lab_cell *c, lab_quantity which, study_cell *line)
{
    lab_number t = lab_truth(c, which);
    line->truth = t.value;
    line->truth_se = t.se;
    if (which != LAB_ENSEMBLE) { /* there both forms are one */
        lab_number p = lab_truth(c, which == LAB_TAU2 ? LAB_PAPER_TAU2 : LAB_PAPER_DATA);
        line->paper_truth = p.value;
        line->paper_truth_se = p.se;
    }
}

void lab_line_estimate(const lab_cell *c, ptrdiff_t field, ptrdiff_t df, lab_quantity which, study_cell *line)
{
    lab_number mean = lab_field(c, field);
    line->estimate = mean.value;
    line->estimate_se = mean.se;
    line->ratio_se = lab_ratio(c, field, which).se;
    line->coverage = lab_coverage(c, field, df, line->truth, 0.95);
    line->coverage90 = lab_coverage(c, field, df, line->truth, 0.9);
}

void lab_add_if(lab *l, const lab_cell *c, const lab_published *paper)
{
    for (int way = 0; way < EPIQ_CORRECTIONS; way++) {
        study_cell line = lab_line(c, "data", "if");
        line.correction = LAB_CORRECTIONS[way];
        lab_line_truth(c, LAB_DATA, &line);
        lab_line_estimate(c, S_IF + way, S_IF_DF + way, LAB_DATA, &line);
        line.published_truth = paper->data_truth;
        line.published = paper->data;
        if (!isnan(line.estimate)) { /* training stopped at a time has no corrections */
            lab_add(l, line);
        }
    }
}
