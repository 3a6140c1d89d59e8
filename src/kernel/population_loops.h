/* population_loops.h - population.c's recursion for vectors of LANES doubles (la/lanes.h), which the instructions of
 * TARGET hold in one register each. ROOT(x): square roots; ANY(m): whether any lane of a mask is set.
 */
#define ROOT(x) NAME(ROOT)(x)
#define ANY(m) NAME(ANY)(m)
typedef double VECTOR __attribute__((vector_size(8 * LANES)));
typedef long long MASK __attribute__((vector_size(8 * LANES)));

TARGET INLINE VECTOR NAME(pick)(MASK m, VECTOR yes, VECTOR no)
{
    return (VECTOR)(((MASK)yes & m) | ((MASK)no & ~m));
}

/* e (sign 1) or t (sign -1) of LANES rows x with the row y, and their diff2, as one_pair() in population.c computes
 * them. */
TARGET static VECTOR NAME(near_pairs)(ptrdiff_t d, const double *x, const double *y, const VECTOR *sp, double sq,
                                      double v, const VECTOR *sign, VECTOR *diff2)
{
    VECTOR sum = {0};
    for (ptrdiff_t f = 0; f < d; f++) {
        VECTOR xf = *(const VECTOR *)(x + f * EPIQP_PANEL);
        sum = FUSED(xf - y[f], xf + y[f], sum);
    }
    MASK smaller = *sp < sq; /* x, rather than y */
    VECTOR spsq = *sp * sq, inverse_gap = sum / (*sp + sq) / spsq,
           inverse = 1 / NAME(pick)(smaller, sq - (VECTOR){0}, *sp);
    VECTOR last = NAME(pick)(*sign > 0, inverse_gap, (*sp + sq) / spsq), twice = v * last * last;
    for (ptrdiff_t f = 0; f < d; f++) {
        VECTOR xf = *(const VECTOR *)(x + f * EPIQP_PANEL), yf = y[f] * *sign;
        VECTOR z = FUSED(xf - yf, inverse, -(NAME(pick)(smaller, xf, yf) * inverse_gap));
        twice = FUSED(z, z, twice);
    }
    *diff2 = sum;
    return twice / 2;
}

/* 2 LANES rows from x (within a panel; p = |x|^2 + v, sp its root, inverse 1/sp) by `columns` rows from y, with q,
 * sq, inverse_q. */
TARGET INLINE void NAME(tile)(const epiqp_arch *arch, ptrdiff_t d, const double *x, const VECTOR *p, const VECTOR *sp,
                              const VECTOR *inverse, const double *y, const double *q, const double *sq,
                              const double *inverse_q, int columns, double *k, double *nngp, ptrdiff_t ld)
{
    const double v = arch->v, beta2 = arch->beta * arch->beta;
    VECTOR K[COLUMNS][2], w[COLUMNS][2], diff2[COLUMNS][2], sign[COLUMNS][2];
    for (int c = 0; c < columns; c++) {
        K[c][0] = K[c][1] = (VECTOR){0};
    }
    for (ptrdiff_t f = 0; f < d; f++) {
        VECTOR x0 = *(const VECTOR *)(x + f * EPIQP_PANEL), x1 = *(const VECTOR *)(x + f * EPIQP_PANEL + LANES);
        for (int c = 0; c < columns; c++) {
            VECTOR yf = y[c * d + f] - (VECTOR){0};
            K[c][0] = FUSED(x0, yf, K[c][0]);
            K[c][1] = FUSED(x1, yf, K[c][1]);
        }
    }
    MASK near = {0};
    for (int c = 0; c < columns; c++) {
        for (int r = 0; r < 2; r++) {
            VECTOR rho = (K[c][r] + v) * (inverse[r] * inverse_q[c]), one = 1 - (VECTOR){0};
            sign[c][r] = NAME(pick)(rho < 0, -one, one);
            w[c][r] = 1 - sign[c][r] * rho;
            diff2[c][r] = p[r] - q[c];
            K[c][r] += beta2;
            near |= w[c][r] < NEAR;
        }
    }
    if (ANY(near)) {
        for (int c = 0; c < columns; c++) {
            for (int r = 0; r < 2; r++) {
                MASK these = w[c][r] < NEAR;
                if (ANY(these)) {
                    VECTOR summed,
                        small = NAME(near_pairs)(d, x + r * LANES, y + c * d, sp + r, sq[c], v, &sign[c][r], &summed);
                    w[c][r] = NAME(pick)(these, small, w[c][r]);
                    diff2[c][r] = NAME(pick)(these, summed, diff2[c][r]);
                }
            }
        }
    }
    VECTOR here[2] = {sp[0], sp[1]};
    double there[COLUMNS];
    memcpy(there, sq, (size_t)columns * sizeof *there);
    for (ptrdiff_t l = 1;; l++) {
        VECTOR onward[2] = {0}, inverse_on[2] = {0};
        double onward_q[COLUMNS] = {0}, inverse_on_q[COLUMNS] = {0};
        if (l < arch->depth) {
            for (int r = 0; r < 2; r++) {
                onward[r] = ROOT(p[r] + (double)l * v);
                inverse_on[r] = 1 / onward[r];
            }
            for (int c = 0; c < columns; c++) {
                onward_q[c] = sqrt(q[c] + (double)l * v);
                inverse_on_q[c] = 1 / onward_q[c];
            }
        }
        for (int c = 0; c < columns; c++) {
            for (int r = 0; r < 2; r++) {
                VECTOR s = w[c][r], root = ROOT(s + s), spsq = here[r] * there[c];
                VECTOR angle = ANGLE[ANGLE_TERMS - 1] - (VECTOR){0},
                       rest = SINE_MINUS[SINE_MINUS_TERMS - 1] - (VECTOR){0};
#pragma GCC unroll 32
                for (int i = ANGLE_TERMS - 2; i >= 0; i--) {
                    angle = FUSED(angle, s, ANGLE[i] - (VECTOR){0});
                    rest = i < SINE_MINUS_TERMS - 1 ? FUSED(rest, s, SINE_MINUS[i] - (VECTOR){0}) : rest;
                }
                angle *= root;
                rest *= root * (s + s);
                MASK opposite = sign[c][r] < 0;
                VECTOR o = NAME(pick)(opposite, 1 - rest, s - rest);
                VECTOR through = spsq * NAME(pick)(opposite, rest, 1 - o);
                K[c][r] = FUSED(K[c][r], NAME(pick)(opposite, angle, 1 - angle), through) + beta2;
                if (l == arch->depth) {
                    if (k) memcpy(k + c * ld + r * LANES, &K[c][r], sizeof(VECTOR));
                    if (nngp) {
                        through += v;
                        memcpy(nngp + c * ld + r * LANES, &through, sizeof(VECTOR));
                    }
                    continue;
                }
                /* pair()'s e with every term divided by r, so that nothing overflows: u = sp sq/r, b = v/r */
                VECTOR inverse_r = inverse_on[r] * inverse_on_q[c], u = spsq * inverse_r, b = v * inverse_r;
                VECTOR gap = diff2[c][r] / (here[r] + there[c]);
                VECTOR e = FUSED(u, o, gap * b * (gap * inverse_r) / (1 + u + b)), one = 1 - (VECTOR){0};
                w[c][r] = NAME(pick)(e < 1, e, one);
                sign[c][r] = one;
            }
        }
        if (l == arch->depth) return;
        memcpy(here, onward, sizeof here);
        memcpy(there, onward_q, sizeof there);
    }
}

