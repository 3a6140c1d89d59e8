/* cmd_fit.c - epiq fit: everything that predictions at other points need, in one file. */
#include "cli/question.h"
#include "common/rounded.h"
#include "report/format.h"

#include <math.h>

static int put(void *user, const void *bytes, size_t size)
{
    return fwrite(bytes, 1, size, user) == size ? 0 : -1;
}

/* What is said in one line each: networks, error, and what the model gives. */
static void print_error(const epiq_fit_error *f, ptrdiff_t rows)
{
    if (!f->known || !f->has_r2) return; /* a target with one value: a warning says so */
    printf("Typical error on rows not seen %s (%s; R2 %s)", epiqp_rounded_sd(f->rmse).text, fit_by(f).text,
           epiqp_rounded_r2(f->r2).text);
    if (rows < FEW_ROWS) printf(", as far as %td rows can tell", rows);
    printf(", of which noise about %s\n", epiqp_rounded_sd(sqrt(f->noise_variance)).text);
}

static void print_next(const char *name, const char *path, const char *file)
{
    printf("\nepiq %s ", name);
    put_sanitized(stdout, path);
    printf(" %s", file);
}

static void print_summary(const epiq_model_info *m, const epiq_options *asked, const char *path)
{
    const epiq_options *o = m->options;
    printf("%td rows, %td feature%s, target ", m->rows, m->features, m->features == 1 ? "" : "s");
    put_sanitized(stdout, m->target);
    if (o->engine == EPIQ_ENGINE_INFINITE) printf("; infinitely wide networks");
    if (o->engine != EPIQ_ENGINE_INFINITE && o->methods & EPIQ_EV) {
        printf("; %td networks of width %td", o->members, o->width);
    }
    if (asked->lambda == 0) printf("; lambda %g, as chosen", o->lambda);
    if (o->methods & EPIQ_BA) printf("; %td trained on batches", o->batches);
    putchar('\n');
    print_error(m->fit, m->rows);
    printf("The model gives: ");
    for (int k = 0, said = 0; PART_NAMES[k]; k++) {
        const char *name = 1 << k == EPIQ_INTERVAL   ? "interval of y"
                           : 1 << k == EPIQ_EXPECTED ? "interval of the expected prediction"
                                                     : PART_NAMES[k];
        if (m->parts & 1 << k) printf("%s%s", said++ ? ", " : "", name);
    }
    putchar('\n');
    print_next("predict", path, "NEW.csv");
    print_next("score", path, "TEST.csv\n");
}

static int fit(cli *c, output *out, epiq_data **data, epiq_model **m)
{
    int status = epiq_data_read(c->ctx, c->operand, &c->options, data);
    status = status < 0 ? status : epiq_fit(c->ctx, *data, &c->options, m);
    status = status < 0 ? status : epiq_model_send(c->ctx, *m, put, out->file);
    watch_end();
    return status >= 0 ? CODE_OK : watch_signal() ? stopped(c, true, false) : failed(c, status);
}

/* A forecast takes the place of the model. */
static int find_forecast(question *q, cli *c)
{
    return dry_run_found(q, epiq_fit_forecast(c->ctx, q->data, &c->options, &q->result));
}

static int load_rows(question *q, cli *c)
{
    return epiq_data_read(c->ctx, c->operand, &c->options, &q->data);
}

static int run(cli *c)
{
    const char *path = args_value(c, "output");
    if (args_value(c, "dry-run")) return run_question(c, &(question){.load = load_rows, .find = find_forecast});
    if (args_value(c, "json")) {
        return complain(CODE_USAGE, "--json is for the forecast of a --dry-run; a model is written by -o MODEL");
    }
    if (!path) return complain(CODE_USAGE, "where to? give -o MODEL; usage: epiq fit %s", c->verb->usage);
    output out = {0};
    epiq_data *data = NULL;
    epiq_model *m = NULL;
    bool quiet = args_value(c, "quiet"), text = !quiet && !names_stdout(path);
    watch_start(&c->ctx, 1, quiet);
    epiq_ctx_on_progress(c->ctx, watch_progress, NULL);
    int code = output_open(&out, path, c);
    code = code ? code : fit(c, &out, &data, &m);
    watch_end(); /* the output may not have been opened */
    code = output_end(&out, 1, code);
    if (!code) {
        epiq_model_info info = epiq_model_describe(m);
        if (text) print_summary(&info, &c->options, path);
        for (ptrdiff_t i = 0; !quiet && i < info.warning_count; i++) {
            warn(info.warnings[i]->message);
        }
        if (!quiet && info.no_interval) warn(info.no_interval);
    }
    epiq_model_free(c->ctx, m);
    epiq_data_free(c->ctx, data);
    return code;
}

static const flag FLAGS[] = {
    FLAG("output", "Output", "MODEL", "", "write the model here; -o for short (- is standard output)"),
    QUIET_FLAG,
    DRY_RUN_FLAG,
    FLAG("json", "Output", "FILE|-", "", "with --dry-run: write it as one JSON object (- is standard output)"),
    {0},
};

const verb VERB_FIT = {
    .name = "fit",
    .operand = "DATA",
    .usage = "DATA --target COL -o MODEL [flags]",
    .summary = "train once and keep everything that predictions at other points need in one file",
    .flags = FLAGS,
    .takes = EPIQ_FOR_FIT,
    .reads = true,
    .o_flag = "output",
    .run = run,
};
