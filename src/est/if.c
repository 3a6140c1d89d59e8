/* if.c - IF, the data variance, by the influence function of the kernel predictor (docs/method.md section 3):
 *     v_i = r_i w_i,   V = sum_i (v_i - mean v)^2
 * with the residuals r corrected for leverage, and w what a row's target weighs in the prediction: c, or more where the mean of the
 * targets was taken off. First what all points share, then each point: V with every correction, the
 * error that random probes leave in it, the rows whose deletion moves the prediction most, the interval of a new observation.
 */
#include "est/if.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* What all points share. */
typedef struct {
    const epiqp_problem *pb;
    const epiqp_solution *sol;
    const epiqp_ridge *r;                  /* the solution's */
    epiqp_probes probes;                   /* count 0: the leverages are exact, or there are none */
    const double *r_std[EPIQ_CORRECTIONS]; /* n each: residuals as each correction takes them; NULL: not computed */
    double *without;  /* groups of probes by n: those of the plan's correction without one group; NULL: no probes */
    double *deletion; /* n: how far deleting row i moves a prediction with c_i = 1, target units */
    epiqp_rowwise rows;
    epiqp_moderated *moderated;
} shared;

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
    /* squares of squares are taken: in units of the largest they neither overflow nor vanish */
    const double largest = epiqp_largest(sums, groups);
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

const double *epiqp_target_weights(const epiq_options *o, ptrdiff_t n, const double *c, double *out)
{
    if (o->scale != EPIQ_SCALE_STANDARD) return c;
    double left = 1;
    for (ptrdiff_t i = 0; i < n; i++) {
        left -= c[i];
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = c[i] + left / (double)n;
    }
    return out;
}

int epiqp_if_room(const epiqp_problem *pb, epiqp_if_findings *found)
{
    *found = (epiqp_if_findings){0};
    found->part = epiqp_room(pb, pb->points, sizeof *found->part);
    found->corrected = epiqp_room(pb, pb->points * EPIQ_CORRECTIONS, sizeof *found->corrected);
    found->probe_error = epiqp_room(pb, pb->points, sizeof *found->probe_error);
    return found->part && found->corrected && found->probe_error ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* ---- leverages ---- */

int epiqp_leverages(const epiqp_env *e, const epiqp_solution *sol)
{
    if (sol->factor_copy && !sol->factor_copy->a) {
        int s = epiqp_factor_copy(e, &sol->ridge->factor, sol->factor_copy);
        if (s) return s;
    }
    return epiqp_ridge_leverage(e, sol->ridge);
}

/* From the inverse or from probes, and then what iteration has left open is made small. */
static int find_leverages(shared *w, epiqp_if_findings *found)
{
    const epiqp_plan *plan = w->pb->plan;
    epiqp_ridge *r = w->sol->ridge;
    int s = plan->probes ? epiqp_probes_new(&w->pb->e, r, plan->seed, plan->probes, &w->probes)
                         : epiqp_leverages(&w->pb->e, w->sol);
    if (s || (plan->probes && (s = epiqp_deciding_rows(w->pb, r, &w->probes)))) return s;
    found->probes = w->probes.count;
    return r->bound ? epiqp_settle(w->pb, w->sol, &found->open) : EPIQ_OK;
}

/* ---- residuals ---- */

/* What the residual of a row is divided by, from B_ii and (B^2)_ii. */
static double standard(epiq_correction how, double shift, double diagonal, double norm2)
{
    return how == EPIQ_CORRECTION_JACKKNIFE ? shift * diagonal : shift * sqrt(norm2);
}

/* Residuals as correction `how` takes them. With probes 1/standard^2 is a function of means, and comes out too large by
 * an amount of order 1/probes, which the jackknife knows: (G - 1) (mean over the means without a group - itself). */
static void use_residuals(const shared *w, epiq_correction how, const double *residual, double *out, double *without)
{
    const epiqp_ridge *r = w->r;
    const ptrdiff_t n = r->n;
    const epiqp_probes *b = how == EPIQ_CORRECTION_NONE || !w->probes.count ? NULL : &w->probes;
    for (ptrdiff_t i = 0; i < n; i++) {
        double all = how == EPIQ_CORRECTION_NONE ? 1 : standard(how, r->shift, r->diagonal[i], r->norm2[i]), excess = 0;
        for (ptrdiff_t g = 0; b && g < EPIQP_PROBE_GROUPS; g++) {
            double one = all / standard(how, r->shift, b->diagonal_without[i + g * n], b->norm2_without[i + g * n]);
            excess += (EPIQP_PROBE_GROUPS - 1) * (one * one - 1) / EPIQP_PROBE_GROUPS;
            if (without) without[i + g * n] = one;
        }
        out[i] = residual[i] / (all * sqrt(1 + fmax(excess, 0)));
        for (ptrdiff_t g = 0; b && without && g < EPIQP_PROBE_GROUPS; g++) {
            without[i + g * n] *= out[i];
        }
    }
}

static int correct_residuals(shared *w, epiqp_if_findings *found)
{
    const epiqp_problem *pb = w->pb;
    const double *hbar = w->sol->hbar;
    const epiqp_ridge *r = w->r;
    const ptrdiff_t n = pb->n;
    const int correction = pb->plan->ran.correction;
    double *residual = epiqp_room(pb, (EPIQ_CORRECTIONS + 1) * n, sizeof *residual);
    if (!residual) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; i < n; i++) {
        residual[i] = hbar ? pb->data->y[i] - hbar[i] : r->shift * r->alpha[i];
    }
    int s = pb->plan->leverage && epiqp_has_groups(pb) ? epiqp_groups_new(pb, r, residual, &found->grouped) : EPIQ_OK;
    if (s) return s;
    if (w->probes.count && correction != EPIQ_CORRECTION_NONE &&
        !(w->without = epiqp_room(pb, EPIQP_PROBE_GROUPS * n, sizeof *w->without))) {
        return EPIQ_E_NOMEM;
    }
    for (int how = 0; how < EPIQ_CORRECTIONS; how++) {
        if (how != EPIQ_CORRECTION_NONE && found->grouped.known) {
            w->r_std[how] = how == EPIQ_CORRECTION_JACKKNIFE ? found->grouped.jackknife : found->grouped.standard;
        } else if (how == EPIQ_CORRECTION_NONE || pb->plan->leverage) {
            double *out = residual + (1 + how) * n;
            use_residuals(w, (epiq_correction)how, residual, out, how == correction ? w->without : NULL);
            w->r_std[how] = out;
        }
    }
    found->r_std = w->r_std[correction];
    found->r_raw = w->r_std[EPIQ_CORRECTION_NONE];
    return EPIQ_OK;
}

