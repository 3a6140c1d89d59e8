/* estimate.c - epiq_estimate: options resolved, the problem and its plan made, the kernel solved, the estimators run, the answer
 * assembled.
 */
#include "run/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const epiqp_hints TRAIN = {
    .both_parts = "{--methods} if,ev gives both",
    .procedural = "with ev in {--methods}",
    .data = "with if in {--methods}",
    .other_size = "add if or ev to {--methods}",
    .far_from_kernel = "compare with a larger {--width}",
};

/* What one estimate works with; each step reads what the steps before have made. */
typedef struct {
    const epiqp_problem *pb;
    epiqp_maker maker;
    epiqp_fit fit;
    epiqp_solution sol;            /* of the population kernel */
    double *stopped_c, *stopped_v; /* points by n: of gradient flow stopped at a time; else NULL */
    epiqp_findings found;
    epiqp_answer *answer;
} run;

/* ---- the kernel ---- */

static int solve_divided(run *j)
{
    epiqp_ridge *r = &j->fit.ridge;
    const ptrdiff_t n = j->pb->n, points = j->pb->points;
    const epiqp_plan *plan = j->pb->plan;
    const bool influence = plan->influence && !plan->members_at_rows; /* else IF waits for the members */
    *r = (epiqp_ridge){.n = n, .points = points, .c = epiqp_alloc(j->pb->e.c, n * points, sizeof *r->c)};
    if (!r->c) return EPIQ_E_NOMEM;
    int s = epiqp_divided(j->pb, &j->sol, true, influence ? &j->found.influence : NULL, &j->answer->timing.influence);
    j->fit.solved = !s;
    return s;
}

static int solve_stopped(run *j)
{
    const ptrdiff_t size = j->pb->n * j->pb->points;
    const epiqp_plan *plan = j->pb->plan;
    double loss = 0;
    j->stopped_c = epiqp_room(j->pb, size, sizeof *j->stopped_c);
    j->stopped_v = plan->influence ? epiqp_room(j->pb, size, sizeof *j->stopped_v) : NULL;
    if (!j->stopped_c || (plan->influence && !j->stopped_v)) return EPIQ_E_NOMEM;
    int s = epiqp_stopped(&j->pb->e, &j->fit, plan->ran.time, j->stopped_c, j->stopped_v, &loss);
    return s ? s : epiqp_warn_factor(j->pb, 0, loss);
}

static int solve_kernel(run *j)
{
    const epiqp_problem *pb = j->pb;
    const epiqp_ridge *ridge = &j->fit.ridge;
    int s = EPIQ_OK;
    if (pb->plan->ran.time > 0) {
        s = solve_stopped(j);
    } else if (pb->plan->solve) {
        s = pb->plan->ran.solver == EPIQ_SOLVER_DIVIDED ? solve_divided(j) : epiqp_fit_solve(&pb->e, &j->fit);
        j->answer->timing.kernel = ridge->fill_s;
        j->answer->timing.factor = ridge->factor_s;
    }
    if (s || (ridge->first && (s = epiqp_settle(pb, &j->sol, &j->found.influence.open))) ||
        (pb->left_out && ridge->c && (s = epiqp_leave_points_out(pb, ridge->c)))) {
        return s;
    }
    const double *c = j->stopped_c ? j->stopped_c : ridge->c;
    if ((c && (s = epiqp_kernel_predictions(pb, c, ridge->first, &j->found.kernel))) ||
        (pb->plan->solve && (s = epiqp_warn_factor(pb, ridge->jitter, ridge->loss)))) {
        return s;
    }
    return epiqp_report(pb->e.c, "factor", 1, 1);
}

/* ---- the estimators ---- */

static int run_folds(run *j)
{
    return j->pb->plan->fold_starts && !j->found.ended_early ? epiqp_estimate_folds(j->pb, &j->maker, &j->found.folds)
                                                             : EPIQ_OK;
}

