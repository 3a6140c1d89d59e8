/* test_data_columns.c - the choice of columns, scaling, groups of equal features, and what is warned of. */
#include "read_rows.h"

#include <float.h>

/* ---- columns ---- */

#define FOUR "alpha,beta,gamma,y\n1,2,3,4\n5,6,7,8\n9,1,2,3\n"

TEST(unknown_columns_are_listed_and_a_near_one_suggested)
{
    epiq_options o = options();
    o.target = NULL;
    refused_with(FOUR, &o, EPIQ_E_USAGE, "target");
    o.target = "alhpa";
    refused_with(FOUR, &o, EPIQ_E_DATA, "target");
    o.target = "BETA";
    refused_with(FOUR, &o, EPIQ_E_DATA, "\"beta\"");
    o.target = "weight";
    refused_with(FOUR, &o, EPIQ_E_DATA, "target");
    for (int k = 0; k < 4; k++) {
        o = options();
        *(k == 0 ? &o.features : k == 1 ? &o.drop : k == 2 ? &o.onehot : &o.group) = "nothing";
        refused_with(FOUR, &o, EPIQ_E_DATA, "\"nothing\"");
    }
    char wide[9000] = "y";
    for (int j = 0; j < 1000; j++) {
        snprintf(wide + strlen(wide), 16, ",c%d", j);
    }
    strcat(wide, "\n");
    o = options();
    o.target = "w";
    refused_with(wide, &o, EPIQ_E_DATA, "1001");
}

TEST(options_that_contradict_each_other_are_refused)
{
    static const struct {
        const char *features, *drop, *onehot, *group, *part;
        int wanted;
    } cases[] = {{"alpha,y", NULL, NULL, NULL, "features", EPIQ_E_USAGE},
                 {NULL, "y", NULL, NULL, "drop", EPIQ_E_USAGE},
                 {NULL, NULL, "y", NULL, "onehot", EPIQ_E_USAGE},
                 {NULL, NULL, NULL, "y", "group", EPIQ_E_USAGE},
                 {"alpha,beta", NULL, NULL, "beta", "features", EPIQ_E_USAGE},
                 {NULL, NULL, "beta", "beta", "onehot", EPIQ_E_USAGE},
                 {"alpha", "alpha", NULL, NULL, "drop", EPIQ_E_USAGE},
                 {NULL, "alpha", "alpha", NULL, "onehot", EPIQ_E_USAGE},
                 {"alpha", NULL, "beta", NULL, "features", EPIQ_E_USAGE},
                 {NULL, "alpha,,beta", NULL, NULL, "drop", EPIQ_E_USAGE},
                 {NULL, "alpha,", NULL, NULL, "drop", EPIQ_E_USAGE},
                 {NULL, "\"alpha", NULL, NULL, NULL, EPIQ_E_USAGE},
                 {NULL, "alpha,beta,gamma", NULL, NULL, NULL, EPIQ_E_DATA},
                 {NULL, "alpha,beta", NULL, "gamma", NULL, EPIQ_E_DATA}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        epiq_options o = options();
        o.features = cases[i].features;
        o.drop = cases[i].drop;
        o.onehot = cases[i].onehot;
        o.group = cases[i].group;
        refused_with(FOUR, &o, cases[i].wanted, cases[i].part);
    }
}

TEST(columns_are_chosen_by_name)
{
    epiq_options o = options();
    o.target = "beta";
    o.features = "y,alpha";
    epiq_data *data = read_text(FOUR, &o);
    EQ(status, EPIQ_OK);
    EQ(data->d, 2);
    STR(data->feature[0], "alpha"); /* in the order of the file */
    STR(data->feature[1], "y");
    STR(data->target, "beta");
    NEAR(data->x[1], 4, 0);
    NEAR(data->y[1], 6, 0);
    epiq_data_free(c, data);
    o = options();
    o.group = "beta";
    data = read_text("alpha,beta,y\n1,p,1\n2,q,2\n3,p,3\n4,7,4\n", &o);
    EQ(data->d, 1);
    EQ(data->groups, 3);
    EQ(data->group[2], 0);
    EQ(data->group[3], 2);
    EQ(epiq_data_describe(data).groups, 3);
    epiq_data_free(c, data);
}

TEST(onehot_has_a_limit)
{
    char text[20000] = "k,y\n";
    for (int i = 0; i < 1000; i++) {
        snprintf(text + strlen(text), 32, "v%d,%d\n", i, i);
    }
    epiq_options o = options();
    o.onehot = "k";
    epiq_data *data = read_text(text, &o);
    EQ(status, EPIQ_OK);
    EQ(data->d, 1000);
    NEAR(data->x[5 * 1000 + 5], 1, 0);
    epiq_data_free(c, data);
    strcat(text, "w,1\n");
    refused_with(text, &o, EPIQ_E_DATA, "1000");
}

