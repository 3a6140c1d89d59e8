/* deep.cu - gradients of networks of any depth and any number of features, by matrix products, one network after the other:
 * the passes of src/net/chunk.h. Matrices are column-major, units by rows. Rows go in chunks, whose gradients are added in
 * double, so that many rows cost no digits.
 */
#include "cuda/train.h"

#include <cmath>

enum { THREADS = 256, MOST_ROWS = 8192 };
static const double WORK_BYTES = 4e9; /* of a chunk; src/store/members.c counts on it */

/* ---- matrix products ---- */

static int gemm(device *g, bool ta, bool tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float alpha, const float *a,
                ptrdiff_t lda, const float *b, ptrdiff_t ldb, float beta, float *c, ptrdiff_t ldc)
{
    BLAS(cublasSgemm_64(g->blas, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, k, &alpha, a,
                        lda, b, ldb, &beta, c, ldc));
    return EPIQ_OK;
}

static int gemm(device *g, bool ta, bool tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha, const double *a,
                ptrdiff_t lda, const double *b, ptrdiff_t ldb, double beta, double *c, ptrdiff_t ldc)
{
    BLAS(cublasDgemm_64(g->blas, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, k, &alpha, a,
                        lda, b, ldb, &beta, c, ldc));
    return EPIQ_OK;
}

/* y += A x */
static int gemv(device *g, ptrdiff_t m, ptrdiff_t n, float alpha, const float *a, const float *x, float *y)
{
    const float one = 1;
    BLAS(cublasSgemv_64(g->blas, CUBLAS_OP_N, m, n, &alpha, a, m, x, 1, &one, y, 1));
    return EPIQ_OK;
}

static int gemv(device *g, ptrdiff_t m, ptrdiff_t n, double alpha, const double *a, const double *x, double *y)
{
    const double one = 1;
    BLAS(cublasDgemv_64(g->blas, CUBLAS_OP_N, m, n, &alpha, a, m, x, 1, &one, y, 1));
    return EPIQ_OK;
}

/* ---- elementwise ---- */

#define INDEX ((ptrdiff_t)blockIdx.x * THREADS + threadIdx.x)

template <class A, class B> __global__ static void convert(ptrdiff_t n, const A *from, B *to)
{
    if (INDEX < n) to[INDEX] = (B)from[INDEX];
}

template <class T> __global__ static void set(ptrdiff_t n, T value, T *to)
{
    if (INDEX < n) to[INDEX] = value;
}

template <class T> __global__ static void add_to(ptrdiff_t n, const T *from, double *to)
{
    if (INDEX < n) to[INDEX] += (double)from[INDEX];
}

/* f = s relu(f + beta b), units by rows */
template <class T> __global__ static void relu(ptrdiff_t n, ptrdiff_t width, T s, T beta, const T *b, T *f)
{
    const ptrdiff_t e = INDEX;
    if (e >= n) return;
    const T v = f[e] + beta * b[e % width];
    f[e] = v > 0 ? s * v : 0;
}

/* t = s (t + beta b) where g > 0, else 0 */
template <class T>
__global__ static void gate_sum(ptrdiff_t n, ptrdiff_t width, T s, T beta, const T *b, const T *g, T *t)
{
    const ptrdiff_t e = INDEX;
    if (e < n) t[e] = g[e] > 0 ? s * (t[e] + beta * b[e % width]) : 0;
}

/* delta = s u w' where g > 0, else 0 */
template <class T>
__global__ static void first_delta(ptrdiff_t n, ptrdiff_t width, T s, const T *u, const T *w, const T *g, T *delta)
{
    const ptrdiff_t e = INDEX;
    if (e < n) delta[e] = g[e] > 0 ? s * u[e / width] * w[e % width] : 0;
}

template <class T> __global__ static void mask(ptrdiff_t n, const T *g, T *delta)
{
    const ptrdiff_t e = INDEX;
    if (e < n && !(g[e] > 0)) delta[e] = 0;
}

