/* trained.c - the data part of really trained networks, wherever and however they are asked: every way to estimate it
 * against the truth by control variate (control.c), cell by cell and by the kind of point. Each cell is run twice over
 * the same data sets: few networks on many of them for the truth, and the whole estimate on some.
 */
#include "study/lab.h"

#include <string.h>

typedef struct {
    const char
        *name; /* set, rows and features (200 and 5 of smooth, 200 of a table unless given), then what is not usual */
    int set;
    const lab_table *table; /* of real features */
    ptrdiff_t n, d;
    bool quick; /* run with --quick too */
    lab_noise noise;
    ptrdiff_t width, depth; /* 0: as the options say; so too lambda */
    double lambda;
    bool no_bias_sd, standard;
    ptrdiff_t members; /* for the truth of each data set, more where they differ much; 0: MEMBERS */
} plan;

#define SET(number, rows, features) .set = number, .n = rows, .d = features
#define TABLE(which, rows) .table = &LAB_TABLES[which], .n = rows
#define PLAIN(set, n, d, ...)                                                                                          \
    {                                                                                                                  \
        "set" #set "-n" #n "-d" #d, SET(set, n, d), __VA_ARGS__                                                        \
    }
#define D_4_TO_16(set, n) PLAIN(set, n, 4), PLAIN(set, n, 8), PLAIN(set, n, 16, .members = 10)
#define D_2_TO_16(set, n) PLAIN(set, n, 2), D_4_TO_16(set, n)

static const plan PLANS[] = {
    PLAIN(1, 200, 2, .quick = true),
    D_4_TO_16(1, 200),
    D_2_TO_16(2, 200),
    D_2_TO_16(3, 200),
    D_2_TO_16(1, 500),
    D_2_TO_16(2, 500),
    D_2_TO_16(3, 500),
    {"set1-n200-d4-near", SET(1, 200, 4), .noise = NOISE_NEAR},
    {"set1-n200-d8-across", SET(1, 200, 8), .noise = NOISE_ACROSS},
    {"set2-n200-d4-far", SET(2, 200, 4), .noise = NOISE_FAR},
    {"set2-n200-d4-slope", SET(2, 200, 4), .quick = true, .noise = NOISE_SLOPE},
    {"set1-n200-d4-bias-sd0", SET(1, 200, 4), .no_bias_sd = true},
    {"set1-n200-d4-width32", SET(1, 200, 4), .quick = true, .width = 32, .members = 20},
    {"set1-n200-d4-width256", SET(1, 200, 4), .width = 256, .members = 20},
    {"set1-n200-d4-width4096", SET(1, 200, 4), .width = 4096},
    {"set1-n100-d4-depth2", SET(1, 100, 4), .quick = true, .width = 64, .depth = 2, .members = 10},
    {"set2-n200-d4-standard", SET(2, 200, 4), .standard = true},
    {"smooth-width256", SET(LAB_SMOOTH, 200, 5), .width = 256, .standard = true, .members = 20},
    {"smooth-width32", SET(LAB_SMOOTH, 200, 5), .width = 32, .standard = true, .members = 20},
    {"smooth-width64-lambda1e-4", SET(LAB_SMOOTH, 200, 5), .quick = true, .width = 64, .lambda = 1e-4, .standard = true,
     .members = 20},
    {"boston-n200", TABLE(BOSTON, 200), .quick = true, .width = 256, .members = 20},
    {"concrete-n200", TABLE(CONCRETE, 200), .width = 256, .members = 20},
    {"energy-n200", TABLE(ENERGY, 200), .width = 256, .members = 20},
    {"wine-n200", TABLE(WINE, 200), .width = 256, .members = 20},
    {"yacht-n100", TABLE(YACHT, 100), .width = 256, .members = 20},
    {"concrete-width64-lambda1e-4", TABLE(CONCRETE, 200), .width = 64, .lambda = 1e-4, .members = 20},
    {"boston-width1024", TABLE(BOSTON, 200), .width = 1024, .members = 10},
};
enum { PLAN_COUNT = sizeof PLANS / sizeof *PLANS, MEMBERS = 5, ESTIMATE_MEMBERS = 20 };

/* ---- cells ---- */

