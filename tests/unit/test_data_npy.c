/* test_data_npy.c - tables in NPY and NPZ, whole, damaged or cut off, and points in them. */
#include "allocations.h"
#include "read_rows.h"

#include <zlib.h>

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

static void npy_refused(const unsigned char *bytes, size_t size, const char *part)
{
    epiq_options o = options();
    epiq_data *data = read_bytes(bytes, size, &o);
    EQ(status, EPIQ_E_DATA);
    SAYS(epiq_message(c), part);
    epiq_data_free(c, data);
}

TEST(npy_that_is_no_table_is_refused)
{
    unsigned char b[512];
    npy_refused(b, npy(b, 1, "<f8", false, "(6,)", 6, 1), NULL);
    npy_refused(b, npy(b, 1, "<f8", false, "(6, 1)", 6, 1), NULL);
    npy_refused(b, npy(b, 1, "<f8", false, "()", 1, 1), NULL);
    npy_refused(b, npy(b, 1, "<f8", false, "(2, 3, 1)", 2, 3), NULL);
    npy_refused(b, npy(b, 1, "<f8", false, "(0, 3)", 0, 3), NULL);
    npy_refused(b, npy(b, 1, "<f8", false, "(3, 0)", 0, 3), "empty");
    npy_refused(b, npy(b, 1, "<f8", false, "(1, 3)", 1, 3), "2 rows");
    npy_refused(b, npy(b, 1, "<c8", false, "(2, 3)", 2, 3), NULL);
    npy_refused(b, npy(b, 1, "|O8", false, "(2, 3)", 2, 3), "|O8");
    npy_refused(b, npy(b, 1, "<f8", false, "(2, 4)", 2, 3), "48 bytes");
    npy_refused(b, npy(b, 1, "<f8", false, "(2, 2)", 2, 3), "48 bytes");
    npy_refused(b, npy(b, 1, "<f8", false, "(4611686018427387904, 4)", 2, 3), "48 bytes");
    npy_refused(b, npy(b, 1, "<f8", false, "(99999999999999999999, 4)", 2, 3), NULL);
    npy_refused(b, npy(b, 1, "<f8", false, "(0, 99999999999)", 0, 3), "columns");
    npy_refused(b, npy(b, 1, "<f8", false, "(-2, 3)", 2, 3), NULL);
    npy_refused(b, npy(b, 4, "<f8", false, "(2, 3)", 2, 3), NULL);
    size_t size = npy(b, 1, "<f8", false, "(2, 3)", 2, 3);
    memcpy(b + 10, "{'descr': [('a','<f8')]", 23);
    npy_refused(b, size, "structured");
    size = npy(b, 1, "<f8", false, "(2, 3)", 2, 3);
    double special[] = {NAN, -INFINITY};
    memcpy(b + size - 16, &special[0], 8);
    npy_refused(b, size, "row 2, column 2");
    memcpy(b + size - 40, &special[1], 8);
    npy_refused(b, size, "row 1, column 2");
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
    npy_refused(z.bytes, z.size, NULL);
    z = (zip){0};
    zip_add(&z, "sheet.xml", (const unsigned char *)"<a/>", 4, true);
    zip_end(&z);
    npy_refused(z.bytes, z.size, NULL);
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
    npy_refused(z.bytes, z.size, "\"x2\"");
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
    SAYS(epiq_message(c), "3 columns");
    put_bytes(b, npy(b, 1, "<f8", false, "(3,)", 3, 1));
    EQ(epiq_points_add(c, p, path), EPIQ_E_DATA);
    epiq_points_free(c, p);
    epiq_data_free(c, data);
}

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
        epiq_data *data = NULL;
        FAIL_EACH(c,
                  kind == 3   ? epiq_data_new(c, 2, 2, x, y, NULL, &same, &data)
                  : kind == 2 ? epiq_data_new(c, 2, 2, x, y, group, &o, &data)
                              : epiq_data_read(c, path, kind ? &oz : &o, &data),
                  !data, 1);
        epiq_data_free(c, data);
        EQ(c->live_blocks, 0);
    }
}
