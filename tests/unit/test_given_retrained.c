/* The data part from retrained networks (epiq_targets, given.retrained): the targets, the formulas by hand, and tables whose
 * truth is known. The "network" there is a linear smoother of the targets with a start's own part, and another smoother for
 * every start: h = c'y + start + d'y, so that its data variance is noise |c|^2 exactly. All through epiq.h. */
#include "epiq_combine.h"
#include "epiq_details.h"
#include "est/variance.h"
#include "rng/rng.h"
#include "run/run.h"

#include "allocations.h"
#include "combined.h"
#include "usual.h"

#include <stdlib.h>

/* ---- the targets ---- */

enum { N = 60, P = 6, R = 10, S = 2, M = 10, K = 2 };

/* What a user has, and room for what comes of it. */
static struct {
    double y[N], yhat[N], left[K * N], targets[2 * R * N], retrained[2 * R * S * P], ensemble[M * P];
    epiq_matrix Y, YHAT, LEFT, TARGETS, RETRAINED, ENSEMBLE;
    double c[P * N]; /* the smoother */
    double step;
} t;

static uint64_t stream;
static void normals(ptrdiff_t count, double *z)
{
    epiqp_normals((epiqp_stream){99, 1000, stream++}, count, z);
}

static void name_all(void)
{
    t.Y = doubles("y", N, 1, t.y);
    t.YHAT = doubles("yhat", N, 1, t.yhat);
    t.LEFT = doubles("left", K, N, t.left);
    t.TARGETS = doubles("targets", (ptrdiff_t)2 * R, N, t.targets);
    t.RETRAINED = doubles("retrained", (ptrdiff_t)2 * R * S, P, t.retrained);
    t.ENSEMBLE = doubles("ensemble", M, P, t.ensemble);
}

static epiq_given everything(void)
{
    return (epiq_given){.size = sizeof(epiq_given),
                        .y = &t.Y,
                        .yhat = &t.YHAT,
                        .left_out = &t.LEFT,
                        .retrained = &t.RETRAINED,
                        .ensemble = &t.ENSEMBLE};
}

static const double NOISE = 0.25, TAU = 0.2;

/* A smoother of the rows nearest on a circle, as wide at every point but not as high. */
static void make_smoother(void)
{
    for (int p = 0; p < P; p++) {
        for (int i = 0; i < N; i++) {
            double away = (double)i / N - (double)p / P;
            t.c[p * N + i] = 0.1 * (1 + 0.2 * p) * exp(-30 * away * away);
        }
    }
}

static double square(int p)
{
    return epiqp_dot(N, t.c + p * N, t.c + p * N);
}

static double mean_square(void)
{
    double sum = 0;
    for (int p = 0; p < P; p++) {
        sum += square(p) / P;
    }
    return sum;
}

/* y, and what networks that have or have not seen it say of it. Those have seen four fifths of the rows, so that their data
 * variance is 5/4 of that at new points. */
static void make_table(void)
{
    double e[N], shared[N], own[K * N];
    normals(N, e);
    normals(N, shared);
    normals((ptrdiff_t)K * N, own);
    for (int i = 0; i < N; i++) {
        double truth = sin(0.3 * i), noise = sqrt(NOISE) * e[i];
        t.y[i] = truth + noise;
        t.yhat[i] = truth + 0.3 * noise;
        for (int k = 0; k < K; k++) {
            t.left[k * N + i] = truth + sqrt(1.25 * NOISE * mean_square()) * shared[i] + TAU * own[k * N + i];
        }
    }
    name_all();
}

/* interaction: of start and data, its variance over the data's; follow: how much of the smoother the networks follow. */
static void train(double interaction, double follow)
{
    double d[P * N], start[P];
    for (int k = 0; k < R * S; k++) { /* plus and minus from one start */
        normals((ptrdiff_t)P * N, d);
        normals(P, start);
        for (int p = 0; p < P; p++) {
            for (int sign = 0; sign < 2; sign++) {
                const double *y = t.targets + (ptrdiff_t)(k / S * 2 + sign) * N;
                double h = TAU * start[p] + follow * epiqp_dot(N, t.c + p * N, y);
                h += sqrt(interaction * square(p) / N) * epiqp_dot(N, d + p * N, y);
                t.retrained[((k / S * 2 + sign) * S + k % S) * P + p] = h;
            }
        }
    }
    double own[M * P];
    normals((ptrdiff_t)M * P, own);
    for (int k = 0; k < M * P; k++) {
        t.ensemble[k] = follow * epiqp_dot(N, t.c + k % P * N, t.y) + TAU * own[k];
    }
}

