/* train.h - what the files of cuda/ that train networks (train.cu) share. */
#ifndef EPIQ_CUDA_TRAIN_H
#define EPIQ_CUDA_TRAIN_H

#include "cuda/device.h"

#include <algorithm>
#include <new>
#include <vector>

struct vector_job {
    void *to;
    const double *at;
    const epiq_device_term *terms;
    double *part, *out;
    ptrdiff_t p;
    int count, single;
};

/* The penalty's part of a loss and its gradient, added after the rows' part. */
struct loss_job {
    double *to;
    const double *at, *start; /* start NULL: nothing is added */
    double lambda;
    double *part, *out;    /* pull_parts_of(p) numbers; 4 results, or NULL */
    const double *squares; /* parts of the sum of the rows' squared errors */
    ptrdiff_t square_parts, p;
};
int pull(lane *g, ptrdiff_t count, ptrdiff_t p, const loss_job *jobs); /* jobs: on the device */
ptrdiff_t pull_parts_of(ptrdiff_t p);

struct shape {
    ptrdiff_t d, width, depth;
    double beta;
    ptrdiff_t p, n;
};

static inline ptrdiff_t params_of(ptrdiff_t d, ptrdiff_t width, ptrdiff_t depth)
{
    return width * (d + 1) + (depth - 1) * width * (width + 1) + width + 1;
}

/* A step that needs gradients, and where on the device its numbers go. */
struct gradient {
    const epiq_device_do *step;
    double *out;
};

bool is_shallow(const shape &s);
int shallow_gradients(lane *g, const shape &s, int op, int single, ptrdiff_t count, const gradient *list);
int deep_gradients(lane *g, const shape &s, int op, int single, ptrdiff_t count, const gradient *list);

/* g and delta of every layer, depth by n by width each, for the empirical kernel. All arrays are on the device. */
int deep_features(lane *g, const shape &s, const double *theta, const double *x, double *act, double *delta);

/* The sums of a and of b over a block of COUNT threads, all of which call it; the order of the sum is fixed. */
template <int COUNT> __device__ static inline void block_sums(double a, double b, double *sum_a, double *sum_b)
{
    __shared__ double part_a[COUNT / 32], part_b[COUNT / 32];
    for (int half = 16; half > 0; half /= 2) {
        a += __shfl_down_sync(0xffffffffu, a, half);
        b += __shfl_down_sync(0xffffffffu, b, half);
    }
    if (threadIdx.x % 32 == 0) {
        part_a[threadIdx.x / 32] = a;
        part_b[threadIdx.x / 32] = b;
    }
    __syncthreads();
    if (threadIdx.x > 0) return;
    a = b = 0;
    for (int k = 0; k < COUNT / 32; k++) {
        a += part_a[k];
        b += part_b[k];
    }
    *sum_a = a;
    *sum_b = b;
}

/* Grows b to at least so many bytes; its contents are lost. here: pinned memory of the host. */
int grow(lane *g, buffer *b, size_t bytes, bool here);

/* Hands out consecutive parts of one block of memory. */
struct carve {
    char *at;
    size_t used;
    template <class T> T *take(ptrdiff_t count)
    {
        T *part = (T *)(at + used);
        used += ((size_t)count * sizeof(T) + 255) / 256 * 256;
        return part;
    }
};

#endif
