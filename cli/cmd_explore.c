/* cmd_explore.c - epiq explore: a table, a target, candidates; which of them to measure next. With --loop: rules for
 * choosing, tried on known functions.
 */
#include "cli/question.h"
#include "report/report.h"
#include "study/explore_loop.h"

#include <string.h>

enum { MOST = 1000000 };

static int fill(const cli *c, epiq_exploration *ask)
{
    *ask = epiq_exploration_default();
    ask->batch = 1;
    int code = args_choice(c, "rule", &ask->rule);
    code = code ? code : args_choice(c, "goal", &ask->goal);
    code = code ? code : args_real(c, "kappa", 0, 1e6, &ask->kappa);
    return code ? code : args_count(c, "batch", 1, MOST, &ask->batch);
}

/* ---- a ranking ---- */

typedef struct {
    question base;
    epiq_exploration ask;
    epiq_options ran; /* with the methods it took */
    epiq_ranking *ranking;
} ranking_job;

static int find(question *q, cli *c)
{
    ranking_job *j = (ranking_job *)q;
    int status = epiq_explore(c->ctx, q->data, q->at, &c->options, &j->ask, &j->ranking);
    if (status >= 0) {
        j->ran = c->options;
        j->ran.methods = j->ranking->estimate->ran->methods;
        q->answer.run.options = &j->ran;
        q->answer.found.ranking = j->ranking;
        q->answer.found.candidates = q->at;
        q->answer.found.features = &q->answer.run.data; /* which is filled in before anything is written */
        q->answer.found.result = j->ranking->estimate;
    }
    return status;
}

static int rank(cli *c, const epiq_exploration *ask)
{
    ranking_job j = {.base = {.load = load_table,
                              .find = find,
                              .resumable = c->options.engine != EPIQ_ENGINE_INFINITE,
                              .answer = {.writers = &EXPLORE_WRITERS, .found.top = 20}},
                     .ask = *ask};
    int code = args_count(c, "top", 1, MOST, &j.base.answer.found.top);
    code = code ? code : run_question(c, &j.base);
    epiq_ranking_free(c->ctx, j.ranking);
    return code;
}

/* ---- closed loops ---- */

static const char *function_name(const void *from, ptrdiff_t index)
{
    (void)from;
    const loop_function *f = loop_function_list(index);
    return f ? f->name : NULL;
}

static int choose_function(const cli *c, loop_job *job)
{
    const char *name = args_text(c, "function");
    for (ptrdiff_t k = 0; (job->function = loop_function_list(k)); k++) {
        if (strcmp(job->function->name, name) == 0) return CODE_OK;
    }
    return complain(CODE_USAGE, "there is no function \"%s\"; %s", name,
                    near_miss(name, function_name, NULL, "", "epiq explore --help lists them"));
}

typedef struct {
    question base;
    loop_job job;
    loop_result *result;
} loop_question;

static int play(question *q, cli *c)
{
    loop_question *j = (loop_question *)q;
    (void)c;
    int status = loop_run(&j->job, &j->result);
    q->answer.run.options = &j->job.options;
    q->answer.found.loop = j->result;
    return status;
}

static int loop(cli *c, const epiq_exploration *ask)
{
    loop_question j = {.base = {.find = play, .answer.writers = &LOOP_WRITERS},
                       .job = {.steps = 25,
                               .seeds = 20,
                               .start = 10,
                               .candidates = 200,
                               .noise = 0.1,
                               .ask = *ask,
                               .options = c->options}};
    loop_job *job = &j.job;
    j.base.crew = &job->crew;
    if (!args_value(c, "engine")) job->options.engine = EPIQ_ENGINE_INFINITE;
    if (c->options.state) return complain(CODE_USAGE, "--loop keeps no state; leave out --state");
    int code = choose_function(c, job);
    code = code ? code : args_count(c, "steps", 1, 1000, &job->steps);
    code = code ? code : args_count(c, "seeds", 2, 1000, &job->seeds);
    code = code ? code : args_count(c, "start", 2, 10000, &job->start);
    code = code ? code : args_count(c, "fresh", 2, 100000, &job->candidates);
    code = code ? code : args_real(c, "noise", 0, 1000, &job->noise);
    if (!code && job->candidates < ask->batch) {
        code =
            complain(CODE_USAGE,
                     "a batch of %td cannot be picked from %td candidates; use a smaller --batch or more --fresh ones",
                     ask->batch, job->candidates);
    }
    code = code ? code : run_question(c, &j.base);
    loop_result_free(j.result);
    return code;
}

