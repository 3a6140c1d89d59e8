/* store.c - the resume file: finished repetitions in an SQLite database, so that a study killed at any moment can
 * be continued. A damaged file is moved aside and never overwritten, because its contents may still be needed.
 */
#include "common/sqlite_file.h"
#include "study/lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { APPLICATION = 0x65705364, PATIENCE_MS = 10000, TEXT = 256 }; /* "epSd" */

#define SAMPLES "samples (key TEXT, rep INTEGER, sum INTEGER, sample BLOB, PRIMARY KEY (key, rep)) WITHOUT ROWID"

static const char *const COMPANIONS[] = {"", "-wal", "-shm"}; /* suffixes of the files that SQLite keeps */

/* FNV-1a, to detect a sample whose bytes have changed on disk. */
static sqlite3_int64 checksum(const void *bytes, size_t count)
{
    const unsigned char *b = bytes;
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++) {
        sum = (sum ^ b[i]) * 0x100000001b3u;
    }
    return (sqlite3_int64)sum;
}

void lab_store_close(lab_store *s)
{
    sqlite3_finalize(s->load);
    sqlite3_finalize(s->save);
    sqlite3_close(s->db);
    s->load = s->save = NULL;
    s->db = NULL;
}

/* Renames the file and its companions to an unused name. */
static int move_aside(lab_store *s, const char *why)
{
    const char *path = s->path;
    char aside[4096], from[4096 + 8], to[4096 + 8];
    int number = 0, length;
    lab_store_close(s);
    do {
        length = snprintf(aside, sizeof aside, number ? "%s.damaged-%d" : "%s.damaged", path, number);
        number++;
    } while (length < (int)sizeof aside && access(aside, F_OK) == 0);
    for (size_t k = 0; k < sizeof COMPANIONS / sizeof *COMPANIONS; k++) {
        snprintf(from, sizeof from, "%s%s", path, COMPANIONS[k]);
        snprintf(to, sizeof to, "%s%s", aside, COMPANIONS[k]);
        if (rename(from, to) != 0 && k == 0) {
            return lab_fail(s->crew, EPIQ_E_FILE,
                            "the resume file %s is damaged (%s) and could not be moved away; remove it", path, why);
        }
    }
    return lab_fail(
        s->crew, EPIQ_E_FILE,
        "the resume file %s is damaged (%s); it was moved to %s, and the same command starts the study anew", path, why,
        aside);
}

static int trouble(lab_store *s, const char *what)
{
    if (epiqp_sqlite_no_memory(s->db)) {
        return lab_fail(s->crew, EPIQ_E_NOMEM, "no memory while %s was %s; end other programs", s->path, what);
    }
    int code = sqlite3_errcode(s->db) & 0xff;
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) return move_aside(s, sqlite3_errstr(code));
    const char *remedy = code == SQLITE_BUSY || code == SQLITE_LOCKED
                             ? "another run uses it; wait for that, or use --state FILE"
                         : code == SQLITE_CANTOPEN ? "name one in a folder that can be written, with --state"
                                                   : "free the disk, or use --state FILE";
    return lab_fail(s->crew, EPIQ_E_FILE, "%s: the resume file could not be %s (%s); %s", s->path, what,
                    sqlite3_errmsg(s->db), remedy);
}

static int text_of(lab_store *s, const char *sql, char text[static TEXT])
{
    sqlite3_stmt *q;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &q, NULL);
    if (rc == SQLITE_OK && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        const unsigned char *value = sqlite3_column_text(q, 0);
        rc = value ? rc : SQLITE_NOMEM; /* no query here returns NULL */
        snprintf(text, TEXT, "%s", value ? (const char *)value : "");
    }
    sqlite3_finalize(q);
    return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

/* Checks the file in one transaction, because another run may be setting it up. A file with anything besides our
 * table, even a view or a trigger, is refused. */
static int look(lab_store *s)
{
    char id[TEXT] = "", tables[TEXT] = "", own[TEXT] = "", verdict[TEXT] = "";
    if (sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL) || text_of(s, "PRAGMA application_id", id) ||
        text_of(s, "SELECT count(*) FROM sqlite_master", tables) ||
        text_of(s, "SELECT count(*) FROM sqlite_master WHERE sql = 'CREATE TABLE " SAMPLES "'", own) ||
        text_of(s, "PRAGMA integrity_check(1)", verdict) || sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL)) {
        return trouble(s, "read");
    }
    s->fresh = strcmp(tables, "0") == 0;
    if (!s->fresh && (strtol(id, NULL, 10) != APPLICATION || strcmp(own, tables) != 0)) {
        return lab_fail(s->crew, EPIQ_E_FILE, "%s is a database of something else; name another file with --state",
                        s->path);
    }
    return strcmp(verdict, "ok") == 0 ? EPIQ_OK : move_aside(s, "its pages do not fit together");
}

/* The file is written after every repetition. With NORMAL a crash of this process loses nothing, a crash of the
 * machine loses the last few repetitions, and the file stays intact. */
