/* svg_parts.h - what charts are made of: their scales (linear or logarithmic: let one see the data, settle it, ask for ticks, place
 * values), marks of six shapes, keys, labels that fit, and style sheets.
 */
#ifndef CHART_SVG_PARTS_H
#define CHART_SVG_PARTS_H

#include "chart/svg.h"

void svg_mark_open(FILE *out, int look, double x, double y, double r); /* r: about half its width */
void svg_mark_close(FILE *out, int look);
/* <g> with the classes of its look. */
void svg_group_open(FILE *out, const svg_panel *p, const svg_series *s, bool crowd);

#define SVG_CHARACTER 6.6 /* width of a digit at the size the style sheet gives labels, 12 px */
void svg_label(FILE *out, const char *kind, double x, double y, double room, const char *text); /* made to fit */

int svg_height(const svg_panel *p);
void svg_inside(FILE *out, const svg_panel *p); /* the chart without the <svg> around it */

/* ---- scales ---- */

enum { SVG_TICKS = 16 };
#define SVG_HUGEST 1e300 /* beyond it differences overflow */

typedef struct {
    bool log;
    double lo, hi, from, to; /* the ends: of the (log of the) data, and in pixels */
    int ticks;
    double tick[SVG_TICKS];
    char text[SVG_TICKS][40];
    bool ends_set; /* some datum was seen */
} svg_axis;

bool svg_drawable(const svg_axis *a, double v); /* finite, and positive on a log axis */
double svg_place(const svg_axis *a, double v);  /* in pixels, kept inside the frame */

void svg_axis_see(svg_axis *a, double v);
void svg_axis_settle(svg_axis *a); /* all seen inside, with some air; one value alone gets an axis around it */
void svg_axis_ends(svg_axis *a, double lo, double hi);                /* these, if they can be */
void svg_axis_tick(svg_axis *a, double v, bool powers, int decimals); /* -1: as many as it needs */
void svg_axis_ticks(svg_axis *a, int about);

/* ---- style sheets ---- */

void style_page(FILE *out);    /* for HTML, which knows light, dark, a phone and paper */
void style_picture(FILE *out); /* for an SVG file: light, no variables, since converters know none */

#endif