static int make_targets(uint64_t seed)
{
    epiq_options o = usual_options();
    o.seed = seed;
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    epiq_given g = everything();
    int s = epiq_targets(own, &g, &o, t.targets, &t.step);
    EQ(own->live_blocks, 0);
    epiq_ctx_free(own);
    return s;
}

TEST(targets_are_one_step_up_and_down)
{
    make_smoother();
    make_table();
    EQ(make_targets(5), EPIQ_OK);
    double e2 = 0, t2 = 0, up = 0;
    for (int i = 0; i < N; i++) {
        double a = t.left[i], b = t.left[N + i], e = t.y[i] - (a + b) / 2;
        e2 += e * e / N;
        t2 += (a - b) * (a - b) / 2 / N;
    }
    CLOSE(t.step, sqrt(0.8 * (e2 - t2 / 2)), 1e-12);
    for (int row = 0; row < 2 * R; row += 2) {
        for (int i = 0; i < N; i++) {
            double plus = t.targets[row * N + i], minus = t.targets[(row + 1) * N + i];
            NEAR(fabs(plus - t.yhat[i]), t.step, 1e-14);
            NEAR(plus + minus, 2 * t.yhat[i], 1e-14);
            up += plus > minus;
        }
    }
    NEAR(up / (R * N), 0.5, 5 * 0.5 / sqrt(R * N)); /* five deviations of fair signs */
    static double first[2 * R * N];
    memcpy(first, t.targets, sizeof first);
    EQ(make_targets(5), EPIQ_OK);
    EQ(memcmp(first, t.targets, sizeof first), 0);
    EQ(make_targets(6), EPIQ_OK);
    TRUE(memcmp(first, t.targets, sizeof first) != 0);
    /* fewer of them are the first of more */
    double few[8 * N];
    epiq_given g = everything();
    g.replicates = 4;
    epiq_options o = usual_options();
    o.seed = 5;
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_targets(c, &g, &o, few, NULL), EPIQ_OK);
    EQ(memcmp(first, few, sizeof few), 0);
    done();
}

/* ---- the formulas ---- */

/* One point: the mean over pairs of starts of products, straight from their definition. */
TEST(one_point_is_the_mean_of_products_of_two_starts)
{
    make_smoother();
    make_table();
    EQ(make_targets(1), EPIQ_OK);
    train(0.3, 1);
    double column[2 * R * S], members[M], products = 0, spread = 0;
    for (int k = 0; k < 2 * R * S; k++) {
        column[k] = t.retrained[k * P + 2];
    }
    for (int k = 0; k < M; k++) {
        members[k] = t.ensemble[k * P + 2];
    }
    for (int k = 0; k < R; k++) {
        double a = (column[4 * k] - column[4 * k + 2]) / 2, b = (column[4 * k + 1] - column[4 * k + 3]) / 2;
        products += a * b / R / (t.step * t.step);
        spread += (a - b) * (a - b) / 2 / R / (t.step * t.step);
    }
    t.RETRAINED = doubles("retrained", (ptrdiff_t)2 * R * S, 1, column);
    t.ENSEMBLE = doubles("ensemble", M, 1, members);
    epiq_given g = everything();
    epiq_options o = usual_options();
    EQ(combine(&g, &o), EPIQ_OK);
    double error2 = t.step * t.step / 0.8, noise = error2 / (1 + 1.25 * products), inside = 0;
    for (int i = 0; i < N; i++) {
        inside += (t.y[i] - t.yhat[i]) * (t.y[i] - t.yhat[i]) / N;
    }
    TRUE(noise > inside); /* else this table does not tell */
    const epiq_part *data = &r->points[0]->data;
    EQ(data->method, EPIQ_BY_RETRAIN);
    EQ(r->points[0]->single.method, EPIQ_BY_RETRAIN_EV);
    CLOSE(r->retrain->noise_variance, noise, 1e-12);
    CLOSE(data->variance, noise * products, 1e-11);
    CLOSE(r->points[0]->single.variance, noise * products + r->points[0]->procedural.variance, 1e-11);
    double rho = spread / products, df = R / (1 + rho + rho * rho / 2), e4 = 0, e2 = 0; /* S = 2 */
    for (int i = 0; i < N; i++) {
        double e = t.y[i] - (t.left[i] + t.left[N + i]) / 2;
        e2 += e * e / N;
        e4 += e * e * e * e / N;
    }
    CLOSE(data->df, 1 / (1 / df + (e4 - e2 * e2) / N / (error2 * error2) / 2), 1e-10);
    EQ(r->retrain->known, 1);
    EQ(r->retrain->replicates, R);
    EQ(r->retrain->starts, S);
    EQ(r->retrain->networks, 2 * R * S);
    CLOSE(r->retrain->step, t.step, 1e-15);
    NEAR(r->retrain->kappa, 0, 0);
    TRUE(!r->retrain->reason && !warned("starts_differ") && !warned("one_start"));
    done();
}

