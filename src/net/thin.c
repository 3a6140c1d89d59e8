/* thin.c - see thin.h. As many units go together as a vector holds; every sum runs in one fixed order, so the bits
 * depend on the instruction set alone.
 */
#include "net/thin.h"

#include "la/vector.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 64, MOST_LANES = 16 };

#define INLINE static inline __attribute__((always_inline))

/* What every machine has, or the compiler makes from what it has */
#define LANES 4
#define TARGET
#define NAME(x) x##_4
#define FORWARD 2
#define COLUMNS 8
#ifdef __aarch64__
#include <arm_neon.h>
#define FUSED(a, b, c) ((vector_4)vfmaq_f32((float32x4_t)(c), (float32x4_t)(a), (float32x4_t)(b)))
#else
#define FUSED(a, b, c) ((a) * (b) + (c))
#endif
#include "net/thin_loops.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define X86_SETS
#include <immintrin.h>
/* What is needed is added to what the compiler was told to use anyway: immintrin.h's functions want to be inlined where
 * at least that may be used. */
#define LANES 8
#define TARGET __attribute__((target("avx2,fma")))
#define NAME(x) x##_8
#define FORWARD 2
#define COLUMNS 12
#define FUSED(a, b, c) ((vector_8)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#include "net/thin_loops.h"

#define LANES 16
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma")))
#define NAME(x) x##_16
#define FORWARD 4
#define COLUMNS 16
#define FUSED(a, b, c) ((vector_16)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#include "net/thin_loops.h"
#endif

const epiqp_thin_loops *epiqp_thin_set(int k)
{
    static const epiqp_thin_loops plain = {forward_4, tangent_4, reverse_4, 4};
#ifdef X86_SETS
    static const epiqp_thin_loops v3 = {forward_8, tangent_8, reverse_8, 8},
                                  v4 = {forward_16, tangent_16, reverse_16, 16};
    if (__builtin_cpu_supports("x86-64-v4") && k-- == 0) {
        return &v4;
    }
    if (__builtin_cpu_supports("x86-64-v3") && k-- == 0) {
        return &v3;
    }
#endif
    return k == 0 ? &plain : NULL;
}

int epiqp_thin_new(epiq_ctx *c, ptrdiff_t d, ptrdiff_t width, epiqp_thin *out)
{
    ptrdiff_t blocks = (width + BLOCK - 1) / BLOCK, rows = EPIQP_THIN_ROWS;
    ptrdiff_t sums = blocks * (d + 1) * BLOCK, w = blocks * (d + 2) * BLOCK, on = blocks * rows * BLOCK;
    *out = (epiqp_thin){.d = d, .width = width, .blocks = blocks, .loops = epiqp_thin_set(0)};
    /* in this order every part starts at a multiple of 64 bytes, as vectors must */
    out->block = epiqp_alloc(c, sums + (2 * w + on + rows * MOST_LANES + rows * (d + 1) + 1) / 2, sizeof(double));
    if (!out->block) {
        return EPIQ_E_NOMEM;
    }
    out->sums = out->block;
    out->w = (void *)(out->sums + sums);
    out->v = out->w + w;
    out->on = (void *)(out->v + w);
    out->part = (void *)(out->on + on);
    out->x = out->part + rows * MOST_LANES;
    return EPIQ_OK;
}

void epiqp_thin_free(epiq_ctx *c, epiqp_thin *t)
{
    epiqp_free(c, t->block);
    t->block = NULL;
}

static double slope(const epiqp_thin *t)
{
    return sqrt(2.0 / (double)t->width);
}

