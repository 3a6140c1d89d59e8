/* epiq_mpi.h - what libepiq_mpi.so has for whoever loads it: the table of epiq.h, of MPI and ScaLAPACK. The command loads
 * it under a launcher only; nothing else of epiq knows MPI.
 */
#ifndef EPIQ_MPI_H
#define EPIQ_MPI_H

#include "epiq.h"

/* Starts MPI. NULL: it has been built for another version than this one. */
EPIQ_API const epiq_cluster *epiq_mpi_begin(const char *version);
/* Waits for all ranks, and ends MPI: nothing may be left to say. */
EPIQ_API void epiq_mpi_end(void);

typedef const epiq_cluster *(*epiq_mpi_begin_fn)(const char *version);
typedef void (*epiq_mpi_end_fn)(void);

#endif
