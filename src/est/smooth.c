/* smooth.c - the noise of every row from squared residuals of the rows near it (docs/method.md section 3, equations M1 to M6):
 * over neighbourhoods of several sizes in the kernel's distance, weighted by how well each predicts a row left out of it.
 */
#include "est/rowwise.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum {
    LEVELS = 5, /* sizes of neighbourhoods */
    LEAST = 8,  /* rows in the smallest: fewer determine no variance */
    ROWS = 32   /* whose distances a thread has at a time */
};
static const ptrdiff_t PARTS[LEVELS] = {1, 2, 4, 8, 12}; /* of the rows: the whole, a half .. */
static const double LEAST_KURTOSIS = 3;                  /* a normal's; a sample's tends to be too small */
static const double TIE = 1e-9; /* of a distance: rows at the same one are neighbours together despite rounding */

/* ---- which rows are near ---- */

ptrdiff_t epiqp_near_count(ptrdiff_t n)
{
    return epiqp_min(n, EPIQP_NEAR_ROWS);
}

static int choose(const epiqp_problem *pb, epiqp_near *out)
{
    const ptrdiff_t n = pb->n;
    ptrdiff_t *order = epiqp_room(pb, n, sizeof *order);
    *out = (epiqp_near){.count = epiqp_near_count(n)};
    out->member = epiqp_room(pb, out->count, sizeof *out->member);
    out->self = epiqp_room(pb, n, sizeof *out->self);
    if (!order || !out->member || !out->self) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; i < n; i++) {
        order[i] = i;
    }
    if (out->count < n) {
        epiqp_shuffle((epiqp_stream){pb->plan->seed, EPIQP_FOR_NEIGHBOURS, 0}, 0, n, order);
    }
    for (ptrdiff_t i = 0; i < out->count; i++) { /* a temporary mark, so that they can be listed in their own order */
        out->self[order[i]] = 1;
    }
    for (ptrdiff_t i = 0, k = 0; i < n; i++) {
        if (out->self[i] > 0) out->member[k++] = i;
    }
    return EPIQ_OK;
}

/* By the population kernel of the fit. */
static int near_rows(const epiqp_problem *pb, const epiqp_fit *fit, epiqp_near *out)
{
    int s = choose(pb, out);
    const ptrdiff_t d = fit->rows.d;
    double *x = s ? NULL : epiqp_room(pb, out->count * d, sizeof *x);
    if (!x) return s ? s : EPIQ_E_NOMEM;
    epiqp_take_rows(pb->data, out->count, out->member, x, NULL);
    out->arch = &fit->arch;
    out->rows = &fit->rows;
    epiqp_kernel_diagonal(out->arch, out->rows, out->self, NULL);
    return epiqp_rows_new(pb->e.c, out->count, d, x, &out->some);
}

double epiqp_tri_near(const void *kernel, ptrdiff_t i, ptrdiff_t k)
{
    return epiqp_tri_get(kernel, i, k);
}

int epiqp_near_stored(const epiqp_problem *pb, double (*at)(const void *kernel, ptrdiff_t i, ptrdiff_t k),
                      const void *kernel, const epiqp_near **near)
{
    epiqp_near *out = epiqp_room(pb, 1, sizeof *out);
    int s = out ? choose(pb, out) : EPIQ_E_NOMEM;
    float *columns = s ? NULL : epiqp_room(pb, pb->n * out->count, sizeof *columns);
    if (!columns) return s ? s : EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; i < pb->n; i++) {
        out->self[i] = at(kernel, i, i);
    }
    for (ptrdiff_t i = 0; i < pb->n; i++) {
        for (ptrdiff_t k = 0; k < out->count; k++) { /* single precision is enough for a distance */
            ptrdiff_t other = out->member[k];
            columns[i * out->count + k] = (float)(out->self[i] + out->self[other] - 2 * at(kernel, i, other));
        }
    }
    out->apart = columns;
    *near = out;
    return EPIQ_OK;
}

/* Distances of rows i0.. to the members: rows by count. */
static void measure(const epiqp_near *w, ptrdiff_t i0, ptrdiff_t rows, double *out)
{
    double block[ROWS * EPIQP_BLOCK];
    for (ptrdiff_t k0 = 0; k0 < w->count; k0 += EPIQP_BLOCK) {
        ptrdiff_t cols = epiqp_min(EPIQP_BLOCK, w->count - k0);
        if (!w->apart) epiqp_kernel_block(w->arch, w->rows, i0, rows, &w->some, k0, cols, block, NULL, rows);
        for (ptrdiff_t i = 0; i < rows; i++) {
            double own = w->self[i0 + i], *to = out + i * w->count + k0;
            for (ptrdiff_t k = 0; k < cols; k++) {
                double d = w->apart ? (double)w->apart[(i0 + i) * w->count + k0 + k]
                                    : own + w->self[w->member[k0 + k]] - 2 * block[i + k * rows];
                to[k] = fmax(d, 0);
            }
        }
    }
}

