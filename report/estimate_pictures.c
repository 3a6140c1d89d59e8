/* estimate_pictures.c - the pictures of an estimate: of one point its variances, its networks, EV as they become more, the rows that
 * move it; sweeps across the features, calibration of the leave-one-out predictions, all points beside each other.
 */
#include "common/student.h"
#include "report/estimate_doc.h"

#include <float.h>
#include <math.h>

enum { WIDTH = 380, HEIGHT = 260, PANEL_WIDTH = 300, PANEL_HEIGHT = 230, LEVELS = 99 };
#define SWEEP_NAME "prediction ± 2 of its standard deviations"
enum { ROWS_MAX = 30, DOTS_MAX = 2000 }; /* points or rows named one below the other; drawn as dots */

/* The step that takes at most so many of all things: more marks are one blot, and swell the file. */
static ptrdiff_t stride(ptrdiff_t all, ptrdiff_t most)
{
    return (all + most - 1) / most;
}

/* "members" for a single point, "point-2-members" for one of several; the title likewise. */
static picture *add(doc *d, estimate_picture kind, ptrdiff_t point, const char *name, const char *title)
{
    const char *at = d->r->points[point]->at;
    if (d->r->point_count == 1) return pictures_add(&d->set, kind, point, name, title);
    return pictures_add(&d->set, kind, point, phrase_of("point-%td-%s", point + 1, name).text,
                        phrase_of("%s (at %s%s)", title, point_prefix(at), at).text);
}

typedef struct {
    const char *name;
    double data, procedural; /* what is stacked; not finite: nothing */
    const epiq_part *whole;  /* the part that the mark and its interval show */
} stacked_row;

/* Returns a sentence for the caption if an interval had to be cut for the rest to be seen. */
static const char *draw_stacked(doc *d, picture *p, const stacked_row *rows, ptrdiff_t count)
{
    const char *name = picture_text(p, "estimate with its %.4g %% interval", 100 * d->run->options->level);
    const char **names = pictures_room(&d->set, count, sizeof *names);
    const ink a[] = {picture_ink(p, SVG_BARS, "data", 0, count, true),
                     picture_ink(p, SVG_BARS, "retraining", 1, count, true),
                     picture_ink(p, SVG_MARKS, name, 2, count, true)};
    double longest = 0, farthest = 0;
    bool any[3] = {false};
    if (d->set.failed) return "";
    for (ptrdiff_t i = 0; i < count; i++) {
        const epiq_part *all = rows[i].whole;
        const double x[] = {rows[i].data, rows[i].procedural, all->known ? all->variance : NAN};
        const double data = isfinite(x[0]) ? x[0] : 0, both = data + (isfinite(x[1]) ? x[1] : 0);
        names[i] = picture_text(p, "%s", rows[i].name);
        ink_add(&a[0], x[0], (double)i, 0, data);
        ink_add(&a[1], x[1], (double)i, data, both);
        ink_add(&a[2], x[2], (double)i, all->has_interval ? all->lo : NAN, interval_upper(all));
        longest = fmax(longest, fmax(both, x[2]));
        farthest = fmax(farthest, interval_upper(all));
        for (int k = 0; k < 3; k++) {
            any[k] = any[k] || isfinite(x[k]);
        }
    }
    for (int k = 0; k < 3; k++) {
        a[k].series->name = any[k] ? a[k].series->name : NULL;
        a[k].series->hollow = k == 1;
        a[k].series->ink = k == 2;
    }
    bool cut = farthest > 2 * longest; /* BA's interval from few batches would leave no room for anything else */
    picture_rows(p, names, count);
    p->panel.x_hi = 1.05 * (cut ? 2 * longest : fmax(longest, farthest));
    return cut ? " A line that reaches the right edge goes on beyond it." : "";
}

/* What an axis of variances is called. */
static const char *squared_units(const doc *d, picture *p, const char *what)
{
    return picture_text(p, "%s, in squared units of %s", what, d->run->data.target);
}

