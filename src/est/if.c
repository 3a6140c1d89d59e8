/* if.c - IF, the data variance, by the influence function of the kernel predictor (docs/method.md section 3):
 *     v_i = r_i c_i,   V = sum_i (v_i - mean v)^2
 * with the residuals r corrected for leverage; and the rows whose deletion would move each prediction most.
 */
#include "est/est.h"

#include <math.h>
#include <string.h>

epiq_part epiqp_if(const double *v, ptrdiff_t n, const ptrdiff_t *group, ptrdiff_t groups, double *sums, double level)
{
    double mean = 0, total = 0, spread = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        mean += v[i] / (double)n;
    }
    memset(sums, 0, (size_t)groups * sizeof *sums);
    for (ptrdiff_t i = 0; i < n; i++) {
        sums[group[i]] += v[i] - mean;
    }
    double largest = 0; /* squares of squares are taken: in its units they neither overflow nor vanish */
    for (ptrdiff_t g = 0; g < groups; g++) {
        largest = fmax(largest, fabs(sums[g]));
    }
    for (ptrdiff_t g = 0; g < groups; g++) {
        sums[g] = largest > 0 ? sums[g] / largest * (sums[g] / largest) : 0;
        total += sums[g];
    }
    for (ptrdiff_t g = 0; g < groups; g++) {
        double u = sums[g] - total / (double)groups;
        spread += u * u;
    }
    double df = spread > 0 ? fmin(2 * total * total / spread, (double)(groups - 1)) : (double)(groups - 1);
    return epiq_part_of(total * largest * largest, df, level, EPIQ_BY_IF);
}

/* ---- the kernel the influence function uses ---- */

static void copy_stored(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                        ptrdiff_t ld)
{
    const epiqp_tri *t = self;
    for (ptrdiff_t k = 0; k < cols; k++) {
        memcpy(out + k * ld, epiqp_tri_at(t, i0 / t->height, i0 % t->height, j0 + k), (size_t)rows * sizeof *out);
    }
}

typedef struct {
    epiqp_empirical kernel;
    double weight;
} accumulating;

static void accumulate(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                       ptrdiff_t ld)
{
    const accumulating *a = self;
    double block[EPIQP_BLOCK * EPIQP_BLOCK];
    epiqp_empirical_block(a->kernel.la, a->kernel.f, i0, rows, a->kernel.f, j0, cols, block, rows);
    for (ptrdiff_t k = 0; k < cols; k++) {
        epiqp_axpy(rows, a->weight, block + k * rows, out + k * ld);
    }
}

/* The mean empirical kernel of the members' initialisations (one draw when none are trained), and its ridge solution.
 */
static int empirical_ridge(epiqp_job *j, epiqp_ridge *out)
{
    const epiqp_env *e = &j->e;
    const epiqp_net *net = &j->fit.net;
    ptrdiff_t n = j->n, draws = j->members_trained ? j->o.members : 1;
    double *theta = epiqp_arena_alloc(e->c, &j->scratch, epiqp_net_params(net), sizeof *theta);
    double *k0 = epiqp_alloc(e->c, n * j->points, sizeof *k0), *one = epiqp_alloc(e->c, n * j->points, sizeof *one);
    epiqp_tri sum = {0};
    int s = theta && k0 && one ? epiqp_tri_new(e->c, n, &sum) : EPIQ_E_NOMEM;
    if (!s) {
        memset(sum.a, 0, (size_t)epiqp_tri_bytes(n));
        memset(k0, 0, (size_t)(n * j->points) * sizeof *k0);
    }
    for (ptrdiff_t k = 0; !s && k < draws; k++) {
        epiqp_features rows = {0}, at = {0};
        epiqp_net_init(net, (epiqp_stream){j->o.seed, EPIQP_FOR_MEMBER, (uint64_t)k}, theta);
        s = epiqp_features_new(e, net, theta, n, j->fit.rows.x, &rows);
        if (!s && !(s = epiqp_features_new(e, net, theta, j->points, j->at, &at))) {
            accumulating a = {{e->la, &rows}, 1 / (double)draws};
            epiqp_source source = {accumulate, &a};
            epiqp_tri_fill(e, &source, &sum);
            epiqp_empirical_block(e->la, &rows, 0, n, &at, 0, j->points, one, n);
            epiqp_axpy(n * j->points, 1 / (double)draws, one, k0);
            s = epiqp_report(e->c, "kernel", k + 1, draws);
        }
        epiqp_features_free(e->c, &rows);
        epiqp_features_free(e->c, &at);
    }
    if (!s) {
        epiqp_source stored = {copy_stored, &sum};
        s = epiqp_ridge_new(e, n, &stored, j->o.lambda, j->data->y, j->points, k0, out); /* takes k0 over */
        k0 = NULL;
    }
    epiqp_tri_free(e->c, &sum);
    epiqp_free(e->c, one);
    epiqp_free(e->c, k0);
    return s;
}

