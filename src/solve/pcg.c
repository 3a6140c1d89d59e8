/* pcg.c - conjugate gradients for many columns at once (pcg.h). Each column has its own recurrence; the columns share
 * the product with K, which is most of the work. Work is divided into fixed blocks: the bits do not depend on the
 * threads.
 */
#include "solve/pcg.h"

#include "rng/rng.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 32 };         /* columns of one product */
enum { MOST = 1000 };        /* iterations; if more are needed, the preconditioner does not help */
static const int ROUNDS = 4; /* of iterating and then measuring the residual */

/* ---- the preconditioner ---- */

static int by_number(const void *a, const void *b)
{
    ptrdiff_t x = *(const ptrdiff_t *)a, y = *(const ptrdiff_t *)b;
    return (x > y) - (x < y);
}

/* What the preconditioner is made from. u: K(:,S), then F. */
typedef struct {
    const epiqp_la *la;
    const double *u;
    const ptrdiff_t *chosen; /* S */
    ptrdiff_t n;
} landmarks;

/* K(S,S), taken from K(:,S). */
static void corner_block(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                         ptrdiff_t ld)
{
    const landmarks *k = self;
    for (ptrdiff_t j = 0; j < cols; j++) {
        for (ptrdiff_t i = 0; i < rows; i++) {
            out[i + j * ld] = k->u[k->chosen[i0 + i] + (j0 + j) * k->n];
        }
    }
}

/* F'F */
static void gram_block(const void *self, ptrdiff_t i0, ptrdiff_t rows, ptrdiff_t j0, ptrdiff_t cols, double *out,
                       ptrdiff_t ld)
{
    const landmarks *k = self;
    k->la->gemm('T', 'N', rows, cols, k->n, 1, k->u + i0 * k->n, k->n, k->u + j0 * k->n, k->n, 0, out, ld);
}

/* U <- U L^-T, where L is the factor of source + shift I; by panels of L, because each has its own leading dimension. */
static int right_solve(const epiqp_env *e, const epiqp_source *source, double shift, epiqp_tri *l, epiqp_operator *a)
{
    const ptrdiff_t n = a->n;
    double jitter, unused = 0;
    int status = epiqp_ridge_factor(e, source, shift, l, &jitter, &unused, &unused);
    if (status) return status;
#pragma omp parallel for schedule(dynamic) num_threads(e->threads)
    for (ptrdiff_t i = 0; i < n; i += EPIQP_STRIP) {
        const ptrdiff_t rows = epiqp_min(EPIQP_STRIP, n - i);
        for (ptrdiff_t p = 0; p < l->panels; p++) {
            ptrdiff_t cols = epiqp_tri_rows(l, p), left = p * l->height;
            double *u = a->u + i, *out = u + left * n;
            if (left) {
                e->la->gemm('N', 'T', rows, cols, left, -1, u, n, epiqp_tri_at(l, p, 0, 0), cols, 1, out, n);
            }
            e->la->trsm('R', 'T', rows, cols, epiqp_tri_at(l, p, 0, left), cols, out, n);
        }
    }
    return EPIQ_OK;
}

