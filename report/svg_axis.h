/* svg_axis.h - the scale of a chart, linear or logarithmic: let it see the data, settle it, ask for ticks, place values. */
#ifndef REPORT_SVG_AXIS_H
#define REPORT_SVG_AXIS_H

#include <stdbool.h>

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
int svg_axis_widest(const svg_axis *a); /* characters of the longest label */

#endif
