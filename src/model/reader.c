/* reader.c - epiq_reader: rows of a file in the columns of a model. */
#include "data/table.h"
#include "model/model.h"

struct epiq_reader {
    epiqp_table table;
};

int epiq_reader_open(epiq_ctx *c, const epiq_model *m, const char *path, epiq_reader **out)
{
    epiqp_clear(c);
    *out = NULL;
    epiq_reader *r = epiqp_alloc(c, 1, sizeof *r);
    if (!r) return EPIQ_E_NOMEM;
    int s = epiqp_window_open(c, path, m->d, &m->columns, true, &r->table);
    if (s) epiq_reader_free(c, r);
    *out = s ? NULL : r;
    return s;
}

int epiq_reader_next(epiq_ctx *c, epiq_reader *r, ptrdiff_t most, double *x, ptrdiff_t *count)
{
    epiqp_clear(c);
    *count = 0;
    return most > 0 ? epiqp_window_next(c, &r->table, most, x, count)
                    : epiqp_fail(c, EPIQ_E_USAGE, "%td rows cannot be read at a time; give at least 1", most);
}

void epiq_reader_free(epiq_ctx *c, epiq_reader *r)
{
    if (r) {
        epiqp_table_close(c, &r->table);
        epiqp_free(c, r);
    }
}
