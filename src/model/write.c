/* write.c - a model as a file in the safetensors layout (docs/model-file.md): 8 bytes with the length of a JSON header,
 * the header, and the tensors as they lie in memory.
 */
#include "data/table.h"
#include "model/model.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const void *start_of(const epiqp_tensor *t)
{
    const void *at;
    memcpy(&at, t->at, sizeof at);
    return at;
}

typedef struct {
    epiq_ctx *c;
    char *text;
    ptrdiff_t size, room;
    int status;
} writer;

static void put(writer *w, const char *text, ptrdiff_t size)
{
    char *grown = w->status ? NULL : epiqp_grown(w->c, w->text, &w->room, w->size + size, 1);
    if (!grown) {
        w->status = EPIQ_E_NOMEM;
        return;
    }
    w->text = grown;
    memcpy(w->text + w->size, text, (size_t)size);
    w->size += size;
}

static void put_text(writer *w, const char *text)
{
    put(w, text, (ptrdiff_t)strlen(text));
}

__attribute__((format(printf, 2, 3))) static void put_format(writer *w, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    put_text(w, text);
}

static void put_string(writer *w, const char *text)
{
    put(w, "\"", 1);
    for (; *text; text++) {
        unsigned char ch = (unsigned char)*text;
        if (ch == '"' || ch == '\\') {
            put(w, (char[]){'\\', *text}, 2);
        } else if (ch < 0x20) {
            put_format(w, "\\u%04x", ch);
        } else {
            put(w, text, 1);
        }
    }
    put(w, "\"", 1);
}

static void put_note(writer *w, const char *key, const char *value)
{
    put(w, ",", 1);
    put_string(w, key);
    put(w, ":", 1);
    put_string(w, value);
}

/* A list as JSON, inside a string of the metadata, which may hold nothing else. */
static void put_features(writer *w, const epiq_model *m)
{
    writer list = {.c = w->c};
    for (ptrdiff_t k = 0; k < m->d; k++) {
        const char *value = m->columns.value[k];
        put_text(&list, k ? ",{\"name\":" : "[{\"name\":");
        put_string(&list, m->feature[k]);
        put_text(&list, ",\"column\":");
        put_string(&list, m->columns.source[k]);
        put_text(&list, ",\"value\":");
        if (value) {
            put_string(&list, value);
        } else {
            put_text(&list, "null");
        }
        put(&list, "}", 1);
    }
    put(&list, "]", 2); /* and the zero */
    w->status = w->status ? w->status : list.status;
    if (!w->status) {
        put_note(w, "features", list.text);
    }
    epiqp_free(w->c, list.text);
}

/* How one run was to go, or what it was to show beside the model: not what the model is. */
static bool of_the_run(const char *option)
{
    static const char *const names[] = {"threads", "level", "influential", "sweep", "state", "scratch", "mem-limit"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (strcmp(option, names[k]) == 0) {
            return true;
        }
    }
    return false;
}

static void put_options(writer *w, const epiq_model *m)
{
    const epiq_option_info *info;
    for (ptrdiff_t i = 0; (info = epiq_options_info(i)); i++) {
        if (of_the_run(info->name)) {
            continue;
        }
        char key[64], *value = NULL;
        ptrdiff_t room = 0;
        snprintf(key, sizeof key, "option.%s", info->name);
        do {
            char *grown = epiqp_grown(w->c, value, &room, 2 * room + 64, 1);
            if (!grown) {
                w->status = EPIQ_E_NOMEM;
                break;
            }
            value = grown;
        } while (epiq_options_text(&m->o, i, value, (size_t)room));
        if (!w->status && *value) { /* an empty one was not given */
            put_note(w, key, value);
        }
        epiqp_free(w->c, value);
    }
}

