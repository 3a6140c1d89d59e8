/* write.c - a model as a safetensors file (docs/model-file.md): the length of the header, the header, the tensors. */
#include "base/text.h"
#include "common/atomic_file.h"
#include "common/utf8.h"
#include "model/model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    epiq_ctx *c;
    char *text;
    ptrdiff_t size, room;
    int status;
} writer;

/* The text always ends with a zero byte, which does not count. */
__attribute__((format(printf, 2, 3))) static void put(writer *w, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    const ptrdiff_t size = vsnprintf(NULL, 0, fmt, args);
    char *grown = w->status ? NULL : epiqp_grown(w->c, w->text, &w->room, w->size + size + 1, 1);
    if (grown) {
        w->text = grown;
        vsnprintf(w->text + w->size, (size_t)size + 1, fmt, again);
        w->size += size;
    } else {
        w->status = EPIQ_E_NOMEM;
    }
    va_end(again);
    va_end(args);
}

/* text NULL: null. */
static void put_string(writer *w, const char *text)
{
    char one[EPIQP_JSON_CHAR];
    if (!text) {
        put(w, "null");
        return;
    }
    put(w, "\"");
    while (*text) {
        text += epiqp_json_char(text, one);
        put(w, "%s", one);
    }
    put(w, "\"");
}

static void put_note(writer *w, const char *key, const char *value)
{
    put(w, ",");
    put_string(w, key);
    put(w, ":");
    put_string(w, value);
}

/* A list as JSON inside a string, because the metadata may hold strings only. */
static void put_features(writer *w, const epiq_model *m)
{
    static const char *const KEY[EPIQP_FEATURE_TEXTS] = {"{\"name\":", ",\"column\":", ",\"value\":", ",\"unit\":"};
    writer list = {.c = w->c};
    for (ptrdiff_t k = 0; k < m->d; k++) {
        const char *texts[] = {m->feature[k], m->columns.source[k], m->columns.value[k], m->columns.unit[k]};
        put(&list, k ? "," : "[");
        for (int i = 0; i < (texts[3] ? 4 : 3); i++) {
            put(&list, "%s", KEY[i]);
            put_string(&list, texts[i]);
        }
        put(&list, "}");
    }
    put(&list, "]");
    w->status = w->status ? w->status : list.status;
    if (!w->status) put_note(w, "features", list.text);
    epiqp_free(w->c, list.text);
}

static void put_options(writer *w, const epiq_model *m)
{
    const epiq_option_info *info;
    for (ptrdiff_t i = 0; (info = epiq_options_info(i)); i++) {
        if (!(epiq_options_scope(i) & EPIQ_OPTION_MODEL)) continue;
        char key[64], value[64];
        const char *text = epiq_options_string(&m->o, i); /* of any length */
        snprintf(key, sizeof key, "option.%s", info->name);
        if (!text && !epiq_options_text(&m->o, i, value, sizeof value)) text = value;
        if (text && *text) put_note(w, key, text); /* empty: not given */
    }
}

static void put_tensors(writer *w, const epiqp_tensor *list, ptrdiff_t count)
{
    for (ptrdiff_t i = 0, at = 0; i < count; i++) {
        const epiqp_tensor *t = &list[i];
        ptrdiff_t bytes = 8 * epiqp_tensor_items(t);
        put(w, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%td", t->name, t->flags & EPIQP_TENSOR_WHOLE ? "I64" : "F64",
            t->shape[0]);
        if (t->dims == 2) put(w, ",%td", t->shape[1]);
        put(w, "],\"data_offsets\":[%td,%td]}", at, at + bytes);
        at += bytes;
    }
}

/* The first 8 bytes and the header, padded so that the tensors begin at a multiple of EPIQP_MODEL_ALIGN; the checksum
 * is still 0. */
static void put_header(writer *w, const epiq_model *m, const epiqp_tensor *list, ptrdiff_t count)
{
    put(w, "12345678%s%0*d\"", EPIQP_MODEL_START EPIQP_MODEL_VERSION EPIQP_MODEL_HASHED, (int)EPIQP_MODEL_SUM, 0);
    put_note(w, "byte_order", "little");
    put_note(w, "epiq_version", m->version);
    put_note(w, "data_sha256", m->sha256);
    put_note(w, "target", m->target);
    put_features(w, m);
    put_options(w, m);
    put(w, "}");
    put_tensors(w, list, count);
    put(w, "}");
    put(w, "%*s", (int)(-w->size & (EPIQP_MODEL_ALIGN - 1)), "");
    for (int k = 0; !w->status && k < 8; k++) {
        w->text[k] = (char)((uint64_t)(w->size - 8) >> 8 * k & 255);
    }
}

