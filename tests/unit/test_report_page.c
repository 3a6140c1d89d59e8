/* The page of an estimate and its pictures: whole whatever is unknown, huge, equal or hostile, and right where the
 * numbers are known in closed form. tools/check-pages looks at pages in a browser and compares them with the JSON. */
#include "made_result.h"
#include "markup.h"
#include "report/estimate_doc.h"
#include "test.h"
#include "usual.h"

#include <float.h>
#include <stdlib.h>

#define HOSTILE "<script>alert(\"x\")</script> & 'q' \x01\x1b[31m\xff é τ²"

enum { ROWS = 40, FEATURES = 2, MEMBERS = 6, VALUES = 5 };

/* A result with everything known, to spoil in parts. */
static struct {
    epiq_options options;
    made_result m;
    report_run run;
    epiq_point point[600], swept[FEATURES][VALUES];
    epiq_sweep sweep[FEATURES];
    epiq_influence influence[3];
    epiq_warning warning[1];
    const epiq_point *swept_list[FEATURES][VALUES + 1]; /* lists end with NULL */
    const epiq_sweep *sweep_list[FEATURES + 1];
    const epiq_influence *influence_list[4];
    const epiq_warning *warning_list[2];
    double members[2500], value[VALUES], observed[ROWS], loo[ROWS], loo_sd[ROWS];
} k;
static const char *const FEATURE[FEATURES] = {HOSTILE,
                                              "a_name_so_long_that_no_label_in_any_picture_could_ever_hold_all_of_it"};

static epiq_part part(double variance, double lo, double hi, epiq_method method)
{
    return (epiq_part){.known = 1, .has_interval = hi > lo, .variance = variance, .lo = lo, .hi = hi, .method = method};
}

static epiq_point full_point(const char *at)
{
    epiq_point p = {.at = at,
                    .prediction = 1,
                    .prediction_variance = part(0.75, 0.5, 1, EPIQ_BY_IF_EV),
                    .full_variance = part(0.75, 0.5, 1, EPIQ_BY_IF_EV),
                    .procedural = part(1.5, 1, 3, EPIQ_BY_EV),
                    .data = part(0.5, 0.25, 1, EPIQ_BY_IF),
                    .ensemble = part(0.8125, 0.5, 1.25, EPIQ_BY_BA),
                    .single = part(2, 1, 4, EPIQ_BY_IF_EV),
                    .infinite = part(1.25, 0, 0, EPIQ_BY_INFINITE),
                    .members = k.members,
                    .member_count = MEMBERS,
                    .check = {1, 1, 0.8125, 0.8},
                    .predictive = {1, -3.5, 5.5, 4},
                    .influential = k.influence_list,
                    .influential_count = 3,
                    .corrected = &NOT_CORRECTED};
    return p;
}

static void fill(void)
{
    memset(&k, 0, sizeof k);
    k.options = usual_options();
    k.options.sweep = VALUES;
    for (int i = 0; i < 2500; i++) {
        k.members[i] = i % 2 ? 2 : 0;
    }
    for (int i = 0; i < ROWS; i++) {
        k.observed[i] = i;
        k.loo[i] = i + (i < 3 ? 2.0 : 1.9); /* 1.96 standard deviations lie between */
        k.loo_sd[i] = 1;
    }
    for (int f = 0; f < FEATURES; f++) {
        for (int i = 0; i < VALUES; i++) {
            k.value[i] = i;
            k.swept[f][i] = full_point("swept");
            k.swept[f][i].prediction = i * f;
            k.swept_list[f][i] = &k.swept[f][i];
        }
        k.sweep[f] = (epiq_sweep){f, VALUES, k.value, k.swept_list[f], ROWS, k.observed};
        k.sweep_list[f] = &k.sweep[f];
    }
    for (int i = 0; i < 3; i++) {
        k.influence[i] = (epiq_influence){10 + i, i % 2 ? -0.125 : 0.375};
        k.influence_list[i] = &k.influence[i];
    }
    k.warning[0] = (epiq_warning){"code", HOSTILE, 0};
    k.warning_list[0] = &k.warning[0];
    k.point[0] = full_point("mean");
    make_result(&k.m, k.point, 1);
    k.m.ran.ensemble_size = 4;
    k.m.ran.methods = EPIQ_IF | EPIQ_EV | EPIQ_BA;
    k.m.fit = (epiq_fit_error){.known = 1,
                               .has_r2 = 1,
                               .rmse = 3.25,
                               .r2 = 0.75,
                               .noise_variance = 1,
                               .kernel_known = 1,
                               .kernel_rmse = 3.25,
                               .kernel_r2 = 0.75,
                               .kernel_noise_variance = 1,
                               .observed = k.observed,
                               .loo = k.loo,
                               .loo_sd = k.loo_sd};
    k.m.r.sweeps = k.sweep_list;
    k.m.r.sweep_count = FEATURES;
    k.m.r.warnings = k.warning_list;
    k.m.r.warning_count = 1;
    k.m.advice.text = "Train " HOSTILE;
    k.run = (report_run){.command = "epiq estimate '" HOSTILE "'",
                         .options = &k.options,
                         .data = {.rows = ROWS, .features = FEATURES, .feature = FEATURE, .target = HOSTILE}};
}

