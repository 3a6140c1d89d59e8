/* race.c - the race for a width and lambda: narrow networks and strong penalties first; what falls behind is dropped, and what
 * would cost more than the run it is for is not tried.
 */
#include "run/race.h"

#include <math.h>

static const ptrdiff_t WIDTHS[EPIQP_RACE_NARROW] = {16, 32, 64};
static const double BEHIND = 2; /* standard errors of the difference: a model that is farther behind is dropped */
static const double USUAL_NETWORKS = 82; /* of a run: 50 on all rows, 40 without a fifth of them */
static const double OF_RUN =
    0.75; /* of the counted work of a run: beside it choosing takes kernel regressions, and searches */

/* One width and the lambdas tried with it: from the first one down while that helps, else up. */
typedef struct {
    ptrdiff_t width;
    int first, next, step;       /* levels */
    const epiqp_candidate *best; /* NULL: none was tried yet */
    bool done;
} lane;

/* The most work that choosing may take for this model to be chosen. A run of few networks counts as one of the usual number. */
static double limit_of(const epiqp_race *r, const epiqp_candidate *m, ptrdiff_t width, double lambda)
{
    return OF_RUN * fmax(1, USUAL_NETWORKS / epiqp_race_networks(&r->o)) * epiqp_race_run_work(r, m, width, lambda);
}

/* The most work that choosing may take: what the rest of the run would with the model that would be chosen now, less what is
 * not counted, so that choosing takes no longer than what it is for. */
static int work_limit(const epiqp_race *r, double *out)
{
    const epiqp_candidate *now = NULL;
    const int s = r->count ? epiqp_race_choose(r, &now) : EPIQ_OK;
    const ptrdiff_t width = now && now->is.width ? now->is.width : r->o.width; /* the usual one, where any may be */
    *out = s ? 0 : limit_of(r, now, width, now ? now->is.lambda : r->o.lambda);
    return s;
}

static void advance(const epiqp_race *r, lane *l, const epiqp_candidate *tried)
{
    if (!l->best) {
        l->best = tried;
        l->step = 1;
        l->next = tried->level + 1;
    } else if (tried->mse < l->best->mse) {
        l->best = tried;
        l->next = tried->level + l->step;
    } else if (l->step > 0 && l->best->level == l->first) { /* the first step down does not help */
        l->step = -1;
        l->next = l->first - 1;
    } else {
        l->done = true;
    }
    l->done |= !r->any_lambda || l->next < 0 || l->next >= EPIQP_RACE_LEVELS;
}

/* Ends lanes that are behind the best with the same lambda. */
static int drop(const epiqp_race *r, lane *lanes, ptrdiff_t count)
{
    int s = EPIQ_OK;
    for (lane *l = lanes; !s && l < lanes + count; l++) {
        double far = 0;
        if (!l->best || l->done) continue;
        s = epiqp_race_behind(r, l->best, epiqp_race_best(r, l->best->level), &far);
        l->done = far > BEHIND;
    }
    return s;
}

/* The next model of every lane that goes on and whose work is within the limit, or would be if it were chosen; the first one of
 * all is. A lane whose next model costs too much goes on when one is in front whose run would cost more. */
static int next_models(epiqp_race *r, lane *lanes, ptrdiff_t count, epiqp_candidate **now, lane **of, ptrdiff_t *models)
{
    double work = r->spent, limit;
    bool limited = false;
    int s = work_limit(r, &limit);
    *models = 0;
    for (lane *l = lanes; !s && l < lanes + count; l++) {
        if (l->done) continue;
        const double lambda = epiqp_race_lambda(r, l->next),
                     more = epiqp_race_work(r, l->width, lambda, l->best, r->first);
        const bool dear = work + more > fmax(limit, limit_of(r, l->best, l->width, lambda)) && r->count > 0;
        limited |= dear;
        if (dear) continue;
        work += more;
        of[*models] = l;
        if (!(now[(*models)++] = epiqp_race_add(r, l->width, l->next))) return EPIQ_E_NOMEM;
    }
    r->limited |= limited && !*models; /* there is no more */
    return s;
}

static int run_lanes(epiqp_race *r, lane *lanes, ptrdiff_t count)
{
    epiqp_candidate *now[EPIQP_RACE_WIDTHS_MOST];
    lane *of[EPIQP_RACE_WIDTHS_MOST];
    ptrdiff_t models;
    int s;
    while (!(s = next_models(r, lanes, count, now, of, &models)) && models) {
        if ((s = epiqp_race_train(r, now, models, r->first))) {
            r->count -= models;
            return s;
        }
        for (ptrdiff_t k = 0; k < models; k++) {
            advance(r, of[k], now[k]);
        }
        if ((s = drop(r, lanes, count))) return s;
    }
    return s;
}

static int try_networks(epiqp_race *r, const epiqp_candidate *kernel)
{
    lane lanes[EPIQP_RACE_WIDTHS_MOST] = {{0}};
    ptrdiff_t count = 0;
    const int strong = kernel && kernel->level < EPIQP_RACE_USUAL ? kernel->level : EPIQP_RACE_USUAL,
              first = r->any_lambda ? strong : -1;
    for (; r->any_width && count < EPIQP_RACE_NARROW; count++) {
        lanes[count] = (lane){.width = WIDTHS[count], .first = first, .next = first};
    }
    if (!r->any_width || !kernel) {
        lanes[count++] = (lane){.width = r->any_width ? EPIQ_USUAL_WIDTH : r->o.width, .first = first, .next = first};
    }
    int s = run_lanes(r, lanes, count);
    if (s || !kernel) return s;
    double far = 0, limit;
    if ((s = epiqp_race_behind(r, kernel, epiqp_race_best(r, EPIQP_RACE_ANY), &far)) || far > BEHIND ||
        (s = work_limit(r, &limit))) {
        return s;
    }
    if (r->spent + epiqp_race_work(r, EPIQP_RACE_BETWEEN, kernel->is.lambda, NULL, r->first) > limit) {
        r->limited = true;
        return EPIQ_OK;
    }
    epiqp_candidate *between = epiqp_race_add(r, EPIQP_RACE_BETWEEN, kernel->level);
    if (!between) return EPIQ_E_NOMEM;
    s = epiqp_race_train(r, &between, 1, r->first);
    r->count -= s != EPIQ_OK;
    return s;
}

