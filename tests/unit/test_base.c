/* Options, memory, checksums, random streams. */
#include "base/base.h"
#include "rng/rng.h"
#include "test.h"

#include <locale.h>

static epiq_ctx *ctx(void)
{
    epiq_ctx *c;
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    return c;
}

TEST(defaults_are_the_table_s_and_pass_its_checks)
{
    epiq_ctx *c = ctx();
    epiq_options o = epiq_options_default();
    EQ(epiqp_options_check(c, &o), EPIQ_OK);
    EQ(o.members, 50);
    EQ(o.batches, 5);
    EQ(o.width, 1024);
    EQ(o.methods, EPIQ_IF | EPIQ_EV | EPIQ_BA);
    NEAR(o.lambda, 1e-3, 0);
    NEAR(o.level, 0.95, 0);
    for (ptrdiff_t i = 0; epiq_options_info(i); i++) { /* every default reads back as itself */
        const epiq_option_info *info = epiq_options_info(i);
        char text[64];
        EQ(epiq_options_text(&o, i, text, sizeof text), EPIQ_OK);
        if (*info->default_text) {
            epiq_options again = o;
            EQ(epiq_options_set(c, &again, info->name, text), EPIQ_OK);
            EQ(memcmp(&again, &o, sizeof o), 0);
        }
    }
    epiq_ctx_free(c);
}

