/* Rows asked of models that have not seen them: the closed forms against tables that lack the row or its group, the networks against
 * networks trained on such tables, the procedural variance of a few networks against a planted one; summaries, the error of
 * the networks, what is refused. */
#include "epiq_details.h"
#include "est/folds.h"
#include "sixty_rows.h"

#include <stdlib.h>

static epiq_options asked(void)
{
    epiq_options o = small();
    o.fold_members = 4;
    return o;
}

/* Every row of the 60 left out. */
static int run_rows(const int64_t *group, const epiq_options *o)
{
    done();
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_synth(c, 1, N, D, 5, X, Y), EPIQ_OK);
    EQ(epiq_data_new(c, N, D, X, Y, group, o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add(c, at, "rows"), EPIQ_OK);
    return epiq_estimate(c, data, at, o, &r);
}

/* Estimates at row i from the rows that are not marked, lambda n as for all of them. */
static epiq_result *without(epiq_ctx *own, const bool *marked, int i, epiq_options o)
{
    double x[N * D], y[N];
    ptrdiff_t n = 0;
    for (int k = 0; k < N; k++) {
        if (marked[k]) continue;
        memcpy(x + n * D, X + k * D, D * sizeof *x);
        y[n++] = Y[k];
    }
    epiq_data *less;
    epiq_points *there;
    epiq_result *out;
    o.lambda *= (double)N / (double)n;
    EQ(epiq_data_new(own, n, D, x, y, NULL, &o, &less), EPIQ_OK);
    EQ(epiq_points_new(own, less, &there), EPIQ_OK);
    EQ(epiq_points_add_rows(own, there, 1, X + i * D), EPIQ_OK);
    EQ(epiq_estimate(own, less, there, &o, &out), EPIQ_OK);
    epiq_points_free(own, there);
    epiq_data_free(own, less);
    return out;
}

/* Point i is what the table without the marked rows says of row i. */
static void same_without(const bool *marked, int i, epiq_options o)
{
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    epiq_result *want = without(own, marked, i, o);
    NEAR(r->points[i]->prediction, want->points[0]->prediction, 1e-9);
    CLOSE(r->points[i]->procedural.variance, want->points[0]->procedural.variance, 1e-7);
    epiq_result_free(own, want);
    epiq_ctx_free(own);
}

/* Both solve systems of condition 1e4 or so. */
TEST(infinitely_wide_networks_answer_as_if_the_row_had_never_been_there)
{
    epiq_options o = asked();
    o.engine = EPIQ_ENGINE_INFINITE;
    EQ(run_rows(NULL, &o), EPIQ_OK);
    EQ(r->point_count, N);
    EQ(r->summary->rows, N);
    for (int i = 0; i < N; i += 13) {
        bool marked[N] = {0};
        marked[i] = true;
        EQ(r->points[i]->left_out, i + 1);
        same_without(marked, i, o);
    }
    done();
}

/* Deleting a second row, by doing so. */
TEST(influential_rows_are_those_of_the_table_without_the_row)
{
    epiq_options o = asked();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.influential = N;
    EQ(run_rows(NULL, &o), EPIQ_OK);
    const epiq_point *p = r->points[7];
    EQ(p->influential_count, N - 1);
    bool marked[N] = {[7] = true};
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    epiq_result *before = without(own, marked, 7, o);
    for (int k = 0; k < N - 1; k += 13) { /* the strongest, and weaker ones */
        const ptrdiff_t row = p->influential[k]->row - 1;
        marked[row] = true;
        epiq_result *after = without(own, marked, 7, o);
        NEAR(p->influential[k]->influence, after->points[0]->prediction - before->points[0]->prediction, 1e-9);
        epiq_result_free(own, after);
        marked[row] = false;
    }
    epiq_result_free(own, before);
    epiq_ctx_free(own);
    done();
}

