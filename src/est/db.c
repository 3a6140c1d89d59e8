/* db.c - opening a state file, whoever else has it open, and what can be said when that fails (db.h). */
#include "est/db.h"
#include "data/table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    APPLICATION = 0x65706971, /* "epiq", in the file's header */
    PATIENCE_MS = 20000       /* for another run that holds the file */
};

enum { MOST_TABLES = 2 };

static const struct {
    const char *keeps, *table[MOST_TABLES];
} KIND[] = {
    [EPIQP_DB_MEMBERS] = {"the members of an estimate",
                          {"members (key TEXT, kind INTEGER, number INTEGER, of INTEGER, converged INTEGER, loss REAL, "
                           "gradient_rel REAL, iterations INTEGER, points BLOB, rows BLOB, "
                           "PRIMARY KEY (key, kind, number, of)) WITHOUT ROWID"}},
    /* predictions by their checksum, and the how-manieth of equal ones; what is known of the points, one row */
    [EPIQP_DB_NETWORKS] = {"networks to combine",
                           {"networks (kind INTEGER, sum TEXT, copy INTEGER, at BLOB, PRIMARY KEY (kind, sum, copy)) "
                            "WITHOUT ROWID",
                            "points (id INTEGER PRIMARY KEY CHECK (id = 0), count INTEGER, names BLOB, sum TEXT)"}},
};

/* Someone else may have made the file: nothing that is written in it as a program is run. */
static void distrust(sqlite3 *db)
{
    static const int OFF[] = {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER,
                              SQLITE_DBCONFIG_ENABLE_VIEW};
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    for (size_t k = 0; k < sizeof OFF / sizeof *OFF; k++) {
        sqlite3_db_config(db, OFF[k], 0, (int *)NULL);
    }
}

/* SQLite reads more into some names (":memory:", "file:...") than a file's: one that begins with ./ or / is a file. NULL: no
 * file at all. */
static int open_file(epiqp_db *d, int flags)
{
    char name[4096] = ":memory:";
    int length = d->path ? snprintf(name, sizeof name, "%s%s", *d->path == '/' ? "" : "./", d->path) : 0;
    if (d->path && (!*d->path || length >= (int)sizeof name)) {
        return epiqp_fail(d->c, EPIQ_E_FILE, "\"%.40s\" cannot be the name of a state file; name another", d->path);
    }
    if (sqlite3_open_v2(name, &d->db, flags, NULL) != SQLITE_OK) { /* db is NULL if there was no memory */
        return epiqp_db_trouble(d, "opened");
    }
    distrust(d->db);
    sqlite3_busy_timeout(d->db, PATIENCE_MS); /* another run may be writing */
    return EPIQ_OK;
}

/* What reads as nothing may only have found no memory. */
static bool no_memory(const epiqp_db *d)
{
    return !d->db || sqlite3_errcode(d->db) == SQLITE_NOMEM || sqlite3_extended_errcode(d->db) == SQLITE_IOERR_NOMEM;
}

int epiqp_db_not_ours(const epiqp_db *d)
{
    if (no_memory(d)) {
        return epiqp_db_trouble(d, "read");
    }
    return epiqp_fail(d->c, EPIQ_E_FILE, "%s is not a state file of epiq; name another file", d->path);
}

