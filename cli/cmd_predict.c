/* cmd_predict.c - epiq predict: a model at every row of a file of any length, one block of rows after another. */
#include "cli/cli.h"
#include "report/json.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Rows at a time; MOST with a GPU, unless their features would take more than 64 MiB. */
enum { BLOCK = 8192, MOST = 65536, MOST_NUMBERS = 1 << 23, PARTS = 8, COLUMNS = 10 };

const char *const PART_NAMES[] = {"prediction", "procedural", "data",       "ensemble", "sd",
                                  "interval",   "noise",      "confidence", NULL};

/* The columns of numbers, in their order, and the part that each belongs to. */
static const struct {
    const char *name;
    int part;
} COLUMN[COLUMNS] = {{"prediction", EPIQ_PREDICTION},
                     {"sd", EPIQ_SD},
                     {"lo", EPIQ_INTERVAL},
                     {"hi", EPIQ_INTERVAL},
                     {"procedural", EPIQ_PROCEDURAL},
                     {"data", EPIQ_DATA},
                     {"ensemble", EPIQ_ENSEMBLE},
                     {"noise", EPIQ_NOISE},
                     {"confidence_lo", EPIQ_EXPECTED},
                     {"confidence_hi", EPIQ_EXPECTED}};
enum { PREDICTION, SD, LO, HI, PROCEDURAL, DATA, ENSEMBLE, NOISE, CONFIDENCE_LO, CONFIDENCE_HI };

typedef struct {
    epiq_model *model;
    epiq_model_info info;
    epiq_reader *reader;
    output out;
    char *copy;              /* list of columns to copy; NULL: none */
    bool terminal;           /* that the rows are printed on */
    ptrdiff_t room;          /* rows that there is room for */
    double *x;               /* room by features, then room for the columns */
    double *column[COLUMNS]; /* room each; NULL: not wanted */
    number_buffer *text;     /* room by COLUMNS */
    int threads;
    unsigned char known[MOST];
    bool lacks[MOST];                           /* a row that lacks a cell: it has no numbers */
    ptrdiff_t lacking, lacks_first;             /* such rows so far, and the first of them, from 1 */
    ptrdiff_t unknown[COLUMNS], first[COLUMNS]; /* other rows without a number, and the first of them, from 1 */
    epiq_predictions ask;
} job;

