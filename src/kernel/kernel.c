/* kernel.c - epiq_kernel, the kernels of infinitely wide networks between all rows; and points that the kernel cannot
 * take as they are: too far to be squared, or at the origin; and points outside the range of the rows.
 */
#include "kernel/kernel.h"
#include "data/data.h"

#include <string.h>

int epiq_kernel(epiq_ctx *c, const epiq_data *data, const epiq_options *o, double *ntk, double *nngp)
{
    epiqp_clear(c);
    epiq_options own;
    int s = epiqp_options_take(c, o, &own);
    epiqp_rows rows = {0};
    if (s || (s = epiqp_options_check(c, &own)) || (s = epiqp_rows_new(c, data->n, data->d, data->x, &rows))) return s;
    epiqp_env e = epiqp_run_begin(c, &own);
    epiqp_net net = (epiqp_net){data->d, own.width, own.depth, own.bias, own.bias_sd};
    epiqp_arch arch = epiqp_arch_of(&net);
    epiqp_kernel_cross(&e, &arch, &rows, &rows, ntk, nngp);
    epiqp_run_end();
    epiqp_rows_free(c, &rows);
    epiqp_clear_cancel(c);
    return EPIQ_OK;
}

static const double ZERO_SQUARE = 1e-20; /* |x|^2 over that of the longest row: so small it is rounding */

epiqp_point_kind epiqp_point_settle(const epiq_options *o, double longest2, ptrdiff_t d, double *x)
{
    const double start_sd = o->bias * o->bias_sd, norm2 = epiqp_dot(d, x, x);
    if (!(norm2 <= EPIQP_LARGEST_SQUARE)) return EPIQP_POINT_TOO_FAR;
    if (start_sd * start_sd == 0 && norm2 <= ZERO_SQUARE * longest2) {
        memset(x, 0, (size_t)d * sizeof *x);
        return EPIQP_POINT_AT_ORIGIN;
    }
    return EPIQP_POINT_FINE;
}

ptrdiff_t epiqp_point_outside(ptrdiff_t d, const double *x, const double *least, const double *most)
{
    for (ptrdiff_t k = 0; k < d; k++) {
        const double slack = 1e-9 * (most[k] - least[k]);
        if (x[k] < least[k] - slack || x[k] > most[k] + slack) return k;
    }
    return -1;
}
