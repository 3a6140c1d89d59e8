/* lab.h - inside the studies: cells and their repetitions, the resume file, statistics over repetitions, and the lines
 * in which a study writes what it finds.
 */
#ifndef STUDY_LAB_H
#define STUDY_LAB_H

#include "study/study.h"

#include <math.h>

/* Names, by correction, lab_noise and lab_place. */
extern const char *const LAB_CORRECTIONS[EPIQ_CORRECTIONS], *const LAB_NOISES[], *const LAB_PLACES[];

/* ---- one repetition ---- */

/* What is kept of an answer: NAN where there is none. Then follow the members' predictions and the batches'. */
enum {
    S_PREDICTION,
    S_KERNEL, /* the kernel's prediction */
    S_EV,
    S_EV_DF,
    S_BA, /* corrected where it can be, */
    S_BA_DF,
    S_BA_FACTOR, /* by this */
    S_INFINITE,
    S_IF,
    S_IF_DF = S_IF + EPIQ_CORRECTIONS,
    S_DATA = S_IF_DF + EPIQ_CORRECTIONS, /* the answer's own data part, whatever its method, */
    S_DATA_LO,                           /* with its interval as the answer gives it */
    S_DATA_HI,
    S_DATA_METHOD,   /* epiq_method */
    S_KAPPA,         /* how much networks follow the data against infinitely wide ones, where it is known */
    S_CONTROL,       /* the control variate of control.c: a linear predictor w'y, */
    S_CONTROL_NOISE, /* its variance given the features, sum_i w_i^2 s_i, */
    S_CONTROL_MEAN,  /* and its mean given them, w'f(X) */
    S_CENTRE,        /* of the interval of the expected prediction, */
    S_CENTRE_VARIANCE,
    S_CENTRE_DF, /* 0: the variance is known exactly */
    S_HALVES,    /* of a cell that is a target: the mean prediction from either half of the rows */
    S_FACTOR,    /* target units for one scaled unit */
    S_SECONDS,
    S_FIXED
};

typedef enum { NOISE_EQUAL, NOISE_SLOPE, NOISE_FAR, NOISE_NEAR, NOISE_ACROSS } lab_noise;

typedef struct {
    const char *name, *target; /* NAME.csv in the data folder */
    ptrdiff_t n, d;
} lab_table;
enum { BOSTON, CONCRETE, ENERGY, WINE, YACHT, TABLE_COUNT };
extern const lab_table LAB_TABLES[TABLE_COUNT]; /* the paper's five */

/* A real table with a function planted on its rows (planted.c). */
typedef struct {
    ptrdiff_t rows;
    double *x; /* rows by d, standardised */
    double *f; /* rows, standardised */
} lab_planted;

/* Kinds of points. Random points and the training row are the same in every repetition; only the y of the row is
 * not. */
typedef enum { PLACE_X0, PLACE_MEAN, PLACE_RANDOM, PLACE_ROW, PLACE_ALL } lab_place;
enum { LAB_POINTS_MAX = 7 };
#define LAB_SMOOTH 4 /* the set of draw.c that epiq synth does not have */

typedef struct lab_cell {
    const char *name;           /* of a cell that --cell can ask for; NULL: it has none */
    int set;                    /* 1, 2, 3, LAB_SMOOTH; 0: a real table */
    const lab_table *table;     /* which one */
    const lab_planted *planted; /* draw rows of it and plant their targets; NULL: the table as it is */
    ptrdiff_t n, d;
    lab_noise noise;
    double noise_sd;  /* of equal noise; 0: the set's own */
    bool target;      /* no noise at all, and each half of the rows is asked too */
    ptrdiff_t points; /* asked about in each repetition; 0: one, x0 or the mean of a real table */
    lab_place places[LAB_POINTS_MAX];
    ptrdiff_t at; /* the point that lab_get and the statistics are about */
    bool control; /* compute the control variate: the truth is three times sharper */
    ptrdiff_t reps;
    bool timed;     /* members are not kept one by one, so that the time is that of all of them */
    int stream;     /* cells that share it and their distribution share their data sets; networks differ */
    epiq_options o; /* what every repetition asks */
    /* A repetition that is no estimate: how it is made, how many numbers it has, and a digest of what it depends on
     * beside all this. NULL: an estimate. */
    int (*make)(epiq_ctx *ctx, const struct lab_cell *c, ptrdiff_t rep, double *sample);
    ptrdiff_t fields;
    unsigned long long digest;
    const struct lab_board *board; /* of benchmark.c */
    /* filled by lab_run */
    ptrdiff_t length; /* of a sample */
    double *samples;  /* reps by length: of each point its fields, its members and its batches */
} lab_cell;

static inline ptrdiff_t lab_points(const lab_cell *c)
{
    return c->points > 0 ? c->points : 1;
}
ptrdiff_t lab_sample_length(const lab_cell *c);
int lab_sample(epiq_ctx *ctx, const lab_cell *c, const char *data_dir, ptrdiff_t rep, double *sample);
int lab_read_table(epiq_ctx *ctx, const lab_cell *c, const char *folder, const epiq_options *o, epiq_data **data);
double lab_true_at_x0(const lab_cell *c); /* of a synthetic set: the function at its test point */
#define LAB_X0 0.1                        /* every coordinate of the test point of the synthetic sets */

