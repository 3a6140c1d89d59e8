/* explore.h - a ranking of candidates, and closed loops that try its rules, on paper. */
#ifndef REPORT_EXPLORE_H
#define REPORT_EXPLORE_H

#include "report/report.h"
#include "study/explore_loop.h"

void report_explore_json(FILE *out, const epiq_ranking *r, const report_run *run);
void report_explore_csv(FILE *out, const epiq_ranking *r);
void report_explore_text(FILE *out, const epiq_ranking *r, const report_run *run, ptrdiff_t top, report_style style);
void report_explore_html(FILE *out, const epiq_ranking *r, const report_run *run, svg_album *album);

void report_loop_json(FILE *out, const loop_result *r, const report_study_run *run);
void report_loop_csv(FILE *out, const loop_result *r);
void report_loop_text(FILE *out, const loop_result *r, const report_study_run *run);
void report_loop_html(FILE *out, const loop_result *r, const report_study_run *run, svg_album *album);

/* ---- pieces they share ---- */

void report_loop_what(char *text, size_t size, const loop_result *r); /* what was played, in a sentence */

const char *report_rule(const epiq_exploration *ask);                  /* "ucb" */
void report_rule_text(char *text, size_t size, const epiq_ranking *r); /* what the score is, in words */
double report_spread(const epiq_ranking *r,
                     const epiq_candidate *k); /* standard deviation of the score; NAN: unknown */

#endif
