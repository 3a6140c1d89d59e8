/* gpu_agrees.c - what libepiq_cuda.so computes on this machine's GPU against the library's own code on its processor (matrices.c,
 * training.c, predictions.c), the same bits when asked again, and how long it takes (times.c). It is no part of `make check`, which
 * has no GPU: tools/check-gpu runs it. Usage: gpu_agrees LIBRARY [most rows of a timed matrix; 0: training alone; -1: every kind
 * of step once, for compute-sanitizer; -2: predictions alone; -3: how long steps and matrices take, alone]
 */
#include "cuda/epiq_cuda.h"
#include "gpu/agree.h"

#include <dlfcn.h>
#include <omp.h>
#include <stdarg.h>
#include <unistd.h>

static int passed;
int failed;
const epiq_device *gpu;
epiq_ctx *c;
epiqp_env host;

void judge(double error, double most, const char *format, ...)
{
    va_list args;
    const bool fine = error <= most; /* NaN fails */
    fine ? passed++ : failed++;
    printf("%s  ", fine ? "ok    " : "FAILED");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf(": %.2g (at most %.0e)\n", error, most);
    fflush(stdout);
}

void must(int status, const char *what)
{
    if (!status) return;
    printf("FAILED  %s: status %d, GPU: %s, library: %s\n", what, status, gpu ? gpu->message(gpu->user) : "",
           epiq_message(c));
    failed++;
    epiqp_clear(c);
}

double *numbers(ptrdiff_t count)
{
    double *p = malloc((size_t)(count > 0 ? count : 1) * sizeof *p);
    if (!p) {
        printf("FAILED  no memory for %td numbers\n", count);
        exit(1);
    }
    return p;
}

double *normals(uint64_t stream, ptrdiff_t count)
{
    double *p = numbers(count);
    epiqp_normals((epiqp_stream){17, stream, 0}, count, p);
    return p;
}

double apart(ptrdiff_t n, const double *got, const double *want)
{
    double most = 0, largest = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double off = fabs(got[i] - want[i]);
        most = off <= most ? most : off; /* NaN stays */
        largest = fmax(largest, fabs(want[i]));
    }
    return most / largest;
}

double apart_in_norm(ptrdiff_t n, const double *got, const double *want)
{
    double off = 0, all = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        off += (got[i] - want[i]) * (got[i] - want[i]);
        all += want[i] * want[i];
    }
    return sqrt(off / all);
}

problem problem_new(ptrdiff_t n, ptrdiff_t d, ptrdiff_t points, ptrdiff_t depth)
{
    problem p = {.n = n, .d = d, .points = points, .arch = {depth, 1, 1}};
    p.x = normals(1, n * d);
    p.y = normals(2, n);
    p.at = normals(3, points * d);
    MUST(epiqp_rows_new(c, n, d, p.x, &p.rows));
    MUST(epiqp_rows_new(c, points, d, p.at, &p.there));
    p.device = (epiqp_device){gpu, gpu->bytes_free(gpu->user), true};
    return p;
}

void problem_end(problem *p)
{
    epiqp_rows_free(c, &p->rows);
    epiqp_rows_free(c, &p->there);
    free(p->x), free(p->y), free(p->at);
}

int transfer(void *there, ptrdiff_t count, double *own, bool back)
{
    const epiq_device_do step = {back ? EPIQ_DEVICE_FETCH : EPIQ_DEVICE_PUT, .to = there, .at = there, .count = count,
                                 .own = own};
    const epiq_device_program program = {1, 1, 1, 0, 1, &step};
    return gpu->run(gpu->user, 1, &program);
}

/* The table, with the time of its programs summed. */
struct timed_table timed;

static int run_timed(void *user, ptrdiff_t count, const epiq_device_program *programs)
{
    const double start = epiqp_now();
    int status = timed.run(user, count, programs);
    timed.seconds += epiqp_now() - start; /* the library runs one at a time */
    timed.runs++;
    timed.programs += count;
    return status;
}

static void time_programs(void)
{
    timed.table = *gpu;
    timed.run = gpu->run;
    timed.table.run = run_timed;
    gpu = &timed.table;
}

static const epiq_device *open_gpu(void *user, char *why, size_t room)
{
    (void)user;
    *why = room ? '\0' : *why;
    return gpu;
}

int main(int argc, char **argv)
{
    char why[512] = "";
    const char *better = epiq_machine_describe().better_core; /* as the command does, for fair times */
    if (better && !getenv("OPENBLAS_CORETYPE") && setenv("OPENBLAS_CORETYPE", better, 1) == 0) {
        execv("/proc/self/exe", argv);
    }
    if (argc < 2) {
        fprintf(stderr, "usage: gpu_agrees libepiq_cuda.so [most rows]\n");
        return 2;
    }
    const ptrdiff_t most = argc > 2 ? atol(argv[2]) : 50000, largest = most == -3 ? 20000 : most;
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    void *begin = dlsym(library, "epiq_cuda_begin");
    epiq_cuda_begin_fn begin_cuda = NULL;
    memcpy(&begin_cuda, &begin, sizeof begin);
    double start = epiqp_now();
    gpu = begin_cuda ? begin_cuda(EPIQ_VERSION, why, sizeof why) : NULL;
    if (!gpu) {
        fprintf(stderr, "no GPU: %s\n", why);
        return 77;
    }
    printf("%s, %.1f GB, %.1f free, compute capability %d.%d; started in %.2f s; %d threads\n", gpu->model,
           gpu->bytes / 1e9, gpu->bytes_free(gpu->user) / 1e9, gpu->capability / 10, gpu->capability % 10,
           epiqp_now() - start, omp_get_max_threads());
    if (epiq_ctx_new(&c) < 0) return 2;
    epiq_options o = usual_options();
    host = epiqp_run_begin(c, &o);
    epiq_ctx_on_device(c, open_gpu, NULL);
    time_programs();
    if (most >= -1) training_agrees(most >= 0);
    if (most >= 0 || most == -3) all_rates();
    if (most == -1 || most == -3) matrices_once(); /* cuSOLVER starts with its first use, which is not to be timed */
    if (most > 0 || most == -2) predictions_agree();
    if (most > 0) kernels_and_matrices();
    for (ptrdiff_t n = 10000; n <= largest; n = n < 20000 ? 20000 : n < 50000 ? 50000 : 2 * n) {
        large(n);
    }
    epiqp_run_end();
    epiq_ctx_free(c);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
