/* empirical.cu - the empirical tangent kernel of a network (src/kernel/empirical.c),
 *     K = G_L G_L' + beta^2 + sum_l (G_{l-1} G_{l-1}' + beta^2) o (Delta_l Delta_l'),
 * added to a matrix in strips of columns, with two products by cuBLAS for each layer, in double. The G and Delta of all
 * rows and points are computed first (deep.cu).
 */
#include "cuda/train.h"

/* WIDE: columns of a strip. Three such strips are in memory: src/solve/gmat.c counts on it. */
enum { THREADS = 256, WIDE = 512 };

/* out += by (inner + beta2) o outer, rows by cols; outer NULL: all ones. first: out is overwritten. */
__global__ static void add_term(ptrdiff_t rows, double beta2, double by, bool first, const double *inner,
                                const double *outer, double *out, ptrdiff_t ld)
{
    const ptrdiff_t i = (ptrdiff_t)blockIdx.x * THREADS + threadIdx.x, j = blockIdx.y;
    if (i >= rows) return;
    const double term = by * (inner[i + j * rows] + beta2) * (outer ? outer[i + j * rows] : 1);
    out[i + j * ld] = first ? term : out[i + j * ld] + term;
}

namespace
{
struct layers {
    device *g;
    shape s; /* n: rows and points together */
    room<double> x, theta, act, delta, inner, outer;

    /* Of layer l (0: the features themselves) at row i. */
    const double *at(ptrdiff_t l, ptrdiff_t i) const
    {
        return l == 0 ? x.at + i * s.d : act.at + ((l - 1) * s.n + i) * s.width;
    }

    int product(ptrdiff_t k, const double *a, ptrdiff_t rows, const double *b, ptrdiff_t cols, double *out)
    {
        const double one = 1, zero = 0;
        BLAS(cublasDgemm_64(g->blas, CUBLAS_OP_T, CUBLAS_OP_N, rows, cols, k, &one, a, k, b, k, &zero, out, rows));
        return EPIQ_OK;
    }

    /* Rows i.. by rows j.. of the kernel, times by, added to out. */
    int add(ptrdiff_t i, ptrdiff_t rows, ptrdiff_t j, ptrdiff_t cols, double by, bool first, double *out, ptrdiff_t ld)
    {
        for (ptrdiff_t l = 0; l <= s.depth; l++) {
            int status = product(l ? s.width : s.d, at(l, i), rows, at(l, j), cols, inner.at);
            if (!status && l < s.depth) {
                const double *own = delta.at + l * s.n * s.width;
                status = product(s.width, own + i * s.width, rows, own + j * s.width, cols, outer.at);
            }
            if (status) return status;
            const dim3 blocks((unsigned)((rows + THREADS - 1) / THREADS), (unsigned)cols);
            add_term<<<blocks, THREADS, 0, g->stream>>>(rows, s.beta * s.beta, by, first && l == 0, inner.at,
                                                        l < s.depth ? outer.at : NULL, out, ld);
            CUDA(cudaGetLastError());
        }
        return EPIQ_OK;
    }

    int take(const epiq_device_network *net)
    {
        const ptrdiff_t numbers = s.depth * s.n * s.width;
        int status;
        if ((status = x.take(s.n * s.d)) || (status = theta.take(s.p)) || (status = act.take(numbers)) ||
            (status = delta.take(numbers)) || (status = inner.take(net->n * WIDE)) ||
            (status = outer.take(net->n * WIDE)) ||
            (status = copy_in(g->stream, theta.at, net->theta, (size_t)s.p * sizeof(double))) ||
            (status = copy_in(g->stream, x.at, net->x, (size_t)(net->n * s.d) * sizeof(double))) ||
            (net->points && (status = copy_in(g->stream, x.at + net->n * s.d, net->at,
                                              (size_t)(net->points * s.d) * sizeof(double))))) {
            return status;
        }
        lane own{};
        own.stream = g->stream;
        own.blas = g->blas;
        return deep_features(&own, s, theta.at, x.at, act.at, delta.at);
    }
};
} // namespace

int matrix_empirical(void *user, epiq_device_matrix *m, const epiq_device_network *net, double by, int first,
                     double *k0)
{
    device *g = of(user);
    std::lock_guard<std::mutex> lock(g->busy);
    const ptrdiff_t n = net->n;
    layers all{};
    room<double> cross;
    all.g = g;
    all.s = {net->d, net->width, net->depth, net->beta, params_of(net->d, net->width, net->depth), n + net->points};
    m->whole = false;
    int status;
    if ((status = start_libraries(g)) || (status = all.take(net)) ||
        (status = cross.take(n * least(net->points, WIDE)))) {
        return status;
    }
    for (ptrdiff_t j = 0; !status && j < n; j += WIDE) {
        status = all.add(j, n - j, j, least(WIDE, n - j), by, first, m->a + j + j * n, n);
    }
    for (ptrdiff_t j = 0; !status && j < net->points; j += WIDE) {
        const ptrdiff_t some = least(WIDE, net->points - j);
        const size_t bytes = (size_t)(n * some) * sizeof *k0;
        if ((status = copy_in(g->stream, cross.at, k0 + j * n, bytes)) ||
            (status = all.add(0, n, n + j, some, by, false, cross.at, n)) ||
            (status = copy_out(g->stream, k0 + j * n, cross.at, bytes)) || (status = wait(g->stream))) {
            return status;
        }
    }
    return status ? status : wait(g->stream);
}
