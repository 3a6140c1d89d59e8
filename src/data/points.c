/* points.c - where to predict: the mean, a row of the data, rows of another file or of memory, with the columns and the
 * scaling of the data.
 */
#include "data/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int epiq_points_new(epiq_ctx *c, const epiq_data *data, epiq_points **out)
{
    epiqp_clear(c);
    *out = epiqp_alloc(c, 1, sizeof **out);
    if (!*out) return EPIQ_E_NOMEM;
    **out = (epiq_points){.data = data};
    return EPIQ_OK;
}

ptrdiff_t epiq_points_count(const epiq_points *p)
{
    return p->count;
}

double epiq_points_value(const epiq_points *p, ptrdiff_t point, ptrdiff_t feature)
{
    const epiq_data *data = p->data;
    const double off = p->x[point * data->d + feature] * data->factor[feature], shift = data->shift[feature];
    return fabs(off + shift) > 1e-14 * fabs(shift) ? off + shift : 0; /* less is rounding */
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

/* No size overflows: the data has as many columns, and `more` points are in memory as given. */
static int make_room(epiq_ctx *c, epiq_points *p, ptrdiff_t more)
{
    ptrdiff_t room = p->room * p->data->d, labels = p->room;
    double *x = epiqp_grown(c, p->x, &room, (p->count + more) * p->data->d, sizeof *x);
    if (!x) return EPIQ_E_NOMEM;
    p->x = x;
    const char **at = epiqp_grown(c, p->at, &labels, p->count + more, sizeof *at);
    if (!at) return EPIQ_E_NOMEM;
    p->at = at;
    p->room = labels;
    return EPIQ_OK;
}

/* Points as given, labelled with the text, or with the text and their number. */
static int add(epiq_ctx *c, epiq_points *p, ptrdiff_t count, const double *given, const char *text, bool numbered)
{
    const epiq_data *data = p->data;
    const ptrdiff_t d = data->d, width = (ptrdiff_t)strlen(text) + 24;
    if (make_room(c, p, count)) return EPIQ_E_NOMEM;
    char *labels = epiqp_arena_alloc(c, &p->arena, count, (size_t)width);
    if (!labels) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; i < count; i++) {
        char *label = labels + i * width;
        snprintf(label, (size_t)width, numbered ? "%s%td" : "%s", text, i + 1);
        p->at[p->count + i] = label;
        for (ptrdiff_t j = 0; j < d; j++) {
            double v = epiqp_scaled(given[i * d + j], data->shift[j], data->factor[j]);
            if (!isfinite(v)) {
                char at[256];
                return epiqp_fail(c, EPIQ_E_DATA,
                                  "point %s: %s = %g is too far from the data to be scaled; give a nearer one",
                                  epiqp_text_show(at, sizeof at, label, (ptrdiff_t)strlen(label)),
                                  epiqp_show(data->feature[j]).text, given[i * d + j]);
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
        row = row > all ? row : 10 * row + (*s - '0'); /* larger than the last row: no more digits are needed */
    }
    if (s == text || *s || row < 1) {
        return epiqp_fail(c, EPIQ_E_USAGE, "\"%s\" is not a row; write row:1 for the first", epiqp_show(where).text);
    }
    if (row > all) return epiqp_fail(c, EPIQ_E_DATA, "there is no row %.20s; the data has rows 1 to %td", text, all);
    ptrdiff_t i = epiqp_min(row, data->n) - 1; /* rows that were left out have moved it towards the first */
    while (i > 0 && data->row[i] > row) {
        i--;
    }
    if (data->row[i] != row) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "row %td was left out because a cell is missing; name another of rows 1 to %td", row, all);
    }
    char label[32];
    snprintf(label, sizeof label, "row:%td", row);
    return add(c, p, 1, data->x_given + i * data->d, label, false);
}

/* ---- from a file ---- */

/* Columns that the data's file does not have suggest a wrong file, so they are refused. */
static int refuse_strangers(epiq_ctx *c, epiqp_table *t, const struct epiqp_columns *known)
{
    epiqp_list strangers = {0};
    for (ptrdiff_t j = 0; j < known->count; j++) {
        ptrdiff_t number = epiqp_keys_find(&t->names, known->name[j], (ptrdiff_t)strlen(known->name[j]));
        if (number >= 0) t->column[number].known = true;
    }
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        if (!t->column[j].known) epiqp_list_add(&strangers, t->column[j].name);
    }
    if (!strangers.count) return EPIQ_OK;
    return epiqp_fail(c, EPIQ_E_DATA, "%s: the data has no column %s; remove %s from the file", t->in.name,
                      epiqp_list_end(&strangers), strangers.count == 1 ? "it" : "them");
}

static int read_points(epiq_ctx *c, const char *path, epiqp_table *t, const epiq_data *data, double **given)
{
    int status = epiqp_window_open(c, path, data->d, data->columns, false, t);
    if (status || (!t->bare && (status = refuse_strangers(c, t, data->columns))) || (status = epiqp_table_fill(c, t)) ||
        (status = epiqp_table_judge(c, t, false, "a point needs a value for every feature"))) {
        return status;
    }
    if (!t->rows) return epiqp_fail(c, EPIQ_E_DATA, "%s: there is no row to ask about; add at least one", t->in.name);
    ptrdiff_t items;
    if (__builtin_mul_overflow(t->rows, data->d, &items)) {
        items = -1; /* epiqp_alloc refuses it */
    }
    if (!(*given = epiqp_alloc(c, items, sizeof **given))) return EPIQ_E_NOMEM;
    epiqp_table_features(t, *given);
    return EPIQ_OK;
}

static int add_file(epiq_ctx *c, epiq_points *p, const char *path)
{
    epiqp_table t;
    double *given = NULL;
    int status = read_points(c, path, &t, p->data, &given);
    if (given) {
        char *prefix = epiqp_arena_printf(c, &p->arena, "%s:", path);
        status = prefix ? add(c, p, t.rows, given, prefix, true) : EPIQ_E_NOMEM;
    }
    epiqp_free(c, given);
    epiqp_table_close(c, &t);
    return status;
}

int epiq_points_add(epiq_ctx *c, epiq_points *p, const char *where)
{
    epiqp_clear(c);
    if (strcmp(where, "mean") == 0) return add(c, p, 1, p->data->mean, where, false);
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
