/* est.h - the estimators. A job gathers what one call of epiq_estimate works on; each estimator (a row of the table in
 * estimate.c) fills its own parts, in scaled units; combine.c makes the answer of them, in target units.
 */
#ifndef EPIQP_EST_H
#define EPIQP_EST_H

#include "data/data.h"
#include "engine/engine.h"
#include "solve/probe.h"
#include "stats/stats.h"

typedef struct epiqp_state epiqp_state; /* finished members in a file; see state.c */

/* How networks answer to changed targets: about as `kernel` times kernel regression and `linear` times linear regression. */
typedef struct {
    double kappa;          /* how much they follow the data, in variance, against kernel regression */
    double kernel, linear; /* at least 0; both 0: not known */
    double rest;           /* how much they follow the data, in variance, against that sum */
} epiqp_following;

/* What retraining found out: IF's V is multiplied by kappa and by noise. Numbers alone, since a model file holds them. */
typedef struct {
    epiqp_following left_out; /* over rows left out */
    epiqp_following at_rows;  /* over rows that the networks were trained on */
    double noise;             /* that the networks leave, over IF's own */
    double spread;            /* relative variance of kappa noise */
    double step;              /* by which targets were moved, scaled */
    double least;             /* noise of a row, scaled: the data part is not below this times |c|^2 */
} epiqp_followed;
enum {
    EPIQP_FOLDS = 5, /* a fifth of the rows is left out: the networks are nearly those of all rows */
    EPIQP_STARTS = 2 /* products of two starts' answers do not hold what is one start's own */
};
enum { EPIQP_KEPT_RETRAIN = sizeof(epiqp_followed) / sizeof(double) };

/* What a model needs of an estimate: filled in on its way if the job has one. */
typedef struct {
    epiqp_arena arena;
    epiq_options o;              /* resolved */
    epiqp_kept members, batches; /* theta NULL: none; o.members or o.batches of them, one after the other */
    double *alpha;               /* n: A^-1 y; NULL: no kernel was solved */
    epiqp_tri factor;            /* of A; a NULL: not wanted. Freed by whoever keeps. */
    double *used, *residual;     /* n: residuals as the correction takes them, and as they are; NULL: no IF */
    double *excess;              /* n: of rows whose noise differs; NULL: another correction */
    epiqp_followed *retrain;     /* NULL: nothing */
    epiqp_kept retrained;        /* its networks: of each replicate the starts with plus, then those with minus; theta
                                  * NULL: not kept */
    double *step, *step_size;    /* o.replicates by n: u of retrain.c, 0: unknown; n: sizes, 0: unknown */
    double *alone;               /* n: noise of the row without misfit, 0: unknown */
    ptrdiff_t *fold;             /* n: the fold that leaves row i out; replicate r belongs to fold r mod EPIQP_FOLDS */
    double *smoothed, *spread;   /* n: of moderated; NULL: another correction */
    double unit, law[3];         /* law: that of the job */
    double noise; /* variance of y around its mean, if equal everywhere, scaled, that phi is made of; 0: no phi */
} epiqp_keep;

/* What whole groups make of the residuals, scaled, n each: groups.c. */
typedef struct {
    bool known;
    double *standard, *jackknife; /* those that IF takes, corrected for the leverage of the row's whole group */
    double *noise;                /* kernel regression's own, corrected like the first: as large as the noise */
    double *left_out;             /* the row less its prediction without its group, */
    double *wider;                /* and the standard deviation of that over the noise's */
    double kurtosis;              /* of the groups' means, 3 at least */
} epiqp_grouped;

/* What sentences advise: to ask for more training, or to bring more along. */
typedef struct {
    const char *both, *procedural, *data; /* how to have both parts, or one directly */
    const char *sum, *either;             /* the ensemble's variance where BA is off, or of another size than BA's */
    const char *far;                      /* when networks are far from kernel regression */
    const char *made;                     /* what members are: "trained here" */
} epiqp_remedies;

