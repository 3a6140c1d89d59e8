/* score.c - a model against rows whose target is known: how large its errors are, and whether its standard deviations and
 * intervals are as large (docs/method.md section 3).
 */
#include "data/table.h"
#include "model/model.h"
#include "stats/stats.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    BLOCK = 4096,        /* rows of a file read at a time */
    COMPARED = 100000000 /* pairs of rows that are compared at most, to find those that the model has learned from */
};
static const double Z95 = 1.959963984540054;
static const double FARTHEST = DBL_MAX / 1e12; /* of an error: no score of one overflows */
static const double LEVELS[] = {0.5, 0.8, 0.9, 0.95};
enum { LEVEL_COUNT = sizeof LEVELS / sizeof *LEVELS };

/* Scores and the memory they are in. */
typedef struct {
    epiq_scores scores;
    epiqp_arena arena;
    epiqp_warnings warnings;
    epiq_coverage coverage, at[LEVEL_COUNT];
    ptrdiff_t pit[EPIQ_PIT];
    double *sd, *noise, *lo, *hi, *prediction, *within;
    unsigned char *known;
} holder;

typedef struct {
    epiq_ctx *c;
    const epiq_model *m;
    const epiq_score_request *ask;
    holder *h;
    const double *y;
    ptrdiff_t rows;
    double *error; /* rows: y less prediction */
} scoring;

/* The standard deviation of a new observation from the prediction, as the model says; below 0: unknown. */
static double spread_at(const holder *h, ptrdiff_t i)
{
    const int both = EPIQ_SD | EPIQ_NOISE;
    return (h->known[i] & both) == both ? hypot(h->sd[i], h->noise[i]) : -1;
}

/* ---- coverage ---- */

/* Wilson's interval of a share, at 95 %. */
static void wilson(epiq_coverage *v, ptrdiff_t rows)
{
    const double n = (double)rows, p = (double)v->inside / n, z2 = Z95 * Z95,
                 middle = (p + z2 / (2 * n)) / (1 + z2 / n),
                 half = Z95 * sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
    v->share = p;
    v->lo = v->inside == 0 ? 0 : fmax(0, middle - half);
    v->hi = v->inside == rows ? 1 : fmin(1, middle + half);
}

/* At another level the interval is as many times the standard deviation as the scores of the rows say. */
static void cover(const scoring *w, double level, epiq_coverage *out)
{
    const epiq_scores *s = &w->h->scores;
    double factor = 0;
    *out = (epiq_coverage){.level = level};
    if (!s->judged || !epiqp_spread_factor(&w->m->spread, level, &factor)) return;
    for (ptrdiff_t i = 0; i < w->rows; i++) {
        const double sd = spread_at(w->h, i);
        out->inside += sd >= 0 && fabs(w->error[i]) <= factor * sd;
    }
    out->known = 1;
    wilson(out, s->judged);
}

