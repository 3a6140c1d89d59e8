/* run.h - one estimate: from options and points to a problem and its plan, then the estimators, then the answer. */
#ifndef EPIQP_RUN_H
#define EPIQP_RUN_H

#include "est/assemble.h"

/* What a model keeps of an estimate: model_parts.c. */
typedef struct {
    epiqp_arena arena;
    epiq_options o;                 /* as run */
    epiqp_kept members, batches;    /* theta NULL: none; o.members or o.batches of them, one after the other */
    double *alpha;                  /* n: A^-1 y; NULL: no kernel was solved */
    epiqp_tri factor;               /* of A; a NULL: not kept. Freed by the owner. */
    double *r_std, *r_raw;          /* n: residuals as the correction takes them, and as they are; NULL: no IF */
    double *noise_excess;           /* n: of rows whose noise differs; NULL: another correction */
    double noise_unit;              /* of noise_excess, smoothed and smoothed_sd */
    double *smoothed, *smoothed_sd; /* n: of moderated; NULL: another correction */
    double law[3];                  /* of moderated: kurtosis of the residuals, how far the noise varies, its mean */
    double noise;                   /* noise variance, if equal everywhere, scaled, that phi is made of; 0: no phi */
    epiqp_followed *retrain;        /* NULL: nothing */
    epiqp_kept
        retrained; /* networks: of each replicate the starts with plus, then those with minus; theta NULL: none */
    double *step, *step_size; /* o.replicates by n: u of reference.c, 0: unknown; n: sizes, 0: unknown */
    double *alone;            /* n: noise of the row without misfit, 0: unknown */
    ptrdiff_t *fold;          /* n: the fold that leaves row i out; replicate r belongs to fold r mod o.folds */
    epiqp_span span;          /* of the rows; rank 0: networks have the features themselves */
    bool has_spread;          /* the interval of a new observation is known, from this: */
    epiqp_spread_kept spread;
} epiqp_model_parts;

/* Everything there is at the end of an estimate. */
typedef struct {
    const epiqp_problem *problem;
    const epiqp_fit *fit; /* its ridge solved if the plan has it so; the inverse is gone */
    const epiqp_findings *found;
    const epiqp_answer *answer;
} epiqp_estimated;

/* What a caller wants of an estimate beyond its numbers. */
typedef struct {
    epiqp_model_parts *model; /* NULL, or zero with an owner that frees its arena and its factor, also on failure */
    int (*on_done)(const epiqp_estimated *e, void *user); /* NULL, or called at the end; returns a status */
    void *user;
    double extra_bytes;           /* that on_done takes, */
    const char *extra_bytes_hint; /* and what makes them fewer */
    bool together;                /* what points have in common counts, not each point alone */
    bool may_end_early;           /* on request: with the networks there are */
    bool predictive;              /* where new observations would fall */
    bool left_out;                /* points may be rows that are left out */
    bool leverage;                /* result.fit, even where nothing else needs it */
    bool forecast_only;           /* nothing but what all of it would cost, */
    bool untimed;                 /* by counting alone */
    ptrdiff_t choice_rows;        /* that width and lambda are first chosen on, of twice as many or more; 0: as usual */
    const char **why_not_rows;    /* NULL, or set: why rows cannot be left out; NULL if they can */
} epiqp_request;

int epiqp_estimate(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                   const epiqp_request *request, epiq_result **out);

/* ---- resolve.c: what was left to choose ---- */

typedef struct {
    epiq_options o;     /* methods, correction, data_by and ensemble_size resolved */
    const char *choice; /* why these methods, where they were chosen automatically; else NULL */
    bool subset;        /* how the data part varies over x is taken from some of the rows */
    double
        choosing; /* seconds that choosing the width and lambda took, or in a forecast is expected to; 0: nothing is open */
    bool predictor_open; /* o.predictor is the one to try first */
    bool starts_open;    /* whether starts are taken off is for the choice of the width to say */
    double network;      /* seconds of one network, as chosen or, in a forecast, whichever is chosen; 0: unknown */
} epiqp_resolved;
int epiqp_resolve(const epiqp_problem *pb, const epiqp_request *request, const epiq_options *o, epiqp_resolved *out);
/* Where methods were left to choose and a plan with a kernel matrix takes more bytes than there are: one without, if possible. */
int epiqp_resolve_without_matrix(const epiqp_problem *pb, const epiqp_request *request, double bytes, double have,
                                 epiqp_resolved *r, bool *possible);

/* ---- wide.c: more features than rows ---- */

/* Puts the rows of pb in coordinates of their span, where that makes them shorter. */
int epiqp_wide(epiqp_problem *pb, const epiqp_request *request, const epiq_points *where);
/* The problem's points, by their features, in the same coordinates. */
int epiqp_wide_points(epiqp_problem *pb);

/* ---- choose.c ---- */

enum { EPIQP_CHOICE_ROWS = 4096 }; /* of twice as many or more, a part is tried on first, which has so many at least */
/* Chooses the width and lambda that are left open, and says so in the answer. */
int epiqp_choose_model(epiqp_problem *pb, const epiqp_request *request, epiqp_resolved *resolved, epiqp_answer *a);

