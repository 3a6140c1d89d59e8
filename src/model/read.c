/* read.c - a model from its file (docs/model-file.md), mapped or in memory: its checksum compared, its header read (header.c), every
 * tensor held against what its options say it must be. Nothing in the file is trusted.
 */
#include "data/table.h"
#include "model/model.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const ptrdiff_t LONGEST = (ptrdiff_t)1 << 32; /* of a header: a million features with long names */

static int map_file(epiq_ctx *c, const char *path, const char *file, epiq_model *m)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about = {0};
    if (fd < 0 || fstat(fd, &about)) {
        int s = epiqp_fail(c, EPIQ_E_FILE, "%s: %s; name a model file", file, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        return s;
    }
    if (!S_ISREG(about.st_mode) || about.st_size < EPIQP_MODEL_AT_SUM + EPIQP_MODEL_SUM) {
        close(fd);
        return epiqp_fail(c, EPIQ_E_FILE, "%s: this is %s; name one that epiq fit has written", file,
                          S_ISREG(about.st_mode) ? "too short for a model file" : "not a file that can be mapped");
    }
    m->size = (size_t)about.st_size;
    void *map = mmap(NULL, m->size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED) {
        return epiqp_fail(c, EPIQ_E_NOMEM, "%s: the file cannot be mapped: %s", file, strerror(errno));
    }
    m->bytes = m->map = map;
    return EPIQ_OK;
}

/* Tensors are read where they lie, as whole vectors: bytes that begin anywhere are moved to where a map would begin. */
static int take_bytes(epiq_ctx *c, const char *file, const void *bytes, size_t size, epiq_model *m)
{
    if (size < EPIQP_MODEL_AT_SUM + EPIQP_MODEL_SUM || size > PTRDIFF_MAX) {
        return epiqp_fail(c, EPIQ_E_FILE, "%s: %zu of them are too few for a model; give all that epiq_model_send sent",
                          file, size);
    }
    m->bytes = bytes;
    m->size = size;
    if ((uintptr_t)bytes % EPIQP_MODEL_ALIGN) {
        void *moved = epiqp_arena_alloc(c, &m->arena, (ptrdiff_t)size, 1);
        if (!moved) {
            return EPIQ_E_NOMEM;
        }
        m->bytes = memcpy(moved, bytes, size);
    }
    return EPIQ_OK;
}

static ptrdiff_t number_at(const unsigned char *p, bool little)
{
    uint64_t v = 0;
    for (int k = 0; k < 8; k++) {
        v |= (uint64_t)p[k] << 8 * (little ? k : 7 - k);
    }
    return v > PTRDIFF_MAX ? -1 : (ptrdiff_t)v;
}

