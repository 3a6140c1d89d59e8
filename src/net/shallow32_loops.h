/* shallow32_loops.h - the loops of shallow32.c for vectors of LANES floats (la/lanes.h), which the instructions of TARGET
 * hold in one register each; compilers lower over-wide vectors badly. FORWARD rows by 4 vectors, and COLUMNS of S by 1
 * vector: their sums stay in registers. A MASK tells the lanes that are on: POSITIVE(f) makes one, KEEP(f, mask) is f
 * there and 0 elsewhere.
 */
#define UNITS (4 * LANES)
#define FORWARD NAME(FORWARD)
#define COLUMNS NAME(COLUMNS)
#define ROWS NAME(ROWS)
typedef float VECTOR __attribute__((vector_size(4 * LANES)));

/* `count` rows from i and UNITS units from k: the partial outputs, and where units are on; or, along a direction, the
 * partial tangents. */
TARGET INLINE void NAME(forward_tile)(epiqp_shallow32 *t, ptrdiff_t k, ptrdiff_t i, int count, bool along)
{
    const ptrdiff_t d = t->d, step = BLOCK / LANES;
    const VECTOR *w = (const VECTOR *)((along ? t->v : t->w) + k / BLOCK * BLOCK * (d + 2) + k % BLOCK), zero = {0};
    const float *x = t->x + i * (d + 1);
    VECTOR f[FORWARD][4];
    for (int r = 0; r < count; r++) {
        for (int j = 0; j < 4; j++) {
            f[r][j] = w[d * step + j];
        }
    }
    for (ptrdiff_t a = 0; a < d; a++) {
        for (int r = 0; r < count; r++) {
            for (int j = 0; j < 4; j++) {
                f[r][j] = FUSED(x[r * (d + 1) + a] - zero, w[a * step + j], f[r][j]);
            }
        }
    }
    for (int r = 0; r < count; r++) {
        MASK *on = (MASK *)t->on + ((k / BLOCK * ROWS + i + r) * BLOCK + k % BLOCK) / LANES;
        VECTOR part = zero;
        for (int j = 0; j < 4; j++) {
            if (along) {
                part += KEEP(f[r][j], on[j]);
            } else {
                on[j] = POSITIVE(f[r][j]);
                part = FUSED(KEEP(f[r][j], on[j]), w[(d + 1) * step + j], part);
            }
        }
        ((VECTOR *)t->part)[i + r] += part;
    }
}

TARGET INLINE void NAME(over_rows)(epiqp_shallow32 *t, ptrdiff_t rows, double *h, bool along)
{
    memset(t->part, 0, (size_t)(rows * LANES) * sizeof *t->part);
    for (ptrdiff_t k = 0; k < t->blocks * BLOCK; k += UNITS) {
        ptrdiff_t i = 0;
        for (; i + FORWARD <= rows; i += FORWARD) {
            NAME(forward_tile)(t, k, i, FORWARD, along);
        }
        for (; i < rows; i++) {
            NAME(forward_tile)(t, k, i, 1, along);
        }
    }
    for (ptrdiff_t i = 0; i < rows; i++) {
        h[i] = 0;
        for (int j = 0; j < LANES; j++) {
            h[i] += (double)t->part[i * LANES + j];
        }
    }
}

TARGET static void NAME(forward)(epiqp_shallow32 *t, ptrdiff_t rows, double *h)
{
    NAME(over_rows)(t, rows, h, false);
}

TARGET static void NAME(tangent)(epiqp_shallow32 *t, ptrdiff_t rows, double *h)
{
    NAME(over_rows)(t, rows, h, true);
}

/* `count` columns of S from a, for one block of units, `together` vectors at a time */
TARGET INLINE void NAME(reverse_tile)(epiqp_shallow32 *t, ptrdiff_t block, ptrdiff_t rows, const float *u, ptrdiff_t a,
                                      int count, int together)
{
    const VECTOR zero = {0};
    const bool first = !t->summed;
    for (int k = 0; k < BLOCK / LANES; k += together) {
        const MASK *on = (const MASK *)t->on + block * ROWS * BLOCK / LANES + k;
        VECTOR sum[COLUMNS];
        for (int c = 0; c < count * together; c++) {
            sum[c] = zero;
        }
        for (ptrdiff_t i = 0; i < rows; i++) {
            const float *x = t->x + i * (t->d + 1) + a;
            for (int j = 0; j < together; j++) {
                VECTOR delta = KEEP(u[i] - zero, on[i * (BLOCK / LANES) + j]);
                for (int c = 0; c < count; c++) {
                    sum[j * count + c] = FUSED(x[c] - zero, delta, sum[j * count + c]);
                }
            }
        }
        for (int c = 0; c < count * together; c++) {
            double *to = t->sums + (block * (t->d + 1) + a + c % count) * BLOCK + (k + c / count) * LANES;
            for (int l = 0; l < LANES; l++) {
                to[l] = (first ? 0 : to[l]) + (double)sum[c][l];
            }
        }
    }
}

TARGET static void NAME(reverse)(epiqp_shallow32 *t, ptrdiff_t rows, const float *u)
{
    for (ptrdiff_t block = 0; block < t->blocks; block++) {
        ptrdiff_t a = 0;
        for (ptrdiff_t tiles = (t->d + COLUMNS) / COLUMNS; tiles > 0; tiles--) { /* of about equal size */
            int count = (int)((t->d + 1 - a) / tiles);
            switch (count) { /* constants keep the sums in registers */
#define TILE(c)                                                                                                        \
    case c:                                                                                                            \
        if (c <= COLUMNS) {                                                                                            \
            NAME(reverse_tile)(t, block, rows, u, a, c, 4 * c <= COLUMNS ? 4 : 2 * c <= COLUMNS ? 2 : 1);              \
        }                                                                                                              \
        break;
                /* clang-format off */
                TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6) TILE(7) TILE(8)
                TILE(9) TILE(10) TILE(11) TILE(12) TILE(13) TILE(14) TILE(15) TILE(16)
                /* clang-format on */
#undef TILE
            }
            a += count;
        }
    }
    t->summed = true;
}

#undef LANES
