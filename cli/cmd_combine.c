/* cmd_combine.c - epiq combine: what networks of your own predicted, and what their predictions owe to the rows; the
 * answer is epiq estimate's. What goes together, and what is missing, is the library's to say.
 */
#include "cli/question.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ENSEMBLE, BATCHED, GRAM, CROSS, JACOBIAN, JACOBIAN0, Y, YHAT, AT, MATRICES };
static const char *const INPUTS[] = {"ensemble", "batched", "gram", "cross", "jacobian", "jacobian0",
                                     "y",        "yhat",    "at",   "merge", NULL}; /* the matrices first */

/* ---- flags ---- */

static int check_twice(const cli *c)
{
    for (ptrdiff_t i = 0; i < c->given_count; i++) {
        const char *name = c->given[i].name;
        bool once = (args_input(c, i) && strcmp(name, "merge") != 0) || strcmp(name, "append") == 0;
        bool networks = strcmp(name, "ensemble") == 0 || strcmp(name, "batched") == 0;
        for (ptrdiff_t k = 0; once && k < i; k++) {
            if (strcmp(name, c->given[k].name) == 0) {
                return complain(CODE_USAGE, "--%s is given twice; %s", name,
                                networks ? "--append FILE gathers networks of several files" : "name one file");
            }
        }
    }
    return CODE_OK;
}

/* A file cannot be gathered into itself. */
static int check_sources(const cli *c)
{
    const char *append = args_value(c, "append");
    for (ptrdiff_t i = 0; append && i < c->given_count; i++) {
        if (strcmp(c->given[i].name, "merge") == 0 && same_file(c->given[i].value, append)) {
            return complain(CODE_USAGE, "--append and --merge both name %s; its networks are counted once anyway",
                            append);
        }
    }
    return CODE_OK;
}

static int check_until(const cli *c, double *until)
{
    const char *text = args_value(c, "until");
    int code = args_real(c, "until", -INFINITY, INFINITY, until);
    if (code || !text) {
        return code;
    }
    if (!args_value(c, "ensemble") && !args_value(c, "append") && !args_value(c, "merge")) {
        return complain(CODE_USAGE,
                        "--until counts the networks of --ensemble, --append and --merge; give one of them");
    }
    return epiq_members_for(*until, c->options.level) > 0
               ? CODE_OK
               : complain(
                     CODE_USAGE,
                     "--until is \"%s\"; it must be above 0 and not tiny: 0.5 wants an interval that reaches about "
                     "half the variance up and down",
                     text);
}

static int check(cli *c, double *until)
{
    static const char *const OPTIONS[] = {"lambda", "ensemble-size", NULL}; /* the library's, under their own help */
    int code = check_twice(c);
    for (const char *const *name = OPTIONS; !code && *name; name++) {
        code = args_value(c, *name) ? args_option(c, *name, args_value(c, *name)) : CODE_OK;
    }
    c->options.state = args_value(c, "append");
    code = code ? code : check_sources(c);
    return code ? code : check_until(c, until);
}

/* ---- the answer ---- */

typedef struct {
    epiq_matrix *matrix[MATRICES];
    const char **merge;
    report_given given;
} combination;

static int read_matrices(combination *j, cli *c)
{
    int status = EPIQ_OK;
    for (int k = 0; status >= 0 && k < MATRICES; k++) {
        const char *path = args_value(c, INPUTS[k]);
        status = watch_signal() ? EPIQ_E_STOPPED : path ? epiq_matrix_read(c->ctx, path, &j->matrix[k]) : EPIQ_OK;
    }
    return status;
}