/* Linear regression on features and a constant, and its answers to the steps of retraining: ols.c. */
typedef struct {
    ptrdiff_t n, p;        /* p: features and one; 0: too many for the rows, and every answer is 0 */
    double *shift, *scale; /* p - 1: a feature enters as (x - shift) scale, with mean 0 and variance 1 */
    double *w;             /* n by p: these, after a 1 */
    double *root;          /* p by p: the Cholesky factor of W'W, kept off 0 */
    double *beta;          /* vectors by p: coefficients without the fold, for each of the steps */
} epiqp_ols;

/* What retraining measures the data part with (retrain.c, docs/method.md section 3): rows are dealt into folds, and networks
 * that have not seen a fold are retrained on targets moved by random signs times a size for every row. */
typedef struct {
    bool subset; /* how the part varies over x is taken from a part of the rows (subset.c) */
    ptrdiff_t folds, replicates;
    ptrdiff_t *fold;   /* n: the fold that leaves row i out */
    ptrdiff_t *rows;   /* folds + 1: fold f leaves out rows[f + 1] - rows[f] rows, listed in */
    ptrdiff_t *list;   /* n */
    signed char *sign; /* vectors by n; vector r belongs to fold r mod folds; as many as replicates, or folds if more */
    double *size;      /* n: of a row's step, in units of one step for all rows */
    double *u; /* vectors by n: c'u is kernel regression's answer at a point, without the fold; NULL: no kernel */
    epiqp_ols ols;
    double *asked; /* points by epiqp_told(replicates): what kernel and linear regression answer there; NULL: not to be
                    * told */
    double *response;  /* vectors by n: kernel regression's answer to the steps, at the rows */
    double *expected;  /* n: of its answer at the row left out, squared */
    double *error;     /* n: kernel regression's left-out errors */
    double *alone;     /* n: noise of each row without misfit, 0: not known; NULL: of none */
    double mean_noise; /* of the shape behind size: IF's own noise, scaled */
    epiqp_followed found;
} epiqp_retraining;

typedef struct {
    epiqp_env e;
    const epiq_data *data;
    epiq_options o;             /* with every "choose for me" resolved */
    const epiqp_engine *engine; /* NULL: the networks are given */
    ptrdiff_t n, asked, points; /* points asked for, and these with those of the sweeps after them */
    const double *at;           /* points by d, scaled */
    const char **name;          /* points */
    epiq_sweep *sweeps;         /* answer->result's */
    const epiq_points *where;
    epiqp_fit fit; /* on all rows */
    epiqp_state *state;
    epiqp_arena scratch;
    /* what the estimators find, one a point, in scaled units */
    epiq_part *ev, *inf, *ba, *infinite;
    double *phi;          /* points: what corrects BA for small batches, 0: unknown at that point; NULL: at all */
    epiq_part *corrected; /* points by EPIQ_CORRECTIONS: IF in all its versions */
    double *prediction, *kernel_prediction; /* the latter NULL when no kernel was solved */
    const double *member_h, *batch_h;       /* networks by points: what EV and BA are made of; or NULL */
    double *stopped_c, *stopped_v;          /* points by n: of gradient flow stopped at o.time; else NULL */
    double *members_mean;                   /* n: the members' mean at the rows, when IF asks for it; else NULL */
    bool members_trained, batches_mean;     /* the prediction is the mean of the members; of the batches */
    /* what IF's V is made of, n each: residuals as the correction takes them and as they are; what rowwise adds to
     * their squares, in excess_unit^2, NULL: nothing. All NULL unless IF ran from a kernel's factor. */
    const double *used, *printed, *excess;
    double excess_unit;
    epiqp_retraining retrain;
    const double
        *smoothed; /* n: noise variance of each row as moderated smooths it, scaled; NULL: rows in groups, no IF */
    const double *smoothed_unit, *spread; /* n: the same and its standard deviation, in excess_unit^2; NULL: another
                                           * correction */
    double smoothed_mean;                 /* the mean noise, weighted as residuals are: what it is if equal; scaled */
    double law[3];                 /* kurtosis of the standardised residuals; epiqp_moderated's varies and mean */
    double *share;                 /* points: the rowwise V's share in the moderated one; NULL: another correction */
    const struct epiqp_near *near; /* which rows are near each other, of a kernel given; NULL: by the fit's own rows */
    epiqp_grouped grouped;         /* known: there are groups, and IF ran from an inverse */
    const struct epiqp_more *more; /* what else is wanted */
    const epiqp_remedies *remedy;
    bool finished;     /* when asked to, with the networks there were */
    bool out_of_range; /* of doubles, in units of the target: what fit would have told */
    /* where the answer goes */
    struct epiqp_answer *answer;
    epiqp_warnings *warnings;
    double *iterations; /* of each training so far, members first */
} epiqp_job;

