/* reference.c - what kernel regression without a fold answers to the steps of retraining, in closed form (docs/method.md
 * section 3): at the rows and, for networks whose answers are measured there, at the points.
 */
#include "est/if.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <string.h>

ptrdiff_t epiqp_retrain_networks(const epiqp_problem *pb, const epiq_options *o)
{
    return EPIQP_STARTS * (epiqp_fold_count(pb, o) + 2 * o->replicates);
}

/* Targets and predictions, after kernel regression's answers. */
double epiqp_retrain_bytes(const epiqp_problem *pb, const epiqp_plan *plan)
{
    const double n = (double)pb->n, folds = (double)epiqp_fold_count(pb, &plan->ran), points = (double)pb->points,
                 replicates = (double)plan->ran.replicates, vectors = fmax(replicates, folds), out = n / folds;
    const bool subset = plan->influence == EPIQP_IF_SUBSET;
    if (!plan->retrained) return 0;
    double networks = 8 * folds * (EPIQP_STARTS + 1) * n + 8 * 2 * replicates * (1.8 + EPIQP_STARTS) * n +
                      8 * 2 * replicates * EPIQP_STARTS * points;
    double kernel = subset ? 0 : 8 * (n * vectors + out * (out + vectors)) + epiqp_noise_alone_bytes(pb->n);
    double regression = subset ? 0 : epiqp_ols_bytes(pb->n, pb->data->groups, pb->data->d, (ptrdiff_t)vectors);
    return fmax(networks, kernel) + regression + 8 * (n * (6 + 2.2 * vectors) + points * (2 * replicates + 6));
}

double epiqp_rounded(double v)
{
    int exponent;
    double digits = frexp(v, &exponent);
    return ldexp(rint(ldexp(digits, 24)), exponent - 24);
}

int epiqp_reference_room(const epiqp_problem *pb, epiqp_reference *out)
{
    *out = (epiqp_reference){.size = epiqp_room(pb, 3 * pb->n, sizeof *out->size)};
    if (!out->size) return EPIQ_E_NOMEM;
    out->expected = out->size + pb->n;
    out->error = out->expected + pb->n;
    return EPIQ_OK;
}

/* A row's step over that of all rows, and the noise behind it. Rows in groups move as their corrected residuals do, all of
 * a group with one sign: what their noise has in common stays so. */
static void set_sizes(const epiqp_problem *pb, const epiqp_ridge *r, const epiqp_if_findings *found,
                      epiqp_reference *out)
{
    const ptrdiff_t n = pb->n;
    const double typical = found->smoothed ? epiqp_mean(found->smoothed, n) : 0;
    double residuals = 0, norms = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        residuals += found->r_raw[i] * found->r_raw[i];
        norms += r->shift * r->shift * r->norm2[i];
        double size = epiqp_has_groups(pb)             ? found->r_std[i]
                      : found->smoothed && typical > 0 ? sqrt(found->smoothed[i] / typical)
                                                       : 1;
        out->size[i] = epiqp_rounded(size);
    }
    const epiqp_grouped *g = &found->grouped;
    out->mean_noise = g->known ? epiqp_dot(n, g->noise, g->noise) / (double)n : norms > 0 ? residuals / norms : 0;
}

int epiqp_solve_left_out(const epiqp_env *e, const epiqp_ridge *r, ptrdiff_t size, const ptrdiff_t *rows,
                         ptrdiff_t cols, double *b, double *block, bool *known)
{
    int s = epiqp_inverse_part(e, &r->inverse, 0, size, rows, size, rows, block);
    *known = !s && !e->la->potrf(size, block, size);
    if (*known) epiqp_la_solve(e->la, size, block, cols, b);
    return s;
}

/* What kernel regression without fold F answers to steps t, whatever t_F is: with B = A^-1
 *     e_F = B_FF^-1 (B t)_F,   u = t with e_F taken off at the rows of F
 * its weights are B u, which are 0 at F, so that it answers u - shift B u at the rows and c'u at a point. out->u: the steps,
 * which become u; b: B times the steps, n each; block: room for rows of the fold squared and by all signs and one. *known
 * false: B_FF is not positive definite to rounding. */
static int leave_out(const epiqp_problem *pb, const epiqp_folds *t, const epiqp_ridge *r, ptrdiff_t f, const double *b,
                     double *block, bool *known, epiqp_reference *out)
{
    const ptrdiff_t n = pb->n, size = epiqp_listed_size(&t->rows, f), *rows = t->rows.rows + t->rows.start[f];
    double *e = block + size * size;
    ptrdiff_t count = 0;
    for (ptrdiff_t k = f; k < t->vectors; k += t->count, count++) {
        for (ptrdiff_t i = 0; i < size; i++) {
            e[i + count * size] = b[rows[i] + k * n];
        }
    }
    for (ptrdiff_t i = 0; i < size; i++) {
        e[i + count * size] = r->alpha[rows[i]]; /* for the errors of the targets themselves */
    }
    int s = epiqp_solve_left_out(&pb->e, r, size, rows, count + 1, e, block, known);
    if (!*known) return s;
    for (ptrdiff_t i = 0; i < size; i++) {
        for (ptrdiff_t k = f, at = 0; k < t->vectors; k += t->count, at++) {
            out->u[rows[i] + k * n] -= e[i + at * size];
        }
        out->error[rows[i]] = e[i + count * size];
    }
    return EPIQ_OK;
}

