/* test_data_csv.c - tables in CSV: dialects, numbers, cells that cannot be used and the words that lead a person to the
 * remedy. */
#include "read_rows.h"

#include <locale.h>

/* ---- CSV ---- */

static void plain_table(const char *text)
{
    epiq_options o = options();
    epiq_data *data = read_text(text, &o);
    EQ(status, EPIQ_OK);
    if (!data) {
        TEST_FAIL("%s: %s\n", text, epiq_message(c));
        return;
    }
    EQ(data->n, 2);
    EQ(data->d, 2);
    STR(data->feature[0], "a");
    STR(data->feature[1], "b");
    STR(data->target, "y");
    const double x[] = {1, -2.5, 3e2, 0.125}, y[] = {7, 8};
    for (int i = 0; i < 4; i++) {
        NEAR(data->x[i], x[i], 0);
        NEAR(data->x_given[i], x[i], 0);
    }
    for (int i = 0; i < 2; i++) {
        NEAR(data->y[i], y[i], 0);
        EQ(data->row[i], i + 1);
        EQ(data->group[i], i);
    }
    EQ(data->groups, 2);
    epiq_data_free(c, data);
}

TEST(csv_dialects_give_one_table)
{
    plain_table("a,b,y\n1,-2.5,7\n3e2,.125,8\n");
    plain_table("a,b,y\n1,-2.5,7\n3e2,.125,8"); /* no end of line at the end */
    plain_table("a,b,y\r\n1,-2.5,7\r\n3e2,.125,8\r\n");
    plain_table("a,b,y\r1,-2.5,7\r3e2,.125,8\r");
    plain_table("\xEF\xBB\xBF"
                "a,b,y\n1,-2.5,7\n3e2,.125,8\n\n  \n\r\n"); /* mark of UTF-8, blank lines at the end */
    plain_table("a;b;y\n1;-2.5;7\n3E+2;0.125;8\n");
    plain_table("a\tb\ty\n1\t-2.5\t7\n3e+02\t1.25e-1\t8\n");
    plain_table("\"a\",\"b\",\"y\"\n\"1\",\" -2.5 \",\"7\"\n+300.,\"0.125\",8\n");
    plain_table("  a , b\t, y \n 1 ,\t-2.5,7  \n300, 0.12500 , \"8\" \n");
}

TEST(csv_quotes_hold_anything)
{
    epiq_options o = options();
    o.onehot = "\"k,\"\"1\"\"\"";
    o.drop = "\"line\nend\"";
    epiq_data *data =
        read_text("\"k,\"\"1\"\"\",\"line\nend\",a;b,y\n\"p,\nq\",\"x\r\ny\",1,2\n\"say \"\"hi\"\"\",,3,4\n", &o);
    EQ(status, EPIQ_OK);
    EQ(data->d, 3);
    STR(data->feature[0], "k,\"1\"=p,\nq");
    STR(data->feature[1], "k,\"1\"=say \"hi\"");
    STR(data->feature[2], "a;b");
    NEAR(data->x[0], 1, 0);
    NEAR(data->x[1], 0, 0);
    NEAR(data->x[3], 0, 0);
    NEAR(data->x[4], 1, 0);
    epiq_data_free(c, data);
}

