/* score.c - a model judged on rows whose target is known: a verdict and the numbers behind it as text and page, pictures of errors
 * and calibration, JSON and CSV (docs/json.md).
 */
#include "common/rounded.h"
#include "report/doc.h"
#include "report/manifest.h"

#include <math.h>

enum {
    FEWEST = 10,         /* rows from which intervals are judged */
    DOTS_MAX = 2000,     /* rows drawn: more are one blot */
    INTERVALS_MAX = 150, /* rows drawn with their intervals: more would hide each other */
    TABLE_MAX = 200,     /* rows listed on the page */
    LEVELS = 99,
    SIDE = 380
};
enum { OBSERVED, CALIBRATION, TENTHS };

static bool known(const epiq_scores *s, ptrdiff_t i, int part)
{
    return s->known[i] & part;
}

static bool judged(const epiq_scores *s, ptrdiff_t i)
{
    return known(s, i, EPIQ_SD) && known(s, i, EPIQ_NOISE);
}

/* Among all rows of the file, from 1. */
static ptrdiff_t row_number(const epiq_scores *s, ptrdiff_t i)
{
    return s->row ? s->row[i] : i + 1;
}

static ptrdiff_t stride(ptrdiff_t all, ptrdiff_t most)
{
    return (all + most - 1) / most;
}

static double percent(double share)
{
    return 100 * share;
}

/* ---- in words ---- */

/* Can this model be trusted on these rows? */
static phrase verdict(const epiq_scores *s, const epiq_fit_error *fit)
{
    const epiq_coverage *v = s->coverage;
    const bool worse = fit->known && s->rmse > 1.5 * fit->rmse;
    const char *much =
        worse ? " Errors are larger than on rows left out when it was fitted: are these rows of the same kind?" : "";
    if (s->has_r2 && s->r2 <= 0) {
        return phrase_of("Do not trust this model on these rows: it predicts no better than their mean.%s", much);
    }
    if (!s->judged && s->withheld) {
        return phrase_of(
            "How far to trust it is not known: all of these rows lie outside the data that it has learned from.%s",
            much);
    }
    if (!v->known) {
        return phrase_of("How far to trust it is not known here, since it gives no intervals at this level.%s", much);
    }
    for (ptrdiff_t i = 0; i < s->warning_count; i++) {
        if (s->warnings[i]->kind == EPIQ_W_SEEN_ROWS) {
            return phrase_of("These rows say little of it, if they are those that it has learned from: give others.%s",
                             much);
        }
    }
    if (s->judged < FEWEST) {
        return phrase_of("%td row%s cannot tell how far to trust it: give more.%s", s->judged, plural(s->judged), much);
    }
    if (v->hi < v->level) {
        return phrase_of("Trust its intervals less than they say: they hold fewer of these rows than they should.%s",
                         much);
    }
    const epiq_coverage *short_of = NULL; /* the level that they miss by most */
    for (ptrdiff_t i = 0; s->calibration[i]; i++) {
        const epiq_coverage *other = s->calibration[i];
        const bool fewer = other->known && other->hi < other->level;
        if (fewer && (!short_of || other->level - other->hi > short_of->level - short_of->hi)) short_of = other;
    }
    if (short_of) {
        return phrase_of(
            "Trust its intervals a little less than they say: those of %.4g %% hold as many of these rows as "
            "they should, those of %.4g %% fewer (%.0f %%).%s",
            percent(v->level), percent(short_of->level), percent(short_of->share), much);
    }
    if (v->lo > v->level) {
        return phrase_of("Its intervals can be trusted, and are wider than these rows need.%s", much);
    }
    return phrase_of("Its intervals can be trusted on rows like these: they hold as many as they should%s.%s",
                     s->judged < 100 ? ", as far as so few rows can tell" : "", much);
}

static phrase errors_text(const epiq_scores *s, const epiq_fit_error *fit)
{
    const phrase r2 = s->has_r2 ? phrase_of(" (R2 %s)", epiqp_rounded_r2(s->r2).text) : phrase_of("%s", ""),
                 before = fit->known
                              ? phrase_of("; on rows left out when it was fitted %s", epiqp_rounded_sd(fit->rmse).text)
                              : phrase_of("%s", "");
    return phrase_of("Typical error %s%.40s, mean absolute error %s%.100s", epiqp_rounded_sd(s->rmse).text, r2.text,
                     epiqp_rounded_sd(s->mae).text, before.text);
}

