/* epiq.h - how sure is a neural network's regression prediction, why is it unsure, what would help?
 *
 * The whole job is five calls (examples/1_decompose.c):
 *
 *     epiq_ctx *c;            epiq_ctx_new(&c);
 *     epiq_options o = epiq_options_default();          o.target = "y";
 *     epiq_data *data;        epiq_data_read(c, "rows.csv", &o, &data);
 *     epiq_points *at;        epiq_points_new(c, data, &at);      epiq_points_add(c, at, "mean");
 *     epiq_result *r;         epiq_estimate(c, data, at, &o, &r);
 *
 * and r->points[0].procedural, .data and .ensemble are the three variances, each with its interval.
 * docs/method.md has the mathematics in the letters used here.
 *
 * Rules that hold everywhere
 *   - Every call that can fail returns an int: 0 is fine, negative means there is no result, positive means there is
 *     one with a caveat. epiq_message() then says in one sentence what was wrong and what to do.
 *   - The library never prints, exits, aborts or reads the environment, and no NaN or infinity leaves it.
 *   - A constructor that fails leaves *out == NULL. Every _free accepts NULL.
 *   - A context serves one thread at a time; different contexts are independent. What a call makes belongs to the
 *     context it was given and is freed before it.
 *   - Matrices are row-major doubles. Variances are in squared units of the target as given.
 *   - The same seed gives the same bits for any number of threads.
 */
#ifndef EPIQ_H
#define EPIQ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define EPIQ_API __attribute__((visibility("default")))
#else
#define EPIQ_API
#endif

/* ---- version ---------------------------------------------------------------------------------------------------- */

#define EPIQ_VERSION "0.1.0"
EPIQ_API const char *epiq_version(void); /* of the library that runs, to compare with EPIQ_VERSION */

/* ---- status ----------------------------------------------------------------------------------------------------- */

#define EPIQ_STATUS_LIST(X)                                                                                            \
    X(EPIQ_PARTIAL, 1, "ended early, with what was finished")                                                          \
    X(EPIQ_OK, 0, "ok")                                                                                                \
    X(EPIQ_E_USAGE, -1, "an option is wrong by itself")                                                                \
    X(EPIQ_E_DATA, -2, "the data does not allow what was asked")                                                       \
    X(EPIQ_E_FILE, -3, "a file could not be read or written")                                                          \
    X(EPIQ_E_NUMERIC, -4, "the computation failed numerically")                                                        \
    X(EPIQ_E_NOMEM, -5, "not enough memory")                                                                           \
    X(EPIQ_E_STOPPED, -6, "stopped on request")

typedef enum {
#define EPIQ_STATUS_ENUM(name, value, text) name = value,
    EPIQ_STATUS_LIST(EPIQ_STATUS_ENUM)
#undef EPIQ_STATUS_ENUM
} epiq_status;

EPIQ_API const char *epiq_status_text(int status);

/* ---- context: messages, memory, progress, stopping -------------------------------------------------------------- */

typedef struct epiq_ctx epiq_ctx;

typedef struct {
    const char *stage;   /* "kernel", "factor", "solve", "inverse", "parts", "members", "batches", "points", "picks",
                        * "models", "networks", "folds", "retrained" */
    ptrdiff_t done, all; /* units finished, units in all */
} epiq_progress;

EPIQ_API int epiq_ctx_new(epiq_ctx **out);
EPIQ_API void epiq_ctx_free(epiq_ctx *c);
EPIQ_API const char *epiq_message(const epiq_ctx *c); /* the sentence of the last failure, "" if none */

/* Called after each finished unit, one call at a time but perhaps from a worker thread; non-zero asks to stop. */
EPIQ_API void epiq_ctx_on_progress(epiq_ctx *c, int (*report)(void *user, const epiq_progress *p), void *user);

/* Ask the running call to end soon with EPIQ_E_STOPPED; safe in a signal handler and from other threads. */
EPIQ_API void epiq_ctx_stop(epiq_ctx *c);
/* The same, but epiq_estimate gives the answer of the networks that are finished, if two are, and epiq_compare that of the
 * models: EPIQ_PARTIAL. */
EPIQ_API void epiq_ctx_finish(epiq_ctx *c);

/* ---- clusters: one call, many processes -------------------------------------------------------------------------- */

/* Several processes, the ranks, make the same calls on the same data, and epiq_estimate shares out its work: the kernel
 * matrix in square blocks dealt to a grid of ranks (block-cyclic, as ScaLAPACK has it), networks one by one. How ranks
 * talk is the business of this table; mpi/epiq_mpi.c fills it with MPI and ScaLAPACK:
 *
 *     epiq_ctx_cluster(c, table);                         before everything else
 *     status = epiq_ctx_agree(c, epiq_data_read(..));     a rank that fails on its own: all of them hear of it
 *     status = epiq_estimate(..);                         the same answer, or the same failure, on every rank
 *
 * Every function of the table is called by all ranks together, in the same order. Once one has agreed on a failure all
 * later calls do nothing, and agree gives that failure again: nobody waits for a rank that has gone home. */
