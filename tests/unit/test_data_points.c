/* test_data_points.c - data from memory, names given later, points, and the synthetic sets. */
#include "read_rows.h"

/* ---- from memory ---- */

TEST(data_from_memory_is_checked_and_named)
{
    double x[] = {1, 2, 3, 4, 5, 6, 1, 2}, y[] = {1, 2, 3, 5};
    int64_t group[] = {-7, INT64_MAX, -7, 0};
    epiq_options o = usual_options();
    epiq_data *data, *again;
    EQ(epiq_data_new(c, 4, 2, x, y, group, &o, &data), EPIQ_OK);
    STR(data->feature[1], "x2");
    STR(data->target, "y");
    EQ(data->groups, 3);
    EQ(data->group[2], 0);
    EQ(data->duplicates, 1);
    EQ(data->row[3], 4);
    EQ(strlen(data->sha256), 64);
    EQ(epiq_data_new(c, 4, 2, x, y, NULL, &o, &again), EPIQ_OK);
    EQ(again->groups, 4);
    TRUE(strcmp(data->sha256, again->sha256) != 0);
    epiq_data_info info = epiq_data_describe(again);
    EQ(info.rows, 4);
    EQ(info.features, 2);
    NEAR(info.shift, 2.75, 0);
    epiq_data_free(c, data);
    epiq_data_free(c, again);
    x[7] = NAN;
    EQ(epiq_data_new(c, 4, 2, x, y, NULL, &o, &data), EPIQ_E_DATA);
    SAYS(epiq_message(c), "x[3][1]");
    TRUE(!data);
    x[7] = 0;
    y[2] = -INFINITY;
    EQ(epiq_data_new(c, 4, 2, x, y, NULL, &o, &data), EPIQ_E_DATA);
    SAYS(epiq_message(c), "y[2]");
    EQ(epiq_data_new(c, 1, 2, x, y, NULL, &o, &data), EPIQ_E_DATA);
    SAYS(epiq_message(c), "2 rows");
    EQ(epiq_data_new(c, 4, 0, x, y, NULL, &o, &data), EPIQ_E_DATA);
    EQ(epiq_data_new(c, PTRDIFF_MAX / 2, 16, x, y, NULL, &o, &data), EPIQ_E_NOMEM);
    EQ(c->live_blocks, 0);
    epiq_data_free(c, NULL);
}

