/* compare.h - a comparison of models on paper: text, JSON, CSV, a page. */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H

#include "report/report.h"

void report_compare_text(FILE *out, const epiq_comparison *r, const report_run *run, report_style style);
void report_compare_json(FILE *out, const epiq_comparison *r, const report_run *run);
void report_compare_csv(FILE *out, const epiq_comparison *r); /* a line a model */
void report_compare_html(FILE *out, const epiq_comparison *r, const report_run *run, svg_album *album);

/* What text and page share. */
const epiq_rmse *report_compare_error(const epiq_comparison *r, const epiq_compared *m); /* that decided */
const char *report_compare_error_name(const epiq_comparison *r, char *buffer, size_t size);
bool report_compare_biases(const epiq_comparison *r); /* they differ */
void report_compare_sorted(const epiq_comparison *r, ptrdiff_t most,
                           ptrdiff_t *order); /* the first of them by that error, unknown last */

#endif
