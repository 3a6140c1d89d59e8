/* spread.c - where a new observation falls: left-out errors divided by a scale that varies over x, and that scale at a
 * point (docs/method.md section 3, equations Y0 to Y7). The scale joins the variance of the networks to the size of the errors of
 * similar rows; how much the latter count is chosen by the likelihood of the left-out errors.
 */
#include "est/spread.h"
#include "rng/rng.h"
#include "solve/chol.h"
#include "stats/stats.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEWEST = 12, /* neighbours: fewer say little of a variance, */
    MOST = 64,   /* more are no longer near */
    PART = 20,   /* of the rows: a twentieth */
    PRIORS = 11,
    AT_ONCE = 4,     /* rows that distances are summed to, side by side */
    REPORTED = 20000 /* rows after which progress is told */
};
static const double PRIOR[PRIORS] = {0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 0}; /* 0: the table alone */
static const double LEAST_TRUST = 0.05;                                         /* of the data part */
static const double LEAST_NOISE = 0.05;    /* of the squared error: variances are not known well enough for less */
static const double PREDICTION_WEIGHT = 3; /* rows are alike if their predictions are, more than by any one feature */
/* Of a feature's range: farther out than this lies outside the data; or than the rows themselves, all but a share STRAYING of
 * them, lie beyond the others, at most FARTHEST. */
static const double BEYOND = 0.1, STRAYING = 0.01, FARTHEST = 0.5;
static const double TIE = 1e-9; /* distances and weights equal but for rounding */

double epiqp_spread_shrink(double share, double leave_one_out2, double folds2)
{
    if (!(leave_one_out2 > 0 && folds2 > 0)) return sqrt(sqrt(share));
    return fmin(1, fmax(sqrt(share), sqrt(leave_one_out2) / sqrt(folds2)));
}

/* ---- neighbours ---- */

typedef epiqp_nearby nearby;

/* Squared distances to rows j to j + AT_ONCE - 1, by features alone: each a sum that waits for its own last term only. The last
 * row stands for those that are not there. */
static void by_features(const epiqp_spread *s, const double *x, ptrdiff_t j, double apart2[AT_ONCE])
{
    const double *row[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++) {
        row[i] = s->x + (j + i < s->rows ? j + i : s->rows - 1) * s->d;
        apart2[i] = 0;
    }
    for (ptrdiff_t k = 0; k < s->d; k++) {
        for (int i = 0; i < AT_ONCE; i++) {
            const double difference = (x[k] - row[i][k]) * s->scale[k];
            apart2[i] += difference * difference;
        }
    }
}

/* v into the list of the smallest, which rise from list[1] to list[count]; list[0] is -infinity. */
static void keep_smallest(double *list, ptrdiff_t count, double v)
{
    ptrdiff_t k = count;
    if (!(v < list[k])) return;
    for (; list[k - 1] > v; k--) {
        list[k] = list[k - 1];
    }
    list[k] = v;
}

/* The rows near x. group: of each row that neighbours are chosen among, where x is itself a row and its own group does not
 * count; rows of equal features are then no measure of how far rows are apart. NULL: x is a point. */
static nearby look_around(const epiqp_spread *s, const double *x, double prediction, const ptrdiff_t *group,
                          ptrdiff_t own)
{
    nearby out = {.apart2 = INFINITY};
    double closest[1 + MOST], apart2[AT_ONCE],
        all[EPIQP_SPREAD_ROWS]; /* all: squared distances, predictions counting */
    for (ptrdiff_t k = 0; k <= MOST; k++) {
        closest[k] = k ? INFINITY : -INFINITY;
    }
    for (ptrdiff_t j = 0; j < s->rows; j++) {
        const double difference = (prediction - s->prediction[j]) * s->law.prediction_scale,
                     *here = apart2 + j % AT_ONCE;
        if (j % AT_ONCE == 0) by_features(s, x, j, apart2);
        if (group && group[j] == own) continue;
        all[j] = *here + difference * difference;
        keep_smallest(closest, s->near, all[j]);
        if (!group || *here > 0) out.apart2 = fmin(out.apart2, *here);
    }
    const double within = closest[s->near] * (1 + TIE) + DBL_MIN; /* infinite: there are no more rows than that */
    for (ptrdiff_t j = 0; j < s->rows; j++) {
        if ((group && group[j] == own) || !(all[j] <= within)) continue;
        out.weight += s->weight[j];
        out.ratio += s->weight[j] * s->ratio[j];
        out.data += s->weight[j] * s->data[j];
        const double beside = s->weight[j] * s->beside[j];
        out.weight2 += s->weight[j] * s->weight[j];
        out.beside += beside;
        out.beside2 += beside * beside;
    }
    return out;
}

