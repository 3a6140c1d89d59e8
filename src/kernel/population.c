/* population.c - the NTK and NNGP recursion of docs/method.md section 2, carried in e = 1 - rho so that rows which
 * nearly coincide (e near 0) or oppose each other (e near 2) keep all their digits; acos(rho) would lose half of them.
 */
#include "kernel/kernel.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

epiqp_arch epiqp_arch_of(const epiqp_net *net)
{
    double b = net->beta * net->bias_sd;
    return (epiqp_arch){net->depth, net->beta, b * b};
}

int epiqp_rows_new(epiq_ctx *c, ptrdiff_t n, ptrdiff_t d, const double *x, epiqp_rows *out)
{
    *out = (epiqp_rows){n, d, x, epiqp_alloc(c, n * d, sizeof(double)), epiqp_alloc(c, n, sizeof(double))};
    int s = out->xt && out->norm2 ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; !s && i < n; i++) {
        for (ptrdiff_t j = 0; j < d; j++) {
            out->xt[i + j * n] = x[i * d + j];
        }
        out->norm2[i] = epiqp_dot(d, x + i * d, x + i * d);
        if (!(out->norm2[i] <= 1e300)) {
            s = epiqp_fail(c, EPIQ_E_NUMERIC, "row %td is too large to be squared; use --scale standard", i + 1);
        }
    }
    if (s) {
        epiqp_rows_free(c, out);
    }
    return s;
}

void epiqp_rows_free(epiq_ctx *c, epiqp_rows *r)
{
    epiqp_free(c, r->xt);
    epiqp_free(c, r->norm2);
    r->xt = r->norm2 = NULL;
}

/* sin a - a cos a, given a, e = 1 - cos a and sin a; the series where the difference would cancel */
static double sine_minus(double a, double e, double sine)
{
    if (a < 0.3) {
        double b = a * a;
        return a * b *
               (1.0 / 3 - b * (1.0 / 30 - b * (1.0 / 840 - b * (1.0 / 45360 - b * (1.0 / 3991680 - b / 518918400)))));
    }
    return sine - a * (1 - e);
}

/* The recursion for one pair. dot, diff2, sum2 and cut are x.x', |x-x'|^2, |x+x'|^2 and (x-x').(x+x') = |x|^2 - |x'|^2,
 * each summed directly. */
static void pair(const epiqp_arch *arch, double dot, double diff2, double sum2, double cut, double p, double q,
                 double *k_out, double *q_out)
{
    const double v = arch->v, beta2 = arch->beta * arch->beta;
    double K = dot + beta2, Q = dot + v, e = 0;
    p += v;
    q += v;
    for (ptrdiff_t l = 0; l < arch->depth; l++, p += v, q += v) {
        double sp = sqrt(p), sq = sqrt(q), spsq = sp * sq;
        if (!(spsq > 0)) { /* a zero row without bias: nothing gets through this layer but the bias */
            K = beta2;
            Q = v;
            continue;
        }
        double gap = cut / (sp + sq), a, away, sine, o; /* gap = sp - sq, away = pi - a */
        if (l == 0) {
            e = (diff2 - gap * gap) / (2 * spsq);
        }
        if (l == 0 &&
            e > 1) { /* only here: after a layer rho is never negative. From t = 1 + rho, which is the small one */
            double t = fmin(fmax((sum2 + 4 * v - gap * gap) / (2 * spsq), 0), 1);
            away = 2 * asin(sqrt(t / 2));
            a = PI - away;
            sine = sqrt(t * (2 - t));
            e = 2 - t;
            double kept = sine_minus(away, t, sine) /
                          PI; /* 1 - o = (sin a + (pi - a) cos a) / pi, no difference of large numbers */
            o = 1 - kept;
            Q = spsq * kept + v;
        } else {
            e = fmin(fmax(e, 0), 1);
            a = 2 * asin(sqrt(e / 2));
            away = PI - a;
            sine = sqrt(e * (2 - e));
            o = e - sine_minus(a, e, sine) / PI;
            Q = spsq * (1 - o) + v;
        }
        K = K * away / PI + (Q - v) + beta2;
        double r = sqrt((p + v) * (q + v));
        e = (spsq * o + v * gap * gap / (r + spsq + v)) / r;
    }
    if (k_out) {
        *k_out = K;
    }
    if (q_out) {
        *q_out = Q;
    }
}

void epiqp_kernel_block(const epiqp_arch *arch, const epiqp_rows *a, ptrdiff_t i0, ptrdiff_t rows, const epiqp_rows *b,
                        ptrdiff_t j0, ptrdiff_t cols, double *k, double *q, ptrdiff_t ld)
{
    enum { STRIP = 128 }; /* rows summed together: the four sums stay in the first-level cache */
    double dot[STRIP], diff2[STRIP], sum2[STRIP], cut[STRIP];
    for (ptrdiff_t from = 0; from < rows; from += STRIP) {
        ptrdiff_t some = epiqp_min(STRIP, rows - from);
        for (ptrdiff_t j = 0; j < cols; j++) {
            for (ptrdiff_t i = 0; i < some; i++) {
                dot[i] = diff2[i] = sum2[i] = cut[i] = 0;
            }
            for (ptrdiff_t f = 0; f < a->d; f++) {
                const double *x = a->xt + f * a->n + i0 + from, y = b->x[(j0 + j) * b->d + f];
                for (ptrdiff_t i = 0; i < some; i++) {
                    double minus = x[i] - y, plus = x[i] + y;
                    dot[i] += x[i] * y;
                    diff2[i] += minus * minus;
                    sum2[i] += plus * plus;
                    cut[i] += minus * plus;
                }
            }
            for (ptrdiff_t i = 0; i < some; i++) {
                ptrdiff_t at = from + i + j * ld;
                pair(arch, dot[i], diff2[i], sum2[i], cut[i], a->norm2[i0 + from + i], b->norm2[j0 + j],
                     k ? k + at : NULL, q ? q + at : NULL);
            }
        }
    }
}

void epiqp_kernel_diagonal(const epiqp_arch *arch, const epiqp_rows *a, double *k, double *q)
{
    for (ptrdiff_t i = 0; i < a->n; i++) {
        double s = a->norm2[i];
        pair(arch, s, 0, 4 * s, 0, s, s, k ? k + i : NULL, q ? q + i : NULL);
    }
}

void epiqp_kernel_cross(const epiqp_env *e, const epiqp_arch *arch, const epiqp_rows *a, const epiqp_rows *b, double *k,
                        double *q)
{
#pragma omp parallel for schedule(dynamic) num_threads(e->threads)
    for (ptrdiff_t j = 0; j < b->n; j++) {
        epiqp_kernel_block(arch, a, 0, a->n, b, j, 1, k ? k + j * a->n : NULL, q ? q + j * a->n : NULL, a->n);
    }
}

static void ntk_block(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                      ptrdiff_t ld)
{
    const epiqp_population *p = self;
    epiqp_kernel_block(p->arch, p->rows, i0, rows, p->rows, j0, cols, out, NULL, ld);
}

static void nngp_block(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                       ptrdiff_t ld)
{
    const epiqp_population *p = self;
    epiqp_kernel_block(p->arch, p->rows, i0, rows, p->rows, j0, cols, NULL, out, ld);
}

epiqp_source epiqp_source_ntk(const epiqp_population *p)
{
    return (epiqp_source){ntk_block, p};
}

epiqp_source epiqp_source_nngp(const epiqp_population *p)
{
    return (epiqp_source){nngp_block, p};
}
