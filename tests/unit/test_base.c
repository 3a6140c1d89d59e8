/* Options, clusters, memory, checksums, random streams. */
#include "base/base.h"
#include "common/rounded.h"
#include "rng/rng.h"
#include "test.h"
#include "usual.h"

#include <limits.h>
#include <locale.h>
#include <stdlib.h>

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
    EQ(o.width, 0); /* to be chosen */
    EQ(o.methods, EPIQ_AUTO);
    NEAR(o.lambda, 0, 0);
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
        SAYS(epiq_message(c), bad[i][0]);
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
        SAYS(epiq_message(c), "2000000000");
        EQ(o.mem_limit, (ptrdiff_t)16 << 30);
    }
    epiq_ctx_free(c);
}

TEST(options_that_contradict_each_other_are_named)
{
    const struct {
        const char *option[3][2], *part; /* an empty name: no more */
    } bad[] = {
        {{{"probes", "15"}}, "16"},
        {{{"sweep", "1"}}, NULL},
        {{{"time", "1"}}, NULL},
        {{{"time", "1"}, {"engine", "infinite"}, {"kernel", "empirical"}}, NULL},
        {{{"time", "1"}, {"engine", "infinite"}, {"solver", "divided"}}, "time"},
        {{{"hbar", "ensemble"}, {"engine", "infinite"}}, NULL},
        {{{"hbar", "ensemble"}, {"methods", "if,ba"}}, NULL},
        {{{"hbar", "ensemble"}, {"engine", "linear"}, {"solver", "iterative"}}, "hbar ensemble"},
        {{{"kernel", "empirical"}, {"methods", "auto"}, {"solver", "iterative"}}, "kernel empirical"},
    };
    epiq_ctx *c = ctx();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        epiq_options o = epiq_options_default();
        for (int k = 0; k < 3 && bad[i].option[k][0]; k++) { /* each is fine by itself */
            EQ(epiq_options_set(c, &o, bad[i].option[k][0], bad[i].option[k][1]), EPIQ_OK);
        }
        EQ(epiqp_options_check(c, &o), EPIQ_E_USAGE);
        SAYS(epiq_message(c), bad[i].part);
        epiqp_clear(c);
    }
    epiq_options o = epiq_options_default(); /* who does not use IF needs no factor for it */
    EQ(epiq_options_set(c, &o, "kernel", "empirical"), EPIQ_OK);
    EQ(epiq_options_set(c, &o, "methods", "ev,ba"), EPIQ_OK);
    EQ(epiq_options_set(c, &o, "solver", "iterative"), EPIQ_OK);
    EQ(epiqp_options_check(c, &o), EPIQ_OK);
    epiq_ctx_free(c);
}

/* Another value than its default. */
static void change(epiq_ctx *c, epiq_options *o, const epiq_option_info *info)
{
    const char *second = info->choices ? strchr(info->choices, '|') + 1 : "ev";
    const double value = strtod(info->default_text, NULL);
    char other[64];
    if (strcmp(info->name, "preset") == 0) { /* without those that it sets */
        o->preset = EPIQ_PRESET_PAPER;
        return;
    }
    if (!*info->default_text) {
        EQ(epiq_options_set(c, o, info->name, "words"), EPIQ_OK);
        return;
    }
    if (strcmp(info->metavar, "X") == 0) {
        snprintf(other, sizeof other, "%g", value > 0 ? value / 2 : 1);
    } else if (info->choices || strcmp(info->name, "methods") == 0) {
        snprintf(other, sizeof other, "%.*s", (int)strcspn(second, "|"), second);
    } else {
        snprintf(other, sizeof other, "%g", value + 20);
    }
    EQ(epiq_options_set(c, o, info->name, other), EPIQ_OK);
}

