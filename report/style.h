/* style.h - how pages and pictures look: one table of colours for light, dark and paper, and the style sheets. */
#ifndef REPORT_STYLE_H
#define REPORT_STYLE_H

#include <stdio.h>

void style_page(FILE *out); /* for HTML, which knows light, dark, a phone and paper */
void style_picture(
    FILE *out); /* for an SVG file alone: light, every colour spelled out, since converters know no variables */

#endif
