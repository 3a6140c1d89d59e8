/* explore.c - a ranking for people and programs: why the first comes first, the best candidates in a table; on the page also side by
 * side, and all of them by prediction and standard deviation. JSON and CSV: docs/json.md.
 */
#include "report/doc.h"
#include "report/manifest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MAX = 20,     /* candidates drawn side by side */
    TABLE_MAX = 200,   /* lines of the page's table; the files hold all */
    PICTURED = 3000,   /* candidates as marks: more would only swell the page */
    LABELLED_MAX = 25, /* picks with their number beside them: more would overlap */
    PICKS_MAX = 8      /* picks whose values stand side by side on the page; the files hold all */
};

/* The score is an end of the interval of the expected prediction. */
static bool by_interval(const epiq_ranking *r)
{
    return r->estimate->ran->confidence;
}

/* Standard deviation of the score; NAN: unknown. */
static double score_sd(const epiq_ranking *r, const epiq_part *data, const epiq_part *procedural,
                       const epiq_confidence *c)
{
    if (by_interval(r)) return c->known ? sqrt(c->variance) : NAN;
    bool data_alone = r->ask->rule == EPIQ_RULE_DATA;
    if (!data->known || (!data_alone && !procedural->known)) return NAN;
    return sqrt(data->variance + (data_alone ? 0 : procedural->variance / (double)r->estimate->ran->ensemble_size));
}

/* What the score is, in words. */
static phrase score_text(const epiq_ranking *r)
{
    const ptrdiff_t m = r->estimate->ran->ensemble_size;
    if (r->ask->rule == EPIQ_RULE_DATA) return phrase_of("the variance due to the data");
    if (by_interval(r)) {
        const bool min = r->ask->goal == EPIQ_GOAL_MIN;
        const ptrdiff_t networks = r->ranked[0]->confidence.networks;
        const phrase behind = networks ? phrase_of(", %td trainings", networks) : (phrase){0};
        return phrase_of("the %s end of the %.4g %% interval of the expected prediction (%s%s)%s",
                         min ? "lower" : "upper", 100 * r->estimate->ran->level,
                         confidence_method(r->estimate->points[0]), behind.text, min ? ", with its sign changed" : "");
    }
    const bool total = r->ask->rule == EPIQ_RULE_TOTAL;
    if (total) return phrase_of("the variance of an ensemble of %td: data + retraining/%td", m, m);
    return phrase_of(r->ask->goal == EPIQ_GOAL_MIN
                         ? "%.4g standard deviations of an ensemble of %td, less its prediction"
                         : "prediction plus %.4g standard deviations of an ensemble of %td",
                     r->ask->kappa, m);
}

/* A feature of candidate k with the digits that it was given with: more would be rounding. */
static phrase value_text(const report_answer *a, const epiq_candidate *k, ptrdiff_t feature)
{
    return phrase_of("%.12g", epiq_points_value(a->candidates, k->row - 1, feature));
}

static double rounded_value(const report_answer *a, const epiq_candidate *k, ptrdiff_t feature)
{
    return strtod(value_text(a, k, feature).text, NULL);
}

/* ---- pictures ---- */