static phrase intervals_text(const epiq_scores *s)
{
    const epiq_coverage *v = s->coverage;
    return phrase_of(
        "%.4g %% intervals hold %td of %td rows (%.0f %%; %.0f to %.0f %% allowing for chance), mean width %s",
        percent(v->level), v->inside, s->judged, percent(v->share), percent(v->lo), percent(v->hi),
        epiqp_rounded_sd(s->width).text);
}

static void write_answer(doc *d, const epiq_scores *s, const epiq_fit_error *fit)
{
    const phrase errors = errors_text(s, fit), intervals = intervals_text(s);
    doc_say(d, "%s\n", errors.text);
    doc_when(d, s->coverage->known, "%s\n", intervals.text);
    doc_when(d, s->has_likelihood,
             "Errors are %s times the standard deviations given; log likelihood %s, CRPS %s per row\n",
             epiqp_rounded_sd(sqrt(s->squared_z)).text, epiqp_rounded_to(s->log_likelihood, 3).text,
             epiqp_rounded_sd(s->crps).text);
    doc_page(d, "<p>%s.", errors.text);
    doc_page_when(d, s->coverage->known, " %s.", intervals.text);
    doc_page(d, "</p>\n");
}

static void write_calibration(doc *d, const epiq_scores *s)
{
    const doc_column columns[] = {
        {"interval of y", "interval of y", DOC_LEFT | DOC_NAME, .gap = 2, .width = -14},
        {"rows inside", "rows inside", .gap = 2, .width = 11},
        {"share", "share", .gap = 2, .width = 7},
        {"allowing for chance", "allowing for chance", DOC_LEFT, .gap = 3},
    };
    const epiq_coverage *v;
    if (!s->calibration[0]->known) return;
    doc_heading(d, "Calibration");
    doc_table_open(d, &(doc_table){DOC_COLUMNS(columns), .caption = "Rows inside their interval, by its level"});
    for (ptrdiff_t k = 0; (v = s->calibration[k]); k++) {
        if (!v->known) continue;
        doc_row(d, false, NULL, cell_words("%.4g %%", percent(v->level)), cell_words("%td", v->inside),
                cell_words("%.0f %%", percent(v->share)),
                cell_words("%.0f to %.0f %%", percent(v->lo), percent(v->hi)));
    }
    doc_table_close(d);
}

/* ---- pictures ---- */

static void draw_observed(doc *d, const epiq_scores *s)
{
    const ptrdiff_t step = stride(s->rows, DOTS_MAX);
    const bool bars = s->judged && s->rows <= INTERVALS_MAX;
    picture *p = pictures_add(&d->set, OBSERVED, 0, "predicted-against-observed", "Predicted against observed");
    const char *name = !bars ? "a row" : picture_text(p, "a row with its %.4g %% interval", percent(s->level));
    const ink rows = picture_ink(p, SVG_MARKS, name, 0, s->rows / step + 1, bars),
              equal = picture_ink(p, SVG_LINE, "equal", 1, 2, false);
    double lo = INFINITY, hi = -INFINITY;
    for (ptrdiff_t i = 0; i < s->rows; i += step) {
        const bool bar = bars && known(s, i, EPIQ_INTERVAL);
        ink_add(&rows, s->y[i], s->prediction[i], bar ? s->lo[i] : NAN, bar ? s->hi[i] : NAN);
        lo = fmin(lo, fmin(s->y[i], s->prediction[i]));
        hi = fmax(hi, fmax(s->y[i], s->prediction[i]));
    }
    ink_add(&equal, lo, lo, NAN, NAN);
    ink_add(&equal, hi, hi, NAN, NAN);
    equal.series->ink = true;
    picture_axes(p, SIDE, SIDE, picture_text(p, "%s observed", d->run->data.target),
                 picture_text(p, "%s predicted", d->run->data.target));
    p->caption = picture_text(p, "The nearer to the line, the better the prediction%s%s.",
                              bars ? "; an interval that crosses the line holds its row" : "",
                              step > 1 ? picture_text(p, "; drawn is every %tdth row", step) : "");
    p->panel.describe =
        picture_text(p, "%td marks of predicted against observed values, and the diagonal.", rows.series->count);
    doc_picture(d, OBSERVED, 0);
}

static double share_inside(const epiq_scores *s, double level)
{
    ptrdiff_t inside = 0;
    for (ptrdiff_t i = 0; i < s->rows; i++) {
        inside += judged(s, i) && s->within[i] < level;
    }
    return (double)inside / (double)s->judged;
}