EPIQP_VERSIONS void epiqp_thin_begin(epiqp_thin *t, double beta, const double *theta)
{
    const ptrdiff_t d = t->d;
    const double s = slope(t), *b = theta + t->width * d, *w2 = b + t->width;
    memset(t->sums, 0, (size_t)(t->blocks * (d + 1) * BLOCK) * sizeof *t->sums);
    for (ptrdiff_t k = 0; k < t->blocks * BLOCK; k += BLOCK) {
        ptrdiff_t units = epiqp_min(BLOCK, t->width - k);
        float *w = t->w + k * (d + 2);
        if (units < BLOCK) {
            memset(w, 0, (size_t)((d + 2) * BLOCK) * sizeof *w);
        }
        for (ptrdiff_t j = 0; j < units; j++) {
            for (ptrdiff_t a = 0; a < d; a++) {
                w[a * BLOCK + j] = (float)(s * theta[(k + j) * d + a]);
            }
            w[d * BLOCK + j] = (float)(s * beta * b[k + j]);
            w[(d + 1) * BLOCK + j] = (float)w2[k + j];
        }
    }
}

EPIQP_VERSIONS void epiqp_thin_aim(epiqp_thin *t, double beta, const double *theta, const double *v)
{
    const ptrdiff_t d = t->d, at_b = t->width * d, at_w2 = at_b + t->width;
    const double s = slope(t);
    for (ptrdiff_t k = 0; k < t->blocks * BLOCK; k++) {
        float *to = t->v + k / BLOCK * BLOCK * (d + 2) + k % BLOCK;
        bool real = k < t->width; /* units that fill the last block up are off */
        double w2 = real ? s * theta[at_w2 + k] : 0, v2 = real ? s * v[at_w2 + k] : 0;
        for (ptrdiff_t a = 0; a < d; a++) {
            to[a * BLOCK] = real ? (float)(w2 * v[k * d + a] + v2 * theta[k * d + a]) : 0;
        }
        to[d * BLOCK] = real ? (float)(beta * (w2 * v[at_b + k] + v2 * theta[at_b + k])) : 0;
    }
}

EPIQP_VERSIONS void epiqp_thin_end(epiqp_thin *t, double beta, double *grad)
{
    const ptrdiff_t d = t->d;
    const double s = slope(t);
    double *b = grad + t->width * d, *w2 = b + t->width;
    for (ptrdiff_t k = 0; k < t->blocks * BLOCK; k += BLOCK) {
        const float *w = t->w + k * (d + 2);
        double *sum = t->sums + k * (d + 1), out[BLOCK] = {0};
        for (ptrdiff_t a = 0; a <= d; a++) {
            for (int j = 0; j < BLOCK; j++) {
                out[j] += (double)w[a * BLOCK + j] * sum[a * BLOCK + j];
                sum[a * BLOCK + j] *= s * (double)w[(d + 1) * BLOCK + j];
            }
        }
        ptrdiff_t units = epiqp_min(BLOCK, t->width - k);
        for (ptrdiff_t j = 0; j < units; j++) {
            for (ptrdiff_t a = 0; a < d; a++) {
                grad[(k + j) * d + a] += sum[a * BLOCK + j];
            }
            b[k + j] += beta * sum[d * BLOCK + j];
            w2[k + j] += out[j];
        }
    }
}

void epiqp_thin_forward(epiqp_thin *t, ptrdiff_t rows, const double *x, double *h)
{
    const ptrdiff_t d = t->d;
    for (ptrdiff_t i = 0; i < rows; i++) {
        for (ptrdiff_t a = 0; a < d; a++) {
            t->x[i * (d + 1) + a] = (float)x[i * d + a];
        }
        t->x[i * (d + 1) + d] = 1;
    }
    t->loops->forward(t, rows, h);
}

void epiqp_thin_tangent(epiqp_thin *t, ptrdiff_t rows, double *h)
{
    t->loops->tangent(t, rows, h);
}

void epiqp_thin_reverse(epiqp_thin *t, ptrdiff_t rows, const double *u)
{
    float single[EPIQP_THIN_ROWS];
    for (ptrdiff_t i = 0; i < rows; i++) {
        single[i] = (float)u[i];
    }
    t->loops->reverse(t, rows, single);
}
