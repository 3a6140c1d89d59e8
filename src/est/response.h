/* response.h - how much networks follow changed targets, in variance, against kernel and linear regression: response.c, ols.c
 * (docs/method.md section 3). A model asks the same at other points.
 */
#ifndef EPIQP_RESPONSE_H
#define EPIQP_RESPONSE_H

#include "data/data.h"
#include "la/la.h"

enum {
    EPIQP_MOST_FOLDS = 100,
    EPIQP_STARTS = 2 /* products of two starts' answers do not hold what is one start's own */
};

/* Linear regression on features and a constant, and its answers to the steps of retraining: ols.c. */
typedef struct {
    ptrdiff_t n, p;        /* p: features and one; 0: too many for the rows, and every answer is 0 */
    double *shift, *scale; /* p - 1: a feature enters as (x - shift) scale, with mean 0 and variance 1 */
    double *w;             /* n by p: these, after a 1 */
    double *root;          /* p by p: the Cholesky factor of W'W, kept off 0 */
    double *beta;          /* vectors by p: coefficients without the fold, for each of the steps */
} epiqp_ols;

/* The steps, for points to be asked about. */
typedef struct {
    const epiq_data *data; /* rows, features and groups */
    ptrdiff_t replicates, folds;
    const ptrdiff_t *fold;  /* n */
    const double *u, *size; /* replicates by n, and n */
    const double *alone;    /* n: noise of a row alone, 0: unknown; NULL: of none */
    const epiqp_ols *ols;
} epiqp_steps;
int epiqp_ols_new(const epiqp_env *e, epiqp_arena *arena, const epiqp_steps *s, ptrdiff_t vectors, epiqp_ols *out);
double epiqp_ols_at(const epiqp_ols *o, ptrdiff_t vector, ptrdiff_t row); /* its answer to a step, at a row */
/* At a point: its answers (replicates) to the steps, and what multiplies each row's target (n). w: p of scratch. */
void epiqp_ols_point(const epiqp_env *e, const epiqp_ols *o, const double *at, ptrdiff_t replicates, double *answer,
                     double *row_weight, double *w);
double epiqp_ols_bytes(ptrdiff_t n, ptrdiff_t groups, ptrdiff_t d, ptrdiff_t vectors);

/* ---- the answers of kernel and linear regression at a point ---- */

typedef struct {
    double *kernel, *linear;       /* replicates each: to every step */
    double kernel2, linear2, both; /* expected squares over all signs, about: of the first, the second, their product */
    double own, own_alone;         /* of IF's variance at a point that is a row: the row's own share, and what its noise
                                   * alone makes of that; both 0 at any other point */
    double c2;                     /* |c|^2 */
} epiqp_expected;
/* Room for the answers at `points` points. */
epiqp_expected *epiqp_expected_new(epiq_ctx *c, epiqp_arena *arena, ptrdiff_t points, ptrdiff_t replicates);
static inline ptrdiff_t epiqp_expected_room(ptrdiff_t n) /* doubles of scratch */
{
    return 4 * n;
}
/* c: the point's kernel weights; at: the point, scaled. */
void epiqp_expect(const epiqp_env *e, const epiqp_steps *s, const double *c, const double *at, double *room,
                  epiqp_expected *out);
void epiqp_own_noise(const epiqp_steps *s, const double *c, const double *at, double *own, double *own_alone);

/* ---- how much networks follow the data, in variance, against kernel regression: response.c ---- */

/* Networks answer about as `kernel` times kernel regression and `linear` times linear regression. */
typedef struct {
    double kappa;          /* how much they follow the data, in variance, against kernel regression */
    double kernel, linear; /* at least 0; both 0: unknown */
    double rest;           /* how much they follow the data, in variance, against that sum */
} epiqp_following;

/* What retraining found: IF's V is multiplied by kappa and by noise. Numbers alone, since a model file holds them. */
typedef struct {
    epiqp_following left_out; /* over rows left out */
    epiqp_following at_rows;  /* over rows that the networks were trained on */
    double noise;             /* that the networks leave, over IF's own */
    double spread;            /* relative variance of kappa noise */
    double step;              /* by which targets were moved, scaled */
    double least;             /* noise of a row, scaled: the data part is not below this times |c|^2 */
} epiqp_followed;
enum { EPIQP_KEPT_RETRAIN = sizeof(epiqp_followed) / sizeof(double) };

/* How far one step moves predictions at a place: of two networks, of kernel and linear regression, and of the reference,
 * which is so much of each as the networks follow. */
typedef struct {
    double start[EPIQP_STARTS], kernel, linear, reference;
} epiqp_answers;
/* The networks', in steps, from predictions of those trained with plus and with minus a step, stride apart from start to
 * start. */
epiqp_answers epiqp_answers_of(const double *plus, const double *minus, ptrdiff_t stride, double step);

/* Sums over rows, with G_s the answers of the networks (s: starts), G their mean, d the kernel's, l linear regression's. */
typedef struct {
    double products;                 /* of G_1 G_2 */
    double with_kernel, with_linear; /* of G d and G l */
    double kernel, linear, both;     /* of d^2, l^2 and d l */
} epiqp_response;
void epiqp_response_add(epiqp_response *sum, const epiqp_response *more);
epiqp_response epiqp_response_of(const epiqp_answers *a);
/* The expected square of the reference, from those of both regressions and of their product. */
double epiqp_reference_square(const epiqp_following *f, double kernel, double linear, double both);
epiqp_following
epiqp_follow(const epiqp_response *sum); /* by least squares; kappa 0 where the kernel answers nothing */

/* `rest` drawn towards what the networks answer at one point against the reference. expected: the mean square of the
 * reference there over all signs. */
double epiqp_rest_here(double rest, ptrdiff_t count, const epiqp_answers *of, double expected);
/* kappa at a point, from the networks' answers there (replicates, written to). left_out: the row that is asked about and left
 * out, -1: none. expected NULL: unknown. */
double epiqp_kappa_at(const epiqp_followed *f, const epiqp_steps *s, const double *at, ptrdiff_t left_out,
                      const epiqp_expected *expected, epiqp_answers *of);
/* IF's part made that of the networks, which follow the data kappa times as much at that point. expected NULL: unknown. */
epiq_part epiqp_retrained_part(const epiqp_followed *f, double kappa, const epiqp_expected *expected, epiq_part part,
                               double level);

#endif
