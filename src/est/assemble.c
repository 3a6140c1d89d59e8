/* assemble.c - the answer, from what the estimators found: both parts at each point and their sums, in units of the target, and
 * warnings about what had to be withheld (docs/method.md section 3). Nothing else writes the points of a result.
 */
#include "est/assemble.h"
#include "common/rounded.h"
#include "common/student.h"

#include "est/variance.h"

#include <float.h>
#include <math.h>
#include <string.h>

int epiqp_findings_room(const epiqp_problem *pb, epiqp_findings *found)
{
    epiq_part **parts[] = {&found->ev.part, &found->ba.part, &found->closed};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        if (!(*parts[k] = epiqp_room(pb, pb->points, sizeof **parts[k]))) return EPIQ_E_NOMEM;
    }
    found->ev.mean = epiqp_room(pb, pb->points, sizeof *found->ev.mean);
    found->prediction = epiqp_room(pb, pb->points, sizeof *found->prediction);
    return found->ev.mean && found->prediction ? epiqp_if_room(pb, &found->influence) : EPIQ_E_NOMEM;
}

/* ---- predictions ---- */

/* The mean of the networks, or kernel regression's where there are none. */
static double prediction_of(const epiqp_problem *pb, const epiqp_findings *f, ptrdiff_t p)
{
    const double *given = f->ev.h ? f->ev.mean : f->influence.prediction ? f->influence.prediction : f->kernel;
    return given ? given[p] : f->ba.h ? epiqp_mean_of(f->ba.h + p, f->ba.batches, pb->points) : 0;
}

static int too_large(const epiqp_problem *pb, ptrdiff_t p)
{
    return epiqp_fail(pb->e.c, EPIQ_E_NUMERIC,
                      "the prediction at %s is too large for a double in units of the target; check the point's units, "
                      "or express the target in others",
                      pb->name[p]);
}

/* Predictions h (count by points) of some networks, point by point, in target units: points by count. */
static int list_predictions(const epiqp_problem *pb, ptrdiff_t count, const double *h, const double **out)
{
    double *all = epiqp_arena_alloc(pb->e.c, pb->lasting, count * pb->points, sizeof *all);
    if (!all) return EPIQ_E_NOMEM;
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        for (ptrdiff_t k = 0; k < count; k++) {
            all[p * count + k] = pb->data->y_shift + pb->data->y_factor * h[k * pb->points + p];
            if (!isfinite(all[p * count + k])) return too_large(pb, p);
        }
    }
    *out = all;
    return EPIQ_OK;
}

static int write_predictions(const epiqp_problem *pb, const epiqp_findings *f, epiqp_answer *a)
{
    const double *members = NULL, *batches = NULL, *unseen = NULL, shift = pb->data->y_shift, unit = pb->data->y_factor;
    const ptrdiff_t starts = f->ev.unseen ? pb->plan->folds->starts : 0;
    int s = f->ev.h ? list_predictions(pb, f->ev.members, f->ev.h, &members) : EPIQ_OK;
    if (!s && starts) s = list_predictions(pb, starts, f->ev.unseen, &unseen);
    if (s || (f->ba.h && (s = list_predictions(pb, f->ba.batches, f->ba.h, &batches)))) return s;
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        epiq_point *out = &a->points[p];
        out->at = pb->name[p];
        out->prediction = shift + unit * f->prediction[p];
        out->kernel_prediction.known = f->kernel != NULL;
        out->kernel_prediction.value = f->kernel ? shift + unit * f->kernel[p] : 0;
        out->member_count = members ? f->ev.members : 0;
        out->members = members ? members + p * f->ev.members : NULL;
        out->batch_count = batches ? f->ba.batches : 0;
        out->batches = batches ? batches + p * f->ba.batches : NULL;
        if (pb->left_out && pb->left_out[p] >= 0) {
            out->left_out = pb->data->row[pb->left_out[p]];
            out->member_count = unseen ? starts : out->member_count;
            out->members = unseen ? unseen + p * starts : out->members;
        }
        if (!isfinite(out->prediction) || !isfinite(out->kernel_prediction.value)) return too_large(pb, p);
    }
    return EPIQ_OK;
}

/* ---- variances ---- */