int epiqp_operator_new(const epiqp_env *e, ptrdiff_t n, const epiqp_source *kernel, double shift, ptrdiff_t rank,
                       uint64_t seed, epiqp_operator *out)
{
    rank = epiqp_min(rank, n);
    *out = (epiqp_operator){.n = n, .rank = rank, .shift = shift, .kernel = *kernel};
    double *u = out->u = epiqp_alloc(e->c, n * rank, sizeof *u), trace = 0;
    ptrdiff_t *chosen = epiqp_alloc(e->c, n, sizeof *chosen);
    epiqp_tri l = {0};
    int status = u && chosen ? epiqp_tri_new(e->c, rank, &l) : EPIQ_E_NOMEM;
    if (status) goto end;
    for (ptrdiff_t i = 0; i < n; i++) {
        chosen[i] = i;
    }
    epiqp_shuffle((epiqp_stream){seed, EPIQP_FOR_LANDMARK, 0}, 0, n, chosen);
    qsort(chosen, (size_t)rank, sizeof *chosen, by_number);
#pragma omp parallel for schedule(dynamic) num_threads(e->threads)
    for (ptrdiff_t j = 0; j < rank; j++) {
        for (ptrdiff_t i = 0; i < n; i += EPIQP_BLOCK) {
            kernel->block(kernel->self, i, epiqp_min(EPIQP_BLOCK, n - i), chosen[j], 1, u + i + j * n, n);
        }
    }
    for (ptrdiff_t j = 0; j < rank; j++) {
        trace += u[chosen[j] + j * n];
    }
    /* Equal rows may be among the chosen, so something must be added; far below shift it changes little. */
    const double small = fmax(1e-12 * trace, 1e-3 * shift);
    const landmarks self = {e->la, u, chosen, n};
    const epiqp_source corner = {.block = corner_block, .self = &self},
                       gram = {.block = gram_block, .self = &self, .heavy = true};
    if ((status = right_solve(e, &corner, small, &l, out))) goto end;
    status = right_solve(e, &gram, shift, &l, out);
end:
    epiqp_tri_free(e->c, &l);
    epiqp_free(e->c, chosen);
    if (status) epiqp_operator_free(e->c, out);
    return status;
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
    return 8.0 * (double)n * k + fmax(fmax(triangle, squares), solve); /* these are not in use at the same time */
}

/* z = (F F' + shift I)^-1 r; t: rank by cols, scratch */
static void apply_preconditioner(const epiqp_env *e, const epiqp_operator *a, ptrdiff_t cols, const double *r,
                                 double *t, double *z)
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

/* ---- the squares of the preconditioner ---- */

/* Q = U' diag(s) U, one strip of rows after the other; scaled: EPIQP_STRIP by rank, scratch */
static void weighted_gram(const epiqp_env *e, const epiqp_operator *a, const double *s, double *scaled, double *q)
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

/* sum_j (U U')_ij^2 s_j = u_i' Q u_i, less the term j = i. */
int epiqp_operator_squares_times(const epiqp_env *e, const epiqp_operator *a, const double *s, double *out)
{
    ptrdiff_t n = a->n, k = a->rank;
    double *q = epiqp_alloc(e->c, k * k + e->threads * EPIQP_STRIP * k, sizeof *q);
    if (!q) return EPIQ_E_NOMEM;
    weighted_gram(e, a, s, q + k * k, q);
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

/* One strip of rows at a time, up to its diagonal block. The part left of that block is used twice, as it is and
 * transposed. Each tile writes its own rows of y, then each group of columns its own columns. */
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
                if (j < i) e->la->gemm('T', 'N', wide, cols, rows, 1, tile, rows, x + i, n, 1, y + j, n);
            }
#pragma omp for schedule(dynamic)
            for (ptrdiff_t k = 0; k < cols; k += GROUP) {
                e->la->gemm('N', 'N', rows, epiqp_min(GROUP, cols - k), i + rows, 1, strip, rows, x + k * n, n, 1,
                            y + i + k * n, n);
            }
        }
        if (epiqp_cancel_requested(e->c)) return; /* y is incomplete; callers test this before they use it */
    }
}

/* ---- the iteration ---- */

/* A column has converged when |b - A x| <= residual |b| and its error bound is small enough. */
typedef struct {
    double residual;
    double error;        /* the bound must be at most error sqrt(shift) |x|; 0: no condition */
    const double *bound; /* the largest bound of each column, in place of error; or NULL */
} goal;

typedef struct {
    double norm, relres, bound, rz; /* |b|, |r|/|b|, error bound, r'z */
} column;

typedef struct {
    const epiqp_operator *a;
    goal goal;
    ptrdiff_t cols, active, iterations;
    column *column;        /* cols */
    ptrdiff_t *which;      /* the active columns */
    double *x;             /* n by cols, in the order of b */
    double *r, *p;         /* n by active, in the order of which */
    double *q, *strip, *t; /* scratch */
} iteration;

static void copy(double *to, const double *from, ptrdiff_t n)
{
    memcpy(to, from, (size_t)n * sizeof *to);
}

static bool converged(const iteration *w, ptrdiff_t k)
{
    const double *x = w->x + k * w->a->n, bound = w->column[k].bound;
    if (!(w->column[k].relres <= w->goal.residual)) return false; /* also for NaN */
    if (w->goal.bound) return bound <= w->goal.bound[k];
    return !(w->goal.error > 0) || bound <= w->goal.error * sqrt(w->a->shift * epiqp_dot(w->a->n, x, x));
}

