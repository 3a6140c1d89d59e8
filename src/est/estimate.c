/* estimate.c - epiq_estimate: resolve what was left open, look before leaping, run the estimators of the table,
 * combine. */
#include "est/est.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* In this order: IF may use the members that EV trained, BA's check the factor that IF made. */
static const struct {
    int bit;
    int (*run)(epiqp_job *j);
    size_t seconds; /* where its time goes in the result */
} TABLE[] = {
    {EPIQ_EV, epiqp_estimate_ev, offsetof(epiq_result, timing.ev)},
    {EPIQ_IF, epiqp_estimate_if, offsetof(epiq_result, timing.influence)},
    {EPIQ_IF, epiqp_estimate_retrain, offsetof(epiq_result, timing.retrain)},
    {EPIQ_BA, epiqp_estimate_ba, offsetof(epiq_result, timing.ba)},
};

static const epiqp_remedies TRAIN = {
    .both = "IF and EV give them directly (--methods if,ev)",
    .procedural = "with ev in --methods",
    .data = "with if in --methods",
    .sum = "take the ensemble's variance from --methods if,ev there",
    .either = "add if or ev to --methods",
    .far = "compare with a larger --width",
    .made = "trained here",
};

const char *epiq_method_text(epiq_method m)
{
    static const char *const TEXT[] = {
#define METHOD_TEXT(name, text) text,
        EPIQ_METHOD_LIST(METHOD_TEXT)
#undef METHOD_TEXT
    };
    return m <= EPIQ_BY_BA_RETRAIN ? TEXT[m] : "unknown";
}

/* ---- before anything is computed ---- */

static const ptrdiff_t FACTOR_ROWS = 10000; /* auto: up to here the factor takes less than training m networks */

enum { FEWEST_TO_RETRAIN = 10 }; /* rows, or groups of them: two in each fold */

/* Why the data part is IF's alone, though networks are trained; NULL: it need not be. */
static const char *not_retrained(const epiqp_job *j)
{
    const epiq_options *o = &j->o;
    return !j->engine->member                      ? "engine infinite has no networks to retrain"
           : j->data->groups < FEWEST_TO_RETRAIN   ? "it takes 10 rows, or 10 groups of rows, to retrain without some"
           : o->correction == EPIQ_CORRECTION_NONE ? "with --correction none the influence function is as published"
           : o->solver == EPIQ_SOLVER_DIVIDED      ? "--solver divided answers for another predictor"
                                                   : NULL;
}

/* Without a kernel matrix of all rows, which a model keeps and other kernels and solvers are about. */
static bool may_use_subset(const epiqp_job *j)
{
    const epiq_options *o = &j->o;
    return j->engine->trains && o->data_by != EPIQ_DATA_BY_IF && !not_retrained(j) && !j->more->keep &&
           !j->more->then && !j->more->leverage && o->kernel == EPIQ_KERNEL_POPULATION && o->hbar == EPIQ_HBAR_KERNEL &&
           j->data->groups == j->n;
}

static int resolve_data_by(epiqp_job *j)
{
    epiq_options *o = &j->o;
    const char *why = not_retrained(j);
    if (o->data_by == EPIQ_DATA_BY_RETRAIN && o->methods & EPIQ_IF && why) {
        return epiqp_fail(j->e.c, j->data->groups < FEWEST_TO_RETRAIN ? EPIQ_E_DATA : EPIQ_E_USAGE,
                          "the data part cannot be had by retraining: %s; use --data-by if", why);
    }
    if (o->data_by == EPIQ_DATA_BY_AUTO) { /* linearised networks follow the data as their kernel does */
        const int trained = j->retrain.subset ? EPIQ_IF : EPIQ_EV | EPIQ_BA;
        const bool networks = j->engine->trains && o->methods & trained;
        o->data_by = why || !networks || !(o->methods & EPIQ_IF) ? EPIQ_DATA_BY_IF : EPIQ_DATA_BY_RETRAIN;
    }
    return EPIQ_OK;
}

