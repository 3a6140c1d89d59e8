/* ordinary.c - what is made, unasked, of the columns of an ordinary table that hold other things than numbers: true and
 * false become 1 and 0, a few categories 0/1 columns, an index is left out. Names, dates in any but one form and mixtures are refused, each
 * with the remedy; what a person should know is a warning.
 */
#include "data/table.h"

#include <math.h>
#include <string.h>

/* Rows from which on whole numbers that rise by 1 are taken for a count of them; doses and settings have fewer steps. */
enum { ROWS_COUNTED = 10 };

typedef struct {
    epiqp_list categories, counting, marked, index;
} noted;

static double *cell_of(const epiqp_table *t, const epiqp_column *column, ptrdiff_t i)
{
    return &t->cell[i * t->used + column->slot];
}

/* ---- columns of texts ---- */

/* Whether f says so of each value. */
static bool all_values(const epiqp_column *column, bool (*f)(const char *text, ptrdiff_t length))
{
    ptrdiff_t v = 0;
    while (v < column->values.count) {
        const char *text = epiqp_keys_text(&column->values, v);
        if (!f(text, (ptrdiff_t)strlen(text))) break;
        v++;
    }
    return v == column->values.count;
}

static bool is_truth(const char *text, ptrdiff_t length)
{
    return epiqp_truth(text, length) >= 0;
}

/* Digits with points and commas, which were no number: decimal commas between commas, most likely. */
static bool is_like_number(const char *text, ptrdiff_t length)
{
    const size_t sign = *text == '-' || *text == '+';
    return (size_t)length > sign && strspn(text + sign, "0123456789.,") == (size_t)length - sign;
}

static void make_truth(const epiqp_table *t, epiqp_column *column)
{
    for (ptrdiff_t i = 0; i < t->rows; i++) {
        double *cell = cell_of(t, column, i);
        if (isnan(*cell)) continue;
        const char *text = epiqp_keys_text(&column->values, (ptrdiff_t)*cell);
        *cell = epiqp_truth(text, (ptrdiff_t)strlen(text));
    }
    column->numbers = column->texts;
    column->texts = 0;
}

static int refuse_texts(epiq_ctx *c, const epiqp_table *t, const epiqp_column *column, bool target)
{
    const epiqp_shown name = epiqp_show(column->name);
    const char *file = t->in.name, *first = t->text[column - t->column].shown.text;
    const ptrdiff_t values = column->values.count, cells = column->texts;
    const bool dates = all_values(column, epiqp_is_date);
    if (!dates && all_values(column, is_like_number)) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: column %s holds no number (its first cell is \"%s\"); write numbers with a decimal "
                          "point and no other marks",
                          file, name.text, first);
    }
    if (target) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: column %s holds texts (its first cell is \"%s\"), and epiq is for regression; name a "
                          "column of numbers with {--target}",
                          file, name.text, first);
    }
    if (dates) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: column %s holds dates or times (its first cell is \"%s\"); write dates as 2024-03-15, "
                          "or leave it out with {--drop}",
                          file, name.text, first);
    }
    if (values > EPIQ_MOST_CATEGORIES && values > cells / 2) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "%s: column %s holds names or codes, most of them in one row only (its first cell is "
                          "\"%s\"); leave it out with {--drop}",
                          file, name.text, first);
    }
    const bool many = values > column->most_values;
    return epiqp_fail(
        c, EPIQ_E_DATA,
        "%s: column %s holds %s%td different texts in %td rows (its first cell is \"%s\"); if it says which "
        "rows belong together, name it with {--group}; else leave it out with {--drop}%s",
        file, name.text, many ? "more than " : "", many ? column->most_values : values, cells, first,
        many ? "" : ", or turn them into 0/1 columns with {--onehot}");
}

static int settle_texts(epiq_ctx *c, const epiqp_table *t, epiqp_column *column, bool target, noted *n)
{
    const ptrdiff_t values = column->values.count;
    if (values <= column->most_values && all_values(column, is_truth)) {
        make_truth(t, column);
        return EPIQ_OK;
    }
    if (target || values > EPIQ_MOST_CATEGORIES || values * EPIQ_ROWS_PER_CATEGORY > column->texts ||
        all_values(column, epiqp_is_date) || all_values(column, is_like_number)) {
        return refuse_texts(c, t, column, target);
    }
    column->role = EPIQP_LABEL;
    column->numbers = column->texts;
    column->texts = 0;
    epiqp_list_add(&n->categories, column->name);
    return EPIQ_OK;
}

/* ---- columns of numbers ---- */

