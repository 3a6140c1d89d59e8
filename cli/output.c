/* output.c - the files that a command writes: opened before the work starts, so that a folder without permission is
 * noticed at once, and replaced whole or not at all when it is finished (common/atomic_file.h).
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The names that the signal handler removes: a list that only grows, so that it can be read at any moment. */
enum { TEMPORARIES = 16 };
typedef struct chunk {
    char *volatile name[TEMPORARIES];
    struct chunk *volatile next;
} chunk;
static chunk temporaries;

static bool remember(const char *from, char *to)
{
    for (chunk *k = &temporaries; k; k = k->next) {
        for (int i = 0; i < TEMPORARIES; i++) {
            if (k->name[i] == from) {
                k->name[i] = to;
                return true;
            }
        }
    }
    chunk *more = from || !to ? NULL : calloc(1, sizeof *more);
    if (more) {
        more->name[0] = to;
        more->next = temporaries.next;
        temporaries.next = more;
    }
    return more;
}

static void remove_all(int (*how)(const char *path))
{
    for (const chunk *k = &temporaries; k; k = k->next) {
        for (int i = 0; i < TEMPORARIES; i++) {
            if (k->name[i]) how(k->name[i]);
        }
    }
}

void output_remove_temporaries(void)
{
    remove_all(unlink);
    remove_all(rmdir); /* a folder made here, now empty; for a file this fails, as it should */
}

void output_folder(const char *path, bool ours)
{
    remember(ours ? NULL : path, ours ? (char *)(uintptr_t)path : NULL);
}

/* The descriptor that a path names, or -1. Such a path must not be replaced like a file, because other output to the
 * same descriptor would be lost. */
static int descriptor_of(const char *path)
{
    static const char *const FOLDERS[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0) return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0) return STDERR_FILENO;
    for (size_t k = 0; k < sizeof FOLDERS / sizeof *FOLDERS; k++) {
        const char *digits = path + strlen(FOLDERS[k]);
        if (strncmp(path, FOLDERS[k], strlen(FOLDERS[k])) == 0 && *digits && strlen(digits) < 6 &&
            !digits[strspn(digits, "0123456789")]) {
            return (int)strtol(digits, NULL, 10);
        }
    }
    return -1;
}

bool names_stdout(const char *path)
{
    return descriptor_of(path) == STDOUT_FILENO;
}

/* A signal interrupts a blocked write and requests a stop. A reader of standard output that has enough, as head has, is no
 * failure to report: the exit code is that of other programs, which the signal would have ended. */
static int unwritable(const char *path)
{
    const char *name = names_stdout(path) ? "standard output" : path;
    if (errno == EPIPE && names_stdout(path)) return CODE_SIGNAL + SIGPIPE;
    if (errno == EINTR && watch_signal()) {
        return complain(CODE_SIGNAL + watch_signal(), "stopped while writing %s", name);
    }
    return complain(errno == ENOMEM ? CODE_NUMERIC : CODE_FILE, "cannot write %s: %s", name,
                    errno == ENOENT ? "its folder is not there; make it, or name another file"
                    : errno         ? strerror(errno)
                                    : "write error");
}

/* The name at the end of a path; what comes before it, with the slash, is its folder. */
static const char *name_in(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void block_signals(sigset_t *old)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, old);
}

static FILE *stream_of(int fd)
{
    FILE *file = fd < 0 ? NULL : fdopen(fd, "wb");
    if (fd >= 0 && !file) {
        int why = errno;
        close(fd);
        errno = why;
    }
    return file;
}

/* The temporary name is known to the signal handler before there is a file of that name. */
static FILE *open_atomic(output *o)
{
    if (epiqp_atomic_plan(&o->atomic, o->path) != 0) return NULL;
    if (o->atomic.temporary && !remember(NULL, o->atomic.temporary)) {
        errno = ENOMEM;
        return NULL;
    }
    return stream_of(epiqp_atomic_open(&o->atomic, o->path));
}

