/* data.c - epiq_data from a file or from memory: the complete rows, the groups, and one 0/1 feature for each
 * value of a one-hot column.
 */
#include "data/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FEW_ROWS = 2 };

/* ---- which rows ---- */

/* Moves the complete rows together and numbers them as in the file. */
static int keep_complete(epiq_ctx *c, epiqp_table *t, epiq_data *data)
{
    const ptrdiff_t used = t->used, all = t->rows;
    if (!(data->row = epiqp_arena_alloc(c, &data->arena, all, sizeof *data->row))) return EPIQ_E_NOMEM;
    t->rows = 0;
    for (ptrdiff_t i = 0; i < all; i++) {
        const double *from = t->cell + i * used;
        bool complete = true;
        for (ptrdiff_t k = 0; k < used; k++) {
            complete = complete && !isnan(from[k]);
        }
        if (complete) {
            memmove(t->cell + t->rows * used, from, (size_t)used * sizeof *from);
            data->row[t->rows++] = i + 1;
        }
    }
    data->n = t->rows;
    data->dropped = all - t->rows;
    if (data->n < FEW_ROWS) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: %td of %td rows have no missing cell; at least %d rows are needed",
                          t->in.name, data->n, all, FEW_ROWS);
    }
    if (!data->dropped) return EPIQ_OK;
    return epiqp_warn(c, &data->warnings, EPIQ_W_DROPPED_ROWS,
                      "%td of %td rows were left out because a cell was missing", data->dropped, all);
}

/* Numbers a label column's values again, in order of first appearance among the rows that were kept. */
static int relabel(epiq_ctx *c, const epiqp_table *t, epiqp_column *column)
{
    epiqp_keys kept = {0};
    ptrdiff_t number = 0;
    for (ptrdiff_t i = 0; i < t->rows && number >= 0; i++) {
        double *cell = &t->cell[i * t->used + column->slot];
        const char *label = epiqp_keys_text(&column->values, (ptrdiff_t)*cell);
        number = epiqp_keys_add(c, &kept, label, (ptrdiff_t)strlen(label));
        *cell = (double)number;
    }
    epiqp_keys_free(c, &column->values);
    column->values = kept;
    return number < 0 ? EPIQ_E_NOMEM : EPIQ_OK;
}

/* ---- the data ---- */

static int make_room(epiq_ctx *c, epiq_data *data, ptrdiff_t n, ptrdiff_t d, ptrdiff_t columns)
{
    ptrdiff_t items;
    if (__builtin_mul_overflow(n, d, &items)) {
        return epiqp_fail(c, EPIQ_E_NOMEM, "no memory for %td rows of %td features; use fewer", n, d);
    }
    data->n = n;
    data->d = d;
    data->x_given = epiqp_arena_alloc(c, &data->arena, items, sizeof *data->x_given);
    data->y = epiqp_arena_alloc(c, &data->arena, n, sizeof *data->y);
    data->group = epiqp_arena_alloc(c, &data->arena, n, sizeof *data->group);
    data->columns = epiqp_arena_alloc(c, &data->arena, 1, sizeof *data->columns);
    const char **names = epiqp_arena_alloc(c, &data->arena, 4 * d + columns, sizeof *names);
    if (!data->x_given || !data->y || !data->group || !data->columns || !names) return EPIQ_E_NOMEM;
    data->feature = names;
    *data->columns = (struct epiqp_columns){
        .count = columns, .name = names + 4 * d, .source = names + d, .value = names + 2 * d, .unit = names + 3 * d};
    return EPIQ_OK;
}

/* The features of a column, from number *k on: its number, or one 0/1 feature per value. */
static int add_features(epiq_ctx *c, epiqp_table *t, const epiqp_column *column, const char *source, epiq_data *data,
                        ptrdiff_t *k)
{
    const bool label = column->role == EPIQP_LABEL;
    for (ptrdiff_t v = 0; v < (label ? column->values.count : 1); v++, ++*k) {
        const char *value =
            label ? epiqp_arena_printf(c, &data->arena, "%s", epiqp_keys_text(&column->values, v)) : NULL;
        const char *name = value ? epiqp_arena_printf(c, &data->arena, "%s=%s", source, value) : source;
        if (!name || (label && !value)) return EPIQ_E_NOMEM;
        t->feature[*k] = (epiqp_feature){column, label ? v : -1};
        data->columns->source[*k] = source;
        data->columns->value[*k] = value;
        data->columns->unit[*k] = column->unit; /* a constant of the program */
        data->feature[*k] = name;
    }
    return EPIQ_OK;
}

