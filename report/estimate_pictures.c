/* estimate_pictures.c - the pictures of one point: its variances, its members, EV as they become more, the rows that
 * move it. Of the data and of all points: estimate_table_pictures.c.
 */
#include "report/estimate_pictures.h"

#include <math.h>

enum { WIDTH = 380, HEIGHT = 260 };

/* The title, and of which point where there are several. */
static void set_title(picture *p, const epiq_result *r, ptrdiff_t point, const char *title)
{
    const char *at = r->points[point].at;
    snprintf(p->title, sizeof p->title, r->point_count > 1 ? "%s, at %s%s" : "%s", title, report_point(at), at);
}

/* "members" for a single point, "point-2-members" for one of several. */
static picture *add(pictures *set, estimate_picture kind, const epiq_result *r, ptrdiff_t point, const char *name)
{
    picture *p =
        pictures_add(set, kind, point, r->point_count > 1 ? pictures_text(set, "point-%td-%s", point + 1, name) : name);
    if (p) {
        p->panel.width = WIDTH;
        p->panel.height = HEIGHT;
    }
    return p;
}

/* ---- the parts ---- */

enum { DATA_X, DATA_LO, DATA_HI, TAU_X, TAU_LO, TAU_HI, ALL_X, ALL_LO, ALL_HI, ROW_Y, STACK_COLUMNS };

bool report_stacked(pictures *set, picture *p, const stacked_row *rows, ptrdiff_t count, const char *whole,
                    double level)
{
    double *a[STACK_COLUMNS], longest = 0, farthest = 0;
    svg_series *s = pictures_columns(set, count, STACK_COLUMNS, a) ? pictures_series(set, p, 3) : NULL;
    const char **names = s ? pictures_room(set, count, sizeof *names) : NULL;
    if (!names) {
        return false;
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        const epiq_part *all = rows[i].whole;
        double data = isfinite(rows[i].data) ? rows[i].data : 0;
        names[i] = rows[i].name;
        a[ROW_Y][i] = (double)i;
        a[DATA_X][i] = rows[i].data;
        a[DATA_HI][i] = a[TAU_LO][i] = data;
        a[TAU_X][i] = rows[i].procedural;
        a[TAU_HI][i] = data + (isfinite(rows[i].procedural) ? rows[i].procedural : 0);
        a[ALL_X][i] = all->known ? all->variance : NAN;
        a[ALL_LO][i] = all->has_interval ? all->lo : NAN;
        a[ALL_HI][i] = report_upper(all);
        longest = fmax(longest, fmax(a[TAU_HI][i], a[ALL_X][i]));
        farthest = fmax(farthest, a[ALL_HI][i]);
    }
    const char *names_of[] = {"data", "procedural",
                              pictures_text(set, "%s with its %.4g %% interval", whole, 100 * level)};
    for (int k = 0; k < 3; k++) {
        bool any = false;
        for (ptrdiff_t i = 0; i < count; i++) {
            any = any || isfinite(a[3 * k][i]);
        }
        s[k] = (svg_series){.name = any ? names_of[k] : NULL,
                            .kind = k == 2 ? SVG_MARKS : SVG_BARS,
                            .look = k,
                            .hollow = k == 1,
                            .ink = k == 2,
                            .count = count,
                            .x = a[3 * k],
                            .lo = a[3 * k + 1],
                            .hi = a[3 * k + 2],
                            .y = a[ROW_Y]};
    }
    bool cut = farthest > 2 * longest; /* BA's interval from few batches would leave no room for anything else */
    p->panel.series_count = 3;
    p->panel.rows = names;
    p->panel.row_count = (int)count;
    p->panel.width = WIDTH;
    p->panel.x_hi = 1.05 * (cut ? 2 * longest : fmax(longest, farthest));
    return cut;
}

enum { PARTS = 5 };

static ptrdiff_t list_parts(stacked_row *rows, pictures *set, const epiq_result *r, const epiq_point *p)
{
    double data = p->data.known ? p->data.variance : NAN, tau2 = p->procedural.known ? p->procedural.variance : NAN;
    double m = p->member_count ? (double)p->member_count : INFINITY;
    const stacked_row all[PARTS] = {
        {"procedural (retraining)", NAN, tau2, &p->procedural},
        {"data (other rows)", data, NAN, &p->data},
        {"one network", data, tau2, &p->single},
        {pictures_text(set, "ensemble of %td", r->ensemble_size), data, tau2 / (double)r->ensemble_size, &p->ensemble},
        {p->member_count ? pictures_text(set, "this mean of %td", p->member_count) : "this prediction", data, tau2 / m,
         &p->prediction_variance},
    };
    ptrdiff_t count = 0;
    for (int k = 0; k < PARTS; k++) {
        if (all[k].whole->known) {
            rows[count++] = all[k];
        }
    }
    return count;
}

