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
 * r->points[0]->procedural, ->data and ->ensemble are then the three variances, each with its interval.
 * docs/method.md has the mathematics in the letters used here. Further headers, each of which includes this one:
 *
 *     epiq_details.h   how a result came about: training, cost, leave-one-out errors, sweeps
 *     epiq_options.h   the table of options, for programs that offer them to people
 *     epiq_model.h     fit once, predict often
 *     epiq_decide.h    more rows or more networks? which model? where to measure next?
 *     epiq_combine.h   networks trained elsewhere; kernels and starting weights
 *     epiq_cluster.h   one estimate on many processes
 *     epiq_device.h    the calls of a GPU that a library of your own can provide
 *
 * Rules that hold everywhere
 *   - Every call that can fail returns an int: 0 is fine, negative means there is no result, positive means there is
 *     one with a caveat. After a failure epiq_message() says in one sentence what was wrong and what to do; after
 *     EPIQ_PARTIAL the warning EPIQ_W_STOPPED says what is missing.
 *   - The library never prints, exits, aborts or reads the environment, and no NaN or infinity leaves it.
 *   - A constructor that fails leaves *out == NULL. Every _free accepts NULL; no other pointer may be NULL unless it is said.
 *   - A context serves one thread at a time; different contexts are independent. What a call makes belongs to the
 *     context it was given and is freed before it.
 *   - Matrices are row-major doubles. Variances are in squared units of the target as given.
 *   - The same seed gives the same bits for any number of threads.
 *   - Structs may grow at their ends without breaking programs that are compiled. Therefore a struct that the caller
 *     makes begins with its size (epiq_grid g = {.size = sizeof g}; options come from epiq_options_default) or is
 *     passed with it, and every list of structs is a list of pointers to them, never NULL and followed by NULL.
 *     Structs inside other structs, such as epiq_part, do not grow.
 */
#ifndef EPIQ_H
#define EPIQ_H

#include "epiq_warnings.h"

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

#define EPIQ_VERSION "0.2.0"
#define EPIQ_VERSION_NUMBER 200          /* 10000 major + 100 minor + patch, to compare in #if */
EPIQ_API const char *epiq_version(void); /* the same two of the library that runs */
EPIQ_API int epiq_version_number(void);

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

EPIQ_API int epiq_ctx_new(epiq_ctx **out);
EPIQ_API void epiq_ctx_free(epiq_ctx *c);
EPIQ_API const char *epiq_message(const epiq_ctx *c); /* the sentence of the last failure, "" if there was none */

/* How messages and warnings spell the names of options: --bias-sd, or bias_sd, which is the default. */
typedef enum { EPIQ_SPELL_FLAG, EPIQ_SPELL_FIELD } epiq_spelling;
EPIQ_API void epiq_ctx_spelling(epiq_ctx *c, epiq_spelling spelling);

typedef struct {
    const char *stage;   /* "kernel", "factor", "solve", "inverse", "parts", "members", "batches", "points", "picks",
                          * "models", "networks", "folds", "retrained", "resampled", "choice"; of many rows also "read", in bytes,
                          * and "rows" */
    ptrdiff_t done, all; /* finished units, units in total */
} epiq_progress;

/* Called before the first and after each finished unit, never twice at a time but perhaps from a worker thread; non-zero
 * requests a stop. */
EPIQ_API void epiq_ctx_on_progress(epiq_ctx *c, int (*report)(void *user, const epiq_progress *p), void *user);

/* Requests that the running call end soon with EPIQ_E_STOPPED; safe in a signal handler and from other threads. */
EPIQ_API void epiq_ctx_stop(epiq_ctx *c);
/* The same, but epiq_estimate returns the answer of the networks finished so far, if there are two, and epiq_compare
 * that of the finished models: EPIQ_PARTIAL. */
EPIQ_API void epiq_ctx_finish(epiq_ctx *c);

/* ---- what a run computes with ------------------------------------------------------------------------------------ */

