/* moderated.c - IF when few rows decide: the noise of a row by itself says little, that of its neighbours more
 * (docs/method.md section 3, equations M7 to M9). Residuals q_i = r_i^2/N_i, N_i = (M^2)_ii, are smoothed over rows near each
 * other (smooth.c); at a point the smoothed V and the rowwise V are averaged by their precisions.
 */
#include "est/rowwise.h"

#include <float.h>
#include <math.h>

static const double FLOOR = 0.25;           /* of the smoothed V: what is given at least, */
static const double EQUAL_FLOOR = 1.0 / 32; /* and of the V that equal noise would have */
static const double LEAST_KURTOSIS = 3;     /* a normal's; a sample's tends to be too small */

int epiqp_moderated_new(const epiqp_problem *pb, const epiqp_solution *sol, const epiqp_probes *probes,
                        const double *r_std, const epiqp_rowwise *rows, epiqp_moderated *out)
{
    const ptrdiff_t n = pb->n;
    const epiqp_ridge *r = sol->ridge;
    double *kept = epiqp_room(pb, 2 * n, sizeof *kept);
    if (!kept) return EPIQ_E_NOMEM;
    double *q = epiqp_alloc(pb->e.c, 2 * n, sizeof *q);
    if (!q) return EPIQ_E_NOMEM;
    double *weight = q + n;
    *out = (epiqp_moderated){.by = {.noise = kept, .sd = kept + n}};
    for (ptrdiff_t i = 0; i < n; i++) {
        double z = rows->unit > 0 ? r_std[i] / rows->unit : 0;
        q[i] = z * z;
        weight[i] = r->shift * r->shift * r->norm2[i];
    }
    int s = epiqp_smooth(pb, sol, q, weight, &out->by);
    for (ptrdiff_t g = 0; g < EPIQP_PROBE_GROUPS; g++) {
        double sum = 0;
        for (ptrdiff_t i = 0; probes->count && i < n; i++) {
            sum += r->shift * r->shift * probes->norm2_without[i + g * n];
        }
        out->without[g] = sum > 0 ? out->by.weights / sum : 1;
    }
    epiqp_free(pb->e.c, q);
    return s;
}

epiq_part epiqp_if_moderated(const epiqp_rowwise *rows, const epiqp_smoothed *by, const double *v, const double *c,
                             ptrdiff_t n, double *u, double level, epiqp_moderation *how)
{
    epiqp_row_sums sums;
    *how = (epiqp_moderation){.rowwise = 1};
    if (!epiqp_rowwise_sums(rows, v, c, n, u, &sums)) return epiq_part_of(0, 0, level, EPIQ_BY_IF);
    double smooth = 0, spread = 0, most = (double)(n - 1);
    for (ptrdiff_t i = 0; i < n; i++) {
        double k = c[i] / sums.c_max * (c[i] / sums.c_max);
        smooth += k * by->noise[i];
        spread += k * by->sd[i];
    }
    const double kurtosis = fmax(LEAST_KURTOSIS, rows->kurtosis);
    const double own = fmax(sums.total, EPIQP_ROWWISE_FLOOR * sums.plain), larger = fmax(own, smooth);
    /* (M7): degrees of freedom of a sum of such weights, and of the smoothed V, all its errors taken to go one way */
    double nu = fmin(most, 2 / (kurtosis * sums.c4 / (sums.c2 * sums.c2) - 1 / (double)n));
    double noise = fmax(smooth > 0 ? spread / smooth * (spread / smooth) : 0, 2 / most);
    /* (M8): how far the smoothed V may be off because noise varies */
    double t = larger > 0 ? (own - smooth) / larger : 0, apart = t * t;
    if (own < smooth) apart *= smooth / fmax(own, smooth / 5);
    double off = by->varies + fmax(0, apart - 2 / nu) * fmax(0, 1 - 6 / nu);
    double by_rows = nu / 2, by_smooth = 1 / (noise + off), both = by_rows + by_smooth;
    double total = (by_rows * own + by_smooth * smooth) / both; /* (M9) */
    double least = fmax(FLOOR * smooth, EQUAL_FLOOR * by->mean * sums.c2);
    *how = (epiqp_moderation){by_rows / both, total < least};
    total = fmax(total, least);
    double V = total * sums.unit * sums.unit;
    return epiq_part_of(total > 0 && V < DBL_MIN ? -1 : V, fmin(2 * both, most), level, EPIQ_BY_IF);
}
