/* planted.c - a real table with a function that is known on all its rows: features standardised, the function kernel
 * regression of the table's own target, standardised too. What is drawn from it has real features and a known truth.
 */
#include "study/lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The target and the features, which are plain columns of numbers. */
static bool take_numbers(const epiq_matrix *m, const lab_table *t, lab_planted *p)
{
    ptrdiff_t target = 0;
    if (!m->column || m->columns <= t->d || m->rows < p->rows) return false;
    while (target <= t->d && strcmp(m->column[target], t->target) != 0) {
        target++;
    }
    if (target > t->d) return false;
    for (ptrdiff_t row = 0; row < p->rows; row++) {
        for (ptrdiff_t k = 0; k <= t->d; k++) {
            const double v = ((const double *)m->a)[row * m->columns + k]; /* of CSV */
            if (!isfinite(v)) return false;
            *(k == target ? &p->f[row] : &p->x[row * t->d + k - (k > target)]) = v;
        }
    }
    return true;
}

/* f becomes K (K + lambda n I)^-1 f = f - lambda n (K + lambda n I)^-1 f, with the usual lambda: what is planted does
 * not change with the model that is tried on it. */
static int smooth(epiq_ctx *ctx, ptrdiff_t d, lab_planted *p)
{
    ptrdiff_t n = p->rows;
    epiq_options o = epiq_options_default();
    epiq_data *data = NULL;
    double *k = malloc((size_t)(n * n) * sizeof *k), *alpha = malloc((size_t)n * sizeof *alpha);
    o.scale = EPIQ_SCALE_NONE;
    o.threads = 1;
    const double ridge = EPIQ_USUAL_LAMBDA * (double)n;
    int s = k && alpha ? epiq_data_new(ctx, n, d, p->x, p->f, NULL, &o, &data) : EPIQ_E_NOMEM;
    s = s ? s : epiq_kernel(ctx, data, &o, k, NULL);
    if (!s) {
        memcpy(alpha, p->f, (size_t)n * sizeof *alpha);
        s = lab_solve(n, n, k, ridge, 1, alpha) ? EPIQ_OK : EPIQ_E_NUMERIC;
    }
    for (ptrdiff_t i = 0; !s && i < n; i++) {
        p->f[i] -= ridge * alpha[i];
    }
    epiq_data_free(ctx, data);
    free(alpha);
    free(k);
    return s;
}

int lab_plant(lab *l, const lab_table *table, const lab_planted **out)
{
    const ptrdiff_t n = table->n, d = table->d;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.csv", l->job->data_dir, table->name);
    epiq_ctx *ctx = l->job->crew.workers[0];
    epiq_matrix *read = NULL;
    lab_planted *p = lab_block(l, 1, sizeof *p);
    if (p) {
        *p = (lab_planted){n, lab_block(l, n * d, sizeof *p->x), lab_block(l, n, sizeof *p->f)};
    }
    int s = p && p->x && p->f ? epiq_matrix_read(ctx, path, &read) : EPIQ_E_NOMEM;
    s = s || take_numbers(read, table, p) ? s : EPIQ_E_DATA;
    epiq_matrix_free(ctx, read);
    for (ptrdiff_t k = 0; !s && k < d; k++) {
        lab_standardise(p->x + k, n, n, d);
    }
    if (!s) {
        lab_standardise(p->f, n, n, 1);
        s = smooth(ctx, d, p);
    }
    if (s) {
        return lab_fail(&l->job->crew, s, "%s cannot be used (%s); get the table again", path, epiq_status_text(s));
    }
    lab_standardise(p->f, n, n, 1);
    *out = p;
    return EPIQ_OK;
}
