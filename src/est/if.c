/* if.c - IF, the data variance, by the influence function of the kernel predictor (docs/method.md section 3):
 *     v_i = r_i c_i,   V = sum_i (v_i - mean v)^2
 * with the residuals r corrected for leverage; and the rows whose deletion would move each prediction most.
 */
#include "est/est.h"

#include <float.h>
#include <math.h>
#include <omp.h>
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
    double V = total * largest * largest;
    return epiq_part_of(largest > 0 && V < DBL_MIN ? -1 : V, df, level, EPIQ_BY_IF);
}

/* ---- the kernel the influence function uses ---- */

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

static double tri_at(const void *self, ptrdiff_t i, ptrdiff_t k)
{
    return epiqp_tri_get(self, i, k);
}

typedef struct {
    ptrdiff_t n;
    const double *lower; /* n by n, column-major: its lower triangle */
} whole_matrix;

static double whole_at(const void *self, ptrdiff_t i, ptrdiff_t k)
{
    const whole_matrix *m = self;
    return m->lower[epiqp_max(i, k) + epiqp_min(i, k) * m->n];
}

/* Neighbours by this kernel, as combine has them of Jacobians. Of many rows they are those of the population kernel: on a
 * cluster no rank holds the columns that this would take. */
static int empirical_near(epiqp_job *j, const epiqp_tri *sum, const epiqp_spread *spread)
{
    const ptrdiff_t n = j->n;
    if (n > EPIQP_NEAR_ROWS || !spread->a) {
        return n > EPIQP_NEAR_ROWS ? EPIQ_OK : epiqp_near_stored(j, tri_at, sum);
    }
    double *lower = epiqp_alloc(j->e.c, n * n, sizeof *lower);
    ptrdiff_t *rows = epiqp_alloc(j->e.c, n, sizeof *rows);
    int s = lower && rows ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; !s && i < n; i++) {
        rows[i] = i;
    }
    s = s ? s : epiqp_spread_corner(&j->e, spread, n, rows, lower);
    s = s ? s : epiqp_near_stored(j, whole_at, &(whole_matrix){n, lower});
    epiqp_free(j->e.c, lower);
    epiqp_free(j->e.c, rows);
    return s;
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
    epiqp_spread spread = {0}; /* instead, on a cluster */
    int s = theta && k0 && one ? EPIQ_OK : EPIQ_E_NOMEM;
    s = s ? s : e->cluster ? epiqp_spread_new(e, n, &spread) : epiqp_tri_new(e->c, n, &sum);
    if (!s) {
        memset(e->cluster ? spread.a : sum.a, 0,
               e->cluster ? (size_t)(spread.rows.size * spread.cols.size) * sizeof *k0 : (size_t)epiqp_tri_bytes(n));
        memset(k0, 0, (size_t)(n * j->points) * sizeof *k0);
    }
    for (ptrdiff_t k = 0; !s && k < draws; k++) {
        epiqp_features rows = {0}, at = {0};
        epiqp_net_init(net, (epiqp_stream){j->o.seed, EPIQP_FOR_MEMBER, (uint64_t)k}, theta);
        s = epiqp_features_new(e, net, theta, n, j->fit.rows.x, &rows);
        if (!s && !(s = epiqp_features_new(e, net, theta, j->points, j->at, &at))) {
            accumulating a = {{e->la, &rows}, 1 / (double)draws};
            epiqp_source source = {.block = accumulate, .self = &a};
            if (e->cluster) {
                epiqp_spread_fill(e, &source, &spread);
            } else {
                epiqp_tri_fill(e, &source, &sum);
            }
            epiqp_empirical_block(e->la, &rows, 0, n, &at, 0, j->points, one, n);
            epiqp_axpy(n * j->points, 1 / (double)draws, one, k0);
            s = epiqp_report(e->c, "kernel", k + 1, draws);
        }
        epiqp_features_free(e->c, &rows);
        epiqp_features_free(e->c, &at);
    }
    s = s ? s : empirical_near(j, &sum, &spread);
    if (!s) {
        epiqp_source stored = e->cluster ? epiqp_spread_source(&spread) : epiqp_source_stored(&sum);
        s = epiqp_ridge_new(e, n, &stored, j->o.lambda, j->data->y, j->points, k0, out); /* takes k0 over */
        k0 = NULL;
    }
    epiqp_tri_free(e->c, &sum);
    epiqp_spread_free(e->c, &spread);
    epiqp_free(e->c, one);
    epiqp_free(e->c, k0);
    return s;
}

/* ---- what all points share ---- */

