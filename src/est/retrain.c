/* retrain.c - the data part of the networks that are really trained (docs/method.md section 3). Networks that have not seen a
 * fold of the rows give left-out errors; trained again from the same starts on targets moved by +step and -step times random
 * signs, they show how far their predictions follow the targets. The data variance at a point is kappa rho times IF's, with
 * kappa how much the networks follow the data, in variance, against kernel regression (reference.c, ols.c, response.c), and rho
 * the noise that they leave over that which kernel regression leaves, both from left-out errors.
 */
#include "est/if.h"
#include "est/variance.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { STARTS = EPIQP_STARTS };
static const double STEP = 0.8; /* of the left-out errors' variance: about the noise, which is not known yet */
/* What kappa differs by from point to point beyond what is measured, as a relative variance; and where nothing is measured
 * at the points, or a part of the rows tells how the data part varies over x as if the noise were equal. */
static const double ELSEWHERE = 0.01, ROUGHLY = 0.1;
static const double UNLIKE = 0.04; /* variance of log rho over tables: the measured one is shrunk as far as it varies */
static const double LEAST = 1.0 / 32; /* of the noise: a row's noise is taken to be at least this */
static const double FLOOR = 0.05;     /* of the left-out errors: noise can hardly be less, and kappa hardly be 0 */

/* Sums over rows left out. */
typedef struct {
    double rows, error2, between, expected; /* errors of the mean network, squared; variance between networks */
    double kernel2;                         /* errors of kernel regression, squared; 0: unknown */
} left_out;

/* One retraining: targets moved by sign times the steps, and two networks' predictions, stored as the fold's. */
typedef struct {
    epiqp_fit fit; /* its fold's, with other targets */
    double *y;
    double *at, *fitted;
} moved;

typedef struct {
    const epiqp_problem *pb;
    const epiqp_folds *t; /* the plan's */
    const epiqp_maker *maker;
    const epiqp_reference *ref;
    const epiqp_fold *folds;
    left_out *sums; /* of each fold */
    moved *moved;   /* two for each replicate: plus and minus */
    double step;
} retraining;

/* ---- networks trained again ---- */

/* Targets of retraining k, and room for the predictions of its networks. */
static int moved_new(const retraining *w, const epiqp_fold *f, ptrdiff_t k, moved *m)
{
    const ptrdiff_t n = w->pb->n;
    m->y = epiqp_room(w->pb, f->n + STARTS * (f->asked + f->n), sizeof *m->y);
    if (!m->y) return EPIQ_E_NOMEM;
    m->at = m->y + f->n;
    m->fitted = m->at + STARTS * f->asked;
    for (ptrdiff_t i = 0; i < f->n; i++) {
        double to = w->step * w->t->sign[k / 2 * n + f->row[i]] * w->ref->size[f->row[i]];
        m->y[i] = f->centre[i] + (k % 2 ? -to : to);
    }
    m->fit = f->fit;
    m->fit.y = m->y;
    return EPIQ_OK;
}

static int retrain(const retraining *w, epiqp_kept *weights)
{
    const epiqp_plan *plan = w->pb->plan;
    const ptrdiff_t count = 2 * w->t->replicates;
    epiqp_assignment *list = epiqp_room(w->pb, count * STARTS, sizeof *list);
    int s = list ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t k = 0; !s && k < count; k++) {
        const ptrdiff_t number = k / 2 % w->t->count;
        const epiqp_fold *f = &w->folds[number];
        moved *m = &w->moved[k];
        if ((s = moved_new(w, f, k, m))) return s;
        for (ptrdiff_t start = 0; start < STARTS; start++) {
            list[k * STARTS + start] = (epiqp_assignment){
                .fit = &m->fit,
                .draw = epiqp_fold_draw(w->pb, number, start),
                .kind = EPIQP_FOR_RETRAINED,
                .index = k * STARTS + start,
                .of = epiqp_member_sum(f->n, m->y),
                .at = m->at + start * f->asked,
                .rows = m->fitted + start * f->n,
            };
        }
    }
    if (!s && plan->keep && plan->answers_at_points) {
        s = epiqp_members_keep(w->maker, plan->keep, w->pb->n, count * STARTS, list, weights);
    }
    return s ? s : epiqp_members_run(w->maker, "retrained", count * STARTS, list);
}

