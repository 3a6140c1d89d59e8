/* race.h - the race of networks by which a width and lambda that were left open are chosen (docs/method.md section 4): its
 * candidates and their errors (race_models.c), the order in which they are tried (race.c), the choice (choose.c), and what all
 * of it will take (choose_forecast.c).
 */
#ifndef EPIQP_RACE_H
#define EPIQP_RACE_H

#include "run/run.h"

enum {
    EPIQP_RACE_FOLDS = 5,
    EPIQP_RACE_FIRST = 2,       /* networks without each fold: the fewest that tell their spread, */
    EPIQP_RACE_MORE = 2,        /* and for those that are among the best at the end */
    EPIQP_RACE_FINALS_MOST = 6, /* of models of a part that are tried on all rows */
    EPIQP_RACE_BETWEEN = 256,   /* tried beside the narrow ones where infinitely wide networks do about as well */
    EPIQP_RACE_USUAL = 3,       /* the usual lambda among epiqp_race_lambdas */
    EPIQP_RACE_LEVELS = 6,
    EPIQP_RACE_ANY = EPIQP_RACE_LEVELS, /* of them */
    EPIQP_RACE_NARROW = 3,
    EPIQP_RACE_WIDTHS_MOST = EPIQP_RACE_NARROW + 2,
    EPIQP_RACE_MOST = (EPIQP_RACE_WIDTHS_MOST + 1) * EPIQP_RACE_LEVELS /* models */
};
extern const double epiqp_race_lambdas[EPIQP_RACE_LEVELS];
/* Of all networks of a run together, in gradients times rows times weights: about ten minutes of two cores. Of many rows only
 * models that stay below it are chosen. */
#define EPIQP_RACE_RUN_LIMIT 2.5e13

typedef struct {
    epiq_model_tried is; /* width 0: infinitely wide; rmse and se are filled in at the end */
    int level;           /* of epiqp_race_lambdas; -1: lambda is given */
    ptrdiff_t starts;    /* networks without each fold */
    double seconds;      /* that a network took of a processor, on average; 0: unknown */
    double *mean, *m2;   /* n: of their predictions at rows left out, and the squares around it, summed */
    double *e2;          /* n: squared errors of the mean of all networks that a run trains */
    double mse;
    double tau2; /* infinitely wide: variance between networks at rows left out, in closed form; else 0 */
} epiqp_candidate;

typedef struct {
    epiqp_problem *pb;
    epiq_options o; /* as asked for */
    const epiq_data *data;
    bool any_width, any_lambda;
    bool trains;      /* networks answer; else kernel regression does, and only lambda counts */
    bool closed;      /* kernel regression takes part */
    bool starts_open; /* starts are taken off all networks where they would be much of the error */

    ptrdiff_t first;                 /* networks without each fold of a model that is tried */
    epiqp_listed rows;               /* of EPIQP_RACE_FOLDS folds */
    ptrdiff_t folds;                 /* of them, from the first: those left out */
    epiqp_fit fit[EPIQP_RACE_FOLDS]; /* rows without a fold, asked at it */
    epiqp_candidate list[EPIQP_RACE_MOST];
    ptrdiff_t count;
    double stands_for; /* networks times rows of the race that this one rehearses, over its own; 1: it is none */
    double spent;      /* gradients times rows times weights */
    bool limited;      /* some were left out for their cost */
} epiqp_race;

/* ---- race_models.c ---- */

double epiqp_race_lambda(const epiqp_race *r, int level);
/* Rows that the folds in use leave out, of all. */
double epiqp_race_judged(const epiqp_race *r);
/* How far a is behind b, in standard errors of the difference. */
int epiqp_race_behind(const epiqp_race *r, const epiqp_candidate *a, const epiqp_candidate *b, double *out);
/* Of those with the lambda of this level; NULL: there is none. */
const epiqp_candidate *epiqp_race_best(const epiqp_race *r, int level);
/* The simplest within one standard error of the best. */
int epiqp_race_choose(const epiqp_race *r, const epiqp_candidate **out);
/* One more candidate, without errors yet; NULL: there is no memory. */
epiqp_candidate *epiqp_race_add(epiqp_race *r, ptrdiff_t width, int level);
/* Infinitely wide networks with every lambda, in closed form. */
int epiqp_race_kernel(epiqp_race *r);
/* The rows without each fold, for networks; freed by epiqp_race_end. */
int epiqp_race_folds(epiqp_race *r);
void epiqp_race_end(epiq_ctx *c, epiqp_race *r);
/* Trains `starts` more networks without each fold for all of these models, together. */
int epiqp_race_train(epiqp_race *r, epiqp_candidate *const *of, ptrdiff_t models, ptrdiff_t starts);
/* What `starts` more networks without each fold would cost. before: trained networks of the model or of one like it; NULL or
 * without networks: there are none. */
double epiqp_race_work(const epiqp_race *r, ptrdiff_t width, double lambda, const epiqp_candidate *before,
                       ptrdiff_t starts);
/* Seconds of a processor for a network like this one on so many rows; 0: unknown. */
double epiqp_race_seconds(const epiqp_race *r, const epiqp_candidate *m, double rows);
/* Networks of a run, in units of one on all rows. */
double epiqp_race_networks(const epiq_options *o);
/* What all networks of a run on all rows would cost with this model and this lambda. */
double epiqp_race_run_work(const epiqp_race *r, const epiqp_candidate *m, ptrdiff_t width, double lambda);

/* Some of the rows, of a part or of all: one of so many parts. Where they are too few for that r stays as it is. */
int epiqp_race_take_part(epiqp_race *r, uint64_t number, ptrdiff_t parts, epiq_data *part);
int epiqp_race_deal(epiqp_race *r);
/* Whether kernel regression can take part. */
bool epiqp_race_closed(const epiqp_race *r);

/* ---- race.c ---- */

enum { EPIQP_RACE_FINALISTS = 4 }; /* models with more networks at the end: so many at most */
/* Tries kernel regression and networks, dealt into folds already. */
int epiqp_race_run(epiqp_race *r);
/* The best, which more networks would distinguish as well as the work allows; and these networks. */
int epiqp_race_finalists(epiqp_race *r, epiqp_candidate **out, ptrdiff_t *count);
int epiqp_race_finals(epiqp_race *r);
/* Models of a race on a part of the rows that are to be tried on all; at most EPIQP_RACE_FINALS_MOST. */
int epiqp_race_for_all(epiqp_race *whole, const epiqp_race *part, epiqp_candidate **now, ptrdiff_t *models);

/* ---- choose_forecast.c ---- */

/* The widest that many rows would not rule out for its cost, with the usual lambda. part: of these rows. */
ptrdiff_t epiqp_affordable_width(const epiqp_race *part);
/* What choosing is expected to take, and one network of the run after it. r: with its part of the rows. */
int epiqp_choose_forecast(const epiqp_race *r, const epiqp_request *request, epiqp_resolved *out);

#endif
