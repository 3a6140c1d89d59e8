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

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

int epiqp_edit_distance(const char *a, const char *b)
{
    size_t m = strlen(a), n = strlen(b);
    if (m > EPIQP_EDITS_MOST || n > EPIQP_EDITS_MOST) return EPIQP_EDITS_MOST;
    /* Rows i, i - 1 and i - 2 of the table of distances between the first i of a and the first j of b, by i modulo 3. */
    int rows[3][EPIQP_EDITS_MOST + 1];
    for (size_t j = 0; j <= n; j++) {
        rows[0][j] = (int)j;
    }
    for (size_t i = 1; i <= m; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
        row[0] = (int)i;
        for (size_t j = 1; j <= n; j++) {
            const bool swapped = i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]);
            row[j] = least(above[j - 1] + !same(a[i - 1], b[j - 1]), 1 + least(above[j], row[j - 1]));
            if (swapped) row[j] = least(row[j], 1 + before[j - 2]);
        }
    }
    return rows[m % 3][n];
}

int epiqp_edits_likely(const char *typed)
{
    const int length = (int)strlen(typed);
    return length < 3 ? 0 : length < 8 ? 1 : length / 4;
}
