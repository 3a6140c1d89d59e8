/* data.c - epiq_data from a file or from memory: the rows that are complete, the groups, and one 0/1 feature for each
 * value of a one-hot column.
 */
#include "data/table.h"

#include <math.h>
#include <string.h>

enum { FEW_ROWS = 2 };

/* ---- which rows ---- */

/* Moves the complete rows together and numbers them as in the file. */
static int keep_complete(epiq_ctx *c, epiqp_table *t, epiq_data *data)
{
    const ptrdiff_t used = t->used, all = t->rows;
    if (!(data->row = epiqp_arena_alloc(c, &data->arena, all, sizeof *data->row))) {
        return EPIQ_E_NOMEM;
    }
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
                          t->file, data->n, all, FEW_ROWS);
    }
    return data->dropped ? epiqp_warn(c, &data->warnings, "dropped_rows",
                                      "%td of %td rows were left out because a cell was missing", data->dropped, all)
                         : EPIQ_OK;
}

/* Numbers a label column's values again, in order of first appearance among the rows that were kept. */
static int relabel(epiq_ctx *c, epiqp_table *t, epiqp_column *column)
{
    ptrdiff_t *fresh = epiqp_arena_alloc(c, &t->arena, column->values.count, sizeof *fresh); /* from 1; 0: not seen */
    column->kept = epiqp_arena_alloc(c, &t->arena, column->values.count, sizeof *fresh);
    if (!fresh || !column->kept) {
        return EPIQ_E_NOMEM;
    }
    for (ptrdiff_t i = 0; i < t->rows; i++) {
        double *cell = &t->cell[i * t->used + column->slot];
        ptrdiff_t old = (ptrdiff_t)*cell;
        if (!fresh[old]) {
            column->kept[column->kept_count] = old;
            fresh[old] = ++column->kept_count;
        }
        *cell = (double)(fresh[old] - 1);
    }
    return EPIQ_OK;
}

/* ---- the data ---- */

void epiqp_table_features(const epiqp_table *t, ptrdiff_t d, epiqp_column *const *from, const ptrdiff_t *code,
                          double *x)
{
    for (ptrdiff_t i = 0; i < t->rows; i++) {
        const double *cell = t->cell + i * t->used;
        for (ptrdiff_t k = 0; k < d; k++) {
            double v = cell[from[k]->slot];
            x[i * d + k] = code[k] < 0 ? v : v == (double)code[k];
        }
    }
}