int epiqp_influential_room(const epiqp_problem *pb, epiqp_if_findings *found)
{
    const ptrdiff_t room = epiqp_min(pb->plan->ran.influential, pb->n);
    found->influential = epiqp_arena_alloc(pb->e.c, pb->lasting, pb->asked * room, sizeof *found->influential);
    found->influential_count = epiqp_room(pb, pb->asked, sizeof *found->influential_count);
    found->influential_room = room;
    return found->influential && found->influential_count ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* How far deleting a row moves predictions, and room for the strongest rows at each point. */
static int prepare_influential(shared *w, epiqp_if_findings *found)
{
    const epiqp_problem *pb = w->pb;
    if (!pb->plan->ran.influential) return EPIQ_OK;
    if (!(w->deletion = epiqp_room(pb, pb->n, sizeof *w->deletion))) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; i < pb->n; i++) {
        w->deletion[i] = -pb->data->y_factor * w->r->alpha[i] / w->r->diagonal[i];
    }
    return epiqp_influential_room(pb, found);
}

/* The noise of each row: rowwise and smoothed. Rows in groups have no noise of their own. */
static int find_noise(shared *w, epiqp_if_findings *found)
{
    const epiqp_problem *pb = w->pb;
    const int correction = pb->plan->ran.correction;
    const bool by_row = epiqp_noise_by_row(correction), moderated = correction == EPIQ_CORRECTION_MODERATED;
    if (!pb->plan->leverage || epiqp_has_groups(pb)) return EPIQ_OK;
    const double *r_std = w->r_std[EPIQ_CORRECTION_ROWWISE];
    epiqp_moderated *m = w->moderated = epiqp_room(pb, 1, sizeof *m);
    double *noise = epiqp_room(pb, pb->n, sizeof *noise), *share = epiqp_room(pb, pb->points, sizeof *share);
    if (!m || !noise || !share) return EPIQ_E_NOMEM;
    int s = epiqp_rowwise_new(pb, w->sol->ridge, &w->probes, r_std, by_row ? w->without : NULL, &w->rows);
    if (s || (s = epiqp_moderated_new(pb, w->sol, &w->probes, r_std, &w->rows, m))) return s;
    for (ptrdiff_t i = 0; i < pb->n; i++) {
        noise[i] = w->rows.unit * m->by.noise[i] * w->rows.unit;
    }
    found->smoothed = noise;
    found->moderated = moderated ? &m->by : NULL;
    found->share = moderated ? share : NULL;
    found->kurtosis = w->rows.kurtosis;
    found->law_varies = m->by.varies;
    found->law_mean = m->by.mean;
    found->noise_excess = by_row ? w->rows.excess : NULL;
    found->noise_unit = w->rows.unit;
    return EPIQ_OK;
}

