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

/* The recursion for one pair, from x.x', cut = |x|^2 - |x'|^2, and e = 1 - rho and t = 1 + rho of the first layer. */
static void pair(const epiqp_arch *arch, double dot, double cut, double e, double t, double p, double q, double *k_out,
                 double *q_out)
{
    const double v = arch->v, beta2 = arch->beta * arch->beta;
    double K = dot + beta2, Q = dot + v;
    p += v;
    q += v;
    for (ptrdiff_t l = 0; l < arch->depth; l++, p += v, q += v) {
        double sp = sqrt(p), sq = sqrt(q), spsq = sp * sq;
        if (!(spsq > 0)) { /* a zero row without bias: nothing gets through this layer but the bias */
            K = beta2;
            Q = v;
            continue;
        }
        double a, away, sine, o; /* away = pi - a */
        if (l == 0 && t < 1) {
            /* Only here: after a layer rho is never negative. From t, which is the small one:
             * 1 - o = (sin a + (pi - a) cos a) / pi without a difference of large numbers. */
            away = 2 * asin(sqrt(t / 2));
            a = PI - away;
            sine = sqrt(t * (2 - t));
            double kept = sine_minus(away, t, sine) / PI;
            o = 1 - kept;
            Q = spsq * kept + v;
        } else {
            e = fmin(e, 1);
            a = 2 * asin(sqrt(e / 2));
            away = PI - a;
            sine = sqrt(e * (2 - e));
            o = e - sine_minus(a, e, sine) / PI;
            Q = spsq * (1 - o) + v;
        }
        K = K * away / PI + (Q - v) + beta2;
        double gap = cut / (sp + sq), r = sqrt(p + v) * sqrt(q + v); /* gap = sp - sq */
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
    enum { STRIP = 128 }; /* rows summed together: the sums stay in the first-level cache */
    double dot[STRIP], cut[STRIP], inverse[STRIP], tilt[STRIP], minus2[STRIP], plus2[STRIP];
    for (ptrdiff_t from = 0; from < rows; from += STRIP) {
        ptrdiff_t some = epiqp_min(STRIP, rows - from);
        for (ptrdiff_t j = 0; j < cols; j++) {
            const double *y = b->x + (j0 + j) * b->d, sq = sqrt(b->norm2[j0 + j] + arch->v);
            for (ptrdiff_t i = 0; i < some; i++) {
                dot[i] = cut[i] = 0;
            }
            for (ptrdiff_t f = 0; f < a->d; f++) {
                const double *x = a->xt + f * a->n + i0 + from, yf = y[f];
                for (ptrdiff_t i = 0; i < some; i++) {
                    dot[i] += x[i] * yf;
                    cut[i] += (x[i] - yf) * (x[i] + yf);
                }
            }
            /* 2 e = |x/sp - x'/sq|^2 and 2 t = |x/sp + x'/sq|^2 in the coordinates (x, sqrt v). Written with x - x' (or
             * x + x') and tilt = (sp - sq)/(sp sq), neither equal nor parallel rows lose digits:
             * x/sp - x'/sq = (x - x')/sp - x' tilt. */
            for (ptrdiff_t i = 0; i < some; i++) {
                double sp = sqrt(a->norm2[i0 + from + i] + arch->v), spsq = sp * sq;
                bool zero = !(spsq > 0); /* then pair() looks at neither */
                double both = zero ? 0 : (sp + sq) / spsq;
                inverse[i] = zero ? 0 : 1 / sp;
                tilt[i] = zero ? 0 : cut[i] / (sp + sq) / spsq;
                minus2[i] = arch->v * tilt[i] * tilt[i];
                plus2[i] = arch->v * both * both;
            }
            for (ptrdiff_t f = 0; f < a->d; f++) {
                const double *x = a->xt + f * a->n + i0 + from, yf = y[f];
                for (ptrdiff_t i = 0; i < some; i++) {
                    double minus = (x[i] - yf) * inverse[i] - yf * tilt[i];
                    double plus = (x[i] + yf) * inverse[i] + yf * tilt[i];
                    minus2[i] += minus * minus;
                    plus2[i] += plus * plus;
                }
            }
            for (ptrdiff_t i = 0; i < some; i++) {
                ptrdiff_t at = from + i + j * ld;
                pair(arch, dot[i], cut[i], minus2[i] / 2, plus2[i] / 2, a->norm2[i0 + from + i], b->norm2[j0 + j],
                     k ? k + at : NULL, q ? q + at : NULL);
            }
        }
    }
}

void epiqp_kernel_diagonal(const epiqp_arch *arch, const epiqp_rows *a, double *k, double *q)
{
    for (ptrdiff_t i = 0; i < a->n; i++) {
        double s = a->norm2[i];
        pair(arch, s, 0, 0, 2, s, s, k ? k + i : NULL, q ? q + i : NULL);
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

epiqp_source epiqp_source_ntk(const epiqp_population *p)
{
    return (epiqp_source){ntk_block, p};
}
