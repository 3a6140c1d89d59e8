/* epiq_device.h - the heavy parts of an estimate on an accelerator: kernel matrices of many rows with their factors and
 * inverses, and the training of many networks at once. This table is what the library asks of one;
 * cuda/epiq_cuda.cu fills it with CUDA, cuBLAS and cuSOLVER, and docs/gpu.md says what is done there:
 *
 *     epiq_ctx_on_device(c, open, user);      before everything else
 *     options.device = EPIQ_DEVICE_GPU;       or auto, the default: where there is one and it gains time
 *     status = epiq_estimate(..);             calls open when it needs the device, once in the life of the context
 *
 * Every function that can fail returns an epiq_status, and `message` then says why. They may be called from several
 * threads, and work one after the other, `run` side by side. On one device the same calls give the same bits.
 */
#ifndef EPIQ_DEVICE_H
#define EPIQ_DEVICE_H

#include "epiq.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A symmetric n by n matrix in the device's memory, then its Cholesky factor, then its inverse. Only its lower triangle
 * counts. */
typedef struct epiq_device_matrix epiq_device_matrix;

/* The closed-form kernels of networks of this depth between n rows (docs/method.md section 2). */
typedef struct {
    ptrdiff_t depth;
    double beta, v; /* scale of the biases; beta^2 times the variance of their starts */
    ptrdiff_t n, d;
    const double *x; /* n by d */
} epiq_device_kernel;

/* A network with rows and points to ask it about. */
typedef struct {
    ptrdiff_t d, width, depth;
    double beta;
    const double *theta; /* its weights: docs/method.md section 2 */
    ptrdiff_t n, points;
    const double *x, *at; /* n by d, points by d */
} epiq_device_network;

/* Training of many networks at once. Weights, gradients and the like are vectors of p numbers, p being the number of
 * weights of the network (docs/method.md section 2), in memory that memory_new gives. A network is trained by a program:
 * a list of these, done in their order; those of several networks are done side by side. */
typedef enum {
    EPIQ_DEVICE_PUT,      /* to (count doubles) = own, the caller's */
    EPIQ_DEVICE_COMBINE,  /* to = sum_j by_j term_j; single: to is floats. A term may be `to` itself */
    EPIQ_DEVICE_SLOW,     /* to -= sum_j by_j term_j (term_j'to) */
    EPIQ_DEVICE_PRODUCTS, /* own[j] = term_j'at */
    /* to = the gradient of R(at) = (1/n) sum_i (h(x_i) - y_i)^2 + lambda |at - start|^2. own, unless it is NULL:
     * sum_i (h(x_i) - y_i)^2, |gradient of the first part|^2, |at - start|^2, |gradient|^2. single here and below: in
     * single precision, but for sums over many rows; EPIQ_DEVICE_ROUGH: where there is `split`, and with numbers between
     * hidden layers rounded to 11 bits. */
    EPIQ_DEVICE_LOSS,
    EPIQ_DEVICE_NORMAL,  /* to = J'J term_0, J (n by p) being the Jacobian of the network's outputs at weights `at` */
    EPIQ_DEVICE_PULLS,   /* to (count by p) = J'y_j for each of count vectors y_j of length n */
    EPIQ_DEVICE_FORWARD, /* own (n) = the outputs at the rows x, in double */
    EPIQ_DEVICE_FETCH    /* own = at (count doubles) */
} epiq_device_op;
enum { EPIQ_DEVICE_ROUGH = 2 };

typedef struct {
    const void *at; /* p floats if single, else doubles */
    int single;
    double by;
} epiq_device_term;

typedef struct {
    int op, single;
    void *to;
    const double *at, *start;
    double lambda;
    ptrdiff_t n;
    const double *x, *y; /* n by d, n: in the device's memory */
    ptrdiff_t count;     /* of terms, vectors or numbers */
    const epiq_device_term *terms;
    double *own;
} epiq_device_do;

typedef struct {
    ptrdiff_t d, width, depth;
    double beta;
    ptrdiff_t count;
    const epiq_device_do *list;
} epiq_device_program;

