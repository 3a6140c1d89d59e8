/* confidence.c - intervals of the expected prediction: how often they hold what networks would predict with ever more rows, and the
 * true function, which is another thing; and how wide they are. In closed form, where networks are kernel regression, or of
 * networks that are trained. Then the squared error of what they are made of, against the trainings it takes.
 */
#include "common/student.h"
#include "study/lab.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

static const double SMALL_NOISE = 0.001; /* of the sequel's settings */

/* ---- the cells ---- */

typedef struct {
    int set;
    ptrdiff_t n, d;
    double noise_sd; /* 0: the set's own */
} law;

/* One interval that is judged. */
typedef struct {
    const char *name;
    int confidence, predictor, engine;
    ptrdiff_t batches, members, resamples, steps; /* steps > 0: descent that is stopped */
    bool other;                                   /* auxiliary networks on rows drawn again: other_resample.c */
} way;

static const way IN_CLOSED_FORM[] = {
    {"closed_form", EPIQ_CONFIDENCE_RETRAIN, EPIQ_PREDICTOR_SHIFTED, EPIQ_ENGINE_INFINITE, 0, 0, 0, 0, false},
    {"batching_5", EPIQ_CONFIDENCE_BATCHING, EPIQ_PREDICTOR_SHIFTED, EPIQ_ENGINE_LINEAR, 5, 2, 0, 0, false},
    {"bootstrap_2+8", EPIQ_CONFIDENCE_BOOTSTRAP, EPIQ_PREDICTOR_SHIFTED, EPIQ_ENGINE_LINEAR, 0, 2, 8, 0, false},
};
static const way TRAINED[] = {
    {"halves_4+6", EPIQ_CONFIDENCE_HALVES, EPIQ_PREDICTOR_SHIFTED, EPIQ_ENGINE_NETWORK, 0, 4, 6, 0, false},
    {"batching_5", EPIQ_CONFIDENCE_BATCHING, EPIQ_PREDICTOR_SHIFTED, EPIQ_ENGINE_NETWORK, 5, 2, 0, 0, false},
    {"jackknife_2+8", EPIQ_CONFIDENCE_JACKKNIFE, EPIQ_PREDICTOR_SHIFTED, EPIQ_ENGINE_NETWORK, 0, 2, 8, 0, false},
    {"bootstrap_2+8", EPIQ_CONFIDENCE_BOOTSTRAP, EPIQ_PREDICTOR_SHIFTED, EPIQ_ENGINE_NETWORK, 0, 2, 8, 0, false},
    {"bootstrap_20_steps", EPIQ_CONFIDENCE_BOOTSTRAP, EPIQ_PREDICTOR_PNC, EPIQ_ENGINE_NETWORK, 0, 2, 4, 20, false},
    {"bootstrap_80_steps", EPIQ_CONFIDENCE_BOOTSTRAP, EPIQ_PREDICTOR_PNC, EPIQ_ENGINE_NETWORK, 0, 2, 4, 80, false},
    {"bootstrap_320_steps", EPIQ_CONFIDENCE_BOOTSTRAP, EPIQ_PREDICTOR_PNC, EPIQ_ENGINE_NETWORK, 0, 2, 4, 320, false},
    {"other_resample_80_steps", EPIQ_CONFIDENCE_BOOTSTRAP, EPIQ_PREDICTOR_PNC, EPIQ_ENGINE_NETWORK, 0, 1, 4, 80, true},
};
enum {
    WAYS = sizeof TRAINED / sizeof *TRAINED,
    CLOSED_WAYS = sizeof IN_CLOSED_FORM / sizeof *IN_CLOSED_FORM,
    LAWS_MAX = 16 + LAB_PAPER_COUNT
};

static bool networks_of(const lab *l)
{
    return lab_engine(l) == EPIQ_ENGINE_NETWORK;
}

/* --cell is in the name of the cell, or of a way in it (NULL: any). */
static bool is_named(const lab *l, const law *p, const way *w)
{
    char name[128];
    snprintf(name, sizeof name, "set%d-n%td-d%td%s/%s", p->set, p->n, p->d, p->noise_sd > 0 ? "-quiet" : "",
             w ? w->name : "");
    return strstr(name, l->job->cell);
}

