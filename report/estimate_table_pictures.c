/* estimate_table_pictures.c - the pictures that are not of one point alone: sweeps across the features, calibration of
 * the leave-one-out predictions, and all points beside each other.
 */
#include "report/estimate_pictures.h"

#include <math.h>
#include <stdlib.h>

enum {
    SIDE = 380,
    PANEL_WIDTH = 300,
    PANEL_HEIGHT = 230,
    DOTS_MAX = 2000, /* rows or points drawn: more are one blot, and swell the file */
    ROWS_MAX = 30,   /* points named one below the other */
    LEVELS = 99,
};

/* Of `all` things take every so-manieth, to stay below the most that can be drawn. */
static ptrdiff_t stride(ptrdiff_t all)
{
    return (all + DOTS_MAX - 1) / DOTS_MAX;
}

/* ---- sweeps ---- */

static double sd_of(const epiq_part *p)
{
    return p->known ? sqrt(p->variance) : NAN;
}

/* The same prediction axis for every feature, so that they can be compared. */
static void see_sweeps(const epiq_result *r, double *lo, double *hi)
{
    *lo = INFINITY;
    *hi = -INFINITY;
    for (ptrdiff_t k = 0; k < r->sweep_count; k++) {
        for (ptrdiff_t i = 0; i < r->sweeps[k].count; i++) {
            const epiq_point *p = &r->sweeps[k].points[i];
            double wide =
                2 * fmax(p->data.known ? sd_of(&p->data) : 0, p->procedural.known ? sd_of(&p->procedural) : 0);
            *lo = fmin(*lo, p->prediction - wide);
            *hi = fmax(*hi, p->prediction + wide);
        }
    }
    double air = 0.04 * (*hi - *lo);
    *lo -= air;
    *hi += air;
}

static void draw_sweep(pictures *set, const epiq_result *r, const report_run *run, ptrdiff_t k, double lo, double hi)
{
    const epiq_sweep *w = &r->sweeps[k];
    const char *feature = run->data.feature[w->feature];
    picture *p = pictures_add(set, PICTURE_SWEEP, k, pictures_text(set, "sweep-%td-%s", w->feature + 1, feature));
    double *a[5];
    svg_series *s = p && pictures_columns(set, w->count, 5, a) ? pictures_series(set, p, 3) : NULL;
    svg_rule *rule = s ? pictures_room(set, 1, sizeof *rule) : NULL;
    if (!rule) {
        return;
    }
    bool data = false, procedural = false;
    for (ptrdiff_t i = 0; i < w->count; i++) {
        const epiq_point *at = &w->points[i];
        data = data || at->data.known;
        procedural = procedural || at->procedural.known;
        a[0][i] = at->prediction;
        a[1][i] = at->prediction - 2 * sd_of(&at->data);
        a[2][i] = at->prediction + 2 * sd_of(&at->data);
        a[3][i] = at->prediction - 2 * sd_of(&at->procedural);
        a[4][i] = at->prediction + 2 * sd_of(&at->procedural);
    }
    if (data) {
        s[p->panel.series_count++] =
            (svg_series){.name = "± 2 std dev, data", .kind = SVG_BAND, .look = 0, .lo = a[1], .hi = a[2]};
    }
    if (procedural) {
        s[p->panel.series_count++] = (svg_series){.name = "± 2 std dev, procedural, of one network",
                                                  .kind = SVG_BAND,
                                                  .look = 1,
                                                  .hollow = true,
                                                  .lo = a[3],
                                                  .hi = a[4]};
    }
    s[p->panel.series_count++] = (svg_series){.name = "prediction", .kind = SVG_LINE, .look = 0};
    for (ptrdiff_t i = 0; i < p->panel.series_count; i++) {
        s[i].count = w->count;
        s[i].x = w->value;
        s[i].y = a[0];
    }
    *rule = (svg_rule){r->points[0].prediction, false, "prediction at the point itself"};
    p->panel.rules = rule;
    p->panel.rule_count = 1;
    p->panel.width = PANEL_WIDTH;
    p->panel.height = PANEL_HEIGHT;
    p->panel.x_name = feature;
    p->panel.y_name = run->data.target;
    p->panel.y_lo = lo;
    p->panel.y_hi = hi;
    snprintf(p->title, sizeof p->title, "Across %s", feature);
    snprintf(p->describe, sizeof p->describe,
             "The prediction as this feature goes from %.4g to %.4g, with bands for data and procedure.", w->value[0],
             w->value[w->count - 1]);
}

