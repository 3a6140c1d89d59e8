/* output.c - results reach their file whole or not at all: a file without a name in the same folder gets the name when
 * it is finished; where the file system knows no such files, a temporary one beside it is renamed.
 * It is opened before the work starts, so that a folder without permission costs seconds and not hours.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
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

static void remember(const char *from, char *to)
{
    chunk *last = &temporaries;
    for (chunk *k = last; k; last = k, k = k->next) {
        for (int i = 0; i < TEMPORARIES; i++) {
            if (k->name[i] == from) {
                k->name[i] = to;
                return;
            }
        }
    }
    chunk *more = from || !to ? NULL : calloc(1, sizeof *more);
    if (more) {
        more->name[0] = to;
        last->next = more;
    }
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

static bool is_stdout(const output *o)
{
    return strcmp(o->path, "-") == 0;
}

static int unwritable(const char *path)
{
    const char *name = strcmp(path, "-") == 0 ? "standard output" : path;
    return complain(CODE_FILE, "cannot write %s: %s", name, errno ? strerror(errno) : "write error");
}

static void forget(output *o)
{
    remember(o->temporary, NULL);
    free(o->temporary);
    free(o->target);
    *o = (output){.path = o->path};
}

/* Characters of the folder at its start, with the slash. */
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) + 1 : 0;
}

/* Opened, and not yet under any name: whoever is killed now leaves nothing behind. */
static bool nameless(const output *o)
{
    return o->target && !o->temporary && o->file;
}

static int open_nameless(const char *target)
{
    int length = folder_length(target);
    char *folder = length ? strndup(target, (size_t)length) : strdup(".");
    bool nameable = access("/proc/self/fd", X_OK) == 0;
    int fd = folder && nameable ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
    free(folder);
    return fd;
}

static int open_temporary(output *o)
{
    if (asprintf(&o->temporary, "%.*s.epiq-XXXXXX", folder_length(o->target), o->target) < 0) {
        o->temporary = NULL;
        return -1;
    }
    sigset_t all, old;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &old);         /* no signal between the file's birth and its being remembered */
    int fd = mkostemp(o->temporary, O_CLOEXEC); /* a name nobody can guess, and nobody else may read it yet */
    if (fd >= 0) {
        remember(NULL, o->temporary);
    }
    sigprocmask(SIG_SETMASK, &old, NULL);
    return fd;
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
        int device = open(o->path, O_WRONLY | O_NOCTTY | O_CLOEXEC); /* no O_TRUNC, should it be a file by now */
        o->file = device < 0 ? NULL : fdopen(device, "wb");
        return o->file ? 0 : -1;
    }
    if (exists && access(o->path, W_OK) != 0) {
        return -1;
    }
    o->target = exists ? realpath(o->path, NULL) : strdup(o->path);
    int fd = o->target ? open_nameless(o->target) : -1;
    fd = fd < 0 && o->target ? open_temporary(o) : fd;
    if (fd < 0) {
        return -1;
    }
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, exists ? before.st_mode & 0777 : 0666 & ~mask); /* may fail on odd file systems: then it stays private */
    o->file = fdopen(fd, "wb");
    return o->file ? 0 : -1;
}

/* The folder's real path and the name in it; NULL if there is no such folder. */
static char *whole_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("."), *real = NULL, *whole = NULL;
    if (folder && (real = realpath(folder, NULL)) && asprintf(&whole, "%s/%s", real, slash ? slash + 1 : path) < 0) {
        whole = NULL;
    }
    free(real);
    free(folder);
    return whole;
}

bool same_file(const char *a, const char *b)
{
    struct stat sa, sb;
    if (stat(a, &sa) == 0 && stat(b, &sb) == 0) {
        return S_ISREG(sa.st_mode) && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
    }
    char *whole_a = whole_path(a), *whole_b = whole_path(b);
    bool same = whole_a && whole_b && strcmp(whole_a, whole_b) == 0;
    free(whole_a);
    free(whole_b);
    return same;
}

