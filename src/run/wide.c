/* wide.c - a table with more features than rows. n rows span at most n directions, and networks and kernels know features by
 * inner products alone (la/span.h, docs/method.md section 2): the rows become their coordinates in an orthonormal basis of their
 * span, and a point its own and, last, how far it is outside. An answer about one point has the same law as before, and
 * training takes the time of n + 1 features. What is said about features, ranges and neighbours of y's interval reads the
 * table as it was.
 */
#include "run/run.h"

#include <math.h>
#include <string.h>

/* The data in d coordinates x. */
static int replace_rows(epiqp_problem *pb, ptrdiff_t d, double *x)
{
    epiq_data *data = epiqp_room(pb, 1, sizeof *data);
    if (!data) return EPIQ_E_NOMEM;
    *data = *pb->table;
    data->d = d;
    data->x = x;
    data->x_given = data->shift = data->factor = data->mean = data->least = data->most = NULL;
    data->feature = NULL;
    data->columns = NULL;
    pb->data = data;
    return EPIQ_OK;
}

static const double QUICK = 4e9; /* operations that a forecast may take for this: a tenth of a second */

/* A forecast of much work needs rows with so many coordinates, about as long as they are: some of the features, multiplied. */
static int shorten(epiqp_problem *pb, ptrdiff_t d)
{
    double *x = epiqp_room(pb, pb->n * d, sizeof *x), longer = sqrt((double)pb->table->d / (double)d);
    for (ptrdiff_t i = 0; x && i < pb->n; i++) {
        for (ptrdiff_t k = 0; k < d; k++) {
            x[i * d + k] = longer * pb->table->x[i * pb->table->d + k];
        }
    }
    return x ? replace_rows(pb, d, x) : EPIQ_E_NOMEM;
}

int epiqp_wide(epiqp_problem *pb, const epiqp_request *request, const epiq_points *where)
{
    const epiq_data *table = pb->table;
    const ptrdiff_t more = request->together ? where->count : 0;
    if (table->d <= pb->n + more + 1) return EPIQ_OK;
    const double operations = 2 * (double)(pb->n + more) * (double)pb->n * (double)table->d;
    if (request->forecast_only && (request->untimed || operations > QUICK)) return shorten(pb, pb->n + more + 1);
    epiqp_span *span = epiqp_room(pb, 1, sizeof *span);
    int s = span ? epiqp_span_new(&pb->e, pb->scratch, table->d, pb->n, table->x, more, where->x, span) : EPIQ_E_NOMEM;
    if (s || !span->rank) return s;
    double *x = epiqp_room(pb, pb->n * (span->rank + 1), sizeof *x);
    if (!x) return EPIQ_E_NOMEM;
    if ((s = epiqp_span_enter(&pb->e, span, pb->n, table->x, x)) || (s = replace_rows(pb, span->rank + 1, x))) return s;
    pb->span = span;
    return EPIQ_OK;
}

int epiqp_wide_points(epiqp_problem *pb)
{
    pb->at = pb->at_table;
    if (pb->data == pb->table) return EPIQ_OK;
    double *at = epiqp_room(pb, pb->points * pb->data->d, sizeof *at);
    if (!at) return EPIQ_E_NOMEM;
    pb->at = at;
    return pb->span ? epiqp_span_enter(&pb->e, pb->span, pb->points, pb->at_table, at) : EPIQ_OK;
}