static void put_tensors(writer *w, const epiqp_tensor *list, ptrdiff_t count)
{
    for (ptrdiff_t i = 0, at = 0; i < count; i++) {
        const epiqp_tensor *t = &list[i];
        ptrdiff_t bytes = 8 * epiqp_tensor_items(t);
        put_format(w, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%td", t->name, t->whole ? "I64" : "F64", t->shape[0]);
        if (t->dims == 2) {
            put_format(w, ",%td", t->shape[1]);
        }
        put_format(w, "],\"data_offsets\":[%td,%td]}", at, at + bytes);
        at += bytes;
    }
}

/* The first 8 bytes and the header, padded so that the tensors begin at a multiple of EPIQP_MODEL_ALIGN; the checksum
 * is still 0. */
static void put_header(writer *w, const epiq_model *m, const epiqp_tensor *list, ptrdiff_t count)
{
    char zeros[EPIQP_MODEL_SUM + 1];
    memset(zeros, '0', EPIQP_MODEL_SUM);
    zeros[EPIQP_MODEL_SUM] = '\0';
    put(w, "12345678", 8);
    put_text(w, EPIQP_MODEL_START EPIQP_MODEL_VERSION EPIQP_MODEL_HASHED);
    put_text(w, zeros);
    put(w, "\"", 1);
    put_note(w, "byte_order", "little");
    put_note(w, "epiq_version", m->version);
    put_note(w, "data_sha256", m->sha256);
    put_note(w, "target", m->target);
    put_features(w, m);
    put_options(w, m);
    put(w, "}", 1);
    put_tensors(w, list, count);
    put(w, "}", 1);
    while (!w->status && w->size % EPIQP_MODEL_ALIGN) {
        put(w, " ", 1);
    }
    for (int k = 0; !w->status && k < 8; k++) {
        w->text[k] = (char)((uint64_t)(w->size - 8) >> 8 * k & 255);
    }
}

/* Tensors that follow each other in memory as in the file, the panels, count as one. */
static ptrdiff_t joined(const epiqp_tensor *list, ptrdiff_t count, ptrdiff_t i, ptrdiff_t *bytes)
{
    *bytes = 0;
    do {
        *bytes += 8 * epiqp_tensor_items(&list[i++]);
    } while (i < count && !list[i].at);
    return i;
}

static void check_sum(const writer *w, const epiqp_tensor *list, ptrdiff_t count)
{
    epiqp_sha256 sum;
    char hex[EPIQP_MODEL_SUM + 1];
    epiqp_sha256_start(&sum);
    epiqp_sha256_add(&sum, w->text, (size_t)w->size);
    for (ptrdiff_t i = 0, bytes; i < count;) {
        const void *at = start_of(&list[i]);
        i = joined(list, count, i, &bytes);
        epiqp_sha256_add(&sum, at, (size_t)bytes);
    }
    epiqp_sha256_end(&sum, hex);
    memcpy(w->text + EPIQP_MODEL_AT_SUM, hex, EPIQP_MODEL_SUM);
}

int epiq_model_send(epiq_ctx *c, const epiq_model *m, int (*out)(void *user, const void *bytes, size_t size),
                    void *user)
{
    epiqp_clear(c);
    epiqp_arena arena = {0};
    writer w = {.c = c};
    epiqp_tensor *list = NULL;
    ptrdiff_t count = 0;
    int s = epiqp_little_endian() ? epiqp_tensors_new(c, &arena, m, &list, &count)
                                  : epiqp_fail(c, EPIQ_E_FILE, "model files are little-endian and this machine is not");
    if (!s) {
        put_header(&w, m, list, count);
        s = w.status;
    }
    if (!s) {
        check_sum(&w, list, count);
        errno = 0; /* a receiver of the caller's own need not set it */
        bool bad = out(user, w.text, (size_t)w.size);
        for (ptrdiff_t i = 0, bytes; !bad && i < count;) {
            const void *at = start_of(&list[i]);
            i = joined(list, count, i, &bytes);
            bad = out(user, at, (size_t)bytes);
        }
        s = bad ? epiqp_fail(c, EPIQ_E_FILE, "the model could not be written: %s",
                             errno ? strerror(errno) : "the receiver refused it")
                : EPIQ_OK;
    }
    epiqp_free(c, w.text);
    epiqp_arena_free(c, &arena);
    return s;
}

static int to_descriptor(void *user, const void *bytes, size_t size)
{
    for (const char *p = bytes; size > 0;) {
        ssize_t wrote = write(*(int *)user, p, size);
        if (wrote < 0 && errno != EINTR) {
            return -1;
        }
        p += wrote > 0 ? wrote : 0;
        size -= wrote > 0 ? (size_t)wrote : 0;
    }
    return 0;
}

/* ---- a file, whole or not at all; links and the mode of a file that is there stay as they are ---- */

static int unwritable(epiq_ctx *c, const char *path)
{
    char why[128], shown[200];
    snprintf(why, sizeof why, "%s", strerror(errno));
    epiqp_text_show(shown, sizeof shown, path, (ptrdiff_t)strlen(path));
    return epiqp_fail(c, EPIQ_E_FILE, "%s: %s; name a file that can be written", shown, why);
}

typedef struct {
    int fd;
    const char *target, *temporary; /* NULL: a pipe or a device, which is written to directly */
    bool named;                     /* it goes by its temporary name */
} place;

/* Without a name where the file system knows such files, so that whoever is killed leaves nothing behind; else under a
 * name whose number cannot be guessed, and a file that has it all the same is not opened. */
static int open_temporary(epiq_ctx *c, epiqp_arena *arena, const char *path, mode_t mode, place *out)
{
    uint64_t number;
    if (getentropy(&number, sizeof number) != 0) {
        return unwritable(c, path);
    }
    const char *slash = strrchr(out->target, '/');
    int length = slash ? (int)(slash - out->target) + 1 : 0;
    const char *folder = epiqp_arena_printf(c, arena, "%.*s", length ? length : 1, length ? out->target : ".");
    out->temporary = epiqp_arena_printf(c, arena, "%.*s.epiq-%016" PRIx64, length, out->target, number);
    if (!folder || !out->temporary) {
        return EPIQ_E_NOMEM;
    }
    bool nameable = access("/proc/self/fd", X_OK) == 0;
    out->fd = nameable ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode) : -1;
    if (out->fd < 0) {
        out->fd = open(out->temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
        out->named = out->fd >= 0;
    }
    return out->fd < 0 ? unwritable(c, path) : EPIQ_OK;
}

/* The target's name, by way of the temporary one if something has it: a link cannot replace. */
static int give_name(place *to)
{
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", to->fd);
    if (!to->named && linkat(AT_FDCWD, self, AT_FDCWD, to->target, AT_SYMLINK_FOLLOW) == 0) {
        return 0;
    }
    to->named =
        to->named || (errno == EEXIST && linkat(AT_FDCWD, self, AT_FDCWD, to->temporary, AT_SYMLINK_FOLLOW) == 0);
    return to->named ? rename(to->temporary, to->target) : -1;
}

static int open_place(epiq_ctx *c, epiqp_arena *arena, const char *path, place *out)
{
    struct stat before = {.st_mode = 0};
    bool exists = stat(path, &before) == 0;
    if (!exists && errno != ENOENT) {
        return unwritable(c, path);
    }
    if (exists && !S_ISREG(before.st_mode)) { /* a folder cannot be opened so */
        out->fd = open(path, O_WRONLY | O_CLOEXEC);
        return out->fd < 0 ? unwritable(c, path) : EPIQ_OK;
    }
    if (!exists) {
        out->target = path;
        return open_temporary(c, arena, path, 0666, out);
    }
    char *real = epiqp_arena_alloc(c, arena, PATH_MAX, 1);
    if (!real) {
        return EPIQ_E_NOMEM;
    }
    if (access(path, W_OK) != 0 || !realpath(path, real)) {
        return unwritable(c, path);
    }
    out->target = real;
    int s = open_temporary(c, arena, path, before.st_mode & 0777, out);
    if (!s) {
        fchmod(out->fd, before.st_mode & 0777); /* what umask took away; odd file systems may refuse it */
    }
    return s;
}

int epiq_model_write(epiq_ctx *c, const epiq_model *m, const char *path)
{
    epiqp_clear(c);
    epiqp_arena arena = {0};
    place to = {.fd = -1};
    int s = open_place(c, &arena, path, &to);
    s = s ? s : epiq_model_send(c, m, to_descriptor, &to.fd);
    bool bad = !s && fsync(to.fd) != 0 && errno != EINVAL; /* it cannot be synced */
    bad = bad || (!s && to.target && give_name(&to) != 0);
    s = bad ? unwritable(c, path) : s;
    if (to.fd >= 0 && close(to.fd) != 0 && !s && !to.target) { /* a file that is synced is there */
        s = unwritable(c, path);
    }
    if (s && to.named) {
        unlink(to.temporary);
    }
    epiqp_arena_free(c, &arena);
    return s;
}
