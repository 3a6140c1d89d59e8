/* fuzz_estimate.c - epiq_estimate on a few rows, points and options made of the bytes. Whatever they are, there is a
 * sentence, or a result that keeps its promises and comes out the same again, with another number of threads too.
 */
#include "../usual.h"
#include "fuzz.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_ROWS = 9, MOST_FEATURES = 3, MOST_POINTS = 2 };

typedef struct {
    const uint8_t *p, *end;
} source;

static int byte(source *s)
{
    return s->p < s->end ? *s->p++ : 0;
}

static ptrdiff_t count(source *s, int lo, int hi)
{
    return lo + byte(s) % (hi - lo + 1);
}

/* Mostly small and plain, sometimes one of those that arithmetic fears. */
static double number(source *s)
{
    static const double feared[] = {0,       -0.0,   DBL_MIN, 5e-324,          1e300, -1e300,
                                    DBL_MAX, 1e-300, 1e154,   1 + DBL_EPSILON, 1e8,   1e-8};
    int kind = byte(s);
    double v;
    uint8_t bits[sizeof v];
    if (kind < 200) return (kind - 100) / 8.0;
    if (kind < 230) return feared[(size_t)kind % (sizeof feared / sizeof *feared)];
    if (kind < 245) {
        v = byte(s) - 128;
        return ldexp(v, 8 * (byte(s) - 128) % 1000);
    }
    for (size_t k = 0; k < sizeof bits; k++) {
        bits[k] = (uint8_t)byte(s);
    }
    memcpy(&v, bits, sizeof v);
    return v; /* NaN and infinity too: they are to be refused */
}

static double power(source *s, int lo, int hi) /* of ten */
{
    return pow(10, (double)count(s, lo, hi));
}

static epiq_options choose(source *s)
{
    static epiq_options plain;
    if (!plain.width) {
        plain = usual_options();
        plain.threads = 1;
    }
    epiq_options o = plain;
    o.scale = (int)count(s, 0, 2);
    o.methods = (int)count(s, 1, 8);
    o.engine = (int)count(s, 0, 2);
    o.members = count(s, 2, 4);
    o.batches = count(s, 2, 3);
    o.ensemble_size = count(s, 0, 4);
    o.width = count(s, 1, 5);
    o.depth = count(s, 1, 3);
    o.lambda = power(s, -16, 16);
    o.bias = byte(s) % 4 ? 1 : number(s);
    o.bias_sd = byte(s) % 4 ? 1 : number(s);
    o.steps = 1 + 2 * count(s, 0, 255); /* a hard one would go on for seconds */
    o.seed = (uint64_t)byte(s);
    int rare = byte(s); /* what most questions leave as it is */
    if (rare & 1) {
        o.optimizer = (int)count(s, 0, 3);
        o.lr = power(s, -12, 6);
        o.steps = count(s, 1, 30);
        o.batch_size = count(s, 1, 5);
        o.vary = (int)count(s, 0, 2);
    }
    if (rare & 2) {
        o.kernel = (int)count(s, 0, 1);
        o.hbar = (int)count(s, 0, 1);
        o.linear_kernel = (int)count(s, 0, 1);
        o.time = byte(s) % 2 ? power(s, -3, 16) : 0;
    }
    if (rare & 4) {
        o.correction = (int)count(s, 0, 3);
        o.probes = byte(s) % 2 ? count(s, 15, 20) : 0;
        o.influential = count(s, 0, 10);
    }
    if (rare & 8) {
        o.solver = (int)count(s, 0, 3);
        o.rank = count(s, 1, 10);
        o.tolerance = power(s, -14, -1);
        o.parts = count(s, 0, 3);
    }
    if (rare & 16) {
        o.level = byte(s) % 2 ? (double)count(s, 1, 99) / 100 : 1 - power(s, -9, -1);
        o.sweep = count(s, 0, 4);
        o.backend = (int)count(s, 0, 1);
        o.depth = byte(s) % 8 ? o.depth : 30;
    }
    return o;
}

/* Bits of the answer, 0 where there is none. */
static uint64_t ask(const epiq_data *data, const epiq_points *at, const epiq_options *o, int *status)
{
    epiq_ctx *c = fuzz_ctx();
    epiq_result *r;
    *status = fuzz_status(epiq_estimate(c, data, at, o, &r));
    EXPECT((*status >= 0) == (r != NULL));
    uint64_t sum = r ? fuzz_result(r, epiq_data_describe(data).rows) : 0;
    epiq_result_free(c, r);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    source s = {bytes, bytes + size};
    epiq_ctx *c = fuzz_ctx();
    double x[MOST_ROWS * MOST_FEATURES], y[MOST_ROWS], more[MOST_POINTS * MOST_FEATURES];
    int64_t group[MOST_ROWS];
    epiq_options o = choose(&s);
    const ptrdiff_t n = count(&s, 2, MOST_ROWS), d = count(&s, 1, MOST_FEATURES), points = count(&s, 0, MOST_POINTS);
    const bool grouped = byte(&s) % 8 == 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        for (ptrdiff_t j = 0; j < d; j++) {
            x[i * d + j] = number(&s);
        }
        y[i] = number(&s);
        group[i] = byte(&s) % 4;
    }
    for (ptrdiff_t i = 0; i < points * d; i++) {
        more[i] = number(&s);
    }
    epiq_data *data;
    epiq_points *at = NULL;
    int status = fuzz_status(epiq_data_new(c, n, d, x, y, grouped ? group : NULL, &o, &data)), again;
    if (!status) {
        EXPECT(epiq_points_new(c, data, &at) == EPIQ_OK && fuzz_status(epiq_points_add(c, at, "mean")) == EPIQ_OK);
        fuzz_status(points ? epiq_points_add_rows(c, at, points, more) : EPIQ_OK);
        uint64_t sum = ask(data, at, &o, &status);
        o.threads = o.seed % 8 ? 1 : 2;
        EXPECT(ask(data, at, &o, &again) == sum && again == status);
    }
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    fuzz_end();
    return 0;
}
