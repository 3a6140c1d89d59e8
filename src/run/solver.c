/* solver.c - the plan: from resolved options, the sizes of the problem and the request to what will be done; the solver chosen
 * by what it costs. What does not fit is refused with the alternatives.
 */
#include "run/run.h"

#include <stdio.h>
#include <string.h>

enum {
    FEW = 128,  /* rows that are solved with exactly whatever was asked */
    PROBES = 64 /* for leverages where there is no inverse */
};

/* Whether leverages are needed, and not only cheap to have. */
static bool needs_leverages(const epiqp_plan *plan, const epiqp_request *request)
{
    return plan->ran.correction != EPIQ_CORRECTION_NONE || plan->ran.influential > 0 || request->leverage;
}

void epiqp_plan_leverages(epiqp_plan *plan, const epiqp_request *request, ptrdiff_t rows, bool exact)
{
    const epiq_options *o = &plan->ran;
    plan->leverage = plan->influence != EPIQP_IF_NONE && plan->influence != EPIQP_IF_STOPPED &&
                     plan->influence != EPIQP_IF_SUBSET &&
                     (needs_leverages(plan, request) || /* else they take two thirds of the time */
                      (rows <= EPIQP_CHEAP_ROWS && exact));
    /* with as many probes as rows the inverse is cheaper; and any row may decide a point that a model will be asked at */
    bool probe = plan->leverage && o->probes > 0 && o->probes < rows && !(request->model && exact);
    plan->probes = probe ? o->probes : 0;
    plan->wants_predictive = request->predictive;
    plan->predictive = plan->leave_out = request->predictive && epiqp_plan_inverse(plan);
}

/* Whether the population kernel of all rows is solved. */
static bool solves(const epiqp_problem *pb, const epiqp_plan *plan)
{
    const epiq_options *o = &plan->ran;
    if (o->time > 0) return false; /* the eigenvectors replace the factor */
    bool by_if = o->methods & EPIQ_IF && o->kernel == EPIQ_KERNEL_POPULATION && plan->influence != EPIQP_IF_SUBSET;
    bool by_engine = epiqp_needs_solve(o) && (plan->members || !pb->engine->member);
    bool predicts = !plan->members && !(o->methods & EPIQ_IF);
    bool by_phi = plan->batches && pb->n <= EPIQP_CHEAP_ROWS && o->solver != EPIQ_SOLVER_DIVIDED &&
                  o->solver != EPIQ_SOLVER_SUBSET;
    return by_if || by_engine || predicts || by_phi;
}

static void plan_kernel(const epiqp_problem *pb, const epiqp_request *request, bool subset, epiqp_plan *plan)
{
    const epiq_options *o = &plan->ran;
    const bool divided = o->solver == EPIQ_SOLVER_DIVIDED, exact = o->solver == EPIQ_SOLVER_EXACT && !plan->resident;
    plan->influence = !(o->methods & EPIQ_IF)               ? EPIQP_IF_NONE
                      : subset                              ? EPIQP_IF_SUBSET
                      : o->time > 0                         ? EPIQP_IF_STOPPED
                      : divided                             ? EPIQP_IF_DIVIDED
                      : o->kernel == EPIQ_KERNEL_POPULATION ? EPIQP_IF_POPULATION
                                                            : EPIQP_IF_EMPIRICAL;
    plan->solve = solves(pb, plan);
    epiqp_plan_leverages(plan, request, divided ? pb->n / o->parts : pb->n, exact || divided);
    plan->closed_form = (plan->solve || o->time > 0) && (!pb->engine->member || o->methods & (EPIQ_EV | EPIQ_BA));
    plan->closed_is_procedural = !pb->engine->member && o->methods & EPIQ_EV;
    plan->phi = plan->batches && plan->solve && !divided &&
                ((plan->influence == EPIQP_IF_POPULATION && plan->leverage) || (pb->n <= EPIQP_CHEAP_ROWS && exact));
}

/* Whether networks are trained without a part of the rows for their own error there. Linearised ones with the kernel of all have
 * it in closed form. */
static bool by_folds(const epiqp_problem *pb, const epiqp_request *request, const epiqp_plan *plan)
{
    return plan->members && !epiqp_needs_solve(&plan->ran) && plan->ran.solver != EPIQ_SOLVER_DIVIDED &&
           (pb->left_out || (request->predictive && pb->data->groups > 1));
}