int epiqp_db_trouble(const epiqp_db *d, const char *what)
{
    if (no_memory(d)) {
        return epiqp_fail(d->c, EPIQ_E_NOMEM, "no memory while %s was %s; end other programs, or give less at a time",
                          d->path ? d->path : "the list of networks", what);
    }
    int rc = sqlite3_errcode(d->db) & 0xff;
    if (rc == SQLITE_NOTADB) {
        return epiqp_db_not_ours(d);
    }
    bool folder = rc == SQLITE_READONLY || rc == SQLITE_CANTOPEN;
    const char *why = sqlite3_errmsg(d->db);
    char shown[160]; /* it quotes the file, where there may be anything */
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

/* Is it a state file, and of this kind? An empty file will be one. One that holds anything else, be it a view or a trigger
 * that would run when ours are used, is none. */
static int check_kind(epiqp_db *d, epiqp_db_kind kind, bool empty_allowed)
{
    const epiqp_db_kind other = kind == EPIQP_DB_MEMBERS ? EPIQP_DB_NETWORKS : EPIQP_DB_MEMBERS;
    const epiqp_db_kind kinds[] = {kind, other};
    sqlite3_stmt *id = NULL, *q = NULL;
    int s = epiqp_db_prepare(d, "PRAGMA application_id", &id);
    s = s ? s
          : epiqp_db_prepare(d,
                             "SELECT count(*), "
                             "total(ifnull(sql IN ('CREATE TABLE ' || ?1, 'CREATE TABLE ' || ?2), 0)), "
                             "total(ifnull(sql IN ('CREATE TABLE ' || ?3, 'CREATE TABLE ' || ?4), 0)) "
                             "FROM sqlite_master",
                             &q);
    for (int k = 0; !s && k < 2 * MOST_TABLES; k++) { /* NULL where a kind has one table, which nothing equals */
        sqlite3_bind_text(q, k + 1, KIND[kinds[k / MOST_TABLES]].table[k % MOST_TABLES], -1, SQLITE_STATIC);
    }
    if (!s && (sqlite3_step(id) != SQLITE_ROW || sqlite3_step(q) != SQLITE_ROW)) {
        s = epiqp_db_trouble(d, "read");
    }
    if (!s) {
        const int all = sqlite3_column_int(q, 0), own = sqlite3_column_int(q, 1), theirs = sqlite3_column_int(q, 2);
        const bool ours = sqlite3_column_int(id, 0) == APPLICATION;
        if (all && ours && theirs == all) {
            s = epiqp_fail(d->c, EPIQ_E_FILE, "%s keeps %s, not %s; name another file", d->path, KIND[other].keeps,
                           KIND[kind].keeps);
        } else if (all ? !ours || own != all : !empty_allowed) {
            s = epiqp_db_not_ours(d);
        }
    }
    sqlite3_finalize(id);
    sqlite3_finalize(q);
    return s;
}

/* A page that was torn or overwritten may still be read, and what is written into such a tree may never be found again. */
static int check_whole(epiqp_db *d)
{
    sqlite3_stmt *q = NULL;
    int s = epiqp_db_prepare(d, "PRAGMA integrity_check(1)", &q);
    if (!s) {
        s = sqlite3_step(q) == SQLITE_ROW ? EPIQ_OK : epiqp_db_trouble(d, "read");
        const char *found = (const char *)sqlite3_column_text(q, 0);
        if (!s && (!found || strcmp(found, "ok") != 0)) {
            s = no_memory(d)
                    ? epiqp_db_trouble(d, "read")
                    : epiqp_fail(d->c, EPIQ_E_FILE, "%s is damaged; name another file, or a copy of it", d->path);
        }
    }
    sqlite3_finalize(q);
    return s;
}

/* In a transaction that is open. */
static int set_up(epiqp_db *d, epiqp_db_kind kind)
{
    char sql[512];
    snprintf(sql, sizeof sql, "PRAGMA application_id = %d", (int)APPLICATION);
    int s = epiqp_db_run(d, sql, "prepared");
    for (int k = 0; !s && k < MOST_TABLES && KIND[kind].table[k]; k++) {
        snprintf(sql, sizeof sql, "CREATE TABLE IF NOT EXISTS %s", KIND[kind].table[k]);
        s = epiqp_db_run(d, sql, "prepared");
    }
    return s;
}

int epiqp_db_write(epiq_ctx *c, const char *path, epiqp_db_kind kind, epiqp_db *d)
{
    *d = (epiqp_db){.c = c, .path = path};
    int s = open_file(d, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    s = s ? s : epiqp_db_run(d, "BEGIN", "read"); /* another run may set it up meanwhile */
    if (s || (s = check_kind(d, kind, true)) || (s = check_whole(d)) || (s = epiqp_db_run(d, "COMMIT", "read"))) {
        return s; /* before a byte of it is changed */
    }
    int rc, waited = 0;
    while ((rc = sqlite3_exec(d->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL)) == SQLITE_BUSY &&
           waited < PATIENCE_MS) {
        waited += sqlite3_sleep(50); /* this one statement does not wait by itself */
    }
    s = rc == SQLITE_OK ? EPIQ_OK : epiqp_db_trouble(d, "read");
    s = s ? s : epiqp_db_run(d, "PRAGMA synchronous = FULL; BEGIN IMMEDIATE", "read");
    s = s ? s : check_kind(d, kind, true); /* under one lock with what follows: two runs may start at once */
    return s ? s : set_up(d, kind);
}

int epiqp_db_read(epiq_ctx *c, const char *path, epiqp_db_kind kind, epiqp_db *d)
{
    *d = (epiqp_db){.c = c, .path = path};
    if (access(path, F_OK)) {
        return epiqp_fail(c, EPIQ_E_FILE, "%.4000s: %s; name a file that --append has made", path, strerror(errno));
    }
    int s = open_file(d, SQLITE_OPEN_READWRITE);
    s = s ? s : epiqp_db_run(d, "BEGIN", "read");
    s = s ? s : check_kind(d, kind, false);
    return s ? s : check_whole(d);
}

void epiqp_db_close(epiqp_db *d)
{
    sqlite3_close(d->db);
    d->db = NULL;
}