/* The answer and the memory it lives in: what epiq_estimate gives out is its first member. */
typedef struct epiqp_answer {
    epiq_result result;
    epiqp_arena arena;
    epiqp_warnings warnings;
    epiq_point *points;
} epiqp_answer;

enum {
    EPIQP_CHEAP_ROWS = 2048
}; /* up to here a factor and its inverse cost less than one training: taken for checks too */

/* ---- the estimators ---- */

int epiqp_estimate_ev(epiqp_job *j);
int epiqp_estimate_if(epiqp_job *j);
int epiqp_estimate_ba(epiqp_job *j);
int epiqp_estimate_infinite(epiqp_job *j); /* tau^2 in closed form, beside whatever was trained */
/* That tau^2, a difference of numbers as large as q00 = Q(x0,x0), as a part: below their rounding, a share of q00,
 * nothing is known. */
epiq_part epiqp_infinite_part(double tau2, double q00, double rounding);
#define EPIQP_ROUNDING 1e-13    /* of q00, in tau2 from a factor: three digits of what is above it are right */
#define EPIQP_ZERO_SQUARE 1e-20 /* |x0|^2 over that of the longest row: so small it is rounding, and taken as 0 */

/* The mean, EV and BA of count predictions h[0], h[stride], ... */
double epiqp_mean_of(const double *h, ptrdiff_t count, ptrdiff_t stride);
epiq_part epiqp_ev(const double *h, ptrdiff_t count, ptrdiff_t stride, double level);
epiq_part epiqp_ba(const double *h, ptrdiff_t count, ptrdiff_t stride, double level);

/* The same at every point of the job: networks by points. EV's also sets the prediction, the members' mean. */
void epiqp_ev_points(epiqp_job *j, ptrdiff_t m, const double *h);
void epiqp_ba_points(epiqp_job *j, ptrdiff_t count, const double *h);
/* phi, with which BA's expectation is data + procedural/m: noise is s2 |c|^2, the taus are those of networks on all rows
 * and of those on a batch, a mean over batches. 0: it is no double. */
double epiqp_phi(double noise, double tau2, double tau2_batches, double m);
epiq_part epiqp_ba_corrected(epiq_part ba, double phi); /* phi 0: as it is */
int epiqp_warn_few_members(epiqp_job *j);

int epiqp_if_from_ridge(epiqp_job *j, epiqp_ridge *r); /* IF and all that goes with it, at every point */

/* V = sum over groups of (sum over their rows of (v_i - mean v))^2, with Satterthwaite's degrees of freedom.
 * sums: scratch of `groups` doubles. Unknown if it is too small for a double, but not 0. */
epiq_part epiqp_if(const double *v, ptrdiff_t n, const ptrdiff_t *group, ptrdiff_t groups, double *sums, double level);

/* Noise row by row, from the residuals: rowwise.c. It needs the ridge's inverse, or probes (count 0: the inverse). */
typedef struct {
    double *excess;  /* n: what each row's noise is more than its standardised residual squared, in unit^2 */
    double *without; /* groups of probes by n: the same without one group; NULL: not asked for */
    double unit;     /* the largest standardised residual */
    double kurtosis; /* of them */
} epiqp_rowwise;
/* used: standardised residuals; used_without (groups by n, or NULL): the same without one group of probes. */
int epiqp_rowwise_new(epiqp_job *j, epiqp_ridge *r, epiqp_probes *probes, const double *used,
                      const double *used_without, epiqp_rowwise *out);
