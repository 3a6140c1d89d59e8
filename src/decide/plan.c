/* plan.c - epiq_plan: what to buy, rows or networks, from the two parts of a finished estimate (docs/method.md section
 * 10). The optimum over whole numbers is mix.c's; here it gets its interval, its curve and its sentence.
 */
#include "decide/decide.h"
#include "est/assemble.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

enum {
    FEWEST = 10, /* rows whose errors tell how well their mean square is known */
    BUDGETS = 40 /* points of the curve at most: enough to draw it smoothly */
};
static const double BEYOND = 4; /* the curve goes on to so many times the plan's cost, to show what more would buy */
static const double PRICE_LEAST = 1e-12, PRICE_MOST = 1e12; /* keep costs of 1e9 things far from overflow */

/* Standard deviation of the exponent between n rows and a few times as many from that between n/2 and n, in simulations
 * with 2 to 40 features and 25 to 1600 rows (docs/method.md section 10): for exponents of 0, and what 1 adds. */
static const double DATA_DRIFT[] = {0.40, -0.25}, PROCEDURAL_DRIFT[] = {0.20, 0.15};
static const double LIKELY = 0.8;       /* of the plan that is recommended: worth the price of few disappointments */
static const double NETWORKS_MOST = 10; /* times those there are: more was never the right answer to anything seen */
static const double LITTLE = 0.1;       /* of a variance: a part that is less changes little */
static const double UNSEEN = 0.01;      /* of the noise: a budget buys no networks to lower retraining below that */
static const double WORTH_SAVING = 0.1; /* of the trainings: saving fewer is not worth another predictor */
static const double MANY = 10;          /* times the rows: more is a hope, not a plan */
static const double FAR = 100;          /* times the rows: from halves nothing is promised for more */

typedef struct {
    epiq_plan plan; /* first: it is what the caller gets */
    epiqp_arena arena;
    epiq_plan_step now, best, likely, cautious; /* these are what it points to */
    epiq_part data, procedural;
    epiq_exponents exponent;
    epiq_corrected_plan corrected;
} holder;

typedef struct {
    epiq_ctx *c;
    epiqp_market market;
    const epiq_plan_request *effort;
    holder *plan;
    epiqp_arena *arena;
    double noise;    /* mean variance over the points; below 0: unknown */
    double learning; /* exponent with which it falls as rows are added: a part of it is what is not learned yet */
} job;

int epiq_plan_check(epiq_ctx *c, const epiq_plan_request *effort)
{
    static const char *const NAME[] = {"price-row", "price-training"};
    epiqp_clear(c);
    epiq_plan_request own = {0}, *e = &own;
    int s = epiqp_take(c, "epiq_plan_request", effort, &own, sizeof own);
    if (s) return s;
    const double price[] = {e->price_row, e->price_training};
    for (int k = 0; k < 2; k++) {
        if (!(price[k] >= PRICE_LEAST && price[k] <= PRICE_MOST)) {
            return epiqp_fail(c, EPIQ_E_USAGE,
                              "{--%s} is %g; a price must lie in [%g, %g], in whatever unit both prices have", NAME[k],
                              price[k], PRICE_LEAST, PRICE_MOST);
        }
    }
    if (!(e->level > 0 && e->level < 1)) {
        return epiqp_fail(c, EPIQ_E_USAGE, "{--level} is %g; it must lie inside (0, 1)", e->level);
    }
    if (e->kind == EPIQ_PLAN_GOAL && !(e->amount > 0 && e->amount <= DBL_MAX)) {
        return epiqp_fail(c, EPIQ_E_USAGE,
                          "{--goal} is %g; it must be a variance above 0, in squared units of the target", e->amount);
    }
    if (e->kind == EPIQ_PLAN_BUDGET && !(e->amount >= 0 && e->amount <= DBL_MAX)) {
        return epiqp_fail(c, EPIQ_E_USAGE, "{--budget} is %g; it must be 0 or more, in the unit of the prices",
                          e->amount);
    }
    if (e->kind == EPIQ_PLAN_GOAL || e->kind == EPIQ_PLAN_BUDGET) return EPIQ_OK;
    return epiqp_fail(c, EPIQ_E_USAGE, "a plan is for a goal or for a budget, not for kind %d", e->kind);
}

