/* device.c - the GPU, by libepiq_cuda.so (docs/gpu.md): beside this module or the command that comes with it, or where the
 * system's libraries are.
 */
#include "cuda/load.h"
#include "extension.h"

#include <limits.h>
#include <unistd.h>

const epiq_device *device_open(void *user, char *why, size_t room)
{
    static const char *const FOLDERS[] = {"", "bin/"};
    static const char here[] = "";
    char path[PATH_MAX + 32];
    Dl_info self;
    (void)user;
    *why = '\0';
    for (size_t k = 0; dladdr(here, &self) && self.dli_fname && k < sizeof FOLDERS / sizeof *FOLDERS; k++) {
        const char *slash = strrchr(self.dli_fname, '/');
        const int folder = slash ? (int)(slash - self.dli_fname + 1) : 0;
        snprintf(path, sizeof path, "%.*s%slibepiq_cuda.so", folder, self.dli_fname, FOLDERS[k]);
        if (access(path, F_OK) == 0) return cuda_load(path, why, room);
    }
    void *found = dlopen("libepiq_cuda.so", RTLD_LAZY | RTLD_LOCAL);
    if (!found) return NULL; /* the plain package has no part for GPUs */
    dlclose(found);
    return cuda_load("libepiq_cuda.so", why, room);
}
