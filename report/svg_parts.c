/* svg_parts.c - the signs charts are drawn with: marks of six shapes, what stands beside a name in a legend, labels. */
#include "report/svg_parts.h"
#include "report/html.h"
#include "report/report.h"

#include <string.h>

void svg_mark_open(FILE *out, int look, double x, double y, double r)
{
    switch (look % SVG_COLOURS) {
    case 0:
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\">", x, y, r);
        break;
    case 1:
        fprintf(out, "<path d=\"M%.1f %.1fh%.1fv%.1fh%.1fz\">", x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r, -1.8 * r);
        break;
    case 2:
        fprintf(out, "<path d=\"M%.1f %.1fl%.1f %.1f %.1f %.1f %.1f %.1fz\">", x, y - 1.2 * r, 1.2 * r, 1.2 * r,
                -1.2 * r, 1.2 * r, -1.2 * r, -1.2 * r);
        break;
    case 3:
        fprintf(out, "<path d=\"M%.1f %.1fl%.1f %.1fh%.1fz\">", x, y - 1.2 * r, 1.2 * r, 2 * r, -2.4 * r);
        break;
    case 4:
        fprintf(out, "<path d=\"M%.1f %.1fl%.1f %.1fh%.1fz\">", x, y + 1.2 * r, 1.2 * r, -2 * r, -2.4 * r);
        break;
    default: /* a cross, which has no inside to be hollow */
        fprintf(out, "<path d=\"M%.1f %.1fl%.1f %.1fm0 %.1fl%.1f %.1f\">", x - r, y - r, 2 * r, 2 * r, -2 * r, -2 * r,
                2 * r);
        break;
    }
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

void svg_key(FILE *out, const svg_panel *p, const svg_series *s)
{
    bool ranged = s->lo && s->hi;
    svg_group_open(out, p, s, false);
    switch (s->kind) {
    case SVG_MARKS:
        if (ranged) {
            fputs(p->rows ? "<path class=\"bar\" d=\"M3 7H25\"/>" : "<path class=\"bar\" d=\"M14 0V14\"/>", out);
        }
        svg_mark_open(out, s->look, 14, 7, 3.4);
        svg_mark_close(out, s->look);
        break;
    case SVG_LINE:
        fputs(ranged ? "<path class=\"band\" d=\"M1 1H27V13H1z\"/>" : "", out);
        fputs("<path class=\"line\" d=\"M2 7H26\"/>", out);
        break;
    case SVG_BAND:
        fputs(s->hollow ? "<path class=\"edge\" d=\"M1 2H27M1 12H27\"/>" : "<path class=\"band\" d=\"M1 1H27V13H1z\"/>",
              out);
        break;
    case SVG_BARS:
        fputs("<path d=\"M2 2H26V12H2z\"/>", out);
        break;
    }
    fputs("</g>", out);
}

void svg_rule_key(FILE *out, const svg_rule *r)
{
    fprintf(out, "<path class=\"rule\" d=\"%s\"/>", r->vertical ? "M14 0V14" : "M2 7H26");
}

/* A text too long for its room is written smaller, never over its neighbours; what would no longer be readable then is cut,
 * and said in full when pointed at. (Not textLength: converters ignore it.) */
void svg_label(FILE *out, const char *kind, double x, double y, double room, const char *text)
{
    const double SIZE = 12, SMALLEST = 0.75; /* pixels; of that */
    int columns = report_columns(text), most = (int)(room / (SMALLEST * SVG_CHARACTER));
    bool cut = columns > most && most > 1;
    fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\"", kind, x, y);
    if (SVG_CHARACTER * columns > room) {
        fprintf(out, " style=\"font-size:%.1fpx\"", cut ? SMALLEST * SIZE : SIZE * room / (SVG_CHARACTER * columns));
    }
    putc('>', out);
    if (cut) {
        html_element(out, "title", text);
        for (int k = 0; k < most - 1; k++) {
            char one[8] = "";
            size_t length = report_utf8(text);
            length = length ? length : 1;
            memcpy(one, text, length);
            html_text(out, one);
            text += length;
        }
        fputs("…", out);
    } else {
        html_text(out, text);
    }
    fputs("</text>\n", out);
}