TEST(names_can_be_given_later)
{
    double x[] = {1, 2, 3, 4}, y[] = {1, 2}, points[] = {5, 6};
    epiq_options o = usual_options();
    epiq_data *data;
    epiq_points *p;
    EQ(epiq_data_new(c, 2, 2, x, y, NULL, &o, &data), EPIQ_OK);
    char rooms[] = "rooms", tax[] = "tax, yearly";
    EQ(epiq_data_rename(c, data, (const char *const[]){rooms, tax}, "price"), EPIQ_OK);
    memset(rooms, '?', 5); /* they are copied */
    STR(data->feature[0], "rooms");
    STR(epiq_data_describe(data).target, "price");
    EQ(epiq_points_new(c, data, &p), EPIQ_OK);
    put_bytes("price,\"tax, yearly\",rooms\n0,6,5\n", 32);
    EQ(epiq_points_add(c, p, path), EPIQ_OK);
    EQ(epiq_points_add_rows(c, p, 1, points), EPIQ_OK);
    EQ(memcmp(p->x, p->x + 2, 2 * sizeof *p->x), 0); /* found by their new names, in any order */
    EQ(epiq_points_count(p), 2);
    CLOSE(epiq_points_value(p, 0, 0), 5.0, 1e-15); /* as given, up to the rounding of scaling there and back */
    CLOSE(epiq_points_value(p, 1, 1), 6.0, 1e-15);
    EQ(epiq_points_add_rows(c, p, 1, (const double[]){0, 1e-3}), EPIQ_OK);
    TRUE(epiq_points_value(p, 2, 0) == 0); /* not what rounding leaves of it */
    CLOSE(epiq_points_value(p, 2, 1), 1e-3, 1e-12);
    epiq_points_free(c, p);
    EQ(epiq_data_rename(c, data, (const char *const[]){"a", "a"}, "z"), EPIQ_E_DATA);
    SAYS(epiq_message(c), "\"a\"");
    STR(data->feature[0], "rooms"); /* nothing happened */
    STR(data->target, "price");
    EQ(epiq_data_rename(c, data, (const char *const[]){"a", "gr\xfcn"}, NULL), EPIQ_E_DATA);
    SAYS(epiq_message(c), "\"gr?n\"");
    EQ(epiq_data_rename(c, data, NULL, "gr\xfcn"), EPIQ_E_DATA);
    EQ(epiq_data_rename(c, data, NULL, NULL), EPIQ_OK);
    EQ(epiq_data_rename(c, data, (const char *const[]){"price", ""}, NULL), EPIQ_OK);
    STR(data->feature[0], "price");
    for (int fail = 0, got = EPIQ_E_NOMEM; got && fail < 100; fail++) {
        c->fail_after = fail;
        got = epiq_data_rename(c, data, (const char *const[]){"u", "v"}, "w");
        c->fail_after = -1;
        STR(data->target, got ? "price" : "w");
        STR(data->feature[1], got ? "" : "v");
    }
    STR(data->feature[1], "v");
    epiq_data_free(c, data);
    o = options();
    o.onehot = "k";
    data = read_text("k,a,y\nred,1,5\nblue,2,7\nred,3,8\n", &o);
    EQ(epiq_data_rename(c, data, (const char *const[]){"is red", "is blue", "b"}, NULL), EPIQ_OK);
    STR(data->feature[0], "is red");
    EQ(epiq_points_new(c, data, &p), EPIQ_OK);
    put_bytes("k,b\nblue,2\n", 11); /* one column, two features: it keeps its own name */
    EQ(epiq_points_add(c, p, path), EPIQ_OK);
    STR(epiq_message(c), "");
    epiq_points_free(c, p);
    epiq_data_free(c, data);
    EQ(c->live_blocks, 0);
}

/* ---- points ---- */

static int add_text(epiq_points *p, const char *text)
{
    put_bytes(text, strlen(text));
    return epiq_points_add(c, p, path);
}

/* Warnings of columns name them as they are called last. */
TEST(warnings_follow_new_names)
{
    const double x[] = {1, 7, 2, 7, 4, 7}, y[] = {3, 3, 3};
    epiq_options o = usual_options();
    epiq_data *data;
    EQ(epiq_data_new(c, 3, 2, x, y, NULL, &o, &data), EPIQ_OK);
    EQ(data->warnings.count, 2);
    EQ(epiq_data_rename(c, data, (const char *const[]){"rooms", "tax"}, "price"), EPIQ_OK);
    EQ(data->warnings.count, 2);
    EQ(data->warnings.list[0].kind, EPIQ_W_CONSTANT_COLUMNS);
    SAYS(data->warnings.list[0].message, "tax");
    EQ(data->warnings.list[1].kind, EPIQ_W_CONSTANT_TARGET);
    SAYS(data->warnings.list[1].message, "price");
    epiq_data_free(c, data);
}