/* What could not be given, to be counted and reported. */
typedef struct {
    ptrdiff_t negative, lost, apart, first_apart; /* apart: BA and the other two */
    ptrdiff_t narrow, first_narrow;               /* data variances that rest on a row or two */
    ptrdiff_t outside, first_outside;             /* points outside the data */
    double raw;                                   /* the first negative difference */
} withheld;

static epiq_part in_units(epiq_part part, double unit2, withheld *w)
{
    epiq_part out = epiqp_in_units(part, unit2);
    w->lost += part.known && !out.known;
    return out;
}

/* BA as measured, and what corrected it. */
static void write_ba(epiq_part scaled, double phi, double unit2, epiq_point *out, withheld *w)
{
    const epiq_part measured = in_units(scaled, unit2, w);
    out->ba.part = measured.known ? epiqp_in_units(epiqp_ba_corrected(scaled, phi), unit2) : measured;
    out->ba.uncorrected = measured.variance;
    out->ba.corrected = out->ba.part.known && phi > 0;
    out->ba.factor = out->ba.corrected ? phi : 1;
}

/* BA against the sum of the two parts, where all three are measured. */
static void write_check(const epiqp_split *both, bool measured, epiq_part ba, double m, double unit2, ptrdiff_t p,
                        epiq_point *out, withheld *w)
{
    const double sum = both->data.variance + both->procedural.variance / m;
    const epiq_part one = in_units(ba, unit2, w),
                    other = in_units((epiq_part){.known = measured && ba.known, .variance = sum}, unit2, w);
    if (one.known && other.known) {
        out->check.known = 1;
        out->check.inside = ba.has_interval ? sum >= ba.lo && (ba.open || sum <= ba.hi) : sum == ba.variance;
        out->check.ba = one.variance;
        out->check.if_plus_ev = other.variance;
        w->first_apart = out->check.inside || w->apart ? w->first_apart : p;
        w->apart += !out->check.inside;
    }
}

static void write_variances(const epiqp_problem *pb, const epiqp_findings *f, ptrdiff_t p, epiq_point *out,
                            struct epiq_corrected *corrected, withheld *w)
{
    const epiqp_plan *plan = pb->plan;
    const epiq_options *o = &plan->ran;
    const double unit2 = pb->data->y_factor * pb->data->y_factor, m = (double)o->batches,
                 phi = f->ba.phi ? f->ba.phi[p] : 0;
    const bool left_out = pb->left_out && pb->left_out[p] >= 0;
    /* a row that is left out is in one of the batches */
    const epiq_part measured = f->ba.part && !left_out ? f->ba.part[p] : (epiq_part){0},
                    ba = epiqp_ba_corrected(measured, phi);
    epiq_part data = epiqp_data_part(f, p);
    data.method = !data.known && plan->influence == EPIQP_IF_SUBSET ? EPIQ_BY_RETRAIN : data.method;
    const epiqp_split both = epiqp_split_of(plan->closed_is_procedural ? f->closed[p] : f->ev.part[p], data, ba, m);
    if (both.negative < 0) w->raw = w->negative++ ? w->raw : both.negative;
    out->procedural = in_units(both.procedural, unit2, w);
    out->data = in_units(both.data, unit2, w);
    w->lost += f->methods & EPIQ_IF && !data.known; /* even the scaled square was too large */
    w->lost += f->methods & EPIQ_EV && f->ev.h && !f->ev.part[p].known;
    const bool without_rows = out->data.method == EPIQ_BY_RETRAIN && !pb->engine;
    /* of rows left out all together are the answer, not each */
    if (out->data.has_interval && out->data.df < EPIQP_NARROW && !without_rows && !left_out) {
        w->first_narrow = w->narrow++ ? w->first_narrow : p;
    }
    out->single = in_units(epiqp_sum_of(both.data, both.procedural, 1, o->level, both.method), unit2, w);
    out->ensemble = in_units(epiqp_ensemble_of(&both, ba, o), unit2, w);
    epiq_part of_prediction = f->ba.h && !f->influence.prediction && !f->kernel ? ba : both.data,
              of_all = of_prediction;
    if (f->ev.h) {
        const double all = (double)f->ev.members,
                     networks = left_out && f->ev.unseen ? (double)plan->folds->starts : all;
        of_prediction = epiqp_sum_of(both.data, both.procedural, networks, o->level, both.method);
        of_all = epiqp_sum_of(both.data, both.procedural, all, o->level, both.method);
    }
    out->prediction_variance = in_units(of_prediction, unit2, w);
    out->full_variance = epiqp_in_units(of_all, unit2);
    out->corrected = corrected;
    out->influential = epiqp_empty_list;
    for (int how = 0; f->influence.corrected && how < EPIQ_CORRECTIONS; how++) {
        corrected->by[how] = in_units(f->influence.corrected[p * EPIQ_CORRECTIONS + how], unit2, w);
    }
    out->infinite = in_units(f->closed[p], unit2, w);
    write_ba(measured, phi, unit2, out, w);
    write_check(&both, data.known && f->ev.part[p].known, ba, m, unit2, p, out, w);
}

