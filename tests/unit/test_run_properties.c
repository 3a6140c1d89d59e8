/* What must hold of any problem, tried on random ones (random_problems.h): symmetries of the question, parts that add up, ways of
 * asking that are the same, and forms of the answer. */
#include "epiq_combine.h"
#include "epiq_model.h"
#include "random_problems.h"

#include "est/assemble.h"
#include "est/variance.h"
#include "invariants.h"
#include "report/report.h"
#include "run/run.h"

/* ---- two answers side by side ---- */

typedef struct {
    int status;
    epiq_point at[POINTS]; /* of its pointers nothing is used */
    struct epiq_corrected corrected[POINTS];
} answer;

static void take_points(answer *a, const epiq_result *from)
{
    for (int k = 0; k < POINTS; k++) {
        a->at[k] = *from->points[k];
        a->corrected[k] = *from->points[k]->corrected;
    }
}

static answer answer_of(const problem *p, const double *x, const double *y, const double *at_x, const epiq_options *o)
{
    answer a = {.status = ask_with(p, x, y, at_x, o)};
    if (a.status >= 0) take_points(&a, r);
    return a;
}

static const char *says(const char *what, ptrdiff_t point, double got, double want)
{
    snprintf(property_sentence, sizeof property_sentence, "%s at point %td is %.17g, wanted %.17g, off by %.3g", what,
             point + 1, got, want, got - want);
    return property_sentence;
}

static bool near(double got, double want, double size, double tolerance)
{
    return fabs(got - want) <= tolerance * fmax(fmax(fabs(got), fabs(want)), size);
}

/* Rounding: the condition number of A, at most 1e7 here, times eps, and a few sums; variances below 1e-12 of the prediction's
 * square are differences that have cancelled. tau^2 is a difference of numbers 1e7 times as large, and more at rows. */
static const double TOLERANCE = 1e-7, LOSS = 1e3;

/* Variances of a are times^2 those of b, the procedural ones times_procedural; predictions those of b times and plus. */
static const char *compare(const answer *a, const answer *b, double times, double plus, double times_procedural,
                           double tolerance)
{
    enum { PROCEDURAL = 4 };
    if (a->status != b->status) return says("the status", -1, a->status, b->status);
    for (ptrdiff_t p = 0; a->status >= 0 && p < POINTS; p++) {
        const epiq_point *one = &a->at[p], *two = &b->at[p];
        const epiq_part *first = a->corrected[p].by, *second = b->corrected[p].by;
        double want = two->prediction * times + plus, size = fabs(want) + fabs(plus) + fabs(times);
        double small = 1e-5 * size * size;
        if (!near(one->prediction, want, size, tolerance)) return says("the prediction", p, one->prediction, want);
        const struct {
            const char *name;
            epiq_part one, two;
            double times;
        } parts[] = {{"data", one->data, two->data, times * times},
                     {"as printed", first[EPIQ_CORRECTION_NONE], second[EPIQ_CORRECTION_NONE], times * times},
                     {"unbiased", first[EPIQ_CORRECTION_UNBIASED], second[EPIQ_CORRECTION_UNBIASED], times * times},
                     {"jackknife", first[EPIQ_CORRECTION_JACKKNIFE], second[EPIQ_CORRECTION_JACKKNIFE], times * times},
                     {"procedural", one->procedural, two->procedural, times_procedural}};
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            double wanted = parts[k].two.variance * parts[k].times, loss = k == PROCEDURAL ? LOSS : 1;
            bool known = parts[k].one.known == parts[k].two.known;
            if (!known || !near(parts[k].one.variance, wanted, small, loss * tolerance)) {
                return says(parts[k].name, p, parts[k].one.variance, wanted);
            }
        }
    }
    return NULL;
}

/* ---- symmetries ---- */

static const char *rows_in_any_order(const problem *p)
{
    static double x[MOST_ROWS * MOST_FEATURES], y[MOST_ROWS];
    for (ptrdiff_t i = 0; i < p->n; i++) { /* backwards */
        memcpy(x + i * p->d, draw_x + (p->n - 1 - i) * p->d, (size_t)p->d * sizeof *x);
        y[i] = draw_y[p->n - 1 - i];
    }
    answer a = answer_of(p, x, y, NULL, &p->o), b = answer_of(p, NULL, NULL, NULL, &p->o);
    return compare(&a, &b, 1, 0, 1, TOLERANCE);
}
PROPERTY(the_order_of_rows_moves_rounding_only, rows_in_any_order, KERNEL, 60)

