/* window.c - the features in another file, of all its rows or one block of rows at a time: text through a window that
 * holds some complete records, arrays as a mapping of the file.
 */
#include "data/table.h"

#include <string.h>

/* Finds the column of each feature, and the number of its value in a one-hot one. */
static int match_columns(epiq_ctx *c, epiqp_table *t, ptrdiff_t d, const struct epiqp_columns *known)
{
    if (t->bare && t->columns != d) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: the array has %td column%s but the data has %td feature%s; give one column a feature",
                          t->in.name, t->columns, t->columns == 1 ? "" : "s", d, d == 1 ? "" : "s");
    }
    if (!(t->feature = epiqp_arena_alloc(c, &t->arena, d, sizeof *t->feature))) return EPIQ_E_NOMEM;
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
        if (t->column[j].role == EPIQP_SKIP && !expected[j]) epiqp_list_add(strangers, t->column[j].name);
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
        (status = match_columns(c, t, d, known))) {
        return status;
    }
    return list_strangers(c, t, known, strangers);
}

int epiqp_window_next(epiq_ctx *c, epiqp_table *t, ptrdiff_t most, double *x, ptrdiff_t *count)
{
    int status;
    t->before += t->rows;
    t->most = most;
    t->rows = 0;
    while (!(status = epiqp_table_fill(c, t)) && t->rows < most && t->in.more) {
        if ((status = epiqp_csv_more(c, t))) return status;
    }
    if (status || (status = epiqp_table_judge(c, t, false, "a row needs a value for every feature"))) return status;
    if (!t->rows && !t->before) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: there is no row to predict at; add at least one", t->in.name);
    }
    epiqp_table_features(t, x);
    *count = t->rows;
    return EPIQ_OK;
}