/* To be freed. */
static char *page(void)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    doc_html(out, &ESTIMATE_WRITERS, &(report_answer){.result = &k.m.r}, &k.run, NULL);
    EQ(ferror(out), 0);
    fclose(out);
    TRUE(whole_html(text));
    TRUE(!has_no_number(text));
    TRUE(!strstr(text, "<script"));
    return text;
}

/* The sentences of the page as it is now that were not on the page before; to be freed. */
static char *changes(char *before)
{
    char *text = page();
    for (const char *p = text; (p = strstr(p, "<p")); p++) {
        const char *end = strstr(p, "</p>");
        char *one = strndup(p, (size_t)(end - p));
        bool paragraph = p[2] == '>' || p[2] == ' ';
        if (paragraph && (!before || !strstr(before, one))) SENTENCE_ROUGHLY(one);
        free(one);
    }
    free(before);
    return text;
}

TEST(everything_known_is_on_the_page)
{
    fill();
    char *text = changes(NULL);
    EQ(count(text, "<svg class=\"chart\""), 4 + FEATURES + 2);
    CONTAINS(text, "predicted &lt;script&gt;");
    CONTAINS(text, "data-prediction=\"1\"");
    CONTAINS(text, " 75.0 % is due to retraining");
    CONTAINS(text,
             "<tr data-part=\"ensemble\"><th scope=\"row\" class=\"l\">ensemble of 4</th><td data-variance=\"0.8125\"");
    CONTAINS(text, "data-predictive-lo=\"-3.5\"");
    CONTAINS(text, "</b> Train &lt;script&gt;");
    CONTAINS(text, "<h2 id=\"warnings\">Warning</h2>");
    CONTAINS(text, "Of 40 rows 92.5 % "); /* all but the three at 2.0 */
    k.point[0].procedural.variance = 0.125;
    text = changes(text);
    CONTAINS(text, " 80.0 % is due to the data");
    k.point[0].procedural.variance = 0.5;
    text = changes(text);
    CONTAINS(text, " 50.0 % is due to retraining");
    k.point[0].at = "row:17";
    text = changes(text);
    CONTAINS(text, "At row 17 ");
    free(text);
}

TEST(what_is_unknown_is_left_out_and_said)
{
    fill();
    epiq_point *p = &k.point[0];
    *p = (epiq_point){.at = "mean", .prediction = 3, .influential = epiqp_empty_list, .corrected = &NOT_CORRECTED};
    k.m.fit.known = k.m.fit.kernel_known = 0;
    k.m.r.sweeps = epiqp_empty_list;
    k.m.r.sweep_count = 0;
    k.m.r.warnings = epiqp_empty_list;
    k.m.r.warning_count = 0;
    k.options.sweep = 0;
    char *text = changes(NULL);
    EQ(count(text, "<svg class=\"chart\""), 0);
    EQ(count(text, "<td>unknown</td>"), 5);
    TRUE(!strstr(text, "Warning"));
    free(text);
    fill();
    text = page();
    k.m.fit.observed = k.m.fit.loo = k.m.fit.loo_sd = NULL;
    text = changes(text);
    fill();
    k.loo_sd[7] = 0;
    text = changes(text);
    fill();
    k.m.r.sweeps = epiqp_empty_list;
    k.m.r.sweep_count = 0;
    free(changes(text));
}

