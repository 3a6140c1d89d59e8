/* probe.c - means over probes, and without one group of them; and rows whose column of B = A^-1 is solved for, which
 * gives B_ii, (B^2)_ii and every sum_j B_ij^2 s_j exactly (probe.h). Rows are divided into fixed blocks and probes are
 * summed in order: the bits do not depend on the threads.
 */
#include "solve/probe.h"

#include "rng/rng.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { G = EPIQP_PROBE_GROUPS };
enum { ROWS = 256 }; /* averaged together: the sums of all groups for them stay in the cache */

/* ---- probes ---- */

/* b = s o z for every probe; s NULL: ones */
static void scale(const epiqp_env *e, const epiqp_probes *p, const double *s, double *b)
{
    ptrdiff_t n = p->n;
#pragma omp parallel for schedule(static) num_threads(e->threads) if (n * p->count > 100000)
    for (ptrdiff_t k = 0; k < p->count; k++) {
        for (ptrdiff_t i = 0; i < n; i++) {
            b[i + k * n] = s ? s[i] * p->z[i + k * n] : p->z[i + k * n];
        }
    }
}

/* b <- z o (B b), for `times` consecutive sets of probes */
static int apply(const epiqp_env *e, epiqp_ridge *r, const epiqp_probes *p, ptrdiff_t times, double *b)
{
    ptrdiff_t size = p->n * p->count;
    int status = epiqp_ridge_solve(e, r, true, times * p->count, b); /* probes are good to a few per cent at best */
#pragma omp parallel for schedule(static) num_threads(e->threads) if (size > 100000)
    for (ptrdiff_t k = 0; k < size; k++) {
        for (ptrdiff_t t = 0; t < times; t++) {
            b[k + t * size] *= p->z[k];
        }
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

/* a = z o (B z), and with it, where w is set (the squares of alpha in units of the largest), b = z o (B (w o z)). */
static int solve_probes(const epiqp_env *e, epiqp_ridge *r, epiqp_probes *p)
{
    const ptrdiff_t n = p->n;
    double largest = 0;
    for (ptrdiff_t i = 0; p->w && i < n; i++) {
        largest = fmax(largest, fabs(r->alpha[i]));
    }
    for (ptrdiff_t i = 0; p->w && i < n; i++) {
        double z = largest > 0 ? r->alpha[i] / largest : 0;
        p->w[i] = z * z;
    }
    scale(e, p, NULL, p->a);
    if (p->w) scale(e, p, p->w, p->b);
    int status = apply(e, r, p, p->w ? 2 : 1, p->a);
    if (status) return status;
    average(e, p, NULL, p->a, r->diagonal, p->diagonal_without);
    average(e, p, p->a, p->a, r->norm2, p->norm2_without);
    if (p->w) {
        average(e, p, p->a, p->b, p->of_w, p->of_w + n);
        for (ptrdiff_t i = 0; i < n; i++) {
            p->b[i] = 1;
        }
        status = epiqp_operator_squares_times(e, &r->operator, p->b, p->others);
    }
    for (ptrdiff_t k = 0; k < (G + 1) * n; k++) {
        /* 0 < shift B <= 1, so that shift (B^2)_ii <= B_ii; this keeps an estimate of B_ii above 0 */
        double *d = k < n ? &r->diagonal[k] : &p->diagonal_without[k - n];
        *d = fmax(*d, r->shift * (k < n ? r->norm2[k] : p->norm2_without[k - n]));
    }
    return status;
}

int epiqp_probes_new(const epiqp_env *e, epiqp_ridge *r, uint64_t seed, ptrdiff_t count, epiqp_probes *out)
{
    const ptrdiff_t n = r->n;
    const bool iterate = r->operator.u;
    *out = (epiqp_probes){.n = n, .count = count};
    out->z = epiqp_alloc(e->c, n * count, 1);
    out->solved = epiqp_alloc(e->c, n, 1);
    out->a = epiqp_alloc(e->c, 2 * n * count + (2 * G + (iterate ? G + 3 : 0)) * n, sizeof *out->a);
    r->diagonal = epiqp_alloc(e->c, 2 * n, sizeof *r->diagonal);
    int status = EPIQ_E_NOMEM;
    if (!out->z || !out->solved || !out->a || !r->diagonal) goto end;
    r->norm2 = r->diagonal + n;
    out->b = out->a + n * count;
    out->diagonal_without = out->b + n * count;
    out->norm2_without = out->diagonal_without + G * n;
    if (iterate) {
        out->w = out->norm2_without + G * n;
        out->of_w = out->w + n;
        out->others = out->of_w + (G + 1) * n;
    }
    memset(out->solved, 0, (size_t)n);
    for (ptrdiff_t k = 0; k < count; k++) {
        epiqp_signs((epiqp_stream){seed, EPIQP_FOR_PROBE, (uint64_t)k}, n, out->z + k * n);
    }
    status = solve_probes(e, r, out);
end:
    if (status) epiqp_probes_free(e->c, out);
    return status;
}

void epiqp_probes_free(epiq_ctx *c, epiqp_probes *p)
{
    epiqp_free(c, p->z);
    epiqp_free(c, p->a);
    epiqp_free(c, p->row);
    epiqp_free(c, p->share);
    epiqp_free(c, p->solved);
    *p = (epiqp_probes){0};
}

/* ---- rows that are solved for ---- */

/* sum_j B_ij^2 s_j/(B^2)_ii of row i = row[k] */
static double row_mean(const epiqp_probes *p, ptrdiff_t k, const double *s)
{
    const float *share = p->share + k * p->n;
    double sum = 0;
    for (ptrdiff_t j = 0; j < p->n; j++) {
        sum += (double)share[j] * s[j];
    }
    return sum;
}

/* Replaces the estimates for row i by those from x, column i of B; they are the same without any group of probes. */
static void use_column(epiqp_ridge *r, epiqp_probes *p, ptrdiff_t k, const double *x)
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
        p->of_w[i + g * n] = r->norm2[i] * row_mean(p, k, p->w);
    }
}

