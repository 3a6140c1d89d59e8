/* test_model_reader.c - the rows of a file that is read in blocks, to predict at. */
#include "epiq_model.h"
#include "fitted_model.h"

static epiq_model *coloured(epiq_ctx *c)
{
    epiq_options o = small();
    epiq_data *data = NULL;
    epiq_model *m = NULL;
    FILE *f = fopen(path, "w");
    fputs("id,colour,\"a, b\",y\n", f);
    for (int i = 0; i < 30; i++) {
        fprintf(f, "%d,\"%s\",%d,%g\n", i, i % 3 ? "re\"\"d" : "two\nlines", i % 7, sin(i));
    }
    fclose(f);
    o.target = "y";
    o.drop = "id";
    o.onehot = "colour";
    o.methods = EPIQ_IF;
    EQ(epiq_data_read(c, path, &o, &data), EPIQ_OK);
    EQ(epiq_fit(c, data, &o, &m), EPIQ_OK);
    STR(epiq_message(c), "");
    epiq_data_free(c, data);
    return m;
}

/* Longer than several windows, with line ends of all kinds, in quotes and out, wherever windows end. */
TEST(rows_come_the_same_through_any_window)
{
    enum { ROWS = 200000, SOME = 777 };
    static const char *const line_ends[] = {"\n", "\r\n", "\r"};
    for (int k = 0; k < 3; k++) {
        epiq_ctx *c = start();
        epiq_model *m = coloured(c);
        FILE *f = fopen(path, "w");
        fprintf(f, "note;\"a, b\";colour%s", line_ends[k]);
        for (int i = 0; i < ROWS; i++) {
            fprintf(f, "\"x;%sy\";%d;%s%s", i % 5 ? "" : line_ends[k], i, i % 3 ? "\"re\"\"d\"" : "\"two\nlines\"",
                    line_ends[k]);
        }
        fputs(line_ends[k], f); /* a blank line at the end is none */
        fclose(f);
        epiq_reader *r = NULL;
        double x[SOME * 3];
        ptrdiff_t count = 0, rows = 0;
        EQ(epiq_reader_open(c, m, path, &r), EPIQ_OK);
        do {
            EQ(r ? epiq_reader_next(c, r, SOME, x, &count) : -1, EPIQ_OK);
            for (ptrdiff_t i = 0; i < count; i++, rows++) {
                int red = rows % 3 != 0;
                if (x[3 * i] != !red || x[3 * i + 1] != red || x[3 * i + 2] != (double)rows) {
                    TEST_FAIL("row %td is %g %g %g\n", rows, x[3 * i], x[3 * i + 1], x[3 * i + 2]);
                    count = 0;
                    break;
                }
            }
        } while (count);
        EQ(rows, ROWS);
        epiq_reader_free(c, r);
        epiq_model_free(c, m);
        end(c);
    }
}

static void reading_fails(epiq_ctx *c, const epiq_model *m, const char *text, ptrdiff_t good, const char *part)
{
    FILE *f = fopen(path, "w");
    fputs("\"a, b\",colour\n", f);
    for (ptrdiff_t i = 0; i < good; i++) {
        fputs("1.25,\"re\"\"d\"\n", f);
    }
    fputs(text, f);
    fclose(f);
    epiq_reader *r = NULL;
    double x[100 * 3];
    ptrdiff_t count = 1;
    int s = epiq_reader_open(c, m, path, &r);
    while (s >= 0 && count) {
        s = epiq_reader_next(c, r, 100, x, &count);
    }
    EQ(s, EPIQ_E_DATA);
    SAYS(epiq_message(c), part);
    epiq_reader_free(c, r);
}

TEST(a_bad_cell_far_down_is_named)
{
    epiq_ctx *c = start();
    epiq_model *m = coloured(c);
    reading_fails(c, m, "1,red?\n", 300000, ":300002:2:");
    reading_fails(c, m, "one,\"re\"\"d\"\n", 300000, ":300002:1:");
    reading_fails(c, m, ",\"re\"\"d\"\n", 300000, ":300002:1:");
    reading_fails(c, m, "1\n", 300000, "300002");
    reading_fails(c, m, "1,\"red\n", 300000, "300002");
    reading_fails(c, m, "\n1,red\n", 300000, "300002");
    reading_fails(c, m, "", 0, NULL);
    epiq_reader *r;
    FILE *f = fopen(path, "w");
    fputs("a,colour\n1,red\n", f);
    fclose(f);
    EQ(epiq_reader_open(c, m, path, &r), EPIQ_E_DATA);
    SAYS(epiq_message(c), "\"a, b\"");
    EQ(epiq_reader_open(c, m, "/nonexistent", &r), EPIQ_E_FILE);
    TRUE(!r);
    epiq_model_free(c, m);
    end(c);
}

TEST(arrays_are_read_in_blocks_too)
{
    epiq_ctx *c = start();
    epiq_options o = small();
    o.methods = EPIQ_IF;
    epiq_model *m = fitted(c, N, &o, NULL);
    FILE *f = fopen(path, "wb");
    char header[128];
    memset(header, ' ', sizeof header);
    int used = snprintf(header, sizeof header,
                        "\x93NUMPY%c%c%c%c{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }", 1, 0, 118, 0,
                        POINTS, D);
    header[6] = 1, header[7] = 0, header[8] = 118, header[9] = 0, header[used] = ' ', header[127] = '\n';
    fwrite(header, 1, sizeof header, f);
    fwrite(AT, sizeof *AT, POINTS * D, f);
    fclose(f);
    epiq_reader *r = NULL;
    double x[POINTS * D];
    ptrdiff_t count = 1, rows = 0;
    EQ(epiq_reader_open(c, m, path, &r), EPIQ_OK);
    STR(epiq_message(c), "");
    while (r && count && epiq_reader_next(c, r, 64, x + rows * D, &count) >= 0) {
        rows += count;
    }
    EQ(rows, POINTS);
    EQ(memcmp(x, AT, sizeof AT), 0);
    epiq_reader_free(c, r);
    epiq_model_free(c, m);
    end(c);
}
