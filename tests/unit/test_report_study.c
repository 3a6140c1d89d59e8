/* Reports of studies: whatever the study found, the writers' files can be read again. Names are hostile, numbers
 * missing, axes degenerate; the text, the JSON and the page must stay whole. */
#include "chart/html.h"
#include "chart/svg.h"
#include "common/utf8.h"
#include "epiq_decide.h"
#include "epiq_options.h"
#include "markup.h"
#include "report/format.h"
#include "report/report.h"
#include "study/study.h"
#include "test.h"
#include "usual.h"

#include <float.h>
#include <stdlib.h>

#define HOSTILE "<script>alert(\"x\")</script> & 'q' \x01\x1b[31m\xff é τ²"

static study_cell cell(const char *quantity, const char *method, const char *correction, ptrdiff_t n, ptrdiff_t d)
{
    study_cell c = {.set = "1", .n = n, .d = d, .quantity = quantity, .method = method, .correction = correction};
    double *const unknown[] = {&c.truth.value,
                               &c.truth.se,
                               &c.paper_truth.value,
                               &c.paper_truth.se,
                               &c.estimate.value,
                               &c.estimate.se,
                               &c.lo,
                               &c.hi,
                               &c.difference,
                               &c.ratio.value,
                               &c.ratio.se,
                               &c.p_value,
                               &c.published.value,
                               &c.published.se,
                               &c.published_truth.value,
                               &c.published_truth.se,
                               &c.coverage.rate,
                               &c.coverage.lo,
                               &c.coverage.hi,
                               &c.coverage90.rate,
                               &c.coverage90.lo,
                               &c.coverage90.hi};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        *unknown[i] = NAN;
    }
    return c;
}

/* What a writer writes, to be freed. */
typedef enum { TEXT, PLAIN, COLOURED, JSON, HTML } form;
static char *written(const study_result *r, form f)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const report_run run = {
        .command = "epiq study '" HOSTILE "'", .options = &r->options, .seconds = 1.5, .peak_rss_bytes = 1 << 20};
    const report_answer a = {.study = r};
    if (f == JSON) {
        STUDY_WRITERS.json(out, &a, &run);
    } else if (f == HTML) {
        doc_html(out, &STUDY_WRITERS, &a, &run, NULL);
    } else {
        doc_text(out, &STUDY_WRITERS, &a, &run, (report_style){f == COLOURED, f != PLAIN});
    }
    EQ(ferror(out), 0);
    fclose(out);
    return text;
}

static study_result study(const char *name, study_cell *cells, ptrdiff_t count)
{
    return (study_result){.name = name,
                          .title = "A title",
                          .cells = cells,
                          .cell_count = count,
                          .repetitions = 7,
                          .threads = 2,
                          .options = usual_options()};
}

/* ---- checkers ---- */

/* Brackets match, strings end, nothing stands raw inside them that JSON forbids. */
static bool whole_json(const char *s)
{
    char open[64];
    int depth = 0;
    for (; *s; s++) {
        if (*s == '"') {
            for (s++; *s && *s != '"'; s++) {
                s += *s == '\\' && s[1];
                if ((unsigned char)*s < 0x20) return false;
            }
            if (!*s) return false;
        } else if (*s == '{' || *s == '[') {
            if (depth == 64) return false;
            open[depth++] = *s;
        } else if (*s == '}' || *s == ']') {
            if (!depth || open[--depth] != (*s == '}' ? '{' : '[')) return false;
        } else if (*s == ',' && strchr(",]}", s[1 + strspn(s + 1, " \n")])) {
            return false;
        }
    }
    return depth == 0;
}

