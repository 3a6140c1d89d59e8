/* gather.c - networks given now, kept from earlier calls and kept in other files, collected in a state file (db.h). A
 * network is a row of predictions, known by its checksum and its ordinal among identical rows of one call: giving a
 * file twice adds nothing, and the order of files changes no bit of the answer.
 */
#include "base/keys.h"
#include "base/text.h"
#include "given/given.h"
#include "store/db.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* One transaction. */
typedef struct {
    const epiqp_problem *pb;
    epiqp_point_set *w;
    epiqp_db file;
    sqlite3_stmt *add;
    ptrdiff_t given, added;
} transaction;

int epiqp_point_set_merge(epiq_ctx *c, epiqp_point_set *known, const epiqp_point_set *also)
{
    if (known->count && also->count && known->count != also->count) {
        return epiqp_fail(
            c, EPIQ_E_DATA,
            "%s is about %td point%s but %s about %td; only networks that predict at the same points can be combined",
            also->count_by, also->count, also->count == 1 ? "" : "s", known->count_by, known->count);
    }
    if (!known->count) {
        known->count = also->count;
        known->count_by = also->count_by;
    }
    for (ptrdiff_t p = 0; known->name && also->name && p < known->count; p++) {
        if (strcmp(known->name[p], also->name[p]) != 0) {
            return epiqp_fail(
                c, EPIQ_E_DATA,
                "point %td is called \"%s\" in %s but \"%s\" in %s; give the same points in the same order", p + 1,
                epiqp_show(known->name[p]).text, known->name_by, epiqp_show(also->name[p]).text, also->name_by);
        }
    }
    if (!known->name) {
        known->name = also->name;
        known->name_by = also->name_by;
    }
    if (known->sum[0] && also->sum[0] && strcmp(known->sum, also->sum) != 0) {
        return epiqp_fail(c, EPIQ_E_DATA,
                          "the points of %s are not those that the networks in %s are about (checksums %.8s and %.8s); "
                          "give the same points, or name another file",
                          known->sum_by, also->sum_by, known->sum, also->sum);
    }
    if (!known->sum[0]) {
        memcpy(known->sum, also->sum, sizeof known->sum);
        known->sum_by = also->sum_by;
    }
    return EPIQ_OK;
}

/* Names as a file keeps them, each ended by a zero byte. */
static int split_names(transaction *t, const epiqp_db *file, ptrdiff_t count, const char *bytes, ptrdiff_t size,
                       const char *const **out)
{
    if (count > size) return epiqp_db_not_ours(file); /* before memory is allocated for that many */
    char *text = epiqp_arena_alloc(t->pb->e.c, t->pb->lasting, size + 1, 1);
    const char **name = epiqp_arena_alloc(t->pb->e.c, t->pb->scratch, count, sizeof *name);
    if (!text || !name) return EPIQ_E_NOMEM;
    memcpy(text, bytes, (size_t)size);
    const char *p = text, *end = text + size;
    for (ptrdiff_t k = 0; k < count && p < end; k++, p += strlen(p) + 1) {
        name[k] = p;
    }
    *out = name;
    return p >= end && name[count - 1] ? EPIQ_OK : epiqp_db_not_ours(file);
}

/* Compares the points of a file, a row of its table, with what is known of them. */
static int take_points(transaction *t, const epiqp_db *file, sqlite3_stmt *q)
{
    const char *by = file->path, *sum = (const char *)sqlite3_column_text(q, 2), *names = sqlite3_column_blob(q, 1);
    epiqp_point_set its = {.count = sqlite3_column_int64(q, 0), .count_by = by, .name_by = by, .sum_by = by};
    const bool lost =
        (sqlite3_column_type(q, 2) != SQLITE_NULL && !sum) || (sqlite3_column_type(q, 1) != SQLITE_NULL && !names);
    if (lost || its.count < 1 || its.count > INT_MAX / (ptrdiff_t)sizeof(double)) { /* no row could hold them */
        return epiqp_db_not_ours(file);
    }
    if (sum && strlen(sum) == sizeof its.sum - 1) memcpy(its.sum, sum, sizeof its.sum);
    int s = names ? split_names(t, file, its.count, names, sqlite3_column_bytes(q, 1), &its.name) : EPIQ_OK;
    return s ? s : epiqp_point_set_merge(t->pb->e.c, t->w, &its);
}

static int read_points(transaction *t, epiqp_db *file)
{
    sqlite3_stmt *q = NULL;
    int s = epiqp_db_prepare(file, "SELECT count, names, sum FROM points", &q);
    if (s) return s;
    const int rc = sqlite3_step(q);
    if (rc == SQLITE_ROW) {
        s = take_points(t, file, q);
    } else if (rc != SQLITE_DONE) {
        s = epiqp_db_trouble(file, "read");
    }
    sqlite3_finalize(q);
    return s;
}

