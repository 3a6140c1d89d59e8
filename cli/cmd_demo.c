/* cmd_demo.c - epiq demo: the whole thing on made-up data, with nothing to prepare. */
#include "cli/question.h"

#include <stdlib.h>
#include <unistd.h>

enum { SET = 1, ROWS = 200, FEATURES = 8, SEED = 1 };

static int load(question *q, cli *c)
{
    static double x[ROWS * FEATURES], y[ROWS];
    double where[FEATURES];
    for (int k = 0; k < FEATURES; k++) {
        where[k] = 0.1; /* the middle of the cube the rows fill */
    }
    c->options.scale = EPIQ_SCALE_NONE;
    int status = epiq_synth(c->ctx, SET, ROWS, FEATURES, SEED, x, y);
    status = status < 0 ? status : epiq_data_new(c->ctx, ROWS, FEATURES, x, y, NULL, &c->options, &q->data);
    status = status < 0 ? status : epiq_points_new(c->ctx, q->data, &q->at);
    return status < 0 ? status : epiq_points_add_rows(c->ctx, q->at, 1, where);
}

/* If the folder cannot be written, there is no page. */
static const char *page_here(const cli *c)
{
    if (access(".", W_OK) == 0) return "epiq-report.html";
    if (!args_value(c, "report") && !args_value(c, "quiet")) {
        complain(CODE_OK, "no epiq-report.html: this folder cannot be written; --report FILE.html names another place");
    }
    return NULL;
}

static int run(cli *c)
{
    static const char *const BEFORE =
        "200 made-up rows: eight features in [0, 0.2], y the sum of their sines plus noise of 0.1. Networks are "
        "trained\n"
        "on them and asked about the middle, x = (0.1, ..., 0.1). How far can the answer be trusted, and why?";
    static const char *const AFTER =
        "Try next (epiq is build/epiq until it is installed):\n"
        "  epiq demo --verbose\n"
        "      every number behind these lines\n"
        "  epiq demo --engine infinite\n"
        "      the same without training, in closed form\n"
        "  epiq estimate examples/kiln.csv --target strength_mpa --at examples/kiln_new.csv\n"
        "      the sample table of the source tree, and six questions about it (examples/README.md)\n"
        "  epiq estimate TABLE.csv --target COLUMN\n"
        "      your own table";
    question q = {.load = load, .page = page_here(c), .answer = {.before = BEFORE, .after = AFTER}};
    return run_estimate(c, &q);
}

static const flag FLAGS[] = {SWEEP_FLAG, OUTPUT_FLAGS, REPORT_FLAGS, VERBOSE_FLAG, {0}};

const verb VERB_DEMO = {
    .name = "demo",
    .usage = "[flags]",
    .summary = "makes data, estimates, explains, writes epiq-report.html: nothing to prepare",
    .flags = FLAGS,
    .takes = EPIQ_FOR_DEMO,
    .run = run,
};
