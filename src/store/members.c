/* members.c - see members.h. The order in which threads and ranks train the networks of a list affects none of them. */
#include "store/members.h"
#include "train/remote.h"

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum { HEAD = 5 }; /* numbers of a record before its predictions */

/* Length of the longest record: the sizes of folds differ by a row. */
static ptrdiff_t record_size(ptrdiff_t count, const epiqp_assignment *list)
{
    ptrdiff_t most = 0;
    for (ptrdiff_t k = 0; k < count; k++) {
        most = epiqp_max(most, list[k].fit->at.n + (list[k].rows ? list[k].fit->rows.n : 0));
    }
    return HEAD + most;
}

static void pack(const epiqp_assignment *a, double *to)
{
    const epiqp_training *t = &a->training;
    const double head[HEAD] = {a->done, t->converged, t->loss, t->gradient_rel, (double)t->iterations};
    memcpy(to, head, sizeof head);
    memcpy(to + HEAD, a->at, (size_t)a->fit->at.n * sizeof *to);
    if (a->rows) memcpy(to + HEAD + a->fit->at.n, a->rows, (size_t)a->fit->rows.n * sizeof *to);
}

static void unpack(const double *from, epiqp_assignment *a)
{
    if (from[0] == 0) return;
    a->done = true;
    a->training = (epiqp_training){from[1] != 0, from[2], from[3], (ptrdiff_t)from[4]};
    memcpy(a->at, from + HEAD, (size_t)a->fit->at.n * sizeof *from);
    if (a->rows) memcpy(a->rows, from + HEAD + a->fit->at.n, (size_t)a->fit->rows.n * sizeof *from);
}

/* Broadcasts networks first, first + step, .. before end from the rank that made them. status: of what came before. */
static int broadcast(const epiqp_env *e, int status, int from, ptrdiff_t first, ptrdiff_t step, ptrdiff_t end,
                     epiqp_assignment *list)
{
    const epiq_cluster *k = e->cluster;
    ptrdiff_t count = first < end ? (end - first - 1) / step + 1 : 0, size = record_size(end, list);
    double *records = status ? NULL : epiqp_alloc(e->c, count * size, sizeof *records);
    int s = epiq_ctx_agree(e->c, status || records ? status : EPIQ_E_NOMEM);
    assert(s || records); /* the status agreed on is never better than this rank's own */
    for (ptrdiff_t i = 0; !s && k->rank == from && i < count; i++) {
        pack(&list[first + i * step], records + i * size);
    }
    if (!s) k->bcast(k->user, from, records, (size_t)(count * size) * sizeof *records);
    for (ptrdiff_t i = 0; !s && k->rank != from && i < count; i++) {
        unpack(records + i * size, &list[first + i * step]);
    }
    epiqp_free(e->c, records);
    return s;
}

/* One network, unless it is made already or one before it failed. done: how many of `count` are finished. */
static void make(const epiqp_maker *m, const epiqp_env *e, const char *stage, ptrdiff_t count, ptrdiff_t *done,
                 epiqp_assignment *a, int *status)
{
    int so_far;
#pragma omp atomic read
    so_far = *status;
    if (a->done || so_far) return;
    const double start = epiqp_worked();
    int s = m->engine->member(e, a->fit, &a->draw, a->at, a->rows, a->keep.theta ? &a->keep : NULL, &a->training);
    a->seconds = epiqp_worked() - start;
    for (ptrdiff_t p = 0; !s && p < a->fit->at.n; p++) {
        if (!isfinite(a->at[p])) {
            s = epiqp_fail(m->e->c, EPIQ_E_NUMERIC,
                           "the prediction of network %td is not finite; use {--scale} standard or a larger {--lambda}",
                           a->index + 1);
        }
    }
#pragma omp critical(epiqp_members)
    {
        const epiq_cluster *cluster = m->e->cluster;
        if (!s && m->state) s = epiqp_state_save(m->state, m->engine, a);
        if (!s) {
            a->done = true;
            *done = epiqp_min(count, *done + (cluster ? cluster->ranks : 1)); /* other ranks are about as fast */
            s = epiqp_report(m->e->c, stage, *done, count);
            s = *done == count ? EPIQ_OK : s; /* a request to stop has no effect after the last network */
        }
        if (s && !*status) { /* the status of the first failure, whose message is kept */
#pragma omp atomic write
            *status = s;
        }
    }
}

/* Networks first to end - 1; on a cluster those with k % ranks == rank. */
static int train(const epiqp_maker *m, const char *stage, ptrdiff_t first, ptrdiff_t end, ptrdiff_t count,
                 ptrdiff_t *done, epiqp_assignment *list)
{
    const epiqp_env alone = epiqp_alone(m->e);
    const epiq_cluster *cluster = m->e->cluster;
    int status = EPIQ_OK;
#pragma omp parallel for schedule(dynamic) num_threads(m->e->threads)
    for (ptrdiff_t k = first; k < end; k++) {
        if (cluster && k % cluster->ranks != cluster->rank) continue;
        make(m, &alone, stage, count, done, &list[k], &status);
    }
    return status;
}