TEST(a_bad_value_names_itself_and_changes_nothing)
{
    epiq_ctx *c = ctx();
    epiq_options o = epiq_options_default();
    const char *bad[][2] = {{"members", "1"},
                            {"members", "2.5"},
                            {"members", ""},
                            {"members", "1e99"},
                            {"level", "1"},
                            {"level", "0"},
                            {"lambda", "-1"},
                            {"lambda", "nan"},
                            {"lambda", "inf"},
                            {"lambda", "0"},
                            {"lambda", "1e-3x"},
                            {"engine", "neural"},
                            {"methods", "if,xx"},
                            {"methods", ""},
                            {"methods", "auto,if"},
                            {"seed", "-1"},
                            {"seed", "1.5"},
                            {"bias", "-1"},
                            {"target", ""},
                            {"scale", "log"},
                            {"threads", "-1"},
                            {"nonsense", "1"},
                            {"seed", "18446744073709551616"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        epiq_options before = o;
        EQ(epiq_options_set(c, &o, bad[i][0], bad[i][1]), EPIQ_E_USAGE);
        CONTAINS(epiq_message(c), bad[i][0]);
        EQ(memcmp(&o, &before, sizeof o), 0);
    }
    EQ(epiq_options_set(c, &o, "seed", "18446744073709551615"), EPIQ_OK);
    TRUE(o.seed == UINT64_MAX);
    EQ(epiq_options_set(c, &o, "methods", "ba,if"), EPIQ_OK);
    EQ(o.methods, EPIQ_IF | EPIQ_BA);
    epiq_ctx_free(c);
}

TEST(values_set_in_the_struct_are_checked_too)
{
    epiq_ctx *c = ctx();
    epiq_options o = epiq_options_default();
    o.lambda = NAN;
    EQ(epiqp_options_check(c, &o), EPIQ_E_USAGE);
    o = epiq_options_default();
    o.engine = 7;
    EQ(epiqp_options_check(c, &o), EPIQ_E_USAGE);
    o = epiq_options_default();
    o.methods = 0;
    EQ(epiqp_options_check(c, &o), EPIQ_E_USAGE);
    o = epiq_options_default();
    o.time = 3;
    EQ(epiqp_options_check(c, &o), EPIQ_E_USAGE);
    epiq_ctx_free(c);
}

TEST(every_status_has_a_text)
{
#define KNOWN(name, value, text) STR(epiq_status_text(name), text);
    EPIQ_STATUS_LIST(KNOWN)
#undef KNOWN
    STR(epiq_status_text(99), "unknown status");
}

TEST(bytes_come_in_units)
{
    epiq_ctx *c = ctx();
    epiq_options o = epiq_options_default();
    const struct {
        const char *text;
        ptrdiff_t bytes;
    } good[] = {
        {"0", 0}, {"2000000000", 2000000000}, {"3K", 3 << 10}, {"512m", 512 << 20}, {"16G", (ptrdiff_t)16 << 30}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        EQ(epiq_options_set(c, &o, "mem-limit", good[i].text), EPIQ_OK);
        EQ(o.mem_limit, good[i].bytes);
    }
    /* the last two are more than there are addresses for, before and after the unit */
    static const char *const bad[] = {
        "", "G", "-1", " 1", "1.5G", "5T", "5MB", "99999999999999999999", "9007199254740992K"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        EQ(epiq_options_set(c, &o, "mem-limit", bad[i]), EPIQ_E_USAGE);
        CONTAINS(epiq_message(c), "it must be a number of bytes, such as 2000000000, 512M or 16G");
        EQ(o.mem_limit, (ptrdiff_t)16 << 30);
    }
    epiq_ctx_free(c);
}

TEST(options_that_contradict_each_other_are_named)
{
    const struct {
        const char *option[3][2], *words; /* an empty name: no more */
    } bad[] = {
        {{{"probes", "15"}}, "at least 16"},
        {{{"sweep", "1"}}, "at least 2 values"},
        {{{"time", "1"}}, "stopping time of engine infinite"},
        {{{"time", "1"}, {"engine", "infinite"}, {"kernel", "empirical"}}, "time needs the population kernel"},
        {{{"time", "1"}, {"engine", "infinite"}, {"solver", "divided"}},
         "solver divided has no factor of all rows, which --time"},
        {{{"hbar", "ensemble"}, {"engine", "infinite"}}, "hbar ensemble needs trained members"},
        {{{"hbar", "ensemble"}, {"methods", "if,ba"}}, "hbar ensemble needs trained members"},
        {{{"hbar", "ensemble"}, {"engine", "linear"}, {"solver", "iterative"}},
         "solver iterative has no factor of all rows, which --hbar ensemble"},
        {{{"kernel", "empirical"}, {"methods", "auto"}, {"solver", "iterative"}}, "which --kernel empirical needs"},
    };
    epiq_ctx *c = ctx();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        epiq_options o = epiq_options_default();
        for (int k = 0; k < 3 && bad[i].option[k][0]; k++) { /* each is fine by itself */
            EQ(epiq_options_set(c, &o, bad[i].option[k][0], bad[i].option[k][1]), EPIQ_OK);
        }
        EQ(epiqp_options_check(c, &o), EPIQ_E_USAGE);
        CONTAINS(epiq_message(c), bad[i].words);
        epiqp_clear(c);
    }
    epiq_options o = epiq_options_default(); /* who does not use IF needs no factor for it */
    EQ(epiq_options_set(c, &o, "kernel", "empirical"), EPIQ_OK);
    EQ(epiq_options_set(c, &o, "methods", "ev,ba"), EPIQ_OK);
    EQ(epiq_options_set(c, &o, "solver", "iterative"), EPIQ_OK);
    EQ(epiqp_options_check(c, &o), EPIQ_OK);
    epiq_ctx_free(c);
}

TEST(options_are_told_only_where_they_fit)
{
    epiq_options o = epiq_options_default();
    char text[16];
    o.methods = EPIQ_AUTO;
    o.target = "a target longer than sixteen bytes";
    ptrdiff_t target = 0, methods = 0;
    for (ptrdiff_t i = 0; epiq_options_info(i); i++) {
        target = strcmp(epiq_options_info(i)->name, "target") == 0 ? i : target;
        methods = strcmp(epiq_options_info(i)->name, "methods") == 0 ? i : methods;
    }
    EQ(epiq_options_text(&o, methods, text, sizeof text), EPIQ_OK);
    STR(text, "auto");
    EQ(epiq_options_text(&o, target, text, sizeof text), EPIQ_E_USAGE);
    EQ(epiq_options_text(&o, -1, text, sizeof text), EPIQ_E_USAGE);
    EQ(epiq_options_text(&o, 1000, text, sizeof text), EPIQ_E_USAGE);
    TRUE(!epiq_options_info(-1) && !epiq_options_info(1000));
}

