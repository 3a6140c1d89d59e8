/* fitted_model.h - small models in a unit test: their rows, their points, and what they predict there. */
#ifndef FITTED_MODEL_H
#define FITTED_MODEL_H

#include "data/table.h"
#include "epiq_model.h"
#include "model/model.h"
#include "test.h"
#include "usual.h"

#include <stdlib.h>
#include <unistd.h>

enum { N = 150, D = 3, POINTS = 200 }; /* two panels of the factor, four chunks of points */
static double X[N * D], Y[N], AT[POINTS * D];
static char path[64], other[64];

typedef struct {
    double prediction[POINTS], procedural[POINTS], data[POINTS], ensemble[POINTS];
    double sd[POINTS], lo[POINTS], hi[POINTS], noise[POINTS];
    unsigned char known[POINTS];
} numbers;

static inline epiq_ctx *start(void)
{
    epiq_ctx *c;
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_synth(c, 1, N, D, 5, X, Y), EPIQ_OK);
    EQ(epiq_synth(c, 1, POINTS, D, 6, AT, (double[POINTS]){0}), EPIQ_OK);
    snprintf(path, sizeof path, "/tmp/epiq-model-%ld", (long)getpid());
    snprintf(other, sizeof other, "/tmp/epiq-model-%ld.2", (long)getpid());
    return c;
}

static inline void end(epiq_ctx *c)
{
    EQ(c->live_blocks, 0);
    epiq_ctx_free(c);
    unlink(path);
    unlink(other);
}

static inline epiq_options small(void)
{
    epiq_options o = usual_options();
    o.width = 32;
    o.members = 6;
    o.batches = 4;
    o.data_by = EPIQ_DATA_BY_IF; /* thirty networks less to train, where it is not about them */
    return o;
}

static inline epiq_model *fitted(epiq_ctx *c, ptrdiff_t n, const epiq_options *o, const int64_t *group)
{
    epiq_data *data = NULL;
    epiq_model *m = NULL;
    EQ(epiq_data_new(c, n, D, X, Y, group, o, &data), EPIQ_OK);
    EQ(epiq_fit(c, data, o, &m), EPIQ_OK);
    STR(epiq_message(c), "");
    epiq_data_free(c, data);
    return m;
}

static ptrdiff_t decided_by_few, withheld, outside; /* points, of the last call */
static int used_device;                             /* whether it did */
static double asked_level;                          /* of the next calls, */
static int asked_device;                            /* where, */
static ptrdiff_t asked_before;                      /* and rows before theirs */
static inline int ask(epiq_ctx *c, const epiq_model *m, ptrdiff_t threads, int exact, numbers *r)
{
    memset(r, 0xff, sizeof *r); /* every number is NaN, so that one left out shows */
    epiq_predictions out = {.size = sizeof(epiq_predictions),
                            .prediction = r->prediction,
                            .procedural = r->procedural,
                            .data = r->data,
                            .ensemble = r->ensemble,
                            .known = r->known,
                            .threads = threads,
                            .exact = exact,
                            .sd = r->sd,
                            .lo = r->lo,
                            .hi = r->hi,
                            .noise = r->noise,
                            .level = asked_level,
                            .first = asked_before,
                            .device = asked_device};
    int s = epiq_model_predict(c, m, POINTS, AT, &out);
    decided_by_few = out.few;
    withheld = out.withheld;
    outside = out.outside;
    used_device = out.on_device;
    return s;
}

#endif
