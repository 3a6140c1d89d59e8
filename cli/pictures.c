/* pictures.c - every picture of a result as a file of its own: SVG from report/, and PNG made of it by the program
 * rsvg-convert, one process a picture, as many at a time as there are cores.
 */
#include "cli/cli.h"
#include "report/estimate_pictures.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
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
    if ((errno = posix_spawn_file_actions_init(&actions)) != 0) {
        return -1;
    }
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

/* ---- before the work ---- */

int pictures_prepare(picture_files *f, const cli *c)
{
    const char *format = args_value(c, "picture-format");
    if (format && strcmp(format, "both") != 0 && strcmp(format, "svg") != 0) {
        return complain(CODE_USAGE, "--picture-format is \"%s\"; it must be both or svg", format);
    }
    *f = (picture_files){.folder = args_value(c, "pictures"), .png = !format || strcmp(format, "both") == 0};
    if (!f->folder) {
        return format ? complain(CODE_USAGE, "--picture-format needs --pictures DIR, the folder to write them to")
                      : CODE_OK;
    }
    char *const version[] = {(char *)(uintptr_t)CONVERTER, (char *)(uintptr_t) "--version", NULL};
    if (f->png && !ended_well(start_converter(version, -1, -1))) {
        return complain(CODE_FILE,
                        "PNG pictures are made by the program rsvg-convert, which is not there; install the package "
                        "librsvg2-bin, or use --picture-format svg");
    }
    struct stat s;
    f->made = mkdir(f->folder, 0777) == 0;
    if (!f->made && (errno != EEXIST || stat(f->folder, &s) != 0)) {
        return complain(CODE_FILE, "cannot make the folder %s: %s", f->folder, strerror(errno));
    }
    if (!f->made && !S_ISDIR(s.st_mode)) {
        return complain(CODE_FILE, "%s is not a folder; name another for --pictures", f->folder);
    }
    if (access(f->folder, W_OK | X_OK) != 0) {
        return complain(CODE_FILE, "cannot write into the folder %s: %s", f->folder, strerror(errno));
    }
    return CODE_OK;
}

/* ---- after it ---- */

static int open_file(picture_files *f, const cli *c, const char *name, const char *ending)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s.%s", f->folder, name, ending) < 0) {
        return complain(CODE_NUMERIC, "no memory for the names of the pictures");
    }
    int code = output_open(&f->files[f->count], path, c);
    f->files[f->count++].path = path; /* freed by pictures_end */
    return code;
}

/* Each SVG, and beside it the PNG that is to come of it. */
static int write_drawings(picture_files *f, const cli *c, const pictures *set)
{
    int code = CODE_OK;
    for (ptrdiff_t i = 0; !code && i < pictures_count(set); i++) {
        const picture *p = pictures_get(set, i);
        svg_panel panel = p->panel;
        panel.title = p->title; /* there is no page around it to say what it is */
        code = open_file(f, c, p->name, "svg");
        if (!code) {
            svg_write(f->files[f->count - 1].file, &panel);
        }
        if (!code && fflush(f->files[f->count - 1].file) != 0) {
            code = complain(CODE_FILE, "cannot write %s: %s", f->files[f->count - 1].path, strerror(errno));
        }
        if (!code && f->png) {
            code = open_file(f, c, p->name, "png");
        }
    }
    return code;
}

static pid_t convert(const output *svg, const output *png)
{
    char *const arguments[] = {(char *)(uintptr_t)CONVERTER, (char *)(uintptr_t) "--zoom", (char *)(uintptr_t) "2",
                               NULL};
    rewind(svg->file);
    return start_converter(arguments, fileno(svg->file), fileno(png->file));
}

static int convert_all(const picture_files *f)
{
    enum { AT_ONCE = 16 };
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int most = cores < 1 ? 1 : cores > AT_ONCE ? AT_ONCE : (int)cores;
    const output *bad = NULL;
    for (int i = 0; i < f->count && !bad; i += 2 * most) {
        pid_t child[AT_ONCE];
        int count = 0;
        for (int k = i; k < f->count && count < most; k += 2) {
            child[count++] = convert(&f->files[k], &f->files[k + 1]);
        }
        for (int k = 0; k < count; k++) {
            bool good = ended_well(child[k]);
            bad = good || bad ? bad : &f->files[i + 2 * k + 1];
        }
    }
    if (bad && watch_signal()) {
        return complain(CODE_SIGNAL + watch_signal(), "stopped");
    }
    return bad ? complain(CODE_FILE, "rsvg-convert could not make %s; --picture-format svg does without it", bad->path)
               : CODE_OK;
}

int pictures_write(picture_files *f, const cli *c, const epiq_result *r, const report_run *run)
{
    pictures *set = report_estimate_pictures(r, run);
    f->files = set ? calloc((size_t)(2 * pictures_count(set) + 1), sizeof *f->files) : NULL;
    int code = f->files ? write_drawings(f, c, set) : complain(CODE_NUMERIC, "no memory for the pictures");
    if (!code && f->png) {
        code = convert_all(f);
    }
    pictures_free(set);
    return code;
}

void pictures_end(picture_files *f, bool good)
{
    for (int i = 0; i < f->count; i++) {
        char *path = (char *)(uintptr_t)f->files[i].path;
        output_drop(&f->files[i], 1);
        free(path);
    }
    free(f->files);
    if (f->made && !good) {
        rmdir(f->folder); /* stays if someone else put something there */
    }
}
