/* study.h - how far to trust the numbers: data sets drawn again and again from known distributions, the estimators
 * asked about each through epiq.h alone, and their answers held against what is then known to be true.
 *
 * A study is a list of cells (a distribution, a size, what to ask); every cell has repetitions, each a pure function of
 * the seed, the cell and its number. So they run in any order on any number of threads, can be kept in a file, and a
 * study that was killed ends with the same bits.
 */
#ifndef STUDY_H
#define STUDY_H

#include "epiq_combine.h"
#include "epiq_decide.h"
#include "epiq_details.h"
#include "epiq_options.h"

#include <stdbool.h>

/* ---- what a study finds ---- */

/* A proportion with Wilson's 95 % interval; NAN where nothing was counted. */
typedef struct {
    double rate, lo, hi;
} study_rate;

/* With its standard error; NAN where there is none. */
typedef struct {
    double value, se;
} study_number;

/* One line of the answer. Numbers are NAN, texts NULL and counts 0 where they do not apply. */
typedef struct {
    const char *set; /* "1", "2", "3", "smooth", or the name of a real table */
    ptrdiff_t n, d;
    const char *cell, *at;  /* a name for all that the cell is; the kind of points it is about */
    const char *noise;      /* how it depends on x: "equal", "slope", "far", "near", "across" */
    ptrdiff_t members;      /* networks in the ensemble it is about */
    const char *quantity;   /* "procedural", "data", "ensemble", "answer"; or what else was measured, in words with _ */
    const char *method;     /* "ev", "if", "ba", "infinite"; or how it was measured */
    const char *correction; /* of IF */
    ptrdiff_t reps;         /* data sets (or networks) behind it */
    study_number truth;
    study_number paper_truth;        /* the same from the same networks by the paper's formula */
    study_number estimate;           /* mean over the data sets, or one estimate */
    double lo, hi;                   /* its 95 % interval, if it is one estimate */
    study_number ratio;              /* estimate / truth */
    double difference;               /* estimate - truth */
    study_rate coverage, coverage90; /* of the truth, by the 95 % and 90 % intervals */
    double rms_log;                  /* root mean square of log(estimate / truth) over data sets and points */
    double p_value;
    study_number published_truth, published; /* what the paper prints for truth and estimate */
} study_cell;

typedef struct {
    const char *name;
    bool marks; /* points; otherwise a line */
    ptrdiff_t count;
    const double *x, *y, *lo, *hi; /* lo, hi: a band or error bars; NULL: none */
} study_line;

typedef struct {
    const char *title, *x_name, *y_name, *caption;
    bool log_x, log_y;
    const study_line *lines;
    ptrdiff_t line_count;
} study_figure;

typedef struct study_result {
    const char *name, *title;
    study_cell *cells;
    ptrdiff_t cell_count;
    study_figure *figures;
    ptrdiff_t figure_count;
    const char **notes; /* sentences: what to know when reading this */
    ptrdiff_t note_count;
    ptrdiff_t repetitions, resumed; /* in all; of these, taken from the resume file */
    int threads;
    epiq_options options;       /* with what the study chose filled in */
    struct study_block *blocks; /* memory */
} study_result;

/* ---- running one ---- */

typedef enum { STUDY_QUICK, STUDY_USUAL, STUDY_FULL } study_size;

typedef struct {
    const char *cell;        /* "set 1, n = 200, d = 8" */
    ptrdiff_t number, cells; /* which one, of how many */
    ptrdiff_t done, all;     /* repetitions of it */
    double fraction;         /* of the whole study's work */
} study_progress;

/* The threads that do the work, and what they report. */
typedef struct {
    epiq_ctx **workers; /* one context for each thread, which the caller may stop */
    int threads;
    int (*report)(void *user, const study_progress *p); /* may be NULL; non-zero asks to stop */
    void *user;
    char message[1024]; /* after a failure: one sentence */
} study_crew;
int study_crew_open(study_crew *crew, int threads, epiq_spelling spelling); /* not 0: there is no memory for all */
void study_crew_close(study_crew *crew);

typedef struct {
    const char *name;
    study_size size;
    ptrdiff_t reps;       /* 0: as the size says */
    ptrdiff_t n, d;       /* only the cells with so many rows, features; 0: all */
    const char *cell;     /* only the cell of this name, or all whose names hold it, at any size; NULL: all */
    epiq_options options; /* the model; members and batches are m and m' */
    bool engine_given;    /* else the study chooses its engine */
    bool scale_given;     /* else real tables are scaled by minmax and synthetic ones not at all */
    const char *data_dir; /* where the real tables are; NULL: nowhere */
    const char *state;    /* resume file; NULL: none */
    study_crew crew;
    bool kept; /* after a failure: whether the resume file holds something */
} study_job;

struct lab;
typedef struct {
    const char *name, *title;
    const char *sizes[STUDY_FULL + 1]; /* what --quick, nothing and --full run, by study_size */
    bool real_data;                    /* needs data_dir */
    int (*run)(struct lab *l);
    epiq_engine engine; /* unless another is asked for */
    int set;            /* of a synthetic table */
    epiq_scale scale;   /* unless another is asked for */
    bool chooses;       /* the network is left to choose, unless it is given */
} study_info;
const study_info *study_list(ptrdiff_t index);    /* NULL past the end */
const study_info *study_called(const char *name); /* NULL: none is */

/* A status of epiq.h; on failure *out is NULL and job->crew.message says why. */
int study_run(study_job *job, study_result **out);
void study_result_free(study_result *r);
/* Removes a resume file that is no longer needed, unless it holds more repetitions than that, of other runs. */
void study_forget(const char *state, ptrdiff_t repetitions);
const char *study_table(ptrdiff_t index); /* names of the real tables, NAME.csv in data_dir; NULL past the end */

#endif