/* ---- scaling and warnings ---- */

TEST(scaling_inverts_and_standardises)
{
    for (int scale = EPIQ_SCALE_STANDARD; scale <= EPIQ_SCALE_NONE; scale++) {
        epiq_options o = options();
        o.scale = scale;
        epiq_data *data = read_text("a,b,y\n1,-10,5\n2,30,7\n4,20,15\n9,0,1\n", &o);
        const double y[] = {5, 7, 15, 1};
        double sum = 0, square = 0, least = INFINITY, most = -INFINITY;
        for (int i = 0; i < 4; i++) {
            CLOSE(data->y_shift + data->y_factor * data->y[i], y[i], 8 * DBL_EPSILON);
            for (int j = 0; j < 2; j++) {
                NEAR(data->shift[j] + data->factor[j] * data->x[2 * i + j], data->x_given[2 * i + j], 64 * DBL_EPSILON);
            }
            sum += data->x[2 * i];
            square += data->x[2 * i] * data->x[2 * i];
            least = fmin(least, data->x[2 * i]);
            most = fmax(most, data->x[2 * i]);
        }
        NEAR(data->mean[0], 4, 0);
        NEAR(data->mean[1], 10, 0);
        NEAR(data->least[1], -10, 0);
        NEAR(data->most[1], 30, 0);
        if (scale == EPIQ_SCALE_STANDARD) {
            NEAR(sum, 0, 8 * DBL_EPSILON);
            NEAR(square, 4, 16 * DBL_EPSILON); /* divisor n */
            NEAR(data->y_shift, 7, 0);
            CLOSE(data->y_factor, sqrt(26), 4 * DBL_EPSILON);
        } else if (scale == EPIQ_SCALE_MINMAX) {
            NEAR(least, 0, 0);
            NEAR(most, 1, 0);
            NEAR(data->y_shift, 1, 0);
            NEAR(data->y_factor, 14, 0);
        } else {
            NEAR(data->y_shift, 0, 0);
            NEAR(data->y_factor, 1, 0);
        }
        EQ(data->warnings.count, 0);
        epiq_data_free(c, data);
    }
    epiq_options o = options();
    o.scale = 7;
    refused_with(FOUR, &o, EPIQ_E_USAGE, "scale");
}

TEST(constant_columns_are_shifted_only)
{
    epiq_options o = options();
    o.scale = EPIQ_SCALE_STANDARD;
    epiq_data *data = read_text("a,b,y\n0.1,1,0.3\n0.1,2,0.3\n0.1,4,0.3\n", &o);
    EQ(data->constant, 1);
    NEAR(data->shift[0], 0.1, 0); /* though 0.1 + 0.1 + 0.1 is not 3 * 0.1 */
    NEAR(data->factor[0], 1, 0);
    NEAR(data->x[2], 0, 0);
    NEAR(data->y_factor, 1, 0);
    NEAR(data->y[1], 0, 0);
    SENTENCE(warning(data, "constant_columns"));
    CONTAINS(warning(data, "constant_columns"), "drop");
    SENTENCE(warning(data, "constant_target"));
    EQ(epiq_data_describe(data).constant, 1);
    epiq_data_free(c, data);
}

TEST(extreme_values_scale_to_finite_ones)
{
    static const char *const tables[] = {"a,y\n1e300,-1.7e308\n-1e300,1.7e308\n1.7e308,1.6e308\n",
                                         "a,y\n1,1\n1.0000000000000002,2\n1,3\n",
                                         "a,y\n1e-200,1e-160\n2e-200,2e-160\n5e-200,9e-160\n"};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
        epiq_options o = options();
        o.scale = EPIQ_SCALE_STANDARD;
        epiq_data *data = read_text(tables[k], &o);
        EQ(status, EPIQ_OK);
        double square = 0;
        for (int i = 0; i < 3; i++) {
            TRUE(isfinite(data->x[i]) && isfinite(data->y[i]));
            square += data->x[i] * data->x[i];
        }
        TRUE(data->factor[0] >= DBL_MIN && isfinite(data->factor[0]) && isfinite(data->shift[0]) &&
             isfinite(data->y_factor));
        NEAR(square, k == 1 ? 4.5 : 3, 1e-8); /* 4.5: the mean, 1 + 2^-52/3, is rounded to 1 */
        epiq_data_free(c, data);
    }
    epiq_options o = options();
    o.scale = EPIQ_SCALE_MINMAX;
    refused_with("a,y\n-1.7e308,1\n1.7e308,2\n", &o, EPIQ_E_DATA, NULL);
    refused_with("a,y\n1,5e-324\n2,0\n0,0\n", &o, EPIQ_E_DATA, NULL);
    o.scale = EPIQ_SCALE_STANDARD;
    refused_with("a,y\n1e-310,1\n2e-310,0\n0,0\n", &o, EPIQ_E_DATA, NULL);
}

