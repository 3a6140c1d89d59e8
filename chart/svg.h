/* svg.h - charts as inline SVG or files: panels with axes, lines, bands, marks with error bars, stacked bars, rules, and a
 * legend beside them. Colours are the classes s0 .. s5 of style.c, which knows light and dark; shapes and dashes differ as
 * well, so that nothing is told by colour alone. What cannot be drawn (not finite, not positive on a log axis) is left out.
 */
#ifndef CHART_SVG_H
#define CHART_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { SVG_COLOURS = 6 };

typedef enum {
    SVG_LINE,
    SVG_MARKS,
    SVG_BAND, /* between lo and hi, without a line */
    SVG_BARS, /* from lo to hi along named rows; they meet where they are stacked */
} svg_kind;

typedef struct {
    const char *name; /* in the legend; NULL: not there */
    svg_kind kind;
    int look;     /* colour, shape and dashes: 0 .. SVG_COLOURS - 1, and round again */
    bool hollow;  /* marks and bars: an outline; bands: their edges */
    bool ink;     /* in the colour of text, to stand out from what is below */
    double shift; /* pixels across, so that error bars at one place do not overlap */
    ptrdiff_t count;
    const double *x, *y;
    const double *lo,
        *hi; /* of y (of x where rows have names): a band, error bars at marks (hi NAN: an arrow); NULL: none */
    const char *const *labels; /* beside each mark; NULL: none */
    const double *x_error;     /* half the length of error bars along x, of marks; NULL: none */
} svg_series;

/* A straight line across the panel at one value. */
typedef struct {
    double value;
    bool vertical;
    const char *name;
} svg_rule;

typedef struct {
    const char *name;             /* of its file; NULL: made of label and title */
    const char *title;            /* above the panel; NULL: none */
    const char *label, *describe; /* for those who cannot see it: what it is, what it shows */
    const char *x_name, *y_name;
    int width, height; /* of the drawing's own units; it scales with the page */
    bool log_x, log_y; /* the name of such an axis says so */
    bool y_bare;       /* y only keeps marks apart: no numbers along it */
    double y_lo, y_hi; /* both 0: as the data ask; given, several panels can be compared */
    double x_lo, x_hi;
    const double *x_ticks; /* NULL: round numbers */
    int x_tick_count;
    const char *const *rows; /* names from the top down: y is then 0, 1, .. and the height follows */
    int row_count;
    const svg_series *series;
    ptrdiff_t series_count;
    const svg_rule *rules;
    int rule_count;
    const double *rug; /* values that short lines along the x axis mark; NULL: none */
    ptrdiff_t rug_count;
} svg_panel;

void svg_draw(FILE *out, const svg_panel *p);
bool svg_has_arrows(const svg_panel *p);        /* some mark's interval has no known upper end */
void svg_legend(FILE *out, const svg_panel *p); /* an HTML list */
void svg_write(FILE *out, const svg_panel *p);  /* a file, with its style and legend, and its label for a title */

/* Takes the panels of a page besides the page: each is handed over as it is drawn, and lives for that call only. Afterwards it
 * says whether everything is on the page. */
typedef struct svg_album svg_album;
struct svg_album {
    void (*keep)(svg_album *a, const svg_panel *p); /* NULL: they are not wanted */
    bool incomplete;                                /* there was no memory for something on the page */
};

#endif
