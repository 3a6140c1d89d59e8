/* A result on paper: the lines about a new observation and about sweeps in text, JSON and CSV, with all of it known,
 * nothing of it known, and names that would harm a terminal. */
#include "report/report.h"
#include "test.h"

#include <stdlib.h>

typedef enum { TEXT, COLOURED, JSON, CSV } form;

static const char *const NAMES[] = {"rooms", "age \x1b[31m\xff\n"};
static epiq_options options;

static char *written(const epiq_result *r, form f)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const report_run run = {
        .command = "epiq", .options = &options, .data = {.rows = 40, .features = 2, .feature = NAMES, .target = "y"}};
    if (f == JSON) {
        report_json(out, r, &run);
    } else if (f == CSV) {
        report_csv(out, r);
    } else {
        report_text(out, r, &run, (report_style){f == COLOURED, false});
    }
    EQ(ferror(out), 0);
    fclose(out);
    return text;
}

static epiq_part part(double variance)
{
    return (epiq_part){.known = 1, .variance = variance, .method = EPIQ_BY_IF};
}

/* noise 9, data 3, procedural 16 in a mean of 4: 9 + 3 + 4 = 16, whose root is 4 */
static epiq_point point(const char *at)
{
    epiq_point p = {.at = at,
                    .prediction = 20,
                    .prediction_variance = part(7),
                    .procedural = part(16),
                    .data = part(3),
                    .member_count = 4,
                    .predictive = {1, 13.125, 30.5, 9}};
    p.kernel_prediction.known = 1;
    p.kernel_prediction.value = 21.5;
    return p;
}

static epiq_result result(const epiq_point *points, ptrdiff_t count)
{
    options = epiq_options_default();
    epiq_result r = {.points = points, .point_count = count, .ensemble_size = 5, .backend = "ref"};
    r.advice.text = "None.";
    return r;
}

static void has(const epiq_result *r, form f, const char *part)
{
    char *text = written(r, f);
    CONTAINS(text, part);
    free(text);
}

static void lacks(const epiq_result *r, form f, const char *part)
{
    char *text = written(r, f);
    TRUE(!strstr(text, part));
    free(text);
}

TEST(an_observation_has_its_own_paragraph)
{
    epiq_point p = point("mean");
    epiq_result r = result(&p, 1);
    has(&r, TEXT,
        "\n\n  a new observation       between 13.12 and 30.5 about 95 % of the time; built on kernel regression's "
        "21.5\n"
        "                          4 from this prediction (std dev): noise 3, data 1.73, procedure 2\n\n");
    has(&r, JSON,
        "\"predictive\": {\"interval\": [13.125, 30.5], \"level\": 0.95, \"method\": \"jackknife+\", \"noise\": 9},\n");
    has(&r, CSV, ",predictive_lo,predictive_hi\n");
    has(&r, CSV, ",13.125,30.5\n");
    p.member_count = 0; /* the kernel predictor itself: no procedure in it */
    p.prediction_variance = part(7);
    has(&r, TEXT,
        "between 13.12 and 30.5 about 95 % of the time\n                          4 from this prediction (std "
        "dev): noise 3, data 1.73\n");
    p.data = p.prediction_variance = (epiq_part){0};
    has(&r, TEXT, "  std dev from this prediction: noise 3\n");
    p.predictive.known = 0;
    p.procedural = (epiq_part){0};
    has(&r, TEXT, "\n\n  a new observation       unknown\n\nAdvice: None.\n");
    has(&r, JSON, "\"predictive\": null,\n");
    has(&r, CSV, ",,\n");
}

TEST(many_points_have_a_column_of_it)
{
    epiq_point p[6];
    for (int i = 0; i < 6; i++) {
        p[i] = point("row:1");
    }
    p[5].predictive.known = 0;
    epiq_result r = result(p, 6);
    char *text = written(&r, TEXT);
    const char *head = strstr(text, "\nat "), *first = strstr(text, "\nrow:1"), *last = strstr(text, "  unknown\nInt");
    TRUE(head && first && last);
    if (head && first && last) { /* aligned with its heading */
        EQ(strstr(head, "new obs") - head, strstr(first, "between 13.12 and 30.5\n") - first);
    }
    TRUE(!strstr(text, " \n"));
    free(text);
}

TEST(sweeps_have_a_line_a_feature)
{
    epiq_point p = point("mean"), ends[3] = {point("a"), point("b"), point("c")};
    const double value[] = {1, 2, 4.5};
    ends[2].prediction = 31.25;
    ends[2].prediction_variance = ends[2].data = (epiq_part){0};
    const epiq_sweep sweeps[] = {{0, 3, value, ends}, {1, 2, value, ends}};
    epiq_result r = result(&p, 1);
    r.sweeps = sweeps;
    r.sweep_count = 2;
    options.sweep = 3;
    has(&r, TEXT, "others as at mean; --json has");
    has(&r, TEXT, "\nrooms                 1          20        2.65         4.5       31.25     unknown\n");
    has(&r, TEXT, "\nage ?[31m??           1          20        2.65           2          20        2.65\n");
    has(&r, JSON,
        "      \"feature\": \"rooms\",\n      \"values\": [1, 2, 4.5],\n      \"prediction\": [20, 20, 31.25],\n"
        "      \"procedural\": [16, 16, 16],\n      \"data\": [3, 3, null]\n");
    lacks(&r, TEXT, "\033");
    has(&r, COLOURED, "\033[1mmean\033[0m;");
    options.sweep = 0;
    r.sweep_count = 0;
    lacks(&r, JSON, "sweeps");
    lacks(&r, TEXT, "least");
}
