/* latin.c - the encoding of a text: UTF-8, or Latin-1 as Windows extends it (code page 1252), which is made UTF-8. Every
 * byte of it is another character, so that no two names or values become one. A byte that it does not define speaks
 * against it, and so does any character of UTF-8, its mark at the beginning among them: such a text stays as it is.
 */
#include "common/utf8.h"
#include "data/table.h"

#include <string.h>

/* The characters of 0x80 to 0x9F; 0: none. */
static const unsigned short WINDOWS[32] = {0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                           0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017D, 0,
                                           0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                           0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

static unsigned code_of(unsigned char byte)
{
    return byte >= 0x80 && byte < 0xA0 ? WINDOWS[byte - 0x80] : byte;
}

/* Eight bytes at a time: tables are mostly ASCII, and all of their bytes are looked at. */
static bool is_ascii(const unsigned char *p, ptrdiff_t size)
{
    uint64_t high = 0, eight;
    ptrdiff_t k = 0;
    for (; k + 8 <= size; k += 8) {
        memcpy(&eight, p + k, sizeof eight);
        high |= eight;
    }
    for (; k < size; k++) {
        high |= p[k];
    }
    return !(high & UINT64_C(0x8080808080808080));
}

/* Whether bytes beyond ASCII make a character of UTF-8. */
static bool has_utf8(const unsigned char *p, ptrdiff_t size)
{
    ptrdiff_t k = 0;
    while (k < size && epiqp_utf8_size((const char *)p + k, (size_t)(size - k)) < 2) {
        k++;
    }
    return k < size;
}

/* The bytes that the text from `from` on grows by; -1: some are not of this encoding. */
static ptrdiff_t growth(const epiqp_input *in, ptrdiff_t from)
{
    ptrdiff_t more = 0;
    for (ptrdiff_t k = from; k < in->size; k++) {
        const unsigned code = code_of(in->bytes[k]);
        if (in->bytes[k] && !code) return -1;
        more += (code >= 0x80) + (code >= 0x800);
    }
    return more;
}

static int make_utf8(epiq_ctx *c, epiqp_input *in, ptrdiff_t from, ptrdiff_t more)
{
    unsigned char *bytes = epiqp_grown(c, in->bytes, &in->room, in->size + more + 1, 1);
    if (!bytes) return EPIQ_E_NOMEM;
    in->bytes = bytes;
    unsigned char *to = bytes + in->size + more;
    *to = '\0';
    for (ptrdiff_t k = in->size - 1; k >= from; k--) { /* from the end, because it grows */
        const unsigned code = code_of(bytes[k]);
        if (code >= 0x80) *--to = (unsigned char)(0x80 | (code & 0x3F));
        if (code >= 0x800) *--to = (unsigned char)(0x80 | (code >> 6 & 0x3F));
        *--to = (unsigned char)(code >= 0x800 ? 0xE0 | code >> 12 : code >= 0x80 ? 0xC0 | code >> 6 : code);
    }
    in->size += more;
    return EPIQ_OK;
}

int epiqp_text_decode(epiq_ctx *c, epiqp_table *t)
{
    epiqp_input *in = &t->in;
    const ptrdiff_t from = t->csv.decoded;
    ptrdiff_t end = in->size;
    while (in->more && end > from && in->bytes[end - 1] >= 0x80) {
        end--; /* a character may be incomplete: it is looked at when there is more */
    }
    if (t->csv.encoding == EPIQP_ASCII && !is_ascii(in->bytes + from, end - from)) {
        t->csv.encoding = has_utf8(in->bytes + from, end - from) || growth(in, from) < 0 ? EPIQP_UTF8 : EPIQP_LATIN1;
    }
    t->csv.decoded = end;
    if (t->csv.encoding != EPIQP_LATIN1) return EPIQ_OK;
    const ptrdiff_t more = growth(in, from);
    if (more < 0) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: the text is neither UTF-8 nor Latin-1; save the file as UTF-8",
                          in->name);
    }
    int status = make_utf8(c, in, from, more);
    t->csv.decoded = in->size;
    return status;
}
