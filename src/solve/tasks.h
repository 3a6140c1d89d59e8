/* tasks.h - waiting for another thread's work inside a parallel region where tasks are numbered, taken in that order,
 * and wait only for lower numbers; and telling how far they have come. */
#ifndef EPIQP_TASKS_H
#define EPIQP_TASKS_H

#include "base/base.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Until *count has come to `wanted`; false when *failed (if given) is set meanwhile. */
static inline bool epiqp_await(atomic_ptrdiff_t *count, ptrdiff_t wanted, atomic_ptrdiff_t *failed)
{
    for (int spins = 0; atomic_load(count) < wanted; spins += spins <= 200) {
        if (failed && atomic_load(failed)) {
            return false;
        }
        if (spins > 200) { /* a core may be shared with the thread awaited */
            sched_yield();
        }
    }
    return true;
}

/* Tells how far a step in n^3 has come, where that takes seconds; who watches may ask to stop. */
static inline void epiqp_report_share(epiq_ctx *c, const char *stage, ptrdiff_t n, double share)
{
    if (n > 8192) {
        epiqp_report(c, stage, (ptrdiff_t)(100 * share), 100);
    }
}

#endif
