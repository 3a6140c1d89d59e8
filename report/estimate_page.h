/* estimate_page.h - what the sections of an estimate's page share. */
#ifndef REPORT_ESTIMATE_PAGE_H
#define REPORT_ESTIMATE_PAGE_H

#include "report/page.h"
#include "report/pictures.h"
#include "report/report.h"

typedef struct {
    FILE *out;
    const epiq_result *r;
    const report_run *run;
    const pictures *set; /* NULL: no memory for them */
    svg_album *album;
} estimate_page;

void estimate_answer(const estimate_page *g);                        /* the first paragraphs */
void estimate_sentence(const estimate_page *g, const epiq_point *p); /* the answer at one point */
void estimate_place(const estimate_page *g, const char *at);         /* where it is, in words */
void estimate_say(const estimate_page *g, const char *name, double v,
                  int digits); /* a number inside a sentence, in full as data-NAME */

#endif
