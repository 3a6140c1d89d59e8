/* test_model_score.c - scores of a model: each number against its definition, by integrals, sums and planted rows. */
#include "fitted_model.h"

#include <math.h>

enum { ROWS = POINTS };
static double TARGET[ROWS];

static epiq_model *model(epiq_ctx *c, int engine)
{
    epiq_options o = small();
    o.engine = engine;
    o.methods = EPIQ_IF | EPIQ_EV;
    return fitted(c, N, &o, NULL);
}

static epiq_scores *scored(epiq_ctx *c, const epiq_model *m, ptrdiff_t rows, const double *y, double level)
{
    epiq_scores *s = NULL;
    const epiq_score_request ask = {.size = sizeof ask, .level = level, .exact = 1};
    EQ(epiq_score_rows(c, m, rows, AT, y, &ask, &s), EPIQ_OK);
    STR(epiq_message(c), "");
    return s;
}

static bool warns(const epiq_scores *s, int kind)
{
    for (ptrdiff_t k = 0; k < s->warning_count; k++) {
        if (s->warnings[k]->kind == kind) return true;
    }
    return false;
}

/* ---- definitions ---- */

/* The integral of (F(t) - 1{t >= y})^2 for the normal distribution, by the trapezoidal rule on both sides of y. */
static double crps_by_integral(double mean, double sd, double y)
{
    enum { STEPS = 20000 };
    const double least = fmin(mean, y) - 12 * sd, most = fmax(mean, y) + 12 * sd;
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        const double from = side ? y : least, to = side ? most : y, h = (to - from) / STEPS;
        for (int k = 0; k <= STEPS; k++) {
            const double f = erfc(-(from + k * h - mean) / sd / sqrt(2)) / 2 - side;
            sum += (k == 0 || k == STEPS ? 0.5 : 1) * h * f * f;
        }
    }
    return sum;
}

typedef struct {
    double squares, absolute, crps, log_density, squared_z, width, winkler;
    ptrdiff_t judged, inside;
} sums;

static sums by_hand(const epiq_scores *s)
{
    sums h = {0};
    for (ptrdiff_t i = 0; i < s->rows; i++) {
        const double e = s->y[i] - s->prediction[i], sd = sqrt(s->sd[i] * s->sd[i] + s->noise[i] * s->noise[i]);
        h.squares += e * e;
        h.absolute += fabs(e);
        if (!(s->known[i] & EPIQ_INTERVAL)) continue;
        h.judged++;
        h.crps += crps_by_integral(s->prediction[i], sd, s->y[i]);
        h.log_density += log(exp(-e * e / (2 * sd * sd)) / (sd * sqrt(2 * M_PI)));
        h.squared_z += e * e / (sd * sd);
        h.width += s->hi[i] - s->lo[i];
        const bool below = s->y[i]<s->lo[i], above = s->y[i]> s->hi[i];
        h.winkler += s->hi[i] - s->lo[i] + 2 / (1 - s->level) * (below ? s->lo[i] - s->y[i] : 0) +
                     2 / (1 - s->level) * (above ? s->y[i] - s->hi[i] : 0);
        h.inside += !below && !above;
    }
    return h;
}

