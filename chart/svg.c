/* svg.c - charts as inline SVG: the frame with its axes, then what is drawn inside. Scales are svg_axis.c's. */
#include "chart/html.h"
#include "chart/svg_parts.h"
#include "chart/text.h"

#include <math.h>
#include <string.h>

enum {
    ROW = 22,         /* height of a named row */
    BAR = 13,         /* height of a bar in it */
    LINE_HEIGHT = 18, /* of a title or the name of an svg_axis */
    CROWD = 60,       /* marks of a series from which they are small and let others shine through */
    LABELS_MAX = 64,  /* of marks in one panel; more would not be read */
    LABEL_HIGH = 13,
    TITLED_MAX = 400, /* marks of a series that say their numbers when pointed at; more would only swell the file */
};

typedef struct {
    FILE *out;
    const svg_panel *p;
    svg_axis x, y;
    double left, right, top, bottom; /* the frame */
    int label_count;                 /* labels of marks so far, and where they are */
    struct {
        double x, y, wide;
    } label[LABELS_MAX];
} drawing;

static bool on_paper(const drawing *g, const svg_series *s, ptrdiff_t i)
{
    return i >= 0 && i < s->count && svg_drawable(&g->x, s->x[i]) && svg_drawable(&g->y, s->y[i]);
}

/* A mark's interval may have no known upper end: the bar then runs on to the edge, as an arrow. */
static bool has_bar(const svg_series *s, ptrdiff_t i)
{
    return s->lo && s->hi && fabs(s->lo[i]) <= SVG_HUGEST &&
           (fabs(s->hi[i]) <= SVG_HUGEST || (s->kind == SVG_MARKS && isnan(s->hi[i])));
}

static bool has_arrow(const svg_series *s, ptrdiff_t i)
{
    return s->kind == SVG_MARKS && has_bar(s, i) && isnan(s->hi[i]);
}

bool svg_has_arrows(const svg_panel *p)
{
    for (ptrdiff_t k = 0; k < p->series_count; k++) {
        for (ptrdiff_t i = 0; i < p->series[k].count; i++) {
            if (has_arrow(&p->series[k], i)) return true;
        }
    }
    return false;
}

/* Half the length of the error bar along x; 0: there is none. */
static double x_error(const svg_series *s, ptrdiff_t i)
{
    return s->x_error && s->x_error[i] > 0 && s->x_error[i] <= SVG_HUGEST ? s->x_error[i] : 0;
}

static void see_all(drawing *g)
{
    const svg_panel *p = g->p;
    for (ptrdiff_t k = 0; k < p->series_count; k++) {
        const svg_series *s = &p->series[k];
        for (ptrdiff_t i = 0; i < s->count; i++) {
            if (!on_paper(g, s, i)) continue;
            svg_axis_see(&g->x, s->x[i] - x_error(s, i));
            svg_axis_see(&g->x, s->x[i] + x_error(s, i));
            svg_axis_see(&g->y, s->y[i]);
            if (has_bar(s, i)) {
                svg_axis_see(p->rows ? &g->x : &g->y, s->lo[i]);
                svg_axis_see(p->rows ? &g->x : &g->y, s->hi[i]);
            }
        }
    }
    bool any = g->x.ends_set && g->y.ends_set;
    for (int k = 0; any && k < p->rule_count; k++) {
        svg_axis_see(p->rules[k].vertical ? &g->x : &g->y, p->rules[k].value);
    }
}

static int top_of(const svg_panel *p)
{
    return 8 + (p->title ? LINE_HEIGHT : 0) + (p->y_name ? LINE_HEIGHT + 3 : 0);
}

static int bottom_room(const svg_panel *p)
{
    return 22 + (p->x_name ? LINE_HEIGHT : 0);
}

int svg_height(const svg_panel *p)
{
    return p->rows ? top_of(p) + ROW * p->row_count + bottom_room(p) : p->height;
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
    if (p->rows) {
        g->y.lo = -0.5;
        g->y.hi = p->row_count - 0.5;
    } else if (!p->y_bare) {
        svg_axis_ticks(&g->y, p->height / 50);
    }
    double label = 0; /* characters of the longest */
    for (int k = 0; k < (p->rows ? p->row_count : g->y.ticks); k++) {
        label = fmax(label, text_width(p->rows ? p->rows[k] : g->y.text[k]));
    }
    g->left = fmin(12 + SVG_CHARACTER * label, 0.55 * p->width);
    g->right = p->width - 14;
    g->top = top_of(p);
    g->bottom = svg_height(p) - bottom_room(p);
    g->x.from = g->left;
    g->x.to = g->right;
    g->y.from = p->rows ? g->top : g->bottom;
    g->y.to = p->rows ? g->bottom : g->top;
}

