/* --solver divided: one part is the exact solution; two parts against epiq_estimate on each half, put together here by
 * the formulas of docs/method.md; and what holds everywhere: threads, allocations, stopping, refusals. */
#include "allocations.h"
#include "epiq_combine.h"
#include "epiq_decide.h"
#include "epiq_details.h"
#include "epiq_model.h"
#include "est/assemble.h"
#include "est/variance.h"
#include "one_estimate.h"
#include "run/run.h"
#include "usual.h"

#include <stdlib.h>
#include <unistd.h>

enum { N = 24, D = 2, POINTS = 2 };
static double X[N * D], Y[N];
static const double X0[POINTS * D] = {0.1, 0.1, 0.03, 0.17};

static void synth(ptrdiff_t n, ptrdiff_t d, double *x, double *y)
{
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    EQ(epiq_synth(own, 1, n, d, 5, x, y), EPIQ_OK);
    epiq_ctx_free(own);
}

static epiq_options closed(ptrdiff_t parts)
{
    epiq_options o = usual_options();
    o.scale = EPIQ_SCALE_NONE;
    o.engine = EPIQ_ENGINE_INFINITE;
    o.methods = EPIQ_IF | EPIQ_EV;
    o.level = 0.9;
    o.threads = 2;
    o.width = 16;
    o.members = 3;
    o.batches = 2;
    o.solver = parts ? EPIQ_SOLVER_DIVIDED : EPIQ_SOLVER_EXACT;
    o.parts = parts;
    return o;
}

/* ---- one part ---- */

TEST(one_part_is_the_exact_solution)
{
    synth(N, D, X, Y);
    for (int way = 0; way < 2; way++) {
        epiq_options exact = closed(0), one = closed(1);
        exact.probes = one.probes = way ? 16 : 0;
        EQ(run(N, D, X, Y, NULL, POINTS, X0, &exact), EPIQ_OK);
        epiq_point want[POINTS];
        struct epiq_corrected corrected[POINTS];
        epiq_influence first[POINTS];
        double loo[N] = {0}, loo_sd[N] = {0}, rmse = r->fit->kernel_rmse, noise = r->fit->kernel_noise_variance;
        for (int p = 0; p < POINTS; p++) {
            want[p] = *r->points[p];
            corrected[p] = *want[p].corrected; /* which ends with the result */
            want[p].corrected = &corrected[p];
            first[p] = *r->points[p]->influential[0];
        }
        if (!way) {
            memcpy(loo, r->fit->loo, sizeof loo);
            memcpy(loo_sd, r->fit->loo_sd, sizeof loo_sd);
        }
        EQ(run(N, D, X, Y, NULL, POINTS, X0, &one), EPIQ_OK);
        EQ(r->ran->solver, EPIQ_SOLVER_DIVIDED);
        EQ(r->ran->parts, 1);
        for (int p = 0; p < POINTS; p++) {
            const epiq_point *got = r->points[p];
            NEAR(got->prediction, want[p].prediction, 0);
            NEAR(got->procedural.variance, want[p].procedural.variance, 0);
            NEAR(got->data.variance, want[p].data.variance, 0);
            CLOSE(got->data.df, want[p].data.df, 1e-15 * 4); /* 1/(1/df) */
            CLOSE(got->data.hi, want[p].data.hi, 1e-12);
            CLOSE(got->probe_error, want[p].probe_error, 1e-14);
            EQ(got->predictive.known, want[p].predictive.known);
            EQ(got->influential_count, want[p].influential_count);
            EQ(got->influential[0]->row, first[p].row);
            NEAR(got->influential[0]->influence, first[p].influence, 0);
            for (int how = 0; how < EPIQ_CORRECTIONS; how++) {
                NEAR(epiq_point_corrected(got, how)->variance, epiq_point_corrected(&want[p], how)->variance, 0);
            }
        }
        CLOSE(r->fit->kernel_rmse, rmse, 1e-14);
        CLOSE(r->fit->kernel_noise_variance, noise, 1e-14); /* shift^2 above and below */
        for (int i = 0; !way && i < N; i++) {
            NEAR(r->fit->loo[i], loo[i], 0);
            CLOSE(r->fit->loo_sd[i], loo_sd[i], 1e-14);
        }
        EQ(noted("probes") != NULL, way);
    }
    done();
}

