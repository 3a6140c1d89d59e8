/* columns.c - which columns of a table are the target, the features and the groups, as the options name them. */
#include "data/table.h"

#include <string.h>

enum { MOST_ONEHOT = 1000 }; /* more values than that say that the column is a name, not a kind */

enum { TARGET = 1, GROUP = 2, FEATURES = 4, DROP = 8, ONEHOT = 16 };

static const struct {
    int bit;
    const char *why; /* "for ", then the option */
} MARKS[] = {{TARGET, "for --target"},
             {GROUP, "for --group"},
             {FEATURES, "for --features"},
             {DROP, "for --drop"},
             {ONEHOT, "for --onehot"}};
#define OPTION(which) (MARKS[which].why + 4)

static const int CLASHES[] = {TARGET | GROUP,   TARGET | FEATURES, TARGET | DROP,   TARGET | ONEHOT,
                              GROUP | FEATURES, GROUP | ONEHOT,    FEATURES | DROP, DROP | ONEHOT};

static int mark_name(epiq_ctx *c, epiqp_table *t, const char *name, ptrdiff_t length, size_t which, int *marks)
{
    const epiqp_column *column = epiqp_table_column(c, t, name, length, MARKS[which].why);
    if (!column) {
        return EPIQ_E_DATA;
    }
    marks[column - t->column] |= MARKS[which].bit;
    return EPIQ_OK;
}

static int mark_list(epiq_ctx *c, epiqp_table *t, const char *list, size_t which, int *marks)
{
    epiqp_keys names = {0};
    int status = list ? epiqp_csv_names(c, OPTION(which), list, &names) : EPIQ_OK;
    for (ptrdiff_t i = 0; i < names.count && !status; i++) {
        status = mark_name(c, t, names.pool + names.start[i], names.start[i + 1] - names.start[i], which, marks);
    }
    epiqp_keys_free(c, &names);
    return status;
}

static int check_marks(epiq_ctx *c, const epiqp_table *t, const epiq_options *o, const int *marks)
{
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        char shown[EPIQP_SHOWN];
        const char *name = t->column[j].name;
        epiqp_text_show(shown, sizeof shown, name, (ptrdiff_t)strlen(name));
        for (size_t k = 0; k < sizeof CLASHES / sizeof *CLASHES; k++) {
            if ((marks[j] & CLASHES[k]) == CLASHES[k]) {
                const char *both[2] = {"", ""};
                for (size_t i = 0, found = 0; i < sizeof MARKS / sizeof *MARKS; i++) {
                    if (CLASHES[k] & MARKS[i].bit) {
                        both[found++] = OPTION(i);
                    }
                }
                return epiqp_fail(c, EPIQ_E_USAGE, "column %s is named by both %s and %s; name it in one of them",
                                  shown, both[0], both[1]);
            }
        }
        if (o->features && (marks[j] & (ONEHOT | FEATURES)) == ONEHOT) {
            return epiqp_fail(c, EPIQ_E_USAGE,
                              "column %s is named by --onehot but is not among --features; add it there", shown);
        }
    }
    return EPIQ_OK;
}

int epiqp_columns_choose(epiq_ctx *c, epiqp_table *t, const epiq_options *o, epiqp_column **target,
                         epiqp_column **group)
{
    int *marks = epiqp_arena_alloc(c, &t->arena, t->columns, sizeof *marks);
    if (!marks) {
        return EPIQ_E_NOMEM;
    }
    if (!o->target && !t->bare) {
        epiqp_list list = {0};
        return epiqp_fail(c, EPIQ_E_USAGE, "--target is needed: name the column to predict; the file has %s",
                          epiqp_table_list(t, &list));
    }
    const char *wanted = o->target ? o->target : "y";
    int status = mark_name(c, t, wanted, (ptrdiff_t)strlen(wanted), 0, marks);
    if (!status && o->group &&
        (strcmp(o->group, EPIQP_SAME_FEATURES) != 0 ||
         epiqp_keys_find(&t->names, o->group, (ptrdiff_t)strlen(o->group)) >= 0)) {
        status = mark_name(c, t, o->group, (ptrdiff_t)strlen(o->group), 1, marks);
    }
    status = status ? status : mark_list(c, t, o->features, 2, marks);
    status = status ? status : mark_list(c, t, o->drop, 3, marks);
    status = status ? status : mark_list(c, t, o->onehot, 4, marks);
    status = status ? status : check_marks(c, t, o, marks);
    if (status) {
        return status;
    }
    ptrdiff_t features = 0;
    for (ptrdiff_t j = 0; j < t->columns; j++) {
        epiqp_column *column = &t->column[j];
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
            column->most_values = MOST_ONEHOT;
            features++;
        }
    }
    return features
               ? EPIQ_OK
               : epiqp_fail(c, EPIQ_E_DATA, "%s: no feature is left beside the target; --drop fewer columns", t->file);
}