static int find(void *self, cli *c, report_run *run, epiq_result **out)
{
    combination *j = self;
    double began = now();
    int status = read_matrices(j, c);
    run->read_seconds = now() - began;
    epiq_given g = {.ensemble = j->matrix[ENSEMBLE],
                    .batched = j->matrix[BATCHED],
                    .y = j->matrix[Y],
                    .yhat = j->matrix[YHAT],
                    .gram = j->matrix[GRAM],
                    .cross = j->matrix[CROSS],
                    .jacobian = j->matrix[JACOBIAN],
                    .jacobian0 = j->matrix[JACOBIAN0],
                    .at = j->matrix[AT],
                    .merge = j->merge};
    for (ptrdiff_t i = 0; i < c->given_count; i++) {
        if (strcmp(c->given[i].name, "merge") == 0) {
            j->merge[g.merge_count++] = c->given[i].value;
        }
    }
    status = status < 0 ? status : epiq_combine(c->ctx, &g, &c->options, out);
    if (status >= 0) {
        run->data = report_given_data(*out);
        run->given = &j->given;
    }
    return status;
}

static int run(cli *c)
{
    combination j = {.merge = calloc((size_t)c->given_count + 1, sizeof *j.merge)};
    int code = j.merge ? check(c, &j.given.until) : complain(CODE_NUMERIC, "no memory for the names of the files");
    code = code ? code : run_estimate(c, &(estimation){.find = find, .self = &j});
    for (int k = 0; k < MATRICES; k++) {
        epiq_matrix_free(c->ctx, j.matrix[k]);
    }
    free(j.merge);
    return code;
}

static const flag FLAGS[] = {
    {"ensemble", "Predictions", "predictions of networks trained on all rows: a line a network, a column a point", NULL,
     "", "FILE"},
    {"batched", "Predictions", "predictions of networks trained on one batch of the rows each, likewise", NULL, "",
     "FILE"},
    {"append", "Predictions", "keep these networks in STATE, each once, and count all that are there", NULL, "",
     "STATE"},
    {"merge", "Predictions", "add the networks that another run has kept in its STATE; repeatable", NULL, "", "STATE"},
    {"at", "Predictions", "the points themselves, a line each, so that networks kept for other points are refused",
     NULL, "", "FILE"},
    {"until", "Predictions",
     "say how many networks it takes until the interval of the procedural variance reaches REL times it up and down "
     "(half its width)",
     NULL, "", "REL"},
    {"y", "Rows", "what the networks were trained on, a line a row", NULL, "", "FILE"},
    {"yhat", "Rows", "their mean prediction there", NULL, "kernel regression's", "FILE"},
    {"gram", "Rows", "kernel of the rows, rows by rows", NULL, "", "FILE"},
    {"cross", "Rows", "kernel of rows and points, rows by points", NULL, "", "FILE"},
    {"jacobian", "Rows", "instead of a kernel: derivatives of a network's prediction at the rows, rows by parameters",
     NULL, "", "FILE"},
    {"jacobian0", "Rows", "the same at the points, points by parameters", NULL, "", "FILE"},
    {"lambda", "Rows", "weight of |theta - theta0|^2 in the loss of these networks", NULL, "1e-3", "X"},
    OUTPUT_FLAGS,
    REPORT_FLAGS,
    {"ensemble-size", "Estimates",
     "networks in the ensemble whose variance is wanted (0: as many as batches, without any as members)", NULL, "0",
     "N"},
    {0},
};

const verb VERB_COMBINE = {
    .name = "combine",
    .usage = "[--ensemble FILE] [--batched FILE] [--y FILE ...] [flags]",
    .summary = "the same answer for networks of your own, trained anywhere: from what they predicted and what their "
               "predictions owe to the rows (matrices as CSV, with or without a header, or NPY; - is standard input)",
    .flags = FLAGS,
    .model = true,
    .without =
        (const char *const[]){"Columns", "methods", "members",   "batches",  "sweep",   "engine", "width",
                              "depth",   "bias",    "bias-sd",   "Training", "kernel",  "hbar",   "linear-kernel",
                              "solver",  "rank",    "tolerance", "parts",    "scratch", "state",  NULL},
    .inputs = INPUTS,
    .run = run,
};
