/* deep.cu - gradients of networks of any depth and any number of features, by matrix products, one network after the
 * other: the passes of src/net/chunk.h. Matrices are column-major, units by rows. Rows are processed in chunks, whose
 * gradients are added in double, so that many rows lose no digits.
 *
 * On GPUs whose tensor cores are much faster, these compute the products in single precision between hidden layers.
 * They multiply numbers of 11 bits. In rough steps (EPIQ_DEVICE_ROUGH) the factors are rounded to 11 bits; otherwise
 * each factor is the sum of two such numbers, and A B = A_hi B_hi + A_hi B_lo + A_lo B_hi up to 2^-22.
 */
#include "cuda/train.h"

#include <cmath>

enum { THREADS = 256, MOST_ROWS = 16384 };
static const double WORK_BYTES = 4e9 / LANES; /* of a chunk; src/store/members.c counts on it */

/* ---- matrix products ---- */

/* A matrix: plain, or for the tensor cores, with hi rounded to 11 bits and the remainder in lo. */
template <class T> struct split {
    T *hi, *lo; /* lo NULL: hi alone */
    bool tensor;
};

static int product(lane *g, bool exact, bool ta, bool tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float alpha,
                   const float *a, ptrdiff_t lda, const float *b, ptrdiff_t ldb, float beta, float *c, ptrdiff_t ldc)
{
    BLAS(cublasGemmEx_64(g->blas, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, k, &alpha, a,
                         CUDA_R_32F, lda, b, CUDA_R_32F, ldb, &beta, c, CUDA_R_32F, ldc,
                         exact ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT));
    return EPIQ_OK;
}

/* C = alpha A B + beta C, with A transposed if ta, B if tb */
static int gemm(lane *g, bool ta, bool tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, float alpha, split<float> a,
                ptrdiff_t lda, split<float> b, ptrdiff_t ldb, float beta, float *c, ptrdiff_t ldc)
{
    const bool tensor = a.tensor && b.tensor;
    if (!tensor || !a.lo || !b.lo) {
        return product(g, !tensor, ta, tb, m, n, k, alpha, a.hi, lda, b.hi, ldb, beta, c, ldc);
    }
    int status = product(g, false, ta, tb, m, n, k, alpha, a.lo, lda, b.hi, ldb, beta, c, ldc);
    if (!status) status = product(g, false, ta, tb, m, n, k, alpha, a.hi, lda, b.lo, ldb, 1, c, ldc);
    return status ? status : product(g, false, ta, tb, m, n, k, alpha, a.hi, lda, b.hi, ldb, 1, c, ldc);
}

static int gemm(lane *g, bool ta, bool tb, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, double alpha, split<double> a,
                ptrdiff_t lda, split<double> b, ptrdiff_t ldb, double beta, double *c, ptrdiff_t ldc)
{
    BLAS(cublasDgemm_64(g->blas, ta ? CUBLAS_OP_T : CUBLAS_OP_N, tb ? CUBLAS_OP_T : CUBLAS_OP_N, m, n, k, &alpha, a.hi,
                        lda, b.hi, ldb, &beta, c, ldc));
    return EPIQ_OK;
}

/* ---- elementwise ---- */

#define INDEX ((ptrdiff_t)blockIdx.x * THREADS + threadIdx.x)

/* v rounded to 11 bits, ties away from zero. No number here is large enough to overflow. */
__device__ static float rounded(float v)
{
    return __uint_as_float((__float_as_uint(v) + 0x1000u) & 0xffffe000u);
}

__device__ static void put(split<float> to, ptrdiff_t e, float v)
{
    const float hi = to.tensor ? rounded(v) : v;
    to.hi[e] = hi;
    if (to.lo) to.lo[e] = v - hi;
}

__device__ static void put(split<double> to, ptrdiff_t e, double v)
{
    to.hi[e] = v;
}

template <class A, class B> __global__ static void convert(ptrdiff_t n, const A *from, B *to)
{
    if (INDEX < n) to[INDEX] = (B)from[INDEX];
}

template <class T> __global__ static void divide(ptrdiff_t n, const T *from, split<T> to)
{
    if (INDEX < n) put(to, INDEX, from[INDEX]);
}