static inline double lab_get(const lab_cell *c, ptrdiff_t rep, ptrdiff_t field)
{
    return c->samples[rep * c->length + c->at * (c->length / lab_points(c)) + field];
}
static inline const double *lab_members(const lab_cell *c, ptrdiff_t rep)
{
    return c->samples + rep * c->length + c->at * (c->length / lab_points(c)) + S_FIXED;
}
static inline const double *lab_batches(const lab_cell *c, ptrdiff_t rep)
{
    return lab_members(c, rep) + c->o.members;
}

/* A data set of a cell, and all that is known about it. */
typedef struct {
    double *x;      /* n by d */
    double *y;      /* n */
    double *f, *s;  /* n: mean and variance of y given x */
    double *points; /* points by d */
} lab_drawn;
int lab_draw(epiq_ctx *ctx, const lab_cell *c, ptrdiff_t rep, lab_drawn *out); /* free out->x: all lies there */
uint64_t lab_network_seed(const lab_cell *c, ptrdiff_t rep), lab_data_seed(const lab_cell *c, ptrdiff_t rep);
uint64_t lab_next(uint64_t *state); /* random bits, splitmix64 */

/* A sample with S_CENTRE.. alone: the bootstrap of pairs of networks on different resamples; other_resample.c. */
int lab_other_resample(epiq_ctx *ctx, const lab_cell *c, ptrdiff_t rep, double *sample);

/* The fields S_CONTROL.. of a sample. They stay as they are where no such predictor is linear: scale minmax. */
int lab_control(epiq_ctx *ctx, const lab_cell *c, const epiq_options *o, const lab_drawn *drawn, double *sample);
/* v[0], v[stride], ..: the first count get mean 0 and standard deviation 1 unless all are equal; the others, up to
 * all, are shifted and scaled with them. */
void lab_standardise(double *v, ptrdiff_t count, ptrdiff_t all, ptrdiff_t stride);
/* Solves (a + ridge I) x = b in place, b count by n, one system for each row; a is n by n with this stride, and its
 * lower triangle is overwritten. False: not positive definite. */
bool lab_solve(ptrdiff_t n, ptrdiff_t stride, double *a, double ridge, ptrdiff_t count, double *b);

/* ---- the resume file ---- */

#define LAB_MEMBERS "-members" /* added to its name: where a repetition with many networks keeps them one by one */
typedef struct {
    struct sqlite3 *db;
    struct sqlite3_stmt *load, *save;
    const char *path;
    study_crew *crew; /* gets the sentences of failures */
    bool fresh;       /* made by this run */
} lab_store;
int lab_store_open(lab_store *s, study_job *job);
void lab_store_close(lab_store *s);
bool lab_store_drop_if_unused(lab_store *s); /* closes it; true: this run made it, it held nothing, and it is gone */
/* key: everything a sample depends on, as text */
int lab_store_load(lab_store *s, const char *key, ptrdiff_t rep, ptrdiff_t length, double *sample, bool *there);
int lab_store_save(lab_store *s, const char *key, ptrdiff_t rep, ptrdiff_t length, const double *sample);

/* ---- all repetitions of some cells ---- */

typedef struct lab {
    study_job *job;
    study_result *result;
    lab_store store; /* has no path where nothing is kept */
    bool no_memory;
} lab;

int lab_run(lab *l, lab_cell *cells, ptrdiff_t count); /* fails if there are none */
__attribute__((format(printf, 3, 4))) int lab_fail(study_crew *crew, int status, const char *fmt, ...);
ptrdiff_t lab_reps(const lab *l, ptrdiff_t quick, ptrdiff_t usual, ptrdiff_t full); /* or what was asked for */
bool lab_wanted(const lab *l, ptrdiff_t n, ptrdiff_t d);                            /* such a cell? */
/* The job's options. Only the study of trained networks judges retraining; the others use it only if asked to. */
epiq_options lab_options(const lab *l);
static inline epiq_engine lab_engine(const lab *l)
{
    return (epiq_engine)l->result->options.engine;
}
/* A synthetic cell with the job's model; m and m' as asked there. */
lab_cell lab_synthetic(const lab *l, int set, ptrdiff_t n, ptrdiff_t d, ptrdiff_t reps);

/* ---- statistics over repetitions ---- */

void lab_sort(double *v, ptrdiff_t count); /* ascending */
double lab_mean(const double *v, ptrdiff_t count);
double lab_variance(const double *v, ptrdiff_t count); /* divisor count - 1 */

/* Of some series: their means, and sums of products about them (Welford); of product[i][k] those with i <= k. */
enum { LAB_SERIES = 3 };
typedef struct {
    double n, mean[LAB_SERIES], product[LAB_SERIES][LAB_SERIES];
} lab_moments;
void lab_take(lab_moments *m, int series, const double *v); /* one more of each */

