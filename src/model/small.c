/* small.c - the correction of BA for small batches (phi, docs/method.md section 3) at points that are predicted later:
 * the factors of all rows and of every batch, computed again from the rows and the seed when a model is opened.
 */
#include "model/model.h"

#include <string.h>

static int factor(const epiqp_env *e, const epiq_model *m, const epiqp_rows *rows, epiqp_tri *out)
{
    const epiqp_population kernel = {&m->fit.arch, rows};
    const epiqp_source source = epiqp_source_ntk(&kernel);
    double jitter, fill_s, factor_s;
    int status = epiqp_tri_new(e->c, rows->n, out);
    if (status) return status;
    return epiqp_ridge_factor(e, &source, m->o.lambda * (double)rows->n, out, &jitter, &fill_s, &factor_s);
}

static int batch_new(const epiqp_env *e, epiq_model *m, const epiqp_listed *of, ptrdiff_t number)
{
    const ptrdiff_t d = m->inputs, size = epiqp_listed_size(of, number);
    epiqp_small_batch *b = &m->small.batch[number];
    double *x = epiqp_arena_alloc(e->c, &m->arena, size * d, sizeof *x);
    if (!x) return EPIQ_E_NOMEM;
    epiqp_take_rows(&m->rows, size, of->rows + of->start[number], x, NULL);
    int status = epiqp_rows_new(e->c, size, d, x, &b->rows);
    return status ? status : factor(e, m, &b->rows, &b->factor);
}

static int batches_new(const epiqp_env *e, epiq_model *m)
{
    const ptrdiff_t count = m->o.batches;
    epiqp_arena scratch = {0};
    const epiqp_problem pb = {.e = *e, .data = &m->rows, .n = m->n, .scratch = &scratch};
    epiqp_listed of;
    m->small.batch = epiqp_arena_alloc(e->c, &m->arena, count, sizeof *m->small.batch);
    int status = m->small.batch ? epiqp_deal_rows(&pb, (epiqp_stream){m->o.seed, EPIQP_FOR_SHUFFLE, 0}, count, &of)
                                : EPIQ_E_NOMEM;
    for (ptrdiff_t b = 0; !status && b < count; b++) {
        status = batch_new(e, m, &of, b);
    }
    epiqp_arena_free(e->c, &scratch);
    return status;
}

int epiqp_small_new(epiq_ctx *c, epiq_model *m)
{
    const bool direct = m->o.methods & EPIQ_EV && m->has.influence; /* then BA is not used */
    const bool cheap = m->kept.factor.a || m->n <= EPIQP_CHEAP_ROWS;
    if (!m->ensemble[EPIQP_BATCHES].count || direct || !(m->kept.noise > 0) || !cheap) return EPIQ_OK;
    const epiqp_env e = epiqp_run_begin(c, &m->o);
    int status = m->kept.factor.a ? EPIQ_OK : factor(&e, m, &m->fit.rows, &m->small.all);
    if (!status) status = batches_new(&e, m);
    epiqp_run_end();
    return status;
}

void epiqp_small_free(epiq_ctx *c, epiq_model *m)
{
    epiqp_tri_free(c, &m->small.all);
    for (ptrdiff_t b = 0; m->small.batch && b < m->o.batches; b++) {
        epiqp_rows_free(c, &m->small.batch[b].rows);
        epiqp_tri_free(c, &m->small.batch[b].factor);
    }
}

/* out += tau^2 of the batch's networks at the points, over the number of batches. */
static int add_tau2(const epiqp_env *e, const epiq_model *m, const epiqp_small_batch *b, const epiqp_rows *at,
                    double *tau2, double *out)
{
    epiqp_fit here = m->fit;
    here.rows = b->rows;
    here.at = *at;
    double *c = epiqp_alloc(e->c, b->rows.n * at->n, sizeof *c);
    if (!c) return EPIQ_E_NOMEM;
    epiqp_kernel_cross(e, &m->fit.arch, &b->rows, at, c, NULL);
    epiqp_chol_solve(e, &b->factor, at->n, c);
    int status = epiqp_infinite_variance(e, &here, c, tau2);
    for (ptrdiff_t p = 0; !status && p < at->n; p++) {
        out[p] += (tau2[p] > 0 ? tau2[p] : 0) / (double)m->o.batches;
    }
    epiqp_free(e->c, c);
    return status;
}

int epiqp_small_phi(const epiqp_env *e, const epiq_model *m, const epiqp_rows *at, const double *c, double *phi)
{
    const ptrdiff_t points = at->n;
    double *tau2 = epiqp_alloc(e->c, 4 * points, sizeof *tau2);
    if (!tau2) return EPIQ_E_NOMEM;
    double *mean = tau2 + points, *q00 = mean + points, *one = q00 + points;
    epiqp_fit here = m->fit;
    here.at = *at;
    memset(mean, 0, (size_t)points * sizeof *mean);
    epiqp_kernel_diagonal(&m->fit.arch, at, NULL, q00);
    int status = epiqp_infinite_variance(e, &here, c, tau2);
    for (ptrdiff_t b = 0; !status && b < m->o.batches; b++) {
        status = add_tau2(e, m, &m->small.batch[b], at, one, mean);
    }
    for (ptrdiff_t p = 0; !status && p < points; p++) {
        phi[p] =
            epiqp_phi(m->kept.noise * epiqp_dot(m->n, c + p * m->n, c + p * m->n),
                      epiqp_infinite_part(tau2[p], q00[p], EPIQP_ROUNDING).variance, mean[p], (double)m->o.batches);
    }
    epiqp_free(e->c, tau2);
    return status;
}
