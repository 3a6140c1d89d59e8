/* single.c - see single.h. */
#include "net/single.h"

#include <float.h>
#include <math.h>

static const double LARGEST = 1e6; /* of weights and of |x|: products of three and their sums stay far inside a float */
static const double SMALLEST = 1e-6; /* of |x|: below, products would leave it at the other end */

int epiqp_single_new(epiq_ctx *c, const epiqp_net *net, ptrdiff_t count, const double *theta, epiqp_single *out)
{
    *out = (epiqp_single){.count = count};
    const ptrdiff_t d = net->d, width = net->width, p = epiqp_net_params(net);
    bool ordinary = net->depth == 1 && d <= EPIQP_THIN_FEATURES && net->beta <= LARGEST;
    for (ptrdiff_t i = 0; ordinary && i < count * p; i++) {
        ordinary = fabs(theta[i]) <= LARGEST;
    }
    if (!ordinary) {
        return EPIQ_OK;
    }
    epiqp_thin thin;
    if (epiqp_thin_new(c, d, width, &thin)) {
        return EPIQ_E_NOMEM;
    }
    float *own = thin.w;
    out->size = thin.v - thin.w;
    out->w = epiqp_alloc(c, count * out->size, sizeof *out->w);
    out->top = epiqp_alloc(c, count, sizeof *out->top);
    for (ptrdiff_t k = 0; out->w && out->top && k < count; k++) {
        const double *one = theta + k * p, *b = one + width * d, *w2 = b + width;
        thin.w = out->w + k * out->size;
        epiqp_thin_begin(&thin, net->beta, one);
        out->top[k] = net->beta * w2[width];
        for (ptrdiff_t j = 0; j < width; j++) {
            double norm2 = epiqp_dot(d, one + j * d, one + j * d) + net->beta * net->beta * b[j] * b[j];
            out->gain += w2[j] * w2[j] * norm2 * 2 / (double)width / (double)count;
        }
    }
    /* four units a lane go into each of these sums at a time; from 64 times on their own rounding is what counts */
    double times = (double)width / (4 * thin.loops->lanes);
    out->gain = sqrt(out->gain * fmax(1, times / 64));
    thin.w = own;
    epiqp_thin_free(c, &thin);
    if (!out->w || !out->top) {
        epiqp_single_free(c, out);
        return EPIQ_E_NOMEM;
    }
    return EPIQ_OK;
}

void epiqp_single_free(epiq_ctx *c, epiqp_single *s)
{
    epiqp_free(c, s->w);
    epiqp_free(c, s->top);
    *s = (epiqp_single){0};
}

double epiqp_single_error(const epiqp_single *s, const epiqp_net *net, const double *x)
{
    double size = sqrt(epiqp_dot(net->d, x, x) + net->beta * net->beta);
    return size >= SMALLEST && size <= LARGEST ? s->gain * size * FLT_EPSILON / 2 : INFINITY;
}

void epiqp_single_forward(const epiqp_single *s, ptrdiff_t k, epiqp_thin *thin, ptrdiff_t rows, const double *x,
                          double *h)
{
    epiqp_thin mine = *thin;
    mine.w = s->w + k * s->size;
    epiqp_thin_forward(&mine, rows, x, h);
    for (ptrdiff_t i = 0; i < rows; i++) {
        h[i] += s->top[k];
    }
}
