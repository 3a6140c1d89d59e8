/* problem.h - what one estimate is about, and how its kernel is solved. A problem and its plan (plan.h) are const for every
 * estimator; what an estimator finds goes into its own findings, in scaled units, and assemble.c makes the answer of them.
 */
#ifndef EPIQP_PROBLEM_H
#define EPIQP_PROBLEM_H

#include "data/data.h"
#include "engine/engine.h"
#include "la/span.h"
#include "solve/probe.h"
#include "stats/stats.h"

/* Rows times points from which threads share the points: for fewer, waking them takes longer than the work (an estimate of 50 rows
 * with two threads on a busy machine: 37 ms, and 21 without). */
enum { EPIQP_MANY_PAIRS = 20000 };

enum { EPIQP_BETWEEN = 12 }; /* points between rows, where there are any: they tell b to 0.1 */

/* Rows to learn from and points to ask about. Parts of the rows (divided.c) and networks trained elsewhere (given/) make
 * problems of their own. */
typedef struct {
    epiqp_env e;
    const struct epiqp_plan *plan; /* what will be done: plan.h */
    const epiq_data *data;  /* the rows as networks and kernels have them: the table, or with more features than rows
                                 * (run/wide.c) rows in coordinates of their span, without names, ranges and scaling */
    const epiq_data *table; /* the rows by their features; NULL: networks trained elsewhere, parts of the rows */
    const epiqp_span *span; /* of the rows; NULL: data is the table */
    const epiqp_engine *engine; /* NULL: the networks were trained elsewhere */
    ptrdiff_t n;                /* rows */
    ptrdiff_t asked;            /* points asked for: warnings and advice are about these */
    ptrdiff_t points;           /* these, then the points of the sweeps and those between rows */
    ptrdiff_t between;          /* between rows: points of which nothing is reported, for confidence.c */
    const double *at;           /* points by d, scaled; NULL: networks trained elsewhere */
    const double *at_table;     /* the same by their features, in the columns of the table */
    const char *const *name;    /* points */
    const ptrdiff_t *left_out;  /* points: the row that is left out and asked about, -1: none; NULL: at no point */
    epiqp_arena *scratch;       /* memory that lasts as long as the problem, */
    epiqp_arena *lasting;       /* and memory that lasts as long as the answer */
    epiqp_warnings *warnings;   /* where estimators report what a reader of the answer should know */
} epiqp_problem;

/* Zeroed memory that lasts as long as the problem; NULL: there is none. */
static inline void *epiqp_room(const epiqp_problem *pb, ptrdiff_t count, size_t size)
{
    return epiqp_arena_alloc(pb->e.c, pb->scratch, count, size);
}

static inline bool epiqp_has_groups(const epiqp_problem *pb)
{
    return pb->data->groups < pb->n;
}

/* Rows listed by the number they have: of their group, or of the batch, fold or part they were dealt to. */
typedef struct {
    const ptrdiff_t *label;  /* n: number of each row */
    ptrdiff_t *start, *rows; /* number k has rows[start[k]] .. rows[start[k + 1] - 1], rising */
    ptrdiff_t largest;       /* rows of the longest list */
} epiqp_listed;
int epiqp_list_rows(const epiqp_problem *pb, ptrdiff_t count, const ptrdiff_t *label, epiqp_listed *out);
int epiqp_deal_rows(const epiqp_problem *pb, epiqp_stream order, ptrdiff_t count, epiqp_listed *out); /* at random */
static inline ptrdiff_t epiqp_listed_size(const epiqp_listed *of, ptrdiff_t k)
{
    return of->start[k + 1] - of->start[k];
}
/* Features and, unless y is NULL, targets of some rows. */
void epiqp_take_rows(const epiq_data *data, ptrdiff_t count, const ptrdiff_t *rows, double *x, double *y);
/* The fit of some rows, whose features and targets last as long as the problem. */
int epiqp_fit_of_rows(const epiqp_problem *pb, const epiq_options *o, ptrdiff_t count, const ptrdiff_t *rows,
                      epiqp_fit *out);
/* Those of one number, in the order they have among all, with their groups numbered anew. */
int epiqp_take_data(epiq_ctx *c, epiqp_arena *arena, const epiq_data *all, const epiqp_listed *of, ptrdiff_t number,
                    epiq_data *out);

/* The mean of n numbers and its standard error, sqrt(sum over groups of (sum of theirs, less the mean each)^2)/n: rows of a
 * group err together. */
int epiqp_mean_over_groups(epiq_ctx *c, const epiq_data *data, const double *v, double *mean, double *se);

/* Kernel regression on the rows as IF, the closed form and leaving rows out read it. */
typedef struct {
    const epiqp_fit *fit;          /* rows and points of the population kernel; NULL: the kernel was given */
    epiqp_ridge *ridge;            /* c, alpha, leverages, and the factor or the inverse */
    const struct epiqp_near *near; /* which rows are near each other; NULL: by the population kernel */
    const double *hbar;            /* n: predictions at the rows that residuals are taken from; NULL: the ridge's own */
    epiqp_tri *factor_copy;        /* where the factor is copied to before it is inverted; NULL: it is not kept */
} epiqp_solution;

/* Advice in messages, which depends on whether networks are trained here or were given. */
typedef struct {
    const char *both_parts;      /* how to get both parts directly, as a sentence */
    const char *procedural;      /* how to get the procedural part directly */
    const char *data;            /* and the data part */
    const char *other_size;      /* how to get the variance of an ensemble of another size than BA's */
    const char *far_from_kernel; /* what to try when networks are far from kernel regression */
} epiqp_hints;

#endif
