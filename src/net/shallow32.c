/* shallow32.c - see shallow32.h; and many such networks (net.h). A vector holds several units; every sum has one fixed
 * order, so the bits depend on the instruction set alone.
 */
#include "net/net.h"

#include "la/lanes.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 64, MOST_LANES = 16 };

/* Every machine has these instructions, or the compiler emulates them. */
#define FOR_4
#define FORWARD_4 2
#define COLUMNS_4 8
#ifdef __aarch64__
#define FUSED_4(a, b, c) ((vector_4)vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b)))
#else
#define FUSED_4(a, b, c) ((a) * (b) + (c))
#endif
typedef int mask_4 __attribute__((vector_size(16)));
#define POSITIVE_4(f) ((f) > (vector_4){0})
#define KEEP_4(f, on) ((vector_4)((mask_4)(f) & (on)))
#define ROWS_4 EPIQP_SHALLOW32_ROWS
#define LANES 4
#include "net/shallow32_loops.h"

#ifdef X86_SETS
#define FOR_8 FOR_V3
#define FORWARD_8 2
#define COLUMNS_8 12
#define FUSED_8(a, b, c) ((vector_8)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
typedef int mask_8 __attribute__((vector_size(32)));
#define POSITIVE_8(f) ((f) > (vector_8){0})
#define KEEP_8(f, on) ((vector_8)((mask_8)(f) & (on)))
#define ROWS_8 EPIQP_SHALLOW32_ROWS
#define LANES 8
#include "net/shallow32_loops.h"

#define FOR_16 FOR_V4
#define FORWARD_16 4
#define COLUMNS_16 16
#define FUSED_16(a, b, c) ((vector_16)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
typedef __mmask16 mask_16; /* bits: those of a chunk stay in the first cache */
#define POSITIVE_16(f) _mm512_cmp_ps_mask((__m512)(f), _mm512_setzero_ps(), _CMP_GT_OQ)
#define KEEP_16(f, on) ((vector_16)_mm512_maskz_mov_ps(on, (__m512)(f)))
#define ROWS_16 EPIQP_SHALLOW32_MOST_ROWS
#define LANES 16
#include "net/shallow32_loops.h"
#endif

const epiqp_shallow32_loops *epiqp_shallow32_set(int k)
{
    static const epiqp_shallow32_loops plain = {forward_4, tangent_4, reverse_4, 4, ROWS_4};
#ifdef X86_SETS
    static const epiqp_shallow32_loops v3 = {forward_8, tangent_8, reverse_8, 8, ROWS_8},
                                       v4 = {forward_16, tangent_16, reverse_16, 16, ROWS_16};
    if (__builtin_cpu_supports("x86-64-v4") && k-- == 0) return &v4;
    if (__builtin_cpu_supports("x86-64-v3") && k-- == 0) return &v3;
#endif
    return k == 0 ? &plain : NULL;
}

int epiqp_shallow32_new(epiq_ctx *c, ptrdiff_t d, ptrdiff_t width, epiqp_shallow32 *out)
{
    ptrdiff_t blocks = (width + BLOCK - 1) / BLOCK, rows = EPIQP_SHALLOW32_MOST_ROWS;
    ptrdiff_t sums = blocks * (d + 1) * BLOCK, w = blocks * (d + 2) * BLOCK,
              on = blocks * EPIQP_SHALLOW32_ROWS * BLOCK; /* ints; bits of more rows are fewer */
    *out = (epiqp_shallow32){.d = d, .width = width, .blocks = blocks, .loops = epiqp_shallow32_set(0)};
    /* in this order every part starts at a multiple of 64 bytes, as vectors require */
    out->block = epiqp_alloc(c, sums + (2 * w + on + rows * MOST_LANES + rows * (d + 1) + 1) / 2, sizeof(double));
    if (!out->block) return EPIQ_E_NOMEM;
    out->sums = out->block;
    out->w = (void *)(out->sums + sums);
    out->v = out->w + w;
    out->on = (void *)(out->v + w);
    out->part = (float *)out->on + on;
    out->x = out->part + rows * MOST_LANES;
    return EPIQ_OK;
}

void epiqp_shallow32_free(epiq_ctx *c, epiqp_shallow32 *t)
{
    epiqp_free(c, t->block);
    t->block = NULL;
}

static double slope(const epiqp_shallow32 *t)
{
    return sqrt(2.0 / (double)t->width);
}

static void clear(epiqp_shallow32 *t)
{
    t->sum_u = 0;
    t->summed = false;
}