TEST(scores_are_what_they_are_defined_as)
{
    static const double LEVEL[] = {0, 0.8};
    for (int k = 0; k < 4; k++) {
        epiq_ctx *c = start();
        epiq_model *m = model(c, k / 2 ? EPIQ_ENGINE_INFINITE : EPIQ_ENGINE_NETWORK);
        EQ(epiq_synth(c, 1, ROWS, D, 6, AT, TARGET), EPIQ_OK);
        AT[0] = AT[4 * D] = 0.24; /* two rows outside the data */
        epiq_scores *s = scored(c, m, ROWS, TARGET, LEVEL[k % 2]);
        const sums h = by_hand(s);
        const double n = ROWS, judged = (double)h.judged, p = (double)h.inside / judged, z = 1.959963984540054;
        double mean = 0, spread = 0;
        for (int i = 0; i < ROWS; i++) {
            mean += TARGET[i] / n;
        }
        for (int i = 0; i < ROWS; i++) {
            spread += (TARGET[i] - mean) * (TARGET[i] - mean);
        }
        EQ(s->rows, ROWS);
        TRUE(h.judged > ROWS / 2 && h.judged <= ROWS - 2);
        EQ(s->judged, h.judged);
        EQ(s->withheld, ROWS - h.judged);
        TRUE(warns(s, EPIQ_W_OUTSIDE_DATA) && !warns(s, EPIQ_W_SEEN_ROWS) && !warns(s, EPIQ_W_NO_SKILL));
        NEAR(s->level, k % 2 ? 0.8 : 0.95, 0);
        CLOSE(s->rmse, sqrt(h.squares / n), 1e-12);
        CLOSE(s->mae, h.absolute / n, 1e-12);
        EQ(s->has_r2, 1);
        CLOSE(s->r2, 1 - h.squares / spread, 1e-9);
        CLOSE(s->crps, h.crps / judged, 1e-5); /* the rule's error is h^2/12 times the integrand's slopes */
        EQ(s->has_likelihood, 1);
        CLOSE(s->log_likelihood, h.log_density / judged, 1e-12);
        CLOSE(s->squared_z, h.squared_z / judged, 1e-12);
        CLOSE(s->width, h.width / judged, 1e-12);
        CLOSE(s->interval_score, h.winkler / judged, 1e-12);
        EQ(s->coverage->known, 1);
        EQ(s->coverage->inside, h.inside);
        CLOSE(s->coverage->share, p, 1e-15);
        for (int end = 0; end < 2;
             end++) { /* the ends of Wilson's interval are where |p - q| is z standard errors of q */
            const double q = end ? s->coverage->hi : s->coverage->lo;
            NEAR(fabs(p - q), z * sqrt(q * (1 - q) / judged), 1e-12);
            TRUE(end ? q > p : q < p);
        }
        epiq_scores_free(c, s);
        epiq_model_free(c, m);
        end(c);
    }
}

/* At each level the rows inside are those of predict at that level; `within` says the same; the tenths are filled. */
TEST(calibration_is_coverage_at_each_level)
{
    static const double LEVEL[] = {0.5, 0.8, 0.9, 0.95};
    epiq_ctx *c = start();
    epiq_model *m = model(c, EPIQ_ENGINE_NETWORK);
    EQ(epiq_synth(c, 1, ROWS, D, 6, AT, TARGET), EPIQ_OK);
    epiq_scores *s = scored(c, m, ROWS, TARGET, 0);
    static numbers r;
    for (int k = 0; k < 4; k++) {
        ptrdiff_t inside = 0, within = 0;
        asked_level = LEVEL[k];
        EQ(ask(c, m, 2, 1, &r), EPIQ_OK);
        for (ptrdiff_t i = 0; i < ROWS; i++) {
            if (!(r.known[i] & EPIQ_INTERVAL)) continue;
            inside += TARGET[i] >= r.lo[i] && TARGET[i] <= r.hi[i];
            within += s->within[i] < LEVEL[k];
        }
        NEAR(s->calibration[k]->level, LEVEL[k], 0);
        EQ(s->calibration[k]->known, 1);
        EQ(s->calibration[k]->inside, inside);
        EQ(within, inside);
    }
    TRUE(!s->calibration[4]);
    asked_level = 0;
    ptrdiff_t all = 0;
    for (int k = 0; k < EPIQ_PIT; k++) {
        all += s->pit[k];
    }
    EQ(all, s->judged);
    epiq_scores_free(c, s);
    epiq_model_free(c, m);
    end(c);
}

/* ---- planted rows ---- */