/* One name, or else all names that hold the text. */
static bool is_asked_for(const char *text, const char *name)
{
    for (size_t k = 0; k < PLAN_COUNT; k++) {
        if (strcmp(PLANS[k].name, text) == 0) return strcmp(name, text) == 0;
    }
    return strstr(name, text) != NULL;
}

static bool wanted(const lab *l, const plan *p)
{
    bool asked = l->job->cell ? is_asked_for(l->job->cell, p->name) : p->quick || l->job->size != STUDY_QUICK;
    return asked && lab_wanted(l, p->n, p->table ? p->table->d : p->d);
}

/* Where to ask: x0, the mean (at set 1 that is x0), four random points, a training row. */
static void choose_places(lab_cell *c)
{
    static const lab_place PLACES[LAB_POINTS_MAX] = {PLACE_X0,     PLACE_MEAN,   PLACE_RANDOM, PLACE_RANDOM,
                                                     PLACE_RANDOM, PLACE_RANDOM, PLACE_ROW};
    for (ptrdiff_t k = 0; k < LAB_POINTS_MAX; k++) {
        if (!(PLACES[k] == PLACE_X0 && c->planted) && !(PLACES[k] == PLACE_MEAN && c->set == 1)) {
            c->places[c->points++] = PLACES[k];
        }
    }
}

static lab_cell cell_of(const lab *l, const plan *p, const lab_planted *planted)
{
    lab_cell c = lab_synthetic(l, p->set, p->n, p->table ? p->table->d : p->d, lab_reps(l, 40, 120, 200));
    c.name = p->name;
    c.table = p->table;
    c.planted = planted;
    c.noise = p->noise;
    c.control = true;
    c.o.width = p->width ? p->width : c.o.width;
    c.o.depth = p->depth ? p->depth : c.o.depth;
    c.o.lambda = p->lambda > 0 ? p->lambda : c.o.lambda;
    c.o.bias_sd = p->no_bias_sd ? 0 : c.o.bias_sd;
    c.o.scale = l->job->scale_given ? c.o.scale : p->standard ? EPIQ_SCALE_STANDARD : EPIQ_SCALE_NONE;
    choose_places(&c);
    return c;
}

/* The cell of the truth needs few networks and no influence function, the one of the estimates all of it. */
static void split(const lab *l, const plan *p, lab_cell *truth, lab_cell *estimate)
{
    *estimate = *truth;
    bool quick = l->job->size == STUDY_QUICK && !l->job->reps;
    truth->o.methods = truth->o.engine == EPIQ_ENGINE_INFINITE ? EPIQ_EV | EPIQ_IF : EPIQ_EV;
    if (truth->o.engine != EPIQ_ENGINE_INFINITE) {
        truth->o.members = (p->members ? p->members : MEMBERS) / (quick ? 2 : 1);
    }
    if (estimate->o.members == epiq_options_default().members) { /* not asked for */
        estimate->o.members = ESTIMATE_MEMBERS;
    }
    estimate->o.methods = EPIQ_EV | EPIQ_IF;
    estimate->o.data_by = l->result->options.data_by;
    estimate->control = false;
    estimate->stream = 1; /* other networks than those of the truth */
    ptrdiff_t some = l->job->reps / 8 > 3 ? l->job->reps / 8 : 3;
    estimate->reps = l->job->reps ? some : lab_reps(l, 6, 16, 32);
}

/* ---- lines ---- */

/* One way to estimate: fields of the variance and its degrees of freedom, or of the answer with its interval. */
typedef struct {
    const char *quantity, *method, *correction;
    ptrdiff_t field, df; /* df < 0: the interval is in the sample */
} way;

static bool covers(const lab_cell *c, ptrdiff_t rep, const way *w, double truth)
{
    epiq_part p = {.has_interval = 1, .lo = lab_get(c, rep, S_DATA_LO), .hi = lab_get(c, rep, S_DATA_HI)};
    if (w->df >= 0) p = epiq_part_of(lab_get(c, rep, w->field), lab_get(c, rep, w->df), 0.95, EPIQ_BY_NONE);
    bool open = p.hi < p.lo; /* an upper end that cannot be known is given as 0 */
    return p.has_interval && p.lo <= truth && (open || truth <= p.hi);
}

