/* page.h - what every page has around its own content: the answer first, pictures with a sentence each, warnings, and
 * how to make it again. Text and tables are html.h's, charts svg.h's.
 *
 *     page_open(out, "epiq plan", "What it takes to halve the variance", "Train 20 members more; ...");
 *     page_figure(out, album, "Cost", "The lower the dot, the cheaper.", &panel);
 *     page_warnings(out, r->warnings, r->warning_count);
 *     const page_fact facts[] = {{"seed", seed, NULL, 0}, {"seconds", NULL, "%.3f", seconds}};
 *     page_manifest(out, command, facts, 2, &options);
 *     html_close(out);
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "epiq.h"
#include "report/html.h"
#include "report/svg.h"

/* Up to the answer in a sentence or two; NULL: none. verb stands small above the title. */
void page_open(FILE *out, const char *verb, const char *title, const char *answer);

/* A picture with its title (NULL: none), a sentence that says how to read it, its legend, and its numbers to unfold.
 * Like every panel of a page it goes into the album too, where there is one. */
void page_figure(FILE *out, svg_album *album, const char *title, const char *caption, const svg_panel *p);

/* The same in pieces, for several panels under one title. */
void page_figure_open(FILE *out, const char *title, const char *caption);
void page_panel(FILE *out, svg_album *album, const svg_panel *p);
/* As a table to unfold, "The numbers of TITLE" (NULL: of this figure); nothing when there are too many to read. */
void page_figure_numbers(FILE *out, const char *title, const svg_panel *p);
void page_figure_close(FILE *out);

void page_no_picture(svg_album *album); /* there was no memory for one: the album says so at the end */

void page_warnings(FILE *out, const epiq_warning *warnings, ptrdiff_t count); /* with a heading; none: nothing */

/* {"seed", seed, NULL, 0} or {"seconds", NULL, "%.3f", seconds}; what is NULL or not finite is unknown. */
typedef struct {
    const char *name, *text, *format;
    double number; /* where there is no text */
} page_fact;

/* The last section: the command and the version that ran, the facts, and every option to unfold (NULL: none). */
void page_manifest(FILE *out, const char *command, const page_fact *facts, int count, const epiq_options *options);

#endif
