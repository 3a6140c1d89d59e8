/* study_table.h - a study's cells laid out as tables, once for the terminal and the page alike.
 * A table is a choice of rows and of columns over a study_result; asking for a cell writes it. Nothing is allocated.
 */
#ifndef REPORT_STUDY_TABLE_H
#define REPORT_STUDY_TABLE_H

#include "report/report.h"

/* What stands in one place of a table: a label out of the data, or a text rounded for reading and what it rounds. */
typedef struct {
    const char *label;        /* not escaped; NULL: text */
    char text[64];            /* empty: not known */
    double value, se, lo, hi; /* NAN: not part of the text */
    bool off;                 /* a coverage whose interval excludes the nominal level; shown with a star */
} report_cell;

typedef struct report_table report_table;

typedef struct {
    const char *head, *plain; /* UTF-8, ASCII */
    bool left;                /* alignment; otherwise right */
    bool names;               /* says what the row is about */
    bool rate;                /* a coverage: may be followed by a star */
    void (*write)(const report_table *t, const study_cell *row, report_cell *out);
} report_column;

enum { REPORT_COLUMNS_MAX = 20 };

/* Which cells become rows: all; those of one part in the paper's layout; those with coverage; what both leave; and where
 * cells are asked at points of several kinds, sums over them, then each kind. */
typedef enum {
    REPORT_ROWS_ALL,
    REPORT_ROWS_PART,
    REPORT_ROWS_COVERAGE,
    REPORT_ROWS_REST,
    REPORT_ROWS_SUMS,
    REPORT_ROWS_KINDS
} report_rows;

struct report_table {
    const study_result *r;
    report_rows rows;
    int part;            /* 0 procedural, 1 data, 2 ensemble */
    char correction[24]; /* of IF, by the options that ran */
    bool utf8, narrow;   /* narrow: no blanks around ± */
    int decimals;        /* of mantissas in a part; 0: as each number needs */
    const char *title;   /* may be empty */
    int columns;
    const report_column *column[REPORT_COLUMNS_MAX];
    int constants; /* columns with one value throughout, taken out of a table that would be too wide */
    const report_column *constant[REPORT_COLUMNS_MAX];
};

bool report_study_paper(const study_result *r);       /* cells are laid out as the paper's tables 1, 3 and 4 do */
bool report_study_paper_truth(const study_result *r); /* some cell knows the truth by the paper's formula */

/* The tables of a study: index 0, 1, ... until it is false. One without rows has no columns. */
bool report_study_table(const study_result *r, bool utf8, int index, report_table *out);

const study_cell *report_table_next(const report_table *t, const study_cell *row); /* NULL: the first, or no more */
report_cell report_table_cell(const report_table *t, const study_cell *row, int column);
report_cell report_table_constant(const report_table *t, int index);
int report_table_column_width(const report_table *t, int column); /* characters, head included */
int report_cell_columns(const report_cell *c);
bool report_table_gap(const report_table *t, const study_cell *row, const study_cell *before); /* a new group starts */
bool report_table_any_off(const report_table *t);

const report_column *const *report_study_columns(const report_table *t); /* all it may have; NULL ends them */
bool report_same(const char *a, const char *b);                          /* NULL is like NULL only */

/* In a row of the paper's layout: the estimate (IF with the correction that ran), and IF as the paper prints it; or NULL. */
const study_cell *report_study_usual(const report_table *t, const study_cell *row);
const study_cell *report_study_printed(const report_table *t, const study_cell *row);

#endif
