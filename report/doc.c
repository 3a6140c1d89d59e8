/* doc.c - a report described once: paragraphs, tables, figures, warnings and the manifest, as text or as a page. */
#include "report/doc.h"
#include "common/spelling.h"
#include "common/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MAX = 600 }; /* points of a picture listed below it: more are not readable, and the files hold them */

void doc_text(FILE *out, const report_writers *w, const report_answer *a, const report_run *run, report_style style)
{
    w->describe(&(doc){.a = a, .r = a->result, .run = run, .out = out, .style = style});
}

void doc_html(FILE *out, const report_writers *w, const report_answer *a, const report_run *run, svg_album *album)
{
    doc d = {.a = a, .r = a->result, .run = run, .out = out, .page = true, .album = album};
    w->describe(&d);
    if (album && d.set.failed) album->incomplete = true;
    pictures_free(&d.set);
}

void doc_open(doc *d, const char *verb, const char *title, const char *answer)
{
    if (!d->page) return;
    html_open(d->out, title);
    doc_page(d, "<p class=\"kicker\">%s</p>\n<h1>%s</h1>\n", verb, title);
    doc_page_when(d, answer, "<p class=\"answer\">%s</p>\n", answer);
}

/* ---- paragraphs ---- */

void doc_sentence(doc *d, bool condition, const char *format, ...)
{
    char spelled[1024];
    va_list args;
    if (!condition) return;
    snprintf(spelled, sizeof spelled, "%s", format);
    epiqp_spell_options(spelled, d->run->spelling == EPIQ_SPELL_FLAG);
    va_start(args, format);
    text_vprint(d->out, d->page ? html_text : put_sanitized, spelled, args);
    va_end(args);
}

phrase number_markup(const char *name, double v, int digits)
{
    const epiqp_digits rounded = epiqp_rounded_to(v, digits);
    return isfinite(v) ? phrase_of("<b data-%s=\"%s\">%s</b>", name, number_text(v).text, rounded.text)
                       : phrase_of("<b>%s</b>", rounded.text);
}

void doc_put(doc *d, const char *colour, const char *text)
{
    if (!d->page && *text) {
        fprintf(d->out, "%*s", d->pending, "");
        d->pending = 0;
        fputs(colour && d->style.colour ? colour : "", d->out);
        put_sanitized(d->out, text);
        fputs(colour && d->style.colour ? "\033[0m" : "", d->out);
    }
}

void doc_end_line(doc *d)
{
    d->pending = 0;
    doc_say(d, "\n");
}

void doc_data(doc *d)
{
    const epiq_data_info *data = &d->run->data;
    option_buffer room;
    const char *engine = option_text(d->run->options, "engine", &room);
    doc_say(d, "%td row%s, %td feature%s, target %s; engine %s", data->rows, plural(data->rows), data->features,
            plural(data->features), data->target, engine ? engine : "?");
}

void doc_features(doc *d, ptrdiff_t point)
{
    const epiq_points *points = d->a->candidates;
    const char *comma = "";
    for (ptrdiff_t f = 0; f < d->run->data.features; f++) {
        const bool category = epiq_points_is_category(points, f);
        const double v = epiq_points_value(points, point, f);
        const epiqp_digits value = epiqp_rounded_plain(v);
        if (category && v == 0) continue;
        doc_say(d, "%s%s", comma, d->run->data.feature[f]);
        doc_when(d, !category || strcmp(value.text, "1") != 0, " %s", value.text);
        comma = ", ";
    }
    doc_say(d, "\n");
}

void doc_conclusion(doc *d, const char *colour, const char *head, const char *text)
{
    doc_put(d, colour, head);
    doc_say(d, " %s\n", text);
}

void doc_choice(doc *d)
{
    epiq_options ran = *d->run->options;
    ran.methods = d->r->ran->methods;
    option_buffer room;
    const char *methods = option_text(&ran, "methods", &room);
    doc_when(d, d->r->choice, "methods %s: %s\n", methods ? methods : "?", d->r->choice);
    doc_when(d, d->r->model_choice->known, "chosen: %s\n", d->r->model_choice->reason);
    doc_when(d, d->r->predictor_choice->known, "chosen: %s\n", d->r->predictor_choice->reason);
}

