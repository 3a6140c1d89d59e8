/* fuzz_state.c - any bytes as a state file: of an estimate, of epiq_combine, and merged into another. SQLite sees the bytes
 * through its own file system in memory, which knows no WAL; everything else is as with a file on a disk. Mutants are made of
 * bytes, or of SQL: values no epiq has written, other tables, views and triggers under our names.
 */
#include "../usual.h"
#include "epiq_combine.h"
#include "epiq_details.h"
#include "fuzz.h"
#include "store/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char PATH[] = "/proc/self/maps"; /* in memory under this name; there, for access(), and safe */
static sqlite3_file *image;                   /* the bytes behind that name */

/* ---- SQLite's blocks ----
 *
 * By powers of two and kept for the next one: half of the time went into AddressSanitizer's allocator, and it cannot look
 * into SQLite anyhow. A block that SQLite forgets is still found as a leak.
 */

enum { CLASSES = 30, HEAD = 16 };

static struct block {
    struct block *next;
} * spare[CLASSES];

static int class_of(int size)
{
    int k = 5;
    while (k < CLASSES - 1 && (1 << k) < size + HEAD) {
        k++;
    }
    return k;
}

static void *take(int size)
{
    const int k = class_of(size);
    char *at = (char *)spare[k];
    if (at) {
        spare[k] = spare[k]->next;
    } else if (!(at = malloc((size_t)1 << k))) {
        return NULL;
    }
    *(int *)at = k;
    return at + HEAD;
}

static void give(void *p)
{
    struct block *at = (struct block *)((char *)p - HEAD);
    const int k = *(int *)at;
    at->next = spare[k];
    spare[k] = at;
}

static int room_of(void *p)
{
    return p ? (1 << *(int *)((char *)p - HEAD)) - HEAD : 0;
}

static void *change(void *p, int size)
{
    void *q = size <= room_of(p) ? p : take(size);
    if (q && q != p) {
        memcpy(q, p, (size_t)room_of(p));
        give(p);
    }
    return q;
}

static int round_up(int size)
{
    return (1 << class_of(size)) - HEAD;
}

static int start(void *unused)
{
    (void)unused;
    return SQLITE_OK;
}

static void begin(void)
{
    static sqlite3 *keeper; /* the bytes live as long as one connection does */
    if (!keeper) {
        static const sqlite3_mem_methods own = {take, give, change, room_of, round_up, start, NULL, NULL};
        EXPECT(sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) == SQLITE_OK);
        EXPECT(sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK);
        EXPECT(sqlite3_config(SQLITE_CONFIG_MALLOC, &own) == SQLITE_OK);
        sqlite3_vfs *memory = sqlite3_vfs_find("memdb");
        EXPECT(memory && sqlite3_vfs_register(memory, 1) == SQLITE_OK);
        EXPECT(sqlite3_open(PATH, &keeper) == SQLITE_OK);
        EXPECT(sqlite3_file_control(keeper, "main", SQLITE_FCNTL_FILE_POINTER, &image) == SQLITE_OK);
    }
}

static void store(const uint8_t *bytes, size_t size)
{
    EXPECT(image->pMethods->xTruncate(image, 0) == SQLITE_OK);
    EXPECT(!size || image->pMethods->xWrite(image, bytes, (int)size, 0) == SQLITE_OK);
}

