/* given.h - epiq_combine: networks trained elsewhere, their kernel, and what they predict when trained again. */
#ifndef EPIQP_GIVEN_H
#define EPIQP_GIVEN_H

#include "est/assemble.h"

enum { EPIQP_JACOBIAN_COLUMNS = 2048 }; /* summed at a time, whatever the size: the order of the sums depends on it */

/* ---- given_check.c ---- */

/* What the caller gives, in structs of the sizes known here. */
typedef struct {
    epiq_given given;
    epiq_matrix matrix[16];
} epiqp_given_copy;
int epiqp_given_take(epiq_ctx *c, const epiq_given *g, epiqp_given_copy *out);

typedef struct {
    ptrdiff_t rows, points, parameters; /* 0: nothing given says how many */
    const char *points_by;              /* the input that says how many points */
    ptrdiff_t replicates;               /* of retrained networks; 0: none are given */
} epiqp_given_sizes;
/* Checks that pieces, shapes and numbers fit: of everything, or of what targets are made of. */
int epiqp_given_check(epiq_ctx *c, const epiq_given *g, const epiq_options *o, epiqp_given_sizes *out);
int epiqp_given_check_targets(epiq_ctx *c, const epiq_given *g);

/* ---- given_kernel.c ---- */

/* The ridge solution of the kernel given: its Gram matrix is judged, or made of Jacobians. */
int epiqp_given_ridge(const epiqp_problem *pb, const epiq_given *g, epiqp_ridge *out, const epiqp_near **near);

/* ---- given_retrain.c ---- */

/* The data part from retrained networks. ridge: that of the kernel given, or NULL. ev: the networks first trained. */
int epiqp_given_retrain(const epiqp_problem *pb, const epiq_given *g, const epiqp_ridge *ridge,
                        const epiqp_ev_findings *ev, epiqp_retrain_findings *found);
int epiqp_given_replicates(epiq_ctx *c, const epiq_given *g, ptrdiff_t *out); /* or why they cannot be */

/* ---- gather.c ---- */

/* What is known of the points, and by which input; NULL, 0 and "" where nothing says so. */
typedef struct {
    ptrdiff_t count;
    const char *const *name; /* count */
    char sum[65];            /* checksum of where they are */
    const char *count_by, *name_by, *sum_by;
} epiqp_point_set;
int epiqp_point_set_merge(epiq_ctx *c, epiqp_point_set *known,
                          const epiqp_point_set *also); /* fails where they differ */

/* Predictions of networks, each row one network; state files have the numbers of the kinds. */
enum { EPIQP_GIVEN_MEMBERS, EPIQP_GIVEN_BATCHES, EPIQP_GIVEN_KINDS };
typedef struct {
    const double *h; /* count by points; NULL: none */
    ptrdiff_t count;
} epiqp_networks;
/* The networks given, those of the state file (NULL: none) and those of files to merge, each once. */
int epiqp_gather(const epiqp_problem *pb, const char *state, const epiq_given *g, epiqp_point_set *w,
                 epiqp_networks out[EPIQP_GIVEN_KINDS]);
/* Adds them to the state file; counts those added and those in it then. */
int epiqp_gather_keep(const epiqp_problem *pb, const char *state, const epiq_given *g, epiqp_point_set *w,
                      ptrdiff_t *added, ptrdiff_t *kept);

#endif
