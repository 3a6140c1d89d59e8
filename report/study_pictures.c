/* study_pictures.c - what a study's page draws, out of its cells and figures, with svg.h.
 * Memory that cannot be had costs the picture, never the page: the numbers are in the tables.
 */
#include "report/study_pictures.h"
#include "report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PANEL_WIDTH = 330, PANEL_HEIGHT = 300, FIGURE_WIDTH = 400, FIGURE_HEIGHT = 280 };

/* ---- a part against its truth ---- */

typedef enum { TRUTH, ESTIMATE, PRINTED, PAPER_TRUTH, PAPER_ESTIMATE, PART_SERIES } part_series;

typedef struct {
    double *x, *y, *lo, *hi;
    ptrdiff_t count;
} points;

static void push(points *s, double x, double y, double se)
{
    if (y > 0 && isfinite(y)) { /* the axis is logarithmic */
        bool bar = isfinite(se);
        s->x[s->count] = x;
        s->y[s->count] = y;
        s->lo[s->count] = bar ? y - 2 * se : NAN;
        s->hi[s->count++] = bar ? y + 2 * se : NAN;
    }
}

static void push_row(points *all, const report_table *t, const study_cell *row)
{
    const study_cell *u = report_study_usual(t, row), *p = report_study_printed(t, row);
    double d = (double)row->d;
    push(&all[TRUTH], d, row->truth, row->truth_se);
    push(&all[PAPER_TRUTH], d, row->published_truth, NAN);
    if (u) {
        push(&all[ESTIMATE], d, u->estimate, u->estimate_se);
    }
    if (p) {
        push(&all[PRINTED], d, p->estimate, p->estimate_se);
    }
    push(&all[PAPER_ESTIMATE], d, p && isfinite(p->published) ? p->published : u ? u->published : NAN, NAN);
}

/* Both ends over all n, so that the panels can be compared. */
static void see_points(const points *all, double *lo, double *hi)
{
    for (int k = 0; k < PART_SERIES; k++) {
        for (ptrdiff_t i = 0; i < all[k].count; i++) {
            double low = all[k].lo[i] > 0 ? all[k].lo[i] : all[k].y[i];
            double high = all[k].hi[i] > 0 ? all[k].hi[i] : all[k].y[i];
            *lo = *lo > 0 && *lo < low ? *lo : low;
            *hi = *hi > high ? *hi : high;
        }
    }
}

static void fill_panel(svg_panel *p, svg_series *series, points *all, const report_table *t, const study_cell *first)
{
    bool infinite = report_same(first->method, "infinite");
    static const char *const NAMES[][PART_SERIES] = {
        {"truth, ± 2 standard errors", "EV", NULL, "truth in the paper", "EV in the paper"},
        {"truth, ± 2 standard errors", "IF", "IF as printed", "truth in the paper", "IF in the paper"},
        {"truth, ± 2 standard errors", "BA", NULL, "truth in the paper", "BA in the paper"}};
    /* the paper's IF is the one it prints, and stands beside it */
    static const int LOOKS[][PART_SERIES] = {{0, 1, 2, 0, 1}, {0, 1, 2, 0, 2}, {0, 1, 2, 0, 1}};
    static const double SHIFTS[][PART_SERIES] = {{-11, 3, 0, -4, 10}, {-14, 0, 7, -7, 14}, {-11, 3, 0, -4, 10}};
    for (int k = 0; k < PART_SERIES; k++) {
        all[k].count = 0;
    }
    for (const study_cell *row = NULL; (row = report_table_next(t, row));) {
        if (row->n == first->n) {
            push_row(all, t, row);
        }
    }
    p->series_count = 0;
    for (int k = 0; k < PART_SERIES; k++) {
        if (all[k].count) {
            bool bars = k <= PRINTED;
            const points *a = &all[k];
            series[p->series_count++] =
                (svg_series){.name = infinite && k == ESTIMATE ? "at infinite width" : NAMES[t->part][k],
                             .kind = SVG_MARKS,
                             .look = LOOKS[t->part][k],
                             .hollow = !bars,
                             .shift = SHIFTS[t->part][k],
                             .count = a->count,
                             .x = a->x,
                             .y = a->y,
                             .lo = bars ? a->lo : NULL,
                             .hi = bars ? a->hi : NULL};
        }
    }
}