/* ---- the market ---- */

/* Degrees of freedom behind the mean of the data part over rows left out, which noise and kappa are common to: from the scatter
 * of the squared errors of n rows, and from kappa's standard error. 0: unknown. */
static double rows_df(const epiq_result *r, ptrdiff_t n)
{
    const epiq_fit_error *f = r->fit;
    if (!r->points[0]->left_out || !f->observed || f->by_group || n < FEWEST) return 0;
    double mean = 0, square = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double error = f->observed[i] - f->loo[i], e2 = error * error, step = e2 - mean;
        mean += step / (double)(i + 1);
        square += step * (e2 - mean);
    }
    const double kappa = r->retrain->kappa, off = kappa > 0 ? r->retrain->kappa_se / kappa : 0,
                 scatter = mean > 0 ? square / (mean * mean) / ((double)n * (double)(n - 1)) : INFINITY;
    return 2 / (scatter + off * off);
}

/* The standard deviation of V_p is V_p sqrt(2/nu_p), and that of a mean at most the mean of theirs: from it nu. */
epiq_part epiqp_part_mean(const epiq_result *r, ptrdiff_t n, size_t part, double level)
{
    double sum = 0, sd = 0, count = (double)r->point_count;
    bool sampled = true;
    epiq_method method = EPIQ_BY_NONE;
    for (ptrdiff_t p = 0; p < r->point_count; p++) {
        const epiq_part *one = (const epiq_part *)((const char *)r->points[p] + part);
        if (!one->known) return (epiq_part){.method = one->method};
        sampled = sampled && (one->variance == 0 || one->df > 0);
        sum += one->variance / count;
        sd += one->variance > 0 && one->df > 0 ? one->variance / count / sqrt(one->df) : 0;
        method = one->method;
    }
    const double df = sampled && sd > 0 ? sum / sd * (sum / sd) : 0,
                 common = df > 0 && part == offsetof(epiq_point, data) ? rows_df(r, n) : 0;
    return epiq_part_of(sum, fmax(df, common), level, method);
}

/* The mean noise over the points; below 0: it is unknown at one of them, or at half of the rows left out. */
static double noise_of(const epiq_result *r)
{
    double sum = 0;
    ptrdiff_t known = 0;
    for (ptrdiff_t p = 0; p < r->point_count; p++) {
        if (!r->points[p]->predictive.known && !r->points[p]->left_out) return -1;
        known += r->points[p]->predictive.known;
        sum += r->points[p]->predictive.known ? r->points[p]->predictive.noise : 0;
    }
    return 2 * known > r->point_count ? sum / (double)known : -1;
}

/* Networks that answer: at a row left out its own are few, and stand for as many as there would be for a new one. */
static ptrdiff_t trained_of(const epiq_result *r)
{
    const epiq_point *first = r->points[0];
    return first->left_out && first->member_count ? r->ran->members : first->member_count;
}

/* The ensemble there is: of the size asked for, or else every network that was trained on all rows. */
static double networks_now(const epiq_result *r, const epiq_options *o)
{
    return (double)(o && !o->ensemble_size && trained_of(r) ? trained_of(r) : r->ran->ensemble_size);
}

static int take_parts(job *j, const epiq_data *data, const epiq_options *o, const epiq_result *r)
{
    epiq_part *parts[] = {&j->plan->data, &j->plan->procedural};
    const size_t offsets[] = {offsetof(epiq_point, data), offsetof(epiq_point, procedural)};
    static const char *const NAMES[] = {"data", "procedural"};
    for (int k = 0; k < 2; k++) {
        *parts[k] = epiqp_part_mean(r, data->n, offsets[k], j->effort->level);
        if (!parts[k]->known) {
            return epiqp_fail(j->c, EPIQ_E_DATA,
                              "a plan needs both parts at every point, and the %s variance is unknown%s; IF and EV "
                              "measure them directly ({--methods} if,ev)",
                              NAMES[k], r->point_count > 1 ? " at some" : "");
        }
    }
    j->market = (epiqp_market){.n = (double)data->n, .m = networks_now(r, o), .a = 1};
    j->market.most = fmin(NETWORKS_MOST * fmax(j->market.m, (double)trained_of(r)), EPIQP_MOST);
    j->noise = noise_of(r);
    j->learning = r->fit->known && r->fit->twice > 0 ? -2 * log2(r->fit->twice) : 0;
    j->market.price_row = j->effort->price_row;
    j->market.price_training = j->effort->price_training;
    j->market.data = j->plan->data.variance;
    j->market.tau2 = j->plan->procedural.variance;
    if (j->noise > 0 && j->effort->kind == EPIQ_PLAN_BUDGET) { /* what is left of a budget is better kept */
        j->market.most = fmin(j->market.most, fmax(j->market.m, ceil(j->market.tau2 / (UNSEEN * j->noise))));
    }
    if (!(j->market.data * j->market.n <= DBL_MAX)) {
        return epiqp_fail(j->c, EPIQ_E_NUMERIC, "the data variance is too large to plan with; use other units");
    }
    return EPIQ_OK;
}

