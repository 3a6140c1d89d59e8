/* table.c - a file as a table: its columns, and the cells of those in use, whatever the format; and the message for
 * the first cell that cannot be used.
 */
#include "data/table.h"
#include "common/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_COLUMNS = 1 << 20 }; /* a wider table is probably a mistake; the columns alone would take 200 MB */

/* ---- columns ---- */

int epiqp_table_columns(epiq_ctx *c, epiqp_table *t, ptrdiff_t count)
{
    if (count > MOST_COLUMNS) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: there are more than %d columns; keep those that matter", t->in.name,
                          MOST_COLUMNS);
    }
    epiqp_column *column = epiqp_grown(c, t->column, &t->column_room, count, sizeof *column);
    if (!column) return EPIQ_E_NOMEM;
    t->column = column;
    for (; t->columns < count; t->columns++) {
        column[t->columns] = (epiqp_column){.name = ""};
    }
    return EPIQ_OK;
}

static int check_names(epiq_ctx *c, epiqp_table *t)
{
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        const char *name = t->column[j].name;
        ptrdiff_t number = epiqp_keys_add(c, &t->names, name, (ptrdiff_t)strlen(name));
        if (number < 0) return EPIQ_E_NOMEM;
        if (!*name) {
            return epiqp_fail(c, EPIQ_E_DATA,
                              "%s: column %td of %td has no name; give it one in the header (%s it if it only numbers "
                              "the rows)",
                              t->in.name, j + 1, t->columns, t->matrix ? "or remove" : "then {--drop}");
        }
        if (number < j) {
            return epiqp_fail(c, EPIQ_E_DATA,
                              "%s: columns %td and %td are both named \"%s\"; give each a name of its own", t->in.name,
                              number + 1, j + 1, epiqp_show(name).text);
        }
    }
    return EPIQ_OK;
}

const char *epiqp_table_list(const epiqp_table *t, epiqp_list *l)
{
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        epiqp_list_add(l, t->column[j].name);
    }
    return epiqp_list_end(l);
}

epiqp_column *epiqp_table_column(epiq_ctx *c, epiqp_table *t, const char *name, const char *why)
{
    const ptrdiff_t length = (ptrdiff_t)strlen(name), number = epiqp_keys_find(&t->names, name, length);
    if (number >= 0) return &t->column[number];
    const epiqp_shown shown = epiqp_show(name);
    if (!epiqp_text_is_clean(name, length)) {
        epiqp_fail(c, EPIQ_E_DATA, "%s: the column's name \"%s\" is not UTF-8; save the file as UTF-8, and name it so",
                   t->in.name, shown.text);
        return NULL;
    }
    char near[EPIQP_SHOWN + 32] = "";
    int best = epiqp_edits_likely(shown.text) + 1;
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        const char *other = t->column[j].name;
        int distance = epiqp_edit_distance(shown.text, other);
        if (distance < best) {
            best = distance;
            snprintf(near, sizeof near, " (did you mean \"%s\"?)", epiqp_show(other).text);
        }
    }
    epiqp_fail(c, EPIQ_E_DATA, "%s: there is no column \"%s\" %s%s; the file has %s", t->in.name, shown.text, why, near,
               epiqp_table_list(t, &(epiqp_list){0}));
    return NULL;
}

/* ---- cells ---- */

int epiqp_table_row(epiq_ctx *c, epiqp_table *t)
{
    double *cell = epiqp_grown(c, t->cell, &t->cell_room, (t->rows + 1) * t->used, sizeof *cell);
    if (!cell) return EPIQ_E_NOMEM;
    t->cell = cell;
    return EPIQ_OK;
}

/* Arrays may be read column by column, so the first cell in the table is not always read first. */
static bool precedes(ptrdiff_t line, ptrdiff_t column, const epiqp_place *p)
{
    return !p->line || line < p->line || (line == p->line && column < p->column);
}

static void note(epiqp_place *first, ptrdiff_t line, ptrdiff_t j, epiqp_kind kind, const epiqp_cell *cell)
{
    if (precedes(line, j + 1, first)) {
        *first = (epiqp_place){line, j + 1, kind, epiqp_show_part(cell->text, cell->length)};
    }
}

static int put_label(epiq_ctx *c, epiqp_table *t, ptrdiff_t line, ptrdiff_t j, epiqp_cell *cell)
{
    epiqp_column *column = &t->column[j];
    if (!epiqp_text_is_clean(cell->text, cell->length)) { /* refused, since cleaning could make two labels equal */
        note(&t->wrong, line, j, EPIQP_IS_GARBLED, cell);
        cell->value = 0;
        return EPIQ_OK;
    }
    ptrdiff_t number = column->closed ? epiqp_keys_find(&column->values, cell->text, cell->length)
                                      : epiqp_keys_add(c, &column->values, cell->text, cell->length);
    if (number < 0 && !column->closed) return EPIQ_E_NOMEM;
    if (number < 0) note(&t->wrong, line, j, EPIQP_IS_UNSEEN, cell);
    if (!column->closed && column->values.count > column->most_values) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: column %s has more than %td values, too many for {--onehot}; leave it out with {--drop}",
                          t->in.name, epiqp_show(column->name).text, column->most_values);
    }
    cell->value = (double)number;
    return EPIQ_OK;
}