/* Four bytes of a database's header: a number, its highest byte first. */
static size_t number_at(const uint8_t *bytes)
{
    return (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
}

enum { MOST_BYTES = 1 << 16, LEAST_PAGE = 512 };

/* Marks the pages that are free, which SQLite may fill with anything: those that the list of free pages names. */
static void mark_free(const uint8_t *bytes, size_t page, size_t pages, bool *is_free)
{
    size_t trunk = number_at(bytes + 32);
    for (size_t turn = 0; turn < pages && trunk >= 1 && trunk <= pages; turn++) {
        const uint8_t *at = bytes + (trunk - 1) * page;
        const size_t named = number_at(at + 4);
        for (size_t k = 0; k < named && 8 + 4 * (k + 1) <= page; k++) {
            const size_t leaf = number_at(at + 8 + 4 * k);
            if (leaf >= 1 && leaf <= pages) is_free[leaf - 1] = true;
        }
        trunk = number_at(at);
    }
}

/* But for what is nothing to SQLite, which may fill or cut it: a part of a page at the end, free pages, and pages beyond those that
 * the header counts, if the count is of the last change. */
static bool as_stored(const uint8_t *bytes, size_t size)
{
    static uint8_t now[MOST_BYTES];
    bool is_free[MOST_BYTES / LEAST_PAGE] = {false};
    sqlite3_int64 length;
    EXPECT(size <= sizeof now && image->pMethods->xFileSize(image, &length) == SQLITE_OK);
    const size_t named = size < 18 ? 0 : bytes[16] << 8 | bytes[17], page = named < LEAST_PAGE ? 0 : named;
    const size_t part = page ? size % page : 0, most = size - part + (part ? page : 0);
    size_t whole = size - part;
    if (page && whole) {
        const size_t counted = page * number_at(bytes + 28);
        if (counted && counted < whole && number_at(bytes + 24) == number_at(bytes + 92)) whole = counted;
        mark_free(bytes, page, whole / page, is_free);
    }
    if ((size_t)length < whole || (size_t)length > most) return false;
    EXPECT(!whole || image->pMethods->xRead(image, now, (int)whole, 0) == SQLITE_OK);
    const size_t step = page ? page : whole;
    for (size_t at = 0; at < whole; at += step) {
        if (!is_free[at / step] && memcmp(now + at, bytes + at, step) != 0) return false;
    }
    return true;
}

/* ---- the questions ---- */

enum { ROWS = 4 };

/* Three members and two batches of linearised networks; their predictions at the rows are kept too. */
static int estimate(epiq_result **out)
{
    static const double x[ROWS] = {0, 1, 2, 4}, y[ROWS] = {1, 0, 2, 1};
    static epiq_options o;
    epiq_ctx *c = fuzz_ctx();
    if (!o.width) {
        o = usual_options();
        o.engine = EPIQ_ENGINE_LINEAR;
        o.hbar = EPIQ_HBAR_ENSEMBLE;
        o.backend = EPIQ_BACKEND_REF;
        o.members = 3;
        o.batches = o.width = 2;
        o.threads = 1;
        o.state = PATH;
    }
    epiq_data *data;
    epiq_points *at;
    EXPECT(epiq_data_new(c, ROWS, 1, x, y, NULL, &o, &data) == EPIQ_OK);
    EXPECT(epiq_points_new(c, data, &at) == EPIQ_OK && epiq_points_add(c, at, "mean") == EPIQ_OK);
    int s = fuzz_status(epiq_estimate(c, data, at, &o, out));
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    return s;
}

static int combine(bool state, bool merge, bool given, epiq_result **out)
{
    static const double h[] = {1, 2, 3, 4};
    static const char *const paths[] = {PATH}, *const names[] = {"a", "b"};
    static const epiq_matrix predictions = {sizeof(epiq_matrix), "given", 2, 2, EPIQ_FLOAT64, h, names};
    static epiq_options o;
    if (!o.width) {
        o = usual_options();
        o.threads = 1;
    }
    o.state = state ? PATH : NULL;
    epiq_given g = {.size = sizeof(epiq_given),
                    .ensemble = given ? &predictions : NULL,
                    .merge = merge ? paths : NULL,
                    .merge_count = merge};
    return fuzz_status(epiq_combine(fuzz_ctx(), &g, &o, out));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    begin();
    epiq_ctx *c = fuzz_ctx();
    epiq_result *r = NULL, *again = NULL;
    const uint64_t h = fuzz_hash(bytes, size);
    const int way = (int)(h & 3);
    store(bytes, size);
    int s = way == 0 ? estimate(&r) : combine(way != 3, way == 3, way == 1, &r);
    EXPECT((s >= 0) == (r != NULL));
    EXPECT(s >= 0 || way == 0 || as_stored(bytes, size)); /* "After a failure nothing has been added." */
    if (r) {
        uint64_t sum = fuzz_result(r, way ? 0 : ROWS);
        const bool twice = way == 0 && (h >> 2 & 3) == 0;
        s = twice ? estimate(&again) : EPIQ_OK; /* now every network comes from the file */
        EXPECT(!twice || (!s && again->training->resumed == 5 && fuzz_result(again, ROWS) == sum));
    }
    epiq_result_free(c, again);
    epiq_result_free(c, r);
    fuzz_end();
    return 0;
}

/* ---- mutants made of SQL ---- */

static const char *const VALUES[] = {
    "NULL",
    "0",
    "1",
    "-1",
    "2",
    "3",
    "9223372036854775807",
    "-9223372036854775808",
    "268435455",
    "1e999",
    "-1e999",
    "1e300",
    "0.5",
    "''",
    "'a'",
    "x''",
    "x'610062'",
    "x'61006200'",
    "zeroblob(8)",
    "zeroblob(16)",
    "zeroblob(32)",
    "x'000000000000F03F'",
    "x'000000000000F07F'",
    "x'000000000000F87F'",
    "x'000000000000F03F0000000000000040'",
    "x'000000000000F03F000000000000F0FF'",
    "x'9C7500883CE4377E9C7500883CE437FE'", /* 1e300, -1e300 */
    "hex(zeroblob(32))",
};

static const char *const CHANGES[] = {
    "UPDATE members SET number = %s",
    "UPDATE members SET kind = %s",
    "UPDATE members SET of = %s",
    "UPDATE members SET converged = %s",
    "UPDATE members SET loss = %s",
    "UPDATE members SET gradient_rel = %s",
    "UPDATE members SET iterations = %s",
    "UPDATE members SET points = %s WHERE number = 1",
    "UPDATE members SET points = %s",
    "UPDATE members SET rows = %s WHERE number = 0",
    "UPDATE members SET rows = %s",
    "DELETE FROM members WHERE number = %s",
    "INSERT OR REPLACE INTO networks VALUES (0, 'n', 0, %s)",
    "INSERT OR REPLACE INTO networks VALUES (1, 'n', 0, %s)",
    "INSERT OR REPLACE INTO networks VALUES (0, %s, 1, x'000000000000F03F0000000000000040')",
    "INSERT OR REPLACE INTO networks VALUES (%s, 'm', 2, x'000000000000F03F0000000000000040')",
    "UPDATE networks SET at = %s",
    "UPDATE networks SET kind = %s",
    "UPDATE networks SET copy = %s",
    "UPDATE networks SET sum = %s",
    "UPDATE points SET count = %s",
    "UPDATE points SET names = %s",
    "UPDATE points SET sum = %s",
    "INSERT OR REPLACE INTO points VALUES (0, 2, %s, NULL)",
    "DELETE FROM points WHERE count != %s",
    "DELETE FROM networks WHERE kind = %s",
    "PRAGMA user_version = %s",
    "PRAGMA application_id = %s",
    "CREATE TABLE other AS SELECT %s AS a",
    "ALTER TABLE networks ADD COLUMN more DEFAULT %s",
    "ALTER TABLE members ADD COLUMN more DEFAULT %s",
    "ALTER TABLE points RENAME TO somewhere -- %s",
    "DROP TABLE points -- %s",
    "CREATE TRIGGER t BEFORE INSERT ON networks BEGIN DELETE FROM networks WHERE kind != %s; END",
    "CREATE TRIGGER t AFTER INSERT ON members BEGIN UPDATE members SET points = %s; END",
    "DROP TABLE members; CREATE VIEW members AS SELECT '' AS key, 0 AS kind, 0 AS number, 0 AS of, 1 AS converged, "
    "0 AS loss, 0 AS gradient_rel, 0 AS iterations, %s AS points, x'' AS rows",
    "DROP TABLE networks; CREATE VIEW networks AS WITH RECURSIVE n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n) "
    "SELECT 0 AS kind, i AS sum, 0 AS copy, %s AS at FROM n",
    "DROP TABLE points; CREATE VIEW points AS SELECT 0 AS id, 2 AS count, %s AS names, NULL AS sum",
    "CREATE TABLE members (key, kind, number, of, converged, loss, gradient_rel, iterations, points, rows) -- %s",
    "VACUUM -- %s",
};

/* The key that the estimate above is kept under, from what it keeps. */
static const char *own_key(void)
{
    static char key[65];
    if (!*key) {
        epiq_result *r;
        sqlite3 *db;
        sqlite3_stmt *q;
        store(NULL, 0);
        EXPECT(estimate(&r) == EPIQ_OK && sqlite3_open(PATH, &db) == SQLITE_OK);
        EXPECT(sqlite3_prepare_v2(db, "SELECT key FROM members", -1, &q, NULL) == SQLITE_OK);
        EXPECT(sqlite3_step(q) == SQLITE_ROW);
        snprintf(key, sizeof key, "%s", (const char *)sqlite3_column_text(q, 0));
        sqlite3_finalize(q);
        sqlite3_close(db);
        epiq_result_free(fuzz_ctx(), r);
    }
    return key;
}

/* As many bytes as it takes; 0: more than there is room for, or no database to begin with. */
static size_t by_sql(uint8_t *bytes, size_t size, size_t room, unsigned seed)
{
    char sql[512];
    sqlite3 *db;
    sqlite3_int64 length = 0;
    unsigned change = seed >> 4, value = seed >> 12;
    uint8_t *copy = sqlite3_malloc64(size), *after = NULL;
    if (copy && sqlite3_open(":memory:", &db) == SQLITE_OK) {
        memcpy(copy, bytes, size);
        sqlite3_deserialize(db, "main", copy, (sqlite3_int64)size, (sqlite3_int64)size,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
        change %= sizeof CHANGES / sizeof *CHANGES + 1;
        if (change == sizeof CHANGES / sizeof *CHANGES) {
            snprintf(sql, sizeof sql, "UPDATE members SET key = '%s'", own_key());
        } else {
            snprintf(sql, sizeof sql, CHANGES[change], VALUES[value % (sizeof VALUES / sizeof *VALUES)]);
        }
        sqlite3_exec(db, sql, NULL, NULL, NULL);
        after = sqlite3_serialize(db, "main", &length, 0);
        sqlite3_close(db);
    }
    bool fits = after && length > 0 && (size_t)length <= room;
    if (fits) memcpy(bytes, after, (size_t)length);
    sqlite3_free(after);
    return fits ? (size_t)length : 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed)
{
    begin();
    size_t made = seed & 1 && size >= 512 ? by_sql(bytes, size, room, seed) : 0;
    return made ? made : LLVMFuzzerMutate(bytes, size, room);
}
