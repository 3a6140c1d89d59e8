/* estimate_answer.c - the answer of an estimate in a few sentences, the same in the text and at the top of the page: what was
 * learned from, how good predictions are, how sure they are where they were asked for, and mostly why.
 */
#include "report/estimate_doc.h"
#include "report/format.h"

#include <math.h>
#include <string.h>

enum { LINES_MAX = 20 }; /* points listed in the text */

static const double MOSTLY = 2;         /* a part that is this many times the rest is named as the cause */
static const double TYPICALLY = 0.7;    /* of the mean noise: where a typical row has less, both are told */
static const double MOSTLY_NOISE = 0.5; /* of the error: where noise is less, a reader would look for the rest of it */

/* ---- numbers ---- */

/* On the page in full too. */
static phrase marked(const doc *d, const char *name, double v, epiqp_digits rounded)
{
    return d->page && isfinite(v) ? phrase_of("<b data-%s=\"%s\">%s</b>", name, number_text(v).text, rounded.text)
                                  : phrase_of("%s", rounded.text);
}

static phrase sd_text(const doc *d, const char *name, double sd)
{
    return marked(d, name, sd, epiqp_rounded_sd(sd));
}

static phrase value_text(const doc *d, const char *name, double v, double sd)
{
    return marked(d, name, v, epiqp_rounded_beside(v, sd));
}

/* ---- what was learned from, and how good it is ---- */

static void write_networks(doc *d)
{
    const epiq_options *o = d->r->ran;
    const ptrdiff_t count = o->methods & EPIQ_EV ? o->members : d->r->training->members;
    if (o->engine == EPIQ_ENGINE_INFINITE || !(o->methods & (EPIQ_EV | EPIQ_BA))) {
        doc_say(d, "infinitely wide networks");
    } else {
        doc_say(d, "%td%s network%s of ", count, o->engine == EPIQ_ENGINE_LINEAR ? " linearised" : "", plural(count));
        doc_when(d, o->depth > 1, "%td layers of ", o->depth);
        doc_say(d, "%td unit%s", o->width, plural(o->width));
    }
    doc_say(d, ", lambda %s", epiqp_rounded_plain(o->lambda).text);
    const bool timed = o->engine == EPIQ_ENGINE_NETWORK && o->optimizer == EPIQ_OPTIMIZER_FLOW && o->steps > 0;
    doc_when(d, timed, ", stopped at time %s", epiqp_rounded_plain(o->lr * (double)o->steps).text);
    const ptrdiff_t tried = d->r->model_choice->known ? d->r->model_choice->tried_count : 0;
    doc_when(d, tried, ", chosen from %td model%s", tried, plural(tried));
}

static void write_source(doc *d)
{
    const epiq_data_info *data = &d->run->data;
    if (d->run->given) {
        describe_combined(d);
        return;
    }
    doc_say(d, "%td row%s, %td feature%s, target %s; ", data->rows, plural(data->rows), data->features,
            plural(data->features), data->target);
    write_networks(d);
    doc_say(d, "; %s s\n", epiqp_rounded_sd(d->run->seconds).text);
}

static bool useless(const epiq_fit_error *f)
{
    return f->known && f->no_skill;
}

void write_useless(doc *d)
{
    const epiq_fit_error *f = d->r->fit;
    if (!useless(f)) return;
    doc_page(d, "<p class=\"answer\">");
    const bool open = f->r2 > f->r2_se;
    doc_put(d, YELLOW, open ? "UNPROVEN:" : "USELESS:");
    doc_page(d, open ? "<b>Unproven:</b>" : "<b>Useless:</b>");
    doc_sentence(d, open, " %td rows cannot tell whether the networks predict new rows better than the mean of %s does",
                 d->run->data.rows, d->run->data.target);
    doc_sentence(d, !open,
                 " on rows they have not seen, the networks predict no better than the mean of %s, as far as %td rows "
                 "can tell",
                 d->run->data.target, d->run->data.rows);
    doc_sentence(d, true, " (R2 %s %s %.2g).%s", epiqp_rounded_r2(f->r2).text, d->page ? "±" : "+-", f->r2_se,
                 open ? "" : " What follows says how well a useless prediction is known.");
    doc_sentence(d, true, d->page ? "</p>\n" : "\n");
}

