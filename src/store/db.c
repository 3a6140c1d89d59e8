/* db.c - opening a state file that other runs may have open, and the message when that fails (db.h). */
#include "store/db.h"
#include "base/text.h"
#include "common/sqlite_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    APPLICATION = 0x65706971, /* "epiq", in the file's header */
    PATIENCE_MS = 20000,      /* to wait for another run that holds the file */
    MOST_TABLES = 2
};

static const struct {
    const char *keeps, *table[MOST_TABLES];
} KIND[] = {
    [EPIQP_DB_MEMBERS] = {"the members of an estimate",
                          {"members (key TEXT, kind INTEGER, number INTEGER, of INTEGER, converged INTEGER, loss REAL, "
                           "gradient_rel REAL, iterations INTEGER, points BLOB, rows BLOB, "
                           "PRIMARY KEY (key, kind, number, of)) WITHOUT ROWID"}},
    /* predictions by their checksum, and an ordinal among identical ones; what is known of the points, in one row */
    [EPIQP_DB_NETWORKS] = {"networks to combine",
                           {"networks (kind INTEGER, sum TEXT, copy INTEGER, at BLOB, PRIMARY KEY (kind, sum, copy)) "
                            "WITHOUT ROWID",
                            "points (id INTEGER PRIMARY KEY CHECK (id = 0), count INTEGER, names BLOB, sum TEXT)"}},
};

int epiqp_db_not_ours(const epiqp_db *d)
{
    if (epiqp_sqlite_no_memory(d->db)) return epiqp_db_trouble(d, "read");
    return epiqp_fail(d->c, EPIQ_E_FILE, "%s is not a state file of epiq; name another file", d->path);
}

int epiqp_db_trouble(const epiqp_db *d, const char *what)
{
    if (epiqp_sqlite_no_memory(d->db)) {
        return epiqp_fail(d->c, EPIQ_E_NOMEM, "no memory while %s was %s; end other programs, or give less at a time",
                          d->path ? d->path : "the list of networks", what);
    }
    int rc = sqlite3_errcode(d->db) & 0xff;
    if (rc == SQLITE_NOTADB) return epiqp_db_not_ours(d);
    bool folder = rc == SQLITE_READONLY || rc == SQLITE_CANTOPEN;
    const char *why = sqlite3_errmsg(d->db);
    char shown[160]; /* the reason may quote the file, which may hold any text */
    epiqp_text_show(shown, sizeof shown, why, (ptrdiff_t)strlen(why));
    return epiqp_fail(d->c, EPIQ_E_FILE, "%s: the state file could not be %s (%s); %s", d->path ? d->path : "memory",
                      what, shown,
                      folder ? "its folder must be there and writable, for it is locked there while it is used"
                             : "check the disk, or name another file");
}

int epiqp_db_run(epiqp_db *d, const char *sql, const char *what)
{
    return sqlite3_exec(d->db, sql, NULL, NULL, NULL) == SQLITE_OK ? EPIQ_OK : epiqp_db_trouble(d, what);
}

int epiqp_db_prepare(epiqp_db *d, const char *sql, sqlite3_stmt **out)
{
    return sqlite3_prepare_v2(d->db, sql, -1, out, NULL) == SQLITE_OK ? EPIQ_OK : epiqp_db_trouble(d, "prepared");
}

const char *epiqp_db_numbers(sqlite3_stmt *q, int column, ptrdiff_t count, double most)
{
    const char *bytes = sqlite3_column_blob(q, column); /* NULL: it is empty, or there is no memory */
    bool good = (bytes || !count) && (size_t)sqlite3_column_bytes(q, column) == (size_t)count * sizeof(double);
    for (ptrdiff_t k = 0; good && k < count; k++) {
        double v;
        memcpy(&v, bytes + (size_t)k * sizeof v, sizeof v);
        good = fabs(v) <= most;
    }
    return !good ? NULL : bytes ? bytes : "";
}

/* Whether this is a state file of this kind. An empty file may become one. A file that holds anything else is
 * refused, even if it is only a view or a trigger, which would run when our tables are used. */
