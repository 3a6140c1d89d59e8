/* laws.c - the shape of the theory: how the parts scale with n and d, and whether an ensemble's variance is
 * sigma^2/n + tau^2/m', with the assumptions behind that measured beside it.
 */
#include "study/lab.h"

static const ptrdiff_t SIZES[] = {1, 2, 5, 10, 20}; /* m' */
enum { SIZE_COUNT = sizeof SIZES / sizeof *SIZES, MEMBERS = 20 };

/* ---- the law of m' ---- */

/* Variance over data sets of the mean of m' members, averaged over the disjoint groups of m' there are. */
static double group_variance(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    ptrdiff_t m = *(const ptrdiff_t *)how, groups = c->o.members / m;
    double total = 0;
    for (ptrdiff_t g = 0; g < groups; g++) {
        double mean = 0, sum = 0, n = 0;
        for (ptrdiff_t rep = 0; rep < c->reps; rep++) {
            if (rep != leave_out) {
                double v = lab_mean(lab_members(c, rep) + g * m, m), step = v - mean;
                mean += step / ++n;
                sum += step * (v - mean);
            }
        }
        total += sum / (n - 1) / (double)groups;
    }
    return total;
}

/* sigma^2/n + tau^2/m', both parts from the same repetitions. */
static double law(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    double within = 0, n = 0, all = (double)c->o.members;
    for (ptrdiff_t rep = 0; rep < c->reps; rep++) {
        if (rep != leave_out) {
            within += lab_variance(lab_members(c, rep), c->o.members);
            n++;
        }
    }
    double tau2 = within / n, data = group_variance(c, leave_out, &c->o.members) - tau2 / all;
    return data + tau2 / (double)*(const ptrdiff_t *)how;
}

static double law_ratio(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    return group_variance(c, leave_out, how) / law(c, leave_out, how);
}

static void law_of_members(lab *l, const lab_cell *c)
{
    double x[SIZE_COUNT], measured[SIZE_COUNT], lo[SIZE_COUNT], hi[SIZE_COUNT], expected[SIZE_COUNT];
    for (int k = 0; k < SIZE_COUNT; k++) {
        study_cell line = lab_line(c, "ensemble", "measured");
        lab_number got = lab_jackknife(c, group_variance, &SIZES[k]), want = lab_jackknife(c, law, &SIZES[k]);
        line.members = SIZES[k];
        line.truth = want.value;
        line.truth_se = want.se;
        line.estimate = got.value;
        line.estimate_se = got.se;
        line.ratio_se = lab_jackknife(c, law_ratio, &SIZES[k]).se;
        lab_add(l, line);
        x[k] = (double)SIZES[k];
        measured[k] = got.value;
        lo[k] = got.value - 2 * got.se;
        hi[k] = got.value + 2 * got.se;
        expected[k] = want.value;
    }
    lab_note(l,
             "Both sides of the law of m' are of the same networks: they agree if members are trained independently of "
             "each other given the data, which is what is checked; at m' = %d they are one number.",
             MEMBERS);
    study_figure *f =
        lab_figure(l, "An ensemble's variance against its size", "networks in the ensemble", "variance over data sets",
                   "Marks: measured, with two standard errors. Line: "
                   "sigma^2/n + tau^2/m'.");
    if (f) {
        f->log_x = f->log_y = true;
        lab_curve(l, (study_line){"sigma^2/n + tau^2/m'", false, SIZE_COUNT, x, expected, NULL, NULL});
        lab_curve(l, (study_line){"measured", true, SIZE_COUNT, x, measured, lo, hi});
    }
}

static lab_cell ensemble_cell(const lab *l, ptrdiff_t reps)
{
    lab_cell c = lab_synthetic(l, 1, 200, 8, reps);
    c.o.methods = EPIQ_IF | EPIQ_EV;     /* IF for the kernel's prediction beside the networks' */
    c.o.members = c.o.batches = MEMBERS; /* so that truth is of all of them too; there is no BA here */
    c.stream = 2;
    return c;
}

/* ---- scaling ---- */

