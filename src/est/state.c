/* state.c - finished members in a SQLite file, durable one by one, so that a run that was stopped, killed or cut off
 * goes on from them. A member is found again by a checksum over everything that decides it: rows, points, options,
 * seed. For a model it is kept with its weights.
 */
#include "est/db.h"
#include "est/est.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    TRAINING = 8 /* raise it with every change to what training computes: old members are then not reused */
};

static const ptrdiff_t MOST_ITERATIONS = (ptrdiff_t)1 << 53; /* far above those of any training, and a double still */

struct epiqp_state {
    epiqp_db file;
    sqlite3_stmt *load, *save;
    char key[65];
};

/* Everything that decides a member's predictions. Threads are not in it, and neither is the number of members. */
static void make_key(const epiqp_job *j, char key[65])
{
    const epiq_options *o = &j->o;
    const epiq_data *data = j->data;
    char text[512];
    epiqp_sha256 sum;
    epiqp_sha256_start(&sum);
    snprintf(
        text, sizeof text,
        "%d %s %s width %td depth %td lambda %a bias %a %a optimizer %d lr %a steps %td batch %td vary %d linear %d "
        "seed %llu rows %td of %td points %td groups %td hbar %d kept %d",
        TRAINING, j->engine->name, j->e.la->name, o->width, o->depth, o->lambda, o->bias, o->bias_sd, o->optimizer,
        o->lr, o->steps, o->batch_size, o->vary, o->linear_kernel, (unsigned long long)o->seed, j->n, data->d,
        j->points, data->groups, o->hbar == EPIQ_HBAR_ENSEMBLE && o->methods & EPIQ_IF, j->more->keep != NULL);
    epiqp_sha256_add(&sum, text, (size_t)epiqp_plain_numbers(text));
    if (o->solver != EPIQ_SOLVER_EXACT && j->engine->needs_solve(o)) { /* members are made with c */
        if (o->solver == EPIQ_SOLVER_DIVIDED) {
            snprintf(text, sizeof text, "divided %td", o->parts);
        } else {
            snprintf(text, sizeof text, "iterative %td %a", o->rank, o->tolerance);
        }
        epiqp_sha256_add(&sum, text, (size_t)epiqp_plain_numbers(text));
    }
    epiqp_sha256_add(&sum, data->x, (size_t)(j->n * data->d) * sizeof *data->x);
    epiqp_sha256_add(&sum, data->y, (size_t)j->n * sizeof *data->y);
    epiqp_sha256_add(&sum, data->group, (size_t)j->n * sizeof *data->group);
    epiqp_sha256_add(&sum, j->at, (size_t)(j->points * data->d) * sizeof *j->at);
    epiqp_sha256_end(&sum, key);
}

int epiqp_state_open(epiqp_job *j)
{
    epiqp_state *s = epiqp_arena_alloc(j->e.c, &j->scratch, 1, sizeof *s);
    if (!s) {
        return EPIQ_E_NOMEM;
    }
    j->state = s;
    make_key(j, s->key);
    const char *load = "SELECT converged, loss, gradient_rel, iterations, points, rows FROM members "
                       "WHERE key = ?1 AND kind = ?2 AND number = ?3 AND of = ?4";
    const char *save = "INSERT OR IGNORE INTO members VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    int status = epiqp_db_write(j->e.c, j->o.state, EPIQP_DB_MEMBERS, &s->file);
    status = status ? status : epiqp_db_run(&s->file, "COMMIT", "prepared");
    status = status ? status : epiqp_db_prepare(&s->file, load, &s->load);
    return status ? status : epiqp_db_prepare(&s->file, save, &s->save);
}

static void bind_place(epiqp_state *s, sqlite3_stmt *q, const epiqp_assignment *a)
{
    sqlite3_reset(q);
    sqlite3_bind_text(q, 1, s->key, -1, SQLITE_STATIC);
    sqlite3_bind_int(q, 2, (int)a->kind);
    sqlite3_bind_int64(q, 3, a->index);
    sqlite3_bind_int64(q, 4, a->of);
}

/* What is kept beside the predictions at the points, one after the other: those at the rows, if wanted, and for a model
 * the member itself. */
enum { PIECES = 3 };
typedef struct {
    double *at;
    ptrdiff_t count;
} piece;

