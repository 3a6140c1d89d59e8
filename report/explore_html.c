/* explore_html.c - a ranking as a page: why the first comes first, the best candidates side by side, all of them by
 * prediction and standard deviation, the table, and how to make it again.
 */
#include "report/explore.h"
#include "report/page.h"

#include <math.h>
#include <stdlib.h>

enum {
    ROWS_MAX = 20,    /* candidates drawn side by side */
    TABLE_MAX = 200,  /* lines of the table; the files hold all */
    PICTURED = 3000,  /* candidates as marks: more would only swell the page */
    LABELLED_MAX = 25 /* picks with their number beside them: more would lie over each other */
};

/* Everything drawn: one block. */
typedef struct {
    double *x, *y, *lo, *hi;
    const char **name;
    char (*number)[40];
} ink;

static bool ink_new(ptrdiff_t count, ink *k)
{
    size_t n = (size_t)(count > 0 ? count : 1);
    k->x = malloc(4 * n * sizeof *k->x);
    k->name = malloc(n * sizeof *k->name);
    k->number = malloc(n * sizeof *k->number);
    if (k->x) {
        k->y = k->x + n, k->lo = k->y + n, k->hi = k->lo + n;
    }
    return k->x && k->name && k->number;
}

static void ink_free(ink *k)
{
    free(k->x);
    free(k->name);
    free(k->number);
}

/* ---- the best, side by side ---- */

/* From the prediction (of a variance: from 0) to the score, shared out by the variances of its parts. */
static void share_out(const epiq_ranking *r, ptrdiff_t i, ink *data, ink *procedural)
{
    const epiq_candidate *k = &r->ranked[i];
    bool ucb = r->ask.rule == EPIQ_RULE_UCB;
    double spread = report_spread(r, k), share = spread > 0 ? k->data.variance / (spread * spread) : 1;
    double from = ucb ? k->prediction : 0, reach = ucb ? r->ask.kappa * spread : spread * spread;
    double to = from + (ucb && r->ask.goal == EPIQ_GOAL_MIN ? -reach : reach), between = from + share * (to - from);
    snprintf(data->number[i], sizeof *data->number, "candidate %td", k->row); /* a file's name may be long */
    data->name[i] = data->number[i];
    data->y[i] = procedural->y[i] = (double)i;
    data->lo[i] = from;
    data->x[i] = data->hi[i] = procedural->lo[i] = between;
    procedural->x[i] = procedural->hi[i] = to;
}

static void draw_best(FILE *out, svg_album *album, const epiq_ranking *r, const char *target)
{
    ptrdiff_t count = r->count < ROWS_MAX ? r->count : ROWS_MAX;
    bool ucb = r->ask.rule == EPIQ_RULE_UCB, both = r->ask.rule != EPIQ_RULE_DATA;
    ink a = {0}, b = {0};
    bool whole = ink_new(count, &a);
    whole = ink_new(count, &b) && whole;
    for (ptrdiff_t i = 0; i < count && whole; i++) {
        share_out(r, i, &a, &b);
    }
    if (whole) {
        svg_series series[] = {
            {.name = "data", .kind = SVG_BARS, .x = a.x, .lo = a.lo, .hi = a.hi},
            {.name = "procedural, over the ensemble", .kind = SVG_BARS, .look = 1, .x = b.x, .lo = b.lo, .hi = b.hi},
            {.name = "prediction", .kind = SVG_MARKS, .ink = true, .x = a.lo},
        };
        for (int k = 0; k < 3; k++) {
            series[k].count = count;
            series[k].y = a.y;
        }
        const svg_panel p = {.label = "The best candidates",
                             .describe = "one row a candidate, best first",
                             .x_name = ucb ? target : "variance",
                             .width = 420,
                             .rows = a.name,
                             .row_count = (int)count,
                             .series = series,
                             .series_count = ucb    ? 3
                                             : both ? 2
                                                    : 1};
        page_figure(out, album, "The best candidates",
                    !ucb ? "The batch, then the others, best first; the longer the bar, the more there is to learn."
                         : "The batch, then the others, best first. From the prediction the bar goes kappa standard "
                           "deviations to the score; its colours share that out by the variances of both parts.",
                    &p);
    } else {
        page_no_picture(album);
    }
    ink_free(&a);
    ink_free(&b);
}

/* ---- all of them ---- */