/* The exponent to plan with, from 0 (rows change nothing) to 1 (the law of many rows), and its standard deviation. */
static double settle(epiqp_exponent e, const double drift[2], double *sd)
{
    double used = fmin(fmax(e.measured, 0), 1);
    *sd = hypot(hypot(e.se, drift[0] + drift[1] * used), e.measured - used);
    return used;
}

static int take_exponents(job *j, const epiq_data *data, const epiq_points *at, const epiq_options *o)
{
    epiqp_fall fall = {0};
    int s = at && o ? epiqp_fall_measure(j->c, data, at, o, &fall) : EPIQ_OK;
    if (s || !fall.known) return s;
    epiq_exponents *e = &j->plan->exponent;
    *e = (epiq_exponents){
        .known = 1, .rows = fall.rows, .data = fall.data.measured, .procedural = fall.procedural.measured};
    j->market.a = settle(fall.data, DATA_DRIFT, &e->data_sd);
    j->market.b = settle(fall.procedural, PROCEDURAL_DRIFT, &e->procedural_sd);
    return EPIQ_OK;
}

/* ---- a purchase with its interval ---- */

static epiq_method method_of(const holder *p)
{
    return p->procedural.method == EPIQ_BY_INFINITE ? EPIQ_BY_INFINITE
           : p->procedural.method == EPIQ_BY_BA_IF  ? EPIQ_BY_BA_IF
           : p->data.method == EPIQ_BY_BA_EV        ? EPIQ_BY_BA_EV
                                                    : EPIQ_BY_IF_EV;
}

/* What is known of the variance of a purchase: the truth is V nu/chi^2_nu e^(spread z), z a standard normal, from the
 * degrees of freedom behind V and from exponents that are not known exactly. */
typedef struct {
    epiq_part part; /* without the spread */
    double spread;
} forecast;

static forecast forecast_of(const job *j, double n, double m)
{
    const epiq_part *d = &j->plan->data, *t = &j->plan->procedural;
    const epiq_exponents *e = &j->plan->exponent;
    double level = j->effort->level, far = log(n / j->market.n), data = epiqp_data_at(&j->market, n),
           tau2 = epiqp_tau2_at(&j->market, n);
    epiq_part now = n > j->market.n ? epiq_part_of(data, d->df, level, d->method) : *d,
              then = n > j->market.n ? epiq_part_of(tau2, t->df, level, t->method) : *t;
    forecast f = {.part = epiqp_sum_of(now, then, m, level, method_of(j->plan))};
    double all = data + tau2 / m;
    f.spread = all > 0 ? far * hypot(e->data_sd * data / all, e->procedural_sd * tau2 / m / all) : 0;
    return f;
}

/* P(truth <= v). The rule of equal steps is exact to rounding for what is as smooth as a normal density. */
static double chance_below(const forecast *f, double v)
{
    enum { STEPS = 32 };
    const double width = 12.0 / STEPS, nu = f->part.df;
    double sum = 0, weights = 0, below, above;
    for (int k = 0; k <= STEPS && f->spread > 0 && nu > 0; k++) {
        double z = width * k - 6, w = exp(-z * z / 2);
        epiqp_gamma_pq(nu / 2, nu * (f->part.variance / v * exp(f->spread * z)) / 2, &below, &above);
        sum += w * above;
        weights += w;
    }
    if (weights > 0) return sum / weights;
    if (f->spread > 0) { /* a closed form is exact */
        return erfc(log(f->part.variance / v) / f->spread / sqrt(2)) / 2;
    }
    epiqp_gamma_pq(nu / 2, nu * (f->part.variance / v) / 2, &below, &above);
    return above;
}