/* ---- on a device ---- */

/* Networks at a time: fewer would leave a large GPU idle, and each needs a host thread. They form groups that run
 * independently. Where one kernel launch serves a whole group (cuda/shallow.cu), small groups cost more launches;
 * elsewhere the device takes the networks of a group one after the other. */
enum { MOST_PLACES = 128, MOST_GROUPS = 8, LEAST_GROUP = 16, LEAST_GROUP_DEEP = 2, SHALLOW_FEATURES = 32 };
/* Numbers that all groups may hold beside their networks' places: at most COPIES_EACH copies of the weights a group. */
static const double COPIES = 2.5e8, COPIES_EACH = 9;
/* A device that is open already saves time if training would take WORTH seconds on the processor. */
static const double WORTH = 0.3;
/* The places may take a fraction SHARE of the device's free memory, less BESIDE bytes for activations, and HERE bytes
 * of this process's memory. */
static const double SHARE = 0.8, BESIDE = 5e9, HERE = 4e9;

typedef struct {
    ptrdiff_t places, groups; /* networks trained at once; 0: none */
    double bytes;             /* of the place of one network */
} crowd;

/* *status: a failure if the device is required and has too little memory. */
static crowd crowd_there(const epiqp_maker *m, ptrdiff_t count, const epiqp_assignment *list, int *status)
{
    const epiqp_device *d = m->e->device;
    const crowd none = {0};
    crowd out = {0};
    double operations = 0, params = 1;
    ptrdiff_t left = 0, least = LEAST_GROUP;
    if (!d || m->e->cluster || m->engine != &epiqp_engine_network) return none;
    for (ptrdiff_t k = 0; k < count; k++) {
        const epiqp_fit *f = list[k].fit;
        if (list[k].done) continue;
        if (f->o->optimizer != EPIQ_OPTIMIZER_AUTO) return none;
        const ptrdiff_t p = epiqp_net_params(&f->net);
        const epiqp_effort effort = epiqp_usual_effort(&f->net, f->rows.n, f->lambda);
        operations += 6 * (double)p * (double)f->rows.n * (effort.gradients + effort.products);
        params = fmax(params, (double)p);
        out.bytes = fmax(out.bytes, epiqp_remote_bytes(p));
        if (f->net.depth > 1 || f->net.d > SHALLOW_FEATURES) least = LEAST_GROUP_DEEP;
        left++;
    }
    if (!left || (!d->only && operations < WORTH * EPIQP_PER_CORE * m->e->threads)) return none;
    const double free = d->table->bytes_free(d->table->user), there = (SHARE * free - BESIDE) / out.bytes,
                 here = HERE / (16 * params);
    out.places = (ptrdiff_t)fmin(fmin((double)left, MOST_PLACES), fmax(0, fmin(there, fmax(1, here))));
    if (!out.places && d->only) {
        *status =
            epiqp_fail(m->e->c, EPIQ_E_NOMEM,
                       "{--device} gpu: to train a network of %.0f weights takes %.2f GB on the GPU beside %.0f GB "
                       "for all, and %.2f may be used there; use {--device} auto or cpu, or a smaller {--width}",
                       params, out.bytes / 1e9, BESIDE / 1e9, SHARE * free / 1e9);
    }
    out.groups = (ptrdiff_t)fmin(fmin((double)(out.places / least), MOST_GROUPS), COPIES / (COPIES_EACH * params));
    out.groups = epiqp_max(1, out.groups);
    return out;
}

/* Each thread trains one network after another; the lists of a group of threads run together (train/remote.h). */
static int train_there(const epiqp_maker *m, const char *stage, const crowd *some, ptrdiff_t count, ptrdiff_t *done,
                       epiqp_assignment *list, bool *failed)
{
    const epiqp_env alone = epiqp_alone(m->e);
    epiqp_many *many = NULL;
    int status = epiqp_many_new(m->e, some->places, some->groups, some->bytes, &many);
    *failed = status;
    if (status) return status;
#pragma omp parallel num_threads((int)some->places)
    {
        epiqp_env own = alone;
        own.remote = epiqp_many_place(many, omp_get_thread_num());
#pragma omp single
        epiqp_many_begin(many, omp_get_num_threads());
#pragma omp for schedule(dynamic) nowait
        for (ptrdiff_t k = 0; k < count; k++) {
            make(m, &own, stage, count, done, &list[k], &status);
        }
        epiqp_many_leave(own.remote);
    }
    *failed = epiqp_many_failed(many);
    epiqp_many_free(many);
    return status;
}