/* ---- predictor.c ---- */

/* Chooses the predictor that is left open, and says so in the answer. */
int epiqp_choose_predictor(const epiqp_problem *pb, const epiqp_request *request, epiqp_resolved *r, epiqp_answer *a);

/* ---- solver.c: the plan ---- */

/* Chooses the solver; fails, with alternatives, where the plan does not fit into memory. */
int epiqp_plan_new(const epiqp_problem *pb, const epiqp_request *request, epiqp_resolved *r, const epiqp_hints *hints,
                   epiqp_plan *out);
/* How leverages of `rows` rows are found; exact: there is a factor in memory. */
void epiqp_plan_leverages(epiqp_plan *plan, const epiqp_request *request, ptrdiff_t rows, bool exact);

/* ---- timing.c, cost.c: memory and time, before they are taken ---- */

typedef struct {
    double flops, entries; /* of products and of the kernel, per second, by all threads */
    double network;        /* seconds to train one on all rows while every thread trains one; 0: not timed */
} epiqp_rates;
#define EPIQP_WORTH_TIMING                                                                                             \
    10.0 /* seconds of a run, as counted, from which on its networks are timed where someone waits */
#define EPIQP_WORTH_SAYING 60.0    /* seconds from which on the forecast is reported before the run */
#define EPIQP_STARTING 0.01        /* seconds of a run that does nothing */
#define EPIQP_ROWS_OF_WEIGHT 300.0 /* a gradient costs as much for each weight as so many rows do */
/* Timed where rows are many, and for a forecast; the network is not. */
int epiqp_rates_of(const epiqp_problem *pb, const epiqp_request *request, const epiq_options *o, epiqp_rates *out);
/* Of a network with these options; unchanged where training fails. It takes a second at most, and so much of a network's
 * time or some 50 ms. With a share of 1 and more a network is trained to the end, on some of the rows. */
int epiqp_time_network(const epiqp_problem *pb, const epiq_options *o, double share, double *seconds);
/* Of the time of all networks: what timing them may take of a run, and of one that is only foreseen. */
#define EPIQP_TIMING_SHARE 0.01
#define EPIQP_DRY_TIMING_SHARE 0.05
/* The same, counted and not timed. */
double epiqp_usual_seconds(const epiqp_problem *pb, const epiq_options *o, const epiqp_rates *rate);
/* Networks that are trained, in units of one on all rows. */
double epiqp_cost_networks(const epiqp_problem *pb, const epiqp_plan *plan);
double epiqp_cost_bytes(const epiqp_problem *pb, const epiqp_request *request, const epiqp_plan *plan);
/* Of the factor of n rows and the inverse in its place: in this process, or a rank's share. */
double epiqp_cost_matrix_bytes(const epiqp_problem *pb, const epiqp_plan *plan, ptrdiff_t n);
double epiqp_cost_seconds(const epiqp_problem *pb, const epiqp_plan *plan, const epiqp_rates *rate);
double epiqp_may_use(const epiq_options *o, int sharers); /* bytes, of a machine that so many processes share */
typedef struct {
    char text[24];
} epiqp_duration;
epiqp_duration epiqp_duration_of(double seconds); /* "3 min" */
/* To whoever watches: the stage "forecast", `all` of it being the seconds that the whole run is expected to take. */
int epiqp_report_forecast(const epiqp_problem *pb, double seconds);
/* A forecast made that of something longer, which takes so many seconds. */
int epiqp_forecast_of(epiq_ctx *c, epiq_result *r, double seconds);

/* ---- device.c ---- */

/* Whether a GPU would save more time than starting to use it takes. */
#define EPIQP_DEVICE_BYTES 1e9 /* of this process's memory that CUDA, cuBLAS and cuSOLVER take */
bool epiqp_device_worth(const epiqp_problem *pb, const epiq_options *o);

/* ---- points.c, sweep.c ---- */

typedef struct {
    epiq_sweep *list;
    ptrdiff_t count, points; /* sweeps; points of all of them */
} epiqp_sweeps;
int epiqp_sweeps_new(const epiqp_problem *pb, ptrdiff_t most,
                     epiqp_sweeps *out); /* features and values; most 0: none */
/* Scaled, from the problem's `asked` on, around the first point of `at`; and their names. */
int epiqp_sweeps_fill(const epiqp_problem *pb, const epiqp_sweeps *s, double *at, const char **name);
/* The points asked for and those of the sweeps, as the kernel can take them; pb gets points, at and name. */
int epiqp_points_settle(epiqp_problem *pb, const epiq_options *o, const epiq_points *where, const epiqp_sweeps *s);

/* ---- ranks.c, model_parts.c ---- */

/* On a cluster: all ranks are asked the same, and it is something that they can share. */
int epiqp_ranks_check(const epiqp_problem *pb, const epiqp_request *request, const epiq_options *o,
                      const epiq_points *where);
int epiqp_model_parts_take(const epiqp_problem *pb, const epiqp_findings *found, const epiq_options *ran,
                           epiqp_fit *fit, epiqp_model_parts *out);

#endif
