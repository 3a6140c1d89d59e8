/* cmd_combine.c - epiq combine: what networks of your own predicted, and what their predictions owe to the rows; the
 * answer is epiq estimate's. What goes together, and what is missing, is the library's to say.
 */
#include "cli/question.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ENSEMBLE, BATCHED, GRAM, CROSS, JACOBIAN, JACOBIAN0, AT, RETRAINED, TARGETS, Y, YHAT, LEFT_OUT, MATRICES };
static const char *const INPUTS[] = {"ensemble", "batched",   "gram",         "cross", "jacobian", "jacobian0",
                                     "at",       "retrained", "targets-file", "y",     "yhat",     "left-out",
                                     "merge",    NULL}; /* the matrices first, those that targets are made of last of them */

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
    long long replicates; /* 0: not told */
} combination;

static int read_matrices(combination *j, cli *c, int first)
{
    int status = EPIQ_OK;
    for (int k = first; status >= 0 && k < MATRICES; k++) {
        const char *path = args_value(c, INPUTS[k]);
        status = watch_signal() ? EPIQ_E_STOPPED : path ? epiq_matrix_read(c->ctx, path, &j->matrix[k]) : EPIQ_OK;
    }
    return status;
}

static int find(void *self, cli *c, report_run *run, epiq_result **out)
{
    combination *j = self;
    double began = now();
    int status = read_matrices(j, c, 0);
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
                    .merge = j->merge,
                    .left_out = j->matrix[LEFT_OUT],
                    .retrained = j->matrix[RETRAINED],
                    .targets = j->matrix[TARGETS],
                    .replicates = (ptrdiff_t)j->replicates};
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

/* ---- targets to train on again ---- */

static void write_targets(FILE *out, const char *path, ptrdiff_t rows, ptrdiff_t columns, const double *a)
{
    const char *ending = strrchr(path, '.');
    if (ending && strcmp(ending, ".npy") == 0) {
        report_npy(out, rows, columns, a);
        return;
    }
    for (ptrdiff_t i = 0; i < rows * columns; i++) {
        fprintf(out, "%s%c", report_double(a[i]).text, (i + 1) % columns ? ',' : '\n');
    }
}

/* What goes with --targets where it makes them, and with nothing else. */
static int check_making(const cli *c)
{
    static const char *const WITH[] = {"targets", "y", "yhat", "left-out", "output", "quiet", NULL};
    for (ptrdiff_t i = 0; i < c->given_count; i++) {
        const char *const *with = WITH;
        while (*with && strcmp(*with, c->given[i].name) != 0) {
            with++;
        }
        if (!*with) {
            return complain(CODE_USAGE,
                            "--%s says nothing of targets; --targets without --retrained makes them of --y, --yhat and "
                            "--left-out alone",
                            c->given[i].name);
        }
    }
    return args_value(c, "output") ? CODE_OK : complain(CODE_USAGE, "where to? give -o FILE.npy or -o FILE.csv");
}

static int make_targets(combination *j, cli *c, output *out, double *step)
{
    int status = read_matrices(j, c, Y);
    if (status < 0) {
        return watch_signal() ? complain(CODE_SIGNAL + watch_signal(), "stopped") : failed(c, status);
    }
    ptrdiff_t rows = 2 * (ptrdiff_t)j->replicates, columns = j->matrix[Y] ? j->matrix[Y]->rows : 0;
    double *targets = calloc((size_t)rows, ((size_t)columns + 1) * sizeof *targets);
    if (!targets) {
        return complain(CODE_NUMERIC, "no memory for %td target vectors of %td rows; use a smaller --targets", rows,
                        columns);
    }
    epiq_given g = {.y = j->matrix[Y],
                    .yhat = j->matrix[YHAT],
                    .left_out = j->matrix[LEFT_OUT],
                    .replicates = (ptrdiff_t)j->replicates};
    status = epiq_targets(c->ctx, &g, &c->options, targets, step);
    int code = status < 0 ? failed(c, status) : CODE_OK;
    if (!code) {
        write_targets(out->file, out->path, rows, columns, targets);
    }
    free(targets);
    return code;
}

/* Last, when the file is in its place. */
static void say_targets(const combination *j, const cli *c, double step)
{
    const char *path = args_value(c, "output");
    if (!args_value(c, "quiet") && !names_stdout(path)) {
        printf("%td target vectors of %td rows, a step of %.4g up and down in turn, in ", 2 * (ptrdiff_t)j->replicates,
               j->matrix[Y]->rows, step);
        report_plain(stdout, path);
        puts("\nFor each train two networks from starts of the ensemble, up and down of a pair from the same two; what "
             "they\n"
             "predict at the points, a line a network in the order of the vectors, is for --retrained.");
    }
}

static int run_targets(combination *j, cli *c)
{
    output out = {0};
    double step = 0;
    int code = check_making(c);
    if (code) {
        return code;
    }
    watch_start(&c->ctx, 1, args_value(c, "quiet"));
    code = output_open(&out, args_value(c, "output"), c);
    code = code ? code : make_targets(j, c, &out, &step);
    watch_end();
    if (code) {
        output_drop(&out, 1);
        return code;
    }
    code = output_commit(&out, 1);
    if (code) {
        return code;
    }
    say_targets(j, c, step);
    return output_stdout();
}

/* ---- both ---- */

static int answer_or_targets(combination *j, cli *c)
{
    const bool making = args_value(c, "targets") && !args_value(c, "retrained");
    int code = check(c, &j->given.until);
    code = code ? code : args_count(c, "targets", 4, 100000, &j->replicates);
    if (code || making) {
        return code ? code : run_targets(j, c);
    }
    if (args_value(c, "output")) {
        return complain(CODE_USAGE,
                        "-o is where --targets writes, and there are none to write; --json, --csv and --report "
                        "name files for an answer");
    }
    return run_estimate(c, &(estimation){.find = find, .self = j});
}

static int run(cli *c)
{
    combination j = {.merge = calloc((size_t)c->given_count + 1, sizeof *j.merge)};
    int code = j.merge ? answer_or_targets(&j, c) : complain(CODE_NUMERIC, "no memory for the names of the files");
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
    {"left-out", "Retrained",
     "predictions of the rows by networks that have not seen the row, two or more for each: a line a network, a column "
     "a row",
     NULL, "", "FILE"},
    {"targets", "Retrained",
     "write R pairs of target vectors to train networks on again, made of --y, --yhat and --left-out; with "
     "--retrained: how "
     "many pairs these were trained on",
     NULL, "10", "R"},
    {"output", "Retrained", "where --targets writes, a line a vector: NPY if so named, else CSV; -o for short", NULL,
     "", "FILE|-"},
    {"retrained", "Retrained",
     "predictions of networks trained on these: two lines or more for each vector, plus and minus from the same starts",
     NULL, "", "FILE"},
    {"targets-file", "Retrained", "the target vectors, to be compared with those that this call would make", NULL, "",
     "FILE"},
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
    .o = "output",
    .run = run,
};