static void draw_parts(doc *d, ptrdiff_t point)
{
    const epiq_point *at = d->r->points[point];
    const double data = part_variance(&at->data), tau2 = part_variance(&at->procedural),
                 m = at->member_count ? (double)at->member_count : INFINITY;
    const phrase ensemble = phrase_of("ensemble of %td", d->r->ran->ensemble_size),
                 mean = phrase_of(at->member_count ? "this mean of %td" : "this prediction", at->member_count);
    enum { PARTS = 5 };
    const stacked_row all[PARTS] = {{"retraining (procedural)", NAN, tau2, &at->procedural},
                                    {"data (other rows)", data, NAN, &at->data},
                                    {"one network", data, tau2, &at->single},
                                    {ensemble.text, data, tau2 / (double)d->r->ran->ensemble_size, &at->ensemble},
                                    {mean.text, data, tau2 / m, &at->prediction_variance}};
    stacked_row rows[PARTS];
    ptrdiff_t count = 0;
    for (int k = 0; k < PARTS; k++) {
        rows[count] = all[k];
        count += all[k].whole->known != 0;
    }
    if (!count) return;
    picture *p = add(d, PICTURE_PARTS, point, "decomposition", "Where the variance comes from");
    const char *cut = draw_stacked(d, p, rows, count);
    picture_axes(p, WIDTH, HEIGHT, squared_units(d, p, "variance"), NULL);
    p->caption = picture_text(p,
                              "The longer a bar, the less sure the prediction: more training shrinks only the hollow "
                              "(retraining) piece, more rows only the filled (data) piece.%s",
                              cut);
    p->panel.describe =
        "Stacked bars of data and retraining variance, a mark with an interval on each; the numbers are below.";
}

enum { PILED_MAX = 1000, DOT_BINS_MAX = 44 }; /* so many dots fit side by side */

/* Dots piled up where predictions are alike, each for so many networks; returns the height of the highest pile. */
static double pile(const ink *a, const epiq_point *at, ptrdiff_t each, double lo, double hi)
{
    const ptrdiff_t m = at->member_count;
    double bins = fmin(fmax(8, ceil(2.5 * sqrt((double)m))), DOT_BINS_MAX), highest = 0;
    int filled[DOT_BINS_MAX + 1] = {0};
    for (ptrdiff_t k = 0; k < m; k++) {
        double share = (at->members[k] / 2 - lo / 2) / (hi / 2 - lo / 2); /* halves: the range itself may overflow */
        int bin = share > 0 ? (int)fmin(floor(share * bins), bins - 1) : 0;
        if (filled[bin]++ % each == 0) {
            ink_add(a, at->members[k], filled[bin], NAN, NAN);
            highest = fmax(highest, filled[bin]);
        }
    }
    return highest;
}

static void draw_members(doc *d, ptrdiff_t point)
{
    const epiq_point *at = d->r->points[point];
    ptrdiff_t m = at->member_count, each = stride(m, PILED_MAX);
    if (m < 2) return;
    picture *p = add(d, PICTURE_MEMBERS, point, "members", "What each network predicts");
    const char *name = each > 1 ? picture_text(p, "%td networks", each) : "one network";
    const ink a = picture_ink(p, SVG_MARKS, name, 0, m, false);
    double lo = at->members[0], hi = lo;
    for (ptrdiff_t k = 1; k < m; k++) {
        lo = fmin(lo, at->members[k]);
        hi = fmax(hi, at->members[k]);
    }
    const double highest = pile(&a, at, each, lo, hi);
    picture_rule(p, at->prediction, true, "the prediction: their mean");
    picture_axes(p, WIDTH, highest > 12 ? HEIGHT : 160, picture_text(p, "predicted %s", d->run->data.target), NULL);
    p->panel.y_bare = true;
    p->panel.y_hi = fmax(4, highest) + 1;
    p->caption = picture_text(p,
                              "Each dot is %s %s, from %s to %s; dots near each other are "
                              "piled up. The wider they lie, the more retraining would change the answer.",
                              name,
                              !at->left_out ? "trained on all rows"
                              : each > 1    ? "that have not seen this row"
                                            : "that has not seen this row",
                              epiqp_rounded_to(lo, 4).text, epiqp_rounded_to(hi, 4).text);
    p->panel.describe =
        picture_text(p, "Dots of the predictions of %td networks, and a line at their mean %.6g.", m, at->prediction);
}

