/* read.c - a model from its file (docs/model-file.md), mapped or in memory: its checksum is compared, its header read
 * (header.c), and every tensor compared with what the options require. Nothing in the file is trusted.
 */
#include "base/text.h"
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

/* A file that is being read, and what comes of it. */
typedef struct {
    epiq_ctx *c;
    const char *file; /* its name, as messages show it */
    epiq_model *m;
    epiqp_header h;
} reading;

static int refuse(const reading *r, const char *why)
{
    return epiqp_fail(r->c, EPIQ_E_FILE, "%s: %s", r->file, why);
}

static int map_file(const reading *r, const char *path)
{
    int status = EPIQ_OK, fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about = {0};
    if (fd < 0 || fstat(fd, &about)) {
        status = epiqp_fail(r->c, EPIQ_E_FILE, "%s: %s; name a model file", r->file, strerror(errno));
    } else if (!S_ISREG(about.st_mode)) {
        status = refuse(r, "this is not a file that can be mapped; name one that epiq fit has written");
    } else if (about.st_size < EPIQP_MODEL_AT_SUM + EPIQP_MODEL_SUM) {
        status = refuse(r, "this is too short for a model file; name one that epiq fit has written");
    } else {
        void *map = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        r->m->bytes = r->m->map = map == MAP_FAILED ? NULL : map;
        r->m->size = (size_t)about.st_size;
        if (!r->m->map) {
            status = epiqp_fail(r->c, EPIQ_E_NOMEM, "%s: the file cannot be mapped: %s", r->file, strerror(errno));
        }
    }
    if (fd >= 0) close(fd);
    return status;
}

