/* net.c - forward, reverse and tangent passes (net.h). Rows go through in chunks whose activations stay in the cache;
 * forward and reverse are one visit. A chunk's matrices are column-major, units by rows.
 */
#include "net/net.h"

#include <math.h>
#include <string.h>

enum {
    CHUNK = EPIQP_THIN_ROWS
}; /* rows at a time: 64 by 1024 doubles are 512 KiB, half of a usual second-level cache */

static ptrdiff_t inputs(const epiqp_net *net, ptrdiff_t l) /* d_{l-1} */
{
    return l == 1 ? net->d : net->width;
}
static ptrdiff_t units(const epiqp_net *net, ptrdiff_t l) /* d_l */
{
    return l <= net->depth ? net->width : 1;
}
static ptrdiff_t weights_at(const epiqp_net *net, ptrdiff_t l) /* where W_l starts in theta */
{
    ptrdiff_t at = 0;
    for (ptrdiff_t k = 1; k < l; k++) {
        at += units(net, k) * (inputs(net, k) + 1);
    }
    return at;
}
static ptrdiff_t biases_at(const epiqp_net *net, ptrdiff_t l)
{
    return weights_at(net, l) + units(net, l) * inputs(net, l);
}

ptrdiff_t epiqp_net_params(const epiqp_net *net)
{
    return weights_at(net, net->depth + 2);
}

void epiqp_net_init(const epiqp_net *net, epiqp_stream s, double *theta)
{
    epiqp_normals(s, epiqp_net_params(net), theta);
    for (ptrdiff_t l = 1; l <= net->depth + 1; l++) {
        double *b = theta + biases_at(net, l);
        for (ptrdiff_t k = 0; k < units(net, l); k++) {
            b[k] *= net->bias_sd;
        }
    }
}

int epiqp_pass_new(epiq_ctx *c, const epiqp_net *net, epiqp_pass *out)
{
    ptrdiff_t chunk = CHUNK * net->width;
    *out = (epiqp_pass){.g = epiqp_alloc(c, chunk * net->depth, sizeof(double)),
                        .t = epiqp_alloc(c, chunk, sizeof(double)),
                        .delta = epiqp_alloc(c, chunk, sizeof(double)),
                        .back = epiqp_alloc(c, chunk, sizeof(double))};
    if (!out->g || !out->t || !out->delta || !out->back) {
        epiqp_pass_free(c, out);
        return EPIQ_E_NOMEM;
    }
    return EPIQ_OK;
}

int epiqp_pass_single(epiq_ctx *c, const epiqp_net *net, epiqp_pass *w)
{
    bool thin = net->depth == 1 && net->d <= EPIQP_THIN_FEATURES;
    return thin ? epiqp_thin_new(c, net->d, net->width, &w->thin) : EPIQ_OK;
}

void epiqp_pass_free(epiq_ctx *c, epiqp_pass *w)
{
    epiqp_free(c, w->g);
    epiqp_free(c, w->t);
    epiqp_free(c, w->delta);
    epiqp_free(c, w->back);
    epiqp_thin_free(c, &w->thin);
    *w = (epiqp_pass){0};
}

/* out (units by rows) = W_l in */
static void times_weights(const epiqp_env *e, const epiqp_net *net, ptrdiff_t l, const double *w, const double *in,
                          ptrdiff_t rows, double beta, double *out)
{
    ptrdiff_t k = inputs(net, l), m = units(net, l);
    e->la->gemm('T', 'N', m, rows, k, 1, w, k, in, k, beta, out, m);
}

/* One chunk: g (depth by rows by width) and the outputs h. g is 0 exactly where the unit is off. */
static void chunk_forward(const epiqp_env *e, const epiqp_net *net, const double *theta, ptrdiff_t rows,
                          const double *x, double *g, double *h)
{
    const double s = sqrt(2.0 / (double)net->width);
    const double *in = x;
    for (ptrdiff_t l = 1; l <= net->depth; l++) {
        const double *b = theta + biases_at(net, l);
        double *out = g + (l - 1) * rows * net->width;
        times_weights(e, net, l, theta + weights_at(net, l), in, rows, 0, out);
        for (ptrdiff_t i = 0; i < rows; i++) {
            epiqp_relu(net->width, s, net->beta, b, out + i * net->width);
        }
        in = out;
    }
    const double *w = theta + weights_at(net, net->depth + 1);
    e->la->gemv('T', net->width, rows, 1, in, net->width, w, 0, h);
    for (ptrdiff_t i = 0; i < rows; i++) {
        h[i] += net->beta * w[net->width];
    }
}

/* delta = s [g > 0] (w u'), the output layer's way back: dh/df_L times u */
static void chunk_output_delta(const epiqp_net *net, const double *w, ptrdiff_t rows, const double *u, const double *g,
                               double *delta)
{
    const double s = sqrt(2.0 / (double)net->width);
    for (ptrdiff_t i = 0; i < rows; i++) {
        epiqp_gate(net->width, s * u[i], w, g + i * net->width, delta + i * net->width);
    }
}