TEST(networks_brought_along_have_no_features_and_no_training)
{
    fill();
    const combine_request given = {.until = 0.5};
    k.m.given.rows = ROWS;
    k.m.given.members = MEMBERS;
    k.m.given.batches = 4;
    k.m.given.added = 2;
    k.m.r.sweeps = epiqp_empty_list;
    k.m.r.sweep_count = 0;
    k.options.sweep = 0;
    k.options.state = HOSTILE;
    k.run.command = "epiq combine ensemble m.csv";
    k.run.data = combine_data(&k.m.r);
    k.run.given = &given;
    k.point[0].at = "3";
    char *text = changes(NULL);
    EQ(count(text, "<svg class=\"chart\""), 4 + 2);
    CONTAINS(text, "<p class=\"kicker\">epiq combine</p>");
    CONTAINS(text, "At point 3 ");
    CONTAINS(text, " 50 % of it; there are 6,");
    CONTAINS(text, "networks trained on a batch each</th><td class=\"l wide\">4</td>");
    CONTAINS(text, "added there</th><td class=\"l wide\">2</td>");
    CONTAINS(text, "kernel</th><td class=\"l wide\">gram</td>");
    TRUE(!strstr(text, "sweep"));
    TRUE(!strstr(text, "networks trained</th>"));
    TRUE(!strstr(text, "All options"));

    k.point[0] = (epiq_point){.at = "1", .prediction = 3, .influential = epiqp_empty_list, .corrected = &NOT_CORRECTED};
    k.m.ran.methods = EPIQ_BA;
    k.m.given.rows = 0;
    k.run.data = combine_data(&k.m.r);
    k.m.fit.known = k.m.fit.kernel_known = 0;
    text = changes(text);
    EQ(count(text, "<svg class=\"chart\""), 0);
    CONTAINS(text, "rows</th><td class=\"l wide\">unknown</td>");
    TRUE(!strstr(text, "methods"));
    TRUE(!strstr(text, "lambda"));
    free(text);
}

TEST(every_kind_of_number_is_drawn)
{
    static const double SIZES[] = {0, DBL_MIN, 1e-300, 1e-12, 1, 1e12, 1e300, DBL_MAX};
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        fill();
        double v = SIZES[i];
        k.point[0].procedural = part(v, v / 2, v, EPIQ_BY_EV);
        k.point[0].data = part(v / 2, 0, v, EPIQ_BY_IF);
        k.point[0].prediction = -v;
        for (int j = 0; j < MEMBERS; j++) {
            k.members[j] = j % 2 ? v : -v;
        }
        for (int j = 0; j < ROWS; j++) {
            k.observed[j] = v;
            k.loo[j] = j % 2 ? -v : v;
        }
        k.influence[0].influence = v;
        k.swept[0][0].data.variance = v;
        k.swept[1][0].prediction = v;
        free(page());
    }
    for (ptrdiff_t m = 0; m <= 2500; m += m < 4 ? 1 : 624) {
        fill();
        k.point[0].member_count = m;
        free(page());
    }
}

TEST(many_points_get_lines_and_the_first_pictures)
{
    fill();
    for (int i = 0; i < 600; i++) {
        k.point[i] = full_point("a <b>file</b>.csv:1");
        k.point[i].prediction = i;
        k.point[i].full_variance.variance = 1 + (i * 7) % 600; /* each value once */
        k.m.points[i] = &k.point[i];
    }
    k.m.r.point_count = 600;
    doc d = {.r = &k.m.r, .run = &k.run};
    estimate_pictures(&d);
    const picture *drawn = pictures_find(&d.set, PICTURE_POINTS, 0);
    TRUE(drawn && drawn->panel.row_count == 30);
    for (int i = 0; drawn && i < 30; i++) { /* the largest first, in the marks, and both parts below them */
        NEAR(drawn->panel.series[2].x[i], 600 - i, 0);
        NEAR(drawn->panel.series[1].hi[i], 0.5 + 1.5 / MEMBERS, 1e-15);
    }
    pictures_free(&d.set);
    char *text = page();
    EQ(count(text, "<tr data-point="), 500);
    EQ(count(text, "<section"), ESTIMATE_DETAILED);
    EQ(count(text, "<svg class=\"chart\""), 2 + 4 * ESTIMATE_DETAILED + FEATURES + 2);
    CONTAINS(text, "500 of 600 points");
    CONTAINS(text, "Drawn are the 30 least sure of 600 points");
    CONTAINS(text, "Were there enough networks? (at ");
    CONTAINS(text, "data-least=\"0\"");
    CONTAINS(text, "data-most=\"599\"");
    free(text);
}

