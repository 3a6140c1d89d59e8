/* load.h - gives a program that was built without CUDA the GPU: loads libepiq_cuda.so, the only part that uses CUDA,
 * when a device is first requested. Until then no library of CUDA is loaded.
 */
#ifndef EPIQ_CUDA_LOAD_H
#define EPIQ_CUDA_LOAD_H

#include "cuda/epiq_cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* NULL: there is none, and `why` gives the reason. */
static inline const epiq_device *cuda_load(const char *path, char *why, size_t room)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL); /* small beside what libepiq_cuda.so loads */
    if (!driver) {
        snprintf(why, room, "there is no driver for NVIDIA GPUs on this machine");
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, room, "libepiq_cuda.so cannot be loaded (%s)", dlerror());
        return NULL;
    }
    void *begin = dlsym(library, "epiq_cuda_begin");
    epiq_cuda_begin_fn begin_cuda = NULL;
    memcpy(&begin_cuda, &begin, sizeof begin); /* ISO C has no cast from an object to a function */
    if (begin_cuda) return begin_cuda(EPIQ_VERSION, why, room);
    snprintf(why, room, "libepiq_cuda.so is damaged; build it again with make cuda");
    return NULL;
}

#endif
