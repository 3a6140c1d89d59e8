/* crew.h - a cluster without a network: every rank is a thread of this process with a context of its own, and the table
 * (epiq_cluster) is made of barriers and plain copies. Factor and solve put the whole matrix together on one rank and
 * use the reference backend: slow, and nothing of the code that is tested.
 *
 *     crew_run(2, 3, 8, work, &job);     2 by 3 ranks, blocks of 8: work(&job, ctx) on each; ctx->cluster tells which
 */
#ifndef CREW_H
#define CREW_H

#include "la/la.h"
#include "test.h"

#include <pthread.h>
#include <stdlib.h>

enum { CREW_MOST = 8 };
static struct {
    pthread_barrier_t barrier;
    epiq_cluster of[CREW_MOST];
    const void *given[CREW_MOST];
    int status[CREW_MOST];
    char sentence[CREW_MOST][1024];
    double *whole, *right; /* n by n, n by cols */
    ptrdiff_t pivot;
} crew;
static _Thread_local epiq_cluster *crew_me;
static _Thread_local int crew_over; /* the failure that was agreed on */
static _Thread_local char crew_last[1024];

static void crew_wait(void)
{
    pthread_barrier_wait(&crew.barrier);
}

static int crew_agree(int status, char *sentence, size_t room)
{
    if (!crew_over) {
        crew.status[crew_me->rank] = status;
        snprintf(crew.sentence[crew_me->rank], sizeof crew.sentence[0], "%s", sentence);
        crew_wait();
        for (int r = 0; r < crew_me->size; r++) {
            if (crew.status[r] < crew_over) {
                crew_over = crew.status[r];
                snprintf(crew_last, sizeof crew_last, "%s", crew.sentence[r]);
            }
        }
        crew_wait();
    }
    snprintf(sentence, room, "%s", crew_over ? crew_last : sentence);
    return crew_over;
}

static void crew_share(int from, void *bytes, size_t count)
{
    if (!crew_over) {
        crew.given[crew_me->rank] = bytes;
        crew_wait();
        if (from != crew_me->rank) {
            memcpy(bytes, crew.given[from], count);
        }
        crew_wait();
    }
}

static void crew_sum(double *x, ptrdiff_t count)
{
    if (!crew_over) {
        double *sum = calloc((size_t)count + 1, sizeof *sum);
        crew.given[crew_me->rank] = x;
        crew_wait();
        for (int r = 0; r < crew_me->size; r++) {
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
static void crew_deal(ptrdiff_t n, ptrdiff_t cols, double *mine, double *whole, int to)
{
    ptrdiff_t at = 0, b = crew_me->block;
    for (ptrdiff_t j = 0; j < cols; j++) {
        for (ptrdiff_t i = 0; i < n; i++) {
            if (i / b % crew_me->rows == crew_me->rank / crew_me->cols &&
                j / b % crew_me->cols == crew_me->rank % crew_me->cols) {
                double *one = &mine[at++], *all = &whole[i + j * n];
                *(to ? one : all) = to ? *all : *one;
            }
        }
    }
}

static ptrdiff_t crew_factor(int threads, ptrdiff_t n, double *a)
{
    (void)threads;
    if (crew_me->rank == 0) {
        crew.whole = calloc((size_t)(n * n), sizeof *crew.whole);
    }
    crew_wait();
    crew_deal(n, n, a, crew.whole, 0);
    crew_wait();
    if (crew_me->rank == 0) {
        crew.pivot = epiqp_la_ref.potrf(n, crew.whole, n);
    }
    crew_wait();
    crew_deal(n, n, a, crew.whole, 1);
    ptrdiff_t pivot = crew.pivot;
    crew_wait();
    if (crew_me->rank == 0) {
        free(crew.whole);
    }
    return pivot;
}

static void crew_solve(int threads, ptrdiff_t n, const double *factor, ptrdiff_t cols, double *b)
{
    (void)threads;
    if (crew_me->rank == 0) {
        crew.whole = calloc((size_t)(n * n), sizeof *crew.whole);
        crew.right = calloc((size_t)(n * cols), sizeof *crew.right);
    }
    crew_wait();
    crew_deal(n, n, (double *)(uintptr_t)factor, crew.whole, 0);
    crew_deal(n, cols, b, crew.right, 0);
    crew_wait();
    if (crew_me->rank == 0) {
        epiqp_la_ref.trsm('L', 'N', n, cols, crew.whole, n, crew.right, n);
        epiqp_la_ref.trsm('L', 'T', n, cols, crew.whole, n, crew.right, n);
    }
    crew_wait();
    crew_deal(n, cols, b, crew.right, 1);
    crew_wait();
    if (crew_me->rank == 0) {
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
    crew_me = &crew.of[t->rank];
    crew_over = 0;
    epiq_ctx_cluster(c, crew_me);
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
        crew.of[r] = (epiq_cluster){"crew", r,          size,       size,     rows,        cols,
                                    block,  crew_agree, crew_share, crew_sum, crew_factor, crew_solve};
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
