/* test_data_ordinary.c - tables as people have them: an index, true and false, categories, currencies, decimal commas, other
 * encodings, packed files. Each is judged by the same table written plainly, and new rows must be read alike. */
#include "read_rows.h"

#include <zlib.h>

/* The first table must be read as the second, but for names of features. */
static void read_alike(const char *text, const char *plain, const epiq_options *o)
{
    epiq_options usual = options();
    epiq_data *want = read_text(plain, &usual), *got = read_text(text, o);
    if (!got || !want) {
        TEST_FAIL("%s: %s\n", text, epiq_message(c));
        return;
    }
    EQ(got->n, want->n);
    EQ(got->d, want->d);
    for (ptrdiff_t k = 0; got->n == want->n && got->d == want->d && k < got->n * got->d; k++) {
        NEAR(got->x_given[k], want->x_given[k], 0);
    }
    for (ptrdiff_t i = 0; got->n == want->n && i < got->n; i++) {
        NEAR(got->y[i], want->y[i], 0);
    }
    epiq_points *p;
    EQ(epiq_points_new(c, got, &p), EPIQ_OK);
    EQ(epiq_points_add(c, p, path), EPIQ_OK); /* the file itself as new rows */
    EQ(epiq_points_count(p), got->n);
    if (epiq_points_count(p) == got->n) EQ(memcmp(p->x, got->x, (size_t)(got->n * got->d) * sizeof *p->x), 0);
    EQ(p->warnings.count, 0);
    epiq_points_free(c, p);
    epiq_data_free(c, got);
    epiq_data_free(c, want);
}

/* Text, its rows, and then a number of rows of the form given, in which %d is the row from 0 on. */
static const char *rows_of(const char *header, int count, const char *row)
{
    static char text[20000];
    char *p = text + sprintf(text, "%s\n", header);
    for (int i = 0; i < count; i++) {
        for (const char *f = row; *f; f++) {
            if (*f == '%') {
                p += sprintf(p, "%d", *++f == 'd' ? i : i * i % 7);
            } else {
                *p++ = *f;
            }
        }
        *p++ = '\n';
    }
    *p = '\0';
    return text;
}

static epiq_data *data_of(const char *text)
{
    epiq_options o = options();
    epiq_data *data = read_text(text, &o);
    if (!data) TEST_FAIL("%s: %s\n", text, epiq_message(c));
    return data;
}

TEST(an_index_is_left_out)
{
    const char *plain = "a,y\n5,1\n7,2\n6,4\n";
    epiq_options o = options();
    read_alike(",a,y\n0,5,1\n1,7,2\n2,6,4\n", plain, &o);
    read_alike("\"\",a,y\n\"1\",5,1\n\"2\",7,2\n\"3\",6,4\n", plain, &o); /* R */
    read_alike(",a,y\n7,5,1\n100,7,2\n3,6,4\n", plain, &o);               /* a sample */
    read_alike(",a,y\nMazda,5,1\nFiat,7,2\nVolvo,6,4\n", plain, &o);      /* names */
    read_alike("Unnamed: 0,a,y\n0,5,1\n1,7,2\n2,6,4\n", plain, &o);
    epiq_data *data = data_of(",a,y\n0,5,1\n1,7,2\n2,6,4\n");
    SAYS(warning(data, "index_column"), "first column");
    STR(data->feature[0], "a");
    epiq_data_free(c, data);
    data = data_of("Unnamed: 0,a,y\n0,5,1\n1,7,2\n1,6,4\n"); /* no index: two rows have one number */
    EQ(data->d, 2);
    EQ(data->warnings.count, 0);
    epiq_data_free(c, data);
    refused(",a,y\n0.5,5,1\n1,7,2\n2,6,4\n", "column 1 of 3");
    refused(",a,y\n1,5,1\n1,7,2\n2,6,4\n", "column 1 of 3");
    refused(",a,y\n1,5,1\n,7,2\n2,6,4\n", "column 1 of 3");
    refused(",a,y\n1,5,1\nb,7,2\n2,6,4\n", "column 1 of 3");
    refused("a,,y\n1,5,1\n2,7,2\n", "column 2 of 3");
    refused("Unnamed: 0,y\n0,5\n1,7\n2,6\n", NULL);
    o.features = "a";
    data = read_text(",a,y\n0,5,1\n0,7,2\n", &o);
    EQ(data->d, 1);
    EQ(data->warnings.count, 0);
    epiq_data_free(c, data);
    o.features = "Unnamed: 0,a"; /* asked for */
    data = read_text("Unnamed: 0,a,y\n0,5,1\n1,7,2\n", &o);
    EQ(data->d, 2);
    epiq_data_free(c, data);
}

