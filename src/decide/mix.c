/* mix.c - the cheapest whole numbers of rows and networks that reach a variance, and the least variance that a budget
 * buys (docs/method.md section 10). Either only networks are added, or rows are and every network is trained again.
 *
 * The second is a problem of two wares, x and y, both whole. V(n', m') is convex in both together (each of its terms is
 * log-convex), so with y allowed to be any number the objective is convex in x, and never above the true one: from its
 * minimum outwards x is tried until that bound has passed the best found. With x the dearer ware this takes at most some
 * 10^4.5 steps, the root of EPIQP_MOST, for a unit of y then changes less than one of x.
 */
#include "decide/decide.h"

#include <math.h>

typedef struct {
    double price;
    double have;        /* that cost nothing */
    double least, most; /* it may be */
} ware;

typedef struct {
    const epiqp_market *k;
    bool rows_dearer;
    ware x, y;    /* x the dearer one */
    double limit; /* the goal or the budget */
} task;

double epiqp_data_at(const epiqp_market *k, double n)
{
    return k->a == 1 ? k->data * k->n / n : k->data * pow(k->n / n, k->a);
}

double epiqp_tau2_at(const epiqp_market *k, double n)
{
    return k->b == 0 ? k->tau2 : k->tau2 * pow(k->n / n, k->b);
}

static double variance_at(const epiqp_market *k, double n, double m)
{
    return epiqp_data_at(k, n) + epiqp_tau2_at(k, n) / m;
}

static double variance_of(const task *t, double x, double y)
{
    return t->rows_dearer ? variance_at(t->k, x, y) : variance_at(t->k, y, x);
}

static double cost_of(const task *t, double x, double y)
{
    return t->x.price * (x - t->x.have) + t->y.price * (y - t->y.have);
}

/* ---- a goal: the least y that reaches it with x, and the cost ---- */

static double networks_for(const epiqp_market *k, double n, double goal)
{
    double left = goal - epiqp_data_at(k, n), tau2 = epiqp_tau2_at(k, n);
    return left > 0 ? tau2 / left : left == 0 && tau2 == 0 ? 1 : INFINITY;
}

/* By Newton's method in u = log(n'/n), in which the variance is convex and falling: from the left it never passes the
 * root. */
static double rows_for(const epiqp_market *k, double least, double m, double goal)
{
    double tau2 = k->tau2 / m, left = goal - tau2;
    if (variance_at(k, least, m) <= goal) {
        return least;
    }
    if (variance_at(k, EPIQP_MOST, m) > goal) {
        return INFINITY;
    }
    if (k->b == 0) {
        return k->n * pow(k->data / left, 1 / k->a);
    }
    double u = log(least / k->n);
    for (int step = 0; step < 200; step++) {
        double data = k->data * exp(-k->a * u), starts = tau2 * exp(-k->b * u);
        double more = (data + starts - goal) / (k->a * data + k->b * starts);
        u += more;
        if (!(more > 1e-15 * (1 + u))) {
            break;
        }
    }
    return k->n * exp(u);
}

static double y_for_goal(const task *t, double x)
{
    return t->rows_dearer ? fmax(t->y.least, networks_for(t->k, x, t->limit)) : rows_for(t->k, t->y.least, x, t->limit);
}

static double goal_bound(const task *t, double x)
{
    double y = y_for_goal(t, x);
    return y <= t->y.most ? cost_of(t, x, y) : INFINITY;
}

static double goal_exact(const task *t, double x, double *y)
{
    *y = ceil(y_for_goal(t, x));
    *y -= *y > t->y.least && variance_of(t, x, *y - 1) <= t->limit; /* rounding may be off by one either way */
    *y += variance_of(t, x, *y) > t->limit;
    return *y <= t->y.most && variance_of(t, x, *y) <= t->limit ? cost_of(t, x, *y) : INFINITY;
}

/* ---- a budget: the most y it buys beside x, and the variance ---- */

/* Whether more of y lowers the variance. */
static bool y_helps(const task *t)
{
    const epiqp_market *k = t->k;
    return t->rows_dearer ? k->tau2 > 0 : (k->data > 0 && k->a > 0) || (k->tau2 > 0 && k->b > 0);
}

static double y_for_budget(const task *t, double x)
{
    return fmin(t->y.most, t->y.have + (t->limit - t->x.price * (x - t->x.have)) / t->y.price);
}

static double budget_bound(const task *t, double x)
{
    double y = y_for_budget(t, x);
    return y >= t->y.least ? variance_of(t, x, y) : INFINITY;
}