/* What can be said before the header is read: is it a model, of this version and byte order, and whole? */
static int check_whole(epiq_ctx *c, const char *file, const epiq_model *m, ptrdiff_t *length)
{
    const unsigned char *p = m->bytes;
    const ptrdiff_t size = (ptrdiff_t)m->size, other = number_at(p, false), start = sizeof EPIQP_MODEL_START - 1;
    bool ours = memcmp(p + 8, EPIQP_MODEL_START, (size_t)start) == 0;
    *length = number_at(p, true);
    if (!epiqp_little_endian() || (ours && (*length < 0 || *length > LONGEST) && other > 0 && other <= LONGEST)) {
        return epiqp_fail(c, EPIQ_E_FILE,
                          "%s: the file's byte order is not this machine's; fit again here, or on a machine like it",
                          file);
    }
    if (!ours) {
        return epiqp_fail(c, EPIQ_E_FILE,
                          "%s: this is not a model file of epiq, or a damaged one; name one that epiq fit "
                          "has written",
                          file);
    }
    const char *version = (const char *)p + 8 + start;
    if (memcmp(version, EPIQP_MODEL_VERSION "\"", sizeof EPIQP_MODEL_VERSION) != 0) {
        char shown[EPIQP_SHOWN];
        ptrdiff_t most = epiqp_min(20, size - 8 - start), digits = 0; /* no zero ends the map */
        while (digits < most && !strchr("\",}", version[digits])) {
            digits++;
        }
        epiqp_text_show(shown, sizeof shown, version, digits);
        return epiqp_fail(c, EPIQ_E_FILE,
                          "%s: the file is of format version %s and this epiq reads version " EPIQP_MODEL_VERSION
                          "; fit again, or use the epiq it was made with",
                          file, shown);
    }
    static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
    char hex[EPIQP_MODEL_SUM + 1];
    epiqp_sha256 sum;
    epiqp_sha256_start(&sum);
    epiqp_sha256_add(&sum, p, EPIQP_MODEL_AT_SUM);
    epiqp_sha256_add(&sum, zeros, EPIQP_MODEL_SUM);
    epiqp_sha256_add(&sum, p + EPIQP_MODEL_AT_SUM + EPIQP_MODEL_SUM,
                     (size_t)(size - EPIQP_MODEL_AT_SUM - EPIQP_MODEL_SUM));
    epiqp_sha256_end(&sum, hex);
    if (memcmp(hex, p + EPIQP_MODEL_AT_SUM, EPIQP_MODEL_SUM) != 0) {
        return epiqp_fail(
            c, EPIQ_E_FILE,
            "%s: the file is damaged or cut short, its checksum does not match; copy it again, or fit again", file);
    }
    if (*length < EPIQP_MODEL_AT_SUM + EPIQP_MODEL_SUM - 8 || *length > size - 8 || *length > LONGEST ||
        (8 + *length) % EPIQP_MODEL_ALIGN) {
        return epiqp_fail(c, EPIQ_E_FILE, "%s: the header's length is wrong; fit again", file);
    }
    return EPIQ_OK;
}

static int take_notes(epiq_ctx *c, const char *file, const epiqp_header *h, epiq_model *m)
{
    m->o = epiq_options_default();
    for (ptrdiff_t i = 0; i < h->notes; i++) {
        const char *key = h->note[i].key, *value = h->note[i].value;
        bool writes = strcmp(key, "option.state") == 0 || strcmp(key, "option.scratch") == 0;
        if (strncmp(key, "option.", 7) == 0 && (writes || epiq_options_set(c, &m->o, key + 7, value) < 0)) {
            char why[256], shown[EPIQP_SHOWN];
            const char *reason =
                writes ? "a model names no file to write" : epiq_message(c); /* which quotes the file */
            epiqp_text_show(why, sizeof why, reason, (ptrdiff_t)strlen(reason));
            epiqp_text_show(shown, sizeof shown, key, (ptrdiff_t)strlen(key));
            epiqp_clear(c);
            return epiqp_fail(c, EPIQ_E_FILE, "%s: %s is not one this epiq knows (%s); use the epiq it was made with",
                              file, shown, why);
        }
    }
    int s = epiqp_options_check(c, &m->o);
    const char *order = epiqp_header_note(h, "byte_order"), *sum = epiqp_header_note(h, "data_sha256");
    m->version = epiqp_header_note(h, "epiq_version");
    m->target = epiqp_header_note(h, "target");
    if (!s && order && strcmp(order, "little") != 0) {
        return epiqp_fail(c, EPIQ_E_FILE, "%s: the file's byte order is not little-endian; fit again", file);
    }
    bool possible = m->o.methods < EPIQ_AUTO && m->o.time == 0 && m->o.kernel == EPIQ_KERNEL_POPULATION &&
                    m->o.ensemble_size > 0 && !(m->o.engine == EPIQ_ENGINE_INFINITE && m->o.methods & EPIQ_BA);
    if (s || !possible || !order || !m->version || !m->target || !sum || strlen(sum) != EPIQP_MODEL_SUM) {
        epiqp_clear(c);
        return epiqp_fail(c, EPIQ_E_FILE, "%s: its options, names or checksums are not those of a model; fit again",
                          file);
    }
    memcpy(m->sha256, sum, EPIQP_MODEL_SUM + 1);
    return EPIQ_OK;
}