/* Whether whole numbers, or texts, differ from row to row; *failed: there is no memory to tell. */
static bool names_rows(epiq_ctx *c, const epiqp_table *t, const epiqp_column *column, bool *failed)
{
    epiqp_keys seen = {0};
    ptrdiff_t i = 0, number = 0;
    for (; i < t->rows && number == i; i++) {
        const double value = *cell_of(t, column, i);
        if (isnan(value) || value != floor(value)) break;
        number = epiqp_keys_add(c, &seen, &value, sizeof value);
        if (number != i) break;
        number++;
    }
    *failed = number < 0;
    epiqp_keys_free(c, &seen);
    return i == t->rows && !(column->texts && column->numbers);
}

static int settle_index(epiq_ctx *c, const epiqp_table *t, epiqp_column *column, noted *n)
{
    bool failed;
    if (names_rows(c, t, column, &failed)) {
        column->feature = false;
        column->texts = 0;
        column->numbers = t->rows; /* it has been looked at */
        epiqp_list_add(&n->index, *column->name ? column->name : "without a name");
        return EPIQ_OK;
    }
    if (failed) return EPIQ_E_NOMEM;
    return *column->name ? EPIQ_OK : epiqp_table_nameless(c, t, 0);
}

static bool counts_rows(const epiqp_table *t, const epiqp_column *column)
{
    const double first = *cell_of(t, column, 0);
    ptrdiff_t i = 0;
    while (i < t->rows && *cell_of(t, column, i) == first + (double)i) {
        i++;
    }
    return i == t->rows && i >= ROWS_COUNTED && first == floor(first);
}

static int settle(epiq_ctx *c, const epiqp_table *t, epiqp_column *column, bool target, noted *n)
{
    int status = column->index ? settle_index(c, t, column, n) : EPIQ_OK;
    if (status || !(column->feature || target)) return status;
    if (column->texts && !column->numbers) return settle_texts(c, t, column, target, n);
    if (column->units && column->units < column->numbers) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: column %s holds numbers with and without %s; write all of them alike",
                          t->in.name, epiqp_show(column->name).text, column->unit);
    }
    if (column->marked) epiqp_list_add(&n->marked, column->name);
    if (column->feature && !column->texts && counts_rows(t, column)) epiqp_list_add(&n->counting, column->name);
    return EPIQ_OK;
}

/* ---- all of them ---- */

static int warn_of(epiq_ctx *c, epiqp_warnings *w, int kind, epiqp_list *names, const char *one, const char *several,
                   const char *end)
{
    if (!names->count) return EPIQ_OK;
    return epiqp_warn(c, w, kind, "column%s %s %s%s", names->count == 1 ? "" : "s", epiqp_list_end(names),
                      names->count == 1 ? one : several, end);
}

static int warn_of_all(epiq_ctx *c, const epiqp_table *t, noted *n, epiqp_warnings *w)
{
    int s = EPIQ_OK;
    if (t->csv.encoding == EPIQP_LATIN1) {
        s = epiqp_warn(c, w, EPIQ_W_LATIN1,
                       "the file is not UTF-8 and was read as Latin-1; if names or texts look "
                       "wrong, save it as UTF-8");
    }
    if (!s && n->index.count) {
        s = epiqp_warn(c, w, EPIQ_W_INDEX_COLUMN,
                       "the first column (%s) only numbers or names the rows and was left out",
                       epiqp_list_end(&n->index));
    }
    if (!s) {
        s = warn_of(c, w, EPIQ_W_COUNTING_COLUMN, &n->counting, "counts", "count",
                    " the rows; a column that only numbers them is left out with {--drop}");
    }
    if (!s) {
        s = warn_of(c, w, EPIQ_W_CATEGORIES, &n->categories, "holds", "hold",
                    " texts with few values, which became 0/1 columns, as by {--onehot}");
    }
    if (s || !n->marked.count) return s;
    const bool one = n->marked.count == 1,
               date = epiqp_is_date(t->mark.shown.text, (ptrdiff_t)strlen(t->mark.shown.text));
    return epiqp_warn(c, w, EPIQ_W_READ_AS_NUMBERS,
                      "column%s %s %s numbers in another notation: \"%s\" was read as %.15g%s", one ? "" : "s",
                      epiqp_list_end(&n->marked), one ? "holds" : "hold", t->mark.shown.text, t->mark_value,
                      date ? ", days since the beginning of 1970" : "");
}

int epiqp_columns_settle(epiq_ctx *c, epiqp_table *t, const epiqp_column *target, epiqp_warnings *w)
{
    noted n = {0};
    ptrdiff_t features = 0;
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        epiqp_column *column = &t->column[j];
        int status = column->role == EPIQP_NUMBER ? settle(c, t, column, column == target, &n) : EPIQ_OK;
        if (status) return status;
        features += column->feature;
    }
    if (!features) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: no feature is left beside the target; add a column", t->in.name);
    }
    if (features == 1) n.counting = (epiqp_list){0}; /* it cannot be left out */
    return warn_of_all(c, t, &n, w);
}
