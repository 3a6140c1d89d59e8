/* state.c - finished members in a SQLite file, durable one by one, so that a run that was stopped, killed or cut off
 * goes on from them. A member is found again by a checksum over everything that decides it: rows, points, options,
 * seed. For a model it is kept with its weights.
 */
#include "store/db.h"
#include "store/members.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    TRAINING = 10 /* raise it with every change to what training computes: old members are then not reused */
};

static const ptrdiff_t MOST_ITERATIONS = (ptrdiff_t)1 << 53; /* far above those of any training, and a double still */

struct epiqp_state {
    epiqp_db file;
    sqlite3_stmt *load, *save;
    char key[65];
};

int64_t epiqp_member_sum(ptrdiff_t count, const double *numbers)
{
    char hex[65];
    uint64_t out = 0;
    epiqp_sha256 sum = epiqp_sha256_start();
    epiqp_sha256_add(&sum, numbers, (size_t)count * sizeof *numbers);
    epiqp_sha256_end(&sum, hex);
    for (int k = 0; k < 15; k++) {
        out = out * 16 + (uint64_t)(hex[k] <= '9' ? hex[k] - '0' : hex[k] - 'a' + 10);
    }
    return (int64_t)out;
}

/* Everything that decides a member's predictions. Threads are not in it, and neither is the number of members. */
static void make_key(const epiqp_state_key *k, char key[65])
{
    const epiq_options *o = k->o;
    const epiq_data *data = k->data;
    char options[512], text[768];
    epiqp_sha256 sum = epiqp_sha256_start();
    epiqp_options_member_key(o, options, sizeof options);
    snprintf(text, sizeof text, "%d%s rows %td of %td points %td groups %td hbar %d kept %d", TRAINING, options,
             data->n, data->d, k->points, data->groups, o->hbar == EPIQ_HBAR_ENSEMBLE && o->methods & EPIQ_IF, k->kept);
    epiqp_sha256_add(&sum, text, strlen(text));
    if (k->choice) epiqp_sha256_add(&sum, " choice", strlen(" choice"));
    if (o->solver != EPIQ_SOLVER_EXACT && epiqp_needs_solve(o)) { /* members are made with c */
        if (o->solver == EPIQ_SOLVER_DIVIDED) {
            snprintf(text, sizeof text, "divided %td", o->parts);
        } else {
            snprintf(text, sizeof text, "iterative %td %a", o->rank, o->tolerance);
        }
        epiqp_sha256_add(&sum, text, (size_t)epiqp_plain_numbers(text));
    }
    epiqp_sha256_add(&sum, data->x, (size_t)(data->n * data->d) * sizeof *data->x);
    epiqp_sha256_add(&sum, data->y, (size_t)data->n * sizeof *data->y);
    epiqp_sha256_add(&sum, data->group, (size_t)data->n * sizeof *data->group);
    epiqp_sha256_add(&sum, k->at, (size_t)(k->points * data->d) * sizeof *k->at);
    epiqp_sha256_end(&sum, key);
}

int epiqp_state_open(const epiqp_state_key *k, epiqp_arena *arena, epiqp_state **out)
{
    epiqp_state *s = epiqp_arena_alloc(k->e->c, arena, 1, sizeof *s);
    if (!s) return EPIQ_E_NOMEM;
    *out = s;
    make_key(k, s->key);
    const char *load = "SELECT converged, loss, gradient_rel, iterations, points, rows FROM members "
                       "WHERE key = ?1 AND kind = ?2 AND number = ?3 AND of = ?4";
    const char *save = "INSERT OR IGNORE INTO members VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    int status = epiqp_db_write(k->e->c, k->o->state, EPIQP_DB_MEMBERS, &s->file);
    if (status || (status = epiqp_db_run(&s->file, "COMMIT", "prepared")) ||
        (status = epiqp_db_prepare(&s->file, load, &s->load))) {
        return status;
    }
    return epiqp_db_prepare(&s->file, save, &s->save);
}

static void bind_place(epiqp_state *s, sqlite3_stmt *q, const epiqp_assignment *a)
{
    sqlite3_reset(q);
    sqlite3_bind_text(q, 1, s->key, -1, SQLITE_STATIC);
    sqlite3_bind_int(q, 2, (int)a->kind);
    sqlite3_bind_int64(q, 3, a->index);
    sqlite3_bind_int64(q, 4, a->of);
}

