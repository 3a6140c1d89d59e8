/* resolve.c - what the options leave to choose, chosen; and what does not go together with these rows, refused. */
#include "run/run.h"

#include <stdio.h>

enum {
    FACTOR_ROWS = 10000,   /* methods auto: up to here the factor takes less than training m networks */
    FEWEST_TO_RETRAIN = 10 /* rows, or groups of them: two in each fold */
};

/* Why the data part is IF's alone, though networks are trained; NULL: it need not be. */
static const char *not_retrained(const epiqp_problem *pb, const epiq_options *o)
{
    const char *why = epiqp_not_retrained(o);
    return why                                    ? why
           : pb->data->groups < FEWEST_TO_RETRAIN ? "it takes 10 rows, or 10 groups of rows, to retrain without some"
                                                  : NULL;
}

static bool may_retrain(const epiqp_problem *pb, const epiq_options *o)
{
    return pb->engine->trains && o->data_by != EPIQ_DATA_BY_IF && !not_retrained(pb, o);
}

/* Why a kernel matrix of all rows is needed, which models keep and other kernels are about; NULL: it is not. */
static const char *not_by_subset(const epiqp_problem *pb, const epiqp_request *rq, const epiq_options *o)
{
    return !pb->engine->trains             ? "it takes {--engine} network, whose networks are retrained"
           : o->data_by == EPIQ_DATA_BY_IF ? "{--data-by} if takes the kernel matrix of all rows"
           : not_retrained(pb, o)          ? not_retrained(pb, o)
           : epiqp_has_groups(pb)          ? "rows in groups are left out by the kernel matrix of all rows"
           : o->kernel || o->hbar          ? "it takes {--kernel} population and {--hbar} kernel"
           : rq->model || rq->on_done      ? "a model, and what is chosen to be measured, take the factor of all rows"
           : rq->leverage                  ? "leverages of all rows are asked for"
                                           : NULL;
}

/* why: there is no kernel matrix of all rows. */
static int choose_methods(const epiqp_problem *pb, const epiqp_request *rq, const char *why, epiqp_resolved *out)
{
    epiq_options *o = &out->o;
    const bool cheap = (pb->n <= FACTOR_ROWS || !pb->engine->member) && !out->subset;
    out->subset = out->subset || (!cheap && !not_by_subset(pb, rq, o));
    o->methods = cheap || out->subset ? EPIQ_IF | EPIQ_EV : EPIQ_EV | EPIQ_BA;
    out->choice =
        out->subset ? epiqp_arena_sentence(
                          pb->e.c, pb->lasting,
                          "%td rows: %s, so the data part comes from networks "
                          "retrained on changed targets and the procedural part from EV, each with an interval",
                          pb->n, why)
        : cheap ? epiqp_arena_sentence(pb->e.c, pb->lasting,
                                       "%td rows: the kernel matrix is cheap to factorise, so IF gives the data part%s "
                                       "and EV the procedural part, each directly and with an interval",
                                       pb->n, may_retrain(pb, o) ? ", scaled by retraining," : "")
                : epiqp_arena_sentence(pb->e.c, pb->lasting,
                                       "%td rows: factorising the kernel matrix would dominate, and batches of %td "
                                       "rows are large enough for BA; with EV it gives both parts",
                                       pb->n, pb->n / o->batches);
    return out->choice ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* Corrections that do not exist for stopped flow, or for rows that share their noise. */
static int choose_correction(const epiqp_problem *pb, epiq_options *o)
{
    if (o->time > 0 && o->correction != EPIQ_CORRECTION_NONE) {
        o->correction = EPIQ_CORRECTION_NONE;
        if (o->methods & EPIQ_IF) {
            return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_UNCORRECTED,
                              "when training is stopped at a time there is no correction for leverage (IF is as "
                              "published, and biased low), no leave-one-out error, no influence of single rows and no "
                              "prediction interval");
        }
    }
    if (epiqp_noise_by_row(o->correction) && epiqp_has_groups(pb)) o->correction = EPIQ_CORRECTION_UNBIASED;
    return EPIQ_OK;
}

