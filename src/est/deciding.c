/* deciding.c - the rows that decide a point's data variance (docs/method.md section 3): where probes replace the inverse,
 * the leverages of these few are solved for. Row i is taken to have the share c_i^2 (alpha_i^2 + mean alpha^2) in V: a residual
 * that happens to be small does not make its row's noise known. Probes have no say in it: rows chosen for what they overestimate
 * would leave a bias.
 */
#include "est/if.h"

#include <stdlib.h>

enum { CONTROLS = 32 };              /* further rows, which show how far off the shortcut of iteration is (probe.h) */
static const double DECIDING = 0.05; /* of V: below, at least twenty rows share the probes' error */

/* Of many rows a twentieth at most: solving for these, beside the probes, then takes a third of the time of the factor. */
ptrdiff_t epiqp_deciding_most(ptrdiff_t points, ptrdiff_t n)
{
    return epiqp_min(2 * points + 64, n > EPIQP_INVERSE_ROWS ? n / 20 : n);
}

typedef struct {
    ptrdiff_t row;
    double share;
} candidate;

static int by_share(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    return x->share != y->share ? (x->share < y->share) - (x->share > y->share) : (x->row > y->row) - (x->row < y->row);
}

static int by_row(const void *a, const void *b)
{
    ptrdiff_t x = *(const ptrdiff_t *)a, y = *(const ptrdiff_t *)b;
    return (x > y) - (x < y);
}

/* The largest share each row has at any point, of c^2 times size (n). */
static void largest_shares(const epiqp_problem *pb, const epiqp_ridge *r, const double *size, candidate *all)
{
    const ptrdiff_t n = pb->n;
    for (ptrdiff_t i = 0; i < n; i++) {
        all[i] = (candidate){i, 0};
    }
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        const double *c = r->c + p * n;
        double sum = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            sum += c[i] * c[i] * size[i];
        }
        for (ptrdiff_t i = 0; sum > 0 && i < n; i++) {
            double share = c[i] * c[i] * size[i] / sum;
            all[i].share = share > all[i].share ? share : all[i].share;
        }
    }
}

int epiqp_deciding_rows(const epiqp_problem *pb, epiqp_ridge *r, epiqp_probes *probes)
{
    const ptrdiff_t n = pb->n, most = epiqp_deciding_most(pb->points, n);
    double *size = epiqp_room(pb, n, sizeof *size), alpha2 = epiqp_dot(n, r->alpha, r->alpha);
    candidate *all = epiqp_room(pb, n, sizeof *all);
    ptrdiff_t *rows = epiqp_room(pb, most, sizeof *rows), count = 0;
    if (!size || !all || !rows) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; i < n; i++) { /* without residuals c alone decides */
        size[i] = alpha2 > 0 ? 1 + r->alpha[i] / alpha2 * r->alpha[i] * (double)n : 1;
    }
    largest_shares(pb, r, size, all);
    qsort(all, (size_t)n, sizeof *all, by_share);
    while (count < most && all[count].share > DECIDING) {
        rows[count] = all[count].row;
        count++;
    }
    const ptrdiff_t chosen = count, more = probes->w ? epiqp_min(CONTROLS, most - chosen) : 0;
    for (ptrdiff_t k = chosen; k < n && count < chosen + more; k++) { /* evenly over all shares */
        if ((k - chosen) * more / (n - chosen) >= count - chosen) rows[count++] = all[k].row;
    }
    qsort(rows, (size_t)count, sizeof *rows, by_row);
    return epiqp_probes_solve_rows(&pb->e, r, probes, count, rows);
}