/* to = from', both n by n. A thread block transposes a tile of SQUARE by SQUARE numbers, SQUARE by DOWN at a time. */
enum { SQUARE = 32, DOWN = 8 };
template <class T> __global__ static void transpose(ptrdiff_t n, const T *from, T *to)
{
    __shared__ T square[SQUARE][SQUARE + 1]; /* padded, so that a column spans all banks */
    const ptrdiff_t x = (ptrdiff_t)blockIdx.x * SQUARE, y = (ptrdiff_t)blockIdx.y * SQUARE, i = threadIdx.x;
    for (ptrdiff_t j = threadIdx.y; j < SQUARE; j += DOWN) {
        if (x + i < n && y + j < n) square[j][i] = from[(y + j) * n + x + i];
    }
    __syncthreads();
    for (ptrdiff_t j = threadIdx.y; j < SQUARE; j += DOWN) {
        if (y + i < n && x + j < n) to[(x + j) * n + y + i] = square[i][j];
    }
}

template <class T> __global__ static void set(ptrdiff_t n, T value, T *to)
{
    if (INDEX < n) to[INDEX] = value;
}

template <class T> __global__ static void add_to(ptrdiff_t n, const T *from, double *to)
{
    if (INDEX < n) to[INDEX] += (double)from[INDEX];
}

/* Matrices of units by rows are processed in tiles. A thread has one unit and several rows, the rows of a thread block
 * are contiguous, and a sum over rows has one partial sum per thread. With few rows each thread takes fewer of them, so
 * that there are enough blocks to keep the GPU busy. */
enum { MOST_EACH = 64, STAGE = 8, ENOUGH_BLOCKS = 512 };
struct tiles {
    dim3 grid, block;
    ptrdiff_t each;  /* rows of a thread */
    ptrdiff_t parts; /* partial sums of a unit */
};

static tiles tiles_of(ptrdiff_t rows, ptrdiff_t width)
{
    unsigned across = 32;
    while (across < THREADS && across < width) {
        across *= 2;
    }
    const unsigned down = THREADS / across;
    tiles t{};
    t.block = dim3(across, down);
    t.grid.x = (unsigned)((width + across - 1) / across);
    t.each = 2 * MOST_EACH;
    do {
        t.each /= 2;
        t.grid.y = (unsigned)((rows + t.each * down - 1) / (t.each * down));
    } while (t.each > STAGE && t.grid.x * t.grid.y < ENOUGH_BLOCKS);
    t.parts = (ptrdiff_t)t.grid.y * down;
    return t;
}