TEST(a_feature_that_counts_the_rows_is_warned_of)
{
    epiq_data *data = data_of(rows_of("id,a,y", 10, "10%d,%s,%d.5"));
    EQ(data->d, 2);
    SAYS(warning(data, "counting_column"), "id"); /* 100 to 109 */
    epiq_data_free(c, data);
    data = data_of(rows_of("id,a,y", 12, "10%d,%s,%d.5"));
    TRUE(!warning(data, "counting_column")); /* 109, 1010 */
    epiq_data_free(c, data);
    data = data_of(rows_of("id,a,y", 9, "%d,%s,%d.5")); /* too few to tell from settings */
    TRUE(!warning(data, "counting_column"));
    epiq_data_free(c, data);
    data = data_of(rows_of("id,y", 12, "%d,%s.5")); /* the only feature */
    TRUE(!warning(data, "counting_column"));
    epiq_data_free(c, data);
}

TEST(true_and_false_are_1_and_0)
{
    const char *plain = "a,b,y\n1,0,1\n0,0,2\n1,1,4\n";
    epiq_options o = options();
    read_alike("a,b,y\nTrue,no,1\nFalse,NO,2\nTRUE,Yes,4\n", plain, &o);
    read_alike("a,b,y\nyes,false,1\nno,false,2\nyes,true,4\n", plain, &o);
    epiq_data *data = data_of("a,b,y\nTrue,no,1\nFalse,NO,2\nTRUE,Yes,4\n");
    EQ(data->warnings.count, 0);
    epiq_points *p;
    EQ(epiq_points_new(c, data, &p), EPIQ_OK);
    put_bytes("b,a\n1,true\n", 11);
    EQ(epiq_points_add(c, p, path), EPIQ_OK);
    NEAR(p->x[0], 1, 0);
    NEAR(p->x[1], 1, 0);
    put_bytes("b,a\n1,maybe\n", 12);
    EQ(epiq_points_add(c, p, path), EPIQ_E_DATA);
    SAYS(epiq_message(c), ":2:2:");
    epiq_points_free(c, p);
    epiq_data_free(c, data);
    refused("a,y\ntrue,1\n2,2\nfalse,3\n", ":2:1:"); /* beside numbers it may mean anything */
    o.missing = EPIQ_MISSING_DROP;
    data = read_text("a,y\ntrue,1\n,2\nno,3\n", &o);
    EQ(data->n, 2);
    NEAR(data->x[0], 1, 0);
    NEAR(data->x[1], 0, 0);
    epiq_data_free(c, data);
    data = data_of("a,y\n1,true\n2,false\n4,true\n"); /* the target too */
    NEAR(data->y[1], 0, 0);
    epiq_data_free(c, data);
}

