/* fuzz_model.c - any bytes as a model file. One that is taken can be asked, and written, and what was written is the same
 * model. Mutants get the checksum and the length of the header that they need.
 */
#include "data/table.h"
#include "epiq_model.h"
#include "fuzz.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 3, AFTER_SUM = EPIQP_MODEL_AT_SUM + EPIQP_MODEL_SUM };

typedef struct {
    uint8_t bytes[1 << 18];
    size_t size;
} sent;

static int collect(void *user, const void *bytes, size_t size)
{
    sent *s = user;
    EXPECT(s->size + size <= sizeof s->bytes);
    memcpy(s->bytes + s->size, bytes, size);
    s->size += size;
    return 0;
}

static void check_names(const epiq_model *m)
{
    const epiq_model_info about = epiq_model_describe(m);
    EXPECT(about.rows >= 2 && about.features >= 1 && about.target && about.version && strlen(about.sha256) == 64);
    EXPECT(isfinite(about.shift) && about.factor > 0 && about.parts & EPIQ_PREDICTION);
    for (ptrdiff_t k = 0; k < about.features; k++) {
        EXPECT(about.feature[k] && m->columns.source[k]);
        EXPECT(epiqp_text_is_clean(about.feature[k], (ptrdiff_t)strlen(about.feature[k])));
    }
}

typedef struct {
    double prediction[POINTS], procedural[POINTS], data[POINTS], ensemble[POINTS];
    double sd[POINTS], lo[POINTS], hi[POINTS], noise[POINTS];
    unsigned char known[POINTS];
    int status;
} answer;

/* At the origin of the scaling, one unit from it, and far away. */
static answer ask(const epiq_model *m, bool exact)
{
    epiq_ctx *c = fuzz_ctx();
    answer a = {0};
    double *x = epiqp_alloc(c, POINTS * m->d, sizeof *x);
    for (ptrdiff_t k = 0; k < m->d; k++) {
        x[k] = m->shift[k];
        x[m->d + k] = fmax(fmin(m->shift[k] + m->factor[k], 1e300), -1e300);
        x[2 * m->d + k] = 1e150;
    }
    epiq_predictions out = {
        sizeof(epiq_predictions), a.prediction, a.procedural, a.data,     a.ensemble,      a.known, .threads = 1,
        .exact = exact,           .sd = a.sd,   .lo = a.lo,   .hi = a.hi, .noise = a.noise};
    a.status = fuzz_status(epiq_model_predict(c, m, POINTS, x, &out));
    epiqp_free(c, x);
    const double *const parts[] = {a.prediction, a.procedural, a.data, a.ensemble, a.sd, a.lo, a.noise};
    for (int p = 0; !a.status && p < POINTS; p++) {
        for (int k = 0; k < 7; k++) { /* the bits of known are in this order */
            const bool known = a.known[p] >> k & 1, amount = k != 0 && k != 5;
            EXPECT(isfinite(parts[k][p]) && (known || parts[k][p] == 0) && (!amount || parts[k][p] >= 0));
        }
        EXPECT(isfinite(a.hi[p]) && a.hi[p] >= a.lo[p]);
    }
    return a;
}

static bool equal(const answer *a, const answer *b)
{
    return a->status == b->status && !memcmp(a->known, b->known, sizeof a->known) &&
           (a->status ||
            (!memcmp(a->prediction, b->prediction, sizeof a->prediction) &&
             !memcmp(a->procedural, b->procedural, sizeof a->procedural) && !memcmp(a->data, b->data, sizeof a->data) &&
             !memcmp(a->ensemble, b->ensemble, sizeof a->ensemble) && !memcmp(a->sd, b->sd, sizeof a->sd) &&
             !memcmp(a->lo, b->lo, sizeof a->lo) && !memcmp(a->hi, b->hi, sizeof a->hi) &&
             !memcmp(a->noise, b->noise, sizeof a->noise)));
}

