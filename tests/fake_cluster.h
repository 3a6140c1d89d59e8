/* fake_cluster.h - a cluster without a network: every rank is a thread of this process with a context of its own, and the table
 * (epiq_cluster) is made of barriers and plain copies. Factor and solve put the whole matrix together on one rank and
 * use the reference backend: slow, and nothing of the code that is tested.
 *
 *     crew_run(2, 3, 8, work, &job);     2 by 3 ranks, blocks of 8: work(&job, ctx) on each; ctx->cluster tells which
 */
#ifndef FAKE_CLUSTER_H
#define FAKE_CLUSTER_H

#include "la/la.h"
#include "test.h"

#include <pthread.h>
#include <stdlib.h>

enum { CREW_MOST = 8 };
typedef struct {
    epiq_cluster table; /* whose user is this rank */
    int over;           /* the failure that was agreed on */
    char last[1024];    /* and its sentence */
} crew_rank;
static struct {
    pthread_barrier_t barrier;
    crew_rank of[CREW_MOST];
    const void *given[CREW_MOST];
    int status[CREW_MOST];
    char sentence[CREW_MOST][1024];
    double *whole, *right; /* n by n, n by cols */
    ptrdiff_t pivot;
} crew;

static void crew_wait(void)
{
    pthread_barrier_wait(&crew.barrier);
}

static int crew_agree(void *user, int status, char *sentence, size_t room)
{
    crew_rank *me = user;
    if (!me->over) {
        crew.status[me->table.rank] = status;
        snprintf(crew.sentence[me->table.rank], sizeof crew.sentence[0], "%s", sentence);
        crew_wait();
        for (int r = 0; r < me->table.ranks; r++) {
            if (crew.status[r] < me->over) {
                me->over = crew.status[r];
                snprintf(me->last, sizeof me->last, "%s", crew.sentence[r]);
            }
        }
        crew_wait();
    }
    snprintf(sentence, room, "%s", me->over ? me->last : sentence);
    return me->over;
}

static void crew_share(void *user, int from, void *bytes, size_t count)
{
    crew_rank *me = user;
    if (!me->over) {
        crew.given[me->table.rank] = bytes;
        crew_wait();
        if (from != me->table.rank) memcpy(bytes, crew.given[from], count);
        crew_wait();
    }
}

static void crew_sum(void *user, double *x, ptrdiff_t count)
{
    crew_rank *me = user;
    if (!me->over) {
        double *sum = calloc((size_t)count + 1, sizeof *sum);
        crew.given[me->table.rank] = x;
        crew_wait();
        for (int r = 0; r < me->table.ranks; r++) {
            for (ptrdiff_t i = 0; i < count; i++) {
                sum[i] += ((const double *)crew.given[r])[i];
            }
        }
        crew_wait();
        memcpy(x, sum, (size_t)count * sizeof *sum);
        free(sum);
    }
}

/* One number of this rank's part after another, with its place in the whole n by cols; to: from there. */
static void crew_deal(const epiq_cluster *me, ptrdiff_t n, ptrdiff_t cols, double *mine, double *whole, int to)
{
    ptrdiff_t at = 0, b = me->block;
    for (ptrdiff_t j = 0; j < cols; j++) {
        for (ptrdiff_t i = 0; i < n; i++) {
            if (i / b % me->rows == me->rank / me->cols && j / b % me->cols == me->rank % me->cols) {
                double *one = &mine[at++], *all = &whole[i + j * n];
                *(to ? one : all) = to ? *all : *one;
            }
        }
    }
}

static ptrdiff_t crew_factor(void *user, int threads, ptrdiff_t n, double *a)
{
    crew_rank *me = user;
    (void)threads;
    if (me->table.rank == 0) crew.whole = calloc((size_t)(n * n), sizeof *crew.whole);
    crew_wait();
    crew_deal(&me->table, n, n, a, crew.whole, 0);
    crew_wait();
    if (me->table.rank == 0) crew.pivot = epiqp_la_ref.potrf(n, crew.whole, n);
    crew_wait();
    crew_deal(&me->table, n, n, a, crew.whole, 1);
    ptrdiff_t pivot = crew.pivot;
    crew_wait();
    if (me->table.rank == 0) free(crew.whole);
    return pivot;
}

static void crew_solve(void *user, int threads, ptrdiff_t n, const double *factor, ptrdiff_t cols, double *b)
{
    crew_rank *me = user;
    (void)threads;
    if (me->table.rank == 0) {
        crew.whole = calloc((size_t)(n * n), sizeof *crew.whole);
        crew.right = calloc((size_t)(n * cols), sizeof *crew.right);
    }
    crew_wait();
    crew_deal(&me->table, n, n, (double *)(uintptr_t)factor, crew.whole, 0);
    crew_deal(&me->table, n, cols, b, crew.right, 0);
    crew_wait();
    if (me->table.rank == 0) {
        epiqp_la_ref.trsm('L', 'N', n, cols, crew.whole, n, crew.right, n);
        epiqp_la_ref.trsm('L', 'T', n, cols, crew.whole, n, crew.right, n);
    }
    crew_wait();
    crew_deal(&me->table, n, cols, b, crew.right, 1);
    crew_wait();
    if (me->table.rank == 0) {
        free(crew.whole);
        free(crew.right);
    }
}

typedef struct {
    void (*work)(void *job, epiq_ctx *c);
    void *job;
    int rank;
} crew_task;

static void *crew_start(void *arg)
{
    const crew_task *t = arg;
    epiq_ctx *c;
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_ctx_cluster(c, &crew.of[t->rank].table), EPIQ_OK);
    t->work(t->job, c);
    EQ(c->live_blocks, 0);
    epiq_ctx_free(c);
    return NULL;
}

static void crew_run(int rows, int cols, ptrdiff_t block, void (*work)(void *job, epiq_ctx *c), void *job)
{
    int size = rows * cols;
    pthread_t thread[CREW_MOST];
    crew_task task[CREW_MOST];
    pthread_barrier_init(&crew.barrier, NULL, (unsigned)size);
    for (int r = 0; r < size; r++) {
        crew.of[r] = (crew_rank){.table = {.size = sizeof(epiq_cluster),
                                           .name = "crew",
                                           .rank = r,
                                           .ranks = size,
                                           .ranks_on_node = size,
                                           .rows = rows,
                                           .cols = cols,
                                           .block = block,
                                           .user = &crew.of[r],
                                           .allreduce_status = crew_agree,
                                           .bcast = crew_share,
                                           .allreduce_sum = crew_sum,
                                           .factor = crew_factor,
                                           .solve = crew_solve}};
        task[r] = (crew_task){work, job, r};
    }
    for (int r = 0; r < size; r++) {
        EQ(pthread_create(&thread[r], NULL, crew_start, &task[r]), 0);
    }
    for (int r = 0; r < size; r++) {
        pthread_join(thread[r], NULL);
    }
    pthread_barrier_destroy(&crew.barrier);
}

#endif