enum { EV_MAX = 200 }; /* values drawn; of more members each step is longer */

static epiq_part ev_of_first(const double *h, ptrdiff_t count, double level)
{
    double mean = 0, squares = 0;
    for (ptrdiff_t k = 0; k < count; k++) { /* Welford */
        double d = h[k] - mean;
        mean += d / (double)(k + 1);
        squares += d * (h[k] - mean);
    }
    return epiq_part_of(squares / (double)(count - 1), (double)(count - 1), level, EPIQ_BY_EV);
}

static void fill_ev(picture *p, const ink *a, ptrdiff_t count, const epiq_point *at, double level)
{
    const ptrdiff_t m = at->member_count;
    for (ptrdiff_t i = 0; i < count; i++) {
        ptrdiff_t k = 2 + (ptrdiff_t)llround((double)i * (double)(m - 2) / (double)(count - 1));
        epiq_part part = k == m ? at->procedural : ev_of_first(at->members, k, level);
        double lo = part.has_interval ? part.lo : NAN, hi = interval_upper(&part);
        ink_add(a, (double)k, part_variance(&part), lo, hi);
        if (k >= 4 || m < 6) { /* the first intervals reach over decades, and would press all others flat */
            p->panel.y_lo = lo > 0 && (lo < p->panel.y_lo || !(p->panel.y_lo > 0)) ? lo : p->panel.y_lo;
            p->panel.y_hi = fmax(p->panel.y_hi, hi);
        }
    }
}

static void draw_ev(doc *d, ptrdiff_t point)
{
    const epiq_point *at = d->r->points[point];
    ptrdiff_t m = at->member_count, count = m - 1 < EV_MAX ? m - 1 : EV_MAX;
    if (!at->procedural.known || at->procedural.method != EPIQ_BY_EV || m < 3) return;
    picture *p = add(d, PICTURE_EV, point, "members-ev", "Were there enough networks?");
    const char *name = picture_text(p, "estimate with its %.4g %% interval", 100 * d->run->options->level);
    const ink a = picture_ink(p, SVG_LINE, name, 1, count, true);
    fill_ev(p, &a, count, at, d->run->options->level);
    if (at->infinite.known) {
        picture_rule(p, at->infinite.variance, false, "infinitely wide networks");
        p->panel.y_hi = fmax(p->panel.y_hi, at->infinite.variance);
        p->panel.y_lo = fmin(p->panel.y_lo, at->infinite.variance);
    }
    p->panel.y_lo /= 1.1;
    p->panel.y_hi *= 1.1;
    p->panel.log_y = true;
    picture_axes(p, WIDTH, HEIGHT, "networks", "retraining variance");
    p->caption = "The retraining variance from the first 2, 3, … networks: once the line stays level "
                 "inside a narrow band, more networks would tell little new about it.";
    p->panel.describe = picture_text(p, "A line with a band over the number of networks, ending at %.4g for %td.",
                                     at->procedural.variance, m);
}

/* Half the interval of the expected prediction, had only the first k networks been trained: of batches Student's interval of
 * these; else what the networks on all rows leave in the variance is that of the first, and the rest of it as it is. */
static double half_of_first(const epiq_point *at, ptrdiff_t k, double level)
{
    const epiq_confidence *all = &at->confidence;
    if (all->method == EPIQ_CONFIDENCE_BATCHING) {
        const epiq_part few = ev_of_first(at->batches, k, level);
        return epiqp_student_quantile((double)(k - 1), level) * sqrt(few.variance / (double)k);
    }
    const epiq_part few = ev_of_first(at->members, k, level);
    const double rest = all->variance - at->procedural.variance / (double)at->member_count;
    return epiqp_student_quantile(all->df > 0 ? all->df : DBL_MAX, level) *
           sqrt(fmax(rest, 0) + few.variance / (double)k);
}