enum { NAME_MOST = 400 };

/* A name that is too long for its label is cut there; here only what says that the axis is logarithmic would be lost. */
static void axis_name(const char *name, bool log, char out[static NAME_MOST])
{
    snprintf(out, NAME_MOST, log ? "%.360s (log scale)" : "%.390s", name);
}

static void draw_rug(const drawing *g)
{
    const svg_panel *p = g->p;
    bool any = false;
    for (ptrdiff_t i = 0; p->rug && i < p->rug_count; i++) {
        if (!svg_drawable(&g->x, p->rug[i])) continue;
        fprintf(g->out, "%sM%.1f %.1fv-6", any ? "" : "<path class=\"rug\" d=\"", svg_place(&g->x, p->rug[i]),
                g->bottom);
        any = true;
    }
    fputs(any ? "\"/>\n" : "", g->out);
}

static void draw_axes(const drawing *g)
{
    const svg_panel *p = g->p;
    FILE *out = g->out;
    char name[NAME_MOST];
    double last = -1e9;
    for (int k = 0; k < g->y.ticks; k++) {
        double y = svg_place(&g->y, g->y.tick[k]);
        fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", g->left, y, g->right);
        svg_label(out, "end", g->left - 6, y + 4, g->left, g->y.text[k]);
    }
    for (int k = 0; k < g->x.ticks; k++) {
        double x = svg_place(&g->x, g->x.tick[k]), half = SVG_CHARACTER * text_width(g->x.text[k]) / 2;
        fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fV%.1f\"/>", p->rows ? "grid" : "axis", x,
                p->rows ? g->top : g->bottom, g->bottom + 5);
        if (x - half > last + 2 * SVG_CHARACTER && x + half < p->width) { /* labels never touch */
            svg_label(out, "mid", x, g->bottom + 17, p->width, g->x.text[k]);
            last = x + half;
        }
    }
    for (int k = 0; k < p->row_count && p->rows; k++) {
        svg_label(out, "end", g->left - 6, svg_place(&g->y, k) + 4, g->left - 8, p->rows[k]);
    }
    fprintf(out, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", g->left, g->top, g->bottom, g->right);
    if (p->title) {
        double x = p->rows ? 4 : g->left;
        svg_label(out, "name", x, LINE_HEIGHT - 4, (p->width - x) / 1.1, p->title); /* bold is wider */
    }
    if (p->y_name) {
        axis_name(p->y_name, p->log_y, name);
        svg_label(out, "start", 4, g->top - 11, p->width - 8, name);
    }
    if (p->x_name) {
        axis_name(p->x_name, p->log_x, name);
        double half = fmin(SVG_CHARACTER * text_width(name), p->width) / 2; /* centred, but not past the edge */
        double x = fmax(fmin((g->left + g->right) / 2, p->width - half), half);
        svg_label(out, "mid", x, g->bottom + 17 + LINE_HEIGHT, p->width, name);
    }
    draw_rug(g);
    for (int k = 0; k < p->rule_count; k++) {
        const bool vertical = p->rules[k].vertical;
        const svg_axis *a = vertical ? &g->x : &g->y;
        if (!svg_drawable(a, p->rules[k].value)) continue;
        const double at = svg_place(a, p->rules[k].value);
        fprintf(out, "<path class=\"rule\" d=\"M%.1f %.1f%c%.1f\"/>\n", vertical ? at : g->left, vertical ? g->top : at,
                vertical ? 'V' : 'H', vertical ? g->bottom : g->right);
    }
}

/* Where a bar ends: on a log axis what is not positive is below the frame. */
static double bar_end(const svg_axis *a, double v)
{
    return svg_drawable(a, v) ? svg_place(a, v) : a->from;
}