EPIQP_VERSIONS void epiqp_shallow32_begin(epiqp_shallow32 *t, double beta, const double *theta)
{
    const ptrdiff_t d = t->d;
    const double s = slope(t), *b = theta + t->width * d, *w2 = b + t->width;
    t->beta = beta;
    t->bias = beta * w2[t->width];
    clear(t);
    for (ptrdiff_t k = 0; k < t->blocks * BLOCK; k += BLOCK) {
        ptrdiff_t units = epiqp_min(BLOCK, t->width - k);
        float *w = t->w + k * (d + 2);
        if (units < BLOCK) memset(w, 0, (size_t)((d + 2) * BLOCK) * sizeof *w);
        for (ptrdiff_t j = 0; j < units; j++) {
            for (ptrdiff_t a = 0; a < d; a++) {
                w[a * BLOCK + j] = (float)(s * theta[(k + j) * d + a]);
            }
            w[d * BLOCK + j] = (float)(s * beta * b[k + j]);
            w[(d + 1) * BLOCK + j] = (float)w2[k + j];
        }
    }
}

EPIQP_VERSIONS void epiqp_shallow32_aim(epiqp_shallow32 *t, const double *theta, const float *v)
{
    const ptrdiff_t d = t->d, at_b = t->width * d, at_w2 = at_b + t->width;
    const double s = slope(t), beta = t->beta;
    t->bias_v = beta * (double)v[at_w2 + t->width];
    for (ptrdiff_t k = 0; k < t->blocks * BLOCK; k++) {
        float *to = t->v + k / BLOCK * BLOCK * (d + 2) + k % BLOCK;
        bool real = k < t->width; /* padding units of the last block are off */
        double w2 = real ? s * theta[at_w2 + k] : 0, v2 = real ? s * (double)v[at_w2 + k] : 0;
        for (ptrdiff_t a = 0; a < d; a++) {
            to[a * BLOCK] = real ? (float)(w2 * (double)v[k * d + a] + v2 * theta[k * d + a]) : 0;
        }
        to[d * BLOCK] = real ? (float)(beta * (w2 * (double)v[at_b + k] + v2 * theta[at_b + k])) : 0;
    }
}

enum { ABREAST = 4 };

/* grad (units by d) += the first d rows of sum, transposed: some units at a time, each a stream of its own */
INLINE void add_transposed(ptrdiff_t units, ptrdiff_t d, const double *sum, double *grad)
{
    if (units < ABREAST) {
        for (ptrdiff_t j = 0; j < units; j++) {
            for (ptrdiff_t a = 0; a < d; a++) {
                grad[j * d + a] += sum[a * BLOCK + j];
            }
        }
        return;
    }
    double *one = grad, *two = one + d, *three = two + d, *four = three + d;
    for (ptrdiff_t a = 0; a < d; a++, sum += BLOCK) {
        one[a] += sum[0];
        two[a] += sum[1];
        three[a] += sum[2];
        four[a] += sum[3];
    }
}

EPIQP_VERSIONS void epiqp_shallow32_end(epiqp_shallow32 *t, double *grad)
{
    const ptrdiff_t d = t->d;
    const double s = slope(t), beta = t->beta;
    double *b = grad + t->width * d, *w2 = b + t->width;
    for (ptrdiff_t k = 0; t->summed && k < t->blocks * BLOCK; k += BLOCK) {
        const float *w = t->w + k * (d + 2);
        double *sum = t->sums + k * (d + 1), out[BLOCK] = {0};
        for (ptrdiff_t a = 0; a <= d; a++) {
            for (int j = 0; j < BLOCK; j++) {
                out[j] += (double)w[a * BLOCK + j] * sum[a * BLOCK + j];
                sum[a * BLOCK + j] *= s * (double)w[(d + 1) * BLOCK + j];
            }
        }
        ptrdiff_t units = epiqp_min(BLOCK, t->width - k);
        for (ptrdiff_t j = 0; j < units; j += ABREAST) {
            add_transposed(epiqp_min(ABREAST, units - j), d, sum + j, grad + (k + j) * d);
        }
        for (ptrdiff_t j = 0; j < units; j++) {
            b[k + j] += beta * sum[d * BLOCK + j];
            w2[k + j] += out[j];
        }
    }
    w2[t->width] += beta * t->sum_u;
    clear(t);
}

static void add(ptrdiff_t rows, double bias, double *h)
{
    for (ptrdiff_t i = 0; i < rows; i++) {
        h[i] += bias;
    }
}

