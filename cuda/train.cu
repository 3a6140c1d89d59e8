/* train.cu - runs the programs of networks in training (epiq_device.h). The steps of all programs are grouped into
 * batches of one kind, as large as possible, sent to the device in one copy, and launched. Long vectors are double;
 * every sum has one fixed order, which depends on the sizes of one network and not on the number of networks. Gradients
 * are in shallow.cu, for one hidden layer and few features, and in deep.cu.
 */
#include "cuda/train.h"

#include <cstring>

static ptrdiff_t params(const epiq_device_program *n)
{
    return params_of(n->d, n->width, n->depth);
}

/* ---- memory ---- */

int memory_new(void *user, double bytes, void **out)
{
    device *d = of(user);
    *out = NULL;
    CUDA(cudaMalloc(out, (size_t)bytes + 256));
    std::lock_guard<std::mutex> lock(d->counting);
    d->memories++;
    return EPIQ_OK;
}

void memory_free(void *user, void *memory)
{
    device *d = of(user);
    if (!memory) return;
    cudaFree(memory);
    std::lock_guard<std::mutex> lock(d->counting);
    if (--d->memories > 0) return;
    for (lane &l : d->lanes) { /* the last of a training: free the lanes' buffers too */
        std::lock_guard<std::mutex> other(l.busy);
        cudaFree(l.scratch.at);
        cudaFree(l.sent.at);
        cudaFree(l.work.at);
        cudaFreeHost(l.staged.at);
        l.scratch = l.sent = l.work = l.staged = {};
    }
}

int grow(lane *g, buffer *b, size_t bytes, bool here)
{
    if (bytes <= b->bytes) return EPIQ_OK;
    const size_t more = bytes > 2 * b->bytes ? bytes : 2 * b->bytes;
    CUDA(cudaStreamSynchronize(g->stream));
    if (here) {
        cudaFreeHost(b->at);
    } else {
        cudaFree(b->at);
    }
    *b = {};
    if (here) {
        CUDA(cudaMallocHost(&b->at, more));
    } else {
        CUDA(cudaMalloc(&b->at, more));
    }
    b->bytes = more;
    return EPIQ_OK;
}

/* ---- vectors ---- */

enum { THREADS = 256, EACH = 8, SPAN = THREADS * EACH }; /* numbers of one thread and of one block in a sum */

__device__ static double term_at(const epiq_device_term &t, ptrdiff_t k)
{
    return t.single ? (double)((const float *)t.at)[k] : ((const double *)t.at)[k];
}

__global__ static void combine(const vector_job *jobs)
{
    const vector_job job = jobs[blockIdx.y];
    const ptrdiff_t k = (ptrdiff_t)blockIdx.x * THREADS + threadIdx.x;
    if (k >= job.p) return;
    double sum = 0;
    for (int j = 0; j < job.count; j++) {
        sum += job.terms[j].by * term_at(job.terms[j], k);
    }
    if (job.single) {
        ((float *)job.to)[k] = (float)sum;
    } else {
        ((double *)job.to)[k] = sum;
    }
}

