/* la.h - the linear algebra everything else is built from: a handful of serial operations on column-major blocks.
 * Backends are tables of these functions, chosen by name at run time: la_ref.c is plain C, always available, and the
 * reference for the others; la_blas.c calls OpenBLAS. Callers parallelise over fixed blocks, so that the bits do not
 * depend on the number of threads.
 */
#ifndef EPIQP_LA_H
#define EPIQP_LA_H

#include "base/base.h"
#include "la/vector.h"

typedef struct {
    const char *name;

    /* C = alpha op(A) op(B) + beta C; C is m by n, the inner size k; ta, tb 'N' or 'T'; beta 0 ignores what C held */
    void (*gemm)(char ta, char tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha, const double *a, ptrdiff_t lda,
                 const double *b, ptrdiff_t ldb, double beta, double *c, ptrdiff_t ldc);

    /* The lower triangle of C += alpha op(A) op(A)'; C is n by n, the inner size k */
    void (*syrk)(char ta, ptrdiff_t n, ptrdiff_t k, double alpha, const double *a, ptrdiff_t lda, double *c,
                 ptrdiff_t ldc);

    /* y = alpha op(A) x + beta y; A is m by n as stored */
    void (*gemv)(char ta, ptrdiff_t m, ptrdiff_t n, double alpha, const double *a, ptrdiff_t lda, const double *x,
                 double beta, double *y);

    /* side 'L': B = op(L)^-1 B; 'R': B = B op(L)^-1. L is lower triangular, B is m by n. */
    void (*trsm)(char side, char tl, ptrdiff_t m, ptrdiff_t n, const double *l, ptrdiff_t ldl, double *b,
                 ptrdiff_t ldb);

    /* Lower Cholesky factor in place. Returns 0, or the number (from 1) of the pivot that is not positive. */
    ptrdiff_t (*potrf)(ptrdiff_t n, double *a, ptrdiff_t lda);

    /* The same in single precision; NULL in the reference backend, which computes in double alone. */
    void (*gemm32)(char ta, char tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float alpha, const float *a, ptrdiff_t lda,
                   const float *b, ptrdiff_t ldb, float beta, float *c, ptrdiff_t ldc);
    void (*gemv32)(char ta, ptrdiff_t m, ptrdiff_t n, float alpha, const float *a, ptrdiff_t lda, const float *x,
                   float beta, float *y);
    void (*trsm32)(char side, char tl, ptrdiff_t m, ptrdiff_t n, const float *l, ptrdiff_t ldl, float *b,
                   ptrdiff_t ldb);
    ptrdiff_t (*potrf32)(ptrdiff_t n, float *a, ptrdiff_t lda);

    /* Eigenvalues w ascending and vectors (columns, over a) of a symmetric matrix; a status. */
    int (*syev)(epiq_ctx *c, ptrdiff_t n, double *a, double *w);
} epiqp_la;

/* B = (L L')^-1 B, n by cols. */
static inline void epiqp_la_solve(const epiqp_la *la, ptrdiff_t n, const double *l, ptrdiff_t cols, double *b)
{
    la->trsm('L', 'N', n, cols, l, n, b, n);
    la->trsm('L', 'T', n, cols, l, n, b, n);
}

extern const epiqp_la epiqp_la_ref, epiqp_la_blas;

/* The environment of a computation. */
typedef struct {
    epiq_ctx *c;
    const epiqp_la *la;
    int threads;
    const epiq_cluster *cluster; /* NULL: alone; also for what one rank of several computes by itself */
    const epiqp_device *device;  /* NULL: there is none, or not for this; always for what is done in threads of ours */
    struct epiqp_remote *remote; /* where a network is trained on the device, in a thread of ours (train/remote.h) */
} epiqp_env;

static inline epiqp_env epiqp_alone(const epiqp_env *e)
{
    return (epiqp_env){.c = e->c, .la = e->la, .threads = e->threads};
}

/* Chooses backend and threads, and sets OpenBLAS to one thread until epiqp_run_end. */
epiqp_env epiqp_run_begin(epiq_ctx *c, const epiq_options *o);
void epiqp_run_end(void);
/* Opens the device if the options ask for it, or leave it open and it is worth while. Fails where it must be there and is
 * not; where it only could be, a warning says why it is not. */
int epiqp_run_device(epiqp_env *e, const epiq_options *o, bool worth, epiqp_warnings *w);
/* A failure of the device as one of the library's. */
int epiqp_device_failed(epiq_ctx *c, const epiq_device *d, int status);
/* The threads that a run takes if nothing is said. Ranks on one machine divide its cores, unless the launcher has dealt
 * them out already. */
int epiqp_all_threads(const epiq_cluster *k);

/* Operations per second of one core, of a training or of predictions: whether a device pays (members.c, ask_device.c). */
#define EPIQP_PER_CORE 2e10

/* What the processor has and the system allows: AVX2 with FMA; AVX-512 as its first servers had it. */
enum { EPIQP_AVX2 = 1, EPIQP_AVX512 = 2 };
unsigned epiqp_processor(void);
/* The core type that OpenBLAS should have there instead of this one; NULL: this one suits, or nothing is known of it. */
const char *epiqp_better_core(const char *core, unsigned processor);
int epiqp_warn_blas(const epiqp_env *e, epiqp_warnings *w); /* if the BLAS is used and has chosen so */

#endif