/* Rows are left out of one exact solution, and of networks by training some without them. */
static int check_left_out(const epiqp_problem *pb, const epiqp_request *request, const epiqp_plan *plan)
{
    if (!pb->left_out) return EPIQ_OK;
    const epiq_options *o = &plan->ran;
    const char *why = !request->left_out                              ? "only estimates ask so"
                      : pb->data->groups < 2                          ? "there is one group of rows, or one row"
                      : o->time > 0                                   ? "not with training that is stopped at a time"
                      : plan->solve && o->solver != EPIQ_SOLVER_EXACT ? "that takes {--solver} exact"
                      : plan->influence == EPIQP_IF_EMPIRICAL         ? "that takes {--kernel} population"
                      : pb->engine->member && !(o->methods & (EPIQ_IF | EPIQ_EV)) ? "that takes if or ev in {--methods}"
                      : plan->resamples ? "networks of {--confidence} bootstrap, jackknife and halves have seen them"
                      : by_folds(pb, request, plan) && o->fold_members < 2 ? "that takes 2 {--fold-members} or more"
                                                                           : NULL;
    if (request->why_not_rows) *request->why_not_rows = why;
    return why ? epiqp_fail(pb->e.c, EPIQ_E_USAGE,
                            "rows cannot be left out here: %s; ask {--at} mean or another point instead", why)
               : EPIQ_OK;
}

/* What a plan is made for and judged by. */
typedef struct {
    const epiqp_problem *pb;
    const epiqp_request *request;
    epiqp_rates rate;
    double have;       /* bytes */
    char instead[640]; /* alternatives that fit into memory: "--solver iterative (0.2 GB, about 3 min, ..), " */
} judging;

/* Whether leverages of many rows come from probes where nothing is said of it: an inverse takes three times as long as the factor.
 * Rows in groups need it, a model is asked about any point, and models are compared by errors that are exact. */
static bool probes_by_default(const judging *w, const epiqp_plan *plan)
{
    const epiq_options *o = &plan->ran;
    return o->solver == EPIQ_SOLVER_EXACT && !o->probes && w->pb->n > EPIQP_INVERSE_ROWS && !w->pb->e.cluster &&
           !epiqp_gmat_takes(&w->pb->e, w->pb->n) && !epiqp_has_groups(w->pb) && !w->request->model &&
           !w->request->leverage && needs_leverages(plan, w->request);
}

/* Whether the interval of the expected prediction is one of the limit of many rows: where rows are independent, all of them are
 * learned from, and a few solutions of the population kernel cost less than one training. A model is asked elsewhere. */
static bool has_limit(const epiqp_problem *pb, const epiqp_request *request, const epiqp_plan *plan)
{
    const epiq_options *o = &plan->ran;
    const bool asked = o->confidence == EPIQ_CONFIDENCE_HALVES || o->confidence == EPIQ_CONFIDENCE_RETRAIN;
    return asked && !request->model && pb->n <= EPIQP_CHEAP_ROWS && pb->n > 2 && o->lambda > 0 && o->time == 0 &&
           !epiqp_has_groups(pb) && !pb->left_out && !pb->e.cluster && o->solver == EPIQ_SOLVER_EXACT &&
           o->kernel == EPIQ_KERNEL_POPULATION;
}

/* The plan with one solver. Few rows are solved with exactly whatever was asked. resident: of a factor in a scratch file. */
static epiqp_plan plan_with(const judging *w, const epiqp_resolved *r, int solver, ptrdiff_t resident)
{
    const epiqp_problem *pb = w->pb;
    const epiqp_request *request = w->request;
    epiqp_plan plan = {.ran = r->o, .choice = r->choice, .seed = r->o.seed, .resident = resident};
    epiq_options *o = &plan.ran;
    const ptrdiff_t probes = o->probes ? o->probes : PROBES;
    o->solver = solver == EPIQ_SOLVER_ITERATIVE && pb->n <= epiqp_max(FEW, probes) ? EPIQ_SOLVER_EXACT : solver;
    o->parts = epiqp_parts(o->parts, pb->n);
    if ((o->solver == EPIQ_SOLVER_ITERATIVE && needs_leverages(&plan, request)) || /* which has no inverse */
        probes_by_default(w, &plan)) {
        o->probes = probes;
    }
    plan.members = pb->engine->member && o->methods & EPIQ_EV;
    plan.members_at_rows = plan.members && o->hbar == EPIQ_HBAR_ENSEMBLE && o->methods & EPIQ_IF;
    plan.batches = o->methods & EPIQ_BA;
    if (o->confidence == EPIQ_CONFIDENCE_HALVES) o->resamples += o->resamples % 2; /* pairs */
    plan.resamples = plan.members && epiqp_resamples(o) ? o->resamples : 0;
    plan_kernel(pb, request, r->subset, &plan);
    plan.limit = has_limit(pb, request, &plan);
    /* rows in groups are retrained without by the inverse alone */
    if (o->methods & EPIQ_IF && o->data_by == EPIQ_DATA_BY_RETRAIN && epiqp_has_groups(pb) &&
        !epiqp_plan_inverse(&plan)) {
        o->data_by = EPIQ_DATA_BY_IF;
    }
    const bool retrain = o->methods & EPIQ_IF && o->data_by == EPIQ_DATA_BY_RETRAIN;
    plan.retrained = retrain ? epiqp_retrain_networks(pb, o) : 0;
    plan.fold_starts = epiqp_max(retrain ? EPIQP_STARTS : 0, by_folds(pb, request, &plan) ? o->fold_members : 0);
    plan.answers_at_points = retrain && o->engine == EPIQ_ENGINE_NETWORK && !r->subset;
    plan.keep = request->model ? &request->model->arena : NULL;
    plan.may_end_early = request->may_end_early;
    plan.cost.bytes = epiqp_cost_bytes(pb, request, &plan);
    return plan;
}