/* sum_i c_i^2 excess_i without group g of the probes. */
double epiqp_rowwise_share(const epiqp_rowwise *w, ptrdiff_t g, const double *c, ptrdiff_t n);
#define EPIQP_ROWWISE_FLOOR 0.5 /* of the unbiased V: excess may be negative, and their sum must not */
/* What rowwise and moderated make of a point, in units that neither overflow nor vanish. */
typedef struct {
    double unit, largest; /* of |v| at most; of |c| */
    double total, plain;  /* V before any floor, and the unbiased V, in unit^2 */
    double far;           /* sum of (u_i - mean u)^2 */
    double c2, c4;        /* sums of (c_i/largest)^2 and of its squares */
} epiqp_row_sums;
/* v: c times the standardised residuals; u: scratch of n. False: V is 0. */
bool epiqp_rowwise_sums(const epiqp_rowwise *w, const double *v, const double *c, ptrdiff_t n, double *u,
                        epiqp_row_sums *out);
epiq_part epiqp_if_rowwise(const epiqp_rowwise *w, const double *v, const double *c, ptrdiff_t n, double *u,
                           double level, bool *floored);

/* Noise smoothed over rows near each other, averaged with rowwise: moderated.c. */
enum { EPIQP_NEAR_ROWS = 2048 }; /* neighbours are chosen among so many rows at most, so that it costs O(n) */
typedef struct epiqp_near {
    ptrdiff_t count;
    ptrdiff_t *member; /* count: which rows, rising */
    double *self;      /* n: K_ii */
    const epiqp_arch *arch;
    const epiqp_rows *rows;
    epiqp_rows some;    /* the members' */
    const float *apart; /* n by count, instead of these: the distances themselves */
} epiqp_near;
ptrdiff_t epiqp_near_count(ptrdiff_t n);
int epiqp_near_rows(epiqp_job *j, epiqp_near *out); /* of the fit's rows, by its population kernel */
void epiqp_near_free(epiq_ctx *c, epiqp_near *w);
/* Of a kernel given: becomes j->near. */
int epiqp_near_stored(epiqp_job *j, double (*at)(const void *kernel, ptrdiff_t i, ptrdiff_t k), const void *kernel);

typedef struct {
    double *noise;                      /* n: smoothed, in the unit^2 of rowwise */
    double *spread;                     /* n: its standard deviation */
    double mean;                        /* of the rows' noise, weighted as their residuals weigh: if it were equal */
    double varies;                      /* how far noise varies over x, as a relative variance of the smoothed V */
    double without[EPIQP_PROBE_GROUPS]; /* times so much it is without one group of probes, about */
} epiqp_moderated;
/* The noise variance of every row (n, scaled; 0: not known) without what the fit misses of the function, from the ridge's
 * inverse; and the bytes it takes meanwhile. */
int epiqp_noise_alone(epiqp_job *j, const epiqp_ridge *r, double *noise);
double epiqp_noise_alone_bytes(ptrdiff_t n);
typedef struct {
    double rowwise; /* the rowwise V's share in V */
    bool floored;
} epiqp_moderation;
int epiqp_moderated_new(epiqp_job *j, const epiqp_ridge *r, const epiqp_probes *probes, const double *used,
                        const epiqp_rowwise *rows, epiqp_moderated *out);
epiq_part epiqp_if_moderated(const epiqp_rowwise *rows, const epiqp_moderated *w, const double *v, const double *c,
                             ptrdiff_t n, double *u, double level, epiqp_moderation *how);

#define EPIQP_NARROW 2 /* degrees of freedom: below, an interval's upper end is some 40 times the variance */

/* Rows that decide some point, at most so many: their leverages, exactly, beside the probes'. deciding.c */
int epiqp_deciding_rows(epiqp_job *j, epiqp_ridge *r, epiqp_probes *probes);
ptrdiff_t epiqp_deciding_most(ptrdiff_t points, ptrdiff_t n);

/* What iteration leaves open in the ridge's c and alpha: made small, or said. Nothing to do with a factor. settle.c */
int epiqp_settle(epiqp_job *j,
                 epiqp_ridge *r); /* in predictions, and data parts by residuals as they are known so far */