/* ---- influential rows ---- */

static bool stronger(epiq_influence a, epiq_influence b)
{
    return fabs(a.influence) > fabs(b.influence) || (fabs(a.influence) == fabs(b.influence) && a.row < b.row);
}

/* Deleting row i moves the prediction by -alpha_i c_i / (A^-1)_ii. The strongest few are kept in order as rows go by. */
static int list_influential(epiqp_job *j, const epiqp_ridge *r, const double *c, epiq_point *point)
{
    ptrdiff_t room = epiqp_min(j->o.influential, j->n), count = 0;
    epiq_influence *kept = epiqp_arena_alloc(j->e.c, &j->answer->arena, room, sizeof *kept);
    if (!kept) {
        return EPIQ_E_NOMEM;
    }
    for (ptrdiff_t i = 0; i < j->n; i++) {
        epiq_influence one = {j->data->row[i], -j->data->y_factor * r->alpha[i] * c[i] / r->diagonal[i]};
        if (count == room && !stronger(one, kept[room - 1])) {
            continue;
        }
        count += count < room;
        ptrdiff_t at = count - 1;
        for (; at > 0 && stronger(one, kept[at - 1]); at--) {
            kept[at] = kept[at - 1];
        }
        kept[at] = one;
    }
    point->influential = kept;
    point->influential_count = count;
    return EPIQ_OK;
}

/* Leave-one-out error and noise of the kernel predictor, free with the leverages. */
static void describe_fit(epiqp_job *j, const epiqp_ridge *r)
{
    double loo2 = 0, frobenius = 0, spread = epiqp_variance(j->data->y, j->n) * (double)(j->n - 1),
           unit = j->data->y_factor;
    for (ptrdiff_t i = 0; i < j->n; i++) {
        double loo = r->alpha[i] / r->diagonal[i];
        loo2 += loo * loo;
        frobenius += r->norm2[i];
    }
    epiq_result *out = &j->answer->result;
    out->fit.known = 1;
    out->fit.has_r2 = spread > 0;
    out->fit.loo_rmse = unit * sqrt(loo2 / (double)j->n);
    out->fit.r2 = spread > 0 ? 1 - loo2 / spread : 0;
    out->fit.noise_variance = unit * unit * epiqp_dot(j->n, r->alpha, r->alpha) / frobenius;
}

/* ---- the estimator ---- */

/* What the residual of row i is divided by. */
static double standard(const epiqp_ridge *r, epiq_correction how, ptrdiff_t i)
{
    switch (how) {
    case EPIQ_CORRECTION_NONE:
        return 1;
    case EPIQ_CORRECTION_JACKKNIFE:
        return r->shift * r->diagonal[i];
    default:
        return r->shift * sqrt(r->norm2[i]);
    }
}

/* All versions at one point. Rows in groups have no noise of their own: there rowwise stays unbiased. */
static void versions_at(epiqp_job *j, const epiqp_ridge *r, const epiqp_rowwise *rows, const double *residual,
                        const double *c, bool leverage, double *v, epiq_part *out, ptrdiff_t *floored)
{
    const epiq_data *data = j->data;
    double *scratch = v + j->n;
    for (int how = EPIQ_CORRECTIONS - 1; how >= 0; how--) { /* none first: rowwise asks for it */
        if (how != EPIQ_CORRECTION_NONE && !leverage) {
            continue;
        }
        for (ptrdiff_t i = 0; i < j->n; i++) {
            v[i] = c[i] * residual[i] / standard(r, (epiq_correction)how, i);
        }
        bool low = false;
        out[how] =
            how == EPIQ_CORRECTION_ROWWISE && rows->excess
                ? epiqp_if_rowwise(rows, v, c, j->n, out[EPIQ_CORRECTION_NONE].variance, scratch, j->o.level, &low)
                : epiqp_if(v, j->n, data->group, data->groups, scratch, j->o.level);
        *floored += low;
    }
}

