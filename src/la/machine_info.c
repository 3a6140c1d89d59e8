/* machine_info.c - what a run computes with: the BLAS, whether the kernels it has chosen suit the processor, and how fast
 * they are. OpenBLAS knows processors by their numbers: on one that is newer than itself it falls back to kernels of 2004.
 */
#include "common/blas_start.h"
#include "common/machine.h"
#include "la/la.h"
#include "la/lanes.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Every OpenBLAS has these functions; with another library the weak reference is NULL. */
extern char *openblas_get_config(void) __attribute__((weak));
extern char *openblas_get_corename(void) __attribute__((weak));

/* ---- the processor ---- */

unsigned epiqp_processor(void)
{
    unsigned has = 0;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) has |= EPIQP_AVX2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        has |= EPIQP_AVX512;
    }
#endif
    return has;
}

static const char *vectors(void)
{
#ifdef X86_SETS
    if (__builtin_cpu_supports("x86-64-v4")) return "AVX-512";
    if (__builtin_cpu_supports("x86-64-v3")) return "AVX2";
#endif
#if defined(__x86_64__)
    return "SSE2";
#elif defined(__aarch64__)
    return "NEON";
#else
    return "none";
#endif
}

/* ---- the BLAS ---- */

/* The types of OpenBLAS whose kernels lack AVX2 and FMA. Those of AMD's Bulldozer family have FMA, and are left alone. */
static const char *const OLD_CORES[] = {"Katmai",       "Coppermine", "Northwood",  "Prescott", "Banias",     "Atom",
                                        "Core2",        "Penryn",     "Dunnington", "Nehalem",  "Athlon",     "Opteron",
                                        "Opteron_SSE3", "Barcelona",  "Nano",       "Bobcat",   "Sandybridge"};

const char *epiqp_better_core(const char *core, unsigned processor)
{
    if (!core || !(processor & EPIQP_AVX2)) return NULL;
    for (size_t k = 0; k < sizeof OLD_CORES / sizeof *OLD_CORES; k++) {
        if (strcmp(core, OLD_CORES[k]) == 0) return processor & EPIQP_AVX512 ? "SkylakeX" : "Haswell";
    }
    /* With AVX-512, Haswell's kernels are as fast as SkylakeX's on a Zen 4 and reach 0.6 of them on a Zen 5. OpenBLAS by itself
     * uses them on neither, so where Haswell's are in use the user has chosen them, and they are left as they are. */
    return NULL;
}

static char blas_name[64] = "not OpenBLAS";

/* "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": its first two words */
static void name_blas(void)
{
    if (!openblas_get_config) return;
    const char *config = openblas_get_config();
    size_t length = strcspn(config, " ");
    if (config[length]) length += 1 + strcspn(config + length + 1, " ");
    snprintf(blas_name, sizeof blas_name, "%.*s", (int)length, config);
}

void epiq_machine_info_get(epiq_machine_info *info, size_t size)
{
    static pthread_once_t named = PTHREAD_ONCE_INIT;
    pthread_once(&named, name_blas);
    /* an OpenBLAS that was built for one type has no others to choose from */
    bool chooses = openblas_get_config && strstr(openblas_get_config(), "DYNAMIC_ARCH");
    epiq_machine_info own = {.blas = blas_name,
                             .core = openblas_get_corename ? openblas_get_corename() : NULL,
                             .vectors = vectors(),
                             .threads = epiqp_all_threads(NULL)};
    own.better_core = chooses ? epiqp_better_core(own.core, epiqp_processor()) : NULL;
    epiqp_give(&own, sizeof own, info, size);
}

int epiqp_warn_blas(const epiqp_env *e, epiqp_warnings *w)
{
    const epiq_machine_info m = epiq_machine_describe();
    if (e->la != &epiqp_la_blas || !m.better_core) return EPIQ_OK;
    return epiqp_warn(e->c, w, EPIQ_W_SLOW_BLAS, EPIQP_SLOW_BLAS, m.core, m.better_core, m.better_core);
}

/* ---- its speed ---- */