/* ---- what comes with leverages and retraining ---- */

static int write_influential(const epiqp_problem *pb, const epiqp_if_findings *f, ptrdiff_t p, epiq_point *out,
                             withheld *w)
{
    const epiq_influence *rows = f->influential + p * f->influential_room;
    ptrdiff_t count = f->influential_count[p];
    for (ptrdiff_t i = 0; i < count; i++) {
        if (isfinite(rows[i].influence)) continue;
        count = 0;
        w->lost++;
    }
    out->influential = epiqp_arena_list(pb->e.c, pb->lasting, rows, count, sizeof *rows);
    out->influential_count = count;
    return out->influential ? EPIQ_OK : EPIQ_E_NOMEM;
}

static void write_predictive(const epiqp_problem *pb, epiqp_interval scaled, double noise_variance, epiq_point *out)
{
    double lo = pb->data->y_shift + pb->data->y_factor * scaled.lo,
           hi = pb->data->y_shift + pb->data->y_factor * scaled.hi;
    if (lo > hi) { /* at low levels the interval may be empty: then its middle */
        lo = hi = lo / 2 + hi / 2;
    }
    out->predictive.known = fabs(lo) <= DBL_MAX && fabs(hi) <= DBL_MAX;
    if (out->predictive.known) {
        out->predictive.lo = lo;
        out->predictive.hi = hi;
        out->predictive.noise = noise_variance;
    }
}

static int write_loo(const epiqp_problem *pb, const epiqp_loo *l, epiqp_answer *r)
{
    const ptrdiff_t n = pb->n;
    const double unit = pb->data->y_factor, shift = pb->data->y_shift, noise_sd = l->noise_sd * unit;
    if (!l->known) return EPIQ_OK;
    double loo2 = epiqp_dot(n, l->left_out, l->left_out), spread = epiqp_variance(pb->data->y, n) * (double)(n - 1);
    r->fit.known = r->fit.kernel_known = 1;
    r->fit.by_group = l->by_group;
    r->fit.has_r2 = spread > 0 && isfinite(loo2 / spread);
    r->fit.rmse = r->fit.kernel_rmse = unit * sqrt(loo2 / (double)n);
    r->fit.r2 = r->fit.kernel_r2 = r->fit.has_r2 ? 1 - loo2 / spread : 0;
    r->fit.noise_variance = r->fit.kernel_noise_variance = noise_sd * noise_sd;
    if (!l->wider) return EPIQ_OK;
    double *observed = epiqp_arena_alloc(pb->e.c, pb->lasting, 3 * n, sizeof *observed);
    if (!observed) return EPIQ_E_NOMEM;
    double *loo = observed + n, *loo_sd = loo + n;
    for (ptrdiff_t i = 0; i < n; i++) {
        observed[i] = shift + unit * pb->data->y[i];
        loo[i] = shift + unit * (pb->data->y[i] - l->left_out[i]);
        loo_sd[i] = noise_sd * l->wider[i];
    }
    r->fit.observed = observed;
    r->fit.loo = loo;
    r->fit.loo_sd = loo_sd;
    return EPIQ_OK;
}

static const double CLEARLY = 0.9545; /* level at which R2 is above 0: of a normal, 2 standard errors */

/* Whether the rows do not show that the networks have learned something. A standard error from few of them is little known, and
 * the mean of y and R2 are taken from them as well: two rows tell nothing. */
static bool lacks_skill(double r2, double se, ptrdiff_t groups)
{
    return groups <= 2 || r2 <= epiqp_student_quantile((double)(groups - 2), CLEARLY) * se;
}

