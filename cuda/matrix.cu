/* matrix.cu - a symmetric matrix on the device, its Cholesky factor by cuSOLVER, solves, and its inverse in place of the
 * factor by products of blocks: cuSOLVER's own inverse stops at 46,000 rows, where n^2 exceeds 32 bits.
 */
#include "cuda/device.h"

enum { THREADS = 256 };

/* ---- memory and copies ---- */

int matrix_new(void *user, ptrdiff_t n, epiq_device_matrix **out)
{
    std::lock_guard<std::mutex> lock(of(user)->busy);
    double *a = NULL;
    *out = NULL;
    int status = start_libraries(of(user));
    if (status) return status;
    const size_t bytes = (size_t)n * (size_t)n * sizeof *a;
    CUDA(cudaMalloc(&a, bytes));
    /* cuSOLVER and copies of whole blocks read what lies above the diagonal too; nothing depends on it */
    const cudaError_t error = cudaMemsetAsync(a, 0, bytes, of(user)->stream);
    if (error != cudaSuccess) {
        cudaFree(a);
        return failed_cuda(error, "cudaMemsetAsync");
    }
    *out = new epiq_device_matrix{n, a, false};
    return EPIQ_OK;
}

void matrix_free(void *user, epiq_device_matrix *m)
{
    std::lock_guard<std::mutex> lock(of(user)->busy);
    if (m) cudaFree(m->a);
    delete m;
}

int matrix_put(void *user, epiq_device_matrix *m, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols,
               const double *a, ptrdiff_t ld)
{
    device *g = of(user);
    std::lock_guard<std::mutex> lock(g->busy);
    m->whole = false;
    CUDA(cudaMemcpy2DAsync(m->a + i0 + j0 * m->n, (size_t)m->n * sizeof *a, a, (size_t)ld * sizeof *a,
                           (size_t)rows * sizeof *a, (size_t)cols, cudaMemcpyHostToDevice, g->stream));
    return wait(g->stream);
}

int matrix_get(void *user, const epiq_device_matrix *m, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols,
               double *a, ptrdiff_t ld)
{
    device *g = of(user);
    std::lock_guard<std::mutex> lock(g->busy);
    CUDA(cudaMemcpy2DAsync(a, (size_t)ld * sizeof *a, m->a + i0 + j0 * m->n, (size_t)m->n * sizeof *a,
                           (size_t)rows * sizeof *a, (size_t)cols, cudaMemcpyDeviceToHost, g->stream));
    return wait(g->stream);
}

__global__ static void add_diagonal(ptrdiff_t n, double *a, double add, double *out)
{
    ptrdiff_t i = (ptrdiff_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) out[i] = a[i + i * n] += add;
}

int matrix_diagonal(void *user, epiq_device_matrix *m, double add, double *out)
{
    device *g = of(user);
    std::lock_guard<std::mutex> lock(g->busy);
    room<double> copy;
    int status = copy.take(m->n);
    if (status) return status;
    add_diagonal<<<(unsigned)((m->n + THREADS - 1) / THREADS), THREADS, 0, g->stream>>>(m->n, m->a, add, copy.at);
    CUDA(cudaGetLastError());
    if ((status = copy_out(g->stream, out, copy.at, (size_t)m->n * sizeof *out))) return status;
    return wait(g->stream);
}

__global__ static void gather(ptrdiff_t n, const double *a, ptrdiff_t rows, const ptrdiff_t *row, ptrdiff_t cols,
                              const ptrdiff_t *col, double *out)
{
    ptrdiff_t k = (ptrdiff_t)blockIdx.x * THREADS + threadIdx.x;
    if (k >= rows * cols) return;
    ptrdiff_t i = row[k % rows], j = col[k / rows];
    out[k] = i >= j ? a[i + j * n] : a[j + i * n];
}

int matrix_part(void *user, const epiq_device_matrix *m, ptrdiff_t rows, const ptrdiff_t *row, ptrdiff_t cols,
                const ptrdiff_t *col, double *out)
{
    device *g = of(user);
    std::lock_guard<std::mutex> lock(g->busy);
    room<ptrdiff_t> row_there, col_there;
    room<double> part;
    int status;
    if (rows * cols < 1) return EPIQ_OK;
    if ((status = row_there.take(rows)) || (status = col_there.take(cols)) || (status = part.take(rows * cols)) ||
        (status = copy_in(g->stream, row_there.at, row, (size_t)rows * sizeof *row)) ||
        (status = copy_in(g->stream, col_there.at, col, (size_t)cols * sizeof *col))) {
        return status;
    }
    gather<<<(unsigned)((rows * cols + THREADS - 1) / THREADS), THREADS, 0, g->stream>>>(m->n, m->a, rows, row_there.at,
                                                                                         cols, col_there.at, part.at);
    CUDA(cudaGetLastError());
    if ((status = copy_out(g->stream, out, part.at, (size_t)(rows * cols) * sizeof *out))) return status;
    return wait(g->stream);
}

