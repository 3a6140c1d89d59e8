/* A result on paper: the lines about a new observation, about sweeps and about networks brought along in text, JSON and
 * CSV, with all of it known, nothing of it known, and names that would harm a terminal. */
#include "made_result.h"
#include "report/report.h"
#include "test.h"
#include "usual.h"

#include <stdlib.h>

typedef enum { TEXT, COLOURED, JSON, CSV } form;

static const char *const NAMES[] = {"rooms", "age \x1b[31m\xff\n"};
static epiq_options options;
static const combine_request *given; /* NULL: the result is of an estimate */
static made_result m;                /* what result() points to */
static bool verbose;

static char *written(const epiq_result *r, form f)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    report_run run = {.command = "epiq",
                      .options = &options,
                      .verbose = verbose,
                      .data = {.rows = 40, .features = 2, .feature = NAMES, .target = "y"}};
    if ((run.given = given)) run.data = combine_data(r);
    if (f == JSON) {
        ESTIMATE_WRITERS.json(out, &(report_answer){.result = r}, &run);
    } else if (f == CSV) {
        ESTIMATE_WRITERS.csv(out, &(report_answer){.result = r});
    } else {
        doc_text(out, &ESTIMATE_WRITERS, &(report_answer){.result = r}, &run, (report_style){f == COLOURED, false});
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
                    .full_variance = part(7),
                    .procedural = part(16),
                    .data = part(3),
                    .member_count = 4,
                    .predictive = {1, 13.125, 30.5, 9},
                    .influential = epiqp_empty_list,
                    .corrected = &NOT_CORRECTED};
    p.kernel_prediction.known = 1;
    p.kernel_prediction.value = 21.5;
    return p;
}

static epiq_result result(const epiq_point *points, ptrdiff_t count)
{
    options = usual_options();
    given = NULL;
    make_result(&m, points, count);
    m.ran.ensemble_size = 5;
    m.advice.text = "None.";
    return m.r;
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

/* The lines of the text as it is now that it did not have before in this test. */
static void lines(const epiq_result *r)
{
    static char before[1 << 16];
    before[0] = sentence_number ? before[0] : '\0';
    char *text = written(r, TEXT), *rest = NULL, *copy = strdup(text);
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (!strstr(before, line)) SENTENCE(line);
    }
    snprintf(before, sizeof before, "%s", text);
    free(copy);
    free(text);
}

TEST(an_observation_has_its_own_paragraph)
{
    epiq_point p = point("mean");
    epiq_result r = result(&p, 1);
    lines(&r);
    has(&r, TEXT, "\nAt the mean row the predicted y is 20.0, give or take 2.6 (");
    has(&r, TEXT, ": 13.1 to 30.5 (standard deviation 4.0: noise 3.0, data 1.7, retraining 2.0; ");
    verbose = true;
    lines(&r);
    has(&r, TEXT, "\n  mean of these 4 ");
    verbose = false;
    has(&r, JSON,
        "\"predictive\": {\"lo\": 13.125, \"hi\": 30.5, \"level\": 0.95, \"noise_sd\": 3, \"by\": "
        "\"leave-one-out\"},\n");
    has(&r, CSV, ",predictive_lo,predictive_hi,left_out,confidence_lo,confidence_hi,full_variance\n");
    has(&r, CSV, ",13.125,30.5,0,,,7\n");
    p.member_count = 0; /* the kernel predictor itself: no procedure in it */
    p.prediction_variance = p.full_variance = part(7);
    lines(&r);
    p.data = p.prediction_variance = p.full_variance = (epiq_part){0};
    lines(&r);
    p.predictive.known = 0;
    p.procedural = (epiq_part){0};
    lines(&r);
    has(&r, JSON, "\"predictive\": null,\n");
    has(&r, CSV, ",,,0,,,\n");
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
    CONTAINS(text, "\n  row:1          20.0        2.6   13.1 to 30.5\n");
    CONTAINS(text, "  none\n");
    TRUE(!strstr(text, " \n"));
    free(text);
    verbose = true;
    text = written(&r, TEXT);
    verbose = false;
    const char *head = strstr(text, "\nat "), *first = strstr(text, "\nrow:1"), *last = strstr(text, "  unknown\nInt");
    TRUE(head && first && last);
    if (head && first && last) {                                                    /* aligned with its heading */
        EQ(strstr(head, "std dev") + 7 - head, strstr(first, " 2.6 ") + 4 - first); /* of the prediction */
        EQ(strstr(head, "prediction interval") - head, strstr(first, "13.1 to 30.5\n") - first);
    }
    TRUE(!strstr(text, " \n"));
    free(text);
}

