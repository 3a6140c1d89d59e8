/* confidence.h - where the expected prediction lies: what infinitely many networks would predict, each with a table of its own from
 * the law that this one came from (docs/method.md section 3).
 */
#ifndef EPIQP_CONFIDENCE_H
#define EPIQP_CONFIDENCE_H

#include "est/ev.h"
#include "est/limit.h"

/* Networks on rows drawn anew, or on all rows but a part, from the starts of networks on all rows. */
typedef struct {
    ptrdiff_t resamples;
    double *off; /* resamples by points: its prediction less that of the same start on all rows; NULL: there are none */
    double *kernel; /* the same of kernel regression, where its limit is known; NULL: not computed */
} epiqp_resampled;
int epiqp_estimate_resampled(const epiqp_problem *pb, const epiqp_maker *maker, const epiqp_ev_findings *ev,
                             const epiqp_limit *limit, epiqp_resampled *found);
/* The start of resample k: the two of a pair of halves have the same. */
ptrdiff_t epiqp_resample_start(const epiq_options *o, ptrdiff_t k, ptrdiff_t members);
double epiqp_resampled_bytes(const epiqp_problem *pb, const epiqp_plan *plan);

/* What a network is made of: one training, or two. */
ptrdiff_t epiqp_trainings_each(const epiq_options *o);

#endif