typedef struct epiq_cluster {
    const char *name;
    int rank, size;  /* this process, from 0, and how many there are */
    int neighbours;  /* of them on this machine, this one too */
    int rows, cols;  /* the grid: rank r stands in row r / cols and column r % cols */
    ptrdiff_t block; /* side of a block; block (i, j) belongs to row i % rows and column j % cols */
    int (*agree)(int status, char *sentence,
                 size_t room); /* the least status of all ranks, if negative, and its sentence; else 0 */
    void (*share)(int from, void *bytes, size_t count); /* everyone gets what that rank has */
    void (*sum)(double *x, ptrdiff_t count);            /* everyone gets the sums over ranks, the same bits */
    /* a: this rank's blocks of a symmetric n by n matrix, one matrix column-major; its lower triangle counts. The
     * factor takes its place: 0, or the number of the pivot that is not positive. */
    ptrdiff_t (*factor)(int threads, ptrdiff_t n, double *a);
    void (*solve)(int threads, ptrdiff_t n, const double *factor, ptrdiff_t cols,
                  double *b); /* b: this rank's blocks of n by cols right-hand sides, then of the solutions */
} epiq_cluster;

EPIQ_API void epiq_ctx_cluster(epiq_ctx *c, const epiq_cluster *cluster); /* it must live as long; NULL: alone */
/* The worst status of all ranks: what another one has failed with becomes this one's message. Alone: status. */
EPIQ_API int epiq_ctx_agree(epiq_ctx *c, int status);

/* ---- options: a plain struct, and the table behind it ----------------------------------------------------------- */

enum { EPIQ_IF = 1, EPIQ_EV = 2, EPIQ_BA = 4, EPIQ_AUTO = 8 }; /* methods, or-ed together */
typedef enum { EPIQ_ENGINE_NETWORK, EPIQ_ENGINE_LINEAR, EPIQ_ENGINE_INFINITE } epiq_engine;
typedef enum { EPIQ_KERNEL_POPULATION, EPIQ_KERNEL_EMPIRICAL } epiq_kernel_kind; /* "own" for the linear engine */
typedef enum {
    EPIQ_CORRECTION_MODERATED,
    EPIQ_CORRECTION_ROWWISE,
    EPIQ_CORRECTION_UNBIASED,
    EPIQ_CORRECTION_JACKKNIFE,
    EPIQ_CORRECTION_NONE
} epiq_correction;
enum { EPIQ_CORRECTIONS = EPIQ_CORRECTION_NONE + 1 };
typedef enum { EPIQ_DATA_BY_AUTO, EPIQ_DATA_BY_IF, EPIQ_DATA_BY_RETRAIN } epiq_data_by;
typedef enum { EPIQ_HBAR_KERNEL, EPIQ_HBAR_ENSEMBLE } epiq_hbar;
typedef enum { EPIQ_OPTIMIZER_AUTO, EPIQ_OPTIMIZER_GD, EPIQ_OPTIMIZER_SGD } epiq_optimizer;
typedef enum { EPIQ_VARY_INIT, EPIQ_VARY_ORDER, EPIQ_VARY_BOTH } epiq_vary;
typedef enum { EPIQ_SCALE_STANDARD, EPIQ_SCALE_MINMAX, EPIQ_SCALE_NONE } epiq_scale;
typedef enum { EPIQ_MISSING_REFUSE, EPIQ_MISSING_DROP } epiq_missing;
typedef enum { EPIQ_SOLVER_EXACT, EPIQ_SOLVER_ITERATIVE, EPIQ_SOLVER_DIVIDED, EPIQ_SOLVER_AUTO } epiq_solver;
typedef enum { EPIQ_BACKEND_BLAS, EPIQ_BACKEND_REF } epiq_backend;

