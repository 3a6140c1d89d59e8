/* text.c - text from a file, made fit to keep (UTF-8) and to show in a sentence (short, no control characters);
 * and how far a name is from another, to suggest the one that was meant.
 */
#include "data/table.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the well-formed UTF-8 character at p, 0 if there is none (Unicode 15, table 3-7). */
static ptrdiff_t utf8_size(const char *text, ptrdiff_t left)
{
    const unsigned char *p = (const unsigned char *)text;
    if (p[0] < 0x80) {
        return 1;
    }
    ptrdiff_t size = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || left < size) {
        return 0;
    }
    unsigned char lo = p[0] == 0xE0 ? 0xA0 : p[0] == 0xF0 ? 0x90 : 0x80; /* no longer than needed */
    unsigned char hi = p[0] == 0xED ? 0x9F : p[0] == 0xF4 ? 0x8F : 0xBF; /* no surrogates, nothing past U+10FFFF */
    if (p[1] < lo || p[1] > hi) {
        return 0;
    }
    for (ptrdiff_t i = 2; i < size; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    return size;
}

bool epiqp_text_is_clean(const char *text, ptrdiff_t length)
{
    ptrdiff_t at = 0, size = 1;
    while (at < length && (size = utf8_size(text + at, length - at)) > 0) {
        at += size;
    }
    return at == length;
}

char *epiqp_text_clean(epiq_ctx *c, epiqp_arena *a, const char *text, ptrdiff_t length)
{
    char *out = epiqp_arena_alloc(c, a, length + 1, epiqp_text_is_clean(text, length) ? 1 : 3);
    char *to = out;
    for (ptrdiff_t at = 0; out && at < length;) {
        ptrdiff_t size = utf8_size(text + at, length - at);
        memcpy(to, size ? text + at : "\xEF\xBF\xBD", (size_t)(size ? size : 3));
        to += size ? size : 3;
        at += size ? size : 1;
    }
    return out;
}

/* Control characters, U+0080..9F among them, and those that end a line or turn the order of others around: U+2028..E and
 * U+2066..9. */
static bool steers(const char *text, ptrdiff_t size)
{
    const unsigned char *u = (const unsigned char *)text;
    return (size == 1 && (u[0] < 0x20 || u[0] == 0x7F)) || (size == 2 && u[0] == 0xC2 && u[1] < 0xA0) ||
           (size == 3 && u[0] == 0xE2 && u[1] == 0x80 && u[2] >= 0xA8 && u[2] <= 0xAE) ||
           (size == 3 && u[0] == 0xE2 && u[1] == 0x81 && u[2] >= 0xA6 && u[2] <= 0xA9);
}

const char *epiqp_text_show(char *out, size_t size, const char *text, ptrdiff_t length)
{
    ptrdiff_t used = 0, room = (ptrdiff_t)size - 4; /* "..." and the end */
    for (ptrdiff_t at = 0; at < length;) {
        ptrdiff_t step = utf8_size(text + at, length - at);
        bool harmless = step > 0 && !steers(text + at, step);
        if (used + (harmless ? step : 1) > room) {
            memcpy(out + used, "...", 3);
            used += 3;
            break;
        }
        memcpy(out + used, harmless ? text + at : "?", (size_t)(harmless ? step : 1));
        used += harmless ? step : 1;
        at += step > 0 ? step : 1;
    }
    out[used] = '\0';
    return out;
}

int epiqp_text_distance(const char *a, const char *b)
{
    enum { FAR = 3, LONGEST = 64 };
    ptrdiff_t m = (ptrdiff_t)strlen(a), n = (ptrdiff_t)strlen(b);
    if (m > LONGEST || n > LONGEST || m - n >= FAR || n - m >= FAR) {
        return FAR;
    }
    int row[LONGEST + 1]; /* of the table of distances between beginnings of a and of b */
    for (ptrdiff_t j = 0; j <= n; j++) {
        row[j] = (int)j;
    }
    for (ptrdiff_t i = 1; i <= m; i++) {
        int corner = row[0];
        row[0] = (int)i;
        for (ptrdiff_t j = 1; j <= n; j++) {
            int change = corner + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
            int one = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
            corner = row[j];
            row[j] = change < one ? change : one;
        }
    }
    return row[n] < FAR ? row[n] : FAR;
}

void epiqp_list_add(epiqp_list *l, const char *name, ptrdiff_t length)
{
    char shown[EPIQP_SHOWN];
    epiqp_text_show(shown, sizeof shown, name, length);
    ptrdiff_t room = (ptrdiff_t)sizeof l->text - 32 - l->used; /* 32: for the words at the end */
    if (l->shown == l->count++ && (ptrdiff_t)strlen(shown) + 2 < room) {
        l->used += snprintf(l->text + l->used, (size_t)room, "%s%s", l->shown++ ? ", " : "", shown);
    }
}

const char *epiqp_list_end(epiqp_list *l)
{
    if (l->shown < l->count) {
        snprintf(l->text + l->used, sizeof l->text - (size_t)l->used, ", ... (%td in all)", l->count);
    }
    return l->text;
}
