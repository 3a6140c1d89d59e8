/* source.h - a symmetric matrix given by a function that writes any block of it, so that it need not be stored. */
#ifndef EPIQP_SOURCE_H
#define EPIQP_SOURCE_H

#include "epiq_device.h"

#include <stdbool.h>

typedef struct {
    /* Writes rows i0.. by columns j0.., column-major, leading dimension ld. */
    void (*block)(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                  ptrdiff_t ld);
    const void *self;
    bool heavy; /* a block is worth a thread however few blocks there are */
    /* NULL, or describes the whole matrix as the tangent kernel of rows, for a device that computes it itself. */
    void (*describe)(const void *self, epiq_device_kernel *out);
} epiqp_source;

#endif
