/* study_table.h - a study's cells laid out as tables, once for the terminal and the page alike.
 * A table is a choice of rows and of columns over a study_result; asking for a cell writes it. Nothing is allocated.
 */
#ifndef REPORT_STUDY_TABLE_H
#define REPORT_STUDY_TABLE_H

#include "report/doc.h"
#include "study/study.h"

typedef struct layout layout;
typedef struct layout_column layout_column;

/* Of which cell a column shows a member: the row's own, or in the paper's layout, where a row represents all cells of its part at
 * one n and d, the usual one (IF with the correction that ran), the one that is printed, or the one with a published value. */
typedef enum { FROM_ROW, FROM_USUAL, FROM_PRINTED, FROM_PUBLISHED } layout_source;
struct layout_column {
    const char *head;
    int lists;         /* the tables that have it */
    const char *plain; /* the head in ASCII; NULL: as it is */
    int align;         /* DOC_LEFT, DOC_NAME */
    void (*write)(const layout *t, const layout_column *c, const study_cell *row, doc_cell *out);
    size_t at;                                                        /* offset of the member */
    enum { LOOK_PLAIN, LOOK_HINT, LOOK_COMPACT, LOOK_BRACKETS } look; /* LOOK_HINT: the error only when pointed at */
    layout_source from;
    bool star; /* a coverage: may be followed by a star */
};

enum { LAYOUT_COLUMNS = 20 };

/* Which cells become rows: all; those of one part in the paper's layout; those with coverage; what both leave; and where
 * cells are asked at points of several kinds, sums over them, then each kind. */
typedef enum { ROWS_ALL, ROWS_PART, ROWS_COVERAGE, ROWS_REST, ROWS_SUMS, ROWS_KINDS } layout_rows;

struct layout {
    const study_result *r;
    layout_rows rows;
    int part;            /* 0 procedural, 1 data, 2 ensemble */
    char correction[24]; /* of IF, by the options that ran */
    bool utf8, narrow;   /* narrow: no blanks around ± */
    int decimals;        /* of mantissas in a part; 0: as each number needs */
    const char *title;   /* may be empty */
    int columns;
    const layout_column *column[LAYOUT_COLUMNS];
    int constants; /* columns with one value throughout, taken out of a table that would be too wide */
    const layout_column *constant[LAYOUT_COLUMNS];
};

bool follows_paper(const study_result *r);   /* cells are laid out as the paper's tables 1, 3 and 4 do */
bool has_paper_truth(const study_result *r); /* some cell knows the truth by the paper's formula */

/* The tables of a study: index 0, 1, ... until it is false. One without rows has no columns. */
bool study_layout(const study_result *r, bool utf8, int index, layout *out);

const study_cell *layout_next(const layout *t, const study_cell *row); /* NULL: the first, or no more */
doc_cell layout_cell(const layout *t, const study_cell *row, const layout_column *c);
doc_cell layout_constant(const layout *t, int index);
int layout_width(const layout *t, int column);                                     /* characters, head included */
bool layout_gap(const layout *t, const study_cell *row, const study_cell *before); /* a new group starts */

extern const layout_column LAYOUT_CHOICES[];         /* all there are, then one without a head */
int layout_list(const layout *t);                    /* of which table it is, a bit of column.lists */
bool same_text(const char *a, const char *b);        /* NULL is like NULL only */
int needed_decimals(double v, double se, int usual); /* of v: two where the error would be nothing otherwise */
/* Members of a cell by their offset. */
study_number layout_number(const study_cell *row, size_t offset);
ptrdiff_t layout_count(const study_cell *row, size_t offset);
const char *layout_text(const study_cell *row, size_t offset);
const study_cell *layout_source_cell(const layout *t, const study_cell *row, layout_source from); /* or NULL */

/* ---- what the page draws ---- */

void draw_part(doc *d, const layout *t);            /* of ROWS_PART: a panel for every n */
void draw_coverages(doc *d, const study_result *r); /* nothing where no coverage is known */
void draw_study_figure(doc *d, const study_figure *f);

#endif
