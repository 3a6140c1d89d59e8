/* rows.c - rows listed by their group, batch, fold or part, and copied in the order of such a list. */
#include "est/problem.h"

#include <math.h>
#include <string.h>

int epiqp_list_rows(const epiqp_problem *pb, ptrdiff_t count, const ptrdiff_t *label, epiqp_listed *out)
{
    ptrdiff_t *start = epiqp_room(pb, count + 2 + pb->n, sizeof *start);
    if (!start) return EPIQ_E_NOMEM;
    *out = (epiqp_listed){.label = label, .start = start, .rows = start + count + 2};
    for (ptrdiff_t i = 0; i < pb->n; i++) {
        start[label[i] + 2]++;
    }
    for (ptrdiff_t k = 0; k < count; k++) {
        out->largest = epiqp_max(out->largest, start[k + 2]);
        start[k + 2] += start[k + 1];
    }
    for (ptrdiff_t i = 0; i < pb->n; i++) {
        out->rows[start[label[i] + 1]++] = i;
    }
    return EPIQ_OK;
}

int epiqp_deal_rows(const epiqp_problem *pb, epiqp_stream order, ptrdiff_t count, epiqp_listed *out)
{
    ptrdiff_t *label = epiqp_room(pb, pb->n, sizeof *label);
    int s = label ? epiqp_partition(pb->e.c, pb->data, order, count, label, NULL) : EPIQ_E_NOMEM;
    return s ? s : epiqp_list_rows(pb, count, label, out);
}

void epiqp_take_rows(const epiq_data *data, ptrdiff_t count, const ptrdiff_t *rows, double *x, double *y)
{
    for (ptrdiff_t k = 0; k < count; k++) {
        memcpy(x + k * data->d, data->x + rows[k] * data->d, (size_t)data->d * sizeof *x);
        if (y) y[k] = data->y[rows[k]];
    }
}

int epiqp_fit_of_rows(const epiqp_problem *pb, const epiq_options *o, ptrdiff_t count, const ptrdiff_t *rows,
                      epiqp_fit *out)
{
    const ptrdiff_t d = pb->data->d;
    const epiqp_env alone = epiqp_alone(&pb->e);
    double *x = epiqp_room(pb, count * (d + 1), sizeof *x);
    if (!x) return EPIQ_E_NOMEM;
    epiqp_take_rows(pb->data, count, rows, x, x + count * d);
    return epiqp_fit_new(&alone, o, count, d, x, x + count * d, pb->points, pb->at, out);
}

int epiqp_take_data(epiq_ctx *c, epiqp_arena *arena, const epiq_data *all, const epiqp_listed *of, ptrdiff_t number,
                    epiq_data *out)
{
    const ptrdiff_t n = epiqp_listed_size(of, number), *rows = of->rows + of->start[number];
    *out = (epiq_data){.n = n, .d = all->d, .y_shift = all->y_shift, .y_factor = all->y_factor};
    out->x = epiqp_arena_alloc(c, arena, n * all->d, sizeof *out->x);
    out->y = epiqp_arena_alloc(c, arena, n, sizeof *out->y);
    out->row = epiqp_arena_alloc(c, arena, 2 * n + all->groups, sizeof *out->row);
    if (!out->x || !out->y || !out->row) return EPIQ_E_NOMEM;
    out->group = out->row + n;
    ptrdiff_t *known = out->group + n; /* a group's number here, from 1; 0: not met yet */
    epiqp_take_rows(all, n, rows, out->x, all->y ? out->y : NULL);
    for (ptrdiff_t k = 0; k < n; k++) {
        ptrdiff_t *group = &known[all->group[rows[k]]];
        *group = *group ? *group : ++out->groups;
        out->group[k] = *group - 1;
        out->row[k] = all->row ? all->row[rows[k]] : 0;
    }
    return EPIQ_OK;
}

int epiqp_mean_over_groups(epiq_ctx *c, const epiq_data *data, const double *v, double *mean, double *se)
{
    double squares = 0;
    double *sums = epiqp_alloc(c, data->groups, sizeof *sums);
    *mean = epiqp_mean(v, data->n);
    *se = 0;
    if (!sums) return EPIQ_E_NOMEM;
    memset(sums, 0, (size_t)data->groups * sizeof *sums);
    for (ptrdiff_t i = 0; i < data->n; i++) {
        sums[data->group[i]] += v[i] - *mean;
    }
    for (ptrdiff_t g = 0; g < data->groups; g++) {
        squares += sums[g] * sums[g];
    }
    *se = sqrt(squares) / (double)data->n;
    epiqp_free(c, sums);
    return EPIQ_OK;
}
