/* leading.c - the few directions of largest curvature (docs/method.md section 5), found through the rows: an eigenvector u
 * of the tangent kernel J J' belongs to the eigenvector J'u of J'J. The kernel of infinitely wide networks is known
 * without any network, its leading eigenvectors U are nearly those of wide ones, and Rayleigh-Ritz on J'U makes the
 * most of them: with U'J J'U = Z S Z', v_j = J'U z_j / sqrt(s_j).
 */
#include "train/flow.h"

#include "kernel/kernel.h"

#include <math.h>
#include <string.h>

/* ---- left vectors, which depend on the rows alone ---- */

enum { TURNS = 3 };                /* of the subspace iteration */
static const double LEAST = 1e-12; /* squared eigenvalues smaller than this beside the first are rounding errors */

/* x (rows by *count) <- orthonormal vectors of the same span in descending order of their lengths, which are left in
 * length; *count <- how many. z: scratch like x; h: count by count. */
static int orthonormalise(const epiqp_env *e, ptrdiff_t rows, ptrdiff_t *count, double *x, double *z, double *h,
                          double *length)
{
    const ptrdiff_t k = *count;
    double square[EPIQP_LEADING];
    e->la->gemm('T', 'N', k, k, rows, 1, x, rows, x, rows, 0, h, k);
    int status = e->la->syev(e->c, k, h, square); /* ascending */
    if (status) return status;
    *count = 0;
    for (ptrdiff_t j = k - 1; j >= 0 && square[j] > LEAST * square[k - 1]; j--) {
        length[*count] = sqrt(square[j]);
        e->la->gemv('N', rows, k, 1 / length[*count], x, rows, h + j * k, 0, z + *count * rows);
        ++*count;
    }
    memcpy(x, z, (size_t)(rows * *count) * sizeof *x);
    return EPIQ_OK;
}

int epiqp_left_new(const epiqp_env *e, const epiqp_net *net, ptrdiff_t n, const double *x, epiqp_left *out)
{
    const ptrdiff_t rows = epiqp_min(n, EPIQP_LEFT_ROWS), d = net->d, most = epiqp_min(EPIQP_LEADING, rows);
    double pick[EPIQP_LEFT_ROWS], *k = NULL;
    epiqp_rows laid = {0};
    *out = (epiqp_left){.rows = rows, .count = most};
    out->x = epiqp_alloc(e->c, rows * (d + most), sizeof *out->x);
    int status = out->x ? EPIQ_OK : EPIQ_E_NOMEM;
    if (status) return status;
    out->u = out->x + rows * d;
    /* one row out of each of `rows` equal parts of the table */
    epiqp_uniforms((epiqp_stream){0, EPIQP_FOR_SEARCH, 1}, rows, pick);
    for (ptrdiff_t i = 0; i < rows; i++) {
        ptrdiff_t row = rows < n ? (ptrdiff_t)(((double)i + pick[i]) * (double)n / (double)rows) : i;
        memcpy(out->x + i * d, x + epiqp_min(row, n - 1) * d, (size_t)d * sizeof *x);
    }
    if ((status = epiqp_rows_new(e->c, rows, d, out->x, &laid))) goto end;
    k = epiqp_alloc(e->c, rows * rows + rows * most + most * most, sizeof *k);
    status = k ? EPIQ_OK : EPIQ_E_NOMEM;
    if (status) goto end;
    double *next = k + rows * rows, *h = next + rows * most, largest = 0;
    const epiqp_arch arch = epiqp_arch_of(net);
    epiqp_kernel_block(&arch, &laid, 0, rows, &laid, 0, rows, k, NULL, rows);
    for (ptrdiff_t i = 0; i < rows; i++) {
        largest = fmax(largest, k[i * (rows + 1)]);
    }
    if (!(largest > 0)) out->count = 0; /* networks without bias, and rows of zeros */
    for (ptrdiff_t i = 0; out->count && i < rows * rows; i++) {
        k[i] /= largest; /* so that squares do not overflow */
    }
    memcpy(out->u, k, (size_t)(rows * most) * sizeof *k); /* columns of the kernel: an iteration ahead of random ones */
    for (int turn = 0; out->count && turn < TURNS; turn++) {
        if (turn) {
            e->la->gemm('N', 'N', rows, out->count, rows, 1, k, rows, out->u, rows, 0, next, rows);
            memcpy(out->u, next, (size_t)(rows * out->count) * sizeof *next);
        }
        if ((status = orthonormalise(e, rows, &out->count, out->u, next, h, out->curvature))) goto end;
    }
    for (ptrdiff_t j = 0; j < out->count; j++) {
        out->curvature[j] *= 2 * largest / (double)rows;
    }
end:
    epiqp_free(e->c, k);
    epiqp_rows_free(e->c, &laid);
    if (status) epiqp_left_free(e->c, out);
    return status;
}

