/* test.h - a test is TEST(name) { build something known; call; compare }. A failure prints what was got and wanted.
 * Each program ends with "N passed, N failed" and exits non-zero if any failed. Its arguments choose tests by parts of
 * their names: PART those that have it, -PART those that do not. Sentences meant for people stand in golden/sentences.txt,
 * which `tools/sentences BUILD --write` writes anew: tests assert statuses, codes, numbers and names.
 */
#ifndef TEST_H
#define TEST_H

#include "common/blas_start.h"
#include "epiq.h"
#include "sentences.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef void (*test_fn)(void);
static struct {
    const char *name;
    test_fn run;
} test_list[256];
static int test_count, test_failures;
static const char *test_name; /* of the test that runs */

#define TEST(title)                                                                                                    \
    static void title(void);                                                                                           \
    __attribute__((constructor)) static void add_##title(void)                                                         \
    {                                                                                                                  \
        test_list[test_count].name = #title;                                                                           \
        test_list[test_count++].run = title;                                                                           \
    }                                                                                                                  \
    static void title(void)

#define TEST_FAIL(...) (test_failures++, fprintf(stderr, "%s:%d: ", __FILE__, __LINE__), fprintf(stderr, __VA_ARGS__))
#define TRUE(cond) ((cond) ? (void)0 : (void)TEST_FAIL("%s is false\n", #cond))
/* Equal integers. A cast of 0.8 would equal 0: operands in floating point do not compile. */
#define TEST_WHOLE(v) _Generic((v), float : 0, double : 0, long double : 0, default : 1)
#define EQ(got, want)                                                                                                  \
    do {                                                                                                               \
        _Static_assert(TEST_WHOLE(got) && TEST_WHOLE(want), "EQ compares integers; use NEAR or TRUE");                 \
        long long g_ = (long long)(got), w_ = (long long)(want);                                                       \
        if (g_ != w_) {                                                                                                \
            TEST_FAIL("%s is %lld, wanted %lld\n", #got, g_, w_);                                                      \
        }                                                                                                              \
    } while (0)
/* |got - want| <= tolerance; NaN never passes */
#define NEAR(got, want, tolerance)                                                                                     \
    do {                                                                                                               \
        double g_ = (got), w_ = (want), t_ = (tolerance);                                                              \
        if (!(fabs(g_ - w_) <= t_)) {                                                                                  \
            TEST_FAIL("%s is %.17g, wanted %.17g +- %.3g, off by %.3g\n", #got, g_, w_, t_, g_ - w_);                  \
        }                                                                                                              \
    } while (0)
#define CLOSE(got, want, relative) NEAR(got, want, (relative)*fabs(want))
#define STR(got, want)                                                                                                 \
    do {                                                                                                               \
        const char *g_ = (got), *w_ = (want);                                                                          \
        if (!g_ || strcmp(g_, w_) != 0) {                                                                              \
            TEST_FAIL("%s is \"%s\", wanted \"%s\"\n", #got, g_ ? g_ : "(null)", w_);                                  \
        }                                                                                                              \
    } while (0)
#define CONTAINS(got, part)                                                                                            \
    do {                                                                                                               \
        const char *g_ = (got), *p_ = (part);                                                                          \
        if (!g_ || !strstr(g_, p_)) {                                                                                  \
            TEST_FAIL("%s is \"%s\", wanted \"%s\" in it\n", #got, g_ ? g_ : "(null)", p_);                            \
        }                                                                                                              \
    } while (0)
/* SAYS(got, part): the sentence is the next one of this test in golden/sentences.txt, and has `part` in it, a name or a number
 * that matters however the sentence is worded (NULL: there is none). SAYS_ROUGHLY masks numbers that rounding, time or the
 * machine decide. */
#define TEST_SAYS(got, part, rough)                                                                                    \
    do {                                                                                                               \
        const char *must_ = (part);                                                                                    \
        if (!sentence_holds(test_name, (got), (rough))) {                                                              \
            TEST_FAIL("%s is\n  %s\nand golden/sentences.txt has for [%s], sentence %d,\n  %s\n", #got, sentence_got,  \
                      test_name, sentence_number, sentence_want);                                                      \
        }                                                                                                              \
        if (must_) {                                                                                                   \
            CONTAINS(got, must_);                                                                                      \
        }                                                                                                              \
    } while (0)
#define SAYS(got, part) TEST_SAYS(got, part, 0)
#define SAYS_ROUGHLY(got, part) TEST_SAYS(got, part, 1)
#define SENTENCE(got) TEST_SAYS(got, NULL, 0)
#define SENTENCE_ROUGHLY(got) TEST_SAYS(got, NULL, 1)

static int test_chosen(const char *name, char **parts)
{
    int asked = 0, found = 0;
    for (; *parts; parts++) {
        if (**parts == '-' && strstr(name, *parts + 1)) return 0;
        asked |= **parts != '-';
        found |= strstr(name, *parts) != NULL;
    }
    return found || !asked;
}

/* As the command does: where OpenBLAS does not know the processor, every estimate would have a warning more. */
static void test_with_suitable_blas(char **argv)
{
    epiqp_start_with("OPENBLAS_CORETYPE", epiq_machine_describe().better_core, argv);
}

int main(int argc, char **argv)
{
    test_with_suitable_blas(argv);
    int failed = 0, ran = 0;
    for (int i = 0; i < test_count; i++) {
        if (argc > 1 && !test_chosen(test_list[i].name, argv + 1)) continue;
        int before = test_failures;
        test_name = test_list[i].name;
        test_list[i].run();
        if (test_failures == before && !sentences_end(test_name)) {
            TEST_FAIL("golden/sentences.txt has more sentences for [%s] than the %d of this test\n", test_name,
                      sentence_number);
        }
        sentence_number = 0;
        ran++;
        if (test_failures > before) {
            failed++;
            fprintf(stderr, "FAILED %s\n", test_list[i].name);
        }
    }
    printf("%d passed, %d failed\n", ran - failed, failed);
    return failed != 0 || ran == 0;
}

#endif
