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

void lab_take(lab_moments *m, int series, const double *v)
{
    double off[LAB_SERIES];
    m->n++;
    for (int i = 0; i < series; i++) {
        off[i] = v[i] - m->mean[i];
        m->mean[i] += off[i] / m->n;
        for (int k = 0; k <= i; k++) {
            m->product[k][i] += off[k] * (v[i] - m->mean[i]);
        }
    }
}

lab_moments lab_over(const lab_cell *c, ptrdiff_t leave_out, int series, lab_values *values, const void *how)
{
    lab_moments m = {0};
    double v[LAB_SERIES];
    for (ptrdiff_t rep = 0; rep < c->reps; rep++) {
        if (rep != leave_out) {
            values(c, rep, how, v);
            lab_take(&m, series, v);
        }
    }
    return m;
}

double lab_mean_over(const lab_cell *c, ptrdiff_t leave_out, lab_value *value, const void *how)
{
    double sum = 0, n = 0;
    for (ptrdiff_t rep = 0; rep < c->reps; rep++) {
        if (rep != leave_out) {
            sum += value(c, rep, how);
            n++;
        }
    }
    return sum / n;
}

double lab_within(const lab_cell *c, ptrdiff_t rep, const void *how)
{
    (void)how;
    return lab_variance(lab_members(c, rep), c->o.members);
}

study_number lab_jackknife(const lab_cell *c, lab_statistic *f, const void *how)
{
    lab_moments m = {0};
    for (ptrdiff_t k = 0; k < c->reps; k++) {
        lab_take(&m, 1, (const double[]){f(c, k, how)});
    }
    return (study_number){f(c, -1, how), m.n > 2 ? sqrt(m.product[0][0] * (m.n - 1) / m.n) : NAN};
}

