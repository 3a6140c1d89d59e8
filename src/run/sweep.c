/* sweep.c - one feature at a time moved over its range, the others as at the first point. The points of all sweeps
 * follow those asked for, so that every estimator serves them; warnings and advice look at those asked for only.
 */
#include "run/run.h"

#include <math.h>
#include <string.h>

enum {
    MOST = 24,      /* features: as many pictures as a page can show */
    MOST_ROWS = 200 /* of which the values are kept with a sweep: more would be one blot in a picture */
};

/* The values of a feature, rising, if there are no more than `most` of them; else -1. */
static ptrdiff_t distinct(const epiq_data *data, ptrdiff_t feature, ptrdiff_t most, double *value)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; i < data->n; i++) {
        double v = data->x_given[i * data->d + feature];
        ptrdiff_t at = count;
        while (at > 0 && value[at - 1] > v) {
            at--;
        }
        if (at > 0 && value[at - 1] == v) continue;
        if (count == most) return -1;
        memmove(value + at + 1, value + at, (size_t)(count++ - at) * sizeof *value);
        value[at] = v;
    }
    return count;
}

/* Squared correlation with the target: which features to sweep when there are too many. */
static double correlation2(const epiq_data *data, ptrdiff_t feature)
{
    double xx = 0, xy = 0, yy = 0, x_mean = 0, y_mean = 0, n = (double)data->n;
    for (ptrdiff_t i = 0; i < data->n; i++) {
        x_mean += data->x[i * data->d + feature] / n;
        y_mean += data->y[i] / n;
    }
    for (ptrdiff_t i = 0; i < data->n; i++) {
        double x = data->x[i * data->d + feature] - x_mean, y = data->y[i] - y_mean;
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    double r2 = xy / xx * (xy / yy);
    return isfinite(r2) ? r2 : 0;
}

/* Marks the features to sweep; returns how many. Of features alike the earlier one comes first. */
static ptrdiff_t choose(const epiq_data *data, double *score, bool *chosen)
{
    ptrdiff_t vary = 0, count = 0;
    for (ptrdiff_t f = 0; f < data->d; f++) {
        chosen[f] = data->most[f] > data->least[f];
        vary += chosen[f];
    }
    if (vary <= MOST) return vary;
    for (ptrdiff_t f = 0; f < data->d; f++) {
        score[f] = chosen[f] ? correlation2(data, f) : -1;
        chosen[f] = false;
    }
    for (; count < MOST; count++) {
        ptrdiff_t best = -1;
        for (ptrdiff_t f = 0; f < data->d; f++) {
            best = !chosen[f] && (best < 0 || score[f] > score[best]) ? f : best;
        }
        chosen[best] = true;
    }
    return count;
}

int epiqp_sweeps_new(const epiqp_problem *pb, ptrdiff_t most, epiqp_sweeps *out)
{
    const epiq_data *data = pb->table;
    *out = (epiqp_sweeps){0};
    if (!most) return EPIQ_OK;
    double *score = epiqp_room(pb, data->d, sizeof *score);
    bool *chosen = epiqp_room(pb, data->d, sizeof *chosen);
    if (!score || !chosen) return EPIQ_E_NOMEM;
    const ptrdiff_t count = choose(data, score, chosen);
    out->list = epiqp_arena_alloc(pb->e.c, pb->lasting, count, sizeof *out->list);
    double *value = epiqp_arena_alloc(pb->e.c, pb->lasting, count * most, sizeof *value);
    const ptrdiff_t rows = epiqp_min(data->n, MOST_ROWS);
    double *row_value = epiqp_arena_alloc(pb->e.c, pb->lasting, count * rows, sizeof *row_value);
    if (!out->list || !value || !row_value) return EPIQ_E_NOMEM;
    for (ptrdiff_t f = 0; f < data->d; f++) {
        if (!chosen[f]) continue;
        double least = data->least[f], most_f = data->most[f];
        ptrdiff_t few = distinct(data, f, most, value), values = few < 0 ? most : few;
        for (ptrdiff_t k = 0; few < 0 && k < most; k++) { /* ends are exact, and no difference overflows */
            double share = (double)k / (double)(most - 1);
            value[k] = least * (1 - share) + most_f * share;
        }
        for (ptrdiff_t i = 0; i < rows; i++) {
            row_value[i] = data->x_given[i * data->n / rows * data->d + f];
        }
        out->list[out->count++] =
            (epiq_sweep){.feature = f, .count = values, .value = value, .row_count = rows, .row_value = row_value};
        value += values;
        row_value += rows;
        out->points += values;
    }
    return EPIQ_OK;
}

int epiqp_sweeps_fill(const epiqp_problem *pb, const epiqp_sweeps *sweeps, double *at, const char **name)
{
    const epiq_data *data = pb->table;
    ptrdiff_t d = data->d, p = pb->asked;
    for (ptrdiff_t s = 0; s < sweeps->count; s++) {
        const epiq_sweep *sweep = &sweeps->list[s];
        ptrdiff_t f = sweep->feature;
        for (ptrdiff_t k = 0; k < sweep->count; k++, p++) {
            memcpy(at + p * d, at, (size_t)d * sizeof *at);
            at[p * d + f] = epiqp_scaled(sweep->value[k], data->shift[f], data->factor[f]);
            name[p] = epiqp_arena_printf(pb->e.c, pb->lasting, "%s = %.6g", data->feature[f], sweep->value[k]);
            if (!name[p]) return EPIQ_E_NOMEM;
        }
    }
    return EPIQ_OK;
}