/* The v that the truth is below with this probability, by bisection of log v; 0: there is none within reason. */
static double quantile(const forecast *f, double probability)
{
    static const double REACH = 300; /* of log v: intervals from V e-130 to V e+130 */
    double lo = -REACH, hi = REACH;
    if (chance_below(f, f->part.variance * exp(hi)) < probability ||
        chance_below(f, f->part.variance * exp(lo)) > probability) {
        return 0;
    }
    for (int step = 0; step < 60; step++) {
        const double middle = (lo + hi) / 2;
        const bool below = chance_below(f, f->part.variance * exp(middle)) < probability;
        lo = below ? middle : lo;
        hi = below ? hi : middle;
    }
    return f->part.variance * exp(hi);
}

/* Whether the degrees of freedom behind both parts are known, or a part needs none. */
static bool can_be_trusted(const job *j, const forecast *f)
{
    bool trusted = f->part.variance > 0 && (f->part.df > 0 || f->spread > 0);
    for (int k = 0; k < 2; k++) {
        const epiq_part *p = k ? &j->plan->data : &j->plan->procedural;
        trusted = trusted && (p->df > 0 || p->variance == 0 || p->method == EPIQ_BY_INFINITE);
    }
    return trusted;
}

static epiq_plan_step mix_of(const job *j, const epiqp_purchase *b, bool with_chance)
{
    const forecast f = forecast_of(j, b->n, b->m);
    epiq_plan_step mix = {.rows = (ptrdiff_t)b->n,
                          .members = (ptrdiff_t)b->m,
                          .new_rows = (ptrdiff_t)(b->n - j->market.n),
                          .trainings = (ptrdiff_t)b->trainings,
                          .cost = b->cost,
                          .variance = f.part};
    if (!can_be_trusted(j, &f)) return mix;
    if (f.spread > 0) {
        double tail = (1 - j->effort->level) / 2;
        mix.variance.lo = quantile(&f, tail);
        mix.variance.hi = quantile(&f, 1 - tail);
        mix.variance.has_interval = mix.variance.lo > 0 && mix.variance.hi > 0;
    }
    if (with_chance) {
        mix.chance.value = chance_below(&f, j->effort->amount);
        mix.chance.known = 1;
    }
    return mix;
}

/* The chance of the cheapest mix that is expected to reach `goal`; -1: there is none with so many times the rows, or it is
 * unknown. */
static double chance_of_cheapest(const job *j, double goal, double times, epiqp_purchase *bought)
{
    if (!epiqp_cheapest(&j->market, goal, bought) || bought->n > times * j->market.n) return -1;
    const forecast f = forecast_of(j, bought->n, bought->m);
    return can_be_trusted(j, &f) ? chance_below(&f, j->effort->amount) : -1;
}

/* Lowers the goal until the one asked for is reached with the probability wanted; NULL: no mix with so many times the rows is
 * known to, since the variance with more rows is also known less well. */
static const epiq_plan_step *make_safer(job *j, double wanted, double times, epiq_plan_step *out)
{
    static const double STEP = 0.95;
    enum { TRIES = 270, FINER = 10 }; /* down to 1e-6 of the goal; then to 2^-10 of a step */
    double goal = j->effort->amount, enough = 0;
    epiqp_purchase bought, last;
    for (int k = 0; k < TRIES && !(enough > 0); k++, goal *= STEP) {
        double chance = chance_of_cheapest(j, goal, times, &bought);
        if (chance < 0) return NULL;
        enough = chance >= wanted ? goal : 0;
    }
    if (!(enough > 0)) return NULL;
    last = bought;
    double most = fmin(enough / STEP, j->effort->amount);
    for (int k = 0; k < FINER; k++) {
        double middle = sqrt(enough * most);
        if (chance_of_cheapest(j, middle, times, &bought) >= wanted) {
            enough = middle;
            last = bought;
        } else {
            most = middle;
        }
    }
    *out = mix_of(j, &last, true);
    return out;
}