static int choose_data_by(const epiqp_problem *pb, epiqp_resolved *out)
{
    epiq_options *o = &out->o;
    const char *why = not_retrained(pb, o);
    if (o->data_by == EPIQ_DATA_BY_RETRAIN && o->methods & EPIQ_IF && why) {
        return epiqp_fail(pb->e.c, epiqp_not_retrained(o) ? EPIQ_E_USAGE : EPIQ_E_DATA,
                          "the data part cannot be found by retraining: %s; use {--data-by} if", why);
    }
    if (o->data_by == EPIQ_DATA_BY_AUTO) { /* linearised networks follow the data as their kernel does */
        const int trained = out->subset ? EPIQ_IF : EPIQ_EV | EPIQ_BA;
        const bool networks = pb->engine->trains && o->methods & trained;
        o->data_by = why || !networks || !(o->methods & EPIQ_IF) ? EPIQ_DATA_BY_IF : EPIQ_DATA_BY_RETRAIN;
    }
    return EPIQ_OK;
}

/* Rows or groups too few for the methods. */
static int check_rows(const epiqp_problem *pb, const epiq_options *o)
{
    if (o->methods & EPIQ_BA && pb->n < 2 * o->batches) {
        return pb->n < 4 ? epiqp_fail(pb->e.c, EPIQ_E_DATA,
                                      "%td rows are too few to batch; leave ba out of {--methods}", pb->n)
                         : epiqp_fail(pb->e.c, EPIQ_E_DATA,
                                      "%td rows are too few for %td batches of at least 2; use {--batches} %td or "
                                      "fewer, or leave ba out of {--methods}",
                                      pb->n, o->batches, pb->n / 2);
    }
    if (o->confidence == EPIQ_CONFIDENCE_JACKKNIFE && pb->data->groups < o->resamples) {
        return epiqp_fail(
            pb->e.c, EPIQ_E_DATA,
            "%td rows, or groups of them, are too few to be left out in %td parts; use fewer {--resamples}",
            pb->data->groups, o->resamples);
    }
    if (o->methods & EPIQ_IF && pb->data->groups < 2) {
        return epiqp_fail(pb->e.c, EPIQ_E_DATA,
                          "all rows are in one group, which says nothing of other data; leave out {--group}, or if");
    }
    if (o->methods & EPIQ_BA && pb->data->groups < o->batches) {
        return epiqp_fail(pb->e.c, EPIQ_E_DATA,
                          "%td groups are too few for %td batches; use fewer {--batches}, or leave ba out",
                          pb->data->groups, o->batches);
    }
    return EPIQ_OK;
}

/* Whether it is asked for by name. */
static int check_subset(const epiqp_problem *pb, const epiqp_request *request, epiqp_resolved *out)
{
    const epiq_options *o = &out->o;
    if (o->solver != EPIQ_SOLVER_SUBSET || !(o->methods & (EPIQ_IF | EPIQ_AUTO))) return EPIQ_OK;
    const char *why = o->methods & (EPIQ_EV | EPIQ_AUTO) ? not_by_subset(pb, request, o) : "it takes ev in {--methods}";
    out->subset = !why;
    return why ? epiqp_fail(pb->e.c, EPIQ_E_USAGE, "{--solver} subset cannot be used here: %s; use {--solver} exact",
                            why)
               : EPIQ_OK;
}

/* What so many trainings buy. Batches are the fewest that tell an interval; from 6 on networks without a part of the rows, beside
 * two on all rows, cover better. Nothing else is trained: no folds, no retraining, nothing to choose the network by. */
