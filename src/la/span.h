/* span.h - the span of some rows, and other rows in its coordinates. Inner products and lengths stay as they are, and nothing
 * else about features counts for networks whose first weights are independent normal numbers, or for their kernels
 * (docs/method.md section 2). So rows of more features than there are rows become shorter without loss.
 */
#ifndef EPIQP_SPAN_H
#define EPIQP_SPAN_H

#include "la/la.h"

typedef struct {
    ptrdiff_t d;     /* numbers of a row as given */
    ptrdiff_t rank;  /* vectors of the basis; 0: there is none */
    const double *q; /* rank by d: orthonormal */
} epiqp_span;

/* Of the rows of x, and of those of more, which may be none. A row that adds less than 1e-13 of its length adds no vector.
 * The basis is in the arena. */
int epiqp_span_new(const epiqp_env *e, epiqp_arena *arena, ptrdiff_t d, ptrdiff_t n, const double *x,
                   ptrdiff_t more_count, const double *more, epiqp_span *out);
/* Coordinates of rows x (count by d) in the basis and, last, how far they are outside the span: count by rank + 1. What two
 * rows outside the span have in common there is lost; what a row has in common with rows of the span, and its length, is
 * not. */
int epiqp_span_enter(const epiqp_env *e, const epiqp_span *s, ptrdiff_t count, const double *x, double *out);

#endif