TEST(columns_that_vary_in_their_last_digits_are_warned_of)
{
    epiq_options o = options();
    epiq_data *data =
        read_text("a,b,y\n1e12,1000000001,1\n1000000000001,1000000002,2\n1000000000002,1000000004,4\n", &o);
    SENTENCE(warning(data, "last_digits"));
    epiq_data_free(c, data);
}

TEST(repeated_rows_are_counted)
{
    epiq_options o = options();
    epiq_data *data = read_text("a,b,y\n1,2,1\n1,2,2\n0,1,3\n-0,1,4\n2,1,5\n1,2,6\n", &o);
    EQ(data->duplicates, 3);
    SAYS(warning(data, "duplicate_rows"), "3 rows");
    epiq_data_free(c, data);
}

TEST(a_large_table_keeps_every_row)
{
    enum { N = 20000 };
    char *text = malloc(N * 40), *p = text + sprintf(text, "g,a,y\n");
    for (int i = 0; i < N; i++) {
        p += sprintf(p, "id%d,%d.25,%d\n", i / 3, i, i % 100);
    }
    epiq_options o = options();
    o.group = "g";
    epiq_data *data = read_text(text, &o);
    EQ(status, EPIQ_OK);
    EQ(data->n, N);
    EQ(data->groups, (N + 2) / 3);
    EQ(data->duplicates, 0);
    bool same = true;
    for (int i = 0; i < N; i++) {
        same = same && data->x[i] == i + 0.25 && data->group[i] == i / 3;
    }
    TRUE(same);
    epiq_data_free(c, data);
    free(text);
}

TEST(rows_with_equal_features_are_a_group_on_request)
{
    const char *text = "g,a,b,y\nu,1,2,10\nv,-0,2,11\nu,1,2.0,12\nv,0,2,13\nw,1,3,14\n";
    epiq_options o = options();
    o.group = "same-features";
    o.drop = "g";
    epiq_data *data = read_text(text, &o);
    EQ(status, EPIQ_OK);
    const ptrdiff_t groups[] = {0, 1, 0, 1, 2};
    for (int i = 0; i < 5; i++) {
        EQ(data->group[i], groups[i]); /* as numbers: 2 and 2.0, 0 and -0 are the same */
    }
    EQ(data->groups, 3);
    EQ(data->largest_group, 2);
    EQ(data->duplicates, 2);
    TRUE(!warning(data, "duplicate_rows"));
    epiq_data_free(c, data);
    o.group = NULL;
    data = read_text(text, &o);
    EQ(data->groups, 5);
    SAYS(warning(data, "duplicate_rows"), "2 rows");
    CONTAINS(warning(data, "duplicate_rows"), "group same-features");
    epiq_data_free(c, data);
    o.group = "same-features";
    o.drop = NULL;
    o.onehot = "g"; /* features are what is used, so the letters tell rows apart */
    data = read_text("g,a,y\nu,1,10\nv,1,11\nu,1,12\n", &o);
    EQ(data->groups, 2);
    epiq_data_free(c, data);
    o.onehot = NULL; /* a column of that name is meant itself */
    data = read_text("same-features,a,y\nu,1,10\nv,1,11\nv,2,12\n", &o);
    EQ(data->groups, 2);
    EQ(data->group[1], 1);
    EQ(data->group[2], 1);
    EQ(data->d, 1);
    epiq_data_free(c, data);
    EQ((ptrdiff_t)read_text("a,b,y\n1,2,10\n2,2,11\n1,3,12\n", &o), 0);
    EQ(status, EPIQ_E_DATA);
    SAYS(epiq_message(c), "3 rows");
    double x[] = {1, 2, 3, 4, 1, 2}, y[] = {1, 2, 3};
    const int64_t labels[] = {4, 5, 5};
    EQ(epiq_data_new(c, 3, 2, x, y, NULL, &o, &data), EPIQ_OK);
    EQ(data->groups, 2);
    EQ(data->group[2], 0);
    epiq_data_free(c, data);
    EQ(epiq_data_new(c, 3, 2, x, y, labels, &o, &data), EPIQ_OK); /* labels say it already */
    EQ(data->group[2], 1);
    epiq_data_free(c, data);
    EQ(epiq_data_new(c, 2, 2, x, y, NULL, &o, &data), EPIQ_E_DATA);
    TRUE(!data);
}