nearby epiqp_spread_look(const epiqp_spread *s, const double *x, double prediction)
{
    return look_around(s, x, prediction, NULL, 0);
}

double epiqp_spread_trust(const nearby *near)
{
    return near->beside < near->data ? fmax(near->beside / near->data, LEAST_TRUST) : 1;
}

epiq_part epiqp_spread_trusted(const nearby *near, epiq_part data, double level)
{
    const double trust = epiqp_spread_trust(near);
    const epiq_part part = epiqp_in_units(data, trust);
    if (trust == 1 || !part.known || !(data.df > 0)) return part;
    const double mean = near->beside / near->weight,
                 error = sqrt(fmax(0, near->beside2 - mean * mean * near->weight2)) / (trust * near->data),
                 df = 1 / (1 / data.df + error * error / 2);
    return epiq_part_of(part.variance, fmax(df, fmin(data.df, EPIQP_NARROW)), level, data.method);
}

/* ---- the scale ---- */

/* How large squared errors are here, over what noise and variance explain (Y3). */
static double local_ratio(const epiqp_spread *s, double prior, double weight, double ratio)
{
    return prior > 0 ? (ratio + prior * s->law.mean_ratio) / (weight + prior) : s->law.mean_ratio;
}

/* Of an expected squared error `total`, what is not the variance of the networks. */
static double noise_of(double total, double variance)
{
    return fmax(total - variance, LEAST_NOISE * total);
}

/* Of squared errors as of networks that learn from all rows, less v, the variance of as many networks as they are of (Y6).
 * Where that is most of the errors, what is left would be chance. */
static double noise_at(const epiqp_spread *s, const nearby *near, double v)
{
    const epiqp_spread_law *l = &s->law;
    const double here = l->shrink * l->shrink * local_ratio(s, l->prior, near->weight, near->ratio);
    return fmax(noise_of((l->base + v) * here, v), l->given * here);
}

/* noise, v: in units of law.unit^2. Rows up to `reach` apart from all others are inside the data. */
static epiqp_spread_place place_of(const epiqp_spread *s, const nearby *near, double reach, double noise, double v)
{
    const double unit = s->law.unit;
    epiqp_spread_place out = {.noise_sd = unit * sqrt(noise), .sd = unit * sqrt(noise + v)};
    out.known = out.sd <= DBL_MAX;
    if (!out.known) out.noise_sd = out.sd = 0;
    out.outside = !(sqrt(near->apart2) <= reach * (1 + TIE));
    return out;
}

static double in_units(const epiqp_spread *s, double variance)
{
    return variance / s->law.unit / s->law.unit;
}

epiqp_spread_place epiqp_spread_at_row(const epiqp_spread *s, ptrdiff_t row, double variance)
{
    const ptrdiff_t group = s->group ? s->group[row] : row;
    const nearby *near = &s->of_row[row];
    return place_of(s, near, group == s->farthest ? s->other_reach : s->law.reach, near->noise, in_units(s, variance));
}