/* ---- smoothing ---- */

typedef struct {
    const epiqp_near *near;
    ptrdiff_t n, levels, closest; /* closest: rows of the neighbourhood that tells whether noise varies */
    ptrdiff_t size[LEVELS];       /* rows of each, falling from n */
    const double *q, *weight;     /* n: q_i and N_i */
    double mean;                  /* of q */
    double all[3];                /* sums over all rows: of N, of N q, of N^2 */
    double *sum;                  /* levels by 3 by n: the same over each neighbourhood */
    double *alone;                /* levels by n: m without the row itself */
    double *lag;                  /* n: of Moran's statistic */
} smoothing;

/* How many of the rows to choose among make k of all rows, a row itself apart. */
static ptrdiff_t others(const smoothing *w, ptrdiff_t k, ptrdiff_t there)
{
    ptrdiff_t some = (ptrdiff_t)lround((double)(k - 1) * (double)there / (double)(w->n - 1));
    return epiqp_max(1, epiqp_min(some, there));
}

/* Row i: what its neighbourhoods add up to. d: its distances; room: for as many. */
static void smooth_row(const smoothing *w, ptrdiff_t i, const double *d, epiqp_weighted *room)
{
    const ptrdiff_t n = w->n, *member = w->near->member;
    double reach[LEVELS + 1] = {0}, sum[LEVELS][3] = {{0}}, close[2] = {0};
    ptrdiff_t there = 0;
    for (ptrdiff_t k = 0; k < w->near->count; k++) {
        if (member[k] != i) room[there++] = (epiqp_weighted){d[k], 1};
    }
    ptrdiff_t left = there;
    for (ptrdiff_t l = 1; l <= w->levels; l++) { /* the last one is Moran's */
        ptrdiff_t k = l < w->levels ? others(w, w->size[l], there) : others(w, w->closest + 1, there);
        left = k > left ? there : left; /* of few rows that one is larger than the smallest */
        reach[l] = epiqp_weighted_select(room, left, (double)(k - 1)) * (1 + TIE) + 1e-3 * TIE * w->near->self[i];
        left = k; /* these are first now */
    }
    for (ptrdiff_t k = 0; k < w->near->count; k++) {
        ptrdiff_t r = member[k], l = 0;
        if (r == i) continue;
        while (l + 1 < w->levels && d[k] <= reach[l + 1]) {
            l++;
        }
        sum[l][0] += w->weight[r];
        sum[l][1] += w->weight[r] * w->q[r];
        sum[l][2] += w->weight[r] * w->weight[r];
        if (d[k] <= reach[w->levels]) {
            close[0] += 1;
            close[1] += w->q[r];
        }
    }
    const double own[] = {w->weight[i], w->weight[i] * w->q[i], w->weight[i] * w->weight[i]};
    for (ptrdiff_t l = w->levels - 1; l >= 0; l--) {
        for (int s = 0; s < 3; s++) {
            sum[l][s] = l == 0 ? w->all[s] - own[s] : l + 1 < w->levels ? sum[l][s] + sum[l + 1][s] : sum[l][s];
            w->sum[(3 * l + s) * n + i] = sum[l][s] + own[s];
        }
        w->alone[l * n + i] = fmax(sum[l][1] / sum[l][0], DBL_EPSILON * w->mean);
    }
    w->lag[i] = (w->q[i] / w->mean - 1) * (close[1] / close[0] / w->mean - 1);
}

static int smooth_rows(const epiqp_problem *pb, const smoothing *w)
{
    const ptrdiff_t count = w->near->count;
    double *all = epiqp_alloc(pb->e.c, pb->e.threads * ROWS * count, sizeof *all);
    epiqp_weighted *room = epiqp_alloc(pb->e.c, pb->e.threads * count, sizeof *room);
#pragma omp parallel for schedule(dynamic) num_threads(pb->e.threads) if (w->n > EPIQP_ALONE)
    for (ptrdiff_t i0 = 0; i0 < w->n; i0 += ROWS) {
        if (!all || !room || epiqp_cancel_requested(pb->e.c)) continue;
        double *d = all + omp_get_thread_num() * ROWS * count;
        const ptrdiff_t rows = epiqp_min(ROWS, w->n - i0);
        measure(w->near, i0, rows, d);
        for (ptrdiff_t i = 0; i < rows; i++) {
            smooth_row(w, i0 + i, d + i * count, room + omp_get_thread_num() * count);
        }
    }
    int s = all && room ? EPIQ_OK : EPIQ_E_NOMEM;
    epiqp_free(pb->e.c, all);
    epiqp_free(pb->e.c, room);
    return !s && epiqp_cancel_requested(pb->e.c) ? epiqp_report(pb->e.c, "points", 0, pb->points) : s;
}