/* The level above which intervals hold an error so many times its standard deviation. */
static double level_of(const epiqp_spread *s, double z)
{
    ptrdiff_t lo = 0, hi = s->n; /* scores before lo are smaller, from hi on they are not */
    while (lo < hi) {
        const ptrdiff_t middle = lo + (hi - lo) / 2;
        if (s->score[middle] < z) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    return lo ? s->upto[lo - 1] / (s->groups + 1) : 0;
}

static void judge_intervals(const scoring *w)
{
    holder *h = w->h;
    epiq_scores *s = &h->scores;
    const double tail = 2 / (1 - s->level), judged = (double)s->judged;
    h->coverage = (epiq_coverage){.level = s->level};
    for (ptrdiff_t i = 0; i < w->rows; i++) {
        if (!(h->known[i] & EPIQ_INTERVAL)) continue;
        const double below = fmax(0, h->lo[i] - w->y[i]), above = fmax(0, w->y[i] - h->hi[i]),
                     width = h->hi[i] - h->lo[i];
        h->coverage.known = 1;
        h->coverage.inside += below == 0 && above == 0;
        s->width += width / judged;
        s->interval_score += (width + tail * (below + above)) / judged;
    }
    if (h->coverage.known) wilson(&h->coverage, s->judged);
    for (int k = 0; k < LEVEL_COUNT; k++) {
        cover(w, LEVELS[k], &h->at[k]);
    }
}

/* ---- the normal distribution that the model says ---- */

static double crps_of(double error, double sd)
{
    if (!(sd > 0)) return fabs(error);
    const double z = error / sd;
    return sd * (z * erf(z / sqrt(2)) + sqrt(2 / M_PI) * exp(-z * z / 2) - 1 / sqrt(M_PI));
}

static void judge_densities(const scoring *w)
{
    holder *h = w->h;
    epiq_scores *s = &h->scores;
    const double judged = (double)s->judged;
    s->has_likelihood = s->judged > 0;
    for (ptrdiff_t i = 0; i < w->rows; i++) {
        const double sd = spread_at(h, i), error = w->error[i];
        if (sd < 0) continue;
        const double z = sd > 0      ? error / sd
                         : error > 0 ? INFINITY
                         : error < 0 ? -INFINITY
                                     : 0,
                     below = erfc(-z / sqrt(2)) / 2;
        h->within[i] = level_of(&w->m->spread, fabs(z));
        s->crps += crps_of(error, sd) / judged;
        s->squared_z += z * z / judged;
        s->log_likelihood -= (log(2 * M_PI) / 2 + log(sd) + z * z / 2) / judged;
        h->pit[(int)fmin(EPIQ_PIT - 1, floor(below * EPIQ_PIT))]++;
    }
    if (isfinite(s->log_likelihood) && isfinite(s->squared_z)) return;
    s->has_likelihood = 0; /* some standard deviation is 0, or as good as */
    s->log_likelihood = s->squared_z = 0;
}

/* ---- errors ---- */

static int judge_errors(const scoring *w)
{
    const ptrdiff_t n = w->rows;
    epiq_scores *s = &w->h->scores;
    const double count = (double)n, mean = epiqp_mean(w->y, n);
    double unit = 0, squares = 0, spread = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        w->error[i] = w->y[i] - s->prediction[i];
        unit = fmax(unit, fmax(fabs(w->error[i]), fabs(w->y[i] - mean)));
        if (!(fabs(w->error[i]) <= FARTHEST)) { /* the mean may be beyond it because of another row */
            return epiqp_fail(w->c, EPIQ_E_DATA,
                              "the target of row %td is too far from its prediction; check its units",
                              s->row ? s->row[i] : i + 1);
        }
    }
    for (ptrdiff_t i = 0; unit > 0 && i < n; i++) { /* in units in which no square overflows */
        const double e = w->error[i] / unit, away = (w->y[i] - mean) / unit;
        squares += e * e / count;
        spread += away * away / count;
        s->mae += unit * (fabs(e) / count);
    }
    s->rmse = unit * sqrt(squares);
    s->has_r2 = n > 1 && spread > DBL_EPSILON * DBL_EPSILON && isfinite(squares / spread);
    s->r2 = s->has_r2 ? 1 - squares / spread : 0;
    return EPIQ_OK;
}

/* ---- warnings ---- */

static bool equal_rows(ptrdiff_t d, const double *a, const double *b)
{
    ptrdiff_t k = 0;
    while (k < d && a[k] == b[k]) {
        k++;
    }
    return k == d;
}

/* Rows, as given, with the features of some that the model has learned from; of the first `some`. */
static int count_seen(const scoring *w, const double *x, ptrdiff_t some, ptrdiff_t *seen)
{
    const epiq_model *m = w->m;
    double *scaled = epiqp_alloc(w->c, m->d, sizeof *scaled);
    if (!scaled) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; i < some; i++) {
        ptrdiff_t j = 0;
        for (ptrdiff_t k = 0; k < m->d; k++) {
            scaled[k] = epiqp_scaled(x[i * m->d + k], m->shift[k], m->factor[k]);
        }
        while (j < m->n && !equal_rows(m->d, scaled, m->x + j * m->d)) {
            j++;
        }
        *seen += j < m->n;
    }
    epiqp_free(w->c, scaled);
    return EPIQ_OK;
}

