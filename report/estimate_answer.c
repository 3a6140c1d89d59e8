/* estimate_answer.c - what an estimate's page says first: the prediction, how sure, which part dominates, what to do. */
#include "report/estimate_page.h"

#include <math.h>
#include <string.h>

void estimate_say(const estimate_page *g, const char *name, double v, int digits)
{
    bool whole = fabs(v) >= pow(10, digits) && fabs(v) < 1e9; /* 305700, not 3.06e+05 */
    fputs("<b", g->out);
    html_value(g->out, name, v);
    fprintf(g->out, whole ? ">%.*f</b>" : ">%.*g</b>", whole ? 0 : digits, v);
}

void estimate_place(const estimate_page *g, const char *at)
{
    bool row = strncmp(at, "row:", 4) == 0;
    fputs(row ? "row " : report_point(at), g->out);
    html_text(g->out, strcmp(at, "mean") == 0 ? "the mean row" : row ? at + 4 : at);
}

void estimate_sentence(const estimate_page *g, const epiq_point *p)
{
    fputs("At ", g->out);
    estimate_place(g, p->at);
    fputs(" the predicted ", g->out);
    html_text(g->out, g->run->data.target);
    fputs(" is ", g->out);
    estimate_say(g, "prediction", p->prediction, 6);
    if (p->prediction_variance.known) {
        fputs(", give or take ", g->out);
        estimate_say(g, "sd", sqrt(p->prediction_variance.variance), 3);
        fputs(" (one standard deviation)", g->out);
    }
    fputs(". ", g->out);
    double all = p->data.variance + p->procedural.variance;
    if (p->data.known && p->procedural.known && all > 0) {
        double share = 100 / (1 + p->data.variance / p->procedural.variance); /* the sum may overflow */
        if (share >= 60 || share <= 40) {
            fprintf(g->out, "Of one network's variance %.1f %% is %s: %s would change the answer more than %s.",
                    fmax(share, 100 - share), share >= 60 ? "procedural" : "due to the data",
                    share >= 60 ? "retraining" : "other rows", share >= 60 ? "other rows" : "retraining");
        } else {
            fprintf(g->out,
                    "Of one network's variance %.1f %% is procedural and %.1f %% due to the data: retraining and "
                    "other rows would change the answer alike.",
                    share, 100 - share);
        }
    }
    if (p->predictive.known) {
        fputs(" A new observation there would fall between ", g->out);
        estimate_say(g, "predictive-lo", p->predictive.lo, 4);
        fputs(" and ", g->out);
        estimate_say(g, "predictive-hi", p->predictive.hi, 4);
        fprintf(g->out, " (%.4g %%).", 100 * g->run->options->level);
    }
}

static void answer_points(const estimate_page *g)
{
    double lo = INFINITY, hi = -INFINITY, least = INFINITY, most = -INFINITY;
    for (ptrdiff_t i = 0; i < g->r->point_count; i++) {
        const epiq_point *p = &g->r->points[i];
        lo = fmin(lo, p->prediction);
        hi = fmax(hi, p->prediction);
        if (p->prediction_variance.known) {
            least = fmin(least, sqrt(p->prediction_variance.variance));
            most = fmax(most, sqrt(p->prediction_variance.variance));
        }
    }
    fprintf(g->out, "At %td points the predicted ", g->r->point_count);
    html_text(g->out, g->run->data.target);
    fputs(" lies between ", g->out);
    estimate_say(g, "least", lo, 4);
    fputs(" and ", g->out);
    estimate_say(g, "most", hi, 4);
    if (most >= least) {
        fputs(", give or take between ", g->out);
        estimate_say(g, "sd-least", least, 3);
        fputs(" and ", g->out);
        estimate_say(g, "sd-most", most, 3);
        fputs(" (one standard deviation)", g->out);
    }
    fputs(".", g->out);
}

void estimate_answer(const estimate_page *g)
{
    fputs("<p class=\"answer\">", g->out);
    if (g->r->point_count == 1) {
        estimate_sentence(g, &g->r->points[0]);
    } else {
        answer_points(g);
    }
    fprintf(g->out, "</p>\n<p class=\"answer\" data-action=\"%s\"><b>What to do:</b> ",
            epiq_action_text(g->r->advice.action));
    html_text(g->out, g->r->advice.text);
    fputs("</p>\n", g->out);
    const report_sentence until = report_until(g->r, g->run);
    if (until.text[0]) {
        fputs("<p class=\"answer\"><b>Networks:</b> ", g->out);
        html_text(g->out, until.text);
        fputs("</p>\n", g->out);
    }
    if (g->r->warning_count) {
        fprintf(g->out, "<p class=\"small\"><a href=\"#warnings\">%td warning%s</a> below.</p>\n", g->r->warning_count,
                report_plural(g->r->warning_count));
    }
}
