/* epiq_cluster.h - one estimate on many processes, the ranks. All ranks make the same calls on the same data, and
 * epiq_estimate distributes its work: the kernel matrix in square blocks over a grid of ranks (block-cyclic, as in
 * ScaLAPACK), networks one by one. This table is how ranks communicate; mpi/epiq_mpi.c fills it with MPI and ScaLAPACK:
 *
 *     epiq_ctx_cluster(c, &table);                        before everything else
 *     status = epiq_ctx_agree(c, epiq_data_read(..));     a failure of one rank becomes the failure of all
 *     status = epiq_estimate(..);                         the same answer, or the same failure, on every rank
 *
 * Every function of the table is collective: all ranks call it, in the same order. Once allreduce_status has returned a
 * failure, all later calls do nothing and it returns that failure again, so that no rank blocks on one that has
 * returned.
 */
#ifndef EPIQ_CLUSTER_H
#define EPIQ_CLUSTER_H

#include "epiq.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { EPIQ_BLOCK_MOST = 128 };

typedef struct epiq_cluster {
    size_t size;       /* sizeof(epiq_cluster) */
    const char *name;  /* what results call it */
    int rank, ranks;   /* this process, from 0, and the number of processes */
    int ranks_on_node; /* those on this machine, this one included */
    int rows, cols;    /* the grid: rank r is in row r / cols and column r % cols */
    ptrdiff_t block; /* side of a block, 1 to EPIQ_BLOCK_MOST; block (i, j) belongs to row i % rows, column j % cols */
    void *user;      /* first argument of the functions */
    /* The least status of all ranks, if negative, with its sentence; else 0. */
    int (*allreduce_status)(void *user, int status, char *sentence, size_t room);
    void (*bcast)(void *user, int from, void *bytes, size_t count);
    void (*allreduce_sum)(void *user, double *x, ptrdiff_t count); /* the same bits on every rank */
    /* a: this rank's blocks of a symmetric n by n matrix, as one column-major matrix, of which the lower triangle
     * counts; overwritten by the Cholesky factor. Returns 0, or the number of the pivot that is not positive. */
    ptrdiff_t (*factor)(void *user, int threads, ptrdiff_t n, double *a);
    /* b: this rank's blocks of `sides` right-hand sides (n by sides), overwritten by the solutions. */
    void (*solve)(void *user, int threads, ptrdiff_t n, const double *factor, ptrdiff_t sides, double *b);
} epiq_cluster;

/* The table is copied; NULL: this process works alone. */
EPIQ_API int epiq_ctx_cluster(epiq_ctx *c, const epiq_cluster *cluster);
/* The worst status of all ranks; the message of the rank that failed becomes this one's. Alone: status. */
EPIQ_API int epiq_ctx_agree(epiq_ctx *c, int status);

#ifdef __cplusplus
}
#endif
#endif
