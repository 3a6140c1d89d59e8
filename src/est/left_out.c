/* left_out.c - points that are rows of the data, asked of models that have not seen them. Kernel regression without the group g
 * of a row has at the group's rows the weights -B_gg^-1 B_g, with B = A^-1, and 0 at g itself; for a row alone -B_i/B_ii
 * (docs/method.md section 3). Nothing is solved again.
 */
#include "est/if.h"

#include <string.h>

static int cannot_leave_out(const epiqp_problem *pb, ptrdiff_t row)
{
    return epiqp_fail(pb->e.c, EPIQ_E_NUMERIC,
                      "row %td cannot be left out numerically: the others decide it but for rounding; use a larger "
                      "{--lambda}",
                      pb->data->row[row]);
}

bool epiqp_leave_row_out(ptrdiff_t n, ptrdiff_t row, double *c)
{
    const double own = c[row];
    if (!(own > 0)) return false;
    for (ptrdiff_t j = 0; j < n; j++) {
        c[j] /= -own;
    }
    c[row] = 0;
    return true;
}

/* c_of: where the rows of B of this group's rows are. */
static int leave_group_out(const epiqp_problem *pb, ptrdiff_t size, const ptrdiff_t *rows, double *const *c_of)
{
    const ptrdiff_t n = pb->n;
    double *block = epiqp_alloc(pb->e.c, size * (size + n), sizeof *block);
    if (!block) return EPIQ_E_NOMEM;
    double *b = block + size * size;
    for (ptrdiff_t i = 0; i < size; i++) {
        for (ptrdiff_t k = 0; k < size; k++) {
            block[i + k * size] = c_of[k][rows[i]];
        }
        for (ptrdiff_t j = 0; j < n; j++) {
            b[i + j * size] = c_of[i][j];
        }
    }
    int s = pb->e.la->potrf(size, block, size) ? cannot_leave_out(pb, rows[0]) : EPIQ_OK;
    if (!s) epiqp_la_solve(pb->e.la, size, block, n, b);
    for (ptrdiff_t i = 0; !s && i < size; i++) {
        for (ptrdiff_t j = 0; j < n; j++) {
            c_of[i][j] = -b[i + j * size];
        }
        for (ptrdiff_t k = 0; k < size; k++) {
            c_of[i][rows[k]] = 0;
        }
    }
    epiqp_free(pb->e.c, block);
    return s;
}

int epiqp_leave_points_out(const epiqp_problem *pb, double *c)
{
    const ptrdiff_t n = pb->n;
    epiqp_listed of;
    double **of_row = epiqp_room(pb, 2 * n, sizeof *of_row); /* NULL: not asked about */
    if (!of_row || epiqp_list_rows(pb, pb->data->groups, pb->data->group, &of)) return EPIQ_E_NOMEM;
    double **in_group = of_row + n;
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        if (pb->left_out[p] >= 0) of_row[pb->left_out[p]] = c + p * n;
    }
    int s = EPIQ_OK;
    for (ptrdiff_t g = 0; !s && g < pb->data->groups; g++) {
        const ptrdiff_t size = epiqp_listed_size(&of, g), *rows = of.rows + of.start[g];
        if (!of_row[rows[0]]) continue; /* groups are asked about whole */
        for (ptrdiff_t i = 0; i < size; i++) {
            in_group[i] = of_row[rows[i]];
        }
        if (size > 1) {
            s = leave_group_out(pb, size, rows, in_group);
        } else if (!epiqp_leave_row_out(n, rows[0], in_group[0])) {
            s = cannot_leave_out(pb, rows[0]);
        }
    }
    return s;
}
