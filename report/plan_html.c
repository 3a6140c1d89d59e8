/* plan_html.c - a plan as a page: the curve of variance against cost with its band, the mix of rows and networks along it,
 * the purchase in a table, and enough about the run to repeat it.
 */
#include "report/page.h"
#include "report/plan.h"

#include <math.h>
#include <stdlib.h>

/* The curve in columns, and the mixes that are marked on it. */
typedef struct {
    ptrdiff_t count;
    double *cost, *variance, *lo, *hi, *rows, *members; /* count each, in one block */
} columns;

static bool columns_of(const epiq_plan *plan, columns *c)
{
    ptrdiff_t n = c->count = plan->curve_count;
    double *block = calloc((size_t)(6 * n), sizeof *block);
    if (!block) {
        return false;
    }
    c->cost = block, c->variance = block + n, c->lo = block + 2 * n, c->hi = block + 3 * n;
    c->rows = block + 4 * n, c->members = block + 5 * n;
    for (ptrdiff_t k = 0; k < n; k++) {
        const epiq_mix *m = &plan->curve[k];
        c->cost[k] = m->cost;
        c->variance[k] = m->variance.variance;
        c->lo[k] = m->variance.has_interval ? m->variance.lo : NAN;
        c->hi[k] = report_upper(&m->variance);
        c->rows[k] = (double)m->rows;
        c->members[k] = (double)m->members;
    }
    return true;
}

static void draw_curve(FILE *out, svg_album *album, const report_planned *p, const columns *c)
{
    const epiq_plan *plan = p->plan;
    bool goal = p->effort->kind == EPIQ_PLAN_GOAL, interval = plan->best.variance.has_interval;
    const epiq_mix *cautious = &plan->cautious.mix;
    bool shown = plan->cautious.known && cautious->cost <= c->cost[c->count - 1];
    const svg_series series[] = {
        {.name = "least variance for its cost, with its interval",
         .kind = SVG_LINE,
         .look = 0,
         .count = c->count,
         .x = c->cost,
         .y = c->variance,
         .lo = interval ? c->lo : NULL,
         .hi = interval ? c->hi : NULL},
        {.name = "now",
         .kind = SVG_MARKS,
         .look = 2,
         .hollow = true,
         .count = 1,
         .x = &plan->now.cost,
         .y = &plan->now.variance.variance},
        {.name = "the plan",
         .kind = SVG_MARKS,
         .look = 1,
         .count = 1,
         .x = &plan->best.cost,
         .y = &plan->best.variance.variance},
        {.name = "the cautious plan",
         .kind = SVG_MARKS,
         .look = 3,
         .count = 1,
         .x = &cautious->cost,
         .y = &cautious->variance.variance},
    };
    const svg_rule rule = {p->effort->amount, !goal, goal ? "goal" : "budget"};
    page_figure(
        out, album, "What money buys",
        "Each point of the line is the mix of rows and networks with the least variance for its cost. The band is its "
        "interval: the parts it is reckoned from are estimates.",
        &(svg_panel){.label = "Variance against cost",
                     .describe = "A falling line with a band; marks show what there is now and the plan.",
                     .x_name = "cost",
                     .y_name = "variance",
                     .width = 420,
                     .height = 270,
                     .log_y = true,
                     .series = series,
                     .series_count = shown ? 4 : 3,
                     .rules = &rule,
                     .rule_count = 1});
}

static void draw_mix(FILE *out, svg_album *album, const report_planned *p, const columns *c)
{
    const struct {
        const char *name, *label;
        const double *y;
        double at;
    } panels[] = {{"rows", "Rows against cost", c->rows, (double)p->plan->best.rows},
                  {"networks", "Networks against cost", c->members, (double)p->plan->best.members}};
    page_figure_open(
        out, "What it is spent on",
        "Rows and networks in the end, along the same line. Where rows are added every network is trained again, so "
        "their number may fall there.");
    fputs("<div class=\"panels\">\n", out);
    svg_series series[2][2];
    svg_panel panel[2];
    for (int k = 0; k < 2; k++) {
        series[k][0] = (svg_series){
            .name = panels[k].name, .kind = SVG_LINE, .look = 0, .count = c->count, .x = c->cost, .y = panels[k].y};
        series[k][1] = (svg_series){
            .name = "the plan", .kind = SVG_MARKS, .look = 1, .count = 1, .x = &p->plan->best.cost, .y = &panels[k].at};
        panel[k] = (svg_panel){.label = panels[k].label,
                               .describe = "A line along the costs; a mark shows the plan.",
                               .x_name = "cost",
                               .y_name = panels[k].name,
                               .width = 320,
                               .height = 220,
                               .series = series[k],
                               .series_count = 2};
        page_panel(out, album, &panel[k]);
    }
    fputs("</div>\n", out);
    for (int k = 0; k < 2; k++) {
        page_figure_numbers(out, panels[k].name, &panel[k]);
    }
    page_figure_close(out);
}

