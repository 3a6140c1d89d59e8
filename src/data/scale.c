/* scale.c - moments and ranges of the columns, the scaled features and target, and the warnings that follow from them:
 * columns that never change, rows that repeat. given = shift + factor * scaled.
 */
#include "data/table.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    double least, most, mean, sd; /* population: divisor n */
} moments;

/* Two passes, on values brought near 1 by a power of two where squares could overflow or vanish. */
static moments measure(ptrdiff_t n, ptrdiff_t stride, const double *v)
{
    moments s = {v[0], v[0], v[0], 0};
    for (ptrdiff_t i = 1; i < n; i++) {
        s.least = fmin(s.least, v[i * stride]);
        s.most = fmax(s.most, v[i * stride]);
    }
    if (s.least == s.most) {
        return s;
    }
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
    s.mean = fmin(fmax((mean + off / count) / unit, s.least), s.most); /* off: what rounding took from the sum */
    s.sd = sqrt(fmax(square - off * off / count, 0) / count) / unit;
    return s;
}

/* true: it never changes, and is shifted only */
static bool choose(int scale, const moments *s, double *shift, double *factor)
{
    *shift = scale == EPIQ_SCALE_STANDARD ? s->mean : scale == EPIQ_SCALE_MINMAX ? s->least : 0;
    *factor = scale == EPIQ_SCALE_STANDARD ? s->sd : scale == EPIQ_SCALE_MINMAX ? s->most - s->least : 1;
    bool constant = s->least == s->most;
    *factor = constant ? 1 : *factor;
    return constant;
}

double epiqp_scaled(double given, double shift, double factor)
{
    double from = given - shift;
    return isfinite(from) ? from / factor : (given / 4 - shift / 4) / (factor / 4);
}

/* Values must differ by no more than a double can hold, and by no less than one can divide by. */
static int judge_factor(epiq_ctx *c, const char *name, double factor)
{
    char shown[EPIQP_SHOWN];
    epiqp_text_show(shown, sizeof shown, name, (ptrdiff_t)strlen(name));
    return factor > DBL_MAX
               ? epiqp_fail(c, EPIQ_E_DATA,
                            "column %s spans more than a double can hold; divide it by a power of ten first", shown)
           : factor < DBL_MIN
               ? epiqp_fail(c, EPIQ_E_DATA,
                            "column %s varies by less than a double can divide by; multiply it by a power "
                            "of ten first",
                            shown)
               : EPIQ_OK;
}

/* The mean of numbers of this many times their spread, rounded to a double, is off by 1e-6 of that spread. */
static const double COARSE = 1e10;

static void find_coarse(const moments *s, const char *name, epiqp_list *coarse)
{
    if (s->least < s->most && s->sd < fmax(fabs(s->least), fabs(s->most)) / COARSE) {
        epiqp_list_add(coarse, name, (ptrdiff_t)strlen(name));
    }
}

static int warn_coarse(epiq_ctx *c, epiq_data *data, epiqp_list *coarse)
{
    return coarse->count
               ? epiqp_warn(c, &data->warnings, "last_digits",
                            "%td column%s only beyond the tenth digit, where doubles have few left: %s; subtract "
                            "a constant before the numbers are written",
                            coarse->count, coarse->count == 1 ? " varies" : "s vary", epiqp_list_end(coarse))
               : EPIQ_OK;
}

static int scale_features(epiq_ctx *c, epiq_data *data, int scale, epiqp_list *coarse)
{
    const ptrdiff_t n = data->n, d = data->d;
    epiqp_list constant = {0};
    for (ptrdiff_t j = 0; j < d; j++) {
        moments s = measure(n, d, data->x_given + j);
        if (choose(scale, &s, &data->shift[j], &data->factor[j])) {
            data->constant++;
            epiqp_list_add(&constant, data->feature[j], (ptrdiff_t)strlen(data->feature[j]));
        }
        int status = judge_factor(c, data->feature[j], data->factor[j]);
        if (status) {
            return status;
        }
        find_coarse(&s, data->feature[j], coarse);
        data->mean[j] = s.mean;
        data->least[j] = s.least;
        data->most[j] = s.most;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        for (ptrdiff_t j = 0; j < d; j++) {
            data->x[i * d + j] = epiqp_scaled(data->x_given[i * d + j], data->shift[j], data->factor[j]);
        }
    }
    return constant.count
               ? epiqp_warn(c, &data->warnings, "constant_columns",
                            "%td feature%s only one value and cannot tell rows apart: %s; leave out with --drop",
                            constant.count, constant.count == 1 ? " has" : "s have", epiqp_list_end(&constant))
               : EPIQ_OK;
}

