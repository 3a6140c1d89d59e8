/* blas_start.h - OpenBLAS with kernels that are several times too slow for the processor: what is said of it, and how a program starts
 * itself again with others.
 */
#ifndef EPIQP_BLAS_START_H
#define EPIQP_BLAS_START_H

#include <stdlib.h>
#include <unistd.h>

/* Kernels in use, better ones, and these again. */
#define EPIQP_SLOW_BLAS                                                                                                \
    "OpenBLAS uses its kernels for %s, which are several times slower on this processor than those for %s; set "       \
    "OPENBLAS_CORETYPE=%s in the environment before the program starts"

/* OpenBLAS reads its variables when it is loaded, which has happened: the program starts itself again with this one set. That
 * happens once, since the second time it is set. A value that the user has set is left as it is. */
static inline void epiqp_start_with(const char *name, const char *value, char **argv)
{
    if (value && !getenv(name) && setenv(name, value, 1) == 0) {
        execv("/proc/self/exe", argv); /* where there is none, it may still work */
    }
}

#endif
