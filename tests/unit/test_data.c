/* test_data.c - the readers of CSV, NPY and NPZ, the choice of columns, scaling, points and the synthetic sets: values
 * where they are known, and for bad input the status and the words that lead a person to the remedy.
 */
#include "data/table.h"
#include "test.h"

#include <float.h>
#include <locale.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

static epiq_ctx *c;
static char folder[512], path[600];

static void leave(void)
{
    unlink(path);
    rmdir(folder);
    epiq_ctx_free(c);
}

__attribute__((constructor)) static void enter(void)
{
    const char *top = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/epiq_data_XXXXXX", top ? top : "/tmp");
    if (epiq_ctx_new(&c) || !mkdtemp(folder)) {
        abort();
    }
    snprintf(path, sizeof path, "%s/rows.csv", folder);
    atexit(leave);
}

static void put_bytes(const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, size, f) != size || fclose(f)) {
        abort();
    }
}

static epiq_options options(void)
{
    epiq_options o = epiq_options_default();
    o.target = "y";
    o.scale = EPIQ_SCALE_NONE;
    return o;
}

/* The data, or NULL with the status; a failure must leave nothing behind. */
static int status;
static epiq_data *read_bytes(const void *bytes, size_t size, const epiq_options *o)
{
    epiq_data *data = (epiq_data *)1;
    ptrdiff_t before = c->live_blocks;
    put_bytes(bytes, size);
    status = epiq_data_read(c, path, o, &data);
    TRUE(status ? data == NULL && c->live_blocks == before && *epiq_message(c) : data != NULL);
    return data;
}

static epiq_data *read_text(const char *text, const epiq_options *o)
{
    return read_bytes(text, strlen(text), o);
}

static void refused_with(const char *text, const epiq_options *o, int wanted, const char *words)
{
    epiq_data *data = read_text(text, o);
    EQ(status, wanted);
    CONTAINS(epiq_message(c), words);
    epiq_data_free(c, data);
}

static void refused(const char *text, const char *words)
{
    epiq_options o = options();
    refused_with(text, &o, EPIQ_E_DATA, words);
}

static const char *warning(const epiq_data *data, const char *code)
{
    for (ptrdiff_t i = 0; i < data->warnings.count; i++) {
        if (strcmp(data->warnings.list[i].code, code) == 0) {
            return data->warnings.list[i].message;
        }
    }
    return NULL;
}

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
    refused("1,2,3\n4,5,6\n7,8,9\n", "line 1 looks like data; a header is required");
    refused("a,y\n", "at least 2 rows are needed");
    refused("a,y", "at least 2 rows are needed");
    refused("a,y\n1,2\n", "only one row; at least 2 rows are needed");
    refused("a,,y\n1,2,3\n4,5,6\n", "column 2 of 3 has no name");
    refused("a,a,y\n1,2,3\n4,5,6\n", "columns 1 and 2 are both named \"a\"");
    refused("a,b,y\n1,2,3\n4,5\n", "rows.csv:3: the row has 2 cells where the header has 3");
    refused("a,b,y\n1,\"\n2\n\",3\n4,5,6\n", "rows.csv:2:2: \"?2?\" is not a number");
    refused("a,b,y\n1,\"2\n\",3\n4,5,6,7\n", "rows.csv:4: the row has 4 cells where the header has 3");
    refused("a,y\n1,2\n\n3,4\n", "rows.csv:3: the line is blank");
    refused("a,y\n1,2\n3,\"4\n5,6\n", "rows.csv:3: a quote that opens on this line is never closed");
    refused("\"a,y\n1,2\n", "rows.csv:1: a quote");
    refused("a,y\n\"1\"2,3\n4,5\n", "rows.csv:2: text follows a closing quote");
    epiq_options o = options();
    read_bytes("\xFF\xFE"
               "a\0,\0",
               6, &o);
    EQ(status, EPIQ_E_DATA);
    CONTAINS(epiq_message(c), "UTF-16");
    read_bytes("a,y\n1,\0002\n", 9, &o);
    EQ(status, EPIQ_E_DATA);
    CONTAINS(epiq_message(c), "byte 7 is NUL");
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
    CONTAINS(epiq_message(c), "rows.csv:3: the line is longer than 16 MiB");
    text[8] = '"';
    read_bytes(text, size, &o);
    CONTAINS(epiq_message(c), "rows.csv:3: a quote that opens on this line is never closed within 16 MiB");
    memset(text, 'a', size);
    read_bytes(text, size, &o);
    CONTAINS(epiq_message(c), "rows.csv:1: the line is longer");
    free(text);
}

