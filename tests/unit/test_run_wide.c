/* test_run_wide.c - tables with more features than rows, which networks see in coordinates of the rows' span: inner products,
 * kernels and answers are those of the features themselves, and what is said about features still is about them. */
#include "allocations.h"
#include "epiq_decide.h"
#include "infinite_by_hand.h"
#include "kernel/kernel.h"
#include "la/span.h"
#include "model/model.h"
#include "one_estimate.h"
#include "stats/stats.h"
#include "usual.h"

#include <stdlib.h>
#include <unistd.h>

static void normals(uint64_t stream, ptrdiff_t count, double *z)
{
    epiqp_normals((epiqp_stream){20, 1, stream}, count, z);
}

/* ---- the span ---- */

enum { ROWS = 70, LONG = 400, ASKED = 40 };

/* Rows that repeat others, are multiples and sums of others, differ from others in the tenth digit, are 0, large, small. */
static void awkward_rows(double *x)
{
    normals(1, (ptrdiff_t)ROWS * LONG, x);
    for (int a = 0; a < LONG; a++) {
        x[1 * LONG + a] = x[0 * LONG + a];
        x[2 * LONG + a] = -3 * x[0 * LONG + a];
        x[40 * LONG + a] = x[3 * LONG + a] + x[4 * LONG + a];
        x[41 * LONG + a] = x[3 * LONG + a] + 1e-10 * x[41 * LONG + a];
        x[42 * LONG + a] = x[41 * LONG + a];
        x[43 * LONG + a] = 0;
        x[44 * LONG + a] *= 1e140;
        x[45 * LONG + a] *= 1e-140;
        x[46 * LONG + a] = a == 7;
    }
}

static void check_inner(ptrdiff_t d, const double *u, const double *v, ptrdiff_t inputs, const double *p,
                        const double *q)
{
    const double size = sqrt(epiqp_dot(d, u, u)) * sqrt(epiqp_dot(d, v, v));
    NEAR(epiqp_dot(inputs, p, q), epiqp_dot(d, u, v),
         1e-13 * size); /* sums of 400 products, and the tolerance of span.c */
}

TEST(coordinates_keep_inner_products_and_lengths)
{
    static double x[ROWS * LONG], asked[ASKED * LONG], rows[ROWS * (ROWS + 1)], points[ASKED * (ROWS + 1)],
        again[ROWS * (ROWS + 1)];
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    awkward_rows(x);
    normals(2, (ptrdiff_t)ASKED * LONG, asked);
    memcpy(asked, x + 5 * LONG, LONG * sizeof *x); /* a row */
    static const epiqp_la *const las[] = {&epiqp_la_ref, &epiqp_la_blas};
    for (int k = 0; k < 2; k++) {
        epiqp_arena arena = {0};
        epiqp_span s, same;
        const epiqp_env e = {.c = own, .la = las[k], .threads = 1}, threads = {.c = own, .la = las[k], .threads = 3};
        EQ(epiqp_span_new(&e, &arena, LONG, ROWS, x, 0, NULL, &s), EPIQ_OK);
        EQ(s.rank, ROWS - 5); /* two multiples, a sum, a repeat, zero */
        EQ(epiqp_span_enter(&e, &s, ROWS, x, rows), EPIQ_OK);
        EQ(epiqp_span_enter(&e, &s, ASKED, asked, points), EPIQ_OK);
        const ptrdiff_t inputs = s.rank + 1;
        for (ptrdiff_t i = 0; i < s.rank; i++) {
            for (ptrdiff_t j = 0; j <= i; j++) {
                NEAR(epiqp_dot(LONG, s.q + i * LONG, s.q + j * LONG), i == j, 1e-14);
            }
        }
        for (ptrdiff_t i = 0; i < ROWS; i++) {
            TRUE(rows[i * inputs + s.rank] == 0); /* no row is outside */
            for (ptrdiff_t j = 0; j <= i; j++) {
                check_inner(LONG, x + i * LONG, x + j * LONG, inputs, rows + i * inputs, rows + j * inputs);
            }
            for (ptrdiff_t p = 0; p < ASKED; p++) {
                check_inner(LONG, x + i * LONG, asked + p * LONG, inputs, rows + i * inputs, points + p * inputs);
            }
        }
        for (ptrdiff_t p = 0; p < ASKED; p++) {
            check_inner(LONG, asked + p * LONG, asked + p * LONG, inputs, points + p * inputs, points + p * inputs);
            TRUE(p ? points[p * inputs + s.rank] > 1 : points[s.rank] == 0);
        }
        EQ(epiqp_span_new(&threads, &arena, LONG, ROWS, x, 0, NULL, &same), EPIQ_OK);
        EQ(epiqp_span_enter(&threads, &same, ROWS, x, again), EPIQ_OK);
        EQ(memcmp(s.q, same.q, (size_t)(s.rank * LONG) * sizeof *s.q), 0);
        EQ(memcmp(rows, again, (size_t)(ROWS * inputs) * sizeof *rows), 0);
        epiqp_arena_free(own, &arena);
    }
    EQ(own->live_blocks, 0);
    epiq_ctx_free(own);
}