/* All forms of one study; the page and the JSON stay for the caller to look at. */
static void check_all(const study_result *r, char **json, char **page)
{
    *json = written(r, JSON);
    *page = written(r, HTML);
    TRUE(whole_json(*json));
    TRUE(whole_html(*page));
    TRUE(!has_no_number(*json));
    TRUE(!has_no_number(*page));
    TRUE(!strstr(*page, "<script"));
    for (form f = TEXT; f <= COLOURED; f++) {
        char *text = written(r, f);
        TRUE(!has_no_number(text));
        TRUE((strchr(text, '\033') != NULL) == (f == COLOURED));
        TRUE(!strstr(text, " \n")); /* no line ends in blanks */
        free(text);
    }
}

/* ---- tests ---- */

TEST(the_checkers_find_what_they_look_for)
{
    TRUE(whole_json("{\"a\": [1, 2], \"b\": \"}\\\"\"}"));
    TRUE(!whole_json("{\"a\": [1, 2}"));
    TRUE(!whole_json("[1,]"));
    TRUE(!whole_json("[\"open]"));
    TRUE(whole_html("<html><p class=\"a>b\">x &amp; y</p><path d=\"M0 0\"/></html>"));
    TRUE(!whole_html("<html><b><i></b></i></html>"));
    TRUE(!whole_html("<html>a < b</html>"));
    TRUE(!whole_html("<html>fish & chips are good</html>"));
    TRUE(has_no_number("x=\"nan\""));
    TRUE(has_no_number("1,-inf]"));
    TRUE(!has_no_number("infinite, nanometre"));
}

TEST(a_study_of_nothing_is_written_too)
{
    study_result r = study("empty", NULL, 0);
    char *json, *page;
    check_all(&r, &json, &page);
    CONTAINS(json, "\"cells\": []");
    CONTAINS(json, "\"figures\": []");
    free(json);
    free(page);
    r = study("table1", NULL, 0);
    r.title = NULL;
    check_all(&r, &json, &page);
    free(json);
    free(page);
}

TEST(contract_keys_are_always_there_and_others_when_known)
{
    study_cell c[2] = {cell("procedural", "ev", NULL, 200, 8), cell("data", "if", "unbiased", 0, 0)};
    c[0].truth.value = 9.3e-4;
    c[0].truth.se = 0.1e-4;
    c[0].estimate.value = 1.0 / 3;
    c[0].lo = 0.25;
    c[0].hi = 0.5;
    c[0].coverage = (study_rate){0.8, 0.7, 0.9};
    c[1].set = "boston";
    study_result r = study("any", c, 2);
    char *json, *page;
    check_all(&r, &json, &page);
    CONTAINS(json,
             "{\"set\": 1, \"n\": 200, \"d\": 8, \"quantity\": \"procedural\", \"method\": \"ev\", \"truth\": 0.00093, "
             "\"truth_se\": 1e-05, \"estimate\": 0.3333333333333333, \"interval\": [0.25, 0.5], \"ratio\": null, "
             "\"coverage\": 0.8, \"coverage_interval\": [0.7, 0.9], \"published\": null}");
    CONTAINS(json,
             "{\"set\": \"boston\", \"n\": null, \"d\": null, \"quantity\": \"data\", \"method\": \"if\", "
             "\"correction\": \"unbiased\", \"truth\": null, \"truth_se\": null, \"estimate\": null, \"ratio\": null, "
             "\"coverage\": null, \"published\": null}");
    CONTAINS(page, "data-value=\"0.3333333333333333\""); /* the page rounds, but knows all digits */
    CONTAINS(page, "data-lo=\"0.25\"");
    CONTAINS(page, "80.0 [70.0, 90.0]<abbr");
    char *text = written(&r, COLOURED);
    CONTAINS(text, "\033[33m80.0 [70.0, 90.0]");
    CONTAINS(text, "excludes the nominal level");
    free(text);
    free(json);
    free(page);
}

