/* output.c - results reach their file whole or not at all: a file without a name in the same folder gets the name when
 * it is finished; where the file system knows no such files, a temporary one beside it is renamed.
 * It is opened before the work starts, so that a folder without permission costs seconds and not hours.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What to remove, for the signal handler: a chain that only grows, so that it can be read at any moment. */
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
            if (k->name[i]) {
                how(k->name[i]);
            }
        }
    }
}

void output_remove_temporaries(void)
{
    remove_all(unlink);
    remove_all(rmdir); /* a folder of ours, now empty; of a file this fails, as it should */
}

void output_folder(const char *path, bool ours)
{
    remember(ours ? NULL : path, ours ? (char *)(uintptr_t)path : NULL);
}

/* The descriptor that a path names, -1: none. Taken for the file behind it, that file would be replaced, and what else goes
 * there be lost. */
static int descriptor_of(const char *path)
{
    static const struct {
        const char *name;
        int number;
    } KNOWN[] = {{"-", STDOUT_FILENO}, {"/dev/stdout", STDOUT_FILENO}, {"/dev/stderr", STDERR_FILENO}};
    static const char *const FOLDERS[] = {"/dev/fd/", "/proc/self/fd/"};
    for (size_t k = 0; k < sizeof KNOWN / sizeof *KNOWN; k++) {
        if (strcmp(path, KNOWN[k].name) == 0) {
            return KNOWN[k].number;
        }
    }
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

static bool is_stdout(const output *o)
{
    return names_stdout(o->path);
}

/* Signals interrupt a write that waits, and ask us to stop. */
static int unwritable(const char *path)
{
    const char *name = names_stdout(path) ? "standard output" : path;
    if (errno == EINTR && watch_signal()) {
        return complain(CODE_SIGNAL + watch_signal(), "stopped while writing %s", name);
    }
    return complain(errno == ENOMEM ? CODE_NUMERIC : CODE_FILE, "cannot write %s: %s", name,
                    errno ? strerror(errno) : "write error");
}

static void forget(output *o)
{
    remember(o->temporary, NULL);
    free(o->temporary);
    free(o->target);
    *o = (output){.path = o->path};
}

/* The name at the end of a path; what comes before it, with the slash, is its folder. */
static const char *name_in(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The folder of a path, which need not be there; false: its name is too long. */
static bool folder_of(const char *path, char name[static PATH_MAX])
{
    int length = (int)(name_in(path) - path);
    return snprintf(name, PATH_MAX, "%.*s", length ? length : 1, length ? path : ".") < PATH_MAX;
}

static void block_signals(sigset_t *old)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, old);
}

/* A name beside the target that nobody can guess, so that it may be remembered before there is a file. */
static int name_temporary(output *o)
{
    uint64_t number;
    if (getentropy(&number, sizeof number) != 0 ||
        asprintf(&o->temporary, "%.*s.epiq-%016" PRIx64, (int)(name_in(o->target) - o->target), o->target, number) <
            0) {
        o->temporary = NULL;
        return -1;
    }
    if (!remember(NULL, o->temporary)) {
        free(o->temporary);
        o->temporary = NULL;
        errno = ENOMEM;
        return -1;
    }
    return 0;
}

