/* explore_loop_run.c - epiq explore --loop, and the outputs of both ways of epiq explore. */
#include "cli/explore.h"
#include "report/explore.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const FLAG_OF[EXPLORE_OUTPUTS] = {"json", "csv", "report"};

int explore_open(const cli *c, output *outputs)
{
    int code = CODE_OK;
    for (int i = 0; i < EXPLORE_OUTPUTS; i++) {
        const char *a = args_value(c, FLAG_OF[i]);
        for (int k = 0; a && k < i; k++) {
            const char *b = args_value(c, FLAG_OF[k]);
            if (b && (strcmp(a, b) == 0 || same_file(a, b))) {
                return complain(CODE_USAGE, "--%s and --%s both name %s; only one can be written there", FLAG_OF[k],
                                FLAG_OF[i], strcmp(a, "-") == 0 ? "standard output" : a);
            }
        }
    }
    for (int i = 0; i < EXPLORE_OUTPUTS && !code; i++) {
        const char *path = args_value(c, FLAG_OF[i]);
        code = path ? output_open(&outputs[i], path, c) : CODE_OK;
    }
    return code;
}

int explore_commit(output *outputs, bool *text)
{
    output list[EXPLORE_OUTPUTS];
    int count = 0;
    *text = true;
    for (int i = 0; i < EXPLORE_OUTPUTS; i++) {
        if (outputs[i].file) {
            *text = *text && outputs[i].file != stdout;
            list[count++] = outputs[i];
            outputs[i] = (output){0};
        }
    }
    return output_commit(list, count);
}

/* ---- the loop ---- */

static const char *function_name(const void *from, ptrdiff_t index)
{
    (void)from;
    const loop_function *f = loop_function_list(index);
    return f ? f->name : NULL;
}

static int choose_function(const cli *c, loop_job *job)
{
    const char *name = args_value(c, "function"), *near;
    ptrdiff_t k = 0;
    job->function = loop_function_list(0);
    while (name && (job->function = loop_function_list(k++)) && strcmp(job->function->name, name) != 0) {
    }
    if (job->function) {
        return CODE_OK;
    }
    near = closest(name, function_name, NULL);
    return near ? complain(CODE_USAGE, "there is no function \"%s\"; did you mean %s?", name, near)
                : complain(CODE_USAGE, "there is no function \"%s\"; epiq explore --help lists them", name);
}

static int fill(cli *c, const epiq_exploration *ask, loop_job *job)
{
    long long steps = 25, seeds = 20, start = 10, fresh = 200;
    *job = (loop_job){.noise = 0.1, .ask = *ask, .options = c->options, .report = watch_study};
    if (!args_value(c, "engine")) {
        job->options.engine = EPIQ_ENGINE_INFINITE;
    }
    if (c->options.state) {
        return complain(CODE_USAGE, "--loop keeps no state; leave out --state");
    }
    int code = choose_function(c, job);
    code = code ? code : args_count(c, "steps", 1, 1000, &steps);
    code = code ? code : args_count(c, "seeds", 2, 1000, &seeds);
    code = code ? code : args_count(c, "start", 2, 10000, &start);
    code = code ? code : args_count(c, "fresh", 2, 100000, &fresh);
    code = code ? code : explore_real(c, "noise", 0, 1000, &job->noise);
    if (!code && fresh < ask->batch) {
        code = complain(CODE_USAGE,
                        "a batch of %td cannot be picked from %lld candidates; use a smaller --batch or "
                        "more --fresh ones",
                        ask->batch, fresh);
    }
    job->steps = (ptrdiff_t)steps;
    job->seeds = (ptrdiff_t)seeds;
    job->start = (ptrdiff_t)start;
    job->candidates = (ptrdiff_t)fresh;
    job->threads = (int)(c->options.threads > 0 ? c->options.threads : sysconf(_SC_NPROCESSORS_ONLN));
    return code;
}

static int play(const cli *c, loop_job *job, output *outputs)
{
    loop_result *r = NULL;
    double began = now();
    watch_start(job->workers, job->threads, args_value(c, "quiet"));
    int status = loop_run(job, &r);
    watch_end();
    if (status < 0) {
        return watch_signal() ? complain(CODE_SIGNAL + watch_signal(), "stopped")
                              : complain(exit_code(status), "%s", job->message);
    }
    const report_study_run run = {c->command, &job->options, now() - began, peak_rss(), NULL};
    if (outputs[EXPLORE_JSON].file) {
        report_loop_json(outputs[EXPLORE_JSON].file, r, &run);
    }
    if (outputs[EXPLORE_CSV].file) {
        report_loop_csv(outputs[EXPLORE_CSV].file, r);
    }
    if (outputs[EXPLORE_HTML].file) {
        report_loop_html(outputs[EXPLORE_HTML].file, r, &run);
    }
    bool text;
    int code = explore_commit(outputs, &text);
    if (!code && text && !args_value(c, "quiet")) {
        report_loop_text(stdout, r, &run);
        code = output_stdout();
    }
    loop_result_free(r);
    return code;
}

int explore_loop(cli *c, const epiq_exploration *ask, output *outputs)
{
    loop_job job;
    int code = fill(c, ask, &job), made = 0;
    if (code) {
        return code;
    }
    job.workers = calloc((size_t)job.threads, sizeof *job.workers);
    while (job.workers && made < job.threads && epiq_ctx_new(&job.workers[made]) >= 0) {
        made++;
    }
    code =
        made < job.threads ? complain(CODE_NUMERIC, "no memory for %d threads", job.threads) : play(c, &job, outputs);
    while (made > 0) {
        epiq_ctx_free(job.workers[--made]);
    }
    free(job.workers);
    return code;
}
