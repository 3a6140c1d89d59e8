/* csv.c - CSV as in RFC 4180, read in one pass over the bytes of the file: quotes, doubled quotes, line ends inside
 * quotes, any of LF, CRLF and CR, and `,` `;` or tab between cells, whichever the header has most of.
 */
#include "data/table.h"

#include <stdio.h>
#include <string.h>

enum {
    LONGEST = 16 << 20, /* bytes of a record; a longer one is an unclosed quote, or the file is not a table */
    WINDOW = 1 << 20,   /* bytes read at a time from a file that is read in blocks of rows */
    REPORTED = 50000    /* rows after which progress is told */
};

typedef struct {
    char *p, *end; /* *end is a zero byte */
    char *record;  /* start of the record */
    ptrdiff_t line;
    char delimiter;
    const char *file;
} scanner;

typedef struct {
    char *text;
    ptrdiff_t length;
    bool last; /* of its record */
} field;

static bool blank(const scanner *s, char b)
{
    return (b == ' ' || b == '\t') && b != s->delimiter;
}

static bool line_end(const char *p) /* CRLF ends with its LF */
{
    return *p == '\n' || (*p == '\r' && p[1] != '\n');
}

/* The text between quotes; doubled quotes are halved in place. p is after the opening quote, and at the end after the
 * closing one. */
static int quoted(epiq_ctx *c, scanner *s, field *f)
{
    char *to = s->p;
    ptrdiff_t opened = s->line;
    f->text = to;
    for (char *p = s->p; p < s->end && p - s->record <= LONGEST; p++) {
        if (*p == '"' && *++p != '"') {
            f->length = to - f->text;
            s->p = p;
            return EPIQ_OK;
        }
        s->line += line_end(p);
        *to++ = *p;
    }
    return epiqp_fail(c, EPIQ_E_DATA,
                      "%s:%td: a quote that opens on this line is never closed%s; close it, or remove it", s->file,
                      opened, s->end - s->record > LONGEST ? " within 16 MiB" : "");
}

static void skip_blanks(scanner *s)
{
    while (blank(s, *s->p)) {
        s->p++;
    }
}

static int next(epiq_ctx *c, scanner *s, field *f)
{
    skip_blanks(s);
    if (*s->p == '"') {
        s->p++;
        int status = quoted(c, s, f);
        if (status) return status;
        skip_blanks(s);
        if (*s->p != s->delimiter && *s->p != '\n' && *s->p != '\r' && s->p != s->end) {
            return epiqp_fail(c, EPIQ_E_DATA, "%s:%td: text follows a closing quote; write a quote inside quotes twice",
                              s->file, s->line);
        }
    } else {
        char *p = s->p;
        f->text = p;
        while (*p != s->delimiter && *p != '\n' && *p != '\r' && *p) {
            p++;
        }
        s->p = p;
        while (p > f->text && blank(s, p[-1])) {
            p--;
        }
        f->length = p - f->text;
    }
    if (s->p - s->record > LONGEST) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s:%td: the line is longer than 16 MiB; is this a table with one row per line?", s->file,
                          s->line);
    }
    f->last = *s->p != s->delimiter;
    if (f->last && *s->p) {
        s->line++;
        s->p += *s->p == '\r' && s->p[1] == '\n';
    }
    s->p += s->p < s->end;
    return EPIQ_OK;
}

ptrdiff_t epiqp_csv_count(const char *p, const char *end, char separator)
{
    ptrdiff_t count = 0;
    for (bool open = false; p < end && *p && (open || (*p != '\n' && *p != '\r')); p++) {
        open ^= *p == '"';
        count += !open && *p == separator;
    }
    return count;
}

/* The most frequent of the three in the first line; a comma if there is none. */
static char delimiter_of(const char *p, const char *end)
{
    const ptrdiff_t comma = epiqp_csv_count(p, end, ','), semicolon = epiqp_csv_count(p, end, ';'),
                    tab = epiqp_csv_count(p, end, '\t');
    return comma >= semicolon && comma >= tab ? ',' : semicolon >= tab ? ';' : '\t';
}

/* Whether only blank lines follow. */
static bool finished(const scanner *s)
{
    const char *p = s->p;
    while (blank(s, *p) || *p == '\n' || *p == '\r') {
        p++;
    }
    return p == s->end;
}