void write_error(doc *d)
{
    const epiq_fit_error *f = d->r->fit;
    if (!f->known || !f->has_r2) return; /* a target with one value: a warning says so, and errors say nothing */
    doc_sentence(d, true, "On rows not seen in training, predictions of %s are off by about %-s", d->run->data.target,
                 sd_text(d, "rmse", f->rmse).text);
    doc_sentence(d, true, " (R2 %-s)", marked(d, "r2", f->r2, epiqp_rounded_r2(f->r2)).text);
    const ptrdiff_t rows = d->run->data.rows;
    doc_sentence(d, rows > 0 && rows < FEW_ROWS, ", as far as %td rows can tell", rows);
    const double noise_sd = sqrt(f->noise_variance);
    const bool learns = f->twice > 0 && f->twice * f->rmse < noise_sd; /* then part of it is no noise */
    doc_sentence(d, true,
                 learns ? "; noise, with what more rows would still teach, is about %-s on average"
                        : "; noise alone is about %-s on average",
                 sd_text(d, "noise-sd", noise_sd).text);
    const epiq_quantiles *noise = &d->r->summary->noise_sd;
    doc_sentence(d, noise->known && noise->median < TYPICALLY * noise_sd, ", %s at a typical row",
                 epiqp_rounded_sd(noise->median).text);
    doc_sentence(d, noise_sd < MOSTLY_NOISE * f->rmse,
                 ", the rest of the error is what other rows and retraining would change");
    doc_sentence(d, true, ".%-s", d->page ? " " : "\n");
}

/* ---- at a point ---- */

void write_place(doc *d, const char *at)
{
    const bool row = strncmp(at, "row:", 4) == 0;
    doc_sentence(d, true, "%s%s", row ? "row " : point_prefix(at),
                 strcmp(at, "mean") == 0 ? "the mean row"
                 : row                   ? at + 4
                                         : at);
}

/* Of the prediction, if it is known; else by retraining alone; else NAN, and what is known is that of an ensemble. */
static double known_sd(const epiq_point *p)
{
    const bool retrained = p->procedural.known && p->member_count;
    return p->prediction_variance.known ? part_sd(&p->prediction_variance)
           : retrained                  ? sqrt(p->procedural.variance / (double)p->member_count)
                                        : NAN;
}

void write_prediction(doc *d, const epiq_point *p)
{
    const bool whole = p->prediction_variance.known, retrained = !whole && isfinite(known_sd(p)),
               ensemble = !whole && !retrained && p->ensemble.known;
    const double sd = ensemble ? part_sd(&p->ensemble) : known_sd(p);
    doc_sentence(d, true, "At ");
    write_place(d, p->at);
    doc_sentence(d, true, " the predicted %s is %-s", d->run->data.target,
                 value_text(d, "prediction", p->prediction, sd).text);
    doc_sentence(d, whole, ", give or take %-s (its standard deviation)", sd_text(d, "sd", sd).text);
    doc_sentence(d, retrained, ", give or take %s by retraining alone: what other rows would change is unknown",
                 epiqp_rounded_sd(sd).text);
    doc_sentence(d, ensemble, ", give or take %s (standard deviation of an ensemble of %td)", epiqp_rounded_sd(sd).text,
                 d->r->ran->ensemble_size);
    doc_sentence(d, true, d->page ? ". " : ".\n");
}

/* The part of the variance that outweighs the others together; "": none does. */
static const char *cause(double noise, double data, double retraining)
{
    return noise > MOSTLY * (data + retraining)   ? ", mostly noise"
           : data > MOSTLY * (noise + retraining) ? ", mostly because of the data"
           : retraining > MOSTLY * (noise + data) ? ", mostly because of retraining"
                                                  : "";
}