/* Rows put at known places of the distribution that the model says: every number follows. */
TEST(planted_rows_have_the_scores_planted)
{
    epiq_ctx *c = start();
    epiq_model *m = model(c, EPIQ_ENGINE_INFINITE);
    static numbers r;
    EQ(ask(c, m, 1, 1, &r), EPIQ_OK);
    ptrdiff_t judged = 0, inside = 0;
    for (ptrdiff_t i = 0; i < ROWS; i++) {
        const bool known = r.known[i] & EPIQ_INTERVAL;
        const double half = (r.hi[i] - r.lo[i]) / 2;
        const int out = known && judged % 5 == 0; /* one in five just outside, the others just inside */
        TARGET[i] = r.prediction[i] + (i % 2 ? 1 : -1) * half * (out ? 1.001 : 0.999);
        judged += known;
        inside += known && !out;
    }
    epiq_scores *s = scored(c, m, ROWS, TARGET, 0);
    EQ(s->judged, judged);
    EQ(s->coverage->inside, inside);
    CLOSE(s->coverage->share, (double)inside / (double)judged, 1e-15);
    TRUE(s->coverage->hi < 0.95 && warns(s, EPIQ_W_COVERAGE));
    CLOSE(s->interval_score / s->width, 1 + 0.2 * 0.001 * 40 / 2, 0.01); /* half a width is missed by a thousandth */
    epiq_scores_free(c, s);

    for (ptrdiff_t i = 0; i < ROWS; i++) { /* every row one standard deviation above: log density and CRPS are known */
        TARGET[i] = r.prediction[i] + hypot(r.sd[i], r.noise[i]);
    }
    s = scored(c, m, ROWS, TARGET, 0);
    CLOSE(s->squared_z, 1.0, 1e-12);
    EQ(s->pit[8], judged); /* of 0.841 */
    double crps = 0, density = 0;
    for (ptrdiff_t i = 0; i < ROWS; i++) {
        const double sd = hypot(r.sd[i], r.noise[i]);
        if (!(r.known[i] & EPIQ_INTERVAL)) continue;
        crps += 0.602441357627617 * sd / (double)judged; /* z erf(z/sqrt 2) + sqrt(2/pi) exp(-1/2) - 1/sqrt pi at 1 */
        density += (-0.5 - log(sd * sqrt(2 * M_PI))) / (double)judged;
    }
    CLOSE(s->crps, crps, 1e-12);
    CLOSE(s->log_likelihood, density, 1e-12);
    epiq_scores_free(c, s);
    epiq_model_free(c, m);
    end(c);
}

/* A model that is right to the last digit, one that is of no use, and one that is asked about its own rows. */
TEST(perfect_useless_and_seen)
{
    epiq_ctx *c = start();
    epiq_model *m = model(c, EPIQ_ENGINE_INFINITE);
    static numbers r;
    EQ(ask(c, m, 1, 1, &r), EPIQ_OK);
    epiq_scores *s = scored(c, m, ROWS, r.prediction, 0);
    NEAR(s->rmse, 0, 0);
    NEAR(s->mae, 0, 0);
    NEAR(s->r2, 1, 0);
    NEAR(s->squared_z, 0, 0);
    EQ(s->coverage->inside, s->judged);
    NEAR(s->coverage->hi, 1, 0);
    EQ(s->pit[5], s->judged);
    CLOSE(s->interval_score, s->width, 1e-15);
    epiq_scores_free(c, s);
    for (ptrdiff_t i = 0; i < ROWS; i++) {
        TARGET[i] = -r.prediction[i];
    }
    s = scored(c, m, ROWS, TARGET, 0);
    TRUE(s->r2 < 0 && warns(s, EPIQ_W_NO_SKILL));
    epiq_scores_free(c, s);
    EQ(epiq_score_rows(c, m, N, X, Y, &(epiq_score_request){.size = sizeof(epiq_score_request)}, &s), EPIQ_OK);
    TRUE(warns(s, EPIQ_W_SEEN_ROWS));
    EQ(s->withheld, 0);
    epiq_scores_free(c, s);
    s = scored(c, m, 1, TARGET, 0); /* one row has no R2 */
    EQ(s->has_r2, 0);
    EQ(s->rows, 1);
    epiq_scores_free(c, s);
    epiq_model_free(c, m);
    end(c);
}