static int resolve(epiqp_job *j)
{
    epiq_options *o = &j->o;
    epiq_result *r = &j->answer->result;
    if (o->methods == EPIQ_AUTO) {
        bool small = j->n <= FACTOR_ROWS;
        j->retrain.subset = !small && may_use_subset(j);
        o->methods = small || !j->engine->member || j->retrain.subset ? EPIQ_IF | EPIQ_EV : EPIQ_EV | EPIQ_BA;
        if (o->hbar == EPIQ_HBAR_ENSEMBLE) {
            o->methods |= EPIQ_EV;
        }
        r->choice =
            j->retrain.subset
                ? epiqp_arena_printf(
                      j->e.c, &j->answer->arena,
                      "%td rows: a kernel matrix of all of them would dominate, so the data part comes from networks "
                      "retrained on changed targets and the procedural part from EV, each with an interval",
                      j->n)
            : small || !j->engine->member
                ? epiqp_arena_printf(
                      j->e.c, &j->answer->arena,
                      "%td rows: the kernel matrix is cheap to factorise, so IF gives the data part%s and EV the "
                      "procedural part, each directly and with an interval",
                      j->n,
                      j->engine->trains && o->data_by != EPIQ_DATA_BY_IF && !not_retrained(j)
                          ? ", scaled by retraining,"
                          : "")
                : epiqp_arena_printf(
                      j->e.c, &j->answer->arena,
                      "%td rows: factorising the kernel matrix would dominate, and batches of %td rows are large "
                      "enough for BA; with EV it gives both parts",
                      j->n, j->n / o->batches);
        if (!r->choice) {
            return EPIQ_E_NOMEM;
        }
    }
    if (!j->engine->member && o->methods & EPIQ_BA) { /* nothing to batch: the closed form stands for it */
        o->methods = (o->methods & ~EPIQ_BA) | EPIQ_EV;
    }
    o->ensemble_size = o->ensemble_size > 0 ? o->ensemble_size : o->batches;
    if (o->time > 0 && o->correction != EPIQ_CORRECTION_NONE) {
        o->correction = EPIQ_CORRECTION_NONE;
        if (o->methods & EPIQ_IF && epiqp_warn(j->e.c, j->warnings, "uncorrected",
                                               "when training is stopped at a time there is no correction for leverage "
                                               "(IF is as published, and biased "
                                               "low), no leave-one-out error, no influence of single rows and no "
                                               "interval for a new observation")) {
            return EPIQ_E_NOMEM;
        }
    }
    if ((o->correction == EPIQ_CORRECTION_ROWWISE || o->correction == EPIQ_CORRECTION_MODERATED) &&
        j->data->groups < j->n) {
        o->correction = EPIQ_CORRECTION_UNBIASED; /* rows of a group share their noise */
    }
    int s = resolve_data_by(j);
    if (s) {
        return s;
    }
    if (o->methods & EPIQ_BA && j->n < 2 * o->batches) {
        return j->n < 4
                   ? epiqp_fail(j->e.c, EPIQ_E_DATA, "%td rows are too few to batch; leave ba out of --methods", j->n)
                   : epiqp_fail(j->e.c, EPIQ_E_DATA,
                                "%td rows are too few for %td batches of at least 2; use --batches %td or fewer, or "
                                "leave ba out of --methods",
                                j->n, o->batches, j->n / 2);
    }
    if (o->methods & EPIQ_IF && j->data->groups < 2) {
        return epiqp_fail(j->e.c, EPIQ_E_DATA,
                          "all rows are in one group, which says nothing of other data; leave out --group, or if");
    }
    if (o->methods & EPIQ_BA && j->data->groups < o->batches) {
        return epiqp_fail(j->e.c, EPIQ_E_DATA,
                          "%td groups are too few for %td batches; use fewer --batches, or leave ba out",
                          j->data->groups, o->batches);
    }
    r->methods = o->methods;
    r->correction = o->correction;
    r->ensemble_size = o->ensemble_size;
    r->threads = j->e.threads;
    r->ranks = j->e.cluster ? j->e.cluster->size : 1;
    r->backend = j->e.cluster
                     ? epiqp_arena_printf(j->e.c, &j->answer->arena, "%s+%s", j->e.cluster->name, j->e.la->name)
                     : j->e.la->name;
    return r->backend ? EPIQ_OK : EPIQ_E_NOMEM;
}