static void draw_parts(pictures *set, const epiq_result *r, const report_run *run, ptrdiff_t point)
{
    stacked_row rows[PARTS];
    ptrdiff_t count = list_parts(rows, set, r, &r->points[point]);
    picture *p = count ? add(set, PICTURE_PARTS, r, point, "decomposition") : NULL;
    if (!p) {
        return;
    }
    bool cut = report_stacked(set, p, rows, count, "estimate", run->options->level);
    p->panel.x_name = "variance, in squared units of the target";
    set_title(p, r, point, "Where the variance comes from");
    snprintf(p->caption, sizeof p->caption,
             "The longer a bar, the less sure the prediction: more training shrinks only the hollow (procedural) "
             "piece, more "
             "rows only the filled (data) piece.%s",
             cut ? " A line that reaches the right edge goes on beyond it." : "");
    snprintf(p->describe, sizeof p->describe,
             "Stacked bars of data and procedural variance, a mark with an interval on each; the numbers are below.");
}

/* ---- the members ---- */

enum { DOTS_MAX = 1000, DOT_BINS_MAX = 44 }; /* so many dots fit side by side */

static void draw_members(pictures *set, const epiq_result *r, const report_run *run, ptrdiff_t point)
{
    const epiq_point *at = &r->points[point];
    ptrdiff_t m = at->member_count, each = (m + DOTS_MAX - 1) / DOTS_MAX, dots = 0;
    picture *p = m > 1 ? add(set, PICTURE_MEMBERS, r, point, "members") : NULL;
    double *a[2];
    svg_series *s = p && pictures_columns(set, m, 2, a) ? pictures_series(set, p, 1) : NULL;
    svg_rule *rule = s ? pictures_room(set, 1, sizeof *rule) : NULL;
    if (!rule) {
        return;
    }
    double lo = at->members[0], hi = lo, bins = fmin(fmax(8, ceil(2.5 * sqrt((double)m))), DOT_BINS_MAX), highest = 0;
    for (ptrdiff_t k = 1; k < m; k++) {
        lo = fmin(lo, at->members[k]);
        hi = fmax(hi, at->members[k]);
    }
    int filled[DOT_BINS_MAX + 1] = {0};
    for (ptrdiff_t k = 0; k < m; k++) {
        double share = (at->members[k] / 2 - lo / 2) / (hi / 2 - lo / 2); /* halves: the range itself may overflow */
        int bin = share > 0 ? (int)fmin(floor(share * bins), bins - 1) : 0;
        if (filled[bin]++ % each == 0) {
            a[0][dots] = at->members[k];
            a[1][dots] = (double)filled[bin];
            highest = fmax(highest, a[1][dots++]);
        }
    }
    *rule = (svg_rule){at->prediction, true, "the prediction: their mean"};
    s[0] = (svg_series){.name = each > 1 ? pictures_text(set, "%td networks", each) : "one network",
                        .kind = SVG_MARKS,
                        .count = dots,
                        .x = a[0],
                        .y = a[1]};
    p->panel.series_count = 1;
    p->panel.rules = rule;
    p->panel.rule_count = 1;
    p->panel.x_name = pictures_text(set, "predicted %s", run->data.target);
    p->panel.y_name = "networks, counted upwards";
    p->panel.y_hi = fmax(4, highest) + 1;
    p->panel.height = highest > 12 ? HEIGHT : 200;
    set_title(p, r, point, "What each network predicts");
    snprintf(p->caption, sizeof p->caption,
             "Each dot is %s trained on all rows, from %.4g to %.4g; the wider they lie, the more retraining would "
             "change the answer.",
             each > 1 ? pictures_text(set, "%td networks", each) : "one network", lo, hi);
    snprintf(p->describe, sizeof p->describe, "Dots of the predictions of %td networks, and a line at their mean %.6g.",
             m, at->prediction);
}

/* ---- EV from the first members ---- */

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

