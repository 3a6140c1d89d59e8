/* plan.c - epiq_plan: what to buy, rows or networks, from the two parts of a finished estimate (docs/method.md section
 * 10). The optimum over whole numbers is mix.c's; here it gets its interval, its curve and its sentence.
 */
#include "decide/decide.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum {
    BUDGETS = 40 /* points of the curve at most: enough to draw it smoothly */
};
static const double BEYOND = 4; /* the curve goes on to so many times the plan's cost, to show what more would buy */
static const double PRICE_LEAST = 1e-12, PRICE_MOST = 1e12; /* keep costs of 1e9 things far from overflow */

static const char *const CAVEAT =
    "Approximate: the data variance is taken to fall in proportion to the rows and the procedural one to stay. In a "
    "simulation with 32 features five times the rows, 1000 instead of 200, cut the former 3.8 times, not 5, and the "
    "latter by 18 %. Estimate again after a part of the purchase.";

typedef struct {
    epiq_plan plan;
    epiqp_arena arena;
} holder;

typedef struct {
    epiq_ctx *c;
    epiqp_market market;
    const epiq_effort *effort;
    epiq_plan *plan;
    epiqp_arena *arena;
} job;

/* ---- what was asked ---- */

static int check_price(epiq_ctx *c, const char *name, double v)
{
    if (v >= PRICE_LEAST && v <= PRICE_MOST) { /* NaN fails */
        return EPIQ_OK;
    }
    return epiqp_fail(c, EPIQ_E_USAGE, "%s is %g; a price must lie in [%g, %g], in whatever unit both prices have",
                      name, v, PRICE_LEAST, PRICE_MOST);
}

int epiq_effort_check(epiq_ctx *c, const epiq_effort *e)
{
    epiqp_clear(c);
    int s = check_price(c, "price-row", e->price_row);
    if (s || (s = check_price(c, "price-training", e->price_training))) {
        return s;
    }
    if (!(e->level > 0 && e->level < 1)) {
        return epiqp_fail(c, EPIQ_E_USAGE, "level is %g; it must lie inside (0, 1)", e->level);
    }
    if (e->kind == EPIQ_PLAN_GOAL && !(e->amount > 0 && e->amount <= DBL_MAX)) {
        return epiqp_fail(c, EPIQ_E_USAGE, "goal is %g; it must be a variance above 0, in squared units of the target",
                          e->amount);
    }
    if (e->kind == EPIQ_PLAN_BUDGET && !(e->amount >= 0 && e->amount <= DBL_MAX)) {
        return epiqp_fail(c, EPIQ_E_USAGE, "budget is %g; it must be 0 or more, in the unit of the prices", e->amount);
    }
    return e->kind == EPIQ_PLAN_GOAL || e->kind == EPIQ_PLAN_BUDGET
               ? EPIQ_OK
               : epiqp_fail(c, EPIQ_E_USAGE, "a plan is for a goal or for a budget, not for kind %d", e->kind);
}

static int take_parts(job *j, const epiq_data *data, const epiq_result *r)
{
    epiq_part *parts[] = {&j->plan->data, &j->plan->procedural};
    const size_t offsets[] = {offsetof(epiq_point, data), offsetof(epiq_point, procedural)};
    static const char *const NAMES[] = {"data", "procedural"};
    for (int k = 0; k < 2; k++) {
        *parts[k] = epiqp_part_mean(r, offsets[k], j->effort->level);
        if (!parts[k]->known) {
            return epiqp_fail(j->c, EPIQ_E_DATA,
                              "a plan needs both parts at every point, and the %s variance is unknown%s; IF and EV "
                              "measure them directly (--methods if,ev)",
                              NAMES[k], r->point_count > 1 ? " at some" : "");
        }
    }
    j->market = (epiqp_market){(double)data->n,
                               (double)r->ensemble_size,
                               j->effort->price_row,
                               j->effort->price_training,
                               j->plan->data.variance * (double)data->n,
                               j->plan->procedural.variance};
    if (!(j->market.sigma2 <= DBL_MAX)) {
        return epiqp_fail(j->c, EPIQ_E_NUMERIC, "the data variance is too large to plan with; use other units");
    }
    return EPIQ_OK;
}

