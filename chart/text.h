/* text.h - doubles that read back equal, and text that cannot harm what shows it. */
#ifndef CHART_TEXT_H
#define CHART_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The shortest of %.15g, %.16g, %.17g that reads back equal. */
typedef struct {
    char text[32];
} number_buffer;
number_buffer number_text(double v);

/* For terminals: unsafe characters and broken UTF-8 become ?; NULL: nothing. */
void put_sanitized(FILE *out, const char *s);
/* Writes the character at s, U+FFFD if it is unsafe (other than a tab or the end of a line) or broken; returns its bytes. */
size_t put_character(FILE *out, const char *s);
/* As printf with %d, %td, and e, f, g and s without widths from arguments; a plain %s is written by put, any other s as it is. */
void text_vprint(FILE *out, void (*put)(FILE *out, const char *s), const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
int text_width(const char *s); /* characters put_sanitized writes */

#endif
