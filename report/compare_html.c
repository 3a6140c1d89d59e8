/* compare_html.c - a comparison as a page: error against variance with the front joined and the choice marked, the
 * table beneath, and enough about the run to repeat it.
 */
#include "report/compare.h"
#include "report/page.h"

#include <math.h>
#include <stdlib.h>

/* The models of one kind as points of the picture. */
typedef struct {
    ptrdiff_t count;
    double *error, *variance, *lo, *hi;
} cloud;

static bool cloud_new(const epiq_comparison *r, cloud *c)
{
    ptrdiff_t n = r->model_count;
    *c = (cloud){0};
    c->error = calloc((size_t)(4 * n), sizeof *c->error);
    if (!c->error) {
        return false;
    }
    c->variance = c->error + n, c->lo = c->error + 2 * n, c->hi = c->error + 3 * n;
    return true;
}

static void cloud_add(cloud *c, const epiq_comparison *r, const epiq_compared *m)
{
    c->error[c->count] = report_compare_error(r, m)->rmse;
    c->variance[c->count] = m->variance.variance;
    c->lo[c->count] = m->variance.has_interval ? m->variance.lo : NAN;
    c->hi[c->count++] = report_upper(&m->variance);
}

static void draw(FILE *out, svg_album *album, const epiq_comparison *r, const ptrdiff_t *order)
{
    cloud front, beaten;
    char name[40];
    bool room = cloud_new(r, &front) & cloud_new(r, &beaten);
    for (ptrdiff_t i = 0; room && i < r->model_count; i++) { /* by error: the front is joined in that order */
        const epiq_compared *m = &r->models[order[i]];
        if (report_compare_error(r, m)->known && m->variance.known) {
            cloud_add(m->front ? &front : &beaten, r, m);
        }
    }
    const epiq_compared *chosen = &r->models[r->choice];
    const double x = report_compare_error(r, chosen)->rmse, y = chosen->variance.variance;
    const svg_series series[] = {
        {.name = "beaten in both",
         .kind = SVG_MARKS,
         .look = 2,
         .hollow = true,
         .count = beaten.count,
         .x = beaten.error,
         .y = beaten.variance},
        {.name = front.count > 1 ? "the front" : NULL,
         .kind = SVG_LINE,
         .look = 0,
         .count = front.count,
         .x = front.error,
         .y = front.variance},
        {.name = "its models, with the variance's interval",
         .kind = SVG_MARKS,
         .look = 0,
         .count = front.count,
         .x = front.error,
         .y = front.variance,
         .lo = front.lo,
         .hi = front.hi},
        {.name = "the choice", .kind = SVG_MARKS, .look = 1, .ink = true, .count = 1, .x = &x, .y = &y},
    };
    if (room) {
        page_figure(
            out, album, "Error against variance",
            "Each mark is a model: the farther left the smaller its error, the lower the surer it is. No model is both "
            "left of and below one on the front.",
            &(svg_panel){.label = "Error against variance",
                         .describe = "Marks for models, the front joined by a line, the choice marked.",
                         .x_name = report_compare_error_name(r, name, sizeof name),
                         .y_name = "variance",
                         .width = 420,
                         .height = 290,
                         .log_y = true,
                         .series = series,
                         .series_count = 4});
    } else {
        page_no_picture(album);
    }
    free(front.error);
    free(beaten.error);
}

static void write_row(FILE *out, const epiq_comparison *r, const epiq_compared *m, bool infinite)
{
    bool interval = m->variance.known && m->variance.has_interval;
    fprintf(out, "<tr><th scope=\"row\" class=\"l\">%s</th>",
            m == r->models + r->choice ? "<b>choice</b>"
            : m->front                 ? "front"
                                       : "");
    if (!infinite) {
        fprintf(out, "<td>%td</td>", m->width);
    }
    fprintf(out, "<td>%td</td>", m->depth);
    html_number(out, "value", m->lambda, 6);
    if (report_compare_biases(r)) {
        html_number(out, "value", m->bias, 6);
    }
    if (r->by_cv) {
        html_number(out, "value", m->cv.known ? m->cv.rmse : NAN, 4);
        html_number(out, "se", m->cv.known ? m->cv.se : NAN, 2);
    }
    html_number(out, "value", m->loo.known ? m->loo.rmse : NAN, 4);
    html_number(out, "se", m->loo.known ? m->loo.se : NAN, 2);
    html_number(out, "value", m->variance.known ? m->variance.variance : NAN, 4);
    html_number(out, "lo", interval ? m->variance.lo : NAN, 3);
    html_upper(out, &m->variance);
    html_number(out, "value", m->procedural.known ? m->procedural.variance : NAN, 4);
    html_number(out, "value", m->data.known ? m->data.variance : NAN, 4);
    fputs("</tr>\n", out);
}

