/* folds.c - networks trained without a fold of the rows, and asked about it (docs/method.md section 3). */
#include "est/folds.h"

#include "est/retrain.h"
#include "est/variance.h"

#include <string.h>

ptrdiff_t epiqp_fold_count(const epiqp_problem *pb, const epiq_options *o)
{
    return epiqp_min(o->folds, pb->data->groups);
}

ptrdiff_t epiqp_fold_networks(const epiqp_problem *pb, const epiqp_plan *plan)
{
    return plan->fold_starts * epiqp_fold_count(pb, &plan->ran) +
           (plan->retrained ? 2 * EPIQP_STARTS * plan->ran.replicates : 0);
}

double epiqp_folds_bytes(const epiqp_problem *pb, const epiqp_plan *plan)
{
    const double asked = (double)(pb->n + pb->points), d = (double)pb->data->d;
    return 8 * asked * (double)epiqp_fold_count(pb, &plan->ran) * (3 * d + 5 + (double)plan->fold_starts);
}

static int draw_signs(const epiqp_problem *pb, uint64_t seed, epiqp_folds *t)
{
    const ptrdiff_t n = pb->n, groups = pb->data->groups;
    t->sign = epiqp_room(pb, t->vectors * n, sizeof *t->sign);
    signed char *of_group = epiqp_room(pb, groups, sizeof *of_group);
    if (!t->sign || !of_group) return EPIQ_E_NOMEM;
    for (ptrdiff_t r = 0; r < t->vectors; r++) {
        epiqp_signs((epiqp_stream){seed, EPIQP_FOR_WILD, (uint64_t)r}, groups, of_group);
        for (ptrdiff_t i = 0; i < n; i++) {
            t->sign[r * n + i] = of_group[pb->data->group[i]];
        }
    }
    return EPIQ_OK;
}

int epiqp_folds_new(const epiqp_problem *pb, const epiqp_plan *plan, const epiqp_folds **out)
{
    const epiq_options *o = &plan->ran;
    epiqp_folds *t = epiqp_room(pb, 1, sizeof *t);
    if (!t) return EPIQ_E_NOMEM;
    *t = (epiqp_folds){.count = epiqp_fold_count(pb, o), .starts = plan->fold_starts};
    int s = epiqp_deal_rows(pb, (epiqp_stream){o->seed, EPIQP_FOR_SHUFFLE, 1}, t->count, &t->rows);
    if (!s && plan->retrained) {
        t->replicates = o->replicates;
        /* kernel regression is asked about every fold, also where fewer replicates than folds are trained */
        t->vectors = epiqp_max(o->replicates, t->count);
        s = draw_signs(pb, o->seed, t);
    }
    *out = t;
    return s;
}

/* ---- the networks ---- */

static int fold_new(const epiqp_problem *pb, ptrdiff_t number, epiqp_fold *f)
{
    const epiq_options *o = &pb->plan->ran;
    const epiqp_folds *t = pb->plan->folds;
    const ptrdiff_t d = pb->data->d;
    f->out = epiqp_listed_size(&t->rows, number);
    f->asked = f->out + pb->points;
    const ptrdiff_t n = f->n = pb->n - f->out, fitted = pb->plan->retrained ? (EPIQP_STARTS + 1) * n : 0;
    f->row = epiqp_room(pb, n, sizeof *f->row);
    f->x = epiqp_room(pb, (pb->n + pb->points) * d, sizeof *f->x);
    f->y = epiqp_room(pb, n + fitted + t->starts * f->asked, sizeof *f->y);
    if (!f->row || !f->x || !f->y) return EPIQ_E_NOMEM;
    f->at = f->y + n;
    f->centre = fitted ? f->at + t->starts * f->asked : NULL;
    f->fitted = fitted ? f->centre + n : NULL;
    for (ptrdiff_t i = 0, k = 0; i < pb->n; i++) {
        if (t->rows.label[i] != number) f->row[k++] = i;
    }
    double *at = f->x + n * d;
    epiqp_take_rows(pb->data, n, f->row, f->x, f->y);
    epiqp_take_rows(pb->data, f->out, t->rows.rows + t->rows.start[number], at, NULL);
    memcpy(at + f->out * d, pb->at, (size_t)(pb->points * d) * sizeof *at);
    const epiqp_env alone = epiqp_alone(&pb->e);
    int s = epiqp_fit_new(&alone, o, n, d, f->x, f->y, f->asked, at, &f->fit);
    if (s) return s;
    f->fit.lambda = o->lambda * (double)pb->n / (double)n; /* lambda n as for all rows */
    f->fit.solver = EPIQ_SOLVER_EXACT;
    return epiqp_needs_solve(o) ? epiqp_fit_solve(&alone, &f->fit) : EPIQ_OK;
}

