/* keys.c - numbers for distinct byte strings, in order of first appearance: labels, groups, names, repeated rows.
 * A hash table with open addressing over a pool of the keys' bytes.
 */
#include "base/keys.h"

#include <assert.h>
#include <string.h>

struct epiqp_slot {
    uint64_t hash;
    ptrdiff_t number; /* from 1; 0: free */
};

static uint64_t hash_of(const void *key, ptrdiff_t size)
{
    const unsigned char *p = key;
    uint64_t h = (uint64_t)size;
    for (ptrdiff_t at = 0; at < size; at += 8) {
        uint64_t word = 0;
        memcpy(&word, p + at, (size_t)epiqp_min(8, size - at));
        h = (h ^ word) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    }
    return h;
}

/* The slot that holds the key, or the free one where it belongs. */
static struct epiqp_slot *probe(const epiqp_keys *k, uint64_t hash, const void *key, ptrdiff_t size)
{
    for (uint64_t i = hash;; i++) {
        struct epiqp_slot *s = &k->slot[i & (uint64_t)(k->slots - 1)];
        if (!s->number) return s;
        assert(k->start); /* there are keys */
        const ptrdiff_t *start = &k->start[s->number - 1];
        bool same_size = s->hash == hash && start[1] - start[0] - 1 == size;
        if (same_size && (!size || !memcmp(k->pool + start[0], key, (size_t)size))) return s;
    }
}

static int more_slots(epiq_ctx *c, epiqp_keys *k)
{
    ptrdiff_t slots = epiqp_max(16, 2 * k->slots);
    struct epiqp_slot *slot = epiqp_alloc(c, slots, sizeof *slot);
    if (!slot) return EPIQ_E_NOMEM;
    memset(slot, 0, (size_t)slots * sizeof *slot);
    for (ptrdiff_t i = 0; i < k->slots; i++) {
        if (!k->slot[i].number) continue;
        uint64_t at = k->slot[i].hash;
        while (slot[at & (uint64_t)(slots - 1)].number) {
            at++;
        }
        slot[at & (uint64_t)(slots - 1)] = k->slot[i];
    }
    epiqp_free(c, k->slot);
    k->slot = slot;
    k->slots = slots;
    return EPIQ_OK;
}

ptrdiff_t epiqp_keys_find(const epiqp_keys *k, const void *key, ptrdiff_t size)
{
    return k->slots ? probe(k, hash_of(key, size), key, size)->number - 1 : -1;
}

ptrdiff_t epiqp_keys_add(epiq_ctx *c, epiqp_keys *k, const void *key, ptrdiff_t size)
{
    if (2 * k->count >= k->slots && more_slots(c, k)) return -1;
    uint64_t hash = hash_of(key, size);
    struct epiqp_slot *s = probe(k, hash, key, size);
    if (s->number) return s->number - 1;
    ptrdiff_t *start = epiqp_grown(c, k->start, &k->start_room, k->count + 2, sizeof *start);
    if (!start) return -1;
    k->start = start;
    start[0] = 0;
    char *pool = epiqp_grown(c, k->pool, &k->pool_room, start[k->count] + size + 1, 1);
    if (!pool) return -1;
    k->pool = pool;
    if (size) memcpy(pool + start[k->count], key, (size_t)size);
    pool[start[k->count] + size] = '\0';
    start[k->count + 1] = start[k->count] + size + 1;
    *s = (struct epiqp_slot){hash, ++k->count};
    return k->count - 1;
}

const char *epiqp_keys_text(const epiqp_keys *k, ptrdiff_t number)
{
    return k->pool + k->start[number];
}

ptrdiff_t epiqp_keys_repeated(epiq_ctx *c, ptrdiff_t count, const char *const *text, ptrdiff_t *earlier)
{
    epiqp_keys seen = {0};
    ptrdiff_t k = 0;
    while (k < count && (*earlier = epiqp_keys_add(c, &seen, text[k], (ptrdiff_t)strlen(text[k]))) == k) {
        k++;
    }
    epiqp_keys_free(c, &seen);
    return k < count && *earlier < 0 ? -1 : k;
}

void epiqp_keys_free(epiq_ctx *c, epiqp_keys *k)
{
    epiqp_free(c, k->pool);
    epiqp_free(c, k->start);
    epiqp_free(c, k->slot);
    *k = (epiqp_keys){0};
}