/* ---- both ---- */

/* What belongs to the other way of using the verb. */
static int check_way(const cli *c)
{
    static const char *const LOOP[] = {"function", "steps", "seeds", "start", "fresh", "noise", NULL};
    static const char *const RANK[] = {"candidates", "goal", "top", NULL};
    bool looped = args_value(c, "loop");
    for (const char *const *name = looped ? RANK : LOOP; *name; name++) {
        if (args_value(c, *name)) {
            return looped ? complain(CODE_USAGE, "--loop maximises a function of its own; leave out --%s", *name)
                          : complain(CODE_USAGE, "--%s belongs to --loop; add it or leave --%s out", *name, *name);
        }
    }
    if (looped && c->operand) return complain(CODE_USAGE, "--loop makes its own data; leave out %s", c->operand);
    if (looped) return CODE_OK;
    if (args_value(c, "kappa") && (c->options.confidence || c->options.budget_networks)) {
        return complain(CODE_USAGE, "the interval of --confidence or --budget-networks is as wide as --level says; "
                                    "leave out --kappa");
    }
    if (!c->operand) return complain(CODE_USAGE, "DATA is missing; usage: epiq explore %s", c->verb->usage);
    return args_value(c, "candidates")
               ? CODE_OK
               : complain(CODE_USAGE,
                          "--candidates FILE is missing: the points to choose from, in the columns of DATA");
}

static int run(cli *c)
{
    epiq_exploration ask;
    const char *engine = args_value(c, "engine");
    int code = fill(c, &ask);
    code = code || !engine ? code : args_option(c, "engine", engine);
    code = code ? code : check_way(c);
    return code ? code : (args_value(c, "loop") ? loop : rank)(c, &ask);
}

static const flag FLAGS[] = {
    FLAG("candidates", "Exploring", "FILE", "",
         "a file with the points to choose from, in the columns of DATA; repeatable"),
    /* the words of rule and goal in the order of their enums */
    FLAG("rule", "Exploring", "ucb|data|total", "ucb",
         "what a candidate is worth: prediction plus kappa standard deviations, or with --confidence the upper end of "
         "that interval; the variance due to the data; or the ensemble's"),
    FLAG("goal", "Exploring", "max|min", "max", "which end of the target ucb looks for"),
    FLAG("kappa", "Exploring", "K", "2", "standard deviations that ucb adds to the prediction"),
    FLAG("batch", "Exploring", "B", "1",
         "candidates to pick, each as if those before it had been observed as predicted"),
    FLAG("engine", "Exploring", "ENGINE", "network; with --loop infinite",
         "train networks, solve linearised ones, or use the infinite-width formula"),
    FLAG("loop", "Closed loop", NULL, "",
         "no DATA: try the rule on a known function, against random choice, greedy choice and a plain ensemble"),
    FLAG("function", "Closed loop", "waves|crest|bowl|decoy", "waves",
         "which: waves and decoy have two features, bowl four, crest six"),
    FLAG("steps", "Closed loop", "S", "25", "choices made, of --batch points each"),
    FLAG("seeds", "Closed loop", "N", "20", "repetitions the intervals are made of"),
    FLAG("start", "Closed loop", "N", "10", "random rows before the first choice"),
    FLAG("fresh", "Closed loop", "N", "200", "random candidates drawn for each choice"),
    FLAG("noise", "Closed loop", "X", "0.1", "standard deviation of an observation"),
    FLAG("top", "Output", "N", "20", "candidates to print; every one picked is"),
    OUTPUT_FLAGS,
    REPORT_FLAGS,
    {0},
};

const verb VERB_EXPLORE = {
    .name = "explore",
    .operand = "DATA",
    .usage = "DATA --target COL --candidates FILE [flags] | --loop [flags]",
    .summary = "which points to measure next: candidates ranked by predicted value and uncertainty",
    .flags = FLAGS,
    .takes = EPIQ_FOR_EXPLORE,
    .reads = true,
    .operand_optional = true,
    .run = run,
};