typedef struct {
    const char *blas;        /* "OpenBLAS 0.3.21"; "not OpenBLAS": a library that cannot be asked */
    const char *core;        /* the type of processor whose kernels OpenBLAS uses, "Haswell"; NULL: unknown */
    const char *better_core; /* the type that it should use: the value of OPENBLAS_CORETYPE that the environment must
                              * have before the program starts. NULL: the kernels suit, or nothing is known of them */
    const char *vectors;     /* the instructions of the library's own loops: "AVX-512", "AVX2", "SSE2", "NEON" */
    int threads;             /* those of a run whose options.threads is 0 */
} epiq_machine_info;
EPIQ_API void epiq_machine_info_get(epiq_machine_info *info, size_t size); /* size: sizeof *info */
static inline epiq_machine_info epiq_machine_describe(void)
{
    epiq_machine_info info;
    epiq_machine_info_get(&info, sizeof info);
    return info;
}

/* Floating-point operations per second of one core, measured in some 10 ms: by a product of matrices with the BLAS, and
 * by multiply-adds in registers, the most there can be. A product below a quarter of that is a BLAS that is slow here. */
EPIQ_API int epiq_machine_rate(epiq_ctx *c, double *product, double *most);

/* ---- options ---------------------------------------------------------------------------------------------------- */

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
enum { EPIQ_CORRECTIONS = 5 };
typedef enum { EPIQ_DATA_BY_AUTO, EPIQ_DATA_BY_IF, EPIQ_DATA_BY_RETRAIN } epiq_data_by;
typedef enum { EPIQ_HBAR_KERNEL, EPIQ_HBAR_ENSEMBLE } epiq_hbar;
typedef enum { EPIQ_OPTIMIZER_AUTO, EPIQ_OPTIMIZER_GD, EPIQ_OPTIMIZER_SGD, EPIQ_OPTIMIZER_FLOW } epiq_optimizer;
typedef enum { EPIQ_VARY_INIT, EPIQ_VARY_ORDER, EPIQ_VARY_BOTH } epiq_vary;
typedef enum { EPIQ_SCALE_STANDARD, EPIQ_SCALE_MINMAX, EPIQ_SCALE_NONE } epiq_scale;
typedef enum { EPIQ_MISSING_REFUSE, EPIQ_MISSING_DROP } epiq_missing;
typedef enum {
    EPIQ_SOLVER_EXACT,
    EPIQ_SOLVER_ITERATIVE,
    EPIQ_SOLVER_DIVIDED,
    EPIQ_SOLVER_AUTO,
    EPIQ_SOLVER_SUBSET
} epiq_solver;
typedef enum { EPIQ_BACKEND_BLAS, EPIQ_BACKEND_REF } epiq_backend;
typedef enum { EPIQ_DEVICE_AUTO, EPIQ_DEVICE_GPU, EPIQ_DEVICE_CPU } epiq_device_choice;
typedef enum { EPIQ_PRESET_NONE, EPIQ_PRESET_PAPER } epiq_preset;
/* What one network predicts. Shifted: trained on y + h(theta0; X), it predicts h(theta; x) - h(theta0; x). Pnc: a second
 * network from the same start, trained on the expected output of a start, which is 0, is taken off the first. Auto: the one
 * that takes the fewest trainings until what is left of the procedural variance is a tenth of the data part. Usual: ensemble,
 * but shifted where the width is left to choose and starts would be more than a tenth of the squared error. */
typedef enum {
    EPIQ_PREDICTOR_ENSEMBLE,
    EPIQ_PREDICTOR_PNC,
    EPIQ_PREDICTOR_SHIFTED,
    EPIQ_PREDICTOR_AUTO,
    EPIQ_PREDICTOR_USUAL
} epiq_predictor;

/* How the interval of the expected prediction is found. */
typedef enum {
    EPIQ_CONFIDENCE_NONE,
    EPIQ_CONFIDENCE_BATCHING,  /* networks on batches of the rows */
    EPIQ_CONFIDENCE_BOOTSTRAP, /* networks on rows drawn with replacement */
    EPIQ_CONFIDENCE_RETRAIN,   /* the variance of the prediction, data part and procedural part */
    EPIQ_CONFIDENCE_JACKKNIFE, /* networks without parts of the rows, which correct what few rows bias */
    EPIQ_CONFIDENCE_HALVES     /* networks on halves of the rows, and what kernel regression does with ever more rows */
} epiq_confidence_by;

