/* fuzz_npy.c - any bytes as an NPY array, taken as a table. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_table(bytes, size);
    return 0;
}
