/* matrix.c - numbers computed elsewhere, the input of epiq_combine: CSV is read as a table, NPY files are mapped and
 * used in place, or converted to doubles if this machine cannot use them in place.
 */
#include "data/table.h"

#include <math.h>

/* epiq_matrix_read returns a pointer to the first member. */
typedef struct {
    epiq_matrix m;
    epiqp_table t; /* owns the names of the file and of the columns */
    double *own;   /* the cells, or the converted items; NULL: used in place */
} owned;

static int convert(epiq_ctx *c, const epiqp_array *a, owned *o)
{
    double need = 8 * (double)a->rows * (double)a->columns, have = epiqp_memory();
    if (need > have) {
        return epiqp_fail(c, EPIQ_E_NOMEM,
                          "%s: %td x %td numbers take %.1f GB as doubles and this machine has %.1f; save them as "
                          "float32 or float64 in C order, which are used where they lie",
                          o->m.name, a->rows, a->columns, need / 1e9, have / 1e9);
    }
    if (!(o->own = epiqp_alloc(c, a->rows * a->columns, sizeof *o->own))) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; i < a->rows; i++) {
        for (ptrdiff_t j = 0; j < a->columns; j++) {
            o->own[i * a->columns + j] = epiqp_array_value(a, i, j);
        }
    }
    return EPIQ_OK;
}

static int from_array(epiq_ctx *c, owned *o)
{
    const epiqp_input *in = &o->t.in;
    epiqp_array a = {0};
    int status = epiqp_array_open(c, in->name, in->bytes, in->size, &a);
    if (status) return status;
    if (a.rows < 1 || a.columns < 1) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: the array is %td x %td, so it is empty; it must have rows and columns",
                          in->name, a.rows, a.columns);
    }
    o->m.rows = a.rows;
    o->m.columns = a.columns;
    if (!epiqp_array_native(&a)) return convert(c, &a, o);
    o->m.real = a.size == 4 ? EPIQ_FLOAT32 : EPIQ_FLOAT64;
    o->m.a = a.data;
    return EPIQ_OK;
}

static int from_text(epiq_ctx *c, owned *o)
{
    epiqp_table *t = &o->t;
    t->matrix = true;
    int status = epiqp_table_begin(c, t);
    if (status) return status;
    const char **name = epiqp_arena_alloc(c, &t->arena, t->columns, sizeof *name);
    if (!name) return EPIQ_E_NOMEM;
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        t->column[j].role = EPIQP_NUMBER;
        name[j] = t->column[j].name;
    }
    if ((status = epiqp_table_fill(c, t)) ||
        (status = epiqp_table_judge(c, t, false, "every cell must hold a number"))) {
        return status;
    }
    if (!t->rows) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: there is a header but no row; at least one is needed", t->in.name);
    }
    o->m.rows = t->rows;
    o->m.columns = t->columns;
    o->m.column = t->bare ? NULL : name;
    o->own = t->cell;
    t->cell = NULL;
    return EPIQ_OK;
}

static int read_matrix(epiq_ctx *c, const char *path, owned *o)
{
    epiqp_input *in = &o->t.in;
    int status = epiqp_input_open(c, path, in);
    if (status || (status = epiqp_input_read(c, in, EPIQP_FORMAT_BYTES))) return status;
    const epiqp_format format = epiqp_table_format(&o->t);
    if (format == EPIQP_NPZ) {
        return epiqp_fail(c, EPIQ_E_DATA, "%s: this is an NPZ of arrays; save the one array with numpy.save", in->name);
    }
    const bool array = format == EPIQP_NPY;
    if ((status = (array ? epiqp_input_map : epiqp_input_read_all)(c, in)) ||
        (status = (array ? from_array : from_text)(c, o))) {
        return status;
    }
    if (o->own) {
        o->m.a = o->own;
        epiqp_input_close(c, in); /* only reading needed the bytes */
    }
    return EPIQ_OK;
}

int epiq_matrix_read(epiq_ctx *c, const char *path, epiq_matrix **out)
{
    epiqp_clear(c);
    *out = NULL;
    owned *o = epiqp_alloc(c, 1, sizeof *o);
    if (!o) return EPIQ_E_NOMEM;
    *o = (owned){.m = {.size = sizeof o->m, .name = o->t.in.name}};
    int status = read_matrix(c, path, o);
    if (status) epiq_matrix_free(c, &o->m);
    *out = status ? NULL : &o->m;
    return status;
}

void epiq_matrix_free(epiq_ctx *c, epiq_matrix *m)
{
    if (m) {
        owned *o = (owned *)m;
        epiqp_free(c, o->own);
        epiqp_table_close(c, &o->t);
        epiqp_free(c, o);
    }
}

/* ---- the numbers ---- */

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
        if (!(fabs(out[k]) <= EPIQP_LARGEST_GIVEN)) return k;
    }
    return -1;
}

int epiqp_matrix_refuse(epiq_ctx *c, const epiq_matrix *m, ptrdiff_t i, ptrdiff_t j)
{
    return epiqp_fail(c, EPIQ_E_DATA, "%s: row %td, column %td is %g; only finite numbers up to 1e100 can be used",
                      m->name, i + 1, j + 1, epiqp_matrix_at(m, i, j));
}