/* ---- sums over rows ---- */

static left_out left_out_of(const retraining *w, ptrdiff_t number)
{
    const epiqp_fold *f = &w->folds[number];
    const epiqp_reference *ref = w->ref;
    left_out e = {.rows = (double)f->out};
    for (ptrdiff_t k = 0; k < f->out; k++) {
        const ptrdiff_t i = w->t->rows.rows[w->t->rows.start[number] + k];
        double h[STARTS], mean = 0;
        for (int s = 0; s < STARTS; s++) {
            h[s] = f->at[s * f->asked + k];
            mean += h[s] / STARTS;
        }
        e.error2 += (w->pb->data->y[i] - mean) * (w->pb->data->y[i] - mean);
        e.between += epiqp_variance(h, STARTS);
        e.expected += ref->expected[i];
        e.kernel2 += ref->error[i] * ref->error[i];
    }
    return e;
}

static left_out all_but(const retraining *w, ptrdiff_t skip)
{
    left_out sum = {0};
    for (ptrdiff_t f = 0; f < w->t->count; f++) {
        const left_out *of = &w->sums[f];
        if (f != skip) {
            sum.rows += of->rows;
            sum.error2 += of->error2;
            sum.between += of->between;
            sum.expected += of->expected;
            sum.kernel2 += of->kernel2;
        }
    }
    return sum;
}

/* The mean squared error without what the networks themselves vary by: noise, and the data part of networks trained on fewer
 * rows. */
static double settled(const left_out *e)
{
    return fmax(e->error2 - e->between / STARTS, FLOOR * e->error2) / e->rows;
}

/* Over the rows that replicate r leaves out, and those it trains on. Without the kernel's answers their expected squares
 * replace them, and nothing is known of rows trained on. */
typedef struct {
    epiqp_response left_out, trained_on;
} responses;

/* At row i; plus and minus: predictions of the networks there, stride apart from start to start. */
static void add_answers(const retraining *w, ptrdiff_t r, ptrdiff_t i, const double *plus, const double *minus,
                        ptrdiff_t stride, epiqp_response *sum)
{
    const epiqp_reference *ref = w->ref;
    epiqp_answers a = epiqp_answers_of(plus, minus, stride, w->step);
    a.kernel = ref->response ? ref->response[r * w->pb->n + i] : 0;
    a.linear = ref->response ? epiqp_ols_at(&ref->ols, r, i) : 0;
    epiqp_response one = epiqp_response_of(&a);
    one.kernel = ref->response ? one.kernel : ref->expected[i];
    epiqp_response_add(sum, &one);
}

static responses responses_of(const retraining *w, ptrdiff_t r)
{
    const ptrdiff_t number = r % w->t->count, *rows = w->t->rows.rows + w->t->rows.start[number];
    const epiqp_fold *f = &w->folds[number];
    const moved *plus = &w->moved[2 * r], *minus = plus + 1;
    responses out = {0};
    for (ptrdiff_t k = 0; k < f->out; k++) {
        add_answers(w, r, rows[k], plus->at + k, minus->at + k, f->asked, &out.left_out);
    }
    for (ptrdiff_t k = 0; w->ref->response && k < f->n; k++) {
        add_answers(w, r, f->row[k], plus->fitted + k, minus->fitted + k, f->n, &out.trained_on);
    }
    return out;
}

/* ---- kappa and the noise ---- */

/* What is left of left-out errors `all` without the data part, kappa times expected. That is a variance where rows are in
 * groups, and one of noise 1 where they are not. */
