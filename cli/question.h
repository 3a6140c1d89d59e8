/* question.h - from a question to its answer in files and text, for all verbs but synth, fit, predict and kernel.
 *
 *     typedef struct { question base; epiq_plan *plan; } plan_job;
 *     plan_job j = {.base = {.load = load_table, .find = find, .answer = {.writers = &PLAN_WRITERS}}};
 *     int code = run_question(c, &j.base);
 */
#ifndef CLI_QUESTION_H
#define CLI_QUESTION_H

#include "cli/cli.h"

/* ---- outputs: --json, --csv, --report and --pictures are opened before the work, so that one that cannot be written
 * costs none, and get their names after it, all or none. Then the text is printed, unless there is --quiet or an output
 * has taken standard output. ---- */

typedef enum { OUTPUT_JSON, OUTPUT_CSV, OUTPUT_PAGE, OUTPUT_KINDS } output_kind;

typedef struct {
    svg_album album; /* first, so that a picture handed to it arrives here */
    const cli *cli;
    output *files; /* one of each kind, open where asked for; then pictures: SVG, or SVG and PNG in turn */
    int count;
    bool quiet, text;   /* text: it will be printed */
    const char *folder; /* of --pictures, whether or not there is a page; NULL: not asked for */
    bool made, png;     /* the folder is ours and nothing is in it yet; PNG files too */
    int code;           /* of what went wrong while pictures were drawn */
} outputs;
int pictures_prepare(outputs *o); /* before the work: the folder, and what makes PNG of SVG */
int pictures_finish(outputs *o);  /* when the page is written; not yet committed */

/* What was found, and the writers of it. */
typedef struct {
    const report_writers *writers;
    report_answer found;
    report_run run;
    const char *before, *after; /* printed around the text; NULL: nothing */
    const char *page;           /* the text names it; NULL: nothing */
    bool partial;               /* only printed: a file would look like one of the whole */
} answer;

int outputs_open(outputs *o, const cli *c, const char *page); /* page: unless --report names another; may be NULL */
int outputs_write(outputs *o, const answer *a);
void outputs_drop(outputs *o); /* what was not written */

/* ---- questions ---- */

typedef struct question question;
struct question {
    /* Both return a status of the library. find puts what it found into the answer, and may put other options into its
     * run. Without load there are no data and no points. */
    int (*load)(question *q, cli *c);
    int (*find)(question *q, cli *c);
    epiq_data *data;
    epiq_points *at;
    study_crew *crew; /* threads of a study, each with a context, in place of cli.ctx; NULL: not a study */
    int (*stopped)(const question *q); /* complains of a signal; NULL: as others do */
    bool mean;                         /* without --at it is about the mean row: rows cannot be left out */
    bool resumable;                    /* --state keeps finished networks: mentioned when it is interrupted */
    const char *page;                  /* written unless --report names another; NULL: none */
    bool draw;                         /* pictures are wanted; known to find */
    epiq_result *result;               /* freed by run_question, as are data and points */
    answer answer;
};
int run_question(cli *c, question *q);
/* --dry-run: a forecast is found in place of an answer, and printed. The first refuses outputs that it cannot have. */
int dry_run_check(const cli *c);
int dry_run_found(question *q, int status);
int stopped(const cli *c, bool resumable, bool told); /* complains of a signal; told: the finished part is printed */
int run_estimate(cli *c, question *q);                /* of which find may be NULL, which estimates */
int load_table(question *q, cli *c);                  /* the operand and every file of points; none: the mean */

#endif
