/* loss.c - the regularised loss and its gradient (train.h). */
#include "train/remote.h"
#include "train/train.h"

#include <math.h>
#include <string.h>

/* Whether the largest of n numbers, `step` apart, is 0 or of a size whose products single precision can hold. */
static bool ordinary(ptrdiff_t n, ptrdiff_t step, const double *v)
{
    double largest = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(v[i * step]));
    }
    return largest == 0 || (largest >= 1e-6 && largest <= 1e6);
}

static bool all_ordinary(const epiqp_net *net, ptrdiff_t n, const double *x, const double *y)
{
    bool fine = ordinary(1, 1, &net->beta) && ordinary(n, 1, y);
    for (ptrdiff_t a = 0; fine && a < net->d; a++) {
        fine = ordinary(n, net->d, x + a);
    }
    return fine;
}

/* Rounding moves an output by about 1e-7 sqrt(k), k = |x|^2 + beta^2 (1 + bias_sd^2) being about the kernel's
 * diagonal, and so R by up to 2e-7 sqrt(k R). While R >= 1e-6 k the error is below 2e-4 of R even if all rows have the
 * same error, which is less than training resolves. */
static double least_loss(const epiqp_net *net, ptrdiff_t n, const double *x)
{
    double squares = epiqp_dot(n * net->d, x, x) / (double)n;
    return 1e-6 * (squares + net->beta * net->beta * (1 + net->bias_sd * net->bias_sd));
}

bool epiqp_rows_single(const epiqp_env *e, const epiqp_net *net, ptrdiff_t n, const double *x, const double *y,
                       double *least)
{
    const bool single = e->la->gemm32 && all_ordinary(net, n, x, y);
    *least = single ? least_loss(net, n, x) : 0;
    return single;
}

bool epiqp_task_single(const epiqp_env *e, const epiqp_task *t, double *least)
{
    const bool single =
        epiqp_rows_single(e, t->net, t->n, t->x, t->y, least) && ordinary(epiqp_net_params(t->net), 1, t->theta0);
    *least = single ? *least : 0;
    return single;
}

int epiqp_task_pass(const epiqp_env *e, const epiqp_task *t, epiqp_pass *out)
{
    double least;
    int status = epiqp_pass_new(e, t->net, out);
    if (!status && epiqp_task_single(e, t, &least)) {
        status = epiqp_pass_single(e->c, out);
        out->least = least;
        if (status) epiqp_pass_free(e->c, out);
    }
    return status;
}

double epiqp_gradient_rel(double lambda, double data, double moved, double gradient)
{
    const double parts = data + 2 * lambda * sqrt(moved);
    return parts > 0 ? gradient / parts : 0;
}

double epiqp_loss(const epiqp_task *t, const double *theta, double *grad, double *gradient_rel, epiqp_pass *work)
{
    ptrdiff_t p = epiqp_net_params(t->net);
    memset(grad, 0, (size_t)p * sizeof *grad);
    double squares = epiqp_net_squares(work, theta, t->n, t->x, t->y, 2 / (double)t->n, NULL, grad);
    double data = gradient_rel ? sqrt(epiqp_dot(p, grad, grad)) : 0;
    double moved = epiqp_pull(p, 2 * t->lambda, theta, t->theta0, grad);
    if (gradient_rel) *gradient_rel = epiqp_gradient_rel(t->lambda, data, moved, sqrt(epiqp_dot(p, grad, grad)));
    double loss = squares / (double)t->n + t->lambda * moved;
    if (loss < work->least) work->single = false; /* from the next evaluation on */
    return loss;
}

int epiqp_check_size(const epiqp_env *e, bool fits)
{
    if (fits) return EPIQ_OK;
    if (e->remote && epiqp_remote_status(e->remote)) return epiqp_remote_status(e->remote);
    return epiqp_fail(e->c, EPIQ_E_NUMERIC, "training met numbers that are too large; use {--scale} standard");
}

int epiqp_check_cancel(const epiqp_env *e)
{
    if (e->remote && epiqp_remote_status(e->remote)) return epiqp_remote_status(e->remote);
    if (!epiqp_cancel_requested(e->c)) return EPIQ_OK;
    return epiqp_fail(e->c, EPIQ_E_STOPPED, "stopped on request during training");
}
