/* members.h - networks made from a list by threads and ranks; the state file has some already and keeps the others. */
#ifndef EPIQP_MEMBERS_H
#define EPIQP_MEMBERS_H

#include "data/data.h"
#include "engine/engine.h"

typedef struct epiqp_state epiqp_state; /* finished networks in a file: state.c */

/* One network to make, and where its predictions go. */
typedef struct {
    const epiqp_fit *fit;
    epiqp_draw draw;
    epiqp_purpose kind;
    ptrdiff_t index;
    int64_t of;        /* what else decides it: the number of batches or folds, or epiqp_member_sum; 0: nothing */
    double *at, *rows; /* predictions at the points, and at the rows of the fit or NULL */
    epiqp_kept keep;   /* where its weights are kept; theta NULL: they are not */
    epiqp_training training;
    double seconds; /* of a processor that making it took; 0: it was not made here */
    bool done;
} epiqp_assignment;

/* Reports of all trainings so far. */
typedef struct {
    ptrdiff_t count, converged;
    ptrdiff_t resumed;   /* taken from the state file */
    ptrdiff_t in_double; /* trained in double precision, to the end or all the way */
    bool split;          /* some in products of fewer bits: epiq_device.h */
    double loss_max, gradient_rel_max;
    double *iterations; /* of each, in the order of the lists; room for all that the plan trains */
} epiqp_trainings;

/* What every network of a run is made with. */
typedef struct {
    const epiqp_env *e;
    const epiqp_engine *engine;
    bool has_state;       /* on a cluster rank 0 keeps it */
    epiqp_state *state;   /* NULL: not on this rank */
    epiqp_trainings *sum; /* reports are added here */
} epiqp_maker;

int epiqp_members_run(const epiqp_maker *m, const char *stage, ptrdiff_t count, epiqp_assignment *list);
/* Makes room in the arena for the weights of these networks, which are kept there. n: rows of the table. */
int epiqp_members_keep(const epiqp_maker *m, epiqp_arena *arena, ptrdiff_t n, ptrdiff_t count, epiqp_assignment *list,
                       epiqp_kept *out);

/* What decides the networks of a run, beside what an assignment has of its own. */
typedef struct {
    const epiqp_env *e;
    const epiq_options *o;
    const epiq_data *data;
    ptrdiff_t points;
    const double *at; /* points by d, scaled */
    bool kept;        /* with their weights */
    bool choice;      /* networks that the width and lambda are chosen by, asked at the rows of their folds */
} epiqp_state_key;
/* A number for what decides a network, such as its targets, so that networks kept for other ones are not taken. */
int64_t epiqp_member_sum(ptrdiff_t count, const double *numbers);
int epiqp_state_open(const epiqp_state_key *k, epiqp_arena *arena, epiqp_state **out); /* in the file o->state names */
int epiqp_state_load(epiqp_state *s, const epiqp_engine *engine, epiqp_assignment *a); /* sets a->done if it is there */
int epiqp_state_save(epiqp_state *s, const epiqp_engine *engine,
                     const epiqp_assignment *a); /* durable when it returns */
void epiqp_state_close(epiqp_state *s);

#endif