static const char *features_in_any_order(const problem *p)
{
    static double x[MOST_ROWS * MOST_FEATURES], at_x[POINTS * MOST_FEATURES];
    for (ptrdiff_t i = 0; i < p->n; i++) {
        for (ptrdiff_t f = 0; f < p->d; f++) {
            x[i * p->d + f] = draw_x[i * p->d + p->d - 1 - f];
        }
    }
    for (ptrdiff_t i = 0; i < POINTS; i++) {
        for (ptrdiff_t f = 0; f < p->d; f++) {
            at_x[i * p->d + f] = draw_at[i * p->d + p->d - 1 - f];
        }
    }
    answer a = answer_of(p, x, NULL, at_x, &p->o), b = answer_of(p, NULL, NULL, NULL, &p->o);
    return compare(&a, &b, 1, 0, 1, TOLERANCE);
}
PROPERTY(the_order_of_features_moves_rounding_only, features_in_any_order, KERNEL, 60)

/* By a power of two every number is multiplied exactly; where the target is not scaled tau^2 knows nothing of it. */
static const char *target_in_other_units(const problem *p)
{
    static double y[MOST_ROWS];
    const double times = p->o.scale == EPIQ_SCALE_MINMAX ? 4 : -4;
    for (ptrdiff_t i = 0; i < p->n; i++) {
        y[i] = times * draw_y[i];
    }
    answer a = answer_of(p, NULL, y, NULL, &p->o), b = answer_of(p, NULL, NULL, NULL, &p->o);
    return compare(&a, &b, times, 0, p->o.scale == EPIQ_SCALE_NONE ? 1 : 16, 0);
}
PROPERTY(scaling_the_target_scales_variances_by_the_square, target_in_other_units, KERNEL, 60)

static const char *target_shifted(const problem *p)
{
    static double y[MOST_ROWS];
    if (p->o.scale == EPIQ_SCALE_NONE) {
        return NULL; /* there the penalty pulls towards 0 */
    }
    for (ptrdiff_t i = 0; i < p->n; i++) {
        y[i] = draw_y[i] + 100;
    }
    answer a = answer_of(p, NULL, y, NULL, &p->o), b = answer_of(p, NULL, NULL, NULL, &p->o);
    return compare(&a, &b, 1, 100, 1, 1e-6); /* 100 costs two digits more */
}
PROPERTY(shifting_the_target_shifts_predictions_only, target_shifted, KERNEL, 60)

/* The whole table twice, lambda held: alpha and c halve, r stays. So does what they predict and tau^2, V as printed halves, and
 * with the copies of a row as one group it is what it was. */
static const char *table_twice(const problem *p)
{
    static double x[2 * MOST_ROWS * MOST_FEATURES], y[2 * MOST_ROWS];
    static int64_t group[2 * MOST_ROWS];
    epiq_options o = p->o;
    o.correction = EPIQ_CORRECTION_NONE;
    answer b = answer_of(p, NULL, NULL, NULL, &o), a = {0};
    for (int copy = 0; copy < 2; copy++) {
        memcpy(x + copy * p->n * p->d, draw_x, (size_t)(p->n * p->d) * sizeof *x);
        memcpy(y + copy * p->n, draw_y, (size_t)p->n * sizeof *y);
        for (ptrdiff_t i = 0; i < p->n; i++) {
            group[copy * p->n + i] = i;
        }
    }
    for (int grouped = 0; grouped < 2; grouped++) {
        a.status = run(2 * p->n, p->d, x, y, grouped ? group : NULL, POINTS, draw_at, &o);
        if (a.status < 0) return epiq_message(c);
        take_points(&a, r);
        for (int k = 0; k < POINTS; k++) {
            a.at[k].data.variance *= grouped ? 1 : 2;
            a.corrected[k] = b.corrected[k]; /* leverages do change */
        }
        const char *wrong = compare(&a, &b, 1, 0, 1, TOLERANCE);
        if (wrong) return wrong;
    }
    return NULL;
}
PROPERTY(the_whole_table_twice_halves_the_data_variance, table_twice, KERNEL, 40)

/* ---- parts ---- */

