/* points.c - where to ask: the mean, a row of the data, rows of another file or of memory, in the data's own columns
 * and scaling.
 */
#include "data/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int epiq_points_new(epiq_ctx *c, const epiq_data *data, epiq_points **out)
{
    epiqp_clear(c);
    *out = epiqp_alloc(c, 1, sizeof **out);
    if (!*out) {
        return EPIQ_E_NOMEM;
    }
    **out = (epiq_points){.data = data};
    return EPIQ_OK;
}

ptrdiff_t epiq_points_count(const epiq_points *p)
{
    return p->count;
}

void epiq_points_free(epiq_ctx *c, epiq_points *p)
{
    if (p) {
        epiqp_free(c, p->x);
        epiqp_free(c, p->at);
        epiqp_arena_free(c, &p->arena);
        epiqp_free(c, p);
    }
}

/* The sizes multiply without overflow: the data has as many columns, and `more` points lie in memory as given. */
static int make_room(epiq_ctx *c, epiq_points *p, ptrdiff_t more)
{
    ptrdiff_t room = p->room * p->data->d, labels = p->room;
    double *x = epiqp_grown(c, p->x, &room, (p->count + more) * p->data->d, sizeof *x);
    p->x = x ? x : p->x;
    const char **at = x ? epiqp_grown(c, p->at, &labels, p->count + more, sizeof *at) : NULL;
    p->at = at ? at : p->at;
    p->room = at ? labels : p->room;
    return at ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* Points as given, labelled with the text, or with the text and their number. */
static int add(epiq_ctx *c, epiq_points *p, ptrdiff_t count, const double *given, const char *text, bool numbered)
{
    const epiq_data *data = p->data;
    const ptrdiff_t d = data->d, width = (ptrdiff_t)strlen(text) + 24;
    if (make_room(c, p, count)) {
        return EPIQ_E_NOMEM;
    }
    char *labels = epiqp_arena_alloc(c, &p->arena, count, (size_t)width);
    if (!labels) {
        return EPIQ_E_NOMEM;
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        char *label = labels + i * width;
        snprintf(label, (size_t)width, numbered ? "%s%td" : "%s", text, i + 1);
        p->at[p->count + i] = label;
        for (ptrdiff_t j = 0; j < d; j++) {
            double v = epiqp_scaled(given[i * d + j], data->shift[j], data->factor[j]);
            if (!isfinite(v)) {
                char name[EPIQP_SHOWN], at[256];
                epiqp_text_show(at, sizeof at, label, (ptrdiff_t)strlen(label));
                return epiqp_fail(
                    c, EPIQ_E_DATA, "point %s: %s = %g is too far from the data to be scaled; give a nearer one", at,
                    epiqp_text_show(name, sizeof name, data->feature[j], (ptrdiff_t)strlen(data->feature[j])),
                    given[i * d + j]);
            }
            p->x[(p->count + i) * d + j] = v;
        }
    }
    p->count += count;
    return EPIQ_OK;
}

/* text: what follows "row:" */
static int add_row(epiq_ctx *c, epiq_points *p, const char *where, const char *text)
{
    const epiq_data *data = p->data;
    const ptrdiff_t all = data->n + data->dropped;
    ptrdiff_t row = 0;
    const char *s = text;
    for (; *s >= '0' && *s <= '9'; s++) {
        row = row > all ? row : 10 * row + (*s - '0'); /* past the last is far enough */
    }
    if (s == text || *s || row < 1) {
        char shown[EPIQP_SHOWN];
        return epiqp_fail(c, EPIQ_E_USAGE, "\"%s\" is not a row; write row:1 for the first",
                          epiqp_text_show(shown, sizeof shown, where, (ptrdiff_t)strlen(where)));
    }
    ptrdiff_t lo = 0, hi = data->n; /* the first row not before it */
    while (lo < hi) {
        ptrdiff_t middle = lo + (hi - lo) / 2;
        if (data->row[middle] < row) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    if (row > all) {
        return epiqp_fail(c, EPIQ_E_DATA, "there is no row %.20s; the data has rows 1 to %td", text, all);
    }
    if (lo == data->n || data->row[lo] != row) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "row %td was left out because a cell is missing; name another of rows 1 to %td", row, all);
    }
    char label[32];
    snprintf(label, sizeof label, "row:%td", row);
    return add(c, p, 1, data->x_given + lo * data->d, label, false);
}

/* ---- from a file ---- */