/* The sum over a block of THREADS, in thread 0. */
__device__ static double block_sum(double v)
{
    __shared__ double part[THREADS / 32];
    for (int half = 16; half > 0; half /= 2) {
        v += __shfl_down_sync(0xffffffffu, v, half);
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    double sum = 0;
    if (threadIdx.x == 0) {
        for (int k = 0; k < THREADS / 32; k++) {
            sum += part[k];
        }
    }
    return sum;
}

/* part[job][term][block] */
__global__ static void product_parts(const vector_job *jobs)
{
    const vector_job job = jobs[blockIdx.y];
    const ptrdiff_t from = (ptrdiff_t)blockIdx.x * SPAN + threadIdx.x, blocks = (job.p + SPAN - 1) / SPAN;
    if ((ptrdiff_t)blockIdx.x >= blocks) return;
    double v[EACH];
    for (int e = 0; e < EACH; e++) {
        const ptrdiff_t k = from + e * THREADS;
        v[e] = k < job.p ? job.at[k] : 0;
    }
    for (int j = 0; j < job.count; j++) {
        double sum = 0;
        for (int e = 0; e < EACH; e++) {
            const ptrdiff_t k = from + e * THREADS;
            if (k < job.p) sum += term_at(job.terms[j], k) * v[e];
        }
        sum = block_sum(sum);
        if (threadIdx.x == 0) job.part[j * blocks + blockIdx.x] = sum;
    }
}

/* One warp adds up the partial sums of one product. */
__global__ static void product_sums(const vector_job *jobs)
{
    const vector_job job = jobs[blockIdx.y];
    const ptrdiff_t blocks = (job.p + SPAN - 1) / SPAN;
    if ((int)blockIdx.x >= job.count) return;
    double sum = 0;
    for (ptrdiff_t b = threadIdx.x; b < blocks; b += 32) {
        sum += job.part[blockIdx.x * blocks + b];
    }
    for (int half = 16; half > 0; half /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, half);
    }
    if (threadIdx.x == 0) job.out[blockIdx.x] = sum;
}

/* to -= sum by (term'to) term, the products being in out */
__global__ static void slow_down(const vector_job *jobs)
{
    __shared__ double by[64];
    const vector_job job = jobs[blockIdx.y];
    const ptrdiff_t k = (ptrdiff_t)blockIdx.x * THREADS + threadIdx.x;
    for (int from = 0; from < job.count; from += 64) {
        const int some = job.count - from < 64 ? job.count - from : 64;
        __syncthreads();
        if ((int)threadIdx.x < some) by[threadIdx.x] = job.terms[from + threadIdx.x].by * job.out[from + threadIdx.x];
        __syncthreads();
        if (k >= job.p) continue;
        double sum = 0;
        for (int j = 0; j < some; j++) {
            sum += by[j] * term_at(job.terms[from + j], k);
        }
        ((double *)job.to)[k] -= sum;
    }
}

/* grad += 2 lambda (at - start), and partial sums of |grad before|^2, |at - start|^2, |grad|^2 */
__global__ static void pull_parts(const loss_job *jobs)
{
    const loss_job job = jobs[blockIdx.y];
    const ptrdiff_t from = (ptrdiff_t)blockIdx.x * SPAN + threadIdx.x, blocks = (job.p + SPAN - 1) / SPAN;
    if ((ptrdiff_t)blockIdx.x >= blocks || !job.start) return;
    double sum[3] = {0, 0, 0};
    for (int e = 0; e < EACH; e++) {
        const ptrdiff_t k = from + e * THREADS;
        if (k >= job.p) break;
        const double data = job.to[k], moved = job.at[k] - job.start[k], whole = data + 2 * job.lambda * moved;
        job.to[k] = whole;
        sum[0] += data * data;
        sum[1] += moved * moved;
        sum[2] += whole * whole;
    }
    if (!job.out) return;
    for (int j = 0; j < 3; j++) {
        const double all = block_sum(sum[j]);
        if (threadIdx.x == 0) job.part[j * blocks + blockIdx.x] = all;
    }
}

/* out: the sum of the rows' squared errors, and the three sums above, from their partial sums */
__global__ static void pull_sums(const loss_job *jobs)
{
    const loss_job job = jobs[blockIdx.y];
    if (!job.out || !job.start) return;
    const ptrdiff_t blocks = blockIdx.x ? (job.p + SPAN - 1) / SPAN : job.square_parts;
    const double *part = blockIdx.x ? job.part + (blockIdx.x - 1) * blocks : job.squares;
    double sum = 0;
    for (ptrdiff_t b = threadIdx.x; b < blocks; b += 32) {
        sum += part[b];
    }
    for (int half = 16; half > 0; half /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, half);
    }
    if (threadIdx.x == 0) job.out[blockIdx.x] = sum;
}