TEST(few_categories_become_columns)
{
    epiq_options o = options();
    const char *text = "k,y\nred,1\nblue,2\nred,3\nblue,4\nred,5\nred,6\nblue,7\nred,8\nblue,9\nred,10\n";
    read_alike(text, "a,b,y\n1,0,1\n0,1,2\n1,0,3\n0,1,4\n1,0,5\n1,0,6\n0,1,7\n1,0,8\n0,1,9\n1,0,10\n", &o);
    epiq_data *asked, *data = data_of(text);
    SAYS(warning(data, "categories"), "k");
    STR(data->feature[1], "k=blue");
    o.onehot = "k";
    asked = read_text(text, &o);
    EQ(asked->d, 2);
    EQ(memcmp(asked->x, data->x, 20 * sizeof *data->x), 0); /* as --onehot has it, without the warning */
    EQ(asked->warnings.count, data->warnings.count - 1);
    epiq_points *p;
    EQ(epiq_points_new(c, data, &p), EPIQ_OK);
    put_bytes("k\ngreen\n", 8);
    EQ(epiq_points_add(c, p, path), EPIQ_E_DATA); /* as with --onehot */
    SAYS(epiq_message(c), "red, blue");
    epiq_points_free(c, p);
    epiq_data_free(c, asked);
    epiq_data_free(c, data);
    refused("k,y\nred,1\nblue,2\nred,3\nblue,4\nred,5\nred,6\nblue,7\nred,8\nblue,9\n", "2 different texts in 9 rows");
    data = data_of(rows_of("k,y", 60, "k%s,%d")); /* squares modulo 7: 4 values */
    EQ(data->d, 4);
    epiq_data_free(c, data);
    o.missing = EPIQ_MISSING_DROP; /* a value that only incomplete rows have makes no column */
    o.onehot = NULL;
    data = read_text("k,y\nred,1\nblue,2\nred,3\nblue,4\nred,5\nred,6\nblue,7\nred,8\nblue,9\nred,10\ngrey,\n,5\nred,"
                     "1\nred,2\nred,3\nred,4\n",
                     &o);
    EQ(data->d, 2);
    EQ(data->n, 14);
    epiq_data_free(c, data);
}

/* MONTHS values in 5 rows each are few; one more is many. */
TEST(more_than_twelve_categories_are_many)
{
    for (int values = 12; values <= 13; values++) {
        char text[4000] = "k,y\n";
        for (int i = 0; i < 5 * values; i++) {
            sprintf(text + strlen(text), "v%c,%d\n", 'a' + i % values, i);
        }
        epiq_options o = options();
        epiq_data *data = read_text(text, &o);
        EQ(data ? data->d : 0, values == 12 ? 12 : 0);
        if (!data) SAYS(epiq_message(c), "13 different texts");
        epiq_data_free(c, data);
    }
}

TEST(names_dates_and_classes_are_refused_with_their_remedy)
{
    refused(rows_of("k,y", 60, "B%d,%s"), "\"B0\"");
    TRUE(!strstr(epiq_message(c), "onehot"));
    refused(rows_of("k,y", 60, "2024/01/%d,%s"), "dates");
    TRUE(!strstr(epiq_message(c), "onehot"));
    refused(rows_of("k,y", 60, "1%s:30,%s"), "times");
    refused(rows_of("k,y", 60, "3.4.20%s,%s"), "dates");
    refused(rows_of("k,y", 60, "\"%s,5\",%d"), "decimal point");
    refused(rows_of("a,y", 60, "%d,c%s"), "regression");
    refused(rows_of("k,a,y", 1500, "v%d,%s,%s"), "names or codes");
    refused("a,y\n1,2\n?,4\n5,6\n", "na");
    refused("# exported\na,y\n1,2\n", "before the header");
    refused("a b y\n1 2 3\n4 5 6\n", "spaces");
}

/* The days are those of date(1) and of Python's datetime. */
TEST(dates_are_days_since_1970)
{
    epiq_options o = options();
    read_alike("a,y\n1970-01-01,1\n1969-12-31,2\n2000-03-01,4\n2024-02-29,5\n", "a,y\n0,1\n-1,2\n11017,4\n19782,5\n",
               &o);
    read_alike("a,y\n0001-01-01,1\n1900-03-01,2\n9999-12-31,4\n", "a,y\n-719162,1\n-25508,2\n2932896,4\n", &o);
    read_alike("a,y\n1970-01-01 12:00,1\n1970-01-02T06:00:00,2\n1970-01-01,3\n", "a,y\n0.5,1\n1.25,2\n0,3\n", &o);
    epiq_data *data = data_of("day,y\n2024-03-15,1\n2024-03-18,2\n2024-04-01,3\n");
    SAYS(warning(data, "read_as_numbers"), "19797, days");
    epiq_data_free(c, data);
    refused("a,y\n2023-02-29,1\n2023-02-28,2\n2023-03-01,5\n", "2023-02-29");
    refused("a,y\n2024-03-15,1\n5,2\n7,5\n", "dates");
    refused("a,y\n2024-03-15 25:00,1\n2024-03-15 24:00,2\n2024-03-15 23:60,5\n", "dates");
}

