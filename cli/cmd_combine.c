/* cmd_combine.c - epiq combine: what networks of your own predicted, and their tangent kernel; the
 * answer is epiq estimate's. The library checks what goes together and what is missing.
 */
#include "cli/question.h"
#include "report/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENSEMBLE,
    BATCHED,
    RESAMPLED,
    AUXILIARY,
    AUXILIARY_BATCHED,
    AUXILIARY_RESAMPLED,
    GRAM,
    CROSS,
    JACOBIAN,
    JACOBIAN0,
    AT,
    RETRAINED,
    TARGETS,
    Y,
    YHAT,
    LEFT_OUT,
    MATRICES
};
/* The matrices first; those that targets are made of are the last of them. */
static const char *const INPUTS[] = {
    "ensemble", "batched",  "resampled", "auxiliary", "auxiliary-batched", "auxiliary-resampled", "gram",
    "cross",    "jacobian", "jacobian0", "at",        "retrained",         "targets-file",        "y",
    "yhat",     "left-out", "merge",     NULL};

/* ---- flags ---- */

/* A matrix is given once, and a file cannot be gathered into itself. */
static int check_files(const cli *c)
{
    const char *append = args_value(c, "append");
    for (ptrdiff_t i = 0; i < c->given_count; i++) {
        const char *name = c->given[i].name;
        bool merge = strcmp(name, "merge") == 0, once = !merge && (args_input(c, i) || strcmp(name, "append") == 0);
        bool networks = strcmp(name, "ensemble") == 0 || strcmp(name, "batched") == 0;
        for (ptrdiff_t k = 0; once && k < i; k++) {
            if (strcmp(name, c->given[k].name) == 0) {
                return complain(CODE_USAGE, "--%s is given twice; %s", name,
                                networks ? "--append FILE gathers networks of several files" : "name one file");
            }
        }
        if (merge && append && same_file(c->given[i].value, append)) {
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
    if (code || !text) return code;
    if (!args_value(c, "ensemble") && !args_value(c, "append") && !args_value(c, "merge")) {
        return complain(CODE_USAGE,
                        "--until counts the networks of --ensemble, --append and --merge; give one of them");
    }
    return epiq_members_for(*until, c->options.level) > 0
               ? CODE_OK
               : complain(CODE_USAGE,
                          "--until is \"%s\"; it must be above 0 and not tiny: 0.5 wants an interval that reaches "
                          "about half the variance up and down",
                          text);
}

/* ---- the answer ---- */

typedef struct {
    question base;
    epiq_matrix *matrix[MATRICES];
    const char **merge;
    combine_request given;
    ptrdiff_t replicates; /* 0: not given */
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

static epiq_given given(const combination *j)
{
    epiq_matrix *const *m = j->matrix;
    return (epiq_given){.size = sizeof(epiq_given),
                        .ensemble = m[ENSEMBLE],
                        .batched = m[BATCHED],
                        .y = m[Y],
                        .yhat = m[YHAT],
                        .gram = m[GRAM],
                        .cross = m[CROSS],
                        .jacobian = m[JACOBIAN],
                        .jacobian0 = m[JACOBIAN0],
                        .at = m[AT],
                        .merge = j->merge,
                        .left_out = m[LEFT_OUT],
                        .retrained = m[RETRAINED],
                        .targets = m[TARGETS],
                        .replicates = j->replicates,
                        .resampled = m[RESAMPLED],
                        .auxiliary = m[AUXILIARY],
                        .auxiliary_batched = m[AUXILIARY_BATCHED],
                        .auxiliary_resampled = m[AUXILIARY_RESAMPLED]};
}

static int find(question *q, cli *c)
{
    combination *j = (combination *)q;
    report_run *run = &q->answer.run;
    double began = epiqp_now();
    int status = read_matrices(j, c, 0);
    run->read_seconds = epiqp_now() - began;
    epiq_given g = given(j);
    for (ptrdiff_t i = 0; i < c->given_count; i++) {
        if (strcmp(c->given[i].name, "merge") == 0) j->merge[g.merge_count++] = c->given[i].value;
    }
    status = status < 0 ? status : epiq_combine(c->ctx, &g, &c->options, &q->result);
    if (status >= 0) {
        run->data = combine_data(q->result);
        run->given = &j->given;
        q->answer.found.result = q->result;
    }
    return status;
}

/* ---- targets to train on again ---- */

static void write_targets(FILE *out, const char *path, ptrdiff_t rows, ptrdiff_t columns, const double *a)
{
    const char *ending = strrchr(path, '.');
    if (ending && strcmp(ending, ".npy") == 0) {
        write_npy(out, rows, columns, a);
        return;
    }
    for (ptrdiff_t i = 0; i < rows * columns; i++) {
        fprintf(out, "%s%c", number_text(a[i]).text, (i + 1) % columns ? ',' : '\n');
    }
}

/* What goes with --targets where it makes them, and with nothing else. */
static int check_making(const cli *c)
{
    static const char *const WITH[] = {"targets", "y", "yhat", "left-out", "output", "quiet", NULL};
    for (ptrdiff_t i = 0; i < c->given_count; i++) {
        if (!listed(c->given[i].name, WITH)) {
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
    if (status < 0) return failed(c, status);
    ptrdiff_t rows = 2 * j->replicates, columns = j->matrix[Y] ? j->matrix[Y]->rows : 0;
    double *targets = calloc((size_t)rows, ((size_t)columns + 1) * sizeof *targets);
    if (!targets) {
        return complain(CODE_NUMERIC, "no memory for %td target vectors of %td rows; use a smaller --targets", rows,
                        columns);
    }
    epiq_given g = given(j);
    status = epiq_targets(c->ctx, &g, &c->options, targets, step);
    int code = status < 0 ? failed(c, status) : CODE_OK;
    if (!code) write_targets(out->file, out->path, rows, columns, targets);
    free(targets);
    return code;
}

/* Last, when the file is in its place. */
static void say_targets(const combination *j, const cli *c, double step)
{
    const char *path = args_value(c, "output");
    if (!args_value(c, "quiet") && !names_stdout(path)) {
        printf("%td target vectors of %td rows, a step of %.4g up and down in turn, in ", 2 * j->replicates,
               j->matrix[Y]->rows, step);
        put_sanitized(stdout, path);
        puts("\nFor each train two networks from starts of the ensemble, up and down of a pair from the same two; what "
             "they\n"
             "predict at the points, one line per network in the order of the vectors, is for --retrained.");
    }
}

static int run_targets(combination *j, cli *c)
{
    output out = {0};
    double step = 0;
    int code = check_making(c);
    if (code) return code;
    watch_start(&c->ctx, 1, args_value(c, "quiet"));
    code = output_open(&out, args_value(c, "output"), c);
    code = code ? code : make_targets(j, c, &out, &step);
    watch_end();
    code = output_end(&out, 1, code);
    if (code) return code;
    say_targets(j, c, step);
    return output_stdout();
}

/* ---- both ---- */

static int answer_or_targets(combination *j, cli *c)
{
    const bool making = args_value(c, "targets") && !args_value(c, "retrained");
    int code = check_files(c);
    code = code ? code : args_own_option(c, "lambda");
    code = code ? code : args_own_option(c, "ensemble-size");
    code = code ? code : check_until(c, &j->given.until);
    c->options.state = args_value(c, "append");
    code = code ? code : args_count(c, "targets", 4, 100000, &j->replicates);
    if (code || making) return code ? code : run_targets(j, c);
    if (args_value(c, "output")) {
        return complain(CODE_USAGE, "-o is where --targets writes, and there are none to write; --json, --csv and "
                                    "--report name files for an answer");
    }
    return run_estimate(c, &j->base);
}

static int run(cli *c)
{
    combination j = {.base.find = find, .merge = calloc((size_t)c->given_count + 1, sizeof *j.merge)};
    int code = j.merge ? answer_or_targets(&j, c) : complain(CODE_NUMERIC, "no memory for the names of the files");
    for (int k = 0; k < MATRICES; k++) {
        epiq_matrix_free(c->ctx, j.matrix[k]);
    }
    free(j.merge);
    return code;
}

static const flag FLAGS[] = {
    FLAG("ensemble", "Predictions", "FILE", "",
         "predictions of networks trained on all rows: one line per network, one column per point"),
    FLAG("batched", "Predictions", "FILE", "",
         "predictions of networks trained on one batch of the rows each, likewise"),
    FLAG(
        "resampled", "Predictions", "FILE", "",
        "for --confidence: predictions of networks trained on rows drawn with replacement (bootstrap), on all rows but "
        "one of as many parts (jackknife), or on both halves of the rows in turn (halves); from the starts of the "
        "networks of --ensemble, in their order and over again"),
    FLAG("auxiliary", "Predictions", "FILE", "",
         "taken off --ensemble, line by line: predictions of networks from the same starts, trained on the outputs of "
         "the starts"),
    FLAG("auxiliary-batched", "Predictions", "FILE", "", "likewise of --batched"),
    FLAG("auxiliary-resampled", "Predictions", "FILE", "", "likewise of --resampled"),
    FLAG("append", "Predictions", "STATE", "", "keep these networks in STATE, each once, and count all that are there"),
    FLAG("merge", "Predictions", "STATE", "", "add the networks that another run has kept in its STATE; repeatable"),
    FLAG("at", "Predictions", "FILE", "",
         "the points themselves, one per line, so that networks kept for other points are refused"),
    FLAG("until", "Predictions", "REL", "",
         "say how many networks it takes until the interval of the retraining variance reaches REL times it up and "
         "down (half its width)"),
    FLAG("y", "Rows", "FILE", "", "what the networks were trained on, one line per row"),
    FLAG("yhat", "Rows", "FILE", "kernel regression's", "their mean prediction there"),
    FLAG("gram", "Rows", "FILE", "", "kernel of the rows, rows by rows"),
    FLAG("cross", "Rows", "FILE", "", "kernel of rows and points, rows by points"),
    FLAG("jacobian", "Rows", "FILE", "",
         "instead of a kernel: derivatives of a network's prediction at the rows, rows by parameters"),
    FLAG("jacobian0", "Rows", "FILE", "", "the same at the points, points by parameters"),
    FLAG("lambda", "Rows", "X", "1e-3", "weight of |theta - theta0|^2 in the loss of these networks"),
    FLAG("left-out", "Retrained", "FILE", "",
         "predictions of the rows by networks that have not seen the row, two or more for each: one line per "
         "network, one column per row"),
    FLAG("targets", "Retrained", "R", "10",
         "write R pairs of target vectors to train networks on again, made of --y, --yhat and --left-out; with "
         "--retrained: how many pairs these were trained on"),
    FLAG("output", "Retrained", "FILE|-", "",
         "where --targets writes, one line per vector: NPY if so named, else CSV; -o for short"),
    FLAG("retrained", "Retrained", "FILE", "",
         "predictions of networks trained on these: two lines or more for each vector, plus and minus from the same "
         "starts"),
    FLAG("targets-file", "Retrained", "FILE", "",
         "the target vectors, to be compared with those that this call would make"),
    OUTPUT_FLAGS,
    REPORT_FLAGS,
    VERBOSE_FLAG,
    FLAG("ensemble-size", "Estimates", "N", "0",
         "networks in the ensemble whose variance is wanted (0: as many as batches, without batches all networks)"),
    {0},
};

const verb VERB_COMBINE = {
    .name = "combine",
    .usage = "[--ensemble FILE] [--batched FILE] [--y FILE ...] [flags]",
    .summary =
        "the same answer for networks of your own, trained anywhere: from their predictions and their tangent kernel, "
        "or Jacobian (matrices as CSV, with or without a header, or NPY; - is standard input)",
    .flags = FLAGS,
    .takes = EPIQ_FOR_COMBINE,
    .renamed = "state", /* --append */
    .inputs = INPUTS,
    .o_flag = "output",
    .run = run,
};