static void cells_are_read(void)
{
    static const char *const text[] = {"0.1",
                                       "123456789012345678901234567890",
                                       "9007199254740993",
                                       "1e22",
                                       "1e23",
                                       "4.35",
                                       "2.2250738585072011e-308",
                                       "5e-324",
                                       "1e-400",
                                       "1.7976931348623157e308",
                                       "-0",
                                       "0.000000000000000000000000001",
                                       "00012.50",
                                       "8.5e-22",
                                       "9007199254740992e-22",
                                       "+1.e-5",
                                       "7205759403792793e-1",
                                       "179769313486231570000e288"};
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        epiqp_cell cell = epiqp_cell_number(text[i], (ptrdiff_t)strlen(text[i]), plain);
        EQ(cell.kind, EPIQP_IS_NUMBER);
        NEAR(cell.value, strtod_l(text[i], NULL, plain), 0);
        TRUE(!signbit(cell.value));
    }
    /* a long fraction and a large exponent that cancel, and one too large to count */
    char far[2200] = "0.";
    memset(far + 2, '0', 2000);
    strcpy(far + 2002, "25e2001");
    NEAR(epiqp_cell_number(far, (ptrdiff_t)strlen(far), plain).value, 2.5, 0);
    strcpy(far + 2002, "1e9999999999");
    EQ(epiqp_cell_number(far, (ptrdiff_t)strlen(far), plain).kind, EPIQP_IS_INFINITE);
    static const char *const wrong[] = {"0x10",  "1e",  "1e+", ".",      "+",  "-",       "e5",
                                        "1.2.3", "1 2", "--1", "nan(1)", "1f", "infinit", "1,5"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        EQ(epiqp_cell_number(wrong[i], (ptrdiff_t)strlen(wrong[i]), plain).kind, EPIQP_IS_TEXT);
    }
    static const char *const never[] = {"inf", "-inf", "+Infinity", "INF", "1e999", "-1e400"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
        EQ(epiqp_cell_number(never[i], (ptrdiff_t)strlen(never[i]), plain).kind, EPIQP_IS_INFINITE);
    }
    freelocale(plain);
}

/* Up to 20 digits with all exponents that have a short way, and numbers in the middle between two doubles and beside it. */
TEST(numbers_of_many_digits_are_rounded_once)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    uint64_t state = 1, off = 0;
    char text[64];
    for (int k = 0; k < 200000; k++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t whole = (state ^ state >> 29) >> k % 12;
        int exponent = k / 12 % 60 - 30;
        if (k % 3 == 0) { /* m + 1/2 in units of a double's last bit, for m of 53 bits: a middle; or next to it */
            whole = ((whole >> 11 | UINT64_C(1) << 52) & ((UINT64_C(1) << 53) - 1)) * 4 + 2 + (uint64_t)(k % 9 / 3) - 1;
            exponent = 0;
        }
        snprintf(text, sizeof text, "%llue%d", (unsigned long long)whole, exponent);
        const double got = epiqp_cell_number(text, (ptrdiff_t)strlen(text), plain).value;
        off += got != strtod_l(text, NULL, plain);
    }
    EQ(off, 0);
    freelocale(plain);
}

TEST(csv_numbers_are_correctly_rounded)
{
    cells_are_read();
}

TEST(csv_numbers_are_the_same_with_decimal_commas)
{
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8")) {
        puts("SKIPPED: decimal commas: no locale de_DE.UTF-8 (tests/commas.sh makes one)");
        return;
    }
    STR(localeconv()->decimal_point, ",");
    cells_are_read();
    setlocale(LC_NUMERIC, "C");
}

TEST(csv_that_is_no_table_is_refused)
{
    refused("", "empty");
    refused("\n\n", "empty");
    refused("1,2,3\n4,5,6\n7,8,9\n", NULL);
    refused("a,y\n", "2 rows");
    refused("a,y", "2 rows");
    refused("a,y\n1,2\n", "2 rows");
    refused("a,,y\n1,2,3\n4,5,6\n", "column 2");
    refused("a,a,y\n1,2,3\n4,5,6\n", "\"a\"");
    refused("a,b,y\n1,2,3\n4,5\n", "rows.csv:3:");
    refused("a,b,y\n1,\"\n2\n\",3\n4,5,6\n", "rows.csv:2:2:");
    refused("a,b,y\n1,\"2\n\",3\n4,5,6,7\n", "rows.csv:4:");
    refused("a,y\n1,2\n\n3,4\n", "rows.csv:3:");
    refused("a,y\n1,2\n3,\"4\n5,6\n", "rows.csv:3:");
    refused("\"a,y\n1,2\n", "rows.csv:1:");
    refused("a,y\n\"1\"2,3\n4,5\n", "rows.csv:2:");
    epiq_options o = options();
    read_bytes("\xFF\xFE"
               "a\0,\0",
               6, &o);
    EQ(status, EPIQ_E_DATA);
    SAYS(epiq_message(c), "UTF-16");
    read_bytes("a,y\n1,\0002\n", 9, &o);
    EQ(status, EPIQ_E_DATA);
    SAYS(epiq_message(c), "byte 7");
}

