/* cmd_estimate.c - epiq estimate: a table, a target, some points; the variances of the prediction there. */
#include "cli/question.h"

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
    .ranks = true,
    .run = run,
};