/* In data parts of these variances (points), from these residuals (n); moved: c is another now, and so are they. */
int epiqp_settle_data(epiqp_job *j, epiqp_ridge *r, const double *used, const double *variance, bool *moved);
int epiqp_settled(epiqp_job *j, const epiqp_ridge *r, const double *used,
                  const double *variance); /* refuses, or warns */
/* In tau^2 (points), which then follows; and what the root of point p's may be off by. */
int epiqp_settle_procedural(epiqp_job *j, epiqp_ridge *r, double *tau2, const double *q00);
double epiqp_procedural_open(const epiqp_job *j, const epiqp_ridge *r, ptrdiff_t p);

/* The strongest few of the rows that pass, in order. count: those kept so far, room at most. */
void epiqp_influence_keep(epiq_influence *kept, ptrdiff_t *count, ptrdiff_t room, epiq_influence one);
int epiqp_warn_of_probes(epiqp_job *j); /* their error, from the points' */

int epiqp_describe_fit(epiqp_job *j, const epiqp_ridge *r); /* result.fit, from the leverages */
/* The same from what each row is less its prediction by the others, that difference's standard deviation over the
 * noise's (NULL: not known exactly), and the noise's own. Scaled, n each. */
int epiqp_describe_errors(epiqp_job *j, const double *left_out, const double *wider, double noise_sd);

/* Rows in groups: groups.c. */
#define EPIQP_LARGEST_GROUP 4096 /* rows: its block of B takes 128 MiB then, and one thread a minute or so */
typedef struct {
    ptrdiff_t *start, *rows; /* group g has rows[start[g]] .. rows[start[g + 1] - 1] */
    ptrdiff_t largest;       /* rows of the largest */
} epiqp_group_rows;
int epiqp_groups_list(epiqp_job *j, epiqp_group_rows *out); /* lives as long as the job */
double epiqp_groups_bytes(const epiqp_job *j);              /* that epiqp_groups_new takes while it works, at most */
/* Fills in what the job has of them, with a warning where the inverse or a group does not allow it: then not known. */
int epiqp_groups_new(epiqp_job *j, const epiqp_ridge *r, const double *residual, epiqp_grouped *out);
/* V as epiqp_if has it. Its degrees of freedom are Satterthwaite's for groups whose noise has nothing to do with c, and
 * the kurtosis that was found: (sum_g p_g)^2/sum_g p_g^2 2/(kurtosis - 1), p_g = |c_g|^2, at least 1. */
epiq_part epiqp_if_groups(const epiqp_job *j, const double *v, const double *c, double *sums);

/* Where a new observation would fall, by leaving rows out, or whole groups: predictive.c. */
typedef struct {
    bool known;
    double *residual, *weight; /* n each: of row i without its group, scaled; 1 / rows of its group */
    const double *moves; /* n: without group g, c'y becomes c'y - c_g'moves_g; residual unless rows lie in parts */
    double below;        /* the weight that may lie beyond an end, groups weighing 1 each */
    double *moved;       /* threads by n: scratch, and so are the values */
    epiqp_weighted *values;
} epiqp_predictive;
int epiqp_predictive_new(epiqp_job *j, const epiqp_ridge *r, epiqp_predictive *out); /* needs the ridge's inverse */
int epiqp_predictive_room(epiqp_job *j, epiqp_predictive *out); /* its first half; residual stays NULL where withheld */
int epiqp_leave_groups_out(epiqp_job *j, const epiqp_ridge *r, epiqp_predictive *w); /* known, residual, weight */
void epiqp_predictive_at(const epiqp_job *j, const epiqp_predictive *w, const double *c, int thread, epiq_point *point);
int epiqp_predictive_check(epiqp_job *j); /* a warning where the prediction lies outside */

/* Gradient flow stopped at time t (engine infinite): c (points by n) and, if v is not NULL, v (points by n), closed in
 * the eigenbasis of the kernel. loss: how many times the kernel's rounding grows in them. */
int epiqp_stopped(const epiqp_env *e, const epiqp_fit *f, double t, double *c, double *v, double *loss);

/* ---- the kernel predictor averaged over parts of the rows: divided.c ---- */