TEST(hostile_names_harm_nothing)
{
    study_cell c = cell(HOSTILE, HOSTILE, HOSTILE, 10, 2);
    c.set = c.noise = HOSTILE;
    c.estimate.value = 1;
    c.coverage = (study_rate){0.95, 0.9, 0.97};
    double x[] = {1, 2}, y[] = {1, 2};
    study_line line = {HOSTILE, true, 2, x, y, NULL, NULL};
    study_figure f = {HOSTILE, HOSTILE, HOSTILE, HOSTILE, false, false, &line, 1};
    const char *notes[] = {HOSTILE, NULL};
    study_result r = study(HOSTILE, &c, 1);
    r.title = HOSTILE;
    r.figures = &f;
    r.figure_count = 1;
    r.notes = notes;
    r.note_count = 2;
    char *json, *page;
    check_all(&r, &json, &page);
    CONTAINS(page, "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; &amp; &#39;q&#39;");
    CONTAINS(page, "é τ²");
    CONTAINS(json, "\\u0001\\u001b[31m\\ufffd é τ²");
    TRUE(!strchr(page, '\x01') && !strchr(page, '\x1b') && !strchr(page, '\xff'));
    char *text = written(&r, TEXT);
    TRUE(!strchr(text, '\x01') && !strchr(text, '\xff'));
    free(text);
    free(json);
    free(page);
}

TEST(characters_unsafe_for_a_terminal_are_known)
{
    static const struct {
        const char *text;
        unsigned code;
    } known[] = {{"a", 0},
                 {"\n", '\n'},
                 {"\x1b", 0x1b},
                 {"\x7f", 0x7f},
                 {"\xc2\x80", 0x80},
                 {"\xc2\x9f", 0x9f},
                 {"\xc2\xa0", 0},
                 {"\xe2\x80\xa7", 0}, /* U+2027 */
                 {"\xe2\x80\xa8", 0x2028},
                 {"\xe2\x80\xae", 0x202e},
                 {"\xe2\x80\xaf", 0},
                 {"\xe2\x81\xa5", 0},
                 {"\xe2\x81\xa6", 0x2066},
                 {"\xe2\x81\xa9", 0x2069},
                 {"\xe2\x81\xaa", 0},
                 {"\xf0\x90\x80\xa8", 0}, /* its last bytes are those of U+0028 and U+2028 */
                 {"\xff", 0},
                 {"", 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t size = epiqp_utf8_size(known[i].text, EPIQP_UTF8_MOST);
        unsigned code = epiqp_utf8_code(known[i].text, size);
        EQ(size && *known[i].text && epiqp_is_unsafe_char(code) ? code : 0, known[i].code);
    }
}

TEST(tables_of_the_paper_have_its_layout)
{
    enum { N = 2, D = 3, KINDS = 4 };
    static const char *const QUANTITY[] = {"procedural", "data", "data", "ensemble"},
                             *const METHOD[] = {"ev", "if", "if", "ba"},
                             *const CORRECTION[] = {NULL, "unbiased", "none", NULL};
    study_cell c[N * D * KINDS + 1];
    ptrdiff_t used = 0;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < D; j++) {
            for (int k = 0; k < KINDS; k++) {
                study_cell *a = &c[used++];
                *a = cell(QUANTITY[k], METHOD[k], CORRECTION[k], i ? 500 : 200, 2 << j);
                a->truth.value = 4.7e-4;
                a->truth.se = 0.3e-4;
                a->estimate.value = k == 2 ? 4.1e-4 : 4.8e-4;
                a->difference = a->estimate.value - a->truth.value;
                a->ratio.value = a->estimate.value / a->truth.value;
                a->published_truth.value = 5e-4;
                a->published.value = k == 1 ? NAN : 4.9e-4;
                a->paper_truth.value = 4.4e-4;
                a->paper_truth.se = 0.9e-4;
            }
        }
    }
    c[used++] = cell("data", "bootstrap", NULL, 200, 2); /* has no place in that layout, and is not lost */
    c[used - 1].estimate.value = 0.125;
    study_result r = study("table1", c, used);
    char *json, *page, *text = written(&r, TEXT), *plain = written(&r, PLAIN);
    check_all(&r, &json, &page);
    CONTAINS(text, "Procedural variance τ²");
    CONTAINS(plain, "Procedural variance tau^2");
    CONTAINS(text, "200  2  4.7e-04 ± 0.3e-04  [5.0e-04]  4.8e-04  [4.9e-04]  +0.1e-04");   /* EV, BA */
    CONTAINS(text, "4.8e-04  +0.1e-04        1.02        4.1e-04  [4.9e-04]  4.4±0.9e-04"); /* IF, and as printed */
    CONTAINS(plain, "4.7e-04 +- 0.3e-04");
    EQ(count(text, "4.7e-04 ± 0.3e-04"), 3 * N * D);
    CONTAINS(text, "bootstrap");
    CONTAINS(text, "1.2e-01");
    for (const char *p = plain; *p; p++) {
        TRUE((unsigned char)*p < 0x80);
        size_t length = strcspn(p, "\n");
        TRUE(length <= 110);
        p += length ? length - 1 : 0;
    }
    EQ(count(page, "<svg class=\"chart\""), 3 * N);
    EQ(count(page, "<caption"), 4 + 2); /* three parts, the rest, the manifest and the options */
    EQ(count(json, "\"quantity\""), used);
    free(text);
    free(plain);
    free(json);
    free(page);
}