/* Without noise and without variance there is no density, and nothing that is not a number. */
TEST(a_table_without_noise_has_no_density)
{
    epiq_ctx *c = start();
    epiq_options o = small();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.scale = EPIQ_SCALE_NONE;
    for (int i = 0; i < N; i++) {
        Y[i] = 0;
    }
    epiq_model *m = fitted(c, N, &o, NULL);
    for (int i = 0; i < ROWS; i++) {
        TARGET[i] = i % 2;
    }
    epiq_scores *s = scored(c, m, ROWS, TARGET, 0);
    TRUE(s->judged > 0);
    EQ(s->has_likelihood, 0);
    NEAR(s->log_likelihood, 0, 0);
    NEAR(s->squared_z, 0, 0);
    TRUE(isfinite(s->crps) && s->crps > 0.3 && s->crps < 0.7); /* |y - 0| */
    NEAR(s->width, 0, 0);
    epiq_scores_free(c, s);
    epiq_model_free(c, m);
    end(c);
}

/* ---- what is missing ---- */

TEST(a_model_without_intervals_has_errors_alone)
{
    epiq_ctx *c = start();
    epiq_options o = small();
    o.methods = EPIQ_EV;
    epiq_model *m = fitted(c, N, &o, NULL);
    EQ(epiq_synth(c, 1, ROWS, D, 6, AT, TARGET), EPIQ_OK);
    epiq_scores *s = scored(c, m, ROWS, TARGET, 0);
    TRUE(s->rmse > 0 && s->has_r2);
    EQ(s->judged, 0);
    EQ(s->coverage->known, 0);
    EQ(s->has_likelihood, 0);
    EQ(s->calibration[0]->known, 0);
    TRUE(warns(s, EPIQ_W_NO_PREDICTIVE));
    epiq_scores_free(c, s);
    epiq_model_free(c, m);
    m = model(c, EPIQ_ENGINE_INFINITE);
    s = scored(c, m, ROWS, TARGET, 0.999); /* of 150 rows there are intervals up to 0.9933 */
    TRUE(s->judged > 0 && s->has_likelihood && !s->coverage->known && s->calibration[3]->known);
    TRUE(warns(s, EPIQ_W_NO_PREDICTIVE));
    epiq_scores_free(c, s);
    TARGET[3] = NAN;
    EQ(epiq_score_rows(c, m, ROWS, AT, TARGET, &(epiq_score_request){.size = sizeof(epiq_score_request)}, &s),
       EPIQ_E_DATA);
    SAYS(epiq_message(c), "y");
    TRUE(!s);
    EQ(epiq_score_rows(c, m, 0, AT, TARGET, &(epiq_score_request){.size = sizeof(epiq_score_request)}, &s),
       EPIQ_E_DATA);
    SAYS(epiq_message(c), "no row");
    EQ(epiq_score_rows(c, m, 2, AT, TARGET, &(epiq_score_request){.size = sizeof(epiq_score_request), .level = 2}, &s),
       EPIQ_E_USAGE);
    SAYS(epiq_message(c), "level");
    TARGET[3] = 1e308; /* which spoils the mean of all */
    EQ(epiq_score_rows(c, m, ROWS, AT, TARGET, &(epiq_score_request){.size = sizeof(epiq_score_request)}, &s),
       EPIQ_E_DATA);
    SAYS(epiq_message(c), "row 4");
    TARGET[0] = 1e308;
    TARGET[1] = -1e308;
    EQ(epiq_score_rows(c, m, 2, AT, TARGET, &(epiq_score_request){.size = sizeof(epiq_score_request)}, &s),
       EPIQ_E_DATA);
    SAYS(epiq_message(c), "target");
    epiq_model_free(c, m);
    end(c);
}

