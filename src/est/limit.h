/* limit.h - what kernel regression would predict with ever more rows, from those at hand: limit.c. */
#ifndef EPIQP_LIMIT_H
#define EPIQP_LIMIT_H

#include "est/plan.h"

typedef struct {
    bool known;
    double *now;        /* points: kernel regression's prediction as it is, */
    double *prediction; /* what it would tend to, */
    epiq_part *part;    /* and the data variance of that */
} epiqp_limit;
int epiqp_limit_new(const epiqp_problem *pb, epiqp_limit *out);

#endif
