/* points.c - where to predict: the rows of the data, each left out; the mean, a row, rows of another file or of
 * memory, a point in words; with the columns and the scaling of the data.
 */
#include "data/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int epiq_points_new(epiq_ctx *c, const epiq_data *data, epiq_points **out)
{
    epiqp_clear(c);
    *out = epiqp_alloc(c, 1, sizeof **out);
    if (!*out) return EPIQ_E_NOMEM;
    **out = (epiq_points){.data = data, .warnings.arena = &(*out)->arena};
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
        epiqp_free(c, p->left_out);
        epiqp_arena_free(c, &p->arena);
        epiqp_free(c, p);
    }
}

/* No size overflows: the data has as many columns, and `more` points are in memory as given. */
static int make_room(epiq_ctx *c, epiq_points *p, ptrdiff_t more)
{
    ptrdiff_t room = p->room * p->data->d, labels = p->room, rows = p->room;
    double *x = epiqp_grown(c, p->x, &room, (p->count + more) * p->data->d, sizeof *x);
    if (!x) return EPIQ_E_NOMEM;
    p->x = x;
    const char **at = epiqp_grown(c, p->at, &labels, p->count + more, sizeof *at);
    if (!at) return EPIQ_E_NOMEM;
    p->at = at;
    ptrdiff_t *left_out = epiqp_grown(c, p->left_out, &rows, p->count + more, sizeof *left_out);
    if (!left_out) return EPIQ_E_NOMEM;
    p->left_out = left_out;
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
        p->left_out[p->count + i] = -1;
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

static int read_points(epiq_ctx *c, const char *path, epiqp_table *t, epiq_points *p, double **given)
{
    const epiq_data *data = p->data;
    epiqp_list strangers = {0};
    int status = epiqp_window_open(c, path, data->d, data->columns, false, t, &strangers);
    if (status || (status = epiqp_table_fill(c, t)) ||
        (status = epiqp_table_judge(c, t, false, "a point needs a value for every feature"))) {
        return status;
    }
    if (strangers.count) {
        status = epiqp_warn(c, &p->warnings, EPIQ_W_EXTRA_COLUMNS, EPIQP_STRANGERS, t->in.name,
                            strangers.count == 1 ? "" : "s", epiqp_list_end(&strangers),
                            strangers.count == 1 ? "is" : "are");
        if (status) return status;
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
    int status = read_points(c, path, &t, p, &given);
    if (given) {
        char *prefix = epiqp_arena_printf(c, &p->arena, "%s:", path);
        status = prefix ? add(c, p, t.rows, given, prefix, true) : EPIQ_E_NOMEM;
    }
    epiqp_free(c, given);
    epiqp_table_close(c, &t);
    return status;
}

/* ---- the rows themselves, each left out ---- */

enum { MOST_ROWS = 1000 }; /* quantiles over so many are within 1.5 % of their rank */

/* Marks the rows to ask about: all, or whole groups in random order up to MOST_ROWS. */
static int choose_rows(epiq_ctx *c, const epiq_data *data, bool *chosen)
{
    const ptrdiff_t n = data->n, groups = data->groups;
    ptrdiff_t *order = epiqp_alloc(c, 2 * groups, sizeof *order), count = 0;
    if (!order) return EPIQ_E_NOMEM;
    ptrdiff_t *size = order + groups;
    memset(order, 0, 2 * (size_t)groups * sizeof *order);
    for (ptrdiff_t i = 0; i < n; i++) {
        size[data->group[i]]++;
    }
    for (ptrdiff_t g = 0; g < groups; g++) {
        order[g] = g;
    }
    epiqp_shuffle((epiqp_stream){0, EPIQP_FOR_QUESTION, 0}, 0, groups, order);
    for (ptrdiff_t k = 0; k < groups; k++) {
        ptrdiff_t g = order[k];
        bool fits = n <= MOST_ROWS || !count || count + size[g] <= MOST_ROWS;
        count += fits ? size[g] : 0;
        size[g] = fits;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        chosen[i] = size[data->group[i]];
    }
    epiqp_free(c, order);
    return EPIQ_OK;
}

static int add_left_out(epiq_ctx *c, epiq_points *p)
{
    const epiq_data *data = p->data;
    for (ptrdiff_t i = 0; i < p->count; i++) {
        if (p->left_out[i] >= 0) return EPIQ_OK; /* they are asked about already */
    }
    bool *chosen = epiqp_alloc(c, data->n, sizeof *chosen);
    int status = chosen ? choose_rows(c, data, chosen) : EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; !status && i < data->n; i++) {
        char label[32];
        snprintf(label, sizeof label, "row:%td", data->row[i]);
        if (chosen[i] && !(status = add(c, p, 1, data->x_given + i * data->d, label, false))) {
            p->left_out[p->count - 1] = i;
        }
    }
    epiqp_free(c, chosen);
    return status;
}

/* ---- in words ---- */

static int add_whatif(epiq_ctx *c, epiq_points *p, const char *text)
{
    double *x = epiqp_alloc(c, p->data->d, sizeof *x);
    int status = x ? epiqp_whatif(c, p->data, text, x) : EPIQ_E_NOMEM;
    status = status ? status : add(c, p, 1, x, text, false);
    epiqp_free(c, x);
    return status;
}

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == '\0';
}

int epiq_points_add(epiq_ctx *c, epiq_points *p, const char *where)
{
    epiqp_clear(c);
    if (strcmp(where, "rows") == 0) return add_left_out(c, p);
    if (strcmp(where, "mean") == 0) return add(c, p, 1, p->data->mean, where, false);
    if (is_number(where)) return add_row(c, p, where, where);
    if (strncmp(where, "row:", 4) == 0) return add_row(c, p, where, where + 4);
    const bool there = strcmp(where, "-") == 0 || access(where, F_OK) == 0 || errno != ENOENT;
    if (!there && strchr(where, '=')) return add_whatif(c, p, where); /* a file of that name is read */
    if (there || epiqp_is_url(where)) return add_file(c, p, where);
    return epiqp_fail(
        c, EPIQ_E_FILE,
        "there is no file \"%s\"; points are \"rows\", \"mean\", the number of a row, features by name as in "
        "NAME=VALUE,..., or a file of them",
        epiqp_show(where).text);
}

int epiq_points_add_rows(epiq_ctx *c, epiq_points *p, ptrdiff_t count, const double *x)
{
    epiqp_clear(c);
    ptrdiff_t items;
    if (count < 1 || __builtin_mul_overflow(count, p->data->d, &items)) {
        return epiqp_fail(c, EPIQ_E_DATA, "%td points cannot be added; give %s", count,
                          count < 1 ? "at least one" : "fewer");
    }
    int status = epiqp_check_finite(c, "at", count, p->data->d, x);
    return status ? status : add(c, p, count, x, "", true);
}
