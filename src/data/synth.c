/* synth.c - the three synthetic data sets of docs/method.md, from numbered random streams. */
#include "base/base.h"
#include "rng/rng.h"

#include <math.h>

/* The mean of y is a sum over the inputs of one of these; the noise is normal. */
static double exponential(double x)
{
    return exp(x) + x * x;
}
static double cosine(double x)
{
    return cos(x) + x * x * x;
}

static const struct {
    bool normal; /* inputs N(0, spread^2), else uniform on [0, spread] */
    double spread;
    double (*mean)(double x);
    bool noise_grows; /* noise 0.1 d e, else 0.1 e */
} SETS[] = {{false, 0.2, sin, false}, {true, 0.1, exponential, true}, {true, 0.1, cosine, true}};

int epiq_synth(epiq_ctx *c, int set, ptrdiff_t n, ptrdiff_t d, uint64_t seed, double *x, double *y)
{
    epiqp_clear(c);
    ptrdiff_t items;
    if (set < 1 || set > 3) {
        return epiqp_fail(c, EPIQ_E_USAGE, "there is no synthetic set %d; the sets are 1, 2 and 3", set);
    }
    if (n < 1 || d < 1 || __builtin_mul_overflow(n, d, &items)) {
        return epiqp_fail(c, EPIQ_E_USAGE, "%td rows of %td inputs cannot be made; %s", n, d,
                          n < 1 || d < 1 ? "both must be at least 1" : "make fewer");
    }
    epiqp_stream inputs = {seed, EPIQP_FOR_SYNTH_X, (uint64_t)set},
                 noise = {seed, EPIQP_FOR_SYNTH_NOISE, (uint64_t)set};
    (SETS[set - 1].normal ? epiqp_normals : epiqp_uniforms)(inputs, items, x);
    epiqp_normals(noise, n, y);
    for (ptrdiff_t i = 0; i < n; i++) {
        double mean = 0;
        for (ptrdiff_t j = 0; j < d; j++) {
            x[i * d + j] *= SETS[set - 1].spread;
            mean += SETS[set - 1].mean(x[i * d + j]);
        }
        y[i] = mean + 0.1 * (SETS[set - 1].noise_grows ? (double)d : 1) * y[i];
    }
    return EPIQ_OK;
}