/* Rows after a step, over those there are. */
static double times_of(const job *j, const epiq_plan_step *b)
{
    return (double)b->rows / j->market.n;
}

/* A goal that takes rows of which nothing is known: no plan. */
static bool is_out_of_reach(const job *j, const epiq_plan_step *b)
{
    return j->effort->kind == EPIQ_PLAN_GOAL && times_of(j, b) > MANY;
}

/* Budgets in equal ratios, from the price of one network to beyond the plan and beyond halving the variance, but for those that buy
 * MANY times the rows. */
static int draw_curve(job *j)
{
    epiq_plan_step *curve = epiqp_arena_alloc(j->c, j->arena, BUDGETS + 2, sizeof *curve);
    epiqp_purchase half, nothing = epiqp_buy_nothing(&j->market);
    if (!curve) return EPIQ_E_NOMEM;
    double reach = fmax(j->plan->best.cost, j->plan->plan.likely ? j->plan->likely.cost / 2 : 0);
    if (nothing.variance > 0 && epiqp_cheapest(&j->market, nothing.variance / 2, &half)) {
        reach = fmax(reach, half.cost);
    }
    reach *= BEYOND;
    ptrdiff_t count = 0;
    curve[count++] = j->plan->now;
    double lowest = j->market.price_training;
    bool placed = j->plan->best.cost == 0 || is_out_of_reach(j, &j->plan->best);
    for (int k = 0; k < BUDGETS && reach > lowest; k++) {
        double budget = lowest * pow(reach / lowest, k / (BUDGETS - 1.0));
        epiqp_purchase b = epiqp_best(&j->market, budget);
        if (!placed && b.cost >= j->plan->best.cost) { /* the plan itself is on the curve */
            placed = true;
            curve[count++] = j->plan->best;
        }
        if (b.cost > curve[count - 1].cost && b.variance < curve[count - 1].variance.variance) {
            const epiq_plan_step more = mix_of(j, &b, false);
            if (times_of(j, &more) > MANY) break;
            curve[count++] = more;
        }
    }
    if (!placed) curve[count++] = j->plan->best;
    j->plan->plan.curve = epiqp_arena_list(j->c, j->arena, curve, count, sizeof *curve);
    j->plan->plan.curve_count = count;
    return j->plan->plan.curve ? EPIQ_OK : EPIQ_E_NOMEM;
}

/* " (0.8 to 1.1)": the interval of the standard deviation. */
static void put_interval(const epiq_part *v, char *out, size_t size)
{
    *out = '\0';
    if (v->has_interval) {
        snprintf(out, size, v->open ? " (at least %.2g)" : " (%.2g to %.2g)", sqrt(v->lo), sqrt(v->hi));
    }
}

/* Why nothing is bought. */
static const char *nothing_to_buy(const job *j, const char *interval)
{
    const double now = sqrt(j->plan->now.variance.variance);
    const bool train = j->plan->procedural.variance > 0;
    if (j->effort->kind == EPIQ_PLAN_GOAL) {
        return epiqp_arena_sentence(j->c, j->arena,
                                    "Nothing to buy: the standard deviation is %.3g already%s, and the goal is %.3g.",
                                    now, interval, sqrt(j->effort->amount));
    }
    if (now == 0) return epiqp_arena_sentence(j->c, j->arena, "Nothing to buy: the standard deviation is 0 here.");
    if (j->market.m >= j->market.most && j->effort->amount >= j->effort->price_training) {
        return epiqp_arena_sentence(j->c, j->arena,
                                    "Nothing to buy: no purchase for %.6g lowers the standard deviation (%.3g now).",
                                    j->effort->amount, now);
    }
    return epiqp_arena_sentence(
        j->c, j->arena,
        "Nothing to buy: %.6g is less than the first thing that lowers the standard deviation (%.3g now) costs, %s for "
        "%.6g.",
        j->effort->amount, now, train ? "training one more network" : "one row and a training",
        j->effort->price_training + (train ? 0 : j->effort->price_row));
}

