/* estimate_point.c - an estimate at one point: the parts with their standard deviations and intervals, where a new observation
 * would fall, which rows matter; on the page with pictures.
 */
#include "report/estimate_doc.h"

#include <math.h>
#include <string.h>

enum { BAR = 40 }; /* characters */
#define LABEL "  %-26s"
#define THREE(v) epiqp_rounded_to(v, 3).text
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

void write_share(doc *d, const epiq_point *p)
{
    const double share = 100 / (1 + p->data.variance / p->procedural.variance); /* the sum may overflow */
    doc_page_when(d, both_known(p) && share >= 60,
                  "Of one network's variance %.1f %% is due to retraining: it would change the answer more than other "
                  "rows.",
                  share);
    doc_page_when(d, both_known(p) && share <= 40,
                  "Of one network's variance %.1f %% is due to the data: other rows would change the answer more than "
                  "retraining.",
                  100 - share);
    doc_page_when(
        d, both_known(p) && share > 40 && share < 60,
        "Of one network's variance %.1f %% is due to retraining and %.1f %% to the data: retraining and other "
        "rows would change the answer about equally.",
        share, 100 - share);
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
        {"by", "by", .align = DOC_LEFT | DOC_FOLD},
    };
    doc_table_open(d, &(doc_table){DOC_COLUMNS(columns), .caption = caption.text, .caption_shown = true});
    write_part(d, "retraining (procedural)", "procedural", &p->procedural);
    write_part(d, "data (other rows)", "data", &p->data);
    write_part(d, phrase_of("ensemble of %td", d->r->ran->ensemble_size).text, "ensemble", &p->ensemble);
    write_part(d, "one network", "single", &p->single);
    const phrase mean = phrase_of("mean of these %td", p->member_count);
    write_part(d, d->page || !p->member_count ? "this prediction" : mean.text, "prediction_variance",
               &p->prediction_variance);
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
    doc_say(d, "%-s  %.1f %% data, %.1f %% retraining\n", d->style.colour ? "\033[0m" : "", 100 * share,
            100 * (1 - share));
}

/* Where y itself would fall, and of what its distance from the prediction is made. */
static void write_interval_lines(doc *d, const epiq_point *p)
{
    if (!p->predictive.known) {
        doc_say(d, "  ");
        write_observation(d, p);
        doc_say(d, "\n");
        return;
    }
    doc_say(d, LABEL, phrase_of("%.4g %% prediction interval", 100 * d->run->options->level).text);
    write_interval(d, p);
    const bool by_kernel =
        d->run->given || d->r->ran->solver == EPIQ_SOLVER_DIVIDED; /* elsewhere around the prediction */
    doc_when(d, by_kernel && p->member_count && p->kernel_prediction.known, "; built on kernel regression's %.4g",
             p->kernel_prediction.value);
    doc_say(d, "\n" LABEL, "");
    write_composition(d, p);
    doc_say(d, "\n");
}

static void write_remarks(doc *d, const epiq_point *p)
{
    bool wider = p->infinite.known && p->procedural.method != EPIQ_BY_INFINITE;
    doc_when(d, both_known(p) || p->ba.part.known || wider || p->influential_count, "\n");
    if (both_known(p)) write_bar(d, p);
    doc_when(d, p->check.known, LABEL "%s against %s (%s + ev/%td), %s\n", "cross-check (batches)", THREE(p->check.ba),
             THREE(p->check.if_plus_ev), data_method(p, "retrain", "if"), p->batch_count,
             p->check.inside ? "agrees" : "DIFFERS");
    doc_when(d, p->ba.part.known,
             p->ba.corrected ? LABEL "%s as measured, times %.3g because batches are small\n"
                             : LABEL "%s as measured, not corrected for small batches\n",
             "ba", THREE(p->ba.uncorrected), p->ba.factor);
    doc_when(d, wider, LABEL "the retraining variance would be %s", "infinite width", THREE(p->infinite.variance));
    doc_when(d, wider && p->procedural.known && p->infinite.variance > 0, "; here it is %.3g times that",
             p->procedural.variance / p->infinite.variance);
    doc_when(d, wider, "\n");
    for (ptrdiff_t i = 0; i < p->influential_count; i++) {
        doc_when(d, !i, LABEL "the prediction would move by ", "most influential rows");
        const double moved = p->influential[i]->influence;
        doc_say(d, "%s%s%s without row %td", i ? ", " : "", moved > 0 ? "+" : "", epiqp_rounded_sd(moved).text,
                p->influential[i]->row);
    }
    doc_when(d, p->influential_count, "\n");
}

