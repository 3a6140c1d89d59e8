/* descent.c - plain gradient descent with a fixed step: on all rows, as published, or on mini-batches (train.h). */
#include "train/train.h"

#include <math.h>
#include <string.h>

enum { FIRST_CHECK = 64 };
static const ptrdiff_t MOST_STEPS = (ptrdiff_t)1 << 20;
static const double SETTLED =
    1e-3; /* converged: the second half of all steps lowered the loss by less than this fraction */
static const double DIVERGED = 1e4; /* a loss so many times the first one will not come back */

typedef struct {
    epiqp_task task; /* of one step: all rows, or copies of a mini-batch's */
    double *x, *y, *grad;
    ptrdiff_t *order;
    epiqp_pass pass;
} walk;

static int walk_new(const epiqp_env *e, const epiqp_task *t, ptrdiff_t rows, walk *w)
{
    *w = (walk){.task = *t};
    w->grad = epiqp_alloc(e->c, epiqp_net_params(t->net), sizeof(double));
    w->x = epiqp_alloc(e->c, rows * t->net->d, sizeof(double));
    w->y = epiqp_alloc(e->c, rows, sizeof(double));
    w->order = epiqp_alloc(e->c, t->n, sizeof *w->order);
    return w->grad && w->x && w->y && w->order ? epiqp_task_pass(e, t, &w->pass) : EPIQ_E_NOMEM;
}

static void walk_free(const epiqp_env *e, walk *w)
{
    epiqp_pass_free(e->c, &w->pass);
    epiqp_free(e->c, w->grad);
    epiqp_free(e->c, w->x);
    epiqp_free(e->c, w->y);
    epiqp_free(e->c, w->order);
}

/* Gather mini-batch `number` of the epoch; a new epoch is a new shuffle. */
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

/* Where to look at the loss next: after every doubling, or half way to the given end and there. */
static ptrdiff_t next_check(ptrdiff_t step, ptrdiff_t end)
{
    if (end > 0) {
        return step < end / 2 ? end / 2 : end;
    }
    return epiqp_max(FIRST_CHECK, 2 * step);
}

int epiqp_descend(const epiqp_env *e, const epiqp_task *t, const epiqp_descent *how, double *theta,
                  epiqp_training *report)
{
    ptrdiff_t p = epiqp_net_params(t->net), limit = how->steps > 0 ? how->steps : MOST_STEPS;
    ptrdiff_t rows = how->batch_size > 0 && how->batch_size < t->n ? how->batch_size : 0; /* 0: all */
    walk w;
    int status = walk_new(e, t, rows, &w);
    *report = (epiqp_training){0};
    if (status) {
        goto end;
    }
    double start = epiqp_loss(e, t, theta, w.grad, &report->gradient_rel, &w.pass);
    report->loss = start;
    if (!(start <= EPIQP_LARGEST_LOSS)) {
        status = epiqp_too_large(e);
        goto end;
    }
    while (report->iterations < limit && !report->converged) {
        ptrdiff_t check = next_check(report->iterations, how->steps);
        for (; report->iterations < check; report->iterations++) {
            if (epiqp_stopping(e->c)) {
                status = epiqp_fail(e->c, EPIQ_E_STOPPED, "stopped on request during training");
                goto end;
            }
            if (rows) {
                choose_rows(t, how, rows, report->iterations, &w);
            }
            double loss = epiqp_loss(e, &w.task, theta, w.grad, NULL, &w.pass);
            if (!(loss <= DIVERGED * start)) {
                status = epiqp_fail(e->c, EPIQ_E_NUMERIC,
                                    "gradient descent diverged at step %td; use a smaller --lr than %g",
                                    report->iterations, how->lr);
                goto end;
            }
            epiqp_axpy(p, -how->lr, w.grad, theta);
        }
        double before = report->loss;
        report->loss = epiqp_loss(e, t, theta, w.grad, &report->gradient_rel, &w.pass);
        report->converged =
            check > 1 && (how->steps == 0 || check == limit) && fabs(before - report->loss) <= SETTLED * report->loss;
    }
    if (!(report->loss <= DIVERGED * start)) {
        status = epiqp_fail(e->c, EPIQ_E_NUMERIC, "gradient descent diverged; use a smaller --lr than %g", how->lr);
    }
end:
    walk_free(e, &w);
    return status;
}