TEST(numbers_with_marks_are_read)
{
    const char *plain = "a,y\n1154,1\n-77.5,2\n0.25,4\n";
    epiq_options o = options();
    read_alike("a,y\n\"1,154\",1\n-77.5,2\n0.25,4\n", plain, &o);
    read_alike("a,y\n\"$1,154\",1\n-$77.5,2\n$0.25,4\n", plain, &o);
    read_alike("a,y\n\"\xE2\x82\xAC 1,154.00\",1\n\xE2\x82\xAC-77.50,2\n0.25\xC2\xA0\xE2\x82\xAC,4\n", plain, &o);
    read_alike("a,y\n\"1,154 %\",1\n-77.5%,2\n0.25  %,4\n", plain, &o);
    read_alike("a;y\n1154;1\n-77,5;2\n0,25;4\n", plain, &o);
    read_alike("a;y\n1.154,0;1\n-77,5;2\n2,5e-1;4\n", plain, &o);
    read_alike("a;y\n$1.154,0;1\n$-77,5;2\n0,25$;4,0\n", plain, &o);
    read_alike("a,b,y\n\"1,234,567\",1,\"1,000\"\n1,2,\"2,000\"\n3,5,5\n", "a,b,y\n1234567,1,1000\n1,2,2000\n3,5,5\n",
               &o);
    epiq_data *data = data_of("price,share,y\n\"$1,154\",77 %,1\n$5,3 %,2\n");
    SAYS(warning(data, "read_as_numbers"), "price, share");
    STR(data->columns->unit[0], "$");
    STR(data->columns->unit[1], "%");
    epiq_points *p;
    EQ(epiq_points_new(c, data, &p), EPIQ_OK);
    put_bytes("price,share\n6,$7\n", 17);
    EQ(epiq_points_add(c, p, path), EPIQ_E_DATA);
    SAYS(epiq_message(c), ":2:2:");
    put_bytes("price,share\n6,7\n$6,7%\n", 22); /* in the same unit, written or not */
    EQ(epiq_points_add(c, p, path), EPIQ_OK);
    EQ(memcmp(p->x, p->x + 2, 2 * sizeof *p->x), 0);
    epiq_points_free(c, p);
    epiq_data_free(c, data);
    data = data_of("share,y\n0.77,1\n0.5,2\n"); /* 77 % would be a hundred times as much */
    EQ(epiq_points_new(c, data, &p), EPIQ_OK);
    put_bytes("share\n77 %\n", 11);
    EQ(epiq_points_add(c, p, path), EPIQ_E_DATA);
    SAYS(epiq_message(c), "77 %");
    epiq_points_free(c, p);
    epiq_data_free(c, data);
}

TEST(numbers_that_may_mean_two_things_are_refused)
{
    refused("a,y\n77 %,1\n0.5,2\n3 %,4\n", "with and without %");
    refused("a,y\n$77,1\n\xE2\x82\xAC"
            "5,2\n$3,4\n",
            "rows.csv:3:1:");
    refused("a,y\n\"1,15\",1\n2,2\n", "\"1,15\"");
    refused("a,y\n\"1,1545\",1\n2,2\n", "\"1,1545\"");
    refused("a,y\n\"1,154,2\",1\n2,2\n", "\"1,154,2\"");
    refused("a,y\n\"1,154\",1\n\"1.154,5\",2\n", "rows.csv:3:1:");
    refused("a;y\n1,5;1\n2.5;2\n3;4\n", "rows.csv:3:1:");
    refused("a;y\n2.5;1\n1,5;2\n3;4\n", "rows.csv:3:1:");
    refused("a;y\n1,5,5;1\n2;2\n", "rows.csv:2:1:");
    refused("a,y\n5$ %,1\n2,2\n", "rows.csv:2:1:");
    refused("a,y\n-+5 %,1\n2,2\n", "rows.csv:2:1:");
    refused("a,y\n$,1\n2,2\n", "rows.csv:2:1:");
}