/* ---- two parts, by hand ---- */

typedef struct {
    ptrdiff_t n, row[N]; /* which rows of all */
    double x[N * D], y[N];
    int64_t group[N];
    epiq_point point[POINTS];
    struct epiq_corrected corrected[POINTS];
    double c[POINTS][N], at_rows[N], loo[N], loo_sd[N], noise; /* at_rows: its prediction of each of all rows */
} half;

static void halves(const epiq_options *o, const int64_t *group, half h[2])
{
    ptrdiff_t part_of_row[N], sizes[2];
    epiq_options exact = *o;
    exact.solver = EPIQ_SOLVER_EXACT;
    exact.influential = N;
    EQ(run(N, D, X, Y, group, POINTS, X0, &exact), EPIQ_OK);
    EQ(epiqp_partition(c, data, (epiqp_stream){o->seed, EPIQP_FOR_PARTS, 0}, 2, part_of_row, sizes), EPIQ_OK);
    for (int k = 0; k < 2; k++) {
        half *own = &h[k];
        own->n = 0;
        for (ptrdiff_t i = 0; i < N; i++) {
            if (part_of_row[i] == k) {
                own->row[own->n] = i;
                memcpy(own->x + own->n * D, X + i * D, D * sizeof(double));
                own->group[own->n] = group ? group[i] : i;
                own->y[own->n++] = Y[i];
            }
        }
        EQ(own->n, sizes[k]);
        EQ(run(own->n, D, own->x, own->y, group ? own->group : NULL, N, X, &exact), EPIQ_OK);
        for (ptrdiff_t i = 0; i < N; i++) {
            own->at_rows[i] = r->points[i]->prediction;
        }
        for (ptrdiff_t i = 0; i < own->n; i++) { /* the prediction is linear in y: c is what unit vectors give */
            double unit[N] = {0};
            unit[i] = 1;
            exact.methods = EPIQ_EV;
            EQ(run(own->n, D, own->x, unit, NULL, POINTS, X0, &exact), EPIQ_OK);
            own->c[0][i] = r->points[0]->prediction;
            own->c[1][i] = r->points[1]->prediction;
        }
        exact.methods = o->methods;
        EQ(run(own->n, D, own->x, own->y, group ? own->group : NULL, POINTS, X0, &exact), EPIQ_OK);
        for (int p = 0; p < POINTS; p++) {
            own->point[p] = *r->points[p];
            own->corrected[p] = *own->point[p].corrected; /* which ends with the result */
            own->point[p].corrected = &own->corrected[p];
        }
        memcpy(own->loo, r->fit->loo, (size_t)own->n * sizeof *own->loo);
        memcpy(own->loo_sd, r->fit->loo_sd, (size_t)own->n * sizeof *own->loo_sd);
        own->noise = r->fit->kernel_noise_variance;
    }
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* tau^2 = Q00 - 2 c'Q0 + c'Qc, with Q from epiq_kernel */
static double procedural(const half h[2], int p)
{
    double x[(N + 1) * D], y[N + 1] = {1}, q[(N + 1) * (N + 1)], w[N + 1] = {1}, tau2 = 0;
    memcpy(x, X0 + p * D, D * sizeof *x);
    memcpy(x + D, X, sizeof X);
    for (int k = 0; k < 2; k++) {
        for (ptrdiff_t i = 0; i < h[k].n; i++) {
            w[1 + h[k].row[i]] = -h[k].c[p][i] / 2;
        }
    }
    epiq_options o = closed(0);
    epiq_ctx *own;
    epiq_data *rows;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    EQ(epiq_data_new(own, N + 1, D, x, y, NULL, &o, &rows), EPIQ_OK);
    EQ(epiq_kernel(own, rows, &o, NULL, q), EPIQ_OK);
    for (int i = 0; i <= N; i++) {
        for (int k = 0; k <= N; k++) {
            tau2 += w[i] * w[k] * q[i * (N + 1) + k];
        }
    }
    epiq_data_free(own, rows);
    epiq_ctx_free(own);
    return tau2;
}

TEST(two_parts_are_the_halves_put_together)
{
    const double tol = 1e-9; /* as promised of the exact solution: the condition number of A is below 1e5 here */
    static half h[2];
    epiq_options o = closed(2);
    synth(N, D, X, Y);
    halves(&o, NULL, h);
    o.influential = N;
    EQ(run(N, D, X, Y, NULL, POINTS, X0, &o), EPIQ_OK);
    double e[N], part[N], fitted2 = 0, freedom = 0; /* residuals without the row: of the mean, of its own half */
    for (int k = 0; k < 2; k++) {
        double own2 = 0;
        for (ptrdiff_t i = 0; i < h[k].n; i++) {
            ptrdiff_t row = h[k].row[i];
            double loo = (h[k].loo[i] + h[!k].at_rows[row]) / 2;
            e[row] = Y[row] - loo;
            part[row] = Y[row] - h[k].loo[i];
            NEAR(r->fit->loo[row], loo, tol);
            own2 += (Y[row] - h[k].at_rows[row]) * (Y[row] - h[k].at_rows[row]);
        }
        fitted2 += own2;
        freedom += own2 / h[k].noise; /* trace of M^2 */
    }
    CLOSE(r->fit->kernel_noise_variance, fitted2 / freedom, tol);
    for (int k = 0; k < 2; k++) {
        for (ptrdiff_t i = 0; i < h[k].n; i++) {
            double alone = h[k].loo_sd[i] * h[k].loo_sd[i] / h[k].noise;
            CLOSE(r->fit->loo_sd[h[k].row[i]], sqrt(r->fit->kernel_noise_variance * (1 + (alone - 1) / 2)), tol);
        }
    }
    for (int p = 0; p < POINTS; p++) {
        const epiq_point *got = r->points[p], *a = &h[0].point[p], *b = &h[1].point[p];
        CLOSE(got->prediction, (a->prediction + b->prediction) / 2, tol);
        CLOSE(got->kernel_prediction.value, got->prediction, 0);
        for (int how = 0; how < EPIQ_CORRECTIONS; how++) {
            double u = epiq_point_corrected(a, how)->variance, v = epiq_point_corrected(b, how)->variance;
            CLOSE(epiq_point_corrected(got, how)->variance, (u + v) / 4, tol);
            CLOSE(epiq_point_corrected(got, how)->df,
                  (u + v) * (u + v) /
                      (u * u / epiq_point_corrected(a, how)->df + v * v / epiq_point_corrected(b, how)->df),
                  tol);
        }
        NEAR(got->data.variance, epiq_point_corrected(got, EPIQ_CORRECTION_MODERATED)->variance, 0);
        CLOSE(got->procedural.variance, procedural(h, p), tol);
        EQ(got->influential_count, N);
        double low[N], high[N];
        for (int k = 0; k < 2; k++) {
            for (ptrdiff_t i = 0; i < h[k].n; i++) {
                ptrdiff_t row = h[k].row[i];
                double without = got->prediction - h[k].c[p][i] / 2 * part[row];
                low[row] = without - fabs(e[row]);
                high[row] = without + fabs(e[row]);
                double influence = NAN; /* row numbers are those of all rows */
                for (ptrdiff_t t = 0; t < N; t++) {
                    influence = got->influential[t]->row == row + 1 ? got->influential[t]->influence : influence;
                }
                NEAR(influence, -h[k].c[p][i] / 2 * part[row], tol);
            }
        }
        for (ptrdiff_t t = 1; t < N; t++) {
            TRUE(fabs(got->influential[t]->influence) <= fabs(got->influential[t - 1]->influence));
        }
        qsort(low, N, sizeof *low, rising);
        qsort(high, N, sizeof *high, rising);
        ptrdiff_t k = 2; /* floor(0.1 (24 + 1)) */
        TRUE(got->predictive.known);
        NEAR(got->predictive.lo, low[k - 1], tol);
        NEAR(got->predictive.hi, high[N - k], tol);
    }
    done();
}

TEST(groups_stay_whole)
{
    static half h[2];
    int64_t group[N];
    for (int i = 0; i < N; i++) {
        group[i] = i % 8;
    }
    synth(N, D, X, Y);
    epiq_options o = closed(2);
    o.level = 0.7; /* for an interval from 8 groups */
    halves(&o, group, h);
    for (ptrdiff_t i = 0; i < h[0].n; i++) {
        for (ptrdiff_t k = 0; k < h[1].n; k++) {
            TRUE(h[0].group[i] != h[1].group[k]);
        }
    }
    EQ(run(N, D, X, Y, group, POINTS, X0, &o), EPIQ_OK);
    EQ(r->ran->correction, EPIQ_CORRECTION_UNBIASED);
    for (int p = 0; p < POINTS; p++) {
        double u = h[0].point[p].data.variance, v = h[1].point[p].data.variance;
        CLOSE(r->points[p]->data.variance, (u + v) / 4, 1e-9);
        TRUE(r->points[p]->predictive.known && r->points[p]->predictive.lo < r->points[p]->predictive.hi);
    }
    done();
}

/* ---- beside networks ---- */

TEST(linear_members_are_the_mean_of_the_halves_members)
{
    static half h[2];
    synth(N, D, X, Y);
    epiq_options o = closed(2);
    o.engine = EPIQ_ENGINE_LINEAR;
    o.methods = EPIQ_IF | EPIQ_EV;
    double members[2][3];
    halves(&o, NULL, h);
    for (int k = 0; k < 2; k++) {
        epiq_options exact = o;
        exact.solver = EPIQ_SOLVER_EXACT;
        EQ(run(h[k].n, D, h[k].x, h[k].y, NULL, POINTS, X0, &exact), EPIQ_OK);
        memcpy(members[k], r->points[1]->members, sizeof members[k]);
    }
    EQ(run(N, D, X, Y, NULL, POINTS, X0, &o), EPIQ_OK);
    for (int m = 0; m < 3; m++) {
        CLOSE(r->points[1]->members[m], (members[0][m] + members[1][m]) / 2, 1e-9);
    }
    char state[] = "/tmp/epiq-test-XXXXXX";
    close(mkstemp(state));
    o.state = state;
    for (ptrdiff_t parts = 1; parts <= 3;
         parts++) { /* members are made with c: those of other parts are not taken over */
        o.parts = parts;
        EQ(run(N, D, X, Y, NULL, POINTS, X0, &o), EPIQ_OK);
        EQ(r->training->resumed, 0);
    }
    EQ(run(N, D, X, Y, NULL, POINTS, X0, &o), EPIQ_OK);
    EQ(r->training->resumed, 3);
    unlink(state);
    o.state = NULL;
    o.parts = 2;
    o.methods = EPIQ_IF | EPIQ_EV | EPIQ_BA; /* batches are solved as ever */
    EQ(run(N, D, X, Y, NULL, POINTS, X0, &o), EPIQ_OK);
    double batch = r->points[0]->batches[1];
    o.solver = EPIQ_SOLVER_EXACT;
    EQ(run(N, D, X, Y, NULL, POINTS, X0, &o), EPIQ_OK);
    NEAR(batch, r->points[0]->batches[1], 0);
    done();
}

/* v_i = c_i (y_i - mean of the members), centred in each half */
TEST(residuals_of_the_ensemble)
{
    static half h[2];
    synth(N, D, X, Y);
    epiq_options o = closed(2);
    halves(&o, NULL, h);
    o.engine = EPIQ_ENGINE_NETWORK;
    o.hbar = EPIQ_HBAR_ENSEMBLE;
    o.correction = EPIQ_CORRECTION_NONE;
    EQ(run(N, D, X, Y, NULL, N, X, &o), EPIQ_OK);
    double mean[N];
    for (int i = 0; i < N; i++) {
        mean[i] = r->points[i]->prediction;
    }
    EQ(run(N, D, X, Y, NULL, POINTS, X0, &o), EPIQ_OK);
    for (int p = 0; p < POINTS; p++) {
        double variance = 0;
        for (int k = 0; k < 2; k++) {
            double sum = 0, sum2 = 0;
            for (ptrdiff_t i = 0; i < h[k].n; i++) {
                double v = h[k].c[p][i] / 2 * (h[k].y[i] - mean[h[k].row[i]]);
                sum += v;
                sum2 += v * v;
            }
            variance += sum2 - sum * sum / (double)h[k].n;
        }
        CLOSE(r->points[p]->data.variance, variance, 1e-9);
    }
    done();
}

/* ---- a new observation ---- */

/* Over fresh data sets: 90 % of what is observed next falls inside. The standard error of the rate is about 0.8 %. */
TEST(new_observations_fall_where_they_should)
{
    enum { SETS = 200, ROWS = 60, NEXT = 20, F = 3 };
    static double x[(ROWS + NEXT) * F], y[ROWS + NEXT];
    ptrdiff_t inside = 0;
    epiq_options o = closed(3);
    for (int k = 0; k < SETS; k++) {
        epiq_ctx *own;
        EQ(epiq_ctx_new(&own), EPIQ_OK);
        EQ(epiq_synth(own, 1, ROWS + NEXT, F, (uint64_t)(900 + k), x, y), EPIQ_OK);
        epiq_ctx_free(own);
        EQ(run(ROWS, F, x, y, NULL, NEXT, x + ROWS * F, &o), EPIQ_OK);
        for (int p = 0; p < NEXT; p++) {
            inside += y[ROWS + p] >= r->points[p]->predictive.lo && y[ROWS + p] <= r->points[p]->predictive.hi;
        }
    }
    NEAR((double)inside / (SETS * NEXT), 0.9, 0.025);
    done();
}

/* ---- what holds everywhere ---- */

enum { MANY = 700, WIDE = 3 };
static double many_x[MANY * WIDE], many_y[MANY];
static const double many_x0[POINTS * WIDE] = {0.1, 0.1, 0.1, 0.03, 0.17, 0.05};

TEST(threads_change_no_bit)
{
    synth(MANY, WIDE, many_x, many_y);
    for (int way = 0; way < 2; way++) {
        epiq_options o = closed(3);
        o.probes = way ? 32 : 0;
        o.threads = 1;
        EQ(run(MANY, WIDE, many_x, many_y, NULL, POINTS, many_x0, &o), EPIQ_OK);
        epiq_point one = *r->points[1];
        double rmse = r->fit->kernel_rmse;
        o.threads = 4;
        EQ(run(MANY, WIDE, many_x, many_y, NULL, POINTS, many_x0, &o), EPIQ_OK);
        EQ(r->ran->parts, 3);
        NEAR(r->points[1]->prediction, one.prediction, 0);
        NEAR(r->points[1]->data.variance, one.data.variance, 0);
        NEAR(r->points[1]->data.df, one.data.df, 0);
        NEAR(r->points[1]->procedural.variance, one.procedural.variance, 0);
        NEAR(r->points[1]->predictive.lo, one.predictive.lo, 0);
        NEAR(r->points[1]->probe_error, one.probe_error, 0);
        NEAR(r->fit->kernel_rmse, rmse, 0);
    }
    done();
}

/* Against the parts' inverses: of the size it is said to be. */
TEST(probes_of_parts_tell_their_error)
{
    synth(MANY, WIDE, many_x, many_y);
    epiq_options o = closed(3);
    EQ(run(MANY, WIDE, many_x, many_y, NULL, POINTS, many_x0, &o), EPIQ_OK);
    double exact[POINTS] = {r->points[0]->data.variance, r->points[1]->data.variance};
    o.probes = 64;
    EQ(run(MANY, WIDE, many_x, many_y, NULL, POINTS, many_x0, &o), EPIQ_OK);
    EQ(r->solve->probes, 64);
    TRUE(noted("probes") && !r->points[0]->predictive.known);
    for (int p = 0; p < POINTS; p++) {
        double said = r->points[p]->probe_error;
        TRUE(said > 0 && said < 0.1 && fabs(r->points[p]->data.variance / exact[p] - 1) < 5 * said);
    }
    done();
}

static int stop_between_parts(void *user, const epiq_progress *p)
{
    int *calls = user;
    return strcmp(p->stage, "parts") == 0 && p->all == 3 && p->done == 2 && ++*calls;
}

TEST(stopping_between_parts_leaves_nothing)
{
    synth(MANY, WIDE, many_x, many_y);
    epiq_options o = closed(3);
    EQ(run(MANY, WIDE, many_x, many_y, NULL, POINTS, many_x0, &o), EPIQ_OK);
    epiq_result_free(c, r);
    r = NULL;
    ptrdiff_t before = c->live_blocks;
    int calls = 0;
    epiq_ctx_on_progress(c, stop_between_parts, &calls);
    EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_E_STOPPED);
    EQ(calls, 1);
    TRUE(r == NULL);
    EQ(c->live_blocks, before);
    done();
}

