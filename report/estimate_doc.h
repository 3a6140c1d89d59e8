/* estimate_doc.h - what the sections of an estimate's text and page share. */
#ifndef REPORT_ESTIMATE_DOC_H
#define REPORT_ESTIMATE_DOC_H

#include "report/doc.h"

/* A point at length: a block of text; a section of the page, of point i. */
void write_block(doc *d, const epiq_point *p);
void write_section(doc *d, const epiq_point *p, ptrdiff_t i);
void write_sentence(doc *d, const epiq_point *p); /* on the page: the answer at one point */

void write_rows(doc *d); /* rows that were left out, summed up */

/* ---- pictures; what is unknown is not drawn, and the page says why ---- */

enum { ESTIMATE_DETAILED = 3 }; /* points that get pictures of their own */

typedef enum {
    PICTURE_PARTS,       /* of point `item`: the variances as stacked bars with intervals */
    PICTURE_MEMBERS,     /* its members' predictions, */
    PICTURE_EV,          /* EV from the first 2, 3, ... of them, */
    PICTURE_INFLUENTIAL, /* the rows that move it */
    PICTURE_SWEEP,       /* across sweep `item` */
    PICTURE_LOO,         /* observed against leave-one-out prediction */
    PICTURE_CALIBRATION, /* the share of rows inside their interval, by its level */
    PICTURE_POINTS,      /* several points: the parts of each, */
    PICTURE_SPREAD,      /* and the standard deviation of each against its prediction */
} estimate_picture;

void estimate_pictures(doc *d); /* into d->set */

#endif