static int wrong_tensor(epiq_ctx *c, const char *file, const char *name, const char *what)
{
    char shown[EPIQP_SHOWN];
    return epiqp_fail(c, EPIQ_E_FILE, "%s: tensor %s %s; the file was not written by epiq: fit again", file,
                      epiqp_text_show(shown, sizeof shown, name, (ptrdiff_t)strlen(name)), what);
}

/* n and d, which all other shapes follow from, are those of the rows. */
static int take_sizes(epiq_ctx *c, const char *file, const epiqp_header *h, ptrdiff_t room, epiq_model *m)
{
    for (ptrdiff_t i = 0; i < h->tensors; i++) {
        const epiqp_entry *t = &h->tensor[i];
        if (strcmp(t->name, "rows") == 0 && t->dims == 2) {
            m->n = t->shape[0];
            m->d = t->shape[1];
        }
    }
    ptrdiff_t all;
    double net = (double)m->d + (double)m->o.width * (double)m->o.depth;
    double networks = (double)m->o.members + (double)m->o.batches + 2.0 * EPIQP_STARTS * (double)m->o.replicates;
    bool bad = m->n < 2 || m->d < 1 || __builtin_mul_overflow(m->n, m->d, &all) || all > room / 8 ||
               (double)m->o.width * net * networks > 1e17 || (double)m->n * ((double)m->n + networks) > 1e17;
    return bad ? wrong_tensor(c, file, "rows", "is not there, or its sizes cannot be") : EPIQ_OK;
}

static const epiqp_entry *entry_of(const epiqp_header *h, ptrdiff_t guess, const char *name)
{
    if (guess < h->tensors && strcmp(h->tensor[guess].name, name) == 0) {
        return &h->tensor[guess]; /* where our writer has it */
    }
    for (ptrdiff_t i = 0; i < h->tensors; i++) {
        if (strcmp(h->tensor[i].name, name) == 0) {
            return &h->tensor[i];
        }
    }
    return NULL;
}

/* Every tensor of the list and no other, of its type and shape, one after the other to the end of the file. */
static int take_tensors(epiq_ctx *c, const char *file, const epiqp_header *h, const char *bytes, ptrdiff_t room,
                        epiq_model *m)
{
    epiqp_tensor *list;
    ptrdiff_t count, at = 0;
    int s = epiqp_tensors_new(c, &m->arena, m, &list, &count);
    for (ptrdiff_t i = 0; !s && i < count; i++) {
        const epiqp_tensor *t = &list[i];
        const epiqp_entry *e = entry_of(h, i, t->name);
        if (!e) {
            return wrong_tensor(c, file, t->name, "is missing");
        }
        if (strcmp(e->dtype, t->whole ? "I64" : "F64") != 0 || e->dims != t->dims || e->shape[0] != t->shape[0] ||
            (t->dims == 2 && e->shape[1] != t->shape[1])) {
            return wrong_tensor(c, file, t->name, "has another type or shape than its options say");
        }
        ptrdiff_t size = 8 * epiqp_tensor_items(t);
        if (e->begin != at || e->end != at + size || e->end > room) {
            return wrong_tensor(c, file, t->name, "does not lie where it should");
        }
        for (ptrdiff_t k = 0; k < epiqp_tensor_items(t); k++) {
            double v;
            memcpy(&v, bytes + at + 8 * k, sizeof v);
            if (!t->whole && !isfinite(v)) {
                return wrong_tensor(c, file, t->name, "holds what is not a finite number");
            }
        }
        if (t->at) {
            const char *here = bytes + at;
            memcpy(t->at, &here, sizeof here); /* whatever it points to */
        }
        at += size;
    }
    if (!s && (count != h->tensors || at != room)) {
        return wrong_tensor(c, file, "beyond those of a model", "is there, or bytes that belong to none");
    }
    return s;
}