__device__ static ptrdiff_t own_unit()
{
    return (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x;
}

/* put(e, row, take(e, row)) for each number e of this thread, with STAGE loads in flight at once. */
template <class T, class Take, class Put>
__device__ static void over_rows(ptrdiff_t rows, ptrdiff_t each, ptrdiff_t width, const Take &take, const Put &put)
{
    const ptrdiff_t step = blockDim.y, unit = own_unit(), first = (ptrdiff_t)blockIdx.y * each * step + threadIdx.y;
    ptrdiff_t end = first + each * step;
    end = end < rows ? end : rows;
    for (ptrdiff_t i = first; i < end; i += STAGE * step) {
        T v[STAGE];
#pragma unroll
        for (int k = 0; k < STAGE; k++) {
            const ptrdiff_t row = i + k * step;
            v[k] = row < end ? take(row * width + unit, row) : (T)0;
        }
#pragma unroll
        for (int k = 0; k < STAGE; k++) {
            const ptrdiff_t row = i + k * step;
            if (row < end) put(row * width + unit, row, v[k]);
        }
    }
}

/* Where this thread's partial sum goes, among parts by width. */
__device__ static ptrdiff_t own_part(ptrdiff_t width)
{
    return ((ptrdiff_t)blockIdx.y * blockDim.y + threadIdx.y) * width + own_unit();
}

/* f = s relu(f + beta b), units by rows. This kernel and the kernels below read the result of a product from hi. */
template <class T>
__global__ static void relu(ptrdiff_t rows, ptrdiff_t each, ptrdiff_t width, T s, T beta, const T *b, split<T> f)
{
    if (own_unit() >= width) return;
    const T more = beta * b[own_unit()];
    over_rows<T>(
        rows, each, width, [&](ptrdiff_t e, ptrdiff_t) { return f.hi[e] + more; },
        [&](ptrdiff_t e, ptrdiff_t, T v) { put(f, e, v > 0 ? s * v : 0); });
}

/* v where g > 0, else 0. Both are loaded unconditionally: a load of v that depends on g would wait for memory twice. */
template <class T> __device__ static T gated(T g, T v)
{
    return g > 0 ? v : 0;
}

/* t = s (t + beta b) where g > 0, else 0 */
template <class T>
__global__ static void gate_sum(ptrdiff_t rows, ptrdiff_t each, ptrdiff_t width, T s, T beta, const T *b, const T *g,
                                split<T> t)
{
    if (own_unit() >= width) return;
    const T more = beta * b[own_unit()];
    over_rows<T>(
        rows, each, width, [&](ptrdiff_t e, ptrdiff_t) { return gated(g[e], s * (t.hi[e] + more)); },
        [&](ptrdiff_t e, ptrdiff_t, T v) { put(t, e, v); });
}

/* delta = s u w' where g > 0, else 0; partial sums of g u and of delta over rows */
template <class T>
__global__ static void first_delta(ptrdiff_t rows, ptrdiff_t each, ptrdiff_t width, T s, const T *u, const T *w,
                                   const T *g, split<T> delta, T *sum_g, T *sum)
{
    if (own_unit() >= width) return;
    const T by = s * w[own_unit()];
    T of_g = 0, of_delta = 0;
    over_rows<T>(
        rows, each, width, [&](ptrdiff_t e, ptrdiff_t) { return g[e]; },
        [&](ptrdiff_t e, ptrdiff_t row, T v) {
            const T own = v > 0 ? by * u[row] : 0;
            of_g += v * u[row];
            of_delta += own;
            put(delta, e, own);
        });
    if (sum_g) sum_g[own_part(width)] = of_g;
    if (sum) sum[own_part(width)] = of_delta;
}

/* delta = 0 where g = 0; partial sums of delta over rows */
template <class T>
__global__ static void mask(ptrdiff_t rows, ptrdiff_t each, ptrdiff_t width, const T *g, split<T> delta, T *sum)
{
    if (own_unit() >= width) return;
    T all = 0;
    over_rows<T>(
        rows, each, width, [&](ptrdiff_t e, ptrdiff_t) { return gated(g[e], delta.hi[e]); },
        [&](ptrdiff_t e, ptrdiff_t, T v) {
            all += v;
            put(delta, e, v);
        });
    if (sum) sum[own_part(width)] = all;
}

/* to = by times the sum of each unit's partial sums, which are divided among the threads of a column of the block. */
enum { SHARERS = THREADS / 32 };
template <class T> __global__ static void sum_parts(ptrdiff_t parts, ptrdiff_t width, const T *part, double by, T *to)
{
    __shared__ double share[SHARERS][32];
    const ptrdiff_t unit = own_unit();
    double all = 0;
    for (ptrdiff_t k = threadIdx.y; unit < width && k < parts; k += SHARERS) {
        all += (double)part[k * width + unit];
    }
    share[threadIdx.y][threadIdx.x] = all;
    __syncthreads();
    if (threadIdx.y > 0 || unit >= width) return;
    for (int k = 1; k < SHARERS; k++) {
        all += share[k][threadIdx.x];
    }
    to[unit] = (T)(by * all);
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

/* u = scale (h - y), y may be NULL; partial sums of (h - y)^2 and of u, one for each block */
template <class T>
__global__ static void errors(ptrdiff_t rows, const double *h, const double *y, double scale, T *u, double *square,
                              double *sum)
{
    const ptrdiff_t i = INDEX;
    const double e = i < rows ? h[i] - (y ? y[i] : 0) : 0, v = scale * e;
    if (i < rows) u[i] = (T)v;
    block_sums<THREADS>(e * e, v, square + blockIdx.x, sum + blockIdx.x);
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
    lane *g;
    shape s;
    ptrdiff_t rows;                     /* of a chunk */
    bool tensor;                        /* products between hidden layers on the tensor cores */
    bool low;                           /* their factors have a part lo */
    T *theta, *v, *grad, *x, *u, *sums; /* sums: partial sums of two quantities */
    split<T> theta2, v2;                /* theta and v split, if tensor */
    split<T> turned;                    /* theta2 with each matrix between hidden layers transposed */
    split<T> act, t, delta, back;       /* plain at the last layer, and where they belong to the first */
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
    split<T> layer(ptrdiff_t l, ptrdiff_t some) const
    {
        const ptrdiff_t at = (l - 1) * some * s.width;
        if (l == 0) return {x, NULL, false};
        const bool between = tensor && l < s.depth;
        return {act.hi + at, between && low ? act.lo + at : NULL, between};
    }
    /* The matrix of layer l, of theta or of v. */
    split<T> weights(T *plain, split<T> divided, ptrdiff_t l) const
    {
        const ptrdiff_t at = weights_at(l);
        if (!tensor || l == 1) return {plain + at, NULL, false};
        return {divided.hi + at, low ? divided.lo + at : NULL, true};
    }

    /* The same matrix, for products that do not use the tensor cores. */
    static split<T> whole(split<T> m)
    {
        return {m.hi, NULL, false};
    }

    split<T> take(carve *c, ptrdiff_t count, ptrdiff_t second)
    {
        split<T> out = {c->take<T>(count), NULL, tensor};
        if (low) out.lo = c->take<T>(second);
        return out;
    }

    void lay_out(void *at)
    {
        carve c{(char *)at, 0};
        const ptrdiff_t blocks = (s.n + THREADS - 1) / THREADS + s.n / rows + 2, layer_size = rows * s.width;
        theta = c.take<T>(s.p);
        v = c.take<T>(s.p);
        grad = c.take<T>(s.p);
        if (tensor) {
            theta2 = take(&c, s.p, s.p);
            v2 = take(&c, s.p, s.p);
            turned = take(&c, s.p, s.p);
        }
        x = c.take<T>(rows * s.d);
        act = take(&c, layer_size * s.depth, layer_size * (s.depth - 1));
        t = take(&c, layer_size, layer_size);
        delta = take(&c, layer_size, layer_size);
        back = take(&c, layer_size, layer_size);
        u = c.take<T>(rows);
        /* a thread has STAGE rows at least; the last chunk, which has fewer rows, may be divided into more parts than others */
        sums = c.take<T>(2 * (rows / STAGE + THREADS / 32) * s.width);
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

    /* The activations of `some` rows, and their outputs at h + from. */
    int forward(const double *rows_x, ptrdiff_t from, ptrdiff_t some)
    {
        const ptrdiff_t last = weights_at(s.depth + 1);
        const tiles tile = tiles_of(some, s.width);
        convert<<<blocks(some * s.d), THREADS, 0, g->stream>>>(some * s.d, rows_x + from * s.d, x);
        for (ptrdiff_t l = 1; l <= s.depth; l++) {
            const ptrdiff_t k = inputs(l);
            int status = gemm(g, true, false, s.width, some, k, (T)1, weights(theta, theta2, l), k, layer(l - 1, some),
                              k, (T)0, layer(l, some).hi, s.width);
            if (status) return status;
            relu<<<tile.grid, tile.block, 0, g->stream>>>(some, tile.each, s.width, slope(), (T)s.beta,
                                                          theta + biases_at(l), layer(l, some));
        }
        top<T><<<(unsigned)((some + THREADS / 32 - 1) / (THREADS / 32)), THREADS, 0, g->stream>>>(
            some, s.width, layer(s.depth, some).hi, theta + last, NULL, NULL, (T)s.beta, theta + last + s.width,
            h + from);
        CUDA(cudaGetLastError());
        return EPIQ_OK;
    }

    /* h + from = J v for the rows of the last call of forward */
    int tangent(ptrdiff_t from, ptrdiff_t some)
    {
        const ptrdiff_t last = weights_at(s.depth + 1);
        const tiles tile = tiles_of(some, s.width);
        split<T> below = back, own = t;
        for (ptrdiff_t l = 1; l <= s.depth; l++) {
            const ptrdiff_t k = inputs(l);
            int status = gemm(g, true, false, s.width, some, k, (T)1, weights(v, v2, l), k, layer(l - 1, some), k, (T)0,
                              own.hi, s.width);
            if (!status && l > 1) {
                status = gemm(g, true, false, s.width, some, k, (T)1, weights(theta, theta2, l), k, below, k, (T)1,
                              own.hi, s.width);
            }
            if (status) return status;
            gate_sum<<<tile.grid, tile.block, 0, g->stream>>>(some, tile.each, s.width, slope(), (T)s.beta,
                                                              v + biases_at(l), layer(l, some).hi,
                                                              l < s.depth ? own : whole(own));
            const split<T> kept = below;
            below = own;
            own = kept;
        }
        top<T><<<(unsigned)((some + THREADS / 32 - 1) / (THREADS / 32)), THREADS, 0, g->stream>>>(
            some, s.width, below.hi, theta + last, layer(s.depth, some).hi, v + last, (T)s.beta, v + last + s.width,
            h + from);
        CUDA(cudaGetLastError());
        return EPIQ_OK;
    }

    /* c = s W'above, W the matrix between layers l - 1 and l. Tensor cores are a third faster if both factors are
     * contiguous along the index of the sum: hence the transposed weights. */
    int back_through(ptrdiff_t l, ptrdiff_t some, split<T> above, T *c)
    {
        return gemm(g, tensor, false, s.width, some, s.width, slope(), weights(theta, tensor ? turned : theta2, l),
                    s.width, above, s.width, (T)0, c, s.width);
    }

    void turn_weights()
    {
        const unsigned across = (unsigned)((s.width + SQUARE - 1) / SQUARE);
        for (ptrdiff_t l = 2; l <= s.depth; l++) {
            const ptrdiff_t at = weights_at(l);
            const dim3 grid(across, across), block(SQUARE, DOWN);
            transpose<<<grid, block, 0, g->stream>>>(s.width, theta2.hi + at, turned.hi + at);
            if (low) transpose<<<grid, block, 0, g->stream>>>(s.width, theta2.lo + at, turned.lo + at);
        }
    }

    /* to = J'u of these rows, without the last bias; added to `to` if these are not all rows. */
    int reverse(ptrdiff_t some, double *to)
    {
        const ptrdiff_t last = weights_at(s.depth + 1);
        const tiles tile = tiles_of(some, s.width);
        T *sum_g = sums + tile.parts * s.width;
        split<T> own = delta, above = back;
        const auto add_up = [&](const T *parts, double by, T *where) {
            const dim3 grid((unsigned)((s.width + 31) / 32)), block(32, SHARERS);
            sum_parts<<<grid, block, 0, g->stream>>>(tile.parts, s.width, parts, by, where);
        };
        for (ptrdiff_t l = s.depth; l >= 1; l--) {
            const ptrdiff_t k = inputs(l);
            const split<T> here = l > 1 ? own : whole(own);
            int status = EPIQ_OK;
            if (l == s.depth) {
                first_delta<<<tile.grid, tile.block, 0, g->stream>>>(some, tile.each, s.width, slope(), u, theta + last,
                                                                     layer(l, some).hi, here, sum_g, sums);
                add_up(sum_g, 1, grad + last);
            } else {
                if ((status = back_through(l + 1, some, above, own.hi))) return status;
                mask<<<tile.grid, tile.block, 0, g->stream>>>(some, tile.each, s.width, layer(l, some).hi, here, sums);
            }
            add_up(sums, s.beta, grad + biases_at(l));
            CUDA(cudaGetLastError());
            if ((status = gemm(g, false, true, k, s.width, some, (T)1, layer(l - 1, some), k, here, s.width, (T)0,
                               grad + weights_at(l), k))) {
                return status;
            }
            const split<T> kept = own;
            own = above;
            above = kept;
        }
        if (some == s.n) {
            convert<<<blocks(s.p - 1), THREADS, 0, g->stream>>>(s.p - 1, grad, to);
        } else {
            add_to<<<blocks(s.p - 1), THREADS, 0, g->stream>>>(s.p - 1, grad, to);
        }
        CUDA(cudaGetLastError());
        return EPIQ_OK;
    }

    /* u = scale (v - y), v being `numbers` or, if NULL, h; y may be NULL. Returns the number of partial sums. */
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
        if (op == EPIQ_DEVICE_NORMAL) {
            convert<<<blocks(s.p), THREADS, 0, g->stream>>>(s.p, (const float *)step->terms[0].at, v);
            if (tensor) divide<<<blocks(s.p), THREADS, 0, g->stream>>>(s.p, v, v2);
        }
        if (tensor) divide<<<blocks(s.p), THREADS, 0, g->stream>>>(s.p, theta, theta2);
        if (op != EPIQ_DEVICE_FORWARD) {
            if (tensor) turn_weights();
            const size_t row = (size_t)s.p * sizeof *to,
                         each = rows < s.n ? row : sizeof *to; /* the last bias is accumulated in any case */
            CUDA(cudaMemset2DAsync((char *)to + row - each, row, 0, each, (size_t)vectors, g->stream));
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
        if (op == EPIQ_DEVICE_FORWARD) return copy_out(g->stream, step->own, h, (size_t)s.n * sizeof *h);
        if (op == EPIQ_DEVICE_PULLS) return EPIQ_OK;
        last_bias<<<1, 1, 0, g->stream>>>(parts, sum, s.beta, to + s.p - 1);
        CUDA(cudaGetLastError());
        if (op == EPIQ_DEVICE_NORMAL) return EPIQ_OK;
        const loss_job job = {to, step->at, step->start, step->lambda, part, one.out, square, parts, s.p};
        if ((status = copy_in(g->stream, loss, &job, sizeof job))) return status;
        return pull(g, 1, s.p, loss);
    }
};

template <class T> static int all_of(lane *g, const shape &s, int op, bool rough, ptrdiff_t count, const gradient *list)
{
    worker<T> w{};
    w.g = g;
    w.s = s;
    w.tensor = g->tensor && sizeof(T) == sizeof(float) && s.depth > 1;
    w.low = w.tensor && !rough;
    const double each = (double)sizeof(T) * (double)(s.width * (s.depth + 3) * (w.low ? 2 : 1) + s.d + 2);
    w.rows = least(least(s.n, MOST_ROWS), (ptrdiff_t)(WORK_BYTES / each));
    if (w.rows < 1) w.rows = 1;
    const ptrdiff_t chunks = (s.n + w.rows - 1) / w.rows;
    if (chunks > 0) w.rows = (s.n + chunks - 1) / chunks; /* of equal sizes */
    w.lay_out(NULL);
    int status = g->blas ? EPIQ_OK : start_blas(g->stream, &g->blas);
    if (!status) status = grow(g, &g->work, w.bytes, false);
    w.lay_out(g->work.at);
    for (ptrdiff_t k = 0; !status && k < count && s.n > 0; k++) {
        status = w.run(op, list[k]);
    }
    return status;
}

int deep_features(lane *g, const shape &s, const double *theta, const double *x, double *act, double *delta)
{
    worker<double> w{};
    room<double> ones;
    w.g = g;
    w.s = s;
    int status = ones.take(MOST_ROWS);
    if (status) return status;
    set<<<w.blocks(MOST_ROWS), THREADS, 0, g->stream>>>((ptrdiff_t)MOST_ROWS, 1.0, ones.at);
    for (ptrdiff_t i = 0; i < s.n; i += MOST_ROWS) {
        const ptrdiff_t some = least(MOST_ROWS, s.n - i);
        const tiles tile = tiles_of(some, s.width);
        const auto plain = [](const double *at) { return split<double>{const_cast<double *>(at), NULL, false}; };
        const auto layer = [&](double *of, ptrdiff_t l) { return plain(of + ((l - 1) * s.n + i) * s.width); };
        for (ptrdiff_t l = 1; l <= s.depth; l++) {
            const ptrdiff_t k = w.inputs(l);
            status = gemm(g, true, false, s.width, some, k, 1.0, plain(theta + w.weights_at(l)), k,
                          l == 1 ? plain(x + i * s.d) : layer(act, l - 1), k, 0.0, layer(act, l).hi, s.width);
            if (status) return status;
            relu<<<tile.grid, tile.block, 0, g->stream>>>(some, tile.each, s.width, w.slope(), s.beta,
                                                          theta + w.biases_at(l), layer(act, l));
        }
        first_delta<double><<<tile.grid, tile.block, 0, g->stream>>>(
            some, tile.each, s.width, w.slope(), ones.at, theta + w.weights_at(s.depth + 1), layer(act, s.depth).hi,
            layer(delta, s.depth), NULL, NULL);
        for (ptrdiff_t l = s.depth - 1; l >= 1; l--) {
            status = gemm(g, false, false, s.width, some, s.width, w.slope(), plain(theta + w.weights_at(l + 1)),
                          s.width, layer(delta, l + 1), s.width, 0.0, layer(delta, l).hi, s.width);
            if (status) return status;
            mask<double><<<tile.grid, tile.block, 0, g->stream>>>(some, tile.each, s.width, layer(act, l).hi,
                                                                  layer(delta, l), NULL);
        }
        CUDA(cudaGetLastError());
    }
    return EPIQ_OK;
}

int deep_gradients(lane *g, const shape &s, int op, int single, ptrdiff_t count, const gradient *list)
{
    return single && op != EPIQ_DEVICE_FORWARD ? all_of<float>(g, s, op, single == EPIQ_DEVICE_ROUGH, count, list)
                                               : all_of<double>(g, s, op, false, count, list);
}