void doc_warnings(doc *d)
{
    const epiq_warning *w;
    if (!report_warning(d->a, 0)) return;
    doc_page(d, "<h2 id=\"warnings\">Warning%s</h2>\n<ul class=\"warnings\">\n", report_warning(d->a, 1) ? "s" : "");
    for (ptrdiff_t i = 0; (w = report_warning(d->a, i)); i++) {
        doc_page(d, "<li data-code=\"%s\">%s</li>\n", w->code, w->message);
        const bool plain = !d->a->plan && !d->a->comparison, /* an estimate, or a score */
            told = plain && (w->kind == EPIQ_W_NO_SKILL || (w->kind == EPIQ_W_OUTSIDE_DATA && !d->run->verbose));
        if (!told) doc_conclusion(d, YELLOW, "Warning:", w->message); /* others are sentences of the answer */
    }
    doc_page(d, "</ul>\n");
}

void doc_notes(doc *d)
{
    const epiq_warning *w;
    if (!report_note(d->a, 0)) return;
    doc_page(d, "<h2 id=\"notes\">Notes</h2>\n<ul>\n");
    for (ptrdiff_t i = 0; (w = report_note(d->a, i)); i++) {
        doc_page(d, "<li data-note=\"%s\">%s</li>\n", w->code, w->message);
        if (d->run->verbose || w->kind == EPIQ_W_TRAINING_ROWS) doc_conclusion(d, NULL, "Note:", w->message);
    }
    doc_page(d, "</ul>\n");
}

/* ---- tables ---- */

void doc_widen(doc_column *c, const char *text)
{
    const int width = text_width(text);
    if (width > abs(c->width)) c->width = c->width < 0 ? -width : width;
}

doc_cell cell_text(const char *text)
{
    return (doc_cell){.text = text ? text : "", .value = NAN, .se = NAN, .lo = NAN, .hi = NAN};
}

doc_cell cell_words(const char *format, ...)
{
    doc_cell cell = cell_number(NAN);
    va_list args;
    va_start(args, format);
    vsnprintf(cell.words, sizeof cell.words, format, args);
    va_end(args);
    return cell;
}

doc_cell cell_number(double v)
{
    return (doc_cell){.value = v, .se = NAN, .lo = NAN, .hi = NAN};
}

doc_cell cell_rounded(double v, epiqp_digits rounded)
{
    doc_cell cell = cell_number(v);
    if (isfinite(v)) snprintf(cell.words, sizeof cell.words, "%s", rounded.text);
    return cell;
}

doc_cell cell_sd(double sd)
{
    return cell_rounded(sd, epiqp_rounded_sd(sd));
}

doc_cell cell_part_sd(const epiq_part *p)
{
    return cell_sd(part_sd(p));
}

doc_cell cell_sd_interval(const epiq_part *p)
{
    doc_cell cell = cell_number(NAN);
    if (!p->known) return cell;
    cell = cell_words(p->has_interval ? "%.3g (%s)" : "%.3g", part_sd(p), sd_interval_text(p).text);
    cell.value = part_sd(p);
    cell.lo = sqrt(interval_lower(p));
    cell.hi = sqrt(interval_upper(p));
    return cell;
}

doc_cell cell_upper(const epiq_part *p)
{
    doc_cell cell = cell_text("open");
    cell.hint = "the upper end cannot be known";
    return p->known && p->has_interval && p->open ? cell : cell_number(interval_upper(p));
}

static const char *shown(const doc *d, const doc_column *c, const doc_cell *cell, char *room, size_t size)
{
    snprintf(room, size, "%s", !d->page && c->plain_digits ? "unknown" : "");
    if (isfinite(cell->value)) {
        snprintf(room, size, "%s", epiqp_rounded_to(cell->value, d->page ? c->digits : c->plain_digits).text);
    }
    return cell->text ? cell->text : *cell->words ? cell->words : room;
}

/* class="l fold", or nothing. */
static void put_class(FILE *out, int align, bool off)
{
    const char *left = off ? "off" : align & DOC_LEFT ? "l" : "", *fold = align & DOC_FOLD ? "fold" : "";
    if (*left || *fold) fprintf(out, " class=\"%s%s%s\"", left, *left && *fold ? " " : "", fold);
}