static int parse_parts(const char *list, int *parts)
{
    if (strcmp(list, "all") == 0) {
        return CODE_OK; /* as it is without the flag */
    }
    *parts = 0;
    for (const char *s = list;; s++) {
        size_t length = strcspn(s, ","), k = 0;
        while (k < PARTS && (strlen(PART_NAMES[k]) != length || strncmp(PART_NAMES[k], s, length) != 0)) {
            k++;
        }
        if (k == PARTS) {
            return complain(CODE_USAGE,
                            "--parts is \"%s\"; it must be a list of prediction, sd, interval, procedural, data, "
                            "ensemble, noise and confidence",
                            list);
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
    for (size_t k = 0; named && k < PARTS; k++) {
        const int part = 1 << k;
        if (!(parts & part & ~m->parts)) continue;
        if (part & (EPIQ_INTERVAL | EPIQ_NOISE)) return complain(CODE_FILE, "%s: %s", c->operand, m->no_interval);
        if (part & EPIQ_EXPECTED) {
            return complain(CODE_FILE, "%s has no interval of the expected prediction; fit again with --confidence",
                            c->operand);
        }
        return complain(CODE_FILE, "%s cannot tell %s: it was fitted with too few --methods; fit again with more",
                        c->operand, PART_NAMES[k]);
    }
    return CODE_OK;
}

/* All lists that were typed, as one. */
static int join_copies(const cli *c, job *j)
{
    size_t size = 1, used = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (ptrdiff_t i = 0; i < c->given_count; i++) {
            if (strcmp(c->given[i].name, "copy") != 0) continue;
            if (pass) used += (size_t)sprintf(j->copy + used, "%s%s", used ? "," : "", c->given[i].value);
            size += strlen(c->given[i].value) + 1;
        }
        if (size == 1) return CODE_OK;
        if (!pass && !(j->copy = malloc(size))) return complain(CODE_NUMERIC, "no memory for the names of columns");
    }
    return CODE_OK;
}

static int make_room(job *j, int parts)
{
    const ptrdiff_t features = j->info.features;
    const ptrdiff_t large = MOST_NUMBERS / features;
    j->room = large < BLOCK ? BLOCK : large > MOST ? MOST : large;
    j->x = calloc((size_t)features + COLUMNS, (size_t)j->room * sizeof *j->x);
    j->text = calloc((size_t)j->room, COLUMNS * sizeof *j->text);
    for (int k = 0; j->x && k < COLUMNS; k++) {
        j->column[k] = parts & COLUMN[k].part ? j->x + (features + k) * j->room : NULL;
    }
    return j->x && j->text ? CODE_OK
                           : complain(CODE_NUMERIC, "no memory for %td rows of %td features", j->room, features);
}

/* ---- rows ---- */

static bool needs_quotes(const char *text)
{
    const size_t length = strlen(text);
    return text[strcspn(text, ",\"\r\n")] || (length && (strchr(" \t", text[0]) || strchr(" \t", text[length - 1])));
}

/* As it was written, in quotes where it must be. A terminal gets no control characters. */
static void put_copied(const job *j, const char *text)
{
    if (j->terminal) {
        csv_text(j->out.file, text);
        return;
    }
    const char *quote = needs_quotes(text) ? "\"" : "";
    fputs(quote, j->out.file);
    for (; *text; text++) {
        fputs(*text == '"' ? "\"" : "", j->out.file);
        putc(*text, j->out.file);
    }
    fputs(quote, j->out.file);
}

static void print_copied(const job *j, ptrdiff_t row)
{
    const char *text;
    for (ptrdiff_t k = 0; (text = epiq_reader_copied(j->reader, row, k)); k++) {
        put_copied(j, text);
        putc(',', j->out.file);
    }
}

/* The last two are those of models that can tell them. */
static int columns_of(const job *j)
{
    return j->info.parts & EPIQ_EXPECTED ? COLUMNS : CONFIDENCE_LO;
}

static void print_header(const job *j)
{
    print_copied(j, -1);
    for (int k = 0; k < columns_of(j); k++) {
        fprintf(j->out.file, "%s%s", k ? "," : "", COLUMN[k].name);
    }
    putc('\n', j->out.file);
}

static bool is_known(const job *j, ptrdiff_t i, int k)
{
    return j->column[k] && j->known[i] & COLUMN[k].part;
}

/* The texts of numbers, which take longer than anything else here, are made by all threads. */
static void print_rows(job *j, ptrdiff_t before, ptrdiff_t count)
{
#pragma omp parallel for schedule(static) num_threads(j->threads)
    for (ptrdiff_t i = 0; i < count; i++) {
        for (int k = 0; k < COLUMNS; k++) {
            if (is_known(j, i, k)) j->text[i * COLUMNS + k] = number_text(j->column[k][i]);
        }
    }
    for (ptrdiff_t i = 0; i < count && !ferror(j->out.file); i++) {
        print_copied(j, i);
        for (int k = 0; k < columns_of(j); k++) {
            const bool known = is_known(j, i, k);
            fputs(k ? "," : "", j->out.file);
            fputs(known ? j->text[i * COLUMNS + k].text : "", j->out.file);
            if (j->column[k] && !known && !j->lacks[i] && !j->unknown[k]++) j->first[k] = before + i + 1;
        }
        putc('\n', j->out.file);
    }
}

/* ---- what the cells do not show ---- */

static void tell_of_interval(const job *j)
{
    const epiq_predictions *a = &j->ask;
    const bool asked = !(j->info.parts & EPIQ_INTERVAL) || j->column[LO];
    if (asked && j->info.no_interval) {
        warn(j->info.no_interval);
    } else if (j->column[LO] && a->level > j->info.most_level) {
        complain(CODE_OK,
                 "warning: there is no interval at level %.6g: the model has learned from too few rows, or groups of "
                 "rows, which allow levels up to %.4f; use a lower --level",
                 a->level, j->info.most_level);
    }
    if (a->withheld) {
        complain(CODE_OK,
                 "warning: %td of %td rows lie too far from all training rows for an interval or the noise to be known "
                 "(first: row %td)",
                 a->withheld, a->first, j->first[j->column[NOISE] ? NOISE : LO]);
    }
}

static void tell(const job *j)
{
    const epiq_predictions *a = &j->ask;
    const epiq_fit_error *fit = j->info.fit;
    warn_of_blas(j->info.options);
    if (epiq_reader_note(j->reader)) warn(epiq_reader_note(j->reader));
    if (fit->known && fit->has_r2 && fit->r2 <= 0) {
        complain(CODE_OK,
                 "warning: on rows that it had not seen the model predicted no better than the mean of %s (R2 %.2g)",
                 j->info.target, fit->r2);
    }
    if (j->lacking) {
        complain(CODE_OK, "warning: %td of %td rows lack a cell, and their lines have no numbers (first: row %td)",
                 j->lacking, a->first, j->lacks_first);
    }
    if (a->outside) {
        complain(
            CODE_OK,
            "warning: %td of %td rows lie outside the range of the training rows; variances there are extrapolations",
            a->outside, a->first);
    }
    tell_of_interval(j);
    for (int k = 0; k < COLUMNS; k++) {
        if (j->unknown[k] && !(COLUMN[k].part & (EPIQ_INTERVAL | EPIQ_NOISE))) {
            complain(CODE_OK,
                     "warning: %s is left empty in %td row%s, first in row %td: a difference of two variances came out "
                     "negative, or the number is below rounding or beyond a double",
                     COLUMN[k].name, j->unknown[k], j->unknown[k] == 1 ? "" : "s", j->first[k]);
        }
    }
}

/* ---- rows that lack a cell ---- */

/* Moves the features of complete rows together. Returns how many there are. */
static ptrdiff_t close_gaps(job *j, ptrdiff_t count)
{
    const size_t size = (size_t)j->info.features;
    ptrdiff_t complete = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        const double *x = j->x + i * j->info.features;
        j->lacks[i] = isnan(x[0]);
        if (j->lacks[i] && !j->lacking++) j->lacks_first = j->ask.first + i + 1;
        if (!j->lacks[i]) memmove(j->x + complete++ * j->info.features, x, size * sizeof *x);
    }
    return complete;
}

