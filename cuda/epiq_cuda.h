/* epiq_cuda.h - what libepiq_cuda.so provides: an epiq_device (epiq_device.h) of CUDA, cuBLAS and cuSOLVER. The command
 * and the Python package load it (load.h) when they are about to use a GPU; no other part of epiq depends on CUDA.
 */
#ifndef EPIQ_CUDA_H
#define EPIQ_CUDA_H

#include "epiq_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first GPU, ready for work. NULL: none can be used, and `why` gives the reason. version: EPIQ_VERSION. */
EPIQ_API const epiq_device *epiq_cuda_begin(const char *version, char *why, size_t room);
typedef const epiq_device *(*epiq_cuda_begin_fn)(const char *version, char *why, size_t room);

#ifdef __cplusplus
}
#endif
#endif