typedef struct {
    /* which columns of a table; names in comma-separated lists, quoted as in CSV if they hold commas */
    const char *target;   /* the column to predict */
    const char *features; /* the columns to predict from; NULL: all others */
    const char *drop;     /* columns to leave out */
    const char *onehot;   /* text columns to turn into one 0/1 column a value */
    const char *group; /* column that says which rows are repeated measurements of one thing; "same-features", where no
                           * column has that name: rows with equal features are */
    int missing;       /* epiq_missing: what to do with rows that lack a cell */
    int scale;         /* epiq_scale of features and target */
    /* what to estimate */
    int methods;             /* EPIQ_IF | EPIQ_EV | EPIQ_BA, or EPIQ_AUTO */
    int data_by;             /* epiq_data_by: how IF's data part is made right for the networks that are trained */
    ptrdiff_t replicates;    /* retrain: random sign vectors, each of which retrains four networks */
    ptrdiff_t members;       /* m: networks trained on all rows (EV) */
    ptrdiff_t batches;       /* m': networks trained on one batch of rows each (BA) */
    ptrdiff_t ensemble_size; /* networks in the ensemble whose variance is wanted; 0: batches */
    double level;            /* of all intervals */
    ptrdiff_t influential;   /* training rows to list for each point */
    ptrdiff_t sweep;         /* values to try of each feature around the first point; 0: none, else 2 or more */
    /* what a network is */
    int engine;      /* epiq_engine */
    ptrdiff_t width; /* units in each hidden layer */
    ptrdiff_t depth; /* L: hidden layers */
    double lambda;   /* weight of |theta - theta0|^2 in the loss */
    double bias;     /* beta: scale of the biases, 0 for none */
    double bias_sd;  /* s_b: standard deviation of the initial biases */
    /* how it is trained */
    int optimizer;        /* epiq_optimizer */
    double lr;            /* step size of gd and sgd */
    ptrdiff_t steps;      /* limit of iterations; 0: until converged */
    ptrdiff_t batch_size; /* rows in a step of sgd */
    int vary;             /* epiq_vary: what differs between members */
    double time;          /* engine infinite: stop gradient flow at this time; 0: never */
    /* how the influence function is built */
    int kernel;        /* epiq_kernel_kind */
    int hbar;          /* epiq_hbar: where the mean prediction comes from */
    int correction;    /* epiq_correction for leverage */
    ptrdiff_t probes;  /* random vectors the corrections are estimated from; 0: the inverse itself */
    int linear_kernel; /* epiq_kernel_kind of the linear engine */
    /* how the kernel matrix is solved with */
    int solver;          /* epiq_solver; auto: exact if that fits into memory */
    ptrdiff_t rank;      /* iterative: rows its preconditioner is made of */
    double tolerance;    /* iterative: relative residual to reach */
    ptrdiff_t parts;     /* divided: parts of the rows; 0: 2, or as many as keep each at 8000 rows */
    ptrdiff_t mem_limit; /* bytes that may be used; 0: what the machine has */
    const char *scratch; /* folder for the factor when it does not fit into memory; NULL: refuse */
    /* how it runs */
    uint64_t seed;
    ptrdiff_t threads; /* 0: all cores */
    const char *state; /* file that keeps finished members; NULL: none */
    int backend;       /* epiq_backend */
} epiq_options;

EPIQ_API epiq_options epiq_options_default(void);

/* Set one option from text, by its name on the command line ("bias-sd"). Text options keep the pointer given. */
EPIQ_API int epiq_options_set(epiq_ctx *c, epiq_options *o, const char *name, const char *value);

/* One row of the table that drives defaults, checking, --flags, --help and docs/options.md. */
typedef struct {
    const char *name, *section, *help;
    const char *choices;      /* "a|b|c" for a choice, NULL otherwise */
    const char *default_text; /* "" for an optional text */
    const char *metavar;      /* what --help calls the value */
} epiq_option_info;
EPIQ_API const epiq_option_info *epiq_options_info(ptrdiff_t index); /* NULL past the end */
EPIQ_API int epiq_options_text(const epiq_options *o, ptrdiff_t index, char *buffer,
                               size_t size); /* its value as text */

/* ---- data: rows, their names and their scaling ------------------------------------------------------------------ */

typedef struct epiq_data epiq_data;

/* path: CSV, NPY (last column is the target, named y) or NPZ; "-" reads CSV from standard input. */
EPIQ_API int epiq_data_read(epiq_ctx *c, const char *path, const epiq_options *o, epiq_data **out);

/* From memory: x is n by d, y is n; group is NULL or n labels; with NULL and "same-features" in
 * the options rows with equal features are a group. Columns are named x1..xd and y. */
EPIQ_API int epiq_data_new(epiq_ctx *c, ptrdiff_t n, ptrdiff_t d, const double *x, const double *y,
                           const int64_t *group, const epiq_options *o, epiq_data **out);

/* Other names, for sentences, reports and files of points; they are copied. feature: one a feature, no two alike; either may
 * be NULL. */
EPIQ_API int epiq_data_rename(epiq_ctx *c, epiq_data *data, const char *const *feature, const char *target);

/* One of the three synthetic sets of docs/method.md: fills x (n by d) and y (n). */
EPIQ_API int epiq_synth(epiq_ctx *c, int set, ptrdiff_t n, ptrdiff_t d, uint64_t seed, double *x, double *y);

EPIQ_API void epiq_data_free(epiq_ctx *c, epiq_data *data);

typedef struct {
    ptrdiff_t rows, features;
    const char *const *feature; /* names, one a column */
    const char *target;
    double shift, factor; /* target as given = shift + factor * scaled target */
    const char *sha256;   /* of the bytes read, in hexadecimal */
    ptrdiff_t dropped;    /* rows left out because a cell was missing */
    ptrdiff_t duplicates; /* rows whose features repeat an earlier row's */
    ptrdiff_t constant;   /* features that take one value only */
    ptrdiff_t groups;     /* distinct groups; rows when there is no group column */
} epiq_data_info;
EPIQ_API epiq_data_info epiq_data_describe(const epiq_data *data);

/* ---- points: where to ask --------------------------------------------------------------------------------------- */

typedef struct epiq_points epiq_points;

EPIQ_API int epiq_points_new(epiq_ctx *c, const epiq_data *data, epiq_points **out);
/* where: "mean", "row:I" (rows from 1), or a CSV or NPY file with the feature columns. Adds one or more points. */
EPIQ_API int epiq_points_add(epiq_ctx *c, epiq_points *p, const char *where);
EPIQ_API int epiq_points_add_rows(epiq_ctx *c, epiq_points *p, ptrdiff_t count,
                                  const double *x); /* count by d, as given */
