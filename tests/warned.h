/* warned.h - the warnings of a result, by their codes. */
#ifndef WARNED_H
#define WARNED_H

#include "epiq_details.h"

#include <string.h>

/* The sentence of the warning with this code, or NULL. */
static inline const char *warned_in(const epiq_result *result, const char *code)
{
    for (ptrdiff_t k = 0; result && k < result->warning_count; k++) {
        if (strcmp(result->warnings[k]->code, code) == 0) return result->warnings[k]->message;
    }
    return NULL;
}

/* What nobody needs to act on. */
static inline const char *noted_in(const epiq_result *result, const char *code)
{
    for (ptrdiff_t k = 0; result && k < result->note_count; k++) {
        if (strcmp(result->notes[k]->code, code) == 0) return result->notes[k]->message;
    }
    return NULL;
}

#endif