typedef struct epiq_device {
    size_t size;                        /* sizeof(epiq_device) */
    const char *name;                   /* what results call it: "cuda" */
    const char *model;                  /* as its maker calls it */
    int capability;                     /* 90: 9.0 */
    int driver;                         /* the newest CUDA that its driver serves, 13000: 13.0 */
    double bytes;                       /* of its memory */
    void *user;                         /* first argument of the functions */
    const char *(*message)(void *user); /* of the last failure in the calling thread */
    double (*bytes_free)(void *user);

    int (*matrix_new)(void *user, ptrdiff_t n, epiq_device_matrix **out);
    void (*matrix_free)(void *user, epiq_device_matrix *m); /* m may be NULL */
    /* K, or with nngp Q, of the kernel's rows with themselves. */
    int (*fill)(void *user, epiq_device_matrix *m, const epiq_device_kernel *k, int nngp);
    /* Rows i0.. by columns j0.., column-major with the leading dimension ld: from the caller, and to it. */
    int (*put)(void *user, epiq_device_matrix *m, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols,
               const double *a, ptrdiff_t ld);
    int (*get)(void *user, const epiq_device_matrix *m, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols,
               double *a, ptrdiff_t ld);
    /* Adds a number to the diagonal, which is copied to out (n). */
    int (*diagonal)(void *user, epiq_device_matrix *m, double add, double *out);
    /* pivot: 0, or the number of the one that is not positive, from 1; the matrix is lost then. */
    int (*factor)(void *user, epiq_device_matrix *m, ptrdiff_t *pivot);
    /* b: n by cols, overwritten by the solutions. m: a factor. */
    int (*solve)(void *user, const epiq_device_matrix *m, ptrdiff_t cols, double *b);
    int (*invert)(void *user, epiq_device_matrix *m); /* of a factor: the inverse of the matrix in its place */
    /* out = m s for cols columns of length n; squared: with the squares of the entries of m. */
    int (*times)(void *user, const epiq_device_matrix *m, int squared, ptrdiff_t cols, const double *s, double *out);
    /* These rows and columns of the whole symmetric matrix, rows by cols. */
    int (*part)(void *user, const epiq_device_matrix *m, ptrdiff_t rows, const ptrdiff_t *row, ptrdiff_t cols,
                const ptrdiff_t *col, double *out);
    /* tau2 = Q00 - 2 c'Q0 + c'Q c at each of these points (points by d); c: points by n. */
    int (*variance)(void *user, const epiq_device_kernel *k, ptrdiff_t points, const double *at, const double *c,
                    double *tau2);

    /* Memory of the device, for the vectors of programs and the rows they are trained on. */
    int (*memory_new)(void *user, double bytes, void **out);
    void (*memory_free)(void *user, void *memory); /* may be NULL */
    /* Returns when all are done. What a program writes no other one reads. The bits of one do not depend on the others. */
    int (*run)(void *user, ptrdiff_t count, const epiq_device_program *programs);

    /* The empirical tangent kernel of a network, times `by`, between its rows added to m, and between rows and points
     * added to k0 (n by points). first: m is overwritten. */
    int (*empirical)(void *user, epiq_device_matrix *m, const epiq_device_network *net, double by, int first,
                     double *k0);
    /* In single precision, products between hidden layers are three of 11 bits each, and there are rough steps. */
    ptrdiff_t split;
} epiq_device;

/* Opens the device. NULL: there is none, and `why` says so in a sentence; an empty one where no device is to be expected. */
typedef const epiq_device *(*epiq_device_open)(void *user, char *why, size_t room);

/* Called when a run first needs a device; the table must live as long as the context. NULL: there is none. */
EPIQ_API void epiq_ctx_on_device(epiq_ctx *c, epiq_device_open open, void *user);
/* What there is, opened if it was not yet. NULL: none, and *why is the sentence, or "". */
EPIQ_API const epiq_device *epiq_ctx_device(epiq_ctx *c, const char **why);

#ifdef __cplusplus
}
#endif
#endif