static int run_ev(run *j)
{
    int s = j->pb->plan->members ? epiqp_estimate_ev(j->pb, &j->maker, &j->fit, &j->found.ev) : EPIQ_OK;
    if ((s && s != EPIQ_E_STOPPED) || !j->pb->left_out || !j->found.folds.between) return s;
    int apart = epiqp_ev_left_out(j->pb, &j->found.folds, &j->found.ev);
    return apart ? apart : s;
}

static int run_if(run *j)
{
    epiqp_if_findings *found = &j->found.influence;
    double seconds = 0;
    j->sol.hbar = j->found.ev.at_rows;
    switch (j->pb->plan->influence) {
    case EPIQP_IF_SUBSET:
        return epiqp_if_subset(j->pb, found);
    case EPIQP_IF_STOPPED:
        return epiqp_if_from_stopped(j->pb, j->stopped_v, found);
    case EPIQP_IF_DIVIDED: /* done together with solving unless it needs the members */
        return j->pb->plan->members_at_rows ? epiqp_divided(j->pb, &j->sol, false, found, &seconds) : EPIQ_OK;
    case EPIQP_IF_EMPIRICAL:
        return epiqp_if_empirical(j->pb, &j->fit, &j->found.ev, found);
    default:
        return epiqp_if_from_ridge(j->pb, &j->sol, found);
    }
}

static int run_retrain(run *j)
{
    const epiqp_if_findings *influence = &j->found.influence;
    return j->pb->plan->retrained && influence->reference.known && !j->found.ended_early
               ? epiqp_estimate_retrain(j->pb, &j->maker, influence, &j->found.folds, j->found.ev.part,
                                        &j->found.retrain)
               : EPIQ_OK;
}

static int run_ba(run *j)
{
    const epiqp_retrain_findings *retrain = &j->found.retrain;
    return epiqp_estimate_ba(j->pb, &j->maker, &j->sol, j->found.closed,
                             epiqp_batches_follow(&j->pb->plan->ran, retrain->known ? &retrain->followed : NULL),
                             &j->found.influence.reference.ols, &j->found.ba);
}

static int run_resampled(run *j)
{
    return j->pb->plan->resamples && j->found.ev.h && !j->found.ended_early
               ? epiqp_estimate_resampled(j->pb, &j->maker, &j->found.ev, &j->found.limit, &j->found.resampled)
               : EPIQ_OK;
}

/* In this order: IF may use the members that EV trained, retraining takes both and the networks of folds, BA's correction the
 * leverages of IF and what retraining found. Where rows are left out the networks of folds come first, being the answer. */
enum { STEP_EV, STEP_FOLDS, STEP_IF, STEP_RETRAIN, STEP_RESAMPLED, STEP_BA, STEPS };
static const struct {
    int method;
    int (*run)(run *j);
} TABLE[STEPS] = {
    [STEP_EV] = {EPIQ_EV, run_ev},
    [STEP_FOLDS] = {EPIQ_EV | EPIQ_IF, run_folds},
    [STEP_IF] = {EPIQ_IF, run_if},
    [STEP_RETRAIN] = {EPIQ_IF, run_retrain},
    [STEP_RESAMPLED] = {EPIQ_EV, run_resampled},
    [STEP_BA] = {EPIQ_BA, run_ba},
};

/* ---- ended early ---- */

/* Goes on without some methods, of whose findings nothing is left; the warning says what the answer lacks. */
static int leave_out(run *j, int methods, const char *what)
{
    int s = epiqp_accept_early_end(j->pb);
    if (s || !what) return s;
    j->found.ended_early = true;
    j->found.methods &= ~methods;
    if (methods & EPIQ_IF) j->found.influence = (epiqp_if_findings){.open = j->found.influence.open};
    if (methods & EPIQ_BA) j->found.ba = (epiqp_ba_findings){0};
    return epiqp_warn(j->pb->e.c, j->pb->warnings, EPIQ_W_STOPPED, "ended early, on request: %s", what);
}