static void draw_best(doc *d, const epiq_ranking *r)
{
    ptrdiff_t count = r->count < ROWS_MAX ? r->count : ROWS_MAX;
    bool ucb = r->ask->rule == EPIQ_RULE_UCB;
    picture *p = pictures_add(&d->set, 0, 0, "the-best-candidates", "The best candidates");
    const char **names = pictures_room(&d->set, count, sizeof *names);
    const ink data = picture_ink(p, SVG_BARS, "data", 0, count, true),
              both = picture_ink(p, SVG_BARS, "retraining, over the ensemble", 1, count, true),
              picked = picture_ink(p, SVG_MARKS, "picked", 1, count, false),
              start = picture_ink(p, SVG_MARKS, "prediction", 0, count, false);
    /* From the prediction (of a variance: from 0) to the score, shared out by the variances of its parts. */
    for (ptrdiff_t i = 0; i < count && !d->set.failed; i++) {
        const epiq_candidate *k = r->ranked[i];
        double sd = score_sd(r, &k->data, &k->procedural, &k->confidence),
               parts = k->data.variance + (r->ask->rule == EPIQ_RULE_DATA
                                               ? 0
                                               : k->procedural.variance / (double)r->estimate->ran->ensemble_size),
               share = parts > 0 ? k->data.variance / parts : 1;
        double from = by_interval(r) ? k->confidence.centre
                      : ucb          ? k->prediction
                                     : 0,
               reach = by_interval(r) ? k->confidence.hi - from
                       : ucb          ? r->ask->kappa * sd
                                      : sd * sd;
        double to = from + (ucb && r->ask->goal == EPIQ_GOAL_MIN ? -reach : reach),
               between = from + share * (to - from);
        /* a file's name may be long */
        names[i] = k->pick ? picture_text(p, "pick %td: candidate %td", k->pick, k->row)
                           : picture_text(p, "candidate %td", k->row);
        if (k->pick) ink_add(&picked, to, (double)i, NAN, NAN);
        ink_add(&data, between, (double)i, from, between);
        ink_add(&both, to, (double)i, between, to);
        ink_add(&start, from, (double)i, NAN, NAN);
    }
    start.series->ink = picked.series->ink = true;
    both.series->name = r->ask->rule == EPIQ_RULE_DATA ? NULL : both.series->name;
    p->panel.series_count = ucb ? 4 : 3;
    picture_rows(p, names, count);
    picture_axes(p, 420, 0,
                 ucb ? d->run->data.target : picture_text(p, "variance, in squared units of %s", d->run->data.target),
                 NULL);
    p->panel.describe = "one row per candidate, best first";
    p->caption = !ucb ? "The picks (square marks), then the others, best first; the longer the bar, the more there is "
                        "to learn."
                 : by_interval(r)
                     ? "The picks (square marks), then the others, best first. From the middle of the interval the "
                       "bar goes to the end that is the score; its colours share that out by the variances of both "
                       "parts."
                     : "The picks (square marks), then the others, best first. From the prediction the bar goes "
                       "kappa standard deviations to the score; its colours share that out by the variances of both "
                       "parts.";
    doc_picture(d, 0, 0);
}

static void draw_all(doc *d, const epiq_ranking *r)
{
    const ptrdiff_t most = r->count < PICTURED ? r->count : PICTURED;
    picture *p = pictures_add(&d->set, 1, 0, "prediction-against-standard-deviation", "All candidates");
    const ink rest = picture_ink(p, SVG_MARKS, "candidates", 0, most, false),
              picks = picture_ink(p, SVG_MARKS, "picked, in this order", 1, r->ask->batch, false);
    const char **labels = pictures_room(&d->set, r->ask->batch, sizeof *labels);
    const epiq_candidate *k;
    for (ptrdiff_t i = 0; !d->set.failed && (k = r->ranked[i]); i++) {
        const epiq_point *at = r->estimate->points[k->row - 1]; /* before any pick, to be compared */
        const ink *a = k->pick ? &picks : &rest;
        if (k->pick) labels[a->series->count] = picture_text(p, "%td", k->pick);
        if (k->pick || a->series->count < most) {
            ink_add(a, score_sd(r, &at->data, &at->procedural, &at->confidence), at->prediction, NAN, NAN);
        }
    }
    picks.series->labels = picks.series->count <= LABELLED_MAX ? labels : NULL;
    picture_axes(p, 420, 280,
                 r->ask->rule == EPIQ_RULE_DATA ? "standard deviation due to the data"
                 : by_interval(r)               ? "standard deviation of the interval's middle"
                                                : "standard deviation of the ensemble",
                 picture_text(p, "predicted %s", d->run->data.target));
    p->panel.label = "Prediction against standard deviation";
    p->panel.describe = "one mark per candidate; those picked are squares with their number";
    p->caption = rest.series->count + picks.series->count < r->count
                     ? "Before any pick: the farther right, the less sure. Only the best 3000 are drawn."
                     : "Before any pick: the farther right, the less sure. A batch spreads out, since observing one "
                       "candidate makes its neighbours surer too.";
    doc_picture(d, 1, 0);
}

