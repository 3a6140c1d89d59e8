/* cmd_compare.c - epiq compare: lists of widths, depths, lambdas and biases; every combination's error and variance. */
#include "cli/question.h"
#include "common/verb_defaults.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    question base;
    epiq_grid grid;
    epiq_comparison *comparison;
} compare_job;

static int find(question *q, cli *c)
{
    compare_job *j = (compare_job *)q;
    if (args_value(c, "dry-run")) {
        return dry_run_found(q, epiq_compare_forecast(c->ctx, q->data, q->at, &c->options, &j->grid, &q->result));
    }
    watch_finish();
    int status = epiq_compare(c->ctx, q->data, q->at, &c->options, &j->grid, &j->comparison);
    q->answer.found.comparison = j->comparison;
    return status;
}

/* ---- lists ---- */

enum { MOST = 1000 };
static ptrdiff_t widths[MOST], depths[MOST];
static double lambdas[MOST], biases[MOST];

/* Each item is checked and read by the library, as the option it is; the options keep the first. */
static int read_list(cli *c, const char *name, const void *option, size_t size, void *list, ptrdiff_t *count)
{
    char *copy = strdup(args_text(c, name)), *rest = copy, *item;
    int code = copy ? CODE_OK : complain(CODE_NUMERIC, "no memory for the list of --%s", name);
    for (*count = 0; !code && (item = strsep(&rest, ","));) {
        if (*count == MOST) {
            code = complain(CODE_USAGE, "--%s lists more than %d values; shorten it", name, MOST);
        } else if (!(code = args_option(c, name, item))) {
            memcpy((char *)list + size * (size_t)(*count)++, option, size);
        }
    }
    code = code ? code : args_option(c, name, copy); /* which ends after its first item now */
    free(copy);
    return code;
}

static int fill(cli *c, epiq_grid *g)
{
    epiq_options *o = &c->options;
    *g = (epiq_grid){
        .size = sizeof *g, .widths = widths, .depths = depths, .lambdas = lambdas, .biases = biases, .folds = 5};
    int code = args_count(c, "folds", 0, 1000000, &g->folds);
    code = code ? code : args_own_option(c, "members");
    code = code ? code : args_own_option(c, "ensemble-size");
    code = code ? code : read_list(c, "width", &o->width, sizeof *widths, widths, &g->width_count);
    code = code ? code : read_list(c, "depth", &o->depth, sizeof *depths, depths, &g->depth_count);
    code = code ? code : read_list(c, "lambda", &o->lambda, sizeof *lambdas, lambdas, &g->lambda_count);
    code = code ? code : read_list(c, "bias", &o->bias, sizeof *biases, biases, &g->bias_count);
    if (o->engine == EPIQ_ENGINE_INFINITE && !args_value(c, "width")) {
        g->width_count = 0; /* it has none */
    }
    return code;
}

static int run(cli *c)
{
    compare_job j = {.base = {.load = load_table, .find = find, .answer = {.writers = &COMPARE_WRITERS}}};
    int code = dry_run_check(c);
    code = code ? code : fill(c, &j.grid);
    j.base.mean = j.grid.folds == 0 && c->options.engine != EPIQ_ENGINE_INFINITE;
    code = code ? code : run_question(c, &j.base);
    epiq_comparison_free(c->ctx, j.comparison);
    return code;
}

static const flag FLAGS[] = {
    FLAG("width", "Models", "N,N,..", COMPARE_WIDTH, "list of units in each hidden layer"),
    FLAG("depth", "Models", "N,N,..", COMPARE_DEPTH,
         "list of hidden layers; two of 1024 units train a hundred times as long as one, and --engine linear gives a "
         "quick look"),
    FLAG("lambda", "Models", "X,X,..", COMPARE_LAMBDA, "list of weights of |theta - theta0|^2 in the loss"),
    FLAG("bias", "Models", "X,X,..", COMPARE_BIAS, "list of scales of the biases (0: none)"),
    FLAG("folds", "Comparison", "K", "5",
         "parts of the rows left out in turn to measure the error; 0: none, the leave-one-out error of the kernel "
         "decides"),
    FLAG("members", "Comparison", "N", COMPARE_MEMBERS,
         "networks trained on all rows, for the procedural variance of a model at points that are no rows left out"),
    FLAG("ensemble-size", "Comparison", "N", COMPARE_ENSEMBLE_SIZE,
         "networks in the ensemble whose variance is compared, and whose mean predicts a fold"),
    FLAG("at", "Points", "rows|mean|row:I|NAME=X,...|FILE", "rows",
         "where the variance is compared: every row of the table, asked of networks that have not seen it; the mean "
         "row; row I (from 1); a point in words; every row of a file; repeatable, then their mean counts"),
    JSON_FLAG,
    FLAG("csv", "Output", "FILE|-", "", "write one line per model (- is standard output)"),
    FLAG("report", "Output", "FILE.html", "", "write a page with a picture of error against variance"),
    PICTURE_FLAGS,
    QUIET_FLAG,
    DRY_RUN_FLAG,
    {0},
};

const verb VERB_COMPARE = {
    .name = "compare",
    .operand = "DATA",
    .usage = "DATA --target COL [--width N,N,..] [--lambda X,X,..] [flags]",
    .summary = "compare widths, depths and penalties by error and variance; recommends one",
    .flags = FLAGS,
    .takes = EPIQ_FOR_COMPARE,
    .reads = true,
    .run = run,
};