/* Each row, or its group, left out. */
static int leave_rows_out(const shared *w, epiqp_if_findings *found)
{
    const epiqp_problem *pb = w->pb;
    const epiqp_plan *plan = pb->plan;
    int s = epiqp_loo_of(pb, w->r, &found->grouped, &found->loo);
    if (s || !plan->leave_out || (plan->predictive && !found->loo.known)) return s;
    const double level = plan->predictive ? plan->ran.level : 0;
    s = epiqp_predictive_new(pb, level, &found->grouped, found->loo.left_out, &found->left_out);
    if (s || !plan->predictive || !found->left_out.known || pb->engine) return s; /* unseen.c makes the interval then */
    found->predictive = epiqp_room(pb, pb->points, sizeof *found->predictive);
    return found->predictive ? EPIQ_OK : EPIQ_E_NOMEM;
}

static bool stronger(epiq_influence a, epiq_influence b)
{
    return fabs(a.influence) > fabs(b.influence) || (fabs(a.influence) == fabs(b.influence) && a.row < b.row);
}

void epiqp_influence_keep(epiq_influence *kept, ptrdiff_t *count, ptrdiff_t room, epiq_influence one)
{
    if (*count == room && !stronger(one, kept[room - 1])) return;
    *count += *count < room;
    ptrdiff_t at = *count - 1;
    for (; at > 0 && stronger(one, kept[at - 1]); at--) {
        kept[at] = kept[at - 1];
    }
    kept[at] = one;
}

/* ---- the error of random probes ---- */

static void multiply(ptrdiff_t n, const double *restrict a, const double *restrict b, double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = a[i] * b[i];
    }
}

/* The probes' share in V: a jackknife over their groups gives the standard error, over V. excess: with rowwise's part. own:
 * the rowwise V, and share: its share in the moderated one. mean: what their means come to, over V. */