ptrdiff_t epiqp_parts(const epiq_options *o, ptrdiff_t n); /* o.parts, or those chosen */
int epiqp_divided_solve(epiqp_job *j);                     /* j->fit's c, and IF where it needs no members */
int epiqp_divided_if(epiqp_job *j);                        /* IF where it does */

/* ---- the data part of the networks that are trained: retrain.c, response.c ---- */

ptrdiff_t epiqp_retrain_networks(const epiqp_job *j);         /* that it trains; 0: it is not asked for */
int epiqp_retrain_new(epiqp_job *j);                          /* folds and signs, before anything is solved */
int epiqp_retrain_kernel(epiqp_job *j, const epiqp_ridge *r); /* response and expected, while the inverse is there */
int epiqp_subset_if(epiqp_job *j);                            /* instead, where rows are too many for a kernel matrix */
double epiqp_retrain_bytes(const epiqp_job *j);               /* that it takes */
int epiqp_estimate_retrain(epiqp_job *j);                     /* trains, then scales IF's data part */

/* What one step moves at a place: two networks, kernel and linear regression, and the reference, which is so much of each
 * as the networks follow. */
typedef struct {
    double start[EPIQP_STARTS], kernel, linear, reference;
} epiqp_answers;
/* The networks', in steps, from predictions of those trained with plus and with minus a step, stride apart from start to
 * start. */
epiqp_answers epiqp_answers_of(const double *plus, const double *minus, ptrdiff_t stride, double step);

/* Sums over rows, with G_s the answers of the networks (s: starts), G their mean, d the kernel's, l linear regression's. */
typedef struct {
    double products;                 /* of G_1 G_2 */
    double with_kernel, with_linear; /* of G d and G l */
    double kernel, linear, both;     /* of d^2, l^2 and d l */
} epiqp_response;
void epiqp_response_add(epiqp_response *sum, const epiqp_response *more);
epiqp_response epiqp_response_of(const epiqp_answers *a);
epiqp_following
epiqp_follow(const epiqp_response *sum); /* by least squares; kappa 0 where the kernel answers nothing */

/* `rest` drawn towards what the networks answer at one point against the reference. expected: the mean square of the
 * reference there over all signs. */
double epiqp_rest_here(double rest, ptrdiff_t count, const epiqp_answers *of, double expected);

/* The steps, for points to be asked about. */
typedef struct {
    ptrdiff_t n, d, groups, replicates, folds;
    const double *x;               /* n by d */
    const ptrdiff_t *group, *fold; /* n */
    const double *u, *size;        /* replicates by n, and n */
    const double *alone;           /* n: noise of a row alone, 0: not known; NULL: of none */
    const epiqp_ols *ols;
} epiqp_steps;
int epiqp_ols_new(const epiqp_env *e, epiqp_arena *arena, const epiqp_steps *s, ptrdiff_t vectors, epiqp_ols *out);
double epiqp_ols_at(const epiqp_ols *o, ptrdiff_t vector, ptrdiff_t row); /* its answer to a step, at a row */
double epiqp_ols_bytes(ptrdiff_t n, ptrdiff_t groups, ptrdiff_t d, ptrdiff_t vectors);

/* What is told of a point whose kernel weights are c, with R replicates:
 *     0       R numbers: what kernel regression answers to each step
 *     R       R numbers: what linear regression does
 *     2R      expected squares over all signs, about: of the first, of the second, and of their product
 *     2R + 3  what epiqp_own_noise has
 *     2R + 5  |c|^2
 * room: epiqp_told_room. */
static inline ptrdiff_t epiqp_told(ptrdiff_t replicates)
{
    return 2 * replicates + 6;
}
static inline ptrdiff_t epiqp_told_room(ptrdiff_t n)
{
    return 3 * n;
}
void epiqp_steps_answer(const epiqp_env *e, const epiqp_steps *s, const double *c, const double *at, double *told,
                        double *room);
/* kappa at a point, from those (NULL: not known) and the networks' (replicates, written to). */
double epiqp_kappa_at(const epiqp_followed *f, const epiqp_steps *s, const double *at, const double *told,
                      epiqp_answers *of);
