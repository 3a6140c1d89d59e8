/* svg_file.c - legends: as a list on a page, and inside a picture that stands alone in a file. */
#include "report/html.h"
#include "report/report.h"
#include "report/style.h"
#include "report/svg_parts.h"

/* ---- on a page ---- */

static void open_item(FILE *out)
{
    fprintf(out, "<li><svg class=\"key\" aria-hidden=\"true\" viewBox=\"0 0 %d %d\">", SVG_KEY_WIDTH, SVG_KEY_HEIGHT);
}

static void close_item(FILE *out, const char *name)
{
    fputs("</svg>", out);
    html_text(out, name);
    fputs("</li>\n", out);
}

void svg_legend(FILE *out, const svg_panel *p)
{
    fputs("<ul class=\"legend\">\n", out);
    for (ptrdiff_t k = 0; k < p->series_count; k++) {
        if (p->series[k].name) {
            open_item(out);
            svg_key(out, p, &p->series[k]);
            close_item(out, p->series[k].name);
        }
    }
    for (int k = 0; k < p->rule_count; k++) {
        if (p->rules[k].name) {
            open_item(out);
            svg_rule_key(out, &p->rules[k]);
            close_item(out, p->rules[k].name);
        }
    }
    fputs("</ul>\n", out);
}

/* ---- in a file ---- */

enum { MARGIN = 10, LINE = 20 };

/* Where the next name goes: beside the last where there is room, else on a line of its own. */
typedef struct {
    FILE *out; /* NULL: only to see how high it gets */
    double x, y, width;
} pen;

static bool place(pen *at, const char *name)
{
    double wide = SVG_KEY_WIDTH + 8 + SVG_CHARACTER * report_columns(name) + 18;
    if (at->x > MARGIN && at->x + wide > at->width) {
        at->x = MARGIN;
        at->y += LINE;
    }
    if (at->out) {
        fprintf(at->out, "<g transform=\"translate(%.1f %.1f)\">", at->x, at->y);
        svg_label(at->out, "start", SVG_KEY_WIDTH + 6, 11, at->width - at->x - SVG_KEY_WIDTH - 10, name);
    }
    at->x += wide;
    return at->out;
}

/* Returns the height it takes. */
static double write_legend(FILE *out, const svg_panel *p, double top)
{
    pen at = {out, MARGIN, top, p->width};
    for (ptrdiff_t k = 0; k < p->series_count; k++) {
        if (p->series[k].name && place(&at, p->series[k].name)) {
            svg_key(out, p, &p->series[k]);
            fputs("</g>\n", out);
        }
    }
    for (int k = 0; k < p->rule_count; k++) {
        if (p->rules[k].name && place(&at, p->rules[k].name)) {
            svg_rule_key(out, &p->rules[k]);
            fputs("</g>\n", out);
        }
    }
    return at.x > MARGIN ? at.y + LINE - top : 0;
}

static void write_titled(FILE *out, const svg_panel *p)
{
    int height = svg_height(p), legend = (int)write_legend(NULL, p, 0);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
    fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n",
            p->width, height + legend + MARGIN, p->width, height + legend + MARGIN);
    style_picture(out);
    fprintf(out, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", p->width, height + legend + MARGIN);
    svg_inside(out, p);
    write_legend(out, p, height + MARGIN / 2.0);
    fputs("</svg>\n", out);
}

void svg_write(FILE *out, const svg_panel *p)
{
    char title[400];
    svg_panel titled = *p;
    if (p->label) { /* there is no page around it to say what it is */
        snprintf(title, sizeof title, "%s%s%s", p->label, p->title ? ": " : "", p->title ? p->title : "");
        titled.title = title;
    }
    write_titled(out, &titled);
}