static double worst(const iteration *w)
{
    double most = 0;
    for (ptrdiff_t k = 0; k < w->cols; k++) {
        double relres = w->column[k].relres;
        most = fmax(most, relres <= DBL_MAX ? relres : DBL_MAX); /* NaN counts as the largest */
    }
    return most;
}

static const double RZ_ROUNDING = 1e-13; /* relative to |r|^2/shift: the rounding error of r'z */

/* p = z + beta p for the active columns, with z the preconditioned r; restart: p = z. r'z bounds sqrt(e'A e), e =
 * A^-1 r, because the preconditioner is at most A (pcg.h). */
static void update_directions(const epiqp_env *e, iteration *w, bool restart)
{
    const ptrdiff_t n = w->a->n;
    apply_preconditioner(e, w->a, w->active, w->r, w->t, w->q);
#pragma omp parallel for schedule(static) num_threads(e->threads)
    for (ptrdiff_t k = 0; k < w->active; k++) {
        column *c = &w->column[w->which[k]];
        const double *r = w->r + k * n, *z = w->q + k * n;
        double *p = w->p + k * n, r2 = epiqp_dot(n, r, r) / w->a->shift, rz = epiqp_dot(n, r, z);
        double beta = restart ? 0 : rz / c->rz;
        for (ptrdiff_t i = 0; i < n; i++) {
            p[i] = restart ? z[i] : z[i] + beta * p[i];
        }
        c->bound = sqrt(fmin(fmax(rz, 0) + RZ_ROUNDING * r2, r2));
        c->rz = rz;
    }
}

/* Removes converged columns from r and p and moves the others together. */
static void drop_converged(iteration *w)
{
    ptrdiff_t n = w->a->n, kept = 0;
    for (ptrdiff_t k = 0; k < w->active; k++) {
        if (converged(w, w->which[k])) continue;
        if (kept < k) {
            w->which[kept] = w->which[k];
            copy(w->r + kept * n, w->r + k * n, n);
            copy(w->p + kept * n, w->p + k * n, n);
        }
        kept++;
    }
    w->active = kept;
}

/* x += alpha p, r -= alpha A p. Returns false if some p'A p is not positive. */
static bool step(const epiqp_env *e, iteration *w)
{
    ptrdiff_t n = w->a->n, broken = 0;
    epiqp_operator_times(e, w->a, w->active, w->p, w->strip, w->q);
#pragma omp parallel for schedule(static) num_threads(e->threads) reduction(+ : broken)
    for (ptrdiff_t k = 0; k < w->active; k++) {
        column *c = &w->column[w->which[k]];
        double *r = w->r + k * n, *p = w->p + k * n, *q = w->q + k * n, pAp = epiqp_dot(n, p, q), alpha = c->rz / pAp;
        if (!(pAp > 0 && isfinite(alpha))) {
            broken++;
            continue;
        }
        epiqp_axpy(n, alpha, p, w->x + w->which[k] * n);
        epiqp_axpy(n, -alpha, q, r);
        c->relres = sqrt(epiqp_dot(n, r, r)) / c->norm;
    }
    w->iterations++;
    return !broken;
}

static bool finished(const iteration *w)
{
    for (ptrdiff_t k = 0; k < w->cols; k++) {
        if (!converged(w, k)) return false;
    }
    return true;
}

/* Computes r = b - A x of all columns anew, and the bounds that follow from it. */
static int measure(const epiqp_env *e, iteration *w, const double *b)
{
    ptrdiff_t n = w->a->n;
    epiqp_operator_times(e, w->a, w->cols, w->x, w->strip, w->q);
    if (epiqp_cancel_requested(e->c)) return epiqp_report(e->c, "solve", w->iterations, MOST);
    w->active = w->cols;
    for (ptrdiff_t k = 0; k < w->cols; k++) {
        double *r = w->r + k * n;
        w->which[k] = k;
        for (ptrdiff_t i = 0; i < n; i++) {
            r[i] = b[i + k * n] - w->q[i + k * n];
        }
        column *c = &w->column[k];
        c->relres = c->norm > 0 ? sqrt(epiqp_dot(n, r, r)) / c->norm : 0;
    }
    update_directions(e, w, true);
    return EPIQ_OK;
}