epiqp_spread_place epiqp_spread_at(const epiqp_spread *s, const double *x, const nearby *near, double variance,
                                   double of_few)
{
    const double noise = noise_at(s, near, in_units(s, of_few));
    epiqp_spread_place out = place_of(s, near, s->law.reach, noise, in_units(s, variance));
    for (ptrdiff_t k = 0; k < s->d; k++) {
        const double slack = (s->beyond + TIE) * (s->most[k] - s->least[k]);
        out.outside |= !(x[k] >= s->least[k] - slack && x[k] <= s->most[k] + slack);
    }
    return out;
}

ptrdiff_t epiqp_spread_needs(double level)
{
    return (ptrdiff_t)ceil(level / (1 - level) * (1 - TIE));
}

bool epiqp_spread_factor(const epiqp_spread *s, double level, double *factor)
{
    const double goal = level * (s->groups + 1) * (1 - TIE);
    for (ptrdiff_t i = 0; i < s->n; i++) {
        if (s->upto[i] >= goal) {
            *factor = s->score[i];
            return true;
        }
    }
    return false;
}

/* ---- setting up ---- */

typedef struct {
    const epiqp_spread_rows *given;
    epiqp_spread *out;
    ptrdiff_t *order;       /* n: any use */
    ptrdiff_t *chosen;      /* rows: that neighbours are chosen among, rising */
    ptrdiff_t *group;       /* their groups */
    double *weight;         /* n */
    double *error2;         /* n: in units of out->law.unit^2 */
    double *variance;       /* n: likewise; in the end, as far as it is trusted */
    nearby *near;           /* n */
    epiqp_weighted *scores; /* n */
    double *room;           /* n: any use */
    double mean2;           /* of error2 */
} setup;

static ptrdiff_t group_of(const epiqp_spread_rows *given, ptrdiff_t i)
{
    return given->group ? given->group[i] : i;
}

static double weighted_mean(const setup *w, const double *v)
{
    double sum = 0;
    for (ptrdiff_t i = 0; i < w->given->n; i++) {
        sum += w->weight[i] * v[i];
    }
    return sum / (double)w->given->groups;
}

static void weigh_rows(const setup *w)
{
    const ptrdiff_t n = w->given->n;
    memset(w->room, 0, (size_t)n * sizeof *w->room);
    for (ptrdiff_t i = 0; i < n; i++) {
        w->room[group_of(w->given, i)]++;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        w->weight[i] = 1 / w->room[group_of(w->given, i)];
    }
}

/* Errors and variances in units in which no square overflows. */
static void measure_errors(setup *w)
{
    const epiqp_spread_rows *given = w->given;
    epiqp_spread_law *law = &w->out->law;
    const double unit = fmax(epiqp_largest(given->error, given->n), sqrt(epiqp_largest(given->variance, given->n)));
    law->unit = unit > 0 ? unit : 1;
    for (ptrdiff_t i = 0; i < given->n; i++) {
        const double e = given->error[i] / law->unit;
        w->error2[i] = e * e;
        w->variance[i] = given->variance[i] / law->unit / law->unit;
    }
    w->mean2 = weighted_mean(w, w->error2);
    if (w->mean2 < DBL_MIN / DBL_EPSILON) w->mean2 = 0;
    const double between = epiqp_variance(given->prediction, given->n);
    law->prediction_scale = between > 0 ? PREDICTION_WEIGHT / sqrt(between) : 0;
}

/* Range and scale of the features, over all rows. */
static void measure_features(const setup *w, double *scale, double *least, double *most)
{
    const epiqp_spread_rows *given = w->given;
    for (ptrdiff_t k = 0; k < given->d; k++) {
        least[k] = most[k] = given->x[k];
        for (ptrdiff_t i = 0; i < given->n; i++) {
            w->room[i] = given->x[i * given->d + k];
            least[k] = fmin(least[k], w->room[i]);
            most[k] = fmax(most[k], w->room[i]);
        }
        const double variance = most[k] > least[k] ? epiqp_variance(w->room, given->n) : 0;
        scale[k] = variance > 0 ? 1 / sqrt(variance * (double)given->d) : 0;
    }
}