/* Without a name, where the file system can: whoever is killed leaves nothing behind. Nobody else may read it yet. */
static int open_beside(output *o)
{
    char folder[PATH_MAX];
    bool nameable = folder_of(o->target, folder) && access("/proc/self/fd", X_OK) == 0;
    int fd = nameable ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
    o->nameless = fd >= 0;
    return fd >= 0 ? fd : open(o->temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
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

/* The file a link points to is replaced, not the link; devices and pipes are written as they are. */
static int open_in_place_of(output *o)
{
    struct stat before = {.st_mode = 0};
    bool exists = stat(o->path, &before) == 0;
    if (!exists && errno != ENOENT) {
        return -1;
    }
    if (exists && S_ISDIR(before.st_mode)) {
        errno = EISDIR;
        return -1;
    }
    if (exists && !S_ISREG(before.st_mode)) {
        o->file =
            stream_of(open(o->path, O_WRONLY | O_NOCTTY | O_CLOEXEC)); /* no O_TRUNC, should it be a file by now */
        return o->file ? 0 : -1;
    }
    if (exists && access(o->path, W_OK) != 0) {
        return -1;
    }
    o->target = exists ? realpath(o->path, NULL) : strdup(o->path);
    int fd = o->target && name_temporary(o) == 0 ? open_beside(o) : -1;
    if (fd < 0) {
        return -1;
    }
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, exists ? before.st_mode & 0777 : 0666 & ~mask); /* may fail on odd file systems: then it stays private */
    o->file = stream_of(fd);
    return o->file ? 0 : -1;
}

static bool stat_folder(const char *path, struct stat *folder)
{
    char name[PATH_MAX];
    return folder_of(path, name) && stat(name, folder) == 0;
}

static bool same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Where a path leads, past links, be there a file or not: then glibc's realpath fails, but has written the name. */
static const char *end_of(const char *path, char end[static PATH_MAX])
{
    *end = '\0';
    return realpath(path, end) || (errno == ENOENT && *end) ? end : path;
}

bool same_file(const char *a, const char *b)
{
    struct stat sa, sb;
    char ends[2][PATH_MAX];
    if (stat(a, &sa) == 0 && stat(b, &sb) == 0) {
        return S_ISREG(sa.st_mode) && same_inode(&sa, &sb);
    }
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

/* Is what the command reads under this name, be it standard input, the file at path? */
static bool reads(const char *input, const char *path)
{
    struct stat in, file;
    return strcmp(input, "-") == 0 ? fstat(STDIN_FILENO, &in) == 0 && S_ISREG(in.st_mode) && stat(path, &file) == 0 &&
                                         same_inode(&in, &file)
                                   : same_file(path, input);
}

/* The state, or what SQLite keeps beside it. */
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

/* What the command reads or keeps that is this file too: "the data", "a file of points", "the state"; else NULL. */
static const char *taken(const cli *c, const char *path)
{
    for (ptrdiff_t i = 0; i < c->given_count; i++) {
        if (args_points(c, i) && reads(c->given[i].value, path)) {
            return "a file of points";
        }
        if (args_input(c, i) && reads(c->given[i].value, path)) {
            return "an input";
        }
    }
    return c->second && reads(c->second, path) ? "a file of rows to predict at"
           : c->verb->reads && c->operand && reads(c->operand, path)
               ? c->second ? "the model itself" : "the data itself"
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
    if (what) {
        return complain(CODE_FILE, "%s is %s; name another file for the output", path, what);
    }
    errno = 0;
    if (descriptor >= 0) {
        o->file = stream_of(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    } else {
        open_in_place_of(o);
    }
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
        if (o->file && !is_stdout(o)) {
            fclose(o->file);
        }
        if (o->temporary) {
            unlink(o->temporary); /* which is not there if the file has its name, or none */
        }
        forget(o);
    }
}

/* All of it has gone out; else errno says why not. If an earlier write failed so does this one, with its own reason, unless
 * nothing was left to write: then that was the last thing to fail. */
static bool flushed(FILE *file)
{
    bool lost = ferror(file), stopped = lost && watch_signal();
    int earlier = stopped ? EINTR : lost ? errno : 0;
    bool good = stopped || fflush(file) == 0;
    errno = good ? earlier : errno;
    if (watch_signal() && (lost || !good)) {
        __fpurge(file); /* who does not read is not waited for again, at exit either */
    }
    return good && !lost;
}

/* On disk (or in the pipe), but not yet under its name. */
static int settle(output *o)
{
    bool bad = !flushed(o->file);
    bad = bad || (o->target && fsync(fileno(o->file)) != 0 && errno != EINVAL); /* EINVAL: it cannot be synced */
    if (!is_stdout(o) && !o->nameless) {                                        /* closed, it would be gone */
        bad = fclose(o->file) != 0 || bad;
        o->file = NULL;
    }
    return bad ? unwritable(o->path) : CODE_OK;
}

/* What has no name gets the target's, or if that is taken the one beside it, since a link cannot replace. No memory is
 * asked for: of several files none would be the last to fail. */
static int give_name(output *o)
{
    char self[64];
    if (o->nameless) {
        snprintf(self, sizeof self, "/proc/self/fd/%d", fileno(o->file));
        if (linkat(AT_FDCWD, self, AT_FDCWD, o->target, AT_SYMLINK_FOLLOW) == 0) {
            return 0;
        }
        if (errno != EEXIST || linkat(AT_FDCWD, self, AT_FDCWD, o->temporary, AT_SYMLINK_FOLLOW) != 0) {
            return -1;
        }
    }
    return o->target ? rename(o->temporary, o->target) : 0;
}

int output_commit(output *list, int count)
{
    int code = CODE_OK;
    sigset_t old;
    for (int i = 0; i < count && !code; i++) {
        code = settle(&list[i]);
    }
    block_signals(&old); /* between two names is no place to stop */
    for (int i = 0; i < count && !code; i++) {
        code = give_name(&list[i]) == 0 ? CODE_OK : unwritable(list[i].path);
    }
    sigprocmask(SIG_SETMASK, &old, NULL);
    output_drop(list, count);
    return code;
}

int output_stdout(void)
{
    return flushed(stdout) ? CODE_OK : unwritable("-");
}
