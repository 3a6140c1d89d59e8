/* net.c - forward, reverse and tangent passes (net.h). Rows are processed in chunks whose activations stay in the
 * cache; each chunk is visited once for forward and reverse.
 */
#include "net/net.h"

#include "la/lanes.h"

#include <math.h>
#include <string.h>

/* Rows at a time: 64 by 1024 doubles are 512 KiB, half of a usual second-level cache. In single precision 256, with
 * which sgemm is near its peak; and after so many rows their sums are added in double, so that many rows cost no
 * digits. */
enum { CHUNK = EPIQP_SHALLOW32_ROWS, CHUNK32 = EPIQP_SHALLOW32_MOST_ROWS, MOST_SUMMED = 16 * CHUNK32 };

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
    *out = (epiqp_pass){net, .chunk = {.la = e->la, .net = net}};
    out->chunk.g = epiqp_alloc(e->c, chunk * (net->depth + 3), sizeof(double));
    epiqp_chunk *c = &out->chunk;
    if (!c->g) return EPIQ_E_NOMEM;
    c->t = c->g + chunk * net->depth;
    c->delta = c->t + chunk;
    c->back = c->delta + chunk;
    return EPIQ_OK;
}

/* For chunks of up to `rows` rows. */
static int chunk32_new(epiq_ctx *c, const epiqp_la *la, const epiqp_net *net, ptrdiff_t rows, epiqp_chunk32 *out)
{
    const ptrdiff_t chunk = rows * net->width, p = epiqp_net_params(net);
    float *block = epiqp_alloc(c, chunk * (net->depth + 3) + 2 * p + rows * net->d, sizeof *block);
    if (!block) return EPIQ_E_NOMEM;
    *out = (epiqp_chunk32){.la = la, .net = net, .g = block};
    out->t = out->g + chunk * net->depth;
    out->delta = out->t + chunk;
    out->back = out->delta + chunk;
    out->theta = out->back + chunk;
    out->grad = out->theta + p;
    out->x = out->grad + p;
    return EPIQ_OK;
}

int epiqp_pass_single(epiq_ctx *c, epiqp_pass *w)
{
    const epiqp_net *net = w->net;
    bool shallow = net->depth == 1 && net->d <= EPIQP_SHALLOW32_FEATURES;
    int status = shallow ? epiqp_shallow32_new(c, net->d, net->width, &w->shallow32)
                         : chunk32_new(c, w->chunk.la, net, CHUNK32, &w->chunk32);
    w->single = !status;
    return status;
}

void epiqp_pass_free(epiq_ctx *c, epiqp_pass *w)
{
    epiqp_free(c, w->chunk.g);
    epiqp_free(c, w->chunk32.g);
    epiqp_shallow32_free(c, &w->shallow32);
    *w = (epiqp_pass){0};
}

/* ---- one chunk ---- */

#define REAL double
#define SCRATCH epiqp_chunk
#define GEMM gemm
#define GEMV gemv
#include "net/chunk.h"

#define REAL float
#define SCRATCH epiqp_chunk32
#define GEMM gemm32
#define GEMV gemv32
#include "net/chunk.h"

/* sum (t + beta b) delta */
static EPIQP_VERSIONS float tangent_dot(ptrdiff_t n, float beta, const float *restrict b, const float *restrict t,
                                        const float *restrict delta)
{
    enum { PARTS = 32 };
    float part[PARTS] = {0}, sum = 0;
    ptrdiff_t i = 0;
    for (; i + PARTS <= n; i += PARTS) {
        for (int k = 0; k < PARTS; k++) {
            part[k] += (t[i + k] + beta * b[i + k]) * delta[i + k];
        }
    }
    for (; i < n; i++) {
        sum += (t[i] + beta * b[i]) * delta[i];
    }
    for (int k = 0; k < PARTS; k++) {
        sum += part[k];
    }
    return sum;
}

/* out = a x; sum += b out */
static EPIQP_VERSIONS void scale_and_add(ptrdiff_t n, float a, const float *restrict x, float *restrict out, float b,
                                         float *restrict sum)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = a * x[i];
        sum[i] += b * out[i];
    }
}

/* ---- one chunk in the precision of the pass ---- */