static int from_ridge(epiqp_job *j, epiqp_ridge *r)
{
    const epiq_options *o = &j->o;
    bool leverage = o->correction != EPIQ_CORRECTION_NONE || o->influential > 0 ||
                    j->n <= EPIQP_CHEAP_ROWS; /* else two thirds of the time */
    int s = leverage ? epiqp_ridge_leverage(&j->e, r) : EPIQ_OK;
    double *residual = epiqp_arena_alloc(j->e.c, &j->scratch, 3 * j->n, sizeof *residual);
    if (s || !residual) {
        return s ? s : EPIQ_E_NOMEM;
    }
    for (ptrdiff_t i = 0; i < j->n; i++) {
        residual[i] = j->members_mean ? j->data->y[i] - j->members_mean[i] : r->shift * r->alpha[i];
    }
    epiqp_rowwise rows = {0};
    if (leverage && j->data->groups == j->n) {
        s = epiqp_rowwise_new(j, r, residual, &rows);
    }
    epiqp_tri_free(j->e.c, &r->inverse);
    ptrdiff_t floored = 0;
    for (ptrdiff_t p = 0; p < j->points && !s; p++) {
        const double *c = r->c + p * j->n;
        epiq_part *versions = j->corrected + p * EPIQ_CORRECTIONS;
        versions_at(j, r, &rows, residual, c, leverage, residual + j->n, versions, &floored);
        j->inf[p] = versions[o->correction];
        if (o->influential > 0) {
            s = list_influential(j, r, c, &j->answer->points[p]);
        }
    }
    if (leverage) {
        describe_fit(j, r);
    }
    if (!s && floored && o->correction == EPIQ_CORRECTION_ROWWISE) {
        s = epiqp_warn(
            j->e.c, j->warnings, "noise_by_row",
            "at %td of %td points the noise of single rows all but cancels in the data variance; half of the "
            "uncorrected value is given instead; compare with --correction unbiased",
            floored, j->points);
    }
    return s || r == &j->fit.ridge ? s : epiqp_warn_jitter(j, r->jitter);
}

/* Stopped gradient flow gives v itself; the corrections for leverage do not hold there. */
static int from_stopped(epiqp_job *j)
{
    double *sums = epiqp_arena_alloc(j->e.c, &j->scratch, j->data->groups, sizeof *sums);
    for (ptrdiff_t p = 0; sums && p < j->points; p++) {
        const double *v = j->stopped_v + p * j->n;
        j->inf[p] = epiqp_if(v, j->n, j->data->group, j->data->groups, sums, j->o.level);
        j->corrected[p * EPIQ_CORRECTIONS + EPIQ_CORRECTION_NONE] = j->inf[p];
    }
    return sums ? EPIQ_OK : EPIQ_E_NOMEM;
}

int epiqp_estimate_if(epiqp_job *j)
{
    if (j->stopped_v) {
        return from_stopped(j);
    }
    if (j->o.kernel == EPIQ_KERNEL_POPULATION) {
        int s = epiqp_fit_solve(&j->e, &j->fit);
        return s ? s : from_ridge(j, &j->fit.ridge);
    }
    epiqp_ridge own = {0};
    int s = empirical_ridge(j, &own);
    if (!s) {
        s = from_ridge(j, &own);
    }
    for (ptrdiff_t p = 0; !s && !j->members_trained && p < j->points; p++) {
        j->prediction[p] = epiqp_dot(j->n, own.c + p * j->n, j->data->y);
    }
    epiqp_ridge_free(j->e.c, &own);
    return s ? s
             : epiqp_warn(j->e.c, j->warnings, "empirical_kernel",
                          "the empirical kernel of %td networks of width %td is noisy: IF tends to come out 1.2 to 2.6 "
                          "times too "
                          "large; compare with --kernel population",
                          j->members_trained ? j->o.members : 1, j->o.width);
}