static const char *any_answer_is_sound(const problem *p)
{
    int s = ask_with(p, NULL, NULL, NULL, &p->o);
    bool few = s == EPIQ_E_DATA && p->n < 2 * p->o.batches, unconverged = s == EPIQ_E_NUMERIC &&
                                                                          p->o.engine == EPIQ_ENGINE_NETWORK &&
                                                                          strstr(epiq_message(c), "converged");
    return s >= 0 ? sound(r, &p->o) : few || unconverged ? NULL : epiq_message(c);
}
PROPERTY(every_answer_is_sound, any_answer_is_sound, ANY_ENGINE, 60)

static const char *parts_add_up(const problem *p)
{
    if (ask_with(p, NULL, NULL, NULL, &p->o) < 0) {
        return NULL; /* every_answer_is_sound tells why */
    }
    for (ptrdiff_t k = 0; k < POINTS; k++) {
        const epiq_point *q = r->points[k];
        double sum = q->data.variance + q->procedural.variance,
               shared = q->data.variance + q->procedural.variance / (double)r->ran->ensemble_size;
        if (!q->data.known || !q->procedural.known) continue;
        if (!near(q->single.variance, sum, 0, 1e-14)) return says("single", k, q->single.variance, sum);
        bool by_ba = q->ensemble.method == EPIQ_BY_BA;
        if (!by_ba && !near(q->ensemble.variance, shared, 0, 1e-14)) {
            return says("ensemble", k, q->ensemble.variance, shared);
        }
        if (!by_ba && !(q->data.variance <= q->ensemble.variance && q->ensemble.variance <= q->single.variance)) {
            return says("an ensemble's variance", k, q->ensemble.variance, q->single.variance);
        }
        double own =
            q->member_count ? q->data.variance + q->procedural.variance / (double)q->member_count : q->data.variance;
        bool by_batches = !q->member_count && q->batch_count && !q->kernel_prediction.known;
        if (!by_batches && !near(q->prediction_variance.variance, own, 0, 1e-14)) {
            return says("the prediction's variance", k, q->prediction_variance.variance, own);
        }
    }
    return NULL;
}
PROPERTY(the_parts_add_up, parts_add_up, ANY_ENGINE, 60)

static const char *more_networks_are_better(const problem *p)
{
    epiq_options o = p->o;
    double last = HUGE_VAL;
    for (o.ensemble_size = 1; o.ensemble_size <= 64; o.ensemble_size *= 8) {
        if (ask_with(p, NULL, NULL, NULL, &o) < 0) return epiq_message(c);
        double now = r->points[1]->ensemble.variance;
        if (!(now <= last)) return says("the variance of a larger ensemble", 1, now, last);
        last = now;
    }
    return NULL;
}
PROPERTY(a_larger_ensemble_varies_less, more_networks_are_better, KERNEL, 20)

/* ---- the same question asked otherwise ---- */

static const char *same_bits(const answer *a, const answer *b)
{
    return compare(a, b, 1, 0, 1, 0);
}

static const char *any_number_of_threads(const problem *p)
{
    answer first = answer_of(p, NULL, NULL, NULL, &p->o);
    for (int threads = 2; threads <= 3; threads++) {
        epiq_options o = p->o;
        o.threads = threads;
        answer a = answer_of(p, NULL, NULL, NULL, &o);
        const char *wrong = same_bits(&a, &first);
        if (wrong) return wrong;
    }
    return NULL;
}
PROPERTY(threads_change_no_bit, any_number_of_threads, ANY_ENGINE, 20)

/* Conjugate gradients to 1e-11 are right to that times the condition number, 1e6 here. */
static const char *any_solver(const problem *p)
{
    epiq_options o = p->o;
    o.correction = EPIQ_CORRECTION_NONE;
    o.influential = 0;
    answer exact = answer_of(p, NULL, NULL, NULL, &o);
    o.solver = EPIQ_SOLVER_DIVIDED;
    o.parts = 1;
    answer divided = answer_of(p, NULL, NULL, NULL, &o);
    const char *wrong = same_bits(&divided, &exact);
    if (wrong) return wrong;
    o.solver = EPIQ_SOLVER_ITERATIVE;
    o.rank = p->n / 3;
    o.tolerance = 1e-11;
    answer iterative = answer_of(p, NULL, NULL, NULL, &o);
    for (int k = 0; k < POINTS; k++) { /* those it does not have */
        for (int how = 0; how < EPIQ_CORRECTION_NONE; how++) {
            iterative.corrected[k].by[how] = exact.corrected[k].by[how];
        }
    }
    return compare(&iterative, &exact, 1, 0, 1, 1e-5);
}
PROPERTY(solvers_agree, any_solver, MANY_ROWS, 12)