static bool first_with_n(const report_table *t, const study_cell *row)
{
    const study_cell *other = report_table_next(t, NULL);
    while (other->n != row->n) {
        other = report_table_next(t, other);
    }
    return other == row;
}

void report_part_picture(FILE *out, svg_album *album, const report_table *t)
{
    size_t rows = (size_t)t->r->cell_count;
    double *pool = calloc(rows * (4 * PART_SERIES + 1), sizeof *pool);
    if (!pool) {
        page_no_picture(album);
        return;
    }
    points all[PART_SERIES];
    double *ticks = pool + rows * 4 * PART_SERIES, lo = 0, hi = 0;
    for (size_t k = 0; k < PART_SERIES; k++) {
        double *a = pool + 4 * k * rows;
        all[k] = (points){a, a + rows, a + 2 * rows, a + 3 * rows, 0};
    }
    svg_series series[PART_SERIES];
    svg_panel p = {.label = t->title,
                   .x_name = "d",
                   .y_name = "variance",
                   .log_x = true,
                   .log_y = true,
                   .width = PANEL_WIDTH,
                   .height = PANEL_HEIGHT,
                   .series = series,
                   .x_ticks = ticks};
    for (const study_cell *row = NULL; (row = report_table_next(t, row));) { /* ticks where there are data */
        int k = 0;
        while (k < p.x_tick_count && ticks[k] < (double)row->d) {
            k++;
        }
        if (k == p.x_tick_count || ticks[k] != (double)row->d) {
            memmove(ticks + k + 1, ticks + k, (size_t)(p.x_tick_count++ - k) * sizeof *ticks);
            ticks[k] = (double)row->d;
        }
        fill_panel(&p, series, all, t, row);
        see_points(all, &lo, &hi);
    }
    p.y_lo = lo / 1.15;
    p.y_hi = hi * 1.15;
    if (p.x_tick_count && ticks[0] > 0) { /* the same for every n, and room for marks that stand aside */
        p.x_lo = ticks[0] / 1.5;
        p.x_hi = ticks[p.x_tick_count - 1] * 1.5;
    }
    page_figure_open(out, NULL, "Estimates beside the truth, by the number of features d; both axes are logarithmic.");
    fputs("<div class=\"panels\">\n", out);
    for (const study_cell *row = NULL; (row = report_table_next(t, row));) {
        if (first_with_n(t, row)) {
            static const char *const PARTS[] = {"procedural", "data", "ensemble"};
            char name[64], title[40], describe[200];
            snprintf(name, sizeof name, "%s-variance-n-%td", PARTS[t->part], row->n);
            snprintf(title, sizeof title, "n = %td", row->n);
            snprintf(describe, sizeof describe,
                     "Marks by number of features for n = %td: the truth and its estimate with error bars, published "
                     "values hollow. The numbers are in the table below.",
                     row->n);
            fill_panel(&p, series, all, t, row);
            p.name = name;
            p.title = title;
            p.describe = describe;
            page_panel(out, album, &p);
        }
    }
    fputs("</div>\n", out);
    svg_legend(out, &p);
    page_figure_close(out);
    free(pool);
}

/* ---- coverage ---- */

typedef struct {
    bool cell, set, n, d, noise, members, method; /* what tells one row from another */
} varying;

/* Of points of several kinds the picture shows all together. */
static bool covered(const study_cell *c)
{
    return (!c->at || report_same(c->at, "all")) && (isfinite(c->coverage.rate) || isfinite(c->coverage90.rate));
}

static bool same_method(const study_cell *a, const study_cell *b)
{
    return report_same(a->quantity, b->quantity) && report_same(a->method, b->method) &&
           report_same(a->correction, b->correction);
}