typedef struct {
    ptrdiff_t hits, trials;
    double square; /* sum of log(estimate / truth)^2 */
} tally;

static const double KNOWN = 0.25; /* a truth whose error is a larger part of it than this judges no single estimate */
static const double LEAST = 1e-3; /* of the truth: what an estimate of 0 counts as in the mean of logarithms */

/* A way at the points of a kind; the sum over them of each data set goes to sums (estimate->reps of them). */
static tally judge(const lab_cell *estimate, const way *w, lab_place place, const double *truth, double *sums)
{
    tally t = {0};
    lab_cell view = *estimate;
    for (ptrdiff_t rep = 0; rep < estimate->reps; rep++) {
        sums[rep] = 0;
        for (view.at = 0; view.at < lab_points(estimate); view.at++) {
            if (place != PLACE_ALL && estimate->places[view.at] != place) continue;
            double v = lab_get(&view, rep, w->field), known = truth[view.at];
            sums[rep] += v;
            if (known > 0) {
                double off = log(fmax(v / known, LEAST));
                t.square += off * off;
                t.hits += covers(&view, rep, w, known);
                t.trials++;
            }
        }
    }
    return t;
}

static void add_way(lab *l, const lab_cell *truth, const lab_cell *estimate, const way *w, const double *at_points)
{
    const ptrdiff_t n = estimate->reps;
    double *sums = lab_block(l, n, sizeof *sums);
    for (lab_place place = PLACE_X0; sums && place <= PLACE_ALL; place++) {
        bool there = place == PLACE_ALL;
        for (ptrdiff_t k = 0; k < lab_points(truth); k++) {
            there = there || truth->places[k] == place;
        }
        if (!there) continue;
        tally found = judge(estimate, w, place, at_points, sums);
        study_cell line = lab_line(truth, w->quantity, w->method);
        line.at = LAB_PLACES[place];
        line.correction = w->correction;
        line.reps = n;
        line.members = estimate->o.members;
        lab_line_apart((study_number){lab_mean(sums, n), sqrt(lab_variance(sums, n) / (double)n)},
                       lab_truth_over(truth, place), &line);
        line.coverage = lab_wilson(found.hits, found.trials);
        line.rms_log = found.trials ? sqrt(found.square / (double)found.trials) : NAN;
        if (isfinite(line.estimate.value)) lab_add(l, line);
    }
}

/* How much the networks follow the data, in variance, against infinitely wide ones: sums over the points. */
static double kappa(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    (void)how;
    double data = 0, known = 0;
    lab_cell view = *c;
    for (view.at = 0; view.at < lab_points(c); view.at++) {
        lab_controlled t = lab_from_control(&view, leave_out);
        data += t.data;
        known += t.known;
    }
    return data / known;
}

static void add_kappa(lab *l, const lab_cell *truth, const lab_cell *estimate)
{
    study_cell line = lab_line(truth, "kappa", "networks");
    line.at = LAB_PLACES[PLACE_ALL];
    line.reps = truth->reps;
    line.members = truth->o.members;
    lab_line_apart(lab_field(estimate, S_KAPPA), lab_jackknife(truth, kappa, NULL), &line);
    lab_add(l, line);
}

static void add_cell(lab *l, const lab_cell *truth, const lab_cell *estimate)
{
    double at_points[LAB_POINTS_MAX] = {0};
    lab_cell view = *truth;
    for (view.at = 0; view.at < lab_points(truth); view.at++) {
        study_number t = lab_truth(&view, LAB_DATA);
        at_points[view.at] = t.se <= KNOWN * t.value ? t.value : NAN;
    }
    for (int k = 0; k < EPIQ_CORRECTIONS; k++) {
        const char *name = LAB_CORRECTIONS[k];
        if (name && strcmp(name, "jackknife") != 0 && strcmp(name, "none") != 0) {
            add_way(l, truth, estimate, &(way){"data", "if", name, S_IF + k, S_IF_DF + k}, at_points);
        }
    }
    double method = lab_get(estimate, 0, S_DATA_METHOD);
    if (method >= 0) {
        add_way(l, truth, estimate, &(way){"answer", epiq_method_text((epiq_method)method), NULL, S_DATA, -1},
                at_points);
    }
    if (lab_has_control(truth)) add_kappa(l, truth, estimate);
}