/* A target far off moves neither the prediction at its own row nor how large its noise is taken to be, but for the median of all. */
TEST(a_rows_own_target_is_not_in_its_interval)
{
    enum { ODD = 31 };
    epiq_options o = asked();
    o.engine = EPIQ_ENGINE_INFINITE;
    double x[N * D], y[N], half[2], prediction[2];
    EQ(run_rows(NULL, &o), EPIQ_OK);
    memcpy(x, X, sizeof x);
    memcpy(y, Y, sizeof y);
    for (int k = 0; k < 2; k++) {
        done();
        EQ(epiq_ctx_new(&c), EPIQ_OK);
        y[ODD] += k * 10;
        EQ(epiq_data_new(c, N, D, x, y, NULL, &o, &data), EPIQ_OK);
        EQ(epiq_points_new(c, data, &at), EPIQ_OK);
        EQ(epiq_points_add(c, at, "rows"), EPIQ_OK);
        EQ(epiq_estimate(c, data, at, &o, &r), EPIQ_OK);
        const epiq_point *p = r->points[ODD];
        TRUE(p->predictive.known);
        prediction[k] = p->prediction;
        double spread = (p->predictive.hi - p->predictive.lo) / 2, others = r->summary->interval_width.median / 2;
        half[k] = spread / others;
    }
    NEAR(prediction[0], prediction[1], 1e-9);
    TRUE(half[1] < 1.6 * half[0]); /* with its own error among its neighbours' it is five times as wide as others */
    done();
}

TEST(a_row_is_left_out_with_its_whole_group)
{
    epiq_options o = asked();
    o.engine = EPIQ_ENGINE_INFINITE;
    int64_t group[N];
    for (int i = 0; i < N; i++) {
        group[i] = i / 3;
    }
    EQ(run_rows(group, &o), EPIQ_OK);
    for (int i = 1; i < N; i += 17) {
        bool marked[N] = {0};
        marked[i / 3 * 3] = marked[i / 3 * 3 + 1] = marked[i / 3 * 3 + 2] = true;
        same_without(marked, i, o);
    }
    done();
}

/* Linearised networks with the kernel of all have the same weights, and their own starts. */
TEST(linearised_networks_answer_as_if_the_row_had_never_been_there)
{
    epiq_options o = asked();
    o.engine = EPIQ_ENGINE_LINEAR;
    o.methods = EPIQ_IF | EPIQ_EV;
    EQ(run_rows(NULL, &o), EPIQ_OK);
    bool marked[N] = {[7] = true};
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    epiq_result *want = without(own, marked, 7, o);
    EQ(r->points[7]->member_count, o.members);
    for (ptrdiff_t k = 0; k < o.members; k++) {
        NEAR(r->points[7]->members[k], want->points[0]->members[k], 1e-9);
    }
    epiq_result_free(own, want);
    epiq_ctx_free(own);
    done();
}

/* The networks of fold f start as members f, f + 5, ..; trained on the same rows they are the same but for single precision. */
TEST(networks_of_a_fold_are_those_trained_without_it)
{
    epiq_options o = asked();
    o.methods = EPIQ_IF | EPIQ_EV;
    o.fold_members = 3;
    EQ(run_rows(NULL, &o), EPIQ_OK);
    ptrdiff_t fold[N];
    EQ(epiqp_partition(c, data, (epiqp_stream){o.seed, EPIQP_FOR_SHUFFLE, 1}, 5, fold, NULL), EPIQ_OK);
    for (int i = 3; i < N; i += 29) {
        bool marked[N];
        for (int k = 0; k < N; k++) {
            marked[k] = fold[k] == fold[i];
        }
        epiq_ctx *own;
        EQ(epiq_ctx_new(&own), EPIQ_OK);
        epiq_options all = o;
        all.methods = EPIQ_EV;
        all.members = 15;
        all.fold_members = 0;
        epiq_result *want = without(own, marked, i, all);
        const epiq_point *p = r->points[i];
        EQ(p->member_count, 3);
        for (int k = 0; k < 3; k++) {
            NEAR(p->members[k], want->points[0]->members[fold[i] + 5 * k], 1e-5);
        }
        NEAR(p->prediction, (p->members[0] + p->members[1] + p->members[2]) / 3, 1e-12);
        CLOSE(p->prediction_variance.variance, p->data.variance + p->procedural.variance / 3, 1e-12);
        CLOSE(p->full_variance.variance, p->data.variance + p->procedural.variance / (double)r->ran->members, 1e-12);
        epiq_result_free(own, want);
        epiq_ctx_free(own);
    }
    done();
}