/* "standard deviation 2.4, mostly noise: noise 2.2, data 0.53, retraining 0.79; squares add" */
void write_composition(doc *d, const epiq_point *p)
{
    const double noise = p->predictive.noise, m = (double)p->member_count;
    const bool retrained = p->procedural.known && p->member_count;
    const double data = p->data.known ? p->data.variance : 0, retraining = retrained ? p->procedural.variance / m : 0;
    doc_sentence(d, p->prediction_variance.known,
                 "standard deviation %s%s: ", epiqp_rounded_sd(sqrt(noise + p->prediction_variance.variance)).text,
                 cause(noise, data, retraining));
    doc_sentence(d, true, "noise %-s", sd_text(d, "point-noise-sd", sqrt(noise)).text);
    doc_sentence(d, p->data.known, ", data %s", epiqp_rounded_sd(sqrt(data)).text);
    doc_sentence(d, retrained, ", retraining %s", epiqp_rounded_sd(sqrt(retraining)).text);
    doc_sentence(d, p->data.known || retrained, "; squares add");
}

/* The ends to match the distance of y from the prediction. */
static double y_sd(const epiq_point *p)
{
    return sqrt(p->predictive.noise + (p->prediction_variance.known ? p->prediction_variance.variance : 0));
}

void write_interval(doc *d, const epiq_point *p)
{
    const double sd = y_sd(p);
    doc_sentence(d, true, "%-s to %-s",
                 marked(d, "predictive-lo", p->predictive.lo, epiqp_rounded_end(p->predictive.lo, sd)).text,
                 marked(d, "predictive-hi", p->predictive.hi, epiqp_rounded_end(p->predictive.hi, sd)).text);
}

doc_cell cell_interval(const epiq_point *p)
{
    const double sd = y_sd(p);
    return p->predictive.known ? cell_words("%s to %s", epiqp_rounded_end(p->predictive.lo, sd).text,
                                            epiqp_rounded_end(p->predictive.hi, sd).text)
                               : cell_text("none");
}

static bool warned_of(const epiq_result *r, int kind)
{
    ptrdiff_t i = 0;
    while (i < r->warning_count && r->warnings[i]->kind != kind) {
        i++;
    }
    return i < r->warning_count;
}

/* Errors of rows and a standard deviation are known here: where there is no interval, the place is why. */
static bool misplaced(const doc *d, const epiq_point *p)
{
    return d->r->fit->known && p->prediction_variance.known;
}

/* Here: at the point just named; else where it is so. */
static void write_no_interval(doc *d, bool here, bool by_place)
{
    const bool few = warned_of(d->r, EPIQ_W_NO_PREDICTIVE),
               outside =
                   !few && by_place && (warned_of(d->r, EPIQ_W_OUTSIDE_DATA) || warned_of(d->r, EPIQ_W_OUTSIDE_RANGE)),
               unsolved = !few && !outside && d->r->ran->methods & EPIQ_IF;
    const bool ranged = warned_of(d->r, EPIQ_W_OUTSIDE_RANGE); /* whose warning names a feature */
    doc_sentence(d, outside && here && ranged,
                 "No prediction interval: this point lies outside the data, where the errors of the rows say nothing.");
    doc_sentence(
        d, outside && here && !ranged,
        "No prediction interval: each feature is within its range here, but no row is near in all of them, and "
        "the errors of the rows say nothing.");
    doc_sentence(
        d, outside && !here,
        "No prediction interval where a point lies outside the data: the errors of the rows say nothing there.");
    doc_sentence(d, few, "No prediction interval: a warning says why.");
    doc_sentence(d, unsolved,
                 "No prediction interval: it is made from errors on rows left out, which need {--solver} exact and no "
                 "{--time}.");
    doc_sentence(d, !few && !outside && !unsolved,
                 d->run->given ? "No prediction interval: it needs a kernel with y."
                               : "No prediction interval: it needs the method if ({--methods} if,ev).");
}

void write_observation(doc *d, const epiq_point *p)
{
    if (!p->predictive.known) {
        write_no_interval(d, true, misplaced(d, p));
        return;
    }
    doc_sentence(d, true, "%.4g %% prediction interval: ", 100 * d->run->options->level);
    write_interval(d, p);
    doc_sentence(d, true, " (");
    write_composition(d, p);
    doc_sentence(d, true, ").");
}