static int make_room(epiq_ctx *c, epiq_data *data, ptrdiff_t n, ptrdiff_t d, ptrdiff_t columns)
{
    ptrdiff_t items;
    if (__builtin_mul_overflow(n, d, &items)) {
        return epiqp_fail(c, EPIQ_E_NOMEM, "no memory for %td rows of %td features; use fewer", n, d);
    }
    data->n = n;
    data->d = d;
    data->groups = n;
    data->x_given = epiqp_arena_alloc(c, &data->arena, items, sizeof *data->x_given);
    data->y = epiqp_arena_alloc(c, &data->arena, n, sizeof *data->y);
    data->group = epiqp_arena_alloc(c, &data->arena, n, sizeof *data->group);
    data->columns = epiqp_arena_alloc(c, &data->arena, 1, sizeof *data->columns);
    const char **names = epiqp_arena_alloc(c, &data->arena, 2 * d + columns, sizeof *names);
    if (!data->x_given || !data->y || !data->group || !data->columns || !names) {
        return EPIQ_E_NOMEM;
    }
    *data->columns = (struct epiqp_columns){columns, names + 2 * d, names, names + d};
    data->feature = epiqp_arena_alloc(c, &data->arena, d, sizeof *data->feature);
    for (ptrdiff_t i = 0; i < n; i++) {
        data->group[i] = i;
    }
    return data->feature ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* The features that a column gives, one or one a value, from number k on. */
static int name_features(epiq_ctx *c, epiq_data *data, const epiqp_column *column, const char *source, ptrdiff_t k)
{
    if (column->role == EPIQP_NUMBER) {
        data->feature[k] = data->columns->source[k] = source;
        return EPIQ_OK;
    }
    for (ptrdiff_t v = 0; v < column->kept_count; v++) {
        const ptrdiff_t *start = column->values.start + column->kept[v];
        char *value =
            epiqp_arena_printf(c, &data->arena, "%.*s", (int)(start[1] - start[0]), column->values.pool + start[0]);
        char *name = value ? epiqp_arena_printf(c, &data->arena, "%s=%s", source, value) : NULL;
        if (!name) {
            return EPIQ_E_NOMEM;
        }
        data->columns->source[k + v] = source;
        data->columns->value[k + v] = value;
        data->feature[k + v] = name;
    }
    return EPIQ_OK;
}

/* A column may be called as a value of --onehot is. */
static int check_features(epiq_ctx *c, const epiqp_table *t, const epiq_data *data)
{
    epiqp_keys seen = {0};
    int status = EPIQ_OK;
    for (ptrdiff_t k = 0; k < data->d && !status; k++) {
        const ptrdiff_t size = (ptrdiff_t)strlen(data->feature[k]),
                        number = epiqp_keys_add(c, &seen, data->feature[k], size);
        char shown[EPIQP_SHOWN];
        status = number == k ? EPIQ_OK
                 : number < 0
                     ? EPIQ_E_NOMEM
                     : epiqp_fail(c, EPIQ_E_DATA,
                                  "%s: a column is named \"%s\", as a feature made by --onehot is; rename it, or "
                                  "leave it out with --drop",
                                  t->file, epiqp_text_show(shown, sizeof shown, data->feature[k], size));
    }
    epiqp_keys_free(c, &seen);
    return status;
}

static int build(epiq_ctx *c, epiqp_table *t, const epiqp_column *target, const epiqp_column *group, epiq_data *data)
{
    ptrdiff_t d = 0;
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        epiqp_column *column = &t->column[j];
        if (column->role == EPIQP_LABEL && relabel(c, t, column)) {
            return EPIQ_E_NOMEM;
        }
        d += !column->feature ? 0 : column->role == EPIQP_LABEL ? column->kept_count : 1;
    }
    epiqp_column **from = epiqp_arena_alloc(c, &t->arena, d, sizeof *from);
    ptrdiff_t *code = epiqp_arena_alloc(c, &t->arena, d, sizeof *code);
    int status = from && code ? make_room(c, data, t->rows, d, t->columns) : EPIQ_E_NOMEM;
    for (ptrdiff_t j = 0, k = 0; j < t->columns && !status; j++) {
        epiqp_column *column = &t->column[j];
        const char *name = epiqp_arena_printf(c, &data->arena, "%s", column->name);
        if (!name) {
            return EPIQ_E_NOMEM;
        }
        data->columns->name[j] = name;
        data->target = column == target ? name : data->target;
        if (column->feature) {
            status = name_features(c, data, column, name, k);
            ptrdiff_t count = column->role == EPIQP_LABEL ? column->kept_count : 1;
            for (ptrdiff_t v = 0; v < count; v++, k++) {
                from[k] = column;
                code[k] = column->role == EPIQP_LABEL ? v : -1;
            }
        }
    }
    if (status || (status = check_features(c, t, data))) {
        return status;
    }
    epiqp_table_features(t, d, from, code, data->x_given);
    for (ptrdiff_t i = 0; i < data->n; i++) {
        data->y[i] = t->cell[i * t->used + target->slot];
        if (group) {
            data->group[i] = (ptrdiff_t)t->cell[i * t->used + group->slot];
            data->groups = group->kept_count;
            data->grouped = true;
        }
    }
    return EPIQ_OK;
}

static int read_table(epiq_ctx *c, const char *path, const epiq_options *o, epiqp_table *t, epiq_data *data)
{
    epiqp_column *target = NULL, *group = NULL;
    int status = epiqp_table_open(c, path, t);
    if (!status && t->bare && (t->bare == 1 || t->columns < 2)) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: the array has %d dimension%s; it must be rows by columns, the target last, at least 2",
                          t->file, t->bare, t->bare == 1 ? "" : "s and 1 column");
    }
    status = status ? status : epiqp_columns_choose(c, t, o, &target, &group);
    status = status ? status : epiqp_table_fill(c, t);
    if (status) {
        return status;
    }
    memcpy(data->sha256, t->sha256, sizeof data->sha256);
    if (t->rows < FEW_ROWS) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: there %s; at least %d rows are needed", t->file,
                          t->rows    ? "is only one row"
                          : t->lines ? "is a header but no row"
                                     : "is no row",
                          FEW_ROWS);
    }
    status = epiqp_table_judge(c, t, true, o->missing == EPIQ_MISSING_DROP,
                               "fill it in, or leave such rows out with --missing drop");
    if (status) {
        return status;
    }
    epiqp_free(c, t->bytes); /* all that is needed is in the cells: the peak is lower without */
    t->bytes = NULL;
    status = keep_complete(c, t, data);
    return status ? status : build(c, t, target, group, data);
}

static bool same_features(const epiq_options *o)
{
    return o->group && strcmp(o->group, EPIQP_SAME_FEATURES) == 0;
}

static int finish(epiq_ctx *c, epiq_data *data, const epiq_options *o)
{
    int status = epiqp_data_scale(c, data, o->scale);
    return status ? status : epiqp_data_repeats(c, data, !data->grouped && same_features(o));
}

