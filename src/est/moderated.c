/* moderated.c - IF when few rows decide: the noise of a row by itself says little, that of its neighbours more
 * (docs/method.md section 3, equations M1 to M9). Residuals q_i = r_i^2/N_i, N_i = (M^2)_ii, are smoothed over rows near
 * each other in the kernel's distance, over neighbourhoods of several sizes weighted by how well each predicts a row left
 * out of it; at a point the smoothed V and the rowwise V are averaged by their precisions.
 */
#include "est/est.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum {
    LEVELS = 5, /* sizes of neighbourhoods */
    LEAST = 8,  /* rows in the smallest: fewer have no variance to speak of */
    ROWS = 32   /* whose distances a thread has at a time */
};
static const ptrdiff_t PARTS[LEVELS] = {1, 2, 4, 8, 12}; /* of the rows: the whole, a half .. */
static const double FLOOR = 0.25;                        /* of the smoothed V: what is given at least, */
static const double EQUAL_FLOOR = 1.0 / 32;              /* and of the V that equal noise would have */
static const double LEAST_KURTOSIS = 3;                  /* a normal's; a sample's tends to be too small */
static const double TIE =
    1e-9; /* of a distance: rows at the same one are neighbours together, whatever rounding says */

/* ---- which rows are near ---- */

ptrdiff_t epiqp_near_count(ptrdiff_t n)
{
    return epiqp_min(n, EPIQP_NEAR_ROWS);
}

static int choose(const epiqp_job *j, epiqp_arena *arena, epiqp_near *out)
{
    const ptrdiff_t n = j->n;
    ptrdiff_t *order = epiqp_arena_alloc(j->e.c, arena, n, sizeof *order);
    *out = (epiqp_near){.count = epiqp_near_count(n)};
    out->member = epiqp_arena_alloc(j->e.c, arena, out->count, sizeof *out->member);
    out->self = epiqp_arena_alloc(j->e.c, arena, n, sizeof *out->self);
    if (!order || !out->member || !out->self) {
        return EPIQ_E_NOMEM;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        order[i] = i;
    }
    if (out->count < n) {
        epiqp_shuffle((epiqp_stream){j->o.seed, EPIQP_FOR_NEIGHBOURS, 0}, 0, n, order);
    }
    memset(out->self, 0, (size_t)n * sizeof *out->self);
    for (ptrdiff_t i = 0; i < out->count; i++) { /* marked for a moment: they are listed in their own order */
        out->self[order[i]] = 1;
    }
    for (ptrdiff_t i = 0, k = 0; i < n; i++) {
        if (out->self[i] > 0) {
            out->member[k++] = i;
        }
    }
    return EPIQ_OK;
}

int epiqp_near_rows(epiqp_job *j, epiqp_near *out)
{
    int s = choose(j, &j->scratch, out);
    const ptrdiff_t d = j->fit.rows.d;
    double *x = s ? NULL : epiqp_arena_alloc(j->e.c, &j->scratch, out->count * d, sizeof *x);
    if (!x) {
        return s ? s : EPIQ_E_NOMEM;
    }
    for (ptrdiff_t k = 0; k < out->count; k++) {
        memcpy(x + k * d, j->fit.rows.x + out->member[k] * d, (size_t)d * sizeof *x);
    }
    out->arch = &j->fit.arch;
    out->rows = &j->fit.rows;
    epiqp_kernel_diagonal(out->arch, out->rows, out->self, NULL);
    return epiqp_rows_new(j->e.c, out->count, d, x, &out->some);
}

int epiqp_near_stored(epiqp_job *j, double (*at)(const void *kernel, ptrdiff_t i, ptrdiff_t k), const void *kernel)
{
    epiqp_near *out = epiqp_arena_alloc(j->e.c, &j->scratch, 1, sizeof *out);
    int s = out ? choose(j, &j->scratch, out) : EPIQ_E_NOMEM;
    float *columns = s ? NULL : epiqp_arena_alloc(j->e.c, &j->scratch, j->n * out->count, sizeof *columns);
    if (!columns) {
        return s ? s : EPIQ_E_NOMEM;
    }
    for (ptrdiff_t i = 0; i < j->n; i++) {
        out->self[i] = at(kernel, i, i);
    }
    for (ptrdiff_t i = 0; i < j->n; i++) {
        for (ptrdiff_t k = 0; k < out->count; k++) { /* of a distance single precision keeps more than is asked */
            ptrdiff_t other = out->member[k];
            columns[i * out->count + k] = (float)(out->self[i] + out->self[other] - 2 * at(kernel, i, other));
        }
    }
    out->apart = columns;
    j->near = out;
    return EPIQ_OK;
}

