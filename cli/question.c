/* question.c - outputs first, so that an unwritable one costs no work; then load, find out, write. */
#include "cli/question.h"
#include "common/rounded.h"
#include "report/format.h"

#include <stdlib.h>
#include <unistd.h>

int load_table(question *q, cli *c)
{
    bool named = false;
    int status = epiq_data_read(c->ctx, c->operand, &c->options, &q->data);
    status = status < 0 ? status : epiq_points_new(c->ctx, q->data, &q->at);
    for (ptrdiff_t i = 0; status >= 0 && i < c->given_count; i++) {
        if (args_points(c, i)) {
            status = epiq_points_add(c->ctx, q->at, c->given[i].value);
            named = true;
        }
    }
    if (status < 0 || named) return status;
    return q->mean ? epiq_points_add(c->ctx, q->at, "mean") : epiq_points_add_usual(c->ctx, q->at, &c->options);
}

int stopped(const cli *c, bool resumable, bool told)
{
    int code = CODE_SIGNAL + watch_signal();
    const char *what = told ? "stopped; above is the answer of what was finished, and no file was written" : "stopped";
    resumable = resumable && c->options.methods != EPIQ_IF; /* which has no members */
    if (resumable && c->options.state) {
        return complain(code, "%s; finished networks are kept in %s and the same command continues from there", what,
                        c->options.state);
    }
    if (c->options.state) return complain(code, "%s; nothing was added to %s", what, c->options.state);
    return complain(code, "%s%s", what,
                    resumable ? "; --state FILE would have kept the finished networks for the next run" : "");
}

static int open_crew(const cli *c, study_crew *crew)
{
    const ptrdiff_t threads = c->options.threads > 0 ? c->options.threads : sysconf(_SC_NPROCESSORS_ONLN);
    crew->report = watch_study;
    if (study_crew_open(crew, (int)threads, EPIQ_SPELL_FLAG)) {
        return complain(CODE_NUMERIC, "no memory for %td threads", threads);
    }
    for (ptrdiff_t k = 0; k < threads; k++) {
        epiq_ctx_on_device(crew->workers[k], device_open, NULL);
    }
    return CODE_OK;
}

static int work(cli *c, question *q, outputs *o)
{
    double began = epiqp_now();
    report_run *run = &q->answer.run;
    run->command = c->command;
    run->options = &c->options;
    watch_start(q->crew ? q->crew->workers : &c->ctx, q->crew ? q->crew->threads : 1,
                args_value(c, "quiet") || !cluster_speaks());
    epiq_ctx_on_progress(c->ctx, watch_progress, NULL);
    int code = cluster_speaks() ? outputs_open(o, c, q->page) : CODE_OK;
    if (cluster_there()) { /* closed again, so that a rank that is killed leaves no temporary file behind */
        outputs_drop(o);
        *o = (outputs){0};
    }
    if (!code) {
        int status = q->load ? q->load(q, c) : EPIQ_OK;
        run->read_seconds = epiqp_now() - began;
        q->draw = q->page || args_value(c, "report") || args_value(c, "pictures");
        status = status < 0 ? status : q->find(q, c);
        watch_end(); /* before anything is printed */
        q->answer.partial = status == EPIQ_PARTIAL;
        code = status >= 0                    ? CODE_OK
               : watch_signal() && q->stopped ? q->stopped(q)
               : watch_signal()               ? stopped(c, q->resumable, false)
               : q->crew                      ? complain(exit_code(status), "%s", q->crew->message)
                                              : failed(c, status);
    }
    watch_end(); /* an output may not have been opened */
    if (!code) {
        if (q->data) run->data = epiq_data_describe(q->data);
        run->seconds = epiqp_now() - began;
        run->peak_rss_bytes = cluster_most(epiqp_peak_rss());
        code = cluster_there() && cluster_speaks() ? outputs_open(o, c, q->page) : CODE_OK;
        code = !code && cluster_speaks() ? outputs_write(o, &q->answer) : code;
        code = !code && q->answer.partial ? stopped(c, q->resumable, o->text) : code;
    }
    return code;
}

/* A table that is only read, and nothing to show for it. */
static int refuse_silence(const cli *c, const question *q)
{
    const bool kept = args_value(c, "json") || args_value(c, "csv") || args_value(c, "report") ||
                      args_value(c, "pictures") || q->page || c->options.state;
    if (q->load != load_table || !args_value(c, "quiet") || kept) return CODE_OK;
    return complain(CODE_USAGE, "--quiet prints nothing, and no file is named for the answer; add --json, --csv or "
                                "--report FILE, or leave --quiet out");
}

