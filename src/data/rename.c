/* rename.c - names for the features and the target of existing data, and for points: arrays have none. */
#include "data/table.h"

#include <string.h>

/* Model files hold UTF-8 only. */
static int check_utf8(epiq_ctx *c, const char *name)
{
    if (epiqp_text_is_clean(name, (ptrdiff_t)strlen(name))) return EPIQ_OK;
    return epiqp_fail(c, EPIQ_E_DATA, "the name \"%s\" is not UTF-8; give one that is", epiqp_show(name).text);
}

/* Copies the names; no two may be equal. */
static int copy_names(epiq_ctx *c, epiq_data *data, const char *const *feature, const char **copy)
{
    ptrdiff_t earlier, repeated = epiqp_keys_repeated(c, data->d, feature, &earlier);
    if (repeated < 0) return EPIQ_E_NOMEM;
    for (ptrdiff_t k = 0; k < data->d; k++) {
        int status = check_utf8(c, feature[k]);
        if (status) return status;
        if (k == repeated) {
            return epiqp_fail(c, EPIQ_E_DATA, "features %td and %td are both named \"%s\"; rename one of them",
                              earlier + 1, k + 1, epiqp_show(feature[k]).text);
        }
        if (!(copy[k] = epiqp_arena_printf(c, &data->arena, "%s", feature[k]))) return EPIQ_E_NOMEM;
    }
    return EPIQ_OK;
}

/* Renames the first column from number j on that has this name, the same pointer; returns its number. */
static ptrdiff_t rename_column(epiq_data *data, ptrdiff_t j, const char *old, const char *name)
{
    while (data->columns->name[j] != old) {
        j++;
    }
    data->columns->name[j] = name;
    return j;
}

int epiq_data_rename(epiq_ctx *c, epiq_data *data, const char *const *feature, const char *target)
{
    epiqp_clear(c);
    const char **name = feature ? epiqp_arena_alloc(c, &data->arena, data->d, sizeof *name) : NULL;
    const char *goal = target ? epiqp_arena_printf(c, &data->arena, "%s", target) : NULL;
    if ((feature && !name) || (target && !goal)) return EPIQ_E_NOMEM;
    int status;
    if ((target && (status = check_utf8(c, target))) || (feature && (status = copy_names(c, data, feature, name)))) {
        return status;
    }
    for (ptrdiff_t k = 0, j = 0; feature && k < data->d; k++) { /* features are in the order of the columns */
        data->feature[k] = name[k];
        if (!data->columns->value[k]) { /* a one-hot column has several */
            j = rename_column(data, j, data->columns->source[k], name[k]);
            data->columns->source[k] = name[k];
        }
    }
    if (target) {
        rename_column(data, 0, data->target, goal);
        data->target = goal;
    }
    return epiqp_data_warn(c, data);
}

int epiq_points_rename(epiq_ctx *c, epiq_points *p, const char *const *name)
{
    epiqp_clear(c);
    const char **copy = epiqp_arena_alloc(c, &p->arena, p->count + 1, sizeof *copy);
    if (!copy) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; i < p->count; i++) {
        int status = check_utf8(c, name[i]);
        if (status) return status;
        if (!(copy[i] = epiqp_arena_printf(c, &p->arena, "%s", name[i]))) return EPIQ_E_NOMEM;
    }
    if (p->count) memcpy(p->at, copy, (size_t)p->count * sizeof *copy);
    return EPIQ_OK;
}
