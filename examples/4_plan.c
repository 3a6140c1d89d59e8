/* 4_plan.c - more rows or more networks? Prices, a variance to reach, and what to buy. */
#include <epiq_decide.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum { N = 120, D = 2 };

int main(void)
{
    static double x[N * D], y[N];
    for (int i = 0; i < N; i++) {
        x[i * D] = i / (double)N;
        x[i * D + 1] = i * 37 % N / (double)N;
        y[i] = sin(6 * x[i * D]) + x[i * D + 1] + 0.1 * sin(1000.0 * i);
    }
    epiq_ctx *c = NULL;
    epiq_data *data = NULL;
    epiq_points *at = NULL;
    epiq_result *r = NULL;
    epiq_plan *plan = NULL;
    epiq_options o = epiq_options_default();
    o.methods = EPIQ_IF | EPIQ_EV; /* both parts, each with its interval */
    o.width = 256;
    o.lambda = 1e-3;
    o.members = 20;
    o.ensemble_size = 5; /* the networks there are now */

    bool ok = epiq_ctx_new(&c) >= 0 && epiq_data_new(c, N, D, x, y, NULL, &o, &data) >= 0 &&
              epiq_points_new(c, data, &at) >= 0 && epiq_points_add(c, at, "mean") >= 0 &&
              epiq_estimate(c, data, at, &o, &r) >= 0;
    if (ok) {
        epiq_plan_request effort = {.size = sizeof(epiq_plan_request),
                                    .price_row = 3, /* a measurement costs as much as three trainings */
                                    .price_training = 1,
                                    .kind = EPIQ_PLAN_GOAL,
                                    .amount = r->points[0]->ensemble.variance / 2,
                                    .level = o.level};
        ok = epiq_plan_new(c, data, at, &o, r, &effort, &plan) >= 0;
    }
    if (!ok) {
        fprintf(stderr, "%s\n", c ? epiq_message(c) : "no memory");
    } else {
        printf("%s\n%s\n\n", plan->text, plan->caveat);
        printf("%8s %6s %9s %10s\n", "cost", "rows", "networks", "variance");
        for (ptrdiff_t k = 0; k < plan->curve_count; k += 5) {
            const epiq_plan_step *m = plan->curve[k];
            printf("%8.4g %6td %9td %10.2e\n", m->cost, m->rows, m->members, m->variance.variance);
        }
        ok = plan->best->variance.variance <= plan->now->variance.variance / 2 * (1 + 1e-12);
    }
    epiq_plan_free(c, plan);
    epiq_result_free(c, r);
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    epiq_ctx_free(c);
    return ok ? 0 : 1;
}