static int warn_of_rows(const scoring *w, const double *x)
{
    epiqp_warnings *to = &w->h->warnings;
    const ptrdiff_t some = epiqp_min(w->rows, epiqp_max(1, COMPARED / w->m->n));
    ptrdiff_t seen = 0;
    int s = count_seen(w, x, some, &seen);
    if (!s && 2 * seen > some) {
        s = epiqp_warn(
            w->c, to, EPIQ_W_SEEN_ROWS,
            "%td of %td rows have the features of rows that the model has learned from: if they are the same "
            "rows, all of this is too good; give rows that it has not seen",
            seen, some);
    }
    const epiq_scores *r = &w->h->scores;
    if (!s && r->has_r2 && r->r2 <= 0) {
        s = epiqp_warn(w->c, to, EPIQ_W_NO_SKILL,
                       "on these rows the model predicts no better than their mean (R2 %.2g): %s", r->r2,
                       w->m->fit_error.has_r2 && w->m->fit_error.r2 <= 0
                           ? "nor did it on rows left out when it was fitted"
                           : "are they of another kind than those it has learned from, or in other units?");
    }
    if (!s && r->withheld) {
        s = epiqp_warn(
            w->c, to, EPIQ_W_OUTSIDE_DATA,
            "%td of %td rows lie outside the data that the model has learned from: there is no interval of y "
            "there, and only errors are about them",
            r->withheld, r->rows);
    }
    return s;
}

static int warn_of_intervals(const scoring *w)
{
    epiqp_warnings *to = &w->h->warnings;
    const epiq_scores *r = &w->h->scores;
    const epiq_coverage *v = r->coverage;
    if (w->m->no_interval) return epiqp_warn(w->c, to, EPIQ_W_NO_PREDICTIVE, "%s", w->m->no_interval);
    if (r->judged && !v->known) {
        return epiqp_warn(
            w->c, to, EPIQ_W_NO_PREDICTIVE,
            "at level %.6g there is no interval: it takes %td rows, or groups of rows, to learn from, and "
            "the model has %.0f; use a lower {--level}",
            r->level, epiqp_spread_needs(r->level), w->m->spread.groups);
    }
    if (!v->known || v->hi >= v->level) return EPIQ_OK;
    return epiqp_warn(
        w->c, to, EPIQ_W_COVERAGE,
        "the %.4g %% intervals hold only %.0f %% of these rows, fewer than chance explains: these rows differ from "
        "those that the model has learned from, or those were too few",
        100 * v->level, 100 * v->share);
}

/* ---- the whole ---- */

static int predict(const scoring *w, const double *x)
{
    holder *h = w->h;
    epiq_scores *s = &h->scores;
    epiq_predictions out = {.size = sizeof out,
                            .prediction = h->prediction,
                            .known = h->known,
                            .threads = w->ask->threads,
                            .exact = w->ask->exact,
                            .sd = h->sd,
                            .lo = h->lo,
                            .hi = h->hi,
                            .noise = h->noise,
                            .level = s->level};
    int status = epiq_model_predict(w->c, w->m, w->rows, x, &out);
    if (status) return status;
    s->withheld = out.withheld;
    for (ptrdiff_t i = 0; i < w->rows; i++) {
        s->judged += spread_at(h, i) >= 0;
    }
    return EPIQ_OK;
}

static int make_room(epiq_ctx *c, ptrdiff_t rows, const double *y, holder *h)
{
    double *all = epiqp_arena_alloc(c, &h->arena, 7 * rows, sizeof *all), *own_y = all;
    h->known = epiqp_arena_alloc(c, &h->arena, rows, sizeof *h->known);
    if (!all || !h->known) return EPIQ_E_NOMEM;
    memcpy(own_y, y, (size_t)rows * sizeof *own_y);
    double **const to[] = {&h->prediction, &h->sd, &h->lo, &h->hi, &h->noise, &h->within};
    for (int k = 0; k < 6; k++) {
        *to[k] = all + (k + 1) * rows;
    }
    epiq_scores *s = &h->scores;
    s->y = own_y;
    s->prediction = h->prediction;
    s->sd = h->sd;
    s->lo = h->lo;
    s->hi = h->hi;
    s->noise = h->noise;
    s->within = h->within;
    s->known = h->known;
    s->pit = h->pit;
    s->coverage = &h->coverage;
    s->calibration = epiqp_arena_list(c, &h->arena, h->at, LEVEL_COUNT, sizeof *h->at);
    return s->calibration ? EPIQ_OK : EPIQ_E_NOMEM;
}