static void put_word(char *text, size_t size, const char *name, const char *value, ptrdiff_t count)
{
    size_t used = strlen(text);
    const char *comma = used ? ", " : "";
    if (value) {
        snprintf(text + used, size - used, "%s%s%s", comma, name, value);
    } else if (count) {
        snprintf(text + used, size - used, "%s%s%td", comma, name, count);
    }
}

typedef struct {
    char text[72];
} row_name;

static row_name name_of(const study_cell *c, varying v)
{
    row_name name = {""};
    put_word(name.text, sizeof name, "", v.cell ? c->cell : NULL, 0);
    put_word(name.text, sizeof name, "set ", v.set ? c->set : NULL, 0);
    put_word(name.text, sizeof name, "n ", NULL, v.n ? c->n : 0);
    put_word(name.text, sizeof name, "d ", NULL, v.d ? c->d : 0);
    put_word(name.text, sizeof name, "", v.noise ? c->noise : NULL, 0);
    put_word(name.text, sizeof name, "m ", NULL, v.members ? c->members : 0);
    put_word(name.text, sizeof name, "", v.method ? c->quantity : NULL, 0);
    put_word(name.text, sizeof name, "", v.method ? c->method : NULL, 0);
    put_word(name.text, sizeof name, "", v.method ? c->correction : NULL, 0);
    return name;
}

/* One panel: the coverages of one method, or of all where every method has but one. */
typedef struct {
    row_name *names;
    const char **rows;
    double *pool; /* 2 series of x, y, lo, hi */
} coverage_room;

static void draw_coverage(FILE *out, svg_album *album, const study_result *r, const study_cell *like, varying v,
                          coverage_room room, svg_series *series, svg_panel *p)
{
    double *a[8];
    for (int k = 0; k < 8; k++) {
        a[k] = room.pool + k * r->cell_count;
    }
    p->row_count = 0;
    p->x_lo = 84; /* each panel has its own scale: where one method fails, the others would shrink to nothing */
    p->x_hi = 100.5;
    for (ptrdiff_t i = 0; i < r->cell_count; i++) {
        const study_cell *c = &r->cells[i];
        if (covered(c) && (v.method || same_method(c, like))) {
            int row = p->row_count++;
            study_rate rates[] = {c->coverage, c->coverage90};
            room.names[row] = name_of(c, v);
            room.rows[row] = room.names[row].text;
            for (int k = 0; k < 2; k++) {
                a[4 * k][row] = 100 * rates[k].rate;
                a[4 * k + 1][row] = row;
                a[4 * k + 2][row] = 100 * rates[k].lo;
                a[4 * k + 3][row] = 100 * rates[k].hi;
                double low = isfinite(rates[k].lo) ? rates[k].lo : rates[k].rate;
                p->x_lo = 100 * low - 1 < p->x_lo ? 100 * low - 1 : p->x_lo;
            }
        }
    }
    for (int k = 0; k < 2; k++) {
        double *const *b = &a[4 * k];
        series[k] = (svg_series){.name = k ? "90 % intervals" : "95 % intervals",
                                 .kind = SVG_MARKS,
                                 .look = k,
                                 .hollow = k == 1,
                                 .shift = k ? 4 : -4,
                                 .count = p->row_count,
                                 .x = b[0],
                                 .y = b[1],
                                 .lo = b[2],
                                 .hi = b[3]};
    }
    row_name title = name_of(like, (varying){.method = true});
    p->title = v.method ? NULL : title.text;
    page_panel(out, album, p);
    p->title = NULL;
}

