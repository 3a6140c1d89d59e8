/* keys.h - a hash set of byte strings, numbered in order of first appearance. */
#ifndef EPIQP_KEYS_H
#define EPIQP_KEYS_H

#include "base/base.h"

typedef struct {
    ptrdiff_t count;
    char *pool;       /* the bytes of all keys, in order, a zero byte after each */
    ptrdiff_t *start; /* count + 1 offsets into the pool */
    struct epiqp_slot *slot;
    ptrdiff_t pool_room, start_room, slots;
} epiqp_keys;

ptrdiff_t epiqp_keys_add(epiq_ctx *c, epiqp_keys *k, const void *key, ptrdiff_t size); /* its number; -1: no memory */
ptrdiff_t epiqp_keys_find(const epiqp_keys *k, const void *key, ptrdiff_t size); /* its number; -1: not in the set */
const char *epiqp_keys_text(const epiqp_keys *k, ptrdiff_t number); /* the key, with a zero byte at its end */
/* The number of the first text that equals an earlier one, which is *earlier; count: none does; -1: no memory. */
ptrdiff_t epiqp_keys_repeated(epiq_ctx *c, ptrdiff_t count, const char *const *text, ptrdiff_t *earlier);
void epiqp_keys_free(epiq_ctx *c, epiqp_keys *k);

#endif
