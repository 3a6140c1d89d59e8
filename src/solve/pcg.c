/* pcg.c - conjugate gradients for many columns at once (pcg.h). Each column has its own recurrence; what they share is
 * the product with K, by far the largest part. Work is shared out in fixed blocks: the bits do not depend on the threads.
 */
#include "solve/pcg.h"

#include "rng/rng.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum {
    GROUP = 32, /* columns of one product */
    MOST = 1000 /* iterations: more than that is a preconditioner that does not help */
};
static const int ROUNDS = 4; /* of iterating and then measuring what is left */

/* ---- the preconditioner ---- */

static int by_number(const void *a, const void *b)
{
    ptrdiff_t x = *(const ptrdiff_t *)a, y = *(const ptrdiff_t *)b;
    return (x > y) - (x < y);
}

/* F'F, a block at a time; F lies where U will */
typedef struct {
    const epiqp_la *la;
    const epiqp_operator *a;
} gram;

static void gram_block(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                       ptrdiff_t ld)
{
    const gram *g = self;
    ptrdiff_t n = g->a->n;
    g->la->gemm('T', 'N', rows, cols, n, 1, g->a->u + i0 * n, n, g->a->u + j0 * n, n, 0, out, ld);
}

/* K(S,S), of which K(:,S) lies in u */
typedef struct {
    const double *u;
    const ptrdiff_t *chosen;
    ptrdiff_t n;
} corner;

static void corner_block(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                         ptrdiff_t ld)
{
    const corner *k = self;
    for (ptrdiff_t j = 0; j < cols; j++) {
        for (ptrdiff_t i = 0; i < rows; i++) {
            out[i + j * ld] = k->u[k->chosen[i0 + i] + (j0 + j) * k->n];
        }
    }
}

/* Rows of U <- U L^-T, panel by panel of L: a triangle has no leading dimension of its own. */
static void times_inverse(const epiqp_env *e, const epiqp_tri *l, ptrdiff_t rows, double *u, ptrdiff_t n)
{
    for (ptrdiff_t p = 0; p < l->panels; p++) {
        ptrdiff_t cols = epiqp_tri_rows(l, p), left = p * l->height;
        if (left) {
            e->la->gemm('N', 'T', rows, cols, left, -1, u, n, epiqp_tri_at(l, p, 0, 0), cols, 1, u + left * n, n);
        }
        e->la->trsm('R', 'T', rows, cols, epiqp_tri_at(l, p, 0, left), cols, u + left * n, n);
    }
}

/* U <- U L^-T with L the factor of source + shift I */
static int divide(const epiqp_env *e, const epiqp_source *source, double shift, epiqp_tri *l, epiqp_operator *a)
{
    double jitter, unused = 0;
    int s = epiqp_ridge_factor(e, source, shift, l, &jitter, &unused, &unused);
#pragma omp parallel for schedule(dynamic) num_threads(e->threads) if (!s)
    for (ptrdiff_t i = 0; i < (s ? 0 : a->n); i += EPIQP_STRIP) {
        times_inverse(e, l, epiqp_min(EPIQP_STRIP, a->n - i), a->u + i, a->n);
    }
    return s;
}

