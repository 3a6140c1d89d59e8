/* plan.h - what an estimate will do, decided once (run/solver.c) from the options that run/resolve.c has settled, the sizes of
 * the problem and what the caller requests. Execution, the forecast of its cost, reports and the model file read the plan;
 * nothing changes it.
 */
#ifndef EPIQP_PLAN_H
#define EPIQP_PLAN_H

#include "est/problem.h"

enum {
    EPIQP_INVERSE_ROWS = 10000, /* above, leverages come from probes unless as many probes as rows are asked for */
    EPIQP_CHEAP_ROWS = 2048 /* up to here a factor and its inverse cost less than one training: made for checks too */
};

/* Where the data variance by the influence function comes from. */
typedef enum {
    EPIQP_IF_NONE,
    EPIQP_IF_POPULATION, /* the population kernel's ridge solution of all rows */
    EPIQP_IF_EMPIRICAL,  /* that of the mean empirical kernel of the networks' starts */
    EPIQP_IF_DIVIDED,    /* the mean over parts of the rows: divided.c */
    EPIQP_IF_STOPPED,    /* gradient flow stopped at a time: stopped.c */
    EPIQP_IF_SUBSET      /* its shape over x from some of the rows, its size from retraining: subset.c */
} epiqp_if_by;

typedef struct epiqp_plan {
    epiq_options ran;   /* the options as run: nothing in them is left to choose */
    const char *choice; /* why these methods, where they were chosen automatically; else NULL */
    uint64_t seed;      /* of probes and neighbours: ran.seed, and one of its own for each part of the rows */
    /* the kernel */
    bool solve;                /* the population kernel of all rows is solved, by ran.solver */
    ptrdiff_t resident;        /* bytes of its factor that are in memory at a time; 0: it is not in a scratch file */
    bool closed_form;          /* tau^2 of infinitely wide networks is computed, */
    bool closed_is_procedural; /* and is the procedural part, since there are no networks */
    /* IF. With parts, leverages are those within each part. */
    epiqp_if_by influence;
    bool leverage;         /* leverages are computed, */
    ptrdiff_t probes;      /* random probes they come from; 0: from the inverse */
    bool leave_out;        /* every group of rows is left out once */
    bool predictive;       /* and gives the interval of a new observation at the points, */
    bool wants_predictive; /* which was requested, whether or not it can be had */
    /* networks */
    bool members;                    /* ran.members networks are trained on all rows */
    bool members_at_rows;            /* and predict the rows too: IF takes its residuals from them */
    bool batches;                    /* ran.batches networks are trained, each on a batch of the rows */
    bool phi;                        /* what corrects BA for small batches is computed */
    ptrdiff_t fold_starts;           /* networks trained without each fold of the rows; 0: none */
    const struct epiqp_folds *folds; /* NULL: none */
    ptrdiff_t retrained;             /* networks trained for retraining, EPIQP_STARTS of each fold among them; 0: the
                                      * data part is IF's alone */
    ptrdiff_t resamples;             /* networks trained on rows drawn with replacement; 0: none */
    bool limit;                      /* kernel regression's limit of many rows is computed, for the interval of that */
    bool answers_at_points;          /* of retrained networks: kappa is measured at every point */
    epiqp_arena *keep;               /* where the weights of networks are kept for a model; NULL: they are not */
    bool may_end_early;              /* on request, with the networks there are */
    epiq_cost cost;
    const epiqp_hints *hints;
} epiqp_plan;

/* Corrections in which the noise differs from row to row. */
static inline bool epiqp_noise_by_row(int correction)
{
    return correction == EPIQ_CORRECTION_ROWWISE || correction == EPIQ_CORRECTION_MODERATED;
}

/* Whether networks are trained on rows drawn anew, or on all rows but a part. */
static inline bool epiqp_resamples(const epiq_options *o)
{
    return o->confidence == EPIQ_CONFIDENCE_BOOTSTRAP || o->confidence == EPIQ_CONFIDENCE_JACKKNIFE ||
           o->confidence == EPIQ_CONFIDENCE_HALVES;
}

static inline bool epiqp_plan_inverse(const epiqp_plan *plan)
{
    return plan->leverage && !plan->probes;
}

#endif
