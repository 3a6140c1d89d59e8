/* html.h - the skeleton of a report page: one file that opens offline, in light and dark, on a phone and on paper.
 * Text out of the data goes through html_text or %s of html_print and nothing else.
 */
#ifndef CHART_HTML_H
#define CHART_HTML_H

#include <stddef.h>
#include <stdio.h>

void html_open(FILE *out, const char *title); /* up to <main> */
void html_close(FILE *out);

void html_text(FILE *out, const char *s);                 /* escaped for HTML and SVG; NULL: nothing */
void html_part(FILE *out, const char *s, ptrdiff_t most); /* at most so many characters of it */
/* As text_vprint: %s is text, which is escaped, %-s is markup. */
void html_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void html_value(FILE *out, const char *name, double v); /* data-NAME="..." in full; nothing when not finite */

#endif
