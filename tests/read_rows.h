/* read_rows.h - tables written to a file and read again in a unit test: read_text() and read_bytes() give the data, or NULL and
 * the status; refused() is for what is none. */
#ifndef READ_ROWS_H
#define READ_ROWS_H

#include "data/table.h"
#include "test.h"
#include "usual.h"

#include <stdlib.h>
#include <unistd.h>

static epiq_ctx *c;
static char folder[512], path[600];

static inline void leave(void)
{
    unlink(path);
    rmdir(folder);
    epiq_ctx_free(c);
}

__attribute__((constructor)) static void enter(void)
{
    const char *top = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/epiq_data_XXXXXX", top ? top : "/tmp");
    if (epiq_ctx_new(&c) || !mkdtemp(folder)) abort();
    snprintf(path, sizeof path, "%s/rows.csv", folder);
    atexit(leave);
}

static inline void put_bytes(const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, size, f) != size || fclose(f)) abort();
}

static inline epiq_options options(void)
{
    epiq_options o = usual_options();
    o.target = "y";
    o.scale = EPIQ_SCALE_NONE;
    return o;
}

/* The data, or NULL with the status; a failure must leave nothing behind. */
static int status;
static inline epiq_data *read_bytes(const void *bytes, size_t size, const epiq_options *o)
{
    epiq_data *data = (epiq_data *)1;
    ptrdiff_t before = c->live_blocks;
    put_bytes(bytes, size);
    status = epiq_data_read(c, path, o, &data);
    TRUE(status ? data == NULL && c->live_blocks == before && *epiq_message(c) : data != NULL);
    return data;
}

static inline epiq_data *read_text(const char *text, const epiq_options *o)
{
    return read_bytes(text, strlen(text), o);
}

static inline void refused_with(const char *text, const epiq_options *o, int wanted, const char *part)
{
    epiq_data *data = read_text(text, o);
    EQ(status, wanted);
    SAYS(epiq_message(c), part);
    epiq_data_free(c, data);
}

static inline void refused(const char *text, const char *part)
{
    epiq_options o = options();
    refused_with(text, &o, EPIQ_E_DATA, part);
}

static inline const char *warning(const epiq_data *data, const char *code)
{
    for (ptrdiff_t i = 0; i < data->warnings.count; i++) {
        if (strcmp(data->warnings.list[i].code, code) == 0) return data->warnings.list[i].message;
    }
    return NULL;
}

#endif
