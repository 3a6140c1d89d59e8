/* study_html.c - a study as one page: what it is, how to read it, its tables with a picture to each, its figures, and
 * enough about the run to repeat it. The tables are those of the text, the numbers those of the JSON.
 */
#include "report/html.h"
#include "report/report.h"
#include "report/study_pictures.h"
#include "report/study_table.h"

#include <math.h>
#include <stdlib.h>

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

static void write_tables(FILE *out, const study_result *r)
{
    report_table t;
    bool pictured = false;
    for (int i = 0; report_study_table(r, true, i, &t); i++) {
        if (!t.columns) {
            continue;
        }
        bool coverage = t.rows == REPORT_ROWS_COVERAGE || t.rows == REPORT_ROWS_ALL;
        html_element(out, "h2", *t.title ? t.title : "Results");
        if (t.rows == REPORT_ROWS_PART) {
            report_part_picture(out, &t);
        } else if (coverage && !pictured) {
            report_coverage_picture(out, r);
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

static void write_numbers(FILE *out, const study_figure *f)
{
    fputs("<details><summary>The numbers of this figure</summary>\n", out);
    html_table_open(out, f->title ? f->title : "Numbers", false);
    const char *heads[] = {f->x_name ? f->x_name : "x", f->y_name ? f->y_name : "y", "from", "to"};
    html_column(out, "line", true);
    for (int k = 0; k < 4; k++) {
        html_column(out, heads[k], false);
    }
    html_table_body(out);
    for (ptrdiff_t i = 0; i < f->line_count; i++) {
        const study_line *l = &f->lines[i];
        if (i) {
            html_table_group(out);
        }
        for (ptrdiff_t k = 0; k < l->count; k++) {
            const double v[] = {l->x[k], l->y[k], l->lo ? l->lo[k] : NAN, l->hi ? l->hi[k] : NAN};
            fputs("<tr><th scope=\"row\" class=\"l\">", out);
            html_text(out, l->name);
            fputs("</th>", out);
            for (int c = 0; c < 4; c++) {
                fputs("<td", out);
                html_value(out, "value", v[c]);
                isfinite(v[c]) ? fprintf(out, ">%.5g</td>", v[c]) : fputs("></td>", out);
            }
            fputs("</tr>\n", out);
        }
    }
    html_table_close(out);
    fputs("</details>\n", out);
}

static void write_figures(FILE *out, const study_result *r)
{
    if (r->figure_count) {
        html_element(out, "h2", r->figure_count == 1 ? "Figure" : "Figures");
    }
    for (ptrdiff_t i = 0; i < r->figure_count; i++) {
        fputs(i ? "<div>\n" : "<div class=\"figures\">\n<div>\n", out);
        report_figure_picture(out, &r->figures[i]);
        write_numbers(out, &r->figures[i]);
        fputs(i + 1 < r->figure_count ? "</div>\n" : "</div>\n</div>\n", out);
    }
}

/* ---- the run ---- */

static void pair_number(FILE *out, const char *name, const char *format, double v)
{
    char text[48];
    snprintf(text, sizeof text, format, v);
    html_pair(out, name, isfinite(v) ? text : "unknown");
}

static void write_manifest(FILE *out, const study_result *r, const report_study_run *run)
{
    char seed[24], *engine = report_option(&r->options, "engine");
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)r->options.seed);
    html_element(out, "h2", "How it was made");
    html_table_open(out, "Manifest of the run", false);
    html_column(out, "what", true);
    html_column(out, "value", true);
    html_table_body(out);
    html_pair(out, "command", run->command);
    html_pair(out, "epiq", epiq_version());
    html_pair(out, "seed", seed);
    html_pair(out, "engine", engine);
    pair_number(out, "threads", "%.0f", r->threads);
    pair_number(out, "repetitions", "%.0f", (double)r->repetitions);
    pair_number(out, "of these resumed", "%.0f", (double)r->resumed);
    pair_number(out, "seconds", "%.3f", run->seconds);
    pair_number(out, "peak memory, MiB", "%.1f", (double)run->peak_rss_bytes / 1048576);
    html_pair(out, "machine", run->machine ? run->machine : "unknown");
    html_table_close(out);
    fputs("<details><summary>All options</summary>\n", out);
    html_table_open(out, "Options that ran", false);
    html_column(out, "option", true);
    html_column(out, "value", true);
    html_table_body(out);
    const epiq_option_info *info;
    for (ptrdiff_t i = 0; (info = epiq_options_info(i)); i++) {
        char *text = report_option(&r->options, info->name);
        html_pair(out, info->name, text ? text : "not set");
        free(text);
    }
    html_table_close(out);
    fputs("</details>\n", out);
    free(engine);
}

void report_study_html(FILE *out, const study_result *r, const report_study_run *run)
{
    const char *title = r->title ? r->title : r->name ? r->name : "study";
    char *engine = report_option(&r->options, "engine");
    html_open(out, title);
    fputs("<p class=\"kicker\">epiq study ", out);
    html_text(out, r->name);
    fputs("</p>\n", out);
    html_element(out, "h1", title);
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
    write_tables(out, r);
    write_figures(out, r);
    write_manifest(out, r, run);
    html_close(out);
    free(engine);
}
