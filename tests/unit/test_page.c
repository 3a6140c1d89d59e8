/* The page of an estimate and its pictures: whole whatever is unknown, huge, equal or hostile, and right where the
 * numbers are known in closed form. tools/check-pages looks at pages in a browser and compares them with the JSON. */
#include "markup.h"
#include "report/estimate_pictures.h"
#include "report/page.h"
#include "test.h"

#include <float.h>
#include <stdlib.h>

#define HOSTILE "<script>alert(\"x\")</script> & 'q' \x01\x1b[31m\xff é τ²"

enum { ROWS = 40, FEATURES = 2, MEMBERS = 6, VALUES = 5 };

/* A result with everything known, to spoil in parts. */
static struct {
    epiq_options options;
    epiq_result r;
    report_run run;
    epiq_point point[600], swept[FEATURES][VALUES];
    epiq_sweep sweep[FEATURES];
    epiq_influence influence[3];
    epiq_warning warning[1];
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
                    .procedural = part(1.5, 1, 3, EPIQ_BY_EV),
                    .data = part(0.5, 0.25, 1, EPIQ_BY_IF),
                    .ensemble = part(0.8125, 0.5, 1.25, EPIQ_BY_BA),
                    .single = part(2, 1, 4, EPIQ_BY_IF_EV),
                    .infinite = part(1.25, 0, 0, EPIQ_BY_INFINITE),
                    .members = k.members,
                    .member_count = MEMBERS,
                    .check = {1, 1, 0.8125, 0.8},
                    .predictive = {1, -3.5, 5.5, 4},
                    .influential = k.influence,
                    .influential_count = 3};
    return p;
}

static void fill(void)
{
    memset(&k, 0, sizeof k);
    k.options = epiq_options_default();
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
        }
        k.sweep[f] = (epiq_sweep){f, VALUES, k.value, k.swept[f]};
    }
    for (int i = 0; i < 3; i++) {
        k.influence[i] = (epiq_influence){10 + i, i % 2 ? -0.125 : 0.375};
    }
    k.warning[0] = (epiq_warning){"code", HOSTILE};
    k.point[0] = full_point("mean");
    k.r = (epiq_result){.points = k.point,
                        .point_count = 1,
                        .ensemble_size = 4,
                        .methods = EPIQ_IF | EPIQ_EV | EPIQ_BA,
                        .backend = "ref",
                        .fit = {1, 1, 3.25, 0.75, 1, k.observed, k.loo, k.loo_sd},
                        .sweeps = k.sweep,
                        .sweep_count = FEATURES,
                        .warnings = k.warning,
                        .warning_count = 1};
    k.r.advice.text = "Train " HOSTILE;
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
    report_html(out, &k.r, &k.run, NULL);
    EQ(ferror(out), 0);
    fclose(out);
    TRUE(whole_html(text));
    TRUE(!has_no_number(text));
    TRUE(!strstr(text, "<script"));
    return text;
}

static void has(const char *part)
{
    char *text = page();
    CONTAINS(text, part);
    free(text);
}

TEST(everything_known_is_on_the_page)
{
    fill();
    char *text = page();
    EQ(count(text, "<svg class=\"chart\""), 4 + FEATURES + 2);
    CONTAINS(text, "At the mean row the predicted &lt;script&gt;");
    CONTAINS(text, "data-prediction=\"1\"");
    CONTAINS(
        text,
        "Of one network's variance 75.0 % is procedural: retraining would change the answer more than other rows.");
    CONTAINS(text,
             "<tr data-part=\"ensemble\"><th scope=\"row\" class=\"l\">ensemble of 4</th><td data-variance=\"0.8125\"");
    CONTAINS(text, "data-predictive-lo=\"-3.5\"");
    CONTAINS(text, "<b>What to do:</b> Train &lt;script&gt;");
    CONTAINS(text, "<h2 id=\"warnings\">Warning</h2>");
    CONTAINS(text, "Of 40 rows 92.5 % lie inside the 95 % interval"); /* all but the three at 2.0 */
    free(text);
    k.point[0].procedural.variance = 0.125;
    has("80.0 % is due to the data: other rows would change the answer more than retraining.");
    k.point[0].procedural.variance = 0.5;
    has("50.0 % is procedural and 50.0 % due to the data");
    k.point[0].at = "row:17";
    has("At row 17 the predicted");
}

TEST(what_is_unknown_is_left_out_and_said)
{
    fill();
    epiq_point *p = &k.point[0];
    *p = (epiq_point){.at = "mean", .prediction = 3};
    k.r.fit.known = 0;
    k.r.sweep_count = 0;
    k.r.warning_count = 0;
    k.options.sweep = 0;
    char *text = page();
    EQ(count(text, "<svg class=\"chart\""), 0);
    EQ(count(text, "<td>unknown</td>"), 5);
    CONTAINS(text, "No networks were trained on all rows");
    CONTAINS(text, "No influential rows are listed");
    CONTAINS(text, "No sweeps were asked for");
    CONTAINS(text, "Leave-one-out predictions come with the method if");
    TRUE(!strstr(text, "Warning"));
    free(text);
    fill();
    k.r.fit.observed = k.r.fit.loo = k.r.fit.loo_sd = NULL;
    has("The single predictions were not kept");
    fill();
    k.loo_sd[7] = 0;
    has("Without noise there are no intervals");
    fill();
    k.r.sweep_count = 0;
    has("No feature takes more than one value");
}