/* Row `at` of the table was interrupted, or came to its end after the request. The methods that are done are the answer, EV
 * with the networks there are, and IF if it has yet to begin: it is quick where they were not. What was interrupted is left
 * out, and so is BA. */
static int end_early(run *j, int done, int at, bool interrupted)
{
    const epiqp_plan *plan = j->pb->plan;
    const bool subset = plan->influence == EPIQP_IF_SUBSET;
    char what[240];
    if (interrupted && at == STEP_EV) {
        if (j->found.ev.members < 2) return EPIQ_E_STOPPED;
        snprintf(what, sizeof what, "the procedural variance is that of the %td networks finished, of %td%s%s",
                 j->found.ev.members, plan->ran.members, plan->batches ? "; BA is left out" : "",
                 !plan->retrained ? ""
                 : subset         ? "; there is no data part"
                                  : "; the data part is that of infinitely wide networks");
        return leave_out(j, EPIQ_BA, what);
    }
    if (interrupted && at == STEP_FOLDS && (j->pb->left_out || !done)) return EPIQ_E_STOPPED;
    if (interrupted && at == STEP_FOLDS) {
        snprintf(what, sizeof what,
                 "the networks that leave rows out were not all trained, so their error is unknown%s",
                 !plan->retrained ? ""
                 : subset         ? ", and there is no data part"
                                  : ", and the data part is that of infinitely wide networks");
        return leave_out(j, EPIQ_BA, what);
    }
    if (interrupted && at == STEP_RETRAIN) {
        snprintf(what, sizeof what, "the retraining was not finished, so %s",
                 subset ? "there is no data part" : "the data part is that of infinitely wide networks");
        return leave_out(j, EPIQ_BA, what);
    }
    if (interrupted && at == STEP_RESAMPLED) {
        return leave_out(j, EPIQ_BA,
                         "the networks on rows drawn anew were not all trained, so there is no interval of the "
                         "expected prediction");
    }
    const int left_out = j->found.methods & (TABLE[at].method | EPIQ_BA) & ~done;
    return !done ? EPIQ_E_STOPPED
                 : leave_out(j, left_out,
                             left_out == EPIQ_BA  ? "the batches of BA were not all trained, so it is left out"
                             : left_out & EPIQ_BA ? "IF was not finished, so it and BA are left out"
                             : left_out           ? "IF was not finished, so it is left out"
                                                  : NULL);
}

static int run_estimators(run *j)
{
    epiq_ctx *c = j->pb->e.c;
    epiq_timing *t = &j->answer->timing;
    double *const seconds[STEPS] = {&t->ev, &t->folds, &t->influence, &t->retrain, &t->resampled, &t->ba};
    int done = 0;
    j->found.methods = j->pb->plan->ran.methods;
    for (int n = 0; n < STEPS; n++) {
        const int k = j->pb->left_out && n < 2 ? 1 - n : n; /* folds before members */
        if (!(j->found.methods & TABLE[k].method)) continue;
        double start = epiqp_now();
        int s = TABLE[k].run(j);
        const bool interrupted = s == EPIQ_E_STOPPED;
        const int method = k == STEP_FOLDS ? 0 : TABLE[k].method; /* folds alone are the end of none */
        done |= s ? 0 : method;
        if (!s && epiqp_cancel_requested(c)) s = epiqp_report(c, "points", 0, j->pb->points);
        if (s == EPIQ_E_STOPPED) {
            s = end_early(j, done, k, interrupted);
            done |= s ? 0 : method & j->found.methods;
        }
        if (s) return s;
        *seconds[k] += epiqp_now() - start;
    }
    if (j->pb->plan->influence == EPIQP_IF_SUBSET && j->found.ended_early && !j->found.retrain.part) {
        j->found.methods &= ~EPIQ_IF; /* some of the rows tell how the data part varies over x, but not its size */
        j->found.influence = (epiqp_if_findings){0};
    }
    return EPIQ_OK;
}

