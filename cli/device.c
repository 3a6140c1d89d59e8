/* device.c - where the command's own libraries are, and the GPU: loads libepiq_cuda.so, which alone uses CUDA, when the
 * library first asks for a device. Until then nothing of CUDA is in the process.
 */
#include "cli/cli.h"
#include "cuda/epiq_cuda.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

bool library_path(const char *name, char path[LIBRARY_PATH])
{
    static const char *const FOLDERS[] = {".", EPIQ_LIBRARIES};
    char here[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", here, sizeof here - 1);
    here[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(here, '/');
    here[slash ? slash - here : 0] = '\0';
    for (size_t k = 0; k < sizeof FOLDERS / sizeof *FOLDERS; k++) {
        snprintf(path, LIBRARY_PATH, "%s/%s/%s", here, FOLDERS[k], name);
        if (access(path, F_OK) == 0) return true;
    }
    return false;
}

const epiq_device *device_open(void *user, char *why, size_t room)
{
    (void)user;
    char path[LIBRARY_PATH];
    *why = '\0';
    if (!library_path("libepiq_cuda.so", path)) return NULL;       /* the plain build has no part for GPUs */
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL); /* small, beside what libepiq_cuda.so brings along */
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
