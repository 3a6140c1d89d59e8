/* subset.c - how the data part varies over x where the rows are too many for a kernel matrix of all of them: kernel
 * regression on a random part of the rows, sum_i c_i^2 at every point. Its size is another, which retraining measures
 * (docs/method.md section 3); no matrix is larger than the part squared.
 */
#include "est/est.h"

#include <string.h>

enum {
    ROWS = 2048, /* of the part: its triangle takes 17 MB */
    ASKED = 1000 /* other rows, over which the mean is taken */
};

/* The part's rows, and after them the points and rows to ask about. */
static int gather(epiqp_job *j, ptrdiff_t rows, ptrdiff_t asked, ptrdiff_t *order, double *x)
{
    const ptrdiff_t d = j->data->d;
    for (ptrdiff_t i = 0; i < j->n; i++) {
        order[i] = i;
    }
    epiqp_shuffle((epiqp_stream){j->o.seed, EPIQP_FOR_PARTS, 1}, 0, j->n, order); /* stream 0 deals rows into parts */
    double *at = x + rows * d + j->points * d;
    memcpy(x + rows * d, j->at, (size_t)(j->points * d) * sizeof *x);
    for (ptrdiff_t k = 0; k < rows + asked; k++) {
        memcpy(k < rows ? x + k * d : at + (k - rows) * d, j->data->x + order[k] * d, (size_t)d * sizeof *x);
    }
    return EPIQ_OK;
}

int epiqp_subset_if(epiqp_job *j)
{
    const ptrdiff_t d = j->data->d, rows = epiqp_min(ROWS, j->n / 2), asked = epiqp_min(ASKED, j->n - rows);
    epiqp_retraining *t = &j->retrain;
    const epiqp_env alone = epiqp_alone(&j->e);
    epiq_options o = j->o;
    epiqp_fit part = {0};
    o.solver = EPIQ_SOLVER_EXACT;
    ptrdiff_t *order = epiqp_alloc(j->e.c, j->n, sizeof *order);
    double *x = epiqp_alloc(j->e.c, (rows + j->points + asked) * d, sizeof *x), mean = 0;
    int s = order && x ? gather(j, rows, asked, order, x) : EPIQ_E_NOMEM;
    s = s ? s : epiqp_fit_new(&alone, &o, rows, d, x, j->data->y, j->points + asked, x + rows * d, &part);
    s = s ? s : epiqp_fit_solve(&alone, &part);
    for (ptrdiff_t p = 0; !s && p < j->points + asked; p++) {
        const double *c = part.ridge.c + p * rows;
        double c2 = epiqp_dot(rows, c, c);
        if (p < j->points) {
            j->inf[p] = epiq_part_of(c2, (double)(j->data->groups - 1), j->o.level, EPIQ_BY_IF);
        } else {
            mean += c2 / (double)asked;
        }
    }
    for (ptrdiff_t i = 0; !s && i < j->n; i++) {
        t->size[i] = 1;
        t->expected[i] = mean;
    }
    t->mean_noise = 1; /* the parts so far are those of noise of variance 1 */
    epiqp_fit_free(j->e.c, &part);
    epiqp_free(j->e.c, order);
    epiqp_free(j->e.c, x);
    return s;
}
