/* net.c - forward, reverse and tangent passes (net.h). Rows are processed in chunks whose activations stay in the
 * cache; each chunk is visited once for forward and reverse. A chunk's matrices are column-major, units by rows.
 */
#include "net/net.h"

#include <math.h>
#include <string.h>

/* Rows at a time: 64 by 1024 doubles are 512 KiB, half of a usual second-level cache. */
enum { CHUNK = EPIQP_SHALLOW32_ROWS };

static ptrdiff_t inputs(const epiqp_net *net, ptrdiff_t l) /* d_{l-1} */
{
    return l == 1 ? net->d : net->width;
}
static ptrdiff_t units(const epiqp_net *net, ptrdiff_t l) /* d_l */
{
    return l <= net->depth ? net->width : 1;
}
/* Where W_l starts in theta: behind W_k and b_k of the layers before it. Those from 2 to depth are equal. */
static ptrdiff_t weights_at(const epiqp_net *net, ptrdiff_t l)
{
    if (l < 2) return 0;
    const ptrdiff_t first = net->width * (net->d + 1), hidden = epiqp_min(l - 1, net->depth);
    return first + (hidden - 1) * net->width * (net->width + 1) + (l - 1 > net->depth ? net->width + 1 : 0);
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

int epiqp_pass_new(const epiqp_env *e, const epiqp_net *net, epiqp_pass *out)
{
    ptrdiff_t chunk = CHUNK * net->width;
    *out = (epiqp_pass){e->la, net, .g = epiqp_alloc(e->c, chunk * (net->depth + 3), sizeof *out->g)};
    if (!out->g) return EPIQ_E_NOMEM;
    out->t = out->g + chunk * net->depth;
    out->delta = out->t + chunk;
    out->back = out->delta + chunk;
    return EPIQ_OK;
}

int epiqp_pass_single(epiq_ctx *c, epiqp_pass *w)
{
    bool shallow = w->net->depth == 1 && w->net->d <= EPIQP_SHALLOW32_FEATURES;
    return shallow ? epiqp_shallow32_new(c, w->net->d, w->net->width, &w->shallow32) : EPIQ_OK;
}

void epiqp_pass_free(epiq_ctx *c, epiqp_pass *w)
{
    epiqp_free(c, w->g);
    epiqp_shallow32_free(c, &w->shallow32);
    *w = (epiqp_pass){0};
}

/* ---- one chunk ---- */

static double slope(const epiqp_pass *w) /* s */
{
    return sqrt(2.0 / (double)w->net->width);
}

/* The activations of layer l of the current chunk, rows by width; of layer 0: its rows x. */
static const double *layer(const epiqp_pass *w, ptrdiff_t l, ptrdiff_t rows, const double *x)
{
    return l ? w->g + (l - 1) * rows * w->net->width : x;
}

/* out (units by rows) = W_l in + beta out, the weights at `from` */
static void times_weights(const epiqp_pass *w, ptrdiff_t l, const double *from, const double *in, ptrdiff_t rows,
                          double beta, double *out)
{
    ptrdiff_t k = inputs(w->net, l), m = units(w->net, l);
    w->la->gemm('T', 'N', m, rows, k, 1, from + weights_at(w->net, l), k, in, k, beta, out, m);
}

/* The activations (depth by rows by width) and the outputs h. They are 0 exactly where the unit is off. */
static void chunk_forward(epiqp_pass *w, const double *theta, ptrdiff_t rows, const double *x, double *h)
{
    const epiqp_net *net = w->net;
    const ptrdiff_t L = net->depth, width = net->width;
    const double s = slope(w), *top = theta + weights_at(net, L + 1);
    for (ptrdiff_t l = 1; l <= L; l++) {
        double *out = w->g + (l - 1) * rows * width;
        const double *b = theta + biases_at(net, l);
        times_weights(w, l, theta, layer(w, l - 1, rows, x), rows, 0, out);
        for (ptrdiff_t i = 0; i < rows; i++) {
            epiqp_relu(width, s, net->beta, b, out + i * width);
        }
    }
    w->la->gemv('T', width, rows, 1, layer(w, L, rows, x), width, top, 0, h);
    for (ptrdiff_t i = 0; i < rows; i++) {
        h[i] += net->beta * top[width];
    }
}

/* delta = dh/df_l times u, rows by width. From the output: s [g_L > 0] (w u'); from delta_{l+1}, `above`: s [g_l > 0]
 * (W_{l+1}' above). */
static void chunk_delta(const epiqp_pass *w, ptrdiff_t l, const double *theta, ptrdiff_t rows, const double *u,
                        const double *above, double *delta)
{
    const ptrdiff_t width = w->net->width;
    const double s = slope(w), *weights = theta + weights_at(w->net, l + 1), *g = layer(w, l, rows, NULL);
    for (ptrdiff_t i = 0; l == w->net->depth && i < rows; i++) {
        epiqp_gate(width, s * u[i], weights, g + i * width, delta + i * width);
    }
    if (l < w->net->depth) {
        w->la->gemm('N', 'N', width, rows, width, s, weights, width, above, width, 0, delta, width);
        epiqp_mask(rows * width, g, delta);
    }
}

/* grad += J' u for the chunk whose activations are in w->g */
static void chunk_reverse(epiqp_pass *w, const double *theta, ptrdiff_t rows, const double *x, const double *u,
                          double *grad)
{
    const epiqp_net *net = w->net;
    const ptrdiff_t L = net->depth, width = net->width, last = weights_at(net, L + 1);
    w->la->gemv('N', width, rows, 1, layer(w, L, rows, x), width, u, 1, grad + last);
    for (ptrdiff_t i = 0; i < rows; i++) {
        grad[last + width] += net->beta * u[i];
    }
    double *delta = w->delta, *above = w->back;
    for (ptrdiff_t l = L; l >= 1; l--) {
        chunk_delta(w, l, theta, rows, u, above, delta);
        ptrdiff_t k = inputs(net, l);
        w->la->gemm('N', 'T', k, width, rows, 1, layer(w, l - 1, rows, x), k, delta, width, 1,
                    grad + weights_at(net, l), k);
        for (ptrdiff_t i = 0; i < rows; i++) {
            epiqp_axpy(width, net->beta, delta + i * width, grad + biases_at(net, l));
        }
        double *kept = delta;
        delta = above;
        above = kept;
    }
}

/* ---- all rows ---- */

void epiqp_net_forward(epiqp_pass *w, const double *theta, ptrdiff_t n, const double *x, double *h)
{
    for (ptrdiff_t i = 0; i < n; i += CHUNK) {
        chunk_forward(w, theta, epiqp_min(CHUNK, n - i), x + i * w->net->d, h + i);
    }
}

double epiqp_net_squares(epiqp_pass *w, const double *theta, ptrdiff_t n, const double *x, const double *y,
                         double scale, double *h, double *grad)
{
    double sum = 0;
    bool shallow = w->shallow32.block;
    if (shallow) epiqp_shallow32_begin(&w->shallow32, w->net->beta, theta);
    for (ptrdiff_t i = 0; i < n; i += CHUNK, x += CHUNK * w->net->d) {
        ptrdiff_t rows = epiqp_min(CHUNK, n - i);
        double u[CHUNK];
        if (shallow) {
            epiqp_shallow32_forward(&w->shallow32, rows, x, u);
        } else {
            chunk_forward(w, theta, rows, x, u);
        }
        for (ptrdiff_t k = 0; k < rows; k++) {
            if (h) h[i + k] = u[k];
            u[k] -= y[i + k];
            sum += u[k] * u[k];
            u[k] *= scale;
        }
        if (shallow) {
            epiqp_shallow32_reverse(&w->shallow32, rows, u);
        } else {
            chunk_reverse(w, theta, rows, x, u, grad);
        }
    }
    if (shallow) epiqp_shallow32_end(&w->shallow32, grad);
    return sum;
}

void epiqp_net_vjp(epiqp_pass *w, const double *theta, ptrdiff_t n, const double *x, const double *u, double *grad)
{
    for (ptrdiff_t i = 0; i < n; i += CHUNK, x += CHUNK * w->net->d) {
        ptrdiff_t rows = epiqp_min(CHUNK, n - i);
        double h[CHUNK];
        chunk_forward(w, theta, rows, x, h);
        chunk_reverse(w, theta, rows, x, u + i, grad);
    }
}

void epiqp_net_jvp(epiqp_pass *w, const double *theta, const double *v, ptrdiff_t n, const double *x, double *tangent)
{
    const epiqp_net *net = w->net;
    const ptrdiff_t L = net->depth, width = net->width, last = weights_at(net, L + 1);
    for (ptrdiff_t i = 0; i < n; i += CHUNK, x += CHUNK * net->d) {
        ptrdiff_t rows = epiqp_min(CHUNK, n - i);
        double h[CHUNK], *out = tangent + i, *below = w->back, *t = w->t; /* t, below: tangents of g_l and g_{l-1} */
        chunk_forward(w, theta, rows, x, h);
        for (ptrdiff_t l = 1; l <= L; l++) {
            times_weights(w, l, v, layer(w, l - 1, rows, x), rows, 0, t);
            if (l > 1) times_weights(w, l, theta, below, rows, 1, t);
            for (ptrdiff_t j = 0; j < rows; j++) {
                epiqp_gate_sum(width, slope(w), net->beta, v + biases_at(net, l), layer(w, l, rows, x) + j * width,
                               t + j * width);
            }
            double *kept = below;
            below = t;
            t = kept;
        }
        w->la->gemv('T', width, rows, 1, below, width, theta + last, 0, out);
        w->la->gemv('T', width, rows, 1, layer(w, L, rows, x), width, v + last, 1, out);
        for (ptrdiff_t k = 0; k < rows; k++) {
            out[k] += net->beta * v[last + width];
        }
    }
}

void epiqp_net_normal(epiqp_pass *w, const double *theta, ptrdiff_t n, const double *x, const double *v, double *out)
{
    double t[CHUNK];
    bool shallow = w->shallow32.block;
    memset(out, 0, (size_t)epiqp_net_params(w->net) * sizeof *out);
    if (shallow) {
        epiqp_shallow32_begin(&w->shallow32, w->net->beta, theta);
        epiqp_shallow32_aim(&w->shallow32, theta, v);
    }
    for (ptrdiff_t i = 0; i < n; i += CHUNK, x += CHUNK * w->net->d) {
        ptrdiff_t rows = epiqp_min(CHUNK, n - i);
        if (shallow) {
            epiqp_shallow32_forward(&w->shallow32, rows, x, t);
            epiqp_shallow32_tangent(&w->shallow32, rows, t);
            epiqp_shallow32_reverse(&w->shallow32, rows, t);
        } else {
            epiqp_net_jvp(w, theta, v, rows, x, t);
            epiqp_net_vjp(w, theta, rows, x, t, out);
        }
    }
    if (shallow) epiqp_shallow32_end(&w->shallow32, out);
}

int epiqp_features_new(const epiqp_env *e, const epiqp_net *net, const double *theta, ptrdiff_t n, const double *x,
                       epiqp_features *out)
{
    const ptrdiff_t width = net->width, L = net->depth;
    *out = (epiqp_features){n, net->d, width, L, net->beta, x, NULL, NULL};
    out->g = epiqp_alloc(e->c, L * n * width, sizeof *out->g);
    out->delta = epiqp_alloc(e->c, L * n * width, sizeof *out->delta);
    epiqp_pass w = {0};
    int status = out->g && out->delta ? epiqp_pass_new(e, net, &w) : EPIQ_E_NOMEM;
    double h[CHUNK], one[CHUNK];
    for (ptrdiff_t k = 0; k < CHUNK; k++) {
        one[k] = 1;
    }
    /* The scratch holds all layers of one chunk; the result holds each layer for all rows. */
    for (ptrdiff_t i = 0; !status && i < n; i += CHUNK) {
        ptrdiff_t rows = epiqp_min(CHUNK, n - i);
        chunk_forward(&w, theta, rows, x + i * net->d, h);
        for (ptrdiff_t l = L; l >= 1; l--) {
            ptrdiff_t at = ((l - 1) * n + i) * width;
            memcpy(out->g + at, layer(&w, l, rows, x), (size_t)(rows * width) * sizeof *out->g);
            chunk_delta(&w, l, theta, rows, one, l < L ? out->delta + at + n * width : NULL, out->delta + at);
        }
    }
    epiqp_pass_free(e->c, &w);
    if (status) epiqp_features_free(e->c, out);
    return status;
}

void epiqp_features_free(epiq_ctx *c, epiqp_features *f)
{
    epiqp_free(c, f->g);
    epiqp_free(c, f->delta);
    f->g = f->delta = NULL;
}
