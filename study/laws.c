/* laws.c - the shape of the theory: how the parts scale with n and d, and whether an ensemble's variance is
 * sigma^2/n + tau^2/m', with the assumptions behind that measured beside it.
 */
#include "study/lab.h"

static const ptrdiff_t SIZES[] = {1, 2, 5, 10, 20}; /* m' */
enum { SIZE_COUNT = sizeof SIZES / sizeof *SIZES, MEMBERS = 20 };

/* ---- the law of m' ---- */

typedef struct {
    ptrdiff_t size, number; /* of a group of members */
} group;

static void group_mean(const lab_cell *c, ptrdiff_t rep, const void *how, double *v)
{
    const group *g = how;
    *v = lab_mean(lab_members(c, rep) + g->number * g->size, g->size);
}

/* Variance over data sets of the mean of m' members, averaged over the disjoint groups of m' there are. */
static double group_variance(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    ptrdiff_t m = *(const ptrdiff_t *)how, groups = c->o.members / m;
    double total = 0;
    for (ptrdiff_t g = 0; g < groups; g++) {
        lab_moments s = lab_over(c, leave_out, 1, group_mean, &(group){m, g});
        total += s.product[0][0] / (s.n - 1) / (double)groups;
    }
    return total;
}

/* sigma^2/n + tau^2/m', both parts from the same repetitions. */
static double law(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    double tau2 = lab_mean_over(c, leave_out, lab_within, NULL);
    double data = group_variance(c, leave_out, &c->o.members) - tau2 / (double)c->o.members;
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
        const study_number got = line.estimate = lab_jackknife(c, group_variance, &SIZES[k]);
        line.members = SIZES[k];
        line.truth = lab_jackknife(c, law, &SIZES[k]);
        line.ratio = lab_jackknife(c, law_ratio, &SIZES[k]);
        lab_add(l, line);
        x[k] = (double)SIZES[k];
        measured[k] = got.value;
        lo[k] = got.value - 2 * got.se;
        hi[k] = got.value + 2 * got.se;
        expected[k] = line.truth.value;
    }
    lab_note(l,
             "Both sides of the law of m' are of the same networks: they agree if members are trained independently of "
             "each other given the data, which is what is checked; at m' = %d they are one number.",
             MEMBERS);
    lab_figure(l, (study_figure){.title = "An ensemble's variance against its size",
                                 .x_name = "networks in the ensemble",
                                 .y_name = "variance over data sets",
                                 .caption = "Marks: measured, with two standard errors. Line: sigma^2/n + tau^2/m'.",
                                 .log_x = true,
                                 .log_y = true});
    lab_curve(l, (study_line){"sigma^2/n + tau^2/m'", false, SIZE_COUNT, x, expected, NULL, NULL});
    lab_curve(l, (study_line){"measured", true, SIZE_COUNT, x, measured, lo, hi});
}

static lab_cell ensemble_cell(const lab *l, ptrdiff_t reps)
{
    lab_cell c = lab_synthetic(l, 1, 200, 8, reps);
    c.o.methods = EPIQ_IF | EPIQ_EV;     /* IF for the kernel's prediction beside the networks' */
    c.o.members = c.o.batches = MEMBERS; /* so that truth is of all of them too; there is no BA here */
    c.stream = 2;
    return c;
}

static void add_measured(lab *l, const lab_cell *c, const char *quantity, study_number v)
{
    study_cell line = lab_line(c, quantity, "measured");
    line.estimate = v;
    lab_add(l, line);
}

/* ---- scaling ---- */

/* Slope of log v against log x, and its standard error from those of v. */
static study_number slope(ptrdiff_t count, const double *x, const study_number *v)
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
    return (study_number){sxy / sxx, sqrt(var) / sxx};
}

static void curves(lab *l, const lab_cell *cells, ptrdiff_t count, bool by_n)
{
    enum { MOST = 8 };
    double x[MOST], y[2][MOST], lo[2][MOST], hi[2][MOST];
    study_number v[2][MOST];
    for (ptrdiff_t k = 0; k < count; k++) {
        x[k] = (double)(by_n ? cells[k].n : cells[k].d);
        for (int part = 0; part < 2; part++) {
            study_number t = v[part][k] = lab_truth(&cells[k], part ? LAB_TAU2 : LAB_DATA);
            y[part][k] = t.value;
            lo[part][k] = fmax(t.value - 2 * t.se, 1e-3 * t.value);
            hi[part][k] = t.value + 2 * t.se;
            add_measured(l, &cells[k], part ? "procedural" : "data", t);
        }
    }
    lab_figure(l, (study_figure){.title = by_n ? "The parts against the number of rows"
                                               : "The parts against the number of features",
                                 .x_name = by_n ? "rows n" : "features d",
                                 .y_name = "variance",
                                 .caption = "Marks with two standard errors; both axes are logarithmic.",
                                 .log_x = true,
                                 .log_y = true});
    for (int part = 0; part < 2; part++) {
        study_cell line = lab_line(&cells[0], part ? "procedural_slope" : "data_slope", by_n ? "in_log_n" : "in_log_d");
        line.n = by_n ? 0 : line.n;
        line.d = by_n ? line.d : 0;
        line.truth.value = by_n ? (part ? 0 : -1) : NAN;
        line.estimate = slope(count, x, v[part]);
        lab_add(l, line);
        lab_curve(l, (study_line){part ? "procedural, tau^2" : "data, sigma^2/n", true, count, x, y[part], lo[part],
                                  hi[part]});
    }
}