TEST(points_in_the_basis_keep_what_they_have_in_common)
{
    enum { FEW = 6, MORE = 9 };
    static double x[FEW * LONG], asked[MORE * LONG], points[MORE * (FEW + MORE + 1)];
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    normals(3, (ptrdiff_t)FEW * LONG, x);
    normals(4, (ptrdiff_t)MORE * LONG, asked);
    epiqp_arena arena = {0};
    epiqp_span s;
    const epiqp_env e = {.c = own, .la = &epiqp_la_blas, .threads = 1};
    EQ(epiqp_span_new(&e, &arena, LONG, FEW, x, MORE, asked, &s), EPIQ_OK);
    EQ(s.rank, FEW + MORE);
    EQ(epiqp_span_enter(&e, &s, MORE, asked, points), EPIQ_OK);
    for (ptrdiff_t i = 0; i < MORE; i++) {
        for (ptrdiff_t j = 0; j <= i; j++) {
            check_inner(LONG, asked + i * LONG, asked + j * LONG, s.rank + 1, points + i * (s.rank + 1),
                        points + j * (s.rank + 1));
        }
    }
    epiqp_arena_free(own, &arena);
    epiq_ctx_free(own);
}

TEST(kernels_are_those_of_the_features)
{
    enum { FEW = 20 };
    static double x[FEW * LONG], short_x[FEW * (FEW + 1)], k[2][FEW * FEW], q[2][FEW * FEW];
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    normals(5, (ptrdiff_t)FEW * LONG, x);
    memcpy(x + LONG, x, LONG * sizeof *x);
    const epiqp_env e = {.c = own, .la = &epiqp_la_blas, .threads = 1};
    epiqp_arena arena = {0};
    epiqp_span s;
    EQ(epiqp_span_new(&e, &arena, LONG, FEW, x, 0, NULL, &s), EPIQ_OK);
    EQ(epiqp_span_enter(&e, &s, FEW, x, short_x), EPIQ_OK);
    for (ptrdiff_t depth = 1; depth <= 3; depth += 2) {
        for (int turned = 0; turned < 2; turned++) {
            const epiqp_net net = {.d = LONG, .width = 8, .depth = depth, .beta = 1, .bias_sd = 1};
            const epiqp_arch arch = epiqp_arch_of(&net);
            epiqp_rows rows;
            EQ(epiqp_rows_new(own, FEW, turned ? s.rank + 1 : LONG, turned ? short_x : x, &rows), EPIQ_OK);
            epiqp_kernel_cross(&e, &arch, &rows, &rows, k[turned], q[turned]);
            epiqp_rows_free(own, &rows);
        }
        for (int i = 0; i < FEW * FEW; i++) {
            CLOSE(k[1][i], k[0][i], 1e-12);
            CLOSE(q[1][i], q[0][i], 1e-12);
        }
    }
    epiqp_arena_free(own, &arena);
    EQ(own->live_blocks, 0);
    epiq_ctx_free(own);
}

/* ---- answers: a table, and the same with columns of zeros ---- */

/* Of NARROW features the last HIDDEN are 0 at all rows, and not at the points: these are outside the span of the rows. Not
 * scaled, so that all of it is known. */
enum { N = 12, NARROW = 8, HIDDEN = 3, WIDE = 50, POINTS = 6 };
static double narrow_x[N * NARROW], wide_x[N * WIDE], y[N], narrow_at[POINTS * NARROW], wide_at[POINTS * WIDE];

static void pad(ptrdiff_t count, const double *from, double *to)
{
    memset(to, 0, (size_t)(count * WIDE) * sizeof *to);
    for (ptrdiff_t i = 0; i < count; i++) {
        for (ptrdiff_t a = 0; a < NARROW; a++) { /* here and there among the zeros */
            to[i * WIDE + 6 * a + 2] = from[i * NARROW + a];
        }
    }
}