static double probe_spread(const shared *w, const double *c, double variance, bool excess, double own, double share,
                           double *mean, double *v)
{
    enum { G = EPIQP_PROBE_GROUPS };
    double ratio[G], square = 0;
    *mean = 0;
    for (ptrdiff_t g = 0; g < G; g++) {
        multiply(w->pb->n, c, w->without + g * w->pb->n, v);
        double one = epiqp_if(v, w->pb->n, w->pb->data->group, w->pb->data->groups, v + w->pb->n, 0).variance;
        if (excess) one += epiqp_rowwise_share(&w->rows, g, c, w->pb->n);
        if (w->pb->plan->ran.correction == EPIQ_CORRECTION_MODERATED) {
            /* without a group of probes the smoothed V is larger or smaller by one factor for all rows, about */
            double smooth = share < 1 ? (variance - share * own) / (1 - share) : 0;
            one = share * one + (1 - share) * smooth * w->moderated->without[g];
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
static double raised_error(const shared *w, const double *c, double variance, double *v)
{
    double mean, level, sd = probe_spread(w, c, variance, true, 0, 1, &mean, v),
                        squares = probe_spread(w, c, variance, false, 0, 1, &level, v);
    double z = sd > 0 ? fmax(0, (1 - mean) / sd) : 40;
    double above = (1 + z * z) * erfc(z / sqrt(2)) / 2 - z * exp(-z * z / 2) / sqrt(2 * acos(-1));
    return hypot(sd * sqrt(fmax(0, above)), level > 0 ? squares / level : 0);
}

/* ---- one point ---- */

/* V with every correction. low: rowwise's variance had to be raised. */
static void correct(const shared *w, const epiqp_grouped *grouped, const double *c, double *v, epiq_part *out,
                    bool *low, epiqp_moderation *mixed)
{
    const epiqp_problem *pb = w->pb;
    const ptrdiff_t n = pb->n;
    const double level = pb->plan->ran.level;
    for (int how = 0; how < EPIQ_CORRECTIONS; how++) {
        if (!w->r_std[how]) continue;
        multiply(n, c, w->r_std[how], v);
        out[how] = how == EPIQ_CORRECTION_ROWWISE && w->rows.excess
                       ? epiqp_if_rowwise(&w->rows, v, c, n, v + n, level, low)
                   : how == EPIQ_CORRECTION_MODERATED && w->rows.excess
                       ? epiqp_if_moderated(&w->rows, &w->moderated->by, v, c, n, v + n, level, mixed)
                   : how != EPIQ_CORRECTION_NONE && grouped->known
                       ? epiqp_if_groups(pb, grouped->kurtosis, v, c, v + n)
                       : epiqp_if(v, n, pb->data->group, pb->data->groups, v + n, level);
    }
}

/* Whether deleting a second row can be told: each is left out alone, and its leverage is exact. */
static bool knows_pairs(const shared *w)
{
    return !epiqp_has_groups(w->pb) && !w->probes.count;
}

/* How far deleting row j moves a prediction that leaves row i out already and gives j the weight c = -B_ij/B_ii: without i,
 * alpha_j becomes alpha_j + c alpha_i, and B_jj becomes B_jj - c^2 B_ii. */
static double moved_without(const shared *w, ptrdiff_t i, ptrdiff_t j, double c)
{
    const epiqp_ridge *r = w->r;
    const double left = r->diagonal[j] - c * c * r->diagonal[i];
    return left > 0 ? -w->pb->data->y_factor * c * (r->alpha[j] + c * r->alpha[i]) / left : 0;
}

/* Returns whether rowwise's variance had to be raised. scratch: 3 n for each thread. */
static bool at_point(const shared *w, ptrdiff_t p, double *scratch, epiqp_if_findings *found)
{
    const epiqp_problem *pb = w->pb;
    const int correction = w->pb->plan->ran.correction, thread = omp_get_thread_num();
    double *v = scratch + 3 * pb->n * thread;
    const double *c = w->r->c + p * pb->n, *weight = epiqp_target_weights(&pb->plan->ran, pb->n, c, v + 2 * pb->n);
    epiq_part *out = found->corrected + p * EPIQ_CORRECTIONS, *chosen = &out[correction];
    epiqp_moderation mixed = {.rowwise = 1};
    bool low = false;
    correct(w, &found->grouped, weight, v, out, &low, &mixed);
    const double share = mixed.floored ? 0 : mixed.rowwise;
    if (found->share) found->share[p] = share;
    if (w->without) {
        const double own = out[EPIQ_CORRECTION_ROWWISE].variance;
        double mean, error = low && correction == EPIQ_CORRECTION_ROWWISE
                                 ? raised_error(w, weight, chosen->variance, v)
                                 : probe_spread(w, weight, chosen->variance, epiqp_noise_by_row(correction), own, share,
                                                &mean, v);
        found->probe_error[p] = error;
        if (chosen->df > 0) { /* a variance of V next to Satterthwaite's 2 V^2/nu; of V itself at most */
            double most = fmin(error, 1), wider = 1 / (1 / chosen->df + most * most / 2);
            *chosen = epiq_part_of(chosen->variance, wider, w->pb->plan->ran.level, EPIQ_BY_IF);
        }
    }
    found->part[p] = *chosen;
    const ptrdiff_t without = pb->left_out ? pb->left_out[p] : -1,
                    room = p < pb->asked && (without < 0 || knows_pairs(w)) ? found->influential_room : 0;
    ptrdiff_t count = 0;
    for (ptrdiff_t i = 0; room && i < pb->n; i++) {
        if (i == without) continue;
        const double moved = without < 0 ? w->deletion[i] * c[i] : moved_without(w, without, i, c[i]);
        epiqp_influence_keep(found->influential + p * room, &count, room, (epiq_influence){pb->data->row[i], moved});
    }
    if (room) found->influential_count[p] = count;
    if (found->predictive) found->predictive[p] = epiqp_predictive_at(pb, &found->left_out, c, thread);
    return low;
}

/* What all points share: the last step that reads the inverse or the probes. */
static int prepare(shared *w, epiqp_if_findings *found)
{
    const bool leverage = w->pb->plan->leverage;
    int s = leverage ? find_leverages(w, found) : EPIQ_OK;
    if (s || (s = correct_residuals(w, found)) || (s = prepare_influential(w, found)) || (s = find_noise(w, found)) ||
        (leverage && (s = leave_rows_out(w, found)))) {
        return s;
    }
    return leverage && w->pb->plan->retrained ? epiqp_reference_new(w->pb, w->sol, found, &found->reference) : EPIQ_OK;
}

/* All points; once more where iteration had left too much open in them. floored: where rowwise was raised. */
static int every_point(const shared *w, ptrdiff_t *floored, epiqp_if_findings *found)
{
    const epiqp_problem *pb = w->pb;
    const ptrdiff_t n = pb->n;
    double *scratch = epiqp_room(pb, 3 * n * pb->e.threads + pb->points, sizeof *scratch);
    if (!scratch) return EPIQ_E_NOMEM;
    double *variance = scratch + 3 * n * pb->e.threads;
    bool moved = true;
    for (int round = 0; moved && round < 2; round++) {
        ptrdiff_t count = 0;
#pragma omp parallel for schedule(static) num_threads(pb->e.threads) reduction(+ : count) if (n * pb->points > EPIQP_MANY_PAIRS)
        for (ptrdiff_t p = 0; p < pb->points; p++) {
            bool low = at_point(w, p, scratch, found);
            count += low && p < pb->asked;
            variance[p] = found->part[p].variance;
        }
        *floored = count;
        int s = epiqp_settle_data(pb, w->sol, found->r_std, variance, false, &moved); /* they come from alpha already */
        if (s) return s;
    }
    return epiqp_settled(pb, w->sol, found->r_std, variance, &found->open);
}

int epiqp_if_from_ridge(const epiqp_problem *pb, const epiqp_solution *sol, epiqp_if_findings *found)
{
    shared w = {.pb = pb, .sol = sol, .r = sol->ridge};
    ptrdiff_t floored = 0;
    int s = prepare(&w, found);
    epiqp_inverse_free(pb->e.c, &sol->ridge->inverse);
    epiqp_probes_free(pb->e.c, &w.probes);
    if (s || (s = every_point(&w, &floored, found))) return s;
    if (floored && pb->plan->ran.correction == EPIQ_CORRECTION_ROWWISE) {
        s = epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_NOISE_BY_ROW,
                       "at %td of %td points the noise of single rows all but cancels in the data variance; half of "
                       "what {--correction} unbiased gives is given instead; compare with {--correction} moderated",
                       floored, pb->asked);
    }
    return s || !found->probes ? s : epiqp_warn_probes(pb, found);
}

int epiqp_kernel_predictions(const epiqp_problem *pb, const double *c, const double *first, double **out)
{
    *out = epiqp_room(pb, pb->points, sizeof **out);
    for (ptrdiff_t p = 0; *out && p < pb->points; p++) {
        (*out)[p] = epiqp_dot(pb->n, c + p * pb->n, pb->data->y) + (first ? first[p] : 0);
    }
    return *out ? EPIQ_OK : EPIQ_E_NOMEM;
}

int epiqp_warn_probes(const epiqp_problem *pb, const epiqp_if_findings *found)
{
    double largest = 0;
    for (ptrdiff_t p = 0; p < pb->asked; p++) {
        largest = fmax(largest, found->probe_error[p]);
    }
    return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_PROBES,
                      "leverages are estimated from %td random probes: the standard error this adds to the data "
                      "variance is %.2g %% %s; more {--probes} make it smaller, and as many as rows are exact%s",
                      pb->plan->probes, 100 * largest, pb->asked > 1 ? "at worst" : "of it",
                      pb->plan->wants_predictive && pb->n <= EPIQP_INVERSE_ROWS ? " and give prediction intervals"
                                                                                : "");
}

int epiqp_warn_factor(const epiqp_problem *pb, double jitter, double loss)
{
    double ridge = pb->plan->ran.lambda * (double)pb->n;
    if (jitter > 0) {
        return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_JITTER,
                          "the kernel matrix was not positive definite; %.3g was added to its diagonal, where lambda n "
                          "is %.3g; a larger {--lambda} avoids this",
                          jitter, ridge);
    }
    if (!(loss > EPIQP_MOST_LOSS)) return EPIQ_OK;
    return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_ILL_CONDITIONED,
                      "some rows are combinations of others but for rounding, beside which lambda n = %.3g is small: "
                      "the first digits of predictions and variances may be wrong; use a larger {--lambda}",
                      ridge);
}