/* ---- factor and solves ---- */

int matrix_factor(void *user, epiq_device_matrix *m, ptrdiff_t *pivot)
{
    device *g = of(user);
    std::lock_guard<std::mutex> lock(g->busy);
    size_t there = 0, here = 0;
    m->whole = false;
    SOLVER(cusolverDnXpotrf_bufferSize(g->solver, g->params, CUBLAS_FILL_MODE_LOWER, m->n, CUDA_R_64F, m->a, m->n,
                                       CUDA_R_64F, &there, &here));
    room<char> work;
    room<int> info;
    char *own = new char[here ? here : 1];
    int status = work.take((ptrdiff_t)there), found = 0;
    if (!status) status = info.take(1);
    if (!status) {
        cusolverStatus_t error = cusolverDnXpotrf(g->solver, g->params, CUBLAS_FILL_MODE_LOWER, m->n, CUDA_R_64F, m->a,
                                                  m->n, CUDA_R_64F, work.at, there, own, here, info.at);
        if (error != CUSOLVER_STATUS_SUCCESS) status = failed_solver(error, "cusolverDnXpotrf(");
    }
    if (!status) status = copy_out(g->stream, &found, info.at, sizeof found);
    if (!status) status = wait(g->stream);
    delete[] own;
    if (!status && found < 0) status = fail(EPIQ_E_NUMERIC, "cusolverDnXpotrf: argument %d is wrong", -found);
    *pivot = found;
    return status;
}

int matrix_solve(void *user, const epiq_device_matrix *m, ptrdiff_t cols, double *b)
{
    enum { AT_ONCE = 1024 }; /* columns: src/solve/gmat.c counts on their memory */
    device *g = of(user);
    std::lock_guard<std::mutex> lock(g->busy);
    if (cols < 1) return EPIQ_OK;
    room<double> there;
    room<int> info;
    int status;
    if ((status = there.take(m->n * least(AT_ONCE, cols))) || (status = info.take(1))) return status;
    for (ptrdiff_t j = 0; j < cols; j += AT_ONCE) {
        const ptrdiff_t some = least(AT_ONCE, cols - j);
        const size_t bytes = (size_t)(m->n * some) * sizeof *b;
        if ((status = copy_in(g->stream, there.at, b + j * m->n, bytes))) return status;
        SOLVER(cusolverDnXpotrs(g->solver, g->params, CUBLAS_FILL_MODE_LOWER, m->n, some, CUDA_R_64F, m->a, m->n,
                                CUDA_R_64F, there.at, m->n, info.at));
        if ((status = copy_out(g->stream, b + j * m->n, there.at, bytes)) || (status = wait(g->stream))) return status;
    }
    return EPIQ_OK;
}

/* ---- the inverse ---- */

enum {
    SMALL = 64,   /* diagonal blocks that one thread block inverts, in shared memory */
    STEP = 8192,  /* rows of a triangle in one call of trsm; larger ones are split, with gemm between */
    HEIGHT = 1024 /* rows of L^-T L^-1 that are made at a time: src/solve/gmat.c counts on their memory */
};

/* Inverts the lower triangles on the diagonal in place, column by column: thread j makes column j. */
__global__ static void invert_small(ptrdiff_t n, double *a)
{
    __shared__ double l[SMALL][SMALL + 1];
    const ptrdiff_t from = (ptrdiff_t)blockIdx.x * SMALL;
    const int size = (int)(n - from < SMALL ? n - from : SMALL), j = (int)threadIdx.x;
    double *block = a + from + from * n;
    for (int c = 0; c < size; c++) {
        if (j < size) l[j][c] = block[j + c * n];
    }
    __syncthreads();
    if (j >= size) return;
    double x[SMALL];
#pragma unroll
    for (int i = 0; i < SMALL; i++) {
        double sum = i == j ? 1 : 0;
#pragma unroll
        for (int k = 0; k < i; k++) {
            sum -= k >= j ? l[i][k] * x[k] : 0;
        }
        x[i] = i >= j && i < size ? sum / l[i][i] : 0;
    }
#pragma unroll
    for (int i = 0; i < SMALL; i++) {
        if (i < size) block[i + j * n] = x[i]; /* zeros above the diagonal */
    }
}

