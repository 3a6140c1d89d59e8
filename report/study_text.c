/* study_text.c - a study on a terminal: its tables, aligned; what to know when reading them; what it took. */
#include "report/report.h"
#include "report/study_table.h"

#include <string.h>

enum { WRAP = 100 }; /* columns of running text */

typedef struct {
    FILE *out;
    report_style style;
    int pending; /* blanks not yet written, so that no line ends in them */
} page;

#define BOLD "\033[1m"
#define YELLOW "\033[33m"

static void put(page *g, const char *code, const char *text, int length)
{
    if (!*text) {
        return;
    }
    char piece[8] = "";
    fprintf(g->out, "%*s", g->pending, "");
    g->pending = 0;
    fputs(code && g->style.colour ? code : "", g->out);
    for (; length-- > 0 && *text;) { /* character by character: report_plain wants whole strings */
        size_t bytes = report_utf8(text);
        bytes = bytes ? bytes : 1;
        memcpy(piece, text, bytes);
        piece[bytes] = 0;
        report_plain(g->out, piece);
        text += bytes;
    }
    fputs(code && g->style.colour ? "\033[0m" : "", g->out);
}

static void put_all(page *g, const char *code, const char *text)
{
    put(g, code, text, report_columns(text));
}

static void end_line(page *g)
{
    g->pending = 0;
    putc('\n', g->out);
}

/* Words of a sentence, as many a line as fit; later lines are indented like the first. */
static void put_wrapped(page *g, const char *bullet, const char *text)
{
    int indent = report_columns(bullet), column = indent;
    put_all(g, NULL, bullet);
    while (*text) {
        size_t bytes = strcspn(text, " ");
        int word = 0;
        for (size_t i = 0; i < bytes; word++) {
            size_t step = report_utf8(text + i);
            i += step ? step : 1;
        }
        if (column > indent && column + 1 + word > WRAP) {
            end_line(g);
            g->pending = column = indent;
        } else if (column > indent) {
            g->pending++;
            column++;
        }
        put(g, NULL, text, word);
        column += word;
        text += bytes;
        text += strspn(text, " ");
    }
    end_line(g);
}

/* ---- tables ---- */

static void put_aligned(page *g, const char *code, const char *text, int width, bool left)
{
    int space = width - report_columns(text);
    g->pending += left ? 0 : space;
    put_all(g, code, text);
    g->pending += left || !*text ? space : 0;
    g->pending -= !left && !*text ? space : 0;
}

static void write_constants(page *g, const report_table *t)
{
    for (int k = 0; k < t->constants; k++) {
        report_cell cell = report_table_constant(t, k);
        put_all(g, NULL, k ? ", " : "Throughout: ");
        put_all(g, NULL, t->constant[k]->head);
        put_all(g, NULL, " ");
        put_all(g, NULL, cell.label ? cell.label : cell.text);
    }
    if (t->constants) {
        end_line(g);
    }
}

static void write_table(page *g, const report_table *t)
{
    int width[REPORT_COLUMNS_MAX] = {0};
    putc('\n', g->out);
    if (*t->title) {
        put_all(g, BOLD, t->title);
        end_line(g);
    }
    write_constants(g, t);
    for (int k = 0; k < t->columns; k++) {
        const report_column *c = t->column[k];
        width[k] = report_table_column_width(t, k);
        g->pending += k ? 2 : 0;
        put_aligned(g, BOLD, t->utf8 ? c->head : c->plain, width[k] - c->rate, c->left);
        g->pending += c->rate;
    }
    end_line(g);
    const study_cell *before = NULL;
    for (const study_cell *row = NULL; (row = report_table_next(t, row)); before = row) {
        if (report_table_gap(t, row, before)) {
            end_line(g);
        }
        for (int k = 0; k < t->columns; k++) {
            report_cell cell = report_table_cell(t, row, k);
            const report_column *c = t->column[k];
            g->pending += k ? 2 : 0;
            put_aligned(g, cell.off ? YELLOW : NULL, cell.label ? cell.label : cell.text, width[k] - c->rate, c->left);
            if (cell.off) {
                put_all(g, YELLOW, "*");
            } else {
                g->pending += c->rate;
            }
        }
        end_line(g);
    }
}

static bool write_tables(page *g, const study_result *r)
{
    report_table t;
    bool off = false;
    for (int i = 0; report_study_table(r, g->style.blocks, i, &t); i++) {
        if (t.columns) {
            write_table(g, &t);
            off = off || report_table_any_off(&t);
        }
    }
    return off;
}

void report_study_text(FILE *out, const study_result *r, const report_study_run *run, report_style style)
{
    page g = {.out = out, .style = style};
    put_all(&g, BOLD, r->name ? r->name : "study");
    if (r->title) {
        put_all(&g, NULL, ": ");
        put_all(&g, NULL, r->title);
    }
    end_line(&g);
    bool off = write_tables(&g, r);
    putc('\n', out);
    if (off) {
        put_all(&g, YELLOW, "*");
        put_all(&g, NULL, " the Wilson interval in brackets excludes the nominal level");
        end_line(&g);
    }
    if (report_study_paper(r)) {
        put_wrapped(&g, "", "[paper] is what the paper prints, beside what it is about.");
    }
    if (report_study_paper_truth(r)) {
        put_wrapped(&g, "", "\"paper's way\" is the truth reckoned by the paper's formula from these same networks.");
    }
    for (ptrdiff_t i = 0; i < r->note_count; i++) {
        if (r->notes[i] && *r->notes[i]) {
            put_wrapped(&g, "- ", r->notes[i]);
        }
    }
    fprintf(out, "%td repetition%s", r->repetitions, r->repetitions == 1 ? "" : "s");
    if (r->resumed) {
        fprintf(out, ", %td of them resumed", r->resumed);
    }
    fprintf(out, "; %d thread%s, %.3g s\n", r->threads, r->threads == 1 ? "" : "s", run->seconds);
}
