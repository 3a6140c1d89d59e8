/* summary.c - how sure predictions for rows like those of the table are: quantiles over the rows that were left out, and the least
 * sure of them.
 */
#include "est/assemble.h"

#include <math.h>

enum { LEAST_SURE = 5 }; /* rows listed */

/* Of sorted values, between the two nearest. */
static double quantile(const double *v, ptrdiff_t count, double share)
{
    const double at = share * (double)(count - 1);
    const ptrdiff_t below = epiqp_min((ptrdiff_t)at, count - 1), above = epiqp_min(below + 1, count - 1);
    return v[below] + (at - (double)below) * (v[above] - v[below]);
}

typedef enum { PREDICTION_SD, PROCEDURAL, DATA, SINGLE, INTERVAL_WIDTH, NOISE_SD, SHARE_DATA } quantity;

static double variance_of(const epiq_part *p)
{
    return p->known ? p->variance : -1;
}

/* The rows of an answer, and room for as many values. */
typedef struct {
    const epiqp_problem *pb;
    const epiqp_answer *a;
    const epiqp_unseen *unseen;
    double *values;
} summing;

/* The interval of y around the mean of all networks, where the row's own is around that of the few that have not seen it. */
static double width_of(const summing *w, const epiq_point *p, ptrdiff_t row, double variance)
{
    const double own = p->predictive.hi - p->predictive.lo, unit = w->pb->data->y_factor;
    if (!w->unseen->known || variance < 0) return own;
    return 2 * w->unseen->factor * unit * epiqp_spread_at_row(&w->unseen->spread, row, variance / unit / unit).sd;
}

/* At a point; negative: it is unknown there. */
static double value_of(const summing *w, quantity q, ptrdiff_t point)
{
    const epiq_point *p = &w->a->points[point];
    const bool observed = p->predictive.known;
    const double variance = variance_of(&p->full_variance);
    switch (q) {
    case PREDICTION_SD:
        return variance >= 0 ? sqrt(variance) : -1;
    case PROCEDURAL:
        return variance_of(&p->procedural);
    case DATA:
        return variance_of(&p->data);
    case SINGLE:
        return variance_of(&p->single);
    case INTERVAL_WIDTH:
        return observed ? width_of(w, p, w->pb->left_out[point], variance) : -1;
    case NOISE_SD:
        return observed ? sqrt(p->predictive.noise) : -1;
    default:
        return p->data.known && p->single.known && p->single.variance > 0 ? p->data.variance / p->single.variance : -1;
    }
}

static epiq_quantiles quantiles_of(const summing *w, quantity q)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t p = 0; p < w->pb->asked; p++) {
        double v = w->pb->left_out[p] >= 0 ? value_of(w, q, p) : -1;
        if (v >= 0) w->values[count++] = v;
    }
    if (!count) return (epiq_quantiles){0};
    epiqp_sort(w->values, count);
    return (epiq_quantiles){1, quantile(w->values, count, 0.05), quantile(w->values, count, 0.5),
                            quantile(w->values, count, 0.95)};
}

static int list_least_sure(const summing *w, epiq_summary *out)
{
    const epiqp_problem *pb = w->pb;
    const epiq_point *least[LEAST_SURE];
    double sd[LEAST_SURE];
    ptrdiff_t count = 0;
    for (ptrdiff_t p = 0; p < pb->asked; p++) {
        const epiq_point *one = &w->a->points[p];
        const double own = pb->left_out[p] >= 0 ? value_of(w, PREDICTION_SD, p) : -1;
        if (own < 0) continue;
        ptrdiff_t at = count < LEAST_SURE ? count++ : LEAST_SURE;
        for (; at > 0 && own > sd[at - 1]; at--) {
            if (at == LEAST_SURE) continue;
            least[at] = least[at - 1];
            sd[at] = sd[at - 1];
        }
        if (at == LEAST_SURE) continue;
        least[at] = one;
        sd[at] = own;
    }
    ptrdiff_t *rows = epiqp_arena_alloc(pb->e.c, pb->lasting, LEAST_SURE, sizeof *rows);
    for (ptrdiff_t k = 0; rows && k < count; k++) {
        rows[k] = least[k]->left_out;
    }
    out->least_sure = rows;
    out->least_sure_count = count;
    return rows ? EPIQ_OK : EPIQ_E_NOMEM;
}

int epiqp_summarise(const epiqp_problem *pb, const epiqp_unseen *unseen, epiqp_answer *a)
{
    epiq_summary *s = &a->summary;
    if (!pb->left_out) return EPIQ_OK;
    const summing w = {pb, a, unseen, epiqp_room(pb, pb->asked, sizeof *w.values)};
    if (!w.values) return EPIQ_E_NOMEM;
    for (ptrdiff_t p = 0; p < pb->asked; p++) {
        s->rows += pb->left_out[p] >= 0;
    }
    s->prediction_sd = quantiles_of(&w, PREDICTION_SD);
    s->procedural = quantiles_of(&w, PROCEDURAL);
    s->data = quantiles_of(&w, DATA);
    s->single = quantiles_of(&w, SINGLE);
    s->interval_width = quantiles_of(&w, INTERVAL_WIDTH);
    s->noise_sd = quantiles_of(&w, NOISE_SD);
    s->share_data = quantiles_of(&w, SHARE_DATA).median;
    return list_least_sure(&w, s);
}