static int ragged(epiq_ctx *c, const epiqp_table *t, ptrdiff_t line, ptrdiff_t found, const field *only)
{
    if (found == 1 && only->length == 0) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s:%td: the line is blank, but rows follow; remove it", t->in.name, line);
    }
    const char *few = found == 1 ? "" : "s", *first = t->bare ? "first" : "header";
    if (found < t->columns) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s:%td: the row has %td cell%s where the %s has %td; write them all, empty or not",
                          t->in.name, line, found, few, first, t->columns);
    }
    return epiqp_fail(
        c, EPIQ_E_DATA, "%s:%td: the row has %td cell%s where the %s has %td; quote cells that hold a '%s'", t->in.name,
        line, found, few, first, t->columns, t->csv.delimiter == '\t' ? "tab" : (char[]){t->csv.delimiter, '\0'});
}

static int fill_row(epiq_ctx *c, epiqp_table *t, scanner *s)
{
    field f;
    ptrdiff_t j = 0, line = s->line;
    int status = epiqp_table_row(c, t);
    s->record = s->p;
    do {
        ptrdiff_t cell_line = s->line;
        if (status || (status = next(c, s, &f))) return status;
        epiqp_role role = j < t->columns ? t->column[j].role : EPIQP_SKIP;
        if (t->copied.count && j < t->columns && (status = epiqp_table_copy(c, t, j, f.text, f.length))) return status;
        if (role != EPIQP_SKIP) {
            status = epiqp_table_put(c, t, cell_line, j,
                                     role == EPIQP_NUMBER ? epiqp_cell_number(f.text, f.length, t->csv.plain)
                                                          : epiqp_cell_label(f.text, f.length));
        }
        j++;
    } while (!f.last);
    if (status) return status;
    if (j != t->columns) return ragged(c, t, line, j, &f);
    t->rows++;
    return EPIQ_OK;
}

static int fill(epiq_ctx *c, epiqp_table *t)
{
    char *start = (char *)t->in.bytes, *end = start + (t->in.more ? t->csv.whole : t->in.size), next_byte = *end;
    scanner s = {start + t->csv.at, end, NULL, t->csv.line, t->csv.delimiter, t->in.name};
    int status = EPIQ_OK;
    *end = '\0';
    while (!status && !finished(&s) && (!t->most || t->rows < t->most)) {
        status = fill_row(c, t, &s);
        if (!status && t->rows % REPORTED == 0) status = epiqp_report(c, "read", s.p - start, end - start);
    }
    *end = next_byte;
    t->csv.at = s.p - start;
    t->csv.line = s.line;
    return status;
}

/* The end of the last complete record. Records end at line ends outside quotes; a quote opens only where a cell begins.
 * At the end of the bytes read so far a CR may be half of a CRLF, so it does not end a record yet. */
static ptrdiff_t complete(const epiqp_table *t)
{
    const char *start = (const char *)t->in.bytes, *p = start + t->csv.at, *end = start + t->in.size, *whole = p;
    const scanner s = {.delimiter = t->csv.delimiter};
    if (!memchr(p, '"', (size_t)(end - p))) {
        for (whole = end; whole > p && whole[-1] != '\n' && (whole[-1] != '\r' || whole == end); whole--) {
        }
        return whole - start;
    }
    enum { BEGINS, PLAIN, QUOTED, CLOSED } state = BEGINS;
    for (; p < end; p++) {
        if (state == QUOTED) {
            state = *p == '"' ? CLOSED : QUOTED;
        } else if (*p == s.delimiter) {
            state = BEGINS;
        } else if (*p == '\n' || (*p == '\r' && p + 1 < end)) {
            state = BEGINS;
            whole = p + 1;
        } else if (*p == '"' && state != PLAIN) {
            state = QUOTED; /* an opening quote, or the second of two */
        } else if (state == BEGINS && !blank(&s, *p)) {
            state = PLAIN;
        }
    }
    return whole - start;
}

static int refuse_zeros(epiq_ctx *c, const epiqp_table *t, ptrdiff_t from)
{
    const unsigned char *zero = memchr(t->in.bytes + from, 0, (size_t)(t->in.size - from));
    return zero ? epiqp_fail(c, EPIQ_E_DATA, "%s: byte %td is NUL, so this is not text; give a CSV, NPY or NPZ file",
                             t->in.name, t->csv.moved + (zero - t->in.bytes) + 1)
                : EPIQ_OK;
}

int epiqp_csv_more(epiq_ctx *c, epiqp_table *t)
{
    epiqp_input *in = &t->in;
    memmove(in->bytes, in->bytes + t->csv.at, (size_t)(in->size - t->csv.at));
    t->csv.moved += t->csv.at;
    t->csv.decoded -= epiqp_min(t->csv.at, t->csv.decoded);
    in->size -= t->csv.at;
    t->csv.at = 0;
    for (ptrdiff_t size = epiqp_max(WINDOW, in->size + WINDOW / 2); in->more; size *= 2) {
        const ptrdiff_t old = in->size;
        int status = epiqp_input_read(c, in, size);
        if (status || (t->lines && ((status = refuse_zeros(c, t, old)) || (status = epiqp_text_decode(c, t))))) {
            return status;
        }
        if ((t->csv.whole = complete(t)) > 0) break;
        if (in->size > LONGEST + WINDOW) { /* one record, which is refused when it is read, or a long header */
            in->more = in->more && !t->lines;
            break;
        }
    }
    return EPIQ_OK;
}

