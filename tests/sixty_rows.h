/* sixty_rows.h - estimates of small networks on 60 rows of a synthetic set in a unit test. */
#ifndef SIXTY_ROWS_H
#define SIXTY_ROWS_H

#include "one_estimate.h"
#include "usual.h"

/* n rows of synthetic set 1 in 3 features */
enum { N = 60, D = 3 };
static double X[N * D], Y[N];
static const double X0[2 * D] = {0.1, 0.1, 0.1, 0.02, 0.15, 0.08};
static inline int run_synth(const epiq_options *o)
{
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    EQ(epiq_synth(own, 1, N, D, 5, X, Y), EPIQ_OK);
    epiq_ctx_free(own);
    return run(N, D, X, Y, NULL, 2, X0, o);
}

static inline epiq_options small(void)
{
    epiq_options o = usual_options();
    o.scale = EPIQ_SCALE_NONE;
    o.width = 32;
    o.members = 6;
    o.batches = 4;
    o.fold_members = 0;
    o.threads = 2;
    return o;
}

#endif