void epiqp_shallow32_forward(epiqp_shallow32 *t, ptrdiff_t rows, const double *x, double *h)
{
    const ptrdiff_t d = t->d;
    for (ptrdiff_t i = 0; i < rows; i++) {
        for (ptrdiff_t a = 0; a < d; a++) {
            t->x[i * (d + 1) + a] = (float)x[i * d + a];
        }
        t->x[i * (d + 1) + d] = 1;
    }
    t->loops->forward(t, rows, h);
    add(rows, t->bias, h);
}

void epiqp_shallow32_tangent(epiqp_shallow32 *t, ptrdiff_t rows, double *h)
{
    t->loops->tangent(t, rows, h);
    add(rows, t->bias_v, h);
}

void epiqp_shallow32_reverse(epiqp_shallow32 *t, ptrdiff_t rows, const double *u)
{
    float single[EPIQP_SHALLOW32_MOST_ROWS];
    for (ptrdiff_t i = 0; i < rows; i++) {
        single[i] = (float)u[i];
        t->sum_u += u[i];
    }
    t->loops->reverse(t, rows, single);
}

/* ---- many networks ---- */

static const double LARGEST = 1e6;   /* of weights and of |x|: sums of products of three fit a float */
static const double SMALLEST = 1e-6; /* of |x|: products of smaller numbers would underflow */

int epiqp_shallow32_ensemble_new(epiq_ctx *c, const epiqp_net *net, ptrdiff_t count, const double *theta,
                                 epiqp_shallow32_ensemble *out)
{
    *out = (epiqp_shallow32_ensemble){.count = count};
    const ptrdiff_t d = net->d, width = net->width, p = epiqp_net_params(net);
    bool ordinary = net->depth == 1 && d <= EPIQP_SHALLOW32_FEATURES && net->beta <= LARGEST;
    for (ptrdiff_t i = 0; ordinary && i < count * p; i++) {
        ordinary = fabs(theta[i]) <= LARGEST;
    }
    if (!ordinary) return EPIQ_OK;
    epiqp_shallow32 scratch;
    if (epiqp_shallow32_new(c, d, width, &scratch)) return EPIQ_E_NOMEM;
    float *own = scratch.w;
    out->size = scratch.v - scratch.w;
    out->w = epiqp_alloc(c, count * out->size, sizeof *out->w);
    out->bias = epiqp_alloc(c, count, sizeof *out->bias);
    for (ptrdiff_t k = 0; out->w && out->bias && k < count; k++) {
        const double *one = theta + k * p, *b = one + width * d, *w2 = b + width;
        scratch.w = out->w + k * out->size;
        epiqp_shallow32_begin(&scratch, net->beta, one);
        out->bias[k] = scratch.bias;
        for (ptrdiff_t j = 0; j < width; j++) {
            double norm2 = epiqp_dot(d, one + j * d, one + j * d) + net->beta * net->beta * b[j] * b[j];
            out->gain += w2[j] * w2[j] * norm2 * 2 / (double)width / (double)count;
        }
    }
    /* A lane adds four units at a time; from 64 additions on, the rounding of these sums dominates. */
    double times = (double)width / (4 * scratch.loops->lanes);
    out->gain = sqrt(out->gain * fmax(1, times / 64));
    scratch.w = own;
    epiqp_shallow32_free(c, &scratch);
    if (!out->w || !out->bias) {
        epiqp_shallow32_ensemble_free(c, out);
        return EPIQ_E_NOMEM;
    }
    return EPIQ_OK;
}

void epiqp_shallow32_ensemble_free(epiq_ctx *c, epiqp_shallow32_ensemble *s)
{
    epiqp_free(c, s->w);
    epiqp_free(c, s->bias);
    *s = (epiqp_shallow32_ensemble){0};
}

double epiqp_shallow32_ensemble_error(const epiqp_shallow32_ensemble *s, const epiqp_net *net, const double *x)
{
    double size = sqrt(epiqp_dot(net->d, x, x) + net->beta * net->beta);
    return size >= SMALLEST && size <= LARGEST ? s->gain * size * FLT_EPSILON / 2 : INFINITY;
}

void epiqp_shallow32_ensemble_forward(const epiqp_shallow32_ensemble *s, ptrdiff_t k, epiqp_shallow32 *scratch,
                                      ptrdiff_t rows, const double *x, double *h)
{
    epiqp_shallow32 mine = *scratch;
    mine.w = s->w + k * s->size;
    mine.bias = s->bias[k];
    epiqp_shallow32_forward(&mine, rows, x, h);
}
