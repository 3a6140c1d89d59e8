/* store.c - the resume file: finished repetitions in an SQLite database, so that a study killed at any moment goes on.
 * A file that is damaged is moved aside, never overwritten: what it holds may still matter to someone.
 */
#include "study/lab.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { APPLICATION = 0x65705364, PATIENCE_MS = 10000 }; /* "epSd" */

struct lab_store {
    sqlite3 *db;
    sqlite3_stmt *load, *save;
    const char *path;
    bool fresh; /* made by this run */
};

#define SAMPLES "samples (key TEXT, rep INTEGER, sum INTEGER, sample BLOB, PRIMARY KEY (key, rep)) WITHOUT ROWID"

static const char *const COMPANIONS[] = {"", "-wal", "-shm"}; /* files SQLite keeps beside the first */

/* FNV-1a, to notice a sample whose bytes have changed on disk. */
static sqlite3_int64 checksum(const void *bytes, size_t count)
{
    const unsigned char *b = bytes;
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++) {
        sum = (sum ^ b[i]) * 0x100000001b3u;
    }
    return (sqlite3_int64)sum;
}

static void close_all(lab_store *s)
{
    sqlite3_finalize(s->load);
    sqlite3_finalize(s->save);
    sqlite3_close(s->db);
    s->load = s->save = NULL;
    s->db = NULL;
}

/* Under a name that is free, together with its companions. */
static int move_aside(lab_store *s, study_job *job, const char *why)
{
    char path[4096], from[4096 + 8], to[4096 + 8];
    int number = 0, length;
    snprintf(path, sizeof path, "%s", s->path); /* s may go */
    close_all(s);
    char aside[4096];
    do {
        length = snprintf(aside, sizeof aside, number ? "%s.damaged-%d" : "%s.damaged", path, number);
        number++;
    } while (length < (int)sizeof aside && access(aside, F_OK) == 0);
    for (size_t k = 0; k < sizeof COMPANIONS / sizeof *COMPANIONS; k++) {
        snprintf(from, sizeof from, "%s%s", path, COMPANIONS[k]);
        snprintf(to, sizeof to, "%s%s", aside, COMPANIONS[k]);
        if (rename(from, to) != 0 && k == 0) {
            return lab_fail(job, EPIQ_E_FILE,
                            "the resume file %s is damaged (%s) and could not be moved away; remove it", path, why);
        }
    }
    return lab_fail(
        job, EPIQ_E_FILE,
        "the resume file %s is damaged (%s); it was moved to %s, and the same command starts the study anew", path, why,
        aside);
}

/* What reads as nothing may only have found no memory. */
static bool no_memory(const lab_store *s)
{
    return !s->db || sqlite3_errcode(s->db) == SQLITE_NOMEM || sqlite3_extended_errcode(s->db) == SQLITE_IOERR_NOMEM;
}

static int trouble(lab_store *s, study_job *job, const char *what)
{
    if (no_memory(s)) {
        return lab_fail(job, EPIQ_E_NOMEM, "no memory while %s was %s; end other programs", s->path, what);
    }
    int code = sqlite3_errcode(s->db) & 0xff;
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) {
        return move_aside(s, job, sqlite3_errstr(code));
    }
    const char *remedy = code == SQLITE_BUSY || code == SQLITE_LOCKED
                             ? "another run uses it; wait for that, or use --state FILE"
                         : code == SQLITE_CANTOPEN ? "name one in a folder that can be written, with --state"
                                                   : "free the disk, or use --state FILE";
    return lab_fail(job, EPIQ_E_FILE, "%s: the resume file could not be %s (%s); %s", s->path, what,
                    sqlite3_errmsg(s->db), remedy);
}

