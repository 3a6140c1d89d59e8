/* 2_many_points.c - many questions, one factorisation: where in a grid would another row be worth most?
 * Engine infinite answers in closed form without training, so a thousand points take a moment.
 */
#include <epiq.h>

#include <stdbool.h>
#include <stdio.h>

enum { N = 100, D = 2, GRID = 1000 };

int main(void)
{
    static double x[N * D], y[N], grid[GRID * D];
    for (int k = 0; k < GRID; k++) { /* 40 by 25 points over the square the rows fill */
        grid[k * D] = 0.2 * (k % 40) / 39;
        grid[k * D + 1] = 0.2 * (k / 40) / 24;
    }
    epiq_ctx *c = NULL;
    epiq_data *data = NULL;
    epiq_points *at = NULL;
    epiq_result *r = NULL;
    epiq_options o = epiq_options_default();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.methods = EPIQ_IF;
    o.influential = 0;

    bool ok = epiq_ctx_new(&c) >= 0 &&                /* as in 1_decompose.c, */
              epiq_synth(c, 1, N, D, 7, x, y) >= 0 && /* with made-up rows */
              epiq_data_new(c, N, D, x, y, NULL, &o, &data) >= 0 && epiq_points_new(c, data, &at) >= 0 &&
              epiq_points_add_rows(c, at, GRID, grid) >= 0 && /* and a thousand questions */
              epiq_estimate(c, data, at, &o, &r) >= 0;

    if (!ok) {
        fprintf(stderr, "%s\n", c ? epiq_message(c) : "no memory");
    } else {
        ptrdiff_t best = 0, known = 0;
        for (ptrdiff_t k = 0; k < r->point_count; k++) {
            known += r->points[k]->data.known;
            best = r->points[k]->data.variance > r->points[best]->data.variance ? k : best;
        }
        printf("measure next at (%.3f, %.3f): the data variance there is %.2e\n", grid[best * D], grid[best * D + 1],
               r->points[best]->data.variance);
        ok = known == GRID && r->points[best]->data.variance > 0;
    }
    epiq_result_free(c, r);
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    epiq_ctx_free(c);
    return ok ? 0 : 1;
}