/* The width and lambda where they are left to choose and nothing can be tried: too few rows, a forecast. */
enum { EPIQ_USUAL_WIDTH = 1024 };
#define EPIQ_USUAL_LAMBDA 1e-3

typedef struct {
    size_t size; /* of this struct, as epiq_options_default sets it */
    /* which columns of a table; names in comma-separated lists, quoted as in CSV if they hold commas */
    const char *target;   /* the column to predict */
    const char *features; /* the columns to predict from; NULL: all others */
    const char *drop;     /* columns to leave out */
    const char *onehot;   /* text columns to turn into 0/1 columns, one for each value */
    const char *group;    /* the column that says which rows are repeated measurements of one thing; "same-features",
                           * unless a column has that name: rows with equal features are */
    int missing;          /* epiq_missing: what to do with rows that lack a cell */
    int scale;            /* epiq_scale of features and target */
    /* what to estimate */
    int methods;             /* EPIQ_IF | EPIQ_EV | EPIQ_BA, or EPIQ_AUTO */
    int data_by;             /* epiq_data_by: how IF's data part is made right for the networks that are trained */
    ptrdiff_t replicates;    /* retrain: random sign vectors, each of which retrains four networks */
    ptrdiff_t members;       /* m: networks trained on all rows (EV) */
    ptrdiff_t batches;       /* networks trained on one batch of rows each (BA) */
    ptrdiff_t ensemble_size; /* m': networks in the ensemble whose variance is wanted; 0: batches */
    double level;            /* confidence level of all intervals */
    ptrdiff_t influential;   /* training rows to list for each point */
    ptrdiff_t sweep;         /* values to try of each feature around the first point; 0: none, else 2 or more */
    /* what a network is */
    int engine; /* epiq_engine */
    int preset; /* epiq_preset that epiq_options_set has set other options to; without effect by itself */
    ptrdiff_t
        width; /* units in each hidden layer; 0, the default: chosen by the error on rows that networks have not seen */
    ptrdiff_t depth; /* L: hidden layers */
    double lambda;   /* weight of |theta - theta0|^2 in the loss; 0, the default: chosen likewise */
    double bias;     /* beta: scale of the biases, 0 for none */
    double bias_sd;  /* s_b: standard deviation of the initial biases */
    /* how it is trained */
    int optimizer;        /* epiq_optimizer */
    double lr;            /* step size of gd and sgd; flow: time of a step */
    ptrdiff_t steps;      /* limit of iterations; 0: until converged */
    ptrdiff_t batch_size; /* rows in a step of sgd */
    int vary;             /* epiq_vary: what differs between members */
    double time;          /* engine infinite: stop gradient flow at this time; 0: never */
    /* how the influence function is built */
    int kernel;     /* epiq_kernel_kind */
    int hbar;       /* epiq_hbar: where the mean prediction comes from */
    int correction; /* epiq_correction for leverage */
    /* Random vectors that the corrections are estimated from. As many as rows, or 0: the inverse itself; above 10,000
     * rows 0 means 64. */
    ptrdiff_t probes;
    int linear_kernel; /* epiq_kernel_kind of the linear engine */
    /* how the kernel matrix is solved with */
    int solver;          /* epiq_solver; auto: exact if that fits into memory */
    ptrdiff_t rank;      /* iterative: rows its preconditioner is made of */
    double tolerance;    /* iterative: relative residual to reach */
    ptrdiff_t parts;     /* divided: parts of the rows; 0: 2, or as many as keep each at 8000 rows */
    ptrdiff_t mem_limit; /* bytes that may be used, if the machine has more free; 0: what it has */
    const char *scratch; /* folder for the factor when it does not fit into memory; NULL: refuse */
    /* how it runs */
    int backend; /* epiq_backend */
    uint64_t seed;
    ptrdiff_t threads; /* 0: all cores */
    const char *state; /* file that keeps finished members; NULL: none */
    /* rows left out */
    ptrdiff_t folds;        /* parts of the rows, each left out once */
    ptrdiff_t fold_members; /* networks trained without each part: their error, the interval of y; 0: none */
    const char *na; /* texts that mean a missing cell, besides the usual ones, in a comma-separated list; NULL: none */
    int device;     /* epiq_device_choice: whether a GPU is used (epiq_device.h) */
    int predictor;  /* epiq_predictor: whether a network's own start is taken off its prediction */
    int confidence; /* epiq_confidence_by: of the interval of the expected prediction */
    int reserved;   /* 0: room for the next option */
    ptrdiff_t resamples; /* bootstrap: networks on rows drawn with replacement; jackknife: on all rows but a part */
    ptrdiff_t budget_networks; /* trainings that all of an estimate may take; 0: as many as the options say */
} epiq_options;

