/* gather.c - networks given now, kept from earlier calls, and kept by others, brought together in a state file (db.h). A
 * network is a row of predictions, known by its checksum and by how many equal rows the same call gave before it: the same
 * file twice adds nothing, and the order in which files come changes no bit of the answer.
 */
#include "data/table.h"
#include "est/db.h"
#include "est/est.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { MEMBER, BATCH };

/* One transaction. */
typedef struct {
    epiqp_job *j;
    epiqp_whereabouts *w;
    epiqp_db file;
    sqlite3_stmt *add;
    ptrdiff_t given, added;
} gathering;

/* ---- the points ---- */

int epiqp_same_points(epiq_ctx *c, epiqp_whereabouts *known, const epiqp_whereabouts *also)
{
    if (known->count && also->count && known->count != also->count) {
        return epiqp_fail(
            c, EPIQ_E_DATA,
            "%s is about %td point%s but %s about %td; only networks that predict at the same points can be "
            "combined",
            also->count_by, also->count, also->count == 1 ? "" : "s", known->count_by, known->count);
    }
    if (!known->count) {
        known->count = also->count;
        known->count_by = also->count_by;
    }
    for (ptrdiff_t p = 0; known->name && also->name && p < known->count; p++) {
        if (strcmp(known->name[p], also->name[p]) != 0) {
            char one[EPIQP_SHOWN], other[EPIQP_SHOWN];
            epiqp_text_show(one, sizeof one, known->name[p], (ptrdiff_t)strlen(known->name[p]));
            epiqp_text_show(other, sizeof other, also->name[p], (ptrdiff_t)strlen(also->name[p]));
            return epiqp_fail(
                c, EPIQ_E_DATA,
                "point %td is called \"%s\" in %s but \"%s\" in %s; give the same points in the same order", p + 1, one,
                known->name_by, other, also->name_by);
        }
    }
    if (!known->name) {
        known->name = also->name;
        known->name_by = also->name_by;
    }
    if (known->sum[0] && also->sum[0] && strcmp(known->sum, also->sum) != 0) {
        return epiqp_fail(
            c, EPIQ_E_DATA,
            "the points of %s are not those that the networks in %s are about (checksums %.8s and %.8s); give "
            "the same points, or name another file",
            known->sum_by, also->sum_by, known->sum, also->sum);
    }
    if (!known->sum[0]) {
        memcpy(known->sum, also->sum, sizeof known->sum);
        known->sum_by = also->sum_by;
    }
    return EPIQ_OK;
}

/* Names as a file keeps them, each ended by a zero byte. */
static int split_names(gathering *t, const epiqp_db *file, ptrdiff_t count, const char *bytes, ptrdiff_t size,
                       const char *const **out)
{
    if (count > size) {
        return epiqp_db_not_ours(file); /* before room is made for as many as it says */
    }
    char *text = epiqp_arena_alloc(t->j->e.c, &t->j->answer->arena, size + 1, 1);
    const char **name = epiqp_arena_alloc(t->j->e.c, &t->j->scratch, count, sizeof *name);
    if (!text || !name) {
        return EPIQ_E_NOMEM;
    }
    memcpy(text, bytes, (size_t)size);
    ptrdiff_t found = 0;
    for (const char *p = text; p < text + size; p += strlen(p) + 1) {
        if (found < count) {
            name[found] = p;
        }
        found++;
    }
    *out = name;
    return found == count ? EPIQ_OK : epiqp_db_not_ours(file);
}

/* What a file says of its points, held against what is known. */
static int read_points(gathering *t, epiqp_db *file)
{
    sqlite3_stmt *q = NULL;
    int s = epiqp_db_prepare(file, "SELECT count, names, sum FROM points", &q);
    int rc = s ? SQLITE_DONE : sqlite3_step(q);
    if (rc == SQLITE_ROW) {
        epiqp_whereabouts its = {
            .count = sqlite3_column_int64(q, 0), .count_by = file->path, .name_by = file->path, .sum_by = file->path};
        bool summed = sqlite3_column_type(q, 2) != SQLITE_NULL, named = sqlite3_column_type(q, 1) != SQLITE_NULL;
        const char *sum = (const char *)sqlite3_column_text(q, 2), *names = sqlite3_column_blob(q, 1);
        if (sum && strlen(sum) == sizeof its.sum - 1) {
            memcpy(its.sum, sum, sizeof its.sum);
        }
        if ((summed && !sum) || (named && !names) || its.count < 1 ||
            its.count > INT_MAX / (ptrdiff_t)sizeof(double)) { /* no row of the file could hold them */
            s = epiqp_db_not_ours(file);
        } else if (names) {
            s = split_names(t, file, its.count, names, sqlite3_column_bytes(q, 1), &its.name);
        }
        s = s ? s : epiqp_same_points(t->j->e.c, t->w, &its);
    } else if (rc != SQLITE_DONE) {
        s = epiqp_db_trouble(file, "read");
    }
    sqlite3_finalize(q);
    return s;
}

