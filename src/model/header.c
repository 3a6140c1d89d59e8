/* header.c - reads the JSON at the head of a model file: one object of tensors, each with dtype, shape and
 * data_offsets, and "__metadata__", an object of strings. It accepts what docs/model-file.md describes and nothing
 * else: no deeper nesting, no numbers but whole ones, no key twice.
 */
#include "base/keys.h"
#include "base/text.h"
#include "model/model.h"

#include <string.h>

enum { MOST_TENSORS = 1 << 20 }; /* far more than the panels of any factor */

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
    if (r->p == r->end || *r->p != ch) return false;
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
        if (!at || !*at) return lost(r, "a hexadecimal digit");
        *value = *value << 4 | (unsigned)((at - digits) & 15);
    }
    return EPIQ_OK;
}

/* \uXXXX as UTF-8. epiq writes it for control characters only, other tools for everything that is not ASCII. */
static int escaped(reader *r, char **to)
{
    unsigned code = 0, low = 0;
    int status = four_digits(r, &code);
    if (status) return status;
    if (code >= 0xD800 && code < 0xDC00) {
        if (r->end - r->p < 2 || r->p[0] != '\\' || r->p[1] != 'u') return lost(r, "the second half of a character");
        r->p += 2;
        if ((status = four_digits(r, &low))) return status;
        if (low < 0xDC00 || low > 0xDFFF) return lost(r, "the second half of a character");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    if (code == 0 || (code >= 0xDC00 && code < 0xE000)) return lost(r, "a character");
    static const unsigned char LEAD[] = {0, 0xC0, 0xE0, 0xF0};
    const int more = code >= 0x10000 ? 3 : code >= 0x800 ? 2 : code >= 0x80 ? 1 : 0; /* bytes after the first */
    *(*to)++ = (char)(LEAD[more] | code >> 6 * more);
    for (int k = more - 1; k >= 0; k--) {
        *(*to)++ = (char)(0x80 | (code >> 6 * k & 63));
    }
    return EPIQ_OK;
}

static int text(reader *r, const char **out)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    int status = expect(r, '"');
    if (status) return status;
    const char *close = r->p;
    while (close < r->end && *close != '"') {
        close += 1 + (*close == '\\' && close + 1 < r->end);
    }
    if (close >= r->end) return lost(r, "a text that ends");
    char *to = epiqp_arena_alloc(r->c, r->arena, close - r->p + 1, 1), *start = to; /* the text never gets longer */
    if (!to) return EPIQ_E_NOMEM;
    while (r->p < close) {
        unsigned char ch = (unsigned char)*r->p++;
        if (ch < 0x20) return lost(r, "no control character");
        if (ch != '\\') {
            *to++ = (char)ch;
        } else if (*r->p == 'u') {
            r->p++;
            if ((status = escaped(r, &to))) return status;
        } else {
            const char *at = strchr(from, *r->p++);
            if (!at || !*at) return lost(r, "an escape of JSON");
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
    int status = expect(r, '[');
    *count = 0;
    if (status) return status;
    do {
        if (*count == 2) return lost(r, "']'");
        if ((status = whole(r, &out[(*count)++]))) return status;
    } while (found(r, ','));
    return expect(r, ']');
}

static int entry(reader *r, epiqp_entry *t)
{
    int status = expect(r, '{'), seen = 0, offsets = 0;
    if (status) return status;
    do {
        const char *key = "";
        if ((status = text(r, &key)) || (status = expect(r, ':'))) return status;
        int bit = strcmp(key, "dtype") == 0          ? 1
                  : strcmp(key, "shape") == 0        ? 2
                  : strcmp(key, "data_offsets") == 0 ? 4
                                                     : 0;
        if (!bit || seen & bit) return lost(r, "dtype, shape and data_offsets, each once");
        seen |= bit;
        status = bit == 1 ? text(r, &t->dtype) : bit == 2 ? list(r, t->shape, &t->dims) : list(r, t->range, &offsets);
        if (status) return status;
    } while (found(r, ','));
    if ((status = expect(r, '}'))) return status;
    return seen == 7 && offsets == 2 ? EPIQ_OK : lost(r, "dtype, shape and both data_offsets before it");
}

static int notes(reader *r, epiqp_header *h)
{
    int status = expect(r, '{');
    if (status) return status;
    do {
        void *grown = epiqp_grown(r->c, h->note, &h->note_room, h->notes + 1, sizeof *h->note);
        if (!grown) return EPIQ_E_NOMEM;
        h->note = grown;
        if ((status = text(r, &h->note[h->notes].key)) || (status = expect(r, ':')) ||
            (status = text(r, &h->note[h->notes].value))) {
            return status;
        }
        h->notes++;
    } while (found(r, ','));
    return expect(r, '}');
}

static int no_key_twice(const reader *r, const epiqp_header *h)
{
    epiqp_keys names = {0}, keys = {0};
    int status = EPIQ_OK;
    for (ptrdiff_t i = 0; !status && i < h->tensors + h->notes; i++) {
        bool tensor = i < h->tensors;
        const char *name = tensor ? h->tensor[i].name : h->note[i - h->tensors].key;
        ptrdiff_t number = epiqp_keys_add(r->c, tensor ? &names : &keys, name, (ptrdiff_t)strlen(name));
        if (number < (tensor ? i : i - h->tensors)) {
            status = number < 0 ? EPIQ_E_NOMEM
                                : epiqp_fail(r->c, EPIQ_E_FILE, "%s: the header has two entries \"%s\"; fit again",
                                             r->file, epiqp_show(name).text);
        }
    }
    epiqp_keys_free(r->c, &names);
    epiqp_keys_free(r->c, &keys);
    return status;
}

int epiqp_header_read(epiq_ctx *c, const char *file, const char *json, ptrdiff_t size, epiqp_arena *arena,
                      epiqp_header *out)
{
    reader r = {c, file, json, json, json + size, arena};
    bool noted = false;
    int status = expect(&r, '{');
    if (status) return status;
    do {
        const char *name = "";
        if ((status = text(&r, &name)) || (status = expect(&r, ':'))) return status;
        if (strcmp(name, "__metadata__") == 0) {
            if ((status = noted ? lost(&r, "no second __metadata__") : notes(&r, out))) return status;
            noted = true;
            continue;
        }
        if (out->tensors == MOST_TENSORS) return lost(&r, "the end, after so many tensors");
        void *grown = epiqp_grown(c, out->tensor, &out->tensor_room, out->tensors + 1, sizeof *out->tensor);
        if (!grown) return EPIQ_E_NOMEM;
        out->tensor = grown;
        out->tensor[out->tensors] = (epiqp_entry){.name = name};
        if ((status = entry(&r, &out->tensor[out->tensors]))) return status;
        out->tensors++;
    } while (found(&r, ','));
    if ((status = expect(&r, '}'))) return status;
    skip(&r); /* the padding */
    if (r.p != r.end) return lost(&r, "the end");
    return no_key_twice(&r, out);
}

const char *epiqp_header_note(const epiqp_header *h, const char *key)
{
    for (ptrdiff_t i = 0; i < h->notes; i++) {
        if (strcmp(h->note[i].key, key) == 0) return h->note[i].value;
    }
    return NULL;
}

/* {"name": "colour=red", "column": "colour", "value": "red"}, and perhaps "unit", in this order, to to[0], to[step] and so
 * on */
static int feature(reader *r, const char **to, ptrdiff_t step)
{
    static const char *const keys[EPIQP_FEATURE_TEXTS] = {"name", "column", "value", "unit"};
    int status;
    for (int i = 0; i < EPIQP_FEATURE_TEXTS; i++) {
        const char *key = "";
        if (i == 3 && !found(r, ',')) break;
        if ((i < 3 && (status = expect(r, i ? ',' : '{'))) || (status = text(r, &key)) || (status = expect(r, ':'))) {
            return status;
        }
        if (strcmp(key, keys[i]) != 0) return lost(r, "a feature's name, column, value and unit");
        if (i == 2 && found(r, 'n')) { /* null, as the arena has it */
            if (r->end - r->p < 3 || memcmp(r->p, "ull", 3) != 0) return lost(r, "null");
            r->p += 3;
        } else if ((status = text(r, &to[i * step]))) {
            return status;
        }
    }
    return expect(r, '}');
}

int epiqp_header_features(epiq_ctx *c, const char *file, const char *json, ptrdiff_t d, epiq_model *m)
{
    reader r = {c, file, json, json, json + strlen(json), &m->arena};
    const char **names = epiqp_arena_alloc(c, &m->arena, EPIQP_FEATURE_TEXTS * d, sizeof *names);
    if (!names) return EPIQ_E_NOMEM;
    epiqp_model_texts(m, names);
    int status = expect(&r, '[');
    for (ptrdiff_t k = 0; !status && k < d; k++) {
        if (k && (status = expect(&r, ','))) break;
        status = feature(&r, names + k, d);
    }
    if (status || (status = expect(&r, ']'))) return status;
    return r.p == r.end ? EPIQ_OK : lost(&r, "the end of the features");
}