int epiqp_table_put(epiq_ctx *c, epiqp_table *t, ptrdiff_t line, ptrdiff_t j, epiqp_cell cell)
{
    epiqp_column *column = &t->column[j];
    int status = EPIQ_OK;
    if (cell.kind == EPIQP_IS_MISSING) {
        note(&t->gap, line, j, cell.kind, &cell);
        cell.value = NAN;
    } else if (column->role == EPIQP_LABEL) {
        status = put_label(c, t, line, j, &cell);
        column->numbers++;
    } else {
        const bool text = cell.kind == EPIQP_IS_TEXT;
        column->numbers += !text;
        if (cell.kind != EPIQP_IS_NUMBER) note(&t->wrong, line, j, cell.kind, &cell);
        if (text && !*column->first_text.text) column->first_text = epiqp_show_part(cell.text, cell.length);
    }
    t->cell[t->rows * t->used + column->slot] = cell.value;
    return status;
}

static int judge_column(epiq_ctx *c, const epiqp_table *t, const epiqp_column *column)
{
    const char *first = column->first_text.text;
    if (column->role == EPIQP_SKIP || column->numbers || !t->rows) return EPIQ_OK;
    if (!*first) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: column %s has no value in any row; %s", t->in.name,
                          epiqp_show(column->name).text,
                          column->feature ? "leave it out with {--drop}" : "name another column");
    }
    return epiqp_fail(c, EPIQ_E_DATA, "%s: column %s holds no number (its first cell is \"%s\"); %s", t->in.name,
                      epiqp_show(column->name).text, first,
                      strchr(first, ',') ? "write numbers with a decimal point and no other marks"
                      : column->feature
                          ? "leave it out with {--drop}, or turn its values into 0/1 columns with {--onehot}"
                          : "name a column of numbers with {--target}");
}

int epiqp_table_judge(epiq_ctx *c, const epiqp_table *t, bool whole, const char *missing_remedy)
{
    static const struct {
        const char *what, *remedy;
    } SAID[] = {[EPIQP_IS_MISSING] = {"a missing cell", ""},
                [EPIQP_IS_INFINITE] = {"not a finite number", "correct the cell, or remove the row"},
                [EPIQP_IS_TEXT] = {"not a number", "correct the cell"},
                [EPIQP_IS_UNSEEN] = {"a value that the data does not have", "use one of "},
                [EPIQP_IS_GARBLED] = {"not UTF-8", "save the file as UTF-8"}};
    for (ptrdiff_t j = 0; whole && j < t->columns; j++) {
        int status = judge_column(c, t, &t->column[j]);
        if (status) return status;
    }
    const bool gap = missing_remedy && t->gap.line && precedes(t->gap.line, t->gap.column, &t->wrong);
    const epiqp_place *p = gap ? &t->gap : &t->wrong;
    if (!p->line) return EPIQ_OK;
    const epiqp_column *column = &t->column[p->column - 1];
    const epiqp_shown name = epiqp_show(column->name);
    const char *shown = p->shown.text, *remedy = gap ? missing_remedy : SAID[p->kind].remedy;
    if (p->kind == EPIQP_IS_TEXT && strchr(shown, ',')) {
        remedy = "write it with a decimal point and no other marks";
    } else if (p->kind == EPIQP_IS_TEXT && column->feature) {
        remedy = "correct the cell, or leave the column out with {--drop}";
    }
    epiqp_list values = {0};
    for (ptrdiff_t v = 0; p->kind == EPIQP_IS_UNSEEN && v < column->values.count; v++) {
        epiqp_list_add(&values, epiqp_keys_text(&column->values, v));
    }
    char place[320];
    snprintf(place, sizeof place, t->lines ? "%s:%td:%td" : "%s: row %td, column %td", t->in.name, p->line, p->column);
    if (!*shown) return epiqp_fail(c, EPIQ_E_DATA, "%s: the cell is empty (column %s); %s", place, name.text, remedy);
    return epiqp_fail(c, EPIQ_E_DATA, "%s: \"%s\" is %s (column %s); %s%s", place, shown, SAID[p->kind].what, name.text,
                      remedy, epiqp_list_end(&values));
}

/* ---- the whole ---- */

epiqp_format epiqp_table_format(const epiqp_table *t)
{
    const unsigned char *b = t->in.bytes;
    if (t->in.size >= 6 && !memcmp(b, "\x93NUMPY", 6)) return EPIQP_NPY;
    return t->in.size >= 4 && (!memcmp(b, "PK\3\4", 4) || !memcmp(b, "PK\5\6", 4)) ? EPIQP_NPZ : EPIQP_TEXT;
}

int epiqp_table_begin(epiq_ctx *c, epiqp_table *t)
{
    static int (*const OPEN[])(epiq_ctx * c, epiqp_table * t) = {epiqp_csv_open, epiqp_npy_open, epiqp_npz_open};
    int status = OPEN[epiqp_table_format(t)](c, t);
    if (status || (t->matrix && t->bare)) return status;
    return check_names(c, t);
}

int epiqp_table_fill(epiq_ctx *c, epiqp_table *t)
{
    ptrdiff_t used = 0;
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        t->column[j].slot = used;
        used += t->column[j].role != EPIQP_SKIP;
    }
    t->used = used;
    return t->fill(c, t);
}

void epiqp_table_features(const epiqp_table *t, double *x)
{
    for (ptrdiff_t i = 0; i < t->rows; i++) {
        const double *cell = t->cell + i * t->used;
        for (ptrdiff_t k = 0; k < t->features; k++) {
            const epiqp_feature *f = &t->feature[k];
            double v = cell[f->column->slot];
            x[i * t->features + k] = f->code < 0 ? v : v == (double)f->code;
        }
    }
}

void epiqp_table_close(epiq_ctx *c, epiqp_table *t)
{
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        epiqp_keys_free(c, &t->column[j].values);
    }
    if (t->csv.plain) freelocale(t->csv.plain);
    epiqp_keys_free(c, &t->names);
    epiqp_free(c, t->column);
    epiqp_free(c, t->cell);
    epiqp_input_close(c, &t->in);
    epiqp_arena_free(c, &t->arena);
    *t = (epiqp_table){0};
}
