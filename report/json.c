/* json.c - a streaming JSON writer: two-space indent, leaves on one line where asked, valid UTF-8 whatever goes in. */
#include "report/json.h"
#include "report/report.h"

#include <assert.h>
#include <math.h>

static void put_string(FILE *out, const char *s)
{
    putc('"', out);
    while (*s) {
        unsigned char ch = (unsigned char)*s;
        size_t length = report_utf8(s);
        if (!length) {
            fputs("\\ufffd", out); /* not UTF-8: what decoders put in its place */
        } else if (ch == '"' || ch == '\\') {
            fprintf(out, "\\%c", ch);
        } else if (report_steering(s)) {
            fprintf(out, "\\u%04x", report_steering(s)); /* a terminal may show it, and it reads back the same */
        } else {
            fwrite(s, 1, length, out);
        }
        s += length ? length : 1;
    }
    putc('"', out);
}

static void new_line(json *j)
{
    fprintf(j->out, "\n%*s", 2 * j->depth, "");
}

/* Comma, line and key: everything that stands before a value. */
static void start(json *j, const char *key)
{
    if (j->depth) {
        fputs(j->empty ? "" : j->flat ? ", " : ",", j->out);
        if (!j->flat) {
            new_line(j);
        }
    }
    j->empty = false;
    if (key) {
        put_string(j->out, key);
        fputs(": ", j->out);
    }
}

static void open_container(json *j, const char *key, json_layout layout, char open, char close)
{
    start(j, key);
    putc(open, j->out);
    assert(j->depth < (int)sizeof j->close);
    j->close[j->depth++] = close;
    j->empty = true;
    if (!j->flat && layout == JSON_FLAT) {
        j->flat = j->depth;
    }
}

void json_object(json *j, const char *key, json_layout layout)
{
    open_container(j, key, layout, '{', '}');
}

void json_array(json *j, const char *key, json_layout layout)
{
    open_container(j, key, layout, '[', ']');
}

void json_end(json *j)
{
    char close = j->close[--j->depth];
    if (!j->flat && !j->empty) {
        new_line(j);
    }
    if (j->flat > j->depth) {
        j->flat = 0;
    }
    putc(close, j->out);
    j->empty = false;
    if (!j->depth) {
        putc('\n', j->out);
    }
}

void json_token(json *j, const char *key, const char *v)
{
    start(j, key);
    fputs(v, j->out);
}

void json_null(json *j, const char *key)
{
    json_token(j, key, "null");
}

void json_bool(json *j, const char *key, bool v)
{
    json_token(j, key, v ? "true" : "false");
}

void json_integer(json *j, const char *key, long long v)
{
    start(j, key);
    fprintf(j->out, "%lld", v);
}

void json_real(json *j, const char *key, double v)
{
    json_token(j, key, isfinite(v) ? report_double(v).text : "null");
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