typedef int receiver(void *user, const void *bytes, size_t size); /* non-zero: stop */

static int send_tensors(const epiqp_tensor *list, ptrdiff_t count, receiver *out, void *user)
{
    int bad = 0;
    const char *at = NULL;
    for (ptrdiff_t i = 0; !bad && i < count; i++) {
        const size_t bytes = (size_t)(8 * epiqp_tensor_items(&list[i]));
        if (list[i].flags & EPIQP_TENSOR_INSIDE) {
            at = list[i].at;
        } else if (list[i].at) { /* else it is contiguous with the one before */
            memcpy(&at, list[i].at, sizeof at);
        }
        bad = out(user, at, bytes);
        at += bytes;
    }
    return bad;
}

static int to_sum(void *user, const void *bytes, size_t size)
{
    epiqp_sha256_add(user, bytes, size);
    return 0;
}

int epiq_model_send(epiq_ctx *c, const epiq_model *m, receiver *out, void *user)
{
    epiqp_clear(c);
    epiqp_arena arena = {0};
    writer w = {.c = c};
    epiqp_sha256 sum = epiqp_sha256_start();
    char hex[EPIQP_MODEL_SUM + 1];
    epiqp_tensor *list = NULL;
    ptrdiff_t count = 0;
    int status = EPIQ_OK;
    if (!epiqp_little_endian()) {
        return epiqp_fail(c, EPIQ_E_FILE, "model files are little-endian and this machine is not");
    }
    if ((status = epiqp_tensors_new(c, &arena, m, &list, &count))) goto end;
    put_header(&w, m, list, count);
    if ((status = w.status)) goto end;
    epiqp_sha256_add(&sum, w.text, (size_t)w.size);
    send_tensors(list, count, to_sum, &sum);
    epiqp_sha256_end(&sum, hex);
    memcpy(w.text + EPIQP_MODEL_AT_SUM, hex, EPIQP_MODEL_SUM);
    errno = 0; /* the caller's receiver need not set it */
    if (out(user, w.text, (size_t)w.size) || send_tensors(list, count, out, user)) {
        status = epiqp_fail(c, EPIQ_E_FILE, "the model could not be written: %s",
                            errno ? strerror(errno) : "the receiver refused it");
    }
end:
    epiqp_free(c, w.text);
    epiqp_arena_free(c, &arena);
    return status;
}

static int to_descriptor(void *user, const void *bytes, size_t size)
{
    for (const char *p = bytes; size > 0;) {
        ssize_t wrote = write(*(int *)user, p, size);
        if (wrote < 0 && errno != EINTR) return -1;
        p += wrote > 0 ? wrote : 0;
        size -= wrote > 0 ? (size_t)wrote : 0;
    }
    return 0;
}

static int unwritable(epiq_ctx *c, const char *path)
{
    char shown[200];
    if (errno == ENOMEM) return epiqp_fail(c, EPIQ_E_NOMEM, "no memory to write the model; end other programs");
    epiqp_text_show(shown, sizeof shown, path, (ptrdiff_t)strlen(path));
    return epiqp_fail(c, EPIQ_E_FILE, "%s: %s; name a file that can be written", shown, strerror(errno));
}

int epiq_model_write(epiq_ctx *c, const epiq_model *m, const char *path)
{
    epiqp_clear(c);
    epiqp_atomic_file to;
    int fd = epiqp_atomic_plan(&to, path) == 0 ? epiqp_atomic_open(&to, path) : -1;
    int status = fd >= 0 ? epiq_model_send(c, m, to_descriptor, &fd) : unwritable(c, path);
    if (!status && (epiqp_atomic_sync(&to, fd) != 0 || epiqp_atomic_commit(&to, fd) != 0)) {
        status = unwritable(c, path);
    }
    if (fd >= 0 && close(fd) != 0 && !status && !to.target) { /* a file has been synced already */
        status = unwritable(c, path);
    }
    epiqp_atomic_free(&to);
    return status;
}
