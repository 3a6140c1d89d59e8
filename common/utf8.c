/* utf8.c - see utf8.h. Well-formed UTF-8 is that of Unicode 15, table 3-7. */
#include "common/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

size_t epiqp_utf8_size(const char *text, size_t left)
{
    const unsigned char *p = (const unsigned char *)text;
    if (p[0] < 0x80) return 1;
    size_t size = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || left < size) return 0;
    unsigned char lo = p[0] == 0xE0 ? 0xA0 : p[0] == 0xF0 ? 0x90 : 0x80; /* the shortest form only */
    unsigned char hi = p[0] == 0xED ? 0x9F : p[0] == 0xF4 ? 0x8F : 0xBF; /* no surrogates, nothing past U+10FFFF */
    if (p[1] < lo || p[1] > hi) return 0;
    for (size_t i = 2; i < size; i++) {
        if ((p[i] & 0xC0) != 0x80) return 0;
    }
    return size;
}

unsigned epiqp_utf8_code(const char *text, size_t size)
{
    const unsigned char *p = (const unsigned char *)text;
    unsigned code = size == 1 ? p[0] : p[0] & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        code = code << 6 | (p[i] & 0x3Fu);
    }
    return code;
}

bool epiqp_is_unsafe_char(unsigned code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069);
}

size_t epiqp_json_char(const char *text, char out[EPIQP_JSON_CHAR])
{
    size_t size = epiqp_utf8_size(text, EPIQP_UTF8_MOST);
    unsigned code = size ? epiqp_utf8_code(text, size) : 0xFFFD;
    if (!size || epiqp_is_unsafe_char(code)) {
        snprintf(out, EPIQP_JSON_CHAR, "\\u%04x", code & 0xFFFF);
    } else {
        snprintf(out, EPIQP_JSON_CHAR, "%s%.*s", code == '"' || code == '\\' ? "\\" : "", (int)size, text);
    }
    return size ? size : 1;
}

int epiqp_edit_distance(const char *a, const char *b)
{
    size_t m = strlen(a), n = strlen(b);
    if (m > EPIQP_EDITS_MOST || n > EPIQP_EDITS_MOST) return EPIQP_EDITS_MOST;
    int row[EPIQP_EDITS_MOST + 1]; /* row i of the table of distances between the first i of a and the first j of b */
    for (size_t j = 0; j <= n; j++) {
        row[j] = (int)j;
    }
    for (size_t i = 1; i <= m; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= n; j++) {
            int replaced = diagonal + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
            int inserted = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
            diagonal = row[j];
            row[j] = replaced < inserted ? replaced : inserted;
        }
    }
    return row[n];
}