int study_scaling(lab *l)
{
    static const ptrdiff_t N[] = {100, 200, 500, 1000, 2000}, D[] = {2, 4, 8, 16, 32};
    enum { MOST = 5, N0 = 200, D0 = 8 }; /* n and d where only the other varies */
    bool quick = l->job->size == STUDY_QUICK, networks = lab_engine(l) != EPIQ_ENGINE_INFINITE;
    ptrdiff_t rows = quick ? 3 : l->job->size == STUDY_FULL ? 5 : 4, features = quick ? 3 : 5, count = 0;
    ptrdiff_t reps = lab_engine(l) == EPIQ_ENGINE_NETWORK ? lab_reps(l, 10, 20, 50) : lab_reps(l, 100, 300, 1000);
    lab_cell cells[2 * MOST + 1], by_d[MOST];
    for (ptrdiff_t k = 0; k < rows + features; k++) {
        lab_cell c = lab_synthetic(l, 1, k < rows ? N[k] : N0, k < rows ? D0 : D[k - rows], reps);
        c.o.members = c.o.batches + 1;
        c.o.methods = EPIQ_IF | EPIQ_EV;
        if (k < rows || c.d != D0) { /* with D0 features it is there already: cells[1], as N[1] is N0 */
            cells[count++] = c;
        }
    }
    if (networks) cells[count++] = ensemble_cell(l, reps);
    int s = lab_run(l, cells, count);
    if (s) return s;
    for (ptrdiff_t k = 0, next = rows; k < features; k++) {
        by_d[k] = D[k] == D0 ? cells[1] : cells[next++];
    }
    curves(l, cells, rows, true);
    curves(l, by_d, features, false);
    if (networks) law_of_members(l, &cells[count - 1]);
    lab_note(l, "The theory says sigma^2/n falls like 1/n (slope -1) and tau^2 does not fall (slope 0). Slopes are "
                "least squares in logarithms; over so few rows the ridge lambda n and the leverage bend the lines.");
    return EPIQ_OK;
}

/* ---- decomposition ---- */

typedef enum { MODEL_ERROR, BIAS, BIAS_SPREAD, TAU2_SPREAD, COVARIANCE, MOMENTS } moment;

/* Of each data set: the kernel's prediction (the data part), the members' mean less that (procedural bias), and the
 * variance within the members. */
static void parts(const lab_cell *c, ptrdiff_t rep, const void *how, double *v)
{
    v[0] = lab_get(c, rep, S_KERNEL);
    v[1] = lab_mean(lab_members(c, rep), c->o.members) - v[0];
    v[2] = lab_within(c, rep, how);
}

static double moment_of(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    lab_moments s = lab_over(c, leave_out, 3, parts, NULL);
    double n = s.n, m = (double)c->o.members, tau2 = s.mean[2];
    switch (*(const moment *)how) {
    case MODEL_ERROR:
        return s.mean[0] - lab_true_at_x0(c);
    case BIAS:
        return s.mean[1];
    case BIAS_SPREAD: /* less what m members' mean varies by itself */
        return s.product[1][1] / (n - 1) - tau2 / m;
    case TAU2_SPREAD: /* relative, squared; less the sampling error 2 E tau^4/(m-1) of m normal predictions */
        return (s.product[2][2] / (n - 1) - 2 * tau2 * tau2 / (m - 1)) / (1 + 2 / (m - 1)) / (tau2 * tau2);
    default:
        return s.product[0][1] / (n - 1);
    }
}

int study_decomposition(lab *l)
{
    static const char *const QUANTITY[] = {"model_error", "procedural_bias", "procedural_bias_variance",
                                           "tau2_relative_variance", "covariance"};
    if (lab_engine(l) == EPIQ_ENGINE_INFINITE) {
        return lab_fail(&l->job->crew, EPIQ_E_USAGE,
                        "decomposition looks at ensembles; use --engine network or linear");
    }
    ptrdiff_t reps = lab_engine(l) == EPIQ_ENGINE_NETWORK ? lab_reps(l, 8, 30, 200) : lab_reps(l, 100, 300, 1000);
    lab_cell c = ensemble_cell(l, reps);
    int s = lab_run(l, &c, 1);
    if (s) return s;
    law_of_members(l, &c);
    for (int part = 0; part < 2; part++) {
        add_measured(l, &c, part ? "procedural" : "data", lab_truth(&c, part ? LAB_TAU2 : LAB_DATA));
    }
    for (moment k = MODEL_ERROR; k < MOMENTS; k++) {
        study_cell line = lab_line(&c, QUANTITY[k], "measured");
        line.members = MEMBERS;
        line.estimate = lab_jackknife(&c, moment_of, &k);
        lab_add(l, line);
    }
    lab_note(
        l,
        "model_error: the kernel's mean prediction less the true function at the test point; it is a constant and in "
        "no variance. procedural_bias: the trained networks' mean less the kernel's prediction on the same rows.");
    lab_note(l, "The theorem assumes a procedural bias that does not depend on the data: its variance over data sets "
                "(procedural_bias_variance), and its covariance with the data part, should be near 0 beside the two "
                "parts. EV takes tau^2 of one data set for its mean: tau2_relative_variance is what that costs.");
    return EPIQ_OK;
}
