/* study_pictures.c - what a study's page draws, out of its cells and figures, with svg.h.
 * Memory that cannot be had costs the picture, never the page: the numbers are in the tables.
 */

#include "report/study_table.h"
#include <math.h>
#include <string.h>

enum { PANEL_WIDTH = 330, PANEL_HEIGHT = 300, FIGURE_WIDTH = 400, FIGURE_HEIGHT = 280 };

enum { COVERAGES = 3 }; /* kind of these pictures; those of a part have its number */

/* The panels of a kind under one caption, then the legend of the last. */
static void put_panels(doc *d, int kind, const char *caption, const char *tag)
{
    if (d->set.failed) return;
    doc_figure_open(d, NULL, caption);
    doc_panels(d, kind, tag);
    svg_legend(d->out, &d->set.last->panel);
    doc_page(d, "</figure>\n");
}

/* ---- a part against its truth ---- */

enum { TRUTH, ESTIMATE, PRINTED, PAPER_TRUTH, PAPER_ESTIMATE, PART_SERIES };

#define MEMBER(member) offsetof(study_cell, member)
static const struct {
    layout_source from;
    size_t at;
} SHOWN[PART_SERIES] = {[TRUTH] = {FROM_ROW, MEMBER(truth)},
                        [ESTIMATE] = {FROM_USUAL, MEMBER(estimate)},
                        [PRINTED] = {FROM_PRINTED, MEMBER(estimate)},
                        [PAPER_TRUTH] = {FROM_ROW, MEMBER(published_truth)},
                        [PAPER_ESTIMATE] = {FROM_PUBLISHED, MEMBER(published)}};

static void push_row(const ink *a, int k, const layout *t, const study_cell *row)
{
    const study_cell *c = layout_source_cell(t, row, SHOWN[k].from);
    const study_number v = c ? layout_number(c, SHOWN[k].at) : (study_number){NAN, NAN};
    const double y = v.value, wide = isfinite(v.se) ? 2 * v.se : NAN;
    if (y > 0 && isfinite(y)) ink_add(a, (double)row->d, y, y - wide, y + wide); /* the axis is logarithmic */
}

/* All rows with the n of the first. */
static void fill_part(picture *p, const layout *t, const study_cell *first)
{
    static const char *const METHODS[] = {"EV", "IF", "BA"};
    /* the paper's IF is the one it prints, and is drawn beside it */
    static const int LOOKS[][PART_SERIES] = {{0, 1, 2, 0, 1}, {0, 1, 2, 0, 2}};
    static const double SHIFTS[][PART_SERIES] = {{-11, 3, 0, -4, 10}, {-14, 0, 7, -7, 14}};
    const int influence = t->part == 1;
    const char *method = METHODS[t->part],
               *names[] = {"truth, ± 2 standard errors",
                           same_text(first->method, "infinite") ? "at infinite width" : method, "IF as printed",
                           "truth in the paper", picture_text(p, "%s in the paper", method)};
    for (int k = 0; k < PART_SERIES; k++) {
        const ink a = picture_ink(p, SVG_MARKS, names[k], LOOKS[influence][k], t->r->cell_count, k <= PRINTED);
        a.series->hollow = k > PRINTED;
        a.series->shift = SHIFTS[influence][k];
        for (const study_cell *row = NULL; (row = layout_next(t, row));) {
            if (row->n == first->n) push_row(&a, k, t, row);
        }
        p->panel.series_count -= !p->set->failed && !a.series->count;
    }
}

/* Both ends over all n, so that the panels can be compared. */
static void see_points(const picture *p, double *lo, double *hi)
{
    for (ptrdiff_t k = 0; k < p->panel.series_count; k++) {
        const svg_series *s = &p->series[k];
        for (ptrdiff_t i = 0; i < s->count; i++) {
            double low = s->lo && s->lo[i] > 0 ? s->lo[i] : s->y[i], high = s->hi && s->hi[i] > 0 ? s->hi[i] : s->y[i];
            *lo = *lo > 0 && *lo < low ? *lo : low;
            *hi = *hi > high ? *hi : high;
        }
    }
}

static bool first_with_n(const layout *t, const study_cell *row)
{
    const study_cell *other = layout_next(t, NULL);
    while (other->n != row->n) {
        other = layout_next(t, other);
    }
    return other == row;
}

/* Ticks where there are data: every d, rising. */
static int list_ticks(const layout *t, double *ticks)
{
    int count = 0;
    for (const study_cell *row = NULL; (row = layout_next(t, row));) {
        int k = 0;
        while (k < count && ticks[k] < (double)row->d) {
            k++;
        }
        if (k == count || ticks[k] != (double)row->d) {
            memmove(ticks + k + 1, ticks + k, (size_t)(count++ - k) * sizeof *ticks);
            ticks[k] = (double)row->d;
        }
    }
    return count;
}