/* Of IF's variance at a point that is a row: how large the row's own part of it is, and what its noise alone would make of
 * that; both 0 at any other point. */
void epiqp_own_noise(const epiqp_steps *s, const double *c, const double *at, double *share, double *alone);
/* IF's part made that of the networks, which follow the data kappa times as much at that point. told: NULL: not known. */
epiq_part epiqp_retrained_part(const epiqp_followed *f, double kappa, const double *told, ptrdiff_t replicates,
                               epiq_part part, double level);

/* ---- members ---- */

typedef struct {
    const epiqp_fit *fit;
    epiqp_draw draw;
    epiqp_purpose kind;
    ptrdiff_t index;
    int64_t of;        /* what else decides it: how many batches or folds there are, or which targets; 0: nothing */
    double *at, *rows; /* predictions: points; rows of the fit, or NULL */
    epiqp_kept keep;   /* where the member stays; theta NULL: nowhere */
    epiqp_training training;
    bool done;
} epiqp_assignment;
int epiqp_run_members(epiqp_job *j, const char *stage, ptrdiff_t count, epiqp_assignment *list);
/* Stopped on request: if it was to finish with what there is, the job goes on without these methods, and a warning says what
 * the answer lacks (NULL: nothing); else it stays stopped. */
int epiqp_finish(epiqp_job *j, int left_out, const char *what);
/* The same with the finished ones of these members, two at least, which then come first. */
int epiqp_finish_members(epiqp_job *j, ptrdiff_t count, epiqp_assignment *list);
int epiqp_members_summary(epiqp_job *j); /* result.training's median, and a warning of what did not converge */

int epiqp_state_open(epiqp_job *j);
int epiqp_state_load(epiqp_state *s, epiqp_assignment *a, const epiqp_job *j);       /* sets a->done if it is there */
int epiqp_state_save(epiqp_state *s, const epiqp_assignment *a, const epiqp_job *j); /* durable when it returns */
void epiqp_state_close(epiqp_state *s);

/* ---- on a cluster: ranks.c ---- */

int epiqp_ranks_check(const epiqp_job *j); /* all are asked the same, and it is something they can share out */
/* Members first, first + step, .. before end that this rank has reach all others; status: what went before it. */
int epiqp_ranks_give(const epiqp_job *j, int status, int from, ptrdiff_t first, ptrdiff_t step, ptrdiff_t end,
                     epiqp_assignment *list);

/* ---- networks given ---- */

enum { EPIQP_JACOBIAN_COLUMNS = 2048 }; /* summed at a time, whatever the size: the order of the sums depends on it */
/* Whether pieces, shapes and numbers fit; sets the job's n, the points asked for, and result.given's rows, parameters. */
int epiqp_given_check(epiqp_job *j, const epiq_given *g);
int epiqp_given_check_targets(epiqp_job *j, const epiq_given *g); /* the same of what targets are made of */
/* The ridge solution of the kernel given: its Gram matrix is judged, or made of Jacobians. */
int epiqp_given_ridge(epiqp_job *j, const epiq_given *g, epiqp_ridge *out);

/* The data part from retrained networks, in the place of IF's where it is known: given_retrain.c. ridge: that of the kernel
 * given, or NULL. */
int epiqp_given_retrain(epiqp_job *j, const epiq_given *g, const epiqp_ridge *ridge);
int epiqp_given_replicates(epiq_ctx *c, const epiq_given *g, ptrdiff_t *out); /* or why they cannot be */
enum { EPIQP_FEWEST_REPLICATES = 4 };

/* What is known of the points, and who said so; NULL, 0 and "" where nobody has. */
typedef struct {
    ptrdiff_t count;
    const char *const *name; /* count */
    char sum[65];            /* checksum of where they lie */
    const char *count_by, *name_by, *sum_by;
} epiqp_whereabouts;
int epiqp_same_points(epiq_ctx *c, epiqp_whereabouts *known,
                      const epiqp_whereabouts *also); /* knows more, or refuses */

/* The networks given, those of the state file and those of files to merge become the job's, each once; for good only by
 * the second call. */
