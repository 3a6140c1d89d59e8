/* cmd_compare.c - epiq compare: lists of widths, depths, lambdas and biases; every combination's error and variance. */
#include "cli/question.h"
#include "report/compare.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    question base;
    epiq_grid grid;
    epiq_comparison *comparison;
} compare_job;

static int find(question *q, cli *c, const epiq_data *data, const epiq_points *at)
{
    compare_job *j = (compare_job *)q;
    watch_finish();
    int status = epiq_compare(c->ctx, data, at, &c->options, &j->grid, &j->comparison);
    if (status >= 0) {
        q->answer.warnings = j->comparison->warnings;
        q->answer.warning_count = j->comparison->warning_count;
    }
    return status;
}

static void write_json(void *self, FILE *out)
{
    const compare_job *j = self;
    report_compare_json(out, j->comparison, &j->base.run);
}

static void write_csv(void *self, FILE *out)
{
    report_compare_csv(out, ((const compare_job *)self)->comparison);
}

static void write_page(void *self, FILE *out, svg_album *album)
{
    const compare_job *j = self;
    report_compare_html(out, j->comparison, &j->base.run, album);
}

static void print_text(void *self)
{
    const compare_job *j = self;
    report_compare_text(stdout, j->comparison, &j->base.run, terminal_style());
}

/* ---- lists ---- */

enum { MOST = 1000 };
static ptrdiff_t widths[MOST], depths[MOST];
static double lambdas[MOST], biases[MOST];

static const flag *own_flag(const cli *c, const char *name)
{
    const flag *f = c->verb->flags;
    while (strcmp(f->name, name) != 0) {
        f++;
    }
    return f;
}

/* Each item is checked and read by the library, as the option it is; the options keep the first. */
static int read_list(cli *c, const char *name, void *list, ptrdiff_t *count)
{
    const char *text = args_value(c, name);
    char *copy = strdup(text ? text : own_flag(c, name)->default_text), *rest = copy, *item;
    const bool whole = strcmp(name, "width") == 0 || strcmp(name, "depth") == 0;
    int code = copy ? CODE_OK : complain(CODE_NUMERIC, "no memory for the list of --%s", name);
    for (*count = 0; !code && (item = strsep(&rest, ","));) {
        if (*count == MOST) {
            code = complain(CODE_USAGE, "--%s lists more than %d values; shorten it", name, MOST);
        } else if (!(code = args_option(c, name, item)) && whole) {
            ((ptrdiff_t *)list)[(*count)++] = *name == 'w' ? c->options.width : c->options.depth;
        } else if (!code) {
            ((double *)list)[(*count)++] = *name == 'l' ? c->options.lambda : c->options.bias;
        }
    }
    free(copy);
    return code;
}

static int fill(cli *c, epiq_grid *g)
{
    long long folds = 5;
    const char *const shadowed[] = {"members", "ensemble-size"};
    int code = args_count(c, "folds", 0, 1000000, &folds);
    for (size_t k = 0; !code && k < sizeof shadowed / sizeof *shadowed; k++) {
        const char *value = args_value(c, shadowed[k]);
        code = args_option(c, shadowed[k], value ? value : own_flag(c, shadowed[k])->default_text);
    }
    code = code ? code : read_list(c, "width", widths, &g->width_count);
    code = code ? code : read_list(c, "depth", depths, &g->depth_count);
    code = code ? code : read_list(c, "lambda", lambdas, &g->lambda_count);
    code = code ? code : read_list(c, "bias", biases, &g->bias_count);
    if (c->options.engine == EPIQ_ENGINE_INFINITE && !args_value(c, "width")) {
        g->width_count = 0; /* it has none */
    }
    g->widths = widths;
    g->depths = depths;
    g->lambdas = lambdas;
    g->biases = biases;
    g->folds = (ptrdiff_t)folds;
    c->options.width = widths[0];
    c->options.depth = depths[0];
    c->options.lambda = lambdas[0];
    c->options.bias = biases[0];
    return code;
}

static int run(cli *c)
{
    compare_job j = {
        .base = {.load = load_table,
                 .find = find,
                 .answer = {.self = &j, .json = write_json, .csv = write_csv, .page = write_page, .text = print_text}}};
    int code = fill(c, &j.grid);
    code = code ? code : run_question(c, &j.base);
    epiq_comparison_free(c->ctx, j.comparison);
    return code;
}

static const flag FLAGS[] = {
    {"width", "Models", "list of units in each hidden layer", NULL, "256,1024", "N,N,.."},
    {"depth", "Models",
     "list of hidden layers; two of 1024 units train a hundred times as long as one, and --engine linear gives a quick "
     "look",
     NULL, "1", "N,N,.."},
    {"lambda", "Models", "list of weights of |theta - theta0|^2 in the loss", NULL, "1e-4,1e-3,1e-2", "X,X,.."},
    {"bias", "Models", "list of scales of the biases (0: none)", NULL, "1", "X,X,.."},
    {"folds", "Comparison",
     "parts of the rows left out in turn to measure the error; 0: none, the leave-one-out error "
     "of the kernel decides",
     NULL, "5", "K"},
    {"members", "Comparison", "networks trained on all rows, for the procedural variance of a model", NULL, "10", "N"},
    {"ensemble-size", "Comparison",
     "networks in the ensemble whose variance is compared, and whose mean predicts a fold", NULL, "5", "N"},
    {"at", "Points",
     "where the variance is compared: the mean row, row I (from 1), every row of a file; repeatable, then "
     "their mean counts",
     NULL, "mean", "mean|row:I|FILE"},
    {"json", "Output", "write everything as one JSON object (- is standard output)", NULL, "", "FILE|-"},
    {"csv", "Output", "write a line a model (- is standard output)", NULL, "", "FILE|-"},
    {"report", "Output", "write a page with a picture of error against variance", NULL, "", "FILE.html"},
    PICTURE_FLAGS,
    {"quiet", "Output", "print no summary, warnings or progress", NULL, "", NULL},
    {0},
};

const verb VERB_COMPARE = {
    .name = "compare",
    .operand = "DATA",
    .usage = "DATA --target COL [--width N,N,..] [--lambda X,X,..] [flags]",
    .summary =
        "which network? The error of every combination of widths, depths and lambdas against how unsure it is, and one "
        "to start with",
    .flags = FLAGS,
    .model = true,
    .reads = true,
    .without = (const char *const[]){"methods", "batches", "influential", "sweep", "state", "kernel", "hbar", "data-by",
                                     "replicates", NULL},
    .run = run,
};