/* ---- a purchase with its interval ---- */

static epiq_method method_of(const epiq_plan *p)
{
    return p->procedural.method == EPIQ_BY_INFINITE ? EPIQ_BY_INFINITE
           : p->procedural.method == EPIQ_BY_BA_IF  ? EPIQ_BY_BA_IF
           : p->data.method == EPIQ_BY_BA_EV        ? EPIQ_BY_BA_EV
                                                    : EPIQ_BY_IF_EV;
}

static epiq_mix mix_of(const job *j, const epiqp_purchase *b)
{
    double level = j->effort->level;
    const epiq_part *d = &j->plan->data;
    epiq_part data = epiq_part_of(j->market.sigma2 / b->n, d->df, level, d->method);
    epiq_mix mix = {
        .rows = (ptrdiff_t)b->n,
        .members = (ptrdiff_t)b->m,
        .new_rows = (ptrdiff_t)(b->n - j->market.n),
        .trainings = (ptrdiff_t)b->trainings,
        .cost = b->cost,
        .variance = epiqp_sum_of(data, j->plan->procedural, b->m, level, method_of(j->plan)),
    };
    return mix;
}

/* The truth behind an estimate V with nu degrees of freedom is nu V/chi^2_nu. */
static void add_chance(const job *j, epiq_mix *m)
{
    double nu = m->variance.df, below;
    if (m->variance.has_interval) {
        epiqp_gamma_pq(nu / 2, nu * (m->variance.variance / j->effort->amount) / 2, &below, &m->chance.value);
        m->chance.known = 1;
    }
}

/* The upper end of a part; false where it is not known. */
static bool upper_end(const epiq_part *p, double *v)
{
    *v = p->has_interval ? p->hi : p->variance;
    return (p->has_interval && !p->open) || p->variance == 0 ||
           p->method == EPIQ_BY_INFINITE; /* the latter are exact */
}

static void be_cautious(job *j)
{
    double data, procedural;
    epiqp_purchase bought;
    if (!upper_end(&j->plan->data, &data) || !upper_end(&j->plan->procedural, &procedural)) {
        return;
    }
    epiqp_market worse = j->market;
    worse.sigma2 = data * j->market.n;
    worse.tau2 = procedural;
    if (worse.sigma2 <= DBL_MAX && epiqp_cheapest(&worse, j->effort->amount, &bought)) {
        j->plan->cautious.known = 1;
        j->plan->cautious.mix = mix_of(j, &bought);
        add_chance(j, &j->plan->cautious.mix);
    }
}

/* ---- the curve ---- */

/* Budgets in equal ratios, from the price of one network to beyond the plan and beyond halving the variance. */
static int draw_curve(job *j)
{
    epiq_mix *curve = epiqp_arena_alloc(j->c, j->arena, BUDGETS + 2, sizeof *curve);
    epiqp_purchase half, nothing = epiqp_buy_nothing(&j->market);
    if (!curve) {
        return EPIQ_E_NOMEM;
    }
    double reach = j->plan->best.cost;
    if (nothing.variance > 0 && epiqp_cheapest(&j->market, nothing.variance / 2, &half)) {
        reach = fmax(reach, half.cost);
    }
    reach *= BEYOND;
    ptrdiff_t count = 0;
    curve[count++] = j->plan->now;
    double lowest = j->market.price_training;
    bool placed = j->plan->best.cost == 0;
    for (int k = 0; k < BUDGETS && reach > lowest; k++) {
        double budget = lowest * pow(reach / lowest, k / (BUDGETS - 1.0));
        epiqp_purchase b = epiqp_best(&j->market, budget);
        if (!placed && b.cost >= j->plan->best.cost) { /* the plan itself lies on it */
            placed = true;
            curve[count++] = j->plan->best;
        }
        if (b.cost > curve[count - 1].cost && b.variance < curve[count - 1].variance.variance) {
            curve[count++] = mix_of(j, &b);
        }
    }
    if (!placed) {
        curve[count++] = j->plan->best;
    }
    j->plan->curve = curve;
    j->plan->curve_count = count;
    return EPIQ_OK;
}

/* ---- the sentence ---- */