EPIQ_API void epiq_options_init(epiq_options *o, size_t size); /* size: sizeof *o, as the program sees it */
static inline epiq_options epiq_options_default(void)
{
    epiq_options o;
    epiq_options_init(&o, sizeof o);
    return o;
}

/* Sets one option from text, by its name on the command line ("bias-sd"). The context keeps a copy of the text. Texts
 * assigned to the struct directly need to live only as long as the calls that read them. */
EPIQ_API int epiq_options_set(epiq_ctx *c, epiq_options *o, const char *name, const char *value);

/* ---- data: rows, their names and their scaling ------------------------------------------------------------------ */

typedef struct epiq_data epiq_data;

/* A column of texts becomes 0/1 features unasked if it has at most so many values, as many as there are months, and so many
 * rows for each on average: fewer rows say little about a value, and many features are soon as many as the rows. */
enum { EPIQ_MOST_CATEGORIES = 12, EPIQ_ROWS_PER_CATEGORY = 5 };

/* path: CSV, NPY (last column is the target, named y) or NPZ, packed with gzip or not; "-" reads standard input. */
EPIQ_API int epiq_data_read(epiq_ctx *c, const char *path, const epiq_options *o, epiq_data **out);

/* From memory: x is n by d, y is n; group is NULL or n labels; with NULL and "same-features" as options.group, rows
 * with equal features are a group. Columns are named x1..xd and y. */
EPIQ_API int epiq_data_new(epiq_ctx *c, ptrdiff_t n, ptrdiff_t d, const double *x, const double *y,
                           const int64_t *group, const epiq_options *o, epiq_data **out);

/* Other names, for messages, reports and files of points; they are copied. feature: d different names. Either may be
 * NULL. */
EPIQ_API int epiq_data_rename(epiq_ctx *c, epiq_data *data, const char *const *feature, const char *target);

/* One of the three synthetic sets of docs/method.md: fills x (n by d) and y (n). */
EPIQ_API int epiq_synth(epiq_ctx *c, int set, ptrdiff_t n, ptrdiff_t d, uint64_t seed, double *x, double *y);

EPIQ_API void epiq_data_free(epiq_ctx *c, epiq_data *data);

typedef struct {
    ptrdiff_t rows, features;
    const char *const *feature; /* `features` names */
    const char *target;
    double shift, factor; /* target as given = shift + factor * scaled target */
    const char *sha256;   /* of the file's bytes, or of the arrays, in hexadecimal */
    ptrdiff_t dropped;    /* rows left out because a cell was missing */
    ptrdiff_t duplicates; /* rows whose features repeat an earlier row's */
    ptrdiff_t constant;   /* features that take one value only */
    ptrdiff_t groups;     /* distinct groups; rows when there is no group column */
} epiq_data_info;
EPIQ_API void epiq_data_info_get(const epiq_data *data, epiq_data_info *info, size_t size); /* size: sizeof *info */
static inline epiq_data_info epiq_data_describe(const epiq_data *data)
{
    epiq_data_info info;
    epiq_data_info_get(data, &info, sizeof info);
    return info;
}

