/* plan.h - a plan on paper: text, JSON, CSV, a page. */
#ifndef REPORT_PLAN_H
#define REPORT_PLAN_H

#include "report/report.h"

typedef struct {
    const epiq_plan *plan;
    const epiq_effort *effort;
    const epiq_result *result; /* it was made from */
} report_planned;

void report_plan_text(FILE *out, const report_planned *p, const report_run *run, report_style style);
void report_plan_json(FILE *out, const report_planned *p, const report_run *run);
void report_plan_csv(FILE *out, const report_planned *p); /* the curve */
void report_plan_html(FILE *out, const report_planned *p, const report_run *run, svg_album *album);

#endif
