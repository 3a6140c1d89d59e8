/* ranks.c - an estimate on a cluster, before anything is computed: whether all ranks are asked the same, and whether it is
 * something that they can share.
 */
#include "run/run.h"

#include <string.h>

/* What one rank is asked. */
typedef struct {
    const epiq_data *data;
    const epiq_points *where;
    const epiq_options *o;
} question;

static void add_rows(epiqp_sha256 *sum, const question *q)
{
    const epiq_data *d = q->data;
    epiqp_sha256_add(sum, &d->n, sizeof d->n);
    epiqp_sha256_add(sum, &d->d, sizeof d->d);
    epiqp_sha256_add(sum, d->x, (size_t)(d->n * d->d) * sizeof *d->x);
    epiqp_sha256_add(sum, d->y, (size_t)d->n * sizeof *d->y);
    epiqp_sha256_add(sum, d->group, (size_t)d->n * sizeof *d->group);
}

static void add_points(epiqp_sha256 *sum, const question *q)
{
    epiqp_sha256_add(sum, q->where->x, (size_t)(q->where->count * q->data->d) * sizeof *q->where->x);
    epiqp_sha256_add(sum, q->where->left_out, (size_t)q->where->count * sizeof *q->where->left_out);
}

/* All options that decide the answer: ranks may differ in threads and in the memory they may use. */
static void add_options(epiqp_sha256 *sum, const question *q)
{
    for (ptrdiff_t i = 0; epiq_options_info(i); i++) {
        char text[4096] = "";
        if (!(epiq_options_scope(i) & EPIQ_OPTION_PROCESS)) {
            epiq_options_text(q->o, i, text, sizeof text);
            epiqp_sha256_add(sum, text, strlen(text) + 1);
        }
    }
}

static int same_everywhere(const epiqp_problem *pb, const question *q)
{
    static const struct {
        void (*add)(epiqp_sha256 *sum, const question *q);
        const char *what, *instead;
    } KINDS[] = {{add_rows, "the rows read here", "let every rank read the same file"},
                 {add_points, "the points asked about here", "name the same points on every rank"},
                 {add_options, "the options given here", "start every rank with the same command"}};
    int s = EPIQ_OK;
    for (size_t k = 0; !s && k < sizeof KINDS / sizeof *KINDS; k++) {
        char mine[65], first[65];
        epiqp_sha256 sum = epiqp_sha256_start();
        KINDS[k].add(&sum, q);
        epiqp_sha256_end(&sum, mine);
        memcpy(first, mine, sizeof first);
        pb->e.cluster->bcast(pb->e.cluster->user, 0, first, sizeof first);
        if (strcmp(mine, first) != 0) {
            s = epiqp_fail(pb->e.c, EPIQ_E_DATA, "%s are not those of rank 0 (checksums %.8s and %.8s); %s",
                           KINDS[k].what, mine, first, KINDS[k].instead);
        }
        s = epiq_ctx_agree(pb->e.c, s);
    }
    return s;
}

int epiqp_ranks_check(const epiqp_problem *pb, const epiqp_request *request, const epiq_options *o,
                      const epiq_points *where)
{
    const epiq_cluster *k = pb->e.cluster;
    if (!k) return EPIQ_OK;
    int s = k->ranks == 1 ? EPIQ_OK
            : request->model || request->on_done
                ? epiqp_fail(pb->e.c, EPIQ_E_USAGE, "this call is for one process; leave it out, or start one rank")
                : epiqp_options_conflict(pb->e.c, o, EPIQP_SEVERAL_RANKS);
    if (!s && pb->n < k->ranks) {
        s = epiqp_fail(pb->e.c, EPIQ_E_DATA, "%td rows are fewer than the %d ranks; start fewer", pb->n, k->ranks);
    }
    s = epiq_ctx_agree(pb->e.c, s);
    return s ? s : same_everywhere(pb, &(question){pb->data, where, o});
}