/* y, and what networks that have not seen each row predict. */
static int write_unseen_rows(const epiqp_problem *pb, const epiqp_fold_findings *folds, epiq_fit_error *out)
{
    const ptrdiff_t n = pb->n;
    double *y = epiqp_arena_alloc(pb->e.c, pb->lasting, 2 * n, sizeof *y), *unseen = y ? y + n : NULL;
    if (!y) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; i < n; i++) {
        y[i] = pb->data->y_shift + pb->data->y_factor * pb->data->y[i];
        unseen[i] = pb->data->y_shift + pb->data->y_factor * folds->mean[i];
    }
    out->y = y;
    out->unseen = unseen;
    return EPIQ_OK;
}

/* What rows that networks have not seen tell. *lost: some of it is no double in these units. */
static int write_unseen(const epiqp_problem *pb, const epiqp_fold_findings *folds, const epiqp_unseen *u,
                        epiqp_answer *r, bool *lost)
{
    const ptrdiff_t n = pb->n;
    const double unit = pb->data->y_factor, spread = epiqp_variance(pb->data->y, n) * (double)(n - 1),
                 noise = u->spread.law.noise_sd * unit * (u->spread.law.noise_sd * unit), rmse = unit * sqrt(u->error2);
    if (!u->known) return EPIQ_OK;
    if (!(noise <= DBL_MAX && rmse <= DBL_MAX) || (u->spread.law.noise_sd > 0 && noise < DBL_MIN)) {
        *lost = true;
        return EPIQ_OK;
    }
    r->fit.known = 1;
    r->fit.noise_variance = fmin(noise, rmse * rmse);
    r->fit.folds = u->folds;
    r->fit.by_group = epiqp_has_groups(pb);
    r->fit.has_r2 = spread > 0 && isfinite(u->error2 * (double)n / spread); /* y may hardly vary */
    r->fit.rmse = rmse;
    r->fit.r2 = r->fit.has_r2 ? 1 - u->error2 * (double)n / spread : 0;
    r->fit.r2_se = isfinite(u->r2_se) ? u->r2_se : 0;
    r->fit.twice = u->twice;
    r->fit.no_skill = r->fit.has_r2 && lacks_skill(r->fit.r2, r->fit.r2_se, pb->data->groups);
    return u->folds ? write_unseen_rows(pb, folds, &r->fit) : EPIQ_OK;
}

/* What the errors of rows near each point leave of the data part that retraining found. near: of points that are no rows. */
static void trust_data(const epiqp_problem *pb, epiqp_findings *f, epiqp_nearby *near)
{
    const epiqp_spread *s = &f->unseen.spread;
#pragma omp parallel for num_threads(pb->e.threads) if (pb->n * pb->points > EPIQP_MANY_PAIRS)
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        const bool row = pb->left_out && pb->left_out[p] >= 0;
        if (!row) near[p] = epiqp_spread_look(s, pb->at_table + p * pb->table->d, f->prediction[p]);
        if (!f->retrain.known) continue;
        const epiqp_nearby *here = row ? &s->of_row[pb->left_out[p]] : &near[p];
        epiq_part *part = &f->retrain.part[p];
        f->retrain.kappa[p] *= epiqp_spread_trust(here);
        *part = epiqp_spread_trusted(here, *part, pb->plan->ran.level);
    }
}

/* The interval of a new observation, around the prediction given; withheld outside the data. near: unless it is a row. */
static void write_observation(const epiqp_problem *pb, const epiqp_unseen *u, const epiqp_nearby *near,
                              double prediction, ptrdiff_t p, epiq_point *out, withheld *w)
{
    const double unit = pb->data->y_factor, *x = pb->at_table + p * pb->table->d;
    if (!out->prediction_variance.known) return;
    const double variance = out->prediction_variance.variance / unit / unit, networks = u->spread.law.networks,
                 of_few =
                     networks > 0 ? (out->data.variance + out->procedural.variance / networks) / unit / unit : variance;
    const bool row = pb->left_out && pb->left_out[p] >= 0;
    const epiqp_spread_place here = row ? epiqp_spread_at_row(&u->spread, pb->left_out[p], variance)
                                        : epiqp_spread_at(&u->spread, x, near, variance, of_few);
    const double half = u->factor * here.sd * unit, noise = here.noise_sd * unit * (here.noise_sd * unit);
    u->is_outside[p] = here.outside;
    if (here.outside) {
        if (!row) w->first_outside = w->outside++ ? w->first_outside : p;
        return;
    }
    const double centre = pb->data->y_shift + unit * prediction;
    if (!u->enough || !here.known || !(fabs(centre) + half <= DBL_MAX) || !(noise <= DBL_MAX)) return;
    out->predictive = (epiq_predictive){.known = 1, .lo = centre - half, .hi = centre + half, .noise = noise};
}

