/* thin.c - see thin.h. Eight units go together in one vector; every unit's sums run over features and rows in one fixed
 * order, so the bits depend on the instruction set alone.
 */
#include "net/thin.h"

#include "la/vector.h"

#include <math.h>
#include <string.h>

typedef double v8 __attribute__((vector_size(64)));
typedef long long m8 __attribute__((vector_size(64)));
enum { PAD = 32 };

#define INLINE static inline __attribute__((always_inline))

INLINE v8 *at(double *p)
{
    return (v8 *)(void *)p; /* all our blocks are 64-byte aligned */
}

int epiqp_thin_new(epiq_ctx *c, ptrdiff_t d, ptrdiff_t width, epiqp_thin *out)
{
    ptrdiff_t w = (width + PAD - 1) / PAD * PAD;
    ptrdiff_t stride = w + 8; /* not a power of two: rows a power of two apart would share a few lines of the cache */
    *out = (epiqp_thin){.d = d, .width = width, .padded = w, .stride = stride};
    out->block = epiqp_alloc(c, 2 * (d + 2) * stride + EPIQP_THIN_ROWS * (stride + 8), sizeof(double));
    if (!out->block) {
        return EPIQ_E_NOMEM;
    }
    out->wt = out->block;
    out->b = out->wt + d * stride;
    out->w2 = out->b + stride;
    out->gwt = out->w2 + stride;
    out->gb = out->gwt + d * stride;
    out->gw2 = out->gb + stride;
    out->g = out->gw2 + stride;
    out->sums = out->g + EPIQP_THIN_ROWS * stride;
    return EPIQ_OK;
}

void epiqp_thin_free(epiq_ctx *c, epiqp_thin *t)
{
    epiqp_free(c, t->block);
    t->block = NULL;
}

void epiqp_thin_begin(epiqp_thin *t, double beta, const double *theta)
{
    const double *b = theta + t->width * t->d, *w2 = b + t->width;
    memset(t->block, 0, (size_t)(2 * (t->d + 2) * t->stride) * sizeof(double));
    for (ptrdiff_t k = 0; k < t->width; k++) {
        for (ptrdiff_t f = 0; f < t->d; f++) {
            t->wt[f * t->stride + k] = theta[k * t->d + f];
        }
        t->b[k] = beta * b[k];
        t->w2[k] = w2[k];
    }
}

void epiqp_thin_end(const epiqp_thin *t, double beta, double *grad)
{
    double *b = grad + t->width * t->d, *w2 = b + t->width;
    for (ptrdiff_t k = 0; k < t->width; k++) {
        for (ptrdiff_t f = 0; f < t->d; f++) {
            grad[k * t->d + f] += t->gwt[f * t->stride + k];
        }
        b[k] += beta * t->gb[k];
        w2[k] += t->gw2[k];
    }
}

/* Rows i and, if there are two, i + 1, over the 32 units from k. */
INLINE void forward_tile(epiqp_thin *t, ptrdiff_t i, int two, ptrdiff_t k, const double *x, double s)
{
    v8 f[2][4];
    const double *x0 = x + i * t->d, *x1 = x0 + (two ? t->d : 0);
    for (int j = 0; j < 4; j++) {
        f[0][j] = f[1][j] = at(t->b + k)[j];
    }
    for (ptrdiff_t a = 0; a < t->d; a++) {
        const v8 *w = at(t->wt + a * t->stride + k);
        for (int j = 0; j < 4; j++) {
            f[0][j] += x0[a] * w[j];
            f[1][j] += x1[a] * w[j];
        }
    }
    for (int r = 0; r <= two; r++) {
        v8 *g = at(t->g + (i + r) * t->stride + k), *sum = at(t->sums + (i + r) * 8), zero = {0}, part = zero;
        for (int j = 0; j < 4; j++) {
            v8 on = (v8)((m8)(s * f[r][j]) & (f[r][j] > zero));
            part += on * at(t->w2 + k)[j];
            g[j] = on;
        }
        *sum += part;
    }
}

EPIQP_VERSIONS void epiqp_thin_forward(epiqp_thin *t, ptrdiff_t rows, const double *x, double *h)
{
    const double s = sqrt(2.0 / (double)t->width);
    memset(t->sums, 0, (size_t)rows * 8 * sizeof(double));
    for (ptrdiff_t k = 0; k < t->padded; k += PAD) {
        for (ptrdiff_t i = 0; i + 1 < rows; i += 2) {
            forward_tile(t, i, 1, k, x, s);
        }
        if (rows % 2) {
            forward_tile(t, rows - 1, 0, k, x, s);
        }
    }
    for (ptrdiff_t i = 0; i < rows; i++) {
        const double *q = t->sums + i * 8;
        h[i] = ((q[0] + q[1]) + (q[2] + q[3])) + ((q[4] + q[5]) + (q[6] + q[7]));
    }
}

/* Eight units from k, `count` features from a: sums over the rows. The first features also take the biases and W_2. */
INLINE void reverse_tile(epiqp_thin *t, ptrdiff_t rows, const double *x, const double *u, double s, ptrdiff_t k,
                         ptrdiff_t a, int count)
{
    v8 w = s * *at(t->w2 + k), zero = {0}, sum[8], bias = zero, out = zero;
    for (int j = 0; j < count; j++) {
        sum[j] = zero;
    }
    for (ptrdiff_t i = 0; i < rows; i++) {
        v8 g = *at(t->g + i * t->stride + k);
        v8 delta = (v8)((m8)(u[i] * w) & (g > zero));
        if (a == 0) {
            bias += delta;
            out += u[i] * g;
        }
        for (int j = 0; j < count; j++) {
            sum[j] += x[i * t->d + a + j] * delta;
        }
    }
    for (int j = 0; j < count; j++) {
        *at(t->gwt + (a + j) * t->stride + k) += sum[j];
    }
    if (a == 0) {
        *at(t->gb + k) += bias;
        *at(t->gw2 + k) += out;
    }
}

EPIQP_VERSIONS void epiqp_thin_reverse(epiqp_thin *t, ptrdiff_t rows, const double *x, const double *u)
{
    const double s = sqrt(2.0 / (double)t->width);
    for (ptrdiff_t k = 0; k < t->padded; k += 8) {
        for (ptrdiff_t a = 0; a < t->d; a += 8) {
            switch (epiqp_min(8, t->d - a)) { /* a constant count keeps the sums in registers */
#define TILE(count)                                                                                                    \
    case count:                                                                                                        \
        reverse_tile(t, rows, x, u, s, k, a, count);                                                                   \
        break;
                TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6) TILE(7) TILE(8)
#undef TILE
            }
        }
    }
}