/* ---- points: where to ask --------------------------------------------------------------------------------------- */

typedef struct epiq_points epiq_points;

EPIQ_API int epiq_points_new(epiq_ctx *c, const epiq_data *data, epiq_points **out);
/* where: "rows" (every row, or at most 1000 of them, asked of networks that have not seen it), "mean", "row:I" or "I"
 * (rows from 1), "name=value,..." (the other features at their mean, categories and 0/1 features at their most common
 * value), or a file with the feature columns as epiq_data_read takes it. Adds one or more points. */
EPIQ_API int epiq_points_add(epiq_ctx *c, epiq_points *p, const char *where);
EPIQ_API int epiq_points_add_rows(epiq_ctx *c, epiq_points *p, ptrdiff_t count, const double *x); /* count by d */
/* Where to ask when nothing is said, to no points as yet: "rows", or "mean" with a warning in the result where these
 * options cannot leave rows out. */
EPIQ_API int epiq_points_add_usual(epiq_ctx *c, epiq_points *p, const epiq_options *o);
/* Other names for all points there are, for messages and reports; they are copied. */
EPIQ_API int epiq_points_rename(epiq_ctx *c, epiq_points *p, const char *const *name);
EPIQ_API ptrdiff_t epiq_points_count(const epiq_points *p);
/* A feature of a point, both from 0, in its own units; rounding may have changed the last digits. */
EPIQ_API double epiq_points_value(const epiq_points *p, ptrdiff_t point, ptrdiff_t feature);
/* Whether a feature stands for one value of a column of categories: it is 1 where the column has that value, else 0. */
EPIQ_API int epiq_points_is_category(const epiq_points *p, ptrdiff_t feature);
EPIQ_API void epiq_points_free(epiq_ctx *c, epiq_points *p);

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

/* A variance, if it is known, and its interval, if it has one. */
typedef struct {
    int known, has_interval;
    int open; /* has_interval, but its upper end cannot be known: hi is 0 and means nothing, lo is "at least" */
    double variance, lo, hi;
    double df; /* degrees of freedom behind the variance; 0: it is unknown, exact, 0, or a difference */
    epiq_method method;
} epiq_part;

typedef struct {
    ptrdiff_t row;    /* from 1, as in the file */
    double influence; /* how far kernel regression's prediction would move, in target units, without the row */
} epiq_influence;

typedef struct {
    int known;
    double value;
} epiq_known;

typedef struct {
    int known, inside;     /* is if_plus_ev inside BA's interval? */
    double ba, if_plus_ev; /* BA as corrected; data + procedural / batches */
} epiq_check;

typedef struct {
    epiq_part part;     /* data + procedural / batches, from the networks on batches */
    int corrected;      /* 1: what small batches add is taken out of it */
    double factor;      /* part.variance over uncorrected; 1: not corrected */
    double uncorrected; /* as measured: the variance of the networks' predictions over their number */
} epiq_batching;

typedef struct {
    int known;
    double lo, hi; /* where a new observation here would fall, at the options' level: jackknife+ */
    double noise;  /* variance of y around the best prediction, beside which data and procedural widen the interval */
} epiq_predictive;

/* Where the expected prediction lies: what infinitely many networks would predict here, each trained on a table of its own
 * from the law that this one came from. It is not the true function: what regularisation leaves is in both. */
typedef struct {
    int known;
    int method;    /* epiq_confidence_by */
    double lo, hi; /* at the options' level: centre -+ t sqrt(variance), t of df degrees of freedom */
    double
        centre; /* the prediction; batching: the mean of the batches' networks; jackknife, retrain and halves: corrected */
    double variance, df; /* of centre; df 0: known exactly, as in the normal law */
    ptrdiff_t networks;  /* trainings behind it */
} epiq_confidence;

