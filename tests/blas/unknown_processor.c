/* unknown_processor.c - preloaded, it makes OpenBLAS tell what it tells on a processor that it does not know: without
 * OPENBLAS_CORETYPE the type of its fallback, with it that type, or with EPIQ_TEST_STUBBORN the fallback all the same. Every
 * start of a program is a line in the file that EPIQ_TEST_STARTS names. For tests/cli/blas.sh.
 */
#include <stdio.h>
#include <stdlib.h>

char *openblas_get_corename(void)
{
    static char fallback[] = "Prescott";
    char *type = getenv("OPENBLAS_CORETYPE");
    return type && *type && !getenv("EPIQ_TEST_STUBBORN") ? type : fallback;
}

__attribute__((constructor)) static void count_start(void)
{
    const char *path = getenv("EPIQ_TEST_STARTS"), *type = getenv("OPENBLAS_CORETYPE");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file) {
        fprintf(file, "%s\n", type ? type : "unset");
        fclose(file);
    }
}
