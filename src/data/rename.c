/* rename.c - other names for the features and the target of data that is there already: arrays come without any. */
#include "data/table.h"

#include <string.h>

/* Models are kept as UTF-8, and read as nothing else. */
static int check_utf8(epiq_ctx *c, const char *name)
{
    const ptrdiff_t size = (ptrdiff_t)strlen(name);
    char shown[EPIQP_SHOWN];
    return epiqp_text_is_clean(name, size)
               ? EPIQ_OK
               : epiqp_fail(c, EPIQ_E_DATA, "the name \"%s\" is not UTF-8; give one that is",
                            epiqp_text_show(shown, sizeof shown, name, size));
}

/* Copies of the names, no two of them alike. */
static int copy_names(epiq_ctx *c, epiq_data *data, const char *const *feature, const char **copy)
{
    epiqp_keys seen = {0};
    int status = EPIQ_OK;
    for (ptrdiff_t k = 0; k < data->d && !status; k++) {
        if ((status = check_utf8(c, feature[k]))) {
            break;
        }
        ptrdiff_t size = (ptrdiff_t)strlen(feature[k]), number = epiqp_keys_add(c, &seen, feature[k], size);
        copy[k] = number == k ? epiqp_arena_printf(c, &data->arena, "%s", feature[k]) : NULL;
        status = copy[k] ? EPIQ_OK : EPIQ_E_NOMEM;
        if (number >= 0 && number < k) {
            char shown[EPIQP_SHOWN];
            status = epiqp_fail(c, EPIQ_E_DATA, "features %td and %td are both named \"%s\"; rename one of them",
                                number + 1, k + 1, epiqp_text_show(shown, sizeof shown, feature[k], size));
        }
    }
    epiqp_keys_free(c, &seen);
    return status;
}

/* A column is called as its feature is, unless it gives several. Features follow the order of the columns. */
static void name_features(epiq_data *data, const char *const *name)
{
    struct epiqp_columns *columns = data->columns;
    for (ptrdiff_t k = 0, j = 0; k < data->d; k++) {
        data->feature[k] = name[k];
        if (!columns->value[k]) {
            while (columns->name[j] != columns->source[k]) {
                j++;
            }
            columns->name[j] = columns->source[k] = name[k];
        }
    }
}

static void name_target(epiq_data *data, const char *name)
{
    ptrdiff_t j = 0;
    while (data->columns->name[j] != data->target) {
        j++;
    }
    data->columns->name[j] = data->target = name;
}

int epiq_data_rename(epiq_ctx *c, epiq_data *data, const char *const *feature, const char *target)
{
    epiqp_clear(c);
    const char **name = feature ? epiqp_arena_alloc(c, &data->arena, data->d, sizeof *name) : NULL;
    const char *goal = target ? epiqp_arena_printf(c, &data->arena, "%s", target) : NULL;
    if ((feature && !name) || (target && !goal)) {
        return EPIQ_E_NOMEM;
    }
    int status = target ? check_utf8(c, target) : EPIQ_OK;
    status = status || !feature ? status : copy_names(c, data, feature, name);
    if (!status && feature) {
        name_features(data, name);
    }
    if (!status && target) {
        name_target(data, goal);
    }
    return status;
}
