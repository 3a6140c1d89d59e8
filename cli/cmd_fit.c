/* cmd_fit.c - epiq fit: everything that predictions at other points need, in one file. */
#include "cli/cli.h"

#include <string.h>

static int put(void *user, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, user) == size ? 0 : -1;
}

static void print_summary(const epiq_model_info *m, const char *path)
{
    static const struct {
        int bit;
        const char *name;
    } parts[] = {{EPIQ_PREDICTION, "prediction"},
                 {EPIQ_PROCEDURAL, "procedural"},
                 {EPIQ_DATA, "data"},
                 {EPIQ_ENSEMBLE, "ensemble"}};
    const epiq_options *o = m->options;
    printf("%td rows, %td feature%s, target ", m->rows, m->features, m->features == 1 ? "" : "s");
    report_plain(stdout, m->target);
    if (o->engine == EPIQ_ENGINE_INFINITE) {
        printf("; infinitely wide networks");
    }
    if (o->engine != EPIQ_ENGINE_INFINITE && o->methods & EPIQ_EV) {
        printf("; %td networks of width %td", o->members, o->width);
    }
    if (o->methods & EPIQ_BA) {
        printf("; %td of batches", o->batches);
    }
    printf("\ntells ");
    for (size_t k = 0, said = 0; k < sizeof parts / sizeof *parts; k++) {
        if (m->parts & parts[k].bit) {
            printf("%s%s", said++ ? ", " : "", parts[k].name);
        }
    }
    printf("\n\nepiq predict ");
    report_plain(stdout, path);
    puts(" NEW.csv");
}

static int stopped(const cli *c)
{
    int code = CODE_SIGNAL + watch_signal();
    return c->options.state
               ? complain(code, "stopped; finished members are kept in %s and the same command continues from there",
                          c->options.state)
               : complain(code, "stopped; --state FILE would have kept the finished members for the next run");
}

static int fit(cli *c, output *out, epiq_data **data, epiq_model **m)
{
    int status = epiq_data_read(c->ctx, c->operand, &c->options, data);
    if (status >= 0) {
        status = epiq_fit(c->ctx, *data, &c->options, m);
    }
    if (status >= 0) {
        status = epiq_model_send(c->ctx, *m, put, out->file);
    }
    watch_end();
    return status >= 0 ? CODE_OK : watch_signal() ? stopped(c) : failed(c, status);
}

static int run(cli *c)
{
    const char *path = args_value(c, "output");
    if (!path) {
        return complain(CODE_USAGE, "where to? give -o MODEL; usage: epiq fit %s", c->verb->usage);
    }
    output out = {0};
    epiq_data *data = NULL;
    epiq_model *m = NULL;
    bool quiet = args_value(c, "quiet"), text = !quiet && !names_stdout(path);
    watch_start(&c->ctx, 1, quiet);
    epiq_ctx_on_progress(c->ctx, watch_progress, NULL);
    int code = output_open(&out, path, c);
    code = code ? code : fit(c, &out, &data, &m);
    watch_end(); /* the output may not have been opened */
    if (code) {
        output_drop(&out, 1);
    } else {
        code = output_commit(&out, 1);
    }
    if (!code) {
        epiq_model_info info = epiq_model_describe(m);
        if (text) {
            print_summary(&info, path);
        }
        for (ptrdiff_t i = 0; !quiet && i < info.warning_count; i++) {
            warn(info.warnings[i].message);
        }
    }
    epiq_model_free(c->ctx, m);
    epiq_data_free(c->ctx, data);
    return code;
}

static const flag FLAGS[] = {
    {"output", "Output", "write the model here; -o for short (- is standard output)", NULL, "", "MODEL"},
    {"quiet", "Output", "print no summary, warnings or progress", NULL, "", NULL},
    {0},
};

/* A model holds the population kernel, trained to the end; intervals and influential rows belong to estimate. */
static const char *const WITHOUT[] = {"time", "kernel",    "influential", "sweep",   "level", "solver",
                                      "rank", "tolerance", "parts",       "scratch", NULL};

const verb VERB_FIT = {
    .name = "fit",
    .operand = "DATA",
    .usage = "DATA --target COL -o MODEL [flags]",
    .summary = "train once and keep everything that predictions at other points need in one file",
    .flags = FLAGS,
    .model = true,
    .reads = true,
    .o = "output",
    .without = WITHOUT,
    .run = run,
};
