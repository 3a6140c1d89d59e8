/* study_table.c - a study's cells laid out as tables: the paper's layout for its synthetic tables (a block a part, rows
 * by n and d, the published number beside each), and for everything else one line per cell with the columns that are known.
 */
#include "report/study_table.h"
#include "report/format.h"

#include <math.h>
#include <string.h>

enum { WIDTH_MAX = 110 }; /* wider tables give up the columns that say the same in every row */

static const struct {
    const char *quantity, *method, *title, *plain;
} PARTS[] = {{"procedural", "ev", "Procedural variance τ²", "Procedural variance tau^2"},
             {"data", "if", "Data variance σ²/n", "Data variance sigma^2/n"},
             {"ensemble", "ba", "Ensemble variance σ²/n + τ²/m′", "Ensemble variance sigma^2/n + tau^2/m'"}};
enum { PART_COUNT = sizeof PARTS / sizeof *PARTS };

bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* ---- the paper's layout ---- */

bool follows_paper(const study_result *r)
{
    return r->name && strncmp(r->name, "table", 5) == 0 && strcmp(r->name, "table2") != 0;
}

/* With the engine infinite the closed form takes the place of EV and BA; otherwise it is something besides. */
static int part_of(const study_result *r, const study_cell *c)
{
    bool infinite = r->options.engine == EPIQ_ENGINE_INFINITE && same_text(c->method, "infinite");
    for (int k = 0; k < PART_COUNT; k++) {
        if (same_text(c->quantity, PARTS[k].quantity) && (infinite || same_text(c->method, PARTS[k].method))) return k;
    }
    return -1;
}

static bool same_place(const study_cell *a, const study_cell *b)
{
    return a->n == b->n && a->d == b->d && same_text(a->set, b->set) && same_text(a->noise, b->noise);
}

bool has_paper_truth(const study_result *r)
{
    bool known = false;
    for (ptrdiff_t i = 0; i < r->cell_count; i++) {
        known = known || isfinite(r->cells[i].paper_truth.value);
    }
    return known;
}

/* The first cell like this row whose correction is the one named, or is not; NULL: any. */
static const study_cell *find(const study_result *r, const study_cell *row, const char *correction, bool equal)
{
    for (ptrdiff_t i = 0; i < r->cell_count; i++) {
        const study_cell *c = &r->cells[i];
        if (same_place(c, row) && same_text(c->quantity, row->quantity) && same_text(c->method, row->method) &&
            (!correction || same_text(c->correction, correction) == equal)) {
            return c;
        }
    }
    return NULL;
}

/* The correction that ran, or the first there is besides "none". */
static const study_cell *usual_cell(const layout *t, const study_cell *row)
{
    const study_cell *c = same_text(t->correction, "none") ? NULL : find(t->r, row, t->correction, true);
    return c ? c : find(t->r, row, "none", false);
}

/* IF as the paper prints it. */
static const study_cell *printed_cell(const layout *t, const study_cell *row)
{
    return find(t->r, row, "none", true);
}

const study_cell *layout_source_cell(const layout *t, const study_cell *row, layout_source from)
{
    const study_cell *printed = from == FROM_PRINTED || from == FROM_PUBLISHED ? printed_cell(t, row) : NULL;
    if (from == FROM_ROW) return row;
    return from == FROM_PRINTED || (printed && isfinite(printed->published.value)) ? printed : usual_cell(t, row);
}

static bool placed(const layout *t, const study_cell *c)
{
    return part_of(t->r, c) >= 0 && (usual_cell(t, c) == c || printed_cell(t, c) == c);
}

/* ---- tables ---- */

static bool is_row(const layout *t, const study_cell *c)
{
    switch (t->rows) {
    case ROWS_ALL:
        return true;
    case ROWS_COVERAGE:
        return isfinite(c->coverage.rate) || isfinite(c->coverage90.rate);
    case ROWS_REST:
        return !placed(t, c) && !isfinite(c->coverage.rate) && !isfinite(c->coverage90.rate);
    case ROWS_SUMS:
        return !c->at || same_text(c->at, "all");
    case ROWS_KINDS:
        return c->at && !same_text(c->at, "all");
    case ROWS_PART: /* the first cell of its part at this n and d represents all of them */
        return part_of(t->r, c) == t->part && find(t->r, c, NULL, true) == c;
    }
    return false;
}

const study_cell *layout_next(const layout *t, const study_cell *row)
{
    for (ptrdiff_t i = row ? row - t->r->cells + 1 : 0; i < t->r->cell_count; i++) {
        if (is_row(t, &t->r->cells[i])) return &t->r->cells[i];
    }
    return NULL;
}

static const char *words_of(const doc_cell *c)
{
    return c->text ? c->text : c->words;
}

