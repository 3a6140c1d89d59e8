/* question.c - outputs first, so that an unwritable one costs no work; then load, find out, write. */
#include "cli/question.h"

int load_table(cli *c, epiq_data **data, epiq_points **at)
{
    bool named = false;
    int status = epiq_data_read(c->ctx, c->operand, &c->options, data);
    if (status >= 0) {
        status = epiq_points_new(c->ctx, *data, at);
    }
    for (ptrdiff_t i = 0; status >= 0 && i < c->given_count; i++) {
        if (args_points(c, i)) {
            status = epiq_points_add(c->ctx, *at, c->given[i].value);
            named = true;
        }
    }
    return status >= 0 && !named ? epiq_points_add(c->ctx, *at, "mean") : status;
}

/* told: what was finished has been printed. */
static int stopped(const cli *c, const question *q, bool told)
{
    int code = CODE_SIGNAL + watch_signal();
    const char *what = told ? "stopped; above is the answer of what was finished, and no file was written" : "stopped";
    const bool keeps = q->keeps && c->options.methods & (EPIQ_EV | EPIQ_BA); /* IF has no members */
    if (keeps && c->options.state) {
        return complain(code, "%s; finished members are kept in %s and the same command continues from there", what,
                        c->options.state);
    }
    if (c->options.state) {
        return complain(code, "%s; nothing was added to %s", what, c->options.state);
    }
    return complain(code, "%s%s", what,
                    keeps ? "; --state FILE would have kept the finished members for the next run" : "");
}

int run_question(cli *c, question *q)
{
    outputs o = {0};
    epiq_data *data = NULL;
    epiq_points *at = NULL;
    double began = now();
    q->run = (report_run){.command = c->command, .options = &c->options};
    watch_start(&c->ctx, 1, args_value(c, "quiet") || !cluster_speaks());
    epiq_ctx_on_progress(c->ctx, watch_progress, NULL);
    int code = cluster_speaks() ? outputs_open(&o, c, q->page) : CODE_OK;
    if (cluster_there()) { /* a rank may be killed at any moment: what is not there meanwhile is not left behind */
        outputs_drop(&o);
        o = (outputs){0};
    }
    if (!code) {
        int status = q->load ? q->load(c, &data, &at) : EPIQ_OK;
        q->run.read_seconds = now() - began;
        q->draw = outputs_draw(c, q->page);
        status = status < 0 ? status : q->find(q, c, data, at);
        watch_end(); /* before anything is said */
        q->answer.partial = status == EPIQ_PARTIAL;
        code = status >= 0 ? CODE_OK : watch_signal() ? stopped(c, q, false) : failed(c, status);
    }
    watch_end(); /* an output may not have been opened */
    if (!code) {
        if (data) {
            q->run.data = epiq_data_describe(data);
        }
        q->run.seconds = now() - began;
        q->run.peak_rss_bytes = cluster_most(peak_rss());
        code = cluster_there() && cluster_speaks() ? outputs_open(&o, c, q->page) : CODE_OK;
        code = !code && cluster_speaks() ? outputs_write(&o, &q->answer) : code;
        code = !code && q->answer.partial ? stopped(c, q, o.text) : code;
    }
    outputs_drop(&o);
    epiq_points_free(c->ctx, at);
    epiq_data_free(c->ctx, data);
    return code;
}
