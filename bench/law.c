/* law.c - whether ensembles trained in the usual way have the law of gradient flow in fine steps (docs/method.md section 5):
 * the same starts trained both ways on all but 20 rows of a table, and asked there.
 *     law FILE TARGET SCALE WIDTH DEPTH LAMBDA NETWORKS        SCALE: standard or none
 * prints, usual and fine: gradients and CPU milliseconds of a network; then the root mean square over the points of the
 * difference of the means, in units of tau; tau^2 over that of the fine steps, averaged over points; how far a network
 * ends from its twin, in units of tau; and the mean of the losses, usual over fine.
 */
#include "data/data.h"
#include "engine/engine.h"
#include "stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { POINTS = 20 };

static epiq_ctx *ctx;

static void demand(int status)
{
    if (status < 0) {
        fprintf(stderr, "law: %s\n", epiq_message(ctx));
        exit(1);
    }
}

static double *room(ptrdiff_t count)
{
    double *p = epiqp_alloc(ctx, count, sizeof *p);
    demand(p ? EPIQ_OK : EPIQ_E_NOMEM);
    return p;
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    epiq_data *data;
    epiq_options o = epiq_options_default();
    demand(epiq_ctx_new(&ctx));
    if (argc != 8) return fprintf(stderr, "law FILE TARGET SCALE WIDTH DEPTH LAMBDA NETWORKS\n"), 1;
    o.target = argv[2];
    if (strcmp(argv[3], "none") == 0) o.scale = EPIQ_SCALE_NONE;
    o.width = atoi(argv[4]);
    o.depth = atoi(argv[5]);
    o.lambda = atof(argv[6]);
    const int count = atoi(argv[7]);
    demand(epiq_data_read(ctx, argv[1], &o, &data));
    const epiqp_net net = epiqp_net_of(&o, data->d);
    const ptrdiff_t d = data->d, n = data->n - POINTS, p = epiqp_net_params(&net);
    ptrdiff_t *order = epiqp_alloc(ctx, data->n, sizeof *order);
    double *x = room(data->n * d), *y = room(data->n), *h = room(2 * POINTS * count), *loss = room(2 * count);
    demand(order && n > 0 ? EPIQ_OK : EPIQ_E_NOMEM);
    for (ptrdiff_t i = 0; i < data->n; i++) {
        order[i] = i;
    }
    epiqp_shuffle((epiqp_stream){7, EPIQP_FOR_SHUFFLE, 0}, 0, data->n, order);
    for (ptrdiff_t i = 0; i < data->n; i++) {
        memcpy(x + i * d, data->x + order[i] * d, (size_t)d * sizeof *x);
        y[i] = data->y[order[i]];
    }
    const epiqp_env e = epiqp_run_begin(ctx, &o);
    double gradients[2] = {0}, seconds[2] = {0};
    epiqp_left left;
    demand(epiqp_left_new(&e, &net, n, x, &left));
#pragma omp parallel for schedule(dynamic) num_threads(e.threads)
    for (int m = 0; m < 2 * count; m++) {
        const int fine = m >= count;
        double *theta0 = room(3 * p), *theta = theta0 + p, *grad = theta + p, at[POINTS];
        epiqp_net_init(&net, (epiqp_stream){1, EPIQP_FOR_MEMBER, (uint64_t)(m % count)}, theta0);
        memcpy(theta, theta0, (size_t)p * sizeof *theta);
        const epiqp_task task = {&net, n, x, y, o.lambda, theta0, &left, fine ? INFINITY : 0, false};
        epiqp_training r;
        epiqp_pass pass;
        double began = cpu_s();
        demand(epiqp_minimise(&e, &task, 0, theta, &r));
        double took = cpu_s() - began;
        demand(epiqp_pass_new(&e, &net, &pass));
        epiqp_net_forward(&pass, theta, POINTS, x + n * d, at);
        loss[m] = epiqp_loss(&task, theta, grad, NULL, &pass);
        for (ptrdiff_t q = 0; q < POINTS; q++) {
            h[(fine * POINTS + q) * count + m % count] = at[q];
        }
#pragma omp critical
        {
            gradients[fine] += (double)r.iterations / count;
            seconds[fine] += took / count;
        }
        epiqp_pass_free(ctx, &pass);
        epiqp_free(ctx, theta0);
    }
    double apart = 0, ratio = 0, twins = 0;
    for (ptrdiff_t q = 0; q < POINTS; q++) {
        const double *usual = h + q * count, *fine = h + (POINTS + q) * count;
        double tau2 = epiqp_variance(fine, count), off = epiqp_mean(usual, count) - epiqp_mean(fine, count);
        apart += off * off / tau2 / POINTS;
        ratio += epiqp_variance(usual, count) / tau2 / POINTS;
        for (int m = 0; m < count; m++) {
            twins += (usual[m] - fine[m]) * (usual[m] - fine[m]) / tau2 / POINTS / count;
        }
    }
    printf("gradients %.0f of %.0f, ms %.1f of %.1f; means apart %.3f, tau^2 %.3f, twins %.3f, loss %.4f\n",
           gradients[0], gradients[1], 1e3 * seconds[0], 1e3 * seconds[1], sqrt(apart), ratio, sqrt(twins),
           epiqp_mean(loss, count) / epiqp_mean(loss + count, count));
    return 0;
}
