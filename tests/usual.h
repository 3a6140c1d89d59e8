/* usual.h - options of one model and of all methods: few tests are about their choice, and it takes time. */
#ifndef USUAL_H
#define USUAL_H

#include "epiq.h"

static inline epiq_options usual_options(void)
{
    epiq_options o = epiq_options_default();
    o.width = EPIQ_USUAL_WIDTH;
    o.lambda = EPIQ_USUAL_LAMBDA;
    o.methods = EPIQ_IF | EPIQ_EV | EPIQ_BA;
    return o;
}

#endif
