/* test_data_arrays.c - the readers' inner parts: the header and the numbers of an NPY array, UTF-8, names that were meant. */
#include "common/utf8.h"
#include "data/table.h"
#include "test.h"

static epiq_ctx *ctx(void)
{
    epiq_ctx *c;
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    return c;
}

/* An NPY file with this header, as many zero bytes behind it, and what is found in it. */
static int open_header(epiq_ctx *c, int version, const char *header, size_t zeros, epiqp_array *a)
{
    static unsigned char bytes[1024];
    size_t length = strlen(header), at = version >= 2 ? 12 : 10;
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (unsigned char)version;
    bytes[8] = (unsigned char)(length & 255);
    bytes[9] = (unsigned char)(length >> 8);
    memcpy(bytes + at, header, length);
    epiqp_clear(c);
    *a = (epiqp_array){0};
    return epiqp_array_open(c, "a.npy", bytes, (ptrdiff_t)(at + length + zeros), a);
}

TEST(headers_may_be_written_in_any_way_python_reads)
{
    static const char *const good[] = {
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n",
        "{\"shape\": (2,3), \"descr\": \"<f8\", \"fortran_order\": False}",
        " {\n'fortran_order' : False,'descr':'=f8' , 'shape' :( 2 , 3 , )}",
        "{'descr': 'f8', 'fortran_order': False, 'shape': (2L, 3L)}",
    };
    epiq_ctx *c = ctx();
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        epiqp_array a;
        EQ(open_header(c, 1, good[k], 48, &a), EPIQ_OK);
        EQ(a.rows, 2);
        EQ(a.columns, 3);
        EQ(a.size, 8);
        TRUE(!a.fortran && a.big != epiqp_little_endian());
    }
    epiq_ctx_free(c);
}

TEST(headers_that_are_none_are_refused)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{",
        "{descr: '<f8'}",
        "{'descr' '<f8'}",
        "{'descr': <f8, 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f8",
        "{'descr': '<f8' 'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f8', 'fortran_order': Maybe, 'shape': (2, 3)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 6}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2 3)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, x)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 9223372036854775808)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': "
        "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
        "1,1,1)}",
        "{'descr': '<f8', 'fortran_order': False}",
        "{'descr': '<f8', 'shape': (2, 3)}",
        "{'fortran_order': False, 'shape': (2, 3)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'a key longer than any that is known': 1}",
        "{'descr': 'a type longer than any', 'fortran_order': False, 'shape': (2, 3)}",
    };
    epiq_ctx *c = ctx();
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        epiqp_array a;
        EQ(open_header(c, 1 + (int)k % 3, bad[k], 48, &a), EPIQ_E_DATA);
        SENTENCE(epiq_message(c));
    }
    epiq_ctx_free(c);
}

TEST(arrays_of_other_things_are_named)
{
    static const struct {
        const char *header, *part;
    } bad[] = {
        {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,)}", NULL},
        {"{'descr': ('<f8', (2,)), 'fortran_order': False, 'shape': (2,)}", NULL},
        {"{'descr': {'names': ['a']}, 'fortran_order': False, 'shape': (2,)}", NULL},
        {"{'descr': '', 'fortran_order': False, 'shape': (2,)}", NULL},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (2,)}", "<f16"},
        /* rows by columns is a number, in bytes it is none */
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952, 1)}", "48 bytes"},
    };
    epiq_ctx *c = ctx();
    epiqp_array a;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        EQ(open_header(c, 1, bad[k].header, 48, &a), EPIQ_E_DATA);
        SAYS(epiq_message(c), bad[k].part);
    }
    EQ(open_header(c, 0, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}", 48, &a), EPIQ_E_DATA);
    SENTENCE(epiq_message(c));
    epiq_ctx_free(c);
}

