/* ranks.c - an estimate on a cluster: are all ranks asked the same, and what is not shared out there; and networks that
 * go from the rank that trained them to all others.
 */
#include "est/est.h"

#include <assert.h>
#include <string.h>

/* ---- before anything is computed ---- */

static void sum_up(char hex[65], const void *const *piece, const size_t *bytes, int count)
{
    epiqp_sha256 sum;
    epiqp_sha256_start(&sum);
    for (int k = 0; k < count; k++) {
        epiqp_sha256_add(&sum, piece[k], bytes[k]);
    }
    epiqp_sha256_end(&sum, hex);
}

static void sum_up_rows(const epiqp_job *j, char hex[65])
{
    const epiq_data *d = j->data;
    const void *piece[] = {&d->n, &d->d, d->x, d->y, d->group};
    const size_t bytes[] = {sizeof d->n, sizeof d->d, (size_t)(d->n * d->d) * sizeof *d->x, (size_t)d->n * sizeof *d->y,
                            (size_t)d->n * sizeof *d->group};
    sum_up(hex, piece, bytes, 5);
}

static void sum_up_points(const epiqp_job *j, char hex[65])
{
    const void *piece[] = {j->where->x};
    const size_t bytes[] = {(size_t)(j->asked * j->data->d) * sizeof *j->where->x};
    sum_up(hex, piece, bytes, 1);
}

/* All that decide the answer: ranks may differ in threads and in the memory they may use. */
static void sum_up_options(const epiqp_job *j, char hex[65])
{
    static const char *const OWN[] = {"threads", "mem-limit"};
    epiqp_sha256 sum;
    epiqp_sha256_start(&sum);
    for (ptrdiff_t i = 0; epiq_options_info(i); i++) {
        char text[4096] = "";
        bool own = false;
        for (size_t k = 0; k < sizeof OWN / sizeof *OWN; k++) {
            own = own || strcmp(epiq_options_info(i)->name, OWN[k]) == 0;
        }
        if (!own) {
            epiq_options_text(&j->o, i, text, sizeof text);
            epiqp_sha256_add(&sum, text, strlen(text) + 1);
        }
    }
    epiqp_sha256_end(&sum, hex);
}

static int same_everywhere(const epiqp_job *j)
{
    static const struct {
        void (*sum_up)(const epiqp_job *j, char hex[65]);
        const char *what, *instead;
    } KINDS[] = {{sum_up_rows, "the rows read here", "let every rank read the same file"},
                 {sum_up_points, "the points asked about here", "name the same points on every rank"},
                 {sum_up_options, "the options given here", "start every rank with the same command"}};
    int s = EPIQ_OK;
    for (size_t k = 0; !s && k < sizeof KINDS / sizeof *KINDS; k++) {
        char mine[65], first[65];
        KINDS[k].sum_up(j, mine);
        memcpy(first, mine, sizeof first);
        j->e.cluster->share(0, first, sizeof first);
        s = strcmp(mine, first) == 0
                ? EPIQ_OK
                : epiqp_fail(j->e.c, EPIQ_E_DATA, "%s are not those of rank 0 (checksums %.8s and %.8s); %s",
                             KINDS[k].what, mine, first, KINDS[k].instead);
        s = epiq_ctx_agree(j->e.c, s);
    }
    return s;
}

/* What one machine can do and several do not. */
static const char *not_shared_out(const epiqp_job *j)
{
    const epiq_options *o = &j->o;
    bool own = o->engine == EPIQ_ENGINE_LINEAR && o->linear_kernel == EPIQ_KERNEL_EMPIRICAL;
    return j->more->keep || j->more->then       ? "this call"
           : o->time > 0                        ? "--time"
           : o->solver == EPIQ_SOLVER_ITERATIVE ? "--solver iterative"
           : o->solver == EPIQ_SOLVER_DIVIDED   ? "--solver divided"
           : o->hbar == EPIQ_HBAR_ENSEMBLE && o->engine == EPIQ_ENGINE_LINEAR && !own
               ? "--hbar ensemble with --engine linear"
               : NULL;
}

int epiqp_ranks_check(const epiqp_job *j)
{
    const epiq_cluster *k = j->e.cluster;
    if (!k) {
        return EPIQ_OK;
    }
    const char *what = k->size > 1 ? not_shared_out(j) : NULL;
    int s = what ? epiqp_fail(j->e.c, EPIQ_E_USAGE, "%s is for one process; leave it out, or start one rank", what)
            : j->n < k->size
                ? epiqp_fail(j->e.c, EPIQ_E_DATA, "%td rows are fewer than the %d ranks; start fewer", j->n, k->size)
                : EPIQ_OK;
    s = epiq_ctx_agree(j->e.c, s);
    return s ? s : same_everywhere(j);
}

/* ---- networks ---- */

enum { HEAD = 5 }; /* numbers of a record before its predictions */

/* The longest of theirs: folds differ by a row. */
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
    if (a->rows) {
        memcpy(to + HEAD + a->fit->at.n, a->rows, (size_t)a->fit->rows.n * sizeof *to);
    }
}

static void unpack(const double *from, epiqp_assignment *a)
{
    if (from[0] == 0) {
        return;
    }
    a->done = true;
    a->training = (epiqp_training){from[1] != 0, from[2], from[3], (ptrdiff_t)from[4]};
    memcpy(a->at, from + HEAD, (size_t)a->fit->at.n * sizeof *from);
    if (a->rows) {
        memcpy(a->rows, from + HEAD + a->fit->at.n, (size_t)a->fit->rows.n * sizeof *from);
    }
}

int epiqp_ranks_give(const epiqp_job *j, int status, int from, ptrdiff_t first, ptrdiff_t step, ptrdiff_t end,
                     epiqp_assignment *list)
{
    const epiq_cluster *k = j->e.cluster;
    ptrdiff_t count = first < end ? (end - first - 1) / step + 1 : 0, size = record_size(end, list);
    double *records = status ? NULL : epiqp_alloc(j->e.c, count * size, sizeof *records);
    int s = epiq_ctx_agree(j->e.c, status || records ? status : EPIQ_E_NOMEM);
    assert(s || records); /* agreeing keeps a failure of one's own */
    for (ptrdiff_t i = 0; !s && k->rank == from && i < count; i++) {
        pack(&list[first + i * step], records + i * size);
    }
    if (!s) {
        k->share(from, records, (size_t)(count * size) * sizeof *records);
    }
    for (ptrdiff_t i = 0; !s && k->rank != from && i < count; i++) {
        unpack(records + i * size, &list[first + i * step]);
    }
    epiqp_free(j->e.c, records);
    return s;
}
