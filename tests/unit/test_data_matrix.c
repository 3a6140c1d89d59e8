/* epiq_matrix_read: CSV with and without a header, NPY of every type, order and shape it takes, what is mapped and what is
 * converted, and the sentence for everything else. */
#include "allocations.h"
#include "base/base.h"
#include "epiq_combine.h"
#include "test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static epiq_ctx *c;
static epiq_matrix *m;
static char path[64];

static void done(void)
{
    if (c) {
        epiq_matrix_free(c, m);
        EQ(c->live_blocks, 0);
        epiq_ctx_free(c);
    }
    c = NULL, m = NULL;
    unlink(path);
}

static void store(const void *bytes, size_t size)
{
    done();
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    snprintf(path, sizeof path, "/tmp/epiq-matrix-%d", (int)getpid());
    FILE *f = fopen(path, "wb");
    EQ(fwrite(bytes, 1, size, f), size);
    fclose(f);
}

static int read_text(const char *text)
{
    store(text, strlen(text));
    return epiq_matrix_read(c, path, &m);
}

/* An NPY file, format 1, its data at an offset that is a multiple of `align`. */
static int read_npy(const char *descr, const char *fortran, const char *shape, const void *data, size_t size,
                    size_t align)
{
    char file[4096] = "\x93NUMPY\1";
    int length = snprintf(file + 10, 512, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, fortran, shape);
    while ((size_t)(10 + length + 1) % align) {
        file[10 + length++] = ' ';
    }
    file[10 + length++] = '\n';
    file[8] = (char)(length & 255);
    file[9] = (char)(length >> 8);
    memcpy(file + 10 + length, data, size);
    store(file, (size_t)(10 + length) + size);
    return epiq_matrix_read(c, path, &m);
}

static double at(ptrdiff_t i, ptrdiff_t j)
{
    ptrdiff_t k = i * m->columns + j;
    return m->real == EPIQ_FLOAT32 ? (double)((const float *)m->a)[k] : ((const double *)m->a)[k];
}

static void refused(int got, int status, const char *part)
{
    EQ(got, status);
    TRUE(m == NULL);
    SAYS(epiq_message(c), part);
}

TEST(csv_with_and_without_a_header)
{
    EQ(read_text("a,b,c\n1,2,3\n4,5,6\n"), EPIQ_OK);
    EQ(m->rows, 2);
    EQ(m->columns, 3);
    EQ(m->real, EPIQ_FLOAT64);
    STR(m->column[2], "c");
    STR(m->name, path);
    NEAR(at(1, 2), 6, 0);
    EQ(read_text("1,2,3\n4,5,6\n"), EPIQ_OK); /* a line of numbers is a row, */
    EQ(m->rows, 2);
    TRUE(m->column == NULL);
    NEAR(at(0, 0), 1, 0);
    NEAR(at(1, 0), 4, 0);
    EQ(read_text("\xEF\xBB\xBF\"1.5\";2\r\n\"-3\";4e2"),
       EPIQ_OK); /* also behind a mark, in quotes, without a last line end */
    EQ(m->rows, 2);
    EQ(m->columns, 2);
    NEAR(at(0, 0), 1.5, 0);
    NEAR(at(1, 1), 400, 0);
    EQ(read_text("7\n"), EPIQ_OK);
    EQ(m->rows * m->columns, 1);
    EQ(read_text("y\n7\n8\n"), EPIQ_OK);
    EQ(m->rows, 2);
    EQ(m->columns, 1);
    EQ(read_text("x1,2\n3,4\n"), EPIQ_OK); /* a name among numbers makes a header */
    EQ(m->rows, 1);
    STR(m->column[1], "2");
    EQ(read_text("0,1,2\n4,5,6\n"), EPIQ_OK); /* pandas' numbers of columns without a name */
    EQ(m->rows, 1);
    STR(m->column[0], "0");
    NEAR(at(0, 0), 4, 0);
    EQ(read_text("0,1\n4,5\n"), EPIQ_OK); /* of two it may be chance, */
    EQ(m->rows, 2);
    EQ(read_text("0,1,2.0\n4,5,6\n"), EPIQ_OK); /* and these are no whole numbers as it writes them */
    EQ(m->rows, 2);
    done();
}

TEST(text_that_is_no_matrix)
{
    refused(read_text(""), EPIQ_E_DATA, NULL);
    refused(read_text("a,b\n"), EPIQ_E_DATA, NULL);
    refused(read_text("1,nan,3\n4,5,6\n"), EPIQ_E_DATA, ":1:2:"); /* a row that lacks a number is not a header */
    refused(read_text("1,inf\n"), EPIQ_E_DATA, ":1:2:");
    refused(read_text("a,b\n1,x\n"), EPIQ_E_DATA, ":2:2:");
    refused(read_text("1,2\n1,x\n"), EPIQ_E_DATA, ":2:2:");
    refused(read_text("a,b\n1,\n"), EPIQ_E_DATA, ":2:2:");
    refused(read_text("1,2\n3\n"), EPIQ_E_DATA, NULL);
    refused(read_text("a,b\n3\n"), EPIQ_E_DATA, NULL);
    refused(read_text(",a\n0,3\n"), EPIQ_E_DATA, "column 1");
    refused(read_text("a,a\n0,3\n"), EPIQ_E_DATA, "\"a\"");
    refused(read_text("PK\3\4"), EPIQ_E_DATA, NULL);
    store("", 0);
    unlink(path);
    refused(epiq_matrix_read(c, path, &m), EPIQ_E_FILE, NULL);
    refused(epiq_matrix_read(c, "/", &m), EPIQ_E_FILE, NULL);
    done();
}

