/* cmd_estimate.c - epiq estimate: a table, a target, some points; the variances of the prediction there. */
#include "cli/question.h"

static int run(cli *c)
{
    static const char *const RESULTS[] = {"csv", "report", "pictures"};
    for (size_t i = 0; args_value(c, "dry-run") && i < sizeof RESULTS / sizeof *RESULTS; i++) {
        if (args_value(c, RESULTS[i])) {
            return complain(CODE_USAGE, "a dry run has nothing to write as --%s; leave one of the two out", RESULTS[i]);
        }
    }
    return run_estimate(c, &(estimation){.load = load_table});
}

static const flag FLAGS[] = {
    {"at", "Points", "where to ask: the mean row, row I (from 1), every row of a file; repeatable", NULL, "mean",
     "mean|row:I|FILE"},
    SWEEP_FLAG,
    OUTPUT_FLAGS,
    REPORT_FLAGS,
    {"dry-run", "Output", "tell what memory and time it would take, and take neither", NULL, "", NULL},
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