/* With retraining, the noise of the answer is that which the networks leave. *lost: it is no double in these units. */
static int write_retrain(const epiqp_problem *pb, const epiqp_retrain_findings *f, epiqp_answer *r, bool *lost)
{
    const double unit = pb->data->y_factor, noise = f->noise_variance * unit * unit;
    r->retrain.known = f->known;
    r->retrain.replicates = f->replicates;
    r->retrain.starts = f->starts;
    r->retrain.networks = f->networks;
    r->retrain.step = f->followed.step * unit;
    r->retrain.reason = f->reason;
    *lost = f->known && (!(noise <= DBL_MAX) || (f->noise_variance > 0 && noise < DBL_MIN));
    r->retrain.noise_variance = *lost ? 0 : noise;
    if (!f->known) return EPIQ_OK;
    r->retrain.left_out_rmse = unit * sqrt(f->error2);
    if (pb->plan->influence != EPIQP_IF_SUBSET) { /* there kappa is against another kernel than that of all rows */
        r->retrain.kappa = f->followed.left_out.kappa;
        r->retrain.kappa_se = f->kappa_se;
    }
    r->fit.noise_variance = r->fit.known && pb->engine && !*lost ? noise : r->fit.noise_variance;
    if (f->reason || !pb->engine) return EPIQ_OK;
    r->retrain.reason =
        epiqp_arena_sentence(pb->e.c, pb->lasting,
                             "networks of finite width follow the data more or less than infinitely wide ones: how "
                             "much is measured on %td networks, trained without a fifth of the rows and again on "
                             "changed targets",
                             f->networks);
    return r->retrain.reason ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* ---- warnings ---- */

static int warn_of_check(const epiqp_problem *pb, const withheld *w, const epiqp_answer *a)
{
    const epiq_options *o = &pb->plan->ran;
    const bool by_chance = !((double)w->apart > 2 * (1 - o->level) * (double)pb->asked);
    if (by_chance) return EPIQ_OK;
    const epiq_point *first = &a->points[w->first_apart];
    return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_CHECK,
                      "at %td of %td points BA and %s + EV/%td differ by more than BA's interval allows (first: %s, "
                      "%s and %s): batches too small, networks too narrow, or bad luck",
                      w->apart, pb->asked, first->data.method == EPIQ_BY_RETRAIN ? "retraining" : "IF", o->batches,
                      first->at, epiqp_rounded_to(first->check.ba, 3).text,
                      epiqp_rounded_to(first->check.if_plus_ev, 3).text);
}

static int warn_of_ba(const epiqp_problem *pb, const epiqp_findings *f)
{
    const epiq_options *o = &pb->plan->ran;
    const int direct = EPIQ_IF | EPIQ_EV, methods = f->methods;
    if (pb->engine && methods & EPIQ_BA && !f->ba.phi && (methods & direct) != direct) {
        int s = epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_BA_UNCORRECTED,
                           "what small batches add to the spread of their networks is not taken out here, as that "
                           "takes the kernel of all rows, so that BA, and a part made of it, tends to be too large; %s",
                           methods & EPIQ_IF   ? "add ev to {--methods}"
                           : methods & EPIQ_EV ? "add if to {--methods}"
                                               : "use {--methods} if,ev");
        if (s) return s;
    }
    if (methods != EPIQ_BA || o->ensemble_size == o->batches) return EPIQ_OK;
    return epiqp_warn(
        pb->e.c, pb->warnings, EPIQ_W_ENSEMBLE_SIZE,
        "BA alone tells the variance of an ensemble of %td only, as many as there are batches; %s for one "
        "of %td",
        o->batches, pb->plan->hints->other_size, o->ensemble_size);
}

