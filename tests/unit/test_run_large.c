/* test_run_large.c - what is done where rows are many, on few: no kernel matrix of all rows, against the kernel matrix of all rows
 * and against data sets drawn anew; when methods auto takes it; leverages from probes unasked. */
#include "epiq_details.h"
#include "rng/rng.h"
#include "run/run.h"

#include <math.h>

#include "one_estimate.h"
#include "usual.h"

enum { N = 200, D = 2, POINTS = 20, MOST = 10001 };
static double X[MOST * D], Y[MOST], AT[POINTS * D];

/* A smooth function of normal features, and noise of standard deviation 0.3. */
static void plant(ptrdiff_t n)
{
    epiqp_normals((epiqp_stream){11, EPIQP_FOR_SYNTH_X, 1}, n * D, X);
    epiqp_normals((epiqp_stream){12, EPIQP_FOR_SYNTH_NOISE, 1}, n, Y);
    epiqp_normals((epiqp_stream){13, EPIQP_FOR_SYNTH_X, 1}, POINTS * D, AT);
    for (ptrdiff_t i = 0; i < n; i++) {
        Y[i] = sin(1.5 * X[i * D]) + 0.5 * X[i * D + 1] + 0.3 * Y[i];
    }
}

static epiq_options planted(void)
{
    epiq_options o = usual_options();
    o.methods = EPIQ_AUTO;
    o.width = 32;
    o.members = 10;
    o.threads = 2;
    return o;
}

static int ask(ptrdiff_t n, const epiq_options *o)
{
    plant(n);
    return run(n, D, X, Y, NULL, POINTS, AT, o);
}

static int forecast(ptrdiff_t n, const epiq_options *o)
{
    done();
    plant(n);
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_data_new(c, n, D, X, Y, NULL, o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add_rows(c, at, POINTS, AT), EPIQ_OK);
    return epiq_forecast(c, data, at, o, &r);
}

/* ---- no kernel matrix of all rows ---- */

/* The same networks, another data part: its interval holds that of the kernel matrix nearly everywhere, as both err. */
TEST(without_a_kernel_matrix_the_answer_is_about_the_same)
{
    epiq_options o = planted();
    epiq_point exact[POINTS];
    ptrdiff_t held = 0;
    double ratio = 0;
    EQ(ask(N, &o), EPIQ_OK);
    EQ(r->ran->solver, EPIQ_SOLVER_EXACT);
    TRUE(!noted("subset"));
    for (ptrdiff_t p = 0; p < POINTS; p++) {
        exact[p] = *r->points[p];
    }
    const double noise = sqrt(r->fit->noise_variance);
    o.solver = EPIQ_SOLVER_SUBSET;
    EQ(ask(N, &o), EPIQ_OK);
    EQ(r->ran->solver, EPIQ_SOLVER_SUBSET);
    EQ(r->ran->methods, EPIQ_IF | EPIQ_EV);
    CONTAINS(noted("subset"), "that of 20 networks retrained on changed targets, known to +- ");
    CONTAINS(noted("subset"), " %, and how it varies over x that of kernel regression on 100 of the rows");
    SENTENCE_ROUGHLY(r->choice);
    for (ptrdiff_t p = 0; p < POINTS; p++) {
        const epiq_point *own = r->points[p];
        NEAR(own->prediction, exact[p].prediction, 0);
        NEAR(own->procedural.variance, exact[p].procedural.variance, 0);
        EQ(own->data.method, EPIQ_BY_RETRAIN);
        TRUE(own->data.has_interval && own->predictive.known == exact[p].predictive.known);
        held += own->data.lo <= exact[p].data.variance && exact[p].data.variance <= own->data.hi;
        ratio += log(own->data.variance / exact[p].data.variance) / POINTS;
        if (own->predictive.known) {
            CLOSE(own->predictive.hi - own->predictive.lo, exact[p].predictive.hi - exact[p].predictive.lo, 0.25);
        }
    }
    TRUE(held >= 16);
    NEAR(ratio, 0, 0.3);
    CLOSE(noise, 0.3, 0.25); /* misfit in it */
    CLOSE(sqrt(r->fit->noise_variance), 0.3, 0.25);
    done();
}

TEST(without_a_kernel_matrix_threads_change_no_bit)
{
    epiq_options o = planted();
    double variance[POINTS], hi[POINTS];
    o.solver = EPIQ_SOLVER_SUBSET;
    for (o.threads = 1; o.threads <= 2; o.threads++) {
        EQ(ask(N, &o), EPIQ_OK);
        for (ptrdiff_t p = 0; p < POINTS; p++) {
            if (o.threads > 1) {
                NEAR(r->points[p]->data.variance, variance[p], 0);
                NEAR(r->points[p]->predictive.hi, hi[p], 0);
            }
            variance[p] = r->points[p]->data.variance;
            hi[p] = r->points[p]->predictive.hi;
        }
    }
    done();
}