/* Slope of log v against log x, and its standard error from those of v. */
static lab_number slope(ptrdiff_t count, const double *x, const lab_number *v)
{
    double mean_x = 0, sxx = 0, sxy = 0, var = 0;
    for (ptrdiff_t k = 0; k < count; k++) {
        mean_x += log(x[k]) / (double)count;
    }
    for (ptrdiff_t k = 0; k < count; k++) {
        double dx = log(x[k]) - mean_x;
        sxx += dx * dx;
        sxy += dx * log(v[k].value);
        var += dx * dx * (v[k].se / v[k].value) * (v[k].se / v[k].value);
    }
    return (lab_number){sxy / sxx, sqrt(var) / sxx};
}

static void curves(lab *l, const lab_cell *cells, ptrdiff_t count, bool by_n)
{
    enum { MOST = 8 };
    double x[MOST], y[2][MOST], lo[2][MOST], hi[2][MOST];
    lab_number v[2][MOST];
    for (ptrdiff_t k = 0; k < count; k++) {
        x[k] = (double)(by_n ? cells[k].n : cells[k].d);
        for (int part = 0; part < 2; part++) {
            lab_number t = v[part][k] = lab_truth(&cells[k], part ? LAB_TAU2 : LAB_DATA);
            y[part][k] = t.value;
            lo[part][k] = fmax(t.value - 2 * t.se, 1e-3 * t.value);
            hi[part][k] = t.value + 2 * t.se;
            study_cell line = lab_line(&cells[k], part ? "procedural" : "data", "measured");
            line.estimate = t.value;
            line.estimate_se = t.se;
            lab_add(l, line);
        }
    }
    study_figure *f = lab_figure(
        l, by_n ? "The parts against the number of rows" : "The parts against the number of features",
        by_n ? "rows n" : "features d", "variance", "Marks with two standard errors; both axes are logarithmic.");
    if (f) {
        f->log_x = f->log_y = true;
    }
    for (int part = 0; part < 2; part++) {
        lab_number b = slope(count, x, v[part]);
        study_cell line = lab_line(&cells[0], part ? "procedural_slope" : "data_slope", by_n ? "in_log_n" : "in_log_d");
        line.n = by_n ? 0 : line.n;
        line.d = by_n ? line.d : 0;
        line.truth = by_n ? (part ? 0 : -1) : NAN;
        line.estimate = b.value;
        line.estimate_se = b.se;
        lab_add(l, line);
        if (f) {
            lab_curve(l, (study_line){part ? "procedural, tau^2" : "data, sigma^2/n", true, count, x, y[part], lo[part],
                                      hi[part]});
        }
    }
}

int study_scaling(lab *l)
{
    static const ptrdiff_t N[] = {100, 200, 500, 1000, 2000}, D[] = {2, 4, 8, 16, 32};
    enum { MOST = 5, N0 = 200, D0 = 8 }; /* where the other one stands still */
    bool quick = l->job->size == STUDY_QUICK, networks = l->result->options.engine != EPIQ_ENGINE_INFINITE;
    ptrdiff_t rows = quick ? 3 : l->job->size == STUDY_FULL ? 5 : 4, features = quick ? 3 : 5, count = 0;
    ptrdiff_t reps =
        l->result->options.engine == EPIQ_ENGINE_NETWORK ? lab_reps(l, 10, 20, 50) : lab_reps(l, 100, 300, 1000);
    lab_cell cells[2 * MOST + 1], by_d[MOST];
    ptrdiff_t place[MOST]; /* of features k among the cells; the one with D0 features is there already */
    for (ptrdiff_t k = 0; k < rows + features; k++) {
        lab_cell c = lab_synthetic(l, 1, k < rows ? N[k] : N0, k < rows ? D0 : D[k - rows], reps);
        c.o.members = c.o.batches + 1;
        c.o.methods = EPIQ_IF | EPIQ_EV;
        if (k >= rows && c.d == D0) {
            place[k - rows] = 1; /* N[1] is N0 */
            continue;
        }
        if (k >= rows) {
            place[k - rows] = count;
        }
        cells[count++] = c;
    }
    if (networks) {
        cells[count++] = ensemble_cell(l, reps);
    }
    int s = lab_run(l, cells, count);
    if (s) {
        return s;
    }
    for (ptrdiff_t k = 0; k < features; k++) {
        by_d[k] = cells[place[k]];
    }
    curves(l, cells, rows, true);
    curves(l, by_d, features, false);
    if (networks) {
        law_of_members(l, &cells[count - 1]);
    }
    lab_note(l,
             "The theory says sigma^2/n falls like 1/n (slope -1) and tau^2 does not fall (slope 0). Slopes are least "
             "squares in logarithms; over so few rows the ridge lambda n and the leverage bend the lines.");
    return EPIQ_OK;
}

