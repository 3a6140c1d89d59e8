/* sha256.c - the SHA-256 checksum of FIPS 180-4, so that a report can name the data it was made from. */
#include "base.h"

#include <string.h>

static const uint32_t ROUND[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int k)
{
    return x >> k | x << (32 - k);
}

static void absorb_plain(uint32_t h[8], const unsigned char *p, size_t blocks)
{
    for (; blocks > 0; blocks--, p += 64) {
        uint32_t w[64], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], i = h[7];
        for (int t = 0; t < 16; t++) {
            w[t] = (uint32_t)p[4 * t] << 24 | (uint32_t)p[4 * t + 1] << 16 | (uint32_t)p[4 * t + 2] << 8 | p[4 * t + 3];
        }
        for (int t = 16; t < 64; t++) {
            uint32_t x = turn(w[t - 15], 7) ^ turn(w[t - 15], 18) ^ w[t - 15] >> 3;
            uint32_t y = turn(w[t - 2], 17) ^ turn(w[t - 2], 19) ^ w[t - 2] >> 10;
            w[t] = w[t - 16] + x + w[t - 7] + y;
        }
        for (int t = 0; t < 64; t++) {
            uint32_t t1 = i + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + ROUND[t] + w[t];
            uint32_t t2 = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
            i = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
        }
        h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e, h[5] += f, h[6] += g, h[7] += i;
    }
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) /* its __builtin_cpu_supports does not know sha */
#include <immintrin.h>

/* Two rounds per instruction; the state is in two registers as ABEF and CDGH. */
__attribute__((target("sha,sse4.1"))) static void absorb_fast(uint32_t h[8], const unsigned char *p, size_t blocks)
{
    const __m128i flip = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)h), 0xB1);
    __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(h + 4)), 0x1B);
    __m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xF0);
    for (; blocks > 0; blocks--, p += 64) {
        __m128i before[2] = {abef, cdgh}, w[4];
        for (int t = 0; t < 4; t++) {
            w[t] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)p + t), flip);
        }
        for (int t = 0; t < 16; t++) {
            __m128i k = _mm_add_epi32(w[t % 4], _mm_loadu_si128((const __m128i *)ROUND + t));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, k);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(k, 0x0E));
            if (t < 12) { /* the next four words of the schedule overwrite those just used */
                __m128i x = _mm_sha256msg1_epu32(w[t % 4], w[(t + 1) % 4]);
                x = _mm_add_epi32(x, _mm_alignr_epi8(w[(t + 3) % 4], w[(t + 2) % 4], 4));
                w[t % 4] = _mm_sha256msg2_epu32(x, w[(t + 3) % 4]);
            }
        }
        abef = _mm_add_epi32(abef, before[0]);
        cdgh = _mm_add_epi32(cdgh, before[1]);
    }
    low = _mm_shuffle_epi32(abef, 0x1B);
    high = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128((__m128i *)h, _mm_blend_epi16(low, high, 0xF0));
    _mm_storeu_si128((__m128i *)(h + 4), _mm_alignr_epi8(high, low, 8));
}

static void absorb(uint32_t h[8], const unsigned char *p, size_t blocks)
{
    if (__builtin_cpu_supports("sha") && __builtin_cpu_supports("sse4.1")) {
        absorb_fast(h, p, blocks);
    } else {
        absorb_plain(h, p, blocks);
    }
}
#else
#define absorb absorb_plain
#endif

epiqp_sha256 epiqp_sha256_start(void)
{
    return (epiqp_sha256){
        .h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void epiqp_sha256_add(epiqp_sha256 *s, const void *bytes, size_t count)
{
    for (const unsigned char *b = bytes; count > 0;) {
        size_t at = s->length % 64, room = 64 - at, take = room < count ? room : count;
        if (take == 64) { /* whole blocks are read in place */
            take = count - count % 64;
            absorb(s->h, b, take / 64);
        } else {
            memcpy(s->block + at, b, take);
            absorb(s->h, s->block, take == room);
        }
        s->length += take;
        b += take;
        count -= take;
    }
}

void epiqp_sha256_end(epiqp_sha256 *s, char hex[65])
{
    const uint64_t bits = 8 * s->length;
    const size_t zeros = (119 - s->length % 64) % 64; /* after the byte 0x80, up to the last 8 bytes of a block */
    unsigned char end[1 + 63 + 8] = {0x80};
    for (int i = 0; i < 8; i++) {
        end[1 + zeros + (size_t)i] = (unsigned char)(bits >> (56 - 8 * i));
    }
    epiqp_sha256_add(s, end, 1 + zeros + 8);
    for (int i = 0; i < 64; i++) {
        hex[i] = "0123456789abcdef"[s->h[i / 8] >> (28 - 4 * (i % 8)) & 15];
    }
    hex[64] = '\0';
}
