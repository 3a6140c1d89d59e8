/* 1_decompose.c - rows in memory, one question, three numbers: why would this prediction have come out differently? */
#include <epiq.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum { N = 120, D = 2 };

int main(void)
{
    /* A wave with a little noise. Any rows will do: x is N by D, row after row. */
    static double x[N * D], y[N];
    for (int i = 0; i < N; i++) {
        x[i * D] = i / (double)N;
        x[i * D + 1] = i * 37 % N / (double)N;
        y[i] = sin(6 * x[i * D]) + x[i * D + 1] + 0.1 * sin(1000.0 * i);
    }
    double where[D] = {0.5, 0.5};

    epiq_ctx *c = NULL;
    epiq_data *data = NULL;
    epiq_points *at = NULL;
    epiq_result *r = NULL;
    epiq_options o = epiq_options_default();
    o.width = 256; /* given, not chosen, to be quick */
    o.members = 20;

    bool ok = epiq_ctx_new(&c) >= 0 &&                              /* holds memory and messages */
              epiq_data_new(c, N, D, x, y, NULL, &o, &data) >= 0 && /* checks and scales the rows */
              epiq_points_new(c, data, &at) >= 0 &&                 /* where to ask: */
              epiq_points_add_rows(c, at, 1, where) >= 0 &&         /* one point, in the units of x */
              epiq_estimate(c, data, at, &o, &r) >= 0;

    if (!ok) {
        fprintf(stderr, "%s\n", c ? epiq_message(c) : "no memory");
    } else {
        const epiq_point *p = r->points[0];
        printf("prediction %.3f\n", p->prediction);
        printf("procedural %.2e   would another initialisation have changed it?\n", p->procedural.variance);
        printf("data       %.2e   would other rows have changed it?\n", p->data.variance);
        printf("ensemble   %.2e   what is left for the mean of %td networks\n", p->ensemble.variance,
               r->ran->ensemble_size);
        printf("%s\n", r->advice->text);
        ok = p->procedural.known && p->data.known && p->ensemble.known && fabs(p->prediction - 0.64) < 0.5;
    }
    epiq_result_free(c, r); /* each _free accepts NULL, so there is one way out */
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    epiq_ctx_free(c);
    return ok ? 0 : 1;
}
