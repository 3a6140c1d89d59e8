/* agree.h - what the files of the comparison on a GPU share (gpu_agrees.c): the GPU and the processor, judging, numbers, a problem
 * with rows and points.
 */
#ifndef AGREE_H
#define AGREE_H

#include "engine/engine.h"
#include "rng/rng.h"
#include "usual.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const epiq_device *gpu; /* its table, with the time of programs summed in `timed` */
extern epiq_ctx *c;
extern epiqp_env host;
extern int failed;

/* A comparison that fails if the error is larger, or no number. */
__attribute__((format(printf, 3, 4))) void judge(double error, double most, const char *format, ...);
void must(int status, const char *what);
#define MUST(call) must(call, #call)

double *numbers(ptrdiff_t count);
double *normals(uint64_t stream, ptrdiff_t count);
/* The largest difference over the largest number wanted; the norm of the difference over that of what is wanted. */
double apart(ptrdiff_t n, const double *got, const double *want);
double apart_in_norm(ptrdiff_t n, const double *got, const double *want);

typedef struct {
    ptrdiff_t n, d, points;
    double *x, *y, *at;
    epiqp_rows rows, there;
    epiqp_arch arch;
    epiqp_population population;
    epiqp_device device;
    epiqp_env env;
} problem;

problem problem_new(ptrdiff_t n, ptrdiff_t d, ptrdiff_t points, ptrdiff_t depth);
void problem_end(problem *p);

int transfer(void *there, ptrdiff_t count, double *own, bool back); /* to memory of the GPU, or back */
extern struct timed_table {
    epiq_device table;
    int (*run)(void *user, ptrdiff_t count, const epiq_device_program *programs);
    double seconds;
    ptrdiff_t runs, programs;
} timed;

void kernels_and_matrices(void);
void training_agrees(bool ensembles); /* without: every kind of step once, for compute-sanitizer */
void matrices_once(void);             /* likewise, of matrices */
void predictions_agree(void);
void all_rates(void);
void large(ptrdiff_t n); /* a matrix of so many rows */

#endif