static int text_of(lab_store *s, const char *sql, char *text, size_t size)
{
    sqlite3_stmt *q;
    int rc = sqlite3_prepare_v2(s->db, sql, -1, &q, NULL);
    if (rc == SQLITE_OK && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        const unsigned char *value = sqlite3_column_text(q, 0);
        rc = value ? rc : SQLITE_NOMEM; /* none of our questions has NULL for an answer */
        snprintf(text, size, "%s", value ? (const char *)value : "");
    }
    sqlite3_finalize(q);
    return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

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

/* SQLite reads more into some names (":memory:", "file:...") than a file's: one that begins with ./ or / is a file. */
static int open_file(lab_store *s, int flags)
{
    char name[4100];
    snprintf(name, sizeof name, "%s%s", *s->path == '/' ? "" : "./", s->path);
    int rc = sqlite3_open_v2(name, &s->db, flags, NULL);
    if (rc == SQLITE_OK) {
        distrust(s->db);
    }
    return rc;
}

/* What the file says it is, in one look: another run may be setting it up. One that holds anything beside our table, be it a
 * view or a trigger, is none of ours. */
static int look(lab_store *s, study_job *job)
{
    char id[32] = "", tables[32] = "", own[32] = "", verdict[256] = "";
    if (sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL) || text_of(s, "PRAGMA application_id", id, sizeof id) ||
        text_of(s, "SELECT count(*) FROM sqlite_master", tables, sizeof tables) ||
        text_of(s, "SELECT count(*) FROM sqlite_master WHERE sql = 'CREATE TABLE " SAMPLES "'", own, sizeof own) ||
        text_of(s, "PRAGMA integrity_check(1)", verdict, sizeof verdict) ||
        sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL)) {
        return trouble(s, job, "read");
    }
    s->fresh = strcmp(tables, "0") == 0;
    if (!s->fresh && (strtol(id, NULL, 10) != APPLICATION || strcmp(own, tables) != 0)) {
        return lab_fail(job, EPIQ_E_FILE, "%s is a database of something else; name another file with --state",
                        s->path);
    }
    return strcmp(verdict, "ok") == 0 ? EPIQ_OK : move_aside(s, job, "its pages do not fit together");
}

/* Written after every repetition: with NORMAL a crash of this process loses nothing, one of the machine the newest few,
 * and the file stays whole. */
static int set_up(lab_store *s, study_job *job)
{
    char setup[512];
    int rc, waited = 0;
    while ((rc = sqlite3_exec(s->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL)) == SQLITE_BUSY &&
           waited < PATIENCE_MS) {
        waited += sqlite3_sleep(50); /* this one statement does not wait by itself */
    }
    snprintf(setup, sizeof setup,
             "BEGIN IMMEDIATE; PRAGMA application_id = %d;"
             "CREATE TABLE IF NOT EXISTS " SAMPLES "; COMMIT",
             (int)APPLICATION);
    rc = rc ? rc : sqlite3_exec(s->db, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL);
    rc = rc || !s->fresh ? rc : sqlite3_exec(s->db, setup, NULL, NULL, NULL); /* else not a byte changes */
    if (rc ||
        sqlite3_prepare_v2(s->db, "SELECT sum, sample FROM samples WHERE key = ?1 AND rep = ?2", -1, &s->load, NULL) !=
            SQLITE_OK ||
        sqlite3_prepare_v2(s->db, "INSERT OR IGNORE INTO samples VALUES (?1, ?2, ?3, ?4)", -1, &s->save, NULL) !=
            SQLITE_OK) {
        return trouble(s, job, "prepared");
    }
    return EPIQ_OK;
}

static int prepare(lab_store *s, study_job *job)
{
    struct stat there;
    int removed, status;
    if (stat(s->path, &there) == 0 && !S_ISREG(there.st_mode)) {
        return lab_fail(job, EPIQ_E_FILE, "%s is not a regular file; name another resume file with --state", s->path);
    }
    do {
        close_all(s);
        if (open_file(s, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) != SQLITE_OK) {
            return trouble(s, job, "opened");
        }
        sqlite3_busy_timeout(s->db, PATIENCE_MS);
        removed = 0;
        status = look(s, job);
        status = status ? status : set_up(s, job);
        if (!status) { /* by another run that was done with it: from now on it sees that it is not alone */
            sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &removed);
        }
    } while (!status && removed);
    return status;
}