TEST(texts_that_mean_a_missing_cell_can_be_named)
{
    epiq_options o = options();
    o.na = "?,-999,\"no, none\"";
    refused_with("a,b,y\n1,2,3\n?,3,4\n5,6,7\n", &o, EPIQ_E_DATA, ":3:1:");
    CONTAINS(epiq_message(c), "missing");
    o.missing = EPIQ_MISSING_DROP;
    epiq_data *data =
        read_text("a,b,y\n1,2,3\n?,3,4\n5,-999.0,7\n6,7,8\n7,\"no, none\",1\n8,9,-999\n9,NA,1\n-99,1,2\n", &o);
    EQ(status, EPIQ_OK);
    EQ(data->n, 3);
    EQ(data->dropped, 5);
    NEAR(data->x[4], -99, 0);
    SENTENCE(warning(data, "dropped_rows"));
    epiq_points *p;
    EQ(epiq_points_new(c, data, &p), EPIQ_OK);
    put_bytes("a,b\n1,-999\n", 11); /* of new rows too */
    EQ(epiq_points_add(c, p, path), EPIQ_E_DATA);
    SAYS(epiq_message(c), ":2:2:");
    epiq_points_free(c, p);
    epiq_data_free(c, data);
    o.onehot = "k";
    data = read_text("k,y\nu,1\n?,2\nv,3\nu,5\n", &o); /* of labels too */
    EQ(data->n, 3);
    EQ(data->d, 2);
    epiq_data_free(c, data);
    o.na = "?,";
    refused_with("k,y\nu,1\nv,3\n", &o, EPIQ_E_USAGE, "na");
}

TEST(latin_1_is_read)
{
    epiq_options o = options();
    o.onehot = "k";
    epiq_data *data = read_text("k,temp\xE9rature,y\nK\xF6ln,1,2\nK\xE4ln,2,3\n\x80 \x96,5,7\n\xC3,1,1\n", &o);
    EQ(status, EPIQ_OK);
    EQ(data->d, 5);
    STR(data->feature[0], "k=K\xC3\xB6ln");
    STR(data->feature[1], "k=K\xC3\xA4ln");
    STR(data->feature[2], "k=\xE2\x82\xAC \xE2\x80\x93"); /* as Windows writes it: euro, dash */
    STR(data->feature[3], "k=\xC3\x83");
    STR(data->feature[4], "temp\xC3\xA9rature");
    SAYS(warning(data, "latin1"), "Latin-1");
    epiq_data_free(c, data);
    o.drop = "temp\xC3\xA9rature";
    data = read_text("k,temp\xE9rature,y\nu,1,2\nv,2,3\n", &o); /* found by its name in UTF-8 */
    EQ(status, EPIQ_OK);
    EQ(data->d, 2);
    epiq_data_free(c, data);
    o = options();
    data = read_text("k\xC3\xA9,y\n1,2\n2,3\n", &o);
    TRUE(!warning(data, "latin1"));
    epiq_data_free(c, data);
}

/* A text far down decides the encoding also where the file is read a window at a time. */
TEST(latin_1_is_found_at_the_end_of_a_long_file)
{
    enum { ROWS = 300000 };
    char *text = malloc(ROWS * 12 + 100), *p = text + sprintf(text, "k,a,y\nK\xF6ln,1,2\nBonn,2,3\n");
    epiq_options o = options();
    o.onehot = "k";
    epiq_data *data = read_text(text, &o);
    EQ(data->d, 3);
    p = text + sprintf(text, "k,a,y\n");
    for (int i = 0; i < ROWS; i++) {
        p += sprintf(p, "%s,%d,%d\n", i == ROWS - 1 ? "K\xF6ln" : "Bonn", i % 10, i % 3);
    }
    put_bytes(text, (size_t)(p - text));
    epiqp_table t;
    ptrdiff_t count = 1, rows = 0, there = 0;
    double *x = malloc(1000 * 3 * sizeof *x);
    int s = epiqp_window_open(c, path, 3, data->columns, true, &t, &(epiqp_list){0});
    while (!s && count) {
        s = epiqp_window_next(c, &t, 1000, x, &count);
        for (ptrdiff_t i = 0; !s && i < count; i++) {
            there += x[3 * i] > 0;
            rows++;
        }
    }
    EQ(s, EPIQ_OK);
    EQ(rows, ROWS);
    EQ(there, 1);
    epiqp_table_close(c, &t);
    epiq_data_free(c, data);
    free(x);
    free(text);
}

