/* run.c - what estimate and demo have in common: an estimate as a question, and what is finished of one that was stopped. */
#include "cli/question.h"

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

typedef struct {
    question base;
    const estimation *asked;
    const char *page; /* where the text says it is; NULL: nowhere */
    bool sweeps;      /* were asked for, and not only to be drawn */
    bool told;        /* the text has been printed */
    epiq_result *result;
} estimate_job;

static void write_json(void *self, FILE *out)
{
    const estimate_job *j = self;
    report_json(out, j->result, &j->base.run);
}

static void write_csv(void *self, FILE *out)
{
    report_csv(out, ((const estimate_job *)self)->result);
}

static void write_page(void *self, FILE *out, svg_album *album)
{
    const estimate_job *j = self;
    report_html(out, j->result, &j->base.run, album);
}

static void print_text(void *self)
{
    estimate_job *j = self;
    epiq_result told = *j->result;
    told.sweep_count = j->sweeps ? told.sweep_count : 0;
    if (j->asked->before) {
        printf("%s\n\n", j->asked->before);
    }
    report_text(stdout, &told, &j->base.run, terminal_style());
    if (j->page && !j->base.answer.partial) {
        fputs("\nThe same with pictures is in ", stdout);
        report_plain(stdout, j->page);
        puts(", for any browser.");
    }
    if (j->asked->after) {
        printf("\n%s\n", j->asked->after);
    }
    j->told = true;
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

static int find(question *q, cli *c, const epiq_data *data, const epiq_points *at)
{
    estimate_job *j = (estimate_job *)q;
    if (!j->sweeps && q->draw) {
        c->options.sweep = sweep_to_draw(data);
    }
    watch_finish();
    int status = epiq_estimate(c->ctx, data, at, &c->options, &j->result);
    if (status >= 0) {
        q->answer.partial = status == EPIQ_PARTIAL;
        q->answer.warnings = j->result->warnings;
        q->answer.warning_count = j->result->warning_count;
    }
    return status;
}

static int fail(const cli *c, int status)
{
    return watch_signal() && c->options.engine != EPIQ_ENGINE_INFINITE ? stopped(&c->options, false)
                                                                       : failed(c, status);
}

int run_estimate(cli *c, const estimation *e)
{
    const char *sweep = args_value(c, "sweep"), *page = args_value(c, "report");
    int code = sweep ? args_option(c, "sweep", sweep) : CODE_OK;
    if (code) {
        return code;
    }
    estimate_job j = {
        .base = {.load = e->load,
                 .find = find,
                 .fail = fail,
                 .page = e->page,
                 .answer = {.self = &j, .json = write_json, .csv = write_csv, .page = write_page, .text = print_text}},
        .asked = e,
        .page = page ? page : e->page,
        .sweeps = sweep};
    code = run_question(c, &j.base);
    epiq_result_free(c->ctx, j.result);
    return !code && j.base.answer.partial ? stopped(&c->options, j.told) : code;
}