/* Puts the numbers of complete rows into the places of their rows again. */
static void open_gaps(job *j, ptrdiff_t count, ptrdiff_t complete)
{
    for (ptrdiff_t i = count; i-- > 0;) {
        j->known[i] = j->lacks[i] ? 0 : j->known[--complete];
        for (int k = 0; !j->lacks[i] && k < COLUMNS; k++) {
            if (j->column[k]) j->column[k][i] = j->column[k][complete];
        }
    }
}

/* ---- the whole ---- */

static int predict(cli *c, job *j, ptrdiff_t threads, int device)
{
    ptrdiff_t count = 0, most;
    epiq_predictions *out = &j->ask;
    *out = (epiq_predictions){.size = sizeof *out,
                              .prediction = j->column[PREDICTION],
                              .procedural = j->column[PROCEDURAL],
                              .data = j->column[DATA],
                              .ensemble = j->column[ENSEMBLE],
                              .known = j->known,
                              .threads = threads,
                              .exact = args_value(c, "exact") != NULL,
                              .sd = j->column[SD],
                              .lo = j->column[LO],
                              .hi = j->column[HI],
                              .noise = j->column[NOISE],
                              .level = c->options.level,
                              .confidence_lo = j->column[CONFIDENCE_LO],
                              .confidence_hi = j->column[CONFIDENCE_HI],
                              .device = device};
    do {
        most = out->on_device ? j->room : BLOCK;
        int status = epiq_reader_next(c->ctx, j->reader, most, j->x, &count);
        const ptrdiff_t complete = status >= 0 ? close_gaps(j, count) : 0;
        if (status >= 0 && complete) status = epiq_model_predict(c->ctx, j->model, complete, j->x, out);
        if (status < 0 || watch_signal()) return failed(c, status);
        open_gaps(j, count, complete);
        if (!out->first) print_header(j); /* not before there is a row to go with it */
        print_rows(j, out->first, count);
        out->first += count;
        watch_progress(NULL, &(epiq_progress){"rows", out->first, 0});
    } while (count == most && !ferror(j->out.file));
    return CODE_OK;
}

