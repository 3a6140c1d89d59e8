/* subset.c - how the data part varies over x where the rows are too many for a kernel matrix of all of them: kernel
 * regression on a random part of the rows, sum_i c_i^2 at every point. Its size is another, which retraining measures
 * (docs/method.md section 3); no matrix is larger than the part squared.
 */
#include "est/if.h"

#include <math.h>
#include <string.h>

enum {
    ROWS = 2048, /* of the part: its triangle takes 17 MB */
    ASKED = 1000 /* other rows, over which the mean is taken */
};

ptrdiff_t epiqp_subset_rows(ptrdiff_t n)
{
    return epiqp_min(ROWS, n / 2);
}

/* The part's rows, and after them the points and rows to ask about. */
static void gather(const epiqp_problem *pb, ptrdiff_t rows, ptrdiff_t asked, ptrdiff_t *order, double *x)
{
    const ptrdiff_t d = pb->data->d;
    for (ptrdiff_t i = 0; i < pb->n; i++) {
        order[i] = i;
    }
    epiqp_shuffle((epiqp_stream){pb->plan->ran.seed, EPIQP_FOR_PARTS, 1}, 0, pb->n,
                  order); /* stream 0 deals rows into parts */
    epiqp_take_rows(pb->data, rows, order, x, NULL);
    memcpy(x + rows * d, pb->at, (size_t)(pb->points * d) * sizeof *x);
    epiqp_take_rows(pb->data, asked, order + rows, x + (rows + pb->points) * d, NULL);
}

/* Where the rows that points leave out are among the part's rows (points and rows asked about), -1: they are not. */
static int list_left_out(const epiqp_problem *pb, ptrdiff_t rows, ptrdiff_t asked, const ptrdiff_t *order,
                         const ptrdiff_t **out)
{
    ptrdiff_t *list = epiqp_room(pb, pb->points + asked + pb->n, sizeof *list);
    if (!list) return EPIQ_E_NOMEM;
    ptrdiff_t *place = list + pb->points + asked;
    for (ptrdiff_t i = 0; i < pb->n; i++) {
        place[order[i]] = i < rows ? i : -1;
    }
    for (ptrdiff_t p = 0; p < pb->points + asked; p++) {
        list[p] = p < pb->points && pb->left_out[p] >= 0 ? place[pb->left_out[p]] : -1;
    }
    *out = list;
    return EPIQ_OK;
}

int epiqp_if_subset(const epiqp_problem *pb, epiqp_if_findings *found)
{
    const ptrdiff_t d = pb->data->d, rows = epiqp_subset_rows(pb->n), asked = epiqp_min(ASKED, pb->n - rows);
    /* Networks answer without a fold, and parts are of all rows: with lambda n held that is less than in proportion to the rows. */
    const double fewer = sqrt((double)pb->plan->folds->count / (double)(pb->plan->folds->count - 1));
    epiqp_reference *ref = &found->reference;
    const epiqp_env alone = epiqp_alone(&pb->e);
    epiqp_fit part = {0};
    ptrdiff_t *order = epiqp_alloc(pb->e.c, pb->n, sizeof *order);
    double *x = epiqp_alloc(pb->e.c, (rows + pb->points + asked) * d, sizeof *x), mean = 0;
    double *weight = epiqp_room(pb, rows, sizeof *weight);
    int s = order && x && weight ? epiqp_reference_room(pb, ref) : EPIQ_E_NOMEM;
    if (s) goto end;
    gather(pb, rows, asked, order, x);
    if ((s = epiqp_fit_new(&alone, &pb->plan->ran, rows, d, x, pb->data->y, pb->points + asked, x + rows * d, &part))) {
        goto end;
    }
    part.solver = EPIQ_SOLVER_EXACT;
    if ((pb->left_out && (s = list_left_out(pb, rows, asked, order, &part.left_out))) ||
        (s = epiqp_fit_solve(&alone, &part))) {
        goto end;
    }
    for (ptrdiff_t p = 0; p < pb->points + asked; p++) {
        double *c = part.ridge.c + p * rows;
        if (part.left_out && part.left_out[p] >= 0 && !epiqp_leave_row_out(rows, part.left_out[p], c)) {
            s = epiqp_fail(pb->e.c, EPIQ_E_NUMERIC, "%s cannot be left out numerically; use a larger {--lambda}",
                           pb->name[p]);
            goto end;
        }
        const double *w = p < pb->points ? epiqp_target_weights(&pb->plan->ran, rows, c, weight) : c;
        double c2 = epiqp_dot(rows, w, w) * (double)rows / (double)pb->n; /* what all rows would have, about */
        if (p < pb->points) {
            found->part[p] = epiq_part_of(c2, (double)(pb->data->groups - 1), pb->plan->ran.level, EPIQ_BY_IF);
        } else {
            mean += c2 / (double)asked;
        }
    }
    for (ptrdiff_t i = 0; i < pb->n; i++) {
        ref->size[i] = 1;
        ref->expected[i] = fewer * mean;
    }
    ref->known = true;
    ref->mean_noise = 1; /* the parts so far are those of noise of variance 1 */
end:
    epiqp_fit_free(pb->e.c, &part);
    epiqp_free(pb->e.c, order);
    epiqp_free(pb->e.c, x);
    return s;
}