void epiqp_near_free(epiq_ctx *c, epiqp_near *w)
{
    epiqp_rows_free(c, &w->some);
}

/* Distances of rows i0.. to the members: rows by count. */
static void measure(const epiqp_near *w, ptrdiff_t i0, ptrdiff_t rows, double *out)
{
    double block[ROWS * EPIQP_BLOCK];
    for (ptrdiff_t k0 = 0; k0 < w->count; k0 += EPIQP_BLOCK) {
        ptrdiff_t cols = epiqp_min(EPIQP_BLOCK, w->count - k0);
        if (!w->apart) {
            epiqp_kernel_block(w->arch, w->rows, i0, rows, &w->some, k0, cols, block, NULL, rows);
        }
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

/* The k smallest of v come first, for k rising towards the front one call after another; returns the largest of them. */
static double lowest(double *v, ptrdiff_t count, ptrdiff_t k)
{
    ptrdiff_t from = 0, to = count;
    while (to - from > 1) {
        double pivot = v[from + (to - from) / 2];
        ptrdiff_t low = from, high = to, at = from;
        while (at < high) {
            double one = v[at];
            if (one < pivot) {
                v[at++] = v[low];
                v[low++] = one;
            } else if (one > pivot) {
                v[at] = v[--high];
                v[high] = one;
            } else {
                at++;
            }
        }
        if (k <= low) {
            to = low;
        } else if (k <= high) {
            return pivot;
        } else {
            from = high;
        }
    }
    return v[k - 1];
}

/* How many of the rows to choose among make k of all rows, a row itself apart. */
static ptrdiff_t others(const smoothing *w, ptrdiff_t k, ptrdiff_t there)
{
    ptrdiff_t some = (ptrdiff_t)lround((double)(k - 1) * (double)there / (double)(w->n - 1));
    return epiqp_max(1, epiqp_min(some, there));
}

/* Row i: what its neighbourhoods add up to. d: its distances; room: as many more. */
static void smooth_row(const smoothing *w, ptrdiff_t i, const double *d, double *room)
{
    const ptrdiff_t n = w->n, *member = w->near->member;
    double reach[LEVELS + 1] = {0}, sum[LEVELS][3] = {{0}}, close[2] = {0};
    ptrdiff_t there = 0;
    for (ptrdiff_t k = 0; k < w->near->count; k++) {
        if (member[k] != i) {
            room[there++] = d[k];
        }
    }
    ptrdiff_t left = there;
    for (ptrdiff_t l = 1; l <= w->levels; l++) { /* the last one is Moran's */
        ptrdiff_t k = l < w->levels ? others(w, w->size[l], there) : others(w, w->closest + 1, there);
        left = k > left ? there : left; /* of few rows that one is larger than the smallest */
        reach[l] = lowest(room, left, k) * (1 + TIE) + 1e-3 * TIE * w->near->self[i];
        left = k;
    }
    for (ptrdiff_t k = 0; k < w->near->count; k++) {
        ptrdiff_t r = member[k], l = 0;
        if (r == i) {
            continue;
        }
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

static int smooth_rows(epiqp_job *j, const smoothing *w)
{
    const ptrdiff_t count = w->near->count, room = (ROWS + 1) * count;
    double *all = epiqp_alloc(j->e.c, j->e.threads * room, sizeof *all);
    if (!all) {
        return EPIQ_E_NOMEM;
    }
#pragma omp parallel for schedule(dynamic) num_threads(j->e.threads) if (w->n > EPIQP_ALONE)
    for (ptrdiff_t i0 = 0; i0 < w->n; i0 += ROWS) {
        double *d = all + omp_get_thread_num() * room;
        ptrdiff_t rows = epiqp_stopping(j->e.c) ? 0 : epiqp_min(ROWS, w->n - i0);
        if (rows) {
            measure(w->near, i0, rows, d);
        }
        for (ptrdiff_t i = 0; i < rows; i++) {
            smooth_row(w, i0 + i, d + i * count, d + ROWS * count);
        }
    }
    epiqp_free(j->e.c, all);
    return epiqp_stopping(j->e.c) ? epiqp_report(j->e.c, "points", 0, j->points) : EPIQ_OK;
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
        if (!count || k < size[count - 1]) {
            size[count++] = k;
        }
    }
    return count;
}

static int smooth(epiqp_job *j, smoothing *w, epiqp_moderated *out)
{
    const ptrdiff_t n = w->n;
    double weight[LEVELS], sum = 0, sum2 = 0, varies = 0;
    int s = smooth_rows(j, w);
    if (s) {
        return s;
    }
    weigh(w, weight);
    for (ptrdiff_t i = 0; i < n; i++) {
        mix(w, weight, i, &out->noise[i], &out->spread[i]);
        double z = w->q[i] / fmax(out->noise[i], DBL_EPSILON * w->mean);
        sum += z;
        sum2 += z * z;
        varies += w->lag[i] / (double)n;
    }
    double kurtosis = fmax(LEAST_KURTOSIS, sum > 0 ? (double)n * sum2 / (sum * sum) : 0);
    for (ptrdiff_t i = 0; i < n; i++) {
        out->spread[i] = sqrt((kurtosis - 1) * out->spread[i]);
    }
    out->varies = 2 * fmax(0, varies) + 4 / sqrt((double)n * (double)w->closest); /* (M6) */
    return EPIQ_OK;
}

/* From q and N to the noise of every row: a smoothing's room, with q and weight for the caller to fill in first. */
static int smoothing_new(epiqp_job *j, smoothing *w, double **room, double **q, double **weight)
{
    const ptrdiff_t n = j->n;
    *w = (smoothing){.n = n, .closest = epiqp_min(n - 1, epiqp_max(LEAST, n / 16))};
    w->levels = sizes_of(n, w->size);
    *room = epiqp_alloc(j->e.c, (3 + 4 * w->levels) * n, sizeof **room);
    if (!*room) {
        return EPIQ_E_NOMEM;
    }
    *q = *room;
    *weight = *q + n;
    w->q = *q;
    w->weight = *weight;
    w->lag = *weight + n;
    w->alone = w->lag + n;
    w->sum = w->alone + w->levels * n;
    return EPIQ_OK;
}

static int smooth_noise(epiqp_job *j, smoothing *w, epiqp_moderated *out)
{
    const ptrdiff_t n = w->n;
    for (ptrdiff_t i = 0; i < n; i++) {
        w->mean += w->q[i] / (double)n;
        w->all[0] += w->weight[i];
        w->all[1] += w->weight[i] * w->q[i];
        w->all[2] += w->weight[i] * w->weight[i];
    }
    out->mean = w->all[0] > 0 ? w->all[1] / w->all[0] : 0;
    if (!(w->mean > 0 && n > 1)) {
        memset(out->noise, 0, (size_t)n * sizeof *out->noise);
        memset(out->spread, 0, (size_t)n * sizeof *out->spread);
        return EPIQ_OK;
    }
    epiqp_near own = {0};
    int s = j->near ? EPIQ_OK : epiqp_near_rows(j, &own);
    w->near = j->near ? j->near : &own;
    s = s ? s : smooth(j, w, out);
    w->near = NULL;
    epiqp_near_free(j->e.c, &own);
    return s;
}

int epiqp_moderated_new(epiqp_job *j, const epiqp_ridge *r, const epiqp_probes *probes, const double *used,
                        const epiqp_rowwise *rows, epiqp_moderated *out)
{
    const ptrdiff_t n = j->n;
    smoothing w;
    double *kept = epiqp_arena_alloc(j->e.c, &j->scratch, 2 * n, sizeof *kept), *room, *q, *weight;
    int s = kept ? smoothing_new(j, &w, &room, &q, &weight) : EPIQ_E_NOMEM;
    if (s) {
        return s;
    }
    *out = (epiqp_moderated){.noise = kept, .spread = kept + n};
    for (ptrdiff_t i = 0; i < n; i++) {
        double z = rows->unit > 0 ? used[i] / rows->unit : 0;
        q[i] = z * z;
        weight[i] = r->shift * r->shift * r->norm2[i];
    }
    s = smooth_noise(j, &w, out);
    for (ptrdiff_t g = 0; g < EPIQP_PROBE_GROUPS; g++) {
        double sum = 0;
        for (ptrdiff_t i = 0; probes->count && i < n; i++) {
            sum += r->shift * r->shift * probes->norm2_without[i + g * n];
        }
        out->without[g] = sum > 0 ? w.all[0] / sum : 1;
    }
    epiqp_free(j->e.c, room);
    return s;
}

/* ---- noise alone ---- */

enum { SIGNS = 64 }; /* random vectors: (M^4)_ii is told to 18 %, and averaged over the neighbours of a row */

double epiqp_noise_alone_bytes(ptrdiff_t n)
{
    return 8 * (double)n * (2 * (SIGNS + 1) + 4 + 4 * LEVELS);
}

/* M y, M = shift B, and again: what is left of the function falls far faster than the noise. (N1) */
static int twice(epiqp_job *j, const epiqp_ridge *r, double *v, double *room)
{
    const ptrdiff_t n = j->n, count = (SIGNS + 1) * n;
    int s = EPIQ_OK;
    for (int k = 0; !s && k < 2; k++) {
        s = epiqp_ridge_times(&j->e, r, SIGNS + 1, v, room);
        for (ptrdiff_t i = 0; !s && i < count; i++) {
            v[i] = r->shift * room[i];
        }
    }
    return s;
}

int epiqp_noise_alone(epiqp_job *j, const epiqp_ridge *r, double *noise)
{
    const ptrdiff_t n = j->n;
    smoothing w;
    double *v = epiqp_alloc(j->e.c, 2 * (SIGNS + 1) * n, sizeof *v), *room = NULL, *q, *weight;
    epiqp_moderated out = {.noise = noise, .spread = epiqp_arena_alloc(j->e.c, &j->scratch, n, sizeof *out.spread)};
    signed char *sign = epiqp_arena_alloc(j->e.c, &j->scratch, n, sizeof *sign);
    int s = v && sign && out.spread ? smoothing_new(j, &w, &room, &q, &weight) : EPIQ_E_NOMEM;
    if (s) {
        epiqp_free(j->e.c, v);
        return s;
    }
    for (ptrdiff_t k = 0; k < SIGNS; k++) {
        epiqp_signs((epiqp_stream){j->o.seed, EPIQP_FOR_ALONE, (uint64_t)k}, n, sign);
        for (ptrdiff_t i = 0; i < n; i++) {
            v[(k + 1) * n + i] = sign[i];
        }
    }
    memcpy(v, j->data->y, (size_t)n * sizeof *v);
    s = twice(j, r, v, v + (SIGNS + 1) * n);
    bool known = !s;
    for (ptrdiff_t i = 0; !s && i < n; i++) {
        double sum = 0;
        for (ptrdiff_t k = 1; k <= SIGNS; k++) {
            sum += v[k * n + i] * v[k * n + i] / SIGNS;
        }
        weight[i] = sum;
        q[i] = sum > 0 ? v[i] * v[i] / sum : 0;
        known = known && sum >= DBL_MIN && isfinite(q[i]);
    }
    epiqp_free(j->e.c, v);
    if (known) {
        s = smooth_noise(j, &w, &out);
    } else {
        memset(noise, 0, (size_t)n * sizeof *noise);
    }
    epiqp_free(j->e.c, room);
    return s;
}

/* ---- at a point ---- */

epiq_part epiqp_if_moderated(const epiqp_rowwise *rows, const epiqp_moderated *w, const double *v, const double *c,
                             ptrdiff_t n, double *u, double level, epiqp_moderation *how)
{
    epiqp_row_sums sums;
    *how = (epiqp_moderation){.rowwise = 1};
    if (!epiqp_rowwise_sums(rows, v, c, n, u, &sums)) {
        return epiq_part_of(0, 0, level, EPIQ_BY_IF);
    }
    double smooth = 0, spread = 0, most = (double)(n - 1);
    for (ptrdiff_t i = 0; i < n; i++) {
        double k = c[i] / sums.largest * (c[i] / sums.largest);
        smooth += k * w->noise[i];
        spread += k * w->spread[i];
    }
    const double kurtosis = fmax(LEAST_KURTOSIS, rows->kurtosis);
    const double own = fmax(sums.total, EPIQP_ROWWISE_FLOOR * sums.plain), larger = fmax(own, smooth);
    /* (M7): degrees of freedom of a sum of such weights, and of the smoothed V, all its errors taken to go one way */
    double nu = fmin(most, 2 / (kurtosis * sums.c4 / (sums.c2 * sums.c2) - 1 / (double)n));
    double noise = fmax(smooth > 0 ? spread / smooth * (spread / smooth) : 0, 2 / most);
    /* (M8): how far the smoothed V may be off because noise varies */
    double t = larger > 0 ? (own - smooth) / larger : 0, apart = t * t;
    if (own < smooth) {
        apart *= smooth / fmax(own, smooth / 5);
    }
    double off = w->varies + fmax(0, apart - 2 / nu) * fmax(0, 1 - 6 / nu);
    double by_rows = nu / 2, by_smooth = 1 / (noise + off), both = by_rows + by_smooth;
    double total = (by_rows * own + by_smooth * smooth) / both; /* (M9) */
    double least = fmax(FLOOR * smooth, EQUAL_FLOOR * w->mean * sums.c2);
    *how = (epiqp_moderation){by_rows / both, total < least};
    total = fmax(total, least);
    double V = total * sums.unit * sums.unit;
    return epiq_part_of(total > 0 && V < DBL_MIN ? -1 : V, fmin(2 * both, most), level, EPIQ_BY_IF);
}