bool epiqp_factor_wanted(const epiqp_job *j)
{
    const epiq_options *o = &j->o;
    if (o->time > 0) {
        return false; /* the eigenvectors replace the factor */
    }
    bool if_needs = o->methods & EPIQ_IF && o->kernel == EPIQ_KERNEL_POPULATION && !j->retrain.subset;
    bool members = j->engine->member && o->methods & EPIQ_EV;
    bool predict_by_kernel = !members && !(o->methods & EPIQ_IF);
    bool engine_needs = j->engine->needs_solve(o) && (members || !j->engine->member);
    bool bias_check = o->methods & EPIQ_BA && j->n <= EPIQP_CHEAP_ROWS && o->solver != EPIQ_SOLVER_DIVIDED;
    return if_needs || engine_needs || predict_by_kernel || bias_check;
}

/* ---- points that deserve a warning ---- */

/* The result has its points' names for longer than the points may live. */
static int copy_names(epiqp_job *j, const char **name)
{
    ptrdiff_t size = 0;
    for (ptrdiff_t p = 0; p < j->asked; p++) {
        size += (ptrdiff_t)strlen(j->where->at[p]) + 1;
    }
    char *text = epiqp_arena_alloc(j->e.c, &j->answer->arena, size, 1);
    for (ptrdiff_t p = 0; text && p < j->asked; p++) {
        name[p] = text;
        text = stpcpy(text, j->where->at[p]) + 1;
    }
    return text ? EPIQ_OK : EPIQ_E_NOMEM;
}

static const double SMALLEST_SQUARE = 1e-290; /* of the longest row: below, kernels of shorter ones lose digits */

/* A feature of a point before scaling; rounding may take the largest of doubles beyond them. */
static double as_given(const epiq_data *data, ptrdiff_t f, const double *x)
{
    return fmax(-DBL_MAX, fmin(data->shift[f] + data->factor[f] * x[f], DBL_MAX));
}

/* Without bias the network is 0 at x0 = 0, always. Where biases start at 0 its kernel depends on the direction of x0
 * alone, however near 0 it is, and jumps there. A mean that is 0 but for rounding is made 0: its direction is noise. */