enum {
    CHAINS = 10, /* independent sums, so that two units with a latency of four or five cycles are kept busy */
    TURNS = 20000,
    SIDE = 256, /* of the matrices: large enough for two thirds of the speed of larger ones, small enough for 1 ms */
    TRIES = 4   /* the best counts: the first one loads, and others may be disturbed */
};

/* CHAINS * TURNS times a = a x + y, for vectors of so many doubles; unrolled, the sums stay in registers. */
#define CHAINS_OF(lanes, target, fused)                                                                                \
    typedef double chain_##lanes __attribute__((vector_size(8 * (lanes))));                                            \
    target static double chains_##lanes(void)                                                                          \
    {                                                                                                                  \
        chain_##lanes a[CHAINS], x = (chain_##lanes){0} + 0.5, y = (chain_##lanes){0} + 1;                             \
        _Pragma("GCC unroll 10") for (int k = 0; k < CHAINS; k++)                                                      \
        {                                                                                                              \
            a[k] = y * k;                                                                                              \
        }                                                                                                              \
        for (int turn = 0; turn < TURNS; turn++) {                                                                     \
            _Pragma("GCC unroll 10") for (int k = 0; k < CHAINS; k++)                                                  \
            {                                                                                                          \
                a[k] = fused(a[k], x, y);                                                                              \
            }                                                                                                          \
        }                                                                                                              \
        _Pragma("GCC unroll 10") for (int k = 1; k < CHAINS; k++)                                                      \
        {                                                                                                              \
            a[0] += a[k];                                                                                              \
        }                                                                                                              \
        return a[0][0];                                                                                                \
    }

#ifdef __aarch64__
#define FUSED_PLAIN(a, b, c) ((chain_2)vfmaq_f64((float64x2_t)(c), (float64x2_t)(a), (float64x2_t)(b)))
#else
#define FUSED_PLAIN(a, b, c) ((a) * (b) + (c))
#endif
CHAINS_OF(2, , FUSED_PLAIN)
#ifdef X86_SETS
#define FUSED_V3(a, b, c) ((chain_4)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define FUSED_V4(a, b, c) ((chain_8)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
CHAINS_OF(4, FOR_V3, FUSED_V3)
CHAINS_OF(8, FOR_V4, FUSED_V4)
#endif

/* Floating-point operations of one core per second, in registers. */
static double most_of_core(void)
{
    double (*chains)(void) = chains_2, lanes = 2, best = 0;
#ifdef X86_SETS
    if (epiqp_processor() & EPIQP_AVX512) {
        chains = chains_8;
        lanes = 8;
    } else if (epiqp_processor() & EPIQP_AVX2) {
        chains = chains_4;
        lanes = 4;
    }
#endif
    for (int k = 0; k < TRIES; k++) {
        double start = epiqp_now();
        volatile double used = chains();
        (void)used;
        best = fmax(best, 2 * lanes * CHAINS * TURNS / fmax(epiqp_now() - start, 1e-6));
    }
    return best;
}

int epiq_machine_rate(epiq_ctx *c, double *product, double *most)
{
    epiqp_clear(c);
    *product = *most = 0;
    const epiq_options o = epiq_options_default();
    double *a = epiqp_alloc(c, 3 * SIDE * SIDE, sizeof *a);
    if (!a) return EPIQ_E_NOMEM;
    memset(a, 0, 3 * SIDE * SIDE * sizeof *a);
    const epiqp_env e = epiqp_run_begin(c, &o);
    for (int k = 0; k < TRIES; k++) {
        double start = epiqp_now();
        e.la->gemm('N', 'N', SIDE, SIDE, SIDE, 1, a, SIDE, a + SIDE * SIDE, SIDE, 0, a + 2 * SIDE * SIDE, SIDE);
        *product = fmax(*product, 2.0 * SIDE * SIDE * SIDE / fmax(epiqp_now() - start, 1e-6));
    }
    epiqp_run_end();
    epiqp_free(c, a);
    *most = most_of_core();
    return EPIQ_OK;
}
