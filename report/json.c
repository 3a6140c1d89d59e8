/* json.c - a streaming JSON writer: two-space indent, leaves on one line where asked, valid UTF-8 whatever goes in; objects and CSV
 * lines from tables of fields.
 */
#include "report/json.h"
#include "common/utf8.h"
#include "report/format.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_string(FILE *out, const char *s)
{
    char one[EPIQP_JSON_CHAR];
    putc('"', out);
    while (*s) {
        s += epiqp_json_char(s, one);
        fputs(one, out);
    }
    putc('"', out);
}

static void new_line(json *j)
{
    fprintf(j->out, "\n%*s", 2 * j->depth, "");
}

/* Comma, line and key: everything before a value. */
static void start(json *j, const char *key)
{
    if (j->depth) {
        fputs(j->empty ? "" : j->flat ? ", " : ",", j->out);
        if (!j->flat) new_line(j);
    }
    j->empty = false;
    if (key) {
        put_string(j->out, key);
        fputs(": ", j->out);
    }
}

void json_open(json *j, const char *key, json_layout layout, const char *brackets)
{
    start(j, key);
    putc(brackets[0], j->out);
    assert(j->depth < (int)sizeof j->close);
    j->close[j->depth++] = brackets[1];
    j->empty = true;
    if (!j->flat && layout == JSON_FLAT) j->flat = j->depth;
}

void json_end(json *j)
{
    char close = j->close[--j->depth];
    if (!j->flat && !j->empty) new_line(j);
    if (j->flat > j->depth) j->flat = 0;
    putc(close, j->out);
    j->empty = false;
    if (!j->depth) putc('\n', j->out);
}

void json_token(json *j, const char *key, const char *v)
{
    start(j, key);
    fputs(v, j->out);
}

void json_real(json *j, const char *key, double v)
{
    json_token(j, key, isfinite(v) ? number_text(v).text : "null");
}

void json_text(json *j, const char *key, const char *v)
{
    start(j, key);
    if (v) {
        put_string(j->out, v);
    } else {
        fputs("null", j->out);
    }
}

/* ---- fields ---- */

static const char *real_text(bool known, double v, field_room *r)
{
    snprintf(r->text, sizeof r->text, "%s", number_text(v).text);
    return known && isfinite(v) ? r->text : NULL;
}

static const char *whole_text(long long v, const field *f, field_room *r)
{
    snprintf(r->text, sizeof r->text, "%lld", v);
    return v || f->when == FIELD_ALWAYS || f->when == FIELD_WHEN_THERE ? r->text : NULL;
}

const char *field_text(const field *f, field_room *r)
{
    const epiq_part *part = f->at;
    switch (f->at ? f->kind : FIELD_INTERVAL) {
    case FIELD_TEXT:
        return *(const char *const *)f->at;
    case FIELD_OPTION:
        return option_text(f->at, f->name, r);
    case FIELD_METHOD:
        return epiq_method_text(part->method);
    case FIELD_COUNT:
        return whole_text(*(const ptrdiff_t *)f->at, f, r);
    case FIELD_LONG:
        return whole_text(*(const long long *)f->at, f, r);
    case FIELD_BOOL:
        return whole_text(*(const int *)f->at != 0, f, r);
    case FIELD_SEED:
        snprintf(r->text, sizeof r->text, "%llu", (unsigned long long)*(const uint64_t *)f->at);
        return r->text;
    case FIELD_REAL:
        return real_text(true, *(const double *)f->at, r);
    case FIELD_ROUNDED:
        snprintf(r->text, sizeof r->text, "%.6g", *(const double *)f->at);
        return isfinite(*(const double *)f->at) ? r->text : NULL;
    case FIELD_VARIANCE:
        return real_text(part->known, part->variance, r);
    case FIELD_SD:
        return real_text(part->known, sqrt(part->variance), r);
    case FIELD_INTERVAL:
    case FIELD_RANGE:
        break;
    }
    return NULL;
}

bool field_shown_unknown(const field *f)
{
    return f->when != FIELD_WHEN_KNOWN && (f->at || f->when != FIELD_WHEN_THERE);
}

void json_fields(json *j, const field *fields)
{
    for (const field *f = fields; f->name; f++) {
        const epiq_part *part = f->at;
        const double *range = f->at;
        field_room r;
        const char *text = field_text(f, &r);
        if (f->kind == FIELD_INTERVAL && part->known && part->has_interval) {
            json_reals(j, f->name, 2, (const double[]){part->lo, interval_upper(part)});
        } else if (f->kind == FIELD_RANGE && range && (f->when != FIELD_WHEN_KNOWN || isfinite(*range))) {
            json_reals(j, f->name, 2, range);
        } else if (!text && field_shown_unknown(f)) {
            json_text(j, f->name, NULL);
        } else if (text && (f->kind == FIELD_TEXT || f->kind == FIELD_METHOD || f->kind == FIELD_OPTION)) {
            json_text(j, f->name, text);
        } else if (text) {
            json_token(j, f->name, f->kind != FIELD_BOOL ? text : *text == '1' ? "true" : "false");
        }
    }
}

void json_struct(json *j, const char *key, bool known, json_layout layout, const field *fields)
{
    if (!known) {
        json_text(j, key, NULL);
        return;
    }
    json_object(j, key, layout);
    json_fields(j, fields);
    json_end(j);
}

void json_reals(json *j, const char *key, ptrdiff_t count, const double *v)
{
    if (!v) {
        json_text(j, key, NULL);
        return;
    }
    json_array(j, key, JSON_FLAT);
    for (ptrdiff_t i = 0; i < count; i++) {
        json_real(j, NULL, v[i]);
    }
    json_end(j);
}

/* ---- CSV ---- */

/* A spreadsheet would compute it. */
static bool is_formula(const char *s)
{
    char *end;
    strtod(s, &end); /* -1 is a number */
    return *s && strchr("=+-@\t", *s) && *end;
}

/* Control characters and broken UTF-8 as on a page, since a terminal may show the file; a formula behind an apostrophe, which is
 * how spreadsheets write text that looks like one. */
void csv_text(FILE *out, const char *s)
{
    const char *quote = s[strcspn(s, ",\"\n")] ? "\"" : "";
    fprintf(out, "%s%s", quote, is_formula(s) ? "'" : "");
    while (*s) {
        fputs(*s == '"' ? "\"" : "", out);
        s += put_character(out, s);
    }
    fputs(quote, out);
}

void csv_fields(FILE *out, bool names, const field *fields)
{
    for (const field *f = fields; f->name; f++) {
        const epiq_part *part = f->at;
        const bool interval = f->kind == FIELD_INTERVAL;
        field_room r[2];
        const char *first =
                       interval ? real_text(part->known && part->has_interval, part->lo, &r[0]) : field_text(f, &r[0]),
                   *second = interval ? real_text(true, interval_upper(part), &r[1]) : NULL;
        fputs(f == fields ? "" : ",", out);
        if (names) {
            fprintf(out, interval ? "%s_lo,%s_hi" : "%s", f->name, f->name);
        } else {
            fprintf(out, interval ? "%s,%s" : "%s", first ? first : "", second ? second : "");
        }
    }
}

void csv_line(FILE *out, bool names, const field *fields)
{
    csv_fields(out, names, fields);
    putc('\n', out);
}