/* Columns that the data's file did not have are more likely a wrong file than an oversight. */
static int refuse_strangers(epiq_ctx *c, const epiqp_table *t, const struct epiqp_columns *known)
{
    epiqp_keys names = {0};
    epiqp_list strangers = {0};
    int status = EPIQ_OK;
    for (ptrdiff_t j = 0; j < known->count && !status; j++) {
        status =
            epiqp_keys_add(c, &names, known->name[j], (ptrdiff_t)strlen(known->name[j])) < 0 ? EPIQ_E_NOMEM : EPIQ_OK;
    }
    for (ptrdiff_t j = 0; j < t->columns && !status; j++) {
        const char *name = t->column[j].name;
        if (epiqp_keys_find(&names, name, (ptrdiff_t)strlen(name)) < 0) {
            epiqp_list_add(&strangers, name, (ptrdiff_t)strlen(name));
        }
    }
    epiqp_keys_free(c, &names);
    if (!status && strangers.count) {
        status = epiqp_fail(c, EPIQ_E_DATA, "%s: the data has no column %s; remove %s from the file", t->file,
                            epiqp_list_end(&strangers), strangers.count == 1 ? "it" : "them");
    }
    return status;
}

int epiqp_columns_match(epiq_ctx *c, epiqp_table *t, ptrdiff_t d, const struct epiqp_columns *known,
                        epiqp_column **from, ptrdiff_t *code)
{
    if (t->bare && t->columns != d) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: the array has %td column%s but the data has %td feature%s; give one column a feature",
                          t->file, t->columns, t->columns == 1 ? "" : "s", d, d == 1 ? "" : "s");
    }
    for (ptrdiff_t k = 0; k < d; k++) {
        const char *source = known->source[k], *value = known->value[k];
        code[k] = -1;
        from[k] = t->bare ? &t->column[k]
                          : epiqp_table_column(c, t, source, (ptrdiff_t)strlen(source),
                                               "among the points, a feature of the data");
        if (!from[k]) {
            return EPIQ_E_DATA;
        }
        from[k]->name = source; /* also where the file has none */
        from[k]->role = value && !t->bare ? EPIQP_LABEL : EPIQP_NUMBER;
        if (from[k]->role == EPIQP_LABEL) {
            from[k]->closed = true;
            code[k] = epiqp_keys_add(c, &from[k]->values, value, (ptrdiff_t)strlen(value));
            if (code[k] < 0) {
                return EPIQ_E_NOMEM;
            }
        }
    }
    return EPIQ_OK;
}

static int read_points(epiq_ctx *c, const char *path, epiqp_table *t, const epiq_data *data, double **given)
{
    int status = epiqp_table_open(c, path, t);
    if (status) {
        return status;
    }
    epiqp_column **from = epiqp_arena_alloc(c, &t->arena, data->d, sizeof *from);
    ptrdiff_t *code = epiqp_arena_alloc(c, &t->arena, data->d, sizeof *code);
    status = from && code ? epiqp_columns_match(c, t, data->d, data->columns, from, code) : EPIQ_E_NOMEM;
    status = status || t->bare ? status : refuse_strangers(c, t, data->columns);
    status = status ? status : epiqp_table_fill(c, t);
    status = status ? status : epiqp_table_judge(c, t, false, false, "a point needs a value for every feature");
    if (!status && !t->rows) {
        status = epiqp_fail(c, EPIQ_E_DATA, "%s: there is no row to ask about; add at least one", t->file);
    }
    if (status) {
        return status;
    }
    ptrdiff_t items;
    if (__builtin_mul_overflow(t->rows, data->d, &items)) {
        items = -1; /* which epiqp_alloc refuses */
    }
    if (!(*given = epiqp_alloc(c, items, sizeof **given))) {
        return EPIQ_E_NOMEM;
    }
    epiqp_table_features(t, data->d, from, code, *given);
    return EPIQ_OK;
}

static int add_file(epiq_ctx *c, epiq_points *p, const char *path)
{
    epiqp_table t;
    double *given = NULL;
    int status = read_points(c, path, &t, p->data, &given);
    char *prefix = status ? NULL : epiqp_arena_printf(c, &p->arena, "%s:", path);
    status = status ? status : prefix ? add(c, p, t.rows, given, prefix, true) : EPIQ_E_NOMEM;
    epiqp_free(c, given);
    epiqp_table_close(c, &t);
    return status;
}

int epiq_points_add(epiq_ctx *c, epiq_points *p, const char *where)
{
    epiqp_clear(c);
    if (strcmp(where, "mean") == 0) {
        return add(c, p, 1, p->data->mean, where, false);
    }
    return strncmp(where, "row:", 4) == 0 ? add_row(c, p, where, where + 4) : add_file(c, p, where);
}

int epiq_points_add_rows(epiq_ctx *c, epiq_points *p, ptrdiff_t count, const double *x)
{
    epiqp_clear(c);
    ptrdiff_t items;
    if (count < 1 || __builtin_mul_overflow(count, p->data->d, &items)) {
        return epiqp_fail(c, EPIQ_E_DATA, "%td points cannot be added; give at least one", count);
    }
    int status = epiqp_check_finite(c, "at", count, p->data->d, x);
    return status ? status : add(c, p, count, x, "", true);
}
