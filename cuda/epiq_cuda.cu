/* epiq_cuda.cu - an epiq_device (epiq_device.h) of the first NVIDIA GPU: detecting it, starting its libraries, the
 * table of functions, messages.
 */
#include "cuda/device.h"
#include "cuda/epiq_cuda.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

/* ---- failing ---- */

static thread_local char message[1024];

int fail(int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return status;
}

const char *last_message(void *user)
{
    (void)user;
    return message;
}

/* The name of the function in "function(its, arguments)". */
static int name_length(const char *call)
{
    return (int)strcspn(call, "(");
}

int failed_cuda(cudaError_t error, const char *what)
{
    cudaGetLastError(); /* clears it */
    return fail(error == cudaErrorMemoryAllocation ? EPIQ_E_NOMEM : EPIQ_E_NUMERIC, "%.*s: %s", name_length(what), what,
                cudaGetErrorString(error));
}

int failed_blas(cublasStatus_t error, const char *what)
{
    return fail(error == CUBLAS_STATUS_ALLOC_FAILED ? EPIQ_E_NOMEM : EPIQ_E_NUMERIC, "%.*s: %s", name_length(what),
                what, cublasGetStatusString(error));
}

int failed_solver(cusolverStatus_t error, const char *what)
{
    return fail(error == CUSOLVER_STATUS_ALLOC_FAILED ? EPIQ_E_NOMEM : EPIQ_E_NUMERIC, "%.*s: cuSOLVER's status %d",
                name_length(what), what, (int)error);
}

/* ---- copies ---- */

int copy_in(cudaStream_t stream, void *to, const void *from, size_t bytes)
{
    CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
    return EPIQ_OK;
}

int copy_out(cudaStream_t stream, void *to, const void *from, size_t bytes)
{
    CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream));
    return EPIQ_OK;
}

int wait(cudaStream_t stream)
{
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaGetLastError());
    return EPIQ_OK;
}

/* ---- the device ---- */

static double bytes_free(void *user)
{
    (void)user;
    size_t left = 0, all = 0;
    return cudaMemGetInfo(&left, &all) == cudaSuccess ? (double)left : 0;
}

enum { LEAST_CAPABILITY = 80 }; /* what the kernels are compiled for */

/* Checks that there is a GPU that can be used, and fills in its description. */
static int look(device *d)
{
    int count = 0, driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    cudaError_t error = cudaGetDeviceCount(&count);
    if (driver == 0) return fail(EPIQ_E_USAGE, "there is no driver for NVIDIA GPUs on this machine");
    if (error == cudaErrorInsufficientDriver || driver < runtime / 1000 * 1000) {
        return fail(EPIQ_E_USAGE, "the driver is for CUDA %d.%d and %d.%d is needed; install a newer driver",
                    driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    }
    if (error == cudaErrorNoDevice || (error == cudaSuccess && count < 1)) {
        return fail(EPIQ_E_USAGE, "there is no NVIDIA GPU on this machine, or CUDA_VISIBLE_DEVICES hides it");
    }
    CUDA(error);
    cudaDeviceProp of_device;
    CUDA(cudaGetDeviceProperties(&of_device, 0));
    snprintf(d->model, sizeof d->model, "%s", of_device.name);
    d->table.capability = 10 * of_device.major + of_device.minor;
    d->table.split = d->table.capability % 10 == 0; /* of data centres: 8.0, 9.0, 10.0 */
    d->table.driver = driver;
    d->table.bytes = (double)of_device.totalGlobalMem;
    if (d->table.capability < LEAST_CAPABILITY) {
        return fail(EPIQ_E_USAGE, "the GPU, %s, is of compute capability %d.%d and 8.0 is needed", d->model,
                    of_device.major, of_device.minor);
    }
    return EPIQ_OK;
}

int start_blas(cudaStream_t stream, cublasHandle_t *out)
{
    BLAS(cublasCreate(out));
    BLAS(cublasSetStream(*out, stream));
    BLAS(cublasSetMathMode(*out, CUBLAS_DEFAULT_MATH));           /* no float of fewer bits, no emulated double */
    BLAS(cublasSetAtomicsMode(*out, CUBLAS_ATOMICS_NOT_ALLOWED)); /* the same bits again */
    return EPIQ_OK;
}

static int start(device *d)
{
    CUDA(cudaSetDevice(0));
    CUDA(cudaStreamCreate(&d->stream));
    for (lane &l : d->lanes) {
        CUDA(cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking));
        l.tensor = d->table.split;
    }
    return EPIQ_OK;
}

int start_libraries(device *d)
{
    if (d->params) return EPIQ_OK;
    int status = d->blas ? EPIQ_OK : start_blas(d->stream, &d->blas);
    if (status) return status;
    if (!d->solver) SOLVER(cusolverDnCreate(&d->solver));
    SOLVER(cusolverDnSetStream(d->solver, d->stream));
    SOLVER(cusolverDnCreateParams(&d->params));
    return EPIQ_OK;
}

const epiq_device *epiq_cuda_begin(const char *version, char *why, size_t room)
{
    static device here; /* one per process, never released: the driver does that at exit */
    static bool started;
    static std::mutex one; /* contexts of several threads may open it concurrently */
    std::lock_guard<std::mutex> lock(one);
    if (strcmp(version, EPIQ_VERSION) != 0) {
        snprintf(why, room, "libepiq_cuda.so is of version %s and this is %s; build it again with make cuda",
                 EPIQ_VERSION, version);
        return NULL;
    }
    if (!started && (look(&here) || start(&here))) {
        snprintf(why, room, "%s", message);
        return NULL;
    }
    started = true;
    here.table.size = sizeof here.table;
    here.table.name = "cuda";
    here.table.model = here.model;
    here.table.user = &here;
    here.table.message = last_message;
    here.table.bytes_free = bytes_free;
    here.table.matrix_new = matrix_new;
    here.table.matrix_free = matrix_free;
    here.table.fill = matrix_fill;
    here.table.put = matrix_put;
    here.table.get = matrix_get;
    here.table.diagonal = matrix_diagonal;
    here.table.factor = matrix_factor;
    here.table.solve = matrix_solve;
    here.table.invert = matrix_invert;
    here.table.times = matrix_times;
    here.table.part = matrix_part;
    here.table.variance = kernel_variance;
    here.table.empirical = matrix_empirical;
    here.table.memory_new = memory_new;
    here.table.memory_free = memory_free;
    here.table.run = train_run;
    return &here.table;
}