/* Which of the sequel's settings and of the paper's. */
static bool is_run(const lab *l, const law *p)
{
    const bool quick = l->job->size == STUDY_QUICK, full = l->job->size == STUDY_FULL, sequel = p->noise_sd > 0;
    if (!lab_wanted(l, p->n, p->d)) return false;
    const char *slash = l->job->cell ? strchr(l->job->cell, '/') : NULL;
    if (l->job->cell && (is_named(l, p, NULL) || (slash && slash > l->job->cell))) return true; /* by name */
    if (networks_of(l)) {
        if (full) return p->n <= 256;
        return sequel ? p->n == 128 && (quick ? p->d == 2 : p->d != 8)
                      : !quick && p->n == 200 && p->d == 4 + 4 * (p->set == 2);
    }
    if (quick) {
        return sequel ? p->n == 128 && p->d != 8 && p->d != 4 : p->set == 2 && p->d != 4 && p->d != 2 && p->d != 8;
    }
    return full || p->n <= 512;
}

/* Whether --cell, where it is given, names it or a way in it. */
static bool is_meant(const lab *l, const law *p)
{
    const way *ways = networks_of(l) ? TRAINED : IN_CLOSED_FORM;
    bool any = !l->job->cell;
    for (ptrdiff_t k = 0; !any && k < (networks_of(l) ? WAYS : CLOSED_WAYS); k++) {
        any = is_named(l, p, &ways[k]);
    }
    return any;
}

static ptrdiff_t list_laws(const lab *l, law *laws)
{
    static const ptrdiff_t N[] = {128, 256, 512, 1024}, D[] = {2, 4, 8, 16};
    ptrdiff_t count = 0;
    for (int k = 0; k < 16; k++) {
        const law p = {1, N[k / 4], D[k % 4], SMALL_NOISE};
        if (is_meant(l, &p) && is_run(l, &p)) laws[count++] = p;
    }
    for (const lab_paper_cell *c = LAB_PAPER_CELLS; c < LAB_PAPER_CELLS + LAB_PAPER_COUNT; c++) {
        const law p = {c->set, c->n, c->d, 0};
        if (is_meant(l, &p) && is_run(l, &p)) laws[count++] = p;
    }
    return count;
}

/* The first way has what others are compared with. Of networks: with --quick two ways; how much an early end matters one cell
 * tells. */
static bool is_wanted(const lab *l, const law *p, const way *w)
{
    if (w == TRAINED || w == IN_CLOSED_FORM) return true;
    if (l->job->cell && strchr(l->job->cell, '/')) return is_named(l, p, w);
    if (l->job->cell && !is_named(l, p, w)) return false;
    if (!networks_of(l)) return true;
    return l->job->size == STUDY_QUICK ? w < TRAINED + 2 : !w->steps || (p->n == 128 && p->d == 4 && p->noise_sd > 0);
}

static lab_cell cell_of(const lab *l, const law *p, const way *w, ptrdiff_t reps)
{
    lab_cell c = lab_synthetic(l, p->set, p->n, p->d, reps);
    epiq_options *o = &c.o;
    c.noise_sd = p->noise_sd;
    o->engine = w->engine;
    o->confidence = w->confidence;
    o->predictor = w->predictor;
    o->members = w->members ? w->members : o->members;
    o->batches = w->batches ? w->batches : o->batches;
    o->resamples = w->resamples ? w->resamples : o->resamples;
    o->methods = w->engine == EPIQ_ENGINE_INFINITE           ? EPIQ_IF
                 : w->confidence == EPIQ_CONFIDENCE_BATCHING ? EPIQ_BA
                                                             : EPIQ_EV;
    if (w == TRAINED) o->methods |= EPIQ_IF; /* kernel regression beside it */
    if (w->steps) {
        o->optimizer = EPIQ_OPTIMIZER_GD;
        o->steps = w->steps;
    }
    if (w->other) {
        c.make = lab_other_resample;
        c.fields = S_FIXED;
        c.name = w->name;
    }
    return c;
}

/* The same with many rows and no noise, each half of which is asked as well. */
static lab_cell target_of(const lab *l, const law *p, const way *w)
{
    const bool quick = l->job->size == STUDY_QUICK;
    lab_cell c = cell_of(l, p, w, quick ? 8 : 32); /* as many as many machines have cores, or twice that */
    c.n = quick ? 1024 : 2048;
    c.make = NULL;
    c.o.members = w->other ? 2 : c.o.members;
    c.noise_sd = 0;
    c.target = true;
    c.o.confidence = EPIQ_CONFIDENCE_NONE;
    c.o.methods = w->engine == EPIQ_ENGINE_INFINITE ? EPIQ_IF : EPIQ_EV;
    c.o.correction = EPIQ_CORRECTION_NONE; /* the prediction alone is wanted */
    return c;
}