/* A band is one outline for every run of points that can be drawn: forth along hi, back along lo; hollow: the edges. */
static void draw_band(const drawing *g, const svg_series *s)
{
    for (ptrdiff_t i = 0, j; i < s->count; i = j + 1) {
        for (j = i; on_paper(g, s, j) && has_bar(s, j); j++) {
        }
        if (j - i < 2) continue;
        const ptrdiff_t n = j - i;
        fprintf(g->out, "<path class=\"%s\" d=\"", s->hollow ? "edge" : "band");
        for (ptrdiff_t k = 0; k < 2 * n; k++) {
            const ptrdiff_t at = k < n ? i + k : s->hollow ? i + k - n : j - 1 - (k - n);
            fprintf(g->out, "%c%.1f %.1f", k == 0 || (k == n && s->hollow) ? 'M' : 'L', svg_place(&g->x, s->x[at]),
                    bar_end(&g->y, k < n ? s->hi[at] : s->lo[at]));
        }
        fputs(s->hollow ? "\"/>\n" : "z\"/>\n", g->out);
    }
}

/* Over its band, if it has one. */
static void draw_line(const drawing *g, const svg_series *s)
{
    bool any = false;
    draw_band(g, s);
    for (ptrdiff_t i = 0; i < s->count; i++) {
        if (!on_paper(g, s, i)) continue;
        bool starts = !on_paper(g, s, i - 1), ends = !on_paper(g, s, i + 1);
        fputs(any ? "" : "<path class=\"line\" d=\"", g->out);
        fprintf(g->out, "%c%.1f %.1f%s", starts ? 'M' : 'L', svg_place(&g->x, s->x[i]), svg_place(&g->y, s->y[i]),
                starts && ends ? "h0" : ""); /* a point alone is a dot */
        any = true;
    }
    fputs(any ? "\"/>\n" : "", g->out);
}

/* What a mark says when pointed at. */
static void draw_title(const drawing *g, const svg_series *s, ptrdiff_t i)
{
    html_print(g->out, "<title>%s%s%.4g", s->name, s->name ? ": " : "", g->p->rows ? s->x[i] : s->y[i]);
    if (has_bar(s, i) && s->kind == SVG_MARKS) {
        fprintf(g->out, isnan(s->hi[i]) ? ", at least %.4g" : " [%.4g, %.4g]", s->lo[i], s->hi[i]);
    }
    if (!g->p->rows) fprintf(g->out, " at %.4g", s->x[i]);
    fputs("</title>", g->out);
}

static void draw_marks(const drawing *g, const svg_series *s)
{
    for (ptrdiff_t i = 0; i < s->count; i++) {
        if (!on_paper(g, s, i)) continue;
        const bool across = g->p->rows;
        const svg_axis *a = across ? &g->x : &g->y;
        double x = svg_place(&g->x, s->x[i]) + (across ? 0 : s->shift);
        double y = svg_place(&g->y, s->y[i]) + (across ? s->shift : 0);
        if (has_bar(s, i)) {
            const bool arrow = has_arrow(s, i);
            double from = bar_end(a, s->lo[i]), to = arrow ? a->to : bar_end(a, s->hi[i]);
            fprintf(g->out, "<path class=\"bar\" d=\"M%.1f %.1f%c%.1f%s\"/>", across ? from : x, across ? y : from,
                    across ? 'H' : 'V', to,
                    !arrow   ? ""
                    : across ? "m-5 -4l5 4l-5 4"
                             : "m-4 5l4 -5l4 5");
        }
        if (x_error(s, i) > 0) {
            fprintf(g->out, "<path class=\"bar\" d=\"M%.1f %.1fH%.1f\"/>", bar_end(&g->x, s->x[i] - x_error(s, i)), y,
                    bar_end(&g->x, s->x[i] + x_error(s, i)));
        }
        svg_mark_open(g->out, s->look, x, y, s->count < CROWD ? 3.4 : 2.4);
        if (s->count <= TITLED_MAX) draw_title(g, s, i);
        svg_mark_close(g->out, s->look);
        putc('\n', g->out);
    }
}

/* ---- labels of marks: each beside its mark, where no other label is and no mark that has one ---- */

static bool label_fits(const drawing *g, double x, double y, double wide)
{
    bool fits = x >= g->left + 1 && x + wide <= g->p->width - 1 && y - LABEL_HIGH >= g->top - 4 && y <= g->bottom - 2;
    for (int k = 0; fits && k < g->label_count; k++) {
        fits =
            x >= g->label[k].x + g->label[k].wide || x + wide <= g->label[k].x || fabs(y - g->label[k].y) >= LABEL_HIGH;
    }
    return fits;
}