static void draw_confidence(doc *d, ptrdiff_t point)
{
    const epiq_point *at = d->r->points[point];
    const epiq_confidence *all = &at->confidence;
    const bool batching = all->method == EPIQ_CONFIDENCE_BATCHING;
    const ptrdiff_t m = batching ? at->batch_count : at->member_count, count = m - 1 < EV_MAX ? m - 1 : EV_MAX;
    const double level = d->run->options->level;
    if (!all->known || at->left_out || m < 3 || !(all->variance > 0) ||
        (!batching && (!at->procedural.known || at->procedural.method != EPIQ_BY_EV))) {
        return;
    }
    picture *p = add(d, PICTURE_CONFIDENCE, point, "confidence-networks", "Would more networks narrow the interval?");
    const ink a = picture_ink(p, SVG_LINE, NULL, 0, count, false);
    for (ptrdiff_t i = 0; i < count; i++) {
        const ptrdiff_t k = 2 + (ptrdiff_t)llround((double)i * (double)(m - 2) / (double)(count - 1));
        const double half = k == m ? (all->hi - all->lo) / 2 : half_of_first(at, k, level);
        ink_add(&a, (double)k, half, NAN, NAN);
        if (k >= 4 || m < 6) { /* of two batches it is many times as wide */
            p->panel.y_hi = fmax(p->panel.y_hi, 1.1 * half);
        }
    }
    picture_axes(p, WIDTH, HEIGHT, batching ? "networks on batches" : "networks on all rows",
                 picture_text(p, "half-width, in units of %s", d->run->data.target));
    p->caption = batching
                     ? "Half the width of the interval of the expected prediction from the first 2, 3, … networks on "
                       "batches: once the line stays level, more would narrow it little."
                     : "Half the width of the interval of the expected prediction, had only the first 2, 3, … networks "
                       "on all rows been trained, what other rows would change being as it is: once the line stays "
                       "level, only rows would narrow it.";
    p->panel.describe =
        picture_text(p, "A line over the number of networks, ending at %.4g for %td.", (all->hi - all->lo) / 2, m);
}

static void draw_influential(doc *d, ptrdiff_t point)
{
    const epiq_point *at = d->r->points[point];
    ptrdiff_t count = at->influential_count < ROWS_MAX ? at->influential_count : ROWS_MAX;
    if (!count) return;
    picture *p = add(d, PICTURE_INFLUENTIAL, point, "influential", "Rows that matter most");
    const ink a = picture_ink(p, SVG_BARS, NULL, 2, count, true);
    const char **names = pictures_room(&d->set, count, sizeof *names);
    if (d->set.failed) return;
    for (ptrdiff_t i = 0; i < count; i++) {
        names[i] = picture_text(p, "row %td", at->influential[i]->row);
        const double x = at->influential[i]->influence;
        ink_add(&a, x, (double)i, fmin(0, x), fmax(0, x));
    }
    picture_rule(p, 0, true, NULL);
    picture_axes(p, WIDTH, HEIGHT, picture_text(p, "change of predicted %s", d->run->data.target), NULL);
    picture_rows(p, names, count);
    p->caption = "How far the prediction would move if a row were deleted: check the rows with the longest bars for "
                 "mistakes first.";
    p->panel.describe =
        picture_text(p, "Bars for the %td rows that move the prediction most, the strongest first.", count);
}

/* ---- sweeps ---- */

/* Two standard deviations of the prediction; 0: they are not known. */
static double sweep_reach(const epiq_point *at)
{
    return at->prediction_variance.known ? 2 * part_sd(&at->prediction_variance) : 0;
}

/* The same prediction axis for every feature, so that they can be compared. */
static void see_sweeps(const epiq_result *r, double *lo, double *hi)
{
    const epiq_sweep *w;
    *lo = INFINITY;
    *hi = -INFINITY;
    for (ptrdiff_t k = 0; (w = r->sweeps[k]); k++) {
        for (ptrdiff_t i = 0; i < w->count; i++) {
            const epiq_point *p = w->points[i];
            *lo = fmin(*lo, p->prediction - sweep_reach(p));
            *hi = fmax(*hi, p->prediction + sweep_reach(p));
        }
    }
    double air = 0.04 * (*hi - *lo);
    *lo -= air;
    *hi += air;
}

/* How far apart the predictions along a sweep are: the effect of the feature. */
static double sweep_range(const epiq_sweep *w)
{
    double lo = INFINITY, hi = -INFINITY;
    for (ptrdiff_t i = 0; i < w->count; i++) {
        lo = fmin(lo, w->points[i]->prediction);
        hi = fmax(hi, w->points[i]->prediction);
    }
    return hi - lo;
}