typedef struct {
    const epiqp_ridge *r;
    const epiqp_probes *probes;           /* NULL: the inverse was there */
    const double *used[EPIQ_CORRECTIONS]; /* n each: the residuals as each version takes them; NULL: it was not asked */
    double *without;                      /* groups of probes by n: those of o.correction without one group; or NULL */
    double *deletion;                     /* n: how far deleting row i moves a prediction with c_i = 1, target units */
    epiqp_rowwise rows;
    epiqp_moderated moderated;
    epiqp_predictive predictive;
    epiq_influence *influential; /* points asked for by room */
    ptrdiff_t room;
} shared;

/* What the residual of a row is divided by, from B_ii and (B^2)_ii. */
static double standard(epiq_correction how, double shift, double diagonal, double norm2)
{
    return how == EPIQ_CORRECTION_JACKKNIFE ? shift * diagonal : shift * sqrt(norm2);
}

/* Residuals as version `how` takes them. With probes 1/standard^2 is a function of means, and comes out too large by
 * an amount of order 1/probes, which the jackknife knows: (G - 1) (mean over the means without a group - itself). */
static void use_residuals(const shared *w, epiq_correction how, ptrdiff_t n, const double *residual, double *used,
                          double *without)
{
    const epiqp_ridge *r = w->r;
    const epiqp_probes *b = how == EPIQ_CORRECTION_NONE ? NULL : w->probes;
    for (ptrdiff_t i = 0; i < n; i++) {
        double all = how == EPIQ_CORRECTION_NONE ? 1 : standard(how, r->shift, r->diagonal[i], r->norm2[i]), excess = 0;
        for (ptrdiff_t g = 0; b && g < EPIQP_PROBE_GROUPS; g++) {
            double one = all / standard(how, r->shift, b->diagonal_without[i + g * n], b->norm2_without[i + g * n]);
            excess += (EPIQP_PROBE_GROUPS - 1) * (one * one - 1) / EPIQP_PROBE_GROUPS;
            if (without) {
                without[i + g * n] = one;
            }
        }
        used[i] = residual[i] / (all * sqrt(1 + fmax(excess, 0)));
        for (ptrdiff_t g = 0; b && without && g < EPIQP_PROBE_GROUPS; g++) {
            without[i + g * n] *= used[i];
        }
    }
}

/* Whether rows have noise of their own. */
static bool by_row(int correction)
{
    return correction == EPIQ_CORRECTION_ROWWISE || correction == EPIQ_CORRECTION_MODERATED;
}

static int share(epiqp_job *j, epiqp_ridge *r, epiqp_probes *probes, bool leverage, shared *out)
{
    const epiq_options *o = &j->o;
    ptrdiff_t n = j->n;
    *out = (shared){.r = r, .probes = leverage && probes->count ? probes : NULL};
    double *residual = epiqp_arena_alloc(j->e.c, &j->scratch, (EPIQ_CORRECTIONS + 2) * n, sizeof *residual);
    if (!residual) {
        return EPIQ_E_NOMEM;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        residual[i] = j->members_mean ? j->data->y[i] - j->members_mean[i] : r->shift * r->alpha[i];
    }
    int s = leverage && j->data->groups < n ? epiqp_groups_new(j, r, residual, &j->grouped) : EPIQ_OK;
    if (s) {
        return s;
    }
    if (out->probes && o->correction != EPIQ_CORRECTION_NONE &&
        !(out->without = epiqp_arena_alloc(j->e.c, &j->scratch, EPIQP_PROBE_GROUPS * n, sizeof *residual))) {
        return EPIQ_E_NOMEM;
    }
    for (int how = 0; how < EPIQ_CORRECTIONS; how++) {
        if (how != EPIQ_CORRECTION_NONE && j->grouped.known) {
            out->used[how] = how == EPIQ_CORRECTION_JACKKNIFE ? j->grouped.jackknife : j->grouped.standard;
        } else if (how == EPIQ_CORRECTION_NONE || leverage) {
            double *used = residual + (1 + how) * n;
            use_residuals(out, (epiq_correction)how, n, residual, used, how == o->correction ? out->without : NULL);
            out->used[how] = used;
        }
    }
    if (o->influential > 0) {
        out->room = epiqp_min(o->influential, n);
        out->influential = epiqp_arena_alloc(j->e.c, &j->answer->arena, j->asked * out->room, sizeof *out->influential);
        if (!out->influential) {
            return EPIQ_E_NOMEM;
        }
        out->deletion = residual + (1 + EPIQ_CORRECTIONS) * n;
        for (ptrdiff_t i = 0; i < n; i++) {
            out->deletion[i] = -j->data->y_factor * r->alpha[i] / r->diagonal[i];
        }
    }
    if (leverage && j->data->groups == n) { /* rows in groups have no noise of their own: there rowwise is unbiased */
        const double *used = out->used[EPIQ_CORRECTION_ROWWISE];
        s = epiqp_rowwise_new(j, r, probes, used, by_row(o->correction) ? out->without : NULL, &out->rows);
        return s ? s : epiqp_moderated_new(j, r, probes, used, &out->rows, &out->moderated);
    }
    return EPIQ_OK;
}