int pull(lane *g, ptrdiff_t count, ptrdiff_t p, const loss_job *jobs)
{
    const unsigned blocks = (unsigned)((p + SPAN - 1) / SPAN);
    pull_parts<<<dim3(blocks, (unsigned)count), THREADS, 0, g->stream>>>(jobs);
    pull_sums<<<dim3(4, (unsigned)count), 32, 0, g->stream>>>(jobs);
    CUDA(cudaGetLastError());
    return EPIQ_OK;
}

ptrdiff_t pull_parts_of(ptrdiff_t p)
{
    return 3 * ((p + SPAN - 1) / SPAN);
}

/* ---- programs ---- */

struct one {
    const epiq_device_program *net;
    const epiq_device_do *step;
};

/* Steps of one kind, for networks of one shape, that are launched together. */
struct batch {
    int op, single;
    ptrdiff_t p, n;  /* weights and rows of the first */
    ptrdiff_t first; /* of `all` */
    ptrdiff_t count;
    size_t at;       /* offset of its jobs in the buffer that is sent */
    ptrdiff_t terms; /* the most that a step has */
};

static bool same_shape(const one &a, const one &b)
{
    return a.net->d == b.net->d && a.net->width == b.net->width && a.net->depth == b.net->depth &&
           a.net->beta == b.net->beta && a.step->n == b.step->n && a.step->single == b.step->single &&
           a.step->count == b.step->count;
}

static bool is_gradient(int op)
{
    return op == EPIQ_DEVICE_LOSS || op == EPIQ_DEVICE_NORMAL || op == EPIQ_DEVICE_PULLS || op == EPIQ_DEVICE_FORWARD;
}

/* Groups the steps of all programs into batches, in order. Each batch takes, of the networks' next steps, the kind that
 * epiq_device.h lists first. Gradients are listed late, so that networks with fewer steps before theirs join the batch
 * of the others. */
static void put_in_order(ptrdiff_t count, const epiq_device_program *programs, std::vector<batch> *batches,
                         std::vector<one> *all)
{
    std::vector<ptrdiff_t> at((size_t)count, 0);
    std::vector<char> taken((size_t)count);
    for (;;) {
        int op = -1;
        const one *first = NULL;
        one key{};
        for (ptrdiff_t k = 0; k < count; k++) {
            if (at[(size_t)k] == programs[k].count) continue;
            const int own = programs[k].list[at[(size_t)k]].op;
            if (op < 0 || own < op) op = own;
        }
        if (op < 0) return;
        batch b{};
        b.op = op;
        b.first = (ptrdiff_t)all->size();
        std::fill(taken.begin(), taken.end(), (char)0);
        for (ptrdiff_t k = 0; k < count; k++) {
            if (at[(size_t)k] == programs[k].count || programs[k].list[at[(size_t)k]].op != op) continue;
            const one own = {&programs[k], &programs[k].list[at[(size_t)k]]};
            if (first && is_gradient(op) && !same_shape(key, own)) continue; /* in another batch */
            if (!first) key = own;
            first = &key;
            all->push_back(own);
            taken[(size_t)k] = 1;
            const ptrdiff_t p = params(own.net);
            b.p = p > b.p ? p : b.p;
            b.terms = own.step->count > b.terms ? own.step->count : b.terms;
        }
        for (ptrdiff_t k = 0; k < count; k++) {
            at[(size_t)k] += taken[(size_t)k];
        }
        b.single = key.step->single;
        b.n = key.step->n;
        b.count = (ptrdiff_t)all->size() - b.first;
        batches->push_back(b);
    }
}

template <class T> static T *append(std::vector<char> *to, size_t count, size_t *where)
{
    *where = (to->size() + 63) / 64 * 64;
    to->resize(*where + count * sizeof(T));
    return (T *)(to->data() + *where);
}

