/* atomic_file.c - see atomic_file.h. Files without a name (O_TMPFILE) are used where the file system and /proc allow
 * it, because a killed process then leaves nothing behind.
 */
#include "common/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Length of the folder in a path, with its slash; 0: the working folder. */
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) + 1 : 0;
}

int epiqp_atomic_plan(epiqp_atomic_file *f, const char *path)
{
    struct stat before = {.st_mode = 0};
    uint64_t number;
    *f = (epiqp_atomic_file){.target = NULL};
    bool exists = stat(path, &before) == 0;
    if (!exists && errno != ENOENT) return -1;
    if (exists && !S_ISREG(before.st_mode)) return 0;
    if (exists && access(path, W_OK) != 0) return -1;
    f->replaces = exists;
    f->mode = exists ? before.st_mode & 0777 : 0666;
    f->target = exists ? realpath(path, NULL) : strdup(path);
    if (!f->target || getentropy(&number, sizeof number) != 0) return -1;
    if (asprintf(&f->temporary, "%.*s.epiq-%016" PRIx64, folder_length(f->target), f->target, number) < 0) {
        f->temporary = NULL;
        errno = ENOMEM;
        return -1;
    }
    return 0;
}

int epiqp_atomic_open(epiqp_atomic_file *f, const char *path)
{
    if (!f->target) {
        return open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC); /* no O_TRUNC, in case it has become a file */
    }
    char folder[PATH_MAX];
    int length = folder_length(f->target);
    bool nameable = snprintf(folder, sizeof folder, "%.*s", length ? length : 1, length ? f->target : ".") < PATH_MAX &&
                    access("/proc/self/fd", X_OK) == 0;
    int fd = nameable ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, f->mode) : -1;
    if (fd < 0) {
        fd = open(f->temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, f->mode);
        f->named = fd >= 0;
    }
    if (fd >= 0 && f->replaces) {
        fchmod(fd, f->mode); /* restores what umask took away; some file systems refuse it */
    }
    return fd;
}

int epiqp_atomic_sync(const epiqp_atomic_file *f, int fd)
{
    return f->target && fsync(fd) != 0 && errno != EINVAL ? -1 : 0; /* EINVAL: the file system cannot sync */
}

/* A link cannot replace a file, so an existing target is replaced by way of the temporary name. Nothing is allocated
 * here: when several files are committed together, a lack of memory must not strike between two of them. */
int epiqp_atomic_commit(epiqp_atomic_file *f, int fd)
{
    char self[64];
    if (!f->target) return 0;
    if (!f->named) {
        snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
        if (linkat(AT_FDCWD, self, AT_FDCWD, f->target, AT_SYMLINK_FOLLOW) == 0) return 0;
        if (errno != EEXIST || linkat(AT_FDCWD, self, AT_FDCWD, f->temporary, AT_SYMLINK_FOLLOW) != 0) return -1;
        f->named = true;
    }
    if (rename(f->temporary, f->target) != 0) return -1;
    f->named = false;
    return 0;
}

void epiqp_atomic_free(epiqp_atomic_file *f)
{
    if (f->named) unlink(f->temporary);
    free(f->temporary);
    free(f->target);
    *f = (epiqp_atomic_file){.target = NULL};
}