int run_question(cli *c, question *q)
{
    outputs o = {0};
    study_crew *crew = q->crew;
    int code = refuse_silence(c, q);
    code = code || !crew ? code : open_crew(c, crew);
    code = code ? code : work(c, q, &o);
    outputs_drop(&o);
    epiq_result_free(c->ctx, q->result);
    epiq_points_free(c->ctx, q->at);
    epiq_data_free(c->ctx, q->data);
    if (crew) study_crew_close(crew);
    return code;
}

/* ---- forecasts ---- */

int dry_run_check(const cli *c)
{
    static const char *const RESULTS[] = {"csv", "report", "pictures", NULL};
    for (const char *const *name = RESULTS; args_value(c, "dry-run") && *name; name++) {
        if (args_value(c, *name)) {
            return complain(CODE_USAGE, "a dry run has nothing to write as --%s; leave one of the two out", *name);
        }
    }
    return CODE_OK;
}

int dry_run_found(question *q, int status)
{
    q->answer.writers = &ESTIMATE_WRITERS;
    q->answer.found = (report_answer){.result = q->result};
    return status;
}

/* ---- estimates ---- */

/* Pictures are of sweeps too: of 25 values a feature, fewer where the time they take, of the order of rows squared for
 * each, would be felt: 5e9 take some 0.3 s on two cores. */
static ptrdiff_t sweep_to_draw(const epiq_data *data)
{
    epiq_data_info d = epiq_data_describe(data);
    double swept = d.features < 24 ? (double)d.features : 24, rows = (double)d.rows,
           values = 5e9 / (swept * rows * rows);
    return values > 25 ? 25 : values < 5 ? 5 : (ptrdiff_t)values;
}

enum { LOOK_ROWS = 2000 }; /* whose closed form takes less than a second */

/* What a person who waits for networks can know at once: how well infinitely wide ones do, in closed form. */
static void look_first(const question *q, const cli *c)
{
    epiq_options o = c->options;
    epiq_points *at = NULL;
    epiq_result *r = NULL;
    if (!watch_shown() || o.engine != EPIQ_ENGINE_NETWORK || epiq_data_describe(q->data).rows > LOOK_ROWS) return;
    o.engine = EPIQ_ENGINE_INFINITE;
    o.methods = EPIQ_IF;
    o.data_by = EPIQ_DATA_BY_IF;
    o.lambda = o.lambda > 0 ? o.lambda : EPIQ_USUAL_LAMBDA;
    o.state = NULL;
    o.sweep = o.influential = 0;
    if (epiq_points_new(c->ctx, q->data, &at) >= 0 && epiq_points_add(c->ctx, at, "mean") >= 0 &&
        epiq_estimate(c->ctx, q->data, at, &o, &r) >= 0 && r->fit->known && r->fit->has_r2) {
        watch_say(
            phrase_of("First look, without training: typical error on rows not seen about %s (R2 %s). Now networks "
                      "are trained.",
                      epiqp_rounded_sd(r->fit->rmse).text, epiqp_rounded_r2(r->fit->r2).text)
                .text);
    }
    epiq_result_free(c->ctx, r);
    epiq_points_free(c->ctx, at);
}

static int estimate(question *q, cli *c)
{
    if (q->answer.run.sweeps_drawn && q->draw) {
        c->options.sweep = sweep_to_draw(q->data);
        if (c->options.state && !args_value(c, "quiet")) { /* a member is kept as its predictions */
            warn("the page asks at more points, so networks kept without it are trained again; --sweep 0 leaves that "
                 "out");
        }
    }
    bool dry = args_value(c, "dry-run");
    if (!dry) look_first(q, c);
    if (watch_signal()) return EPIQ_E_STOPPED; /* by a request that looking has used up */
    if (!dry) watch_finish();
    int status = (dry ? epiq_forecast : epiq_estimate)(c->ctx, q->data, q->at, &c->options, &q->result);
    q->answer.found.result = q->result;
    q->answer.found.candidates = q->at;
    return status;
}

int run_estimate(cli *c, question *q)
{
    const char *page = args_value(c, "report");
    int code = args_own_option(c, "sweep");
    q->resumable = !q->find && c->options.engine != EPIQ_ENGINE_INFINITE;
    q->find = q->find ? q->find : estimate;
    q->answer.writers = &ESTIMATE_WRITERS;
    q->answer.run.sweeps_drawn = !args_value(c, "sweep");
    q->answer.run.verbose = args_value(c, "verbose");
    q->answer.page = page ? page : q->page;
    return code ? code : run_question(c, q);
}