static int launch_vectors(lane *g, const batch &b, const vector_job *jobs)
{
    const dim3 each((unsigned)((b.p + THREADS - 1) / THREADS), (unsigned)b.count),
        spans((unsigned)((b.p + SPAN - 1) / SPAN), (unsigned)b.count), sums((unsigned)b.terms, (unsigned)b.count);
    if (b.op == EPIQ_DEVICE_COMBINE) {
        combine<<<each, THREADS, 0, g->stream>>>(jobs);
    } else if (b.terms > 0) {
        product_parts<<<spans, THREADS, 0, g->stream>>>(jobs);
        product_sums<<<sums, 32, 0, g->stream>>>(jobs);
        if (b.op == EPIQ_DEVICE_SLOW) slow_down<<<each, THREADS, 0, g->stream>>>(jobs);
    }
    CUDA(cudaGetLastError());
    return EPIQ_OK;
}

static int run_locked(lane *g, ptrdiff_t count, const epiq_device_program *programs)
{
    std::vector<batch> batches;
    std::vector<one> all;
    std::vector<char> out;
    put_in_order(count, programs, &batches, &all);

    /* The layout of scratch: results for the caller, then partial sums, which each batch overwrites. */
    size_t results = 0, partial = 0;
    for (const batch &b : batches) {
        size_t parts = 0;
        for (ptrdiff_t k = 0; k < b.count; k++) {
            const one &o = all[(size_t)(b.first + k)];
            if (b.op == EPIQ_DEVICE_PRODUCTS) results += (size_t)o.step->count;
            if (b.op == EPIQ_DEVICE_LOSS && o.step->own) results += 4;
            if (b.op == EPIQ_DEVICE_SLOW || b.op == EPIQ_DEVICE_PRODUCTS) {
                parts += (size_t)(o.step->count * ((params(o.net) + SPAN - 1) / SPAN + 1));
            }
        }
        partial = parts > partial ? parts : partial;
    }
    const size_t head = (results * sizeof(double) + 255) / 256 * 256;
    const size_t vectors = (head + partial * sizeof(double) + 255) / 256 * 256;
    int status = grow(g, &g->scratch, vectors, false);
    if (status) return status;

    /* The buffer that is sent: the jobs of all batches. Pointers within it are addresses on the device. */
    size_t terms = 0, jobs_size = 64 * (batches.size() + 1);
    for (const one &o : all) {
        terms += o.step->terms ? (size_t)o.step->count : 0;
    }
    jobs_size += terms * sizeof(epiq_device_term) + 64 + all.size() * (sizeof(vector_job) + 64);
    if ((status = grow(g, &g->sent, jobs_size, false)) || (status = grow(g, &g->staged, jobs_size + head, true))) {
        return status;
    }
    out.reserve(jobs_size);
    size_t terms_at, next_term = 0, next_result = 0;
    epiq_device_term *own_terms = append<epiq_device_term>(&out, terms, &terms_at);
    for (const one &o : all) {
        for (ptrdiff_t j = 0; o.step->terms && j < o.step->count; j++) {
            own_terms[next_term++] = o.step->terms[j];
        }
    }
    next_term = 0;
    char *there = (char *)g->sent.at;
    double *numbers = (double *)g->scratch.at, *parts = (double *)((char *)g->scratch.at + head);
    std::vector<double *> result(all.size(), nullptr); /* on the device */
    for (batch &b : batches) {
        const bool vector = b.op == EPIQ_DEVICE_COMBINE || b.op == EPIQ_DEVICE_SLOW || b.op == EPIQ_DEVICE_PRODUCTS;
        vector_job *jobs = vector ? append<vector_job>(&out, (size_t)b.count, &b.at) : NULL;
        double *part = parts;
        for (ptrdiff_t k = 0; k < b.count; k++) {
            const one &o = all[(size_t)(b.first + k)];
            const ptrdiff_t p = params(o.net), blocks = (p + SPAN - 1) / SPAN;
            const epiq_device_term *sent_terms = (epiq_device_term *)(there + terms_at) + next_term;
            next_term += o.step->terms ? (size_t)o.step->count : 0;
            if (b.op == EPIQ_DEVICE_LOSS && o.step->own) {
                result[(size_t)(b.first + k)] = numbers + next_result;
                next_result += 4;
            }
            if (!vector) continue;
            vector_job job{};
            job.to = o.step->to;
            job.at = b.op == EPIQ_DEVICE_SLOW ? (const double *)o.step->to : o.step->at;
            job.single = o.step->single;
            job.p = p;
            job.count = (int)o.step->count;
            job.terms = sent_terms;
            job.part = part;
            if (b.op == EPIQ_DEVICE_PRODUCTS) {
                job.out = result[(size_t)(b.first + k)] = numbers + next_result;
                next_result += (size_t)o.step->count;
                part += o.step->count * blocks;
            } else if (b.op == EPIQ_DEVICE_SLOW) {
                part += o.step->count * blocks;
                job.out = part;
                part += o.step->count;
            }
            jobs[k] = job;
        }
    }
    memcpy(g->staged.at, out.data(), out.size());
    if ((status = copy_in(g->stream, there, g->staged.at, out.size()))) return status;

    for (const batch &b : batches) {
        const one *list = &all[(size_t)b.first];
        if (b.op == EPIQ_DEVICE_PUT || b.op == EPIQ_DEVICE_FETCH) {
            for (ptrdiff_t k = 0; !status && k < b.count; k++) {
                const epiq_device_do *s = list[k].step;
                const size_t bytes = (size_t)s->count * sizeof(double);
                status = b.op == EPIQ_DEVICE_PUT ? copy_in(g->stream, s->to, s->own, bytes)
                                                 : copy_out(g->stream, s->own, s->at, bytes);
            }
        } else if (!is_gradient(b.op)) {
            status = launch_vectors(g, b, (const vector_job *)(there + b.at));
        } else {
            std::vector<gradient> same((size_t)b.count);
            for (ptrdiff_t k = 0; k < b.count; k++) {
                same[(size_t)k] = {list[k].step, result[(size_t)(b.first + k)]};
            }
            const shape s = {list->net->d, list->net->width, list->net->depth, list->net->beta, b.p, b.n};
            status = is_shallow(s) ? shallow_gradients(g, s, b.op, b.single, b.count, same.data())
                                   : deep_gradients(g, s, b.op, b.single, b.count, same.data());
        }
        if (status) return status;
    }
    double *back = (double *)((char *)g->staged.at + (g->staged.bytes - head) / 64 * 64);
    if (results && (status = copy_out(g->stream, back, numbers, results * sizeof(double)))) return status;
    if ((status = wait(g->stream))) return status;
    next_result = 0;
    for (const batch &b : batches) {
        for (ptrdiff_t k = 0; k < b.count; k++) {
            const epiq_device_do *s = all[(size_t)(b.first + k)].step;
            const ptrdiff_t own = b.op == EPIQ_DEVICE_PRODUCTS ? s->count : b.op == EPIQ_DEVICE_LOSS && s->own ? 4 : 0;
            if (own) memcpy(s->own, back + next_result, (size_t)own * sizeof(double));
            next_result += (size_t)own;
        }
    }
    return EPIQ_OK;
}

int train_run(void *user, ptrdiff_t count, const epiq_device_program *programs)
{
    device *d = of(user);
    lane *g = d->lanes;
    while (g < d->lanes + LANES && !g->busy.try_lock()) {
        g++;
    }
    if (g == d->lanes + LANES) (g = d->lanes)->busy.lock();
    std::lock_guard<std::mutex> lock(g->busy, std::adopt_lock);
    try {
        return run_locked(g, count, programs);
    } catch (const std::bad_alloc &) {
        return fail(EPIQ_E_NOMEM, "there is no memory for the lists of %td networks", count);
    }
}
