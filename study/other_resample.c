/* other_resample.c - the cheap bootstrap of pairs of networks as in the sequel's public code: base and auxiliary network from one
 * start, stopped after so many steps, the one on rows drawn with replacement, the other on rows drawn again, with the target 0,
 * which is what a start is expected to say. Through epiq.h alone.
 */
#include "study/lab.h"

#include <stdlib.h>

enum { RESAMPLES = 4 };

/* What the first network of this seed predicts at x0 after training on n rows, given by their numbers; NULL: all in their order.
 * zero: their targets are 0. */
static int ask(epiq_ctx *ctx, const lab_cell *c, const lab_drawn *drawn, const ptrdiff_t *rows, bool zero,
               uint64_t seed, double *out)
{
    epiq_options o = c->o;
    epiq_data *data = NULL;
    epiq_points *at = NULL;
    epiq_result *r = NULL;
    double *x = malloc((size_t)(c->n * (c->d + 1)) * sizeof *x), *y = x ? x + c->n * c->d : NULL;
    int s = x ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; !s && i < c->n; i++) {
        const ptrdiff_t from = rows ? rows[i] : i;
        for (ptrdiff_t k = 0; k < c->d; k++) {
            x[i * c->d + k] = drawn->x[from * c->d + k];
        }
        y[i] = zero ? 0 : drawn->y[from];
    }
    o.seed = seed;
    o.predictor = EPIQ_PREDICTOR_ENSEMBLE;
    o.confidence = EPIQ_CONFIDENCE_NONE;
    o.methods = EPIQ_EV;
    o.members = 2; /* the fewest there can be */
    o.influential = 0;
    s = s ? s : epiq_data_new(ctx, c->n, c->d, x, y, NULL, &o, &data);
    s = s ? s : epiq_points_new(ctx, data, &at);
    s = s ? s : epiq_points_add_rows(ctx, at, 1, drawn->points);
    s = s ? s : epiq_estimate(ctx, data, at, &o, &r);
    if (!s) *out = r->points[0]->members[0];
    epiq_result_free(ctx, r);
    epiq_points_free(ctx, at);
    epiq_data_free(ctx, data);
    free(x);
    return s;
}

int lab_other_resample(epiq_ctx *ctx, const lab_cell *c, ptrdiff_t rep, double *sample)
{
    lab_drawn drawn = {0};
    uint64_t state = lab_network_seed(c, rep);
    double psi = 0, squares = 0;
    ptrdiff_t *rows = malloc((size_t)c->n * sizeof *rows);
    int s = rows ? lab_draw(ctx, c, rep, &drawn) : EPIQ_E_NOMEM;
    for (ptrdiff_t k = 0; k < c->length; k++) {
        sample[k] = NAN;
    }
    for (int r = -1; !s && r < RESAMPLES; r++) { /* -1: all rows, for both */
        const uint64_t seed = lab_next(&state);
        double h[2];
        for (int which = 0; !s && which < 2; which++) {
            for (ptrdiff_t i = 0; r >= 0 && i < c->n; i++) {
                rows[i] = (ptrdiff_t)(lab_next(&state) % (uint64_t)c->n); /* n is far below 2^64: no bias to speak of */
            }
            s = ask(ctx, c, &drawn, r < 0 ? NULL : rows, which, seed, &h[which]);
        }
        if (s) break;
        const double pair = h[0] - h[1];
        if (r < 0) psi = pair;
        if (r >= 0) squares += (pair - psi) * (pair - psi) / RESAMPLES;
    }
    if (!s) {
        sample[S_PREDICTION] = sample[S_CENTRE] = psi;
        sample[S_CENTRE_VARIANCE] = squares;
        sample[S_CENTRE_DF] = RESAMPLES;
    }
    free(rows);
    free(drawn.x);
    return s;
}