/* "12", or "more than 1000". */
typedef struct {
    char text[40];
} many;
static many how_many(double times)
{
    enum { COUNTED = 1000 };
    many out;
    snprintf(out.text, sizeof out.text, times > COUNTED ? "more than %.0f" : "%.0f", fmin(times, COUNTED));
    return out;
}

/* Noise, and what these rows leave unlearned, after a step. How errors fall is seen from four fifths of the rows to all of them, and
 * believed for two doublings. */
static double noise_after(const job *j, const epiq_plan_step *b)
{
    enum { SEEN = 4 };
    const double times = fmin(times_of(j, b), SEEN);
    return fmax(j->noise, 0) * pow(times, -j->learning);
}

/* Whether a new observation would lie nearer to the prediction, as far as the noise is known. */
static bool is_noticed(const job *j, const epiq_plan_step *b)
{
    return epiqp_noticed(fmax(j->noise, 0) + j->plan->now.variance.variance, noise_after(j, b) + b->variance.variance);
}

/* About what is recommended: the likely plan if there is one. */
static const char *sentence(const job *j)
{
    const epiq_plan_step *b = j->plan->plan.likely ? j->plan->plan.likely : &j->plan->best;
    char interval[80], chance[64] = "", unseen[64] = "";
    put_interval(&b->variance, interval, sizeof interval);
    if (b->cost == 0) return nothing_to_buy(j, interval);
    if (is_out_of_reach(j, b)) {
        return epiqp_arena_sentence(j->c, j->arena,
                                    "None: the standard deviation is %.3g now, and %.3g would take %s times the rows "
                                    "there are, too far beyond them to plan for. Choose a larger goal, or look for "
                                    "other features.",
                                    sqrt(j->plan->now.variance.variance), sqrt(j->effort->amount),
                                    how_many(times_of(j, b)).text);
    }
    if (b->chance.known) {
        snprintf(chance, sizeof chance, "; it reaches %.3g with a chance of %.0f %%", sqrt(j->effort->amount),
                 100 * b->chance.value);
    }
    if (j->noise > 0 && !is_noticed(j, b)) {
        snprintf(unseen, sizeof unseen, "Hardly worth it beside the noise, %.3g. ", sqrt(j->noise));
    }
    const char *what =
        b->new_rows ? epiqp_arena_sentence(j->c, j->arena, "Collect %td more row%s and train %td network%s on all %td",
                                           b->new_rows, b->new_rows == 1 ? "" : "s", b->trainings,
                                           b->trainings == 1 ? "" : "s", b->rows)
                    : epiqp_arena_sentence(j->c, j->arena, "Train %td more network%s, %td in all", b->trainings,
                                           b->trainings == 1 ? "" : "s", b->members);
    return what ? epiqp_arena_sentence(j->c, j->arena,
                                       "%s%s: for %.6g the standard deviation falls from %.3g to about %.3g%s%s.",
                                       unseen, what, b->cost, sqrt(j->plan->now.variance.variance),
                                       sqrt(b->variance.variance), interval, chance)
                : NULL;
}

/* Why not to rely on it; "": nothing against it; NULL: no memory. */
static const char *doubt_of(const job *j, const epiq_plan_step *b)
{
    const bool budget = j->effort->kind == EPIQ_PLAN_BUDGET;
    if (budget && times_of(j, b) > MANY) {
        return epiqp_arena_sentence(j->c, j->arena,
                                    " This plan takes %s times the rows there are, too far beyond them for the "
                                    "forecast to be relied on.",
                                    how_many(times_of(j, b)).text);
    }
    if (budget || is_out_of_reach(j, b) || j->plan->plan.likely) return ""; /* out of reach: sentence */
    return " No plan is known to reach it with a chance of 80 %: the parts are known too roughly, or it takes too many "
           "rows.";
}