static int precondition(const epiqp_env *e, uint64_t seed, epiqp_operator *a)
{
    ptrdiff_t n = a->n, rank = a->rank, *chosen = epiqp_alloc(e->c, n, sizeof *chosen);
    epiqp_tri l = {0};
    int s = chosen ? epiqp_tri_new(e->c, rank, &l) : EPIQ_E_NOMEM;
    if (s) {
        goto end;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        chosen[i] = i;
    }
    epiqp_shuffle((epiqp_stream){seed, EPIQP_FOR_LANDMARK, 0}, 0, n, chosen);
    qsort(chosen, (size_t)rank, sizeof *chosen, by_number);
#pragma omp parallel for schedule(dynamic) num_threads(e->threads)
    for (ptrdiff_t j = 0; j < rank; j++) {
        for (ptrdiff_t i = 0; i < n; i += EPIQP_BLOCK) {
            a->kernel.block(a->kernel.self, i, epiqp_min(EPIQP_BLOCK, n - i), chosen[j], 1, a->u + i + j * n, n);
        }
    }
    double trace = 0;
    for (ptrdiff_t j = 0; j < rank; j++) {
        trace += a->u[chosen[j] + j * n];
    }
    double small =
        fmax(1e-12 * trace, 1e-3 * a->shift); /* equal rows may be among them; far below shift it costs nothing */
    s = divide(e, &(epiqp_source){.block = corner_block, .self = &(corner){a->u, chosen, n}}, small, &l, a);
    s = s ? s
          : divide(e, &(epiqp_source){.block = gram_block, .self = &(gram){e->la, a}, .heavy = true}, a->shift, &l, a);
end:
    epiqp_tri_free(e->c, &l);
    epiqp_free(e->c, chosen);
    return s;
}

int epiqp_operator_new(const epiqp_env *e, ptrdiff_t n, const epiqp_source *kernel, double shift, ptrdiff_t rank,
                       uint64_t seed, epiqp_operator *out)
{
    rank = epiqp_min(rank, n);
    *out = (epiqp_operator){.n = n, .rank = rank, .shift = shift, .kernel = *kernel};
    out->u = epiqp_alloc(e->c, n * rank, sizeof *out->u);
    int s = out->u ? precondition(e, seed, out) : EPIQ_E_NOMEM;
    if (s) {
        epiqp_operator_free(e->c, out);
    }
    return s;
}

void epiqp_operator_free(epiq_ctx *c, epiqp_operator *a)
{
    epiqp_free(c, a->u);
    a->u = NULL;
}

double epiqp_operator_bytes(ptrdiff_t n, ptrdiff_t rank, ptrdiff_t cols, int threads)
{
    double k = (double)rank, triangle = (double)epiqp_tri_bytes(rank),
           solve = 8.0 * ((double)n * (double)(4 * cols + EPIQP_STRIP) + k * (double)cols),
           squares = threads ? 8 * k * (k + EPIQP_STRIP * (double)threads) : 0;
    return 8.0 * (double)n * k + fmax(fmax(triangle, squares), solve); /* one after the other */
}

/* z = (F F' + shift I)^-1 r; t: rank by cols, scratch */
static void soften(const epiqp_env *e, const epiqp_operator *a, ptrdiff_t cols, const double *r, double *t, double *z)
{
    ptrdiff_t n = a->n, k = a->rank;
#pragma omp parallel for schedule(dynamic) num_threads(e->threads) collapse(2)
    for (ptrdiff_t j = 0; j < cols; j += GROUP) {
        for (ptrdiff_t i = 0; i < k; i += EPIQP_BLOCK) {
            e->la->gemm('T', 'N', epiqp_min(EPIQP_BLOCK, k - i), epiqp_min(GROUP, cols - j), n, 1, a->u + i * n, n,
                        r + j * n, n, 0, t + i + j * k, k);
        }
    }
    const double scale = 1 / a->shift;
#pragma omp parallel for schedule(dynamic) num_threads(e->threads)
    for (ptrdiff_t i = 0; i < n; i += EPIQP_STRIP) {
        ptrdiff_t rows = epiqp_min(EPIQP_STRIP, n - i);
        for (ptrdiff_t j = 0; j < cols; j++) {
            for (ptrdiff_t l = i; l < i + rows; l++) {
                z[l + j * n] = scale * r[l + j * n];
            }
        }
        e->la->gemm('N', 'N', rows, cols, k, -scale, a->u + i, n, t, k, 1, z + i, n);
    }
}

/* ---- its squares ---- */

