/* decide.h - from estimates to decisions: what the files of this folder share. */
#ifndef EPIQP_DECIDE_H
#define EPIQP_DECIDE_H

#include "est/est.h"

/* A part's mean over the points of a result (part: its offset in epiq_point); unknown if it is at one of them. The parts
 * at different points come from the same rows and networks: they are taken to err together, which is the widest. */
epiq_part epiqp_part_mean(const epiq_result *r, size_t part, double level);

/* ---- buying whole rows and whole networks (mix.c) ---- */

typedef struct {
    double n, m;                      /* rows and networks there are */
    double price_row, price_training; /* all new networks are trained, with new rows every one is again */
    double sigma2, tau2;              /* V(n', m') = sigma2/n' + tau2/m' */
} epiqp_market;

typedef struct {
    double n, m, trainings, cost, variance;
} epiqp_purchase;

#define EPIQP_MOST 1e9 /* rows or networks: nobody has more, and as doubles they are exact */

epiqp_purchase epiqp_buy_nothing(const epiqp_market *k);
bool epiqp_cheapest(const epiqp_market *k, double goal, epiqp_purchase *out); /* false: no mix reaches it */
epiqp_purchase epiqp_best(const epiqp_market *k, double budget);

#endif
