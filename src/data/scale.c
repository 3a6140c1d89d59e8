/* scale.c - moments and ranges of the columns, the scaled features and target, and the warnings that follow from them:
 * constant columns, repeated rows. given = shift + factor * scaled.
 */
#include "data/table.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    double least, most, mean, sd; /* population: divisor n */
} moments;

/* Two passes, on values scaled by a power of two where squares could overflow or underflow. */
static moments measure(ptrdiff_t n, ptrdiff_t stride, const double *v)
{
    moments s = {v[0], v[0], v[0], 0};
    for (ptrdiff_t i = 1; i < n; i++) {
        s.least = fmin(s.least, v[i * stride]);
        s.most = fmax(s.most, v[i * stride]);
    }
    if (s.least == s.most) return s;
    int size = ilogb(fmax(fabs(s.least), fabs(s.most)));
    double unit = size > 400 || size < -400 ? ldexp(1, size > -1000 ? -size : 1000) : 1;
    double sum = 0, off = 0, square = 0, count = (double)n;
    for (ptrdiff_t i = 0; i < n; i++) {
        sum += unit * v[i * stride];
    }
    double mean = sum / count;
    for (ptrdiff_t i = 0; i < n; i++) {
        double e = unit * v[i * stride] - mean;
        off += e;
        square += e * e;
    }
    s.mean = fmin(fmax((mean + off / count) / unit, s.least), s.most); /* off: the rounding error of the sum */
    s.sd = sqrt(fmax(square - off * off / count, 0) / count) / unit;
    return s;
}

double epiqp_scaled(double given, double shift, double factor)
{
    double from = given - shift;
    return isfinite(from) ? from / factor : (given / 4 - shift / 4) / (factor / 4);
}

/* Shift and factor of a column; a constant one is only shifted. The range of the values must be finite in a double,
 * and large enough to divide by. */
static int choose(epiq_ctx *c, int scale, const char *name, const moments *s, double *shift, double *factor)
{
    const bool varies = s->least < s->most;
    *shift = scale == EPIQ_SCALE_STANDARD ? s->mean : scale == EPIQ_SCALE_MINMAX ? s->least : 0;
    *factor = scale == EPIQ_SCALE_STANDARD && varies ? s->sd
              : scale == EPIQ_SCALE_MINMAX && varies ? s->most - s->least
                                                     : 1;
    if (*factor >= DBL_MIN && *factor <= DBL_MAX) return EPIQ_OK;
    return epiqp_fail(c, EPIQ_E_DATA, "column %s %s it by a power of ten first", epiqp_show(name).text,
                      *factor > 1 ? "spans more than a double can hold; divide"
                                  : "varies by less than a double can divide by; multiply");
}

static int scale_features(epiq_ctx *c, epiq_data *data, int scale)
{
    const ptrdiff_t n = data->n, d = data->d;
    for (ptrdiff_t j = 0; j < d; j++) {
        moments s = measure(n, d, data->x_given + j);
        int status = choose(c, scale, data->feature[j], &s, &data->shift[j], &data->factor[j]);
        if (status) return status;
        data->constant += s.least == s.most;
        data->mean[j] = s.mean;
        data->least[j] = s.least;
        data->most[j] = s.most;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        for (ptrdiff_t j = 0; j < d; j++) {
            data->x[i * d + j] = epiqp_scaled(data->x_given[i * d + j], data->shift[j], data->factor[j]);
        }
    }
    return EPIQ_OK;
}

static int scale_target(epiq_ctx *c, epiq_data *data, int scale)
{
    const moments s = measure(data->n, 1, data->y);
    int status = choose(c, scale, data->target, &s, &data->y_shift, &data->y_factor);
    for (ptrdiff_t i = 0; !status && i < data->n; i++) {
        data->y[i] = epiqp_scaled(data->y[i], data->y_shift, data->y_factor);
    }
    return status;
}

/* ---- warnings that name columns ---- */

/* If numbers are larger than their spread by this factor, the rounding error of their mean is 1e-6 of that spread. */
static const double COARSE = 1e10;

static bool is_coarse(const moments *s)
{
    return s->least < s->most && s->sd < fmax(fabs(s->least), fabs(s->most)) / COARSE;
}