/* Q = U' diag(s) U, strip after strip of rows; scaled: EPIQP_STRIP by rank, scratch */
static void weigh(const epiqp_env *e, const epiqp_operator *a, const double *s, double *scaled, double *q)
{
    ptrdiff_t n = a->n, k = a->rank;
    memset(q, 0, (size_t)(k * k) * sizeof *q);
#pragma omp parallel num_threads(e->threads)
    for (ptrdiff_t i = 0; i < n; i += EPIQP_STRIP) {
        ptrdiff_t rows = epiqp_min(EPIQP_STRIP, n - i);
#pragma omp for schedule(static)
        for (ptrdiff_t j = 0; j < k; j++) {
            for (ptrdiff_t l = 0; l < rows; l++) {
                scaled[l + j * rows] = s[i + l] * a->u[i + l + j * n];
            }
        }
#pragma omp for schedule(dynamic)
        for (ptrdiff_t j = 0; j < k; j += EPIQP_BLOCK) {
            e->la->gemm('T', 'N', k, epiqp_min(EPIQP_BLOCK, k - j), rows, 1, a->u + i, n, scaled + j * rows, rows, 1,
                        q + j * k, k);
        }
    }
}

/* sum_j (U U')_ij^2 s_j = u_i' Q u_i, less what j = i has in it. */
int epiqp_operator_squares_times(const epiqp_env *e, const epiqp_operator *a, const double *s, double *out)
{
    ptrdiff_t n = a->n, k = a->rank;
    double *q = epiqp_alloc(e->c, k * k + e->threads * EPIQP_STRIP * k, sizeof *q);
    if (!q) {
        return EPIQ_E_NOMEM;
    }
    weigh(e, a, s, q + k * k, q);
#pragma omp parallel for schedule(dynamic) num_threads(e->threads)
    for (ptrdiff_t i = 0; i < n; i += EPIQP_STRIP) {
        ptrdiff_t rows = epiqp_min(EPIQP_STRIP, n - i);
        double *uq = q + k * k + omp_get_thread_num() * EPIQP_STRIP * k, own[EPIQP_STRIP] = {0};
        memset(out + i, 0, (size_t)rows * sizeof *out);
        e->la->gemm('N', 'N', rows, k, k, 1, a->u + i, n, q, k, 0, uq, rows);
        for (ptrdiff_t j = 0; j < k; j++) {
            for (ptrdiff_t l = 0; l < rows; l++) {
                double u = a->u[i + l + j * n];
                out[i + l] += uq[l + j * rows] * u;
                own[l] += u * u;
            }
        }
        for (ptrdiff_t l = 0; l < rows; l++) {
            out[i + l] -= own[l] * own[l] * s[i + l];
        }
    }
    epiqp_free(e->c, q);
    return EPIQ_OK;
}

/* ---- the product ---- */

/* A strip of rows at a time, up to its diagonal block: what lies left of that block serves twice, as it stands and
 * transposed. Tiles write to rows of y of their own, then groups of columns to theirs. */
void epiqp_operator_times(const epiqp_env *e, const epiqp_operator *a, ptrdiff_t cols, const double *x, double *strip,
                          double *y)
{
    const ptrdiff_t n = a->n;
#pragma omp parallel for schedule(static) num_threads(e->threads)
    for (ptrdiff_t k = 0; k < cols; k++) {
        for (ptrdiff_t i = 0; i < n; i++) {
            y[i + k * n] = a->shift * x[i + k * n];
        }
    }
    for (ptrdiff_t i = 0; i < n; i += EPIQP_STRIP) {
        const ptrdiff_t rows = epiqp_min(EPIQP_STRIP, n - i);
#pragma omp parallel num_threads(e->threads)
        {
#pragma omp for schedule(dynamic)
            for (ptrdiff_t j = 0; j < i + rows; j += EPIQP_BLOCK) {
                ptrdiff_t wide = epiqp_min(EPIQP_BLOCK, i + rows - j);
                double *tile = strip + j * rows;
                for (ptrdiff_t k = 0; k < rows; k += EPIQP_BLOCK) {
                    a->kernel.block(a->kernel.self, i + k, epiqp_min(EPIQP_BLOCK, rows - k), j, wide, tile + k, rows);
                }
                if (j < i) {
                    e->la->gemm('T', 'N', wide, cols, rows, 1, tile, rows, x + i, n, 1, y + j, n);
                }
            }
#pragma omp for schedule(dynamic)
            for (ptrdiff_t k = 0; k < cols; k += GROUP) {
                e->la->gemm('N', 'N', rows, epiqp_min(GROUP, cols - k), i + rows, 1, strip, rows, x + k * n, n, 1,
                            y + i + k * n, n);
            }
        }
        if (epiqp_stopping(e->c)) {
            return; /* whoever asked looks before using y */
        }
    }
}

