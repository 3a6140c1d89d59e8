/* header.c - reads the JSON at the head of a model file: one object of tensors, each with dtype, shape and
 * data_offsets, and "__metadata__", an object of strings. It takes what docs/model-file.md describes and nothing else:
 * no nesting beyond that, no numbers but whole ones, no key twice.
 */
#include "data/table.h"
#include "model/model.h"

#include <string.h>

enum { MOST_TENSORS = 1 << 20 }; /* far above any factor's panels */

typedef struct {
    epiq_ctx *c;
    const char *file, *start, *p, *end;
    epiqp_arena *arena;
} reader;

static int lost(const reader *r, const char *wanted)
{
    return epiqp_fail(r->c, EPIQ_E_FILE,
                      "%s: byte %td of the header should be %s; the file was not written by epiq: fit again", r->file,
                      r->p - r->start + 1, wanted);
}

static void skip(reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\r' || *r->p == '\t')) {
        r->p++;
    }
}

static bool found(reader *r, char ch)
{
    skip(r);
    if (r->p == r->end || *r->p != ch) {
        return false;
    }
    r->p++;
    return true;
}

static int expect(reader *r, char ch)
{
    return found(r, ch) ? EPIQ_OK : lost(r, (char[]){'\'', ch, '\'', '\0'});
}

static int four_digits(reader *r, unsigned *value)
{
    *value = 0;
    for (int i = 0; i < 4; i++, r->p++) {
        const char *digits = "0123456789abcdef0123456789ABCDEF", *at = r->p < r->end ? strchr(digits, *r->p) : NULL;
        if (!at || !*at) {
            return lost(r, "a hexadecimal digit");
        }
        *value = *value << 4 | (unsigned)((at - digits) & 15);
    }
    return EPIQ_OK;
}

/* \uXXXX as UTF-8. Our writer uses it for control characters alone, other tools for all that is not ASCII. */
static int escaped(reader *r, char **to)
{
    unsigned code = 0, low = 0;
    int s = four_digits(r, &code);
    if (!s && code >= 0xD800 && code < 0xDC00) {
        if (r->end - r->p < 2 || r->p[0] != '\\' || r->p[1] != 'u') {
            return lost(r, "the second half of a character");
        }
        r->p += 2;
        s = four_digits(r, &low);
        if (!s && (low < 0xDC00 || low > 0xDFFF)) {
            return lost(r, "the second half of a character");
        }
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    if (s || code == 0 || (code >= 0xDC00 && code < 0xE000)) {
        return s ? s : lost(r, "a character");
    }
    if (code >= 0x10000) {
        *(*to)++ = (char)(0xF0 | code >> 18);
        *(*to)++ = (char)(0x80 | (code >> 12 & 63));
        *(*to)++ = (char)(0x80 | (code >> 6 & 63));
        *(*to)++ = (char)(0x80 | (code & 63));
    } else if (code >= 0x800) {
        *(*to)++ = (char)(0xE0 | code >> 12);
        *(*to)++ = (char)(0x80 | (code >> 6 & 63));
        *(*to)++ = (char)(0x80 | (code & 63));
    } else if (code >= 0x80) {
        *(*to)++ = (char)(0xC0 | code >> 6);
        *(*to)++ = (char)(0x80 | (code & 63));
    } else {
        *(*to)++ = (char)code;
    }
    return EPIQ_OK;
}

static int text(reader *r, const char **out)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    int s = expect(r, '"');
    const char *close = r->p;
    while (!s && close < r->end && *close != '"') {
        close += 1 + (*close == '\\' && close + 1 < r->end);
    }
    if (s || close >= r->end) {
        return s ? s : lost(r, "a text that ends");
    }
    char *to = epiqp_arena_alloc(r->c, r->arena, close - r->p + 1, 1), *start = to; /* it never grows */
    if (!to) {
        return EPIQ_E_NOMEM;
    }
    while (r->p < close) {
        unsigned char ch = (unsigned char)*r->p++;
        if (ch < 0x20) {
            return lost(r, "no control character");
        }
        if (ch != '\\') {
            *to++ = (char)ch;
        } else if (*r->p == 'u') {
            r->p++;
            if ((s = escaped(r, &to))) {
                return s;
            }
        } else {
            const char *at = strchr(from, *r->p++);
            if (!at || !*at) {
                return lost(r, "an escape of JSON");
            }
            *to++ = into[at - from];
        }
    }
    r->p = close + 1;
    *out = start;
    return epiqp_text_is_clean(start, to - start) ? EPIQ_OK : lost(r, "UTF-8");
}