/* ---- words and numbers ---- */

static void write_head(doc *d, const epiq_ranking *r, const char *score)
{
    const report_run *run = d->run;
    const bool largest = r->ask->goal == EPIQ_GOAL_MAX;
    doc_data(d);
    doc_say(d, "; %td candidate%s; %.3g s\nscore: %s\n", r->count, plural(r->count), run->seconds, score);
    doc_choice(d);
    doc_when(d, r->ask->rule == EPIQ_RULE_UCB, "looking for the %s %s; {--goal} %s looks for the other end\n",
             largest ? "largest" : "smallest", run->data.target, largest ? "min" : "max");
    doc_say(d, "\n");
}

static const char *candidate_name(const epiq_ranking *r, ptrdiff_t i)
{
    return r->estimate->points[r->ranked[i]->row - 1]->at;
}

static void write_table(doc *d, const epiq_ranking *r, ptrdiff_t shown)
{
    doc_column columns[] = {{"pick", "pick", .width = 5},
                            {"candidate", "candidate", DOC_LEFT | DOC_NAME, .gap = 2, .width = -9},
                            {"score", "score", 0, 5, 5, 2, 11, .name = "score"},
                            {"prediction", "prediction", 0, 5, 5, 2, 11, .name = "prediction"},
                            {"std dev", "std dev", 0, 4, 5, 2, 11, .name = "sd"},
                            {"data", "data", DOC_FOLD, 4, 5, 2, 11, .name = "data-sd"},
                            {"retraining", "retraining", DOC_FOLD, 4, 5, 2, 11, .name = "procedural-sd"}};
    const bool ucb = r->ask->rule == EPIQ_RULE_UCB; /* else the score is a variance */
    for (ptrdiff_t i = 0; i < shown; i++) {
        doc_widen(&columns[1], candidate_name(r, i));
    }
    doc_heading(d, "The ranking");
    doc_table_open(d, &(doc_table){DOC_COLUMNS(columns), .caption = "Candidates, best first"});
    for (ptrdiff_t i = 0; i < shown; i++) {
        const epiq_candidate *k = r->ranked[i];
        const double sd = score_sd(r, &k->data, &k->procedural, &k->confidence), score = k->known ? k->score : NAN;
        if (d->page && i == r->ask->batch) doc_group(d);
        doc_row(d, false, NULL, k->pick ? cell_words("%td", k->pick) : cell_text(""), cell_text(candidate_name(r, i)),
                cell_rounded(score, ucb ? epiqp_rounded_beside(score, sd) : epiqp_rounded_sd(score)),
                cell_rounded(k->prediction, epiqp_rounded_beside(k->prediction, sd)), cell_sd(sd),
                cell_part_sd(&k->data), cell_part_sd(&k->procedural));
    }
    doc_table_close(d);
    doc_when(d, shown < r->count, "... and %td more; {--top} N shows more, {--csv} and {--json} have all.\n",
             r->count - shown);
    doc_note(d,
             "Standard deviations are in units of the target, std dev that of the score" UNLESS_FOLDED(
                 ", retraining that of one network") "%s%s.",
             r->ask->batch > 1
                 ? "; each pick after the first is shown as if those before it had been observed as predicted"
                 : "",
             r->count > TABLE_MAX ? "; only the best 200 are listed, the files hold all" : "");
}