/* What is kept after the predictions at the points: those at the rows, if wanted, and for a model the weights. */
enum { PIECES = 3 };
typedef struct {
    double *at;
    ptrdiff_t count;
} piece;

/* Returns how many numbers they have. */
static ptrdiff_t pieces_of(const epiqp_assignment *a, const epiqp_engine *engine, piece list[PIECES])
{
    const ptrdiff_t rows = a->fit->rows.n;
    const bool kept = a->keep.theta;
    list[0] = (piece){a->rows, a->rows ? rows : 0};
    list[1] = (piece){a->keep.theta, kept ? epiqp_net_params(&a->fit->net) : 0};
    list[2] = (piece){a->keep.extra, kept ? engine->extra(a->fit->o, &a->fit->net, rows) : 0};
    return list[0].count + list[1].count + list[2].count;
}

/* A member as the file has it; false: it cannot be one of ours. */
static bool take_member(sqlite3_stmt *q, const epiqp_engine *engine, epiqp_assignment *a)
{
    piece rest[PIECES];
    const ptrdiff_t points = a->fit->at.n, more = pieces_of(a, engine, rest);
    const char *at = epiqp_db_numbers(q, 4, points, DBL_MAX), *beside = epiqp_db_numbers(q, 5, more, DBL_MAX);
    a->training = (epiqp_training){sqlite3_column_int(q, 0) != 0, sqlite3_column_double(q, 1),
                                   sqlite3_column_double(q, 2), sqlite3_column_int64(q, 3)};
    if (!at || !beside || !isfinite(a->training.loss) || !isfinite(a->training.gradient_rel) ||
        a->training.iterations < 0 || a->training.iterations > MOST_ITERATIONS) {
        return false;
    }
    memcpy(a->at, at, (size_t)points * sizeof *a->at);
    for (int k = 0; k < PIECES; k++) {
        const size_t size = (size_t)rest[k].count * sizeof(double);
        if (size) memcpy(rest[k].at, beside, size);
        beside += size;
    }
    return true;
}

int epiqp_state_load(epiqp_state *s, const epiqp_engine *engine, epiqp_assignment *a)
{
    bind_place(s, s->load, a);
    int rc = sqlite3_step(s->load);
    if (rc == SQLITE_ROW && !take_member(s->load, engine, a)) return epiqp_db_not_ours(&s->file);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) return epiqp_db_trouble(&s->file, "read");
    a->done = rc == SQLITE_ROW;
    sqlite3_reset(s->load);
    return EPIQ_OK;
}

int epiqp_state_save(epiqp_state *s, const epiqp_engine *engine, const epiqp_assignment *a)
{
    piece rest[PIECES];
    const ptrdiff_t more = pieces_of(a, engine, rest);
    double *numbers = epiqp_alloc(s->file.c, more, sizeof *numbers), *to = numbers;
    if (!numbers) return EPIQ_E_NOMEM;
    for (int k = 0; k < PIECES; k++) {
        if (rest[k].count) memcpy(to, rest[k].at, (size_t)rest[k].count * sizeof *to);
        to += rest[k].count;
    }
    bind_place(s, s->save, a);
    sqlite3_bind_int(s->save, 5, a->training.converged);
    sqlite3_bind_double(s->save, 6, a->training.loss);
    sqlite3_bind_double(s->save, 7, a->training.gradient_rel);
    sqlite3_bind_int64(s->save, 8, a->training.iterations);
    int rc = sqlite3_bind_blob64(s->save, 9, a->at, (size_t)a->fit->at.n * sizeof(double), SQLITE_STATIC);
    rc = rc ? rc : sqlite3_bind_blob64(s->save, 10, numbers, (size_t)more * sizeof *numbers, SQLITE_STATIC);
    rc = rc ? rc : sqlite3_step(s->save);
    int status = rc == SQLITE_DONE ? EPIQ_OK : epiqp_db_trouble(&s->file, "written");
    sqlite3_reset(s->save);
    sqlite3_clear_bindings(s->save); /* the numbers are gone */
    epiqp_free(s->file.c, numbers);
    return status;
}

void epiqp_state_close(epiqp_state *s)
{
    if (s) {
        sqlite3_finalize(s->load);
        sqlite3_finalize(s->save);
        epiqp_db_close(&s->file);
    }
}
