/* svg_parts.c - the signs charts are drawn with: marks of six shapes, labels, legends as a list on a page and inside a picture that
 * is a file of its own.
 */
#include "chart/svg_parts.h"
#include "chart/html.h"
#include "chart/text.h"

void svg_mark_open(FILE *out, int look, double x, double y, double r)
{
    static const struct {
        const char *format;
        double size[8]; /* of x, y and the steps from there, in r */
    } SHAPES[SVG_COLOURS] = {
        {"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\">", {0, 0, 1}},
        {"<path d=\"M%.1f %.1fh%.1fv%.1fh%.1fz\">", {-0.9, -0.9, 1.8, 1.8, -1.8}},
        {"<path d=\"M%.1f %.1fl%.1f %.1f %.1f %.1f %.1f %.1fz\">", {0, -1.2, 1.2, 1.2, -1.2, 1.2, -1.2, -1.2}},
        {"<path d=\"M%.1f %.1fl%.1f %.1fh%.1fz\">", {0, -1.2, 1.2, 2, -2.4}},
        {"<path d=\"M%.1f %.1fl%.1f %.1fh%.1fz\">", {0, 1.2, 1.2, -2, -2.4}},
        {"<path d=\"M%.1f %.1fl%.1f %.1fm0 %.1fl%.1f %.1f\">",
         {-1, -1, 2, 2, -2, -2, 2}}, /* has no inside to be hollow */
    };
    const char *format = SHAPES[look % SVG_COLOURS].format;
    const double *k = SHAPES[look % SVG_COLOURS].size;
    fprintf(out, format, x + k[0] * r, y + k[1] * r, k[2] * r, k[3] * r, k[4] * r, k[5] * r, k[6] * r, k[7] * r);
}

void svg_mark_close(FILE *out, int look)
{
    fputs(look % SVG_COLOURS == 0 ? "</circle>" : "</path>", out);
}

/* Dashes tell lines apart; a line alone needs none. */
static bool only_line(const svg_panel *p)
{
    int lines = 0;
    for (ptrdiff_t k = 0; k < p->series_count; k++) {
        lines += p->series[k].kind == SVG_LINE;
    }
    return lines == 1;
}

void svg_group_open(FILE *out, const svg_panel *p, const svg_series *s, bool crowd)
{
    fprintf(out, "<g class=\"s%d%s%s%s\">\n", s->look % SVG_COLOURS,
            s->hollow ? " hollow"
            : crowd   ? " many"
                      : "",
            s->ink ? " ink" : "", s->kind == SVG_LINE && only_line(p) ? " alone" : "");
}

enum { KEY_WIDTH = 28, KEY_HEIGHT = 14 };

static void put_series_key(FILE *out, const svg_panel *p, const svg_series *s)
{
    static const char *const BAND = "<path class=\"band\" d=\"M1 1H27V13H1z\"/>";
    const bool ranged = s->lo && s->hi;
    svg_group_open(out, p, s, false);
    switch (s->kind) {
    case SVG_MARKS:
        fputs(!ranged   ? ""
              : p->rows ? "<path class=\"bar\" d=\"M3 7H25\"/>"
                        : "<path class=\"bar\" d=\"M14 0V14\"/>",
              out);
        svg_mark_open(out, s->look, 14, 7, 3.4);
        svg_mark_close(out, s->look);
        break;
    case SVG_LINE:
        fprintf(out, "%s<path class=\"line\" d=\"M2 7H26\"/>", ranged ? BAND : "");
        break;
    case SVG_BAND:
        fputs(s->hollow ? "<path class=\"edge\" d=\"M1 2H27M1 12H27\"/>" : BAND, out);
        break;
    case SVG_BARS:
        fputs("<path d=\"M2 2H26V12H2z\"/>", out);
        break;
    }
    fputs("</g>", out);
}

/* A text too long for its room is written smaller, never over its neighbours; what would no longer be readable then is cut,
 * and said in full when pointed at. (Not textLength: converters ignore it.) */
void svg_label(FILE *out, const char *kind, double x, double y, double room, const char *text)
{
    const double SIZE = 12, SMALLEST = 0.75; /* pixels; of that */
    int columns = text_width(text), most = (int)(room / (SMALLEST * SVG_CHARACTER));
    bool cut = columns > most && most > 1;
    fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\"", kind, x, y);
    if (SVG_CHARACTER * columns > room) {
        fprintf(out, " style=\"font-size:%.1fpx\"", cut ? SMALLEST * SIZE : SIZE * room / (SVG_CHARACTER * columns));
    }
    html_print(out, cut ? "><title>%s</title>\n" : ">", text);
    html_part(out, text, cut ? most - 1 : columns);
    fputs(cut ? "…</text>\n" : "</text>\n", out);
}

/* ---- legends: the series, then the rules ---- */

static const char *key_name(const svg_panel *p, ptrdiff_t k)
{
    return k < p->series_count ? p->series[k].name : p->rules[k - p->series_count].name;
}

static void put_key(FILE *out, const svg_panel *p, ptrdiff_t k)
{
    if (k < p->series_count) {
        put_series_key(out, p, &p->series[k]);
    } else {
        const bool vertical = p->rules[k - p->series_count].vertical;
        fprintf(out, "<path class=\"rule\" d=\"%s\"/>", vertical ? "M14 0V14" : "M2 7H26");
    }
}

void svg_legend(FILE *out, const svg_panel *p)
{
    fputs("<ul class=\"legend\">\n", out);
    for (ptrdiff_t k = 0; k < p->series_count + p->rule_count; k++) {
        if (!key_name(p, k)) continue;
        fprintf(out, "<li><svg class=\"key\" aria-hidden=\"true\" viewBox=\"0 0 %d %d\">", KEY_WIDTH, KEY_HEIGHT);
        put_key(out, p, k);
        html_print(out, "</svg>%s</li>\n", key_name(p, k));
    }
    fputs("</ul>\n", out);
}

/* ---- a picture that is a file of its own ---- */

enum { MARGIN = 10, LINE = 20 };

/* Each name beside the last where there is room, else on a line of its own. Returns the height it takes; without a file
 * that is all. */
static double write_legend(FILE *out, const svg_panel *p, double top)
{
    double x = MARGIN, y = top;
    for (ptrdiff_t k = 0; k < p->series_count + p->rule_count; k++) {
        const char *name = key_name(p, k);
        if (!name) continue;
        const double wide = KEY_WIDTH + 8 + SVG_CHARACTER * text_width(name) + 18;
        if (x > MARGIN && x + wide > p->width) {
            x = MARGIN;
            y += LINE;
        }
        if (out) {
            fprintf(out, "<g transform=\"translate(%.1f %.1f)\">", x, y);
            svg_label(out, "start", KEY_WIDTH + 6, 11, p->width - x - KEY_WIDTH - 10, name);
            put_key(out, p, k);
            fputs("</g>\n", out);
        }
        x += wide;
    }
    return x > MARGIN ? y + LINE - top : 0;
}

void svg_write(FILE *out, const svg_panel *p)
{
    char title[400];
    svg_panel titled = *p;
    if (p->label) { /* there is no page around it to say what it is */
        snprintf(title, sizeof title, "%s%s%s", p->label, p->title ? ": " : "", p->title ? p->title : "");
        titled.title = title;
    }
    const int top = svg_height(&titled), height = top + (int)write_legend(NULL, p, 0) + MARGIN;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n",
            p->width, height, p->width, height);
    style_picture(out);
    fprintf(out, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", p->width, height);
    svg_inside(out, &titled);
    write_legend(out, p, top + MARGIN / 2.0);
    fputs("</svg>\n", out);
}