EPIQ_API ptrdiff_t epiq_points_count(const epiq_points *p);
EPIQ_API void epiq_points_free(epiq_ctx *c, epiq_points *p);

/* ---- kernels ---------------------------------------------------------------------------------------------------- */

/* Population kernels of the scaled rows, n by n each, full; either output may be NULL. */
EPIQ_API int epiq_kernel(epiq_ctx *c, const epiq_data *data, const epiq_options *o, double *ntk, double *nngp);

/* ---- networks ---------------------------------------------------------------------------------------------------- */

/* The weights that member k (from 0) of an ensemble with these options and d features starts from (docs/method.md section
 * 2): for l = 1 .. depth+1 W_l (row-major, units by inputs), then b_l. theta: epiq_network_size numbers. */
EPIQ_API ptrdiff_t epiq_network_size(const epiq_options *o, ptrdiff_t d); /* 0: there is no such network */
EPIQ_API int epiq_network_start(epiq_ctx *c, const epiq_options *o, ptrdiff_t d, ptrdiff_t k, double *theta);

/* ---- estimate --------------------------------------------------------------------------------------------------- */

#define EPIQ_METHOD_LIST(X)                                                                                            \
    X(EPIQ_BY_NONE, "none")                                                                                            \
    X(EPIQ_BY_IF, "if")                                                                                                \
    X(EPIQ_BY_EV, "ev")                                                                                                \
    X(EPIQ_BY_BA, "ba")                                                                                                \
    X(EPIQ_BY_IF_EV, "if+ev")                                                                                          \
    X(EPIQ_BY_BA_IF, "ba-if")                                                                                          \
    X(EPIQ_BY_BA_EV, "ba-ev")                                                                                          \
    X(EPIQ_BY_INFINITE, "infinite")                                                                                    \
    X(EPIQ_BY_RETRAIN, "retrain")                                                                                      \
    X(EPIQ_BY_RETRAIN_EV, "retrain+ev")                                                                                \
    X(EPIQ_BY_BA_RETRAIN, "ba-retrain")
typedef enum {
#define EPIQ_METHOD_ENUM(name, text) name,
    EPIQ_METHOD_LIST(EPIQ_METHOD_ENUM)
#undef EPIQ_METHOD_ENUM
} epiq_method;
EPIQ_API const char *epiq_method_text(epiq_method m);

/* A variance, if it could be had, and its interval, if it has one. */
typedef struct {
    int known, has_interval;
    int open; /* has_interval, but its upper end cannot be known: hi is 0 and means nothing, lo is "at least" */
    double variance, lo, hi;
    double df; /* degrees of freedom behind the variance; 0: none, it is a closed form or a difference */
    epiq_method method;
} epiq_part;

/* A variance with df degrees of freedom and its chi-squared interval; there is no interval where V or df is not above
 * 0, or level not inside (0, 1). So the interval at another level is epiq_part_of(p.variance, p.df, 0.9, p.method).
 * It always contains V; an upper end more than 100 times V says nothing, and the interval is then open.
 */
EPIQ_API epiq_part epiq_part_of(double variance, double df, double level, epiq_method method);

typedef struct {
    ptrdiff_t row;    /* from 1, as in the file */
    double influence; /* how far the prediction would move, in target units, if the row were deleted */
} epiq_influence;

typedef struct {
    const char *at;
    double prediction;             /* mean of the members, or the kernel predictor when there are none */
    epiq_part prediction_variance; /* of that mean: data + procedural / m */
    epiq_part procedural;          /* tau^2: would retraining change it? */
    epiq_part data;                /* sigma^2/n: would other data change it? */
    epiq_part ensemble;            /* data + procedural / ensemble_size, or BA where a part is not measured directly */
    epiq_part single;              /* data + procedural */
    /* the influence function with every correction whose cost was paid anyway; EPIQ_CORRECTION_NONE is as printed. With
     * probes only the one asked for is freed of their bias, which is of the order of 1/probes. */
    epiq_part corrected[EPIQ_CORRECTIONS];
    double probe_error; /* standard error of data.variance from random probes, over that variance; 0: exact */
    epiq_part infinite; /* tau^2 of infinitely wide networks, when the kernel was factorised and not for IF alone */
    struct {
        int known;
        double value;
    } kernel_prediction;   /* of kernel regression, the mean of infinitely wide networks */
    const double *members; /* the predictions EV is made of, */
    const double *batches; /* and those of BA */
    ptrdiff_t member_count, batch_count;
    struct {
        int known, inside;     /* is if_plus_ev inside BA's interval? */
        double ba, if_plus_ev; /* the first as corrected */
    } check;
    struct {
        epiq_part part;     /* data + procedural / batches, from the networks on batches */
        int corrected;      /* what small batches add to it could be taken out, */
        double factor;      /* by this factor, 1 otherwise, of what was measured: */
        double uncorrected; /* the variance of their predictions over their number */
    } ba;
    struct {
        int known;
        double lo, hi; /* where a new observation here would fall, at the options' level: jackknife+ */
        double noise;  /* variance of y around the best prediction, part of it; data and procedure are the others */
    } predictive;
    double kappa; /* how much networks follow the data here, in variance, against infinitely wide ones; 0: not measured */
    const epiq_influence *influential; /* strongest first */
    ptrdiff_t influential_count;
} epiq_point;