/* Whether the factor could be in a scratch file: it is made, and its inverse is not needed. */
static bool may_spill(const epiqp_request *request, const epiqp_plan *plan)
{
    return plan->ran.solver == EPIQ_SOLVER_EXACT && plan->solve && !request->model &&
           !(epiqp_plan_inverse(plan) && needs_leverages(plan, request));
}

/* Memory for it, beside everything else: four of its panels at least. 0: there is not enough, or it must not be there. */
static double room_for_spilled(const judging *w, const epiqp_plan *plan)
{
    const ptrdiff_t n = w->pb->n;
    double left = w->have - (plan->cost.bytes - epiqp_cost_matrix_bytes(w->pb, plan, n));
    return may_spill(w->request, plan) && left >= 4 * 8 * (double)epiqp_tri_shape(n).height * (double)n ? left : 0;
}

static void offer(judging *w, const char *flags, const epiqp_plan *plan, double bytes, const char *remark)
{
    size_t used = strlen(w->instead);
    if (bytes <= w->have) {
        snprintf(w->instead + used, sizeof w->instead - used, "%s (%.2f GB, about %s, %s), ", flags, bytes / 1e9,
                 epiqp_duration_of(epiqp_cost_seconds(w->pb, plan, &w->rate)).text, remark);
    }
}

/* Other solvers, the factor on disk, or no kernel at all. */
static void offer_all(judging *w, epiqp_resolved r, const epiqp_plan *plan)
{
    const epiq_options *o = &plan->ran;
    const bool whole = w->pb->e.cluster || epiqp_needs_factor(o), alone = !w->request->model && !w->request->on_done;
    char residual[48];
    snprintf(residual, sizeof residual, "relative residual %.0e", o->tolerance);
    epiqp_plan instead = plan_with(w, &r, EPIQ_SOLVER_ITERATIVE, 0);
    if (o->solver == EPIQ_SOLVER_EXACT && !whole && !w->request->model && instead.ran.solver == EPIQ_SOLVER_ITERATIVE) {
        offer(w, "{--solver} iterative", &instead, instead.cost.bytes, residual);
    }
    if (o->solver != EPIQ_SOLVER_DIVIDED && !whole && alone) { /* a model and picks need one factor */
        instead = plan_with(w, &r, EPIQ_SOLVER_DIVIDED, 0);
        offer(w, "{--solver} divided", &instead, instead.cost.bytes,
              "another predictor; data variance 0.9 to 1.1 of exact in 2 to 4 parts");
    }
    r.o.probes = o->probes ? o->probes : PROBES;
    instead = plan_with(w, &r, o->solver, 0);
    if (!o->scratch && !w->pb->e.cluster && room_for_spilled(w, &instead) > 0) {
        offer(w, may_spill(w->request, plan) ? "{--scratch} DIR" : "{--scratch} DIR {--probes} 64", &instead, w->have,
              "a file there");
    }
    if (o->methods & EPIQ_IF && w->pb->engine->trains && alone) {
        r.o.methods = EPIQ_EV | EPIQ_BA;
        instead = plan_with(w, &r, o->solver, 0);
        offer(w, "{--methods} ev,ba", &instead, instead.cost.bytes, "no kernel matrix");
    }
}