/* h = G'w + K'v + constant, one warp for each row; K may be NULL */
template <class T>
__global__ static void top(ptrdiff_t rows, ptrdiff_t width, const T *g, const T *w, const T *k, const T *v, T constant,
                           const T *times, double *h)
{
    const ptrdiff_t i = (ptrdiff_t)blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
    if (i >= rows) return;
    double sum = 0;
    for (ptrdiff_t e = threadIdx.x % 32; e < width; e += 32) {
        sum += (double)(g[i * width + e] * w[e]);
        if (k) sum += (double)(k[i * width + e] * v[e]);
    }
    for (int half = 16; half > 0; half /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, half);
    }
    if (threadIdx.x % 32 == 0) h[i] = sum + (double)(constant * *times);
}

/* u = scale (h - y), y may be NULL; parts of the squared errors' sum and of beta times that of u, one for each block */
template <class T>
__global__ static void errors(ptrdiff_t rows, const double *h, const double *y, double scale, T *u, double *square,
                              double *sum)
{
    __shared__ double a[THREADS / 32], b[THREADS / 32];
    const ptrdiff_t i = INDEX;
    double e = i < rows ? h[i] - (y ? y[i] : 0) : 0, v = scale * e;
    if (i < rows) u[i] = (T)v;
    e *= e;
    for (int half = 16; half > 0; half /= 2) {
        e += __shfl_down_sync(0xffffffffu, e, half);
        v += __shfl_down_sync(0xffffffffu, v, half);
    }
    if (threadIdx.x % 32 == 0) {
        a[threadIdx.x / 32] = e;
        b[threadIdx.x / 32] = v;
    }
    __syncthreads();
    if (threadIdx.x > 0) return;
    e = v = 0;
    for (int k = 0; k < THREADS / 32; k++) {
        e += a[k];
        v += b[k];
    }
    square[blockIdx.x] = e;
    sum[blockIdx.x] = v;
}

__global__ static void last_bias(ptrdiff_t count, const double *sum, double beta, double *to)
{
    double all = 0;
    for (ptrdiff_t k = 0; k < count; k++) {
        all += sum[k];
    }
    *to += beta * all;
}

/* ---- one network ---- */