/* Rows asked of networks that have not seen them: pictures of the least sure, not of the first, and intervals in the table. */
TEST(rows_left_out_show_the_least_sure_and_their_intervals)
{
    static const ptrdiff_t LEAST[] = {30, 7};
    static char at[ROWS][16];
    fill();
    for (int i = 0; i < ROWS; i++) {
        snprintf(at[i], sizeof at[i], "row:%d", i + 1);
        k.point[i] = full_point(at[i]);
        k.point[i].left_out = i + 1;
        k.m.points[i] = &k.point[i];
    }
    k.m.r.point_count = ROWS;
    k.m.ran.members = MEMBERS;
    k.m.summary = (epiq_summary){.rows = ROWS, .least_sure = LEAST, .least_sure_count = 2};
    char *text = page();
    EQ(count(text, "<section"), 2);
    CONTAINS(text, "<section data-at=\"row:30\"");
    CONTAINS(text, "<section data-at=\"row:7\"");
    EQ(count(text, "that has not seen this row"), 2);
    TRUE(!strstr(text, "trained on all rows, from"));
    EQ(count(text, ">-3.5 to 5.5<"), ROWS);
    CONTAINS(text, "data-data=\"0.70710678118654");
    free(text);
    k.m.summary.least_sure_count = 0; /* unknown: the first */
    text = page();
    EQ(count(text, "<section"), ESTIMATE_DETAILED);
    CONTAINS(text, "<section data-at=\"row:3\"");
    free(text);
}

TEST(networks_that_answer_are_drawn_and_kernel_regression_is_not)
{
    double unseen[ROWS];
    fill();
    for (int i = 0; i < ROWS; i++) {
        unseen[i] = i + 0.25;
    }
    k.m.fit.folds = 5;
    k.m.fit.y = k.observed;
    k.m.fit.unseen = unseen;
    doc d = {.r = &k.m.r, .run = &k.run};
    estimate_pictures(&d);
    const picture *drawn = pictures_find(&d.set, PICTURE_LOO, 0);
    TRUE(drawn && !pictures_find(&d.set, PICTURE_CALIBRATION, 0));
    EQ(drawn ? drawn->panel.series[0].count : 0, ROWS);
    for (int i = 0; drawn && i < ROWS; i++) {
        NEAR(drawn->panel.series[0].x[i], i + 0.25, 0);
        NEAR(drawn->panel.series[0].y[i], i, 0);
    }
    pictures_free(&d.set);
    char *text = changes(NULL);
    CONTAINS(text, "Each row predicted by networks that have not seen the row");
    free(text);
}