static epiq_options made(void)
{
    normals(6, N * NARROW, narrow_x);
    normals(7, POINTS * NARROW, narrow_at);
    normals(8, N, y);
    for (ptrdiff_t i = 0; i < N; i++) {
        for (ptrdiff_t a = NARROW - HIDDEN; a < NARROW; a++) {
            narrow_x[i * NARROW + a] = 0;
        }
        y[i] = 0.3 * y[i] + narrow_x[i * NARROW] - fabs(narrow_x[i * NARROW + 1]);
    }
    pad(N, narrow_x, wide_x);
    pad(POINTS, narrow_at, wide_at);
    epiq_options o = usual_options();
    o.scale = EPIQ_SCALE_NONE;
    o.width = 16;
    o.lambda = 0.02;
    o.methods = EPIQ_IF | EPIQ_EV;
    o.data_by = EPIQ_DATA_BY_IF;
    o.sweep = 0;
    return o;
}

typedef struct {
    double prediction[POINTS], procedural[POINTS], data[POINTS];
} answers;

static answers answers_of(void)
{
    answers out = {{0}, {0}, {0}};
    for (ptrdiff_t p = 0; r && p < POINTS; p++) {
        out.prediction[p] = r->points[p]->prediction;
        out.procedural[p] = r->points[p]->procedural.variance;
        out.data[p] = r->points[p]->data.variance;
    }
    return out;
}

TEST(infinitely_wide_networks_answer_as_without_the_zeros)
{
    epiq_options o = made();
    o.engine = EPIQ_ENGINE_INFINITE;
    EQ(run(N, NARROW, narrow_x, y, NULL, POINTS, narrow_at, &o), EPIQ_OK);
    const answers narrow = answers_of();
    EQ(run(N, WIDE, wide_x, y, NULL, POINTS, wide_at, &o), EPIQ_OK);
    const answers wide = answers_of();
    for (int p = 0; p < POINTS; p++) {
        CLOSE(wide.prediction[p], narrow.prediction[p], 1e-10);
        CLOSE(wide.procedural[p], narrow.procedural[p], 1e-10);
        CLOSE(wide.data[p], narrow.data[p], 1e-10);
    }
    done();
}

TEST(infinitely_wide_networks_answer_as_by_hand)
{
    enum { D = 31 };
    static double x[N * D], x0[D];
    static closed_kernels g;
    int all[N];
    epiq_options o = made();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.correction = EPIQ_CORRECTION_NONE;
    normals(9, N * D, x);
    normals(10, D, x0);
    for (int i = 0; i < N; i++) {
        all[i] = i;
    }
    closed_kernels_of(N, D, x, x0, &o, &g);
    const closed_found hand = closed_on(&g, N, all, y, o.lambda);
    EQ(run(N, D, x, y, NULL, 1, x0, &o), EPIQ_OK);
    CLOSE(r->points[0]->procedural.variance, hand.tau2, 1e-9); /* a difference of larger numbers */
    done();
}

/* Each in units of the standard error of the difference, from as many networks. */
static void same_law(double members, const answers *a, const answers *b)
{
    for (int p = 0; p < POINTS; p++) {
        const double se = sqrt((a->procedural[p] + b->procedural[p]) / members),
                     se_log = 2 / sqrt(members - 1); /* of the log of a ratio of variances: sqrt(2/df + 2/df) */
        NEAR((a->prediction[p] - b->prediction[p]) / se, 0, 3.5);
        NEAR(log(a->procedural[p] / b->procedural[p]) / se_log, 0, 3.5);
    }
}

static void check_law(epiq_options o)
{
    o.methods = EPIQ_EV;
    o.fold_members = 0;
    EQ(run(N, NARROW, narrow_x, y, NULL, POINTS, narrow_at, &o), EPIQ_OK);
    const answers narrow = answers_of();
    EQ(run(N, WIDE, wide_x, y, NULL, POINTS, wide_at, &o), EPIQ_OK);
    const answers wide = answers_of();
    same_law((double)o.members, &wide, &narrow);
    done();
}

TEST(trained_networks_have_the_same_law_as_without_the_zeros)
{
    epiq_options o = made();
    o.members = 200;
    check_law(o);
    o.depth = 2;
    check_law(o);
}

