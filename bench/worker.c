/* worker.c - what the harness asks of the library's inside: the networks' starts and ends, so that peers begin at the
 * same weights and go to the same loss. One request a line on standard input, one JSON object a line in reply:
 *     model WIDTH DEPTH LAMBDA         of the networks from now on; at first 1024, 1 and 1e-3
 *     export FILE OUT                  the scaled rows: OUT.x, OUT.y
 *     members FILE M THREADS OUT       train M networks on all rows; their starts: OUT.theta0
 *     batches FILE M THREADS OUT       likewise on M batches of rows, as BA deals them: OUT.batch has each row's batch
 *     settle FILE M THREADS SECONDS    train, then ten times as many iterations: how far does the loss still fall?
 *     gradient FILE                    seconds of R and its gradient, one thread, and of a product by sgemm, both by the time
 *                                      that the thread worked
 *     descend FILE K LR LOSS MOST      steps of plain gradient descent that member K needs to come down to LOSS
 *     kernel FILE THREADS              seconds of the tangent kernel alone, n x n in full, into memory kept for it
 *     whole FILE THREADS CORRECTION PROBES   seconds of kernel, factor and IF at the mean: none, or rowwise
 * FILE is NPY, the target in its last column; what is written is plain arrays of doubles (batch: of int64).
 */
#include "data/data.h"
#include "engine/engine.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
    epiqp_task task;
    epiqp_training report;
    double *x, *y, *theta0, *theta;
    double loss; /* R at theta, in double precision whatever training used */
    double mean; /* prediction where every scaled feature is 0 */
} member;

static epiq_ctx *ctx;
static epiq_options options;
static epiq_data *data;
static ptrdiff_t width = EPIQ_USUAL_WIDTH, depth = 1;
static double lambda = EPIQ_USUAL_LAMBDA;

/* Operations of matrix products and factors in single precision, counted as the library asks BLAS for them: the program is
 * linked with --wrap. */
static double operations;
static void tally(double some)
{
#pragma omp atomic
    operations += some;
}

/* Products J'J v, likewise. */
static ptrdiff_t products;
void __real_epiqp_net_normal(epiqp_pass *w, const double *theta, ptrdiff_t n, const double *x, const float *v,
                             double *out, double *scratch);
void __wrap_epiqp_net_normal(epiqp_pass *w, const double *theta, ptrdiff_t n, const double *x, const float *v,
                             double *out, double *scratch);
void __wrap_epiqp_net_normal(epiqp_pass *w, const double *theta, ptrdiff_t n, const double *x, const float *v,
                             double *out, double *scratch)
{
#pragma omp atomic
    products++;
    __real_epiqp_net_normal(w, theta, n, x, v, out, scratch);
}

__typeof__(cblas_sgemm) __real_cblas_sgemm, __wrap_cblas_sgemm;
void __wrap_cblas_sgemm(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE ta, enum CBLAS_TRANSPOSE tb, blasint m, blasint n,
                        blasint k, float alpha, const float *a, blasint lda, const float *b, blasint ldb, float beta,
                        float *c, blasint ldc)
{
    tally(2.0 * m * n * k);
    __real_cblas_sgemm(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

__typeof__(cblas_sgemv) __real_cblas_sgemv, __wrap_cblas_sgemv;
void __wrap_cblas_sgemv(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE ta, blasint m, blasint n, float alpha,
                        const float *a, blasint lda, const float *x, blasint stride_x, float beta, float *y,
                        blasint stride_y)
{
    tally(2.0 * m * n);
    __real_cblas_sgemv(order, ta, m, n, alpha, a, lda, x, stride_x, beta, y, stride_y);
}

void __real_spotrf_(const char *uplo, const int *n, float *a, const int *lda, int *info);
void __wrap_spotrf_(const char *uplo, const int *n, float *a, const int *lda, int *info);
void __wrap_spotrf_(const char *uplo, const int *n, float *a, const int *lda, int *info)
{
    tally((double)*n * *n * *n / 3);
    __real_spotrf_(uplo, n, a, lda, info);
}

static void demand(int status)
{
    if (status < 0) {
        fprintf(stderr, "worker: %s\n", epiq_message(ctx));
        exit(1);
    }
}

static void *room(ptrdiff_t count, size_t size)
{
    void *p = epiqp_alloc(ctx, count, size);
    demand(p ? EPIQ_OK : EPIQ_E_NOMEM);
    return p;
}

static void write_array(const char *base, const char *suffix, const void *a, size_t bytes)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.%s", base, suffix);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(a, 1, bytes, f) != bytes || fclose(f)) {
        perror(path);
        exit(1);
    }
}

static void print_list(const char *name, const member *list, ptrdiff_t count, double (*of)(const member *))
{
    printf("\"%s\": [", name);
    for (ptrdiff_t k = 0; k < count; k++) {
        printf("%s%.17g", k ? ", " : "", of(&list[k]));
    }
    printf("]");
}