/* The starts of a fold are members': their own part is the same before and after a step of retraining. */
epiqp_draw epiqp_fold_draw(const epiqp_problem *pb, ptrdiff_t fold, ptrdiff_t start)
{
    return epiqp_draw_of(&pb->plan->ran, fold + start * pb->plan->folds->count);
}

static int train(const epiqp_problem *pb, const epiqp_maker *maker, const epiqp_fold_findings *found)
{
    const ptrdiff_t count = pb->plan->folds->count, networks = count * pb->plan->folds->starts;
    epiqp_assignment *list = epiqp_room(pb, networks, sizeof *list);
    if (!list) return EPIQ_E_NOMEM;
    for (ptrdiff_t k = 0; k < networks; k++) {
        const ptrdiff_t start = k / count;
        const epiqp_fold *f = &found->list[k % count];
        list[k] = (epiqp_assignment){
            .fit = &f->fit,
            .draw = epiqp_fold_draw(pb, k % count, start),
            .kind = EPIQP_FOR_FOLD,
            .index = k,
            .of = count,
            .at = f->at + start * f->asked,
            .rows = f->fitted && start < EPIQP_STARTS ? f->fitted + start * f->n : NULL,
        };
    }
    return epiqp_members_run(maker, "folds", networks, list);
}

static void predict_rows(const epiqp_problem *pb, const epiqp_fold_findings *found)
{
    const epiqp_folds *t = pb->plan->folds;
    for (ptrdiff_t k = 0; k < t->count; k++) {
        const epiqp_fold *f = &found->list[k];
        for (ptrdiff_t i = 0; i < f->out; i++) {
            const ptrdiff_t row = t->rows.rows[t->rows.start[k] + i];
            found->mean[row] = epiqp_mean_of(f->at + i, t->starts, f->asked);
            found->between[row] = t->starts > 1 ? epiqp_variance_of(f->at + i, t->starts, f->asked) : 0;
        }
        for (ptrdiff_t i = 0; f->fitted && i < f->n; i++) {
            f->centre[i] = epiqp_rounded(epiqp_mean_of(f->fitted + i, EPIQP_STARTS, f->n));
        }
    }
}

int epiqp_estimate_folds(const epiqp_problem *pb, const epiqp_maker *maker, epiqp_fold_findings *found)
{
    const ptrdiff_t count = pb->plan->folds->count;
    found->mean = epiqp_room(pb, 2 * pb->n, sizeof *found->mean);
    found->list = epiqp_room(pb, count, sizeof *found->list);
    int s = found->mean && found->list ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t k = 0; !s && k < count; k++) {
        s = fold_new(pb, k, &found->list[k]);
    }
    s = epiq_ctx_agree(pb->e.c, s);
    if (s || !found->mean || !found->list || (s = train(pb, maker, found))) return s;
    found->between = found->mean + pb->n;
    predict_rows(pb, found);
    return EPIQ_OK;
}

void epiqp_fold_findings_free(const epiqp_problem *pb, epiqp_fold_findings *found)
{
    for (ptrdiff_t k = 0; found->list && k < pb->plan->folds->count; k++) {
        epiqp_fit_free(pb->e.c, &found->list[k].fit);
    }
}