TEST(arrays_of_this_machine_are_mapped)
{
    const double d[] = {1, 2, 3, 4, 5, 6};
    const float f[] = {1, 2, 3, 4, 5, 0.1f};
    EQ(read_npy("<f8", "False", "(3, 2)", d, sizeof d, 64), EPIQ_OK);
    EQ(m->rows, 3);
    EQ(m->columns, 2);
    EQ(m->real, EPIQ_FLOAT64);
    TRUE(m->column == NULL);
    NEAR(at(2, 1), 6, 0);
    EQ(c->live_blocks, 1); /* the matrix, and not its numbers */
    EQ(read_npy("<f4", "False", "(3, 2)", f, sizeof f, 64), EPIQ_OK);
    EQ(m->real, EPIQ_FLOAT32);
    NEAR(at(2, 1), (double)0.1f, 0);
    EQ(c->live_blocks, 1);
    EQ(read_npy("<f8", "False", "(6,)", d, sizeof d, 16), EPIQ_OK); /* one dimension is a column, */
    EQ(m->rows, 6);
    EQ(m->columns, 1);
    EQ(c->live_blocks, 1);
    EQ(read_npy("<f8", "True", "(6, 1)", d, sizeof d, 64), EPIQ_OK); /* and that has one order only */
    EQ(c->live_blocks, 1);
    EQ(read_npy("<f8", "False", "(3, 2)", d, sizeof d, 1), EPIQ_OK); /* where doubles may lie odd: converted */
    NEAR(at(2, 1), 6, 0);
    done();
}

TEST(other_arrays_are_converted)
{
    const double d[] = {1, 2, 3, 4, 5, 6};
    const unsigned char big[] = {0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0}, bools[] = {1, 0, 0, 1};
    const unsigned char big4[] = {0x3f, 0xc0, 0, 0}, i2[] = {0xff, 0xff, 0, 1}, u8[] = {0, 0, 0, 0, 1, 0, 0, 0};
    EQ(read_npy("<f8", "True", "(3, 2)", d, sizeof d, 64), EPIQ_OK); /* columns 1 2 3 and 4 5 6 */
    NEAR(at(0, 1), 4, 0);
    NEAR(at(2, 0), 3, 0);
    EQ(c->live_blocks, 2);
    EQ(read_npy(">f8", "False", "(1, 2)", big, sizeof big, 64), EPIQ_OK);
    NEAR(at(0, 0), 1.5, 0);
    NEAR(at(0, 1), -2, 0);
    EQ(read_npy(">f4", "False", "(1, 1)", big4, sizeof big4, 64), EPIQ_OK);
    NEAR(at(0, 0), 1.5, 0);
    EQ(m->real, EPIQ_FLOAT64);
    EQ(read_npy("<i2", "False", "(2,)", i2, sizeof i2, 64), EPIQ_OK);
    NEAR(at(0, 0), -1, 0);
    NEAR(at(1, 0), 256, 0);
    EQ(read_npy("<u8", "False", "(1,)", u8, sizeof u8, 64), EPIQ_OK);
    NEAR(at(0, 0), 4294967296.0, 0);
    EQ(read_npy("|b1", "False", "(2, 2)", bools, sizeof bools, 64), EPIQ_OK);
    NEAR(at(1, 1), 1, 0);
    done();
}

TEST(arrays_that_are_no_matrix)
{
    const double d[] = {1, 2, 3, 4, 5, 6};
    refused(read_npy("<f8", "False", "(2, 3)", d, 40, 64), EPIQ_E_DATA, "8 bytes");
    refused(read_npy("<f8", "False", "()", d, 8, 64), EPIQ_E_DATA, NULL);
    refused(read_npy("<f8", "False", "(1, 2, 3)", d, sizeof d, 64), EPIQ_E_DATA, NULL);
    refused(read_npy("<f8", "False", "(5, 0)", d, 0, 64), EPIQ_E_DATA, NULL);
    refused(read_npy("<c16", "False", "(1, 3)", d, sizeof d, 64), EPIQ_E_DATA, "\"float64\"");
    refused(read_npy("<f8", "False", "(4611686018427387904, 4)", d, sizeof d, 64), EPIQ_E_DATA, "8 bytes");
    char cut[] = "\x93NUMPY\1\0\xff\xff{'descr";
    store(cut, sizeof cut);
    refused(epiq_matrix_read(c, path, &m), EPIQ_E_DATA, NULL);
    store("\x93NUMPY", 6);
    refused(epiq_matrix_read(c, path, &m), EPIQ_E_DATA, NULL);
    done();
}

/* A pipe cannot be mapped, and what is taken from it is gone. */
TEST(pipes_are_read)
{
    store("", 0);
    unlink(path);
    EQ(mkfifo(path, 0600), 0);
    char command[160];
    snprintf(command, sizeof command, "printf '1,2\\n3,4\\n' > %s &", path);
    EQ(system(command), 0);
    EQ(epiq_matrix_read(c, path, &m), EPIQ_OK);
    EQ(m->rows, 2);
    NEAR(at(1, 0), 3, 0);
    done();
}

TEST(every_allocation_may_fail)
{
    const double d[] = {1, 2, 3, 4};
    for (int way = 0; way < 4; way++) {
        switch (way) { /* each writes a file and reads it once */
        case 0:
            read_text("a,b\n1,2\n3,4\n");
            break;
        case 1:
            read_text("1,2\n3,4\n");
            break;
        default:
            read_npy("<f8", way == 2 ? "False" : "True", "(2, 2)", d, sizeof d, 64);
        }
        epiq_matrix_free(c, m);
        m = NULL;
        FAIL_EACH(c, epiq_matrix_read(c, path, &m), m == NULL, 1);
        done();
    }
}