/* 30 rows whose target takes these values in turn. */
static const char *rows_of_three(const char *one, const char *two, const char *three)
{
    static char text[1000];
    const char *const y[] = {one, two, three};
    int length = snprintf(text, sizeof text, "a,y\n");
    for (int i = 0; i < 30; i++) {
        length += snprintf(text + length, sizeof text - (size_t)length, "%d.5,%s\n", i * i % 31, y[i % 3]);
    }
    return text;
}

TEST(a_target_with_two_values_is_warned_of)
{
    epiq_data *data = data_of(rows_of("a,y", 12, "%d.5,1"));
    TRUE(!warning(data, "two_values")); /* one: constant_target */
    epiq_data_free(c, data);
    data = data_of("a,y\n1,0\n3,1\n2,0\n5,1\n4,0\n6,0\n9,0\n7,1\n8,0\n11,1\n");
    SAYS(warning(data, "two_values"), "0 and 1");
    epiq_data_free(c, data);
    data = data_of("a,y\n1,0\n3,1\n2,0\n5,1\n4,0\n6,0\n9,0\n7,1\n8,0\n11,2\n");
    TRUE(!warning(data, "two_values"));
    epiq_data_free(c, data);
    data = data_of(rows_of_three("0", "1", "2"));
    SAYS(warning(data, "two_values"), "0, 1 and 2");
    epiq_data_free(c, data);
    data = data_of(rows_of_three("0", "1.5", "2")); /* no whole number */
    TRUE(!warning(data, "two_values"));
    epiq_data_free(c, data);
    data = data_of("a,y\n1,0\n3,1\n2,0\n"); /* too few rows to tell */
    TRUE(!warning(data, "two_values"));
    epiq_data_free(c, data);
}

/* Ten rows of ordinary numbers in a and y, and two more. */
static const char *sentinel_in(const char *a1, const char *y1, const char *a2, const char *y2)
{
    static char text[1000];
    int length = snprintf(text, sizeof text, "a,y\n");
    for (int i = 0; i < 10; i++) {
        length += snprintf(text + length, sizeof text - (size_t)length, "%d.25,%d.1\n", i * i % 11, i * 7 % 10);
    }
    snprintf(text + length, sizeof text - (size_t)length, "%s,%s\n%s,%s\n", a1, y1, a2, y2);
    epiq_data *data = data_of(text);
    const char *said = warning(data, "sentinel");
    snprintf(text, sizeof text, "%s", said ? said : "");
    epiq_data_free(c, data);
    return text;
}

TEST(a_number_that_stands_for_missing_is_warned_of)
{
    const char *said = sentinel_in("-999", "1.5", "-999", "2.5");
    SENTENCE(said);
    CONTAINS(said, "column a holds -999 in 2 of 12 rows");
    CONTAINS(sentinel_in("1.5", "-9999", "2", "-9999"), "column y holds -9999 in 2 of 12 rows"); /* scaling rounds it */
    CONTAINS(sentinel_in("99", "1", "99", "2"), "a holds 99 in 2 of 12 rows");
    CONTAINS(sentinel_in("-99.9", "1", "-99.9", "2"), "a holds -99.9 in");
    CONTAINS(sentinel_in("999", "9999", "999", "9999"), "(the like is in y)");
    EQ(*sentinel_in("-999", "1", "2", "3"), '\0');    /* once: a measurement may be far off */
    EQ(*sentinel_in("-998", "1", "-998", "3"), '\0'); /* no nines: a setting */
    EQ(*sentinel_in("9", "1", "9", "3"), '\0');
    EQ(*sentinel_in("9.9", "1", "9.9", "3"), '\0');
    epiq_data *data = data_of("a,y\n0,1\n999,2\n0,3\n999,4\n0,5\n999,6\n"); /* two values say no more than 0 and 1 */
    TRUE(!warning(data, "sentinel"));
    epiq_data_free(c, data);
    /* not twice the range of the others away; with -999 and 9999 in one column the others are neither */
    data = data_of("a,y\n1,1\n99,2\n33,3\n99,4\n0,5\n12,6\n");
    TRUE(!warning(data, "sentinel"));
    epiq_data_free(c, data);
    data = data_of("a,y\n1,1\n-999,2\n2,3\n9999,4\n3,5\n-999,6\n9999,7\n");
    CONTAINS(warning(data, "sentinel"), "-999 in 2 of 7 rows");
    epiq_data_free(c, data);
}

