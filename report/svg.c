/* svg.c - charts as inline SVG: the frame with its axes, then what is drawn inside. Scales are svg_axis.c's. */
#include "report/svg.h"
#include "report/html.h"
#include "report/report.h"
#include "report/svg_axis.h"

#include <math.h>
#include <string.h>

enum {
    ROW = 22,         /* height of a named row */
    LINE_HEIGHT = 18, /* of a title or the name of an svg_axis */
    CROWD = 60,       /* marks of a series from which they are small and let others shine through */
    TITLED_MAX = 400, /* marks of a series that say their numbers when pointed at; more would only swell the file */
};
static const double CHARACTER = 6.6; /* width of a digit at the size the style sheet gives labels, 12 px */

/* ---- marks ---- */

/* r: about half its width */
static void draw_mark(FILE *out, int look, double x, double y, double r)
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

static void end_mark(FILE *out, int look)
{
    fputs(look % SVG_COLOURS == 0 ? "</circle>" : "</path>", out);
}

/* ---- a panel ---- */

typedef struct {
    FILE *out;
    const svg_panel *p;
    svg_axis x, y;
    double left, right, top, bottom; /* the frame */
} drawing;

static bool has_bar(const svg_series *s, ptrdiff_t i)
{
    return s->lo && s->hi && fabs(s->lo[i]) <= SVG_HUGEST && fabs(s->hi[i]) <= SVG_HUGEST;
}

static void see_all(drawing *g)
{
    const svg_panel *p = g->p;
    for (ptrdiff_t k = 0; k < p->series_count; k++) {
        const svg_series *s = &p->series[k];
        for (ptrdiff_t i = 0; i < s->count; i++) {
            if (svg_drawable(&g->x, s->x[i]) && svg_drawable(&g->y, s->y[i])) {
                svg_axis *ranged = p->rows ? &g->x : &g->y;
                svg_axis_see(&g->x, s->x[i]);
                svg_axis_see(&g->y, s->y[i]);
                if (has_bar(s, i)) {
                    svg_axis_see(ranged, s->lo[i]);
                    svg_axis_see(ranged, s->hi[i]);
                }
            }
        }
    }
    bool any = g->x.ends_set && g->y.ends_set;
    for (int k = 0; any && k < p->rule_count; k++) {
        svg_axis_see(p->rules[k].vertical ? &g->x : &g->y, p->rules[k].value);
    }
}

static void fit(drawing *g)
{
    const svg_panel *p = g->p;
    svg_axis_settle(&g->x);
    svg_axis_settle(&g->y);
    svg_axis_ends(&g->x, p->x_lo, p->x_hi);
    svg_axis_ends(&g->y, p->y_lo, p->y_hi);
    if (p->x_ticks) {
        for (int k = 0; k < p->x_tick_count; k++) {
            svg_axis_tick(&g->x, p->x_ticks[k], false, -1);
        }
    } else {
        svg_axis_ticks(&g->x, p->width / 80);
    }
    int label = 0;
    if (p->rows) {
        g->y.lo = -0.5;
        g->y.hi = p->row_count - 0.5;
        for (int k = 0; k < p->row_count; k++) {
            int columns = report_columns(p->rows[k]);
            label = columns > label ? columns : label;
        }
    } else {
        svg_axis_ticks(&g->y, p->height / 50);
        label = svg_axis_widest(&g->y);
    }
    g->left = fmin(12 + CHARACTER * label, 0.55 * p->width);
    g->right = p->width - 14;
    g->top = 8 + (p->title ? LINE_HEIGHT : 0) + (p->y_name ? LINE_HEIGHT : 0);
    g->bottom = p->rows ? g->top + ROW * p->row_count : p->height - 22 - (p->x_name ? LINE_HEIGHT : 0);
    g->x.from = g->left;
    g->x.to = g->right;
    g->y.from = p->rows ? g->top : g->bottom;
    g->y.to = p->rows ? g->bottom : g->top;
}

/* A text too long for its room is pressed into it, not cut and not over its neighbours. */
static void put_label(FILE *out, const char *kind, double x, double y, double room, const char *text)
{
    fprintf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\"", kind, x, y);
    if (CHARACTER * report_columns(text) > room) {
        fprintf(out, " textLength=\"%.0f\" lengthAdjust=\"spacingAndGlyphs\"", room);
    }
    putc('>', out);
    html_text(out, text);
    fputs("</text>\n", out);
}