static int set_up(lab_store *s)
{
    char setup[512];
    snprintf(setup, sizeof setup,
             "BEGIN IMMEDIATE; PRAGMA application_id = %d;CREATE TABLE IF NOT EXISTS " SAMPLES "; COMMIT",
             (int)APPLICATION);
    if (epiqp_sqlite_use_wal(s->db, PATIENCE_MS) ||
        sqlite3_exec(s->db, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL) ||
        (s->fresh && sqlite3_exec(s->db, setup, NULL, NULL, NULL)) || /* an existing file is left as it is */
        sqlite3_prepare_v2(s->db, "SELECT sum, sample FROM samples WHERE key = ?1 AND rep = ?2", -1, &s->load, NULL) !=
            SQLITE_OK ||
        sqlite3_prepare_v2(s->db, "INSERT OR IGNORE INTO samples VALUES (?1, ?2, ?3, ?4)", -1, &s->save, NULL) !=
            SQLITE_OK) {
        return trouble(s, "prepared");
    }
    return EPIQ_OK;
}

static int prepare(lab_store *s)
{
    struct stat there;
    int removed, status;
    if (stat(s->path, &there) == 0 && !S_ISREG(there.st_mode)) {
        return lab_fail(s->crew, EPIQ_E_FILE, "%s is not a regular file; name another resume file with --state",
                        s->path);
    }
    do {
        lab_store_close(s);
        if (epiqp_sqlite_open(s->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, PATIENCE_MS, &s->db) != SQLITE_OK) {
            return trouble(s, "opened");
        }
        removed = 0;
        if ((status = look(s)) || (status = set_up(s))) return status;
        /* Another run may have finished and removed the file meanwhile. From now on it sees that the file is in use. */
        sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &removed);
    } while (removed);
    return EPIQ_OK;
}

int lab_store_open(lab_store *s, study_job *job)
{
    *s = (lab_store){.path = job->state, .crew = &job->crew};
    int status = prepare(s);
    if (status) {
        lab_store_close(s);
        s->path = NULL;
    }
    return status;
}

static void unlink_all(const char *state, const char *kind)
{
    for (size_t k = 0; k < sizeof COMPANIONS / sizeof *COMPANIONS; k++) {
        char path[4096];
        snprintf(path, sizeof path, "%s%s%s", state, kind, COMPANIONS[k]);
        unlink(path);
    }
}

/* Removes the file if no other run has it open and it holds at most so many samples. Only a single user can leave WAL
 * mode, and none can open the file from then on until it is closed. */
static bool remove_file(lab_store *s, ptrdiff_t most)
{
    char mode[TEXT] = "", count[TEXT] = "";
    sqlite3_finalize(s->load);
    sqlite3_finalize(s->save);
    s->load = s->save = NULL;
    bool done = text_of(s, "PRAGMA journal_mode = DELETE", mode) == SQLITE_OK && strcmp(mode, "delete") == 0 &&
                sqlite3_exec(s->db, "BEGIN EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK &&
                text_of(s, "SELECT count(*) FROM samples", count) == SQLITE_OK && strtoll(count, NULL, 10) <= most;
    if (done) unlink_all(s->path, "");
    return done;
}

bool lab_store_drop_if_unused(lab_store *s)
{
    char members[4096];
    snprintf(members, sizeof members, "%s" LAB_MEMBERS, s->path);
    bool unused = s->db && s->fresh && access(members, F_OK) != 0 && remove_file(s, 0);
    lab_store_close(s);
    return unused;
}

void study_forget(const char *state, ptrdiff_t repetitions)
{
    lab_store s = {.path = state};
    if (epiqp_sqlite_open(state, SQLITE_OPEN_READWRITE, 0, &s.db) == SQLITE_OK && remove_file(&s, repetitions)) {
        unlink_all(state, LAB_MEMBERS);
    }
    lab_store_close(&s);
}

int lab_store_load(lab_store *s, const char *key, ptrdiff_t rep, ptrdiff_t length, double *sample, bool *there)
{
    size_t bytes = (size_t)length * sizeof *sample;
    sqlite3_bind_text(s->load, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s->load, 2, rep);
    int rc = sqlite3_step(s->load);
    *there = rc == SQLITE_ROW;
    if (*there) {
        const void *blob = sqlite3_column_blob(s->load, 1);
        if (!blob && epiqp_sqlite_no_memory(s->db)) return trouble(s, "read");
        if (!blob || (size_t)sqlite3_column_bytes(s->load, 1) != bytes ||
            sqlite3_column_int64(s->load, 0) != checksum(blob, bytes)) {
            return move_aside(s, "a sample is not what was written");
        }
        memcpy(sample, blob, bytes);
    } else if (rc != SQLITE_DONE) {
        return trouble(s, "read");
    }
    sqlite3_reset(s->load);
    return EPIQ_OK;
}

int lab_store_save(lab_store *s, const char *key, ptrdiff_t rep, ptrdiff_t length, const double *sample)
{
    size_t bytes = (size_t)length * sizeof *sample;
    sqlite3_bind_text(s->save, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s->save, 2, rep);
    sqlite3_bind_int64(s->save, 3, checksum(sample, bytes));
    sqlite3_bind_blob(s->save, 4, sample, (int)bytes, SQLITE_STATIC);
    int rc = sqlite3_step(s->save);
    sqlite3_reset(s->save);
    return rc == SQLITE_DONE ? EPIQ_OK : trouble(s, "written");
}