TEST(pictures_have_the_numbers_they_should)
{
    fill();
    doc d = {.r = &k.m.r, .run = &k.run};
    const pictures *set = &d.set;
    estimate_pictures(&d);
    const picture *ev = pictures_find(set, PICTURE_EV, 0), *parts = pictures_find(set, PICTURE_PARTS, 0);
    const picture *level = pictures_find(set, PICTURE_CALIBRATION, 0), *dots = pictures_find(set, PICTURE_MEMBERS, 0);
    TRUE(ev && parts && level && dots);

    /* 0, 2: variance 2; 0, 2, 0: 4/3; the last is the result's own */
    const svg_series *s = &ev->panel.series[0];
    EQ(s->count, MEMBERS - 1);
    NEAR(s->y[0], 2, 4 * DBL_EPSILON);
    NEAR(s->y[1], 4.0 / 3, 4 * DBL_EPSILON);
    NEAR(s->y[MEMBERS - 2], 1.5, 0);
    /* two degrees of freedom: the quantile at p is -2 log(1 - p) */
    CLOSE(s->lo[1], 4.0 / 3 * 2 / (-2 * log(0.025)), 1e-10);
    CLOSE(s->hi[1], 4.0 / 3 * 2 / (-2 * log(0.975)), 1e-10);

    /* stacked: procedural begins where data ends, and the row of one network is as long as both */
    const svg_series *data = &parts->panel.series[0], *tau2 = &parts->panel.series[1];
    EQ(parts->panel.row_count, 5);
    for (int i = 0; i < 5; i++) {
        NEAR(tau2->lo[i], data->hi[i], 0);
    }
    NEAR(tau2->hi[2], 2, 0);
    NEAR(tau2->hi[3], 0.5 + 1.5 / 4, 1e-15);
    NEAR(tau2->hi[4], 0.5 + 1.5 / MEMBERS, 1e-15);

    /* rows miss by 1.9 and 2 standard deviations: Phi gives 94.26 and 95.45 % */
    s = &level->panel.series[1];
    NEAR(s->y[93], 0, 0);
    NEAR(s->y[94], 92.5, 1e-12);
    NEAR(s->y[95], 100, 1e-12);

    /* three networks at each of two places, piled up; that height is no quantity, so it has no axis */
    TRUE(dots->panel.y_bare && !dots->panel.y_name);
    s = &dots->panel.series[0];
    EQ(s->count, MEMBERS);
    NEAR(s->y[0], 1, 0);
    NEAR(s->y[MEMBERS - 1], 3, 0);

    /* sweeps: the second feature changes the prediction from 0 to 4, the first not at all; two of the standard deviations of
     * the prediction, the root of 0.75, to either side; the rows as a rug */
    const picture *first = pictures_find(set, PICTURE_SWEEP, 0), *second = pictures_find(set, PICTURE_SWEEP, 1);
    TRUE(first && second);
    STR(first->panel.x_name, FEATURE[1]);
    STR(second->panel.x_name, FEATURE[0]);
    s = &first->panel.series[0];
    EQ(first->panel.series_count, 1);
    EQ(s->kind, SVG_LINE);
    NEAR(s->y[3], 3, 0);
    NEAR(s->hi[3], 3 + 2 * sqrt(0.75), 1e-15);
    NEAR(s->lo[3], 3 - 2 * sqrt(0.75), 1e-15);
    NEAR(first->panel.y_lo, second->panel.y_lo, 0);
    EQ(first->panel.rug_count, ROWS);
    NEAR(first->panel.rug[7], 7, 0);
    pictures_free(&d.set);
    k.sweep[1].count = 2; /* a feature of 0 and 1: marks with error bars, nothing between them */
    d.set = (pictures){0};
    estimate_pictures(&d);
    first = pictures_find(set, PICTURE_SWEEP, 0);
    TRUE(first && first->panel.x_tick_count == 2 && !first->panel.rug);
    s = &first->panel.series[0];
    EQ(s->kind, SVG_MARKS);
    EQ(s->count, 2);
    NEAR(s->hi[1], 1 + 2 * sqrt(0.75), 1e-15);
    pictures_free(&d.set);
}

/* Labels of marks at one place lie beside each other, each whole inside the panel. */
TEST(labels_of_marks_do_not_overlap)
{
    enum { MARKS = 6 };
    static const double x[MARKS] = {1, 1, 1, 1.01, 5, 0}, y[MARKS] = {1, 1.01, 1, 1, 3, 0};
    static const char *const labels[MARKS] = {"w 16", "w 32", "w 64", "w 128", "at the right edge", "at the left edge"};
    const svg_series series = {.kind = SVG_MARKS, .count = MARKS, .x = x, .y = y, .labels = labels};
    char *text = NULL;
    size_t size;
    double at[MARKS][3];
    int found = 0;
    FILE *out = open_memstream(&text, &size);
    svg_draw(
        out,
        &(svg_panel){.label = "l", .describe = "d", .width = 300, .height = 200, .series = &series, .series_count = 1});
    fclose(out);
    for (const char *p = text; found < MARKS && (p = strstr(p, "<text class=\"tag\" x=\"")); p++, found++) {
        double *box = at[found];
        EQ(sscanf(p, "<text class=\"tag\" x=\"%lf\" y=\"%lf\"", &box[0], &box[1]), 2);
        const char *from = strchr(p, '>') + 1;
        box[2] = 6.6 * (double)(strchr(from, '<') - from);
        TRUE(box[0] > 0 && box[0] + box[2] < 300);
        for (int j = 0; j < found; j++) {
            TRUE(box[0] >= at[j][0] + at[j][2] || box[0] + box[2] <= at[j][0] || fabs(box[1] - at[j][1]) >= 12);
        }
    }
    EQ(found, MARKS);
    free(text);
}