static int refuse(judging *w, const epiqp_resolved *r, const epiqp_plan *plan)
{
    const epiq_options *o = &plan->ran;
    const bool cluster = w->pb->e.cluster;
    const int digits = w->have < 1e7 ? 4 : 2;
    char parts[96];
    snprintf(parts, sizeof parts, "more {--parts} than %td, or fewer rows or points", o->parts);
    offer_all(w, *r, plan);
    if (w->request->why_not_rows) *w->request->why_not_rows = "that takes more memory than may be used";
    return epiqp_fail(w->pb->e.c, EPIQ_E_NOMEM,
                      "%td rows, %td points and networks of width %td and depth %td need about %.*f GB%s and %.*f may "
                      "be used; use %s%s%s%s",
                      w->pb->n, w->pb->points, o->width, o->depth, digits, plan->cost.bytes / 1e9,
                      cluster ? " on each rank" : "", digits, w->have / 1e9,
                      cluster ? "more ranks on more machines, " : "", w->instead, cluster || *w->instead ? "or " : "",
                      w->request->extra_bytes > plan->cost.bytes / 2 ? w->request->extra_bytes_hint
                      : o->solver == EPIQ_SOLVER_DIVIDED             ? parts
                                                                     : "fewer rows or points");
}

/* Seconds, where nothing tells them yet. A network is trained for that where a forecast is all that is wanted, or where
 * someone will wait. */
static int foresee(judging *w, const epiqp_resolved *r, epiqp_plan *plan)
{
    const epiqp_problem *pb = w->pb;
    const double networks = epiqp_cost_networks(pb, plan);
    int s = EPIQ_OK;
    w->rate.network = r->network;
    plan->cost.seconds = epiqp_cost_seconds(pb, plan, &w->rate);
    const bool wanted =
        w->request->forecast_only ? !w->request->untimed : pb->e.c->report && plan->cost.seconds > EPIQP_WORTH_TIMING;
    if (wanted && networks > 0 && !(r->network > 0)) {
        const double share = w->request->forecast_only ? EPIQP_DRY_TIMING_SHARE : EPIQP_TIMING_SHARE;
        s = epiqp_time_network(pb, &plan->ran, share * networks, &w->rate.network);
        plan->cost.seconds = epiqp_cost_seconds(pb, plan, &w->rate);
    }
    plan->cost.seconds += r->choosing;
    return s;
}

int epiqp_plan_new(const epiqp_problem *pb, const epiqp_request *request, epiqp_resolved *r, const epiqp_hints *hints,
                   epiqp_plan *out)
{
    const epiq_cluster *k = pb->e.cluster;
    const int asked = r->o.solver;
    bool without = false;
    judging w = {.pb = pb, .request = request, .have = epiqp_may_use(&r->o, k ? k->ranks_on_node : 1)};
    int s = epiqp_rates_of(pb, request, &r->o, &w.rate);
    if (s) return s;
    *out = plan_with(&w, r, asked == EPIQ_SOLVER_AUTO ? EPIQ_SOLVER_EXACT : asked, 0);
    if (out->cost.bytes > w.have) s = epiqp_resolve_without_matrix(pb, request, out->cost.bytes, w.have, r, &without);
    if (s) return s;
    if (without) *out = plan_with(&w, r, r->o.solver, 0);
    if (asked == EPIQ_SOLVER_AUTO && !k && out->cost.bytes > w.have && out->solve && !request->model &&
        !epiqp_needs_factor(&r->o)) { /* a model needs the factor */
        const double whole = out->cost.bytes;
        *out = plan_with(&w, r, EPIQ_SOLVER_ITERATIVE, 0);
        s = epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_APPROXIMATED,
                       "the exact solution would need %.2f GB and %.2f may be used, so the equations are solved by "
                       "iteration, to a relative residual of %.0e",
                       whole / 1e9, w.have / 1e9, out->ran.tolerance);
    }
    double room = out->ran.scratch && !k ? room_for_spilled(&w, out) : 0;
    if (!s && out->cost.bytes > w.have && room > 0) {
        *out = plan_with(&w, r, EPIQ_SOLVER_EXACT, (ptrdiff_t)room);
        out->cost.bytes = w.have - room + (double)epiqp_tri_most(pb->n, out->resident);
        s = epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_SCRATCH,
                       "the factor does not fit into the %.2f GB that may be used, so its %.2f GB lie in a file in %s "
                       "while this runs",
                       w.have / 1e9, (double)epiqp_tri_bytes(pb->n) / 1e9, out->ran.scratch);
    }
    if (s) return s;
    if ((s = foresee(&w, r, out))) return s;
    out->cost.limit = w.have;
    out->hints = hints;
    if (out->cost.bytes > w.have) return refuse(&w, r, out);
    const bool one_factor = out->solve && out->ran.solver == EPIQ_SOLVER_EXACT && !out->resident;
    if ((one_factor && (s = epiqp_gmat_check(&pb->e, pb->n))) || (s = check_left_out(pb, request, out))) return s;
    return out->fold_starts ? epiqp_folds_new(pb, out, &out->folds) : EPIQ_OK;
}
