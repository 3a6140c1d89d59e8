/* if.h - IF, the data variance by the influence function, and all that comes with its leverages. */
#ifndef EPIQP_IF_H
#define EPIQP_IF_H

#include "est/retrain.h"
#include "est/rowwise.h"

/* ---- what leaving out whole groups of rows tells without refitting: groups.c ---- */

#define EPIQP_LARGEST_GROUP 4096 /* rows: its block of A^-1 takes 128 MiB then, and one thread a minute or so */
double epiqp_groups_bytes(const epiqp_problem *pb); /* that epiqp_groups_new takes while it works, at most */

/* Residuals, scaled, n each, as whole groups correct them. */
typedef struct {
    bool known;
    double *standard, *jackknife; /* of IF, corrected for the leverage of the row's whole group */
    double *noise;                /* kernel regression's own, corrected like the first: as large as the noise */
    double *left_out;             /* the row less its prediction without its group, */
    double *wider;                /* and the standard deviation of that over the noise's */
    double kurtosis;              /* of the groups' means, 3 at least */
    ptrdiff_t largest;            /* rows of the largest group */
} epiqp_grouped;
/* Not known, with a warning, where the inverse or a group does not allow it. */
int epiqp_groups_new(const epiqp_problem *pb, const epiqp_ridge *r, const double *residual, epiqp_grouped *out);
/* V as epiqp_if has it. Its degrees of freedom are Satterthwaite's for groups whose noise is unrelated to c, and the
 * kurtosis that was found: (sum_g p_g)^2/sum_g p_g^2 2/(kurtosis - 1), p_g = |c_g|^2, at least 1. */
epiq_part epiqp_if_groups(const epiqp_problem *pb, double kurtosis, const double *v, const double *c, double *sums);

/* ---- what leaving out rows tells: predictive.c ---- */

/* Errors of the kernel predictor at rows that it has not seen, scaled. */
typedef struct {
    bool known;
    bool out_of_range;      /* not known because in units of the target some number is no double */
    bool by_group;          /* each row without its whole group */
    const double *left_out; /* n: the row less its prediction by the others */
    const double *wider;    /* n: standard deviation of that over the noise's; NULL: not known exactly */
    double noise_sd;
} epiqp_loo;
int epiqp_loo_of(const epiqp_problem *pb, const epiqp_ridge *r, const epiqp_grouped *grouped,
                 epiqp_loo *out);                                  /* from the leverages */
void epiqp_loo_check_range(const epiqp_problem *pb, epiqp_loo *l); /* sets known and out_of_range */

/* Each row without its group, and the interval of a new observation made of that. */
typedef struct {
    bool known;
    const double *residual; /* n: of the row without its group, scaled */
    const double *moves;    /* n: without group g, c'y becomes c'y - c_g'moves_g; residual unless rows are in parts */
    double *weight;         /* n: 1 / rows of its group */
    double below;           /* the weight that may be beyond an end, groups weighing 1 each */
    double *moved;          /* threads by n: scratch, and so are the values */
    epiqp_weighted *values;
} epiqp_predictive;
typedef struct {
    double lo, hi; /* scaled */
} epiqp_interval;
/* Not known, with a warning, where groups cannot be left out or are too few for the level. residual: n. */
int epiqp_predictive_new(const epiqp_problem *pb, double level, const epiqp_grouped *grouped, const double *residual,
                         epiqp_predictive *out);
epiqp_interval epiqp_predictive_at(const epiqp_problem *pb, const epiqp_predictive *w, const double *c, int thread);

/* ---- rows asked of models that have not seen them: left_out.c ---- */

/* At the points that leave rows out, weights without the row and its group. c: points by n, of which these points' hold their
 * row of A^-1. */
int epiqp_leave_points_out(const epiqp_problem *pb, double *c);
/* c: row `row` of A^-1, n by n, which becomes the weights without that row; false: to rounding there are none. */
bool epiqp_leave_row_out(ptrdiff_t n, ptrdiff_t row, double *c);

/* ---- what iteration leaves open in the ridge's c and alpha, made small or reported; nothing to do with a factor: settle.c ---- */

/* What is left open at the worst point asked for, at most. */
typedef struct {
    double prediction;       /* in standard deviations of the data part */
    double data, procedural; /* as a share of these variances */
} epiqp_open;

/* In predictions, and in data parts by residuals as they are known so far. */
int epiqp_settle(const epiqp_problem *pb, const epiqp_solution *sol, epiqp_open *open);
/* In data parts of these variances (points), from these residuals (n); alpha: in those as well; moved: c has changed, and so
 * have the variances. */
int epiqp_settle_data(const epiqp_problem *pb, const epiqp_solution *sol, const double *r_std, const double *variance,
                      bool alpha, bool *moved);
/* Fails, or warns, where too much is left open. */
int epiqp_settled(const epiqp_problem *pb, const epiqp_solution *sol, const double *r_std, const double *variance,
                  epiqp_open *open);
/* In tau^2 (points), which then follows; and by how much the root of point p's may be off. */
int epiqp_settle_procedural(const epiqp_problem *pb, const epiqp_solution *sol, double *tau2, const double *q00);
double epiqp_procedural_open(const epiqp_fit *fit, const epiqp_ridge *r, ptrdiff_t p);

/* ---- deciding.c ---- */

/* The leverages of the rows that decide some point, at most epiqp_deciding_most, exactly beside the probes'. */
int epiqp_deciding_rows(const epiqp_problem *pb, epiqp_ridge *r, epiqp_probes *probes);
ptrdiff_t epiqp_deciding_most(ptrdiff_t points, ptrdiff_t n);

/* ---- if.c ---- */