static void draw_axes(const drawing *g)
{
    const svg_panel *p = g->p;
    FILE *out = g->out;
    double last = -1e9;
    for (int k = 0; k < g->y.ticks; k++) {
        double y = svg_place(&g->y, g->y.tick[k]);
        fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", g->left, y, g->right);
        put_label(out, "end", g->left - 6, y + 4, g->left, g->y.text[k]);
    }
    for (int k = 0; k < g->x.ticks; k++) {
        double x = svg_place(&g->x, g->x.tick[k]), half = CHARACTER * report_columns(g->x.text[k]) / 2;
        fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fV%.1f\"/>", p->rows ? "grid" : "axis", x,
                p->rows ? g->top : g->bottom, g->bottom + 5);
        if (x - half > last + 5 && x + half < p->width) { /* labels never touch */
            put_label(out, "mid", x, g->bottom + 17, p->width, g->x.text[k]);
            last = x + half;
        }
    }
    for (int k = 0; k < p->row_count && p->rows; k++) {
        put_label(out, "end", g->left - 6, svg_place(&g->y, k) + 4, g->left - 8, p->rows[k]);
    }
    fprintf(out, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", g->left, g->top, g->bottom, g->right);
    if (p->title) {
        put_label(out, "name", g->left, LINE_HEIGHT - 4, (p->width - g->left) / 1.1, p->title); /* bold is wider */
    }
    if (p->y_name) {
        put_label(out, "start", 4, g->top - 8, p->width - 8, p->y_name);
    }
    if (p->x_name) {
        double half = fmin(CHARACTER * report_columns(p->x_name), p->width) / 2; /* centred, but not past the edge */
        double x = fmax(fmin((g->left + g->right) / 2, p->width - half), half);
        put_label(out, "mid", x, g->bottom + 17 + LINE_HEIGHT, p->width, p->x_name);
    }
    for (int k = 0; k < p->rule_count; k++) {
        const svg_rule *r = &p->rules[k];
        if (r->vertical && svg_drawable(&g->x, r->value)) {
            double x = svg_place(&g->x, r->value);
            fprintf(out, "<path class=\"rule\" d=\"M%.1f %.1fV%.1f\"/>\n", x, g->top, g->bottom);
        } else if (!r->vertical && svg_drawable(&g->y, r->value)) {
            double y = svg_place(&g->y, r->value);
            fprintf(out, "<path class=\"rule\" d=\"M%.1f %.1fH%.1f\"/>\n", g->left, y, g->right);
        }
    }
}

static bool on_paper(const drawing *g, const svg_series *s, ptrdiff_t i)
{
    return i >= 0 && i < s->count && svg_drawable(&g->x, s->x[i]) && svg_drawable(&g->y, s->y[i]);
}

/* Where a bar ends: on a log axis what is not positive lies below the frame. */
static double bar_end(const svg_axis *a, double v)
{
    return svg_drawable(a, v) ? svg_place(a, v) : a->from;
}

/* A band is one outline for every run of points that can be drawn: forth along hi, back along lo. */
static void draw_band(const drawing *g, const svg_series *s)
{
    for (ptrdiff_t i = 0, j; i < s->count; i = j + 1) {
        for (j = i; on_paper(g, s, j) && has_bar(s, j); j++) {
        }
        if (j - i < 2) {
            continue;
        }
        fprintf(g->out, "<path class=\"band\" d=\"");
        for (ptrdiff_t k = i; k < j; k++) {
            fprintf(g->out, "%c%.1f %.1f", k == i ? 'M' : 'L', svg_place(&g->x, s->x[k]), bar_end(&g->y, s->hi[k]));
        }
        for (ptrdiff_t k = j - 1; k >= i; k--) {
            fprintf(g->out, "L%.1f %.1f", svg_place(&g->x, s->x[k]), bar_end(&g->y, s->lo[k]));
        }
        fputs("z\"/>\n", g->out);
    }
}

static void draw_line(const drawing *g, const svg_series *s)
{
    bool any = false;
    for (ptrdiff_t i = 0; i < s->count; i++) {
        if (!on_paper(g, s, i)) {
            continue;
        }
        bool starts = !on_paper(g, s, i - 1), ends = !on_paper(g, s, i + 1);
        fputs(any ? "" : "<path class=\"line\" d=\"", g->out);
        fprintf(g->out, "%c%.1f %.1f%s", starts ? 'M' : 'L', svg_place(&g->x, s->x[i]), svg_place(&g->y, s->y[i]),
                starts && ends ? "h0" : ""); /* a point alone is a dot */
        any = true;
    }
    fputs(any ? "\"/>\n" : "", g->out);
}