TEST(points_can_be_named_later)
{
    double x[] = {1, 2, 3, 4}, y[] = {1, 2};
    epiq_options o = epiq_options_default();
    epiq_data *data;
    epiq_points *p;
    EQ(epiq_data_new(c, 2, 2, x, y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_points_new(c, data, &p), EPIQ_OK);
    EQ(epiq_points_rename(c, p, NULL), EPIQ_OK); /* there are none */
    EQ(epiq_points_add_rows(c, p, 2, x), EPIQ_OK);
    char north[] = "north";
    EQ(epiq_points_rename(c, p, (const char *const[]){north, ""}), EPIQ_OK);
    memset(north, '?', 5); /* they are copied */
    STR(p->at[0], "north");
    STR(p->at[1], "");
    EQ(epiq_points_rename(c, p, (const char *const[]){"south", "gr\xfcn"}), EPIQ_E_DATA);
    SAYS(epiq_message(c), "\"gr?n\"");
    STR(p->at[0], "north"); /* nothing happened */
    epiq_points_free(c, p);
    epiq_data_free(c, data);
}

TEST(points_are_scaled_as_the_data)
{
    epiq_options o = options();
    o.scale = EPIQ_SCALE_STANDARD;
    o.drop = "note";
    epiq_data *data = read_text("note,a,b,y\np,1,10,5\nq,2,30,7\nr,6,20,9\n", &o);
    epiq_points *p;
    EQ(epiq_points_new(c, data, &p), EPIQ_OK);
    EQ(epiq_points_count(p), 0);
    EQ(epiq_points_add(c, p, "mean"), EPIQ_OK);
    EQ(epiq_points_add(c, p, "row:3"), EPIQ_OK);
    EQ(add_text(p, "b;y;a;note\n30;;2;anything\n10;NA;1;\n"),
       EPIQ_OK); /* any order; other columns of the data may come */
    double more[] = {6, 20, 1, 10};
    EQ(epiq_points_add_rows(c, p, 2, more), EPIQ_OK);
    EQ(epiq_points_count(p), 6);
    const int same[] = {-1, 2, 1, 0, 2, 0};
    char label[700];
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 2; j++) {
            NEAR(p->x[2 * i + j],
                 same[i] < 0 ? (data->mean[j] - data->shift[j]) / data->factor[j] : data->x[2 * same[i] + j], 0);
        }
    }
    STR(p->at[0], "mean");
    STR(p->at[1], "row:3");
    snprintf(label, sizeof label, "%s:2", path);
    STR(p->at[3], label);
    STR(p->at[5], "2");
    static const struct {
        const char *text, *part;
    } bad[] = {{"a,y\n1,2\n", "\"b\""},
               {"a,b\n1,2\n3,NA\n", "rows.csv:3:2:"},
               {"a,b\n1,2\n3,x\n", "rows.csv:3:2:"},
               {"a,b\nx,2\n", "rows.csv:2:1:"},
               {"a,b\n1,inf\n", NULL},
               {"a,b\n", NULL},
               {"1,2\n3,4\n", NULL}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EQ(add_text(p, bad[i].text), EPIQ_E_DATA);
        SAYS(epiq_message(c), bad[i].part);
    }
    EQ(add_text(p, "a,b,extra,y,more\n6,20,x,1,\n"), EPIQ_OK); /* columns that the data has not are ignored */
    EQ(epiq_points_count(p), 7);
    EQ(memcmp(p->x + 12, p->x + 2, 2 * sizeof *p->x), 0);
    EQ(p->warnings.count, 1);
    EQ(p->warnings.list[0].kind, EPIQ_W_EXTRA_COLUMNS);
    SAYS(p->warnings.list[0].message, "extra, more");
    static const char *const malformed[] = {"row:", "row:0", "row:x", "row:-1", "row:1x", "row:1.5", "row: 1"};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        EQ(epiq_points_add(c, p, malformed[i]), EPIQ_E_USAGE);
        SENTENCE(epiq_message(c));
    }
    EQ(epiq_points_add(c, p, "row:4"), EPIQ_E_DATA);
    SAYS(epiq_message(c), "row 4");
    EQ(epiq_points_add(c, p, "row:99999999999999999999999"), EPIQ_E_DATA);
    EQ(epiq_points_add(c, p, "/nowhere.csv"), EPIQ_E_FILE);
    more[3] = INFINITY;
    EQ(epiq_points_add_rows(c, p, 2, more), EPIQ_E_DATA);
    SAYS(epiq_message(c), "at[1][1]");
    EQ(epiq_points_add_rows(c, p, 0, more), EPIQ_E_DATA);
    EQ(epiq_points_count(p), 7);
    epiq_points_free(c, p);
    epiq_points_free(c, NULL);
    epiq_data_free(c, data);
    EQ(c->live_blocks, 0);
}

