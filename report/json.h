/* json.h - a streaming JSON writer; objects, CSV lines and the manifest of a page as tables of fields: a name, a kind, where the
 * value is (NULL: nowhere), and when it is written.
 *
 *     json_struct(j, "now", true, JSON_FLAT, FIELDS(FIELD("rows", COUNT, &m->rows), FIELD("cost", REAL, &m->cost)));
 */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include "report/format.h"

#include <stddef.h>

typedef struct {
    FILE *out;
    int depth, flat; /* open containers; depth from which everything stays on one line, 0: none */
    bool empty;      /* the innermost open container is */
    char close[16];  /* their closing brackets */
} json;

typedef enum { JSON_LINES, JSON_FLAT } json_layout; /* one member a line, or all in one line */
void json_open(json *j, const char *key, json_layout layout, const char *brackets);
#define json_object(j, key, layout) json_open(j, key, layout, "{}")
#define json_array(j, key, layout) json_open(j, key, layout, "[]")
void json_end(json *j);

/* One value; key is NULL inside an array. */
void json_real(json *j, const char *key, double v);       /* null when not finite */
void json_text(json *j, const char *key, const char *v);  /* null when NULL */
void json_token(json *j, const char *key, const char *v); /* already JSON: a number in its own notation */

/* ---- fields ---- */

typedef enum {
    FIELD_TEXT,     /* const char * */
    FIELD_OPTION,   /* epiq_options: the option of this name */
    FIELD_COUNT,    /* ptrdiff_t */
    FIELD_LONG,     /* long long */
    FIELD_SEED,     /* uint64_t */
    FIELD_BOOL,     /* int */
    FIELD_REAL,     /* double */
    FIELD_ROUNDED,  /* the same with 6 digits, for people */
    FIELD_VARIANCE, /* epiq_part: its variance, */
    FIELD_SD,       /* the root of that, */
    FIELD_INTERVAL, /* its interval, */
    FIELD_METHOD,   /* its method */
    FIELD_RANGE,    /* double[2]; an end that is not finite is null, and without the first it is not known */
} field_kind;

typedef enum {
    FIELD_ALWAYS,     /* null where the value is not known: nowhere, NULL, not finite */
    FIELD_NONZERO,    /* null where it is 0 as well */
    FIELD_WHEN_KNOWN, /* left out where it is not known, or a count of 0 */
    FIELD_WHEN_THERE, /* left out where it is nowhere */
} field_when;

typedef struct {
    const char *name;
    field_kind kind;
    const void *at;
    field_when when;
} field;

#define FIELD(name, kind, at) FIELD_IF(name, kind, at, FIELD_ALWAYS)
#define FIELD_IF(name, kind, at, when)                                                                                 \
    {                                                                                                                  \
        name, FIELD_##kind, at, when                                                                                   \
    }
#define FIELD_THERE(name, kind, at) FIELD_IF(name, kind, at, FIELD_WHEN_THERE)
#define FIELD_KNOWN(name, kind, at) FIELD_IF(name, kind, at, FIELD_WHEN_KNOWN)
#define FIELDS(...) ((const field[]){__VA_ARGS__, {0}}) /* ends with a field without a name */
/* For people: a text in place of its address. */
#define FACT(name, text) FIELD_KNOWN(name, TEXT, &(const char *){text})
#define FACT_SHA(run) FIELD("data, SHA-256", TEXT, &(const char *){sha_text(run)})

typedef option_buffer field_room;
const char *field_text(const field *f, field_room *r); /* NULL: the value is not known, or of no account */
bool field_shown_unknown(const field *f);              /* else it is left out where there is no text */

void json_fields(json *j, const field *fields);
void json_struct(json *j, const char *key, bool known, json_layout layout, const field *fields); /* not known: null */
void json_reals(json *j, const char *key, ptrdiff_t count, const double *v);                     /* NULL: null */

/* The names, or the values: empty cells where JSON has null. An interval is two columns, NAME_lo and NAME_hi. */
void csv_line(FILE *out, bool names, const field *fields);
void csv_fields(FILE *out, bool names, const field *fields); /* the same, and the line goes on */
void csv_text(FILE *out, const char *s);                     /* one cell, quoted where it must be */

#endif
