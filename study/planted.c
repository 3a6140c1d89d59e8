/* planted.c - a real table with a function that is known on all its rows: features standardised, the function kernel
 * regression of the table's own target, standardised too. What is drawn from it has real features and a known truth.
 */
#include "study/lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lab_planted_free(lab_planted *p)
{
    if (p) {
        free(p->x);
        free(p->f);
        free(p);
    }
}

/* Which column of the header has this name; -1: none. */
static ptrdiff_t find_column(char *header, const char *name)
{
    char *rest = NULL;
    ptrdiff_t k = 0;
    for (char *cell = strtok_r(header, ",\r\n", &rest); cell; cell = strtok_r(NULL, ",\r\n", &rest), k++) {
        if (strcmp(cell, name) == 0) {
            return k;
        }
    }
    return -1;
}

/* The five tables are plain: a header, then numbers and commas. epiq_data_read has found their size to be right. */
static bool read_numbers(FILE *in, const lab_table *t, lab_planted *p)
{
    char line[4096];
    ptrdiff_t target = fgets(line, sizeof line, in) ? find_column(line, t->target) : -1, row = 0;
    bool there = target >= 0 && target <= t->d;
    for (; there && row < p->rows && fgets(line, sizeof line, in); row++) {
        char *at = line;
        ptrdiff_t feature = 0;
        for (ptrdiff_t k = 0; k <= t->d; k++) {
            char *end;
            double v = strtod(at, &end);
            if (end == at || !isfinite(v)) {
                return false;
            }
            *(k == target ? &p->f[row] : &p->x[row * t->d + feature++]) = v;
            at = end + (*end == ',');
        }
    }
    return there && row == p->rows;
}

/* count numbers, so far apart: mean 0 and standard deviation 1, unless they are all alike */
static void standardise(double *v, ptrdiff_t count, ptrdiff_t stride)
{
    double mean = 0, square = 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        mean += v[i * stride] / (double)count;
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        v[i * stride] -= mean;
        square += v[i * stride] * v[i * stride] / (double)count;
    }
    for (ptrdiff_t i = 0; square > 0 && i < count; i++) {
        v[i * stride] /= sqrt(square);
    }
}

/* f becomes K (K + lambda n I)^-1 f = f - lambda n (K + lambda n I)^-1 f, with the default model: what is planted does not
 * change with the model that is tried on it. */
static int smooth(epiq_ctx *ctx, ptrdiff_t d, lab_planted *p)
{
    ptrdiff_t n = p->rows;
    epiq_options o = epiq_options_default();
    epiq_data *data = NULL;
    double *k = malloc((size_t)(n * n) * sizeof *k), *alpha = malloc((size_t)n * sizeof *alpha);
    o.scale = EPIQ_SCALE_NONE;
    o.threads = 1;
    double ridge = o.lambda * (double)n;
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

int lab_plant(epiq_ctx *ctx, const lab_table *table, const char *folder, lab_planted **out)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.csv", folder, table->name);
    FILE *in = fopen(path, "re");
    lab_planted *p = calloc(1, sizeof *p);
    *out = NULL;
    if (p) {
        *p = (lab_planted){table->n, calloc((size_t)(table->n * table->d), sizeof *p->x),
                           calloc((size_t)table->n, sizeof *p->f)};
    }
    int s = !in                          ? EPIQ_E_FILE
            : !p || !p->x || !p->f       ? EPIQ_E_NOMEM
            : read_numbers(in, table, p) ? EPIQ_OK
                                         : EPIQ_E_DATA;
    if (in) {
        fclose(in);
    }
    for (ptrdiff_t k = 0; !s && k < table->d; k++) {
        standardise(p->x + k, table->n, table->d);
    }
    if (!s) {
        standardise(p->f, table->n, 1);
        s = smooth(ctx, table->d, p);
    }
    if (s) {
        lab_planted_free(p);
        return s;
    }
    standardise(p->f, table->n, 1);
    *out = p;
    return EPIQ_OK;
}