/* ---- one point ---- */

static bool stronger(epiq_influence a, epiq_influence b)
{
    return fabs(a.influence) > fabs(b.influence) || (fabs(a.influence) == fabs(b.influence) && a.row < b.row);
}

void epiqp_influence_keep(epiq_influence *kept, ptrdiff_t *count, ptrdiff_t room, epiq_influence one)
{
    if (*count == room && !stronger(one, kept[room - 1])) {
        return;
    }
    *count += *count < room;
    ptrdiff_t at = *count - 1;
    for (; at > 0 && stronger(one, kept[at - 1]); at--) {
        kept[at] = kept[at - 1];
    }
    kept[at] = one;
}

/* Deleting row i moves the prediction by -alpha_i c_i / (A^-1)_ii. */
static void list_influential(const epiqp_job *j, const shared *w, const double *c, epiq_influence *kept,
                             epiq_point *point)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; i < j->n; i++) {
        epiqp_influence_keep(kept, &count, w->room, (epiq_influence){j->data->row[i], w->deletion[i] * c[i]});
    }
    point->influential = kept;
    point->influential_count = count;
}

static void multiply(ptrdiff_t n, const double *restrict a, const double *restrict b, double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = a[i] * b[i];
    }
}

/* The smoothed V without group g of the probes is that much larger or smaller for all rows, about: sums of norms change. */
static double moderated_without(const shared *w, ptrdiff_t g, double one, double variance, double own, double share)
{
    double smooth = share < 1 ? (variance - share * own) / (1 - share) : 0;
    return share * one + (1 - share) * smooth * w->moderated.without[g];
}

/* The probes' share in V: a jackknife over their groups gives the standard error, over V. excess: with rowwise's part. own:
 * the rowwise V, and share: its share in the moderated one. mean: what their means come to, over V. */
static double probe_spread(const epiqp_job *j, const shared *w, const double *c, double variance, bool excess,
                           double own, double share, double *mean, double *v)
{
    enum { G = EPIQP_PROBE_GROUPS };
    double ratio[G], square = 0;
    *mean = 0;
    for (ptrdiff_t g = 0; g < G; g++) {
        multiply(j->n, c, w->without + g * j->n, v);
        double one = epiqp_if(v, j->n, j->data->group, j->data->groups, v + j->n, 0).variance;
        if (excess) {
            one += epiqp_rowwise_share(&w->rows, g, c, j->n);
        }
        if (j->o.correction == EPIQ_CORRECTION_MODERATED) {
            one = moderated_without(w, g, one, variance, own, share);
        }
        ratio[g] = variance > 0 ? one / variance : 1;
        *mean += ratio[g] / G;
    }
    for (ptrdiff_t g = 0; g < G; g++) {
        square += (ratio[g] - *mean) * (ratio[g] - *mean);
    }
    return sqrt((G - 1) * square / G);
}

/* Where V had to be raised to a floor: other probes could have made it larger, but not smaller. With a normal error of its
 * sum, the rms of what is above the floor; and the error of the squares that a floor is made of. */
static double raised_error(const epiqp_job *j, const shared *w, const double *c, double variance, double *v)
{
    double mean, level, sd = probe_spread(j, w, c, variance, true, 0, 1, &mean, v),
                        squares = probe_spread(j, w, c, variance, false, 0, 1, &level, v);
    double z = sd > 0 ? fmax(0, (1 - mean) / sd) : 40;
    double above = (1 + z * z) * erfc(z / sqrt(2)) / 2 - z * exp(-z * z / 2) / sqrt(2 * acos(-1));
    return hypot(sd * sqrt(fmax(0, above)), level > 0 ? squares / level : 0);
}