static double noise_of(bool grouped, double all, double kappa, double expected)
{
    return grouped ? fmax(all - kappa * expected, FLOOR * all) : all / (1 + kappa * expected);
}

/* Noise variance by the rows trained on, without fold skip: residuals over what training leaves of a step, as IF has it from the
 * kernel matrix. Products of two starts hold neither's own part. Misfit counts as it is at these rows, and not as at rows never seen;
 * `most`, from those, is the most it can be. */
static double noise_trained_on(const retraining *w, ptrdiff_t skip, double most)
{
    double residuals = 0, left = 0;
    for (ptrdiff_t r = 0; r < w->t->replicates; r++) {
        const epiqp_fold *f = &w->folds[r % w->t->count];
        for (ptrdiff_t k = 0; r % w->t->count != skip && k < f->n; k++) {
            const double step = w->t->sign[r * w->pb->n + f->row[k]] * w->ref->size[f->row[k]];
            const epiqp_answers a =
                epiqp_answers_of(w->moved[2 * r].fitted + k, w->moved[2 * r + 1].fitted + k, f->n, w->step);
            residuals += (f->y[k] - f->fitted[k]) * (f->y[k] - f->fitted[f->n + k]);
            left += (step - a.start[0]) * (step - a.start[1]);
        }
    }
    return left > 0 ? fmin(most, fmax(residuals / left, FLOOR * most)) : most;
}

static epiqp_following follow(const epiqp_response *sum)
{
    epiqp_following f = epiqp_follow(sum);
    f.kappa = fmax(f.kappa, FLOOR);
    f.rest = fmax(f.rest, FLOOR);
    return f;
}

/* What networks follow and the noise they leave, without fold skip (< 0: with all). */
static epiqp_followed find(const retraining *w, const responses *of, ptrdiff_t skip)
{
    const left_out sum = all_but(w, skip);
    const bool grouped = epiqp_has_groups(w->pb);
    responses all = {0};
    for (ptrdiff_t r = 0; r < w->t->replicates; r++) {
        if (r % w->t->count != skip) {
            epiqp_response_add(&all.left_out, &of[r].left_out);
            epiqp_response_add(&all.trained_on, &of[r].trained_on);
        }
    }
    epiqp_following out = follow(&all.left_out);
    const bool subset = w->pb->plan->influence == EPIQP_IF_SUBSET;
    double expected = sum.expected / sum.rows, networks = noise_of(grouped, settled(&sum), out.kappa, expected),
           kernel = subset ? w->ref->mean_noise : noise_of(grouped, sum.kernel2 / sum.rows, 1, expected);
    if (subset) networks = noise_trained_on(w, skip, networks);
    return (epiqp_followed){
        .left_out = out,
        .at_rows = all.trained_on.kernel > 0 ? follow(&all.trained_on) : out,
        .noise = kernel >= DBL_MIN && networks / kernel <= DBL_MAX ? networks / kernel : 1,
    };
}

/* The jackknife's variance over folds. */
static double over_folds(const double *of, ptrdiff_t folds)
{
    const double count = (double)folds;
    return (count - 1) / count * (count - 1) * epiqp_variance(of, folds);
}

/* From all folds, and from all but one at a time. *kappa_se: of kappa itself. */
static epiqp_followed find_all(const retraining *w, const responses *of, double *kappa_se)
{
    const ptrdiff_t folds = w->t->count;
    epiqp_followed all = find(w, of, -1);
    double kappa[EPIQP_MOST_FOLDS] = {0}, noise[EPIQP_MOST_FOLDS] = {0}, both[EPIQP_MOST_FOLDS] = {0};
    for (ptrdiff_t f = 0; f < folds; f++) {
        epiqp_followed one = find(w, of, f);
        kappa[f] = one.left_out.kappa;
        noise[f] = log(one.noise);
    }
    /* a part of the rows gives V for noise 1, and then noise is the variance itself */
    double weight = w->pb->plan->influence == EPIQP_IF_SUBSET ? 1 : UNLIKE / (UNLIKE + over_folds(noise, folds));
    for (ptrdiff_t f = 0; f < folds; f++) {
        both[f] = log(kappa[f]) + weight * noise[f];
    }
    all.noise = exp(weight * log(all.noise));
    all.spread = over_folds(both, folds) + (w->ref->response ? ELSEWHERE : ROUGHLY);
    *kappa_se = sqrt(over_folds(kappa, folds));
    if (all.left_out.kappa <= FLOOR) { /* the true value may be anything below */
        *kappa_se = fmax(*kappa_se, all.left_out.kappa);
    }
    return all;
}

