/* population.cu - the closed-form kernels K and Q of many pairs of rows at once (pair.h has one pair), in tiles of 16 by
 * 16 pairs whose features are staged in shared memory; and from Q the procedural variance of infinitely wide networks.
 */
#include "cuda/device.h"
#include "cuda/pair.h"

enum { SIDE = 16, FEATURES = 32 }; /* of a tile; features in shared memory at a time */

/* |x|^2 of each row; one thread sums a row, so that equal rows have equal norms. */
__global__ static void norms(ptrdiff_t n, ptrdiff_t d, const double *x, double *out)
{
    ptrdiff_t i = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = 0;
    for (ptrdiff_t f = 0; f < d; f++) {
        sum += x[i * d + f] * x[i * d + f];
    }
    out[i] = sum;
}

/* Rows a (rows of them, with norms a2) by rows b: K or Q, column-major with the leading dimension ld. lower: b are the
 * same rows, and tiles above the diagonal are left out. */
__global__ static void pairs(pair_arch arch, ptrdiff_t d, const double *a, const double *a2, ptrdiff_t rows,
                             const double *b, const double *b2, ptrdiff_t cols, bool nngp, bool lower, double *out,
                             ptrdiff_t ld)
{
    __shared__ double xs[SIDE][FEATURES + 1], ys[SIDE][FEATURES + 1];
    const ptrdiff_t top = (ptrdiff_t)blockIdx.x * SIDE, left = (ptrdiff_t)blockIdx.y * SIDE;
    if (lower && left > top) return;
    const ptrdiff_t i = top + threadIdx.x, j = left + threadIdx.y;
    double dot = 0;
    for (ptrdiff_t f = 0; f < d; f += FEATURES) {
        for (int k = (int)(threadIdx.y * SIDE + threadIdx.x); k < SIDE * FEATURES; k += SIDE * SIDE) {
            int r = k / FEATURES, c = k % FEATURES;
            xs[r][c] = top + r < rows && f + c < d ? a[(top + r) * d + f + c] : 0;
            ys[r][c] = left + r < cols && f + c < d ? b[(left + r) * d + f + c] : 0;
        }
        __syncthreads();
#pragma unroll
        for (int c = 0; c < FEATURES; c++) {
            dot += xs[threadIdx.x][c] * ys[threadIdx.y][c];
        }
        __syncthreads();
    }
    if (i >= rows || j >= cols) return;
    const double *x = a + i * d, *y = b + j * d;
    double k, q;
    pair_kernels(&arch, d, x, y, a2[i], b2[j], x == y ? a2[i] : dot, x == y, &k, &q);
    out[i + j * ld] = nngp ? q : k;
}

/* Q of each point with itself */
__global__ static void variances_at(pair_arch arch, ptrdiff_t d, const double *x, const double *x2, ptrdiff_t n,
                                    double *out)
{
    ptrdiff_t i = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x;
    double k;
    if (i < n) pair_kernels(&arch, d, x + i * d, x + i * d, x2[i], x2[i], x2[i], true, &k, out + i);
}

enum { THREADS = 256 };

/* out_p += sum_i c_ip b_ip over `rows` rows, one block for each column p; the order of the sum is fixed. */
__global__ static void add_products(ptrdiff_t rows, const double *c, ptrdiff_t ldc, const double *b, ptrdiff_t ldb,
                                    double *out)
{
    __shared__ double part[THREADS];
    const ptrdiff_t p = blockIdx.x;
    double sum = 0;
    for (ptrdiff_t i = threadIdx.x; i < rows; i += THREADS) {
        sum += c[i + p * ldc] * b[i + p * ldb];
    }
    part[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) out[p] += part[0];
}

/* Rows on the device, with their norms. */
struct rows_there {
    ptrdiff_t n = 0, d = 0;
    room<double> x, norm2;
    int take(device *g, ptrdiff_t count, ptrdiff_t features, const double *from)
    {
        n = count;
        d = features;
        int status;
        if ((status = x.take(n * d)) || (status = norm2.take(n)) ||
            (status = copy_in(g->stream, x.at, from, (size_t)(n * d) * sizeof *from))) {
            return status;
        }
        norms<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, g->stream>>>(n, d, x.at, norm2.at);
        CUDA(cudaGetLastError());
        return EPIQ_OK;
    }
};