epiqp_steps epiqp_steps_of(const epiqp_problem *pb, const epiqp_folds *folds, const epiqp_reference *ref)
{
    return (epiqp_steps){.data = pb->data,
                         .replicates = folds->replicates,
                         .folds = folds->count,
                         .fold = folds->rows.label,
                         .u = ref->u,
                         .size = ref->size,
                         .alone = ref->alone,
                         .ols = &ref->ols};
}

/* How the variance of the answers varies over rows left out: of one by one (or their groups), since a fold's few steps tell
 * their mean over rows well and that at a row hardly. With B = A^-1, sum over j != i of (B_ij size_j / B_ii)^2; in groups
 * without the sizes. shape: n; false: unknown. */
static int shape_over_rows(const epiqp_problem *pb, const epiqp_ridge *r, const epiqp_grouped *grouped,
                           const double *size, double *room, double *shape, bool *known)
{
    const ptrdiff_t n = r->n;
    *known = !epiqp_has_groups(pb) || grouped->known;
    if (epiqp_has_groups(pb)) {
        for (ptrdiff_t i = 0; *known && i < n; i++) {
            shape[i] = fmax(grouped->wider[i] * grouped->wider[i] - 1, 0);
        }
        return EPIQ_OK;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        room[i] = size[i] * size[i];
    }
    int s = epiqp_inverse_times(&pb->e, &r->inverse, true, 1, room, shape);
    for (ptrdiff_t i = 0; !s && i < n; i++) {
        shape[i] = fmax(shape[i] / (r->diagonal[i] * r->diagonal[i]) - room[i], 0);
    }
    return s;
}

/* Variances that have this shape and the mean of those that were found. */
static void take_shape(ptrdiff_t n, const double *shape, double *variance)
{
    const double sum = epiqp_mean(shape, n), factor = sum > 0 ? epiqp_mean(variance, n) / sum : 0;
    for (ptrdiff_t i = 0; factor > 0 && factor <= DBL_MAX && i < n; i++) {
        variance[i] = factor * shape[i];
    }
}

/* From u and b = B u to the answers at the rows. */
static void answer_rows(const epiqp_folds *t, const epiqp_ridge *r, const double *b, epiqp_reference *out)
{
    const ptrdiff_t n = r->n;
    for (ptrdiff_t k = 0; k < t->vectors * n; k++) {
        out->response[k] = out->u[k] - r->shift * b[k];
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        double sum = 0, count = 0;
        for (ptrdiff_t k = t->rows.label[i]; k < t->vectors; k += t->count, count++) {
            sum += out->response[k * n + i] * out->response[k * n + i];
        }
        out->expected[i] = sum / count;
    }
}

static int answer_points(const epiqp_problem *pb, const epiqp_folds *t, const epiqp_ridge *r, epiqp_reference *out)
{
    const epiqp_steps steps = epiqp_steps_of(pb, t, out);
    out->at = epiqp_expected_new(pb->e.c, pb->scratch, pb->points, t->replicates);
    double *room = epiqp_room(pb, pb->e.threads * epiqp_expected_room(pb->n), sizeof *room);
    if (!out->at || !room) return EPIQ_E_NOMEM;
#pragma omp parallel for num_threads(pb->e.threads) if (pb->points > 1 && pb->n > EPIQP_ALONE)
    for (ptrdiff_t p = 0; p < pb->points; p++) {
        epiqp_expect(&pb->e, &steps, r->c + p * pb->n, pb->at + p * pb->data->d,
                     room + omp_get_thread_num() * epiqp_expected_room(pb->n), &out->at[p]);
    }
    return EPIQ_OK;
}

/* Without the answers themselves: the variance of one at a row without that row alone, more by the share of rows that a fold leaves out.
 * Rows of a group are not left out alone, so there IF's data part stays. */
static void expect_roughly(const epiqp_problem *pb, const epiqp_ridge *r, epiqp_reference *out)
{
    const double folds = (double)pb->plan->folds->count, fewer = folds / (folds - 1);
    out->known = !epiqp_has_groups(pb);
    out->response = out->u = NULL;
    for (ptrdiff_t i = 0; i < pb->n; i++) {
        out->expected[i] = fewer * fmax(r->norm2[i] / (r->diagonal[i] * r->diagonal[i]) - 1, 0);
        out->error[i] = 0; /* unknown */
    }
}

/* How errors fall with the rows must not hang on which rows share a fold: kernel regression's squared errors, the mean over these
 * folds and over other ways to deal the rows. room: doubles in block. */
