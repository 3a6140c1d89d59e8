/* run.c - what estimate and demo have in common: open the outputs, load, estimate, write. */
#include "cli/cli.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

long long peak_rss(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
#ifdef __APPLE__
    return u.ru_maxrss;
#else
    return 1024LL * u.ru_maxrss;
#endif
}

report_style terminal_style(void)
{
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return (report_style){
        .colour = isatty(STDOUT_FILENO) && !(no_colour && *no_colour) && terminal && strcmp(terminal, "dumb") != 0,
        .blocks = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
    };
}

static int stopped(const epiq_options *o)
{
    int code = CODE_SIGNAL + watch_signal();
    return o->state
               ? complain(code, "stopped; finished members are kept in %s and the same command continues from there",
                          o->state)
               : complain(code, "stopped; --state FILE would have kept the finished members for the next run");
}

static void print_text(const estimation *j, const epiq_result *r, const report_run *run)
{
    if (j->before) {
        printf("%s\n\n", j->before);
    }
    report_text(stdout, r, run, terminal_style());
    if (j->after) {
        printf("\n%s\n", j->after);
    }
}

static int write_result(const cli *c, const estimation *j, const epiq_result *r, const report_run *run, output *json,
                        output *csv)
{
    bool quiet = args_value(c, "quiet"), text = !quiet && json->file != stdout && csv->file != stdout;
    output list[2];
    int count = 0;
    if (json->file) {
        report_json(json->file, r, run);
        list[count++] = *json;
    }
    if (csv->file) {
        report_csv(csv->file, r);
        list[count++] = *csv;
    }
    *json = *csv = (output){0};
    int code = output_commit(list, count); /* before the text: a pager that was closed costs no results */
    if (!code && text) {
        print_text(j, r, run);
        code = output_stdout();
    }
    for (ptrdiff_t i = 0; !code && !quiet && !text && i < r->warning_count; i++) {
        warn(r->warnings[i].message);
    }
    return code;
}

int run_estimate(cli *c, const estimation *j)
{
    const char *json_path = args_value(c, "json"), *csv_path = args_value(c, "csv");
    if (json_path && csv_path && (strcmp(json_path, csv_path) == 0 || same_file(json_path, csv_path))) {
        return complain(CODE_USAGE, "--json and --csv both name %s; only one can be written there",
                        strcmp(json_path, "-") == 0 ? "standard output" : json_path);
    }
    output json = {0}, csv = {0};
    epiq_data *data = NULL;
    epiq_points *at = NULL;
    epiq_result *r = NULL;
    report_run run = {.command = c->command, .options = &c->options};
    double began = now();
    watch_start(&c->ctx, 1, args_value(c, "quiet"));
    epiq_ctx_on_progress(c->ctx, watch_progress, NULL);
    int code = json_path ? output_open(&json, json_path, c) : CODE_OK;
    if (!code && csv_path) {
        code = output_open(&csv, csv_path, c);
    }
    if (!code) {
        int status = j->load(c, &data, &at);
        run.read_seconds = now() - began;
        if (status >= 0) {
            status = epiq_estimate(c->ctx, data, at, &c->options, &r);
        }
        watch_end();
        if (status < 0) {
            code =
                watch_signal() && c->options.engine != EPIQ_ENGINE_INFINITE ? stopped(&c->options) : failed(c, status);
        }
    }
    if (!code) {
        run.data = epiq_data_describe(data);
        run.seconds = now() - began;
        run.peak_rss_bytes = peak_rss();
        code = write_result(c, j, r, &run, &json, &csv);
    }
    output_drop(&json, 1);
    output_drop(&csv, 1);
    epiq_result_free(c->ctx, r);
    epiq_points_free(c->ctx, at);
    epiq_data_free(c->ctx, data);
    return code;
}
