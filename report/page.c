/* page.c - what every page has around its own content: the answer, pictures, warnings, how to make it again. */
#include "report/page.h"
#include "report/report.h"

#include <math.h>

enum { NUMBERS_MAX = 600 }; /* points of a picture listed below it: more nobody reads, and the files hold them */

void page_open(FILE *out, const char *verb, const char *title, const char *answer)
{
    html_open(out, title);
    html_element(out, "p class=\"kicker\"", verb);
    html_element(out, "h1", title);
    if (answer) {
        html_element(out, "p class=\"answer\"", answer);
    }
}

/* ---- pictures ---- */

void page_figure_open(FILE *out, const char *title, const char *caption)
{
    fputs("<figure>\n<figcaption>", out);
    if (title) {
        html_element(out, "b", title);
    }
    html_text(out, caption);
    fputs("</figcaption>\n", out);
}

void page_figure_close(FILE *out)
{
    fputs("</figure>\n", out);
}

static void write_name(FILE *out, const char *name)
{
    fputs("<th scope=\"row\" class=\"l\">", out);
    html_text(out, name);
    fputs("</th>", out);
}

static void write_point(FILE *out, const svg_panel *p, const svg_series *s, ptrdiff_t i, bool named)
{
    const double v[] = {s->x[i], s->y[i], s->lo ? s->lo[i] : NAN, s->hi ? s->hi[i] : NAN};
    int row = p->rows ? (int)lround(s->y[i]) : -1;
    fputs("<tr>", out);
    if (named) {
        write_name(out, s->name);
    }
    if (p->rows) {
        write_name(out, row >= 0 && row < p->row_count ? p->rows[row] : NULL);
    }
    for (int k = 0; k < 4; k++) {
        if (!(p->rows && k == 1)) {
            html_number(out, "value", v[k], 5);
        }
    }
    fputs("</tr>\n", out);
}

void page_figure_numbers(FILE *out, const char *title, const svg_panel *p)
{
    ptrdiff_t count = 0;
    bool named = false;
    for (ptrdiff_t k = 0; k < p->series_count; k++) {
        count += p->series[k].count;
        named = named || p->series[k].name;
    }
    if (!count || count > NUMBERS_MAX) {
        return;
    }
    fputs("<details><summary>The numbers of ", out);
    html_text(out, title ? title : "this figure");
    fputs("</summary>\n", out);
    html_table_open(out, p->label ? p->label : "Numbers", false);
    if (named) {
        html_column(out, "what", true);
    }
    if (p->rows) {
        html_column(out, p->y_name ? p->y_name : "where", true);
    }
    html_column(out, p->x_name ? p->x_name : "x", false);
    if (!p->rows) {
        html_column(out, p->y_name ? p->y_name : "y", false);
    }
    html_column(out, "from", false);
    html_column(out, "to", false);
    html_table_body(out);
    for (ptrdiff_t k = 0; k < p->series_count; k++) {
        if (k) {
            html_table_group(out);
        }
        for (ptrdiff_t i = 0; i < p->series[k].count; i++) {
            write_point(out, p, &p->series[k], i, named);
        }
    }
    html_table_close(out);
    fputs("</details>\n", out);
}

void page_panel(FILE *out, svg_album *album, const svg_panel *p)
{
    svg_draw(out, p);
    if (album && album->keep) {
        album->keep(album, p);
    }
}

void page_no_picture(svg_album *album)
{
    if (album) {
        album->incomplete = true;
    }
}

void page_figure(FILE *out, svg_album *album, const char *title, const char *caption, const svg_panel *p)
{
    page_figure_open(out, title, caption);
    page_panel(out, album, p);
    svg_legend(out, p);
    page_figure_numbers(out, NULL, p);
    page_figure_close(out);
}

/* ---- warnings and the run ---- */

void page_warnings(FILE *out, const epiq_warning *warnings, ptrdiff_t count)
{
    if (!count) {
        return;
    }
    html_element(out, "h2 id=\"warnings\"", count == 1 ? "Warning" : "Warnings");
    fputs("<ul class=\"warnings\">\n", out);
    for (ptrdiff_t i = 0; i < count; i++) {
        fputs("<li data-code=\"", out);
        html_text(out, warnings[i].code);
        fputs("\">", out);
        html_text(out, warnings[i].message);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n", out);
}

static void open_pairs(FILE *out, const char *caption, const char *name)
{
    html_table_open(out, caption, false);
    html_column(out, name, true);
    html_column(out, "value", true);
    html_table_body(out);
}

static void write_fact(FILE *out, const page_fact *f)
{
    char number[64] = "unknown";
    if (!f->text && f->format && isfinite(f->number)) {
        snprintf(number, sizeof number, f->format, f->number);
    }
    html_pair(out, f->name, f->text ? f->text : number);
}

void page_manifest(FILE *out, const char *command, const page_fact *facts, int count, const epiq_options *options)
{
    html_element(out, "h2", "How it was made");
    open_pairs(out, "Manifest of the run", "what");
    html_pair(out, "command", command);
    html_pair(out, "epiq", epiq_version());
    for (int i = 0; i < count; i++) {
        write_fact(out, &facts[i]);
    }
    html_table_close(out);
    if (!options) {
        return;
    }
    fputs("<details><summary>All options</summary>\n", out);
    open_pairs(out, "Options that ran", "option");
    const epiq_option_info *info;
    for (ptrdiff_t i = 0; (info = epiq_options_info(i)); i++) {
        report_value room;
        const char *text = report_option(options, info->name, &room);
        html_pair(out, info->name, text ? text : "not set");
    }
    html_table_close(out);
    fputs("</details>\n", out);
}
