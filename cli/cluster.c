/* cluster.c - under mpirun or srun: loads libepiq_mpi.so, which alone uses MPI, to be one rank of several. Rank 0
 * prints and writes. Without a launcher nothing of MPI is in the process.
 */
#include "cli/cli.h"
#include "mpi/epiq_mpi.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const epiq_cluster *cluster; /* NULL: alone */
static epiq_mpi_end_fn end_mpi;

bool cluster_there(void)
{
    return cluster;
}

bool cluster_speaks(void)
{
    return !cluster || cluster->rank == 0;
}

/* ---- the launcher ---- */

/* The first of these variables that is there, as a number; -1: none is. */
static long from_environment(const char *const *names)
{
    for (; *names; names++) {
        const char *text = getenv(*names);
        if (text && *text) return strtol(text, NULL, 10);
    }
    return -1;
}

static long launched_rank(void)
{
    return from_environment(
        (const char *const[]){"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", NULL});
}

/* All ranks fail with the same sentence: the first prints it and the launcher ends the others, which wait before they
 * print it too. */
static int refuse(const char *why)
{
    enum { PATIENCE_S = 2 };
    if (launched_rank() > 0) sleep(PATIENCE_S);
    return complain(CODE_USAGE, "%s", why);
}

/* ---- loading ---- */

static void *open_library(char *why, size_t room)
{
    char path[LIBRARY_PATH];
    if (library_path("libepiq_mpi.so", path)) {
        void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* MPI's plugins look for global names */
        if (!library) {
            snprintf(why, room, "libepiq_mpi.so cannot be loaded (%s); run make mpi again on this machine", dlerror());
        }
        return library;
    }
    snprintf(why, room,
             "this was started by mpirun or srun, but libepiq_mpi.so is not there; build it with make mpi, or start "
             "epiq without them");
    return NULL;
}

int cluster_start(void)
{
    char why[1024];
    long size =
        from_environment((const char *const[]){"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", NULL});
    if (size < 0 && launched_rank() < 0) return CODE_OK;
    if (size < 0 && !getenv("PMIX_RANK") && !getenv("PMI_RANK")) {
        return CODE_OK; /* in a batch script of Slurm's, but not started by srun */
    }
    void *library = open_library(why, sizeof why);
    if (!library) return size == 1 ? CODE_OK : refuse(why);
    void *begin = dlsym(library, "epiq_mpi_begin"), *end = dlsym(library, "epiq_mpi_end");
    epiq_mpi_begin_fn begin_mpi = NULL;
    memcpy(&begin_mpi, &begin, sizeof begin); /* ISO C has no cast from an object to a function */
    memcpy(&end_mpi, &end, sizeof end);
    cluster = begin_mpi && end_mpi ? begin_mpi(EPIQ_VERSION) : NULL;
    if (!cluster) return refuse("libepiq_mpi.so is of another version than this command; run make mpi again");
    if (size > 1 && cluster->ranks == 1) {
        return refuse("the processes that srun started do not know of each other; use srun --mpi=pmix");
    }
    if (cluster->rank > 0 && !freopen("/dev/null", "w", stdout)) return complain(CODE_FILE, "cannot write /dev/null");
    return CODE_OK;
}

/* ---- at work ---- */

int cluster_join(cli *c)
{
    if (!cluster) return CODE_OK;
    if (c->verb->mpi) {
        if (epiq_ctx_cluster(c->ctx, cluster) < 0) return complain(CODE_NUMERIC, "%s", epiq_message(c->ctx));
    } else if (cluster->ranks > 1) {
        return complain(CODE_USAGE,
                        "epiq %s is for one process; start it without mpirun (estimate and plan are for several)",
                        c->verb->name);
    }
    return cluster->ranks > 1 && c->verb->reads && c->operand && strcmp(c->operand, "-") == 0
               ? complain(CODE_USAGE, "standard input reaches one rank only; name a file that all of them can read")
               : CODE_OK;
}

long long cluster_most(long long bytes)
{
    char sentence[8] = "";
    long long most = bytes;
    if (cluster && cluster->allreduce_status(cluster->user, 0, sentence, sizeof sentence) == 0) {
        for (int r = 0; r < cluster->ranks; r++) {
            long long theirs = bytes;
            cluster->bcast(cluster->user, r, &theirs, sizeof theirs);
            most = theirs > most ? theirs : most;
        }
    }
    return most;
}

int cluster_end(int code, const char *sentence)
{
    if (!cluster) return code;
    static const int STATUS[] = {[CODE_OK] = EPIQ_OK, [CODE_USAGE] = EPIQ_E_USAGE, [CODE_FILE] = EPIQ_E_FILE};
    char worst[1024];
    snprintf(worst, sizeof worst, "%s", sentence);
    int status = cluster->allreduce_status(cluster->user, code <= CODE_FILE ? STATUS[code] : EPIQ_E_NUMERIC, worst,
                                           sizeof worst);
    if (status < 0 && !code) code = complain(exit_code(status), "%s", worst);
    /* a rank that exits with a failure makes the launcher end the others: everything is printed by now */
    signal(SIGTERM, SIG_IGN);
    end_mpi();
    return status < 0 ? exit_code(status) : code;
}
