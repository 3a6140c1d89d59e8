/* window.c - the features in another file, a block of rows at a time: text through a window that holds some whole
 * records, arrays as a mapping of the file. The cells are read and judged as everywhere (table.c, csv.c, npy.c).
 */
#include "data/table.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW = 1 << 20, LONGEST = 17 << 20 }; /* a record is at most 16 MiB: csv.c says so of longer ones */

/* Fills the window as far as the file goes. */
static int read_window(epiq_ctx *c, epiqp_window *s, ptrdiff_t size)
{
    epiqp_table *t = &s->t;
    unsigned char *bytes = epiqp_grown(c, t->bytes, &s->room, size + 1, 1);
    if (!bytes) {
        return EPIQ_E_NOMEM;
    }
    t->bytes = bytes;
    const ptrdiff_t old = t->size;
    while (t->size < size && t->block.more) {
        ssize_t got = read(s->fd, bytes + t->size, (size_t)(size - t->size));
        if (got > 0) {
            t->size += got;
        } else if (got == 0) {
            t->block.more = false;
        } else if (errno != EINTR) {
            return epiqp_fail(c, EPIQ_E_FILE, "%s: %s; name a file that can be read", t->file, strerror(errno));
        }
        if (epiqp_stopping(c)) {
            epiqp_go_on(c);
            return epiqp_fail(c, EPIQ_E_STOPPED, "stopped on request while reading %s", t->file);
        }
    }
    bytes[t->size] = '\0';
    const unsigned char *zero = t->lines ? memchr(bytes + old, 0, (size_t)(t->size - old)) : NULL;
    return zero ? epiqp_fail(c, EPIQ_E_DATA, "%s: byte %td is NUL, so this is not text; give a CSV, NPY or NPZ file",
                             t->file, t->block.moved + (zero - bytes) + 1)
                : EPIQ_OK;
}

/* Drops the records that were read, and reads on until another is whole. */
static int next_window(epiq_ctx *c, epiqp_window *s)
{
    epiqp_table *t = &s->t;
    memmove(t->bytes, t->bytes + t->csv.at, (size_t)(t->size - t->csv.at));
    t->block.moved += t->csv.at;
    t->size -= t->csv.at;
    t->csv.at = 0;
    int status = EPIQ_OK;
    for (ptrdiff_t size = epiqp_max(WINDOW, t->size + WINDOW / 2); !status && t->block.more; size *= 2) {
        status = read_window(c, s, size);
        t->block.whole = epiqp_csv_complete(t);
        if (t->block.whole > 0) {
            break;
        }
        if (t->size > LONGEST) { /* of one record: csv.c has the sentence for it */
            t->block.more = false;
        }
    }
    return status;
}

/* Arrays are mapped if they can be, and read whole otherwise. */
static int whole_array(epiq_ctx *c, epiqp_window *s)
{
    epiqp_table *t = &s->t;
    struct stat about;
    if (fstat(s->fd, &about) || !S_ISREG(about.st_mode) || about.st_size < 1) {
        int status = EPIQ_OK;
        while (!status && t->block.more) {
            status = read_window(c, s, 2 * t->size);
        }
        return status;
    }
    void *map = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, s->fd, 0);
    if (map == MAP_FAILED) {
        return epiqp_fail(c, EPIQ_E_FILE, "%s: %s; name a file that can be read", t->file, strerror(errno));
    }
    epiqp_free(c, t->bytes);
    t->bytes = map;
    t->size = (ptrdiff_t)about.st_size;
    t->block.mapped = true;
    t->block.more = false;
    return EPIQ_OK;
}

/* The first window, until it holds the header. */
static int first_window(epiq_ctx *c, epiqp_window *s)
{
    epiqp_table *t = &s->t;
    int status = read_window(c, s, WINDOW);
    if (!status && epiqp_table_format(t) != EPIQP_TEXT) {
        return whole_array(c, s);
    }
    while (!status && t->block.more && t->size < LONGEST && !epiqp_csv_complete(t)) {
        status = read_window(c, s, 2 * t->size);
    }
    return status;
}

int epiqp_window_open(epiq_ctx *c, const char *path, ptrdiff_t d, const struct epiqp_columns *known, epiqp_window *s)
{
    *s = (epiqp_window){.d = d, .t = {.block.more = true}};
    epiqp_table *t = &s->t;
    epiqp_table_name(t, path);
    s->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0) {
        return epiqp_fail(c, EPIQ_E_FILE, "%s: %s; name a file that can be read", t->file, strerror(errno));
    }
    int status = first_window(c, s);
    status = status ? status : epiqp_table_begin(c, t);
    s->from = status ? NULL : epiqp_arena_alloc(c, &t->arena, d, sizeof *s->from);
    s->code = s->from ? epiqp_arena_alloc(c, &t->arena, d, sizeof *s->code) : NULL;
    status = status ? status : s->code ? epiqp_columns_match(c, t, d, known, s->from, s->code) : EPIQ_E_NOMEM;
    if (!status) {
        epiqp_table_use(t);
        t->block.whole = t->lines ? epiqp_csv_complete(t) : 0;
    }
    return status;
}

int epiqp_window_next(epiq_ctx *c, epiqp_window *s, ptrdiff_t most, double *x, ptrdiff_t *count)
{
    epiqp_table *t = &s->t;
    int status = EPIQ_OK;
    t->block.before += t->rows;
    t->block.most = most;
    t->rows = 0;
    for (;;) {
        status = t->fill(c, t);
        if (status || t->rows == most || !t->block.more || (status = next_window(c, s))) {
            break;
        }
    }
    status = status ? status : epiqp_table_judge(c, t, false, false, "a row needs a value for every feature");
    if (!status && !t->rows && !t->block.before) {
        status = epiqp_fail(c, EPIQ_E_DATA, "%s: there is no row to predict at; add at least one", t->file);
    }
    if (!status) {
        epiqp_table_features(t, s->d, s->from, s->code, x);
        *count = t->rows;
    }
    return status;
}

void epiqp_window_close(epiq_ctx *c, epiqp_window *s)
{
    if (s->t.block.mapped) {
        munmap(s->t.bytes, (size_t)s->t.size);
        s->t.bytes = NULL;
    }
    if (s->fd > STDIN_FILENO) {
        close(s->fd);
    }
    epiqp_table_close(c, &s->t);
}