/* One feature moved over its range, the others as at the first point. Features that vary are swept in their order; of
 * more than 24 of them the 24 most correlated with the target. */
typedef struct {
    ptrdiff_t feature;        /* which column, from 0 */
    ptrdiff_t count;          /* options.sweep, or less when the feature takes fewer values: then it is these */
    const double *value;      /* count: of that feature, as given, rising from the least to the most of the rows */
    const epiq_point *points; /* count: the estimate with the feature set so; no influential rows are listed */
} epiq_sweep;

typedef struct {
    const char *code, *message;
} epiq_warning;

typedef enum { EPIQ_DO_NOTHING, EPIQ_DO_TRAIN, EPIQ_DO_COLLECT, EPIQ_DO_EITHER } epiq_action;
EPIQ_API const char *epiq_action_text(epiq_action a);

typedef struct {
    const epiq_point *points;
    ptrdiff_t point_count;
    int methods;             /* what ran, EPIQ_AUTO resolved */
    const char *choice;      /* the reason, when methods was EPIQ_AUTO; else NULL */
    int correction;          /* what ran: epiq_correction */
    ptrdiff_t probes;        /* random vectors behind the leverages; 0: exact, or not asked for */
    ptrdiff_t ensemble_size; /* 0 in the options resolved */
    ptrdiff_t threads;       /* likewise; of each rank */
    ptrdiff_t ranks;         /* processes that worked on it; 1: this one alone */
    const char *backend;
    int solver;           /* what ran: epiq_solver */
    ptrdiff_t iterations; /* of the iterative one, for its slowest solution, */
    double residual;      /* and the largest relative residual of any */
    ptrdiff_t parts;      /* of the divided one; 0: another ran */
    struct { /* what the iterative one leaves open, at the worst point asked for: no more than */
        double prediction;       /* so many standard deviations of the data part, */
        double data, procedural; /* and such a share of these variances */
    } accuracy;
    struct {
        double bytes, seconds; /* what it was thought to take before it began, */
        double limit;          /* and bytes that it may: options.mem_limit, or what the machine has free */
    } foreseen;
    struct {
        int known, has_r2;     /* a constant target has no r2 */
        double loo_rmse, r2;   /* leave-one-out, of the kernel predictor, target units; r2 needs has_r2 */
        double noise_variance; /* of y around it, if equal everywhere */
        /* one a row, in the order of the rows, target units; NULL when leverages were not computed exactly */
        const double *observed, *loo,
            *loo_sd;  /* y; its prediction without it; sd of their difference if noise is equal */
        int by_group; /* all of this without the whole group of each row, and noise_variance with the groups' part */
    } fit;
    struct {
        ptrdiff_t members, converged; /* trainings of EV and BA together */
        double loss_max, gradient_rel_max;
        ptrdiff_t iterations_median;
        ptrdiff_t resumed; /* of these, taken from the state file */
    } training;
    struct {
        double kernel, factor, influence, ev, retrain, ba; /* seconds */
    } timing;
    struct {
        epiq_action action;
        ptrdiff_t members, rows; /* ensemble size to reach, rows to add (0 with collect: as many again) */
        const char *text;
    } advice;
    const epiq_sweep *sweeps; /* when options.sweep asked for them */
    ptrdiff_t sweep_count;
    struct {                        /* by epiq_combine: what the answer rests on */
        ptrdiff_t rows, parameters; /* of y, and of the Jacobian; 0: not given */
        ptrdiff_t members, batches; /* networks, those of the state file included */
        ptrdiff_t added, kept;      /* to the state file now, and in it then */
    } given;
    struct {       /* what retraining found (docs/method.md section 3) */
        int known; /* 0: the data part is the influence function's alone */
        ptrdiff_t replicates, starts,
            networks;          /* sign vectors; starts of each; networks trained for it, folds and all */
        double noise_variance; /* of y around the function the networks learn, squared target units */
        double left_out_rmse;  /* of networks on rows they have not seen, target units */
        double kappa;          /* how much the networks follow the data, in variance, against infinitely
                                                 * wide ones; 0: no kernel to compare with */
        double kappa_se;
        double step;        /* by which targets were moved, target units */
        const char *reason; /* why the data part is made so */
    } retrain;
    const epiq_warning *warnings;
    ptrdiff_t warning_count;
} epiq_result;

EPIQ_API int epiq_estimate(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                           epiq_result **out);
/* What that would take, before anything is taken: a result without points, of which methods to foreseen and the warnings
 * hold and advice.text tells it. What would be refused for its size is refused here, in the same words. */
EPIQ_API int epiq_foresee(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                          epiq_result **out);
EPIQ_API void epiq_result_free(epiq_ctx *c, epiq_result *r);

/* ---- combine: networks of your own ------------------------------------------------------------------------------ */

