/* svg_parts.h - what charts share with their legends: marks of six shapes, the key of a series, labels that fit. */
#ifndef REPORT_SVG_PARTS_H
#define REPORT_SVG_PARTS_H

#include "report/svg.h"

enum { SVG_KEY_WIDTH = 28, SVG_KEY_HEIGHT = 14 };

void svg_mark_open(FILE *out, int look, double x, double y, double r); /* r: about half its width */
void svg_mark_close(FILE *out, int look);
void svg_group_open(FILE *out, const svg_panel *p, const svg_series *s,
                    bool crowd);                                  /* <g> with the classes of its look */
void svg_key(FILE *out, const svg_panel *p, const svg_series *s); /* in a box of 28 by 14 */
void svg_rule_key(FILE *out, const svg_rule *r);

#define SVG_CHARACTER 6.6 /* width of a digit at the size the style sheet gives labels, 12 px */
void svg_label(FILE *out, const char *kind, double x, double y, double room, const char *text); /* made to fit */

int svg_height(const svg_panel *p);
void svg_inside(FILE *out, const svg_panel *p); /* the chart without the <svg> around it */

#endif
