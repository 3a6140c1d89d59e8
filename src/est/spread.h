/* spread.h - where a new observation falls: an interval around the prediction given, as wide as the place is hard
 * (docs/method.md section 3, equations Y1 to Y7). It is built on errors of rows by networks that have not seen them, in units of
 * what the noise and the variance of those networks explain, and of how large the errors of similar rows are. All in
 * scaled units.
 */
#ifndef EPIQP_SPREAD_H
#define EPIQP_SPREAD_H

#include "est/variance.h"
#include "la/la.h"

#include <stdbool.h>

enum {
    EPIQP_SPREAD_ROWS = 2048, /* the most rows that neighbours are chosen among, so that a point costs O(d) */
    EPIQP_SPREAD_LAW = 10     /* numbers of epiqp_spread_law */
};

/* Every row as predicted by networks that have not seen its group: those of other folds, or all rows but one. */
typedef struct {
    ptrdiff_t n, d, groups;
    const double *x;          /* n by d */
    const double *error;      /* n: target less prediction, finite */
    const double *prediction; /* n */
    const double *variance; /* n: of that prediction, data part plus procedural part over its networks; not negative */
    double networks;        /* that each of these predictions is the mean of; 0: kernel regression's */
    const double *data;     /* n: the data part in it, which errors may lower (Y0); NULL: it is taken as it is */
    const ptrdiff_t *group; /* n: 0 .. groups-1; NULL: every row by itself, groups is n */
    double shrink;          /* epiqp_spread_shrink; 1: rows were left out one by one */
    double noise2;          /* noise variance, where the errors cannot tell it; 0: they do */
} epiqp_spread_rows;

/* What left-out errors are multiplied by to be those of networks that learn from all rows. share: of the rows, learned from
 * when a fold is left out. leave_one_out2, folds2: mean squared errors of kernel regression without single rows (or
 * groups), and without the same folds; 0: unknown, and the squared error is taken to fall with the root of the number of
 * rows. */
double epiqp_spread_shrink(double share, double leave_one_out2, double folds2);

/* Numbers alone, so that a model's file has them as they are. */
typedef struct {
    double prediction_scale; /* 3/(standard deviation of the predictions) */
    double mean_ratio;
    double prior; /* how many rows the whole table counts beside the neighbours; 0: neighbours do not count (Y4) */
    double unit;  /* variances here are in units of its square */
    double base;  /* noise if it is equal everywhere, from the errors as they are (Y1) */
    double shrink;
    double reach;    /* farthest that a row is from the nearest row of other features */
    double given;    /* noise variance that the errors could not tell, in units of unit^2; 0: they did */
    double networks; /* of the predictions that errors are of; 0: kernel regression's */
    double noise_sd; /* root of the mean noise variance of the rows (Y6), in the units of the errors */
} epiqp_spread_law;

/* What a model keeps, all of it: the rest follows from the features and groups of its rows. */
typedef struct {
    const double *prediction; /* rows that neighbours are chosen among */
    const double *ratio;      /* the same rows: squared error over what noise and variance explain (Y2) */
    const double *data;       /* the same rows: the data part, in units of law.unit^2; all 0: it is taken as it is */
    const double *beside;     /* the same rows: squared error less the procedural part, likewise */
    const double *score;      /* n: |error| over its scale, rising (Y5) */
    const double *upto;       /* n: weight of the scores up to this one */
    epiqp_spread_law law;
} epiqp_spread_kept;

typedef struct {
    ptrdiff_t n, d;
    ptrdiff_t rows, near; /* rows that neighbours are chosen among, and how many of them are taken: at most 64 */
    const double *prediction, *ratio, *data, *beside, *score, *upto; /* as kept */
    epiqp_spread_law law;
    const double *x;      /* rows by d */
    const double *weight; /* rows: 1 over the rows of the group */
    const double *scale;  /* d: 1/(standard deviation sqrt(d)); 0: the feature is constant */
    const double *least;  /* d: range of the features over all n rows */
    const double *most;   /* d */
    double beyond;        /* of its range: how far a feature may be outside of it (Y7) */
    double groups;
    /* of the rows themselves, as epiqp_spread_at_row reads it; not there in a model */
    /* n: what rows near each say; its own group, and so its own error, says nothing */
    const struct epiqp_nearby *of_row;
    const ptrdiff_t *group; /* as given */
    ptrdiff_t farthest;     /* the group that decides reach, */
    double other_reach;     /* and what it would be without that group */
} epiqp_spread;

/* Takes O(min(n, 2048) n d) time; the same bits for any number of threads. The arrays live in the arena. */
int epiqp_spread_new(const epiqp_env *e, epiqp_arena *arena, const epiqp_spread_rows *rows, epiqp_spread *out);
/* A copy of what a model keeps, in the arena. */
int epiqp_spread_keep(epiq_ctx *c, epiqp_arena *arena, const epiqp_spread *from, epiqp_spread_kept *out);
/* The same spread again for points that are not rows, of what was kept, and x, group and sizes of the rows. */
int epiqp_spread_restore(epiq_ctx *c, epiqp_arena *arena, const epiqp_spread_rows *rows, const epiqp_spread_kept *kept,
                         epiqp_spread *out);
static inline ptrdiff_t epiqp_spread_count(ptrdiff_t n) /* of the rows that neighbours are chosen among */
{
    return n < EPIQP_SPREAD_ROWS ? n : EPIQP_SPREAD_ROWS;
}

ptrdiff_t epiqp_spread_needs(double level); /* rows, or groups, without which there is no interval at this level */
/* The half-width of the interval over the standard deviation of epiqp_spread_at. False: there are too few rows. */
bool epiqp_spread_factor(const epiqp_spread *s, double level, double *factor);

/* What the rows near a place say. */
typedef struct epiqp_nearby {
    double weight, ratio;    /* sums over the neighbours: of the weights, of weight times ratio, */
    double data, beside;     /* of weight times data and beside, */
    double weight2, beside2; /* of the squares of weight, and of weight times beside */
    double apart2;           /* squared distance, by features alone, of the nearest row */
    double noise;            /* of a row: its noise variance (Y6) */
} epiqp_nearby;

/* x: d. Takes O(min(n, 2048) d) time. Thread-safe, as are those that follow. */
epiqp_nearby epiqp_spread_look(const epiqp_spread *s, const double *x, double prediction);
/* How much of the data part the errors of near rows leave room for, in (0, 1]: they hold it, beside the noise (Y0). */
double epiqp_spread_trust(const epiqp_nearby *near);
/* The data part times that. The fewer errors say so and the more they scatter, the fewer degrees of freedom, down to EPIQP_NARROW. */
epiq_part epiqp_spread_trusted(const epiqp_nearby *near, epiq_part data, double level);

typedef struct {
    bool known;      /* false: a double cannot hold it */
    bool outside;    /* of the data: the interval is to be withheld (Y7) */
    double noise_sd; /* of the noise here */
    double sd;       /* of a new observation from the prediction: noise and variance together, never below the latter */
} epiqp_spread_place;

/* near: of x. variance: of the prediction given, data part, as far as it is trusted, plus procedural part over its networks;
 * of_few: the same of law.networks networks. */
epiqp_spread_place epiqp_spread_at(const epiqp_spread *s, const double *x, const epiqp_nearby *near, double variance,
                                   double of_few);
/* At a row as the networks that have not seen it predict it. The noise does not depend on the variance, so that its mean square over all rows is law.noise_sd squared. */
epiqp_spread_place epiqp_spread_at_row(const epiqp_spread *s, ptrdiff_t row, double variance);

#endif