/* How far the row with the largest value of a feature (sign -1: the least) lies beyond all others, those of its group aside; in units
 * of their range. */
static double lead_of(const epiqp_spread_rows *given, ptrdiff_t k, double sign, double range)
{
    ptrdiff_t first = 0;
    double next = -INFINITY;
    for (ptrdiff_t i = 1; i < given->n; i++) {
        if (sign * given->x[i * given->d + k] > sign * given->x[first * given->d + k]) first = i;
    }
    for (ptrdiff_t i = 0; i < given->n; i++) {
        if (group_of(given, i) != group_of(given, first)) next = fmax(next, sign * given->x[i * given->d + k]);
    }
    const double lead = sign * given->x[first * given->d + k] - next;
    return range > lead && range <= DBL_MAX ? lead / (range - lead) : 0;
}

/* What rows like these may lie beyond the range (Y7). lead: 2 d, any use. */
static double beyond_of(const epiqp_spread_rows *given, const double *least, const double *most, double *lead)
{
    const ptrdiff_t ends = 2 * given->d, stray = epiqp_max(1, (ptrdiff_t)(STRAYING * (double)given->groups));
    if (stray >= ends) return BEYOND;
    for (ptrdiff_t k = 0; k < given->d; k++) {
        const double range = most[k] - least[k];
        lead[k] = lead_of(given, k, 1, range);
        lead[k + given->d] = lead_of(given, k, -1, range);
    }
    epiqp_sort(lead, ends);
    return fmin(fmax(lead[ends - 1 - stray], BEYOND), FARTHEST);
}

/* Of a squared error; less: what is not trusted of the variance. */
static double ratio_of(const setup *w, ptrdiff_t i, double less)
{
    const double explained = w->out->law.base + w->variance[i] - less;
    return explained > 0 ? w->error2[i] / explained : 0;
}

/* What near rows take off the variance of row i. */
static double doubted(const setup *w, const nearby *near, ptrdiff_t i)
{
    return w->given->data ? (1 - epiqp_spread_trust(near)) * in_units(w->out, w->given->data[i]) : 0;
}

/* The rows that neighbours are chosen among: all, or a sample that depends on their number alone. */
static void choose_rows(const setup *w)
{
    const ptrdiff_t n = w->given->n;
    for (ptrdiff_t i = 0; i < n; i++) {
        w->order[i] = i;
        w->room[i] = 0;
    }
    if (w->out->rows < n) epiqp_shuffle((epiqp_stream){0, EPIQP_FOR_NEIGHBOURS, 0}, 0, n, w->order);
    for (ptrdiff_t i = 0; i < w->out->rows; i++) {
        w->room[w->order[i]] = 1;
    }
    for (ptrdiff_t i = 0, k = 0; i < n; i++) {
        if (w->room[i] > 0) w->chosen[k++] = i;
    }
}

/* What follows from features and groups alone. all: laid_out_size of them. */
static ptrdiff_t laid_out_size(const epiqp_spread *s)
{
    return (s->rows + 5) * s->d + s->rows;
}

static void lay_out(const setup *w, double *all)
{
    epiqp_spread *out = w->out;
    const ptrdiff_t d = out->d, rows = out->rows;
    double *scale = all + rows * d, *least = scale + d, *most = least + d, *weight = most + d;
    weigh_rows(w);
    measure_features(w, scale, least, most);
    out->beyond = beyond_of(w->given, least, most, weight + rows);
    choose_rows(w);
    for (ptrdiff_t j = 0; j < rows; j++) {
        memcpy(all + j * d, w->given->x + w->chosen[j] * d, (size_t)d * sizeof *all);
        weight[j] = w->weight[w->chosen[j]];
    }
    out->x = all;
    out->scale = scale;
    out->least = least;
    out->most = most;
    out->weight = weight;
}

