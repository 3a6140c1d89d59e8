/* shallow.cu - gradients of many networks with one hidden layer and few features, in kernel launches for all of them.
 * One kernel, over_rows, computes outputs, and for each row and unit a bit: whether the unit is active. The other,
 * over_units, computes
 *     S_ka = sum_i u_i [unit k is active at row i] x_ia,  x_i,d = 1,
 * from which J'u follows: s w_k S_ka for W_1, beta s w_k S_kd for b_1, s (sum_a W_ka S_ka + beta b_k S_kd) for w = W_2.
 * Rows and units are held in registers or in shared memory; sums over more than 256 rows are double.
 */
#include "cuda/train.h"

#include <cmath>

enum { MOST_FEATURES = 32 };
enum { WORD = 32, ROW_THREADS = 128, ROWS_EACH = 2, ROW_BLOCK = ROW_THREADS * ROWS_EACH };
enum { UNIT_THREADS = 128, CHUNK = 64, SUMMED = 256, LEAST_TILE = 128, MOST_TILES = 64 };
enum { WANTED = 32 };                         /* thread blocks of one network, so that a few networks fill a GPU */
static const double WORK_BYTES = 2e9 / LANES; /* of activations and sums at a time; src/store/members.c counts on it */

bool is_shallow(const shape &s)
{
    return s.depth == 1 && s.d <= MOST_FEATURES;
}

template <class T> struct job_of {
    const double *at, *x, *y;
    const float *v;       /* NORMAL: the direction */
    uint32_t *mask;       /* words by n */
    double *part;         /* groups by n */
    T *u;                 /* n */
    double *square, *sum; /* of each block of rows: parts of sum e^2 and of sum u */
    double *sums;         /* tiles by d + 1 by width: S */
    double *to;
};

struct plan {
    int d, width, words, groups, per_group, tiles;
    ptrdiff_t p, n, rows_of_tile, row_blocks;
    double s, beta;
};

/* ---- over rows ---- */

