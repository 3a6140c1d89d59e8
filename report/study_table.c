/* study_table.c - a study's cells laid out as tables: the paper's layout for its synthetic tables (a block a part, rows
 * by n and d, the published number beside each), and for everything else a line a cell with the columns that are known.
 */
#include "report/study_table.h"
#include "report/study_number.h"

#include <math.h>
#include <string.h>

enum { WIDTH_MAX = 110 }; /* wider tables give up the columns that say the same in every row */

static const struct {
    const char *quantity, *method, *title, *plain;
} PARTS[] = {{"procedural", "ev", "Procedural variance τ²", "Procedural variance tau^2"},
             {"data", "if", "Data variance σ²/n", "Data variance sigma^2/n"},
             {"ensemble", "ba", "Ensemble variance σ²/n + τ²/m′", "Ensemble variance sigma^2/n + tau^2/m'"}};
enum { PART_COUNT = sizeof PARTS / sizeof *PARTS };

bool report_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* ---- the paper's layout ---- */

bool report_study_paper(const study_result *r)
{
    return r->name && strncmp(r->name, "table", 5) == 0 && strcmp(r->name, "table2") != 0;
}

/* With infinitely many networks the closed form stands where EV and BA would; otherwise it is something besides. */
static int part_of(const study_result *r, const study_cell *c)
{
    bool infinite = r->options.engine == EPIQ_ENGINE_INFINITE && report_same(c->method, "infinite");
    for (int k = 0; k < PART_COUNT; k++) {
        if (report_same(c->quantity, PARTS[k].quantity) && (infinite || report_same(c->method, PARTS[k].method))) {
            return k;
        }
    }
    return -1;
}

static bool same_place(const study_cell *a, const study_cell *b)
{
    return a->n == b->n && a->d == b->d && report_same(a->set, b->set) && report_same(a->noise, b->noise);
}

bool report_study_paper_truth(const study_result *r)
{
    bool known = false;
    for (ptrdiff_t i = 0; i < r->cell_count; i++) {
        known = known || isfinite(r->cells[i].paper_truth);
    }
    return known;
}

static const study_cell *find(const study_result *r, const study_cell *row, const char *correction)
{
    for (ptrdiff_t i = 0; i < r->cell_count; i++) {
        const study_cell *c = &r->cells[i];
        if (same_place(c, row) && report_same(c->quantity, row->quantity) && report_same(c->method, row->method) &&
            (!correction || report_same(c->correction, correction))) {
            return c;
        }
    }
    return NULL;
}

/* The correction that ran, or the first there is besides "none". */
const study_cell *report_study_usual(const report_table *t, const study_cell *row)
{
    const study_result *r = t->r;
    const study_cell *c = report_same(t->correction, "none") ? NULL : find(r, row, t->correction);
    for (ptrdiff_t i = 0; !c && i < r->cell_count; i++) {
        const study_cell *other = &r->cells[i];
        bool fits = same_place(other, row) && report_same(other->quantity, row->quantity) &&
                    report_same(other->method, row->method);
        c = fits && !report_same(other->correction, "none") ? other : NULL;
    }
    return c;
}

const study_cell *report_study_printed(const report_table *t, const study_cell *row)
{
    return find(t->r, row, "none");
}

static bool placed(const report_table *t, const study_cell *c)
{
    return part_of(t->r, c) >= 0 && (report_study_usual(t, c) == c || report_study_printed(t, c) == c);
}

/* ---- tables ---- */

static bool is_row(const report_table *t, const study_cell *c)
{
    switch (t->rows) {
    case REPORT_ROWS_ALL:
        return true;
    case REPORT_ROWS_COVERAGE:
        return isfinite(c->coverage.rate) || isfinite(c->coverage90.rate);
    case REPORT_ROWS_REST:
        return !placed(t, c) && !isfinite(c->coverage.rate) && !isfinite(c->coverage90.rate);
    case REPORT_ROWS_SUMS:
        return !c->at || report_same(c->at, "all");
    case REPORT_ROWS_KINDS:
        return c->at && !report_same(c->at, "all");
    case REPORT_ROWS_PART: /* the first cell of its part at this n and d stands for all of them */
        return part_of(t->r, c) == t->part && find(t->r, c, NULL) == c;
    }
    return false;
}

const study_cell *report_table_next(const report_table *t, const study_cell *row)
{
    for (ptrdiff_t i = row ? row - t->r->cells + 1 : 0; i < t->r->cell_count; i++) {
        if (is_row(t, &t->r->cells[i])) {
            return &t->r->cells[i];
        }
    }
    return NULL;
}

static report_cell write_cell(const report_table *t, const study_cell *row, const report_column *column)
{
    report_cell cell = {.value = NAN, .se = NAN, .lo = NAN, .hi = NAN};
    column->write(t, row, &cell);
    return cell;
}

report_cell report_table_cell(const report_table *t, const study_cell *row, int column)
{
    return write_cell(t, row, t->column[column]);
}

int report_cell_columns(const report_cell *c)
{
    return report_columns(c->label ? c->label : c->text);
}

int report_table_column_width(const report_table *t, int column)
{
    const report_column *c = t->column[column];
    int width = report_columns(t->utf8 ? c->head : c->plain) - c->rate;
    for (const study_cell *row = NULL; (row = report_table_next(t, row));) {
        report_cell cell = report_table_cell(t, row, column);
        width = report_cell_columns(&cell) > width ? report_cell_columns(&cell) : width;
    }
    return width + c->rate; /* room for the star */
}