static int write_points(gathering *t)
{
    const epiqp_whereabouts *w = t->w;
    ptrdiff_t size = 0, at = 0;
    for (ptrdiff_t p = 0; w->name && p < w->count; p++) {
        size += (ptrdiff_t)strlen(w->name[p]) + 1;
    }
    char *names = epiqp_alloc(t->j->e.c, size + 1, 1);
    sqlite3_stmt *q = NULL;
    int s =
        names ? epiqp_db_prepare(&t->file, "INSERT OR REPLACE INTO points VALUES (0, ?1, ?2, ?3)", &q) : EPIQ_E_NOMEM;
    for (ptrdiff_t p = 0; !s && w->name && p < w->count; p++) {
        ptrdiff_t length = (ptrdiff_t)strlen(w->name[p]) + 1;
        memcpy(names + at, w->name[p], (size_t)length);
        at += length;
    }
    if (!s) {
        sqlite3_bind_int64(q, 1, w->count);
        if (w->name) {
            sqlite3_bind_blob64(q, 2, names, (sqlite3_uint64)size, SQLITE_STATIC);
        }
        if (w->sum[0]) {
            sqlite3_bind_text(q, 3, w->sum, -1, SQLITE_STATIC);
        }
        s = sqlite3_step(q) == SQLITE_DONE ? EPIQ_OK : epiqp_db_trouble(&t->file, "written");
    }
    sqlite3_finalize(q);
    epiqp_free(t->j->e.c, names);
    return s;
}

/* ---- networks ---- */

static int add_one(gathering *t, int kind, const char *sum, ptrdiff_t copy, const void *at)
{
    sqlite3_reset(t->add);
    sqlite3_bind_int(t->add, 1, kind);
    sqlite3_bind_text(t->add, 2, sum, -1, SQLITE_STATIC);
    sqlite3_bind_int64(t->add, 3, copy);
    sqlite3_bind_blob64(t->add, 4, at, (sqlite3_uint64)t->w->count * sizeof(double), SQLITE_STATIC);
    if (sqlite3_step(t->add) != SQLITE_DONE) {
        return epiqp_db_trouble(&t->file, "written");
    }
    t->given++;
    t->added += sqlite3_changes(t->file.db);
    sqlite3_reset(t->add); /* the numbers are not ours for longer */
    return EPIQ_OK;
}

static int add_matrix(gathering *t, int kind, const epiq_matrix *m)
{
    epiq_ctx *c = t->j->e.c;
    epiqp_keys sums = {0};
    double *row = epiqp_alloc(c, m->columns, sizeof *row);
    ptrdiff_t *copies = epiqp_alloc(c, m->rows, sizeof *copies);
    int s = row && copies ? EPIQ_OK : EPIQ_E_NOMEM;
    for (ptrdiff_t k = 0; !s && k < m->rows; k++) {
        epiqp_sha256 sum;
        char hex[65];
        epiqp_matrix_row(m, k, 0, m->columns, row);
        epiqp_sha256_start(&sum);
        epiqp_sha256_add(&sum, row, (size_t)m->columns * sizeof *row);
        epiqp_sha256_end(&sum, hex);
        ptrdiff_t before = sums.count, number = epiqp_keys_add(c, &sums, hex, 64);
        if (number < 0) {
            s = EPIQ_E_NOMEM;
            break;
        }
        copies[number] = number < before ? copies[number] + 1 : 0;
        s = add_one(t, kind, hex, copies[number], row);
        s = s ? s : epiqp_report(c, "networks", k + 1, m->rows);
    }
    epiqp_keys_free(c, &sums);
    epiqp_free(c, copies);
    epiqp_free(c, row);
    return s;
}

/* A row that a file says it keeps; NULL: it cannot be one. */
static const void *kept_row(const gathering *t, sqlite3_stmt *q, int column)
{
    const char *at = sqlite3_column_blob(q, column);
    bool whole = at && (size_t)sqlite3_column_bytes(q, column) == (size_t)t->w->count * sizeof(double);
    for (ptrdiff_t p = 0; whole && p < t->w->count; p++) {
        double v; /* SQLite promises no alignment */
        memcpy(&v, at + (size_t)p * sizeof v, sizeof v);
        whole = fabs(v) <= EPIQP_LARGEST_GIVEN;
    }
    return whole ? at : NULL;
}

static int add_file(gathering *t, const char *path)
{
    epiqp_db other;
    sqlite3_stmt *q = NULL;
    int s = epiqp_db_read(t->j->e.c, path, EPIQP_DB_NETWORKS, &other), rc = SQLITE_DONE;
    s = s ? s : read_points(t, &other);
    s = s ? s : epiqp_db_prepare(&other, "SELECT kind, sum, copy, at FROM networks", &q);
    while (!s && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        const void *at = kept_row(t, q, 3);
        const char *sum = (const char *)sqlite3_column_text(q, 1);
        s = at && sum ? add_one(t, sqlite3_column_int(q, 0), sum, sqlite3_column_int64(q, 2), at)
                      : epiqp_db_not_ours(&other);
        s = s ? s : epiqp_report(t->j->e.c, "networks", t->given, 0);
    }
    s = s || rc == SQLITE_DONE ? s : epiqp_db_trouble(&other, "read");
    sqlite3_finalize(q);
    epiqp_db_close(&other);
    return s;
}

