/* assemble.h - the answer, made in one place of what the estimators found. */
#ifndef EPIQP_ASSEMBLE_H
#define EPIQP_ASSEMBLE_H

#include "est/confidence.h"
#include "est/if.h"
#include "est/spread.h"

/* What rows predicted by models that have not seen them tell: unseen.c. */
typedef struct {
    bool known;
    ptrdiff_t folds; /* parts of the rows that networks were trained without; 0: kernel regression, without each row */
    double error2;   /* mean square of the errors, scaled */
    double r2_se;    /* standard error of its ratio to the variance of y */
    double twice;    /* errors with twice the rows over those now; 0: unknown */
    epiqp_spread spread;
    bool enough;   /* rows for the level, */
    double factor; /* with which half the interval's width is this times the standard deviation of a new observation */
    bool *is_outside;  /* points: whether they lie outside the data: assemble.c; NULL: that is not known of any */
    ptrdiff_t outside; /* of the points asked about that are no rows, those that do */
} epiqp_unseen;

/* Everything the estimators found, in scaled units. */
typedef struct {
    int methods; /* those that are done: fewer than planned where the run ended early */
    bool ended_early;
    double *kernel;     /* points: kernel regression's prediction; NULL: no kernel was solved */
    double *prediction; /* points */
    epiq_part *closed;  /* points: tau^2 of infinitely wide networks */
    epiqp_fold_findings folds;
    epiqp_ev_findings ev;
    epiqp_if_findings influence;
    epiqp_retrain_findings retrain;
    epiqp_ba_findings ba;
    epiqp_limit limit;
    epiqp_resampled resampled;
    epiqp_trainings training;
    epiqp_unseen unseen; /* of all of them */
} epiqp_findings;

int epiqp_unseen_new(const epiqp_problem *pb, const epiqp_findings *f, epiqp_unseen *out); /* unseen.c */

/* The data part at point p: of retrained networks, or IF's. */
static inline epiq_part epiqp_data_part(const epiqp_findings *f, ptrdiff_t p)
{
    const epiq_part *part = f->retrain.part ? f->retrain.part : f->influence.part;
    return part ? part[p] : (epiq_part){0};
}

/* IF with every correction; what epiq_point.corrected points to. */
struct epiq_corrected {
    epiq_part by[EPIQ_CORRECTIONS];
};

/* A result and the memory it is in: what epiq_estimate returns is the first member. */
typedef struct {
    epiq_result result;
    epiqp_arena arena;
    epiqp_warnings warnings;
    epiq_point *points;
    epiq_advice advice; /* these are what the result points to */
    epiq_options ran;
    epiq_cost cost;
    epiq_fit_error fit;
    epiq_training training;
    epiq_timing timing;
    epiq_solve_info solve;
    epiq_retraining retrain;
    epiq_combined given;
    epiq_summary summary;
    epiq_model_choice model_choice;
    epiq_predictor_choice predictor_choice;
} epiqp_answer;
epiqp_answer *epiqp_answer_new(epiq_ctx *c);
/* The points become the result's, with the warnings there are: the last step that can fail. */
int epiqp_answer_complete(epiq_ctx *c, epiqp_answer *a, ptrdiff_t points);
/* Gives the result out; on failure the answer is freed. Returns the status. */
int epiqp_answer_end(epiq_ctx *c, epiqp_answer *a, int status, epiq_result **out);

int epiqp_findings_room(const epiqp_problem *pb, epiqp_findings *found); /* one for each point */
int epiqp_assemble(const epiqp_problem *pb, epiqp_findings *found, epiqp_answer *a);
/* The interval of the expected prediction at all points, whose variances are written: confidence.c. */
void epiqp_write_confidence(const epiqp_problem *pb, const epiqp_findings *f, epiq_point *points);
/* Of points that leave rows out: summary.c. */
int epiqp_summarise(const epiqp_problem *pb, const epiqp_unseen *unseen, epiqp_answer *a);
int epiqp_check_regime(const epiqp_problem *pb, const epiqp_findings *found);
int epiqp_check_training(const epiqp_problem *pb, const epiqp_trainings *t);
/* Whether a variance of new observations around the prediction that falls from before to after would be noticed. */
bool epiqp_noticed(double before, double after);
int epiqp_advise(const epiqp_problem *pb, const epiqp_findings *found, epiqp_answer *a);

#endif