static ptrdiff_t at_once(const epiqp_pass *w)
{
    if (!w->single) return CHUNK;
    return w->shallow32.block ? w->shallow32.loops->rows : CHUNK32;
}

static EPIQP_VERSIONS void to_single(ptrdiff_t n, const double *restrict from, float *restrict to)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        to[i] = (float)from[i];
    }
}

static EPIQP_VERSIONS void add_single(ptrdiff_t n, const float *restrict from, double *restrict to)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        to[i] += (double)from[i];
    }
}

/* Adds what chunk32 has summed to grad, and clears it. */
static void flush(epiqp_pass *w, double *grad)
{
    const ptrdiff_t p = epiqp_net_params(w->net);
    add_single(p, w->chunk32.grad, grad);
    memset(w->chunk32.grad, 0, (size_t)p * sizeof *w->chunk32.grad);
    w->chunk32.rows_summed = 0;
}

/* Before the first chunk. */
static void begin(epiqp_pass *w, const double *theta)
{
    const ptrdiff_t p = epiqp_net_params(w->net);
    if (!w->single) return;
    if (w->shallow32.block) {
        epiqp_shallow32_begin(&w->shallow32, w->net->beta, theta);
        return;
    }
    to_single(p, theta, w->chunk32.theta);
    memset(w->chunk32.grad, 0, (size_t)p * sizeof *w->chunk32.grad);
    w->chunk32.rows_summed = 0;
}

static void forward(epiqp_pass *w, const double *theta, ptrdiff_t rows, const double *x, double *h)
{
    if (!w->single) {
        chunk_forward_double(&w->chunk, theta, rows, x, h);
    } else if (w->shallow32.block) {
        epiqp_shallow32_forward(&w->shallow32, rows, x, h);
    } else {
        float out[CHUNK32];
        to_single(rows * w->net->d, x, w->chunk32.x);
        chunk_forward_float(&w->chunk32, w->chunk32.theta, rows, w->chunk32.x, out);
        for (ptrdiff_t i = 0; i < rows; i++) {
            h[i] = (double)out[i];
        }
    }
}

/* Before tangents along v; scratch: as long as v. */
static void aim(epiqp_pass *w, const double *theta, const float *v, double *scratch)
{
    const ptrdiff_t p = epiqp_net_params(w->net);
    if (!w->single) {
        memset(scratch, 0, (size_t)p * sizeof *scratch);
        add_single(p, v, scratch);
    } else if (w->shallow32.block) {
        epiqp_shallow32_aim(&w->shallow32, theta, v);
    }
}

/* t = J v for the chunk that went forward last, after aim. */
static void tangent(epiqp_pass *w, const double *theta, const float *v, ptrdiff_t rows, const double *x, double *t,
                    const double *scratch)
{
    if (!w->single) {
        chunk_tangent_double(&w->chunk, theta, scratch, rows, x, t);
    } else if (w->shallow32.block) {
        epiqp_shallow32_tangent(&w->shallow32, rows, t);
    } else {
        float out[CHUNK32];
        chunk_tangent_float(&w->chunk32, w->chunk32.theta, v, rows, w->chunk32.x, out);
        for (ptrdiff_t i = 0; i < rows; i++) {
            t[i] = (double)out[i];
        }
    }
}

static void reverse(epiqp_pass *w, const double *theta, ptrdiff_t rows, const double *x, const double *u, double *grad)
{
    if (!w->single) {
        chunk_reverse_double(&w->chunk, theta, rows, x, u, grad);
    } else if (w->shallow32.block) {
        epiqp_shallow32_reverse(&w->shallow32, rows, u);
    } else {
        float in[CHUNK32];
        to_single(rows, u, in);
        chunk_reverse_float(&w->chunk32, w->chunk32.theta, rows, w->chunk32.x, in, w->chunk32.grad);
        w->chunk32.rows_summed += rows;
        if (w->chunk32.rows_summed >= MOST_SUMMED) flush(w, grad);
    }
}

/* Brings grad up to the chunks reversed so far. */
static void end(epiqp_pass *w, double *grad)
{
    if (!w->single) return;
    if (w->shallow32.block) {
        epiqp_shallow32_end(&w->shallow32, grad);
    } else if (w->chunk32.rows_summed) {
        flush(w, grad);
    }
}

/* ---- all rows ---- */