/* Rows i.. of a by rows j.. of b. */
static int pairs_of(device *g, const pair_arch *arch, const rows_there *a, ptrdiff_t i, ptrdiff_t rows,
                    const rows_there *b, ptrdiff_t j, ptrdiff_t cols, bool nngp, bool lower, double *out, ptrdiff_t ld)
{
    dim3 grid((unsigned)((rows + SIDE - 1) / SIDE), (unsigned)((cols + SIDE - 1) / SIDE));
    pairs<<<grid, dim3(SIDE, SIDE), 0, g->stream>>>(*arch, a->d, a->x.at + i * a->d, a->norm2.at + i, rows,
                                                    b->x.at + j * b->d, b->norm2.at + j, cols, nngp, lower, out, ld);
    CUDA(cudaGetLastError());
    return EPIQ_OK;
}

static pair_arch arch_of(const epiq_device_kernel *k)
{
    return pair_arch{k->depth, k->beta * k->beta, k->v};
}

int matrix_fill(void *user, epiq_device_matrix *m, const epiq_device_kernel *k, int nngp)
{
    device *g = of(user);
    std::lock_guard<std::mutex> lock(g->busy);
    const pair_arch arch = arch_of(k);
    rows_there rows;
    m->whole = false;
    int status = rows.take(g, k->n, k->d, k->x);
    if (status || (status = pairs_of(g, &arch, &rows, 0, k->n, &rows, 0, k->n, nngp, true, m->a, m->n))) return status;
    return wait(g->stream);
}

/* With Q computed a strip of rows at a time, tau^2 = Q00 + c'(Q c - 2 Q0). */
int kernel_variance(void *user, const epiq_device_kernel *k, ptrdiff_t points, const double *at, const double *c,
                    double *tau2)
{
    enum { TALL = 1024, FEWEST = 32, MOST = 2048 }; /* rows of a strip; points at a time */
    device *g = of(user);
    std::lock_guard<std::mutex> lock(g->busy);
    const pair_arch arch = arch_of(k);
    const ptrdiff_t n = k->n, room_for = (ptrdiff_t)1 << 27; /* numbers of c at a time: 1 GB */
    ptrdiff_t wide = least(MOST, room_for / n);
    if (wide < FEWEST) wide = FEWEST;
    wide = least(points, wide);
    rows_there rows, there;
    room<double> strip, product, c_there, out;
    int status;
    if ((status = start_libraries(g)) || (status = rows.take(g, n, k->d, k->x)) ||
        (status = there.take(g, points, k->d, at)) || (status = strip.take(TALL * n)) ||
        (status = product.take(TALL * wide)) || (status = c_there.take(n * wide)) || (status = out.take(points))) {
        return status;
    }
    variances_at<<<(unsigned)((points + THREADS - 1) / THREADS), THREADS, 0, g->stream>>>(
        arch, k->d, there.x.at, there.norm2.at, points, out.at);
    CUDA(cudaGetLastError());
    for (ptrdiff_t p = 0; p < points; p += wide) {
        const ptrdiff_t some = least(wide, points - p);
        if ((status = copy_in(g->stream, c_there.at, c + p * n, (size_t)(n * some) * sizeof *c))) return status;
        for (ptrdiff_t i = 0; i < n; i += TALL) {
            const ptrdiff_t tall = least(TALL, n - i);
            const double one = 1, twice = -2;
            if ((status = pairs_of(g, &arch, &rows, i, tall, &rows, 0, n, true, false, strip.at, tall)) ||
                (status = pairs_of(g, &arch, &rows, i, tall, &there, p, some, true, false, product.at, tall))) {
                return status;
            }
            BLAS(cublasDgemm_64(g->blas, CUBLAS_OP_N, CUBLAS_OP_N, tall, some, n, &one, strip.at, tall, c_there.at, n,
                                &twice, product.at, tall));
            add_products<<<(unsigned)some, THREADS, 0, g->stream>>>(tall, c_there.at + i, n, product.at, tall,
                                                                    out.at + p);
            CUDA(cudaGetLastError());
        }
        if ((status = wait(g->stream))) return status; /* c may be overwritten */
    }
    if ((status = copy_out(g->stream, tau2, out.at, (size_t)points * sizeof *tau2))) return status;
    return wait(g->stream);
}