/* All versions at point p; returns whether rowwise's variance had to be raised. scratch: 2 n for each thread. */
static bool at_point(epiqp_job *j, const shared *w, ptrdiff_t p, double *scratch)
{
    int thread = omp_get_thread_num();
    double *v = scratch + 2 * j->n * thread;
    const double *c = w->r->c + p * j->n;
    epiq_part *out = j->corrected + p * EPIQ_CORRECTIONS;
    epiq_point *point = &j->answer->points[p];
    bool low = false;
    epiqp_moderation mixed = {.rowwise = 1};
    for (int how = 0; how < EPIQ_CORRECTIONS; how++) {
        if (!w->used[how]) {
            continue;
        }
        multiply(j->n, c, w->used[how], v);
        out[how] = how == EPIQ_CORRECTION_ROWWISE && w->rows.excess
                       ? epiqp_if_rowwise(&w->rows, v, c, j->n, v + j->n, j->o.level, &low)
                   : how == EPIQ_CORRECTION_MODERATED && w->rows.excess
                       ? epiqp_if_moderated(&w->rows, &w->moderated, v, c, j->n, v + j->n, j->o.level, &mixed)
                   : how != EPIQ_CORRECTION_NONE && j->grouped.known
                       ? epiqp_if_groups(j, v, c, v + j->n)
                       : epiqp_if(v, j->n, j->data->group, j->data->groups, v + j->n, j->o.level);
    }
    if (j->share) {
        j->share[p] = mixed.floored ? 0 : mixed.rowwise;
    }
    epiq_part *chosen = &out[j->o.correction];
    if (w->without) {
        const double own = out[EPIQ_CORRECTION_ROWWISE].variance, share = mixed.floored ? 0 : mixed.rowwise;
        const bool raised = low && j->o.correction == EPIQ_CORRECTION_ROWWISE;
        double mean;
        point->probe_error =
            raised ? raised_error(j, w, c, chosen->variance, v)
                   : probe_spread(j, w, c, chosen->variance, by_row(j->o.correction), own, share, &mean, v);
        if (chosen->df > 0) { /* a variance of V next to Satterthwaite's 2 V^2/nu; of V itself at most */
            double error = fmin(point->probe_error, 1), wider = 1 / (1 / chosen->df + error * error / 2);
            *chosen = epiq_part_of(chosen->variance, wider, j->o.level, EPIQ_BY_IF);
        }
    }
    j->inf[p] = *chosen;
    if (w->room && p < j->asked) {
        list_influential(j, w, c, w->influential + p * w->room, point);
    }
    if (w->predictive.known) {
        epiqp_predictive_at(j, &w->predictive, c, thread, point);
    }
    return low;
}

int epiqp_warn_of_probes(epiqp_job *j)
{
    double largest = 0;
    for (ptrdiff_t p = 0; p < j->asked; p++) {
        largest = fmax(largest, j->answer->points[p].probe_error);
    }
    return epiqp_warn(
        j->e.c, j->warnings, "probes",
        "leverages are estimated from %td random probes: the standard error this adds to the data variance "
        "is %.2g %% %s; more --probes make it smaller, --probes 0 is exact%s",
        j->o.probes, 100 * largest, j->asked > 1 ? "at worst" : "of it",
        j->more->predictive ? ", and tells where a new observation would fall" : "");
}

/* What later stages read of moderated: the noise of each row in scaled units, and what its V is made of. */
static int keep_smoothed(epiqp_job *j, const shared *w)
{
    bool chosen = j->o.correction == EPIQ_CORRECTION_MODERATED;
    double *noise = epiqp_arena_alloc(j->e.c, &j->scratch, j->n, sizeof *noise);
    double *share = epiqp_arena_alloc(j->e.c, &j->scratch, j->points, sizeof *share);
    if (!noise || !share) {
        return EPIQ_E_NOMEM;
    }
    for (ptrdiff_t i = 0; i < j->n; i++) {
        noise[i] = w->rows.unit * w->moderated.noise[i] * w->rows.unit;
    }
    j->smoothed = noise;
    j->smoothed_unit = chosen ? w->moderated.noise : NULL;
    j->spread = chosen ? w->moderated.spread : NULL;
    j->smoothed_mean = w->rows.unit * w->moderated.mean * w->rows.unit;
    j->law[0] = w->rows.kurtosis;
    j->law[1] = w->moderated.varies;
    j->law[2] = w->moderated.mean;
    j->share = chosen ? share : NULL;
    return EPIQ_OK;
}

