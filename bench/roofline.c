/* roofline.c - what this machine can do at best, and two stages of training against it. One request a line, one JSON
 * object a line in reply, with the seconds taken, the floating-point operations and the bytes that must move:
 *     sgemm N T, dgemm N T      C = A B, N x N, on T threads of OpenBLAS
 *     dpotrf N T                Cholesky factor of N x N
 *     dpotrs N P T              two triangular solves for P columns
 *     dtrsm N P T               one of them
 *     triad T                   a = b + s c over 3 x 128 MiB
 *     gradient FILE             R and its gradient, width 1024, one thread: as in training
 *     empirical FILE            empirical kernel of one network and its factor, one thread
 * FILE is NPY, the target in its last column.
 */
#include "data/data.h"
#include "engine/engine.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
void dpotrs_(const char *uplo, const int *n, const int *cols, const double *a, const int *lda, double *b,
             const int *ldb, int *info);

static void *room(size_t count, size_t size)
{
    void *p = aligned_alloc(64, (count * size + 63) / 64 * 64);
    if (!p) {
        fprintf(stderr, "roofline: not enough memory\n");
        exit(1);
    }
    return p;
}

static void reply(double seconds, double flops, double bytes)
{
    printf("{\"seconds\": %.9g, \"flops\": %.9g, \"bytes\": %.9g}\n", seconds, flops, bytes);
}

static double *numbers(size_t count)
{
    double *a = room(count, sizeof *a);
    uint64_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        a[i] = (double)(state >> 11) / 9007199254740992.0 - 0.5;
    }
    return a;
}

/* The best of three, so that the first one's warming up does not count. */
static void gemm(int n, bool single)
{
    size_t size = (size_t)n * (size_t)n;
    double *a = numbers(size), *b = numbers(size), *c = numbers(size), best = 1e300;
    float *fa = room(size, sizeof *fa), *fb = room(size, sizeof *fb), *fc = room(size, sizeof *fc);
    for (size_t i = 0; i < size; i++) {
        fa[i] = (float)a[i];
        fb[i] = (float)b[i];
        fc[i] = 0;
    }
    for (int turn = 0; turn < 3; turn++) {
        double began = epiqp_now();
        if (single) {
            cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, fa, n, fb, n, 0, fc, n);
        } else {
            cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
        }
        double seconds = epiqp_now() - began;
        best = seconds < best ? seconds : best;
    }
    reply(best, 2.0 * n * n * n, (single ? 12.0 : 24.0) * (double)size);
    free(a);
    free(b);
    free(c);
    free(fa);
    free(fb);
    free(fc);
}

/* Diagonally dominant, so positive definite. */
static double *definite(int n)
{
    double *a = numbers((size_t)n * (size_t)n);
    for (int i = 0; i < n; i++) {
        a[(size_t)i * (size_t)n + (size_t)i] = n;
    }
    return a;
}

static void potrf(int n)
{
    double *a = definite(n), began = epiqp_now();
    int info;
    dpotrf_("L", &n, a, &n, &info);
    reply(epiqp_now() - began, (double)n * n * n / 3, 4.0 * n * n);
    free(a);
}

/* The factor of a dominant matrix is close to it: scaled to a unit diagonal, it does as one. */
static void solve(int n, int cols, bool both)
{
    double *a = definite(n), *b = numbers((size_t)n * (size_t)cols), began = epiqp_now();
    int info;
    if (both) {
        dpotrs_("L", &n, &cols, a, &n, b, &n, &info);
    } else {
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, n, cols, 1, a, n, b, n);
    }
    reply(epiqp_now() - began, (both ? 2.0 : 1.0) * n * n * cols, 4.0 * n * n + 16.0 * n * cols);
    free(a);
    free(b);
}

static void triad(int threads)
{
    const size_t size = (size_t)1 << 24;
    double *a = room(size, sizeof *a), *b = room(size, sizeof *b), *c = room(size, sizeof *c), best = 1e300;
    for (int turn = 0; turn < 4; turn++) { /* the first one touches the pages */
        double began = epiqp_now();
#pragma omp parallel for schedule(static) num_threads(threads)
        for (size_t i = 0; i < size; i++) {
            if (turn == 0) {
                b[i] = 1;
                c[i] = 2;
            }
            a[i] = b[i] + 3 * c[i];
        }
        double seconds = epiqp_now() - began;
        best = turn > 0 && seconds < best ? seconds : best;
    }
    reply(a[size / 2] > 0 ? best : 0, 2.0 * (double)size, 24.0 * (double)size);
    free(a);
    free(b);
    free(c);
}

