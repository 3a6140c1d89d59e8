/* cmd_score.c - epiq score: a model against rows whose target is known. */
#include "cli/question.h"

#include <string.h>

typedef struct {
    question base;
    epiq_score_request ask;
    epiq_model *model;
    epiq_model_info info;
    epiq_scores *scores;
} score_job;

static int find(question *q, cli *c)
{
    score_job *j = (score_job *)q;
    int status = epiq_model_read(c->ctx, c->operand, &j->model);
    status = status < 0 ? status : epiq_score_file(c->ctx, j->model, c->operand2, &j->ask, &j->scores);
    if (status < 0) return status;
    j->info = epiq_model_describe(j->model);
    q->answer.found.scores = j->scores;
    q->answer.found.model = &j->info;
    q->answer.found.file = c->operand;
    q->answer.found.test = strcmp(c->operand2, "-") == 0 ? "standard input" : c->operand2;
    q->answer.run.data.target = j->info.target;
    return status;
}

static int run(cli *c)
{
    score_job j = {.base = {.find = find, .answer = {.writers = &SCORE_WRITERS}}, .ask = {.size = sizeof j.ask}};
    int missing = EPIQ_MISSING_REFUSE, code = args_own_option(c, "level");
    code = code ? code : args_own_option(c, "threads");
    code = code ? code : args_choice(c, "missing", &missing);
    j.ask.missing = missing;
    j.ask.level = c->options.level;
    j.ask.threads = c->options.threads;
    j.ask.exact = args_value(c, "exact") != NULL;
    code = code ? code : run_question(c, &j.base);
    epiq_scores_free(c->ctx, j.scores);
    epiq_model_free(c->ctx, j.model);
    return code;
}

static const flag FLAGS[] = {
    FLAG("missing", "Input", "refuse|drop", "refuse",
         "rows of TEST that lack a cell; those left out keep their numbers"),
    FLAG("level", "Output", "X", "0.95", "of the interval of y, from lo to hi"),
    JSON_FLAG,
    FLAG("csv", "Output", "FILE|-", "", "write one line per row: y, prediction and interval (- is standard output)"),
    FLAG("report", "Output", "FILE.html", "", "write a page with pictures of errors and calibration, for any browser"),
    PICTURE_FLAGS,
    QUIET_FLAG,
    FLAG("exact", "Running", NULL, "",
         "double precision throughout, three times as slow for networks of one hidden layer"),
    FLAG("threads", "Running", "N", "0", "worker threads (0: all cores)"),
    {0},
};

const verb VERB_SCORE = {
    .name = "score",
    .operand = "MODEL",
    .operand2 = "TEST",
    .usage = "MODEL TEST [flags]",
    .summary =
        "can a model be trusted? Errors, coverage and calibration of a file of epiq fit on the rows of TEST, which "
        "has the target too (CSV or NPZ; - is standard input)",
    .flags = FLAGS,
    .reads = true,
    .run = run,
};
