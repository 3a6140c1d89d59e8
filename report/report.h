/* report.h - finished results on paper: JSON, CSV, text for people, web pages, and NPY matrices.
 * The writers read an epiq_result or a study_result and the manifest of the run, compute nothing and check nothing: write errors stay in
 * the FILE, where the caller looks for them once at the end.
 */
#ifndef REPORT_H
#define REPORT_H

#include "epiq.h"
#include "report/svg.h"
#include "study/study.h"

#include <stdbool.h>
#include <stdio.h>

/* The result is of epiq_combine: its networks were brought along, not trained here. */
typedef struct {
    double until; /* half the width that EV's interval shall have, over the variance; 0: nobody asked */
} report_given;

/* How the result came about: what the library does not know of the run, or no longer tells. */
typedef struct {
    const char *command; /* as typed, quoted for a shell */
    const epiq_options *options;
    epiq_data_info data;
    double seconds, read_seconds;
    long long peak_rss_bytes;
    const report_given *given; /* NULL: the networks, if any, were trained here */
} report_run;

void report_json(FILE *out, const epiq_result *r, const report_run *run);
void report_csv(FILE *out, const epiq_result *r);
/* One file, offline, no script. What every page draws goes into the album too, which says whether memory lacked for some of
 * it; NULL: there is none. */
void report_html(FILE *out, const epiq_result *r, const report_run *run, svg_album *album);

typedef struct {
    bool colour, blocks; /* what the terminal can show: ANSI colours, UTF-8 block characters */
} report_style;
void report_text(FILE *out, const epiq_result *r, const report_run *run, report_style style);

void report_npy(FILE *out, ptrdiff_t rows, ptrdiff_t columns, const double *a); /* version 1.0, float64, C order */

/* ---- studies ---- */

/* The options written are r->options, with what the study chose filled in. */
typedef struct {
    const char *command;         /* as typed, quoted for a shell */
    const epiq_options *options; /* as asked for */
    double seconds;
    long long peak_rss_bytes;
    const char *machine; /* "x86_64, 2 cores, MODEL NAME"; may be NULL */
} report_study_run;

void report_study_text(FILE *out, const study_result *r, const report_study_run *run, report_style style);
void report_study_json(FILE *out, const study_result *r, const report_study_run *run);
void report_study_html(FILE *out, const study_result *r, const report_study_run *run, svg_album *album);

/* ---- what the writers say of networks brought along ---- */

epiq_data_info report_given_data(const epiq_result *r); /* what run.data is then: rows without names */
const char *report_given_kernel(const epiq_result *r);  /* "gram", "jacobian"; NULL: none was given */
void report_given_text(FILE *out, const epiq_result *r, const report_run *run); /* how many, their rows and kernel */
typedef struct {
    char text[320];
} report_sentence;
report_sentence report_until(const epiq_result *r, const report_run *run); /* are there enough? Empty: nobody asked */

/* ---- pieces the writers share ---- */

/* The shortest of %.15g, %.16g, %.17g that reads back equal. */
typedef struct {
    char text[32];
} report_number;
report_number report_double(double v);

typedef struct {
    char text[64];
} report_phrase;
report_phrase report_interval(const epiq_part *p); /* "between 1 and 3", "at least 1", "no interval" */
double report_upper(const epiq_part *p);           /* the interval's upper end; NAN: there is none */

void report_choice(FILE *out, const epiq_result *r,
                   const report_run *run); /* a line on what --methods auto chose, and why */
#define REPORT_BOLD "\033[1m"
#define REPORT_YELLOW "\033[33m"
void report_paint(FILE *out, report_style style, const char *colour,
                  const char *text); /* on a terminal; text is plain */
void report_warnings(FILE *out, report_style style, const epiq_warning *warnings, ptrdiff_t count); /* a line each */
void report_conclusion(FILE *out, report_style style, const char *head, const char *text); /* "Head: text", a line */
const char *report_plural(ptrdiff_t count);                                                /* "s", or "" of one */
void report_csv_cell(FILE *out, bool known, double v); /* after a comma; empty if not known */

size_t report_utf8(const char *s); /* bytes of the UTF-8 character at s; 0: it is none */
/* The character at s, if it steers whatever shows it instead of being shown: a control character, one that ends a line or
 * turns the order of others around (U+2028..E, U+2066..9). Else 0. */
unsigned report_steering(const char *s);
void report_plain(FILE *out, const char *s); /* for terminals: control characters and broken UTF-8 become ? */
int report_columns(const char *s);           /* characters report_plain writes */
const char *report_point(const char *at);    /* "point ", before the number of one without a name; else "" */
typedef struct {
    char text[64]; /* of a number, a choice or a list of methods */
} report_value;
const char *report_option(const epiq_options *o, const char *name,
                          report_value *room); /* as text, in room or where the options have it; NULL: unset */

#endif