/* Of the target as given. */
static moments measure_target(const epiq_data *data)
{
    const moments s = measure(data->n, 1, data->y);
    const double shift = data->y_shift, factor = data->y_factor;
    return (moments){shift + factor * s.least, shift + factor * s.most, shift + factor * s.mean, factor * s.sd};
}

/* The value of the target between its least and its most, if there is one only and all three are whole numbers; NAN: else. */
static double third_value(const epiq_data *data)
{
    const moments s = measure(data->n, 1, data->y), given = measure_target(data);
    double third = NAN;
    for (ptrdiff_t k = 0; k < data->n; k++) {
        const double y = data->y[k];
        if (y == s.least || y == s.most || y == third) continue;
        if (!isnan(third)) return NAN;
        third = y;
    }
    const double value = data->y_shift + data->y_factor * third, all[] = {given.least, value, given.most};
    for (int i = 0; i < 3; i++) { /* scaling rounds */
        if (!(fabs(all[i] - round(all[i])) <= 1e-9 * fmax(1, fabs(all[i])))) return NAN;
    }
    return round(value);
}

/* A target with only two values looks like classes, one with three whole numbers too. In fewer rows than these they may well be
 * all that numbers take. */
static const char *sentence_of_classes(epiq_ctx *c, epiq_data *data)
{
    enum { ROWS_OF_TWO = 10, ROWS_OF_THREE = 30 };
    const moments s = measure(data->n, 1, data->y), given = measure_target(data);
    ptrdiff_t k = 0;
    while (k < data->n && (data->y[k] == s.least || data->y[k] == s.most)) {
        k++;
    }
    const bool two = data->n >= ROWS_OF_TWO && k == data->n && s.least < s.most;
    const double third = !two && data->n >= ROWS_OF_THREE ? third_value(data) : NAN;
    if (!two && isnan(third)) return "";
    char values[80];
    snprintf(values, sizeof values, two ? "%.6g" : "%.6g, %.6g", given.least, third);
    return epiqp_arena_sentence(c, &data->arena,
                                "the target %s has only %s values, %s and %.6g, which look like classes; epiq is for "
                                "regression, and takes them for numbers",
                                epiqp_show(data->target).text, two ? "two" : "three", values, given.most);
}

static const char *sentence_of_target(epiq_ctx *c, epiq_data *data)
{
    const moments s = measure_target(data);
    const epiqp_shown name = epiqp_show(data->target);
    return s.least < s.most ? ""
                            : epiqp_arena_sentence(c, &data->arena,
                                                   "the target %s has only one value, %.6g, so there is nothing to "
                                                   "learn; choose another target, or add "
                                                   "rows in which it differs",
                                                   name.text, s.least);
}

static const char *sentence_of_constant(epiq_ctx *c, epiq_data *data)
{
    epiqp_list constant = {0};
    for (ptrdiff_t j = 0; j < data->d; j++) {
        if (data->least[j] == data->most[j]) epiqp_list_add(&constant, data->feature[j]);
    }
    if (!constant.count) return "";
    return epiqp_arena_sentence(
        c, &data->arena, "%td feature%s only one value and cannot distinguish rows: %s; leave %s out with {--drop}",
        constant.count, constant.count == 1 ? " has" : "s have", epiqp_list_end(&constant),
        constant.count == 1 ? "it" : "them");
}

static const char *sentence_of_coarse(epiq_ctx *c, epiq_data *data)
{
    epiqp_list coarse = {0};
    for (ptrdiff_t j = 0; j < data->d; j++) {
        const double farthest = fmax(fabs(data->least[j]), fabs(data->most[j]));
        if (data->most[j] - data->least[j] > 2 * sqrt((double)data->n) * farthest / COARSE) continue; /* sd is larger */
        const moments s = measure(data->n, data->d, data->x_given + j);
        if (is_coarse(&s)) epiqp_list_add(&coarse, data->feature[j]);
    }
    const moments y = measure_target(data);
    if (is_coarse(&y)) epiqp_list_add(&coarse, data->target);
    if (!coarse.count) return "";
    return epiqp_arena_sentence(
        c, &data->arena,
        "%td column%s only beyond the tenth digit, where doubles have few left: %s; subtract a constant "
        "before the numbers are written",
        coarse.count, coarse.count == 1 ? " varies" : "s vary", epiqp_list_end(&coarse));
}

