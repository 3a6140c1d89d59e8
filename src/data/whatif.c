/* whatif.c - a point in words, "froude=0.3,material=brass": the features that are named, the others as they usually are. That is
 * their mean over the rows; of a feature that is 0 or 1, and of categories, the most common value. Names and values may be in
 * quotes, as in CSV; numbers may have marks, as in tables.
 */
#include "common/utf8.h"
#include "data/table.h"

#include <stdio.h>
#include <string.h>

/* A name or a value inside the text. */
typedef struct {
    const char *at;
    ptrdiff_t length;
} piece;

static piece trimmed(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    while (at < end && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    return (piece){at, end - at};
}

static bool same(piece a, piece b)
{
    return a.length == b.length && memcmp(a.at, b.at, (size_t)a.length) == 0;
}

static epiqp_shown show(piece p)
{
    return epiqp_show_part(p.at, p.length);
}

static bool is_binary(const epiq_data *data, ptrdiff_t j)
{
    ptrdiff_t i = 0;
    while (i < data->n && (data->x_given[i * data->d + j] == 0 || data->x_given[i * data->d + j] == 1)) {
        i++;
    }
    return i == data->n;
}

/* A 0/1 feature made of a category: its column and the category. Arrays have only the name of the feature, "material=brass". */
typedef struct {
    piece column, category; /* no category: the feature is a number */
} meaning;

static meaning meaning_of(const epiq_data *data, ptrdiff_t j)
{
    const char *name = data->feature[j], *value = data->columns->value[j], *source = data->columns->source[j];
    const char *equals = value ? NULL : strchr(name, '=');
    if (value) return (meaning){{source, (ptrdiff_t)strlen(source)}, {value, (ptrdiff_t)strlen(value)}};
    if (equals && is_binary(data, j)) {
        return (meaning){{name, equals - name}, {equals + 1, (ptrdiff_t)strlen(equals + 1)}};
    }
    return (meaning){.column = {name, (ptrdiff_t)strlen(name)}};
}

int epiq_points_is_category(const epiq_points *p, ptrdiff_t feature)
{
    return meaning_of(p->data, feature).category.at != NULL;
}

/* What is usual: fills x, count by d features that mean m. */
static void fill_usual(const epiq_data *data, const meaning *m, double *x)
{
    const ptrdiff_t d = data->d;
    for (ptrdiff_t j = 0; j < d; j++) {
        x[j] = m[j].category.at ? 0 : is_binary(data, j) ? data->mean[j] > 0.5 : data->mean[j];
    }
    for (ptrdiff_t j = 0; j < d; j++) {
        ptrdiff_t most = j;
        bool first = m[j].category.at;
        for (ptrdiff_t k = 0; first && k < d; k++) {
            if (!m[k].category.at || !same(m[k].column, m[j].column)) continue;
            first = k >= j;
            most = data->mean[k] > data->mean[most] ? k : most;
        }
        if (first) x[most] = 1;
    }
}

/* The nearest of what is there, and all of it, for a sentence. */
typedef struct {
    char near[EPIQP_SHOWN + 32];
    int best;
    epiqp_list all;
} suggestion;

static suggestion suggest(piece typed)
{
    return (suggestion){.best = epiqp_edits_likely(show(typed).text) + 1};
}

static void consider(suggestion *s, piece typed, piece other)
{
    const epiqp_shown name = show(other);
    const int distance = epiqp_edit_distance(show(typed).text, name.text);
    epiqp_list_add(&s->all, name.text);
    if (distance < s->best) {
        s->best = distance;
        snprintf(s->near, sizeof s->near, " (did you mean \"%s\"?)", name.text);
    }
}

static int no_feature(epiq_ctx *c, const epiq_data *data, const meaning *m, piece name)
{
    suggestion s = suggest(name);
    for (ptrdiff_t j = 0; j < data->d; j++) {
        if (!j || !same(m[j].column, m[j - 1].column)) consider(&s, name, m[j].column);
    }
    if (same(name, (piece){data->target, (ptrdiff_t)strlen(data->target)})) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s is the target, which is predicted; the features are %s", show(name).text,
                          epiqp_list_end(&s.all));
    }
    return epiqp_fail(c, EPIQ_E_DATA, "there is no feature \"%s\"%s; the features are %s", show(name).text, s.near,
                      epiqp_list_end(&s.all));
}

static int set_category(epiq_ctx *c, const epiq_data *data, const meaning *m, piece name, piece value, double *x)
{
    suggestion s = suggest(value);
    bool found = false;
    for (ptrdiff_t j = 0; j < data->d; j++) {
        if (!m[j].category.at || !same(m[j].column, name)) continue;
        x[j] = same(m[j].category, value);
        found = found || same(m[j].category, value);
        consider(&s, value, m[j].category);
    }
    if (found) return EPIQ_OK;
    return epiqp_fail(c, EPIQ_E_DATA, "no row has %s=%s%s; it may be %s", show(name).text, show(value).text, s.near,
                      epiqp_list_end(&s.all));
}