/* Numbers made elsewhere: row after row without gaps, in this machine's byte order. */
typedef enum { EPIQ_FLOAT64, EPIQ_FLOAT32 } epiq_real;
typedef struct {
    const char *name; /* what sentences call it: a file, an argument */
    ptrdiff_t rows, columns;
    int real; /* epiq_real */
    const void *a;
    const char *const *column; /* names of the columns; NULL: they have none */
} epiq_matrix;

/* CSV with or without a header (a first line whose cells are all numbers is data), or NPY; "-" is CSV on standard input.
 * An NPY file of native float32 or float64 in C order is mapped, not read: leave it alone until it is freed. Other number
 * types, byte orders and Fortran order are converted. An array of one dimension is one column: n numbers are n by 1. */
EPIQ_API int epiq_matrix_read(epiq_ctx *c, const char *path, epiq_matrix **out);
EPIQ_API void epiq_matrix_free(epiq_ctx *c, epiq_matrix *m);

/* What networks trained anywhere predicted, and what their predictions owe to the rows; NULL where there is nothing. Any
 * subset that tells something:
 *     EV: ensemble      BA: batched      IF: y with gram and cross, or y with jacobian and jacobian0
 * All in units of the target as given. */
typedef struct {
    const epiq_matrix *ensemble;             /* members by points: of networks trained on all rows */
    const epiq_matrix *batched;              /* batches by points: of networks trained on one batch of the rows each */
    const epiq_matrix *y;                    /* rows by 1: what they were trained on */
    const epiq_matrix *yhat;                 /* rows by 1: their mean prediction there; NULL: kernel regression's */
    const epiq_matrix *gram, *cross;         /* rows by rows, rows by points: the kernel */
    const epiq_matrix *jacobian, *jacobian0; /* rows by parameters, points by parameters: derivatives of a network's
                                              * prediction; its kernel is jacobian jacobian' */
    const epiq_matrix *at;                   /* points by anything: where they are, only so that networks kept for other
                                              * points are refused */
    const char *const *merge;                /* files that options.state of other runs named: their networks too */
    ptrdiff_t merge_count;
    /* The data part without derivatives: networks trained again on the targets of epiq_targets. y and yhat go with it. */
    const epiq_matrix *left_out;  /* networks by rows: predictions, at each row, of networks that have not seen it */
    const epiq_matrix *retrained; /* 2 * replicates * starts by points: targets in their order, starts inside */
    const epiq_matrix *targets;   /* 2 * replicates by rows: what those were trained on, to be compared; may be NULL */
    ptrdiff_t replicates;         /* pairs of target vectors; 0: as many as targets has, without it 10 */
} epiq_given;

/* Options that count: lambda, ensemble_size (0: the batches, else the members), level, influential, correction, probes,
 * threads, mem_limit, seed (of probes), backend; and state: a file in which the networks given are kept (each once) and to whose
 * networks these are added, for the same points. After a failure nothing has been added. */
EPIQ_API int epiq_combine(epiq_ctx *c, const epiq_given *g, const epiq_options *o, epiq_result **out);

/* Targets to train networks on again, from given's y, yhat, left_out and replicates (4 or more): yhat plus and minus a step
 * at every row, whose signs are random (options.seed) and whose size is a little less than the noise's.
 *     targets: 2 * replicates by rows, plus and minus in turn.     *step, unless step is NULL: the step's size.
 * For each of them train one network or more (two tell the start's part from the data's), plus and minus of a pair from the
 * same starts, which are those of members of the ensemble. given.retrained is what these networks predict at the points. */
EPIQ_API int epiq_targets(epiq_ctx *c, const epiq_given *g, const epiq_options *o, double *targets, double *step);
enum { EPIQ_REPLICATES = 10 }; /* when given.replicates is 0 */

/* Members it takes until EV's interval reaches at most `relative` times the variance: half its width over the variance.
 * 0: no number of them (or one past 10^8), or a relative or level that makes no sense. */
EPIQ_API ptrdiff_t epiq_members_for(double relative, double level);

/* ---- models: fit once, ask often -------------------------------------------------------------------------------- */

/* Everything needed to ask about points that are not known yet, in memory or in one file (docs/model-file.md):
 *
 *     epiq_model *m;          epiq_fit(c, data, &o, &m);   epiq_model_write(c, m, "y.epiq");
 *
 * and later, perhaps elsewhere,
 *
 *     epiq_model *m;          epiq_model_read(c, "y.epiq", &m);
 *     double h[100], v[100];  unsigned char known[100];
 *     epiq_predictions out = {.prediction = h, .data = v, .known = known};
 *     epiq_model_predict(c, m, 100, x, &out);              x: 100 by features, as given
 *
 * The numbers are those of epiq_estimate at these points, with the same data, options and seed.
 */
typedef struct epiq_model epiq_model;

EPIQ_API int epiq_fit(epiq_ctx *c, const epiq_data *data, const epiq_options *o, epiq_model **out);
EPIQ_API int epiq_model_read(epiq_ctx *c, const char *path,
                             epiq_model **out); /* maps it: leave the file alone until freed */
EPIQ_API int epiq_model_load(epiq_ctx *c, const void *bytes, size_t size,
                             epiq_model **out); /* a file's bytes in memory: leave them alone until freed */