template <class T> struct worker {
    device *g;
    shape s;
    ptrdiff_t rows; /* at once */
    T *theta, *v, *grad, *x, *act, *t, *delta, *back, *u, *ones;
    double *h, *square, *sum, *part;
    loss_job *loss;
    size_t bytes;

    ptrdiff_t inputs(ptrdiff_t l) const
    {
        return l == 1 ? s.d : s.width;
    }
    ptrdiff_t weights_at(ptrdiff_t l) const
    {
        return l < 2 ? 0 : s.width * (s.d + 1) + (l - 2) * s.width * (s.width + 1);
    }
    ptrdiff_t biases_at(ptrdiff_t l) const
    {
        return weights_at(l) + s.width * inputs(l);
    }
    T *layer(ptrdiff_t l, ptrdiff_t some)
    {
        return l ? act + (l - 1) * some * s.width : x;
    }

    void lay_out(void *at)
    {
        carve c{(char *)at, 0};
        const ptrdiff_t blocks = (s.n + THREADS - 1) / THREADS + s.n / rows + 2;
        theta = c.take<T>(s.p);
        v = c.take<T>(s.p);
        grad = c.take<T>(s.p);
        x = c.take<T>(rows * s.d);
        act = c.take<T>(rows * s.width * s.depth);
        t = c.take<T>(rows * s.width);
        delta = c.take<T>(rows * s.width);
        back = c.take<T>(rows * s.width);
        u = c.take<T>(rows);
        ones = c.take<T>(rows);
        h = c.take<double>(s.n);
        square = c.take<double>(blocks);
        sum = c.take<double>(blocks);
        part = c.take<double>(pull_parts_of(s.p));
        loss = c.take<loss_job>(1);
        bytes = c.used;
    }

    static unsigned blocks(ptrdiff_t n)
    {
        return (unsigned)((n + THREADS - 1) / THREADS);
    }

    T slope() const
    {
        return (T)sqrt(2.0 / (double)s.width);
    }

    /* Activations, and outputs at h + from. */
    int forward(const double *rows_x, ptrdiff_t from, ptrdiff_t some)
    {
        const ptrdiff_t all = some * s.width, last = weights_at(s.depth + 1);
        convert<<<blocks(some * s.d), THREADS, 0, g->stream>>>(some * s.d, rows_x + from * s.d, x);
        for (ptrdiff_t l = 1; l <= s.depth; l++) {
            const ptrdiff_t k = inputs(l);
            int status = gemm(g, true, false, s.width, some, k, (T)1, theta + weights_at(l), k, layer(l - 1, some), k,
                              (T)0, layer(l, some), s.width);
            if (status) return status;
            relu<<<blocks(all), THREADS, 0, g->stream>>>(all, s.width, slope(), (T)s.beta, theta + biases_at(l),
                                                         layer(l, some));
        }
        top<T><<<(unsigned)((some + THREADS / 32 - 1) / (THREADS / 32)), THREADS, 0, g->stream>>>(
            some, s.width, layer(s.depth, some), theta + last, NULL, NULL, (T)s.beta, theta + last + s.width, h + from);
        CUDA(cudaGetLastError());
        return EPIQ_OK;
    }

    /* h + from = J v of the rows that went forward last */
    int tangent(ptrdiff_t from, ptrdiff_t some)
    {
        const ptrdiff_t all = some * s.width, last = weights_at(s.depth + 1);
        T *below = back, *own = t;
        for (ptrdiff_t l = 1; l <= s.depth; l++) {
            const ptrdiff_t k = inputs(l);
            int status = gemm(g, true, false, s.width, some, k, (T)1, v + weights_at(l), k, layer(l - 1, some), k, (T)0,
                              own, s.width);
            if (!status && l > 1) {
                status = gemm(g, true, false, s.width, some, k, (T)1, theta + weights_at(l), k, below, k, (T)1, own,
                              s.width);
            }
            if (status) return status;
            gate_sum<<<blocks(all), THREADS, 0, g->stream>>>(all, s.width, slope(), (T)s.beta, v + biases_at(l),
                                                             layer(l, some), own);
            T *kept = below;
            below = own;
            own = kept;
        }
        top<T><<<(unsigned)((some + THREADS / 32 - 1) / (THREADS / 32)), THREADS, 0, g->stream>>>(
            some, s.width, below, theta + last, layer(s.depth, some), v + last, (T)s.beta, v + last + s.width,
            h + from);
        CUDA(cudaGetLastError());
        return EPIQ_OK;
    }

    /* to += J'u of these rows, but for the last bias. */
    int reverse(ptrdiff_t some, double *to)
    {
        const ptrdiff_t all = some * s.width, last = weights_at(s.depth + 1);
        T *own = delta, *above = back;
        CUDA(cudaMemsetAsync(grad, 0, (size_t)s.p * sizeof(T), g->stream));
        int status = gemv(g, s.width, some, (T)1, layer(s.depth, some), u, grad + last);
        for (ptrdiff_t l = s.depth; !status && l >= 1; l--) {
            const ptrdiff_t k = inputs(l);
            if (l == s.depth) {
                first_delta<<<blocks(all), THREADS, 0, g->stream>>>(all, s.width, slope(), u, theta + last,
                                                                    layer(l, some), own);
            } else {
                status = gemm(g, false, false, s.width, some, s.width, slope(), theta + weights_at(l + 1), s.width,
                              above, s.width, (T)0, own, s.width);
                if (status) return status;
                mask<<<blocks(all), THREADS, 0, g->stream>>>(all, layer(l, some), own);
            }
            CUDA(cudaGetLastError());
            if ((status = gemm(g, false, true, k, s.width, some, (T)1, layer(l - 1, some), k, own, s.width, (T)0,
                               grad + weights_at(l), k)) ||
                (status = gemv(g, s.width, some, (T)s.beta, own, ones, grad + biases_at(l)))) {
                return status;
            }
            T *kept = own;
            own = above;
            above = kept;
        }
        if (status) return status;
        add_to<<<blocks(s.p - 1), THREADS, 0, g->stream>>>(s.p - 1, grad, to);
        CUDA(cudaGetLastError());
        return EPIQ_OK;
    }

    /* u from what is at `numbers`, or h if NULL, less y if not NULL. Returns the parts that its sums have. */
    ptrdiff_t aim(const double *numbers, const double *y, ptrdiff_t from, ptrdiff_t some, double scale, ptrdiff_t at)
    {
        errors<<<blocks(some), THREADS, 0, g->stream>>>(some, (numbers ? numbers : h) + from, y ? y + from : NULL,
                                                        scale, u, square + at, sum + at);
        return blocks(some);
    }

    int run(int op, const gradient &one)
    {
        const epiq_device_do *step = one.step;
        const ptrdiff_t vectors = op == EPIQ_DEVICE_PULLS ? step->count : 1;
        double *to = (double *)step->to;
        int status = EPIQ_OK;
        convert<<<blocks(s.p), THREADS, 0, g->stream>>>(s.p, step->at, theta);
        set<<<blocks(rows), THREADS, 0, g->stream>>>(rows, (T)1, ones);
        if (op == EPIQ_DEVICE_NORMAL) {
            convert<<<blocks(s.p), THREADS, 0, g->stream>>>(s.p, (const float *)step->terms[0].at, v);
        }
        if (op != EPIQ_DEVICE_FORWARD) {
            CUDA(cudaMemsetAsync(to, 0, (size_t)(vectors * s.p) * sizeof(double), g->stream));
        }
        ptrdiff_t parts = 0;
        for (ptrdiff_t i = 0; !status && i < s.n; i += rows) {
            const ptrdiff_t some = least(rows, s.n - i);
            if ((status = forward(step->x, i, some))) return status;
            if (op == EPIQ_DEVICE_NORMAL && (status = tangent(i, some))) return status;
            for (ptrdiff_t j = 0; !status && op == EPIQ_DEVICE_PULLS && j < vectors; j++) {
                const ptrdiff_t own = aim(step->y + j * s.n, NULL, i, some, 1, 0);
                status = reverse(some, to + j * s.p);
                last_bias<<<1, 1, 0, g->stream>>>(own, sum, s.beta, to + (j + 1) * s.p - 1);
            }
            if (op == EPIQ_DEVICE_LOSS || op == EPIQ_DEVICE_NORMAL) {
                const bool errs = op == EPIQ_DEVICE_LOSS;
                parts += aim(NULL, errs ? step->y : NULL, i, some, errs ? 2 / (double)s.n : 1, parts);
                status = reverse(some, to);
            }
        }
        if (status) return status;
        if (op == EPIQ_DEVICE_FORWARD) return copy_out(g, step->own, h, (size_t)s.n * sizeof *h);
        if (op == EPIQ_DEVICE_PULLS) return EPIQ_OK;
        last_bias<<<1, 1, 0, g->stream>>>(parts, sum, s.beta, to + s.p - 1);
        CUDA(cudaGetLastError());
        if (op == EPIQ_DEVICE_NORMAL) return EPIQ_OK;
        const loss_job job = {to, step->at, step->start, step->lambda, part, one.out, square, parts, s.p};
        if ((status = copy_in(g, loss, &job, sizeof job))) return status;
        return pull(g, 1, s.p, loss);
    }
};

template <class T> static int all_of(device *g, const shape &s, int op, ptrdiff_t count, const gradient *list)
{
    worker<T> w{};
    w.g = g;
    w.s = s;
    const double each = (double)sizeof(T) * (double)(s.width * (s.depth + 3) + s.d + 2);
    w.rows = least(least(s.n, MOST_ROWS), (ptrdiff_t)(WORK_BYTES / each));
    if (w.rows < 1) w.rows = 1;
    w.lay_out(NULL);
    int status = grow(g, &g->work, w.bytes, false);
    w.lay_out(g->work.at);
    for (ptrdiff_t k = 0; !status && k < count && s.n > 0; k++) {
        status = w.run(op, list[k]);
    }
    return status;
}

int deep_gradients(device *g, const shape &s, int op, int single, ptrdiff_t count, const gradient *list)
{
    return single && op != EPIQ_DEVICE_FORWARD ? all_of<float>(g, s, op, count, list)
                                               : all_of<double>(g, s, op, count, list);
}