static varying find_varying(const study_result *r, const study_cell *first, ptrdiff_t *methods, ptrdiff_t *rows)
{
    varying v = {0};
    for (ptrdiff_t i = 0; i < r->cell_count; i++) {
        const study_cell *c = &r->cells[i];
        if (!covered(c)) {
            continue;
        }
        v.set |= !report_same(c->set, first->set);
        v.n |= c->n != first->n;
        v.d |= c->d != first->d;
        v.noise |= !report_same(c->noise, first->noise);
        bool known = false;
        for (const study_cell *b = r->cells; b < c; b++) {
            known = known || (covered(b) && same_method(b, c));
            v.members |= covered(b) && same_method(b, c) && b->members != c->members;
        }
        *methods += !known;
        ++*rows;
    }
    if (first->cell) { /* a name that says all of it */
        return (varying){.cell = true};
    }
    if (!v.set && !v.n && !v.d && !v.noise && !v.members) {
        v.n = v.d = true;
    }
    return v;
}

void report_coverage_picture(FILE *out, svg_album *album, const study_result *r)
{
    const study_cell *first = r->cells, *end = r->cells + r->cell_count;
    while (first < end && !covered(first)) {
        first++;
    }
    if (first == end) {
        return;
    }
    size_t count = (size_t)r->cell_count;
    coverage_room room = {calloc(count, sizeof *room.names), calloc(count, sizeof *room.rows),
                          calloc(8 * count, sizeof *room.pool)};
    ptrdiff_t methods = 0, rows = 0;
    varying v = find_varying(r, first, &methods, &rows);
    v.method = rows < 2 * methods; /* panels of one row would say little */
    svg_series series[2];
    static const svg_rule RULES[] = {{95, true, "95 % and 90 %"}, {90, true, NULL}};
    svg_panel p = {.label = "Coverage of the truth",
                   .x_name = "coverage, %",
                   .describe =
                       "Marks with Wilson intervals beside the nominal levels; the numbers are in the table below.",
                   .width = v.method ? FIGURE_WIDTH : PANEL_WIDTH,
                   .rows = room.rows,
                   .series = series,
                   .series_count = 2,
                   .rules = RULES,
                   .rule_count = 2};
    if (room.names && room.rows && room.pool) {
        page_figure_open(
            out, NULL,
            "How often, in %, the intervals held the truth, with Wilson’s 95 % interval of each rate; dashed: "
            "the levels that "
            "were promised. Every panel has its own scale.");
        fputs(v.method ? "<div>\n" : "<div class=\"panels\">\n", out);
        for (const study_cell *c = first; c < end; c++) {
            bool seen = !covered(c) || (v.method && c != first);
            for (const study_cell *b = first; b < c && !seen; b++) {
                seen = covered(b) && same_method(b, c);
            }
            if (!seen) {
                draw_coverage(out, album, r, c, v, room, series, &p);
            }
        }
        fputs("</div>\n", out);
        svg_legend(out, &p);
        page_figure_close(out);
    } else {
        page_no_picture(album);
    }
    free(room.names);
    free(room.rows);
    free(room.pool);
}

/* ---- figures ---- */

void report_figure_picture(FILE *out, svg_album *album, const study_figure *f)
{
    svg_series *series = calloc((size_t)f->line_count + 1, sizeof *series);
    char describe[160];
    if (!series) {
        page_no_picture(album);
        return;
    }
    for (ptrdiff_t i = 0; i < f->line_count; i++) {
        const study_line *l = &f->lines[i];
        series[i] = (svg_series){.name = l->name,
                                 .kind = l->marks ? SVG_MARKS : SVG_LINE,
                                 .look = (int)(i % SVG_COLOURS),
                                 .count = l->count,
                                 .x = l->x,
                                 .y = l->y,
                                 .lo = l->lo,
                                 .hi = l->hi};
    }
    snprintf(describe, sizeof describe, "%td line%s or sets of marks; the numbers are in the table below the figure.",
             f->line_count, f->line_count == 1 ? "" : "s");
    svg_panel p = {.label = f->title,
                   .describe = describe,
                   .x_name = f->x_name,
                   .y_name = f->y_name,
                   .log_x = f->log_x,
                   .log_y = f->log_y,
                   .width = FIGURE_WIDTH,
                   .height = FIGURE_HEIGHT,
                   .series = series,
                   .series_count = f->line_count};
    page_figure(out, album, f->title, f->caption, &p);
    free(series);
}