/* In the text: what to measure, a line for each pick. */
static void say_values(doc *d, const epiq_ranking *r)
{
    const epiq_candidate *k;
    doc_say(d, "What to measure:\n");
    for (ptrdiff_t i = 0; i < r->ask->batch && (k = r->ranked[i]); i++) {
        doc_say(d, "  %td  ", k->pick);
        doc_features(d, k->row - 1);
    }
    doc_say(d, "\n");
}

/* On the page: a line for each feature, a column for each of the first picks. */
static void write_values(doc *d, const epiq_ranking *r)
{
    const ptrdiff_t picks = r->ask->batch < PICKS_MAX ? r->ask->batch : PICKS_MAX;
    doc_column columns[PICKS_MAX + 1] = {{"feature", .align = DOC_LEFT | DOC_NAME}};
    doc_cell cells[PICKS_MAX + 1];
    phrase heads[PICKS_MAX];
    for (ptrdiff_t i = 0; i < picks; i++) {
        heads[i] = phrase_of("pick %td", r->ranked[i]->pick);
        columns[i + 1] = (doc_column){heads[i].text, .digits = 6, .name = "feature"};
    }
    doc_heading(d, "What to measure");
    doc_table_open(
        d, &(doc_table){.columns = (size_t)picks + 1, .column = columns, .caption = "The picks and their features"});
    for (ptrdiff_t f = 0; f < d->run->data.features; f++) {
        cells[0] = cell_text(d->run->data.feature[f]);
        for (ptrdiff_t i = 0; i < picks; i++) {
            cells[i + 1] = cell_number(rounded_value(d->a, r->ranked[i], f));
        }
        doc_row_of(d, false, NULL, cells);
    }
    doc_table_close(d);
    doc_note_when(d, picks < r->ask->batch, "Shown are the first %td of %td picks; the files hold all.", picks,
                  r->ask->batch);
}

static void describe(doc *d)
{
    const report_run *run = d->run;
    const epiq_ranking *r = d->a->ranking;
    const ptrdiff_t top = d->a->top > r->ask->batch ? d->a->top : r->ask->batch; /* every pick is shown */
    const ptrdiff_t most = d->page ? TABLE_MAX : top;
    const phrase score = score_text(r);
    doc_open(d, "epiq explore", phrase_of("Which of %td candidates to measure next", r->count).text, r->reason);
    doc_page(d, "<p>The score is %s; %td row%s of data.</p>\n", score.text, run->data.rows, plural(run->data.rows));
    write_head(d, r, score.text);
    if (d->page) {
        if (d->a->candidates) write_values(d, r);
        doc_page(d, "<div class=\"figures\">\n");
        draw_best(d, r);
        draw_all(d, r);
        doc_page(d, "</div>\n");
    }
    write_table(d, r, r->count < most ? r->count : most);
    doc_say(d, "std dev is the score's, of the mean of several networks; retraining is one network's.\n");
    doc_when(d, r->ask->batch > 1,
             "Each pick after the first is shown as if those before it had been observed as predicted%s.\n",
             r->estimate->training->members ? " (for networks an approximation)" : "");
    doc_when(d, !(r->estimate->ran->methods & (EPIQ_EV | EPIQ_BA)),
             "No network was trained, because the score needs none; predictions are kernel regression's.\n");
    doc_say(d, "\n");
    if (!d->page && d->a->candidates) say_values(d, r);
    doc_warnings(d);
    doc_conclusion(d, BOLD, "Why:", r->reason);
    doc_glossary(d, WORD_SCORE | WORD_PARTS | WORD_ENSEMBLE | (r->estimate->ran->methods & EPIQ_EV ? 0 : WORD_KERNEL));
    doc_close(d,
              FIELDS(FACT("rule", epiq_rule_text(r->ask->rule)),
                     FIELD("kappa", ROUNDED, by_interval(r) ? NULL : &r->ask->kappa),
                     FIELD("batch", COUNT, &r->ask->batch), FIELD("ensemble", COUNT, &r->estimate->ran->ensemble_size),
                     FACT_SHA(run), FIELD("seed", SEED, &run->options->seed)),
              run->options);
}