/* Numbers that predict divides by, indexes with or takes roots of. */
static int check_values(epiq_ctx *c, const char *file, epiq_model *m)
{
    bool good = m->target_scaling[1] > 0 && (!m->excess || *m->unit >= 0) && (!m->noise || *m->noise >= 0) &&
                (!m->smoothed || (m->law[0] >= 0 && m->law[1] >= 0 && m->law[2] >= 0));
    for (int k = 0; m->retrain && k < EPIQP_KEPT_RETRAIN; k++) {
        good = good && m->retrain[k] >= 0;
    }
    if (m->retrain) {
        epiqp_followed f;
        memcpy(&f, m->retrain, sizeof f);
        good = good && f.left_out.kappa > 0 && f.at_rows.kappa > 0 && f.left_out.rest > 0 && f.at_rows.rest > 0 &&
               f.noise > 0 && f.step >= DBL_MIN;
    }
    for (ptrdiff_t k = 0; k < m->d; k++) {
        good = good && m->factor[k] > 0;
    }
    for (ptrdiff_t i = 0; good && i < m->n; i++) {
        good = m->group[i] >= 0 && m->group[i] < m->n && (!m->tri.a || epiqp_tri_get(&m->tri, i, i) > 0);
        good = good && (!m->smoothed || (m->smoothed[i] >= 0 && m->spread[i] >= 0));
        good = good && (!m->alone || m->alone[i] >= 0);
        good = good && (!m->fold || (m->fold[i] >= 0 && m->fold[i] < EPIQP_FOLDS));
        m->groups = good ? epiqp_max(m->groups, m->group[i] + 1) : 0;
    }
    bool groups = m->groups > 1 || !epiqp_model_has_influence(m);
    bool by_row = m->o.correction == EPIQ_CORRECTION_ROWWISE || m->o.correction == EPIQ_CORRECTION_MODERATED;
    bool rowwise = !by_row || m->groups == m->n || !epiqp_model_has_influence(m);
    bool batches = !epiqp_model_has_batches(m) || m->groups >= m->o.batches;
    return good && groups && rowwise && batches
               ? EPIQ_OK
               : epiqp_fail(c, EPIQ_E_FILE, "%s: its numbers are not those of a model; fit again", file);
}

static int read_model(epiq_ctx *c, const char *file, epiq_model *m)
{
    epiqp_header h = {0};
    ptrdiff_t length = 0;
    int s = check_whole(c, file, m, &length);
    if (s) {
        return s;
    }
    const char *bytes = (const char *)m->bytes + 8;
    const ptrdiff_t room = (ptrdiff_t)m->size - 8 - length;
    s = epiqp_header_read(c, file, bytes, length, &m->arena, &h);
    s = s ? s : take_notes(c, file, &h, m);
    s = s ? s : take_sizes(c, file, &h, room, m);
    if (!s && epiqp_model_has_factor(m)) {
        m->tri = epiqp_tri_shape(m->n);
    }
    s = s ? s : take_tensors(c, file, &h, bytes + length, room, m);
    const char *features = s ? NULL : epiqp_header_note(&h, "features");
    s = s ? s : epiqp_header_features(c, file, features ? features : "", m->d, m);
    epiqp_free(c, h.tensor);
    epiqp_free(c, h.note);
    s = s ? s : check_values(c, file, m);
    return s ? s : epiqp_model_prepare(c, m);
}

static int give(epiq_ctx *c, int status, epiq_model *m, epiq_model **out)
{
    if (status) {
        epiq_model_free(c, m);
        return status;
    }
    *out = m;
    return EPIQ_OK;
}

int epiq_model_read(epiq_ctx *c, const char *path, epiq_model **out)
{
    char file[200];
    epiqp_clear(c);
    *out = NULL;
    epiq_model *m = epiqp_model_alloc(c);
    epiqp_text_show(file, sizeof file, path, (ptrdiff_t)strlen(path));
    int s = m ? map_file(c, path, file, m) : EPIQ_E_NOMEM;
    return give(c, s ? s : read_model(c, file, m), m, out);
}

int epiq_model_load(epiq_ctx *c, const void *bytes, size_t size, epiq_model **out)
{
    static const char file[] = "the model's bytes";
    epiqp_clear(c);
    *out = NULL;
    epiq_model *m = epiqp_model_alloc(c);
    int s = m ? take_bytes(c, file, bytes, size, m) : EPIQ_E_NOMEM;
    return give(c, s ? s : read_model(c, file, m), m, out);
}