static void draw_calibration(doc *d, const epiq_scores *s, double most_level)
{
    picture *p = pictures_add(&d->set, CALIBRATION, 0, "calibration", "Do intervals hold what they promise?");
    const ink promise = picture_ink(p, SVG_LINE, "as promised, ± 2 standard errors of chance", 1, LEVELS, true),
              rows = picture_ink(p, SVG_LINE, "rows inside their interval", 0, LEVELS, false);
    for (int k = 0; k < LEVELS; k++) {
        const double level = (k + 1) / 100.0, chance = 2 * sqrt(level * (1 - level) / (double)s->judged);
        ink_add(&promise, percent(level), percent(level), percent(fmax(0, level - chance)),
                percent(fmin(1, level + chance)));
        if (level <= most_level) ink_add(&rows, percent(level), percent(share_inside(s, level)), NAN, NAN);
    }
    promise.series->ink = true;
    picture_axes(p, SIDE, SIDE, "level of the interval, %", "rows inside it, %");
    p->panel.x_hi = p->panel.y_hi = 100;
    p->caption = "Above the dashed line intervals are wider than these rows need, below it too narrow.";
    p->panel.describe =
        "The share of rows inside their interval against its level; with honest intervals it is the diagonal.";
    doc_picture(d, CALIBRATION, 0);
}

static void draw_tenths(doc *d, const epiq_scores *s)
{
    picture *p = pictures_add(&d->set, TENTHS, 0, "tenths", "Where in its distribution each row lies");
    const ink bars = picture_ink(p, SVG_BARS, "rows", 0, EPIQ_PIT, true);
    const char **names = pictures_room(&d->set, EPIQ_PIT, sizeof *names);
    if (d->set.failed) return;
    for (int k = 0; k < EPIQ_PIT; k++) {
        names[k] = k == 0              ? "lowest tenth"
                   : k == EPIQ_PIT - 1 ? "highest tenth"
                                       : picture_text(p, "%d to %d %%", 10 * k, 10 * k + 10);
        ink_add(&bars, (double)s->pit[k], k, 0, (double)s->pit[k]);
    }
    picture_rows(p, names, EPIQ_PIT);
    picture_rule(p, (double)s->judged / EPIQ_PIT, true, "a tenth of the rows");
    picture_axes(p, SIDE, 0, "rows", NULL);
    p->caption =
        "A normal distribution with the standard deviations given is cut into tenths: long bars at both ends are "
        "standard deviations too small, in the middle too large, at one end predictions too high or too low.";
    p->panel.describe =
        "One bar per tenth of the predicted distribution; with honest standard deviations all are alike.";
    doc_picture(d, TENTHS, 0);
}

static void draw(doc *d, const epiq_scores *s)
{
    doc_page(d, "<div class=\"figures\">\n");
    draw_observed(d, s);
    if (s->judged && d->a->model->most_level > 0) draw_calibration(d, s, d->a->model->most_level);
    if (s->judged) draw_tenths(d, s);
    doc_page(d, "</div>\n");
}

/* ---- on the page ---- */

static void write_numbers(doc *d, const epiq_scores *s)
{
    const doc_column columns[] = {{"score", .align = DOC_LEFT | DOC_NAME},
                                  {"value", .digits = 4, .name = "value"},
                                  {"what it is", .align = DOC_LEFT}};
    const double none = NAN;
    const struct {
        const char *name;
        double value;
        const char *is;
    } ROWS[] = {
        {"root mean square error", s->rmse, "in units of the target, of all rows"},
        {"mean absolute error", s->mae, "the same without squares"},
        {"R2", s->has_r2 ? s->r2 : none, "1 is perfect, 0 no better than the mean of these rows"},
        {"coverage", s->coverage->known ? s->coverage->share : none, "share of rows inside their interval"},
        {"width", s->coverage->known ? s->width : none, "of the intervals, on average"},
        {"interval score", s->coverage->known ? s->interval_score : none,
         "width, and 2/(1 - level) times how far rows lie outside; smaller is better"},
        {"log likelihood", s->has_likelihood ? s->log_likelihood : none, "per row; larger is better"},
        {"CRPS", s->judged ? s->crps : none,
         "continuous ranked probability score, in units of the target; smaller is better"},
        {"mean squared standardised error", s->has_likelihood ? s->squared_z : none,
         "1 where standard deviations are right"},
    };
    doc_heading(d, "Scores");
    doc_table_open(d, &(doc_table){DOC_COLUMNS(columns), .caption = "Scores of the model on these rows"});
    for (size_t k = 0; k < sizeof ROWS / sizeof *ROWS; k++) {
        doc_row(d, false, NULL, cell_text(ROWS[k].name), cell_number(ROWS[k].value), cell_text(ROWS[k].is));
    }
    doc_table_close(d);
}