void epiqp_net_forward(epiqp_pass *w, const double *theta, ptrdiff_t n, const double *x, double *h)
{
    for (ptrdiff_t i = 0; i < n; i += CHUNK) {
        chunk_forward_double(&w->chunk, theta, epiqp_min(CHUNK, n - i), x + i * w->net->d, h + i);
    }
}

/* Between begin and end. */
static double squares(epiqp_pass *w, const double *theta, ptrdiff_t n, const double *x, const double *y, double scale,
                      double *h, double *grad)
{
    const ptrdiff_t most = at_once(w);
    double sum = 0;
    for (ptrdiff_t i = 0; i < n; i += most, x += most * w->net->d) {
        ptrdiff_t rows = epiqp_min(most, n - i);
        double u[CHUNK32];
        forward(w, theta, rows, x, u);
        for (ptrdiff_t k = 0; k < rows; k++) {
            if (h) h[i + k] = u[k];
            u[k] -= y[i + k];
            sum += u[k] * u[k];
            u[k] *= scale;
        }
        reverse(w, theta, rows, x, u, grad);
    }
    return sum;
}

double epiqp_net_squares(epiqp_pass *w, const double *theta, ptrdiff_t n, const double *x, const double *y,
                         double scale, double *h, double *grad)
{
    begin(w, theta);
    const double sum = squares(w, theta, n, x, y, scale, h, grad);
    end(w, grad);
    return sum;
}

double epiqp_net_squares_single(epiqp_pass *w, ptrdiff_t n, const double *x, const double *y, double scale)
{
    memset(w->chunk32.grad, 0, (size_t)epiqp_net_params(w->net) * sizeof *w->chunk32.grad);
    w->chunk32.rows_summed = -n; /* however many there are, they stay in single precision */
    return squares(w, NULL, n, x, y, scale, NULL, NULL);
}

void epiqp_net_vjp(epiqp_pass *w, const double *theta, ptrdiff_t n, const double *x, const double *u, double *grad)
{
    for (ptrdiff_t i = 0; i < n; i += CHUNK, x += CHUNK * w->net->d) {
        ptrdiff_t rows = epiqp_min(CHUNK, n - i);
        double h[CHUNK];
        chunk_forward_double(&w->chunk, theta, rows, x, h);
        chunk_reverse_double(&w->chunk, theta, rows, x, u + i, grad);
    }
}

void epiqp_net_jvp(epiqp_pass *w, const double *theta, const double *v, ptrdiff_t n, const double *x, double *tangent)
{
    for (ptrdiff_t i = 0; i < n; i += CHUNK, x += CHUNK * w->net->d) {
        ptrdiff_t rows = epiqp_min(CHUNK, n - i);
        double h[CHUNK];
        chunk_forward_double(&w->chunk, theta, rows, x, h);
        chunk_tangent_double(&w->chunk, theta, v, rows, x, tangent + i);
    }
}

void epiqp_net_normal(epiqp_pass *w, const double *theta, ptrdiff_t n, const double *x, const float *v, double *out,
                      double *scratch)
{
    const ptrdiff_t most = at_once(w);
    double t[CHUNK32];
    memset(out, 0, (size_t)epiqp_net_params(w->net) * sizeof *out);
    begin(w, theta);
    aim(w, theta, v, scratch);
    for (ptrdiff_t i = 0; i < n; i += most, x += most * w->net->d) {
        ptrdiff_t rows = epiqp_min(most, n - i);
        forward(w, theta, rows, x, t);
        tangent(w, theta, v, rows, x, t, scratch);
        reverse(w, theta, rows, x, t, out);
    }
    end(w, out);
}

void epiqp_net_pulls(epiqp_pass *w, const double *theta, ptrdiff_t n, const double *x, ptrdiff_t count, const double *u,
                     double *out)
{
    const ptrdiff_t most = at_once(w), p = epiqp_net_params(w->net);
    double h[CHUNK32];
    memset(out, 0, (size_t)(count * p) * sizeof *out);
    begin(w, theta);
    for (ptrdiff_t i = 0; i < n; i += most, x += most * w->net->d) {
        ptrdiff_t rows = epiqp_min(most, n - i);
        forward(w, theta, rows, x, h);
        for (ptrdiff_t k = 0; k < count; k++) {
            reverse(w, theta, rows, x, u + k * n + i, out + k * p);
            end(w, out + k * p);
        }
    }
}