/* The farthest that a row is from the others, and the same without the group of that row. */
static void find_reach(const setup *w)
{
    epiqp_spread *out = w->out;
    out->law.reach = out->other_reach = 0;
    out->farthest = -1;
    for (int others = 0; others < 2; others++) {
        double *reach = others ? &out->other_reach : &out->law.reach;
        for (ptrdiff_t i = 0; i < w->given->n; i++) {
            const double apart = sqrt(w->near[i].apart2);
            if (!(apart < INFINITY && apart > *reach) || (others && group_of(w->given, i) == out->farthest)) continue;
            *reach = apart;
            out->farthest = others ? out->farthest : group_of(w->given, i);
        }
    }
}

static nearby around_row(const setup *w, ptrdiff_t i)
{
    return look_around(w->out, w->given->x + i * w->given->d, w->given->prediction[i], w->group, group_of(w->given, i));
}

/* The ratios of the rows that neighbours are chosen among, with variances as far as these trust each other, and the noise if it is
 * equal everywhere (Y1). */
static void find_ratios(const epiqp_env *e, const setup *w, double *ratio)
{
    const epiqp_spread_rows *given = w->given;
    epiqp_spread *out = w->out;
    double weights = 0, less = 0;
    memset(w->room, 0, (size_t)out->rows * sizeof *w->room);
#pragma omp parallel for schedule(dynamic, 16) num_threads(e->threads) if (out->rows > EPIQP_ALONE)
    for (ptrdiff_t j = 0; j < (given->data ? out->rows : 0); j++) {
        const nearby near = around_row(w, w->chosen[j]);
        w->room[j] = doubted(w, &near, w->chosen[j]);
    }
    for (ptrdiff_t j = 0; j < out->rows; j++) {
        weights += out->weight[j];
        less += out->weight[j] * w->room[j];
    }
    out->law.given = given->noise2 > 0 ? in_units(out, given->noise2) : 0;
    out->law.base =
        out->law.given > 0 ? out->law.given : noise_of(w->mean2, weighted_mean(w, w->variance) - less / weights);
    for (ptrdiff_t j = 0; j < out->rows; j++) {
        ratio[j] = ratio_of(w, w->chosen[j], w->room[j]);
    }
}

static int find_neighbours(const epiqp_env *e, const setup *w)
{
    const ptrdiff_t n = w->given->n;
    for (ptrdiff_t from = 0; from < n; from += REPORTED) {
        const ptrdiff_t end = epiqp_min(n, from + REPORTED);
#pragma omp parallel for schedule(dynamic, 16) num_threads(e->threads) if (n > EPIQP_ALONE)
        for (ptrdiff_t i = from; i < end; i++) {
            if (epiqp_cancel_requested(e->c)) continue;
            w->near[i] = around_row(w, i);
        }
        int s = n > REPORTED || epiqp_cancel_requested(e->c) ? epiqp_report(e->c, "rows", end, n) : EPIQ_OK;
        if (s) return s;
    }
    find_reach(w);
    return EPIQ_OK;
}

/* Variances as far as they are trusted, and the mean over all rows of what errors are beside them. */
static void trust_variances(const setup *w)
{
    for (ptrdiff_t i = 0; i < w->given->n; i++) {
        w->variance[i] -= doubted(w, &w->near[i], i);
        w->room[i] = ratio_of(w, i, 0);
    }
    w->out->law.mean_ratio = weighted_mean(w, w->room);
}

/* Expected squared error of row i. */
static double expected2(const setup *w, double prior, ptrdiff_t i)
{
    const double v = w->variance[i];
    return v + noise_of((w->out->law.base + v) * local_ratio(w->out, prior, w->near[i].weight, w->near[i].ratio), v);
}

static double deviance(const setup *w, double prior, ptrdiff_t i)
{
    const double u2 = expected2(w, prior, i);
    return log(u2) + w->error2[i] / u2;
}

