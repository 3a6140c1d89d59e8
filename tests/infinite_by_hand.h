/* infinite_by_hand.h - infinitely wide networks on a few rows, by Gaussian elimination on what epiq_kernel says: the judge of whatever
 * the library makes of its factors. The point is the last row of the kernels. */
#ifndef INFINITE_BY_HAND_H
#define INFINITE_BY_HAND_H

#include "epiq_combine.h"
#include "test.h"

#include <string.h>

enum { CLOSED_MOST = 65 }; /* rows, and the point */

typedef struct {
    int n;
    double k[CLOSED_MOST][CLOSED_MOST], q[CLOSED_MOST][CLOSED_MOST];
} closed_kernels;

static void closed_kernels_of(int n, int d, const double *x, const double *x0, const epiq_options *o,
                              closed_kernels *out)
{
    static double all[CLOSED_MOST * 32], y[CLOSED_MOST], k[CLOSED_MOST * CLOSED_MOST], q[CLOSED_MOST * CLOSED_MOST];
    epiq_options plain = *o;
    epiq_ctx *own;
    epiq_data *rows;
    plain.scale = EPIQ_SCALE_NONE;
    memcpy(all, x, (size_t)(n * d) * sizeof *x);
    memcpy(all + n * d, x0, (size_t)d * sizeof *x);
    for (int i = 0; i <= n; i++) {
        y[i] = i;
    }
    EQ(epiq_ctx_new(&own), EPIQ_OK);
    EQ(epiq_data_new(own, n + 1, d, all, y, NULL, &plain, &rows), EPIQ_OK);
    EQ(epiq_kernel(own, rows, &plain, k, q), EPIQ_OK);
    epiq_data_free(own, rows);
    epiq_ctx_free(own);
    out->n = n;
    for (int i = 0; i <= n; i++) {
        for (int j = 0; j <= n; j++) {
            out->k[i][j] = k[i * (n + 1) + j];
            out->q[i][j] = q[i * (n + 1) + j];
        }
    }
}

/* b = A^-1 b for several columns; a is destroyed. A is positive definite: no pivoting. */
static void closed_eliminate(int n, double a[CLOSED_MOST][CLOSED_MOST], int columns, double b[CLOSED_MOST][CLOSED_MOST])
{
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < n; i++) {
            double f = i == k ? 0 : a[i][k] / a[k][k];
            for (int j = k; f != 0 && j < n; j++) {
                a[i][j] -= f * a[k][j];
            }
            for (int j = 0; f != 0 && j < columns; j++) {
                b[i][j] -= f * b[k][j];
            }
        }
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < columns; j++) {
            b[i][j] /= a[i][i];
        }
    }
}

/* |c|^2 and tau^2 = Q00 - 2 c'Q0 + c'Q c of networks on these rows; |alpha|^2 / |A^-1|^2, the noise (y NULL: 0). */
typedef struct {
    double c2, tau2, noise;
} closed_found;

/* c: n, or NULL. */
static closed_found closed_on_with(const closed_kernels *g, int n, const int *row, const double *y, double lambda,
                                   double *c)
{
    static double a[CLOSED_MOST][CLOSED_MOST], same[CLOSED_MOST][CLOSED_MOST], b[CLOSED_MOST][CLOSED_MOST],
        inverse[CLOSED_MOST][CLOSED_MOST];
    closed_found f = {.tau2 = g->q[g->n][g->n]};
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            a[i][j] = g->k[row[i]][row[j]] + (i == j ? lambda * n : 0);
            inverse[i][j] = i == j;
        }
        b[i][0] = g->k[row[i]][g->n];
        b[i][1] = y ? y[row[i]] : 0;
    }
    memcpy(same, a, sizeof a);
    closed_eliminate(n, a, 2, b);
    closed_eliminate(n, same, n, inverse);
    double alpha2 = 0, norm2 = 0;
    for (int i = 0; i < n; i++) {
        f.c2 += b[i][0] * b[i][0];
        if (c) c[i] = b[i][0];
        f.tau2 -= 2 * b[i][0] * g->q[row[i]][g->n];
        alpha2 += b[i][1] * b[i][1];
        for (int j = 0; j < n; j++) {
            f.tau2 += b[i][0] * g->q[row[i]][row[j]] * b[j][0];
            norm2 += inverse[i][j] * inverse[i][j];
        }
    }
    f.noise = alpha2 / norm2;
    return f;
}

static inline closed_found closed_on(const closed_kernels *g, int n, const int *row, const double *y, double lambda)
{
    return closed_on_with(g, n, row, y, lambda, NULL);
}

#endif