TEST(the_error_is_that_of_the_networks)
{
    epiq_options o = asked();
    o.methods = EPIQ_IF | EPIQ_EV;
    EQ(run_rows(NULL, &o), EPIQ_OK);
    double square = 0, mean = 0, spread = 0;
    for (int i = 0; i < N; i++) { /* of as many networks as answer, where a fold has four */
        const epiq_point *p = r->points[i];
        square += (Y[i] - p->prediction) * (Y[i] - p->prediction) / N;
        for (int k = 0; k < 4; k++) {
            const double off = p->members[k] - p->prediction;
            square += off * off / 3 * (1.0 / (double)o.members - 1.0 / 4) / N;
        }
        mean += Y[i] / N;
    }
    for (int i = 0; i < N; i++) {
        spread += (Y[i] - mean) * (Y[i] - mean) / N;
    }
    EQ(r->fit->folds, 5);
    CLOSE(r->fit->rmse, sqrt(square), 1e-12);
    NEAR(r->fit->r2, 1 - square / spread, 1e-12);
    TRUE(r->fit->noise_variance >= 0.04 * square && r->fit->noise_variance <= square);
    TRUE(r->fit->kernel_known && r->fit->kernel_rmse > 0);
    for (int i = 0; i < N; i++) { /* row by row, by the networks that have not seen it; scaling rounds */
        CLOSE(r->fit->y[i], Y[i], 1e-12);
        CLOSE(r->fit->unseen[i], r->points[i]->prediction, 1e-12);
    }
    done();
    o.engine = EPIQ_ENGINE_INFINITE;
    EQ(run_rows(NULL, &o), EPIQ_OK);
    TRUE(r->fit->loo && !r->fit->y && !r->fit->unseen);
    done();
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

TEST(a_summary_has_the_quantiles_of_its_rows_and_the_least_sure_of_them)
{
    epiq_options o = asked();
    o.engine = EPIQ_ENGINE_INFINITE;
    EQ(run_rows(NULL, &o), EPIQ_OK);
    double sd[N];
    for (int i = 0; i < N; i++) {
        sd[i] = sqrt(r->points[i]->data.variance);
    }
    const epiq_summary *s = r->summary;
    for (ptrdiff_t k = 1; k < s->least_sure_count; k++) {
        TRUE(sd[s->least_sure[k] - 1] <= sd[s->least_sure[k - 1] - 1]);
    }
    double largest = sd[s->least_sure[0] - 1];
    qsort(sd, N, sizeof *sd, rising);
    NEAR(largest, sd[N - 1], 0);
    EQ(s->least_sure_count, 5);
    CLOSE(s->prediction_sd.median, (sd[29] + sd[30]) / 2, 1e-12);
    CLOSE(s->prediction_sd.q05, sd[2] + 0.95 * (sd[3] - sd[2]), 1e-12); /* 0.05 * 59 = 2.95 */
    CLOSE(s->prediction_sd.q95, sd[56] + 0.05 * (sd[57] - sd[56]), 1e-12);
    TRUE(s->interval_width.known && s->interval_width.q05 > 0 && s->share_data > 0 && s->share_data < 1);
    done();
}

/* Of the mean of all networks: as wide as those of the rows where a fold has as many, and narrower where it has fewer. */
TEST(a_summary_s_interval_is_that_of_all_networks)
{
    for (int more = 0; more < 2; more++) {
        epiq_options o = asked();
        o.methods = EPIQ_IF | EPIQ_EV;
        o.members = more ? 40 : 4;
        EQ(run_rows(NULL, &o), EPIQ_OK);
        double width[N];
        size_t known = 0;
        for (int i = 0; i < N; i++) {
            const epiq_predictive *y = &r->points[i]->predictive;
            if (y->known) width[known++] = y->hi - y->lo;
        }
        TRUE(known > N / 2);
        qsort(width, known, sizeof *width, rising);
        const double ratio = r->summary->interval_width.median / ((width[(known - 1) / 2] + width[known / 2]) / 2);
        NEAR(ratio, more ? 0.97 : 1, more ? 0.029 : 1e-9);
        done();
    }
}

/* Variances with three degrees of freedom around one value: over 400 rows the value is known to 4 %, and each is drawn to it. */
TEST(a_few_networks_tell_a_variance_that_rows_share)
{
    enum { ROWS = 400 };
    static double between[ROWS], out[ROWS];
    epiqp_arena scratch = {0};
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    for (int i = 0; i < ROWS; i++) {
        double z[3];
        epiqp_normals((epiqp_stream){3, EPIQP_FOR_SYNTH_X, (uint64_t)i}, 3, z);
        between[i] = 0.7 * (z[0] * z[0] + z[1] * z[1] + z[2] * z[2]) / 3;
    }
    const epiqp_folds folds = {.count = 5, .starts = 4};
    const epiqp_plan plan = {.folds = &folds};
    const epiqp_problem pb = {.e = {.c = c}, .plan = &plan, .n = ROWS, .scratch = &scratch};
    const epiqp_fold_findings found = {.between = between};
    EQ(epiqp_moderate_folds(&pb, &found, out), EPIQ_OK);
    double before = 0, after = 0;
    for (int i = 0; i < ROWS; i++) {
        before += log(between[i] / 0.7) * log(between[i] / 0.7) / ROWS;
        after += log(out[i] / 0.7) * log(out[i] / 0.7) / ROWS;
    }
    TRUE(before > 0.9 && after < 0.1); /* trigamma(3/2) + bias^2 = 1.07 */
    CLOSE(epiqp_mean(out, ROWS), 0.7, 0.12);
    epiqp_arena_free(c, &scratch);
    done();
}

TEST(more_than_a_thousand_rows_are_asked_about_in_part)
{
    enum { MANY = 1300 };
    static double x[MANY], y[MANY];
    for (int i = 0; i < MANY; i++) {
        x[i] = i;
        y[i] = i % 7;
    }
    epiq_options o = usual_options();
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_data_new(c, MANY, 1, x, y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &at), EPIQ_OK);
    EQ(epiq_points_add(c, at, "rows"), EPIQ_OK);
    EQ(epiq_points_count(at), 1000);
    EQ(epiq_points_add(c, at, "rows"), EPIQ_OK); /* they are there already */
    EQ(epiq_points_count(at), 1000);
    EQ(epiq_points_add(c, at, "17"), EPIQ_OK);
    STR(at->at[1000], "row:17");
    for (int i = 1; i < 1000; i++) {
        TRUE(at->left_out[i] > at->left_out[i - 1]);
    }
    EQ(at->left_out[1000], -1);
    done();
}

