/* reader.c - epiq_reader: rows of a file in the columns of a model. */
#include "base/keys.h"
#include "data/table.h"
#include "model/model.h"

#include <string.h>

struct epiq_reader {
    epiqp_table table;
    epiqp_arena arena;
    const char *note; /* NULL: there is none */
};

/* The columns of the data that the model's options name, besides features. Where they name the features, the data may have
 * had any others. */
static int add_known(epiq_ctx *c, const epiq_model *m, epiqp_keys *names, epiqp_arena *a, struct epiqp_columns *known)
{
    const char *const one[] = {m->target, m->o.group};
    int s = m->o.drop ? epiqp_csv_names(c, "{--drop}", m->o.drop, names) : EPIQ_OK;
    for (size_t k = 0; !s && k < 2; k++) {
        if (one[k] && epiqp_keys_add(c, names, one[k], (ptrdiff_t)strlen(one[k])) < 0) s = EPIQ_E_NOMEM;
    }
    if (s) return s;
    known->any = m->o.features != NULL;
    known->na = m->o.na;
    known->count = names->count;
    known->name = epiqp_arena_alloc(c, a, names->count, sizeof *known->name);
    for (ptrdiff_t k = 0; known->name && k < names->count; k++) {
        known->name[k] = epiqp_keys_text(names, k);
    }
    return known->name ? EPIQ_OK : EPIQ_E_NOMEM;
}

static int open_rows(epiq_ctx *c, const epiq_model *m, const char *path, const char *copy, bool target, epiq_reader *r)
{
    epiqp_keys names = {0};
    epiqp_list strangers = {0};
    struct epiqp_columns known = m->columns;
    known.copy = copy;
    known.target = target ? m->target : NULL;
    int s = add_known(c, m, &names, &r->arena, &known);
    if (!s) s = epiqp_window_open(c, path, m->d, &known, true, &r->table, &strangers);
    epiqp_keys_free(c, &names);
    if (s || !strangers.count) return s;
    r->note = epiqp_arena_printf(c, &r->arena, EPIQP_STRANGERS, r->table.in.name, strangers.count == 1 ? "" : "s",
                                 epiqp_list_end(&strangers), strangers.count == 1 ? "is" : "are");
    return r->note ? EPIQ_OK : EPIQ_E_NOMEM;
}

int epiqp_reader_new(epiq_ctx *c, const epiq_model *m, const char *path, const char *copy, bool target,
                     epiq_reader **out)
{
    *out = NULL;
    epiq_reader *r = epiqp_alloc(c, 1, sizeof *r);
    if (!r) return EPIQ_E_NOMEM;
    *r = (epiq_reader){0};
    int s = open_rows(c, m, path, copy, target, r);
    if (s) epiq_reader_free(c, r);
    *out = s ? NULL : r;
    return s;
}

int epiq_reader_open(epiq_ctx *c, const epiq_model *m, const char *path, epiq_reader **out)
{
    return epiq_reader_open_with(c, m, path, NULL, out);
}

int epiq_reader_open_with(epiq_ctx *c, const epiq_model *m, const char *path, const char *copy, epiq_reader **out)
{
    epiqp_clear(c);
    return epiqp_reader_new(c, m, path, copy, false, out);
}

const char *epiq_reader_copied(const epiq_reader *r, ptrdiff_t i, ptrdiff_t k)
{
    const epiqp_table *t = &r->table;
    if (k < 0 || k >= t->copied.count || i < -1 || i >= t->rows) return NULL;
    return i < 0 ? t->copied.name[k] : t->copied.text + t->copied.start[i * t->copied.count + k];
}

void epiq_reader_missing(epiq_reader *r, int missing)
{
    r->table.gaps = missing == EPIQ_MISSING_DROP;
}

int epiq_reader_next(epiq_ctx *c, epiq_reader *r, ptrdiff_t most, double *x, ptrdiff_t *count)
{
    epiqp_clear(c);
    *count = 0;
    return most > 0 ? epiqp_window_next(c, &r->table, most, x, count)
                    : epiqp_fail(c, EPIQ_E_USAGE, "%td rows cannot be read at a time; give at least 1", most);
}

const char *epiq_reader_note(const epiq_reader *r)
{
    return r->note;
}

void epiq_reader_free(epiq_ctx *c, epiq_reader *r)
{
    if (r) {
        epiqp_table_close(c, &r->table);
        epiqp_arena_free(c, &r->arena);
        epiqp_free(c, r);
    }
}