static int whole(reader *r, ptrdiff_t *out)
{
    ptrdiff_t value = 0;
    skip(r);
    const char *digits = r->p;
    for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++) {
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *r->p - '0', &value)) {
            return lost(r, "a number that fits");
        }
    }
    *out = value;
    return r->p > digits ? EPIQ_OK : lost(r, "a whole number");
}

/* [a] or [a, b]; *count says how many. */
static int list(reader *r, ptrdiff_t *out, int *count)
{
    int s = expect(r, '[');
    *count = 0;
    do {
        if (!s && *count == 2) {
            return lost(r, "']'");
        }
        s = s ? s : whole(r, &out[(*count)++]);
    } while (!s && found(r, ','));
    return s ? s : expect(r, ']');
}

static int entry(reader *r, epiqp_entry *t)
{
    int s = expect(r, '{'), seen = 0, offsets = 0;
    do {
        const char *key = "", *dtype = "";
        ptrdiff_t range[2] = {0, 0};
        s = s ? s : text(r, &key);
        s = s ? s : expect(r, ':');
        int bit = strcmp(key, "dtype") == 0          ? 1
                  : strcmp(key, "shape") == 0        ? 2
                  : strcmp(key, "data_offsets") == 0 ? 4
                                                     : 0;
        if (!s && (!bit || seen & bit)) {
            return lost(r, "dtype, shape and data_offsets, each once");
        }
        seen |= bit;
        if (!s && bit == 1 && !(s = text(r, &dtype))) {
            size_t length = strlen(dtype);
            memcpy(t->dtype, dtype, length < sizeof t->dtype ? length + 1 : 0); /* a longer one is none we know */
        } else if (!s && bit == 2) {
            s = list(r, t->shape, &t->dims);
        } else if (!s && !(s = list(r, range, &offsets))) {
            t->begin = range[0];
            t->end = range[1];
        }
    } while (!s && found(r, ','));
    s = s ? s : expect(r, '}');
    return s || (seen == 7 && offsets == 2) ? s : lost(r, "dtype, shape and both data_offsets before it");
}

static int notes(reader *r, epiqp_header *h)
{
    int s = expect(r, '{');
    do {
        void *grown = s ? NULL : epiqp_grown(r->c, h->note, &h->note_room, h->notes + 1, sizeof *h->note);
        if (!grown) {
            return s ? s : EPIQ_E_NOMEM;
        }
        h->note = grown;
        s = text(r, &h->note[h->notes].key);
        s = s ? s : expect(r, ':');
        s = s ? s : text(r, &h->note[h->notes].value);
        h->notes += !s;
    } while (!s && found(r, ','));
    return s ? s : expect(r, '}');
}

static int no_key_twice(const reader *r, const epiqp_header *h)
{
    epiqp_keys names = {0}, keys = {0};
    int s = EPIQ_OK;
    for (ptrdiff_t i = 0; !s && i < h->tensors + h->notes; i++) {
        bool tensor = i < h->tensors;
        const char *name = tensor ? h->tensor[i].name : h->note[i - h->tensors].key;
        ptrdiff_t number = epiqp_keys_add(r->c, tensor ? &names : &keys, name, (ptrdiff_t)strlen(name));
        if (number < (tensor ? i : i - h->tensors)) {
            char shown[EPIQP_SHOWN];
            s = number < 0 ? EPIQ_E_NOMEM
                           : epiqp_fail(r->c, EPIQ_E_FILE, "%s: the header has two entries \"%s\"; fit again", r->file,
                                        epiqp_text_show(shown, sizeof shown, name, (ptrdiff_t)strlen(name)));
        }
    }
    epiqp_keys_free(r->c, &names);
    epiqp_keys_free(r->c, &keys);
    return s;
}