/* Points whose prediction is outside the interval of a new observation. */
static int warn_of_predictive(const epiqp_problem *pb, const epiqp_answer *a)
{
    ptrdiff_t outside = 0, first = 0;
    for (ptrdiff_t p = 0; p < pb->asked; p++) {
        const epiq_point *point = &a->points[p];
        bool inside = point->prediction >= point->predictive.lo && point->prediction <= point->predictive.hi;
        if (point->predictive.known && !inside && !outside++) first = p;
    }
    if (!outside) return EPIQ_OK;
    const epiq_point *point = &a->points[first];
    return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_OFF_CENTRE,
                      "at %td of %td points the prediction lies outside its prediction interval (first: %s, %.6g and "
                      "[%.6g, %.6g]), which is built on kernel regression: the networks are far from it there; %s",
                      outside, pb->asked, pb->name[first], point->prediction, point->predictive.lo,
                      point->predictive.hi, pb->plan->hints->far_from_kernel);
}

/* The networks are of no use, or points lie where their errors say nothing. */
static int warn_of_fit(const epiqp_problem *pb, const withheld *w, const epiqp_answer *a)
{
    int s = EPIQ_OK;
    if (pb->plan->wants_predictive && a->fit.known && a->fit.no_skill) {
        s = epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_NO_SKILL,
                       "on rows they have not seen, the networks predict no better than the mean of the target, as far "
                       "as %td rows "
                       "can tell (R2 %.2g +- %.2g): the numbers here say how well a useless prediction is known; try "
                       "other features, or more "
                       "rows",
                       pb->n, a->fit.r2, a->fit.r2_se);
    }
    if (s || !w->outside || epiqp_warned(pb->warnings, EPIQ_W_OUTSIDE_RANGE)) return s; /* which says so */
    return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_OUTSIDE_DATA,
                      "%td of %td points lie outside the data (first: %s): each feature is within its range, but no "
                      "row is near in all "
                      "of them, so that the errors of rows say nothing there and no prediction interval is given",
                      w->outside, pb->asked, pb->name[w->first_outside]);
}

/* Rows by their number, which are not left out: their labels begin with "row:", as no others do. */
static int note_training_rows(const epiqp_problem *pb)
{
    ptrdiff_t rows = 0, first = 0;
    for (ptrdiff_t p = 0; p < pb->asked; p++) {
        const bool row = strncmp(pb->name[p], "row:", 4) == 0 && !(pb->left_out && pb->left_out[p] >= 0);
        if (row && !rows++) first = p;
    }
    if (!rows || !pb->engine || !pb->plan->wants_predictive) return EPIQ_OK;
    const char *row = pb->name[first] + 4;
    return rows == 1 ? epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_TRAINING_ROWS,
                                  "row %s is one of the rows that these networks were trained on; {--at} rows asks "
                                  "networks that have not seen it",
                                  row)
                     : epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_TRAINING_ROWS,
                                  "%td of %td points (first: row %s) are rows that these networks were trained on; "
                                  "{--at} rows asks networks that have not seen them",
                                  rows, pb->asked, row);
}

static int warn(const epiqp_problem *pb, const epiqp_findings *f, const withheld *w, bool lost, const epiqp_answer *a)
{
    const bool influence = f->methods & EPIQ_IF;
    int s = EPIQ_OK;
    if (w->negative) {
        s = epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_NEGATIVE_DIFFERENCE,
                       "the %s variance came out as a negative difference at %td of %td points (the first: %.4g), so "
                       "it is withheld; measure it directly %s",
                       influence ? "procedural" : "data", w->negative, pb->asked,
                       fmax(pb->data->y_factor * pb->data->y_factor * w->raw, -DBL_MAX),
                       influence ? pb->plan->hints->procedural : pb->plan->hints->data);
    }
    if (!s && (w->lost || lost)) {
        s = epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_OUT_OF_RANGE,
                       "some numbers are too large or too small for a double in units, or squared units of the target, "
                       "so they are withheld; express the target in other units");
    }
    if (!s && w->narrow) {
        const epiq_point *first = &a->points[w->first_narrow];
        s = epiqp_warn(
            pb->e.c, pb->warnings, EPIQ_W_FEW_ROWS_DECIDE,
            "at %td of %td points the data variance rests on one or two rows (first: %s, %.2g degrees of freedom), so "
            "its interval is very wide, or has no upper end; points at training rows are often so",
            w->narrow, pb->asked, first->at, first->data.df);
    }
    if (s || (s = note_training_rows(pb)) || (s = warn_of_check(pb, w, a)) || (s = warn_of_ba(pb, f)) ||
        (s = warn_of_predictive(pb, a))) {
        return s;
    }
    return warn_of_fit(pb, w, a);
}