/* ---- calibration ---- */

static void draw_loo(pictures *set, const epiq_result *r, const report_run *run)
{
    ptrdiff_t n = run->data.rows, step = stride(n), count = 0;
    picture *p = pictures_add(set, PICTURE_LOO, 0, "leave-one-out");
    double *a[2], *diagonal[2];
    svg_series *s = p && pictures_columns(set, n / step + 1, 2, a) && pictures_columns(set, 2, 2, diagonal)
                        ? pictures_series(set, p, 2)
                        : NULL;
    if (!s) {
        return;
    }
    double lo = INFINITY, hi = -INFINITY;
    for (ptrdiff_t i = 0; i < n; i += step) {
        a[0][count] = r->fit.loo[i];
        a[1][count++] = r->fit.observed[i];
        lo = fmin(lo, fmin(r->fit.loo[i], r->fit.observed[i]));
        hi = fmax(hi, fmax(r->fit.loo[i], r->fit.observed[i]));
    }
    diagonal[0][0] = diagonal[1][0] = lo;
    diagonal[0][1] = diagonal[1][1] = hi;
    s[0] = (svg_series){.name = "a row", .kind = SVG_MARKS, .count = count, .x = a[0], .y = a[1]};
    s[1] = (svg_series){
        .name = "equal", .kind = SVG_LINE, .look = 1, .ink = true, .count = 2, .x = diagonal[0], .y = diagonal[1]};
    p->panel.series_count = 2;
    p->panel.width = p->panel.height = SIDE;
    p->panel.x_name =
        pictures_text(set, "%s predicted without %s", run->data.target, r->fit.by_group ? "its group" : "the row");
    p->panel.y_name = pictures_text(set, "%s observed", run->data.target);
    snprintf(p->title, sizeof p->title, "Each row predicted from all %s", r->fit.by_group ? "other groups" : "others");
    snprintf(p->caption, sizeof p->caption,
             "The nearer the dots are to the line, the better the model predicts rows it has not seen%s.",
             step > 1 ? pictures_text(set, "; drawn is every %tdth row", step) : "");
    snprintf(p->describe, sizeof p->describe,
             "%td dots of observed against leave-one-%sout prediction, and the diagonal.", count,
             r->fit.by_group ? "group-" : "");
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The level of the normal interval that just holds each row, sorted: the share below L is what an L interval holds. */
static void sorted_levels(const epiq_result *r, ptrdiff_t n, double *level)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        level[i] = erf(fabs(r->fit.observed[i] - r->fit.loo[i]) / (r->fit.loo_sd[i] * sqrt(2)));
    }
    qsort(level, (size_t)n, sizeof *level, rising);
}

static double share_inside(const double *level, ptrdiff_t n, double nominal)
{
    ptrdiff_t inside = 0;
    while (inside < n && level[inside] <= nominal) {
        inside++;
    }
    return (double)inside / (double)n;
}

static void draw_calibration(pictures *set, const epiq_result *r, const report_run *run)
{
    ptrdiff_t n = run->data.rows;
    for (ptrdiff_t i = 0; i < n; i++) {
        if (!(r->fit.loo_sd[i] > 0)) {
            return; /* no noise, no interval */
        }
    }
    picture *p = pictures_add(set, PICTURE_CALIBRATION, 0, "calibration");
    double *a[4], *level;
    svg_series *s = p && pictures_columns(set, LEVELS, 4, a) && pictures_columns(set, n, 1, &level)
                        ? pictures_series(set, p, 2)
                        : NULL;
    if (!s) {
        return;
    }
    sorted_levels(r, n, level);
    for (int i = 0; i < LEVELS; i++) {
        double nominal = (i + 1) / 100.0, chance = 200 * sqrt(nominal * (1 - nominal) / (double)n);
        a[0][i] = 100 * nominal;
        a[1][i] = 100 * share_inside(level, n, nominal);
        a[2][i] = fmax(0, a[0][i] - chance);
        a[3][i] = fmin(100, a[0][i] + chance);
    }
    s[0] = (svg_series){.name = "as promised, ± 2 standard errors of chance",
                        .kind = SVG_LINE,
                        .look = 1,
                        .ink = true,
                        .count = LEVELS,
                        .x = a[0],
                        .y = a[0],
                        .lo = a[2],
                        .hi = a[3]};
    s[1] = (svg_series){
        .name = "rows inside their interval", .kind = SVG_LINE, .look = 0, .count = LEVELS, .x = a[0], .y = a[1]};
    p->panel.series_count = 2;
    p->panel.width = p->panel.height = SIDE;
    p->panel.x_name = "level of the interval, %";
    p->panel.y_name = "rows inside it, %";
    p->panel.x_hi = p->panel.y_hi = 100;
    double mine = 100 * run->options->level;
    snprintf(p->title, sizeof p->title, "Do intervals hold what they promise?");
    snprintf(
        p->caption, sizeof p->caption,
        "Of %td rows %.1f %% lie inside the %.4g %% interval of the model that has not seen them: above the dashed "
        "line intervals are too wide, below it too narrow.",
        n, 100 * share_inside(level, n, run->options->level), mine);
    snprintf(p->describe, sizeof p->describe,
             "The share of rows inside their interval against its level; with honest intervals it is the diagonal.");
}

