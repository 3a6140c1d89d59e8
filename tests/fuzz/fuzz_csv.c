/* fuzz_csv.c - any bytes as a CSV table. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_table(bytes, size);
    return 0;
}