/* ---- the iteration ---- */

/* When a column is finished: |b - A x| <= residual |b|, and its error bound is small enough. */
typedef struct {
    double residual;
    double error;        /* the bound is at most error sqrt(shift) |x|; 0: whatever it is */
    const double *bound; /* of each column instead of that; or NULL */
} goal;

typedef struct {
    const epiqp_operator *a;
    goal goal;
    ptrdiff_t cols, active;
    double *x, *r, *p, *q, *t,
        *strip; /* x in the order of b; r, p and q of the columns still active, in the order of which */
    ptrdiff_t *which;
    double *norm, *rz, *next, *left, *bound; /* of each column: |b|, r'z and the one after it, |r|/|b|, error bound */
    ptrdiff_t iterations;
} iteration;

static void copy(double *to, const double *from, ptrdiff_t n)
{
    memcpy(to, from, (size_t)n * sizeof *to);
}

static bool near_enough(const iteration *w, ptrdiff_t column)
{
    const ptrdiff_t n = w->a->n;
    const double *x = w->x + column * n;
    return w->goal.bound
               ? w->bound[column] <= w->goal.bound[column]
               : !(w->goal.error > 0) || w->bound[column] <= w->goal.error * sqrt(w->a->shift * epiqp_dot(n, x, x));
}

static bool small_enough(const iteration *w, ptrdiff_t column)
{
    return w->left[column] <= w->goal.residual; /* not with NaN */
}

static bool finished(const iteration *w)
{
    bool all = true;
    for (ptrdiff_t k = 0; k < w->cols; k++) {
        all = all && small_enough(w, k) && near_enough(w, k);
    }
    return all;
}

static double worst(const iteration *w)
{
    double most = 0;
    for (ptrdiff_t k = 0; k < w->cols; k++) {
        most = fmax(most, w->left[k] <= DBL_MAX ? w->left[k] : DBL_MAX); /* NaN is as far as can be */
    }
    return most;
}

static const double SOFTENED = 1e-13; /* of |r|^2/shift: what rounding may take from r'z */

/* z of the active columns, r'z, and the bound on sqrt(e'A e), e = A^-1 r: the preconditioner is at most A (pcg.h). */
static void judge(const epiqp_env *e, iteration *w, double *z)
{
    const ptrdiff_t n = w->a->n;
    soften(e, w->a, w->active, w->r, w->t, z);
#pragma omp parallel for schedule(static) num_threads(e->threads)
    for (ptrdiff_t k = 0; k < w->active; k++) {
        const double *r = w->r + k * n;
        double r2 = epiqp_dot(n, r, r) / w->a->shift, rz = epiqp_dot(n, r, z + k * n);
        w->next[w->which[k]] = rz;
        w->bound[w->which[k]] = sqrt(fmin(fmax(rz, 0) + SOFTENED * r2, r2));
    }
}

