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

/* told: what was finished has been said */
static int stopped(const epiq_options *o, bool told)
{
    int code = CODE_SIGNAL + watch_signal();
    const char *what = told ? "stopped; above is the answer of what was finished, and no file was written" : "stopped";
    return o->state ? complain(code, "%s; finished members are kept in %s and the same command continues from there",
                               what, o->state)
                    : complain(code, "%s; --state FILE would have kept the finished members for the next run", what);
}

typedef enum { JSON, CSV, PAGE, OUTPUTS } output_kind;
static const char *const FLAG_OF[OUTPUTS] = {"json", "csv", "report"};

/* sweeps: they were asked for, and not only to be drawn */
static void print_text(const estimation *j, const epiq_result *r, const report_run *run, const char *page, bool sweeps)
{
    epiq_result told = *r;
    told.sweep_count = sweeps ? r->sweep_count : 0;
    if (j->before) {
        printf("%s\n\n", j->before);
    }
    report_text(stdout, &told, run, terminal_style());
    if (page) {
        fputs("\nThe same with pictures is in ", stdout);
        report_plain(stdout, page);
        puts(", for any browser.");
    }
    if (j->after) {
        printf("\n%s\n", j->after);
    }
}

/* Everything is settled before anything gets its name. */
static int commit(output *outputs, picture_files *pictures)
{
    int count = 0;
    output *list = calloc((size_t)(OUTPUTS + pictures->count), sizeof *list);
    if (!list) {
        return complain(CODE_NUMERIC, "no memory for the names of the files");
    }
    for (int k = 0; k < OUTPUTS; k++) {
        if (outputs[k].file) {
            list[count++] = outputs[k];
            outputs[k] = (output){0};
        }
    }
    for (int k = 0; k < pictures->count; k++) {
        list[count++] = pictures->files[k];
        pictures->files[k] = (output){.path = pictures->files[k].path};
    }
    int code = output_commit(list, count);
    free(list);
    return code;
}

static int write_files(const cli *c, const epiq_result *r, const report_run *run, output *outputs,
                       picture_files *pictures)
{
    if (outputs[JSON].file) {
        report_json(outputs[JSON].file, r, run);
    }
    if (outputs[CSV].file) {
        report_csv(outputs[CSV].file, r);
    }
    if (outputs[PAGE].file) {
        report_html(outputs[PAGE].file, r, run);
    }
    int code = pictures->folder ? pictures_write(pictures, c, r, run) : CODE_OK;
    return code ? code : commit(outputs, pictures);
}

/* partial: the answer is told, but a file would look like that of the whole */
static int write_result(const cli *c, const estimation *j, const epiq_result *r, const report_run *run, output *outputs,
                        picture_files *pictures, bool partial)
{
    bool quiet = args_value(c, "quiet"), text = !quiet;
    const char *page = outputs[PAGE].file ? outputs[PAGE].path : NULL;
    for (int k = 0; k < OUTPUTS; k++) {
        text = text && outputs[k].file != stdout;
    }
    int code = partial ? CODE_OK : write_files(c, r, run, outputs, pictures); /* a pager that is closed costs no file */
    if (!code && text) {
        print_text(j, r, run, partial ? NULL : page, args_value(c, "sweep"));
        code = output_stdout();
    }
    if (!code && partial) {
        return stopped(&c->options, text);
    }
    for (ptrdiff_t i = 0; !code && !quiet && !text && i < r->warning_count; i++) {
        warn(r->warnings[i].message);
    }
    return code;
}

/* Where the outputs go, no two to one place. */
static int choose_paths(const cli *c, const estimation *j, const char **path)
{
    for (int k = 0; k < OUTPUTS; k++) {
        path[k] = args_value(c, FLAG_OF[k]);
    }
    path[PAGE] = path[PAGE] ? path[PAGE] : j->page;
    for (int a = 0; a < OUTPUTS; a++) {
        for (int b = a + 1; b < OUTPUTS; b++) {
            if (path[a] && path[b] && (strcmp(path[a], path[b]) == 0 || same_file(path[a], path[b]))) {
                return complain(CODE_USAGE, "--%s and --%s both name %s; only one can be written there", FLAG_OF[a],
                                FLAG_OF[b], strcmp(path[a], "-") == 0 ? "standard output" : path[a]);
            }
        }
    }
    return CODE_OK;
}

/* Pictures are of sweeps too: of 25 values a feature, fewer where the time they take, of the order of rows squared for
 * each, would be felt: 5e9 take some 0.3 s on two cores. */
static ptrdiff_t sweep_to_draw(const epiq_data *data)
{
    epiq_data_info d = epiq_data_describe(data);
    double swept = d.features < 24 ? (double)d.features : 24, rows = (double)d.rows,
           values = 5e9 / (swept * rows * rows);
    return values > 25 ? 25 : values < 5 ? 5 : (ptrdiff_t)values;
}

int run_estimate(cli *c, const estimation *j)
{
    const char *path[OUTPUTS];
    int code = choose_paths(c, j, path);
    const char *sweep = args_value(c, "sweep");
    code = code || !sweep ? code : args_option(c, "sweep", sweep);
    if (code) {
        return code;
    }
    output outputs[OUTPUTS] = {0};
    picture_files pictures = {0};
    epiq_data *data = NULL;
    epiq_points *at = NULL;
    epiq_result *r = NULL;
    report_run run = {.command = c->command, .options = &c->options};
    bool partial = false;
    double began = now();
    watch_start(&c->ctx, 1, args_value(c, "quiet"));
    epiq_ctx_on_progress(c->ctx, watch_progress, NULL);
    for (int k = 0; !code && k < OUTPUTS; k++) {
        code = path[k] ? output_open(&outputs[k], path[k], c) : CODE_OK;
    }
    code = code ? code : pictures_prepare(&pictures, c);
    if (!code) {
        int status = j->load(c, &data, &at);
        run.read_seconds = now() - began;
        if (status >= 0 && !sweep && (path[PAGE] || pictures.folder)) {
            c->options.sweep = sweep_to_draw(data);
        }
        if (status >= 0) {
            watch_finish();
            status = epiq_estimate(c->ctx, data, at, &c->options, &r);
            partial = status == EPIQ_PARTIAL;
        }
        watch_end();
        if (status < 0) {
            code = watch_signal() && c->options.engine != EPIQ_ENGINE_INFINITE ? stopped(&c->options, false)
                                                                               : failed(c, status);
        }
    }
    if (!code) {
        run.data = epiq_data_describe(data);
        run.seconds = now() - began;
        run.peak_rss_bytes = peak_rss();
        code = write_result(c, j, r, &run, outputs, &pictures, partial);
    }
    output_drop(outputs, OUTPUTS);
    pictures_end(&pictures, !code);
    epiq_result_free(c->ctx, r);
    epiq_points_free(c->ctx, at);
    epiq_data_free(c->ctx, data);
    return code;
}
