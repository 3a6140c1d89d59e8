/* la_blas.c - OpenBLAS behind la.h, one thread a call. Block sizes are far below BLAS's 32-bit integers except where
 * a whole matrix is named, which is checked.
 */
#include "la/la.h"

#include <cblas.h>
#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <unistd.h>

extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
extern void dsyevd_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w,
                    double *work, const int *lwork, int *iwork, const int *liwork, int *info);
/* Present in OpenBLAS in all its variants, absent in others; a weak reference is NULL there. */
extern void openblas_set_num_threads(int n) __attribute__((weak));
extern int openblas_get_num_threads(void) __attribute__((weak));

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
    for (ptrdiff_t i = 0; !info && i < n; i++) { /* OpenBLAS lets infinities through */
        double pivot = a[i + i * lda];
        info = pivot > 0 && pivot <= 1e300 ? 0 : (int)i + 1;
    }
    return info;
}

static int syev(epiq_ctx *c, ptrdiff_t n, double *a, double *w)
{
    if (n > 16000) { /* its workspace of 2 n^2 must be counted in an int */
        return epiqp_fail(c, EPIQ_E_NOMEM,
                          "an eigendecomposition of %td rows is too large; use at most 16000 rows with --time", n);
    }
    int size = (int)n, info = 0, lwork = 1 + 6 * size + 2 * size * size, liwork = 3 + 5 * size;
    double *work = epiqp_alloc(c, lwork, sizeof *work);
    int *iwork = epiqp_alloc(c, liwork, sizeof *iwork);
    int status = work && iwork ? EPIQ_OK : EPIQ_E_NOMEM;
    if (!status) {
        dsyevd_("V", "L", &size, a, &size, w, work, &lwork, iwork, &liwork, &info);
        status =
            info ? epiqp_fail(c, EPIQ_E_NUMERIC,
                              "the kernel's eigenvalues did not converge (%d); check the scaling of the features", info)
                 : EPIQ_OK;
    }
    epiqp_free(c, iwork);
    epiqp_free(c, work);
    return status;
}

const epiqp_la epiqp_la_blas = {"blas", gemm, syrk, gemv, trsm, potrf, syev};

/* OpenBLAS has one number of threads for the whole process: the first run to begin sets it to one, the last to end sets
 * it back, so that runs of several contexts at once do not disturb each other. */
static pthread_mutex_t blas_lock = PTHREAD_MUTEX_INITIALIZER;
static int blas_runs, blas_threads_before;

static void hold_blas(int change)
{
    if (!openblas_get_num_threads || !openblas_set_num_threads) {
        return;
    }
    pthread_mutex_lock(&blas_lock);
    if (change > 0 && blas_runs == 0) {
        blas_threads_before = openblas_get_num_threads();
    }
    blas_runs += change;
    if (blas_threads_before > 1 && blas_runs == (change > 0)) { /* at 1 already, setting it would start threads anew */
        openblas_set_num_threads(change > 0 ? 1 : blas_threads_before);
    }
    pthread_mutex_unlock(&blas_lock);
}

/* Ranks on one machine divide its cores, unless the launcher has dealt them out already. */
static int all_threads(const epiq_cluster *k)
{
    int mine = omp_get_num_procs();
    return k && mine == sysconf(_SC_NPROCESSORS_ONLN) ? (int)epiqp_max(1, mine / k->neighbours) : mine;
}

epiqp_env epiqp_run_begin(epiq_ctx *c, const epiq_options *o)
{
    hold_blas(1);
    return (epiqp_env){c, o->backend == EPIQ_BACKEND_REF ? &epiqp_la_ref : &epiqp_la_blas,
                       o->threads > 0 ? (int)o->threads : all_threads(c->cluster), c->cluster};
}

void epiqp_run_end(void)
{
    hold_blas(-1);
}