int layout_width(const layout *t, int column)
{
    const layout_column *c = t->column[column];
    int width = text_width(!t->utf8 && c->plain ? c->plain : c->head) - c->star;
    for (const study_cell *row = NULL; (row = layout_next(t, row));) {
        const doc_cell cell = layout_cell(t, row, c);
        width = text_width(words_of(&cell)) > width ? text_width(words_of(&cell)) : width;
    }
    return width + c->star; /* room for the star */
}

/* The row whose value all others share or lack; NULL: there is none. */
static const study_cell *constant_row(const layout *t, const layout_column *column)
{
    const study_cell *shared = NULL;
    doc_cell first = {0};
    for (const study_cell *row = NULL; (row = layout_next(t, row));) {
        const doc_cell cell = layout_cell(t, row, column);
        if (!*words_of(&cell)) continue;
        if (shared && strcmp(words_of(&first), words_of(&cell)) != 0) return NULL;
        first = shared ? first : cell;
        shared = shared ? shared : row;
    }
    return shared;
}

static int table_width(const layout *t)
{
    int width = -2;
    for (int k = 0; k < t->columns; k++) {
        width += layout_width(t, k) + 2;
    }
    return width;
}

/* Columns known in some row. Too wide, the table gives up what is the same in all rows, then blanks around ±. */
static void choose_columns(layout *t)
{
    for (const layout_column *c = LAYOUT_CHOICES; c->head; c++) {
        bool known = false;
        for (const study_cell *row = NULL; c->lists & layout_list(t) && !known && (row = layout_next(t, row));) {
            const doc_cell cell = layout_cell(t, row, c);
            known = *words_of(&cell);
        }
        if (known) t->column[t->columns++] = c;
    }
    const study_cell *first = layout_next(t, NULL);
    bool several = first && layout_next(t, first);
    for (int i = 0; several && i < t->columns && table_width(t) > WIDTH_MAX;) {
        if (t->column[i]->align & DOC_NAME && constant_row(t, t->column[i])) {
            t->constant[t->constants++] = t->column[i];
            memmove(&t->column[i], &t->column[i + 1], (size_t)(t->columns - i - 1) * sizeof *t->column);
            t->columns--;
        } else {
            i++;
        }
    }
    t->narrow = table_width(t) > WIDTH_MAX;
}

doc_cell layout_constant(const layout *t, int index)
{
    return layout_cell(t, constant_row(t, t->constant[index]), t->constant[index]);
}

bool study_layout(const study_result *r, bool utf8, int index, layout *out)
{
    enum { PAPER_TABLES = PART_COUNT + 2 };
    bool paper = follows_paper(r), kinds = r->cell_count && r->cells[0].at;
    if (index >= (paper ? PAPER_TABLES : kinds ? 2 : 1)) return false;
    option_buffer room;
    const char *correction = option_text(&r->options, "correction", &room);
    *out = (layout){.r = r, .utf8 = utf8, .title = ""};
    snprintf(out->correction, sizeof out->correction, "%s", correction ? correction : "");
    if (paper && index < PART_COUNT) {
        out->rows = ROWS_PART;
        out->part = index;
        out->title = utf8 ? PARTS[index].title : PARTS[index].plain;
    } else if (paper) {
        out->rows = index == PART_COUNT ? ROWS_COVERAGE : ROWS_REST;
        out->title = index == PART_COUNT ? "How often intervals cover the truth" : "Other ways to estimate them";
    }
    if (kinds) {
        out->rows = index ? ROWS_KINDS : ROWS_SUMS;
        out->title = index ? "By the kind of point" : "All points of a cell together";
    }
    if (out->rows == ROWS_PART) { /* one look for the whole table: two decimals if any row needs them */
        out->decimals = 1;
        for (const study_cell *row = NULL; (row = layout_next(out, row));) {
            out->decimals = needed_decimals(row->truth.value, row->truth.se, out->decimals);
        }
    }
    choose_columns(out);
    return true;
}

static bool same_group(const layout *t, const study_cell *a, const study_cell *b)
{
    return a->n == b->n && same_text(a->set, b->set) && same_text(a->cell, b->cell) &&
           (t->rows == ROWS_PART || a->d == b->d);
}

bool layout_gap(const layout *t, const study_cell *row, const study_cell *before)
{
    if (!before || same_group(t, row, before)) return false;
    ptrdiff_t rows = 0, groups = 0; /* groups of one row each are no groups */
    const study_cell *last = NULL;
    for (const study_cell *c = NULL; (c = layout_next(t, c)); last = c) {
        rows++;
        groups += !last || !same_group(t, c, last);
    }
    return 3 * groups <= 2 * rows;
}
