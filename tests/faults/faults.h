/* faults.h - build/tests/epiq_faults: the command linked once more, with every call of ours for memory or files (and SQLite's,
 * through the hooks it has for that) going by a counter first. every.py makes any one of them fail, or a signal arrive there.
 * Without its variables this is the command as it is, except that time stands still and so its output is the same each time.
 *
 *     EPIQ_FAULT='memory once 17' build/tests/epiq_faults estimate rows.csv --target y     one run, for a debugger
 *     EPIQ_FAULTS_FD=5 ...                                                                 many, as server.c says
 */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>

typedef enum {
    FAULT_MEMORY, /* ours */
    FAULT_FILE,   /* ours: files, streams, processes */
    FAULT_SQLITE, /* SQLite's memory */
    FAULT_DISK,   /* SQLite's files */
    FAULT_CLASSES
} fault_class;

/* What is held at a moment, and must be let go of in the end. */
typedef enum { HELD_BLOCKS, HELD_STREAMS, HELD_DESCRIPTORS, HELD_MAPS, HELD_SQLITE, HELD_KINDS } held_kind;
void fault_hold(held_kind what, int more);

/* Counts the call, and lets a signal arrive if it is time for one. True: it is to fail, with the error that follows. */
bool fault_strikes(fault_class what, const char *name);
int fault_error(int usual); /* or EINTR, if that was asked for */
void fault_fail(int usual); /* the same in errno */

typedef int command(int argc, char **argv);
int fault_main(command *epiq, int argc, char **argv); /* server.c */

void fault_sqlite(void); /* wrap_sqlite.c: before SQLite is used */
void fault_stdout(void); /* wrap_file.c: standard output goes through it too */

#endif