static int scale_target(epiq_ctx *c, epiq_data *data, int scale, epiqp_list *coarse)
{
    moments s = measure(data->n, 1, data->y);
    bool constant = choose(scale, &s, &data->y_shift, &data->y_factor);
    int status = judge_factor(c, data->target, data->y_factor);
    if (status) {
        return status;
    }
    find_coarse(&s, data->target, coarse);
    for (ptrdiff_t i = 0; i < data->n; i++) {
        data->y[i] = epiqp_scaled(data->y[i], data->y_shift, data->y_factor);
    }
    char shown[EPIQP_SHOWN];
    return constant ? epiqp_warn(c, &data->warnings, "constant_target",
                                 "the target %s has only one value, %.6g; is it the right column?",
                                 epiqp_text_show(shown, sizeof shown, data->target, (ptrdiff_t)strlen(data->target)),
                                 s.least)
                    : EPIQ_OK;
}

static int measure_groups(epiq_ctx *c, epiq_data *data)
{
    ptrdiff_t *size = epiqp_alloc(c, data->groups, sizeof *size);
    if (!size) {
        return EPIQ_E_NOMEM;
    }
    memset(size, 0, (size_t)data->groups * sizeof *size);
    for (ptrdiff_t i = 0; i < data->n; i++) {
        data->largest_group = epiqp_max(data->largest_group, ++size[data->group[i]]);
    }
    epiqp_free(c, size);
    return EPIQ_OK;
}

int epiqp_data_repeats(epiq_ctx *c, epiq_data *data, bool group)
{
    epiqp_keys rows = {0};
    const ptrdiff_t size = data->d * (ptrdiff_t)sizeof *data->x_given;
    int status = EPIQ_OK;
    for (ptrdiff_t i = 0; i < data->n && !status; i++) {
        ptrdiff_t number = epiqp_keys_add(c, &rows, data->x_given + i * data->d, size);
        status = number < 0 ? EPIQ_E_NOMEM : EPIQ_OK;
        if (group) {
            data->group[i] = number;
        }
    }
    data->duplicates = data->n - rows.count;
    if (group) {
        data->grouped = true;
        data->groups = rows.count;
    }
    epiqp_keys_free(c, &rows);
    status = status ? status : measure_groups(c, data);
    if (!status && group && !data->duplicates) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "no two of %td rows have the same features, so --group %s makes no groups; leave it out, or "
                          "name a column",
                          data->n, EPIQP_SAME_FEATURES);
    }
    if (!status && data->duplicates && !data->grouped) {
        status = epiqp_warn(c, &data->warnings, "duplicate_rows",
                            "%td row%s the features of an earlier row; if they measure one thing again, name it with "
                            "--group, or use --group %s",
                            data->duplicates, data->duplicates == 1 ? " repeats" : "s repeat", EPIQP_SAME_FEATURES);
    }
    return status;
}

int epiqp_data_scale(epiq_ctx *c, epiq_data *data, int scale)
{
    const ptrdiff_t d = data->d;
    if (scale < EPIQ_SCALE_STANDARD || scale > EPIQ_SCALE_NONE) {
        return epiqp_fail(c, EPIQ_E_USAGE, "scale is %d; it must be one of standard, minmax, none", scale);
    }
    double *column = epiqp_arena_alloc(c, &data->arena, 5 * d, sizeof *column);
    data->x = epiqp_arena_alloc(c, &data->arena, data->n * d, sizeof *data->x);
    if (!column || !data->x) {
        return EPIQ_E_NOMEM;
    }
    data->shift = column;
    data->factor = column + d;
    data->mean = column + 2 * d;
    data->least = column + 3 * d;
    data->most = column + 4 * d;
    epiqp_list coarse = {0};
    int status = scale_features(c, data, scale, &coarse);
    status = status ? status : scale_target(c, data, scale, &coarse);
    return status ? status : warn_coarse(c, data, &coarse);
}
