/* run.c - what estimate, demo and combine have in common: an estimate as a question. */
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

typedef struct {
    question base;
    const estimation *asked;
    const char *page; /* where the text says it is; NULL: nowhere */
    bool sweeps;      /* were asked for, and not only to be drawn */
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

static int estimate(question *q, cli *c, const epiq_data *data, const epiq_points *at)
{
    estimate_job *j = (estimate_job *)q;
    if (!j->sweeps && q->draw) {
        c->options.sweep = sweep_to_draw(data);
        if (c->options.state && !args_value(c, "quiet")) { /* a member is kept as its predictions */
            warn("the page asks at more points, so networks kept without it are trained again; --sweep 0 leaves that "
                 "out");
        }
    }
    if (args_value(c, "dry-run")) {
        return epiq_foresee(c->ctx, data, at, &c->options, &j->result);
    }
    watch_finish();
    return epiq_estimate(c->ctx, data, at, &c->options, &j->result);
}

static int find(question *q, cli *c, const epiq_data *data, const epiq_points *at)
{
    estimate_job *j = (estimate_job *)q;
    const estimation *e = j->asked;
    int status = e->find ? e->find(e->self, c, &q->run, &j->result) : estimate(q, c, data, at);
    if (status >= 0) {
        q->answer.warnings = j->result->warnings;
        q->answer.warning_count = j->result->warning_count;
    }
    return status;
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
                 .keeps = !e->find && c->options.engine != EPIQ_ENGINE_INFINITE,
                 .page = e->page,
                 .answer = {.self = &j, .json = write_json, .csv = write_csv, .page = write_page, .text = print_text}},
        .asked = e,
        .page = page ? page : e->page,
        .sweeps = sweep};
    code = run_question(c, &j.base);
    epiq_result_free(c->ctx, j.result);
    return code;
}