static int settle_points(epiqp_job *j)
{
    ptrdiff_t d = j->data->d, zeros = 0, outside = 0, first = 0, feature = 0;
    bool unbiased = j->o.bias == 0, any = false;
    double spread = j->o.bias * j->o.bias_sd; /* of the biases at the start; v is its square */
    double *at = epiqp_arena_alloc(j->e.c, &j->scratch, j->points * d, sizeof *at), norm2 = 0;
    const char **name = epiqp_arena_alloc(j->e.c, &j->scratch, j->points, sizeof *name);
    if (!at || !name) {
        return EPIQ_E_NOMEM;
    }
    memcpy(at, j->where->x, (size_t)(j->asked * d) * sizeof *at);
    j->at = at;
    j->name = name;
    int s = copy_names(j, name);
    s = s ? s : epiqp_sweep_points(j, at, name);
    if (s) {
        return s;
    }
    for (ptrdiff_t i = 0; i < j->n; i++) {
        norm2 = fmax(norm2, epiqp_dot(d, j->data->x + i * d, j->data->x + i * d));
        if (!(norm2 <= EPIQP_LARGEST_SQUARE)) {
            return epiqp_fail(j->e.c, EPIQ_E_NUMERIC,
                              "row %td is too large to be squared; use --scale standard, or other units",
                              j->data->row[i]);
        }
        for (ptrdiff_t f = 0; f < d; f++) {
            any |= j->data->x[i * d + f] != 0;
        }
    }
    if (unbiased && any && norm2 < SMALLEST_SQUARE) {
        return epiqp_fail(j->e.c, EPIQ_E_NUMERIC,
                          "the rows are too small to be squared; use --scale standard, or other units");
    }
    for (ptrdiff_t p = 0; p < j->points; p++) {
        double *x = at + p * d;
        if (!(epiqp_dot(d, x, x) <= EPIQP_LARGEST_SQUARE)) {
            return epiqp_fail(j->e.c, EPIQ_E_NUMERIC,
                              "the point %s is too far from the rows to be squared; check its units", name[p]);
        }
        if (spread * spread == 0 && epiqp_dot(d, x, x) <= EPIQP_ZERO_SQUARE * norm2) {
            memset(x, 0, (size_t)d * sizeof *x);
            zeros += p < j->asked;
        }
        ptrdiff_t f = 0;
        while (f < d) {
            double slack = 1e-9 * (j->data->most[f] - j->data->least[f]), given = as_given(j->data, f, x);
            if (given < j->data->least[f] - slack || given > j->data->most[f] + slack) {
                break;
            }
            f++;
        }
        if (f < d && p < j->asked && !outside++) {
            first = p;
            feature = f;
        }
    }
    if (zeros && !unbiased) {
        s = epiqp_warn(j->e.c, j->warnings, "jump",
                       "networks whose biases start at 0 jump at the scaled origin (%td of %td points): a step to any "
                       "side of it gives another answer; use --bias-sd 1, or ask beside it",
                       zeros, j->asked);
    } else if (zeros) {
        s = epiqp_warn(j->e.c, j->warnings, "zero_by_construction",
                       "without bias every network is exactly 0 at the scaled origin, so all variances are 0 there "
                       "(%td of %td points); use "
                       "--bias 1",
                       zeros, j->asked);
    }
    if (!s && outside) {
        s = epiqp_warn(j->e.c, j->warnings, "outside_range",
                       "%td of %td points lie outside the range of the training rows (first: %s, whose %s is %.6g and "
                       "not in [%.6g, %.6g]); "
                       "variances there are extrapolations",
                       outside, j->asked, name[first], j->data->feature[feature],
                       as_given(j->data, feature, at + first * d), j->data->least[feature], j->data->most[feature]);
    }
    return s;
}

/* ---- the closed form, beside or instead of networks ---- */

epiq_part epiqp_infinite_part(double tau2, double q00, double rounding)
{
    bool known = tau2 >= rounding * q00; /* so at an exact 0 too */
    return (epiq_part){.known = known, .variance = known ? tau2 : 0, .method = EPIQ_BY_INFINITE};
}

int epiqp_estimate_infinite(epiqp_job *j)
{
    const double *c = j->stopped_c ? j->stopped_c : j->fit.solved ? j->fit.ridge.c : NULL;
    if (!c || (j->engine->member && !(j->o.methods & (EPIQ_EV | EPIQ_BA)))) { /* with IF alone nobody asked */
        return EPIQ_OK;
    }
    double *tau2 = epiqp_arena_alloc(j->e.c, &j->scratch, 2 * j->points, sizeof *tau2);
    int s = tau2 ? epiqp_infinite_variance(&j->e, &j->fit, c, tau2) : EPIQ_E_NOMEM;
    if (s) {
        return s;
    }
    double *q00 = tau2 + j->points;
    epiqp_ridge *r = &j->fit.ridge;
    ptrdiff_t rounded = 0;
    epiqp_kernel_diagonal(&j->fit.arch, &j->fit.at, NULL, q00);
    if (!j->stopped_c && r->bound && (s = epiqp_settle_procedural(j, r, tau2, q00))) {
        return s;
    }
    for (ptrdiff_t p = 0; p < j->points; p++) {
        double open = j->stopped_c ? 0 : epiqp_procedural_open(j, r, p), root = sqrt(fmax(tau2[p], 0));
        j->infinite[p] = epiqp_infinite_part(2 * open <= root ? tau2[p] : -1, q00[p], EPIQP_ROUNDING);
        rounded += !j->infinite[p].known && p < j->asked;
        double *worst = &j->answer->result.accuracy.procedural;
        *worst =
            j->infinite[p].known && open > 0 && p < j->asked ? fmax(*worst, open / root * (2 + open / root)) : *worst;
    }
    if (rounded && !j->engine->member) {
        return epiqp_warn(j->e.c, j->warnings, "lost_in_rounding",
                          "the procedural variance is below rounding%s at %td of %td points, so it is withheld; use a "
                          "larger --lambda%s",
                          r->bound ? ", or what iteration leaves open," : "", rounded, j->asked,
                          r->bound ? ", or --solver exact" : "");
    }
    return EPIQ_OK;
}