study_rate lab_wilson(ptrdiff_t hits, ptrdiff_t trials)
{
    const double z = 1.959963984540054; /* the 97.5 % quantile of a normal */
    if (trials < 1) return (study_rate){NAN, NAN, NAN};
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
    if (!(sd > 0)) return NAN;
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

/* m', or as many as there are */
static ptrdiff_t ensemble_of(const lab_cell *c)
{
    return c->o.batches < c->o.members ? c->o.batches : c->o.members;
}

/* The mean of the first m' members, and the one network after them. */
static void ensemble_and_one(const lab_cell *c, ptrdiff_t rep, const void *how, double *v)
{
    (void)how;
    ptrdiff_t m = ensemble_of(c);
    v[0] = lab_mean(lab_members(c, rep), m);
    v[1] = lab_members(c, rep)[c->o.members > m ? m : 0];
}

static double from_networks(const lab_cell *c, ptrdiff_t leave_out, lab_quantity which)
{
    double within = which <= LAB_DATA ? lab_mean_over(c, leave_out, lab_within, NULL) : NAN;
    if (which == LAB_TAU2) return within;
    lab_moments s = lab_over(c, leave_out, which < LAB_PAPER_TAU2 ? 1 : 2, ensemble_and_one, NULL);
    double m = (double)ensemble_of(c), vm = s.product[0][0] / (s.n - 1), v1 = s.product[1][1] / (s.n - 1);
    switch (which) {
    case LAB_DATA:
        return vm - within / m;
    case LAB_ENSEMBLE:
        return vm;
    case LAB_PAPER_TAU2:
        return m / (m - 1) * (v1 - vm);
    default:
        return (m * vm - v1) / (m - 1);
    }
}

static double field(const lab_cell *c, ptrdiff_t rep, const void *how)
{
    return lab_get(c, rep, *(const ptrdiff_t *)how);
}

double lab_field_mean(const lab_cell *c, ptrdiff_t leave_out, ptrdiff_t which)
{
    return lab_mean_over(c, leave_out, field, &which);
}

static void kernel_prediction(const lab_cell *c, ptrdiff_t rep, const void *how, double *v)
{
    (void)how;
    *v = lab_get(c, rep, S_KERNEL);
}

/* Without networks: the closed form's mean, and the variance of the kernel's prediction. */
static double from_closed_form(const lab_cell *c, ptrdiff_t leave_out, lab_quantity which)
{
    double tau2 = which == LAB_DATA ? NAN : lab_field_mean(c, leave_out, S_INFINITE);
    if (which == LAB_TAU2) return tau2;
    lab_moments m = lab_over(c, leave_out, 1, kernel_prediction, NULL);
    double data = m.product[0][0] / (m.n - 1);
    return which == LAB_DATA ? data : data + tau2 / (double)c->o.batches;
}

static double truth(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    lab_quantity which = *(const lab_quantity *)how;
    /* linearised networks of one hidden layer have the closed form's variance exactly, and the kernel's mean */
    bool exact = c->o.engine == EPIQ_ENGINE_INFINITE ||
                 (c->o.engine == EPIQ_ENGINE_LINEAR && c->o.linear_kernel == EPIQ_KERNEL_POPULATION && c->o.depth == 1);
    if (which >= LAB_PAPER_TAU2 && (c->o.engine == EPIQ_ENGINE_INFINITE || c->o.members <= c->o.batches)) return NAN;
    if (which < LAB_PAPER_TAU2 && lab_has_control(c)) {
        lab_controlled t = lab_from_control(c, leave_out);
        return which == LAB_TAU2 ? t.tau2 : which == LAB_DATA ? t.data : t.data + t.tau2 / (double)c->o.batches;
    }
    return exact && which < LAB_PAPER_TAU2 ? from_closed_form(c, leave_out, which) : from_networks(c, leave_out, which);
}

study_number lab_truth(const lab_cell *c, lab_quantity which)
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

study_number lab_truth_over(const lab_cell *c, lab_place place)
{
    return lab_jackknife(c, truth_over, &place);
}

static double field_mean(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    return lab_field_mean(c, leave_out, *(const ptrdiff_t *)how);
}

study_number lab_field(const lab_cell *c, ptrdiff_t field)
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

study_number lab_ratio(const lab_cell *c, ptrdiff_t field, lab_quantity which)
{
    return lab_jackknife(c, field_over_truth, &(fraction){field, which});
}

/* EV claims the variance of retraining on its own rows: linearised networks know that of each data set exactly. */
study_rate lab_coverage(const lab_cell *c, ptrdiff_t field, ptrdiff_t df, double truth, double level)
{
    ptrdiff_t hits = 0, trials = 0;
    bool own = field == S_EV && c->o.engine == EPIQ_ENGINE_LINEAR && c->o.linear_kernel == EPIQ_KERNEL_POPULATION;
    for (ptrdiff_t rep = 0; rep < c->reps; rep++) {
        double target = own ? lab_get(c, rep, S_INFINITE) : truth;
        epiq_part p = epiq_part_of(lab_get(c, rep, field), lab_get(c, rep, df), level, EPIQ_BY_NONE);
        trials += target > 0 && p.known; /* of an unknown truth nothing is known */
        hits += target > 0 && p.has_interval && p.lo <= target && (p.open || target <= p.hi);
    }
    return lab_wilson(hits, trials);
}

void lab_line_one(epiq_part p, study_cell *line)
{
    line->estimate.value = p.known ? p.variance : NAN;
    line->lo = p.has_interval ? p.lo : NAN;
    line->hi = p.has_interval && !p.open ? p.hi : NAN;
}

void lab_line_truth(const lab_cell *c, lab_quantity which, study_cell *line)
{
    line->truth = lab_truth(c, which);
    if (which != LAB_ENSEMBLE) { /* there both forms are one */
        line->paper_truth = lab_truth(c, which == LAB_TAU2 ? LAB_PAPER_TAU2 : LAB_PAPER_DATA);
    }
}

void lab_line_apart(study_number estimate, study_number truth, study_cell *line)
{
    line->truth = truth;
    line->estimate = estimate;
    line->ratio.se = estimate.value / truth.value * hypot(estimate.se / estimate.value, truth.se / truth.value);
}

study_cell lab_judged(const lab_cell *c, const char *quantity, const char *method, ptrdiff_t field, lab_quantity which)
{
    ptrdiff_t df = field == S_EV ? S_EV_DF : field == S_BA ? S_BA_DF : S_IF_DF + (field - S_IF);
    study_cell line = lab_line(c, quantity, method);
    lab_line_truth(c, which, &line);
    line.estimate = lab_field(c, field);
    line.ratio = lab_ratio(c, field, which);
    line.coverage = lab_coverage(c, field, df, line.truth.value, 0.95);
    line.coverage90 = lab_coverage(c, field, df, line.truth.value, 0.9);
    return line;
}

void lab_add_if(lab *l, const lab_cell *c, const lab_published *paper)
{
    for (int way = 0; way < EPIQ_CORRECTIONS; way++) {
        study_cell line = lab_judged(c, "data", "if", S_IF + way, LAB_DATA);
        line.correction = LAB_CORRECTIONS[way];
        line.published_truth.value = paper->data_truth;
        line.published.value = paper->data;
        if (!isnan(line.estimate.value)) { /* training stopped at a time has no corrections */
            lab_add(l, line);
        }
    }
}