/* The sweeps with the largest effect first. */
static const epiq_sweep **sorted_sweeps(doc *d)
{
    const epiq_sweep **order = pictures_room(&d->set, d->r->sweep_count, sizeof *order);
    for (ptrdiff_t i = 0; order && i < d->r->sweep_count; i++) {
        ptrdiff_t k = i;
        for (; k > 0 && sweep_range(order[k - 1]) < sweep_range(d->r->sweeps[i]); k--) {
            order[k] = order[k - 1];
        }
        order[k] = d->r->sweeps[i];
    }
    return order;
}

/* The prediction along the feature, with two of its standard deviations to either side where they are known. */
static void fill_sweep(const ink *a, const epiq_sweep *w)
{
    for (ptrdiff_t i = 0; i < w->count; i++) {
        const epiq_point *at = w->points[i];
        const double wide = at->prediction_variance.known ? sweep_reach(at) : NAN;
        ink_add(a, w->value[i], at->prediction, at->prediction - wide, at->prediction + wide);
    }
}

/* A feature with two values, as 0 and 1: marks with error bars, and nothing between them. */
static void draw_two_values(picture *p, const epiq_sweep *w)
{
    const double apart = w->value[1] - w->value[0];
    const ink a = picture_ink(p, SVG_MARKS, SWEEP_NAME, 0, w->count, true);
    fill_sweep(&a, w);
    p->panel.x_ticks = w->value;
    p->panel.x_tick_count = 2;
    p->panel.x_lo = w->value[0] - apart / 2;
    p->panel.x_hi = w->value[1] + apart / 2;
}

static void draw_sweep(doc *d, const epiq_sweep *w, ptrdiff_t k, double lo, double hi)
{
    const char *feature = d->run->data.feature[w->feature];
    picture *p = pictures_add(&d->set, PICTURE_SWEEP, k, phrase_of("sweep-%td-%s", w->feature + 1, feature).text,
                              phrase_of("Across %s", feature).text);
    if (w->count == 2) {
        draw_two_values(p, w);
    } else {
        const ink a = picture_ink(p, SVG_LINE, SWEEP_NAME, 0, w->count, true);
        fill_sweep(&a, w);
        p->panel.rug = w->row_value;
        p->panel.rug_count = w->row_count;
    }
    picture_rule(p, d->r->points[0]->prediction, false, "prediction at the point itself");
    picture_axes(p, PANEL_WIDTH, PANEL_HEIGHT, feature, picture_text(p, "predicted %s", d->run->data.target));
    p->panel.y_lo = lo;
    p->panel.y_hi = hi;
    p->panel.describe = picture_text(
        p, "The prediction as this feature goes from %.4g to %.4g, with two standard deviations to either side.",
        w->value[0], w->value[w->count - 1]);
}

static void draw_sweeps(doc *d)
{
    double lo, hi;
    const epiq_sweep **order = sorted_sweeps(d);
    see_sweeps(d->r, &lo, &hi);
    for (ptrdiff_t k = 0; order && k < d->r->sweep_count; k++) {
        draw_sweep(d, order[k], k, lo, hi);
    }
}

/* ---- the fit ---- */

/* Observed against predicted, n each. */
static void fill_unseen(doc *d, picture *p, const double *predicted, const double *observed)
{
    const ptrdiff_t n = d->run->data.rows, step = stride(n, DOTS_MAX);
    const ink a = picture_ink(p, SVG_MARKS, "a row", 0, n / step + 1, false),
              diagonal = picture_ink(p, SVG_LINE, "equal", 1, 2, false);
    double lo = INFINITY, hi = -INFINITY;
    for (ptrdiff_t i = 0; i < n; i += step) {
        ink_add(&a, predicted[i], observed[i], NAN, NAN);
        lo = fmin(lo, fmin(predicted[i], observed[i]));
        hi = fmax(hi, fmax(predicted[i], observed[i]));
    }
    ink_add(&diagonal, lo, lo, NAN, NAN);
    ink_add(&diagonal, hi, hi, NAN, NAN);
    diagonal.series->ink = true;
    p->panel.describe = picture_text(p, "%td dots of observed against predicted without %s, and the diagonal.",
                                     a.series->count, d->r->fit->by_group ? "the group of the row" : "the row");
}