/* ---- at the points ---- */

static int scale_points(const retraining *w, const epiq_part *influence, epiqp_retrain_findings *found)
{
    const epiqp_problem *pb = w->pb;
    const epiqp_steps steps = epiqp_steps_of(pb, w->t, w->ref);
    const bool subset = pb->plan->influence == EPIQP_IF_SUBSET; /* there kappa is against another kernel */
    epiqp_answers *here = epiqp_room(pb, steps.replicates, sizeof *here);
    found->kappa = epiqp_room(pb, pb->points, sizeof *found->kappa);
    if (!here || !found->kappa) return EPIQ_E_NOMEM;
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        for (ptrdiff_t r = 0; r < steps.replicates; r++) {
            const epiqp_fold *f = &w->folds[r % steps.folds];
            const ptrdiff_t at = f->out + p;
            here[r] = epiqp_answers_of(w->moved[2 * r].at + at, w->moved[2 * r + 1].at + at, f->asked, w->step);
        }
        const epiqp_expected *expected = w->ref->at ? &w->ref->at[p] : NULL;
        const ptrdiff_t without = pb->left_out ? pb->left_out[p] : -1;
        double kappa = epiqp_kappa_at(&found->followed, &steps, pb->at + p * pb->data->d, without, expected, here);
        found->part[p] = epiqp_retrained_part(&found->followed, kappa, expected, influence[p], pb->plan->ran.level);
        found->kappa[p] = subset ? 0 : kappa;
    }
    return EPIQ_OK;
}

/* What retraining cannot measure well: kappa from so few replicates, and a data part beside which the starts' is large. */
static int warn(const epiqp_problem *pb, const epiq_part *ev, const epiqp_retrain_findings *found)
{
    static const double UNSURE = 0.4, BESIDE = 20; /* of kappa; times the data part */
    const double kappa = found->followed.left_out.kappa, se = found->kappa_se;
    ptrdiff_t hidden = 0, first = 0;
    for (ptrdiff_t p = 0; p < pb->asked; p++) {
        const epiq_part *data = &found->part[p];
        const bool row = pb->left_out && pb->left_out[p] >= 0; /* there the rows together are the answer */
        if (!row && ev[p].known && data->known && ev[p].variance > BESIDE * data->variance && !hidden++) first = p;
    }
    if (se > UNSURE * kappa) {
        int s = epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_UNSURE_KAPPA,
                           "how much the networks follow the data is known to +- %.0f %% only, and so is the data "
                           "variance; more {--replicates} tell it better",
                           fmin(100 * se / kappa, 999));
        if (s) return s;
    }
    if (!hidden) return EPIQ_OK;
    return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_HIDDEN_BY_STARTS,
                      "at %td of %td points another random start moves the prediction far more than other rows would "
                      "(first: %s, %.0f times the variance): the data part there may be off by a factor of 2",
                      hidden, pb->asked, pb->name[first], fmin(ev[first].variance / found->part[first].variance, 1e6));
}