static int write_points(transaction *t)
{
    const epiqp_point_set *w = t->w;
    ptrdiff_t size = 0;
    for (ptrdiff_t p = 0; w->name && p < w->count; p++) {
        size += (ptrdiff_t)strlen(w->name[p]) + 1;
    }
    char *names = epiqp_alloc(t->pb->e.c, size + 1, 1);
    sqlite3_stmt *q = NULL;
    int s =
        names ? epiqp_db_prepare(&t->file, "INSERT OR REPLACE INTO points VALUES (0, ?1, ?2, ?3)", &q) : EPIQ_E_NOMEM;
    for (ptrdiff_t p = 0, at = 0; !s && w->name && p < w->count; p++) {
        at = stpcpy(names + at, w->name[p]) + 1 - names;
    }
    if (!s) {
        sqlite3_bind_int64(q, 1, w->count);
        sqlite3_bind_blob64(q, 2, w->name ? names : NULL, (sqlite3_uint64)size, SQLITE_STATIC); /* NULL binds null */
        sqlite3_bind_text(q, 3, w->sum[0] ? w->sum : NULL, -1, SQLITE_STATIC);
        s = sqlite3_step(q) == SQLITE_DONE ? EPIQ_OK : epiqp_db_trouble(&t->file, "written");
    }
    sqlite3_finalize(q);
    epiqp_free(t->pb->e.c, names);
    return s;
}

static int add_one(transaction *t, int kind, const char *sum, ptrdiff_t copy, const void *at)
{
    sqlite3_reset(t->add);
    sqlite3_bind_int(t->add, 1, kind);
    sqlite3_bind_text(t->add, 2, sum, -1, SQLITE_STATIC);
    sqlite3_bind_int64(t->add, 3, copy);
    sqlite3_bind_blob64(t->add, 4, at, (sqlite3_uint64)t->w->count * sizeof(double), SQLITE_STATIC);
    if (sqlite3_step(t->add) != SQLITE_DONE) return epiqp_db_trouble(&t->file, "written");
    t->given++;
    t->added += sqlite3_changes(t->file.db);
    sqlite3_reset(t->add); /* the caller's numbers do not outlive this call */
    return EPIQ_OK;
}

static int add_matrix(transaction *t, int kind, const epiq_matrix *m)
{
    epiq_ctx *c = t->pb->e.c;
    epiqp_keys sums = {0};
    double *row = epiqp_alloc(c, m->columns, sizeof *row);
    ptrdiff_t *copies = epiqp_alloc(c, m->rows, sizeof *copies);
    int s = row && copies ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t k = 0; !s && k < m->rows; k++) {
        epiqp_sha256 sum = epiqp_sha256_start();
        char hex[65];
        epiqp_matrix_row(m, k, 0, m->columns, row);
        epiqp_sha256_add(&sum, row, (size_t)m->columns * sizeof *row);
        epiqp_sha256_end(&sum, hex);
        ptrdiff_t before = sums.count, number = epiqp_keys_add(c, &sums, hex, 64);
        if (number < 0) {
            s = EPIQ_E_NOMEM;
            break;
        }
        copies[number] = number < before ? copies[number] + 1 : 0;
        if (!(s = add_one(t, kind, hex, copies[number], row))) {
            s = epiqp_report(c, "networks", k + 1, m->rows);
        }
    }
    epiqp_keys_free(c, &sums);
    epiqp_free(c, copies);
    epiqp_free(c, row);
    return s;
}

static int add_file(transaction *t, const char *path)
{
    epiqp_db other;
    sqlite3_stmt *q = NULL;
    int rc, s = epiqp_db_read(t->pb->e.c, path, EPIQP_DB_NETWORKS, &other);
    if (s || (s = read_points(t, &other)) ||
        (s = epiqp_db_prepare(&other, "SELECT kind, sum, copy, at FROM networks", &q))) {
        goto end;
    }
    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        const void *at = epiqp_db_numbers(q, 3, t->w->count, EPIQP_LARGEST_GIVEN);
        const char *sum = (const char *)sqlite3_column_text(q, 1);
        if ((s = at && sum ? add_one(t, sqlite3_column_int(q, 0), sum, sqlite3_column_int64(q, 2), at)
                           : epiqp_db_not_ours(&other)) ||
            (s = epiqp_report(t->pb->e.c, "networks", t->given, 0))) {
            goto end;
        }
    }
    s = rc == SQLITE_DONE ? EPIQ_OK : epiqp_db_trouble(&other, "read");
end:
    sqlite3_finalize(q);
    epiqp_db_close(&other);
    return s;
}

