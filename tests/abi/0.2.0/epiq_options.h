/* epiq_options.h - the table behind epiq_options, for programs that offer the options to people: it drives --flags,
 * --help, docs/options.md, the JSON of a run and what a model file keeps.
 */
#ifndef EPIQ_OPTIONS_H
#define EPIQ_OPTIONS_H

#include "epiq.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const char *name, *section, *help;
    const char *choices;      /* "a|b|c" for a choice, NULL otherwise */
    const char *default_text; /* "" for an optional text */
    const char *metavar;      /* what --help calls the value */
} epiq_option_info;
EPIQ_API const epiq_option_info *epiq_options_info(ptrdiff_t index); /* NULL past the end */
EPIQ_API ptrdiff_t epiq_options_index(const char *name);             /* of the option of this name; -1: there is none */

/* The value as text. EPIQ_E_USAGE, without a message: there is no such option, or the buffer is too short. */
EPIQ_API int epiq_options_text(const epiq_options *o, ptrdiff_t index, char *buffer, size_t size);
/* The value of a text option itself; NULL: not set, or not a text. */
EPIQ_API const char *epiq_options_string(const epiq_options *o, ptrdiff_t index);

/* What an option is about, and which verbs of the command line take it. */
typedef enum {
    EPIQ_OPTION_COLUMNS = 1 << 0, /* says which columns and rows of a table count; arrays have chosen already */
    EPIQ_OPTION_MEMBER = 1 << 1,  /* decides what a network learns: a state file tells networks apart by it */
    EPIQ_OPTION_MODEL = 1 << 2,   /* belongs to a fitted model, whose file keeps it; others are of one run */
    EPIQ_OPTION_FILE = 1 << 3,    /* names a file or folder that the call writes */
    EPIQ_OPTION_PROCESS = 1 << 4, /* may differ between the processes of a cluster */
    EPIQ_OPTION_SILENT = 1 << 5,  /* changes no number of an answer */
    EPIQ_FOR_ESTIMATE = 1 << 8,
    EPIQ_FOR_DEMO = 1 << 9,
    EPIQ_FOR_PLAN = 1 << 10,
    EPIQ_FOR_COMPARE = 1 << 11,
    EPIQ_FOR_EXPLORE = 1 << 12,
    EPIQ_FOR_FIT = 1 << 13,
    EPIQ_FOR_KERNEL = 1 << 14,
    EPIQ_FOR_COMBINE = 1 << 15,
    EPIQ_FOR_STUDY = 1 << 16
} epiq_option_scope;
EPIQ_API unsigned epiq_options_scope(ptrdiff_t index); /* epiq_option_scope, or-ed together; 0 past the end */

#ifdef __cplusplus
}
#endif
#endif
