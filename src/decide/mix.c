/* mix.c - the cheapest whole numbers of rows and networks that reach a variance, and the least variance that a budget
 * buys (docs/method.md section 10). Either only networks are added, or rows are and every network is trained again.
 *
 * The second is a problem of two wares, x and y, both whole. V(n', m') is convex in both together (each of its terms is
 * log-convex), so with y allowed to be any number the objective is convex in x, and never above the true one: from its
 * minimum outwards x is tried until that bound has passed the best found. With x the dearer ware this takes at most
 * about 10^4.5 steps, the root of EPIQP_MOST, because a unit of y then changes less than one of x.
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
    bool goal;    /* the cost is minimised with a variance of at most `limit`; else the variance with such a cost */
    ware x, y;    /* x the dearer one */
    double limit; /* the goal or the budget */
} task;

static double networks_most(const epiqp_market *k)
{
    return k->most > 0 ? k->most : EPIQP_MOST;
}

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

static double objective(const task *t, double x, double y)
{
    return t->goal ? cost_of(t, x, y) : variance_of(t, x, y);
}

static bool within_limit(const task *t, double x, double y)
{
    return (t->goal ? variance_of(t, x, y) : cost_of(t, x, y)) <= t->limit;
}

/* ---- y for a given x: the least that reaches the goal, or the most that the budget buys ---- */

static double networks_for(const epiqp_market *k, double n, double goal)
{
    double left = goal - epiqp_data_at(k, n), tau2 = epiqp_tau2_at(k, n);
    return left > 0 ? tau2 / left : left == 0 && tau2 == 0 ? 1 : INFINITY;
}

/* By Newton's method in u = log(n'/n), in which the variance is convex and falling: it stays left of the root. */
static double rows_for(const epiqp_market *k, double least, double m, double goal)
{
    double tau2 = k->tau2 / m, left = goal - tau2;
    if (variance_at(k, least, m) <= goal) return least;
    if (variance_at(k, EPIQP_MOST, m) > goal) return INFINITY;
    if (k->b == 0) return k->n * pow(k->data / left, 1 / k->a);
    double u = log(least / k->n);
    for (int step = 0; step < 200; step++) {
        double data = k->data * exp(-k->a * u), starts = tau2 * exp(-k->b * u);
        double more = (data + starts - goal) / (k->a * data + k->b * starts);
        u += more;
        if (!(more > 1e-15 * (1 + u))) break;
    }
    return k->n * exp(u);
}

static double any_y(const task *t, double x)
{
    if (!t->goal) return fmin(t->y.most, t->y.have + (t->limit - t->x.price * (x - t->x.have)) / t->y.price);
    return t->rows_dearer ? fmax(t->y.least, networks_for(t->k, x, t->limit)) : rows_for(t->k, t->y.least, x, t->limit);
}

static bool in_range(const task *t, double y)
{
    return y >= t->y.least && y <= t->y.most;
}

/* The objective with y any number: a lower bound of that with y whole. */
static double bound(const task *t, double x)
{
    double y = any_y(t, x);
    return in_range(t, y) ? objective(t, x, y) : INFINITY;
}

/* The objective with y whole. */
static double exact(const task *t, double x, double *y)
{
    const epiqp_market *k = t->k;
    const bool lowers = t->rows_dearer ? k->tau2 > 0 : (k->data > 0 && k->a > 0) || (k->tau2 > 0 && k->b > 0);
    const bool moves = t->goal || lowers; /* what does not lower the variance is not bought */
    const double better = t->goal ? -1 : 1;
    *y = !moves ? t->y.least : t->goal ? ceil(any_y(t, x)) : floor(any_y(t, x));
    *y += moves && in_range(t, *y + better) && within_limit(t, x, *y + better) ? better : 0; /* rounding, either way */
    *y -= within_limit(t, x, *y) ? 0 : better;
    return in_range(t, *y) && within_limit(t, x, *y) ? objective(t, x, *y) : INFINITY;
}

/* The x in [lo, hi] from which the bound stops falling. */
static double valley(const task *t, double lo, double hi)
{
    while (lo < hi) {
        double middle = floor((lo + hi) / 2), here = bound(t, middle), next = bound(t, middle + 1);
        bool falling = next < here || (t->goal && here == INFINITY); /* short of a goal: more helps */
        lo = falling ? middle + 1 : lo;
        hi = falling ? hi : middle;
    }
    return lo;
}

static bool search(const task *t, double *x, double *y)
{
    double best = INFINITY, start = valley(t, t->x.least, t->x.most), other;
    for (int step = 1; step >= -1; step -= 2) {
        for (double tried = step > 0 ? start : start - 1; tried >= t->x.least && tried <= t->x.most; tried += step) {
            if (!(bound(t, tried) < best)) break;
            double value = exact(t, tried, &other);
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
static bool with_rows(const epiqp_market *k, bool goal, double limit, epiqp_purchase *out)
{
    ware rows = {k->price_row, k->n, k->n + 1, EPIQP_MOST}, networks = {k->price_training, 0, 1, networks_most(k)};
    bool rows_dearer = k->price_row > k->price_training;
    task t = {k, rows_dearer, goal, rows_dearer ? rows : networks, rows_dearer ? networks : rows, limit};
    double x = 0, y = 0;
    if (!search(&t, &x, &y)) return false;
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
    bool alone = m <= networks_most(k) && members_only(k, m).variance <= goal;
    if (!with_rows(k, true, goal, out)) {
        *out = members_only(k, m);
        return alone;
    }
    if (alone && members_only(k, m).cost <= out->cost) *out = members_only(k, m);
    return true;
}

epiqp_purchase epiqp_best(const epiqp_market *k, double budget)
{
    const double most = networks_most(k);
    double m = fmin(fmax(most, k->m), k->m + floor(budget / k->price_training));
    m += m < most && members_only(k, m + 1).cost <= budget; /* rounding */
    m -= m > k->m && members_only(k, m).cost > budget;
    epiqp_purchase nothing = epiqp_buy_nothing(k), best = members_only(k, m), other;
    if (with_rows(k, false, budget, &other) && other.variance < best.variance) best = other;
    return best.variance < nothing.variance ? best : nothing;
}
