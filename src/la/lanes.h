/* lanes.h - for loops over vectors of LANES numbers that are written once and compiled for several instruction sets: a
 * file defines LANES, includes its loops, and again for the next set. NAME(x) is x of the current set; FUSED(a, b, c),
 * a b + c rounded once where the set can, is written out because a compiler would contract it at some optimisation
 * levels only.
 */
#ifndef EPIQP_LANES_H
#define EPIQP_LANES_H

#define PASTE_NOW(x, y) x##_##y
#define PASTE(x, y) PASTE_NOW(x, y)
#define NAME(x) PASTE(x, LANES)
#define VECTOR NAME(vector)
#define MASK NAME(mask)
#define TARGET NAME(FOR)
#define FUSED(a, b, c) NAME(FUSED)(a, b, c)
#define POSITIVE(f) NAME(POSITIVE)(f)
#define KEEP(f, mask) NAME(KEEP)(f, mask)
#define INLINE static inline __attribute__((always_inline))

#ifdef __aarch64__
#include <arm_neon.h>
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define X86_SETS
#include <immintrin.h>
/* In addition to what the compiler's options allow: functions of immintrin.h are inlined only where all of these may be
 * used. */
#define FOR_V3 __attribute__((target("avx2,fma")))
#define FOR_V4 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma")))
#endif

#endif
