/* small.c - what corrects BA for small batches (phi, docs/method.md section 3) at points that are asked for later: the
 * factors of all rows and of every batch, made again from the rows and the seed when a model is opened.
 */
#include "model/model.h"

#include <stdint.h>
#include <string.h>

/* Where both parts are measured directly BA decides nothing, and is not asked. */
static bool wanted(const epiq_model *m)
{
    bool direct = m->o.methods & EPIQ_EV && epiqp_model_has_influence(m);
    return epiqp_model_has_batches(m) && !direct && *m->noise > 0 && (m->tri.a || m->n <= EPIQP_CHEAP_ROWS);
}

static int factor(const epiqp_env *e, const epiq_model *m, const epiqp_rows *rows, epiqp_tri *out)
{
    const epiqp_population kernel = {&m->fit.arch, rows};
    const epiqp_source source = epiqp_source_ntk(&kernel);
    double jitter, fill_s, factor_s;
    int s = epiqp_tri_new(e->c, rows->n, out);
    return s ? s : epiqp_ridge_factor(e, &source, m->o.lambda * (double)rows->n, out, &jitter, &fill_s, &factor_s);
}

static int batch_new(const epiqp_env *e, epiq_model *m, const ptrdiff_t *batch_of_row, ptrdiff_t number, ptrdiff_t size)
{
    const ptrdiff_t d = m->d;
    epiqp_small_batch *b = &m->small.batch[number];
    double *x = epiqp_arena_alloc(e->c, &m->arena, size * d, sizeof *x);
    if (!x) {
        return EPIQ_E_NOMEM;
    }
    for (ptrdiff_t i = 0, k = 0; i < m->n; i++) {
        if (batch_of_row[i] == number) {
            memcpy(x + k++ * d, m->x + i * d, (size_t)d * sizeof *x);
        }
    }
    int s = epiqp_rows_new(e->c, size, d, x, &b->rows);
    return s ? s : factor(e, m, &b->rows, &b->factor);
}

static int batches_new(const epiqp_env *e, epiq_model *m)
{
    const ptrdiff_t count = m->o.batches;
    const epiq_data rows = {.n = m->n, .groups = m->groups, .group = (ptrdiff_t *)(uintptr_t)m->group}; /* only read */
    ptrdiff_t *batch_of_row = epiqp_alloc(e->c, m->n + count, sizeof *batch_of_row);
    m->small.batch = epiqp_arena_alloc(e->c, &m->arena, count, sizeof *m->small.batch);
    int s = batch_of_row && m->small.batch ? EPIQ_OK : EPIQ_E_NOMEM;
    s = s ? s
          : epiqp_deal(e->c, &rows, (epiqp_stream){m->o.seed, EPIQP_FOR_SHUFFLE, 0}, count, batch_of_row,
                       batch_of_row + m->n);
    for (ptrdiff_t b = 0; !s && b < count; b++) {
        s = batch_new(e, m, batch_of_row, b, batch_of_row[m->n + b]);
    }
    epiqp_free(e->c, batch_of_row);
    return s;
}

int epiqp_small_new(epiq_ctx *c, epiq_model *m)
{
    if (!wanted(m)) {
        return EPIQ_OK;
    }
    const epiqp_env e = epiqp_run_begin(c, &m->o);
    int s = m->tri.a ? EPIQ_OK : factor(&e, m, &m->fit.rows, &m->small.all);
    s = s ? s : batches_new(&e, m);
    epiqp_run_end();
    return s;
}

void epiqp_small_free(epiq_ctx *c, epiq_model *m)
{
    epiqp_tri_free(c, &m->small.all);
    for (ptrdiff_t b = 0; m->small.batch && b < m->o.batches; b++) {
        epiqp_rows_free(c, &m->small.batch[b].rows);
        epiqp_tri_free(c, &m->small.batch[b].factor);
    }
}

const epiqp_tri *epiqp_small_factor(const epiq_model *m)
{
    return m->tri.a ? &m->tri : &m->small.all;
}

/* out += tau^2 of the batch's networks at the points, over the number of batches. */
static int add_tau2(const epiqp_env *e, const epiq_model *m, const epiqp_small_batch *b, const epiqp_rows *at,
                    double *tau2, double *out)
{
    epiqp_fit here = m->fit;
    here.rows = b->rows;
    here.at = *at;
    double *c = epiqp_alloc(e->c, b->rows.n * at->n, sizeof *c);
    if (!c) {
        return EPIQ_E_NOMEM;
    }
    epiqp_kernel_cross(e, &m->fit.arch, &b->rows, at, c, NULL);
    epiqp_chol_solve(e, &b->factor, at->n, c);
    int s = epiqp_infinite_variance(e, &here, c, tau2);
    for (ptrdiff_t p = 0; !s && p < at->n; p++) {
        out[p] += (tau2[p] > 0 ? tau2[p] : 0) / (double)m->o.batches;
    }
    epiqp_free(e->c, c);
    return s;
}

int epiqp_small_phi(const epiqp_env *e, const epiq_model *m, const epiqp_rows *at, const double *c, double *phi)
{
    const ptrdiff_t points = at->n;
    double *tau2 = epiqp_alloc(e->c, 4 * points, sizeof *tau2);
    if (!tau2) {
        return EPIQ_E_NOMEM;
    }
    double *mean = tau2 + points, *q00 = mean + points, *one = q00 + points;
    epiqp_fit here = m->fit;
    here.at = *at;
    memset(mean, 0, (size_t)points * sizeof *mean);
    epiqp_kernel_diagonal(&m->fit.arch, at, NULL, q00);
    int s = epiqp_infinite_variance(e, &here, c, tau2);
    for (ptrdiff_t b = 0; !s && b < m->o.batches; b++) {
        s = add_tau2(e, m, &m->small.batch[b], at, one, mean);
    }
    for (ptrdiff_t p = 0; !s && p < points; p++) {
        phi[p] =
            epiqp_phi(*m->noise * epiqp_dot(m->n, c + p * m->n, c + p * m->n),
                      epiqp_infinite_part(tau2[p], q00[p], EPIQP_ROUNDING).variance, mean[p], (double)m->o.batches);
    }
    epiqp_free(e->c, tau2);
    return s;
}