static int build(epiq_ctx *c, epiqp_table *t, const epiqp_column *target, const epiqp_column *group, epiq_data *data)
{
    ptrdiff_t d = 0, earlier;
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        epiqp_column *column = &t->column[j];
        if (data->dropped && column->role == EPIQP_LABEL && relabel(c, t, column)) return EPIQ_E_NOMEM;
        d += !column->feature ? 0 : column->role == EPIQP_LABEL ? column->values.count : 1;
    }
    t->features = d;
    t->feature = epiqp_arena_alloc(c, &t->arena, d, sizeof *t->feature);
    int status = t->feature ? make_room(c, data, t->rows, d, t->columns) : EPIQ_E_NOMEM;
    for (ptrdiff_t j = 0, k = 0; j < t->columns && !status; j++) {
        epiqp_column *column = &t->column[j];
        const char *name = epiqp_arena_printf(c, &data->arena, "%s", column->name);
        if (!name) return EPIQ_E_NOMEM;
        data->columns->name[j] = name;
        data->target = column == target ? name : data->target;
        status = column->feature ? add_features(c, t, column, name, data, &k) : EPIQ_OK;
    }
    if (status) return status;
    const ptrdiff_t repeated = epiqp_keys_repeated(c, d, data->feature, &earlier);
    if (repeated < 0) return EPIQ_E_NOMEM;
    if (repeated < d) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: a column is named \"%s\", as a feature made by {--onehot} is; rename it, or leave it "
                          "out with {--drop}",
                          t->in.name, epiqp_show(data->feature[repeated]).text);
    }
    epiqp_table_features(t, data->x_given);
    for (ptrdiff_t i = 0; i < data->n; i++) {
        data->y[i] = t->cell[i * t->used + target->slot];
        data->group[i] = group ? (ptrdiff_t)t->cell[i * t->used + group->slot] : i;
    }
    data->groups = group ? group->values.count : data->n;
    data->grouped = group != NULL;
    return EPIQ_OK;
}

static int read_table(epiq_ctx *c, const char *path, const epiq_options *o, epiqp_table *t, epiq_data *data)
{
    epiqp_column *target = NULL, *group = NULL;
    *t = (epiqp_table){.whole = true};
    int status = epiqp_input_open(c, path, &t->in);
    t->in.limit = (double)o->mem_limit;
    if (status || (status = epiqp_input_read_all(c, &t->in))) return status;
    epiqp_sha256 sum = epiqp_sha256_start(); /* of the file as it is: reading text changes the bytes */
    epiqp_sha256_add(&sum, t->in.bytes, (size_t)t->in.size);
    epiqp_sha256_end(&sum, data->sha256);
    if ((status = epiqp_table_begin(c, t))) return status;
    if (t->bare && (t->bare == 1 || t->columns < 2)) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: the array has %d dimension%s; it must be rows by columns, the target last, at least 2",
                          t->in.name, t->bare, t->bare == 1 ? "" : "s and 1 column");
    }
    if ((status = epiqp_table_missing(c, t, o->na)) || (status = epiqp_columns_choose(c, t, o, &target, &group)) ||
        (status = epiqp_table_fill(c, t))) {
        return status;
    }
    if (t->rows < FEW_ROWS) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: there %s; at least %d rows are needed", t->in.name,
                          t->rows    ? "is only one row"
                          : t->lines ? "is a header but no row"
                                     : "is no row",
                          FEW_ROWS);
    }
    if ((status = epiqp_columns_settle(c, t, target, &data->warnings))) return status;
    const bool refuse = o->missing != EPIQ_MISSING_DROP;
    status = epiqp_table_judge(c, t, true, refuse ? "fill it in, or leave such rows out with {--missing} drop" : NULL);
    if (status) return status;
    epiqp_input_close(c, &t->in); /* everything needed is in the cells; freeing the bytes now lowers the peak */
    if ((status = keep_complete(c, t, data))) return status;
    if ((status = build(c, t, target, group, data)) || !o->na) return status;
    data->columns->na = epiqp_arena_printf(c, &data->arena, "%s", o->na);
    return data->columns->na ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* The first step: the caller's options in a struct of our own, and an empty table. */
static int data_alloc(epiq_ctx *c, const epiq_options *o, epiq_options *own, epiq_data **out)
{
    epiqp_clear(c);
    *out = NULL;
    int status = epiqp_options_take(c, o, own);
    if (status) return status;
    if (!(*out = epiqp_alloc(c, 1, sizeof **out))) return EPIQ_E_NOMEM;
    **out = (epiq_data){.warnings.arena = &(*out)->arena};
    return EPIQ_OK;
}

/* Scaling and groups, the last steps. If they or the steps before failed, there is no data. */
static int finish(epiq_ctx *c, int status, const epiq_options *o, epiq_data **out)
{
    epiq_data *data = *out;
    const bool same_features = o->group && strcmp(o->group, EPIQP_SAME_FEATURES) == 0;
    if (!status && !(status = epiqp_data_scale(c, data, o->scale))) {
        status = epiqp_data_repeats(c, data, !data->grouped && same_features);
    }
    if (status) {
        epiq_data_free(c, data);
        *out = NULL;
    }
    return status;
}