TEST(linearised_networks_have_the_same_law_as_without_the_zeros)
{
    epiq_options o = made();
    o.members = 400;
    o.engine = EPIQ_ENGINE_LINEAR;
    check_law(o);
    o.linear_kernel = EPIQ_KERNEL_EMPIRICAL;
    check_law(o);
}

TEST(candidates_picked_together_are_judged_as_without_the_zeros)
{
    epiq_options o = made();
    epiq_exploration ask = epiq_exploration_default();
    double score[2][POINTS];
    ptrdiff_t row[2][POINTS];
    o.engine = EPIQ_ENGINE_INFINITE;
    ask.rule = EPIQ_RULE_TOTAL;
    ask.batch = 4;
    memcpy(narrow_at + NARROW, narrow_at, NARROW * sizeof *narrow_at); /* nearly the same twice, outside the span */
    narrow_at[NARROW - 1] += 0.1;
    pad(POINTS, narrow_at, wide_at);
    for (int wide = 0; wide < 2; wide++) {
        epiq_ctx *own;
        epiq_data *rows = NULL;
        epiq_points *candidates = NULL;
        epiq_ranking *ranking = NULL;
        EQ(epiq_ctx_new(&own), EPIQ_OK);
        EQ(epiq_data_new(own, N, wide ? WIDE : NARROW, wide ? wide_x : narrow_x, y, NULL, &o, &rows), EPIQ_OK);
        EQ(epiq_points_new(own, rows, &candidates), EPIQ_OK);
        EQ(epiq_points_add_rows(own, candidates, POINTS, wide ? wide_at : narrow_at), EPIQ_OK);
        EQ(epiq_explore(own, rows, candidates, &o, &ask, &ranking), EPIQ_OK);
        for (int k = 0; ranking && k < POINTS; k++) {
            score[wide][k] = ranking->ranked[k]->score;
            row[wide][k] = ranking->ranked[k]->row;
        }
        epiq_ranking_free(own, ranking);
        epiq_points_free(own, candidates);
        epiq_data_free(own, rows);
        EQ(own->live_blocks, 0);
        epiq_ctx_free(own);
    }
    for (int k = 0; k < POINTS; k++) {
        EQ(row[1][k], row[0][k]);
        CLOSE(score[1][k], score[0][k], 1e-9);
    }
}

/* ---- all of an estimate ---- */

enum { TALL = 20, BROAD = 300 };
static double broad_x[TALL * BROAD], broad_y[TALL];

static epiq_options broad(void)
{
    normals(11, (ptrdiff_t)TALL * BROAD, broad_x);
    normals(12, TALL, broad_y);
    for (int i = 0; i < TALL; i++) {
        broad_y[i] = 0.2 * broad_y[i] + broad_x[i * BROAD] + broad_x[i * BROAD + 1];
    }
    epiq_options o = usual_options();
    o.width = 16;
    o.lambda = 0.1;
    o.members = 8;
    o.batches = 4;
    o.threads = 1;
    return o;
}

static int at_rows(const epiq_options *o)
{
    done();
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_data_new(c, TALL, BROAD, broad_x, broad_y, NULL, o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add(c, at, "rows"), EPIQ_OK);
    return epiq_estimate(c, data, at, o, &r);
}

TEST(threads_and_state_change_no_bit_of_a_wide_table)
{
    double before[TALL][4];
    char state[64];
    snprintf(state, sizeof state, "/tmp/epiq-wide-%ld.state", (long)getpid());
    for (int k = 0; k < 3; k++) {
        epiq_options o = broad();
        o.threads = k == 1 ? 3 : 1;
        o.state = k ? state : NULL;
        EQ(at_rows(&o), EPIQ_OK);
        TRUE(r && (k < 2 || r->training->resumed == r->training->members));
        for (ptrdiff_t p = 0; r && p < TALL; p++) {
            const epiq_point *one = r->points[p];
            const double now[4] = {one->prediction, one->procedural.variance, one->data.variance, one->predictive.hi};
            if (k) EQ(memcmp(before[p], now, sizeof now), 0);
            memcpy(before[p], now, sizeof now);
        }
    }
    done();
    unlink(state);
}

