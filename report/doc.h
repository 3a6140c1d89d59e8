/* doc.h - a report described once and written as text for a terminal or as a page: paragraphs, tables, figures, warnings, and the
 * manifest of the run. What belongs to one form only does nothing in the other.
 *
 *     static void describe(doc *d)
 *     {
 *         doc_open(d, "epiq plan", "What a budget of 10 buys", "Train 20 members more; ...");    page
 *         doc_say(d, "A row costs %g.\n", price);                                               text
 *         doc_table_open(d, &table);                                                            both
 *         doc_row(d, false, NULL, cell_text("now"), cell_number(cost));
 *         doc_table_close(d);
 *         doc_close(d, FIELDS(FACT_SHA(run)), run->options);                                    page
 *     }
 */
#ifndef REPORT_DOC_H
#define REPORT_DOC_H

#include "chart/html.h"
#include "chart/pictures.h"
#include "report/json.h"

typedef struct doc_table doc_table;
struct doc {
    const report_answer *a;
    const epiq_result *r; /* of the answer */
    const report_run *run;
    FILE *out;
    bool page;              /* else text */
    report_style style;     /* of the text */
    svg_album *album;       /* takes the pictures of the page as well; NULL: there is none */
    pictures set;           /* of the page, freed with it; the album says in the end whether memory was lacking */
    const doc_table *table; /* that is open */
    bool starred;           /* some cell of it was */
    int pending;            /* blanks not yet written, so that no line of text ends in them */
};

