/* variance.h - variances with their intervals: of numbers, of sums, of differences (docs/method.md section 3). */
#ifndef EPIQP_VARIANCE_H
#define EPIQP_VARIANCE_H

#include "base/base.h"

#define EPIQP_NARROW 2 /* degrees of freedom: below, an interval's upper end is some 40 times the variance */

/* Of count numbers h[0], h[stride], ...: their mean, and their sample variance (negative: too small for a double, not 0). */
double epiqp_mean_of(const double *h, ptrdiff_t count, ptrdiff_t stride);
double epiqp_variance_of(const double *h, ptrdiff_t count, ptrdiff_t stride);

/* a + b / m with the interval of the sum; a closed form (df 0, nothing sampled) is exact. A difference has no interval. */
epiq_part epiqp_sum_of(epiq_part a, epiq_part b, double m, double level, epiq_method method);
epiq_part epiqp_in_units(epiq_part part, double unit2); /* of the target, squared; unknown if no double can hold it */

/* Both parts, where two of the three estimators know something. A difference that is negative is withheld. */
typedef struct {
    epiq_part procedural, data;
    epiq_method method; /* of their sums */
    double negative;    /* what was withheld; 0: nothing */
} epiqp_split;
epiqp_split epiqp_split_of(epiq_part procedural, epiq_part data, epiq_part ba, double batches);
/* data + procedural/size; BA, if of that size, where a part is unknown or a difference from BA. ba: corrected. */
epiq_part epiqp_ensemble_of(const epiqp_split *s, epiq_part ba, const epiq_options *o);

/* Whether networks with this variance, and its interval, are far from infinitely wide ones with that. */
bool epiqp_far_from_infinite(const epiq_part *networks, const epiq_part *infinite);

#endif