int epiqp_data_warn(epiq_ctx *c, epiq_data *data)
{
    static const struct {
        int kind;
        const char *(*sentence)(epiq_ctx *c, epiq_data *data); /* "": there is nothing to say */
    } ALL[] = {{EPIQ_W_CONSTANT_COLUMNS, sentence_of_constant}, {EPIQ_W_TWO_VALUES, sentence_of_classes},
               {EPIQ_W_CONSTANT_TARGET, sentence_of_target},    {EPIQ_W_LAST_DIGITS, sentence_of_coarse},
               {EPIQ_W_BLOCKS, epiqp_sentence_of_blocks},       {EPIQ_W_SENTINEL, epiqp_sentence_of_sentinels}};
    epiqp_warnings *w = &data->warnings;
    int status = EPIQ_OK;
    for (size_t k = 0; !status && k < sizeof ALL / sizeof *ALL; k++) {
        const char *text = ALL[k].sentence(c, data);
        ptrdiff_t i = 0;
        if (!text) return EPIQ_E_NOMEM;
        while (i < w->count && w->list[i].kind != ALL[k].kind) {
            i++;
        }
        if (i < w->count && *text) {
            w->list[i].message = text;
        } else if (*text) {
            status = epiqp_warn(c, w, ALL[k].kind, "%s", text);
        }
    }
    return status;
}

static const double NOTICED = 0.05; /* of the rows: fewer repeats hardly change an error on rows left out */

int epiqp_data_repeats(epiq_ctx *c, epiq_data *data, bool group)
{
    epiqp_keys rows = {0};
    ptrdiff_t number = 0;
    for (ptrdiff_t i = 0; i < data->n && number >= 0; i++) {
        number = epiqp_keys_add(c, &rows, data->x_given + i * data->d, data->d * (ptrdiff_t)sizeof *data->x_given);
        data->group[i] = group ? number : data->group[i];
    }
    data->duplicates = data->n - rows.count;
    data->groups = group ? rows.count : data->groups;
    data->grouped = data->grouped || group;
    epiqp_keys_free(c, &rows);
    ptrdiff_t *size = number < 0 ? NULL : epiqp_alloc(c, data->groups, sizeof *size);
    if (!size) return EPIQ_E_NOMEM;
    memset(size, 0, (size_t)data->groups * sizeof *size);
    for (ptrdiff_t i = 0; i < data->n; i++) {
        data->largest_group = epiqp_max(data->largest_group, ++size[data->group[i]]);
    }
    epiqp_free(c, size);
    if (group && !data->duplicates) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "no two of %td rows have the same features, so {--group} %s makes no groups; leave it out, "
                          "or name a column",
                          data->n, EPIQP_SAME_FEATURES);
    }
    if ((double)data->duplicates < NOTICED * (double)data->n || !data->duplicates || data->grouped) return EPIQ_OK;
    return epiqp_warn(c, &data->warnings, EPIQ_W_DUPLICATE_ROWS,
                      "%td row%s the same features as an earlier row; if they are repeated measurements, {--group} %s "
                      "keeps them together, or {--group} with the column that names what was measured: without, errors "
                      "on rows left out are too small",
                      data->duplicates, data->duplicates == 1 ? " has" : "s have", EPIQP_SAME_FEATURES);
}

int epiqp_data_scale(epiq_ctx *c, epiq_data *data, int scale)
{
    const ptrdiff_t d = data->d;
    if (scale < EPIQ_SCALE_STANDARD || scale > EPIQ_SCALE_NONE) {
        return epiqp_fail(c, EPIQ_E_USAGE, "{--scale} is %d; it must be one of standard, minmax, none", scale);
    }
    double **const part[] = {&data->shift, &data->factor, &data->mean, &data->least, &data->most};
    for (size_t k = 0; k < sizeof part / sizeof *part; k++) {
        if (!(*part[k] = epiqp_arena_alloc(c, &data->arena, d, sizeof **part[k]))) return EPIQ_E_NOMEM;
    }
    if (!(data->x = epiqp_arena_alloc(c, &data->arena, data->n * d, sizeof *data->x))) return EPIQ_E_NOMEM;
    int status = scale_features(c, data, scale);
    if (status || (status = scale_target(c, data, scale)) || (status = epiqp_find_blocks(c, data))) return status;
    return epiqp_data_warn(c, data);
}