/* What the answer rests on where there is no kernel matrix of all rows. */
static int note_subset(const epiqp_problem *pb, const epiqp_retrain_findings *found)
{
    if (pb->plan->influence != EPIQP_IF_SUBSET) return EPIQ_OK;
    return epiqp_warn(
        pb->e.c, pb->warnings, EPIQ_W_SUBSET,
        "there is no kernel matrix of all %td rows: the size of the data variance is that of %td networks "
        "retrained on changed targets, known to +- %.0f %%, and how it varies over x that of kernel "
        "regression on %td of the rows",
        pb->n, 2 * found->replicates * found->starts, fmin(100 * sqrt(found->followed.spread), 999),
        epiqp_subset_rows(pb->n));
}

static int follow_networks(const retraining *w, const epiq_part *influence, const epiq_part *ev,
                           epiqp_retrain_findings *found)
{
    const epiqp_reference *ref = w->ref;
    const left_out sum = all_but(w, -1);
    responses *of = epiqp_room(w->pb, w->t->replicates, sizeof *of);
    if (!of) return EPIQ_E_NOMEM;
    for (ptrdiff_t r = 0; r < w->t->replicates; r++) {
        of[r] = responses_of(w, r);
    }
    epiqp_followed *f = &found->followed;
    *f = find_all(w, of, &found->kappa_se);
    f->step = w->step;
    f->least = ref->at ? LEAST * f->noise * ref->mean_noise : 0;
    found->error2 = sum.error2 / sum.rows;
    found->noise_variance = f->noise * ref->mean_noise;
    found->replicates = w->t->replicates;
    found->starts = STARTS;
    found->networks = w->pb->plan->retrained;
    int s = scale_points(w, influence, found);
    found->known = !s;
    return s || (s = note_subset(w->pb, found)) ? s : warn(w->pb, ev, found);
}

/* By how much targets are moved: about the noise. Where rows are in groups the sizes are those of the noise already, but may
 * be far below what starts leave. 0: there are no errors, so no noise and no variance. */
static double step_of(const retraining *w)
{
    const left_out sum = all_but(w, -1);
    double step = epiqp_rounded(sqrt(STEP * settled(&sum)));
    if (epiqp_has_groups(w->pb)) {
        double sizes = sqrt(epiqp_dot(w->pb->n, w->ref->size, w->ref->size) / (double)w->pb->n);
        step = sizes > 0 ? fmax(1, epiqp_rounded(step / sizes)) : 0;
    }
    return step;
}

int epiqp_estimate_retrain(const epiqp_problem *pb, const epiqp_maker *maker, const epiqp_if_findings *influence,
                           const epiqp_fold_findings *folds, const epiq_part *ev, epiqp_retrain_findings *found)
{
    const epiqp_folds *t = pb->plan->folds;
    retraining w = {.pb = pb,
                    .t = t,
                    .maker = maker,
                    .ref = &influence->reference,
                    .folds = folds->list,
                    .sums = epiqp_room(pb, t->count, sizeof *w.sums),
                    .moved = epiqp_room(pb, 2 * t->replicates, sizeof *w.moved)};
    int s = epiq_ctx_agree(pb->e.c, w.sums && w.moved ? EPIQ_OK : EPIQ_E_NOMEM);
    if (s || !w.sums || !w.moved) return s;
    for (ptrdiff_t f = 0; f < t->count; f++) {
        w.sums[f] = left_out_of(&w, f);
    }
    w.step = step_of(&w);
    const bool subset = pb->plan->influence == EPIQP_IF_SUBSET;
    if ((w.step > 0 && (s = retrain(&w, &found->weights))) || !(w.step > 0 || subset)) return s;
    found->part = epiqp_room(pb, pb->points, sizeof *found->part);
    s = !found->part ? EPIQ_E_NOMEM : w.step > 0 ? follow_networks(&w, influence->part, ev, found) : EPIQ_OK;
    for (ptrdiff_t p = 0; found->part && !(w.step > 0) && p < pb->points;
         p++) { /* a part of the rows has no noise of its own */
        found->part[p] = epiq_part_of(0, 0, pb->plan->ran.level, EPIQ_BY_RETRAIN);
    }
    return s;
}