TEST(a_record_past_16_mib_is_refused)
{
    size_t size = (size_t)20 << 20;
    char *text = malloc(size);
    epiq_options o = options();
    memset(text, '1', size);
    memcpy(text, "a,y\n1,2\n", 8);
    read_bytes(text, size, &o);
    EQ(status, EPIQ_E_DATA);
    SAYS(epiq_message(c), "rows.csv:3:");
    text[8] = '"';
    read_bytes(text, size, &o);
    SAYS(epiq_message(c), "rows.csv:3:");
    memset(text, 'a', size);
    read_bytes(text, size, &o);
    SAYS(epiq_message(c), "rows.csv:1:");
    free(text);
}

TEST(files_that_cannot_be_read_say_why)
{
    epiq_options o = options();
    epiq_data *data;
    EQ(epiq_data_read(c, "/nowhere/rows.csv", &o, &data), EPIQ_E_FILE);
    SENTENCE(epiq_message(c));
    EQ(epiq_data_read(c, folder, &o, &data), EPIQ_E_FILE);
    SENTENCE(epiq_message(c));
    char far[3000];
    memset(far, 'd', sizeof far);
    strcpy(far + 2900, "/end.csv");
    EQ(epiq_data_read(c, far, &o, &data), EPIQ_E_FILE);
    SAYS(epiq_message(c), "dd/end.csv: ");
    TRUE(!data);
}

TEST(standard_input_is_a_file_too)
{
    epiq_options o = options();
    epiq_data *data;
    put_bytes("a,y\n1,2\n3,4\n", 12);
    int kept = dup(STDIN_FILENO);
    TRUE(freopen(path, "r", stdin) != NULL);
    EQ(epiq_data_read(c, "-", &o, &data), EPIQ_OK);
    EQ(data->n, 2);
    STR(data->sha256, "caaa92249a6f95367edbad1765983d001e57cf725e649489415f8828fd5b8446");
    epiq_data_free(c, data);
    dup2(kept, STDIN_FILENO);
    close(kept);
}

/* ---- cells ---- */

TEST(bad_cells_are_named_by_place)
{
    refused("a,age,y\n1,2,3\n4,n/b,6\n", "rows.csv:3:2:");
    refused("a,age,y\n1,2,3\n4,5,0x6\n", "rows.csv:3:3:");
    refused("a;age;y\n1;2,5;3\n4.5;5;6\n", "rows.csv:3:1:");
    refused("a,age,y\n1,\"2,5\",3\n4,5,6\n", "\"2,5\"");
    refused("a,y\n1,2\ninf,4\n", "rows.csv:3:1:");
    refused("a,y\n1,2\n3,1e999\n", "rows.csv:3:2:");
    refused("a,y\n1,2\n3,\n", "rows.csv:3:2:");
    static const char *const gaps[] = {"NA", "na", "N/A", "NaN", "nan", "-nan", "null", "NULL"};
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        char text[64], part[64];
        snprintf(text, sizeof text, "a,y\n1,2\n%s,4\n", gaps[i]);
        snprintf(part, sizeof part, "rows.csv:3:1: \"%s\"", gaps[i]);
        refused(text, part);
        CONTAINS(epiq_message(c), "missing drop");
    }
    refused("a,y\n1,bad\nNA,4\n", "\"bad\""); /* the first in the file */
    refused("a,y\n1,\nbad,4\n", ":2:2:");
    refused("a,y\n1,2\nx\x1B[31m\x07\x81y,4\n", "\"x?[31m??y\"");
    refused("a,y\n1,2\n123456789a123456789b123456789c123456789d123456789e,4\n",
            "\"123456789a123456789b123456789c123456789d1234...\"");
}

