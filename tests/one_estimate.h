/* one_estimate.h - one estimate after the other in a unit test: run() asks it, its pieces are c, data, at and r, and done() ends
 * them and counts what is left of their memory. */
#ifndef ONE_ESTIMATE_H
#define ONE_ESTIMATE_H

#include "base/base.h"
#include "test.h"
#include "warned.h"

static epiq_ctx *c;
static epiq_data *data;
static epiq_points *at;
static epiq_result *r;

static void done(void)
{
    epiq_result_free(c, r);
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    if (c) EQ(c->live_blocks, 0);
    epiq_ctx_free(c);
    c = NULL, data = NULL, at = NULL, r = NULL;
}

/* x0 NULL: at the mean. */
static int run(ptrdiff_t n, ptrdiff_t d, const double *x, const double *y, const int64_t *group, ptrdiff_t points,
               const double *x0, const epiq_options *o)
{
    done();
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    int s = epiq_data_new(c, n, d, x, y, group, o, &data);
    s = s ? s : epiq_points_new(c, data, &at);
    s = s ? s : (x0 ? epiq_points_add_rows(c, at, points, x0) : epiq_points_add(c, at, "mean"));
    return s ? s : epiq_estimate(c, data, at, o, &r);
}

/* The sentence of its warning with this code, or NULL. */
static inline const char *warned(const char *code)
{
    return warned_in(r, code);
}

static inline const char *noted(const char *code)
{
    return noted_in(r, code);
}

#endif
