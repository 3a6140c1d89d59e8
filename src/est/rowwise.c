/* rowwise.c - IF when the noise differs from row to row (docs/method.md section 3). With B = A^-1, the standardised
 * residual q_i = r_i^2/(M^2)_ii expects not the noise variance of row i but an average over rows, E q = P s with
 * P_ij = B_ij^2/sum_k B_ik^2. Three terms of the Neumann series undo that:
 *     s = q;  three times  s <- s + q - P s
 * P's eigenvalues lie in [0, 1], so this converges for any data, amplifies noise by at most 4, and leaves equal noise
 * as it is. Then
 *     u_i = (v_i - mean v)^2 + c_i^2 (s_i - q_i),   V = sum_i u_i
 * with degrees of freedom nu = 2 V^2/(F + max(0, G - F)/5): F = sum (u_i - mean u)^2 is small by chance when V is, so a
 * fifth of the way is gone to G, the same for noise that has nothing to do with c.
 */
#include "est/rowwise.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { TERMS = 3 };                 /* agree with the exact solution to three digits; one leaves up to 1.4 % */
static const double G_WEIGHT = 0.2; /* between 0.15 and 0.25 coverage is the same */

/* One term more, with P from probes: s, and what s is without each group of them. There P differs, and so does what it
 * is applied to; of the latter only P's diagonal is taken, for the rest is a mean over many rows' errors. */
static int next_term(const epiqp_problem *pb, epiqp_ridge *r, epiqp_probes *probes, const double *q,
                     const double *q_without, epiqp_rowwise *out, double *mixed, double *mixed_without)
{
    ptrdiff_t n = pb->n;
    double *s = out->excess, *without = q_without ? out->without : NULL;
    int status = epiqp_probes_squares_times(&pb->e, r, probes, s, without, mixed, mixed_without);
    for (ptrdiff_t i = 0; !status && i < n; i++) {
        /* of a row solved for P applied to what s is without the group has it all */
        double own = probes->solved[i] ? 0 : fmin(1, r->diagonal[i] * r->diagonal[i] / r->norm2[i]);
        for (ptrdiff_t g = 0; q_without && g < EPIQP_PROBE_GROUPS; g++) {
            double *one = &out->without[i + g * n];
            double applied = mixed_without[i + g * n] / probes->norm2_without[i + g * n] + own * (*one - s[i]);
            *one += q_without[i + g * n] - applied;
        }
        s[i] += q[i] - mixed[i] / r->norm2[i];
    }
    return status;
}

/* Squares of the standardised residuals without one group of probes, around q, whose own bias is out already. */
static void squares_without(ptrdiff_t n, const double *q, const double *r_without, double unit, double *out)
{
    enum { G = EPIQP_PROBE_GROUPS };
    for (ptrdiff_t i = 0; i < n; i++) {
        double mean = 0;
        for (ptrdiff_t g = 0; g < G; g++) {
            double z = unit > 0 ? r_without[i + g * n] / unit : 0;
            out[i + g * n] = z * z;
            mean += z * z / G;
        }
        for (ptrdiff_t g = 0; g < G; g++) {
            out[i + g * n] += q[i] - mean;
        }
    }
}