/* Are the networks wide enough for the theory? Compare EV's interval with infinite width. */
static int check_regime(epiqp_job *j)
{
    ptrdiff_t off = 0, compared = 0, first = 0;
    for (ptrdiff_t p = 0; !j->answer->result.retrain.known && p < j->asked; p++) { /* else kappa tells */
        if (j->ev[p].has_interval && j->infinite[p].known) {
            compared++;
            if ((j->infinite[p].variance < j->ev[p].lo / 2 ||
                 (!j->ev[p].open && j->infinite[p].variance > 2 * j->ev[p].hi)) &&
                !off++) {
                first = p;
            }
        }
    }
    if (!off) {
        return EPIQ_OK;
    }
    return epiqp_warn(j->e.c, j->warnings, "not_in_kernel_regime",
                      "at %td of %td points the trained networks' variance is far from that of infinitely wide ones "
                      "(first: %s, %.3g where they have %.3g); "
                      "IF, which assumes the latter, may be off: try a larger --width",
                      off, compared, j->name[first], j->ev[first].variance, j->infinite[first].variance);
}

/* ---- the job ---- */

int epiqp_make_room(epiqp_job *j)
{
    epiq_ctx *c = j->e.c;
    epiq_part **parts[] = {&j->ev, &j->inf, &j->ba, &j->infinite};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        if (!(*parts[k] = epiqp_arena_alloc(c, &j->scratch, j->points, sizeof **parts[k]))) {
            return EPIQ_E_NOMEM;
        }
    }
    j->corrected = epiqp_arena_alloc(c, &j->scratch, j->points * EPIQ_CORRECTIONS, sizeof *j->corrected);
    j->prediction = epiqp_arena_alloc(c, &j->scratch, j->points, sizeof(double));
    j->answer->points = epiqp_arena_alloc(c, &j->answer->arena, j->points, sizeof(epiq_point));
    return j->corrected && j->prediction && j->answer->points ? EPIQ_OK : EPIQ_E_NOMEM;
}

static int prepare(epiqp_job *j)
{
    int s = resolve(j);
    if (s || (s = epiqp_ranks_check(j)) || (s = epiqp_sweep_plan(j)) || (s = settle_points(j))) {
        return s;
    }
    if ((s = epiqp_make_room(j))) {
        return s;
    }
    ptrdiff_t networks = j->o.members + j->o.batches + epiqp_retrain_networks(j);
    j->iterations = epiqp_arena_alloc(j->e.c, &j->scratch, networks, sizeof(double));
    if (!j->iterations) {
        return EPIQ_E_NOMEM;
    }
    if ((s = epiqp_retrain_new(j))) {
        return s;
    }
    s = epiqp_fit_new(&j->e, &j->o, j->n, j->data->d, j->data->x, j->data->y, j->points, j->at, &j->fit);
    return s ? s : epiqp_foresee(j);
}

int epiqp_warn_factor(epiqp_job *j, double jitter, double loss)
{
    double ridge = j->o.lambda * (double)j->n;
    return jitter > 0 ? epiqp_warn(j->e.c, j->warnings, "jitter",
                                   "the kernel matrix was not positive definite; %.3g was added to its diagonal, where "
                                   "lambda n is %.3g; a larger --lambda avoids this",
                                   jitter, ridge)
           : loss > EPIQP_MOST_LOSS
               ? epiqp_warn(j->e.c, j->warnings, "ill_conditioned",
                            "some rows are combinations of others but for rounding, beside which lambda n = %.3g is "
                            "small: the first digits of predictions and variances may be wrong; use a larger --lambda",
                            ridge)
               : EPIQ_OK;
}

