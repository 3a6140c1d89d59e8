/* run_begin.c - what every run computes with: backend, threads and cluster, chosen from the options and the context; and
 * OpenBLAS held to one thread. It is here and not in run/ because epiq_kernel needs it too.
 */
#include "la/la.h"

#include <omp.h>
#include <pthread.h>
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

int epiqp_all_threads(const epiq_cluster *k)
{
    int mine = omp_get_num_procs();
    return k && mine == sysconf(_SC_NPROCESSORS_ONLN) ? (int)epiqp_max(1, mine / k->ranks_on_node) : mine;
}

epiqp_env epiqp_run_begin(epiq_ctx *c, const epiq_options *o)
{
    hold_blas(1);
    return (epiqp_env){c, o->backend == EPIQ_BACKEND_REF ? &epiqp_la_ref : &epiqp_la_blas,
                       o->threads > 0 ? (int)o->threads : epiqp_all_threads(c->cluster), c->cluster};
}

void epiqp_run_end(void)
{
    hold_blas(-1);
}
