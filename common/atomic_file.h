/* atomic_file.h - a file that is replaced whole or not at all: it is written under no name, or under a temporary one
 * in the same folder, and gets its own name when it is finished. A symbolic link stays and the file it points to is
 * replaced; the mode of an existing file stays. Pipes and devices are written directly. The caller owns the
 * descriptor and closes it.
 */
#ifndef EPIQP_ATOMIC_FILE_H
#define EPIQP_ATOMIC_FILE_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct {
    char *target;    /* NULL: a pipe or a device */
    char *temporary; /* a name in the target's folder that cannot be guessed; NULL if target is */
    bool named;      /* the file has the temporary name */
    bool replaces;   /* the target exists, with this mode */
    mode_t mode;
} epiqp_atomic_file;

/* These return -1 and set errno on failure. */
int epiqp_atomic_plan(epiqp_atomic_file *f, const char *path); /* chooses the names and creates nothing */
int epiqp_atomic_open(epiqp_atomic_file *f, const char *path); /* a descriptor for reading and writing; the same path */
int epiqp_atomic_sync(const epiqp_atomic_file *f, int fd);     /* everything written is on disk */
int epiqp_atomic_commit(epiqp_atomic_file *f, int fd);         /* gives the target's name; fd: unused if f->named */
void epiqp_atomic_free(epiqp_atomic_file *f); /* removes the temporary name, if the file has it still */

#endif
