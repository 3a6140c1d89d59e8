/* cell.h - one cell of text: a number, also as people write it, with marks, a missing value, or something else. */
#ifndef COMMON_CELL_H
#define COMMON_CELL_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum {
    EPIQP_IS_NUMBER,
    EPIQP_IS_MISSING,
    EPIQP_IS_INFINITE,
    EPIQP_IS_TEXT,
    EPIQP_IS_UNSEEN,
    EPIQP_IS_GARBLED,
    EPIQP_IS_OTHER_UNIT,
    EPIQP_IS_OTHER_NOTATION
} epiqp_kind;

typedef struct {
    epiqp_kind kind;
    double value;
    const char *text; /* not ended by a zero byte */
    ptrdiff_t length;
} epiqp_cell;

/* The byte after the text must not be able to continue a number. */
epiqp_cell epiqp_cell_number(const char *text, ptrdiff_t length, locale_t plain);
epiqp_cell epiqp_cell_label(const char *text, ptrdiff_t length);

/* A number with marks, "$1,154", "77 %" or, where semicolons separate the cells, "1.154,5", or a date, "2024-03-15" with or without a
 * time of day, which is days since the beginning of 1970: makes the text a number, and *unit what it is written with ("$", "%",
 * EPIQP_DATES; NULL: nothing). False: it is none. */
#define EPIQP_DATES "dates"
bool epiqp_cell_marked(epiqp_cell *cell, char delimiter, locale_t plain, const char **unit);
int epiqp_truth(const char *text, ptrdiff_t length);    /* 1: true or yes, 0: false or no, in any case; -1: neither */
bool epiqp_is_date(const char *text, ptrdiff_t length); /* or a time of day */

#endif