TEST(every_option_says_what_it_is_about)
{
    epiq_ctx *c = ctx();
    enum { ALL = 2 * EPIQ_FOR_STUDY - 1 };
    const epiq_options plain = usual_options();
    char key[512], other[512];
    epiqp_options_member_key(&plain, key, sizeof key);
    STR(key, " network blas width 1024 depth 1 lambda 0x1.0624dd2f1a9fcp-10 bias 0x1p+0 0x1p+0 optimizer 0 "
             "lr 0x1.47ae147ae147bp-7 steps 0 batch 32 vary 2 linear 0 seed 1"); /* as state files have it */
    const epiq_option_info *info;
    for (ptrdiff_t i = 0; (info = epiq_options_info(i)); i++) {
        const unsigned scope = epiq_options_scope(i);
        EQ(epiq_options_index(info->name), i);
        TRUE(scope & EPIQ_FOR_ESTIMATE); /* which has them all */
        epiq_options changed = plain, none = plain, copied = plain;
        change(c, &changed, info);
        TRUE(memcmp(&changed, &plain, sizeof plain) != 0);
        epiqp_options_member_key(&changed, other, sizeof other);
        EQ(strcmp(key, other) != 0, (scope & EPIQ_OPTION_MEMBER) != 0);
        epiqp_options_copy(&none, &changed, ALL & ~scope);
        EQ(memcmp(&none, &plain, sizeof plain), 0);
        epiqp_options_copy(&copied, &changed, scope);
        EQ(memcmp(&copied, &changed, sizeof changed), 0);
        EQ(epiq_options_string(&changed, i) != NULL, !*info->default_text);
        TRUE(!epiq_options_string(&plain, i));
        /* what decides a network belongs to a model of it; what names a file, or differs between ranks, does not */
        TRUE(!(scope & EPIQ_OPTION_MEMBER) || scope & EPIQ_OPTION_MODEL);
        TRUE(!(scope & (EPIQ_OPTION_FILE | EPIQ_OPTION_PROCESS | EPIQ_OPTION_SILENT)) || !(scope & EPIQ_OPTION_MODEL));
        TRUE(!(scope & EPIQ_OPTION_FILE) || !*info->default_text);
    }
    EQ(epiq_options_index("nonsense"), -1);
    EQ(epiq_options_scope(-1), 0);
    EQ(epiq_options_scope(1000), 0);
    TRUE(!epiq_options_string(&plain, -1));
    epiq_ctx_free(c);
}