/* A kernel whose ridge solution is the smoother: gram = I - lambda n I, cross = c. */
static double gram[N * N], cross[N * P];
static epiq_matrix GRAM, CROSS;
static void make_kernel(epiq_given *g, epiq_options *o)
{
    o->lambda = 0.1 / N;
    for (int i = 0; i < N; i++) {
        for (int l = 0; l < N; l++) {
            gram[i * N + l] = i == l ? 0.9 : 0;
        }
        for (int p = 0; p < P; p++) {
            cross[i * P + p] = t.c[p * N + i];
        }
    }
    GRAM = doubles("gram", N, N, gram);
    CROSS = doubles("cross", N, P, cross);
    g->gram = &GRAM;
    g->cross = &CROSS;
}

TEST(networks_that_follow_a_share_of_the_kernel_have_its_square_as_kappa)
{
    make_smoother();
    make_table();
    EQ(make_targets(3), EPIQ_OK);
    train(0, 0.8);
    epiq_given g = everything();
    epiq_options o = usual_options();
    make_kernel(&g, &o);
    o.seed = 3;
    EQ(combine(&g, &o), EPIQ_OK);
    CLOSE(r->retrain->kappa, 0.64, 1e-10); /* what the kernel explains has no error; sums of 60 products */
    NEAR(r->retrain->kappa_se, 0, 1e-10);
    CLOSE(r->retrain->noise_variance, t.step * t.step / 0.8 / (1 + 1.25 * 0.64 * mean_square()), 1e-10);
    for (int p = 0; p < P; p++) {
        CLOSE(r->points[p]->data.variance, 0.64 * r->retrain->noise_variance * square(p), 1e-9);
        EQ(r->points[p]->data.method, EPIQ_BY_RETRAIN);
        TRUE(
            epiq_point_corrected(r->points[p], EPIQ_CORRECTION_NONE)->known); /* the influence function is still told */
    }
    TRUE(!warned("targets_unlike"));
    o.seed = 4; /* the signs are others, so that nothing is explained: right on average only, and said */
    EQ(combine(&g, &o), EPIQ_OK);
    TRUE(warned("targets_unlike"));
    g.targets = &t.TARGETS;
    EQ(combine(&g, &o), EPIQ_E_DATA);
    SENTENCE_ROUGHLY(epiq_message(c));
    o.seed = 3;
    EQ(combine(&g, &o), EPIQ_OK);
    done();
}

/* ---- tables whose truth is known ---- */

typedef struct {
    double ratio, ratio_se, coverage, noise, worst; /* worst: of the points' mean ratios, the farthest from 1 */
} verdict;

static verdict simulate(int tables, double interaction, bool kernel)
{
    verdict v = {0};
    double squares = 0, at[P] = {0};
    make_smoother();
    for (int k = 0; k < tables; k++) {
        epiq_given g = everything();
        epiq_options o = usual_options();
        make_table();
        o.seed = (uint64_t)k + 1;
        o.threads = 1;
        EQ(make_targets(o.seed), EPIQ_OK);
        train(interaction, 1);
        if (kernel) make_kernel(&g, &o);
        EQ(combine(&g, &o), EPIQ_OK);
        double mean = 0;
        for (int p = 0; p < P; p++) {
            const epiq_part *d = &r->points[p]->data;
            double truth = NOISE * square(p);
            mean += d->variance / truth / P;
            at[p] += d->variance / truth / tables;
            v.coverage += (d->has_interval && d->lo <= truth && (d->open || truth <= d->hi)) / (double)(P * tables);
        }
        v.ratio += mean / tables;
        squares += mean * mean / tables;
        v.noise += r->retrain->noise_variance / NOISE / tables;
        done();
    }
    v.ratio_se = sqrt((squares - v.ratio * v.ratio) / tables);
    v.worst = 1;
    for (int p = 0; p < P; p++) {
        v.worst = fabs(at[p] - 1) > fabs(v.worst - 1) ? at[p] : v.worst;
    }
    return v;
}