/* Over all repetitions but one (all of them: leave_out < 0): moments of what values writes, the mean of a value. */
typedef void lab_values(const lab_cell *c, ptrdiff_t rep, const void *how, double *v);
typedef double lab_value(const lab_cell *c, ptrdiff_t rep, const void *how);
lab_moments lab_over(const lab_cell *c, ptrdiff_t leave_out, int series, lab_values *values, const void *how);
double lab_mean_over(const lab_cell *c, ptrdiff_t leave_out, lab_value *value, const void *how);
double lab_field_mean(const lab_cell *c, ptrdiff_t leave_out, ptrdiff_t which);
lab_value lab_within; /* the variance within the members */

/* A number made of all repetitions but one (all of them: leave_out < 0), and its jackknife standard error. */
typedef double lab_statistic(const lab_cell *c, ptrdiff_t leave_out, const void *how);
study_number lab_jackknife(const lab_cell *c, lab_statistic *f, const void *how);

study_rate lab_wilson(ptrdiff_t hits, ptrdiff_t trials);
double lab_normal_quantile(double p);
/* Anderson-Darling's A^2 for a normal with unknown mean and variance, adjusted for the sample's size, and its p value.
 * Sorts v. */
double lab_anderson_darling(double *v, ptrdiff_t count, double *p_value);

/* What is true in a cell, from its repetitions (docs/method.md): tau^2, sigma^2/n, and the variance of an ensemble of
 * m' = o.batches; the last two by the paper's formula, NAN when no networks were drawn. */
typedef enum { LAB_TAU2, LAB_DATA, LAB_ENSEMBLE, LAB_PAPER_TAU2, LAB_PAPER_DATA } lab_quantity;
study_number lab_truth(const lab_cell *c, lab_quantity which);
study_number lab_truth_over(const lab_cell *c, lab_place place); /* LAB_DATA, summed over the points of a kind */
/* With the control variate, from all repetitions but one. */
bool lab_has_control(const lab_cell *c);
typedef struct {
    double b;     /* slope of the networks' mean prediction against the control variate */
    double known; /* the control variate's variance over data sets */
    double tau2, data;
} lab_controlled;
lab_controlled lab_from_control(const lab_cell *c, ptrdiff_t leave_out);

/* Over the repetitions: the mean of a field, and its ratio to the truth. */
study_number lab_field(const lab_cell *c, ptrdiff_t field);
study_number lab_ratio(const lab_cell *c, ptrdiff_t field, lab_quantity which);

/* How often the interval of a variance (field, its degrees of freedom at df) holds the truth at a level. */
study_rate lab_coverage(const lab_cell *c, ptrdiff_t field, ptrdiff_t df, double truth, double level);

/* Lines: one estimate with its interval; the truth by both forms; a field's mean, its ratio to it and coverage. */
void lab_line_one(epiq_part p, study_cell *line);
void lab_line_truth(const lab_cell *c, lab_quantity which, study_cell *line);
/* Of two numbers that were measured apart. */
void lab_line_apart(study_number estimate, study_number truth, study_cell *line);
study_cell lab_judged(const lab_cell *c, const char *quantity, const char *method, ptrdiff_t field, lab_quantity which);

int lab_plant(lab *l, const lab_table *table, const lab_planted **out); /* which lives as long as the result */

/* ---- the notebook ---- */

study_cell lab_line(const lab_cell *c, const char *quantity, const char *method); /* what applies to the whole cell */
void lab_add(lab *l, study_cell line);
__attribute__((format(printf, 2, 3))) void lab_note(lab *l, const char *fmt, ...);
void lab_figure(lab *l, study_figure figure);
void lab_curve(lab *l, study_line line);               /* in the newest figure; its arrays are copied */
void *lab_block(lab *l, ptrdiff_t count, size_t size); /* zeroed, lives as long as the result */
__attribute__((format(printf, 2, 3))) const char *lab_text(lab *l, const char *fmt, ...);

/* ---- what the paper prints ---- */

typedef struct {
    double tau2_truth, tau2, data_truth, data, ensemble_truth, ensemble;
} lab_published;
typedef struct {
    int set;
    ptrdiff_t n, d;
    lab_published v; /* tau^2: truth, EV; sigma^2/n: truth, IF; their sum: truth, BA */
} lab_paper_cell;
enum { LAB_PAPER_COUNT = 23 };
extern const lab_paper_cell LAB_PAPER_CELLS[LAB_PAPER_COUNT];             /* of the synthetic sets, by set, n and d */
lab_published lab_published_synthetic(int set, ptrdiff_t n, ptrdiff_t d); /* NAN where it prints nothing */
lab_published lab_published_real(const char *table);

/* IF in all its versions, a line each. */
void lab_add_if(lab *l, const lab_cell *c, const lab_published *paper);

/* ---- the studies ---- */

typedef int lab_study(lab *l);
extern lab_study study_synthetic, study_table2, study_figure_members, study_timing, study_normality, study_coverage,
    study_scaling, study_decomposition, study_divided, study_trained, study_confidence, study_mse, study_benchmark;

#endif
