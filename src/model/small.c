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
    epiqp_small_batch *b = &m->small.batch[number];
    epiq_data data;
    int status = epiqp_take_data(e->c, &m->arena, &m->rows, of, number, &data);
    if (!status && m->ols.p) status = epiqp_ols_new(e, &m->arena, &(epiqp_steps){.data = &data}, 0, &b->ols);
    if (!status) status = epiqp_rows_new(e->c, data.n, m->inputs, data.x, &b->rows);
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

/* Of the points of a block, at the rows of a batch: tau2 += that of its networks over the number of batches, squares += those of
 * weights on its rows. */
static int add_batch(const epiqp_env *e, const epiq_model *m, const epiqp_small_batch *b, const epiqp_rows *at,
                     const double *x, double *tau2, epiqp_squares *squares)
{
    const ptrdiff_t n = b->rows.n, points = at->n;
    const double batches = (double)m->o.batches;
    epiqp_fit here = m->fit;
    here.rows = b->rows;
    here.at = *at;
    double *c = epiqp_alloc(e->c, n * points + points + n + m->inputs + 1, sizeof *c);
    if (!c) return EPIQ_E_NOMEM;
    double *one = c + n * points, *room = one + points;
    epiqp_kernel_cross(e, &m->fit.arch, &b->rows, at, c, NULL);
    epiqp_chol_solve(e, &b->factor, points, c);
    int status = epiqp_infinite_variance(e, &here, c, one);
    for (ptrdiff_t p = 0; !status && p < points; p++) {
        tau2[p] += (one[p] > 0 ? one[p] : 0) / batches;
        const epiqp_squares of = epiqp_squares_at(e, &b->ols, n, c + p * n, x + p * m->inputs, room);
        epiqp_squares_add(&squares[p], &of, b->ols.p > 0);
    }
    epiqp_free(e->c, c);
    return status;
}

int epiqp_small_phi(const epiqp_env *e, const epiq_model *m, const epiqp_rows *at, const double *x, const double *c,
                    double *phi)
{
    const ptrdiff_t points = at->n, n = m->n;
    const epiqp_following *as = epiqp_batches_follow(&m->o, m->kept.retrain);
    double *tau2 = epiqp_alloc(e->c, 3 * points + n + m->inputs + 1, sizeof *tau2);
    epiqp_squares *all = epiqp_alloc(e->c, 2 * points, sizeof *all);
    if (!tau2 || !all) {
        epiqp_free(e->c, all);
        epiqp_free(e->c, tau2);
        return EPIQ_E_NOMEM;
    }
    double *mean = tau2 + points, *q00 = mean + points, *room = q00 + points;
    epiqp_squares *batches = all + points;
    epiqp_fit here = m->fit;
    here.at = *at;
    memset(mean, 0, (size_t)points * sizeof *mean);
    memset(batches, 0, (size_t)points * sizeof *batches);
    for (ptrdiff_t p = 0; p < points; p++) {
        all[p] = epiqp_squares_at(e, &m->ols, n, c + p * n, x + p * m->inputs, room);
    }
    epiqp_kernel_diagonal(&m->fit.arch, at, NULL, q00);
    int status = epiqp_infinite_variance(e, &here, c, tau2);
    for (ptrdiff_t b = 0; !status && b < m->o.batches; b++) {
        status = add_batch(e, m, &m->small.batch[b], at, x, mean, batches);
    }
    for (ptrdiff_t p = 0; !status && p < points; p++) {
        phi[p] =
            epiqp_phi(m->kept.noise * all[p].kernel, epiqp_batch_share(as, &all[p], &batches[p], (double)m->o.batches),
                      epiqp_infinite_part(tau2[p], q00[p], EPIQP_ROUNDING).variance, mean[p], (double)m->o.batches);
    }
    epiqp_free(e->c, all);
    epiqp_free(e->c, tau2);
    return status;
}
