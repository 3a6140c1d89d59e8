/* npy.c - a matrix as NumPy's NPY file, version 1.0: float64 in the machine's byte order, C order. */
#include "report/report.h"

#include <string.h>

void write_npy(FILE *out, ptrdiff_t rows, ptrdiff_t columns, const double *a)
{
    enum { MAGIC = 10, ALIGN = 64 }; /* the data starts at a multiple of 64 bytes */
    const uint16_t probe = 1;
    char order = *(const unsigned char *)&probe ? '<' : '>', header[2 * ALIGN];
    int used = snprintf(header, sizeof header, "{'descr': '%cf8', 'fortran_order': False, 'shape': (%td, %td), }",
                        order, rows, columns);
    size_t length = (MAGIC + (size_t)used + 1 + ALIGN - 1) / ALIGN * ALIGN - MAGIC;
    memset(header + used, ' ', length - (size_t)used);
    header[length - 1] = '\n';
    fwrite("\x93NUMPY\x01\x00", 1, 8, out);
    putc((int)(length & 0xff), out);
    putc((int)(length >> 8), out);
    fwrite(header, 1, length, out);
    fwrite(a, sizeof *a, (size_t)rows * (size_t)columns, out);
}