static double loss_of(const member *m)
{
    return m->loss;
}

static double mean_of(const member *m)
{
    return m->mean;
}

static double iterations_of(const member *m)
{
    return (double)m->report.iterations;
}

/* R at theta in double precision; mean, if not NULL: the prediction at 0. */
static double loss_at(const epiqp_env *e, const epiqp_task *t, const double *theta, double *mean)
{
    epiqp_pass pass;
    demand(epiqp_pass_new(e, t->net, &pass));
    double *grad = room(epiqp_net_params(t->net), sizeof *grad);
    if (mean) {
        memset(grad, 0, (size_t)t->net->d * sizeof *grad);
        epiqp_net_forward(&pass, theta, 1, grad, mean);
    }
    double loss = epiqp_loss(t, theta, grad, NULL, &pass);
    epiqp_free(ctx, grad);
    epiqp_pass_free(ctx, &pass);
    return loss;
}

/* Members of EV, each on all rows; or of BA, each on its batch. The library draws and deals the same. */
static member *gather(const epiqp_net *net, ptrdiff_t count, bool batches, int64_t *batch)
{
    ptrdiff_t p = epiqp_net_params(net), n = data->n, d = data->d;
    member *list = room(count, sizeof *list);
    ptrdiff_t *order = room(n, sizeof *order);
    for (ptrdiff_t i = 0; i < n; i++) {
        order[i] = i;
    }
    epiqp_shuffle((epiqp_stream){options.seed, EPIQP_FOR_SHUFFLE, 0}, 0, n, order);
    for (ptrdiff_t i = 0; i < n; i++) {
        batch[order[i]] = batches ? i % count : -1;
    }
    for (ptrdiff_t k = 0; k < count; k++) {
        member *m = &list[k];
        *m = (member){0};
        m->x = room(n * (d + 1) + 2 * p, sizeof(double));
        m->y = m->x + n * d;
        m->theta0 = m->y + n;
        m->theta = m->theta0 + p;
        ptrdiff_t rows = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            if (batch[i] < 0 || batch[i] == k) {
                memcpy(m->x + rows * d, data->x + i * d, (size_t)d * sizeof(double));
                m->y[rows++] = data->y[i];
            }
        }
        epiqp_net_init(net, (epiqp_stream){options.seed, batches ? EPIQP_FOR_BATCH : EPIQP_FOR_MEMBER, (uint64_t)k},
                       m->theta0);
        memcpy(m->theta, m->theta0, (size_t)p * sizeof(double));
        m->task = (epiqp_task){net, rows, m->x, m->y, options.lambda, m->theta0, NULL, 0, false};
    }
    epiqp_free(ctx, order);
    return list;
}

static void release(member *list, ptrdiff_t count)
{
    for (ptrdiff_t k = 0; k < count; k++) {
        epiqp_free(ctx, list[k].x);
    }
    epiqp_free(ctx, list);
}

/* Of a gradient: forward and back over each matrix of weights, and the slopes through all but the first. */
static double gradient_flops(const epiqp_net *net)
{
    const double n = (double)data->n, d = (double)net->d, w = (double)net->width, deeper = (double)(net->depth - 1);
    return n * w * (4 * (d + 1) + 6 + 6 * deeper * w);
}

static double worked(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Operations per second of a product of SIDE by SIDE matrices. */
static double sgemm_rate(void)
{
    enum { SIDE = 1024 };
    float *a = room(3 * SIDE * SIDE, sizeof *a);
    memset(a, 0, 3 * SIDE * SIDE * sizeof *a);
    double began = worked();
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, SIDE, SIDE, SIDE, 1, a, SIDE, a + SIDE * SIDE, SIDE, 0,
                a + 2 * SIDE * SIDE, SIDE);
    double rate = 2.0 * SIDE * SIDE * SIDE / (worked() - began);
    epiqp_free(ctx, a);
    return rate;
}

/* The best of some turns of both, in turn. */
static void time_gradient(const epiqp_net *net)
{
    enum { TURNS = 10 };
    epiqp_env e = epiqp_run_begin(ctx, &options);
    ptrdiff_t p = epiqp_net_params(net);
    double *theta = room(2 * p, sizeof *theta), least = INFINITY, rate = 0;
    epiqp_task task = {net, data->n, data->x, data->y, options.lambda, theta};
    epiqp_pass pass;
    epiqp_net_init(net, (epiqp_stream){1, EPIQP_FOR_MEMBER, 0}, theta);
    demand(epiqp_task_pass(&e, &task, &pass)); /* the weights decide on its precision */
    for (int k = 0; k < TURNS; k++) {
        rate = fmax(rate, sgemm_rate());
        for (int again = 0; again < 2; again++) { /* the first has to fill the cache */
            double began = worked();
            epiqp_loss(&task, theta, theta + p, NULL, &pass);
            least = fmin(least, worked() - began);
        }
    }
    printf("{\"seconds\": %.6g, \"flops\": %.6g, \"sgemm\": %.6g}\n", least, gradient_flops(net), rate);
    epiqp_pass_free(ctx, &pass);
    epiqp_free(ctx, theta);
    epiqp_run_end();
}

