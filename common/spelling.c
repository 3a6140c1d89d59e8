/* spelling.c - see spelling.h. */
#include "common/spelling.h"

#include <string.h>

void epiqp_spell_options(char *text, bool flags)
{
    char *to = text;
    for (const char *from = text; *from;) {
        size_t length = strncmp(from, "{--", 3) == 0 ? strspn(from + 3, "abcdefghijklmnopqrstuvwxyz0123456789-") : 0;
        if (!length || from[3 + length] != '}') {
            *to++ = *from++;
            continue;
        }
        const char *end = from + 3 + length;
        for (from += flags ? 1 : 3; from < end; from++) {
            *to++ = *from == '-' && !flags ? '_' : *from;
        }
        from++;
    }
    *to = '\0';
}