TEST(half_precision_is_exact)
{
    static const struct {
        uint16_t bits;
        double value;
    } known[] = {
        {0x0000, 0},
        {0x8000, 0},
        {0x3c00, 1},
        {0xc000, -2},
        {0x3555, 1365.0 / 4096}, /* the nearest to 1/3 */
        {0x7bff, 65504},
        {0x0001, 0x1p-24},
        {0x83ff, -1023 * 0x1p-24},
        {0x0400, 0x1p-14},
        {0x7c00, INFINITY},
        {0xfc00, -INFINITY},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        for (int big = 0; big < 2; big++) {
            const unsigned char bytes[] = {(unsigned char)(known[k].bits >> 8 * big),
                                           (unsigned char)(known[k].bits >> 8 * !big)};
            epiqp_array a = {.data = bytes, .rows = 1, .columns = 1, .type = 'f', .size = 2, .big = big};
            double v = epiqp_array_value(&a, 0, 0);
            TRUE(v == known[k].value && !(v == 0 && signbit(v)));
            TRUE(!epiqp_array_native(&a)); /* it must be converted */
        }
    }
    const unsigned char nan_bytes[] = {0x01, 0x7c};
    epiqp_array a = {.data = nan_bytes, .rows = 1, .columns = 1, .type = 'f', .size = 2};
    TRUE(isnan(epiqp_array_value(&a, 0, 0)));
}

/* ---- text ---- */

TEST(only_well_formed_utf8_is_kept)
{
    static const struct {
        const char *text, *kept;
    } known[] = {
        {"caf\xC3\xA9", "caf\xC3\xA9"},
        {"\xE0\xA0\x80\xED\x9F\xBF\xEF\xBF\xBF", "\xE0\xA0\x80\xED\x9F\xBF\xEF\xBF\xBF"}, /* U+0800, D7FF, FFFF */
        {"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF", "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"},         /* U+10000 and 10FFFF */
        {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD"},                                         /* longer than needed */
        {"\xE0\x9F\xBF", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},                 /* a surrogate */
        {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"}, /* past U+10FFFF */
        {"\xF5", "\xEF\xBF\xBD"},
        {"\xE2\x82x", "\xEF\xBF\xBD\xEF\xBF\xBDx"}, /* cut off by another character */
        {"\xE2\x82", "\xEF\xBF\xBD\xEF\xBF\xBD"},   /* by the end */
    };
    epiq_ctx *c = ctx();
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        epiqp_arena arena = {0};
        ptrdiff_t length = (ptrdiff_t)strlen(known[k].text);
        EQ(epiqp_text_is_clean(known[k].text, length), strcmp(known[k].text, known[k].kept) == 0);
        STR(epiqp_text_clean(c, &arena, known[k].text, length), known[k].kept);
        epiqp_arena_free(c, &arena);
    }
    epiq_ctx_free(c);
}

TEST(what_is_shown_cannot_steer_a_terminal)
{
    char shown[16];
    STR(epiqp_text_show(shown, sizeof shown, "a\033[2Jb", 6), "a?[2Jb");
    STR(epiqp_text_show(shown, sizeof shown, "\xC2\x9B\x31m", 4), "?1m"); /* CSI in one character */
    STR(epiqp_text_show(shown, sizeof shown, "\xC2\xA9 me", 5), "\xC2\xA9 me");
    STR(epiqp_text_show(shown, sizeof shown, "a\xFF", 2), "a?");
    STR(epiqp_text_show(shown, sizeof shown, "123456789012345678", 18), "123456789012...");
}

TEST(names_that_were_meant_are_near)
{
    char longer[80];
    memset(longer, 'x', sizeof longer);
    longer[79] = '\0';
    EQ(epiqp_edit_distance("strength", "Strength"), 0);
    EQ(epiqp_edit_distance("strength", "strenght"), 1); /* two letters changed places */
    EQ(epiqp_edit_distance("ab", "ba"), 1);
    EQ(epiqp_edit_distance("foo", "nox"), 2);
    EQ(epiqp_edit_distance("age", "ages"), 1);
    EQ(epiqp_edit_distance("age", "water"), 3);
    EQ(epiqp_edit_distance("", "water"), 5);
    EQ(epiqp_edit_distance("water", ""), 5);
    EQ(epiqp_edit_distance(longer, longer), EPIQP_EDITS_MOST); /* too long to be compared */
    EQ(epiqp_edit_distance("x", longer), EPIQP_EDITS_MOST);
    EQ(epiqp_edits_likely("x2"), 0); /* x1 is another feature, no slip of the finger */
    EQ(epiqp_edits_likely("foo"), 1);
    EQ(epiqp_edits_likely("members"), 1);
    EQ(epiqp_edits_likely("strength"), 2);
    EQ(epiqp_edits_likely("price-training"), 3);
}