static double budget_exact(const task *t, double x, double *y)
{
    bool helps = y_helps(t);
    *y = helps ? floor(y_for_budget(t, x)) : t->y.least; /* what changes nothing is not bought */
    *y += helps && *y < t->y.most && cost_of(t, x, *y + 1) <= t->limit;
    *y -= cost_of(t, x, *y) > t->limit;
    return *y >= t->y.least && cost_of(t, x, *y) <= t->limit ? variance_of(t, x, *y) : INFINITY;
}

/* ---- the search ---- */

typedef struct {
    double (*bound)(const task *t, double x);
    double (*exact)(const task *t, double x, double *y);
} aim;
static const aim GOAL = {goal_bound, goal_exact}, BUDGET = {budget_bound, budget_exact};

/* The x in [lo, hi] from which the bound stops falling. */
static double valley(const task *t, const aim *a, double lo, double hi)
{
    while (lo < hi) {
        double middle = floor((lo + hi) / 2), here = a->bound(t, middle), next = a->bound(t, middle + 1);
        bool falling = next < here || (a == &GOAL && here == INFINITY); /* short of a goal: more helps */
        if (falling) {
            lo = middle + 1;
        } else {
            hi = middle;
        }
    }
    return lo;
}

static bool search(const task *t, const aim *a, double *x, double *y)
{
    double best = INFINITY, start = valley(t, a, t->x.least, t->x.most);
    for (int step = 1; step >= -1; step -= 2) {
        for (double tried = step > 0 ? start : start - 1; tried >= t->x.least && tried <= t->x.most; tried += step) {
            double other, value;
            if (!(a->bound(t, tried) < best)) {
                break;
            }
            value = a->exact(t, tried, &other);
            if (value < best) {
                best = value;
                *x = tried;
                *y = other;
            }
        }
    }
    return best < INFINITY;
}

/* New rows, at least one, and every network trained again. */
static bool with_rows(const epiqp_market *k, const aim *a, double limit, epiqp_purchase *out)
{
    ware rows = {k->price_row, k->n, k->n + 1, EPIQP_MOST}, networks = {k->price_training, 0, 1, EPIQP_MOST};
    bool rows_dearer = k->price_row > k->price_training;
    task t = {k, rows_dearer, rows_dearer ? rows : networks, rows_dearer ? networks : rows, limit};
    double x = 0, y = 0;
    if (!search(&t, a, &x, &y)) {
        return false;
    }
    double n = rows_dearer ? x : y, m = rows_dearer ? y : x;
    *out = (epiqp_purchase){n, m, m, cost_of(&t, x, y), variance_of(&t, x, y)};
    return true;
}

static epiqp_purchase members_only(const epiqp_market *k, double m)
{
    return (epiqp_purchase){k->n, m, m - k->m, k->price_training * (m - k->m), k->data + k->tau2 / m};
}

epiqp_purchase epiqp_buy_nothing(const epiqp_market *k)
{
    return members_only(k, k->m);
}

bool epiqp_cheapest(const epiqp_market *k, double goal, epiqp_purchase *out)
{
    double left = goal - k->data, m = left > 0 ? fmax(k->m, ceil(k->tau2 / left)) : INFINITY;
    if (epiqp_buy_nothing(k).variance <= goal) {
        *out = epiqp_buy_nothing(k);
        return true;
    }
    m -= m - 1 > k->m && members_only(k, m - 1).variance <= goal; /* rounding */
    m += members_only(k, m).variance > goal;
    bool alone = m <= EPIQP_MOST && members_only(k, m).variance <= goal;
    if (!with_rows(k, &GOAL, goal, out)) {
        *out = members_only(k, m);
        return alone;
    }
    if (alone && members_only(k, m).cost <= out->cost) {
        *out = members_only(k, m);
    }
    return true;
}

epiqp_purchase epiqp_best(const epiqp_market *k, double budget)
{
    double m = fmin(fmax(EPIQP_MOST, k->m), k->m + floor(budget / k->price_training));
    m += m < EPIQP_MOST && members_only(k, m + 1).cost <= budget; /* rounding */
    m -= m > k->m && members_only(k, m).cost > budget;
    epiqp_purchase nothing = epiqp_buy_nothing(k), best = members_only(k, m), other;
    if (with_rows(k, &BUDGET, budget, &other) && other.variance < best.variance) {
        best = other;
    }
    return best.variance < nothing.variance ? best : nothing;
}