/* The columns of r that have arrived make room. */
static void retire(iteration *w)
{
    ptrdiff_t n = w->a->n, kept = 0;
    for (ptrdiff_t k = 0; k < w->active; k++) {
        if (!(small_enough(w, w->which[k]) && near_enough(w, w->which[k]))) {
            if (kept < k) {
                w->which[kept] = w->which[k];
                copy(w->r + kept * n, w->r + k * n, n);
                copy(w->p + kept * n, w->p + k * n, n);
                copy(w->q + kept * n, w->q + k * n, n);
            }
            kept++;
        }
    }
    w->active = kept;
}

/* p = z + beta p, with z in q; from nothing when first */
static void redirect(const epiqp_env *e, iteration *w, bool first)
{
    ptrdiff_t n = w->a->n;
#pragma omp parallel for schedule(static) num_threads(e->threads)
    for (ptrdiff_t k = 0; k < w->active; k++) {
        double *z = w->q + k * n, *p = w->p + k * n, *old = &w->rz[w->which[k]], rz = w->next[w->which[k]];
        double beta = first ? 0 : rz / *old;
        for (ptrdiff_t i = 0; i < n; i++) {
            p[i] = first ? z[i] : z[i] + beta * p[i];
        }
        *old = rz;
    }
}

/* x += alpha p, r -= alpha A p. False: some p'A p is not positive. */
static bool step(const epiqp_env *e, iteration *w)
{
    ptrdiff_t n = w->a->n, broken = 0;
    epiqp_operator_times(e, w->a, w->active, w->p, w->strip, w->q);
#pragma omp parallel for schedule(static) num_threads(e->threads) reduction(+ : broken)
    for (ptrdiff_t k = 0; k < w->active; k++) {
        ptrdiff_t column = w->which[k];
        double *r = w->r + k * n, *p = w->p + k * n, *q = w->q + k * n, bent = epiqp_dot(n, p, q);
        double alpha = w->rz[column] / bent;
        if (!(bent > 0 && isfinite(alpha))) {
            broken++;
            continue;
        }
        epiqp_axpy(n, alpha, p, w->x + column * n);
        epiqp_axpy(n, -alpha, q, r);
        w->left[column] = sqrt(epiqp_dot(n, r, r)) / w->norm[column];
    }
    w->iterations++;
    return !broken;
}

/* r = b - A x of all columns, measured, and what it says of x. */
static int measure(const epiqp_env *e, iteration *w, const double *b)
{
    ptrdiff_t n = w->a->n;
    epiqp_operator_times(e, w->a, w->cols, w->x, w->strip, w->q);
    if (epiqp_stopping(e->c)) {
        return epiqp_report(e->c, "solve", w->iterations, MOST);
    }
    w->active = w->cols;
    for (ptrdiff_t k = 0; k < w->cols; k++) {
        double *r = w->r + k * n;
        w->which[k] = k;
        for (ptrdiff_t i = 0; i < n; i++) {
            r[i] = b[i + k * n] - w->q[i + k * n];
        }
        w->left[k] = w->norm[k] > 0 ? sqrt(epiqp_dot(n, r, r)) / w->norm[k] : 0;
    }
    judge(e, w, w->q);
    return EPIQ_OK;
}

/* Until every column is finished; or, where no step helps any more, until every residual is small enough. */
static int iterate(const epiqp_env *e, iteration *w)
{
    for (bool first = true;; first = false) {
        judge(e, w, w->q);
        retire(w);
        if (!w->active) {
            return EPIQ_OK;
        }
        redirect(e, w, first);
        bool fine = step(e, w);
        int s = epiqp_report(e->c, "solve", w->iterations, MOST);
        if (s) {
            return s;
        }
        if (!fine || w->iterations >= MOST) {
            return worst(w) <= w->goal.residual
                       ? EPIQ_OK
                       : epiqp_fail(e->c, EPIQ_E_NUMERIC,
                                    "the iterative solver %s after %td iterations, at a relative residual of %.2g "
                                    "where %.2g was wanted; use a larger --rank, a larger --lambda, --scale standard "
                                    "if features differ in scale, or --solver exact",
                                    fine ? "has not arrived" : "broke down", w->iterations, worst(w), w->goal.residual);
        }
    }
}