/* 300 tables: the mean ratio has a standard error of 0.02 or so (measured below), coverage one of at most 0.02, since the
 * six points of a table are nearly one when their smoothers overlap. */
TEST(the_data_variance_is_right_where_the_truth_is_known)
{
    static const struct {
        double interaction;
        bool kernel;
        double within; /* of 1, three standard errors included */
    } CELLS[] = {{0.1, false, 0.08}, {0.5, false, 0.08}, {2, false, 0.12}, {0.1, true, 0.05}, {0.5, true, 0.08}};
    for (size_t k = 0; k < sizeof CELLS / sizeof *CELLS; k++) {
        verdict v = simulate(300, CELLS[k].interaction, CELLS[k].kernel);
        if (getenv("SHOW")) {
            printf("interaction %g, kernel %d: ratio %.3f +- %.3f, worst point %.3f, coverage %.3f, noise %.3f\n",
                   CELLS[k].interaction, CELLS[k].kernel, v.ratio, v.ratio_se, v.worst, v.coverage, v.noise);
        }
        NEAR(v.ratio, 1, CELLS[k].within);
        TRUE(v.ratio_se < 0.05);
        TRUE(v.coverage >= 0.92 && v.coverage <= 0.995);
        NEAR(v.noise, 1,
             0.08); /* 300 means of 60 squares: 0.011; the rest is the noise of kbar, which is never below 0 */
    }
}

/* ---- what is refused, and what is said ---- */

static void prepare(void)
{
    make_smoother();
    make_table();
    EQ(make_targets(1), EPIQ_OK);
    train(0.2, 1);
}

static void refused(const epiq_given *g, int status, const char *part)
{
    epiq_options o = usual_options();
    EQ(combine(g, &o), status);
    SAYS_ROUGHLY(epiq_message(c), part);
    TRUE(!r);
}

TEST(what_does_not_fit_is_refused)
{
    prepare();
    static double bad[2 * R * S * P];
    memcpy(bad, t.retrained, sizeof bad);
    bad[7] = NAN;
    epiq_matrix holes = doubles("bad", (ptrdiff_t)2 * R * S, P, bad),
                narrow = doubles("narrow", (ptrdiff_t)4 * R * S, P / 2, t.retrained),
                odd = doubles("odd", (ptrdiff_t)2 * R * S - 1, P, t.retrained), few = doubles("few", 2, N, t.targets),
                lone = doubles("lone", 1, P, t.ensemble), shorter = doubles("shorter", K, N - 1, t.left),
                same = doubles("same", K, N, t.left);
    static double nothing[2 * R * S * P];
    epiq_matrix still = doubles("still", (ptrdiff_t)2 * R * S, P, nothing);
    epiq_given all = everything();
    epiq_given g;
    g = all;
    g.y = NULL;
    refused(&g, EPIQ_E_USAGE, "retrained");
    g = all;
    g.yhat = NULL;
    refused(&g, EPIQ_E_USAGE, "retrained");
    g = all;
    g.left_out = NULL;
    refused(&g, EPIQ_E_USAGE, "retrained");
    g = all;
    g.retrained = NULL;
    refused(&g, EPIQ_E_USAGE, "left_out");
    g = all;
    g.replicates = 3;
    refused(&g, EPIQ_E_USAGE, NULL);
    g = all;
    g.replicates = -1;
    refused(&g, EPIQ_E_USAGE, NULL);
    g = all;
    g.replicates = 9;
    refused(&g, EPIQ_E_DATA, "40 rows");
    g = all;
    g.targets = &few;
    refused(&g, EPIQ_E_USAGE, NULL);
    g = all;
    g.retrained = &odd;
    refused(&g, EPIQ_E_DATA, "39 rows");
    g = all;
    g.retrained = &narrow;
    refused(&g, EPIQ_E_DATA, "3 columns");
    g = all;
    g.retrained = &holes;
    refused(&g, EPIQ_E_DATA, "bad");
    g = all;
    g.retrained = &still;
    refused(&g, EPIQ_E_DATA, NULL);
    g = all;
    g.left_out = &shorter;
    refused(&g, EPIQ_E_DATA, "59 columns");
    g = all;
    g.ensemble = NULL;
    refused(&g, EPIQ_E_USAGE, "ensemble");
    g = all;
    g.ensemble = &lone;
    refused(&g, EPIQ_E_USAGE, "retrained");
    memcpy(t.left, t.y, sizeof t.y); /* no errors at all */
    memcpy(t.left + N, t.y, sizeof t.y);
    g = all;
    g.left_out = &same;
    refused(&g, EPIQ_E_DATA, NULL);
    done();
}

