/* variance.c - variances with their intervals; sums carry Satterthwaite's degrees of freedom, differences that are negative are
 * withheld (docs/method.md section 3).
 */
#include "est/variance.h"

#include "stats/stats.h"

#include <float.h>
#include <math.h>

const char *epiq_method_text(epiq_method m)
{
    static const char *const TEXT[] = {
#define METHOD_TEXT(name, text) text,
        EPIQ_METHOD_LIST(METHOD_TEXT)
#undef METHOD_TEXT
    };
    return m <= EPIQ_BY_BA_RETRAIN ? TEXT[m] : "unknown";
}

/* An upper end farther away than this, over the estimate, is no statement about the variance: with one degree of freedom
 * it is 1018 times as large, and with a tenth of one 10^31 times. */
static const double FARTHEST = 100;

epiq_part epiq_part_of(double variance, double df, double level, epiq_method method)
{
    if (!(variance >= 0 && variance <= DBL_MAX)) return (epiq_part){.method = method};
    epiq_part part = {.known = 1, .variance = variance, .method = method};
    part.df = variance > 0 && df > 0 && df <= DBL_MAX ? df : 0;
    if (part.df > 0 && level > 0 && level < 1) {
        double lo, hi;
        epiqp_variance_interval(variance, df, level, &lo, &hi);
        if (lo > 0) {
            part.has_interval = 1;
            part.lo = fmin(lo, variance); /* with less than a degree of freedom the quantiles may lie beyond it */
            part.open = !(hi <= fmin(FARTHEST * variance, DBL_MAX));
            part.hi = part.open ? 0 : fmax(hi, variance);
        }
    }
    return part;
}

/* The least number of members whose interval is narrow enough: more of them only make it narrower. */
ptrdiff_t epiq_members_for(double relative, double level)
{
    static const ptrdiff_t MOST = 100000000; /* as far as the quantiles are known to be accurate */
    ptrdiff_t few = 1, enough = MOST + 1;
    while (relative > 0 && relative <= DBL_MAX && enough - few > 1) {
        ptrdiff_t m = few + (enough - few) / 2;
        epiq_part one = epiq_part_of(1, (double)(m - 1), level, EPIQ_BY_EV);
        bool narrow = one.has_interval && !one.open && (one.hi - one.lo) / 2 <= relative;
        few = narrow ? few : m;
        enough = narrow ? m : enough;
    }
    return enough <= MOST ? enough : 0;
}

/* By differences from the first: equal numbers have exactly their own mean. */
double epiqp_mean_of(const double *h, ptrdiff_t count, ptrdiff_t stride)
{
    double sum = 0;
    for (ptrdiff_t k = 0; k < count; k++) {
        sum += (h[k * stride] - h[0]) / (double)count;
    }
    return h[0] + sum;
}

/* In two passes. */
double epiqp_variance_of(const double *h, ptrdiff_t count, ptrdiff_t stride)
{
    double mean = epiqp_mean_of(h, count, stride), sum = 0, largest = 0;
    for (ptrdiff_t k = 0; k < count; k++) {
        double away = h[k * stride] - mean;
        sum += away * away;
        largest = fmax(largest, fabs(away));
    }
    return largest > 0 && sum < DBL_MIN ? -1 : sum / (double)(count - 1);
}

epiq_part epiqp_sum_of(epiq_part a, epiq_part b, double m, double level, epiq_method method)
{
    if (!a.known || !b.known) return (epiq_part){0};
    double x = a.variance, y = b.variance / m, total = x + y, inverse_df = 0;
    bool exact_b = b.method == EPIQ_BY_INFINITE;
    if ((!a.has_interval && x > 0) || (!b.has_interval && y > 0 && !exact_b)) {
        return (epiq_part){.known = 1, .variance = total, .method = method};
    }
    /* of shares: squares of variances may not be doubles */
    inverse_df += a.has_interval ? x / total * (x / total) / a.df : 0;
    inverse_df += b.has_interval ? y / total * (y / total) / b.df : 0;
    return epiq_part_of(total, inverse_df > 0 ? 1 / inverse_df : 0, level, method);
}

epiq_part epiqp_in_units(epiq_part part, double unit2)
{
    if (part.variance == 0) {
        return part; /* in any units, those whose square no double holds as well */
    }
    double value = part.variance * unit2;
    if (!part.known || !(value >= DBL_MIN && value <= DBL_MAX)) return (epiq_part){.method = part.method};
    part.variance = value;
    part.lo *= unit2;
    part.hi *= unit2;
    part.has_interval = part.has_interval && part.lo >= DBL_MIN && part.hi <= DBL_MAX;
    if (!part.has_interval) part.lo = part.hi = part.open = 0;
    return part;
}

/* A difference has no interval, and none of it is left when it is negative. */
static epiq_part difference(double value, epiq_method method)
{
    return (epiq_part){.known = value >= 0, .variance = value >= 0 ? value : 0, .method = method};
}

epiqp_split epiqp_split_of(epiq_part procedural, epiq_part data, epiq_part ba, double batches)
{
    epiqp_split s = {.procedural = procedural, .data = data, .method = EPIQ_BY_IF_EV};
    double value = 0;
    if (!procedural.known && data.known && ba.known) {
        value = batches * (ba.variance - data.variance);
        s.method = data.method == EPIQ_BY_RETRAIN ? EPIQ_BY_BA_RETRAIN : EPIQ_BY_BA_IF;
        s.procedural = difference(value, s.method);
    } else if (!data.known && procedural.known && ba.known) {
        value = ba.variance - procedural.variance / batches;
        s.method = EPIQ_BY_BA_EV;
        s.data = difference(value, s.method);
    } else if (procedural.method == EPIQ_BY_INFINITE) {
        s.method = EPIQ_BY_INFINITE;
    } else if (data.method == EPIQ_BY_RETRAIN) {
        s.method = EPIQ_BY_RETRAIN_EV;
    }
    s.negative = fmin(value, 0);
    return s;
}

static bool direct(const epiq_part *part)
{
    return part->known && part->method != EPIQ_BY_BA_IF && part->method != EPIQ_BY_BA_EV &&
           part->method != EPIQ_BY_BA_RETRAIN;
}

epiq_part epiqp_ensemble_of(const epiqp_split *s, epiq_part ba, const epiq_options *o)
{
    bool by_ba = ba.known && o->ensemble_size == o->batches && !(direct(&s->data) && direct(&s->procedural));
    return by_ba ? ba : epiqp_sum_of(s->data, s->procedural, (double)o->ensemble_size, o->level, s->method);
}

bool epiqp_far_from_infinite(const epiq_part *networks, const epiq_part *infinite)
{
    return networks->has_interval && infinite->known &&
           (infinite->variance < networks->lo / 2 || (!networks->open && infinite->variance > 2 * networks->hi));
}