static int deal_again(const epiqp_problem *pb, const epiqp_folds *t, const epiqp_ridge *r, ptrdiff_t room,
                      double *block, epiqp_reference *out)
{
    enum { DEALS = 4 };
    const ptrdiff_t n = pb->n;
    double dealt = 1;
    if (!(out->error2 = epiqp_room(pb, n, sizeof *out->error2))) return EPIQ_E_NOMEM;
    for (ptrdiff_t i = 0; i < n; i++) {
        out->error2[i] = out->error[i] * out->error[i];
    }
    for (uint64_t deal = 0; deal < DEALS; deal++) {
        epiqp_listed of;
        int s = epiqp_deal_rows(pb, (epiqp_stream){pb->plan->seed, EPIQP_FOR_FOLD, deal}, t->count, &of);
        if (s) return s;
        if (of.largest * (of.largest + 1) > room) continue; /* where few groups have most of the rows */
        bool known = true;
        dealt++;
        for (ptrdiff_t f = 0; f < t->count; f++) {
            const ptrdiff_t size = epiqp_listed_size(&of, f), *rows = of.rows + of.start[f];
            double *e = block + size * size;
            for (ptrdiff_t i = 0; i < size; i++) {
                e[i] = r->alpha[rows[i]];
            }
            if ((s = epiqp_solve_left_out(&pb->e, r, size, rows, 1, e, block, &known))) return s;
            if (!known) { /* to rounding; then it is not known of the others either */
                out->error2 = NULL;
                return EPIQ_OK;
            }
            for (ptrdiff_t i = 0; i < size; i++) {
                out->error2[rows[i]] += (e[i] * e[i] - out->error2[rows[i]]) / dealt;
            }
        }
    }
    return EPIQ_OK;
}

/* u, from the steps. b: vectors by n, and room for leave_out; holds B u afterwards. */
static int find_u(const epiqp_problem *pb, const epiqp_folds *t, const epiqp_ridge *r, double *b, bool *known,
                  epiqp_reference *out)
{
    const ptrdiff_t n = pb->n;
    for (ptrdiff_t k = 0; k < t->vectors * n; k++) {
        out->u[k] = t->sign[k] * out->size[k % n];
    }
    int s = epiqp_inverse_times(&pb->e, &r->inverse, false, t->vectors, out->u, b);
    *known = true;
    for (ptrdiff_t f = 0; !s && *known && f < t->count; f++) {
        s = leave_out(pb, t, r, f, b, b + n * t->vectors, known, out);
    }
    return s || !*known ? s : epiqp_inverse_times(&pb->e, &r->inverse, false, t->vectors, out->u, b);
}

int epiqp_reference_new(const epiqp_problem *pb, const epiqp_solution *sol, const epiqp_if_findings *found,
                        epiqp_reference *out)
{
    const epiqp_folds *t = pb->plan->folds;
    const epiqp_ridge *r = sol->ridge;
    const ptrdiff_t n = pb->n, largest = t->rows.largest;
    bool known;
    int s = epiqp_reference_room(pb, out);
    if (s) return s;
    set_sizes(pb, r, found, out);
    if (!epiqp_plan_inverse(pb->plan)) {
        expect_roughly(pb, r, out);
        return EPIQ_OK;
    }
    /* a model asks about other points later */
    out->u = epiqp_arena_alloc(pb->e.c, pb->plan->keep ? pb->plan->keep : pb->scratch, t->vectors * n, sizeof *out->u);
    out->response = epiqp_room(pb, t->vectors * n, sizeof *out->response);
    out->alone = found->smoothed ? epiqp_room(pb, n, sizeof *out->alone) : NULL;
    const ptrdiff_t room = n * t->vectors + largest * (largest + t->vectors + 1);
    double *b = epiqp_alloc(pb->e.c, room, sizeof *b);
    if (!out->u || !out->response || (found->smoothed && !out->alone) || !b) {
        s = EPIQ_E_NOMEM;
        goto end;
    }
    if ((s = find_u(pb, t, r, b, &known, out))) goto end;
    if (!known) {
        out->alone = NULL;
        expect_roughly(pb, r, out);
        goto end;
    }
    out->known = true;
    answer_rows(t, r, b, out);
    if ((s = shape_over_rows(pb, r, &found->grouped, out->size, b, b + n, &known))) goto end;
    if (known) take_shape(n, b + n, out->expected);
    if ((s = deal_again(pb, t, r, room, b, out))) goto end;
    const epiqp_steps steps = epiqp_steps_of(pb, t, out);
    if ((s = epiqp_ols_new(&pb->e, pb->scratch, &steps, t->vectors, &out->ols)) ||
        (out->alone && (s = epiqp_noise_alone(pb, sol, out->alone)))) {
        goto end;
    }
    s = pb->plan->answers_at_points ? answer_points(pb, t, r, out) : EPIQ_OK;
end:
    epiqp_free(pb->e.c, b);
    return s;
}