TARGET static void NAME(block)(const epiqp_arch *arch, const epiqp_rows *a, ptrdiff_t i0, ptrdiff_t rows,
                               const epiqp_rows *b, ptrdiff_t j0, ptrdiff_t cols, double *k, double *nngp, ptrdiff_t ld)
{
    enum { STRIP = 128 / LANES, ROWS = 2 * LANES }; /* vectors computed together, which stay in the first-level cache */
    const ptrdiff_t d = a->d, end = i0 + rows;
    for (ptrdiff_t top = i0 / ROWS * ROWS; top < end; top += STRIP * LANES) {
        ptrdiff_t bottom = epiqp_min(end, top + STRIP * LANES);
        VECTOR p[STRIP], sp[STRIP], inverse[STRIP];
        for (ptrdiff_t r = 0; top + r * LANES < (bottom + ROWS - 1) / ROWS * ROWS; r++) {
            p[r] = *(const VECTOR *)(a->norm2 + top + r * LANES) + arch->v;
            sp[r] = ROOT(p[r]);
            inverse[r] = NAME(pick)(p[r] >= TOO_SMALL, 1 / sp[r], (VECTOR){0});
        }
        for (ptrdiff_t j = 0, step; j < cols; j += step) {
            step = cols - j < COLUMNS ? 1 : COLUMNS;
            const double *y = b->x + (j0 + j) * d;
            double q[COLUMNS], sq[COLUMNS], inverse_q[COLUMNS];
            for (ptrdiff_t c = 0; c < step; c++) {
                q[c] = b->norm2[j0 + j + c] + arch->v;
                sq[c] = sqrt(q[c]);
                inverse_q[c] = too_small(q[c]) ? 0 : 1 / sq[c];
            }
            for (ptrdiff_t i = top; i < bottom; i += ROWS) {
                const double *x = a->panels + i / EPIQP_PANEL * EPIQP_PANEL * d + i % EPIQP_PANEL;
                bool whole = i >= i0 && i + ROWS <= end;
                double part[2][COLUMNS * ROWS]; /* for a tile that exceeds the block */
                ptrdiff_t at = j * ld + i - i0, stride = whole ? ld : ROWS, r = (i - top) / LANES;
                double *to_k = k ? whole ? k + at : part[0] : NULL, *to_q = nngp ? whole ? nngp + at : part[1] : NULL;
                if (step == COLUMNS) { /* a constant, so that the loops are unrolled */
                    NAME(tile)
                    (arch, d, x, p + r, sp + r, inverse + r, y, q, sq, inverse_q, COLUMNS, to_k, to_q, stride);
                } else {
                    NAME(tile)(arch, d, x, p + r, sp + r, inverse + r, y, q, sq, inverse_q, 1, to_k, to_q, stride);
                }
                for (ptrdiff_t c = 0; !whole && c < step; c++) {
                    for (ptrdiff_t l = epiqp_max(0, i0 - i); l < epiqp_min(ROWS, end - i); l++) {
                        if (k) k[at + c * ld + l] = part[0][c * ROWS + l];
                        if (nngp) nngp[at + c * ld + l] = part[1][c * ROWS + l];
                    }
                }
            }
        }
    }
    redo_special(arch, a, i0, rows, b, j0, cols, k, nngp, ld);
}

#undef LANES