static const char *sentence(const job *j)
{
    const epiq_plan *p = j->plan;
    const epiq_mix *b = &p->best;
    bool goal = j->effort->kind == EPIQ_PLAN_GOAL;
    double now = p->now.variance.variance, then = b->variance.variance;
    char interval[80] = "";
    if (b->variance.has_interval) {
        snprintf(interval, sizeof interval, b->variance.open ? ", at least %.3g" : ", between %.3g and %.3g",
                 b->variance.lo, b->variance.hi);
    }
    if (b->cost == 0 && goal) {
        return epiqp_arena_printf(j->c, j->arena,
                                  "Nothing to buy: the variance is %.3g already%s, and the goal is %.3g.", now,
                                  interval, j->effort->amount);
    }
    if (b->cost == 0 && now == 0) {
        return epiqp_arena_printf(j->c, j->arena, "Nothing to buy: the variance is 0 here.");
    }
    if (b->cost == 0) {
        bool train = p->procedural.variance > 0;
        return epiqp_arena_printf(
            j->c, j->arena,
            "Nothing to buy: %.6g is less than the first thing that lowers the variance (%.3g now) "
            "costs, %s for %.6g.",
            j->effort->amount, now, train ? "training one more network" : "one row and a training",
            j->effort->price_training + (train ? 0 : j->effort->price_row));
    }
    const char *what =
        b->new_rows ? epiqp_arena_printf(j->c, j->arena, "Collect %td more row%s and train %td network%s on all %td",
                                         b->new_rows, b->new_rows == 1 ? "" : "s", b->trainings,
                                         b->trainings == 1 ? "" : "s", b->rows)
                    : epiqp_arena_printf(j->c, j->arena, "Train %td more network%s, %td in all", b->trainings,
                                         b->trainings == 1 ? "" : "s", b->members);
    return what ? epiqp_arena_printf(j->c, j->arena, "%s: for %.6g the variance falls from %.3g to about %.3g%s.", what,
                                     b->cost, now, then, interval)
                : NULL;
}

/* ---- all of it ---- */

static int make(job *j, const epiq_data *data, const epiq_result *r)
{
    int s = take_parts(j, data, r);
    if (s) {
        return s;
    }
    epiqp_purchase nothing = epiqp_buy_nothing(&j->market), bought;
    j->plan->now = mix_of(j, &nothing);
    if (j->effort->kind == EPIQ_PLAN_BUDGET) {
        bought = epiqp_best(&j->market, j->effort->amount);
    } else if (!epiqp_cheapest(&j->market, j->effort->amount, &bought)) {
        return epiqp_fail(
            j->c, EPIQ_E_DATA,
            "a variance of %.3g would take more than %g rows or networks; the least that so many reach is "
            "%.3g, and now it is %.3g",
            j->effort->amount, EPIQP_MOST, (j->market.sigma2 + j->market.tau2) / EPIQP_MOST, nothing.variance);
    }
    j->plan->best = mix_of(j, &bought);
    if (j->effort->kind == EPIQ_PLAN_GOAL) {
        add_chance(j, &j->plan->best);
        be_cautious(j);
    }
    j->plan->caveat = CAVEAT;
    j->plan->text = sentence(j);
    return j->plan->text ? draw_curve(j) : EPIQ_E_NOMEM;
}

int epiq_plan_new(epiq_ctx *c, const epiq_data *data, const epiq_result *r, const epiq_effort *effort, epiq_plan **out)
{
    *out = NULL;
    int s = epiq_effort_check(c, effort);
    if (s) {
        return s;
    }
    holder *h = epiqp_alloc(c, 1, sizeof *h);
    if (!h) {
        return EPIQ_E_NOMEM;
    }
    *h = (holder){0};
    job j = {.c = c, .effort = effort, .plan = &h->plan, .arena = &h->arena};
    if ((s = make(&j, data, r))) {
        epiq_plan_free(c, &h->plan);
        return s;
    }
    *out = &h->plan;
    return EPIQ_OK;
}

void epiq_plan_free(epiq_ctx *c, epiq_plan *p)
{
    if (p) {
        holder *h = (holder *)p;
        epiqp_arena_free(c, &h->arena);
        epiqp_free(c, h);
    }
}
