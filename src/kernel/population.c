/* population.c - the NTK and NNGP recursion of docs/method.md section 2, carried in e = 1 - rho so that rows which
 * nearly coincide (e near 0) or oppose each other (e near 2) keep all their digits; acos(rho) would lose half of them.
 * one_pair() is the method in plain C; population_loops.h does many pairs at once and leaves the special ones to it.
 */
#include "kernel/kernel.h"
#include "la/lanes.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

epiqp_arch epiqp_arch_of(const epiqp_net *net)
{
    double b = net->beta * net->bias_sd;
    return (epiqp_arch){net->depth, net->beta, b * b};
}

int epiqp_rows_new(epiq_ctx *c, ptrdiff_t n, ptrdiff_t d, const double *x, epiqp_rows *out)
{
    ptrdiff_t room = (n + EPIQP_PANEL - 1) / EPIQP_PANEL * EPIQP_PANEL;
    *out = (epiqp_rows){n, d, x, epiqp_alloc(c, room * d, sizeof(double)), epiqp_alloc(c, room, sizeof(double))};
    int status = out->panels && out->norm2 ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; !status && i < room; i++) {
        double *to = out->panels + i / EPIQP_PANEL * EPIQP_PANEL * d + i % EPIQP_PANEL;
        for (ptrdiff_t f = 0; f < d; f++) {
            to[f * EPIQP_PANEL] = i < n ? x[i * d + f] : 0;
        }
        out->norm2[i] = i < n ? epiqp_dot(d, x + i * d, x + i * d) : 0;
        if (!(out->norm2[i] <= EPIQP_LARGEST_SQUARE)) {
            status = epiqp_fail(c, EPIQ_E_NUMERIC, "row %td is too large to be squared; use {--scale} standard", i + 1);
        }
    }
    if (status) epiqp_rows_free(c, out);
    return status;
}

