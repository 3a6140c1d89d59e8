/* sentinel.c - a number that stands for missing, as -999 or 9999: nines alone, in two rows or more, far outside the other values of its
 * column. Taken for a measurement it decides the scale of the column, and where networks bend.
 */
#include "data/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double FAR =
    3; /* times the range of the other values: measurements leave no such gap before a value that repeats */

/* A column as given: values of a feature, or of the target, whose scaling has rounded them. */
typedef struct {
    const char *name;
    const double *v;
    ptrdiff_t stride;
    double shift, factor;
} column;

static double value_at(const column *k, ptrdiff_t i)
{
    return k->shift + k->factor * k->v[i * k->stride];
}

/* Ten digits: scaling may have changed those after. */
typedef struct {
    char text[32];
} digits;
static digits digits_of(double v)
{
    digits out;
    snprintf(out.text, sizeof out.text, "%.10g", v);
    return out;
}

/* 99, -999, 9999, -99.9: two nines or more, with a point three. */
static bool is_nines(double v)
{
    const digits shown = digits_of(v);
    const char *p = shown.text + (shown.text[0] == '-');
    const bool point = strchr(p, '.');
    return strspn(p, "9.") == strlen(p) && strlen(p) >= (point ? 4 : 2);
}

/* A value that seems to stand for missing, the rows that have it, and the range of the others. */
typedef struct {
    double value, least, most;
    ptrdiff_t rows; /* 0: none does */
} sentinel;

/* The least or the most value of the column; ends: these two. */
static sentinel look(const column *k, ptrdiff_t n, double value, const double ends[2])
{
    sentinel s = {value, INFINITY, -INFINITY, 0};
    const bool nines[] = {is_nines(ends[0]), is_nines(ends[1])};
    for (ptrdiff_t i = 0; i < n; i++) {
        const double other = value_at(k, i);
        s.rows += other == value;
        if ((nines[0] && other == ends[0]) || (nines[1] && other == ends[1])) continue;
        s.least = fmin(s.least, other);
        s.most = fmax(s.most, other);
    }
    const double gap = fmax(s.least - value, value - s.most);
    const bool found = s.rows > 1 && s.least < s.most && gap > FAR * (s.most - s.least);
    return found ? s : (sentinel){0};
}

static sentinel find(const column *k, ptrdiff_t n)
{
    double ends[2] = {value_at(k, 0), value_at(k, 0)};
    for (ptrdiff_t i = 1; i < n; i++) {
        ends[0] = fmin(ends[0], value_at(k, i));
        ends[1] = fmax(ends[1], value_at(k, i));
    }
    sentinel s = {0};
    for (int end = 0; end < 2 && !s.rows; end++) {
        if (is_nines(ends[end])) s = look(k, n, ends[end], ends);
    }
    return s;
}

const char *epiqp_sentence_of_sentinels(epiq_ctx *c, epiq_data *data)
{
    const char *name = NULL;
    sentinel first = {0};
    epiqp_list others = {0};
    for (ptrdiff_t j = 0; j <= data->d; j++) {
        const column k = j < data->d ? (column){data->feature[j], data->x_given + j, data->d, 0, 1}
                                     : (column){data->target, data->y, 1, data->y_shift, data->y_factor};
        const sentinel s = find(&k, data->n);
        if (s.rows && name) epiqp_list_add(&others, k.name);
        if (s.rows && !name) {
            name = k.name;
            first = s;
        }
    }
    if (!name) return "";
    const char *more = epiqp_list_end(&others);
    const digits value = digits_of(first.value);
    return epiqp_arena_sentence(c, &data->arena,
                                "column %s holds %s in %td of %td rows, far outside its other values, %s to %s%s%s%s; "
                                "if that stands for missing, leave these rows out, of a file with {--na} %s "
                                "and {--missing} drop",
                                epiqp_show(name).text, value.text, first.rows, data->n, digits_of(first.least).text,
                                digits_of(first.most).text, *more ? " (the like is in " : "", more, *more ? ")" : "",
                                value.text);
}
