/* rng.c - uniforms, normals and shuffles from Random123's Philox4x64-10. */
#include "rng/rng.h"

#include <Random123/philox.h>
#include <math.h>

__extension__ typedef unsigned __int128 wide_uint;

static philox4x64_ctr_t draw(epiqp_stream s, uint64_t round, uint64_t index)
{
    philox4x64_ctr_t counter = {{index, s.stream, round, 0}};
    philox4x64_key_t key = {{s.seed, s.purpose}};
    return philox4x64(counter, key);
}

/* The top 52 bits, centred in their cell: exact in a double, and 0 and 1 never occur. */
static double unit(uint64_t bits)
{
    return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

void epiqp_uniforms(epiqp_stream s, ptrdiff_t count, double *u)
{
    for (ptrdiff_t i = 0; i < count; i += 4) {
        philox4x64_ctr_t bits = draw(s, 0, (uint64_t)i / 4);
        for (ptrdiff_t k = 0; k < 4 && i + k < count; k++) {
            u[i + k] = unit(bits.v[k]);
        }
    }
}

void epiqp_normals(epiqp_stream s, ptrdiff_t count, double *z)
{
    const double two_pi = 6.283185307179586476925;
    for (ptrdiff_t i = 0; i < count; i += 4) {
        philox4x64_ctr_t bits = draw(s, 0, (uint64_t)i / 4);
        double quad[4];
        for (int k = 0; k < 4; k += 2) {
            double radius = sqrt(-2 * log(unit(bits.v[k]))), angle = two_pi * unit(bits.v[k + 1]);
            quad[k] = radius * cos(angle);
            quad[k + 1] = radius * sin(angle);
        }
        for (ptrdiff_t k = 0; k < 4 && i + k < count; k++) {
            z[i + k] = quad[k];
        }
    }
}

void epiqp_signs(epiqp_stream s, ptrdiff_t count, signed char *z)
{
    for (ptrdiff_t i = 0; i < count; i += 256) {
        philox4x64_ctr_t bits = draw(s, 0, (uint64_t)i / 256);
        for (ptrdiff_t k = 0; k < 256 && i + k < count; k++) {
            z[i + k] = bits.v[k / 64] >> k % 64 & 1 ? 1 : -1;
        }
    }
}

/* A whole number below bound, without bias: multiply high, and draw again in the short first interval (Lemire). */
static uint64_t below(epiqp_stream s, uint64_t round, uint64_t *index, uint64_t bound)
{
    for (;;) {
        wide_uint wide = (wide_uint)draw(s, round, (*index)++).v[0] * bound;
        if ((uint64_t)wide >= -bound % bound) return (uint64_t)(wide >> 64);
    }
}

void epiqp_shuffle(epiqp_stream s, uint64_t round, ptrdiff_t count, ptrdiff_t *v)
{
    uint64_t index = 0;
    for (ptrdiff_t i = count - 1; i > 0; i--) {
        ptrdiff_t j = (ptrdiff_t)below(s, round, &index, (uint64_t)i + 1), kept = v[i];
        v[i] = v[j];
        v[j] = kept;
    }
}