static void check_sent(const epiq_model *m, bool exact)
{
    static sent first, second;
    epiq_ctx *c = fuzz_ctx();
    epiq_model *again;
    first.size = second.size = 0;
    answer before = ask(m, exact);
    EXPECT(fuzz_status(epiq_model_send(c, m, collect, &first)) == EPIQ_OK);
    EXPECT(fuzz_status(epiq_model_load(c, first.bytes, first.size, &again)) == EPIQ_OK);
    answer after = ask(again, exact);
    EXPECT(equal(&before, &after));
    EXPECT(fuzz_status(epiq_model_send(c, again, collect, &second)) == EPIQ_OK);
    EXPECT(first.size == second.size && !memcmp(first.bytes, second.bytes, first.size));
    epiq_model_free(c, again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    epiq_ctx *c = fuzz_ctx();
    const uint64_t h = fuzz_hash(bytes, size);
    epiq_model *m;
    int s =
        fuzz_status(h & 7 ? epiq_model_load(c, bytes, size, &m) : epiq_model_read(c, fuzz_file(0, bytes, size), &m));
    EXPECT((s == EPIQ_OK) == (m != NULL));
    if (m) {
        check_names(m);
        check_sent(m, h >> 3 & 1);
    }
    epiq_model_free(c, m);
    fuzz_end();
    return 0;
}

/* ---- mutants that get past the checksum ---- */

static size_t sign(uint8_t *bytes, size_t size)
{
    char hex[EPIQP_MODEL_SUM + 1];
    epiqp_sha256 sum = epiqp_sha256_start();
    if (size >= AFTER_SUM) {
        memset(bytes + EPIQP_MODEL_AT_SUM, '0', EPIQP_MODEL_SUM);
        epiqp_sha256_add(&sum, bytes, size);
        epiqp_sha256_end(&sum, hex);
        memcpy(bytes + EPIQP_MODEL_AT_SUM, hex, EPIQP_MODEL_SUM);
    }
    return size;
}

static size_t header_end(const uint8_t *bytes, size_t size)
{
    uint64_t length = 0;
    for (int k = 0; k < 8 && size >= 8; k++) {
        length |= (uint64_t)bytes[k] << 8 * k;
    }
    return length <= size - 8 && length + 8 > AFTER_SUM ? (size_t)length + 8 : 0;
}

/* The header's text alone, filled up with spaces again, and the tensors behind it as they were. */
static size_t mutate_header(uint8_t *bytes, size_t size, size_t end, size_t room)
{
    static uint8_t text[1 << 16], rest[1 << 16];
    size_t length = end - AFTER_SUM, tail = size - end;
    if (length > sizeof text / 2 || tail > sizeof rest || room < size + 128) return LLVMFuzzerMutate(bytes, size, room);
    memcpy(rest, bytes + end, tail);
    memcpy(text, bytes + AFTER_SUM, length);
    while (length && text[length - 1] == ' ') {
        length--;
    }
    size_t most = room - AFTER_SUM - tail - 64;
    length = LLVMFuzzerMutate(text, length, most < sizeof text - 64 ? most : sizeof text - 64);
    while ((AFTER_SUM + length) % EPIQP_MODEL_ALIGN) {
        text[length++] = ' ';
    }
    memcpy(bytes + AFTER_SUM, text, length);
    memcpy(bytes + AFTER_SUM + length, rest, tail);
    for (int k = 0; k < 8; k++) {
        bytes[k] = (uint8_t)((AFTER_SUM + length - 8) >> 8 * k);
    }
    return AFTER_SUM + length + tail;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed)
{
    size_t end = size > AFTER_SUM ? header_end(bytes, size) : 0;
    if (!end || seed % 16 == 0) return LLVMFuzzerMutate(bytes, size, room);
    if (seed % 16 < 10) {
        size = mutate_header(bytes, size, end, room);
    } else {
        size = end + LLVMFuzzerMutate(bytes + end, size - end, room - end);
    }
    return sign(bytes, size);
}
