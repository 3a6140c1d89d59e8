/* text.h - text from a file: valid UTF-8 to keep, short and harmless to quote in a sentence. */
#ifndef EPIQP_TEXT_H
#define EPIQP_TEXT_H

#include "base/base.h"

#define EPIQP_SHOWN 48 /* bytes of a cell or name that a sentence quotes */

/* A copy in which each byte that is not UTF-8 is replaced by U+FFFD. */
char *epiqp_text_clean(epiq_ctx *c, epiqp_arena *a, const char *text, ptrdiff_t length);
bool epiqp_text_is_clean(const char *text, ptrdiff_t length);
/* A short copy without control characters; it ends with "..." if it was cut. */
const char *epiqp_text_show(char *out, size_t size, const char *text, ptrdiff_t length);
/* The same by value, to quote in one sentence: epiqp_show(name).text is valid until the end of the statement. */
typedef struct {
    char text[EPIQP_SHOWN];
} epiqp_shown;
epiqp_shown epiqp_show(const char *text);
epiqp_shown epiqp_show_part(const char *text, ptrdiff_t length); /* without a zero byte at its end */

/* "a, b, c, ... (17 in all)": as many names as fit. */
typedef struct {
    char text[320];
    ptrdiff_t used, shown, count;
} epiqp_list;
void epiqp_list_add(epiqp_list *l, const char *name);
const char *epiqp_list_end(epiqp_list *l);

#endif