/* The number of the column itself, from 0, as pandas writes it over columns without a name. */
static bool counts_from_0(const field *f, ptrdiff_t column)
{
    char number[24];
    const int length = snprintf(number, sizeof number, "%td", column);
    return f->length == length && memcmp(f->text, number, (size_t)length) == 0;
}

static int read_names(epiq_ctx *c, epiqp_table *t, scanner *s)
{
    enum { COUNTED_LEAST = 3 }; /* columns: 0 and 1 alone may well be numbers */
    ptrdiff_t numbers = 0, texts = 0, counted = 0;
    const scanner first = *s;
    for (field f = {0}; !f.last;) {
        int status = next(c, s, &f);
        if (status || (status = epiqp_table_columns(c, t, t->columns + 1))) return status;
        epiqp_kind kind = epiqp_cell_number(f.text, f.length, t->csv.plain).kind;
        numbers += kind == EPIQP_IS_NUMBER;
        texts += kind == EPIQP_IS_TEXT;
        counted += counts_from_0(&f, t->columns - 1);
        if (!(t->column[t->columns - 1].name = epiqp_text_clean(c, &t->arena, f.text, f.length))) return EPIQ_E_NOMEM;
    }
    if (t->matrix && counted == t->columns && counted >= COUNTED_LEAST) return EPIQ_OK;
    if (t->matrix && numbers && !texts) { /* the line is a row and is read again; no quote in it was doubled */
        t->bare = 2;
        *s = first;
        for (ptrdiff_t j = 0; j < t->columns; j++) {
            if (!(t->column[j].name = epiqp_arena_printf(c, &t->arena, "%td", j + 1))) return EPIQ_E_NOMEM;
        }
        return EPIQ_OK;
    }
    return numbers < t->columns
               ? EPIQ_OK
               : epiqp_fail(c, EPIQ_E_DATA,
                            "%s: line 1 looks like data; a header is required: add a line with the columns' names",
                            t->in.name);
}

ptrdiff_t epiqp_csv_mark(const epiqp_table *t)
{
    return t->in.size >= 3 && !memcmp(t->in.bytes, "\xEF\xBB\xBF", 3) ? 3 : 0;
}

int epiqp_csv_open(epiq_ctx *c, epiqp_table *t)
{
    int status;
    if ((status = epiqp_foreign_refuse(c, t)) || (status = refuse_zeros(c, t, 0)) ||
        (status = epiqp_text_decode(c, t))) {
        return status;
    }
    char *start = (char *)t->in.bytes;
    const ptrdiff_t size = t->in.size;
    char *first = start + epiqp_csv_mark(t);
    scanner s = {first, start + size, first, 1, delimiter_of(first, start + size), t->in.name};
    if (finished(&s)) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: the file is empty; it needs %s", t->in.name,
                          t->matrix ? "rows" : "a header and rows");
    }
    t->csv.plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!t->csv.plain) return epiqp_fail(c, EPIQ_E_NOMEM, "no memory for the C locale");
    status = read_names(c, t, &s);
    t->lines = true;
    t->fill = fill;
    t->csv.at = s.p - start;
    t->csv.line = s.line;
    t->csv.delimiter = s.delimiter;
    t->csv.whole = t->in.more ? complete(t) : 0;
    return status;
}

int epiqp_csv_names(epiq_ctx *c, const char *option, const char *list, epiqp_keys *names)
{
    ptrdiff_t length = (ptrdiff_t)strlen(list);
    char *copy = epiqp_alloc(c, length + 1, 1); /* quotes are removed in place */
    if (!copy) return EPIQ_E_NOMEM;
    memcpy(copy, list, (size_t)length + 1);
    scanner s = {copy, copy + length, copy, 1, ',', option};
    int status = EPIQ_OK;
    field f = {0};
    while (!status && (!f.last || s.p < s.end)) {
        if (next(c, &s, &f)) {
            status = EPIQ_E_USAGE;
        } else if (!f.length) {
            status = epiqp_fail(c, EPIQ_E_USAGE, "%s holds an empty name; give names with commas between", option);
        } else if (epiqp_keys_add(c, names, f.text, f.length) < 0) {
            status = EPIQ_E_NOMEM;
        }
    }
    epiqp_free(c, copy);
    return status;
}