TEST(axes_take_anything)
{
    double zero[] = {0, 0, 0, 0}, mixed[] = {-1, 0, 1, 10}, none[] = {NAN, INFINITY, -INFINITY, NAN};
    double huge[] = {-DBL_MAX, DBL_MAX, 1e300, -1e300}, tiny[] = {5e-324, 1e-320, 1e-310, 1e-300};
    double near[] = {1, 1 + DBL_EPSILON, 1 - DBL_EPSILON, 1}, gaps[] = {1, NAN, 2, 3};
    double *const all[] = {zero, mixed, none, huge, tiny, near, gaps};
    enum { KINDS = sizeof all / sizeof *all };
    study_figure f[4 * KINDS * KINDS];
    study_line lines[4 * KINDS * KINDS][2];
    ptrdiff_t used = 0;
    for (int i = 0; i < KINDS; i++) {
        for (int j = 0; j < KINDS; j++) {
            for (int k = 0; k < 4; k++, used++) {
                lines[used][0] =
                    (study_line){"marks", true, k == 3 ? 1 : 4, all[i], all[j], all[(i + j) % KINDS], all[i]};
                lines[used][1] =
                    (study_line){NULL, false, k == 3 ? 1 : 4, all[i], all[j], all[j], all[(j + 1) % KINDS]};
                f[used] = (study_figure){"figure", "x", "y", NULL, k & 1, k & 2, lines[used], k == 2 ? 2 : 1 + (k & 1)};
            }
        }
    }
    study_result r = study("figures", NULL, 0);
    r.figures = f;
    r.figure_count = used;
    char *json, *page;
    check_all(&r, &json, &page);
    CONTAINS(page, "nothing to draw");
    EQ(count(page, "<svg class=\"chart\""), used);
    free(json);
    free(page);
    f[0].line_count = 0; /* a figure without lines */
    r.figure_count = 1;
    check_all(&r, &json, &page);
    CONTAINS(page, "nothing to draw");
    free(json);
    free(page);
}

TEST(a_log_axis_leaves_out_what_it_cannot_show)
{
    double x[] = {1, 10, 100, 1000}, y[] = {0, -3, 5, 50};
    svg_series s = {.name = "s", .kind = SVG_MARKS, .count = 4, .x = x, .y = y};
    svg_panel p = {.width = 400, .height = 300, .log_x = true, .log_y = true, .series = &s, .series_count = 1};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    svg_draw(out, &p);
    fclose(out);
    EQ(count(text, "<circle"), 2);
    CONTAINS(text, ">100</text>");
    CONTAINS(text, ">s: 50 at 1000</title>");
    free(text);
}