/* An interval without an upper end runs on to the edge, beyond its mark, and the caption says what that means. */
TEST(an_interval_that_is_open_ends_in_an_arrow)
{
    fill();
    char *text = page();
    TRUE(!strstr(text, "an arrow"));
    free(text);
    k.point[0].data.open = 1;
    text = page();
    EQ(count(text, "Where there is an arrow, the upper end cannot be known."), 1);
    EQ(count(text, "H366.0m-5 -4l5 4l-5 4"), 1); /* of a width of 380, to the right end of the frame */
    free(text);
}

/* Looks at each picture as the file it would become. */
typedef struct {
    svg_album album;
    int count;
    char names[40][80];
} files;

static void look_at(svg_album *a, const svg_panel *p)
{
    files *all = (files *)a;
    char *text = NULL, *name = all->names[all->count % 40];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    svg_write(out, p);
    fclose(out);
    TRUE(whole_html(text));
    TRUE(!has_no_number(text));
    TRUE(!strstr(text, "<script"));
    TRUE(!strstr(text, "var("));
    CONTAINS(text, "xmlns=\"http://www.w3.org/2000/svg\"");
    free(text);
    picture_name(name, sizeof *all->names, p);
    EQ(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_"), strlen(name));
    TRUE(strlen(name) > 5);
    for (int i = 0; i < all->count; i++) {
        TRUE(strcmp(all->names[i], name) != 0);
    }
    all->count++;
}

TEST(files_stand_alone_under_harmless_names_and_leave_the_page_as_it_is)
{
    fill();
    files all = {.album = {.keep = look_at}};
    char *without = page(), *with = NULL;
    size_t size;
    FILE *out = open_memstream(&with, &size);
    doc_html(out, &ESTIMATE_WRITERS, &(report_answer){.result = &k.m.r}, &k.run, &all.album);
    fclose(out);
    STR(with, without);
    EQ(all.count, 4 + FEATURES + 2);
    TRUE(!all.album.incomplete);
    STR(all.names[5], "sweep-1-script-alert-x-script-q-31m"); /* the one that changes the prediction less */
    free(without);
    free(with);
}

TEST(a_file_is_named_after_what_its_panel_shows)
{
    char name[24];
    picture_name(name, sizeof name, &(svg_panel){.label = "Data variance", .title = "n = 200"});
    STR(name, "data-variance-n-200");
    picture_name(name, sizeof name, &(svg_panel){.name = "X/../1", .label = "Data variance"});
    STR(name, "X-1");
    picture_name(name, sizeof name, &(svg_panel){.label = "What no file could be called by"});
    STR(name, "what-no-file-could-be-c");
    picture_name(name, sizeof name, &(svg_panel){.label = "σ²"});
    STR(name, "picture");
}

TEST(the_shared_pieces_write_what_they_are_given)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    epiq_options o = usual_options();
    const report_run run = {.command = "epiq verb x", .options = &o, .seconds = 1.5};
    doc d = {.a = &(report_answer){0}, .run = &run, .out = out, .page = true};
    doc_open(&d, "epiq verb", "A <title>", "An answer.");
    doc_warnings(&d);
    doc_close(&d, FIELDS(FIELD("seed", SEED, &o.seed), FACT("none", NULL), FIELD("gone", ROUNDED, &(double){NAN})), &o);
    fclose(out);
    TRUE(whole_html(text));
    CONTAINS(text, "<p class=\"answer\">An answer.</p>");
    CONTAINS(text, "seconds</th><td class=\"l wide\">1.500</td>");
    CONTAINS(text, "gone</th><td class=\"l wide\">unknown</td>");
    CONTAINS(text, "lambda</th><td class=\"l wide\">0.001</td>");
    TRUE(!strstr(text, "warnings\"") && !strstr(text, "none</th>"));
    free(text);
}