/* All of one kind, in the order of their checksums. */
static int take_all(gathering *t, int kind, const double **h, ptrdiff_t *count)
{
    sqlite3_stmt *q = NULL;
    int s = epiqp_db_prepare(&t->file,
                             "SELECT count(*), page_count * page_size FROM networks, pragma_page_count, "
                             "pragma_page_size WHERE kind = ?1",
                             &q);
    const ptrdiff_t points = t->w->count, row = points * (ptrdiff_t)sizeof(double);
    if (!s) {
        sqlite3_bind_int(q, 1, kind);
        s = sqlite3_step(q) == SQLITE_ROW ? EPIQ_OK : epiqp_db_trouble(&t->file, "read");
        *count = sqlite3_column_int64(q, 0);
        if (!s && *count > sqlite3_column_int64(q, 1) / row) { /* no room is made for what the file cannot hold */
            s = epiqp_db_not_ours(&t->file);
        }
    }
    sqlite3_finalize(q);
    q = NULL;
    ptrdiff_t k = 0;
    double *all = s ? NULL : epiqp_arena_alloc(t->j->e.c, &t->j->scratch, *count * points, sizeof *all);
    if (!all) {
        return s ? s : EPIQ_E_NOMEM;
    }
    s = epiqp_db_prepare(&t->file, "SELECT at FROM networks WHERE kind = ?1 ORDER BY sum, copy", &q);
    if (!s) {
        sqlite3_bind_int(q, 1, kind);
    }
    for (; !s && k < *count && sqlite3_step(q) == SQLITE_ROW; k++) {
        const void *at = kept_row(t, q, 0);
        s = at ? EPIQ_OK : epiqp_db_not_ours(&t->file);
        if (at) {
            memcpy(all + k * points, at, (size_t)row);
        }
    }
    s = s || k == *count ? s : epiqp_db_trouble(&t->file, "read");
    sqlite3_finalize(q);
    *h = *count ? all : NULL;
    return s;
}

/* ---- the whole ---- */

static int gather(gathering *t, const epiq_given *g, const char *path)
{
    int s = epiqp_db_write(t->j->e.c, path, EPIQP_DB_NETWORKS, &t->file);
    s = s ? s : read_points(t, &t->file);
    s = s ? s : epiqp_db_prepare(&t->file, "INSERT OR IGNORE INTO networks VALUES (?1, ?2, ?3, ?4)", &t->add);
    s = s || !g->ensemble ? s : add_matrix(t, MEMBER, g->ensemble);
    s = s || !g->batched ? s : add_matrix(t, BATCH, g->batched);
    for (ptrdiff_t k = 0; !s && k < g->merge_count; k++) {
        s = add_file(t, g->merge[k]);
    }
    return s || !t->given ? s : write_points(t);
}

static void finish(gathering *t)
{
    sqlite3_finalize(t->add);
    epiqp_db_close(&t->file);
}

int epiqp_gather(epiqp_job *j, const epiq_given *g, epiqp_whereabouts *w)
{
    gathering t = {.j = j, .w = w};
    bool there_yet =
        j->o.state && (!access(j->o.state, F_OK) || errno != ENOENT); /* else made when all has gone well */
    int s = gather(&t, g, there_yet ? j->o.state : NULL);
    s = s || !w->count ? s : take_all(&t, MEMBER, &j->member_h, &j->o.members);
    s = s || !w->count ? s : take_all(&t, BATCH, &j->batch_h, &j->o.batches);
    finish(&t); /* nothing is added yet: that comes when all has gone well */
    ptrdiff_t there = t.given - t.added;
    return s || !there ? s
                       : epiqp_warn(j->e.c, j->warnings, "already_there",
                                    "%td of %td networks given were there already, and count once", there, t.given);
}

int epiqp_gather_keep(epiqp_job *j, const epiq_given *g, epiqp_whereabouts *w)
{
    gathering t = {.j = j, .w = w};
    sqlite3_stmt *q = NULL;
    int s = gather(&t, g, j->o.state);
    s = s ? s : epiqp_db_prepare(&t.file, "SELECT count(*) FROM networks", &q);
    if (!s) {
        s = sqlite3_step(q) == SQLITE_ROW ? EPIQ_OK : epiqp_db_trouble(&t.file, "read");
        j->answer->result.given.kept = sqlite3_column_int64(q, 0);
        j->answer->result.given.added = t.added;
    }
    sqlite3_finalize(q);
    s = s ? s : epiqp_db_run(&t.file, "COMMIT", "written");
    finish(&t);
    return s;
}
