/* sqlite_file.c - see sqlite_file.h. */
#include "common/sqlite_file.h"

#include <stdio.h>

int epiqp_sqlite_open(const char *path, int flags, int patience_ms, sqlite3 **db)
{
    static const int OFF[] = {SQLITE_DBCONFIG_TRUSTED_SCHEMA, SQLITE_DBCONFIG_ENABLE_TRIGGER,
                              SQLITE_DBCONFIG_ENABLE_VIEW};
    char name[4096] = ":memory:";
    if (path) { /* SQLite gives a name that begins with ./ or / no other meaning; it refuses one as long as this */
        snprintf(name, sizeof name, "%s%s", *path == '/' ? "" : "./", path);
    }
    int rc = sqlite3_open_v2(name, db, flags, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_db_config(*db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
        for (size_t k = 0; k < sizeof OFF / sizeof *OFF; k++) {
            sqlite3_db_config(*db, OFF[k], 0, (int *)NULL);
        }
        sqlite3_busy_timeout(*db, patience_ms);
    }
    return rc;
}

int epiqp_sqlite_use_wal(sqlite3 *db, int patience_ms)
{
    int rc, waited = 0;
    while ((rc = sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL)) == SQLITE_BUSY &&
           waited < patience_ms) {
        waited += sqlite3_sleep(50); /* the busy timeout does not apply to this statement */
    }
    return rc;
}

bool epiqp_sqlite_no_memory(sqlite3 *db)
{
    return !db || sqlite3_errcode(db) == SQLITE_NOMEM || sqlite3_extended_errcode(db) == SQLITE_IOERR_NOMEM;
}
