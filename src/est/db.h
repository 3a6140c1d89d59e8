/* db.h - a state file: SQLite, one kind of table a file, that several runs may read and write at once. */
#ifndef EPIQP_DB_H
#define EPIQP_DB_H

#include "base/base.h"

#include <sqlite3.h>

typedef enum { EPIQP_DB_MEMBERS, EPIQP_DB_NETWORKS } epiqp_db_kind; /* of an estimate; of epiq_combine */

typedef struct {
    epiq_ctx *c;
    sqlite3 *db;
    const char *path;
} epiqp_db;

/* Whatever they return, close d. A file that is no state file, or keeps the other kind, is refused. */
int epiqp_db_write(epiq_ctx *c, const char *path, epiqp_db_kind kind,
                   epiqp_db *d); /* NULL: in memory; made if need be; begins a
                                                                                     * transaction, nobody else writes */
int epiqp_db_read(epiq_ctx *c, const char *path, epiqp_db_kind kind, epiqp_db *d); /* there it must be; begins one */
void epiqp_db_close(epiqp_db *d); /* what was not committed is undone */

int epiqp_db_run(epiqp_db *d, const char *sql, const char *what);
int epiqp_db_prepare(epiqp_db *d, const char *sql, sqlite3_stmt **out);
int epiqp_db_trouble(const epiqp_db *d, const char *what); /* the last failure as a sentence: "read", "written" */
int epiqp_db_not_ours(const epiqp_db *d);

#endif