static const char *fit_then_predict(const problem *p)
{
    epiq_options o = p->o;
    o.kernel = EPIQ_KERNEL_POPULATION; /* a model refuses the other */
    answer a = answer_of(p, NULL, NULL, NULL, &o), b = a;
    epiq_model *m = NULL;
    if (a.status < 0 || epiq_fit(c, data, &o, &m) < 0) return a.status < 0 ? NULL : epiq_message(c);
    double h[POINTS], procedural[POINTS], by_data[POINTS], ensemble[POINTS], lo[POINTS], hi[POINTS], noise[POINTS];
    unsigned char known[POINTS];
    epiq_predictions out = {sizeof(epiq_predictions),
                            h,
                            procedural,
                            by_data,
                            ensemble,
                            known,
                            .threads = 1,
                            .exact = 1,
                            .lo = lo,
                            .hi = hi,
                            .noise = noise,
                            .level = o.level};
    int s = epiq_model_predict(c, m, POINTS, draw_at, &out);
    epiq_model_free(c, m);
    if (s < 0) return epiq_message(c);
    for (ptrdiff_t k = 0; k < POINTS; k++) {
        b.at[k].prediction = h[k];
        b.at[k].procedural.known = (known[k] & EPIQ_PROCEDURAL) != 0;
        b.at[k].procedural.variance = procedural[k];
        b.at[k].data.known = (known[k] & EPIQ_DATA) != 0;
        b.at[k].data.variance = by_data[k];
        b.at[k].predictive = (epiq_predictive){(known[k] & EPIQ_INTERVAL) != 0, lo[k], hi[k], noise[k] * noise[k]};
        if ((known[k] & EPIQ_ENSEMBLE) != 0 && !near(ensemble[k], a.at[k].ensemble.variance, 1e-12, TOLERANCE)) {
            return says("ensemble", k, ensemble[k], a.at[k].ensemble.variance);
        }
    }
    return compare(&b, &a, 1, 0, 1, TOLERANCE);
}
PROPERTY(fit_and_predict_is_estimate, fit_then_predict, ANY_ENGINE, 30)

/* Our own kernel, at rows, and our own networks, given to epiq_combine. */
static const char *combined_elsewhere(const problem *p)
{
    static double K[MOST_ROWS * MOST_ROWS], cross[MOST_ROWS * POINTS], h[16 * POINTS];
    epiq_options o = p->o;
    o.scale = EPIQ_SCALE_NONE;
    o.engine = EPIQ_ENGINE_LINEAR;
    o.methods = EPIQ_IF | EPIQ_EV;
    o.ensemble_size = 7;
    answer a = answer_of(p, NULL, NULL, draw_x, &o), b = a; /* the first rows are the points */
    if (a.status < 0 || epiq_kernel(c, data, &o, K, NULL) < 0) return epiq_message(c);
    for (ptrdiff_t k = 0; k < POINTS; k++) {
        for (ptrdiff_t i = 0; i < p->n; i++) {
            cross[i * POINTS + k] = K[i * p->n + k];
        }
        for (ptrdiff_t m = 0; m < o.members; m++) {
            h[m * POINTS + k] = r->points[k]->members[m];
        }
    }
    epiq_matrix gram = {sizeof(epiq_matrix), "gram", p->n, p->n, EPIQ_FLOAT64, K, NULL},
                at_rows = {sizeof(epiq_matrix), "cross", p->n, POINTS, EPIQ_FLOAT64, cross, NULL},
                y = {sizeof(epiq_matrix), "y", p->n, 1, EPIQ_FLOAT64, draw_y, NULL},
                networks = {sizeof(epiq_matrix), "h", o.members, POINTS, EPIQ_FLOAT64, h, NULL};
    epiq_result *given = NULL;
    int s = epiq_combine(
        c, &(epiq_given){.size = sizeof(epiq_given), .ensemble = &networks, .gram = &gram, .cross = &at_rows, .y = &y},
        &o, &given);
    if (s < 0) return epiq_message(c);
    take_points(&b, given);
    epiq_result_free(c, given);
    return compare(&b, &a, 1, 0, 1, TOLERANCE);
}
PROPERTY(combine_on_our_own_kernel_is_estimate, combined_elsewhere, KERNEL, 30)

/* ---- forms of the answer ---- */

