/* npy.c - arrays as numpy saves them (NPY format versions 1 to 3) as columns of a table. */
#include "data/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the header, a Python dictionary such as {'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), } ---- */

typedef struct {
    const char *p, *end;
} reader;

/* Skips spaces, and the word if it follows; returns whether it did. */
static bool take(reader *r, const char *word)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\n')) {
        r->p++;
    }
    size_t length = strlen(word);
    if ((size_t)(r->end - r->p) < length || memcmp(r->p, word, length) != 0) return false;
    r->p += length;
    return true;
}

static bool take_string(reader *r, char *out, size_t size)
{
    const char *quote = take(r, "'") ? "'" : take(r, "\"") ? "\"" : NULL;
    size_t length = 0;
    while (quote && r->p < r->end && *r->p != *quote && length + 1 < size) {
        out[length++] = *r->p++;
    }
    out[length] = '\0';
    return quote && take(r, quote);
}

static bool take_shape(reader *r, epiqp_array *a)
{
    ptrdiff_t extent[2] = {1, 1};
    if (!take(r, "(")) return false;
    for (a->dims = 0; !take(r, ")"); a->dims++) {
        if (a->dims && !take(r, ",")) return false;
        if (a->dims && take(r, ")")) break;
        take(r, "");
        ptrdiff_t value = 0;
        const char *digits = r->p;
        for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++) {
            if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *r->p - '0', &value)) {
                return false;
            }
        }
        if (r->p == digits || a->dims >= 32) return false;
        take(r, "L"); /* Python 2 wrote 3L */
        if (a->dims < 2) extent[a->dims] = value;
    }
    a->rows = extent[0];
    a->columns = extent[1];
    return true;
}

static bool take_header(reader *r, epiqp_array *a, char *descr, size_t size)
{
    int seen = 0;
    char key[16];
    if (!take(r, "{")) return false;
    while (!take(r, "}")) {
        if (!take_string(r, key, sizeof key) || !take(r, ":")) return false;
        if (strcmp(key, "descr") == 0) {
            if (take(r, "[") || take(r, "(") || take(r, "{")) { /* a record type: the rest does not matter */
                snprintf(descr, size, "structured");
                return true;
            }
            if (!take_string(r, descr, size)) return false;
            seen |= 1;
        } else if (strcmp(key, "fortran_order") == 0) {
            a->fortran = take(r, "True");
            if (!a->fortran && !take(r, "False")) return false;
            seen |= 2;
        } else if (strcmp(key, "shape") == 0) {
            if (!take_shape(r, a)) return false;
            seen |= 4;
        } else {
            return false;
        }
        if (!take(r, ",") && (r->p == r->end || *r->p != '}')) return false;
    }
    return seen == 7;
}

/* [<>|=] then f2 f4 f8 i1..i8 u1..u8 b1 */
static bool take_type(const char *descr, epiqp_array *a)
{
    a->big = *descr == '>' || (*descr == '=' && !epiqp_little_endian());
    descr += *descr != '\0' && strchr("<>|=", *descr) != NULL;
    static const char *const known[] = {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(descr, known[i]) == 0) {
            a->type = descr[0];
            a->size = descr[1] - '0';
            return true;
        }
    }
    return false;
}

int epiqp_array_open(epiq_ctx *c, const char *where, const unsigned char *bytes, ptrdiff_t size, epiqp_array *a)
{
    if (size < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0 || bytes[6] < 1 || bytes[6] > 3) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: this is not an NPY array of format 1, 2 or 3; save it again with numpy.save", where);
    }
    ptrdiff_t length = bytes[8] | bytes[9] << 8, at = 10;
    if (bytes[6] >= 2) {
        length |= (ptrdiff_t)bytes[10] << 16 | (ptrdiff_t)bytes[11] << 24;
        at = 12;
    }
    char descr[16] = "";
    if (length > size - at) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: the array is cut off in its header; copy or save it again", where);
    }
    reader r = {(const char *)bytes + at, (const char *)bytes + at + length};
    if (!take_header(&r, a, descr, sizeof descr)) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: the header of the array cannot be understood; save it again with numpy.save", where);
    }
    if (!take_type(descr, a)) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: the items of the array are %s; save it as numbers, with .astype(\"float64\")", where,
                          *descr ? epiqp_show(descr).text : "of no type");
    }
    if (a->dims < 1 || a->dims > 2) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: the array has %d dimensions; it must have rows and columns", where,
                          a->dims);
    }
    ptrdiff_t items, wanted, found = size - at - length;
    if (__builtin_mul_overflow(a->rows, a->columns, &items) ||
        __builtin_mul_overflow(items, (ptrdiff_t)a->size, &wanted) || wanted != found) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: %td x %td items of %d bytes were promised but %td bytes follow; copy or save it again",
                          where, a->rows, a->columns, a->size, found);
    }
    a->data = bytes + at + length;
    return EPIQ_OK;
}

/* ---- the cells ---- */