static int run(cli *c)
{
    job j = {0};
    int parts = (1 << PARTS) - 1, missing = EPIQ_MISSING_REFUSE, device = EPIQ_DEVICE_AUTO;
    ptrdiff_t threads = 0;
    const char *list = args_value(c, "parts"), *path = args_value(c, "csv");
    int code = list ? parse_parts(list, &parts) : CODE_OK;
    code = code ? code : args_count(c, "threads", 0, 4096, &threads);
    code = code ? code : args_own_option(c, "level");
    code = code ? code : args_choice(c, "missing", &missing);
    code = code ? code : args_choice(c, "device", &device);
    code = code ? code : join_copies(c, &j);
    if (code) return code;
    j.threads = threads ? (int)threads : omp_get_max_threads();
    j.terminal =
        (!path || names_stdout(path)) && isatty(STDOUT_FILENO); /* a line of progress would be among the rows */
    watch_start(&c->ctx, 1, j.terminal || args_value(c, "quiet"));
    code = output_open(&j.out, path ? path : "-", c);
    if (!code) {
        int status = epiq_model_read(c->ctx, c->operand, &j.model);
        status = status < 0 ? status : epiq_reader_open_with(c->ctx, j.model, c->operand2, j.copy, &j.reader);
        code = status < 0 ? failed(c, status) : CODE_OK;
    }
    if (!code) {
        epiq_reader_missing(j.reader, missing);
        j.info = epiq_model_describe(j.model);
        code = check_parts(c, &j.info, parts);
        code = code ? code : make_room(&j, parts & j.info.parts);
    }
    code = code ? code : predict(c, &j, threads, device);
    watch_end();
    code = output_end(&j.out, 1, code);
    if (!code && !args_value(c, "quiet")) tell(&j);
    epiq_reader_free(c->ctx, j.reader);
    epiq_model_free(c->ctx, j.model);
    free(j.copy);
    free(j.x);
    free(j.text);
    return code;
}

static const flag FLAGS[] = {
    FLAG("missing", "Input", "refuse|drop", "refuse",
         "rows of NEW that lack a cell; drop: their lines stay, without numbers"),
    FLAG("copy", "Output", "COL", "",
         "columns of NEW to put before the numbers as they are, such as names, in a list; repeatable"),
    FLAG("level", "Output", "X", "0.95", "of the interval of y, from lo to hi, and that of the expected prediction"),
    FLAG("parts", "Output", "A,B", "all",
         "columns to fill, any of prediction, sd, interval, procedural, data, ensemble, noise, confidence in a list"),
    FLAG("csv", "Output", "FILE|-", "-", "write here; -o for short (- is standard output)"),
    FLAG("quiet", "Output", NULL, "", "print no warnings or progress"),
    FLAG("exact", "Running", NULL, "",
         "double precision throughout, three times as slow for networks of one hidden layer"),
    FLAG("threads", "Running", "N", "0", "worker threads (0: all cores)"),
    FLAG("device", "Running", "auto|gpu|cpu", "auto",
         "where networks are asked and the data variance is solved for: a GPU where there is one and it saves time, "
         "always, or never (docs/gpu.md)"),
    {0},
};

const verb VERB_PREDICT = {
    .name = "predict",
    .operand = "MODEL",
    .operand2 = "NEW",
    .usage = "MODEL NEW [flags]",
    .summary = "predictions with their standard deviations, variances and intervals of y at every row of NEW (CSV, NPY "
               "or NPZ; - is standard input), from a file of epiq fit",
    .flags = FLAGS,
    .reads = true,
    .o_flag = "csv",
    .run = run,
};
