/* probe_rows.c - rows whose leverages are solved for beside the probes (probe.h): column i of B = A^-1 is had whole, and with
 * it B_ii, (B^2)_ii and every sum_j B_ij^2 s_j.
 */
#include "solve/probe.h"

#include <assert.h>
#include <string.h>

enum { G = EPIQP_PROBE_GROUPS };

double epiqp_probes_row_mean(const epiqp_probes *p, ptrdiff_t k, const double *s)
{
    const float *share = p->share + k * p->n;
    double sum = 0;
    for (ptrdiff_t j = 0; j < p->n; j++) {
        sum += (double)share[j] * s[j];
    }
    return sum;
}

/* What column x of B, that of row i, says: the probes of every group agree on it. */
static void take(epiqp_ridge *r, epiqp_probes *p, ptrdiff_t k, const double *x)
{
    const ptrdiff_t n = p->n, i = p->row[k];
    float *share = p->share + k * n;
    r->diagonal[i] = x[i];
    r->norm2[i] = epiqp_dot(n, x, x);
    for (ptrdiff_t g = 0; g < G; g++) {
        p->diagonal_without[i + g * n] = r->diagonal[i];
        p->norm2_without[i + g * n] = r->norm2[i];
    }
    for (ptrdiff_t j = 0; j < n; j++) {
        share[j] = (float)(x[j] * x[j] / r->norm2[i]);
    }
    for (ptrdiff_t g = 0; p->w && g <= G; g++) {
        p->of_w[i + g * n] = r->norm2[i] * epiqp_probes_row_mean(p, k, p->w);
    }
}

int epiqp_probes_solve_rows(const epiqp_env *e, epiqp_ridge *r, epiqp_probes *p, ptrdiff_t count, const ptrdiff_t *rows)
{
    const ptrdiff_t n = p->n, wide = epiqp_min(count, 2 * p->count); /* as many as probes */
    if (!count) {
        return EPIQ_OK;
    }
    assert(!p->rows);
    double *x = epiqp_alloc(e->c, n * wide, sizeof *x);
    p->row = epiqp_alloc(e->c, count, sizeof *p->row);
    p->share = epiqp_alloc(e->c, n * count, sizeof *p->share);
    int s = x && p->row && p->share ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t from = 0; !s && from < count; from += wide) {
        ptrdiff_t some = epiqp_min(wide, count - from);
        memset(x, 0, (size_t)(n * some) * sizeof *x);
        for (ptrdiff_t k = 0; k < some; k++) {
            x[rows[from + k] + k * n] = 1;
        }
        s = epiqp_ridge_solve(e, r, true, some, x);
        for (ptrdiff_t k = 0; !s && k < some; k++) {
            p->row[p->rows++] = rows[from + k];
            p->solved[rows[from + k]] = 1;
            take(r, p, from + k, x + k * n);
        }
    }
    epiqp_free(e->c, x);
    return s;
}

void epiqp_probes_rows_times(const epiqp_env *e, const epiqp_ridge *r, const epiqp_probes *p, const double *s,
                             const double *s_without, double *sums, double *without)
{
    const ptrdiff_t n = p->n;
#pragma omp parallel for schedule(static) num_threads(e->threads) if (n * p->rows > 10000)
    for (ptrdiff_t k = 0; k < p->rows; k++) {
        const ptrdiff_t i = p->row[k];
        sums[i] = r->norm2[i] * epiqp_probes_row_mean(p, k, s);
        for (ptrdiff_t g = 0; g < G; g++) {
            without[i + g * n] = s_without ? r->norm2[i] * epiqp_probes_row_mean(p, k, s_without + g * n) : sums[i];
        }
    }
}
