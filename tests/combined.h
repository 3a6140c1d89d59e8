/* combined.h - networks trained elsewhere in a unit test: combine() asks, its context and result are c and r, and done() ends
 * them and counts what is left of their memory. */
#ifndef COMBINED_H
#define COMBINED_H

#include "base/base.h"
#include "epiq_combine.h"
#include "test.h"
#include "warned.h"

#include <unistd.h>

static epiq_ctx *c;
static epiq_result *r;

static inline void done(void)
{
    if (c) {
        epiq_result_free(c, r);
        EQ(c->live_blocks, 0);
        epiq_ctx_free(c);
    }
    c = NULL, r = NULL;
}

static inline int combine(const epiq_given *g, const epiq_options *o)
{
    done();
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    return epiq_combine(c, g, o, &r);
}

static inline epiq_matrix doubles(const char *name, ptrdiff_t rows, ptrdiff_t columns, const double *a)
{
    return (epiq_matrix){
        .size = sizeof(epiq_matrix), .name = name, .rows = rows, .columns = columns, .real = EPIQ_FLOAT64, .a = a};
}

#define GIVEN(...) (&(epiq_given){.size = sizeof(epiq_given), __VA_ARGS__})

/* The sentence of its warning with this code, or NULL. */
static inline const char *warned(const char *code)
{
    return warned_in(r, code);
}

static inline const char *noted(const char *code)
{
    return noted_in(r, code);
}

/* A path at which there is no state file; the fourth next takes its memory. */
static inline const char *fresh(const char *name)
{
    static char path[4][64];
    static int next;
    char *p = path[next++ % 4], tail[80];
    snprintf(p, sizeof path[0], "/tmp/epiq-combine-%d-%s", (int)getpid(), name);
    const char *ends[] = {"", "-wal", "-shm"};
    for (int k = 0; k < 3; k++) {
        snprintf(tail, sizeof tail, "%s%s", p, ends[k]);
        unlink(tail);
    }
    return p;
}

#endif