/* By the networks that have not seen each row, or by kernel regression where none were trained so. */
static void draw_unseen(doc *d, bool networks)
{
    const epiq_fit_error *f = d->r->fit;
    const ptrdiff_t step = stride(d->run->data.rows, DOTS_MAX);
    const char *others = f->by_group ? "other groups" : "others", *without = f->by_group ? "its group" : "the row";
    picture *p = networks
                     ? pictures_add(&d->set, PICTURE_LOO, 0, "unseen",
                                    phrase_of("Each row predicted by networks that have not seen %s", without).text)
                     : pictures_add(&d->set, PICTURE_LOO, 0, "leave-one-out",
                                    phrase_of("Each row predicted from all %s", others).text);
    fill_unseen(d, p, networks ? f->unseen : f->loo, networks ? f->y : f->observed);
    picture_axes(p, WIDTH, WIDTH, picture_text(p, "%s predicted without %s", d->run->data.target, without),
                 picture_text(p, "%s observed", d->run->data.target));
    p->caption = picture_text(p, "The nearer the dots are to the line, the better %s predict%s rows %s not seen%s.",
                              networks ? "the networks" : "kernel regression", networks ? "" : "s",
                              networks ? "they have" : "it has",
                              step > 1 ? picture_text(p, "; drawn is every %tdth row", step) : "");
}

static double share_inside(const double *level, ptrdiff_t n, double nominal)
{
    ptrdiff_t inside = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        inside += level[i] <= nominal;
    }
    return (double)inside / (double)n;
}

static void draw_calibration(doc *d)
{
    ptrdiff_t n = d->run->data.rows;
    double *level = pictures_room(&d->set, n, sizeof *level); /* of the normal interval that just holds each row */
    for (ptrdiff_t i = 0; level && i < n; i++) {
        if (!(d->r->fit->loo_sd[i] > 0)) return; /* no noise, no interval */
        level[i] = erf(fabs(d->r->fit->observed[i] - d->r->fit->loo[i]) / (d->r->fit->loo_sd[i] * sqrt(2)));
    }
    picture *p = pictures_add(&d->set, PICTURE_CALIBRATION, 0, "calibration", "Do intervals hold what they promise?");
    const ink promise = picture_ink(p, SVG_LINE, "as promised, ± 2 standard errors of chance", 1, LEVELS, true),
              rows = picture_ink(p, SVG_LINE, "rows inside their interval", 0, LEVELS, false);
    if (d->set.failed || !level) return;
    for (int i = 0; i < LEVELS; i++) {
        double nominal = (i + 1) / 100.0, chance = 200 * sqrt(nominal * (1 - nominal) / (double)n);
        ink_add(&promise, 100 * nominal, 100 * nominal, fmax(0, 100 * nominal - chance),
                fmin(100, 100 * nominal + chance));
        ink_add(&rows, 100 * nominal, 100 * share_inside(level, n, nominal), NAN, NAN);
    }
    promise.series->ink = true;
    picture_axes(p, WIDTH, WIDTH, "level of the interval, %", "rows inside it, %");
    p->panel.x_hi = p->panel.y_hi = 100;
    p->caption = picture_text(
        p,
        "Of %td rows %.1f %% lie inside the %.4g %% interval of the model that has not seen them: above the dashed "
        "line intervals are too wide, below it too narrow.",
        n, 100 * share_inside(level, n, d->run->options->level), 100 * d->run->options->level);
    p->panel.describe =
        "The share of rows inside their interval against its level; with honest intervals it is the diagonal.";
}

/* The points with the largest variance of the prediction, that one first; where it is unknown, as they are given. */
static void least_sure(const epiq_result *r, ptrdiff_t count, const epiq_point **order)
{
    for (ptrdiff_t i = 0; i < r->point_count; i++) {
        const epiq_point *at = r->points[i];
        const double variance = part_variance(&at->full_variance);
        ptrdiff_t k = i < count ? i : count;
        for (; k > 0 && part_variance(&order[k - 1]->full_variance) < variance; k--) {
            if (k < count) order[k] = order[k - 1];
        }
        if (k < count) order[k] = at;
    }
}

