/* epiq_mpi.c - an epiq_cluster made of MPI processes, with ScaLAPACK for its matrices (docs/cluster.md). MPI is
 * called only from the thread that called the library, never from its workers. An error in MPI itself ends the job,
 * MPI's default; an error on one rank reaches all ranks by an allreduce of the status, and all of them return.
 */
#include "mpi/epiq_mpi.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* ScaLAPACK and BLACS have no header of their own. */
extern void Cblacs_get(int context, int what, int *value);
extern void Cblacs_gridinit(int *context, const char *order, int rows, int cols);
extern void Cblacs_gridexit(int context);
extern int numroc_(const int *n, const int *block, const int *place, const int *first, const int *of);
extern void descinit_(int *desc, const int *m, const int *n, const int *mb, const int *nb, const int *row0,
                      const int *col0, const int *context, const int *ld, int *info);
extern void pdpotrf_(const char *uplo, const int *n, double *a, const int *i, const int *j, const int *desc, int *info);
extern void pdpotrs_(const char *uplo, const int *n, const int *cols, const double *a, const int *ia, const int *ja,
                     const int *desc_a, double *b, const int *ib, const int *jb, const int *desc_b, int *info);
extern void openblas_set_num_threads(int n) __attribute__((weak));

enum { BLOCK = 128, PIECE = 1 << 27 }; /* at n = 8000 on two ranks 64 is 9 % slower, 256 7 %; numbers in one message */

/* What the functions of the table work with: its user. MPI itself is one for each process. */
typedef struct {
    epiq_cluster table;
    int blacs; /* the BLACS context */
    struct {
        int status;
        char sentence[1024];
    } over; /* the failure that all ranks know of; status 0: none */
} world;
static world here;

/* ---- communication ---- */

static int allreduce_status(void *user, int status, char *sentence, size_t room)
{
    world *w = user;
    if (!w->over.status) {
        struct {
            int status, rank;
        } mine = {status < 0 ? status : 0, w->table.rank}, worst;
        MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MINLOC,
                      MPI_COMM_WORLD); /* among equal ones, that of the lowest rank */
        if (!worst.status) return 0;
        w->over.status = worst.status;
        int head = worst.rank ? snprintf(w->over.sentence, sizeof w->over.sentence, "rank %d of %d: ", worst.rank,
                                         w->table.ranks)
                              : 0;
        if (worst.rank == w->table.rank) {
            snprintf(w->over.sentence + head, sizeof w->over.sentence - (size_t)head, "%s", sentence);
        }
        MPI_Bcast(w->over.sentence, sizeof w->over.sentence, MPI_CHAR, worst.rank, MPI_COMM_WORLD);
    }
    snprintf(sentence, room, "%s", w->over.sentence);
    return w->over.status;
}

static void bcast(void *user, int from, void *bytes, size_t count)
{
    const world *w = user;
    for (size_t at = 0; !w->over.status && at < count; at += PIECE) {
        MPI_Bcast((char *)bytes + at, (int)(count - at < PIECE ? count - at : PIECE), MPI_BYTE, from, MPI_COMM_WORLD);
    }
}

static void allreduce_sum(void *user, double *x, ptrdiff_t count)
{
    const world *w = user;
    for (ptrdiff_t at = 0; !w->over.status && at < count; at += PIECE) {
        MPI_Allreduce(MPI_IN_PLACE, x + at, (int)(count - at < PIECE ? count - at : PIECE), MPI_DOUBLE, MPI_SUM,
                      MPI_COMM_WORLD);
    }
}

/* ---- matrices ---- */

static void describe(const world *w, int rows, int cols, int *desc)
{
    const int zero = 0, block = BLOCK, place = w->table.rank / w->table.cols;
    int info, ld = numroc_(&rows, &block, &place, &zero, &w->table.rows);
    ld = ld > 1 ? ld : 1;
    descinit_(desc, &rows, &cols, &block, &block, &zero, &zero, &w->blacs, &ld, &info);
}

/* Inside ScaLAPACK BLAS may use several threads, because those of the library are idle then. */
static void lend_threads(int threads)
{
    if (threads > 1 && openblas_set_num_threads) openblas_set_num_threads(threads);
}

static void take_threads(int threads)
{
    if (threads > 1 && openblas_set_num_threads) openblas_set_num_threads(1);
}

static ptrdiff_t factor(void *user, int threads, ptrdiff_t n, double *a)
{
    int desc[9], info = 0, one = 1, size = (int)n;
    describe(user, size, size, desc);
    lend_threads(threads);
    pdpotrf_("L", &size, a, &one, &one, desc, &info);
    take_threads(threads);
    return info; /* negative: an illegal argument, treated as a failed pivot; the same on every rank */
}

static void solve(void *user, int threads, ptrdiff_t n, const double *a, ptrdiff_t cols, double *b)
{
    int desc_a[9], desc_b[9], info = 0, one = 1, size = (int)n, wide = (int)cols;
    describe(user, size, size, desc_a);
    describe(user, size, wide, desc_b);
    lend_threads(threads);
    pdpotrs_("L", &size, &wide, a, &one, &one, desc_a, b, &one, &one, desc_b, &info);
    take_threads(threads);
}

/* ---- start and end ---- */

/* The grid nearest to a square, wide rather than tall: pdpotrf is faster on 1 x 2 than on 2 x 1. */
static int grid_rows(int size)
{
    int rows = 1;
    for (int k = 1; k * k <= size; k++) {
        rows = size % k == 0 ? k : rows;
    }
    return rows;
}

const epiq_cluster *epiq_mpi_begin(const char *version)
{
    int provided;
    if (strcmp(version, EPIQ_VERSION) != 0) return NULL;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm node;
    here.table = (epiq_cluster){.size = sizeof here.table,
                                .user = &here,
                                .name = "mpi",
                                .block = BLOCK,
                                .allreduce_status = allreduce_status,
                                .bcast = bcast,
                                .allreduce_sum = allreduce_sum,
                                .factor = factor,
                                .solve = solve};
    MPI_Comm_rank(MPI_COMM_WORLD, &here.table.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &here.table.ranks);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &here.table.ranks_on_node);
    MPI_Comm_free(&node);
    here.table.rows = grid_rows(here.table.ranks);
    here.table.cols = here.table.ranks / here.table.rows;
    Cblacs_get(-1, 0, &here.blacs);
    Cblacs_gridinit(&here.blacs, "Row", here.table.rows, here.table.cols);
    return &here.table;
}

void epiq_mpi_end(void)
{
    Cblacs_gridexit(here.blacs);
    MPI_Finalize();
}