TEST(networks_brought_along_have_no_features_and_no_training)
{
    fill();
    const report_given given = {.until = 0.5};
    k.r.given.rows = ROWS;
    k.r.given.members = MEMBERS;
    k.r.given.batches = 4;
    k.r.given.added = 2;
    k.r.sweep_count = 0;
    k.options.sweep = 0;
    k.options.state = HOSTILE;
    k.run.command = "epiq combine --ensemble m.csv";
    k.run.data = report_given_data(&k.r);
    k.run.given = &given;
    k.point[0].at = "3";
    char *text = page();
    EQ(count(text, "<svg class=\"chart\""), 4 + 2);
    CONTAINS(text, "<p class=\"kicker\">epiq combine</p>");
    CONTAINS(text, "At point 3 the predicted y is ");
    CONTAINS(text, "Each row was predicted from all others by kernel regression, with the kernel that was given: ");
    CONTAINS(text, "down to 50 % of it; there are 6, so train ");
    CONTAINS(text, "networks trained on a batch each</th><td class=\"l wide\">4</td>");
    CONTAINS(text, "added there</th><td class=\"l wide\">2</td>");
    CONTAINS(text, "kernel</th><td class=\"l wide\">gram</td>");
    TRUE(!strstr(text, "sweep"));
    TRUE(!strstr(text, "networks trained</th>"));
    TRUE(!strstr(text, "All options"));
    free(text);

    k.point[0] = (epiq_point){.at = "1", .prediction = 3};
    k.r.methods = EPIQ_BA;
    k.r.given.rows = 0;
    k.run.data = report_given_data(&k.r);
    k.r.fit.known = 0;
    text = page();
    EQ(count(text, "<svg class=\"chart\""), 0);
    CONTAINS(text, "an ensemble and a kernel with y, or retrained networks, give both parts");
    CONTAINS(text, "No two networks trained on all rows were given");
    CONTAINS(text, "that takes a kernel with y");
    CONTAINS(text, "Leave-one-out predictions take a kernel and y; no kernel was given.");
    CONTAINS(text, "rows</th><td class=\"l wide\">unknown</td>");
    TRUE(!strstr(text, "--methods"));
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
    }
    k.r.point_count = 600;
    char *text = page();
    EQ(count(text, "<tr data-point="), 500);
    EQ(count(text, "<section"), ESTIMATE_DETAILED);
    EQ(count(text, "<svg class=\"chart\""), 2 + 4 * ESTIMATE_DETAILED + FEATURES + 2);
    CONTAINS(text, "These are the first 500 of 600 points");
    CONTAINS(text, "Drawn are the first 30 of 600 points");
    CONTAINS(text, "data-least=\"0\"");
    CONTAINS(text, "data-most=\"599\"");
    free(text);
}

TEST(pictures_have_the_numbers_they_should)
{
    fill();
    pictures *set = report_estimate_pictures(&k.r, &k.run);
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

    /* three networks at each of two places, counted upwards */
    s = &dots->panel.series[0];
    EQ(s->count, MEMBERS);
    NEAR(s->y[0], 1, 0);
    NEAR(s->y[MEMBERS - 1], 3, 0);
    pictures_free(set);
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
    report_html(out, &k.r, &k.run, &all.album);
    fclose(out);
    STR(with, without);
    EQ(all.count, 4 + FEATURES + 2);
    TRUE(!all.album.incomplete);
    STR(all.names[4], "sweep-1-script-alert-x-script-q-31m");
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
    const page_fact facts[] = {{"seed", "7", NULL, 0}, {"seconds", NULL, "%.3f", 1.5}, {"gone", NULL, "%.0f", NAN}};
    epiq_options o = epiq_options_default();
    page_open(out, "epiq verb", "A <title>", "An answer.");
    page_warnings(out, NULL, 0);
    page_manifest(out, "epiq verb x", facts, 3, &o);
    html_close(out);
    fclose(out);
    TRUE(whole_html(text));
    CONTAINS(text, "<p class=\"answer\">An answer.</p>");
    CONTAINS(text, "seconds</th><td class=\"l wide\">1.500</td>");
    CONTAINS(text, "gone</th><td class=\"l wide\">unknown</td>");
    CONTAINS(text, "lambda</th><td class=\"l wide\">0.001</td>");
    TRUE(!strstr(text, "warnings\""));
    free(text);
}