void write_confidence(doc *d, const epiq_point *p)
{
    const epiq_confidence *c = &p->confidence;
    const double sd = sqrt(c->variance);
    if (!d->r->ran->confidence) return;
    doc_sentence(d, !c->known, "The interval of the expected prediction is not known.%-s", d->page ? " " : "\n");
    doc_sentence(d, c->known,
                 "%.4g %% interval of the expected prediction, what infinitely many networks on tables like this would "
                 "predict: %-s to %-s (%s, %td %s).%-s",
                 100 * d->run->options->level, marked(d, "confidence-lo", c->lo, epiqp_rounded_end(c->lo, sd)).text,
                 marked(d, "confidence-hi", c->hi, epiqp_rounded_end(c->hi, sd)).text, confidence_method(p),
                 c->networks, c->networks == 1 ? "training" : "trainings", d->page ? " " : "\n");
}

/* ---- at several points, in the text ---- */

/* Of a point of the table: not one of the rows that are summed up. */
static bool listed(const epiq_point *p)
{
    return !p->left_out;
}

static void write_point_line(doc *d, const epiq_point *p, double sd)
{
    doc_row(d, false, NULL, cell_text(p->at), cell_rounded(p->prediction, epiqp_rounded_beside(p->prediction, sd)),
            cell_sd(sd), cell_interval(p));
}

static void write_points(doc *d, ptrdiff_t count)
{
    const phrase interval = phrase_of("%.4g %% prediction interval", 100 * d->run->options->level);
    doc_column columns[] = {{NULL, "", .gap = 2, .width = -4},
                            {NULL, "prediction", .gap = 2, .width = 12},
                            {NULL, "std dev", .gap = 2, .width = 9},
                            {NULL, interval.text, .gap = 3}};
    const epiq_point *p;
    bool outside = false, none = false, alone = false, ensemble = true;
    for (ptrdiff_t i = 0, shown = 0; (p = d->r->points[i]) && shown < LINES_MAX; i++) {
        if (!listed(p)) continue;
        ensemble = ensemble && p->ensemble.known && !isfinite(known_sd(p));
        doc_widen(&columns[0], p->at);
        doc_widen(&columns[1], epiqp_rounded_beside(p->prediction, known_sd(p)).text);
        shown++;
    }
    doc_table_open(d, &(doc_table){DOC_COLUMNS(columns)});
    for (ptrdiff_t i = 0, shown = 0; (p = d->r->points[i]) && shown < LINES_MAX; i++) {
        if (!listed(p)) continue;
        write_point_line(d, p, ensemble ? part_sd(&p->ensemble) : known_sd(p));
        outside = outside || (!p->predictive.known && misplaced(d, p));
        none = none || (!p->predictive.known && !misplaced(d, p));
        alone = alone || (!p->prediction_variance.known && isfinite(known_sd(p)));
        shown++;
    }
    doc_table_close(d);
    doc_when(d, count > LINES_MAX, "... and %td more points; {--csv} and {--json} have all.\n", count - LINES_MAX);
    doc_when(d, d->r->ran->confidence,
             "{--csv} and {--json} have the intervals of the expected prediction at every point.\n");
    doc_when(d, alone, "Standard deviations are by retraining alone: what other rows would change is unknown.\n");
    doc_when(d, ensemble, "Standard deviations are those of an ensemble of %td.\n", d->r->ran->ensemble_size);
    for (int by_place = 1; by_place >= 0; by_place--) {
        if (!(by_place ? outside : none)) continue;
        write_no_interval(d, false, by_place);
        doc_say(d, "\n");
    }
}

static void write_asked(doc *d)
{
    const epiq_point *p, *last = NULL;
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; (p = d->r->points[i]); i++) {
        count += listed(p);
        last = listed(p) ? p : last;
    }
    if (count > 1) write_points(d, count);
    if (count != 1) return;
    write_prediction(d, last);
    write_confidence(d, last);
    write_observation(d, last);
    doc_say(d, "\n");
}

/* ---- rows like those of the table ---- */

static ptrdiff_t place_of(const epiq_result *r, ptrdiff_t row)
{
    ptrdiff_t i = 0;
    while (r->points[i]->left_out != row) {
        i++;
    }
    return i;
}