/* Past one value of JSON, which is also looked into for `wanted` names that have not been seen; NULL: it is none. */
static const char *json_value(const char *s, const char *const *wanted, bool *seen)
{
    s += strspn(s, " \n");
    if (*s == '"') {
        for (s++; *s && *s != '"'; s++) {
            s += *s == '\\' && s[1];
        }
        return *s ? s + 1 : NULL;
    }
    if (*s == '{' || *s == '[') {
        bool object = *s == '{';
        s++;
        for (bool first = true;; first = false) {
            s += strspn(s, " \n");
            if (*s == (object ? '}' : ']')) return s + 1;
            if (!first && *s++ != ',') return NULL;
            if (object) {
                s += strspn(s, " \n");
                const char *name = s + 1, *end = json_value(s, wanted, seen);
                for (int k = 0; *s == '"' && end && wanted[k]; k++) {
                    seen[k] |=
                        strlen(wanted[k]) == (size_t)(end - name - 1) && !strncmp(wanted[k], name, strlen(wanted[k]));
                }
                if (!end || *s != '"' || *(end += strspn(end, " \n")) != ':') return NULL;
                s = end + 1;
            }
            if (!(s = json_value(s, wanted, seen))) return NULL;
        }
    }
    static const char *const WORDS[] = {"null", "true", "false"};
    for (int k = 0; k < 3; k++) {
        if (!strncmp(s, WORDS[k], strlen(WORDS[k]))) return s + strlen(WORDS[k]);
    }
    char *end;
    double v = strtod(s, &end);
    return end > s && (isdigit((unsigned char)*s) || *s == '-') && isfinite(v) ? end : NULL;
}

static const char *json_is_whole(const problem *p)
{
    /* every field that docs/json.md has for any estimate */
    static const char *const FIELDS[] = {"epiq",
                                         "version",
                                         "run",
                                         "command",
                                         "seed",
                                         "threads",
                                         "ranks",
                                         "backend",
                                         "solver",
                                         "foreseen",
                                         "bytes",
                                         "seconds",
                                         "peak_rss_bytes",
                                         "data_sha256",
                                         "options",
                                         "data",
                                         "rows",
                                         "features",
                                         "target",
                                         "scale",
                                         "target_scale",
                                         "shift",
                                         "factor",
                                         "model",
                                         "engine",
                                         "kernel",
                                         "width",
                                         "depth",
                                         "bias",
                                         "bias_sd",
                                         "lambda",
                                         "optimizer",
                                         "fit",
                                         "training",
                                         "points",
                                         "at",
                                         "prediction",
                                         "prediction_variance",
                                         "full_variance",
                                         "procedural",
                                         "ensemble",
                                         "single",
                                         "predictive",
                                         "check",
                                         "infinite",
                                         "influential",
                                         "timing",
                                         "read",
                                         "factor",
                                         "if",
                                         "ev",
                                         "ba",
                                         "advice",
                                         "action",
                                         "members",
                                         "text",
                                         "warnings",
                                         NULL};
    if (ask_with(p, NULL, NULL, NULL, &p->o) < 0) return NULL;
    report_run how = {.command = "epiq", .options = &p->o, .data = epiq_data_describe(data)};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ESTIMATE_WRITERS.json(out, &(report_answer){.result = r}, &how);
    fclose(out);
    bool seen[sizeof FIELDS / sizeof *FIELDS] = {0};
    const char *end = json_value(text, FIELDS, seen), *wrong = end && strcmp(end, "\n") == 0 ? NULL : "not JSON";
    for (int k = 0; !wrong && FIELDS[k]; k++) {
        if (!seen[k]) {
            snprintf(property_sentence, sizeof property_sentence, "the JSON has no field %s", FIELDS[k]);
            wrong = property_sentence;
        }
    }
    free(text);
    return wrong;
}
PROPERTY(the_json_parses_and_has_its_fields, json_is_whole, ANY_ENGINE, 30)

/* ---- the layer itself ---- */

static const char *holds_below_ten_rows(const problem *p)
{
    return p->n >= 10 && p->d >= 2 && p->o.depth > 1 ? "so many rows" : NULL;
}

TEST(what_does_not_hold_is_made_as_small_as_it_can_be)
{
    problem p = draw_problem(1, KERNEL);
    p.n = 33;
    p.d = 5;
    p.o.depth = 3;
    p.o.lambda = 0.5;
    problem least = shrink(holds_below_ten_rows, p);
    EQ(least.n, 10);
    EQ(least.d, 2);
    EQ(least.o.depth, 3);       /* its default, 1, holds */
    NEAR(least.o.lambda, 0, 0); /* to be chosen, which is the default */
}
