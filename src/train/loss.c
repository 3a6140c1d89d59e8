/* loss.c - the regularised loss and its gradient (train.h). */
#include "train/train.h"

#include <math.h>
#include <string.h>

double epiqp_loss(const epiqp_env *e, const epiqp_task *t, const double *theta, double *grad, double *gradient_rel,
                  epiqp_pass *work)
{
    ptrdiff_t p = epiqp_net_params(t->net);
    memset(grad, 0, (size_t)p * sizeof *grad);
    double squares = epiqp_net_squares(e, t->net, theta, t->n, t->x, t->y, 2 / (double)t->n, NULL, grad, work);
    double data = sqrt(epiqp_dot(p, grad, grad)), moved = 0;
    for (ptrdiff_t k = 0; k < p; k++) {
        double step = theta[k] - t->theta0[k];
        moved += step * step;
        grad[k] += 2 * t->lambda * step;
    }
    if (gradient_rel) {
        double parts = data + 2 * t->lambda * sqrt(moved);
        *gradient_rel = parts > 0 ? sqrt(epiqp_dot(p, grad, grad)) / parts : 0;
    }
    return squares / (double)t->n + t->lambda * moved;
}