/* What a reader should know about the networks. */
static int check_networks(const run *j)
{
    const epiq_options *o = &j->pb->plan->ran;
    int s = EPIQ_OK;
    if (o->engine == EPIQ_ENGINE_LINEAR && o->linear_kernel == EPIQ_KERNEL_EMPIRICAL) {
        s = epiqp_warn(j->pb->e.c, j->pb->warnings, EPIQ_W_OWN_KERNEL,
                       "a network's own kernel has jumps: at width %td its procedural variance comes out 2 to 16 times "
                       "too large where it is small; compare with {--linear-kernel} population",
                       o->width);
    }
    if (s || (j->pb->plan->members && (s = epiqp_warn_few_members(j->pb, j->found.ev.members))) ||
        (s = epiqp_check_regime(j->pb, &j->found))) {
        return s;
    }
    return epiqp_check_training(j->pb, &j->found.training);
}

static int open_state(run *j, bool kept)
{
    const epiqp_problem *pb = j->pb;
    const epiq_options *o = &pb->plan->ran;
    j->maker = (epiqp_maker){.e = &pb->e, .engine = pb->engine, .has_state = o->state, .sum = &j->found.training};
    const ptrdiff_t networks = o->members + o->batches + epiqp_fold_networks(pb, pb->plan) + pb->plan->resamples;
    j->found.training.iterations = epiqp_room(pb, networks, sizeof(double));
    if (!j->found.training.iterations) return EPIQ_E_NOMEM;
    if (!o->state || (pb->e.cluster && pb->e.cluster->rank > 0)) return EPIQ_OK;
    const epiqp_state_key key = {
        .e = &pb->e, .o = o, .data = pb->data, .points = pb->points, .at = pb->at, .kept = kept};
    return epiqp_state_open(&key, pb->scratch, &j->maker.state);
}

static int execute(run *j, const epiqp_request *request, epiqp_answer *a)
{
    const epiqp_problem *pb = j->pb;
    const epiqp_plan *plan = pb->plan;
    const epiq_data *d = pb->data;
    epiqp_model_parts *model = request->model;
    int s = epiqp_fit_new(&pb->e, &plan->ran, pb->n, d->d, d->x, d->y, pb->points, pb->at, &j->fit);
    if (s) return s;
    j->fit.resident = plan->resident;
    j->fit.left_out = pb->left_out;
    j->sol = (epiqp_solution){.fit = &j->fit, .ridge = &j->fit.ridge};
    j->sol.factor_copy = model && (plan->influence || !pb->engine->member) ? &model->factor : NULL;
    if ((s = epiqp_findings_room(pb, &j->found)) || (s = open_state(j, model)) || (s = solve_kernel(j)) ||
        (plan->closed_form &&
         (s = epiqp_closed_form(pb, &j->sol, j->stopped_c, j->found.closed, &j->found.influence.open))) ||
        (plan->limit && (s = epiqp_limit_new(pb, &j->found.limit))) || (s = run_estimators(j)) ||
        (s = check_networks(j)) || (s = epiqp_assemble(pb, &j->found, a))) {
        return s;
    }
    a->solve.iterations = j->fit.ridge.worst.iterations;
    a->solve.residual = j->fit.ridge.worst.residual;
    if ((model && (s = epiqp_model_parts_take(pb, &j->found, &a->ran, &j->fit, model))) ||
        (s = epiqp_summarise(pb, &j->found.unseen, a)) || (s = epiqp_advise(pb, &j->found, a)) || !request->on_done) {
        return s;
    }
    return request->on_done(&(epiqp_estimated){pb, &j->fit, &j->found, a}, request->user);
}

/* What the result says about the run itself. */
static int describe_run(const epiqp_problem *pb, epiqp_answer *a)
{
    const epiq_cluster *k = pb->e.cluster;
    const char *backend = pb->e.la->name;
    a->ran = pb->plan->ran;
    a->cost = pb->plan->cost;
    a->result.choice = pb->plan->choice;
    if (k) a->result.ranks = k->ranks;
    const char *beside = k ? k->name : pb->e.device ? pb->e.device->table->name : NULL;
    a->result.backend = beside ? epiqp_arena_printf(pb->e.c, pb->lasting, "%s+%s", beside, backend) : backend;
    return a->result.backend ? EPIQ_OK : EPIQ_E_NOMEM;
}

