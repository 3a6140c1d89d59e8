/* test_run_choices.c - epiq_estimate where it chooses for the caller, warns, or refuses: the methods of auto, solvers where memory
 * is short, rows and points too large, rows too few, and variances below rounding. */
#include "epiq_combine.h"
#include "epiq_details.h"
#include "est/variance.h"
#include "run/run.h"

#include <stdlib.h>
#include <unistd.h>

#include "one_estimate.h"
#include "usual.h"

enum { N = 40, D = 2, MANY = 1024 };
static double X[10001 * D], Y[10001];
static const double X0[2 * D] = {0.1, 0.2, 0.3, 0.1};

static void make(ptrdiff_t n)
{
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    EQ(epiq_synth(own, 1, n, D, 5, X, Y), EPIQ_OK);
    epiq_ctx_free(own);
}

static epiq_options small(void)
{
    epiq_options o = usual_options();
    o.scale = EPIQ_SCALE_NONE;
    o.width = 8;
    o.members = 3;
    o.batches = 2;
    o.fold_members = 0;
    o.threads = 2;
    return o;
}

static int ask(ptrdiff_t n, const epiq_options *o)
{
    make(n);
    return run(n, D, X, Y, NULL, 2, X0, o);
}

/* ---- methods ---- */

TEST(auto_takes_the_cheaper_two)
{
    epiq_options o = small();
    o.methods = EPIQ_AUTO;
    EQ(ask(N, &o), EPIQ_OK);
    EQ(r->ran->methods, EPIQ_IF | EPIQ_EV);
    SAYS_ROUGHLY(r->choice, "40 rows");
    o.hbar = EPIQ_HBAR_ENSEMBLE;
    EQ(ask(N, &o), EPIQ_OK);
    EQ(r->ran->methods, EPIQ_IF | EPIQ_EV);
    o.hbar = EPIQ_HBAR_KERNEL;
    o.width = 1; /* so that ten thousand rows take no time: one step of one unit */
    o.members = 2;
    o.optimizer = EPIQ_OPTIMIZER_GD;
    o.steps = 1;
    EQ(ask(10001, &o), EPIQ_OK);
    EQ(r->ran->methods, EPIQ_IF | EPIQ_EV);
    SAYS_ROUGHLY(r->choice, "10001 rows");
    SAYS_ROUGHLY(warned("stopped_early"), "32 of 32 networks");
    EQ(r->points[0]->data.method, EPIQ_BY_RETRAIN);
    TRUE(r->points[0]->data.known && r->points[0]->data.has_interval && r->cost->bytes < 1e8);
    o.data_by = EPIQ_DATA_BY_IF;
    EQ(ask(10001, &o), EPIQ_OK);
    EQ(r->ran->methods, EPIQ_EV | EPIQ_BA);
    SAYS_ROUGHLY(r->choice, "10001 rows");
    SAYS_ROUGHLY(warned("stopped_early"), "4 of 4 networks");
    done();
}

/* Without a word about where: rows left out, and the mean where the options have no way to leave them out. */
TEST(rows_are_asked_about_unless_they_cannot_be_left_out)
{
    epiq_options o = small();
    o.fold_members = 2;
    make(N);
    for (int mean = 0; mean < 2; mean++) {
        o.engine = mean ? EPIQ_ENGINE_INFINITE : EPIQ_ENGINE_NETWORK;
        o.time = mean;
        EQ(epiq_ctx_new(&c), EPIQ_OK);
        EQ(epiq_data_new(c, N, D, X, Y, NULL, &o, &data), EPIQ_OK);
        EQ(epiq_points_new(c, data, &at), EPIQ_OK);
        EQ(epiq_points_add_usual(c, at, &o), EPIQ_OK);
        EQ(epiq_points_count(at), mean ? 1 : N);
        EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_OK);
        STR(r->points[0]->at, mean ? "mean" : "row:1");
        EQ(r->points[0]->left_out, !mean);
        if (mean) SENTENCE(warned("mean_row"));
        TRUE(mean || !warned("mean_row"));
        done();
    }
}

TEST(rows_too_few_to_batch_are_said)
{
    epiq_options o = small();
    EQ(ask(3, &o), EPIQ_E_DATA);
    SAYS_ROUGHLY(epiq_message(c), "methods");
    o.batches = 5;
    EQ(ask(8, &o), EPIQ_E_DATA);
    SAYS_ROUGHLY(epiq_message(c), "batches");
    done();
}

static int finish_at_batches(void *user, const epiq_progress *p)
{
    if (strcmp(p->stage, "batches") == 0) epiq_ctx_finish(user);
    return 0;
}

