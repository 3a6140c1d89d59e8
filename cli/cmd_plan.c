/* cmd_plan.c - epiq plan: what rows and trainings cost, and a variance to reach or a budget to spend; what to buy. */
#include "cli/question.h"
#include "report/plan.h"

#include <math.h>
#include <string.h>

typedef struct {
    question base;
    epiq_effort effort;
    epiq_result *result;
    epiq_plan *plan;
} plan_job;

static int find(question *q, cli *c, const epiq_data *data, const epiq_points *at)
{
    plan_job *j = (plan_job *)q;
    watch_finish();
    int status = epiq_estimate(c->ctx, data, at, &c->options, &j->result), whole = status;
    status = status < 0 ? status : epiq_plan_new(c->ctx, data, at, &c->options, j->result, &j->effort, &j->plan);
    if (status >= 0) {
        q->answer.warnings = j->result->warnings;
        q->answer.warning_count = j->result->warning_count;
    }
    return status < 0 ? status : whole;
}

static report_planned planned(const plan_job *j)
{
    return (report_planned){j->plan, &j->effort, j->result};
}

static void write_json(void *self, FILE *out)
{
    const plan_job *j = self;
    const report_planned p = planned(j);
    report_plan_json(out, &p, &j->base.run);
}

static void write_csv(void *self, FILE *out)
{
    const report_planned p = planned(self);
    report_plan_csv(out, &p);
}

static void write_page(void *self, FILE *out, svg_album *album)
{
    const plan_job *j = self;
    const report_planned p = planned(j);
    report_plan_html(out, &p, &j->base.run, album);
}

static void print_text(void *self)
{
    const plan_job *j = self;
    const report_planned p = planned(j);
    report_plan_text(stdout, &p, &j->base.run, terminal_style());
}

static int need(const cli *c, const char *name, const char *what)
{
    return args_value(c, name) ? CODE_OK : complain(CODE_USAGE, "--%s is missing: %s", name, what);
}

static int fill(cli *c, epiq_effort *e)
{
    const char *goal = args_value(c, "goal"), *budget = args_value(c, "budget"), *methods = args_value(c, "methods");
    if (!goal == !budget) {
        return complain(CODE_USAGE, "%s; give --goal V, a variance to reach, or --budget C, an amount to spend",
                        goal ? "--goal and --budget are two questions" : "there is nothing to plan for");
    }
    int code = need(c, "price-row", "what one more row costs, in the unit of --price-training");
    code = code ? code : need(c, "price-training", "what training one network costs, in the unit of --price-row");
    code = code ? code : args_real(c, "price-row", -INFINITY, INFINITY, &e->price_row);
    code = code ? code : args_real(c, "price-training", -INFINITY, INFINITY, &e->price_training);
    code = code ? code : args_real(c, goal ? "goal" : "budget", -INFINITY, INFINITY, &e->amount);
    code = code ? code : args_option(c, "methods", methods ? methods : "auto");
    if (code) {
        return code;
    }
    e->kind = goal ? EPIQ_PLAN_GOAL : EPIQ_PLAN_BUDGET;
    e->level = c->options.level;
    if (epiq_effort_check(c->ctx, e) < 0) { /* "goal is 0; ...": on the command line it is called --goal */
        return complain(CODE_USAGE, "--%s", epiq_message(c->ctx));
    }
    int m = c->options.methods;
    if (m != EPIQ_AUTO && (m & (m - 1)) == 0 && c->options.engine != EPIQ_ENGINE_INFINITE) {
        return complain(CODE_USAGE, "--methods %s tells one part only, and a plan needs both; name two of if, ev, ba",
                        methods);
    }
    return CODE_OK;
}

static int run(cli *c)
{
    plan_job j = {
        .base = {.load = load_table,
                 .find = find,
                 .keeps = c->options.engine != EPIQ_ENGINE_INFINITE,
                 .answer = {.self = &j, .json = write_json, .csv = write_csv, .page = write_page, .text = print_text}}};
    int code = fill(c, &j.effort);
    code = code ? code : run_question(c, &j.base);
    epiq_plan_free(c->ctx, j.plan);
    epiq_result_free(c->ctx, j.result);
    return code;
}

static const flag FLAGS[] = {
    {"price-row", "Plan", "what one more row costs, in any unit", NULL, "", "A"},
    {"price-training", "Plan",
     "what training one network costs, in the same unit; new rows mean training every network again", NULL, "", "B"},
    {"goal", "Plan", "find the cheapest mix of rows and networks that reaches this variance", NULL, "", "V"},
    {"budget", "Plan", "find the mix of least variance that costs at most this", NULL, "", "C"},
    {"methods", "Plan", "how to estimate the two parts: any two of if, ev, ba; auto chooses them and says why", NULL,
     "auto", "if,ev,ba|auto"},
    {"at", "Points",
     "where the variance matters: the mean row, row I (from 1), every row of a file; repeatable, then their mean "
     "counts",
     NULL, "mean", "mean|row:I|FILE"},
    {"json", "Output", "write everything as one JSON object (- is standard output)", NULL, "", "FILE|-"},
    {"csv", "Output", "write the curve, a line for each amount spent (- is standard output)", NULL, "", "FILE|-"},
    {"report", "Output", "write a page with the curve and the mix along it", NULL, "", "FILE.html"},
    PICTURE_FLAGS,
    {"quiet", "Output", "print no summary, warnings or progress", NULL, "", NULL},
    {0},
};

const verb VERB_PLAN = {
    .name = "plan",
    .operand = "DATA",
    .usage = "DATA --target COL --price-row A --price-training B --goal V",
    .summary =
        "more rows or more networks? The cheapest mix that reaches a variance, or the best use of a budget; there are "
        "the rows of DATA now, and --ensemble-size networks (0: as many as batches)",
    .flags = FLAGS,
    .model = true,
    .reads = true,
    .ranks = true,
    .without = (const char *const[]){"influential", "sweep", NULL},
    .run = run,
};