/* How much each size counts: its likelihood, every row predicted by the others of its neighbourhood (M3). */
static void weigh(const smoothing *w, double *weight)
{
    double deviance[LEVELS] = {0}, least = INFINITY, sum = 0;
    for (ptrdiff_t l = 0; l < w->levels; l++) {
        const double *alone = w->alone + l * w->n;
        for (ptrdiff_t i = 0; i < w->n; i++) {
            deviance[l] += log(alone[i] / w->mean) + w->q[i] / alone[i];
        }
        least = fmin(least, deviance[l]);
    }
    for (ptrdiff_t l = 0; l < w->levels; l++) {
        sum += weight[l] = exp((least - deviance[l]) / 2);
    }
    for (ptrdiff_t l = 0; l < w->levels; l++) {
        weight[l] /= sum;
    }
}

/* m_i, and its variance over kurtosis - 1: shells between one neighbourhood and the next share their weights (M4, M5). */
static void mix(const smoothing *w, const double *weight, ptrdiff_t i, double *m, double *variance)
{
    const ptrdiff_t n = w->n;
    double share = 0;
    *m = *variance = 0;
    for (ptrdiff_t l = 0; l < w->levels; l++) {
        const double *sum = w->sum + 3 * l * n + i;
        double squares = sum[2 * n] - (l + 1 < w->levels ? sum[5 * n] : 0), here = sum[n] / sum[0];
        share += weight[l] / sum[0];
        *m += weight[l] * here;
        *variance += share * share * fmax(squares, 0) * here * here;
    }
}

static ptrdiff_t sizes_of(ptrdiff_t n, ptrdiff_t *size)
{
    ptrdiff_t count = 0;
    for (int l = 0; l < LEVELS; l++) {
        ptrdiff_t k = epiqp_min(n, epiqp_max(LEAST, n / PARTS[l]));
        if (!count || k < size[count - 1]) size[count++] = k;
    }
    return count;
}

static int smooth(const epiqp_problem *pb, const smoothing *w, epiqp_smoothed *out)
{
    const ptrdiff_t n = w->n;
    double weight[LEVELS], sum = 0, sum2 = 0, varies = 0;
    int s = smooth_rows(pb, w);
    if (s) return s;
    weigh(w, weight);
    for (ptrdiff_t i = 0; i < n; i++) {
        mix(w, weight, i, &out->noise[i], &out->sd[i]);
        double z = w->q[i] / fmax(out->noise[i], DBL_EPSILON * w->mean);
        sum += z;
        sum2 += z * z;
        varies += w->lag[i] / (double)n;
    }
    double kurtosis = fmax(LEAST_KURTOSIS, sum > 0 ? (double)n * sum2 / (sum * sum) : 0);
    for (ptrdiff_t i = 0; i < n; i++) {
        out->sd[i] = sqrt((kurtosis - 1) * out->sd[i]);
    }
    out->varies = 2 * fmax(0, varies) + 4 / sqrt((double)n * (double)w->closest); /* (M6) */
    return EPIQ_OK;
}

double epiqp_smooth_bytes(ptrdiff_t n)
{
    return (double)sizeof(double) * (double)n * (1 + 4 * LEVELS);
}

int epiqp_smooth(const epiqp_problem *pb, const epiqp_solution *sol, const double *q, const double *weight,
                 epiqp_smoothed *out)
{
    const ptrdiff_t n = pb->n;
    smoothing w = {.n = n, .closest = epiqp_min(n - 1, epiqp_max(LEAST, n / 16)), .q = q, .weight = weight};
    w.levels = sizes_of(n, w.size);
    for (ptrdiff_t i = 0; i < n; i++) {
        w.mean += q[i] / (double)n;
        w.all[0] += weight[i];
        w.all[1] += weight[i] * q[i];
        w.all[2] += weight[i] * weight[i];
    }
    out->weights = w.all[0];
    out->mean = w.all[0] > 0 ? w.all[1] / w.all[0] : 0;
    out->varies = 0;
    if (!(w.mean > 0 && n > 1)) {
        memset(out->noise, 0, (size_t)n * sizeof *out->noise);
        memset(out->sd, 0, (size_t)n * sizeof *out->sd);
        return EPIQ_OK;
    }
    epiqp_near own = {0};
    double *room = epiqp_alloc(pb->e.c, (1 + 4 * w.levels) * n, sizeof *room);
    int s = !room ? EPIQ_E_NOMEM : sol->near ? EPIQ_OK : near_rows(pb, sol->fit, &own);
    if (!s) {
        w.near = sol->near ? sol->near : &own;
        w.lag = room;
        w.alone = w.lag + n;
        w.sum = w.alone + w.levels * n;
        s = smooth(pb, &w, out);
    }
    epiqp_rows_free(pb->e.c, &own.some);
    epiqp_free(pb->e.c, room);
    return s;
}