template <class T, int D, bool ALONG>
__global__ static void __launch_bounds__(ROW_THREADS) over_rows(const job_of<T> *jobs, const plan q)
{
    __shared__ __align__(16) T w[WORD][D], c[ALONG ? WORD : 1][D];
    __shared__ T b[WORD], top[WORD];
    const job_of<T> job = jobs[blockIdx.z];
    const double *biases = job.at + (ptrdiff_t)q.width * q.d, *tops = biases + q.width;
    const int tid = (int)threadIdx.x;
    ptrdiff_t row[ROWS_EACH];
    T x[ROWS_EACH][D];
    double all[ROWS_EACH];
#pragma unroll
    for (int r = 0; r < ROWS_EACH; r++) {
        row[r] = (ptrdiff_t)blockIdx.x * ROW_BLOCK + r * ROW_THREADS + tid;
        all[r] = 0;
#pragma unroll
        for (int a = 0; a < D; a++) {
            x[r][a] = row[r] < q.n && a < q.d ? (T)job.x[row[r] * q.d + a] : (T)0;
        }
    }
    const int first = (int)blockIdx.y * q.per_group, last = min(q.width, first + q.per_group);
    for (int k0 = first; k0 < last; k0 += WORD) {
        __syncthreads();
        for (int e = tid; e < WORD * D; e += ROW_THREADS) {
            const int k = k0 + e / D, a = e % D;
            const bool real = k < q.width && a < q.d;
            const double weight = real ? job.at[(ptrdiff_t)k * q.d + a] : 0;
            w[e / D][a] = (T)(q.s * weight);
            if (ALONG) {
                c[ALONG ? e / D : 0][a] = real ? (T)(q.s * (tops[k] * (double)job.v[(ptrdiff_t)k * q.d + a] +
                                                            (double)job.v[(ptrdiff_t)q.width * (q.d + 1) + k] * weight))
                                               : (T)0;
            }
        }
        if (tid < WORD) {
            const int k = k0 + tid;
            const bool real = k < q.width;
            b[tid] = real ? (T)(q.s * q.beta * biases[k]) : (T)0;
            if (ALONG) {
                top[tid] = real ? (T)(q.s * q.beta *
                                      (tops[k] * (double)job.v[(ptrdiff_t)q.width * q.d + k] +
                                       (double)job.v[(ptrdiff_t)q.width * (q.d + 1) + k] * biases[k]))
                                : (T)0;
            } else {
                top[tid] = real ? (T)tops[k] : (T)0;
            }
        }
        __syncthreads();
        uint32_t word[ROWS_EACH] = {0};
        T part[ROWS_EACH] = {0};
#pragma unroll 4
        for (int k = 0; k < WORD; k++) {
            T f[ROWS_EACH], t[ROWS_EACH];
#pragma unroll
            for (int r = 0; r < ROWS_EACH; r++) {
                f[r] = b[k];
                t[r] = top[k];
            }
#pragma unroll
            for (int a = 0; a < D; a++) {
#pragma unroll
                for (int r = 0; r < ROWS_EACH; r++) {
                    f[r] += w[k][a] * x[r][a];
                    if (ALONG) t[r] += c[ALONG ? k : 0][a] * x[r][a];
                }
            }
#pragma unroll
            for (int r = 0; r < ROWS_EACH; r++) {
                const bool on = f[r] > 0;
                word[r] |= (uint32_t)on << k;
                part[r] += on ? (ALONG ? t[r] : f[r] * t[r]) : (T)0;
            }
        }
#pragma unroll
        for (int r = 0; r < ROWS_EACH; r++) {
            all[r] += (double)part[r];
            if (row[r] < q.n) job.mask[(ptrdiff_t)(k0 / WORD) * q.n + row[r]] = word[r];
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS_EACH; r++) {
        if (row[r] < q.n) job.part[blockIdx.y * q.n + row[r]] = all[r];
    }
}

/* u from the outputs, as op requires; partial sums of u and of the squared errors. */
template <class T> __global__ static void outputs(const job_of<T> *jobs, const plan q, int op)
{
    const job_of<T> job = jobs[blockIdx.y];
    const ptrdiff_t i = (ptrdiff_t)blockIdx.x * ROW_BLOCK + threadIdx.x;
    double error = 0, u = 0;
    if (i < q.n) {
        double h = 0;
        for (int k = 0; op != EPIQ_DEVICE_PULLS && k < q.groups; k++) {
            h += job.part[k * q.n + i];
        }
        if (op == EPIQ_DEVICE_LOSS) {
            error = h + q.beta * job.at[q.p - 1] - job.y[i];
            u = error * (2 / (double)q.n);
        } else if (op == EPIQ_DEVICE_NORMAL) {
            u = h + q.beta * (double)job.v[q.p - 1];
        } else if (op == EPIQ_DEVICE_PULLS) {
            u = job.y[i];
        } else {
            job.part[i] = h + q.beta * job.at[q.p - 1];
        }
        if (job.u) job.u[i] = (T)u;
    }
    if (job.u) block_sums<ROW_BLOCK>(error * error, u, job.square + blockIdx.x, job.sum + blockIdx.x);
}

/* ---- over units ---- */

template <class T, int D>
__global__ static void __launch_bounds__(UNIT_THREADS) over_units(const job_of<T> *jobs, const plan q)
{
    __shared__ __align__(16) T x[CHUNK][D];
    __shared__ T u[CHUNK];
    __shared__ uint32_t mask[UNIT_THREADS / WORD][CHUNK];
    const job_of<T> job = jobs[blockIdx.z];
    const int tid = (int)threadIdx.x, k = (int)blockIdx.x * UNIT_THREADS + tid, lane = tid % WORD;
    const ptrdiff_t from = (ptrdiff_t)blockIdx.y * q.rows_of_tile, end = min(q.n, from + q.rows_of_tile);
    double all[D + 1];
    T sum[D + 1];
#pragma unroll
    for (int a = 0; a <= D; a++) {
        all[a] = 0;
        sum[a] = 0;
    }
    for (ptrdiff_t i0 = from; i0 < end; i0 += CHUNK) {
        const int rows = (int)min((ptrdiff_t)CHUNK, end - i0);
        __syncthreads();
        for (int e = tid; e < CHUNK * D; e += UNIT_THREADS) {
            const int r = e / D, a = e % D;
            x[r][a] = r < rows && a < q.d ? (T)job.x[(i0 + r) * q.d + a] : (T)0;
        }
        for (int e = tid; e < UNIT_THREADS / WORD * CHUNK; e += UNIT_THREADS) {
            const int r = e % CHUNK, word = (int)blockIdx.x * (UNIT_THREADS / WORD) + e / CHUNK;
            mask[e / CHUNK][r] = r < rows && word < q.words ? job.mask[(ptrdiff_t)word * q.n + i0 + r] : 0;
        }
        if (tid < CHUNK) u[tid] = tid < rows ? job.u[i0 + tid] : (T)0;
        __syncthreads();
#pragma unroll 4
        for (int r = 0; r < CHUNK; r++) {
            const T own = mask[tid / WORD][r] >> lane & 1 ? u[r] : (T)0;
            sum[D] += own;
#pragma unroll
            for (int a = 0; a < D; a++) {
                sum[a] += own * x[r][a];
            }
        }
        if ((i0 - from) % SUMMED == SUMMED - CHUNK || i0 + CHUNK >= end) {
#pragma unroll
            for (int a = 0; a <= D; a++) {
                all[a] += (double)sum[a];
                sum[a] = 0;
            }
        }
    }
    if (k >= q.width) return;
    double *to = job.sums + (ptrdiff_t)blockIdx.y * (q.d + 1) * q.width + k;
#pragma unroll
    for (int a = 0; a < D; a++) {
        if (a < q.d) to[(ptrdiff_t)a * q.width] = all[a];
    }
    to[(ptrdiff_t)q.d * q.width] = all[D];
}

template <class T> __global__ static void finish(const job_of<T> *jobs, const plan q)
{
    const job_of<T> job = jobs[blockIdx.y];
    const int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const ptrdiff_t biases = (ptrdiff_t)q.width * q.d, tops = biases + q.width;
    if (k == 0) {
        double u = 0;
        for (ptrdiff_t b = 0; b < q.row_blocks; b++) {
            u += job.sum[b];
        }
        job.to[q.p - 1] = q.beta * u;
    }
    if (k >= q.width) return;
    const double top = q.s * job.at[tops + k];
    double out = 0;
    for (int a = 0; a <= q.d; a++) {
        double sum = 0;
        for (int t = 0; t < q.tiles; t++) {
            sum += job.sums[((ptrdiff_t)t * (q.d + 1) + a) * q.width + k];
        }
        const double by = a < q.d ? job.at[(ptrdiff_t)k * q.d + a] : q.beta * job.at[biases + k];
        out += by * sum;
        job.to[a < q.d ? (ptrdiff_t)k * q.d + a : biases + k] = top * sum * (a < q.d ? 1 : q.beta);
    }
    job.to[tops + k] = q.s * out;
}

/* ---- launches ---- */

template <class T, int D>
static void launch_rows(lane *g, const plan &q, bool along, ptrdiff_t count, const job_of<T> *jobs)
{
    const dim3 blocks((unsigned)q.row_blocks, (unsigned)q.groups, (unsigned)count);
    if (along) {
        over_rows<T, D, true><<<blocks, ROW_THREADS, 0, g->stream>>>(jobs, q);
    } else {
        over_rows<T, D, false><<<blocks, ROW_THREADS, 0, g->stream>>>(jobs, q);
    }
}

template <class T, int D> static void launch_units(lane *g, const plan &q, ptrdiff_t count, const job_of<T> *jobs)
{
    const dim3 blocks((unsigned)((q.width + UNIT_THREADS - 1) / UNIT_THREADS), (unsigned)q.tiles, (unsigned)count);
    over_units<T, D><<<blocks, UNIT_THREADS, 0, g->stream>>>(jobs, q);
}

#define BY_FEATURES(f, ...)                                                                                            \
    do {                                                                                                               \
        if (q.d <= 4)                                                                                                  \
            f<T, 4>(__VA_ARGS__);                                                                                      \
        else if (q.d <= 8)                                                                                             \
            f<T, 8>(__VA_ARGS__);                                                                                      \
        else if (q.d <= 12)                                                                                            \
            f<T, 12>(__VA_ARGS__);                                                                                     \
        else if (q.d <= 16)                                                                                            \
            f<T, 16>(__VA_ARGS__);                                                                                     \
        else                                                                                                           \
            f<T, 32>(__VA_ARGS__);                                                                                     \
    } while (0)

static plan plan_of(const shape &s)
{
    plan q{};
    q.d = (int)s.d;
    q.width = (int)s.width;
    q.words = (q.width + WORD - 1) / WORD;
    q.p = s.p;
    q.n = s.n;
    q.s = sqrt(2.0 / (double)s.width);
    q.beta = s.beta;
    q.row_blocks = (s.n + ROW_BLOCK - 1) / ROW_BLOCK;
    const ptrdiff_t wanted = q.row_blocks >= WANTED ? 1 : WANTED / q.row_blocks, groups = least(wanted, q.words);
    q.per_group = (int)((q.words + groups - 1) / groups) * WORD;
    q.groups = (q.width + q.per_group - 1) / q.per_group;
    const ptrdiff_t share = (s.n + MOST_TILES - 1) / MOST_TILES, tile = (share + CHUNK - 1) / CHUNK * CHUNK;
    q.rows_of_tile = tile > LEAST_TILE ? tile : (ptrdiff_t)LEAST_TILE;
    q.tiles = (int)((s.n + q.rows_of_tile - 1) / q.rows_of_tile);
    return q;
}

/* Takes the memory of one network's step from c, and writes one job for each vector u to `jobs`. */
template <class T>
static void lay_out(const plan &q, int op, const gradient &one, carve *c, job_of<T> *jobs, loss_job *loss)
{
    const ptrdiff_t vectors = op == EPIQ_DEVICE_PULLS ? one.step->count : 1;
    const bool back = op != EPIQ_DEVICE_FORWARD;
    uint32_t *mask = c->take<uint32_t>((ptrdiff_t)q.words * q.n);
    double *part = c->take<double>((ptrdiff_t)q.groups * q.n);
    for (ptrdiff_t j = 0; j < vectors; j++) {
        job_of<T> job{};
        job.at = one.step->at;
        job.x = one.step->x;
        job.y = one.step->y ? one.step->y + j * q.n : NULL;
        job.v = op == EPIQ_DEVICE_NORMAL ? (const float *)one.step->terms[0].at : NULL;
        job.mask = mask;
        job.part = part;
        job.u = back ? c->take<T>(q.n) : NULL;
        job.square = back ? c->take<double>(q.row_blocks) : NULL;
        job.sum = back ? c->take<double>(q.row_blocks) : NULL;
        job.sums = back ? c->take<double>((ptrdiff_t)q.tiles * (q.d + 1) * q.width) : NULL;
        job.to = back ? (double *)one.step->to + j * q.p : NULL;
        jobs[j] = job;
    }
    loss_job own{};
    own.p = q.p;
    if (op == EPIQ_DEVICE_LOSS) {
        own.to = (double *)one.step->to;
        own.at = one.step->at;
        own.start = one.step->start;
        own.lambda = one.step->lambda;
        own.part = c->take<double>(pull_parts_of(q.p));
        own.out = one.out;
        own.squares = jobs[0].square;
        own.square_parts = q.row_blocks;
    }
    *loss = own;
}

template <class T> static int gradients(lane *g, const plan &q, int op, ptrdiff_t count, const gradient *list)
{
    const ptrdiff_t vectors = op == EPIQ_DEVICE_PULLS ? list[0].step->count : 1;
    if (vectors < 1 || q.n < 1) return EPIQ_OK;
    std::vector<job_of<T>> jobs((size_t)(count * vectors));
    std::vector<loss_job> losses((size_t)count);
    carve one{NULL, 0};
    lay_out<T>(q, op, list[0], &one, jobs.data(), losses.data()); /* to compute its size */
    const size_t heads = (size_t)(count * vectors) * sizeof(job_of<T>) + (size_t)count * sizeof(loss_job) + 1024;
    const ptrdiff_t fit = (ptrdiff_t)(WORK_BYTES / (double)one.used), at_once = least(count, fit > 1 ? fit : 1);
    int status = grow(g, &g->work, heads + (size_t)at_once * one.used, false);
    for (ptrdiff_t k = 0; !status && k < count; k += at_once) {
        const ptrdiff_t some = least(at_once, count - k);
        carve c{(char *)g->work.at, 0};
        job_of<T> *jobs_there = c.take<job_of<T>>(count * vectors);
        loss_job *losses_there = c.take<loss_job>(count);
        for (ptrdiff_t j = 0; j < some; j++) {
            lay_out<T>(q, op, list[k + j], &c, &jobs[(size_t)(j * vectors)], &losses[(size_t)j]);
        }
        /* over_rows runs once for all vectors u, with the first job of each network */
        std::vector<job_of<T>> firsts;
        for (ptrdiff_t j = 0; vectors > 1 && j < some; j++) {
            firsts.push_back(jobs[(size_t)(j * vectors)]);
        }
        const size_t bytes = (size_t)(some * vectors) * sizeof(job_of<T>);
        if (vectors > 1) {
            if ((status = copy_in(g->stream, jobs_there, firsts.data(), firsts.size() * sizeof(job_of<T>))))
                return status;
            BY_FEATURES(launch_rows, g, q, false, some, jobs_there);
            if ((status = copy_in(g->stream, jobs_there, jobs.data(), bytes))) return status;
        } else {
            if ((status = copy_in(g->stream, jobs_there, jobs.data(), bytes))) return status;
            BY_FEATURES(launch_rows, g, q, op == EPIQ_DEVICE_NORMAL, some, jobs_there);
        }
        outputs<T>
            <<<dim3((unsigned)q.row_blocks, (unsigned)(some * vectors)), ROW_BLOCK, 0, g->stream>>>(jobs_there, q, op);
        CUDA(cudaGetLastError());
        if (op == EPIQ_DEVICE_FORWARD) {
            for (ptrdiff_t j = 0; !status && j < some; j++) {
                status = copy_out(g->stream, list[k + j].step->own, jobs[(size_t)j].part, (size_t)q.n * sizeof(double));
            }
            continue;
        }
        BY_FEATURES(launch_units, g, q, some * vectors, jobs_there);
        finish<T>
            <<<dim3((unsigned)((q.width + 127) / 128), (unsigned)(some * vectors)), 128, 0, g->stream>>>(jobs_there, q);
        CUDA(cudaGetLastError());
        if (op == EPIQ_DEVICE_LOSS) {
            status = copy_in(g->stream, losses_there, losses.data(), (size_t)some * sizeof(loss_job));
            if (!status) status = pull(g, some, q.p, losses_there);
        }
    }
    return status;
}

int shallow_gradients(lane *g, const shape &s, int op, int single, ptrdiff_t count, const gradient *list)
{
    const plan q = plan_of(s);
    return single && op != EPIQ_DEVICE_FORWARD ? gradients<float>(g, q, op, count, list)
                                               : gradients<double>(g, q, op, count, list);
}