TEST(rows_that_cannot_be_left_out_are_refused)
{
    epiq_options o = asked();
    o.methods = EPIQ_IF | EPIQ_EV;
    o.fold_members = 0;
    o.data_by = EPIQ_DATA_BY_IF;
    EQ(run_rows(NULL, &o), EPIQ_E_USAGE);
    SENTENCE(epiq_message(c));
    o = asked();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.time = 10;
    EQ(run_rows(NULL, &o), EPIQ_E_USAGE);
    SENTENCE(epiq_message(c));
    o = asked();
    o.kernel = EPIQ_KERNEL_EMPIRICAL;
    EQ(run_rows(NULL, &o), EPIQ_E_USAGE);
    SENTENCE(epiq_message(c));
    done();
}

TEST(a_useless_model_is_called_so)
{
    double x[N], y[N];
    epiq_options o = asked();
    o.engine = EPIQ_ENGINE_INFINITE;
    o.lambda = 1e-6;
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    epiqp_normals((epiqp_stream){1, EPIQP_FOR_SYNTH_X, 0}, N, x);
    epiqp_normals((epiqp_stream){1, EPIQP_FOR_SYNTH_X, 1}, N, y); /* nothing to do with x */
    EQ(run(N, 1, x, y, NULL, 1, x, &o), EPIQ_OK);
    TRUE(r->fit->r2 < 0);
    TRUE(warned("no_skill"));
    EQ(r->advice->action, EPIQ_DO_NOTHING);
    done();
}