/* What would be noticed: which of the two parts there is to lower, and what is left beside the noise. */
static const char *notice_of(const job *j)
{
    const epiq_plan_step *b = j->plan->plan.likely ? j->plan->plan.likely : &j->plan->best;
    const double now = j->plan->now.variance.variance, starts = j->market.tau2 / j->market.m, noise = j->noise,
                 before = sqrt(noise + now), after = sqrt(noise_after(j, b) + b->variance.variance);
    const char *parts =
        !(now > 0)              ? "There is nothing to lower."
        : starts < LITTLE * now ? "More networks alone would change little: retraining is a small part of the variance."
        : starts > (1 - LITTLE) * now ? "More rows alone would change little: retraining is nearly all of the variance."
                                      : "Both more rows and more networks would lower it.";
    const char *doubt = doubt_of(j, b);
    if (noise < 0 || !doubt) return doubt ? epiqp_arena_sentence(j->c, j->arena, "%s%s", parts, doubt) : NULL;
    if (b->cost == 0 || is_out_of_reach(j, b)) {
        return epiqp_arena_sentence(j->c, j->arena,
                                    "%s A new observation misses the prediction by %.3g (standard deviation), of which "
                                    "noise is %.3g.%s",
                                    parts, before, sqrt(noise), doubt);
    }
    return epiqp_arena_sentence(
        j->c, j->arena,
        "%s A new observation now misses the prediction by %.3g (standard deviation, noise %.3g "
        "included%s), then by %.3g: that would %s.%s",
        parts, before, sqrt(noise), noise_after(j, b) < 0.99 * noise ? ", a part of which is not learned yet" : "",
        after, is_noticed(j, b) ? "be noticed" : "hardly be noticed", doubt);
}

/* How the parts fall, and what else is taken for granted. */
static const char *caveat(const job *j)
{
    const holder *p = j->plan;
    if (!p->exponent.known) {
        return "The data variance is taken to fall in proportion to the rows and the procedural one to stay, which was "
               "not measured here: with many features rows help less. Approximate: estimate again after part of the "
               "work.";
    }
    double data = 100 * (1 - pow(2, -j->market.a)), procedural = 100 * (1 - pow(2, -j->market.b));
    char rows[48] = "the table", first[96] = "leave the data part as it is and lower";
    if ((double)p->exponent.rows < j->market.n) {
        snprintf(rows, sizeof rows, "a sample of %td rows", p->exponent.rows);
    }
    if (j->market.a > 0) snprintf(first, sizeof first, "lower the data part by %.0f %% and", data);
    return epiqp_arena_sentence(j->c, j->arena,
                                "Twice the rows would %s the procedural part by %.0f %%, measured on halves of %s with "
                                "infinitely wide networks and taken to go on like that; how far that may be off is in "
                                "the intervals. Approximate: estimate again after part of the work.",
                                first, procedural, rows);
}

static bool measures_corrected(const epiq_options *ran)
{
    return ran->engine == EPIQ_ENGINE_NETWORK && ran->predictor == EPIQ_PREDICTOR_ENSEMBLE;
}

/* What shifted networks would save; one of them is the least. */
static int take_corrected(job *j, const epiq_points *at, const epiq_options *o, const epiq_result *r)
{
    epiq_corrected_plan *out = &j->plan->corrected;
    const ptrdiff_t now = j->plan->now.members;
    double left = -1;
    if (!at || !o || !measures_corrected(r->ran) || r->ranks > 1) return EPIQ_OK;
    int s = epiqp_corrected_measure(j->c, at, r->ran, &left);
    if (s || !(left >= 0 && left * (double)now <= EPIQP_MOST)) return s;
    const ptrdiff_t networks = epiqp_max((ptrdiff_t)ceil(left * (double)now), 1);
    *out = (epiq_corrected_plan){.known = 1, .left = left, .networks = networks, .saved = epiqp_max(now - networks, 0)};
    out->text = (double)out->saved < WORTH_SAVING * (double)now
                    ? ""
                    : epiqp_arena_sentence(j->c, j->arena,
                                           "Networks without their starts ({--predictor} shifted) have about %.2g "
                                           "of the retraining variance here: %td would do for the %td there are "
                                           "and save %td training%s.",
                                           left, networks, now, out->saved, out->saved == 1 ? "" : "s");
    return out->text ? EPIQ_OK : EPIQ_E_NOMEM;
}