/* ---- files ---- */

static void write_rows(const char *file, bool target)
{
    FILE *f = fopen(file, "w");
    fputs(target ? "x3,id,y,x1,x2\n" : "x3,id,x1,x2\n", f);
    for (int i = 0; i < ROWS; i++) {
        fprintf(f, "%.17g,\"r,%d\",", AT[i * D + 2], i);
        if (target) fprintf(f, "%.17g,", TARGET[i]);
        fprintf(f, "%.17g,%.17g\n", AT[i * D], AT[i * D + 1]);
    }
    fclose(f);
}

TEST(a_file_scores_as_its_rows)
{
    epiq_ctx *c = start();
    epiq_model *m = model(c, EPIQ_ENGINE_INFINITE);
    EQ(epiq_synth(c, 1, ROWS, D, 6, AT, TARGET), EPIQ_OK);
    epiq_scores *want = scored(c, m, ROWS, TARGET, 0.9), *got = NULL;
    const epiq_score_request ask = {.size = sizeof ask, .level = 0.9, .exact = 1};
    write_rows(path, true);
    EQ(epiq_score_file(c, m, path, &ask, &got), EPIQ_OK);
    EQ(got->rows, ROWS);
    NEAR(got->rmse, want->rmse, 0);
    NEAR(got->crps, want->crps, 0);
    EQ(memcmp(got->hi, want->hi, ROWS * sizeof *got->hi), 0);
    EQ(memcmp(got->y, TARGET, sizeof TARGET), 0);
    TRUE(warns(got, EPIQ_W_EXTRA_COLUMNS));
    epiq_scores_free(c, got);
    write_rows(path, false);
    EQ(epiq_score_file(c, m, path, &ask, &got), EPIQ_E_DATA);
    SAYS(epiq_message(c), "no column \"y\"");
    TRUE(!got);
    epiq_scores_free(c, want);
    epiq_model_free(c, m);
    end(c);
}

TEST(copied_columns_come_as_they_are_written)
{
    epiq_ctx *c = start();
    epiq_model *m = model(c, EPIQ_ENGINE_INFINITE);
    epiq_reader *r = NULL;
    double x[7 * D];
    ptrdiff_t count, rows = 0;
    write_rows(path, false);
    EQ(epiq_reader_open_with(c, m, path, "id,x1", &r), EPIQ_OK);
    STR(epiq_reader_copied(r, -1, 0), "id");
    STR(epiq_reader_copied(r, -1, 1), "x1");
    TRUE(!epiq_reader_copied(r, -1, 2) && !epiq_reader_copied(r, 0, 0));
    TRUE(!epiq_reader_note(r)); /* a column that is copied is not ignored */
    do {
        EQ(epiq_reader_next(c, r, 7, x, &count), EPIQ_OK);
        for (ptrdiff_t i = 0; i < count; i++) {
            char id[32], x1[32];
            snprintf(id, sizeof id, "r,%td", rows + i);
            snprintf(x1, sizeof x1, "%.17g", AT[(rows + i) * D]);
            STR(epiq_reader_copied(r, i, 0), id);
            STR(epiq_reader_copied(r, i, 1), x1);
            NEAR(x[i * D], AT[(rows + i) * D], 0);
        }
        TRUE(!epiq_reader_copied(r, count, 0));
        rows += count;
    } while (count == 7);
    EQ(rows, ROWS);
    epiq_reader_free(c, r);
    EQ(epiq_reader_open_with(c, m, path, "name", &r), EPIQ_E_DATA);
    SAYS(epiq_message(c), "copy");
    TRUE(!r);
    EQ(epiq_reader_open_with(c, m, path, "", &r), EPIQ_E_USAGE);
    SAYS(epiq_message(c), "copy");
    epiq_model_free(c, m);
    end(c);
}
