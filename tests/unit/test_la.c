/* test_la.c - what a run computes with: which kernels OpenBLAS should use on which processor, and how fast they are. */
#include "base/base.h"
#include "la/la.h"
#include "test.h"

TEST(kernels_for_far_older_processors_are_noticed)
{
    enum { OLD = 0, BOTH = EPIQP_AVX2 | EPIQP_AVX512 };
    static const struct {
        const char *core;
        unsigned processor;
        const char *better;
    } CASES[] = {
        {"Prescott", BOTH, "SkylakeX"}, /* a Xeon newer than OpenBLAS 0.3.21 */
        {"Prescott", EPIQP_AVX2, "Haswell"},
        {"Prescott", OLD, NULL},
        {"Barcelona", EPIQP_AVX2, "Haswell"}, /* an AMD newer than OpenBLAS 0.3.9 */
        {"Barcelona", BOTH, "SkylakeX"},
        {"Nehalem", EPIQP_AVX2, "Haswell"},
        {"Sandybridge", EPIQP_AVX2, "Haswell"},
        {"Sandybridge", OLD, NULL},
        {"Haswell", EPIQP_AVX2, NULL},
        {"Haswell", BOTH, NULL}, /* little is lost */
        {"Zen", EPIQP_AVX2, NULL},
        {"Zen", BOTH, NULL},
        {"SkylakeX", BOTH, NULL},
        {"Cooperlake", BOTH, NULL},
        {"SapphireRapids", BOTH, NULL},
        {"Excavator", EPIQP_AVX2, NULL},
        {"Prescott", EPIQP_AVX512, NULL}, /* the system or valgrind hides AVX2 */
        {"of the future", BOTH, NULL},    /* whatever OpenBLAS has added by then */
        {"ARMV8", OLD, NULL},
        {"neoversen1", OLD, NULL},
        {NULL, BOTH, NULL}, /* another BLAS */
    };
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        const char *got = epiqp_better_core(CASES[k].core, CASES[k].processor);
        if (!got != !CASES[k].better || (got && strcmp(got, CASES[k].better) != 0)) {
            TEST_FAIL("instead of %s on a processor %u: %s\n", CASES[k].core ? CASES[k].core : "none",
                      CASES[k].processor, got ? got : "none");
        }
    }
}

TEST(the_machine_is_described)
{
    const epiq_machine_info m = epiq_machine_describe();
    TRUE(m.blas && *m.blas);
    TRUE(m.vectors && *m.vectors);
    TRUE(m.threads >= 1);
    EQ(m.core != NULL, strncmp(m.blas, "OpenBLAS ", strlen("OpenBLAS ")) == 0);
    EQ(epiqp_processor() & EPIQP_AVX512 ? epiqp_processor() & EPIQP_AVX2 : EPIQP_AVX2, EPIQP_AVX2);
    /* a program compiled when the struct was shorter */
    epiq_machine_info partly;
    memset(&partly, 0x55, sizeof partly);
    epiq_machine_info_get(&partly, sizeof partly.blas);
    STR(partly.blas, m.blas);
    TRUE(partly.core != m.core);
}

TEST(a_product_is_timed_against_the_core)
{
    double product, most;
    epiq_ctx *c;
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(epiq_machine_rate(c, &product, &most), EPIQ_OK);
    TRUE(most > 1e8 && most < 1e12); /* 1 to 32 operations per cycle, and at most some GHz */
    TRUE(product > 1e6);
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
    /* Twice: the clock may change between the two. Else the multiply-adds are in memory; clang's are never the widest (la/lanes.h). */
    TRUE(product < 2 * most);
#endif
    EQ(c->live_blocks, 0);
    c->fail_after = 0;
    EQ(epiq_machine_rate(c, &product, &most), EPIQ_E_NOMEM);
    TRUE(product == 0 && most == 0);
    epiq_ctx_free(c);
}

static int warnings_of(epiq_ctx *c, const epiqp_la *la, epiqp_warnings *w)
{
    const epiqp_env e = {.c = c, .la = la, .threads = 1};
    return epiqp_warn_blas(&e, w);
}

TEST(the_warning_comes_with_slow_kernels_and_the_blas_alone)
{
    epiq_ctx *c;
    epiqp_arena arena = {0};
    epiqp_warnings w = {.arena = &arena};
    EQ(epiq_ctx_new(&c), EPIQ_OK);
    EQ(warnings_of(c, &epiqp_la_ref, &w), EPIQ_OK);
    EQ(w.count, 0);
    EQ(warnings_of(c, &epiqp_la_blas, &w), EPIQ_OK);
    EQ(w.count, epiq_machine_describe().better_core != NULL);
    epiqp_arena_free(c, &arena);
    epiq_ctx_free(c);
}
