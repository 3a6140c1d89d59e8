/* tasks.h - waiting for other threads inside a parallel region whose tasks are numbered, are taken in that order and
 * wait only for lower numbers; and progress reports.
 */
#ifndef EPIQP_TASKS_H
#define EPIQP_TASKS_H

#include "base/base.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Waits until *count reaches `wanted`. Returns false if *failed (unless NULL) becomes non-zero. */
static inline bool epiqp_await(atomic_ptrdiff_t *count, ptrdiff_t wanted, atomic_ptrdiff_t *failed)
{
    for (int spins = 0; atomic_load(count) < wanted; spins += spins <= 200) {
        if (failed && atomic_load(failed)) return false;
        if (spins > 200) { /* the awaited thread may need this core */
            sched_yield();
        }
    }
    return true;
}

/* Reports the progress of a step that takes n^3 operations, if that takes seconds; the receiver may request a stop. */
static inline void epiqp_report_share(epiq_ctx *c, const char *stage, ptrdiff_t n, double share)
{
    if (n > 8192) epiqp_report(c, stage, (ptrdiff_t)(100 * share), 100);
}

#endif
