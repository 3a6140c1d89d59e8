/* device.h - what the files of cuda/ share: the device with its stream and libraries, failing with a message, and
 * memory that is freed with its scope. The functions for matrices share one stream; training programs (train.cu) use
 * several lanes.
 */
#ifndef EPIQ_CUDA_DEVICE_H
#define EPIQ_CUDA_DEVICE_H

#include "epiq_device.h"

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>
#include <mutex>

/* Memory that is reused, and grows as needed. */
struct buffer {
    void *at;
    size_t bytes;
};

/* A stream with its buffers. It runs one list of programs at a time, concurrently with other lanes. */
struct lane {
    cudaStream_t stream;
    cublasHandle_t blas; /* NULL until it is needed */
    bool tensor;         /* products of 11-bit floats are several times as fast as of full ones */
    std::mutex busy;
    buffer sent, staged, scratch, work; /* jobs; host copies; partial sums; activations */
};
enum { LANES = 8 }; /* src/store/members.c makes as many groups at most */

struct device {
    epiq_device table; /* whose user is this */
    char model[256];
    cudaStream_t stream;
    cublasHandle_t blas;
    cusolverDnHandle_t solver;
    cusolverDnParams_t params;
    std::mutex busy;     /* held while a function of the table works with matrices */
    std::mutex counting; /* held while `memories` is read or changed */
    int memories;        /* allocations of training; the lanes' buffers are freed with the last */
    lane lanes[LANES];
};

struct epiq_device_matrix {
    ptrdiff_t n;
    double *a;  /* n by n, column-major, on the device */
    bool whole; /* the upper triangle mirrors the lower one */
};

/* Keeps the message of a failure for epiq_device.message, and returns the status. */
__attribute__((format(printf, 2, 3))) int fail(int status, const char *format, ...);
int failed_cuda(cudaError_t error, const char *what);
int failed_blas(cublasStatus_t error, const char *what);
int failed_solver(cusolverStatus_t error, const char *what);
const char *last_message(void *user);

#define CUDA(call)                                                                                                     \
    do {                                                                                                               \
        cudaError_t error_ = (call);                                                                                   \
        if (error_ != cudaSuccess) return failed_cuda(error_, #call);                                                  \
    } while (0)
#define BLAS(call)                                                                                                     \
    do {                                                                                                               \
        cublasStatus_t error_ = (call);                                                                                \
        if (error_ != CUBLAS_STATUS_SUCCESS) return failed_blas(error_, #call);                                        \
    } while (0)
#define SOLVER(call)                                                                                                   \
    do {                                                                                                               \
        cusolverStatus_t error_ = (call);                                                                              \
        if (error_ != CUSOLVER_STATUS_SUCCESS) return failed_solver(error_, #call);                                    \
    } while (0)

/* Memory of the device that is freed at the end of the block. */
template <class T> struct room {
    T *at = nullptr;
    int take(ptrdiff_t count)
    {
        CUDA(cudaMalloc(&at, (size_t)(count > 0 ? count : 1) * sizeof(T)));
        return EPIQ_OK;
    }
    room() = default;
    room(const room &) = delete;
    room &operator=(const room &) = delete;
    ~room()
    {
        cudaFree(at);
    }
};

static inline ptrdiff_t least(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

static inline device *of(void *user)
{
    return static_cast<device *>(user);
}

/* Asynchronous copies on a stream; wait() synchronises with it. */
int copy_in(cudaStream_t stream, void *to, const void *from, size_t bytes);
int copy_out(cudaStream_t stream, void *to, const void *from, size_t bytes);
int wait(cudaStream_t stream);
int start_blas(cudaStream_t stream, cublasHandle_t *out);
int start_libraries(device *d); /* for matrices, with the first of them: training does not need these */

/* ---- the functions of the table ---- */

int matrix_new(void *user, ptrdiff_t n, epiq_device_matrix **out);
void matrix_free(void *user, epiq_device_matrix *m);
int matrix_fill(void *user, epiq_device_matrix *m, const epiq_device_kernel *k, int nngp);
int matrix_put(void *user, epiq_device_matrix *m, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols,
               const double *a, ptrdiff_t ld);
int matrix_get(void *user, const epiq_device_matrix *m, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols,
               double *a, ptrdiff_t ld);
int matrix_diagonal(void *user, epiq_device_matrix *m, double add, double *out);
int matrix_factor(void *user, epiq_device_matrix *m, ptrdiff_t *pivot);
int matrix_solve(void *user, const epiq_device_matrix *m, ptrdiff_t cols, double *b);
int matrix_invert(void *user, epiq_device_matrix *m);
int matrix_times(void *user, const epiq_device_matrix *m, int squared, ptrdiff_t cols, const double *s, double *out);
int matrix_part(void *user, const epiq_device_matrix *m, ptrdiff_t rows, const ptrdiff_t *row, ptrdiff_t cols,
                const ptrdiff_t *col, double *out);
int kernel_variance(void *user, const epiq_device_kernel *k, ptrdiff_t points, const double *at, const double *c,
                    double *tau2);
int matrix_empirical(void *user, epiq_device_matrix *m, const epiq_device_network *net, double by, int first,
                     double *k0);
int memory_new(void *user, double bytes, void **out);
void memory_free(void *user, void *memory);
int train_run(void *user, ptrdiff_t count, const epiq_device_program *programs);

#endif
