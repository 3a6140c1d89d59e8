/* cmd_plan.c - epiq plan: what rows and trainings cost, and a variance to reach or a budget to spend; what to buy. */
#include "cli/question.h"

#include <math.h>
#include <string.h>

typedef struct {
    question base;
    epiq_plan_request effort;
    epiq_plan *plan;
} plan_job;

static int find(question *q, cli *c)
{
    plan_job *j = (plan_job *)q;
    if (args_value(c, "dry-run")) {
        return dry_run_found(q, epiq_plan_forecast(c->ctx, q->data, q->at, &c->options, &q->result));
    }
    watch_finish();
    int status = epiq_estimate(c->ctx, q->data, q->at, &c->options, &q->result), whole = status;
    status = status < 0 ? status : epiq_plan_new(c->ctx, q->data, q->at, &c->options, q->result, &j->effort, &j->plan);
    q->answer.found = (report_answer){.result = q->result, .plan = j->plan, .effort = &j->effort};
    return status < 0 ? status : whole;
}

static int need(const cli *c, const char *name, const char *what)
{
    return args_value(c, name) ? CODE_OK : complain(CODE_USAGE, "--%s is missing: %s", name, what);
}

static int fill(cli *c, epiq_plan_request *e)
{
    const char *sd = args_value(c, "goal-sd"), *variance = args_value(c, "goal"), *budget = args_value(c, "budget"),
               *goal = sd         ? "goal-sd"
                       : variance ? "goal"
                                  : NULL;
    if (!goal == !budget || (sd && variance)) {
        return complain(CODE_USAGE,
                        "%s; give --goal-sd S, a standard deviation to reach (or --goal V, its square), or --budget C, "
                        "an amount to spend",
                        goal ? "--goal-sd, --goal and --budget are different questions"
                             : "there is nothing to plan for");
    }
    int code = need(c, "price-row", "what one more row costs, in the unit of --price-training");
    code = code ? code : need(c, "price-training", "what training one network costs, in the unit of --price-row");
    code = code ? code : args_real(c, "price-row", -INFINITY, INFINITY, &e->price_row);
    code = code ? code : args_real(c, "price-training", -INFINITY, INFINITY, &e->price_training);
    code = code ? code : args_real(c, goal ? goal : "budget", -INFINITY, INFINITY, &e->amount);
    if (!code && sd && !(e->amount > 0)) {
        code = complain(CODE_USAGE, "--goal-sd is \"%s\"; it must be above 0, in the units of the target", sd);
    }
    if (sd) e->amount *= e->amount;
    if (code) return code;
    e->size = sizeof *e;
    e->kind = goal ? EPIQ_PLAN_GOAL : EPIQ_PLAN_BUDGET;
    e->level = c->options.level;
    if (epiq_plan_check(c->ctx, e) < 0) return complain(CODE_USAGE, "%s", epiq_message(c->ctx));
    int m = c->options.methods;
    if (m != EPIQ_AUTO && (m & (m - 1)) == 0 && c->options.engine != EPIQ_ENGINE_INFINITE) {
        return complain(CODE_USAGE, "--methods %s tells one part only, and a plan needs both; name two of if, ev, ba",
                        m == EPIQ_IF   ? "if"
                        : m == EPIQ_EV ? "ev"
                                       : "ba");
    }
    return CODE_OK;
}

static int run(cli *c)
{
    plan_job j = {.base = {.load = load_table,
                           .find = find,
                           .resumable = c->options.engine != EPIQ_ENGINE_INFINITE,
                           .answer = {.writers = &PLAN_WRITERS}}};
    int code = dry_run_check(c);
    code = code ? code : fill(c, &j.effort);
    code = code ? code : run_question(c, &j.base);
    epiq_plan_free(c->ctx, j.plan);
    return code;
}

static const flag FLAGS[] = {
    FLAG("price-row", "Plan", "A", "", "what one more row costs, in any unit"),
    FLAG("price-training", "Plan", "B", "",
         "what training one network costs, in the same unit; new rows mean training every network again"),
    FLAG("goal-sd", "Plan", "S", "",
         "find the cheapest mix of rows and networks whose prediction has this standard deviation, in the target's "
         "units"),
    FLAG("goal", "Plan", "V", "", "the same with a variance, the square of that"),
    FLAG("budget", "Plan", "C", "", "find the mix that is surest for at most this cost"),
    FLAG("at", "Points", "rows|mean|row:I|NAME=X,...|FILE", "rows",
         "where the variance matters: every row of the table, asked of networks that have not seen it; the mean row; "
         "row I (from 1); a point in words; every row of a file; repeatable, then their mean counts"),
    JSON_FLAG,
    FLAG("csv", "Output", "FILE|-", "", "write the curve, a line for each amount spent (- is standard output)"),
    FLAG("report", "Output", "FILE.html", "", "write a page with the curve and the mix along it"),
    PICTURE_FLAGS,
    QUIET_FLAG,
    DRY_RUN_FLAG,
    {0},
};

const verb VERB_PLAN = {
    .name = "plan",
    .operand = "DATA",
    .usage = "DATA --target COL --price-row A --price-training B --goal-sd S",
    .summary = "more rows or more networks? The cheapest mix that reaches a standard deviation, or the best use of a "
               "budget; there are the rows of DATA now, and --ensemble-size networks (0: all that are trained)",
    .flags = FLAGS,
    .takes = EPIQ_FOR_PLAN,
    .reads = true,
    .mpi = true,
    .run = run,
};