TEST(rows_left_out_have_all_parts_without_a_kernel_matrix)
{
    epiq_options o = planted();
    o.solver = EPIQ_SOLVER_SUBSET;
    plant(N);
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_data_new(c, N, D, X, Y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add_usual(c, at, &o), EPIQ_OK);
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_OK);
    EQ(r->point_count, N);
    ptrdiff_t inside = 0, known = 0;
    for (ptrdiff_t p = 0; p < N; p++) {
        const epiq_point *one = r->points[p];
        TRUE(one->left_out && one->data.known && one->procedural.known);
        known += one->predictive.known;
        inside += one->predictive.known && one->predictive.lo <= Y[p] && Y[p] <= one->predictive.hi;
    }
    TRUE(known > 190 && 10 * inside >= 9 * known && inside < known); /* 95 % of 200: 3 standard deviations below */
    done();
}

/* The triangle of n rows takes 4 n^2 bytes; what is left grows as n does. */
TEST(without_a_kernel_matrix_memory_grows_with_the_rows)
{
    epiq_options o = planted();
    EQ(forecast(4000, &o), EPIQ_OK);
    const double exact = r->cost->bytes;
    o.solver = EPIQ_SOLVER_SUBSET;
    EQ(forecast(4000, &o), EPIQ_OK);
    const double some = r->cost->bytes;
    EQ(forecast(8000, &o), EPIQ_OK);
    TRUE(exact - some > 4.0 * 4000 * 4000);
    TRUE(r->cost->bytes < 2 * some);
    done();
}

TEST(what_needs_the_kernel_matrix_is_refused_without_it)
{
    epiq_options o = planted();
    o.solver = EPIQ_SOLVER_SUBSET;
    o.engine = EPIQ_ENGINE_INFINITE;
    EQ(ask(N, &o), EPIQ_E_USAGE);
    SENTENCE(epiq_message(c));
    o.engine = EPIQ_ENGINE_NETWORK;
    o.data_by = EPIQ_DATA_BY_IF;
    EQ(ask(N, &o), EPIQ_E_USAGE);
    SENTENCE(epiq_message(c));
    o.data_by = EPIQ_DATA_BY_AUTO;
    o.hbar = EPIQ_HBAR_ENSEMBLE;
    EQ(ask(N, &o), EPIQ_E_USAGE);
    SENTENCE(epiq_message(c));
    o.hbar = EPIQ_HBAR_KERNEL;
    o.methods = EPIQ_IF;
    EQ(ask(N, &o), EPIQ_E_USAGE);
    SENTENCE(epiq_message(c));
    int64_t group[N];
    for (ptrdiff_t i = 0; i < N; i++) {
        group[i] = i / 2;
    }
    o.methods = EPIQ_AUTO;
    EQ(run(N, D, X, Y, group, POINTS, AT, &o), EPIQ_E_USAGE);
    SENTENCE(epiq_message(c));
    done();
}

/* ---- what auto does ---- */

TEST(a_matrix_that_does_not_fit_is_done_without)
{
    epiq_options o = planted();
    o.mem_limit = 40000000;
    EQ(forecast(4000, &o), EPIQ_OK);
    EQ(r->ran->solver, EPIQ_SOLVER_SUBSET);
    SENTENCE_ROUGHLY(r->choice);
    TRUE(r->cost->bytes < 40000000);
    o.methods = EPIQ_IF | EPIQ_EV; /* asked for by name it stays */
    EQ(forecast(4000, &o), EPIQ_E_NOMEM);
    done();
}

/* Above 10,000 rows; as many as rows are no probes. */
TEST(leverages_of_many_rows_come_from_probes_unasked)
{
    static const struct {
        ptrdiff_t n, asked, probes;
    } CASES[] = {{MOST - 1, 0, 0}, {MOST, 0, 64}, {MOST, 100, 100}, {MOST, MOST, MOST}};
    epiq_options o = planted();
    o.methods = EPIQ_IF | EPIQ_EV;
    o.width = 1;
    o.members = 2;
    for (int k = 0; k < 4; k++) {
        o.probes = CASES[k].asked;
        EQ(forecast(CASES[k].n, &o), EPIQ_OK);
        EQ(r->ran->probes, CASES[k].probes);
    }
    o.probes = 0;
    o.correction = EPIQ_CORRECTION_NONE; /* nothing needs them */
    o.influential = 0;
    EQ(forecast(MOST, &o), EPIQ_OK);
    EQ(r->ran->probes, 0);
    EQ(epiqp_deciding_most(10, 40000), 84); /* rows solved for beside them: a twentieth of many at most */
    EQ(epiqp_deciding_most(4500, 40000), 2000);
    EQ(epiqp_deciding_most(4500, 9000), 9000);
    done();
}
