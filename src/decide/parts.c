/* parts.c - a part's mean over several points, with an interval that holds however their errors hang together. */
#include "decide/decide.h"

#include <math.h>

/* The standard deviation of V_p is V_p sqrt(2/nu_p), and that of a mean at most the mean of theirs: from it nu. */
epiq_part epiqp_part_mean(const epiq_result *r, size_t part, double level)
{
    double sum = 0, sd = 0, count = (double)r->point_count;
    bool sampled = true;
    epiq_method method = EPIQ_BY_NONE;
    for (ptrdiff_t p = 0; p < r->point_count; p++) {
        const epiq_part *one = (const epiq_part *)((const char *)&r->points[p] + part);
        if (!one->known) {
            return (epiq_part){.method = one->method};
        }
        sampled = sampled && (one->variance == 0 || one->df > 0);
        sum += one->variance / count;
        sd += one->variance > 0 && one->df > 0 ? one->variance / count / sqrt(one->df) : 0;
        method = one->method;
    }
    return epiq_part_of(sum, sampled && sd > 0 ? sum / sd * (sum / sd) : 0, level, method);
}