/* ---- what they come to ---- */

static double towards_many_rows(const lab_cell *c, ptrdiff_t rep, const void *how)
{
    (void)how;
    return 2 * lab_get(c, rep, S_PREDICTION) - lab_get(c, rep, S_HALVES);
}

static double mean_towards(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    return lab_mean_over(c, leave_out, towards_many_rows, how);
}

/* Of an interval: what it is around, with which variance. */
typedef struct {
    ptrdiff_t centre, variance, df;
} fields;
static const fields GIVEN = {S_CENTRE, S_CENTRE_VARIANCE, S_CENTRE_DF},
                    PLAIN = {S_KERNEL, S_IF + EPIQ_CORRECTION_MODERATED, S_IF_DF + EPIQ_CORRECTION_MODERATED};

static double half_width(const lab_cell *c, ptrdiff_t rep, const fields *f, double level)
{
    const double df = lab_get(c, rep, f->df);
    return epiqp_student_quantile(df > 0 ? df : DBL_MAX, level) * sqrt(lab_get(c, rep, f->variance));
}

static study_number mean_width(const lab_cell *c, const fields *f)
{
    lab_moments m = {0};
    for (ptrdiff_t rep = 0; rep < c->reps; rep++) {
        lab_take(&m, 1, (const double[]){2 * half_width(c, rep, f, 0.95)});
    }
    return (study_number){m.mean[0], sqrt(m.product[0][0] / (m.n - 1) / m.n)};
}

static study_rate covers(const lab_cell *c, const fields *f, double target, double level)
{
    ptrdiff_t hits = 0, trials = 0;
    for (ptrdiff_t rep = 0; rep < c->reps; rep++) {
        const double half = half_width(c, rep, f, level);
        trials += isfinite(half);
        hits += fabs(lab_get(c, rep, f->centre) - target) <= half;
    }
    return lab_wilson(hits, trials);
}

static study_cell line_of(const lab_cell *c, const char *quantity, const char *method, ptrdiff_t trainings)
{
    study_cell line = lab_line(c, quantity, method);
    line.members = trainings;
    if (c->noise_sd > 0) line.noise = "quiet";
    return line;
}

/* Three lines: of either target, and of the width beside that of the closed form as it stands. */
static void add_way(lab *l, const lab_cell *c, const char *name, const fields *f, study_number population,
                    study_number plain, ptrdiff_t trainings)
{
    for (int k = 0; k < 2; k++) {
        study_cell line = line_of(c, k ? "true_function" : "population_predictor", name, trainings);
        line.truth = k ? (study_number){lab_true_at_x0(c), 0} : population;
        line.estimate = lab_field(c, f->centre);
        line.coverage = covers(c, f, line.truth.value, 0.95);
        line.coverage90 = covers(c, f, line.truth.value, 0.9);
        lab_add(l, line);
    }
    study_cell line = line_of(c, "width", name, trainings);
    line.truth = plain;
    line.estimate = mean_width(c, f);
    line.ratio.se = line.estimate.se / plain.value;
    lab_add(l, line);
}

static ptrdiff_t trainings_of(const way *w)
{
    const ptrdiff_t networks = w->batches ? w->batches : w->members + w->resamples;
    return networks * (w->predictor == EPIQ_PREDICTOR_PNC ? 2 : 1);
}

static void explain(lab *l)
{
    lab_note(l,
             "At x0, every feature 0.1; quiet: noise of standard deviation 0.001; members: trainings. "
             "population_predictor: what the networks would predict with ever more rows, from "
             "tables of many rows without noise and their halves, 2 all - halves; its own error moves all rates of a "
             "cell together. true_function: beside what the penalty, the network and an early end leave, which no "
             "interval of a variance holds; difference is that bias. width: of the 95 %% interval, beside that of "
             "kernel regression as it stands, psi -+ t sqrt(IF).");
    if (networks_of(l)) {
        lab_note(l,
                 "N_steps: descent that is stopped, pairs of networks (pnc) and the bootstrap, as in the sequel's own "
                 "code, in which moreover (other_resample) one pair is on all rows, every pair has a start of its own, "
                 "and the "
                 "auxiliary network rows drawn again. Its target is that of networks stopped likewise; how near that "
                 "is to the function hinges on "
                 "the number of steps.");
    }
}