static size_t pieces_of(const epiqp_assignment *a, const epiqp_job *j, piece list[PIECES])
{
    const ptrdiff_t rows = a->fit->rows.n;
    const bool kept = a->keep.theta;
    list[0] = (piece){a->rows, a->rows ? rows : 0};
    list[1] = (piece){a->keep.theta, kept ? epiqp_net_params(&j->fit.net) : 0};
    list[2] = (piece){a->keep.extra, kept ? j->engine->extra(&j->o, &j->fit.net, rows) : 0};
    return (size_t)(list[0].count + list[1].count + list[2].count) * sizeof(double);
}

/* count numbers from *from on, which moves behind them; false: one is not finite. */
static bool take_numbers(const char **from, ptrdiff_t count, double *out)
{
    bool good = true;
    if (count) {
        memcpy(out, *from, (size_t)count * sizeof *out);
        *from += (size_t)count * sizeof *out;
    }
    for (ptrdiff_t k = 0; good && k < count; k++) {
        good = isfinite(out[k]);
    }
    return good;
}

/* A member as the file has it; false: it cannot be one of ours. */
static bool take_member(sqlite3_stmt *q, epiqp_assignment *a, const epiqp_job *j)
{
    piece rest[PIECES];
    const char *at = sqlite3_column_blob(q, 4), *beside = sqlite3_column_blob(q, 5);
    const size_t more = pieces_of(a, j, rest);
    bool good = at && (beside || !more) &&
                (size_t)sqlite3_column_bytes(q, 4) == (size_t)a->fit->at.n * sizeof(double) &&
                (size_t)sqlite3_column_bytes(q, 5) == more && take_numbers(&at, a->fit->at.n, a->at);
    for (int k = 0; good && k < PIECES; k++) {
        good = take_numbers(&beside, rest[k].count, rest[k].at);
    }
    a->training = (epiqp_training){sqlite3_column_int(q, 0) != 0, sqlite3_column_double(q, 1),
                                   sqlite3_column_double(q, 2), sqlite3_column_int64(q, 3)};
    return good && isfinite(a->training.loss) && isfinite(a->training.gradient_rel) && a->training.iterations >= 0 &&
           a->training.iterations <= MOST_ITERATIONS;
}

int epiqp_state_load(epiqp_state *s, epiqp_assignment *a, const epiqp_job *j)
{
    bind_place(s, s->load, a);
    int rc = sqlite3_step(s->load);
    if (rc == SQLITE_ROW && !take_member(s->load, a, j)) {
        return epiqp_db_not_ours(&s->file);
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        return epiqp_db_trouble(&s->file, "read");
    }
    a->done = rc == SQLITE_ROW;
    sqlite3_reset(s->load);
    return EPIQ_OK;
}

int epiqp_state_save(epiqp_state *s, const epiqp_assignment *a, const epiqp_job *j)
{
    piece rest[PIECES];
    size_t more = pieces_of(a, j, rest), at = 0;
    char *bytes = epiqp_alloc(j->e.c, (ptrdiff_t)more, 1);
    if (!bytes) {
        return EPIQ_E_NOMEM;
    }
    for (int k = 0; k < PIECES; k++) {
        size_t size = (size_t)rest[k].count * sizeof(double);
        if (size) {
            memcpy(bytes + at, rest[k].at, size);
            at += size;
        }
    }
    bind_place(s, s->save, a);
    sqlite3_bind_int(s->save, 5, a->training.converged);
    sqlite3_bind_double(s->save, 6, a->training.loss);
    sqlite3_bind_double(s->save, 7, a->training.gradient_rel);
    sqlite3_bind_int64(s->save, 8, a->training.iterations);
    int rc = sqlite3_bind_blob64(s->save, 9, a->at, (size_t)a->fit->at.n * sizeof(double), SQLITE_STATIC);
    rc = rc ? rc : sqlite3_bind_blob64(s->save, 10, bytes, more, SQLITE_STATIC);
    rc = rc ? rc : sqlite3_step(s->save);
    int status = rc == SQLITE_DONE ? EPIQ_OK : epiqp_db_trouble(&s->file, "written");
    sqlite3_reset(s->save);
    sqlite3_clear_bindings(s->save); /* the bytes are gone */
    epiqp_free(j->e.c, bytes);
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
