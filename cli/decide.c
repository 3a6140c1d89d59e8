/* decide.c - a decision from a table: outputs first, so that an unwritable one costs no work, then the work. */
#include "cli/decide.h"

#include <string.h>

enum { JSON, CSV, PAGE, OUTPUTS };
static const char *const FLAG_OF[OUTPUTS] = {"json", "csv", "report"};

static int open_outputs(const cli *c, output *outputs)
{
    int code = CODE_OK;
    for (int a = 0; a < OUTPUTS; a++) {
        for (int b = 0; b < a; b++) {
            const char *one = args_value(c, FLAG_OF[a]), *other = args_value(c, FLAG_OF[b]);
            if (one && other && (strcmp(one, other) == 0 || same_file(one, other))) {
                return complain(CODE_USAGE, "--%s and --%s both name %s; only one can be written there", FLAG_OF[b],
                                FLAG_OF[a], strcmp(one, "-") == 0 ? "standard output" : one);
            }
        }
    }
    for (int k = 0; !code && k < OUTPUTS; k++) {
        const char *path = args_value(c, FLAG_OF[k]);
        code = path ? output_open(&outputs[k], path, c) : CODE_OK;
    }
    return code;
}

static int write_decision(const cli *c, const decision *d, const report_run *run, output *outputs)
{
    bool quiet = args_value(c, "quiet"), text = !quiet;
    output list[OUTPUTS];
    int count = 0;
    for (int k = 0; k < OUTPUTS; k++) {
        FILE *out = outputs[k].file;
        text = text && out != stdout;
        if (out && k == JSON) {
            d->json(d, out, run);
        } else if (out && k == CSV) {
            d->csv(d, out);
        } else if (out) {
            d->page(d, out, run);
        }
        if (out) {
            list[count++] = outputs[k];
            outputs[k] = (output){0};
        }
    }
    int code = output_commit(list, count); /* before the text: a pager that was closed costs no results */
    if (!code && text) {
        d->text(d, stdout, run, terminal_style());
        code = output_stdout();
    }
    for (ptrdiff_t i = 0; !code && !quiet && !text && i < d->warning_count; i++) {
        warn(d->warnings[i].message);
    }
    return code;
}

int run_decision(cli *c, decision *d)
{
    output outputs[OUTPUTS] = {0};
    epiq_data *data = NULL;
    epiq_points *at = NULL;
    report_run run = {.command = c->command, .options = &c->options};
    double began = now();
    watch_start(&c->ctx, 1, args_value(c, "quiet"));
    epiq_ctx_on_progress(c->ctx, watch_progress, NULL);
    int code = open_outputs(c, outputs);
    if (!code) {
        int status = load_table(c, &data, &at);
        run.read_seconds = now() - began;
        status = status < 0 ? status : d->find(d, c, data, at);
        watch_end();
        code = status < 0 ? failed(c, status) : CODE_OK;
    }
    if (!code) {
        run.data = epiq_data_describe(data);
        run.seconds = now() - began;
        run.peak_rss_bytes = peak_rss();
        code = write_decision(c, d, &run, outputs);
    }
    output_drop(outputs, OUTPUTS);
    epiq_points_free(c->ctx, at);
    epiq_data_free(c->ctx, data);
    return code;
}