/* Model files and the keys of state files hold numbers as text: another locale must find them. */
TEST(numbers_have_a_point_with_decimal_commas)
{
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8")) {
        puts("SKIPPED: decimal commas: no locale de_DE.UTF-8 (tests/commas.sh makes one)");
        return;
    }
    epiq_ctx *c = ctx();
    epiq_options o = epiq_options_default(), again = o;
    char text[64];
    o.lambda = 0.1;
    for (ptrdiff_t i = 0; epiq_options_info(i); i++) {
        const char *name = epiq_options_info(i)->name;
        if (strcmp(name, "lambda") == 0) {
            EQ(epiq_options_text(&o, i, text, sizeof text), EPIQ_OK);
            STR(text, "0.10000000000000001");
            EQ(epiq_options_set(c, &again, name, text), EPIQ_OK);
            NEAR(again.lambda, o.lambda, 0);
        }
    }
    snprintf(text, sizeof text, "%g %a", 1.5, 1.5);
    EQ(epiqp_plain_numbers(text), 12);
    STR(text, "1.5 0x1.8p+0");
    setlocale(LC_NUMERIC, "C");
    epiq_ctx_free(c);
}

TEST(sizes_that_are_none_get_no_memory)
{
    epiq_ctx *c = ctx();
    epiqp_arena a = {0};
    TRUE(!epiqp_alloc(c, -1, 8));
    TRUE(!epiqp_alloc(c, PTRDIFF_MAX, 2)); /* a size, but with its alignment none */
    TRUE(!epiqp_arena_alloc(c, &a, -1, 8));
    TRUE(!epiqp_arena_alloc(c, &a, PTRDIFF_MAX, 8));
    TRUE(!epiqp_arena_alloc(c, &a, PTRDIFF_MAX, 1)); /* no number of bytes beside their own */
    CONTAINS(epiq_message(c), "no memory for -1 items of 8 bytes");
    EQ(c->live_blocks, 0);
    epiq_ctx_free(c);
}

TEST(any_number_of_warnings_is_kept_in_order)
{
    epiq_ctx *c = ctx();
    epiqp_arena a = {0};
    epiqp_warnings w = {.arena = &a};
    for (int k = 0; k < 40; k++) {
        EQ(epiqp_warn(c, &w, "code", "number %d", k), EPIQ_OK);
    }
    EQ(w.count, 40);
    for (int k = 0; k < 40; k++) {
        char text[32];
        snprintf(text, sizeof text, "number %d", k);
        STR(w.list[k].message, text);
    }
    epiqp_arena_free(c, &a);
    epiq_ctx_free(c);
}

TEST(stopping_is_stronger_than_finishing)
{
    epiq_ctx *c = ctx();
    EQ(epiqp_report(c, "rows", 1, 2), EPIQ_OK);
    epiq_ctx_finish(c);
    TRUE(epiqp_stopping(c) && epiqp_finishing(c));
    epiq_ctx_stop(c);
    TRUE(epiqp_stopping(c) && !epiqp_finishing(c));
    EQ(epiqp_report(c, "rows", 1, 2), EPIQ_E_STOPPED);
    CONTAINS(epiq_message(c), "while working on rows");
    epiqp_go_on(c);
    TRUE(!epiqp_stopping(c));
    epiq_ctx_free(c);
}