/* The row whose value all others share or lack; NULL: there is none. */
static const study_cell *constant_row(const report_table *t, const report_column *column)
{
    const study_cell *shared = NULL;
    report_cell first = {0};
    for (const study_cell *row = NULL; (row = report_table_next(t, row));) {
        report_cell cell = write_cell(t, row, column);
        if (!cell.label && !*cell.text) {
            continue;
        }
        if (shared && (!report_same(first.label, cell.label) || strcmp(first.text, cell.text) != 0)) {
            return NULL;
        }
        first = shared ? first : cell;
        shared = shared ? shared : row;
    }
    return shared;
}

static int table_width(const report_table *t)
{
    int width = -2;
    for (int k = 0; k < t->columns; k++) {
        width += report_table_column_width(t, k) + 2;
    }
    return width;
}

/* Columns known in some row. Too wide, the table gives up what is the same in all rows, then blanks around ±. */
static void choose_columns(report_table *t, const report_column *const *list)
{
    for (; *list; list++) {
        bool known = false;
        for (const study_cell *row = NULL; !known && (row = report_table_next(t, row));) {
            report_cell cell = write_cell(t, row, *list);
            known = cell.label || *cell.text;
        }
        if (known) {
            t->column[t->columns++] = *list;
        }
    }
    const study_cell *first = report_table_next(t, NULL);
    bool several = first && report_table_next(t, first);
    for (int i = 0; several && i < t->columns && table_width(t) > WIDTH_MAX;) {
        if (t->column[i]->names && constant_row(t, t->column[i])) {
            t->constant[t->constants++] = t->column[i];
            memmove(&t->column[i], &t->column[i + 1], (size_t)(t->columns - i - 1) * sizeof *t->column);
            t->columns--;
        } else {
            i++;
        }
    }
    t->narrow = table_width(t) > WIDTH_MAX;
}

report_cell report_table_constant(const report_table *t, int index)
{
    return write_cell(t, constant_row(t, t->constant[index]), t->constant[index]);
}

bool report_study_table(const study_result *r, bool utf8, int index, report_table *out)
{
    static const struct {
        report_rows rows;
        int part;
        const char *title, *plain;
    } PAPER[] = {
        {REPORT_ROWS_PART, 0, NULL, NULL},
        {REPORT_ROWS_PART, 1, NULL, NULL},
        {REPORT_ROWS_PART, 2, NULL, NULL},
        {REPORT_ROWS_COVERAGE, 0, "How often intervals cover the truth", "How often intervals cover the truth"},
        {REPORT_ROWS_REST, 0, "Other ways to estimate them", "Other ways to estimate them"}};
    static const char *const KINDS[] = {"All points of a cell together", "By the kind of point"};
    bool paper = report_study_paper(r), kinds = r->cell_count && r->cells[0].at;
    if (index >= (paper ? (int)(sizeof PAPER / sizeof *PAPER) : kinds ? 2 : 1)) {
        return false;
    }
    report_value room;
    const char *correction = report_option(&r->options, "correction", &room);
    *out = (report_table){.r = r, .utf8 = utf8, .title = ""};
    snprintf(out->correction, sizeof out->correction, "%s", correction ? correction : "");
    if (paper) {
        out->rows = PAPER[index].rows;
        out->part = PAPER[index].part;
        out->title = out->rows == REPORT_ROWS_PART ? (utf8 ? PARTS[out->part].title : PARTS[out->part].plain)
                                                   : (utf8 ? PAPER[index].title : PAPER[index].plain);
    }
    if (kinds) {
        out->rows = index ? REPORT_ROWS_KINDS : REPORT_ROWS_SUMS;
        out->title = KINDS[index];
    }
    if (out->rows == REPORT_ROWS_PART) { /* one look for the whole table: two decimals if any row needs them */
        out->decimals = 1;
        for (const study_cell *row = NULL; (row = report_table_next(out, row));) {
            out->decimals = report_decimals(row->truth, row->truth_se, out->decimals);
        }
    }
    choose_columns(out, report_study_columns(out));
    return true;
}

static bool same_group(const report_table *t, const study_cell *a, const study_cell *b)
{
    return a->n == b->n && report_same(a->set, b->set) && report_same(a->cell, b->cell) &&
           (t->rows == REPORT_ROWS_PART || a->d == b->d);
}

bool report_table_gap(const report_table *t, const study_cell *row, const study_cell *before)
{
    if (!before || same_group(t, row, before)) {
        return false;
    }
    ptrdiff_t rows = 0, groups = 0; /* groups of one row each are no groups */
    const study_cell *last = NULL;
    for (const study_cell *c = NULL; (c = report_table_next(t, c)); last = c) {
        rows++;
        groups += !last || !same_group(t, c, last);
    }
    return 3 * groups <= 2 * rows;
}

bool report_table_any_off(const report_table *t)
{
    for (const study_cell *row = NULL; (row = report_table_next(t, row));) {
        for (int k = 0; k < t->columns; k++) {
            if (report_table_cell(t, row, k).off) {
                return true;
            }
        }
    }
    return false;
}