/* Of the prediction shown where that is known, else of one network. */
static stacked_row point_row(const epiq_result *r, const epiq_point *at, bool shown)
{
    const double m = !shown              ? 1
                     : !at->member_count ? INFINITY
                                         : (double)(at->left_out ? r->ran->members : at->member_count);
    return (stacked_row){at->at, part_variance(&at->data), part_variance(&at->procedural) / m,
                         shown ? &at->full_variance : &at->single};
}

static void draw_points(doc *d)
{
    const epiq_point *order[ROWS_MAX], *first = d->r->points[0];
    const ptrdiff_t all = d->r->point_count, count = all < ROWS_MAX ? all : ROWS_MAX;
    const bool shown = first->prediction_variance.known;
    if (!first->data.known && !first->procedural.known) return;
    picture *p = pictures_add(&d->set, PICTURE_POINTS, 0, "points", "Where the variance comes from, point by point");
    stacked_row rows[ROWS_MAX] = {{0}};
    for (ptrdiff_t i = 0; i < count; i++) {
        order[i] = first;
    }
    least_sure(d->r, count, order);
    for (ptrdiff_t i = 0; i < count; i++) {
        rows[i] = point_row(d->r, order[i], shown);
    }
    const char *cut = draw_stacked(d, p, rows, count);
    picture_axes(p, WIDTH, 0, squared_units(d, p, shown ? "variance of the prediction" : "variance of one network"),
                 NULL);
    const char *which = count == all
                            ? (shown ? " The least sure come first." : "")
                            : picture_text(p,
                                           shown ? " Drawn are the %td least sure of %td points, the least sure first."
                                                 : " Drawn are the first %td of %td points.",
                                           count, all);
    p->caption = picture_text(p,
                              "The longer a bar, the less sure %s there: more training shrinks only the hollow "
                              "(retraining) piece, more rows only the filled (data) piece.%s%s",
                              shown ? "the prediction" : "one network's prediction", which, cut);
    p->panel.describe = picture_text(p, "Stacked bars for %td points; the numbers are in the table.", count);
}

static void draw_spread(doc *d)
{
    ptrdiff_t step = stride(d->r->point_count, DOTS_MAX);
    if (!d->r->points[0]->prediction_variance.known) return;
    picture *p = pictures_add(&d->set, PICTURE_SPREAD, 0, "points-spread", "Which predictions are least sure");
    const ink a = picture_ink(p, SVG_MARKS, "a point", 0, d->r->point_count / step + 1, false);
    for (ptrdiff_t i = 0; i < d->r->point_count; i += step) {
        const epiq_point *at = d->r->points[i];
        ink_add(&a, at->prediction, part_sd(&at->full_variance), NAN, NAN);
    }
    picture_axes(p, WIDTH, 260, picture_text(p, "predicted %s", d->run->data.target), "its standard deviation");
    p->caption = picture_text(p, "The higher a dot, the less sure the prediction at that point%s.",
                              step > 1 ? picture_text(p, "; drawn is every %tdth", step) : "");
    p->panel.describe =
        picture_text(p, "%td dots: the standard deviation of each prediction against it.", a.series->count);
}

void estimate_pictures(doc *d)
{
    for (ptrdiff_t k = 0, i; k < ESTIMATE_DETAILED && (i = estimate_detailed(d->r, k)) >= 0; k++) {
        draw_parts(d, i);
        draw_members(d, i);
        draw_ev(d, i);
        draw_confidence(d, i);
        draw_influential(d, i);
    }
    if (d->r->point_count > 1) {
        draw_points(d);
        draw_spread(d);
    }
    draw_sweeps(d);
    const epiq_fit_error *f = d->r->fit;
    const bool networks = f->known && f->folds && f->unseen, kernel = f->known && !networks && f->loo;
    if (networks || kernel) draw_unseen(d, networks);
    if (kernel) draw_calibration(d); /* of its own intervals, which are not those of networks */
}
