/* estimate_doc.h - what the sections of an estimate's text and page share. */
#ifndef REPORT_ESTIMATE_DOC_H
#define REPORT_ESTIMATE_DOC_H

#include "report/doc.h"

/* ---- the answer in a few sentences, in text and page ---- */

void write_answer_text(doc *d);                      /* all of it, in the text */
void write_useless(doc *d);                          /* if predictions are no better than the mean of the target */
void write_error(doc *d);                            /* of predictions on rows not seen */
void write_place(doc *d, const char *at);            /* "row 17" */
void write_prediction(doc *d, const epiq_point *p);  /* and its standard deviation */
void write_observation(doc *d, const epiq_point *p); /* the prediction interval, and mostly why it is so wide */
void write_confidence(doc *d, const epiq_point *p);  /* where the expected prediction lies, if that was asked for */
void write_interval(doc *d, const epiq_point *p);    /* "14.7 to 25.3" */
doc_cell cell_interval(const epiq_point *p);         /* the same in a table; "none" */
void write_composition(doc *d, const epiq_point *p); /* of the distance of y from the prediction */
void write_rows_answer(doc *d);                      /* of rows left out */
void write_least_sure(doc *d);                       /* of these the five least sure */

/* ---- and at length ---- */

/* A point: a block of text; a section of the page, of point i. */
void write_block(doc *d, const epiq_point *p);
void write_section(doc *d, const epiq_point *p, ptrdiff_t i);
void write_share(doc *d, const epiq_point *p); /* on the page: which part of one network's variance is larger */

void write_rows(doc *d); /* rows that were left out, summed up */

/* ---- pictures; what is unknown is not drawn, and the page says why ---- */

enum { ESTIMATE_DETAILED = 3 }; /* points that get pictures of their own */
/* The k-th of these among the points: those asked for by themselves, then the least sure of the rows left out; -1: none. */
ptrdiff_t estimate_detailed(const epiq_result *r, ptrdiff_t k);

typedef enum {
    PICTURE_PARTS,       /* of point `item`: the variances as stacked bars with intervals */
    PICTURE_MEMBERS,     /* its members' predictions, */
    PICTURE_EV,          /* EV from the first 2, 3, ... of them, */
    PICTURE_CONFIDENCE,  /* the interval of the expected prediction from the first of them, */
    PICTURE_INFLUENTIAL, /* the rows that move it */
    PICTURE_SWEEP,       /* across sweep `item` */
    PICTURE_LOO,         /* observed against predicted without the row */
    PICTURE_CALIBRATION, /* the share of rows inside their interval, by its level */
    PICTURE_POINTS,      /* several points: the parts of each, */
    PICTURE_SPREAD,      /* and the standard deviation of each against its prediction */
} estimate_picture;

void estimate_pictures(doc *d); /* into d->set */

#endif
