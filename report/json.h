/* json.h - a streaming JSON writer. Every call writes one value; key is NULL inside an array. */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include "report/report.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct {
    FILE *out;
    int depth, flat; /* open containers; depth from which everything stays on one line, 0: none */
    bool empty;      /* the innermost open container is */
    char close[16];  /* their closing brackets */
} json;

typedef enum { JSON_LINES, JSON_FLAT } json_layout; /* one member a line, or all in one line */
void json_object(json *j, const char *key, json_layout layout);
void json_array(json *j, const char *key, json_layout layout);
void json_end(json *j);

void json_null(json *j, const char *key);
void json_bool(json *j, const char *key, bool v);
void json_integer(json *j, const char *key, long long v);
void json_real(json *j, const char *key, double v);       /* null when not finite */
void json_text(json *j, const char *key, const char *v);  /* null when NULL */
void json_token(json *j, const char *key, const char *v); /* already JSON: a number in its own notation */

/* "options": the whole table, or those of these names, up to NULL. */
void report_json_options(json *j, const epiq_options *o, const char *const *only);
void report_json_manifest(json *j, const epiq_result *r, const report_run *run); /* "epiq", "run", "data", "model" */
void report_json_given(json *j, const epiq_result *r, const report_run *run); /* "given", "until"; nothing if neither */
void report_json_retrain(json *j, const epiq_result *r); /* "retrain"; nothing where it was not asked for */
extern const char *const REPORT_GIVEN_OPTIONS[]; /* that mean something where networks are brought along, up to NULL */
void report_json_choice(json *j, const epiq_result *r, const report_run *run); /* "choice"; nothing if there was none */
void report_json_variance(json *j, const char *key, const epiq_part *p);       /* null when not known */
void report_json_interval(json *j, const epiq_part *p);                        /* "interval": [lo, hi] or null */
void report_json_warnings(json *j, const epiq_result *r);

#endif
