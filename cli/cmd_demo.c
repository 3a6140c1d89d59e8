/* cmd_demo.c - epiq demo: the whole thing on made-up data, with nothing to prepare. */
#include "cli/cli.h"

#include <stdlib.h>
#include <unistd.h>

enum { SET = 1, ROWS = 200, FEATURES = 8, SEED = 1 };

static int load(cli *c, epiq_data **data, epiq_points **at)
{
    static double x[ROWS * FEATURES], y[ROWS];
    double where[FEATURES];
    for (int k = 0; k < FEATURES; k++) {
        where[k] = 0.1; /* the middle of the cube the rows fill */
    }
    c->options.scale = EPIQ_SCALE_NONE;
    int status = epiq_synth(c->ctx, SET, ROWS, FEATURES, SEED, x, y);
    if (status >= 0) {
        status = epiq_data_new(c->ctx, ROWS, FEATURES, x, y, NULL, &c->options, data);
    }
    if (status >= 0) {
        status = epiq_points_new(c->ctx, *data, at);
    }
    return status >= 0 ? epiq_points_add_rows(c->ctx, *at, 1, where) : status;
}

/* It shows itself wherever it is tried: without a place for the page, without the page. */
static const char *page_here(const cli *c)
{
    if (access(".", W_OK) == 0) {
        return "epiq-report.html";
    }
    if (!args_value(c, "report") && !args_value(c, "quiet")) {
        complain(CODE_OK, "no epiq-report.html: this folder cannot be written; --report FILE.html names another place");
    }
    return NULL;
}

static int run(cli *c)
{
    return run_estimate(
        c,
        &(estimation){
            .load = load,
            .before =
                "200 made-up rows: eight features in [0, 0.2], y the sum of their sines plus noise of 0.1. Networks "
                "are trained\n"
                "on them and asked about the middle, x = (0.1, ..., 0.1). How far can the answer be trusted, and why?",
            .after = "Try next (epiq is build/epiq until it is installed):\n"
                     "  epiq demo --engine infinite                        the same without training, in closed form\n"
                     "  epiq synth 1 --n 500 --d 8 > rows.csv              such rows as a file\n"
                     "  epiq estimate rows.csv --target y --scale none     your own table goes where rows.csv stands",
            .page = page_here(c),
        });
}

static const flag FLAGS[] = {SWEEP_FLAG, OUTPUT_FLAGS, REPORT_FLAGS, {0}};

const verb VERB_DEMO = {
    .name = "demo",
    .usage = "[flags]",
    .summary = "makes data, estimates, explains, writes epiq-report.html: nothing to prepare",
    .flags = FLAGS,
    .model = true,
    .without = (const char *const[]){"Columns", NULL}, /* it brings its own */
    .run = run,
};