TEST(points_too_far_to_scale_are_refused)
{
    epiq_options o = options();
    o.scale = EPIQ_SCALE_STANDARD;
    epiq_data *data = read_text("a,y\n1e-200,5\n2e-200,7\n", &o);
    epiq_points *p;
    EQ(epiq_points_new(c, data, &p), EPIQ_OK);
    double far = 1e200;
    EQ(epiq_points_add_rows(c, p, 1, &far), EPIQ_E_DATA);
    SAYS(epiq_message(c), "point 1");
    epiq_points_free(c, p);
    epiq_data_free(c, data);
}

TEST(points_know_the_values_of_onehot_columns)
{
    epiq_options o = options();
    o.onehot = "k";
    epiq_data *data = read_text("k,a,y\nred,1,5\nblue,2,7\nred,3,8\n", &o);
    epiq_points *p;
    EQ(epiq_points_new(c, data, &p), EPIQ_OK);
    EQ(add_text(p, "a,k\n9,blue\n8,red\n"), EPIQ_OK);
    const double x[] = {0, 1, 9, 1, 0, 8};
    for (int i = 0; i < 6; i++) {
        NEAR(p->x[i], x[i], 0);
    }
    EQ(add_text(p, "a,k\n9,blue\n8,mauve\n"), EPIQ_E_DATA);
    SAYS(epiq_message(c), "rows.csv:3:2:");
    EQ(add_text(p, "a,k\n9,\n"), EPIQ_E_DATA);
    SENTENCE(epiq_message(c));
    EQ(epiq_points_count(p), 2);
    epiq_points_free(c, p);
    epiq_data_free(c, data);
}

/* Ten rows: a has the mean 5.5, k is blue six times, on is 1 in three; by the names that a reader of the file sees. */
TEST(points_in_words_leave_the_rest_as_usual)
{
    epiq_options o = options();
    epiq_data *data =
        read_text("a,k,on,y\n1,red,no,5\n2,blue,yes,7\n3,red,no,8\n4,blue,no,1\n5,blue,no,2\n6,blue,yes,3\n"
                  "7,red,no,4\n8,blue,no,6\n9,blue,yes,7\n10,red,no,9\n",
                  &o);
    epiq_points *p;
    EQ(epiq_points_new(c, data, &p), EPIQ_OK);
    EQ(data->d, 4); /* a, k=red, k=blue, on */
    EQ(epiq_points_add(c, p, "a=2.5"), EPIQ_OK);
    EQ(epiq_points_add(c, p, " on = true , k=red"), EPIQ_OK);
    EQ(epiq_points_add(c, p, "k=blue,a=-1e3,"), EPIQ_OK);
    const double x[] = {2.5, 0, 1, 0, 5.5, 1, 0, 1, -1000, 0, 1, 0};
    for (int i = 0; i < 12; i++) {
        NEAR(epiq_points_value(p, i / 4, i % 4), x[i], 0);
    }
    STR(p->at[0], "a=2.5");
    EQ(epiq_points_add(c, p, "a=$1,200,k=red"), EPIQ_OK); /* numbers as tables may have them */
    EQ(epiq_points_add(c, p, "on=1, a = 2,001,234.5 %"), EPIQ_OK);
    NEAR(epiq_points_value(p, 3, 0), 1200, 0);
    NEAR(epiq_points_value(p, 3, 1), 1, 0);
    NEAR(epiq_points_value(p, 4, 0), 2001234.5, 0);
    const struct {
        const char *text, *word;
        int status;
    } bad[] = {{"b=1", "\"b\"", EPIQ_E_DATA},
               {"y=1", "y is the target", EPIQ_E_DATA},
               {"k=rad", "\"red\"", EPIQ_E_DATA},
               {"a=high", "\"high\"", EPIQ_E_DATA},
               {"a=inf", "a is", EPIQ_E_DATA},
               {"a=", "a is", EPIQ_E_DATA},
               {"=1", "a, k, on", EPIQ_E_DATA},
               {"a=1,a=2", "twice", EPIQ_E_USAGE},
               {"k=red,k=blue", "twice", EPIQ_E_USAGE},
               {"a=1,,k=red", "name=value", EPIQ_E_USAGE},
               {"a=1,20", "name=value", EPIQ_E_USAGE},
               {"a=high,200", "\"high\"", EPIQ_E_DATA},
               {"median", "NAME=VALUE", EPIQ_E_FILE},
               {"5,150", "NAME=VALUE", EPIQ_E_FILE},
               {"https://example.org/a.csv", "download", EPIQ_E_FILE}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        EQ(epiq_points_add(c, p, bad[k].text), bad[k].status);
        SAYS(epiq_message(c), bad[k].word);
    }
    EQ(epiq_points_count(p), 5);
    epiq_points_free(c, p);
    epiq_data_free(c, data);
}

