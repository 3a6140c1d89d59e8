/* estimate_point.c - an estimate at one point: the parts with their standard deviations and intervals, where a new observation
 * would fall, which rows matter; on the page with pictures.
 */
#include "report/estimate_doc.h"

#include <math.h>
#include <string.h>

enum { BAR = 40 }; /* characters */
#define LABEL "  %-24s"
#define CYAN "\033[36m"
#define MAGENTA "\033[35m"

static bool both_known(const epiq_point *p)
{
    return p->data.known && p->procedural.known && p->data.variance + p->procedural.variance > 0;
}

static const char *data_method(const epiq_point *p, const char *retrained, const char *influence)
{
    return p->data.method == EPIQ_BY_RETRAIN ? retrained : influence;
}

/* ---- in a sentence ---- */

static void put_place(doc *d, const char *at)
{
    const bool row = strncmp(at, "row:", 4) == 0;
    doc_page(d, "%s%s", row ? "row " : point_prefix(at), strcmp(at, "mean") == 0 ? "the mean row" : row ? at + 4 : at);
}

void write_sentence(doc *d, const epiq_point *p)
{
    doc_page(d, "At ");
    put_place(d, p->at);
    doc_page(d, " the predicted %s is %-s", d->run->data.target, number_markup("prediction", p->prediction, 6).text);
    doc_page_when(d, p->prediction_variance.known, ", give or take %-s (one standard deviation)",
                  number_markup("sd", part_sd(&p->prediction_variance), 3).text);
    doc_page(d, ". ");
    const double share = 100 / (1 + p->data.variance / p->procedural.variance); /* the sum may overflow */
    doc_page_when(d, both_known(p) && share >= 60,
                  "Of one network's variance %.1f %% is procedural: retraining would change the answer more than other "
                  "rows.",
                  share);
    doc_page_when(d, both_known(p) && share <= 40,
                  "Of one network's variance %.1f %% is due to the data: other rows would change the answer more than "
                  "retraining.",
                  100 - share);
    doc_page_when(d, both_known(p) && share > 40 && share < 60,
                  "Of one network's variance %.1f %% is procedural and %.1f %% due to the data: retraining and other "
                  "rows would change the answer alike.",
                  share, 100 - share);
    doc_page_when(d, p->predictive.known, " A new observation there would fall between %-s and %-s (%.4g %%).",
                  number_markup("predictive-lo", p->predictive.lo, 4).text,
                  number_markup("predictive-hi", p->predictive.hi, 4).text, 100 * d->run->options->level);
}

/* ---- the parts ---- */

static void write_part(doc *d, const char *name, const char *key, const epiq_part *p)
{
    const doc_cell none = cell_text("");
    doc_row(d, false, phrase_of("data-part=\"%s\"", key).text, cell_text(name),
            p->known ? cell_number(p->variance) : cell_text("unknown"), p->known ? cell_number(part_sd(p)) : none,
            p->known ? cell_words("%s", interval_text(p).text) : none, cell_number(interval_lower(p)), cell_upper(p),
            p->known ? cell_text(epiq_method_text(p->method)) : none);
}

static void write_parts(doc *d, const epiq_point *p)
{
    const double percent = 100 * d->run->options->level;
    const phrase caption = phrase_of("Variances, with %.4g %% intervals", percent),
                 level = phrase_of("%.4g %% interval of the variance", percent);
    const doc_column columns[] = {
        {"", "", DOC_LEFT | DOC_NAME, .gap = 2, .width = -24},
        {"variance", "variance", 0, 4, 4, .width = 10, .name = "variance"},
        {"std dev", "std dev", 0, 4, 4, .gap = 2, .width = 10, .name = "sd"},
        {NULL, level.text, .gap = 2, .width = -32},
        {"from", NULL, 0, 3, .name = "lo"},
        {"to", NULL, 0, 3, .name = "hi"},
        {"by", "by", .align = DOC_LEFT},
    };
    doc_table_open(d, &(doc_table){DOC_COLUMNS(columns), .caption = caption.text, .caption_shown = true});
    write_part(d, "procedural (retraining)", "procedural", &p->procedural);
    write_part(d, "data (other rows)", "data", &p->data);
    write_part(d, phrase_of("ensemble of %td", d->r->ran->ensemble_size).text, "ensemble", &p->ensemble);
    write_part(d, "one network", "single", &p->single);
    if (d->page) write_part(d, "this prediction", "prediction_variance", &p->prediction_variance);
    doc_table_close(d);
}