static int spend(const epiqp_problem *pb, epiqp_resolved *out)
{
    enum { ON_ALL_ROWS = 2, FEWEST_PARTS = 4 };
    epiq_options *o = &out->o;
    if (!o->budget_networks) return EPIQ_OK;
    o->predictor = o->predictor == EPIQ_PREDICTOR_PNC ? EPIQ_PREDICTOR_PNC : EPIQ_PREDICTOR_SHIFTED;
    const ptrdiff_t networks = o->budget_networks / epiqp_trainings_each(o), parts = networks - ON_ALL_ROWS;
    if (networks < 4) {
        return epiqp_fail(
            pb->e.c, EPIQ_E_USAGE,
            "{--budget-networks} %td is too few for {--predictor} pnc, whose networks are trained in pairs; give 8 "
            "or more, or use {--predictor} shifted",
            o->budget_networks);
    }
    if (!o->confidence) o->confidence = parts < FEWEST_PARTS ? EPIQ_CONFIDENCE_BATCHING : EPIQ_CONFIDENCE_JACKKNIFE;
    const bool batching = o->confidence == EPIQ_CONFIDENCE_BATCHING, resamples = epiqp_resamples(o);
    const int influence = pb->n <= FACTOR_ROWS && (o->methods & (EPIQ_AUTO | EPIQ_IF)) ? EPIQ_IF : 0;
    o->methods = influence | (batching ? EPIQ_BA : EPIQ_EV);
    o->batches = batching ? networks : o->batches;
    o->members = resamples ? ON_ALL_ROWS : batching ? o->members : networks;
    o->resamples = resamples ? parts : o->resamples;
    o->fold_members = 0;
    o->data_by = EPIQ_DATA_BY_IF;
    o->width = o->width ? o->width : EPIQ_USUAL_WIDTH;
    o->lambda = o->lambda > 0 ? o->lambda : EPIQ_USUAL_LAMBDA;
    out->choice =
        batching
            ? epiqp_arena_sentence(pb->e.c, pb->lasting, "%td trainings buy %td batches of the rows, one network each",
                                   o->budget_networks, networks)
        : resamples
            ? epiqp_arena_sentence(pb->e.c, pb->lasting, "%td trainings buy 2 networks on all rows and %td on %s",
                                   o->budget_networks, parts,
                                   o->confidence == EPIQ_CONFIDENCE_BOOTSTRAP ? "rows drawn anew"
                                                                              : "all rows but one of as many parts")
            : epiqp_arena_sentence(
                  pb->e.c, pb->lasting,
                  "%td trainings buy %td networks on all rows, beside the data part of kernel regression",
                  o->budget_networks, networks);
    return out->choice ? EPIQ_OK : EPIQ_E_NOMEM;
}

int epiqp_resolve(const epiqp_problem *pb, const epiqp_request *request, const epiq_options *o, epiqp_resolved *out)
{
    *out = (epiqp_resolved){.o = *o};
    int s = spend(pb, out);
    if (!s) s = check_subset(pb, request, out);
    if (!s && out->o.methods == EPIQ_AUTO) {
        const char *why = out->subset ? "no kernel matrix of all of them is asked for"
                                      : "a kernel matrix of all of them would dominate";
        s = choose_methods(pb, request, why, out);
    }
    if (s) return s;
    if (out->subset) out->o.solver = EPIQ_SOLVER_SUBSET;
    out->o.methods |= out->o.confidence == EPIQ_CONFIDENCE_BATCHING ? EPIQ_BA : epiqp_resamples(&out->o) ? EPIQ_EV : 0;
    if (!pb->engine->member && out->o.methods & EPIQ_BA) { /* nothing to batch: the closed form replaces it */
        out->o.methods = (out->o.methods & ~EPIQ_BA) | EPIQ_EV;
    }
    out->o.threads = pb->e.threads;
    if ((out->starts_open = out->o.predictor == EPIQ_PREDICTOR_USUAL)) out->o.predictor = EPIQ_PREDICTOR_ENSEMBLE;
    if ((out->predictor_open = out->o.predictor == EPIQ_PREDICTOR_AUTO)) out->o.predictor = EPIQ_PREDICTOR_SHIFTED;
    out->o.ensemble_size = o->ensemble_size > 0 ? o->ensemble_size : out->o.batches;
    if ((s = choose_correction(pb, &out->o)) || (s = choose_data_by(pb, out))) return s;
    return check_rows(pb, &out->o);
}

int epiqp_resolve_without_matrix(const epiqp_problem *pb, const epiqp_request *request, double bytes, double have,
                                 epiqp_resolved *r, bool *possible)
{
    char why[96];
    *possible = r->choice && !r->subset && r->o.solver == EPIQ_SOLVER_EXACT && !r->o.scratch && !pb->e.cluster &&
                pb->n > EPIQP_CHEAP_ROWS && !not_by_subset(pb, request, &r->o);
    if (!*possible) return EPIQ_OK;
    r->subset = true;
    r->o.solver = EPIQ_SOLVER_SUBSET;
    snprintf(why, sizeof why, "a kernel matrix of all of them takes %.2f GB and %.2f may be used", bytes / 1e9,
             have / 1e9);
    return choose_methods(pb, request, why, r);
}
