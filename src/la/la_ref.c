/* la_ref.c - the reference backend: short, obvious loops in one fixed order. */
#include "la/la.h"

#include <math.h>
#include <string.h>

static double at(char t, const double *a, ptrdiff_t lda, ptrdiff_t i, ptrdiff_t j)
{
    return t == 'N' ? a[i + j * lda] : a[j + i * lda];
}

static void gemm(char ta, char tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha, const double *a, ptrdiff_t lda,
                 const double *b, ptrdiff_t ldb, double beta, double *c, ptrdiff_t ldc)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        for (ptrdiff_t i = 0; i < m; i++) {
            double sum = 0;
            for (ptrdiff_t l = 0; l < k; l++) {
                sum += at(ta, a, lda, i, l) * at(tb, b, ldb, l, j);
            }
            double *out = &c[i + j * ldc];
            *out = alpha * sum + (beta != 0 ? beta * *out : 0);
        }
    }
}

static void syrk(char ta, ptrdiff_t n, ptrdiff_t k, double alpha, const double *a, ptrdiff_t lda, double *c,
                 ptrdiff_t ldc)
{
    for (ptrdiff_t j = 0; j < n; j++) { /* column j, from the diagonal down */
        const double *from = a + (ta == 'N' ? j : j * lda);
        gemm(ta, ta == 'N' ? 'T' : 'N', n - j, 1, k, alpha, from, lda, from, lda, 1, c + j + j * ldc, ldc);
    }
}

static void gemv(char ta, ptrdiff_t m, ptrdiff_t n, double alpha, const double *a, ptrdiff_t lda, const double *x,
                 double beta, double *y)
{
    ptrdiff_t rows = ta == 'N' ? m : n, inner = ta == 'N' ? n : m;
    gemm(ta, 'N', rows, 1, inner, alpha, a, lda, x, inner, beta, y, rows);
}

/* op(L)^-1 b for one vector: forward for L, backward for L'. The elements of b are stride apart. */
static void solve_one(char tl, ptrdiff_t n, const double *l, ptrdiff_t ldl, double *b, ptrdiff_t stride)
{
    for (ptrdiff_t step = 0; step < n; step++) {
        ptrdiff_t i = tl == 'N' ? step : n - 1 - step, from = tl == 'N' ? 0 : i + 1, to = tl == 'N' ? i : n;
        double sum = b[i * stride];
        for (ptrdiff_t k = from; k < to; k++) {
            sum -= at(tl, l, ldl, i, k) * b[k * stride];
        }
        b[i * stride] = sum / l[i + i * ldl];
    }
}

static void trsm(char side, char tl, ptrdiff_t m, ptrdiff_t n, const double *l, ptrdiff_t ldl, double *b, ptrdiff_t ldb)
{
    if (side == 'L') {
        for (ptrdiff_t j = 0; j < n; j++) {
            solve_one(tl, m, l, ldl, b + j * ldb, 1);
        }
    } else { /* X op(L) = B is op(L)' X' = B', row by row */
        for (ptrdiff_t i = 0; i < m; i++) {
            solve_one(tl == 'N' ? 'T' : 'N', n, l, ldl, b + i, ldb);
        }
    }
}

static ptrdiff_t potrf(ptrdiff_t n, double *a, ptrdiff_t lda)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        for (ptrdiff_t i = j; i < n; i++) {
            double sum = a[i + j * lda];
            for (ptrdiff_t k = 0; k < j; k++) {
                sum -= a[i + k * lda] * a[j + k * lda];
            }
            if (i == j && !(sum > 0 && sum <= 1e300)) return j + 1;
            a[i + j * lda] = i == j ? sqrt(sum) : sum / a[j + j * lda];
        }
    }
    return 0;
}

/* Cyclic Jacobi: rotates every pair until only rounding is left off the diagonal. It converges quadratically, long
 * before 30 sweeps. */
static int syev(epiq_ctx *c, ptrdiff_t n, double *a, double *w)
{
    double *v = epiqp_alloc(c, n * n, sizeof *v);
    if (!v) return EPIQ_E_NOMEM;
    memset(v, 0, (size_t)(n * n) * sizeof *v);
    for (ptrdiff_t i = 0; i < n; i++) {
        v[i + i * n] = 1;
    }
    for (int sweep = 0; sweep < 30; sweep++) {
        double off = 0, all = 0;
        for (ptrdiff_t j = 0; j < n; j++) {
            for (ptrdiff_t i = 0; i < n; i++) {
                all += a[i + j * n] * a[i + j * n];
                off += i != j ? a[i + j * n] * a[i + j * n] : 0;
            }
        }
        if (off <= 1e-34 * all) break;
        for (ptrdiff_t p = 0; p < n; p++) {
            for (ptrdiff_t q = p + 1; q < n; q++) {
                double apq = a[p + q * n];
                if (apq == 0) continue;
                double theta = (a[q + q * n] - a[p + p * n]) / (2 * apq);
                double t = copysign(1 / (fabs(theta) + hypot(theta, 1)), theta), cs = 1 / hypot(t, 1), sn = t * cs;
                for (ptrdiff_t k = 0; k < n; k++) { /* columns p and q of a and v */
                    double x = a[k + p * n], y = a[k + q * n];
                    a[k + p * n] = cs * x - sn * y;
                    a[k + q * n] = sn * x + cs * y;
                    x = v[k + p * n], y = v[k + q * n];
                    v[k + p * n] = cs * x - sn * y;
                    v[k + q * n] = sn * x + cs * y;
                }
                for (ptrdiff_t k = 0; k < n; k++) { /* rows p and q of a */
                    double x = a[p + k * n], y = a[q + k * n];
                    a[p + k * n] = cs * x - sn * y;
                    a[q + k * n] = sn * x + cs * y;
                }
            }
        }
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        w[i] = a[i + i * n];
    }
    for (ptrdiff_t i = 0; i < n; i++) { /* ascending, as LAPACK gives them */
        ptrdiff_t least = i;
        for (ptrdiff_t j = i + 1; j < n; j++) {
            least = w[j] < w[least] ? j : least;
        }
        double kept = w[i];
        w[i] = w[least];
        w[least] = kept;
        memcpy(a + i * n, v + least * n, (size_t)n * sizeof *a);
        memcpy(v + least * n, v + i * n, (size_t)n * sizeof *v);
    }
    epiqp_free(c, v);
    return EPIQ_OK;
}

const epiqp_la epiqp_la_ref = {"ref", gemm, syrk, gemv, trsm, potrf, NULL, NULL, NULL, NULL, syev};