TEST(columns_without_numbers_name_the_remedy)
{
    refused("colour,y\nred,1\nblue,2\n", "\"red\"");
    CONTAINS(epiq_message(c), "drop");
    CONTAINS(epiq_message(c), "onehot");
    refused("a,y\n1,low\n2,high\n", NULL);
    CONTAINS(epiq_message(c), "target");
    refused("a,b,y\n1,,3\n2,NA,4\n", "drop");
    epiq_options o = options();
    o.missing = EPIQ_MISSING_DROP;
    refused_with("a,b,y\n1,,3\n2,NA,4\n", &o, EPIQ_E_DATA, NULL);
    o.drop = "b";
    epiq_data *data = read_text("a,b,y\n1,,3\n2,NA,4\n", &o);
    EQ(status, EPIQ_OK);
    EQ(data->d, 1);
    EQ(data->columns->count, 3);
    epiq_data_free(c, data);
}

TEST(rows_with_missing_cells_are_left_out_on_request)
{
    epiq_options o = options();
    o.missing = EPIQ_MISSING_DROP;
    o.onehot = "k";
    o.group = "g";
    o.drop = "z";
    epiq_data *data =
        read_text("a,k,g,z,y\n1,only,g0,,NA\n1,u,g1,,10\n,v,g1,,11\n2,w,g2,,12\n3,u,,,13\n4,v,g2,,14\n", &o);
    EQ(status, EPIQ_OK);
    EQ(data->n, 3);
    EQ(data->dropped, 3);
    const ptrdiff_t rows[] = {2, 4, 6}, groups[] = {0, 1, 1};
    for (int i = 0; i < 3; i++) {
        EQ(data->row[i], rows[i]);
        EQ(data->group[i], groups[i]);
    }
    EQ(data->groups, 2);
    EQ(data->d, 4); /* a, and the values of k in the rows that are left */
    STR(data->feature[1], "k=u");
    STR(data->feature[2], "k=w");
    STR(data->feature[3], "k=v");
    SAYS(warning(data, "dropped_rows"), "3 of 6 rows");
    TRUE(data->warnings.arena == &data->arena);
    EQ(epiq_data_describe(data).dropped, 3);
    epiq_points *p;
    EQ(epiq_points_new(c, data, &p), EPIQ_OK);
    EQ(epiq_points_add(c, p, "row:4"), EPIQ_OK);
    NEAR(p->x[0], 2, 0);
    NEAR(p->x[2], 1, 0);
    EQ(epiq_points_add(c, p, "row:3"), EPIQ_E_DATA);
    SENTENCE(epiq_message(c));
    EQ(epiq_points_add(c, p, "row:7"), EPIQ_E_DATA);
    SAYS(epiq_message(c), "rows 1");
    epiq_points_free(c, p);
    epiq_data_free(c, data);
    refused_with("a,k,g,z,y\n1,u,g,,1\n2,,g,,3\n", &o, EPIQ_E_DATA, "1 of 2 rows");
    refused_with("a,k,g,z,y\n1,u,g,,1\n,u,g,,x\n2,u,g,,3\n", &o, EPIQ_E_DATA, ":3:5:");
}

/* A name is shown, and one of two that look alike is refused; labels tell rows apart, and replaced they might no longer.
 * The byte 81, and characters of UTF-8, say that the text is not Latin-1 either. */
TEST(text_in_no_known_encoding_is_replaced_in_names_and_refused_in_labels)
{
    epiq_options o = options();
    o.onehot = "k";
    refused_with("k,a,y\nr,1,2\nr\x81,2,3\n", &o, EPIQ_E_DATA, ":3:1:");
    refused_with("\xEF\xBB\xBFk,a,y\nr,1,2\nr\xC3,2,3\n", &o, EPIQ_E_DATA, ":3:1:");
    epiq_data *data = read_text("k,\xFF\x61\xC3\xA9\xED\xA0\x80,y\nr,1,2\n\xE2\x82\xAC,2,3\n", &o);
    EQ(status, EPIQ_OK);
    STR(data->feature[0], "k=r");
    STR(data->feature[1], "k=\xE2\x82\xAC");
    STR(data->feature[2], "\xEF\xBF\xBD\x61\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    TRUE(!warning(data, "latin1"));
    epiq_data_free(c, data);
}