TEST(what_is_doubtful_is_said)
{
    prepare();
    epiq_options o = usual_options();
    epiq_matrix one = doubles("one", (ptrdiff_t)2 * R, P, t.retrained), seen = doubles("seen", 1, N, t.yhat),
                single = doubles("single", 1, N, t.left);
    epiq_given g = everything();
    EQ(combine(&g, &o), EPIQ_OK);
    EQ(r->warning_count, 0);
    g.retrained = &one;
    EQ(combine(&g, &o), EPIQ_OK);
    TRUE(warned("one_start"));
    EQ(r->retrain->starts, 1);
    g = everything();
    g.left_out = &single;
    EQ(combine(&g, &o), EPIQ_OK);
    TRUE(warned("one_left_out") && !warned("left_out_seen"));
    g.left_out = &seen; /* networks that have seen the rows */
    EQ(combine(&g, &o), EPIQ_OK);
    TRUE(warned("left_out_seen"));
    double start[2 * R * S * P];
    normals((ptrdiff_t)2 * R * S * P, start);
    for (int k = 0; k < 2 * R * S * P; k++) {
        t.retrained[k] += 5 * TAU * start[k]; /* plus and minus from starts of their own */
    }
    normals((ptrdiff_t)M * P, start);
    for (int k = 0; k < M * P; k++) {
        t.ensemble[k] += 5 * TAU * start[k];
    }
    g = everything();
    EQ(combine(&g, &o), EPIQ_OK);
    TRUE(warned("starts_differ"));
    for (int k = 0; k < 2 * R * S;
         k++) { /* the starts of a pair answer with opposite signs: nothing is left of the data */
        for (int p = 0; p < P; p++) {
            t.retrained[k * P + p] = (k / S % 2 ? -1 : 1) * (k % S ? -1 : 1) * 0.1;
        }
    }
    EQ(combine(&g, &o), EPIQ_OK);
    TRUE(warned("retrain_silent") && !r->retrain->known && r->retrain->reason && !r->points[0]->data.known);
    make_kernel(&g, &o); /* then the influence function is the answer */
    EQ(combine(&g, &o), EPIQ_OK);
    TRUE(warned("retrain_silent") && !r->retrain->known && r->retrain->reason);
    EQ(r->points[0]->data.method, EPIQ_BY_IF);
    done();
}

TEST(memory_that_is_refused_leaves_nothing_behind)
{
    prepare();
    for (int kernel = 0; kernel < 2; kernel++) {
        epiq_given g = everything();
        epiq_options o = usual_options();
        o.threads = 1;
        g.targets = &t.TARGETS;
        if (kernel) make_kernel(&g, &o);
        done();
        EQ(epiq_ctx_new(&c), EPIQ_OK);
        FAIL_EACH(c, epiq_combine(c, &g, &o, &r), !r, 5);
        done();
    }
    epiq_given g = everything();
    epiq_options o = usual_options();
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    c->fail_after = 0;
    EQ(epiq_targets(c, &g, &o, t.targets, NULL), EPIQ_E_NOMEM);
    c->fail_after = -1;
    done();
}

/* Huge and tiny numbers: unknown or known, never infinite. */
TEST(other_units_give_the_same_answer)
{
    prepare();
    epiq_options o = usual_options();
    epiq_given g = everything();
    EQ(combine(&g, &o), EPIQ_OK);
    double before = r->points[1]->data.variance, df = r->points[1]->data.df;
    double *all[] = {t.y, t.yhat, t.left, t.retrained, t.ensemble};
    const int count[] = {N, N, K * N, 2 * R * S * P, M * P};
    for (int k = 0; k < 5; k++) {
        for (int i = 0; i < count[k]; i++) {
            all[k][i] = ldexp(all[k][i], 100);
        }
    }
    EQ(combine(&g, &o), EPIQ_OK);
    CLOSE(ldexp(r->points[1]->data.variance, -200), before, 1e-13);
    CLOSE(r->points[1]->data.df, df, 1e-12);
    done();
}
