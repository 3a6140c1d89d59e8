/* A result on paper: the lines about a new observation, about sweeps and about networks brought along in text, JSON and
 * CSV, with all of it known, nothing of it known, and names that would harm a terminal. */
#include "report/report.h"
#include "test.h"

#include <stdlib.h>

typedef enum { TEXT, COLOURED, JSON, CSV } form;

static const char *const NAMES[] = {"rooms", "age \x1b[31m\xff\n"};
static epiq_options options;
static const report_given *given; /* NULL: the result is of an estimate */

static char *written(const epiq_result *r, form f)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    report_run run = {
        .command = "epiq", .options = &options, .data = {.rows = 40, .features = 2, .feature = NAMES, .target = "y"}};
    if ((run.given = given)) {
        run.data = report_given_data(r);
    }
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
    given = NULL;
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

TEST(networks_brought_along_are_counted_and_nothing_is_said_of_training)
{
    epiq_point p = point("1");
    epiq_result r = result(&p, 1);
    report_given all = {.until = 0.5};
    given = &all;
    r.methods = EPIQ_IF | EPIQ_EV | EPIQ_BA;
    r.given.rows = 200;
    r.given.parameters = 1185;
    r.given.members = 1;
    r.given.batches = 5;
    r.advice.action = EPIQ_DO_COLLECT;
    r.advice.rows = 200;
    has(&r, TEXT,
        "1 network trained on all rows, 5 on a batch of them each; 200 rows, kernel of a Jacobian of "
        "1185 parameters, lambda 0.001; ");
    lacks(&r, TEXT, "engine");
    has(&r, JSON,
        "\n  \"model\": {\n    \"engine\": null,\n    \"kernel\": \"jacobian\",\n    \"lambda\": 0.001,\n    "
        "\"parameters\": 1185\n  },\n");
    has(&r, JSON, "\n    \"features\": [],\n    \"target\": null,\n    \"scale\": \"none\",\n");
    has(&r, JSON, "\"target_scale\": {\"shift\": 0, \"factor\": 1}\n");
    has(&r, JSON,
        "\n  \"given\": {\"members\": 1, \"batches\": 5, \"rows\": 200, \"points\": 1, \"added\": null, \"kept\": "
        "null},\n");
    has(&r, JSON, "\n    \"rows\": 200,\n    \"text\"");
    lacks(&r, JSON, "\"width\"");
    /* how many is the library's business; tests/cli/combine.sh computes it apart */
    ptrdiff_t needed = epiq_members_for(0.5, 0.95);
    char line[200];
    snprintf(line, sizeof line, "\"until\": {\"relative\": 0.5, \"reached\": false, \"members\": 1, \"needed\": %td}",
             needed);
    has(&r, JSON, line);
    snprintf(line, sizeof line, "down to 50 %% of it; there is 1, so train %td more.\n", needed - 1);
    has(&r, TEXT, line);
    r.given.members = needed;
    has(&r, JSON, "\"reached\": true");
    has(&r, TEXT, ", which is enough.\n");

    /* no rows, no kernel, kept in a file with a name that would harm a terminal */
    r.methods = EPIQ_EV;
    r.given.rows = r.given.parameters = r.given.batches = r.advice.rows = 0;
    r.given.members = 3;
    r.given.added = 1;
    r.given.kept = 3;
    options.state = "a\x1b[31m.state";
    all.until = 0;
    has(&r, TEXT, "3 networks trained on all rows; ");
    has(&r, TEXT, "\na?[31m.state: 1 network added, 3 there now\n");
    lacks(&r, TEXT, "Networks:");
    lacks(&r, JSON, "\"until\"");
    has(&r, JSON, "\"rows\": null, \"points\": 1, \"added\": 1, \"kept\": 3},\n");
    has(&r, JSON, "\"data\": {\n    \"rows\": null,\n");
    has(&r, JSON, "\n    \"kernel\": null,\n    \"lambda\": null\n");
    has(&r, JSON, "\n    \"rows\": null,\n    \"text\"");
    r.advice.action = EPIQ_DO_TRAIN;
    has(&r, JSON, "\n    \"rows\": 0,\n    \"text\"");
}
