/* device.c - where the command's own libraries are, and the GPU, by libepiq_cuda.so. */
#include "cli/cli.h"
#include "cuda/load.h"

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
    return library_path("libepiq_cuda.so", path) ? cuda_load(path, why, room) : NULL; /* the plain build has none */
}
