/* cmd_explore.c - epiq explore: a table, a target, candidates; which of them to measure next. */
#include "cli/explore.h"
#include "cli/question.h"
#include "report/explore.h"

#include <string.h>

enum { TOP = 20, MOST = 1000000 };

static const char *const GOALS[] = {[EPIQ_GOAL_MAX] = "max", [EPIQ_GOAL_MIN] = "min"};

static int choice(const cli *c, const char *name, const char *const *choices, int count, const char *listed, int *value)
{
    const char *text = args_value(c, name);
    for (int k = 0; text && k < count; k++) {
        if (strcmp(text, choices[k]) == 0) {
            *value = k;
            return CODE_OK;
        }
    }
    return text ? complain(CODE_USAGE, "--%s is \"%s\"; it must be %s", name, text, listed) : CODE_OK;
}

static int fill(const cli *c, epiq_exploration *ask, long long *top)
{
    long long batch = 1;
    *ask = epiq_exploration_default();
    const char *const rules[] = {[EPIQ_RULE_UCB] = epiq_rule_text(EPIQ_RULE_UCB),
                                 [EPIQ_RULE_DATA] = epiq_rule_text(EPIQ_RULE_DATA),
                                 [EPIQ_RULE_TOTAL] = epiq_rule_text(EPIQ_RULE_TOTAL)};
    int code = choice(c, "rule", rules, 3, "ucb, data or total", &ask->rule);
    code = code ? code : choice(c, "goal", GOALS, 2, "max or min", &ask->goal);
    code = code ? code : args_real(c, "kappa", 0, 1e6, &ask->kappa);
    code = code ? code : args_count(c, "batch", 1, MOST, &batch);
    code = code ? code : args_count(c, "top", 1, MOST, top);
    ask->batch = (ptrdiff_t)batch;
    return code;
}

/* ---- a ranking ---- */

typedef struct {
    question base;
    epiq_exploration ask;
    ptrdiff_t top;
    epiq_options ran; /* with the methods it took */
    epiq_ranking *ranking;
} ranking_job;

static int find(question *q, cli *c, const epiq_data *data, const epiq_points *at)
{
    ranking_job *j = (ranking_job *)q;
    int status = epiq_explore(c->ctx, data, at, &c->options, &j->ask, &j->ranking);
    if (status >= 0) {
        const epiq_result *r = j->ranking->estimate;
        j->ran = c->options;
        j->ran.methods = r->methods;
        q->run.options = &j->ran;
        q->answer.warnings = r->warnings;
        q->answer.warning_count = r->warning_count;
    }
    return status;
}

static void write_json(void *self, FILE *out)
{
    const ranking_job *j = self;
    report_explore_json(out, j->ranking, &j->base.run);
}

static void write_csv(void *self, FILE *out)
{
    report_explore_csv(out, ((const ranking_job *)self)->ranking);
}

static void write_page(void *self, FILE *out, svg_album *album)
{
    const ranking_job *j = self;
    report_explore_html(out, j->ranking, &j->base.run, album);
}

static void print_text(void *self)
{
    const ranking_job *j = self;
    report_explore_text(stdout, j->ranking, &j->base.run, j->top, terminal_style());
}

static int rank(cli *c, const epiq_exploration *ask, ptrdiff_t top)
{
    ranking_job j = {
        .base = {.load = load_table,
                 .find = find,
                 .keeps = c->options.engine != EPIQ_ENGINE_INFINITE,
                 .answer = {.self = &j, .json = write_json, .csv = write_csv, .page = write_page, .text = print_text}},
        .ask = *ask,
        .top = top};
    int code = run_question(c, &j.base);
    epiq_ranking_free(c->ctx, j.ranking);
    return code;
}

/* What belongs to the other way of using the verb. */
static int check_way(const cli *c)
{
    static const char *const LOOP[] = {"function", "steps", "seeds", "start", "fresh", "noise", NULL}, *const RANK[] = {
                                                                                                           "candidates",
                                                                                                           "goal",
                                                                                                           "top", NULL};
    bool loop = args_value(c, "loop");
    for (const char *const *name = loop ? RANK : LOOP; *name; name++) {
        if (args_value(c, *name)) {
            return loop ? complain(CODE_USAGE, "--loop maximises a function of its own; leave out --%s", *name)
                        : complain(CODE_USAGE, "--%s belongs to --loop; add it or leave --%s out", *name, *name);
        }
    }
    if (loop) {
        return c->operand ? complain(CODE_USAGE, "--loop makes its own data; leave out %s", c->operand) : CODE_OK;
    }
    if (!c->operand) {
        return complain(CODE_USAGE, "DATA is missing; usage: epiq explore %s", c->verb->usage);
    }
    return args_value(c, "candidates")
               ? CODE_OK
               : complain(CODE_USAGE,
                          "--candidates FILE is missing: the points to choose from, in the columns of DATA");
}

static int run(cli *c)
{
    epiq_exploration ask;
    long long top = TOP;
    const char *engine = args_value(c, "engine");
    int code = fill(c, &ask, &top);
    code = code || !engine ? code : args_option(c, "engine", engine);
    code = code ? code : check_way(c);
    return code ? code : args_value(c, "loop") ? explore_loop(c, &ask) : rank(c, &ask, (ptrdiff_t)top);
}

static const flag FLAGS[] = {
    {"candidates", "Exploring", "a file with the points to choose from, in the columns of DATA; repeatable", NULL, "",
     "FILE"},
    {"rule", "Exploring",
     "what a candidate is worth: prediction plus kappa standard deviations, the variance due to the data, or the "
     "ensemble's",
     "ucb|data|total", "ucb", "ucb|data|total"},
    {"goal", "Exploring", "which end of the target ucb looks for", "max|min", "max", "max|min"},
    {"kappa", "Exploring", "standard deviations that ucb adds to the prediction", NULL, "2", "K"},
    {"batch", "Exploring", "candidates to pick, each as if those before it had been observed as predicted", NULL, "1",
     "B"},
    {"engine", "Exploring", "train networks, solve linearised ones, or use the infinite-width formula",
     "network|linear|infinite", "network; with --loop infinite", "ENGINE"},
    {"loop", "Closed loop", "no DATA: try the rule on a known function, against random choice and a plain ensemble",
     NULL, "", NULL},
    {"function", "Closed loop", "which: waves has two features, crest six", "waves|crest", "waves", "waves|crest"},
    {"steps", "Closed loop", "choices made, of --batch points each", NULL, "25", "S"},
    {"seeds", "Closed loop", "repetitions the intervals are made of", NULL, "20", "N"},
    {"start", "Closed loop", "random rows before the first choice", NULL, "10", "N"},
    {"fresh", "Closed loop", "random candidates drawn for each choice", NULL, "200", "N"},
    {"noise", "Closed loop", "standard deviation of an observation", NULL, "0.1", "X"},
    {"top", "Output", "candidates to print", NULL, "20", "N"},
    OUTPUT_FLAGS,
    REPORT_FLAGS,
    {0},
};

const verb VERB_EXPLORE = {
    .name = "explore",
    .operand = "DATA",
    .usage = "DATA --target COL --candidates FILE [flags] | --loop [flags]",
    .summary = "which points to measure next: candidates ranked by what their predictions promise and lack",
    .flags = FLAGS,
    .model = true,
    .reads = true,
    .may_lack = true,
    .without = (const char *const[]){"methods", "influential", "sweep", "batches", NULL},
    .run = run,
};
