/* format.h - what the writers share: intervals in words, option values, what is said of networks trained elsewhere. */
#ifndef REPORT_FORMAT_H
#define REPORT_FORMAT_H

#include "chart/text.h"
#include "common/rounded.h"
#include "report/report.h"

typedef struct {
    char text[640];
} phrase;
phrase phrase_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
phrase fit_by(const epiq_fit_error *f); /* "5 folds", "leave-one-out" */
/* How the interval of the expected prediction was found: batching, bootstrap, retrain or if. */
const char *confidence_method(const epiq_point *p);
phrase interval_text(const epiq_part *p);    /* "between 1 and 3", "at least 1", "no interval" */
phrase sd_interval_text(const epiq_part *p); /* of the standard deviation: "1 to 1.7", "at least 1", "no interval" */
double part_variance(const epiq_part *p);    /* NAN: not known */
double part_sd(const epiq_part *p);          /* likewise */
double interval_lower(const epiq_part *p);   /* the ends of the interval; NAN: there is none */
double interval_upper(const epiq_part *p);
const char *plural(ptrdiff_t count);      /* "s", or "" for one */
const char *point_prefix(const char *at); /* "point " before the number of a point without a name; else "" */

typedef struct {
    char text[64]; /* of a number, a choice or a list of methods */
} option_buffer;
/* In room or where the options have it; NULL: unset. */
const char *option_text(const epiq_options *o, const char *name, option_buffer *room);
const char *sha_text(const report_run *run); /* of the data; NULL: unknown */

/* The first of the models by the error that decides, unknown last. */
void compare_sorted(const epiq_comparison *r, ptrdiff_t most, ptrdiff_t *order);

#define BOLD "\033[1m"
#define YELLOW "\033[33m"

/* ---- networks trained elsewhere (epiq combine) ---- */

const char *combine_kernel(const epiq_result *r);                   /* "gram", "jacobian"; NULL: none was given */
void describe_combined(doc *d);                                     /* how many, their rows and kernel */
phrase members_needed(const epiq_result *r, const report_run *run); /* are there enough? Empty: not asked */

/* Rows below which an error on rows not seen is hardly known, and sentences say so: one or two in each of five folds. */
enum { FEW_ROWS = 10 };

#endif
