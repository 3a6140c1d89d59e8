/* blocks.c - a feature that names what was measured several times, as a patient's number: whole numbers, each in some rows, in all of
 * which another feature is the same too. Rows left out one by one are then known from their likes, and errors look small.
 */
#include "base/keys.h"
#include "data/table.h"

#include <math.h>

enum {
    FEWEST = 10,
    LARGEST = 20
}; /* values of such a feature, and rows of each on average: with more it is a setting */
static const double MOST_STEPS = 1e8;

/* Different values of feature k, or of features k and j together; counting ends beyond `most`. Below 0: no memory. */
static ptrdiff_t values_of(epiq_ctx *c, const epiq_data *data, ptrdiff_t k, ptrdiff_t j, ptrdiff_t most)
{
    epiqp_keys seen = {0};
    ptrdiff_t number = 0;
    for (ptrdiff_t i = 0; i < data->n && number >= 0 && seen.count <= most; i++) {
        const double both[] = {data->x_given[i * data->d + k], data->x_given[i * data->d + j]};
        number = epiqp_keys_add(c, &seen, both, (ptrdiff_t)sizeof both);
    }
    const ptrdiff_t count = seen.count;
    epiqp_keys_free(c, &seen);
    return number < 0 ? -1 : count;
}

static bool is_whole(const epiq_data *data, ptrdiff_t k)
{
    bool whole = true;
    for (ptrdiff_t i = 0; whole && i < data->n; i++) {
        const double v = data->x_given[i * data->d + k];
        whole = v == floor(v);
    }
    return whole;
}

int epiqp_find_blocks(epiq_ctx *c, epiq_data *data)
{
    const ptrdiff_t n = data->n, d = data->d;
    if (data->grouped || (double)n * (double)d * (double)d > MOST_STEPS) return EPIQ_OK;
    for (ptrdiff_t k = 0; k < d; k++) {
        if (!is_whole(data, k)) continue;
        const ptrdiff_t blocks = values_of(c, data, k, k, n / 2);
        if (blocks < 0) return EPIQ_E_NOMEM;
        if (blocks < FEWEST || blocks > n / 2 || n > LARGEST * blocks) continue;
        for (ptrdiff_t j = 0; j < d; j++) {
            const ptrdiff_t own = j == k ? 0 : values_of(c, data, j, j, FEWEST),
                            together = own < FEWEST ? own : values_of(c, data, k, j, blocks);
            if (own < 0 || together < 0) return EPIQ_E_NOMEM;
            if (own < FEWEST || together != blocks) continue;
            data->blocks = blocks;
            data->block_by = k;
            data->block_with = j;
            return EPIQ_OK;
        }
    }
    return EPIQ_OK;
}

const char *epiqp_sentence_of_blocks(epiq_ctx *c, epiq_data *data)
{
    if (!data->blocks) return "";
    const epiqp_shown block = epiqp_show(data->feature[data->block_by]),
                      other = epiqp_show(data->feature[data->block_with]);
    return epiqp_arena_sentence(c, &data->arena,
                                "rows with the same %s have the same %s too (%td values in %td rows); if they are "
                                "repeated measurements, {--group} %s keeps them together: without, errors on rows "
                                "left out are not those for a new one",
                                block.text, other.text, data->blocks, data->n, block.text);
}