/* ---- for programs ---- */

#define RANKED(kind, member) FIELD(#member, kind, &k->member)
#define PICK FIELD_IF("pick", COUNT, &k->pick, FIELD_NONZERO)
#define SCORES                                                                                                         \
    FIELD("score", REAL, k->known ? &k->score : NULL), RANKED(REAL, prediction), RANKED(VARIANCE, procedural),         \
        RANKED(VARIANCE, data)

/* In the order of the features of `data`. */
static void write_json_values(json *j, const report_answer *a, const epiq_candidate *k)
{
    if (!a->candidates) return;
    json_array(j, "values", JSON_FLAT);
    for (ptrdiff_t f = 0; f < a->features->features; f++) {
        json_real(j, NULL, rounded_value(a, k, f));
    }
    json_end(j);
}

static void explore_json(FILE *out, const report_answer *a, const report_run *run)
{
    const epiq_ranking *r = a->ranking;
    const epiq_candidate *k;
    const char *rule = epiq_rule_text(r->ask->rule), *goal = r->ask->goal == EPIQ_GOAL_MIN ? "min" : "max";
    json j = json_begin(out, a, run);
    json_choice(&j, a->result, run);
    json_struct(
        &j, "explore", true, JSON_LINES,
        FIELDS(FIELD("rule", TEXT, &rule), FIELD("goal", TEXT, &goal),
               FIELD("kappa", REAL, by_interval(r) ? NULL : &r->ask->kappa), FIELD("batch", COUNT, &r->ask->batch),
               FIELD("ensemble_size", COUNT, &a->result->ran->ensemble_size), FIELD("reason", TEXT, &r->reason)));
    if (by_interval(r)) {
        const char *method = confidence_method(r->estimate->points[0]);
        json_struct(&j, "confidence", true, JSON_FLAT,
                    FIELDS(FIELD("method", TEXT, &method), FIELD("level", REAL, &r->estimate->ran->level),
                           FIELD("networks", COUNT, &r->ranked[0]->confidence.networks)));
    }
    json_array(&j, "ranked", JSON_LINES);
    for (ptrdiff_t i = 0; (k = r->ranked[i]); i++) {
        json_object(&j, NULL, JSON_FLAT);
        json_fields(&j,
                    FIELDS(RANKED(COUNT, row), FIELD("at", TEXT, &a->result->points[k->row - 1]->at), PICK, SCORES));
        if (by_interval(r)) {
            json_struct(&j, "confidence", k->confidence.known, JSON_FLAT,
                        FIELDS(FIELD("lo", REAL, &k->confidence.lo), FIELD("hi", REAL, &k->confidence.hi)));
        }
        write_json_values(&j, a, k);
        json_end(&j);
    }
    json_end(&j);
    json_finish(&j, a);
}

static void explore_csv(FILE *out, const report_answer *a)
{
    const epiq_candidate none = {0}, *k = &none; /* of which the names of the columns are written */
    for (ptrdiff_t i = 0; k; k = a->ranking->ranked[i++]) {
        if (by_interval(a->ranking)) {
            csv_fields(out, k == &none,
                       FIELDS(RANKED(COUNT, row), PICK, SCORES,
                              FIELD("confidence_lo", REAL, k->confidence.known ? &k->confidence.lo : NULL),
                              FIELD("confidence_hi", REAL, k->confidence.known ? &k->confidence.hi : NULL)));
        } else {
            csv_fields(out, k == &none, FIELDS(RANKED(COUNT, row), PICK, SCORES));
        }
        for (ptrdiff_t f = 0; a->candidates && f < a->features->features; f++) {
            putc(',', out);
            csv_text(out, k == &none ? a->features->feature[f] : value_text(a, k, f).text);
        }
        putc('\n', out);
    }
}

const report_writers EXPLORE_WRITERS = {explore_json, explore_csv, describe};