/* ---- packed files ---- */

static size_t packed(const char *text, size_t size, unsigned char *to, size_t room)
{
    z_stream z = {0};
    if (deflateInit2(&z, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) abort();
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (uInt)size;
    z.next_out = to;
    z.avail_out = (uInt)room;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END) abort();
    deflateEnd(&z);
    return room - z.avail_out;
}

TEST(gzip_is_unpacked)
{
    const char *text = "a,b,y\n1,2,3\n4,5,6\n7,8,10\n";
    unsigned char bytes[1000];
    epiq_options o = options();
    size_t size = packed(text, strlen(text), bytes, sizeof bytes);
    epiq_data *plain = read_text(text, &o), *data = read_bytes(bytes, size, &o);
    EQ(status, EPIQ_OK);
    EQ(memcmp(data->x, plain->x, 6 * sizeof *data->x), 0);
    STR(data->sha256, plain->sha256); /* of what it holds */
    epiq_points *p;
    EQ(epiq_points_new(c, data, &p), EPIQ_OK);
    EQ(epiq_points_add(c, p, path), EPIQ_OK);
    EQ(epiq_points_count(p), 3);
    epiq_points_free(c, p);
    epiq_data_free(c, data);
    for (size_t cut = 2; cut < size; cut++) { /* one byte is no gzip yet */
        read_bytes(bytes, cut, &o);
        EQ(status, EPIQ_E_DATA);
    }
    SAYS(epiq_message(c), "cut off");
    bytes[size - 6] ^= 1; /* of the checksum */
    read_bytes(bytes, size, &o);
    EQ(status, EPIQ_E_DATA);
    SAYS(epiq_message(c), "damaged");
    bytes[size - 6] ^= 1;
    size += packed("9,9,9\n", 6, bytes + size, sizeof bytes - size); /* a second member */
    data = read_bytes(bytes, size, &o);
    EQ(data->n, 4);
    epiq_data_free(c, data);
    memcpy(bytes + size, "more", 4);
    read_bytes(bytes, size + 4, &o);
    EQ(status, EPIQ_E_DATA);
    epiq_data_free(c, plain);
}

TEST(a_packed_file_may_not_unpack_to_more_than_the_limit)
{
    size_t size = (size_t)40 << 20;
    char *text = malloc(size);
    unsigned char *bytes = malloc(1 << 20);
    memset(text, '\n', size);
    memcpy(text, "a,y\n1,2\n3,4\n", 12);
    size = packed(text, size, bytes, 1 << 20);
    epiq_options o = options();
    o.mem_limit = 20 << 20;
    read_bytes(bytes, size, &o);
    EQ(status, EPIQ_E_NOMEM);
    SENTENCE_ROUGHLY(epiq_message(c));
    o.mem_limit = 0;
    epiq_data *data = read_bytes(bytes, size, &o);
    EQ(status, EPIQ_OK);
    EQ(data->n, 2);
    epiq_data_free(c, data);
    free(text);
    free(bytes);
}