/* From x, whose residual is in r. Rounds of iterating and then measuring what is left. */
static int solve(const epiqp_env *e, iteration *w, const double *b)
{
    for (int round = 0; round < ROUNDS; round++) {
        int s = iterate(e, w);
        if (s || (s = measure(e, w, b))) {
            return s;
        }
        if (finished(w) || (w->iterations >= MOST && worst(w) <= w->goal.residual)) {
            return EPIQ_OK;
        }
    }
    return worst(w) <= w->goal.residual
               ? EPIQ_OK /* rounding keeps the error bound above its goal: the caller decides what that means */
               : epiqp_fail(e->c, EPIQ_E_NUMERIC,
                            "the iterative solver stays at a relative residual of %.2g where %.2g was wanted; that is "
                            "rounding: use a larger --tolerance, a larger --lambda, or --solver exact",
                            worst(w), w->goal.residual);
}

/* x <- A^-1 b. from: x is a first guess, else it may be b. */
static int run(const epiqp_env *e, const epiqp_operator *a, goal g, ptrdiff_t cols, bool from, const double *b,
               double *x, const double *against, epiqp_pcg_report *report)
{
    ptrdiff_t n = a->n;
    iteration w = {.a = a, .goal = g, .cols = cols, .active = cols};
    double *all = epiqp_alloc(e->c, 4 * n * cols + n * EPIQP_STRIP + a->rank * cols + 5 * cols, sizeof *all);
    w.which = epiqp_alloc(e->c, cols, sizeof *w.which);
    int s = all && w.which ? EPIQ_OK : EPIQ_E_NOMEM;
    if (!s) {
        w.x = all;
        w.r = w.x + n * cols;
        w.p = w.r + n * cols;
        w.q = w.p + n * cols;
        w.strip = w.q + n * cols;
        w.t = w.strip + n * EPIQP_STRIP;
        w.norm = w.t + a->rank * cols;
        w.rz = w.norm + cols;
        w.next = w.rz + cols;
        w.left = w.next + cols;
        w.bound = w.left + cols;
        for (ptrdiff_t k = 0; k < cols; k++) {
            w.which[k] = k;
            w.norm[k] = sqrt(epiqp_dot(n, b + k * n, b + k * n));
            w.left[k] = w.norm[k] > 0 ? 1 : 0;
        }
        if (from) {
            copy(w.x, x, n * cols);
            s = measure(e, &w, b);
        } else {
            memset(w.x, 0, (size_t)(n * cols) * sizeof *w.x);
            copy(w.r, b, n * cols);
        }
        s = s ? s : solve(e, &w, b);
        report->iterations = w.iterations;
        report->residual = worst(&w);
        const double *last = against ? against : w.x + (cols - 1) * n;
        for (ptrdiff_t k = 0; !s && report->bound && k < cols; k++) {
            report->bound[k] = w.bound[k];
            report->first[k] = epiqp_dot(n, w.r + k * n, last);
        }
        if (!s) {
            copy(x, w.x, n * cols);
        }
    }
    epiqp_free(e->c, all);
    epiqp_free(e->c, w.which);
    return s;
}

int epiqp_operator_solve(const epiqp_env *e, const epiqp_operator *a, double residual, double error, ptrdiff_t cols,
                         double *b, epiqp_pcg_report *report)
{
    return run(e, a, (goal){residual, error, NULL}, cols, false, b, b, NULL, report);
}

int epiqp_operator_continue(const epiqp_env *e, const epiqp_operator *a, const double *bound, ptrdiff_t cols,
                            const double *b, double *x, const double *against, epiqp_pcg_report *report)
{
    return run(e, a, (goal){INFINITY, 0, bound}, cols, true, b, x, against, report);
}