/* ---- decomposition ---- */

typedef enum { MODEL_ERROR, BIAS, BIAS_SPREAD, TAU2_SPREAD, COVARIANCE } moment;

/* Of each data set: the kernel's prediction (the data part), the members' mean less that (procedural bias), and the
 * variance within the members. */
static double moment_of(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    double n = 0, m = (double)c->o.members, a = 0, b = 0, t = 0, bb = 0, ab = 0, tt = 0;
    double x0[64];
    for (ptrdiff_t k = 0; k < c->d; k++) {
        x0[k] = LAB_X0;
    }
    for (ptrdiff_t rep = 0; rep < c->reps; rep++) {
        if (rep == leave_out) {
            continue;
        }
        double kernel = lab_get(c, rep, S_KERNEL), bias = lab_mean(lab_members(c, rep), c->o.members) - kernel;
        double within = lab_variance(lab_members(c, rep), c->o.members);
        double da = kernel - a, db = bias - b, dt = within - t;
        n++;
        a += da / n;
        b += db / n;
        t += dt / n;
        bb += db * (bias - b);
        tt += dt * (within - t);
        ab += da * (bias - b);
    }
    double own = bb / (n - 1) - t / m; /* less what m members' mean varies by itself */
    switch (*(const moment *)how) {
    case MODEL_ERROR:
        return a - lab_true_function(c->set, c->d, x0);
    case BIAS:
        return b;
    case BIAS_SPREAD:
        return own;
    case TAU2_SPREAD: /* relative, squared; less the sampling error 2 E tau^4/(m-1) of m normal predictions */
        return (tt / (n - 1) - 2 * t * t / (m - 1)) / (1 + 2 / (m - 1)) / (t * t);
    default:
        return ab / (n - 1);
    }
}

int study_decomposition(lab *l)
{
    static const struct {
        moment which;
        const char *quantity;
    } MOMENTS[] = {
        {MODEL_ERROR, "model_error"},
        {BIAS, "procedural_bias"},
        {BIAS_SPREAD, "procedural_bias_variance"},
        {TAU2_SPREAD, "tau2_relative_variance"},
        {COVARIANCE, "covariance"},
    };
    if (l->result->options.engine == EPIQ_ENGINE_INFINITE) {
        return lab_fail(l->job, EPIQ_E_USAGE, "decomposition looks at ensembles; use --engine network or linear");
    }
    ptrdiff_t reps =
        l->result->options.engine == EPIQ_ENGINE_NETWORK ? lab_reps(l, 8, 30, 200) : lab_reps(l, 100, 300, 1000);
    lab_cell c = ensemble_cell(l, reps);
    int s = lab_run(l, &c, 1);
    if (s) {
        return s;
    }
    law_of_members(l, &c);
    for (int part = 0; part < 2; part++) {
        study_cell line = lab_line(&c, part ? "procedural" : "data", "measured");
        lab_number t = lab_truth(&c, part ? LAB_TAU2 : LAB_DATA);
        line.estimate = t.value;
        line.estimate_se = t.se;
        lab_add(l, line);
    }
    for (size_t k = 0; k < sizeof MOMENTS / sizeof *MOMENTS; k++) {
        study_cell line = lab_line(&c, MOMENTS[k].quantity, "measured");
        lab_number v = lab_jackknife(&c, moment_of, &MOMENTS[k].which);
        line.members = MEMBERS;
        line.estimate = v.value;
        line.estimate_se = v.se;
        lab_add(l, line);
    }
    lab_note(l, "model_error: the kernel's mean prediction less the true function at the test point; it is a constant "
                "and in no variance. procedural_bias: the trained networks' mean less the kernel's prediction on the "
                "same rows.");
    lab_note(l,
             "The theorem assumes a procedural bias that does not depend on the data: its variance over data sets "
             "(procedural_bias_variance), and its covariance with the data part, should be near 0 beside "
             "the two parts. EV takes tau^2 of one data set for its mean: tau2_relative_variance is what that costs.");
    return EPIQ_OK;
}