EPIQ_API int epiq_model_write(epiq_ctx *c, const epiq_model *m, const char *path); /* the whole file or none */
/* The file's bytes, piece by piece; put returns non-zero to end it with EPIQ_E_FILE. */
EPIQ_API int epiq_model_send(epiq_ctx *c, const epiq_model *m, int (*put)(void *user, const void *bytes, size_t size),
                             void *user);
EPIQ_API void epiq_model_free(epiq_ctx *c, epiq_model *m);

enum { EPIQ_PREDICTION = 1, EPIQ_PROCEDURAL = 2, EPIQ_DATA = 4, EPIQ_ENSEMBLE = 8 }; /* parts, or-ed together */

typedef struct {
    ptrdiff_t rows, features;
    const char *const *feature;
    const char *target;
    double shift, factor;         /* target as given = shift + factor * scaled target */
    const char *sha256;           /* of the data */
    const char *version;          /* of the epiq that made it */
    const epiq_options *options;  /* with every choice made; those of one run (threads, level, ..) mean nothing here */
    int parts;                    /* those it can tell */
    const epiq_warning *warnings; /* of epiq_fit; a file does not keep them */
    ptrdiff_t warning_count;
} epiq_model_info;
EPIQ_API epiq_model_info epiq_model_describe(const epiq_model *m);

/* What is wanted, and where it goes: count numbers each, NULL where not wanted. */
typedef struct {
    double *prediction, *procedural, *data, *ensemble; /* variances in squared units of the target */
    unsigned char *known; /* count: which parts are known, or-ed; where one is not, its number is 0 and means nothing */
    ptrdiff_t first;      /* rows that came before these, for sentences that name one */
    ptrdiff_t outside;    /* rises by the rows that lie outside the range of those learned from: extrapolations */
    ptrdiff_t threads;    /* 0: all cores */
    /* Double precision throughout. Else networks with one hidden layer and up to 64 features are asked in single
     * precision where their spread is far above its rounding: three times as fast, off by 1e-6 or so of the target's
     * scale, and variances by less than a thousandth. */
    int exact;
    ptrdiff_t few; /* rises by the rows whose data variance, if wanted, rests on one or two training rows */
} epiq_predictions;
EPIQ_API int epiq_model_predict(epiq_ctx *c, const epiq_model *m, ptrdiff_t count, const double *x,
                                epiq_predictions *out);

/* Rows of a file (CSV, NPY or NPZ; "-": standard input) a block at a time, the model's features found by name among its
 * columns: memory stays the same however long the file is. The model must live as long. */
typedef struct epiq_reader epiq_reader;
EPIQ_API int epiq_reader_open(epiq_ctx *c, const epiq_model *m, const char *path, epiq_reader **out);
EPIQ_API int epiq_reader_next(epiq_ctx *c, epiq_reader *r, ptrdiff_t most, double *x,
                              ptrdiff_t *count); /* x: most by features; *count is 0 at the end */
EPIQ_API void epiq_reader_free(epiq_ctx *c, epiq_reader *r);

/* ---- explore: which points to measure next ---------------------------------------------------------------------- */

/* What a candidate is worth. The variance meant is that of the ensemble, data + procedural / ensemble_size. */
#define EPIQ_RULE_LIST(X)                                                                                              \
    X(EPIQ_RULE_UCB, "ucb")   /* prediction + kappa deviations; towards the minimum: kappa of them less prediction */  \
    X(EPIQ_RULE_DATA, "data") /* data alone: where other rows would move the prediction most */                        \
    X(EPIQ_RULE_TOTAL, "total") /* the ensemble's variance */
typedef enum {
#define EPIQ_RULE_ENUM(name, text) name,
    EPIQ_RULE_LIST(EPIQ_RULE_ENUM)
#undef EPIQ_RULE_ENUM
} epiq_rule;
EPIQ_API const char *epiq_rule_text(int rule);
typedef enum { EPIQ_GOAL_MAX, EPIQ_GOAL_MIN } epiq_goal;

typedef struct {
    int rule;        /* epiq_rule */
    int goal;        /* epiq_goal: which end of the target ucb looks for */
    double kappa;    /* of ucb */
    ptrdiff_t batch; /* candidates to pick, each as if those before it had been observed to be as predicted */
} epiq_exploration;
EPIQ_API epiq_exploration epiq_exploration_default(void);

typedef struct {
    ptrdiff_t row;     /* from 1: which candidate */
    ptrdiff_t pick;    /* its place in the batch, from 1; 0: not in it */
    int known;         /* whether the score is; one that needs a variance nobody could give comes last */
    double score;      /* when it was picked, or before any pick; so are the numbers below. The larger the sooner */
    double prediction; /* target units */
    epiq_part procedural, data; /* variances without intervals: estimate has those, before any pick */
} epiq_candidate;

typedef struct {
    const epiq_candidate *ranked; /* the batch in the order of picking, then all others by score */
    ptrdiff_t count;
    epiq_exploration ask;
    const char *reason;          /* one sentence: why the first comes first */
    const epiq_result *estimate; /* at all candidates, in their order, predictive unknown; it lives as long as this */
} epiq_ranking;

