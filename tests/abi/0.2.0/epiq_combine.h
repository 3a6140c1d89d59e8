/* epiq_combine.h - networks trained elsewhere: their predictions, kernels or derivatives in, the same three variances
 * out (epiq_combine); and what is needed to train the same networks elsewhere: kernels and starting weights.
 */
#ifndef EPIQ_COMBINE_H
#define EPIQ_COMBINE_H

#include "epiq.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers made elsewhere: row after row without gaps, in this machine's byte order. */
typedef enum { EPIQ_FLOAT64, EPIQ_FLOAT32 } epiq_real;
typedef struct {
    size_t size;      /* sizeof(epiq_matrix) */
    const char *name; /* what messages call it: a file, an argument */
    ptrdiff_t rows, columns;
    int real; /* epiq_real */
    const void *a;
    const char *const *column; /* names of the columns; NULL: they have none */
} epiq_matrix;

/* CSV with or without a header (a first line whose cells are all numbers is data), or NPY; "-" is CSV on standard
 * input. An NPY file of native float32 or float64 in C order is mapped, not read: leave it alone until it is freed.
 * Other number types, byte orders and Fortran order are converted. An array of one dimension is one column: n numbers
 * are n by 1. */
EPIQ_API int epiq_matrix_read(epiq_ctx *c, const char *path, epiq_matrix **out);
EPIQ_API void epiq_matrix_free(epiq_ctx *c, epiq_matrix *m);

/* What networks trained anywhere predicted, and what their predictions owe to the rows; NULL where there is nothing.
 * Any subset that suffices for a method:
 *     EV: ensemble      BA: batched      IF: y with gram and cross, or y with jacobian and jacobian0
 *     retraining, beside one of these: y, yhat, left_out and retrained
 * All in units of the target as given. */
typedef struct {
    size_t size;                             /* sizeof(epiq_given) */
    const epiq_matrix *ensemble;             /* members by points: of networks trained on all rows */
    const epiq_matrix *batched;              /* batches by points: of networks trained on one batch of the rows each */
    const epiq_matrix *y;                    /* rows by 1: what they were trained on */
    const epiq_matrix *yhat;                 /* rows by 1: their mean prediction there; NULL: kernel regression's */
    const epiq_matrix *gram, *cross;         /* rows by rows, rows by points: the kernel */
    const epiq_matrix *jacobian, *jacobian0; /* rows by parameters, points by parameters: derivatives of a network's
                                              * prediction; its kernel is jacobian jacobian' */
    const epiq_matrix *at;                   /* points by anything: where they are, only so that networks kept for other
                                              * points are refused */
    const char *const *merge;                /* files that options.state of other runs named: their networks too */
    ptrdiff_t merge_count;
    /* the data part without derivatives: networks trained again on the targets of epiq_targets; y and yhat go with it */
    const epiq_matrix *left_out;  /* networks by rows: predictions, at each row, of networks that have not seen it */
    const epiq_matrix *retrained; /* 2 * replicates * starts by points: targets in their order, starts inside */
    const epiq_matrix *targets;   /* 2 * replicates by rows: what those were trained on, to be compared; may be NULL */
    ptrdiff_t replicates;         /* pairs of target vectors; 0: as many as targets has, without it 10 */
    /* for options.confidence, the interval of the expected prediction: of bootstrap, jackknife and halves networks trained on rows
     * drawn with replacement, on all rows but one of as many parts, or on both halves of the rows in turn. Row k is from the start
     * of row k mod members of ensemble; both halves of split k from that of row k. batching takes batched, retrain the data part */
    const epiq_matrix *resampled;
    /* of the same shapes: what networks from the same starts predict that were trained, on the same rows, on the outputs of the
     * starts; the answer is about the differences */
    const epiq_matrix *auxiliary, *auxiliary_batched, *auxiliary_resampled;
} epiq_given;

/* Options that count: lambda, ensemble_size (0: the batches, else the members), level, confidence, influential, correction, probes,
 * threads, mem_limit, seed (of probes, neighbours and targets), backend; and state: a file in which the networks given
 * are kept (each once) and to whose networks these are added, for the same points. After a failure nothing has been
 * added. */
EPIQ_API int epiq_combine(epiq_ctx *c, const epiq_given *g, const epiq_options *o, epiq_result **out);

/* Targets to train networks on again, from given's y, yhat, left_out and replicates (4 or more; 0: EPIQ_REPLICATES):
 * yhat plus and minus a step at every row, whose signs are random (options.seed) and whose size is a little less than
 * the noise's.
 *     targets: 2 * replicates by rows, plus and minus in turn; NULL: only the step is wanted
 *     *step, unless step is NULL: the step's size
 * For each of them train one network or more (two tell the start's part from the data's), plus and minus of a pair from
 * the same starts, which are those of members of the ensemble. given.retrained is what these networks predict at the
 * points. */
EPIQ_API int epiq_targets(epiq_ctx *c, const epiq_given *g, const epiq_options *o, double *targets, double *step);
enum { EPIQ_REPLICATES = 10 }; /* when given.replicates is 0 */

/* Population kernels of the scaled rows, n by n each, full; either output may be NULL. */
EPIQ_API int epiq_kernel(epiq_ctx *c, const epiq_data *data, const epiq_options *o, double *ntk, double *nngp);

/* The weights that member k (from 0) of an ensemble with these options and d features starts from (docs/method.md section
 * 2): for l = 1 .. depth+1 W_l (row-major, units by inputs), then b_l. theta: epiq_network_size numbers. Of a
 * table with d > n + 1 for n rows, an estimate's members have coordinates of the rows' span instead of features. */
/* 0: there is no such network, or its width is still auto. */
EPIQ_API ptrdiff_t epiq_network_size(const epiq_options *o, ptrdiff_t d);
EPIQ_API int epiq_network_start(epiq_ctx *c, const epiq_options *o, ptrdiff_t d, ptrdiff_t k, double *theta);

#ifdef __cplusplus
}
#endif
#endif