static int check_kind(epiqp_db *d, epiqp_db_kind kind, bool empty_allowed)
{
    const epiqp_db_kind other = kind == EPIQP_DB_MEMBERS ? EPIQP_DB_NETWORKS : EPIQP_DB_MEMBERS;
    const epiqp_db_kind kinds[] = {kind, other};
    sqlite3_stmt *id = NULL, *q = NULL;
    int status;
    if ((status = epiqp_db_prepare(d, "PRAGMA application_id", &id)) ||
        (status = epiqp_db_prepare(d,
                                   "SELECT count(*), "
                                   "total(ifnull(sql IN ('CREATE TABLE ' || ?1, 'CREATE TABLE ' || ?2), 0)), "
                                   "total(ifnull(sql IN ('CREATE TABLE ' || ?3, 'CREATE TABLE ' || ?4), 0)) "
                                   "FROM sqlite_master",
                                   &q))) {
        goto end;
    }
    for (int k = 0; k < 2 * MOST_TABLES; k++) { /* the second table of a kind may be NULL, which equals nothing */
        sqlite3_bind_text(q, k + 1, KIND[kinds[k / MOST_TABLES]].table[k % MOST_TABLES], -1, SQLITE_STATIC);
    }
    if (sqlite3_step(id) != SQLITE_ROW || sqlite3_step(q) != SQLITE_ROW) {
        status = epiqp_db_trouble(d, "read");
        goto end;
    }
    const int all = sqlite3_column_int(q, 0), own = sqlite3_column_int(q, 1), theirs = sqlite3_column_int(q, 2);
    const bool ours = sqlite3_column_int(id, 0) == APPLICATION;
    if (all && ours && theirs == all) {
        status = epiqp_fail(d->c, EPIQ_E_FILE, "%s keeps %s, not %s; name another file", d->path, KIND[other].keeps,
                            KIND[kind].keeps);
    } else if (all ? !ours || own != all : !empty_allowed) {
        status = epiqp_db_not_ours(d);
    }
end:
    sqlite3_finalize(id);
    sqlite3_finalize(q);
    return status;
}

/* A damaged page may still be readable, and rows written into such a tree may never be found again. */
static int check_whole(epiqp_db *d)
{
    sqlite3_stmt *q = NULL;
    int status = epiqp_db_prepare(d, "PRAGMA integrity_check(1)", &q);
    if (status) return status;
    const char *found = sqlite3_step(q) == SQLITE_ROW ? (const char *)sqlite3_column_text(q, 0) : NULL;
    if (!found) {
        status = epiqp_db_trouble(d, "read");
    } else if (strcmp(found, "ok") != 0) {
        status = epiqp_fail(d->c, EPIQ_E_FILE, "%s is damaged; name another file, or a copy of it", d->path);
    }
    sqlite3_finalize(q);
    return status;
}

/* Begins a transaction in which the file is found to be of this kind and whole. A path of NULL is no file at all. */
static int open_checked(epiq_ctx *c, const char *path, epiqp_db_kind kind, int flags, epiqp_db *d)
{
    *d = (epiqp_db){.c = c, .path = path};
    if (path && (!*path || strlen(path) > 4000)) {
        return epiqp_fail(c, EPIQ_E_FILE, "\"%.40s\" cannot be the name of a state file; name another", path);
    }
    if (epiqp_sqlite_open(path, flags, PATIENCE_MS, &d->db) != SQLITE_OK) return epiqp_db_trouble(d, "opened");
    int status = epiqp_db_run(d, "BEGIN", "read");
    if (status || (status = check_kind(d, kind, flags & SQLITE_OPEN_CREATE))) return status;
    return check_whole(d);
}

int epiqp_db_write(epiq_ctx *c, const char *path, epiqp_db_kind kind, epiqp_db *d)
{
    /* The file is checked before a byte of it is changed, in a transaction because another run may be setting it up. */
    int status = open_checked(c, path, kind, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, d);
    if (status || (status = epiqp_db_run(d, "COMMIT", "read"))) return status;
    if (epiqp_sqlite_use_wal(d->db, PATIENCE_MS) != SQLITE_OK) return epiqp_db_trouble(d, "read");
    /* Two runs may start at once, so the kind is checked again under the lock that setting up needs. */
    if ((status = epiqp_db_run(d, "PRAGMA synchronous = FULL; BEGIN IMMEDIATE", "read")) ||
        (status = check_kind(d, kind, true))) {
        return status;
    }
    char sql[512];
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d", (int)APPLICATION);
    status = epiqp_db_run(d, sql, "prepared");
    for (int k = 0; !status && k < MOST_TABLES && KIND[kind].table[k]; k++) {
        snprintf(sql, sizeof sql, "CREATE TABLE IF NOT EXISTS %s", KIND[kind].table[k]);
        status = epiqp_db_run(d, sql, "prepared");
    }
    return status;
}

int epiqp_db_read(epiq_ctx *c, const char *path, epiqp_db_kind kind, epiqp_db *d)
{
    *d = (epiqp_db){.c = c, .path = path};
    if (!access(path, F_OK)) return open_checked(c, path, kind, SQLITE_OPEN_READWRITE, d);
    return epiqp_fail(c, EPIQ_E_FILE, "%.4000s: %s; name a file that {--append} has made", path, strerror(errno));
}

void epiqp_db_close(epiqp_db *d)
{
    sqlite3_close(d->db);
    d->db = NULL;
}