static bool keep_label(drawing *g, double x, double y, double wide)
{
    if (g->label_count == LABELS_MAX) return false;
    g->label[g->label_count].x = x;
    g->label[g->label_count].y = y;
    g->label[g->label_count++].wide = wide;
    return true;
}

static void place_label(drawing *g, double x, double y, const char *text)
{
    static const double STEPS[] = {-4, 11, -14, 21, -24, 31, -34, 41}; /* down from the mark, the nearest first */
    const double wide = SVG_CHARACTER * text_width(text) + 2;
    for (size_t k = 0; k < 2 * (sizeof STEPS / sizeof *STEPS); k++) {
        const double left = k % 2 ? x - 6 - wide : x + 6, base = y + STEPS[k / 2];
        if (!label_fits(g, left, base, wide)) continue;
        if (k > 3) { /* so far off that a line must join them */
            fprintf(g->out, "<path class=\"grid\" d=\"M%.1f %.1fL%.1f %.1f\"/>", x, y, k % 2 ? x - 7 : x + 7, base - 4);
        }
        if (keep_label(g, left, base, wide)) svg_label(g->out, "tag", left, base, wide + 1, text);
        putc('\n', g->out);
        return;
    }
}

static void draw_labels(drawing *g)
{
    for (int pass = 0; pass < 2; pass++) { /* the marks' own places first, so that no label is put on one */
        /* the last series is drawn on top: its labels are placed first */
        for (ptrdiff_t k = g->p->series_count - 1; k >= 0; k--) {
            const svg_series *s = &g->p->series[k];
            for (ptrdiff_t i = 0; s->labels && i < s->count; i++) {
                if (!on_paper(g, s, i)) continue;
                const double x = svg_place(&g->x, s->x[i]), y = svg_place(&g->y, s->y[i]);
                if (pass) {
                    place_label(g, x, y, s->labels[i]);
                } else if (g->label_count < LABELS_MAX / 2) {
                    keep_label(g, x - 4, y + 5, 8);
                }
            }
        }
    }
}

static void draw_bars(const drawing *g, const svg_series *s)
{
    for (ptrdiff_t i = 0; i < s->count; i++) {
        if (on_paper(g, s, i) && has_bar(s, i)) {
            double from = bar_end(&g->x, s->lo[i]), to = bar_end(&g->x, s->hi[i]), y = svg_place(&g->y, s->y[i]);
            fprintf(g->out, "<path d=\"M%.1f %.1fH%.1fv%dH%.1fz\">", from, y - BAR / 2.0, to, BAR, from);
            draw_title(g, s, i);
            fputs("</path>\n", g->out);
        }
    }
}

static void draw_series(const drawing *g)
{
    static void (*const DRAW[])(const drawing *g, const svg_series *s) = {
        [SVG_LINE] = draw_line, [SVG_MARKS] = draw_marks, [SVG_BAND] = draw_band, [SVG_BARS] = draw_bars};
    for (ptrdiff_t k = 0; k < g->p->series_count; k++) {
        const svg_series *s = &g->p->series[k];
        svg_group_open(g->out, g->p, s, s->kind == SVG_MARKS && s->count >= CROWD);
        DRAW[s->kind](g, s);
        fputs("</g>\n", g->out);
    }
}

void svg_inside(FILE *out, const svg_panel *p)
{
    drawing g = {.out = out, .p = p, .x.log = p->log_x, .y.log = p->log_y};
    see_all(&g);
    bool any = g.x.ends_set && g.y.ends_set;
    fit(&g);
    html_print(out, "<title>%s</title>\n<desc>%s</desc>\n",
               p->label   ? p->label
               : p->title ? p->title
                          : "chart",
               p->describe);
    if (any) {
        draw_axes(&g);
        draw_series(&g);
        draw_labels(&g);
    } else {
        svg_label(out, "mid", p->width / 2.0, svg_height(p) / 2.0, p->width, "nothing to draw");
    }
}

void svg_draw(FILE *out, const svg_panel *p)
{
    fprintf(out, "<svg class=\"chart\" role=\"img\" viewBox=\"0 0 %d %d\">\n", p->width, svg_height(p));
    svg_inside(out, p);
    fputs("</svg>\n", out);
}