/* All of one kind, in the order of their checksums. */
static int take_all(transaction *t, int kind, epiqp_networks *out)
{
    static const char *const COUNT = "SELECT count(*), page_count * page_size FROM networks, pragma_page_count, "
                                     "pragma_page_size WHERE kind = ?1",
                             *const ROWS = "SELECT at FROM networks WHERE kind = ?1 ORDER BY sum, copy";
    const ptrdiff_t points = t->w->count, row = points * (ptrdiff_t)sizeof(double);
    sqlite3_stmt *count = NULL, *q = NULL;
    double *all = NULL;
    ptrdiff_t k = 0;
    int s = epiqp_db_prepare(&t->file, COUNT, &count);
    if (s || (s = epiqp_db_prepare(&t->file, ROWS, &q))) goto end;
    sqlite3_bind_int(count, 1, kind);
    sqlite3_bind_int(q, 1, kind);
    s = sqlite3_step(count) == SQLITE_ROW ? EPIQ_OK : epiqp_db_trouble(&t->file, "read");
    out->count = sqlite3_column_int64(count, 0);
    if (!s && out->count > sqlite3_column_int64(count, 1) / row) {
        s = epiqp_db_not_ours(&t->file); /* more than the file can hold: no memory is allocated for it */
    }
    if (!s && !(all = epiqp_room(t->pb, out->count * points, sizeof *all))) s = EPIQ_E_NOMEM;
    for (; !s && k < out->count && sqlite3_step(q) == SQLITE_ROW; k++) {
        const void *at = epiqp_db_numbers(q, 0, points, EPIQP_LARGEST_GIVEN);
        if (at) memcpy(all + k * points, at, (size_t)row);
        s = at ? EPIQ_OK : epiqp_db_not_ours(&t->file);
    }
    if (!s && k < out->count) s = epiqp_db_trouble(&t->file, "read");
    out->h = out->count ? all : NULL;
end:
    sqlite3_finalize(count);
    sqlite3_finalize(q);
    return s;
}

static int gather(transaction *t, const epiq_given *g, const char *path)
{
    int s = epiqp_db_write(t->pb->e.c, path, EPIQP_DB_NETWORKS, &t->file);
    if (s || (s = read_points(t, &t->file)) ||
        (s = epiqp_db_prepare(&t->file, "INSERT OR IGNORE INTO networks VALUES (?1, ?2, ?3, ?4)", &t->add)) ||
        (g->ensemble && (s = add_matrix(t, EPIQP_GIVEN_MEMBERS, g->ensemble))) ||
        (g->batched && (s = add_matrix(t, EPIQP_GIVEN_BATCHES, g->batched)))) {
        return s;
    }
    for (ptrdiff_t k = 0; !s && k < g->merge_count; k++) {
        s = add_file(t, g->merge[k]);
    }
    return s || !t->given ? s : write_points(t);
}

static void finish(transaction *t)
{
    sqlite3_finalize(t->add);
    epiqp_db_close(&t->file);
}

int epiqp_gather(const epiqp_problem *pb, const char *state, const epiq_given *g, epiqp_point_set *w,
                 epiqp_networks out[EPIQP_GIVEN_KINDS])
{
    transaction t = {.pb = pb, .w = w};
    bool exists = state && (!access(state, F_OK) || errno != ENOENT); /* else it is created after the estimate */
    int s = gather(&t, g, exists ? state : NULL);
    for (int k = 0; !s && w->count && k < EPIQP_GIVEN_KINDS; k++) {
        s = take_all(&t, k, &out[k]);
    }
    finish(&t); /* rolls back: networks are added after the estimate */
    if (s || t.given == t.added) return s;
    return epiqp_warn(pb->e.c, pb->warnings, EPIQ_W_ALREADY_THERE,
                      "%td of %td networks given were there already, and count once", t.given - t.added, t.given);
}

int epiqp_gather_keep(const epiqp_problem *pb, const char *state, const epiq_given *g, epiqp_point_set *w,
                      ptrdiff_t *added, ptrdiff_t *kept)
{
    transaction t = {.pb = pb, .w = w};
    sqlite3_stmt *q = NULL;
    int s = gather(&t, g, state);
    if (s || (s = epiqp_db_prepare(&t.file, "SELECT count(*) FROM networks", &q))) goto end;
    s = sqlite3_step(q) == SQLITE_ROW ? EPIQ_OK : epiqp_db_trouble(&t.file, "read");
    *kept = sqlite3_column_int64(q, 0);
    *added = t.added;
    sqlite3_finalize(q);
    if (!s) s = epiqp_db_run(&t.file, "COMMIT", "written");
end:
    finish(&t);
    return s;
}
