/* pictures.c - every picture of a result as a file of its own: SVG from report/, and PNG made of it by the program
 * rsvg-convert, one process a picture, as many at a time as there are cores.
 */
#include "chart/pictures.h"
#include "cli/question.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *const CONVERTER = "rsvg-convert";

/* Starts the converter between two open files (-1: /dev/null) and returns its process; -1 with errno. */
static pid_t start_converter(char *const *arguments, int from, int to)
{
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    if ((errno = posix_spawn_file_actions_init(&actions)) != 0) return -1;
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (from >= 0) {
        posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
    } else {
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    }
    errno = posix_spawnp(&child, CONVERTER, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return errno ? -1 : child;
}

static bool ended_well(pid_t child)
{
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- as they are drawn ---- */

static int open_file(outputs *o, const char *name, const char *ending)
{
    char *path = NULL;
    output *files = realloc(o->files, (size_t)(o->count + 1) * sizeof *files);
    o->files = files ? files : o->files;
    if (!files || asprintf(&path, "%s/%s.%s", o->folder, name, ending) < 0) {
        return complain(CODE_NUMERIC, "no memory for the names of the pictures");
    }
    int code = output_open(&files[o->count], path, o->cli);
    files[o->count++].path = path; /* freed by outputs_drop */
    return code;
}

/* In any case of letters: some file systems ignore it. */
static bool in_use(const outputs *o, const char *name)
{
    const size_t folder = strlen(o->folder) + 1, length = strlen(name);
    for (int k = OUTPUT_KINDS; k < o->count; k++) {
        const char *other = o->files[k].path + folder;
        if (strncasecmp(other, name, length) == 0 && other[length] == '.') return true;
    }
    return false;
}

/* The SVG, and beside it the PNG that is to come of it. */
static void keep(svg_album *a, const svg_panel *p)
{
    outputs *o = (outputs *)a;
    char plain[80], name[96];
    picture_name(plain, sizeof plain, p);
    snprintf(name, sizeof name, "%s", plain);
    for (int k = 2; in_use(o, name); k++) {
        snprintf(name, sizeof name, "%s-%d", plain, k);
    }
    o->code = o->code ? o->code : open_file(o, name, "svg");
    if (o->code) return;
    const output *svg = &o->files[o->count - 1];
    svg_write(svg->file, p);
    if (fflush(svg->file) != 0) {
        o->code = complain(CODE_FILE, "cannot write %s: %s", svg->path, strerror(errno));
    } else if (o->png) {
        o->code = open_file(o, name, "png");
    }
}

/* ---- before the work ---- */

int pictures_prepare(outputs *o)
{
    int format = 0, code = args_choice(o->cli, "picture-format", &format);
    if (code) return code;
    o->folder = args_value(o->cli, "pictures");
    o->png = format == 0;
    o->album.keep = o->folder ? keep : NULL;
    if (!o->folder) {
        return args_value(o->cli, "picture-format")
                   ? complain(CODE_USAGE, "--picture-format needs --pictures DIR, the folder to write them to")
                   : CODE_OK;
    }
    char *const version[] = {(char *)(uintptr_t)CONVERTER, (char *)(uintptr_t) "--version", NULL};
    if (o->png && !ended_well(start_converter(version, -1, -1))) {
        return watch_signal()
                   ? complain(CODE_SIGNAL + watch_signal(), "stopped")
                   : complain(CODE_FILE, "PNG pictures are made by the program rsvg-convert, which is not there; "
                                         "install the package librsvg2-bin, or use --picture-format svg");
    }
    struct stat s;
    o->made = mkdir(o->folder, 0777) == 0;
    if (o->made) output_folder(o->folder, true);
    if (!o->made && (errno != EEXIST || stat(o->folder, &s) != 0)) {
        return complain(CODE_FILE, "cannot make the folder %s: %s", o->folder, strerror(errno));
    }
    if (!o->made && !S_ISDIR(s.st_mode)) {
        return complain(CODE_FILE, "%s is not a folder; name another for --pictures", o->folder);
    }
    if (access(o->folder, W_OK | X_OK) != 0) {
        return complain(CODE_FILE, "cannot write into the folder %s: %s", o->folder, strerror(errno));
    }
    return CODE_OK;
}

/* ---- after it ---- */

static pid_t convert(const output *svg, const output *png)
{
    char *const arguments[] = {(char *)(uintptr_t)CONVERTER, (char *)(uintptr_t) "--zoom", (char *)(uintptr_t) "2",
                               NULL};
    rewind(svg->file);
    return start_converter(arguments, fileno(svg->file), fileno(png->file));
}

static int convert_all(const outputs *o)
{
    enum { AT_ONCE = 16 };
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int most = cores < 1 ? 1 : cores > AT_ONCE ? AT_ONCE : (int)cores;
    const output *bad = NULL;
    for (int i = OUTPUT_KINDS; i < o->count && !bad && !watch_signal(); i += 2 * most) {
        pid_t child[AT_ONCE];
        int count = 0;
        for (int k = i; k < o->count && count < most; k += 2) {
            child[count++] = convert(&o->files[k], &o->files[k + 1]);
        }
        for (int k = 0; k < count; k++) {
            bool good = ended_well(child[k]);
            bad = good || bad ? bad : &o->files[i + 2 * k + 1];
        }
    }
    if (watch_signal()) return complain(CODE_SIGNAL + watch_signal(), "stopped");
    return bad ? complain(CODE_FILE, "rsvg-convert could not make %s; --picture-format svg does without it", bad->path)
               : CODE_OK;
}

int pictures_finish(outputs *o)
{
    if (!o->code && o->album.incomplete) {
        o->code = complain(CODE_NUMERIC, "no memory for the page and its pictures; do without --report and --pictures");
    }
    return o->code || !o->folder || !o->png ? o->code : convert_all(o);
}