static int make(job *j, const epiq_data *data, const epiq_points *at, const epiq_options *o, const epiq_result *r)
{
    int s = take_parts(j, data, o, r);
    if (s || (s = take_exponents(j, data, at, o))) return s;
    epiqp_purchase nothing = epiqp_buy_nothing(&j->market), bought;
    j->plan->now = mix_of(j, &nothing, false);
    if ((s = take_corrected(j, at, o, r))) return s;
    if (j->effort->kind == EPIQ_PLAN_BUDGET) {
        bought = epiqp_best(&j->market, j->effort->amount);
    } else if (!epiqp_cheapest(&j->market, j->effort->amount, &bought)) {
        const double most = j->market.most,
                     least = epiqp_data_at(&j->market, EPIQP_MOST) + epiqp_tau2_at(&j->market, EPIQP_MOST) / most;
        return epiqp_fail(j->c, EPIQ_E_DATA,
                          "a standard deviation of %.3g (variance %.3g) is out of reach: %g networks, %g times those "
                          "there are, on %g rows would have %.3g, and now it is %.3g%s; choose a larger goal",
                          sqrt(j->effort->amount), j->effort->amount, most, NETWORKS_MOST, EPIQP_MOST, sqrt(least),
                          sqrt(nothing.variance),
                          j->plan->exponent.known && j->market.a == 0
                              ? ": half of the rows had no larger data variance than all of them"
                              : "");
    }
    j->plan->best = mix_of(j, &bought, j->effort->kind == EPIQ_PLAN_GOAL);
    epiq_plan *plan = &j->plan->plan;
    const bool measured = j->plan->exponent.data_sd > 0;
    if (j->effort->kind == EPIQ_PLAN_GOAL) {
        plan->likely = make_safer(j, LIKELY, MANY, &j->plan->likely);
        plan->cautious = make_safer(j, 1 - (1 - j->effort->level) / 2, measured ? FAR : EPIQP_MOST, &j->plan->cautious);
    }
    plan->caveat = caveat(j);
    plan->text = sentence(j);
    plan->notice = notice_of(j);
    return plan->caveat && plan->text && plan->notice ? draw_curve(j) : EPIQ_E_NOMEM;
}

int epiq_plan_new(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                  const epiq_result *r, const epiq_plan_request *effort, epiq_plan **out)
{
    *out = NULL;
    epiq_options own;
    epiq_plan_request e = {0};
    int s = epiq_plan_check(c, effort);
    if (!s && !(s = epiqp_take(c, "epiq_plan_request", effort, &e, sizeof e)) && o) {
        s = epiqp_options_take(c, o, &own);
        own.width = own.width ? own.width : r->ran->width; /* as chosen, where they were left open */
        own.lambda = own.lambda > 0 ? own.lambda : r->ran->lambda;
    }
    if (!s && at && at->data != data) {
        s = epiqp_fail(c, EPIQ_E_DATA, "the points are not those of these rows; give those of the estimate");
    }
    if (s) return s;
    holder *h = epiqp_alloc(c, 1, sizeof *h);
    if (!h) return EPIQ_E_NOMEM;
    *h = (holder){.plan = {.now = &h->now,
                           .best = &h->best,
                           .data = &h->data,
                           .procedural = &h->procedural,
                           .exponent = &h->exponent,
                           .corrected = &h->corrected}};
    job j = {.c = c, .effort = &e, .plan = h, .arena = &h->arena};
    s = make(&j, data, at, o ? &own : NULL, r);
    epiqp_clear_cancel(c);
    if (s) epiq_plan_free(c, &h->plan);
    *out = s ? NULL : &h->plan;
    return s;
}

int epiq_plan_forecast(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                       epiq_result **out)
{
    double rate = 0, most = 0;
    int s = epiq_forecast(c, data, at, o, out);
    if (s) return s;
    if (!(s = epiq_machine_rate(c, &rate, &most))) {
        double more = epiqp_fall_operations(data, at, (*out)->ran) / (rate * (double)(*out)->ran->threads);
        double corrected = 0;
        if (measures_corrected((*out)->ran)) s = epiqp_corrected_forecast(c, at, (*out)->ran, &corrected);
        if (!s) s = epiqp_forecast_of(c, *out, (*out)->cost->seconds + more + corrected);
    }
    if (s) epiq_result_free(c, *out);
    *out = s ? NULL : *out;
    return s;
}

void epiq_plan_free(epiq_ctx *c, epiq_plan *p)
{
    if (p) epiqp_arena_free(c, &((holder *)p)->arena);
    epiqp_free(c, p);
}
