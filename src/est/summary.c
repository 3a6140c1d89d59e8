/* summary.c - how sure predictions for rows like those of the table are: quantiles over the rows that were left out, and the least
 * sure of them.
 */
#include "est/assemble.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST_SURE = 5 }; /* rows listed */

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of sorted values, between the two nearest. */
static double quantile(const double *v, ptrdiff_t count, double share)
{
    const double at = share * (double)(count - 1);
    const ptrdiff_t below = epiqp_min((ptrdiff_t)at, count - 1), above = epiqp_min(below + 1, count - 1);
    return v[below] + (at - (double)below) * (v[above] - v[below]);
}

/* What is summarised at a point; negative: it is unknown there. */
static double part_of(const epiq_part *p)
{
    return p->known ? p->variance : -1;
}
static double prediction_sd(const epiq_point *p)
{
    return p->prediction_variance.known ? sqrt(p->prediction_variance.variance) : -1;
}
static double procedural(const epiq_point *p)
{
    return part_of(&p->procedural);
}
static double data(const epiq_point *p)
{
    return part_of(&p->data);
}
static double single(const epiq_point *p)
{
    return part_of(&p->single);
}
static double interval_width(const epiq_point *p)
{
    return p->predictive.known ? p->predictive.hi - p->predictive.lo : -1;
}
static double noise_sd(const epiq_point *p)
{
    return p->predictive.known ? sqrt(p->predictive.noise) : -1;
}
static double share_data(const epiq_point *p)
{
    return p->single.known && p->data.known && p->single.variance > 0 ? p->data.variance / p->single.variance : -1;
}

/* values: scratch of as many as points. */
static epiq_quantiles quantiles_of(const epiqp_problem *pb, const epiqp_answer *a, double (*value)(const epiq_point *p),
                                   double *values)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t p = 0; p < pb->asked; p++) {
        double v = pb->left_out[p] >= 0 ? value(&a->points[p]) : -1;
        if (v >= 0) values[count++] = v;
    }
    if (!count) return (epiq_quantiles){0};
    qsort(values, (size_t)count, sizeof *values, rising);
    return (epiq_quantiles){1, quantile(values, count, 0.05), quantile(values, count, 0.5),
                            quantile(values, count, 0.95)};
}

static int list_least_sure(const epiqp_problem *pb, const epiqp_answer *a, epiq_summary *out)
{
    const epiq_point *least[LEAST_SURE];
    ptrdiff_t count = 0;
    for (ptrdiff_t p = 0; p < pb->asked; p++) {
        const epiq_point *one = &a->points[p];
        if (pb->left_out[p] < 0 || prediction_sd(one) < 0) continue;
        ptrdiff_t at = count < LEAST_SURE ? count++ : LEAST_SURE;
        for (; at > 0 && prediction_sd(one) > prediction_sd(least[at - 1]); at--) {
            if (at < LEAST_SURE) least[at] = least[at - 1];
        }
        if (at < LEAST_SURE) least[at] = one;
    }
    ptrdiff_t *rows = epiqp_arena_alloc(pb->e.c, pb->lasting, LEAST_SURE, sizeof *rows);
    for (ptrdiff_t k = 0; rows && k < count; k++) {
        rows[k] = least[k]->left_out;
    }
    out->least_sure = rows;
    out->least_sure_count = count;
    return rows ? EPIQ_OK : EPIQ_E_NOMEM;
}

int epiqp_summarise(const epiqp_problem *pb, epiqp_answer *a)
{
    epiq_summary *s = &a->summary;
    if (!pb->left_out) return EPIQ_OK;
    double *values = epiqp_room(pb, pb->asked, sizeof *values);
    if (!values) return EPIQ_E_NOMEM;
    for (ptrdiff_t p = 0; p < pb->asked; p++) {
        s->rows += pb->left_out[p] >= 0;
    }
    s->prediction_sd = quantiles_of(pb, a, prediction_sd, values);
    s->procedural = quantiles_of(pb, a, procedural, values);
    s->data = quantiles_of(pb, a, data, values);
    s->single = quantiles_of(pb, a, single, values);
    s->interval_width = quantiles_of(pb, a, interval_width, values);
    s->noise_sd = quantiles_of(pb, a, noise_sd, values);
    s->share_data = quantiles_of(pb, a, share_data, values).median;
    return list_least_sure(pb, a, s);
}