static void write_row(FILE *out, const char *name, const epiq_mix *m, bool confidence)
{
    fputs("<tr><th scope=\"row\" class=\"l\">", out);
    html_text(out, name);
    fputs("</th>", out);
    html_number(out, "value", m->cost, 6);
    fprintf(out, "<td>%td</td><td>%td</td><td>%td</td><td>%td</td>", m->rows, m->members, m->new_rows, m->trainings);
    html_number(out, "value", m->variance.variance, 4);
    html_number(out, "lo", m->variance.has_interval ? m->variance.lo : NAN, 3);
    html_upper(out, &m->variance);
    if (confidence) {
        html_number(out, "value", m->chance.known ? 100 * m->chance.value : NAN, 2);
    }
    fputs("</tr>\n", out);
}

static void write_table(FILE *out, const report_planned *p)
{
    static const char *const HEADS[] = {"cost",      "rows",     "networks", "new rows",
                                        "trainings", "variance", "between",  "and"};
    html_element(out, "h2", "The purchase");
    html_table_open(out, "Now and then", false);
    html_column(out, "", true);
    for (size_t k = 0; k < sizeof HEADS / sizeof *HEADS; k++) {
        html_column(out, HEADS[k], false);
    }
    if (p->plan->best.chance.known) {
        html_column(out, "confidence, %", false);
    }
    html_table_body(out);
    write_row(out, "now", &p->plan->now, p->plan->best.chance.known);
    write_row(out, "the plan", &p->plan->best, p->plan->best.chance.known);
    if (p->plan->cautious.known) {
        write_row(out, "the cautious plan", &p->plan->cautious.mix, p->plan->best.chance.known);
    }
    html_table_close(out);
    if (p->plan->best.chance.known) {
        fputs("<p class=\"small\">Confidence: that the variance is really at most the goal, for the parts, and how "
              "they fall with rows, are estimates.</p>\n",
              out);
    }
    if (p->plan->cautious.known) {
        fputs("<p class=\"small\">The cautious plan is the cheapest whose confidence is as high as its own.</p>\n",
              out);
    }
    html_element(out, "p", p->plan->caveat);
}

static void write_manifest(FILE *out, const report_planned *p, const report_run *run)
{
    char seed[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)run->options->seed);
    const page_fact facts[] = {{"data, SHA-256", run->data.sha256, NULL, 0},
                               {"seed", seed, NULL, 0},
                               {"price of a row", NULL, "%.6g", p->effort->price_row},
                               {"price of a training", NULL, "%.6g", p->effort->price_training},
                               {"data variance now", NULL, "%.6g", p->plan->data.variance},
                               {"procedural variance", NULL, "%.6g", p->plan->procedural.variance},
                               {"points averaged over", NULL, "%.0f", (double)p->result->point_count},
                               {"threads", NULL, "%.0f", (double)p->result->threads},
                               {"seconds", NULL, "%.3f", run->seconds},
                               {"peak memory, MiB", NULL, "%.1f", (double)run->peak_rss_bytes / 1048576}};
    page_manifest(out, run->command, facts, sizeof facts / sizeof *facts, run->options);
}

void report_plan_html(FILE *out, const report_planned *p, const report_run *run, svg_album *album)
{
    char title[96];
    columns c;
    snprintf(title, sizeof title,
             p->effort->kind == EPIQ_PLAN_GOAL ? "What it takes to reach a variance of %.6g"
                                               : "What a budget of %.6g buys",
             p->effort->amount);
    page_open(out, "epiq plan", title, p->plan->text);
    if (p->plan->curve_count > 1 && columns_of(p->plan, &c)) {
        draw_curve(out, album, p, &c);
        draw_mix(out, album, p, &c);
        free(c.cost);
    } else if (p->plan->curve_count > 1) {
        page_no_picture(album);
    }
    write_table(out, p);
    page_warnings(out, p->result->warnings, p->result->warning_count);
    write_manifest(out, p, run);
    html_close(out);
}