/* below = s [g > 0] (W_l' delta): from f_l back to f_{l-1}, whose activations are g */
static void chunk_step_back(const epiqp_env *e, const epiqp_net *net, ptrdiff_t l, const double *theta, ptrdiff_t rows,
                            const double *delta, const double *g, double *below)
{
    const double s = sqrt(2.0 / (double)net->width);
    ptrdiff_t w = net->width;
    e->la->gemm('N', 'N', w, rows, w, s, theta + weights_at(net, l), w, delta, w, 0, below, w);
    epiqp_mask(rows * w, g, below);
}

/* grad += J' u for one chunk whose activations are in w->g */
static void chunk_reverse(const epiqp_env *e, const epiqp_net *net, const double *theta, ptrdiff_t rows,
                          const double *x, const double *u, double *grad, epiqp_pass *w)
{
    const ptrdiff_t L = net->depth, width = net->width, last = weights_at(net, L + 1);
    const double *top = w->g + (L - 1) * rows * width;
    e->la->gemv('N', width, rows, 1, top, width, u, 1, grad + last);
    for (ptrdiff_t i = 0; i < rows; i++) {
        grad[last + width] += net->beta * u[i];
    }
    double *delta = w->delta, *below = w->back;
    chunk_output_delta(net, theta + last, rows, u, top, delta);
    for (ptrdiff_t l = L; l >= 1; l--) {
        const double *in = l == 1 ? x : w->g + (l - 2) * rows * width;
        ptrdiff_t k = inputs(net, l);
        double *b = grad + biases_at(net, l);
        e->la->gemm('N', 'T', k, width, rows, 1, in, k, delta, width, 1, grad + weights_at(net, l), k);
        for (ptrdiff_t i = 0; i < rows; i++) {
            epiqp_axpy(width, net->beta, delta + i * width, b);
        }
        if (l > 1) {
            chunk_step_back(e, net, l, theta, rows, delta, in, below);
            double *kept = delta;
            delta = below;
            below = kept;
        }
    }
}

void epiqp_net_forward(const epiqp_env *e, const epiqp_net *net, const double *theta, ptrdiff_t n, const double *x,
                       double *h, epiqp_pass *w)
{
    for (ptrdiff_t i = 0; i < n; i += CHUNK) {
        chunk_forward(e, net, theta, epiqp_min(CHUNK, n - i), x + i * net->d, w->g, h + i);
    }
}

double epiqp_net_squares(const epiqp_env *e, const epiqp_net *net, const double *theta, ptrdiff_t n, const double *x,
                         const double *y, double scale, double *h, double *grad, epiqp_pass *w)
{
    double sum = 0, sum_u = 0;
    bool thin = w->thin.block;
    ptrdiff_t last = weights_at(net, net->depth + 1) + net->width; /* where the output's bias is */
    if (thin) {
        epiqp_thin_begin(&w->thin, net->beta, theta);
    }
    for (ptrdiff_t i = 0; i < n; i += CHUNK) {
        ptrdiff_t rows = epiqp_min(CHUNK, n - i);
        double u[CHUNK];
        if (thin) {
            epiqp_thin_forward(&w->thin, rows, x + i * net->d, u);
        } else {
            chunk_forward(e, net, theta, rows, x + i * net->d, w->g, u);
        }
        for (ptrdiff_t k = 0; k < rows; k++) {
            u[k] += thin ? net->beta * theta[last] : 0;
            if (h) {
                h[i + k] = u[k];
            }
            u[k] -= y[i + k];
            sum += u[k] * u[k];
            u[k] *= scale;
            sum_u += u[k];
        }
        if (thin) {
            epiqp_thin_reverse(&w->thin, rows, u);
        } else {
            chunk_reverse(e, net, theta, rows, x + i * net->d, u, grad, w);
        }
    }
    if (thin) {
        epiqp_thin_end(&w->thin, net->beta, grad);
        grad[last] += net->beta * sum_u;
    }
    return sum;
}

void epiqp_net_vjp(const epiqp_env *e, const epiqp_net *net, const double *theta, ptrdiff_t n, const double *x,
                   const double *u, double *grad, epiqp_pass *w)
{
    for (ptrdiff_t i = 0; i < n; i += CHUNK) {
        ptrdiff_t rows = epiqp_min(CHUNK, n - i);
        double h[CHUNK];
        chunk_forward(e, net, theta, rows, x + i * net->d, w->g, h);
        chunk_reverse(e, net, theta, rows, x + i * net->d, u + i, grad, w);
    }
}

