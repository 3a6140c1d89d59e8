/* cmd_predict.c - epiq predict: a model at every row of a file of any length, one block of rows after another. */
#include "cli/cli.h"
#include "report/format.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 8192 }; /* rows at a time */

const char *const PART_NAMES[] = {"prediction", "procedural", "data", "ensemble"};

typedef struct {
    epiq_model *model;
    epiq_reader *reader;
    output out;
    double *x;       /* BLOCK by features, then room for the parts */
    double *part[4]; /* BLOCK each; NULL: not wanted */
    unsigned char known[BLOCK];
    ptrdiff_t unknown[4], first[4]; /* rows without a part, and the first of them, from 1 */
    ptrdiff_t rows, outside, few;   /* all, those beyond the training rows, and those where few of these decide */
} job;

static int parse_parts(const char *list, int *parts)
{
    if (strcmp(list, "all") == 0) {
        return CODE_OK; /* as it is without the flag */
    }
    *parts = 0;
    for (const char *s = list;; s++) {
        size_t length = strcspn(s, ","), k = 0;
        while (k < 4 && (strlen(PART_NAMES[k]) != length || strncmp(PART_NAMES[k], s, length) != 0)) {
            k++;
        }
        if (k == 4) {
            return complain(CODE_USAGE,
                            "--parts is \"%s\"; it must be a list of prediction, procedural, data and ensemble", list);
        }
        *parts |= 1 << k;
        s += length;
        if (!*s) return CODE_OK;
    }
}

/* A requested part that this model does not have would be an empty column. */
static int check_parts(const cli *c, const epiq_model_info *m, int parts)
{
    const char *list = args_value(c, "parts");
    bool named = list && strcmp(list, "all") != 0;
    for (size_t k = 0; named && k < 4; k++) {
        if (parts & 1 << k & ~m->parts) {
            return complain(CODE_FILE, "%s cannot tell %s: it was fitted with too few --methods; fit again with more",
                            c->operand, PART_NAMES[k]);
        }
    }
    return CODE_OK;
}

static int make_room(job *j, int parts, ptrdiff_t features)
{
    j->x = calloc((size_t)features + 4, BLOCK * sizeof *j->x);
    for (int k = 0; j->x && k < 4; k++) {
        j->part[k] = parts & 1 << k ? j->x + (features + k) * BLOCK : NULL;
    }
    return j->x ? CODE_OK : complain(CODE_NUMERIC, "no memory for %d rows of %td features", BLOCK, features);
}

static void print_rows(job *j, ptrdiff_t before, ptrdiff_t count)
{
    for (ptrdiff_t i = 0; i < count && !ferror(j->out.file); i++) {
        for (int k = 0; k < 4; k++) {
            bool known = j->part[k] && j->known[i] & 1 << k;
            fputs(k ? "," : "", j->out.file);
            fputs(known ? number_text(j->part[k][i]).text : "", j->out.file);
            if (j->part[k] && !known && !j->unknown[k]++) j->first[k] = before + i + 1;
        }
        putc('\n', j->out.file);
    }
}

/* What the cells do not show. */
static void tell(const job *j)
{
    if (epiq_reader_note(j->reader)) warn(epiq_reader_note(j->reader));
    if (j->outside) {
        complain(
            CODE_OK,
            "warning: %td of %td rows lie outside the range of the training rows; variances there are extrapolations",
            j->outside, j->rows);
    }
    if (j->few) {
        complain(CODE_OK,
                 "warning: at %td of %td rows the data variance rests on one or two training rows, and is known only "
                 "roughly; training rows themselves are often so",
                 j->few, j->rows);
    }
    for (int k = 0; k < 4; k++) {
        if (j->unknown[k]) {
            complain(CODE_OK,
                     "warning: %s is left empty in %td row%s, first in row %td: a difference of two variances came out "
                     "negative, or the number is below rounding or beyond a double",
                     PART_NAMES[k], j->unknown[k], j->unknown[k] == 1 ? "" : "s", j->first[k]);
        }
    }
}

static int predict(cli *c, job *j, ptrdiff_t threads)
{
    ptrdiff_t count = 0;
    epiq_predictions out = {.size = sizeof out,
                            .prediction = j->part[0],
                            .procedural = j->part[1],
                            .data = j->part[2],
                            .ensemble = j->part[3],
                            .known = j->known,
                            .threads = threads,
                            .exact = args_value(c, "exact") != NULL};
    do {
        int status = epiq_reader_next(c->ctx, j->reader, BLOCK, j->x, &count);
        if (status >= 0 && count) status = epiq_model_predict(c->ctx, j->model, count, j->x, &out);
        if (status < 0 || watch_signal()) return failed(c, status);
        if (!out.first) { /* not before there is a row to go with it */
            fputs("prediction,procedural,data,ensemble\n", j->out.file);
        }
        print_rows(j, out.first, count);
        out.first += count;
        watch_progress(NULL, &(epiq_progress){"rows", out.first, 0});
    } while (count == BLOCK && !ferror(j->out.file));
    j->rows = out.first;
    j->outside = out.outside;
    j->few = out.few;
    return CODE_OK;
}

static int run(cli *c)
{
    job j = {0};
    int parts = EPIQ_PREDICTION | EPIQ_PROCEDURAL | EPIQ_DATA | EPIQ_ENSEMBLE;
    ptrdiff_t threads = 0;
    const char *list = args_value(c, "parts"), *path = args_value(c, "csv");
    int code = list ? parse_parts(list, &parts) : CODE_OK;
    code = code ? code : args_count(c, "threads", 0, 4096, &threads);
    if (code) return code;
    bool mixed = (!path || names_stdout(path)) && isatty(STDOUT_FILENO); /* a line of progress among the rows */
    watch_start(&c->ctx, 1, mixed || args_value(c, "quiet"));
    code = output_open(&j.out, path ? path : "-", c);
    if (!code) {
        int status = epiq_model_read(c->ctx, c->operand, &j.model);
        status = status < 0 ? status : epiq_reader_open(c->ctx, j.model, c->operand2, &j.reader);
        code = status < 0 ? failed(c, status) : CODE_OK;
    }
    if (!code) {
        epiq_model_info info = epiq_model_describe(j.model);
        code = check_parts(c, &info, parts);
        code = code ? code : make_room(&j, parts & info.parts, info.features);
    }
    code = code ? code : predict(c, &j, threads);
    watch_end();
    code = output_end(&j.out, 1, code);
    if (!code && !args_value(c, "quiet")) tell(&j);
    epiq_reader_free(c->ctx, j.reader);
    epiq_model_free(c->ctx, j.model);
    free(j.x);
    return code;
}

static const flag FLAGS[] = {
    FLAG("parts", "Output", "A,B", "all", "columns to fill, any of prediction, procedural, data, ensemble in a list"),
    FLAG("csv", "Output", "FILE|-", "-", "write here; -o for short (- is standard output)"),
    FLAG("quiet", "Output", NULL, "", "print no warnings or progress"),
    FLAG("exact", "Running", NULL, "",
         "double precision throughout, three times as slow for networks of one hidden layer"),
    FLAG("threads", "Running", "N", "0", "worker threads (0: all cores)"),
    {0},
};

const verb VERB_PREDICT = {
    .name = "predict",
    .operand = "MODEL",
    .operand2 = "NEW",
    .usage = "MODEL NEW [flags]",
    .summary = "predictions and their variances at every row of NEW (CSV, NPY or NPZ; - is standard input), from a "
               "file of epiq fit",
    .flags = FLAGS,
    .reads = true,
    .o_flag = "csv",
    .run = run,
};