static int warn_of_blas(const scoring *w)
{
    const epiqp_env e = epiqp_run_begin(w->c, &w->m->o);
    const int s = epiqp_warn_blas(&e, &w->h->warnings);
    epiqp_run_end();
    return s;
}

static int judge(const scoring *w, const double *x)
{
    int s = predict(w, x);
    if (s || (s = warn_of_blas(w)) || (s = judge_errors(w))) return s;
    judge_densities(w);
    judge_intervals(w);
    return (s = warn_of_rows(w, x)) ? s : warn_of_intervals(w);
}

/* The rows to score on: those given, or a copy of them without those that lack a number. */
typedef struct {
    ptrdiff_t rows, dropped;
    const double *x, *y;
    double *own;    /* NULL: none was left out */
    ptrdiff_t *row; /* rows: their numbers from 1, with own */
} complete_rows;

static bool is_complete(ptrdiff_t d, const double *x, double y)
{
    bool gap = isnan(y);
    for (ptrdiff_t k = 0; k < d; k++) {
        gap = gap || isnan(x[k]);
    }
    return !gap;
}

static int take_complete(epiq_ctx *c, ptrdiff_t d, complete_rows *t)
{
    ptrdiff_t kept = 0;
    for (ptrdiff_t i = 0; i < t->rows; i++) {
        kept += is_complete(d, t->x + i * d, t->y[i]);
    }
    if (kept == t->rows) return EPIQ_OK;
    if (!kept) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "every one of %td rows lacks a cell, so there is none to score the model on; fill some in",
                          t->rows);
    }
    t->own = epiqp_alloc(c, kept * (d + 1), sizeof *t->own);
    t->row = epiqp_alloc(c, kept, sizeof *t->row);
    if (!t->own || !t->row) return EPIQ_E_NOMEM;
    double *x = t->own, *y = t->own + kept * d;
    for (ptrdiff_t i = 0, k = 0; i < t->rows; i++) {
        if (!is_complete(d, t->x + i * d, t->y[i])) continue;
        memcpy(x + k * d, t->x + i * d, (size_t)d * sizeof *x);
        y[k] = t->y[i];
        t->row[k++] = i + 1;
    }
    t->dropped = t->rows - kept;
    t->rows = kept;
    t->x = x;
    t->y = y;
    return EPIQ_OK;
}

static int keep_numbers(epiq_ctx *c, const complete_rows *t, holder *h)
{
    if (!t->dropped) return EPIQ_OK;
    ptrdiff_t *row = epiqp_arena_alloc(c, &h->arena, t->rows, sizeof *row);
    if (!row) return EPIQ_E_NOMEM;
    memcpy(row, t->row, (size_t)t->rows * sizeof *row);
    h->scores.row = row;
    h->scores.dropped = t->dropped;
    return epiqp_warn(c, &h->warnings, EPIQ_W_DROPPED_ROWS, "%td of %td rows were left out because a cell was missing",
                      t->dropped, t->rows + t->dropped);
}

/* note: about the file; NULL: nothing. */
static int score_complete(epiq_ctx *c, const epiq_model *m, const complete_rows *t, const epiq_score_request *ask,
                          const char *note, epiq_scores **out)
{
    const ptrdiff_t rows = t->rows;
    int s = epiqp_check_finite(c, "y", rows, 0, t->y);
    if (s) return s;
    holder *h = epiqp_alloc(c, 1, sizeof *h);
    double *error = epiqp_alloc(c, rows, sizeof *error);
    if (h) {
        *h = (holder){.warnings.arena = &h->arena,
                      .scores = {.rows = rows, .level = ask->level == 0 ? 0.95 : ask->level}};
    }
    s = h && error ? EPIQ_OK : EPIQ_E_NOMEM;
    if (!s) {
        if (!(s = make_room(c, rows, t->y, h)) && !(s = keep_numbers(c, t, h))) {
            s = judge(&(scoring){c, m, ask, h, h->scores.y, rows, error}, t->x);
        }
        if (!s && note) s = epiqp_warn(c, &h->warnings, EPIQ_W_EXTRA_COLUMNS, "%s", note);
        h->scores.warnings =
            s ? NULL : epiqp_arena_list(c, &h->arena, h->warnings.list, h->warnings.count, sizeof *h->warnings.list);
        h->scores.warning_count = h->warnings.count;
        if (!s && !h->scores.warnings) s = EPIQ_E_NOMEM;
    }
    epiqp_free(c, error);
    if (s && h) epiq_scores_free(c, &h->scores);
    *out = s ? NULL : &h->scores;
    return s;
}

