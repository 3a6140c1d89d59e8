/* wrap_memory.c - calls of ours that need memory, and the clock, which stands still so that outputs can be compared. The linker
 * puts these in their places (--wrap) in the command alone: this is a library beside it, and calls here, in OpenBLAS, libgomp
 * and libc stay what they are.
 */
#include "faults.h"

#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <zlib.h>

static void *kept(void *p)
{
    fault_hold(HELD_BLOCKS, p ? 1 : 0);
    return p;
}

static bool lacks(const char *name)
{
    bool strikes = fault_strikes(FAULT_MEMORY, name);
    if (strikes) errno = ENOMEM;
    return strikes;
}

void *__wrap_malloc(size_t size)
{
    return lacks("malloc") ? NULL : kept(malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return lacks("calloc") ? NULL : kept(calloc(count, size));
}

void *__wrap_realloc(void *p, size_t size)
{
    if (lacks("realloc")) return NULL;
    void *q = realloc(p, size);
    return p ? q : kept(q);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return lacks("aligned_alloc") ? NULL : kept(aligned_alloc(alignment, size));
}

void __wrap_free(void *p)
{
    fault_hold(HELD_BLOCKS, p ? -1 : 0);
    free(p);
}

char *__wrap_strdup(const char *s)
{
    return lacks("strdup") ? NULL : kept(strdup(s));
}

/* With _FORTIFY_SOURCE the compiler calls the second of these. */
static int print(char **out, const char *format, va_list args)
{
    if (lacks("asprintf")) {
        *out = NULL;
        return -1;
    }
    int length = vasprintf(out, format, args);
    fault_hold(HELD_BLOCKS, length >= 0);
    return length;
}

int __wrap_asprintf(char **out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = print(out, format, args);
    va_end(args);
    return length;
}

int __wrap___asprintf_chk(char **out, int flag, const char *format, ...)
{
    (void)flag;
    va_list args;
    va_start(args, format);
    int length = print(out, format, args);
    va_end(args);
    return length;
}

char *__wrap_realpath(const char *path, char *resolved)
{
    if (!resolved && lacks("realpath")) return NULL;
    char *real = realpath(path, resolved);
    return resolved ? real : kept(real);
}

int __wrap_inflateInit2_(z_streamp z, int bits, const char *version, int size)
{
    return lacks("inflateInit2") ? Z_MEM_ERROR : inflateInit2_(z, bits, version, size);
}

int __wrap_posix_spawn_file_actions_init(posix_spawn_file_actions_t *actions)
{
    return lacks("spawn_actions") ? ENOMEM : posix_spawn_file_actions_init(actions);
}

/* ---- time and memory in use are part of what is written ---- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    (void)clock;
    *t = (struct timespec){.tv_sec = 1000};
    return 0;
}

int __wrap_getrusage(int who, struct rusage *u)
{
    (void)who;
    *u = (struct rusage){.ru_maxrss = 1024};
    return 0;
}