/* The rows with the largest errors over their standard deviation would hide where rows are; they come in their own order. */
static void write_rows(doc *d, const epiq_scores *s)
{
    const doc_column columns[] = {{"row", .align = DOC_NAME},
                                  {"observed", .digits = 5, .name = "y"},
                                  {"predicted", .digits = 5, .name = "prediction"},
                                  {"std dev", .align = DOC_FOLD, .digits = 3, .name = "sd"},
                                  {"noise", .align = DOC_FOLD, .digits = 3, .name = "noise"},
                                  {"from", .digits = 5, .name = "lo"},
                                  {"to", .digits = 5, .name = "hi"}};
    const ptrdiff_t shown = s->rows < TABLE_MAX ? s->rows : TABLE_MAX;
    doc_heading(d, "Rows");
    doc_table_open(d, &(doc_table){DOC_COLUMNS(columns), .caption = "Rows with their predictions and intervals"});
    for (ptrdiff_t i = 0; i < shown; i++) {
        const bool interval = known(s, i, EPIQ_INTERVAL);
        doc_row(d, false, NULL, cell_words("%td", row_number(s, i)), cell_number(s->y[i]),
                cell_number(s->prediction[i]), cell_number(known(s, i, EPIQ_SD) ? s->sd[i] : NAN),
                cell_number(known(s, i, EPIQ_NOISE) ? s->noise[i] : NAN), cell_number(interval ? s->lo[i] : NAN),
                cell_number(interval ? s->hi[i] : NAN));
    }
    doc_table_close(d);
    doc_note_when(d, shown < s->rows, "Shown are the first %td of %td rows; {--csv} and {--json} have all.", shown,
                  s->rows);
}

static void describe(doc *d)
{
    const epiq_scores *s = d->a->scores;
    const epiq_model_info *m = d->a->model;
    const phrase answer = verdict(s, m->fit);
    const epiq_warning *w;
    doc_open(d, "epiq score", "Can this model be trusted on these rows?", answer.text);
    doc_page(d, "<p>%td row%s of %s; the model %s has learned %s from %td.</p>\n", s->rows, plural(s->rows), d->a->test,
             d->a->file, m->target, m->rows);
    doc_say(d, "%s: %td row%s; the model has learned %s from %td\n\n", d->a->test, s->rows, plural(s->rows), m->target,
            m->rows);
    write_answer(d, s, m->fit);
    if (d->page) draw(d, s);
    doc_say(d, "\n");
    write_calibration(d, s);
    doc_say(d, "\n");
    if (d->page) {
        write_numbers(d, s);
        doc_warnings(d);
        write_rows(d, s);
    }
    for (ptrdiff_t i = 0; !d->page && (w = report_warning(d->a, i)); i++) {
        doc_conclusion(d, YELLOW, "Warning:", w->message);
    }
    doc_conclusion(d, BOLD, "Verdict:", answer.text);
    doc_glossary(d, WORD_PARTS | WORD_NOISE | WORD_INTERVAL);
    doc_close(d,
              FIELDS(FACT("model", d->a->file), FACT("rows", d->a->test), FIELD("level", ROUNDED, &s->level),
                     FACT("model's data, SHA-256", m->sha256), FACT("model made by epiq", m->version)),
              m->options);
}

/* ---- for programs ---- */

static void json_coverage(json *j, const char *key, const epiq_coverage *v)
{
    json_struct(j, key, v->known, JSON_FLAT,
                FIELDS(FIELD("level", REAL, &v->level), FIELD("share", REAL, &v->share),
                       FIELD("rows", COUNT, &v->inside), FIELD("interval", RANGE, ((const double[]){v->lo, v->hi}))));
}

