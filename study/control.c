/* control.c - a sharper truth: kernel regression of the same data set as control variate (docs/method.md section 9). It
 * is linear in the targets, w'y, so its variance over data sets is known almost without noise where the function and
 * the noise are: the networks' variance then has to be measured only in what kernel regression does not explain.
 */
#include "study/lab.h"

#include <stdlib.h>
#include <string.h>

/* ---- the weights w ---- */

/* Plain Cholesky, as judge of the library's own solvers: sums run along rows, which are contiguous. */
bool lab_solve(ptrdiff_t n, ptrdiff_t stride, double *a, double ridge, ptrdiff_t count, double *b)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double *li = a + i * stride;
        for (ptrdiff_t j = 0; j <= i; j++) {
            const double *lj = a + j * stride;
            double sum = li[j] + (i == j ? ridge : 0);
            for (ptrdiff_t k = 0; k < j; k++) {
                sum -= li[k] * lj[k];
            }
            if (i == j && !(sum > 0)) return false;
            li[j] = i == j ? sqrt(sum) : sum / lj[j];
        }
    }
    for (ptrdiff_t r = 0; r < count; r++) {
        double *v = b + r * n;
        for (ptrdiff_t i = 0; i < n; i++) {
            for (ptrdiff_t k = 0; k < i; k++) {
                v[i] -= a[i * stride + k] * v[k];
            }
            v[i] /= a[i * stride + i];
        }
        for (ptrdiff_t i = n - 1; i >= 0; i--) {
            v[i] /= a[i * stride + i];
            for (ptrdiff_t k = 0; k < i; k++) {
                v[k] -= a[i * stride + k] * v[i];
            }
        }
    }
    return true;
}

void lab_standardise(double *v, ptrdiff_t count, ptrdiff_t all, ptrdiff_t stride)
{
    double mean = 0, square = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        mean += v[i * stride] / (double)count;
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        double off = v[i * stride] - mean;
        square += off * off / (double)count;
    }
    for (ptrdiff_t i = 0; i < all; i++) {
        v[i * stride] = (v[i * stride] - mean) / (square > 0 ? sqrt(square) : 1);
    }
}

/* c = (K + lambda n I)^-1 k0 at each point. Where the target is shifted by its mean, ybar + c'(y - ybar) has
 * the weights c_i + (1 - sum c)/n. */
static int weights(epiq_ctx *ctx, const lab_cell *c, const epiq_options *o, const lab_drawn *drawn, double *w,
                   bool *known)
{
    ptrdiff_t n = c->n, points = lab_points(c), all = n + points;
    bool standard = o->scale == EPIQ_SCALE_STANDARD;
    epiq_options plain = *o;
    epiq_data *data = NULL;
    double *x = calloc((size_t)(all * (c->d + 1)), sizeof *x), *k = calloc((size_t)(all * all), sizeof *k);
    int s = x && k ? EPIQ_OK : EPIQ_E_NOMEM;
    plain.scale = EPIQ_SCALE_NONE;
    if (!s) {
        memcpy(x, drawn->x, (size_t)(n * c->d) * sizeof *x);
        memcpy(x + n * c->d, drawn->points, (size_t)(points * c->d) * sizeof *x);
        for (ptrdiff_t j = 0; standard && j < c->d; j++) {
            lab_standardise(x + j, n, all, c->d);
        }
        s = epiq_data_new(ctx, all, c->d, x, x + all * c->d, NULL, &plain, &data);
    }
    s = s ? s : epiq_kernel(ctx, data, &plain, k, NULL);
    for (ptrdiff_t p = 0; !s && p < points; p++) {
        for (ptrdiff_t i = 0; i < n; i++) {
            w[p * n + i] = k[(n + p) * all + i];
        }
    }
    *known = !s && lab_solve(n, all, k, o->lambda * (double)n, points, w);
    for (ptrdiff_t p = 0; standard && *known && p < points; p++) {
        double rest = (1 - lab_mean(w + p * n, n) * (double)n) / (double)n;
        for (ptrdiff_t i = 0; i < n; i++) {
            w[p * n + i] += rest;
        }
    }
    epiq_data_free(ctx, data);
    free(k);
    free(x);
    return s;
}

int lab_control(epiq_ctx *ctx, const lab_cell *c, const epiq_options *o, const lab_drawn *drawn, double *sample)
{
    ptrdiff_t n = c->n, points = lab_points(c);
    bool known = false;
    if (o->scale == EPIQ_SCALE_MINMAX) { /* its shift of the target, the least of it, is not linear in the target */
        return EPIQ_OK;
    }
    double *w = malloc((size_t)(points * n) * sizeof *w);
    int s = w ? weights(ctx, c, o, drawn, w, &known) : EPIQ_E_NOMEM;
    for (ptrdiff_t p = 0; known && p < points; p++) {
        double *out = sample + p * (c->length / points), y = 0, f = 0, noise = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            double wi = w[p * n + i];
            y += wi * drawn->y[i];
            f += wi * drawn->f[i];
            noise += wi * wi * drawn->s[i];
        }
        out[S_CONTROL] = y;
        out[S_CONTROL_MEAN] = f;
        out[S_CONTROL_NOISE] = noise;
    }
    free(w);
    return s;
}

/* ---- the truth ---- */

bool lab_has_control(const lab_cell *c)
{
    bool known = c->control;
    for (ptrdiff_t rep = 0; known && rep < c->reps; rep++) {
        known = isfinite(lab_get(c, rep, S_CONTROL));
    }
    return known;
}

enum { NETWORKS, CONTROL, CONTROL_MEAN, VALUES };

static void values(const lab_cell *c, ptrdiff_t rep, const void *how, double *v)
{
    (void)how;
    v[NETWORKS] =
        c->o.engine != EPIQ_ENGINE_INFINITE ? lab_mean(lab_members(c, rep), c->o.members) : lab_get(c, rep, S_KERNEL);
    v[CONTROL] = lab_get(c, rep, S_CONTROL);
    v[CONTROL_MEAN] = lab_get(c, rep, S_CONTROL_MEAN);
}

lab_controlled lab_from_control(const lab_cell *c, ptrdiff_t leave_out)
{
    bool networks = c->o.engine != EPIQ_ENGINE_INFINITE;
    lab_moments m = lab_over(c, leave_out, VALUES, values, NULL);
    double hh = m.product[NETWORKS][NETWORKS], hk = m.product[NETWORKS][CONTROL], kk = m.product[CONTROL][CONTROL];
    double noise = lab_field_mean(c, leave_out, S_CONTROL_NOISE);
    lab_controlled out = {.b = kk > 0 ? hk / kk : 0,
                          .known = noise + m.product[CONTROL_MEAN][CONTROL_MEAN] / (m.n - 1),
                          .tau2 = networks ? lab_mean_over(c, leave_out, lab_within, NULL)
                                           : lab_field_mean(c, leave_out, S_INFINITE)};
    double rest = fmax(hh - out.b * hk, 0) / fmax(m.n - 2, 1); /* of the residual, two numbers being fitted */
    out.data = out.b * out.b * out.known + rest - (networks ? out.tau2 / (double)c->o.members : 0);
    return out;
}
