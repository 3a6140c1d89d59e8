/* la_blas.c - OpenBLAS behind la.h, one thread per call. Block sizes are far below BLAS's 32-bit integers except
 * for whole matrices, where this is checked.
 */
#include "la/la.h"

#include <cblas.h>

extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
extern void spotrf_(const char *uplo, const int *n, float *a, const int *lda, int *info);
extern void dsyevd_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w,
                    double *work, const int *lwork, int *iwork, const int *liwork, int *info);

static CBLAS_TRANSPOSE op(char t)
{
    return t == 'N' ? CblasNoTrans : CblasTrans;
}

static void gemm(char ta, char tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha, const double *a, ptrdiff_t lda,
                 const double *b, ptrdiff_t ldb, double beta, double *c, ptrdiff_t ldc)
{
    cblas_dgemm(CblasColMajor, op(ta), op(tb), (int)m, (int)n, (int)k, alpha, a, (int)lda, b, (int)ldb, beta, c,
                (int)ldc);
}

static void syrk(char ta, ptrdiff_t n, ptrdiff_t k, double alpha, const double *a, ptrdiff_t lda, double *c,
                 ptrdiff_t ldc)
{
    cblas_dsyrk(CblasColMajor, CblasLower, op(ta), (int)n, (int)k, alpha, a, (int)lda, 1, c, (int)ldc);
}

static void gemv(char ta, ptrdiff_t m, ptrdiff_t n, double alpha, const double *a, ptrdiff_t lda, const double *x,
                 double beta, double *y)
{
    cblas_dgemv(CblasColMajor, op(ta), (int)m, (int)n, alpha, a, (int)lda, x, 1, beta, y, 1);
}

static void trsm(char side, char tl, ptrdiff_t m, ptrdiff_t n, const double *l, ptrdiff_t ldl, double *b, ptrdiff_t ldb)
{
    cblas_dtrsm(CblasColMajor, side == 'L' ? CblasLeft : CblasRight, CblasLower, op(tl), CblasNonUnit, (int)m, (int)n,
                1, l, (int)ldl, b, (int)ldb);
}

static ptrdiff_t potrf(ptrdiff_t n, double *a, ptrdiff_t lda)
{
    int size = (int)n, stride = (int)lda, info;
    dpotrf_("L", &size, a, &stride, &info);
    for (ptrdiff_t i = 0; !info && i < n; i++) { /* OpenBLAS does not report infinities */
        double pivot = a[i + i * lda];
        info = pivot > 0 && pivot <= 1e300 ? 0 : (int)i + 1;
    }
    return info;
}

static void gemm32(char ta, char tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float alpha, const float *a, ptrdiff_t lda,
                   const float *b, ptrdiff_t ldb, float beta, float *c, ptrdiff_t ldc)
{
    cblas_sgemm(CblasColMajor, op(ta), op(tb), (int)m, (int)n, (int)k, alpha, a, (int)lda, b, (int)ldb, beta, c,
                (int)ldc);
}

static void gemv32(char ta, ptrdiff_t m, ptrdiff_t n, float alpha, const float *a, ptrdiff_t lda, const float *x,
                   float beta, float *y)
{
    cblas_sgemv(CblasColMajor, op(ta), (int)m, (int)n, alpha, a, (int)lda, x, 1, beta, y, 1);
}

static void trsm32(char side, char tl, ptrdiff_t m, ptrdiff_t n, const float *l, ptrdiff_t ldl, float *b, ptrdiff_t ldb)
{
    cblas_strsm(CblasColMajor, side == 'L' ? CblasLeft : CblasRight, CblasLower, op(tl), CblasNonUnit, (int)m, (int)n,
                1, l, (int)ldl, b, (int)ldb);
}

static ptrdiff_t potrf32(ptrdiff_t n, float *a, ptrdiff_t lda)
{
    int size = (int)n, stride = (int)lda, info;
    spotrf_("L", &size, a, &stride, &info);
    for (ptrdiff_t i = 0; !info && i < n; i++) { /* as above */
        float pivot = a[i + i * lda];
        info = pivot > 0 && pivot <= 1e30F ? 0 : (int)i + 1;
    }
    return info;
}

static int syev(epiq_ctx *c, ptrdiff_t n, double *a, double *w)
{
    if (n > 16000) { /* the size of its workspace, 2 n^2, must fit an int */
        return epiqp_fail(c, EPIQ_E_NOMEM,
                          "an eigendecomposition of %td rows is too large; use at most 16000 rows with {--time}", n);
    }
    int size = (int)n, info = 0, lwork = 1 + 6 * size + 2 * size * size, liwork = 3 + 5 * size;
    double *work = epiqp_alloc(c, lwork, sizeof *work);
    int *iwork = epiqp_alloc(c, liwork, sizeof *iwork);
    int status = work && iwork ? EPIQ_OK : EPIQ_E_NOMEM;
    if (!status) dsyevd_("V", "L", &size, a, &size, w, work, &lwork, iwork, &liwork, &info);
    if (info) {
        status = epiqp_fail(c, EPIQ_E_NUMERIC,
                            "the kernel's eigenvalues did not converge (%d); check the scaling of the features", info);
    }
    epiqp_free(c, iwork);
    epiqp_free(c, work);
    return status;
}

const epiqp_la epiqp_la_blas = {"blas", gemm, syrk, gemv, trsm, potrf, gemm32, gemv32, trsm32, potrf32, syev};