int epiqp_header_read(epiq_ctx *c, const char *file, const char *json, ptrdiff_t size, epiqp_arena *arena,
                      epiqp_header *out)
{
    reader r = {c, file, json, json, json + size, arena};
    bool noted = false;
    int s = expect(&r, '{');
    do {
        const char *name = "";
        s = s ? s : text(&r, &name);
        s = s ? s : expect(&r, ':');
        if (!s && strcmp(name, "__metadata__") == 0) {
            s = noted ? lost(&r, "no second __metadata__") : notes(&r, out);
            noted = true;
            continue;
        }
        void *grown = s || out->tensors == MOST_TENSORS
                          ? NULL
                          : epiqp_grown(c, out->tensor, &out->tensor_room, out->tensors + 1, sizeof *out->tensor);
        if (!grown) {
            return s ? s : out->tensors == MOST_TENSORS ? lost(&r, "the end, after so many tensors") : EPIQ_E_NOMEM;
        }
        out->tensor = grown;
        out->tensor[out->tensors] = (epiqp_entry){.name = name};
        s = entry(&r, &out->tensor[out->tensors]);
        out->tensors += !s;
    } while (!s && found(&r, ','));
    s = s ? s : expect(&r, '}');
    skip(&r); /* the padding */
    if (!s && r.p != r.end) {
        s = lost(&r, "the end");
    }
    return s ? s : no_key_twice(&r, out);
}

const char *epiqp_header_note(const epiqp_header *h, const char *key)
{
    for (ptrdiff_t i = 0; i < h->notes; i++) {
        if (strcmp(h->note[i].key, key) == 0) {
            return h->note[i].value;
        }
    }
    return NULL;
}

/* {"name": "colour=red", "column": "colour", "value": "red"}, in this order */
static int feature(reader *r, const char **name, const char **column, const char **value)
{
    static const char *const keys[] = {"name", "column", "value"};
    const char **to[] = {name, column, value};
    int s = expect(r, '{');
    for (int i = 0; !s && i < 3; i++) {
        const char *key = "";
        s = i ? expect(r, ',') : EPIQ_OK;
        s = s ? s : text(r, &key);
        s = s ? s : expect(r, ':');
        if (!s && strcmp(key, keys[i]) != 0) {
            return lost(r, "a feature's name, column and value");
        }
        if (!s && i == 2 && found(r, 'n')) {
            s = r->end - r->p >= 3 && memcmp(r->p, "ull", 3) == 0 ? EPIQ_OK : lost(r, "null");
            r->p += s ? 0 : 3;
            *value = NULL;
        } else {
            s = s ? s : text(r, to[i]);
        }
    }
    return s ? s : expect(r, '}');
}

int epiqp_header_features(epiq_ctx *c, const char *file, const char *json, ptrdiff_t d, epiq_model *m)
{
    reader r = {c, file, json, json, json + strlen(json), &m->arena};
    const char **names = epiqp_arena_alloc(c, &m->arena, 3 * d, sizeof *names);
    if (!names) {
        return EPIQ_E_NOMEM;
    }
    m->feature = names;
    m->columns = (struct epiqp_columns){.source = names + d, .value = names + 2 * d};
    int s = expect(&r, '[');
    for (ptrdiff_t k = 0; !s && k < d; k++) {
        s = k ? expect(&r, ',') : EPIQ_OK;
        s = s ? s : feature(&r, &names[k], &names[d + k], &names[2 * d + k]);
    }
    s = s ? s : expect(&r, ']');
    return s || r.p == r.end ? s : lost(&r, "the end of the features");
}