/* Iterates until every column has converged or no step helps any more; in that case every residual must be small
 * enough. */
static int iterate(const epiqp_env *e, iteration *w)
{
    for (;;) {
        drop_converged(w);
        if (!w->active) return EPIQ_OK;
        bool fine = step(e, w);
        int status = epiqp_report(e->c, "solve", w->iterations, MOST);
        if (status) return status;
        if (fine && w->iterations < MOST) {
            update_directions(e, w, false);
            continue;
        }
        if (worst(w) <= w->goal.residual) return EPIQ_OK;
        return epiqp_fail(
            e->c, EPIQ_E_NUMERIC,
            "the iterative solver %s after %td iterations, at a relative residual of %.2g where %.2g was "
            "wanted; use a larger {--rank}, a larger {--lambda}, {--scale} standard if features differ in "
            "scale, or {--solver} exact",
            fine ? "has not arrived" : "broke down", w->iterations, worst(w), w->goal.residual);
    }
}

/* Starts from x, whose residual is in r. Each round iterates and then computes the residual anew. */
static int solve(const epiqp_env *e, iteration *w, const double *b)
{
    for (int round = 0; round < ROUNDS; round++) {
        int status = iterate(e, w);
        if (status || (status = measure(e, w, b))) return status;
        if (finished(w) || (w->iterations >= MOST && worst(w) <= w->goal.residual)) return EPIQ_OK;
    }
    /* if rounding keeps only the error bound above its goal, the caller decides */
    if (worst(w) <= w->goal.residual) return EPIQ_OK;
    return epiqp_fail(e->c, EPIQ_E_NUMERIC,
                      "the iterative solver stays at a relative residual of %.2g where %.2g was wanted; that is "
                      "rounding: use a larger {--tolerance}, a larger {--lambda}, or {--solver} exact",
                      worst(w), w->goal.residual);
}

/* x <- A^-1 b. from: x is the initial guess; otherwise x may be b. */
static int run(const epiqp_env *e, const epiqp_operator *a, goal g, ptrdiff_t cols, bool from, const double *b,
               double *x, const double *against, epiqp_pcg_report *report)
{
    const ptrdiff_t n = a->n, size = n * cols;
    iteration w = {.a = a, .goal = g, .cols = cols, .active = cols};
    w.x = epiqp_alloc(e->c, 4 * size + n * EPIQP_STRIP + a->rank * cols, sizeof *w.x);
    w.which = epiqp_alloc(e->c, cols, sizeof *w.which);
    w.column = epiqp_alloc(e->c, cols, sizeof *w.column);
    int status = EPIQ_E_NOMEM;
    if (!w.x || !w.which || !w.column) goto end;
    w.r = w.x + size;
    w.p = w.r + size;
    w.q = w.p + size;
    w.strip = w.q + size;
    w.t = w.strip + n * EPIQP_STRIP;
    for (ptrdiff_t k = 0; k < cols; k++) {
        double norm = sqrt(epiqp_dot(n, b + k * n, b + k * n));
        w.which[k] = k;
        w.column[k] = (column){.norm = norm, .relres = norm > 0 ? 1 : 0};
    }
    if (from) {
        copy(w.x, x, size);
        status = measure(e, &w, b);
    } else {
        memset(w.x, 0, (size_t)size * sizeof *w.x);
        copy(w.r, b, size);
        update_directions(e, &w, true);
        status = EPIQ_OK;
    }
    if (!status) status = solve(e, &w, b);
    report->iterations = w.iterations;
    report->residual = worst(&w);
    const double *last = against ? against : w.x + size - n;
    for (ptrdiff_t k = 0; !status && report->bound && k < cols; k++) {
        report->bound[k] = w.column[k].bound;
        report->first[k] = epiqp_dot(n, w.r + k * n, last);
    }
    if (!status) copy(x, w.x, size);
end:
    epiqp_free(e->c, w.x);
    epiqp_free(e->c, w.which);
    epiqp_free(e->c, w.column);
    return status;
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