static void json_model(json *j, const report_answer *a)
{
    const epiq_model_info *m = a->model;
    const epiq_fit_error *f = m->fit;
    const double noise_sd = sqrt(f->noise_variance);
    const phrase by = fit_by(f);
    const char *text = by.text;
    json_object(j, "model", JSON_LINES);
    json_fields(j, FIELDS(FIELD("file", TEXT, &a->file), FIELD("version", TEXT, &m->version),
                          FIELD("data_sha256", TEXT, &m->sha256), FIELD("rows", COUNT, &m->rows)));
    json_array(j, "features", JSON_FLAT);
    for (ptrdiff_t k = 0; k < m->features; k++) {
        json_text(j, NULL, m->feature[k]);
    }
    json_end(j);
    json_fields(j, FIELDS(FIELD("target", TEXT, &m->target)));
    json_struct(j, "fit", f->known, JSON_FLAT,
                FIELDS(FIELD("rmse", REAL, &f->rmse), FIELD("r2", REAL, f->has_r2 ? &f->r2 : NULL),
                       FIELD("noise_sd", REAL, &noise_sd), FIELD("by", TEXT, &text)));
    json_end(j);
}

static void json_score(json *j, const report_answer *a)
{
    const epiq_scores *s = a->scores;
    const epiq_coverage *v = s->coverage;
    const phrase answer = verdict(s, a->model->fit);
    const char *text = answer.text;
    json_object(j, "score", JSON_LINES);
    json_fields(j, FIELDS(FIELD("file", TEXT, &a->test), FIELD("rows", COUNT, &s->rows), FIELD("rmse", REAL, &s->rmse),
                          FIELD("mae", REAL, &s->mae), FIELD("r2", REAL, s->has_r2 ? &s->r2 : NULL),
                          FIELD("judged", COUNT, &s->judged), FIELD("outside", COUNT, &s->withheld)));
    if (s->dropped) json_fields(j, FIELDS(FIELD("dropped", COUNT, &s->dropped)));
    json_coverage(j, "coverage", v);
    json_fields(j, FIELDS(FIELD("width", REAL, v->known ? &s->width : NULL),
                          FIELD("interval_score", REAL, v->known ? &s->interval_score : NULL),
                          FIELD("crps", REAL, s->judged ? &s->crps : NULL),
                          FIELD("log_likelihood", REAL, s->has_likelihood ? &s->log_likelihood : NULL),
                          FIELD("squared_z", REAL, s->has_likelihood ? &s->squared_z : NULL)));
    json_array(j, "calibration", JSON_LINES);
    for (ptrdiff_t k = 0; (v = s->calibration[k]); k++) {
        if (v->known) json_coverage(j, NULL, v);
    }
    json_end(j);
    json_array(j, "pit", JSON_FLAT);
    for (int k = 0; k < EPIQ_PIT; k++) {
        json_real(j, NULL, (double)s->pit[k]);
    }
    json_end(j);
    json_fields(j, FIELDS(FIELD("verdict", TEXT, &text)));
    json_end(j);
}

#define NUMBER(member, part) FIELD(#member, REAL, known(s, i, part) ? &s->member[i] : NULL)
#define ROW_FIELDS                                                                                                     \
    FIELDS(FIELD("row", COUNT, &row), FIELD("y", REAL, &s->y[i]), NUMBER(prediction, EPIQ_PREDICTION),                 \
           NUMBER(sd, EPIQ_SD), NUMBER(lo, EPIQ_INTERVAL), NUMBER(hi, EPIQ_INTERVAL), NUMBER(noise, EPIQ_NOISE))

static void score_json(FILE *out, const report_answer *a, const report_run *run)
{
    const epiq_scores *s = a->scores;
    const manifest m = {.threads = run->options->threads};
    json j = {.out = out};
    json_object(&j, NULL, JSON_LINES);
    json_run(&j, &m, run, a->model->options);
    json_model(&j, a);
    json_score(&j, a);
    json_array(&j, "rows", JSON_LINES);
    for (ptrdiff_t i = 0; i < s->rows; i++) {
        const ptrdiff_t row = row_number(s, i);
        json_struct(&j, NULL, true, JSON_FLAT, ROW_FIELDS);
    }
    json_end(&j);
    json_finish(&j, a);
}

static void score_csv(FILE *out, const report_answer *a)
{
    const epiq_scores *s = a->scores;
    for (ptrdiff_t line = 0; line <= s->rows; line++) {
        const ptrdiff_t i = line ? line - 1 : 0, row = row_number(s, i);
        csv_line(out, !line, ROW_FIELDS);
    }
}

const report_writers SCORE_WRITERS = {score_json, score_csv, describe};