int epiqp_rowwise_new(const epiqp_problem *pb, epiqp_ridge *r, epiqp_probes *probes, const double *r_std,
                      const double *r_without, epiqp_rowwise *out)
{
    ptrdiff_t n = pb->n, groups = probes->count ? EPIQP_PROBE_GROUPS : 0;
    double *excess = epiqp_room(pb, 3 * n, sizeof *excess);
    double *without = epiqp_room(pb, 3 * groups * n, sizeof *without);
    if (!excess || !without) return EPIQ_E_NOMEM;
    double *q = excess + n, *mixed = q + n, largest = epiqp_largest(r_std, n), sum = 0, sum2 = 0;
    for (ptrdiff_t i = 0; i < n; i++) { /* in units of the largest: nothing overflows or vanishes when squared */
        double z = largest > 0 ? r_std[i] / largest : 0;
        q[i] = excess[i] = z * z;
        sum += q[i];
        sum2 += q[i] * q[i];
    }
    double *q_without = r_without && groups ? without + 2 * groups * n : NULL;
    if (q_without) {
        squares_without(n, q, r_without, largest, q_without);
        memcpy(without, q_without, (size_t)(groups * n) * sizeof *without);
    }
    *out = (epiqp_rowwise){excess, r_without ? without : NULL, largest, sum > 0 ? (double)n * sum2 / (sum * sum) : 0};
    for (int k = 0; k < TERMS; k++) {
        int s = groups ? next_term(pb, r, probes, q, q_without, out, mixed, without + groups * n)
                       : epiqp_inverse_times(&pb->e, &r->inverse, true, 1, excess, mixed);
        if (s) return s;
        for (ptrdiff_t i = 0; !groups && i < n; i++) {
            excess[i] += q[i] - mixed[i] / r->norm2[i];
        }
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        excess[i] -= q[i];
        double mean = 0;
        for (ptrdiff_t g = 0; q_without && g < groups; g++) {
            without[i + g * n] -= q_without[i + g * n];
            mean += without[i + g * n] / (double)groups;
        }
        if (q_without) { /* the bias of order 1/probes, as the jackknife knows it */
            excess[i] += (double)(groups - 1) * (excess[i] - mean);
        }
    }
    return EPIQ_OK;
}

double epiqp_rowwise_share(const epiqp_rowwise *w, ptrdiff_t g, const double *c, ptrdiff_t n)
{
    double largest = epiqp_largest(c, n), sum = 0;
    for (ptrdiff_t i = 0; largest > 0 && i < n; i++) {
        sum += c[i] / largest * (c[i] / largest) * w->without[i + g * n];
    }
    return sum * (largest * w->unit) * (largest * w->unit);
}

bool epiqp_rowwise_sums(const epiqp_rowwise *w, const double *v, const double *c, ptrdiff_t n, double *u,
                        epiqp_row_sums *out)
{
    double mean = 0;
    *out = (epiqp_row_sums){0};
    for (ptrdiff_t i = 0; i < n; i++) {
        mean += v[i] / (double)n;
        out->c_max = fmax(out->c_max, fabs(c[i]));
    }
    out->unit = out->c_max * w->unit; /* v is c times a residual: of this size at most */
    if (!(out->unit > 0)) return false;
    for (ptrdiff_t i = 0; i < n; i++) {
        double z = (v[i] - mean) / out->unit, k = c[i] / out->c_max * (c[i] / out->c_max);
        u[i] = z * z + k * w->excess[i];
        out->plain += z * z;
        out->total += u[i];
        out->c2 += k;
        out->c4 += k * k;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        out->F += (u[i] - out->total / (double)n) * (u[i] - out->total / (double)n);
    }
    return true;
}

epiq_part epiqp_if_rowwise(const epiqp_rowwise *w, const double *v, const double *c, ptrdiff_t n, double *u,
                           double level, bool *floored)
{
    epiqp_row_sums s;
    *floored = false;
    if (!epiqp_rowwise_sums(w, v, c, n, u, &s)) return epiq_part_of(0, 0, level, EPIQ_BY_IF);
    double least = EPIQP_ROWWISE_FLOOR * s.plain;
    *floored = s.total < least;
    double total = fmax(s.total, least);
    double G = total * total * (w->kurtosis * s.c4 / (s.c2 * s.c2) - 1 / (double)n);
    double denom = s.F + G_WEIGHT * fmax(0, G - s.F);
    double df = denom > 0 ? fmin(2 * total * total / denom, (double)(n - 1)) : (double)(n - 1);
    double V = total * s.unit * s.unit;
    return epiq_part_of(total > 0 && V < DBL_MIN ? -1 : V, df, level, EPIQ_BY_IF);
}
