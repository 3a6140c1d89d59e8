/* table.c - a file as a table: its columns, and the cells of those in use, whatever the format; and the message for
 * the first cell that cannot be used.
 */
#include "data/table.h"
#include "common/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_COLUMNS = 1 << 20 }; /* a wider table is probably a mistake; the columns alone would take 250 MB */

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

int epiqp_table_nameless(epiq_ctx *c, const epiqp_table *t, ptrdiff_t j)
{
    return epiqp_fail(c, EPIQ_E_DATA,
                      "%s: column %td of %td has no name; give it one in the header (%s it if it only numbers "
                      "the rows)",
                      t->in.name, j + 1, t->columns, t->matrix ? "or remove" : "then {--drop}");
}

static int check_names(epiq_ctx *c, epiqp_table *t)
{
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        const char *name = t->column[j].name;
        ptrdiff_t number = epiqp_keys_add(c, &t->names, name, (ptrdiff_t)strlen(name));
        if (number < 0) return EPIQ_E_NOMEM;
        if (!*name && (j || t->matrix)) { /* the first one may number the rows: pandas and R write it so */
            return epiqp_table_nameless(c, t, j);
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
    if (epiqp_foreign_refuse_prose(c, t)) return NULL;
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
    const char *only = t->columns == 1 && !t->bare ? t->column[0].name : "";
    epiqp_fail(c, EPIQ_E_DATA, "%s: there is no column \"%s\" %s%s; the file has %s%s", t->in.name, shown.text, why,
               near, epiqp_table_list(t, &(epiqp_list){0}),
               *only == '#'        ? ": remove lines before the header"
               : strchr(only, ' ') ? ": separate the cells by commas, not by spaces"
                                   : "");
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

int epiqp_table_missing(epiq_ctx *c, epiqp_table *t, const char *list)
{
    int status = list ? epiqp_csv_names(c, "{--na}", list, &t->na.texts) : EPIQ_OK;
    if (status || !list) return status;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    t->na.value = epiqp_arena_alloc(c, &t->arena, t->na.texts.count, sizeof *t->na.value);
    for (ptrdiff_t k = 0; plain && t->na.value && k < t->na.texts.count; k++) {
        const char *text = epiqp_keys_text(&t->na.texts, k);
        const epiqp_cell cell = epiqp_cell_number(text, (ptrdiff_t)strlen(text), plain);
        if (cell.kind == EPIQP_IS_NUMBER) t->na.value[t->na.values++] = cell.value;
    }
    if (plain) freelocale(plain);
    if (!plain) return epiqp_fail(c, EPIQ_E_NOMEM, "no memory for the C locale");
    return t->na.value ? EPIQ_OK : EPIQ_E_NOMEM;
}

static bool means_missing(const epiqp_table *t, const epiqp_cell *cell)
{
    if (cell->kind != EPIQP_IS_NUMBER) return epiqp_keys_find(&t->na.texts, cell->text, cell->length) >= 0;
    ptrdiff_t k = 0;
    while (k < t->na.values && t->na.value[k] != cell->value) {
        k++;
    }
    return k < t->na.values;
}

/* A number freed of its marks. All of a column must have the same unit, or none; those of points that of the data, or none. */
static void put_marked(epiqp_table *t, ptrdiff_t line, ptrdiff_t j, const epiqp_cell *cell, const char *unit)
{
    epiqp_column *column = &t->column[j];
    const bool comma = t->csv.delimiter == ';' && memchr(cell->text, ',', (size_t)cell->length);
    if (comma) note(&t->comma, line, j, EPIQP_IS_OTHER_NOTATION, cell);
    if (unit && (column->unit ? strcmp(column->unit, unit) != 0 : !t->whole && !column->any_unit)) {
        note(&t->wrong, line, j, EPIQP_IS_OTHER_UNIT, cell);
    } else if (unit) {
        column->unit = unit;
    }
    column->units += unit != NULL;
    if (!t->mark.line) t->mark_value = cell->value;
    note(&t->mark, line, j, cell->kind, cell);
    column->numbers++;
    column->marked++;
}

/* A text in a column of numbers. If all of the column are texts, its cells are the numbers of their values, as those of
 * a label column are; what becomes of it is decided when all have been read. */
static int put_text(epiq_ctx *c, epiqp_table *t, ptrdiff_t line, ptrdiff_t j, epiqp_cell *cell)
{
    epiqp_column *column = &t->column[j];
    const char *unit;
    const int truth = t->matrix || t->whole ? -1 : epiqp_truth(cell->text, cell->length);
    if (!t->matrix && epiqp_cell_marked(cell, t->csv.delimiter, t->csv.plain, &unit)) {
        put_marked(t, line, j, cell, unit);
    } else if (truth >= 0) {
        cell->value = truth;
        column->numbers++;
    } else if (!t->whole) {
        note(&t->wrong, line, j, cell->kind, cell);
    } else {
        note(&t->text[j], line, j, cell->kind, cell);
        column->texts++;
        if (column->numbers || column->values.count > column->most_values) return EPIQ_OK;
        if (!epiqp_text_is_clean(cell->text, cell->length)) note(&t->wrong, line, j, EPIQP_IS_GARBLED, cell);
        const ptrdiff_t number = epiqp_keys_add(c, &column->values, cell->text, cell->length);
        cell->value = (double)number;
        return number < 0 ? EPIQ_E_NOMEM : EPIQ_OK;
    }
    return EPIQ_OK;
}

int epiqp_table_put(epiq_ctx *c, epiqp_table *t, ptrdiff_t line, ptrdiff_t j, epiqp_cell cell)
{
    epiqp_column *column = &t->column[j];
    int status = EPIQ_OK;
    if (t->na.texts.count && means_missing(t, &cell)) cell.kind = EPIQP_IS_MISSING;
    if (cell.kind == EPIQP_IS_MISSING) {
        note(&t->gap, line, j, cell.kind, &cell);
        cell.value = NAN;
    } else if (column->role == EPIQP_LABEL) {
        status = put_label(c, t, line, j, &cell);
        column->numbers++;
    } else if (cell.kind == EPIQP_IS_TEXT) {
        status = put_text(c, t, line, j, &cell);
    } else {
        column->numbers++;
        if (cell.kind != EPIQP_IS_NUMBER) note(&t->wrong, line, j, cell.kind, &cell);
        if (t->csv.delimiter == ';' && !t->point.line && memchr(cell.text, '.', (size_t)cell.length)) {
            note(&t->point, line, j, EPIQP_IS_OTHER_NOTATION, &cell);
        }
    }
    t->cell[t->rows * t->used + column->slot] = cell.value;
    return status;
}

int epiqp_table_copy(epiq_ctx *c, epiqp_table *t, ptrdiff_t j, const char *text, ptrdiff_t length)
{
    const ptrdiff_t place = t->copied.place[j];
    if (place < 0) return EPIQ_OK;
    ptrdiff_t *start =
        epiqp_grown(c, t->copied.start, &t->copied.starts, (t->rows + 1) * t->copied.count, sizeof *start);
    if (!start) return EPIQ_E_NOMEM;
    t->copied.start = start;
    char *grown = epiqp_grown(c, t->copied.text, &t->copied.room, t->copied.size + length + 1, 1);
    if (!grown) return EPIQ_E_NOMEM;
    t->copied.text = grown;
    start[t->rows * t->copied.count + place] = t->copied.size;
    memcpy(grown + t->copied.size, text, (size_t)length);
    grown[t->copied.size + length] = '\0';
    t->copied.size += length + 1;
    return EPIQ_OK;
}

static int judge_column(epiq_ctx *c, const epiqp_table *t, const epiqp_column *column)
{
    if (column->role == EPIQP_SKIP || column->numbers || !t->rows) return EPIQ_OK;
    return epiqp_fail(c, EPIQ_E_DATA, "%s: column %s has no value in any row; %s", t->in.name,
                      epiqp_show(column->name).text,
                      column->feature ? "leave it out with {--drop}" : "name another column");
}

/* The first cell that cannot be used, texts among numbers included. */
static epiqp_place first_wrong(const epiqp_table *t)
{
    epiqp_place first = t->wrong;
    for (ptrdiff_t j = 0; t->text && j < t->columns; j++) {
        const epiqp_place *p = &t->text[j];
        if (t->column[j].texts && p->line && precedes(p->line, p->column, &first)) first = *p;
    }
    if (t->comma.line && t->point.line) { /* the later of the two contradicts what came before */
        const bool comma = precedes(t->point.line, t->point.column, &t->comma);
        const epiqp_place *p = comma ? &t->comma : &t->point;
        if (precedes(p->line, p->column, &first)) first = *p;
    }
    return first;
}

int epiqp_table_judge(epiq_ctx *c, const epiqp_table *t, bool whole, const char *missing_remedy)
{
    static const struct {
        const char *what, *remedy;
    } SAID[] = {
        [EPIQP_IS_MISSING] = {"a missing cell", ""},
        [EPIQP_IS_INFINITE] = {"not a finite number", "correct the cell, or remove the row"},
        [EPIQP_IS_TEXT] = {"not a number", "correct the cell"},
        [EPIQP_IS_UNSEEN] = {"a value that the data does not have", "use one of "},
        [EPIQP_IS_GARBLED] = {"not UTF-8", "save the file as UTF-8"},
        [EPIQP_IS_OTHER_UNIT] = {"in another unit than the rest of the data", "write the whole column in one unit"},
        [EPIQP_IS_OTHER_NOTATION] = {"written otherwise than numbers before it",
                                     "write all with a decimal comma, or all with a point"}};
    for (ptrdiff_t j = 0; whole && j < t->columns; j++) {
        int status = judge_column(c, t, &t->column[j]);
        if (status) return status;
    }
    const epiqp_place wrong = first_wrong(t);
    const bool gap = missing_remedy && t->gap.line && precedes(t->gap.line, t->gap.column, &wrong);
    const epiqp_place *p = gap ? &t->gap : &wrong;
    if (!p->line) return EPIQ_OK;
    const epiqp_column *column = &t->column[p->column - 1];
    const epiqp_shown name = epiqp_show(column->name);
    const char *shown = p->shown.text, *remedy = gap ? missing_remedy : SAID[p->kind].remedy;
    if (p->kind == EPIQP_IS_TEXT && strchr(shown, ',')) {
        remedy = "write it with a decimal point and no other marks";
    } else if (p->kind == EPIQP_IS_TEXT && column->feature) {
        remedy = "correct the cell, leave the column out with {--drop}, or name what means a missing cell with {--na}";
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
    if (t->whole && !(t->text = epiqp_arena_alloc(c, &t->arena, t->columns, sizeof *t->text))) return EPIQ_E_NOMEM;
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
    epiqp_keys_free(c, &t->na.texts);
    epiqp_free(c, t->column);
    epiqp_free(c, t->cell);
    epiqp_free(c, t->copied.text);
    epiqp_free(c, t->copied.start);
    epiqp_input_close(c, &t->in);
    epiqp_arena_free(c, &t->arena);
    *t = (epiqp_table){0};
}