static int set_number(epiq_ctx *c, piece name, piece value, double *x)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain) return epiqp_fail(c, EPIQ_E_NOMEM, "no memory for the C locale");
    char text[64]; /* of a number, ended so that strtod stops there */
    snprintf(text, sizeof text, "%.*s", (int)epiqp_min(value.length, (ptrdiff_t)sizeof text - 1), value.at);
    epiqp_cell cell = epiqp_cell_number(text, (ptrdiff_t)strlen(text), plain);
    const char *unit;
    if (cell.kind == EPIQP_IS_TEXT) epiqp_cell_marked(&cell, ',', plain, &unit); /* "$1,200", as in the table */
    const int truth = epiqp_truth(text, (ptrdiff_t)strlen(text));
    freelocale(plain);
    *x = cell.kind == EPIQP_IS_NUMBER ? cell.value : truth;
    if ((cell.kind == EPIQP_IS_NUMBER || truth >= 0) && value.length < (ptrdiff_t)sizeof text) return EPIQ_OK;
    return epiqp_fail(c, EPIQ_E_DATA, "%s is \"%s\"; it must be a number", show(name).text, show(value).text);
}

/* One name=value; named: features that were set before. */
static int set(epiq_ctx *c, const epiq_data *data, const meaning *m, piece name, piece value, double *x, bool *named)
{
    ptrdiff_t j = 0;
    while (j < data->d && !same(m[j].column, name)) {
        j++;
    }
    if (j == data->d) return no_feature(c, data, m, name);
    if (named[j]) return epiqp_fail(c, EPIQ_E_USAGE, "%s is given twice; give it one value", show(name).text);
    named[j] = true;
    return m[j].category.at ? set_category(c, data, m, name, value, x) : set_number(c, name, value, &x[j]);
}

/* The name or value at *text, up to one of `ends`, where *text is then. In quotes, as in CSV, it may hold any of these, and two
 * quotes for one, which become one in place. False: a quote is where it cannot be. */
static bool take(char **text, const char *ends, piece *out)
{
    char *from = *text + strspn(*text, " \t"), *to = from, *read = from + 1;
    if (*from != '"') {
        *text = from + strcspn(from, ends);
        *out = trimmed(from, *text);
        return true;
    }
    for (; *read && (*read != '"' || read[1] == '"'); read += 1 + (*read == '"')) {
        *to++ = *read;
    }
    *out = (piece){from, to - from};
    const bool closed = *read == '"';
    *text = read + closed + strspn(read + closed, " \t");
    return closed && (!**text || strchr(ends, **text));
}

/* The end of a value without quotes whose first comma is at `end`: beyond it where the commas separate thousands, as in
 * $1,200, since what follows is no name=value then. */
static char *end_of_thousands(const char *from, char *end)
{
    bool grouped = end > from && end[-1] >= '0' && end[-1] <= '9';
    while (grouped && *end == ',') {
        const size_t digits = strspn(end + 1, "0123456789"), length = strcspn(end + 1, ",");
        grouped = digits == 3 && !memchr(end + 1, '=', length);
        end += grouped ? 1 + length : 0;
    }
    return end;
}

/* A value, up to a comma. */
static bool take_value(char **text, piece *out)
{
    const char *from = *text + strspn(*text, " \t");
    const bool quoted = *from == '"', well = take(text, ",", out);
    if (!well || quoted) return well;
    *text = end_of_thousands(from, *text);
    *out = trimmed(from, *text);
    return true;
}

/* As it is to be written: in quotes if it holds what separates. */
static epiqp_shown written(piece name)
{
    const epiqp_shown plain = show(name);
    epiqp_shown quoted;
    const int length = snprintf(quoted.text, sizeof quoted.text, "\"%s\"", plain.text);
    return plain.text[strcspn(plain.text, ",=\"")] && length < (int)sizeof quoted.text ? quoted : plain;
}

static int set_all(epiq_ctx *c, const epiq_data *data, const meaning *m, char *text, double *x, bool *named)
{
    int status = EPIQ_OK;
    for (; !status && *text; text += *text == ',') {
        const epiqp_shown rest = epiqp_show(text);
        piece name, value;
        bool well = take(&text, "=,", &name);
        if (well && *text != '=') {
            return epiqp_fail(c, EPIQ_E_USAGE,
                              "\"%s\" is not name=value; write a feature and its value, as in %s=%.4g,...",
                              show(name).text, written(m[0].column).text, data->mean[0]);
        }
        text += *text == '=';
        if (!well || !take_value(&text, &value)) {
            return epiqp_fail(c, EPIQ_E_USAGE,
                              "%s: a quote is where it cannot be; quotes are around a whole name or a whole value, as "
                              "in \"a, b\"=1",
                              rest.text);
        }
        status = set(c, data, m, name, value, x, named);
    }
    return status;
}

int epiqp_whatif(epiq_ctx *c, const epiq_data *data, const char *text, double *x)
{
    meaning *m = epiqp_alloc(c, data->d, sizeof *m);
    bool *named = epiqp_alloc(c, data->d, sizeof *named);
    const size_t size = strlen(text) + 1;
    char *own = epiqp_alloc(c, (ptrdiff_t)size, 1); /* quotes are removed in place */
    int status = m && named && own ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t j = 0; !status && j < data->d; j++) {
        m[j] = meaning_of(data, j);
        named[j] = false;
    }
    if (!status) {
        fill_usual(data, m, x);
        memcpy(own, text, size);
        status = set_all(c, data, m, own, x, named);
    }
    epiqp_free(c, own);
    epiqp_free(c, named);
    epiqp_free(c, m);
    return status;
}