static int solve_kernel(epiqp_job *j)
{
    int s = EPIQ_OK;
    const double *c = NULL;
    double loss = 0;
    if (j->o.time > 0) {
        ptrdiff_t size = j->n * j->points;
        j->stopped_c = epiqp_arena_alloc(j->e.c, &j->scratch, size, sizeof(double));
        j->stopped_v = j->o.methods & EPIQ_IF ? epiqp_arena_alloc(j->e.c, &j->scratch, size, sizeof(double)) : NULL;
        s = j->stopped_c && (j->stopped_v || !(j->o.methods & EPIQ_IF))
                ? epiqp_stopped(&j->e, &j->fit, j->o.time, j->stopped_c, j->stopped_v, &loss)
                : EPIQ_E_NOMEM;
        c = j->stopped_c;
        s = s ? s : epiqp_warn_factor(j, 0, loss);
    } else if (epiqp_factor_wanted(j)) {
        s = j->o.solver == EPIQ_SOLVER_DIVIDED ? epiqp_divided_solve(j) : epiqp_fit_solve(&j->e, &j->fit);
        c = j->fit.ridge.c;
        j->answer->result.timing.kernel = j->fit.ridge.fill_s;
        j->answer->result.timing.factor = j->fit.ridge.factor_s;
    }
    const double *first = j->fit.ridge.first; /* what the residual left adds to c'y; a factor leaves none */
    s = s || !first ? s : epiqp_settle(j, &j->fit.ridge);
    if (!s && c && !(j->kernel_prediction = epiqp_arena_alloc(j->e.c, &j->scratch, j->points, sizeof(double)))) {
        s = EPIQ_E_NOMEM;
    }
    for (ptrdiff_t p = 0; !s && c && p < j->points; p++) {
        j->prediction[p] = j->kernel_prediction[p] = epiqp_dot(j->n, c + p * j->n, j->data->y) + (first ? first[p] : 0);
    }
    if (!s && j->fit.solved) {
        s = epiqp_warn_factor(j, j->fit.ridge.jitter, j->fit.ridge.loss);
    }
    return s ? s : epiqp_report(j->e.c, "factor", 1, 1);
}

/* Asked to end early, the methods that are done are the answer, and IF if it has yet to begin: it is quick where they were
 * not. Left out is what was interrupted, and BA. */
static int end_early(epiqp_job *j, int done, int bit)
{
    const int left_out = j->o.methods & (bit | EPIQ_BA) & ~done;
    return !done ? EPIQ_E_STOPPED
                 : epiqp_finish(j, left_out,
                                left_out == EPIQ_BA  ? "the batches of BA were not all trained, so it is left out"
                                : left_out & EPIQ_BA ? "IF was not finished, so it and BA are left out"
                                : left_out           ? "IF was not finished, so it is left out"
                                                     : NULL);
}

static int run(epiqp_job *j)
{
    epiq_result *r = &j->answer->result;
    int done = 0;
    int s = prepare(j);
    if (s || j->more->only_foresee) {
        return s ? s : epiqp_tell_foreseen(j);
    }
    s = j->o.state && (!j->e.cluster || j->e.cluster->rank == 0) ? epiqp_state_open(j) : EPIQ_OK;
    if (s || (s = solve_kernel(j)) || (s = epiqp_estimate_infinite(j))) {
        return s;
    }
    for (size_t k = 0; k < sizeof TABLE / sizeof *TABLE; k++) {
        if (j->o.methods & TABLE[k].bit) {
            double start = epiqp_now();
            s = TABLE[k].run(j);
            done |= s ? 0 : TABLE[k].bit;
            s = s || !epiqp_stopping(j->e.c) ? s : epiqp_report(j->e.c, "points", 0, j->points);
            s = s == EPIQ_E_STOPPED ? end_early(j, done, TABLE[k].bit) : s;
            if (s) {
                return s;
            }
            double *seconds = (void *)((char *)r + TABLE[k].seconds);
            *seconds += epiqp_now() - start;
        }
    }
    if (j->o.engine == EPIQ_ENGINE_LINEAR && j->o.linear_kernel == EPIQ_KERNEL_EMPIRICAL) {
        s = epiqp_warn(j->e.c, j->warnings, "own_kernel",
                       "a network's own kernel has jumps: at width %td its procedural variance comes out 2 to 16 times "
                       "too large where it is "
                       "small; compare with --linear-kernel population",
                       j->o.width);
    }
    if (!s && j->o.methods & EPIQ_EV && j->engine->member) {
        s = epiqp_warn_few_members(j);
    }
    if (s || (s = check_regime(j)) || (s = epiqp_members_summary(j)) || (s = epiqp_combine(j)) ||
        (s = epiqp_predictive_check(j))) {
        return s;
    }
    epiqp_sweep_split(j);
    r->iterations = j->fit.ridge.worst.iterations;
    r->residual = j->fit.ridge.worst.residual;
    s = epiqp_keep_rest(j);
    return s ? s : epiqp_advise(j);
}