/* ---- in the text ---- */

static void write_bar(doc *d, const epiq_point *p)
{
    double share = p->data.variance / (p->data.variance + p->procedural.variance);
    int cells = (int)lround(share * BAR);
    cells = cells < 1 && share > 0         ? 1
            : cells > BAR - 1 && share < 1 ? BAR - 1
                                           : cells; /* a part that exists is seen */
    const char *full = d->style.blocks ? "█" : "#", *light = d->style.blocks ? "░" : "-";
    doc_say(d, LABEL "%-s", "one network's variance", d->style.colour ? CYAN : "");
    for (int k = 0; k < BAR; k++) {
        fputs(k == cells && d->style.colour ? "\033[0m" MAGENTA : "", d->out);
        fputs(k < cells ? full : light, d->out);
    }
    doc_say(d, "%-s  %.1f %% data, %.1f %% procedural\n", d->style.colour ? "\033[0m" : "", 100 * share,
            100 * (1 - share));
}

/* What is not the predictor's: where y itself would fall, and of what its distance from the prediction is made. */
static void write_observation(doc *d, const epiq_point *p)
{
    const double noise = p->predictive.noise;
    doc_say(d, LABEL, "a new observation");
    if (!p->predictive.known) {
        doc_say(d, "unknown\n");
        return;
    }
    doc_say(d, "between %.4g and %.4g about %.4g %% of the time", p->predictive.lo, p->predictive.hi,
            100 * d->run->options->level);
    const bool by_kernel =
        d->run->given || d->r->ran->solver == EPIQ_SOLVER_DIVIDED; /* elsewhere around the prediction */
    doc_when(d, by_kernel && p->member_count && p->kernel_prediction.known, "; built on kernel regression's %.4g",
             p->kernel_prediction.value);
    doc_say(d, "\n" LABEL, "");
    doc_when(d, p->prediction_variance.known,
             "%.3g from this prediction (std dev): ", sqrt(noise + p->prediction_variance.variance));
    doc_when(d, !p->prediction_variance.known, "std dev from this prediction: ");
    doc_say(d, "noise %.3g", sqrt(noise));
    doc_when(d, p->data.known, ", data %.3g", part_sd(&p->data));
    doc_when(d, p->procedural.known && p->member_count, ", procedure %.3g",
             sqrt(p->procedural.variance / (double)p->member_count));
    doc_say(d, "\n");
}

static void write_remarks(doc *d, const epiq_point *p)
{
    bool wider = p->infinite.known && p->procedural.method != EPIQ_BY_INFINITE;
    doc_when(d, both_known(p) || p->data.has_interval || p->ba.part.known || wider || p->influential_count, "\n");
    if (both_known(p)) write_bar(d, p);
    doc_when(d, p->data.has_interval, LABEL "covers less often where the noise is concentrated around this point\n",
             "data interval");
    doc_when(d, p->check.known, LABEL "ba gives %.3g, %s + ev/%td gives %.3g: %s ba's interval\n", "check", p->check.ba,
             data_method(p, "retrain", "if"), p->batch_count, p->check.if_plus_ev,
             p->check.inside ? "inside" : "OUTSIDE");
    doc_when(d, p->ba.part.known,
             p->ba.corrected ? LABEL "%.3g as measured, times %.3g\n" : LABEL "%.3g as measured, not corrected\n",
             "ba, small batches", p->ba.uncorrected, p->ba.factor);
    doc_when(d, wider, LABEL "procedural would be %.3g", "infinite width", p->infinite.variance);
    doc_when(d, wider && p->procedural.known && p->infinite.variance > 0, "; here it is %.3g times that",
             p->procedural.variance / p->infinite.variance);
    doc_when(d, wider, "\n");
    doc_when(d, p->influential_count, LABEL, "moved by deleting");
    for (ptrdiff_t i = 0; i < p->influential_count; i++) {
        doc_say(d, "%srow %td by %+.3g", i ? ", " : "", p->influential[i]->row, p->influential[i]->influence);
    }
    doc_when(d, p->influential_count, "\n");
}