/* What the command reads or keeps that is this file too: "the data", "a file of points", "the state"; else NULL. */
static const char *taken(const cli *c, const char *path)
{
    for (ptrdiff_t i = 0; i < c->given_count; i++) {
        if (args_points(c, i) && same_file(path, c->given[i].value)) {
            return "a file of points";
        }
        if (args_input(c, i) && same_file(path, c->given[i].value)) {
            return "an input";
        }
    }
    return c->second && same_file(path, c->second) ? "a file of rows to predict at"
           : c->verb->reads && c->operand && same_file(path, c->operand)
               ? c->second ? "the model itself" : "the data itself"
           : c->options.state && same_file(path, c->options.state) ? "the state"
                                                                   : NULL;
}

int output_open(output *o, const char *path, const cli *c)
{
    *o = (output){.path = path};
    if (is_stdout(o)) {
        o->file = stdout;
        return CODE_OK;
    }
    const char *what = taken(c, path);
    if (what) {
        return complain(CODE_FILE, "%s is %s; name another file for the output", path, what);
    }
    errno = 0;
    if (open_in_place_of(o) != 0) {
        int code = unwritable(path);
        output_drop(o, 1);
        return code;
    }
    return CODE_OK;
}

static void close_file(output *o)
{
    if (o->file && !is_stdout(o)) {
        fclose(o->file);
    }
}

void output_drop(output *list, int count)
{
    for (output *o = list; o < list + count; o++) {
        close_file(o);
        if (o->temporary) {
            unlink(o->temporary);
        }
        forget(o);
    }
}

/* On disk (or in the pipe), but not yet under its name. */
static int settle(output *o)
{
    bool bad = ferror(o->file) || fflush(o->file) != 0;
    bad = bad || (o->target && fsync(fileno(o->file)) != 0 && errno != EINVAL); /* EINVAL: it cannot be synced */
    if (!is_stdout(o) && !nameless(o)) {                                        /* closed, it would be gone */
        bad = fclose(o->file) != 0 || bad;
        o->file = NULL;
    }
    return bad ? unwritable(o->path) : CODE_OK;
}

/* A name for what has none: the target's, or if that is taken one beside it, since a link cannot replace. It cannot be
 * guessed, so that it may be remembered before it is there. */
static int link_nameless(output *o)
{
    char self[64];
    uint64_t number;
    snprintf(self, sizeof self, "/proc/self/fd/%d", fileno(o->file));
    if (linkat(AT_FDCWD, self, AT_FDCWD, o->target, AT_SYMLINK_FOLLOW) == 0) {
        return 0;
    }
    if (errno != EEXIST || getentropy(&number, sizeof number) != 0 ||
        asprintf(&o->temporary, "%.*s.epiq-%016" PRIx64, folder_length(o->target), o->target, number) < 0) {
        o->temporary = NULL;
        return -1;
    }
    remember(NULL, o->temporary);
    return linkat(AT_FDCWD, self, AT_FDCWD, o->temporary, AT_SYMLINK_FOLLOW);
}

static int give_name(output *o)
{
    if (nameless(o) && link_nameless(o) != 0) {
        return -1;
    }
    return o->temporary ? rename(o->temporary, o->target) : 0;
}

int output_commit(output *list, int count)
{
    int code = CODE_OK;
    for (int i = 0; i < count && !code; i++) {
        code = settle(&list[i]);
    }
    for (int i = 0; i < count && !code; i++) {
        if (give_name(&list[i]) != 0) {
            code = unwritable(list[i].path);
        } else {
            close_file(&list[i]);
            forget(&list[i]);
        }
    }
    output_drop(list, count);
    return code;
}

int output_stdout(void)
{
    return ferror(stdout) || fflush(stdout) != 0 ? unwritable("-") : CODE_OK;
}