static picture *add_part(doc *d, ptrdiff_t item, const layout *t, const study_cell *first)
{
    static const char *const PARTS[] = {"procedural", "data", "ensemble"};
    const phrase name = phrase_of("%s-variance-n-%td", PARTS[t->part], first->n);
    picture *p = pictures_add(&d->set, t->part, item, name.text, t->title);
    fill_part(p, t, first);
    picture_axes(p, PANEL_WIDTH, PANEL_HEIGHT, "d", "variance");
    p->panel.title = picture_text(p, "n = %td", first->n);
    p->panel.log_x = p->panel.log_y = true;
    p->panel.describe = picture_text(p,
                                     "Marks by number of features for n = %td: the truth and its estimate with error "
                                     "bars, published values hollow. The numbers are in the table below.",
                                     first->n);
    return p;
}

void draw_part(doc *d, const layout *t)
{
    double *ticks = pictures_room(&d->set, t->r->cell_count, sizeof *ticks), lo = 0, hi = 0;
    const int tick_count = ticks ? list_ticks(t, ticks) : 0;
    ptrdiff_t count = 0;
    for (const study_cell *row = NULL; (row = layout_next(t, row));) {
        if (first_with_n(t, row)) see_points(add_part(d, count++, t, row), &lo, &hi);
    }
    for (picture *p = d->set.first; p; p = p->next) {
        if (p->kind != t->part) continue;
        p->panel.x_ticks = ticks;
        p->panel.x_tick_count = tick_count;
        p->panel.y_lo = lo / 1.15;
        p->panel.y_hi = hi * 1.15;
        if (tick_count && ticks[0] > 0) { /* the same for every n, and room for marks that are shifted */
            p->panel.x_lo = ticks[0] / 1.5;
            p->panel.x_hi = ticks[tick_count - 1] * 1.5;
        }
    }
    put_panels(d, t->part, "Estimates beside the truth, by the number of features d; both axes are logarithmic.",
               "div class=\"panels\"");
}

/* ---- coverage ---- */

/* What may tell one row from another. */
enum { BY_CELL, BY_SET, BY_N, BY_D, BY_NOISE, BY_MEMBERS, BY_QUANTITY, BY_METHOD, BY_CORRECTION, BY_ALL };
enum { THE_METHOD = 1 << BY_QUANTITY | 1 << BY_METHOD | 1 << BY_CORRECTION };
static const struct {
    const char *name;
    bool count;
    size_t at; /* of a count or a text in study_cell */
} TRAITS[BY_ALL] = {{"", false, MEMBER(cell)},     {"set ", false, MEMBER(set)}, {"n ", true, MEMBER(n)},
                    {"d ", true, MEMBER(d)},       {"", false, MEMBER(noise)},   {"m ", true, MEMBER(members)},
                    {"", false, MEMBER(quantity)}, {"", false, MEMBER(method)},  {"", false, MEMBER(correction)}};

static bool same_trait(const study_cell *a, const study_cell *b, int trait)
{
    const size_t at = TRAITS[trait].at;
    return TRAITS[trait].count ? layout_count(a, at) == layout_count(b, at)
                               : same_text(layout_text(a, at), layout_text(b, at));
}

/* Of points of several kinds the picture shows all together. */
static bool covered(const study_cell *c)
{
    return (!c->at || same_text(c->at, "all")) && (isfinite(c->coverage.rate) || isfinite(c->coverage90.rate));
}

static bool same_method(const study_cell *a, const study_cell *b)
{
    return same_trait(a, b, BY_QUANTITY) && same_trait(a, b, BY_METHOD) && same_trait(a, b, BY_CORRECTION);
}

/* The traits of the mask (1 << BY_CELL, ..), those that are known. */
static const char *name_of(picture *p, const study_cell *c, int mask)
{
    const char *name = "";
    for (int k = 0; k < BY_ALL; k++) {
        const bool counted = TRAITS[k].count;
        const ptrdiff_t count = counted ? layout_count(c, TRAITS[k].at) : 0;
        const char *text = counted ? "" : layout_text(c, TRAITS[k].at), *comma = *name ? ", " : "";
        if (!(mask & 1 << k) || !(counted ? count != 0 : text != NULL)) continue;
        name = picture_text(p, counted ? "%s%s%s%s%td" : "%s%s%s%s", name, comma, TRAITS[k].name, text, count);
    }
    return name;
}

