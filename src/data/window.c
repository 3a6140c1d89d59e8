/* window.c - the features in another file, of all its rows or one block of rows at a time: text through a window that
 * holds some complete records, arrays as a mapping of the file.
 */
#include "data/table.h"

#include <math.h>
#include <string.h>

/* Finds the column of each feature, and the number of its value in a one-hot one. */
static int match_columns(epiq_ctx *c, epiqp_table *t, ptrdiff_t d, const struct epiqp_columns *known)
{
    if (t->bare && t->columns != d) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: the array has %td column%s but the data has %td feature%s; give one column per feature",
                          t->in.name, t->columns, t->columns == 1 ? "" : "s", d, d == 1 ? "" : "s");
    }
    if (!(t->feature = epiqp_arena_alloc(c, &t->arena, d + 1, sizeof *t->feature))) return EPIQ_E_NOMEM;
    t->features = d;
    for (ptrdiff_t k = 0; k < d; k++) {
        const char *source = known->source[k], *value = known->value[k];
        epiqp_column *column =
            t->bare ? &t->column[k] : epiqp_table_column(c, t, source, "among the points, a feature of the data");
        if (!column) return EPIQ_E_DATA;
        const bool label = value && !t->bare;
        const ptrdiff_t code = label ? epiqp_keys_add(c, &column->values, value, (ptrdiff_t)strlen(value)) : -1;
        if (label && code < 0) return EPIQ_E_NOMEM;
        column->name = source; /* also for a file without names */
        column->role = label ? EPIQP_LABEL : EPIQP_NUMBER;
        column->closed = label;
        column->unit = known->unit ? known->unit[k] : NULL;
        t->feature[k] = (epiqp_feature){column, code};
    }
    return EPIQ_OK;
}

/* Rows with a target have it behind their features. */
static int match_target(epiq_ctx *c, epiqp_table *t, const char *name)
{
    if (t->bare) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: an array has no names by which the target %s would be found; give a CSV file, or NPZ",
                          t->in.name, epiqp_show(name).text);
    }
    epiqp_column *column = epiqp_table_column(c, t, name, "among the rows, the target of the data");
    if (!column) return EPIQ_E_DATA;
    if (column->role != EPIQP_SKIP) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: column %s is a feature of the data too; fit again", t->in.name,
                          epiqp_show(name).text);
    }
    column->role = EPIQP_NUMBER;
    column->any_unit = true;
    t->feature[t->features++] = (epiqp_feature){column, -1};
    return EPIQ_OK;
}

/* Columns to be kept as they are written, features among them or not. */
static int match_copied(epiq_ctx *c, epiqp_table *t, const char *list)
{
    epiqp_keys names = {0};
    if (!t->lines) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: {--copy} takes columns of a CSV file, and this is an array; leave it out", t->in.name);
    }
    int status = epiqp_csv_names(c, "{--copy}", list, &names);
    t->copied.place = epiqp_arena_alloc(c, &t->arena, t->columns, sizeof *t->copied.place);
    t->copied.name = epiqp_arena_alloc(c, &t->arena, names.count, sizeof *t->copied.name);
    if (!status && (!t->copied.place || !t->copied.name)) status = EPIQ_E_NOMEM;
    for (ptrdiff_t j = 0; !status && j < t->columns; j++) {
        t->copied.place[j] = -1;
    }
    for (ptrdiff_t k = 0; !status && k < names.count; k++) {
        const epiqp_column *column = epiqp_table_column(c, t, epiqp_keys_text(&names, k), "for {--copy}");
        status = column ? EPIQ_OK : EPIQ_E_DATA;
        if (!column) break;
        t->copied.place[column - t->column] = t->copied.count;
        t->copied.name[t->copied.count++] = column->name;
    }
    epiqp_keys_free(c, &names);
    return status;
}

/* The columns that the data does not have, but for one that numbers the rows. */
static int list_strangers(epiq_ctx *c, epiqp_table *t, const struct epiqp_columns *known, epiqp_list *strangers)
{
    if (t->bare || known->any) return EPIQ_OK;
    bool *expected = epiqp_arena_alloc(c, &t->arena, t->columns, sizeof *expected);
    if (!expected) return EPIQ_E_NOMEM;
    for (ptrdiff_t k = 0; k < known->count; k++) {
        const ptrdiff_t j = epiqp_keys_find(&t->names, known->name[k], (ptrdiff_t)strlen(known->name[k]));
        if (j >= 0) expected[j] = true;
    }
    expected[0] = expected[0] || !*t->column[0].name || strcmp(t->column[0].name, EPIQP_UNNAMED) == 0;
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        const bool copied = t->copied.count && t->copied.place[j] >= 0;
        if (t->column[j].role == EPIQP_SKIP && !expected[j] && !copied) epiqp_list_add(strangers, t->column[j].name);
    }
    return EPIQ_OK;
}

int epiqp_window_open(epiq_ctx *c, const char *path, ptrdiff_t d, const struct epiqp_columns *known, bool blocks,
                      epiqp_table *t, epiqp_list *strangers)
{
    *t = (epiqp_table){0};
    int status = epiqp_input_open(c, path, &t->in);
    if (status) return status;
    if (!blocks) {
        status = epiqp_input_read_all(c, &t->in);
    } else if (!(status = epiqp_input_read(c, &t->in, EPIQP_FORMAT_BYTES))) {
        status = epiqp_table_format(t) == EPIQP_TEXT ? epiqp_csv_more(c, t) : epiqp_input_map(c, &t->in);
    }
    if (status || (status = epiqp_table_begin(c, t)) || (status = epiqp_table_missing(c, t, known->na)) ||
        (status = match_columns(c, t, d, known)) || (known->target && (status = match_target(c, t, known->target))) ||
        (known->copy && (status = match_copied(c, t, known->copy)))) {
        return status;
    }
    return list_strangers(c, t, known, strangers);
}

/* A row that lacks a cell has no number at all. */
static void blank_gaps(const epiqp_table *t, double *x)
{
    for (ptrdiff_t i = 0; i < t->rows; i++) {
        bool gap = false;
        for (ptrdiff_t k = 0; k < t->features; k++) {
            gap = gap || isnan(t->cell[i * t->used + t->feature[k].column->slot]);
        }
        for (ptrdiff_t k = 0; gap && k < t->features; k++) {
            x[i * t->features + k] = NAN;
        }
    }
}

int epiqp_window_next(epiq_ctx *c, epiqp_table *t, ptrdiff_t most, double *x, ptrdiff_t *count)
{
    int status;
    t->before += t->rows;
    t->most = most;
    t->rows = 0;
    t->copied.size = 0;
    while (!(status = epiqp_table_fill(c, t)) && t->rows < most && t->in.more) {
        if ((status = epiqp_csv_more(c, t))) return status;
    }
    const bool target = t->feature[t->features - 1].column->any_unit;
    const char *needs =
        target ? "a row needs the target and a value for every feature; {--missing} drop leaves such rows out"
               : "a row needs a value for every feature; {--missing} drop leaves its line without numbers";
    if (status || (status = epiqp_table_judge(c, t, false, t->gaps ? NULL : needs))) return status;
    if (!t->rows && !t->before) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: there is no row to predict at; add at least one", t->in.name);
    }
    epiqp_table_features(t, x);
    if (t->gaps && t->gap.line) blank_gaps(t, x);
    *count = t->rows;
    return EPIQ_OK;
}