/* ---- the Jacobian of all rows ---- */

double epiqp_jacobian_bytes(const epiqp_net *net, ptrdiff_t n)
{
    return (double)sizeof(float) *
           ((double)n * (double)((2 * net->depth + 3) * net->width + net->d) + 2 * (double)epiqp_net_params(net));
}

int epiqp_jacobian_new(const epiqp_env *e, const epiqp_net *net, ptrdiff_t n, const double *x, epiqp_jacobian *out)
{
    *out = (epiqp_jacobian){.n = n, .delta = epiqp_alloc(e->c, net->depth * n * net->width, sizeof *out->delta)};
    int status = out->delta ? chunk32_new(e->c, e->la, net, n, &out->chunk) : EPIQ_E_NOMEM;
    if (status) {
        epiqp_jacobian_free(e->c, out);
    } else {
        to_single(n * net->d, x, out->chunk.x);
    }
    return status;
}

void epiqp_jacobian_free(epiq_ctx *c, epiqp_jacobian *j)
{
    epiqp_free(c, j->delta);
    epiqp_free(c, j->chunk.g);
    *j = (epiqp_jacobian){0};
}

void epiqp_jacobian_at(epiqp_jacobian *j, const double *theta, double *h)
{
    epiqp_chunk32 *c = &j->chunk;
    const ptrdiff_t n = j->n, L = c->net->depth, layer = n * c->net->width;
    float *one = c->t, *out = c->t; /* n of a larger scratch */
    to_single(epiqp_net_params(c->net), theta, c->theta);
    chunk_forward_float(c, c->theta, n, c->x, out);
    for (ptrdiff_t i = 0; i < n; i++) {
        h[i] = (double)out[i];
        one[i] = 1;
    }
    for (ptrdiff_t l = L; l >= 1; l--) {
        chunk_delta_float(c, l, c->theta, n, one, l < L ? j->delta + l * layer : NULL, j->delta + (l - 1) * layer);
    }
}

/* a: layers by rows by length; of each layer's rows the first of `every` remain, `kept` in all. */
static void thin(ptrdiff_t layers, ptrdiff_t rows, ptrdiff_t every, ptrdiff_t kept, ptrdiff_t length, float *a)
{
    for (ptrdiff_t i = 1; i < layers * kept; i++) {
        memmove(a + i * length, a + (i / kept * rows + i % kept * every) * length, (size_t)length * sizeof *a);
    }
}

void epiqp_jacobian_thin(epiqp_jacobian *j, ptrdiff_t every)
{
    const epiqp_net *net = j->chunk.net;
    const ptrdiff_t kept = (j->n + every - 1) / every;
    if (every < 2) return;
    thin(net->depth, j->n, every, kept, net->width, j->delta);
    thin(net->depth, j->n, every, kept, net->width, j->chunk.g);
    thin(1, j->n, every, kept, net->d, j->chunk.x);
    j->n = kept;
}

void epiqp_jacobian_push(epiqp_jacobian *j, const double *v, double *out)
{
    to_single(epiqp_net_params(j->chunk.net), v, j->chunk.grad);
    epiqp_jacobian_push_single(j, j->chunk.grad, out);
}

void epiqp_jacobian_push_single(epiqp_jacobian *j, const float *v, double *out)
{
    epiqp_chunk32 *c = &j->chunk;
    const epiqp_net *net = c->net;
    const ptrdiff_t n = j->n, L = net->depth, width = net->width, last = weights_at(net, L + 1);
    const float beta = (float)net->beta;
    float *top = c->back;
    c->la->gemv32('T', width, n, 1, layer_float(c, L, n, c->x), width, v + last, 0, top);
    for (ptrdiff_t i = 0; i < n; i++) {
        out[i] = (double)(top[i] + beta * v[last + width]);
    }
    for (ptrdiff_t l = 1; l <= L; l++) {
        const float *delta = j->delta + (l - 1) * n * width, *b = v + biases_at(net, l);
        times_weights_float(c, l, v, layer_float(c, l - 1, n, c->x), n, 0, c->t);
        for (ptrdiff_t i = 0; i < n; i++) {
            out[i] += (double)tangent_dot(width, beta, b, c->t + i * width, delta + i * width);
        }
    }
}

