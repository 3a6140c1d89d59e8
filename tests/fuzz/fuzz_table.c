/* fuzz_table.c - one file read three ways: as the data (data.c), as points in its columns (points.c), and a block of rows
 * at a time (window.c). What the first takes the others must take too, and their rows are the same bits.
 */
#include "../usual.h"
#include "data/table.h"
#include "fuzz.h"

#include <math.h>
#include <string.h>

/* Columns that the options name are in the file, or the bytes would seldom get any farther. */
static const char *if_there(const uint8_t *bytes, size_t size, bool wanted, const char *name)
{
    return wanted && memmem(bytes, size, name, strlen(name)) ? name : NULL;
}

static epiq_options choose(const uint8_t *bytes, size_t size)
{
    static epiq_options plain;
    if (!plain.width) plain = usual_options();
    uint64_t h = fuzz_hash(bytes, size);
    epiq_options o = plain;
    o.target = "y";
    o.missing = h & 1 ? EPIQ_MISSING_DROP : EPIQ_MISSING_REFUSE;
    o.scale = (int)(h >> 1 & 7) % 3;
    o.group = if_there(bytes, size, h >> 4 & 1, "gr");
    o.onehot = if_there(bytes, size, h >> 5 & 1, "col");
    o.drop = if_there(bytes, size, h >> 6 & 1, "id");
    o.na = if_there(bytes, size, h >> 11 & 1, "-3");
    o.features = if_there(bytes, size, (h >> 7 & 7) == 0, o.onehot ? "x1,col" : "x1");
    return o;
}

static void check_data(const epiq_data *data, const epiq_options *o)
{
    const epiq_data_info about = epiq_data_describe(data);
    EXPECT(about.rows >= 2 && about.features >= 1 && about.groups >= 1 && about.groups <= about.rows);
    EXPECT(about.dropped >= 0 && (!about.dropped || o->missing == EPIQ_MISSING_DROP));
    EXPECT(about.duplicates >= 0 && about.duplicates < about.rows);
    EXPECT(about.constant >= 0 && about.constant <= about.features);
    EXPECT(isfinite(about.shift) && isfinite(about.factor) && about.factor > 0 && strlen(about.sha256) == 64);
    EXPECT(epiqp_text_is_clean(about.target, (ptrdiff_t)strlen(about.target)));
    for (ptrdiff_t j = 0; j < about.features; j++) {
        EXPECT(*about.feature[j] && epiqp_text_is_clean(about.feature[j], (ptrdiff_t)strlen(about.feature[j])));
        EXPECT(isfinite(data->shift[j]) && data->factor[j] > 0 && isfinite(data->mean[j]));
        EXPECT(data->least[j] <= data->mean[j] && data->mean[j] <= data->most[j]);
    }
    for (ptrdiff_t i = 0; i < data->n; i++) {
        EXPECT(isfinite(data->y[i]) && data->group[i] >= 0 && data->group[i] < data->groups);
        EXPECT(data->row[i] > (i ? data->row[i - 1] : 0) && data->row[i] <= data->n + data->dropped);
        for (ptrdiff_t j = 0; j < data->d; j++) {
            EXPECT(isfinite(data->x[i * data->d + j]) && isfinite(data->x_given[i * data->d + j]));
        }
    }
}

/* whole: every row is among the data, and columns are found by name, so that nothing may be refused. */
static void check_points(const char *path, const epiq_data *data, bool whole)
{
    epiq_ctx *c = fuzz_ctx();
    epiq_points *at;
    EXPECT(epiq_points_new(c, data, &at) == EPIQ_OK);
    int mean = fuzz_status(epiq_points_add(c, at, "mean"));
    ptrdiff_t before = epiq_points_count(at);
    int s = fuzz_status(epiq_points_add(c, at, path));
    EXPECT(!mean && before == 1 && (!s || !whole));
    if (!s && whole) {
        EXPECT(epiq_points_count(at) == before + data->n);
        EXPECT(!memcmp(at->x + before * data->d, data->x, (size_t)(data->n * data->d) * sizeof *data->x));
    }
    epiq_points_free(c, at);
}

static void check_blocks(const char *path, const epiq_data *data, bool whole, ptrdiff_t most)
{
    epiq_ctx *c = fuzz_ctx();
    epiqp_table t;
    double *x = epiqp_alloc(c, most * data->d, sizeof *x);
    ptrdiff_t count = 1, row = 0;
    epiqp_clear(c);
    int s = fuzz_status(epiqp_window_open(c, path, data->d, data->columns, true, &t, &(epiqp_list){0}));
    while (!s && count) {
        count = 0;
        s = fuzz_status(epiqp_window_next(c, &t, most, x, &count));
        EXPECT(count >= 0 && count <= most && (!whole || row + count <= data->n));
        EXPECT(s || !whole || !memcmp(x, data->x_given + row * data->d, (size_t)(count * data->d) * sizeof *x));
        row += count;
    }
    EXPECT(!whole || (!s && row == data->n));
    epiqp_table_close(c, &t);
    epiqp_free(c, x);
}

void fuzz_table(const uint8_t *bytes, size_t size)
{
    epiq_ctx *c = fuzz_ctx();
    const char *path = fuzz_file(0, bytes, size);
    const epiq_options o = choose(bytes, size);
    epiq_data *data;
    int s = fuzz_status(epiq_data_read(c, path, &o, &data));
    EXPECT((s == EPIQ_OK) == (data != NULL));
    if (data) {
        const bool bare = size >= 6 && !memcmp(bytes, "\x93NUMPY", 6); /* its target would be a column too many */
        const bool whole = !data->dropped && !bare;
        check_data(data, &o);
        check_points(path, data, whole);
        check_blocks(path, data, whole, 1 + (ptrdiff_t)(fuzz_hash(bytes, size) >> 10 & 3));
    }
    epiq_data_free(c, data);
    fuzz_end();
}
