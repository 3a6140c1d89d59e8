/* matrix.c - numbers made elsewhere, as epiq_combine takes them: CSV through the table's cells, NPY arrays where they
 * lie, mapped, or converted to doubles when this machine could not use them there.
 */
#include "data/table.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What epiq_matrix_read gives out is its first member. */
typedef struct {
    epiq_matrix m;
    epiqp_table t; /* the name and the columns' names live in it */
    double *own;   /* cells or items converted; NULL: they are used where they lie */
} owned;

/* An NPY file of its own is mapped; whatever cannot be (a pipe, a device) or is something else is left to be read. */
static int map_array(epiq_ctx *c, const char *path, epiqp_table *t)
{
    struct stat about;
    char start[6];
    bool file =
        strcmp(path, "-") != 0 && !stat(path, &about) && S_ISREG(about.st_mode); /* opening a pipe takes from it */
    int fd = file ? open(path, O_RDONLY | O_CLOEXEC) : -1, status = EPIQ_OK;
    if (fd >= 0 && !fstat(fd, &about) && pread(fd, start, sizeof start, 0) == sizeof start &&
        !memcmp(start, "\x93NUMPY", sizeof start)) {
        void *map = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED) {
            status = epiqp_fail(c, errno == ENOMEM ? EPIQ_E_NOMEM : EPIQ_E_FILE,
                                "%s: the file cannot be mapped (%s); copy it to a local disk, or free memory", t->file,
                                strerror(errno));
        } else {
            t->bytes = map;
            t->size = (ptrdiff_t)about.st_size;
            t->block.mapped = true;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return status;
}

static int convert(epiq_ctx *c, const epiqp_array *a, owned *o)
{
    double need = 8 * (double)a->rows * (double)a->columns, have = epiqp_memory();
    if (need > have) {
        return epiqp_fail(c, EPIQ_E_NOMEM,
                          "%s: %td x %td numbers take %.1f GB as doubles and this machine has %.1f; save them as "
                          "float32 or float64 in C order, which are used where they lie",
                          o->m.name, a->rows, a->columns, need / 1e9, have / 1e9);
    }
    if (!(o->own = epiqp_alloc(c, a->rows * a->columns, sizeof *o->own))) {
        return EPIQ_E_NOMEM;
    }
    for (ptrdiff_t i = 0; i < a->rows; i++) {
        for (ptrdiff_t j = 0; j < a->columns; j++) {
            o->own[i * a->columns + j] = epiqp_array_value(a, i, j);
        }
    }
    return EPIQ_OK;
}

static int from_array(epiq_ctx *c, owned *o)
{
    epiqp_array a = {0};
    int status = epiqp_array_open(c, o->t.file, o->t.bytes, o->t.size, &a);
    if (!status && (a.rows < 1 || a.columns < 1)) {
        status = epiqp_fail(c, EPIQ_E_DATA, "%s: the array is %td x %td, so it is empty; it must have rows and columns",
                            o->t.file, a.rows, a.columns);
    }
    if (status) {
        return status;
    }
    o->m.rows = a.rows;
    o->m.columns = a.columns;
    if (!epiqp_array_native(&a)) {
        return convert(c, &a, o);
    }
    o->m.real = a.size == 4 ? EPIQ_FLOAT32 : EPIQ_FLOAT64;
    o->m.a = a.data;
    return EPIQ_OK;
}

static int from_text(epiq_ctx *c, owned *o)
{
    epiqp_table *t = &o->t;
    t->matrix = true;
    int status = epiqp_table_begin(c, t);
    const char **name = status ? NULL : epiqp_arena_alloc(c, &t->arena, t->columns, sizeof *name);
    if (!name) {
        return status ? status : EPIQ_E_NOMEM;
    }
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        t->column[j].role = EPIQP_NUMBER;
        name[j] = t->column[j].name;
    }
    status = epiqp_table_fill(c, t);
    status = status ? status : epiqp_table_judge(c, t, false, false, "every cell must hold a number");
    if (!status && !t->rows) {
        status = epiqp_fail(c, EPIQ_E_DATA, "%s: there is a header but no row; at least one is needed", t->file);
    }
    o->m.rows = t->rows;
    o->m.columns = t->columns;
    o->m.column = t->bare ? NULL : name;
    o->own = t->cell;
    t->cell = NULL;
    return status;
}

