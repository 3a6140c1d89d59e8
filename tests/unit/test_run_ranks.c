/* epiq_estimate on a cluster of threads against the same alone: networks bit for bit, the rest to rounding; what ranks
 * refuse; one rank's failure. */
#include "data/data.h"
#include "epiq_details.h"
#include "fake_cluster.h"
#include "usual.h"

#include <unistd.h>

enum { N = 60, D = 3 };

typedef struct {
    epiq_options o;
    double x[N * D], y[N];
    int64_t group[N];
    const int64_t *groups;
    ptrdiff_t n;
    epiq_result *want;
    int odd;                       /* the rank that is asked something else; -1: none */
    double shift;                  /* of its first row */
    ptrdiff_t other_members;       /* of its options; 0: as all */
    int fail_rank, fail_after;     /* whose allocation fails */
    int status[CREW_MOST];         /* of every rank */
    char sentence[CREW_MOST][256]; /* likewise */
    ptrdiff_t resumed;
} question;

static int ask(const question *q, epiq_ctx *c, bool odd, epiq_result **r)
{
    epiq_options o = q->o;
    epiq_data *data = NULL;
    epiq_points *at = NULL;
    double x[N * D];
    memcpy(x, q->x, sizeof x);
    x[0] += odd ? q->shift : 0;
    o.members = odd && q->other_members ? q->other_members : o.members;
    int s = epiq_data_new(c, q->n, D, x, q->y, q->groups, &o, &data);
    s = s ? s : epiq_points_new(c, data, &at);
    s = s ? s : epiq_points_add(c, at, "row:1");
    s = s ? s : epiq_points_add_rows(c, at, 1, (double[]){0.3, -0.2, 0.5});
    s = epiq_ctx_agree(c, s);
    s = s ? s : epiq_estimate(c, data, at, &o, r);
    epiq_points_free(c, at);
    epiq_data_free(c, data);
    return s;
}

static void same_part(epiq_part got, epiq_part want)
{
    EQ(got.known, want.known);
    CLOSE(got.variance, want.variance, 1e-9);
    CLOSE(got.lo, want.lo, 1e-9);
}

static void same_networks(const double *got, const double *want, ptrdiff_t count, bool trained)
{
    for (ptrdiff_t k = 0; want && k < count; k++) {
        NEAR(got[k], want[k], trained ? 0 : 1e-9);
    }
}

/* trained: networks are, on their own; those of engine linear share the kernel's solution, and so its rounding. */
static void same_result(const epiq_result *got, const epiq_result *want, bool trained)
{
    EQ(got->point_count, want->point_count);
    EQ(got->warning_count, want->warning_count);
    for (ptrdiff_t p = 0; p < want->point_count; p++) {
        const epiq_point *a = got->points[p], *b = want->points[p];
        EQ(a->member_count, b->member_count);
        EQ(a->batch_count, b->batch_count);
        same_networks(a->members, b->members, b->member_count, trained);
        same_networks(a->batches, b->batches, b->batch_count, true);
        CLOSE(a->prediction, b->prediction, 1e-9);
        same_part(a->data, b->data);
        same_part(a->procedural, b->procedural);
        same_part(a->ensemble, b->ensemble);
        same_part(a->infinite, b->infinite);
        for (int k = 0; k < EPIQ_CORRECTIONS; k++) {
            same_part(*epiq_point_corrected(a, k), *epiq_point_corrected(b, k));
        }
        EQ(a->predictive.known, b->predictive.known);
        CLOSE(a->predictive.lo, b->predictive.lo, 1e-9);
        CLOSE(a->probe_error, b->probe_error, 1e-6); /* a difference of means */
    }
    EQ(got->fit->known, want->fit->known);
    CLOSE(got->fit->kernel_rmse, want->fit->kernel_rmse, 1e-9);
    EQ(got->training->members, want->training->members);
    EQ(got->training->iterations_median, want->training->iterations_median);
    TRUE(got->training->loss_max == want->training->loss_max);
}

static void work(void *job, epiq_ctx *c)
{
    question *q = job;
    epiq_result *r = NULL;
    int rank = c->cluster->rank;
    c->fail_after = rank == q->fail_rank ? q->fail_after : -1;
    q->status[rank] = ask(q, c, rank == q->odd, &r);
    snprintf(q->sentence[rank], sizeof q->sentence[0], "%s", epiq_message(c));
    if (q->status[rank] >= 0) {
        EQ(r->ranks, c->cluster->ranks);
        if (rank == 0) { /* one at a time: failures are counted without a lock */
            same_result(r, q->want, q->o.engine != EPIQ_ENGINE_LINEAR || q->o.linear_kernel == EPIQ_KERNEL_EMPIRICAL);
            q->resumed = r->training->resumed;
        }
    }
    epiq_result_free(c, r);
}

static void set_up(question *q)
{
    *q = (question){.o = usual_options(), .n = N, .odd = -1, .fail_rank = -1};
    epiq_ctx *c;
    epiq_ctx_new(&c);
    EQ(epiq_synth(c, 1, N, D, 4, q->x, q->y), EPIQ_OK);
    epiq_ctx_free(c);
    for (int i = 0; i < N; i++) {
        q->group[i] = i / 2;
    }
    q->o.methods = EPIQ_IF | EPIQ_EV | EPIQ_BA;
    q->o.members = 5;
    q->o.fold_members = 0;
    q->o.batches = 4;
    q->o.width = 16;
    q->o.lambda = 0.01;
    q->o.threads = 1;
}

