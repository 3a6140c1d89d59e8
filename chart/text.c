/* text.c - doubles that read back equal, and text that cannot harm what shows it. */
#include "chart/text.h"
#include "common/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

number_buffer number_text(double v)
{
    number_buffer n;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(n.text, sizeof n.text, "%.*g", digits, v);
        if (digits == 17 || strtod(n.text, NULL) == v) break; /* 17 always do */
    }
    return n;
}

static size_t put_safe(FILE *out, const char *s, bool lines, const char *instead)
{
    const size_t length = epiqp_utf8_size(s, EPIQP_UTF8_MOST);
    if (length && (!epiqp_is_unsafe_char(epiqp_utf8_code(s, length)) || (lines && (*s == '\n' || *s == '\t')))) {
        fwrite(s, 1, length, out);
    } else {
        fputs(instead, out);
    }
    return length ? length : 1;
}

size_t put_character(FILE *out, const char *s)
{
    return put_safe(out, s, true, "\xef\xbf\xbd");
}

void put_sanitized(FILE *out, const char *s)
{
    while (s && *s) {
        s += put_safe(out, s, false, "?");
    }
}

void text_vprint(FILE *out, void (*put)(FILE *out, const char *s), const char *format, va_list args)
{
    const char *at;
    for (; (at = strchr(format, '%')); format = at) {
        char one[16];
        const size_t length = strspn(at + 1, "+-.0123456789t") + 2;
        const char kind = at[length - 1];
        fwrite(format, 1, (size_t)(at - format), out);
        snprintf(one, sizeof one, "%.*s", (int)length, at);
        if (kind == '%') {
            putc('%', out);
        } else if (kind == 's' && length == 2) {
            put(out, va_arg(args, const char *));
        } else if (kind == 's') {
            fprintf(out, one, va_arg(args, const char *));
        } else if (kind == 'd' && at[1] == 't') {
            fprintf(out, "%td", va_arg(args, ptrdiff_t));
        } else if (kind == 'd') {
            fprintf(out, "%d", va_arg(args, int));
        } else {
            assert(kind && strchr("efg", kind));
            fprintf(out, one, va_arg(args, double));
        }
        at += length;
    }
    fputs(format, out);
}

int text_width(const char *s)
{
    int count = 0;
    for (; *s; count++) {
        const size_t length = epiqp_utf8_size(s, EPIQP_UTF8_MOST);
        s += length ? length : 1;
    }
    return count;
}