/* Pure noise in so few rows is called skill in one table of twenty at most; by 2 standard errors it is in one of eight. */
TEST(few_rows_of_noise_prove_nothing)
{
    enum { TABLES = 40, MOST_ROWS = 5 };
    double x[2 * MOST_ROWS], y[MOST_ROWS];
    int praised = 0, tried = 0;
    epiq_options o = usual_options();
    o.width = 16;
    o.members = 4;
    o.methods = EPIQ_IF | EPIQ_EV;
    for (ptrdiff_t n = 2; n <= MOST_ROWS; n++) {
        for (uint64_t table = 0; table < TABLES; table++, tried++) {
            epiqp_normals((epiqp_stream){table, EPIQP_FOR_SYNTH_X, (uint64_t)n}, 2 * n, x);
            epiqp_normals((epiqp_stream){table, EPIQP_FOR_SYNTH_X, 100 + (uint64_t)n}, n, y);
            EQ(run(n, 2, x, y, NULL, 1, x, &o), EPIQ_OK);
            EQ(warned("no_skill") != NULL, r->fit->no_skill);
            praised += !r->fit->no_skill;
        }
    }
    TRUE(20 * praised <= tried);
    done();
}

/* A straight line in d features and noise of standard deviation 0.5; advice about the rows left out, or at a point. */
static void advise(ptrdiff_t n, ptrdiff_t d, ptrdiff_t points, const double *where, double level)
{
    double *x = malloc((size_t)(n * d + n) * sizeof *x), *y = x ? x + n * d : NULL;
    epiq_options o = asked();
    o.engine = EPIQ_ENGINE_NETWORK;
    o.methods = EPIQ_IF | EPIQ_EV;
    o.fold_members = 2;
    o.width = 64;
    o.lambda = 1e-3;
    o.members = 8;
    o.level = level;
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    epiqp_normals((epiqp_stream){5, EPIQP_FOR_SYNTH_X, 0}, n * d, x);
    epiqp_normals((epiqp_stream){5, EPIQP_FOR_SYNTH_NOISE, 0}, n, y);
    for (ptrdiff_t i = 0; i < n; i++) {
        y[i] *= 0.5;
        for (ptrdiff_t k = 0; k < 5; k++) {
            y[i] += x[i * d + k % d];
        }
    }
    EQ(run(n, d, x, y, NULL, points, where ? where : x, &o), EPIQ_OK);
    free(x);
}