TEST(sweeps_have_a_line_a_feature)
{
    epiq_point p = point("mean"), ends[3] = {point("a"), point("b"), point("c")};
    const epiq_point *const list[] = {&ends[0], &ends[1], &ends[2], NULL};
    const double value[] = {1, 2, 4.5};
    ends[2].prediction = 31.25;
    ends[2].prediction_variance = ends[2].full_variance = ends[2].data = (epiq_part){0};
    const epiq_sweep sweeps[] = {{0, 3, value, list, 3, value}, {1, 2, value, list, 2, value}};
    epiq_result r = result(&p, 1);
    r.sweeps = (const epiq_sweep *const[]){&sweeps[0], &sweeps[1], NULL};
    r.sweep_count = 2;
    options.sweep = 3;
    lines(&r);
    has(&r, TEXT, "\nrooms                 1        20.0         2.6         4.5       31.25     unknown\n");
    has(&r, TEXT, "\nage ?[31m??           1        20.0         2.6           2        20.0         2.6\n");
    has(&r, JSON,
        "      \"feature\": \"rooms\",\n      \"values\": [1, 2, 4.5],\n      \"prediction\": [20, 20, 31.25],\n"
        "      \"procedural\": [16, 16, 16],\n      \"data\": [3, 3, null]\n");
    lacks(&r, TEXT, "\033");
    has(&r, COLOURED, "\033[1mmean\033[0m;");
    options.sweep = 0;
    r.sweeps = epiqp_empty_list;
    r.sweep_count = 0;
    lacks(&r, JSON, "sweeps");
    lacks(&r, TEXT, "least");
}

TEST(networks_brought_along_are_counted_and_nothing_is_said_of_training)
{
    epiq_point p = point("1");
    epiq_result r = result(&p, 1);
    combine_request all = {.until = 0.5};
    given = &all;
    m.ran.methods = EPIQ_IF | EPIQ_EV | EPIQ_BA;
    m.given.rows = 200;
    m.given.parameters = 1185;
    m.given.members = 1;
    m.given.batches = 5;
    m.advice.action = EPIQ_DO_COLLECT;
    m.advice.rows = 200;
    lines(&r);
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
    lines(&r);
    snprintf(line, sizeof line, "there is 1, so train %td more.\n", needed - 1);
    has(&r, TEXT, line);
    m.given.members = needed;
    has(&r, JSON, "\"reached\": true");
    lines(&r);

    /* no rows, no kernel, kept in a file with a name that would harm a terminal */
    m.ran.methods = EPIQ_EV;
    m.given.rows = m.given.parameters = m.given.batches = m.advice.rows = 0;
    m.given.members = 3;
    m.given.added = 1;
    m.given.kept = 3;
    options.state = "a\x1b[31m.state";
    all.until = 0;
    lines(&r);
    lacks(&r, TEXT, "Networks:");
    lacks(&r, JSON, "\"until\"");
    has(&r, JSON, "\"rows\": null, \"points\": 1, \"added\": 1, \"kept\": 3},\n");
    has(&r, JSON, "\"data\": {\n    \"rows\": null,\n");
    has(&r, JSON, "\n    \"kernel\": null,\n    \"lambda\": null\n");
    has(&r, JSON, "\n    \"rows\": null,\n    \"text\"");
    m.advice.action = EPIQ_DO_TRAIN;
    has(&r, JSON, "\n    \"rows\": 0,\n    \"text\"");
}