static void write_table(FILE *out, const epiq_comparison *r, const ptrdiff_t *order, bool infinite)
{
    char name[40];
    const char *const heads[] = {infinite ? NULL : "width",
                                 "depth",
                                 "lambda",
                                 report_compare_biases(r) ? "bias" : NULL,
                                 r->by_cv ? report_compare_error_name(r, name, sizeof name) : NULL,
                                 r->by_cv ? "±" : NULL,
                                 r->by_group ? "leave-group-out" : "leave-one-out",
                                 "±",
                                 "variance",
                                 "between",
                                 "and",
                                 "procedural",
                                 "data"};
    html_element(out, "h2", "The models");
    html_table_open(out, "The models in the order of their error", false);
    html_column(out, "", true);
    for (size_t k = 0; k < sizeof heads / sizeof *heads; k++) {
        if (heads[k]) {
            html_column(out, heads[k], false);
        }
    }
    html_table_body(out);
    for (ptrdiff_t i = 0; i < r->model_count; i++) {
        write_row(out, r, &r->models[order[i]], infinite);
    }
    html_table_close(out);
    fprintf(out,
            "<p class=\"small\">After ± stands one standard error. %s is the error of infinitely wide "
            "networks, the "
            "same for every width. The variance is that of an ensemble of %td, data + procedural/%td; procedural is "
            "that of "
            "one network.</p>\n",
            r->by_group ? "Leave-group-out, each row predicted without its whole group," : "Leave-one-out",
            r->ensemble_size, r->ensemble_size);
}

static void write_manifest(FILE *out, const epiq_comparison *r, const report_run *run)
{
    char seed[24];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)run->options->seed);
    const page_fact facts[] = {{"data, SHA-256", run->data.sha256, NULL, 0},
                               {"seed", seed, NULL, 0},
                               {"models", NULL, "%.0f", (double)r->model_count},
                               {"folds", NULL, "%.0f", (double)r->folds},
                               {"networks trained", NULL, "%.0f", (double)r->trainings},
                               {"of these converged", NULL, "%.0f", (double)r->converged},
                               {"threads", NULL, "%.0f", (double)r->threads},
                               {"seconds", NULL, "%.3f", run->seconds},
                               {"peak memory, MiB", NULL, "%.1f", (double)run->peak_rss_bytes / 1048576}};
    page_manifest(out, run->command, facts, sizeof facts / sizeof *facts, run->options);
}

void report_compare_html(FILE *out, const epiq_comparison *r, const report_run *run, svg_album *album)
{
    bool infinite = run->options->engine == EPIQ_ENGINE_INFINITE;
    char answer[640];
    const epiq_compared *m = &r->models[r->choice < 0 ? 0 : r->choice];
    ptrdiff_t *order = malloc((size_t)r->model_count * sizeof *order);
    char width[40] = "", bias[40] = "";
    if (report_compare_biases(r)) {
        snprintf(bias, sizeof bias, ", bias %g", m->bias);
    }
    if (!infinite) {
        snprintf(width, sizeof width, "width %td, ", m->width);
    }
    snprintf(answer, sizeof answer, "Start with %sdepth %td and lambda %g%s. %s", width, m->depth, m->lambda, bias,
             r->reason);
    page_open(out, "epiq compare", "Which network?", r->choice < 0 ? r->reason : answer);
    if (order) {
        report_compare_sorted(r, r->model_count, order);
        if (r->choice >= 0) {
            draw(out, album, r, order);
        }
        write_table(out, r, order, infinite);
    } else {
        page_no_picture(album);
    }
    free(order);
    page_warnings(out, r->warnings, r->warning_count);
    write_manifest(out, r, run);
    html_close(out);
}
