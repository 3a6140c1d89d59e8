/* infinite.c - engine infinite: no network at all. The untrained output is a Gaussian process with covariance Q,
 * training is linear in it, and so the variance over initialisations is tau^2 = Q00 - 2 c'Q0 + c'Q c in closed form.
 */
#include "engine/engine.h"

#include <omp.h>
#include <string.h>

const epiqp_engine epiqp_engine_infinite = {"infinite", false, true, NULL, NULL, NULL};

enum { TALL = 256, WIDE = 512 }; /* rows and points of one product: near gemm's peak, 1 MB per thread */

double epiqp_infinite_bytes(ptrdiff_t n)
{
    return (double)sizeof(double) * (double)n * TALL;
}

/* With Q = L + L', L being everything left of the diagonal blocks and half of those blocks, tau^2 = Q00 + 2 c'(L c - Q0):
 * one strip of rows of L after another, each computed once, for all points. On a cluster, strips are dealt round-robin
 * to the ranks. */
int epiqp_infinite_variance(const epiqp_env *e, const epiqp_fit *f, const double *c, double *tau2)
{
    const ptrdiff_t n = f->rows.n, points = f->at.n;
    if (epiqp_start_removed(f->o)) { /* and with it all that differs */
        memset(tau2, 0, (size_t)points * sizeof *tau2);
        return EPIQ_OK;
    }
    if (epiqp_gmat_takes(e, n)) {
        const epiq_device *d = e->device->table;
        const epiq_device_kernel k = epiqp_kernel_described(&f->arch, &f->rows);
        return epiqp_device_failed(e->c, d, d->variance(d->user, &k, points, f->at.x, c, tau2));
    }
    /* the bits depend on this, so it must not depend on the threads */
    const ptrdiff_t wide = epiqp_max(32, epiqp_min(WIDE, points / 4));
    double *strip = epiqp_alloc(e->c, n * TALL, sizeof *strip);
    double *products = epiqp_alloc(e->c, e->threads * TALL * wide, sizeof *products);
    int status = strip && products ? EPIQ_OK : EPIQ_E_NOMEM;
    const ptrdiff_t ranks = e->cluster ? e->cluster->ranks : 1, rank = e->cluster ? e->cluster->rank : 0;
    if (!status && rank == 0) {
        epiqp_kernel_diagonal(&f->arch, &f->at, NULL, tau2);
    } else {
        memset(tau2, 0, (size_t)points * sizeof *tau2);
    }
    for (ptrdiff_t i = rank * TALL; !status && i < n; i += ranks * TALL) {
        ptrdiff_t rows = epiqp_min(TALL, n - i);
#pragma omp parallel num_threads(e->threads) if (n * points > 20000)
        {
            double *mine = products + omp_get_thread_num() * TALL * wide;
#pragma omp for schedule(dynamic)
            for (ptrdiff_t j = 0; j < i + rows; j += EPIQP_BLOCK) {
                ptrdiff_t cols = epiqp_min(EPIQP_BLOCK, i + rows - j);
                double *out = strip + j * rows;
                epiqp_kernel_block(&f->arch, &f->rows, i, rows, &f->rows, j, cols, NULL, out, rows);
                for (ptrdiff_t k = 0; j >= i && k < rows * cols; k++) {
                    out[k] /= 2;
                }
            }
#pragma omp for schedule(dynamic)
            for (ptrdiff_t from = 0; from < points; from += wide) {
                ptrdiff_t some = epiqp_min(wide, points - from);
                const double *left = c + from * n;
                epiqp_kernel_block(&f->arch, &f->rows, i, rows, &f->at, from, some, NULL, mine, rows);
                e->la->gemm('N', 'N', rows, some, i + rows, 1, strip, rows, left, n, -1, mine, rows);
                for (ptrdiff_t k = 0; k < some; k++) {
                    tau2[from + k] += 2 * epiqp_dot(rows, left + k * n + i, mine + k * rows);
                }
            }
        }
        if (epiqp_cancel_requested(e->c)) {
            status = epiqp_fail(e->c, EPIQ_E_STOPPED, "stopped on request at the closed form");
        }
    }
    epiqp_free(e->c, strip);
    epiqp_free(e->c, products);
    if (e->cluster && !(status = epiq_ctx_agree(e->c, status))) {
        e->cluster->allreduce_sum(e->cluster->user, tau2, points);
    }
    return status;
}