/* How many cells have the coverage and the width that are wanted of at most ten trainings. */
static void sum_up(lab *l, const char *name)
{
    ptrdiff_t cells = 0, right = 0, within = 0, narrow = 0;
    double least = 1, most = 0, widest = 0;
    for (ptrdiff_t k = 0; k < l->result->cell_count; k++) {
        const study_cell *c = &l->result->cells[k];
        if (strcmp(c->method, name) != 0) continue;
        if (strcmp(c->quantity, "population_predictor") == 0) {
            cells++;
            right += c->coverage.rate >= 0.93 && c->coverage.rate <= 0.97;
            within += c->coverage.hi >= 0.93 && c->coverage.lo <= 0.97;
            least = fmin(least, c->coverage.rate);
            most = fmax(most, c->coverage.rate);
        } else if (strcmp(c->quantity, "width") == 0) {
            narrow += c->ratio.value <= 1.5;
            widest = fmax(widest, c->ratio.value);
        }
    }
    if (!cells) return;
    lab_note(l,
             "%s: the population predictor is covered %.1f to %.1f %% of the time at 95 %%; within 93 and 97 %% in %td "
             "of %td "
             "cells, in %td within what so many data sets can tell; the width is at most %.2f times the closed form's, "
             "and 1.5 times or less in %td.",
             name, 100 * least, 100 * most, right, cells, within, widest, narrow);
}

/* Of what is stopped: how far the number of steps decides whether the interval holds the true function. */
static void sum_up_stops(lab *l)
{
    for (ptrdiff_t k = 0; k < l->result->cell_count; k++) {
        const study_cell *own = &l->result->cells[k], *line = own + 1; /* lines of a way come together: add_way() */
        bool stopped = false;
        for (const way *w = TRAINED; w < TRAINED + WAYS; w++) {
            stopped |= w->steps && strcmp(w->name, own->method) == 0;
        }
        if (!stopped || strcmp(own->quantity, "population_predictor") != 0) continue;
        lab_note(l,
                 "%s, n = %td, d = %td: networks stopped likewise are covered %.1f %% of the time, the true function "
                 "%.1f %%.",
                 own->method, own->n, own->d, 100 * own->coverage.rate, 100 * line->coverage.rate);
    }
}

int study_confidence(lab *l)
{
    law laws[LAWS_MAX];
    const bool networks = networks_of(l);
    const way *ways = networks ? TRAINED : IN_CLOSED_FORM;
    const ptrdiff_t count = list_laws(l, laws), each = networks ? WAYS : CLOSED_WAYS, block = 2 * each;
    const ptrdiff_t reps = networks ? lab_reps(l, 20, 60, 200) : lab_reps(l, 100, 500, 1000);
    lab_cell *cells = lab_block(l, count * block, sizeof *cells);
    if (!cells) return EPIQ_OK; /* reported at the end */
    ptrdiff_t made = 0, first[LAWS_MAX] = {0};
    for (ptrdiff_t k = 0; k < count; k++) {
        first[k] = made;
        for (const way *w = ways; w < ways + each; w++) {
            if (!is_wanted(l, &laws[k], w)) continue;
            cells[made++] = cell_of(l, &laws[k], w, reps);
            if (w == ways || w->steps) cells[made++] = target_of(l, &laws[k], w);
        }
    }
    int s = lab_run(l, cells, made);
    for (ptrdiff_t k = 0; !s && k < count; k++) {
        const lab_cell *c = &cells[first[k]], *end = k + 1 < count ? &cells[first[k + 1]] : cells + made, *own = c;
        const study_number plain = mean_width(own, &PLAIN);
        study_number population = {NAN, NAN};
        for (const way *w = ways; w < ways + each && c < end; w++) {
            if (!is_wanted(l, &laws[k], w)) continue;
            const lab_cell *target = w == ways || w->steps ? c + 1 : NULL;
            if (target) population = lab_jackknife(target, mean_towards, NULL);
            if (w == ways) add_way(l, c, "uncorrected", &PLAIN, population, plain, 0);
            add_way(l, c, w->name, &GIVEN, population, plain, w->engine == EPIQ_ENGINE_INFINITE ? 0 : trainings_of(w));
            c += target ? 2 : 1;
        }
    }
    if (!s) explain(l);
    for (const way *w = ways; !s && w < ways + each; w++) {
        if (!w->steps) sum_up(l, w->name);
    }
    if (!s && networks) sum_up_stops(l);
    return s;
}