/* Names and values that hold what separates, in quotes as in CSV. */
TEST(points_in_words_may_be_in_quotes)
{
    epiq_options o = options();
    epiq_data *data =
        read_text("\"a, b\",\"say \"\"hi\"\"\",u=v,k,y\n1,2,3,\"red, dark\",5\n2,3,5,blue,7\n3,5,2,blue,8\n"
                  "4,1,6,blue,1\n5,8,3,\"red, dark\",2\n6,1,2,\"red, dark\",3\n7,3,1,blue,4\n8,5,4,blue,6\n"
                  "9,4,8,blue,7\n10,2,1,\"red, dark\",9\n",
                  &o);
    epiq_points *p;
    EQ(epiq_points_new(c, data, &p), EPIQ_OK);
    EQ(data->d, 5);
    EQ(epiq_points_add(c, p, "\"a, b\"=2.5,\"say \"\"hi\"\"\"=7, \"u=v\" = 4 ,k=\"red, dark\""), EPIQ_OK);
    const double x[] = {2.5, 7, 4, 1, 0};
    for (int i = 0; i < 5; i++) {
        NEAR(epiq_points_value(p, 0, i), x[i], 1e-14);
    }
    const struct {
        const char *text, *word;
        int status;
    } bad[] = {{"a, b=2", "as in \"a, b\"=", EPIQ_E_USAGE}, {"\"a, b=2", "a quote", EPIQ_E_USAGE},
               {"\"a\", b=2", "name=value", EPIQ_E_USAGE},  {"\"a\"x=2", "a quote", EPIQ_E_USAGE},
               {"k=\"red\"x", "a quote", EPIQ_E_USAGE},     {"q=1", "\"a, b\", say", EPIQ_E_DATA}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        EQ(epiq_points_add(c, p, bad[k].text), bad[k].status);
        SAYS(epiq_message(c), bad[k].word);
    }
    EQ(epiq_points_count(p), 1);
    epiq_points_free(c, p);
    epiq_data_free(c, data);
}

/* Arrays have no columns of texts; their 0/1 features may be named as those made of one. */
TEST(points_in_words_know_categories_by_name)
{
    const double x[] = {1, 0, 2, 0, 1, 4, 0, 1, 6}, y[] = {1, 2, 4};
    const char *const names[] = {"k=red", "k=blue", "size"};
    epiq_options o = epiq_options_default();
    epiq_data *data;
    epiq_points *p;
    EQ(epiq_data_new(c, 3, 3, x, y, NULL, &o, &data), EPIQ_OK);
    EQ(epiq_data_rename(c, data, names, "y"), EPIQ_OK);
    EQ(epiq_points_new(c, data, &p), EPIQ_OK);
    EQ(epiq_points_add(c, p, "size=3"), EPIQ_OK);
    EQ(epiq_points_add(c, p, "k=red"), EPIQ_OK);
    const double wanted[] = {0, 1, 3, 1, 0, 4};
    for (int i = 0; i < 6; i++) {
        NEAR(epiq_points_value(p, i / 3, i % 3), wanted[i], 1e-15);
    }
    EQ(epiq_points_add(c, p, "k=green"), EPIQ_E_DATA);
    epiq_points_free(c, p);
    epiq_data_free(c, data);
}

