/* --correction moderated: against the noise that was planted (the conditional truth sum c_i^2 s_i at infinite width), at a
 * training row, the mean and a random point, with equal noise and with noise that varies; a case small enough to be
 * computed by hand; neighbours of a Gram matrix given; rows beyond those that neighbours are chosen among. */
#include "est/est.h"
#include "test.h"

#include <stdlib.h>

enum { N = 200, POINTS = 3, WAYS = 2 };
static epiq_ctx *c;
static const char *const KINDS[POINTS] = {"row", "mean", "random"};

typedef enum { EQUAL, SLOPE, NEARER, FORMS } form;

/* Standard deviation of the noise over the set's own, as in the studies. */
static double factor(form f, int set, ptrdiff_t d, const double *x)
{
    double middle = set == 1 ? 0.1 : 0, spread = set == 1 ? 0.2 / sqrt(12) : 0.1, away = 0;
    double typical = (double)d * (spread * spread + (0.1 - middle) * (0.1 - middle));
    for (ptrdiff_t k = 0; k < d; k++) {
        away += (x[k] - 0.1) * (x[k] - 0.1) / typical;
    }
    return f == SLOPE    ? sqrt(1 + tanh(1.5 * (x[0] - middle) / spread))
           : f == NEARER ? sqrt(2 / (1 + away))
                         : 1;
}

typedef struct {
    double noise2[N]; /* planted, target units */
    double truth[POINTS];
} planted;

static int find_truth(epiqp_job *j, void *user)
{
    planted *t = user;
    for (ptrdiff_t p = 0; p < POINTS; p++) {
        const double *w = j->fit.ridge.c + p * j->n;
        t->truth[p] = 0;
        for (ptrdiff_t i = 0; i < j->n; i++) {
            t->truth[p] += w[i] * w[i] * t->noise2[i];
        }
    }
    return EPIQ_OK;
}

typedef struct {
    double ratio, log2, covered, count;
} tally;

static void add(tally *t, const epiq_part *p, double truth)
{
    double l = log(p->variance / truth);
    t->count++;
    t->ratio += p->variance / truth;
    t->log2 += l * l;
    t->covered += p->has_interval && p->lo <= truth && (p->open || truth <= p->hi);
}

static void simulate(int set, ptrdiff_t d, form f, int seed, tally got[WAYS][POINTS])
{
    double *x = malloc((size_t)(N * d + N) * sizeof *x), *y = x + N * d, at[POINTS * 16] = {0};
    planted truth;
    EQ(epiq_synth(c, set, N, d, (uint64_t)(1000 * seed + set), x, y), EPIQ_OK);
    for (int i = 0; i < N; i++) {
        const double *row = x + i * d;
        double mean = 0, sd = set == 1 ? 0.1 : 0.1 * (double)d, s = factor(f, set, d, row);
        for (ptrdiff_t k = 0; k < d; k++) {
            mean += set == 1 ? sin(row[k]) : exp(row[k]) + row[k] * row[k];
            at[k] = x[(seed * 7 % N) * d + k];
            at[d + k] += row[k] / N;
        }
        y[i] = mean + s * (y[i] - mean);
        truth.noise2[i] = s * s * sd * sd;
    }
    double z[16], ignored;
    EQ(epiq_synth(c, set, 1, d, (uint64_t)(999000 + seed), z, &ignored), EPIQ_OK);
    memcpy(at + 2 * d, z, (size_t)d * sizeof *z);
    epiq_options o = epiq_options_default();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.scale = EPIQ_SCALE_NONE;
    o.methods = EPIQ_IF;
    o.threads = 1;
    epiq_data *data;
    epiq_points *points;
    epiq_result *r;
    EQ(epiq_data_new(c, N, d, x, y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &points), EPIQ_OK);
    EQ(epiq_points_add_rows(c, points, POINTS, at), EPIQ_OK);
    EQ(epiqp_estimate(c, data, points, &o, &(epiqp_more){.then = find_truth, .user = &truth}, &r), EPIQ_OK);
    for (int p = 0; p < POINTS; p++) {
        add(&got[0][p], &r->points[p].corrected[EPIQ_CORRECTION_MODERATED], truth.truth[p]);
        add(&got[1][p], &r->points[p].corrected[EPIQ_CORRECTION_ROWWISE], truth.truth[p]);
    }
    epiq_result_free(c, r);
    epiq_points_free(c, points);
    epiq_data_free(c, data);
    free(x);
}

TEST(planted_noise)
{
    enum { SEEDS = 40 };
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    for (int design = 0; design < 2; design++) {
        for (int f = 0; f < FORMS; f++) {
            tally got[WAYS][POINTS] = {0};
            for (int seed = 1; seed <= SEEDS; seed++) {
                simulate(design ? 2 : 1, design ? 8 : 4, (form)f, seed, got);
            }
            for (int p = 0; p < POINTS; p++) {
                for (int way = 0; way < WAYS; way++) {
                    const tally *t = &got[way][p];
                    printf("%d %d %-7s %d ratio %.3f rms %.3f covered %.3f\n", design, f, KINDS[p], way,
                           t->ratio / t->count, sqrt(t->log2 / t->count), t->covered / t->count);
                }
            }
        }
    }
    epiq_ctx_free(c);
}

/* ---- real tables: every row's own prediction ---- */

typedef struct {
    double least, most; /* of V over noise |c|^2 */
} bounds;

static int hold_rows(epiqp_job *j, void *user)
{
    bounds *b = user;
    double noise = j->answer->result.fit.noise_variance / (j->data->y_factor * j->data->y_factor);
    for (ptrdiff_t p = 0; p < j->points; p++) {
        const double *w = j->fit.ridge.c + p * j->n;
        double plain = noise * epiqp_dot(j->n, w, w), ratio = j->inf[p].variance / plain;
        b->least = fmin(b->least, ratio);
        b->most = fmax(b->most, ratio);
        TRUE(ratio >= 0.03 && ratio <= 100);
    }
    return EPIQ_OK;
}

TEST(no_row_of_the_real_tables_has_an_absurd_variance)
{
    static const char *const NAMES[] = {"boston", "concrete", "energy", "wine", "yacht"},
                             *const TARGETS[] = {"medv", "strength", "heating", "quality", "resistance"};
    const char *folder = getenv("EPIQ_DATA");
    for (size_t k = 0; folder && k < sizeof NAMES / sizeof *NAMES; k++) {
        char path[4096];
        epiq_data *data;
        epiq_points *points;
        epiq_result *r;
        epiq_options o = epiq_options_default();
        bounds b = {INFINITY, 0};
        EQ(epiq_ctx_new(&c), EPIQ_OK);
        snprintf(path, sizeof path, "%s/%s.csv", folder, NAMES[k]);
        o.engine = EPIQ_ENGINE_INFINITE;
        o.methods = EPIQ_IF;
        o.target = TARGETS[k];
        EQ(epiq_data_read(c, path, &o, &data), EPIQ_OK);
        EQ(epiq_points_new(c, data, &points), EPIQ_OK);
        EQ(epiq_points_add(c, points, path), EPIQ_OK);
        EQ(epiqp_estimate(c, data, points, &o, &(epiqp_more){.then = hold_rows, .user = &b}, &r), EPIQ_OK);
        printf("%s: %td rows, V over noise |c|^2 from %.3g to %.3g\n", NAMES[k], r->point_count, b.least, b.most);
        epiq_result_free(c, r);
        epiq_points_free(c, points);
        epiq_data_free(c, data);
        epiq_ctx_free(c);
    }
}