/* Above the diagonal of the square blocks of HEIGHT rows on the diagonal: zeros. */
__global__ static void clear_above(ptrdiff_t n, double *a)
{
    ptrdiff_t i = (ptrdiff_t)blockIdx.x * THREADS + threadIdx.x, j = i / HEIGHT * HEIGHT + blockIdx.y;
    if (i < n && j < n && j > i) a[i + j * n] = 0;
}

/* The upper triangle from the lower one, in tiles. */
enum { TILE = 32, TILE_ROWS = 8 };
__global__ static void mirror(ptrdiff_t n, double *a)
{
    __shared__ double tile[TILE][TILE + 1];
    const ptrdiff_t top = (ptrdiff_t)blockIdx.x * TILE, left = (ptrdiff_t)blockIdx.y * TILE;
    if (left > top) return;
    for (int c = (int)threadIdx.y; c < TILE; c += TILE_ROWS) {
        ptrdiff_t i = top + threadIdx.x, j = left + c;
        if (i < n && j < n) tile[c][threadIdx.x] = a[i + j * n];
    }
    __syncthreads();
    for (int c = (int)threadIdx.y; c < TILE; c += TILE_ROWS) {
        ptrdiff_t i = left + threadIdx.x, j = top + c; /* the mirrored place */
        if (i < n && j < n && i < j) a[i + j * n] = tile[threadIdx.x][c];
    }
}

static int make_whole(device *g, epiq_device_matrix *m)
{
    if (m->whole) return EPIQ_OK;
    const unsigned tiles = (unsigned)((m->n + TILE - 1) / TILE);
    mirror<<<dim3(tiles, tiles), dim3(TILE, TILE_ROWS), 0, g->stream>>>(m->n, m->a);
    CUDA(cudaGetLastError());
    m->whole = true;
    return EPIQ_OK;
}

/* b (rows by cols) = -l^-1 b, l rows by rows and lower triangular; the leading dimension of all is ld. */
static int solve_left(device *g, ptrdiff_t rows, ptrdiff_t cols, const double *l, double *b, ptrdiff_t ld)
{
    const double one = 1, minus = -1;
    for (ptrdiff_t i = 0; i < rows; i += STEP) {
        const ptrdiff_t some = least(STEP, rows - i);
        /* the rows above have the sign of the result already */
        if (i > 0) {
            BLAS(cublasDgemm_64(g->blas, CUBLAS_OP_N, CUBLAS_OP_N, some, cols, i, &minus, l + i, ld, b, ld, &minus,
                                b + i, ld));
        }
        BLAS(cublasDtrsm_64(g->blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, some,
                            cols, i > 0 ? &one : &minus, l + i + i * ld, ld, b + i, ld));
    }
    return EPIQ_OK;
}

/* b (rows by cols) = b l^-1, l cols by cols. */
static int solve_right(device *g, ptrdiff_t rows, ptrdiff_t cols, const double *l, double *b, ptrdiff_t ld)
{
    const double one = 1, minus = -1;
    for (ptrdiff_t j = (cols - 1) / STEP * STEP; j >= 0; j -= STEP) {
        const ptrdiff_t some = least(STEP, cols - j), right = j + some;
        if (right < cols) {
            BLAS(cublasDgemm_64(g->blas, CUBLAS_OP_N, CUBLAS_OP_N, rows, some, cols - right, &minus, b + right * ld, ld,
                                l + right + j * ld, ld, &one, b + j * ld, ld));
        }
        BLAS(cublasDtrsm_64(g->blas, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, rows,
                            some, &one, l + j + j * ld, ld, b + j * ld, ld));
    }
    return EPIQ_OK;
}

/* Of [A 0; B C], of `size` rows, B becomes -C^-1 B A^-1; then the same in A and in C, down to blocks of SMALL rows, which
 * are left as they are. */
static int invert_below(device *g, ptrdiff_t size, double *a, ptrdiff_t ld)
{
    if (size <= SMALL) return EPIQ_OK;
    const ptrdiff_t blocks = (size + SMALL - 1) / SMALL, upper = (blocks + 1) / 2 * SMALL, rest = size - upper;
    double *b = a + upper, *c = b + upper * ld;
    int status;
    if ((status = solve_left(g, rest, upper, c, b, ld)) || (status = solve_right(g, rest, upper, a, b, ld)) ||
        (status = invert_below(g, upper, a, ld))) {
        return status;
    }
    return invert_below(g, rest, c, ld);
}