typedef struct {
    const char *at;                /* name of the point */
    double prediction;             /* mean of the members; without any kernel regression's; in epiq_combine with
                                    * batches alone the mean of those */
    epiq_part prediction_variance; /* of that mean: data + procedural / m */
    epiq_part procedural;          /* tau^2: would retraining change it? */
    epiq_part data;                /* sigma^2/n: would other data change it? */
    epiq_part ensemble;            /* data + procedural / ensemble_size, or BA where a part is not measured directly */
    epiq_part single;              /* data + procedural */
    epiq_part infinite; /* tau^2 of infinitely wide networks; unknown where no kernel was solved, and for IF alone
                         * unless the engine is infinite */
    epiq_known kernel_prediction; /* of kernel regression, the mean of infinitely wide networks */
    epiq_check check;
    epiq_batching ba;
    epiq_predictive predictive;
    double probe_error;    /* standard error of data.variance from random probes, over that variance; 0: exact */
    double kappa;          /* how much networks follow the data here, in variance, against infinitely wide ones; 0: not
                            * measured */
    const double *members; /* the predictions EV is made of, */
    const double *batches; /* and those of BA */
    ptrdiff_t member_count, batch_count;
    const epiq_influence *const *influential; /* strongest first */
    ptrdiff_t influential_count;
    const struct epiq_corrected *corrected; /* for epiq_point_corrected */
    ptrdiff_t left_out;                     /* the row that is left out and asked about, from 1; 0: none is. Then the
                                             * prediction is the mean of networks, `members`, that have not seen it */
    epiq_confidence confidence;
    epiq_part full_variance; /* of the mean of all networks trained; other than prediction_variance where left_out */
} epiq_point;

/* The influence function with another correction, where its cost was paid anyway; EPIQ_CORRECTION_NONE is as printed.
 * With probes only the correction that was requested is freed of their bias, which is of the order of 1/probes. */
EPIQ_API const epiq_part *epiq_point_corrected(const epiq_point *p, int correction); /* NULL: no such correction */

typedef struct {
    const char *code, *message;
    int kind; /* epiq_warning_kind */
} epiq_warning;

typedef enum { EPIQ_DO_NOTHING, EPIQ_DO_TRAIN, EPIQ_DO_COLLECT, EPIQ_DO_EITHER } epiq_action;
EPIQ_API const char *epiq_action_text(epiq_action a);
typedef struct {
    epiq_action action;
    ptrdiff_t members, rows; /* ensemble size to reach, rows to add (0 with collect: as many again) */
    const char *text;
} epiq_advice;

typedef struct {
    const epiq_point *const *points;
    ptrdiff_t point_count;
    const epiq_warning *const *warnings;
    ptrdiff_t warning_count;
    const epiq_advice *advice;
    const epiq_options
        *ran;           /* the options as run: methods, data_by, correction, ensemble_size, solver, parts and threads
                              * as chosen, and so the width and lambda; members: those behind EV, where it trained any */
    const char *choice; /* the reason for the methods, when EPIQ_AUTO chose; else NULL */
    ptrdiff_t ranks;    /* processes that worked on it; 1: this one alone */
    const char *backend;
    /* epiq_details.h */
    const struct epiq_cost *cost;
    const struct epiq_fit_error *fit;
    const struct epiq_training *training;
    const struct epiq_timing *timing;
    const struct epiq_solve_info *solve;
    const struct epiq_retraining *retrain;
    const struct epiq_combined *given;
    const struct epiq_sweep *const *sweeps; /* when options.sweep requested them */
    ptrdiff_t sweep_count;
    const struct epiq_summary *summary;
    const struct epiq_model_choice *model_choice; /* when the width or lambda was left to choose */
    const epiq_warning *const *notes;             /* for information: nothing needs to be done */
    ptrdiff_t note_count;
    const struct epiq_predictor_choice *predictor_choice; /* when the predictor was left to choose */
} epiq_result;

EPIQ_API int epiq_estimate(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                           epiq_result **out);
/* What that would cost, before anything is spent: a result without points, of which ran, choice, cost and the warnings
 * hold and advice->text is a summary. What would be refused for its size is refused here, in the same words. */
EPIQ_API int epiq_forecast(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                           epiq_result **out);
EPIQ_API void epiq_result_free(epiq_ctx *c, epiq_result *r);

#ifdef __cplusplus
}
#endif
#endif