/* ---- squared errors ---- */

static const ptrdiff_t SIZES[] = {1, 2, 5, 20};
enum { SIZE_COUNT = sizeof SIZES / sizeof *SIZES, MOST = 20 };

/* Of means of so many networks, as many of those as there are, from the true function. */
static double squared_error(const lab_cell *c, ptrdiff_t rep, const void *how)
{
    const ptrdiff_t size = *(const ptrdiff_t *)how, ensembles = c->o.members / size;
    const double truth = lab_true_at_x0(c);
    double sum = 0;
    for (ptrdiff_t k = 0; k < ensembles; k++) {
        const double off = lab_mean(lab_members(c, rep) + k * size, size) - truth;
        sum += off * off / (double)ensembles;
    }
    return sum;
}

static double mean_error(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    return lab_mean_over(c, leave_out, squared_error, how);
}

static double kernel_error(const lab_cell *c, ptrdiff_t rep, const void *how)
{
    (void)how;
    const double off = lab_get(c, rep, S_KERNEL) - lab_true_at_x0(c);
    return off * off;
}

static double mean_kernel_error(const lab_cell *c, ptrdiff_t leave_out, const void *how)
{
    return lab_mean_over(c, leave_out, kernel_error, how);
}

static void add_error(lab *l, const lab_cell *c, const char *name, ptrdiff_t size, ptrdiff_t trainings,
                      study_number kernel)
{
    study_cell line = line_of(c, "squared_error", name, trainings);
    line.truth = kernel;
    line.estimate = lab_jackknife(c, mean_error, &size);
    line.ratio.se = line.estimate.se / kernel.value;
    lab_add(l, line);
}

int study_mse(lab *l)
{
    static const law LAWS[] = {{1, 200, 2, 0}, {1, 200, 8, 0}, {2, 200, 4, 0}, {3, 200, 4, 0}};
    static const int PREDICTORS[] = {EPIQ_PREDICTOR_ENSEMBLE, EPIQ_PREDICTOR_SHIFTED, EPIQ_PREDICTOR_PNC};
    enum { COUNT = sizeof LAWS / sizeof *LAWS, KINDS = sizeof PREDICTORS / sizeof *PREDICTORS };
    lab_cell cells[COUNT * KINDS];
    ptrdiff_t made = 0;
    if (lab_engine(l) == EPIQ_ENGINE_INFINITE) {
        return lab_fail(&l->job->crew, EPIQ_E_USAGE, "mse looks at single networks; use --engine network or linear");
    }
    for (const law *p = LAWS; p < LAWS + COUNT; p++) {
        const bool some = l->job->size == STUDY_QUICK && !l->job->n && !l->job->d;
        if (!lab_wanted(l, p->n, p->d) || (some && p->d != 8 && p->set != 2)) continue;
        for (int k = 0; k < KINDS; k++) {
            lab_cell c = lab_synthetic(l, p->set, p->n, p->d, lab_reps(l, 10, 60, 200));
            c.o.predictor = PREDICTORS[k];
            c.o.members = PREDICTORS[k] == EPIQ_PREDICTOR_ENSEMBLE ? MOST : 2;
            c.o.methods = EPIQ_EV | (k == 0 ? EPIQ_IF : 0);
            cells[made++] = c;
        }
    }
    int s = lab_run(l, cells, made);
    for (ptrdiff_t k = 0; !s && k < made; k += KINDS) {
        const lab_cell *c = &cells[k];
        const study_number kernel = lab_jackknife(c, mean_kernel_error, NULL);
        for (int size = 0; size < SIZE_COUNT; size++) {
            add_error(l, c, size ? lab_text(l, "ensemble_%td", SIZES[size]) : "one_network", SIZES[size], SIZES[size],
                      kernel);
        }
        add_error(l, c + 1, "shifted", 1, 1, kernel);
        add_error(l, c + 2, "pnc", 1, 2, kernel);
    }
    if (!s) {
        lab_note(
            l, "Mean squared difference from the true function at x0, every feature 0.1, over data sets; members: the "
               "trainings it takes. truth: that of kernel regression on the same rows, the mean of infinitely many "
               "infinitely wide networks.");
    }
    return s;
}