TEST(files_that_cannot_be_read_say_why)
{
    epiq_options o = options();
    epiq_data *data;
    EQ(epiq_data_read(c, "/nowhere/rows.csv", &o, &data), EPIQ_E_FILE);
    CONTAINS(epiq_message(c), "/nowhere/rows.csv: No such file");
    EQ(epiq_data_read(c, folder, &o, &data), EPIQ_E_FILE);
    CONTAINS(epiq_message(c), "Is a directory");
    char far[3000];
    memset(far, 'd', sizeof far);
    strcpy(far + 2900, "/end.csv");
    EQ(epiq_data_read(c, far, &o, &data), EPIQ_E_FILE);
    CONTAINS(epiq_message(c), "dd/end.csv: ");
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
    refused("a,age,y\n1,2,3\n4,n/b,6\n", "rows.csv:3:2: \"n/b\" is not a number (column age); correct the cell");
    refused("a,age,y\n1,2,3\n4,5,0x6\n", "rows.csv:3:3: \"0x6\" is not a number (column y); correct the cell");
    refused("a;age;y\n1;2,5;3\n4;5;6\n", "\"2,5\" is not a number (column age); write it with a decimal point");
    refused("a,y\n1,2\ninf,4\n", "rows.csv:3:1: \"inf\" is not a finite number (column a)");
    refused("a,y\n1,2\n3,1e999\n", "rows.csv:3:2: \"1e999\" is not a finite number (column y)");
    refused("a,y\n1,2\n3,\n", "rows.csv:3:2: the cell is empty (column y)");
    static const char *const gaps[] = {"NA", "na", "N/A", "NaN", "nan", "-nan", "null", "NULL"};
    for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
        char text[64], words[64];
        snprintf(text, sizeof text, "a,y\n1,2\n%s,4\n", gaps[i]);
        snprintf(words, sizeof words, "rows.csv:3:1: \"%s\" is a missing cell (column a)", gaps[i]);
        refused(text, words);
        CONTAINS(epiq_message(c), "--missing drop");
    }
    refused("a,y\n1,bad\nNA,4\n", "\"bad\""); /* the first in the file */
    refused("a,y\n1,\nbad,4\n", ":2:2: the cell is empty");
    refused("a,y\n1,2\nx\x1B[31m\x07\xFFy,4\n", "\"x?[31m??y\"");
    refused("a,y\n1,2\n123456789a123456789b123456789c123456789d123456789e,4\n",
            "\"123456789a123456789b123456789c123456789d1234...\"");
}

TEST(columns_without_numbers_name_the_remedy)
{
    refused("colour,y\nred,1\nblue,2\n", "column colour holds no number (its first cell is \"red\")");
    CONTAINS(epiq_message(c), "--drop");
    CONTAINS(epiq_message(c), "--onehot");
    refused("a,y\n1,low\n2,high\n", "column y holds no number");
    CONTAINS(epiq_message(c), "--target");
    refused("a,b,y\n1,,3\n2,NA,4\n", "column b has no value in any row; leave it out with --drop");
    epiq_options o = options();
    o.missing = EPIQ_MISSING_DROP;
    refused_with("a,b,y\n1,,3\n2,NA,4\n", &o, EPIQ_E_DATA, "column b has no value in any row");
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
    CONTAINS(warning(data, "dropped_rows"), "3 of 6 rows");
    TRUE(data->warnings.arena == &data->arena);
    EQ(epiq_data_describe(data).dropped, 3);
    epiq_points *p;
    EQ(epiq_points_new(c, data, &p), EPIQ_OK);
    EQ(epiq_points_add(c, p, "row:4"), EPIQ_OK);
    NEAR(p->x[0], 2, 0);
    NEAR(p->x[2], 1, 0);
    EQ(epiq_points_add(c, p, "row:3"), EPIQ_E_DATA);
    CONTAINS(epiq_message(c), "left out");
    EQ(epiq_points_add(c, p, "row:7"), EPIQ_E_DATA);
    CONTAINS(epiq_message(c), "rows 1 to 6");
    epiq_points_free(c, p);
    epiq_data_free(c, data);
    refused_with("a,k,g,z,y\n1,u,g,,1\n2,,g,,3\n", &o, EPIQ_E_DATA,
                 "1 of 2 rows have no missing cell; at least 2 rows");
    refused_with("a,k,g,z,y\n1,u,g,,1\n,u,g,,x\n2,u,g,,3\n", &o, EPIQ_E_DATA, ":3:5: \"x\" is not a number");
}