TEST(every_allocation_may_fail)
{
    synth(N, D, X, Y);
    int64_t group[N];
    for (int i = 0; i < N; i++) {
        group[i] = i % 12;
    }
    for (int way = 0; way < 4; way++) {
        epiq_options o = closed(2);
        o.threads = 1;
        o.engine = way == 1 ? EPIQ_ENGINE_LINEAR : way == 2 ? EPIQ_ENGINE_NETWORK : EPIQ_ENGINE_INFINITE;
        o.methods = way == 1 ? EPIQ_IF | EPIQ_EV | EPIQ_BA : EPIQ_IF | EPIQ_EV;
        o.hbar = way == 2 ? EPIQ_HBAR_ENSEMBLE : EPIQ_HBAR_KERNEL;
        o.lambda = 1;
        EQ(run(N, D, X, Y, way == 3 ? group : NULL, POINTS, X0, &o), EPIQ_OK);
        epiq_result_free(c, r);
        FAIL_EACH(c, epiq_estimate(c, data, at, &o, &r), r == NULL, 41);
    }
    done();
}

TEST(what_cannot_be_divided_is_refused)
{
    synth(N, D, X, Y);
    epiq_options o = closed(7);
    EQ(run(N, D, X, Y, NULL, POINTS, X0, &o), EPIQ_E_DATA);
    SAYS(epiq_message(c), "24 rows");
    o.parts = 6;
    EQ(run(N, D, X, Y, NULL, POINTS, X0, &o), EPIQ_OK);
    int64_t group[N];
    for (int i = 0; i < N; i++) {
        group[i] = i < 13 ? 0 : i;
    }
    o.parts = 2;
    EQ(run(N, D, X, Y, group, POINTS, X0, &o), EPIQ_E_DATA);
    SAYS(epiq_message(c), "13 rows");
    for (int i = 0; i < N; i++) {
        group[i] = i % 8;
    }
    o.parts = 3;
    EQ(run(N, D, X, Y, group, POINTS, X0, &o), EPIQ_E_DATA);
    SAYS(epiq_message(c), "8 groups");
    o.parts = 2;
    o.time = 3;
    EQ(run(N, D, X, Y, NULL, POINTS, X0, &o), EPIQ_E_USAGE);
    SAYS(epiq_message(c), "time");
    o.time = 0;
    o.kernel = EPIQ_KERNEL_EMPIRICAL;
    EQ(run(N, D, X, Y, NULL, POINTS, X0, &o), EPIQ_E_USAGE);
    SAYS(epiq_message(c), "kernel empirical");
    o.kernel = EPIQ_KERNEL_POPULATION;
    EQ(run(N, D, X, Y, NULL, POINTS, X0, &o), EPIQ_OK);
    epiq_model *m;
    EQ(epiq_fit(c, data, &o, &m), EPIQ_E_USAGE);
    SAYS(epiq_message(c), "solver divided");
    TRUE(m == NULL);
    epiq_exploration ask = epiq_exploration_default();
    epiq_ranking *ranking;
    ask.batch = 2;
    EQ(epiq_explore(c, data, at, &o, &ask, &ranking), EPIQ_E_USAGE);
    SAYS(epiq_message(c), "solver divided");
    ask.batch = 1;
    EQ(epiq_explore(c, data, at, &o, &ask, &ranking), EPIQ_OK);
    epiq_ranking_free(c, ranking);
    done();
}

TEST(parts_are_chosen_by_their_rows)
{
    epiq_options o = closed(0);
    EQ(epiqp_parts(o.parts, 100), 2);
    EQ(epiqp_parts(o.parts, 16000), 2);
    EQ(epiqp_parts(o.parts, 16001), 3);
    o.parts = 5;
    EQ(epiqp_parts(o.parts, 16001), 5);
}