/* One panel: the coverages of one method, or of all where every method has but one. */
static void draw_coverage(doc *d, ptrdiff_t item, const study_result *r, const study_cell *like, int varying)
{
    static const svg_rule RULES[] = {{95, true, "95 % and 90 %"}, {90, true, NULL}};
    const ptrdiff_t most = r->cell_count;
    const bool together = varying & THE_METHOD;
    picture *p = pictures_add(&d->set, COVERAGES, item, "coverage", "Coverage of the truth");
    const char **names = pictures_room(&d->set, most, sizeof *names);
    const ink a[] = {picture_ink(p, SVG_MARKS, "95 % intervals", 0, most, true),
                     picture_ink(p, SVG_MARKS, "90 % intervals", 1, most, true)};
    if (d->set.failed) return;
    picture_axes(p, together ? FIGURE_WIDTH : PANEL_WIDTH, 0, "coverage, %", NULL);
    p->panel.x_lo = 84; /* each panel has its own scale: where one method fails, the others would shrink to nothing */
    p->panel.x_hi = 100.5;
    for (const study_cell *c = r->cells; c < r->cells + most; c++) {
        if (!covered(c) || !(together || same_method(c, like))) continue;
        const int row = p->panel.row_count++;
        const study_rate rates[] = {c->coverage, c->coverage90};
        names[row] = name_of(p, c, varying);
        for (int k = 0; k < 2; k++) {
            const double low = isfinite(rates[k].lo) ? rates[k].lo : rates[k].rate;
            ink_add(&a[k], 100 * rates[k].rate, row, 100 * rates[k].lo, 100 * rates[k].hi);
            p->panel.x_lo = 100 * low - 1 < p->panel.x_lo ? 100 * low - 1 : p->panel.x_lo;
        }
    }
    a[0].series->shift = -4;
    a[1].series->shift = 4;
    a[1].series->hollow = true;
    p->panel.rows = names;
    p->panel.rules = RULES;
    p->panel.rule_count = 2;
    p->panel.name = NULL; /* of label and title */
    p->panel.title = together ? NULL : name_of(p, like, THE_METHOD);
    p->panel.describe = "Marks with Wilson intervals beside the nominal levels; the numbers are in the table below.";
}

/* The traits in which rows differ; all of them where every panel of one method would have one row, which says little. */
static int find_varying(const study_result *r, const study_cell *first)
{
    static const int USUAL[] = {BY_SET, BY_N, BY_D, BY_NOISE};
    ptrdiff_t methods = 0, rows = 0;
    int varying = 0;
    for (const study_cell *c = r->cells; c < r->cells + r->cell_count; c++) {
        if (!covered(c)) continue;
        for (int k = 0; k < 4; k++) {
            varying |= !same_trait(c, first, USUAL[k]) << USUAL[k];
        }
        bool known = false;
        for (const study_cell *b = r->cells; b < c; b++) {
            const bool like = covered(b) && same_method(b, c);
            known = known || like;
            varying |= (like && !same_trait(b, c, BY_MEMBERS)) << BY_MEMBERS;
        }
        methods += !known;
        rows++;
    }
    varying = first->cell ? 1 << BY_CELL /* a name that says all of it */ : varying ? varying : 1 << BY_N | 1 << BY_D;
    return rows < 2 * methods ? varying | THE_METHOD : varying;
}

void draw_coverages(doc *d, const study_result *r)
{
    const study_cell *first = r->cells, *end = r->cells + r->cell_count;
    while (first < end && !covered(first)) {
        first++;
    }
    if (first == end) return;
    ptrdiff_t count = 0;
    const int varying = find_varying(r, first);
    const bool together = varying & THE_METHOD;
    for (const study_cell *c = first; c < end; c++) {
        bool seen = !covered(c) || (together && c != first);
        for (const study_cell *b = first; b < c && !seen; b++) {
            seen = covered(b) && same_method(b, c);
        }
        if (!seen) draw_coverage(d, count++, r, c, varying);
    }
    put_panels(d, COVERAGES,
               "How often, in %, the intervals held the truth, with Wilson’s 95 % interval of each rate; dashed: the "
               "levels that were promised. Every panel has its own scale.",
               together ? "div" : "div class=\"panels\"");
}

/* ---- figures ---- */

void draw_study_figure(doc *d, const study_figure *f)
{
    svg_series *series = pictures_room(&d->set, f->line_count, sizeof *series);
    if (!series) return;
    for (ptrdiff_t i = 0; i < f->line_count; i++) {
        const study_line *l = &f->lines[i];
        const svg_kind kind = l->marks ? SVG_MARKS : SVG_LINE;
        series[i] = (svg_series){.name = l->name,
                                 .kind = kind,
                                 .look = (int)(i % SVG_COLOURS),
                                 .count = l->count,
                                 .x = l->x,
                                 .y = l->y,
                                 .lo = l->lo,
                                 .hi = l->hi};
    }
    const phrase describe = phrase_of("%td line%s or sets of marks; the numbers are in the table below the figure.",
                                      f->line_count, plural(f->line_count));
    doc_figure(d, f->title, f->caption,
               &(svg_panel){.label = f->title,
                            .describe = describe.text,
                            .x_name = f->x_name,
                            .y_name = f->y_name,
                            .log_x = f->log_x,
                            .log_y = f->log_y,
                            .width = FIGURE_WIDTH,
                            .height = FIGURE_HEIGHT,
                            .series = series,
                            .series_count = f->line_count});
}