int epiqp_race_finalists(epiqp_race *r, epiqp_candidate **out, ptrdiff_t *count)
{
    const epiqp_candidate *best = epiqp_race_best(r, EPIQP_RACE_ANY);
    double work = r->spent, limit, above = -INFINITY;
    int s = work_limit(r, &limit);
    *count = 0;
    while (!s && *count < EPIQP_RACE_FINALISTS) { /* in the order of their errors */
        epiqp_candidate *next = NULL;
        for (epiqp_candidate *m = r->list; m < r->list + r->count; m++) {
            if (m->is.width && m->mse > above && (!next || m->mse < next->mse)) next = m;
        }
        double far = 0;
        if (!next || (s = epiqp_race_behind(r, next, best, &far)) || far > BEHIND) break;
        above = next->mse;
        work += epiqp_race_work(r, next->is.width, next->is.lambda, next, EPIQP_RACE_MORE);
        if (work > limit) {
            r->limited = true;
            break;
        }
        out[(*count)++] = next;
    }
    return s;
}

int epiqp_race_finals(epiqp_race *r)
{
    epiqp_candidate *final[EPIQP_RACE_FINALISTS];
    ptrdiff_t count;
    int s = epiqp_race_finalists(r, final, &count);
    return s || !count ? s : epiqp_race_train(r, final, count, EPIQP_RACE_MORE);
}

int epiqp_race_run(epiqp_race *r)
{
    int s = r->closed ? epiqp_race_kernel(r) : EPIQ_OK;
    if (s || !r->trains) return s;
    const epiqp_candidate *kernel = NULL;
    if ((r->count && (s = epiqp_race_choose(r, &kernel))) || (s = epiqp_race_folds(r))) return s;
    return try_networks(r, kernel);
}

/* ---- on all rows, after a part of them ---- */

/* Times the least error: on a part of the rows so much may be behind what is tried on all. */
static const double FAR = 1.25;

/* A model of a part to be tried on all rows, and with smaller lambdas: with more rows less penalty is best, down to about that which
 * keeps lambda n, the number of rows that the start counts for. How much less a part cannot tell. */
static int add_models(epiqp_race *whole, const epiqp_race *part, const epiqp_candidate *m, epiqp_candidate **now,
                      ptrdiff_t *models)
{
    const ptrdiff_t width = m->is.width ? m->is.width : whole->o.width;
    const double fewer = (double)part->data->n / (double)whole->data->n;
    for (int level = m->level; level < EPIQP_RACE_LEVELS && *models < EPIQP_RACE_FINALS_MOST; level++) {
        const double lambda = epiqp_race_lambda(whole, level);
        if (level > m->level && (m->level < 0 || lambda < fewer / 3 * m->is.lambda)) break;
        if (epiqp_race_run_work(whole, m, width, lambda) > EPIQP_RACE_RUN_LIMIT && *models) {
            whole->limited = true;
            break;
        }
        if (!(now[(*models)++] = epiqp_race_add(whole, width, level))) return EPIQ_E_NOMEM;
    }
    return EPIQ_OK;
}

static bool has_width(epiqp_candidate *const *now, ptrdiff_t models, ptrdiff_t width)
{
    for (ptrdiff_t k = 0; k < models; k++) {
        if (now[k]->is.width == width) return true;
    }
    return false;
}

/* The best of each width that comes close to the best of all, unless they cost too much; where all do, the cheapest. A width that
 * falls behind on a part may be the best with all rows only if it is narrow, since more rows tell more features; the narrow ones
 * are cheap, and those that are not far behind are tried. */
int epiqp_race_for_all(epiqp_race *whole, const epiqp_race *part, epiqp_candidate **now, ptrdiff_t *models)
{
    const epiqp_candidate *best = epiqp_race_best(part, EPIQP_RACE_ANY), *cheapest = NULL;
    int s = EPIQ_OK;
    double above = -INFINITY;
    *models = 0;
    for (const epiqp_candidate *next = best; !s && next && next->mse <= FAR * best->mse;) {
        const bool dear = epiqp_race_run_work(whole, next, next->is.width ? next->is.width : whole->o.width,
                                              next->is.lambda) > EPIQP_RACE_RUN_LIMIT;
        whole->limited |= dear;
        if (!dear && !has_width(now, *models, next->is.width)) s = add_models(whole, part, next, now, models);
        above = next->mse;
        next = NULL;
        for (const epiqp_candidate *m = part->list; m < part->list + part->count; m++) {
            if (m->mse > above && (!next || m->mse < next->mse)) next = m;
        }
    }
    for (const epiqp_candidate *m = part->list; !*models && m < part->list + part->count; m++) {
        if (m->is.width &&
            (!cheapest || epiqp_race_run_work(whole, m, m->is.width, m->is.lambda) <
                              epiqp_race_run_work(whole, cheapest, cheapest->is.width, cheapest->is.lambda))) {
            cheapest = m;
        }
    }
    return s || *models || !cheapest ? s : add_models(whole, part, cheapest, now, models);
}