/* Overwrites W, lower triangular, with W'W: rows i.. are W_ii' W_i. plus the contribution of the rows of W below them.
 * Later rows do not depend on rows i.. of W. The diagonal blocks become full squares. */
static int square(device *g, ptrdiff_t n, double *a)
{
    const double one = 1, zero = 0;
    room<double> strip;
    int status = strip.take(HEIGHT * n);
    for (ptrdiff_t i = 0; !status && i < n; i += HEIGHT) {
        const ptrdiff_t rows = least(HEIGHT, n - i), cols = i + rows, below = n - cols;
        BLAS(cublasDgemm_64(g->blas, CUBLAS_OP_T, CUBLAS_OP_N, rows, cols, rows, &one, a + i + i * n, n, a + i, n,
                            &zero, strip.at, rows));
        if (below > 0) {
            BLAS(cublasDgemm_64(g->blas, CUBLAS_OP_T, CUBLAS_OP_N, rows, cols, below, &one, a + cols + i * n, n,
                                a + cols, n, &one, strip.at, rows));
        }
        CUDA(cudaMemcpy2DAsync(a + i, (size_t)n * sizeof *a, strip.at, (size_t)rows * sizeof *a,
                               (size_t)rows * sizeof *a, (size_t)cols, cudaMemcpyDeviceToDevice, g->stream));
        status = wait(g->stream);
    }
    return status;
}

int matrix_invert(void *user, epiq_device_matrix *m)
{
    device *g = of(user);
    std::lock_guard<std::mutex> lock(g->busy);
    const ptrdiff_t n = m->n;
    int status = invert_below(g, n, m->a, n);
    if (status) return status;
    invert_small<<<(unsigned)((n + SMALL - 1) / SMALL), SMALL, 0, g->stream>>>(n, m->a);
    CUDA(cudaGetLastError());
    clear_above<<<dim3((unsigned)((n + THREADS - 1) / THREADS), HEIGHT), THREADS, 0, g->stream>>>(n, m->a);
    CUDA(cudaGetLastError());
    m->whole = false;
    if ((status = square(g, n, m->a)) || (status = make_whole(g, m))) return status;
    return wait(g->stream);
}

/* ---- products ---- */

/* out_j = sum_i a_ij^2 s_i, one block for each column; the order of the sum is fixed. */
__global__ static void squares_times(ptrdiff_t n, const double *a, const double *s, double *out)
{
    __shared__ double part[THREADS];
    const double *column = a + (ptrdiff_t)blockIdx.x * n;
    double sum = 0;
    for (ptrdiff_t i = threadIdx.x; i < n; i += THREADS) {
        sum += column[i] * column[i] * s[i];
    }
    part[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

int matrix_times(void *user, const epiq_device_matrix *m, int squared, ptrdiff_t cols, const double *s, double *out)
{
    enum { AT_ONCE = 1024 };
    device *g = of(user);
    std::lock_guard<std::mutex> lock(g->busy);
    const ptrdiff_t n = m->n, most = least(cols, AT_ONCE);
    const double one = 1, zero = 0;
    room<double> in, product;
    int status;
    if (cols < 1) return EPIQ_OK;
    if ((status = in.take(n * most)) || (status = product.take(n * most)) ||
        (status = make_whole(g, const_cast<epiq_device_matrix *>(m)))) {
        return status;
    }
    for (ptrdiff_t j = 0; j < cols; j += most) {
        const ptrdiff_t some = least(most, cols - j);
        const size_t bytes = (size_t)(n * some) * sizeof *s;
        if ((status = copy_in(g->stream, in.at, s + j * n, bytes))) return status;
        for (ptrdiff_t c = 0; squared && c < some; c++) {
            squares_times<<<(unsigned)n, THREADS, 0, g->stream>>>(n, m->a, in.at + c * n, product.at + c * n);
            CUDA(cudaGetLastError());
        }
        if (!squared) {
            BLAS(cublasDgemm_64(g->blas, CUBLAS_OP_N, CUBLAS_OP_N, n, some, n, &one, m->a, n, in.at, n, &zero,
                                product.at, n));
        }
        if ((status = copy_out(g->stream, out + j * n, product.at, bytes)) || (status = wait(g->stream))) return status;
    }
    return EPIQ_OK;
}
