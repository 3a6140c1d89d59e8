/* explore_loop_run.c - epiq explore --loop: rules for choosing, tried on known functions. */
#include "cli/explore.h"
#include "cli/outputs.h"
#include "report/explore.h"

#include <string.h>
#include <unistd.h>

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
    code = code ? code : args_real(c, "noise", 0, 1000, &job->noise);
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

typedef struct {
    loop_result *result;
    report_study_run run;
} played;

static void write_json(void *self, FILE *out)
{
    const played *p = self;
    report_loop_json(out, p->result, &p->run);
}

static void write_csv(void *self, FILE *out)
{
    report_loop_csv(out, ((const played *)self)->result);
}

static void write_page(void *self, FILE *out, svg_album *album)
{
    const played *p = self;
    report_loop_html(out, p->result, &p->run, album);
}

static void print_text(void *self)
{
    const played *p = self;
    report_loop_text(stdout, p->result, &p->run);
}

static int play(const cli *c, loop_job *job, outputs *o)
{
    played p = {0};
    double began = now();
    int status = loop_run(job, &p.result);
    watch_end();
    if (status < 0) {
        return watch_signal() ? complain(CODE_SIGNAL + watch_signal(), "stopped")
                              : complain(exit_code(status), "%s", job->message);
    }
    p.run = (report_study_run){c->command, &job->options, now() - began, peak_rss(), NULL};
    int code = outputs_write(
        o, &(answer){.self = &p, .json = write_json, .csv = write_csv, .page = write_page, .text = print_text});
    loop_result_free(p.result);
    return code;
}

int explore_loop(cli *c, const epiq_exploration *ask)
{
    loop_job job;
    outputs o;
    int code = fill(c, ask, &job);
    code = code ? code : workers_new(&job.workers, job.threads);
    if (code) {
        return code;
    }
    watch_start(job.workers, job.threads, args_value(c, "quiet"));
    code = outputs_open(&o, c, NULL);
    code = code ? code : play(c, &job, &o);
    outputs_drop(&o);
    watch_end(); /* whatever happened, no signal may look for them */
    workers_free(job.workers, job.threads);
    return code;
}