/* All points; once more where iteration had left too much open in them. scratch: as at_point's, and points. */
static int every_point(epiqp_job *j, const shared *w, epiqp_ridge *r, double *scratch, ptrdiff_t *floored)
{
    ptrdiff_t n = j->n, count = 0;
    double *variance = scratch + 2 * n * j->e.threads;
    bool moved = true;
    int s = EPIQ_OK;
    for (int round = 0; !s && moved && round < 2; round++) {
        count = 0;
#pragma omp parallel for schedule(static) num_threads(j->e.threads) reduction(+ : count) if (n * j->points > 20000)
        for (ptrdiff_t p = 0; p < j->points; p++) {
            bool low = at_point(j, w, p, scratch);
            count += low && p < j->asked;
            variance[p] = j->inf[p].variance;
        }
        s = epiqp_settle_data(j, r, w->used[j->o.correction], variance, &moved);
    }
    *floored = count;
    return s ? s : epiqp_settled(j, r, w->used[j->o.correction], variance);
}

int epiqp_if_from_ridge(epiqp_job *j, epiqp_ridge *r)
{
    const epiq_options *o = &j->o;
    ptrdiff_t n = j->n;
    bool leverage = o->correction != EPIQ_CORRECTION_NONE || o->influential > 0 || j->more->leverage ||
                    (n <= EPIQP_CHEAP_ROWS && epiqp_ridge_has_factor(r)); /* else two thirds of the time */
    epiqp_probes probes = {0};
    shared w;
    int s = EPIQ_OK;
    if (leverage) {
        /* with as many as rows the inverse is cheaper; and any row may decide a point that a model will be asked at */
        bool probe = o->probes > 0 && o->probes < n && !(j->more->keep && epiqp_ridge_has_factor(r));
        s = probe ? EPIQ_OK : epiqp_keep_factor(j, r);
        s = s ? s : probe ? epiqp_probes_new(&j->e, r, o->seed, o->probes, &probes) : epiqp_ridge_leverage(&j->e, r);
        s = s || !probe ? s : epiqp_deciding_rows(j, r, &probes);
        s = s || !r->bound ? s : epiqp_settle(j, r);
        j->answer->result.probes = probes.count;
    }
    s = s ? s : share(j, r, &probes, leverage, &w);
    s = s || !leverage ? s : epiqp_describe_fit(j, r);
    bool predictive = j->more->predictive && epiqp_ridge_has_inverse(r) && j->answer->result.fit.known;
    s = s || !predictive ? s : epiqp_predictive_new(j, r, &w.predictive);
    s = s || !j->more->left_out || !r->inverse.a ? s : epiqp_leave_groups_out(j, r, j->more->left_out);
    if (!s) {
        j->used = w.used[o->correction];
        j->printed = w.used[EPIQ_CORRECTION_NONE];
        j->excess = by_row(o->correction) ? w.rows.excess : NULL;
        j->excess_unit = w.rows.unit;
        s = w.rows.excess ? keep_smoothed(j, &w) : EPIQ_OK;
        s = s || !leverage ? s : epiqp_retrain_kernel(j, r);
    }
    epiqp_ridge_drop_inverse(j->e.c, r);
    epiqp_probes_free(j->e.c, &probes);
    double *scratch =
        s ? NULL : epiqp_arena_alloc(j->e.c, &j->scratch, 2 * n * j->e.threads + j->points, sizeof *scratch);
    if (!scratch) {
        return s ? s : EPIQ_E_NOMEM;
    }
    ptrdiff_t floored = 0;
    s = every_point(j, &w, r, scratch, &floored);
    if (!s && floored && o->correction == EPIQ_CORRECTION_ROWWISE) {
        s = epiqp_warn(
            j->e.c, j->warnings, "noise_by_row",
            "at %td of %td points the noise of single rows all but cancels in the data variance; half of what "
            "--correction unbiased gives is given instead; compare with --correction moderated",
            floored, j->asked);
    }
    if (!s && w.probes) {
        s = epiqp_warn_of_probes(j);
    }
    return s || r == &j->fit.ridge ? s : epiqp_warn_factor(j, r->jitter, r->loss);
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
    if (j->retrain.subset) {
        return epiqp_subset_if(j);
    }
    if (j->stopped_v) {
        return from_stopped(j);
    }
    if (j->o.solver == EPIQ_SOLVER_DIVIDED) {
        return epiqp_divided_if(j);
    }
    if (j->o.kernel == EPIQ_KERNEL_POPULATION) {
        int s = epiqp_fit_solve(&j->e, &j->fit);
        return s ? s : epiqp_if_from_ridge(j, &j->fit.ridge);
    }
    epiqp_ridge own = {0};
    int s = empirical_ridge(j, &own);
    if (!s) {
        s = epiqp_if_from_ridge(j, &own);
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