int epiq_data_read(epiq_ctx *c, const char *path, const epiq_options *o, epiq_data **out)
{
    epiqp_table t;
    epiq_options own;
    int status = data_alloc(c, o, &own, out);
    if (status) return status;
    status = read_table(c, path, &own, &t, *out);
    epiqp_table_close(c, &t);
    return finish(c, status, &own, out);
}

/* ---- from memory ---- */

int epiqp_check_finite(epiq_ctx *c, const char *name, ptrdiff_t n, ptrdiff_t d, const double *x)
{
    const ptrdiff_t columns = epiqp_max(d, 1);
    for (ptrdiff_t k = 0; k < n * columns; k++) {
        if (isfinite(x[k])) continue;
        char column[32];
        snprintf(column, sizeof column, "[%td]", k % columns);
        return epiqp_fail(c, EPIQ_E_DATA, "%s[%td]%s is %g; only finite numbers can be used, so leave that row out",
                          name, k / columns, d ? column : "", x[k]);
    }
    return EPIQ_OK;
}

static int copy_arrays(epiq_ctx *c, ptrdiff_t n, ptrdiff_t d, const double *x, const double *y, const int64_t *group,
                       epiq_data *data)
{
    int status = make_room(c, data, n, d, d + 1);
    if (status || (status = epiqp_check_finite(c, "x", n, d, x)) || (status = epiqp_check_finite(c, "y", n, 0, y))) {
        return status;
    }
    if (!(data->row = epiqp_arena_alloc(c, &data->arena, n, sizeof *data->row))) return EPIQ_E_NOMEM;
    for (ptrdiff_t j = 0; j < d; j++) {
        const char *name = epiqp_arena_printf(c, &data->arena, "x%td", j + 1);
        if (!name) return EPIQ_E_NOMEM;
        data->columns->name[j] = data->columns->source[j] = data->feature[j] = name;
    }
    data->columns->name[d] = data->target = "y";
    epiqp_keys groups = {0};
    for (ptrdiff_t i = 0; i < n && !status; i++) {
        data->row[i] = i + 1;
        data->y[i] = y[i] + 0.0; /* no -0: equal rows have equal bytes */
        for (ptrdiff_t j = 0; j < d; j++) {
            data->x_given[i * d + j] = x[i * d + j] + 0.0;
        }
        data->group[i] = group ? epiqp_keys_add(c, &groups, &group[i], sizeof *group) : i;
        status = data->group[i] < 0 ? EPIQ_E_NOMEM : EPIQ_OK;
    }
    data->grouped = group != NULL;
    data->groups = group ? groups.count : n;
    epiqp_keys_free(c, &groups);
    return status;
}

int epiq_data_new(epiq_ctx *c, ptrdiff_t n, ptrdiff_t d, const double *x, const double *y, const int64_t *group,
                  const epiq_options *o, epiq_data **out)
{
    epiq_options own;
    int status = data_alloc(c, o, &own, out);
    if (status) return status;
    if (n < FEW_ROWS || d < 1) {
        status = epiqp_fail(c, EPIQ_E_DATA,
                            "the table is %td by %td, rows by features; at least %d rows are needed, and 1 feature", n,
                            d, FEW_ROWS);
    } else if (!(status = copy_arrays(c, n, d, x, y, group, *out))) {
        epiqp_sha256 sum = epiqp_sha256_start();
        epiqp_sha256_add(&sum, x, (size_t)(n * d) * sizeof *x);
        epiqp_sha256_add(&sum, y, (size_t)n * sizeof *y);
        epiqp_sha256_add(&sum, group, group ? (size_t)n * sizeof *group : 0);
        epiqp_sha256_end(&sum, (*out)->sha256);
    }
    return finish(c, status, &own, out);
}

void epiq_data_free(epiq_ctx *c, epiq_data *data)
{
    if (data) {
        epiqp_arena_free(c, &data->arena);
        epiqp_free(c, data);
    }
}

void epiq_data_info_get(const epiq_data *data, epiq_data_info *info, size_t size)
{
    const epiq_data_info own = {.rows = data->n,
                                .features = data->d,
                                .feature = data->feature,
                                .target = data->target,
                                .shift = data->y_shift,
                                .factor = data->y_factor,
                                .sha256 = data->sha256,
                                .dropped = data->dropped,
                                .duplicates = data->duplicates,
                                .constant = data->constant,
                                .groups = data->groups};
    epiqp_give(&own, sizeof own, info, size);
}
