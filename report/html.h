/* html.h - the skeleton of a report page: one file that opens offline, in light and dark, on a phone and on paper.
 * Text out of the data goes through html_text and nothing else.
 */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "epiq.h"

#include <stdbool.h>
#include <stdio.h>

void html_open(FILE *out, const char *title); /* up to <main> */
void html_close(FILE *out);

void html_text(FILE *out, const char *s); /* escaped for HTML and SVG; NULL: nothing */
void html_element(FILE *out, const char *tag,
                  const char *text);                    /* <tag>text</tag>, a new line; tag may hold attributes */
void html_value(FILE *out, const char *name, double v); /* data-NAME="..." in full; nothing when not finite */

/* A table in a box of its own that scrolls. Groups of rows are set apart; the first has to be opened too. */
void html_table_open(FILE *out, const char *caption, bool shown); /* not shown: a heading says the same */
void html_column(FILE *out, const char *head, bool left);
void html_table_body(FILE *out); /* after the columns */
void html_table_group(FILE *out);
void html_table_close(FILE *out);
void html_pair(FILE *out, const char *name, const char *value); /* a row of two in such a table */
void html_number(FILE *out, const char *name, double v,
                 int digits);                   /* a cell: rounded, in full as data-NAME; not finite: empty */
void html_upper(FILE *out, const epiq_part *p); /* the same of an interval's upper end; "open" if it cannot be known */

#endif