TEST(advice_counts_what_more_rows_would_teach)
{
    advise(100, 20, 1, NULL,
           0.95); /* too few rows for so many features: twice as many leave 0.8 of the error or less */
    TRUE(r->fit->twice > 0.7 && r->fit->twice < 0.85);
    EQ(r->advice->action & EPIQ_DO_COLLECT, EPIQ_DO_COLLECT);
    CONTAINS(r->advice->text, "ollect more rows");
    done();
    advise(400, 1, 1, NULL, 0.95); /* noise is all that is left */
    TRUE(r->fit->twice > 0.95 && r->fit->twice <= 1);
    EQ(r->advice->action, EPIQ_DO_NOTHING);
    done();
    advise(400, 1, 1, (const double[]){50}, 0.95);
    TRUE(!r->points[0]->predictive.known);
    EQ(r->advice->action, EPIQ_DO_COLLECT);
    CONTAINS(r->advice->text, "outside the data");
    done();
}

/* Squared error of kernel regression at every row, without the rows that are marked with its number. */
static void errors_without(const ptrdiff_t *number, const epiq_options *o, double *error2)
{
    epiq_options kernel = *o;
    kernel.engine = EPIQ_ENGINE_INFINITE;
    kernel.methods = EPIQ_IF;
    kernel.influential = 0;
    epiq_ctx *own;
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    for (int i = 0; i < N; i++) {
        bool marked[N];
        for (int k = 0; k < N; k++) {
            marked[k] = number[k] == number[i];
        }
        epiq_result *there = without(own, marked, i, kernel);
        error2[i] = pow(Y[i] - there->points[0]->prediction, 2);
        epiq_result_free(own, there);
    }
    epiq_ctx_free(own);
}

TEST(twice_the_rows_as_refits_have_it)
{
    epiq_options o = asked();
    o.engine = EPIQ_ENGINE_NETWORK;
    o.methods = EPIQ_IF | EPIQ_EV;
    o.lambda = 1e-2;
    EQ(run_rows(NULL, &o), EPIQ_OK);
    double few2[N] = {0}, one2[N], mean2[2] = {0}, se = 0, terms = 0;
    ptrdiff_t number[N], sizes[5];
    for (int deal = 0; deal < 5; deal++) {
        epiqp_stream by = deal ? (epiqp_stream){o.seed, EPIQP_FOR_FOLD, (uint64_t)deal - 1}
                               : (epiqp_stream){o.seed, EPIQP_FOR_SHUFFLE, 1};
        EQ(epiqp_partition(c, data, by, 5, number, sizes), EPIQ_OK);
        errors_without(number, &o, one2);
        for (int i = 0; i < N; i++) {
            few2[i] += one2[i] / 5;
        }
    }
    for (int i = 0; i < N; i++) {
        number[i] = i;
    }
    errors_without(number, &o, one2);
    for (int i = 0; i < N; i++) {
        mean2[0] += few2[i] / N;
        mean2[1] += one2[i] / N;
    }
    for (int i = 0; i < N; i++) {
        terms = (one2[i] / mean2[1] - few2[i] / mean2[0]) / 2;
        se += terms * terms;
    }
    se = sqrt(se) / N;
    const double g = log(mean2[1] / mean2[0]) / 2;
    TRUE(g < 0 && g > log(0.8) / 2);
    CLOSE(r->fit->twice, exp(g * g * g / (g * g + se * se) * log(2) / -log(0.8)), 1e-6);
    done();
}

TEST(a_point_without_an_interval_need_not_be_outside)
{
    static const double LEVEL = 0.999; /* 400 rows have no interval of this level, wherever it is asked for */
    advise(400, 1, 1, (const double[]){0}, LEVEL);
    TRUE(!r->points[0]->predictive.known);
    EQ(r->advice->action, EPIQ_DO_NOTHING);
    char inside[512];
    snprintf(inside, sizeof inside, "%s", r->advice->text);
    done();
    advise(400, 1, 1, (const double[]){50}, LEVEL);
    EQ(r->advice->action, EPIQ_DO_COLLECT);
    CONTAINS(r->advice->text, "outside the data");
    done();
    advise(400, 1, 2, (const double[]){0, 50}, LEVEL); /* one of two, which does not count beside the other */
    STR(r->advice->text, inside);
    done();
}