TEST(huge_and_tiny_numbers_fit_their_cells)
{
    double odd[] = {5e-324, DBL_MAX, -DBL_MAX, 0, -0.0, 1e-300, 9.96, INFINITY, NAN, 1e5, 0.0999};
    enum { KINDS = sizeof odd / sizeof *odd };
    study_cell c[KINDS * KINDS];
    for (int i = 0; i < KINDS * KINDS; i++) {
        c[i] = cell(i % 2 ? "data" : "rmse", "if", NULL, 10, i);
        c[i].truth.value = c[i].estimate.value = c[i].ratio.value = c[i].published.value = c[i].paper_truth.value =
            odd[i / KINDS];
        c[i].truth.se = c[i].ratio.se = c[i].paper_truth.se = c[i].p_value = odd[i % KINDS];
        c[i].difference = c[i].lo = odd[i % KINDS];
        c[i].hi = odd[(i + 1) % KINDS];
        c[i].coverage = c[i].coverage90 = (study_rate){odd[i / KINDS], odd[i % KINDS], odd[(i + 3) % KINDS]};
    }
    const char *names[] = {"table3", "other"};
    for (int k = 0; k < 2; k++) {
        study_result r = study(names[k], c, KINDS * KINDS);
        char *json, *page;
        check_all(&r, &json, &page);
        free(json);
        free(page);
    }
}

TEST(notes_are_wrapped)
{
    char note[700] = "";
    for (int i = 0; i < 90; i++) {
        strcat(note, i % 3 ? "word " : "longer ");
    }
    const char *notes[] = {note};
    study_result r = study("notes", NULL, 0);
    r.notes = notes;
    r.note_count = 1;
    char *text = written(&r, PLAIN);
    EQ(count(text, "word"), 60);
    for (const char *p = text; *p; p += strcspn(p, "\n") + 1) {
        TRUE(strcspn(p, "\n") <= 100);
    }
    free(text);
}

/* ---- without memory of their own ---- */

TEST(an_option_is_shown_whatever_its_length)
{
    epiq_ctx *c;
    char long_text[300];
    memset(long_text, 'a', sizeof long_text);
    long_text[sizeof long_text - 1] = '\0';
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    const epiq_option_info *info;
    int texts = 0;
    for (ptrdiff_t i = 0; (info = epiq_options_info(i)); i++) {
        epiq_options o = usual_options();
        option_buffer room;
        char usual[128];
        EQ(epiq_options_text(&o, i, usual, sizeof usual), EPIQ_OK);
        const char *shown = option_text(&o, info->name, &room);
        STR(shown ? shown : "", usual);
        if (epiq_options_set(c, &o, info->name, long_text) == EPIQ_OK) { /* only texts take it */
            STR(option_text(&o, info->name, &room), long_text);
            texts++;
        }
    }
    TRUE(texts > 5);
    epiq_ctx_free(c);
}

TEST(the_best_models_are_the_first_of_all)
{
    enum { ALL = 60 };
    epiq_compared models[ALL] = {0};
    const epiq_compared *list[ALL + 1] = {NULL};
    for (int i = 0; i < ALL; i++) {
        list[i] = &models[i];
        models[i].loo.known = i % 7 != 0;
        models[i].loo.rmse = (double)(i * 37 % 23);
    }
    const epiq_comparison r = {.models = list, .model_count = ALL};
    ptrdiff_t whole[ALL], some[ALL];
    compare_sorted(&r, ALL, whole);
    for (int i = 1; i < ALL; i++) {
        const epiq_rmse *a = &models[whole[i - 1]].loo, *b = &models[whole[i]].loo;
        TRUE(a->known ? !b->known || a->rmse <= b->rmse : !b->known);
    }
    for (int most = 0; most <= ALL; most += 12) {
        some[most < ALL ? most : 0] = -1;
        compare_sorted(&r, most, some);
        EQ(memcmp(some, whole, (size_t)most * sizeof *some), 0);
        TRUE(most == ALL || some[most] == -1); /* and no more */
    }
}
