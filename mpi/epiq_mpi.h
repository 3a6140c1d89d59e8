/* epiq_mpi.h - what libepiq_mpi.so provides: an epiq_cluster (epiq.h) of MPI and ScaLAPACK. The command loads it
 * under a launcher only; no other part of epiq uses MPI.
 */
#ifndef EPIQ_MPI_H
#define EPIQ_MPI_H

#include "epiq_cluster.h"

/* Starts MPI. NULL: the library was built for another version. */
EPIQ_API const epiq_cluster *epiq_mpi_begin(const char *version);
/* Waits for all ranks and ends MPI; nothing may be communicated afterwards. */
EPIQ_API void epiq_mpi_end(void);

typedef const epiq_cluster *(*epiq_mpi_begin_fn)(const char *version);
typedef void (*epiq_mpi_end_fn)(void);

#endif
