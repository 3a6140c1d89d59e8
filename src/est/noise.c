/* noise.c - the noise variance of every row without what the fit misses of the function (docs/method.md section 3, N1): what M
 * twice applied leaves of the targets is nearly noise alone, and is smoothed over rows near each other (smooth.c).
 */
#include "est/rowwise.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { SIGNS = 64 }; /* random vectors: they estimate (M^4)_ii to 18 %, which is averaged over a row's neighbours */

double epiqp_noise_alone_bytes(ptrdiff_t n)
{
    return 8 * (double)n * (2 * (SIGNS + 1) + 3) + epiqp_smooth_bytes(n);
}

/* M y, M = shift A^-1, and again: what is left of the function falls far faster than the noise. (N1) */
static int twice(const epiqp_problem *pb, const epiqp_ridge *r, double *v, double *room)
{
    const ptrdiff_t count = (SIGNS + 1) * pb->n;
    for (int k = 0; k < 2; k++) {
        int s = epiqp_inverse_times(&pb->e, &r->inverse, false, SIGNS + 1, v, room);
        if (s) return s;
        for (ptrdiff_t i = 0; i < count; i++) {
            v[i] = r->shift * room[i];
        }
    }
    return EPIQ_OK;
}

/* q and weight, n each, for smoothing; false: some are no doubles. v: the targets and signs, n each, M twice applied. */
static bool squares_of(ptrdiff_t n, const double *v, double *q, double *weight)
{
    bool known = true;
    for (ptrdiff_t i = 0; i < n; i++) {
        double sum = 0;
        for (ptrdiff_t k = 1; k <= SIGNS; k++) {
            sum += v[k * n + i] * v[k * n + i] / SIGNS;
        }
        weight[i] = sum;
        q[i] = sum > 0 ? v[i] * v[i] / sum : 0;
        known = known && sum >= DBL_MIN && isfinite(q[i]);
    }
    return known;
}

int epiqp_noise_alone(const epiqp_problem *pb, const epiqp_solution *sol, double *noise)
{
    const ptrdiff_t n = pb->n;
    double *v = epiqp_alloc(pb->e.c, 2 * (SIGNS + 1) * n, sizeof *v), *q = epiqp_alloc(pb->e.c, 3 * n, sizeof *q);
    signed char *sign = epiqp_alloc(pb->e.c, n, sizeof *sign);
    int s = v && q && sign ? EPIQ_OK : EPIQ_E_NOMEM;
    if (s) goto end;
    for (ptrdiff_t k = 0; k < SIGNS; k++) {
        epiqp_signs((epiqp_stream){pb->plan->seed, EPIQP_FOR_ALONE, (uint64_t)k}, n, sign);
        for (ptrdiff_t i = 0; i < n; i++) {
            v[(k + 1) * n + i] = sign[i];
        }
    }
    memcpy(v, pb->data->y, (size_t)n * sizeof *v);
    if ((s = twice(pb, sol->ridge, v, v + (SIGNS + 1) * n))) goto end;
    if (!squares_of(n, v, q, q + n)) {
        memset(noise, 0, (size_t)n * sizeof *noise);
        goto end;
    }
    epiqp_free(pb->e.c, v);
    v = NULL;
    s = epiqp_smooth(pb, sol, q, q + n, &(epiqp_smoothed){.noise = noise, .sd = q + 2 * n});
end:
    epiqp_free(pb->e.c, sign);
    epiqp_free(pb->e.c, q);
    epiqp_free(pb->e.c, v);
    return s;
}
