/* probe.c - means over probes, and without one group of them (probe.h). Rows are shared out in fixed blocks and probes
 * summed in their order: the bits do not depend on the threads.
 */
#include "solve/probe.h"

#include "rng/rng.h"

#include <math.h>
#include <string.h>

enum {
    G = EPIQP_PROBE_GROUPS,
    ROWS = 256
}; /* rows averaged together: a block of all groups' sums stays in the cache */

/* b = z o (B (s o z)) for every probe; s NULL: ones */
static int apply(const epiqp_env *e, epiqp_ridge *r, const epiqp_probes *p, const double *s, double *b)
{
    ptrdiff_t n = p->n, size = n * p->count;
#pragma omp parallel for schedule(static) num_threads(e->threads) if (size > 100000)
    for (ptrdiff_t k = 0; k < p->count; k++) {
        for (ptrdiff_t i = 0; i < n; i++) {
            b[i + k * n] = s ? s[i] * p->z[i + k * n] : p->z[i + k * n];
        }
    }
    int status = epiqp_ridge_solve(e, r, true, p->count, b); /* probes tell a few per cent at best */
#pragma omp parallel for schedule(static) num_threads(e->threads) if (size > 100000)
    for (ptrdiff_t k = 0; k < size; k++) {
        b[k] *= p->z[k];
    }
    return status;
}

/* mean_i = mean over probes of a_i b_i (a NULL: of b_i), and without each group. Probe k is of group k G / count. */
static void average(const epiqp_env *e, const epiqp_probes *p, const double *a, const double *b, double *mean,
                    double *without)
{
    ptrdiff_t n = p->n, R = p->count;
#pragma omp parallel for schedule(static) num_threads(e->threads) if (n * R > 100000)
    for (ptrdiff_t from = 0; from < n; from += ROWS) {
        ptrdiff_t rows = epiqp_min(ROWS, n - from);
        double all[ROWS] = {0};
        ptrdiff_t size[G] = {0};
        for (ptrdiff_t g = 0; g < G; g++) {
            memset(without + from + g * n, 0, (size_t)rows * sizeof *without);
        }
        for (ptrdiff_t k = 0; k < R; k++) {
            ptrdiff_t g = k * G / R;
            double *sum = without + from + g * n;
            size[g]++;
            for (ptrdiff_t i = 0; i < rows; i++) {
                sum[i] += a ? a[from + i + k * n] * b[from + i + k * n] : b[from + i + k * n];
            }
        }
        for (ptrdiff_t g = 0; g < G; g++) {
            for (ptrdiff_t i = 0; i < rows; i++) {
                all[i] += without[from + i + g * n];
            }
        }
        for (ptrdiff_t i = 0; i < rows; i++) {
            mean[from + i] = all[i] / (double)R;
        }
        for (ptrdiff_t g = 0; g < G; g++) {
            for (ptrdiff_t i = 0; i < rows; i++) {
                double *one = &without[from + i + g * n];
                *one = (all[i] - *one) / (double)(R - size[g]);
            }
        }
    }
}

int epiqp_probes_new(const epiqp_env *e, epiqp_ridge *r, uint64_t seed, ptrdiff_t count, epiqp_probes *out)
{
    ptrdiff_t n = r->n;
    *out = (epiqp_probes){.n = n, .count = count, .z = epiqp_alloc(e->c, n * count, 1)};
    out->a = epiqp_alloc(e->c, 2 * n * count + 2 * G * n, sizeof *out->a);
    double *diagonal = epiqp_alloc(e->c, 2 * n, sizeof *diagonal);
    if (!out->z || !out->a || !diagonal) {
        epiqp_free(e->c, diagonal);
        epiqp_probes_free(e->c, out);
        return EPIQ_E_NOMEM;
    }
    out->b = out->a + n * count;
    out->diagonal_without = out->b + n * count;
    out->norm2_without = out->diagonal_without + G * n;
    r->diagonal = diagonal;
    r->norm2 = diagonal + n;
    for (ptrdiff_t k = 0; k < count; k++) {
        epiqp_signs((epiqp_stream){seed, EPIQP_FOR_PROBE, (uint64_t)k}, n, out->z + k * n);
    }
    int s = apply(e, r, out, NULL, out->a);
    if (s) {
        epiqp_probes_free(e->c, out);
        return s;
    }
    average(e, out, NULL, out->a, r->diagonal, out->diagonal_without);
    average(e, out, out->a, out->a, r->norm2, out->norm2_without);
    for (ptrdiff_t k = 0; k < (G + 1) * n; k++) {
        /* 0 < shift B <= 1, so that shift (B^2)_ii <= B_ii: keeps an estimate of B_ii above 0 */
        double *d = k < n ? &r->diagonal[k] : &out->diagonal_without[k - n];
        *d = fmax(*d, r->shift * (k < n ? r->norm2[k] : out->norm2_without[k - n]));
    }
    return EPIQ_OK;
}

void epiqp_probes_free(epiq_ctx *c, epiqp_probes *p)
{
    epiqp_free(c, p->z);
    epiqp_free(c, p->a);
    *p = (epiqp_probes){0};
}

int epiqp_probes_squares_times(const epiqp_env *e, epiqp_ridge *r, epiqp_probes *p, const double *s, double *sums,
                               double *without)
{
    int status = apply(e, r, p, s, p->b);
    if (!status) {
        average(e, p, p->a, p->b, sums, without);
    }
    return status;
}
