/* epiq_mpi.c - a cluster (epiq.h) of MPI's processes, its matrices in the hands of ScaLAPACK (docs/cluster.md).
 * MPI calls come from the thread that called the library, never from its workers. What goes wrong in MPI itself ends the
 * job, as MPI does by default; what goes wrong on one rank is agreed on, and then all of them go home by themselves.
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

static epiq_cluster table;
static int context; /* of BLACS */
static struct {
    int status;
    char sentence[1024];
} over; /* the failure all have agreed on; status 0: none */

/* ---- talking ---- */

static int agree(int status, char *sentence, size_t room)
{
    if (!over.status) {
        struct {
            int status, rank;
        } mine = {status < 0 ? status : 0, table.rank}, worst;
        MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD); /* of equals the first rank's */
        if (!worst.status) {
            return 0;
        }
        over.status = worst.status;
        int head =
            worst.rank ? snprintf(over.sentence, sizeof over.sentence, "rank %d of %d: ", worst.rank, table.size) : 0;
        if (worst.rank == table.rank) {
            snprintf(over.sentence + head, sizeof over.sentence - (size_t)head, "%s", sentence);
        }
        MPI_Bcast(over.sentence, sizeof over.sentence, MPI_CHAR, worst.rank, MPI_COMM_WORLD);
    }
    snprintf(sentence, room, "%s", over.sentence);
    return over.status;
}

static void share(int from, void *bytes, size_t count)
{
    for (size_t at = 0; !over.status && at < count; at += PIECE) {
        MPI_Bcast((char *)bytes + at, (int)(count - at < PIECE ? count - at : PIECE), MPI_BYTE, from, MPI_COMM_WORLD);
    }
}

static void sum(double *x, ptrdiff_t count)
{
    for (ptrdiff_t at = 0; !over.status && at < count; at += PIECE) {
        MPI_Allreduce(MPI_IN_PLACE, x + at, (int)(count - at < PIECE ? count - at : PIECE), MPI_DOUBLE, MPI_SUM,
                      MPI_COMM_WORLD);
    }
}

/* ---- matrices ---- */

static void describe(int rows, int cols, int *desc)
{
    const int zero = 0, block = BLOCK, place = table.rank / table.cols;
    int info, ld = numroc_(&rows, &block, &place, &zero, &table.rows);
    ld = ld > 1 ? ld : 1;
    descinit_(desc, &rows, &cols, &block, &block, &zero, &zero, &context, &ld, &info);
}

/* BLAS inside ScaLAPACK is the only one that may use threads of its own: the library's are asleep meanwhile. */
static void lend_threads(int threads)
{
    if (threads > 1 && openblas_set_num_threads) {
        openblas_set_num_threads(threads);
    }
}

static void take_threads(int threads)
{
    if (threads > 1 && openblas_set_num_threads) {
        openblas_set_num_threads(1);
    }
}

static ptrdiff_t factor(int threads, ptrdiff_t n, double *a)
{
    int desc[9], info = 0, one = 1, size = (int)n;
    describe(size, size, desc);
    lend_threads(threads);
    pdpotrf_("L", &size, a, &one, &one, desc, &info);
    take_threads(threads);
    return info; /* an illegal argument, negative, is as fatal as a pivot; it is the same on every rank */
}

static void solve(int threads, ptrdiff_t n, const double *a, ptrdiff_t cols, double *b)
{
    int desc_a[9], desc_b[9], info = 0, one = 1, size = (int)n, wide = (int)cols;
    describe(size, size, desc_a);
    describe(size, wide, desc_b);
    lend_threads(threads);
    pdpotrs_("L", &size, &wide, a, &one, &one, desc_a, b, &one, &one, desc_b, &info);
    take_threads(threads);
}

/* ---- beginning and end ---- */

/* Nearest to a square, and wide rather than tall: pdpotrf likes 1 x 2 better than 2 x 1. */
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
    if (strcmp(version, EPIQ_VERSION) != 0) {
        return NULL;
    }
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm here;
    table = (epiq_cluster){
        .name = "mpi", .block = BLOCK, .agree = agree, .share = share, .sum = sum, .factor = factor, .solve = solve};
    MPI_Comm_rank(MPI_COMM_WORLD, &table.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &table.size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &table.neighbours);
    MPI_Comm_free(&here);
    table.rows = grid_rows(table.size);
    table.cols = table.size / table.rows;
    Cblacs_get(-1, 0, &context);
    Cblacs_gridinit(&context, "Row", table.rows, table.cols);
    return &table;
}

void epiq_mpi_end(void)
{
    Cblacs_gridexit(context);
    MPI_Finalize();
}