static void put_page_cell(const doc *d, const doc_column *c, const doc_cell *cell, bool bold)
{
    const char *tag = c->align & DOC_NAME ? "th" : "td";
    char room[40];
    fprintf(d->out, "<%s%s", tag, c->align & DOC_NAME ? " scope=\"row\"" : "");
    put_class(d->out, c->align, cell->off);
    html_value(d->out, c->name ? c->name : "value", cell->value);
    if (cell->hint || (!(c->align & DOC_NAME) && isfinite(cell->value))) {
        fprintf(d->out, " title=\"%s\"", cell->hint ? cell->hint : number_text(cell->value).text);
    }
    html_value(d->out, "se", cell->se);
    html_value(d->out, "lo", cell->lo);
    html_value(d->out, "hi", cell->hi);
    html_print(d->out, bold ? "><b>%s%-s</b></%-s>" : ">%s%-s</%-s>", shown(d, c, cell, room, sizeof room),
               cell->off ? "<abbr title=\"its Wilson interval excludes the nominal level\">*</abbr>" : "", tag);
}

static void put_text_cell(doc *d, const doc_column *c, const char *colour, const char *text)
{
    int space = abs(c->width) - text_width(text);
    space = space > 0 ? space : 0;
    d->pending += c->gap + (c->width > 0 ? space : 0);
    doc_put(d, colour, text);
    d->pending += c->width < 0 ? space : 0;
}

void doc_row_of(doc *d, bool bold, const char *attribute, const doc_cell *cells)
{
    const doc_table *t = d->table;
    char room[40];
    bool coloured = bold && !d->page && d->style.colour;
    doc_page(d, "<tr%s%-s>", attribute ? " " : "", attribute ? attribute : "");
    fputs(coloured ? BOLD : "", d->out);
    for (size_t k = 0; k < t->columns; k++) {
        const doc_column *c = &t->column[k];
        d->starred = d->starred || cells[k].off;
        if (d->page && c->head) {
            put_page_cell(d, c, &cells[k], bold && c->align & DOC_NAME);
        } else if (!d->page && c->plain) {
            put_text_cell(d, c, cells[k].off ? YELLOW : NULL, shown(d, c, &cells[k], room, sizeof room));
            doc_put(d, YELLOW, cells[k].off ? "*" : "");
            d->pending += c->star && !cells[k].off;
        }
    }
    fputs(coloured ? "\033[0m" : "", d->out);
    doc_page(d, "</tr>\n");
    doc_end_line(d);
}

void doc_table_open(doc *d, const doc_table *t)
{
    d->table = t;
    d->starred = false;
    doc_page(d,
             "<div class=\"box\" role=\"region\" tabindex=\"0\" aria-label=\"%s\"><table>\n<caption%-s>%s</caption>\n"
             "<thead><tr>",
             t->caption, t->caption_shown ? "" : " class=\"aside\"", t->caption);
    for (size_t k = 0; k < t->columns; k++) {
        const doc_column *c = &t->column[k];
        if (d->page && c->head) {
            fputs("<th scope=\"col\"", d->out);
            put_class(d->out, c->align, false);
            doc_page(d, ">%s</th>", c->head);
        } else if (!d->page && c->plain) {
            put_text_cell(d, c, t->bold ? BOLD : NULL, c->plain);
            d->pending += c->star;
        }
    }
    doc_page(d, "</tr></thead>\n<tbody>\n");
    doc_end_line(d);
}

void doc_group(doc *d)
{
    fputs(d->page ? "</tbody>\n<tbody>\n" : "\n", d->out);
}

void doc_table_close(doc *d)
{
    doc_page(d, "</tbody>\n</table></div>\n");
}

/* ---- pictures ---- */

static void open_figure(doc *d, const char *title, const char *caption, const char *more)
{
    doc_page(d, "<figure>\n<figcaption>");
    doc_page_when(d, title, "<b>%s</b>\n", title);
    doc_page(d, "%s%s</figcaption>\n", caption, more);
}

void doc_figure_open(doc *d, const char *title, const char *caption)
{
    open_figure(d, title, caption, "");
}

static void put_panel(const doc *d, const svg_panel *p)
{
    svg_draw(d->out, p);
    if (d->album && d->album->keep) d->album->keep(d->album, p);
}

void doc_panels(doc *d, int kind, const char *tag)
{
    const picture *p;
    doc_page(d, "<%-s>\n", tag);
    for (ptrdiff_t k = 0; (p = pictures_find(&d->set, kind, k)); k++) {
        put_panel(d, &p->panel);
    }
    doc_page(d, "</div>\n");
}