typedef struct epiqp_if_findings {
    epiq_part *part;      /* points: with the plan's correction */
    epiq_part *corrected; /* points by EPIQ_CORRECTIONS: with every correction whose cost was paid anyway */
    double *prediction;   /* points: by the empirical kernel; NULL: another was used */
    ptrdiff_t probes;     /* that leverages come from; 0: exact, or none */
    double *probe_error;  /* points: standard error of the variance because of them, over it */
    /* the rows whose deletion moves each prediction most, strongest first, in target units */
    epiq_influence *influential;  /* points asked for by `influential_room` */
    ptrdiff_t *influential_count; /* points asked for */
    ptrdiff_t influential_room;
    /* what V is made of, n each; NULL unless IF ran from a ridge solution of all rows */
    const double *r_std, *r_raw; /* residuals as the correction takes them, and as they are */
    const double *noise_excess;  /* that rowwise adds to their squares, in noise_unit^2; NULL: nothing */
    double noise_unit;
    const double *smoothed; /* noise variance of each row as moderated smooths it, scaled; NULL: rows in groups */
    const epiqp_smoothed *moderated; /* the same in noise_unit^2 with its spread; NULL: another correction */
    double kurtosis;                 /* of the standardised residuals, */
    double law_varies, law_mean;     /* and varies and mean of their smoothed squares: the law that moderated takes */
    double *share;                   /* points: the rowwise V's share in the moderated one; NULL: another correction */
    epiqp_grouped grouped;           /* known: there are groups, and the inverse was there */
    epiqp_loo loo;
    epiqp_predictive left_out;  /* known: if the plan leaves rows out */
    epiqp_interval *predictive; /* points: of a new observation; NULL: unknown */
    epiqp_open open;
    epiqp_reference reference; /* of retraining */
} epiqp_if_findings;

/* V = sum over groups of (sum over their rows of (v_i - mean v))^2, with Satterthwaite's degrees of freedom.
 * sums: scratch of `groups` doubles. Unknown if it is too small for a double, but not 0. */
epiq_part epiqp_if(const double *v, ptrdiff_t n, const ptrdiff_t *group, ptrdiff_t groups, double *sums, double level);

/* What the target of each row weighs in the prediction: c and, where targets were centred by their mean, an equal share of what c
 * leaves of that. out: n; returned is c itself or out. */
const double *epiqp_target_weights(const epiq_options *o, ptrdiff_t n, const double *c, double *out);

int epiqp_if_room(const epiqp_problem *pb, epiqp_if_findings *found); /* part, corrected, probe_error */
/* IF and all that comes with its leverages, at every point. */
int epiqp_if_from_ridge(const epiqp_problem *pb, const epiqp_solution *sol, epiqp_if_findings *found);
int epiqp_if_empirical(const epiqp_problem *pb, const epiqp_fit *fit, const epiqp_ev_findings *ev,
                       epiqp_if_findings *found);
int epiqp_if_subset(const epiqp_problem *pb, epiqp_if_findings *found); /* subset.c */
ptrdiff_t epiqp_subset_rows(ptrdiff_t n);                               /* that its matrix is made of */

/* The leverages exactly, from the inverse, which takes the factor's place; the factor is copied before if it is kept. */
int epiqp_leverages(const epiqp_env *e, const epiqp_solution *sol);
/* c'y at every point, and what the residual left by iteration adds to it (points); first NULL: a factor leaves none. */
int epiqp_kernel_predictions(const epiqp_problem *pb, const double *c, const double *first, double **out);
int epiqp_influential_room(const epiqp_problem *pb, epiqp_if_findings *found);
/* Keeps the strongest of the rows that pass, in order. count: those kept so far, room at most. */
void epiqp_influence_keep(epiq_influence *kept, ptrdiff_t *count, ptrdiff_t room, epiq_influence one);
int epiqp_warn_probes(const epiqp_problem *pb, const epiqp_if_findings *found);
/* Of a ridge's factor: a jitter that was added, or how many times rounding grows in it. No warning if all is well. */
int epiqp_warn_factor(const epiqp_problem *pb, double jitter, double loss);
#define EPIQP_MOST_LOSS 1e12 /* of rounding, 1e-16: four digits are left */

/* ---- gradient flow stopped at time t (engine infinite): stopped.c ---- */

/* c (points by n) and, if v is not NULL, v (points by n), closed in the eigenbasis of the kernel. loss: how many times the
 * kernel's rounding grows in them. */
int epiqp_stopped(const epiqp_env *e, const epiqp_fit *f, double t, double *c, double *v, double *loss);
int epiqp_if_from_stopped(const epiqp_problem *pb, const double *v, epiqp_if_findings *found);

/* ---- the kernel predictor averaged over parts of the rows: divided.c ---- */

ptrdiff_t epiqp_parts(ptrdiff_t parts, ptrdiff_t n); /* those asked for, or if 0 those chosen */
/* Each part in turn: c goes into sol->ridge unless it is solved already; IF into found unless that is NULL. *seconds: spent
 * on IF. */
int epiqp_divided(const epiqp_problem *pb, const epiqp_solution *sol, bool solve, epiqp_if_findings *found,
                  double *seconds);

/* ---- tau^2 of infinitely wide networks: closed_form.c ---- */

/* A difference of numbers as large as q00 = Q(x0,x0), as a part: below their rounding, a share of q00, it is unknown. */
epiq_part epiqp_infinite_part(double tau2, double q00, double rounding);
#define EPIQP_ROUNDING 1e-13 /* of q00, in tau2 from a factor: three digits of what is above it are right */
/* stopped_c: points by n, of stopped flow; NULL: the ridge's. part: points. */
int epiqp_closed_form(const epiqp_problem *pb, const epiqp_solution *sol, const double *stopped_c, epiq_part *part,
                      epiqp_open *open);

#endif
