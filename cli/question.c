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

int run_question(cli *c, question *q)
{
    outputs o;
    epiq_data *data = NULL;
    epiq_points *at = NULL;
    double began = now();
    q->run = (report_run){.command = c->command, .options = &c->options};
    watch_start(&c->ctx, 1, args_value(c, "quiet"));
    epiq_ctx_on_progress(c->ctx, watch_progress, NULL);
    int code = outputs_open(&o, c, q->page);
    if (!code) {
        int status = q->load(c, &data, &at);
        q->run.read_seconds = now() - began;
        q->draw = outputs_draw(&o);
        status = status < 0 ? status : q->find(q, c, data, at);
        watch_end();
        code = status < 0 ? (q->fail ? q->fail : failed)(c, status) : CODE_OK;
    }
    if (!code) {
        q->run.data = epiq_data_describe(data);
        q->run.seconds = now() - began;
        q->run.peak_rss_bytes = peak_rss();
        code = outputs_write(&o, &q->answer);
    }
    outputs_drop(&o);
    epiq_points_free(c->ctx, at);
    epiq_data_free(c->ctx, data);
    return code;
}
