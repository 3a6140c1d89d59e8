/* wrap_sqlite.c - SQLite's memory and its calls of the system, through the hooks it has for tests of its own. */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- memory ---- */

static sqlite3_mem_methods real;

static void *take(int size)
{
    void *p = fault_strikes(FAULT_SQLITE, "sqlite malloc") ? NULL : real.xMalloc(size);
    fault_hold(HELD_SQLITE, p != NULL);
    return p;
}

static void *retake(void *p, int size)
{
    return fault_strikes(FAULT_SQLITE, "sqlite realloc") ? NULL : real.xRealloc(p, size);
}

static void give(void *p)
{
    fault_hold(HELD_SQLITE, p ? -1 : 0);
    real.xFree(p);
}

/* ---- files ---- */

static bool broken(const char *name, int error)
{
    bool strikes = fault_strikes(FAULT_DISK, name);
    if (strikes) fault_fail(error);
    return strikes;
}

static int disk_open(const char *path, int flags, int mode)
{
    return broken("sqlite open", EACCES) ? -1 : open(path, flags, mode);
}

static int disk_fstat(int fd, struct stat *s)
{
    return broken("sqlite fstat", EIO) ? -1 : fstat(fd, s);
}

static int disk_ftruncate(int fd, off_t size)
{
    return broken("sqlite ftruncate", EIO) ? -1 : ftruncate(fd, size);
}

/* It takes the locks, and one that cannot be had is waited for: it fails once only. */
static int disk_fcntl(int fd, int what, ...)
{
    static bool failed;
    va_list args;
    va_start(args, what);
    void *lock = va_arg(args, void *);
    va_end(args);
    bool fails = broken("sqlite fcntl", EIO) && !failed;
    failed = failed || fails;
    return fails ? -1 : fcntl(fd, what, lock);
}

static ssize_t disk_read(int fd, void *buffer, size_t size)
{
    return broken("sqlite read", EIO) ? -1 : read(fd, buffer, size);
}

static ssize_t disk_pread(int fd, void *buffer, size_t size, off_t from)
{
    return broken("sqlite pread", EIO) ? -1 : pread(fd, buffer, size, from);
}

/* What fails has written half. */
static ssize_t disk_write(int fd, const void *buffer, size_t size)
{
    if (!broken("sqlite write", ENOSPC)) return write(fd, buffer, size);
    return errno == EINTR || write(fd, buffer, size / 2) < 0 ? -1 : (fault_fail(ENOSPC), -1);
}

static ssize_t disk_pwrite(int fd, const void *buffer, size_t size, off_t at)
{
    if (!broken("sqlite pwrite", ENOSPC)) return pwrite(fd, buffer, size, at);
    return errno == EINTR || pwrite(fd, buffer, size / 2, at) < 0 ? -1 : (fault_fail(ENOSPC), -1);
}

static void *disk_mmap(void *at, size_t size, int protection, int flags, int fd, off_t from)
{
    return broken("sqlite mmap", ENOMEM) ? MAP_FAILED : mmap(at, size, protection, flags, fd, from);
}

void fault_sqlite(void)
{
    const struct {
        const char *name;
        sqlite3_syscall_ptr call;
    } calls[] = {
        {"open", (sqlite3_syscall_ptr)disk_open},           {"fstat", (sqlite3_syscall_ptr)disk_fstat},
        {"ftruncate", (sqlite3_syscall_ptr)disk_ftruncate}, {"fcntl", (sqlite3_syscall_ptr)disk_fcntl},
        {"read", (sqlite3_syscall_ptr)disk_read},           {"pread", (sqlite3_syscall_ptr)disk_pread},
        {"pread64", (sqlite3_syscall_ptr)disk_pread},       {"write", (sqlite3_syscall_ptr)disk_write},
        {"pwrite", (sqlite3_syscall_ptr)disk_pwrite},       {"pwrite64", (sqlite3_syscall_ptr)disk_pwrite},
        {"mmap", (sqlite3_syscall_ptr)disk_mmap},
    };
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real);
    sqlite3_mem_methods ours = real;
    ours.xMalloc = take;
    ours.xRealloc = retake;
    ours.xFree = give;
    sqlite3_vfs *vfs = sqlite3_config(SQLITE_CONFIG_MALLOC, &ours) == SQLITE_OK ? sqlite3_vfs_find(NULL) : NULL;
    for (size_t k = 0; vfs && k < sizeof calls / sizeof *calls; k++) {
        vfs->xSetSystemCall(vfs, calls[k].name, calls[k].call); /* one that this SQLite has not is left alone */
    }
    if (!vfs) abort();
}
