/* sqlite_file.h - opening an SQLite file that is not trusted. */
#ifndef EPIQP_SQLITE_FILE_H
#define EPIQP_SQLITE_FILE_H

#include <sqlite3.h>
#include <stdbool.h>

/* The path is always taken as a file's name, even ":memory:" or "file:...". Nothing stored in the file is run: no
 * trigger, no view, no function in its schema. Statements wait patience_ms for other processes. Returns SQLite's
 * code; *db is NULL only if there was no memory. A path of NULL opens a database in memory. */
int epiqp_sqlite_open(const char *path, int flags, int patience_ms, sqlite3 **db);

/* Turns on the write-ahead log, which several processes may use at once; waits patience_ms for them. */
int epiqp_sqlite_use_wal(sqlite3 *db, int patience_ms);

bool epiqp_sqlite_no_memory(
    sqlite3 *db); /* the last call failed for lack of memory; a missing value may mean this too */

#endif