TEST(sha256_of_the_standard_s_examples)
{
    const struct {
        const char *text, *sum;
    } known[] = {{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
                 {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
                 {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"}};
    for (size_t i = 0; i < 3; i++) {
        epiqp_sha256 s;
        char hex[65];
        epiqp_sha256_start(&s);
        for (const char *p = known[i].text; *p; p++) { /* byte by byte: block borders are crossed in pieces */
            epiqp_sha256_add(&s, p, 1);
        }
        epiqp_sha256_end(&s, hex);
        STR(hex, known[i].sum);
    }
}

TEST(memory_is_counted_and_can_be_made_to_fail)
{
    epiq_ctx *c = ctx();
    void *p = epiqp_alloc(c, 10, 8);
    TRUE(((uintptr_t)p & 63) == 0);
    EQ(c->live_blocks, 1);
    TRUE(epiqp_alloc(c, PTRDIFF_MAX, 8) == NULL); /* overflow, not a small block */
    CONTAINS(epiq_message(c), "memory");
    epiqp_free(c, p);
    EQ(c->live_blocks, 0);
    c->fail_after = 1;
    epiqp_arena a = {0};
    TRUE(epiqp_arena_alloc(c, &a, 5, 1) != NULL);
    TRUE(epiqp_arena_alloc(c, &a, 5, 1) == NULL);
    epiqp_arena_free(c, &a);
    EQ(c->live_blocks, 0);
    epiq_ctx_free(c);
}

TEST(a_long_sentence_keeps_both_ends)
{
    epiq_ctx *c = ctx();
    char name[5000 + 1];
    for (int shift = 0; shift < 4; shift++) { /* wherever the cut falls in a character of two bytes */
        memset(name, 'x', (size_t)shift);
        for (int i = shift; i + 1 < 5000; i += 2) {
            memcpy(name + i, "\xC3\xA9", 3);
        }
        epiqp_clear(c);
        EQ(epiqp_fail(c, EPIQ_E_FILE, "%s: no such file; name another", name), EPIQ_E_FILE);
        const char *said = epiq_message(c);
        TRUE(strlen(said) > 1000 && strlen(said) < sizeof c->message);
        CONTAINS(said, "\xC3\xA9...\xC3\xA9");
        STR(said + strlen(said) - 27, ": no such file; name another" + 1);
    }
    epiqp_clear(c);
    epiqp_fail(c, EPIQ_E_FILE, "%1023s", "x"); /* just fits */
    EQ(strlen(epiq_message(c)), 1023);
    epiq_ctx_free(c);
}

TEST(philox_gives_the_published_numbers)
{
    /* Random123's known-answer file, philox4x64-10 with counter 0 and key 0, first word 16554d9eca36314c: its top 52
     * bits */
    double u;
    epiqp_uniforms((epiqp_stream){0, 0, 0}, 1, &u);
    NEAR(u, ((double)(0x16554d9eca36314cULL >> 12) + 0.5) * 0x1p-52, 0);
}

TEST(normals_have_the_moments_of_normals_and_streams_differ)
{
    enum { N = 200000 };
    static double z[N], other[N];
    epiqp_normals((epiqp_stream){1, EPIQP_FOR_MEMBER, 0}, N, z);
    epiqp_normals((epiqp_stream){1, EPIQP_FOR_MEMBER, 1}, N, other);
    double m1 = 0, m2 = 0, m4 = 0, cross = 0;
    for (int i = 0; i < N; i++) {
        m1 += z[i] / N;
        m2 += z[i] * z[i] / N;
        m4 += pow(z[i], 4) / N;
        cross += z[i] * other[i] / N;
    }
    double se = 1 / sqrt(N); /* four standard errors of each: sd 1, sqrt 2, sqrt 96, 1 */
    NEAR(m1, 0, 4 * se);
    NEAR(m2, 1, 4 * se * sqrt(2));
    NEAR(m4, 3, 4 * se * sqrt(96));
    NEAR(cross, 0, 4 * se);
    double head[7];
    epiqp_normals((epiqp_stream){1, EPIQP_FOR_MEMBER, 0}, 7,
                  head); /* a number does not depend on how many are asked for */
    EQ(memcmp(head, z, sizeof head), 0);
}

TEST(a_shuffle_is_a_permutation_and_every_place_is_as_likely)
{
    enum { N = 5, ROUNDS = 20000 };
    int at[N][N] = {{0}};
    for (uint64_t r = 0; r < ROUNDS; r++) {
        ptrdiff_t v[N] = {0, 1, 2, 3, 4}, seen = 0;
        epiqp_shuffle((epiqp_stream){7, EPIQP_FOR_SHUFFLE, 0}, r, N, v);
        for (int i = 0; i < N; i++) {
            seen |= (ptrdiff_t)1 << v[i];
            at[i][v[i]]++;
        }
        EQ(seen, 31);
    }
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < N; k++) {
            NEAR(at[i][k], ROUNDS / N, 5 * sqrt(ROUNDS * 0.2 * 0.8)); /* five standard errors, 25 cells */
        }
    }
}