/* Asked to finish while BA is at work: the other two are the answer. */
TEST(batches_left_out_leave_the_rest)
{
    epiq_options o = small();
    o.threads = 1;
    o.methods = EPIQ_IF | EPIQ_EV;
    EQ(ask(N, &o), EPIQ_OK);
    epiq_point two = *r->points[1];
    epiq_result_free(c, r);
    o.methods |= EPIQ_BA;
    epiq_ctx_on_progress(c, finish_at_batches, c);
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_PARTIAL);
    EQ(r->ran->methods, EPIQ_IF | EPIQ_EV);
    SENTENCE_ROUGHLY(warned("stopped"));
    NEAR(r->points[1]->data.variance, two.data.variance, 0);
    NEAR(r->points[1]->procedural.variance, two.procedural.variance, 0);
    TRUE(!r->points[1]->check.known);
    epiq_result_free(c, r);
    r = NULL;
    o.methods = EPIQ_BA; /* and by itself it leaves nothing */
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_E_STOPPED);
    done();
}

static const char *finish_stage;

static int finish_at(void *user, const epiq_progress *p)
{
    if (strcmp(p->stage, finish_stage) == 0 && p->done == p->all) epiq_ctx_finish(user);
    return 0;
}

/* The last member is there when the request comes: nothing of EV is lost, and BA has not begun. With the last batch there,
 * nothing is lost at all. */
TEST(a_request_after_the_last_network_loses_nothing)
{
    static const char *const STAGES[] = {"members", "batches"};
    epiq_options o = small();
    o.methods = EPIQ_IF | EPIQ_EV | EPIQ_BA;
    o.data_by = EPIQ_DATA_BY_IF;
    EQ(ask(N, &o), EPIQ_OK);
    epiq_point whole = *r->points[1];
    epiq_ctx_on_progress(c, finish_at, c);
    for (int k = 0; k < 2; k++) {
        epiq_result_free(c, r);
        r = NULL;
        finish_stage = STAGES[k];
        EQ(epiq_estimate(c, data, at, &o, &r), k ? EPIQ_OK : EPIQ_PARTIAL);
        EQ(r->ran->methods, k ? EPIQ_IF | EPIQ_EV | EPIQ_BA : EPIQ_IF | EPIQ_EV);
        TRUE((warned("stopped") != NULL) == !k);
        NEAR(r->points[1]->procedural.variance, whole.procedural.variance, 0);
        NEAR(r->points[1]->data.variance, whole.data.variance, 0);
    }
    done();
}

static bool members_seen;

static int finish_behind_members(void *user, const epiq_progress *p)
{
    if (strcmp(p->stage, "members") == 0) {
        members_seen = true;
    } else if (members_seen) {
        epiq_ctx_finish(user);
    }
    return 0;
}

/* Asked to finish while IF factorises: EV's networks, which took the time, are the answer. */
TEST(an_influence_left_out_leaves_the_networks)
{
    epiq_options o = small();
    o.kernel = EPIQ_KERNEL_EMPIRICAL; /* factorised behind EV */
    o.methods = EPIQ_EV;
    EQ(ask(N, &o), EPIQ_OK);
    epiq_point one = *r->points[1];
    for (int k = 0; k < 2; k++) {
        epiq_result_free(c, r);
        r = NULL;
        o.methods = EPIQ_IF | EPIQ_EV | (k ? EPIQ_BA : 0);
        members_seen = false;
        epiq_ctx_on_progress(c, finish_behind_members, c);
        EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_PARTIAL);
        EQ(r->ran->methods, EPIQ_EV);
        SENTENCE_ROUGHLY(warned("stopped"));
        NEAR(r->points[1]->procedural.variance, one.procedural.variance, 0);
        TRUE(!r->points[1]->data.known && !*epiq_message(c));
    }
    done();
}

static ptrdiff_t solves_seen, solves_left;

/* Behind the members, the iterations of IF are counted; after solves_left of them the run is asked to finish. */
static int finish_in_solves(void *user, const epiq_progress *p)
{
    members_seen = members_seen || strcmp(p->stage, "members") == 0;
    if (members_seen && strcmp(p->stage, "solve") == 0 && ++solves_seen > solves_left) epiq_ctx_finish(user);
    return 0;
}