EPIQ_API int epiq_explore(epiq_ctx *c, const epiq_data *data, const epiq_points *candidates, const epiq_options *o,
                          const epiq_exploration *ask, epiq_ranking **out);
EPIQ_API void epiq_ranking_free(epiq_ctx *c, epiq_ranking *r);

/* ---- decide: what to buy, which model ---------------------------------------------------------------------------- */

/* More rows, or more networks? The variance of an ensemble of m' networks trained on n' rows is taken to be
 * (sigma^2/n) (n/n')^a + tau^2 (n/n')^b / m', with a and b measured on halves of the rows. Networks can be added to those
 * there are; new rows mean training every one again. */
typedef enum { EPIQ_PLAN_GOAL, EPIQ_PLAN_BUDGET } epiq_plan_kind;
typedef struct {
    double price_row, price_training; /* of one more row and of training one network, in one unit of any kind */
    int kind;                         /* epiq_plan_kind: reach a variance cheaply, or spend a budget well */
    double amount;                    /* the variance to reach, or the budget */
    double level;                     /* of the intervals */
} epiq_effort;

typedef struct {
    ptrdiff_t rows, members;       /* in the end, those of now included */
    ptrdiff_t new_rows, trainings; /* what is paid for */
    double cost;
    epiq_part variance; /* then, of the ensemble's prediction; the mean over the points asked about */
    struct {
        int known;
        double value; /* confidence that the variance is at most the goal, 0 to 1; of best and cautious only */
    } chance;
} epiq_mix;

typedef struct {
    epiq_mix now;  /* nothing bought: the result's rows and ensemble */
    epiq_mix best; /* the answer; now again if nothing is worth buying */
    struct {
        int known;
        epiq_mix mix; /* reaches the goal with a chance of 1 - (1 - level)/2; unknown: none is known to */
    } cautious;
    const epiq_mix *curve; /* now, then what ever larger budgets buy: dearer and better from one to the next */
    ptrdiff_t curve_count;
    epiq_part data, procedural; /* the parts it rests on, means over the points */
    struct {
        int known;                     /* else 1 and 0 are taken for granted */
        ptrdiff_t rows;                /* whose halves were looked at: all, or a sample of them */
        double data, procedural;       /* a and b as measured; below 0 and above 1 the plan takes 0 and 1 */
        double data_sd, procedural_sd; /* how far those of the rows to come may be off, standard deviations */
    } exponent;
    const char *text, *caveat; /* the answer as a sentence; what it takes for granted */
} epiq_plan;

EPIQ_API int epiq_effort_check(epiq_ctx *c, const epiq_effort *effort); /* before the work whose result it needs */

/* r must know both parts at every point: IF and EV give them. at and o: those of the estimate; NULL: a and b are not
 * measured. */
EPIQ_API int epiq_plan_new(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                           const epiq_result *r, const epiq_effort *effort, epiq_plan **out);
EPIQ_API void epiq_plan_free(epiq_ctx *c, epiq_plan *p);

/* Which model? Every combination of the lists, each judged by its error and its epistemic variance. */
typedef struct {
    const ptrdiff_t *widths, *depths;
    const double *lambdas, *biases;
    ptrdiff_t width_count, depth_count, lambda_count, bias_count; /* 0: the options' own value alone */
    ptrdiff_t folds; /* of the cross-validation, which trains; 0: none, the leave-one-out error decides */
} epiq_grid;

typedef struct {
    int known;
    double rmse, se; /* in target units; its standard error */
} epiq_rmse;

typedef struct {
    ptrdiff_t width, depth;
    double lambda, bias;
    epiq_rmse loo; /* leave-one-out, or each row without its group, of the kernel predictor: the same for every width */
    epiq_rmse cv;  /* of ensembles trained without a fold, on that fold */
    epiq_part procedural, data, variance; /* at the points: of one network; of the data; of the ensemble */
    epiq_part infinite;                   /* the procedural part at infinite width */
    int front;                            /* no other model has less of both error and variance */
    int by_construction; /* without bias every network is 0 at the scaled origin, one of the points: that is no merit, so
                          * variance is unknown */
} epiq_compared;

typedef struct {
    const epiq_compared *models;
    ptrdiff_t model_count;
    ptrdiff_t choice;   /* of these, from 0: among the front's whose error is within one standard error of the best the
                         * one with the least variance; where no variance is known, that of the least error; -1: none has
                         * an error */
    const char *reason; /* the same as a sentence */
    int by_cv;          /* which error decided: cv, or else loo */
    int by_group;       /* loo is without the whole group of each row, for every model */
    ptrdiff_t folds, members,
        ensemble_size; /* networks behind each procedural part; behind each prediction of a fold */
    ptrdiff_t trainings, converged, threads;
    const char *backend;
    const epiq_warning *warnings;
    ptrdiff_t warning_count;
} epiq_comparison;

EPIQ_API int epiq_compare(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                          const epiq_grid *grid, epiq_comparison **out);
EPIQ_API void epiq_comparison_free(epiq_ctx *c, epiq_comparison *r);

#ifdef __cplusplus
}
#endif
#endif
