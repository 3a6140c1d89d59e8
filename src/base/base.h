/* base.h - what every other folder uses: the context, failing with a message, memory, checksums.
 * A failure is `return epiqp_fail(c, STATUS, "what was asked, what was found, what to try")`; the first one is kept.
 */
#ifndef EPIQP_BASE_H
#define EPIQP_BASE_H

#include "common/machine.h"
#include "epiq_cluster.h"
#include "epiq_details.h"
#include "epiq_device.h"
#include "epiq_options.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Many blocks that are freed together. Zero-initialise it; blocks are zeroed. */
typedef struct epiqp_arena {
    struct epiqp_block *last;
} epiqp_arena;

/* The device of the current run. */
typedef struct {
    const epiq_device *table;
    double bytes; /* of its memory, free when the run began */
    bool only;    /* --device gpu: what does not fit there is refused, and not done without it */
} epiqp_device;

struct epiq_ctx {
    atomic_bool stop, finish;
    atomic_ptrdiff_t live_blocks;
    atomic_ptrdiff_t fail_after; /* tests: the allocation of this number fails; negative: none does */
    int (*report)(void *user, const epiq_progress *p);
    void *user;
    const epiq_cluster *cluster; /* &own_cluster; NULL: not on a cluster */
    epiq_cluster own_cluster;
    epiq_device_open open_device; /* NULL: there is none; called once */
    void *device_user;
    bool device_opened;
    char no_device[512]; /* why it could not be opened; "": there is nothing to say */
    epiqp_device device; /* table NULL: not opened, or there is none */
    epiqp_arena texts;   /* of options, as epiq_options_set copied them */
    epiq_spelling spelling;
    char message[1024];
};

/* Stores the message and returns the status. Only the first message is kept, also inside a parallel region.
 * A message names an option as {--bias-sd}; the context's spelling makes --bias-sd or bias_sd of it. */
__attribute__((format(printf, 3, 4))) int epiqp_fail(epiq_ctx *c, int status, const char *fmt, ...);
void epiqp_clear(epiq_ctx *c); /* removes an old message; every public call begins with it */

/* Reports progress to the caller; EPIQ_E_STOPPED, with a message, if the caller or a signal requested a stop. */
int epiqp_report(epiq_ctx *c, const char *stage, ptrdiff_t done, ptrdiff_t all);
bool epiqp_cancel_requested(epiq_ctx *c);
bool epiqp_finish_requested(epiq_ctx *c); /* the request is to finish early with what there is, not to stop */
void epiqp_clear_cancel(epiq_ctx *c);     /* a request is valid for one call, or until it has been obeyed */

/* 64-byte aligned, not zeroed, size checked for overflow. NULL: the message of EPIQ_E_NOMEM is set. */
void *epiqp_alloc(epiq_ctx *c, ptrdiff_t count, size_t size);
void *epiqp_realloc(epiq_ctx *c, void *p, ptrdiff_t old_count, ptrdiff_t count, size_t size);
/* p with room for `need` items, at least doubled; NULL: no memory, and p is still the caller's. */
void *epiqp_grown(epiq_ctx *c, void *p, ptrdiff_t *room, ptrdiff_t need, size_t size);
void epiqp_free(epiq_ctx *c, void *p);

/* Copies a struct that the caller made, which begins with its size, to one of the size known here; what the caller's does
 * not have is left as it is in own. what: the name of its type. */
int epiqp_take(epiq_ctx *c, const char *what, const void *from, void *own, size_t size);
int epiqp_options_take(epiq_ctx *c, const epiq_options *o, epiq_options *own); /* over the defaults */
/* The other way: as much of own as the caller's struct has room for. */
void epiqp_give(const void *own, size_t own_size, void *to, size_t size);

void *epiqp_arena_alloc(epiq_ctx *c, epiqp_arena *a, ptrdiff_t count, size_t size);
__attribute__((format(printf, 3, 4))) char *epiqp_arena_printf(epiq_ctx *c, epiqp_arena *a, const char *fmt, ...);
/* The same for a text that people read: options are spelled as in messages. */
__attribute__((format(printf, 3, 4))) char *epiqp_arena_sentence(epiq_ctx *c, epiqp_arena *a, const char *fmt, ...);
void epiqp_arena_free(epiq_ctx *c, epiqp_arena *a);
/* Pointers to the items of an array, then NULL, which is how results list structs. NULL: there is no memory. */
const void *epiqp_arena_list(epiq_ctx *c, epiqp_arena *a, const void *items, ptrdiff_t count, size_t size);
extern const void *const epiqp_empty_list; /* such a list without items */

/* A list of warnings that grows in an arena. */
typedef struct {
    epiqp_arena *arena;
    epiq_warning *list;
    ptrdiff_t count, room;
} epiqp_warnings;
bool epiqp_warned(const epiqp_warnings *w, int kind); /* of this kind already */
__attribute__((format(printf, 4, 5))) int epiqp_warn(epiq_ctx *c, epiqp_warnings *w, int kind, const char *fmt, ...);

/* What is about to be done with the options, where a verb (EPIQ_FOR_FIT, EPIQ_FOR_COMPARE) does not say it all. */
typedef enum {
    EPIQP_ALWAYS = 1 << 20,
    EPIQP_SEVERAL_RANKS = 1 << 21,
    EPIQP_SEVERAL_PICKS = 1 << 22,  /* explore chooses more than one candidate */
    EPIQP_SEVERAL_WIDTHS = 1 << 23, /* compare has more than one */
    EPIQP_LEAVE_ONE_OUT = 1 << 24,  /* compare judges by these errors, not by folds */
    EPIQP_RETRAINING = 1 << 25,     /* the data part is to come from retrained networks: the sentence is a reason */
    EPIQP_NO_FACTOR = 1 << 26,      /* the solver does without one of all rows */
    EPIQP_NOTHING_OPEN = 1 << 27    /* the width and lambda must have been chosen already */
} epiqp_occasion;

/* Every value against the table, and what holds always; then what holds on any of these occasions. */
int epiqp_options_check(epiq_ctx *c, const epiq_options *o);
int epiqp_options_conflict(epiq_ctx *c, const epiq_options *o, unsigned when);
const char *epiqp_not_retrained(const epiq_options *o); /* why the data part is not by retraining; NULL: it may be */
bool epiqp_needs_factor(const epiq_options *o);         /* of all rows: no solver may do without */

/* Options of any of these scopes; texts of any, copied to live as long as the arena. */
void epiqp_options_copy(epiq_options *to, const epiq_options *from, unsigned scope);
int epiqp_options_keep_texts(epiq_ctx *c, epiqp_arena *a, epiq_options *o);
/* epiq_options_set with another place for the copy of the text. */
int epiqp_options_set(epiq_ctx *c, epiqp_arena *texts, epiq_options *o, const char *name, const char *value);
void epiqp_options_member_key(const epiq_options *o, char *text, size_t size); /* the values of EPIQ_OPTION_MEMBER */
/* A value as one bit of 32, for sets of values: of a choice its number, of methods their sum, of a count itself, of
 * larger ones and of a real above 0 the last. */
unsigned epiqp_options_bit(const epiq_options *o, ptrdiff_t index);

/* Replaces the decimal point of the host's locale in the numbers of text by a dot; returns the new length. */
int epiqp_plain_numbers(char *text);

typedef struct {
    uint32_t h[8];
    uint64_t length;
    unsigned char block[64];
} epiqp_sha256;
epiqp_sha256 epiqp_sha256_start(void);
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
