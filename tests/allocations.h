/* allocations.h - FAIL_EACH(c, call, undone, least): the call is made with its first allocation failing, then with its second,
 * until it succeeds. Each failure is EPIQ_E_NOMEM with a sentence, leaves no memory behind and `undone` true; there are at
 * least `least` of them. */
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

#include "base/base.h"
#include "test.h"

#define FAIL_EACH(c, call, undone, least)                                                                              \
    do {                                                                                                               \
        ptrdiff_t before_ = (c)->live_blocks, failed_ = 0;                                                             \
        int status_ = EPIQ_E_NOMEM;                                                                                    \
        for (; failed_ < 10000; failed_++) {                                                                           \
            (c)->fail_after = failed_;                                                                                 \
            status_ = (call);                                                                                          \
            (c)->fail_after = -1;                                                                                      \
            if (status_ != EPIQ_E_NOMEM) {                                                                             \
                break;                                                                                                 \
            }                                                                                                          \
            TRUE(undone);                                                                                              \
            EQ((c)->live_blocks, before_);                                                                             \
            CONTAINS(epiq_message(c), "memory");                                                                       \
        }                                                                                                              \
        EQ(status_, EPIQ_OK);                                                                                          \
        TRUE(failed_ >= (least));                                                                                      \
    } while (0)

#endif