static int say_forecast(epiq_ctx *c, epiqp_answer *a)
{
    const epiq_cost *cost = &a->cost;
    a->advice.text = epiqp_arena_sentence(
        c, &a->arena, "this would take about %s and %.2f GB%s of the %.2f that may be used%s",
        epiqp_duration_of(cost->seconds).text, cost->bytes / 1e9, a->result.ranks > 1 ? " on each rank" : "",
        cost->limit / 1e9,
        a->model_choice.known ? "; from half of that time to twice as much, by the network that is chosen" : "");
    return a->advice.text ? EPIQ_OK : EPIQ_E_NOMEM;
}

int epiqp_forecast_of(epiq_ctx *c, epiq_result *r, double seconds)
{
    epiqp_answer *a = (epiqp_answer *)r;
    a->cost.seconds = seconds;
    return say_forecast(c, a);
}

/* Each sweep gets its part of the answer's points. */
static int split_sweeps(const epiqp_problem *pb, const epiqp_sweeps *sweeps, epiqp_answer *a)
{
    epiq_ctx *c = pb->e.c;
    ptrdiff_t p = pb->asked;
    for (ptrdiff_t k = 0; k < sweeps->count; k++) {
        epiq_sweep *one = &sweeps->list[k];
        one->points = epiqp_arena_list(c, pb->lasting, a->points + p, one->count, sizeof *a->points);
        if (!one->points) return EPIQ_E_NOMEM;
        p += one->count;
    }
    a->result.sweeps = epiqp_arena_list(c, pb->lasting, sweeps->list, sweeps->count, sizeof *sweeps->list);
    a->result.sweep_count = sweeps->count;
    return a->result.sweeps ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* From the options to the plan, then what it says. pb: without points and plan yet; plan: room for it. */
static int plan_and_run(epiqp_problem *pb, const epiq_points *where, const epiq_options *o,
                        const epiqp_request *request, epiqp_plan *plan, epiqp_answer *a, bool *ended_early)
{
    epiqp_resolved resolved;
    epiqp_sweeps sweeps;
    int s = epiqp_resolve(pb, request, o, &resolved);
    if (s || (s = epiqp_ranks_check(pb, request, &resolved.o, where)) || (s = epiqp_wide(pb, request, where)) ||
        (s = epiqp_choose_model(pb, request, &resolved, a)) || (s = epiqp_sweeps_new(pb, o->sweep, &sweeps)) ||
        (s = epiqp_points_settle(pb, &resolved.o, where, &sweeps)) ||
        (s = epiqp_choose_predictor(pb, request, &resolved, a)) ||
        (s = epiqp_plan_new(pb, request, &resolved, &TRAIN, plan))) {
        return s;
    }
    pb->plan = plan;
    if ((s = describe_run(pb, a))) return s;
    if (request->forecast_only) return say_forecast(pb->e.c, a);
    if (plan->cost.seconds > EPIQP_WORTH_SAYING && (s = epiqp_report_forecast(pb, plan->cost.seconds))) return s;
    run j = {.pb = pb, .answer = a};
    if (!(s = execute(&j, request, a))) s = split_sweeps(pb, &sweeps, a);
    *ended_early = j.found.ended_early;
    epiqp_state_close(j.maker.state);
    epiqp_fold_findings_free(pb, &j.found.folds);
    epiqp_fit_free(pb->e.c, &j.fit);
    return s;
}

/* Of a model: its caller asked about no point. */
static void drop_those_about_points(epiqp_warnings *w)
{
    ptrdiff_t kept = 0;
    for (ptrdiff_t k = 0; k < w->count; k++) {
        if (epiq_warning_describe(w->list[k].kind)->scope != EPIQ_ABOUT_POINT) w->list[kept++] = w->list[k];
    }
    w->count = kept;
}

int epiqp_estimate(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                   const epiqp_request *request, epiq_result **out)
{
    *out = NULL;
    epiq_options own;
    int s = epiqp_options_take(c, o, &own);
    if (!s) s = epiqp_options_check(c, &own);
    if (!s && (at->data != data || at->count < 1)) {
        s = epiqp_fail(c, EPIQ_E_DATA, "there is no point to estimate at; add one made for these rows");
    }
    epiqp_answer *a = s ? NULL : epiqp_answer_new(c);
    if (!a) return epiq_ctx_agree(c, s ? s : EPIQ_E_NOMEM);
    epiqp_arena scratch = {0};
    epiqp_problem pb = {.e = epiqp_run_begin(c, &own),
                        .data = data,
                        .table = data,
                        .engine = epiqp_engine_of(&own),
                        .n = data->n,
                        .asked = at->count,
                        .scratch = &scratch,
                        .lasting = &a->arena,
                        .warnings = &a->warnings};
    epiqp_plan plan;
    bool ended_early = false;
    const epiqp_warnings *const before[] = {&data->warnings, &at->warnings};
    for (ptrdiff_t b = 0; b < 2; b++) {
        for (ptrdiff_t k = 0; !s && k < before[b]->count; k++) {
            s = epiqp_warn(c, pb.warnings, before[b]->list[k].kind, "%s", before[b]->list[k].message);
        }
    }
    if (!s) s = epiqp_warn_blas(&pb.e, pb.warnings);
    if (!s) s = epiqp_run_device(&pb.e, &own, epiqp_device_worth(&pb, &own), pb.warnings);
    if (!s) s = plan_and_run(&pb, at, &own, request, &plan, a, &ended_early);
    if (request->model) drop_those_about_points(&a->warnings);
    if (!s) s = epiqp_answer_complete(c, a, request->forecast_only ? 0 : at->count);
    s = epiq_ctx_agree(c, s); /* other ranks may still be at work, and learn of a failure here */
    epiqp_arena_free(c, &scratch);
    epiqp_run_end();
    s = epiqp_answer_end(c, a, s, out);
    return s || !ended_early ? s : EPIQ_PARTIAL;
}

int epiq_estimate(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o, epiq_result **out)
{
    epiqp_clear(c);
    int s = epiqp_estimate(c, data, at, o,
                           &(epiqp_request){.may_end_early = true, .predictive = true, .left_out = true}, out);
    epiqp_clear_cancel(c);
    return s;
}

int epiq_forecast(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o, epiq_result **out)
{
    epiqp_clear(c);
    return epiqp_estimate(c, data, at, o, &(epiqp_request){.predictive = true, .left_out = true, .forecast_only = true},
                          out);
}

int epiq_points_add_usual(epiq_ctx *c, epiq_points *p, const epiq_options *o)
{
    const char *why = NULL;
    epiq_result *r = NULL;
    int s = epiq_points_add(c, p, "rows");
    if (s) return s;
    const epiqp_request request = {
        .predictive = true, .left_out = true, .forecast_only = true, .untimed = true, .why_not_rows = &why};
    s = epiqp_estimate(c, p->data, p, o, &request, &r);
    if (r && (r->ran->methods & (EPIQ_BA | EPIQ_IF)) == EPIQ_BA) why = "every row is in a batch of BA";
    epiq_result_free(c, r);
    if (!why) return s; /* whatever else is wrong would be with the estimate, too */
    epiqp_clear(c);
    p->count = 0;
    if ((s = epiq_points_add(c, p, "mean"))) return s;
    return epiqp_warn(
        c, &p->warnings, EPIQ_W_MEAN_ROW,
        "this is about the mean of the rows, which may be unlike any of them, because rows cannot be left "
        "out here: %s; {--at} names other points",
        why);
}
