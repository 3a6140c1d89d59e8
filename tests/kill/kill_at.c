/* kill_at.c - loaded before a program (LD_PRELOAD), ends it as kill -9 would at one chosen moment that matters: just
 * before its KILL_AT'th call that changes a file, or in the middle of it if that writes (KILL_TORN: half of the bytes).
 * Without KILL_AT it counts these calls, and leaves their number in the file KILL_COUNT when the program ends.
 * KILL_NAMED: the file system knows no files without a name.
 * KILL_OFFERED: a file to which every row is added that SQLite is asked to insert, also one that is there already.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long calls;

static void end_now(void)
{
    kill(getpid(), SIGKILL);
    pause(); /* it may take a moment to arrive */
}

/* Whether this is the call; anything but a write ends here. */
static int is_it(int writes)
{
    const char *at = getenv("KILL_AT");
    int now = atomic_fetch_add(&calls, 1) + 1 == (at ? atol(at) : -1);
    if (now && !(writes && getenv("KILL_TORN"))) end_now();
    return now;
}

__attribute__((destructor)) static void tell(void)
{
    const char *name = getenv("KILL_COUNT");
    FILE *f = name ? fopen(name, "w") : NULL;
    if (f) {
        fprintf(f, "%ld\n", atomic_load(&calls));
        fclose(f);
    }
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at)
{
    int now = is_it(1);
    ssize_t wrote = REAL(pwrite64)(fd, bytes, now ? size / 2 : size, at);
    return now ? (end_now(), wrote) : wrote;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    return pwrite64(fd, bytes, size, at);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    int now = is_it(1);
    ssize_t wrote = REAL(write)(fd, bytes, now ? size / 2 : size);
    return now ? (end_now(), wrote) : wrote;
}

int fsync(int fd)
{
    is_it(0);
    return REAL(fsync)(fd);
}

int fdatasync(int fd)
{
    is_it(0);
    return REAL(fdatasync)(fd);
}

int ftruncate64(int fd, off64_t size)
{
    is_it(0);
    return REAL(ftruncate64)(fd, size);
}

int ftruncate(int fd, off_t size)
{
    return ftruncate64(fd, size);
}

int unlink(const char *path)
{
    is_it(0);
    return REAL(unlink)(path);
}

int rename(const char *from, const char *to)
{
    is_it(0);
    return REAL(rename)(from, to);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    is_it(0);
    return REAL(linkat)(from_folder, from, to_folder, to, flags);
}

static mode_t mode_of(int flags, va_list args)
{
    return flags & (O_CREAT | __O_TMPFILE) ? (mode_t)va_arg(args, int) : 0;
}

/* One that makes a file. */
int open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    if ((flags & O_TMPFILE) == O_TMPFILE && getenv("KILL_NAMED")) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (flags & O_CREAT) is_it(0);
    return REAL(open64)(path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return open64(path, flags, mode);
}

/* No header of SQLite is needed for three functions. */
typedef struct sqlite3_stmt sqlite3_stmt;
const char *sqlite3_sql(sqlite3_stmt *q);
char *sqlite3_expanded_sql(sqlite3_stmt *q);
void sqlite3_free(void *p);

int sqlite3_step(sqlite3_stmt *q)
{
    static int (*real)(sqlite3_stmt *);
    const char *name = getenv("KILL_OFFERED"), *sql = name ? REAL(sqlite3_sql)(q) : NULL;
    if (sql && strncmp(sql, "INSERT", 6) == 0) {
        char *row = REAL(sqlite3_expanded_sql)(q);
        FILE *f = row ? fopen(name, "a") : NULL;
        if (f) {
            fprintf(f, "%.300s\n", row); /* its key comes first */
            fclose(f);
        }
        REAL(sqlite3_free)(row);
    }
    real = real ? real : (int (*)(sqlite3_stmt *))dlsym(RTLD_NEXT, "sqlite3_step");
    return real(q);
}
