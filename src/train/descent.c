/* descent.c - plain gradient descent with a fixed step: on all rows, as published, or on mini-batches (train.h). */
#include "train/train.h"

#include <math.h>
#include <string.h>

enum { FIRST_CHECK = 64 };
static const ptrdiff_t MOST_STEPS = (ptrdiff_t)1 << 20;
static const double SETTLED = 1e-3; /* converged: the second half of all steps lowered the loss by at most this share */
static const double DIVERGED = 1e4; /* a loss larger than the first one by this factor has diverged */

typedef struct {
    epiqp_task task;  /* of one step: all rows, or a copy of the mini-batch's rows */
    double *x, *y;    /* that copy */
    ptrdiff_t *order; /* n: of this epoch */
} walk;

/* Copies mini-batch `number` of the epoch; every epoch has its own shuffle. */
static void choose_rows(const epiqp_task *t, const epiqp_descent *how, ptrdiff_t rows, ptrdiff_t step, walk *w)
{
    ptrdiff_t in_epoch = (t->n + rows - 1) / rows, number = step % in_epoch, d = t->net->d;
    if (number == 0) {
        for (ptrdiff_t i = 0; i < t->n; i++) {
            w->order[i] = i;
        }
        epiqp_shuffle(how->order, (uint64_t)(step / in_epoch), t->n, w->order);
    }
    w->task.n = epiqp_min(rows, t->n - number * rows);
    for (ptrdiff_t i = 0; i < w->task.n; i++) {
        ptrdiff_t from = w->order[number * rows + i];
        memcpy(w->x + i * d, t->x + from * d, (size_t)d * sizeof *w->x);
        w->y[i] = t->y[from];
    }
    w->task.x = w->x;
    w->task.y = w->y;
}

int epiqp_descend(const epiqp_env *e, const epiqp_task *t, const epiqp_descent *how, double *theta,
                  epiqp_training *report)
{
    ptrdiff_t p = epiqp_net_params(t->net), limit = how->steps > 0 ? how->steps : MOST_STEPS;
    ptrdiff_t rows = how->batch_size > 0 && how->batch_size < t->n ? how->batch_size : 0; /* 0: all */
    double *grad = epiqp_alloc(e->c, p + rows * (t->net->d + 1), sizeof *grad);
    walk w = {.task = *t, .order = epiqp_alloc(e->c, t->n, sizeof *w.order)};
    epiqp_pass pass = {0};
    *report = (epiqp_training){0};
    int status = grad && w.order ? epiqp_task_pass(e, t, &pass) : EPIQ_E_NOMEM;
    if (status) goto end;
    w.x = grad + p;
    w.y = w.x + rows * t->net->d;
    double start = epiqp_loss(t, theta, grad, &report->gradient_rel, &pass);
    report->loss = start;
    if ((status = epiqp_check_size(e, start <= EPIQP_LARGEST_LOSS))) goto end;
    while (report->iterations < limit && !report->converged) {
        /* the loss is computed after every doubling, or half way to the given end and at the end */
        ptrdiff_t half = how->steps / 2, doubled = epiqp_max(FIRST_CHECK, 2 * report->iterations),
                  given = report->iterations < half ? half : how->steps, check = how->steps > 0 ? given : doubled;
        for (; report->iterations < check; report->iterations++) {
            if ((status = epiqp_check_cancel(e))) goto end;
            if (rows) choose_rows(t, how, rows, report->iterations, &w);
            double loss = epiqp_loss(&w.task, theta, grad, NULL, &pass);
            if (!(loss <= DIVERGED * start)) {
                status = epiqp_fail(e->c, EPIQ_E_NUMERIC,
                                    "gradient descent diverged at step %td; use a smaller {--lr} than %g",
                                    report->iterations, how->lr);
                goto end;
            }
            epiqp_axpy(p, -how->lr, grad, theta);
        }
        double before = report->loss;
        report->loss = epiqp_loss(t, theta, grad, &report->gradient_rel, &pass);
        bool settled = fabs(before - report->loss) <= SETTLED * report->loss;
        report->converged = check > 1 && (how->steps == 0 || check == limit) && settled;
    }
    if (!(report->loss <= DIVERGED * start)) {
        status = epiqp_fail(e->c, EPIQ_E_NUMERIC, "gradient descent diverged; use a smaller {--lr} than %g", how->lr);
    }
end:
    epiqp_pass_free(e->c, &pass);
    epiqp_free(e->c, grad);
    epiqp_free(e->c, w.order);
    return status;
}