static void draw_ev(pictures *set, const epiq_result *r, const report_run *run, ptrdiff_t point)
{
    const epiq_point *at = &r->points[point];
    ptrdiff_t m = at->member_count, count = m - 1 < EV_MAX ? m - 1 : EV_MAX;
    bool drawn = at->procedural.known && at->procedural.method == EPIQ_BY_EV && m > 2;
    picture *p = drawn ? add(set, PICTURE_EV, r, point, "members-ev") : NULL;
    double *a[4];
    svg_series *s = p && pictures_columns(set, count, 4, a) ? pictures_series(set, p, 1) : NULL;
    svg_rule *rule = s ? pictures_room(set, 1, sizeof *rule) : NULL;
    const char *name = pictures_text(set, "EV with its %.4g %% interval", 100 * run->options->level);
    if (!rule || !name) {
        return;
    }
    double *x = a[0], *y = a[1], *lo = a[2], *hi = a[3];
    for (ptrdiff_t i = 0; i < count; i++) {
        ptrdiff_t k = 2 + (ptrdiff_t)llround((double)i * (double)(m - 2) / (double)(count - 1));
        epiq_part part = k == m ? at->procedural : ev_of_first(at->members, k, run->options->level);
        x[i] = (double)k;
        y[i] = part.known ? part.variance : NAN;
        lo[i] = part.has_interval ? part.lo : NAN;
        hi[i] = report_upper(&part);
        if (k >= 4 || m < 6) { /* the first intervals reach over decades, and would press all others flat */
            p->panel.y_lo = lo[i] > 0 && (lo[i] < p->panel.y_lo || !(p->panel.y_lo > 0)) ? lo[i] : p->panel.y_lo;
            p->panel.y_hi = fmax(p->panel.y_hi, hi[i]);
        }
    }
    s[0] = (svg_series){.name = name, .kind = SVG_LINE, .look = 1, .count = count, .x = x, .y = y, .lo = lo, .hi = hi};
    p->panel.series_count = 1;
    if (at->infinite.known) {
        *rule = (svg_rule){at->infinite.variance, false, "infinitely wide networks"};
        p->panel.rules = rule;
        p->panel.rule_count = 1;
        p->panel.y_hi = fmax(p->panel.y_hi, at->infinite.variance);
        p->panel.y_lo = fmin(p->panel.y_lo, at->infinite.variance);
    }
    p->panel.y_lo /= 1.1;
    p->panel.y_hi *= 1.1;
    p->panel.log_y = true;
    p->panel.x_name = "members";
    p->panel.y_name = "procedural variance";
    set_title(p, r, point, "Were there enough members?");
    snprintf(p->caption, sizeof p->caption,
             "The procedural variance from the first 2, 3, … members: once the line stays level inside a narrow band, "
             "more members would tell little new about it.");
    snprintf(p->describe, sizeof p->describe, "A line with a band over the number of members, ending at %.4g for %td.",
             at->procedural.variance, m);
}

/* ---- influential rows ---- */

static void draw_influential(pictures *set, const epiq_result *r, const report_run *run, ptrdiff_t point)
{
    enum { MOST = 30 };
    const epiq_point *at = &r->points[point];
    ptrdiff_t count = at->influential_count < MOST ? at->influential_count : MOST;
    picture *p = count ? add(set, PICTURE_INFLUENTIAL, r, point, "influential") : NULL;
    double *a[4];
    svg_series *s = p && pictures_columns(set, count, 4, a) ? pictures_series(set, p, 1) : NULL;
    svg_rule *rule = s ? pictures_room(set, 1, sizeof *rule) : NULL;
    const char **names = rule ? pictures_room(set, count, sizeof *names) : NULL;
    if (!names) {
        return;
    }
    double *x = a[0], *y = a[1], *lo = a[2], *hi = a[3];
    for (ptrdiff_t i = 0; i < count; i++) {
        names[i] = pictures_text(set, "row %td", at->influential[i].row);
        x[i] = at->influential[i].influence;
        y[i] = (double)i;
        lo[i] = fmin(0, x[i]);
        hi[i] = fmax(0, x[i]);
        if (!names[i]) {
            return;
        }
    }
    *rule = (svg_rule){0, true, NULL};
    s[0] = (svg_series){.kind = SVG_BARS, .look = 2, .count = count, .x = x, .y = y, .lo = lo, .hi = hi};
    p->panel.series_count = 1;
    p->panel.rules = rule;
    p->panel.rule_count = 1;
    p->panel.rows = names;
    p->panel.row_count = (int)count;
    p->panel.x_name = pictures_text(set, "change of predicted %s", run->data.target);
    set_title(p, r, point, "Rows that matter most");
    snprintf(
        p->caption, sizeof p->caption,
        "How far the prediction would move if a row were deleted: check the rows with the longest bars for mistakes "
        "first.");
    snprintf(p->describe, sizeof p->describe,
             "Bars for the %td rows that move the prediction most, the strongest first.", count);
}

void report_point_pictures(pictures *set, const epiq_result *r, const report_run *run, ptrdiff_t point)
{
    draw_parts(set, r, run, point);
    draw_members(set, r, run, point);
    draw_ev(set, r, run, point);
    draw_influential(set, r, run, point);
}

pictures *report_estimate_pictures(const epiq_result *r, const report_run *run)
{
    pictures *set = pictures_new();
    for (ptrdiff_t i = 0; set && i < r->point_count && i < ESTIMATE_DETAILED; i++) {
        report_point_pictures(set, r, run, i);
    }
    if (set) {
        report_table_pictures(set, r, run);
    }
    if (set && pictures_failed(set)) {
        pictures_free(set);
        set = NULL;
    }
    return set;
}