/* ---- several points ---- */

static void draw_points(pictures *set, const epiq_result *r, const report_run *run)
{
    ptrdiff_t count = r->point_count < ROWS_MAX ? r->point_count : ROWS_MAX;
    picture *p = pictures_add(set, PICTURE_POINTS, 0, "points");
    stacked_row rows[ROWS_MAX];
    for (ptrdiff_t i = 0; i < count; i++) {
        const epiq_point *at = &r->points[i];
        rows[i] = (stacked_row){at->at, at->data.known ? at->data.variance : NAN,
                                at->procedural.known ? at->procedural.variance : NAN, &at->single};
    }
    if (!p) {
        return;
    }
    bool cut = report_stacked(set, p, rows, count, "one network", run->options->level);
    p->panel.x_name = "variance of one network, in squared units of the target";
    snprintf(p->title, sizeof p->title, "Where the variance comes from, point by point");
    snprintf(p->caption, sizeof p->caption,
             "The longer a bar, the less sure one network's prediction there: more training shrinks only the hollow "
             "(procedural) piece, more rows only the filled (data) piece.%s%s",
             count < r->point_count
                 ? pictures_text(set, " Drawn are the first %td of %td points.", count, r->point_count)
                 : "",
             cut ? " A line that reaches the right edge goes on beyond it." : "");
    snprintf(p->describe, sizeof p->describe, "Stacked bars for %td points; the numbers are in the table.", count);
}

static void draw_spread(pictures *set, const epiq_result *r, const report_run *run)
{
    ptrdiff_t step = stride(r->point_count), count = 0;
    picture *p = pictures_add(set, PICTURE_SPREAD, 0, "points-spread");
    double *a[2];
    svg_series *s = p && pictures_columns(set, r->point_count / step + 1, 2, a) ? pictures_series(set, p, 1) : NULL;
    if (!s) {
        return;
    }
    for (ptrdiff_t i = 0; i < r->point_count; i += step) {
        a[0][count] = r->points[i].prediction;
        a[1][count++] = sd_of(&r->points[i].prediction_variance);
    }
    s[0] = (svg_series){.name = "a point", .kind = SVG_MARKS, .count = count, .x = a[0], .y = a[1]};
    p->panel.series_count = 1;
    p->panel.width = SIDE;
    p->panel.height = 260;
    p->panel.x_name = pictures_text(set, "predicted %s", run->data.target);
    p->panel.y_name = "its standard deviation";
    snprintf(p->title, sizeof p->title, "Which predictions are least sure");
    snprintf(p->caption, sizeof p->caption, "The higher a dot, the less sure the prediction at that point%s.",
             step > 1 ? pictures_text(set, "; drawn is every %tdth", step) : "");
    snprintf(p->describe, sizeof p->describe, "%td dots: the standard deviation of each prediction against it.", count);
}

void report_table_pictures(pictures *set, const epiq_result *r, const report_run *run)
{
    double lo, hi;
    if (r->point_count > 1 && (r->points[0].data.known || r->points[0].procedural.known)) {
        draw_points(set, r, run);
    }
    if (r->point_count > 1 && r->points[0].prediction_variance.known) {
        draw_spread(set, r, run);
    }
    see_sweeps(r, &lo, &hi);
    for (ptrdiff_t k = 0; k < r->sweep_count; k++) {
        draw_sweep(set, r, run, k, lo, hi);
    }
    if (r->fit.known && r->fit.loo) {
        draw_loo(set, r, run);
        draw_calibration(set, r, run);
    }
}
