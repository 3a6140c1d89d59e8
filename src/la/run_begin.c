/* run_begin.c - what every run computes with: backend, threads and cluster, chosen from the options and the context; and
 * OpenBLAS held to one thread, with the memory it needs. It is here and not in run/ because epiq_kernel needs it too.
 */
#include "la/la.h"

#include <omp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

/* All variants of OpenBLAS have these functions; with another library the weak reference is NULL. */
extern void openblas_set_num_threads(int n) __attribute__((weak));
extern int openblas_get_num_threads(void) __attribute__((weak));

/* OpenBLAS has one number of threads for the whole process. The first run to begin sets it to one and the last to end
 * restores it, so that runs of several contexts at once do not disturb each other. */
static pthread_mutex_t blas_lock = PTHREAD_MUTEX_INITIALIZER;
static int blas_runs, blas_threads_before;

/* change: 1 when a run begins, -1 when it ends */
static void hold_blas(int change)
{
    if (!openblas_get_num_threads || !openblas_set_num_threads) return;
    pthread_mutex_lock(&blas_lock);
    if (change > 0 && blas_runs == 0) blas_threads_before = openblas_get_num_threads();
    blas_runs += change;
    if (blas_threads_before > 1 && blas_runs == (change > 0)) { /* if it is 1 already, setting it would start threads */
        openblas_set_num_threads(change > 0 ? 1 : blas_threads_before);
    }
    pthread_mutex_unlock(&blas_lock);
}

/* OpenBLAS takes a buffer for every thread that calls it, keeps it, and where there is no memory for one it tries again
 * without end. So its buffers are taken here, as many as there is room for, and a run has no more threads than that. An
 * OpenBLAS that cannot be loaded without a buffer has one from the start. */
extern void *blas_memory_alloc(int kind) __attribute__((weak));
extern void blas_memory_free(void *buffer) __attribute__((weak));
enum { MOST_BUFFERS = 256 };
static int blas_buffers = 1;

static bool room_for_buffer(void)
{
    const size_t size = (size_t)160 << 20; /* a buffer has 128 MiB on the machines that have the largest */
    void *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return room != MAP_FAILED && munmap(room, size) == 0;
}

/* How many of `threads` may call OpenBLAS at once. */
static int take_buffers(int threads)
{
    if (!blas_memory_alloc || !blas_memory_free || threads > MOST_BUFFERS) return threads;
    pthread_mutex_lock(&blas_lock);
    void *taken[MOST_BUFFERS];
    int count = 0;
    while (blas_buffers < threads && count < threads && (count < blas_buffers || room_for_buffer())) {
        if (!(taken[count] = blas_memory_alloc(0))) break;
        count++;
    }
    blas_buffers = (int)epiqp_max(blas_buffers, count);
    while (count > 0) {
        blas_memory_free(taken[--count]);
    }
    threads = (int)epiqp_min(threads, blas_buffers);
    pthread_mutex_unlock(&blas_lock);
    return threads;
}

int epiqp_all_threads(const epiq_cluster *k)
{
    int mine = omp_get_num_procs();
    return k && mine == sysconf(_SC_NPROCESSORS_ONLN) ? (int)epiqp_max(1, mine / k->ranks_on_node) : mine;
}

epiqp_env epiqp_run_begin(epiq_ctx *c, const epiq_options *o)
{
    hold_blas(1);
    const bool blas = o->backend != EPIQ_BACKEND_REF;
    const int threads = o->threads > 0 ? (int)o->threads : epiqp_all_threads(c->cluster);
    return (epiqp_env){
        c, blas ? &epiqp_la_blas : &epiqp_la_ref, blas ? take_buffers(threads) : threads, c->cluster, NULL, NULL};
}

void epiqp_run_end(void)
{
    hold_blas(-1);
}
