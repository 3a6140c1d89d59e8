/* base.h - what every other folder stands on: the context, failing with a sentence, memory, time, checksums.
 * A failure is `return epiqp_fail(c, STATUS, "what was asked, what was found, what to try")`; the first one is kept.
 */
#ifndef EPIQP_BASE_H
#define EPIQP_BASE_H

#include "epiq.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>

struct epiq_ctx {
    atomic_bool stop, finish;
    atomic_ptrdiff_t live_blocks;
    atomic_ptrdiff_t fail_after; /* tests: the allocation of this number fails; negative: none does */
    int (*report)(void *user, const epiq_progress *p);
    void *user;
    const epiq_cluster *cluster; /* NULL: alone */
    char message[1024];
};

/* Keep the sentence and return the status. Inside a parallel region the first failure wins, the rest is dropped. */
__attribute__((format(printf, 3, 4))) int epiqp_fail(epiq_ctx *c, int status, const char *fmt, ...);
void epiqp_clear(epiq_ctx *c); /* at the start of each public call: no old sentence */

/* Tell the caller what is finished; EPIQ_E_STOPPED (with its sentence) if it or a signal asked to stop. */
int epiqp_report(epiq_ctx *c, const char *stage, ptrdiff_t done, ptrdiff_t all);
bool epiqp_stopping(epiq_ctx *c);
bool epiqp_finishing(epiq_ctx *c); /* what was asked for is an early end, not none */
void epiqp_go_on(epiq_ctx *c);     /* a request ends with the call it was for, or once it has been heeded */

/* 64-byte aligned, not zeroed, size checked for overflow; NULL leaves EPIQ_E_NOMEM's sentence. */
void *epiqp_alloc(epiq_ctx *c, ptrdiff_t count, size_t size);
void *epiqp_realloc(epiq_ctx *c, void *p, ptrdiff_t old_count, ptrdiff_t count, size_t size);
void epiqp_free(epiq_ctx *c, void *p);

/* Many blocks with one owner and one end. Zero-initialise; blocks are zeroed. */
typedef struct epiqp_arena {
    struct epiqp_block *last;
} epiqp_arena;
void *epiqp_arena_alloc(epiq_ctx *c, epiqp_arena *a, ptrdiff_t count, size_t size);
__attribute__((format(printf, 3, 4))) char *epiqp_arena_printf(epiq_ctx *c, epiqp_arena *a, const char *fmt, ...);
void epiqp_arena_free(epiq_ctx *c, epiqp_arena *a);

/* A list of warnings that grows in an arena. */
typedef struct {
    epiqp_arena *arena;
    epiq_warning *list;
    ptrdiff_t count, room;
} epiqp_warnings;
__attribute__((format(printf, 4, 5))) int epiqp_warn(epiq_ctx *c, epiqp_warnings *w, const char *code, const char *fmt,
                                                     ...);

int epiqp_options_check(epiq_ctx *c, const epiq_options *o); /* every value against the table, and those that clash */

const char *epiqp_needs_factor(const epiq_options *o); /* the option that needs one of all rows; NULL: none does */

/* The host's locale may have printed the numbers in text with another decimal point; the length, with ours. */
int epiqp_plain_numbers(char *text);
double epiqp_now(void);    /* seconds on a clock that only goes forward */
double epiqp_memory(void); /* bytes that the machine has */

typedef struct {
    uint32_t h[8];
    uint64_t length;
    unsigned char block[64];
} epiqp_sha256;
void epiqp_sha256_start(epiqp_sha256 *s);
void epiqp_sha256_add(epiqp_sha256 *s, const void *bytes, size_t count);
void epiqp_sha256_end(epiqp_sha256 *s, char hex[65]);

static inline bool epiqp_little_endian(void)
{
    const uint16_t one = 1;
    return *(const unsigned char *)&one == 1;
}
static inline ptrdiff_t epiqp_min(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}
static inline ptrdiff_t epiqp_max(ptrdiff_t a, ptrdiff_t b)
{
    return a > b ? a : b;
}

#endif
