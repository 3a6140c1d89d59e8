/* explore_loop.h - is the rule of epiq_explore any good? A closed loop against a function that is known: fit, choose
 * among fresh random candidates, observe with noise, and again; beside it, on the same candidates and noise, random
 * choice, greedy choice (the largest prediction) and the ensemble's own spread without the data part; with a budget of networks
 * these have as many. Regret over seeds, with intervals (docs/method.md,
 * exploring).
 */
#ifndef STUDY_EXPLORE_LOOP_H
#define STUDY_EXPLORE_LOOP_H

#include "study/study.h"

typedef struct {
    const char *name, *about;
    ptrdiff_t d;
    double best; /* its largest value, known by construction */
    double (*at)(const double *x);
} loop_function;
const loop_function *loop_function_list(ptrdiff_t index); /* to be maximised on [0, 1]^d; NULL past the end */

typedef enum { LOOP_RULE, LOOP_RANDOM, LOOP_GREEDY, LOOP_PLAIN, LOOP_CONTENDERS } loop_contender;
const char *loop_contender_name(loop_contender k, const epiq_exploration *ask);
/* A batch by the spread of the ensemble alone; false: too few variances are known. */
bool loop_choose_plain(const epiq_exploration *ask, const epiq_result *r, ptrdiff_t *chosen);

typedef struct {
    const loop_function *function;
    ptrdiff_t steps, seeds, start, candidates; /* start: rows before the first step; candidates: fresh ones each step */
    double noise;                              /* standard deviation of an observation */
    epiq_exploration ask;                      /* the rule, kappa, and how many are observed each step */
    epiq_options options;
    study_crew crew;
} loop_job;

typedef struct {
    double mean, lo, hi; /* over seeds; 95 % by Student's t */
    double se;
} loop_number;

/* Simple: the function's largest value less the largest seen (without its noise). Cumulative: what each choice was below
 * the best of its candidates, summed. */
typedef enum { LOOP_SIMPLE, LOOP_CUMULATIVE, LOOP_REGRETS } loop_regret;

typedef struct loop_result {
    const loop_job *job;
    ptrdiff_t points;                                   /* steps + 1: before the first step, after each */
    loop_number *regret[LOOP_REGRETS][LOOP_CONTENDERS]; /* points each */
    loop_number less[LOOP_REGRETS][LOOP_CONTENDERS];    /* at the end, the rule's less theirs */
    char verdict[512];
    loop_number room[]; /* of regret */
} loop_result;

int loop_run(loop_job *job, loop_result **out); /* a status; the result refers to the job */
void loop_result_free(loop_result *r);

#endif
