/* study_html.c - a study as one page: what it is, how to read it, its tables with a picture to each, its figures, and
 * enough about the run to repeat it. The tables are those of the text, the numbers those of the JSON.
 */
#include "report/page.h"
#include "report/report.h"
#include "report/study_pictures.h"
#include "report/study_table.h"

#include <math.h>

/* ---- tables ---- */

static void write_td(FILE *out, const report_column *column, const report_cell *cell, bool head)
{
    const char *tag = head ? "th" : "td", *classes = cell->off ? " class=\"off\"" : column->left ? " class=\"l\"" : "";
    fprintf(out, "<%s%s%s", tag, head ? " scope=\"row\"" : "", classes);
    html_value(out, "value", cell->value);
    if (!cell->label && !head && isfinite(cell->value)) {
        fprintf(out, " title=\"%s\"", report_double(cell->value).text);
    }
    html_value(out, "se", cell->se);
    html_value(out, "lo", cell->lo);
    html_value(out, "hi", cell->hi);
    putc('>', out);
    html_text(out, cell->label ? cell->label : cell->text);
    fputs(cell->off ? "<abbr title=\"its Wilson interval excludes the nominal level\">*</abbr>" : "", out);
    fprintf(out, "</%s>", tag);
}

static void write_table(FILE *out, const report_table *t, const char *caption)
{
    html_table_open(out, caption, false);
    for (int k = 0; k < t->columns; k++) {
        html_column(out, t->column[k]->head, t->column[k]->left);
    }
    html_table_body(out);
    const study_cell *before = NULL;
    for (const study_cell *row = NULL; (row = report_table_next(t, row)); before = row) {
        if (report_table_gap(t, row, before)) {
            html_table_group(out);
        }
        bool head = true; /* the columns up to the first number name the row */
        fputs("<tr>", out);
        for (int k = 0; k < t->columns; k++) {
            report_cell cell = report_table_cell(t, row, k);
            head = head && t->column[k]->names;
            write_td(out, t->column[k], &cell, head);
        }
        fputs("</tr>\n", out);
    }
    html_table_close(out);
    for (int k = 0; k < t->constants; k++) {
        report_cell cell = report_table_constant(t, k);
        fputs(k ? ", " : "<p class=\"small\">Throughout: ", out);
        html_text(out, t->constant[k]->head);
        putc(' ', out);
        html_text(out, cell.label ? cell.label : cell.text);
    }
    fputs(t->constants ? ".</p>\n" : "", out);
    if (report_table_any_off(t)) {
        fputs("<p class=\"small\">* The Wilson interval in brackets excludes the nominal level.</p>\n", out);
    }
}

static void write_tables(FILE *out, svg_album *album, const study_result *r)
{
    report_table t;
    bool pictured = false;
    for (int i = 0; report_study_table(r, true, i, &t); i++) {
        if (!t.columns) {
            continue;
        }
        bool coverage = t.rows == REPORT_ROWS_COVERAGE || t.rows == REPORT_ROWS_ALL || t.rows == REPORT_ROWS_SUMS;
        html_element(out, "h2", *t.title ? t.title : "Results");
        if (t.rows == REPORT_ROWS_PART) {
            report_part_picture(out, album, &t);
        } else if (coverage && !pictured) {
            report_coverage_picture(out, album, r);
            pictured = true;
        }
        write_table(out, &t, *t.title ? t.title : r->title ? r->title : "Results");
    }
    if (report_study_paper(r)) {
        fputs("<p class=\"small\">[paper] is what the paper prints, beside what it is about.</p>\n", out);
    }
    if (report_study_paper_truth(r)) {
        fputs("<p class=\"small\">“paper’s way” is the truth reckoned by the paper’s formula from these same "
              "networks.</p>\n",
              out);
    }
}

/* ---- figures ---- */

static void write_figures(FILE *out, svg_album *album, const study_result *r)
{
    if (r->figure_count) {
        html_element(out, "h2", r->figure_count == 1 ? "Figure" : "Figures");
    }
    for (ptrdiff_t i = 0; i < r->figure_count; i++) {
        fputs(i ? "" : "<div class=\"figures\">\n", out);
        report_figure_picture(out, album, &r->figures[i]);
        fputs(i + 1 < r->figure_count ? "" : "</div>\n", out);
    }
}

/* ---- the run ---- */

static void write_manifest(FILE *out, const study_result *r, const report_study_run *run)
{
    char seed[24];
    report_value room;
    const char *engine = report_option(&r->options, "engine", &room);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)r->options.seed);
    const page_fact facts[] = {{"seed", seed, NULL, 0},
                               {"engine", engine, NULL, 0},
                               {"threads", NULL, "%.0f", r->threads},
                               {"repetitions", NULL, "%.0f", (double)r->repetitions},
                               {"of these resumed", NULL, "%.0f", (double)r->resumed},
                               {"seconds", NULL, "%.3f", run->seconds},
                               {"peak memory, MiB", NULL, "%.1f", (double)run->peak_rss_bytes / 1048576},
                               {"machine", run->machine, NULL, 0}};
    page_manifest(out, run->command, facts, sizeof facts / sizeof *facts, &r->options);
}

void report_study_html(FILE *out, const study_result *r, const report_study_run *run, svg_album *album)
{
    const char *title = r->title ? r->title : r->name ? r->name : "study";
    report_value room;
    const char *engine = report_option(&r->options, "engine", &room);
    char verb[64];
    snprintf(verb, sizeof verb, "epiq study %s", r->name ? r->name : "");
    page_open(out, verb, title, NULL);
    fprintf(out, "<p>%td line%s of results", r->cell_count, r->cell_count == 1 ? "" : "s");
    if (r->repetitions) {
        fprintf(out, " from %td repetition%s", r->repetitions, r->repetitions == 1 ? "" : "s");
    }
    fputs(", made by epiq ", out);
    html_text(out, epiq_version());
    fputs(" with the engine ", out);
    html_text(out, engine ? engine : "unknown");
    fprintf(out, " and seed %llu. After ± stands one standard error; point at a number to see it in full.</p>\n",
            (unsigned long long)r->options.seed);
    if (r->note_count) {
        fputs("<ul>\n", out);
        for (ptrdiff_t i = 0; i < r->note_count; i++) {
            html_element(out, "li", r->notes[i]);
        }
        fputs("</ul>\n", out);
    }
    write_tables(out, album, r);
    write_figures(out, album, r);
    write_manifest(out, r, run);
    html_close(out);
}