/* Wherever IF is interrupted, nothing of it is in the answer: no variance, no influential rows, no error, no noise. */
TEST(an_influence_half_made_leaves_nothing)
{
    epiq_options o = small();
    o.methods = EPIQ_IF | EPIQ_EV;
    o.data_by = EPIQ_DATA_BY_IF;
    o.solver = EPIQ_SOLVER_ITERATIVE;
    o.influential = 3;
    o.threads = 1;
    solves_seen = 0;
    solves_left = PTRDIFF_MAX;
    members_seen = false;
    EQ(ask(MANY, &o), EPIQ_OK);
    epiq_ctx_on_progress(c, finish_in_solves, c);
    epiq_result_free(c, r);
    r = NULL;
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_OK);
    TRUE(r->points[0]->data.known && r->points[0]->influential_count == 3 && r->points[0]->probe_error > 0 &&
         r->fit->known);
    const ptrdiff_t all = solves_seen;
    TRUE(all > 1);
    for (int k = 0; k < 2; k++) { /* at the first of them, and at the last */
        epiq_result_free(c, r);
        r = NULL;
        solves_seen = 0;
        solves_left = k ? all - 1 : 0;
        members_seen = false;
        EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_PARTIAL);
        EQ(r->ran->methods, EPIQ_EV);
        const epiq_point *p = r->points[0];
        TRUE(!p->data.known && !p->influential_count && !epiq_point_corrected(p, 0)->known && !p->predictive.known);
        TRUE(p->probe_error == 0 && !r->fit->known && !r->solve->probes && p->procedural.known);
    }
    done();
}

/* ---- rows and points ---- */

TEST(points_are_of_the_same_rows)
{
    epiq_options o = small();
    epiq_result *none = NULL;
    epiq_points *empty;
    EQ(ask(N, &o), EPIQ_OK);
    EQ(epiq_points_new(c, data, &empty), EPIQ_OK);
    EQ(epiq_estimate(c, data, empty, &o, &none), EPIQ_E_DATA);
    SENTENCE_ROUGHLY(epiq_message(c));
    epiq_data *other;
    EQ(epiq_data_new(c, N, D, X, Y, NULL, &o, &other), EPIQ_OK);
    EQ(epiq_estimate(c, other, at, &o, &none), EPIQ_E_DATA);
    TRUE(!none);
    epiq_data_free(c, other);
    epiq_points_free(c, empty);
    done();
}

TEST(what_cannot_be_squared_is_named)
{
    epiq_options o = small();
    double far[D] = {1e200, 0}, kernel[9];
    make(N);
    EQ(run(N, D, X, Y, NULL, 1, far, &o), EPIQ_E_NUMERIC);
    SENTENCE_ROUGHLY(epiq_message(c));
    X[2 * D] = 1e200;
    EQ(run(N, D, X, Y, NULL, 1, X0, &o), EPIQ_E_NUMERIC);
    SAYS_ROUGHLY(epiq_message(c), "scale standard");
    EQ(epiq_kernel(c, data, &o, kernel, NULL), EPIQ_E_NUMERIC);
    SAYS_ROUGHLY(epiq_message(c), "row 3");
    done();
}

/* Without noise and at a row, networks of any start agree: what is left of the closed form is rounding. */
TEST(variances_below_rounding_are_withheld)
{
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.lambda = 1e-16;
    make(N);
    EQ(run(N, D, X, Y, NULL, 1, X + 3 * D, &o), EPIQ_OK);
    TRUE(!r->points[0]->procedural.known);
    SAYS_ROUGHLY(warned("lost_in_rounding"), "1 of 1 points");
    done();
}

TEST(equal_rows_need_jitter_and_it_is_said)
{
    epiq_options o = small();
    o.lambda = 1e-16;
    o.methods = EPIQ_IF;
    make(N);
    for (ptrdiff_t k = 0; k < N * D; k++) { /* the kernel has rank 2, and its rounding is far above lambda */
        X[k] = k < 2 * D ? 1000 * X[k] : X[k % (2 * D)];
    }
    EQ(run(N, D, X, Y, NULL, 2, X0, &o), EPIQ_OK);
    SENTENCE_ROUGHLY(warned("jitter"));
    done();
}

/* ---- memory ---- */

static epiq_options printed(void)
{
    epiq_options o = small();
    o.methods = EPIQ_IF;
    o.correction = EPIQ_CORRECTION_NONE;
    o.influential = 0;
    o.rank = 60;
    return o;
}

TEST(iteration_takes_the_place_of_a_factor_that_does_not_fit)
{
    epiq_options o = printed();
    EQ(ask(MANY, &o), EPIQ_OK);
    epiq_point exact = *r->points[0];
    double whole = r->cost->bytes;
    o.solver = EPIQ_SOLVER_AUTO;
    o.mem_limit = (ptrdiff_t)whole - 1000000;
    EQ(ask(MANY, &o), EPIQ_OK);
    EQ(r->ran->solver, EPIQ_SOLVER_ITERATIVE);
    TRUE(r->cost->bytes <= whole - 1000000 && r->solve->iterations > 0 && r->solve->residual <= o.tolerance);
    SENTENCE_ROUGHLY(warned("approximated"));
    CLOSE(r->points[0]->prediction, exact.prediction, 1e-4); /* residual 1e-6 times the root of the condition, 1e3 */
    CLOSE(r->points[0]->data.variance, exact.data.variance, 1e-3);
    o.mem_limit = (ptrdiff_t)whole + 1000000;
    EQ(ask(MANY, &o), EPIQ_OK);
    EQ(r->ran->solver, EPIQ_SOLVER_EXACT);
    NEAR(r->points[0]->prediction, exact.prediction, 0);
    done();
}

