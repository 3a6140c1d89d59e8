/* wrap_file.c - calls of ours that touch files. Streams we write become streams whose bytes pass through here, so that a write
 * fails where the system's would: when a buffer is full or flushed, after half of it.
 */
#include "faults.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool broken(const char *name, int error)
{
    bool strikes = fault_strikes(FAULT_FILE, name);
    if (strikes) fault_fail(error);
    return strikes;
}

static int opened(int fd)
{
    fault_hold(HELD_DESCRIPTORS, fd >= 0);
    return fd;
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return broken("open", flags & O_CREAT ? ENOSPC : EACCES) ? -1 : opened(open(path, flags, mode));
}

/* The descriptor is gone whatever close says. */
int __wrap_close(int fd)
{
    bool fails = broken("close", EIO);
    int error = errno, result = close(fd);
    fault_hold(HELD_DESCRIPTORS, result == 0 ? -1 : 0);
    errno = fails ? error : errno;
    return fails ? -1 : result;
}

int __wrap_mkostemp(char *name, int flags)
{
    return broken("mkostemp", ENOSPC) ? -1 : opened(mkostemp(name, flags));
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    return broken("mkdir", ENOSPC) ? -1 : mkdir(path, mode);
}

int __wrap_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    return broken("rename", EIO) ? -1 : linkat(from_folder, from, to_folder, to, flags);
}

int __wrap_rename(const char *from, const char *to)
{
    return broken("rename", EIO) ? -1 : rename(from, to);
}

int __wrap_fsync(int fd)
{
    return broken("fsync", EIO) ? -1 : fsync(fd);
}

int __wrap_stat(const char *path, struct stat *s)
{
    return broken("stat", EACCES) ? -1 : stat(path, s);
}

int __wrap_fstat(int fd, struct stat *s)
{
    return broken("fstat", EIO) ? -1 : fstat(fd, s);
}

int __wrap_access(const char *path, int mode)
{
    return broken("access", EACCES) ? -1 : access(path, mode);
}

int __wrap_posix_fallocate(int fd, off_t from, off_t length)
{
    return broken("posix_fallocate", ENOSPC) ? errno : posix_fallocate(fd, from, length);
}

int __wrap_getentropy(void *buffer, size_t size)
{
    return broken("getentropy", ENOSYS) ? -1 : getentropy(buffer, size);
}

/* Half of what could be had: readers must ask again. */
ssize_t __wrap_read(int fd, void *buffer, size_t size)
{
    return broken("read", EIO) ? -1 : read(fd, buffer, size > 1 ? size / 2 : size);
}

ssize_t __wrap_pread(int fd, void *buffer, size_t size, off_t from)
{
    return broken("pread", EIO) ? -1 : pread(fd, buffer, size, from);
}

/* What the compiler calls in their place with _FORTIFY_SOURCE. */
int __wrap___open_2(const char *path, int flags)
{
    return __wrap_open(path, flags);
}

ssize_t __wrap___read_chk(int fd, void *buffer, size_t size, size_t room)
{
    return size > room ? (abort(), -1) : __wrap_read(fd, buffer, size);
}

ssize_t __wrap___pread_chk(int fd, void *buffer, size_t size, off_t from, size_t room)
{
    return size > room ? (abort(), -1) : __wrap_pread(fd, buffer, size, from);
}

ssize_t __wrap_write(int fd, const void *buffer, size_t size)
{
    return broken("write", ENOSPC) ? -1 : write(fd, buffer, size > 1 ? size / 2 : size);
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t from)
{
    void *map = broken("mmap", ENOMEM) ? MAP_FAILED : mmap(at, size, protection, flags, fd, from);
    fault_hold(HELD_MAPS, map != MAP_FAILED);
    return map;
}

int __wrap_munmap(void *at, size_t size)
{
    fault_hold(HELD_MAPS, -1);
    return munmap(at, size);
}