static void list_point(doc *d, const svg_panel *p, const svg_series *s, ptrdiff_t i)
{
    int row = p->rows ? (int)lround(s->y[i]) : -1;
    doc_row(d, false, NULL, cell_text(s->name), cell_text(row >= 0 && row < p->row_count ? p->rows[row] : NULL),
            cell_number(s->x[i]), cell_number(s->y[i]), cell_number(s->lo ? s->lo[i] : NAN),
            cell_number(s->hi ? s->hi[i] : NAN));
}

void doc_figure_numbers(doc *d, const char *title, const svg_panel *p)
{
    ptrdiff_t count = 0;
    bool named = false;
    for (ptrdiff_t k = 0; k < p->series_count; k++) {
        count += p->series[k].count;
        named = named || p->series[k].name;
    }
    if (!count || count > NUMBERS_MAX) return;
    const char *y = p->y_name ? p->y_name : p->rows ? "where" : "y";
    const doc_column columns[] = {{.head = named ? "what" : NULL, .align = DOC_LEFT | DOC_NAME},
                                  {.head = p->rows ? y : NULL, .align = DOC_LEFT | DOC_NAME},
                                  {.head = p->x_name ? p->x_name : "x", .digits = 5},
                                  {.head = p->rows ? NULL : y, .digits = 5},
                                  {.head = "from", .digits = 5},
                                  {.head = "to", .digits = 5}};
    html_print(d->out, "<details><summary>The numbers of %s</summary>\n", title ? title : "this figure");
    doc_table_open(d, &(doc_table){DOC_COLUMNS(columns), .caption = p->label ? p->label : "Numbers"});
    for (ptrdiff_t k = 0; k < p->series_count; k++) {
        if (k) doc_group(d);
        for (ptrdiff_t i = 0; i < p->series[k].count; i++) {
            list_point(d, p, &p->series[k], i);
        }
    }
    doc_table_close(d);
    fputs("</details>\n", d->out);
}

void doc_figure(doc *d, const char *title, const char *caption, const svg_panel *p)
{
    open_figure(d, title, caption, svg_has_arrows(p) ? " Where there is an arrow, the upper end cannot be known." : "");
    put_panel(d, p);
    svg_legend(d->out, p);
    doc_figure_numbers(d, NULL, p);
    fputs("</figure>\n", d->out);
}

bool doc_picture(doc *d, int kind, ptrdiff_t item)
{
    const picture *p = pictures_find(&d->set, kind, item);
    if (p) doc_figure(d, p->title, p->caption, &p->panel);
    return p;
}

/* ---- the run ---- */

static void put_pair(doc *d, const char *name, const char *value)
{
    doc_page(d, "<tr><th scope=\"row\" class=\"l\">%s</th><td class=\"l wide\">%s</td></tr>\n", name, value);
}

static void put_facts(doc *d, const field *facts)
{
    for (const field *f = facts; f->name; f++) {
        field_room room;
        const char *text = field_text(f, &room);
        if (text || field_shown_unknown(f)) put_pair(d, f->name, text ? text : "unknown");
    }
}

void doc_close(doc *d, const field *facts, const epiq_options *options)
{
    if (!d->page) return;
    const report_run *run = d->run;
    doc_heading(d, "How it was made");
    const doc_column columns[] = {{.head = "what", .align = DOC_LEFT}, {.head = "value", .align = DOC_LEFT}},
                     options_columns[] = {{.head = "option", .align = DOC_LEFT}, columns[1]};
    doc_table_open(d, &(doc_table){DOC_COLUMNS(columns), .caption = "Manifest of the run"});
    put_pair(d, "command", run->command);
    put_pair(d, "epiq", epiq_version());
    put_facts(d, facts);
    put_facts(d, FIELDS(FACT("seconds", isfinite(run->seconds) ? phrase_of("%.3f", run->seconds).text : "unknown"),
                        FACT("peak memory, MiB", phrase_of("%.1f", (double)run->peak_rss_bytes / 1048576).text),
                        FACT("machine", run->machine)));
    doc_table_close(d);
    if (options) {
        const epiq_option_info *info;
        fputs("<details><summary>All options</summary>\n", d->out);
        doc_table_open(d, &(doc_table){DOC_COLUMNS(options_columns), .caption = "Options that ran"});
        for (ptrdiff_t i = 0; (info = epiq_options_info(i)); i++) {
            option_buffer room;
            const char *text = option_text(options, info->name, &room);
            put_pair(d, info->name, text ? text : "not set");
        }
        doc_table_close(d);
        fputs("</details>\n", d->out);
    }
    html_close(d->out);
}