static int read_matrix(epiq_ctx *c, const char *path, owned *o)
{
    epiqp_table *t = &o->t;
    epiqp_table_name(t, path);
    int status = map_array(c, path, t);
    if (!status && !t->block.mapped) {
        status = epiqp_table_read(c, path, t);
    }
    if (status) {
        return status;
    }
    if (epiqp_table_format(t) == EPIQP_NPY) {
        return from_array(c, o);
    }
    if (epiqp_table_format(t) == EPIQP_NPZ) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: this is an NPZ of arrays; save the one array with numpy.save", t->file);
    }
    return from_text(c, o);
}

/* What only reading needed. */
static void let_go(epiq_ctx *c, owned *o)
{
    if (o->own && o->t.block.mapped) {
        munmap(o->t.bytes, (size_t)o->t.size);
    } else if (o->own) {
        epiqp_free(c, o->t.bytes);
    }
    if (o->own) {
        o->t.bytes = NULL;
        o->t.block.mapped = false;
        o->m.a = o->own;
    }
}

int epiq_matrix_read(epiq_ctx *c, const char *path, epiq_matrix **out)
{
    epiqp_clear(c);
    *out = NULL;
    owned *o = epiqp_alloc(c, 1, sizeof *o);
    if (!o) {
        return EPIQ_E_NOMEM;
    }
    *o = (owned){.m.name = o->t.file};
    int status = read_matrix(c, path, o);
    if (status) {
        epiq_matrix_free(c, &o->m);
        return status;
    }
    let_go(c, o);
    *out = &o->m;
    return EPIQ_OK;
}

void epiq_matrix_free(epiq_ctx *c, epiq_matrix *m)
{
    if (m) {
        owned *o = (owned *)m;
        if (o->t.block.mapped) {
            munmap(o->t.bytes, (size_t)o->t.size);
            o->t.bytes = NULL;
        }
        epiqp_free(c, o->own);
        epiqp_table_close(c, &o->t);
        epiqp_free(c, o);
    }
}

/* ---- its numbers ---- */

ptrdiff_t epiqp_matrix_row(const epiq_matrix *m, ptrdiff_t i, ptrdiff_t j, ptrdiff_t count, double *out)
{
    ptrdiff_t bad = 0;
    if (m->real == EPIQ_FLOAT32) {
        const float *from = (const float *)m->a + i * m->columns + j;
        for (ptrdiff_t k = 0; k < count; k++) {
            out[k] = (double)from[k] + 0.0; /* no -0: equal rows have equal bytes */
        }
    } else {
        const double *from = (const double *)m->a + i * m->columns + j;
        for (ptrdiff_t k = 0; k < count; k++) {
            out[k] = from[k] + 0.0;
        }
    }
    for (ptrdiff_t k = 0; k < count; k++) {
        bad += !(fabs(out[k]) <= EPIQP_LARGEST_GIVEN);
    }
    for (ptrdiff_t k = 0; bad; k++) {
        if (!(fabs(out[k]) <= EPIQP_LARGEST_GIVEN)) {
            return k;
        }
    }
    return -1;
}

int epiqp_matrix_refuse(epiq_ctx *c, const epiq_matrix *m, ptrdiff_t i, ptrdiff_t j)
{
    return epiqp_fail(c, EPIQ_E_DATA, "%s: row %td, column %td is %g; only finite numbers up to 1e100 can be used",
                      m->name, i + 1, j + 1, epiqp_matrix_at(m, i, j));
}