TEST(what_is_said_about_features_is_about_the_tables)
{
    epiq_options o = broad();
    o.methods = EPIQ_IF | EPIQ_EV;
    o.engine = EPIQ_ENGINE_INFINITE;
    o.sweep = 5;
    static double x0[BROAD];
    memcpy(x0, broad_x, sizeof x0);
    x0[36] = 50;
    EQ(run(TALL, BROAD, broad_x, broad_y, NULL, 1, x0, &o), EPIQ_OK);
    TRUE(warned("outside_range"));
    if (warned("outside_range")) CONTAINS(warned("outside_range"), "x37");
    EQ(r->points[0]->predictive.known, 0); /* too far out for an interval */
    EQ(r->sweep_count, 24);
    EQ(r->sweeps[0]->feature, 0); /* the two that the target depends on are among those most correlated with it */
    EQ(r->sweeps[1]->feature, 1);
    for (ptrdiff_t k = 0; k < r->sweep_count; k++) { /* the range of that feature over the rows */
        const epiq_sweep *s = r->sweeps[k];
        double least = INFINITY, most = -INFINITY;
        for (int i = 0; i < TALL; i++) {
            least = fmin(least, broad_x[i * BROAD + s->feature]);
            most = fmax(most, broad_x[i * BROAD + s->feature]);
        }
        TRUE(s->value[0] == least && s->value[s->count - 1] == most);
    }
    done();
}

/* ---- models ---- */

enum { PREDICTED = 30 };
typedef struct {
    double prediction[PREDICTED], procedural[PREDICTED], data[PREDICTED], lo[PREDICTED];
    unsigned char known[PREDICTED];
} predicted;

static predicted ask_model(const epiq_model *m, const double *x0)
{
    predicted out;
    memset(&out, 0, sizeof out);
    epiq_predictions wanted = {.size = sizeof wanted,
                               .prediction = out.prediction,
                               .procedural = out.procedural,
                               .data = out.data,
                               .lo = out.lo,
                               .known = out.known,
                               .level = 0.8,
                               .exact = 1};
    EQ(epiq_model_predict(c, m, PREDICTED, x0, &wanted), EPIQ_OK);
    return out;
}

/* The rows, then points outside their span. */
static const double *some_points(void)
{
    static double x0[PREDICTED * BROAD];
    normals(13, (ptrdiff_t)PREDICTED * BROAD, x0);
    memcpy(x0, broad_x, sizeof broad_x);
    return x0;
}

static epiq_model *fit_broad(const epiq_options *o)
{
    epiq_model *m = NULL;
    done();
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_data_new(c, TALL, BROAD, broad_x, broad_y, NULL, o, &data), EPIQ_OK);
    EQ(epiq_fit(c, data, o, &m), EPIQ_OK);
    return m;
}

static epiq_model *written_and_read(epiq_model *m)
{
    char path[64];
    epiq_model *again = NULL;
    snprintf(path, sizeof path, "/tmp/epiq-wide-%ld", (long)getpid());
    EQ(epiq_model_write(c, m, path), EPIQ_OK);
    EQ(epiq_model_read(c, path, &again), EPIQ_OK);
    STR(epiq_message(c), "");
    unlink(path);
    return again;
}

TEST(a_wide_model_is_its_file_and_answers_as_the_estimate_does)
{
    for (int engine = EPIQ_ENGINE_NETWORK; engine <= EPIQ_ENGINE_INFINITE; engine++) {
        epiq_options o = broad();
        o.engine = engine;
        o.methods = engine == EPIQ_ENGINE_INFINITE ? EPIQ_IF | EPIQ_EV : EPIQ_IF | EPIQ_EV | EPIQ_BA;
        const double *x0 = some_points();
        epiq_model *m = fit_broad(&o), *again = written_and_read(m);
        const predicted before = ask_model(m, x0), after = ask_model(again, x0);
        EQ(memcmp(&before, &after, sizeof before), 0);
        EQ(m->inputs, TALL); /* scaled rows have mean 0, so that they span one dimension less, and one is outside */
        epiq_model_free(c, m);
        epiq_model_free(c, again);
        EQ(run(TALL, BROAD, broad_x, broad_y, NULL, PREDICTED, x0, &o), EPIQ_OK);
        for (int p = 0; r && p < PREDICTED; p++) {
            CLOSE(before.prediction[p], r->points[p]->prediction, 1e-9);
            CLOSE(before.procedural[p], r->points[p]->procedural.variance, 1e-9);
            CLOSE(before.data[p], r->points[p]->data.variance, 1e-9);
            EQ(!(before.known[p] & EPIQ_INTERVAL), !(r->points[p]->predictive.known));
        }
    }
    done();
}

/* As files were before there were coordinates: networks over all features. Those of coordinates become such by W_1 Q, which is
 * the same network within the span. */