TEST(a_factor_on_disk_gives_the_same_bits)
{
    char folder[] = "/tmp/epiq-edges-XXXXXX";
    TRUE(mkdtemp(folder));
    epiq_options o = printed();
    EQ(ask(MANY, &o), EPIQ_OK);
    epiq_point memory = *r->points[1];
    o.mem_limit = (ptrdiff_t)r->cost->bytes - 300000;
    o.scratch = folder;
    EQ(ask(MANY, &o), EPIQ_OK);
    SAYS_ROUGHLY(noted("scratch"), folder);
    NEAR(r->points[1]->prediction, memory.prediction, 0);
    NEAR(r->points[1]->data.variance, memory.data.variance, 0);
    o.scratch = "/nowhere/at/all";
    EQ(ask(MANY, &o), EPIQ_E_FILE);
    SENTENCE_ROUGHLY(epiq_message(c));
    done();
    EQ(rmdir(folder), 0); /* nothing was left in it */
}

/* Every way there is within the memory is offered, and none that is not. */
TEST(what_does_not_fit_is_refused_with_what_does)
{
    epiq_options o = small();
    o.data_by = EPIQ_DATA_BY_IF;
    o.mem_limit = 41000000; /* the triangle of 4100 rows takes 67 MB */
    EQ(ask(4100, &o), EPIQ_E_NOMEM);
    SAYS_ROUGHLY(epiq_message(c), "4100 rows");
    CONTAINS(epiq_message(c), "solver divided (0.0");
    CONTAINS(epiq_message(c), "methods ev,ba (0.0");
    TRUE(!strstr(epiq_message(c), "solver iterative")); /* of 1000 landmarks, which take 33 MB and 8 more */
    o.rank = 100;
    o.mem_limit = 60000000;
    EQ(ask(4100, &o), EPIQ_E_NOMEM);
    SAYS_ROUGHLY(epiq_message(c), "solver iterative (0.0");
    o.mem_limit = 150000000; /* 6000 rows take 147 MB, and 98 of them are four panels */
    o.correction = EPIQ_CORRECTION_UNBIASED;
    EQ(ask(6000, &o), EPIQ_E_NOMEM);
    SAYS_ROUGHLY(epiq_message(c), "scratch DIR probes 64 (0.15 GB");
    o.correction = EPIQ_CORRECTION_NONE;
    o.influential = 0;
    EQ(ask(6000, &o), EPIQ_E_NOMEM);
    SAYS_ROUGHLY(epiq_message(c), "scratch DIR (0.15 GB");
    o.solver = EPIQ_SOLVER_DIVIDED;
    o.parts = 2;
    o.mem_limit = 12000000;
    EQ(ask(4100, &o), EPIQ_E_NOMEM);
    SAYS_ROUGHLY(epiq_message(c), "parts");
    o.solver = EPIQ_SOLVER_ITERATIVE;
    EQ(ask(4100, &o), EPIQ_E_NOMEM);
    TRUE(!strstr(epiq_message(c), "solver iterative"));
    o = small();
    o.engine = EPIQ_ENGINE_INFINITE; /* one that has no other way */
    o.time = 1;
    o.mem_limit = 40000000;
    EQ(ask(4100, &o), EPIQ_E_NOMEM);
    SENTENCE_ROUGHLY(epiq_message(c));
    o.time = 0;
    o.engine = EPIQ_ENGINE_LINEAR;
    o.linear_kernel = EPIQ_KERNEL_EMPIRICAL;
    o.mem_limit = 60000000;
    EQ(ask(4100, &o), EPIQ_E_NOMEM); /* every member has a triangle of its own */
    SAYS_ROUGHLY(epiq_message(c), "0.2");
    done();
}

/* ---- names ---- */

TEST(what_is_no_method_or_action_is_unknown)
{
    STR(epiq_method_text(EPIQ_BY_INFINITE), "infinite");
    STR(epiq_method_text(EPIQ_BY_RETRAIN), "retrain");
    STR(epiq_method_text(EPIQ_BY_RETRAIN_EV), "retrain+ev");
    STR(epiq_method_text((epiq_method)(EPIQ_BY_BA_RETRAIN + 1)), "unknown");
    STR(epiq_action_text(EPIQ_DO_EITHER), "either");
    STR(epiq_action_text((epiq_action)(EPIQ_DO_EITHER + 1)), "unknown");
}