int lab_store_open(study_job *job, lab_store **out)
{
    lab_store *s = calloc(1, sizeof *s);
    *out = NULL;
    if (!s) {
        return lab_fail(job, EPIQ_E_NOMEM, "no memory for the resume file");
    }
    s->path = job->state;
    int status = prepare(s, job);
    if (status) {
        lab_store_close(s);
        return status;
    }
    *out = s;
    return EPIQ_OK;
}

void lab_store_close(lab_store *s)
{
    if (s) {
        close_all(s);
        free(s);
    }
}

static void unlink_all(const char *state, const char *kind)
{
    for (size_t k = 0; k < sizeof COMPANIONS / sizeof *COMPANIONS; k++) {
        char path[4096];
        snprintf(path, sizeof path, "%s%s%s", state, kind, COMPANIONS[k]);
        unlink(path);
    }
}

/* Whether no other run has the file open; from then on none comes in until it is closed. Only who is alone can leave WAL
 * mode. */
static bool hold_alone(lab_store *s)
{
    char mode[16] = "";
    sqlite3_finalize(s->load);
    sqlite3_finalize(s->save);
    s->load = s->save = NULL;
    return text_of(s, "PRAGMA journal_mode = DELETE", mode, sizeof mode) == SQLITE_OK && strcmp(mode, "delete") == 0 &&
           sqlite3_exec(s->db, "BEGIN EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK;
}

bool lab_store_drop_if_unused(lab_store *s)
{
    char any[8] = "", members[4096];
    snprintf(members, sizeof members, "%s" LAB_MEMBERS, s->path);
    bool unused = s->db && s->fresh && access(members, F_OK) != 0 && hold_alone(s) &&
                  text_of(s, "SELECT EXISTS (SELECT 1 FROM samples)", any, sizeof any) == SQLITE_OK &&
                  strcmp(any, "0") == 0;
    if (unused) {
        unlink_all(s->path, "");
    }
    lab_store_close(s);
    return unused;
}

void study_forget(const char *state, ptrdiff_t repetitions)
{
    char count[32] = "";
    lab_store s = {.path = state};
    bool done = open_file(&s, SQLITE_OPEN_READWRITE) == SQLITE_OK && hold_alone(&s) &&
                text_of(&s, "SELECT count(*) FROM samples", count, sizeof count) == SQLITE_OK &&
                strtoll(count, NULL, 10) <= repetitions;
    if (done) {
        unlink_all(state, "");
        unlink_all(state, LAB_MEMBERS);
    }
    close_all(&s);
}

int lab_store_load(lab_store *s, study_job *job, const char *key, ptrdiff_t rep, ptrdiff_t length, double *sample,
                   bool *there)
{
    size_t bytes = (size_t)length * sizeof *sample;
    sqlite3_bind_text(s->load, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s->load, 2, rep);
    int rc = sqlite3_step(s->load);
    *there = rc == SQLITE_ROW;
    if (*there) {
        const void *blob = sqlite3_column_blob(s->load, 1);
        if (!blob && no_memory(s)) {
            return trouble(s, job, "read");
        }
        if (!blob || (size_t)sqlite3_column_bytes(s->load, 1) != bytes ||
            sqlite3_column_int64(s->load, 0) != checksum(blob, bytes)) {
            return move_aside(s, job, "a sample is not what was written");
        }
        memcpy(sample, blob, bytes);
    } else if (rc != SQLITE_DONE) {
        return trouble(s, job, "read");
    }
    sqlite3_reset(s->load);
    return EPIQ_OK;
}

int lab_store_save(lab_store *s, study_job *job, const char *key, ptrdiff_t rep, ptrdiff_t length, const double *sample)
{
    size_t bytes = (size_t)length * sizeof *sample;
    sqlite3_bind_text(s->save, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s->save, 2, rep);
    sqlite3_bind_int64(s->save, 3, checksum(sample, bytes));
    sqlite3_bind_blob(s->save, 4, sample, (int)bytes, SQLITE_STATIC);
    int rc = sqlite3_step(s->save);
    sqlite3_reset(s->save);
    return rc == SQLITE_DONE ? EPIQ_OK : trouble(s, job, "written");
}