TEST(other_formats_are_named)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *part;
    } files[] = {{"PAR1\x15\4\0", 7, "Parquet"},
                 {"ARROW1\0\0", 8, "Feather"},
                 {"FEA1\0\0", 6, "Feather"},
                 {"\x89HDF\r\n\x1A\n\0", 9, "HDF5"},
                 {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1\0", 9, "Excel"},
                 {"SQLite format 3\0", 16, "SQLite"},
                 {"\x80\4\x95\0", 4, "pickle"},
                 {"BZh91AY", 7, "bzip2"},
                 {"\xFD"
                  "7zXZ\0",
                  6, "xz"},
                 {"\x28\xB5\x2F\xFD", 4, "Zstandard"},
                 {"{\"a\": [1, 2]}", 13, "JSON"},
                 {" [\n {\"a\": 1}]", 13, "JSON"},
                 {"<!DOCTYPE html>", 15, "HTML"},
                 {"\xEF\xBB\xBF\n<!doctype html>", 19, "HTML"},
                 {"<!-- saved -->\n<HTML>", 21, "HTML"},
                 {"<TABLE><tr><td>a", 16, "HTML"},
                 {"<?xml version=\"1.0\"?>", 21, "XML"},
                 {"%PDF-1.7\n", 9, "PDF"},
                 {"\x89PNG\r\n\x1A\n\0", 9, "picture"},
                 {"{\\rtf1\\ansi a, b}", 16, "text document"},
                 {"\x40\1\0\0\0\0\0\0{\"__metadata__\": {", 26, "a model"},
                 {"| a | y |\n|---|---|\n| 1 | 2 |\n", 30, "Markdown"},
                 {"MATLAB 5.0 MAT-file, ", 21, "MATLAB"}};
    epiq_options o = options();
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        read_bytes(files[k].bytes, files[k].size, &o);
        EQ(status, EPIQ_E_DATA);
        SAYS(epiq_message(c), files[k].part);
    }
}

/* Prose is told from rows by its lines, which differ in words and commas; nothing of the kind is said of a table. */
TEST(a_text_is_no_table)
{
    static const char said[] = "text, not a table";
    refused("# A kiln\n\nA made-up table, that comes with it.\n\n- 360 lots of floor tiles\n", said);
    refused("# A kiln, and more\nTiles.\n\n360 lots of tiles, how they were pressed, and fired\n", said);
    refused("2024-03-15 10:30 started\n2024-03-15 10:31 nothing, so far, was done\n10:32 ended\n", said);
    epiq_options o = options();
    o.target = NULL;
    read_text("# A kiln\nFloor tiles.\n360 lots of them, pressed\n", &o);
    EQ(status, EPIQ_E_DATA);
    SAYS(epiq_message(c), said);
    static const char *const tables[] = {"# made by hand\na,b,k\n1,2,three or four\n3,4,five\n",
                                         "# by hand\n# in 2024, twice\na;b;k\n1;2;three or four\n3;4;five\n",
                                         "a b c d\n1 2 3 4\n5 6 7 8\n",
                                         "a b c d\n1 0.5 2 3 4\n2 0.5 6 7 8\n",
                                         "the name\n1\n2\n3\n",
                                         "<DATE>,<OPEN>\n1,2\n3,4\n",
                                         "k\nred\ndark blue\n"};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
        refused(tables[k], "no column");
    }
}

TEST(nothing_is_left_behind_without_memory)
{
    unsigned char bytes[1000];
    static const char text[] =
        ",k,b,m,y\n1,u,true,$1,1\n2,v,no,$2,2\n3,u,no,$3,3\n4,u,no,$3,4\n5,v,no,$3,3\n6,u,no,\"$3,000\",3\n"
        "7,v,no,$3,3\n8,u,no,$3,3\n9,v,no,$3,3\n10,\xFC,no,$3,-9\n11,\xFC,no,$3,?\n";
    size_t size = packed(text, sizeof text - 1, bytes, sizeof bytes);
    epiq_options o = options();
    o.na = "?";
    o.missing = EPIQ_MISSING_DROP;
    epiq_data *data = NULL;
    put_bytes(bytes, size);
    for (int fail = 0, got = EPIQ_E_NOMEM; got && fail < 1000; fail++) {
        c->fail_after = fail;
        got = epiq_data_read(c, path, &o, &data);
        c->fail_after = -1;
        if (!got) TRUE(fail > 10);
        EQ(c->live_blocks == 0, got != EPIQ_OK);
        TRUE(!got || *epiq_message(c));
    }
    epiq_data_free(c, data);
    EQ(c->live_blocks, 0);
}