void epiqp_left_free(epiq_ctx *c, epiqp_left *left)
{
    epiqp_free(c, left->x);
    *left = (epiqp_left){0};
}

/* ---- leading directions of one network ---- */

static const double MARGIN = 1.1;        /* on the largest curvature, which power iteration underestimates; may grow */
static const double MOST_NUMBERS = 12e6; /* in all leading directions together, but */
/* at least so many directions. On a device, with 10,000 rows and three layers of 1024: 129 gradients instead of 185 */
enum { FEWEST = 6, FEWEST_THERE = 12 };

int epiqp_leading_most(ptrdiff_t p, bool there)
{
    return (int)fmax(there ? FEWEST_THERE : FEWEST, fmin(EPIQP_LEADING, MOST_NUMBERS / (double)p));
}

/* Processes g in spans that stay in the cache, in single precision like the directions. */
void epiqp_leading_apply(const epiqp_flow *f, double *g)
{
    enum { SPAN = 2048, FOUR = 4 };
    double along[EPIQP_LEADING] = {0};
    if (f->remote) {
        epiqp_there_slow(f, f->slowed, f->c, g);
        return;
    }
    for (int turn = 0; f->slowed && turn < 2; turn++) { /* first along = V'g, then g -= V (c along) */
        for (ptrdiff_t k = 0; k < f->p; k += SPAN) {
            const ptrdiff_t some = epiqp_min(SPAN, f->p - k);
            float single[SPAN];
            for (ptrdiff_t i = 0; i < some; i++) {
                single[i] = turn ? 0 : (float)g[k + i];
            }
            int j = 0;
            for (; j + FOUR <= f->slowed; j += FOUR) {
                const float *v = f->leading + j * f->p + k;
                float by[FOUR];
                for (int i = 0; i < FOUR; i++) {
                    by[i] = (float)(-f->c[j + i] * along[j + i]);
                }
                if (turn == 0) epiqp_dot_four(some, v, f->p, single, along + j);
                if (turn == 1) epiqp_axpy_four(some, by, v, f->p, single);
            }
            for (; j < f->slowed; j++) {
                const float *v = f->leading + j * f->p + k;
                if (turn == 0) along[j] += epiqp_dot_single(some, v, g + k);
                if (turn == 1) epiqp_axpy_single(some, -f->c[j] * along[j], v, g + k);
            }
            if (turn == 1) epiqp_axpy_single(some, 1, single, g + k);
        }
    }
}

/* unit = v scaled to norm 1, or zeros if v is zero; returns the norm. */
static double normalise(ptrdiff_t p, const double *v, float *unit)
{
    double norm = sqrt(epiqp_dot(p, v, v));
    for (ptrdiff_t k = 0; k < p; k++) {
        unit[k] = (float)(norm > 0 ? v[k] / norm : 0);
    }
    return norm;
}

/* Curvature of R along an eigenvector of J'J over so many rows, whose eigenvalue is `norm`. */
static double curvature_of(const epiqp_flow *f, double norm, ptrdiff_t rows)
{
    return 2 * (norm / (double)rows + f->task->lambda);
}

