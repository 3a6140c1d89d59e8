/* spread_side.h - where things are in a matrix that is spread over ranks (spread.h): blocks and numbers of all of it,
 * "global", and of one rank's part. For spread.c and spread_inverse.c alone.
 */
#ifndef EPIQP_SPREAD_SIDE_H
#define EPIQP_SPREAD_SIDE_H

#include "solve/spread.h"

/* Numbers in this rank's blocks before global block k. */
static inline ptrdiff_t epiqp_side_before(const epiqp_side *s, ptrdiff_t k, ptrdiff_t block)
{
    return k > s->place ? ((k - s->place - 1) / s->of + 1) * block : 0;
}
static inline ptrdiff_t epiqp_side_blocks(const epiqp_side *s, ptrdiff_t block)
{
    return (s->size + block - 1) / block;
}
/* The global block of its own block k, and the global number of its own number i. */
static inline ptrdiff_t epiqp_side_block(const epiqp_side *s, ptrdiff_t k)
{
    return k * s->of + s->place;
}
static inline ptrdiff_t epiqp_side_global(const epiqp_side *s, ptrdiff_t i, ptrdiff_t block)
{
    return epiqp_side_block(s, i / block) * block + i % block;
}
/* Is global number i one of its own, and then which? */
static inline bool epiqp_side_has(const epiqp_side *s, ptrdiff_t i, ptrdiff_t block)
{
    return i / block % s->of == s->place;
}
static inline ptrdiff_t epiqp_side_own(const epiqp_side *s, ptrdiff_t i, ptrdiff_t block)
{
    return i / block / s->of * block + i % block;
}

static inline bool epiqp_spread_has(const epiqp_spread *t, ptrdiff_t i, ptrdiff_t j)
{
    return epiqp_side_has(&t->rows, i, t->block) && epiqp_side_has(&t->cols, j, t->block);
}
static inline double *epiqp_spread_at(const epiqp_spread *t, ptrdiff_t i, ptrdiff_t j)
{
    return t->a + epiqp_side_own(&t->rows, i, t->block) + epiqp_side_own(&t->cols, j, t->block) * t->rows.size;
}

#endif
