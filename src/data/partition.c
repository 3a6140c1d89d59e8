/* partition.c - a random partition of the rows into batches, folds or parts. Groups are shuffled; then each in turn
 * goes to the part that has the fewest rows so far.
 */
#include "data/data.h"

#include <string.h>

int epiqp_partition(epiq_ctx *c, const epiq_data *data, epiqp_stream s, ptrdiff_t parts, ptrdiff_t *part_of_row,
                    ptrdiff_t *sizes)
{
    ptrdiff_t *order = epiqp_alloc(c, 3 * data->groups + parts, sizeof *order);
    if (!order) return EPIQ_E_NOMEM;
    ptrdiff_t *group_size = order + data->groups, *part_of_group = group_size + data->groups;
    ptrdiff_t *rows = part_of_group + data->groups; /* of each part */
    for (ptrdiff_t g = 0; g < data->groups; g++) {
        order[g] = g;
        group_size[g] = 0;
    }
    for (ptrdiff_t i = 0; i < data->n; i++) {
        group_size[data->group[i]]++;
    }
    memset(rows, 0, (size_t)parts * sizeof *rows);
    epiqp_shuffle(s, 0, data->groups, order);
    for (ptrdiff_t g = 0; g < data->groups; g++) {
        ptrdiff_t least = 0;
        for (ptrdiff_t b = 1; b < parts; b++) {
            least = rows[b] < rows[least] ? b : least;
        }
        part_of_group[order[g]] = least;
        rows[least] += group_size[order[g]];
    }
    for (ptrdiff_t i = 0; i < data->n; i++) {
        part_of_row[i] = part_of_group[data->group[i]];
    }
    if (sizes) memcpy(sizes, rows, (size_t)parts * sizeof *sizes);
    epiqp_free(c, order);
    return EPIQ_OK;
}
