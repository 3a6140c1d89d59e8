/* gmat.c - see gmat.h. The device has the arithmetic; which matrix, how much jitter and what a failure means is here. */
#include "solve/gmat.h"

#include <math.h>

/* Of a device's free memory, what a matrix and its work may take; the rest is for what the driver needs meanwhile. */
static const double SHARE = 0.94;
/* Columns of right-hand sides, scratch of the factor and of the inverse, in columns of the matrix; and a constant. */
static const double COLUMNS_BESIDE = 2100, BYTES_BESIDE = 3e8;

double epiqp_gmat_bytes(ptrdiff_t n)
{
    return 8 * (double)n * ((double)n + COLUMNS_BESIDE) + BYTES_BESIDE;
}

double epiqp_gmat_host_bytes(ptrdiff_t n)
{
    return 8 * (double)n * (EPIQP_BLOCK + 2);
}

bool epiqp_gmat_takes(const epiqp_env *e, ptrdiff_t n)
{
    return e->device && (e->device->only || (n >= EPIQP_GMAT_ROWS && epiqp_gmat_bytes(n) <= SHARE * e->device->bytes));
}

int epiqp_gmat_check(const epiqp_env *e, ptrdiff_t n)
{
    if (!e->device || !e->device->only) return EPIQ_OK;
    const double need = epiqp_gmat_bytes(n), have = SHARE * e->device->bytes;
    if (need <= have) return EPIQ_OK;
    return epiqp_fail(e->c, EPIQ_E_NOMEM,
                      "the kernel matrix of %td rows needs %.2f GB on the GPU and %.2f may be used there; use "
                      "{--device} cpu or auto, {--solver} iterative, or fewer rows",
                      n, need / 1e9, have / 1e9);
}

bool epiqp_gmat_sums(const epiqp_env *e, const epiq_device_network *net)
{
    if (!epiqp_gmat_takes(e, net->n)) return false;
    const double rows = (double)(net->n + net->points),
                 features = 8 * rows * (2 * (double)net->depth * (double)net->width + (double)net->d),
                 weights = 8 * (double)net->depth * (double)net->width * (double)(net->width + net->d + 2);
    return epiqp_gmat_bytes(net->n) + features + weights <=
           SHARE * e->device->table->bytes_free(e->device->table->user);
}

int epiqp_gmat_new(const epiqp_env *e, ptrdiff_t n, epiqp_gmat *out)
{
    const epiq_device *d = e->device->table;
    *out = (epiqp_gmat){.n = n, .device = d};
    return epiqp_device_failed(e->c, d, d->matrix_new(d->user, n, &out->a));
}

int epiqp_gmat_add(const epiqp_env *e, epiqp_gmat *t, const epiq_device_network *net, double by, bool first, double *k0)
{
    return epiqp_device_failed(e->c, t->device, t->device->empirical(t->device->user, t->a, net, by, first, k0));
}

/* By the device itself or, where only the processor can compute them, in strips of columns that are copied there. */
static int fill(const epiqp_env *e, const epiqp_source *from, epiqp_gmat *t)
{
    const epiq_device *d = t->device;
    if (from->describe) {
        epiq_device_kernel k;
        from->describe(from->self, &k);
        return epiqp_device_failed(e->c, d, d->fill(d->user, t->a, &k, 0));
    }
    double *strip = epiqp_alloc(e->c, t->n * EPIQP_BLOCK, sizeof *strip);
    int status = strip ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t j = 0; !status && j < t->n; j += EPIQP_BLOCK) {
        const ptrdiff_t cols = epiqp_min(EPIQP_BLOCK, t->n - j), rows = t->n - j;
#pragma omp parallel for schedule(dynamic) num_threads(e->threads)
        for (ptrdiff_t i = j; i < t->n; i += EPIQP_BLOCK) {
            from->block(from->self, i, epiqp_min(EPIQP_BLOCK, t->n - i), j, cols, strip + i - j, rows);
        }
        status = epiqp_device_failed(e->c, d, d->put(d->user, t->a, j, rows, j, cols, strip, rows));
        if (!status && epiqp_cancel_requested(e->c)) status = epiqp_report(e->c, "kernel", j, t->n);
    }
    epiqp_free(e->c, strip);
    return status;
}

/* diagonal: 2 n, before and after factoring. */
static int factor(const epiqp_env *e, const epiqp_source *from, double ridge, epiqp_gmat *t, double *diagonal,
                  double *jitter, double *fill_s, double *factor_s)
{
    const epiq_device *d = t->device;
    ptrdiff_t pivot = 0;
    double mean = 0, *after = diagonal + t->n;
    *jitter = 0;
    for (double relative = 1e-15; relative < 2e-8; relative *= 10) { /* the first try adds nothing: chol.c */
        const double start = epiqp_now();
        int status = epiqp_report(e->c, "kernel", 0, 1);
        if (status || (status = fill(e, from, t))) return status;
        if (relative < 5e-15) {
            if ((status = epiqp_device_failed(e->c, d, d->diagonal(d->user, t->a, 0, diagonal)))) return status;
            for (ptrdiff_t i = 0; i < t->n; i++) {
                mean += diagonal[i] / (double)t->n;
            }
        }
        *jitter = relative < 5e-15 ? 0 : relative * mean;
        if ((status = epiqp_device_failed(e->c, d, d->diagonal(d->user, t->a, ridge + *jitter, diagonal)))) {
            return status;
        }
        const double filled = epiqp_now();
        *fill_s += filled - start;
        status = epiqp_device_failed(e->c, d, d->factor(d->user, t->a, &pivot));
        *factor_s += epiqp_now() - filled;
        if (status) return status;
        if (epiqp_cancel_requested(e->c)) return epiqp_report(e->c, "factor", 0, 1);
        if (!pivot || !(mean > 0 && mean <= 1e300)) break;
    }
    if (pivot) return epiqp_not_definite(e->c, pivot, t->n, ridge);
    int status = epiqp_device_failed(e->c, d, d->diagonal(d->user, t->a, 0, after));
    for (ptrdiff_t i = 0; !status && i < t->n; i++) {
        t->loss = fmax(t->loss, epiqp_pivot_loss(after[i], diagonal[i]));
    }
    return status;
}