int epiq_estimate(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o, epiq_result **out)
{
    epiqp_clear(c);
    int s = epiqp_estimate(c, data, at, o, &(epiqp_more){.may_finish = true, .predictive = true}, out);
    epiqp_go_on(c);
    return s;
}

int epiqp_estimate(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                   const epiqp_more *more, epiq_result **out)
{
    *out = NULL;
    int s = epiqp_options_check(c, o);
    if (!s && (at->data != data || at->count < 1)) {
        s = epiqp_fail(c, EPIQ_E_DATA, "there is no point to estimate at; add one made for these rows");
    }
    epiqp_answer *answer = s ? NULL : epiqp_alloc(c, 1, sizeof *answer);
    if (!answer) {
        return epiq_ctx_agree(c, s ? s : EPIQ_E_NOMEM);
    }
    *answer = (epiqp_answer){.warnings = {.arena = &answer->arena}};
    epiqp_job j = {.e = epiqp_run_begin(c, o),
                   .data = data,
                   .o = *o,
                   .engine = epiqp_engine_of(o),
                   .n = data->n,
                   .asked = at->count,
                   .points = at->count,
                   .where = at,
                   .more = more,
                   .remedy = &TRAIN,
                   .answer = answer,
                   .warnings = &answer->warnings};
    for (ptrdiff_t k = 0; !s && k < data->warnings.count; k++) {
        s = epiqp_warn(c, j.warnings, data->warnings.list[k].code, "%s", data->warnings.list[k].message);
    }
    s = s ? s : run(&j);
    s = s || !more->then ? s : more->then(&j, more->user);
    s = epiq_ctx_agree(c, s); /* others may still be at work, and hear of it there */
    epiqp_state_close(j.state);
    epiqp_fit_free(c, &j.fit);
    epiqp_arena_free(c, &j.scratch);
    epiqp_run_end();
    answer->result.points = answer->points;
    answer->result.point_count = more->only_foresee ? 0 : at->count;
    answer->result.warnings = answer->warnings.list;
    answer->result.warning_count = answer->warnings.count;
    if (s) {
        epiq_result_free(c, &answer->result);
        return s;
    }
    *out = &answer->result;
    return j.finished ? EPIQ_PARTIAL : EPIQ_OK;
}

void epiq_result_free(epiq_ctx *c, epiq_result *r)
{
    if (r) {
        epiqp_answer *answer = (epiqp_answer *)r;
        epiqp_arena_free(c, &answer->arena);
        epiqp_free(c, answer);
    }
}

int epiq_kernel(epiq_ctx *c, const epiq_data *data, const epiq_options *o, double *ntk, double *nngp)
{
    epiqp_clear(c);
    int s = epiqp_options_check(c, o);
    epiqp_rows rows = {0};
    if (s || (s = epiqp_rows_new(c, data->n, data->d, data->x, &rows))) {
        return s;
    }
    epiqp_env e = epiqp_run_begin(c, o);
    epiqp_net net = epiqp_net_of(o, data->d);
    epiqp_arch arch = epiqp_arch_of(&net);
    epiqp_kernel_cross(&e, &arch, &rows, &rows, ntk, nngp);
    epiqp_run_end();
    epiqp_rows_free(c, &rows);
    epiqp_go_on(c);
    return EPIQ_OK;
}