/* A format names an option as {--methods}. */
void doc_sentence(doc *d, bool condition, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- on the page ---- */

/* Up to the answer in a sentence or two; NULL: none. The verb is above the title. */
void doc_open(doc *d, const char *verb, const char *title, const char *answer);
/* The last section: the command and the version that ran, the facts, seconds and memory, and every option to unfold
 * (NULL: none). */
void doc_close(doc *d, const field *facts, const epiq_options *options);
/* Before it: what the words used on the page mean (glossary.c). */
enum {
    WORD_PARTS = 1,
    WORD_NOISE = 1 << 1,
    WORD_ENSEMBLE = 1 << 2,
    WORD_EV = 1 << 3,
    WORD_IF = 1 << 4,
    WORD_RETRAIN = 1 << 5,
    WORD_BA = 1 << 6,
    WORD_INFINITE = 1 << 7,
    WORD_KERNEL = 1 << 8,
    WORD_LOO = 1 << 9,
    WORD_FOLDS = 1 << 10,
    WORD_LAMBDA = 1 << 11,
    WORD_FRONT = 1 << 12,
    WORD_PLAN = 1 << 13,
    WORD_SCORE = 1 << 14,
    WORD_INTERVAL = 1 << 15,
    WORD_LOG = 1 << 16,
};
void doc_glossary(doc *d, unsigned words);
/* Markup as html_print writes it, if the condition holds; doc_note: a paragraph in small print. */
#define doc_page_when(d, condition, ...) doc_sentence(d, (d)->page && (condition), __VA_ARGS__)
#define doc_page(d, ...) doc_page_when(d, true, __VA_ARGS__)
#define doc_heading(d, text) doc_page(d, "<h2>%s</h2>\n", text)
#define doc_note_when(d, condition, ...)                                                                               \
    (doc_page_when(d, condition, "<p class=\"small\">"), doc_page_when(d, condition, __VA_ARGS__),                     \
     doc_page_when(d, condition, "</p>\n"))
#define doc_note(d, ...) doc_note_when(d, true, __VA_ARGS__)
phrase number_markup(const char *name, double v, int digits); /* inside a sentence, in full as data-NAME */

/* A picture with its title (NULL: none), a sentence on how to read it, its legend, and its numbers to unfold. */
void doc_figure(doc *d, const char *title, const char *caption, const svg_panel *p);
bool doc_picture(doc *d, int kind, ptrdiff_t item); /* one of d->set; false: not there */
/* The same in pieces, for several panels under one title, up to </figure>. */
void doc_figure_open(doc *d, const char *title, const char *caption);
void doc_panels(doc *d, int kind, const char *tag);                     /* items 0, 1, .. inside a <tag> */
void doc_figure_numbers(doc *d, const char *title, const svg_panel *p); /* to unfold; nothing when they are too many */

/* ---- in the text ---- */

/* If the condition holds; %s is sanitized, %-s written as it is. */
#define doc_when(d, condition, ...) doc_sentence(d, !(d)->page && (condition), __VA_ARGS__)
#define doc_say(d, ...) doc_when(d, true, __VA_ARGS__)
void doc_put(doc *d, const char *colour, const char *text); /* sanitized; colour may be NULL */
void doc_end_line(doc *d);
void doc_data(doc *d); /* "120 rows, 4 features, target y; engine network" */
void doc_features(doc *d,
                  ptrdiff_t point); /* of the candidates: "x1 0.5, metal=brass"; of categories the one that holds */
void doc_conclusion(doc *d, const char *colour, const char *head, const char *text); /* "Head: text", one line */
void doc_choice(doc *d); /* what --methods auto chose, and why */

/* ---- in both ---- */

void doc_warnings(doc *d);
void doc_notes(doc *d); /* for information; in the text without --verbose only what changes how the answer is read */

enum { DOC_LEFT = 1, DOC_NAME = 2, DOC_FOLD = 4 }; /* aligned left; says what the row is about; not on a phone */
#define UNLESS_FOLDED(words) "<span class=\"fold\">" words "</span>" /* markup: where such columns are */
typedef struct {
    const char *head;         /* on the page; NULL: not there */
    const char *plain;        /* in the text; NULL: not there */
    int align;                /* on the page */
    int digits, plain_digits; /* of numbers, on the page and in the text */
    int gap, width;           /* in the text: blanks before it, characters; below 0: aligned left */
    const char *name;         /* numbers are on the page in full as data-NAME; NULL: data-value */
    bool star;                /* cells may be starred */
} doc_column;

#define DOC_COLUMNS(array) .columns = sizeof(array) / sizeof *(array), .column = array
struct doc_table {
    size_t columns;
    const doc_column *column;
    const char *caption;
    bool caption_shown; /* else a heading says the same */
    bool bold;          /* the heads of the text */
};

void doc_widen(doc_column *c, const char *text); /* at least as wide as this */

/* Words, or a number to be rounded. */
typedef struct {
    const char *text;         /* as it is; NULL: words */
    char words[64];           /* empty: value */
    double value, se, lo, hi; /* in full on the page; NAN: there is none */
    const char *hint;         /* shown when pointed at; NULL: the value in full */
    bool off;                 /* starred: a coverage whose interval excludes the nominal level */
} doc_cell;
doc_cell cell_text(const char *text);
doc_cell cell_words(const char *format, ...) __attribute__((format(printf, 1, 2)));
doc_cell cell_number(double v);                        /* not finite: empty, in the text "unknown" */
doc_cell cell_rounded(double v, epiqp_digits rounded); /* rounded for people, in full as data */
doc_cell cell_sd(double sd);
/* On the page in full: the standard deviation of a part as the value, its interval as lo and hi. */
doc_cell cell_part_sd(const epiq_part *p);
doc_cell cell_sd_interval(const epiq_part *p);
doc_cell cell_upper(const epiq_part *p); /* "open" if it cannot be known */

void doc_table_open(doc *d, const doc_table *t); /* which must live until it is closed */
/* The attribute is the row's on the page; NULL: none. */
void doc_row_of(doc *d, bool bold, const char *attribute, const doc_cell *cells);
#define doc_row(d, bold, attribute, ...) doc_row_of(d, bold, attribute, (const doc_cell[]){__VA_ARGS__})
void doc_group(doc *d); /* the next rows are set apart */
void doc_table_close(doc *d);

#endif