/* Of a point given by name=value: every feature there, since those that were not named have their usual values. */
static void write_features(doc *d, const epiq_point *p)
{
    ptrdiff_t i = 0;
    if (!d->a || !d->a->candidates || !strchr(p->at, '=')) return;
    while (d->r->points[i] != p) {
        i++;
    }
    doc_say(d, "Features there: ");
    doc_features(d, i);
}

void write_block(doc *d, const epiq_point *p)
{
    doc_say(d, "\n");
    write_prediction(d, p);
    write_confidence(d, p);
    write_features(d, p);
    doc_say(d, "\n");
    write_parts(d, p);
    doc_say(d, "\n");
    write_interval_lines(d, p);
    write_remarks(d, p);
}

/* ---- on the page ---- */

static void write_notes(doc *d, const epiq_point *p)
{
    doc_note_when(d, !p->procedural.known || !p->data.known,
                  d->run->given
                      ? "What is unknown cannot be found from what was given; an ensemble and a kernel with y, or "
                        "retrained networks, give both parts."
                      : "What is unknown was not asked for, or cannot be found; {--methods} if,ev gives both parts.");
    doc_note_when(d, p->check.known,
                  "Cross-check by networks on batches of the rows (BA): %.3g, against %.3g from %s and EV: they %-s.",
                  p->check.ba, p->check.if_plus_ev, data_method(p, "retraining", "IF"),
                  p->check.inside ? "agree" : "<b>differ</b>");
    doc_note_when(
        d, p->ba.corrected,
        "BA was measured as %.3g and multiplied by %.3g: networks on a batch differ more by their starts than "
        "networks on all rows.",
        p->ba.uncorrected, p->ba.factor);
    doc_note_when(d, p->ba.part.known && !p->ba.corrected,
                  "BA is as measured, %.3g: it could not be corrected for small batches.", p->ba.uncorrected);
    if (p->predictive.known) {
        doc_page(d,
                 "<p class=\"small\">The noise of one observation there has the variance %-s, which more networks "
                 "cannot lower.",
                 number_markup("noise", p->predictive.noise, 4).text);
        doc_page_when(d, d->run->given && p->kernel_prediction.known && p->member_count,
                      " The prediction interval is built on kernel regression, which predicts %-s.",
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
        write_place(d, p->at);
        doc_page(d, "</h2>\n<p>");
        write_prediction(d, p);
        write_confidence(d, p);
        write_observation(d, p);
        doc_page(d, " ");
        write_share(d, p);
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
    bool ev = doc_picture(d, PICTURE_EV, i);
    doc_picture(d, PICTURE_CONFIDENCE, i);
    bool rows = doc_picture(d, PICTURE_INFLUENTIAL, i);
    doc_page(d, "</div>\n");
    doc_note_when(d, !members,
                  d->run->given
                      ? "No two networks trained on all rows were given, so there is no spread of them to show."
                      : "No networks were trained on all rows (with engine infinite, or without the method ev), "
                        "so there are no predictions of networks to show.");
    doc_note_when(d, members && !ev, "The variance against the number of networks takes at least three of them.");
    doc_note_when(d, !rows, "No influential rows are listed: that takes %s and {--influential} above 0.",
                  d->run->given ? "a kernel with y," : "the method if");
    doc_page(d, "</section>\n");
}
