/* study_doc.c - a study as text and as a page: what it is, its tables, aligned or with a picture to each, its figures, what to know
 * when reading them, and what it took. The numbers are those of the JSON.
 */
#include "report/manifest.h"
#include "report/study_table.h"

#include <string.h>

enum { WRAP = 100 }; /* columns of running text */

/* Words of a sentence, as many to a line as fit; later lines are indented like the first. */
static void put_wrapped(doc *d, const char *bullet, const char *text)
{
    int indent = text_width(bullet), column = indent;
    doc_put(d, NULL, bullet);
    while (*text) {
        char word[512];
        size_t bytes = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", (int)bytes, text);
        if (column > indent && column + 1 + text_width(word) > WRAP) {
            doc_end_line(d);
            d->pending = column = indent;
        } else if (column > indent) {
            d->pending++;
            column++;
        }
        doc_put(d, NULL, word);
        column += text_width(word);
        text += bytes;
        text += strspn(text, " ");
    }
    doc_end_line(d);
}

/* ---- tables ---- */

static void write_constants(doc *d, const layout *t)
{
    for (int k = 0; k < t->constants; k++) {
        const doc_cell cell = layout_constant(t, k);
        const char *head = t->constant[k]->head, *value = cell.text ? cell.text : cell.words;
        doc_page(d, k ? ", %s %s" : "<p class=\"small\">Throughout: %s %s", head, value);
        doc_say(d, k ? ", %s %s" : "Throughout: %s %s", head, value);
    }
    fputs(!t->constants ? "" : d->page ? ".</p>\n" : "\n", d->out);
}

static void write_rows(doc *d, const layout *t, const char *caption)
{
    doc_column columns[LAYOUT_COLUMNS];
    doc_cell cells[LAYOUT_COLUMNS];
    int name = DOC_NAME; /* the columns up to the first number name the row */
    for (int k = 0; k < t->columns; k++) {
        const layout_column *c = t->column[k];
        const int width = layout_width(t, k) - c->star;
        name &= c->align;
        columns[k] = (doc_column){.head = c->head,
                                  .plain = !t->utf8 && c->plain ? c->plain : c->head,
                                  .align = (c->align & DOC_LEFT) | name,
                                  .gap = k ? 2 : 0,
                                  .width = c->align & DOC_LEFT ? -width : width,
                                  .star = c->star};
    }
    const study_cell *before = NULL;
    doc_table_open(d, &(doc_table){(size_t)t->columns, columns, .caption = caption, .bold = true});
    for (const study_cell *row = NULL; (row = layout_next(t, row)); before = row) {
        if (layout_gap(t, row, before)) doc_group(d);
        for (int k = 0; k < t->columns; k++) {
            cells[k] = layout_cell(t, row, t->column[k]);
        }
        doc_row_of(d, false, NULL, cells);
    }
    doc_table_close(d);
}

static void write_table(doc *d, const layout *t, bool *coverages)
{
    const bool coverage = t->rows == ROWS_COVERAGE || t->rows == ROWS_ALL || t->rows == ROWS_SUMS;
    if (d->page) {
        doc_heading(d, *t->title ? t->title : "Results");
        if (t->rows == ROWS_PART) {
            draw_part(d, t);
        } else if (coverage && !*coverages) {
            draw_coverages(d, t->r);
            *coverages = true;
        }
    } else {
        doc_say(d, "\n");
        if (*t->title) {
            doc_put(d, BOLD, t->title);
            doc_end_line(d);
        }
        write_constants(d, t);
    }
    write_rows(d, t, *t->title ? t->title : t->r->title ? t->r->title : "Results");
    if (d->page) write_constants(d, t);
    doc_note_when(d, d->starred, "* The Wilson interval in brackets excludes the nominal level.");
}

static void write_tables(doc *d, const study_result *r)
{
    layout t;
    bool off = false, coverages = false;
    for (int i = 0; study_layout(r, d->page || d->style.blocks, i, &t); i++) {
        if (t.columns) {
            write_table(d, &t, &coverages);
            off = off || d->starred;
        }
    }
    doc_say(d, "\n");
    if (off) {
        doc_put(d, YELLOW, "*");
        doc_say(d, " the Wilson interval in brackets excludes the nominal level\n");
    }
    if (follows_paper(r)) {
        doc_note(d, "[paper] is what the paper prints, beside what it is about.");
        doc_say(d, "[paper] is what the paper prints, beside what it is about.\n");
    }
    if (has_paper_truth(r)) {
        doc_note(d, "“paper’s way” is the truth computed by the paper’s formula from these same networks.");
        doc_say(d, "\"paper's way\" is the truth computed by the paper's formula from these same networks.\n");
    }
}

static void write_head(doc *d, const study_result *r, const char *engine)
{
    const char *name = r->name ? r->name : "study";
    doc_open(d, phrase_of("epiq study %s", r->name ? r->name : "").text, r->title ? r->title : name, NULL);
    doc_put(d, BOLD, name);
    doc_say(d, "%s%s\n", r->title ? ": " : "", r->title ? r->title : "");
    doc_page(d, "<p>%td line%s of results", r->cell_count, plural(r->cell_count));
    doc_page_when(d, r->repetitions, " from %td repetition%s", r->repetitions, plural(r->repetitions));
    doc_page(
        d,
        ", made by epiq %s with the engine %s and seed %s. After ± stands one standard error; point at a number to "
        "see it in full.</p>\n",
        epiq_version(), engine ? engine : "unknown", phrase_of("%llu", (unsigned long long)r->options.seed).text);
}

static void write_notes(doc *d, const study_result *r)
{
    if (!r->note_count) return;
    doc_page(d, "<ul>\n");
    for (ptrdiff_t i = 0; i < r->note_count; i++) {
        doc_page(d, "<li>%s</li>\n", r->notes[i]);
        if (!d->page && r->notes[i] && *r->notes[i]) put_wrapped(d, "- ", r->notes[i]);
    }
    doc_page(d, "</ul>\n");
}

static void write_figures(doc *d, const study_result *r)
{
    if (d->page && r->figure_count) {
        doc_heading(d, r->figure_count == 1 ? "Figure" : "Figures");
        doc_page(d, "<div class=\"figures\">\n");
        for (ptrdiff_t i = 0; i < r->figure_count; i++) {
            draw_study_figure(d, &r->figures[i]);
        }
        doc_page(d, "</div>\n");
    }
}

static void describe(doc *d)
{
    const study_result *r = d->a->study;
    const ptrdiff_t threads = r->threads;
    option_buffer room;
    const char *engine = option_text(&r->options, "engine", &room);
    write_head(d, r, engine);
    if (d->page) write_notes(d, r);
    write_tables(d, r);
    if (!d->page) write_notes(d, r);
    write_figures(d, r);
    doc_say(d, "%td repetition%s", r->repetitions, plural(r->repetitions));
    doc_when(d, r->resumed, ", %td of them resumed", r->resumed);
    doc_say(d, "; %d thread%s, %.3g s\n", r->threads, plural(r->threads), d->run->seconds);
    doc_close(d,
              FIELDS(FIELD("seed", SEED, &r->options.seed), FIELD("engine", OPTION, &r->options),
                     FIELD("threads", COUNT, &threads), FIELD("repetitions", COUNT, &r->repetitions),
                     FIELD("of these resumed", COUNT, &r->resumed)),
              &r->options);
}

const report_writers STUDY_WRITERS = {study_json, NULL, describe};