/* Continues the power iteration from the vector at which the last call stopped. */
double epiqp_leading_curvature(epiqp_flow *f, const double *theta, int but, int turns)
{
    const epiqp_task *t = f->task;
    double norm = 0;
    for (int k = 0; k < turns; k++) {
        if (f->remote) {
            norm = epiqp_there_normal(f, theta, but, f->y);
        } else {
            epiqp_net_normal(&f->pass, theta, t->n, t->x, f->probe, f->y, f->before);
            for (int j = 0; j < but; j++) {
                const float *v = f->leading + j * f->p;
                epiqp_axpy_single(f->p, -epiqp_dot_single(f->p, v, f->y), v, f->y);
            }
            norm = sqrt(epiqp_dot(f->p, f->y, f->y));
        }
        if (!(norm <= 1e150)) return INFINITY; /* its square would overflow */
        if (norm > 0 && f->remote) epiqp_there_unit(f, f->y, norm, f->probe);
        if (norm > 0 && !f->remote) normalise(f->p, f->y, f->probe);
    }
    return curvature_of(f, norm, t->n);
}

/* Two iterations suffice from the leading direction of infinitely wide networks, where that is known. */
double epiqp_leading_first(epiqp_flow *f, const double *theta)
{
    const epiqp_left *left = f->left;
    double norm = 0;
    if (left->count && f->remote) {
        norm = epiqp_there_first(f, theta, f->y);
        if (norm > 0) epiqp_there_unit(f, f->y, norm, f->probe);
    } else if (left->count) {
        epiqp_net_pulls(&f->pass, theta, left->rows, left->x, 1, left->u, f->y);
        norm = sqrt(epiqp_dot(f->p, f->y, f->y));
        if (norm > 0) normalise(f->p, f->y, f->probe);
    }
    f->margin = MARGIN;
    return MARGIN * epiqp_leading_curvature(f, theta, 0, norm > 0 ? 2 : 6);
}

int epiqp_leading_find(const epiqp_env *e, epiqp_flow *f, const double *theta, double time)
{
    const epiqp_left *left = f->left;
    const int count = f->leads;
    enum { SPAN = 64 }; /* weights at a time */
    double h[EPIQP_LEADING * EPIQP_LEADING], norm[EPIQP_LEADING], mixed[SPAN * EPIQP_LEADING];
    if (f->remote) {
        epiqp_there_pull(f, theta, h);
        if (epiqp_remote_status(f->remote)) return epiqp_remote_status(f->remote);
    } else {
        epiqp_net_pulls(&f->pass, theta, left->rows, left->x, count, left->u, f->image);
        e->la->gemm('T', 'N', count, count, f->p, 1, f->image, f->p, f->image, f->p, 0, h, count);
    }
    int status = e->la->syev(e->c, count, h, norm); /* ascending */
    if (status) return status;
    if (f->remote) epiqp_there_rotate(f, h, norm);
    for (ptrdiff_t k = 0; !f->remote && k < f->p; k += SPAN) {
        const ptrdiff_t some = epiqp_min(SPAN, f->p - k);
        e->la->gemm('N', 'N', some, count, count, 1, f->image + k, f->p, h, count, 0, mixed, some);
        for (ptrdiff_t j = 0; j < count; j++) {
            const double length = sqrt(fmax(0, norm[count - 1 - j])), *from = mixed + (count - 1 - j) * some;
            for (ptrdiff_t i = 0; i < some; i++) {
                f->leading[j * f->p + k + i] = (float)(length > 0 ? from[i] / length : 0);
            }
        }
    }
    for (ptrdiff_t j = 0; j < count; j++) {
        f->own[j] = curvature_of(f, fmax(0, norm[count - 1 - j]), left->rows);
    }
    f->rest = epiqp_leading_curvature(f, theta, count, f->searched > 0 ? 2 : 4);
    f->searched = time;
    f->margin = MARGIN;
    return EPIQ_OK;
}

void epiqp_leading_slow(epiqp_flow *f, double cap)
{
    f->slowed = 0;
    while (f->slowed < f->leads && f->own[f->slowed] > cap) {
        f->c[f->slowed] = 1 - cap / f->own[f->slowed];
        f->slowed++;
    }
    double left = f->slowed < f->leads ? fmax(f->own[f->slowed], f->rest) : f->rest;
    f->curvature = f->margin * fmax(cap, left);
}
