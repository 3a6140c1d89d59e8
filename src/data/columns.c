/* columns.c - which columns of a table are the target, the features and the groups, as the options name them. */
#include "data/table.h"

#include <string.h>

enum { MOST_ONEHOT = 1000 }; /* a column with more values is probably a name, not a category */

/* An option that names columns is a bit of their marks; WHY[k] is about bit 1 << k: "for ", then the option. */
enum { TARGET = 1, GROUP = 2, FEATURES = 4, DROP = 8, ONEHOT = 16, OPTIONS = 5 };
static const char *const WHY[OPTIONS] = {"for {--target}", "for {--group}", "for {--features}", "for {--drop}",
                                         "for {--onehot}"};
static const int CLASHES[] = {TARGET | GROUP,   TARGET | FEATURES, TARGET | DROP,   TARGET | ONEHOT,
                              GROUP | FEATURES, GROUP | ONEHOT,    FEATURES | DROP, DROP | ONEHOT};

static int mark_name(epiq_ctx *c, epiqp_table *t, const char *name, int which, int *marks)
{
    const epiqp_column *column = epiqp_table_column(c, t, name, WHY[which]);
    if (!column) return EPIQ_E_DATA;
    marks[column - t->column] |= 1 << which;
    return EPIQ_OK;
}

static int mark_list(epiq_ctx *c, epiqp_table *t, const char *list, int which, int *marks)
{
    epiqp_keys names = {0};
    int status = list ? epiqp_csv_names(c, WHY[which] + 4, list, &names) : EPIQ_OK;
    for (ptrdiff_t i = 0; i < names.count && !status; i++) {
        status = mark_name(c, t, epiqp_keys_text(&names, i), which, marks);
    }
    epiqp_keys_free(c, &names);
    return status;
}

static int check_marks(epiq_ctx *c, const epiqp_table *t, const epiq_options *o, const int *marks)
{
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        const epiqp_shown shown = epiqp_show(t->column[j].name);
        for (size_t k = 0; k < sizeof CLASHES / sizeof *CLASHES; k++) {
            if ((marks[j] & CLASHES[k]) == CLASHES[k]) {
                const char *both[2] = {"", ""};
                for (int i = 0, found = 0; i < OPTIONS; i++) {
                    if (CLASHES[k] & 1 << i) both[found++] = WHY[i] + 4;
                }
                return epiqp_fail(c, EPIQ_E_USAGE, "column %s is named by both %s and %s; name it in one of them",
                                  shown.text, both[0], both[1]);
            }
        }
        if (o->features && (marks[j] & (ONEHOT | FEATURES)) == ONEHOT) {
            return epiqp_fail(c, EPIQ_E_USAGE,
                              "column %s is named by {--onehot} but is not among {--features}; add it there",
                              shown.text);
        }
    }
    return EPIQ_OK;
}

int epiqp_columns_choose(epiq_ctx *c, epiqp_table *t, const epiq_options *o, epiqp_column **target,
                         epiqp_column **group)
{
    int *marks = epiqp_arena_alloc(c, &t->arena, t->columns, sizeof *marks);
    if (!marks) return EPIQ_E_NOMEM;
    int status;
    if (!o->target && !t->bare) {
        if ((status = epiqp_foreign_refuse_prose(c, t))) return status;
        return epiqp_fail(c, EPIQ_E_USAGE, "{--target} is needed: name the column to predict; the file has %s",
                          epiqp_table_list(t, &(epiqp_list){0}));
    }
    bool by_column = o->group && (strcmp(o->group, EPIQP_SAME_FEATURES) != 0 ||
                                  epiqp_keys_find(&t->names, o->group, (ptrdiff_t)strlen(o->group)) >= 0);
    if ((status = mark_name(c, t, o->target ? o->target : "y", 0, marks)) ||
        (by_column && (status = mark_name(c, t, o->group, 1, marks))) ||
        (status = mark_list(c, t, o->features, 2, marks)) || (status = mark_list(c, t, o->drop, 3, marks)) ||
        (status = mark_list(c, t, o->onehot, 4, marks)) || (status = check_marks(c, t, o, marks))) {
        return status;
    }
    ptrdiff_t features = 0;
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        epiqp_column *column = &t->column[j];
        const bool nameless = !*column->name, named = !nameless && strcmp(column->name, EPIQP_UNNAMED) != 0;
        column->most_values = MOST_ONEHOT;
        column->index = j == 0 && !named && !marks[j] && !o->features;
        if (column->index) column->most_values = PTRDIFF_MAX;
        if (marks[j] & TARGET) {
            *target = column;
            column->role = EPIQP_NUMBER;
        } else if (marks[j] & GROUP) {
            *group = column;
            column->role = EPIQP_LABEL;
            column->most_values = PTRDIFF_MAX;
        } else if (o->features ? marks[j] & FEATURES : !(marks[j] & DROP)) {
            column->feature = true;
            column->role = marks[j] & ONEHOT ? EPIQP_LABEL : EPIQP_NUMBER;
            features += !nameless;
        }
    }
    return features ? EPIQ_OK
                    : epiqp_fail(c, EPIQ_E_DATA, "%s: no feature is left beside the target; {--drop} fewer columns",
                                 t->in.name);
}