static void alone(question *q, epiq_ctx *c)
{
    EQ(ask(q, c, false, &q->want), EPIQ_OK);
    EQ(q->want->ranks, 1);
}

static const struct {
    int rows, cols;
} GRIDS[] = {{1, 1}, {1, 2}, {1, 3}, {2, 2}};

static void compare(question *q)
{
    epiq_ctx *c;
    epiq_ctx_new(&c);
    alone(q, c);
    for (size_t g = 0; g < sizeof GRIDS / sizeof *GRIDS; g++) {
        crew_run(GRIDS[g].rows, GRIDS[g].cols, 8, work, q);
        for (int r = 0; r < GRIDS[g].rows * GRIDS[g].cols; r++) {
            EQ(q->status[r], EPIQ_OK);
        }
    }
    epiq_result_free(c, q->want);
    epiq_ctx_free(c);
}

TEST(all_methods_give_what_one_process_gives)
{
    question q;
    set_up(&q);
    compare(&q);
}

TEST(ranks_choose_the_same_network)
{
    question q;
    set_up(&q);
    q.o.width = 0;
    q.o.methods = EPIQ_EV;
    compare(&q);
    q.o.engine = EPIQ_ENGINE_INFINITE;
    q.o.lambda = 0;
    compare(&q);
}

TEST(groups_probes_and_other_engines_too)
{
    question q;
    set_up(&q);
    q.groups = q.group;
    compare(&q);
    set_up(&q);
    q.o.probes = 32;
    compare(&q);
    set_up(&q);
    q.o.engine = EPIQ_ENGINE_LINEAR;
    compare(&q);
    q.o.linear_kernel = EPIQ_KERNEL_EMPIRICAL;
    compare(&q);
    set_up(&q);
    q.o.engine = EPIQ_ENGINE_INFINITE;
    compare(&q);
    set_up(&q);
    q.o.kernel = EPIQ_KERNEL_EMPIRICAL;
    q.o.hbar = EPIQ_HBAR_ENSEMBLE;
    compare(&q);
}

TEST(rank_0_keeps_the_state_of_all)
{
    char path[] = "/tmp/epiq-ranks-XXXXXX";
    close(mkstemp(path));
    unlink(path);
    question q;
    set_up(&q);
    epiq_ctx *c;
    epiq_ctx_new(&c);
    alone(&q, c);
    q.o.state = path;
    crew_run(1, 3, 8, work, &q);
    EQ(q.status[2], EPIQ_OK);
    EQ(q.resumed, 0);
    crew_run(1, 2, 8, work, &q);
    EQ(q.resumed, 9 + q.want->retrain->networks);
    epiq_result_free(c, q.want);
    alone(&q, c);
    EQ(q.want->training->resumed, 9 + q.want->retrain->networks); /* one process reads what three have written */
    epiq_result_free(c, q.want);
    epiq_ctx_free(c);
    unlink(path);
}

static void all_fail(question *q, int size, int status, const char *part)
{
    crew_run(1, size, 8, work, q);
    for (int r = 0; r < size; r++) {
        EQ(q->status[r], status);
        SAYS_ROUGHLY(q->sentence[r], part);
    }
}

TEST(ranks_that_are_asked_different_things_say_so)
{
    question q;
    set_up(&q);
    q.odd = 1;
    q.shift = 1e-6;
    all_fail(&q, 3, EPIQ_E_DATA, NULL);
    q.shift = 0;
    q.other_members = 6;
    all_fail(&q, 2, EPIQ_E_DATA, NULL);
    q.odd = -1;
    q.n = 4;
    q.o.methods = EPIQ_IF;
    all_fail(&q, 5, EPIQ_E_DATA, "4 rows");
}

TEST(what_is_not_shared_out_is_refused)
{
    question q;
    set_up(&q);
    q.o.solver = EPIQ_SOLVER_ITERATIVE;
    all_fail(&q, 2, EPIQ_E_USAGE, "solver iterative");
    set_up(&q);
    q.o.engine = EPIQ_ENGINE_LINEAR;
    q.o.hbar = EPIQ_HBAR_ENSEMBLE;
    all_fail(&q, 2, EPIQ_E_USAGE, "hbar ensemble");
    set_up(&q);
    q.o.mem_limit = 1 << 20;
    all_fail(&q, 2, EPIQ_E_NOMEM, NULL);
}

TEST(memory_lost_on_one_rank_ends_all_with_its_sentence)
{
    question q;
    set_up(&q);
    q.o.members = 2;
    q.o.batches = 2;
    q.o.optimizer = EPIQ_OPTIMIZER_GD; /* two steps, several hundred times over */
    q.o.steps = 2;
    epiq_ctx *c;
    epiq_ctx_new(&c);
    alone(&q, c);
    for (q.fail_rank = 0; q.fail_rank < 2; q.fail_rank++) {
        for (q.fail_after = 0; q.fail_after < 2000; q.fail_after++) {
            crew_run(1, 2, 8, work, &q);
            EQ(q.status[0], q.status[1]);
            if (q.status[0] == EPIQ_OK) break;
            EQ(q.status[0], EPIQ_E_NOMEM);
            CONTAINS(q.sentence[1 - q.fail_rank], "memory");
        }
        TRUE(q.fail_after > 50 && q.fail_after < 2000);
    }
    epiq_result_free(c, q.want);
    epiq_ctx_free(c);
}