int epiqp_gmat_factor(const epiqp_env *e, ptrdiff_t n, const epiqp_source *from, double ridge, epiqp_gmat *out,
                      double *jitter, double *fill_s, double *factor_s)
{
    *out = (epiqp_gmat){0};
    int status = epiqp_gmat_check(e, n);
    double *diagonal = status ? NULL : epiqp_alloc(e->c, 2 * n, sizeof *diagonal);
    if (!status && !diagonal) status = EPIQ_E_NOMEM;
    if (!status) status = epiqp_gmat_new(e, n, out);
    if (!status) status = factor(e, from, ridge, out, diagonal, jitter, fill_s, factor_s);
    epiqp_free(e->c, diagonal);
    if (status) epiqp_gmat_free(out);
    return status;
}

void epiqp_gmat_free(epiqp_gmat *t)
{
    if (t->a) t->device->matrix_free(t->device->user, t->a);
    t->a = NULL;
}

int epiqp_gmat_solve(const epiqp_env *e, const epiqp_gmat *l, ptrdiff_t cols, double *b)
{
    enum { SHARE_OF_COLUMNS = 4096 }; /* after which a request to stop is obeyed */
    int status = EPIQ_OK;
    for (ptrdiff_t j = 0; !status && j < cols; j += SHARE_OF_COLUMNS) {
        const ptrdiff_t some = epiqp_min(SHARE_OF_COLUMNS, cols - j);
        status = epiqp_device_failed(e->c, l->device, l->device->solve(l->device->user, l->a, some, b + j * l->n));
        if (!status && epiqp_cancel_requested(e->c)) status = epiqp_report(e->c, "solve", j, cols);
    }
    return status;
}

int epiqp_gmat_inverse(const epiqp_env *e, epiqp_gmat *l)
{
    int status = epiqp_device_failed(e->c, l->device, l->device->invert(l->device->user, l->a));
    return status || !epiqp_cancel_requested(e->c) ? status : epiqp_report(e->c, "inverse", 1, 1);
}

int epiqp_gmat_diagonal(const epiqp_env *e, const epiqp_gmat *t, double *out)
{
    return epiqp_device_failed(e->c, t->device, t->device->diagonal(t->device->user, t->a, 0, out));
}

int epiqp_gmat_times(const epiqp_env *e, const epiqp_gmat *t, bool squared, ptrdiff_t cols, const double *s,
                     double *out)
{
    return epiqp_device_failed(e->c, t->device, t->device->times(t->device->user, t->a, squared, cols, s, out));
}

int epiqp_gmat_part(const epiqp_env *e, const epiqp_gmat *t, ptrdiff_t first, ptrdiff_t rows, const ptrdiff_t *row,
                    ptrdiff_t cols, const ptrdiff_t *col, double *out)
{
    ptrdiff_t *own = row ? NULL : epiqp_alloc(e->c, rows, sizeof *own);
    if (!row && !own) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; own && i < rows; i++) {
        own[i] = first + i;
    }
    int status = epiqp_device_failed(e->c, t->device,
                                     t->device->part(t->device->user, t->a, rows, own ? own : row, cols, col, out));
    epiqp_free(e->c, own);
    return status;
}

int epiqp_gmat_copy(const epiqp_env *e, const epiqp_gmat *t, epiqp_tri *out)
{
    int status = EPIQ_OK;
    for (ptrdiff_t p = 0; !status && p < out->panels; p++) {
        const ptrdiff_t rows = epiqp_tri_rows(out, p), from = p * out->height;
        status = epiqp_device_failed(
            e->c, t->device,
            t->device->get(t->device->user, t->a, from, rows, 0, from + rows, epiqp_tri_at(out, p, 0, 0), rows));
    }
    return status;
}

int epiqp_gmat_load(const epiqp_env *e, const epiqp_tri *from, epiqp_gmat *out)
{
    const epiq_device *d = e->device->table;
    *out = (epiqp_gmat){0};
    int status = epiqp_gmat_check(e, from->n);
    if (!status) status = epiqp_gmat_new(e, from->n, out);
    out->loss = from->loss;
    for (ptrdiff_t p = 0; !status && p < from->panels; p++) {
        const ptrdiff_t rows = epiqp_tri_rows(from, p), first = p * from->height;
        status = epiqp_device_failed(
            e->c, d, d->put(d->user, out->a, first, rows, 0, first + rows, epiqp_tri_at(from, p, 0, 0), rows));
    }
    if (status) epiqp_gmat_free(out);
    return status;
}
