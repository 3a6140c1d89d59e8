/* cmd_estimate.c - epiq estimate: a table, a target, some points; the variances of the prediction there. */
#include "cli/cli.h"

#include <string.h>

int load_table(cli *c, epiq_data **data, epiq_points **at)
{
    int status = epiq_data_read(c->ctx, c->operand, &c->options, data);
    if (status >= 0) {
        status = epiq_points_new(c->ctx, *data, at);
    }
    for (ptrdiff_t i = 0; status >= 0 && i < c->given_count; i++) {
        if (strcmp(c->given[i].name, "at") == 0) {
            status = epiq_points_add(c->ctx, *at, c->given[i].value);
        }
    }
    return status >= 0 && !args_value(c, "at") ? epiq_points_add(c->ctx, *at, "mean") : status;
}

static int run(cli *c)
{
    return run_estimate(c, &(estimation){.load = load_table});
}

static const flag FLAGS[] = {
    {"at", "Points", "where to ask: the mean row, row I (from 1), every row of a file; repeatable", NULL, "mean",
     "mean|row:I|FILE"},
    SWEEP_FLAG,
    OUTPUT_FLAGS,
    REPORT_FLAGS,
    {0},
};

const verb VERB_ESTIMATE = {
    .name = "estimate",
    .operand = "DATA",
    .usage = "DATA --target COL [flags]",
    .summary = "how far to trust a prediction from the table DATA (CSV, NPY or NPZ; - is standard input), and why",
    .flags = FLAGS,
    .model = true,
    .reads = true,
    .run = run,
};