static void without_coordinates(epiq_model *m)
{
    const epiqp_span *s = &m->kept.span;
    const ptrdiff_t w = m->o.width, members = m->ensemble[EPIQP_MEMBERS].count, d = m->d, rest = 2 * w + 1,
                    before = w * m->inputs + rest, after = w * d + rest;
    double *theta = members ? epiqp_arena_alloc(c, &m->arena, members * after, sizeof *theta) : NULL;
    for (ptrdiff_t k = 0; theta && k < members; k++) {
        const double *from = m->kept.members.theta + k * before;
        double *to = theta + k * after;
        memset(to, 0, (size_t)after * sizeof *to);
        for (ptrdiff_t u = 0; u < w; u++) {
            for (ptrdiff_t a = 0; a < s->rank; a++) {
                epiqp_axpy(d, from[u * m->inputs + a], s->q + a * d, to + u * d);
            }
        }
        memcpy(to + w * d, from + w * m->inputs, (size_t)rest * sizeof *to);
    }
    if (theta) m->kept.members.theta = theta;
    m->kept.span = (epiqp_span){0};
    m->inputs = d;
}

TEST(files_of_wide_tables_without_a_span_are_read)
{
    static const int engines[] = {EPIQ_ENGINE_NETWORK, EPIQ_ENGINE_INFINITE};
    for (int k = 0; k < 2; k++) {
        epiq_options o = broad();
        o.engine = engines[k];
        o.methods = EPIQ_IF | EPIQ_EV;
        o.data_by = EPIQ_DATA_BY_IF;
        const double *x0 = some_points();
        epiq_model *m = fit_broad(&o);
        const predicted now = ask_model(m, x0);
        without_coordinates(m);
        epiq_model *old = written_and_read(m);
        EQ(old ? old->inputs : 0, BROAD);
        const predicted then = ask_model(old, x0);
        for (int p = 0; p < (k ? PREDICTED : TALL); p++) { /* of networks, within the span alone */
            CLOSE(now.prediction[p], then.prediction[p], 1e-9);
            CLOSE(now.procedural[p], then.procedural[p], 1e-9);
            CLOSE(now.data[p], then.data[p], 1e-9);
        }
        epiq_model_free(c, m);
        epiq_model_free(c, old);
    }
    done();
}

TEST(a_span_that_is_none_is_refused)
{
    epiq_options o = broad();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.methods = EPIQ_IF | EPIQ_EV;
    for (int k = 0; k < 2; k++) {
        char path[64];
        epiq_model *m = fit_broad(&o), *again = NULL;
        double *q = (double *)(uintptr_t)m->kept.span.q;
        snprintf(path, sizeof path, "/tmp/epiq-wide-%ld", (long)getpid());
        q[3] = k ? NAN : q[3] + 0.5;
        EQ(epiq_model_write(c, m, path), EPIQ_OK);
        EQ(epiq_model_read(c, path, &again), EPIQ_E_FILE);
        epiq_model_free(c, m);
        epiq_model_free(c, again);
        unlink(path);
    }
    done();
}

TEST(no_allocation_may_fail_unnoticed_in_a_wide_table)
{
    epiq_options o = broad();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.methods = EPIQ_IF | EPIQ_EV;
    const double *x0 = some_points();
    static predicted room;
    epiq_predictions wanted = {.size = sizeof wanted, .data = room.data, .known = room.known, .threads = 1};
    epiq_model *whole = fit_broad(&o), *m = NULL;
    FAIL_EACH(c, epiq_fit(c, data, &o, &m), !m, 20);
    epiq_model_free(c, m);
    FAIL_EACH(c, epiq_model_predict(c, whole, PREDICTED, x0, &wanted), true, 5);
    epiq_model_free(c, whole);
    done();
}

TEST(twenty_thousand_features_take_a_moment)
{
    enum { MANY = 20000 };
    static double x[N * MANY];
    epiq_options o = made();
    o.members = 4;
    o.lambda = 1;
    o.scale = EPIQ_SCALE_STANDARD;
    o.sweep = 5;
    normals(14, (ptrdiff_t)N * MANY, x);
    const double start = epiqp_now();
    EQ(run(N, MANY, x, y, NULL, 1, x, &o), EPIQ_OK);
    TRUE(epiqp_now() - start < 20); /* it takes 0.4 s, and hours by the features themselves */
    TRUE(r && r->points[0]->procedural.known);
    done();
}