void epiqp_net_jvp(const epiqp_env *e, const epiqp_net *net, const double *theta, const double *v, ptrdiff_t n,
                   const double *x, double *tangent, epiqp_pass *w)
{
    const double s = sqrt(2.0 / (double)net->width);
    const ptrdiff_t width = net->width, last = weights_at(net, net->depth + 1);
    for (ptrdiff_t i = 0; i < n; i += CHUNK) {
        ptrdiff_t rows = epiqp_min(CHUNK, n - i);
        double h[CHUNK], *out = tangent + i;
        chunk_forward(e, net, theta, rows, x + i * net->d, w->g, h);
        double *below = w->back, *t = w->t; /* tangents of g_{l-1} and g_l */
        for (ptrdiff_t l = 1; l <= net->depth; l++) {
            const double *in = l == 1 ? x + i * net->d : w->g + (l - 2) * rows * width, *b = v + biases_at(net, l);
            const double *g = w->g + (l - 1) * rows * width;
            times_weights(e, net, l, v + weights_at(net, l), in, rows, 0, t);
            if (l > 1) {
                times_weights(e, net, l, theta + weights_at(net, l), below, rows, 1, t);
            }
            for (ptrdiff_t j = 0; j < rows; j++) {
                epiqp_gate_sum(width, s, net->beta, b, g + j * width, t + j * width);
            }
            double *kept = below;
            below = t;
            t = kept;
        }
        e->la->gemv('T', width, rows, 1, below, width, theta + last, 0, out);
        e->la->gemv('T', width, rows, 1, w->g + (net->depth - 1) * rows * width, width, v + last, 1, out);
        for (ptrdiff_t k = 0; k < rows; k++) {
            out[k] += net->beta * v[last + width];
        }
    }
}

void epiqp_net_normal(const epiqp_env *e, const epiqp_net *net, const double *theta, ptrdiff_t n, const double *x,
                      const double *v, double *out, epiqp_pass *w)
{
    ptrdiff_t last = epiqp_net_params(net) - 1; /* the output's bias */
    double t[CHUNK], sum = 0;
    bool thin = w->thin.block;
    memset(out, 0, (size_t)(last + 1) * sizeof *out);
    if (thin) {
        epiqp_thin_begin(&w->thin, net->beta, theta);
        epiqp_thin_aim(&w->thin, net->beta, theta, v);
    }
    for (ptrdiff_t i = 0; i < n; i += CHUNK) {
        ptrdiff_t rows = epiqp_min(CHUNK, n - i);
        if (!thin) {
            epiqp_net_jvp(e, net, theta, v, rows, x + i * net->d, t, w);
            epiqp_net_vjp(e, net, theta, rows, x + i * net->d, t, out, w);
            continue;
        }
        epiqp_thin_forward(&w->thin, rows, x + i * net->d, t);
        epiqp_thin_tangent(&w->thin, rows, t);
        for (ptrdiff_t k = 0; k < rows; k++) {
            t[k] += net->beta * v[last];
            sum += t[k];
        }
        epiqp_thin_reverse(&w->thin, rows, t);
    }
    if (thin) {
        epiqp_thin_end(&w->thin, net->beta, out);
        out[last] += net->beta * sum;
    }
}

int epiqp_features_new(const epiqp_env *e, const epiqp_net *net, const double *theta, ptrdiff_t n, const double *x,
                       epiqp_features *out)
{
    const ptrdiff_t width = net->width, L = net->depth;
    *out = (epiqp_features){n, net->d, width, L, net->beta, x, NULL, NULL};
    out->g = epiqp_alloc(e->c, L * n * width, sizeof(double));
    out->delta = epiqp_alloc(e->c, L * n * width, sizeof(double));
    if (!out->g || !out->delta) {
        epiqp_features_free(e->c, out);
        return EPIQ_E_NOMEM;
    }
    /* One chunk's layers lie together in scratch order; here each layer is whole, so layers are copied chunk by chunk.
     */
    epiqp_pass w;
    int s = epiqp_pass_new(e->c, net, &w);
    for (ptrdiff_t i = 0; !s && i < n; i += CHUNK) {
        ptrdiff_t rows = epiqp_min(CHUNK, n - i), size = rows * width;
        double h[CHUNK], one[CHUNK];
        for (ptrdiff_t k = 0; k < rows; k++) {
            one[k] = 1;
        }
        chunk_forward(e, net, theta, rows, x + i * net->d, w.g, h);
        for (ptrdiff_t l = L; l >= 1; l--) {
            double *delta = out->delta + ((l - 1) * n + i) * width;
            const double *g = w.g + (l - 1) * size;
            memcpy(out->g + ((l - 1) * n + i) * width, g, (size_t)size * sizeof *g);
            if (l == L) {
                chunk_output_delta(net, theta + weights_at(net, L + 1), rows, one, g, delta);
            } else {
                chunk_step_back(e, net, l + 1, theta, rows, out->delta + (l * n + i) * width, g, delta);
            }
        }
    }
    if (s) {
        epiqp_features_free(e->c, out);
    } else {
        epiqp_pass_free(e->c, &w);
    }
    return s;
}

void epiqp_features_free(epiq_ctx *c, epiqp_features *f)
{
    epiqp_free(c, f->g);
    epiqp_free(c, f->delta);
    f->g = f->delta = NULL;
}