static int score(epiq_ctx *c, const epiq_model *m, ptrdiff_t rows, const double *x, const double *y,
                 const epiq_score_request *asked, const char *note, epiq_scores **out)
{
    epiq_score_request ask = {.size = sizeof ask};
    complete_rows t = {.rows = rows, .x = x, .y = y};
    int s = epiqp_take(c, "epiq_score_request", asked, &ask, sizeof ask);
    if (s) return s;
    if (rows < 1) return epiqp_fail(c, EPIQ_E_DATA, "there is no row to score the model on; give at least one");
    if (ask.missing == EPIQ_MISSING_DROP) s = take_complete(c, m->d, &t);
    if (!s) s = score_complete(c, m, &t, &ask, note, out);
    epiqp_free(c, t.own);
    epiqp_free(c, t.row);
    return s;
}

int epiq_score_rows(epiq_ctx *c, const epiq_model *m, ptrdiff_t rows, const double *x, const double *y,
                    const epiq_score_request *ask, epiq_scores **out)
{
    epiqp_clear(c);
    *out = NULL;
    return score(c, m, rows, x, y, ask, NULL, out);
}

/* All rows of the file: features, and behind them the target. */
static int read_all(epiq_ctx *c, const epiq_model *m, epiq_reader *r, double **all, ptrdiff_t *rows)
{
    const ptrdiff_t columns = m->d + 1;
    ptrdiff_t room = 0, count = BLOCK;
    for (*rows = 0; count == BLOCK; *rows += count) {
        double *grown = epiqp_grown(c, *all, &room, (*rows + BLOCK) * columns, sizeof *grown);
        if (!grown) return EPIQ_E_NOMEM;
        *all = grown;
        int s = epiq_reader_next(c, r, BLOCK, grown + *rows * columns, &count);
        if (s) return s;
        if (epiqp_cancel_requested(c)) return epiqp_fail(c, EPIQ_E_STOPPED, "stopped on request after %td rows", *rows);
    }
    return EPIQ_OK;
}

int epiq_score_file(epiq_ctx *c, const epiq_model *m, const char *path, const epiq_score_request *ask,
                    epiq_scores **out)
{
    epiqp_clear(c);
    *out = NULL;
    epiq_reader *r = NULL;
    double *all = NULL, *y = NULL;
    ptrdiff_t rows = 0;
    epiq_score_request asked = {.size = sizeof asked};
    int s = epiqp_take(c, "epiq_score_request", ask, &asked, sizeof asked);
    if (!s) s = epiqp_reader_new(c, m, path, NULL, true, &r);
    if (!s) epiq_reader_missing(r, (int)asked.missing);
    if (!s) s = read_all(c, m, r, &all, &rows);
    if (!s && !(y = epiqp_alloc(c, rows, sizeof *y))) s = EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; !s && i < rows; i++) {
        y[i] = all[i * (m->d + 1) + m->d];
        memmove(all + i * m->d, all + i * (m->d + 1), (size_t)m->d * sizeof *all);
    }
    if (!s) s = score(c, m, rows, all, y, ask, epiq_reader_note(r), out);
    epiqp_free(c, all);
    epiqp_free(c, y);
    epiq_reader_free(c, r);
    return s;
}

void epiq_scores_free(epiq_ctx *c, epiq_scores *s)
{
    if (s) epiqp_arena_free(c, &((holder *)s)->arena);
    epiqp_free(c, s);
}
