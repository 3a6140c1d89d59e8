/* report.h - finished results on paper: JSON, CSV, text for people, web pages, and NPY matrices.
 * The writers read what was found and the manifest of the run, compute nothing and check nothing: write errors stay in the
 * FILE, where the caller looks for them once at the end.
 */
#ifndef REPORT_H
#define REPORT_H

#include "chart/svg.h"
#include "epiq_decide.h"
#include "epiq_details.h"
#include "epiq_model.h"
#include "epiq_options.h"

#include <stdbool.h>
#include <stdio.h>

/* The result is of epiq_combine: its networks were trained elsewhere. */
typedef struct {
    double until; /* half the width that EV's interval should have, over the variance; 0: not asked */
} combine_request;

/* How the result came about: what the library does not know of the run. */
typedef struct {
    const char *command; /* as typed, quoted for a shell */
    const epiq_options *options;
    epiq_spelling spelling; /* of options, in sentences */
    epiq_data_info data;
    double seconds, read_seconds;
    long long peak_rss_bytes;
    bool verbose;                 /* the text has everything; else a few lines */
    const combine_request *given; /* NULL: the networks, if any, were trained here */
    bool sweeps_drawn;            /* the sweeps were made for the page: the text leaves them out */
    const char *machine;          /* of a study: "x86_64, 2 cores, MODEL NAME"; may be NULL */
} report_run;

/* What was found; the pointers of other verbs are NULL. */
typedef struct {
    const epiq_result *result; /* of estimate and combine, and what a plan or a ranking was made from */
    const epiq_plan *plan;
    const epiq_plan_request *effort; /* that the plan answers */
    const epiq_comparison *comparison;
    const epiq_ranking *ranking;
    const epiq_points *candidates;  /* that it ranks, or the points of the result, */
    const epiq_data_info *features; /* and what their features are called; NULL: neither is known */
    ptrdiff_t top;                  /* candidates of the ranking that the text lists */
    const struct study_result *study;
    const struct loop_result *loop;
    const epiq_scores *scores;
    const epiq_model_info *model; /* that they are of, */
    const char *file, *test;      /* and what its file and that of the rows are called */
} report_answer;

typedef struct {
    bool colour, blocks; /* what the terminal can show: ANSI colours, UTF-8 block characters */
} report_style;

/* The writers of one verb: two for programs (csv is NULL where there is none), and a description of which text and page are
 * made. */
typedef struct doc doc;
typedef struct {
    void (*json)(FILE *out, const report_answer *a, const report_run *run);
    void (*csv)(FILE *out, const report_answer *a);
    void (*describe)(doc *d);
} report_writers;
extern const report_writers ESTIMATE_WRITERS, PLAN_WRITERS, COMPARE_WRITERS, EXPLORE_WRITERS, STUDY_WRITERS,
    LOOP_WRITERS, SCORE_WRITERS;

const epiq_warning *report_warning(const report_answer *a, ptrdiff_t i); /* NULL past the end */
const epiq_warning *report_note(const report_answer *a, ptrdiff_t i);    /* likewise, for information */
epiq_data_info combine_data(const epiq_result *r); /* run.data of epiq_combine: rows without names */

void doc_text(FILE *out, const report_writers *w, const report_answer *a, const report_run *run, report_style style);
/* One file, offline, without scripts. What it draws goes into the album too, which says whether memory was lacking for some of
 * it; NULL: there is no album. */
void doc_html(FILE *out, const report_writers *w, const report_answer *a, const report_run *run, svg_album *album);

void write_npy(FILE *out, ptrdiff_t rows, ptrdiff_t columns, const double *a); /* version 1.0, float64, C order */

#endif