int epiqp_probes_solve_rows(const epiqp_env *e, epiqp_ridge *r, epiqp_probes *p, ptrdiff_t count, const ptrdiff_t *rows)
{
    const ptrdiff_t n = p->n, wide = epiqp_min(count, 2 * p->count); /* in portions as wide as the probes */
    if (!count) return EPIQ_OK;
    assert(!p->rows);
    double *x = epiqp_alloc(e->c, n * wide, sizeof *x);
    p->row = epiqp_alloc(e->c, count, sizeof *p->row);
    p->share = epiqp_alloc(e->c, n * count, sizeof *p->share);
    int status = x && p->row && p->share ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t from = 0; !status && from < count; from += wide) {
        ptrdiff_t some = epiqp_min(wide, count - from);
        memset(x, 0, (size_t)(n * some) * sizeof *x);
        for (ptrdiff_t k = 0; k < some; k++) {
            x[rows[from + k] + k * n] = 1;
        }
        status = epiqp_ridge_solve(e, r, true, some, x);
        for (ptrdiff_t k = 0; !status && k < some; k++) {
            p->row[p->rows++] = rows[from + k];
            p->solved[rows[from + k]] = 1;
            use_column(r, p, from + k, x + k * n);
        }
    }
    epiqp_free(e->c, x);
    return status;
}

/* The sums of all rows that were solved for. */
static void rows_times(const epiqp_env *e, const epiqp_ridge *r, const epiqp_probes *p, const double *s,
                       const double *s_without, double *sums, double *without)
{
    const ptrdiff_t n = p->n;
#pragma omp parallel for schedule(static) num_threads(e->threads) if (n * p->rows > 10000)
    for (ptrdiff_t k = 0; k < p->rows; k++) {
        const ptrdiff_t i = p->row[k];
        sums[i] = r->norm2[i] * row_mean(p, k, s);
        for (ptrdiff_t g = 0; g < G; g++) {
            without[i + g * n] = s_without ? r->norm2[i] * row_mean(p, k, s_without + g * n) : sums[i];
        }
    }
}

/* ---- sums ---- */

/* sum_j B_ij^2 s_j, with m in place of the mean over the others */
static double mix(double diagonal, double norm2, double s, double m)
{
    double own = fmin(1, diagonal * diagonal / norm2);
    return norm2 * (own * s + (1 - own) * m);
}

/* s = near w + rest */
static int by_preconditioner(const epiqp_env *e, const epiqp_ridge *r, const epiqp_probes *p, const double *s,
                             double *sums, double *without)
{
    const ptrdiff_t n = p->n;
    double w2 = epiqp_dot(n, p->w, p->w), near = w2 > 0 ? epiqp_dot(n, p->w, s) / w2 : 0, *rest = p->b,
           *mixed = p->b + n;
    for (ptrdiff_t i = 0; i < n; i++) {
        rest[i] = s[i] - near * p->w[i];
    }
    int status = epiqp_operator_squares_times(e, &r->operator, rest, mixed);
    for (ptrdiff_t i = 0; !status && i < n; i++) {
        double m = p->others[i] > 0 ? mixed[i] / p->others[i] : rest[i];
        sums[i] = near * p->of_w[i] + mix(r->diagonal[i], r->norm2[i], rest[i], m);
        for (ptrdiff_t k = i; k < G * n; k += n) {
            without[k] = near * p->of_w[k + n] + mix(p->diagonal_without[k], p->norm2_without[k], rest[i], m);
        }
    }
    return status;
}

static const double MOST_OFF = 0.02;

/* Whether the preconditioner's sums are off by more than MOST_OFF, relative to the sums of |s|, judged by the rows
 * that were solved for, whose sums are exact. */
static bool misses(const epiqp_ridge *r, epiqp_probes *p, const double *s, const double *sums)
{
    double wrong = 0, *size = p->b;
    for (ptrdiff_t j = 0; j < p->n; j++) {
        size[j] = fabs(s[j]);
    }
    for (ptrdiff_t k = 0; k < p->rows; k++) {
        const ptrdiff_t i = p->row[k];
        double here = (sums[i] / r->norm2[i] - row_mean(p, k, s)) / row_mean(p, k, size);
        wrong += here * here;
    }
    return wrong > MOST_OFF * MOST_OFF * (double)p->rows;
}

int epiqp_probes_squares_times(const epiqp_env *e, epiqp_ridge *r, epiqp_probes *p, const double *s,
                               const double *s_without, double *sums, double *without)
{
    int status;
    if (p->w && (status = by_preconditioner(e, r, p, s, sums, without))) return status;
    if (p->w && misses(r, p, s, sums)) p->w = NULL;
    if (!p->w) {
        scale(e, p, s, p->b);
        if ((status = apply(e, r, p, 1, p->b))) return status;
        average(e, p, p->a, p->b, sums, without);
    }
    rows_times(e, r, p, s, s_without, sums, without);
    return EPIQ_OK;
}