/* ---- what it comes to ---- */

static void sum_up(lab *l)
{
    ptrdiff_t cells = 0, near = 0, nearly = 0, kinds = 0, right = 0, covered = 0, unknown = 0;
    double hits = 0, trials = 0, square = 0;
    for (ptrdiff_t k = 0; k < l->result->cell_count; k++) {
        const study_cell *c = &l->result->cells[k];
        if (strcmp(c->quantity, "answer") != 0) continue;
        if (isnan(c->coverage.rate)) {
            unknown++;
        } else if (strcmp(c->at, LAB_PLACES[PLACE_ALL]) == 0) {
            const double ratio = c->ratio.value, wide = 2 * c->ratio.se;
            bool inside = ratio >= 0.9 && ratio <= 1.1;
            cells++;
            near += inside;
            nearly += !inside && ratio + wide >= 0.9 && ratio - wide <= 1.1;
            covered += c->coverage.rate >= 0.9;
            hits += c->coverage.rate * (double)c->reps;
            trials += (double)c->reps;
            square += c->rms_log * c->rms_log;
        } else {
            kinds++;
            right += c->ratio.value >= 0.8 && c->ratio.value <= 1.25;
        }
    }
    if (cells) {
        lab_note(l,
                 "The answer over the truth, summed over a cell's points, lies within 0.9 and 1.1 in %td of %td cells, "
                 "and in %td more within two standard errors of that; at a kind of point within 0.8 and 1.25 in %td of "
                 "%td (of %td more the truth is not known to a quarter). Its 95 %% interval covers at least 90 %% in "
                 "%td of %td cells and %.1f %% over all; the root mean square of log(answer / truth) is %.2f.",
                 near, cells, nearly, right, kinds, unknown, covered, cells, 100 * hits / trials,
                 sqrt(square / (double)cells));
    }
}

static void explain(lab *l, ptrdiff_t left_out)
{
    lab_note(l, "Truth: the variance of trained networks over data sets without the part of retraining, with kernel "
                "regression of the same data sets, whose variance is known, as control variate; errors by the "
                "jackknife. all: sums over the points of a cell. x0: every feature 0.1. mean: of the distribution. "
                "random: four points of it. row: a row that is in every data set, its target drawn anew.");
    lab_note(l, "answer is the data part as epiq estimate gives it, by the method named; the others are the influence "
                "function with each correction. A rate's interval takes the points of a data set to be independent, "
                "which they are not quite; the truth's own error moves all rates of a cell together; points where it "
                "is more than a quarter of the truth count in sums alone.");
    if (left_out) {
        lab_note(l,
                 "%td cells with real features were left out: say where boston.csv and the others are with --data-dir "
                 "or EPIQ_DATA.",
                 left_out);
    }
}

/* ---- the study ---- */

int study_trained(lab *l)
{
    lab_cell cells[2 * PLAN_COUNT];
    const lab_planted *planted[TABLE_COUNT] = {NULL}; /* made when first asked for */
    ptrdiff_t count = 0, left_out = 0;
    int s = EPIQ_OK;
    for (const plan *p = PLANS; !s && p < PLANS + PLAN_COUNT; p++) {
        if (!wanted(l, p)) continue;
        if (p->table && !l->job->data_dir) {
            left_out++;
            continue;
        }
        const lab_planted **own = p->table ? &planted[p->table - LAB_TABLES] : NULL;
        s = own && !*own ? lab_plant(l, p->table, own) : EPIQ_OK;
        cells[count] = cell_of(l, p, own ? *own : NULL);
        split(l, p, &cells[count], &cells[count + 1]);
        count += 2;
    }
    if (!s && count == 0 && left_out) {
        return lab_fail(
            &l->job->crew, EPIQ_E_DATA,
            "these cells need the real tables; say where boston.csv and the others are with --data-dir or EPIQ_DATA");
    }
    s = s ? s : lab_run(l, cells, count);
    for (ptrdiff_t k = 0; !s && k < count; k += 2) {
        add_cell(l, &cells[k], &cells[k + 1]);
    }
    if (!s) {
        sum_up(l);
        explain(l, left_out);
    }
    return s;
}