int epiqp_gather(epiqp_job *j, const epiq_given *g, epiqp_whereabouts *w);
int epiqp_gather_keep(epiqp_job *j, const epiq_given *g, epiqp_whereabouts *w);

/* ---- sweeps ---- */

int epiqp_sweep_plan(epiqp_job *j); /* features and values, if o.sweep asks; raises j->points */
int epiqp_sweep_points(epiqp_job *j, double *at,
                       const char **name); /* from j->asked on, scaled, around the first of `at` */
void epiqp_sweep_split(epiqp_job *j);      /* each sweep gets its part of the answer's points */

int epiqp_make_room(epiqp_job *j); /* for what the estimators find, one a point */

/* ---- beforehand: foresee.c ---- */

bool epiqp_factor_wanted(const epiqp_job *j); /* the population kernel's, or a solution without it */
int epiqp_foresee(epiqp_job *j); /* memory and time, in result.foreseen; settles o.solver; refuses what does not fit */
int epiqp_tell_foreseen(epiqp_job *j);                    /* in advice.text */
double epiqp_may_use(const epiq_options *o, int sharers); /* bytes, of a machine that so many processes share */

/* ---- the answer ---- */

/* What else is wanted of an estimate. */
typedef struct epiqp_more {
    epiqp_keep *keep; /* NULL, or zero with an owner that frees its arena and its factor, also when this fails */
    int (*then)(epiqp_job *j, void *user); /* NULL, or done while the job is still alive; a status */
    void *user;
    double bytes;               /* that it takes, */
    const char *less;           /* and what to use to make them fewer */
    bool may_finish;            /* when asked to: with the networks there are */
    bool predictive;            /* where new observations would fall */
    bool leverage;              /* result.fit, even where nothing else needs it */
    bool only_foresee;          /* nothing but what all of it would take */
    epiqp_predictive *left_out; /* NULL, or whose residuals and weights are wanted, though nothing at the points */
} epiqp_more;
int epiqp_estimate(epiq_ctx *c, const epiq_data *data, const epiq_points *at, const epiq_options *o,
                   const epiqp_more *more, epiq_result **out);

/* a + b / m with the interval of the sum; a closed form (df 0, nothing sampled) is exact. A difference has no
 * interval. */
epiq_part epiqp_sum_of(epiq_part a, epiq_part b, double m, double level, epiq_method method);
/* Both parts, where two of the three estimators know something. A difference that comes out negative is withheld. */
typedef struct {
    epiq_part procedural, data;
    epiq_method method; /* of their sums */
    double negative;    /* what was withheld; 0: nothing */
} epiqp_split;
epiqp_split epiqp_split_of(epiq_part procedural, epiq_part data, epiq_part ba, double batches);
/* data + procedural/size; BA, if of that size, where a part is unknown or a difference from BA. ba: corrected. */
epiq_part epiqp_ensemble_of(const epiqp_split *s, epiq_part ba, const epiq_options *o);
epiq_part epiqp_in_units(epiq_part part, double unit2); /* of the target, squared; unknown if no double can hold it */
int epiqp_combine(epiqp_job *j);
int epiqp_advise(epiqp_job *j);
/* Of the ridge's factor, or a batch's: what had to be added, or how many times rounding grows. Nothing if all is well. */
int epiqp_warn_factor(epiqp_job *j, double jitter, double loss);
#define EPIQP_MOST_LOSS 1e12 /* of rounding, 1e-16: four digits are left */

/* ---- what is kept for a model: keep.c ---- */

/* Each does nothing and is fine when nothing is kept. */
bool epiqp_keeps_retrained(const epiq_options *o); /* networks whose weights are all that they are */
int epiqp_keep_members(epiqp_job *j, epiqp_kept *all, ptrdiff_t count, epiqp_assignment *list);
void epiqp_keep_batch_rows(epiqp_job *j, const ptrdiff_t *batch_of_row);
int epiqp_keep_factor(epiqp_job *j, const epiqp_ridge *r); /* a copy, before the inverse takes its place */
int epiqp_keep_rest(epiqp_job *j); /* at the end: options, alpha, what IF is made of, the factor if it is still there */

#endif
