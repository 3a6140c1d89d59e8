/* chunk.h - forward, reverse and tangent passes over one chunk of rows by matrix products, written once and included by
 * net.c for REAL double and float, with the SCRATCH, GEMM and GEMV of that precision. A chunk's matrices are
 * column-major, units by rows. IN(x) is x of the current precision.
 */
#define IN(x) PASTE(x, REAL)

static REAL IN(slope)(const SCRATCH *c) /* s */
{
    return (REAL)sqrt(2.0 / (double)c->net->width);
}

/* f = s relu(f + beta b) */
static EPIQP_VERSIONS void IN(relu)(ptrdiff_t n, REAL s, REAL beta, const REAL *restrict b, REAL *restrict f)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        REAL v = f[i] + beta * b[i];
        f[i] = v > 0 ? s * v : 0;
    }
}

/* out = s w where g > 0, else 0 */
static EPIQP_VERSIONS void IN(gate)(ptrdiff_t n, REAL s, const REAL *restrict w, const REAL *restrict g,
                                    REAL *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        REAL v = s * w[i];
        out[i] = g[i] > 0 ? v : 0;
    }
}

/* t = s (t + beta b) where g > 0, else 0 */
static EPIQP_VERSIONS void IN(gate_sum)(ptrdiff_t n, REAL s, REAL beta, const REAL *restrict b, const REAL *restrict g,
                                        REAL *restrict t)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        REAL v = s * (t[i] + beta * b[i]);
        t[i] = g[i] > 0 ? v : 0;
    }
}

/* t where g > 0, else 0 */
static EPIQP_VERSIONS void IN(mask)(ptrdiff_t n, const REAL *restrict g, REAL *restrict t)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        t[i] = g[i] > 0 ? t[i] : 0;
    }
}

/* y += a x */
static EPIQP_VERSIONS void IN(add)(ptrdiff_t n, REAL a, const REAL *restrict x, REAL *restrict y)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        y[i] += a * x[i];
    }
}

/* The activations of layer l of the current chunk, rows by width; of layer 0: its rows x. */
static const REAL *IN(layer)(const SCRATCH *c, ptrdiff_t l, ptrdiff_t rows, const REAL *x)
{
    return l ? c->g + (l - 1) * rows * c->net->width : x;
}

/* out (units by rows) = W_l in + beta out, the weights at `from` */
static void IN(times_weights)(const SCRATCH *c, ptrdiff_t l, const REAL *from, const REAL *in, ptrdiff_t rows,
                              REAL beta, REAL *out)
{
    ptrdiff_t k = inputs(c->net, l), m = units(c->net, l);
    c->la->GEMM('T', 'N', m, rows, k, 1, from + weights_at(c->net, l), k, in, k, beta, out, m);
}

/* The activations (depth by rows by width) and the outputs h. They are 0 exactly where the unit is off. */
static void IN(chunk_forward)(SCRATCH *c, const REAL *theta, ptrdiff_t rows, const REAL *x, REAL *h)
{
    const epiqp_net *net = c->net;
    const ptrdiff_t L = net->depth, width = net->width;
    const REAL s = IN(slope)(c), beta = (REAL)net->beta, *top = theta + weights_at(net, L + 1);
    for (ptrdiff_t l = 1; l <= L; l++) {
        REAL *out = c->g + (l - 1) * rows * width;
        const REAL *b = theta + biases_at(net, l);
        IN(times_weights)(c, l, theta, IN(layer)(c, l - 1, rows, x), rows, 0, out);
        for (ptrdiff_t i = 0; i < rows; i++) {
            IN(relu)(width, s, beta, b, out + i * width);
        }
    }
    c->la->GEMV('T', width, rows, 1, IN(layer)(c, L, rows, x), width, top, 0, h);
    for (ptrdiff_t i = 0; i < rows; i++) {
        h[i] += beta * top[width];
    }
}

/* delta = dh/df_l times u, rows by width. From the output: s [g_L > 0] (w u'); from delta_{l+1}, `above`: s [g_l > 0]
 * (W_{l+1}' above). */
static void IN(chunk_delta)(const SCRATCH *c, ptrdiff_t l, const REAL *theta, ptrdiff_t rows, const REAL *u,
                            const REAL *above, REAL *delta)
{
    const ptrdiff_t width = c->net->width;
    const REAL s = IN(slope)(c), *weights = theta + weights_at(c->net, l + 1), *g = IN(layer)(c, l, rows, NULL);
    for (ptrdiff_t i = 0; l == c->net->depth && i < rows; i++) {
        IN(gate)(width, s * u[i], weights, g + i * width, delta + i * width);
    }
    if (l < c->net->depth) {
        c->la->GEMM('N', 'N', width, rows, width, s, weights, width, above, width, 0, delta, width);
        IN(mask)(rows * width, g, delta);
    }
}

/* grad += J' u for the chunk whose activations are in c->g */
static void IN(chunk_reverse)(SCRATCH *c, const REAL *theta, ptrdiff_t rows, const REAL *x, const REAL *u, REAL *grad)
{
    const epiqp_net *net = c->net;
    const ptrdiff_t L = net->depth, width = net->width, last = weights_at(net, L + 1);
    const REAL beta = (REAL)net->beta;
    c->la->GEMV('N', width, rows, 1, IN(layer)(c, L, rows, x), width, u, 1, grad + last);
    for (ptrdiff_t i = 0; i < rows; i++) {
        grad[last + width] += beta * u[i];
    }
    REAL *delta = c->delta, *above = c->back;
    for (ptrdiff_t l = L; l >= 1; l--) {
        IN(chunk_delta)(c, l, theta, rows, u, above, delta);
        ptrdiff_t k = inputs(net, l);
        c->la->GEMM('N', 'T', k, width, rows, 1, IN(layer)(c, l - 1, rows, x), k, delta, width, 1,
                    grad + weights_at(net, l), k);
        for (ptrdiff_t i = 0; i < rows; i++) {
            IN(add)(width, beta, delta + i * width, grad + biases_at(net, l));
        }
        REAL *kept = delta;
        delta = above;
        above = kept;
    }
}

/* out = J v for the chunk whose activations are in c->g */
static void IN(chunk_tangent)(SCRATCH *c, const REAL *theta, const REAL *v, ptrdiff_t rows, const REAL *x, REAL *out)
{
    const epiqp_net *net = c->net;
    const ptrdiff_t L = net->depth, width = net->width, last = weights_at(net, L + 1);
    const REAL s = IN(slope)(c), beta = (REAL)net->beta;
    REAL *below = c->back, *t = c->t; /* tangents of g_{l-1} and g_l */
    for (ptrdiff_t l = 1; l <= L; l++) {
        IN(times_weights)(c, l, v, IN(layer)(c, l - 1, rows, x), rows, 0, t);
        if (l > 1) IN(times_weights)(c, l, theta, below, rows, 1, t);
        for (ptrdiff_t j = 0; j < rows; j++) {
            IN(gate_sum)(width, s, beta, v + biases_at(net, l), IN(layer)(c, l, rows, x) + j * width, t + j * width);
        }
        REAL *kept = below;
        below = t;
        t = kept;
    }
    c->la->GEMV('T', width, rows, 1, below, width, theta + last, 0, out);
    c->la->GEMV('T', width, rows, 1, IN(layer)(c, L, rows, x), width, v + last, 1, out);
    for (ptrdiff_t k = 0; k < rows; k++) {
        out[k] += beta * v[last + width];
    }
}

#undef IN
#undef SCRATCH
#undef GEMM
#undef GEMV
#undef REAL