int __wrap_posix_spawnp(pid_t *child, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const *argv, char *const *environment)
{
    return broken("posix_spawnp", EAGAIN) ? errno : posix_spawnp(child, file, actions, attributes, argv, environment);
}

pid_t __wrap_waitpid(pid_t child, int *status, int flags)
{
    return broken("waitpid", EINTR) ? -1 : waitpid(child, status, flags);
}

/* ---- streams ---- */

typedef struct stream {
    FILE *file;
    int fd;
    struct stream *next;
} stream;
static stream *streams;

static ssize_t put(void *cookie, const char *bytes, size_t size)
{
    const stream *s = cookie;
    bool fails = broken("fwrite", ENOSPC);
    int error = errno;
    size_t left = fails ? size / 2 : size;
    while (left > 0) {
        ssize_t wrote = write(s->fd, bytes, left);
        if (wrote < 0) {
            return 0; /* an error, to fopencookie */
        }
        bytes += wrote;
        left -= (size_t)wrote;
    }
    errno = fails ? error : errno;
    return fails ? 0 : (ssize_t)size;
}

static int seek(void *cookie, off64_t *offset, int whence)
{
    *offset = lseek(((const stream *)cookie)->fd, *offset, whence);
    return *offset < 0 ? -1 : 0;
}

static FILE *through(int fd)
{
    stream *s = malloc(sizeof *s);
    FILE *f = s ? fopencookie(s, "w", (cookie_io_functions_t){.write = put, .seek = seek}) : NULL;
    if (!f) {
        abort(); /* of the test's own */
    }
    *s = (stream){f, fd, streams};
    streams = s;
    return f;
}

void fault_stdout(void)
{
    stdout = through(STDOUT_FILENO);
}

FILE *__wrap_fdopen(int fd, const char *mode)
{
    (void)mode; /* we open them for writing only */
    bool lacks = fault_strikes(FAULT_MEMORY, "fdopen");
    if (lacks) errno = ENOMEM;
    fault_hold(HELD_STREAMS, !lacks);
    return lacks ? NULL : through(fd);
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
    if (broken("fopen", EACCES)) return NULL;
    FILE *f = NULL;
    if (*mode == 'r') {
        f = fopen(path, mode);
    } else {
        int fd = opened(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
        f = fd < 0 ? NULL : through(fd);
    }
    fault_hold(HELD_STREAMS, f != NULL);
    return f;
}

DIR *__wrap_opendir(const char *path)
{
    DIR *d = broken("opendir", EACCES) ? NULL : opendir(path);
    fault_hold(HELD_STREAMS, d != NULL);
    return d;
}

int __wrap_closedir(DIR *d)
{
    fault_hold(HELD_STREAMS, -1);
    return closedir(d);
}

FILE *__wrap_open_memstream(char **text, size_t *size)
{
    if (fault_strikes(FAULT_MEMORY, "open_memstream")) {
        errno = ENOMEM;
        return NULL;
    }
    FILE *f = open_memstream(text, size);
    fault_hold(HELD_STREAMS, f != NULL);
    fault_hold(HELD_BLOCKS, f != NULL); /* its text */
    return f;
}

static stream **find(const FILE *f)
{
    stream **s = &streams;
    while (*s && (*s)->file != f) {
        s = &(*s)->next;
    }
    return s;
}

int __wrap_fclose(FILE *f)
{
    stream **at = find(f), *s = *at;
    bool fails = broken("fclose", EIO);
    int error = errno, result = fclose(f);
    fault_hold(HELD_STREAMS, -1);
    if (s) {
        *at = s->next;
        result |= close(s->fd);
        fault_hold(HELD_DESCRIPTORS, -1);
        free(s);
    }
    errno = fails ? error : errno;
    return fails ? -1 : result;
}

int __wrap_fileno(FILE *f)
{
    const stream *s = *find(f);
    return s ? s->fd : fileno(f);
}