static epiq_data *data_alloc(epiq_ctx *c)
{
    epiq_data *data = epiqp_alloc(c, 1, sizeof *data);
    if (data) {
        *data = (epiq_data){0};
        data->warnings.arena = &data->arena;
    }
    return data;
}

static int give(epiq_ctx *c, int status, epiq_data *data, epiq_data **out)
{
    if (status) {
        epiq_data_free(c, data);
        return status;
    }
    *out = data;
    return EPIQ_OK;
}

int epiq_data_read(epiq_ctx *c, const char *path, const epiq_options *o, epiq_data **out)
{
    epiqp_clear(c);
    *out = NULL;
    epiq_data *data = data_alloc(c);
    if (!data) {
        return EPIQ_E_NOMEM;
    }
    epiqp_table t;
    int status = read_table(c, path, o, &t, data);
    epiqp_table_close(c, &t);
    return give(c, status ? status : finish(c, data, o), data, out);
}

/* ---- from memory ---- */

int epiqp_check_finite(epiq_ctx *c, const char *name, ptrdiff_t n, ptrdiff_t d, const double *x)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        for (ptrdiff_t j = 0; j < d; j++) {
            if (!isfinite(x[i * d + j])) {
                return epiqp_fail(c, EPIQ_E_DATA,
                                  "%s[%td][%td] is %g; only finite numbers can be used, so leave that row out", name, i,
                                  j, x[i * d + j]);
            }
        }
    }
    return EPIQ_OK;
}

static int copy_arrays(epiq_ctx *c, ptrdiff_t n, ptrdiff_t d, const double *x, const double *y, const int64_t *group,
                       epiq_data *data)
{
    int status = make_room(c, data, n, d, d + 1);
    status = status ? status : epiqp_check_finite(c, "x", n, d, x);
    for (ptrdiff_t i = 0; i < n && !status; i++) {
        if (!isfinite(y[i])) {
            status = epiqp_fail(c, EPIQ_E_DATA, "y[%td] is %g; only finite numbers can be used, so leave that row out",
                                i, y[i]);
        }
    }
    if (status || !(data->row = epiqp_arena_alloc(c, &data->arena, n, sizeof *data->row))) {
        return status ? status : EPIQ_E_NOMEM;
    }
    for (ptrdiff_t j = 0; j <= d; j++) {
        const char *name = j < d ? epiqp_arena_printf(c, &data->arena, "x%td", j + 1) : "y";
        if (!name) {
            return EPIQ_E_NOMEM;
        }
        data->columns->name[j] = name;
        if (j < d) {
            data->feature[j] = data->columns->source[j] = name;
        }
    }
    data->target = data->columns->name[d];
    epiqp_keys groups = {0};
    for (ptrdiff_t i = 0; i < n && !status; i++) {
        data->row[i] = i + 1;
        data->y[i] = y[i] + 0.0; /* no -0: equal rows have equal bytes */
        for (ptrdiff_t j = 0; j < d; j++) {
            data->x_given[i * d + j] = x[i * d + j] + 0.0;
        }
        if (group) {
            data->group[i] = epiqp_keys_add(c, &groups, &group[i], sizeof *group);
            status = data->group[i] < 0 ? EPIQ_E_NOMEM : EPIQ_OK;
        }
    }
    data->grouped = group != NULL;
    data->groups = group ? groups.count : n;
    epiqp_keys_free(c, &groups);
    return status;
}

int epiq_data_new(epiq_ctx *c, ptrdiff_t n, ptrdiff_t d, const double *x, const double *y, const int64_t *group,
                  const epiq_options *o, epiq_data **out)
{
    epiqp_clear(c);
    *out = NULL;
    if (n < FEW_ROWS || d < 1) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "there are %td rows of %td features; at least %d rows are needed, and 1 feature", n, d,
                          FEW_ROWS);
    }
    epiq_data *data = data_alloc(c);
    if (!data) {
        return EPIQ_E_NOMEM;
    }
    int status = copy_arrays(c, n, d, x, y, group, data);
    if (!status) {
        epiqp_sha256 sum;
        epiqp_sha256_start(&sum);
        epiqp_sha256_add(&sum, x, (size_t)(n * d) * sizeof *x);
        epiqp_sha256_add(&sum, y, (size_t)n * sizeof *y);
        if (group) {
            epiqp_sha256_add(&sum, group, (size_t)n * sizeof *group);
        }
        epiqp_sha256_end(&sum, data->sha256);
        status = finish(c, data, o);
    }
    return give(c, status, data, out);
}

void epiq_data_free(epiq_ctx *c, epiq_data *data)
{
    if (data) {
        epiqp_arena_free(c, &data->arena);
        epiqp_free(c, data);
    }
}

epiq_data_info epiq_data_describe(const epiq_data *data)
{
    return (epiq_data_info){.rows = data->n,
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
}