/* Whether `plain` is worse than `best` by no more than a standard error, groups being what varies. */
static bool as_good(const setup *w, double plain, double best)
{
    const ptrdiff_t n = w->given->n, groups = w->given->groups;
    double sum = 0, squares = 0;
    memset(w->room, 0, (size_t)n * sizeof *w->room);
    for (ptrdiff_t i = 0; i < n; i++) {
        w->room[group_of(w->given, i)] += w->weight[i] * (deviance(w, plain, i) - deviance(w, best, i));
    }
    for (ptrdiff_t g = 0; g < groups; g++) {
        sum += w->room[g];
        squares += w->room[g] * w->room[g];
    }
    return sum <= sqrt(fmax(0, squares - sum * sum / (double)groups));
}

/* The plainest that is not clearly worse than the likeliest (Y4). */
static double choose_prior(const setup *w)
{
    double least = INFINITY;
    int best = PRIORS - 1;
    if (!(w->mean2 > 0)) return PRIOR[best];
    for (int p = 0; p < PRIORS; p++) {
        for (ptrdiff_t i = 0; i < w->given->n; i++) {
            w->room[i] = deviance(w, PRIOR[p], i);
        }
        const double here = weighted_mean(w, w->room);
        if (here < least) {
            least = here;
            best = p;
        }
    }
    for (int p = PRIORS - 1; p > best; p--) {
        if (as_good(w, PRIOR[p], PRIOR[best])) return PRIOR[p];
    }
    return PRIOR[best];
}

/* The noise of every row, and the overall noise as the mean of these. */
static void find_noise(const setup *w)
{
    const ptrdiff_t n = w->given->n;
    for (ptrdiff_t i = 0; i < n; i++) {
        w->near[i].noise = w->room[i] = noise_at(w->out, &w->near[i], w->variance[i]);
    }
    w->out->law.noise_sd = w->out->law.unit * sqrt(epiqp_mean(w->room, n));
}

static int rising(const void *left, const void *right)
{
    const double a = ((const epiqp_weighted *)left)->value, b = ((const epiqp_weighted *)right)->value;
    return (a > b) - (a < b);
}

/* Errors over their scale (Y5). */
static void rank_scores(const setup *w, double *score, double *upto)
{
    const ptrdiff_t n = w->given->n;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double u2 = expected2(w, w->out->law.prior, i);
        w->scores[i] = (epiqp_weighted){u2 > 0 ? sqrt(w->error2[i] / u2) : 0, w->weight[i]};
    }
    qsort(w->scores, (size_t)n, sizeof *w->scores, rising);
    double sum = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        score[i] = w->scores[i].value;
        upto[i] = sum += w->scores[i].weight;
    }
}

static int fill(const epiqp_env *e, setup *w, double *all)
{
    epiqp_spread *out = w->out;
    const ptrdiff_t n = out->n, rows = out->rows;
    double *prediction = all + laid_out_size(out), *ratio = prediction + rows, *data = ratio + rows,
           *beside = data + rows, *score = beside + rows, *upto = score + n;
    lay_out(w, all);
    measure_errors(w);
    for (ptrdiff_t j = 0; j < rows; j++) {
        const ptrdiff_t i = w->chosen[j];
        prediction[j] = w->given->prediction[i];
        data[j] = w->given->data ? in_units(out, w->given->data[i]) : 0;
        beside[j] = w->given->data ? w->error2[i] - fmax(w->variance[i] - data[j], 0) : 0;
        ratio[j] = 0;
        w->group[j] = group_of(w->given, i);
    }
    out->prediction = prediction;
    out->ratio = ratio;
    out->data = data;
    out->beside = beside;
    out->score = score;
    out->upto = upto;
    find_ratios(e, w, ratio);
    int s = find_neighbours(e, w);
    if (s) return s;
    trust_variances(w);
    out->law.prior = choose_prior(w);
    find_noise(w);
    rank_scores(w, score, upto);
    return EPIQ_OK;
}

