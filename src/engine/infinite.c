/* infinite.c - engine infinite: no network at all. The untrained output is a Gaussian process with covariance Q,
 * training is linear in it, and so the variance over initialisations is tau^2 = Q00 - 2 c'Q0 + c'Q c in closed form.
 */
#include "engine/engine.h"

static bool needs_solve(const epiq_options *o)
{
    (void)o;
    return true;
}

const epiqp_engine epiqp_engine_infinite = {"infinite", false, needs_solve, NULL};

int epiqp_infinite_variance(const epiqp_env *e, const epiqp_fit *f, const double *c, double *tau2)
{
    enum { TOGETHER = 512 }; /* points that share one pass over Q, which is made anew for each pass and never stored */
    ptrdiff_t n = f->rows.n, room = epiqp_min(TOGETHER, f->at.n);
    double *q0 = epiqp_alloc(e->c, n * room, sizeof *q0), *qc = epiqp_alloc(e->c, n * room, sizeof *qc);
    int s = q0 && qc ? EPIQ_OK : EPIQ_E_NOMEM;
    if (!s) {
        epiqp_kernel_diagonal(&f->arch, &f->at, NULL, tau2);
    }
    for (ptrdiff_t from = 0; !s && from < f->at.n; from += TOGETHER) {
        ptrdiff_t points = epiqp_min(TOGETHER, f->at.n - from);
        const double *some = c + from * n;
#pragma omp parallel for schedule(dynamic) num_threads(e->threads)
        for (ptrdiff_t i = 0; i < n; i += EPIQP_BLOCK) { /* block row by block row of Q(X, X) and Q(X, x0) */
            double block[EPIQP_BLOCK * EPIQP_BLOCK];
            ptrdiff_t rows = epiqp_min(EPIQP_BLOCK, n - i);
            epiqp_kernel_block(&f->arch, &f->rows, i, rows, &f->at, from, points, NULL, q0 + i, n);
            for (ptrdiff_t j = 0; j < n; j += EPIQP_BLOCK) {
                ptrdiff_t cols = epiqp_min(EPIQP_BLOCK, n - j);
                epiqp_kernel_block(&f->arch, &f->rows, i, rows, &f->rows, j, cols, NULL, block, rows);
                e->la->gemm('N', 'N', rows, points, cols, 1, block, rows, some + j, n, j > 0, qc + i, n);
            }
        }
        for (ptrdiff_t k = 0; k < points; k++) {
            tau2[from + k] += epiqp_dot(n, some + k * n, qc + k * n) - 2 * epiqp_dot(n, some + k * n, q0 + k * n);
        }
        s = epiqp_stopping(e->c) ? epiqp_fail(e->c, EPIQ_E_STOPPED, "stopped on request at the closed form") : EPIQ_OK;
    }
    epiqp_free(e->c, q0);
    epiqp_free(e->c, qc);
    return s;
}
