/* study_pictures.h - what a study's page draws: a part against its truth, coverage against its level, figures. */
#ifndef REPORT_STUDY_PICTURES_H
#define REPORT_STUDY_PICTURES_H

#include "report/study_table.h"
#include "report/svg.h"

void report_part_picture(FILE *out, svg_album *album,
                         const report_table *t); /* of REPORT_ROWS_PART: a panel for every n */
void report_coverage_picture(FILE *out, svg_album *album,
                             const study_result *r); /* nothing where no coverage is known */
void report_figure_picture(FILE *out, svg_album *album, const study_figure *f);

#endif