double epiqp_array_value(const epiqp_array *a, ptrdiff_t i, ptrdiff_t j)
{
    const unsigned char *p = a->data + (a->fortran ? j * a->rows + i : i * a->columns + j) * a->size;
    uint64_t bits = 0;
    for (int k = 0; k < a->size; k++) {
        bits |= (uint64_t)p[k] << 8 * (a->big ? a->size - 1 - k : k);
    }
    if (a->type == 'f' && a->size == 8) {
        double v;
        memcpy(&v, &bits, sizeof v);
        return v + 0.0; /* no -0 */
    }
    if (a->type == 'f' && a->size == 2) { /* 1 bit of sign, 5 of exponent, 10 of fraction */
        int exponent = bits >> 10 & 31, rest = bits & 1023;
        double v = exponent == 31  ? rest ? NAN : INFINITY
                   : exponent == 0 ? ldexp(rest, -24)
                                   : ldexp(1024 + rest, exponent - 25);
        return bits >> 15 && v != 0 ? -v : v;
    }
    if (a->type == 'f') {
        uint32_t half = (uint32_t)bits;
        float v;
        memcpy(&v, &half, sizeof v);
        return (double)v + 0.0;
    }
    if (a->type == 'i') {
        int unused = 64 - 8 * a->size;
        return (double)((int64_t)(bits << unused) >> unused);
    }
    return a->type == 'b' ? bits != 0 : (double)bits;
}

bool epiqp_array_native(const epiqp_array *a)
{
    return a->type == 'f' && a->size > 2 && a->big != epiqp_little_endian() &&
           (!a->fortran || a->columns == 1 || a->rows == 1) && (uintptr_t)a->data % (uintptr_t)a->size == 0;
}

static int put(epiq_ctx *c, epiqp_table *t, ptrdiff_t i, ptrdiff_t j, double value)
{
    char text[32];
    epiqp_cell cell = {isnan(value)   ? EPIQP_IS_MISSING
                       : isinf(value) ? EPIQP_IS_INFINITE
                                      : EPIQP_IS_NUMBER,
                       value, text, 0};
    if (cell.kind != EPIQP_IS_NUMBER || t->column[j].role == EPIQP_LABEL) { /* the text is used in these cases only */
        snprintf(text, sizeof text, "%.17g", value);
        cell.length = epiqp_plain_numbers(text);
    }
    return epiqp_table_put(c, t, i + 1, j, cell);
}

static int fill(epiq_ctx *c, epiqp_table *t)
{
    int status = EPIQ_OK;
    const ptrdiff_t first = t->before, left = t->array[0].rows - first;
    const ptrdiff_t last = first + (t->most ? epiqp_min(t->most, left) : left);
    for (ptrdiff_t i = first; i < last && !status; i++) {
        status = epiqp_table_row(c, t);
        for (ptrdiff_t k = 0, j = 0; k < t->arrays; k++) {
            const epiqp_array *a = &t->array[k];
            for (ptrdiff_t column = 0; column < a->columns && !status; column++, j++) {
                if (t->column[j].role != EPIQP_SKIP) {
                    status = put(c, t, i, j, epiqp_array_value(a, i, column));
                }
            }
        }
        t->rows += !status;
    }
    return status;
}

/* ---- the columns ---- */

/* Columns of an array are called by its name, and numbered if there are several. */
static int add_columns(epiq_ctx *c, epiqp_table *t, const epiqp_array *a, const char *name)
{
    ptrdiff_t first = t->columns;
    int status = epiqp_table_columns(c, t, first + a->columns);
    for (ptrdiff_t j = 0; j < a->columns && !status; j++) {
        t->column[first + j].name = a->columns == 1 ? name : epiqp_arena_printf(c, &t->arena, "%s%td", name, j + 1);
        status = t->column[first + j].name ? EPIQ_OK : EPIQ_E_NOMEM;
    }
    return status;
}

int epiqp_npy_open(epiq_ctx *c, epiqp_table *t)
{
    epiqp_array *a = t->array = epiqp_arena_alloc(c, &t->arena, 1, sizeof *a);
    int status = a ? epiqp_array_open(c, t->in.name, t->in.bytes, t->in.size, a) : EPIQ_E_NOMEM;
    if (status) return status;
    t->arrays = 1;
    t->bare = a->dims;
    t->fill = fill;
    if (a->dims == 1) { /* one row */
        a->columns = a->rows;
        a->rows = 1;
    }
    if (a->columns < 1) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: the array is empty; it must have rows and columns", t->in.name);
    }
    if ((status = add_columns(c, t, a, "x"))) return status;
    t->column[a->columns - 1].name = "y";
    return EPIQ_OK;
}

int epiqp_npz_add(epiq_ctx *c, epiqp_table *t, const char *name, const unsigned char *bytes, ptrdiff_t size)
{
    epiqp_array *a = &t->array[t->arrays++];
    char where[sizeof t->in.name + EPIQP_SHOWN + 16];
    snprintf(where, sizeof where, "%s: array %s", t->in.name, epiqp_show(name).text);
    int status = epiqp_array_open(c, where, bytes, size, a);
    if (status) return status;
    if (a->columns < 1 || a->rows != t->array[0].rows) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s is %td x %td but the first array has %td rows; all must have the same rows", where,
                          a->rows, a->columns, t->array[0].rows);
    }
    t->fill = fill;
    return add_columns(c, t, a, name);
}