static epiqp_spread shape_of(const epiqp_spread_rows *rows)
{
    const ptrdiff_t few = epiqp_spread_count(rows->n);
    return (epiqp_spread){.n = rows->n,
                          .d = rows->d,
                          .rows = few,
                          .near = epiqp_min(MOST, epiqp_max(FEWEST, few / PART)),
                          .groups = (double)rows->groups};
}

int epiqp_spread_new(const epiqp_env *e, epiqp_arena *arena, const epiqp_spread_rows *rows, epiqp_spread *out)
{
    const ptrdiff_t n = rows->n, few = epiqp_spread_count(n);
    *out = shape_of(rows);
    out->group = rows->group;
    out->law.shrink = rows->shrink;
    out->law.networks = rows->networks;
    double *all = epiqp_arena_alloc(e->c, arena, laid_out_size(out) + 4 * few + 2 * n, sizeof *all);
    setup w = {.given = rows, .out = out};
    double *room = epiqp_alloc(e->c, 4 * n, sizeof *room);
    w.near = epiqp_arena_alloc(e->c, arena, n, sizeof *w.near);
    w.order = epiqp_alloc(e->c, n + 2 * few, sizeof *w.order);
    w.scores = epiqp_alloc(e->c, n, sizeof *w.scores);
    int s = all && room && w.near && w.order && w.scores ? EPIQ_OK : EPIQ_E_NOMEM;
    if (!s) {
        w.chosen = w.order + n;
        w.group = w.chosen + few;
        w.weight = room;
        w.error2 = room + n;
        w.variance = room + 2 * n;
        w.room = room + 3 * n;
        out->of_row = w.near;
        s = fill(e, &w, all);
    }
    epiqp_free(e->c, room);
    epiqp_free(e->c, w.order);
    epiqp_free(e->c, w.scores);
    return s;
}

/* ---- in a model ---- */

int epiqp_spread_keep(epiq_ctx *c, epiqp_arena *arena, const epiqp_spread *from, epiqp_spread_kept *out)
{
    const ptrdiff_t n = from->n, rows = from->rows;
    const double *of_rows[] = {from->prediction, from->ratio, from->data, from->beside};
    double *kept = epiqp_arena_alloc(c, arena, 4 * rows + 2 * n, sizeof *kept);
    if (!kept) return EPIQ_E_NOMEM;
    double *score = kept + 4 * rows;
    for (int k = 0; k < 4; k++) {
        memcpy(kept + k * rows, of_rows[k], (size_t)rows * sizeof *kept);
    }
    memcpy(score, from->score, (size_t)n * sizeof *score);
    memcpy(score + n, from->upto, (size_t)n * sizeof *score);
    *out = (epiqp_spread_kept){kept, kept + rows, kept + 2 * rows, kept + 3 * rows, score, score + n, from->law};
    return EPIQ_OK;
}

int epiqp_spread_restore(epiq_ctx *c, epiqp_arena *arena, const epiqp_spread_rows *rows, const epiqp_spread_kept *kept,
                         epiqp_spread *out)
{
    const ptrdiff_t n = rows->n;
    *out = shape_of(rows);
    setup w = {.given = rows, .out = out};
    double *all = epiqp_arena_alloc(c, arena, laid_out_size(out), sizeof *all);
    w.weight = epiqp_alloc(c, 2 * n, sizeof *w.weight);
    w.order = epiqp_alloc(c, n + out->rows, sizeof *w.order);
    int s = all && w.weight && w.order ? EPIQ_OK : EPIQ_E_NOMEM;
    if (!s) {
        w.room = w.weight + n;
        w.chosen = w.order + n;
        lay_out(&w, all);
        out->prediction = kept->prediction;
        out->ratio = kept->ratio;
        out->data = kept->data;
        out->beside = kept->beside;
        out->score = kept->score;
        out->upto = kept->upto;
        out->law = kept->law;
    }
    epiqp_free(c, w.weight);
    epiqp_free(c, w.order);
    return s;
}
