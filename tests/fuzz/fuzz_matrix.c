/* fuzz_matrix.c - any bytes as a matrix, CSV or NPY; what is read is written as NPY and must be read again as it was. */
#include "data/data.h"
#include "epiq_combine.h"
#include "fuzz.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static size_t as_npy(const epiq_matrix *m, char *out, size_t size)
{
    const size_t head = 128, all = (size_t)(m->rows * m->columns) * sizeof(double);
    if (head + all > size) return 0;
    int used = snprintf(out, head, "\x93NUMPY%c%c%c%c{'descr': '<f8', 'fortran_order': False, 'shape': (%td, %td), }",
                        1, 1, (int)head - 10, 1, m->rows, m->columns);
    out[7] = out[9] = '\0'; /* snprintf would have ended there */
    memset(out + used, ' ', head - (size_t)used);
    out[head - 1] = '\n';
    for (ptrdiff_t k = 0; k < m->rows * m->columns; k++) {
        double v = epiqp_matrix_at(m, k / m->columns, k % m->columns);
        memcpy(out + head + (size_t)k * sizeof v, &v, sizeof v);
    }
    return head + all;
}

static void check_again(const epiq_matrix *m)
{
    static char npy[1 << 16];
    epiq_ctx *c = fuzz_ctx();
    epiq_matrix *again;
    size_t size = as_npy(m, npy, sizeof npy);
    if (!size) return;
    EXPECT(fuzz_status(epiq_matrix_read(c, fuzz_file(1, npy, size), &again)) == EPIQ_OK);
    EXPECT(again->rows == m->rows && again->columns == m->columns && !again->column);
    for (ptrdiff_t i = 0; i < m->rows; i++) {
        for (ptrdiff_t j = 0; j < m->columns; j++) {
            EXPECT(same(epiqp_matrix_at(again, i, j), epiqp_matrix_at(m, i, j)));
        }
    }
    epiq_matrix_free(c, again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    epiq_ctx *c = fuzz_ctx();
    epiq_matrix *m;
    int s = fuzz_status(epiq_matrix_read(c, fuzz_file(0, bytes, size), &m));
    EXPECT((s == EPIQ_OK) == (m != NULL));
    if (m) {
        EXPECT(m->rows >= 1 && m->columns >= 1);
        for (ptrdiff_t j = 0; m->column && j < m->columns; j++) {
            EXPECT(*m->column[j]);
        }
        check_again(m);
    }
    epiq_matrix_free(c, m);
    fuzz_end();
    return 0;
}