/* Of the file at path, which need not exist. */
static bool stat_folder(const char *path, struct stat *folder)
{
    char name[PATH_MAX];
    int length = (int)(name_in(path) - path);
    bool fits = snprintf(name, sizeof name, "%.*s", length ? length : 1, length ? path : ".") < PATH_MAX;
    return fits && stat(name, folder) == 0;
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The path with all links resolved, whether the file exists or not: if not, glibc's realpath fails but has written
 * the name. */
static const char *end_of(const char *path, char end[static PATH_MAX])
{
    *end = '\0';
    return realpath(path, end) || (errno == ENOENT && *end) ? end : path;
}

bool same_file(const char *a, const char *b)
{
    struct stat sa, sb;
    char ends[2][PATH_MAX];
    if (stat(a, &sa) == 0 && stat(b, &sb) == 0) return S_ISREG(sa.st_mode) && same_inode(&sa, &sb);
    a = end_of(a, ends[0]);
    b = end_of(b, ends[1]);
    return strcmp(name_in(a), name_in(b)) == 0 && stat_folder(a, &sa) && stat_folder(b, &sb) && same_inode(&sa, &sb);
}

bool same_output(const char *a, const char *b)
{
    return (names_stdout(a) && names_stdout(b)) || same_file(a, b);
}

bool lies_in(const char *path, const char *folder)
{
    struct stat its, that;
    return stat_folder(path, &its) && stat(folder, &that) == 0 && same_inode(&its, &that);
}

/* Whether the input of this name, which may be standard input, is the file at path. */
static bool reads(const char *input, const char *path)
{
    struct stat in, file;
    return strcmp(input, "-") == 0 ? fstat(STDIN_FILENO, &in) == 0 && S_ISREG(in.st_mode) && stat(path, &file) == 0 &&
                                         same_inode(&in, &file)
                                   : same_file(path, input);
}

/* Whether path is the state file or a file that SQLite keeps with it. */
static bool is_state(const char *state, const char *path)
{
    static const char *const BESIDE[] = {"", "-wal", "-shm", "-journal"};
    char name[PATH_MAX];
    for (size_t k = 0; k < sizeof BESIDE / sizeof *BESIDE; k++) {
        if (snprintf(name, sizeof name, "%s%s", state, BESIDE[k]) < (int)sizeof name && same_file(path, name)) {
            return true;
        }
    }
    return false;
}

/* What the file at path is already used for ("the data", "a file of points", "the state"), or NULL. */
static const char *taken(const cli *c, const char *path)
{
    for (ptrdiff_t i = 0; i < c->given_count; i++) {
        if (args_points(c, i) && reads(c->given[i].value, path)) return "a file of points";
        if (args_input(c, i) && reads(c->given[i].value, path)) return "an input";
    }
    return c->operand2 && reads(c->operand2, path) ? "a file of rows to predict at"
           : c->verb->reads && c->operand && reads(c->operand, path)
               ? c->operand2 ? "the model itself" : "the data itself"
           : c->options.state && is_state(c->options.state, path) ? "the state"
                                                                  : NULL;
}

int output_open(output *o, const char *path, const cli *c)
{
    *o = (output){.path = path};
    const int descriptor = descriptor_of(path);
    if (descriptor == STDOUT_FILENO) {
        o->file = stdout;
        return CODE_OK;
    }
    const char *what = taken(c, path);
    if (what) return complain(CODE_FILE, "%s is %s; name another file for the output", path, what);
    errno = 0;
    o->file = descriptor >= 0 ? stream_of(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) : open_atomic(o);
    if (!o->file) {
        int code = unwritable(path);
        output_drop(o, 1);
        return code;
    }
    return CODE_OK;
}

void output_drop(output *list, int count)
{
    for (output *o = list; o < list + count; o++) {
        if (o->file && !names_stdout(o->path)) fclose(o->file);
        sigset_t old;
        block_signals(&old); /* the handler removes the file or does not know of it */
        if (o->atomic.temporary) remember(o->atomic.temporary, NULL);
        epiqp_atomic_free(&o->atomic);
        sigprocmask(SIG_SETMASK, &old, NULL);
        *o = (output){.path = o->path};
    }
}

/* Whether everything was written; otherwise errno is set. If an earlier write failed, a byte more is written, so that there is
 * something to flush, which normally fails too and sets errno; where it does not, errno of the earlier failure is used. */
static bool flushed(FILE *file)
{
    bool lost = ferror(file), stopped = lost && watch_signal();
    int earlier = stopped ? EINTR : lost ? errno : 0;
    if (lost && !stopped) putc('\n', file);
    bool good = stopped || fflush(file) == 0;
    errno = good ? earlier : errno;
    if (watch_signal() && (lost || !good)) {
        __fpurge(file); /* the reader is gone; drop the buffer so that exit() does not block */
    }
    return good && !lost;
}

/* Writes everything to disk, or to the pipe, but gives no name yet. A file without a name stays open: closed, it
 * would be lost. */
static int settle(output *o)
{
    bool bad = !flushed(o->file) || epiqp_atomic_sync(&o->atomic, fileno(o->file)) != 0;
    bool nameless = o->atomic.target && !o->atomic.named;
    if (!names_stdout(o->path) && !nameless) {
        bad = fclose(o->file) != 0 || bad;
        o->file = NULL;
    }
    return bad ? unwritable(o->path) : CODE_OK;
}

int output_end(output *list, int count, int code)
{
    sigset_t old;
    for (int i = 0; i < count && !code; i++) {
        code = list[i].file ? settle(&list[i]) : CODE_OK;
    }
    block_signals(&old); /* a signal between two names would leave some of the files replaced and others not */
    for (int i = 0; i < count && !code; i++) {
        output *o = &list[i];
        bool good = epiqp_atomic_commit(&o->atomic, o->file ? fileno(o->file) : -1) == 0;
        code = good ? CODE_OK : unwritable(o->path);
    }
    sigprocmask(SIG_SETMASK, &old, NULL);
    output_drop(list, count);
    return code;
}

int output_stdout(void)
{
    return flushed(stdout) ? CODE_OK : unwritable("-");
}
