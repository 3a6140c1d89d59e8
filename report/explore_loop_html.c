/* explore_loop_html.c - a closed loop as a page: the verdict, regret step by step with its bands, the numbers at the end.
 */
#include "report/explore.h"
#include "report/page.h"

#include <stdlib.h>

static void draw_regret(FILE *out, svg_album *album, const loop_result *r, loop_number *const *curve, const char *title,
                        const char *caption)
{
    const ptrdiff_t n = r->points;
    double *v = malloc((size_t)(n + 3 * LOOP_CONTENDERS * n) * sizeof *v);
    svg_series series[LOOP_CONTENDERS];
    if (!v) {
        page_no_picture(album);
        return;
    }
    for (ptrdiff_t t = 0; t < n; t++) {
        v[t] = (double)t;
    }
    for (int k = 0; k < LOOP_CONTENDERS; k++) {
        double *y = v + (1 + 3 * k) * n, *lo = y + n, *hi = lo + n;
        for (ptrdiff_t t = 0; t < n; t++) {
            y[t] = curve[k][t].mean;
            lo[t] = curve[k][t].lo;
            hi[t] = curve[k][t].hi;
        }
        series[k] = (svg_series){.name = loop_contender_name((loop_contender)k, &r->job->ask),
                                 .look = k,
                                 .count = n,
                                 .x = v,
                                 .y = y,
                                 .lo = lo,
                                 .hi = hi};
    }
    const svg_panel p = {.label = title,
                         .describe = "one line a contender with its 95 % band",
                         .x_name = "choices made",
                         .y_name = "regret",
                         .width = 420,
                         .height = 290,
                         .series = series,
                         .series_count = LOOP_CONTENDERS};
    page_figure(out, album, title, caption, &p);
    free(v);
}

static void put_number(FILE *out, loop_number n)
{
    fputs("<td", out);
    html_value(out, "value", n.mean);
    html_value(out, "lo", n.lo);
    html_value(out, "hi", n.hi);
    fprintf(out, ">%.3g [%.3g, %.3g]</td>", n.mean, n.lo, n.hi);
}

static void write_table(FILE *out, const loop_result *r)
{
    static const char *const HEADS[] = {"simple regret", "cumulative regret", "the rule's simple less its",
                                        "the rule's cumulative less its"};
    html_element(out, "h2", "At the end");
    html_table_open(out, "Regret at the end, mean and 95 % interval over seeds", false);
    html_column(out, "contender", true);
    for (size_t k = 0; k < sizeof HEADS / sizeof *HEADS; k++) {
        html_column(out, HEADS[k], false);
    }
    html_table_body(out);
    for (int k = 0; k < LOOP_CONTENDERS; k++) {
        fputs("<tr><th scope=\"row\" class=\"l\">", out);
        html_text(out, loop_contender_name((loop_contender)k, &r->job->ask));
        fputs("</th>", out);
        put_number(out, r->simple[k][r->points - 1]);
        put_number(out, r->cumulative[k][r->points - 1]);
        if (k == LOOP_RULE) {
            fputs("<td></td><td></td>", out);
        } else {
            put_number(out, r->simple_less[k]);
            put_number(out, r->cumulative_less[k]);
        }
        fputs("</tr>\n", out);
    }
    html_table_close(out);
    fputs("<p class=\"small\">Differences are taken seed by seed: below 0 the rule did better.</p>\n", out);
}

void report_loop_html(FILE *out, const loop_result *r, const report_study_run *run, svg_album *album)
{
    char what[512], seed[24];
    report_value room;
    const char *engine = report_option(run->options, "engine", &room);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)run->options->seed);
    report_loop_what(what, sizeof what, r);
    page_open(out, "epiq explore --loop", "Does choosing pay?", r->verdict);
    html_element(out, "p", what);
    fputs("<div class=\"figures\">\n", out);
    draw_regret(out, album, r, r->cumulative, "Cumulative regret",
                "What each choice was below the best of its candidates, summed; bands are 95 % intervals of the mean.");
    draw_regret(out, album, r, r->simple, "Simple regret",
                "The function's largest value less the largest seen so far.");
    fputs("</div>\n", out);
    write_table(out, r);
    const page_fact facts[] = {
        {"engine", engine, NULL, 0},
        {"seed", seed, NULL, 0},
        {"kappa", NULL, "%.6g", r->job->ask.kappa},
        {"batch", NULL, "%.0f", (double)r->job->ask.batch},
        {"seconds", NULL, "%.3f", run->seconds},
    };
    page_manifest(out, run->command, facts, sizeof facts / sizeof *facts, run->options);
    html_close(out);
}
