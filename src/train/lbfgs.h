/* lbfgs.h - the state of the quasi-Newton steps at the end of training (finish.c), and their operations on vectors as
 * long as the weights. These operations have three implementations: in this process in double (lbfgs_here.c); on a
 * device (lbfgs_device.c); after implicit steps, in single precision (lbfgs_implicit.c).
 */
#ifndef EPIQP_LBFGS_H
#define EPIQP_LBFGS_H

#include "train/flow.h"

enum { EPIQP_MOST_KEPT = 2 * EPIQP_MOST_PAIRS + EPIQP_LEADING }; /* s_j, y_j, v_l */

typedef struct epiqp_lbfgs epiqp_lbfgs;

/* The products that a new pair brings, with itself and with the gradient where its step ended. */
typedef struct {
    double sy, yy, sg, yg;
} epiqp_pair_products;

/* g: the gradient; H: the estimate of the inverse Hessian that the pairs make of the first guess gamma P. */
typedef struct {
    /* Computes sg, yg and vg (below) for the gradient at hand. */
    void (*products)(epiqp_lbfgs *m);
    /* direction = H g = gamma P q + sum_j more_j s_j, q = g - sum_j alpha_j y_j; returns its product with g. */
    double (*direct)(epiqp_lbfgs *m, const double *alpha, const double *more);
    /* Returns the loss at theta - length direction. */
    double (*attempt)(epiqp_lbfgs *m, double length);
    /* Accepts the last attempt: theta and g become those at its end; the step and the change of g become pair j; sg, yg
     * and vg become products with the new g, including those of the pair that slot j held before. */
    epiqp_pair_products (*take)(epiqp_lbfgs *m, double length, ptrdiff_t j);

    /* These three apply P by inner products alone. reduce stores the products that determine q - P q. */
    void (*reduce)(epiqp_lbfgs *m, const double *alpha);
    /* Returns y_j'P q, given y_j'q. */
    double (*reduced)(const epiqp_lbfgs *m, ptrdiff_t j, double yq);
    /* Returns y_j'P y_j, given y_j'y_j, for the pair that was taken last, and stores the products that determine
     * y_j - P y_j. was: *m before the step was taken. */
    double (*reduce_change)(epiqp_lbfgs *m, const epiqp_lbfgs *was, ptrdiff_t j, double yy);
} epiqp_lbfgs_way;

extern const epiqp_lbfgs_way epiqp_lbfgs_here, epiqp_lbfgs_device, epiqp_lbfgs_implicit;

struct epiqp_lbfgs {
    const epiqp_lbfgs_way *way;
    const epiqp_env *e;
    epiqp_flow *f;
    ptrdiff_t p;
    /* p each; after implicit steps the vectors of f->implicit take their place. end, next: where the last attempt led, and
     * the gradient there. */
    double *theta, *direction, *end, *next;
    int room, count, at;                           /* capacity in pairs; number of pairs; slot of the next */
    float *s, *y;                                  /* room by p each */
    double sy[EPIQP_MOST_PAIRS][EPIQP_MOST_PAIRS]; /* s_i'y_j */
    double yy[EPIQP_MOST_PAIRS][EPIQP_MOST_PAIRS]; /* y_i'y_j */
    double vy[EPIQP_MOST_PAIRS][EPIQP_LEADING];    /* v_l'y_j, by j */
    double sg[EPIQP_MOST_PAIRS], yg[EPIQP_MOST_PAIRS], vg[EPIQP_LEADING]; /* of the gradient */
    double yd[EPIQP_MOST_PAIRS];                                          /* y_j'(direction) */
    double v[EPIQP_LEADING];                                              /* P q = q - sum_l v[l] v_l */
    double gamma, rel;                                                    /* rel: gradient_rel of the last step taken */
    double moved; /* after implicit steps: |theta - theta0|^2 where the last attempt led */
    /* On a device: |gradient|^2; and for the last attempt the products of its gradient with every stored vector, with
     * itself, and with the direction and the change of the gradient. */
    double gg, of_next[EPIQP_MOST_KEPT], square, of_pair[4];
};

/* The pair k steps ago, from 1. */
static inline int epiqp_lbfgs_slot(const epiqp_lbfgs *m, int k)
{
    return (m->at - k + m->room) % m->room;
}

/* reduce, reduced and reduce_change for P = I - sum_l c_l v_l v_l', the same here and on a device (finish.c). */
void epiqp_lbfgs_slow(epiqp_lbfgs *m, const double *alpha);
double epiqp_lbfgs_slowed(const epiqp_lbfgs *m, ptrdiff_t j, double yq);
double epiqp_lbfgs_slow_change(epiqp_lbfgs *m, const epiqp_lbfgs *was, ptrdiff_t j, double yy);

#endif
