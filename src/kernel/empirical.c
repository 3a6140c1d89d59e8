/* empirical.c - <J(x), J(x')> of a drawn network, layer by layer (docs/method.md section 2):
 *     K = G_L G_L' + beta^2 + sum_l (G_{l-1} G_{l-1}' + beta^2) o (Delta_l Delta_l')
 */
#include "kernel/kernel.h"

void epiqp_empirical_block(const epiqp_la *la, const epiqp_features *a, ptrdiff_t i0, ptrdiff_t rows,
                           const epiqp_features *b, ptrdiff_t j0, ptrdiff_t cols, double *out, ptrdiff_t ld)
{
    enum { SIDE = 64 }; /* rows and columns at a time, so that the two factors of a layer's term fit on the stack */
    double inner[SIDE * SIDE], outer[SIDE * SIDE];
    const ptrdiff_t L = a->depth, w = a->width;
    const double beta2 = a->beta * a->beta;
    for (ptrdiff_t j = 0; j < cols; j += SIDE) {
        for (ptrdiff_t i = 0; i < rows; i += SIDE) {
            ptrdiff_t m = epiqp_min(SIDE, rows - i), n = epiqp_min(SIDE, cols - j);
            for (ptrdiff_t l = 0; l <= L; l++) { /* the term of W_{l+1}: g_l and delta_{l+1} */
                ptrdiff_t k = l == 0 ? a->d : w;
                const double *ga = l == 0 ? a->x + (i0 + i) * k : a->g + ((l - 1) * a->n + i0 + i) * k;
                const double *gb = l == 0 ? b->x + (j0 + j) * k : b->g + ((l - 1) * b->n + j0 + j) * k;
                la->gemm('T', 'N', m, n, k, 1, ga, k, gb, k, 0, inner, m);
                if (l < L) {
                    const double *da = a->delta + (l * a->n + i0 + i) * w, *db = b->delta + (l * b->n + j0 + j) * w;
                    la->gemm('T', 'N', m, n, w, 1, da, w, db, w, 0, outer, m);
                }
                for (ptrdiff_t c = 0; c < n; c++) {
                    for (ptrdiff_t r = 0; r < m; r++) {
                        double term = (inner[r + c * m] + beta2) * (l < L ? outer[r + c * m] : 1);
                        double *at = &out[i + r + (j + c) * ld];
                        *at = l == 0 ? term : *at + term;
                    }
                }
            }
        }
    }
}

static void block(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                  ptrdiff_t ld)
{
    const epiqp_empirical *p = self;
    epiqp_empirical_block(p->la, p->f, i0, rows, p->f, j0, cols, out, ld);
}

epiqp_source epiqp_source_empirical(const epiqp_empirical *p)
{
    return (epiqp_source){.block = block, .self = p};
}