static void train(const epiqp_net *net, ptrdiff_t count, bool batches, const char *out)
{
    epiqp_env e = epiqp_run_begin(ctx, &options);
    ptrdiff_t p = epiqp_net_params(net);
    int64_t *batch = room(data->n, sizeof *batch);
    double *starts = room(count * p, sizeof *starts);
    member *list = gather(net, count, batches, batch);
    double began = epiqp_now();
    epiqp_left left = {0}; /* networks on the same rows share it */
    if (!batches) demand(epiqp_left_new(&e, net, data->n, list[0].x, &left));
    products = 0;
    operations = 0;
#pragma omp parallel for schedule(dynamic) num_threads(e.threads)
    for (ptrdiff_t k = 0; k < count; k++) {
        if (!batches) list[k].task.left = &left;
        demand(epiqp_minimise(&e, &list[k].task, 0, list[k].theta, &list[k].report));
    }
    double seconds = epiqp_now() - began, computed = operations;
    epiqp_left_free(ctx, &left);
    for (ptrdiff_t k = 0; k < count; k++) {
        memcpy(starts + k * p, list[k].theta0, (size_t)p * sizeof *starts);
        list[k].loss = loss_at(&e, &list[k].task, list[k].theta, &list[k].mean);
    }
    write_array(out, "theta0", starts, (size_t)(count * p) * sizeof *starts);
    write_array(out, "batch", batch, (size_t)data->n * sizeof *batch);
    printf("{\"seconds\": %.6g, \"products\": %.6g, \"flops\": %.6g, \"computed\": %.6g, ", seconds,
           (double)products / (double)count, gradient_flops(net), computed);
    print_list("loss", list, count, loss_of);
    printf(", ");
    print_list("iterations", list, count, iterations_of);
    printf(", ");
    print_list("mean", list, count, mean_of);
    printf("}\n");
    release(list, count);
    epiqp_free(ctx, starts);
    epiqp_free(ctx, batch);
    epiqp_run_end();
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How far the loss still falls when training is not stopped where it converged but goes on to ten times as many gradients,
 * and when plain descent takes ten times as many steps from there. */
static void settle(const epiqp_net *net, ptrdiff_t count, double budget_s)
{
    epiqp_env e = epiqp_run_begin(ctx, &options);
    ptrdiff_t p = epiqp_net_params(net), done = 0;
    int64_t *batch = room(data->n, sizeof *batch);
    double *further = room(2 * count, sizeof *further), *descent = further + count;
    member *list = gather(net, count, false, batch);
    double began = epiqp_now();
#pragma omp parallel for schedule(dynamic) num_threads(e.threads)
    for (ptrdiff_t k = 0; k < count; k++) {
        member *m = &list[k];
        if (epiqp_now() - began > budget_s) continue;
        demand(epiqp_minimise(&e, &m->task, 0, m->theta, &m->report));
        double loss = loss_at(&e, &m->task, m->theta, NULL), *on = room(p, sizeof *on);
        epiqp_training more;
        epiqp_descent how = {.lr = 0.05, .steps = 10 * m->report.iterations};
        demand(epiqp_descend(&e, &m->task, &how, m->theta, &more));
        memcpy(on, m->task.theta0, (size_t)p * sizeof *on);
        demand(epiqp_minimise(&e, &m->task, -10 * m->report.iterations, on, &more));
        ptrdiff_t slot;
#pragma omp atomic capture
        slot = done++;
        further[slot] = loss / loss_at(&e, &m->task, on, NULL) - 1;
        descent[slot] = loss / loss_at(&e, &m->task, m->theta, NULL) - 1;
        epiqp_free(ctx, on);
    }
    qsort(further, (size_t)done, sizeof *further, by_size);
    qsort(descent, (size_t)done, sizeof *descent, by_size);
    printf("{\"members\": %td, \"flow\": [%.6g, %.6g], \"descent\": [%.6g, %.6g], \"seconds\": %.6g}\n", done,
           further[done / 2], further[done - 1], descent[done / 2], descent[done - 1], epiqp_now() - began);
    release(list, count);
    epiqp_free(ctx, further);
    epiqp_free(ctx, batch);
    epiqp_run_end();
}

static void descend(const epiqp_net *net, ptrdiff_t k, double lr, double target, ptrdiff_t most)
{
    epiqp_env e = epiqp_run_begin(ctx, &options);
    int64_t *batch = room(data->n, sizeof *batch);
    member *list = gather(net, k + 1, false, batch), *m = &list[k];
    ptrdiff_t p = epiqp_net_params(net), steps = 0;
    double *grad = room(p, sizeof *grad), loss;
    epiqp_pass pass;
    demand(epiqp_task_pass(&e, &m->task, &pass));
    for (;; steps++) {
        loss = epiqp_loss(&m->task, m->theta, grad, NULL, &pass);
        if (loss <= target || steps == most || !(loss <= 1e6)) break;
        epiqp_axpy(p, -lr, grad, m->theta);
    }
    printf("{\"steps\": %td, \"reached\": %s, \"loss\": %.9g}\n", steps, loss <= target ? "true" : "false",
           isfinite(loss) ? loss : 1e300);
    epiqp_pass_free(ctx, &pass);
    epiqp_free(ctx, grad);
    epiqp_free(ctx, batch);
    release(list, k + 1);
    epiqp_run_end();
}

static void whole(bool as_printed)
{
    epiq_points *at;
    epiq_result *result;
    options.methods = EPIQ_IF;
    if (as_printed) {
        options.correction = EPIQ_CORRECTION_NONE;
        options.influential = 0;
    }
    demand(epiq_points_new(ctx, data, &at));
    demand(epiq_points_add(ctx, at, "mean"));
    double began = epiqp_now();
    demand(epiq_estimate(ctx, data, at, &options, &result));
    printf("{\"seconds\": %.6g, \"variance\": %.17g}\n", epiqp_now() - began, result->points[0]->data.variance);
    epiq_result_free(ctx, result);
    epiq_points_free(ctx, at);
}

int main(void)
{
    char line[8192], command[32], file[4096], out[4096];
    demand(epiq_ctx_new(&ctx));
    while (fgets(line, sizeof line, stdin)) {
        options = epiq_options_default();
        options.target = "y";
        if (sscanf(line, "model %td %td %lf", &width, &depth, &lambda) == 3) {
            printf("{}\n");
            fflush(stdout);
            continue;
        }
        options.width = width;
        options.depth = depth;
        options.lambda = lambda;
        ptrdiff_t count = 0;
        int used = 0;
        double a = 0, b = 0, c = 0;
        if (sscanf(line, "%31s %4095s %n", command, file, &used) < 2) return 1;
        const char *rest = line + used;
        demand(epiq_data_read(ctx, file, &options, &data));
        epiqp_net net = epiqp_net_of(&options, data->d);
        bool batches = strcmp(command, "batches") == 0;
        if (strcmp(command, "export") == 0 && sscanf(rest, "%4095s", out) == 1) {
            write_array(out, "x", data->x, (size_t)(data->n * data->d) * sizeof(double));
            write_array(out, "y", data->y, (size_t)data->n * sizeof(double));
            printf("{\"n\": %td, \"d\": %td, \"width\": %td, \"depth\": %td, \"lambda\": %.17g, \"y_factor\": %.17g}\n",
                   data->n, data->d, options.width, options.depth, options.lambda, data->y_factor);
        } else if ((batches || strcmp(command, "members") == 0) &&
                   sscanf(rest, "%td %td %4095s", &count, &options.threads, out) == 3) {
            train(&net, count, batches, out);
        } else if (strcmp(command, "gradient") == 0) {
            time_gradient(&net);
        } else if (strcmp(command, "settle") == 0 && sscanf(rest, "%td %td %lf", &count, &options.threads, &a) == 3) {
            settle(&net, count, a);
        } else if (strcmp(command, "descend") == 0 && sscanf(rest, "%td %lf %lf %lf", &count, &a, &b, &c) == 4) {
            descend(&net, count, a, b, (ptrdiff_t)c);
        } else if (strcmp(command, "kernel") == 0 && sscanf(rest, "%td", &options.threads) == 1) {
            static double *k;
            static ptrdiff_t rows;
            if (rows != data->n) {
                epiqp_free(ctx, k);
                k = room(data->n * data->n, sizeof *k);
                rows = data->n;
                demand(epiq_kernel(ctx, data, &options, k, NULL)); /* warm, as the peers are */
            }
            double began = epiqp_now();
            demand(epiq_kernel(ctx, data, &options, k, NULL));
            printf("{\"seconds\": %.6g, \"trace\": %.17g}\n", epiqp_now() - began, k[0] + k[rows * rows - 1]);
        } else if (strcmp(command, "whole") == 0 &&
                   sscanf(rest, "%td %15s %td", &options.threads, out, &options.probes) == 3) {
            whole(strcmp(out, "none") == 0);
        } else {
            fprintf(stderr, "worker: cannot do %s", line);
            return 1;
        }
        fflush(stdout);
        epiq_data_free(ctx, data);
    }
    epiq_ctx_free(ctx);
    return 0;
}