/* The plan's options with what the run made of them: methods that are done, networks there are, whether by retraining. */
static epiq_options options_found(const epiqp_plan *plan, const epiqp_findings *f)
{
    epiq_options o = plan->ran;
    o.methods = f->methods;
    o.members = plan->members ? f->ev.members : o.members;
    o.data_by = plan->retrained && !f->retrain.part ? EPIQ_DATA_BY_IF : o.data_by;
    return o;
}

int epiqp_assemble(const epiqp_problem *pb, epiqp_findings *f, epiqp_answer *a)
{
    const epiqp_if_findings *influence = &f->influence;
    struct epiq_corrected *corrected = epiqp_arena_alloc(pb->e.c, pb->lasting, pb->points, sizeof *corrected);
    withheld asked = {0}, swept = {0}; /* warnings are about the points asked for */
    bool lost = false;
    if (!(a->points = epiqp_arena_alloc(pb->e.c, pb->lasting, pb->points, sizeof *a->points)) || !corrected) {
        return EPIQ_E_NOMEM;
    }
    epiqp_unseen *unseen = &f->unseen;
    int s = write_loo(pb, &influence->loo, a);
    if (s || (s = write_retrain(pb, &f->retrain, a, &lost)) || (s = epiqp_unseen_new(pb, f, unseen))) return s;
    if ((s = write_unseen(pb, &f->folds, unseen, a, &lost))) return s;
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        f->prediction[p] = prediction_of(pb, f, p);
    }
    epiqp_nearby *near = epiqp_room(pb, unseen->known ? pb->points : 0, sizeof *near);
    if (!near) return EPIQ_E_NOMEM;
    if (unseen->known) {
        if (!(unseen->is_outside = epiqp_room(pb, pb->points, sizeof *unseen->is_outside))) return EPIQ_E_NOMEM;
        trust_data(pb, f, near);
    }
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        epiq_point *out = &a->points[p];
        withheld *w = p < pb->asked ? &asked : &swept;
        write_variances(pb, f, p, out, &corrected[p], w);
        out->probe_error = influence->probe_error ? influence->probe_error[p] : 0;
        out->kappa = f->retrain.kappa ? f->retrain.kappa[p] : 0;
        if (unseen->known) {
            write_observation(pb, unseen, &near[p], f->prediction[p], p, out, w);
        } else if (influence->predictive) {
            write_predictive(pb, influence->predictive[p], a->fit.noise_variance, out);
        }
        if (influence->influential_room && p < pb->asked && (s = write_influential(pb, influence, p, out, w))) {
            return s;
        }
    }
    unseen->outside = asked.outside;
    epiqp_write_confidence(pb, f, a->points);
    if ((s = write_predictions(pb, f, a))) return s;
    const epiqp_trainings *t = &f->training;
    a->training = (epiq_training){.members = t->count,
                                  .converged = t->converged,
                                  .loss_max = t->loss_max,
                                  .gradient_rel_max = t->gradient_rel_max,
                                  .iterations_median = t->count ? (ptrdiff_t)epiqp_median(t->iterations, t->count) : 0,
                                  .resumed = t->resumed,
                                  .in_double = t->in_double,
                                  .split = t->split};
    a->ran = options_found(pb->plan, f);
    a->solve = (epiq_solve_info){.probes = influence->probes,
                                 .open_prediction = influence->open.prediction,
                                 .open_data = influence->open.data,
                                 .open_procedural = influence->open.procedural};
    return warn(pb, f, &asked, lost || influence->loo.out_of_range, a);
}

int epiqp_check_training(const epiqp_problem *pb, const epiqp_trainings *t)
{
    const ptrdiff_t open = t->count - t->converged;
    if (!open) return EPIQ_OK;
    if (epiqp_stops(&pb->plan->ran)) {
        return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_STOPPED_EARLY,
                          "%td of %td networks were still improving after %td steps, as {--steps} asked; their "
                          "variance is that of training stopped there, and where much is left to learn the data part, "
                          "which is scaled from that of the minimum, may be far too small",
                          open, t->count, pb->plan->ran.steps);
    }
    if (open == t->count) {
        return epiqp_fail(pb->e.c, EPIQ_E_NUMERIC,
                          "none of the %td networks converged within %td iterations; allow more {--steps}", open,
                          (ptrdiff_t)epiqp_median(t->iterations, t->count));
    }
    return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_UNCONVERGED,
                      "%td of %td networks did not converge; allow more {--steps}", open, t->count);
}