/* A name is shown, and one of two that look alike is refused; labels tell rows apart, and replaced they might no longer. */
TEST(text_that_is_not_utf8_is_replaced_in_names_and_refused_in_labels)
{
    epiq_options o = options();
    o.onehot = "k";
    refused_with("k,a,y\nr,1,2\nr\xC3,2,3\n", &o, EPIQ_E_DATA, ":3:1: \"r?\" is not UTF-8 (column k); save the file");
    epiq_data *data = read_text("k,\xFF\x61\xC3\xA9\xED\xA0\x80,y\nr,1,2\n\xE2\x82\xAC,2,3\n", &o);
    EQ(status, EPIQ_OK);
    STR(data->feature[0], "k=r");
    STR(data->feature[1], "k=\xE2\x82\xAC");
    STR(data->feature[2], "\xEF\xBF\xBD\x61\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    epiq_data_free(c, data);
}

/* ---- columns ---- */

#define FOUR "alpha,beta,gamma,y\n1,2,3,4\n5,6,7,8\n9,1,2,3\n"

TEST(unknown_columns_are_listed_and_a_near_one_suggested)
{
    epiq_options o = options();
    o.target = NULL;
    refused_with(FOUR, &o, EPIQ_E_USAGE,
                 "--target is needed: name the column to predict; the file has alpha, beta, gamma, y");
    o.target = "alhpa";
    refused_with(FOUR, &o, EPIQ_E_DATA,
                 "there is no column \"alhpa\" for --target (did you mean \"alpha\"?); the file has alpha, beta");
    o.target = "BETA";
    refused_with(FOUR, &o, EPIQ_E_DATA, "did you mean \"beta\"?");
    o.target = "weight";
    refused_with(FOUR, &o, EPIQ_E_DATA, "\"weight\" for --target; the file has");
    for (int k = 0; k < 4; k++) {
        o = options();
        *(k == 0 ? &o.features : k == 1 ? &o.drop : k == 2 ? &o.onehot : &o.group) = "nothing";
        refused_with(FOUR, &o, EPIQ_E_DATA, "there is no column \"nothing\" for --");
    }
    char wide[9000] = "y";
    for (int j = 0; j < 1000; j++) {
        snprintf(wide + strlen(wide), 16, ",c%d", j);
    }
    strcat(wide, "\n");
    o = options();
    o.target = "w";
    refused_with(wide, &o, EPIQ_E_DATA, ", ... (1001 in all)");
}

TEST(options_that_contradict_each_other_are_refused)
{
    static const struct {
        const char *features, *drop, *onehot, *group, *words;
        int wanted;
    } cases[] = {{"alpha,y", NULL, NULL, NULL, "both --target and --features", EPIQ_E_USAGE},
                 {NULL, "y", NULL, NULL, "both --target and --drop", EPIQ_E_USAGE},
                 {NULL, NULL, "y", NULL, "both --target and --onehot", EPIQ_E_USAGE},
                 {NULL, NULL, NULL, "y", "both --target and --group", EPIQ_E_USAGE},
                 {"alpha,beta", NULL, NULL, "beta", "both --group and --features", EPIQ_E_USAGE},
                 {NULL, NULL, "beta", "beta", "both --group and --onehot", EPIQ_E_USAGE},
                 {"alpha", "alpha", NULL, NULL, "both --features and --drop", EPIQ_E_USAGE},
                 {NULL, "alpha", "alpha", NULL, "both --drop and --onehot", EPIQ_E_USAGE},
                 {"alpha", NULL, "beta", NULL, "not among --features", EPIQ_E_USAGE},
                 {NULL, "alpha,,beta", NULL, NULL, "--drop holds an empty name", EPIQ_E_USAGE},
                 {NULL, "alpha,", NULL, NULL, "--drop holds an empty name", EPIQ_E_USAGE},
                 {NULL, "\"alpha", NULL, NULL, "never closed", EPIQ_E_USAGE},
                 {NULL, "alpha,beta,gamma", NULL, NULL, "no feature is left", EPIQ_E_DATA},
                 {NULL, "alpha,beta", NULL, "gamma", "no feature is left", EPIQ_E_DATA}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        epiq_options o = options();
        o.features = cases[i].features;
        o.drop = cases[i].drop;
        o.onehot = cases[i].onehot;
        o.group = cases[i].group;
        refused_with(FOUR, &o, cases[i].wanted, cases[i].words);
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
    refused_with(text, &o, EPIQ_E_DATA, "column k has more than 1000 values");
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
    CONTAINS(warning(data, "constant_columns"), "1 feature has only one value");
    CONTAINS(warning(data, "constant_columns"), ": a; leave out with --drop");
    CONTAINS(warning(data, "constant_target"), "y");
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
    refused_with("a,y\n-1.7e308,1\n1.7e308,2\n", &o, EPIQ_E_DATA, "column a spans more than a double can hold");
    refused_with("a,y\n1,5e-324\n2,0\n0,0\n", &o, EPIQ_E_DATA, "column y varies by less than a double can divide by");
    o.scale = EPIQ_SCALE_STANDARD;
    refused_with("a,y\n1e-310,1\n2e-310,0\n0,0\n", &o, EPIQ_E_DATA, "column a varies by less than a double");
}

TEST(columns_that_vary_in_their_last_digits_are_warned_of)
{
    epiq_options o = options();
    epiq_data *data =
        read_text("a,b,y\n1e12,1000000001,1\n1000000000001,1000000002,2\n1000000000002,1000000004,4\n", &o);
    CONTAINS(warning(data, "last_digits"), "1 column varies only beyond the tenth digit");
    CONTAINS(warning(data, "last_digits"), ": a;");
    epiq_data_free(c, data);
}

TEST(repeated_rows_are_counted)
{
    epiq_options o = options();
    epiq_data *data = read_text("a,b,y\n1,2,1\n1,2,2\n0,1,3\n-0,1,4\n2,1,5\n1,2,6\n", &o);
    EQ(data->duplicates, 3);
    CONTAINS(warning(data, "duplicate_rows"), "3 rows repeat");
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

/* ---- NPY and NPZ ---- */

/* An NPY file of 3 by 2 (or other) whole numbers 1, 2, ... in row-major order of the values. */
static size_t npy(unsigned char *out, int version, const char *descr, bool fortran, const char *shape, int rows,
                  int columns)
{
    char header[128];
    int length = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr,
                          fortran ? "True" : "False", shape);
    size_t at = version == 1 ? 10 : 12;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)version;
    out[7] = 0;
    memset(out + 8, 0, 4);
    out[8] = (unsigned char)(length + 1);
    memcpy(out + at, header, (size_t)length);
    at += (size_t)length;
    out[at++] = '\n';
    char type = descr[1];
    int size = descr[2] - '0';
    for (int k = 0; k < rows * columns; k++) {
        int v = fortran ? k % rows * columns + k / rows + 1 : k + 1;
        uint64_t bits = (uint64_t)(type == 'b' ? v % 2 : v);
        double real = v;
        float half = (float)v;
        uint32_t half_bits;
        if (type == 'f' && size == 8) {
            memcpy(&bits, &real, 8);
        } else if (type == 'f') {
            memcpy(&half_bits, &half, 4);
            bits = half_bits;
        } else if (type == 'i') {
            bits = (uint64_t) - (int64_t)v;
        }
        for (int b = 0; b < size; b++) {
            out[at++] = (unsigned char)(bits >> 8 * (descr[0] == '>' ? size - 1 - b : b));
        }
    }
    return at;
}

TEST(npy_of_every_kind_gives_the_same_numbers)
{
    static const char *const types[] = {"f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"};
    unsigned char bytes[512];
    epiq_options o = options();
    for (int k = 0; k < 11 * 2 * 2 * 3; k++) {
        char descr[8];
        snprintf(descr, sizeof descr, "%c%s", types[k % 11][1] == '1' ? '|' : k / 11 % 2 ? '>' : '<', types[k % 11]);
        size_t size = npy(bytes, 1 + k / 44, descr, k / 22 % 2, "(4, 3)", 4, 3);
        epiq_data *data = read_bytes(bytes, size, &o);
        EQ(status, EPIQ_OK);
        EQ(data->n, 4);
        EQ(data->d, 2);
        STR(data->feature[1], "x2");
        STR(data->target, "y");
        for (int v = 0; v < 12; v++) {
            double want = descr[1] == 'i' ? -(v + 1) : descr[1] == 'b' ? (v + 1) % 2 : v + 1;
            NEAR(v % 3 == 2 ? data->y[v / 3] : data->x[v / 3 * 2 + v % 3], want, 0);
        }
        epiq_data_free(c, data);
    }
    o.target = NULL; /* the last column is the target */
    epiq_data *data = read_bytes(bytes, npy(bytes, 1, "<f8", false, "(4L,3L)", 4, 3), &o);
    EQ(status, EPIQ_OK);
    epiq_data_free(c, data);
}

static void npy_refused(const unsigned char *bytes, size_t size, const char *words)
{
    epiq_options o = options();
    epiq_data *data = read_bytes(bytes, size, &o);
    EQ(status, EPIQ_E_DATA);
    CONTAINS(epiq_message(c), words);
    epiq_data_free(c, data);
}

TEST(npy_that_is_no_table_is_refused)
{
    unsigned char b[512];
    npy_refused(b, npy(b, 1, "<f8", false, "(6,)", 6, 1), "1 dimension;");
    npy_refused(b, npy(b, 1, "<f8", false, "(6, 1)", 6, 1), "1 column");
    npy_refused(b, npy(b, 1, "<f8", false, "()", 1, 1), "0 dimensions");
    npy_refused(b, npy(b, 1, "<f8", false, "(2, 3, 1)", 2, 3), "3 dimensions");
    npy_refused(b, npy(b, 1, "<f8", false, "(0, 3)", 0, 3), "no row");
    npy_refused(b, npy(b, 1, "<f8", false, "(3, 0)", 0, 3), "empty");
    npy_refused(b, npy(b, 1, "<f8", false, "(1, 3)", 1, 3), "at least 2 rows");
    npy_refused(b, npy(b, 1, "<c8", false, "(2, 3)", 2, 3), "items of the array are <c8");
    npy_refused(b, npy(b, 1, "|O8", false, "(2, 3)", 2, 3), "|O8");
    npy_refused(b, npy(b, 1, "<f8", false, "(2, 4)", 2, 3), "48 bytes follow");
    npy_refused(b, npy(b, 1, "<f8", false, "(2, 2)", 2, 3), "48 bytes follow");
    npy_refused(b, npy(b, 1, "<f8", false, "(4611686018427387904, 4)", 2, 3), "48 bytes follow");
    npy_refused(b, npy(b, 1, "<f8", false, "(99999999999999999999, 4)", 2, 3), "header of the array");
    npy_refused(b, npy(b, 1, "<f8", false, "(0, 99999999999)", 0, 3), "columns");
    npy_refused(b, npy(b, 1, "<f8", false, "(-2, 3)", 2, 3), "header of the array");
    npy_refused(b, npy(b, 4, "<f8", false, "(2, 3)", 2, 3), "format 1, 2 or 3");
    size_t size = npy(b, 1, "<f8", false, "(2, 3)", 2, 3);
    memcpy(b + 10, "{'descr': [('a','<f8')]", 23);
    npy_refused(b, size, "structured");
    size = npy(b, 1, "<f8", false, "(2, 3)", 2, 3);
    double special[] = {NAN, -INFINITY};
    memcpy(b + size - 16, &special[0], 8);
    npy_refused(b, size, "row 2, column 2: \"nan\" is a missing cell (column x2)");
    memcpy(b + size - 40, &special[1], 8);
    npy_refused(b, size, "row 1, column 2: \"-inf\" is not a finite number (column x2)");
}

TEST(npy_cut_off_anywhere_is_refused)
{
    unsigned char b[512];
    epiq_options o = options();
    for (int version = 1; version <= 3; version++) {
        size_t size = npy(b, version, "<f4", true, "(3, 2)", 3, 2);
        for (size_t cut = 0; cut < size; cut++) {
            unsigned char *exact = malloc(cut + 1);
            memcpy(exact, b, cut);
            read_bytes(exact, cut, &o);
            EQ(status, EPIQ_E_DATA);
            free(exact);
        }
    }
}

typedef struct {
    unsigned char bytes[4096], directory[1024];
    size_t size, directory_size;
    int count;
} zip;

static void put16(unsigned char *p, size_t v)
{
    p[0] = (unsigned char)v;
    p[1] = (unsigned char)(v >> 8);
}

static void put32(unsigned char *p, size_t v)
{
    put16(p, v & 0xFFFF);
    put16(p + 2, v >> 16);
}

static void zip_add(zip *z, const char *name, const unsigned char *data, size_t size, bool deflated)
{
    unsigned char packed[1024], *entry = z->directory + z->directory_size, *local = z->bytes + z->size;
    size_t packed_size = size, name_size = strlen(name);
    if (deflated) {
        z_stream s = {0};
        deflateInit2(&s, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
        s.next_in = (unsigned char *)(uintptr_t)data;
        s.avail_in = (uInt)size;
        s.next_out = packed;
        s.avail_out = sizeof packed;
        deflate(&s, Z_FINISH);
        packed_size = s.total_out;
        deflateEnd(&s);
    } else {
        memcpy(packed, data, size);
    }
    memset(local, 0, 30);
    memcpy(local, "PK\3\4", 4);
    put16(local + 26, name_size);
    put16(local + 28, 4); /* numpy leaves an extra field here and the sizes to the directory */
    put32(local + 18, UINT32_MAX);
    memcpy(local + 30, name, name_size);
    memcpy(local + 34 + name_size, packed, packed_size);
    memset(entry, 0, 46);
    memcpy(entry, "PK\1\2", 4);
    put16(entry + 10, deflated ? 8 : 0);
    put32(entry + 16, crc32(0, data, (uInt)size));
    put32(entry + 20, packed_size);
    put32(entry + 24, size);
    put16(entry + 28, name_size);
    put32(entry + 42, z->size);
    memcpy(entry + 46, name, name_size);
    z->size += 34 + name_size + packed_size;
    z->directory_size += 46 + name_size;
    z->count++;
}

static void zip_end(zip *z)
{
    size_t start = z->size;
    memcpy(z->bytes + start, z->directory, z->directory_size);
    unsigned char *end = z->bytes + start + z->directory_size;
    memset(end, 0, 22);
    memcpy(end, "PK\5\6", 4);
    put16(end + 8, (size_t)z->count);
    put16(end + 10, (size_t)z->count);
    put32(end + 12, z->directory_size);
    put32(end + 16, start);
    z->size += z->directory_size + 22;
}

static zip archive(const char *shape, int rows, bool deflated)
{
    unsigned char b[512];
    zip z = {0};
    zip_add(&z, "readme.txt", (const unsigned char *)"hello", 5, false);
    zip_add(&z, "x.npy", b, npy(b, 1, "<f8", false, shape, rows, 2), deflated);
    zip_add(&z, "y.npy", b, npy(b, 1, ">i4", false, "(3,)", 3, 1), !deflated);
    zip_add(&z, "k.npy", b, npy(b, 1, "|u1", false, "(3, 1)", 3, 1), deflated);
    zip_end(&z);
    return z;
}

TEST(npz_arrays_become_columns)
{
    for (int deflated = 0; deflated < 2; deflated++) {
        zip z = archive("(3, 2)", 3, deflated);
        epiq_options o = options();
        o.onehot = "k";
        epiq_data *data = read_bytes(z.bytes, z.size, &o);
        EQ(status, EPIQ_OK);
        EQ(data->n, 3);
        EQ(data->d, 5);
        STR(data->feature[0], "x1");
        STR(data->feature[1], "x2");
        STR(data->feature[3], "k=2");
        NEAR(data->x[5 * 2 + 1], 6, 0);
        NEAR(data->y[2], -3, 0);
        NEAR(data->x[5 * 1 + 3], 1, 0);
        epiq_data_free(c, data);
    }
}

TEST(npz_damaged_anywhere_is_refused_or_harmless)
{
    zip z = archive("(3, 2)", 3, true);
    epiq_options o = options();
    for (size_t cut = 0; cut < z.size; cut++) {
        unsigned char *exact = malloc(cut + 1);
        memcpy(exact, z.bytes, cut);
        read_bytes(exact, cut, &o);
        EQ(status, EPIQ_E_DATA);
        free(exact);
    }
    for (size_t at = 0; at < z.size; at++) { /* reserved fields may change without harm; nothing may crash */
        for (int flip = 1; flip < 256; flip += 127) {
            z.bytes[at] ^= (unsigned char)flip;
            epiq_data *data = read_bytes(z.bytes, z.size, &o);
            TRUE(status == EPIQ_OK || status == EPIQ_E_DATA);
            epiq_data_free(c, data);
            z.bytes[at] ^= (unsigned char)flip;
        }
    }
    z = archive("(2, 2)", 2, false);
    npy_refused(z.bytes, z.size, "all must have the same rows");
    z = (zip){0};
    zip_add(&z, "sheet.xml", (const unsigned char *)"<a/>", 4, true);
    zip_end(&z);
    npy_refused(z.bytes, z.size, "no .npy array");
    z = archive("(3, 2)", 3, false);
    put16(z.bytes + z.size - 12, UINT16_MAX);
    npy_refused(z.bytes, z.size, "zip64");
    z = archive("(3, 2)", 3, false);
    z.bytes[49 + 39 + 10] ^= 1; /* in x.npy, which comes after 49 bytes of readme.txt */
    npy_refused(z.bytes, z.size, "checksum");
    unsigned char b[512];
    z = (zip){0};
    zip_add(&z, "x.npy", b, npy(b, 1, "<f8", false, "(3, 2)", 3, 2), true);
    zip_add(&z, "x2.npy", b, npy(b, 1, "<f8", false, "(3,)", 3, 1), true);
    zip_end(&z);
    npy_refused(z.bytes, z.size, "both named \"x2\"");
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
    CONTAINS(warning(data, "duplicate_rows"), "2 rows repeat");
    CONTAINS(warning(data, "duplicate_rows"), "--group same-features");
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
    CONTAINS(epiq_message(c), "no two of 3 rows have the same features");
    CONTAINS(epiq_message(c), "leave it out, or name a column");
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

/* ---- from memory ---- */

TEST(data_from_memory_is_checked_and_named)
{
    double x[] = {1, 2, 3, 4, 5, 6, 1, 2}, y[] = {1, 2, 3, 5};
    int64_t group[] = {-7, INT64_MAX, -7, 0};
    epiq_options o = epiq_options_default();
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
    CONTAINS(epiq_message(c), "x[3][1] is nan");
    TRUE(!data);
    x[7] = 0;
    y[2] = -INFINITY;
    EQ(epiq_data_new(c, 4, 2, x, y, NULL, &o, &data), EPIQ_E_DATA);
    CONTAINS(epiq_message(c), "y[2] is -inf");
    EQ(epiq_data_new(c, 1, 2, x, y, NULL, &o, &data), EPIQ_E_DATA);
    CONTAINS(epiq_message(c), "at least 2 rows");
    EQ(epiq_data_new(c, 4, 0, x, y, NULL, &o, &data), EPIQ_E_DATA);
    EQ(epiq_data_new(c, PTRDIFF_MAX / 2, 16, x, y, NULL, &o, &data), EPIQ_E_NOMEM);
    EQ(c->live_blocks, 0);
    epiq_data_free(c, NULL);
}

TEST(names_can_be_given_later)
{
    double x[] = {1, 2, 3, 4}, y[] = {1, 2}, points[] = {5, 6};
    epiq_options o = epiq_options_default();
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
    epiq_points_free(c, p);
    EQ(epiq_data_rename(c, data, (const char *const[]){"a", "a"}, "z"), EPIQ_E_DATA);
    STR(epiq_message(c), "features 1 and 2 are both named \"a\"; rename one of them");
    STR(data->feature[0], "rooms"); /* nothing happened */
    STR(data->target, "price");
    EQ(epiq_data_rename(c, data, (const char *const[]){"a", "gr\xfcn"}, NULL), EPIQ_E_DATA);
    CONTAINS(epiq_message(c), "the name \"gr?n\" is not UTF-8; give one that is");
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
        const char *text, *words;
    } bad[] = {{"a,y\n1,2\n", "there is no column \"b\" among the points"},
               {"a,b,extra,more\n1,2,3,4\n", "the data has no column extra, more; remove them"},
               {"a,b\n1,2\n3,NA\n", "rows.csv:3:2: \"NA\" is a missing cell (column b)"},
               {"a,b\n1,2\n3,x\n", "rows.csv:3:2: \"x\" is not a number (column b)"},
               {"a,b\nx,2\n", "rows.csv:2:1: \"x\" is not a number (column a)"},
               {"a,b\n1,inf\n", "not a finite number"},
               {"a,b\n", "no row to ask about"},
               {"1,2\n3,4\n", "a header is required"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EQ(add_text(p, bad[i].text), EPIQ_E_DATA);
        CONTAINS(epiq_message(c), bad[i].words);
    }
    static const char *const malformed[] = {"row:", "row:0", "row:x", "row:-1", "row:1x", "row:1.5", "row: 1"};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        EQ(epiq_points_add(c, p, malformed[i]), EPIQ_E_USAGE);
        CONTAINS(epiq_message(c), "is not a row; write row:1");
    }
    EQ(epiq_points_add(c, p, "row:4"), EPIQ_E_DATA);
    CONTAINS(epiq_message(c), "there is no row 4; the data has rows 1 to 3");
    EQ(epiq_points_add(c, p, "row:99999999999999999999999"), EPIQ_E_DATA);
    EQ(epiq_points_add(c, p, "/nowhere.csv"), EPIQ_E_FILE);
    more[3] = INFINITY;
    EQ(epiq_points_add_rows(c, p, 2, more), EPIQ_E_DATA);
    CONTAINS(epiq_message(c), "at[1][1] is inf");
    EQ(epiq_points_add_rows(c, p, 0, more), EPIQ_E_DATA);
    EQ(epiq_points_count(p), 6);
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
    CONTAINS(epiq_message(c), "point 1: a = 1e+200 is too far");
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
    CONTAINS(epiq_message(c),
             "rows.csv:3:2: \"mauve\" is a value that the data does not have (column k); use one of red, blue");
    EQ(add_text(p, "a,k\n9,\n"), EPIQ_E_DATA);
    CONTAINS(epiq_message(c), "the cell is empty (column k)");
    EQ(epiq_points_count(p), 2);
    epiq_points_free(c, p);
    epiq_data_free(c, data);
}

TEST(points_from_arrays_go_by_position)
{
    unsigned char b[512];
    epiq_options o = options();
    epiq_data *data = read_text("a,b,y\n1,10,5\n2,30,7\n", &o);
    epiq_points *p;
    EQ(epiq_points_new(c, data, &p), EPIQ_OK);
    put_bytes(b, npy(b, 1, "<f8", false, "(3, 2)", 3, 2));
    EQ(epiq_points_add(c, p, path), EPIQ_OK);
    put_bytes(b, npy(b, 1, "<f8", false, "(2,)", 2, 1));
    EQ(epiq_points_add(c, p, path), EPIQ_OK);
    EQ(epiq_points_count(p), 4);
    NEAR(p->x[5], 6, 0);
    NEAR(p->x[6], 1, 0);
    NEAR(p->x[7], 2, 0);
    put_bytes(b, npy(b, 1, "<f8", false, "(2, 3)", 2, 3));
    EQ(epiq_points_add(c, p, path), EPIQ_E_DATA);
    CONTAINS(epiq_message(c), "3 columns but the data has 2 features");
    put_bytes(b, npy(b, 1, "<f8", false, "(3,)", 3, 1));
    EQ(epiq_points_add(c, p, path), EPIQ_E_DATA);
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
    CONTAINS(epiq_message(c), "1, 2 and 3");
    EQ(epiq_synth(c, 0, 2, 2, 1, x, y), EPIQ_E_USAGE);
    EQ(epiq_synth(c, 1, 0, 2, 1, x, y), EPIQ_E_USAGE);
    EQ(epiq_synth(c, 1, 2, -1, 1, x, y), EPIQ_E_USAGE);
    EQ(epiq_synth(c, 1, PTRDIFF_MAX, 2, 1, x, y), EPIQ_E_USAGE);
    free(x);
    free(y);
}

/* ---- memory ---- */

TEST(any_allocation_may_fail)
{
    epiq_options o = options();
    o.scale = EPIQ_SCALE_STANDARD;
    o.onehot = "k";
    o.group = "g";
    o.drop = "z";
    o.missing = EPIQ_MISSING_DROP;
    zip z = archive("(3, 2)", 3, true);
    epiq_options oz = options();
    double x[] = {1, 2, 3, 4}, y[] = {1, 1};
    int64_t group[] = {1, 2};
    epiq_options same = options();
    same.group = "same-features";
    x[2] = x[0];
    x[3] = x[1];
    for (int kind = 0; kind < 4; kind++) {
        if (kind == 0) {
            const char *text = "k,g,a\xFF,z,y\np,1,1,,1\nq,2,1,,1\np,2,1,,1\n,2,1,,1\n";
            put_bytes(text, strlen(text));
        } else {
            put_bytes(z.bytes, z.size);
        }
        int got = EPIQ_E_NOMEM;
        for (int fail = 0; got == EPIQ_E_NOMEM && fail < 1000; fail++) {
            epiq_data *data = (epiq_data *)1;
            c->fail_after = fail;
            got = kind == 3   ? epiq_data_new(c, 2, 2, x, y, NULL, &same, &data)
                  : kind == 2 ? epiq_data_new(c, 2, 2, x, y, group, &o, &data)
                              : epiq_data_read(c, path, kind ? &oz : &o, &data);
            c->fail_after = -1;
            TRUE(got == EPIQ_OK || (got == EPIQ_E_NOMEM && !data && c->live_blocks == 0 && *epiq_message(c)));
            epiq_data_free(c, got ? NULL : data);
        }
        EQ(got, EPIQ_OK);
        EQ(c->live_blocks, 0);
    }
}

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
    const char *const where[] = {"mean", "row:2", path};
    for (int k = 0; k < 3; k++) {
        int got = EPIQ_E_NOMEM;
        for (int fail = 0; got == EPIQ_E_NOMEM && fail < 1000; fail++) {
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
