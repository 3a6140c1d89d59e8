/* text.c - text from a file, made fit to keep (UTF-8) and to show in a sentence (short, no control characters). */
#include "base/text.h"
#include "common/utf8.h"

#include <stdio.h>
#include <string.h>

/* Bytes of the character at text[at], 0 if it is not UTF-8. */
static ptrdiff_t size_at(const char *text, ptrdiff_t at, ptrdiff_t length)
{
    bool ascii = (unsigned char)text[at] < 0x80; /* the common case, without a call */
    return ascii ? 1 : (ptrdiff_t)epiqp_utf8_size(text + at, (size_t)(length - at));
}

bool epiqp_text_is_clean(const char *text, ptrdiff_t length)
{
    ptrdiff_t at = 0, size = 1;
    while (at < length && (size = size_at(text, at, length)) > 0) {
        at += size;
    }
    return at == length;
}

char *epiqp_text_clean(epiq_ctx *c, epiqp_arena *a, const char *text, ptrdiff_t length)
{
    char *out = epiqp_arena_alloc(c, a, length + 1, epiqp_text_is_clean(text, length) ? 1 : 3);
    char *to = out;
    for (ptrdiff_t at = 0; out && at < length;) {
        ptrdiff_t size = size_at(text, at, length);
        memcpy(to, size ? text + at : "\xEF\xBF\xBD", (size_t)(size ? size : 3));
        to += size ? size : 3;
        at += size ? size : 1;
    }
    return out;
}

const char *epiqp_text_show(char *out, size_t size, const char *text, ptrdiff_t length)
{
    ptrdiff_t used = 0, room = (ptrdiff_t)size - 4; /* "..." and the end */
    for (ptrdiff_t at = 0; at < length;) {
        ptrdiff_t step = size_at(text, at, length);
        bool harmless = step > 0 && !epiqp_is_unsafe_char(epiqp_utf8_code(text + at, (size_t)step));
        const ptrdiff_t bytes = harmless ? step : 1;
        if (used + bytes > room) {
            memcpy(out + used, "...", 3);
            used += 3;
            break;
        }
        memcpy(out + used, harmless ? text + at : "?", (size_t)bytes);
        used += bytes;
        at += epiqp_max(step, 1);
    }
    out[used] = '\0';
    return out;
}

epiqp_shown epiqp_show_part(const char *text, ptrdiff_t length)
{
    epiqp_shown out = {""};
    epiqp_text_show(out.text, sizeof out.text, text, length);
    return out;
}

epiqp_shown epiqp_show(const char *text)
{
    return epiqp_show_part(text, (ptrdiff_t)strlen(text));
}

void epiqp_list_add(epiqp_list *l, const char *name)
{
    const epiqp_shown shown = epiqp_show(name);
    const char *quote = strchr(shown.text, ',') ? "\"" : "";   /* as it is to be written where commas separate */
    ptrdiff_t room = (ptrdiff_t)sizeof l->text - 32 - l->used; /* 32: for the words at the end */
    if (l->shown == l->count++ && (ptrdiff_t)(strlen(shown.text) + 2 * strlen(quote)) + 2 < room) {
        l->used +=
            snprintf(l->text + l->used, (size_t)room, "%s%s%s%s", l->shown++ ? ", " : "", quote, shown.text, quote);
    }
}

const char *epiqp_list_end(epiqp_list *l)
{
    if (l->shown < l->count) {
        snprintf(l->text + l->used, sizeof l->text - (size_t)l->used, ", ... (%td in all)", l->count);
    }
    return l->text;
}