static void draw_all(FILE *out, svg_album *album, const epiq_ranking *r)
{
    ptrdiff_t rest = 0, picks = 0, most = r->count < PICTURED ? r->count : PICTURED;
    ink a = {0}, b = {0};
    bool whole = ink_new(most, &a);
    whole = ink_new(r->ask.batch, &b) && whole;
    for (ptrdiff_t i = 0; i < r->count && whole; i++) {
        const epiq_candidate *k = &r->ranked[i];
        const epiq_point *p = &r->estimate->points[k->row - 1]; /* before any pick, to be compared */
        epiq_candidate first = {.data = p->data, .procedural = p->procedural};
        if (k->pick) {
            snprintf(b.number[picks], sizeof *b.number, "%td", k->pick);
            b.name[picks] = b.number[picks];
            b.x[picks] = report_spread(r, &first);
            b.y[picks++] = p->prediction;
        } else if (rest < most) {
            a.x[rest] = report_spread(r, &first);
            a.y[rest++] = p->prediction;
        }
    }
    if (whole) {
        const svg_series series[] = {
            {.name = "candidates", .kind = SVG_MARKS, .count = rest, .x = a.x, .y = a.y},
            {.name = "picked, in this order",
             .kind = SVG_MARKS,
             .look = 1,
             .count = picks,
             .x = b.x,
             .y = b.y,
             .labels = picks <= LABELLED_MAX ? b.name : NULL},
        };
        const svg_panel p = {.label = "Prediction against standard deviation",
                             .describe = "one mark a candidate; those picked are squares with their number",
                             .x_name = r->ask.rule == EPIQ_RULE_DATA ? "standard deviation due to the data"
                                                                     : "standard deviation of the ensemble",
                             .y_name = "prediction",
                             .width = 420,
                             .height = 280,
                             .series = series,
                             .series_count = 2};
        page_figure(out, album, "All candidates",
                    rest + picks < r->count
                        ? "Before any pick: the farther right, the less sure. Only the best 3000 are drawn."
                        : "Before any pick: the farther right, the less sure. A batch spreads out, since "
                          "observing one candidate makes its neighbours surer too.",
                    &p);
    } else {
        page_no_picture(album);
    }
    ink_free(&a);
    ink_free(&b);
}

/* ---- the table and the run ---- */

static void write_table(FILE *out, const epiq_ranking *r)
{
    static const char *const HEADS[] = {"score", "prediction", "std dev", "data", "procedural"};
    html_element(out, "h2", "The ranking");
    html_table_open(out, "Candidates, best first", false);
    html_column(out, "pick", false);
    html_column(out, "candidate", true);
    for (size_t k = 0; k < sizeof HEADS / sizeof *HEADS; k++) {
        html_column(out, HEADS[k], false);
    }
    html_table_body(out);
    for (ptrdiff_t i = 0; i < r->count && i < TABLE_MAX; i++) {
        const epiq_candidate *k = &r->ranked[i];
        if (i == r->ask.batch) {
            html_table_group(out);
        }
        fputs("<tr><td>", out);
        if (k->pick) {
            fprintf(out, "%td", k->pick);
        }
        fputs("</td><th scope=\"row\" class=\"l\">", out);
        html_text(out, r->estimate->points[k->row - 1].at);
        fputs("</th>", out);
        html_number(out, "score", k->known ? k->score : NAN, 5);
        html_number(out, "prediction", k->prediction, 5);
        html_number(out, "sd", report_spread(r, k), 4);
        html_number(out, "data", k->data.known ? k->data.variance : NAN, 4);
        html_number(out, "procedural", k->procedural.known ? k->procedural.variance : NAN, 4);
        fputs("</tr>\n", out);
    }
    html_table_close(out);
    fprintf(out,
            "<p class=\"small\">The two parts are variances in squared units of the target, procedural that of one "
            "network%s%s.</p>\n",
            r->ask.batch > 1
                ? "; each pick after the first is shown as if those before it had been observed as predicted"
                : "",
            r->count > TABLE_MAX ? "; only the best 200 are listed, the files hold all" : "");
}

void report_explore_html(FILE *out, const epiq_ranking *r, const report_run *run, svg_album *album)
{
    char rule[160], seed[24], title[96];
    report_rule_text(rule, sizeof rule, r);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)run->options->seed);
    snprintf(title, sizeof title, "Which of %td candidates to measure next", r->count);
    page_open(out, "epiq explore", title, r->reason);
    fputs("<p>The score is ", out);
    html_text(out, rule);
    fprintf(out, "; %td row%s of data.</p>\n", run->data.rows, run->data.rows == 1 ? "" : "s");
    draw_best(out, album, r, run->data.target);
    draw_all(out, album, r);
    write_table(out, r);
    page_warnings(out, r->estimate->warnings, r->estimate->warning_count);
    const page_fact facts[] = {
        {"rule", report_rule(&r->ask), NULL, 0},       {"kappa", NULL, "%.6g", r->ask.kappa},
        {"batch", NULL, "%.0f", (double)r->ask.batch}, {"ensemble", NULL, "%.0f", (double)r->estimate->ensemble_size},
        {"data, SHA-256", run->data.sha256, NULL, 0},  {"seed", seed, NULL, 0},
        {"seconds", NULL, "%.3f", run->seconds},
    };
    page_manifest(out, run->command, facts, sizeof facts / sizeof *facts, run->options);
    html_close(out);
}