/* Tensors are used in place and must be aligned for vectors: bytes at an unaligned address are copied. */
static int take_bytes(const reading *r, const void *bytes, size_t size)
{
    if (size < EPIQP_MODEL_AT_SUM + EPIQP_MODEL_SUM || size > PTRDIFF_MAX) {
        return epiqp_fail(r->c, EPIQ_E_FILE,
                          "%s: %zu of them are too few for a model; give all that epiq_model_send sent", r->file, size);
    }
    r->m->bytes = bytes;
    r->m->size = size;
    if ((uintptr_t)bytes % EPIQP_MODEL_ALIGN == 0) return EPIQ_OK;
    void *moved = epiqp_arena_alloc(r->c, &r->m->arena, (ptrdiff_t)size, 1);
    if (!moved) return EPIQ_E_NOMEM;
    r->m->bytes = memcpy(moved, bytes, size);
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

/* Checks before the header is read: that this is a model, of this version and byte order, and complete. */
static int check_whole(const reading *r, ptrdiff_t *length)
{
    static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
    const unsigned char *p = r->m->bytes;
    const ptrdiff_t size = (ptrdiff_t)r->m->size, other = number_at(p, false), start = sizeof EPIQP_MODEL_START - 1;
    const bool ours = memcmp(p + 8, EPIQP_MODEL_START, (size_t)start) == 0;
    *length = number_at(p, true);
    if (!epiqp_little_endian() || (ours && (*length < 0 || *length > LONGEST) && other > 0 && other <= LONGEST)) {
        return refuse(r, "the file's byte order is not this machine's; fit again here, or on a machine like it");
    }
    if (!ours) {
        return refuse(r, "this is not a model file of epiq, or a damaged one; name one that epiq fit has written");
    }
    const char *version = (const char *)p + 8 + start;
    if (memcmp(version, EPIQP_MODEL_VERSION "\"", sizeof EPIQP_MODEL_VERSION) != 0) {
        ptrdiff_t most = epiqp_min(20, size - 8 - start), digits = 0; /* the map does not end with a zero byte */
        while (digits < most && !strchr("\",}", version[digits])) {
            digits++;
        }
        return epiqp_fail(r->c, EPIQ_E_FILE,
                          "%s: the file is of format version %s and this epiq reads version " EPIQP_MODEL_VERSION
                          "; fit again, or use the epiq it was made with",
                          r->file, epiqp_show_part(version, digits).text);
    }
    char hex[EPIQP_MODEL_SUM + 1];
    epiqp_sha256 sum = epiqp_sha256_start();
    epiqp_sha256_add(&sum, p, EPIQP_MODEL_AT_SUM);
    epiqp_sha256_add(&sum, zeros, EPIQP_MODEL_SUM);
    epiqp_sha256_add(&sum, p + EPIQP_MODEL_AT_SUM + EPIQP_MODEL_SUM,
                     (size_t)(size - EPIQP_MODEL_AT_SUM - EPIQP_MODEL_SUM));
    epiqp_sha256_end(&sum, hex);
    if (memcmp(hex, p + EPIQP_MODEL_AT_SUM, EPIQP_MODEL_SUM) != 0) {
        return refuse(r, "the file is damaged or cut short, its checksum does not match; copy it again, or fit again");
    }
    const bool fits = *length >= EPIQP_MODEL_AT_SUM + EPIQP_MODEL_SUM - 8 && *length <= size - 8 &&
                      *length <= LONGEST && (8 + *length) % EPIQP_MODEL_ALIGN == 0;
    return fits ? EPIQ_OK : refuse(r, "the header's length is wrong; fit again");
}

static int take_notes(const reading *r)
{
    epiq_ctx *c = r->c;
    epiq_model *m = r->m;
    m->o = epiq_options_default();
    for (ptrdiff_t i = 0; i < r->h.notes; i++) {
        const char *key = r->h.note[i].key, *value = r->h.note[i].value;
        if (strncmp(key, "option.", 7) != 0) continue;
        const bool writes = epiq_options_scope(epiq_options_index(key + 7)) & EPIQ_OPTION_FILE;
        const int set = writes ? EPIQ_E_USAGE : epiqp_options_set(c, &m->arena, &m->o, key + 7, value);
        if (set == EPIQ_E_NOMEM) return set;
        if (set) {
            char why[256]; /* the message quotes the file */
            const char *reason = writes ? "a model names no file to write" : epiq_message(c);
            epiqp_text_show(why, sizeof why, reason, (ptrdiff_t)strlen(reason));
            epiqp_clear(c);
            return epiqp_fail(c, EPIQ_E_FILE, "%s: %s is not one this epiq knows (%s); use the epiq it was made with",
                              r->file, epiqp_show(key).text, why);
        }
    }
    const char *order = epiqp_header_note(&r->h, "byte_order"), *sum = epiqp_header_note(&r->h, "data_sha256");
    m->version = epiqp_header_note(&r->h, "epiq_version");
    m->target = epiqp_header_note(&r->h, "target");
    const bool good =
        !epiqp_options_check(c, &m->o) && !epiqp_options_conflict(c, &m->o, EPIQ_FOR_FIT | EPIQP_NOTHING_OPEN);
    if (good && order && strcmp(order, "little") != 0) {
        return refuse(r, "the file's byte order is not little-endian; fit again");
    }
    const bool resolved = m->o.methods < EPIQ_AUTO && m->o.ensemble_size > 0 &&
                          !(m->o.engine == EPIQ_ENGINE_INFINITE && m->o.methods & EPIQ_BA);
    if (!good || !resolved || !order || !m->version || !m->target || !sum || strlen(sum) != EPIQP_MODEL_SUM) {
        epiqp_clear(c);
        return refuse(r, "its options, names or checksums are not those of a model; fit again");
    }
    memcpy(m->sha256, sum, EPIQP_MODEL_SUM + 1);
    epiqp_model_list_contents(m);
    return EPIQ_OK;
}

static int wrong_tensor(const reading *r, const char *name, const char *what)
{
    return epiqp_fail(r->c, EPIQ_E_FILE, "%s: tensor %s %s; the file was not written by epiq: fit again", r->file,
                      epiqp_show(name).text, what);
}

static const epiqp_entry *entry_of(const reading *r, ptrdiff_t guess, const char *name)
{
    const epiqp_entry *list = r->h.tensor, *end = list + r->h.tensors;
    if (guess < r->h.tensors && strcmp(list[guess].name, name) == 0) return list + guess; /* where epiq writes it */
    while (list < end && strcmp(list->name, name) != 0) {
        list++;
    }
    return list < end ? list : NULL;
}

/* Takes n and d, which determine all other shapes, from the tensor "rows". room: bytes of all tensors. */
static int take_sizes(const reading *r, ptrdiff_t room)
{
    epiq_model *m = r->m;
    const epiqp_entry *rows = entry_of(r, 0, "rows");
    m->n = rows && rows->dims == 2 ? rows->shape[0] : 0;
    m->d = rows && rows->dims == 2 ? rows->shape[1] : 0;
    const epiqp_entry *span =
        entry_of(r, 0, "span"); /* where features were more than rows; files of before have none */
    ptrdiff_t all;
    if (span && (span->dims != 2 || span->shape[0] < 1 || span->shape[0] > m->n || span->shape[1] != m->d)) {
        return wrong_tensor(r, "\"span\"", "has an impossible shape");
    }
    if (span) m->kept.span = (epiqp_span){.d = m->d, .rank = span->shape[0]};
    m->inputs = span ? span->shape[0] + 1 : m->d;
    double net = (double)m->inputs + (double)m->o.width * (double)m->o.depth;
    double networks = (double)m->o.members + (double)m->o.batches + 2.0 * EPIQP_STARTS * (double)m->o.replicates;
    bool bad = m->n < 2 || m->d < 1 || __builtin_mul_overflow(m->n, m->d, &all) || all > room / 8 ||
               (double)m->o.width * net * networks > 1e17 || (double)m->n * ((double)m->n + networks) > 1e17;
    return bad ? wrong_tensor(r, "\"rows\"", "is missing or has an impossible shape") : EPIQ_OK;
}

static int wrong_numbers(const reading *r)
{
    return refuse(r, "its numbers are not those of a model; fit again");
}

/* Requires every tensor of the list and no other, of its type and shape, contiguous to the end of the file. */
static int take_tensors(const reading *r, const char *bytes, ptrdiff_t room)
{
    epiqp_tensor *list;
    ptrdiff_t count, at = 0;
    int status = epiqp_tensors_new(r->c, &r->m->arena, r->m, &list, &count);
    for (ptrdiff_t i = 0; !status && i < count; i++) {
        const epiqp_tensor *t = &list[i];
        const epiqp_entry *e = entry_of(r, i, t->name);
        const bool whole = t->flags & EPIQP_TENSOR_WHOLE;
        const ptrdiff_t items = epiqp_tensor_items(t), end = at + 8 * items;
        const char *here = bytes + at;
        if (!e) return wrong_tensor(r, t->name, "is missing");
        if (strcmp(e->dtype, whole ? "I64" : "F64") != 0 || e->dims != t->dims || e->shape[0] != t->shape[0] ||
            (t->dims == 2 && e->shape[1] != t->shape[1])) {
            return wrong_tensor(r, t->name, "has another type or shape than its options say");
        }
        if (e->range[0] != at || e->range[1] != end || end > room) {
            return wrong_tensor(r, t->name, "does not lie where it should");
        }
        for (ptrdiff_t k = 0; !whole && k < items; k++) {
            double v;
            memcpy(&v, here + 8 * k, sizeof v);
            if (!isfinite(v)) return wrong_tensor(r, t->name, "holds what is not a finite number");
            if (t->flags & EPIQP_TENSOR_AMOUNT && v < 0) return wrong_numbers(r);
        }
        if (t->flags & EPIQP_TENSOR_INSIDE) {
            memcpy(t->at, here, (size_t)(end - at));
        } else if (t->at) {
            memcpy(t->at, &here, sizeof here); /* sets the pointer, whatever its type */
        }
        at = end;
    }
    if (status || (count == r->h.tensors && at == room)) return status;
    return refuse(r, "the file has extra tensors or trailing bytes; it was not written by epiq: fit again");
}

/* Of what says where a new observation falls: positive where it is divided by, and ranks that rise to all groups. */
static bool good_spread(const epiq_model *m)
{
    const epiqp_spread_kept *s = &m->kept.spread;
    const double most = (double)m->groups;
    if (!m->kept.has_spread) return true;
    bool good = s->law.unit >= DBL_MIN && s->law.shrink > 0 && s->law.shrink <= 1;
    for (ptrdiff_t i = 1; good && i < m->n; i++) {
        good = s->score[i] >= s->score[i - 1] && s->upto[i] > s->upto[i - 1];
    }
    return good && s->upto[0] > 0 && fabs(s->upto[m->n - 1] - most) <= 1e-6 * most;
}

/* Checks the numbers that prediction divides by or uses as indices. */
static int check_values(const reading *r)
{
    epiq_model *m = r->m;
    const epiqp_followed *f = m->kept.retrain;
    bool good =
        m->target_scaling[1] > 0 && (!f || (f->left_out.kappa > 0 && f->at_rows.kappa > 0 && f->left_out.rest > 0 &&
                                            f->at_rows.rest > 0 && f->noise > 0 && f->step >= DBL_MIN));
    for (ptrdiff_t k = 0; k < m->d; k++) {
        good = good && m->factor[k] > 0;
    }
    for (ptrdiff_t k = 0; k < m->kept.span.rank; k++) { /* of length 1, but for rounding */
        const double *q = m->kept.span.q + k * m->d;
        good = good && fabs(epiqp_dot(m->d, q, q) - 1) < 1e-6;
    }
    for (ptrdiff_t i = 0; good && i < m->n; i++) {
        good = m->group[i] >= 0 && m->group[i] < m->n && (!m->has.factor || epiqp_tri_get(&m->kept.factor, i, i) > 0) &&
               (!m->kept.fold || (m->kept.fold[i] >= 0 && m->kept.fold[i] < m->o.folds));
        m->groups = good ? epiqp_max(m->groups, m->group[i] + 1) : 0;
    }
    good = good && (!m->has.error || epiqp_model_error_of(m->error, &m->fit_error)) && good_spread(m);
    bool groups = !m->has.influence || (m->groups > 1 && (!m->has.rowwise || m->groups == m->n));
    return good && groups && m->groups >= m->ensemble[EPIQP_BATCHES].count ? EPIQ_OK : wrong_numbers(r);
}

static int read_model(reading *r)
{
    epiq_model *m = r->m;
    ptrdiff_t length = 0;
    int status = check_whole(r, &length);
    if (status) return status;
    const char *bytes = (const char *)m->bytes + 8;
    const ptrdiff_t room = (ptrdiff_t)m->size - 8 - length;
    if ((status = epiqp_header_read(r->c, r->file, bytes, length, &m->arena, &r->h)) || (status = take_notes(r)) ||
        (status = take_sizes(r, room))) {
        return status;
    }
    if (m->has.factor) m->kept.factor = epiqp_tri_shape(m->n);
    if (m->has.retrain && !(m->kept.retrain = epiqp_arena_alloc(r->c, &m->arena, 1, sizeof *m->kept.retrain))) {
        return EPIQ_E_NOMEM;
    }
    m->has.error = entry_of(r, 0, "fit_error"); /* files of before have neither */
    m->kept.has_spread = entry_of(r, 0, "interval_law");
    const char *features = epiqp_header_note(&r->h, "features");
    if ((status = take_tensors(r, bytes + length, room)) ||
        (status = epiqp_header_features(r->c, r->file, features ? features : "", m->d, m)) ||
        (status = check_values(r))) {
        return status;
    }
    return epiqp_model_prepare(r->c, m);
}

/* path NULL: from the bytes. */
static int open_model(epiq_ctx *c, const char *path, const char *file, const void *bytes, size_t size, epiq_model **out)
{
    epiqp_clear(c);
    *out = NULL;
    reading r = {.c = c, .file = file, .m = epiqp_model_alloc(c)};
    if (!r.m) return EPIQ_E_NOMEM;
    int status = path ? map_file(&r, path) : take_bytes(&r, bytes, size);
    if (!status) status = read_model(&r);
    epiqp_free(c, r.h.tensor);
    epiqp_free(c, r.h.note);
    if (status) epiq_model_free(c, r.m);
    *out = status ? NULL : r.m;
    return status;
}

int epiq_model_read(epiq_ctx *c, const char *path, epiq_model **out)
{
    char file[200];
    epiqp_text_show(file, sizeof file, path, (ptrdiff_t)strlen(path));
    return open_model(c, path, file, NULL, 0, out);
}

int epiq_model_load(epiq_ctx *c, const void *bytes, size_t size, epiq_model **out)
{
    return open_model(c, NULL, "the model's bytes", bytes, size, out);
}
