/* spelling.h - sentences name an option as {--bias-sd}; their reader may know it as a flag or as a field. */
#ifndef EPIQP_SPELLING_H
#define EPIQP_SPELLING_H

#include <stdbool.h>

/* Replaces every {--bias-sd} in text by --bias-sd (flags), or by bias_sd. The text never grows. */
void epiqp_spell_options(char *text, bool flags);

#endif
