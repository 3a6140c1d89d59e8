/* db.h - a state file: an SQLite file with one kind of table, which several runs may read and write at once. */
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

/* Close d whatever these return. A file that is not a state file, or of the other kind, is refused. */
/* Creates the file if need be and begins a transaction in which no other run can write. A path of NULL: in memory. */
int epiqp_db_write(epiq_ctx *c, const char *path, epiqp_db_kind kind, epiqp_db *d);
/* Begins a transaction; the file must exist. */
int epiqp_db_read(epiq_ctx *c, const char *path, epiqp_db_kind kind, epiqp_db *d);
void epiqp_db_close(epiqp_db *d); /* rolls back what was not committed */

int epiqp_db_run(epiqp_db *d, const char *sql, const char *what);
int epiqp_db_prepare(epiqp_db *d, const char *sql, sqlite3_stmt **out);
/* The bytes of a blob of `count` doubles, not aligned; NULL: it has another size, or a number beyond `most` or NaN. */
const char *epiqp_db_numbers(sqlite3_stmt *q, int column, ptrdiff_t count, double most);
int epiqp_db_trouble(const epiqp_db *d, const char *what); /* fails with a message; what: "read", "written" */
int epiqp_db_not_ours(const epiqp_db *d);

#endif