void write_block(doc *d, const epiq_point *p)
{
    doc_say(d, "\nAt %s", point_prefix(p->at));
    doc_put(d, BOLD, p->at);
    doc_say(d, " the prediction is %.6g", p->prediction);
    doc_when(d, p->prediction_variance.known, ", give or take %.3g (its standard deviation)",
             part_sd(&p->prediction_variance));
    doc_say(d, "\n\n");
    write_parts(d, p);
    doc_say(d, "\n");
    write_observation(d, p);
    write_remarks(d, p);
}

/* ---- on the page ---- */

static void write_notes(doc *d, const epiq_point *p)
{
    doc_note_when(d, !p->procedural.known || !p->data.known,
                  d->run->given
                      ? "What is unknown could not be had from what was given; an ensemble and a kernel with y, or "
                        "retrained networks, give both parts."
                      : "What is unknown was not asked for or could not be had; {--methods} if,ev gives both parts.");
    doc_note_when(d, p->check.known, "Check: BA gives %.3g, %s and EV together %.3g, which is %-s BA's interval.",
                  p->check.ba, data_method(p, "retraining", "IF"), p->check.if_plus_ev,
                  p->check.inside ? "inside" : "<b>outside</b>");
    doc_note_when(
        d, p->ba.corrected,
        "BA was measured as %.3g and multiplied by %.3g: networks on a batch differ more by their starts than "
        "networks on all rows.",
        p->ba.uncorrected, p->ba.factor);
    doc_note_when(d, p->ba.part.known && !p->ba.corrected,
                  "BA is as measured, %.3g: it could not be corrected for small batches.", p->ba.uncorrected);
    if (p->predictive.known) {
        doc_page(
            d,
            "<p class=\"small\">The noise of one observation there has the variance %-s, which neither training nor "
            "rows can lower.",
            number_markup("noise", p->predictive.noise, 4).text);
        doc_page_when(d, d->run->given && p->kernel_prediction.known && p->member_count,
                      " The interval of a new observation is built on kernel regression, which predicts %-s.",
                      number_markup("kernel-prediction", p->kernel_prediction.value, 6).text);
        doc_page(d, "</p>\n");
    }
}

void write_section(doc *d, const epiq_point *p, ptrdiff_t i)
{
    doc_page(d, "<section data-at=\"%s\"", p->at);
    html_value(d->out, "prediction", p->prediction);
    doc_page(d, ">\n");
    if (d->r->point_count > 1) {
        doc_page(d, "<h2>At ");
        put_place(d, p->at);
        doc_page(d, "</h2>\n<p>");
        write_sentence(d, p);
        doc_page(d, "</p>\n");
    } else {
        doc_heading(d, "How sure, and why");
    }
    doc_page(d, "<div class=\"figures\">\n");
    doc_picture(d, PICTURE_PARTS, i);
    bool members = doc_picture(d, PICTURE_MEMBERS, i);
    doc_page(d, "<div class=\"across\">\n");
    write_parts(d, p);
    write_notes(d, p);
    doc_page(d, "</div>\n");
    bool ev = doc_picture(d, PICTURE_EV, i), rows = doc_picture(d, PICTURE_INFLUENTIAL, i);
    doc_page(d, "</div>\n");
    doc_note_when(d, !members,
                  d->run->given
                      ? "No two networks trained on all rows were given, so there is no spread of them to show."
                      : "No networks were trained on all rows (with engine infinite, or without the method ev), "
                        "so there are no predictions of members to show.");
    doc_note_when(d, members && !ev, "EV against the number of members takes at least three of them.");
    doc_note_when(d, !rows, "No influential rows are listed: that takes %s and {--influential} above 0.",
                  d->run->given ? "a kernel with y," : "the method if");
    doc_page(d, "</section>\n");
}