static void draw_marks(const drawing *g, const svg_series *s)
{
    for (ptrdiff_t i = 0; i < s->count; i++) {
        if (!on_paper(g, s, i)) {
            continue;
        }
        double x = svg_place(&g->x, s->x[i]) + (g->p->rows ? 0 : s->shift);
        double y = svg_place(&g->y, s->y[i]) + (g->p->rows ? s->shift : 0);
        if (has_bar(s, i) && g->p->rows) {
            fprintf(g->out, "<path class=\"bar\" d=\"M%.1f %.1fH%.1f\"/>", bar_end(&g->x, s->lo[i]), y,
                    bar_end(&g->x, s->hi[i]));
        } else if (has_bar(s, i)) {
            fprintf(g->out, "<path class=\"bar\" d=\"M%.1f %.1fV%.1f\"/>", x, bar_end(&g->y, s->lo[i]),
                    bar_end(&g->y, s->hi[i]));
        }
        draw_mark(g->out, s->look, x, y, s->count < CROWD ? 3.4 : 2.4);
        if (s->count <= TITLED_MAX) {
            fputs("<title>", g->out);
            html_text(g->out, s->name);
            fprintf(g->out, "%s%.4g", s->name ? ": " : "", g->p->rows ? s->x[i] : s->y[i]);
            if (has_bar(s, i)) {
                fprintf(g->out, " [%.4g, %.4g]", s->lo[i], s->hi[i]);
            }
            if (!g->p->rows) {
                fprintf(g->out, " at %.4g", s->x[i]);
            }
            fputs("</title>", g->out);
        }
        end_mark(g->out, s->look);
        putc('\n', g->out);
    }
}

static void draw_series(const drawing *g)
{
    for (ptrdiff_t k = 0; k < g->p->series_count; k++) {
        const svg_series *s = &g->p->series[k];
        bool crowd = s->kind == SVG_MARKS && s->count >= CROWD;
        fprintf(g->out, "<g class=\"s%d%s\">\n", s->look % SVG_COLOURS, s->hollow ? " hollow" : crowd ? " many" : "");
        if (s->kind == SVG_MARKS) {
            draw_marks(g, s);
        } else {
            draw_band(g, s);
            draw_line(g, s);
        }
        fputs("</g>\n", g->out);
    }
}

void svg_draw(FILE *out, const svg_panel *p)
{
    drawing g = {.out = out, .p = p, .x.log = p->log_x, .y.log = p->log_y};
    see_all(&g);
    bool any = g.x.ends_set && g.y.ends_set;
    fit(&g);
    int height = p->rows ? (int)(g.bottom + 22 + (p->x_name ? LINE_HEIGHT : 0)) : p->height;
    fprintf(out, "<svg class=\"chart\" role=\"img\" viewBox=\"0 0 %d %d\">\n", p->width, height);
    html_element(out, "title", p->label ? p->label : p->title ? p->title : "chart");
    html_element(out, "desc", p->describe);
    if (any) {
        draw_axes(&g);
        draw_series(&g);
    } else {
        put_label(out, "mid", p->width / 2.0, height / 2.0, p->width, "nothing to draw");
    }
    fputs("</svg>\n", out);
}

void svg_legend(FILE *out, const svg_panel *p)
{
    fputs("<ul class=\"legend\">\n", out);
    for (ptrdiff_t k = 0; k < p->series_count; k++) {
        const svg_series *s = &p->series[k];
        if (!s->name) {
            continue;
        }
        fprintf(out, "<li><svg class=\"key\" aria-hidden=\"true\" viewBox=\"0 0 28 14\"><g class=\"s%d%s\">",
                s->look % SVG_COLOURS, s->hollow ? " hollow" : "");
        if (s->kind == SVG_MARKS) {
            const char *bar = p->rows ? "<path class=\"bar\" d=\"M3 7H25\"/>" : "<path class=\"bar\" d=\"M14 0V14\"/>";
            fputs(s->lo && s->hi ? bar : "", out);
            draw_mark(out, s->look, 14, 7, 3.4);
            end_mark(out, s->look);
        } else {
            fputs(s->lo && s->hi ? "<path class=\"band\" d=\"M1 1H27V13H1z\"/>" : "", out);
            fputs("<path class=\"line\" d=\"M2 7H26\"/>", out);
        }
        fputs("</g></svg>", out);
        html_text(out, s->name);
        fputs("</li>\n", out);
    }
    for (int k = 0; k < p->rule_count; k++) {
        if (p->rules[k].name) {
            fprintf(out,
                    "<li><svg class=\"key\" aria-hidden=\"true\" viewBox=\"0 0 28 14\"><path class=\"rule\" "
                    "d=\"%s\"/></svg>",
                    p->rules[k].vertical ? "M14 0V14" : "M2 7H26");
            html_text(out, p->rules[k].name);
            fputs("</li>\n", out);
        }
    }
    fputs("</ul>\n", out);
}
