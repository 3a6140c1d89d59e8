/* cmd_estimate.c - epiq estimate: a table, a target, some points; the variances of the prediction there. */
#include "cli/question.h"

static int run(cli *c)
{
    const int code = dry_run_check(c);
    return code ? code : run_estimate(c, &(question){.load = load_table});
}

static const flag FLAGS[] = {
    FLAG("at", "Points", "rows|mean|row:I|NAME=X,...|FILE", "rows",
         "where to ask: rows, every row of the table (at most 1000) of networks that have not seen it; the mean row; "
         "row I (from 1); a point in words, features that are not named being as usual; every row of a file; "
         "repeatable"),
    SWEEP_FLAG,
    OUTPUT_FLAGS,
    REPORT_FLAGS,
    VERBOSE_FLAG,
    DRY_RUN_FLAG,
    {0},
};

const verb VERB_ESTIMATE = {
    .name = "estimate",
    .operand = "DATA",
    .usage = "DATA --target COL [flags]",
    .summary = "how far to trust a prediction from the table DATA (CSV, NPY or NPZ; - is standard input), and why",
    .flags = FLAGS,
    .takes = EPIQ_FOR_ESTIMATE,
    .reads = true,
    .mpi = true,
    .run = run,
};