/* ---- synthetic sets ---- */

TEST(synthetic_sets_follow_their_formulas)
{
    enum { N = 20000, D = 3 };
    double *x = malloc(N * D * sizeof *x), *y = malloc(N * sizeof *y), first[D], one;
    for (int set = 1; set <= 3; set++) {
        EQ(epiq_synth(c, set, N, D, 5, x, y), EPIQ_OK);
        double sum = 0, square = 0, noise = 0, off = 0;
        for (int i = 0; i < N; i++) {
            double mean = 0;
            for (int j = 0; j < D; j++) {
                double v = x[i * D + j];
                sum += v;
                square += v * v;
                mean += set == 1 ? sin(v) : set == 2 ? exp(v) + v * v : cos(v) + v * v * v;
            }
            off += y[i] - mean;
            noise += (y[i] - mean) * (y[i] - mean);
        }
        double sd = set == 1 ? 0.1 : 0.1 * D;
        /* 5 standard errors of each moment */
        NEAR(sum / (N * D), set == 1 ? 0.1 : 0, 5 * (set == 1 ? 0.2 / sqrt(12) : 0.1) / sqrt(N * D));
        NEAR(square / (N * D), set == 1 ? 0.04 / 3 : 0.01, 5 * 0.0142 / sqrt(N * D));
        NEAR(off / N, 0, 5 * sd / sqrt(N));
        CLOSE(noise / N, sd * sd, 5 * sqrt(2.0 / N));
        EQ(epiq_synth(c, set, 1, D, 5, first, &one), EPIQ_OK); /* a shorter set is the beginning of a longer one */
        for (int j = 0; j < D; j++) {
            NEAR(first[j], x[j], 0);
        }
        NEAR(one, y[0], 0);
    }
    EQ(epiq_synth(c, 4, 2, 2, 1, x, y), EPIQ_E_USAGE);
    SENTENCE(epiq_message(c));
    EQ(epiq_synth(c, 0, 2, 2, 1, x, y), EPIQ_E_USAGE);
    EQ(epiq_synth(c, 1, 0, 2, 1, x, y), EPIQ_E_USAGE);
    EQ(epiq_synth(c, 1, 2, -1, 1, x, y), EPIQ_E_USAGE);
    EQ(epiq_synth(c, 1, PTRDIFF_MAX, 2, 1, x, y), EPIQ_E_USAGE);
    free(x);
    free(y);
}

/* ---- memory ---- */

TEST(points_survive_failed_allocations)
{
    epiq_options o = options();
    o.onehot = "k";
    epiq_data *data = read_text("k,a,y\nred,1,5\nblue,2,7\nred,3,8\n", &o);
    put_bytes("a,k\n9,blue\n8,red\n", 17);
    epiq_points *p = NULL;
    c->fail_after = 0;
    EQ(epiq_points_new(c, data, &p), EPIQ_E_NOMEM);
    TRUE(!p);
    c->fail_after = -1;
    EQ(epiq_points_new(c, data, &p), EPIQ_OK);
    const char *const where[] = {"mean", "row:2", path, "k=blue"};
    for (int k = 0; k < 4; k++) {
        int got = EPIQ_E_NOMEM;
        for (int fail = 0; got == EPIQ_E_NOMEM && fail < 1000; fail++) { /* room that was made stays with the points */
            ptrdiff_t before = epiq_points_count(p);
            c->fail_after = fail;
            got = epiq_points_add(c, p, where[k]);
            c->fail_after = -1;
            EQ(epiq_points_count(p), before + (got ? 0 : k == 2 ? 2 : 1));
        }
        EQ(got, EPIQ_OK);
    }
    STR(p->at[0], "mean");
    NEAR(p->x[2 * 3 + 2], 9, 0);
    epiq_points_free(c, p);
    epiq_data_free(c, data);
    EQ(c->live_blocks, 0);
}