void epiqp_jacobian_pull(epiqp_jacobian *j, const double *u, double *grad)
{
    add_single(epiqp_net_params(j->chunk.net), epiqp_jacobian_pull_single(j, u), grad);
}

const float *epiqp_jacobian_pull_single(epiqp_jacobian *j, const double *u)
{
    epiqp_chunk32 *c = &j->chunk;
    const epiqp_net *net = c->net;
    const ptrdiff_t n = j->n, L = net->depth, width = net->width, last = weights_at(net, L + 1);
    const float beta = (float)net->beta;
    float *by = c->back, *sum = c->grad;
    to_single(n, u, by);
    c->la->gemv32('N', width, n, 1, layer_float(c, L, n, c->x), width, by, 0, sum + last);
    sum[last + width] = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        sum[last + width] += beta * by[i];
    }
    for (ptrdiff_t l = L; l >= 1; l--) {
        const ptrdiff_t k = inputs(net, l);
        const float *delta = j->delta + (l - 1) * n * width;
        float *b = sum + biases_at(net, l);
        memset(b, 0, (size_t)width * sizeof *b);
        for (ptrdiff_t i = 0; i < n; i++) {
            scale_and_add(width, by[i], delta + i * width, c->t + i * width, beta, b);
        }
        c->la->gemm32('N', 'T', k, width, n, 1, layer_float(c, l - 1, n, c->x), k, c->t, width, 0,
                      sum + weights_at(net, l), k);
    }
    return sum;
}

/* k += (inner + beta^2) outer */
static EPIQP_VERSIONS void add_term(ptrdiff_t n, float beta2, const float *restrict inner, const float *restrict outer,
                                    float *restrict k)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        k[i] += (inner[i] + beta2) * outer[i];
    }
}

/* k += inner + beta^2, the term of the output's layer */
static EPIQP_VERSIONS void add_last_term(ptrdiff_t n, float beta2, const float *restrict inner, float *restrict k)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        k[i] += inner[i] + beta2;
    }
}

void epiqp_jacobian_kernel(const epiqp_jacobian *j, float *k, float *scratch)
{
    const epiqp_chunk32 *c = &j->chunk;
    const ptrdiff_t n = j->n, L = c->net->depth, width = c->net->width;
    const float beta2 = (float)(c->net->beta * c->net->beta);
    float *inner = scratch, *outer = scratch + n * EPIQP_KERNEL_PANEL;
    for (ptrdiff_t at = 0; at < n; at += EPIQP_KERNEL_PANEL) { /* columns, from the diagonal's block down */
        const ptrdiff_t cols = epiqp_min(EPIQP_KERNEL_PANEL, n - at), rows = n - at;
        for (ptrdiff_t l = 1; l <= L + 1; l++) { /* the term of W_l: g_{l-1} and delta_l */
            const ptrdiff_t m = inputs(c->net, l);
            const float *g = layer_float(c, l - 1, n, c->x) + at * m,
                        *delta = l <= L ? j->delta + ((l - 1) * n + at) * width : NULL;
            c->la->gemm32('T', 'N', rows, cols, m, 1, g, m, g, m, 0, inner, rows);
            if (l <= L) c->la->gemm32('T', 'N', rows, cols, width, 1, delta, width, delta, width, 0, outer, rows);
            for (ptrdiff_t i = 0; i < cols; i++) {
                float *to = k + at + (at + i) * n;
                if (l == 1) memset(to, 0, (size_t)rows * sizeof *to);
                if (l <= L) {
                    add_term(rows, beta2, inner + i * rows, outer + i * rows, to);
                } else {
                    add_last_term(rows, beta2, inner + i * rows, to);
                }
            }
        }
    }
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
        chunk_forward_double(&w.chunk, theta, rows, x + i * net->d, h);
        for (ptrdiff_t l = L; l >= 1; l--) {
            ptrdiff_t at = ((l - 1) * n + i) * width;
            memcpy(out->g + at, layer_double(&w.chunk, l, rows, x), (size_t)(rows * width) * sizeof *out->g);
            chunk_delta_double(&w.chunk, l, theta, rows, one, l < L ? out->delta + at + n * width : NULL,
                               out->delta + at);
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