ptrdiff_t estimate_detailed(const epiq_result *r, ptrdiff_t k)
{
    for (ptrdiff_t i = 0; i < r->point_count; i++) {
        if (listed(r->points[i]) && k-- == 0) return i;
    }
    const epiq_summary *s = r->summary;
    if (s->least_sure_count) return k < s->least_sure_count ? place_of(r, s->least_sure[k]) : -1;
    for (ptrdiff_t i = 0; i < r->point_count; i++) { /* how sure the rows are is unknown */
        if (!listed(r->points[i]) && k-- == 0) return i;
    }
    return -1;
}

static phrase range_text(double lo, double hi)
{
    const epiqp_digits from = epiqp_rounded_sd(lo), to = epiqp_rounded_sd(hi);
    return strcmp(from.text, to.text) ? phrase_of("9 rows in 10: %s to %s", from.text, to.text)
                                      : phrase_of("at nearly every row");
}

/* Networks behind the prediction of a row like these; 0: it has no retraining part. */
static double averaged(const epiq_result *r)
{
    return r->ran->methods & EPIQ_EV && r->ran->engine != EPIQ_ENGINE_INFINITE ? (double)r->ran->members : 0;
}

/* Of the standard deviation of a typical prediction. */
static const char *rows_cause(const epiq_result *r)
{
    const epiq_summary *s = r->summary;
    if (!s->data.known || !s->procedural.known) return "";
    const double m = averaged(r), data = s->data.median, retraining = m > 0 ? s->procedural.median / m : 0;
    return data > MOSTLY * retraining   ? ", mostly because other rows of this kind would change it"
           : retraining > MOSTLY * data ? ", mostly because retraining would change it"
                                        : ", because other rows and retraining would change it";
}

void write_rows_answer(doc *d)
{
    const epiq_summary *s = d->r->summary;
    const epiq_quantiles *sd = &s->prediction_sd, *width = &s->interval_width;
    if (warned_of(d->r, EPIQ_W_CONSTANT_TARGET)) return; /* there is nothing to be sure of, and no cause */
    if (sd->known) {
        doc_sentence(d, true, "A typical prediction has a standard deviation of %-s (%s)%s.%-s",
                     sd_text(d, "typical-sd", sd->median).text, range_text(sd->q05, sd->q95).text, rows_cause(d->r),
                     d->page ? " " : "\n");
    }
    const double m = averaged(d->r);
    if (!sd->known && s->procedural.known && m > 0) {
        doc_sentence(d, true,
                     "A typical prediction has a standard deviation of %s by retraining alone; what other rows would "
                     "change is unknown.%-s",
                     epiqp_rounded_sd(sqrt(s->procedural.median / m)).text, d->page ? " " : "\n");
    }
    if (width->known) {
        doc_sentence(d, true, "Its %.4g %% prediction interval is the prediction +- %-s (%s).%-s",
                     100 * d->run->options->level, sd_text(d, "typical-half-width", width->median / 2).text,
                     range_text(width->q05 / 2, width->q95 / 2).text, d->page ? " " : "\n");
    }
}

void write_least_sure(doc *d)
{
    const epiq_summary *s = d->r->summary;
    if (warned_of(d->r, EPIQ_W_CONSTANT_TARGET)) return;
    for (ptrdiff_t k = 0; k < s->least_sure_count; k++) {
        const epiq_point *p = d->r->points[place_of(d->r, s->least_sure[k])];
        const double sd = part_sd(&p->full_variance);
        doc_sentence(d, true, k ? ", row %td (%s)" : "Least sure: row %td (give or take %s)", s->least_sure[k],
                     epiqp_rounded_sd(sd).text);
    }
    doc_sentence(d, s->least_sure_count, d->page ? "." : ".\n");
}

/* ---- the whole ---- */

void write_answer_text(doc *d)
{
    write_useless(d);
    write_source(d);
    write_error(d);
    if (d->r->summary->rows) {
        write_rows_answer(d);
        write_least_sure(d);
    }
    write_asked(d);
}
