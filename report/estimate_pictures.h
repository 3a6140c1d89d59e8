/* estimate_pictures.h - the pictures of an estimate, for its page.
 * What is unknown is not drawn: pictures_find then gives NULL, and the page says why.
 */
#ifndef REPORT_ESTIMATE_PICTURES_H
#define REPORT_ESTIMATE_PICTURES_H

#include "report/pictures.h"
#include "report/report.h"

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

/* NULL: no memory. All of r and run must live as long. */
pictures *report_estimate_pictures(const epiq_result *r, const report_run *run);

/* ---- its two halves, and what they share ---- */

void report_point_pictures(pictures *set, const epiq_result *r, const report_run *run, ptrdiff_t point);
void report_table_pictures(pictures *set, const epiq_result *r, const report_run *run); /* of rows, features, points */

typedef struct {
    const char *name;
    double data, procedural; /* what is stacked; not finite: nothing */
    const epiq_part *whole;  /* what the mark and its interval stand for */
} stacked_row;
/* Draws them into p; whole: what the legend calls the mark. True if an interval had to be cut for the rest to be seen. */
bool report_stacked(pictures *set, picture *p, const stacked_row *rows, ptrdiff_t count, const char *whole,
                    double level);

#endif