TEST(what_a_verb_takes_it_does_not_refuse)
{
    static const unsigned VERBS[] = {EPIQ_FOR_FIT, EPIQ_FOR_COMPARE};
    epiq_ctx *c = ctx();
    const epiq_option_info *info;
    int refused = 0;
    for (ptrdiff_t i = 0; (info = epiq_options_info(i)); i++) {
        epiq_options o = epiq_options_default();
        const char *choices = info->choices ? info->choices : strcmp(info->name, "time") == 0 ? "1" : "";
        for (const char *s = choices; *s; s += strcspn(s, "|"), s += *s == '|') {
            char value[64];
            snprintf(value, sizeof value, "%.*s", (int)strcspn(s, "|"), s);
            EQ(epiq_options_set(c, &o, info->name, value), EPIQ_OK);
            for (size_t v = 0; v < 2; v++) {
                bool conflict = epiqp_options_conflict(c, &o, VERBS[v]) != EPIQ_OK;
                /* fit takes some of the choices */
                const bool some = strcmp(info->name, "solver") == 0 || strcmp(info->name, "confidence") == 0;
                TRUE(!conflict || some || !(epiq_options_scope(i) & VERBS[v]));
                refused += conflict;
            }
        }
    }
    EQ(refused, 9); /* fit: time, kernel, two solvers and three intervals of networks; compare: kernel, hbar */
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

TEST(the_text_of_an_option_is_the_context_s_own)
{
    epiq_ctx *c = ctx();
    epiq_options o = epiq_options_default();
    char name[] = "target", value[] = "price, in euro";
    EQ(epiq_options_set(c, &o, name, value), EPIQ_OK);
    memset(name, 'x', sizeof name - 1);
    memset(value, 'x', sizeof value - 1);
    STR(o.target, "price, in euro");
    const char *first = o.target;
    EQ(epiq_options_set(c, &o, "target", "size"), EPIQ_OK); /* one set before may still be in use, in a copy of o */
    STR(first, "price, in euro");
    STR(o.target, "size");
    c->fail_after = 0;
    EQ(epiq_options_set(c, &o, "target", "weight"), EPIQ_E_NOMEM);
    c->fail_after = -1;
    STR(o.target, "size");
    EQ(epiq_options_set(c, &o, "target", ""), EPIQ_E_USAGE);
    STR(o.target, "size");
    EQ(c->live_blocks, 2); /* the two that were set; they end with the context */
    epiq_ctx_free(c);
}

/* ---- a cluster that cannot be ---- */

static int agree_alone(void *user, int status, char *sentence, size_t room)
{
    (void)sentence, (void)room;
    return *(int *)user = status;
}

static void no_bcast(void *user, int from, void *bytes, size_t count)
{
    (void)user, (void)from, (void)bytes, (void)count;
}

static void no_sum(void *user, double *x, ptrdiff_t count)
{
    (void)user, (void)x, (void)count;
}

static ptrdiff_t no_factor(void *user, int threads, ptrdiff_t n, double *a)
{
    (void)user, (void)threads, (void)n, (void)a;
    return 0;
}

static void no_solve(void *user, int threads, ptrdiff_t n, const double *factor, ptrdiff_t cols, double *b)
{
    (void)user, (void)threads, (void)n, (void)factor, (void)cols, (void)b;
}

TEST(a_cluster_that_cannot_be_is_refused)
{
    epiq_ctx *c = ctx();
    int told = 1;
    const epiq_cluster good = {.size = sizeof good,
                               .name = "six",
                               .rank = 5,
                               .ranks = 6,
                               .ranks_on_node = 2,
                               .rows = 2,
                               .cols = 3,
                               .block = EPIQ_BLOCK_MOST,
                               .user = &told,
                               .allreduce_status = agree_alone,
                               .bcast = no_bcast,
                               .allreduce_sum = no_sum,
                               .factor = no_factor,
                               .solve = no_solve};
    epiq_cluster table = good;
    EQ(epiq_ctx_cluster(c, &table), EPIQ_OK);
    memset(&table, 0xff, sizeof table); /* it was copied */
    EQ(c->cluster->rank, 5);
    EQ(epiq_ctx_agree(c, EPIQ_OK), EPIQ_OK);
    EQ(told, EPIQ_OK);
    EQ(epiq_ctx_agree(c, EPIQ_E_FILE), EPIQ_E_FILE);
    EQ(told, EPIQ_E_FILE);
    static const struct {
        int rank, ranks, ranks_on_node, rows, cols;
        ptrdiff_t block;
    } BAD[] = {
        {5, 6, 2, 2, 3, 0},       {5, 6, 2, 2, 3, -1}, {5, 6, 2, 2, 3, EPIQ_BLOCK_MOST + 1},
        {6, 6, 2, 2, 3, 8},       {-1, 6, 2, 2, 3, 8}, {0, 6, 2, 2, 2, 8},
        {0, 7, 2, 2, 3, 8},       {0, 6, 2, 0, 3, 8},  {0, 6, 2, -2, -3, 8},
        {0, 2, 2, INT_MAX, 3, 8}, {0, 0, 0, 0, 0, 8},  {0, 6, 0, 2, 3, 8},
        {0, 6, 7, 2, 3, 8},
    };
    for (size_t k = 0; k < sizeof BAD / sizeof *BAD; k++) {
        table = good;
        table.rank = BAD[k].rank;
        table.ranks = BAD[k].ranks;
        table.ranks_on_node = BAD[k].ranks_on_node;
        table.rows = BAD[k].rows;
        table.cols = BAD[k].cols;
        table.block = BAD[k].block;
        EQ(epiq_ctx_cluster(c, &table), EPIQ_E_USAGE);
        SENTENCE(epiq_message(c));
        TRUE(!c->cluster); /* alone, not with the one before */
    }
    table = good;
    table.size = offsetof(epiq_cluster, solve);
    EQ(epiq_ctx_cluster(c, &table), EPIQ_E_USAGE);
    SAYS(epiq_message(c), "function");
    EQ(epiq_ctx_cluster(c, &good), EPIQ_OK);
    EQ(epiq_ctx_cluster(c, NULL), EPIQ_OK);
    TRUE(!c->cluster);
    EQ(epiq_ctx_agree(c, EPIQ_E_FILE), EPIQ_E_FILE);
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
    SAYS(epiq_message(c), "8 bytes");
    EQ(c->live_blocks, 0);
    epiq_ctx_free(c);
}

TEST(any_number_of_warnings_is_kept_in_order)
{
    epiq_ctx *c = ctx();
    epiqp_arena a = {0};
    epiqp_warnings w = {.arena = &a};
    for (int k = 0; k < 40; k++) {
        EQ(epiqp_warn(c, &w, EPIQ_W_JITTER, "number %d", k), EPIQ_OK);
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
    TRUE(epiqp_cancel_requested(c) && epiqp_finish_requested(c));
    epiq_ctx_stop(c);
    TRUE(epiqp_cancel_requested(c) && !epiqp_finish_requested(c));
    EQ(epiqp_report(c, "rows", 1, 2), EPIQ_E_STOPPED);
    SENTENCE(epiq_message(c));
    epiqp_clear_cancel(c);
    TRUE(!epiqp_cancel_requested(c));
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
        epiqp_sha256 s = epiqp_sha256_start();
        char hex[65];
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
    SAYS(epiq_message(c), "memory");
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

/* Two digits of an uncertainty, the value to match, no exponent between 1e-4 and 1e7. */
TEST(numbers_for_people_have_the_digits_that_are_known)
{
    static const struct {
        double value, sd;
        const char *value_text, *sd_text;
    } WANTED[] = {{22.9156, 0.442, "22.92", "0.44"},
                  {15.37, 16, "15", "16"},
                  {3.2, 1234, "3.2", "1200"},
                  {14720.3, 2230, "14700", "2200"},
                  {305700, 2230, "305700", "2200"},
                  {-5.04, 0.996, "-5.0", "1.0"},
                  {0, 1.5, "0", "1.5"},
                  {-0.0, 0.2, "0", "0.20"},
                  {1.5e-7, 3e-8, "1.50e-7", "3.0e-8"},
                  {1.5e9, 3.4e7, "1.500e9", "3.4e7"},
                  {22, 0, "22", "0"},
                  {19.79, 1e-12, "19.79000", "1.0e-12"},
                  {9.96e6, 1e6, "10000000", "1000000"},
                  {1e9 + 1.234567, 0.16, "1000000001.23", "0.16"}, /* a large offset */
                  {-1e9 - 12.34, 120, "-1000000010", "120"},
                  {1234567.8912, 0.0016, "1234567.8912", "0.0016"},
                  {1.5e300, 3.4e290, "1.50000000000e300", "3.4e290"},
                  {1e15, 0.16, "1.000000e15", "0.16"},
                  {22.123456, NAN, "22.1235", "unknown"}};
    for (size_t k = 0; k < sizeof WANTED / sizeof *WANTED; k++) {
        STR(epiqp_rounded_beside(WANTED[k].value, WANTED[k].sd).text, WANTED[k].value_text);
        STR(epiqp_rounded_sd(WANTED[k].sd).text, WANTED[k].sd_text);
    }
    STR(epiqp_rounded_end(-0.067, 0.22).text, "-0.07");
    STR(epiqp_rounded_end(0.003, 2.2).text, "0");
    STR(epiqp_rounded_end(16.9123, 2.6).text, "16.9");
    STR(epiqp_rounded_end(-4.6, 1200).text, "0");
    STR(epiqp_rounded_end(1.5e-7, 3e-8).text, "1.50e-7");
    STR(epiqp_rounded_end(1e9 + 3.21, 2.2).text, "1000000003.2");
    STR(epiqp_rounded_plain(1e-4).text, "0.0001");
    STR(epiqp_rounded_plain(1e-5).text, "1e-5");
    STR(epiqp_rounded_plain(3.16e-6).text, "3.16e-6");
    STR(epiqp_rounded_plain(123456.7).text, "123457");
    STR(epiqp_rounded_to(305712, 3).text, "305712");
    STR(epiqp_rounded_to(0.123456, 3).text, "0.123");
    STR(epiqp_rounded_to(3.05e7, 3).text, "3.05e+07");
    STR(epiqp_rounded_r2(0.8612).text, "0.86");
    STR(epiqp_rounded_r2(0.9971).text, "0.997");
    STR(epiqp_rounded_r2(1).text, "1.00");
    STR(epiqp_rounded_r2(-0.361).text, "-0.36");
    STR(epiqp_rounded_r2(-12.3).text, "-12");
}

TEST(notes_are_kinds_of_warnings)
{
    int notes = 0, kinds = 0;
    const epiq_warning_info *w;
    for (; (w = epiq_warning_describe(kinds)); kinds++) {
        TRUE(w->code && w->meaning && (w->note == 0 || w->note == 1));
        notes += w->note;
    }
    TRUE(notes > 5 && notes < kinds / 3);
    EQ(epiq_warning_describe(EPIQ_W_CHECK)->note, 1);
    EQ(epiq_warning_describe(EPIQ_W_NO_SKILL)->note, 0);
    STR(epiq_warning_describe(EPIQ_W_CHECK)->code, "check");
}