/* Broadcasts what each rank has trained of networks first to end - 1, and keeps it in rank 0's state. */
static int exchange(const epiqp_maker *m, int status, ptrdiff_t first, ptrdiff_t end, epiqp_assignment *list)
{
    const epiq_cluster *k = m->e->cluster;
    for (int r = 0; k && !status && r < k->ranks; r++) {
        ptrdiff_t own = first + (r - first % k->ranks + k->ranks) % k->ranks;
        status = broadcast(m->e, status, r, own, k->ranks, end, list);
        for (ptrdiff_t i = own; !status && r > 0 && m->state && i < end; i += k->ranks) {
            status = epiqp_state_save(m->state, m->engine, &list[i]);
        }
    }
    return status;
}

/* Networks between two exchanges: two for each thread of rank 0 if there is a state to keep them in, else all. */
static ptrdiff_t round_of(const epiqp_maker *m, ptrdiff_t count)
{
    ptrdiff_t some = 2 * m->e->threads;
    if (!m->e->cluster || !m->has_state) return count;
    m->e->cluster->bcast(m->e->cluster->user, 0, &some, sizeof some);
    return some * m->e->cluster->ranks;
}

/* Adds the reports of finished networks to the sum. */
static void add_reports(const epiqp_maker *m, ptrdiff_t count, const epiqp_assignment *list)
{
    const epiqp_fit *fit = NULL;
    double least = 0;
    bool single = false;
    for (ptrdiff_t k = 0; k < count && m->engine->trains; k++) {
        const epiqp_training *t = &list[k].training;
        if (!list[k].done) continue;
        if (list[k].fit != fit) {
            fit = list[k].fit;
            single = epiqp_rows_single(m->e, &fit->net, fit->rows.n, fit->rows.x, fit->y, &least);
        }
        m->sum->in_double += !single || t->loss < least;
        m->sum->iterations[m->sum->count++] = (double)t->iterations;
        m->sum->converged += t->converged;
        m->sum->loss_max = fmax(m->sum->loss_max, t->loss);
        m->sum->gradient_rel_max = fmax(m->sum->gradient_rel_max, t->gradient_rel);
    }
}

int epiqp_members_run(const epiqp_maker *m, const char *stage, ptrdiff_t count, epiqp_assignment *list)
{
    int status = EPIQ_OK;
    for (ptrdiff_t k = 0; !status && k < count && m->state; k++) {
        status = epiqp_state_load(m->state, m->engine, &list[k]);
    }
    if (m->e->cluster && m->has_state) { /* rank 0 has read the file */
        status = broadcast(m->e, status, 0, 0, 1, count, list);
    }
    ptrdiff_t done = 0, at_once = round_of(m, count);
    for (ptrdiff_t k = 0; !status && k < count; k++) {
        done += list[k].done;
    }
    m->sum->resumed += done;
    status = status ? status : epiqp_report(m->e->c, stage, done, count);
    crowd some = {0};
    if (!status) some = crowd_there(m, count, list, &status);
    if (some.places) {
        bool failed;
        status = train_there(m, stage, &some, count, &done, list, &failed);
        m->sum->split = m->sum->split || (m->e->device->table->split && list[0].fit->net.depth > 1);
        if (failed && !m->e->device->only) { /* the others are made here */
            epiqp_clear(m->e->c);
            status = EPIQ_OK;
        }
    }
    for (ptrdiff_t first = 0; !status && first < count; first += at_once) {
        ptrdiff_t end = epiqp_min(count, first + at_once);
        status = train(m, stage, first, end, count, &done, list);
        status = exchange(m, status, first, end, list);
    }
    add_reports(m, count, list);
    return status ? epiq_ctx_agree(m->e->c, status) : EPIQ_OK;
}

int epiqp_members_keep(const epiqp_maker *m, epiqp_arena *arena, ptrdiff_t n, ptrdiff_t count, epiqp_assignment *list,
                       epiqp_kept *out)
{
    const epiqp_fit *f = list[0].fit; /* all have the same network */
    const ptrdiff_t weights = epiqp_net_params(&f->net), extra = m->engine->extra(f->o, &f->net, n);
    out->theta = epiqp_arena_alloc(m->e->c, arena, count * weights, sizeof *out->theta);
    out->extra = epiqp_arena_alloc(m->e->c, arena, count * extra, sizeof *out->extra);
    if (!out->theta || !out->extra) return EPIQ_E_NOMEM;
    for (ptrdiff_t k = 0; k < count; k++) {
        list[k].keep = (epiqp_kept){out->theta + k * weights, out->extra + k * extra};
    }
    return EPIQ_OK;
}