static void demand(const epiq_ctx *c, int status)
{
    if (status < 0) {
        fprintf(stderr, "roofline: %s\n", epiq_message(c));
        exit(1);
    }
}

static void stage(const char *file, bool gradient)
{
    epiq_ctx *c;
    epiq_data *data = NULL;
    epiq_options o = epiq_options_default();
    o.target = "y";
    o.threads = 1;
    o.width = EPIQ_USUAL_WIDTH;
    o.lambda = EPIQ_USUAL_LAMBDA;
    demand(NULL, epiq_ctx_new(&c));
    demand(c, epiq_data_read(c, file, &o, &data));
    epiqp_env e = epiqp_run_begin(c, &o);
    epiqp_net net = epiqp_net_of(&o, data->d);
    size_t p = (size_t)epiqp_net_params(&net);
    double *theta = room(p, sizeof *theta), *grad = room(p, sizeof *grad);
    double n = (double)data->n, d = (double)data->d, w = (double)net.width;
    epiqp_net_init(&net, (epiqp_stream){1, EPIQP_FOR_MEMBER, 0}, theta);
    if (gradient) {
        epiqp_task task = {&net, data->n, data->x, data->y, o.lambda, theta, NULL, 0, false};
        epiqp_pass pass;
        demand(c, epiqp_task_pass(&e, &task, &pass));
        const int turns = 50;
        epiqp_loss(&task, theta, grad, NULL, &pass);
        double began = epiqp_now();
        for (int k = 0; k < turns; k++) {
            epiqp_loss(&task, theta, grad, NULL, &pass);
        }
        /* forward and back over the first layer 2 n w (d+1) each, over the second 2 n w each, relu and its slope */
        reply((epiqp_now() - began) / turns, n * w * (4 * (d + 1) + 6), 8 * (3 * (double)p + n * (d + 1)));
        epiqp_pass_free(c, &pass);
    } else {
        epiqp_features f;
        epiqp_tri t;
        double jitter, fill_s = 0, factor_s = 0, began = epiqp_now();
        demand(c, epiqp_features_new(&e, &net, theta, data->n, data->x, &f));
        demand(c, epiqp_tri_new(c, data->n, &t));
        epiqp_empirical kernel = {e.la, &f};
        epiqp_source source = epiqp_source_empirical(&kernel);
        demand(c, epiqp_ridge_factor(&e, &source, o.lambda * n, &t, &jitter, &fill_s, &factor_s));
        reply(epiqp_now() - began, 2 * n * n * w + n * n * d + n * n * n / 3, 16 * n * w + 4 * n * n);
        epiqp_tri_free(c, &t);
        epiqp_features_free(c, &f);
    }
    epiqp_run_end();
    epiq_data_free(c, data);
    epiq_ctx_free(c);
    free(theta);
    free(grad);
}

int main(void)
{
    char line[8192], what[32], file[4096];
    while (fgets(line, sizeof line, stdin)) {
        int n = 0, a = 0, b = 0, numbers_read = sscanf(line, "%31s %d %d %d", what, &n, &a, &b);
        if (numbers_read >= 2) openblas_set_num_threads(numbers_read == 2 ? n : numbers_read == 3 ? a : b);
        if (numbers_read == 3 && strcmp(what + 1, "gemm") == 0) {
            gemm(n, *what == 's');
        } else if (numbers_read == 3 && strcmp(what, "dpotrf") == 0) {
            potrf(n);
        } else if (numbers_read == 4 && (strcmp(what, "dpotrs") == 0 || strcmp(what, "dtrsm") == 0)) {
            solve(n, a, strcmp(what, "dpotrs") == 0);
        } else if (numbers_read == 2 && strcmp(what, "triad") == 0) {
            triad(n);
        } else if (sscanf(line, "%31s %4095s", what, file) == 2) {
            stage(file, strcmp(what, "gradient") == 0);
        } else {
            fprintf(stderr, "roofline: cannot do %s", line);
            return 1;
        }
        fflush(stdout);
    }
    return 0;
}