void epiqp_rows_free(epiq_ctx *c, epiqp_rows *r)
{
    epiqp_free(c, r->panels);
    epiqp_free(c, r->norm2);
    r->panels = r->norm2 = NULL;
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

/* The recursion for one pair, from x.x', diff2 = |x|^2 - |x'|^2, and e = 1 - rho and t = 1 + rho of the first layer. */
static void pair(const epiqp_arch *arch, double dot, double diff2, double e, double t, double p, double q,
                 double *k_out, double *q_out)
{
    const double v = arch->v, beta2 = arch->beta * arch->beta;
    double K = dot + beta2, Q = dot + v;
    p += v;
    q += v;
    for (ptrdiff_t l = 0; l < arch->depth; l++, p += v, q += v) {
        double sp = sqrt(p), sq = sqrt(q), spsq = sp * sq;
        if (!(spsq > 0)) { /* a zero row without bias: this layer passes on nothing but the bias */
            K = beta2;
            Q = v;
            continue;
        }
        double pi_minus_a, sine, o; /* a: the angle */
        if (l == 0 && t < 1) {
            /* This happens in the first layer only: after a layer rho is never negative. t is the smaller of the two:
             * 1 - o = (sin a + (pi - a) cos a) / pi without a difference of large numbers. */
            pi_minus_a = 2 * asin(sqrt(t / 2));
            sine = sqrt(t * (2 - t));
            double rest = sine_minus(pi_minus_a, t, sine) / PI;
            o = 1 - rest;
            Q = spsq * rest + v;
        } else {
            e = fmin(e, 1);
            double a = 2 * asin(sqrt(e / 2));
            pi_minus_a = PI - a;
            sine = sqrt(e * (2 - e));
            o = e - sine_minus(a, e, sine) / PI;
            Q = spsq * (1 - o) + v;
        }
        K = K * pi_minus_a / PI + (Q - v) + beta2;
        double gap = diff2 / (sp + sq), r = sqrt(p + v) * sqrt(q + v); /* gap = sp - sq */
        e = (spsq * o + v * gap * gap / (r + spsq + v)) / r;
    }
    if (k_out) *k_out = K;
    if (q_out) *q_out = Q;
}

/* K and Q of row i of a with row j of b */
static void one_pair(const epiqp_arch *arch, const epiqp_rows *a, ptrdiff_t i, const epiqp_rows *b, ptrdiff_t j,
                     double *k, double *q)
{
    const double *x = a->x + i * a->d, *y = b->x + j * b->d, v = arch->v;
    if (x == y) { /* the same row: the dot product is its norm, and the angle is 0 */
        pair(arch, a->norm2[i], 0, 0, 2, a->norm2[i], a->norm2[i], k, q);
        return;
    }
    double dot = 0, diff2 = 0, sp = sqrt(a->norm2[i] + v), sq = sqrt(b->norm2[j] + v), spsq = sp * sq;
    for (ptrdiff_t f = 0; f < a->d; f++) {
        dot += x[f] * y[f];
        diff2 += (x[f] - y[f]) * (x[f] + y[f]);
    }
    /* 2 e = |x/sp - x'/sq|^2 and 2 t = |x/sp + x'/sq|^2 in the coordinates (x, sqrt v). Written with x - x' (or x +
     * x') and inverse_gap = (sp - sq)/(sp sq), neither equal nor parallel rows lose digits: where x' is the smaller
     * row, x/sp - x'/sq = (x - x')/sp - x' inverse_gap, otherwise (x - x')/sq - x inverse_gap: no term is larger than
     * the result can be. */
    bool zero = !(spsq > 0); /* then pair() uses neither */
    double inverse = zero ? 0 : 1 / fmax(sp, sq), inverse_gap = zero ? 0 : diff2 / (sp + sq) / spsq;
    double both = zero ? 0 : (sp + sq) / spsq, minus2 = v * inverse_gap * inverse_gap, plus2 = v * both * both;
    for (ptrdiff_t f = 0; f < a->d; f++) {
        double minus = (x[f] - y[f]) * inverse - (sp < sq ? x[f] : y[f]) * inverse_gap;
        double plus = (x[f] + y[f]) * inverse - (sp < sq ? x[f] : -y[f]) * inverse_gap;
        minus2 += minus * minus;
        plus2 += plus * plus;
    }
    pair(arch, dot, diff2, minus2 / 2, plus2 / 2, a->norm2[i], b->norm2[j], k, q);
}

static void plain(const epiqp_arch *arch, const epiqp_rows *a, ptrdiff_t i0, ptrdiff_t rows, const epiqp_rows *b,
                  ptrdiff_t j0, ptrdiff_t cols, double *k, double *q, ptrdiff_t ld)
{
    for (ptrdiff_t j = 0; j < cols; j++) {
        for (ptrdiff_t i = 0; i < rows; i++) {
            one_pair(arch, a, i0 + i, b, j0 + j, k ? k + i + j * ld : NULL, q ? q + i + j * ld : NULL);
        }
    }
}

/* The angle a, and by how much it reduces Q, with w the smaller of e and t: a / pi = sqrt(2 w) ANGLE(w) and (sin a -
 * a cos a) / pi = sqrt(2 w)^3 SINE_MINUS(w), polynomials of least relative error on [0, 1]: 1.6e-17 and 3.9e-17.
 * Nothing cancels at any w, and small w are no special case. */
enum { ANGLE_TERMS = 19, SINE_MINUS_TERMS = 17 };
static const double ANGLE[ANGLE_TERMS] = {
    0.31830988618379069,    0.026525823848645737,    0.0059683103663539464,  0.0017762828280873059,
    0.00060443004288367912, 0.00022253308395272706,  8.6373657270228201e-05, 3.4257537969841445e-05,
    1.671884727431212e-05,  -2.7010277085793496e-06, 2.7254314454614481e-05, -5.156788422921354e-05,
    8.6367065458521641e-05, -0.00010570276189163565, 9.7526973310756157e-05, -6.4847108999600115e-05,
    2.9702990494160698e-05, -8.3852584821511615e-06, 1.1268946384286563e-06,
};
static const double SINE_MINUS[SINE_MINUS_TERMS] = {
    0.1061032953945969,     0.0053051647697275571,  0.00085261576677719169, 0.00019736475290034063,
    5.4948296418815088e-05, 1.7116666278672964e-05, 5.7675506694013303e-06, 1.9688078015021016e-06,
    1.0390429604218556e-06, -5.018919021177781e-07, 1.7434354523488211e-06, -2.4337379056395207e-06,
    2.7725504204976849e-06, -2.171784560077617e-06, 1.1731924275052327e-06, -3.8400442355035839e-07,
    6.0711998490283105e-08,
};

/* Pairs with e or t below NEAR compute it as one_pair() does, as a sum of squares; the others from 1 - |rho|, whose
 * error is a few eps: those of the dot product, and 3 of the roots. That is at most 2.1 times as much in the angle
 * (1/sin a), and 12 times as much, relatively, in the Q of nearly opposite rows (1.5/NEAR): the level of the rounding
 * in K. In the data sets of the studies 1 to 6 of 100 pairs are below NEAR. */
static const double NEAR = 0.125;

/* Rows too small for reciprocals, mostly zero rows without bias, are left to one_pair(). */
static const double TOO_SMALL = 1e-290;
static inline bool too_small(double p)
{
    return !(p >= TOO_SMALL);
}

/* Computes again what the vector loops cannot: pairs with a row that is too small, and a row with itself, whose angle
 * is exactly 0. */
static void redo_special(const epiqp_arch *arch, const epiqp_rows *a, ptrdiff_t i0, ptrdiff_t rows, const epiqp_rows *b,
                         ptrdiff_t j0, ptrdiff_t cols, double *k, double *q, ptrdiff_t ld)
{
    for (ptrdiff_t j = 0; j < cols; j++) {
        if (too_small(b->norm2[j0 + j] + arch->v)) {
            plain(arch, a, i0, rows, b, j0 + j, 1, k ? k + j * ld : NULL, q ? q + j * ld : NULL, ld);
        }
    }
    for (ptrdiff_t i = 0; i < rows; i++) {
        if (too_small(a->norm2[i0 + i] + arch->v)) {
            plain(arch, a, i0 + i, 1, b, j0, cols, k ? k + i : NULL, q ? q + i : NULL, ld);
        }
        ptrdiff_t j = i0 + i - j0;
        if (a->x == b->x && j >= 0 && j < cols) {
            one_pair(arch, a, i0 + i, b, i0 + i, k ? k + i + j * ld : NULL, q ? q + i + j * ld : NULL);
        }
    }
}

enum { COLUMNS = 4 }; /* of a tile: with two vectors of rows the eight sums stay in registers */

/* Every machine has these instructions, or the compiler emulates them. */
#define FOR_2
#define ROOT_2(x) ((vector_2){sqrt((x)[0]), sqrt((x)[1])})
#define ANY_2(m) (((m)[0] | (m)[1]) != 0)
#ifdef __aarch64__
#define FUSED_2(a, b, c) ((vector_2)vfmaq_f64((float64x2_t)(c), (float64x2_t)(a), (float64x2_t)(b)))
#else
#define FUSED_2(a, b, c) ((a) * (b) + (c))
#endif
#define LANES 2
#include "kernel/population_loops.h"

#ifdef X86_SETS
#define FOR_4 FOR_V3
#define ROOT_4(x) ((vector_4)_mm256_sqrt_pd((__m256d)(x)))
#define ANY_4(m) (_mm256_movemask_pd((__m256d)(m)) != 0)
#define FUSED_4(a, b, c) ((vector_4)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define LANES 4
#include "kernel/population_loops.h"

#define FOR_8 FOR_V4
#define ROOT_8(x) ((vector_8)_mm512_sqrt_pd((__m512d)(x)))
#define ANY_8(m) (_mm512_movepi64_mask((__m512i)(m)) != 0)
#define FUSED_8(a, b, c) ((vector_8)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define LANES 8
#include "kernel/population_loops.h"
#endif

epiqp_kernel_loop *epiqp_kernel_set(int k)
{
#ifdef X86_SETS
    if (__builtin_cpu_supports("x86-64-v4") && k-- == 0) return block_8;
    if (__builtin_cpu_supports("x86-64-v3") && k-- == 0) return block_4;
#endif
    return k == 0 ? block_2 : k == 1 ? plain : NULL;
}

void epiqp_kernel_block(const epiqp_arch *arch, const epiqp_rows *a, ptrdiff_t i0, ptrdiff_t rows, const epiqp_rows *b,
                        ptrdiff_t j0, ptrdiff_t cols, double *k, double *q, ptrdiff_t ld)
{
    epiqp_kernel_set(0)(arch, a, i0, rows, b, j0, cols, k, q, ld);
}

void epiqp_kernel_diagonal(const epiqp_arch *arch, const epiqp_rows *a, double *k, double *q)
{
    for (ptrdiff_t i = 0; i < a->n; i++) {
        double s = a->norm2[i];
        pair(arch, s, 0, 0, 2, s, s, k ? k + i : NULL, q ? q + i : NULL);
    }
}

/* Copies the block at (i, j) of an n by n matrix, unless that is NULL, transposed, to its place above the diagonal. */
static void mirror(ptrdiff_t n, ptrdiff_t i, ptrdiff_t rows, ptrdiff_t j, ptrdiff_t cols, double *k)
{
    for (ptrdiff_t r = i; k && i > j && r < i + rows; r++) {
        for (ptrdiff_t c = j; c < j + cols; c++) {
            k[c + r * n] = k[r + c * n];
        }
    }
}

/* K and Q of rows with themselves: half of the blocks are computed, the others copied. */
static void kernel_square(const epiqp_env *e, const epiqp_arch *arch, const epiqp_rows *a, double *k, double *q)
{
    enum { SIDE = 128 }; /* the block that is copied is still in the cache */
#pragma omp parallel for schedule(dynamic) num_threads(e->threads) if (a->n > SIDE)
    for (ptrdiff_t j = 0; j < a->n; j += SIDE) { /* the longest first */
        for (ptrdiff_t i = j; i < a->n; i += SIDE) {
            ptrdiff_t rows = epiqp_min(SIDE, a->n - i), cols = epiqp_min(SIDE, a->n - j), at = i + j * a->n;
            epiqp_kernel_block(arch, a, i, rows, a, j, cols, k ? k + at : NULL, q ? q + at : NULL, a->n);
            mirror(a->n, i, rows, j, cols, k);
            mirror(a->n, i, rows, j, cols, q);
        }
    }
}

void epiqp_kernel_cross(const epiqp_env *e, const epiqp_arch *arch, const epiqp_rows *a, const epiqp_rows *b, double *k,
                        double *q)
{
    /* one task: small enough for few points, large enough to repay what a block prepares */
    enum { TALL = 512, WIDE = 32 };
    if (a == b) {
        kernel_square(e, arch, a, k, q);
        return;
    }
#pragma omp parallel for schedule(dynamic) collapse(2) num_threads(e->threads) if (a->n * b->n > 20000)
    for (ptrdiff_t j = 0; j < b->n; j += WIDE) {
        for (ptrdiff_t i = 0; i < a->n; i += TALL) {
            ptrdiff_t at = i + j * a->n;
            epiqp_kernel_block(arch, a, i, epiqp_min(TALL, a->n - i), b, j, epiqp_min(WIDE, b->n - j),
                               k ? k + at : NULL, q ? q + at : NULL, a->n);
        }
    }
}

static void ntk_block(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                      ptrdiff_t ld)
{
    const epiqp_population *p = self;
    epiqp_kernel_block(p->arch, p->rows, i0, rows, p->rows, j0, cols, out, NULL, ld);
}

epiq_device_kernel epiqp_kernel_described(const epiqp_arch *arch, const epiqp_rows *rows)
{
    return (epiq_device_kernel){arch->depth, arch->beta, arch->v, rows->n, rows->d, rows->x};
}

static void ntk_described(const void *self, epiq_device_kernel *out)
{
    const epiqp_population *p = self;
    *out = epiqp_kernel_described(p->arch, p->rows);
}

epiqp_source epiqp_source_ntk(const epiqp_population *p)
{
    return (epiqp_source){.block = ntk_block, .self = p, .describe = ntk_described};
}
